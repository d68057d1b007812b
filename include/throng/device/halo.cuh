/* SPDX-License-Identifier: Apache-2.0 */
/** @file throng/device/halo.cuh  The device-callable half of the halo exchange.
 *
 * A kernel that computes an atom's position can store it straight into the memory of every
 * processing element (PE) that needs a copy, and the kernel that needs the copies can wait for
 * them. All a kernel needs is a pointer to its PE's *port* (tg_device_halo_view in
 * throng/device_halo.h). T is float or double.
 *
 * A *channel* is one message: to one PE, from one PE, always the same two. Direct exchange has a
 * channel per neighbour; staged exchange has one per pulse and forwards.
 *
 * Protocol, for exchange number n of channel c (first n = 1; a flag is a 64-bit counter, 0 at
 * first, that only rises; "wait" means until flag >= the value, acquiring at system scope):
 *
 * | step | sender S                                   | receiver R                               |
 * |------|--------------------------------------------|------------------------------------------|
 * | 1    | (no force return) wait consumed >= n-1     | raise S.consumed = n-1                   |
 * | 2    | store atoms into R's slice c               |                                          |
 * | 3    | blocks count themselves (acq_rel, device); |                                          |
 * |      | the last raises R.x_flag = n (release.sys) |                                          |
 * | 4    |                                            | wait x_flag >= n, read slice c           |
 * | 5    |                                            | forces of slice c are ready: leave them  |
 * |      |                                            | (pull) or add them at S (reduce), raise  |
 * |      |                                            | S.f_flag = n; or put each into S's mail  |
 * |      |                                            | with n in the same 16-byte word          |
 * | 6    | wait f_flag >= n, or for n in every word   |                                          |
 * |      | of c's mail; add the forces                |                                          |
 *
 * Write-after-read: step 2 of n+1 overwrites what R read in n. R's f_flag = n (step 5) or consumed
 * = n (step 1 of n+1) says that it has. Forces likewise: R writes slice c's forces for n+1 only
 * after its step 4 of n+1, which follows S's step 6 of n. An empty message raises its flags too.
 *
 * An exchange that is a kernel of its own sends positions by mail, too, unless it forwards some and
 * its forces are not put (steps 2 to 4); R's kernel copies them into slice c and brings R.x_flag up
 * to n itself.
 *
 * A word of mail is written and read by single 16-byte accesses, so whoever finds n in it has the
 * force that came with it: no fence, no count of blocks and no flag behind the data. It holds
 * exactly n when it is awaited, as by the rule above R cannot be ahead. Within a card S reads
 * forces that nothing is added to where they lie, without mail: they were ready before the kernel
 * began.
 *
 * Data of the halo must be read through pointers without const __restrict__ in a kernel that waits:
 * the non-coherent path may serve what stood there before.
 *
 * A wait gives up at its deadline or when any PE has: it records who waited for whom, then returns
 * false; the kernel must return without raising anything. */
#ifndef THRONG_DEVICE_HALO_CUH
#define THRONG_DEVICE_HALO_CUH

#include <stdint.h>

/** What is being waited for, in the record of a wait that gave up. */
enum tg_halo_flag { TG_HALO_POSITIONS = 1, TG_HALO_FORCES = 2, TG_HALO_CONSUMED = 3 };

/** The first wait of a card that met its deadline. */
struct tg_halo_fault {
  unsigned found; /* 1: the rest is valid (after the kernel's end) */
  int waiting_pe, awaited_pe, channel, flag;
  unsigned long long seen, wanted;
};

/** An atom of this PE and the first of the forces to be added to it: the address of its mail or,
 * with TG_HALO_NEAR, of three components of f on this card; 0: none. With TG_HALO_MORE others
 * follow, likewise, from port->source[next] on. */
struct __align__(16) tg_halo_sum {
  uint32_t atom, next;
  uint64_t source;
};

enum { TG_HALO_NEAR = 1, TG_HALO_MORE = 2 }; /* in the low bits of an address */

