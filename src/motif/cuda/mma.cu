/* SPDX-License-Identifier: Apache-2.0 */
/* The filter on binary tensor cores by mma, of one warp: for compute capability 8.0 and later, and
 * states of up to 256 bits (longer ones: mma_folded.cu).
 *
 * A warp keeps T times 16 rows in registers and meets 8 columns at a time, straight from memory
 * (one or two loads of 32 bits a lane for 128 T pairs). A hit is a count of N - d or more, so the
 * largest of all counts says whether there is one: an operation takes the maximum of three, one for
 * two counts. Each 16 rows have a maximum of their own, so that few counts are made once more and
 * looked at, and that no chain of operations is long. (Counts that begin at -(N - d), so that an
 * AND of them tells, cost as many operations and another operand of every mma: two thirds of the
 * speed.) Most of the time is mma's own, with which the maxima hardly overlap. Few rows are 16 to a
 * warp, and where one warp holds all of them, the warps of a block take turns at the columns. */
#include "motif/cuda/mma.cuh"
#include "motif/cuda/pairs.cuh"

/* Where the lane's half words of columns lie; a half word that states lack reads 0. */
template <int K>
struct column_loader {
  const uint32_t* from[K];
  bool there[K];

  __device__ __forceinline__ column_loader(const tg_states& s, int lane) {
#pragma unroll
    for (int k = 0; k < K; k++) {
      const uint32_t q = 4 * k + lane % 4;
      there[k] = q / 2 < s.words;
      from[k] =
          (const uint32_t*)(s.bits + (there[k] ? q / 2 : 0) * s.stride) + q % 2 + 2 * (lane / 4);
    }
  }
  /* up to 31 columns behind the last are read, and left out later */
  __device__ __forceinline__ void load(uint32_t column, uint32_t (&b)[MMA_STEPS][K]) const {
#pragma unroll
    for (int j = 0; j < MMA_STEPS; j++)
#pragma unroll
      for (int k = 0; k < K; k++)
        b[j][k] = there[k] ? __ldg(from[k] + 2 * ((size_t)column + 8 * j)) : 0;
  }
};

/* The words of two tiles (of one where ONE), whose counts are made once more. */
template <int K, bool ONE>
static __device__ __forceinline__ uint32_t word_of_tiles(const uint32_t (*a)[2 * K],
                                                         const uint32_t (&b)[MMA_STEPS][K],
                                                         uint32_t bias, int t) {
  uint32_t bits[4] = {0, 0, 0, 0};
#pragma unroll
  for (int tile = 0; tile < (ONE ? 1 : 2); tile++) {
    int count[MMA_STEPS][4];
#pragma unroll
    for (int j = 0; j < MMA_STEPS; j++) count_pairs<K>(count[j], a[tile], b[j]);
    tile_bits(count, bias, t, bits[2 * tile], bits[2 * tile + 1]);
  }
  return exchange(bits, t);
}

