/* SPDX-License-Identifier: Apache-2.0 */
/* The flat tables in a backend's memory: one allocation, which begins with the structure of its
 * pointers, copied at once. The first pass counts bytes, the second fills the host's copy. */
#include <string.h>

#include "base/memory.h"
#include "ci/slices.h"

typedef struct upload {
  char *here, *there; /* the host's copy; the backend's memory. NULL: bytes are counted */
  size_t used;
} upload;

/* Leaves in *to where the array will be. */
static void put_bytes(upload* u, const void* from, size_t bytes, const void** to) {
  if (u->here) {
    if (bytes) memcpy(u->here + u->used, from, bytes);
    *to = u->there + u->used;
  }
  u->used += (bytes + 63) / 64 * 64;
}
#define PUT(u, from, count, to) put_bytes(u, from, (count) * sizeof **(to), (const void**)(to))

static void put_links(upload* u, const tg_ci_flat_links* from, tg_ci_slices_links* to) {
  PUT(u, from->of_class, from->class_count + 1, &to->of_class);
  PUT(u, from->links, from->link_count, &to->links);
  PUT(u, from->begin, from->begin_count, &to->begin);
  PUT(u, from->from, from->count, &to->from);
}

static void put_species(upload* u, const tg_ci_flat_species* from, size_t classes, bool coded,
                        tg_ci_slices_species* to) {
  put_links(u, &from->jumps, &to->jumps);
  put_links(u, &from->alone, &to->alone);
  PUT(u, from->first, classes, &to->first);
  PUT(u, from->orbitals, from->strings * from->particles, &to->orbitals);
  PUT(u, from->diagonal, from->strings, &to->diagonal);
  PUT(u, from->code, from->jumps.count, &to->code);
  PUT(u, from->field, from->alone.count, &to->field);
  PUT(u, from->word, coded ? from->alone.count : 0, &to->word);
  PUT(u, from->value, from->alone.count, &to->value);
  PUT(u, from->fields, from->field_rows * from->field_stride, &to->fields);
  to->particles = (uint32_t)from->particles;
  to->field_stride = (uint32_t)from->field_stride;
}

/* A word is a step, the number of a value, a sign. */
static void set_words(const tg_ci_flat* from, int32_t most_step, tg_ci_slices_tables* to) {
  uint32_t bits = 0;
  while ((size_t)1 << bits < from->value_count) bits++;
  to->coded = from->value_count > 0;
  to->shift = 1 + bits;
  to->most = most_step ? most_step : (int32_t)((UINT32_C(1) << (31 - to->shift)) - 1);
}

static void put_tables(upload* u, const tg_ci_flat* from, int32_t most_step,
                       tg_ci_slices_tables* to) {
  const void* begin = NULL;
  const bool coded = from->value_count > 0;
  u->used = 0;
  put_bytes(u, to, sizeof *to, &begin); /* its place; once more at the end */
  set_words(from, most_step, to);
  PUT(u, from->block_a, from->block_count, &to->block_a);
  PUT(u, from->block_b, from->block_count, &to->block_b);
  PUT(u, from->columns, from->block_count, &to->columns);
  PUT(u, from->offset, from->block_count + 1, &to->offset);
  PUT(u, from->block_of, from->class_count[0] * from->class_count[1], &to->block_of);
  PUT(u, from->channel_link, from->class_count[1] * (from->channel_count + 1), &to->channel_link);
  for (int t = 0; t < 2; t++)
    put_species(u, &from->species[t], from->class_count[t], coded, &to->species[t]);
  PUT(u, from->row_begin, from->operator_count, &to->row_begin);
  PUT(u, from->rows, from->row_count, &to->rows);
  PUT(u, from->row_words, coded ? from->row_count : 0, &to->row_words);
  PUT(u, from->still, from->still_count, &to->still);
  PUT(u, from->values, from->value_count, &to->values);
  to->block_count = (uint32_t)from->block_count;
  to->classes_b = (uint32_t)from->class_count[1];
  to->channel_count = (uint32_t)from->channel_count;
  to->still_stride = (uint32_t)from->still_stride;
  to->constant = from->constant;
  if (u->here) memcpy(u->here, to, sizeof *to);
}

tg_status tg_ci_slices_upload(const tg_motif_memory* memory, const tg_ci_flat* flat,
                              int32_t most_step, void** out) {
  static const char what[] = "tables of a stored matrix";
  tg_ci_slices_tables tables = {0};
  upload u = {0};
  void* there = NULL;
  tg_status status;
  put_tables(&u, flat, most_step, &tables);
  TG_TRY_GOTO(TG_ALLOCATE(u.used, what, &u.here), failed);
  TG_TRY_GOTO(memory->allocate(u.used, what, &there), failed);
  u.there = there;
  put_tables(&u, flat, most_step, &tables);
  TG_TRY_GOTO(memory->upload(there, u.here, u.used), failed);
  tg_free(u.here);
  *out = there;
  return TG_OK;
failed:
  memory->release(there);
  tg_free(u.here);
  return status;
}
