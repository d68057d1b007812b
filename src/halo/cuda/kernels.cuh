/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the halo exchange that work with flags, or with kernels' ends; those by mail are
 * in mail.cuh. Protocol and words in throng/device/halo.cuh.
 *
 * Launch shape of all: blockIdx.z is the PE among those of the card, blockIdx.y the channel (from
 * first_channel on), blockIdx.x shares its atoms. Threads go over single components, so that a
 * warp's stores across the link are whole lines. Bound by the link, or by latency when small. */
#ifndef TG_HALO_CUDA_KERNELS_CUH
#define TG_HALO_CUDA_KERNELS_CUH

#include <throng/device/halo.cuh>

#include "halo/cuda/stamps.cuh"

#include "halo/cuda/tree.cuh"

/* A kernel may be launched so that it starts before those ahead of it in its stream have ended
 * (schedules.cu). It waits here for their end, and sees all they stored. */
static __device__ __forceinline__ void tg_after_earlier_kernels(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}

/* Once all blocks have come here, the next kernel of the stream may start likewise. After the wait
 * above, so that no more than two kernels are on the card at a time. */
static __device__ __forceinline__ void tg_next_kernel_may_start(void) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" : : : "memory");
#endif
}

enum { TG_HALO_THREADS = 256, TG_HALO_WARPS = TG_HALO_THREADS / 32 };

typedef enum tg_halo_return { TG_HALO_PUT, TG_HALO_PULL, TG_HALO_REDUCE } tg_halo_return;

/* Entries first..last-1 of channel c from x to out: [send_count][3]. */
template <typename T>
static __device__ __forceinline__ void tg_pack(const tg_halo_port<T>* port,
                                               const tg_halo_channel<T>* channel, int first,
                                               int last, T* out) {
  const T* x = port->x;
  const uint32_t* index = port->index + channel->send_slot;
  const tg_halo_shift<T> shift = channel->shift;
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = 3 * first + (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * last;
       i += stride) {
    int k = i / 3, d = i - 3 * k;
    out[i] = tg_halo_shifted(shift, d, x[3 * (size_t)index[k] + d]);
  }
}

/* A row of blocks is done with channel c of exchange `number`: the last one raises the flag, in the
 * one thread that is told true. The block's barrier, the device-scope counter and the system-scope
 * release follow one upon the other, so whoever acquires the flag sees the stores of all blocks. */
static __device__ __forceinline__ bool tg_row_done(unsigned* done, uint64_t* flag_out,
                                                   uint64_t* sent, uint64_t number) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  if (tg_halo_count_block(done) != gridDim.x - 1) return false;
  *done = 0;
  if (sent) *sent = number;
  if (flag_out) tg_halo_store_release(flag_out, number);
  return true;
}

#if __CUDA_ARCH__ >= 900
/* One warp's chunk: from x to shared memory, then one bulk copy across the link. */
template <typename T>
static __device__ __forceinline__ void tg_bulk_chunk(const tg_halo_port<T>* port,
                                                     const tg_halo_channel<T>* channel, int first,
                                                     T* room) {
  const int lane = (int)threadIdx.x % 32;
  const uint32_t* index = port->index + channel->send_slot;
  int count = channel->send_count - first < 32 ? channel->send_count - first : 32;
  if (lane < count) {
    const T* from = port->x + 3 * (size_t)index[first + lane];
    T at[3] = {from[0], from[1], from[2]};
    tg_halo_add_shift(channel->shift, at);
    for (int d = 0; d < 3; d++) room[3 * lane + d] = at[d];
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  if (lane == 0) {
    /* whole groups of 4 atoms: slices are padded to them, and 4 atoms are a multiple of 16 bytes */
    unsigned bytes = (unsigned)((count + 3) / 4 * 4 * 3 * sizeof(T));
    unsigned source = (unsigned)__cvta_generic_to_shared(room);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"
                 :
                 : "l"(channel->x_out + 3 * (size_t)first), "r"(source), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); /* written, not only read */
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  __syncwarp();
}
#endif

/* Positions by bulk copies; a warp waits only for the pulses that bring what its chunk sends. */
template <typename T>
static __device__ bool tg_send_bulk(const tg_halo_port<T>* port, int c, uint64_t number) {
#if __CUDA_ARCH__ >= 900
  __shared__ __align__(128) T room[TG_HALO_WARPS][32 * 3];
  const tg_halo_channel<T>* channel = &port->channel[c];
  const int* segment = port->segment + c * (port->channel_count + 1);
  int warp = (int)threadIdx.x / 32, failed = 0, ready = 0; /* channels below `ready` have come */
  for (int first = 32 * ((int)blockIdx.x * TG_HALO_WARPS + warp); first < channel->send_count;
       first += 32 * TG_HALO_WARPS * (int)gridDim.x) {
    int last = first + 32 < channel->send_count ? first + 32 : channel->send_count;
    for (; ready < c && segment[ready + 1] < last; ready++) {
      if (segment[ready + 1] == segment[ready + 2]) continue;
      if (threadIdx.x % 32 == 0)
        failed |= !tg_halo_wait_thread(port, &port->x_flag[ready], number,
                                       port->channel[ready].from, ready, TG_HALO_POSITIONS);
      __syncwarp();
    }
    failed = __shfl_sync(0xffffffffu, failed, 0);
    if (failed) break;
    tg_bulk_chunk(port, channel, first, room[warp]);
  }
  return !__syncthreads_or(failed);
#else
  (void)port, (void)c, (void)number;
  return false; /* the host refuses bulk copies on such a device */
#endif
}

/* Positions by plain stores: home atoms at once, then what each earlier pulse brings, after the
 * flag of that very pulse. */
template <typename T, bool TRACED>
static __device__ bool tg_send_stores(const tg_halo_port<T>* port, int c, uint64_t number) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  const int* segment = port->segment + c * (port->channel_count + 1);
  tg_pack(port, channel, 0, segment[1], channel->x_out);
  tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_PACK_HOME, c, number);
  for (int q = 0; q < c; q++) {
    if (segment[q + 1] == segment[q + 2]) continue;
    if (!tg_halo_wait_positions(port, q, number)) return false;
    tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_WAIT, q, number);
    tg_pack(port, channel, segment[q + 1], segment[q + 2], channel->x_out);
    tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_PACK_FORWARDED, q, number);
  }
  return true;
}

