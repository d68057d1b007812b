/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/words.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static struct {
  bool set;
  int count;
  char** words;
} mine;

void tg_words_set(int count, char** words) {
  mine.set = true;
  mine.count = count;
  mine.words = words;
}

/* FNV-1a; the zero byte that ends a word counts too, so that "a bc" is not "ab c". */
static uint64_t hash_words(void) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (int w = 0; w < mine.count; w++)
    for (const char* at = mine.words[w];; at++) {
      hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
      if (!*at) break;
    }
  return hash;
}

/* All in one line; a long line ends in "...". */
static void join_words(char* out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int w = 0; w < mine.count && used < size; w++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", w ? " " : "", mine.words[w]);
  if (used >= size) memcpy(out + size - 4, "...", 4);
  if (mine.count == 0) snprintf(out, size, "(it needs no other PE)");
}

tg_status tg_words_compare(tg_world* world) {
  if (!mine.set || !tg_world_of_processes(world)) return TG_OK;
  uint64_t hash = hash_words(), first = hash;
  TG_TRY(tg_world_broadcast(world, 0, &first, sizeof first));
  int pe = tg_world_pe(world), pe_count = tg_world_pe_count(world);
  int64_t other = hash == first ? 0 : pe_count - pe; /* the largest is the first PE's */
  TG_TRY(tg_world_max_int64(world, &other, 1));
  if (other == 0) return TG_OK;
  char line[1024] = "";
  int its = pe_count - (int)other;
  if (pe == its) join_words(line, sizeof line);
  TG_TRY(tg_world_broadcast(world, its, line, sizeof line));
  return tg_world_agree(
      world, tg_fail(TG_ERR_INPUT,
                     "PE %d was started with other words than PE 0: %s; give all processes the "
                     "same command line",
                     its, line));
}
