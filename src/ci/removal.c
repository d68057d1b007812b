/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/removal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* A removal that was found, with what sorts it to its remainder. */
typedef struct entry {
  const uint16_t* list; /* the string's orbitals, as many particles */
  uint64_t mark;        /* of the remainder */
  tg_ci_removal removal;
  int32_t two_m; /* of the remainder */
  uint32_t symmetry;
  int16_t particles, skip[TG_CI_MOST_REMOVED]; /* places in the list that are left out; -1: none */
  int16_t side;
} entry;

size_t tg_ci_sets(size_t orbitals, int count) {
  if (count == 0) return 1;
  return count == 1 ? orbitals : orbitals * (orbitals - (orbitals > 0)) / 2;
}

void tg_ci_removals_free(tg_ci_removals* r) {
  if (!r) return;
  /* both sides may be one */
  if (r->list[1] != r->list[0]) TG_FREE(r->list[1]);
  if (r->begin[1] != r->begin[0]) TG_FREE(r->begin[1]);
  tg_free(r->list[0]);
  tg_free(r->begin[0]);
  tg_free(r->classes);
  for (int side = 0; side < 2; side++) {
    tg_free(r->set_two_m[side]);
    tg_free(r->set_symmetry[side]);
  }
  memset(r, 0, sizeof *r);
}

/* ---- sets of orbitals ---- */

static tg_status describe_sets(const tg_ci_orbital* o, size_t n, int count, int side,
                               tg_ci_removals* out) {
  const size_t sets = tg_ci_sets(n, count);
  out->sets[side] = sets;
  TG_TRY(TG_ALLOCATE(sets + 1, "sets of orbitals", &out->set_two_m[side]));
  TG_TRY(TG_ALLOCATE(sets + 1, "sets of orbitals", &out->set_symmetry[side]));
  size_t set = 0;
  for (size_t q = 0; count > 0 && q < n; q++)
    for (size_t p = 0; p < (count == 1 ? 1 : q); p++, set++) {
      out->set_two_m[side][set] = o[q].two_m + (count == 2 ? o[p].two_m : 0);
      out->set_symmetry[side][set] = o[q].symmetry ^ (count == 2 ? o[p].symmetry : 0u);
    }
  return TG_OK;
}

/* ---- all removals ---- */

static size_t ways(int particles, int count) {
  return particles < count ? 0 : tg_ci_sets((size_t)particles, count);
}

typedef struct source {
  const tg_ci_orbital* orbitals;
  const uint64_t* marks; /* of either side: one must know the other's remainders */
  tg_ci_removed removed;
  int side;
} source;

/* The removal of the places p < q (the first `count` of them, from the last) of a string. */
static entry remove_places(const source* s, const tg_ci_class* class, entry e, int p, int q) {
  const int count = s->removed.count;
  const uint16_t* list = e.list;
  e.two_m = class->two_m;
  e.symmetry = class->symmetry;
  e.skip[0] = e.skip[1] = -1;
  e.removal.sign = 1;
  const int places[2] = {q, p};
  for (int k = 0; k < count && k < TG_CI_MOST_REMOVED; k++) {
    const uint16_t orbital = list[places[k]];
    e.mark ^= s->marks[orbital];
    e.two_m -= s->orbitals[orbital].two_m;
    e.symmetry ^= s->orbitals[orbital].symmetry;
    e.skip[count - 1 - k] = (int16_t)places[k];
  }
  if (count == 1) {
    e.removal.set = list[q];
    e.removal.sign = q % 2 ? -1 : 1;
  } else if (count == 2) {
    e.removal.set = (uint32_t)list[q] * (list[q] - 1u) / 2 + list[p];
    e.removal.sign = (p + q - 1) % 2 ? -1 : 1; /* a_p first, so that q is one place lower */
  }
  return e;
}

static size_t find_all(const source* s, entry* out) {
  const tg_ci_strings* strings = s->removed.strings;
  const int n = strings->particles, count = s->removed.count;
  size_t found = 0;
  if (n < count) return 0;
  for (size_t c = 0; c < strings->class_count; c++) {
    const tg_ci_class* class = &strings->classes[c];
    for (size_t i = class->begin; i < class->begin + class->count; i++) {
      entry e = {.list = tg_ci_string(strings, i),
                 .removal = {.string = (uint32_t)i, .class = (uint32_t)c},
                 .particles = (int16_t)n,
                 .side = (int16_t)s->side};
      for (int k = 0; k < n; k++) e.mark ^= s->marks[e.list[k]];
      for (int q = 0; q < (count ? n : 1); q++)
        for (int p = 0; p < (count == 2 ? q : 1); p++)
          out[found++] = remove_places(s, class, e, p, q);
    }
  }
  return found;
}

/* ---- sorted into remainders ---- */