/* From x at home to the slices at the receivers. At its end all that other cards send to this one
 * has arrived; what its own PEs send has, too, once the kernel has ended. consume: there is no
 * force return, so receivers must say that they have read the exchange before. */
template <typename T, bool BULK, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_send_positions(const tg_halo_port<T>* ports, int first_channel, int consume) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  int c = first_channel + (int)blockIdx.y;
  const tg_halo_channel<T>* channel = &port->channel[c];
  uint64_t number = *(volatile const uint64_t*)&port->x_sent[c] + 1;
  tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_BEGIN, c, number);
  if (consume) {
    if (channel->from_elsewhere && blockIdx.x == 0 && threadIdx.x == 0)
      tg_halo_store_release(channel->consumed_out, number - 1);
    if (channel->to_elsewhere &&
        !tg_halo_wait_block(port, &port->consumed[c], number - 1, channel->to, c, TG_HALO_CONSUMED))
      return;
    tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_CONSUMED, c, number);
  }
  if (BULK ? !tg_send_bulk(port, c, number) : !tg_send_stores<T, TRACED>(port, c, number)) return;
  if (BULK) tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_PACK, c, number);
  if (tg_row_done(&port->x_done[c], channel->x_flag_out, &port->x_sent[c], number) && TRACED)
    tg_stamp_write((int)blockIdx.z, tg_row_out(c), TG_STAGE_RAISE, c, number);
  if (channel->from_elsewhere && blockIdx.x == 0 && threadIdx.x == 0) {
    const int in = tg_row_in(port->channel_count, c);
    tg_stamp_row_now<TRACED>(in, TG_STAGE_BEGIN, c, number);
    tg_halo_wait_thread(port, &port->x_flag[c], number, channel->from, c, TG_HALO_POSITIONS);
    tg_stamp_row_now<TRACED>(in, TG_STAGE_WAIT, c, number);
  }
}

/* One component of atom `at`'s force and all that came back for it, in the order in which
 * forwarding adds it. */
template <typename T, int RETURN>
static __device__ __forceinline__ T tg_gather(const tg_halo_port<T>* port, size_t at, int d) {
  T sum = port->f[3 * at + d];
  if (RETURN == TG_HALO_REDUCE) {
    T* more = &port->reduce[3 * at + d];
    sum += *more;
    *more = 0; /* for the next exchange, whose adders wait for this PE's next positions */
    return sum;
  }
  const uint32_t* tree = port->tree;
  const uint32_t* list = tree ? tree + TG_HALO_MOST_CHANNELS : port->copy;
  tg_halo_tree<T, 1> open;
  open.has_x = open.has_y = open.has_z = false;
  uint32_t end = port->copy_start[at + 1];
  for (uint32_t i = port->copy_start[at]; i < end; i++) {
    size_t place = list[i] & ((1u << TG_HALO_PLACE_BITS) - 1);
    uint32_t c = list[i] >> TG_HALO_PLACE_BITS;
    T more = port->channel[c].f_pull[3 * place + d];
    if (tree)
      tg_halo_tree_add(&open, (int)tree[c], &more);
    else
      sum += more;
  }
  if (tree) tg_halo_tree_end(&open, &sum);
  return sum;
}

