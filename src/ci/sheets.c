/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/sheets.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"

enum {
  LANES = TG_CI_SHEET_LANES,
  UNIT = TG_CI_SHEET_UNIT,
  MINUS = 0x8000,
  FEW = 1 << 12 /* jumps that one thread sorts before others are awake */
};

/* What is made of one tile, in numbers of its own. */
typedef struct part {
  tg_ci_sheet* sheets;
  tg_ci_chunk* chunks;
  uint8_t* units;
  uint32_t* masks;
  uint16_t* first;
  uint32_t *groups, *words, *operators; /* groups: where each begins, in 32 words */
  size_t sheet_count, chunk_count, unit_count, group_count, word_count, operator_count;
  size_t sheet_room, chunk_room, unit_room, mask_room, first_room, group_room, word_room,
      operator_room;
} part;

/* What a thread works in. */
typedef struct bench {
  uint16_t* place;  /* [operators of a channel] in the sheet; NOWHERE: in another one */
  uint32_t* cursor; /* [strings of a tile] next jump */
  uint32_t* count;  /* [strings of a tile] jumps in the chunk */
  uint32_t* order;  /* [strings of a tile] many jumps first */
  uint32_t* masks;  /* [units of a source, 32] of the sheet */
  uint16_t* first;  /* [units of a source, 32] place of a lane's first number */
} bench;

enum { NOWHERE = UINT16_MAX };

uint32_t tg_ci_sheet_room(uint64_t strings) {
  return strings <= 1024 ? 4864 : strings <= 4096 ? 8704 : 14336;
}

