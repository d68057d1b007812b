/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/active.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* ---- the order of orbitals ---- */

/* Orbital energies closer than this are one: dumps give degenerate ones to 1e-8 or so. */
static const double same_energy = 1e-6;

enum { AB = TG_CI_AB, MOST_ROUNDS = 50 };

/* What the energy of a determinant takes, [orbitals, orbitals] each. */
typedef struct pairs {
  size_t n;
  double* one[2];      /* [n] h_pp */
  double* coulomb[3];  /* (pp|qq) of AA, BB, AB */
  double* exchange[2]; /* (pq|qp) of AA, BB */
} pairs;

static void pairs_free(pairs* v) {
  for (int s = 0; s < 2; s++) {
    tg_free(v->one[s]);
    tg_free(v->exchange[s]);
  }
  for (int k = 0; k < 3; k++) tg_free(v->coulomb[k]);
}

static tg_status pairs_make(const tg_ci_integrals* g, pairs* v) {
  const size_t n = v->n = g->orbitals;
  for (int s = 0; s < 2; s++) {
    TG_TRY(TG_ALLOCATE(n, "orbital energies", &v->one[s]));
    TG_TRY(TG_ALLOCATE(n * n, "exchange integrals", &v->exchange[s]));
  }
  for (int k = 0; k < 3; k++) TG_TRY(TG_ALLOCATE(n * n, "Coulomb integrals", &v->coulomb[k]));
  for (int p = 0; p < (int)n; p++) {
    for (int s = 0; s < 2; s++) v->one[s][p] = tg_ci_integrals_one(g, s, p, p);
    for (int q = 0; q < (int)n; q++) {
      const size_t at = (size_t)p * n + (size_t)q;
      for (int k = 0; k < 3; k++) v->coulomb[k][at] = tg_ci_integrals_two(g, k, p, p, q, q);
      for (int s = 0; s < 2; s++) v->exchange[s][at] = tg_ci_integrals_two(g, s, p, q, q, p);
    }
  }
  return TG_OK;
}

/* The energy of an electron of spin s in p beside the others of this determinant: the lowest
 * alpha, beta of the order. */
static double orbital_energy(const pairs* v, const int electrons[2], const uint16_t* order, int s,
                             size_t p) {
  double sum = v->one[s][p];
  for (int k = 0; k < electrons[s]; k++) {
    const size_t at = p * v->n + order[k];
    sum += v->coulomb[s][at] - v->exchange[s][at];
  }
  for (int k = 0; k < electrons[1 - s]; k++)
    sum += v->coulomb[AB][s == 0 ? p * v->n + order[k] : (size_t)order[k] * v->n + p];
  return sum;
}

static double determinant_energy(const pairs* v, const int electrons[2], const uint16_t* order) {
  double sum = 0;
  for (int s = 0; s < 2; s++)
    for (int k = 0; k < electrons[s]; k++)
      sum += 0.5 * (v->one[s][order[k]] + orbital_energy(v, electrons, order, s, order[k]));
  return sum;
}

/* Rising energies; of those that are one, the input's order. Quadratic: a thousand at most. */
static void sort_orbitals(size_t n, const double* energy, uint16_t* order) {
  static const uint16_t taken = UINT16_MAX;
  uint16_t rest[TG_CI_MOST_SPATIAL];
  for (size_t i = 0; i < n; i++) rest[i] = (uint16_t)i;
  for (size_t k = 0; k < n; k++) {
    double least = INFINITY;
    for (size_t i = 0; i < n; i++)
      if (rest[i] != taken) least = fmin(least, energy[i]);
    for (size_t i = 0; i < n; i++)
      if (rest[i] != taken && energy[i] <= least + same_energy) {
        order[k] = (uint16_t)i;
        rest[i] = taken;
        break;
      }
  }
}

/* Fills the lowest orbitals in the field of those filled before, until the determinant's energy
 * does not fall any more. order: the start, and the best that was found. */