template <typename T>
struct tg_halo_channel {
  int to, from;                 /* PEs: positions go to one and come from the other */
  int to_elsewhere;             /* 1: on another card */
  int from_elsewhere;           /* 1: on another card */
  int send_count;               /* atoms */
  int receive_count;            /* atoms */
  int send_slot;                /* first element in index, f_in and packed */
  int slice;                    /* first atom of what arrives, in x and f */
  unsigned long long f_waits;   /* bit q: forces that return by channel q go into this slice */
  T shift[3];                   /* nm, added to what is sent */
  T* x_out;                     /* [send_count][3], the slice at `to` */
  uint64_t* mail_out;           /* [receive_count] letters, in the mail of `from` */
  uint64_t* x_mail_out;         /* [send_count] letters, in x_mail of `to` */
  T* f_pull;                    /* [send_count][3], the forces of the slice at `to` */
  T* reduce_out;                /* [atoms of `from`][3] */
  const uint32_t* reduce_index; /* [receive_count], atoms of `from` */
  uint64_t *x_flag_out, *f_flag_out, *consumed_out; /* at `to`, `from`, `from` */
};

/** What one PE knows. All pointers are valid on its card; some lead to other cards. */
template <typename T>
struct tg_halo_port {
  int pe, pe_count, channel_count;
  int home_count;   /* atoms */
  int return_count; /* home atoms with a copy elsewhere */
  T *x, *f;         /* [local capacity][3]; home, then a slice at a fixed place per channel */
  T* f_in;          /* [send capacity][3] */
  T* reduce;        /* [local capacity][3] */
  T* packed;        /* [send capacity][3] */
  uint64_t *mail, *x_mail;     /* [send capacity] letters: forces, positions */
  const uint32_t* index;       /* [send capacity]: the atoms sent, channel by channel, ascending */
  const int* segment;          /* [channel_count][channel_count + 1]: in channel c, entries from
                                  segment[s] on come from channel s - 1 or later (s = 0: home) */
  const uint32_t* copy_start;  /* [local capacity + 1]: of an atom's copies in copy */
  const uint32_t* copy;        /* channel << 26 | place in its message; channels descend */
  const uint32_t* return_atom; /* [return_count] */
  const tg_halo_sum*
      sum; /* [local capacity]: return_count home atoms, then slices in their places */
  const uint64_t* source;               /* [send capacity] */
  uint64_t *x_flag, *f_flag, *consumed; /* [channel_count]: raised by others */
  uint64_t* x_sent;                     /* [channel_count]: exchanges sent so far */
  unsigned *x_done, *f_done;            /* [channel_count + 1]: blocks that are done */
  unsigned* abort;                      /* this PE's; sticky */
  unsigned* const* abort_of;            /* [pe_count]; NULL: out of reach */
  tg_halo_fault* fault;                 /* this card's */
  unsigned long long* waited_ns;        /* by the first blocks */
  unsigned long long deadline_ns;
  const tg_halo_channel<T>* channel; /* [channel_count] */
};

enum { TG_HALO_PLACE_BITS = 26, TG_HALO_MOST_CHANNELS = 64 };

static __device__ __forceinline__ uint64_t tg_halo_load_acquire(const uint64_t* flag) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

static __device__ __forceinline__ void tg_halo_store_release(uint64_t* flag, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(flag), "l"(value) : "memory");
}

static __device__ __forceinline__ unsigned tg_halo_load_abort(const unsigned* word) {
  unsigned value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

/** Adds one at device scope, acquiring and releasing; the value before. */
static __device__ __forceinline__ unsigned tg_halo_count_block(unsigned* counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(counter)
               : "memory");
  return before;
}

static __device__ __forceinline__ unsigned long long tg_halo_now(void) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

template <typename T>
static __device__ void tg_halo_give_up(const tg_halo_port<T>* port, int awaited, int channel,
                                       int flag, uint64_t seen, uint64_t wanted) {
  tg_halo_fault* fault = port->fault;
  if (atomicCAS(&fault->found, 0u, 1u) == 0u) {
    fault->waiting_pe = port->pe;
    fault->awaited_pe = awaited;
    fault->channel = channel;
    fault->flag = flag;
    fault->seen = seen;
    fault->wanted = wanted;
  }
  for (int pe = 0; pe < port->pe_count; pe++) {
    if (!port->abort_of[pe]) continue;
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;"
                 :
                 : "l"(port->abort_of[pe]), "r"(1u)
                 : "memory");
  }
}

