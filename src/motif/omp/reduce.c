/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce into few sums on the host's threads.
 *
 * The sums of `private` and `chunks` stand four times, items taking turns: a sum that is needed by
 * the next item is then not waited for. Both ask for what they will read, AHEAD items early: the
 * stores into the sums keep the processor from looking so far ahead by itself. */
#include <string.h>

#include "base/memory.h"
#include "motif/omp/table.h"

/* Copies only while they stay in the first-level cache. */
enum {
  COPIES = 4,
  MOST_COPIED = 512,
  MOST_CLAUSE = 4096,
  MOST_SCALARS = 512,
  CHUNK = 16384,
  AHEAD = 512
};

static void clear(const tg_reduction* what) { memset(what->sums, 0, what->m * sizeof *what->sums); }

/* Every thread has a copy of the array on its stack. */
static tg_status clause(const tg_reduction* what) {
  const size_t count = what->count;
  const uint32_t m = what->m, *bins = what->bins;
  const double* values = what->values;
  double* sums = what->sums;
  const int threads = what->threads;
  (void)threads;
  (void)m;
  clear(what);
#pragma omp parallel for schedule(static) num_threads(threads) default(none) \
    shared(count, bins, values, m) reduction(+ : sums[:m])
  for (size_t i = 0; i < count; i++) sums[bins[i]] += values[i];
  return TG_OK;
}

static const char* refuses_clause(uint32_t m) {
  return m > MOST_CLAUSE ? "an array of more than 4,096 sums on each thread's stack" : NULL;
}

static tg_status atomic(const tg_reduction* what) {
  const size_t count = what->count;
  const uint32_t* bins = what->bins;
  const double* values = what->values;
  double* sums = what->sums;
  const int threads = what->threads;
  (void)threads;
  clear(what);
#pragma omp parallel for schedule(static) num_threads(threads) default(none)                       \
    shared(count, bins, values, sums)
  for (size_t i = 0; i < count; i++) {
#pragma omp atomic update
    sums[bins[i]] += values[i];
  }
  return TG_OK;
}

/* One scalar reduction per sum, eight in a pass over the items. */
static void eight_scalars(const tg_reduction* what, uint32_t first, double out[8]) {
  const size_t count = what->count;
  const uint32_t* bins = what->bins;
  const double* values = what->values;
  const int threads = what->threads;
  (void)threads;
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
#pragma omp parallel for simd schedule(static) num_threads(threads) default(none) \
    shared(count, bins, values, first) reduction(+ : s0, s1, s2, s3, s4, s5, s6, s7)
  for (size_t i = 0; i < count; i++) {
    const uint32_t bin = bins[i] - first; /* those below first wrap, to large ones */
    const double value = values[i];
    s0 += bin == 0 ? value : 0;
    s1 += bin == 1 ? value : 0;
    s2 += bin == 2 ? value : 0;
    s3 += bin == 3 ? value : 0;
    s4 += bin == 4 ? value : 0;
    s5 += bin == 5 ? value : 0;
    s6 += bin == 6 ? value : 0;
    s7 += bin == 7 ? value : 0;
  }
  const double sums[8] = {s0, s1, s2, s3, s4, s5, s6, s7};
  memcpy(out, sums, sizeof sums);
}

static tg_status scalars(const tg_reduction* what) {
  for (uint32_t first = 0; first < what->m; first += 8) {
    double eight[8];
    eight_scalars(what, first, eight);
    for (uint32_t b = first; b < what->m && b < first + 8; b++) what->sums[b] = eight[b - first];
  }
  return TG_OK;
}

static const char* refuses_scalars(uint32_t m) {
  return m > MOST_SCALARS ? "more than 512 scalars, at eight in a pass" : NULL;
}

static size_t copies_of(uint32_t m) { return m <= MOST_COPIED ? COPIES : 1; }

