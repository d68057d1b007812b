/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The kernels of path put: the protocol of throng/device/halo.cuh where no store reaches the other
 * PE's memory, and NVSHMEM's put-with-signal carries a message and its flag.
 *
 * A symmetric address names the same place on every PE, and the layout is the same on every PE: so
 * slice c of a receiver, its flag c and an owner's f_in are named by this PE's own addresses of
 * them. The blocks of a channel pack into `packed`; the last of them puts the message, as a whole
 * block: across a network one block is enough, and the signal arrives after its data.
 *
 * When may the source of a put be overwritten? A put that is not waited for may still be reading
 * it. But its signal comes after its data, so whoever learns that the signal was seen knows that
 * the source was read:
 *
 *   | source          | next written              | which follows                                    |
 *   |-----------------|---------------------------|--------------------------------------------------|
 *   | packed, forces  | positions of n + 1        | the wait for f_flag >= n (forces of n)           |
 *   |  return         |                           |                                                  |
 *   | packed, none do | positions of n + 1        | the wait for consumed >= n, before packing       |
 *   | packed, pushed  | by the caller's kernel,   | a quiet at the end of the kernel that put it     |
 *   |  and none do    | which waits for nothing   |                                                  |
 *   | slice of f      | by the caller, once x of  | the owner's positions of n + 1, which it sends   |
 *   |                 | n + 1 has arrived         | after its wait for f_flag >= n                   |
 *
 * In its first row the receiver raises f_flag = n after its wait for x_flag >= n. Launch shape:
 * blockIdx.y is the channel (from first_channel on), blockIdx.x shares its atoms. Bound by the
 * latency of a put. */
/* clang-format on */
#ifndef TG_HALO_NVSHMEM_PUT_CUH
#define TG_HALO_NVSHMEM_PUT_CUH

#include <nvshmem.h>
#include <nvshmemx.h>
#include <throng/device/halo.cuh>

#include "halo/cuda/tree.cuh"

enum { TG_PUT_THREADS = 256 };

/* One thread: tells the PEs that no store reaches. */
template <typename T>
static __device__ void tg_put_alarm(const tg_halo_port<T>* port) {
  for (int pe = 0; pe < port->pe_count; pe++)
    if (!port->abort_of[pe]) nvshmem_uint_p(port->abort, 1u, pe);
}

/* The whole block, as tg_halo_wait_block. */
template <typename T>
static __device__ bool tg_put_wait(const tg_halo_port<T>* port, uint64_t* flag, uint64_t wanted,
                                   int awaited, int channel, int kind) {
  int failed = 0;
  if (threadIdx.x == 0) {
    failed = !tg_halo_wait_thread(port, flag, wanted, awaited, channel, kind);
    if (failed)
      tg_put_alarm(port);
    else /* ends at once; makes what a network card has written visible where that takes more */
      nvshmem_signal_wait_until(flag, NVSHMEM_CMP_GE, wanted);
  }
  return !__syncthreads_or(failed);
}

/* The whole block: bytes to the place `to` has at PE pe, then number into its flag. */
static __device__ void tg_put_message(void* to, const void* from, size_t bytes, uint64_t* flag,
                                      uint64_t number, int pe) {
  if (bytes)
    nvshmemx_putmem_signal_nbi_block(to, from, bytes, flag, number, NVSHMEM_SIGNAL_SET, pe);
  else if (threadIdx.x == 0)
    nvshmemx_signal_op(flag, number, NVSHMEM_SIGNAL_SET, pe);
}

/* A row of blocks is done with preparing a message: true in all threads of the last block, which is
 * to put it. sent: NULL, or becomes number. */
static __device__ bool tg_put_last(unsigned* done, uint64_t* sent, uint64_t number) {
  int last = 0;
  __syncthreads();
  if (threadIdx.x == 0 && tg_halo_count_block(done) == gridDim.x - 1) {
    last = 1;
    *done = 0;
    if (sent) *sent = number;
  }
  last = __syncthreads_or(last);
  if (last) __threadfence_system(); /* what the row stored is read by another engine now */
  return last != 0;
}

