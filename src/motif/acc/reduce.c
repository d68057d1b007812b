/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce by OpenACC. There is no version `clause`: GCC 12 and its successors so far do not compile
 * a reduction clause with an array (12 stops with an internal error). */
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_sums.h"

enum { MOST_SCALARS = 512 };

#define FLAT_SUMS(count, ...)                                                                      \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) copy(__VA_ARGS__) deviceptr(bins, values)                        \
                reduction(+ : __VA_ARGS__))

TG_JOIN_PARTS(join, ACC_FLAT)
TG_REDUCE_ATOMIC(atomic, ACC_FLAT, ACC_ADD)
TG_REDUCE_PRIVATE(private_atomic, ACC_FLAT, ACC_BLOCKS, ACC_INNER, ACC_ADD)
TG_REDUCE_SCALARS(scalars, FLAT_SUMS, &tg_acc_memory)
TG_REDUCE_CHUNKS(chunks, ACC_FLAT, join)

static size_t scratch_chunks(size_t count, uint32_t m, int threads) {
  (void)threads;
  return tg_parts_bytes(count, m);
}
static const char* refuses_scalars(uint32_t m) {
  return m > MOST_SCALARS ? "more than 512 scalars, at eight in a pass" : NULL;
}

static const char* refuses_private(uint32_t m) {
  return m > TG_PRIVATE_SUMS ? "more than 256 sums for a team" : NULL;
}

const tg_reduce_version tg_acc_reduces[] = {
    {"atomic", false, NULL, NULL, atomic},
    {"private atomic", false, refuses_private, NULL, private_atomic},
    {"scalars", false, refuses_scalars, NULL, scalars},
    {"chunks", true, NULL, scratch_chunks, chunks},
    {NULL, false, NULL, NULL, NULL},
};