int tg_ci_sheet_threads(void) {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

static void part_free(part* p) {
  TG_FREE(p->sheets);
  TG_FREE(p->chunks);
  TG_FREE(p->units);
  TG_FREE(p->masks);
  TG_FREE(p->first);
  TG_FREE(p->groups);
  TG_FREE(p->words);
  TG_FREE(p->operators);
}

void tg_ci_sheets_free(tg_ci_sheets* s) {
  TG_FREE(s->tile_begin);
  TG_FREE(s->tiles);
  TG_FREE(s->sheets);
  TG_FREE(s->chunks);
  TG_FREE(s->units);
  TG_FREE(s->masks);
  TG_FREE(s->first);
  TG_FREE(s->group_begin);
  TG_FREE(s->words);
  TG_FREE(s->operators);
  *s = (tg_ci_sheets){0};
}

uint64_t tg_ci_sheets_bytes(const tg_ci_fly* fly) {
  const tg_ci_jumps* j = &fly->jumps[1];
  uint64_t bytes = 5 * j->count;
  for (size_t c = 0; c < j->class_count; c++)
    for (size_t l = 0; l < j->targets[c].link_count; l++) {
      const tg_ci_link* link = &j->targets[c].links[l];
      const tg_ci_class* classes = fly->space->strings[1].classes;
      const uint64_t units = classes[link->source].count / UNIT + 1;
      const uint64_t sheets = (link->operator_count / TG_CI_SHEET_OPERATORS + 1) *
                              (classes[c].count / TG_CI_TILE_MOST + 1);
      bytes += sheets * (sizeof(tg_ci_sheet) + 4 * sizeof(tg_ci_chunk) + 256 +
                         units * (1 + LANES * (sizeof(uint32_t) + sizeof(uint16_t))));
    }
  return bytes;
}

/* The strings of a tile, those with many jumps first and otherwise in their order. Returns how many
 * have any. */
static size_t sort_by_count(bench* w, size_t strings) {
  uint32_t first[257] = {0};
  size_t some = 0;
  for (size_t r = 0; r < strings; r++)
    if (w->count[r]) first[256 - w->count[r]]++, some++;
  for (size_t n = 0, at = 0; n < 257; n++) {
    const uint32_t count = first[n];
    first[n] = (uint32_t)at;
    at += count;
  }
  for (size_t r = 0; r < strings; r++)
    if (w->count[r]) w->order[first[256 - w->count[r]]++] = (uint32_t)r;
  return some;
}

/* The lane and the bit of V of an operator's number in the sheet and a column. */
static uint32_t lane_of(uint32_t place, uint32_t column) { return column % 8 * 4 + place % 8 / 2; }
static uint32_t bit_of(uint32_t place, uint32_t column) {
  return place / 8 * 4 + column % UNIT / 8 * 2 + place % 2;
}

/* Which numbers of V the jumps to a tile need. */
static void mark_needed(const tg_ci_target* t, const tg_ci_tile* tile, const uint32_t* begin,
                        uint32_t columns, bench* w) {
  const size_t units = (columns + UNIT - 1) / UNIT;
  memset(w->masks, 0, units * LANES * sizeof *w->masks);
  for (uint32_t e = begin[0]; e < begin[tile->count]; e++) {
    const uint32_t place = w->place[t->code[e] >> 1], column = t->from[e];
    if (place == NOWHERE) continue;
    w->masks[column / UNIT * LANES + lane_of(place, column)] |= 1u << bit_of(place, column);
  }
}

static uint32_t count_unit(const uint32_t* masks) {
  uint32_t count = 0;
  for (size_t k = 0; k < LANES; k++) count += (uint32_t)__builtin_popcount(masks[k]);
  return count;
}

/* The units of a chunk from number `unit` on: as many as have room, and no more than make all
 * chunks about as large. */
static tg_status add_units(const tg_ci_tile* tile, uint32_t unit, uint32_t units, uint32_t aim,
                           bench* w, part* p, tg_ci_chunk* chunk) {
  uint32_t used = 0;
  *chunk = (tg_ci_chunk){
      .groups = (uint32_t)p->group_count, .units = (uint32_t)p->unit_count, .column = unit * UNIT};
  for (; unit < units && used < aim; unit++, chunk->unit_count++) {
    const uint32_t* masks = w->masks + (size_t)unit * LANES;
    const uint32_t count = count_unit(masks);
    if (used + count > tile->room - 1) break;
    TG_TRY(TG_RESERVE(p->unit_count + 1, "parts of sheets", &p->units, &p->unit_room));
    TG_TRY(TG_RESERVE((p->unit_count + 1) * LANES, "parts of sheets", &p->masks, &p->mask_room));
    TG_TRY(TG_RESERVE((p->unit_count + 1) * LANES, "parts of sheets", &p->first, &p->first_room));
    uint16_t* first = w->first + (size_t)unit * LANES;
    uint32_t any = 0;
    for (size_t k = 0; k < LANES; k++) {
      first[k] = (uint16_t)used;
      used += (uint32_t)__builtin_popcount(masks[k]);
      any |= masks[k];
    }
    p->units[p->unit_count] = 0;
    for (uint32_t o = 0; o < 8; o++)
      if (any >> 4 * o & 15) p->units[p->unit_count] |= (uint8_t)(1u << o);
    memcpy(p->masks + p->unit_count * LANES, masks, LANES * sizeof *masks);
    memcpy(p->first + p->unit_count * LANES, first, LANES * sizeof *first);
    p->unit_count++;
  }
  return TG_OK;
}

static uint32_t jump_of(const bench* w, uint32_t place, uint32_t column, bool minus) {
  const size_t at = (size_t)column / UNIT * LANES + lane_of(place, column);
  const uint32_t below = w->masks[at] & ((1u << bit_of(place, column)) - 1);
  return (w->first[at] + (uint32_t)__builtin_popcount(below)) | (minus ? MINUS : 0);
}

/* The words of 32 strings that follow each other in the order, of `some`. */
static tg_status add_group(const tg_ci_target* t, const tg_ci_tile* tile, const uint32_t* begin,
                           uint32_t end, size_t g, size_t some, bench* w, part* p) {
  const uint32_t empty = tile->room - 1, lines = 1 + w->count[w->order[g]] / 2;
  TG_TRY(TG_RESERVE(p->word_count + lines * LANES, "jumps", &p->words, &p->word_room));
  uint32_t* words = p->words + p->word_count;
  p->groups[p->group_count++] = (uint32_t)(p->word_count / LANES);
  p->word_count += lines * LANES;
  for (size_t k = 0; k < lines * LANES; k++)
    words[k] = empty << 16 | (k < LANES ? tile->count : empty);
  for (size_t k = 0; k < LANES && g + k < some; k++) {
    const uint32_t r = w->order[g + k];
    uint32_t half = 1; /* the first half word is the string's number */
    words[k] = empty << 16 | r;
    for (; w->cursor[r] < begin[r + 1] && t->from[w->cursor[r]] < end; w->cursor[r]++) {
      const uint32_t e = w->cursor[r], place = w->place[t->code[e] >> 1];
      if (place == NOWHERE) continue;
      const uint32_t jump = jump_of(w, place, t->from[e], t->code[e] & 1);
      uint32_t* word = &words[half / 2 * LANES + k];
      *word = half & 1 ? (*word & 0xffff) | jump << 16 : (*word & 0xffff0000u) | jump;
      half++;
    }
  }
  return TG_OK;
}

/* Which jumps from a chunk's columns lead where. */
static tg_status add_chunk(const tg_ci_target* t, const tg_ci_tile* tile, const uint32_t* begin,
                           tg_ci_chunk* chunk, bench* w, part* p) {
  const uint32_t end = chunk->column + chunk->unit_count * UNIT;
  for (uint32_t r = 0; r < tile->count; r++) {
    w->count[r] = 0;
    for (uint32_t e = w->cursor[r]; e < begin[r + 1] && t->from[e] < end; e++)
      w->count[r] += w->place[t->code[e] >> 1] != NOWHERE;
    if (w->count[r] > 255)
      return tg_fail(TG_ERR_MACHINE,
                     "more than 255 jumps to a string from a few others; use --storage stored");
  }
  const size_t some = sort_by_count(w, tile->count);
  chunk->group_count = (uint32_t)((some + LANES - 1) / LANES);
  TG_TRY(TG_RESERVE(p->group_count + chunk->group_count, "groups", &p->groups, &p->group_room));
  for (size_t g = 0; g < some; g += LANES) TG_TRY(add_group(t, tile, begin, end, g, some, w, p));
  for (uint32_t r = 0; r < tile->count; r++) /* those of other sheets */
    while (w->cursor[r] < begin[r + 1] && t->from[w->cursor[r]] < end) w->cursor[r]++;
  TG_TRY(TG_RESERVE(p->chunk_count + 1, "parts of sheets", &p->chunks, &p->chunk_room));
  p->chunks[p->chunk_count++] = *chunk;
  return TG_OK;
}

static tg_status add_chunks(const tg_ci_target* t, const tg_ci_tile* tile, const uint32_t* begin,
                            tg_ci_sheet* sheet, bench* w, part* p) {
  const uint32_t units = (sheet->columns + UNIT - 1) / UNIT, room = tile->room - 1;
  uint32_t total = 0;
  mark_needed(t, tile, begin, sheet->columns, w);
  for (uint32_t u = 0; u < units; u++) total += count_unit(w->masks + (size_t)u * LANES);
  const uint32_t chunks = (total + room - 1) / room,
                 aim = chunks ? (total + chunks - 1) / chunks : 1;
  for (uint32_t u = 0; u < units;) {
    tg_ci_chunk chunk;
    TG_TRY(add_units(tile, u, units, aim, w, p, &chunk));
    TG_TRY(add_chunk(t, tile, begin, &chunk, w, p));
    u += chunk.unit_count;
    sheet->chunk_count++;
  }
  return TG_OK;
}

static tg_status add_link(const tg_ci_fly* f, const tg_ci_target* t, const tg_ci_link* link,
                          const tg_ci_tile* tile, bench* w, part* p) {
  const size_t most = TG_CI_SHEET_OPERATORS, count = link->operator_count;
  const size_t parts = (count + most - 1) / most;
  const uint32_t* begin = t->begin + link->rows + tile->first;
  const uint32_t columns = (uint32_t)f->space->strings[1].classes[link->source].count;
  const tg_ci_jumps* jumps = &f->jumps[1];
  const size_t all = jumps->channel_begin[link->channel + 1] - jumps->channel_begin[link->channel];
  for (size_t s = 0; s < parts; s++) {
    const size_t first = count * s / parts, end = count * (s + 1) / parts;
    TG_TRY(TG_RESERVE(p->sheet_count + 1, "sheets", &p->sheets, &p->sheet_room));
    TG_TRY(TG_RESERVE(p->operator_count + end - first, "operators of sheets", &p->operators,
                      &p->operator_room));
    tg_ci_sheet* sheet = &p->sheets[p->sheet_count++];
    *sheet = (tg_ci_sheet){.source = link->source,
                           .channel = link->channel,
                           .columns = columns,
                           .chunks = (uint32_t)p->chunk_count,
                           .operators = (uint32_t)p->operator_count,
                           .operator_count = (uint32_t)(end - first)};
    for (size_t o = 0; o < all; o++) w->place[o] = NOWHERE;
    for (size_t o = first; o < end; o++) {
      w->place[t->op[link->operators + o]] = (uint16_t)(o - first);
      p->operators[p->operator_count++] = t->op[link->operators + o];
    }
    memcpy(w->cursor, begin, tile->count * sizeof *begin);
    TG_TRY(add_chunks(t, tile, begin, sheet, w, p));
  }
  return TG_OK;
}

static tg_status make_part(const tg_ci_fly* f, const tg_ci_tile* tile, part* p) {
  tg_status status = TG_OK;
  bench w = {0};
  const tg_ci_target* t = &f->jumps[1].targets[tile->target];
  const tg_ci_jumps* j = &f->jumps[1];
  size_t most = 0, columns = 0;
  for (size_t l = 0; l < t->link_count; l++) {
    const size_t here = (size_t)f->space->strings[1].classes[t->links[l].source].count;
    if (here > columns) columns = here;
  }
  for (size_t c = 0; c < j->channel_count; c++)
    if (j->channel_begin[c + 1] - j->channel_begin[c] > most)
      most = j->channel_begin[c + 1] - j->channel_begin[c];
  TG_TRY_GOTO(TG_ALLOCATE(most + 1, "operators", &w.place), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)tile->count + 1, "strings", &w.cursor), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)tile->count + 1, "strings", &w.count), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)tile->count + 1, "strings", &w.order), done);
  TG_TRY_GOTO(TG_ALLOCATE((columns / UNIT + 1) * LANES, "strings", &w.masks), done);
  TG_TRY_GOTO(TG_ALLOCATE((columns / UNIT + 1) * LANES, "strings", &w.first), done);
  for (size_t l = 0; l < t->link_count; l++)
    TG_TRY_GOTO(add_link(f, t, &t->links[l], tile, &w, p), done);
