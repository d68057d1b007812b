/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/peers.cuh  The cards of a simulation, their memory, and what they tell each other.
 *
 * A card's memory is its *window*: one allocation, of the same layout on every card, that kernels
 * of all cards load and store. So the place of anything on another card follows from the place of
 * one's own (tg_md_peer). Cards are those of one process, or of the processes of a world of
 * transport nvshmem, one each.
 *
 * A *flag* is a 64-bit counter in the memory of the card that waits for it, one for each kind and
 * each card that raises it. It only rises, from 0; a wait ends when it is at least the number
 * awaited. The order of things:
 *
 *   | step | writer                                    | reader                             |
 *   |------|-------------------------------------------|------------------------------------|
 *   | 1    | all threads store into the reader's window|                                    |
 *   | 2    | __syncthreads; where several blocks store,|                                    |
 *   |      | an acq_rel counter at the card finds the  |                                    |
 *   |      | last one                                  |                                    |
 *   | 3    | one thread: tg_md_raise (release)         | one thread: tg_md_wait (acquire)   |
 *   | 4    |                                           | __syncthreads or __syncwarp; all   |
 *   |      |                                           | threads load, never by ld.global.nc|
 *
 * When the writer may store again is the caller's business: nothing here knows what was read.
 *
 * A wait has a deadline. The card that meets its deadline reports whom it waited for and *aborts*:
 * every wait of every card ends, and later ones return after a moment. Kernels go on with whatever
 * is there, so that they end; the host asks tg_md_peers_check before it believes in results. */
#ifndef TG_MD_CUDA_PEERS_CUH
#define TG_MD_CUDA_PEERS_CUH

#include <stddef.h>
#include <stdint.h>

#include "comm/world.h"
#include "device/cuda/check.h"

enum {
  TG_MD_MOST_CARDS = 8,
  TG_MD_FLAG_BYTES = 128,  /* from one flag to the next */
  TG_MD_PATIENT_LOOKS = 64 /* at a flag, between looks at the clock */
};

/** What a flag's number counts. */
enum {
  TG_MD_FLAG_X,      /* positions of a step */
  TG_MD_FLAG_SEARCH, /* positions and velocities of all atoms, for a search */
  TG_MD_FLAG_PLAN,   /* where halo atoms are to go */
  TG_MD_FLAG_SUMS,   /* sums of energies */
  TG_MD_FLAG_FRAME,  /* a frame's part */
  TG_MD_FLAG_KINDS,
  /* where positions are sent in stages (stages.cuh); numbered as TG_MD_FLAG_X */
  TG_MD_FLAG_STAGE = TG_MD_FLAG_KINDS,
  TG_MD_FLAG_ALL = TG_MD_FLAG_STAGE + 3
};

/** In memory of the host, written by the card's kernels. */
typedef struct tg_md_peers_report {
  uint64_t late;    /* 1: a wait of this card met its deadline; then what follows is set */
  uint64_t aborted; /* 1: a wait ended because another card, or a host, has given up */
  uint64_t from, kind, wanted, found;
} tg_md_peers_report;

/** A kernel's parameter. */
typedef struct tg_md_peers_view {
  uint32_t card, card_count;
  uint32_t rushed;                   /* positions are not waited for; for benchmarks */
  char* base[TG_MD_MOST_CARDS];      /* of each card's window */
  uint64_t* flags[TG_MD_MOST_CARDS]; /* of each card: [kind][card that raises it] */
  uint64_t* abort[TG_MD_MOST_CARDS]; /* of each card; not 0: all waits end */
  uint64_t* claim;                   /* own: who may write the report */
  uint64_t deadline_ns;
  tg_md_peers_report* report; /* own */
} tg_md_peers_view;

typedef struct tg_md_peers tg_md_peers;

typedef struct tg_md_peers_params {
  tg_world* world;   /* of transport nvshmem: a card for each PE; NULL: cards of this process */
  int device;        /* the GPU, where there is one card and no world */
  int card_count;    /* without a world: GPUs 0 to card_count - 1 where there are several */
  double deadline_s; /* of a wait; <= 0: 60 */
} tg_md_peers_params;

/** Collective. Streams, and reach of each card into the others; TG_ERR_MACHINE where there is
 * none. */
tg_status tg_md_peers_open(const tg_md_peers_params* params, tg_md_peers** out);
/** Collective, once: a window of `bytes` (the same everywhere) zeroed bytes on each card. */
tg_status tg_md_peers_allocate(tg_md_peers* peers, size_t bytes);
/** Local, null-safe, sets NULL. Waits for the cards of this process. With a world all PEs are to be
 * done with each other (a barrier), unless something has failed. */
