/* SPDX-License-Identifier: Apache-2.0 */
/* The surface-delta interaction -4 pi A_T delta(angle between r1 and r2), at the surface, where all
 * radial functions have the same size and the sign (-1)^n. With jj-coupled, antisymmetric,
 * normalised states, j from l and then s:
 *
 *   <ab|V|cd>_JT = (-1)^(na+nb+nc+nd) A_T / (2 (2J+1)) sqrt( (2ja+1)(2jb+1)(2jc+1)(2jd+1)
 *                                                            / ((1+d_ab)(1+d_cd)) )
 *     { (-1)^(jb+jd+lb+ld) <jb -1/2 ja 1/2|J0> <jd -1/2 jc 1/2|J0> [1 - (-1)^(la+lb+J+T)]
 *       - <jb 1/2 ja 1/2|J1> <jd 1/2 jc 1/2|J1> [1 + (-1)^T] }  */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/input/builtin.h"
#include "ci/input/readers.h"

static bool same(const tg_ci_shell* a, const tg_ci_shell* b) {
  return a->n == b->n && a->l == b->l && a->two_j == b->two_j;
}

double tg_ci_surface_delta(const tg_ci_shell* const o[4], int j, int isospin,
                           const double strength[2]) {
  const tg_ci_shell *a = o[0], *b = o[1], *c = o[2], *d = o[3];
  double size = (a->two_j + 1.0) * (b->two_j + 1) * (c->two_j + 1) * (d->two_j + 1);
  if (same(a, b)) size /= 2;
  if (same(c, d)) size /= 2;
  const double opposite = tg_ci_sign((b->two_j + d->two_j) / 2 + b->l + d->l) *
                          tg_ci_clebsch(b->two_j, -1, a->two_j, 1, 2 * j, 0) *
                          tg_ci_clebsch(d->two_j, -1, c->two_j, 1, 2 * j, 0) *
                          (1 - tg_ci_sign(a->l + b->l + j + isospin));
  const double aligned = tg_ci_clebsch(b->two_j, 1, a->two_j, 1, 2 * j, 2) *
                         tg_ci_clebsch(d->two_j, 1, c->two_j, 1, 2 * j, 2) *
                         (1 + tg_ci_sign(isospin));
  return tg_ci_sign(a->n + b->n + c->n + d->n) * strength[isospin] / (2 * (2 * j + 1)) *
         sqrt(size) * (opposite - aligned);
}

/* ---- the words ---- */

typedef struct sdi {
  double strength[2], b, c;
  int core[2];
} sdi;

static tg_status wrong(const char* path, const char* word, const char* expected) {
  return tg_fail(TG_ERR_INPUT, "%s: found '%s'; expected %s", path, word, expected);
}

/* 0d5/2 */
static bool parse_orbit(const char* word, tg_ci_shell* shell) {
  static const char letters[] = "spdfghijklmnoqrtuvwxyz";
  const size_t digits = strspn(word, "0123456789");
  const char* letter = word[digits] ? strchr(letters, word[digits]) : NULL;
  const char* slash = strchr(word, '/');
  if (digits == 0 || !letter || !slash || strcmp(slash, "/2") != 0) return false;
  memset(shell, 0, sizeof *shell);
  shell->l = (int)(letter - letters);
  shell->weight = -1;
  return tg_parse_int(word, (int)digits, &shell->n) &&
         tg_parse_int(word + digits + 1, (int)(slash - word - (long)digits - 1), &shell->two_j);
}

/* Cuts the next word at a comma off *text; NULL at the end. */
static char* next_word(char** text) {
  char* word = *text;
  if (!word || !*word) return NULL;
  char* comma = strchr(word, ',');
  *text = comma ? comma + 1 : NULL;
  if (comma) *comma = '\0';
  return word;
}

/* The value behind '=', which is cut off; fallback where there is none. */
static bool take_value(char* word, double fallback, double* value) {
  char* equals = strchr(word, '=');
  *value = fallback;
  if (!equals) return true;
  *equals = '\0';
  return tg_parse_double(equals + 1, (int)strlen(equals + 1), value);
}

static tg_status read_orbits(const char* path, char* words, tg_ci_model* model, double* energies) {
  const tg_place place = {path, 0, 0};
  int count = 0;
  for (char* word = next_word(&words); word; word = next_word(&words)) {
    tg_ci_shell shell;
    double energy = 0;
    if (!take_value(word, 0, &energy) || !parse_orbit(word, &shell))
      return wrong(path, word, "an orbit and its energy, such as 0d5/2=-3.9");
    if (count == TG_CI_MOST_SHELLS / 2) return wrong(path, word, "fewer orbits");
    energies[count++] = energy;
    TG_TRY(tg_ci_shells_add(&model->shells, shell, place));
  }
  if (count == 0) return wrong(path, "", "orbits, such as 0d5/2,1s1/2");
  for (int i = 0; i < count; i++) {
    tg_ci_shell shell = model->shells.shell[i];
    shell.species = TG_CI_NEUTRON;
    TG_TRY(tg_ci_shells_add(&model->shells, shell, place));
  }
  return TG_OK;
}

