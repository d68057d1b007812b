/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_lists.h"

#include "base/memory.h"

enum { PIECE = 4096 /* states that a block of threads copies */ };

tg_status tg_ci_pieces_add(const tg_ci_range* ranges, size_t count, tg_ci_pieces* out,
                           uint64_t* states) {
  for (size_t r = 0; r < count; r++)
    for (uint64_t at = ranges[r].first; at < ranges[r].end; at += PIECE) {
      const uint64_t left = ranges[r].end - at;
      TG_TRY(TG_RESERVE(out->count + 1, "pieces of vectors", &out->list, &out->room));
      out->list[out->count] = (tg_ci_piece){at, left < PIECE ? left : PIECE};
      *states += out->list[out->count++].count;
    }
  return TG_OK;
}

uint64_t tg_ci_chunks_mark(tg_ci_range slice, const tg_ci_range* ranges, size_t count, uint32_t bit,
                           uint32_t* masks) {
  uint64_t states = 0;
  for (size_t r = 0; r < count; r++)
    for (uint64_t at = slice.first + (ranges[r].first - slice.first) / TG_CI_CHUNK * TG_CI_CHUNK;
         at < ranges[r].end; at += TG_CI_CHUNK) {
      uint32_t* mask = &masks[(at - slice.first) / TG_CI_CHUNK];
      if (*mask & bit) continue;
      *mask |= bit;
      states += slice.end - at < TG_CI_CHUNK ? slice.end - at : TG_CI_CHUNK;
    }
  return states;
}
