/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that make a plan on the device: from centres in device memory to the maps of
 * upload.cu, the same to the last byte.
 *
 * What decides. An atom goes k domains down along d if it passes k comparisons "centre < lower
 * boundary + reach", each in the frame of the next domain. Its owner makes them all, with the
 * host's arithmetic, and packs the three counts of hops into a *code*. Which messages carry the
 * atom, from its home and from every PE that forwards it, follows from the code alone. So codes
 * travel in place of centres, and no two PEs can decide differently.
 *
 * Stages; each is one launch for all PEs of a card (PE = blockIdx.z):
 *   1 tg_plan_count   codes of home atoms; per tile of 256: how many go into each message
 *   2 tg_plan_send    the messages, ranked by those counts: staged pulse by pulse, direct all at
 *                     once; codes go to the receiver with the plan's number as flag
 *   3 tg_plan_scan    where each local atom's copies begin
 *   4 tg_plan_copies  the copies, and where each one's force is found
 *
 * Protocol of plan number m with neighbours, flags as in throng/device/halo.cuh (PEs of one card
 * need none: a stage has ended before the next begins):
 *
 * | step | sender S of channel c                     | receiver R                                |
 * |------|-------------------------------------------|-------------------------------------------|
 * | 1    |                                           | raise S.ready[c] = m (stage 1: all that R |
 * |      |                                           | did under the old plan has ended)         |
 * | 2    | wait ready[c] >= m                        |                                           |
 * | 3    | store codes, their count; raise           |                                           |
 * |      | R.arrived[c] = m (release)                |                                           |
 * | 4    |                                           | wait arrived[c] >= m, read                |
 *
 * That is a barrier among neighbours: after it neither works under the old plan. Each wait is for
 * an earlier stage of another card, so stages need not be resident as a whole.
 *
 * A message that outgrows its room is cut there, which leaves maps that lead nowhere outside; the
 * fault is recorded and the abort word ends all later waits. Bound by latency: five to ten small
 * kernels. Ranks are counted, never drawn from atomics, so a plan is always the same. */
#ifndef TG_HALO_CUDA_PLAN_CUH
#define TG_HALO_CUDA_PLAN_CUH

#include <throng/device/halo.cuh>

#include "halo/device_plan.h"

enum { TG_PLAN_TILE = 256, TG_PLAN_WARPS = TG_PLAN_TILE / 32 };
/* Slots are taken four tiles to a block, which looks through all slots before its first. */
enum { TG_PLAN_CHUNKS = 4, TG_PLAN_SLOTS = TG_PLAN_CHUNKS * TG_PLAN_TILE };

/** What is the same for all PEs and all plans of a halo: a kernel argument. */
typedef struct tg_plan_shape {
  int direct, channel_count, home_capacity, local_capacity, copy_capacity, home_tiles;
  size_t x, flags, words, code, tiles, closed; /* bytes into a PE's memory */
  int grid[3], pulses[3], first[3];            /* first: staged, a dimension's first channel */
  uint8_t dimension[TG_HALO_MOST_CHANNELS];    /* staged */
  uint8_t pulse[TG_HALO_MOST_CHANNELS];        /* staged: of its dimension, from 0 */
  uint32_t offset[TG_HALO_MOST_CHANNELS];      /* direct: domains up along x, y, z, a byte each */
  int capacity[TG_HALO_MOST_CHANNELS], slice[TG_HALO_MOST_CHANNELS];
} tg_plan_shape;

/** Where a PE's plan comes from. */
template <typename T>
struct tg_plan_input {
  const T* centre;  /* [home count][3], nm; NULL: port->x */
  const int* count; /* home atoms; NULL: as many as before */
};

/** A PE's memory, writable. */
template <typename T>
struct tg_plan_pe {
  tg_halo_port<T>* port;
  tg_halo_channel<T>* channel;
  uint64_t *arrived, *ready, *number; /* [channels] flags; plans made so far */
  unsigned *count, *total, *done;     /* [channels]: atoms that arrive, that go; blocks done */
  uint32_t* code;                     /* [local capacity] */
  int* tile;                          /* [channels + 2][home tiles]: see tg_plan_count */
  uint32_t* closed;                   /* [home capacity]: an atom's place in return_atom */
};

