/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/cuda/words.cuh"

#include "motif/cuda/pairs.cuh"

template <sweep_method METHOD, int W, int C, bool FOLD>
static tg_status launch(const tg_pairs* pairs, const pair_sink* sink) {
  bool work;
  TG_TRY(sweep_begin(pairs, sink->counts, &work));
  if (!work) return TG_OK;
  const dim3 grid = sweep_grid(pairs, (size_t)SWEEP_ROWS * SWEEP_WARPS, 32 * C,
                               (size_t)tg_cuda_multiprocessors() * 48);
  sweep_words<METHOD, W, C, FOLD>
      <<<grid, 32 * SWEEP_WARPS>>>(*pairs, pair_taker{*sink}, SWEEP_ROWS);
  return tg_cuda_queued("a filter");
}

tg_status tg_cuda_sweep_array(const tg_pairs* pairs, const pair_sink* sink) {
  return launch<METHOD_ARRAY, 1, 1, false>(pairs, sink);
}

tg_status tg_cuda_sweep_word64(const tg_pairs* pairs, const pair_sink* sink, bool fold) {
  return fold ? launch<METHOD_WORD64, 1, 8, true>(pairs, sink)
              : launch<METHOD_WORD64, 1, 8, false>(pairs, sink);
}

tg_status tg_cuda_sweep_bits(const tg_pairs* pairs, const pair_sink* sink, bool fold) {
  if (fold) return launch<METHOD_BITS, 1, 8, true>(pairs, sink);
  switch (pairs->rows.words) {
    case 1: return launch<METHOD_BITS, 1, 8, false>(pairs, sink);
    case 2: return launch<METHOD_BITS, 2, 8, false>(pairs, sink);
    case 3: return launch<METHOD_BITS, 3, 4, false>(pairs, sink);
    default: return launch<METHOD_BITS, 4, 4, false>(pairs, sink);
  }
}