/** One thread: waits until *flag >= wanted. False: given up. */
template <typename T>
static __device__ bool tg_halo_wait_thread(const tg_halo_port<T>* port, const uint64_t* flag,
                                           uint64_t wanted, int awaited, int channel, int kind) {
  if (tg_halo_load_acquire(flag) >= wanted) return true;
  unsigned long long start = tg_halo_now();
  for (unsigned polls = 0;; polls++) {
    uint64_t seen = tg_halo_load_acquire(flag);
    if (seen >= wanted) break;
    if (polls % 64 != 63) continue;
    if (tg_halo_load_abort(port->abort)) return false;
    if (tg_halo_now() - start > port->deadline_ns) {
      tg_halo_give_up(port, awaited, channel, kind, seen, wanted);
      return false;
    }
  }
  if (blockIdx.x == 0) atomicAdd(port->waited_ns, tg_halo_now() - start);
  return true;
}

/** A letter is one word of 16 bytes for an atom in single precision (three components and the low
 * half of the exchange's number), three in double (a component and the number in each). */
template <typename T>
struct tg_halo_letter {
  static constexpr int words = sizeof(T) == 4 ? 1 : 3;
};

static __device__ __forceinline__ void tg_halo_store_word(uint64_t* word, uint64_t low,
                                                          uint64_t high) {
  asm volatile("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.b128 [%0], w; }"
               :
               : "l"(word), "l"(low), "l"(high)
               : "memory");
}

static __device__ __forceinline__ void tg_halo_load_word(const uint64_t* word, uint64_t* low,
                                                         uint64_t* high) {
  asm volatile("{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
               : "=l"(*low), "=l"(*high)
               : "l"(word)
               : "memory");
}

static __device__ __forceinline__ uint64_t tg_halo_join(unsigned low, unsigned high) {
  return (uint64_t)high << 32 | low;
}

static __device__ __forceinline__ void tg_halo_post(uint64_t* letter, const float f[3],
                                                    uint64_t number) {
  tg_halo_store_word(letter, tg_halo_join(__float_as_uint(f[0]), __float_as_uint(f[1])),
                     tg_halo_join(__float_as_uint(f[2]), (unsigned)number));
}

static __device__ __forceinline__ void tg_halo_post(uint64_t* letter, const double f[3],
                                                    uint64_t number) {
  for (int d = 0; d < 3; d++)
    tg_halo_store_word(letter + 2 * d, (uint64_t)__double_as_longlong(f[d]), number);
}

/** Reads a letter; true if it is that of exchange `number`. */
static __device__ __forceinline__ bool tg_halo_read(const uint64_t* letter, float f[3],
                                                    uint64_t number) {
  uint64_t low, high;
  tg_halo_load_word(letter, &low, &high);
  f[0] = __uint_as_float((unsigned)low);
  f[1] = __uint_as_float((unsigned)(low >> 32));
  f[2] = __uint_as_float((unsigned)high);
  /* number or, if this PE lags, the next: the low half alone cannot tell ahead from long ago */
  return (unsigned)(high >> 32) - (unsigned)number < 2u;
}

static __device__ __forceinline__ bool tg_halo_read(const uint64_t* letter, double f[3],
                                                    uint64_t number) {
  bool here = true;
  for (int d = 0; d < 3; d++) {
    uint64_t value, of;
    tg_halo_load_word(letter + 2 * d, &value, &of);
    f[d] = __longlong_as_double((long long)value);
    here = here && of >= number;
  }
  return here;
}

/** One thread: reads a letter as soon as it is that of exchange `number`. mail: that of the port it
 * lies in; flag: what it brings, positions or forces. False: given up. */
