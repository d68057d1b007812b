/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on the host. A task is some rows of a block of y, which no other task
 * touches; x is read everywhere. */
#include "ci/product_fly.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/omp/kernels.h"

enum {
  LANES = TG_CI_LANES,
  TILE_BYTES = 384 * 1024, /* of a tile, so that it stays in a core's second-level cache */
  LEAST_ROWS = 64,         /* of a task that is a part of a block */
};

typedef struct task {
  size_t block, begin, end; /* rows begin ... end - 1 */
  double cost;
} task;

/* What a thread works in. */
typedef struct workspace {
  double *xt, *yt; /* tiles */
  double* table;   /* [2 * operators of a channel]; [columns] */
  int32_t to[LANES * TG_CI_MOST_VECTORS], from[LANES * TG_CI_MOST_VECTORS];
  double* sign; /* [LANES * TG_CI_MOST_VECTORS] */
} workspace;

static int tile_vectors(size_t rows) {
  const size_t vectors = rows ? TILE_BYTES / (rows * LANES * sizeof(double)) : TG_CI_MOST_VECTORS;
  return vectors < 1 ? 1 : vectors > TG_CI_MOST_VECTORS ? TG_CI_MOST_VECTORS : (int)vectors;
}

/* Vectors of the next tile of so many columns: all tiles about as wide. */
static int vectors_for(size_t rows, size_t columns) {
  const size_t most = (size_t)tile_vectors(rows), wanted = (columns + LANES - 1) / LANES;
  const size_t tiles = (wanted + most - 1) / most;
  return (int)((wanted + tiles - 1) / tiles);
}

/* The largest of a species' classes. */
static size_t largest_class(const tg_ci_strings* s) {
  size_t most = 1;
  for (size_t c = 0; c < s->class_count; c++)
    if (s->classes[c].count > most) most = s->classes[c].count;
  return most;
}

static size_t most_operators(const tg_ci_jumps* j) {
  size_t most = 0;
  for (size_t c = 0; c < j->channel_count; c++)
    if (j->channel_begin[c + 1] - j->channel_begin[c] > most)
      most = j->channel_begin[c + 1] - j->channel_begin[c];
  return most;
}

static void workspace_free(workspace* w) {
  TG_FREE(w->xt);
  TG_FREE(w->yt);
  TG_FREE(w->table);
  TG_FREE(w->sign);
}

static tg_status workspace_make(const tg_ci_fly* f, workspace* w) {
  const size_t a = largest_class(&f->space->strings[0]), b = largest_class(&f->space->strings[1]);
  const size_t rows = a > b ? a : b;
  /* of no more than TILE_BYTES, but for classes so large that one vector is more */
  size_t tile = TILE_BYTES / sizeof(double) + LANES;
  if (rows * LANES > tile) tile = rows * LANES;
  size_t table = 2 * (most_operators(&f->jumps[0]) + most_operators(&f->jumps[1])) + 1;
  if (table < b) table = b;
  TG_TRY(TG_ALLOCATE(tile, "tile", &w->xt));
  TG_TRY(TG_ALLOCATE(tile, "tile", &w->yt));
  TG_TRY(TG_ALLOCATE(table, "table", &w->table));
  return TG_ALLOCATE(LANES * TG_CI_MOST_VECTORS, "signs", &w->sign);
}

/* One task with what it looks up all the time. */
typedef struct job {
  const tg_ci_fly* f;
  const tg_ci_kernels* kernels;
  const double* x;
  double* y; /* of the block's first element */
  const tg_ci_block* block;
  size_t begin, end; /* rows */
  workspace* w;
} job;

static const double* block_x(const job* j, size_t a, size_t b) {
  const size_t number = tg_ci_space_block(j->f->space, a, b);
  return number == SIZE_MAX ? NULL : j->x + j->f->space->blocks[number].offset;
}

