/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/strength.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "ci/angular.h"
#include "ci/density.h"
#include "eigen/small.h"
#include "eigen/vectors.h"

void tg_ci_strength_free(tg_ci_strength* s) {
  if (!s) return;
  for (size_t k = 0; k < s->count; k++) {
    tg_free(s->part[k].energy);
    tg_free(s->part[k].b);
  }
  memset(s, 0, sizeof *s);
}

static int threads_or_all(int threads) {
  int count = 0;
  if (threads > 0) return threads;
#pragma omp parallel reduction(+ : count)
  count += 1;
  return count;
}

/* ---- O|i> ---- */

/* <a m_a|O_Kq|b m_b> of a plan's operators a+_a a_b: [operators]. */
static void uncouple(const tg_ci_hamiltonian* h, const tg_ci_model* model,
                     const tg_ci_transition* op, const tg_ci_density* plan, double* element) {
  const tg_ci_shells* shells = &model->shells;
  for (size_t o = 0; o < plan->count; o++) {
    const tg_ci_pair* pair = &plan->pairs[o];
    const tg_ci_orbital *a, *b;
    tg_ci_hamiltonian_orbitals(h, pair->create_species, &a);
    tg_ci_hamiltonian_orbitals(h, pair->destroy_species, &b);
    a += pair->create;
    b += pair->destroy;
    const size_t to = a->shell + (pair->create_species ? shells->proton_count : 0);
    const size_t from = b->shell + (pair->destroy_species ? shells->proton_count : 0);
    const int two_ja = shells->shell[to].two_j, two_jb = shells->shell[from].two_j;
    element[o] =
        op->element[to * op->shells + from] / sqrt(two_ja + 1.0) *
        tg_ci_clebsch(two_jb, b->two_m, 2 * op->rank, a->two_m - b->two_m, two_ja, a->two_m);
  }
}

tg_status tg_ci_strength_apply(const tg_ci_hamiltonian* h, const tg_ci_model* model,
                               const tg_ci_transition* op, const tg_ci_space* initial,
                               const double* x, const tg_ci_space* final, int threads, double* y) {
  tg_ci_density plan = {0};
  double* element = NULL;
  tg_status status = TG_OK;
  const int count = threads_or_all(threads);
  TG_TRY(tg_ci_density_plan(h, final, initial, op->charge_change, count, &plan));
  TG_TRY_GOTO(TG_ALLOCATE(plan.count + 1, "a one-body operator", &element), done);
  uncouple(h, model, op, &plan, element);
  tg_ci_density_apply(&plan, element, x, count, y);
done:
  tg_free(element);
  tg_ci_density_free(&plan);
  return status;
}

/* ---- vectors ---- */

/* Rows for the helpers of src/eigen, which want someone to ask for other PEs: there are none. */
typedef struct desk {
  tg_rows rows;
  tg_eigen_problem problem;
} desk;

static void desk_free(desk* d) { tg_free(d->rows.partial); }

static tg_status desk_make(size_t dimension, size_t columns, int threads, desk* d) {
  memset(d, 0, sizeof *d);
  tg_rows_shape(dimension, &d->rows);
  d->rows.threads = threads_or_all(threads);
  d->rows.room = columns;
  d->rows.problem = &d->problem;
  d->rows.ops = &tg_rows_host;
  return TG_ALLOCATE((size_t)d->rows.segments * columns, "sums of vectors", &d->rows.partial);
}

/* w -= V V^T w, twice; h: [count] becomes the coefficients. scratch: [count]. */
static tg_status orthogonalise(const desk* d, const double* v, int count, double* w, double* h,
                               double* scratch) {
  memset(h, 0, (size_t)count * sizeof *h);
  for (int pass = 0; pass < 2; pass++) {
    TG_TRY(tg_rows_inner(&d->rows, v, count, w, 1, scratch, count));
    tg_rows_subtract(&d->rows, w, 1, v, count, scratch, count);
    for (int i = 0; i < count; i++) h[i] += scratch[i];
  }
  return TG_OK;
}

