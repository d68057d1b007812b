/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on the host. A task is some columns of a block of y, which no other task
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
  LEAST_COLUMNS = 64,      /* of a task that is a part of a block */
};

typedef struct task {
  size_t block, begin, end; /* columns begin ... end - 1 */
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

static int vectors_for(size_t rows, size_t columns) {
  const int most = tile_vectors(rows);
  const size_t wanted = (columns + LANES - 1) / LANES;
  return wanted < (size_t)most ? (int)wanted : most;
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
  size_t begin, end; /* columns */
  workspace* w;
} job;

static const double* block_x(const job* j, size_t a, size_t b) {
  const size_t number = tg_ci_space_block(j->f->space, a, b);
  return number == SIZE_MAX ? NULL : j->x + j->f->space->blocks[number].offset;
}

static void diagonal(const job* j) {
  const double *d = j->f->diagonal + j->block->offset, *x = j->x + j->block->offset;
  for (size_t i = 0; i < j->block->rows; i++)
    for (size_t c = j->begin; c < j->end; c++) {
      const size_t at = i * j->block->columns + c;
      j->y[at] = d[at] * x[at];
    }
}

/* H_A: columns of x side by side. */
static void alone_a(const job* j) {
  const tg_ci_target* t = &j->f->alone[0].targets[j->block->a];
  const size_t stride = j->block->columns;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, link->source, j->block->b);
    if (!x) continue;
    const size_t source_rows = j->f->space->strings[0].classes[link->source].count;
    const size_t longer = source_rows > j->block->rows ? source_rows : j->block->rows;
    for (size_t c = j->begin; c < j->end;) {
      const int vectors = vectors_for(longer, j->end - c);
      const size_t width = (size_t)vectors * LANES, rest = j->end - c;
      const size_t count = rest < width ? rest : width;
      for (size_t i = 0; i < source_rows; i++) {
        memcpy(j->w->xt + i * width, x + i * stride + c, count * sizeof *x);
        for (size_t k = count; k < width; k++) j->w->xt[i * width + k] = 0;
      }
      memset(j->w->yt, 0, j->block->rows * width * sizeof *j->w->yt);
      j->kernels->multiply(j->block->rows, t->begin + link->rows, t->from, t->value, vectors,
                           j->w->xt, j->w->yt);
      for (size_t i = 0; i < j->block->rows; i++)
        for (size_t k = 0; k < count; k++) j->y[i * stride + c + k] += j->w->yt[i * width + k];
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
  const size_t stride = j->block->columns, wide = j->end - j->begin;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, j->block->a, link->source);
    if (!x) continue;
    const size_t source = j->f->space->strings[1].classes[link->source].count;
    const size_t longer = source > wide ? source : wide;
    for (size_t i = 0; i < j->block->rows;) {
      const int vectors = vectors_for(longer, j->block->rows - i);
      const size_t width = (size_t)vectors * LANES, rest = j->block->rows - i;
      const size_t count = rest < width ? rest : width;
      transpose(x + i * source, source, count, width, source, j->w->xt);
      memset(j->w->yt, 0, wide * width * sizeof *j->w->yt);
      j->kernels->multiply(wide, t->begin + link->rows + j->begin, t->from, t->value, vectors,
                           j->w->xt, j->w->yt);
      for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < wide; c++)
          j->y[(i + k) * stride + j->begin + c] += j->w->yt[c * width + k];
      i += count;
    }
  }
}

/* Single jumps of A, times sum of w(a, qq) over the particles q of B. */
static void still_b(const job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[0].targets[j->block->a];
  const tg_ci_strings* sb = &f->space->strings[1];
  const size_t stride = j->block->columns, first_b = sb->classes[j->block->b].begin;
  size_t first;
  const size_t links = tg_ci_links_of(t, tg_ci_channel_still(&f->jumps[0]), &first);
  for (size_t l = first; l < first + links; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = block_x(j, link->source, j->block->b);
    if (!x) continue;
    for (size_t o = link->operators; o < link->operators + link->operator_count; o++) {
      const double* field = f->still_b + t->op[o] * f->orbitals[1];
      for (size_t c = j->begin; c < j->end; c++) {
        const uint16_t* list = tg_ci_string(sb, first_b + c);
        double sum = 0;
        for (int k = 0; k < sb->particles; k++) sum += field[list[k]];
        j->w->table[c - j->begin] = sum;
      }
      for (uint32_t e = t->op_begin[o]; e < t->op_begin[o + 1]; e++) {
        const double sign = t->op_from[e] & 1 ? -1 : 1;
        const double* from = x + (t->op_from[e] >> 1) * stride + j->begin;
        double* to = j->y + t->op_to[e] * stride + j->begin;
        for (size_t c = 0; c < j->end - j->begin; c++) to[c] += sign * (j->w->table[c] * from[c]);
      }
    }
  }
}

