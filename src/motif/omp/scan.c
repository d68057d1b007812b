/* SPDX-License-Identifier: Apache-2.0 */
/* Scans on the host's threads, each for three pairs of types: SCANS defines them all.
 *
 *   serial       one sum, carried along
 *   sweep        inclusive, in place behind out[0]: up a binary tree, where element i of a level
 *                adds the one a stride below it, then down, where the elements between do. The
 *                elements that have no partner are left out, so any length will do (R. P. Brent and
 *                H. T. Kung, IEEE Trans. Comput. C-31, 260 (1982))
 *   single_pass  threads take chunks in turn: sum a chunk, which stays in the cache; add it to the
 *                carry, in order; write the chunk
 *   two_pass     sums of one part per thread; then each part again
 *   omp_scan     the scan directive of OpenMP 5 */
#include <string.h>

#include "motif/omp/parts.h"
#include "motif/omp/table.h"

enum { CHUNK = 8192 };

static size_t least_of(size_t a, size_t b) { return a < b ? a : b; }

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" /* a temporary of its own, in omp_scan */
#endif

#define PRAGMA(words) _Pragma(#words)
#define PARALLEL_FOR(clauses) PRAGMA(omp parallel for num_threads(threads) clauses)

/* sum_x: of a range; write_x: the sums behind each of a range, that before it being given. */
#define RANGES(x, in_type, out_type)                                                               \
  static out_type sum_##x(const in_type* in, size_t begin, size_t end) {                           \
    out_type sum = 0;                                                                              \
    for (size_t i = begin; i < end; i++) sum += in[i];                                             \
    return sum;                                                                                    \
  }                                                                                                \
  static void write_##x(const in_type* in, size_t begin, size_t end, out_type sum,                 \
                        out_type* out) {                                                           \
    for (size_t i = begin; i < end; i++) {                                                         \
      sum += in[i];                                                                                \
      out[i + 1] = sum;                                                                            \
    }                                                                                              \
  }

#define SERIAL(x, in_type, out_type)                                                               \
  static tg_status serial_##x(size_t count, const in_type* in, out_type* out, void* scratch,       \
                              int threads) {                                                       \
    (void)scratch;                                                                                 \
    (void)threads;                                                                                 \
    out[0] = 0;                                                                                    \
    write_##x(in, 0, count, 0, out);                                                               \
    return TG_OK;                                                                                  \
  }

#define SWEEP(x, in_type, out_type)                                                                \
  static tg_status sweep_##x(size_t count, const in_type* in, out_type* out, void* scratch,        \
                             int threads) {                                                        \
    (void)scratch;                                                                                 \
    (void)threads;                                                                                 \
    out_type* at = out + 1;                                                                        \
    size_t stride = 1;                                                                             \
    out[0] = 0;                                                                                    \
    PARALLEL_FOR(schedule(static)) for (size_t i = 0; i < count; i++) at[i] = in[i];               \
    for (; 2 * stride <= count; stride *= 2) {                                                     \
      PARALLEL_FOR(schedule(static))                                                               \
      for (size_t i = 2 * stride - 1; i < count; i += 2 * stride) at[i] += at[i - stride];         \
    }                                                                                              \
    for (; stride >= 1; stride /= 2) {                                                             \
      PARALLEL_FOR(schedule(static))                                                               \
      for (size_t i = 3 * stride - 1; i < count; i += 2 * stride) at[i] += at[i - stride];         \
    }                                                                                              \
    return TG_OK;                                                                                  \
  }

#define SINGLE_PASS(x, in_type, out_type)                                                          \
  static tg_status single_pass_##x(size_t count, const in_type* in, out_type* out, void* scratch,  \
                                   int threads) {                                                  \
    (void)scratch;                                                                                 \
    (void)threads;                                                                                 \
    out_type carry = 0;                                                                            \
    out[0] = 0;                                                                                    \
    PARALLEL_FOR(ordered schedule(static, 1))                                                      \
    for (size_t begin = 0; begin < count; begin += CHUNK) {                                        \
      const size_t end = least_of(begin + CHUNK, count);                                           \
      const out_type sum = sum_##x(in, begin, end);                                                \
      out_type before = 0;                                                                         \
      PRAGMA(omp ordered) {                                                                        \
        before = carry;                                                                            \
        carry += sum;                                                                              \
      }                                                                                            \
      write_##x(in, begin, end, before, out);                                                      \
    }                                                                                              \
    return TG_OK;                                                                                  \
  }

#define TWO_PASS(x, in_type, out_type)                                                             \
  tg_status tg_omp_two_pass_##x(size_t count, const in_type* in, out_type* out, void* scratch,     \
                                int threads) {                                                     \
    (void)scratch;                                                                                 \
    const int parts = part_count(count, threads);                                                  \
    out_type before[MOST_PARTS + 1] = {0};                                                         \
    PRAGMA(omp parallel for schedule(static, 1) num_threads(parts))                                \
    for (int p = 0; p < parts; p++)                                                                \
      before[p + 1] = sum_##x(in, part_begin(count, p, parts), part_begin(count, p + 1, parts));   \
    for (int p = 0; p < parts; p++) before[p + 1] += before[p];                                    \
    out[0] = 0;                                                                                    \
    PRAGMA(omp parallel for schedule(static, 1) num_threads(parts))                                \
    for (int p = 0; p < parts; p++)                                                                \
      write_##x(in, part_begin(count, p, parts), part_begin(count, p + 1, parts), before[p], out); \
    return TG_OK;                                                                                  \
  }

#define OMP_SCAN(x, in_type, out_type)                                                             \
  static tg_status omp_scan_##x(size_t count, const in_type* in, out_type* out, void* scratch,     \
                                int threads) {                                                     \
    (void)scratch;                                                                                 \
    (void)threads;                                                                                 \
    out_type sum = 0;                                                                              \
    out[0] = 0;                                                                                    \
    if (count == 0) return TG_OK; /* GCC 12 reads an array it has not made */                      \
    PARALLEL_FOR(reduction(inscan, + : sum))                                                       \
    for (size_t i = 0; i < count; i++) {                                                           \
      out[i] = sum;                                                                                \
      PRAGMA(omp scan exclusive(sum))                                                              \
      sum += in[i];                                                                                \
    }                                                                                              \
    out[count] = sum;                                                                              \
    return TG_OK;                                                                                  \
  }

#define SCANS(x, in_type, out_type)                                                                \
  RANGES(x, in_type, out_type)                                                                     \
  SERIAL(x, in_type, out_type)                                                                     \
  SWEEP(x, in_type, out_type)                                                                      \
  SINGLE_PASS(x, in_type, out_type)                                                                \
  TWO_PASS(x, in_type, out_type)                                                                   \
  OMP_SCAN(x, in_type, out_type)

SCANS(u32, uint32_t, uint32_t)
SCANS(u64, uint64_t, uint64_t)
SCANS(offsets, uint32_t, uint64_t)

const tg_scan_version tg_omp_scans[] = {
    {"serial", NULL, NULL, serial_u32, serial_u64, serial_offsets},
    {"sweep", NULL, NULL, sweep_u32, sweep_u64, sweep_offsets},
    {"single_pass", NULL, NULL, single_pass_u32, single_pass_u64, single_pass_offsets},
    {"two_pass", NULL, NULL, tg_omp_two_pass_u32, tg_omp_two_pass_u64, tg_omp_two_pass_offsets},
    {"omp_scan", NULL, NULL, omp_scan_u32, omp_scan_u64, omp_scan_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
