/* SPDX-License-Identifier: Apache-2.0 */
/* Diffusion of three fields on a periodic grid of points, spread over processing elements.
 *
 *     stencil [SCHEDULE]            or, with MPI:   mpirun -n 4 stencil fused
 *
 * A point is what the library calls an atom: it has a place, and lives where that place lies. Every
 * PE holds its own points and a copy of the layer above them. Two neighbouring points exchange
 *     k (u_j - u_i),
 * which is computed once, by one PE, and added to both: a copy's share goes home with the call that
 * is named after what it was made for, tg_halo_forces. A cosine wave only shrinks, by a factor that
 * is known exactly, so the program can judge itself. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <throng/halo.h>

#ifdef STENCIL_MPI
#include <mpi.h>
#endif

enum { SIDE = 18, POINTS = SIDE * SIDE * SIDE, STEPS = 50 };
static const double box[3] = {SIDE, SIDE, SIDE}, spacing = 1, rate = 0.1;
static const int waves[3][3] = {{1, 0, 0}, {0, 2, 0}, {1, 1, 1}}; /* per field: along x, y, z */

typedef struct fields {
  size_t home, local;
  double (*place)[3]; /* [home] */
  int64_t* number;    /* [local] of each point, (x * SIDE + y) * SIDE + z */
  double (*u)[3];     /* [local] the three fields */
  double (*gain)[3];  /* [local] what a step adds */
  int* where;         /* [POINTS] local number, -1: not here */
} fields;

static double wave(int field, const double place[3]) {
  double phase = 0;
  for (int d = 0; d < 3; d++) phase += waves[field][d] * place[d];
  return cos(2 * acos(-1) / SIDE * phase);
}

/* What one step multiplies a wave by. */
static double factor(int field) {
  double sum = 0;
  for (int d = 0; d < 3; d++) sum += 2 * (1 - cos(2 * acos(-1) / SIDE * waves[field][d]));
  return 1 - rate * sum;
}

static void take_home_points(const tg_world* world, const tg_halo* halo, fields* f) {
  for (int i = 0; i < POINTS; i++) {
    double at[3] = {(i / SIDE / SIDE + 0.5) * spacing, (i / SIDE % SIDE + 0.5) * spacing,
                    (i % SIDE + 0.5) * spacing};
    if (tg_halo_owner(halo, box, at) != tg_world_pe(world)) continue;
    memcpy(f->place[f->home], at, sizeof at);
    for (int c = 0; c < 3; c++) f->u[f->home][c] = wave(c, at);
    f->number[f->home++] = i;
  }
}

/* The neighbour of point i one step up along d, if that pair is this PE's business. */
static int upper_neighbour(const tg_halo* halo, const int grid[3], const fields* f, size_t i,
                           int d) {
  int at[3] = {(int)f->number[i] / SIDE / SIDE, (int)f->number[i] / SIDE % SIDE,
               (int)f->number[i] % SIDE};
  at[d] = (at[d] + 1) % SIDE;
  int j = f->where[(at[0] * SIDE + at[1]) * SIDE + at[2]];
  if (j < 0) return -1;
  const uint8_t *mine = tg_halo_offsets(halo)[i], *theirs = tg_halo_offsets(halo)[j];
  for (int e = 0; e < 3; e++)
    if (mine[e] && theirs[e]) return -1;              /* a PE higher up has both, closer to home */
  return grid[d] > 1 && theirs[d] < mine[d] ? -1 : j; /* around the box: not above i here */
}