template <int K, int T>
__global__ void __launch_bounds__(32 * MMA_WARPS, T > 1 ? 4 : 6)
    sweep_mma(const __grid_constant__ tg_pairs p, const __grid_constant__ pair_sink sink,
              int needed) {
  constexpr int ROWS = 16 * T, WORDS = (T + 1) / 2;
  __shared__ uint32_t room[MMA_WARPS][WORDS][MMA_CHUNK / 32][32];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool alone = one_warp_holds_rows(p, ROWS);
  const column_loader<K> loader(p.columns, lane);
  const uint32_t bias = byte_bias(needed);
  for (row_walk rows = row_walk_start(p, MMA_WARPS * ROWS); rows.begin < rows.limit;
       rows.begin += MMA_WARPS * ROWS) {
    const uint32_t first = rows.begin + (alone ? 0 : warp * ROWS);
    if (first >= rows.limit) break;
    uint32_t a[T][2 * K];
    lane_hits<WORDS> hits = {room[warp], 0, {}};
#pragma unroll
    for (int t = 0; t < T; t++)
#pragma unroll
      for (int k = 0; k < 2 * K; k++) {
        const uint32_t row = first + 16 * t + lane / 4 + 8 * (k % 2);
        a[t][k] = half_word(p.rows, row, row < rows.limit, 4 * (k / 2) + lane % 4);
      }
    const uint32_t row = first + 8 * (lane % 4) + lane / 4;
    const uint32_t row_end = min(rows.limit, first + ROWS);
    column_walk walk =
        column_walk_start(p, rows, first, MMA_CHUNK, alone ? MMA_WARPS : 1, alone ? warp : 0);
    uint32_t begin, end;
    while (column_walk_next(p, &walk, &begin, &end)) {
      uint32_t next[MMA_STEPS][K];
      loader.load(begin, next);
      for (uint32_t column = begin; column < end; column += 8 * MMA_STEPS) {
        uint32_t b[MMA_STEPS][K];
#pragma unroll
        for (int j = 0; j < MMA_STEPS; j++)
#pragma unroll
          for (int k = 0; k < K; k++) b[j][k] = next[j][k];
        if (column + 8 * MMA_STEPS < end) loader.load(column + 8 * MMA_STEPS, next);
        int of_tile[T], of_all;
#pragma unroll
        for (int t = 0; t < T; t++) of_tile[t] = 0;
#pragma unroll
        for (int j = 0; j < MMA_STEPS; j++)
#pragma unroll
          for (int t = 0; t < T; t++) most_of_tile<K>(of_tile[t], a[t], b[j]);
        of_all = of_tile[0];
#pragma unroll
        for (int t = 1; t < T; t++) of_all = max(of_all, of_tile[t]);
        if (!__any_sync(~0u, of_all >= needed)) continue;
        uint32_t word[WORDS];
#pragma unroll
        for (int m = 0; m < WORDS; m++) {
          const int most =
              T == 1 ? of_tile[0] : max(of_tile[2 * m], of_tile[T == 1 ? 0 : 2 * m + 1]);
          word[m] = __any_sync(~0u, most >= needed)
                        ? word_of_tiles<K, T == 1>(a + 2 * m, b, bias, lane % 4)
                        : 0;
        }
        hits.take(p, sink, word, (int)(column - begin) / 32, row, row_end, column, end);
      }
      if (sink.kind != SINK_COUNT) hits.write(sink, row, begin);
    }
    hits.add_counts(sink, row, row_end);
  }
}

template <int K, int T>
static tg_status launch(const tg_pairs* pairs, const pair_sink* sink) {
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  const dim3 grid =
      sweep_grid(pairs, 16 * T * MMA_WARPS, MMA_CHUNK, (size_t)tg_cuda_multiprocessors() * 32);
  sweep_mma<K, T><<<grid, 32 * MMA_WARPS>>>(*pairs, *sink, (int)pairs->rows.particles - pairs->d);
  return tg_cuda_queued("a filter on tensor cores");
}

tg_status tg_cuda_sweep_mma(const tg_pairs* pairs, const pair_sink* sink) {
  const bool few = pairs->tile_count == 0 && pairs->rows.count <= 64;
  if (pairs->rows.words > 4 || pairs->rows.particles > 128)
    return tg_cuda_sweep_mma_folded(pairs, sink);
  if (pairs->rows.words <= 2) return few ? launch<1, 1>(pairs, sink) : launch<1, 8>(pairs, sink);
  return few ? launch<2, 1>(pairs, sink) : launch<2, 8>(pairs, sink);
}

const char* tg_cuda_refuses_mma(const tg_pairs* pairs) {
  if (tg_cuda_capability() / 10 < 8) return "mma needs a GPU of compute capability 8.0 or later";
  if (pairs && pairs->d > TENSOR_BODIES) return "tensor cores' versions take up to 127 bodies";
  return tg_pairs_need_bits(pairs);
}