static void diagonal(const job* j) {
  const size_t first = j->begin * j->block->columns, end = j->end * j->block->columns;
  const double *d = j->f->diagonal + j->block->offset, *x = j->x + j->block->offset;
  for (size_t e = first; e < end; e++) j->y[e] = d[e] * x[e];
}

/* H_A: columns of x side by side. */
static void alone_a(const job* j) {
  const tg_ci_target* t = &j->f->alone[0].targets[j->block->a];
  const size_t stride = j->block->columns, rows = j->end - j->begin;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, link->source, j->block->b);
    if (!x) continue;
    const size_t source = j->f->space->strings[0].classes[link->source].count;
    const size_t longer = source > rows ? source : rows;
    for (size_t c = 0; c < stride;) {
      const int vectors = vectors_for(longer, stride - c);
      const size_t width = (size_t)vectors * LANES, rest = stride - c;
      const size_t count = rest < width ? rest : width;
      for (size_t i = 0; i < source; i++) {
        memcpy(j->w->xt + i * width, x + i * stride + c, count * sizeof *x);
        for (size_t k = count; k < width; k++) j->w->xt[i * width + k] = 0;
      }
      memset(j->w->yt, 0, rows * width * sizeof *j->w->yt);
      j->kernels->multiply(rows, t->begin + link->rows + j->begin, t->from, t->value, vectors,
                           j->w->xt, j->w->yt);
      for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < count; k++)
          j->y[(j->begin + i) * stride + c + k] += j->w->yt[i * width + k];
      c += count;
    }
  }
}

/* to[c, k] = from[k, c], of count columns k, padded by zeros to width. */
static void transpose(const double* from, size_t stride, size_t count, size_t width, size_t columns,
                      double* to) {
  size_t c = 0;
  for (; c + LANES <= columns; c += LANES)
    for (size_t k = 0; k < count; k++)
      for (size_t d = c; d < c + LANES; d++) to[d * width + k] = from[k * stride + d];
  for (; c < columns; c++)
    for (size_t k = 0; k < count; k++) to[c * width + k] = from[k * stride + c];
  for (c = 0; c < columns; c++)
    for (size_t k = count; k < width; k++) to[c * width + k] = 0;
}

/* H_B: rows of x side by side. */
static void alone_b(const job* j) {
  const tg_ci_target* t = &j->f->alone[1].targets[j->block->b];
  const size_t stride = j->block->columns;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, j->block->a, link->source);
    if (!x) continue;
    const size_t source = j->f->space->strings[1].classes[link->source].count;
    const size_t longer = source > stride ? source : stride;
    for (size_t i = j->begin; i < j->end;) {
      const int vectors = vectors_for(longer, j->end - i);
      const size_t width = (size_t)vectors * LANES, rest = j->end - i;
      const size_t count = rest < width ? rest : width;
      transpose(x + i * source, source, count, width, source, j->w->xt);
      memset(j->w->yt, 0, stride * width * sizeof *j->w->yt);
      j->kernels->multiply(stride, t->begin + link->rows, t->from, t->value, vectors, j->w->xt,
                           j->w->yt);
      for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < stride; c++) j->y[(i + k) * stride + c] += j->w->yt[c * width + k];
      i += count;
    }
  }
}

