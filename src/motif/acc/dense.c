/* SPDX-License-Identifier: Apache-2.0 */
/* The dense reduction by OpenACC. `clause` is in the list to be named: GCC 12 and its successors so
 * far do not compile a reduction clause with an array (12 stops with an internal error). */
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_dense.h"

#define DENSE_SUMS(count, ...)                                                                     \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) copy(__VA_ARGS__) deviceptr(p, q, x, y)                          \
                reduction(+ : __VA_ARGS__))

TG_JOIN_PARTS(join, ACC_FLAT)
TG_DENSE_ATOMIC(atomic, ACC_FLAT, ACC_FLAT, ACC_ADD)
TG_DENSE_PRIVATE(private_atomic, ACC_FLAT, ACC_BLOCKS, ACC_INNER, ACC_ADD)
TG_DENSE_SCALARS(scalars, DENSE_SUMS, &tg_acc_memory)
TG_DENSE_CHUNKS(chunks, ACC_FLAT, join)

static const char* refuses_clause(uint32_t m) {
  (void)m;
  return "GCC's OpenACC does not compile a reduction clause with an array";
}
const tg_dense_version tg_acc_denses[] = {
    {"clause", false, refuses_clause, NULL, NULL},
    {"atomic", false, NULL, NULL, atomic},
    {"private atomic", false, tg_refuse_private, NULL, private_atomic},
    {"scalars", false, tg_refuse_scalars, NULL, scalars},
    {"chunks", true, NULL, tg_dense_chunk_bytes, chunks},
    {NULL, false, NULL, NULL, NULL},
};
