/* SPDX-License-Identifier: Apache-2.0 */
/* What the host can do at all: loops that are as plain as they can be. */
#include "base/memory.h"
#include "base/timer.h"
#include "bench/motif_case.h"

/* Reads both arrays of reduce once, asking for them as early as the fastest reduce does. */
void tg_motif_stream(const tg_reduction* what) {
  enum { LINE = 16, AHEAD = 512 };
  const size_t count = what->count / LINE * LINE;
  const uint32_t* bins = what->bins;
  const double* values = what->values;
  double sum = 0;
  uint32_t bits = 0;
#pragma omp parallel for schedule(static) num_threads(what->threads) default(none) \
    shared(count, bins, values) reduction(+ : sum) reduction(^ : bits)
  for (size_t i = 0; i < count; i += LINE) {
    double four[4] = {0};
    __builtin_prefetch(bins + i + 2 * AHEAD);
    __builtin_prefetch(values + i + AHEAD);
    __builtin_prefetch(values + i + AHEAD + LINE / 2);
    for (size_t k = 0; k < LINE; k++) {
      four[k % 4] += values[i + k];
      bits ^= bins[i + k];
    }
    sum += four[0] + four[1] + four[2] + four[3];
  }
  what->sums[0] = sum + bits;
}

void tg_motif_copy(size_t count, const uint32_t* from, uint32_t* to, int threads) {
  (void)threads;
#pragma omp parallel for simd schedule(static) num_threads(threads) default(none)                  \
    shared(count, from, to)
  for (size_t i = 0; i < count; i++) to[i] = from[i];
}

/* How many of the words differ from one in at most so many bits. */
static uint32_t count_near(uint64_t word, const uint64_t* words, size_t count, int most) {
  uint32_t sum = 0;
  for (size_t c = 0; c < count; c++) sum += __builtin_popcountll(word ^ words[c]) <= most;
  return sum;
}

#if defined(__x86_64__)
/* The same with the instruction for it, one pair at a time. */
__attribute__((target("popcnt"))) static uint32_t count_near_popcnt(uint64_t word,
                                                                    const uint64_t* words,
                                                                    size_t count, int most) {
  uint32_t sum = 0;
  for (size_t c = 0; c < count; c++) sum += __builtin_popcountll(word ^ words[c]) <= most;
  return sum;
}
static bool has_popcnt(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("popcnt");
}
#else
#define count_near_popcnt count_near
static bool has_popcnt(void) { return false; }
#endif

void tg_motif_bare(const tg_pairs* pairs, uint32_t* counts) {
  const uint64_t *rows = pairs->rows.low, *columns = pairs->columns.low;
  const size_t row_count = pairs->rows.count, column_count = pairs->columns.count;
  const int most = 2 * pairs->d;
  const bool popcnt = has_popcnt();
#pragma omp parallel for schedule(static) num_threads(pairs->threads) default(none)                \
    shared(rows, columns, row_count, column_count, most, popcnt, counts)
  for (size_t r = 0; r < row_count; r++)
    counts[r] = popcnt ? count_near_popcnt(rows[r], columns, column_count, most)
                       : count_near(rows[r], columns, column_count, most);
}

static void triad(size_t count, double* a, const double* b, const double* c, int threads) {
  (void)threads;
#pragma omp parallel for simd schedule(static) num_threads(threads) default(none)                  \
    shared(count, a, b, c)
  for (size_t i = 0; i < count; i++) a[i] = b[i] + 3 * c[i];
}

enum { TRIAD = 1 << 22, RUNS = 3, WORDS = 4096 };

static tg_status measure_triad(int threads, double* bytes_per_s) {
  double *a = NULL, *b = NULL, *c = NULL;
  tg_status status = TG_ALLOCATE(TRIAD, "the triad", &a);
  if (status == TG_OK) status = TG_ALLOCATE(TRIAD, "the triad", &b);
  if (status == TG_OK) status = TG_ALLOCATE(TRIAD, "the triad", &c);
  if (status == TG_OK) {
    for (size_t i = 0; i < TRIAD; i++) b[i] = c[i] = 1;
    triad(TRIAD, a, b, c, threads);
  }
  for (int k = 0; k < RUNS && status == TG_OK; k++) {
    const double start = tg_time_now();
    triad(TRIAD, a, b, c, threads);
    const double rate = 24.0 * TRIAD / (tg_time_now() - start);
    if (rate > *bytes_per_s) *bytes_per_s = rate;
  }
  TG_FREE(a);
  TG_FREE(b);
  TG_FREE(c);
  return status;
}

static tg_status measure_pairs(int threads, double* pairs_per_s) {
  uint64_t* words = NULL;
  uint32_t* counts = NULL;
  tg_status status = TG_ALLOCATE(WORDS, "words", &words);
  if (status == TG_OK) status = TG_ALLOCATE(WORDS, "counts", &counts);
  if (status == TG_OK)
    for (size_t i = 0; i < WORDS; i++) words[i] = i * 0x9e3779b97f4a7c15;
  const tg_pairs pairs = {.rows = {.count = WORDS, .low = words},
                          .columns = {.count = WORDS, .low = words},
                          .d = 2,
                          .threads = threads};
  for (int k = 0; k < RUNS && status == TG_OK; k++) {
    const double start = tg_time_now();
    tg_motif_bare(&pairs, counts);
    const double rate = (double)WORDS * WORDS / (tg_time_now() - start);
    if (rate > *pairs_per_s) *pairs_per_s = rate;
  }
  TG_FREE(words);
  TG_FREE(counts);
  return status;
}

tg_status tg_bench_yardsticks_measure(int threads, tg_bench_yardsticks* out) {
  tg_bench_yardsticks measured = {0, 0};
  TG_TRY(measure_triad(threads, &measured.triad_bytes_per_s));
  TG_TRY(measure_pairs(threads, &measured.pairs_per_s));
  *out = measured;
  return TG_OK;
}
