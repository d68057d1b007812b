/* SPDX-License-Identifier: Apache-2.0 */
/** @file world.h  A set of processing elements (PEs), for callers that bring their own MPI.
 *
 * The library neither initialises nor finalises MPI. A call is *collective* when every PE must make
 * it, in the same order; a failure in a collective call is the same on all PEs. */
#ifndef THRONG_WORLD_H
#define THRONG_WORLD_H

#include <stddef.h>
#include <throng/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_world tg_world;

/** Collective over the communicator: makes a world of its processes; it is duplicated, so that its
 * messages never meet the caller's. communicator: points to an MPI_Comm; NULL: this thread alone,
 * without MPI. deadline_s: seconds that a wait may last; 0: 60. */
tg_status tg_world_open_communicator(const void* communicator, double deadline_s, tg_world** out);
/** As tg_world_open_communicator with a Fortran communicator. */
tg_status tg_world_open_fortran(int communicator, double deadline_s, tg_world** out);
/** As tg_world_open_communicator, a GPU for each process, whose memory the others reach through
 * NVSHMEM (transport nvshmem). communicator: NULL: MPI_COMM_WORLD, or transport socket where its
 * environment is set. device: points to the number of this process's GPU; NULL: chosen. stream: a
 * cudaStream_t of that GPU, which outlives the world; NULL: makes one. */
tg_status tg_world_open_gpu(const void* communicator, double deadline_s, const int* device,
                            void* stream, tg_world** out);
/** Collective, null-safe, sets NULL: agrees on the outcome. status is this PE's; returned is the
 * failure that counts, the same on all PEs, or TG_OK. */
tg_status tg_world_close(tg_world** world, tg_status status);

/** The number of this PE, from 0, and how many there are. */
int tg_world_pe(const tg_world* world);
int tg_world_pe_count(const tg_world* world);

/** Collective: values[count] become the sum over PEs, added in PE order (bit-reproducible), the
 * same on every PE. */
tg_status tg_world_sum_doubles(tg_world* world, double* values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
