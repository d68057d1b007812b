/* SPDX-License-Identifier: Apache-2.0 */
/* For a remainder K of A and all remainders L of B of one class, the numbers
 *
 *   D[L, P] = <K L| R_P |state>,   one of the state's numbers with a sign, or 0,
 *
 * make a matrix with a column for each set P that conservation allows, and out += D_bra^T D_ket.
 * All the work is in these products of dense matrices: for the density of pairs of N particles
 * in n orbitals about (n - N)^4 multiplications for each K L.
 *
 * Remainders of A are cut into parts that depend on the sizes alone, each with an array of
 * its own that is summed in the end; where the array is too large for that, the threads share out
 * each product instead. */
#include "ci/overlap.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"
#include "ci/removal.h"

enum { LANES = 8, ROWS = 256 /* remainders of B at once */, MOST_PARTS = 64, LEAST_PARTS = 8 };

static const size_t parts_bytes = (size_t)1 << 27; /* of all parts' arrays together, at most */

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

/* What all threads read. */
typedef struct tg_ci_overlap_plan plan;

struct tg_ci_overlap_plan {
  tg_ci_side side[2];
  tg_ci_removals a, b;
  size_t sets[2]; /* of A and B together */
  double sign[2]; /* of taking B's particles past those left of A */
  bool alike;     /* both sides are one, but for the states */
  bool same;      /* and the states, too: out is symmetric */
};

/* A side at a remainder of A. */
typedef struct view {
  const plan* plan;
  int which;
  const tg_ci_removal* member; /* strings of A that turn into the remainder */
  size_t members;
  int64_t* base;   /* [members, classes of B] where the row starts; HOLE: no such block */
  int32_t* column; /* [members, sets of B]; -1: conservation forbids it */
  uint32_t* set;   /* [columns] P */
  size_t columns;
  double* d; /* [ROWS, stride] */
  size_t stride;
} view;

static const int64_t HOLE = INT64_MIN;

size_t tg_ci_side_sets(const tg_ci_hamiltonian* h, const tg_ci_side* side) {
  return tg_ci_sets(tg_ci_hamiltonian_orbitals(h, 0, NULL), side->removed[0]) *
         tg_ci_sets(tg_ci_hamiltonian_orbitals(h, 1, NULL), side->removed[1]);
}

/* ---- plan ---- */

static void plan_free(plan* p) {
  tg_ci_removals_free(&p->a);
  tg_ci_removals_free(&p->b);
}

static tg_status check_side(const tg_ci_side* side) {
  for (int t = 0; t < 2; t++)
    if (side->removed[t] < 0 || side->removed[t] > TG_CI_MOST_REMOVED)
      return tg_fail(TG_ERR_INPUT, "%d particles are to be removed; 0 to %d are supported",
                     side->removed[t], TG_CI_MOST_REMOVED);
  return TG_OK;
}

static tg_status plan_make(const tg_ci_hamiltonian* h, const tg_ci_side* bra, const tg_ci_side* ket,
                           plan* p) {
  const tg_ci_side* const side[2] = {bra, ket};
  for (int s = 0; s < 2; s++) {
    TG_TRY(check_side(side[s]));
    p->side[s] = *side[s];
    p->sets[s] = tg_ci_side_sets(h, side[s]);
    const int left = side[s]->space->strings[0].particles - side[s]->removed[0];
    p->sign[s] = left % 2 && side[s]->removed[1] % 2 ? -1 : 1;
  }
  p->alike =
      bra->space == ket->space && memcmp(bra->removed, ket->removed, sizeof bra->removed) == 0;
  p->same = p->alike && bra->x == ket->x;
  for (int t = 0; t < 2; t++)
    TG_TRY(tg_ci_removals_make(h, t, (tg_ci_removed){&bra->space->strings[t], bra->removed[t]},
                               (tg_ci_removed){&ket->space->strings[t], ket->removed[t]},
                               t ? &p->b : &p->a));
  return TG_OK;
}

/* ---- views ---- */

static void view_free(view* v) {
  tg_free(v->base);
  tg_free(v->column);
  tg_free(v->set);
  tg_free(v->d);
}

static tg_status view_make(const plan* p, int which, view* v) {
  const size_t members = p->a.most[which], sets = p->b.sets[which];
  *v = (view){.plan = p, .which = which};
  v->stride = (members * sets + LANES - 1) / LANES * LANES;
  TG_TRY(
      TG_ALLOCATE(members * p->side[which].space->strings[1].class_count + 1, "blocks", &v->base));
  TG_TRY(TG_ALLOCATE(members * sets + 1, "columns of sets", &v->column));
  TG_TRY(TG_ALLOCATE(members * sets + 1, "columns of sets", &v->set));
  return TG_ALLOCATE(ROWS * v->stride, "rows of remainders", &v->d);
}

