/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/storage_model.h"

#include <math.h>

#include "ci/product_fly.h"
#include "ci/sheets.h"
#include "ci/stored_tables.h"

/* What it takes for each of a kind, ps, by the number of vectors multiplied at once, and for a call
 * whatever it has, us: least squares of the relative errors of 29 spaces, 2026-12-01, H200
 * (docs/ci-gpu.md, "Which storage"). A vector among several costs less stored, as one look-up
 * serves all; on the fly it costs nearly the same. Four at once are molecules', so coded elements
 * have the rate of theirs, which is less than that of all (3.73). */
enum { WIDTHS = 3, PS_OF_STORED = TG_CI_TERM_CODED, PS_OF_FLY = TG_CI_TERM_MEETINGS };
static const int width_of[WIDTHS] = {1, 2, 4};
static const double call_us[2][WIDTHS] = {{29, 28, 25}, {14, 18, 21}}; /* fly, stored */
static const double ps[TG_CI_TERMS][WIDTHS] = {
    [TG_CI_TERM_CODED] = {1.43, 2, 3.4},      [TG_CI_TERM_VALUED] = {3.17, 3.69, 5.58},
    [TG_CI_TERM_ROWS] = {129, 173, 202},      [TG_CI_TERM_MEETINGS] = {4610, 9550, 21000},
    [TG_CI_TERM_TENSOR] = {13.3, 28.1, 43.4}, [TG_CI_TERM_ALONE] = {1.83, 3.56, 7.42},
    [TG_CI_TERM_SMALL] = {9.94, 12.1, 16.8},  [TG_CI_TERM_LONGEST] = {4.43e4, 4.81e4, 5.37e4},
};
/* Making it, once: ms whatever it has, ps a byte of the tables, ps an element. */
static const double make_ms[2] = {2.5, 5.4}, make_byte_ps[2] = {284, 517};
static const double make_element_ps = 11.9;

static double parts(double whole, double part) { return ceil(whole / part); }

/* A link of A with one of B, of a large block: the sums V, and what is made of them. */
static void count_large(const tg_ci_space* space, const tg_ci_block* block, const tg_ci_link* a,
                        const tg_ci_link* b, double* count) {
  const double jumps = (double)a->count, rows = (double)block->rows;
  /* rows have about equally many, so those that have any are all, or one for each jump */
  const double some = fmin(rows, jumps), each = some > 0 ? jumps / some : 0;
  const double meetings = some * parts(each, TG_CI_SHEET_JUMPS);
  const double steps = some * parts(each, 4); /* of the tensor units: four jumps */
  const double sheets = parts((double)b->operator_count, TG_CI_SHEET_OPERATORS);
  const double columns = (double)space->strings[1].classes[b->source].count;
  count[TG_CI_TERM_MEETINGS] += meetings * sheets;
  count[TG_CI_TERM_TENSOR] +=
      steps * parts(columns, TG_CI_SHEET_UNIT) * parts((double)b->operator_count, 8);
}

/* Elements of one species alone. */
static double one_species(const tg_ci_fly* f, int species, const tg_ci_block* block,
                          double* links) {
  const tg_ci_space* space = f->space;
  const tg_ci_target* t = &f->alone[species].targets[species ? block->b : block->a];
  double elements = 0;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const size_t source = species ? tg_ci_space_block(space, block->a, link->source)
                                  : tg_ci_space_block(space, link->source, block->b);
    if (source == SIZE_MAX) continue;
    elements += (double)link->count * (double)(species ? block->rows : block->columns);
    *links += 1;
  }
  return elements;
}

/* A particle of each moves; of a large block the work goes to count. */
static double two_species(const tg_ci_fly* f, const tg_ci_block* block, bool large, double* links,
                          double* count) {
  const tg_ci_space* space = f->space;
  const tg_ci_target *ta = &f->jumps[0].targets[block->a], *tb = &f->jumps[1].targets[block->b];
  double elements = 0;
  for (size_t l = 0; l < ta->link_count; l++) {
    const tg_ci_link* a = &ta->links[l];
    size_t first;
    const size_t of_b = tg_ci_links_of(tb, a->channel, &first);
    for (size_t m = first; m < first + of_b; m++) {
      const tg_ci_link* b = &tb->links[m];
      if (tg_ci_space_block(space, a->source, b->source) == SIZE_MAX) continue;
      if (large) count_large(space, block, a, b, count);
      elements += (double)a->count * (double)b->count;
      *links += 1;
    }
  }
  return elements;
}