/* Adds items begin ... end - 1 into mine: [copies_of(m), m], which it clears. */
static void add_items(const tg_reduction* what, size_t begin, size_t end, double* mine) {
  const uint32_t m = what->m, *bins = what->bins;
  const double* values = what->values;
  const size_t copies = copies_of(m);
  size_t i = begin;
  memset(mine, 0, copies * m * sizeof *mine);
  if (copies == COPIES) {
    double *a = mine, *b = a + m, *c = b + m, *d = c + m;
    for (; i + 2 * COPIES <= end; i += 2 * COPIES) {
      __builtin_prefetch(values + i + AHEAD);
      __builtin_prefetch(bins + i + 2 * AHEAD);
      for (size_t k = i; k < i + 2 * COPIES; k += COPIES) {
        a[bins[k]] += values[k];
        b[bins[k + 1]] += values[k + 1];
        c[bins[k + 2]] += values[k + 2];
        d[bins[k + 3]] += values[k + 3];
      }
    }
  }
  for (; i < end; i++) mine[bins[i]] += values[i];
}

/* What a part takes of the scratch: its copies, and no cache line of another's. */
static size_t part_room(uint32_t m) { return (copies_of(m) * m + 7) / 8 * 8; }

static size_t scratch_private(size_t count, uint32_t m, int threads) {
  (void)count;
  return part_room(m) * (size_t)threads * sizeof(double);
}

/* sums[b] = what the parts have of it, in their order. */
static void join(const tg_reduction* what, size_t parts) {
  const double* scratch = what->scratch;
  const size_t room = part_room(what->m), m = what->m, copies = copies_of(what->m);
  clear(what);
  for (size_t p = 0; p < parts; p++)
    for (size_t c = 0; c < copies; c++)
      for (size_t b = 0; b < m; b++) what->sums[b] += scratch[p * room + c * m + b];
}

static tg_status private_sums(const tg_reduction* what) {
  const size_t room = part_room(what->m), count = what->count;
  const int threads = what->threads;
  double* scratch = what->scratch;
#pragma omp parallel for schedule(static, 1) num_threads(threads) default(none)                    \
    shared(what, room, count, threads, scratch)
  for (int t = 0; t < threads; t++) {
    const size_t parts = (size_t)threads, part = (size_t)t;
    const size_t begin = count / parts * part + count % parts * part / parts;
    const size_t end = count / parts * (part + 1) + count % parts * (part + 1) / parts;
    add_items(what, begin, end, scratch + part * room);
  }
  join(what, (size_t)threads);
  return TG_OK;
}

/* Long enough that joining is little work beside adding. */
static size_t chunk_length(uint32_t m) {
  const size_t wanted = 16 * copies_of(m) * m;
  return wanted > CHUNK ? wanted : CHUNK;
}

static size_t chunk_count(size_t count, uint32_t m) {
  return (count + chunk_length(m) - 1) / chunk_length(m);
}

static size_t scratch_chunks(size_t count, uint32_t m, int threads) {
  (void)threads;
  return part_room(m) * chunk_count(count, m) * sizeof(double);
}

static tg_status chunks(const tg_reduction* what) {
  const size_t room = part_room(what->m), length = chunk_length(what->m), count = what->count;
  const size_t parts = chunk_count(count, what->m);
  const int threads = what->threads;
  double* scratch = what->scratch;
  (void)threads;
#pragma omp parallel for schedule(static) num_threads(threads) default(none)                       \
    shared(what, room, length, count, parts, scratch)
  for (size_t p = 0; p < parts; p++) {
    const size_t end = (p + 1) * length < count ? (p + 1) * length : count;
    add_items(what, p * length, end, scratch + p * room);
  }
  join(what, parts);
  return TG_OK;
}

const tg_reduce_version tg_omp_reduces[] = {
    {"clause", false, refuses_clause, NULL, clause},
    {"atomic", false, NULL, NULL, atomic},
    {"scalars", false, refuses_scalars, NULL, scalars},
    {"private", false, NULL, scratch_private, private_sums},
    {"chunks", true, NULL, scratch_chunks, chunks},
    {NULL, false, NULL, NULL, NULL},
};
