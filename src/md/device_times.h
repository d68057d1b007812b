/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_times.h  Which steps on GPUs are timed by the GPUs' timers, and what becomes of
 * the moments that they leave.
 *
 * A timed step's kernels are versions of their own, with the same instructions besides. It needs
 * the beginning of the step behind it, too, so steps are timed in pairs, of which the first counts.
 * What is not like most steps (search, pruning, energies, thermostat, output) is not among them.
 *
 *   begin    local     heard     pairs    forces     moved      sent     begin of the next
 *     |--------|---------|---------|---------|---------|---------|---------|
 *       local   exposed    halo      tail     update   exchange   between
 *
 * The parts add up to the whole. Functions are for hosts and devices: plain C, without state. */
#ifndef TG_MD_DEVICE_TIMES_H
#define TG_MD_DEVICE_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TG_TIMES_FUNCTION static __host__ __device__ __forceinline__
#else
#define TG_TIMES_FUNCTION static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Moments of a step, ns; 0: there is none. */
enum {
  TG_STAMP_BEGIN,  /* the first warp has the update's results */
  TG_STAMP_LOCAL,  /* the last row without halo atoms is done */
  TG_STAMP_HEARD,  /* the last row that had to wait has heard from all other cards; 0: none had */
  TG_STAMP_WAIT,   /* not a moment: the longest that a row took to hear from them */
  TG_STAMP_HALO,   /* the last row with halo atoms is done */
  TG_STAMP_BONDED, /* the last bonded interaction is done */
  TG_STAMP_SENDS,  /* an exchange by itself begins (md/cuda/stages.cuh) */
  TG_STAMP_UPDATE, /* the last atom is moved, or sent by that exchange */
  TG_STAMPS
};

/** Of what begins the first of all warps' moments is wanted, of the others the last: the largest is
 * kept, so these are stored as their complements. */
TG_TIMES_FUNCTION bool tg_times_begins(int which) {
  return which == TG_STAMP_BEGIN || which == TG_STAMP_SENDS;
}

/** Sums over steps, ns. */
typedef struct tg_step_parts {
  uint64_t steps, whole;
  uint64_t local, exposed, halo, tail, update, exchange, between;
  uint64_t bonded;  /* from the beginning to the last bonded interaction, beside the others */
  uint64_t longest; /* TG_STAMP_WAIT */
} tg_step_parts;

enum { TG_TIMED_STEPS = 16 /* of a stretch, at most */ };

TG_TIMES_FUNCTION uint64_t tg_times_later(uint64_t a, uint64_t b) { return a > b ? a : b; }

/** Adds a step, given its moments and when the next one begins; of one that lacks an end nothing.
 * Timers of different multiprocessors may be a tick apart, so what would be negative is 0 and the
 * next part is shorter instead. */
TG_TIMES_FUNCTION void tg_times_add(const uint64_t stamp[TG_STAMPS], uint64_t next,
                                    tg_step_parts* sum) {
  const uint64_t begin = stamp[TG_STAMP_BEGIN];
  const uint64_t local = tg_times_later(stamp[TG_STAMP_LOCAL], begin);
  const uint64_t heard = tg_times_later(stamp[TG_STAMP_HEARD], local);
  const uint64_t pairs = tg_times_later(stamp[TG_STAMP_HALO], heard);
  const uint64_t forces = tg_times_later(stamp[TG_STAMP_BONDED], pairs);
  const uint64_t sends = tg_times_later(stamp[TG_STAMP_SENDS], forces);
  const uint64_t sent = tg_times_later(stamp[TG_STAMP_UPDATE], sends);
  const uint64_t moved = stamp[TG_STAMP_SENDS] != 0 ? sends : sent;
  const uint64_t end = tg_times_later(next, sent);
  if (begin == 0 || stamp[TG_STAMP_UPDATE] == 0 || next == 0) return;
  sum->steps++;
  sum->whole += end - begin;
  sum->local += local - begin;
  sum->exposed += heard - local;
  sum->halo += pairs - heard;
  sum->tail += forces - pairs;
  sum->update += moved - forces;
  sum->exchange += sent - moved;
  sum->between += end - sent;
  sum->bonded += tg_times_later(stamp[TG_STAMP_BONDED], begin) - begin;
  sum->longest += stamp[TG_STAMP_WAIT];
}

/** Which steps of a stretch are timed; flags: [count + 1] (device_step.h); place: [count], of each
 * step among the moments: 2 k counts, 2 k + 1 is the one behind it, -1 is not timed. Returns how
 * many are. They are spread over the stretch. */
int tg_times_choose(const unsigned char* flags, int count, signed char* place);

#ifdef __cplusplus
}
#endif
#endif
