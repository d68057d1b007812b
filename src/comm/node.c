/* SPDX-License-Identifier: Apache-2.0 */
/* Which PEs run on one machine, for transports that are not told. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/transport.h"

enum { NAME = 128 };

/* A name that no other machine has. The kernel draws one when it starts: containers share it, as
 * they share the GPUs; where it does not say, the host's name serves. */
static void machine_name(char name[NAME]) {
  memset(name, 0, NAME);
  FILE* file = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (file) {
    if (!fgets(name, NAME, file)) name[0] = '\0';
    fclose(file);
  }
  if (!name[0]) gethostname(name, NAME - 1);
}

tg_status tg_world_find_node(tg_world* world) {
  char mine[NAME], *all = NULL;
  machine_name(mine);
  tg_status status = TG_ALLOCATE((size_t)world->pe_count * NAME, "names of machines", &all);
  status = tg_world_agree(world, status);
  if (status == TG_OK) status = tg_world_all_gather(world, mine, NAME, all);
  if (status == TG_OK) {
    world->node_pe = world->node_pe_count = 0;
    for (int p = 0; p < world->pe_count; p++) {
      if (memcmp(all + (size_t)p * NAME, mine, NAME) != 0) continue;
      world->node_pe_count++;
      world->node_pe += p < world->pe;
    }
  }
  tg_free(all);
  return status;
}
