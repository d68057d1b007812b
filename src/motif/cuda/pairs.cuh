/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/cuda/pairs.cuh  The sweeps of this backend, by file; each counts or fills as the
 * sink says. */
#ifndef TG_MOTIF_CUDA_PAIRS_CUH
#define TG_MOTIF_CUDA_PAIRS_CUH

#include "motif/cuda/walk.cuh"

tg_status tg_cuda_sweep_array(const tg_pairs* pairs, const pair_sink* sink);
/** fold: the bound is of the word's halves, folded (words.cuh). */
tg_status tg_cuda_sweep_word64(const tg_pairs* pairs, const pair_sink* sink, bool fold);
/** fold: the bound is of the first word's halves, folded; else of all words, to four. */
tg_status tg_cuda_sweep_bits(const tg_pairs* pairs, const pair_sink* sink, bool fold);
/** Not for SINK_CURSOR. */
tg_status tg_cuda_sweep_mma(const tg_pairs* pairs, const pair_sink* sink);
const char* tg_cuda_refuses_mma(const tg_pairs* pairs);
tg_status tg_cuda_sweep_wgmma(const tg_pairs* pairs, const pair_sink* sink);
const char* tg_cuda_refuses_wgmma(const tg_pairs* pairs);
/** Puts the hits of each row, which a fill left in any order, into rising order (sort.cu). */
tg_status tg_cuda_sort_hits(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* hits);

#endif