/* First of the jumps begin ... end - 1, rising in op_to, that leads to string or behind it. */
static uint32_t first_to(const uint32_t* to, uint32_t begin, uint32_t end, size_t string) {
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (to[middle] < string)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* The jumps of A by operator o of a target that lead to the task's rows. */
static void jumps_of(const job* j, const tg_ci_target* ta, size_t o, uint32_t* begin,
                     uint32_t* end) {
  *begin = ta->op_begin[o];
  *end = ta->op_begin[o + 1];
  if (j->begin > 0) *begin = first_to(ta->op_to, *begin, *end, j->begin);
  if (j->end < j->block->rows) *end = first_to(ta->op_to, *begin, *end, j->end);
}

/* Single jumps of A, times sum of w(a, qq) over the particles q of B. */
static void still_b(const job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[0].targets[j->block->a];
  const tg_ci_strings* sb = &f->space->strings[1];
  const size_t stride = j->block->columns, first_b = sb->classes[j->block->b].begin;
  double* factor = j->w->table;
  size_t first;
  const size_t links = tg_ci_links_of(t, tg_ci_channel_still(&f->jumps[0]), &first);
  for (size_t l = first; l < first + links; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, link->source, j->block->b);
    if (!x) continue;
    for (size_t o = link->operators; o < link->operators + link->operator_count; o++) {
      uint32_t begin, end;
      jumps_of(j, t, o, &begin, &end);
      if (begin == end) continue;
      const double* field = f->still_b + t->op[o] * f->orbitals[1];
      for (size_t c = 0; c < stride; c++) {
        const uint16_t* list = tg_ci_string(sb, first_b + c);
        double sum = 0;
        for (int k = 0; k < sb->particles; k++) sum += field[list[k]];
        factor[c] = sum;
      }
      for (uint32_t e = begin; e < end; e++) {
        const double sign = t->op_from[e] & 1 ? -1 : 1;
        const double* from = x + (t->op_from[e] >> 1) * stride;
        double* to = j->y + t->op_to[e] * stride;
        for (size_t c = 0; c < stride; c++) to[c] += sign * (factor[c] * from[c]);
      }
    }
  }
}

/* Single jumps of B, times sum of w(pp, b) over the particles p of A. */
static void still_a(const job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[1].targets[j->block->b];
  const tg_ci_strings* sa = &f->space->strings[0];
  size_t first;
  const size_t links = tg_ci_links_of(t, tg_ci_channel_still(&f->jumps[1]), &first);
  for (size_t l = first; l < first + links; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, j->block->a, link->source);
    if (!x) continue;
    const size_t source = f->space->strings[1].classes[link->source].count;
    for (size_t i = j->begin; i < j->end; i++) {
      const uint16_t* list = tg_ci_string(sa, sa->classes[j->block->a].begin + i);
      for (size_t o = link->operators; o < link->operators + link->operator_count; o++) {
        const uint32_t b = t->op[o];
        double sum = 0;
        for (int k = 0; k < sa->particles; k++) sum += f->still_a[b * f->orbitals[0] + list[k]];
        j->w->table[2 * b] = sum;
        j->w->table[2 * b + 1] = -sum;
      }
      const double* from = x + i * source;
      double* y = j->y + i * j->block->columns;
      for (size_t c = 0; c < j->block->columns; c++) {
        double sum = y[c];
        for (uint32_t e = t->begin[link->rows + c]; e < t->begin[link->rows + c + 1]; e++)
          sum += j->w->table[t->code[e]] * from[t->from[e]];
        y[c] = sum;
      }
    }
  }
}

/* A pair of links of one channel, and the block of x they come from. */
typedef struct cross_links {
  const tg_ci_target *ta, *tb;
  const tg_ci_link *a, *b;
  const double* x;
  size_t rows, columns; /* of that block */
} cross_links;

/* Jumps begin ... of an operator into the lanes: from where, to where, with which sign. */
static int fill_lanes(workspace* w, const tg_ci_target* t, uint32_t begin, uint32_t end,
                      int vectors) {
  const uint32_t width = (uint32_t)vectors * LANES;
  const uint32_t count = end - begin < width ? end - begin : width;
  for (uint32_t k = 0; k < width; k++) {
    const uint32_t e = k < count ? begin + k : begin, from = t->op_from[e];
    w->from[k] = (int32_t)(from >> 1);
    w->sign[k] = k >= count ? 0 : from & 1 ? -1 : 1;
    w->to[k] = (int32_t)t->op_to[e];
  }
  return (int)count;
}

