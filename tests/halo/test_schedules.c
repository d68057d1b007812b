/* SPDX-License-Identifier: Apache-2.0 */
/* All schedules give the same bits, exchange after exchange, and none hangs. */
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
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/transport.h"
#include "comm/worlds.h"
#include "halo/lanes.h"

enum { MOST = 300, WIDE = 100, SCHEDULES = 4 };

static uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return z ^ (z >> 31);
}

static double uniform(uint64_t a, uint64_t b) { return (double)(mix(a, b) >> 11) * 0x1p-53; }

static const double edges[3][3] = {{3.0, 0, 0}, {0, 2.5, 0}, {0, 0, 3.5}};
/* -0: to be told from 0 by nobody */
static const double oblique[3][3] = {{3.0, -0.0, -0.0}, {0.7, 2.5, -0.0}, {-0.9, 0.6, 3.5}};

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each edge that holds atoms */
} layout;

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 50, 1},    {{2, 1, 1}, 0.9, 200, 1},    {{1, 2, 1}, 0, 100, 1},
    {{3, 1, 1}, 0.8, 200, 1},   {{3, 1, 1}, 1.4, 200, 1},    {{1, 1, 3}, 1.3, 200, 0.3},
    {{2, 2, 1}, 1.0, 250, 1},   {{1, 2, 2}, 1.15, 150, 0.4}, {{1, 4, 1}, 1.25, 200, 1},
    {{5, 1, 1}, 1.49, 150, 1},  {{1, 1, 5}, 1.0, 100, 0.1},  {{1, 2, 3}, 0.9, 300, 1},
    {{1, 2, 3}, 1.2, 150, 1},   {{1, 2, 3}, 1.2, 100, 0.4},  {{6, 1, 1}, 1.2, 150, 0.6},
    {{2, 2, 2}, 0.8, 300, 1},   {{2, 2, 2}, 1.0, 0, 1},      {{4, 1, 2}, 1.2, 200, 1},
    {{1, 2, 4}, 1.1, 300, 0.7}, {{8, 1, 1}, 0.8, 200, 1},    {{2, 2, 2}, 1.1, 7, 0.6},
};

/* Local arrays of one PE. */
typedef struct arrays {
  double x[MOST][3], f[MOST][3];
  float xf[MOST][3], ff[MOST][3];
  unsigned char wide[MOST][WIDE];
  uint64_t number[MOST];
} arrays;

typedef struct domain {
  tg_halo* halo[SCHEDULES];
  double centre[MOST][3];
  double all[MOST][3];
  size_t home, local;
  arrays of[SCHEDULES];
} domain;

static tg_status open_halos(tg_world* world, const layout* wanted, double margin, domain* at) {
  for (int s = 0; s < SCHEDULES; s++) {
    tg_halo_params params = {.schedule = tg_halo_schedule_name(s), .margin = margin};
    memcpy(params.grid, wanted->grid, sizeof params.grid);
    CHECK(params.schedule);
    TG_TRY(tg_halo_create(world, &params, &at->halo[s]));
  }
  CHECK(!tg_halo_schedule_name(SCHEDULES));
  return TG_OK;
}

static void close_halos(domain* at) {
  for (int s = 0; s < SCHEDULES; s++) tg_halo_destroy(&at->halo[s]);
}

static tg_status plan_one(tg_world* world, const layout* wanted, const double box[3][3], int s,
                          domain* at) {
  const double(*centre)[3] = (const double(*)[3])at->centre;
  double lengths[3] = {box[0][0], box[1][1], box[2][2]};
  if (box == edges)
    TG_TRY(tg_halo_plan(at->halo[s], lengths, wanted->reach, at->home, centre));
  else
    TG_TRY(tg_halo_plan_triclinic(at->halo[s], box, wanted->reach, at->home, centre));
  at->local = at->home + tg_halo_halo_count(at->halo[s]);
  CHECK(at->local <= MOST);
  return TG_OK;
}

/* Home atoms of this round; home parts of every schedule's arrays. */
static void choose_home(tg_world* world, const layout* wanted, const double box[3][3], int round,
                        domain* at) {
  at->home = 0;
  for (int i = 0; i < wanted->atoms; i++) {
    double fraction[3];
    for (int d = 0; d < 3; d++)
      fraction[d] = uniform(3 * (uint64_t)i + (uint64_t)d, (uint64_t)round) * wanted->filled;
    for (int c = 0; c < 3; c++) {
      at->all[i][c] = 0;
      for (int d = 0; d < 3; d++) at->all[i][c] += fraction[d] * box[d][c];
    }
    if (tg_halo_owner_triclinic(at->halo[0], box, at->all[i]) != tg_world_pe(world)) continue;
    memcpy(at->centre[at->home], at->all[i], sizeof at->centre[0]);
    for (int s = 0; s < SCHEDULES; s++) at->of[s].number[at->home] = (uint64_t)i;
    at->home++;
  }
}

