/* SPDX-License-Identifier: Apache-2.0 */
/* FCIDUMP. Which layout a file has shows in its content: lines whose four indices are all 0 close a
 * section. One such line: restricted orbitals, or (with UHF) spin orbitals, odd ones alpha. Six:
 * the sections aa, bb, ab, h_a, h_b, constant of spatial orbitals per spin. */
#include "ci/input/fcidump.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/lines.h"
#include "ci/input/namelist.h"
#include "ci/input/readers.h"

/* Integrals that differ by less are one: those who write them stop at 1e-10 or so, and 1e-9 hartree
 * is the precision asked of energies. Likewise for integrals that labels forbid. */
static const double same_integral = 1e-8;

enum { MOLPRO_LABELS = 8, SECTIONS = 6 };

typedef enum layout { RESTRICTED, SPIN_ORBITALS, SECTIONED } layout;

typedef struct dump {
  tg_ci_lines lines;
  tg_ci_namelist head;
  layout layout;
  int norb;    /* of the file */
  int section; /* of SECTIONED */
  bool ended;  /* the constant was read */
} dump;

static tg_status read_head(dump* d, bool* unrestricted, tg_ci_integrals* out) {
  int iuhf = 0;
  const char* path = d->lines.file.path;
  TG_TRY(tg_ci_namelist_read(&d->lines.file, &d->head));
  const tg_place place = {path, 1, 0};
  if (!tg_ci_namelist_find(&d->head, "NORB") || !tg_ci_namelist_find(&d->head, "NELEC"))
    return tg_fail_at(place, "the namelist does not say %s; expected NORB and NELEC",
                      tg_ci_namelist_find(&d->head, "NORB") ? "NELEC" : "NORB");
  TG_TRY(tg_ci_namelist_int(&d->head, "NORB", 1, 2 * TG_CI_MOST_SPATIAL, &d->norb));
  TG_TRY(tg_ci_namelist_int(&d->head, "NELEC", 0, 4 * TG_CI_MOST_SPATIAL, &out->electrons));
  TG_TRY(tg_ci_namelist_int(&d->head, "MS2", -2 * TG_CI_MOST_SPATIAL, 2 * TG_CI_MOST_SPATIAL,
                            &out->two_sz));
  TG_TRY(tg_ci_namelist_int(&d->head, "ISYM", 0, 8, &out->isym));
  TG_TRY(tg_ci_namelist_int(&d->head, "IUHF", 0, 1, &iuhf));
  TG_TRY(tg_ci_namelist_logical(&d->head, "UHF", unrestricted));
  *unrestricted = *unrestricted || iuhf == 1;
  d->lines.next = d->head.next_line;
  return TG_OK;
}

/* A line whose last character is a 0: all that close a section are among them. */
static bool may_close(const char* line) {
  size_t length = strlen(line);
  while (length && isspace((unsigned char)line[length - 1])) length--;
  return length && line[length - 1] == '0';
}

/* Counts the lines that close sections, and finds what is wrong with them. */
static tg_status find_layout(dump* d, bool unrestricted) {
  const size_t start = d->lines.next, count = d->lines.file.line_count;
  int closings = 0, first = 0;
  for (size_t i = start; i < count; i++) {
    bool found = false;
    int index[4] = {1, 1, 1, 1};
    if (!may_close(d->lines.file.lines[i])) continue;
    d->lines.next = i;
    TG_TRY(tg_ci_lines_next(&d->lines, &found));
    bool numbers = d->lines.count == 5;
    for (size_t k = 0; numbers && k < 4; k++)
      numbers = tg_ci_word_int(d->lines.words[k + 1], &index[k]);
    if (!numbers || index[0] || index[1] || index[2] || index[3]) continue;
    closings++;
    if (!first) first = d->lines.line;
  }
  d->lines.next = start;
  const tg_place place = {d->lines.file.path, first, 0};
  if (closings <= 1) {
    d->layout = unrestricted ? SPIN_ORBITALS : RESTRICTED;
    return TG_OK;
  }
  if (!unrestricted)
    return tg_fail_at(
        place,
        "the first of %d lines with indices 0 0 0 0; expected one, at the end. Is this "
        "a dump of unrestricted orbitals that does not say so (IUHF=1)?",
        closings);
  if (closings != SECTIONS)
    return tg_fail_at(
        place,
        "the first of %d lines with indices 0 0 0 0; expected 1 (spin orbitals) or %d "
        "(sections aa, bb, ab, h_a, h_b and the constant): is the file complete?",
        closings, SECTIONS);
  d->layout = SECTIONED;
  return TG_OK;
}

