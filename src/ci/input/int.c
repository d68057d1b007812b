/* SPDX-License-Identifier: Apache-2.0 */
/* .int files of OXBASH, NuShellX and BIGSTICK: in isospin form, or of protons and neutrons with
 * normalised (xpn) or unnormalised (upn) proton-neutron elements. All lines are read before
 * anything is concluded from them: which form it is shows in the orbits' numbers. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/readers.h"

typedef struct row {
  int orbit[4]; /* from 0, in the file's numbering */
  int j, isospin;
  double value, resolution;
  int line;
} row;

typedef struct hop {
  int a, b;
  double value, resolution;
  int line;
} hop;

typedef struct int_file {
  double* numbers; /* [number_count]: of the first line(s), after N */
  size_t number_count, number_capacity;
  int* number_lines; /* [number_count] */
  size_t line_capacity;
  int announced;  /* N */
  tg_place place; /* of N */
  row* rows;
  size_t row_count, row_capacity;
  hop* hops; /* the trailer */
  size_t hop_count, hop_capacity;
  int most_orbit; /* the largest number of an orbit among the rows, from 1 */
} int_file;

static void int_file_free(int_file* f) {
  tg_free(f->numbers);
  tg_free(f->number_lines);
  tg_free(f->rows);
  tg_free(f->hops);
}

static tg_status add_numbers(tg_ci_lines* lines, size_t first, int_file* f) {
  for (size_t k = first; k < lines->count; k++) {
    double value = 0;
    TG_TRY(tg_ci_lines_real(lines, k, "a single-particle energy or the mass block", &value));
    TG_TRY(TG_RESERVE(f->number_count + 1, "single-particle energies", &f->numbers,
                      &f->number_capacity));
    TG_TRY(TG_RESERVE(f->number_count + 1, "single-particle energies", &f->number_lines,
                      &f->line_capacity));
    f->number_lines[f->number_count] = lines->line;
    f->numbers[f->number_count++] = value;
  }
  return TG_OK;
}

/* `N spe ... [Acore A0 p]`, which may go on over lines; an element begins with a whole number. */
static tg_status read_head(tg_ci_lines* lines, int_file* f) {
  bool found = false;
  int whole = 0;
  TG_TRY(tg_ci_lines_need(lines, "the number of elements and the single-particle energies"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of elements", -INT_MAX, INT_MAX, &f->announced));
  f->place = tg_ci_lines_place(lines, 0);
  TG_TRY(add_numbers(lines, 1, f));
  for (;;) {
    TG_TRY(tg_ci_lines_next(lines, &found));
    if (!found) return TG_OK;
    if (tg_ci_word_int(lines->words[0], &whole)) {
      tg_ci_lines_back(lines);
      return TG_OK;
    }
    TG_TRY(add_numbers(lines, 0, f));
  }
}

static tg_status read_row(tg_ci_lines* lines, int most, int_file* f) {
  row r = {.line = lines->line};
  TG_TRY(tg_ci_lines_words(lines, 7, 7, "7 numbers: a b c d J T V"));
  for (size_t k = 0; k < 4; k++) {
    TG_TRY(tg_ci_lines_int(lines, k, "the number of an orbit", 1, most, &r.orbit[k]));
    if (r.orbit[k] > f->most_orbit) f->most_orbit = r.orbit[k];
    r.orbit[k]--;
  }
  TG_TRY(tg_ci_lines_int(lines, 4, "J", 0, 199, &r.j));
  TG_TRY(tg_ci_lines_int(lines, 5, "T", 0, 1, &r.isospin));
  TG_TRY(tg_ci_lines_real(lines, 6, "the element V", &r.value));
  r.resolution = tg_ci_lines_resolution(lines, 6);
  TG_TRY(TG_RESERVE(f->row_count + 1, "two-body elements", &f->rows, &f->row_capacity));
  f->rows[f->row_count++] = r;
  return TG_OK;
}

static tg_status read_rows(tg_ci_lines* lines, int most, int_file* f, tg_ci_notes* notes) {
  const int announced = abs(f->announced);
  for (int i = 0; i < announced; i++) {
    bool found = false;
    TG_TRY(tg_ci_lines_next(lines, &found));
    if (!found)
      return tg_ci_note(notes,
                        "%s: %d elements are announced and %d are there, as BIGSTICK allows; make "
                        "sure that the file is complete",
                        lines->file.path, announced, i);
    TG_TRY(read_row(lines, most, f));
  }
  return TG_OK;
}

/* `count`, then `a b U`: one-body elements between orbits, numbered protons first. */
static tg_status read_trailer(tg_ci_lines* lines, int most, int_file* f) {
  bool found = false;
  int count = 0;
  TG_TRY(tg_ci_lines_next(lines, &found));
  if (!found) return TG_OK;
  if (lines->count != 1)
    return tg_fail_at(tg_ci_lines_place(lines, 0),
                      "found another line after the %d elements announced; expected the end of the "
                      "file, or the number of off-diagonal one-body elements alone: is the number "
                      "of elements wrong?",
                      abs(f->announced));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of off-diagonal one-body elements", 0, INT_MAX,
                         &count));
  for (int i = 0; i < count; i++) {
    hop h = {0};
    TG_TRY(tg_ci_lines_need(lines, "another one-body element: a b U"));
    TG_TRY(tg_ci_lines_words(lines, 3, 3, "3 numbers: a b U"));
    TG_TRY(tg_ci_lines_int(lines, 0, "the number of an orbit", 1, most, &h.a));
    TG_TRY(tg_ci_lines_int(lines, 1, "the number of an orbit", 1, most, &h.b));
    TG_TRY(tg_ci_lines_real(lines, 2, "the element U", &h.value));
    h.a--;
    h.b--;
    h.line = lines->line;
    h.resolution = tg_ci_lines_resolution(lines, 2);
    TG_TRY(TG_RESERVE(f->hop_count + 1, "one-body elements", &f->hops, &f->hop_capacity));
    f->hops[f->hop_count++] = h;
  }
  return tg_ci_lines_need_end(lines, "the one-body elements");
}