static void fill(const domain* at, int round, int pe, arrays* a) {
  memset(a->x, 255, sizeof a->x); /* not a number */
  memset(a->xf, 255, sizeof a->xf);
  memset(a->wide, 255, sizeof a->wide);
  for (size_t i = 0; i < at->home; i++) {
    for (int d = 0; d < 3; d++) {
      a->x[i][d] = at->centre[i][d];
      a->xf[i][d] = (float)at->centre[i][d];
    }
    if (i == 0) a->x[i][0] = a->xf[i][1] = -0.0F; /* the sign of nothing must be the same too */
    for (int b = 0; b < WIDE; b++) a->wide[i][b] = (unsigned char)mix(a->number[i], (uint64_t)b);
  }
  for (size_t i = 0; i < at->local; i++)
    for (int d = 0; d < 3; d++) { /* sums that depend on their order */
      a->f[i][d] = ldexp(uniform(i * 3 + (size_t)d, (uint64_t)pe + 100 * (uint64_t)round) - 0.5,
                         (int)(mix(i, (uint64_t)pe) % 30));
      a->ff[i][d] = (float)a->f[i][d];
    }
}

static tg_status compare(tg_world* world, const domain* at, int s) {
  const arrays *a = &at->of[s], *host = &at->of[0];
  CHECK(memcmp(a->x, host->x, at->local * sizeof *a->x) == 0);
  CHECK(memcmp(a->xf, host->xf, at->local * sizeof *a->xf) == 0);
  CHECK(memcmp(a->wide, host->wide, at->local * sizeof *a->wide) == 0);
  CHECK(memcmp(a->f, host->f, at->home * sizeof *a->f) == 0);
  CHECK(memcmp(a->ff, host->ff, at->home * sizeof *a->ff) == 0);
  CHECK(memcmp(a->number, host->number, at->local * sizeof *a->number) == 0);
  return TG_OK;
}

static double nearest2(const domain* at, const double box[3][3], const int grid[3], const double* a,
                       const double* b, bool everywhere) {
  double least = INFINITY;
  (void)at;
  for (int n = 0; n < 125; n++) {
    int image[3] = {n % 5 - 2, n / 5 % 5 - 2, n / 25 - 2};
    double sum = 0;
    bool allowed = true;
    for (int d = 0; d < 3; d++) allowed = allowed && (everywhere || grid[d] == 1 || !image[d]);
    if (!allowed) continue;
    for (int c = 0; c < 3; c++) {
      double delta = a[c] - b[c];
      for (int d = 0; d < 3; d++) delta += image[d] * box[d][c];
      sum += delta * delta;
    }
    if (sum < least) least = sum;
  }
  return least;
}

/* Each pair within reach, by the nearest image, is the business of exactly one PE. */
static tg_status check_pairs(tg_world* world, const layout* wanted, const double box[3][3],
                             domain* at) {
  static _Thread_local int64_t seen[MOST * MOST];
  const arrays* a = &at->of[0];
  const uint8_t(*offset)[3] = tg_halo_offsets(at->halo[0]);
  size_t n = (size_t)wanted->atoms;
  double reach2 = wanted->reach * wanted->reach, slack = 1e-9; /* two ways to one distance */
  memset(seen, 0, sizeof seen);
  for (size_t i = 0; i < at->local; i++)
    for (size_t j = 0; j < i; j++) {
      bool mine = true;
      for (int d = 0; d < 3; d++) mine = mine && (offset[i][d] == 0 || offset[j][d] == 0);
      if (!mine || nearest2(at, box, wanted->grid, a->x[i], a->x[j], false) >= reach2) continue;
      size_t p = a->number[i], q = a->number[j];
      seen[p > q ? p * n + q : q * n + p]++;
    }
  TG_TRY(tg_world_sum_int64(world, seen, n * n));
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < p; q++) {
      double distance2 = nearest2(at, box, wanted->grid, at->all[p], at->all[q], true);
      if (fabs(distance2 - reach2) > slack) CHECK(seen[p * n + q] == (distance2 < reach2));
    }
  return TG_OK;
}

