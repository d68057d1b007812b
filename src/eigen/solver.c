/* SPDX-License-Identifier: Apache-2.0 */
/* A solver from its creation to its results, and the course of a run:
 *
 *   MAIN    steps until the wanted states have converged; then, as the evidence is,
 *   CHECK   steps in the complement of what was found, until nothing can be missing
 *   VERIFY  residuals from fresh products; back to MAIN where one is too large
 *   DONE
 *
 * Between two steps the state is whole: a run may stop there, be saved, and go on. */
#include "eigen/solver.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"

static tg_status allocate(tg_eigen_solver* s) {
  const size_t most = (size_t)s->most, columns = (size_t)s->columns;
  const size_t block = (size_t)s->params.block, states = (size_t)s->params.states;
  tg_rows* rows = &s->rows;
  TG_TRY(rows->ops->open(rows, columns * block, s->most));
  TG_TRY(rows->ops->allocate(rows, columns, "the eigen-solver's basis", &s->basis));
  if (s->params.method == TG_EIGEN_DAVIDSON)
    TG_TRY(rows->ops->allocate(rows, most, "the images of the eigen-solver's basis", &s->images));
  const char* what = "the eigen-solver's small matrices";
  TG_TRY(TG_ALLOCATE(most * most, what, &s->t));
  TG_TRY(TG_ALLOCATE(most * most, what, &s->s));
  TG_TRY(TG_ALLOCATE(most, what, &s->theta));
  TG_TRY(TG_ALLOCATE(most, what, &s->residual));
  TG_TRY(TG_ALLOCATE(most, what, &s->locked_values));
  TG_TRY(TG_ALLOCATE((size_t)TG_EIGEN_BLOCK * TG_EIGEN_BLOCK, what, &s->b));
  TG_TRY(TG_ALLOCATE(columns * TG_EIGEN_BLOCK, what, &s->coefficients));
  TG_TRY(TG_ALLOCATE(columns * TG_EIGEN_BLOCK, what, &s->h));
  TG_TRY(TG_ALLOCATE(states, what, &s->values));
  return TG_ALLOCATE(states, what, &s->norms);
}

/* PEs have as many columns as the one with the least room: more rows, or less memory. Where some
 * had another way, or no diagonal, they would wait for each other in different reductions. */
static tg_status settle_with_all(const tg_eigen_problem* problem, tg_eigen_params* params) {
  const double method = params->method, diagonal = problem->diagonal != NULL;
  double least[] = {params->basis, method, -method, diagonal, -diagonal};
  if (!problem->reduce) return TG_OK;
  TG_TRY(problem->reduce(problem->context, TG_EIGEN_MIN, least, sizeof least / sizeof *least));
  if (least[1] != -least[2] || least[3] != -least[4])
    return tg_fail(
        TG_ERR_INPUT,
        "some processing elements give the eigen-solver a diagonal, or ask for a method, "
        "that others do not; all must, those without rows, too");
  params->basis = (int)least[0];
  return TG_OK;
}

tg_status tg_eigen_create(const tg_eigen_problem* problem, const tg_eigen_params* params,
                          tg_eigen_solver** out) {
  tg_status status;
  tg_eigen_params resolved = *params;
  *out = NULL;
  TG_TRY(tg_eigen_agree(problem, tg_eigen_resolve(problem, &resolved)));
  TG_TRY(settle_with_all(problem, &resolved));
  tg_eigen_solver* s = NULL;
  TG_TRY(TG_ALLOCATE((size_t)1, "an eigen-solver", &s));
  s->problem = *problem;
  s->params = resolved;
  s->most = tg_eigen_most(problem, &resolved);
  s->columns = tg_eigen_columns(problem, &resolved);
  tg_rows_shape(problem->n, &s->rows);
  s->rows.first = problem->first;
  s->rows.threads = resolved.threads < s->rows.segments ? resolved.threads : s->rows.segments;
  s->rows.problem = &s->problem;
  s->rows.ops = &tg_rows_host;
  s->state.next_look = resolved.states;
  s->state.largest = -INFINITY;
  s->state.above = s->state.above_error = NAN;
  s->state.probability = 1;
  if (problem->place == TG_EIGEN_CUDA)
    TG_TRY_GOTO(tg_eigen_agree(problem, tg_rows_cuda(&s->rows.ops)), destroy);
  if (problem->place == TG_EIGEN_ACC)
    TG_TRY_GOTO(tg_eigen_agree(problem, tg_rows_acc(&s->rows.ops)), destroy);
  TG_TRY_GOTO(tg_eigen_agree(problem, allocate(s)), destroy);
  TG_TRY_GOTO(tg_eigen_begin(s), destroy);
  s->params.start = NULL; /* the caller's again */
  *out = s;
  return TG_OK;
destroy:
  tg_eigen_destroy(&s);
  return status;
}

