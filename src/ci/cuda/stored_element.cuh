/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/stored_element.cuh  One matrix element between two states given by their bits (the
 * Slater-Condon rules, as in ci/element.h).
 *
 * Bits 0 ... n - 1 of a state are A's orbitals, those behind them B's. What the bra has and the ket
 * has not, and the other way round, are at most two orbitals each. The phase is that of the places
 * at which they stand, counted through all particles: as many of each species differ in both
 * states, so that A's number of particles does not show. */
#ifndef TG_CI_CUDA_STORED_ELEMENT_CUH
#define TG_CI_CUDA_STORED_ELEMENT_CUH

#include <stdint.h>

extern "C" {
#include "ci/stored_elements.h"
}

/** tg_ci_flat_elements in device memory, and the bits of all states: [words, stride]. */
typedef struct stored_elements {
  uint32_t n[2];
  const double* one[2];
  const uint64_t *pair_row[2], *cross_row;
  const uint32_t *pair_place[2], *pair_channel[2], *cross_place, *cross_channel[2];
  const double* value;
  double constant;
  const uint64_t* bits;
  size_t stride;
  uint32_t words;
} stored_elements;

/* What differs, in the order of the bits; of one state. */
typedef struct stored_difference {
  uint32_t orbital[2];
  int count, places;
} stored_difference;

static __device__ __forceinline__ void note_difference(uint64_t only, uint64_t state, uint32_t word,
                                                       int before, stored_difference* d) {
  for (; only; only &= only - 1) {
    const int bit = __ffsll((long long)only) - 1;
    if (d->count < 2) d->orbital[d->count] = 64 * word + (uint32_t)bit;
    d->count++;
    d->places += before + __popcll(state & ((UINT64_C(1) << bit) - 1));
  }
}

static __device__ __forceinline__ double pair_element(const stored_elements* e, int t, uint32_t i,
                                                      uint32_t j, uint32_t k, uint32_t l) {
  const uint32_t n = e->n[t];
  if (i == j || k == l) return 0;
  const bool minus = (i > j) != (k > l);
  const uint32_t bra = i < j ? i * n + j : j * n + i, ket = k < l ? k * n + l : l * n + k;
  if (e->pair_channel[t][bra] != e->pair_channel[t][ket]) return 0;
  const double v = e->value[e->pair_row[t][bra] + e->pair_place[t][ket]];
  return minus ? -v : v;
}

static __device__ __forceinline__ double cross_element(const stored_elements* e, uint32_t i,
                                                       uint32_t j, uint32_t k, uint32_t l) {
  const uint32_t a = i * e->n[0] + j, b = k * e->n[1] + l;
  if (e->cross_channel[0][a] != e->cross_channel[1][b]) return 0;
  return e->value[e->cross_row[a] + e->cross_place[b]];
}

/* Adds f(species, orbital) over all particles of a state. */
template <class F>
static __device__ __forceinline__ double sum_particles(const stored_elements* e, uint64_t state,
                                                       F f) {
  double sum = 0;
  for (uint32_t w = 0; w < e->words; w++)
    for (uint64_t rest = e->bits[w * e->stride + state]; rest; rest &= rest - 1) {
      const uint32_t o = 64 * w + (uint32_t)(__ffsll((long long)rest) - 1);
      sum += o < e->n[0] ? f(0, o) : f(1, o - e->n[0]);
    }
  return sum;
}

/* One particle of species t moved from j to i. */
static __device__ __forceinline__ double single_element(const stored_elements* e, uint64_t bra,
                                                        int t, uint32_t i, uint32_t j) {
  return e->one[t][i * e->n[t] + j] + sum_particles(e, bra, [=](int s, uint32_t q) {
           if (s == t) return pair_element(e, t, i, q, j, q);
           return t ? cross_element(e, q, q, i, j) : cross_element(e, i, j, q, q);
         });
}

/** <state|H|state> */
static __device__ __forceinline__ double stored_same(const stored_elements* e, uint64_t state) {
  return e->constant + sum_particles(e, state, [=](int t, uint32_t i) {
           return e->one[t][i * e->n[t] + i] + sum_particles(e, state, [=](int s, uint32_t j) {
                    if (s != t) return t ? 0 : cross_element(e, i, i, j, j);
                    return i < j ? pair_element(e, t, i, j, i, j) : 0;
                  });
         });
}

/** <bra|H|ket> of different states that differ in at most two particles. */
static __device__ __forceinline__ double stored_element(const stored_elements* e, uint64_t bra,
                                                        uint64_t ket) {
  stored_difference in = {}, out = {};
  int before_bra = 0, before_ket = 0;
  for (uint32_t w = 0; w < e->words; w++) {
    const uint64_t b = e->bits[w * e->stride + bra], k = e->bits[w * e->stride + ket];
    note_difference(b & ~k, b, w, before_bra, &in);
    note_difference(k & ~b, k, w, before_ket, &out);
    before_bra += __popcll(b);
    before_ket += __popcll(k);
  }
  if (in.count != out.count || in.count > 2) return 0;
  const uint32_t n = e->n[0];
  double value;
  if (in.count == 1) {
    const int t = in.orbital[0] >= n;
    value = single_element(e, bra, t, in.orbital[0] - (t ? n : 0), out.orbital[0] - (t ? n : 0));
  } else if (in.orbital[1] < n) {
    value = pair_element(e, 0, in.orbital[0], in.orbital[1], out.orbital[0], out.orbital[1]);
  } else if (in.orbital[0] >= n) {
    value = pair_element(e, 1, in.orbital[0] - n, in.orbital[1] - n, out.orbital[0] - n,
                         out.orbital[1] - n);
  } else {
    value = cross_element(e, in.orbital[0], out.orbital[0], in.orbital[1] - n, out.orbital[1] - n);
  }
  return (in.places + out.places) & 1 ? -value : value;
}

#endif