/* ---- which form ---- */

static bool fits(const int_file* f, size_t energies) {
  return f->number_count == energies || f->number_count == energies + 3;
}

static tg_status find_form(const int_file* f, const tg_ci_shells* shells, tg_ci_format* form) {
  const size_t iso = shells->proton_count, both = shells->count;
  const bool may_iso = tg_ci_shells_isospin(shells) && fits(f, iso);
  const bool may_both = fits(f, both);
  if (*form == TG_CI_INT) {
    /* an orbit too many for either form is a mistake of the isospin form, if its energies are */
    if (f->most_orbit > (int)iso && (may_both || !may_iso))
      *form = TG_CI_INT_XPN;
    else if (may_iso && may_both && f->row_count == 0)
      return tg_fail_at(f->place,
                        "the first line's %zu numbers can be energies of protons and neutrons, or "
                        "%zu energies and a mass block; say which with --format iso or xpn",
                        f->number_count, iso);
    else
      *form = may_iso ? TG_CI_INT_ISO : TG_CI_INT_XPN;
  }
  const bool isospin = *form == TG_CI_INT_ISO;
  if (isospin && !tg_ci_shells_isospin(shells))
    return tg_fail_at(f->place,
                      "an interaction in isospin form, but protons and neutrons have different "
                      "orbits; use the pn form or other orbits");
  if (isospin && f->most_orbit > (int)iso)
    return tg_fail_at(f->place,
                      "orbit %d is used, but there are %zu in isospin form, which the %zu numbers "
                      "after the number of elements are of; expected orbits up to that, or "
                      "--format xpn and %zu energies",
                      f->most_orbit, iso, f->number_count, both);
  if (!fits(f, isospin ? iso : both))
    return tg_fail_at(
        f->place,
        "found %zu numbers after the number of elements; expected %zu single-particle "
        "energies%s, or 3 more for the mass block (Acore A0 p): do the orbits belong "
        "to this interaction?",
        f->number_count, isospin ? iso : both, isospin ? "" : " (protons, then neutrons)");
  return TG_OK;
}

/* ---- what the lines mean ---- */

static tg_status put_energies(const int_file* f, tg_ci_format form, const char* path,
                              tg_ci_model* model, tg_ci_part* part) {
  const size_t iso = model->shells.proton_count;
  for (size_t i = 0; i < model->shells.count; i++) {
    const size_t from = form == TG_CI_INT_ISO && i >= iso
                            ? (size_t)tg_ci_shells_partner(&model->shells, (int)i)
                            : i;
    tg_ci_one_element e = {.a = (int)i,
                           .b = (int)i,
                           .value = {.fixed = f->numbers[from]},
                           .line = f->number_lines[from]};
    TG_TRY(
        tg_ci_couplings_put_one(&part->couplings, &model->shells, e, (tg_place){path, e.line, 0}));
  }
  for (size_t i = 0; i < f->hop_count; i++) {
    const hop* h = &f->hops[i];
    tg_ci_one_element e = {.a = h->a,
                           .b = h->b,
                           .value = {.fixed = h->value},
                           .line = h->line,
                           .resolution = h->resolution};
    TG_TRY(
        tg_ci_couplings_put_one(&part->couplings, &model->shells, e, (tg_place){path, e.line, 0}));
  }
  return TG_OK;
}

