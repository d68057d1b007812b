/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/distribution.h"

#include "base/memory.h"
#include "ci/product_fly.h"

void tg_ci_distribution_free(tg_ci_distribution* d) {
  TG_FREE(d->first);
  TG_FREE(d->elements);
  d->pe_count = 0;
}

/* Jumps of a link that lead to row i. */
static double row_jumps(const tg_ci_target* t, const tg_ci_link* link, size_t i) {
  return t->begin[link->rows + i + 1] - t->begin[link->rows + i];
}

double tg_ci_row_elements(const tg_ci_fly* f, size_t number, size_t i) {
  const tg_ci_space* space = f->space;
  const tg_ci_block* block = &space->blocks[number];
  const tg_ci_target *alone_a = &f->alone[0].targets[block->a],
                     *alone_b = &f->alone[1].targets[block->b];
  const tg_ci_target *jump_a = &f->jumps[0].targets[block->a],
                     *jump_b = &f->jumps[1].targets[block->b];
  double sum = (double)block->columns;
  for (size_t l = 0; l < alone_a->link_count; l++)
    if (tg_ci_space_block(space, alone_a->links[l].source, block->b) != SIZE_MAX)
      sum += row_jumps(alone_a, &alone_a->links[l], i) * (double)block->columns;
  for (size_t l = 0; l < alone_b->link_count; l++)
    if (tg_ci_space_block(space, block->a, alone_b->links[l].source) != SIZE_MAX)
      sum += (double)alone_b->links[l].count;
  for (size_t l = 0; l < jump_a->link_count; l++) {
    const tg_ci_link* a = &jump_a->links[l];
    const double mine = row_jumps(jump_a, a, i);
    size_t first;
    const size_t count = tg_ci_links_of(jump_b, a->channel, &first);
    for (size_t m = first; mine > 0 && m < first + count; m++)
      if (tg_ci_space_block(space, a->source, jump_b->links[m].source) != SIZE_MAX)
        sum += mine * (double)jump_b->links[m].count;
  }
  return sum;
}

/* A block in which the next bound lies, and perhaps more: each is put at the row whose elements
 * before it come nearest to the share. *p: the next bound; before: elements of the blocks before.
 */
static void cut_block(const tg_ci_fly* f, size_t number, double before, tg_ci_distribution* d,
                      int* p) {
  const tg_ci_block* block = &f->space->blocks[number];
  const double share = (double)f->pairs / d->pe_count;
  for (size_t i = 0; i < block->rows; i++) {
    const double row = tg_ci_row_elements(f, number, i);
    for (; *p < d->pe_count && before + 0.5 * row >= share * *p; *p += 1)
      d->first[*p] = block->offset + (uint64_t)i * block->columns;
    d->elements[*p - 1] += row;
    before += row;
  }
}

static void deal_out(const tg_ci_fly* f, tg_ci_distribution* d) {
  const double share = (double)f->pairs / d->pe_count;
  double before = 0;
  int p = 1;
  for (size_t n = 0; n < f->space->block_count; n++) {
    if (p < d->pe_count && before + f->elements[n] >= share * p)
      cut_block(f, n, before, d, &p);
    else
      d->elements[p - 1] += f->elements[n];
    before += f->elements[n];
  }
  for (; p <= d->pe_count; p++) d->first[p] = f->space->dimension;
}

tg_status tg_ci_distribution_make(const tg_ci_fly* f, int pe_count, tg_ci_distribution* out) {
  tg_status status = TG_OK;
  tg_ci_distribution d = {.pe_count = pe_count};
  TG_TRY_GOTO(TG_ALLOCATE((size_t)pe_count + 1, "bounds of rows", &d.first), failed);
  TG_TRY_GOTO(TG_ALLOCATE((size_t)pe_count, "elements of rows", &d.elements), failed);
  deal_out(f, &d);
  *out = d;
  return TG_OK;
failed:
  tg_ci_distribution_free(&d);
  return status;
}

int tg_ci_distribution_owner(const tg_ci_distribution* d, uint64_t state) {
  int low = 0, high = d->pe_count; /* first[low] <= state < first[high] */
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    if (d->first[middle] <= state)
      low = middle;
    else
      high = middle;
  }
  return low;
}

double tg_ci_distribution_imbalance(const tg_ci_distribution* d) {
  double most = 0, sum = 0;
  for (int p = 0; p < d->pe_count; p++) {
    if (d->elements[p] > most) most = d->elements[p];
    sum += d->elements[p];
  }
  return sum > 0 ? most * d->pe_count / sum - 1 : 0;
}
