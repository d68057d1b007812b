/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/density_set.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/density.h"

/* The densities of two sectors, all states with all states, in the m-scheme. */
typedef struct piece {
  bool made;
  size_t count;
  tg_ci_pair* pairs; /* [count] */
  double* rho;       /* [final states, initial states, count] */
} piece;

struct tg_ci_density_set {
  tg_ci_question question;
  int charge_change;
  size_t shells, sectors[2]; /* of final, initial spectrum */
  /* [raised][final sector * initial sectors + initial sector] */
  piece* pieces[2];
  tg_ci_space** raised; /* [final sectors]: M + 1, made when first asked for */
  bool** bad;           /* [final sectors][states]: raising left the space */
  double* work;         /* [shells, shells] */
};

/* The smallest coefficient that is used where there is another, as a fraction of that. */
static const double least_coefficient = 0.1;
/* Raised states have this much (relative) of the norm that J tells, or J is not what it seems. */
static const double norm_error = 0.02;

void tg_ci_density_set_free(tg_ci_density_set* set) {
  if (!set) return;
  for (int r = 0; r < 2; r++) {
    for (size_t k = 0; set->pieces[r] && k < set->sectors[0] * set->sectors[1]; k++) {
      tg_free(set->pieces[r][k].pairs);
      tg_free(set->pieces[r][k].rho);
    }
    tg_free(set->pieces[r]);
  }
  for (size_t s = 0; s < set->sectors[0]; s++) {
    if (set->raised) tg_ci_space_free(set->raised[s]);
    if (set->bad) tg_free(set->bad[s]);
  }
  tg_free(set->raised);
  tg_free(set->bad);
  tg_free(set->work);
  tg_free(set);
}

tg_status tg_ci_question_densities(const tg_ci_question* q, int charge_change,
                                   tg_ci_density_set** out) {
  tg_ci_density_set** kept = &q->densities[charge_change + 1];
  tg_ci_density_set* set = NULL;
  tg_status status = TG_OK;
  *out = *kept;
  if (*kept) return TG_OK;
  TG_TRY(TG_ALLOCATE(1, "densities", &set));
  set->question = *q;
  set->charge_change = charge_change;
  set->shells = q->initial.problem->input->model.shells.count;
  set->sectors[0] = q->final.spectrum->sector_count;
  set->sectors[1] = q->initial.spectrum->sector_count;
  for (int r = 0; r < 2; r++)
    TG_TRY_GOTO(TG_ALLOCATE(set->sectors[0] * set->sectors[1], "densities", &set->pieces[r]),
                failed);
  TG_TRY_GOTO(TG_ALLOCATE(set->sectors[0], "spaces", &set->raised), failed);
  TG_TRY_GOTO(TG_ALLOCATE(set->sectors[0], "marks", &set->bad), failed);
  TG_TRY_GOTO(TG_ALLOCATE(set->shells * set->shells, "densities", &set->work), failed);
  *kept = *out = set;
  return TG_OK;
failed:
  tg_ci_density_set_free(set);
  return status;
}

/* ---- pieces ---- */

static tg_ci_vectors vectors_of(const tg_ci_sector* s) {
  return (tg_ci_vectors){(size_t)s->result.states, s->result.ld, s->result.vectors};
}

/* Keeps the operators of a plan for its piece. */
static tg_status keep_pairs(const tg_ci_density* plan, size_t states, piece* p) {
  p->count = plan->count;
  TG_TRY(TG_ALLOCATE(plan->count, "one-body operators", &p->pairs));
  if (plan->count) memcpy(p->pairs, plan->pairs, plan->count * sizeof *p->pairs);
  return TG_ALLOCATE(states * plan->count, "densities", &p->rho);
}

static tg_status make_plain(tg_ci_density_set* set, const tg_ci_sector* f, const tg_ci_sector* i,
                            piece* p) {
  const tg_ci_question* q = &set->question;
  const int threads = tg_ci_question_threads(q);
  tg_status status = TG_OK;
  tg_ci_density plan = {0};
  TG_TRY(tg_ci_density_plan(q->final.problem->h, f->space, i->space, set->charge_change, threads,
                            &plan));
  TG_TRY_GOTO(keep_pairs(&plan, (size_t)f->result.states * (size_t)i->result.states, p), done);
  status = tg_ci_density_compute(&plan, vectors_of(f), vectors_of(i), threads, p->rho);
done:
  tg_ci_density_free(&plan);
  return status;
}

/* Twice J of state number of a final sector; -1: none. */
static int two_j_of(const tg_ci_density_set* set, size_t sector, size_t number) {
  const tg_ci_states* states = &set->question.final;
  for (size_t l = 0; l < states->spectrum->level_count; l++)
    if (states->spectrum->levels[l].sector == sector &&
        states->spectrum->levels[l].number == number)
      return tg_ci_level_two_j(states, l);
  return -1;
}

