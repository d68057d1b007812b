/* SPDX-License-Identifier: Apache-2.0 */
/* The filter on binary tensor cores by mma, of one warp: for compute capability 8.0 and later.
 *
 * A warp keeps T times 16 rows in registers and meets 8 columns at a time, straight from memory
 * (one or two loads of 32 bits a lane for 128 T pairs). A hit is a count of N - d or more, so the
 * largest of all counts says whether there is one: an operation takes the maximum of three, one for
 * two counts. Each 16 rows have a maximum of their own, so that few counts are made once more and
 * looked at, and that no chain of operations is long. (Counts that begin at -(N - d), so that an
 * AND of them tells, cost as many operations and another operand of every mma: two thirds of the
 * speed.) */
#include "motif/cuda/pairs.cuh"
#include "motif/cuda/tensor.cuh"

enum { MMA_WARPS = 4, MMA_STEPS = 4 /* of 8 columns, looked at together */, MMA_CHUNK = 256 };

/* K: 1 for 128 bits, 2 for 256. Registers of a: row lane / 4, the next one row + 8, then the same
 * 128 bits on. */
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

template <int K, int T>
__global__ void __launch_bounds__(32 * MMA_WARPS)
    sweep_mma(const __grid_constant__ tg_pairs p, const __grid_constant__ pair_sink sink,
              int needed) {
  constexpr int ROWS = 16 * T;
  __shared__ uint32_t found[MMA_WARPS][ROWS];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const column_loader<K> loader(p.columns, lane);
  for (row_walk rows = row_walk_start(p, MMA_WARPS * ROWS); rows.begin < rows.limit;
       rows.begin += MMA_WARPS * ROWS) {
    const uint32_t first = rows.begin + warp * ROWS;
    if (first >= rows.limit) break;
    __syncwarp();
    for (int r = lane; r < ROWS; r += 32) found[warp][r] = 0;
    __syncwarp();
    uint32_t a[T][2 * K];
#pragma unroll
    for (int t = 0; t < T; t++)
#pragma unroll
      for (int k = 0; k < 2 * K; k++) {
        const uint32_t row = first + 16 * t + lane / 4 + 8 * (k % 2);
        a[t][k] = half_word(p.rows, row, row < rows.limit, 4 * (k / 2) + lane % 4);
      }
    column_walk walk = column_walk_start(p, rows, first, MMA_CHUNK);
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
        int of_tile[T], of_all, count[4];
#pragma unroll
        for (int t = 0; t < T; t++) of_tile[t] = 0;
#pragma unroll
        for (int j = 0; j < MMA_STEPS; j++)
#pragma unroll
          for (int t = 0; t < T; t++) {
            count_pairs<K>(count, a[t], b[j]);
            of_tile[t] = max(max(of_tile[t], count[0]), count[1]);
            of_tile[t] = max(max(of_tile[t], count[2]), count[3]);
          }
        of_all = of_tile[0];
#pragma unroll
        for (int t = 1; t < T; t++) of_all = max(of_all, of_tile[t]);
        if (!__any_sync(~0u, of_all >= needed)) continue;
#pragma unroll
        for (int t = 0; t < T; t++) {
          if (!__any_sync(~0u, of_tile[t] >= needed)) continue;
          uint32_t mask = 0;
#pragma unroll
          for (int j = 0; j < MMA_STEPS; j++) {
            count_pairs<K>(count, a[t], b[j]);
#pragma unroll
            for (int i = 0; i < 4; i++) mask |= (uint32_t)(count[i] >= needed) << (4 * j + i);
          }
          take_masks(p, sink, mask, first + 16 * t, rows.limit, column, end, 8 * MMA_STEPS,
                     found[warp] + 16 * t);
        }
      }
    }
    __syncwarp();
    if (sink.kind == SINK_COUNT)
      for (int r = lane; r < ROWS && first + r < rows.limit; r += 32)
        if (found[warp][r] > 0) atomicAdd(sink.counts + first + r, found[warp][r]);
  }
}

template <int K, int T>
static tg_status launch(const tg_pairs* pairs, const pair_sink* sink) {
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  const dim3 grid = sweep_grid(pairs, 16 * T * MMA_WARPS, MMA_CHUNK, sink->kind == SINK_RANKED,
                               (size_t)tg_cuda_multiprocessors() * 32);
  sweep_mma<K, T><<<grid, 32 * MMA_WARPS>>>(*pairs, *sink, (int)pairs->rows.particles - pairs->d);
  return tg_cuda_queued("a filter on tensor cores");
}

tg_status tg_cuda_sweep_mma(const tg_pairs* pairs, const pair_sink* sink) {
  return pairs->rows.words <= 2 ? launch<1, 8>(pairs, sink) : launch<2, 8>(pairs, sink);
}

const char* tg_cuda_refuses_mma(const tg_pairs* pairs) {
  if (pairs && pairs->rows.words > 4) return "mma holds states of up to 256 orbitals";
  return tg_pairs_need_bits(pairs);
}
