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
 * to n itself. So may a kernel of the caller (tg_halo_post_atom); then R's tg_device_halo_await
 * does the rest.
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

#include <stddef.h>
#include <stdint.h>

/** What is being waited for, in the record of a wait that gave up. */
enum tg_halo_flag {
  TG_HALO_POSITIONS = 1,
  TG_HALO_FORCES = 2,
  TG_HALO_CONSUMED = 3,
  TG_HALO_PLAN = 4,  /* part of a plan made on the device */
  TG_HALO_READY = 5, /* word that it has begun such a plan */
  TG_HALO_ROOM = 6   /* no wait: a plan has `seen` atoms in this message (channel -1: at home), and
                        there is room for `wanted` */
};

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

/** What is added to positions, nm, term by term in this order: the box vectors at the boundaries
 * that a copy crosses along z, then y, then x. A sum of floating-point numbers depends on its
 * order, and a copy that is forwarded meets them in this one. Terms are +0 where nothing is
 * crossed: that changes nothing but -0, as the +0 of any hop does. A box is (ax 0 0) (bx by 0)
 * (cx cy cz), so y has two terms and z has one. */
template <typename T>
struct alignas(2 * sizeof(T)) tg_halo_shift {
  T x[3], y[2], z;
};

/** From the rows of a message's shift (throng/device_plan.h): the vectors along z, y, x. */
template <typename T>
static __host__ __device__ __forceinline__ tg_halo_shift<T> tg_halo_shift_of(
    const double rows[3][3]) {
  return tg_halo_shift<T>{
      {(T)rows[0][0], (T)rows[1][0], (T)rows[2][0]}, {(T)rows[0][1], (T)rows[1][1]}, (T)rows[0][2]};
}

/** One message, as its PE sees it: what it sends down, and what comes from above. */
template <typename T>
struct tg_halo_channel {
  int to, from;                 /* PEs: positions go to one and come from the other */
  int to_elsewhere;             /* 1: on another card */
  int from_elsewhere;           /* 1: on another card */
  int send_count;               /* atoms */
  int receive_count;            /* atoms */
  int send_slot;                /* first element in index, f_in and packed */
  int slice;                    /* first atom of what arrives, in x and f */
  tg_halo_shift<T> shift;       /* added to what is sent */
  unsigned long long f_waits;   /* bit q: forces that return by channel q go into this slice */
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
  const uint32_t* tree;        /* direct only, else NULL: TG_HALO_MOST_CHANNELS kinds of channel,
                                  then copy in the order in which a tree of forwarding adds (tree.cuh) */
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

/** The value of a flag; what was stored before it was raised is seen by this thread from here on
 * (system scope). */
static __device__ __forceinline__ uint64_t tg_halo_load_acquire(const uint64_t* flag) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(flag) : "memory");
  return value;
}

/** Sets a flag, of any PE in reach, after all that this thread stored or has seen (system scope).
 */
static __device__ __forceinline__ void tg_halo_store_release(uint64_t* flag, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(flag), "l"(value) : "memory");
}

/** Not 0 once a PE has given up (relaxed: it says nothing about data). */
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