static tg_status check_electrons(const dump* d, const tg_ci_integrals* g) {
  const tg_place place = tg_ci_namelist_find(&d->head, "NELEC")->place;
  if (d->layout == SPIN_ORBITALS && d->norb % 2)
    return tg_fail_at(tg_ci_namelist_find(&d->head, "NORB")->place,
                      "found NORB = %d spin orbitals with UHF; expected an even number", d->norb);
  if (g->orbitals > TG_CI_MOST_SPATIAL)
    return tg_fail_at(tg_ci_namelist_find(&d->head, "NORB")->place,
                      "found %zu spatial orbitals; at most %d are supported", g->orbitals,
                      TG_CI_MOST_SPATIAL);
  if (g->electrons > 2 * (int)g->orbitals)
    return tg_fail_at(place, "found NELEC = %d in %zu orbitals; expected at most %zu", g->electrons,
                      g->orbitals, 2 * g->orbitals);
  if ((g->electrons + g->two_sz) % 2)
    return tg_fail_at(place,
                      "found NELEC = %d and MS2 = %d; expected both even or both odd: MS2 is twice "
                      "Sz",
                      g->electrons, g->two_sz);
  const int alpha = (g->electrons + g->two_sz) / 2, beta = (g->electrons - g->two_sz) / 2;
  if (alpha < 0 || beta < 0 || alpha > (int)g->orbitals || beta > (int)g->orbitals)
    return tg_fail_at(
        place,
        "found NELEC = %d and MS2 = %d in %zu orbitals: that would be %d alpha and %d "
        "beta electrons",
        g->electrons, g->two_sz, g->orbitals, alpha, beta);
  return TG_OK;
}

/* ORBSYM, in Molpro's numbers; spin orbitals have one label a pair. */
static tg_status read_labels(dump* d, tg_ci_integrals* g, tg_ci_notes* notes) {
  TG_TRY(TG_ALLOCATE(g->orbitals, "symmetry labels", &g->label));
  const tg_ci_namelist_entry* entry = tg_ci_namelist_find(&d->head, "ORBSYM");
  const int step = d->layout == SPIN_ORBITALS ? 2 : 1;
  if (!entry) return TG_OK;
  if (entry->count != (size_t)d->norb)
    return tg_fail_at(entry->place, "found %zu labels in ORBSYM; expected NORB = %d", entry->count,
                      d->norb);
  g->symmetry = true;
  for (int i = 0; i < d->norb; i++) {
    int label = 0;
    const char* word = entry->value[i];
    if (!tg_parse_int(word, (int)strlen(word), &label))
      return tg_fail_at(entry->place, "found '%s' in ORBSYM; expected whole numbers", word);
    if (label < 1 || label > MOLPRO_LABELS) {
      g->symmetry = false;
      g->foreign_labels = true;
      memset(g->label, 0, g->orbitals);
      return tg_ci_note(notes,
                        "%s: ORBSYM holds %d, which is none of Molpro's labels 1 to %d; the labels "
                        "are not used, and all states are one irrep (PySCF writes Molpro's with "
                        "fcidump.from_scf(mf, name, molpro_orbsym=True))",
                        entry->place.file, label, MOLPRO_LABELS);
    }
    if (i % step != 0 && g->label[i / step] != label - 1)
      return tg_fail_at(entry->place,
                        "ORBSYM has %d and %d for the alpha and beta orbital %d; expected the same",
                        g->label[i / step] + 1, label, i / step + 1);
    g->label[i / step] = (uint8_t)(label - 1);
  }
  return TG_OK;
}

static tg_status add(dump* d, tg_ci_integral_list* list, tg_ci_integral integral, bool fold,
                     tg_ci_integrals* g) {
  const tg_ci_integral* known = NULL;
  TG_TRY(tg_ci_integral_list_add(list, integral, fold, &known));
  if (!known) return TG_OK;
  const double difference = fabs(known->value - integral.value);
  if (difference > same_integral)
    return tg_fail_at(tg_ci_lines_place(&d->lines, 0),
                      "this integral is %.12g here and %.12g in line %d (the same by symmetry); "
                      "expected equal values for real orbitals",
                      integral.value, known->value, known->line);
  g->duplicates++;
  g->duplicate_mismatch = fmax(g->duplicate_mismatch, difference);
  return TG_OK;
}

