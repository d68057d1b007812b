/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/stored.h"

#include "base/memory.h"
#include "ci/stored_internal.h"

/* Few chunks: longer runs in a row of a tile, fewer row starts. Many: more tiles for threads. Of
 * the least length a chunk of x and one of y fit a first-level cache. */
enum { CHUNKS_WANTED = 32 };

static int shift_for(uint64_t dimension) {
  int shift = TG_CI_LEAST_SHIFT;
  while (shift < TG_CI_MOST_SHIFT && (uint64_t)CHUNKS_WANTED << shift < dimension) shift++;
  return shift;
}

static size_t chunks_for(uint64_t dimension, int shift) {
  return (size_t)((dimension + ((uint64_t)1 << shift) - 1) >> shift);
}

static size_t tile_count(size_t chunks, bool full) {
  return full ? chunks * chunks : chunks * (chunks + 1) / 2;
}

tg_ci_tile* tg_ci_stored_tile(const tg_ci_stored* s, size_t row, size_t column) {
  if (s->full) return &s->tiles[row * s->chunks + column];
  return &s->tiles[row * s->chunks - row * (row + 1) / 2 + column];
}

static size_t work_size(uint64_t dimension, bool full) {
  return full ? 0 : 2 * TG_CI_STORED_WIDTH * (size_t)dimension;
}

size_t tg_ci_stored_bytes(uint64_t dimension, uint64_t pairs, bool full) {
  const int shift = shift_for(dimension);
  const size_t chunk = (size_t)1 << shift, chunks = chunks_for(dimension, shift);
  const uint64_t elements = (pairs - dimension) / (full ? 1 : 2);
  return elements * (sizeof(uint16_t) + sizeof(double)) +
         tile_count(chunks, full) * (sizeof(tg_ci_tile) + (chunk + 1) * sizeof(uint32_t)) +
         work_size(dimension, full) * sizeof(double) + (size_t)dimension * sizeof(double);
}

size_t tg_ci_stored_rows(const tg_ci_stored* s, size_t chunk) {
  const uint64_t first = (uint64_t)chunk * s->chunk, rest = s->dimension - first;
  return rest < s->chunk ? (size_t)rest : s->chunk;
}

tg_status tg_ci_stored_start(uint64_t dimension, bool full, tg_ci_stored* out) {
  *out = (tg_ci_stored){.dimension = dimension, .full = full, .shift = shift_for(dimension)};
  out->chunk = (size_t)1 << out->shift;
  out->chunks = chunks_for(dimension, out->shift);
  TG_TRY(TG_ALLOCATE(tile_count(out->chunks, full), "tiles", &out->tiles));
  TG_TRY(TG_ALLOCATE(out->chunks, "chunks", &out->over));
  TG_TRY(TG_ALLOCATE(work_size(dimension, full), "vectors of a product", &out->work));
  return TG_ALLOCATE(dimension, "diagonal", &out->diagonal);
}

void tg_ci_stored_finish(tg_ci_stored* s) {
  s->bytes = (size_t)s->dimension * sizeof *s->diagonal +
             work_size(s->dimension, s->full) * sizeof *s->work;
  for (size_t t = 0; t < tile_count(s->chunks, s->full); t++) {
    s->count += s->tiles[t].count;
    s->bytes += sizeof *s->tiles;
  }
  for (size_t i = 0; i < s->chunks; i++)
    for (size_t j = s->full ? 0 : i; j < s->chunks; j++) {
      const tg_ci_tile* t = tg_ci_stored_tile(s, i, j);
      if (t->begin) s->bytes += (tg_ci_stored_rows(s, i) + 1) * sizeof *t->begin;
      s->bytes += t->count * (sizeof *t->column + sizeof *t->value);
    }
}

tg_status tg_ci_tile_allocate(tg_ci_tile* tile, size_t rows, const uint32_t* counts,
                              size_t stride) {
  for (size_t r = 0; r < rows; r++) tile->count += counts[r * stride];
  if (!tile->count) return TG_OK;
  if (tile->count > UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "a stored matrix this dense is too large; use --storage fly");
  TG_TRY(TG_ALLOCATE(rows + 1, "rows of the stored matrix", &tile->begin));
  TG_TRY(TG_ALLOCATE(tile->count, "stored matrix", &tile->column));
  TG_TRY(TG_ALLOCATE(tile->count, "stored matrix", &tile->value));
  for (size_t r = 0; r < rows; r++) tile->begin[r + 1] = tile->begin[r] + counts[r * stride];
  return TG_OK;
}

void tg_ci_stored_free(tg_ci_stored* s) {
  for (size_t t = 0; s->tiles && t < tile_count(s->chunks, s->full); t++) {
    TG_FREE(s->tiles[t].begin);
    TG_FREE(s->tiles[t].column);
    TG_FREE(s->tiles[t].value);
  }
  TG_FREE(s->tiles);
  TG_FREE(s->diagonal);
  TG_FREE(s->work);
  TG_FREE(s->over);
  *s = (tg_ci_stored){0};
}
