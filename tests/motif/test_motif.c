/* SPDX-License-Identifier: Apache-2.0 */
/* The motifs: each backend against what the words in motif.h say, any number of threads. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "motif/motif.h"
#include "motif/omp/filter.h"
#include "motif/ref/filter.h"

static const char* const BACKENDS[] = {"ref", "omp"};
static const size_t COUNTS[] = {0, 1, 2, 63, 4096, 30011};

static uint64_t next_random(uint64_t* state) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return *state >> 33;
}

static void tables_have_names(void** state) {
  (void)state;
  for (size_t b = 0; b < 2; b++) {
    assert_non_null(tg_motif_backend(BACKENDS[b]));
    assert_string_equal(tg_motif_backend(BACKENDS[b])->name, BACKENDS[b]);
  }
  assert_null(tg_motif_backend("Ref"));
  assert_null(tg_motif_backend(NULL));
}

static void scan_sums(void** state) {
  (void)state;
  const uint64_t guard = 0xDEADBEEF12345678ULL;
  for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
    const size_t n = COUNTS[c];
    uint32_t* narrow = malloc((n + 1) * sizeof *narrow);
    uint64_t* wide = malloc((n + 1) * sizeof *wide);
    uint64_t* offsets = malloc((n + 2) * sizeof *offsets);
    uint64_t seed = n;
    for (size_t i = 0; i < n; i++) {
      narrow[i] = (uint32_t)(next_random(&seed) << 1); /* sums pass 2^32 */
      wide[i] = next_random(&seed) << 12;
    }
    for (int k = 0; k < 8; k++) {
      const tg_motif_ops* ops = tg_motif_backend(BACKENDS[k % 2]);
      const int threads = 1 + k / 2;
      uint64_t sum = 0;
      offsets[n + 1] = guard;
      ops->scan32(n, narrow, offsets, threads);
      for (size_t i = 0; i <= n; i++) {
        assert_true(offsets[i] == sum);
        if (i < n) sum += narrow[i];
      }
      sum = 0;
      ops->scan64(n, wide, offsets, threads);
      for (size_t i = 0; i <= n; i++) {
        assert_true(offsets[i] == sum);
        if (i < n) sum += wide[i];
      }
      assert_true(offsets[n + 1] == guard);
    }
    free(narrow);
    free(wide);
    free(offsets);
  }
}

/* Values are small integers, so every order of adding gives the same sum; a second set is not, and
 * must repeat bit for bit. */
static void reduce_adds(void** state) {
  (void)state;
  enum { BINS = 37 };
  for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
    const size_t n = COUNTS[c];
    uint32_t* bins = malloc((n + 1) * sizeof *bins);
    double* values = malloc((n + 1) * sizeof *values);
    double expected[BINS];
    uint64_t seed = n + 5;
    for (int b = 0; b < BINS; b++) expected[b] = b;
    for (size_t i = 0; i < n; i++) {
      bins[i] = (uint32_t)(next_random(&seed) % BINS);
      values[i] = (double)(next_random(&seed) % 1000);
      expected[bins[i]] += values[i];
    }
    for (int k = 0; k < 8; k++) {
      const tg_motif_ops* ops = tg_motif_backend(BACKENDS[k % 2]);
      double sums[BINS], again[BINS];
      for (int b = 0; b < BINS; b++) sums[b] = b;
      ops->reduce(n, bins, values, BINS, sums, 1 + k / 2);
      assert_memory_equal(sums, expected, sizeof sums);
      for (size_t i = 0; i < n; i++) values[i] += 0.1;
      memset(sums, 0, sizeof sums);
      memset(again, 0, sizeof again);
      ops->reduce(n, bins, values, BINS, sums, 1 + k / 2);
      ops->reduce(n, bins, values, BINS, again, 1 + k / 2);
      assert_memory_equal(sums, again, sizeof sums);
      for (size_t i = 0; i < n; i++) values[i] = floor(values[i] + 0.01);
    }
    free(bins);
    free(values);
  }
}

