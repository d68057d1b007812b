/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/slices_loops.h  The loops of ci/slices.h, once for every model: ci/omp/slices.c and
 * ci/acc/slices.c differ in the directives that they define before they include this:
 *
 *   TG_ROUTINE               in front of a function that loops call
 *   SLICES_ROWS(count, ...)  in front of a loop over `count` rows or slices, each by one thread;
 *                            ...: its pointers
 *   SLICES_COUNT(count, ...) the same with the sums coded, amounts, places
 *
 * Without any directive, or any of these names, they are right and serial.
 *
 * A row (i', j') has
 *
 *   (i, j')  with i != i' of H_A, and for one particle moved the field of j' on it
 *   (i', j)  the same for B
 *   (i, j)   for each jump of A and each of B of one channel
 *
 * Neighbouring threads have neighbouring rows, mostly of one i': their walks along A are the same,
 * and those along B about as long. Bound on a GPU by the first-level cache: each element takes a
 * number of x and one of the table from anywhere in either. */
#ifndef TG_CI_SLICES_LOOPS_H
#define TG_CI_SLICES_LOOPS_H

#include "ci/slices.h"

#ifndef TG_ROUTINE
#define TG_ROUTINE static inline
#endif
#ifndef SLICES_ROWS
#define SLICES_ROWS(count, ...)
#define SLICES_COUNT(count, ...)
#endif

enum { LANES = TG_CI_SLICE_LANES };

/* ---- what a walk finds ---- */

/* Counts places, and fills them where `fill`, a constant, says so. */
typedef struct tg_slices_sink {
  int32_t column; /* of the word before */
  uint32_t words, amounts;
  uint32_t coded, valued; /* elements */
  uint64_t pending;       /* the first word of a pair */
  uint64_t* pair_to;      /* of the lane, in the slice's first pair */
  uint32_t* column_to;
  double* amount_to;
} tg_slices_sink;

TG_ROUTINE void put_word(tg_slices_sink* s, bool fill, uint32_t word) {
  if (fill) {
    if (s->words & 1)
      s->pair_to[(size_t)(s->words >> 1) * LANES] = s->pending | (uint64_t)word << 32;
    else
      s->pending = word;
  }
  s->words++;
}

TG_ROUTINE void put_coded(const tg_ci_slices_tables* t, tg_slices_sink* s, bool fill,
                          int32_t column, uint32_t word) {
  const int32_t most = t->most;
  int32_t by = column - s->column;
  for (; by > most; by -= most) put_word(s, fill, (uint32_t)most << t->shift);
  for (; by < -most; by += most) put_word(s, fill, (uint32_t)-most << t->shift);
  put_word(s, fill, (uint32_t)by << t->shift | word);
  s->column = column;
  s->coded++;
}

TG_ROUTINE void put_amount(tg_slices_sink* s, bool fill, uint32_t column, double value) {
  if (value == 0) return;
  if (fill) {
    s->column_to[(size_t)s->amounts * LANES] = column;
    s->amount_to[(size_t)s->amounts * LANES] = value;
  }
  s->amounts++;
  s->valued++;
}

/* ---- the walk along a row ---- */

/* A state: its classes, its strings within them. */
typedef struct tg_slices_row {
  uint32_t a, b, i, j;
} tg_slices_row;

TG_ROUTINE tg_slices_row row_of(const tg_ci_slices_tables* t, uint64_t state) {
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
  const tg_slices_row r = {t->block_a[low], t->block_b[low], (uint32_t)(within / columns),
                           (uint32_t)(within % columns)};
  return r;
}

TG_ROUTINE const uint16_t* list_of(const tg_ci_slices_tables* t, int species, uint32_t class,
                                   uint32_t string) {
  const tg_ci_slices_species* s = &t->species[species];
  return s->orbitals + ((size_t)s->first[class] + string) * s->particles;
}

/* What the particles of the other species add to an element of one. */
TG_ROUTINE double field_of(const tg_ci_slices_species* s, uint32_t field, const uint16_t* list,
                           uint32_t particles) {
  const double* of = s->fields + (size_t)(field >> 1) * s->field_stride;
  double sum = 0;
  for (uint32_t k = 0; k < particles; k++) sum += of[list[k]];
  return field & 1 ? -sum : sum;
}

/* One species moves alone; species is a constant. */
TG_ROUTINE void walk_alone(const tg_ci_slices_tables* t, tg_slices_row r, int species,
                           tg_slices_sink* sink, bool fill) {
  const tg_ci_slices_species* s = &t->species[species];
  const uint32_t class = species ? r.b : r.a, row = species ? r.j : r.i;
  const uint16_t* list = species ? list_of(t, 0, r.a, r.i) : list_of(t, 1, r.b, r.j);
  const uint32_t particles = t->species[1 - species].particles;
  for (uint32_t l = s->alone.of_class[class]; l < s->alone.of_class[class + 1]; l++) {
    const uint32_t source = s->alone.links[l].source, begin = s->alone.links[l].begin;
    const uint32_t there = species ? t->block_of[r.a * t->classes_b + source]
                                   : t->block_of[source * t->classes_b + r.b];
    if (there == UINT32_MAX) continue;
    const uint32_t columns = t->columns[there], stride = species ? 1 : columns;
    const uint32_t base = (uint32_t)t->offset[there] + (species ? r.i * columns : r.j);
    const uint32_t end = s->alone.begin[begin + row + 1];
    for (uint32_t e = s->alone.begin[begin + row]; e < end; e++) {
      const uint32_t column = base + s->alone.from[e] * stride;
      const uint32_t word = t->coded ? s->word[e] : TG_CI_NO_WORD;
      if (word == TG_CI_NO_WORD) {
        const uint32_t field = s->field[e];
        double value = s->value[e];
        if (field) value += field_of(s, field, list, particles);
        put_amount(sink, fill, column, value);
      } else if (word) {
        put_coded(t, sink, fill, (int32_t)column, word);
      }
    }
  }
}

/* Both move: a jump of A with the jumps of B of one link. */
TG_ROUTINE void walk_jump(const tg_ci_slices_tables* t, uint32_t base, uint32_t a, uint32_t b,
                          uint32_t b_end, tg_slices_sink* sink, bool fill) {
  const uint32_t code = t->species[0].code[a], row = t->row_begin[code >> 1];
  const uint32_t* from = t->species[1].jumps.from;
  const uint32_t* codes = t->species[1].code;
  for (; b < b_end; b++) {
    const uint32_t column = base + from[b], other = codes[b], minus = (code ^ other) & 1;
    if (t->coded) {
      const uint32_t word = t->row_words[row + (other >> 1)];
      if (word) put_coded(t, sink, fill, (int32_t)column, word ^ minus);
    } else {
      const double w = t->rows[row + (other >> 1)];
      put_amount(sink, fill, column, minus ? -w : w);
    }
  }
}

TG_ROUTINE void walk_both(const tg_ci_slices_tables* t, tg_slices_row r, tg_slices_sink* sink,
                          bool fill) {
  const tg_ci_slices_links *ja = &t->species[0].jumps, *jb = &t->species[1].jumps;
  const uint32_t* channel_link = t->channel_link + (size_t)r.b * (t->channel_count + 1);
  for (uint32_t l = ja->of_class[r.a]; l < ja->of_class[r.a + 1]; l++) {
    const tg_ci_flat_link la = ja->links[l];
    const uint32_t a_begin = ja->begin[la.begin + r.i], a_end = ja->begin[la.begin + r.i + 1];
    if (a_begin == a_end) continue;
    for (uint32_t m = channel_link[la.channel]; m < channel_link[la.channel + 1]; m++) {
      const tg_ci_flat_link lb = jb->links[m];
      const uint32_t there = t->block_of[la.source * t->classes_b + lb.source];
      if (there == UINT32_MAX) continue;
      const uint32_t b = jb->begin[lb.begin + r.j], b_end = jb->begin[lb.begin + r.j + 1];
      if (b == b_end) continue;
      const uint32_t offset = (uint32_t)t->offset[there], columns = t->columns[there];
      for (uint32_t a = a_begin; a < a_end; a++)
        walk_jump(t, offset + ja->from[a] * columns, a, b, b_end, sink, fill);
    }
  }
}

/* All elements of a row but the diagonal, each once, in an order that the tables fix. */
TG_ROUTINE void walk_row(const tg_ci_slices_tables* t, uint64_t state, tg_slices_sink* sink,
                         bool fill) {
  const tg_slices_row r = row_of(t, state);
  sink->column = (int32_t)state;
  walk_alone(t, r, 0, sink, fill);
  walk_alone(t, r, 1, sink, fill);
  walk_both(t, r, sink, fill);
}

/* <state|H|state> */
TG_ROUTINE double diagonal_of(const tg_ci_slices_tables* t, uint64_t state) {
  const tg_slices_row r = row_of(t, state);
  const tg_ci_slices_species *sa = &t->species[0], *sb = &t->species[1];
  const uint16_t *a = list_of(t, 0, r.a, r.i), *b = list_of(t, 1, r.b, r.j);
  double sum = 0;
  for (uint32_t l = 0; l < sb->particles; l++)
    for (uint32_t k = 0; k < sa->particles; k++)
      sum += t->still[(size_t)a[k] * t->still_stride + b[l]];
  return t->constant + sa->diagonal[sa->first[r.a] + r.i] + sb->diagonal[sb->first[r.b] + r.j] +
         sum;
}

/* ---- making the matrix ---- */

static inline void slices_count(const tg_ci_slices_tables* t, uint64_t rows, uint32_t* words_of,
                                uint32_t* amounts_of, double* diagonal, tg_ci_slices_tally* tally) {
  uint64_t coded = 0, amounts = 0, places = 0;
  SLICES_COUNT(rows, t, words_of, amounts_of, diagonal)
  for (uint64_t row = 0; row < rows; row++) {
    tg_slices_sink sink = {0};
    walk_row(t, row, &sink, false);
    words_of[row] = sink.words;
    amounts_of[row] = sink.amounts;
    diagonal[row] = diagonal_of(t, row);
    coded += sink.coded;
    amounts += sink.valued;
    places += sink.words;
  }
  *tally = (tg_ci_slices_tally){coded, amounts, places};
}

static inline void slices_widths(uint64_t rows, const uint32_t* counts, uint32_t unit,
                                 uint32_t* widths) {
  const uint64_t slices = (rows + LANES - 1) / LANES;
  SLICES_ROWS(slices + 1, counts, widths)
  for (uint64_t s = 0; s < slices + 1; s++) {
    const uint64_t end = (s + 1) * LANES < rows ? (s + 1) * LANES : rows;
    uint32_t most = 0;
    for (uint64_t row = s * LANES; row < end; row++) most = counts[row] > most ? counts[row] : most;
    widths[s] = (most + unit - 1) / unit;
  }
}

static inline void slices_fill(const tg_ci_slices_tables* t, const tg_ci_slices_matrix* m) {
  const uint64_t rows = m->rows, places = m->slices * LANES;
  const uint64_t *quad_at = m->quad_at, *amount_at = m->amount_at;
  uint64_t* pairs = m->pairs;
  uint32_t* column = m->column;
  double* amount = m->amount;
  SLICES_ROWS(places, t, quad_at, amount_at, pairs, column, amount)
  for (uint64_t row = 0; row < places; row++) {
    const uint64_t slice = row / LANES, lane = row % LANES;
    const uint32_t words = 4 * (uint32_t)(quad_at[slice + 1] - quad_at[slice]);
    const uint32_t amounts = (uint32_t)(amount_at[slice + 1] - amount_at[slice]);
    tg_slices_sink sink = {0};
    sink.pair_to = pairs + quad_at[slice] * 2 * LANES + lane;
    sink.column_to = column + amount_at[slice] * LANES + lane;
    sink.amount_to = amount + amount_at[slice] * LANES + lane;
    if (row < rows) walk_row(t, row, &sink, true);
    while (sink.words < words) put_word(&sink, true, 0);
    for (uint32_t e = sink.amounts; e < amounts; e++) {
      sink.column_to[(size_t)e * LANES] = 0;
      sink.amount_to[(size_t)e * LANES] = 0;
    }
  }
}

/* ---- the product ---- */

/* The matrix as local variables: pointers are the device's, scalars are copied to it. */
#define SLICES_LOCALS(m)                                                                           \
  const uint64_t rows = (m)->rows;                                                                 \
  const uint32_t shift = (m)->shift, mask = (UINT32_C(1) << (shift - 1)) - 1;                      \
  const uint64_t *quad_at = (m)->quad_at, *amount_at = (m)->amount_at, *pairs = (m)->pairs;        \
  const uint32_t* column = (m)->column;                                                            \
  const double *amount = (m)->amount, *values = (m)->values, *diagonal = (m)->diagonal;
#define SLICES_POINTERS quad_at, amount_at, pairs, column, amount, values, diagonal, x, y

/* The value that a word stands for. Its sign is a bit: a branch would part the loads. */
TG_ROUTINE double value_of(const double* values, uint32_t mask, uint32_t word) {
  double value = values[(word >> 1) & mask];
  uint64_t bits;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits ^= (uint64_t)word << 63;
  __builtin_memcpy(&value, &bits, sizeof bits);
  return value;
}

/* Of one vector, or of several: ADD(value, at) adds an element in column `at`. It is fused by name:
 * GCC leaves it to the driver whether products and sums on a GPU are. */
#define SLICES_PRODUCT(name, START, ADD, END)                                                      \
  static void name(const tg_ci_slices_matrix* m, const double* x, double* y, size_t ldy) {         \
    SLICES_LOCALS(m)                                                                               \
    (void)ldy;                                                                                     \
    SLICES_ROWS(rows, SLICES_POINTERS)                                                             \
    for (uint64_t row = 0; row < rows; row++) {                                                    \
      const uint64_t slice = row / LANES, lane = row % LANES;                                      \
      const uint64_t* p = pairs + quad_at[slice] * 2 * LANES + lane;                               \
      const uint32_t count = (uint32_t)(quad_at[slice + 1] - quad_at[slice]);                      \
      const uint64_t a_end = amount_at[slice + 1] * LANES + lane;                                  \
      int32_t at = (int32_t)row;                                                                   \
      uint64_t next = count ? p[0] : 0, next_more = count ? p[LANES] : 0; /* a step ahead */       \
      START                                                                                        \
      for (uint32_t q = 0; q < count; q++, p += 2 * LANES) {                                       \
        const uint64_t two = next, more = next_more;                                               \
        if (q + 1 < count) next = p[2 * LANES], next_more = p[3 * LANES];                          \
        const uint32_t w0 = (uint32_t)two, w1 = (uint32_t)(two >> 32);                             \
        const uint32_t w2 = (uint32_t)more, w3 = (uint32_t)(more >> 32);                           \
        const int32_t c0 = at + ((int32_t)w0 >> shift), c1 = c0 + ((int32_t)w1 >> shift);          \
        const int32_t c2 = c1 + ((int32_t)w2 >> shift), c3 = c2 + ((int32_t)w3 >> shift);          \
        const double v0 = value_of(values, mask, w0), v1 = value_of(values, mask, w1);             \
        const double v2 = value_of(values, mask, w2), v3 = value_of(values, mask, w3);             \
        ADD(v0, c0) ADD(v1, c1) ADD(v2, c2) ADD(v3, c3) at = c3;                                   \
      }                                                                                            \
      for (uint64_t e = amount_at[slice] * LANES + lane; e < a_end; e += LANES) {                  \
        ADD(amount[e], column[e])                                                                  \
      }                                                                                            \
      END                                                                                          \
    }                                                                                              \
  }

#define ONE_START double sum = diagonal[row] * x[row];
#define ONE_ADD(value, at) sum = __builtin_fma(value, x[at], sum);
#define ONE_END y[row] = sum;
SLICES_PRODUCT(multiply_one, ONE_START, ONE_ADD, ONE_END)

#define TWO_START double s0 = diagonal[row] * x[2 * row], s1 = diagonal[row] * x[2 * row + 1];
#define TWO_ADD(value, at)                                                                         \
  {                                                                                                \
    const double *here = x + 2 * (size_t)(at), v = (value);                                        \
    s0 = __builtin_fma(v, here[0], s0);                                                            \
    s1 = __builtin_fma(v, here[1], s1);                                                            \
  }
#define TWO_END                                                                                    \
  y[row] = s0;                                                                                     \
  y[ldy + row] = s1;
SLICES_PRODUCT(multiply_two, TWO_START, TWO_ADD, TWO_END)

#define FOUR_START                                                                                 \
  const double *mine = x + 4 * row, d = diagonal[row];                                             \
  double s0 = d * mine[0], s1 = d * mine[1], s2 = d * mine[2], s3 = d * mine[3];
#define FOUR_ADD(value, at)                                                                        \
  {                                                                                                \
    const double *here = x + 4 * (size_t)(at), v = (value);                                        \
    s0 = __builtin_fma(v, here[0], s0);                                                            \
    s1 = __builtin_fma(v, here[1], s1);                                                            \
    s2 = __builtin_fma(v, here[2], s2);                                                            \
    s3 = __builtin_fma(v, here[3], s3);                                                            \
  }
#define THREE_END                                                                                  \
  y[row] = s0;                                                                                     \
  y[ldy + row] = s1;                                                                               \
  y[2 * ldy + row] = s2;                                                                           \
  (void)s3;
#define FOUR_END                                                                                   \
  THREE_END                                                                                        \
  y[3 * ldy + row] = s3;
SLICES_PRODUCT(multiply_three, FOUR_START, FOUR_ADD, THREE_END)
SLICES_PRODUCT(multiply_four, FOUR_START, FOUR_ADD, FOUR_END)

static inline void slices_multiply(const tg_ci_slices_matrix* m, int k, const double* x, double* y,
                                   size_t ldy) {
  if (k == 1)
    multiply_one(m, x, y, ldy);
  else if (k == 2)
    multiply_two(m, x, y, ldy);
  else if (k == 3)
    multiply_three(m, x, y, ldy);
  else
    multiply_four(m, x, y, ldy);
}

static inline void slices_pack(uint64_t rows, int k, int width, const double* x, size_t ldx,
                               double* packed) {
  SLICES_ROWS(rows, x, packed)
  for (uint64_t row = 0; row < rows; row++)
    for (int v = 0; v < width; v++)
      packed[row * (uint64_t)width + (uint64_t)v] = v < k ? x[(size_t)v * ldx + row] : 0;
}

#endif