static tg_status put_mass(const int_file* f, size_t energies, const char* path, tg_ci_model* model,
                          tg_ci_part* part, tg_ci_notes* notes) {
  const bool asked = f->announced < 0;
  if (f->number_count == energies) {
    part->scaling.on = asked; /* with mass 0: input.c wants --scale then */
    return TG_OK;
  }
  const double core = f->numbers[energies], mass = f->numbers[energies + 1],
               power = f->numbers[energies + 2];
  if (core < 0 || mass < 0 || core != floor(core) || (mass == 0 && power != 0))
    return tg_fail_at(f->place,
                      "found the mass block %g %g %g; expected the core's mass number, the mass "
                      "number A0 of the interaction and the power",
                      core, mass, power);
  if (model->core_mass >= 0 && model->core_mass != core)
    return tg_fail_at(f->place,
                      "the mass block says a core of mass %g, the file of orbits %g; expected the "
                      "same core",
                      core, model->core_mass);
  model->core_mass = core;
  if (power == 0) return TG_OK;
  part->scaling = (tg_ci_scaling){.on = true, .mass = mass, .power = power};
  if (asked) return TG_OK;
  return tg_ci_note(notes,
                    "%s: a mass block with a positive number of elements: two-body elements are "
                    "scaled by (%g/A)^%g as NuShellX does; BIGSTICK would not (--scale none)",
                    path, mass, power);
}

static tg_ci_two_element element_of(const row* r) {
  return (tg_ci_two_element){.a = r->orbit[0],
                             .b = r->orbit[1],
                             .c = r->orbit[2],
                             .d = r->orbit[3],
                             .j = r->j,
                             .value = {.fixed = r->value},
                             .line = r->line,
                             .resolution = r->resolution};
}

static tg_status put_isospin(const int_file* f, const char* path, tg_ci_model* model,
                             tg_ci_part* part) {
  tg_ci_isospin_elements elements = {0};
  tg_status status = TG_OK;
  for (size_t i = 0; i < f->row_count; i++)
    TG_TRY_GOTO(tg_ci_isospin_put(&elements, &model->shells, element_of(&f->rows[i]),
                                  f->rows[i].isospin, (tg_place){path, f->rows[i].line, 0}),
                done);
  TG_TRY_GOTO(tg_ci_isospin_expand(&elements, &model->shells, &part->couplings), done);
done:
  tg_ci_isospin_elements_free(&elements);
  return status;
}

static bool one_orbit(const tg_ci_shells* shells, int proton, int neutron) {
  return tg_ci_shells_partner(shells, proton) == neutron;
}

/* How unnormalised proton-neutron states differ: 1 for two different orbits, sqrt(2) for one. */
static double norm(const tg_ci_shells* shells, int proton, int neutron) {
  return one_orbit(shells, proton, neutron) ? sqrt(2.0) : 1;
}

/* An isospin-symmetric interaction has V_pn(aa,cd) = V_pp(aa,cd) / sqrt(2) for even J where the
 * states are normalised, and V_pp where they are not. Counts both; pp elements must be there
 * already. */
static void count_forms(const int_file* f, const tg_ci_shells* shells, const tg_ci_part* part,
                        size_t* normalised, size_t* unnormalised) {
  *normalised = *unnormalised = 0;
  for (size_t i = 0; i < f->row_count; i++) {
    const row* r = &f->rows[i];
    const int* o = r->orbit;
    const int c = o[2], b = o[1], d = o[3];
    if (tg_ci_pair_kind(shells, o[0], b) != TG_CI_PN || r->j % 2) continue;
    if (o[0] > b || c > d || one_orbit(shells, o[0], b) == one_orbit(shells, c, d)) continue;
    int sign = 1;
    const int protons[4] = {o[0], tg_ci_shells_partner(shells, b), c,
                            tg_ci_shells_partner(shells, d)};
    if (protons[1] < 0 || protons[3] < 0) continue;
    const tg_ci_two_element* pp =
        tg_ci_couplings_two(&part->couplings, shells, protons, r->j, &sign);
    const double same = pp ? sign * pp->value.fixed : 0;
    const double room = 2 * r->resolution + (pp ? 2 * pp->resolution : 0);
    if (fabs(same) * (1 - sqrt(0.5)) < 4 * room || fabs(same) < 1e-9) continue;
    if (fabs(r->value - same * sqrt(0.5)) <= room) ++*normalised;
    if (fabs(r->value - same) <= room) ++*unnormalised;
  }
}

