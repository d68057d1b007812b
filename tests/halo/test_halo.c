/* SPDX-License-Identifier: Apache-2.0 */
/* Every PE makes all atoms from their numbers, so each can say by brute force what its halo must
 * hold. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "comm/worlds.h"
#include "halo/halo.h"

enum { MOST = 400 };
static const double box[3] = {3.0, 2.5, 3.5};

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each edge that holds atoms */
} layout;

static double uniform(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* What one PE holds in a test. */
typedef struct domain {
  tg_halo* halo;
  double all[MOST][3]; /* centres of all atoms by number */
  double (*x)[3];      /* local */
  double (*f)[3];      /* local */
  uint64_t* number;    /* local */
  size_t x_room, f_room, number_room, home, local;
} domain;

static void domain_free(domain* at) {
  tg_halo_destroy(&at->halo);
  tg_free(at->x);
  tg_free(at->f);
  tg_free(at->number);
}

/* Atoms of this layout's round; the plan; local arrays with room for all. */
static tg_status domain_plan(tg_world* world, const layout* wanted, int round, domain* at) {
  double centre[MOST][3];
  uint64_t number[MOST];
  at->home = 0;
  for (int i = 0; i < wanted->atoms; i++) {
    for (int d = 0; d < 3; d++)
      at->all[i][d] = uniform((uint64_t)(3 * i + d), (uint64_t)round) * box[d] * wanted->filled;
    if (tg_halo_owner(at->halo, box, at->all[i]) != tg_world_pe(world)) continue;
    memcpy(centre[at->home], at->all[i], sizeof centre[0]);
    number[at->home++] = (uint64_t)i;
  }
  TG_TRY(tg_halo_plan(at->halo, box, wanted->reach, at->home, (const double(*)[3])centre));
  CHECK(tg_halo_home_count(at->halo) == at->home);
  at->local = at->home + tg_halo_halo_count(at->halo);
  TG_TRY(TG_RESERVE(at->local, "x", &at->x, &at->x_room));
  TG_TRY(TG_RESERVE(at->local, "f", &at->f, &at->f_room));
  TG_TRY(TG_RESERVE(at->local, "numbers", &at->number, &at->number_room));
  for (size_t i = 0; i < at->local; i++) {
    at->number[i] = i < at->home ? number[i] : UINT64_MAX;
    for (int d = 0; d < 3; d++) at->x[i][d] = i < at->home ? centre[i][d] : NAN;
  }
  TG_TRY(tg_halo_copy(at->halo, at->number, sizeof *at->number));
  return tg_halo_positions(at->halo, at->x);
}

/* The offset of atom from this PE's brick along d and whether it must be here; *x as it must read.
 */
static bool belongs(const domain* at, const layout* wanted, int atom, int offset[3], double x[3]) {
  const int* cell = tg_halo_cell(at->halo);
  for (int d = 0; d < 3; d++) {
    int grid = wanted->grid[d], theirs = grid - 1;
    while (theirs > 0 && at->all[atom][d] < box[d] * theirs / grid) theirs--;
    offset[d] = (theirs - cell[d] + grid) % grid;
    x[d] = at->all[atom][d] + (theirs < cell[d] ? box[d] : 0);
    double upper = cell[d] + 1 == grid ? box[d] : box[d] * (cell[d] + 1) / grid;
    if (offset[d] && !(x[d] < upper + wanted->reach)) return false;
  }
  return true;
}

/* Exactly the required atoms are here, once each, at the right place, with the right offset; and
 * every other copy of data (here three bytes an atom) goes where the numbers went. */
static tg_status check_content(tg_world* world, const layout* wanted, domain* at) {
  int slot[MOST], required = 0;
  memset(slot, -1, sizeof slot);
  for (size_t i = 0; i < at->local; i++) {
    CHECK(at->number[i] < (uint64_t)wanted->atoms && slot[at->number[i]] < 0);
    slot[at->number[i]] = (int)i;
  }
  const uint8_t(*offsets)[3] = tg_halo_offsets(at->halo);
  for (int atom = 0; atom < wanted->atoms; atom++) {
    int offset[3];
    double x[3];
    bool here = belongs(at, wanted, atom, offset, x);
    CHECK(here == (slot[atom] >= 0));
    if (!here) continue;
    required++;
    for (int d = 0; d < 3; d++) {
      CHECK(at->x[slot[atom]][d] == x[d]); /* one addition of the edge, so to the bit */
      CHECK(offsets[slot[atom]][d] == offset[d]);
    }
  }
  CHECK((size_t)required == at->local);
  unsigned char bytes[MOST][3];
  memset(bytes, 0, sizeof bytes);
  for (size_t i = 0; i < at->home; i++)
    for (int b = 0; b < 3; b++) bytes[i][b] = (unsigned char)(at->number[i] * 7 + (uint64_t)b);
  TG_TRY(tg_halo_copy(at->halo, bytes, 3));
  for (size_t i = 0; i < at->local; i++)
    for (int b = 0; b < 3; b++)
      CHECK(bytes[i][b] == (unsigned char)(at->number[i] * 7 + (uint64_t)b));
  return TG_OK;
}

static double distance2(const double* a, const double* b, const int minimum_image[3]) {
  double sum = 0;
  for (int d = 0; d < 3; d++) {
    double delta = a[d] - b[d];
    if (minimum_image[d]) delta -= box[d] * nearbyint(delta / box[d]);
    sum += delta * delta;
  }
  return sum;
}

/* Each pair within reach, by the nearest image, is the business of exactly one PE. */
static tg_status check_pairs(tg_world* world, const layout* wanted, domain* at) {
  static _Thread_local int64_t seen[MOST * MOST];
  const int everywhere[3] = {1, 1, 1};
  int inside[3];
  for (int d = 0; d < 3; d++) inside[d] = wanted->grid[d] == 1;
  size_t n = (size_t)wanted->atoms;
  double reach2 = wanted->reach * wanted->reach;
  memset(seen, 0, sizeof seen);
  const uint8_t(*offset)[3] = tg_halo_offsets(at->halo);
  for (size_t i = 0; i < at->local; i++)
    for (size_t j = 0; j < i; j++) {
      bool mine = true;
      for (int d = 0; d < 3; d++) mine = mine && (offset[i][d] == 0 || offset[j][d] == 0);
      if (!mine || distance2(at->x[i], at->x[j], inside) >= reach2) continue;
      size_t a = at->number[i], b = at->number[j];
      seen[a > b ? a * n + b : b * n + a]++;
    }
  TG_TRY(tg_world_sum_int64(world, seen, n * n));
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < a; b++)
      CHECK(seen[a * n + b] == (distance2(at->all[a], at->all[b], everywhere) < reach2));
  return TG_OK;
}