static tg_status step(tg_halo* halo, const int grid[3], fields* f) {
  tg_status status = tg_halo_copy(halo, f->u, sizeof *f->u);
  if (status != TG_OK) return status;
  memset(f->gain, 0, f->local * sizeof *f->gain);
  for (size_t i = 0; i < f->local; i++)
    for (int d = 0; d < 3; d++) {
      int j = upper_neighbour(halo, grid, f, i, d);
      for (int c = 0; c < 3 && j >= 0; c++) {
        double flow = rate * (f->u[j][c] - f->u[i][c]);
        f->gain[i][c] += flow;
        f->gain[j][c] -= flow;
      }
    }
  status = tg_halo_forces(halo, f->gain);
  for (size_t i = 0; i < f->home; i++)
    for (int c = 0; c < 3; c++) f->u[i][c] += f->gain[i][c];
  return status;
}

static tg_status simulate(tg_world* world, tg_halo* halo, const int grid[3], fields* f,
                          double* error) {
  take_home_points(world, halo, f);
  tg_status status =
      tg_halo_plan(halo, box, spacing, f->home, (const double(*)[3])f->place); /* one layer */
  if (status == TG_OK) status = tg_halo_copy(halo, f->number, sizeof *f->number);
  if (status != TG_OK) return status;
  f->local = f->home + tg_halo_halo_count(halo);
  for (int i = 0; i < POINTS; i++) f->where[i] = -1;
  for (size_t i = 0; i < f->local; i++) f->where[f->number[i]] = (int)i;
  for (int s = 0; s < STEPS && status == TG_OK; s++) status = step(halo, grid, f);
  double sum = 0;
  for (size_t i = 0; i < f->home; i++)
    for (int c = 0; c < 3; c++)
      sum += fabs(f->u[i][c] - pow(factor(c), STEPS) * wave(c, f->place[i]));
  if (status == TG_OK) status = tg_world_sum_doubles(world, &sum, 1);
  *error = sum / (3.0 * POINTS);
  return status;
}

/* A PE may hold every point and a copy of none, or fewer points and their upper layers. */
static int allocate(fields* f) {
  f->place = calloc(POINTS, sizeof *f->place);
  f->number = calloc(POINTS, sizeof *f->number);
  f->u = calloc(POINTS, sizeof *f->u);
  f->gain = calloc(POINTS, sizeof *f->gain);
  f->where = calloc(POINTS, sizeof *f->where);
  return f->place && f->number && f->u && f->gain && f->where;
}

static int run(tg_world* world, const char* schedule) {
  fields f = {0};
  tg_halo_params params = {.schedule = schedule};
  tg_halo* halo = NULL;
  double error = 0;
  tg_status status = tg_halo_choose_grid(tg_world_pe_count(world), box, spacing, params.grid);
  if (status == TG_OK) status = tg_halo_create(world, &params, &halo);
  if (status == TG_OK)
    status = allocate(&f) ? simulate(world, halo, params.grid, &f, &error) : TG_ERR_MACHINE;
  int speaks = tg_world_pe(world) == 0;
  if (speaks && status == TG_OK)
    printf("%d steps on %d x %d x %d domains, schedule %s: mean error %.2g\n", STEPS,
           params.grid[0], params.grid[1], params.grid[2], tg_halo_schedule_of(halo), error);
  tg_halo_destroy(&halo);
  status = tg_world_close(&world, status);
  if (speaks && status != TG_OK) fprintf(stderr, "%s\n", tg_last_error());
  free(f.place);
  free(f.number);
  free(f.u);
  free(f.gain);
  free(f.where);
  /* a step rounds each of six contributions once */
  return status != TG_OK || error > 6 * STEPS * 2.3e-16;
}

int main(int argc, char** argv) {
  tg_world* world = NULL;
  int failed = 1;
#ifdef STENCIL_MPI
  MPI_Comm all = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  tg_status status = tg_world_open_communicator(&all, 0, &world);
#else
  tg_status status = tg_world_open_communicator(NULL, 0, &world);
#endif
  if (status == TG_OK)
    failed = run(world, argc > 1 ? argv[1] : NULL);
  else
    fprintf(stderr, "%s\n", tg_last_error());
#ifdef STENCIL_MPI
  MPI_Finalize();
#endif
  return failed;
}
