/* SPDX-License-Identifier: Apache-2.0 */
/* Filter, fill and collect on the host's threads. A row's hits are found by one thread, so the
 * atomic of the version "cursor", which is how the directives' source is written, meets no other
 * thread here: what it costs is the atomic alone, and "ranked" is without it. */
#include <string.h>

#include "base/memory.h"
#include "motif/omp/run.h"
#include "motif/omp/table.h"

/* The kernels of a name; NULL for the name NULL: the best. */
static const tg_omp_kernels* kernels_named(const char* name) {
  if (name == NULL) return tg_omp_best();
  for (const tg_omp_kernels* const* v = tg_omp_variants(); *v != NULL; v++)
    if (strcmp((*v)->name, name) == 0 && (*v)->runs()) return *v;
  return NULL;
}

static const char* refuse(const tg_pairs* pairs, tg_omp_method method, const char* set) {
  if (kernels_named(set) == NULL) return "the processor lacks the instructions";
  return tg_omp_refuse(pairs, method);
}

static tg_status count(const tg_pairs* pairs, tg_omp_method method, const char* set,
                       uint32_t* counts) {
  const tg_omp_job job = {.pairs = pairs,
                          .kernels = kernels_named(set),
                          .method = method,
                          .sink = TG_OMP_COUNT,
                          .found = counts};
  return tg_omp_run(&job);
}

/* A filter: its method, and its instruction set, NULL for the best. */
#define FILTER(id, method, set)                                                                    \
  static const char* id##_refuses(const tg_pairs* pairs) { return refuse(pairs, method, set); }    \
  static tg_status id##_count(const tg_pairs* pairs, uint32_t* counts) {                           \
    return count(pairs, method, set, counts);                                                      \
  }
FILTER(array, TG_OMP_ARRAY, NULL)
FILTER(word64, TG_OMP_WORD64, NULL)
FILTER(bits, TG_OMP_BITS_LEAD2, NULL)
FILTER(bits_early, TG_OMP_BITS_LEAD1, NULL)
FILTER(array_avx2, TG_OMP_ARRAY, "AVX2")
FILTER(word64_avx2, TG_OMP_WORD64, "AVX2")
FILTER(bits_avx2, TG_OMP_BITS_LEAD2, "AVX2")
FILTER(array_portable, TG_OMP_ARRAY, "portable")
FILTER(word64_portable, TG_OMP_WORD64, "portable")
FILTER(bits_portable, TG_OMP_BITS_LEAD2, "portable")

const tg_filter_version tg_omp_filters[] = {
    {"array", "array", array_refuses, array_count},
    {"word64", "word64", word64_refuses, word64_count},
    {"bits", "bits", bits_refuses, bits_count},
    {"bits early", "bits", bits_early_refuses, bits_early_count},
    {"array AVX2", "array", array_avx2_refuses, array_avx2_count},
    {"word64 AVX2", "word64", word64_avx2_refuses, word64_avx2_count},
    {"bits AVX2", "bits", bits_avx2_refuses, bits_avx2_count},
    {"array portable", "array", array_portable_refuses, array_portable_count},
    {"word64 portable", "word64", word64_portable_refuses, word64_portable_count},
    {"bits portable", "bits", bits_portable_refuses, bits_portable_count},
    {NULL, NULL, NULL, NULL},
};

#define FILL(id, method_, sink_)                                                                   \
  static tg_status id(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,            \
                      uint32_t* hits) {                                                            \
    const tg_omp_job job = {.pairs = pairs,                                                        \
                            .kernels = tg_omp_best(),                                              \
                            .method = method_,                                                     \
                            .sink = sink_,                                                         \
                            .found = cursor,                                                       \
                            .offsets = offsets,                                                    \
                            .hits = hits};                                                         \
    return tg_omp_run(&job);                                                                       \
  }
FILL(array_cursor, TG_OMP_ARRAY, TG_OMP_CLAIM)
FILL(word64_cursor, TG_OMP_WORD64, TG_OMP_CLAIM)
FILL(bits_cursor, TG_OMP_BITS_LEAD2, TG_OMP_CLAIM)
FILL(array_ranked, TG_OMP_ARRAY, TG_OMP_STORE)
FILL(word64_ranked, TG_OMP_WORD64, TG_OMP_STORE)
FILL(bits_ranked, TG_OMP_BITS_LEAD2, TG_OMP_STORE)