/* What raises states: J+ from the final space to that of M + 1. */
typedef struct ladder {
  tg_ci_density plan;
  double* coefficient;
} ladder;

static void ladder_free(ladder* up) {
  tg_ci_density_free(&up->plan);
  tg_free(up->coefficient);
}

static tg_status ladder_make(tg_ci_density_set* set, size_t sector, ladder* up) {
  const tg_ci_question* q = &set->question;
  const tg_ci_sector* s = &q->final.spectrum->sectors[sector];
  if (!set->raised[sector]) {
    tg_ci_space_params params = q->final.problem->space;
    params.two_m = s->space->two_m + 2;
    params.symmetry = s->space->symmetry;
    TG_TRY(tg_ci_space_make(q->final.problem->h, &params, &set->raised[sector]));
    TG_TRY(TG_ALLOCATE((size_t)s->result.states, "marks", &set->bad[sector]));
  }
  TG_TRY(tg_ci_density_plan(q->final.problem->h, set->raised[sector], s->space, 0,
                            tg_ci_question_threads(q), &up->plan));
  TG_TRY(TG_ALLOCATE(up->plan.count, "coefficients", &up->coefficient));
  tg_ci_density_ladder(&up->plan, q->final.problem->h, up->coefficient);
  return TG_OK;
}

/* State number of the sector at M + 1, of norm 1; zeros where its J is no more than M, or not
 * known.
 */
static void raise(const tg_ci_density_set* set, const ladder* up, size_t sector, size_t number,
                  double* y) {
  const tg_ci_sector* s = &set->question.final.spectrum->sectors[sector];
  const size_t n = (size_t)set->raised[sector]->dimension;
  const double j = 0.5 * two_j_of(set, sector, number), m = 0.5 * s->space->two_m;
  const double expected = j * (j + 1) - m * (m + 1);
  double norm = 0;
  memset(y, 0, n * sizeof *y);
  if (j < 0 || expected < 0.5) return;
  tg_ci_density_apply(&up->plan, up->coefficient, s->result.vectors + number * s->result.ld,
                      tg_ci_question_threads(&set->question), y);
  for (size_t k = 0; k < n; k++) norm += y[k] * y[k];
  set->bad[sector][number] = !(fabs(norm / expected - 1) < norm_error);
  for (size_t k = 0; k < n; k++) y[k] /= sqrt(expected);
}

/* How many raised states are kept at once. */
static size_t batch_of(const tg_ci_density_set* set, uint64_t dimension, size_t states) {
  uint64_t memory = set->question.params->memory;
  if (!memory) memory = tg_memory_free() / 4;
  const uint64_t most = memory / (dimension * sizeof(double));
  return most < 1 ? 1 : most < states ? (size_t)most : states;
}

static tg_status make_raised(tg_ci_density_set* set, size_t sector, const tg_ci_sector* i,
                             piece* p) {
  const tg_ci_question* q = &set->question;
  const int threads = tg_ci_question_threads(q);
  const size_t states = (size_t)q->final.spectrum->sectors[sector].result.states;
  const size_t initials = (size_t)i->result.states;
  tg_status status = TG_OK;
  tg_ci_density plan = {0};
  ladder up = {0};
  double* y = NULL;
  TG_TRY_GOTO(ladder_make(set, sector, &up), done);
  const tg_ci_space* space = set->raised[sector];
  const size_t n = (size_t)space->dimension, batch = batch_of(set, n, states);
  TG_TRY_GOTO(
      tg_ci_density_plan(q->final.problem->h, space, i->space, set->charge_change, threads, &plan),
      done);
  TG_TRY_GOTO(keep_pairs(&plan, states * initials, p), done);
  TG_TRY_GOTO(TG_ALLOCATE(batch * n, "raised states", &y), done);
  for (size_t first = 0; first < states; first += batch) {
    const size_t count = states - first < batch ? states - first : batch;
    for (size_t k = 0; k < count; k++) raise(set, &up, sector, first + k, y + k * n);
    TG_TRY_GOTO(tg_ci_density_compute(&plan, (tg_ci_vectors){count, n, y}, vectors_of(i), threads,
                                      p->rho + first * initials * p->count),
                done);
  }
done:
  tg_free(y);
  ladder_free(&up);
  tg_ci_density_free(&plan);
  return status;
}

static tg_status piece_of(tg_ci_density_set* set, bool raised, size_t f, size_t i,
                          const piece** out) {
  piece* p = &set->pieces[raised][f * set->sectors[1] + i];
  const tg_ci_sector* initial = &set->question.initial.spectrum->sectors[i];
  if (!p->made) {
    TG_TRY(raised ? make_raised(set, f, initial, p)
                  : make_plain(set, &set->question.final.spectrum->sectors[f], initial, p));
    p->made = true;
  }
  *out = p;
  return TG_OK;
}

