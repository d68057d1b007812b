/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/stored_elements.h"

#include <string.h>

#include "base/memory.h"
#include "ci/hamiltonian.h"
#include "ci/product_fly.h"
#include "ci/stored_internal.h"

static const char what[] = "flat matrix elements";

void tg_ci_flat_elements_free(tg_ci_flat_elements* e) {
  for (int t = 0; t < 2; t++) {
    TG_FREE(e->one[t]);
    TG_FREE(e->pair_row[t]);
    TG_FREE(e->pair_place[t]);
    TG_FREE(e->pair_channel[t]);
    TG_FREE(e->cross_channel[t]);
  }
  TG_FREE(e->cross_row);
  TG_FREE(e->cross_place);
  TG_FREE(e->value);
  *e = (tg_ci_flat_elements){0};
}

/* Elements are appended; room doubles. */
static tg_status more(tg_ci_flat_elements* e, size_t count, size_t* room) {
  return TG_RESERVE(e->count + count + 1, what, &e->value, room);
}

/* The channel of pairs to which i < j belong, unless it is there already. */
static tg_status add_pairs(const tg_ci_hamiltonian* h, int t, size_t i, size_t j, uint32_t channel,
                           tg_ci_flat_elements* e, size_t* room) {
  const tg_ci_orbital* o;
  const uint32_t* members;
  const size_t n = tg_ci_hamiltonian_orbitals(h, t, &o);
  const size_t count = tg_ci_hamiltonian_pairs(h, t, o[i].two_m + o[j].two_m,
                                               (unsigned)(o[i].symmetry ^ o[j].symmetry), &members);
  TG_TRY(more(e, count * count, room));
  for (size_t r = 0; r < count; r++) {
    e->pair_row[t][members[r]] = e->count;
    e->pair_place[t][members[r]] = (uint32_t)r;
    e->pair_channel[t][members[r]] = channel;
    for (size_t c = 0; c < count; c++)
      e->value[e->count++] =
          tg_ci_hamiltonian_two(h, t, (int)(members[r] / n), (int)(members[r] % n),
                                (int)(members[c] / n), (int)(members[c] % n));
  }
  return TG_OK;
}

static tg_status make_species(const tg_ci_hamiltonian* h, int t, tg_ci_flat_elements* e,
                              size_t* room) {
  const size_t n = tg_ci_hamiltonian_orbitals(h, t, NULL);
  uint32_t channel = 0;
  e->orbitals[t] = n;
  TG_TRY(TG_ALLOCATE(n * n, what, &e->one[t]));
  TG_TRY(TG_ALLOCATE(n * n, what, &e->pair_row[t]));
  TG_TRY(TG_ALLOCATE(n * n, what, &e->pair_place[t]));
  TG_TRY(TG_ALLOCATE(n * n, what, &e->pair_channel[t]));
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      e->one[t][i * n + j] = tg_ci_hamiltonian_one(h, t, (int)i, (int)j);
      if (i < j && !e->pair_channel[t][i * n + j])
        TG_TRY(add_pairs(h, t, i, j, ++channel, e, room));
    }
  return TG_OK;
}

/* The transitions of B that balance i <- j of A, and those of A in the same channel. */
static tg_status add_cross(const tg_ci_hamiltonian* h, size_t i, size_t j, uint32_t channel,
                           tg_ci_flat_elements* e, size_t* room) {
  const tg_ci_orbital* o;
  const uint32_t *rows, *columns;
  const int na = (int)tg_ci_hamiltonian_orbitals(h, 0, &o), nb = (int)e->orbitals[1];
  const int change = o[i].two_m - o[j].two_m;
  const unsigned label = (unsigned)(o[i].symmetry ^ o[j].symmetry);
  const size_t row_count = tg_ci_hamiltonian_transitions(h, 0, change, label, &rows);
  const size_t count = tg_ci_hamiltonian_transitions(h, 1, -change, label, &columns);
  TG_TRY(more(e, row_count * count, room));
  for (size_t c = 0; c < count; c++) {
    e->cross_place[columns[c]] = (uint32_t)c;
    e->cross_channel[1][columns[c]] = channel;
  }
  for (size_t r = 0; r < row_count; r++) {
    const int to = (int)rows[r] / na, from = (int)rows[r] % na;
    e->cross_row[rows[r]] = e->count;
    e->cross_channel[0][rows[r]] = channel;
    for (size_t c = 0; c < count; c++)
      e->value[e->count++] =
          tg_ci_hamiltonian_cross(h, to, from, (int)columns[c] / nb, (int)columns[c] % nb);
  }
  return TG_OK;
}