static tg_status put_like(const int_file* f, const char* path, tg_ci_model* model,
                          tg_ci_part* part) {
  for (size_t i = 0; i < f->row_count; i++) {
    const row* r = &f->rows[i];
    if (tg_ci_pair_kind(&model->shells, r->orbit[0], r->orbit[1]) == TG_CI_PN) continue;
    const tg_place place = {path, r->line, 0};
    if (r->isospin != 1)
      return tg_fail_at(place,
                        "found T = 0 for two protons or two neutrons; expected T = 1: other "
                        "programs take the sign of exchanged orbits from it");
    TG_TRY(tg_ci_couplings_put_two(&part->couplings, &model->shells, element_of(r), place));
  }
  return TG_OK;
}

static tg_status put_mixed(const int_file* f, bool normalised, const char* path, tg_ci_model* model,
                           tg_ci_part* part) {
  const tg_ci_shells* shells = &model->shells;
  for (size_t i = 0; i < f->row_count; i++) {
    const row* r = &f->rows[i];
    const int* o = r->orbit;
    if (tg_ci_pair_kind(shells, o[0], o[1]) != TG_CI_PN) continue;
    const tg_place place = {path, r->line, 0};
    if (o[0] > o[1] || (tg_ci_pair_kind(shells, o[2], o[3]) == TG_CI_PN && o[2] > o[3]))
      return tg_fail_at(place,
                        "a neutron orbit before a proton orbit; expected the order proton neutron "
                        "proton neutron in .int files");
    tg_ci_two_element e = element_of(r);
    if (!normalised) {
      const double factor = 0.5 * norm(shells, o[0], o[1]) * norm(shells, o[2], o[3]);
      e.value.fixed *= factor;
      e.resolution *= factor;
    }
    TG_TRY(tg_ci_couplings_put_two(&part->couplings, shells, e, place));
  }
  return TG_OK;
}

static tg_status put_pn(const int_file* f, bool forced, tg_ci_format form, const char* path,
                        tg_ci_model* model, tg_ci_part* part, tg_ci_notes* notes) {
  size_t normalised = 0, unnormalised = 0;
  TG_TRY(put_like(f, path, model, part));
  count_forms(f, &model->shells, part, &normalised, &unnormalised);
  if (!forced) {
    form = unnormalised > normalised ? TG_CI_INT_UPN : TG_CI_INT_XPN;
    TG_TRY(tg_ci_note(
        notes, "%s: proton-neutron elements are taken as %s (%s), which %zu elements show%s", path,
        tg_ci_format_name(form), form == TG_CI_INT_XPN ? "normalised" : "unnormalised",
        normalised > unnormalised ? normalised : unnormalised,
        normalised + unnormalised ? "" : "; say so with --format xpn or upn"));
  } else if ((form == TG_CI_INT_XPN) != (normalised >= unnormalised)) {
    TG_TRY(
        tg_ci_note(notes, "%s: read as %s, as asked; but %zu proton-neutron elements look like %s",
                   path, tg_ci_format_name(form), form == TG_CI_INT_XPN ? unnormalised : normalised,
                   form == TG_CI_INT_XPN ? "upn" : "xpn"));
  }
  part->format = tg_ci_format_name(form);
  return put_mixed(f, form == TG_CI_INT_XPN, path, model, part);
}

static tg_status read_into(tg_ci_lines* lines, tg_ci_format form, int_file* f, tg_ci_model* model,
                           tg_ci_notes* notes) {
  const int most = (int)model->shells.count;
  const char* path = lines->file.path;
  const bool forced = form != TG_CI_INT;
  tg_ci_part* part = NULL;
  TG_TRY(tg_ci_model_add_part(model, path, tg_ci_format_name(form), &part));
  TG_TRY(read_head(lines, f));
  TG_TRY(read_rows(lines, most, f, notes));
  TG_TRY(read_trailer(lines, most, f));
  TG_TRY(find_form(f, &model->shells, &form));
  part->format = tg_ci_format_name(form);
  const size_t energies = form == TG_CI_INT_ISO ? model->shells.proton_count : model->shells.count;
  TG_TRY(put_mass(f, energies, path, model, part, notes));
  TG_TRY(put_energies(f, form, path, model, part));
  if (form == TG_CI_INT_ISO) return put_isospin(f, path, model, part);
  return put_pn(f, forced, form, path, model, part, notes);
}

tg_status tg_ci_read_int(tg_ci_lines* lines, tg_ci_format form, const tg_ci_model* space,
                         tg_ci_model* model, tg_ci_notes* notes) {
  int_file f = {0};
  TG_TRY(tg_ci_shells_copy(&space->shells, &model->shells));
  model->core_mass = space->core_mass;
  model->core_protons = space->core_protons;
  model->core_neutrons = space->core_neutrons;
  tg_status status = read_into(lines, form, &f, model, notes);
  int_file_free(&f);
  return status;
}
