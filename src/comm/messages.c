/* SPDX-License-Identifier: Apache-2.0 */
/* Collective operations from messages alone, for transports without anything better. All need
 * ceil(log2(pe_count)) rounds. */
#include <string.h>

#include "base/memory.h"
#include "comm/transport.h"

tg_status tg_messages_barrier(tg_world* world) {
  int count = world->pe_count;
  for (int step = 1; step < count; step *= 2) {
    tg_message message = {.to = (world->pe + step) % count,
                          .from = (world->pe - step + count) % count};
    TG_TRY(world->ops->exchange(world, &message));
  }
  return TG_OK;
}

tg_status tg_messages_all_gather(tg_world* world, const void* send, size_t bytes, void* receive) {
  size_t count = (size_t)world->pe_count, pe = (size_t)world->pe;
  tg_status status =
      TG_RESERVE(count * bytes, "gathered data", &world->work, &world->work_capacity);
  if (status != TG_OK) return tg_world_give_up(world, status);
  if (!bytes) return tg_messages_barrier(world);
  /* block i of work is what PE (pe + i) mod count brought; each round doubles the blocks held */
  memcpy(world->work, send, bytes);
  for (size_t held = 1; held < count; held *= 2) {
    size_t blocks = held < count - held ? held : count - held;
    tg_message message = {.to = (int)((pe + count - held) % count),
                          .send = world->work,
                          .send_bytes = blocks * bytes,
                          .from = (int)((pe + held) % count),
                          .receive = world->work + held * bytes,
                          .receive_bytes = blocks * bytes};
    TG_TRY(world->ops->exchange(world, &message));
  }
  memcpy((char*)receive + pe * bytes, world->work, (count - pe) * bytes);
  if (pe) memcpy(receive, world->work + (count - pe) * bytes, pe * bytes);
  return TG_OK;
}

tg_status tg_messages_broadcast(tg_world* world, int root, void* data, size_t bytes) {
  int count = world->pe_count, rank = (world->pe - root + count) % count;
  int step = 1;
  while (step < count && !(rank & step)) step *= 2;
  if (rank) {
    tg_message message = {.to = TG_NO_PE,
                          .from = (rank - step + root) % count,
                          .receive = data,
                          .receive_bytes = bytes};
    TG_TRY(world->ops->exchange(world, &message));
  }
  for (step /= 2; step > 0; step /= 2) {
    if (rank + step >= count) continue;
    tg_message message = {
        .to = (rank + step + root) % count, .send = data, .send_bytes = bytes, .from = TG_NO_PE};
    TG_TRY(world->ops->exchange(world, &message));
  }
  return TG_OK;
}
