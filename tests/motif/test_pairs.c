/* SPDX-License-Identifier: Apache-2.0 */
/* Filter, fill, collect and the fused chain: every version of every backend against the definition
 * of a hit, orbital by orbital. TG_TEST_LARGE=1 adds a large rectangular case. */
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
#include "motif/tiles.h"

typedef struct test_case {
  uint32_t particles, orbitals;
  size_t rows, columns; /* columns 0 and square: the rows' own set */
  int d;
  bool square, once;
  double spread;
  bool equal; /* all states are the same: everything is a hit */
} test_case;

static const test_case CASES[] = {
    {8, 128, 301, 0, 2, true, false, 16, false},   /* both ways, with the diagonal */
    {8, 128, 301, 0, 2, true, true, 16, false},    /* each pair once */
    {8, 128, 70, 515, 2, false, false, 12, false}, /* rectangular, hits 2e-2 */
    {4, 64, 130, 257, 1, false, false, 10, false}, /* one word */
    {4, 60, 129, 0, 3, true, true, 10, false},     /* three bodies: most pairs are hits */
    {12, 192, 64, 320, 3, false, false, 14, false},
    {16, 256, 65, 257, 2, false, false, 20, false},
    {20, 320, 33, 385, 3, false, false, 20, false},
    {6, 512, 100, 190, 2, false, false, 60, false},
    {20, 1024, 61, 200, 2, false, false, 22, false},
    {5, 2000, 50, 129, 2, false, false, 300, false}, /* half empty last word */
    {3, 100, 1, 1, 1, false, false, 5, false},
    {8, 128, 1, 1000, 2, false, false, 10, false}, /* a single row */
    {8, 128, 1000, 1, 2, false, false, 10, false},
    {8, 128, 0, 100, 2, false, false, 10, false}, /* nothing */
    {8, 128, 100, 0, 2, false, false, 10, false},
    {8, 128, 90, 0, 2, true, true, 20, true}, /* all states equal: a full matrix */
    {1, 70, 77, 200, 1, false, false, 30, false},
    {130, 256, 30, 70, 3, false, false, 0, false}, /* many particles, hardly any hit */
    {64, 64, 20, 66, 2, false, false, 0, false},   /* full states */
    {8, 128, 1, 3000, 2, false, false, 16, false}, /* few rows: warps share the columns */
    {8, 200, 40, 1500, 2, false, false, 16, false},
    {8, 128, 65, 700, 2, false, false, 16, false},
    {4, 640, 70, 300, 2, false, false, 0, false},   /* many words, any orbital */
    {33, 400, 40, 300, 4, false, false, 16, false}, /* the most particles that are folded */
    {40, 330, 140, 0, 5, true, true, 16, false},    /* more, and an odd number of words */
    {3, 400, 50, 260, 5, false, false, 30, false},  /* all are hits */
    {8, 512, 600, 0, 2, true, true, 14, false},
    {3, 64, 20, 130, 40000, false, false, 9, false}, /* d beyond what 16 bits hold */
};

/* What the definition says. */
typedef struct expected {
  uint32_t* counts; /* [rows] */
  uint64_t* offsets;
  uint32_t* hits;
} expected;

static bool occupies(const tg_states* s, size_t i, uint32_t orbital) {
  return s->bits[orbital / 64 * s->stride + i] >> orbital % 64 & 1;
}

static int differing(const tg_pairs* pairs, size_t r, size_t c) {
  int sum = 0;
  for (uint32_t o = 0; o < pairs->rows.orbitals; o++)
    sum += occupies(&pairs->rows, r, o) != occupies(&pairs->columns, c, o);
  return sum;
}