/* Atoms of slice c: those whose copies went on (later = true) or did not. */
template <typename T, int RETURN>
static __device__ __forceinline__ void tg_return_slice(const tg_halo_port<T>* port, int c,
                                                       bool later) {
  const tg_halo_channel<T>* channel = &port->channel[c];
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * channel->receive_count;
       i += stride) {
    int k = i / 3, d = i - 3 * k;
    size_t at = (size_t)channel->slice + (size_t)k;
    bool forwarded = port->copy_start[at + 1] > port->copy_start[at];
    if (forwarded != later) continue;
    T force = forwarded ? tg_gather<T, RETURN>(port, at, d) : port->f[3 * at + d];
    if (RETURN == TG_HALO_PULL) {
      if (forwarded) port->f[3 * at + d] = force;
    } else
      atomicAdd_system(&channel->reduce_out[3 * (size_t)channel->reduce_index[k] + d], force);
  }
}

/* Force returns pull and reduce, from f of the halo to f at home: row c < channel_count returns
 * slice c to the PE it came from, after the returns that go into it; the last row adds to the home
 * atoms what came back. */
template <typename T, int RETURN, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_return_forces(const tg_halo_port<T>* ports) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  int c = (int)blockIdx.y;
  uint64_t number = *(volatile const uint64_t*)&port->x_sent[0];
  const bool home = c == port->channel_count;
  const int row = home ? tg_row_home(c) : tg_row_back(port->channel_count, c);
  tg_stamp_row_now<TRACED>(row, TG_STAGE_BEGIN, c, number);
  if (!home) {
    const tg_halo_channel<T>* channel = &port->channel[c];
    tg_return_slice<T, RETURN>(port, c, false);
    tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN, c, number);
    for (int q = 0; q < port->channel_count; q++) {
      if (channel->f_waits >> q & 1 && !tg_halo_wait_block(port, &port->f_flag[q], number,
                                                           port->channel[q].to, q, TG_HALO_FORCES))
        return;
      if (TRACED && channel->f_waits >> q & 1)
        tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN_WAIT, q, number);
    }
    if (channel->f_waits) tg_return_slice<T, RETURN>(port, c, true);
    if (TRACED && channel->f_waits) tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN, c, number);
    if (tg_row_done(&port->f_done[c], channel->f_flag_out, nullptr, number) && TRACED)
      tg_stamp_write((int)blockIdx.z, row, TG_STAGE_RETURN_RAISE, c, number);
    return;
  }
  for (int q = 0; q < port->channel_count; q++) {
    if (!tg_halo_wait_block(port, &port->f_flag[q], number, port->channel[q].to, q, TG_HALO_FORCES))
      return;
    tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN_WAIT, q, number);
  }
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * port->return_count;
       i += stride) {
    size_t at = port->return_atom[i / 3];
    port->f[3 * at + i % 3] = tg_gather<T, RETURN>(port, at, i % 3);
  }
  tg_stamp_row_now<TRACED>(row, TG_STAGE_ADD, c, number);
}

/* One pulse of the force return, a kernel of its own: slice c is complete here, as the kernels
 * before have ended, so its flag goes up first; then the forces are pulled. No two entries of a
 * channel name the same atom. */
template <typename T>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_pull_forces(const tg_halo_port<T>* ports, int c) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const tg_halo_channel<T>* channel = &port->channel[c];
  uint64_t number = *(volatile const uint64_t*)&port->x_sent[0];
  if (channel->from_elsewhere && blockIdx.x == 0 && threadIdx.x == 0)
    tg_halo_store_release(channel->f_flag_out, number);
  if (channel->to_elsewhere &&
      !tg_halo_wait_block(port, &port->f_flag[c], number, channel->to, c, TG_HALO_FORCES))
    return;
  const uint32_t* index = port->index + channel->send_slot;
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * channel->send_count;
       i += stride)
    port->f[3 * (size_t)index[i / 3] + i % 3] += channel->f_pull[i];
}

/* Schedules host and stream: from x to the message of channel c. */
template <typename T, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_pack_positions(const tg_halo_port<T>* ports, int c) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const tg_halo_channel<T>* channel = &port->channel[c];
  tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_BEGIN, c, 0);
  tg_pack(port, channel, 0, channel->send_count, port->packed + 3 * (size_t)channel->send_slot);
  tg_stamp_row_now<TRACED>(tg_row_out(c), TG_STAGE_PACK, c, 0);
}

