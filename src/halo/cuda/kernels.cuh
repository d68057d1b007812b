/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the halo exchange; protocol and words in throng/device/halo.cuh.
 *
 * Launch shape of all: blockIdx.z is the PE among those of the card, blockIdx.y the channel (from
 * first_channel on), blockIdx.x shares its atoms. Threads go over single components, so that a
 * warp's stores across the link are whole lines. Bound by the link, or by latency when small. */
#ifndef TG_HALO_CUDA_KERNELS_CUH
#define TG_HALO_CUDA_KERNELS_CUH

#include <throng/device/halo.cuh>

#include "halo/cuda/stamps.cuh"

enum { TG_HALO_THREADS = 256, TG_HALO_WARPS = TG_HALO_THREADS / 32 };

typedef enum tg_halo_return { TG_HALO_PUT, TG_HALO_PULL, TG_HALO_REDUCE } tg_halo_return;

/* Entries first..last-1 of channel c from x to out: [send_count][3]. */
template <typename T>
static __device__ __forceinline__ void tg_pack(const tg_halo_port<T>* port,
                                               const tg_halo_channel<T>* channel, int first,
                                               int last, T* out) {
  const T* x = port->x;
  const uint32_t* index = port->index + channel->send_slot;
  const T shift[3] = {channel->shift[0], channel->shift[1], channel->shift[2]};
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = 3 * first + (int)(blockIdx.x * blockDim.x + threadIdx.x); i < 3 * last;
       i += stride) {
    int k = i / 3, d = i - 3 * k;
    out[i] = x[3 * (size_t)index[k] + d] + (d == 0 ? shift[0] : d == 1 ? shift[1] : shift[2]);
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
    for (int d = 0; d < 3; d++) room[3 * lane + d] = from[d] + channel->shift[d];
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

/* Entry k of channel c, which came from channel q (below 0: home). */
template <typename T>
static __device__ __forceinline__ bool tg_post_position(const tg_halo_port<T>* port, int c, int q,
                                                        int k, bool by_mail, uint64_t number) {
  enum { WORDS = 2 * tg_halo_letter<T>::words };
  const tg_halo_channel<T>* channel = &port->channel[c];
  size_t atom = port->index[channel->send_slot + k];
  T at[3];
  if (q < 0) {
    for (int d = 0; d < 3; d++) at[d] = port->x[3 * atom + d];
  } else {
    size_t slot = atom - (size_t)port->channel[q].slice + (size_t)port->channel[q].send_slot;
    if (!tg_halo_await_letter(port, port->x_mail, port->x_mail + WORDS * slot, number,
                              TG_HALO_POSITIONS, at))
      return false;
  }
  for (int d = 0; d < 3; d++) at[d] += channel->shift[d];
  if (by_mail || channel->to_elsewhere)
    tg_halo_post(channel->x_mail_out + WORDS * (size_t)k, at, number);
  else
    for (int d = 0; d < 3; d++) channel->x_out[3 * (size_t)k + d] = at[d];
  return true;
}

/* The same by mail: rows below channel_count send, the others receive. An atom is forwarded as soon
 * as its own letter is there. by_mail = 0, only where nothing is forwarded: what goes to this card
 * goes straight into the slice, and like all of the kernel is there when it ends. Bound by latency:
 * a letter's way. */
template <typename T, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_post_positions(const tg_halo_port<T>* ports, int consume, int by_mail) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const int channels = port->channel_count, stride = (int)(gridDim.x * blockDim.x);
  const bool receives = (int)blockIdx.y >= channels;
  const int c = (int)blockIdx.y - (receives ? channels : 0);
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const tg_halo_channel<T>* channel = &port->channel[c];
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[c] + 1;
  const int row = receives ? tg_row_in(channels, c) : tg_row_out(c);
  enum { WORDS = 2 * tg_halo_letter<T>::words };
  int failed = 0;
  T at[3];
  tg_stamp_row_now<TRACED>(row, TG_STAGE_BEGIN, c, number);
  if (receives && (by_mail || channel->from_elsewhere)) {
    const uint64_t* letters = port->x_mail + WORDS * (size_t)channel->send_slot;
    T* to = port->x + 3 * (size_t)channel->slice;
    for (int k = start; k < channel->receive_count && !failed; k += stride) {
      failed = !tg_halo_await_letter(port, port->x_mail, letters + WORDS * (size_t)k, number,
                                     TG_HALO_POSITIONS, at);
      for (int d = 0; d < 3 && !failed; d++) to[3 * (size_t)k + d] = at[d];
    }
    tg_stamp_row_now<TRACED>(row, TG_STAGE_RECEIVE, c, number);
  } else if (!receives) {
    if (consume && channel->from_elsewhere && blockIdx.x == 0 && threadIdx.x == 0)
      tg_halo_store_release(channel->consumed_out, number - 1);
    if (consume && channel->to_elsewhere &&
        !tg_halo_wait_block(port, &port->consumed[c], number - 1, channel->to, c, TG_HALO_CONSUMED))
      return;
    const int* segment = port->segment + c * (channels + 1);
    for (int s = 0; s <= c && !failed;
         s++) { /* home atoms, then what each earlier channel brings */
      for (int k = segment[s] + start; k < segment[s + 1] && !failed; k += stride)
        failed = !tg_post_position(port, c, s - 1, k, by_mail != 0, number);
      if (s == 0)
        tg_stamp_row_now<TRACED>(row, TG_STAGE_POST_HOME, c, number);
      else if (segment[s] < segment[s + 1])
        tg_stamp_row_now<TRACED>(row, TG_STAGE_POST_FORWARDED, s - 1, number);
    }
  }
  /* all blocks of both rows have read x_sent; their data goes by letters and the kernel's end */
  if (__syncthreads_or(failed) || threadIdx.x) return;
  if (!receives) tg_stamp_row_now<TRACED>(row, TG_STAGE_POSTED, c, number);
  if (atomicAdd(&port->x_done[c], 1u) != 2 * gridDim.x - 1) return;
  port->x_done[c] = 0;
  port->x_sent[c] = number;
  /* the maximum: a sender of an empty message may be ahead, having pushed the next one */
  atomicMax_system((unsigned long long*)&port->x_flag[c], (unsigned long long)number);
}