static double fill(const pairs* v, const int electrons[2], uint16_t* order, double* energy) {
  uint16_t next[TG_CI_MOST_SPATIAL];
  double best = determinant_energy(v, electrons, order);
  for (int round = 0; round < MOST_ROUNDS; round++) {
    for (size_t p = 0; p < v->n; p++)
      energy[p] = 0.5 * (orbital_energy(v, electrons, order, 0, p) +
                         orbital_energy(v, electrons, order, 1, p));
    sort_orbitals(v->n, energy, next);
    const double value = determinant_energy(v, electrons, next);
    const bool lower = value < best - same_energy;
    /* the same determinant, perhaps with its orbitals in a better order */
    if (value > best + same_energy) break;
    memcpy(order, next, v->n * sizeof *order);
    best = fmin(best, value);
    if (!lower) break;
  }
  return best;
}

tg_status tg_ci_orbital_order(const tg_ci_integrals* g, int alpha, int beta, uint16_t* order,
                              double* energies) {
  pairs v = {0};
  tg_status status = TG_OK;
  const size_t n = g->orbitals;
  const int electrons[2] = {alpha, beta};
  uint16_t *start = NULL, *other = NULL;
  double *mean = NULL, *lowest = NULL;
  TG_TRY_GOTO(pairs_make(g, &v), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "the order of orbitals", &start), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "the order of orbitals", &other), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "orbital energies", &mean), done);
  TG_TRY_GOTO(TG_ALLOCATE(n, "orbital energies", &lowest), done);
  /* from the input's order and from that of the bare nuclei's field */
  for (size_t p = 0; p < n; p++) {
    start[p] = (uint16_t)p;
    mean[p] = 0.5 * (v.one[0][p] + v.one[1][p]);
  }
  sort_orbitals(n, mean, other);
  const double first = fill(&v, electrons, start, lowest);
  const double second = fill(&v, electrons, other, mean);
  const bool better = second < first - same_energy;
  memcpy(order, better ? other : start, n * sizeof *order);
  if (energies) memcpy(energies, better ? mean : lowest, n * sizeof *energies);
done:
  pairs_free(&v);
  tg_free(start);
  tg_free(other);
  tg_free(mean);
  tg_free(lowest);
  return status;
}

/* ---- what the options say ---- */

/* Digits at *at, which moves behind them. */
static bool take_number(const char** at, const char* end, long* out) {
  const char* start = *at;
  *out = 0;
  while (*at < end && isdigit((unsigned char)**at) && *out < 1000000)
    *out = 10 * *out + (*(*at)++ - '0');
  return *at > start;
}

tg_status tg_ci_number_list(const char* text, size_t length, const char* option, size_t count,
                            uint8_t* marks) {
  const char *at = text, *end = text + length;
  for (;;) {
    long first = 0, last = 0;
    bool good = take_number(&at, end, &first);
    last = first;
    if (good && at < end && *at == '-') {
      at++;
      good = take_number(&at, end, &last);
    }
    if (!good || (at < end && *at != ','))
      return tg_fail(TG_ERR_INPUT,
                     "%s '%s': found '%.*s'; expected numbers of orbitals such as 1,3-5", option,
                     text, (int)(end - at), at);
    if (first < 1 || last > (long)count || first > last)
      return tg_fail(
          TG_ERR_INPUT,
          "%s '%s': there is no orbital %ld; orbitals are numbered from 1 to %zu, ranges "
          "from the lower to the higher",
          option, text, first < 1 || (first > last && last < 1) ? first : last, count);
    for (long k = first; k <= last; k++) {
      if (marks[k - 1])
        return tg_fail(TG_ERR_INPUT, "%s '%s': orbital %ld is there twice; name each once", option,
                       text, k);
      marks[k - 1] = 1;
    }
    if (at == end) return TG_OK;
    at++;
  }
}

/* The lowest `wanted` of the active orbitals become frozen. */
static void freeze_lowest(size_t n, const uint16_t* order, int wanted, const uint8_t* keep,
                          uint8_t* roles) {
  for (size_t k = 0; k < n && wanted > 0; k++) {
    if (keep && keep[order[k]]) continue;
    roles[order[k]] = TG_CI_FROZEN;
    wanted--;
  }
}