tg_status tg_ci_flat_elements_make(const tg_ci_hamiltonian* h, tg_ci_flat_elements* out) {
  tg_status status = TG_OK;
  tg_ci_flat_elements e = {0};
  size_t room = 0;
  uint32_t channel = 0;
  for (int t = 0; t < 2; t++) TG_TRY_GOTO(make_species(h, t, &e, &room), failed);
  const size_t na = e.orbitals[0], nb = e.orbitals[1];
  TG_TRY_GOTO(TG_ALLOCATE(na * na, what, &e.cross_row), failed);
  TG_TRY_GOTO(TG_ALLOCATE(nb * nb, what, &e.cross_place), failed);
  TG_TRY_GOTO(TG_ALLOCATE(na * na, what, &e.cross_channel[0]), failed);
  TG_TRY_GOTO(TG_ALLOCATE(nb * nb, what, &e.cross_channel[1]), failed);
  for (size_t i = 0; i < na; i++)
    for (size_t j = 0; j < na; j++)
      if (!e.cross_channel[0][i * na + j])
        TG_TRY_GOTO(add_cross(h, i, j, ++channel, &e, &room), failed);
  *out = e;
  return TG_OK;
failed:
  tg_ci_flat_elements_free(&e);
  return status;
}

void tg_ci_flat_spans_free(tg_ci_flat_spans* s) {
  TG_FREE(s->tile_rows);
  TG_FREE(s->tile_spans);
  TG_FREE(s->spans);
  *s = (tg_ci_flat_spans){0};
}

tg_status tg_ci_flat_spans_make(const tg_ci_fly* f, uint64_t first, uint64_t end,
                                tg_ci_flat_spans* out) {
  tg_status status = TG_OK;
  const tg_ci_space* space = f->space;
  tg_ci_flat_spans s = {0};
  tg_ci_reached reach = {0};
  size_t room = 0;
  TG_TRY_GOTO(TG_ALLOCATE(space->block_count + 1, "tiles", &s.tile_rows), failed);
  TG_TRY_GOTO(TG_ALLOCATE(space->block_count + 1, "tiles", &s.tile_spans), failed);
  TG_TRY_GOTO(tg_ci_reached_make(f, &reach), failed);
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    const uint64_t block_end = block->offset + (uint64_t)block->rows * block->columns;
    if (block_end <= first || block->offset >= end) continue;
    s.tile_rows[s.tile_count] = block->offset > first ? (uint32_t)(block->offset - first) : 0;
    s.tile_spans[s.tile_count++] = (uint32_t)s.span_count;
    for (size_t r = reach.begin[n]; r < reach.begin[n + 1]; r++) {
      const tg_ci_block* other = &space->blocks[reach.blocks[r]];
      const uint32_t low = (uint32_t)other->offset;
      const uint32_t high = (uint32_t)(other->offset + (uint64_t)other->rows * other->columns);
      if (s.span_count > s.tile_spans[s.tile_count - 1] && s.spans[2 * s.span_count - 1] == low) {
        s.spans[2 * s.span_count - 1] = high;
        continue;
      }
      TG_TRY_GOTO(TG_RESERVE(2 * s.span_count + 2, "spans", &s.spans, &room), failed);
      s.spans[2 * s.span_count] = low;
      s.spans[2 * s.span_count++ + 1] = high;
    }
  }
  s.tile_rows[s.tile_count] = (uint32_t)(end - first);
  s.tile_spans[s.tile_count] = (uint32_t)s.span_count;
  tg_ci_reached_free(&reach);
  *out = s;
  return TG_OK;
failed:
  tg_ci_reached_free(&reach);
  tg_ci_flat_spans_free(&s);
  return status;
}
