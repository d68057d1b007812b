/* SPDX-License-Identifier: Apache-2.0 */
/* The versions of filter and fill: a sweep (pairs.cuh), and what becomes of its hits (walk.cuh). */
#include "motif/cuda/pairs.cuh"

#define COUNT(name, call)                                                                          \
  static tg_status name(const tg_pairs* pairs, uint32_t* counts) {                                 \
    const pair_sink sink = {SINK_COUNT, counts, NULL, NULL};                                       \
    return call;                                                                                   \
  }
COUNT(count_array, tg_cuda_sweep_array(pairs, &sink))
COUNT(count_word64, tg_cuda_sweep_word64(pairs, &sink, false))
COUNT(count_word64_folded, tg_cuda_sweep_word64(pairs, &sink, true))
COUNT(count_bits, tg_cuda_sweep_bits(pairs, &sink, false))
COUNT(count_bits_folded, tg_cuda_sweep_bits(pairs, &sink, true))
COUNT(count_mma, tg_cuda_sweep_mma(pairs, &sink))
COUNT(count_wgmma, tg_cuda_sweep_wgmma(pairs, &sink))

extern const tg_filter_version tg_cuda_filters[] = {
    {"array", "array", tg_pairs_need_array, count_array},
    {"word64", "word64", tg_pairs_need_word64, count_word64},
    {"word64 folded", "word64", tg_pairs_need_word64, count_word64_folded},
    {"bits", "bits", tg_pairs_need_bits, count_bits},
    {"bits folded", "bits", tg_pairs_need_bits, count_bits_folded},
    {"bits mma", "bits", tg_cuda_refuses_mma, count_mma},
    {"bits wgmma", "bits", tg_cuda_refuses_wgmma, count_wgmma},
    {NULL, NULL, NULL, NULL},
};

#define FILL(name, kind, call)                                                                     \
  static tg_status name(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,          \
                        uint32_t* hits) {                                                          \
    const pair_sink sink = {kind, cursor, offsets, hits};                                          \
    return call;                                                                                   \
  }

/* In order by sorting: slots in order from the start would take a warp that has the row for itself,
 * and there are too few of these. */
#define RANKED(name, unordered)                                                                    \
  static tg_status name(const tg_pairs* pairs, const uint64_t* offsets, uint32_t* cursor,          \
                        uint32_t* hits) {                                                          \
    TG_TRY(unordered(pairs, offsets, cursor, hits));                                               \
    return tg_cuda_sort_hits(pairs, offsets, hits);                                                \
  }
FILL(array_cursor, SINK_CURSOR, tg_cuda_sweep_array(pairs, &sink))
RANKED(array_ranked, array_cursor)
FILL(word64_cursor, SINK_CURSOR, tg_cuda_sweep_word64(pairs, &sink, false))
FILL(word64_aggregated, SINK_AGGREGATED, tg_cuda_sweep_word64(pairs, &sink, false))
RANKED(word64_ranked, word64_cursor)
FILL(bits_cursor, SINK_CURSOR, tg_cuda_sweep_bits(pairs, &sink, false))
FILL(bits_aggregated, SINK_AGGREGATED, tg_cuda_sweep_bits(pairs, &sink, false))
RANKED(bits_ranked, bits_cursor)
FILL(folded_aggregated, SINK_AGGREGATED, tg_cuda_sweep_bits(pairs, &sink, true))
RANKED(folded_ranked, folded_aggregated)
FILL(mma_aggregated, SINK_AGGREGATED, tg_cuda_sweep_mma(pairs, &sink))
RANKED(mma_ranked, mma_aggregated)
FILL(wgmma_aggregated, SINK_AGGREGATED, tg_cuda_sweep_wgmma(pairs, &sink))
RANKED(wgmma_ranked, wgmma_aggregated)

extern const tg_fill_version tg_cuda_fills[] = {
    {"array ranked", "array", true, tg_pairs_need_array, array_ranked},
    {"word64 cursor", "word64", false, tg_pairs_need_word64, word64_cursor},
    {"word64 aggregated", "word64", false, tg_pairs_need_word64, word64_aggregated},
    {"word64 ranked", "word64", true, tg_pairs_need_word64, word64_ranked},
    {"bits cursor", "bits", false, tg_pairs_need_bits, bits_cursor},
    {"bits aggregated", "bits", false, tg_pairs_need_bits, bits_aggregated},
    {"bits ranked", "bits", true, tg_pairs_need_bits, bits_ranked},
    {"bits folded aggregated", "bits", false, tg_pairs_need_bits, folded_aggregated},
    {"bits folded ranked", "bits", true, tg_pairs_need_bits, folded_ranked},
    {"bits mma aggregated", "bits", false, tg_cuda_refuses_mma, mma_aggregated},
    {"bits mma ranked", "bits", true, tg_cuda_refuses_mma, mma_ranked},
    {"bits wgmma aggregated", "bits", false, tg_cuda_refuses_wgmma, wgmma_aggregated},
    {"bits wgmma ranked", "bits", true, tg_cuda_refuses_wgmma, wgmma_ranked},
    {NULL, NULL, false, NULL, NULL},
};
