/* SPDX-License-Identifier: Apache-2.0 */
/* Scan and reduce: every version of every backend against sums made here. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>

#include "motif/tables.h"

static const size_t COUNTS[] = {0,    1,    2,    3,    7,    31,   32,    33,    63,     64,    65,
                                1000, 1023, 1024, 1025, 4097, 8191, 30011, 65536, 100003, 262145};
enum { COUNT_COUNT = sizeof COUNTS / sizeof *COUNTS };

/* What is scanned, in both widths, and its sums; kind 0: random (the sums of 32 bits wrap), 1: all
 * zero, 2: the largest of 32 bits. */
typedef struct numbers {
  uint32_t *narrow, *narrow_sums;
  uint64_t *wide, *wide_sums, *offsets;
} numbers;

static numbers make_numbers(size_t count, int kind) {
  numbers n = {malloc((count + 1) * 4), malloc((count + 1) * 4), malloc((count + 1) * 8),
               malloc((count + 1) * 8), malloc((count + 1) * 8)};
  uint64_t seed = count;
  n.narrow_sums[0] = 0;
  n.wide_sums[0] = n.offsets[0] = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t random = tables_random(&seed);
    n.narrow[i] = kind == 0 ? (uint32_t)(random << 1) : kind == 1 ? 0 : UINT32_MAX;
    n.wide[i] = kind == 1 ? 0 : random << 13 | 1;
    n.narrow_sums[i + 1] = n.narrow_sums[i] + n.narrow[i];
    n.wide_sums[i + 1] = n.wide_sums[i] + n.wide[i];
    n.offsets[i + 1] = n.offsets[i] + n.narrow[i];
  }
  return n;
}

static void free_numbers(numbers* n) {
  free(n->narrow);
  free(n->narrow_sums);
  free(n->wide);
  free(n->wide_sums);
  free(n->offsets);
}

static void check_scan(const tg_motif_table* t, const char* name, size_t count, void* room,
                       size_t width, const void* right) {
  uint8_t* out = malloc((count + 1) * width);
  tables_take(t, room, (count + 1) * width, out);
  if (memcmp(out, right, (count + 1) * width) != 0)
    fail_msg("%s %s: wrong sums of %zu elements into %zu bytes each", t->name, name, count, width);
  free(out);
}

/* The device's scans by one thread take a second for each 2^25 elements. */
static bool takes_too_long(const tg_motif_table* t, const tg_scan_version* v, size_t count) {
  return !t->host && count > 1000000 && strncmp(v->name, "serial", 6) == 0;
}

static void try_scans(const tg_motif_table* t, size_t count, const numbers* n, int threads) {
  uint32_t* narrow = tables_copy(t, n->narrow, count * 4);
  uint64_t* wide = tables_copy(t, n->wide, count * 8);
  for (const tg_scan_version* v = t->scans; v != NULL && v->name != NULL; v++) {
    if (tables_left_out(v->name) || (v->refuses != NULL && v->refuses() != NULL)) continue;
    if (takes_too_long(t, v, count)) continue;
    assert_true(v->u32 != NULL || v->u64 != NULL || v->offsets != NULL);
    for (size_t width = 4; width <= 8; width += 4) {
      void* scratch = tables_room(t, v->scratch ? v->scratch(count, width) : 0);
      for (int again = 0; again < 2; again++) { /* scratch of any content */
        void* room = tables_room(t, (count + 1) * width);
        if (width == 4 && v->u32 != NULL) {
          assert_int_equal(v->u32(count, narrow, room, scratch, threads), TG_OK);
          check_scan(t, v->name, count, room, 4, n->narrow_sums);
        } else if (width == 8 && v->u64 != NULL) {
          assert_int_equal(v->u64(count, wide, room, scratch, threads), TG_OK);
          check_scan(t, v->name, count, room, 8, n->wide_sums);
        } else {
          t->memory->release(room);
        }
        if (width == 4 || v->offsets == NULL) continue;
        room = tables_room(t, (count + 1) * 8);
        assert_int_equal(v->offsets(count, narrow, room, scratch, threads), TG_OK);
        check_scan(t, v->name, count, room, 8, n->offsets);
      }
      const size_t used = v->scratch ? v->scratch(count, width) : 0;
      void* dropped = malloc(used + 1);
      tables_take(t, scratch, used, dropped); /* with its guard */
      free(dropped);
    }
  }
  t->memory->release(narrow);
  t->memory->release(wide);
}