/* v: [steps + 1] columns. */
static tg_status recur(const tg_ci_operator* op, desk* d, double* v, int steps, double* h,
                       double* diagonal, double* side, int* used) {
  const size_t ld = d->rows.ld;
  double scale = 0;
  for (*used = 0; *used < steps;) {
    const int k = *used;
    if (tg_interrupt_requested())
      return tg_fail(TG_ERR_INTERRUPTED, "interrupted at step %d of %d of Lanczos", k + 1, steps);
    double *at = v + (size_t)k * ld, *next = at + ld;
    TG_TRY(tg_ci_operator_apply(op, 1, at, next, ld));
    memset(next + d->rows.used, 0, (ld - d->rows.used) * sizeof *next);
    TG_TRY(orthogonalise(d, v, k + 1, next, h, h + steps + 1));
    TG_TRY(tg_rows_norms(&d->rows, next, 1, &side[k]));
    diagonal[k] = h[k];
    ++*used;
    if (!isfinite(diagonal[k]) || !isfinite(side[k]))
      return tg_fail(TG_ERR_NUMERICS, "step %d of Lanczos gave something that is no number", k + 1);
    scale = fmax(scale, fabs(diagonal[k]) + side[k]);
    /* what is left is rounding: the states so far are all that H reaches */
    if (side[k] <= 1e-11 * scale) return TG_OK;
    tg_rows_scale(&d->rows, next, 1 / side[k]);
  }
  return TG_OK;
}

tg_status tg_ci_lanczos(const tg_ci_operator* op, size_t dimension, const double* start, int steps,
                        int threads, double* diagonal, double* side, int* used) {
  desk d = {0};
  double *v = NULL, *h = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(desk_make(dimension, (size_t)steps + 1, threads, &d), done);
  d.rows.problem = &d.problem;
  TG_TRY_GOTO(TG_ALLOCATE(d.rows.ld * ((size_t)steps + 1), "vectors of Lanczos", &v), done);
  TG_TRY_GOTO(TG_ALLOCATE(2 * ((size_t)steps + 1), "coefficients", &h), done);
  memcpy(v, start, dimension * sizeof *v);
  status = recur(op, &d, v, steps, h, diagonal, side, used);
done:
  desk_free(&d);
  tg_free(v);
  tg_free(h);
  return status;
}

/* ---- parts of one J ---- */

static double dot(size_t n, const double* x, const double* y) {
  double sum = 0;
  for (size_t k = 0; k < n; k++) sum += x[k] * y[k];
  return sum;
}

/* What a run of tg_ci_strength_make holds. */
typedef struct run {
  const tg_ci_strength_question* q;
  size_t n; /* dimension of final */
  int two_j[TG_CI_MOST_PARTS];
  size_t count;      /* J_f that O can reach at this M */
  double* v;         /* [n] O|i> */
  double* part;      /* [n] */
  double* y;         /* [n] */
  tg_ci_operator* h; /* made for the first part that is seen */
} run;

static void run_free(run* r) {
  tg_free(r->v);
  tg_free(r->part);
  tg_free(r->y);
  tg_ci_operator_free(r->h);
}

/* part = P_J v: factors (J^2 - J'(J'+1)) / (J(J+1) - J'(J'+1)) for all other J'. */
static tg_status project(run* r, const tg_ci_operator* j2, size_t number) {
  const double wanted = 0.25 * r->two_j[number] * (r->two_j[number] + 2);
  memcpy(r->part, r->v, r->n * sizeof *r->part);
  for (size_t k = 0; k < r->count; k++) {
    const double other = 0.25 * r->two_j[k] * (r->two_j[k] + 2);
    if (k == number) continue;
    TG_TRY(tg_ci_operator_apply(j2, 1, r->part, r->y, r->n));
    for (size_t i = 0; i < r->n; i++)
      r->part[i] = (r->y[i] - other * r->part[i]) / (wanted - other);
  }
  return TG_OK;
}

/* Lines of a part: Lanczos from part, whose strength is total. */
static tg_status find_lines(run* r, double norm, tg_ci_strength_part* out) {
  const tg_ci_strength_question* q = r->q;
  const size_t steps = r->n < (size_t)q->steps ? r->n : (size_t)q->steps;
  double *diagonal = NULL, *side = NULL, *t = NULL;
  int used = 0;
  tg_status status = TG_OK;
  for (size_t i = 0; i < r->n; i++) r->part[i] /= norm;
  TG_TRY_GOTO(TG_ALLOCATE(steps, "a tridiagonal matrix", &diagonal), done);
  TG_TRY_GOTO(TG_ALLOCATE(steps, "a tridiagonal matrix", &side), done);
  TG_TRY_GOTO(tg_ci_lanczos(r->h, r->n, r->part, (int)steps, q->threads, diagonal, side, &used),
              done);
  const size_t p = (size_t)used;
  TG_TRY_GOTO(TG_ALLOCATE(p * p, "a tridiagonal matrix", &t), done);
  TG_TRY_GOTO(TG_ALLOCATE(p, "energies of a strength function", &out->energy), done);
  TG_TRY_GOTO(TG_ALLOCATE(p, "a strength function", &out->b), done);
  for (size_t k = 0; k < p; k++) {
    t[k * p + k] = diagonal[k];
    if (k + 1 < p) t[k * p + k + 1] = t[(k + 1) * p + k] = side[k];
  }
  TG_TRY_GOTO(tg_small_eigen(used, t, used, out->energy), done);
  for (size_t k = 0; k < p; k++) out->b[k] = out->total * t[k * p] * t[k * p];
  out->count = p;
  out->complete = p < steps || p == r->n;
done:
  tg_free(diagonal);
  tg_free(side);
  tg_free(t);
  return status;
}