static __host__ __device__ __forceinline__ size_t tg_plan_words_bytes(int channels) {
  return (2 * (size_t)channels + 1) * sizeof(uint64_t) + 3 * (size_t)channels * sizeof(unsigned);
}

template <typename T>
static __device__ __forceinline__ tg_plan_pe<T> tg_plan_pe_at(tg_halo_port<T>* port,
                                                              const tg_plan_shape& shape) {
  char* memory = (char*)port->x - shape.x;
  tg_plan_pe<T> pe;
  pe.port = port;
  pe.channel = const_cast<tg_halo_channel<T>*>(port->channel);
  pe.arrived = (uint64_t*)(memory + shape.words);
  pe.ready = pe.arrived + shape.channel_count;
  pe.number = pe.ready + shape.channel_count;
  pe.count = (unsigned*)(pe.number + 1);
  pe.total = pe.count + shape.channel_count;
  pe.done = pe.total + shape.channel_count;
  pe.code = (uint32_t*)(memory + shape.code);
  pe.tile = (int*)(memory + shape.tiles);
  pe.closed = (uint32_t*)(memory + shape.closed);
  return pe;
}

/* The memory of the PEs at the ends of channel c, from the pointers that the channel has. */
template <typename T>
static __device__ __forceinline__ char* tg_plan_to(const tg_halo_channel<T>* channel, int c,
                                                   const tg_plan_shape& shape) {
  return (char*)channel->x_flag_out - shape.flags - (size_t)c * sizeof(uint64_t);
}
template <typename T>
static __device__ __forceinline__ char* tg_plan_from(const tg_halo_channel<T>* channel, int c,
                                                     const tg_plan_shape& shape) {
  return (char*)channel->consumed_out - shape.flags -
         (size_t)(2 * shape.channel_count + c) * sizeof(uint64_t);
}

/* Bit c: channel c carries on an atom of this code that came by channel q (below 0: is home). */
static __device__ __forceinline__ unsigned long long tg_plan_mask(const tg_plan_shape& shape, int q,
                                                                  uint32_t code) {
  unsigned long long mask = 0;
  if (shape.direct) {
    for (int c = 0; q < 0 && c < shape.channel_count; c++)
      if (__vcmpgeu4(code, shape.offset[c]) == 0xffffffffu) mask |= 1ull << c;
    return mask;
  }
  int from = q < 0 ? 3 : shape.dimension[q]; /* z, y, x in turn: the ones below are to come */
  for (int d = 0; d < from; d++)
    if (code >> 8 * d & 255) mask |= 1ull << shape.first[d];
  if (q >= 0 && (int)(code >> 8 * from & 255) > shape.pulse[q] + 1) mask |= 2ull << q;
  return mask;
}

