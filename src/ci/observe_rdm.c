/* SPDX-License-Identifier: Apache-2.0 */
/* Density matrices of molecules: rdm1, rdm2, tdm1 (between states), and natural orbitals.
 *
 * Restricted orbitals: summed over spins, in the order and with the factors of PySCF. Unrestricted
 * ones are different for the two spins, so there is nothing to sum: the matrices come by spin. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ci/natural.h"
#include "ci/observables.h"
#include "ci/rdm.h"

/* <H> by the matrices and the level's energy: both are sums of some 1e6 products of numbers of the
 * energy's size, so more than this is an error. */
static const double energy_tolerance = 1e-9;

static bool by_spin(const tg_ci_question* q) {
  return q->initial.problem->input->integrals.unrestricted;
}

static tg_status of_levels(const tg_ci_question* q, size_t bra, size_t ket, bool two,
                           tg_ci_rdm* out) {
  const tg_ci_states* s = &q->initial;
  return tg_ci_rdm_make(s->problem->h,
                        (tg_ci_state_vector){tg_ci_level_space(s, bra), tg_ci_level_vector(s, bra)},
                        (tg_ci_state_vector){tg_ci_level_space(s, ket), tg_ci_level_vector(s, ket)},
                        two, tg_ci_question_threads(q), out);
}

static tg_status add_array(const tg_ci_question* q, const char* name, int axes, size_t n,
                           const char* about, double** out) {
  const size_t size[4] = {n, n, n, n};
  return tg_ci_tables_data(q->tables, name, axes, size, "", about, out);
}

/* One-body arrays of a matrix: NAME, or NAME_a and NAME_b; NAME has %s for the spin. */
static tg_status keep_one(const tg_ci_question* q, const tg_ci_rdm* rdm, const char* pattern,
                          const char* about) {
  const size_t n = rdm->orbitals[0];
  char name[64];
  double* m = NULL;
  if (!by_spin(q)) {
    snprintf(name, sizeof name, pattern, "");
    TG_TRY(add_array(q, name, 2, n, about, &m));
    tg_ci_rdm_sum_one(rdm, m);
    return TG_OK;
  }
  for (int s = 0; s < 2; s++) {
    snprintf(name, sizeof name, pattern, s ? "_b" : "_a");
    TG_TRY(add_array(q, name, 2, n, about, &m));
    for (size_t i = 0; i < n * n; i++) m[i] = rdm->one[s][i % n * n + i / n];
  }
  return TG_OK;
}

/* ---- rdm1 ---- */

static tg_status compute_rdm1(const tg_ci_question* q) {
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++) {
    tg_ci_rdm rdm = {0};
    char pattern[64];
    snprintf(pattern, sizeof pattern, "rdm1%%s_%zu", i + 1);
    TG_TRY(of_levels(q, i, i, false, &rdm));
    const tg_status status = keep_one(q, &rdm, pattern, "rdm1[p,q] = <a+_q a_p> of a level");
    tg_ci_rdm_free(&rdm);
    TG_TRY(status);
  }
  return TG_OK;
}

const tg_ci_observable tg_ci_observable_rdm1 = {
    .name = "rdm1",
    .help = "one-body density matrix of each level",
    .can = TG_CI_OF_MOLECULES | TG_CI_WITHIN,
    .compute = compute_rdm1,
};

/* ---- tdm1 ---- */

static tg_status compute_tdm1(const tg_ci_question* q) {
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++)
    for (size_t f = 0; f < i; f++) {
      tg_ci_rdm rdm = {0};
      char pattern[64];
      snprintf(pattern, sizeof pattern, "tdm1%%s_%zu_%zu", f + 1, i + 1);
      TG_TRY(of_levels(q, f, i, false, &rdm));
      const tg_status status =
          keep_one(q, &rdm, pattern, "tdm1[p,q] = <f|a+_q a_p|i>, f the first level of the name");
      tg_ci_rdm_free(&rdm);
      TG_TRY(status);
    }
  return tg_ci_tables_note(q->tables,
                           "the input has no dipole integrals, so transition dipoles are up to "
                           "whoever has them: d = sum of tdm1[p,q] d[q,p]");
}

const tg_ci_observable tg_ci_observable_tdm1 = {
    .name = "tdm1",
    .help = "one-body transition density matrix of each pair of levels",
    .can = TG_CI_OF_MOLECULES | TG_CI_WITHIN,
    .compute = compute_tdm1,
};

/* ---- rdm2 ---- */

static tg_status check_rdm2(const tg_ci_question* q) {
  const char* a = q->argument;
  if (a && strcmp(a, "spins") != 0)
    return tg_fail(TG_ERR_INPUT, "rdm2:%s: expected rdm2, or rdm2:spins for each pair of spins", a);
  return TG_OK;
}

