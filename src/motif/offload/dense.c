/* SPDX-License-Identifier: Apache-2.0 */
/* The dense reduction by OpenMP target. */
#include "motif/offload/loops.h"
/* the macros below need the loops' */
#include "motif/directives_dense.h"
#include "motif/offload/table.h"

/* Where a team's sums are joined seldom: see motif/offload/reduce.c. */
#ifdef __clang__
#define LONG_TEAMS(count) dist_schedule(static, tg_offload_piece(count)) thread_limit(128)
#else
#define LONG_TEAMS(count) OMP_TEAMS(tg_offload_on_host() ? 1 : TG_OFFLOAD_TEAMS)
#endif
#define DENSE_SUMS(count, ...)                                                                     \
  TG_PRAGMA(omp target teams distribute parallel for simd LONG_TEAMS(count)                        \
                map(tofrom : __VA_ARGS__) is_device_ptr(p, q, x, y) reduction(+ : __VA_ARGS__))
#define DENSE_CLAUSE(count)                                                                        \
  TG_PRAGMA(omp target teams distribute parallel for LONG_TEAMS(count) map(tofrom : sums)          \
                is_device_ptr(p, q, x, y) reduction(+ : sums))

TG_JOIN_PARTS(join, OMP_FLAT)
TG_DENSE_ATOMIC(atomic, OMP_FLAT, OMP_ITEMS, OMP_ADD)
TG_DENSE_PRIVATE(private_atomic, OMP_FLAT, OMP_BLOCKS, SIMD_INNER, OMP_ADD)
TG_DENSE_SCALARS(scalars, DENSE_SUMS, &tg_offload_memory)
TG_DENSE_CHUNKS(chunks, OMP_ITEMS, join)
TG_DENSE_CLAUSE(clause_8, DENSE_CLAUSE, 8, &tg_offload_memory)
TG_DENSE_CLAUSE(clause_16, DENSE_CLAUSE, 16, &tg_offload_memory)
TG_DENSE_CLAUSE(clause_32, DENSE_CLAUSE, 32, &tg_offload_memory)
TG_DENSE_CLAUSE(clause_64, DENSE_CLAUSE, 64, &tg_offload_memory)
TG_DENSE_CLAUSE(clause_128, DENSE_CLAUSE, 128, &tg_offload_memory)
TG_DENSE_CLAUSE(clause_256, DENSE_CLAUSE, 256, &tg_offload_memory)

static tg_status clause(const tg_dense* what) {
  const uint32_t m = what->m;
  if (m <= 8) return clause_8(what);
  if (m <= 16) return clause_16(what);
  if (m <= 32) return clause_32(what);
  if (m <= 64) return clause_64(what);
  return m <= 128 ? clause_128(what) : clause_256(what);
}

const tg_dense_version tg_offload_denses[] = {
    {"clause", false, tg_refuse_clause, NULL, clause},
    {"atomic", false, NULL, NULL, atomic},
    {"private atomic", false, tg_refuse_private, NULL, private_atomic},
    {"scalars", false, tg_refuse_scalars, NULL, scalars},
    {"chunks", true, NULL, tg_dense_chunk_bytes, chunks},
    {NULL, false, NULL, NULL, NULL},
};
