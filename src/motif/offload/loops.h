/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/offload/loops.h  The directives of OpenMP target for the loops of
 * motif/directives.h, in four forms:
 *
 *   prescriptive  teams distribute, then parallel for: what runs where is said
 *   simd          the same with parallel for simd: the lanes are said as well
 *   loop          loop and loop: that the iterations are independent is said, no more
 *   bind          loop bind(teams), then parallel loop bind(parallel): where they run is said
 * again. Neither GCC 12 nor Clang 19 accepts an inner loop bind(parallel) without parallel.
 *
 * What the compilers make of them, and why they differ by a factor of thirty: docs/compilers.md. */
#ifndef TG_MOTIF_OFFLOAD_LOOPS_H
#define TG_MOTIF_OFFLOAD_LOOPS_H

/* Before motif/compare.h and motif/operators.h. Functions of a unit that its target regions call
 * are the device's as well without a word. */
#define TG_ROUTINE static inline
#define TG_INLINE TG_ROUTINE

#define TG_BEGIN(threads) const int threads_before = tg_offload_use_threads(threads);
#define TG_END tg_offload_restore_threads(threads_before);

#include "motif/directives.h"
#include "motif/offload/table.h"

#define OMP_POINTERS(...) is_device_ptr(TG_PAIRS_POINTERS, __VA_ARGS__)
#define OMP_MIDDLE

#define PRESCRIPTIVE_OUTER(...) TG_PRAGMA(omp target teams distribute OMP_POINTERS(__VA_ARGS__))
#define PRESCRIPTIVE_INNER(...) TG_PRAGMA(omp parallel for __VA_ARGS__)

#define SIMD_OUTER(...) PRESCRIPTIVE_OUTER(__VA_ARGS__)
#define SIMD_INNER(...) TG_PRAGMA(omp parallel for simd __VA_ARGS__)

#define LOOP_OUTER(...) TG_PRAGMA(omp target teams loop OMP_POINTERS(__VA_ARGS__))
#define LOOP_INNER(...) TG_PRAGMA(omp loop __VA_ARGS__)

#define BIND_OUTER(...) TG_PRAGMA(omp target teams loop bind(teams) OMP_POINTERS(__VA_ARGS__))
#define BIND_INNER(...) TG_PRAGMA(omp parallel loop bind(parallel) __VA_ARGS__)

/* GCC gives a team eight warps, and each warp 128 KiB of stack, allocated anew for each region if
 * that is more than 128 MiB together. So there are 128 teams where items are long, and fewer where
 * they are short. Clang's run-time library makes a team of one warp where iterations are few, and
 * such teams leave three of a processor's four schedulers idle, unless the team's size is given. */
#ifdef __clang__
#define OMP_TEAMS(teams) thread_limit(128)
#define OMP_TEAMS_QUEUED(teams) /* with nowait, a limit stops libomp 19 on the host */
#else
#define OMP_TEAMS(teams) num_teams(teams)
#define OMP_TEAMS_QUEUED OMP_TEAMS
#endif
#define OMP_FLAT(count, ...)                                                                       \
  TG_PRAGMA(omp target teams distribute parallel for simd OMP_TEAMS(tg_offload_teams(count))       \
                is_device_ptr(__VA_ARGS__))
#define OMP_ITEMS(count, ...)                                                                      \
  TG_PRAGMA(omp target teams distribute parallel for simd                                          \
                OMP_TEAMS(tg_offload_on_host() ? 1 : TG_OFFLOAD_TEAMS) is_device_ptr(__VA_ARGS__))
#define LOOP_FLAT(count, ...)                                                                      \
  TG_PRAGMA(omp target teams loop OMP_TEAMS(tg_offload_on_host() ? 1 : TG_OFFLOAD_TEAMS)           \
                is_device_ptr(__VA_ARGS__))
#define OMP_BLOCKS(count, ...) TG_PRAGMA(omp target teams distribute is_device_ptr(__VA_ARGS__))
#define OMP_SERIAL(...) TG_PRAGMA(omp target is_device_ptr(__VA_ARGS__))
#define OMP_ADD TG_PRAGMA(omp atomic update)
#define OMP_CAPTURE TG_PRAGMA(omp atomic capture)

/* Parts of rows (motif/directives_blocks.h), none on the host, where it is a thread's alone. */
#define OMP_PARTS (tg_offload_on_host() ? 1 : tg_parts_for(group_count, column_count))

/* A level of the sweep on a GPU: queued behind the one before, the twin of OpenACC's async. They
 * all depend on the variable out. Queued outside of a parallel region, GCC 12 makes a team of its
 * own for it, after which a later parallel region may hang; so there is one, of one thread. */
#define OMP_QUEUE TG_PRAGMA(omp parallel num_threads(1))
#define OMP_LEVEL(count, ...)                                                                      \
  TG_PRAGMA(omp target teams distribute parallel for simd                                          \
                OMP_TEAMS_QUEUED(tg_offload_teams(count)) nowait                                   \
                depend(inout : out) firstprivate(stride) is_device_ptr(__VA_ARGS__))
#define OMP_JOIN TG_PRAGMA(omp taskwait)

#include "motif/compare.h"

#endif