static void sort_is_stable(void** state) {
  (void)state;
  const size_t key_counts[] = {1, 3, 1000, 50000};
  for (size_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
    const size_t n = COUNTS[c];
    uint32_t* keys = malloc((n + 1) * sizeof *keys);
    uint32_t* order = malloc((n + 1) * sizeof *order);
    for (size_t m = 0; m < sizeof key_counts / sizeof *key_counts; m++) {
      const size_t key_count = key_counts[m];
      uint64_t* start = malloc((key_count + 1) * sizeof *start);
      uint64_t seed = n + m;
      for (size_t i = 0; i < n; i++) keys[i] = (uint32_t)(next_random(&seed) % key_count);
      for (int k = 0; k < 8; k++) {
        const tg_motif_ops* ops = tg_motif_backend(BACKENDS[k % 2]);
        order[n] = 12345;
        assert_int_equal(ops->sort_by_key(n, keys, key_count, order, start, 1 + k / 2), TG_OK);
        assert_true(start[0] == 0 && start[key_count] == n && order[n] == 12345);
        for (size_t i = 0; i < n; i++) {
          const uint32_t key = keys[order[i]];
          assert_true(start[key] <= i && i < start[key + 1]);
          if (i == start[key]) continue; /* the same key as before: rising number */
          assert_true(keys[order[i - 1]] == key && order[i - 1] < order[i]);
        }
        assert_int_equal(ops->sort_by_key(n, keys, key_count, order, NULL, 1 + k / 2), TG_OK);
      }
      free(start);
    }
    free(keys);
    free(order);
  }
}

/* Divisors as a predicate: row r keeps the candidates 1 <= c <= r that divide it. */
typedef struct divisors {
  size_t from;
} divisors;

static inline size_t first_divisor(const divisors* context, size_t row) {
  (void)row;
  return context->from;
}
static inline size_t last_divisor(const divisors* context, size_t row) {
  (void)context;
  return row + 1;
}
static inline bool divides(const divisors* context, size_t row, size_t c) {
  (void)context;
  return row % c == 0;
}
TG_REF_FILTER(ref_divisors, divisors, first_divisor, last_divisor, divides)
TG_OMP_FILTER(omp_divisors, divisors, first_divisor, last_divisor, divides)

static void filter_and_fill_find_the_hits(void** state) {
  (void)state;
  enum { ROWS = 1000 };
  const divisors context = {1};
  uint32_t counts[ROWS], hits[16000];
  uint64_t offsets[ROWS + 1];
  for (int k = 0; k < 4; k++) {
    if (k == 0) {
      ref_divisors_filter(&context, ROWS, counts, 1);
    } else {
      omp_divisors_filter(&context, ROWS, counts, k);
    }
    assert_int_equal(counts[0], 0);
    assert_int_equal(counts[12], 6);
    assert_int_equal(counts[997], 2);
    assert_int_equal(counts[720], 30);
    tg_motif_backend("omp")->scan32(ROWS, counts, offsets, k + 1);
    assert_true(offsets[ROWS] < 16000);
    if (k == 0) {
      ref_divisors_fill(&context, ROWS, offsets, hits, 1);
    } else {
      omp_divisors_fill(&context, ROWS, offsets, hits, k);
    }
    for (size_t r = 1; r < ROWS; r++) {
      assert_int_equal(hits[offsets[r]], 1);
      assert_int_equal(hits[offsets[r + 1] - 1], r);
      for (uint64_t h = offsets[r] + 1; h < offsets[r + 1]; h++) {
        assert_true(hits[h] > hits[h - 1] && r % hits[h] == 0);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_have_names),
      cmocka_unit_test(scan_sums),
      cmocka_unit_test(reduce_adds),
      cmocka_unit_test(sort_is_stable),
      cmocka_unit_test(filter_and_fill_find_the_hits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