static tg_status same_bits_in(tg_world* world, const layout* wanted, const double box[3][3],
                              domain* at) {
  int pe = tg_world_pe(world);
  int64_t regrows[SCHEDULES] = {0};
  TG_TRY(open_halos(world, wanted, 1.0, at));
  for (int round = 0; round < 4; round++) {
    layout now = *wanted;
    if (round == 0) now.atoms /= 3; /* later ones do not fit in what this one needs */
    choose_home(world, &now, box, round, at);
    for (int s = 0; s < SCHEDULES; s++) {
      arrays* a = &at->of[s];
      TG_TRY(plan_one(world, &now, box, s, at));
      fill(at, round, pe, a);
      TG_TRY(tg_halo_copy(at->halo[s], a->number, sizeof *a->number));
      TG_TRY(tg_halo_positions(at->halo[s], a->x));
      TG_TRY(tg_halo_positions_float(at->halo[s], a->xf));
      TG_TRY(tg_halo_forces(at->halo[s], a->f));
      TG_TRY(tg_halo_copy(at->halo[s], a->wide, WIDE));
      TG_TRY(tg_halo_forces_float(at->halo[s], a->ff));
      TG_TRY(compare(world, at, s));
      regrows[s] = tg_halo_counters_read(at->halo[s]).regrows;
    }
    if (round == 1 && box != edges && wanted->atoms <= 200) {
      /* undo the zeroes that fill put in the place of coordinates */
      for (size_t i = 0; i < at->home; i++) memcpy(at->of[0].x[i], at->centre[i], 3 * 8);
      TG_TRY(tg_halo_positions(at->halo[0], at->of[0].x));
      TG_TRY(check_pairs(world, &now, box, at));
    }
  }
  CHECK(regrows[0] == 0 && regrows[1] == regrows[2]);
  if (wanted->atoms >= 100 && wanted->reach > 0 && tg_world_pe_count(world) > 1)
    for (int s = 1; s < SCHEDULES; s++) CHECK(regrows[s] >= 1); /* margin 1: no room for more */
  return TG_OK;
}

static tg_status same_bits(tg_world* world, void* context) {
  int* tried = context;
  domain* at = NULL;
  TG_TRY(TG_ALLOCATE(1, "a domain", &at));
  tg_status status = TG_OK;
  for (size_t i = 0; i < 2 * (sizeof layouts / sizeof *layouts) && status == TG_OK; i++) {
    const layout* wanted = &layouts[i / 2];
    const int* grid = wanted->grid;
    if (grid[0] * grid[1] * grid[2] != tg_world_pe_count(world)) continue;
    status = same_bits_in(world, wanted, i % 2 ? oblique : edges, at);
    if (status != TG_OK)
      tg_fail_context(status, "grid %d x %d x %d, reach %g: ", grid[0], grid[1], grid[2],
                      wanted->reach);
    close_halos(at);
    if (tg_world_pe(world) == 0) ++*tried;
  }
  tg_free(at);
  return status;
}

static void schedules_agree_to_the_bit(void** state) {
  (void)state;
  int tried = 0;
  assert_int_equal(on_all_worlds(same_bits, &tried), TG_OK);
  if (!worlds_launched()) assert_int_equal(tried, 2 * sizeof layouts / sizeof *layouts);
}

/* The long test: 1,000 exchanges without a pause, whose every value is known from atom and
 * exchange. turns: positions and forces alternate; one_way: positions only, so that every exchange
 * needs word that the last was read; mixed: any order of these and copies, and layouts that change.
 */
typedef enum regime { TURNS, ONE_WAY, MIXED, REGIMES } regime;
static const char* const regime_names[REGIMES] = {"turns", "one way", "mixed"};

static tg_status send_positions(tg_world* world, domain* at, int s, int n) {
  arrays* a = &at->of[s];
  for (size_t i = 0; i < at->local; i++)
    for (int d = 0; d < 3; d++) a->x[i][d] = i < at->home ? (double)a->number[i] + 1000.0 * n : -1;
  TG_TRY(tg_halo_positions(at->halo[s], a->x));
  for (size_t i = 0; i < at->local; i++) { /* shifted by an edge along each axis at most */
    double expected = (double)a->number[i] + 1000.0 * n;
    for (int d = 0; d < 3; d++)
      CHECK(a->x[i][d] == expected || fabs(a->x[i][d] - expected - edges[d][d]) < 1e-9);
  }
  return TG_OK;
}

