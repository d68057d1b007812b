/* SPDX-License-Identifier: Apache-2.0 */
/* The exchange by mail: positions, and forces (mail_forces.cuh), as 16-byte words that carry their
 * number (throng/device/halo.cuh). Bound by latency: loads that depend on each other, a letter's
 * way, and a kernel's start and end.
 *
 * Launch shape: blockIdx.y is the PE among those of the card; blockIdx.x counts over the capacities
 * of its channels, one after another, each rounded up to whole blocks, so that a block serves one
 * channel and a thread one entry. Where the card does not hold so many blocks at once, they go
 * round.
 *
 * Order in a kernel. (1) What only a new plan changes is read: maps, counts, shifts. A plan changes
 * while nothing runs (tg_device_tables_make ends with all cards idle), or is queued, and then the
 * kernel behind it is not launched early; so this needs no order with earlier kernels. All
 * addresses come from the kernel's parameters, so no load waits for another. (2)
 * griddepcontrol.wait: all earlier kernels have ended and their stores are seen. Nothing that a
 * kernel of the stream writes is touched before that, x_sent included. (3) Now the next kernel of
 * the stream may start its own step 1. (4) What is sent is sent; then what comes is awaited.
 *
 * Forward progress. Sends wait only for letters of lower channels (forces: of higher channels),
 * which are sent earlier by every thread; receiving waits for sends alone and no send is behind it.
 * So nobody waits in a circle, if all blocks of a launch run at the same time. Their number is
 * chosen so (schedules.cu). The next kernel takes no room from them: it starts when every block has
 * come to step 3, so all are running; and its own blocks wait, without spinning, in step 2. */
#ifndef TG_HALO_CUDA_MAIL_CUH
#define TG_HALO_CUDA_MAIL_CUH

#include <throng/device/halo.cuh>

#include "halo/cuda/kernels.cuh"

enum { TG_MAIL_THREADS = 128, TG_MAIL_FEW = 8, TG_MAIL_MANY = TG_HALO_MOST_CHANNELS + 1 };

/* Where things lie: the same for the life of a halo, so a captured graph may hold it. Offsets in
 * bytes from memory. N: above the number of channels, not below that of PEs on a card. */
template <typename T, int N>
struct tg_mail_site {
  const tg_halo_port<T>* ports; /* [PEs of the card] */
  char* memory[N];              /* of each of them */
  size_t x, f, mail, x_mail, index, rows, channel, flags;
  int channel_count, home_capacity;
  int blocks;         /* of a PE, if each is served once */
  int first_block[N]; /* of each channel; INT_MAX behind the last */
  int send_slot[N];   /* the send capacity behind the last */
};

template <typename T, int N>
static __device__ __forceinline__ int tg_mail_channel_of(const tg_mail_site<T, N>& site,
                                                         int block) {
  int c = 0;
  if (N <= TG_MAIL_FEW) {
#pragma unroll
    for (int j = 1; j < N; j++) c += block >= site.first_block[j];
  } else {
    while (c + 1 < site.channel_count && block >= site.first_block[c + 1]) c++;
  }
  return c;
}

/* The channel of a slot. */
template <typename T, int N>
static __device__ __forceinline__ int tg_mail_channel_at(const tg_mail_site<T, N>& site, int slot) {
  int c = 0;
  while (c + 1 < site.channel_count && slot >= site.send_slot[c + 1]) c++;
  return c;
}

/* An entry of a channel, both ways: what this thread sends and what it receives. */
template <typename T>
struct tg_parcel {
  int k, slot; /* in the channel; in all */
  int send_count, receive_count;
  bool posted, arrives; /* by mail */
  uint32_t atom;        /* that is sent */
  tg_halo_shift<T> shift;
  T* out;             /* the slice at the reader, if it is not posted */
  uint64_t* mail_out; /* letters at the reader, if it is */
  int slice;
};

