/* SPDX-License-Identifier: Apache-2.0 */
/* The fused chain on the host's threads: block.h finds the hits, and their elements are added at
 * once, into sums of the thread (private), of the block of rows (blocks: joined in order, so the
 * number of threads does not matter), or by atomic updates. */
#include <string.h>

#include "base/memory.h"
#include "motif/omp/run.h"
#include "motif/omp/table.h"

enum { FIXED_BLOCK = 64 }; /* rows; part of the result's last bits, so no choice of the threads' */

/* Sums of one thread or block, and where the values come from. */
typedef struct adder {
  const tg_expectation* what;
  double* sums; /* [TG_OPERATOR_COUNT, m] */
} adder;

static bool find(const tg_expectation* what, size_t row, size_t column, tg_difference* f) {
  const tg_states *r = &what->pairs.rows, *c = &what->pairs.columns;
  return tg_difference_find(r->orbital + row, r->stride, c->orbital + column, c->stride,
                            (int)r->particles, what->pairs.d, f);
}

static void add(void* context, size_t row, size_t column) {
  const adder* a = context;
  const uint32_t m = a->what->m;
  const double weight = a->what->x[row] * a->what->y[column];
  double* sums = a->sums;
  tg_difference f;
  if (!find(a->what, row, column, &f)) return;
#define ADD(name)                                                                                  \
  sums[tg_##name##_bin(&f, m)] += weight * tg_##name##_value(&f);                                  \
  sums += m;
  TG_OPERATORS(ADD)
#undef ADD
}

static void add_atomically(void* context, size_t row, size_t column) {
  const adder* a = context;
  const uint32_t m = a->what->m;
  const double weight = a->what->x[row] * a->what->y[column];
  double* sums = a->sums;
  tg_difference f;
  if (!find(a->what, row, column, &f)) return;
#define ADD(name)                                                                                  \
  {                                                                                                \
    const uint32_t bin = tg_##name##_bin(&f, m);                                                   \
    const double element = weight * tg_##name##_value(&f);                                         \
    _Pragma("omp atomic update") sums[bin] += element;                                             \
    sums += m;                                                                                     \
  }
  TG_OPERATORS(ADD)
#undef ADD
}

static void* of_all(void* owner, size_t item, int thread) {
  (void)item;
  (void)thread;
  return owner;
}
static void* of_thread(void* owner, size_t item, int thread) {
  (void)item;
  return (adder*)owner + thread;
}
static void* of_item(void* owner, size_t item, int thread) {
  (void)thread;
  return (adder*)owner + item;
}

/* Sums of one part, a multiple of a cache line. */
static size_t part_room(const tg_expectation* what) {
  return ((size_t)TG_OPERATOR_COUNT * what->m + 7) / 8 * 8;
}

/* The adders stand in front of their sums. */
static size_t adders_room(size_t parts) {
  return (parts * sizeof(adder) + TG_CACHE_LINE - 1) / TG_CACHE_LINE * TG_CACHE_LINE;
}
static size_t parts_bytes(const tg_expectation* what, size_t parts) {
  return adders_room(parts) + parts * part_room(what) * sizeof(double);
}
static size_t scratch_private(const tg_expectation* what) {
  return parts_bytes(what, (size_t)what->pairs.threads);
}
static size_t scratch_blocks(const tg_expectation* what) {
  return parts_bytes(what, tg_omp_items(&what->pairs, FIXED_BLOCK));
}

static tg_status by_parts(const tg_expectation* what, tg_omp_method method, size_t parts,
                          void* (*context)(void*, size_t, int), void* scratch) {
  const size_t room = part_room(what), sums = (size_t)TG_OPERATOR_COUNT * what->m;
  adder* adders = scratch;
  void* behind = (char*)scratch + adders_room(parts);
  double* first = behind;
  for (size_t p = 0; p < parts; p++) {
    adders[p] = (adder){what, first + p * room};
    memset(adders[p].sums, 0, sums * sizeof(double));
  }
  const tg_omp_job job = {.pairs = &what->pairs,
                          .kernels = tg_omp_best(),
                          .method = method,
                          .sink = TG_OMP_VISIT,
                          .block = FIXED_BLOCK,
                          .owner = adders,
                          .context = context,
                          .visit = add};
  TG_TRY(tg_omp_run(&job));
  memset(what->sums, 0, sums * sizeof(double));
  for (size_t p = 0; p < parts; p++)
    for (size_t b = 0; b < sums; b++) what->sums[b] += adders[p].sums[b];
  return TG_OK;
}

static tg_status expect_private(const tg_expectation* what, void* scratch) {
  return by_parts(what, TG_OMP_WORD64, (size_t)what->pairs.threads, of_thread, scratch);
}
static tg_status expect_blocks(const tg_expectation* what, void* scratch) {
  return by_parts(what, TG_OMP_WORD64, tg_omp_items(&what->pairs, FIXED_BLOCK), of_item, scratch);
}

static tg_status expect_atomic(const tg_expectation* what, void* scratch) {
  (void)scratch;
  adder all = {what, what->sums};
  memset(what->sums, 0, (size_t)TG_OPERATOR_COUNT * what->m * sizeof *what->sums);
  const tg_omp_job job = {.pairs = &what->pairs,
                          .kernels = tg_omp_best(),
                          .method = TG_OMP_WORD64,
                          .sink = TG_OMP_VISIT,
                          .owner = &all,
                          .context = of_all,
                          .visit = add_atomically};
  return tg_omp_run(&job);
}

static const char* refuses(const tg_pairs* pairs) {
  if (pairs && pairs->d > TG_DIFFERENCE_MOST) return "more than 8 particles may have moved";
  return tg_omp_refuse(pairs, TG_OMP_WORD64);
}

const tg_expect_version tg_omp_expects[] = {
    {"word64 private", "word64", false, refuses, scratch_private, expect_private},
    {"word64 blocks", "word64", true, refuses, scratch_blocks, expect_blocks},
    {"word64 atomic", "word64", false, refuses, NULL, expect_atomic},
    {NULL, NULL, false, NULL, NULL, NULL},
};
