/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce by OpenACC. There is no version `clause`: GCC 12 and its successors so far do not compile
 * a reduction clause with an array (12 stops with an internal error). */
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_sums.h"

#define FLAT_SUMS(count, ...)                                                                      \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) copy(__VA_ARGS__) deviceptr(bins, values)                        \
                reduction(+ : __VA_ARGS__))

TG_JOIN_PARTS(join, ACC_FLAT)
TG_REDUCE_ATOMIC(atomic, ACC_FLAT, ACC_ADD)
TG_REDUCE_PRIVATE(private_atomic, ACC_FLAT, ACC_BLOCKS, ACC_INNER, ACC_ADD)
TG_REDUCE_SCALARS(scalars, FLAT_SUMS, &tg_acc_memory)
TG_REDUCE_CHUNKS(chunks, ACC_FLAT, join)

const tg_reduce_version tg_acc_reduces[] = {
    {"atomic", false, NULL, NULL, atomic},
    {"private atomic", false, tg_refuse_private, NULL, private_atomic},
    {"scalars", false, tg_refuse_scalars, NULL, scalars},
    {"chunks", true, NULL, tg_reduce_chunk_bytes, chunks},
    {NULL, false, NULL, NULL, NULL},
};