/* Schedules host and stream: from the message that came back to f. */
template <typename T, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_unpack_forces(const tg_halo_port<T>* ports, int c) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const tg_halo_channel<T>* channel = &port->channel[c];
  const uint32_t* index = port->index + channel->send_slot;
  const T* in = port->f_in + 3 * (size_t)channel->send_slot;
  int stride = (int)(gridDim.x * blockDim.x);
  const int row = tg_row_back(port->channel_count, c);
  tg_stamp_row_now<TRACED>(row, TG_STAGE_BEGIN, c, 0);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * channel->send_count;
       i += stride)
    port->f[3 * (size_t)index[i / 3] + i % 3] += in[i];
  tg_stamp_row_now<TRACED>(row, TG_STAGE_UNPACK, c, 0);
}

/* No force return: what a thread does for one channel before positions may go. Read from the plan
 * before the kernels ahead have ended. */
struct tg_halo_turn {
  uint64_t* out;        /* to the sender: we have read the exchange before; or NULL */
  const uint64_t* flag; /* from the reader, the same; or NULL */
  int reader;
};

/* A thread a channel; the first block tells the senders. */
template <typename T>
static __device__ __forceinline__ tg_halo_turn tg_halo_turn_load(const tg_halo_channel<T>* channels,
                                                                 const uint64_t* consumed,
                                                                 int count) {
  tg_halo_turn turn = {nullptr, nullptr, 0};
  const int c = (int)threadIdx.x;
  if (c >= count) return turn;
  if (channels[c].from_elsewhere && blockIdx.x == 0) turn.out = channels[c].consumed_out;
  if (channels[c].to_elsewhere) turn.flag = &consumed[c];
  turn.reader = channels[c].to;
  return turn;
}

/* The whole block. */
template <typename T>
static __device__ __forceinline__ bool tg_halo_turn_take(const tg_halo_port<T>* port,
                                                         const tg_halo_turn& turn,
                                                         uint64_t number) {
  if (turn.out) tg_halo_store_release(turn.out, number - 1);
  bool good = !turn.flag || tg_halo_wait_thread(port, turn.flag, number - 1, turn.reader,
                                                (int)threadIdx.x, TG_HALO_CONSUMED);
  return !__syncthreads_or(!good);
}

/* Schedule direct, the producer: a kernel that moves home atoms, x += v dt, and sends each one
 * straight to the neighbours that need it: push = 1, by stores and flags; 2, by mail; 0, not at
 * all, to see what the pushing costs. v: [home_count][3]. */
template <typename T>
static __global__ void __launch_bounds__(TG_HALO_THREADS, 4)
    tg_move_atoms(const tg_halo_port<T>* ports, const T* const* velocities, T dt, int push,
                  int consume) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const int stride = (int)(gridDim.x * blockDim.x), home_count = port->home_count;
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const T* v = velocities[blockIdx.z];
  T* x = port->x;
  uint32_t first = 0, end = 0;
  tg_halo_target<T> copy = {};
  tg_halo_turn turn = {};
  if (push && consume) turn = tg_halo_turn_load(port->channel, port->consumed, port->channel_count);
  if (push && start < home_count) { /* maps, before the kernels ahead have ended */
    first = port->copy_start[start];
    end = port->copy_start[start + 1];
    if (first < end) copy = tg_halo_copy_of(port, port->copy[first]);
  }
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  uint64_t number = tg_halo_next(port);
  if (push && consume && !tg_halo_turn_take(port, turn, number)) return;
  for (int i = start; i < home_count; i += stride) {
    T at[3];
    for (int d = 0; d < 3; d++)
      x[3 * (size_t)i + d] = at[d] = x[3 * (size_t)i + d] + v[3 * (size_t)i + d] * dt;
    if (push == 1) {
      tg_halo_push(port, i, at[0], at[1], at[2]);
    } else if (push && i == start) {
      while (first < end) {
        tg_halo_post_copy(&copy, at[0], at[1], at[2], number);
        if (++first < end) copy = tg_halo_copy_of(port, port->copy[first]);
      }
    } else if (push) {
      tg_halo_post_atom(port, i, at[0], at[1], at[2], number);
    }
  }
  if (push == 1) tg_halo_raise(port, number, gridDim.x);
  if (push == 2) tg_halo_posted(port, number, gridDim.x);
}

/* Schedule direct, a consumer's first act: one block a channel waits for other cards' positions.
 * (What PEs of this card pushed is here: the producing kernel has ended.) */
template <typename T>
static __global__ void tg_await_positions(const tg_halo_port<T>* ports) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  int c = (int)blockIdx.y;
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  uint64_t number = *(volatile const uint64_t*)&port->x_sent[c];
  if (port->channel[c].from_elsewhere)
    tg_halo_wait_thread(port, &port->x_flag[c], number, port->channel[c].from, c,
                        TG_HALO_POSITIONS);
}

#endif
