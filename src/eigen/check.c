/* SPDX-License-Identifier: Apache-2.0 */
/* Levels that a run may have missed.
 *
 * A Krylov space holds one vector of each eigenspace for each start vector: of a level that is
 * there twice, a run from one vector finds one, and of a symmetry that the start vectors lack,
 * none. So what is known rests on the random ones among them.
 *
 * Let a simple level z <= tau = the highest wanted one be missed. In the complement of the states
 * found, the lowest Ritz value after j steps from a random vector is then further than
 * (theta - tau) / (largest - tau) = eps of the spread above the lowest level, of which the
 * probability is at most
 *
 *   1.648 sqrt(n) exp(-sqrt(eps) (2 j - 1))
 *
 * whatever the spectrum (J. Kuczynski and H. Wozniakowski, SIAM J. Matrix Anal. Appl. 13 (1992)
 * 1094, theorem 4.2). A Krylov space together with eigenvectors found in it is the Krylov space of
 * the start vector's part in their complement, plus these eigenvectors: so the run that found them
 * is evidence itself, theta being the next Ritz value. Ritz values above tau that have converged
 * well may be left out likewise, which makes eps larger; with residuals up to delta that moves the
 * others by at most delta (Weyl), which is taken off; what is left out must itself be above tau by
 * more than that. With r random vectors in the block an
 * eigenspace shows at least as many times as it has dimensions, up to r: so a level seen fewer than
 * r times is complete. What is missed of a level seen s times would have had to escape each of r -
 * s random vectors by itself, whose Krylov spaces the block's holds all: so the bound is the one
 * above to that power. Where that does not suffice (one random vector, a level seen r times, start
 * vectors given, Davidson), a run from new random vectors in the complement of the states found
 * decides, by the same bound. After restarts the bound is an estimate.
 *
 * For Davidson no bound is known: its run in the complement ends when the lowest Ritz value there
 * has come to rest, with a residual a quarter of its distance from tau. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "eigen/solver.h"

static double infinite_if_nan(double x) { return isnan(x) ? INFINITY : x; }

/* How far above tau the rest of the spectrum begins, if the Ritz values from `first` on that are
 * left out (*count of them) do not count: those that are converged, or further above tau than they
 * are unsure of. `slack`: how unsure tau is. 0: not above. */
static double distance_above(const tg_eigen_solver* solver, int first, double tau, double slack,
                             int* count) {
  const double converged = tg_eigen_tolerance(solver);
  double best = 0, leak = slack, lowest = INFINITY;
  *count = 0;
  for (int q = first; q < solver->looked; q++) {
    const double distance = solver->theta[q] - tau;
    if (distance > 4 * leak && lowest > 2 * leak && distance - leak > best) {
      best = distance - leak;
      *count = q - first;
    }
    leak = fmax(leak, infinite_if_nan(solver->residual[q]));
    if (solver->residual[q] > converged) lowest = fmin(lowest, distance);
    if (lowest <= 2 * leak) break;
  }
  return best;
}

/* How sure the Ritz values from `first` on make it that nothing is missed below tau. spare: random
 * vectors of the block that what was missed would have had to escape, each by itself. */
static double probability(const tg_eigen_solver* solver, int first, double tau, double slack,
                          int64_t spare) {
  const tg_eigen_state* state = &solver->state;
  double rest = 0; /* of all residuals: an invariant space has a part of each eigenspace */
  for (int i = 0; i < solver->looked; i++) rest = fmax(rest, infinite_if_nan(solver->residual[i]));
  if (rest <= tg_eigen_tolerance(solver)) return 0;
  int skipped;
  const double spread = state->largest - tau;
  const double distance = distance_above(solver, first, tau, slack, &skipped);
  const double part = spread > 0 ? fmin(distance / spread, 1) : 0;
  const double j = (double)state->steps, n = (double)tg_eigen_total(&solver->problem);
  return pow(fmin(1, 1.648 * sqrt(n) * exp(-sqrt(part) * (2 * j - 1))), (double)spare);
}

/* The most Ritz values that may be copies of one level, among those below the highest wanted. */
static int copies(const tg_eigen_solver* solver) {
  const int states = solver->params.states;
  const double* theta = solver->theta;
  int most = 1;
  for (int i = 0, run = 1; i + 1 < states; i++) {
    const double apart = 3 * (solver->residual[i] + solver->residual[i + 1]) +
                         64 * DBL_EPSILON * solver->state.scale;
    run = theta[i + 1] - theta[i] <= apart ? run + 1 : 1;
    /* copies of the highest wanted one change nothing */
    if (run > most && theta[states - 1] - theta[i] > apart) most = run;
  }
  return most;
}