static void expect_hits(const tg_pairs* pairs, expected* e) {
  const size_t rows = pairs->rows.count, columns = pairs->columns.count;
  e->counts = calloc(rows + 1, sizeof *e->counts);
  e->offsets = calloc(rows + 1, sizeof *e->offsets);
  e->hits = malloc((rows * columns + 1) * sizeof *e->hits);
  uint64_t found = 0;
  for (size_t r = 0; r < rows; r++) {
    for (size_t c = 0; c < columns; c++) {
      if (pairs->once && pairs->first_column + c <= pairs->first_row + r) continue;
      if (differing(pairs, r, c) > 2 * pairs->d) continue;
      e->hits[found++] = (uint32_t)c;
      e->counts[r]++;
    }
    e->offsets[r + 1] = found;
  }
}

static void expected_free(expected* e) {
  free(e->counts);
  free(e->offsets);
  free(e->hits);
}

static int compare(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static void same_hits(const char* version, const expected* e, size_t rows, uint32_t* hits,
                      bool ordered) {
  for (size_t r = 0; r < rows && !ordered; r++)
    qsort(hits + e->offsets[r], e->counts[r], sizeof *hits, compare);
  for (uint64_t h = 0; h < e->offsets[rows]; h++)
    if (hits[h] != e->hits[h]) {
      fail_msg("%s: hit %llu of %zu rows is %u, not %u", version, (unsigned long long)h, rows,
               hits[h], e->hits[h]);
      return;
    }
}

static bool refused(const char* version, tg_pairs_refuses refuses, const tg_pairs* pairs) {
  if (tables_left_out(version)) return true;
  return refuses != NULL && (refuses(NULL) != NULL || refuses(pairs) != NULL);
}

/* pairs: with the backend's pointers; e: what must come out. */
static void try_filters(const tg_motif_table* table, const tg_pairs* pairs, const expected* e) {
  const size_t rows = pairs->rows.count, size = rows * sizeof(uint32_t);
  uint32_t* counts = malloc(size + 1);
  for (const tg_filter_version* v = table->filters; v != NULL && v->name != NULL; v++) {
    if (refused(v->name, v->refuses, pairs)) continue;
    uint32_t* room = tables_room(table, size);
    assert_int_equal(v->count(pairs, room), TG_OK);
    tables_take(table, room, size, counts);
    for (size_t r = 0; r < rows; r++)
      if (counts[r] != e->counts[r]) {
        fail_msg("%s %s: row %zu of %zu has %u hits, not %u (%u orbitals, d %d)", table->name,
                 v->name, r, rows, counts[r], e->counts[r], pairs->rows.orbitals, pairs->d);
        break;
      }
  }
  free(counts);
}

static void try_fills(const tg_motif_table* table, const tg_pairs* pairs, const expected* e) {
  const size_t rows = pairs->rows.count;
  const size_t size = e->offsets[rows] * sizeof(uint32_t);
  uint32_t* hits = malloc(size + 1);
  for (const tg_fill_version* v = table->fills; v != NULL && v->name != NULL; v++) {
    if (refused(v->name, v->refuses, pairs)) continue;
    uint64_t* offsets = tables_copy(table, e->offsets, (rows + 1) * sizeof *offsets);
    uint32_t* cursor = tables_room(table, rows * sizeof *cursor);
    uint32_t* room = tables_room(table, size);
    assert_int_equal(v->fill(pairs, offsets, cursor, room), TG_OK);
    tables_take(table, room, size, hits);
    table->memory->release(cursor);
    table->memory->release(offsets);
    same_hits(v->name, e, rows, hits, v->ordered);
  }
  free(hits);
}

static void try_collects(const tg_motif_table* table, const tg_pairs* pairs, const expected* e) {
  const size_t rows = pairs->rows.count, offset_size = (rows + 1) * sizeof(uint64_t);
  const size_t size = e->offsets[rows] * sizeof(uint32_t);
  uint32_t* hits = malloc(size + 1);
  uint64_t* offsets = malloc(offset_size);
  for (const tg_collect_version* v = table->collects; v != NULL && v->name != NULL; v++) {
    if (refused(v->name, v->refuses, pairs)) continue;
    for (int part = 1; part >= 0; part--) { /* with room for all, then without any */
      const uint64_t capacity = part ? e->offsets[rows] : 0;
      uint64_t* there = tables_room(table, offset_size);
      uint32_t* room = tables_room(table, capacity * sizeof *room);
      assert_int_equal(v->collect(pairs, capacity, there, room), TG_OK);
      tables_take(table, there, offset_size, offsets);
      tables_take(table, room, capacity * sizeof *room, hits);
      for (size_t r = 0; r <= rows; r++) assert_true(offsets[r] == e->offsets[r]);
      if (part) same_hits(v->name, e, rows, hits, v->ordered);
    }
  }
  free(hits);
  free(offsets);
}

/* The sums, and the sums of magnitudes, of the three operators, pair by pair. */
static void expect_sums(const tg_pairs* pairs, const expected* e, const double* x, const double* y,
                        uint32_t m, double* sums, double* magnitudes) {
  memset(sums, 0, (size_t)TG_OPERATOR_COUNT * m * sizeof *sums);
  memset(magnitudes, 0, (size_t)TG_OPERATOR_COUNT * m * sizeof *magnitudes);
  for (size_t r = 0; r < pairs->rows.count; r++)
    for (uint64_t h = e->offsets[r]; h < e->offsets[r + 1]; h++) {
      const size_t c = e->hits[h];
      long long transfer = 0, sign = 1, lowest = -1;
      int moved = 0, below_row = 0, below_column = 0, p_count = 0, q_count = 0;
      long long p[64] = {0}, q[64] = {0};
      for (uint32_t o = 0; o < pairs->rows.orbitals; o++) {
        const bool in_row = occupies(&pairs->rows, r, o);
        const bool in_column = occupies(&pairs->columns, c, o);
        if (in_row && !in_column) {
          p[p_count++] = o;
          if (below_row % 2 == 1) sign = -sign;
        }
        if (in_column && !in_row) {
          q[q_count++] = o;
          if (below_column % 2 == 1) sign = -sign;
        }
        if (in_row != in_column && lowest < 0) lowest = o;
        below_row += in_row;
        below_column += in_column;
      }
      moved = p_count;
      long long distance = 1;
      for (int k = 0; k < moved; k++) {
        transfer += q[k] - p[k];
        distance += llabs(q[k] - p[k]);
      }
      const double w = x[r] * y[c];
      const size_t bins[] = {(uint32_t)moved < m ? (size_t)moved : m - 1,
                             (size_t)((transfer % m + m) % m), lowest < 0 ? 0 : (size_t)lowest % m};
      const double values[] = {w, (double)sign * w, w * (1.0 / (double)distance)};
      for (size_t k = 0; k < TG_OPERATOR_COUNT; k++) {
        sums[k * m + bins[k]] += values[k];
        magnitudes[k * m + bins[k]] += fabs(values[k]);
      }
    }
}

static void run_expect(const tg_motif_table* table, const tg_expect_version* v, tg_expectation what,
                       const double* x, const double* y, double* sums) {
  const size_t size = (size_t)TG_OPERATOR_COUNT * what.m * sizeof *sums;
  double* there_x = tables_copy(table, x, what.pairs.rows.count * sizeof *x);
  double* there_y = tables_copy(table, y, what.pairs.columns.count * sizeof *y);
  what.x = there_x;
  what.y = there_y;
  what.sums = tables_room(table, size);
  const size_t bytes = v->scratch ? v->scratch(&what) : 0;
  void *scratch = tables_room(table, bytes), *dropped = malloc(bytes + 1);
  assert_int_equal(v->expect(&what, scratch), TG_OK);
  tables_take(table, what.sums, size, sums);
  tables_take(table, scratch, bytes, dropped);
  free(dropped);
  table->memory->release(there_x);
  table->memory->release(there_y);
}

/* Whole x and y make the first two operators exact. An element of the third has two roundings, and
 * n of them are added in any order: (n + 2) u on the sum of magnitudes, for both sides. */
static void try_expects(const tg_motif_table* table, const tg_pairs* host, const tg_pairs* pairs,
                        const expected* e, uint32_t m) {
  const size_t rows = pairs->rows.count, columns = pairs->columns.count, k = TG_OPERATOR_COUNT;
  double *x = malloc((rows + 1) * sizeof *x), *y = malloc((columns + 1) * sizeof *y);
  double *sums = malloc(k * m * sizeof *sums), *right = malloc(k * m * sizeof *right);
  double *magnitudes = malloc(k * m * sizeof *magnitudes), *again = malloc(k * m * sizeof *again);
  for (size_t r = 0; r < rows; r++) x[r] = (double)(r % 7) - 3;
  for (size_t c = 0; c < columns; c++) y[c] = (double)(c % 11) - 4;
  expect_sums(host, e, x, y, m, right, magnitudes);
  const double bound = 2 * ((double)e->offsets[rows] + 2) * 0x1p-53;
  for (const tg_expect_version* v = table->expects; v != NULL && v->name != NULL; v++) {
    if (refused(v->name, v->refuses, pairs)) continue;
    tg_expectation what = {.pairs = *pairs, .m = m};
    run_expect(table, v, what, x, y, sums);
    for (size_t i = 0; i < k * m; i++)
      if (!(fabs(sums[i] - right[i]) <= (i < 2 * (size_t)m ? 0 : bound * magnitudes[i])))
        fail_msg("%s %s: sum %zu of %u is %.17g, not %.17g", table->name, v->name, i, m, sums[i],
                 right[i]);
    if (!v->deterministic) continue;
    what.pairs.threads = 4;
    run_expect(table, v, what, x, y, again);
    assert_memory_equal(sums, again, k * m * sizeof *sums);
  }
  free(x);
  free(y);
  free(sums);
  free(right);
  free(magnitudes);
  free(again);
}

/* All of a backend's versions on pairs that are given in host memory. */
static void try_table(const tg_motif_table* table, const tg_pairs* host, const expected* e) {
  tg_pairs pairs = *host;
  const bool tiles = host->tile_count > 0;
  const size_t list = (host->tile_count + 1) * sizeof(uint32_t);
  assert_int_equal(tg_motif_states_upload(table, &host->rows, &pairs.rows), TG_OK);
  assert_int_equal(tg_motif_states_upload(table, &host->columns, &pairs.columns), TG_OK);
  if (tiles) {
    const size_t spans = 2 * (size_t)host->tile_spans[host->tile_count] * sizeof(uint32_t);
    pairs.tile_rows = tables_copy(table, host->tile_rows, list);
    pairs.tile_spans = tables_copy(table, host->tile_spans, list);
    pairs.spans = tables_copy(table, host->spans, spans);
  }
  for (pairs.threads = 1; pairs.threads <= (table->host ? 3 : 1); pairs.threads += 2) {
    try_filters(table, &pairs, e);
    try_fills(table, &pairs, e);
    try_collects(table, &pairs, e);
    try_expects(table, host, &pairs, e, 8);
    try_expects(table, host, &pairs, e, 2);
  }
  if (tiles) {
    table->memory->release((void*)pairs.tile_rows);
    table->memory->release((void*)pairs.tile_spans);
    table->memory->release((void*)pairs.spans);
  }
  tg_motif_states_free(table, &pairs.rows);
  tg_motif_states_free(table, &pairs.columns);
}

static void make_states(const test_case* what, size_t count, uint64_t seed, tg_states* out) {
  const tg_states_params params = {count, what->particles, what->orbitals, what->spread, seed};
  assert_int_equal(tg_states_random(&params, out), TG_OK);
  if (!what->equal) return;
  uint32_t* zeros = calloc(count + 1, sizeof *zeros);
  tg_states same;
  assert_int_equal(tg_states_gather(out, zeros, count, &same), TG_OK);
  free(zeros);
  tg_states_free(out);
  *out = same;
}

static void every_version_finds_the_hits(void** state) {
  (void)state;
  for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
    const test_case* what = &CASES[k];
    tg_states rows, columns;
    make_states(what, what->rows, 2 * k, &rows);
    make_states(what, what->square ? what->rows : what->columns, 2 * k + !what->square, &columns);
    const tg_pairs pairs = {.rows = rows, .columns = columns, .d = what->d, .once = what->once};
    expected e;
    expect_hits(&pairs, &e);
    if (what->equal) assert_int_equal(e.offsets[rows.count], rows.count * (rows.count - 1) / 2);
    int index = 0;
    for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
      try_table(t, &pairs, &e);
    expected_free(&e);
    tg_states_free(&rows);
    tg_states_free(&columns);
  }
}