/* ---- coupling ---- */

/* A pair of levels and the projection that shows it. */
typedef struct view {
  const tg_ci_level *initial, *final;
  int two_ji, two_jf, two_q;
  bool raised;
  double coefficient; /* <Ji Mi K Q|Jf Mf> */
} view;

static tg_ci_reduced look(const tg_ci_density_set* set, size_t initial, size_t final, int rank,
                          int parity, view* v) {
  const tg_ci_states *from = &set->question.initial, *to = &set->question.final;
  v->initial = &from->spectrum->levels[initial];
  v->final = &to->spectrum->levels[final];
  const int change = (v->initial->symmetry ^ v->final->symmetry) ? -1 : 1;
  if (parity && parity != change) return TG_CI_REDUCED_FORBIDDEN;
  v->two_ji = tg_ci_level_two_j(from, initial);
  v->two_jf = tg_ci_level_two_j(to, final);
  if (v->two_ji < 0 || v->two_jf < 0) return TG_CI_REDUCED_NO_STATE;
  if (!tg_ci_triangle(v->two_ji, 2 * rank, v->two_jf)) return TG_CI_REDUCED_FORBIDDEN;
  const int mi = tg_ci_level_space(from, initial)->two_m, mf = tg_ci_level_space(to, final)->two_m;
  const double plain = tg_ci_clebsch(v->two_ji, mi, 2 * rank, mf - mi, v->two_jf, mf);
  const double up = tg_ci_clebsch(v->two_ji, mi, 2 * rank, mf + 2 - mi, v->two_jf, mf + 2);
  if (plain == 0 && up == 0) return TG_CI_REDUCED_UNSEEN;
  v->raised = fabs(plain) < least_coefficient * fabs(up);
  v->coefficient = v->raised ? up : plain;
  v->two_q = mf - mi + (v->raised ? 2 : 0);
  return TG_CI_REDUCED_KNOWN;
}

tg_status tg_ci_density_set_coupled(tg_ci_density_set* set, size_t initial, size_t final, int rank,
                                    int parity, double* rho, tg_ci_reduced* what) {
  const tg_ci_problem* problem = set->question.final.problem;
  const tg_ci_shells* shells = &problem->input->model.shells;
  const piece* p;
  const tg_ci_orbital* orbitals[2];
  view v;
  memset(rho, 0, set->shells * set->shells * sizeof *rho);
  *what = look(set, initial, final, rank, parity, &v);
  if (*what != TG_CI_REDUCED_KNOWN) return TG_OK;
  TG_TRY(piece_of(set, v.raised, v.final->sector, v.initial->sector, &p));
  if (v.raised && set->bad[v.final->sector][v.final->number]) {
    *what = TG_CI_REDUCED_UNSEEN;
    return TG_OK;
  }
  for (int t = 0; t < 2; t++) tg_ci_hamiltonian_orbitals(problem->h, t, &orbitals[t]);
  const size_t initials =
      (size_t)set->question.initial.spectrum->sectors[v.initial->sector].result.states;
  const double* m_scheme = p->rho + (v.final->number * initials + v.initial->number) * p->count;
  const double factor = sqrt((v.two_jf + 1.0) / (2 * rank + 1)) / v.coefficient;
  for (size_t o = 0; o < p->count; o++) {
    const tg_ci_pair* pair = &p->pairs[o];
    const tg_ci_orbital* to = &orbitals[pair->create_species][pair->create];
    const tg_ci_orbital* from = &orbitals[pair->destroy_species][pair->destroy];
    const size_t a = to->shell + (pair->create_species ? shells->proton_count : 0);
    const size_t b = from->shell + (pair->destroy_species ? shells->proton_count : 0);
    const int two_ja = shells->shell[a].two_j, two_jb = shells->shell[b].two_j;
    rho[a * set->shells + b] +=
        factor * tg_ci_sign((two_jb - from->two_m) / 2) * m_scheme[o] *
        tg_ci_clebsch(two_ja, to->two_m, two_jb, -from->two_m, 2 * rank, v.two_q);
  }
  return TG_OK;
}

tg_status tg_ci_density_set_reduced(tg_ci_density_set* set, size_t initial, size_t final,
                                    const tg_ci_transition* t, double* out, tg_ci_reduced* what) {
  double sum = 0;
  TG_TRY(tg_ci_density_set_coupled(set, initial, final, t->rank, t->parity, set->work, what));
  for (size_t k = 0; k < set->shells * set->shells; k++) sum += t->element[k] * set->work[k];
  *out = *what == TG_CI_REDUCED_KNOWN ? sum : NAN;
  return TG_OK;
}