static void every_scan_is_exact(void** state) {
  (void)state;
  for (size_t k = 0; k < COUNT_COUNT && !tables_too_many(COUNTS[k]); k++)
    for (int kind = 0; kind < 3; kind++) {
      numbers n = make_numbers(COUNTS[k], kind);
      int index = 0;
      for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
        for (int threads = 1; threads <= (t->host ? 3 : 1); threads++)
          try_scans(t, COUNTS[k], &n, threads);
      free_numbers(&n);
    }
}

/* Lengths at which backends may choose otherwise: devices always, hosts with TG_TEST_LARGE. */
static void long_scans_are_exact(void** state) {
  (void)state;
  const bool large = getenv("TG_TEST_LARGE") != NULL;
  static const size_t counts[] = {5000011, ((size_t)1 << 26) + 1};
  int tried = 0;
  for (size_t k = 0; k < (large ? 2 : 1); k++) {
    numbers n = {0};
    int index = 0;
    for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index)) {
      if (t->host && !large) continue;
      tried++;
      if (n.narrow == NULL) n = make_numbers(counts[k], 0);
      try_scans(t, counts[k], &n, 2);
    }
    free_numbers(&n);
  }
  if (tried == 0) skip();
}

/* Runs a version once more on the same items. */
static void sum_once(const tg_motif_table* t, const tg_reduce_version* v, tg_reduction what,
                     double* sums) {
  const size_t bytes = v->scratch ? v->scratch(what.count, what.m, what.threads) : 0;
  what.scratch = tables_room(t, bytes);
  what.sums = tables_room(t, what.m * sizeof *sums);
  assert_int_equal(v->reduce(&what), TG_OK);
  tables_take(t, what.sums, what.m * sizeof *sums, sums);
  void* dropped = malloc(bytes + 1);
  tables_take(t, what.scratch, bytes, dropped);
  free(dropped);
}

/* The bound of motif/reduce.h for a bin of n items, twice: the sums made here round as well. */
static double bound(double n, double magnitude) {
  const double nu = n * 0x1p-53;
  return 2 * nu / (1 - nu) * magnitude;
}

static void try_reduces(const tg_motif_table* t, size_t count, uint32_t m, bool one_bin) {
  uint32_t* bins = malloc((count + 1) * sizeof *bins);
  double *values = malloc((count + 1) * sizeof *values), *right = calloc(m, sizeof *right);
  double *magnitude = calloc(m, sizeof *magnitude), *items = calloc(m, sizeof *items);
  double *sums = malloc(m * sizeof *sums), *first = malloc(m * sizeof *first);
  uint64_t seed = count + m;
  for (size_t i = 0; i < count; i++) {
    bins[i] = one_bin ? m - 1 : (uint32_t)(tables_random(&seed) % m);
    values[i] = ((double)tables_random(&seed) - 0x1p30) / 3;
    right[bins[i]] += values[i];
    magnitude[bins[i]] += fabs(values[i]);
    items[bins[i]]++;
  }
  tg_reduction what = {.count = count, .m = m};
  uint32_t* there_bins = tables_copy(t, bins, count * sizeof *bins);
  double* there_values = tables_copy(t, values, count * sizeof *values);
  what.bins = there_bins;
  what.values = there_values;
  for (const tg_reduce_version* v = t->reduces; v != NULL && v->name != NULL; v++) {
    if (tables_left_out(v->name)) continue;
    if (v->refuses != NULL && (v->refuses(0) != NULL || v->refuses(m) != NULL)) continue;
    for (what.threads = 1; what.threads <= (t->host ? 3 : 2); what.threads++) {
      sum_once(t, v, what, sums);
      for (uint32_t b = 0; b < m; b++)
        if (!(fabs(sums[b] - right[b]) <= bound(items[b], magnitude[b])))
          fail_msg("%s %s: sum %u of %u over %zu items is %.17g, not %.17g", t->name, v->name, b, m,
                   count, sums[b], right[b]);
      if (what.threads == 1) memcpy(first, sums, m * sizeof *sums);
      if (v->deterministic && memcmp(first, sums, m * sizeof *sums) != 0)
        fail_msg("%s %s: other bits with %d threads", t->name, v->name, what.threads);
    }
  }
  t->memory->release(there_bins);
  t->memory->release(there_values);
  free(bins);
  free(values);
  free(right);
  free(magnitude);
  free(items);
  free(sums);
  free(first);
}

