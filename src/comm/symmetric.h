/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/symmetric.h  Symmetric memory: the same number of bytes on every PE, which the others
 * may store into, and signals that say when they have.
 *
 * A *signal* is a 64-bit counter that only rises; it starts at 0 and is never reset. The order of
 * things, with one writer per signal:
 *
 *   | step | writer                                       | reader                                |
 *   |------|----------------------------------------------|---------------------------------------|
 *   | 1    | stores data into the reader's memory         |                                       |
 *   | 2    | raises the reader's signal to n (release)    | waits for signal >= n (acquire)       |
 *   | 3    |                                              | reads the data                        |
 *   | 4    | waits for the reader's word that it is done  | raises a signal of the writer         |
 *   | 5    | may store again                              |                                       |
 *
 * Steps 4 and 5 are the caller's business: nothing here knows when data have been read. Where
 * tg_symmetric_peer gives a pointer, step 1 may be plain stores through it; elsewhere (mpi, between
 * nodes) tg_symmetric_put sends a message that the reader's waits and reads of signals take in.
 * Memory is asked for once, by capacity; it is not meant to be created in a loop.
 *
 * In a world of transport nvshmem the memory and the signals lie on the GPUs: pointers are for
 * kernels and copies, not for loads and stores of the host. tg_symmetric_put and
 * tg_symmetric_signal are queued on the world's stream (tg_world_device), after what is there, and
 * return; reads and waits of signals are done by the host, beside the stream. Kernels may store
 * through tg_symmetric_peer and raise signals themselves (tg_symmetric_signals). */
#ifndef TG_COMM_SYMMETRIC_H
#define TG_COMM_SYMMETRIC_H

#include "comm/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_symmetric tg_symmetric;

typedef enum tg_signal_op { TG_SIGNAL_SET, TG_SIGNAL_ADD } tg_signal_op;

/** Collective: bytes (the same on all PEs, else TG_ERR_INTERNAL) of zeroed memory, aligned to a
 * cache line, and signal_count signals at 0, on every PE. */
tg_status tg_symmetric_create(tg_world* world, size_t bytes, int signal_count, tg_symmetric** out);
/** Local, null-safe, sets NULL. The memory stays until every PE has destroyed its part (loop),
 * until the next tg_symmetric_create after that, or the end of the world (mpi, nvshmem): a PE that
 * is behind may still store into it. To be called before the world ends. */
void tg_symmetric_destroy(tg_symmetric** symmetric);

/** This PE's memory. */
void* tg_symmetric_local(const tg_symmetric* symmetric);
/** The memory of a PE (or this one) for loads and stores; NULL where only messages reach it. */
void* tg_symmetric_peer(const tg_symmetric* symmetric, int pe);
/** This PE's first signal; *stride: bytes from one to the next, at least a cache line. A signal of
 * a PE in reach lies as far from tg_symmetric_peer as this PE's from tg_symmetric_local. */
uint64_t* tg_symmetric_signals(const tg_symmetric* symmetric, size_t* stride);

/** Local: stores bytes at offset in the memory of pe, then signals it. data is free on return.
 * nvshmem: data on the PE's GPU are read in the stream's order, and may be written again by what is
 * queued there later. Data on the host, and data on the GPU outside symmetric memory for a PE that
 * is out of reach, are slow: they wait for what is queued on the stream before. */
tg_status tg_symmetric_put(tg_symmetric* symmetric, int pe, size_t offset, const void* data,
                           size_t bytes, int signal, tg_signal_op op, uint64_t value);
/** Local: sets a signal of pe to value, or adds value to it, after (release) all that this PE
 * stored there before. */
tg_status tg_symmetric_signal(tg_symmetric* symmetric, int pe, int signal, tg_signal_op op,
                              uint64_t value);

/** Local: the value of one of this PE's signals (acquire). */
uint64_t tg_symmetric_read(tg_symmetric* symmetric, int signal);

/** One signal being waited for, and the PE that will raise it (for the message of a deadline). */
typedef struct tg_symmetric_source {
  int signal;
  int pe;
} tg_symmetric_source;

/** Local: returns when this PE's signal is >= value (acquire). Ends with the abort's status when
 * the world is aborted, and with TG_ERR_MACHINE, which aborts the world, at the deadline: the
 * message says who waited for whom, for what (tg_world_note), and both values. */
tg_status tg_symmetric_wait(tg_symmetric* symmetric, tg_symmetric_source source, uint64_t value);
/** As tg_symmetric_wait for the first of several; *which: its place in sources. */
tg_status tg_symmetric_wait_any(tg_symmetric* symmetric, const tg_symmetric_source* sources,
                                int count, uint64_t value, int* which);

/** Transport nvshmem, else NULL: memory of the world itself, with room for TG_ALARM_BYTES and one
 * signal, the *alarm*: 0, and not 0 for ever once a PE has given up. An abort of the world raises
 * it on every PE. A kernel that spins looks at its own PE's (a relaxed load will do); one that
 * gives up stores 1 into all PEs'. The bytes are the caller's, for a record of why, say. A PE whose
 * kernel gave up by itself is to call tg_world_abort with the reason. */
tg_symmetric* tg_world_alarm(const tg_world* world);
/** Local, for a PE whose kernel ended because of the alarm: the status and the words of the abort,
 * which may come a moment later than the alarm. TG_OK where nobody has given up. */
tg_status tg_world_heed_alarm(tg_world* world);

enum { TG_ALARM_BYTES = 1024 };

#ifdef __cplusplus
}
#endif
#endif
