/* SPDX-License-Identifier: Apache-2.0 */
/* Diffusion of three fields on a periodic grid of points, on GPUs.
 *
 *     stencil [GPUS]                0, or none: all that there are
 *
 * The same as examples/stencil-c, but what a processing element (PE) computes stays on its GPU, and
 * the kernel that advances a point stores the new values straight into every PE that has a copy:
 *
 *   gain     waits for the copies; what each local point gains from those neighbours whose pair is
 *            this PE's business: k (u_j - u_i)
 *   forces   (tg_device_halo_forces) the copies' gains go home and are added there
 *   advance  u += gain; pushes the new u (tg_halo_push), raises the flags (tg_halo_raise)
 *
 * The steps are one CUDA graph, launched again and again: no CPU is between them. In the end the
 * fields are compared with those of a plain loop over the whole grid. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <throng/device_halo.h>

#include <throng/device/halo.cuh>
#include <vector>

enum { SIDE = 24, POINTS = SIDE * SIDE * SIDE, STEPS = 100, STEPS_PER_GRAPH = 10, MOST_PES = 16 };
static const int grid[3] = {2, 2, 2};
static const double box[3] = {SIDE, SIDE, SIDE}, rate = 0.1;

/* What the kernels know of a PE's points beside its port. */
typedef struct points {
  const int* neighbour; /* [local capacity][6] local numbers; -1: none, or another PE's business */
  int local;            /* local capacity */
} points;

typedef struct points_of_card {
  points of[MOST_PES];
} points_of_card;

static __global__ void gain(const tg_halo_port<double>* ports, points_of_card card) {
  const tg_halo_port<double>* port = &ports[blockIdx.z];
  const points here = card.of[blockIdx.z];
  for (int c = 0; c < port->channel_count; c++)
    if (port->channel[c].from_elsewhere && !tg_halo_wait_positions(port, c, port->x_sent[c]))
      return;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < here.local; i += gridDim.x * blockDim.x)
    for (int c = 0; c < 3; c++) {
      double sum = 0;
      for (int k = 0; k < 6; k++) {
        int j = here.neighbour[6 * i + k];
        if (j >= 0) sum += rate * (port->x[3 * j + c] - port->x[3 * i + c]);
      }
      port->f[3 * i + c] = sum;
    }
}

/* One launch serves all PEs of a card (blockIdx.z). */
static __global__ void advance(const tg_halo_port<double>* ports) {
  const tg_halo_port<double>* port = &ports[blockIdx.z];
  const uint64_t number = tg_halo_next(port);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    double* u = &port->x[3 * i];
    for (int c = 0; c < 3; c++) u[c] += port->f[3 * i + c];
    tg_halo_push(port, i, u[0], u[1], u[2]);
  }
  tg_halo_raise(port, number, gridDim.x);
}

/* The plan, and which point of the grid each atom of it is. */
typedef struct field {
  std::vector<double> centre[MOST_PES]; /* [home][3] */
  std::vector<int> number[MOST_PES];    /* [home] (x * SIDE + y) * SIDE + z */
  tg_device_plan plan;
} field;

static double start_value(int point, int component) {
  int at[3] = {point / SIDE / SIDE, point / SIDE % SIDE, point % SIDE};
  return sin(0.7 * at[component] + component) * cos(0.3 * at[(component + 1) % 3]);
}

static tg_status make_field(field* f) {
  size_t counts[MOST_PES];
  const double(*centres[MOST_PES])[3];
  const int pes = grid[0] * grid[1] * grid[2];
  for (int i = 0; i < POINTS; i++) {
    int at[3] = {i / SIDE / SIDE, i / SIDE % SIDE, i % SIDE}, pe = 0;
    for (int d = 0; d < 3; d++) pe = pe * grid[d] + at[d] * grid[d] / SIDE;
    for (int d = 0; d < 3; d++) f->centre[pe].push_back(at[d] + 0.5);
    f->number[pe].push_back(i);
  }
  for (int p = 0; p < pes; p++) {
    counts[p] = f->number[p].size();
    centres[p] = (const double(*)[3])f->centre[p].data();
  }
  tg_status status = tg_device_plan_make(grid, box, 1, counts, centres, true, &f->plan);
  /* positions that cross the boundary are shifted by the box; fields are not */
  for (int p = 0; p < pes && status == TG_OK; p++)
    for (int c = 0; c < f->plan.channel_count; c++)
      memset(f->plan.parts[p].messages[c].shift, 0, sizeof f->plan.parts[p].messages[c].shift);
  return status;
}