static void every_reduce_is_within_the_bound(void** state) {
  (void)state;
  static const uint32_t ms[] = {1, 3, 8, 16, 64, 100, 256, 512, 1025, 5000};
  int index = 0;
  for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
    for (size_t k = 0; k < COUNT_COUNT && !tables_too_many(COUNTS[k]); k += 3)
      for (size_t j = 0; j < sizeof ms / sizeof *ms; j++) try_reduces(t, COUNTS[k], ms[j], j == 4);
}

static void try_denses(size_t rows, size_t columns, uint32_t m) {
  if (tables_too_many(rows * columns)) return;
  const size_t most = rows > columns ? rows : columns;
  uint32_t *p = calloc(most + 1, sizeof *p), *q = calloc(most + 1, sizeof *q);
  double *x = calloc(most + 1, sizeof *x), *y = calloc(most + 1, sizeof *y);
  double *right = calloc(m, sizeof *right), *magnitude = calloc(m, sizeof *magnitude);
  double *items = calloc(m, sizeof *items), *sums = malloc(m * sizeof *sums);
  double* first = malloc(m * sizeof *first);
  uint64_t seed = rows + 3 * columns + m;
  for (size_t i = 0; i < most; i++) {
    p[i] = (uint32_t)(tables_random(&seed) % m);
    q[i] = (uint32_t)(tables_random(&seed) % m);
    x[i] = ((double)tables_random(&seed) - 0x1p30) / 3;
    y[i] = ((double)tables_random(&seed) - 0x1p30) / 7;
  }
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) {
      const uint32_t bin = (p[i] + q[j]) % m;
      right[bin] += x[i] * y[j];
      magnitude[bin] += fabs(x[i] * y[j]);
      items[bin]++;
    }
  int index = 0;
  for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index)) {
    if (t->denses == NULL) continue;
    uint32_t *there_p = tables_copy(t, p, rows * sizeof *p),
             *there_q = tables_copy(t, q, columns * sizeof *q);
    double *there_x = tables_copy(t, x, rows * sizeof *x),
           *there_y = tables_copy(t, y, columns * sizeof *y);
    for (const tg_dense_version* v = t->denses; v->name != NULL; v++) {
      if (tables_left_out(v->name)) continue;
      if (v->refuses != NULL && (v->refuses(0) != NULL || v->refuses(m) != NULL)) continue;
      for (int threads = 1; threads <= 3; threads++) {
        tg_dense what = {rows, columns, there_p, there_q, there_x, there_y, m, NULL, NULL, threads};
        const size_t bytes = v->scratch ? v->scratch(&what) : 0;
        what.scratch = tables_room(t, bytes);
        what.sums = tables_room(t, m * sizeof *sums);
        assert_int_equal(v->reduce(&what), TG_OK);
        tables_take(t, what.sums, m * sizeof *sums, sums);
        void* dropped = malloc(bytes + 1);
        tables_take(t, what.scratch, bytes, dropped);
        free(dropped);
        for (uint32_t b = 0; b < m; b++) /* a product rounds as well: one item more */
          if (!(fabs(sums[b] - right[b]) <= bound(items[b] + 1, magnitude[b])))
            fail_msg("%s dense %s: sum %u of %u over %zu x %zu is %.17g, not %.17g", t->name,
                     v->name, b, m, rows, columns, sums[b], right[b]);
        if (threads == 1) memcpy(first, sums, m * sizeof *sums);
        if (v->deterministic && memcmp(first, sums, m * sizeof *sums) != 0)
          fail_msg("%s dense %s: other bits with %d threads", t->name, v->name, threads);
      }
    }
    void* const there[] = {there_p, there_q, there_x, there_y};
    for (size_t k = 0; k < 4; k++) t->memory->release(there[k]);
  }
  void* const all[] = {p, q, x, y, right, magnitude, items, sums, first};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]);
}