done:
  TG_FREE(w.place);
  TG_FREE(w.cursor);
  TG_FREE(w.count);
  TG_FREE(w.order);
  TG_FREE(w.masks);
  TG_FREE(w.first);
  return status;
}

/* The tiles of the wanted classes. */
static tg_status make_tiles(const tg_ci_fly* f, const bool* wanted, tg_ci_sheets* s) {
  const tg_ci_strings* strings = &f->space->strings[1];
  TG_TRY(TG_ALLOCATE(strings->class_count + 1, "tiles", &s->tile_begin));
  for (size_t c = 0; c < strings->class_count; c++) {
    const size_t most = TG_CI_TILE_MOST;
    s->tile_begin[c + 1] = s->tile_begin[c];
    if (wanted[c])
      s->tile_begin[c + 1] += (uint32_t)((strings->classes[c].count + most - 1) / most);
  }
  s->tile_count = s->tile_begin[strings->class_count];
  TG_TRY(TG_ALLOCATE(s->tile_count, "tiles", &s->tiles));
  for (size_t c = 0; c < strings->class_count; c++) {
    const uint64_t count = strings->classes[c].count;
    const uint32_t begin = s->tile_begin[c], parts = s->tile_begin[c + 1] - begin;
    for (uint32_t t = 0; t < parts; t++) {
      const uint64_t first = count * t / parts, end = count * (t + 1) / parts;
      s->tiles[begin + t] = (tg_ci_tile){.target = (uint32_t)c,
                                         .first = (uint32_t)first,
                                         .count = (uint32_t)(end - first),
                                         .room = tg_ci_sheet_room(count)};
    }
  }
  return TG_OK;
}