static tg_status send_tags(tg_world* world, domain* at, int s, int n) {
  const arrays* a = &at->of[s];
  uint64_t tags[MOST];
  for (size_t i = 0; i < at->local; i++)
    tags[i] = i < at->home ? a->number[i] + 1000 * (uint64_t)n : 0;
  TG_TRY(tg_halo_copy(at->halo[s], tags, sizeof *tags));
  for (size_t i = 0; i < at->local; i++) CHECK(tags[i] == a->number[i] + 1000 * (uint64_t)n);
  return TG_OK;
}

static tg_status return_forces(tg_world* world, domain* at, int s, int n) {
  arrays* a = &at->of[s];
  for (size_t i = 0; i < at->local; i++)
    for (int d = 0; d < 3; d++) a->f[i][d] = (double)a->number[i] + 1000.0 * n;
  TG_TRY(tg_halo_forces(at->halo[s], a->f));
  for (size_t i = 0; i < at->home; i++) { /* a whole number of copies, all of this exchange */
    double copies = a->f[i][0] / ((double)a->number[i] + 1000.0 * n);
    CHECK(copies == floor(copies) && copies >= 1 && copies <= tg_world_pe_count(world));
  }
  return TG_OK;
}

static tg_status one_exchange(tg_world* world, domain* at, int s, regime how, int n) {
  uint64_t kind = how == TURNS ? (uint64_t)(n % 2) : how == ONE_WAY ? 0 : mix((uint64_t)n, 7) % 3;
  return kind == 0   ? send_positions(world, at, s, n)
         : kind == 1 ? return_forces(world, at, s, n)
                     : send_tags(world, at, s, n);
}

static tg_status new_layout(tg_world* world, const layout* wanted, int s, int n, domain* at) {
  layout now = *wanted;
  now.atoms -= (int)(mix((uint64_t)n, 3) % 40); /* more and fewer: at margin 1 some do not fit */
  choose_home(world, &now, edges, n, at);
  TG_TRY(plan_one(world, &now, edges, s, at));
  return tg_halo_copy(at->halo[s], at->of[s].number, sizeof *at->of[s].number);
}

static tg_status thousand_of(tg_world* world, const layout* wanted, int s, regime how, domain* at) {
  enum { EXCHANGES = 1000, LAYOUT = 97 };
  int64_t before = tg_halo_counters_read(at->halo[s]).exchanges;
  int layouts_made = 0;
  for (int n = 0; n < EXCHANGES; n++) {
    if (n == 0 || (how == MIXED && n % LAYOUT == 0)) {
      TG_TRY(new_layout(world, wanted, s, n + 10000 * (int)how, at));
      layouts_made++;
    }
    tg_status status = one_exchange(world, at, s, how, n + 1);
    if (status != TG_OK)
      return tg_fail_context(status, "%s, %s, exchange %d: ", tg_halo_schedule_name(s),
                             regime_names[how], n);
  }
  CHECK(tg_halo_counters_read(at->halo[s]).exchanges - before == EXCHANGES + layouts_made);
  return TG_OK;
}

static tg_status thousand(tg_world* world, void* context) {
  (void)context;
  domain* at = NULL;
  TG_TRY(TG_ALLOCATE(1, "a domain", &at));
  layout wanted = {.reach = 0.9, .atoms = 90, .filled = 1};
  double lengths[3] = {edges[0][0], edges[1][1], edges[2][2]};
  tg_status status =
      tg_halo_choose_grid(tg_world_pe_count(world), lengths, wanted.reach, wanted.grid);
  if (status == TG_OK) status = open_halos(world, &wanted, 1.0, at);
  for (int s = 0; s < SCHEDULES && status == TG_OK; s++) {
    for (int how = 0; how < REGIMES && status == TG_OK; how++)
      status = thousand_of(world, &wanted, s, (regime)how, at);
    /* the first layout makes room; a later one needs more, without a pause */
    bool grows = s > 0 && tg_world_pe_count(world) > 1;
    if (status == TG_OK && (tg_halo_counters_read(at->halo[s]).regrows > 0) != grows)
      status = tg_fail(TG_ERR_INTERNAL, "%s: no room was outgrown, or some was in vain",
                       tg_halo_schedule_name(s));
  }
  close_halos(at);
  tg_free(at);
  return status;
}

static void a_thousand_exchanges_of_each(void** state) {
  (void)state;
  assert_int_equal(on_all_worlds(thousand, NULL), TG_OK);
}

/* Senders an exchange ahead of their readers, as far as the lanes can tell: their flags say so, for
 * the data of this exchange. By the protocol none can be, as a slot is written again only when it
 * has been read; a wait that the protocol's future, or a fault, overtakes must end all the same. */