static tg_status read_frozen(const tg_ci_integrals* g, int beta, const char* text,
                             const uint16_t* order, uint8_t* roles, int* count) {
  const size_t length = strlen(text);
  const char* at = text;
  long number = 0;
  *count = 0;
  if (take_number(&at, text + length, &number) && !*at) {
    *count = (int)number;
  } else {
    TG_TRY(tg_ci_number_list(text, length, "--frozen", g->orbitals, roles)); /* 1 is FROZEN */
    for (size_t p = 0; p < g->orbitals; p++) *count += roles[p] == TG_CI_FROZEN;
  }
  if (*count > beta)
    return tg_fail(TG_ERR_INPUT,
                   "--frozen %s: %d doubly occupied orbitals take more electrons of one spin than "
                   "the %d that there are; freeze %d at most",
                   text, *count, beta, beta);
  if (*at == '\0') freeze_lowest(g->orbitals, order, *count, NULL, roles);
  return TG_OK;
}

static tg_status read_active(const tg_ci_integrals* g, int alpha, int beta, const char* text,
                             const uint16_t* order, uint8_t* roles, int* frozen) {
  const size_t n = g->orbitals, length = strlen(text);
  const char *at = text, *end = text + length;
  long electrons = 0, orbitals = 0;
  uint8_t keep[TG_CI_MOST_SPATIAL] = {0};
  const bool good = take_number(&at, end, &electrons) && at < end;
  const bool list = good && *at == ':';
  if (good) at++;
  if (list) {
    TG_TRY(tg_ci_number_list(at, (size_t)(end - at), "--active", n, keep));
    for (size_t p = 0; p < n; p++) orbitals += keep[p];
  } else if (!good || at[-1] != ',' || !take_number(&at, end, &orbitals) || at < end) {
    return tg_fail(TG_ERR_INPUT,
                   "--active '%s': expected ELECTRONS,ORBITALS (two numbers, such as 6,6) or "
                   "ELECTRONS:LIST of orbitals (such as 6:3-5,8)",
                   text);
  }
  const int all = alpha + beta, spin = alpha - beta;
  const long pairs_out = (all - electrons) / 2;
  if (electrons < 1 || electrons > all || (all - electrons) % 2 || electrons < labs(spin))
    return tg_fail(TG_ERR_INPUT,
                   "--active %s: %ld of %d electrons with 2Sz = %d; expected from %d to %d, %s, as "
                   "the others are in pairs",
                   text, electrons, all, spin, abs(spin) > 0 ? abs(spin) : 2, all,
                   all % 2 ? "odd" : "even");
  if (orbitals < 1 || (electrons + labs(spin)) / 2 > orbitals)
    return tg_fail(TG_ERR_INPUT,
                   "--active %s: %ld electrons with 2Sz = %d need at least %ld orbitals", text,
                   electrons, spin, (electrons + labs(spin)) / 2);
  if (pairs_out + orbitals > (long)n)
    return tg_fail(TG_ERR_INPUT,
                   "--active %s: %ld frozen and %ld active orbitals are more than the %zu of the "
                   "input",
                   text, pairs_out, orbitals, n);
  *frozen = (int)pairs_out;
  for (size_t p = 0; p < n; p++) roles[p] = TG_CI_UNUSED;
  freeze_lowest(n, order, *frozen, list ? keep : NULL, roles);
  for (size_t k = 0; k < n; k++) {
    const size_t p = order[k];
    if (roles[p] == TG_CI_FROZEN || (list ? !keep[p] : orbitals == 0)) continue;
    roles[p] = TG_CI_ACTIVE;
    if (!list) orbitals--;
  }
  return TG_OK;
}

tg_status tg_ci_orbital_roles(const tg_ci_integrals* g, int alpha, int beta, const char* frozen,
                              const char* active, uint8_t* roles, int* frozen_count) {
  uint16_t* order = NULL;
  tg_status status = TG_OK;
  memset(roles, TG_CI_ACTIVE, g->orbitals);
  if (alpha > (int)g->orbitals || beta > (int)g->orbitals)
    return tg_fail(TG_ERR_INPUT, "%d and %d electrons of a spin do not fit into %zu orbitals",
                   alpha, beta, g->orbitals);
  TG_TRY_GOTO(TG_ALLOCATE(g->orbitals, "the order of orbitals", &order), done);
  TG_TRY_GOTO(tg_ci_orbital_order(g, alpha, beta, order, NULL), done);
  status = active ? read_active(g, alpha, beta, active, order, roles, frozen_count)
                  : read_frozen(g, alpha < beta ? alpha : beta, frozen, order, roles, frozen_count);
done:
  tg_free(order);
  return status;
}

