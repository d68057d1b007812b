/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix from comparisons of states: filter, scan and fill. */
#include <string.h>

#include "base/memory.h"
#include "ci/element.h"
#include "ci/stored_internal.h"
#include "motif/table.h"

typedef struct build {
  const tg_ci_hamiltonian* h;
  const tg_ci_fly* f;
  tg_ci_stored* s;
  tg_states states; /* A's orbitals, then B's behind them */
  tg_ci_reached reach;
  int threads;
  /* of one pair of chunks */
  uint32_t *tile_rows, *tile_spans, *spans;
  size_t tile_rows_room, tile_spans_room, spans_room;
  uint32_t *counts, *cursor;
  uint64_t* offsets;
  uint32_t* hits;
  size_t hits_room;
} build;

static void build_free(build* b) {
  tg_states_free(&b->states);
  tg_ci_reached_free(&b->reach);
  TG_FREE(b->tile_rows);
  TG_FREE(b->tile_spans);
  TG_FREE(b->spans);
  TG_FREE(b->counts);
  TG_FREE(b->cursor);
  TG_FREE(b->offsets);
  TG_FREE(b->hits);
}

static tg_status make_states(build* b) {
  const tg_ci_space* space = b->f->space;
  const size_t na = (size_t)space->strings[0].particles, nb = (size_t)space->strings[1].particles;
  uint16_t* lists = NULL;
  TG_TRY(TG_ALLOCATE(space->dimension * (na + nb), "states", &lists));
  for (uint64_t n = 0; n < space->dimension; n++) {
    size_t i, j;
    tg_ci_space_strings(space, n, &i, &j);
    uint16_t* list = lists + n * (na + nb);
    for (size_t k = 0; k < na; k++) list[k] = tg_ci_string(&space->strings[0], i)[k];
    for (size_t k = 0; k < nb; k++)
      list[na + k] = (uint16_t)(b->f->orbitals[0] + tg_ci_string(&space->strings[1], j)[k]);
  }
  const tg_status status =
      tg_states_from_lists((size_t)space->dimension, (uint32_t)(na + nb),
                           (uint32_t)(b->f->orbitals[0] + b->f->orbitals[1]), lists, &b->states);
  tg_free(lists);
  return status;
}

/* Rows of a chunk, block by block, and the spans of columns of another that each meets. */
static tg_status make_spans(build* b, size_t row_chunk, size_t column_chunk, tg_pairs* pairs) {
  const tg_ci_space* space = b->f->space;
  const uint64_t row0 = (uint64_t)row_chunk * b->s->chunk;
  const uint64_t column0 = (uint64_t)column_chunk * b->s->chunk;
  const uint64_t rows = tg_ci_stored_rows(b->s, row_chunk);
  const uint64_t columns = tg_ci_stored_rows(b->s, column_chunk);
  size_t tiles = 0, spans = 0;
  for (uint64_t row = 0; row < rows; tiles++) {
    const size_t n = tg_ci_space_block_of(space, row0 + row);
    const tg_ci_block* block = &space->blocks[n];
    const uint64_t end = block->offset + (uint64_t)block->rows * block->columns - row0;
    TG_TRY(TG_RESERVE(tiles + 2, "tiles", &b->tile_rows, &b->tile_rows_room));
    TG_TRY(TG_RESERVE(tiles + 2, "tiles", &b->tile_spans, &b->tile_spans_room));
    b->tile_rows[tiles] = (uint32_t)row;
    b->tile_spans[tiles] = (uint32_t)spans;
    for (size_t r = b->reach.begin[n]; r < b->reach.begin[n + 1]; r++) {
      const tg_ci_block* other = &space->blocks[b->reach.blocks[r]];
      uint64_t first = other->offset, last = other->offset + (uint64_t)other->rows * other->columns;
      if (first < column0) first = column0;
      if (last > column0 + columns) last = column0 + columns;
      if (first >= last) continue;
      first -= column0;
      last -= column0;
      if (spans > b->tile_spans[tiles] && b->spans[2 * spans - 1] == first) {
        b->spans[2 * spans - 1] = (uint32_t)last;
        continue;
      }
      TG_TRY(TG_RESERVE(2 * spans + 2, "spans", &b->spans, &b->spans_room));
      b->spans[2 * spans] = (uint32_t)first;
      b->spans[2 * spans++ + 1] = (uint32_t)last;
    }
    row = end < rows ? end : rows;
  }
  b->tile_rows[tiles] = (uint32_t)rows;
  b->tile_spans[tiles] = (uint32_t)spans;
  pairs->tile_count = (uint32_t)tiles;
  pairs->tile_rows = b->tile_rows;
  pairs->tile_spans = b->tile_spans;
  pairs->spans = b->spans;
  return TG_OK;
}