/* The force of an atom and all that came back for it, in the fixed order of its copies. What is
 * there already is loaded together, so that only what is late costs a turn of its own. */
template <typename T>
static __device__ bool tg_add_mail(const tg_halo_port<T>* port, const tg_halo_sum* sum,
                                   uint64_t number, T f[3]) {
  enum { AT_ONCE = 4 };
  uint64_t source = sum->source;
  uint32_t next = sum->next;
  for (int d = 0; d < 3; d++) f[d] = port->f[3 * (size_t)sum->atom + d];
  while (source) {
    uint64_t sources[AT_ONCE];
    T more[AT_ONCE][3];
    bool here[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      sources[j] = source;
      source = source & TG_HALO_MORE ? port->source[next++] : 0;
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      here[j] = true;
      if (sources[j] & TG_HALO_NEAR) {
        const T* near = (const T*)(sources[j] & ~3ull);
        for (int d = 0; d < 3; d++) more[j][d] = near[d];
      } else if (sources[j]) {
        here[j] = tg_halo_read((const uint64_t*)(sources[j] & ~3ull), more[j], number);
      }
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      if (!sources[j]) break;
      if (!here[j] && !tg_halo_await_letter(port, port->mail, (const uint64_t*)(sources[j] & ~3ull),
                                            number, TG_HALO_FORCES, more[j]))
        return false;
      for (int d = 0; d < 3; d++) f[d] += more[j][d];
    }
  }
  return true;
}

/* Force return put, from f of the halo to f at home, one thread an atom: row c < channel_count
 * posts slice c to the PE it came from, the last row adds to the home atoms what came back. Nothing
 * but the letters is waited for, and an atom only waits for its own. Row c reads mail of later
 * channels only, so the rows cannot wait for each other in a circle. Bound by latency: a letter's
 * way. */
