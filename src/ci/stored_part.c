/* SPDX-License-Identifier: Apache-2.0 */
/* Some rows of the stored matrix, from the tables of jumps; a row is looked up twice, to count and
 * to fill. */
#include "ci/stored_part.h"

#include <string.h>

#include "base/memory.h"
#include "ci/stored_internal.h"

static size_t beside_tiles(const tg_ci_stored_part* s, int pe) {
  return s->own.chunks * s->beside[pe].chunks;
}

void tg_ci_stored_part_free(tg_ci_stored_part* s) {
  for (int p = 0; s->beside && p < s->pe_count; p++) {
    tg_ci_stored_beside* b = &s->beside[p];
    for (size_t t = 0; b->tiles && t < beside_tiles(s, p); t++) {
      TG_FREE(b->tiles[t].begin);
      TG_FREE(b->tiles[t].column);
      TG_FREE(b->tiles[t].value);
    }
    TG_FREE(b->tiles);
  }
  TG_FREE(s->beside);
  tg_ci_stored_free(&s->own);
  *s = (tg_ci_stored_part){0};
}

static size_t chunks_beside(uint64_t states) {
  return (size_t)((states + ((uint64_t)1 << TG_CI_MOST_SHIFT) - 1) >> TG_CI_MOST_SHIFT);
}

uint64_t tg_ci_stored_part_bytes(uint64_t rows, uint64_t dimension, double elements) {
  const double inside = dimension ? (double)rows / (double)dimension : 1;
  const double begins = (double)chunks_beside(dimension - rows) * (double)rows * sizeof(uint32_t);
  const double mine = elements * inside < (double)rows ? (double)rows : elements * inside;
  const double others = elements > mine ? elements - mine : 0;
  return (uint64_t)(others * (sizeof(uint16_t) + sizeof(double)) + begins) +
         tg_ci_stored_bytes(rows, (uint64_t)mine, false);
}

/* ---- building ---- */

/* A chunk of rows at work. Its tiles are numbered: those of its own columns, then those of the PEs'
 * in their order. */
typedef struct work {
  const tg_ci_fly* f;
  const tg_ci_distribution* d;
  const tg_ci_stored_part* s;
  size_t chunk;
  const size_t* tile_begin; /* [pe_count + 1] number of the first tile of each PE's columns */
} work;

static tg_ci_tile* tile_of(const work* w, size_t number) {
  if (number < w->s->own.chunks) return tg_ci_stored_tile(&w->s->own, w->chunk, number);
  int p = 0;
  while (number >= w->tile_begin[p + 1]) p++;
  const tg_ci_stored_beside* b = &w->s->beside[p];
  return &b->tiles[w->chunk * b->chunks + (number - w->tile_begin[p])];
}

/* The tile of a column, and its number in it; SIZE_MAX: below the diagonal of the own square. */
static size_t place_of(const work* w, uint64_t state, uint64_t column, uint16_t* within) {
  const tg_ci_stored* own = &w->s->own;
  if (column >= w->s->first && column < w->s->first + own->dimension) {
    const uint64_t at = column - w->s->first;
    *within = (uint16_t)(at & (own->chunk - 1));
    return column < state ? SIZE_MAX : (size_t)(at >> own->shift);
  }
  const int p = tg_ci_distribution_owner(w->d, column);
  const uint64_t at = column - w->d->first[p];
  *within = (uint16_t)(at & ((1u << TG_CI_MOST_SHIFT) - 1));
  return w->tile_begin[p] + (size_t)(at >> TG_CI_MOST_SHIFT);
}

static void count_row(const work* w, uint64_t state, const tg_ci_row_list* list, uint32_t* counts) {
  uint16_t within;
  for (size_t e = 0; e < list->count; e++) {
    const size_t tile = place_of(w, state, list->column[e], &within);
    if (tile != SIZE_MAX) counts[tile]++;
  }
}

/* next: [tiles], scratch. */
static void fill_row(const work* w, uint64_t state, size_t row, const tg_ci_row_list* list,
                     uint32_t* next) {
  const size_t tiles = w->tile_begin[w->s->pe_count];
  uint16_t within;
  for (size_t t = w->chunk; t < tiles; t++) {
    const tg_ci_tile* tile = tile_of(w, t);
    next[t] = tile->begin ? tile->begin[row] : 0;
  }
  for (size_t e = 0; e < list->count; e++) {
    const size_t t = place_of(w, state, list->column[e], &within);
    if (t == SIZE_MAX) continue;
    const tg_ci_tile* tile = tile_of(w, t);
    tile->column[next[t]] = within;
    tile->value[next[t]++] = list->value[e];
  }
}