/* ---- folding ---- */

/* h'(s,pq) */
static double folded_one(const tg_ci_integrals* g, const uint8_t* roles, int s, int p, int q) {
  double sum = tg_ci_integrals_one(g, s, p, q);
  for (int f = 0; f < (int)g->orbitals; f++) {
    if (roles[f] != TG_CI_FROZEN) continue;
    sum += tg_ci_integrals_two(g, s, p, q, f, f) - tg_ci_integrals_two(g, s, p, f, f, q);
    sum += s == 0 ? tg_ci_integrals_two(g, AB, p, q, f, f) : tg_ci_integrals_two(g, AB, f, f, p, q);
  }
  return sum;
}

static double frozen_energy(const tg_ci_integrals* g, const uint8_t* roles) {
  double sum = g->core;
  for (int f = 0; f < (int)g->orbitals; f++)
    for (int s = 0; s < 2; s++)
      if (roles[f] == TG_CI_FROZEN)
        sum += 0.5 * (tg_ci_integrals_one(g, s, f, f) + folded_one(g, roles, s, f, f));
  return sum;
}

static tg_status fold_one(const tg_ci_integrals* g, const uint8_t* roles, const uint16_t* numbers,
                          tg_ci_integrals* out) {
  const tg_ci_integral* known;
  for (int s = 0; s < (g->unrestricted ? 2 : 1); s++)
    for (int p = 0; p < (int)out->orbitals; p++)
      for (int q = 0; q <= p; q++) {
        if (out->label[p] != out->label[q]) continue;
        const tg_ci_integral e = {.value = folded_one(g, roles, s, numbers[p], numbers[q]),
                                  .i = p,
                                  .j = q,
                                  .k = -1,
                                  .l = -1};
        if (e.value != 0) TG_TRY(tg_ci_integral_list_add(&out->one[s], e, false, &known));
      }
  return TG_OK;
}

static tg_status fold_two(const tg_ci_integrals* g, const int* place, tg_ci_integrals* out) {
  const tg_ci_integral* known;
  for (int kind = 0; kind < 3; kind++)
    for (size_t x = 0; x < g->two[kind].count; x++) {
      tg_ci_integral e = g->two[kind].item[x];
      e.i = place[e.i];
      e.j = place[e.j];
      e.k = place[e.k];
      e.l = place[e.l];
      if (e.i < 0 || e.j < 0 || e.k < 0 || e.l < 0) continue;
      TG_TRY(tg_ci_integral_list_add(&out->two[kind], e, !g->unrestricted || kind != AB, &known));
    }
  return TG_OK;
}

tg_status tg_ci_integrals_fold(const tg_ci_integrals* g, const uint8_t* roles, uint16_t* numbers,
                               tg_ci_integrals* out) {
  tg_ci_integrals f = {.two_sz = g->two_sz,
                       .isym = g->isym,
                       .unrestricted = g->unrestricted,
                       .symmetry = g->symmetry,
                       .symmetry_violation = g->symmetry_violation,
                       .forbidden = g->forbidden,
                       .electrons = g->electrons};
  int place[TG_CI_MOST_SPATIAL];
  tg_status status = TG_OK;
  for (size_t p = 0; p < g->orbitals; p++) {
    place[p] = roles[p] == TG_CI_ACTIVE ? (int)f.orbitals : -1;
    if (roles[p] == TG_CI_ACTIVE) numbers[f.orbitals++] = (uint16_t)p;
    if (roles[p] == TG_CI_FROZEN) f.electrons -= 2;
  }
  TG_TRY_GOTO(TG_ALLOCATE(f.orbitals, "symmetry labels", &f.label), failed);
  for (size_t p = 0; p < f.orbitals; p++) f.label[p] = g->label[numbers[p]];
  f.core = frozen_energy(g, roles);
  TG_TRY_GOTO(fold_one(g, roles, numbers, &f), failed);
  TG_TRY_GOTO(fold_two(g, place, &f), failed);
  *out = f;
  return TG_OK;
failed:
  tg_ci_integrals_free(&f);
  return status;
}