/* The parts one behind the other. */
static tg_status join(const part* parts, tg_ci_sheets* s) {
  for (size_t t = 0; t < s->tile_count; t++) {
    s->sheet_count += parts[t].sheet_count;
    s->chunk_count += parts[t].chunk_count;
    s->unit_count += parts[t].unit_count;
    s->group_count += parts[t].group_count;
    s->word_count += parts[t].word_count;
    s->operator_count += parts[t].operator_count;
  }
  if (s->chunk_count > UINT32_MAX || s->unit_count > UINT32_MAX || s->group_count >= UINT32_MAX ||
      s->word_count / LANES > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "too many jumps for the tables of a GPU; truncate the space");
  TG_TRY(TG_ALLOCATE(s->sheet_count, "sheets", &s->sheets));
  TG_TRY(TG_ALLOCATE(s->chunk_count, "sheets", &s->chunks));
  TG_TRY(TG_ALLOCATE(s->unit_count, "sheets", &s->units));
  TG_TRY(TG_ALLOCATE(s->unit_count * LANES, "sheets", &s->masks));
  TG_TRY(TG_ALLOCATE(s->unit_count * LANES, "sheets", &s->first));
  TG_TRY(TG_ALLOCATE(s->group_count + 1, "sheets", &s->group_begin));
  TG_TRY(TG_ALLOCATE(s->word_count, "sheets", &s->words));
  TG_TRY(TG_ALLOCATE(s->operator_count, "sheets", &s->operators));
  size_t sheet = 0, chunk = 0, unit = 0, group = 0, word = 0, operator_ = 0;
  for (size_t t = 0; t < s->tile_count; t++) {
    const part* p = &parts[t];
    s->tiles[t].sheets = (uint32_t)sheet;
    s->tiles[t].sheet_count = (uint32_t)p->sheet_count;
    for (size_t n = 0; n < p->sheet_count; n++) {
      s->sheets[sheet + n] = p->sheets[n];
      s->sheets[sheet + n].chunks += (uint32_t)chunk;
      s->sheets[sheet + n].operators += (uint32_t)operator_;
    }
    for (size_t n = 0; n < p->chunk_count; n++) {
      s->chunks[chunk + n] = p->chunks[n];
      s->chunks[chunk + n].groups += (uint32_t)group;
      s->chunks[chunk + n].units += (uint32_t)unit;
    }
    for (size_t n = 0; n < p->group_count; n++)
      s->group_begin[group + n] = p->groups[n] + (uint32_t)(word / LANES);
    if (p->unit_count) {
      memcpy(s->units + unit, p->units, p->unit_count * sizeof *p->units);
      memcpy(s->masks + unit * LANES, p->masks, p->unit_count * LANES * sizeof *p->masks);
      memcpy(s->first + unit * LANES, p->first, p->unit_count * LANES * sizeof *p->first);
    }
    if (p->word_count) memcpy(s->words + word, p->words, p->word_count * sizeof *p->words);
    if (p->operator_count)
      memcpy(s->operators + operator_, p->operators, p->operator_count * sizeof *p->operators);
    sheet += p->sheet_count;
    chunk += p->chunk_count;
    unit += p->unit_count;
    group += p->group_count;
    word += p->word_count;
    operator_ += p->operator_count;
  }
  s->group_begin[group] = (uint32_t)(word / LANES);
  return TG_OK;
}

tg_status tg_ci_sheets_make(const tg_ci_fly* fly, const bool* wanted, int threads,
                            tg_ci_sheets* out) {
  tg_status status = TG_OK;
  tg_ci_sheets s = {0};
  part* parts = NULL;
  bool failed = false;
  TG_TRY_GOTO(make_tiles(fly, wanted, &s), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.tile_count, "sheets", &parts), done);
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (fly->jumps[1].count > FEW)
  for (size_t t = 0; t < s.tile_count; t++)
    if (make_part(fly, &s.tiles[t], &parts[t]) != TG_OK) {
#pragma omp atomic write
      failed = true;
    }
  if (failed) { /* the words are with another thread */
    status = tg_fail(TG_ERR_MACHINE,
                     "no memory for the jumps in the order of a GPU, or too many to one string; "
                     "use --backend omp");
    goto done;
  }
  status = join(parts, &s);
done:
  for (size_t t = 0; parts && t < s.tile_count; t++) part_free(&parts[t]);
  tg_free(parts);
  if (status != TG_OK)
    tg_ci_sheets_free(&s);
  else
    *out = s;
  (void)threads;
  return status;
}
