/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on the host. A task is some rows of a block of y, which no other task
 * touches; x is read everywhere. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/omp/fly.h"

enum { LEAST_ROWS = 64 /* of a task that is a part of a block */ };

typedef struct task {
  size_t block, begin, end; /* rows begin ... end - 1 */
  double cost;
} task;

static int tile_vectors(size_t rows) {
  const size_t vectors = rows ? TILE_BYTES / (rows * LANES * sizeof(double)) : TG_CI_MOST_VECTORS;
  return vectors < 1 ? 1 : vectors > TG_CI_MOST_VECTORS ? TG_CI_MOST_VECTORS : (int)vectors;
}

/* Vectors of the next tile of so many columns: all tiles about as wide. */
int tg_fly_vectors(size_t rows, size_t columns) {
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

static void workspace_free(tg_fly_workspace* w) {
  TG_FREE(w->xt);
  TG_FREE(w->yt);
  TG_FREE(w->table);
  TG_FREE(w->sign);
}

static tg_status workspace_make(const tg_ci_fly* f, tg_fly_workspace* w) {
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

/* Whether x of these rows of a block is complete in this turn, and was not before: slices come in
 * the order of the PEs behind this one. */
static bool is_turn(const tg_fly_job* j, const tg_ci_block* from, size_t begin, size_t end) {
  const tg_ci_distribution* d = j->slices;
  if (!d) return true;
  const uint64_t first = from->offset + (uint64_t)begin * from->columns;
  const uint64_t last = from->offset + (uint64_t)end * from->columns - 1;
  int latest = 0;
  for (int p = tg_ci_distribution_owner(d, first); p < d->pe_count && d->first[p] <= last; p++) {
    const int turn = (p + d->pe_count - j->own) % d->pe_count;
    if (d->first[p] < d->first[p + 1] && turn > latest) latest = turn;
  }
  return latest == j->turn;
}

const double* tg_fly_x(const tg_fly_job* j, size_t a, size_t b) {
  const size_t number = tg_ci_space_block(j->f->space, a, b);
  if (number == SIZE_MAX) return NULL;
  const tg_ci_block* from = &j->f->space->blocks[number];
  return is_turn(j, from, 0, from->rows) ? j->x + from->offset : NULL;
}

/* As tg_fly_x, of the same rows of another class of B: those alone are read. */
static const double* x_beside(const tg_fly_job* j, size_t b) {
  const size_t number = tg_ci_space_block(j->f->space, j->block->a, b);
  if (number == SIZE_MAX) return NULL;
  const tg_ci_block* from = &j->f->space->blocks[number];
  return is_turn(j, from, j->begin, j->end) ? j->x + from->offset : NULL;
}

static void diagonal(const tg_fly_job* j) {
  const size_t count = (j->end - j->begin) * j->block->columns;
  const double* d = j->diagonal;
  for (int v = 0; v < j->k; v++) {
    const double* x = j->x + j->block->offset + j->begin * j->block->columns + (size_t)v * j->ldx;
    double* y = j->y + (size_t)v * j->ldy;
    for (size_t e = 0; e < count; e++) y[e] = d[e] * x[e];
  }
}

/* H_A: columns of x side by side; of vector v. */
static void alone_a(const tg_fly_job* j, int v) {
  const tg_ci_target* t = &j->f->alone[0].targets[j->block->a];
  const size_t stride = j->block->columns, rows = j->end - j->begin;
  double* y = j->y + (size_t)v * j->ldy;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = tg_fly_x(j, link->source, j->block->b);
    if (!x) continue;
    x += (size_t)v * j->ldx;
    const size_t source = j->f->space->strings[0].classes[link->source].count;
    const size_t longer = source > rows ? source : rows;
    for (size_t c = 0; c < stride;) {
      const int vectors = tg_fly_vectors(longer, stride - c);
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
        for (size_t k = 0; k < count; k++) y[i * stride + c + k] += j->w->yt[i * width + k];
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

/* H_B: rows of x side by side; of vector v. */
static void alone_b(const tg_fly_job* j, int v) {
  const tg_ci_target* t = &j->f->alone[1].targets[j->block->b];
  const size_t stride = j->block->columns;
  double* y = j->y + (size_t)v * j->ldy;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = x_beside(j, link->source);
    if (!x) continue;
    x += (size_t)v * j->ldx;
    const size_t source = j->f->space->strings[1].classes[link->source].count;
    const size_t longer = source > stride ? source : stride;
    for (size_t i = j->begin; i < j->end;) {
      const int vectors = tg_fly_vectors(longer, j->end - i);
      const size_t width = (size_t)vectors * LANES, rest = j->end - i;
      const size_t count = rest < width ? rest : width;
      transpose(x + i * source, source, count, width, source, j->w->xt);
      memset(j->w->yt, 0, stride * width * sizeof *j->w->yt);
      j->kernels->multiply(stride, t->begin + link->rows, t->from, t->value, vectors, j->w->xt,
                           j->w->yt);
      for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < stride; c++)
          y[(i - j->begin + k) * stride + c] += j->w->yt[c * width + k];
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
void tg_fly_jumps(const tg_fly_job* j, const tg_ci_target* ta, size_t o, uint32_t* begin,
                  uint32_t* end) {
  *begin = ta->op_begin[o];
  *end = ta->op_begin[o + 1];
  if (j->begin > 0) *begin = first_to(ta->op_to, *begin, *end, j->begin);
  if (j->end < j->block->rows) *end = first_to(ta->op_to, *begin, *end, j->end);
}

/* Single jumps of A, times sum of w(a, qq) over the particles q of B. */
static void still_b(const tg_fly_job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[0].targets[j->block->a];
  const tg_ci_strings* sb = &f->space->strings[1];
  const size_t stride = j->block->columns, first_b = sb->classes[j->block->b].begin;
  double* factor = j->w->table;
  size_t first;
  const size_t links = tg_ci_links_of(t, tg_ci_channel_still(&f->jumps[0]), &first);
  for (size_t l = first; l < first + links; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = tg_fly_x(j, link->source, j->block->b);
    if (!x) continue;
    for (size_t o = link->operators; o < link->operators + link->operator_count; o++) {
      uint32_t begin, end;
      tg_fly_jumps(j, t, o, &begin, &end);
      if (begin == end) continue;
      const double* field = tg_ci_fly_field(f, 0, t->op[o]);
      if (!field) continue;
      for (size_t c = 0; c < stride; c++) {
        const uint16_t* list = tg_ci_string(sb, first_b + c);
        double sum = 0;
        for (int k = 0; k < sb->particles; k++) sum += field[list[k]];
        factor[c] = sum;
      }
      for (uint32_t e = begin; e < end; e++) {
        const double sign = t->op_from[e] & 1 ? -1 : 1;
        for (int v = 0; v < j->k; v++) {
          const double* from = x + (size_t)v * j->ldx + (t->op_from[e] >> 1) * stride;
          double* to = j->y + (size_t)v * j->ldy + (t->op_to[e] - j->begin) * stride;
          for (size_t c = 0; c < stride; c++) to[c] += sign * (factor[c] * from[c]);
        }
      }
    }
  }
}

/* Single jumps of B, times sum of w(pp, b) over the particles p of A. */
static void still_a(const tg_fly_job* j) {
  const tg_ci_fly* f = j->f;
  const tg_ci_target* t = &f->jumps[1].targets[j->block->b];
  const tg_ci_strings* sa = &f->space->strings[0];
  size_t first;
  if (f->fields[1].rows == 1) return; /* nothing but zeros */
  const size_t links = tg_ci_links_of(t, tg_ci_channel_still(&f->jumps[1]), &first);
  for (size_t l = first; l < first + links; l++) {
    const tg_ci_link* link = &t->links[l];
    const double* x = x_beside(j, link->source);
    if (!x) continue;
    const size_t source = f->space->strings[1].classes[link->source].count;
    for (size_t i = j->begin; i < j->end; i++) {
      const uint16_t* list = tg_ci_string(sa, sa->classes[j->block->a].begin + i);
      for (size_t o = link->operators; o < link->operators + link->operator_count; o++) {
        const uint32_t b = t->op[o];
        const double* field = tg_ci_fly_field(f, 1, b);
        double sum = 0;
        for (int k = 0; field && k < sa->particles; k++) sum += field[list[k]];
        j->w->table[2 * b] = sum;
        j->w->table[2 * b + 1] = -sum;
      }
      for (int v = 0; v < j->k; v++) {
        const double* from = x + (size_t)v * j->ldx + i * source;
        double* y = j->y + (size_t)v * j->ldy + (i - j->begin) * j->block->columns;
        for (size_t c = 0; c < j->block->columns; c++) {
          double sum = y[c];
          for (uint32_t e = t->begin[link->rows + c]; e < t->begin[link->rows + c + 1]; e++)
            sum += j->w->table[t->code[e]] * from[t->from[e]];
          y[c] = sum;
        }
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

/* Rows of a block that a part has; cost: elements. */
static task rows_of(const tg_ci_fly* f, const tg_ci_fly_part* part, size_t number) {
  const tg_ci_block* block = &f->space->blocks[number];
  const uint64_t size = (uint64_t)block->rows * block->columns;
  const uint64_t first = part->first > block->offset ? part->first - block->offset : 0;
  const uint64_t end = part->end > block->offset ? part->end - block->offset : 0;
  task t = {.block = number,
            .begin = (size_t)((first < size ? first : size) / block->columns),
            .end = (size_t)((end < size ? end : size) / block->columns)};
  t.cost = f->elements[number] * ((double)(t.end - t.begin) / (double)block->rows);
  return t;
}

/* Parts of a block's rows, so that each thread gets several tasks of all. */
static size_t parts_of(const task* rows, double all, int threads) {
  if (rows->begin == rows->end) return 0;
  if (threads == 1) return 1;
  const double share = all / (8.0 * threads);
  const size_t wanted = (size_t)(rows->cost / share) + 1;
  const size_t most = (rows->end - rows->begin) / LEAST_ROWS;
  return most < 1 ? 1 : wanted < most ? wanted : most;
}

/* Costly ones first. */
static tg_status make_tasks(const tg_ci_fly* f, const tg_ci_fly_part* part, int threads, task** out,
                            size_t* out_count) {
  const size_t blocks = f->space->block_count;
  double all = 0;
  size_t count = 0;
  for (size_t n = 0; n < blocks; n++) all += rows_of(f, part, n).cost;
  for (size_t n = 0; n < blocks; n++) {
    const task rows = rows_of(f, part, n);
    count += parts_of(&rows, all, threads);
  }
  TG_TRY(TG_ALLOCATE(count, "tasks", out));
  task* list = *out;
  *out_count = count;
  for (size_t n = 0; n < blocks; n++) {
    const task rows = rows_of(f, part, n);
    const size_t length = rows.end - rows.begin, parts = parts_of(&rows, all, threads);
    for (size_t p = 0; p < parts; p++)
      *list++ = (task){.block = n,
                       .begin = rows.begin + length * p / parts,
                       .end = rows.begin + length * (p + 1) / parts,
                       .cost = rows.cost / (double)parts};
  }
  if (count) qsort(*out, count, sizeof **out, by_cost);
  return TG_OK;
}

tg_status tg_ci_fly_apply(const tg_ci_fly* f, int threads, const double* x, double* y) {
  return tg_ci_fly_apply_block(f, threads, 1, x, y, (size_t)f->space->dimension);
}

tg_status tg_ci_fly_apply_block(const tg_ci_fly* f, int threads, int k, const double* x, double* y,
                                size_t ld) {
  return tg_ci_fly_apply_by(tg_ci_kernels_best(), f, threads, k, x, y, ld);
}

/* All that is added to the rows of a task in one turn. */
static void do_task(const tg_fly_job* j) {
  if (j->turn == 0) diagonal(j);
  for (int v = 0; v < j->k; v++) alone_a(j, v);
  for (int v = 0; v < j->k; v++) alone_b(j, v);
  still_b(j);
  still_a(j);
  tg_fly_cross(j);
}

typedef struct product {
  const tg_ci_fly* f;
  const tg_ci_fly_part* part;
  const task* tasks;
  size_t count;
  int threads;
  tg_fly_workspace* spaces; /* [threads] */
  tg_fly_job job;           /* what all have in common */
} product;

static void do_turn(const product* p, int turn, double* y) {
#pragma omp parallel for schedule(dynamic) num_threads(p->threads)
  for (size_t n = 0; n < p->count; n++) {
#ifdef _OPENMP
    tg_fly_workspace* w = &p->spaces[omp_get_thread_num()];
#else
    tg_fly_workspace* w = &p->spaces[0];
#endif
    const task* t = &p->tasks[n];
    const tg_ci_block* block = &p->f->space->blocks[t->block];
    const size_t at =
        (size_t)(block->offset + (uint64_t)t->begin * block->columns - p->part->first);
    tg_fly_job j = p->job;
    j.y = y + at;
    j.diagonal = p->part->diagonal + at;
    j.block = block;
    j.begin = t->begin;
    j.end = t->end;
    j.w = w;
    j.turn = turn;
    do_task(&j);
  }
}

static tg_status apply(const tg_ci_kernels* kernels, const tg_ci_fly* f, const tg_ci_fly_part* part,
                       int threads, const tg_ci_fly_vectors* v) {
  tg_status status = TG_OK;
  task* tasks = NULL;
  product p = {.f = f,
               .part = part,
               .threads = threads,
               .job = {.f = f,
                       .kernels = kernels,
                       .k = v->k,
                       .ldx = v->ldx,
                       .ldy = v->ldy,
                       .x = v->x,
                       .slices = part->slices,
                       .own = part->own}};
  TG_TRY_GOTO(make_tasks(f, part, threads, &tasks, &p.count), done);
  p.tasks = tasks;
  TG_TRY_GOTO(TG_ALLOCATE((size_t)threads, "workspaces", &p.spaces), done);
  for (int t = 0; t < threads; t++) TG_TRY_GOTO(workspace_make(f, &p.spaces[t]), done);
  const int turns = part->slices ? part->slices->pe_count : 1;
  for (int turn = 0; turn < turns; turn++) {
    if (turn > 0) TG_TRY_GOTO(part->ready(part->context, (part->own + turn) % turns), done);
    do_turn(&p, turn, v->y);
  }
done:
  for (int t = 0; p.spaces && t < threads; t++) workspace_free(&p.spaces[t]);
  TG_FREE(p.spaces);
  TG_FREE(tasks);
  return status;
}

tg_status tg_ci_fly_apply_by(const tg_ci_kernels* kernels, const tg_ci_fly* f, int threads, int k,
                             const double* x, double* y, size_t ld) {
  const tg_ci_fly_part whole = {.end = f->space->dimension, .diagonal = f->diagonal};
  const tg_ci_fly_vectors vectors = {.k = k, .x = x, .ldx = ld, .y = y, .ldy = ld};
  return apply(kernels, f, &whole, threads, &vectors);
}

tg_status tg_ci_fly_apply_part(const tg_ci_fly* f, const tg_ci_fly_part* part, int threads,
                               const tg_ci_fly_vectors* vectors) {
  return apply(tg_ci_kernels_best(), f, part, threads, vectors);
}