void tg_eigen_destroy(tg_eigen_solver** solver) {
  tg_eigen_solver* s = *solver;
  if (!s) return;
  tg_eigen_result_free(&s->result);
  s->rows.ops->release(&s->rows, s->basis);
  s->rows.ops->release(&s->rows, s->images);
  s->rows.ops->close(&s->rows);
  double* const all[] = {s->t, s->s,      s->theta, s->residual,     s->b,
                         s->h, s->values, s->norms, s->coefficients, s->locked_values};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tg_free(all[i]);
  tg_free(s);
  *solver = NULL;
}

void tg_eigen_result_free(tg_eigen_result* result) {
  tg_free(result->values);
  tg_free(result->residuals);
  tg_free(result->errors);
  tg_free(result->vectors);
  memset(result, 0, sizeof *result);
}

/* Room for one more step: the lowest Ritz vectors and some more take the place of the basis. */
static tg_status make_room(tg_eigen_solver* s) {
  tg_eigen_state* state = &s->state;
  if (state->locked + state->active + state->width <= s->most) return TG_OK;
  if (s->looked != state->active) TG_TRY(s->images ? tg_eigen_small(s) : tg_lanczos_look(s));
  const int target = state->phase == TG_EIGEN_CHECK ? tg_eigen_below(s) : s->params.states;
  const int room = s->most - (int)(state->locked + state->width);
  int keep = target + (room - target) * 2 / 5;
  if (keep > room - s->params.block) keep = room - s->params.block;
  if (keep < 1 || keep >= state->active)
    return tg_fail(TG_ERR_INTERNAL, "a basis of %d vectors leaves no room for a restart", s->most);
  tg_eigen_restart(s, keep, true);
  state->restarts++;
  state->rewound++;
  state->next_look = keep + 1;
  return TG_OK;
}

/* What callers are told of the last look. */
static void note_values(tg_eigen_solver* s) {
  tg_eigen_state* state = &s->state;
  const int states = s->params.states;
  state->known = s->looked < states ? s->looked : states;
  memcpy(s->values, s->theta, (size_t)state->known * sizeof *s->values);
  memcpy(s->norms, s->residual, (size_t)state->known * sizeof *s->norms);
  state->converged = tg_eigen_converged(s, states);
}

/* When to look again: a look costs p^3, a step too many costs a product. */
static void plan_look(tg_eigen_solver* s, int count) {
  const double tolerance = tg_eigen_tolerance(s);
  double worst = 0;
  for (int i = 0; i < count && i < s->looked; i++) worst = fmax(worst, s->residual[i]);
  int64_t wait = worst > 30 * tolerance ? s->state.active / 12 : 0;
  if (wait < 3) wait = 3;
  s->state.next_look = s->state.active + wait;
  if (s->state.next_look < count) s->state.next_look = count;
}

