/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce by OpenMP target. */
#include <string.h>

#include "motif/offload/loops.h"
/* the macros below need the loops' */
#include "motif/directives_sums.h"
#include "motif/offload/table.h"

/* Clang joins the sums of a team after each piece that `distribute` hands out, and these are of one
 * item for each thread unless their length is given. */
#ifdef __clang__
#define PIECES(count) dist_schedule(static, tg_offload_piece(count)) thread_limit(128)
#else
#define PIECES(count)
#endif
#define FLAT_SUMS(count, ...)                                                                      \
  TG_PRAGMA(omp target teams distribute parallel for simd PIECES(count)                            \
                map(tofrom : __VA_ARGS__) is_device_ptr(bins, values) reduction(+ : __VA_ARGS__))

TG_JOIN_PARTS(join, OMP_FLAT)
TG_REDUCE_ATOMIC(atomic, OMP_FLAT, OMP_ADD)
TG_REDUCE_PRIVATE(private_atomic, OMP_FLAT, OMP_BLOCKS, SIMD_INNER, OMP_ADD)
TG_REDUCE_SCALARS(scalars, FLAT_SUMS, &tg_offload_memory)
TG_REDUCE_CHUNKS(chunks, OMP_FLAT, join)

/* The clause with an array of fixed length: Clang has no arrays of variable length on a device. */
#define CLAUSE(length)                                                                             \
  static tg_status clause_##length(const tg_reduction* what) {                                     \
    TG_BEGIN(what->threads)                                                                        \
    const size_t count = what->count;                                                              \
    const uint32_t* bins = what->bins;                                                             \
    const double* values = what->values;                                                           \
    double sums[length] = {0};                                                                     \
    TG_PRAGMA(omp target teams distribute parallel for PIECES(count) map(tofrom : sums)            \
                  is_device_ptr(bins, values) reduction(+ : sums))                                 \
    for (size_t i = 0; i < count; i++) sums[bins[i]] += values[i];                                 \
    TG_END                                                                                         \
    return tg_offload_memory.upload(what->sums, sums, what->m * sizeof *sums);                     \
  }
CLAUSE(8)
CLAUSE(64)
CLAUSE(256)

static tg_status clause(const tg_reduction* what) {
  if (what->m <= 8) return clause_8(what);
  return what->m <= 64 ? clause_64(what) : clause_256(what);
}

const tg_reduce_version tg_offload_reduces[] = {
    {"clause", false, tg_refuse_clause, NULL, clause},
    {"atomic", false, NULL, NULL, atomic},
    {"private atomic", false, tg_refuse_private, NULL, private_atomic},
    {"scalars", false, tg_refuse_scalars, NULL, scalars},
    {"chunks", true, NULL, tg_reduce_chunk_bytes, chunks},
    {NULL, false, NULL, NULL, NULL},
};