/* <x+_p y+_r y_s x_q> as [p,q,r,s]. */
static void expand(const tg_ci_rdm* rdm, int kind, double* out) {
  const size_t n = rdm->orbitals[0];
  for (size_t p = 0; p < n; p++)
    for (size_t q = 0; q < n; q++)
      for (size_t r = 0; r < n; r++)
        for (size_t s = 0; s < n; s++) *out++ = tg_ci_rdm_two(rdm, kind, p, r, q, s);
}

static tg_status keep_two(const tg_ci_question* q, const tg_ci_rdm* rdm, size_t level) {
  static const char* const kinds[] = {"aa", "bb", "ab"};
  const size_t n = rdm->orbitals[0];
  char name[64];
  double* m = NULL;
  if (!by_spin(q) && !q->argument) {
    snprintf(name, sizeof name, "rdm2_%zu", level + 1);
    TG_TRY(add_array(q, name, 4, n, "rdm2[p,q,r,s] = <a+_p a+_r a_s a_q> of a level", &m));
    tg_ci_rdm_sum_two(rdm, m);
    return TG_OK;
  }
  for (int k = 0; k < 3; k++) {
    snprintf(name, sizeof name, "rdm2_%s_%zu", kinds[k], level + 1);
    TG_TRY(add_array(q, name, 4, n, "rdm2_xy[p,q,r,s] = <x+_p y+_r y_s x_q> of a level", &m));
    expand(rdm, k, m);
  }
  return TG_OK;
}

static tg_status add_level_column(tg_ci_table* table, const char* name, const char* head,
                                  const char* unit, int digits, size_t* out) {
  tg_ci_column like = {.kind = TG_CI_COLUMN_REAL, .digits = digits};
  snprintf(like.name, sizeof like.name, "%s", name);
  snprintf(like.head, sizeof like.head, "%s", head);
  snprintf(like.unit, sizeof like.unit, "%s", unit);
  return tg_ci_table_column(table, like, out);
}

/* What the matrices say of themselves, into the table of levels. */
static tg_status keep_checks(const tg_ci_question* q, const tg_ci_rdm* rdm, size_t level,
                             tg_ci_table* table, const size_t column[2]) {
  const double energy = tg_ci_rdm_expectation(q->initial.problem->h, rdm);
  const double wanted = q->initial.spectrum->levels[level].energy;
  const tg_ci_rdm_check c = tg_ci_rdm_verify(rdm);
  const double worst = fmax(fmax(c.trace_one, c.trace_two), fmax(c.partial_trace, c.asymmetry));
  table->columns[column[0]].value[level] = energy;
  table->columns[column[1]].value[level] = worst;
  if (!(fabs(energy - wanted) <= energy_tolerance * fmax(1, fabs(wanted))) || !(worst < 1e-8))
    return tg_fail(TG_ERR_NUMERICS,
                   "level %zu: its density matrices give the energy %.12f Ha, the level has %.12f "
                   "Ha, and sums over them are off by %.1e: its state is not normalised, or this "
                   "is a mistake in throng",
                   level + 1, energy, wanted, worst);
  return TG_OK;
}

/* Bytes that may be taken: those of the parameters, or 8 GiB. */
static tg_status check_memory(const tg_ci_question* q) {
  const double levels = (double)q->initial.spectrum->level_count;
  const double n = (double)tg_ci_hamiltonian_orbitals(q->initial.problem->h, 0, NULL);
  const double kinds = by_spin(q) || q->argument ? 3 : 1;
  const double bytes =
      tg_ci_rdm_bytes(q->initial.problem->h, true) + levels * kinds * pow(n, 4) * sizeof(double);
  const double most = q->params->memory ? (double)q->params->memory : 0x1p33;
  if (bytes <= most) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "the two-body density matrices of %g levels need %.3g GB, and %.3g GB may be "
                 "taken; ask for fewer --states",
                 levels, 1e-9 * bytes, 1e-9 * most);
}

static tg_status compute_rdm2(const tg_ci_question* q) {
  tg_ci_table* table = NULL;
  size_t column[2];
  TG_TRY(check_memory(q));
  TG_TRY(tg_ci_question_levels(q, &table));
  TG_TRY(add_level_column(table, "rdm_energy_Ha", "E(rdm)/Ha", "Ha", 9, &column[0]));
  TG_TRY(add_level_column(table, "rdm_sums_error", "sums off by", "", 1, &column[1]));
  for (size_t i = 0; i < q->initial.spectrum->level_count; i++) {
    tg_ci_rdm rdm = {0};
    TG_TRY(of_levels(q, i, i, true, &rdm));
    tg_status status = keep_checks(q, &rdm, i, table, column);
    if (status == TG_OK) status = keep_two(q, &rdm, i);
    tg_ci_rdm_free(&rdm);
    TG_TRY(status);
  }
  return TG_OK;
}

const tg_ci_observable tg_ci_observable_rdm2 = {
    .name = "rdm2",
    .argument = "spins",
    .help =
        "two-body density matrix of each level, spin-summed or for each pair of spins, and the "
        "energy from it",
    .can = TG_CI_OF_MOLECULES | TG_CI_WITHIN,
    .check = check_rdm2,
    .compute = compute_rdm2,
};
