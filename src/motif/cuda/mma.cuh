/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/mma.cuh  What mma.cu and mma_folded.cu share: T tiles of 16 rows against 32
 * columns, and what becomes of their hits. A lane's words are of the rows 32 m + 8 t + g of its
 * warp (g = lane / 4, t = lane % 4), one for each two tiles m. */
#ifndef TG_MOTIF_CUDA_MMA_CUH
#define TG_MOTIF_CUDA_MMA_CUH

#include "motif/cuda/tensor.cuh"

enum { MMA_WARPS = 4, MMA_STEPS = 4 /* of 8 columns, looked at together */, MMA_CHUNK = 256 };

/* K: 1 for 128 bits, 2 for 256. Registers of a: row g, row g + 8, then the same 128 bits on. */
template <int K>
static __device__ __forceinline__ void count_pairs(int (&count)[4], const uint32_t (&a)[2 * K],
                                                   const uint32_t (&b)[K]) {
  if constexpr (K == 1)
    asm("mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%7, %7, %7, %7};"
        : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]), "=r"(count[3])
        : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(0));
  else
    asm("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=r"(count[0]), "=r"(count[1]), "=r"(count[2]), "=r"(count[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(0));
}

/* Keeps the largest count of a tile: an operation takes the maximum of three. */
template <int K>
static __device__ __forceinline__ void most_of_tile(int& most, const uint32_t (&a)[2 * K],
                                                    const uint32_t (&b)[K]) {
  int count[4];
  count_pairs<K>(count, a, b);
  most = max(max(most, count[0]), count[1]);
  most = max(max(most, count[2]), count[3]);
}

/* Both of a tile's values for exchange: of rows g and g + 8. */
static __device__ __forceinline__ void tile_bits(const int (&count)[MMA_STEPS][4], uint32_t bias,
                                                 int t, uint32_t& low, uint32_t& high) {
  uint32_t bytes[4];
#pragma unroll
  for (int i = 0; i < 4; i++)
    bytes[i] = four_bytes(count[0][i], count[1][i], count[2][i], count[3][i], bias);
  low = lane_bits(bytes[0], bytes[1], t);
  high = lane_bits(bytes[2], bytes[3], t);
}

/* A lane's hits in a chunk of columns: words that it will write when the chunk has been met, so
 * that a row takes one atomic for all of them. Nothing of it is another lane's. */
template <int WORDS>
struct lane_hits {
  uint32_t (*room)[MMA_CHUNK / 32][32]; /* [WORDS], shared, of the warp */
  uint32_t filled;                      /* bit 8 m + s: word m of step s is there */
  uint32_t sums[WORDS];                 /* hits of each row: in all, or not yet written */

  /* The words of step s. */
  __device__ __forceinline__ void take(const tg_pairs& p, const pair_sink& sink,
                                       const uint32_t (&word)[WORDS], int s, uint32_t row,
                                       uint32_t row_end, uint32_t column, uint32_t end) {
#pragma unroll
    for (int m = 0; m < WORDS; m++) {
      const uint32_t kept = kept_word(p, word[m], row + 32 * m, row_end, column, end);
      sums[m] += (uint32_t)__popc(kept);
      if (kept == 0 || sink.kind == SINK_COUNT) continue;
      room[m][s][threadIdx.x % 32] = kept;
      filled |= 1u << (MMA_CHUNK / 32 * m + s);
    }
  }

  /* Writes what was taken since the chunk began, at column begin. */
  __device__ __forceinline__ void write(const pair_sink& sink, uint32_t row, uint32_t begin) {
    if (filled == 0) return;
    uint64_t slot[WORDS]; /* the atomics are on their way together */
#pragma unroll
    for (int m = 0; m < WORDS; m++)
      slot[m] = sums[m] ? __ldg((const unsigned long long*)sink.offsets + row + 32 * m) +
                              atomicAdd(sink.counts + row + 32 * m, sums[m])
                        : 0;
#pragma unroll
    for (int m = 0; m < WORDS; m++) {
      uint32_t* to = sink.hits + slot[m];
      uint32_t steps = filled >> MMA_CHUNK / 32 * m & ((1u << MMA_CHUNK / 32) - 1);
      for (uint32_t word = 0, column = 0; steps || word; word &= word - 1) {
        if (word == 0) {
          const int s = __ffs((int)steps) - 1;
          steps &= steps - 1;
          word = room[m][s][threadIdx.x % 32];
          column = begin + 32 * s;
        }
        *to++ = column + (uint32_t)__ffs((int)word) - 1;
      }
      sums[m] = 0;
    }
    filled = 0;
  }

  __device__ __forceinline__ void add_counts(const pair_sink& sink, uint32_t row,
                                             uint32_t row_end) const {
    if (sink.kind != SINK_COUNT) return;
#pragma unroll
    for (int m = 0; m < WORDS; m++)
      if (sums[m] > 0 && row + 32 * m < row_end) atomicAdd(sink.counts + row + 32 * m, sums[m]);
  }
};

/** For states of any number of words (mma_folded.cu); as tg_cuda_sweep_mma. */
tg_status tg_cuda_sweep_mma_folded(const tg_pairs* pairs, const pair_sink* sink);

#endif