void tg_md_peers_close(tg_md_peers** peers);

/** Cards of all processes; the first of this one, and how many it has. */
int tg_md_peers_card_count(const tg_md_peers* peers);
int tg_md_peers_first(const tg_md_peers* peers);
int tg_md_peers_own_count(const tg_md_peers* peers);
/** Of processes with a card each, or NULL. */
tg_world* tg_md_peers_world(const tg_md_peers* peers);
/** Of a card of this process. */
int tg_md_peers_device(const tg_md_peers* peers, int card);
cudaStream_t tg_md_peers_stream(const tg_md_peers* peers, int card);
/** Where any card's window lies for kernels of this process's cards; NULL before it is allocated.
 * Its first byte is aligned to 256. */
void* tg_md_peers_base(const tg_md_peers* peers, int card);
/** For kernels of a card of this process. */
tg_md_peers_view tg_md_peers_view_of(const tg_md_peers* peers, int card);
/** Local: whether waits have been given up. TG_ERR_MACHINE then, which tells who waited for whom;
 * with a world it is aborted, or the words of its abort come. To be called when the kernels in
 * question are done; costs two loads. */
tg_status tg_md_peers_check(tg_md_peers* peers);

/** Of another card (or this one): the place that has there what `own` points to here. */
template <typename T>
static __host__ __device__ __forceinline__ T* tg_md_peer(const tg_md_peers_view& p, T* own,
                                                         uint32_t card) {
  return (T*)(p.base[card] + ((const char*)own - p.base[p.card]));
}

#ifdef __CUDACC__
static __device__ __forceinline__ uint64_t tg_md_load_acquire(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

/* Orders nothing, and so keeps the first-level cache. */
static __device__ __forceinline__ uint64_t tg_md_load_relaxed(const uint64_t* from) {
  uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}

static __device__ __forceinline__ void tg_md_store_release(uint64_t* to, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(to), "l"(value) : "memory");
}

static __device__ __forceinline__ uint64_t tg_md_clock_ns(void) {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/** The flag of card `at` that card `by` raises. */
static __device__ __forceinline__ uint64_t* tg_md_flag(const tg_md_peers_view& p, uint32_t at,
                                                       uint32_t by, int kind) {
  return p.flags[at] +
         ((uint32_t)kind * TG_MD_MOST_CARDS + by) * (TG_MD_FLAG_BYTES / sizeof(uint64_t));
}

/** One thread, after what it and those it has met at a barrier have stored. */
static __device__ __forceinline__ void tg_md_raise(const tg_md_peers_view& p, uint32_t to, int kind,
                                                   uint64_t value) {
  tg_md_store_release(tg_md_flag(p, to, p.card, kind), value);
}

/** Ends all waits of all cards. */
static __device__ __forceinline__ void tg_md_abort(const tg_md_peers_view& p) {
  for (uint32_t c = 0; c < p.card_count; c++) tg_md_store_release(p.abort[c], 1);
}

static __device__ __noinline__ void tg_md_give_up(uint64_t* claim, tg_md_peers_report* report,
                                                  uint64_t from, uint64_t kind, uint64_t wanted,
                                                  uint64_t found) {
  if (atomicCAS((unsigned long long*)claim, 0ULL, 1ULL) != 0) return;
  report->from = from;
  report->kind = kind;
  report->wanted = wanted;
  report->found = found;
  __threadfence_system();
  *(volatile uint64_t*)&report->late = 1;
}

/** One thread: until the flag that card `from` raises here is at least value. False where the wait
 * was given up, by its deadline or by an abort. */
static __device__ __forceinline__ bool tg_md_wait(const tg_md_peers_view& p, uint32_t from,
                                                  int kind, uint64_t value) {
  if (kind == TG_MD_FLAG_X && p.rushed) return true;
  const uint64_t* flag = tg_md_flag(p, p.card, from, kind);
  uint64_t found = tg_md_load_relaxed(flag);
  if (found >= value) return tg_md_load_acquire(flag) >= value;
  const uint64_t start = tg_md_clock_ns();
  for (uint32_t looks = 1;; looks++) {
    found = tg_md_load_relaxed(flag);
    if (found >= value) return tg_md_load_acquire(flag) >= value;
    if (looks % TG_MD_PATIENT_LOOKS != 0) continue;
    if (*(volatile uint64_t*)p.abort[p.card] != 0) {
      *(volatile uint64_t*)&p.report->aborted = 1;
      return false;
    }
    if (tg_md_clock_ns() - start < p.deadline_ns) continue;
    tg_md_give_up(p.claim, p.report, from, (uint64_t)kind, value, found);
    tg_md_abort(p);
    return false;
  }
}
#endif

#endif
