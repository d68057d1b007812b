/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of all PEs at once against the plan that PEs make together: the same messages, atom by
 * atom, in rectangular and in triclinic boxes. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "base/memory.h"
#include "comm/worlds.h"
#include "halo/device_plan.h"
#include "halo/internal.h"

enum { MOST_ATOMS = 400, MOST_PES = 8 };

static const double oblique[3][3] = {{3.1, 0, 0}, {0.7, 3.3, 0}, {-0.9, 1.1, 2.9}};
static const double rectangular[3][3] = {{3.1, 0, 0}, {0, 3.3, 0}, {0, 0, 2.9}};

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each vector that holds atoms */
} layout;

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 50, 1},    {{2, 1, 1}, 1.1, 300, 1},  {{1, 1, 2}, 1.2, 200, 1},
    {{3, 1, 1}, 1.2, 250, 1},   {{1, 3, 1}, 0.0, 100, 1},  {{2, 2, 1}, 1.1, 300, 1},
    {{1, 2, 2}, 1.3, 150, 0.4}, {{5, 1, 1}, 1.4, 250, 1},  {{1, 1, 5}, 1.9, 200, 1},
    {{1, 2, 3}, 1.2, 300, 1},   {{2, 2, 2}, 1.15, 400, 1}, {{4, 2, 1}, 1.3, 200, 1},
};

static double uniform(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* The atoms of each PE, by their numbers. */
typedef struct atoms {
  size_t counts[MOST_PES];
  double centres[MOST_PES][MOST_ATOMS][3];
  int numbers[MOST_PES][MOST_ATOMS];
} atoms;

/* Every seventh atom stands where the reach of the PE below ends along one dimension, as near as
 * rounding lets it. */
static void deal_out(const tg_halo* halo, const layout* wanted, const double box[3][3], bool skewed,
                     atoms* out) {
  memset(out->counts, 0, sizeof out->counts);
  const double edges[3] = {box[0][0], box[1][1], box[2][2]};
  for (int i = 0; i < wanted->atoms; i++) {
    double at[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++) {
      double u = uniform(3 * (uint64_t)i + (uint64_t)d, 1) * wanted->filled;
      if (i % 7 == 0 && d == i / 7 % 3 && wanted->reach < edges[d] / wanted->grid[d])
        u = wanted->reach / edges[d];
      for (int k = 0; k < 3; k++) at[k] += u * box[d][k];
    }
    int pe = skewed ? tg_halo_owner_triclinic(halo, box, at) : tg_halo_owner(halo, edges, at);
    memcpy(out->centres[pe][out->counts[pe]], at, sizeof at);
    out->numbers[pe][out->counts[pe]++] = i;
  }
}

static tg_status make_plan(const layout* wanted, const double box[3][3], bool skewed,
                           const atoms* all, bool direct, tg_device_plan* out) {
  const double(*centres[MOST_PES])[3];
  const double edges[3] = {box[0][0], box[1][1], box[2][2]};
  for (int p = 0; p < MOST_PES; p++) centres[p] = (const double(*)[3])all->centres[p];
  return skewed ? tg_device_plan_make_triclinic(wanted->grid, box, wanted->reach, all->counts,
                                                centres, direct, out)
                : tg_device_plan_make(wanted->grid, edges, wanted->reach, all->counts, centres,
                                      direct, out);
}

/* Staged: message by message what this PE's own plan says. */
static tg_status check_staged(tg_world* world, const tg_halo* halo, const tg_device_plan* plan) {
  const tg_device_part* part = &plan->parts[tg_world_pe(world)];
  CHECK(plan->channel_count == halo->pulse_count);
  CHECK(part->home_count == halo->home_count && part->local_count == halo->local_count);
  for (int c = 0; c < plan->channel_count; c++) {
    const tg_device_message* message = &part->messages[c];
    const tg_halo_pulse* pulse = &halo->pulses[c];
    CHECK(message->to == pulse->lower && message->from == pulse->upper);
    CHECK(message->send_count == pulse->send_count);
    CHECK(message->receive_count == pulse->receive_count);
    CHECK(message->receive_start == pulse->receive_start);
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++)
        CHECK(message->shift[k][i] == (k == 2 - pulse->dimension ? pulse->shift[i] : 0));
    for (size_t k = 0; k < message->send_count; k++)
      CHECK(message->send[k] == halo->index[pulse->send_start + k]);
  }
  return TG_OK;
}

/* Direct: the halo of this PE's own plan, sorted by where atoms come from. number: global, of all
 * local atoms of that plan. */
