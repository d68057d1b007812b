/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/directives_sums.h  Scan, reduce and the fused chain as motif/directives.h has filter
 * and fill: plain C loops, with the pragmas handed in.
 *
 *   SERIAL(pointers)   before a block: one thread of the device runs it
 *   FLAT(n, pointers)  before a loop of n: all parallelism over it; queued, in order
 */
#ifndef TG_MOTIF_DIRECTIVES_SUMS_H
#define TG_MOTIF_DIRECTIVES_SUMS_H

#include "motif/directives.h"
#include "motif/directives_blocks.h"
#include "motif/operators.h"
#include "motif/reduce.h"
#include "motif/scan.h"

#define TG_SCAN_SERIAL(id, SERIAL, in_type, out_type)                                              \
  static tg_status id(size_t count, const in_type* in, out_type* out, void* scratch,               \
                      int threads) {                                                               \
    (void)scratch, (void)threads;                                                                  \
    TG_BEGIN(threads)                                                                              \
    SERIAL(in, out) {                                                                              \
      out_type sum = 0;                                                                            \
      out[0] = 0;                                                                                  \
      for (size_t i = 0; i < count; i++) {                                                         \
        sum += in[i];                                                                              \
        out[i + 1] = sum;                                                                          \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Up and down a binary tree, a loop a level: `stride` elements apart, sums of `stride` elements
 * each. Sum i of out is that of in[0] ... in[i - 1]. LEVEL as FLAT, each after the one before;
 * QUEUE stands before the block that queues them, JOIN ends it. */
#define TG_SCAN_SWEEP(id, QUEUE, LEVEL, JOIN, in_type, out_type)                                   \
  static tg_status id(size_t count, const in_type* in, out_type* out, void* scratch,               \
                      int threads) {                                                               \
    size_t stride = 1;                                                                             \
    (void)scratch, (void)threads;                                                                  \
    TG_BEGIN(threads)                                                                              \
    QUEUE {                                                                                        \
      LEVEL(count + 1, in, out)                                                                    \
      for (size_t i = 0; i <= count; i++) out[i] = i == 0 ? 0 : in[i - 1];                         \
      for (; 2 * stride <= count; stride *= 2) {                                                   \
        LEVEL(count / (2 * stride), out)                                                           \
        for (size_t k = 1; k <= count / (2 * stride); k++)                                         \
          out[2 * stride * k] += out[2 * stride * k - stride];                                     \
      }                                                                                            \
      for (; stride >= 1; stride /= 2) {                                                           \
        if (count < 3 * stride) continue;                                                          \
        LEVEL((count - stride) / (2 * stride), out)                                                \
        for (size_t k = 1; k <= (count - stride) / (2 * stride); k++)                              \
          out[2 * stride * k + stride] += out[2 * stride * k];                                     \
      }                                                                                            \
      JOIN                                                                                         \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* The room of all levels' sums (motif/scan.h has the chunks). */
enum { TG_SCAN_LEVELS = 8 };
static inline size_t tg_scan_two_pass_bytes(size_t count, size_t width) {
  size_t all = 0;
  do {
    count = tg_scan_chunks(count);
    all += count;
  } while (count > 1);
  return all * width;
}

/* The sums of chunks, of `from` into `to`; and within chunks the sums before each number, from what
 * is before the chunk. */
#define TG_SCAN_UP(FLAT, chunks, length, from, to)                                                 \
  FLAT(chunks, from, to)                                                                           \
  for (size_t p = 0; p < chunks; p++) {                                                            \
    const size_t end = length - p * chunk < chunk ? length : (p + 1) * chunk;                      \
    to[p] = 0;                                                                                     \
    for (size_t i = p * chunk; i < end; i++) to[p] += from[i];                                     \
  }

/** Sums of chunks first, of chunks of these and so on, then down again: at most five launches, as
 * the sum of all is not needed first; each element read twice and written once. A thread goes along
 * a chunk, so neighbouring threads do not load neighbouring memory, which only the first-level
 * cache makes up for. */
#define TG_SCAN_TWO_PASS(id, FLAT, in_type, out_type)                                              \
  static tg_status id(size_t count, const in_type* in, out_type* out, void* scratch,               \
                      int threads) {                                                               \
    out_type* sums[TG_SCAN_LEVELS];                                                                \
    size_t lengths[TG_SCAN_LEVELS];                                                                \
    int top = 0;                                                                                   \
    (void)threads;                                                                                 \
    TG_BEGIN(threads)                                                                              \
    sums[0] = scratch;                                                                             \
    lengths[0] = tg_scan_chunks(count);                                                            \
    if (lengths[0] > 1) {                                                                          \
      const size_t chunks = lengths[0], chunk = tg_scan_chunk(count);                              \
      out_type* to = sums[0];                                                                      \
      TG_SCAN_UP(FLAT, chunks, count, in, to)                                                      \
    }                                                                                              \
    for (; lengths[top] > 1; top++) {                                                              \
      const size_t length = lengths[top], chunks = tg_scan_chunks(length);                         \
      const size_t chunk = tg_scan_chunk(length);                                                  \
      const out_type* from = sums[top];                                                            \
      out_type* to = sums[top] + length;                                                           \
      sums[top + 1] = to;                                                                          \
      lengths[top + 1] = chunks;                                                                   \
      if (chunks > 1) {                                                                            \
        TG_SCAN_UP(FLAT, chunks, length, from, to)                                                 \
      }                                                                                            \
    }                                                                                              \
    for (int level = top - 1; level >= 0; level--) {                                               \
      const size_t length = lengths[level], chunks = lengths[level + 1];                           \
      const size_t chunk = tg_scan_chunk(length);                                                  \
      out_type* to = sums[level];                                                                  \
      const out_type* before = sums[level + 1];                                                    \
      FLAT(chunks, to, before)                                                                     \
      for (size_t p = 0; p < chunks; p++) {                                                        \
        const size_t end = length - p * chunk < chunk ? length : (p + 1) * chunk;                  \
        out_type sum = chunks > 1 ? before[p] : 0;                                                 \
        for (size_t i = p * chunk; i < end; i++) {                                                 \
          const out_type number = to[i];                                                           \
          to[i] = sum;                                                                             \
          sum += number;                                                                           \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    {                                                                                              \
      const size_t chunks = lengths[0], chunk = tg_scan_chunk(count);                              \
      const out_type* before = sums[0];                                                            \
      FLAT(chunks, in, out, before)                                                                \
      for (size_t p = 0; p < chunks; p++) {                                                        \
        const size_t end = count - p * chunk < chunk ? count : (p + 1) * chunk;                    \
        out_type sum = chunks > 1 ? before[p] : 0;                                                 \
        for (size_t i = p * chunk; i < end; i++) {                                                 \
          out[i] = sum;                                                                            \
          sum += in[i];                                                                            \
        }                                                                                          \
        if (end == count) out[count] = sum;                                                        \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** On the host, there and back: memory is the backend's, staging(bytes) host memory. */
#define TG_SCAN_HOST(id, memory, staging, in_type, out_type)                                       \
  static tg_status id(size_t count, const in_type* in, out_type* out, void* scratch,               \
                      int threads) {                                                               \
    const size_t head = ((count + 1) * sizeof(out_type) + 63) / 64 * 64;                           \
    char* room = staging(head + count * sizeof(in_type));                                          \
    out_type* sums = (out_type*)(void*)room;                                                       \
    const in_type* numbers = (const in_type*)(const void*)(room + head);                           \
    (void)scratch, (void)threads;                                                                  \
    if (room == NULL) return tg_fail(TG_ERR_MACHINE, "no host memory to scan %zu numbers", count); \
    TG_TRY((memory)->download(room + head, in, count * sizeof(in_type)));                          \
    sums[0] = 0;                                                                                   \
    for (size_t i = 0; i < count; i++) sums[i + 1] = sums[i] + numbers[i];                         \
    return (memory)->upload(out, sums, (count + 1) * sizeof(out_type));                            \
  }

/** ADD makes the update atomic. */
#define TG_REDUCE_ATOMIC(id, FLAT, ADD)                                                            \
  static tg_status id(const tg_reduction* what) {                                                  \
    TG_BEGIN(what->threads)                                                                        \
    const size_t count = what->count;                                                              \
    const uint32_t m = what->m, *bins = what->bins;                                                \
    const double* values = what->values;                                                           \
    double* sums = what->sums;                                                                     \
    FLAT(m, sums)                                                                                  \
    for (uint32_t b = 0; b < m; b++) sums[b] = 0;                                                  \
    FLAT(count, bins, values, sums)                                                                \
    for (size_t i = 0; i < count; i++) {                                                           \
      ADD sums[bins[i]] += values[i];                                                              \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* Blocks of items whose sums are added up apart, by the threads of a team: few enough that joining
 * them costs little. Their sums lie where the model puts an array of a team: GCC's OpenACC, in a
 * multiprocessor's shared memory. */
enum { TG_PRIVATE_SUMS = 256, TG_PRIVATE_BLOCKS = 1056, TG_PRIVATE_ITEMS = 4096 };
static inline uint32_t tg_private_blocks(size_t count) {
  const size_t blocks = count / TG_PRIVATE_ITEMS;
  return blocks < 1 ? 1 : blocks > TG_PRIVATE_BLOCKS ? TG_PRIVATE_BLOCKS : (uint32_t)blocks;
}

/** By atomic updates of a team's sums, then of the sums. BLOCKS(n, pointers) stands before the loop
 * over teams, INNER before loops over a team's threads. */
#define TG_REDUCE_PRIVATE(id, FLAT, BLOCKS, INNER, ADD)                                            \
  static tg_status id(const tg_reduction* what) {                                                  \
    TG_BEGIN(what->threads)                                                                        \
    const size_t count = what->count;                                                              \
    const uint32_t m = what->m, *bins = what->bins, blocks = tg_private_blocks(count);             \
    const double* values = what->values;                                                           \
    double* sums = what->sums;                                                                     \
    FLAT(m, sums)                                                                                  \
    for (uint32_t b = 0; b < m; b++) sums[b] = 0;                                                  \
    BLOCKS(blocks, bins, values, sums)                                                             \
    for (uint32_t p = 0; p < blocks; p++) {                                                        \
      double own[TG_PRIVATE_SUMS];                                                                 \
      const size_t first = count / blocks * p;                                                     \
      const size_t end = p + 1 < blocks ? first + count / blocks : count;                          \
      INNER()                                                                                      \
      for (uint32_t b = 0; b < m; b++) own[b] = 0;                                                 \
      INNER()                                                                                      \
      for (size_t i = first; i < end; i++) {                                                       \
        ADD own[bins[i]] += values[i];                                                             \
      }                                                                                            \
      INNER()                                                                                      \
      for (uint32_t b = 0; b < m; b++) {                                                           \
        ADD sums[b] += own[b];                                                                     \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** Eight scalar reductions in a pass over the items. FLAT_SUMS as FLAT, and has waited. */
#define TG_REDUCE_SCALARS(id, FLAT_SUMS, memory)                                                   \
  static tg_status id(const tg_reduction* what) {                                                  \
    TG_BEGIN(what->threads)                                                                        \
    const size_t count = what->count;                                                              \
    const uint32_t m = what->m, *bins = what->bins;                                                \
    const double* values = what->values;                                                           \
    for (uint32_t first = 0; first < m; first += 8) {                                              \
      const uint32_t left = m - first < 8 ? m - first : 8;                                         \
      double s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;                       \
      FLAT_SUMS(count, s0, s1, s2, s3, s4, s5, s6, s7)                                             \
      for (size_t i = 0; i < count; i++) {                                                         \
        const uint32_t bin = bins[i] - first; /* those below first wrap, to large ones */          \
        const double value = values[i];                                                            \
        s0 += bin == 0 ? value : 0;                                                                \
        s1 += bin == 1 ? value : 0;                                                                \
        s2 += bin == 2 ? value : 0;                                                                \
        s3 += bin == 3 ? value : 0;                                                                \
        s4 += bin == 4 ? value : 0;                                                                \
        s5 += bin == 5 ? value : 0;                                                                \
        s6 += bin == 6 ? value : 0;                                                                \
        s7 += bin == 7 ? value : 0;                                                                \
      }                                                                                            \
      const double eight[8] = {s0, s1, s2, s3, s4, s5, s6, s7};                                    \
      TG_TRY((memory)->upload(what->sums + first, eight, left * sizeof(double)));                  \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* What no GPU should be asked for, and why: answers of tg_reduce_version.refuses and of
 * tg_dense_version.refuses. */
enum { TG_MOST_SCALARS = 512, TG_MOST_CLAUSE = 256 };
static inline const char* tg_refuse_scalars(uint32_t m) {
  return m > TG_MOST_SCALARS ? "more than 512 scalars, at eight in a pass" : NULL;
}
static inline const char* tg_refuse_private(uint32_t m) {
  return m > TG_PRIVATE_SUMS ? "more than 256 sums for a team" : NULL;
}
static inline const char* tg_refuse_clause(uint32_t m) {
  return m > TG_MOST_CLAUSE ? "an array of more than 256 sums for each thread" : NULL;
}
static inline const char* tg_refuse_many_moved(const tg_pairs* pairs) {
  if (pairs && pairs->d > TG_DIFFERENCE_MOST) return "more than 8 particles may have moved";
  return tg_pairs_need_word64(pairs);
}

/* Parts of a fixed number, whatever the device, so that sums have the same bits each time; their
 * sums lie side by side, [m, parts], so that neighbours load and store neighbouring memory. Joined
 * in two steps: groups of TG_GROUP parts, then the groups. */
enum { TG_MOST_PARTS = 32768, TG_LEAST_PARTS = 1024, TG_PARTS_ROOM = 1 << 21, TG_GROUP = 128 };

static inline uint32_t tg_parts_of(size_t count, size_t sums) {
  size_t parts = sums > 0 ? TG_PARTS_ROOM / sums : TG_MOST_PARTS;
  if (parts > TG_MOST_PARTS) parts = TG_MOST_PARTS;
  if (parts < TG_LEAST_PARTS) parts = TG_LEAST_PARTS;
  if (parts > count) parts = count;
  return parts > 0 ? (uint32_t)parts : 1;
}
static inline uint32_t tg_groups_of(uint32_t parts) { return (parts + TG_GROUP - 1) / TG_GROUP; }
static inline size_t tg_parts_bytes(size_t count, size_t sums) {
  const uint32_t parts = tg_parts_of(count, sums);
  return (parts + (size_t)tg_groups_of(parts)) * sums * sizeof(double);
}

/* The room of parts: tg_reduce_version.scratch, and that of a tg_expect_version. */
static inline size_t tg_reduce_chunk_bytes(size_t count, uint32_t m, int threads) {
  (void)threads;
  return tg_parts_bytes(count, m);
}
static inline size_t tg_expect_part_bytes(const tg_expectation* what) {
  return tg_parts_bytes(what->pairs.rows.count, TG_OPERATOR_COUNT * (size_t)what->m);
}

/** A function id that joins parts. */
#define TG_JOIN_PARTS(id, FLAT)                                                                    \
  static void id(uint32_t size, uint32_t parts, const double* of_parts, double* of_groups,         \
                 double* sums) {                                                                   \
    const uint32_t groups = tg_groups_of(parts);                                                   \
    FLAT((size_t)size* groups, of_parts, of_groups)                                                \
    for (size_t k = 0; k < (size_t)size * groups; k++) {                                           \
      const size_t b = k / groups, first = k % groups * TG_GROUP;                                  \
      const size_t end = first + TG_GROUP < parts ? first + TG_GROUP : parts;                      \
      double sum = 0;                                                                              \
      for (size_t p = first; p < end; p++) sum += of_parts[b * parts + p];                         \
      of_groups[k] = sum;                                                                          \
    }                                                                                              \
    FLAT(size, of_groups, sums)                                                                    \
    for (uint32_t b = 0; b < size; b++) {                                                          \
      double sum = 0;                                                                              \
      for (size_t g = 0; g < groups; g++) sum += of_groups[(size_t)b * groups + g];                \
      sums[b] = sum;                                                                               \
    }                                                                                              \
  }

#define TG_REDUCE_CHUNKS(id, FLAT, join)                                                           \
  static tg_status id(const tg_reduction* what) {                                                  \
    TG_BEGIN(what->threads)                                                                        \
    const size_t count = what->count;                                                              \
    const uint32_t m = what->m, *bins = what->bins;                                                \
    const double* values = what->values;                                                           \
    const uint32_t parts = tg_parts_of(count, m);                                                  \
    double *of_parts = what->scratch, *of_groups = of_parts + (size_t)m * parts;                   \
    FLAT(parts, bins, values, of_parts)                                                            \
    for (uint32_t p = 0; p < parts; p++) {                                                         \
      for (uint32_t b = 0; b < m; b++) of_parts[(size_t)b * parts + p] = 0;                        \
      for (size_t i = p; i < count; i += parts)                                                    \
        of_parts[(size_t)bins[i] * parts + p] += values[i];                                        \
    }                                                                                              \
    join(m, parts, of_parts, of_groups, what->sums);                                               \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* Adds the elements of one hit: sums of an operator lie m * apart behind each other. */
#define TG_ADD_ELEMENT(name)                                                                       \
  {                                                                                                \
    const uint32_t bin = tg_##name##_bin(&f, m);                                                   \
    const double element = weight * tg_##name##_value(&f);                                         \
    TG_ADD_HERE                                                                                    \
    to[bin * apart] += element;                                                                    \
    to += m * apart;                                                                               \
  }

/* The difference of two states is each lane's own. It is declared in the loop (who includes this
 * makes TG_DIFFERENCE_WITHIN its declaration, TG_DIFFERENCE_BEFORE nothing), or in front of it, and
 * named private there (the other way round). */
#define TG_HIT_ELEMENTS(r, c, x, y, sums, apart_)                                                  \
  TG_DIFFERENCE_WITHIN                                                                             \
  if (tg_difference_find(row_orbital + r, row_stride, column_orbital + c, column_stride,           \
                         (int)particles, (int)differ / 2, &f)) {                                   \
    const double weight = (x)[r] * (y)[c];                                                         \
    const size_t apart = (apart_);                                                                 \
    double* to = (sums);                                                                           \
    TG_OPERATORS(TG_ADD_ELEMENT)                                                                   \
  }

/** By atomic updates (TG_ADD_HERE is the directive). */
#define TG_EXPECT_ATOMIC(id, OUTER, MIDDLE, INNER, FLAT)                                           \
  static tg_status id(const tg_expectation* what, void* scratch) {                                 \
    TG_PAIRS_LOCALS(&what->pairs)                                                                  \
    const double *x = what->x, *y = what->y;                                                       \
    const uint32_t m = what->m, size = TG_OPERATOR_COUNT * m;                                      \
    double* sums = what->sums;                                                                     \
    (void)scratch;                                                                                 \
    FLAT(size, sums)                                                                               \
    for (uint32_t b = 0; b < size; b++) sums[b] = 0;                                               \
    OUTER(x, y, sums)                                                                              \
    for (uint32_t r = 0; r < row_count; r++) {                                                     \
      const uint64_t w = row_low[r];                                                               \
      TG_ROW_SPANS                                                                                 \
      MIDDLE                                                                                       \
      for (uint32_t s = first_span; s < last_span; s++) {                                          \
        TG_ROW_SPAN                                                                                \
        TG_DIFFERENCE_BEFORE                                                                       \
        INNER()                                                                                    \
        for (uint32_t c = begin; c < end; c++) {                                                   \
          if ((uint32_t)__builtin_popcountll(w ^ column_low[c]) <= differ) {                       \
            TG_HIT_ELEMENTS(r, c, x, y, sums, 1)                                                   \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/* What a hit of a block (TG_LANE_BLOCK) adds; the lists are compared there and not before. */
#define TG_ANY_PAIR(...) true
#define TG_HIT_ADDS(i, row, column)                                                                \
  { TG_HIT_ELEMENTS(row, column, x, y, sums, 1) }

/** By atomic updates, in blocks of four rows to a thread. */
#define TG_EXPECT_LANES(id, FLAT, ITEMS, parts, LEAST)                                             \
  static tg_status id(const tg_expectation* what, void* scratch) {                                 \
    TG_PAIRS_LOCALS(&what->pairs)                                                                  \
    TG_LANE_LOCALS(parts)                                                                          \
    const double *x = what->x, *y = what->y;                                                       \
    const uint32_t m = what->m, size = TG_OPERATOR_COUNT * m;                                      \
    double* sums = what->sums;                                                                     \
    (void)scratch;                                                                                 \
    FLAT(size, sums)                                                                               \
    for (uint32_t b = 0; b < size; b++) sums[b] = 0;                                               \
    TG_DIFFERENCE_BEFORE                                                                           \
    ITEMS(item_count, TG_PAIRS_POINTERS, x, y, sums)                                               \
    for (uint64_t k = 0; k < item_count; k++) {                                                    \
      TG_LANE_BLOCK(LEAST, TG_ANY_PAIR, TG_LANE_NOTHING, TG_HIT_ADDS, TG_LANE_NOTHING)             \
    }                                                                                              \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

/** In a fixed order: rows p, p + parts, ... belong to part p, and one thread does them
 * (TG_ADD_HERE is empty). */
#define TG_EXPECT_PARTS(id, FLAT, join)                                                            \
  static tg_status id(const tg_expectation* what, void* scratch) {                                 \
    TG_PAIRS_LOCALS(&what->pairs)                                                                  \
    const double *x = what->x, *y = what->y;                                                       \
    const uint32_t m = what->m, size = TG_OPERATOR_COUNT * m;                                      \
    const uint32_t parts = tg_parts_of(row_count, size);                                           \
    double *of_parts = scratch, *of_groups = of_parts + (size_t)size * parts;                      \
    TG_DIFFERENCE_BEFORE                                                                           \
    FLAT(parts, TG_PAIRS_POINTERS, x, y, of_parts)                                                 \
    for (uint32_t p = 0; p < parts; p++) {                                                         \
      for (uint32_t b = 0; b < size; b++) of_parts[(size_t)b * parts + p] = 0;                     \
      for (uint32_t r = p; r < row_count; r += parts) {                                            \
        const uint64_t w = row_low[r];                                                             \
        TG_ROW_SPANS                                                                               \
        for (uint32_t s = first_span; s < last_span; s++) {                                        \
          TG_ROW_SPAN                                                                              \
          for (uint32_t c = begin; c < end; c++) {                                                 \
            if ((uint32_t)__builtin_popcountll(w ^ column_low[c]) <= differ) {                     \
              TG_HIT_ELEMENTS(r, c, x, y, of_parts + p, parts)                                     \
            }                                                                                      \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    join(size, parts, of_parts, of_groups, what->sums);                                            \
    TG_END                                                                                         \
    return TG_OK;                                                                                  \
  }

#endif