/* Single jumps of B, times sum of w(pp, b) over the particles p of A. */
static void still_a(const job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[1].targets[j->block->b];
  const tg_ci_strings* sa = &f->space->strings[0];
  const uint32_t still = tg_ci_channel_still(&f->jumps[1]);
  const size_t operators = f->jumps[1].channel_begin[still + 1] - f->jumps[1].channel_begin[still];
  size_t first;
  const size_t links = tg_ci_links_of(t, still, &first);
  for (size_t i = 0; links && i < j->block->rows; i++) {
    const uint16_t* list = tg_ci_string(sa, sa->classes[j->block->a].begin + i);
    for (size_t b = 0; b < operators; b++) {
      double sum = 0;
      for (int k = 0; k < sa->particles; k++) sum += f->still_a[b * f->orbitals[0] + list[k]];
      j->w->table[2 * b] = sum;
      j->w->table[2 * b + 1] = -sum;
    }
    for (size_t l = first; l < first + links; l++) {
      const tg_ci_link* link = &t->links[l];
      const double* x = block_x(j, j->block->a, link->source);
      if (!x) continue;
      x += i * f->space->strings[1].classes[link->source].count;
      double* y = j->y + i * j->block->columns;
      for (size_t c = j->begin; c < j->end; c++) {
        double sum = y[c];
        for (uint32_t e = t->begin[link->rows + c]; e < t->begin[link->rows + c + 1]; e++)
          sum += j->w->table[t->code[e]] * x[t->from[e]];
        y[c] = sum;
      }
    }
  }
}