static tg_status check_direct(tg_world* world, tg_halo* halo, const atoms* all, const int* number,
                              const double box[3][3], const tg_device_plan* plan) {
  const tg_device_part* part = &plan->parts[tg_world_pe(world)];
  const uint8_t(*offset)[3] = tg_halo_offsets(halo);
  size_t at = part->home_count;
  int c = 0;
  for (int x = 0; x <= halo->pulses_along[0]; x++)
    for (int y = 0; y <= halo->pulses_along[1]; y++)
      for (int z = 0; z <= halo->pulses_along[2]; z++) {
        if (!x && !y && !z) continue;
        CHECK(part->messages[c].receive_start == at);
        for (size_t i = halo->home_count; i < halo->local_count; i++) {
          if (offset[i][0] != x || offset[i][1] != y || offset[i][2] != z) continue;
          CHECK(at < part->local_count);
          CHECK(all->numbers[part->origin_pe[at]][part->origin_atom[at]] == number[i]);
          at++;
        }
        const tg_device_message* message = &part->messages[c++];
        CHECK(message->receive_start + message->receive_count == at);
        const int up[3] = {x, y, z};
        for (int d = 0; d < 3; d++) /* in the order of the hops: z, y, x */
          for (int i = 0; i < 3; i++)
            CHECK(message->shift[2 - d][i] == (halo->cell[d] < up[d] ? box[d][i] : 0));
      }
  CHECK(c == plan->channel_count && at == part->local_count);
  return TG_OK;
}

static tg_status compare(tg_world* world, tg_halo* halo, const layout* wanted, bool skewed,
                         atoms* all) {
  const double(*box)[3] = skewed ? oblique : rectangular;
  int pe = tg_world_pe(world), number[MOST_ATOMS];
  deal_out(halo, wanted, box, skewed, all);
  const double edges[3] = {box[0][0], box[1][1], box[2][2]};
  const double(*mine)[3] = (const double(*)[3])all->centres[pe];
  TG_TRY(skewed ? tg_halo_plan_triclinic(halo, box, wanted->reach, all->counts[pe], mine)
                : tg_halo_plan(halo, edges, wanted->reach, all->counts[pe], mine));
  CHECK(halo->local_count <= MOST_ATOMS);
  memcpy(number, all->numbers[pe], all->counts[pe] * sizeof *number);
  TG_TRY(tg_halo_copy(halo, number, sizeof *number));
  for (int direct = 0; direct < 2; direct++) {
    tg_device_plan plan = {0};
    TG_TRY(make_plan(wanted, box, skewed, all, direct, &plan));
    tg_status status = direct ? check_direct(world, halo, all, number, box, &plan)
                              : check_staged(world, halo, &plan);
    tg_device_plan_free(&plan);
    TG_TRY(status);
  }
  return TG_OK;
}

static tg_status all_layouts(tg_world* world, void* context) {
  int* tried = context;
  atoms* all = NULL;
  TG_TRY(TG_ALLOCATE(1, "atoms", &all));
  tg_status status = TG_OK;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts && status == TG_OK; i++) {
    const int* grid = layouts[i].grid;
    if (grid[0] * grid[1] * grid[2] != tg_world_pe_count(world)) continue;
    tg_halo_params params = {.grid = {grid[0], grid[1], grid[2]}, .schedule = "host"};
    tg_halo* halo = NULL;
    status = tg_halo_create(world, &params, &halo);
    for (int skewed = 0; skewed < 2 && status == TG_OK; skewed++)
      status = compare(world, halo, &layouts[i], skewed, all);
    if (status != TG_OK)
      tg_fail_context(status, "grid %d x %d x %d, reach %g: ", grid[0], grid[1], grid[2],
                      layouts[i].reach);
    tg_halo_destroy(&halo);
    if (tg_world_pe(world) == 0) ++*tried;
  }
  tg_free(all);
  return status;
}

static void plans_of_all_are_the_plans_of_each(void** state) {
  (void)state;
  int tried = 0;
  assert_int_equal(on_all_worlds(all_layouts, &tried), TG_OK);
  assert_int_equal(tried, sizeof layouts / sizeof *layouts);
}

static void boxes_are_refused(void** state) {
  (void)state;
  const int grid[3] = {2, 1, 1}, none[3] = {0, 1, 1};
  const double left[3][3] = {{3, 0.1, 0}, {0, 3, 0}, {0, 0, 3}};
  const size_t counts[2] = {0, 0};
  const double(*const centres[2])[3] = {NULL, NULL};
  tg_device_plan plan = {0};
  assert_int_equal(tg_device_plan_make_triclinic(grid, left, 1, counts, centres, false, &plan),
                   TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "must lie along x"));
  /* the oblique box is lower than its edge along x: half of that is no longer served */
  double height[3];
  assert_int_equal(tg_halo_heights(oblique, height), TG_OK);
  assert_true(height[0] < oblique[0][0] - 0.01);
  double between = (height[0] + oblique[0][0]) / 4;
  assert_int_equal(
      tg_device_plan_make_triclinic(grid, oblique, between, counts, centres, false, &plan),
      TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "serve at most"));
  const double edges[3] = {3.1, 3.3, 2.9};
  assert_int_equal(tg_device_plan_make(grid, edges, between, counts, centres, false, &plan), TG_OK);
  tg_device_plan_free(&plan);
  assert_int_equal(tg_device_plan_make(none, edges, 1, counts, centres, false, &plan),
                   TG_ERR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plans_of_all_are_the_plans_of_each),
      cmocka_unit_test(boxes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