/** The card's clock, ns; it advances in steps of up to about a microsecond. */
static __device__ __forceinline__ unsigned long long tg_halo_now(void) {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/** One thread: a wait of this PE ends without what it waited for. Records it, unless another wait
 * of this card was first, and raises the abort word of every PE in reach. awaited: who should have
 * raised the flag; flag: of enum tg_halo_flag; seen, wanted: the counter's values. */
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

/** One thread: waits until *flag >= wanted (acquire). awaited, channel, kind: who raises it, for
 * which message, and which flag of enum tg_halo_flag it is, for the record of a wait that gives up.
 * False: given up, by this wait or by another PE. */
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

/** Writes a word of mail, 16 bytes, in one access: whoever reads it finds all of it or none. */
static __device__ __forceinline__ void tg_halo_store_word(uint64_t* word, uint64_t low,
                                                          uint64_t high) {
  asm volatile("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.b128 [%0], w; }"
               :
               : "l"(word), "l"(low), "l"(high)
               : "memory");
}

/** Reads a word of mail in one access. */
static __device__ __forceinline__ void tg_halo_load_word(const uint64_t* word, uint64_t* low,
                                                         uint64_t* high) {
  asm volatile("{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
               : "=l"(*low), "=l"(*high)
               : "l"(word)
               : "memory");
}

/** A half of a word from its two quarters. */
static __device__ __forceinline__ uint64_t tg_halo_join(unsigned low, unsigned high) {
  return (uint64_t)high << 32 | low;
}

/** Writes the letter of exchange `number`, of single precision; letter: of any PE in reach. */
static __device__ __forceinline__ void tg_halo_post(uint64_t* letter, const float f[3],
                                                    uint64_t number) {
  tg_halo_store_word(letter, tg_halo_join(__float_as_uint(f[0]), __float_as_uint(f[1])),
                     tg_halo_join(__float_as_uint(f[2]), (unsigned)number));
}

/** The same of double precision. */
static __device__ __forceinline__ void tg_halo_post(uint64_t* letter, const double f[3],
                                                    uint64_t number) {
  for (int d = 0; d < 3; d++)
    tg_halo_store_word(letter + 2 * d, (uint64_t)__double_as_longlong(f[d]), number);
}

/** The value of a letter from its words' halves; true if it is that of exchange `number`. */
static __device__ __forceinline__ bool tg_halo_open(const uint64_t low[1], const uint64_t high[1],
                                                    float f[3], uint64_t number) {
  f[0] = __uint_as_float((unsigned)low[0]);
  f[1] = __uint_as_float((unsigned)(low[0] >> 32));
  f[2] = __uint_as_float((unsigned)high[0]);
  /* number or, if this PE lags, the next: the low half alone cannot tell ahead from long ago */
  return (unsigned)(high[0] >> 32) - (unsigned)number < 2u;
}

/** The same of double precision: true if all three words are of that exchange, or a later one. */
static __device__ __forceinline__ bool tg_halo_open(const uint64_t low[3], const uint64_t high[3],
                                                    double f[3], uint64_t number) {
  bool here = true;
  for (int d = 0; d < 3; d++) {
    f[d] = __longlong_as_double((long long)low[d]);
    here = here && high[d] >= number;
  }
  return here;
}

/** Reads a letter; true if it is that of exchange `number`. */
template <typename T>
static __device__ __forceinline__ bool tg_halo_read(const uint64_t* letter, T f[3],
                                                    uint64_t number) {
  enum { WORDS = tg_halo_letter<T>::words };
  uint64_t low[WORDS], high[WORDS];
  for (int w = 0; w < WORDS; w++) tg_halo_load_word(letter + 2 * w, &low[w], &high[w]);
  return tg_halo_open(low, high, f, number);
}

/** Must a wait for a letter, begun at `start`, end without it? If so, the record is written. Kept
 * out of the loops that poll, for their registers' sake. */
template <typename T>
static __device__ __noinline__ bool tg_halo_letter_overdue(const tg_halo_port<T>* port,
                                                           const uint64_t* mail,
                                                           const uint64_t* letter, uint64_t number,
                                                           int flag, unsigned long long start) {
  if (tg_halo_load_abort(port->abort)) return true;
  if (tg_halo_now() - start <= port->deadline_ns) return false;
  int slot = (int)((letter - mail) / (2 * tg_halo_letter<T>::words)), c = 0;
  while (c + 1 < port->channel_count && port->channel[c + 1].send_slot <= slot) c++;
  const tg_halo_channel<T>* channel = &port->channel[c];
  uint64_t low, seen;
  tg_halo_load_word(letter, &low, &seen);
  if (sizeof(T) == 4) seen >>= 32;
  tg_halo_give_up(port, flag == TG_HALO_FORCES ? channel->to : channel->from, c, flag, seen,
                  number);
  return true;
}

/** A wait for letters: looks at the clock at every 64th miss only, but in the one thread whose
 * waiting is counted. */
struct tg_halo_patience {
  unsigned long long start, *waited_ns; /* 0: not begun; NULL: not counted */
  unsigned polls;
};

/** Before the first miss of a thread's wait. */
template <typename T>
static __device__ __forceinline__ tg_halo_patience
tg_halo_patience_begin(const tg_halo_port<T>* port) {
  bool counted = blockIdx.x == 0 && threadIdx.x == 0;
  tg_halo_patience patience = {counted ? tg_halo_now() : 0, counted ? port->waited_ns : nullptr, 0};
  return patience;
}

/** After a miss: is it time to look whether the wait is overdue? */
static __device__ __forceinline__ bool tg_halo_patience_asks(tg_halo_patience* patience) {
  if (++patience->polls % 64) return false;
  if (patience->start == 0) patience->start = tg_halo_now();
  return true;
}

/** The letter has come: what is counted is added to the PE's time in waits. */
static __device__ __forceinline__ void tg_halo_patience_end(const tg_halo_patience* patience) {
  if (patience->waited_ns) atomicAdd(patience->waited_ns, tg_halo_now() - patience->start);
}

/** One thread: reads a letter as soon as it is that of exchange `number`. mail: that of the port it
 * lies in; flag: what it brings, positions or forces. False: given up. */
template <typename T>
static __device__ __forceinline__ bool tg_halo_await_letter(const tg_halo_port<T>* port,
                                                            const uint64_t* mail,
                                                            const uint64_t* letter, uint64_t number,
                                                            int flag, T value[3]) {
  if (tg_halo_read(letter, value, number)) return true;
  tg_halo_patience patience = tg_halo_patience_begin(port);
  while (!tg_halo_read(letter, value, number))
    if (tg_halo_patience_asks(&patience) &&
        tg_halo_letter_overdue(port, mail, letter, number, flag, patience.start))
      return false;
  tg_halo_patience_end(&patience);
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
  int failed = 0;
  for (int c = (int)threadIdx.x; c < port->channel_count; c += (int)blockDim.x) {
    const tg_halo_channel<T>* channel = &port->channel[c];
    if (channel->to_elsewhere)
      failed |= !tg_halo_wait_thread(port, &port->consumed[c], number - 1, channel->to, c,
                                     TG_HALO_CONSUMED);
  }
  return !__syncthreads_or(failed);
}

/** One thread per PE: tells the senders that exchange `number` has been read (steps 1 of the
 * table). What read it must have ended: an earlier kernel of the stream. One fence serves all
 * stores, as a release each would. */
template <typename T>
static __device__ void tg_halo_consumed(const tg_halo_port<T>* port, uint64_t number) {
  asm volatile("fence.acq_rel.sys;" : : : "memory");
  for (int c = 0; c < port->channel_count; c++)
    if (port->channel[c].from_elsewhere)
      asm volatile("st.relaxed.sys.global.u64 [%0], %1;"
                   :
                   : "l"(port->channel[c].consumed_out), "l"(number)
                   : "memory");
}

/** A position, moved: each term is rounded as a hop rounds it. */
template <typename T>
static __device__ __forceinline__ void tg_halo_add_shift(const tg_halo_shift<T>& shift, T at[3]) {
  at[0] = ((at[0] + shift.x[0]) + shift.x[1]) + shift.x[2];
  at[1] = (at[1] + shift.y[0]) + shift.y[1];
  at[2] = at[2] + shift.z;
}

/** Component d of it: for the kernels that have a thread for each. */
template <typename T>
static __device__ __forceinline__ T tg_halo_shifted(const tg_halo_shift<T>& shift, int d, T at) {
  at += d == 0 ? shift.x[0] : d == 1 ? shift.y[0] : shift.z;
  at += d == 0 ? shift.x[1] : d == 1 ? shift.y[1] : T(0);
  return at + (d == 0 ? shift.x[2] : T(0));
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
    T at[3] = {x, y, z};
    tg_halo_add_shift(channel->shift, at);
    for (int d = 0; d < 3; d++) to[d] = at[d];
  }
}