/* Blocks of a set, each pair once by global numbers: together they are the pairs of the set. */
static void blocks_keep_global_numbers(void** state) {
  (void)state;
  enum { COUNT = 200, CUT = 77 };
  const tg_states_params params = {COUNT, 6, 100, 12, 5};
  tg_states all;
  assert_int_equal(tg_states_random(&params, &all), TG_OK);
  expected whole;
  const tg_pairs square = {.rows = all, .columns = all, .d = 2, .once = true};
  expect_hits(&square, &whole);
  uint64_t sum = 0;
  const size_t begin[3] = {0, CUT, COUNT};
  for (int r = 0; r < 2; r++)
    for (int c = 0; c < 2; c++) {
      tg_pairs block = square;
      uint32_t numbers[COUNT];
      for (uint32_t i = 0; i < COUNT; i++) numbers[i] = i;
      block.first_row = begin[r];
      block.first_column = begin[c];
      assert_int_equal(
          tg_states_gather(&all, numbers + begin[r], begin[r + 1] - begin[r], &block.rows), TG_OK);
      assert_int_equal(
          tg_states_gather(&all, numbers + begin[c], begin[c + 1] - begin[c], &block.columns),
          TG_OK);
      expected e;
      expect_hits(&block, &e);
      sum += e.offsets[block.rows.count];
      int index = 0;
      for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
        try_table(t, &block, &e);
      expected_free(&e);
      tg_states_free(&block.rows);
      tg_states_free(&block.columns);
    }
  assert_true(sum == whole.offsets[COUNT]);
  expected_free(&whole);
  tg_states_free(&all);
}

