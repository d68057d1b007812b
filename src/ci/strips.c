/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/strips.h"

#include <string.h>

#include "base/memory.h"

enum {
  SIDE = TG_CI_TILE_SIDE,
  MOST_TILES = TG_CI_STRIP_HIGH / SIDE,
  SMALL_CLASS = 1024, /* strings */
  FEW = 1 << 12       /* elements that one thread sorts before others are awake */
};

void tg_ci_strips_free(tg_ci_strips* s) {
  TG_FREE(s->link_begin);
  TG_FREE(s->links);
  TG_FREE(s->begin);
  TG_FREE(s->tiles);
  TG_FREE(s->values);
  *s = (tg_ci_strips){0};
}

static uint32_t strips_of(uint64_t strings, uint32_t height) {
  return (uint32_t)((strings + height - 1) / height);
}

/* Low strips leave small blocks of threads, and more of them, which matters where there is little
 * work; high ones are read by fewer. */
static uint32_t height_of(const tg_ci_strings* strings) {
  uint64_t most = 0;
  for (size_t c = 0; c < strings->class_count; c++)
    if (strings->classes[c].count > most) most = strings->classes[c].count;
  return most <= SMALL_CLASS ? TG_CI_STRIP_LOW : TG_CI_STRIP_HIGH;
}

/* As if each element had a tile of its own, where there are so many tiles. */
uint64_t tg_ci_strips_bytes(const tg_ci_fly* fly, int species) {
  const tg_ci_strings* s = &fly->space->strings[species];
  const uint32_t height = height_of(s);
  uint64_t bytes = 0;
  for (size_t c = 0; c < s->class_count; c++) {
    const tg_ci_target* t = &fly->alone[species].targets[c];
    const uint64_t panels = tg_ci_panels(s->classes[c].count);
    for (size_t l = 0; l < t->link_count; l++) {
      const uint64_t sources = s->classes[t->links[l].source].count, count = t->links[l].count;
      const uint64_t all = panels * ((sources + SIDE - 1) / SIDE);
      bytes += sizeof(tg_ci_strip_link) + count * sizeof(double) +
               (count < all ? count : all) * sizeof(tg_ci_strip_tile) +
               strips_of(sources, height) * panels * sizeof(uint32_t);
    }
  }
  return bytes;
}

/* A panel's rows, each read from one strip to the next. */
typedef struct panel {
  const tg_ci_target* target;
  uint32_t at[TG_CI_PANEL], end[TG_CI_PANEL];
} panel;

static void open_panel(const tg_ci_target* t, const tg_ci_link* link, size_t strings, uint32_t p,
                       panel* out) {
  out->target = t;
  for (size_t r = 0; r < TG_CI_PANEL; r++) {
    const size_t row = (size_t)p * TG_CI_PANEL + r;
    out->at[r] = row < strings ? t->begin[link->rows + row] : 0;
    out->end[r] = row < strings ? t->begin[link->rows + row + 1] : 0;
  }
}

/* Which elements the tiles of the strip that begins at start have: [height / SIDE]. */
static void mark_strip(panel* p, uint32_t start, uint32_t height, uint64_t* masks) {
  memset(masks, 0, height / SIDE * sizeof *masks);
  for (uint32_t r = 0; r < TG_CI_PANEL; r++)
    for (; p->at[r] < p->end[r]; p->at[r]++) {
      const uint32_t from = p->target->from[p->at[r]] - start;
      if (from >= height) break;
      const uint32_t lane = r % 8 * SIDE + from % SIDE;
      masks[from / SIDE] |= (uint64_t)1 << (2 * lane + r / 8);
    }
}

/* How many tiles a link has in each strip and panel. */
static void count_tiles(const tg_ci_target* t, const tg_ci_link* link, size_t strings,
                        const tg_ci_strip_link* to, tg_ci_strips* s) {
  const uint32_t panels = tg_ci_panels(strings);
  uint64_t masks[MOST_TILES];
  for (uint32_t p = 0; p < panels; p++) {
    panel rows;
    open_panel(t, link, strings, p, &rows);
    for (uint32_t strip = 0; strip < to->count; strip++) {
      uint32_t tiles = 0;
      mark_strip(&rows, strip * s->height, s->height, masks);
      for (size_t n = 0; n < s->height / SIDE; n++) tiles += masks[n] != 0;
      s->begin[to->begin + (uint64_t)strip * panels + p] = tiles;
    }
  }
}

static void put_value(const panel* p, uint32_t e, uint32_t r, uint32_t start,
                      const tg_ci_strip_tile* tiles, const uint8_t* tile_of, double* values) {
  const uint32_t from = p->target->from[e] - start, lane = r % 8 * SIDE + from % SIDE;
  const tg_ci_strip_tile* tile = &tiles[tile_of[from / SIDE]];
  const uint64_t below = tile->mask & (((uint64_t)1 << (2 * lane + r / 8)) - 1);
  values[tile->first + (uint32_t)__builtin_popcountll(below)] = p->target->value[e];
}