/** Direct exchange, the whole block, once, after its last push: the last of `blocks` blocks that
 * serve this PE raises all flags. */
template <typename T>
static __device__ void tg_halo_raise(const tg_halo_port<T>* port, uint64_t number,
                                     unsigned blocks) {
  __syncthreads();
  if (port->channel_count == 0) return;
  int last = 0;
  if (threadIdx.x == 0) {
    unsigned* done = &port->x_done[port->channel_count];
    last = tg_halo_count_block(done) == blocks - 1;
    if (last) *done = 0;
  }
  /* A thread a flag: thread 0 has acquired what the other blocks' counting released, and the
   * barrier orders that before the releases of its block's threads. */
  if (!__syncthreads_or(last)) return;
  for (int c = (int)threadIdx.x; c < port->channel_count; c += (int)blockDim.x) {
    port->x_sent[c] = number;
    tg_halo_store_release(port->channel[c].x_flag_out, number);
  }
}

/** Where a copy of a home atom goes. */
template <typename T>
struct tg_halo_target {
  tg_halo_shift<T> shift;
  T* place;         /* in the slice of a PE on this card, or NULL: */
  uint64_t* letter; /* in the mail of one on another */
};

/** copy: of port->copy. */
template <typename T>
static __device__ __forceinline__ tg_halo_target<T> tg_halo_copy_of(const tg_halo_port<T>* port,
                                                                    uint32_t copy) {
  const tg_halo_channel<T>* channel = &port->channel[copy >> TG_HALO_PLACE_BITS];
  const size_t k = copy & ((1u << TG_HALO_PLACE_BITS) - 1);
  tg_halo_target<T> out;
  out.shift = channel->shift;
  out.place = channel->to_elsewhere ? nullptr : channel->x_out + 3 * k;
  out.letter = channel->x_mail_out + 2 * tg_halo_letter<T>::words * k;
  return out;
}

