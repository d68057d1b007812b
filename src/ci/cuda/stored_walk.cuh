/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/stored_walk.cuh  All elements of one row of the Hamiltonian, from the tables of
 * jumps: a walk that counting, filling and adding up share.
 *
 * A row (i', j') has
 *
 *   (i, j')  with i != i' of H_A, and for one particle moved the field of j' on it
 *   (i', j)  the same for B
 *   (i, j)   for each jump of A and each of B of one channel
 *
 * Neighbouring threads take neighbouring rows, mostly of one i': their walks along A are the same,
 * and those along B about as long. */
#ifndef TG_CI_CUDA_STORED_WALK_CUH
#define TG_CI_CUDA_STORED_WALK_CUH

#include <stdint.h>

extern "C" {
#include "ci/device_stored.h"
#include "ci/stored_tables.h"
}

/** The links of one kind, to all classes of a species. */
typedef struct stored_links {
  const uint32_t* of_class;
  const tg_ci_flat_link* links;
  const uint32_t *begin, *from;
} stored_links;

typedef struct stored_species {
  stored_links jumps, alone;
  const uint32_t *first, *code, *field, *word;
  const uint16_t* orbitals;
  const double *diagonal, *value, *fields;
  uint32_t particles, field_stride;
} stored_species;

/** tg_ci_flat in device memory. */
typedef struct stored_tables {
  const uint32_t *block_a, *block_b, *columns, *block_of, *channel_link;
  const uint64_t* offset;
  stored_species species[2];
  const uint32_t *row_begin, *row_words;
  const double *rows, *still;
  uint32_t block_count, classes_b, channel_count, still_stride;
  bool coded;
  double constant;
} stored_tables;

/** Copies the tables to one allocation of the device, which the caller frees. */
tg_status stored_upload_tables(const tg_ci_device_stored* stored, const tg_ci_flat* flat,
                               void** memory, stored_tables* out);

/** Columns first ... first + count - 1, or all others; whole rows of blocks. */
typedef struct stored_columns {
  uint64_t first, count;
  bool others;
} stored_columns;

static __device__ __forceinline__ bool stored_keeps(const stored_columns& kept, uint64_t column) {
  return (column - kept.first < kept.count) != kept.others;
}

/** A state: its block, its strings within their classes. */
typedef struct stored_row {
  uint32_t block, a, b, i, j;
} stored_row;

static __device__ __forceinline__ stored_row stored_row_of(const stored_tables* t, uint64_t state) {
  uint32_t low = 0, high = t->block_count; /* the last block that begins at or before it */
  while (high - low > 1) {
    const uint32_t middle = (low + high) / 2;
    if (t->offset[middle] <= state)
      low = middle;
    else
      high = middle;
  }
  const uint64_t within = state - t->offset[low];
  const uint32_t columns = t->columns[low];
  stored_row r;
  r.block = low;
  r.a = t->block_a[low];
  r.b = t->block_b[low];
  r.i = (uint32_t)(within / columns);
  r.j = (uint32_t)(within % columns);
  return r;
}

static __device__ __forceinline__ const uint16_t* stored_list(const stored_tables* t, int species,
                                                              const stored_row* r) {
  const stored_species* s = &t->species[species];
  const size_t string = s->first[species ? r->b : r->a] + (size_t)(species ? r->j : r->i);
  return s->orbitals + string * s->particles;
}

/* What the particles of the other species add to an element of one. */
static __device__ __forceinline__ double stored_field(const stored_species* s, uint32_t field,
                                                      const uint16_t* list, uint32_t particles) {
  const double* of = s->fields + (size_t)(field >> 1) * s->field_stride;
  double sum = 0;
  for (uint32_t k = 0; k < particles; k++) sum += of[list[k]];
  return field & 1 ? -sum : sum;
}

/* One species moves alone. */
template <int SPECIES, class SINK>
static __device__ __forceinline__ void stored_walk_alone(const stored_tables* t,
                                                         const stored_columns& kept,
                                                         const stored_row* r, SINK* sink) {
  const stored_species* s = &t->species[SPECIES];
  const uint32_t class_ = SPECIES ? r->b : r->a, row = SPECIES ? r->j : r->i;
  const uint16_t* list = stored_list(t, 1 - SPECIES, r);
  const uint32_t particles = t->species[1 - SPECIES].particles;
  for (uint32_t l = s->alone.of_class[class_]; l < s->alone.of_class[class_ + 1]; l++) {
    const tg_ci_flat_link link = s->alone.links[l];
    const uint32_t there = SPECIES ? t->block_of[r->a * t->classes_b + link.source]
                                   : t->block_of[link.source * t->classes_b + r->b];
    if (there == UINT32_MAX) continue;
    const uint32_t columns = t->columns[there];
    const uint64_t base = t->offset[there] + (SPECIES ? (uint64_t)r->i * columns : r->j);
    const uint32_t end = s->alone.begin[link.begin + row + 1];
    if (SPECIES && !stored_keeps(kept, base)) continue; /* all in one row of a block */
    for (uint32_t e = s->alone.begin[link.begin + row]; e < end; e++) {
      const uint64_t column = base + s->alone.from[e] * (uint64_t)(SPECIES ? 1 : columns);
      if (!SPECIES && !stored_keeps(kept, column)) continue;
      const uint32_t word = t->coded ? s->word[e] : TG_CI_NO_WORD;
      if (word != TG_CI_NO_WORD) {
        if (word) sink->coded((int32_t)column, word);
        continue;
      }
      const uint32_t field = s->field[e];
      double value = s->value[e];
      if (field) value += stored_field(s, field, list, particles);
      sink->valued((int32_t)column, value);
    }
  }
}

/* Both move: the jumps of two links of one channel. */
template <class SINK>
static __device__ __forceinline__ void stored_walk_links(const stored_tables* t,
                                                         const stored_columns& kept, uint32_t there,
                                                         uint32_t a, uint32_t a_end,
                                                         uint32_t b_begin, uint32_t b_end,
                                                         SINK* sink) {
  const stored_species *sa = &t->species[0], *sb = &t->species[1];
  const uint64_t offset = t->offset[there];
  const uint32_t columns = t->columns[there];
  for (; a < a_end; a++) {
    const uint64_t base = offset + sa->jumps.from[a] * (uint64_t)columns;
    if (!stored_keeps(kept, base)) continue;
    const uint32_t code = sa->code[a], row = t->row_begin[code >> 1];
    for (uint32_t b = b_begin; b < b_end; b++) {
      const int32_t column = (int32_t)(base + sb->jumps.from[b]);
      const uint32_t other = sb->code[b], minus = (code ^ other) & 1;
      if (t->coded) {
        const uint32_t word = t->row_words[row + (other >> 1)];
        if (word) sink->coded(column, word ^ minus);
      } else {
        const double w = t->rows[row + (other >> 1)];
        sink->valued(column, minus ? -w : w);
      }
    }
  }
}

template <class SINK>
static __device__ __forceinline__ void stored_walk_both(const stored_tables* t,
                                                        const stored_columns& kept,
                                                        const stored_row* r, SINK* sink) {
  const stored_links *ja = &t->species[0].jumps, *jb = &t->species[1].jumps;
  const uint32_t* channel_link = t->channel_link + (size_t)r->b * (t->channel_count + 1);
  for (uint32_t l = ja->of_class[r->a]; l < ja->of_class[r->a + 1]; l++) {
    const tg_ci_flat_link la = ja->links[l];
    const uint32_t a = ja->begin[la.begin + r->i], a_end = ja->begin[la.begin + r->i + 1];
    if (a == a_end) continue;
    for (uint32_t m = channel_link[la.channel]; m < channel_link[la.channel + 1]; m++) {
      const tg_ci_flat_link lb = jb->links[m];
      const uint32_t there = t->block_of[la.source * t->classes_b + lb.source];
      if (there == UINT32_MAX) continue;
      const uint32_t b = jb->begin[lb.begin + r->j], b_end = jb->begin[lb.begin + r->j + 1];
      if (b < b_end) stored_walk_links(t, kept, there, a, a_end, b, b_end, sink);
    }
  }
}

/** All elements of a row in these columns but the diagonal, each once, in an order that the tables
 * fix. sink has coded(column, word), which gets no zeros, and valued(column, value), which may. */
template <class SINK>
static __device__ void stored_walk(const stored_tables* t, const stored_columns& kept,
                                   uint64_t state, SINK* sink) {
  const stored_row r = stored_row_of(t, state);
  stored_walk_alone<0>(t, kept, &r, sink);
  stored_walk_alone<1>(t, kept, &r, sink);
  stored_walk_both(t, kept, &r, sink);
}

/** <state|H|state> */
static __device__ __forceinline__ double stored_diagonal(const stored_tables* t, uint64_t state) {
  const stored_row r = stored_row_of(t, state);
  const stored_species *sa = &t->species[0], *sb = &t->species[1];
  const uint16_t *a = stored_list(t, 0, &r), *b = stored_list(t, 1, &r);
  double sum = 0;
  for (uint32_t l = 0; l < sb->particles; l++)
    for (uint32_t k = 0; k < sa->particles; k++)
      sum += t->still[(size_t)a[k] * t->still_stride + b[l]];
  return t->constant + sa->diagonal[sa->first[r.a] + r.i] + sb->diagonal[sb->first[r.b] + r.j] +
         sum;
}

#endif
