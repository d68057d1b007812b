/* SPDX-License-Identifier: Apache-2.0 */
/* The motifs on the host's threads. Every item has a fixed part (one per thread), and parts are
 * joined in their order, so the result depends on the thread count at most by the rounding of
 * reduce. */
#include "base/memory.h"
#include "motif/backends.h"
#include "motif/omp/parts.h"
#include "motif/omp/table.h"

static void scan32(size_t count, const uint32_t* counts, uint64_t* offsets, int threads) {
  tg_omp_two_pass_offsets(count, counts, offsets, NULL, threads);
}

static void scan64(size_t count, const uint64_t* counts, uint64_t* offsets, int threads) {
  tg_omp_two_pass_u64(count, counts, offsets, NULL, threads);
}

/* Each part adds into bins of its own. Without memory for them the sum is done serially: reduce has
 * no status to return, and a slow answer is better than none. */
static void reduce(size_t count, const uint32_t* bins, const double* values, size_t m, double* sums,
                   int threads) {
  int parts = part_count(count, threads);
  double* private_sums = NULL;
  if (m > count / 4) parts = 1;
  if (parts > 1 && TG_ALLOCATE(m * (size_t)parts, "partial sums", &private_sums) != TG_OK) {
    parts = 1;
  }
  if (parts == 1) {
    tg_motif_ref.reduce(count, bins, values, m, sums, 1);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(parts) default(none)                      \
    shared(count, bins, values, m, private_sums, parts)
  for (int p = 0; p < parts; p++) {
    double* mine = private_sums + (size_t)p * m;
    for (size_t i = part_begin(count, p, parts); i < part_begin(count, p + 1, parts); i++) {
      mine[bins[i]] += values[i];
    }
  }
  for (size_t b = 0; b < m; b++) {
    for (int p = 0; p < parts; p++) sums[b] += private_sums[(size_t)p * m + b];
  }
  TG_FREE(private_sums);
}

/* A stable counting sort: each part counts its keys; the slots of a key go to the parts in order.
 */
static tg_status sort_by_key(size_t count, const uint32_t* keys, size_t key_count, uint32_t* order,
                             uint64_t* start, int threads) {
  const int parts = key_count > count ? 1 : part_count(count, threads);
  if (parts == 1) return tg_motif_ref.sort_by_key(count, keys, key_count, order, start, 1);
  uint64_t* next = NULL;
  TG_TRY(TG_ALLOCATE(key_count * (size_t)parts, "the counts of a counting sort", &next));
#pragma omp parallel for schedule(static, 1) num_threads(parts) default(none)                      \
    shared(count, keys, key_count, next, parts)
  for (int p = 0; p < parts; p++) {
    uint64_t* mine = next + (size_t)p * key_count;
    for (size_t i = part_begin(count, p, parts); i < part_begin(count, p + 1, parts); i++) {
      mine[keys[i]]++;
    }
  }
  uint64_t sum = 0;
  for (size_t k = 0; k < key_count; k++) {
    if (start != NULL) start[k] = sum;
    for (int p = 0; p < parts; p++) {
      uint64_t* slot = next + (size_t)p * key_count + k;
      const uint64_t here = *slot;
      *slot = sum;
      sum += here;
    }
  }
  if (start != NULL) start[key_count] = sum;
#pragma omp parallel for schedule(static, 1) num_threads(parts) default(none)                      \
    shared(count, keys, key_count, next, order, parts)
  for (int p = 0; p < parts; p++) {
    uint64_t* mine = next + (size_t)p * key_count;
    for (size_t i = part_begin(count, p, parts); i < part_begin(count, p + 1, parts); i++) {
      order[mine[keys[i]]++] = (uint32_t)i;
    }
  }
  TG_FREE(next);
  return TG_OK;
}

const tg_motif_ops tg_motif_omp = {"omp", scan32, scan64, reduce, sort_by_key};
