/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix from the tables of jumps. A row (i', j') has
 *
 *   (i, j')  with i != i' of H_A, and for one particle moved the field of j' on it
 *   (i', j)  the same for B
 *   (i, j)   for each jump of A and each of B of one channel
 *
 * once to count, and once more to fill. */
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "ci/jumps.h"
#include "ci/stored_internal.h"

static tg_status put(tg_ci_row_list* list, uint64_t column, double value) {
  if (list->count == list->column_room) {
    TG_TRY(TG_RESERVE(list->count + 1, "row of the matrix", &list->column, &list->column_room));
    TG_TRY(TG_RESERVE(list->column_room, "row of the matrix", &list->value, &list->value_room));
  }
  list->column[list->count] = column;
  list->value[list->count++] = value;
  return TG_OK;
}

/* A block that holds wanted columns; NULL where there is none. */
static const tg_ci_block* block_at(const tg_ci_row_place* r, size_t a, size_t b) {
  const size_t number = tg_ci_space_block(r->f->space, a, b);
  if (number == SIZE_MAX || (r->least > 0 && number < r->block)) return NULL;
  return &r->f->space->blocks[number];
}

/* The link of a target's still channel that comes from this class, or NULL. */
static const tg_ci_link* still_link(const tg_ci_jumps* jumps, const tg_ci_target* t,
                                    uint32_t source) {
  size_t first;
  const size_t count = tg_ci_links_of(t, tg_ci_channel_still(jumps), &first);
  for (size_t l = first; l < first + count; l++)
    if (t->links[l].source == source) return &t->links[l];
  return NULL;
}

/* What the particles of the other species (list) add to the jump of a code. */
static double field(const tg_ci_fly* f, int species, uint32_t code, const uint16_t* list) {
  const double* of = tg_ci_fly_field(f, species, code >> 1);
  double sum = 0;
  if (!of) return 0;
  for (int k = 0; k < f->space->strings[1 - species].particles; k++) sum += of[list[k]];
  return code & 1 ? -sum : sum;
}

/* One species moves alone. Jumps and the rows of its matrix rise, so they are merged. */
static tg_status alone(const tg_ci_row_place* r, int species, tg_ci_row_list* out) {
  const tg_ci_fly* f = r->f;
  const tg_ci_block* block = &f->space->blocks[r->block];
  const size_t class = species ? block->b : block->a, row = species ? r->j : r->i;
  const tg_ci_target *t = &f->alone[species].targets[class],
                     *jumps = &f->jumps[species].targets[class];
  const tg_ci_strings* other = &f->space->strings[1 - species];
  const uint16_t* list = tg_ci_string(other, species ? other->classes[block->a].begin + r->i
                                                     : other->classes[block->b].begin + r->j);
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const tg_ci_block* there =
        species ? block_at(r, block->a, link->source) : block_at(r, link->source, block->b);
    if (!there) continue;
    const tg_ci_link* still = still_link(&f->jumps[species], jumps, link->source);
    uint32_t s = still ? jumps->begin[still->rows + row] : 0;
    const uint32_t s_end = still ? jumps->begin[still->rows + row + 1] : 0;
    for (uint32_t e = t->begin[link->rows + row]; e < t->begin[link->rows + row + 1]; e++) {
      const size_t from = t->from[e];
      while (s < s_end && jumps->from[s] < from) s++;
      double value = t->value[e];
      if (s < s_end && jumps->from[s] == from) value += field(f, species, jumps->code[s], list);
      const uint64_t column =
          there->offset + (species ? r->i * there->columns + from : from * there->columns + r->j);
      if (column >= r->least) TG_TRY(put(out, column, value));
    }
  }
  return TG_OK;
}

static tg_status both(const tg_ci_row_place* r, tg_ci_row_list* out) {
  static const double signs[2] = {1, -1};
  const tg_ci_fly* f = r->f;
  const tg_ci_block* block = &f->space->blocks[r->block];
  const tg_ci_target *ta = &f->jumps[0].targets[block->a], *tb = &f->jumps[1].targets[block->b];
  for (size_t l = 0; l < ta->link_count; l++) {
    const tg_ci_link* la = &ta->links[l];
    const uint32_t a_begin = ta->begin[la->rows + r->i], a_end = ta->begin[la->rows + r->i + 1];
    if (a_begin == a_end) continue;
    size_t first;
    const size_t count = tg_ci_links_of(tb, la->channel, &first);
    for (size_t m = first; m < first + count; m++) {
      const tg_ci_link* lb = &tb->links[m];
      const uint32_t b_begin = tb->begin[lb->rows + r->j], b_end = tb->begin[lb->rows + r->j + 1];
      if (b_begin == b_end) continue;
      const tg_ci_block* there = block_at(r, la->source, lb->source);
      if (!there) continue;
      for (uint32_t a = a_begin; a < a_end; a++) {
        const uint64_t row = there->offset + ta->from[a] * (uint64_t)there->columns;
        if (row + there->columns <= r->least) continue;
        const double* w = tg_ci_fly_row(f, la->channel, ta->code[a] >> 1);
        for (uint32_t b = b_begin; b < b_end; b++)
          if (row + tb->from[b] >= r->least)
            TG_TRY(put(out, row + tb->from[b],
                       signs[(ta->code[a] ^ tb->code[b]) & 1] * w[tb->code[b] >> 1]));
      }
    }
  }
  return TG_OK;
}

tg_status tg_ci_row_find(const tg_ci_row_place* r, tg_ci_row_list* out) {
  out->count = 0;
  TG_TRY(alone(r, 0, out));
  TG_TRY(alone(r, 1, out));
  return both(r, out);
}

void tg_ci_row_list_free(tg_ci_row_list* list) {
  TG_FREE(list->column);
  TG_FREE(list->value);
}

/* Elements of a row: counts[column's chunk] of them. */
static void count_row(const tg_ci_stored* s, const tg_ci_row_list* list, uint32_t* counts) {
  for (size_t e = 0; e < list->count; e++) counts[list->column[e] >> s->shift]++;
}

/* Into their tiles. tiles: of the row's chunk, by the column's; next: [chunks], scratch. */
static void fill_row(const tg_ci_stored* s, const tg_ci_row_list* list, size_t row,
                     size_t first_chunk, tg_ci_tile* tiles, uint32_t* next) {
  for (size_t c = first_chunk; c < s->chunks; c++)
    next[c] = tiles[c].begin ? tiles[c].begin[row] : 0;
  for (size_t e = 0; e < list->count; e++) {
    const size_t c = (size_t)(list->column[e] >> s->shift);
    const uint32_t at = next[c]++;
    tiles[c].column[at] = (uint16_t)(list->column[e] & (s->chunk - 1));
    tiles[c].value[at] = list->value[e];
  }
}

/* The rows of one chunk, counted or filled. counts: [rows, chunks], or [chunks] to fill. */
static tg_status chunk_rows(const tg_ci_fly* f, const tg_ci_stored* s, size_t chunk, bool fill,
                            uint32_t* counts, tg_ci_row_list* list) {
  const uint64_t first = (uint64_t)chunk * s->chunk;
  const size_t rows = tg_ci_stored_rows(s, chunk), first_chunk = s->full ? 0 : chunk;
  tg_ci_tile* tiles = tg_ci_stored_tile(s, chunk, 0);
  tg_ci_row_place r = {.f = f, .block = tg_ci_space_block_of(f->space, first)};
  for (size_t n = 0; n < rows; n++) {
    const uint64_t state = first + n;
    const tg_ci_block* block = &f->space->blocks[r.block];
    if (state >= block->offset + (uint64_t)block->rows * block->columns) r.block++;
    block = &f->space->blocks[r.block];
    r.i = (size_t)((state - block->offset) / block->columns);
    r.j = (size_t)((state - block->offset) % block->columns);
    r.least = s->full ? 0 : state + 1;
    TG_TRY(tg_ci_row_find(&r, list));
    if (fill)
      fill_row(s, list, n, first_chunk, tiles, counts);
    else
      count_row(s, list, counts + n * s->chunks);
  }
  return TG_OK;
}

static tg_status chunk_make(const tg_ci_fly* f, const tg_ci_stored* s, size_t chunk) {
  tg_status status = TG_OK;
  const size_t rows = tg_ci_stored_rows(s, chunk);
  tg_ci_row_list list = {0};
  uint32_t* counts = NULL;
  TG_TRY_GOTO(TG_ALLOCATE(s->chunks * rows, "counts of elements", &counts), done);
  TG_TRY_GOTO(chunk_rows(f, s, chunk, false, counts, &list), done);
  for (size_t c = s->full ? 0 : chunk; c < s->chunks; c++)
    TG_TRY_GOTO(tg_ci_tile_allocate(tg_ci_stored_tile(s, chunk, c), rows, counts + c, s->chunks),
                done);
  status = chunk_rows(f, s, chunk, true, counts, &list);
done:
  TG_FREE(counts);
  tg_ci_row_list_free(&list);
  return status;
}

tg_status tg_ci_stored_by_jumps(const tg_ci_fly* f, bool full, int threads, tg_ci_stored* out) {
  tg_status status = TG_OK;
  tg_ci_stored s;
  TG_TRY_GOTO(tg_ci_stored_start(f->space->dimension, full, &s), failed);
  memcpy(s.diagonal, f->diagonal, (size_t)s.dimension * sizeof *s.diagonal);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < s.chunks; c++) {
    const tg_status mine = chunk_make(f, &s, c);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_stored_status)
      status = mine;
    }
  }
  if (status != TG_OK) {
    tg_fail(status, "out of memory for the stored matrix; use --storage fly");
    goto failed;
  }
  tg_ci_stored_finish(&s);
  *out = s;
  return TG_OK;
failed:
  tg_ci_stored_free(&s);
  return status;
}
