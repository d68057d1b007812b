/* SPDX-License-Identifier: Apache-2.0 */
/* A particle of each species moves: nearly all the work of the factorised product. */
#include <string.h>

#include "ci/omp/fly.h"

/* A pair of links of one channel, and the block of x they come from. */
typedef struct cross_links {
  const tg_ci_target *ta, *tb;
  const tg_ci_link *a, *b;
  const double* x;
  size_t rows, columns; /* of that block */
} cross_links;

/* The jumps of an operator, each for all vectors: which of these go into the lanes of a tile. */
typedef struct lane_list {
  const tg_ci_target* t;
  uint32_t jump, end;        /* the next, and the one behind the last */
  int v;                     /* vector of the next */
  size_t from_step, to_step; /* from string to string of x and of y */
  size_t to_first;           /* string of y that is the first */
} lane_list;

static size_t lanes_left(const tg_fly_job* j, const lane_list* l) {
  return (size_t)(l->end - l->jump) * (size_t)j->k - (size_t)l->v;
}

/* From where, to where, with which sign. Returns how many; the list goes on behind them. */
static int fill_lanes(const tg_fly_job* j, lane_list* l, int vectors) {
  tg_fly_workspace* w = j->w;
  const int width = vectors * LANES;
  int count = 0;
  for (; count < width && l->jump < l->end; count++) {
    const uint32_t from = l->t->op_from[l->jump];
    w->from[count] = (int64_t)((size_t)l->v * j->ldx + (from >> 1) * l->from_step);
    w->to[count] =
        (int64_t)((size_t)l->v * j->ldy + (l->t->op_to[l->jump] - l->to_first) * l->to_step);
    w->sign[count] = from & 1 ? -1 : 1;
    if (++l->v == j->k) {
      l->v = 0;
      l->jump++;
    }
  }
  for (int k = count; k < width; k++) { /* read, but nothing is made of it */
    w->from[k] = w->from[0];
    w->sign[k] = 0;
  }
  return count;
}

/* An operator of A at a time. */
static void cross_rows(const tg_fly_job* j, const cross_links* c) {
  for (size_t o = c->a->operators; o < c->a->operators + c->a->operator_count; o++) {
    uint32_t e, end;
    tg_fly_jumps(j, c->ta, o, &e, &end);
    if (e == end) continue;
    const double* w = tg_ci_fly_row(j->f, c->a->channel, c->ta->op[o]);
    for (size_t p = c->b->operators; p < c->b->operators + c->b->operator_count; p++) {
      const uint32_t b = c->tb->op[p];
      j->w->table[2 * b] = w[b];
      j->w->table[2 * b + 1] = -w[b];
    }
    lane_list lanes = {c->ta, e, end, 0, c->columns, j->block->columns, j->begin};
    while (lanes.jump < end) {
      const int vectors = tg_fly_vectors(c->columns, lanes_left(j, &lanes));
      const int count = fill_lanes(j, &lanes, vectors);
      j->kernels->gather_rows(c->columns, c->x, vectors, j->w->from, j->w->sign, j->w->xt);
      j->kernels->jump_rows(j->block->columns, c->tb->begin + c->b->rows, c->tb->from, c->tb->code,
                            j->w->table, j->w->xt, count, j->w->to, j->y);
    }
  }
}

/* An operator of B at a time. */
static void cross_columns(const tg_fly_job* j, const cross_links* c) {
  for (size_t o = c->b->operators; o < c->b->operators + c->b->operator_count; o++) {
    const uint32_t end = c->tb->op_begin[o + 1], b = c->tb->op[o];
    for (size_t p = c->a->operators; p < c->a->operators + c->a->operator_count; p++) {
      const uint32_t a = c->ta->op[p];
      const double w = tg_ci_fly_row(j->f, c->a->channel, a)[b];
      j->w->table[2 * a] = w;
      j->w->table[2 * a + 1] = -w;
    }
    lane_list lanes = {c->tb, c->tb->op_begin[o], end, 0, 1, 1, 0};
    while (lanes.jump < end) {
      const int vectors = tg_fly_vectors(c->rows, lanes_left(j, &lanes));
      const int count = fill_lanes(j, &lanes, vectors);
      j->kernels->gather(c->rows, c->columns, c->x, vectors, j->w->from, j->w->sign, j->w->xt);
      j->kernels->jump(j->end - j->begin, c->ta->begin + c->a->rows + j->begin, c->ta->from,
                       c->ta->code, j->w->table, j->w->xt, count, j->w->to, j->block->columns,
                       j->y);
    }
  }
}

