/* SPDX-License-Identifier: Apache-2.0 */
/* The plan that PEs make together is, for each of them, the one that is made from all their atoms
 * at once. */
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

enum { MOST = 300, MOST_PES = 8 };

static const double box[3] = {3.0, 2.5, 3.5};

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each edge that holds atoms */
} layout;

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 50, 1},   {{2, 1, 1}, 0.9, 200, 1},   {{1, 2, 1}, 0, 100, 1},
    {{3, 1, 1}, 1.4, 200, 1},  {{1, 1, 3}, 1.3, 200, 0.3}, {{2, 2, 1}, 1.0, 250, 1},
    {{1, 4, 1}, 1.25, 200, 1}, {{5, 1, 1}, 1.49, 150, 1},  {{1, 2, 3}, 0.9, 300, 1},
    {{2, 2, 2}, 0.8, 300, 1},  {{2, 2, 2}, 1.0, 0, 1},     {{4, 1, 2}, 1.2, 200, 1},
    {{8, 1, 1}, 0.8, 200, 1},  {{1, 2, 4}, 1.1, 300, 0.7}, {{2, 2, 2}, 1.1, 7, 0.6},
};

/* All atoms, by their PEs. */
typedef struct atoms {
  double centre[MOST_PES][MOST][3];
  size_t count[MOST_PES];
} atoms;

static double uniform(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void deal_out(const tg_halo* halo, const layout* wanted, atoms* out) {
  memset(out->count, 0, sizeof out->count);
  for (int i = 0; i < wanted->atoms; i++) {
    double at[3];
    for (uint64_t d = 0; d < 3; d++) at[d] = uniform((uint64_t)i, d) * box[d] * wanted->filled;
    int pe = tg_halo_owner(halo, box, at);
    memcpy(out->centre[pe][out->count[pe]++], at, sizeof at);
  }
}

static tg_status same_part(tg_world* world, const tg_device_plan* mine,
                           const tg_device_plan* whole) {
  int pe = tg_world_pe(world);
  const tg_device_part *a = &mine->parts[pe], *b = &whole->parts[pe];
  CHECK(mine->pe_count == whole->pe_count && mine->channel_count == whole->channel_count);
  CHECK(mine->direct == whole->direct && !memcmp(mine->grid, whole->grid, sizeof mine->grid));
  CHECK(a->home_count == b->home_count && a->local_count == b->local_count);
  for (size_t i = 0; i < a->local_count; i++)
    CHECK(a->origin_pe[i] == b->origin_pe[i] && a->origin_atom[i] == b->origin_atom[i]);
  for (int c = 0; c < mine->channel_count; c++) {
    const tg_device_message *m = &a->messages[c], *n = &b->messages[c];
    CHECK(m->to == n->to && m->from == n->from);
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) CHECK(m->shift[k][i] == n->shift[k][i]);
    CHECK(m->send_count == n->send_count && m->receive_count == n->receive_count);
    CHECK(m->receive_start == n->receive_start);
    for (size_t k = 0; k < m->send_count; k++) CHECK(m->send[k] == n->send[k]);
  }
  for (int p = 0; p < mine->pe_count; p++) CHECK(p == pe || !mine->parts[p].messages);
  return TG_OK;
}

static tg_status one_layout(tg_world* world, const layout* wanted, const char* schedule,
                            atoms* all) {
  tg_halo* halo = NULL;
  tg_halo_params params = {.schedule = schedule};
  const double(*centres[MOST_PES])[3];
  int pe = tg_world_pe(world);
  memcpy(params.grid, wanted->grid, sizeof params.grid);
  TG_TRY(tg_halo_create(world, &params, &halo));
  deal_out(halo, wanted, all);
  for (int p = 0; p < MOST_PES; p++) centres[p] = (const double(*)[3])all->centre[p];
  TG_TRY(tg_halo_plan(halo, box, wanted->reach, all->count[pe], centres[pe]));
  for (int direct = 0; direct < 2; direct++) {
    tg_device_plan mine = {0}, whole = {0};
    TG_TRY(
        tg_device_plan_make(wanted->grid, box, wanted->reach, all->count, centres, direct, &whole));
    TG_TRY(tg_device_plan_from_halo(halo, direct, &mine));
    TG_TRY(same_part(world, &mine, &whole));
    tg_device_plan_free(&mine);
    tg_device_plan_free(&whole);
  }
  tg_halo_destroy(&halo);
  return TG_OK;
}

static tg_status every_layout(tg_world* world, void* context) {
  (void)context;
  atoms* all = NULL;
  TG_TRY(TG_ALLOCATE(1, "test atoms", &all));
  tg_status status = TG_OK;
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts && status == TG_OK; i++) {
    const int* grid = layouts[i].grid;
    if (grid[0] * grid[1] * grid[2] != tg_world_pe_count(world)) continue;
    status = one_layout(world, &layouts[i], "host", all);
    if (status == TG_OK) status = one_layout(world, &layouts[i], "direct", all);
  }
  tg_free(all);
  return status;
}

static void test_part_of_a_distributed_plan(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(every_layout, NULL), TG_OK);
}

/* More neighbours than a device plan has messages for. */
static tg_status too_many(tg_world* world, void* context) {
  (void)context;
  tg_halo* halo = NULL;
  tg_halo_params params = {.grid = {6, 4, 4}};
  const double wide[3] = {3, 4, 4};
  tg_device_plan plan = {0};
  TG_TRY(tg_halo_create(world, &params, &halo));
  TG_TRY(tg_halo_plan(halo, wide, 2.5, 0, NULL));
  tg_status direct = tg_device_plan_from_halo(halo, true, &plan);
  CHECK(direct == TG_ERR_INPUT && strstr(tg_last_error(), "64 messages") && !plan.parts);
  TG_TRY(tg_device_plan_from_halo(halo, false, &plan));
  CHECK(plan.channel_count == 11);
  tg_device_plan_free(&plan);
  tg_halo_destroy(&halo);
  return TG_OK;
}

static void test_too_many_neighbours(void** state) {
  (void)state;
  if (tg_world_under_launcher()) skip();
  tg_world_params params = {.transport = "loop", .pe_count = 96, .deadline_s = 30};
  tg_status status = tg_world_run(&params, too_many, NULL);
  if (status != TG_OK) fail_msg("%s", tg_last_error());
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_part_of_a_distributed_plan),
                                     cmocka_unit_test(test_too_many_neighbours)};
  worlds_begin(&argc, &argv);
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