/* An operator of A at a time. */
static void cross_rows(const job* j, const cross_links* c) {
  for (size_t o = c->a->operators; o < c->a->operators + c->a->operator_count; o++) {
    uint32_t e, end;
    jumps_of(j, c->ta, o, &e, &end);
    if (e == end) continue;
    const double* w = tg_ci_fly_row(j->f, c->a->channel, c->ta->op[o]);
    for (size_t p = c->b->operators; p < c->b->operators + c->b->operator_count; p++) {
      const uint32_t b = c->tb->op[p];
      j->w->table[2 * b] = w[b];
      j->w->table[2 * b + 1] = -w[b];
    }
    while (e < end) {
      const int vectors = vectors_for(c->columns, end - e);
      const int count = fill_lanes(j->w, c->ta, e, end, vectors);
      j->kernels->gather_rows(c->columns, c->x, vectors, j->w->from, j->w->sign, j->w->xt);
      j->kernels->jump_rows(j->block->columns, c->tb->begin + c->b->rows, c->tb->from, c->tb->code,
                            j->w->table, j->w->xt, count, j->w->to, j->y);
      e += (uint32_t)count;
    }
  }
}

/* An operator of B at a time. */
static void cross_columns(const job* j, const cross_links* c) {
  for (size_t o = c->b->operators; o < c->b->operators + c->b->operator_count; o++) {
    uint32_t e = c->tb->op_begin[o];
    const uint32_t end = c->tb->op_begin[o + 1], b = c->tb->op[o];
    for (size_t p = c->a->operators; p < c->a->operators + c->a->operator_count; p++) {
      const uint32_t a = c->ta->op[p];
      const double w = tg_ci_fly_row(j->f, c->a->channel, a)[b];
      j->w->table[2 * a] = w;
      j->w->table[2 * a + 1] = -w;
    }
    while (e < end) {
      const int vectors = vectors_for(c->rows, end - e);
      const int count = fill_lanes(j->w, c->tb, e, end, vectors);
      j->kernels->gather(c->rows, c->columns, c->x, vectors, j->w->from, j->w->sign, j->w->xt);
      j->kernels->jump(j->end - j->begin, c->ta->begin + c->a->rows + j->begin, c->ta->from,
                       c->ta->code, j->w->table, j->w->xt, count, j->w->to, j->block->columns,
                       j->y + j->begin * j->block->columns);
      e += (uint32_t)count;
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
static void cross_single(const job* j, const cross_links* c) {
  const uint32_t* begin = c->ta->begin + c->a->rows;
  const size_t end = c->b->first + c->b->count;
  const uint32_t* restrict of = c->tb->op_of, * restrict to = c->tb->op_to, * restrict from = c->tb->op_from;
  for (size_t i = j->begin; i < j->end; i++) {
    double* y = j->y + i * j->block->columns;
    for (uint32_t d = begin[i]; d < begin[i + 1]; d++) {
      const double* restrict w = tg_ci_fly_row(j->f, c->a->channel, c->ta->code[d] >> 1);
      const double* restrict x = c->x + c->ta->from[d] * c->columns;
      const uint32_t minus = c->ta->code[d];
      for (size_t e = c->b->first; e < end; e++)
        y[to[e]] += turned(w[of[e]], from[e] ^ minus) * x[from[e] >> 1];
    }
  }
}

/* Operator by operator, of which most pairs have no element. */
static void cross_few(const job* j, const cross_links* c) {
  const size_t b_end = c->b->operators + c->b->operator_count, stride = j->block->columns;
  for (size_t o = c->a->operators; o < c->a->operators + c->a->operator_count; o++) {
    uint32_t begin, end;
    jumps_of(j, c->ta, o, &begin, &end);
    if (begin == end) continue;
    const double* w = tg_ci_fly_row(j->f, c->a->channel, c->ta->op[o]);
    for (size_t p = c->b->operators; p < b_end; p++) {
      const double value = w[c->tb->op[p]];
      if (value == 0) continue;
      for (uint32_t d = begin; d < end; d++) {
        const uint32_t minus = c->ta->op_from[d];
        const double* x = c->x + (minus >> 1) * c->columns;
        double* y = j->y + c->ta->op_to[d] * stride;
        for (uint32_t e = c->tb->op_begin[p]; e < c->tb->op_begin[p + 1]; e++)
          y[c->tb->op_to[e]] +=
              turned(value, c->tb->op_from[e] ^ minus) * x[c->tb->op_from[e] >> 1];
      }
    }
  }
}

static void cross(const job* j) {
  const tg_ci_fly* f = j->f;
  cross_links c = {.ta = &f->jumps[0].targets[j->block->a],
                   .tb = &f->jumps[1].targets[j->block->b]};
  for (size_t l = 0; l < c.ta->link_count; l++) {
    c.a = &c.ta->links[l];
    size_t first;
    const size_t count = tg_ci_links_of(c.tb, c.a->channel, &first);
    for (size_t m = first; m < first + count; m++) {
      c.b = &c.tb->links[m];
      c.x = block_x(j, c.a->source, c.b->source);
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

static int by_cost(const void* p, const void* q) {
  const task *a = p, *b = q;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  if (a->block != b->block) return a->block < b->block ? -1 : 1;
  return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Parts of a block, so that each thread gets several tasks of all. */
static size_t parts_of(const tg_ci_fly* f, size_t block, int threads) {
  if (threads == 1) return 1;
  const double share = (double)f->pairs / (8.0 * threads);
  const size_t wanted = (size_t)(f->elements[block] / share) + 1;
  const size_t most = f->space->blocks[block].rows / LEAST_ROWS;
  return most < 1 ? 1 : wanted < most ? wanted : most;
}

/* Costly ones first. */
static tg_status make_tasks(const tg_ci_fly* f, int threads, task** out, size_t* out_count) {
  const tg_ci_space* space = f->space;
  size_t count = 0;
  for (size_t n = 0; n < space->block_count; n++) count += parts_of(f, n, threads);
  TG_TRY(TG_ALLOCATE(count, "tasks", out));
  task* list = *out;
  *out_count = count;
  for (size_t n = 0; n < space->block_count; n++) {
    const size_t rows = space->blocks[n].rows, parts = parts_of(f, n, threads);
    for (size_t p = 0; p < parts; p++)
      *list++ = (task){.block = n,
                       .begin = rows * p / parts,
                       .end = rows * (p + 1) / parts,
                       .cost = f->elements[n] / (double)parts};
  }
  qsort(*out, count, sizeof **out, by_cost);
  return TG_OK;
}

tg_status tg_ci_fly_apply(const tg_ci_fly* f, int threads, const double* x, double* y) {
  return tg_ci_fly_apply_by(tg_ci_kernels_best(), f, threads, x, y);
}

tg_status tg_ci_fly_apply_by(const tg_ci_kernels* kernels, const tg_ci_fly* f, int threads,
                             const double* x, double* y) {
  tg_status status = TG_OK;
  task* tasks = NULL;
  size_t count = 0;
  workspace* spaces = NULL;
  TG_TRY_GOTO(make_tasks(f, threads, &tasks, &count), done);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)threads, "workspaces", &spaces), done);
  for (int t = 0; t < threads; t++) TG_TRY_GOTO(workspace_make(f, &spaces[t]), done);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t n = 0; n < count; n++) {
#ifdef _OPENMP
    workspace* w = &spaces[omp_get_thread_num()];
#else
    workspace* w = &spaces[0];
#endif
    const tg_ci_block* block = &f->space->blocks[tasks[n].block];
    const job j = {.f = f,
                   .kernels = kernels,
                   .x = x,
                   .y = y + block->offset,
                   .block = block,
                   .begin = tasks[n].begin,
                   .end = tasks[n].end,
                   .w = w};
    diagonal(&j);
    alone_a(&j);
    alone_b(&j);
    still_b(&j);
    still_a(&j);
    cross(&j);
  }
done:
  for (int t = 0; spaces && t < threads; t++) workspace_free(&spaces[t]);
  TG_FREE(spaces);
  TG_FREE(tasks);
  return status;
}