/* value with the other sign where odd. */
static double turned(double value, uint32_t odd) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits ^= (uint64_t)(odd & 1) << 63;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Jump by jump. In the order of B's operators, as neighbouring jumps then lead to different
 * columns: none waits for the sum that the one before has just stored. */
static void cross_single(const tg_fly_job* j, const cross_links* c) {
  const uint32_t* begin = c->ta->begin + c->a->rows;
  const size_t end = c->b->first + c->b->count;
  const uint32_t* restrict of = c->tb->op_of, * restrict to = c->tb->op_to, * restrict from = c->tb->op_from;
  for (size_t i = j->begin; i < j->end; i++) {
    for (uint32_t d = begin[i]; d < begin[i + 1]; d++) {
      const double* restrict w = tg_ci_fly_row(j->f, c->a->channel, c->ta->code[d] >> 1);
      const uint32_t minus = c->ta->code[d];
      for (int v = 0; v < j->k; v++) {
        const double* restrict x = c->x + (size_t)v * j->ldx + c->ta->from[d] * c->columns;
        double* restrict y = j->y + (size_t)v * j->ldy + (i - j->begin) * j->block->columns;
        for (size_t e = c->b->first; e < end; e++)
          y[to[e]] += turned(w[of[e]], from[e] ^ minus) * x[from[e] >> 1];
      }
    }
  }
}

/* Operator by operator, of which most pairs have no element. */
static void cross_few(const tg_fly_job* j, const cross_links* c) {
  const size_t b_end = c->b->operators + c->b->operator_count, stride = j->block->columns;
  for (size_t o = c->a->operators; o < c->a->operators + c->a->operator_count; o++) {
    uint32_t begin, end;
    tg_fly_jumps(j, c->ta, o, &begin, &end);
    if (begin == end) continue;
    const double* w = tg_ci_fly_row(j->f, c->a->channel, c->ta->op[o]);
    for (size_t p = c->b->operators; p < b_end; p++) {
      const double value = w[c->tb->op[p]];
      if (value == 0) continue;
      for (uint32_t d = begin; d < end; d++) {
        const uint32_t minus = c->ta->op_from[d];
        for (int v = 0; v < j->k; v++) {
          const double* x = c->x + (size_t)v * j->ldx + (minus >> 1) * c->columns;
          double* y = j->y + (size_t)v * j->ldy + (c->ta->op_to[d] - j->begin) * stride;
          for (uint32_t e = c->tb->op_begin[p]; e < c->tb->op_begin[p + 1]; e++)
            y[c->tb->op_to[e]] +=
                turned(value, c->tb->op_from[e] ^ minus) * x[c->tb->op_from[e] >> 1];
        }
      }
    }
  }
}

void tg_fly_cross(const tg_fly_job* j) {
  const tg_ci_fly* f = j->f;
  cross_links c = {.ta = &f->jumps[0].targets[j->block->a],
                   .tb = &f->jumps[1].targets[j->block->b]};
  for (size_t l = 0; l < c.ta->link_count; l++) {
    c.a = &c.ta->links[l];
    size_t first;
    const size_t count = tg_ci_links_of(c.tb, c.a->channel, &first);
    for (size_t m = first; m < first + count; m++) {
      c.b = &c.tb->links[m];
      c.x = tg_fly_x(j, c.a->source, c.b->source);
      if (!c.x) continue;
      c.rows = f->space->strings[0].classes[c.a->source].count;
      c.columns = f->space->strings[1].classes[c.b->source].count;
      if (f->few) {
        cross_few(j, &c);
        continue;
      }
      switch (tg_ci_fly_way(c.a, c.b)) {
        case TG_CI_WAY_ROWS: cross_rows(j, &c); break;
        case TG_CI_WAY_COLUMNS: cross_columns(j, &c); break;
        case TG_CI_WAY_SINGLE: cross_single(j, &c); break;
      }
    }
  }
}
