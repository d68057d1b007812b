/* SPDX-License-Identifier: Apache-2.0 */
/* The jumps of A in the order of the rows they lead to, and which sheets of B go with them. */
#include <stdbool.h>

#include "base/memory.h"
#include "ci/sheets.h"

void tg_ci_steps_free(tg_ci_steps* s) {
  TG_FREE(s->base);
  TG_FREE(s->begin);
  TG_FREE(s->from);
  TG_FREE(s->code);
  TG_FREE(s->row);
  *s = (tg_ci_steps){0};
}

/* The jumps to a class; false: too many elements for 31 bits. at: the first one's number. */
static bool steps_of_class(const tg_ci_fly* fly, size_t class, uint32_t at, tg_ci_steps* s) {
  const tg_ci_jumps* j = &fly->jumps[0];
  const tg_ci_target* t = &j->targets[class];
  uint32_t begin = s->base[class];
  for (size_t r = 0; r < fly->space->strings[0].classes[class].count; r++) {
    for (size_t l = 0; l < t->link_count; l++) {
      const tg_ci_link* link = &t->links[l];
      const size_t* rows = fly->row_begin + j->channel_begin[link->channel];
      s->begin[begin++] = at;
      for (uint32_t e = t->begin[link->rows + r]; e < t->begin[link->rows + r + 1]; e++, at++) {
        const size_t row = rows[t->code[e] >> 1];
        if (row > INT32_MAX) return false;
        s->from[at] = t->from[e];
        s->code[at] = t->code[e];
        s->row[at] = (uint32_t)row | t->code[e] << 31;
      }
    }
    s->begin[begin++] = at;
  }
  return true;
}

tg_status tg_ci_steps_make(const tg_ci_fly* fly, const bool* wanted, tg_ci_steps* out) {
  enum { FEW = 1 << 12 /* jumps that one thread copies before others are awake */ };
  tg_status status = TG_OK;
  tg_ci_steps s = {0};
  uint32_t* first = NULL; /* [classes] jump */
  bool fits = true;
  const tg_ci_jumps* j = &fly->jumps[0];
  const tg_ci_strings* strings = &fly->space->strings[0];
  s.class_count = j->class_count;
  TG_TRY_GOTO(TG_ALLOCATE(j->class_count, "jumps", &s.base), done);
  TG_TRY_GOTO(TG_ALLOCATE(j->class_count, "jumps", &first), done);
  for (size_t c = 0; c < j->class_count; c++) {
    const tg_ci_target* t = &j->targets[c];
    s.base[c] = (uint32_t)s.begin_count;
    first[c] = (uint32_t)s.count;
    if (!wanted[c]) continue;
    s.begin_count += (size_t)strings->classes[c].count * (t->link_count + 1);
    for (size_t l = 0; l < t->link_count; l++) s.count += t->links[l].count;
  }
  if (s.count > UINT32_MAX || s.begin_count > UINT32_MAX) {
    status = tg_fail(TG_ERR_MACHINE, "too many jumps for the tables of a GPU; truncate the space");
    goto done;
  }
  TG_TRY_GOTO(TG_ALLOCATE_UNTOUCHED(s.begin_count, "jumps", &s.begin), done);
  TG_TRY_GOTO(TG_ALLOCATE_UNTOUCHED(s.count, "jumps", &s.from), done);
  TG_TRY_GOTO(TG_ALLOCATE_UNTOUCHED(s.count, "jumps", &s.code), done);
  TG_TRY_GOTO(TG_ALLOCATE_UNTOUCHED(s.count, "jumps", &s.row), done);
#pragma omp parallel for schedule(dynamic) if (s.count > FEW) reduction(&& : fits)
  for (size_t c = 0; c < j->class_count; c++)
    if (wanted[c]) fits = steps_of_class(fly, c, first[c], &s) && fits;
  if (!fits) status = tg_fail(TG_ERR_MACHINE, "too many elements between the species for a GPU");
done:
  tg_free(first);
  if (status != TG_OK)
    tg_ci_steps_free(&s);
  else
    *out = s;
  return status;
}

void tg_ci_sheet_pairs_free(tg_ci_sheet_pairs* p) {
  TG_FREE(p->begin);
  TG_FREE(p->pairs);
  *p = (tg_ci_sheet_pairs){0};
}

static tg_status add_pair(tg_ci_sheet_pairs* p, tg_ci_sheet_pair pair) {
  TG_TRY(TG_RESERVE(p->count + 1, "pairs of links", &p->pairs, &p->room));
  p->pairs[p->count++] = pair;
  return TG_OK;
}

/* A sheet of B with the links of A of its channel. */
static tg_status add_pairs(const tg_ci_fly* f, const tg_ci_block* block, const tg_ci_sheet* sheet,
                           uint32_t number, tg_ci_sheet_pairs* p) {
  const tg_ci_space* space = f->space;
  const tg_ci_target* t = &f->jumps[0].targets[block->a];
  size_t first;
  const size_t count = tg_ci_links_of(t, sheet->channel, &first);
  const size_t same = tg_ci_space_block(space, block->a, sheet->source);
  bool still = sheet->channel == tg_ci_channel_still(&f->jumps[0]) && f->fields[1].rows > 1 &&
               same != SIZE_MAX;
  for (size_t l = first; l < first + count; l++) {
    const size_t from = tg_ci_space_block(space, t->links[l].source, sheet->source);
    if (from == SIZE_MAX) continue;
    const bool too = still && from == same;
    if (too) still = false;
    TG_TRY(add_pair(p, (tg_ci_sheet_pair){.offset = space->blocks[from].offset,
                                          .link = (uint32_t)l,
                                          .sheet = number,
                                          .still = too}));
  }
  if (!still) return TG_OK;
  return add_pair(
      p,
      (tg_ci_sheet_pair){
          .offset = space->blocks[same].offset, .link = UINT32_MAX, .sheet = number, .still = 1});
}

tg_status tg_ci_sheet_pairs_make(const tg_ci_fly* fly, const tg_ci_sheets* sheets,
                                 const bool* wanted, tg_ci_sheet_pairs* out) {
  tg_status status = TG_OK;
  tg_ci_sheet_pairs p = {0};
  const tg_ci_space* space = fly->space;
  TG_TRY(TG_ALLOCATE(space->block_count + 1, "pairs of links", &p.begin));
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    if (wanted[n]) {
      const tg_ci_tile* tile = &sheets->tiles[sheets->tile_begin[block->b]];
      for (uint32_t s = 0; s < tile->sheet_count; s++)
        TG_TRY_GOTO(add_pairs(fly, block, &sheets->sheets[tile->sheets + s], s, &p), failed);
    }
    if (p.count > UINT32_MAX) {
      status = tg_fail(TG_ERR_MACHINE, "too many pairs of links for a GPU; use --storage stored");
      goto failed;
    }
    p.begin[n + 1] = (uint32_t)p.count;
  }
  *out = p;
  return TG_OK;
failed:
  tg_ci_sheet_pairs_free(&p);
  return status;
}