static tg_status find_hits(build* b, const tg_pairs* pairs) {
  tg_motif_way way;
  void* scratch = NULL;
  TG_TRY(tg_motif_choose_way(pairs, &way));
  TG_TRY(way.filter->count(pairs, b->counts));
  TG_TRY(tg_allocate(way.scan->scratch ? way.scan->scratch(pairs->rows.count, sizeof(uint64_t)) : 0,
                     1, "scan", &scratch));
  tg_status status =
      way.scan->offsets(pairs->rows.count, b->counts, b->offsets, scratch, pairs->threads);
  tg_free(scratch);
  TG_TRY(status);
  TG_TRY(TG_RESERVE((size_t)b->offsets[pairs->rows.count], "hits", &b->hits, &b->hits_room));
  return way.fill->fill(pairs, b->offsets, b->cursor, b->hits);
}

static double element(const build* b, uint64_t bra, uint64_t ket) {
  const tg_ci_space* space = b->f->space;
  const int particles[2] = {space->strings[0].particles, space->strings[1].particles};
  size_t bra_a, bra_b, ket_a, ket_b;
  tg_ci_space_strings(space, bra, &bra_a, &bra_b);
  tg_ci_space_strings(space, ket, &ket_a, &ket_b);
  const uint16_t* bras[2] = {tg_ci_string(&space->strings[0], bra_a),
                             tg_ci_string(&space->strings[1], bra_b)};
  const uint16_t* kets[2] = {tg_ci_string(&space->strings[0], ket_a),
                             tg_ci_string(&space->strings[1], ket_b)};
  return tg_ci_element(b->h, particles, bras, kets);
}

static tg_status tile_make(build* b, size_t row_chunk, size_t column_chunk) {
  tg_ci_stored* s = b->s;
  const size_t rows = tg_ci_stored_rows(s, row_chunk);
  const uint64_t row0 = (uint64_t)row_chunk * s->chunk, column0 = (uint64_t)column_chunk * s->chunk;
  tg_pairs pairs = {
      .rows = tg_states_slice(&b->states, (size_t)row0, rows),
      .columns = tg_states_slice(&b->states, (size_t)column0, tg_ci_stored_rows(s, column_chunk)),
      .d = 2,
      .once = !s->full,
      .first_row = row0,
      .first_column = column0,
      .threads = b->threads};
  TG_TRY(make_spans(b, row_chunk, column_chunk, &pairs));
  TG_TRY(find_hits(b, &pairs));
  if (s->full && row_chunk == column_chunk) /* a state hits itself; that is the diagonal's */
    for (size_t r = 0; r < rows; r++) b->counts[r]--;
  tg_ci_tile* t = tg_ci_stored_tile(s, row_chunk, column_chunk);
  TG_TRY(tg_ci_tile_allocate(t, rows, b->counts, 1));
#pragma omp parallel for schedule(dynamic, 64) num_threads(b->threads)
  for (size_t r = 0; r < rows; r++) {
    size_t at = t->begin ? t->begin[r] : 0;
    for (uint64_t e = b->offsets[r]; e < b->offsets[r + 1]; e++) {
      const uint32_t column = b->hits[e];
      if (column0 + column == row0 + r) continue;
      t->column[at] = (uint16_t)column;
      t->value[at++] = element(b, row0 + r, column0 + column);
    }
  }
  return TG_OK;
}

tg_status tg_ci_stored_by_motifs(const tg_ci_hamiltonian* h, const tg_ci_fly* f, bool full,
                                 int threads, tg_ci_stored* out) {
  tg_status status = TG_OK;
  tg_ci_stored s = {0};
  build b = {.h = h, .f = f, .s = &s, .threads = threads};
  const tg_ci_space* space = f->space;
  if (space->strings[0].particles + space->strings[1].particles == 0)
    return tg_fail(TG_ERR_INPUT, "there are no particles, and so no pairs of states to compare");
  if (space->dimension > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "%llu states are too many to compare pair by pair",
                   (unsigned long long)space->dimension);
  TG_TRY_GOTO(tg_ci_stored_start(space->dimension, full, &s), done);
  TG_TRY_GOTO(make_states(&b), done);
  TG_TRY_GOTO(tg_ci_reached_make(f, &b.reach), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.chunk, "counts of hits", &b.counts), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.chunk, "cursors", &b.cursor), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.chunk + 1, "offsets of hits", &b.offsets), done);
  for (size_t i = 0; i < s.chunks; i++)
    for (size_t j = full ? 0 : i; j < s.chunks; j++) TG_TRY_GOTO(tile_make(&b, i, j), done);
#pragma omp parallel for num_threads(threads)
  for (uint64_t n = 0; n < s.dimension; n++) s.diagonal[n] = element(&b, n, n);
  tg_ci_stored_finish(&s);
  *out = s;
  s = (tg_ci_stored){0};
done:
  tg_ci_stored_free(&s);
  build_free(&b);
  return status;
}