/* A link's tiles and values; the latter from number `value`, panel after panel. */
static void fill(const tg_ci_target* t, const tg_ci_link* link, size_t strings,
                 const tg_ci_strip_link* to, size_t value, tg_ci_strips* s) {
  const uint32_t panels = tg_ci_panels(strings);
  uint64_t masks[MOST_TILES];
  uint8_t tile_of[MOST_TILES];
  for (uint32_t p = 0; p < panels; p++) {
    panel rows;
    open_panel(t, link, strings, p, &rows);
    for (uint32_t strip = 0; strip < to->count; strip++) {
      const uint32_t start = strip * s->height;
      tg_ci_strip_tile* tiles = s->tiles + s->begin[to->begin + (uint64_t)strip * panels + p];
      panel before = rows;
      uint8_t used = 0;
      mark_strip(&rows, start, s->height, masks);
      for (uint32_t n = 0; n < s->height / SIDE; n++) {
        tile_of[n] = used;
        if (masks[n] == 0) continue;
        tiles[used++] = (tg_ci_strip_tile){masks[n], (uint32_t)value, n * SIDE};
        value += (size_t)__builtin_popcountll(masks[n]);
      }
      for (uint32_t r = 0; r < TG_CI_PANEL; r++)
        for (uint32_t e = before.at[r]; e < rows.at[r]; e++)
          put_value(&before, e, r, start, tiles, tile_of, s->values);
    }
  }
}

/* Where each link's counts and values begin. */
static tg_status lay_out(const tg_ci_fly* f, int species, const bool* wanted, tg_ci_strips* s,
                         size_t* value) {
  const tg_ci_strings* strings = &f->space->strings[species];
  size_t n = 0;
  for (size_t c = 0; c < strings->class_count; c++) {
    const tg_ci_target* t = &f->alone[species].targets[c];
    s->link_begin[c] = (uint32_t)n;
    for (size_t l = 0; wanted[c] && l < t->link_count; l++, n++) {
      const uint32_t columns = (uint32_t)strings->classes[t->links[l].source].count;
      s->links[n] = (tg_ci_strip_link){.source = t->links[l].source,
                                       .columns = columns,
                                       .count = strips_of(columns, s->height),
                                       .begin = s->begin_count};
      value[n] = s->value_count;
      s->begin_count +=
          (size_t)strips_of(columns, s->height) * tg_ci_panels(strings->classes[c].count);
      s->value_count += t->links[l].count;
    }
  }
  s->link_begin[strings->class_count] = (uint32_t)n;
  if (s->value_count < UINT32_MAX) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "too many elements of one species for the tables of a GPU");
}

/* Counts become where they begin. */
static void scan(tg_ci_strips* s) {
  uint32_t at = 0;
  for (size_t n = 0; n < s->begin_count; n++) {
    const uint32_t count = s->begin[n];
    s->begin[n] = at;
    at += count;
  }
  s->begin[s->begin_count] = at;
  s->tile_count = at;
}

tg_status tg_ci_strips_make(const tg_ci_fly* fly, int species, const bool* wanted, int threads,
                            tg_ci_strips* out) {
  tg_status status = TG_OK;
  tg_ci_strips s = {0};
  size_t* value = NULL;
  const tg_ci_strings* strings = &fly->space->strings[species];
  for (size_t c = 0; c < strings->class_count; c++)
    if (wanted[c]) s.link_count += fly->alone[species].targets[c].link_count;
  s.class_count = strings->class_count;
  s.height = height_of(strings);
  TG_TRY_GOTO(TG_ALLOCATE(strings->class_count + 1, "strips", &s.link_begin), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.link_count, "strips", &s.links), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.link_count + 1, "strips", &value), done);
  TG_TRY_GOTO(lay_out(fly, species, wanted, &s, value), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.begin_count + 1, "strips", &s.begin), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.value_count, "strips", &s.values), done);
  for (int filling = 0; filling < 2; filling++) {
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (s.value_count > FEW)
    for (size_t c = 0; c < strings->class_count; c++) {
      const tg_ci_target* t = &fly->alone[species].targets[c];
      const size_t count = (size_t)strings->classes[c].count;
      for (uint32_t n = s.link_begin[c]; n < s.link_begin[c + 1]; n++)
        if (filling)
          fill(t, &t->links[n - s.link_begin[c]], count, &s.links[n], value[n], &s);
        else
          count_tiles(t, &t->links[n - s.link_begin[c]], count, &s.links[n], &s);
    }
    if (filling) break;
    scan(&s);
    TG_TRY_GOTO(TG_ALLOCATE(s.tile_count, "strips", &s.tiles), done);
  }
done:
  tg_free(value);
  if (status != TG_OK)
    tg_ci_strips_free(&s);
  else
    *out = s;
  (void)threads;
  return status;
}