bool tg_eigen_evidence(tg_eigen_solver* solver, bool* sooner) {
  const int states = solver->params.states;
  const tg_eigen_state* state = &solver->state;
  *sooner = false;
  const int64_t spare = state->random - copies(solver);
  if (solver->images || spare < 1) return false;
  solver->state.probability =
      probability(solver, states, solver->theta[states - 1], solver->residual[states - 1], spare);
  if (solver->state.probability <= solver->params.miss) return true;
  /* the steps taken count; but not for ever, should the next level be too close to tell */
  *sooner = state->steps < 3 * state->steps_found + 20;
  return false;
}

int tg_eigen_below(const tg_eigen_solver* solver) {
  int count = 0;
  while (count < solver->looked && count < solver->params.states &&
         solver->theta[count] < solver->state.threshold - solver->state.margin)
    count++;
  return count;
}

/* The first `count` active columns are locked, and random ones take their place. */
static tg_status lock(tg_eigen_solver* solver, int count) {
  tg_eigen_state* state = &solver->state;
  const int states = solver->params.states;
  double leak = 0;
  for (int i = 0; i < count; i++) {
    solver->locked_values[i] = solver->theta[i];
    leak = fmax(leak, solver->residual[i]);
  }
  state->threshold = solver->theta[states - 1];
  state->margin = fmax(solver->residual[states - 1], 64 * DBL_EPSILON * state->scale);
  state->slack = leak;
  state->phase = TG_EIGEN_CHECK;
  state->locked = count;
  state->active = state->window = state->last = state->steps = state->rewound = 0;
  state->next_look = 1;
  state->check_runs++;
  solver->looked = 0;
  return tg_eigen_begin_random(solver, solver->params.block);
}

tg_status tg_eigen_check_begin(tg_eigen_solver* solver) {
  const int states = solver->params.states;
  /* Lock what else is certain: the next level is then further away. Some room is for the run. */
  const int room = solver->most - (solver->most - states) / 2 - 2 * solver->params.block;
  int extra = 0;
  if (!solver->images)
    distance_above(solver, states, solver->theta[states - 1], solver->residual[states - 1], &extra);
  int count = states + extra < room ? states + extra : room;
  if (count < states) count = states;
  /* what a restart needs of the last look is still wanted after it */
  tg_eigen_restart(solver, count, false);
  return lock(solver, count);
}

/* The wanted ones among the locked states and `found` Ritz vectors become the active columns. */
static void merge(tg_eigen_solver* solver, int found) {
  tg_eigen_state* state = &solver->state;
  const int states = solver->params.states, locked = (int)state->locked;
  if (found > 0) tg_eigen_restart(solver, found, false);
  const int all = locked + found, ld = solver->most;
  int of_locked = 0, of_found = 0;
  memset(solver->t, 0, (size_t)ld * (size_t)ld * sizeof *solver->t);
  memset(solver->s, 0, (size_t)ld * (size_t)states * sizeof *solver->s);
  double* value = solver->h;
  for (int i = 0; i < states; i++) {
    const bool new = of_found < found && solver->theta[of_found] < solver->locked_values[of_locked];
    value[i] = new ? solver->theta[of_found] : solver->locked_values[of_locked];
    const int from = new ? locked + of_found : of_locked;
    solver->s[(size_t)i * (size_t)ld + (size_t)from] = 1;
    *(new ? &of_found : &of_locked) += 1;
  }
  if (found > 0) /* a selection of columns, in order */
    tg_rows_times(&solver->rows, solver->basis, all, solver->s, ld, states, solver->basis);
  for (int i = 0; i < states; i++) {
    solver->theta[i] = value[i];
    solver->residual[i] = tg_eigen_enough(solver); /* at most */
    solver->t[(size_t)i * (size_t)ld + (size_t)i] = value[i];
  }
  state->locked = 0;
  state->active = states;
  state->window = state->last = state->width = 0;
}

tg_status tg_eigen_check_decide(tg_eigen_solver* solver) {
  tg_eigen_state* state = &solver->state;
  const int found = tg_eigen_below(solver);
  const bool spans = tg_eigen_spans(solver);
  if (found > 0) {
    state->probability = 1;
    if (tg_eigen_converged(solver, found) < found) return TG_OK;
    state->check_found += found;
    merge(solver, found);
    if (!spans) return lock(solver, solver->params.states);
  } else if (!spans) {
    bool clean;
    if (solver->images) {
      const double rest =
          fmax(tg_eigen_tolerance(solver), 0.25 * (solver->theta[0] - state->threshold));
      clean = state->steps >= 6 && solver->residual[0] <= rest;
      state->probability = NAN;
    } else {
      state->probability = probability(solver, 0, state->threshold, state->slack, state->random);
      clean = state->probability <= solver->params.miss;
    }
    /* the level next to the highest wanted one may be too close to tell */
    const bool vain = state->steps > 100 + 10 * state->steps_found;
    if (!clean && !vain) return TG_OK;
    if (vain && !clean) state->unsure = 1;
    merge(solver, 0);
  } else {
    merge(solver, 0);
  }
  if (spans) {
    state->whole_space = 1;
    state->probability = 0;
  }
  state->certain = 1;
  state->phase = TG_EIGEN_VERIFY;
  return TG_OK;
}