/* From how many domains up channel c brings its copies (throng/device_plan.h), as three bits. */
static int offset_of(int c) {
  int found = 0;
  for (int offset = 1, channel = -1; offset < 8; offset++) {
    bool exists = true;
    for (int d = 0; d < 3; d++) exists = exists && (grid[d] > 1 || !(offset >> (2 - d) & 1));
    if (exists && ++channel == c) found = offset;
  }
  return found;
}

/* Neighbours of every local point of PE p. A pair is its business if no dimension has both above.
 */
static std::vector<int> find_neighbours(const field* f, int p, const tg_device_halo_view* v) {
  const tg_device_part* part = &f->plan.parts[p];
  std::vector<int> where(POINTS, -1), number(v->local_capacity, -1), offset(v->local_capacity, 0);
  std::vector<int> neighbour(6 * v->local_capacity, -1);
  for (size_t i = 0, c = 0; i < part->local_count; i++) {
    size_t at = i;
    if (i >= part->home_count) {
      while (i >= part->messages[c].receive_start + part->messages[c].receive_count) c++;
      at = v->slices[c] + (i - part->messages[c].receive_start);
      offset[at] = offset_of((int)c);
    }
    number[at] = f->number[part->origin_pe[i]][part->origin_atom[i]];
    where[number[at]] = (int)at;
  }
  for (size_t i = 0; i < v->local_capacity; i++)
    for (int d = 0; d < 3 && number[i] >= 0; d++) {
      int at[3] = {number[i] / SIDE / SIDE, number[i] / SIDE % SIDE, number[i] % SIDE};
      at[d] = (at[d] + 1) % SIDE;
      int j = where[(at[0] * SIDE + at[1]) * SIDE + at[2]], up = 1 << (2 - d);
      if (j < 0 || (offset[i] & offset[j])) continue;
      if (grid[d] > 1 && (offset[j] & up) < (offset[i] & up)) continue; /* around the box */
      neighbour[6 * i + 2 * d] = j;
      neighbour[6 * (size_t)j + 2 * d + 1] = (int)i;
    }
  return neighbour;
}

/* All steps of a graph: on each card, one launch for its PEs. */
static tg_status queue_steps(tg_device_halo* halo, const std::vector<points>& all) {
  for (int n = 0; n < STEPS_PER_GRAPH; n++) {
    for (int stage = 0; stage < 2; stage++) {
      for (size_t p = 0; p < all.size();) {
        tg_device_halo_view first, v;
        points_of_card card = {};
        unsigned count = 0;
        tg_device_halo_view_of(halo, (int)p, &first);
        for (; p < all.size(); p++, count++) {
          tg_device_halo_view_of(halo, (int)p, &v);
          if (v.device != first.device) break;
          card.of[count] = all[p];
        }
        const tg_halo_port<double>* ports = (const tg_halo_port<double>*)first.port;
        cudaSetDevice(first.device);
        if (stage == 0)
          gain<<<dim3(8, 1, count), 128, 0, (cudaStream_t)first.stream>>>(ports, card);
        else
          advance<<<dim3(8, 1, count), 128, 0, (cudaStream_t)first.stream>>>(ports);
        if (cudaGetLastError() != cudaSuccess) return TG_ERR_MACHINE;
      }
      tg_status status = stage == 0 ? tg_device_halo_forces(halo) : tg_device_halo_pushed(halo);
      if (status != TG_OK) return status;
    }
  }
  return TG_OK;
}

static tg_status run_graph(tg_device_halo* halo, const std::vector<points>& all) {
  tg_device_halo_graph* graph = NULL;
  tg_status status = tg_device_halo_graph_begin(halo);
  if (status != TG_OK) return status;
  tg_status queued = queue_steps(halo, all);
  status = tg_device_halo_graph_end(halo, &graph);
  if (queued != TG_OK) status = queued;
  for (int n = 0; n < STEPS && status == TG_OK; n += STEPS_PER_GRAPH)
    status = tg_device_halo_graph_launch(halo, graph);
  if (status == TG_OK) status = tg_device_halo_synchronize(halo);
  tg_device_halo_graph_destroy(halo, &graph);
  return status;
}

