/* SPDX-License-Identifier: Apache-2.0 */
/* The constants of the model between PEs in host memory: pairs of PEs (0 and 1, 2 and 3 ...) play
 * all at once; where their number is odd the last one looks on. A series ends with a barrier, so
 * none runs into the next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "bench/halo.h"
#include "comm/symmetric.h"

enum { ROUNDS = 60, LARGE_ROUNDS = 20, FLAGS = 8, BALL = FLAGS, SIGNALS };
enum { GAP = 4, PACKED_BYTES = 8 << 20 }; /* the block is at least 4 kB: at most 2048 times */
enum { FLAG, PUT, ONE_RAISED, ALL_RAISED, MESSAGE, LARGE, PACK, SERIES };

typedef struct player {
  tg_world* world;
  tg_symmetric* memory;
  int partner; /* -1: none */
  size_t block_bytes;
  bool wide;
  char* from; /* [GAP * block_bytes] */
  char* to;   /* [block_bytes] */
  uint32_t* index;
  uint64_t ball, raised;
} player;

/* The ball goes there and back, with bytes of data; seconds one way. */
static tg_status play_ball(player* p, size_t bytes, int rounds, double* out) {
  bool serves = tg_world_pe(p->world) % 2 == 0;
  tg_symmetric_source ball = {BALL, p->partner};
  double start = tg_time_now();
  for (int r = 0; r < rounds; r++) {
    p->ball++;
    if (!serves) TG_TRY(tg_symmetric_wait(p->memory, ball, p->ball));
    TG_TRY(
        tg_symmetric_put(p->memory, p->partner, 0, p->from, bytes, BALL, TG_SIGNAL_SET, p->ball));
    if (serves) TG_TRY(tg_symmetric_wait(p->memory, ball, p->ball));
  }
  *out = (tg_time_now() - start) / (2 * rounds);
  return TG_OK;
}

/* Both raise so many flags of each other, then wait for them; seconds a round. */
static tg_status raise_flags(player* p, int flags, double* out) {
  double start = tg_time_now();
  for (int r = 0; r < ROUNDS; r++) {
    p->raised++;
    for (int i = 0; i < flags; i++)
      TG_TRY(tg_symmetric_signal(p->memory, p->partner, i, TG_SIGNAL_SET, p->raised));
    for (int i = 0; i < flags; i++)
      TG_TRY(tg_symmetric_wait(p->memory, (tg_symmetric_source){i, p->partner}, p->raised));
  }
  *out = (tg_time_now() - start) / ROUNDS;
  return TG_OK;
}

static tg_status send_messages(player* p, size_t bytes, int rounds, double* out) {
  double start = tg_time_now();
  for (int r = 0; r < rounds; r++)
    TG_TRY(tg_world_exchange(p->world, p->partner, p->from, bytes, p->partner, p->to, bytes));
  *out = (tg_time_now() - start) / rounds;
  return TG_OK;
}

/* Vectors by index, every GAP-th one, as a halo is packed. */
static inline void gather(const player* p, size_t size) {
  size_t count = p->block_bytes / size;
  for (size_t i = 0; i < count; i++) memcpy(p->to + i * size, p->from + p->index[i] * size, size);
}

/* So often that PEs which share a core take turns on it; until the last one is done. */
static tg_status pack_blocks(player* p, double* out) {
  int times = (int)(PACKED_BYTES / p->block_bytes) + 1;
  double start = tg_time_now();
  for (int r = 0; r < times; r++) {
    if (p->wide)
      gather(p, 3 * sizeof(double));
    else
      gather(p, 3 * sizeof(float));
    p->from[r] ^= p->to[r]; /* the next copy is of something else */
  }
  TG_TRY(tg_world_barrier(p->world));
  *out = (tg_time_now() - start) / times;
  return TG_OK;
}

