/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/acc/loops.h  The directives of OpenACC for the loops of motif/directives.h.
 *
 * A row is a gang's, its columns are shared out over the gang's workers and vector lanes; GCC makes
 * a gang a thread block of num_workers warps. Where gangs are not given it launches thousands,
 * which alone takes 50 us, so loops over n items say how many they need. Regions are waited for: on
 * an H200 a region takes 27 us so, but 72 us queued (async). */
#ifndef TG_MOTIF_ACC_LOOPS_H
#define TG_MOTIF_ACC_LOOPS_H

#include "motif/directives.h"

/* Before motif/compare.h and motif/operators.h: what makes their functions callable. */
#define TG_ROUTINE TG_PRAGMA(acc routine seq) static inline
#define TG_INLINE TG_ROUTINE

#define ACC_OUTER(...)                                                                             \
  TG_PRAGMA(acc parallel loop gang num_workers(8) vector_length(32)                                \
                deviceptr(TG_PAIRS_POINTERS, __VA_ARGS__))
#define ACC_MIDDLE TG_PRAGMA(acc loop seq)
#define ACC_INNER(...) TG_PRAGMA(acc loop worker vector __VA_ARGS__)
#define ACC_FLAT(count, ...)                                                                       \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) deviceptr(__VA_ARGS__))
#define ACC_BLOCKS(count, ...)                                                                     \
  TG_PRAGMA(acc parallel loop gang num_gangs(count) num_workers(8) vector_length(32)               \
                deviceptr(__VA_ARGS__))
/* One thread: `acc serial` would do, but GCC warns at each that a warp has 32 lanes. */
#define ACC_SERIAL(...)                                                                            \
  TG_PRAGMA(acc parallel num_gangs(1) num_workers(1) vector_length(32) deviceptr(__VA_ARGS__))

/* A level of the sweep, queued behind the one before on an asynchronous queue. */
#define ACC_LEVEL(count, ...)                                                                      \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) async(1) deviceptr(__VA_ARGS__))
#define ACC_JOIN TG_PRAGMA(acc wait(1))
#define ACC_ADD TG_PRAGMA(acc atomic update)
#define ACC_CAPTURE TG_PRAGMA(acc atomic capture)

/* Parts of rows (motif/directives_blocks.h), none on the host, where it is a thread's alone. */
#define ACC_PARTS (tg_acc_on_host() ? 1 : tg_parts_for(group_count, column_count))

#include "motif/acc/table.h"
#include "motif/compare.h"

#endif