static tg_status decide_main(tg_eigen_solver* s) {
  tg_eigen_state* state = &s->state;
  const int states = s->params.states;
  const bool spans = tg_eigen_spans(s);
  note_values(s);
  plan_look(s, states);
  if (state->converged < states) return TG_OK;
  if (state->steps_found == 0) state->steps_found = state->steps;
  state->above = s->looked > states ? s->theta[states] : NAN;
  state->above_error = s->looked > states ? s->residual[states] : NAN;
  bool sooner = false;
  if (spans) {
    state->whole_space = state->certain = 1;
    state->probability = 0;
  } else if (s->params.check == TG_EIGEN_CHECK_AUTO && !state->certain) {
    state->certain = tg_eigen_evidence(s, &sooner);
  }
  if (sooner) return TG_OK;
  if (!state->certain && s->params.check != TG_EIGEN_CHECK_OFF) return tg_eigen_check_begin(s);
  tg_eigen_restart(s, states, false);
  state->phase = TG_EIGEN_VERIFY;
  return TG_OK;
}

static tg_status advance(tg_eigen_solver* s) {
  tg_eigen_state* state = &s->state;
  if (state->phase == TG_EIGEN_VERIFY) return tg_eigen_verify(s);
  TG_TRY(make_room(s));
  TG_TRY(s->images ? tg_davidson_step(s) : tg_lanczos_step(s));
  const bool full = state->locked + state->active + state->width > s->most || state->width == 0;
  if (!s->images) {
    if (state->active < state->next_look && !full) return TG_OK;
    TG_TRY(tg_lanczos_look(s));
  }
  if (state->phase == TG_EIGEN_MAIN) return decide_main(s);
  plan_look(s, 1);
  return tg_eigen_check_decide(s);
}

static tg_status tell(tg_eigen_solver* s) {
  const tg_eigen_state* state = &s->state;
  if (!s->params.progress) return TG_OK;
  const tg_eigen_progress progress = {
      .phase = (tg_eigen_phase)state->phase,
      .products = state->products,
      .passes = state->passes,
      .basis = (int)(state->locked + state->active + state->width),
      .states = s->params.states,
      .known = (int)state->known,
      .converged = (int)state->converged,
      .values = s->values,
      .residuals = s->norms,
      .tolerance = tg_eigen_tolerance(s),
      .seconds = state->seconds,
  };
  return s->params.progress(s->params.context, &progress, s);
}

/* One step, and whether another may follow. */
static tg_status go_on(tg_eigen_solver* s) {
  const tg_eigen_params* params = &s->params;
  if (params->interrupted && params->interrupted(params->context))
    return tg_fail(TG_ERR_INTERRUPTED, "interrupted after %lld products, %lld of %d states found",
                   (long long)s->state.products, (long long)s->state.converged, params->states);
  if (params->products > 0 && s->state.products >= params->products)
    return tg_fail(TG_ERR_NUMERICS,
                   "%lld products were allowed and are used up; %lld of %d states have residuals "
                   "below %.3g; allow more products, a larger basis or larger residuals",
                   (long long)params->products, (long long)s->state.converged, params->states,
                   tg_eigen_tolerance(s));
  const double begin = tg_time_now();
  TG_TRY(advance(s));
  s->state.seconds += tg_time_now() - begin;
  return tell(s);
}

tg_status tg_eigen_run(tg_eigen_solver* s) {
  while (s->state.phase != TG_EIGEN_DONE) TG_TRY(go_on(s));
  return TG_OK;
}

tg_status tg_eigen_take(tg_eigen_solver* s, tg_eigen_result* out) {
  if (s->state.phase != TG_EIGEN_DONE || !s->result.values)
    return tg_fail(TG_ERR_INPUT, "the eigen-solver has no results yet; run it to its end first");
  s->times.total = s->state.seconds;
  s->result.times = s->times;
  *out = s->result;
  memset(&s->result, 0, sizeof s->result);
  return TG_OK;
}

tg_status tg_eigen_solve(const tg_eigen_problem* problem, const tg_eigen_params* params,
                         tg_eigen_result* out) {
  tg_status status;
  tg_eigen_solver* solver = NULL;
  TG_TRY(tg_eigen_create(problem, params, &solver));
  TG_TRY_GOTO(tg_eigen_run(solver), done);
  status = tg_eigen_take(solver, out);
done:
  tg_eigen_destroy(&solver);
  return status;
}