/* Spin orbitals 1, 3, ... are alpha. Returns the kind of integral, -1 where a side mixes spins. */
static int split_spins(tg_ci_integral* e) {
  const int spin_i = e->i % 2, spin_j = e->j % 2;
  const bool one = e->k < 0;
  const int spin_k = one ? spin_i : e->k % 2, spin_l = one ? spin_i : e->l % 2;
  e->i /= 2;
  e->j /= 2;
  if (!one) {
    e->k /= 2;
    e->l /= 2;
  }
  if (spin_i != spin_j || spin_k != spin_l) return -1;
  if (spin_i == spin_k) return spin_i ? TG_CI_BB : TG_CI_AA;
  if (spin_i) { /* (bb|aa) = (aa|bb) */
    const tg_ci_integral given = *e;
    e->i = given.k;
    e->j = given.l;
    e->k = given.i;
    e->l = given.j;
  }
  return TG_CI_AB;
}

static tg_status keep(dump* d, tg_ci_integral e, tg_ci_integrals* g) {
  const bool one = e.k < 0;
  int kind = TG_CI_AA;
  if (d->layout == SPIN_ORBITALS) {
    kind = split_spins(&e);
    if (kind < 0 && e.value == 0) return TG_OK;
    if (kind < 0)
      return tg_fail_at(tg_ci_lines_place(&d->lines, 0),
                        "an integral of %g that mixes an odd (alpha) and an even (beta) spin "
                        "orbital; expected none: with UHF=.TRUE. NORB counts spin orbitals",
                        e.value);
  } else if (d->layout == SECTIONED) {
    static const char* const names[SECTIONS] = {"(aa|aa)", "(bb|bb)", "(aa|bb)",
                                                "h_a",     "h_b",     "the constant"};
    if (d->section >= SECTIONS - 1 || one != (d->section >= 3))
      return tg_fail_at(tg_ci_lines_place(&d->lines, 0),
                        "a %s integral in section %d; expected %s there: are the sections in the "
                        "order aa, bb, ab, h_a, h_b, constant?",
                        one ? "one-electron" : "two-electron", d->section + 1, names[d->section]);
    kind = one ? d->section - 3 : d->section;
  }
  if (one) return add(d, &g->one[kind], e, false, g);
  return add(d, &g->two[kind], e, kind != TG_CI_AB, g);
}

/* `0 0 0 0`: the constant, or the end of a section. */
static tg_status close_section(dump* d, double value, tg_ci_integrals* g) {
  if (d->layout == SECTIONED && d->section < SECTIONS - 1) {
    if (value != 0)
      return tg_fail_at(tg_ci_lines_place(&d->lines, 0),
                        "found %g at the end of section %d; expected 0", value, d->section + 1);
    d->section++;
    return TG_OK;
  }
  g->core = value;
  d->ended = true;
  return TG_OK;
}

static tg_status read_integral(dump* d, tg_ci_integrals* g) {
  double value = 0;
  int index[4] = {0, 0, 0, 0};
  TG_TRY(tg_ci_lines_words(&d->lines, 5, 5, "5 numbers: value i j k l"));
  TG_TRY(tg_ci_lines_real(&d->lines, 0, "an integral", &value));
  for (size_t k = 0; k < 4; k++)
    TG_TRY(tg_ci_lines_int(&d->lines, k + 1, "the number of an orbital", 0, d->norb, &index[k]));
  const bool one = index[2] == 0 && index[3] == 0;
  if (one && index[1] == 0) {
    if (index[0] == 0) return close_section(d, value, g);
    g->orbital_energies++;
    return TG_OK;
  }
  if (index[0] == 0 || index[1] == 0 || (!one && (index[2] == 0 || index[3] == 0)))
    return tg_fail_at(
        tg_ci_lines_place(&d->lines, 1),
        "found the indices %d %d %d %d; expected i j k l, i j 0 0, i 0 0 0 or 0 0 0 0", index[0],
        index[1], index[2], index[3]);
  return keep(d,
              (tg_ci_integral){.value = value,
                               .i = index[0] - 1,
                               .j = index[1] - 1,
                               .k = index[2] - 1,
                               .l = index[3] - 1,
                               .line = d->lines.line},
              g);
}