/** One copy of a home atom at (x, y, z), nm: a store on this card, a letter to another. */
template <typename T>
static __device__ __forceinline__ void tg_halo_post_copy(const tg_halo_target<T>* copy, T x, T y,
                                                         T z, uint64_t number) {
  T at[3] = {x, y, z};
  tg_halo_add_shift(copy->shift, at);
  if (copy->place)
    for (int d = 0; d < 3; d++) copy->place[d] = at[d];
  else
    tg_halo_post(copy->letter, at, number);
}

/** Direct exchange by mail, quicker than tg_halo_push: no flag behind the data. Home atom `atom` at
 * (x, y, z), nm, goes to every PE that needs it. The reader's kernels find it in their slices after
 * tg_device_halo_await. */
template <typename T>
static __device__ __forceinline__ void tg_halo_post_atom(const tg_halo_port<T>* port, int atom, T x,
                                                         T y, T z, uint64_t number) {
  uint32_t end = port->copy_start[atom + 1];
  for (uint32_t i = port->copy_start[atom]; i < end; i++) {
    const tg_halo_target<T> copy = tg_halo_copy_of(port, port->copy[i]);
    tg_halo_post_copy(&copy, x, y, z, number);
  }
}

/** Direct exchange by mail, the whole block, once, after its last tg_halo_post_atom; blocks: that
 * serve this PE. The counting is for the kernels that follow: letters need no fence. */
template <typename T>
static __device__ void tg_halo_posted(const tg_halo_port<T>* port, uint64_t number,
                                      unsigned blocks) {
  __syncthreads(); /* all threads of the block have read x_sent */
  if (threadIdx.x != 0 || port->channel_count == 0) return;
  unsigned* done = &port->x_done[port->channel_count];
  if (atomicAdd(done, 1u) != blocks - 1) return;
  *done = 0;
  for (int c = 0; c < port->channel_count; c++) port->x_sent[c] = number;
}

/** The whole block: waits for the copies that channel c brings in exchange `number`. */
template <typename T>
static __device__ bool tg_halo_wait_positions(const tg_halo_port<T>* port, int c, uint64_t number) {
  return tg_halo_wait_block(port, &port->x_flag[c], number, port->channel[c].from, c,
                            TG_HALO_POSITIONS);
}

#endif
