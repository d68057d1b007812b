/* SPDX-License-Identifier: Apache-2.0 */
/* Shares waters and LINCS blocks out over threads, and puts together what they found. */
#include "md/constraints.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "md/constraints_internal.h"

struct tg_constraints {
  tg_lincs lincs;
  tg_settle* settles;
  size_t settle_count, settle_capacity;
  double warn_cosine;
  int threads;
};

static size_t share(size_t count, int part, int parts) {
  return count * (size_t)part / (size_t)parts;
}

tg_status tg_constraints_create(const tg_constraints_params* params, tg_constraints** out) {
  *out = NULL;
  if (params->lincs_order < 1 || params->lincs_iterations < 0)
    return tg_fail(TG_ERR_INPUT,
                   "found lincs-order %d and lincs-iter %d, expected at least 1 and 0; correct the "
                   "run parameters",
                   params->lincs_order, params->lincs_iterations);
  tg_constraints* constraints = NULL;
  TG_TRY(TG_ALLOCATE(1, "constraints", &constraints));
  double angle = params->warn_angle > 0 && params->warn_angle < 90 ? params->warn_angle : 90;
  constraints->lincs.order = params->lincs_order;
  constraints->lincs.iterations = params->lincs_iterations;
  constraints->warn_cosine = angle < 90 ? cos(angle * TG_DEGREE) : 0;
  constraints->threads = params->threads > 1 ? params->threads : 1;
  *out = constraints;
  return TG_OK;
}

void tg_constraints_destroy(tg_constraints** constraints) {
  if (!constraints || !*constraints) return;
  tg_lincs_free(&(*constraints)->lincs);
  tg_free((*constraints)->settles);
  TG_FREE(*constraints);
}

tg_status tg_constraints_set(tg_constraints* constraints, size_t home_count,
                             const double* inverse_mass, size_t pair_count, const int (*pairs)[2],
                             const double* lengths, size_t settle_count, const int (*settles)[3],
                             const double (*settle_distances)[2]) {
  constraints->settle_count = 0;
  TG_TRY(tg_lincs_set(&constraints->lincs, home_count, inverse_mass, pair_count, pairs, lengths));
  TG_TRY(TG_RESERVE(settle_count, "rigid waters", &constraints->settles,
                    &constraints->settle_capacity));
  for (size_t i = 0; i < settle_count; i++) {
    for (int k = 0; k < 3; k++)
      if (settles[i][k] < 0 || (size_t)settles[i][k] >= home_count)
        return tg_fail(TG_ERR_INTERNAL, "SETTLE %zu has local atom %d of %zu", i, settles[i][k],
                       home_count);
    TG_TRY(tg_settle_make(settles[i], settle_distances[i], inverse_mass, &constraints->settles[i]));
  }
  constraints->settle_count = settle_count;
  return TG_OK;
}

/* The result of one thread, added in the order of the threads. */
static void merge(const tg_constraints_found* part, tg_constraints_found* all) {
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) all->virial[a][b] += part->virial[a][b];
  if (part->failed_atom < 0 || part->cosine >= all->cosine) return;
  all->failed_atom = part->failed_atom;
  all->cosine = part->cosine;
}

static tg_status judge(const tg_constraints_found* all, tg_constraints_failure* failure) {
  int atom = all->failed_atom;
  double angle = all->cosine < -1 ? 180 : acos(all->cosine) / TG_DEGREE;
  if (failure) *failure = (tg_constraints_failure){atom, atom < 0 ? 0 : angle};
  if (atom < 0 || all->cosine >= 0) return TG_OK;
  if (all->cosine < -1)
    return tg_fail(TG_ERR_NUMERICS,
                   "constraints of local atom %d have no solution, or its position is not a finite "
                   "number",
                   atom);
  return tg_fail(
      TG_ERR_NUMERICS,
      "the constraint of local atom %d turned by %.1f degrees in one step, expected less than 90",
      atom, angle);
}

tg_status tg_constraints_apply(tg_constraints* constraints, const double (*x_old)[3],
                               double (*x_new)[3], double (*v)[3], double inverse_dt,
                               double (*virial)[3], tg_constraints_failure* failure) {
  int threads = constraints->threads;
  size_t blocks = constraints->lincs.block_count, waters = constraints->settle_count;
  tg_constraints_move move = {x_old, x_new, v, inverse_dt, virial != NULL};
  tg_constraints_found all = {{{0}}, -1, constraints->warn_cosine};
#pragma omp parallel for ordered num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; t++) {
    tg_constraints_found part = {{{0}}, -1, constraints->warn_cosine};
    size_t first = share(waters, t, threads);
    tg_settle_apply(constraints->settles + first, share(waters, t + 1, threads) - first, &move,
                    &part);
    tg_lincs_apply(&constraints->lincs, share(blocks, t, threads), share(blocks, t + 1, threads),
                   &move, &part);
#pragma omp ordered
    merge(&part, &all);
  }
  if (virial)
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++) virial[a][b] += all.virial[a][b];
  return judge(&all, failure);
}

tg_status tg_constraints_project(tg_constraints* constraints, const double (*x)[3],
                                 double (*v)[3]) {
  int threads = constraints->threads;
  size_t blocks = constraints->lincs.block_count, waters = constraints->settle_count;
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; t++) {
    size_t first = share(waters, t, threads);
    tg_settle_project(constraints->settles + first, share(waters, t + 1, threads) - first, x, v);
    tg_lincs_project(&constraints->lincs, share(blocks, t, threads), share(blocks, t + 1, threads),
                     x, v);
  }
  return TG_OK;
}

static void add_deviation(const double a[3], const double b[3], double length, double* sum_squares,
                          size_t* count, double* largest) {
  double d0 = a[0] - b[0], d1 = a[1] - b[1], d2 = a[2] - b[2];
  double deviation = fabs(sqrt(d0 * d0 + d1 * d1 + d2 * d2) - length) / length;
  *sum_squares += deviation * deviation;
  if (!(deviation <= *largest)) *largest = deviation;
  ++*count;
}

void tg_constraints_deviation(const tg_constraints* constraints, const double (*x)[3],
                              double* sum_squares, size_t* count, double* largest) {
  const tg_lincs* l = &constraints->lincs;
  *sum_squares = 0;
  *count = 0;
  *largest = 0;
  for (size_t i = 0; i < l->count; i++)
    add_deviation(x[l->pairs[i][0]], x[l->pairs[i][1]], l->length[i], sum_squares, count, largest);
  for (size_t i = 0; i < constraints->settle_count; i++) {
    const tg_settle* w = &constraints->settles[i];
    const double *o = x[w->atoms[0]], *h1 = x[w->atoms[1]], *h2 = x[w->atoms[2]];
    add_deviation(o, h1, w->distance[0], sum_squares, count, largest);
    add_deviation(o, h2, w->distance[0], sum_squares, count, largest);
    add_deviation(h1, h2, w->distance[1], sum_squares, count, largest);
  }
}