static int by_list(const entry* a, const entry* b) {
  int i = 0, k = 0;
  for (;;) {
    while (i == a->skip[0] || i == a->skip[1]) i++;
    while (k == b->skip[0] || k == b->skip[1]) k++;
    if (i >= a->particles || k >= b->particles) return 0; /* as many are left in both */
    if (a->list[i] != b->list[k]) return a->list[i] < b->list[k] ? -1 : 1;
    i++;
    k++;
  }
}

static int by_remainder(const void* x, const void* y) {
  const entry *a = x, *b = y;
  if (a->two_m != b->two_m) return a->two_m < b->two_m ? -1 : 1;
  if (a->symmetry != b->symmetry) return a->symmetry < b->symmetry ? -1 : 1;
  if (a->mark != b->mark) return a->mark < b->mark ? -1 : 1;
  return by_list(a, b);
}

static int by_remainder_and_string(const void* x, const void* y) {
  const entry *a = x, *b = y;
  const int order = by_remainder(x, y);
  if (order) return order;
  if (a->side != b->side) return a->side < b->side ? -1 : 1;
  return a->removal.string < b->removal.string ? -1 : a->removal.string > b->removal.string;
}

static bool same_class(const entry* a, const entry* b) {
  return a->two_m == b->two_m && a->symmetry == b->symmetry;
}

/* Entries first ... end - 1 are one remainder's; kept where all `sides` have it. */
static void keep_remainder(const entry* e, size_t first, size_t end, int sides,
                           tg_ci_removals* out) {
  size_t middle = first;
  while (middle < end && e[middle].side == 0) middle++;
  if (middle == first || (sides == 2 && middle == end)) return;
  tg_ci_remainder_class* class = &out->classes[out->class_count ? out->class_count - 1 : 0];
  if (out->class_count == 0 || class->two_m != e[first].two_m ||
      class->symmetry != e[first].symmetry) {
    class = &out->classes[out->class_count++];
    *class = (tg_ci_remainder_class){e[first].two_m, e[first].symmetry, out->count, out->count};
  }
  const size_t bounds[3] = {first, middle, end};
  for (int side = 0; side < sides && side < 2; side++) {
    const size_t begin = out->begin[side][out->count], count = bounds[side + 1] - bounds[side];
    for (size_t i = 0; i < count; i++) out->list[side][begin + i] = e[bounds[side] + i].removal;
    out->begin[side][out->count + 1] = begin + count;
    if (count > out->most[side]) out->most[side] = count;
  }
  class->end = ++out->count;
}

static tg_status sort_out(entry* e, size_t count, const size_t found[2], int sides,
                          tg_ci_removals* out) {
  size_t remainders = 0, classes = 0;
  if (count) qsort(e, count, sizeof *e, by_remainder_and_string);
  for (size_t i = 0; i < count; i++) {
    remainders += i == 0 || by_remainder(&e[i - 1], &e[i]) != 0;
    classes += i == 0 || !same_class(&e[i - 1], &e[i]);
  }
  TG_TRY(TG_ALLOCATE(classes + 1, "classes of remainders", &out->classes));
  for (int side = 0; side < sides; side++) {
    TG_TRY(TG_ALLOCATE(remainders + 1, "remainders of strings", &out->begin[side]));
    TG_TRY(TG_ALLOCATE(found[side] + 1, "remainders of strings", &out->list[side]));
  }
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && by_remainder(&e[first], &e[end]) == 0;) end++;
    keep_remainder(e, first, end, sides, out);
  }
  if (sides == 1) {
    out->begin[1] = out->begin[0];
    out->list[1] = out->list[0];
    out->most[1] = out->most[0];
  }
  return TG_OK;
}

tg_status tg_ci_removals_make(const tg_ci_hamiltonian* h, int species, tg_ci_removed bra,
                              tg_ci_removed ket, tg_ci_removals* out) {
  const tg_ci_orbital* orbitals;
  const size_t n = tg_ci_hamiltonian_orbitals(h, species, &orbitals);
  const tg_ci_removed side[2] = {bra, ket};
  const bool same = bra.strings == ket.strings && bra.count == ket.count;
  const bool fits = bra.strings->particles - bra.count == ket.strings->particles - ket.count;
  const int sides = same ? 1 : 2;
  tg_ci_removals made = {0};
  entry* e = NULL;
  tg_status status = TG_OK;
  size_t room = 0, count = 0, found[2] = {0, 0};
  for (int s = 0; s < 2; s++)
    TG_TRY_GOTO(describe_sets(orbitals, n, side[s].count, s, &made), done);
  for (int s = 0; fits && s < sides; s++)
    room += side[s].strings->count * ways(side[s].strings->particles, side[s].count);
  TG_TRY_GOTO(TG_ALLOCATE(room + 1, "removals from strings", &e), done);
  for (int s = 0; fits && s < sides; s++) {
    const source from = {orbitals, bra.strings->marks, side[s], s};
    found[s] = find_all(&from, e + count);
    count += found[s];
  }
  TG_TRY_GOTO(sort_out(e, count, found, sides, &made), done);
  *out = made;
  made = (tg_ci_removals){0};
done:
  tg_free(e);
  tg_ci_removals_free(&made);
  return status;
}