static void view_remainder(view* v, size_t number) {
  const tg_ci_removals* a = &v->plan->a;
  const tg_ci_space* space = v->plan->side[v->which].space;
  const size_t classes = space->strings[1].class_count;
  v->member = a->list[v->which] + a->begin[v->which][number];
  v->members = a->begin[v->which][number + 1] - a->begin[v->which][number];
  for (size_t m = 0; m < v->members; m++) {
    const tg_ci_removal* r = &v->member[m];
    int64_t* base = v->base + m * classes;
    for (size_t c = 0; c < classes; c++) base[c] = HOLE;
    for (size_t k = space->block_begin[r->class]; k < space->block_begin[r->class + 1]; k++) {
      const tg_ci_block* block = &space->blocks[k];
      const size_t row = r->string - space->strings[0].classes[r->class].begin;
      base[block->b] = (int64_t)(block->offset + row * block->columns) -
                       (int64_t)space->strings[1].classes[block->b].begin;
    }
  }
}

/* The sets that remainders of this class of B can have. */
static void view_class(view* v, const tg_ci_remainder_class* class) {
  const tg_ci_removals* b = &v->plan->b;
  const tg_ci_space* space = v->plan->side[v->which].space;
  const size_t sets = b->sets[v->which];
  v->columns = 0;
  for (size_t m = 0; m < v->members; m++) {
    const tg_ci_class* of = &space->strings[0].classes[v->member[m].class];
    for (size_t q = 0; q < sets; q++) {
      const int two_m = of->two_m + class->two_m + b->set_two_m[v->which][q];
      const uint32_t symmetry = of->symmetry ^ class->symmetry ^ b->set_symmetry[v->which][q];
      const bool allowed =
          two_m == space->two_m && (space->symmetry < 0 || symmetry == (uint32_t)space->symmetry);
      if (allowed) v->set[v->columns] = (uint32_t)(v->member[m].set * sets + q);
      v->column[m * sets + q] = allowed ? (int32_t)v->columns++ : -1;
    }
  }
}

/* The row of one remainder of B: [stride]. */
static void view_row(const view* v, size_t remainder, double* row) {
  const tg_ci_removals* b = &v->plan->b;
  const tg_ci_side* side = &v->plan->side[v->which];
  const size_t sets = b->sets[v->which], classes = side->space->strings[1].class_count;
  memset(row, 0, v->stride * sizeof *row);
  for (size_t i = b->begin[v->which][remainder]; i < b->begin[v->which][remainder + 1]; i++) {
    const tg_ci_removal* r = &b->list[v->which][i];
    const double sign = v->plan->sign[v->which] * r->sign;
    for (size_t m = 0; m < v->members; m++) {
      const int64_t base = v->base[m * classes + r->class];
      const int32_t column = v->column[m * sets + r->set];
      if (base == HOLE || column < 0) continue;
      row[column] = sign * v->member[m].sign * side->x[base + (int64_t)r->string];
    }
  }
}

/* ---- products ---- */

/* out[i, j] = sum over rows of a[row, i] b[row, j], 8 x 8. */
TG_SIMD_CLONES
static void tile(size_t rows, const double* a, size_t lda, const double* b, size_t ldb,
                 double out[LANES * LANES]) {
  lanes s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  for (size_t k = 0; k < rows; k++, a += lda, b += ldb) {
    const lanes x = *(const lanes*)b;
    s0 += a[0] * x, s1 += a[1] * x, s2 += a[2] * x, s3 += a[3] * x;
    s4 += a[4] * x, s5 += a[5] * x, s6 += a[6] * x, s7 += a[7] * x;
  }
  lanes* to = (lanes*)out;
  to[0] = s0, to[1] = s1, to[2] = s2, to[3] = s3, to[4] = s4, to[5] = s5, to[6] = s6, to[7] = s7;
}

/* The tiles of eight columns of the bra; nobody else adds to these rows of out, or, where both
 * sides are one, to these pairs. */
static void add_tiles(const view* bra, const view* ket, size_t rows, size_t i, double* out) {
  const plan* p = bra->plan;
  double sums[LANES * LANES];
  const size_t end = i + LANES < bra->columns ? i + LANES : bra->columns;
  for (size_t j = p->same ? i : 0; j < ket->columns; j += LANES) {
    const size_t end_j = j + LANES < ket->columns ? j + LANES : ket->columns;
    tile(rows, bra->d + i, bra->stride, ket->d + j, ket->stride, sums);
    for (size_t m = i; m < end; m++)
      for (size_t n = j; n < end_j; n++) {
        const double sum = sums[(m - i) * LANES + (n - j)];
        out[bra->set[m] * p->sets[1] + ket->set[n]] += sum;
        if (p->same && j > i) out[ket->set[n] * p->sets[1] + bra->set[m]] += sum;
      }
  }
}

