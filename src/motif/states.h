/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/states.h  Sets of many-fermion states: which of the orbitals each state occupies.
 *
 * A state of N particles is kept in up to three forms, each as planes (a structure of arrays), so
 * that neighbouring threads or lanes, which hold neighbouring states, load neighbouring memory:
 *
 *   low:     [stride]      bit o of low[i] is set where state i occupies orbital o < 64
 *   orbital: [N, stride]   orbital[k * stride + i] is the k-th lowest orbital of state i
 *   bits:    [W, stride]   bit o % 64 of bits[(o / 64) * stride + i]: orbital o; W words a state
 *
 * Where bits are kept, low is their first plane. Up to TG_STATES_SLACK - 1 elements behind the
 * last state of a plane, of a slice as well, may be read (what they hold is not defined).
 *
 * Random states, biased to the low orbitals: state i is made from tg_rng_stream(seed,
 * TG_RNG_STATES, i), so it depends on the seed and its number alone. Orbitals are drawn one at a
 * time until N different ones are held; each draw takes orbital o < M with the probability
 *
 *   P(o) = (exp(-o / s) - exp(-(o + 1) / s)) / (1 - exp(-M / s))        s: the spread, in orbitals
 *
 * (the geometric law, cut at M orbitals; o = floor(-s log(1 - (1 - u) (1 - exp(-M / s)))) for u
 * uniform in (0, 1]), and an orbital held already is drawn anew. Two states may be equal. Without a
 * bias (spread 0) all orbitals are equally probable. The spread TG_STATES_SPREAD gives for N = 8, M
 * = 128 and d = 2 the density of hits of "Accelerating quantum many-body configuration interaction
 * with directives" (WACCPD 2021), whose bias is not published: 6e-6. Fewer particles give more
 * hits.
 */
#ifndef TG_MOTIF_STATES_H
#define TG_MOTIF_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_STATES_SLACK = 64, TG_STATES_MOST_ORBITALS = 65536 };
static const double TG_STATES_SPREAD = 36; /* orbitals */

/** A set of states, or a slice of one (which owns nothing). */
typedef struct tg_states {
  size_t count;
  /* Between planes, elements: at least count. An odd multiple of 64 here, so that the planes of a
   * power of two of states do not meet in the same few sets of a cache. */
  size_t stride;
  uint32_t particles, orbitals;
  uint32_t words;    /* W; 0 where bits is NULL */
  uint64_t* low;     /* [stride] */
  uint16_t* orbital; /* [N, stride]; NULL where not kept */
  uint64_t* bits;    /* [W, stride]; NULL where not kept */
} tg_states;

typedef struct tg_states_params {
  size_t count;
  uint32_t particles, orbitals; /* 1 <= particles <= orbitals <= TG_STATES_MOST_ORBITALS */
  double spread;                /* orbitals; 0: no bias */
  uint64_t seed;
} tg_states_params;

/** Random states as above, with all three forms. TG_ERR_INPUT for numbers out of range, or where
 * the bias leaves an orbital too improbable (a million draws for one state). */
tg_status tg_states_random(const tg_states_params* params, tg_states* out);

/** States from lists of orbitals: [count, particles], rising within a state, with all three forms.
 * TG_ERR_INPUT names a state whose orbitals do not rise, or pass the number of orbitals. */
tg_status tg_states_from_lists(size_t count, uint32_t particles, uint32_t orbitals,
                               const uint16_t* lists, tg_states* out);

/** State order[i] of the set becomes state i of the new one; order: [count] numbers. */
tg_status tg_states_gather(const tg_states* states, const uint32_t* order, size_t count,
                           tg_states* out);

/** Releases host memory; accepts a zeroed or half-built set, leaves it zeroed. */
void tg_states_free(tg_states* states);

/** The states begin ... begin + count - 1, sharing the planes of the set; host or device. */
tg_states tg_states_slice(const tg_states* states, size_t begin, size_t count);

/** Bytes of each form, the slack included. */
size_t tg_states_low_bytes(const tg_states* states);
size_t tg_states_orbital_bytes(const tg_states* states);
size_t tg_states_bits_bytes(const tg_states* states);

#ifdef __cplusplus
}
#endif
#endif
