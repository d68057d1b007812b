/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_meet.h"

enum { LIST_BITS = 16, FIRST_BIT = 6, WORDS = FIRST_BIT + LIST_BITS };

tg_device_word tg_device_word_make(void) {
  return (tg_device_word){.trouble = {.fast_atom = -1, .bad_group = -1}};
}

/* What is agreed by maxima: more room does not help where it does not help one process. */
static void pack(tg_status status, const tg_device_word* word, int64_t* out) {
  const tg_device_trouble* t = &word->trouble;
  out[0] = status != TG_OK;
  out[1] = word->interrupted;
  out[2] = word->checkpoint_due;
  out[3] = t->fast_atom;
  out[4] = t->bad_group;
  out[5] = t->lists != 0 && !t->list_full;
  for (int i = 0; i < LIST_BITS; i++) out[FIRST_BIT + i] = t->lists >> i & 1;
}

static void unpack(const int64_t* in, tg_device_word* word) {
  tg_device_trouble* t = &word->trouble;
  word->interrupted = in[1] != 0;
  word->checkpoint_due = in[2] != 0;
  t->fast_atom = in[3];
  t->bad_group = in[4];
  t->lists = 0;
  for (int i = 0; i < LIST_BITS; i++)
    if (in[FIRST_BIT + i] != 0) t->lists |= 1U << i;
  t->list_full = t->lists != 0 && in[5] == 0;
}

tg_status tg_device_meet(tg_world* world, tg_status status, tg_device_word* word) {
  int64_t words[WORDS];
  if (!world) return status;
  pack(status, word, words);
  TG_TRY(tg_world_max_int64(world, words, WORDS));
  if (words[0] != 0) return tg_world_agree(world, status);
  unpack(words, word);
  return TG_OK;
}