/* A remainder of A: all its terms, by `threads` threads. */
static void add_remainder(view v[2], size_t number, int threads, double* out) {
  const plan* p = v[0].plan;
  const int sides = p->same ? 1 : 2;
  const view *bra = &v[0], *ket = &v[sides - 1];
  for (int s = 0; s < sides; s++) view_remainder(&v[s], number);
  for (size_t c = 0; c < p->b.class_count; c++) {
    const tg_ci_remainder_class* class = &p->b.classes[c];
    for (int s = 0; s < sides; s++) view_class(&v[s], class);
    if (bra->columns == 0 || ket->columns == 0) continue;
    for (size_t first = class->begin; first < class->end; first += ROWS) {
      const size_t rows = class->end - first < ROWS ? class->end - first : ROWS;
#pragma omp parallel num_threads(threads) if (threads > 1)
      {
        for (int s = 0; s < sides; s++) {
#pragma omp for schedule(static)
          for (size_t r = 0; r < rows; r++) view_row(&v[s], first + r, v[s].d + r * v[s].stride);
        }
#pragma omp for schedule(dynamic)
        for (size_t i = 0; i < bra->columns; i += LANES) add_tiles(bra, ket, rows, i, out);
      }
    }
  }
}

/* Remainders first ... end - 1 of A into out. */
static tg_status add_part(const plan* p, size_t first, size_t end, int threads, double* out) {
  view v[2] = {{0}, {0}};
  tg_status status = TG_OK;
  for (int s = 0; s < (p->same ? 1 : 2); s++) TG_TRY_GOTO(view_make(p, s, &v[s]), done);
  for (size_t k = first; k < end; k++) add_remainder(v, k, threads, out);
done:
  for (int s = 0; s < 2; s++) view_free(&v[s]);
  return status;
}

static size_t parts_for(size_t size, size_t remainders) {
  size_t parts = parts_bytes / (size * sizeof(double) + 1);
  if (parts < LEAST_PARTS) return 1;
  if (parts > MOST_PARTS) parts = MOST_PARTS;
  return parts < remainders ? parts : remainders;
}

static int threads_or_all(int threads) {
  int count = 0;
  if (threads > 0) return threads;
#pragma omp parallel reduction(+ : count)
  count += 1;
  return count;
}

static tg_status add_all(const plan* p, int threads, double* out) {
  const size_t size = p->sets[0] * p->sets[1], count = p->a.count;
  const size_t parts = parts_for(size, count);
  if (parts <= 1) return add_part(p, 0, count, threads, out);
  tg_status status = TG_OK;
  double* sums = NULL;
  TG_TRY(TG_ALLOCATE(parts * size, "sums of parts", &sums));
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (size_t k = 0; k < parts; k++) {
    const tg_status one =
        add_part(p, count * k / parts, count * (k + 1) / parts, 1, sums + k * size);
    if (one != TG_OK)
#pragma omp critical(tg_ci_overlaps)
      status = one;
  }
  for (size_t k = 0; status == TG_OK && k < parts; k++)
    for (size_t i = 0; i < size; i++) out[i] += sums[k * size + i];
  tg_free(sums);
  return status;
}

static tg_status compute(const plan* p, int threads, double* out) {
  memset(out, 0, p->sets[0] * p->sets[1] * sizeof *out);
  return p->a.count && p->b.count ? add_all(p, threads_or_all(threads), out) : TG_OK;
}

tg_status tg_ci_overlaps(const tg_ci_hamiltonian* h, const tg_ci_side* bra, const tg_ci_side* ket,
                         int threads, double* out) {
  plan p = {0};
  tg_status status = TG_OK;
  TG_TRY_GOTO(plan_make(h, bra, ket, &p), done);
  TG_TRY_GOTO(compute(&p, threads, out), done);
done:
  plan_free(&p);
  return status;
}

tg_status tg_ci_overlap_plan_make(const tg_ci_hamiltonian* h, const tg_ci_side* bra,
                                  const tg_ci_side* ket, tg_ci_overlap_plan** out) {
  plan* p = NULL;
  TG_TRY(TG_ALLOCATE(1, "a plan of overlaps", &p));
  const tg_status status = plan_make(h, bra, ket, p);
  if (status != TG_OK) {
    tg_ci_overlap_plan_free(p);
    return status;
  }
  *out = p;
  return TG_OK;
}

void tg_ci_overlap_plan_free(tg_ci_overlap_plan* p) {
  if (p) plan_free(p);
  tg_free(p);
}

tg_status tg_ci_overlap_plan_compute(const tg_ci_overlap_plan* p, const double* bra,
                                     const double* ket, int threads, double* out) {
  plan with = *p; /* the tables are the plan's */
  with.side[TG_CI_BRA].x = bra;
  with.side[TG_CI_KET].x = ket;
  with.same = p->alike && bra == ket;
  return compute(&with, threads, out);
}