/* A kernel that is loaded while another one waits would wait for it. */
static bool load_kernels(int device) {
  cudaFuncAttributes attributes;
  return cudaSetDevice(device) == cudaSuccess &&
         cudaFuncGetAttributes(&attributes, gain) == cudaSuccess &&
         cudaFuncGetAttributes(&attributes, advance) == cudaSuccess;
}

static tg_status simulate(const field* f, tg_device_halo* halo, std::vector<double>* u) {
  std::vector<points> all((size_t)f->plan.pe_count);
  std::vector<int*> memory;
  tg_status status = TG_OK;
  for (int p = 0; p < f->plan.pe_count && status == TG_OK; p++) {
    tg_device_halo_view v;
    tg_device_halo_view_of(halo, p, &v);
    std::vector<int> neighbour = find_neighbours(f, p, &v);
    size_t bytes = neighbour.size() * sizeof(int);
    int* there = NULL;
    if (!load_kernels(v.device) || cudaMalloc((void**)&there, bytes) != cudaSuccess ||
        cudaMemcpy(there, neighbour.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess)
      status = TG_ERR_MACHINE;
    memory.push_back(there);
    all[(size_t)p] = {there, (int)v.local_capacity};
    std::vector<double> home;
    for (int point : f->number[p])
      for (int c = 0; c < 3; c++) home.push_back(start_value(point, c));
    if (status == TG_OK)
      status = tg_device_halo_set_positions(halo, p, (const double(*)[3])home.data());
  }
  if (status == TG_OK) status = tg_device_halo_positions(halo);
  if (status == TG_OK) status = run_graph(halo, all);
  for (int p = 0; p < f->plan.pe_count && status == TG_OK; p++) {
    std::vector<double> x(3 * f->plan.parts[p].local_count);
    status = tg_device_halo_get_positions(halo, p, (double(*)[3])x.data());
    for (size_t i = 0; i < 3 * f->number[p].size(); i++)
      (*u)[3 * (size_t)f->number[p][i / 3] + i % 3] = x[i];
  }
  for (int* there : memory) cudaFree(there);
  return status;
}

/* The plain loop. */
static void advance_all(std::vector<double>* u) {
  std::vector<double> more(u->size(), 0.0);
  for (int i = 0; i < POINTS; i++)
    for (int d = 0; d < 3; d++) {
      int at[3] = {i / SIDE / SIDE, i / SIDE % SIDE, i % SIDE};
      at[d] = (at[d] + 1) % SIDE;
      int j = (at[0] * SIDE + at[1]) * SIDE + at[2];
      for (int c = 0; c < 3; c++) {
        double flow = rate * ((*u)[3 * (size_t)j + c] - (*u)[3 * (size_t)i + c]);
        more[3 * (size_t)i + c] += flow;
        more[3 * (size_t)j + c] -= flow;
      }
    }
  for (size_t i = 0; i < u->size(); i++) (*u)[i] += more[i];
}

int main(int argc, char** argv) {
  int there = 0;
  if (cudaGetDeviceCount(&there) != cudaSuccess || there == 0) {
    printf("skipped: no GPU\n");
    return 77;
  }
  field f = {};
  tg_device_halo* halo = NULL;
  tg_device_halo_params params = {};
  params.gpus = argc > 1 ? atoi(argv[1]) : 0;
  params.schedule = "direct";
  params.double_precision = true;
  params.returns_forces = true;
  std::vector<double> u(3 * POINTS), expected(3 * POINTS);
  tg_status status = make_field(&f);
  if (status == TG_OK) status = tg_device_halo_create(&params, &f.plan, &halo);
  if (status == TG_OK) status = simulate(&f, halo, &u);
  int gpus = status == TG_OK ? tg_device_halo_gpu_count(halo) : 0;
  tg_device_halo_destroy(&halo);
  tg_device_plan_free(&f.plan);
  if (status != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return 3;
  }
  for (size_t i = 0; i < expected.size(); i++)
    expected[i] = start_value((int)(i / 3), (int)(i % 3));
  for (int n = 0; n < STEPS; n++) advance_all(&expected);
  double worst = 0;
  for (size_t i = 0; i < u.size(); i++) worst = fmax(worst, fabs(u[i] - expected[i]));
  printf("%d steps on %d x %d x %d domains, %d GPUs: largest error %.2g\n", STEPS, grid[0], grid[1],
         grid[2], gpus, worst);
  /* two computations of values below 1; a step rounds each of six contributions, and their sum with
   * u, and diffusion does not amplify */
  return worst > 2 * 7 * STEPS * 0x1p-53;
}