static tg_status read_strengths(const char* path, char* words, sdi* out) {
  bool given[2] = {false, false};
  for (char* word = next_word(&words); word; word = next_word(&words)) {
    double value = 0;
    const bool number = strchr(word, '=') && take_value(word, 0, &value);
    const bool whole = value >= 0 && value <= 200 && value == floor(value);
    if (!number) return wrong(path, word, "a strength, such as AT1=0.5");
    if (tg_compare_nocase(word, "AT0") == 0) {
      out->strength[0] = value;
      given[0] = true;
    } else if (tg_compare_nocase(word, "AT1") == 0) {
      out->strength[1] = value;
      given[1] = true;
    } else if (tg_compare_nocase(word, "B") == 0) {
      out->b = value;
    } else if (tg_compare_nocase(word, "C") == 0) {
      out->c = value;
    } else if (tg_compare_nocase(word, "Z") == 0 && whole) {
      out->core[0] = (int)value;
    } else if (tg_compare_nocase(word, "N") == 0 && whole) {
      out->core[1] = (int)value;
    } else {
      return wrong(path, word, "AT0, AT1, B, C, or whole Z, N of the core");
    }
  }
  if (!given[0] || !given[1])
    return tg_fail(TG_ERR_INPUT, "%s: it does not say %s; expected both AT0 and AT1, in MeV", path,
                   given[0] ? "AT1" : "AT0");
  return TG_OK;
}

/* All elements of a pair of pairs of isospin orbits. */
static tg_status put_pairs(const sdi* s, const int o[4], tg_place place, const tg_ci_model* model,
                           tg_ci_isospin_elements* elements) {
  const tg_ci_shell* const shells[4] = {&model->shells.shell[o[0]], &model->shells.shell[o[1]],
                                        &model->shells.shell[o[2]], &model->shells.shell[o[3]]};
  if ((shells[0]->l + shells[1]->l + shells[2]->l + shells[3]->l) % 2) return TG_OK;
  const bool diagonal = o[0] == o[2] && o[1] == o[3];
  for (int isospin = 0; isospin < 2; isospin++)
    for (int j = 0; j <= (shells[0]->two_j + shells[1]->two_j) / 2; j++) {
      if (!tg_ci_triangle(shells[0]->two_j, shells[1]->two_j, 2 * j) ||
          !tg_ci_triangle(shells[2]->two_j, shells[3]->two_j, 2 * j) ||
          ((o[0] == o[1] || o[2] == o[3]) && (j + isospin) % 2 == 0))
        continue;
      double value = tg_ci_surface_delta(shells, j, isospin, s->strength);
      if (diagonal) value += (isospin ? s->b : -3 * s->b) + s->c;
      const tg_ci_two_element e = {
          .a = o[0], .b = o[1], .c = o[2], .d = o[3], .j = j, .value = {.fixed = value}};
      if (value != 0) TG_TRY(tg_ci_isospin_put(elements, &model->shells, e, isospin, place));
    }
  return TG_OK;
}

static tg_status put_all(const sdi* s, tg_place place, const tg_ci_model* model,
                         tg_ci_couplings* out) {
  const int n = (int)model->shells.proton_count;
  tg_ci_isospin_elements elements = {0};
  tg_status status = TG_OK;
  for (int a = 0; a < n; a++)
    for (int b = a; b < n; b++)
      for (int c = a; c < n; c++)
        for (int d = c == a ? b : c; d < n; d++)
          TG_TRY_GOTO(put_pairs(s, (const int[]){a, b, c, d}, place, model, &elements), done);
  TG_TRY_GOTO(tg_ci_isospin_expand(&elements, &model->shells, out), done);
done:
  tg_ci_isospin_elements_free(&elements);
  return status;
}

static tg_status read_words(const char* path, char* orbits, double* energies, tg_ci_model* model) {
  sdi s = {0};
  tg_ci_part* part = NULL;
  const tg_place place = {path, 0, 0};
  char* strengths = strchr(orbits, ':');
  if (!strengths) return wrong(path, orbits, "ORBITS:STRENGTHS, the latter as AT0=1,AT1=1");
  *strengths++ = '\0';
  TG_TRY(tg_ci_model_add_part(model, path, tg_ci_format_name(TG_CI_BUILTIN), &part));
  TG_TRY(read_orbits(path, orbits, model, energies));
  TG_TRY(read_strengths(path, strengths, &s));
  model->core_protons = s.core[0];
  model->core_neutrons = s.core[1];
  model->core_mass = s.core[0] + s.core[1];
  const int n = (int)model->shells.proton_count;
  for (int i = 0; i < 2 * n; i++) {
    const tg_ci_one_element one = {.a = i, .b = i, .value = {.fixed = energies[i % n]}};
    TG_TRY(tg_ci_couplings_put_one(&part->couplings, &model->shells, one, place));
  }
  return put_all(&s, place, model, &part->couplings);
}

tg_status tg_ci_read_surface_delta(const char* path, tg_ci_model* model) {
  char* words = NULL;
  double* energies = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(tg_copy_text(path + strlen(TG_CI_BUILTIN_PREFIX "sdi:"), &words), done);
  TG_TRY_GOTO(TG_ALLOCATE(TG_CI_MOST_SHELLS, "single-particle energies", &energies), done);
  TG_TRY_GOTO(read_words(path, words, energies, model), done);
done:
  tg_free(words);
  tg_free(energies);
  return status;
}
