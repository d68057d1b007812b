/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are wrong fail at once, alike on all PEs, and touch nothing. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/transport.h"
#include "comm/worlds.h"
#include "halo/halo.h"

enum { ROOM = 8, SCHEDULES = 4 };
static const double box[3] = {3, 2.5, 3.5};
static const double untouched = -77;

static bool said(const char* words) { return strstr(tg_last_error(), words) != NULL; }

/* One atom at the lower face of each brick: its copy is the one halo atom of the PE below. */
static void first_atom(const tg_world* world, double (*x)[3]) {
  for (int i = 0; i < ROOM; i++)
    for (int d = 0; d < 3; d++) x[i][d] = untouched;
  x[0][0] = 3.0 * (tg_world_pe(world) + 0.1) / tg_world_pe_count(world);
  x[0][1] = x[0][2] = 0.1;
}

/* Every exchange is refused here, and leaves its array as it was. */
static tg_status refused(tg_halo* halo, const tg_world* world) {
  double x[ROOM][3];
  float y[ROOM][3];
  for (int i = 0; i < 3 * ROOM; i++) (&x[0][0])[i] = (&y[0][0])[i] = (float)untouched;
  for (int call = 0; call < 5; call++) {
    tg_status status = call == 0   ? tg_halo_positions(halo, x)
                       : call == 1 ? tg_halo_forces(halo, x)
                       : call == 2 ? tg_halo_copy(halo, x, sizeof *x)
                       : call == 3 ? tg_halo_positions_float(halo, y)
                                   : tg_halo_forces_float(halo, y);
    CHECK(status == TG_ERR_INPUT);
    CHECK(said("no plan") && said("call tg_halo_plan first"));
  }
  for (int i = 0; i < 3 * ROOM; i++)
    CHECK((&x[0][0])[i] == untouched && (&y[0][0])[i] == (float)untouched);
  CHECK(tg_halo_home_count(halo) == 0 && tg_halo_halo_count(halo) == 0);
  return TG_OK;
}

static tg_status accepted(tg_halo* halo, tg_world* world) {
  double x[ROOM][3];
  int count = tg_world_pe_count(world), pe = tg_world_pe(world);
  first_atom(world, x);
  TG_TRY(tg_halo_plan(halo, box, 0.5 / count, 1, (const double(*)[3])x));
  CHECK(tg_halo_halo_count(halo) == (count > 1 ? 1 : 0));
  TG_TRY(tg_halo_positions(halo, x));
  if (count > 1) CHECK(fabs(x[1][0] - 3.0 * (pe + 1.1) / count) < 1e-12);
  CHECK(x[2][0] == untouched);
  return TG_OK;
}

/* Which argument of a plan is wrong, on the last PE alone. */
enum { CENTRE_OUTSIDE, CENTRE_NULL, BOX_NULL, BOX_DIFFERS, BOX_INFINITE, REACH_DIFFERS, REACH_NAN };
enum { TRICLINIC = REACH_NAN + 1, WRONGS = 2 * TRICLINIC };

static tg_status plan_wrongly(tg_halo* halo, tg_world* world, int wrong, bool last) {
  double x[ROOM][3], reach = 0.5 / tg_world_pe_count(world);
  double vectors[3][3] = {{box[0], 0, 0}, {0, box[1], 0}, {0, 0, box[2]}};
  first_atom(world, x);
  const double(*centre)[3] = (const double(*)[3])x;
  const double* edges[1] = {NULL};
  int kind = wrong % TRICLINIC;
  if (last && kind == CENTRE_OUTSIDE) x[0][1] = 2 * box[1];
  if (last && kind == CENTRE_NULL) centre = NULL;
  if (last && kind == BOX_DIFFERS) vectors[2][2] *= 1 + 0x1p-52;
  if (last && kind == BOX_INFINITE) vectors[1][1] = INFINITY;
  if (last && kind == REACH_DIFFERS) reach *= 1 + 0x1p-52;
  if (last && kind == REACH_NAN) reach = NAN;
  double lengths[3] = {vectors[0][0], vectors[1][1], vectors[2][2]};
  bool none = last && kind == BOX_NULL;
  edges[0] = none ? NULL : lengths;
  if (wrong < TRICLINIC) return tg_halo_plan(halo, edges[0], reach, 1, centre);
  return tg_halo_plan_triclinic(halo, none ? NULL : (const double(*)[3])vectors, reach, 1, centre);
}

static tg_status failed_plans(tg_world* world, void* context) {
  int s = *(const int*)context, count = tg_world_pe_count(world);
  tg_halo_params params = {.grid = {count, 1, 1}, .schedule = tg_halo_schedule_name(s)};
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  tg_status status = refused(halo, world);
  for (int wrong = 0; wrong < WRONGS && status == TG_OK; wrong++) {
    int kind = wrong % TRICLINIC;
    bool differs = kind == BOX_DIFFERS || kind == REACH_DIFFERS;
    if (count == 1 && differs) continue;
    tg_status found = plan_wrongly(halo, world, wrong, tg_world_pe(world) == count - 1);
    if (found == TG_OK || (differs && !said("differs between PEs")) ||
        (kind <= BOX_NULL && !said(kind == CENTRE_OUTSIDE ? "outside" : "NULL")))
      status = tg_fail(TG_ERR_INTERNAL, "wrong plan %d: %d, %s", wrong, found, tg_last_error());
    if (status == TG_OK) status = refused(halo, world);
    if (status == TG_OK) status = accepted(halo, world);
  }
  tg_halo_destroy(&halo);
  return status;
}

static void a_failed_plan_is_no_plan(void** state) {
  (void)state;
  for (int s = 0; s < SCHEDULES; s++) assert_int_equal(on_all_worlds(failed_plans, &s), TG_OK);
}