/* Entries first..last-1 of a channel from x to its staging area. */
template <typename T>
static __device__ void tg_put_pack(const tg_halo_port<T>* port, const tg_halo_channel<T>* channel,
                                   int first, int last) {
  const uint32_t* index = port->index + channel->send_slot;
  T* out = port->packed + 3 * (size_t)channel->send_slot;
  const tg_halo_shift<T> shift = channel->shift;
  for (int i = 3 * first + (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * last;
       i += (int)(gridDim.x * blockDim.x))
    out[i] = tg_halo_shifted(shift, i % 3, port->x[3 * (size_t)index[i / 3] + i % 3]);
}

/* The whole block, without force return: says that exchange number - 1 of channel c was read, and
 * waits until the receiver of this PE's has said so. */
template <typename T>
static __device__ bool tg_put_consumed(const tg_halo_port<T>* port, int c, uint64_t number) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  if (blockIdx.x == 0 && threadIdx.x == 0)
    nvshmemx_signal_op(&port->consumed[c], number - 1, NVSHMEM_SIGNAL_SET, channel->from);
  return tg_put_wait(port, &port->consumed[c], number - 1, channel->to, c, TG_HALO_CONSUMED);
}

template <typename T>
static __device__ void tg_put_slice(const tg_halo_port<T>* port, int c, uint64_t number) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  tg_put_message(
      port->x + 3 * (size_t)channel->slice, port->packed + 3 * (size_t)channel->send_slot,
      3 * (size_t)channel->send_count * sizeof(T), &port->x_flag[c], number, channel->to);
}

/* From x at home to the slices at the receivers: home atoms are packed at once, what an earlier
 * pulse brings after the flag of that very pulse. At its end all that is sent to this PE has
 * arrived. */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_put_positions(const tg_halo_port<T>* port, int first_channel, int consume) {
  const int c = first_channel + (int)blockIdx.y;
  const tg_halo_channel<T>* channel = &port->channel[c];
  const int* segment = port->segment + c * (port->channel_count + 1);
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c] + 1;
  if (consume && !tg_put_consumed(port, c, number)) return;
  tg_put_pack(port, channel, 0, segment[1]);
  for (int q = 0; q < c; q++) {
    if (segment[q + 1] == segment[q + 2]) continue;
    if (!tg_put_wait(port, &port->x_flag[q], number, port->channel[q].from, q, TG_HALO_POSITIONS))
      return;
    tg_put_pack(port, channel, segment[q + 1], segment[q + 2]);
  }
  if (tg_put_last(&port->x_done[c], &port->x_sent[c], number)) tg_put_slice(port, c, number);
  if (blockIdx.x == 0)
    tg_put_wait(port, &port->x_flag[c], number, channel->from, c, TG_HALO_POSITIONS);
}

/* Schedule direct: puts what a kernel of the caller has pushed into the staging areas, as exchange
 * x_sent, which that kernel has counted; one block a channel. Waits for no positions: consumers do.
 */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_put_pushed(const tg_halo_port<T>* port, int consume) {
  const int c = (int)blockIdx.y;
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c];
  if (consume && !tg_put_consumed(port, c, number)) return;
  __threadfence_system();
  tg_put_slice(port, c, number);
  if (consume && threadIdx.x == 0) nvshmem_quiet();
}

/* A component of atom `at`'s force and what came back for it, in the fixed order of its copies:
 * direct, in that of a tree of forwarding. */
template <typename T>
static __device__ T tg_put_gather(const tg_halo_port<T>* port, size_t at, int d) {
  T sum = port->f[3 * at + d];
  const uint32_t* tree = port->tree;
  const uint32_t* list = tree ? tree + TG_HALO_MOST_CHANNELS : port->copy;
  const uint32_t end = port->copy_start[at + 1];
  tg_halo_tree<T, 1> open;
  open.has_x = open.has_y = open.has_z = false;
  for (uint32_t i = port->copy_start[at]; i < end; i++) {
    const uint32_t c = list[i] >> TG_HALO_PLACE_BITS;
    const size_t place = list[i] & ((1u << TG_HALO_PLACE_BITS) - 1);
    const T more = port->f_in[3 * ((size_t)port->channel[c].send_slot + place) + d];
    if (tree)
      tg_halo_tree_add(&open, (int)tree[c], &more);
    else
      sum += more;
  }
  if (tree) tg_halo_tree_end(&open, &sum);
  return sum;
}