/* Over the block: what the threads before this one add up to; *total of all. */
static __device__ int tg_plan_before(int value, int* total) {
  __shared__ int warps[TG_PLAN_WARPS];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  int sum = value;
  for (int step = 1; step < 32; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads(); /* the last call's readers are done */
  if (lane == 31) warps[warp] = sum;
  __syncthreads();
  int before = sum - value, all = 0;
  for (int w = 0; w < TG_PLAN_WARPS; w++) {
    if (w < warp) before += warps[w];
    all += warps[w];
  }
  *total = all;
  return before;
}

static __device__ __forceinline__ int tg_plan_sum(int value) {
  int total;
  tg_plan_before(value, &total);
  return total;
}

/* Over the block: the first `count` values. */
static __device__ __forceinline__ int tg_plan_sum_of(const int* values, int count) {
  int sum = 0;
  for (int i = (int)threadIdx.x; i < count; i += TG_PLAN_TILE) sum += values[i];
  return tg_plan_sum(sum);
}

/* The whole block: waits for what channels first..last-1 bring from other cards. */
template <typename T>
static __device__ bool tg_plan_await(const tg_plan_pe<T>& pe, int first, int last,
                                     uint64_t number) {
  for (int q = first; q < last; q++)
    if (pe.channel[q].from_elsewhere &&
        !tg_halo_wait_block(pe.port, &pe.arrived[q], number, pe.channel[q].from, q, TG_HALO_PLAN))
      return false;
  return true;
}

/* What lies below this along d goes down from a domain; in the arithmetic of the host's
 * tg_halo_boundary. */
static __device__ double tg_plan_limit(const tg_device_geometry* box, int d, int cell) {
  double edge = box->edge[d];
  double boundary = __ddiv_rn(__dmul_rn(edge, (double)cell), (double)box->grid[d]);
  return __dadd_rn(boundary, box->reach);
}

/* The host's tg_halo_across. */
static __device__ void tg_plan_across(const tg_device_geometry* box, double at[3]) {
  double c = __ddiv_rn(at[2], box->vector[2][2]);
  double b = __ddiv_rn(__dsub_rn(at[1], __dmul_rn(c, box->vector[2][1])), box->vector[1][1]);
  double a = __dsub_rn(at[0], __dmul_rn(b, box->vector[1][0]));
  a = __ddiv_rn(__dsub_rn(a, __dmul_rn(c, box->vector[2][0])), box->vector[0][0]);
  at[0] = __dmul_rn(a, box->edge[0]);
  at[1] = __dmul_rn(b, box->edge[1]);
  at[2] = __dmul_rn(c, box->edge[2]);
}

static __device__ void tg_plan_cell(const tg_plan_shape& shape, int pe, int cell[3]) {
  cell[2] = pe % shape.grid[2];
  cell[1] = pe / shape.grid[2] % shape.grid[1];
  cell[0] = pe / shape.grid[2] / shape.grid[1];
}

/* From centres to codes, and per tile of 256 home atoms: how many go into each channel, copies, and
 * atoms that have one. */
template <typename T>
static __global__ void __launch_bounds__(TG_PLAN_TILE)
    tg_plan_count(tg_halo_port<T>* ports, const tg_plan_input<T>* inputs,
                  const tg_device_geometry* box, const __grid_constant__ tg_plan_shape shape) {
  const tg_plan_pe<T> pe = tg_plan_pe_at(&ports[blockIdx.z], shape);
  const tg_plan_input<T> input = inputs[blockIdx.z];
  const int channels = shape.channel_count, t = (int)threadIdx.x;
  __shared__ double limit[3][TG_HALO_MOST_CHANNELS];
  __shared__ int of[TG_HALO_MOST_CHANNELS + 2];
  int cell[3];
  tg_plan_cell(shape, pe.port->pe, cell);
  for (int i = t; i < 3 * TG_HALO_MOST_CHANNELS; i += TG_PLAN_TILE) {
    int d = i / TG_HALO_MOST_CHANNELS, hop = i % TG_HALO_MOST_CHANNELS;
    if (hop < shape.pulses[d])
      limit[d][hop] = tg_plan_limit(box, d, (cell[d] - hop + shape.grid[d]) % shape.grid[d]);
  }
  if (t < channels + 2) of[t] = 0;
  const int wanted = input.count ? *input.count : pe.port->home_count;
  const int home = wanted < 0 ? 0 : wanted < shape.home_capacity ? wanted : shape.home_capacity;
  if (blockIdx.x == 0) {
    if (t < channels && pe.channel[t].from_elsewhere)
      tg_halo_store_release(
          (uint64_t*)(tg_plan_from(&pe.channel[t], t, shape) + shape.words) + channels + t,
          *pe.number + 1);
    if (t == 0 && input.count) pe.port->home_count = home; /* which no block has read */
    if (t == 0 && wanted != home)
      tg_halo_give_up(pe.port, pe.port->pe, -1, TG_HALO_ROOM, (uint64_t)(int64_t)wanted,
                      (uint64_t)shape.home_capacity);
  }
  __syncthreads();
  const int i = (int)blockIdx.x * TG_PLAN_TILE + t;
  uint32_t code = 0;
  if (i < home) {
    const T* from = (input.centre ? input.centre : pe.port->x) + 3 * (size_t)i;
    double at[3] = {(double)from[0], (double)from[1], (double)from[2]};
    if (box->oblique) tg_plan_across(box, at);
    for (int d = 0; d < 3; d++) {
      int hops = 0, domain = cell[d];
      double along = at[d];
      while (hops < shape.pulses[d] && along < limit[d][hops]) {
        along = __dadd_rn(along, domain == 0 ? box->edge[d] : 0.0);
        domain = domain ? domain - 1 : shape.grid[d] - 1;
        hops++;
      }
      code |= (uint32_t)hops << 8 * d;
    }
  }
  if (i < shape.home_capacity) pe.code[i] = code;
  const unsigned long long mask = tg_plan_mask(shape, -1, code);
  for (int c = 0; c < channels; c++) {
    unsigned with = __ballot_sync(0xffffffffu, (unsigned)(mask >> c) & 1u);
    if (with && t % 32 == 0) atomicAdd(&of[c], __popc(with));
  }
  int copies = tg_plan_sum(__popcll(mask)), returns = tg_plan_sum(mask != 0);
  if (t == 0) {
    of[channels] = copies;
    of[channels + 1] = returns;
  }
  __syncthreads();
  if (t < channels + 2) pe.tile[t * shape.home_tiles + (int)blockIdx.x] = of[t];
}

/* The slots that may hold what channel c forwards: those of channels first..c-1. */
static __device__ __forceinline__ int tg_plan_first_source(const tg_plan_shape& shape, int c) {
  return shape.direct ? c : shape.pulse[c] ? c - 1 : 0;
}

/* Over the block: how many atoms that came by channel q into slots below `end` channel c carries
 * on. */
template <typename T>
static __device__ int tg_plan_count_slots(const tg_plan_pe<T>& pe, const tg_plan_shape& shape,
                                          int q, int c, int end) {
  int count = 0, last = min(end - shape.slice[q], (int)pe.count[q]);
  const uint32_t* code = pe.code + shape.slice[q];
  for (int k = (int)threadIdx.x; k < last; k += TG_PLAN_TILE)
    count += (int)(tg_plan_mask(shape, q, code[k]) >> c & 1);
  return count;
}

/* Channel c as a whole: counts, segments and shift; what lies behind its last atom. */
template <typename T>
static __device__ void tg_plan_total(const tg_plan_pe<T>& pe, const tg_device_geometry* box,
                                     const tg_plan_shape& shape, int c) {
  const int channels = shape.channel_count, first = tg_plan_first_source(shape, c);
  const int room = shape.capacity[c], t = (int)threadIdx.x;
  int* segment = const_cast<int*>(pe.port->segment) + c * (channels + 1);
  int sum = tg_plan_sum_of(pe.tile + c * shape.home_tiles, shape.home_tiles);
  if (t == 0) segment[0] = 0;
  for (int s = 1; s <= channels; s++) {
    if (s - 2 >= first && s - 2 < c)
      sum += tg_plan_sum(tg_plan_count_slots(pe, shape, s - 2, c, shape.local_capacity));
    if (t == 0) segment[s] = min(sum, room);
  }
  const int total = min(sum, room);
  tg_halo_channel<T>* channel = &pe.channel[c];
  uint32_t* index = const_cast<uint32_t*>(pe.port->index) + channel->send_slot;
  for (int k = total + t; k < room; k += TG_PLAN_TILE) index[k] = 0;
  if (t != 0) return;
  channel->send_count = total;
  pe.total[c] = (unsigned)total;
  if (sum > room)
    tg_halo_give_up(pe.port, channel->to, c, TG_HALO_ROOM, (uint64_t)sum, (uint64_t)room);
  int cell[3];
  double crossed[3][3] = {}; /* along z, y, x */
  tg_plan_cell(shape, pe.port->pe, cell);
  for (int d = 0; d < 3; d++) {
    int up = shape.direct ? (int)(shape.offset[c] >> 8 * d & 255) : shape.dimension[c] == d;
    for (int i = 0; i < 3 && cell[d] < up; i++) crossed[2 - d][i] = box->vector[d][i];
  }
  channel->shift = tg_halo_shift_of<T>(crossed);
}

/* Over the block: the atoms, one a thread, that channel c takes get their places, from `next` on,
 * which is moved on. */
template <typename T>
static __device__ void tg_plan_take(const tg_plan_pe<T>& pe, const tg_plan_shape& shape, int c,
                                    int slot, uint32_t code, bool taking, int* next) {
  const tg_halo_channel<T>* channel = &pe.channel[c];
  int taken, k = *next + tg_plan_before(taking, &taken);
  *next += taken;
  if (!taking || k >= shape.capacity[c]) return;
  const_cast<uint32_t*>(pe.port->index)[channel->send_slot + k] = (uint32_t)slot;
  uint32_t* out = (uint32_t*)(tg_plan_to(channel, c, shape) + shape.code) + shape.slice[c];
  if (!shape.direct) out[k] = code;
}

/* The channel among first..last-1 that brought an atom into this slot; `last` if none did. */
template <typename T>
static __device__ __forceinline__ int tg_plan_channel_of(const tg_plan_pe<T>& pe,
                                                         const tg_plan_shape& shape, int slot,
                                                         int first, int last) {
  int q = first;
  while (q < last && slot >= shape.slice[q] + shape.capacity[q]) q++;
  return q < last && slot - shape.slice[q] < (int)pe.count[q] ? q : last;
}

/* From codes to messages: block x takes home atoms or slots, the last one the totals.
 * A channel of a later pulse sends no home atoms, and has no such tiles. */
template <typename T>
static __global__ void __launch_bounds__(TG_PLAN_TILE)
    tg_plan_send(tg_halo_port<T>* ports, const tg_device_geometry* box, int first_channel,
                 const __grid_constant__ tg_plan_shape shape) {
  const tg_plan_pe<T> pe = tg_plan_pe_at(&ports[blockIdx.z], shape);
  const int c = first_channel + (int)blockIdx.y, t = (int)threadIdx.x;
  const uint64_t number = *pe.number + 1;
  tg_halo_channel<T>* channel = &pe.channel[c];
  const int first = tg_plan_first_source(shape, c);
  const bool from_home = shape.direct || shape.pulse[c] == 0;
  const int home_tiles = from_home ? shape.home_tiles : 0, tile = (int)blockIdx.x;
  if (channel->to_elsewhere &&
      !tg_halo_wait_block(pe.port, &pe.ready[c], number, channel->to, c, TG_HALO_READY))
    return;
  if (tile == (int)gridDim.x - 1) {
    if (!tg_plan_await(pe, first, c, number)) return;
    tg_plan_total(pe, box, shape, c);
  } else if (tile < home_tiles) {
    int next = tg_plan_sum_of(pe.tile + c * shape.home_tiles, tile), slot = tile * TG_PLAN_TILE + t;
    uint32_t code = slot < shape.home_capacity ? pe.code[slot] : 0;
    tg_plan_take(pe, shape, c, slot, code, tg_plan_mask(shape, -1, code) >> c & 1, &next);
  } else {
    if (!tg_plan_await(pe, first, c, number)) return;
    int start = (from_home ? shape.home_capacity : shape.slice[first]) +
                (tile - home_tiles) * TG_PLAN_SLOTS;
    int sum = 0;
    for (int q = first; q < c; q++) sum += tg_plan_count_slots(pe, shape, q, c, start);
    int next = tg_plan_sum(sum) + tg_plan_sum_of(pe.tile + c * shape.home_tiles, home_tiles);
    for (int slot = start + t; slot < start + TG_PLAN_SLOTS; slot += TG_PLAN_TILE) {
      int q = tg_plan_channel_of(pe, shape, slot, first, c);
      uint32_t code = q < c ? pe.code[slot] : 0;
      tg_plan_take(pe, shape, c, slot, code, q < c && (tg_plan_mask(shape, q, code) >> c & 1),
                   &next);
    }
  }
  __syncthreads();
  if (t != 0 || tg_halo_count_block(&pe.done[c]) != gridDim.x - 1) return;
  pe.done[c] = 0;
  uint64_t* words = (uint64_t*)(tg_plan_to(channel, c, shape) + shape.words);
  ((volatile unsigned*)(words + 2 * shape.channel_count + 1))[c] =
      *(volatile unsigned*)&pe.total[c];
  tg_halo_store_release(&words[c], number);
}

/* A PE as a whole: what arrives, and what returns into what. */
template <typename T>
static __device__ void tg_plan_arrivals(const tg_plan_pe<T>& pe, const tg_plan_shape& shape,
                                        uint32_t copies, int returns) {
  const int channels = shape.channel_count, q = (int)threadIdx.x;
  if (q < channels) {
    unsigned long long waits = 0;
    for (int c = q + 1; c < channels; c++) {
      const int* segment = pe.port->segment + c * (channels + 1);
      if (segment[q + 2] > segment[q + 1]) waits |= 1ull << c;
    }
    pe.channel[q].f_waits = waits;
    pe.channel[q].receive_count = (int)pe.count[q];
  }
  if (q != 0) return;
  const_cast<uint32_t*>(pe.port->copy_start)[shape.local_capacity] = copies;
  pe.port->return_count = returns;
}

/* From codes to copy_start, return_atom and the sums that add nothing: block x takes home atoms or
 * slots, the last one what concerns the PE. */
template <typename T>
static __global__ void __launch_bounds__(TG_PLAN_TILE)
    tg_plan_scan(tg_halo_port<T>* ports, const __grid_constant__ tg_plan_shape shape) {
  const tg_plan_pe<T> pe = tg_plan_pe_at(&ports[blockIdx.z], shape);
  const int channels = shape.channel_count, tile = (int)blockIdx.x, t = (int)threadIdx.x;
  const uint64_t number = *pe.number + 1;
  const int *copies_of = pe.tile + channels * shape.home_tiles,
            *returns_of = copies_of + shape.home_tiles;
  uint32_t* copy_start = const_cast<uint32_t*>(pe.port->copy_start);
  tg_halo_sum* sums = const_cast<tg_halo_sum*>(pe.port->sum);
  int most = 0; /* copies of all atoms; where messages were cut the sum of them may say more */
  for (int c = 0; c < channels; c++) most += pe.channel[c].send_count;
  const int returns = tg_plan_sum_of(returns_of, shape.home_tiles);
  int total;
  if (tile == (int)gridDim.x - 1) {
    if (tg_plan_await(pe, 0, channels, number))
      tg_plan_arrivals(pe, shape, (uint32_t)most, returns);
  } else if (tile < shape.home_tiles) {
    int i = tile * TG_PLAN_TILE + t;
    unsigned long long mask = i < shape.home_capacity ? tg_plan_mask(shape, -1, pe.code[i]) : 0;
    int start = tg_plan_sum_of(copies_of, tile);
    start += tg_plan_before(__popcll(mask), &total);
    int place = tg_plan_sum_of(returns_of, tile);
    place += tg_plan_before(mask != 0, &total);
    if (i >= shape.home_capacity) return;
    copy_start[i] = (uint32_t)min(start, most);
    if (i >= returns) sums[i] = tg_halo_sum{0, 0, 0};
    if (!mask) return;
    const_cast<uint32_t*>(pe.port->return_atom)[place] = (uint32_t)i;
    pe.closed[i] = (uint32_t)place;
  } else {
    int start = shape.home_capacity + (tile - shape.home_tiles) * TG_PLAN_SLOTS, sum = 0;
    int needed = shape.direct ? 0 : channels; /* direct: no copy goes on */
    while (needed > 0 && shape.slice[needed - 1] >= start + TG_PLAN_SLOTS) needed--;
    if (!tg_plan_await(pe, 0, needed, number)) return;
    for (int q = 0; q < needed; q++) {
      const uint32_t* code = pe.code + shape.slice[q];
      int last = min(start - shape.slice[q], (int)pe.count[q]);
      for (int k = t; k < last; k += TG_PLAN_TILE) sum += __popcll(tg_plan_mask(shape, q, code[k]));
    }
    int next = tg_plan_sum(sum) + tg_plan_sum_of(copies_of, shape.home_tiles);
    for (int slot = start + t; slot < start + TG_PLAN_SLOTS; slot += TG_PLAN_TILE) {
      int q = tg_plan_channel_of(pe, shape, slot, 0, needed);
      unsigned long long mask = q < needed ? tg_plan_mask(shape, q, pe.code[slot]) : 0;
      int at = min(next + tg_plan_before(__popcll(mask), &total), most);
      next += total;
      if (slot >= shape.local_capacity) continue;
      copy_start[slot] = (uint32_t)at;
      if (!mask) sums[slot] = tg_halo_sum{(uint32_t)slot, (uint32_t)at + 1, 0};
    }
  }
}

/* From messages to copy, source and the sums that add something: row c takes channel c, the last
 * one what lies behind the last copy. */
template <typename T>
static __global__ void __launch_bounds__(TG_PLAN_TILE)
    tg_plan_copies(tg_halo_port<T>* ports, const __grid_constant__ tg_plan_shape shape) {
  const tg_plan_pe<T> pe = tg_plan_pe_at(&ports[blockIdx.z], shape);
  const int channels = shape.channel_count, c = (int)blockIdx.y;
  const int begin = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int stride = (int)(gridDim.x * blockDim.x);
  const uint32_t* copy_start = pe.port->copy_start;
  const uint32_t most = copy_start[shape.local_capacity];
  uint32_t* copy = const_cast<uint32_t*>(pe.port->copy);
  uint64_t* source = const_cast<uint64_t*>(pe.port->source);
  tg_halo_sum* sums = const_cast<tg_halo_sum*>(pe.port->sum);
  if (c == channels) {
    for (int i = (int)most + begin; i < shape.copy_capacity; i += stride) {
      copy[i] = 0;
      source[i] = 0;
    }
    if (begin == 0) ++*pe.number;
    return;
  }
  const tg_halo_channel<T>* channel = &pe.channel[c];
  const int* segment = pe.port->segment + c * (channels + 1);
  for (int k = begin; k < channel->send_count; k += stride) {
    uint32_t atom = pe.port->index[channel->send_slot + k], code = pe.code[atom];
    int s = 0;
    while (s < channels && k >= segment[s + 1]) s++;
    const unsigned long long mask = tg_plan_mask(shape, s - 1, code);
    const unsigned long long above = mask >> c >> 1, below = mask & ((1ull << c) - 1);
    const uint32_t at = copy_start[atom] + (uint32_t)__popcll(above); /* channels descend */
    if (at >= most) continue; /* only where messages were cut */
    copy[at] = (uint32_t)c << TG_HALO_PLACE_BITS | (uint32_t)k;
    const bool near = !channel->to_elsewhere && !tg_plan_mask(shape, c, code);
    uint64_t where = near ? (uint64_t)(channel->f_pull + 3 * (size_t)k) | TG_HALO_NEAR
                          : (uint64_t)(pe.port->mail + 2 * (size_t)tg_halo_letter<T>::words *
                                                           (size_t)(channel->send_slot + k));
    if (below && at + 1 < most) where |= TG_HALO_MORE;
    source[at] = where;
    if (above) continue;
    bool home = (int)atom < shape.home_capacity;
    sums[home ? pe.closed[atom] : atom] = tg_halo_sum{atom, at + 1, where};
  }
}

#endif