static tg_status bad_params(tg_world* world, void* context) {
  (void)context;
  static const double margins[] = {INFINITY, NAN, -INFINITY, 1e300, 1e11, 1000.5, 0.5, -1};
  int count = tg_world_pe_count(world), last = tg_world_pe(world) == count - 1;
  const tg_halo_params good = {.grid = {count, 1, 1}};
  tg_halo* halo = NULL;
  for (size_t i = 0; i < sizeof margins / sizeof *margins; i++) {
    tg_halo_params params = good;
    params.margin = margins[i];
    CHECK(tg_halo_create(world, &params, &halo) == TG_ERR_INPUT);
    CHECK(said("margin") && !halo);
  }
  CHECK(tg_halo_create(world, last ? NULL : &good, &halo) == TG_ERR_INPUT && said("params NULL"));
  CHECK(tg_halo_create(world, &good, last ? NULL : &halo) == TG_ERR_INPUT && said("out NULL"));
  CHECK(!halo && tg_halo_create(NULL, &good, &halo) == TG_ERR_INPUT);
  for (int what = 0; what < 3 && count > 1; what++) {
    static const char* const names[] = {"the grid", "the schedule", "the margin"};
    tg_halo_params params = good;
    char pe[16];
    if (last && what == 0) params.grid[0] = 1, params.grid[1] = count;
    if (last && what == 1) params.schedule = "direct";
    if (last && what == 2) params.margin = 1 + 0x1p-52;
    CHECK(tg_halo_create(world, &params, &halo) == TG_ERR_INPUT);
    snprintf(pe, sizeof pe, "PE %d ", count - 1);
    CHECK(!halo && said(names[what]) && said(pe));
  }
  tg_halo_params most = good;
  most.margin = 1000;
  TG_TRY(tg_halo_create(world, &most, &halo));
  tg_status status = accepted(halo, world);
  tg_halo_destroy(&halo);
  return status;
}

static void parameters_are_checked_and_agreed(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(bad_params, NULL), TG_OK);
}

/* The last PE gives no array; the others are told at once rather than at their deadline. */
static tg_status no_array(tg_world* world, void* context) {
  int s = *(const int*)context, count = tg_world_pe_count(world);
  tg_halo_params params = {.grid = {count, 1, 1}, .schedule = tg_halo_schedule_name(s)};
  tg_halo* halo = NULL;
  double x[ROOM][3], start = tg_time_now();
  TG_TRY(tg_halo_create(world, &params, &halo));
  tg_status status = accepted(halo, world);
  first_atom(world, x);
  for (int n = 0; n < 4 && status == TG_OK; n++)
    status = tg_halo_positions(halo, tg_world_pe(world) == count - 1 ? NULL : x);
  tg_halo_destroy(&halo);
  CHECK(status == TG_ERR_INPUT && tg_time_now() - start < 20);
  CHECK(tg_halo_positions(NULL, x) == TG_ERR_INPUT);
  return tg_fail(TG_ERR_INPUT, "as expected");
}

static void a_missing_array_ends_the_exchange(void** state) {
  (void)state;
  for (int s = 0; s < SCHEDULES; s++) {
    tg_world_params params = {.pe_count = worlds_launched() ? 0 : 3, .deadline_s = 30};
    assert_int_equal(tg_world_run(&params, no_array, &s), TG_ERR_INPUT);
  }
}

/* 24 B of 2 x 1000 slots an atom: more than the memory limit leaves. */
enum { MANY = 40000 };

static tg_status no_slots(tg_world* world, void* context) {
  int s = *(const int*)context, count = tg_world_pe_count(world);
  tg_halo_params params = {
      .grid = {count, 1, 1}, .schedule = tg_halo_schedule_name(s), .margin = 1000};
  double(*x)[3] = calloc(2 * MANY, sizeof *x), one[ROOM][3];
  tg_halo* halo = NULL;
  tg_status status = x ? tg_halo_create(world, &params, &halo) : TG_ERR_MACHINE;
  first_atom(world, one);
  for (size_t i = 0; i < MANY && x; i++) memcpy(x[i], one[0], sizeof x[i]);
  if (status == TG_OK) {
    tg_status planned = tg_halo_plan(halo, box, 0.5 / count, MANY, (const double(*)[3])x);
    status = refused(halo, world);
    if (status == TG_OK && planned == TG_OK)
      status = tg_fail(TG_ERR_INTERNAL, "there was memory after all");
    if (status == TG_OK) status = planned;
  }
  tg_halo_destroy(&halo);
  free(x);
  return status;
}

static void slots_that_cannot_be_had_are_no_plan(void** state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* their shadows need the address space */
#endif
  if (worlds_launched()) skip();
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  char line[128];
  if (file && fgets(line, sizeof line, file)) pages = strtoul(line, NULL, 10);
  if (file) fclose(file);
  if (!pages) skip();
  struct rlimit before, limit;
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  limit = before;
  limit.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + (512u << 20);
  if (before.rlim_cur != RLIM_INFINITY && before.rlim_cur < limit.rlim_cur) skip();
  for (int s = 1; s < SCHEDULES; s++) {
    tg_world_params params = {.pe_count = 2, .deadline_s = 30};
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    tg_status status = tg_world_run(&params, no_slots, &s);
    setrlimit(RLIMIT_AS, &before);
    if (status != TG_ERR_MACHINE) print_error("%s\n", tg_last_error());
    assert_int_equal(status, TG_ERR_MACHINE);
  }
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failed_plan_is_no_plan),
      cmocka_unit_test(parameters_are_checked_and_agreed),
      cmocka_unit_test(a_missing_array_ends_the_exchange),
      cmocka_unit_test(slots_that_cannot_be_had_are_no_plan),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