/* Slices share the planes of their set; their ends are not the planes' ends. */
static void slices_are_sets(void** state) {
  (void)state;
  const tg_states_params params = {300, 8, 200, 14, 6};
  tg_states all;
  assert_int_equal(tg_states_random(&params, &all), TG_OK);
  const tg_pairs host = {
      .rows = tg_states_slice(&all, 37, 90), .columns = tg_states_slice(&all, 101, 131), .d = 2};
  expected e;
  expect_hits(&host, &e);
  int index = 0;
  for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index)) {
    tg_states there;
    assert_int_equal(tg_motif_states_upload(t, &all, &there), TG_OK);
    const tg_pairs pairs = {.rows = tg_states_slice(&there, 37, 90),
                            .columns = tg_states_slice(&there, 101, 131),
                            .d = 2,
                            .threads = 2};
    try_filters(t, &pairs, &e);
    try_fills(t, &pairs, &e);
    tg_motif_states_free(t, &there);
  }
  expected_free(&e);
  tg_states_free(&all);
}

/* Sorted and cut into tiles, the pairs that are left hold every hit. */
static void tiles_skip_no_hit(void** state) {
  (void)state;
  for (int d = 1; d <= 2; d++) {
    const tg_states_params row_params = {260, 6, 128, 14, 7};
    const tg_states_params column_params = {333, 6, 128, 14, 8};
    tg_states rows, columns, sorted_rows, sorted_columns;
    tg_tiling row_tiles, column_tiles;
    tg_spans spans;
    assert_int_equal(tg_states_random(&row_params, &rows), TG_OK);
    assert_int_equal(tg_states_random(&column_params, &columns), TG_OK);
    assert_int_equal(tg_tiling_make(&rows, 3, 5, &row_tiles), TG_OK);
    assert_int_equal(tg_tiling_make_like(&columns, &row_tiles, 9, &column_tiles), TG_OK);
    assert_int_equal(tg_spans_make(&row_tiles, &column_tiles, d, &spans), TG_OK);
    assert_true(spans.pairs < (d == 1 ? 0.8 : 0.95) * 260 * 333); /* or the tiles are no use */
    assert_int_equal(tg_states_gather(&rows, row_tiles.order, 260, &sorted_rows), TG_OK);
    assert_int_equal(tg_states_gather(&columns, column_tiles.order, 333, &sorted_columns), TG_OK);
    tg_pairs pairs = {.rows = sorted_rows, .columns = sorted_columns, .d = d};
    expected e;
    expect_hits(&pairs, &e); /* of all pairs */
    assert_true(e.offsets[260] > 0);
    pairs.tile_count = spans.tile_count;
    pairs.tile_rows = spans.tile_rows;
    pairs.tile_spans = spans.tile_spans;
    pairs.spans = spans.spans;
    int index = 0;
    for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
      try_table(t, &pairs, &e);
    expected_free(&e);
    tg_spans_free(&spans);
    tg_tiling_free(&row_tiles);
    tg_tiling_free(&column_tiles);
    tg_states_free(&rows);
    tg_states_free(&columns);
    tg_states_free(&sorted_rows);
    tg_states_free(&sorted_columns);
  }
}