static tg_status of_part(run* r, const tg_ci_operator* j2, size_t number, double* found,
                         tg_ci_strength_part* out) {
  const tg_ci_strength_question* q = r->q;
  const int two_m = q->initial->two_m, two_j = r->two_j[number];
  *out = (tg_ci_strength_part){.two_j = two_j};
  TG_TRY(project(r, j2, number));
  const double square = dot(r->n, r->part, r->part), norm = sqrt(square);
  *found += square;
  const double clebsch = tg_ci_clebsch(q->two_j, two_m, 2 * q->op->rank, 0, two_j, two_m);
  out->seen = fabs(clebsch) > 1e-10;
  if (!out->seen) return TG_OK;
  out->total = square * (two_j + 1) / (q->two_j + 1) / (clebsch * clebsch);
  /* below: rounding of the projections */
  if (norm <= 1e-10 * sqrt(dot(r->n, r->v, r->v))) {
    out->total = 0;
    return TG_OK;
  }
  if (!r->h) {
    const tg_ci_operator_params params = {.threads = q->threads};
    TG_TRY(tg_ci_operator_create(q->h, q->final, &params, &r->h));
  }
  return find_lines(r, norm, out);
}

static tg_status start(run* r) {
  const tg_ci_strength_question* q = r->q;
  const int two_m = q->initial->two_m, two_k = 2 * q->op->rank;
  for (int two_j = abs(q->two_j - two_k); two_j <= q->two_j + two_k; two_j += 2)
    if (two_j >= abs(two_m)) r->two_j[r->count++] = two_j;
  TG_TRY(TG_ALLOCATE(r->n, "a vector", &r->v));
  TG_TRY(TG_ALLOCATE(r->n, "a vector", &r->part));
  TG_TRY(TG_ALLOCATE(r->n, "a vector", &r->y));
  TG_TRY(tg_ci_strength_apply(q->h, q->model, q->op, q->initial, q->x, q->final, q->threads, r->v));
  if (q->op->rank || q->op->charge_change || q->final->dimension != q->initial->dimension)
    return TG_OK;
  const double stays = dot(r->n, q->x, r->v);
  for (size_t i = 0; i < r->n; i++) r->v[i] -= stays * q->x[i];
  return TG_OK;
}

tg_status tg_ci_strength_make(const tg_ci_strength_question* q, tg_ci_strength* out) {
  run r = {.q = q, .n = (size_t)q->final->dimension};
  const tg_ci_operator_params params = {.storage = TG_CI_STORAGE_FLY, .threads = q->threads};
  tg_ci_strength made = {0};
  tg_ci_operator* j2 = NULL;
  double found = 0;
  tg_status status = TG_OK;
  if (q->steps < 1)
    return tg_fail(TG_ERR_INPUT, "%d steps of a strength function; at least 1 is needed", q->steps);
  TG_TRY_GOTO(start(&r), done);
  TG_TRY_GOTO(tg_ci_operator_create(q->j2, q->final, &params, &j2), done);
  for (size_t k = 0; k < r.count; k++) {
    tg_ci_strength_part* part = &made.part[made.count++];
    TG_TRY_GOTO(of_part(&r, j2, k, &found, part), done);
    made.total += part->total;
  }
  const double square = dot(r.n, r.v, r.v);
  if (fabs(found - square) > 1e-6 * square) {
    status =
        tg_fail(TG_ERR_NUMERICS,
                "%s on the state gives states of other J than 2J = %d allows (%.3g of %.3g is "
                "in those): the state is none of this J; a smaller --tolerance may make it one",
                q->op->name, q->two_j, square - found, square);
    goto done;
  }
  *out = made;
  made = (tg_ci_strength){0};
done:
  tg_ci_operator_free(j2);
  run_free(&r);
  tg_ci_strength_free(&made);
  return status;
}