/* Integrals that labels forbid must vanish; else the labels go. */
static tg_status check_labels(const char* path, tg_ci_integrals* g, tg_ci_notes* notes) {
  size_t count = 0;
  const tg_ci_integral* worst = NULL;
  if (!g->symmetry) return TG_OK;
  for (int s = 0; s < 5; s++) {
    tg_ci_integral_list* list = s < 2 ? &g->one[s] : &g->two[s - 2];
    for (size_t i = 0; i < list->count; i++) {
      const tg_ci_integral* e = &list->item[i];
      unsigned product = g->label[e->i] ^ g->label[e->j];
      if (e->k >= 0) product ^= g->label[e->k] ^ g->label[e->l];
      if (product == 0) continue;
      if (fabs(e->value) > same_integral) count++;
      if (fabs(e->value) <= g->symmetry_violation) continue;
      g->symmetry_violation = fabs(e->value);
      worst = e;
    }
  }
  if (count == 0) return TG_OK;
  g->forbidden = *worst;
  const int of[4] = {worst->i, worst->j, worst->k, worst->l};
  for (int k = 0; k < (worst->k < 0 ? 2 : 4); k++) g->forbidden_label[k] = g->label[of[k]];
  g->symmetry = false;
  memset(g->label, 0, g->orbitals);
  return tg_ci_note(notes,
                    "%s: %zu integrals (the largest %.3g) contradict ORBSYM: its numbers are not "
                    "Molpro's, or the orbitals have no symmetry; the labels are not used",
                    path, count, g->symmetry_violation);
}

static tg_status note_unknown_keys(const dump* d, tg_ci_notes* notes) {
  static const char* const known[] = {"NORB", "NELEC", "MS2", "ORBSYM", "ISYM", "UHF", "IUHF"};
  for (size_t i = 0; i < d->head.count; i++) {
    bool used = false;
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
      used = used || strcmp(known[k], d->head.entry[i].key) == 0;
    if (!used)
      TG_TRY(tg_ci_note(notes, "%s: the key %s is not used", d->lines.file.path,
                        d->head.entry[i].key));
  }
  return TG_OK;
}

static tg_status read_all(dump* d, tg_ci_integrals* g, tg_ci_notes* notes) {
  bool unrestricted = false, found = false;
  const char* path = d->lines.file.path;
  TG_TRY(read_head(d, &unrestricted, g));
  TG_TRY(find_layout(d, unrestricted));
  g->unrestricted = unrestricted;
  g->orbitals = (size_t)(d->layout == SPIN_ORBITALS ? d->norb / 2 : d->norb);
  TG_TRY(check_electrons(d, g));
  TG_TRY(read_labels(d, g, notes));
  for (;;) {
    TG_TRY(tg_ci_lines_next(&d->lines, &found));
    if (!found) break;
    if (d->ended)
      return tg_fail_at(tg_ci_lines_place(&d->lines, 0),
                        "another line after the constant (0 0 0 0); expected the end of the file");
    TG_TRY(read_integral(d, g));
  }
  if (!d->ended)
    return tg_fail_at(
        (tg_place){path, (int)d->lines.file.line_count, 0},
        "the file ends without the constant (value 0 0 0 0); expected it last: is the "
        "file complete?");
  if (g->one[0].count == 0)
    return tg_fail_at((tg_place){path, (int)d->lines.file.line_count, 0},
                      "there are no one-electron integrals; expected lines value i j 0 0: is the "
                      "file complete?");
  TG_TRY(check_labels(path, g, notes));
  if (g->orbital_energies)
    TG_TRY(tg_ci_note(notes, "%s: %zu orbital energies are not used", path, g->orbital_energies));
  return note_unknown_keys(d, notes);
}

tg_status tg_ci_read_fcidump(const char* path, tg_ci_integrals* out, tg_ci_notes* notes) {
  dump d = {0};
  tg_ci_integrals integrals = {0};
  tg_status status = tg_ci_lines_open(path, "", &d.lines);
  if (status == TG_OK) status = read_all(&d, &integrals, notes);
  tg_ci_lines_close(&d.lines);
  tg_ci_namelist_free(&d.head);
  if (status != TG_OK) {
    tg_ci_integrals_free(&integrals);
    return status;
  }
  *out = integrals;
  return TG_OK;
}