template <typename T>
static __device__ void tg_put_forces_of(const tg_halo_port<T>* port, int c, uint64_t number) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  tg_put_message(port->f_in + 3 * (size_t)channel->send_slot, port->f + 3 * (size_t)channel->slice,
                 3 * (size_t)channel->receive_count * sizeof(T), &port->f_flag[c], number,
                 channel->from);
}

/* From f of the halo to f at home: row c < channel_count adds to slice c what comes back for its
 * forwarded atoms, after the flags of the channels that bring it, and puts it to the PE it came
 * from; the last row adds to the home atoms what came back. Row c waits for later channels only, so
 * the rows cannot wait for each other in a circle. */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_put_forces(const tg_halo_port<T>* port) {
  const int c = (int)blockIdx.y, channels = port->channel_count;
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int stride = (int)(gridDim.x * blockDim.x);
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[0];
  const bool slice = c < channels;
  const unsigned long long waits = slice ? port->channel[c].f_waits : ~0ull;
  for (int q = 0; q < channels; q++)
    if ((waits >> q & 1) &&
        !tg_put_wait(port, &port->f_flag[q], number, port->channel[q].to, q, TG_HALO_FORCES))
      return;
  if (!slice) {
    for (int i = start; i < 3 * port->return_count; i += stride) {
      const size_t at = port->return_atom[i / 3];
      port->f[3 * at + i % 3] = tg_put_gather(port, at, i % 3);
    }
    return;
  }
  const size_t first = (size_t)port->channel[c].slice;
  for (int i = start; waits && i < 3 * port->channel[c].receive_count; i += stride) {
    const size_t at = first + (size_t)(i / 3);
    if (port->copy_start[at + 1] > port->copy_start[at])
      port->f[3 * at + i % 3] = tg_put_gather(port, at, i % 3);
  }
  if (tg_put_last(&port->f_done[c], nullptr, number)) tg_put_forces_of(port, c, number);
}

/* Entries of channel c: what came back is added, after its flag. No two name the same atom. */
template <typename T>
static __device__ void tg_put_add(const tg_halo_port<T>* port, int c, uint64_t number) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  if (!tg_put_wait(port, &port->f_flag[c], number, channel->to, c, TG_HALO_FORCES)) return;
  const uint32_t* index = port->index + channel->send_slot;
  const T* in = port->f_in + 3 * (size_t)channel->send_slot;
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * channel->send_count;
       i += (int)(gridDim.x * blockDim.x))
    port->f[3 * (size_t)index[i / 3] + i % 3] += in[i];
}

/* One pulse of the force return: slice c is complete, as the kernels before have ended; the first
 * block puts it, all add what came back. */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_put_pulse_forces(const tg_halo_port<T>* port, int c) {
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c];
  if (blockIdx.x == 0) tg_put_forces_of(port, c, number);
  tg_put_add(port, c, number);
}

/* Schedule stream, whose puts are queued between kernels: from x to the staging area of channel c,
 * once the receiver has read the message before. */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_queue_pack(const tg_halo_port<T>* port, int c, int consume) {
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c] + 1;
  if (consume && !tg_put_consumed(port, c, number)) return;
  tg_put_pack(port, &port->channel[c], 0, port->channel[c].send_count);
}

/* Schedule stream: what channel c brings has arrived; one block. */
template <typename T>
static __global__ void tg_queue_arrive(const tg_halo_port<T>* port, int c) {
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c] + 1;
  if (!tg_put_wait(port, &port->x_flag[c], number, port->channel[c].from, c, TG_HALO_POSITIONS))
    return;
  if (threadIdx.x == 0) port->x_sent[c] = number;
}

/* Schedule stream: adds the forces that channel c brings back. */
template <typename T>
static __global__ void __launch_bounds__(TG_PUT_THREADS)
    tg_queue_add(const tg_halo_port<T>* port, int c) {
  tg_put_add(port, c, *(volatile const uint64_t*)&port->x_sent[c]);
}

#endif
