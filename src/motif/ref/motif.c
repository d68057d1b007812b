/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of the motifs: serial, one loop each. */
#include "base/memory.h"
#include "motif/backends.h"

static void scan32(size_t count, const uint32_t* counts, uint64_t* offsets, int threads) {
  (void)threads;
  offsets[0] = 0;
  for (size_t i = 0; i < count; i++) offsets[i + 1] = offsets[i] + counts[i];
}

static void scan64(size_t count, const uint64_t* counts, uint64_t* offsets, int threads) {
  (void)threads;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t here = counts[i];
    offsets[i] = sum;
    sum += here;
  }
  offsets[count] = sum;
}

static void reduce(size_t count, const uint32_t* bins, const double* values, size_t m, double* sums,
                   int threads) {
  (void)threads;
  (void)m;
  for (size_t i = 0; i < count; i++) sums[bins[i]] += values[i];
}

static tg_status sort_by_key(size_t count, const uint32_t* keys, size_t key_count, uint32_t* order,
                             uint64_t* start, int threads) {
  (void)threads;
  uint64_t* next = NULL;
  TG_TRY(TG_ALLOCATE(key_count + 1, "the counts of a counting sort", &next));
  for (size_t i = 0; i < count; i++) next[keys[i] + 1]++;
  for (size_t k = 0; k < key_count; k++) next[k + 1] += next[k];
  if (start != NULL) {
    for (size_t k = 0; k <= key_count; k++) start[k] = next[k];
  }
  for (size_t i = 0; i < count; i++) order[next[keys[i]]++] = (uint32_t)i;
  TG_FREE(next);
  return TG_OK;
}

const tg_motif_ops tg_motif_ref = {"ref", scan32, scan64, reduce, sort_by_key};