static void count_block(const tg_ci_fly* f, const tg_ci_block* block, double share,
                        tg_ci_storage_work* out) {
  const bool large = block->rows >= TG_CI_SHEET_LEAST && block->columns >= TG_CI_SHEET_LEAST;
  const double states = (double)block->rows * (double)block->columns;
  double count[TG_CI_TERMS] = {0}, links = 0, alone = 0;
  for (int t = 0; t < 2; t++) alone += one_species(f, t, block, &links);
  const double both = two_species(f, block, large, &links, count);
  if (large) {
    count[TG_CI_TERM_ALONE] = alone;
  } else {
    const double longest = links + (alone + both) / states;
    count[TG_CI_TERM_SMALL] = alone + both;
    if (longest > out->count[TG_CI_TERM_LONGEST]) out->count[TG_CI_TERM_LONGEST] = longest;
  }
  for (int t = 0; t < TG_CI_TERMS; t++) out->count[t] += share * count[t];
}

void tg_ci_storage_count(const tg_ci_fly* f, uint64_t first, uint64_t end,
                         tg_ci_storage_work* out) {
  const double diagonal = (double)f->space->dimension * sizeof(double); /* not part of it here */
  uint64_t elements, fields;
  *out = (tg_ci_storage_work){{0}};
  tg_ci_flat_count(f, first, end, &elements, &fields);
  if (!tg_ci_flat_may_code(f)) fields = elements;
  out->count[TG_CI_TERM_TABLES] = fmax((double)f->bytes - diagonal, 0);
  out->count[TG_CI_TERM_ROWS] = (double)(end - first);
  out->count[TG_CI_TERM_VALUED] = (double)fields;
  out->count[TG_CI_TERM_CODED] = (double)(elements - fields);
  for (size_t n = 0; n < f->space->block_count; n++) {
    const tg_ci_block* block = &f->space->blocks[n];
    const uint64_t states = (uint64_t)block->rows * block->columns;
    const uint64_t low = block->offset > first ? block->offset : first;
    const uint64_t high = block->offset + states < end ? block->offset + states : end;
    if (low < high) count_block(f, block, (double)(high - low) / (double)states, out);
  }
}

static double product_s(const tg_ci_storage_work* work, bool stored, int width) {
  int w = 0;
  while (w + 1 < WIDTHS && width_of[w + 1] <= width) w++;
  const int first = stored ? PS_OF_STORED : PS_OF_FLY, end = stored ? PS_OF_FLY : TG_CI_TERMS;
  double sum = 1e-6 * call_us[stored][w];
  for (int t = first; t < end; t++) sum += 1e-12 * ps[t][w] * work->count[t];
  return sum / width_of[w];
}

tg_ci_storage_times tg_ci_storage_estimate(const tg_ci_storage_work* work, int width,
                                           double products) {
  const double tables = work->count[TG_CI_TERM_TABLES];
  const double elements = work->count[TG_CI_TERM_CODED] + work->count[TG_CI_TERM_VALUED];
  return (tg_ci_storage_times){
      .fly_s = product_s(work, false, width),
      .stored_s = product_s(work, true, width),
      .make_fly_s = 1e-3 * make_ms[0] + 1e-12 * make_byte_ps[0] * tables,
      .make_stored_s =
          1e-3 * make_ms[1] + 1e-12 * (make_byte_ps[1] * tables + make_element_ps * elements),
      .products = products};
}

bool tg_ci_storage_prefers_fly(const tg_ci_storage_times* t) {
  if (!(t->products > 0)) return t->fly_s < t->stored_s;
  return t->make_fly_s + t->products * t->fly_s < t->make_stored_s + t->products * t->stored_s;
}