/* counts: [rows, tiles], or [tiles] to fill. */
static tg_status chunk_rows(const work* w, bool fill, uint32_t* counts, tg_ci_row_list* list) {
  const tg_ci_space* space = w->f->space;
  const uint64_t first = w->s->first + (uint64_t)w->chunk * w->s->own.chunk;
  const size_t rows = tg_ci_stored_rows(&w->s->own, w->chunk);
  tg_ci_row_place r = {.f = w->f, .block = tg_ci_space_block_of(space, first)};
  for (size_t n = 0; n < rows; n++) {
    const uint64_t state = first + n;
    const tg_ci_block* block = &space->blocks[r.block];
    if (state >= block->offset + (uint64_t)block->rows * block->columns) r.block++;
    block = &space->blocks[r.block];
    r.i = (size_t)((state - block->offset) / block->columns);
    r.j = (size_t)((state - block->offset) % block->columns);
    TG_TRY(tg_ci_row_find(&r, list));
    if (fill)
      fill_row(w, state, n, list, counts);
    else
      count_row(w, state, list, counts + n * w->tile_begin[w->s->pe_count]);
  }
  return TG_OK;
}

static tg_status chunk_make(const work* w) {
  tg_status status = TG_OK;
  const size_t rows = tg_ci_stored_rows(&w->s->own, w->chunk);
  const size_t tiles = w->tile_begin[w->s->pe_count];
  tg_ci_row_list list = {0};
  uint32_t* counts = NULL;
  TG_TRY_GOTO(TG_ALLOCATE(tiles * rows, "counts of elements", &counts), done);
  TG_TRY_GOTO(chunk_rows(w, false, counts, &list), done);
  for (size_t t = w->chunk; t < tiles; t++)
    TG_TRY_GOTO(tg_ci_tile_allocate(tile_of(w, t), rows, counts + t, tiles), done);
  status = chunk_rows(w, true, counts, &list);
done:
  TG_FREE(counts);
  tg_ci_row_list_free(&list);
  return status;
}

static void add_up(tg_ci_stored_part* s) {
  tg_ci_stored_finish(&s->own);
  s->count = s->own.count;
  s->bytes = s->own.bytes;
  for (int p = 0; p < s->pe_count; p++)
    for (size_t t = 0; t < beside_tiles(s, p); t++) {
      const tg_ci_tile* tile = &s->beside[p].tiles[t];
      const size_t chunk = t / s->beside[p].chunks;
      s->count += tile->count;
      s->bytes += sizeof *tile + tile->count * (sizeof *tile->column + sizeof *tile->value);
      if (tile->begin) s->bytes += (tg_ci_stored_rows(&s->own, chunk) + 1) * sizeof *tile->begin;
    }
}

/* Empty tiles. tile_begin: as in work. */
static tg_status start(const tg_ci_distribution* d, int pe, size_t* tile_begin,
                       tg_ci_stored_part* s) {
  *s = (tg_ci_stored_part){.first = d->first[pe], .pe_count = d->pe_count, .pe = pe};
  TG_TRY(tg_ci_stored_start(d->first[pe + 1] - d->first[pe], false, &s->own));
  TG_TRY(TG_ALLOCATE((size_t)d->pe_count, "processing elements", &s->beside));
  tile_begin[0] = s->own.chunks;
  for (int p = 0; p < d->pe_count; p++) {
    tg_ci_stored_beside* b = &s->beside[p];
    b->first = d->first[p];
    if (p != pe) b->states = d->first[p + 1] - d->first[p];
    b->chunks = chunks_beside(b->states);
    tile_begin[p + 1] = tile_begin[p] + b->chunks;
    TG_TRY(TG_ALLOCATE(beside_tiles(s, p), "tiles", &b->tiles));
  }
  return TG_OK;
}

tg_status tg_ci_stored_part_make(const tg_ci_fly* f, const tg_ci_distribution* d, int pe,
                                 int threads, tg_ci_stored_part* out) {
  tg_status status = TG_OK;
  tg_ci_stored_part s = {0};
  size_t* tile_begin = NULL;
  TG_TRY_GOTO(TG_ALLOCATE((size_t)d->pe_count + 1, "tiles", &tile_begin), failed);
  TG_TRY_GOTO(start(d, pe, tile_begin, &s), failed);
  TG_TRY_GOTO(tg_ci_fly_diagonal(f, threads, d->first[pe], d->first[pe + 1], s.own.diagonal),
              failed);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < s.own.chunks; c++) {
    const work w = {.f = f, .d = d, .s = &s, .chunk = c, .tile_begin = tile_begin};
    const tg_status mine = chunk_make(&w);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_stored_part_status)
      status = mine;
    }
  }
  if (status != TG_OK) {
    tg_fail(status, "out of memory for the stored matrix; use --storage fly");
    goto failed;
  }
  add_up(&s);
  tg_free(tile_begin);
  *out = s;
  return TG_OK;
failed:
  tg_free(tile_begin);
  tg_ci_stored_part_free(&s);
  return status;
}