/* Fills on devices of rows with many hits, or many columns: what puts them in order has ways for
 * each (motif/cuda/sort.cu). Hosts have none, and would take long. */
static void long_rows_are_filled(void** state) {
  (void)state;
  static const test_case cases[] = {
      {8, 128, 3, 270000, 2, false, false, 24,
       false}, /* hundreds of hits in too many columns for bits */
      {4, 64, 2, 600000, 3, false, false, 10, false}, /* a hundred thousand and more */
      {4, 64, 9, 20000, 2, false, false, 10, false},  /* by bits */
      {6, 320, 5, 20011, 3, false, false, 40, false},
  };
  bool tried = false;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    int index = 0;
    for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index)) {
      if (t->host || strcmp(t->name, "cuda") != 0) continue;
      tg_states rows, columns;
      make_states(&cases[k], cases[k].rows, 90 + 2 * k, &rows);
      make_states(&cases[k], cases[k].columns, 91 + 2 * k, &columns);
      tg_pairs pairs = {.rows = rows, .columns = columns, .d = cases[k].d, .threads = 1};
      expected e;
      expect_hits(&pairs, &e);
      assert_int_equal(tg_motif_states_upload(t, &rows, &pairs.rows), TG_OK);
      assert_int_equal(tg_motif_states_upload(t, &columns, &pairs.columns), TG_OK);
      try_filters(t, &pairs, &e);
      try_fills(t, &pairs, &e);
      tg_motif_states_free(t, &pairs.rows);
      tg_motif_states_free(t, &pairs.columns);
      expected_free(&e);
      tg_states_free(&rows);
      tg_states_free(&columns);
      tried = true;
    }
  }
  if (!tried) skip();
}