template <typename T, bool TRACED>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_post_forces(const tg_halo_port<T>* ports) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const int c = (int)blockIdx.y, stride = (int)(gridDim.x * blockDim.x);
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[0];
  const bool home = c == port->channel_count;
  const int row = home ? tg_row_home(c) : tg_row_back(port->channel_count, c);
  T f[3];
  tg_stamp_row_now<TRACED>(row, TG_STAGE_BEGIN, c, number);
  if (home) {
    for (int i = start; i < port->return_count; i += stride) {
      const tg_halo_sum sum = port->sum[i];
      if (!tg_add_mail(port, &sum, number, f)) return;
      for (int d = 0; d < 3; d++) port->f[3 * (size_t)sum.atom + d] = f[d];
    }
    tg_stamp_row_now<TRACED>(row, TG_STAGE_ADD_LETTERS, c, number);
    return;
  }
  const tg_halo_channel<T>* channel = &port->channel[c];
  const bool elsewhere = channel->from_elsewhere != 0;
  const int count = channel->receive_count;
  uint64_t* out = channel->mail_out;
  const tg_halo_sum* sums = port->sum + channel->slice;
  for (int k = start; k < count; k += stride) {
    const tg_halo_sum sum = sums[k];
    if (!elsewhere && !sum.source) continue; /* read where it lies */
    if (!tg_add_mail(port, &sum, number, f)) return;
    tg_halo_post(out + 2 * tg_halo_letter<T>::words * (size_t)k, f, number);
  }
  tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN, c, number);
}

/* One component of atom `at`'s force and all that came back for it, in the fixed order of its
 * copies. */
template <typename T, int RETURN>
static __device__ __forceinline__ T tg_gather(const tg_halo_port<T>* port, size_t at, int d) {
  T sum = port->f[3 * at + d];
  if (RETURN == TG_HALO_REDUCE) {
    T* more = &port->reduce[3 * at + d];
    sum += *more;
    *more = 0; /* for the next exchange, whose adders wait for this PE's next positions */
    return sum;
  }
  uint32_t end = port->copy_start[at + 1];
  for (uint32_t i = port->copy_start[at]; i < end; i++) {
    uint32_t copy = port->copy[i];
    size_t place = copy & ((1u << TG_HALO_PLACE_BITS) - 1);
    const tg_halo_channel<T>* channel = &port->channel[copy >> TG_HALO_PLACE_BITS];
    sum += channel->f_pull[3 * place + d];
  }
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
    if (channel->f_waits) tg_stamp_row_now<TRACED>(row, TG_STAGE_RETURN, c, number);
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

/* Schedule direct, the producer: a kernel that moves home atoms, x += v dt, and stores each one
 * straight into the neighbours that need it. v: [home_count][3] in port->packed's stead is the
 * caller's. push = 0: the same without the exchange, to see what the pushing costs. */
template <typename T>
static __global__ void __launch_bounds__(TG_HALO_THREADS)
    tg_move_atoms(const tg_halo_port<T>* ports, const T* const* velocities, T dt, int push,
                  int consume) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  uint64_t number = tg_halo_next(port);
  if (push && consume) {
    if (blockIdx.x == 0 && threadIdx.x == 0) tg_halo_consumed(port, number - 1);
    if (!tg_halo_may_push(port, number)) return;
  }
  const T* v = velocities[blockIdx.z];
  int stride = (int)(gridDim.x * blockDim.x);
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < port->home_count; i += stride) {
    T at[3];
    for (int d = 0; d < 3; d++)
      port->x[3 * (size_t)i + d] = at[d] = port->x[3 * (size_t)i + d] + v[3 * (size_t)i + d] * dt;
    if (push) tg_halo_push(port, i, at[0], at[1], at[2]);
  }
  if (push) tg_halo_raise(port, number, gridDim.x);
}

/* Schedule direct, a consumer's first act: one block a channel waits for other cards' positions.
 * (What PEs of this card pushed is here: the producing kernel has ended.) */
template <typename T>
static __global__ void tg_await_positions(const tg_halo_port<T>* ports) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  int c = (int)blockIdx.y;
  uint64_t number = *(volatile const uint64_t*)&port->x_sent[c];
  if (port->channel[c].from_elsewhere)
    tg_halo_wait_thread(port, &port->x_flag[c], number, port->channel[c].from, c,
                        TG_HALO_POSITIONS);
}

#endif