/* Every copy, home or halo, brings a force that depends on its atom and on the PE: what its owner
 * then holds is the sum over the PEs that have a copy, in whole numbers, so exactly. */
static double copy_force(int atom, int pe, int d) { return (atom + 1) * (d + 1) + 1000.0 * pe; }

static tg_status check_forces(tg_world* world, const layout* wanted, domain* at) {
  int pe = tg_world_pe(world);
  static _Thread_local double holders[MOST][3];
  memset(holders, 0, sizeof holders);
  for (size_t i = 0; i < at->local; i++)
    for (int d = 0; d < 3; d++) {
      at->f[i][d] = copy_force((int)at->number[i], pe, d);
      holders[at->number[i]][d] += at->f[i][d];
    }
  TG_TRY(tg_world_sum_doubles(world, holders[0], (size_t)wanted->atoms * 3));
  TG_TRY(tg_halo_forces(at->halo, at->f));
  for (size_t i = 0; i < at->home; i++)
    for (int d = 0; d < 3; d++) CHECK(at->f[i][d] == holders[at->number[i]][d]);
  return TG_OK;
}

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 200, 1},   {{2, 1, 1}, 0.9, 300, 1},   {{1, 2, 1}, 0, 100, 1},
    {{1, 1, 2}, 1.2, 200, 1},   {{3, 1, 1}, 0.8, 250, 1},   {{3, 1, 1}, 1.4, 200, 1},
    {{1, 1, 3}, 1.3, 200, 0.3}, {{2, 2, 1}, 1.0, 250, 1},   {{1, 2, 2}, 1.25, 150, 0.4},
    {{4, 1, 1}, 1.2, 200, 1},   {{1, 4, 1}, 1.25, 200, 1},  {{5, 1, 1}, 1.1, 250, 1},
    {{5, 1, 1}, 1.49, 150, 1},  {{1, 1, 5}, 1.0, 100, 0.1}, {{1, 2, 3}, 0.9, 300, 1},
    {{1, 2, 3}, 1.2, 150, 1},   {{1, 2, 3}, 1.2, 100, 0.4}, {{2, 1, 1}, 1.4, 100, 0.4},
    {{3, 2, 1}, 1.2, 150, 1},   {{6, 1, 1}, 1.2, 150, 0.6}, {{2, 2, 2}, 0.8, 400, 1},
    {{2, 2, 2}, 1.24, 200, 1},  {{4, 2, 1}, 1.2, 200, 1},   {{2, 1, 4}, 0.9, 30, 1},
    {{8, 1, 1}, 0.8, 200, 1},   {{2, 2, 2}, 1.0, 0, 1},     {{2, 1, 1}, 0.5, 1, 1},
};