/* What is chosen for pairs in host memory finds all hits in order, for one word and for more. */
static void the_chosen_way_finds_the_hits(void** state) {
  (void)state;
  for (uint32_t orbitals = 60; orbitals <= 200; orbitals += 70) {
    const tg_states_params params = {150, 6, orbitals, 12, orbitals};
    tg_pairs pairs = {.d = 2, .once = true, .threads = 2};
    tg_motif_way way;
    expected e;
    assert_int_equal(tg_states_random(&params, &pairs.rows), TG_OK);
    pairs.columns = pairs.rows;
    expect_hits(&pairs, &e);
    assert_int_equal(tg_motif_choose_way(&pairs, &way), TG_OK);
    assert_string_equal(way.filter->method, orbitals <= 64 ? "bits" : "word64");
    assert_true(way.fill->ordered && strcmp(way.fill->method, way.filter->method) == 0);
    uint32_t *counts = calloc(151, sizeof *counts), *cursor = calloc(151, sizeof *cursor);
    uint64_t* offsets = calloc(151, sizeof *offsets);
    uint32_t* hits = calloc(e.offsets[150] + 1, sizeof *hits);
    void* scratch = malloc(way.scan->scratch ? way.scan->scratch(150, 8) : 1);
    assert_int_equal(way.filter->count(&pairs, counts), TG_OK);
    assert_int_equal(way.scan->offsets(150, counts, offsets, scratch, 2), TG_OK);
    assert_memory_equal(offsets, e.offsets, 151 * sizeof *offsets);
    assert_int_equal(way.fill->fill(&pairs, offsets, cursor, hits), TG_OK);
    same_hits("the chosen way", &e, 150, hits, true);
    void* const rooms[] = {counts, cursor, offsets, hits, scratch};
    for (size_t k = 0; k < sizeof rooms / sizeof *rooms; k++) free(rooms[k]);
    expected_free(&e);
    tg_states_free(&pairs.rows);
  }
  tg_motif_way way;
  const tg_pairs nothing = {.d = 2};
  assert_int_equal(tg_motif_choose_way(&nothing, &way), TG_ERR_INPUT);
}

