/* SPDX-License-Identifier: Apache-2.0 */
/* A one-body operator on a state, from one space to another. A task is a block of y. */
#include <stdbool.h>
#include <string.h>

#include "ci/density.h"

/* What a task looks at. */
typedef struct job {
  const tg_ci_density* d;
  const double *coefficient, *x;
  double* y; /* of the block */
  const tg_ci_block* block;
} job;

static double value_of(const job* j, uint32_t code) {
  const double c = j->coefficient[code >> 1];
  return code & 1 ? -c : c;
}

/* A moves, strings of B stay. */
static void move_a(const job* j) {
  const tg_ci_target* t = &j->d->moves[0].targets[j->block->a];
  const tg_ci_moves* still = &j->d->moves[1];
  for (size_t g = still->same_begin[j->block->b]; g < still->same_begin[j->block->b + 1]; g++) {
    const tg_ci_same* same = &still->same[g];
    for (size_t l = 0; l < t->link_count; l++) {
      const tg_ci_link* link = &t->links[l];
      const size_t number = tg_ci_space_block(j->d->initial, link->source, same->source);
      if (number == SIZE_MAX) continue;
      const tg_ci_block* source = &j->d->initial->blocks[number];
      for (size_t r = 0; r < j->block->rows; r++)
        for (uint32_t e = t->begin[link->rows + r]; e < t->begin[link->rows + r + 1]; e++) {
          const double value = value_of(j, t->code[e]);
          const double* x = j->x + source->offset + t->from[e] * source->columns + same->from;
          double* y = j->y + r * j->block->columns + same->first;
          if (value != 0)
            for (size_t c = 0; c < same->count; c++) y[c] += value * x[c];
        }
    }
  }
}

/* B moves, strings of A stay. */
static void move_b(const job* j) {
  const tg_ci_target* t = &j->d->moves[1].targets[j->block->b];
  const tg_ci_moves* still = &j->d->moves[0];
  for (size_t g = still->same_begin[j->block->a]; g < still->same_begin[j->block->a + 1]; g++) {
    const tg_ci_same* same = &still->same[g];
    for (size_t l = 0; l < t->link_count; l++) {
      const tg_ci_link* link = &t->links[l];
      const size_t number = tg_ci_space_block(j->d->initial, same->source, link->source);
      if (number == SIZE_MAX) continue;
      const tg_ci_block* source = &j->d->initial->blocks[number];
      for (size_t r = 0; r < same->count; r++) {
        const double* x = j->x + source->offset + (same->from + r) * source->columns;
        double* y = j->y + (same->first + r) * j->block->columns;
        for (size_t c = 0; c < j->block->columns; c++)
          for (uint32_t e = t->begin[link->rows + c]; e < t->begin[link->rows + c + 1]; e++)
            y[c] += value_of(j, t->code[e]) * x[t->from[e]];
      }
    }
  }
}

/* Both: the phases as in omp/density.c. */
static void move_both(const job* j) {
  const tg_ci_density* d = j->d;
  const tg_ci_target *ta = &d->moves[0].targets[j->block->a],
                     *tb = &d->moves[1].targets[j->block->b];
  const bool odd = (d->initial->strings[0].particles - (d->charge_change < 0)) % 2 != 0;
  for (size_t l = 0; l < ta->link_count; l++)
    for (size_t k = 0; k < tb->link_count; k++) {
      const tg_ci_link *la = &ta->links[l], *lb = &tb->links[k];
      const size_t number = tg_ci_space_block(d->initial, la->source, lb->source);
      if (number == SIZE_MAX) continue;
      const tg_ci_block* source = &d->initial->blocks[number];
      for (size_t r = 0; r < j->block->rows; r++)
        for (uint32_t e = ta->begin[la->rows + r]; e < ta->begin[la->rows + r + 1]; e++)
          for (size_t c = 0; c < j->block->columns; c++)
            for (uint32_t g = tb->begin[lb->rows + c]; g < tb->begin[lb->rows + c + 1]; g++) {
              const size_t a = ta->code[e] >> 1, b = tb->code[g] >> 1;
              const size_t at =
                  d->charge_change > 0 ? a * d->orbitals[1] + b : b * d->orbitals[0] + a;
              const double value = j->coefficient[d->number[0][at]];
              const bool minus = ((ta->code[e] ^ tb->code[g]) & 1) != odd;
              const double x = j->x[source->offset + ta->from[e] * source->columns + tb->from[g]];
              j->y[r * j->block->columns + c] += minus ? -value * x : value * x;
            }
    }
}

void tg_ci_density_apply(const tg_ci_density* d, const double* coefficient, const double* x,
                         int threads, double* y) {
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t b = 0; b < d->final->block_count; b++) {
    const job j = {.d = d,
                   .coefficient = coefficient,
                   .x = x,
                   .y = y + d->final->blocks[b].offset,
                   .block = &d->final->blocks[b]};
    memset(j.y, 0, j.block->rows * j.block->columns * sizeof *y);
    if (d->charge_change) {
      move_both(&j);
    } else {
      move_a(&j);
      move_b(&j);
    }
  }
}
