/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/nvshmem/gpu.h  What the transport nvshmem asks of CUDA and NVSHMEM; nothing here
 * talks to other processes but where it says *collective*, and nothing has a deadline but the
 * store and the fetch.
 *
 * gpu.cu does it; where NVSHMEM is not built in, ../none/gpu.c answers so. Addresses are of device
 * memory, streams are cudaStream_t. The calling thread's current device is put back by all. */
#ifndef TG_COMM_NVSHMEM_GPU_H
#define TG_COMM_NVSHMEM_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_NVSHMEM_ID_BYTES = 128, TG_GPU_UUID_BYTES = 16 };

/** What the PEs of one NVSHMEM have in common. */
typedef struct tg_nvshmem_id {
  unsigned char bytes[TG_NVSHMEM_ID_BYTES];
} tg_nvshmem_id;

/** A PE's own tools on its GPU: a stream of its own that waits for no other, and pinned room for
 * what is fetched. */
typedef struct tg_gpu_link {
  int device;
  void* stream;
  bool own_stream; /* stream was made here, not the caller's */
  void* side;      /* the other stream, for fetches and alarms */
  uint64_t* room;  /* [room_words] pinned */
  uint64_t* one;   /* pinned: 1, for alarms */
  size_t room_words;
} tg_gpu_link;

/** What tells one GPU of the world from all others: [TG_GPU_UUID_BYTES]; and its PCI address. */
tg_status tg_gpu_identity(int device, unsigned char* uuid, char* bus, size_t bus_bytes);
/** TG_ERR_INPUT where stream is not one of that device. stream NULL: makes one. */
tg_status tg_gpu_link_open(int device, void* stream, tg_gpu_link* out);
/** Room for so many words; may wait for all work of the device. */
tg_status tg_gpu_link_reserve(tg_gpu_link* link, size_t words);
/** Accepts a zeroed or half-opened one. */
void tg_gpu_link_close(tg_gpu_link* link);
/** *done: whether all work queued on the stream is done. */
tg_status tg_gpu_stream_query(const tg_gpu_link* link, bool* done);

/** A fresh id, for one PE to make and to hand to all. */
tg_status tg_nvshmem_id_make(tg_nvshmem_id* out);
/** Collective, once per process: starts NVSHMEM on this device. */
tg_status tg_nvshmem_start(const tg_nvshmem_id* id, int pe, int pe_count, int device);

/** Collective: bytes of zeroed symmetric memory; TG_ERR_MACHINE where NVSHMEM has none left. */
tg_status tg_nvshmem_allocate(int device, size_t bytes, void** out);
/** Collective. */
void tg_nvshmem_free(int device, void* block);
/** Bytes that are free on the device. */
tg_status tg_gpu_free_bytes(int device, size_t* out);
/** Where the block of a PE can be loaded and stored by kernels here; NULL: nowhere. */
void* tg_nvshmem_reach(void* block, int pe);

/** Queues on the stream: data (of this device, or symmetric) to the place `to` has in the memory of
 * pe, then signal (an address here) there. bytes 0: only the signal. add: added, else set. Before
 * the signal, all that this PE put into pe by this stream has arrived. */
tg_status tg_nvshmem_put(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                         uint64_t* signal, bool add, uint64_t value, int pe);
/** Queues on the stream: data to the place `to` has in the memory of pe. */
tg_status tg_nvshmem_put_only(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                              int pe);
/** Queues on the side stream: sets the signal of pe to 1. Within reach this is a copy, for there
 * may be no room for a kernel beside those that spin. */
tg_status tg_nvshmem_alarm(const tg_gpu_link* link, uint64_t* signal, int pe);

/** True where data lies on a GPU or in managed memory. */
bool tg_gpu_holds(const void* data);
/** Copies to this device, from the host or from it, and waits for the copy and for all that was
 * queued on the stream before it (deadline_s). */
tg_status tg_gpu_store(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                       double deadline_s);
/** Copies words from this device to link->room, beside the stream; waits deadline_s at most. */
tg_status tg_gpu_fetch(tg_gpu_link* link, const void* from, size_t words, double deadline_s);

#ifdef __cplusplus
}
#endif
#endif
