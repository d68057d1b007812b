/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/tensor.cuh  From a tensor core's counters to hits.
 *
 * With N particles in both states, a pair is a hit where popcount(x & y) >= N - d. Binary tensor
 * cores compute these counts for 8 or more columns at a time; each lane of a warp gets, of each
 * 8 columns j, four: of the rows g = lane / 4 and g + 8, columns 8 j + 2 t and the next, t = lane %
 * 4. Whether any of many counts is a hit is decided at once (mma.cu, wgmma.cu); only then do they
 * become *words* of 32 columns, a bit for each:
 *
 *   1. the counts of one row and four j are added up as four bytes, each so that bit 7 says hit;
 *      the bit of byte j, moved to 8 j + 2 t + b, is where column 8 j + 2 t + b belongs
 *   2. the four lanes of a row hold bits of four words; by three exchanges each gets one whole word
 *
 * so that all lanes have hits of their own to count or to write.
 *
 * States of more words than the counters take are *folded*: half word q is or-ed into slot q %
 * SLOTS. Shared orbitals then fall on shared bits, save where several orbitals of a state fall on
 * one; of these there are c = N - popcount(fold). One more half word holds c ones from bit 0 on, so
 * that two of them share min(c, c') bits, and altogether two states share no fewer bits than
 * orbitals: a bound. It holds for up to 33 particles; with more, c may pass 32. */
#ifndef TG_MOTIF_CUDA_TENSOR_CUH
#define TG_MOTIF_CUDA_TENSOR_CUH

#include "motif/cuda/walk.cuh"

enum { FOLD_PARTICLES = 33 /* at most */, TENSOR_BODIES = 127 /* a byte holds 128 + d */ };

/* 32 bits of a state, of number q; 0 behind its words, and where there is no such state. */
static __device__ __forceinline__ uint32_t half_word(const tg_states& s, uint64_t i, bool there,
                                                     uint32_t q) {
  if (!there || q / 2 >= s.words) return 0;
  return __ldg((const uint32_t*)(s.bits + (size_t)(q / 2) * s.stride + i) + q % 2);
}

/* The fold of a state, and its ones. */
template <int SLOTS>
static __device__ __forceinline__ void fold_state(const tg_states& s, uint64_t i,
                                                  uint32_t (&fold)[SLOTS + 1]) {
#pragma unroll
  for (int k = 0; k <= SLOTS; k++) fold[k] = 0;
  const unsigned long long* from = (const unsigned long long*)s.bits + i;
  for (uint32_t w = 0; w < s.words; w += SLOTS) { /* SLOTS words are 2 SLOTS half words */
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
      const uint64_t word = w + k < s.words ? __ldg(from + (size_t)(w + k) * s.stride) : 0;
      fold[2 * k % SLOTS] |= (uint32_t)word;
      fold[(2 * k + 1) % SLOTS] |= (uint32_t)(word >> 32);
    }
  }
  int c = (int)s.particles;
#pragma unroll
  for (int k = 0; k < SLOTS; k++) c -= __popc(fold[k]);
  fold[SLOTS] = c >= 32 ? ~0u : (1u << c) - 1;
}

/* What is added to four counts that are bytes, so that those of needed or more have bit 7. Counts
 * are at most needed + 127, and needed at most 128. */
static __device__ __forceinline__ uint32_t byte_bias(int needed) {
  return (uint32_t)(128 - needed) * 0x01010101u;
}

static __device__ __forceinline__ uint32_t four_bytes(int c0, int c1, int c2, int c3,
                                                      uint32_t bias) {
  return ((uint32_t)c0 + bias) + (uint32_t)c1 * 0x100u + (uint32_t)c2 * 0x10000u +
         (uint32_t)c3 * 0x1000000u;
}

/* The lane's bits of a word, from two numbers of four bytes: of even columns, of odd ones. */
static __device__ __forceinline__ uint32_t lane_bits(uint32_t even, uint32_t odd, int t) {
  return ((even & 0x80808080u) >> 1 | (odd & 0x80808080u)) >> (6 - 2 * t);
}

/* Four lanes with four values each: lane t gets the OR of their values t. */
static __device__ __forceinline__ uint32_t exchange(const uint32_t (&v)[4], int t) {
  const bool upper = t & 2, odd = t & 1;
  const uint32_t a = (upper ? v[2] : v[0]) | __shfl_xor_sync(~0u, upper ? v[0] : v[2], 2);
  const uint32_t b = (upper ? v[3] : v[1]) | __shfl_xor_sync(~0u, upper ? v[1] : v[3], 2);
  return (odd ? b : a) | __shfl_xor_sync(~0u, odd ? a : b, 1);
}

/* Without rows and columns that are not there, or that do not count. */
static __device__ __forceinline__ uint32_t kept_word(const tg_pairs& p, uint32_t word, uint32_t row,
                                                     uint32_t row_end, uint32_t column,
                                                     uint32_t end) {
  if (row >= row_end || column >= end) return 0;
  if (end - column < 32) word &= (1u << (end - column)) - 1;
  if (p.once) {
    const int64_t skip = (int64_t)(p.first_row + row + 1) - (int64_t)(p.first_column + column);
    if (skip > 0) word = skip < 32 ? word & ~0u << skip : 0;
  }
  return word;
}

/* Only the pairs of a word that are hits by all words of the states. */
static __device__ __forceinline__ uint32_t exact_word(const tg_pairs& p, uint32_t word,
                                                      uint32_t row, uint32_t column) {
  for (uint32_t left = word; left; left &= left - 1) {
    const int bit = __ffs((int)left) - 1;
    int differing = 0;
    for (uint32_t w = 0; w < p.rows.words && differing <= 2 * p.d; w++)
      differing += __popcll(p.rows.bits[w * p.rows.stride + row] ^
                            p.columns.bits[w * p.columns.stride + column + bit]);
    if (differing > 2 * p.d) word &= ~(1u << bit);
  }
  return word;
}

static __device__ __forceinline__ void write_word(uint32_t* to, uint32_t word, uint32_t column) {
  for (; word; word &= word - 1) *to++ = column + (uint32_t)__ffs((int)word) - 1;
}

#endif