static tg_status play(player* p, int series, double* out) {
  switch (series) {
    case FLAG: return play_ball(p, 0, ROUNDS, out);
    case PUT: return play_ball(p, p->block_bytes, LARGE_ROUNDS, out);
    case ONE_RAISED: return raise_flags(p, 1, out);
    case ALL_RAISED: return raise_flags(p, FLAGS, out);
    case MESSAGE: return send_messages(p, 8, ROUNDS, out);
    case LARGE: return send_messages(p, p->block_bytes, LARGE_ROUNDS, out);
    default: return pack_blocks(p, out);
  }
}

static int compare(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* taken: [SERIES][repeats]. Turn by turn; the first turn is a warm-up. */
static tg_status play_all(player* p, int repeats, double* taken) {
  for (int r = -1; r < repeats; r++)
    for (int s = 0; s < SERIES; s++) {
      double seconds = 0;
      TG_TRY(tg_world_barrier(p->world));
      if (p->partner >= 0 || s == PACK) TG_TRY(play(p, s, &seconds));
      if (r >= 0) taken[s * repeats + r] = seconds;
    }
  return tg_world_barrier(p->world);
}

/* Seconds for the block, of a rate that a difference of two noisy times must not make infinite. */
static double rate(double bytes, double large_s, double small_s) {
  return bytes / fmax(large_s - small_s, 0.1 * large_s);
}

static void deduce(const double* median, double bytes, tg_bench_halo_host_constants* out) {
  out->flag_s = median[FLAG];
  out->raise_s = fmax(median[ALL_RAISED] - median[ONE_RAISED], 0) / (FLAGS - 1);
  out->put_bytes_per_s = rate(bytes, median[PUT], median[FLAG]);
  out->message_s = median[MESSAGE];
  out->message_bytes_per_s = rate(bytes, median[LARGE], median[MESSAGE]);
  out->pack_bytes_per_s = bytes / median[PACK];
}

static tg_status make_buffers(player* p) {
  size_t vector = 3 * (p->wide ? sizeof(double) : sizeof(float)), count = p->block_bytes / vector;
  TG_TRY(TG_ALLOCATE(GAP * p->block_bytes, "a block", &p->from));
  TG_TRY(TG_ALLOCATE(p->block_bytes, "a block", &p->to));
  TG_TRY(TG_ALLOCATE(count, "an index", &p->index));
  for (size_t i = 0; i < count; i++) p->index[i] = (uint32_t)(GAP * i + i * i % GAP);
  return TG_OK;
}

tg_status tg_bench_halo_host_measure(tg_world* world, size_t block_bytes, bool wide, int repeats,
                                     tg_bench_halo_host_constants* out) {
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  int64_t block = block_bytes < 4096 ? 4096 : (int64_t)block_bytes;
  TG_TRY(tg_world_max_int64(world, &block, 1));
  player p = {.world = world,
              .partner = (pe ^ 1) < count ? pe ^ 1 : -1,
              .block_bytes = (size_t)block,
              .wide = wide};
  double *taken = NULL, medians[SERIES];
  tg_status status = TG_ALLOCATE((size_t)(SERIES * repeats), "measurements", &taken);
  if (status == TG_OK) status = make_buffers(&p);
  TG_TRY_GOTO(tg_world_agree(world, status), end);
  TG_TRY_GOTO(tg_symmetric_create(world, p.block_bytes, SIGNALS, &p.memory), end);
  TG_TRY_GOTO(play_all(&p, repeats, taken), end);
  for (int s = 0; s < SERIES; s++) {
    qsort(taken + s * repeats, (size_t)repeats, sizeof *taken, compare);
    medians[s] = taken[s * repeats + repeats / 2];
  }
  /* the mean over the PEs that played; packing is everybody's */
  TG_TRY_GOTO(tg_world_sum_doubles(world, medians, SERIES), end);
  for (int s = 0; s < SERIES; s++) medians[s] /= s == PACK ? count : count / 2 * 2;
  deduce(medians, (double)block, out);
  out->block_bytes = (size_t)block;
end:
  tg_symmetric_destroy(&p.memory);
  tg_free(p.from);
  tg_free(p.to);
  tg_free(p.index);
  tg_free(taken);
  return status;
}