static void every_dense_reduce_is_within_the_bound(void** state) {
  (void)state;
  static const size_t sizes[][2] = {{0, 5}, {5, 0}, {1, 1}, {33, 7}, {257, 300}, {700, 513}};
  static const uint32_t ms[] = {1, 8, 13, 64, 128, 200, 700};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    for (size_t j = 0; j < sizeof ms / sizeof *ms; j++) try_denses(sizes[k][0], sizes[k][1], ms[j]);
  try_denses(257, 300, 5000);
  try_denses(40000, 3, 24); /* several rows, and many columns, to a thread of a device */
  try_denses(3, 70000, 200);
}

/* No two names of a list are the same, and where versions say their method, the name begins so. */
#define UNIQUE(type, list)                                                                         \
  for (const type* v = (list); v != NULL && v->name != NULL; v++)                                  \
    for (const type* w = (list); w != v; w++) assert_string_not_equal(v->name, w->name)
#define METHODS(type, list)                                                                        \
  for (const type* v = (list); v != NULL && v->name != NULL; v++)                                  \
  assert_memory_equal(v->name, v->method, strlen(v->method))

/* The names that documents and tests use are unique, and their lists end. */
static void tables_are_well_formed(void** state) {
  (void)state;
  assert_string_equal(tg_motif_tables()[0]->name, "ref");
  assert_null(tg_motif_table_find("Ref"));
  assert_null(tg_motif_table_find(NULL));
  for (int i = 0; tg_motif_tables()[i] != NULL; i++) {
    const tg_motif_table* t = tg_motif_tables()[i];
    char words[200];
    assert_ptr_equal(tg_motif_table_find(t->name), t);
    t->describe(words, sizeof words);
    assert_true(strlen(words) > 0);
    UNIQUE(tg_filter_version, t->filters);
    UNIQUE(tg_fill_version, t->fills);
    UNIQUE(tg_collect_version, t->collects);
    UNIQUE(tg_expect_version, t->expects);
    UNIQUE(tg_scan_version, t->scans);
    UNIQUE(tg_reduce_version, t->reduces);
    UNIQUE(tg_dense_version, t->denses);
    METHODS(tg_filter_version, t->filters);
    METHODS(tg_fill_version, t->fills);
    METHODS(tg_collect_version, t->collects);
    METHODS(tg_expect_version, t->expects);
  }
}

/* Modules that were built (TG_TEST_MODULES, by the build) do load, and say what they run on; one
 * that is not there is named with what it takes. */
static void modules_load(void** state) {
  (void)state;
  const char* made = getenv("TG_TEST_MODULES");
  static const char* const names[] = {"acc", "offload", "offload-clang"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const tg_motif_table* t = tg_motif_table_find(names[k]);
    char list[200], name[40];
    assert_non_null(t);
    if (made == NULL) continue;
    snprintf(list, sizeof list, " %s ", made);
    snprintf(name, sizeof name, " %s ", names[k]);
    const bool expected = strstr(list, name) != NULL;
    const tg_status status = t->check == NULL ? TG_OK : t->check();
    if (!expected) assert_int_equal(status, TG_ERR_MACHINE);
    if (expected && status != TG_OK && strstr(tg_last_error(), "AVX2") == NULL)
      fail_msg("module %s: %s", names[k], tg_last_error());
    if (!expected) assert_non_null(strstr(tg_last_error(), "takes"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(modules_load),
      cmocka_unit_test(tables_are_well_formed),
      cmocka_unit_test(every_scan_is_exact),
      cmocka_unit_test(long_scans_are_exact),
      cmocka_unit_test(every_reduce_is_within_the_bound),
      cmocka_unit_test(every_dense_reduce_is_within_the_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