/* ref's count, or fill (with a cursor), in slices of rows, by as many threads as there are. */
static void ref_in_slices(const tg_pairs* pairs, expected* e, uint32_t* cursor) {
  enum { SLICES = 500 };
  const tg_motif_table* ref = tg_motif_table_find("ref");
  const size_t rows = pairs->rows.count / SLICES; /* it divides */
#pragma omp parallel for schedule(dynamic) default(none) shared(pairs, e, cursor, ref, rows)
  for (size_t k = 0; k < SLICES; k++) {
    tg_pairs part = *pairs;
    part.rows = tg_states_slice(&pairs->rows, k * rows, rows);
    if (cursor == NULL)
      ref->filters[1].count(&part, e->counts + k * rows);
    else
      ref->fills[1].fill(&part, e->offsets + k * rows, cursor + k * rows, e->hits);
  }
}

/* A million rows and a thousand columns: every version agrees with the first. */
static void a_large_rectangle_agrees(void** state) {
  (void)state;
  if (getenv("TG_TEST_LARGE") == NULL) skip();
  const tg_states_params row_params = {1000000, 8, 128, TG_STATES_SPREAD, 1};
  const tg_states_params column_params = {1000, 8, 128, TG_STATES_SPREAD, 2};
  tg_pairs pairs = {.d = 2};
  assert_int_equal(tg_states_random(&row_params, &pairs.rows), TG_OK);
  assert_int_equal(tg_states_random(&column_params, &pairs.columns), TG_OK);
  expected e = {.counts = malloc(row_params.count * sizeof *e.counts),
                .offsets = calloc(row_params.count + 1, sizeof *e.offsets)};
  const tg_motif_table* ref = tg_motif_table_find("ref");
  uint32_t* cursor = malloc(row_params.count * sizeof *cursor);
  ref_in_slices(&pairs, &e, NULL);
  for (size_t r = 0; r < row_params.count; r++) e.offsets[r + 1] = e.offsets[r] + e.counts[r];
  e.hits = malloc(e.offsets[row_params.count] * sizeof *e.hits);
  ref_in_slices(&pairs, &e, cursor);
  free(cursor);
  int index = 0;
  for (const tg_motif_table* t = tables_next(&index); t != NULL; t = tables_next(&index))
    if (t != ref) try_table(t, &pairs, &e);
  expected_free(&e);
  tg_states_free(&pairs.rows);
  tg_states_free(&pairs.columns);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_version_finds_the_hits),
      cmocka_unit_test(blocks_keep_global_numbers),
      cmocka_unit_test(slices_are_sets),
      cmocka_unit_test(tiles_skip_no_hit),
      cmocka_unit_test(long_rows_are_filled),
      cmocka_unit_test(the_chosen_way_finds_the_hits),
      cmocka_unit_test(a_large_rectangle_agrees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
