/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/memory.h"
#include "ci/stored_internal.h"

void tg_ci_reached_free(tg_ci_reached* r) {
  TG_FREE(r->blocks);
  TG_FREE(r->begin);
}

static int by_number(const void* p, const void* q) {
  const uint32_t a = *(const uint32_t*)p, b = *(const uint32_t*)q;
  return a < b ? -1 : a > b;
}

tg_status tg_ci_reached_make(const tg_ci_fly* f, tg_ci_reached* out) {
  const tg_ci_space* space = f->space;
  size_t count = 0, room = 0;
  TG_TRY(TG_ALLOCATE(space->block_count + 1, "blocks", &out->begin));
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    const tg_ci_target* alone[2] = {&f->alone[0].targets[block->a], &f->alone[1].targets[block->b]};
    const tg_ci_target* jumps[2] = {&f->jumps[0].targets[block->a], &f->jumps[1].targets[block->b]};
    const size_t most = 1 + alone[0]->link_count + alone[1]->link_count +
                        jumps[0]->link_count * jumps[1]->link_count;
    TG_TRY(TG_RESERVE(count + most, "blocks", &out->blocks, &room));
    uint32_t* list = out->blocks + count;
    size_t found = 0, kept = 0;
    list[found++] = (uint32_t)n;
    for (size_t l = 0; l < alone[0]->link_count; l++)
      list[found++] = (uint32_t)tg_ci_space_block(space, alone[0]->links[l].source, block->b);
    for (size_t l = 0; l < alone[1]->link_count; l++)
      list[found++] = (uint32_t)tg_ci_space_block(space, block->a, alone[1]->links[l].source);
    for (size_t l = 0; l < jumps[0]->link_count; l++) {
      size_t first;
      const size_t links = tg_ci_links_of(jumps[1], jumps[0]->links[l].channel, &first);
      for (size_t m = first; m < first + links; m++)
        list[found++] = (uint32_t)tg_ci_space_block(space, jumps[0]->links[l].source,
                                                    jumps[1]->links[m].source);
    }
    qsort(list, found, sizeof *list, by_number);
    for (size_t i = 0; i < found; i++) /* (uint32_t)SIZE_MAX: no such block */
      if (list[i] != UINT32_MAX && (kept == 0 || list[kept - 1] != list[i])) list[kept++] = list[i];
    count += kept;
    out->begin[n + 1] = count;
  }
  return TG_OK;
}