static tg_status run_layout(tg_world* world, const layout* wanted, const char* schedule) {
  domain* at = NULL;
  TG_TRY(TG_ALLOCATE(1, "a domain", &at));
  tg_halo_params params = {.grid = {wanted->grid[0], wanted->grid[1], wanted->grid[2]},
                           .schedule = schedule};
  tg_status status = tg_halo_create(world, &params, &at->halo);
  /* the same halo again and again with other atoms: layouts change in between */
  for (int round = 0; round < 3 && status == TG_OK; round++) {
    layout now = *wanted;
    if (round == 1) now.atoms /= 3;
    TG_TRY_GOTO(domain_plan(world, &now, round, at), end);
    TG_TRY_GOTO(check_content(world, &now, at), end);
    TG_TRY_GOTO(check_pairs(world, &now, at), end);
    TG_TRY_GOTO(check_forces(world, &now, at), end);
  }
end:
  domain_free(at);
  tg_free(at);
  if (status != TG_OK)
    tg_fail_context(status, "%s, grid %d x %d x %d, reach %g: ", schedule, wanted->grid[0],
                    wanted->grid[1], wanted->grid[2], wanted->reach);
  return status;
}

static tg_status all_layouts(tg_world* world, void* context) {
  int* tried = context;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    const int* grid = layouts[i].grid;
    if (grid[0] * grid[1] * grid[2] != tg_world_pe_count(world)) continue;
    for (int s = 0; tg_halo_schedule_name(s); s++)
      TG_TRY(run_layout(world, &layouts[i], tg_halo_schedule_name(s)));
    if (tg_world_pe(world) == 0) ++*tried;
  }
  return TG_OK;
}

static void halo_holds_what_is_needed(void** state) {
  (void)state;
  int tried = 0;
  assert_int_equal(on_all_worlds(all_layouts, &tried), TG_OK);
  if (!worlds_launched()) assert_int_equal(tried, sizeof layouts / sizeof *layouts);
}

static tg_status pulse_counts(tg_world* world, void* context) {
  (void)context;
  tg_halo_params params = {.grid = {tg_world_pe_count(world), 1, 1}};
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  int count = params.grid[0];
  for (int k = 0; k < count;
       k++) { /* reach = k + 1/2 bricks spans k + 1 domains, where there are any */
    double reach = box[0] * (k + 0.5) / count;
    tg_status status = tg_halo_plan(halo, box, reach, 0, NULL);
    if (count > 1 && k + 1 > count - 1) {
      CHECK(status == TG_ERR_INPUT && strstr(tg_last_error(), "reach"));
    } else {
      CHECK(status == TG_OK && tg_halo_pulse_count(halo) == (count > 1 ? k + 1 : 0));
    }
  }
  double stray[1][3] = {{box[0] * 1.5, 0.1, 0.1}};
  CHECK(tg_halo_plan(halo, box, 0, tg_world_pe(world) == 0, (const double(*)[3])stray) ==
        TG_ERR_INTERNAL);
  double uneven = tg_world_pe(world) ? 0.1 : 0.1 + 1e-16;
  tg_status status = tg_halo_plan(halo, box, uneven, 0, NULL);
  CHECK(status == (count > 1 ? TG_ERR_INTERNAL : TG_OK));
  tg_halo_destroy(&halo);
  CHECK(!halo);
  tg_halo_params bad = {.grid = {count, 2, 1}};
  CHECK(tg_halo_create(world, &bad, &halo) == TG_ERR_INPUT && !halo);
  bad = (tg_halo_params){.grid = {count, 1, 1}, .schedule = "pigeon"};
  CHECK(tg_halo_create(world, &bad, &halo) == TG_ERR_INPUT && !halo);
  return TG_OK;
}

static void thin_domains_have_more_pulses(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(pulse_counts, NULL), TG_OK);
}

static void grids_are_chosen(void** state) {
  (void)state;
  int grid[3];
  const double cube[3] = {4, 4, 4}, rod[3] = {20, 2, 2};
  /* 2 x 3 x 4 less 1 x 2 x 4: 16 nm^3, where 2 x 2 x 2 domains need 27 - 8 */
  assert_int_equal(tg_halo_choose_grid(8, cube, 1, grid), TG_OK);
  assert_true(grid[0] == 4 && grid[1] == 2 && grid[2] == 1);
  assert_int_equal(tg_halo_choose_grid(27, cube, 0.5, grid), TG_OK);
  assert_true(grid[0] == 3 && grid[1] == 3 && grid[2] == 3);
  assert_int_equal(tg_halo_choose_grid(8, rod, 1, grid), TG_OK);
  assert_true(grid[0] == 8 && grid[1] == 1 && grid[2] == 1);
  assert_int_equal(tg_halo_choose_grid(1, cube, 100, grid), TG_OK);
  assert_int_equal(tg_halo_choose_grid(2, cube, 2.1, grid), TG_ERR_INPUT);
  assert_int_equal(tg_halo_choose_grid(0, cube, 1, grid), TG_ERR_INPUT);
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halo_holds_what_is_needed),
      cmocka_unit_test(thin_domains_have_more_pulses),
      cmocka_unit_test(grids_are_chosen),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