/* First of the jumps begin ... end - 1, rising in op_to, that leads to column or behind it. */
static uint32_t first_to(const uint32_t* to, uint32_t begin, uint32_t end, size_t column) {
  while (begin < end) {
    const uint32_t middle = begin + (end - begin) / 2;
    if (to[middle] < column)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/* All jumps of A's link with all of B's, an operator of B at a time. */
static void cross_lanes(const job* j, const tg_ci_link* la, const tg_ci_link* lb, const double* x) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target *ta = &f->jumps[0].targets[j->block->a],
                     *tb = &f->jumps[1].targets[j->block->b];
  const size_t rows = f->space->strings[0].classes[la->source].count;
  const size_t stride = f->space->strings[1].classes[lb->source].count;
  const size_t operators =
      f->jumps[0].channel_begin[la->channel + 1] - f->jumps[0].channel_begin[la->channel];
  const bool whole = j->begin == 0 && j->end == j->block->columns;
  for (size_t o = lb->operators; o < lb->operators + lb->operator_count; o++) {
    uint32_t e = tb->op_begin[o], end = tb->op_begin[o + 1];
    if (!whole) {
      e = first_to(tb->op_to, e, end, j->begin);
      end = first_to(tb->op_to, e, end, j->end);
    }
    if (e == end) continue;
    const double* w = f->by_b + f->by_b_begin[la->channel] + tb->op[o] * operators;
    for (size_t a = 0; a < operators; a++) {
      j->w->table[2 * a] = w[a];
      j->w->table[2 * a + 1] = -w[a];
    }
    while (e < end) {
      const int vectors = vectors_for(rows, end - e);
      const uint32_t width = (uint32_t)vectors * LANES, count = end - e < width ? end - e : width;
      for (uint32_t k = 0; k < width; k++) {
        const uint32_t from = tb->op_from[k < count ? e + k : e];
        j->w->from[k] = (int32_t)(from >> 1);
        j->w->sign[k] = k < count ? from & 1 ? -1 : 1 : 0;
        j->w->to[k] = (int32_t)tb->op_to[k < count ? e + k : e];
      }
      j->kernels->gather(rows, stride, x, vectors, j->w->from, j->w->sign, j->w->xt);
      j->kernels->jump(j->block->rows, ta->begin + la->rows, ta->from, ta->code, j->w->table,
                       j->w->xt, (int)count, j->w->to, j->block->columns, j->y);
      e += count;
    }
  }
}

/* The same jump by jump. */
static void cross_single(const job* j, const tg_ci_link* la, const tg_ci_link* lb,
                         const double* x) {
  static const double signs[2] = {1, -1};
  const tg_ci_fly* f = j->f;
  const tg_ci_target *ta = &f->jumps[0].targets[j->block->a],
                     *tb = &f->jumps[1].targets[j->block->b];
  const size_t stride = f->space->strings[1].classes[lb->source].count;
  const size_t operators =
      f->jumps[1].channel_begin[la->channel + 1] - f->jumps[1].channel_begin[la->channel];
  const uint32_t* begin = tb->begin + lb->rows;
  for (size_t i = 0; i < j->block->rows; i++) {
    double* y = j->y + i * j->block->columns;
    for (uint32_t d = ta->begin[la->rows + i]; d < ta->begin[la->rows + i + 1]; d++) {
      const double* w = f->by_a + f->by_b_begin[la->channel] + (ta->code[d] >> 1) * operators;
      const double* from = x + ta->from[d] * stride;
      const uint32_t minus = ta->code[d] & 1;
      for (size_t c = j->begin; c < j->end; c++) {
        double sum = 0;
        for (uint32_t e = begin[c]; e < begin[c + 1]; e++)
          sum += signs[minus ^ (tb->code[e] & 1)] * w[tb->code[e] >> 1] * from[tb->from[e]];
        y[c] += sum;
      }
    }
  }
}

static void cross(const job* j) {
  const tg_ci_target *ta = &j->f->jumps[0].targets[j->block->a],
                     *tb = &j->f->jumps[1].targets[j->block->b];
  for (size_t l = 0; l < ta->link_count; l++) {
    const tg_ci_link* la = &ta->links[l];
    size_t first;
    const size_t count = tg_ci_links_of(tb, la->channel, &first);
    for (size_t m = first; m < first + count; m++) {
      const tg_ci_link* lb = &tb->links[m];
      const double* x = block_x(j, la->source, lb->source);
      if (!x) continue;
      if (tg_ci_fly_lanes(lb))
        cross_lanes(j, la, lb, x);
      else
        cross_single(j, la, lb, x);
    }
  }
}

static int by_cost(const void* p, const void* q) {
  const task *a = p, *b = q;
  if (a->cost != b->cost) return a->cost > b->cost ? -1 : 1;
  if (a->block != b->block) return a->block < b->block ? -1 : 1;
  return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Blocks, the costly ones in parts, so that each thread gets several tasks; costly ones first. */
static tg_status make_tasks(const tg_ci_fly* f, int threads, task** out, size_t* out_count) {
  const tg_ci_space* space = f->space;
  task* list = NULL;
  size_t count = 0, room = 0;
  const double share = threads > 1 ? (double)f->pairs / (8.0 * threads) : (double)f->pairs;
  for (size_t n = 0; n < space->block_count; n++) {
    const size_t columns = space->blocks[n].columns;
    size_t parts = (size_t)(f->elements[n] / share) + 1;
    if (parts > columns / LEAST_COLUMNS) parts = columns / LEAST_COLUMNS;
    if (parts < 1) parts = 1;
    const tg_status status = TG_RESERVE(count + parts, "tasks", &list, &room);
    if (status != TG_OK) {
      tg_free(list);
      return status;
    }
    for (size_t p = 0; p < parts; p++)
      list[count++] = (task){.block = n,
                             .begin = columns * p / parts,
                             .end = columns * (p + 1) / parts,
                             .cost = f->elements[n] / (double)parts};
  }
  qsort(list, count, sizeof *list, by_cost);
  *out = list;
  *out_count = count;
  return TG_OK;
}

tg_status tg_ci_fly_apply(const tg_ci_fly* f, int threads, const double* x, double* y) {
  tg_status status = TG_OK;
  const tg_ci_kernels* kernels = tg_ci_kernels_best();
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