template <typename T, int N>
static __device__ __forceinline__ tg_parcel<T> tg_parcel_load(const tg_mail_site<T, N>& site,
                                                              const char* memory, int block,
                                                              bool by_mail) {
  const int c = tg_mail_channel_of(site, block);
  const tg_halo_channel<T>* channel = (const tg_halo_channel<T>*)(memory + site.channel) + c;
  tg_parcel<T> parcel;
  parcel.k = (block - site.first_block[c]) * (int)blockDim.x + (int)threadIdx.x;
  parcel.slot = site.send_slot[c] + parcel.k;
  /* the map has the channel's capacity, so the entry can be read before the count is known */
  const bool inside = parcel.slot < site.send_slot[c + 1];
  parcel.atom = inside ? ((const uint32_t*)(memory + site.index))[parcel.slot] : 0;
  parcel.send_count = channel->send_count;
  parcel.receive_count = channel->receive_count;
  parcel.posted = by_mail || channel->to_elsewhere;
  parcel.arrives = by_mail || channel->from_elsewhere;
  parcel.shift = channel->shift;
  parcel.out = channel->x_out;
  parcel.mail_out = channel->x_mail_out;
  parcel.slice = site.home_capacity + site.send_slot[c];
  return parcel;
}

/* Stamps of a channel: of its first entry and, on a row of its own, of its last one, which is the
 * one to be forwarded if any is. Each by the thread that serves it. */
template <bool TRACED, typename T, int N>
static __device__ __forceinline__ void tg_stamp_send(const tg_mail_site<T, N>& site,
                                                     const tg_parcel<T>& parcel, bool before,
                                                     uint64_t number) {
  if (!TRACED || parcel.k >= parcel.send_count) return;
  const int pe = (int)blockIdx.y, c = tg_mail_channel_at(site, parcel.slot);
  const int came = (int)parcel.atom - site.home_capacity; /* in this slot; below 0: home */
  if (parcel.k == parcel.send_count - 1) {
    const tg_stage stage = before      ? TG_STAGE_BEGIN
                           : came >= 0 ? TG_STAGE_POST_FORWARDED
                                       : TG_STAGE_POST_LAST;
    tg_stamp_write(pe, tg_row_last(c), stage, came >= 0 ? tg_mail_channel_at(site, came) : c,
                   number);
  } else if (parcel.k == 0) {
    tg_stamp_write(pe, tg_row_out(c), before ? TG_STAGE_BEGIN : TG_STAGE_POST_HOME, c, number);
  }
}

template <bool TRACED, typename T, int N>
static __device__ __forceinline__ void tg_stamp_receive(const tg_mail_site<T, N>& site,
                                                        const tg_parcel<T>& parcel, bool before,
                                                        uint64_t number) {
  if (!TRACED || !parcel.arrives || parcel.k != parcel.receive_count - 1) return;
  const int c = tg_mail_channel_at(site, parcel.slot);
  tg_stamp_write((int)blockIdx.y, tg_row_in(site.channel_count, c),
                 before ? TG_STAGE_BEGIN : TG_STAGE_RECEIVE, c, number);
}

/* Sends an atom: at once if it is at home, else as soon as its own letter is there. */
template <typename T, int N>
static __device__ __forceinline__ bool tg_parcel_send(const tg_mail_site<T, N>& site,
                                                      const tg_halo_port<T>* port,
                                                      const char* memory,
                                                      const tg_parcel<T>& parcel, uint64_t number) {
  enum { WORDS = 2 * tg_halo_letter<T>::words };
  if (parcel.k >= parcel.send_count) return true;
  T at[3];
  if (parcel.atom < (uint32_t)site.home_capacity) {
    const T* x = (const T*)(memory + site.x) + 3 * (size_t)parcel.atom;
    for (int d = 0; d < 3; d++) at[d] = x[d];
  } else {
    const uint64_t* mail = (const uint64_t*)(memory + site.x_mail);
    size_t slot = parcel.atom - (uint32_t)site.home_capacity;
    if (!tg_halo_await_letter(port, mail, mail + WORDS * slot, number, TG_HALO_POSITIONS, at))
      return false;
  }
  tg_halo_add_shift(parcel.shift, at);
  if (parcel.posted)
    tg_halo_post(parcel.mail_out + WORDS * (size_t)parcel.k, at, number);
  else
    for (int d = 0; d < 3; d++) parcel.out[3 * (size_t)parcel.k + d] = at[d];
  return true;
}

template <typename T, int N>
static __device__ __forceinline__ bool tg_parcel_receive(const tg_mail_site<T, N>& site,
                                                         const tg_halo_port<T>* port, char* memory,
                                                         const tg_parcel<T>& parcel,
                                                         uint64_t number) {
  enum { WORDS = 2 * tg_halo_letter<T>::words };
  if (!parcel.arrives || parcel.k >= parcel.receive_count) return true;
  const uint64_t* mail = (const uint64_t*)(memory + site.x_mail);
  T at[3];
  if (!tg_halo_await_letter(port, mail, mail + WORDS * (size_t)parcel.slot, number,
                            TG_HALO_POSITIONS, at))
    return false;
  T* to = (T*)(memory + site.x) + 3 * ((size_t)parcel.slice + (size_t)parcel.k);
  for (int d = 0; d < 3; d++) to[d] = at[d];
  return true;
}

