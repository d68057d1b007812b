/* SPDX-License-Identifier: Apache-2.0 */
/* E1 to E4 and M1, moments and transitions.
 *
 * E2, E3, E4 take the effective charges of the parameters; E1 those that remain when the centre of
 * mass is left in rest, N/A for protons and -Z/A for neutrons. Weisskopf units are single-proton
 * estimates with R = 1.2 A^(1/3) fm (Blatt and Weisskopf, Theoretical Nuclear Physics, XII):
 *
 *   B_W(EL) = (1/4pi) (3/(L+3))^2 R^2L e^2 fm^2L,  B_W(ML) = (10/pi) (3/(L+3))^2 R^(2L-2) muN^2
 * fm^..
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "ci/observe_transitions.h"

static double weisskopf(bool electric, int rank, double mass) {
  if (!(mass > 0)) return 0;
  const double radius = 1.2 * cbrt(mass), shape = pow(3.0 / (rank + 3), 2);
  return electric ? shape * pow(radius, 2 * rank) / (4 * TG_PI)
                  : 10 / TG_PI * shape * pow(radius, 2 * rank - 2);
}

static bool keeps_charge(const tg_ci_problem* initial, const tg_ci_problem* final) {
  return tg_ci_charge_change(initial, final) == 0;
}

static tg_status check_charge(const tg_ci_question* q, const char* name) {
  if (keeps_charge(q->initial.problem, q->final.problem)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s keeps the numbers of protons and neutrons, and the two calculations have "
                 "different ones",
                 name);
}

static tg_status electric(const tg_ci_question* q, int rank, tg_ci_transition* out) {
  const tg_ci_problem* p = q->initial.problem;
  char name[8];
  snprintf(name, sizeof name, "e%d", rank);
  TG_TRY(check_charge(q, name));
  if (fabs(p->hw - q->final.problem->hw) > 1e-9 * p->hw)
    return tg_fail(TG_ERR_INPUT,
                   "%s: the two calculations have oscillator energies of %g and %g MeV; give both "
                   "the same --hw",
                   name, p->hw, q->final.problem->hw);
  tg_ci_transition_parameters t = tg_ci_transition_defaults(TG_CI_ELECTRIC, rank, p->hw);
  memcpy(t.charge, q->params->charge, sizeof t.charge);
  if (rank == 1) {
    const int z = p->input->model.core_protons + p->particles[0];
    if (!(p->hw > 0 && p->mass > 0) || p->input->model.core_protons < 0)
      return tg_fail(TG_ERR_INPUT,
                     "e1 needs the numbers of protons and neutrons and the oscillator energy: the "
                     "inputs do not say the core or hw");
    t.charge[0] = (p->mass - z) / p->mass;
    t.charge[1] = -z / p->mass;
  }
  return tg_ci_transition_create(&p->input->model.shells, &t, out);
}

static tg_status magnetic(const tg_ci_question* q, tg_ci_transition* out) {
  tg_ci_transition_parameters t = tg_ci_transition_defaults(TG_CI_MAGNETIC, 1, 0);
  TG_TRY(check_charge(q, "m1"));
  memcpy(t.g_orbital, q->params->g_orbital, sizeof t.g_orbital);
  memcpy(t.g_spin, q->params->g_spin, sizeof t.g_spin);
  return tg_ci_transition_create(&q->initial.problem->input->model.shells, &t, out);
}

static tg_status check_electric(const tg_ci_question* q, int rank) {
  tg_ci_transition t = {0};
  const tg_status status = electric(q, rank, &t);
  tg_ci_transition_free(&t);
  return status;
}

static tg_status compute_electric(const tg_ci_question* q, int rank) {
  tg_ci_transition t = {0};
  tg_ci_transition_words w = {.digits = rank < 2   ? 5
                                        : rank < 3 ? 3
                                                   : 1,
                              .weisskopf = weisskopf(true, rank, q->initial.problem->mass)};
  TG_TRY(electric(q, rank, &t));
  snprintf(w.name, sizeof w.name, "E%d", rank);
  if (rank == 1)
    snprintf(w.unit, sizeof w.unit, "efm");
  else
    snprintf(w.unit, sizeof w.unit, "efm%d", rank);
  snprintf(w.unit_b, sizeof w.unit_b, "e2fm%d", 2 * rank);
  if (rank == 2) {
    w.moment = "Q_efm2";
    w.moment_head = "Q/efm2";
    w.moment_unit = "efm2";
  }
  const tg_status status = tg_ci_observe_transition(q, &t, &w);
  tg_ci_transition_free(&t);
  return status;
}

static tg_status check_e1(const tg_ci_question* q) { return check_electric(q, 1); }
static tg_status check_e2(const tg_ci_question* q) { return check_electric(q, 2); }
static tg_status check_e3(const tg_ci_question* q) { return check_electric(q, 3); }
static tg_status check_e4(const tg_ci_question* q) { return check_electric(q, 4); }
static tg_status compute_e1(const tg_ci_question* q) { return compute_electric(q, 1); }
static tg_status compute_e2(const tg_ci_question* q) { return compute_electric(q, 2); }
static tg_status compute_e3(const tg_ci_question* q) { return compute_electric(q, 3); }
static tg_status compute_e4(const tg_ci_question* q) { return compute_electric(q, 4); }

static tg_status check_m1(const tg_ci_question* q) { return check_charge(q, "m1"); }

static tg_status compute_m1(const tg_ci_question* q) {
  tg_ci_transition t = {0};
  const tg_ci_transition_words w = {.name = "M1",
                                    .unit = "muN",
                                    .unit_b = "muN2",
                                    .digits = 4,
                                    .weisskopf = weisskopf(false, 1, q->initial.problem->mass),
                                    .moment = "mu_muN",
                                    .moment_head = "mu/muN",
                                    .moment_unit = "muN"};
  TG_TRY(magnetic(q, &t));
  const tg_status status = tg_ci_observe_transition(q, &t, &w);
  tg_ci_transition_free(&t);
  return status;
}

const tg_ci_observable tg_ci_observable_e1 = {
    .name = "e1",
    .help = "B(E1) between levels of opposite parity, charges N/A and -Z/A",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_e1,
    .compute = compute_e1,
};
const tg_ci_observable tg_ci_observable_e2 = {
    .name = "e2",
    .help = "quadrupole moments Q and B(E2)",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_e2,
    .compute = compute_e2,
};
const tg_ci_observable tg_ci_observable_e3 = {
    .name = "e3",
    .help = "B(E3) between levels of opposite parity",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_e3,
    .compute = compute_e3,
};
const tg_ci_observable tg_ci_observable_e4 = {
    .name = "e4",
    .help = "B(E4)",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_e4,
    .compute = compute_e4,
};
const tg_ci_observable tg_ci_observable_m1 = {
    .name = "m1",
    .help = "magnetic moments mu and B(M1)",
    .can = TG_CI_OF_NUCLEI | TG_CI_WITHIN | TG_CI_BETWEEN,
    .check = check_m1,
    .compute = compute_m1,
};
