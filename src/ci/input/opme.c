/* SPDX-License-Identifier: Apache-2.0 */
/* .opme: a one-body operator between isospin orbits, reduced in angular momentum and in isospin. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/input/lines.h"
#include "ci/transitions.h"

typedef struct opme {
  int count;       /* orbits of the file */
  int* shell;      /* [count]: the proton orbit of the model */
  int* parity;     /* [count] */
  int* two_j;      /* [count] */
  double* element; /* [count][count] */
  bool* known;
  int rank, isospin;
} opme;

static void opme_free(opme* f) {
  tg_free(f->shell);
  tg_free(f->parity);
  tg_free(f->two_j);
  tg_free(f->element);
  tg_free(f->known);
}

/* `i n l j` of each orbit. */
static tg_status read_orbit(tg_ci_lines* lines, const tg_ci_shells* shells, int i, opme* f) {
  tg_ci_shell shell = {.species = TG_CI_PROTON};
  double values[2] = {0, 0};
  int number = 0;
  TG_TRY(tg_ci_lines_need(lines, "another orbit: i n l j"));
  TG_TRY(tg_ci_lines_words(lines, 4, 4, "4 numbers: i n l j"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the next number of an orbit", i + 1, i + 1, &number));
  for (size_t k = 0; k < 2; k++) {
    TG_TRY(tg_ci_lines_real(lines, k + 1, k ? "l" : "n", &values[k]));
    if (values[k] < 0 || values[k] > 99 || values[k] != floor(values[k]))
      return tg_fail_at(tg_ci_lines_place(lines, k + 1), "found %g; expected a whole number from 0",
                        values[k]);
  }
  shell.n = (int)values[0];
  shell.l = (int)values[1];
  TG_TRY(tg_ci_lines_half(lines, 3, "j", &shell.two_j));
  f->shell[i] = tg_ci_shells_find(shells, &shell);
  f->parity[i] = shell.l % 2;
  f->two_j[i] = shell.two_j;
  if (f->shell[i] < 0 || tg_ci_shells_partner(shells, f->shell[i]) < 0)
    return tg_fail_at(tg_ci_lines_place(lines, 0),
                      "the orbit n = %d, l = %d, 2j = %d is not among the model's for both protons "
                      "and neutrons; the operator must be for the same orbits",
                      shell.n, shell.l, shell.two_j);
  for (int k = 0; k < i; k++)
    if (f->shell[k] == f->shell[i])
      return tg_fail_at(tg_ci_lines_place(lines, 0), "the same orbit as number %d", k + 1);
  return TG_OK;
}

static tg_status read_head(tg_ci_lines* lines, const tg_ci_shells* shells, opme* f) {
  TG_TRY(tg_ci_lines_need(lines, "`iso`"));
  if (!tg_word_is_nocase(lines->words[0], "iso") || lines->count > 1)
    return tg_fail_at(tg_ci_lines_place(lines, 0), "found '%.*s'; expected `iso`",
                      lines->words[0].length, lines->words[0].start);
  TG_TRY(tg_ci_lines_need(lines, "the number of orbits"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the number of orbits alone"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of orbits", 1, TG_CI_MOST_SHELLS / 2, &f->count));
  const size_t n = (size_t)f->count;
  TG_TRY(TG_ALLOCATE(n, "orbits", &f->shell));
  TG_TRY(TG_ALLOCATE(n, "orbits", &f->parity));
  TG_TRY(TG_ALLOCATE(n, "orbits", &f->two_j));
  TG_TRY(TG_ALLOCATE(n * n, "elements of a one-body operator", &f->element));
  TG_TRY(TG_ALLOCATE(n * n, "elements of a one-body operator", &f->known));
  for (int i = 0; i < f->count; i++) TG_TRY(read_orbit(lines, shells, i, f));
  TG_TRY(tg_ci_lines_need(lines, "the ranks K and T"));
  TG_TRY(tg_ci_lines_words(lines, 2, 2, "2 numbers: the ranks K and T"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the rank K", 0, TG_CI_MOST_RANK, &f->rank));
  return tg_ci_lines_int(lines, 1, "the isospin rank T", 0, 1, &f->isospin);
}

/* `a b <a|||O|||b>`. The parity of the operator is that of the first element. */
static tg_status read_elements(tg_ci_lines* lines, opme* f, int* parity) {
  bool found = false;
  *parity = 0;
  for (;;) {
    int a = 0, b = 0;
    double value = 0;
    TG_TRY(tg_ci_lines_next(lines, &found));
    if (!found) break;
    TG_TRY(tg_ci_lines_words(lines, 3, 3, "3 numbers: a b element"));
    TG_TRY(tg_ci_lines_int(lines, 0, "the number of an orbit", 1, f->count, &a));
    TG_TRY(tg_ci_lines_int(lines, 1, "the number of an orbit", 1, f->count, &b));
    TG_TRY(tg_ci_lines_real(lines, 2, "the element", &value));
    const size_t at = (size_t)(a - 1) * (size_t)f->count + (size_t)(b - 1);
    if (f->known[at])
      return tg_fail_at(tg_ci_lines_place(lines, 0), "the element %d %d again; expected it once", a,
                        b);
    f->known[at] = true;
    f->element[at] = value;
    if (value == 0) continue;
    const int changes = f->parity[a - 1] == f->parity[b - 1] ? 1 : -1;
    if (!tg_ci_triangle(f->two_j[a - 1], f->two_j[b - 1], 2 * f->rank))
      return tg_fail_at(tg_ci_lines_place(lines, 0),
                        "%g between orbits of 2j = %d and %d, which rank %d does not connect",
                        value, f->two_j[a - 1], f->two_j[b - 1], f->rank);
    if (*parity && changes != *parity)
      return tg_fail_at(tg_ci_lines_place(lines, 0),
                        "this element %s parity, those before do not: expected one kind",
                        changes > 0 ? "keeps" : "changes");
    *parity = changes;
  }
  if (*parity == 0)
    return tg_fail_at((tg_place){lines->file.path, (int)lines->file.line_count, 0},
                      "the operator has no elements; expected lines `a b element`");
  return TG_OK;
}

/* A hermitian (or, of odd rank between different j, antihermitian-looking) operator has
 * <b||O||a> = s (-1)^(ja-jb) <a||O||b> with one sign s; missing partners are no zeros. */
static tg_status check_partners(const tg_ci_lines* lines, const opme* f) {
  for (int a = 0; a < f->count; a++)
    for (int b = 0; b < f->count; b++) {
      const size_t n = (size_t)f->count;
      const size_t at = (size_t)a * n + (size_t)b, back = (size_t)b * n + (size_t)a;
      if (f->element[at] != 0 && !f->known[back])
        return tg_fail_at((tg_place){lines->file.path, 0, 0},
                          "the element %d %d is there, %d %d is not; expected both, as they may "
                          "differ in sign",
                          a + 1, b + 1, b + 1, a + 1);
    }
  return TG_OK;
}

/* <1/2 t'|O_T,m|1/2 t> of an operator whose reduced element is 1; isospins doubled. */
static double isospin_factor(int isospin, int change, int two_final, int two_initial) {
  return tg_ci_clebsch(1, two_initial, 2 * isospin, 2 * change, 1, two_final) / sqrt(2.0);
}

static tg_status fill(const opme* f, const tg_ci_shells* shells, tg_ci_transition* out) {
  const size_t n = shells->count;
  TG_TRY(TG_ALLOCATE(n * n, "elements of a one-body operator", &out->element));
  for (int a = 0; a < f->count; a++)
    for (int b = 0; b < f->count; b++)
      for (int final = 0; final < 2; final++)
        for (int initial = 0; initial < 2; initial++) {
          if (initial - final != out->charge_change) continue;
          const double factor =
              isospin_factor(f->isospin, out->charge_change, final ? -1 : 1, initial ? -1 : 1);
          const int x = final ? tg_ci_shells_partner(shells, f->shell[a]) : f->shell[a];
          const int y = initial ? tg_ci_shells_partner(shells, f->shell[b]) : f->shell[b];
          out->element[(size_t)x * n + (size_t)y] =
              factor * f->element[(size_t)a * (size_t)f->count + (size_t)b];
        }
  return TG_OK;
}

static tg_status read_all(tg_ci_lines* lines, const tg_ci_shells* shells, opme* f,
                          tg_ci_transition* out) {
  TG_TRY(read_head(lines, shells, f));
  TG_TRY(read_elements(lines, f, &out->parity));
  TG_TRY(check_partners(lines, f));
  if (f->isospin == 0 && out->charge_change != 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: the operator has isospin rank 0, which keeps the charge; it cannot change "
                   "it by %d",
                   lines->file.path, out->charge_change);
  out->rank = f->rank;
  out->shells = shells->count;
  const char* slash = strrchr(lines->file.path, '/');
  snprintf(out->name, sizeof out->name, "%.31s", slash ? slash + 1 : lines->file.path);
  return fill(f, shells, out);
}

tg_status tg_ci_transition_read(const char* path, const tg_ci_shells* shells, int charge_change,
                                tg_ci_transition* out) {
  tg_ci_lines lines;
  opme f = {0};
  tg_ci_transition made = {.charge_change = charge_change};
  if (charge_change < -1 || charge_change > 1)
    return tg_fail(TG_ERR_INPUT, "%s: a charge change of %d; -1, 0 and 1 are possible", path,
                   charge_change);
  tg_status status = tg_ci_lines_open(path, "!#", &lines);
  if (status == TG_OK) status = read_all(&lines, shells, &f, &made);
  tg_ci_lines_close(&lines);
  opme_free(&f);
  if (status != TG_OK) {
    tg_ci_transition_free(&made);
    return status;
  }
  *out = made;
  return TG_OK;
}
