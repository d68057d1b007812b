/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of threads: plain memory whose addresses the PEs tell each other. The last PE to
 * destroy its view releases all blocks, so that nobody needs to wait for anybody then. */
#include "comm/loop/loop.h"

typedef struct share {
  _Atomic int users;
} share;

/* What a PE tells the others. */
typedef struct card {
  char* block;
  share* share; /* PE 0's counts */
} card;

tg_status tg_loop_symmetric_create(tg_symmetric* s) {
  tg_world* world = s->world;
  card mine = {0}, *all = NULL;
  size_t pes = (size_t)world->pe_count;
  tg_status status =
      tg_allocate(tg_symmetric_block_bytes(s), 1, "symmetric memory", (void**)&mine.block);
  if (status == TG_OK) status = TG_ALLOCATE(1, "symmetric memory", &mine.share);
  if (status == TG_OK) status = TG_ALLOCATE(pes, "symmetric memory", &all);
  status = tg_world_agree(world, status);
  if (status != TG_OK) goto fail;
  if (world->pe == 0) atomic_store(&mine.share->users, world->pe_count);
  status = tg_loop_all_gather(world, &mine, sizeof mine, all);
  if (status != TG_OK) { /* an aborted world; the others may have our block already */
    tg_free(all);
    return status;
  }
  for (size_t p = 0; p < pes; p++) s->base[p] = all[p].block;
  s->share = all[0].share;
  tg_free(all);
  if (world->pe != 0) tg_free(mine.share);
  return TG_OK;
fail:
  tg_free(mine.block);
  tg_free(mine.share);
  tg_free(all);
  return status;
}

void tg_loop_symmetric_destroy(tg_symmetric* s) {
  share* users = s->share;
  if (atomic_fetch_sub(&users->users, 1) == 1) {
    for (int p = 0; p < s->world->pe_count; p++) tg_free(s->base[p]);
    tg_free(users);
  }
  tg_free(s->base);
  tg_free(s);
}