static tg_status ahead(tg_world* world, void* context) {
  int s = *(const int*)context, count = tg_world_pe_count(world);
  tg_halo_params params = {.grid = {count, 1, 1}, .schedule = tg_halo_schedule_name(s)};
  double lengths[3] = {3, 2.5, 3.5}, x[16][3] = {{3.0 * (tg_world_pe(world) + 0.1) / count}};
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  TG_TRY(tg_halo_plan(halo, lengths, 3.0 / count, 1, (const double(*)[3])x));
  tg_halo_lanes* lanes = halo->lanes;
  const tg_halo_data data = {.size = 8, .stride = 8, .what = "test, lane"};
  for (int way = TG_HALO_DOWN; way <= TG_HALO_UP; way++) {
    void* slot = NULL;
    TG_TRY(tg_halo_lanes_begin(halo, (tg_halo_direction)way));
    lanes->turn++;
    for (int i = 0; i < lanes->count; i++) {
      uint64_t word = mix((uint64_t)(100 * way + i), (uint64_t)tg_world_pe(world));
      CHECK(lanes->capacity[i] > 0);
      TG_TRY(tg_halo_lanes_slot(halo, &data, i, (tg_halo_direction)way, &slot));
      memcpy(slot, &word, sizeof word);
      TG_TRY(tg_halo_lanes_send(halo, &data, i, (tg_halo_direction)way, 1));
    }
    lanes->turn--;
    for (int i = 0; i < lanes->count; i++) {
      int from = way == TG_HALO_DOWN ? lanes->lanes[i].from : lanes->lanes[i].to;
      uint64_t word = 0;
      TG_TRY(tg_halo_lanes_receive(halo, &data, i, (tg_halo_direction)way, &slot));
      memcpy(&word, slot, sizeof word);
      CHECK(word == mix((uint64_t)(100 * way + i), (uint64_t)from));
    }
  }
  CHECK(lanes->count > 0 || count == 1);
  TG_TRY(tg_world_barrier(world));
  tg_halo_destroy(&halo);
  return TG_OK;
}

static void a_sender_may_be_ahead(void** state) {
  (void)state;
  for (int s = 1; s < SCHEDULES; s++) /* host has no flags */
    assert_int_equal(on_all_worlds(ahead, &s), TG_OK);
}

/* PE 1 leaves after three exchanges and comes back when the others have given up. */
static tg_status stall(tg_world* world, void* context) {
  int s = *(const int*)context, pe = tg_world_pe(world), count = tg_world_pe_count(world);
  tg_halo_params params = {.grid = {count, 1, 1}, .schedule = tg_halo_schedule_name(s)};
  double lengths[3] = {3, 2.5, 3.5}, x[16][3] = {{3.0 * (pe + 0.1) / count, 0.1, 0.1}};
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  tg_status status = tg_halo_plan(halo, lengths, 3.0 / count, 1, (const double(*)[3])x);
  for (int n = 0; n < 100 && status == TG_OK; n++) {
    double start = tg_time_now();
    while (n == 3 && pe == 1 && tg_time_now() - start < 30 && world->ops->aborted(world) == TG_OK)
      usleep(10000);
    status = tg_halo_positions(halo, x);
    if (status == TG_OK && n >= 3 && pe == 1) status = world->ops->aborted(world);
  }
  tg_halo_destroy(&halo);
  CHECK(status == TG_ERR_MACHINE);
  return status;
}

static void a_stalled_pe_ends_the_exchange(void** state) {
  (void)state;
  int launched = worlds_launched();
  for (int s = 0; s < SCHEDULES; s++) {
    tg_world_params params = {.pe_count = launched ? 0 : 3, .deadline_s = 0.4};
    assert_int_equal(tg_world_run(&params, stall, &s), TG_ERR_MACHINE);
    const char* words = tg_last_error();
    char expected[64];
    snprintf(expected, sizeof expected, "(halo positions, %s 1, exchange ",
             s == 3 ? "neighbour" : "pulse");
    assert_non_null(strstr(words, "waited"));
    assert_non_null(strstr(words, expected));
    if (s > 0) assert_non_null(strstr(words, "at least "));
  }
}

int main(int argc, char** argv) {
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_agree_to_the_bit),
      cmocka_unit_test(a_thousand_exchanges_of_each),
      cmocka_unit_test(a_sender_may_be_ahead),
      cmocka_unit_test(a_stalled_pe_ends_the_exchange),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