/* Positions, from x at home to the slices at the receivers. by_mail = 0, only where nothing is
 * forwarded: what goes to this card goes straight into the slice, and like all of the kernel is
 * there when it ends.
 *
 * The last block of a PE that has sent (and so has read x_sent) counts the exchange while the
 * letters travel. Nobody reads x_sent or x_flag before the kernel's end; the flag rises by maximum,
 * because the sender of an empty message may be ahead, having pushed the next one. */
template <typename T, int N, bool TRACED>
static __global__ void __launch_bounds__(TG_MAIL_THREADS)
    tg_post_positions(const __grid_constant__ tg_mail_site<T, N> site, int consume, int by_mail) {
  char* memory = site.memory[blockIdx.y];
  const tg_halo_port<T>* port = &site.ports[blockIdx.y];
  uint64_t* flags = (uint64_t*)(memory + site.flags);
  uint64_t* sent = flags + 3 * site.channel_count;
  const tg_parcel<T> first = tg_parcel_load(site, memory, (int)blockIdx.x, by_mail != 0);
  unsigned* done = port->x_done;
  tg_halo_turn turn = {};
  if (consume)
    turn = tg_halo_turn_load((const tg_halo_channel<T>*)(memory + site.channel),
                             flags + 2 * site.channel_count, site.channel_count);
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  const uint64_t number = *(volatile const uint64_t*)sent + 1;
  if (consume && !tg_halo_turn_take(port, turn, number)) return;
  bool good = true;
  for (int block = (int)blockIdx.x; good && block < site.blocks; block += (int)gridDim.x) {
    const tg_parcel<T> parcel =
        block == (int)blockIdx.x ? first : tg_parcel_load(site, memory, block, by_mail != 0);
    tg_stamp_send<TRACED>(site, parcel, true, number);
    good = tg_parcel_send(site, port, memory, parcel, number);
    tg_stamp_send<TRACED>(site, parcel, false, number);
  }
  if (__syncthreads_or(!good)) return;
  if (threadIdx.x == 0 && atomicAdd(done, 1u) == gridDim.x - 1) {
    *done = 0;
    for (int c = 0; c < site.channel_count; c++) {
      sent[c] = number;
      atomicMax_system((unsigned long long*)&flags[c], (unsigned long long)number);
    }
  }
  for (int block = (int)blockIdx.x; good && block < site.blocks; block += (int)gridDim.x) {
    const tg_parcel<T> parcel =
        block == (int)blockIdx.x ? first : tg_parcel_load(site, memory, block, by_mail != 0);
    tg_stamp_receive<TRACED>(site, parcel, true, number);
    good = tg_parcel_receive(site, port, memory, parcel, number);
    tg_stamp_receive<TRACED>(site, parcel, false, number);
  }
}

/* Schedule direct, a consumer's first act: takes in what other cards' kernels have posted; then all
 * slices are there when the kernel ends. */
template <typename T, int N>
static __global__ void __launch_bounds__(TG_MAIL_THREADS)
    tg_take_positions(const __grid_constant__ tg_mail_site<T, N> site) {
  char* memory = site.memory[blockIdx.y];
  const tg_halo_port<T>* port = &site.ports[blockIdx.y];
  uint64_t* flags = (uint64_t*)(memory + site.flags);
  tg_parcel<T> parcel = tg_parcel_load(site, memory, (int)blockIdx.x, false);
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  const uint64_t number = *(volatile const uint64_t*)(flags + 3 * site.channel_count);
  if (blockIdx.x == 0 && (int)threadIdx.x < site.channel_count)
    atomicMax_system((unsigned long long*)&flags[threadIdx.x], (unsigned long long)number);
  for (int block = (int)blockIdx.x;;) {
    if (!tg_parcel_receive(site, port, memory, parcel, number)) return;
    block += (int)gridDim.x;
    if (block >= site.blocks) return;
    parcel = tg_parcel_load(site, memory, block, false);
  }
}

#endif