const tg_fill_version tg_omp_fills[] = {
    {"array cursor", "array", false, array_refuses, array_cursor},
    {"word64 cursor", "word64", false, word64_refuses, word64_cursor},
    {"bits cursor", "bits", false, bits_refuses, bits_cursor},
    {"array ranked", "array", true, array_refuses, array_ranked},
    {"word64 ranked", "word64", true, word64_refuses, word64_ranked},
    {"bits ranked", "bits", true, bits_refuses, bits_ranked},
    {NULL, NULL, false, NULL, NULL},
};

/* The private array of a thread: hits in the order found, which within a row is that of columns. */
typedef struct private_hits {
  struct {
    uint32_t row, column;
  } * list;
  size_t count, room;
  uint32_t* found; /* [rows], shared: a row is one thread's */
  bool failed;
} private_hits;

static void keep(void* context, size_t row, size_t column) {
  private_hits* mine = context;
  if (mine->failed ||
      TG_RESERVE(mine->count + 1, "private hits", &mine->list, &mine->room) != TG_OK) {
    mine->failed = true;
    return;
  }
  mine->list[mine->count].row = (uint32_t)row;
  mine->list[mine->count++].column = (uint32_t)column;
  mine->found[row]++;
}

static void* private_of(void* owner, size_t item, int thread) {
  (void)item;
  return (private_hits*)owner + thread;
}

/* Copies the private arrays to their rows' places. */
static void place(const private_hits* all, int threads, const uint64_t* offsets, uint32_t* cursor,
                  uint32_t* hits) {
#pragma omp parallel for schedule(static, 1) num_threads(threads) default(none)                    \
    shared(all, threads, offsets, cursor, hits)
  for (int t = 0; t < threads; t++)
    for (size_t h = 0; h < all[t].count; h++) {
      const uint32_t row = all[t].list[h].row;
      hits[offsets[row] + cursor[row]++] = all[t].list[h].column;
    }
}

static tg_status collect(const tg_pairs* pairs, tg_omp_method method, uint64_t capacity,
                         uint64_t* offsets, uint32_t* hits) {
  const int threads = pairs->threads;
  const size_t rows = pairs->rows.count;
  uint32_t* found = NULL;
  private_hits* all = NULL;
  tg_status status = TG_ALLOCATE(rows + 1, "counts of rows", &found);
  if (status == TG_OK) status = TG_ALLOCATE((size_t)threads, "private hits", &all);
  if (status != TG_OK) goto end;
  for (int t = 0; t < threads; t++) all[t].found = found;
  const tg_omp_job job = {.pairs = pairs,
                          .kernels = tg_omp_best(),
                          .method = method,
                          .sink = TG_OMP_VISIT,
                          .owner = all,
                          .context = private_of,
                          .visit = keep};
  TG_TRY_GOTO(tg_omp_run(&job), end);
  for (int t = 0; t < threads; t++)
    if (all[t].failed) {
      status = tg_fail(TG_ERR_MACHINE, "no memory for more than %zu private hits", all[t].count);
      goto end;
    }
  TG_TRY_GOTO(tg_omp_two_pass_offsets(rows, found, offsets, NULL, threads), end);
  if (offsets[rows] > capacity) goto end;
  memset(found, 0, (rows + 1) * sizeof *found);
  place(all, threads, offsets, found, hits);
end:
  for (int t = 0; all != NULL && t < threads; t++) TG_FREE(all[t].list);
  TG_FREE(all);
  TG_FREE(found);
  return status;
}

static tg_status collect_word64(const tg_pairs* pairs, uint64_t capacity, uint64_t* offsets,
                                uint32_t* hits) {
  return collect(pairs, TG_OMP_WORD64, capacity, offsets, hits);
}
static tg_status collect_bits(const tg_pairs* pairs, uint64_t capacity, uint64_t* offsets,
                              uint32_t* hits) {
  return collect(pairs, TG_OMP_BITS_LEAD2, capacity, offsets, hits);
}

const tg_collect_version tg_omp_collects[] = {
    {"word64 private", "word64", true, word64_refuses, collect_word64},
    {"bits private", "bits", true, bits_refuses, collect_bits},
    {NULL, NULL, false, NULL, NULL},
};