template <typename T>
static __device__ bool tg_halo_await_letter(const tg_halo_port<T>* port, const uint64_t* mail,
                                            const uint64_t* letter, uint64_t number, int flag,
                                            T value[3]) {
  if (tg_halo_read(letter, value, number)) return true;
  unsigned long long start = tg_halo_now();
  for (unsigned polls = 0; !tg_halo_read(letter, value, number); polls++) {
    if (polls % 64 != 63) continue;
    if (tg_halo_load_abort(port->abort)) return false;
    if (tg_halo_now() - start > port->deadline_ns) {
      int slot = (int)((letter - mail) / (2 * tg_halo_letter<T>::words)), c = 0;
      while (c + 1 < port->channel_count && port->channel[c + 1].send_slot <= slot) c++;
      const tg_halo_channel<T>* channel = &port->channel[c];
      uint64_t low, seen;
      tg_halo_load_word(letter, &low, &seen);
      if (sizeof(T) == 4) seen >>= 32;
      tg_halo_give_up(port, flag == TG_HALO_FORCES ? channel->to : channel->from, c, flag, seen,
                      number);
      return false;
    }
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(port->waited_ns, tg_halo_now() - start);
  return true;
}

/** The whole block: one thread waits, all may read afterwards. The same answer in every thread. */
template <typename T>
static __device__ bool tg_halo_wait_block(const tg_halo_port<T>* port, const uint64_t* flag,
                                          uint64_t wanted, int awaited, int channel, int kind) {
  int failed = 0;
  if (threadIdx.x == 0) failed = !tg_halo_wait_thread(port, flag, wanted, awaited, channel, kind);
  return !__syncthreads_or(failed);
}

/** Direct exchange: the number of the exchange that a producing kernel is about to send. Read it
 * before tg_halo_raise. */
template <typename T>
static __device__ __forceinline__ uint64_t tg_halo_next(const tg_halo_port<T>* port) {
  return port->channel_count ? port->x_sent[0] + 1 : 0;
}

/** Direct exchange without force return: the whole block waits until all receivers have read what
 * exchange number - 1 brought them. With force return there is nothing to wait for. */
template <typename T>
static __device__ bool tg_halo_may_push(const tg_halo_port<T>* port, uint64_t number) {
  for (int c = 0; c < port->channel_count; c++) {
    const tg_halo_channel<T>* channel = &port->channel[c];
    if (channel->to_elsewhere &&
        !tg_halo_wait_block(port, &port->consumed[c], number - 1, channel->to, c, TG_HALO_CONSUMED))
      return false;
  }
  return true;
}

/** One thread per PE: tells the senders that exchange `number` has been read (steps 1 of the
 * table). What read it must have ended: an earlier kernel of the stream. */
template <typename T>
static __device__ void tg_halo_consumed(const tg_halo_port<T>* port, uint64_t number) {
  for (int c = 0; c < port->channel_count; c++)
    if (port->channel[c].from_elsewhere)
      tg_halo_store_release(port->channel[c].consumed_out, number);
}

/** Direct exchange: stores home atom `atom` at (x, y, z), nm, into every PE that needs it. */
template <typename T>
static __device__ __forceinline__ void tg_halo_push(const tg_halo_port<T>* port, int atom, T x, T y,
                                                    T z) {
  uint32_t end = port->copy_start[atom + 1];
  for (uint32_t i = port->copy_start[atom]; i < end; i++) {
    uint32_t copy = port->copy[i];
    const tg_halo_channel<T>* channel = &port->channel[copy >> TG_HALO_PLACE_BITS];
    T* to = channel->x_out + 3 * (size_t)(copy & ((1u << TG_HALO_PLACE_BITS) - 1));
    to[0] = x + channel->shift[0];
    to[1] = y + channel->shift[1];
    to[2] = z + channel->shift[2];
  }
}

/** Direct exchange, the whole block, once, after its last push: the last of `blocks` blocks that
 * serve this PE raises all flags. */
template <typename T>
static __device__ void tg_halo_raise(const tg_halo_port<T>* port, uint64_t number,
                                     unsigned blocks) {
  __syncthreads();
  if (threadIdx.x != 0 || port->channel_count == 0) return;
  unsigned* done = &port->x_done[port->channel_count];
  if (tg_halo_count_block(done) != blocks - 1) return;
  *done = 0;
  for (int c = 0; c < port->channel_count; c++) {
    port->x_sent[c] = number;
    tg_halo_store_release(port->channel[c].x_flag_out, number);
  }
}

/** The whole block: waits for the copies that channel c brings in exchange `number`. */
template <typename T>
static __device__ bool tg_halo_wait_positions(const tg_halo_port<T>* port, int c, uint64_t number) {
  return tg_halo_wait_block(port, &port->x_flag[c], number, port->channel[c].from, c,
                            TG_HALO_POSITIONS);
}

#endif
