/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/natural.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "eigen/small.h"

void tg_ci_natural_free(tg_ci_natural* n) {
  if (!n) return;
  tg_free(n->occupation);
  tg_free(n->coefficient);
  tg_free(n->symmetry);
  memset(n, 0, sizeof *n);
}

/* An orbital on its way into the order. */
typedef struct found {
  double occupation;
  size_t number;
} found;

static int falling(const void* x, const void* y) {
  const found *a = x, *b = y;
  if (a->occupation != b->occupation) return a->occupation > b->occupation ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

/* The part of one (2m, label), whose orbitals are members: into columns done ... of coefficient. */
static tg_status diagonalise(size_t n, const double* density, size_t count, const size_t* members,
                             size_t done, found* order, double* coefficient) {
  double *part = NULL, *values = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(count * count, "a density matrix", &part), done);
  TG_TRY_GOTO(TG_ALLOCATE(count, "occupations", &values), done);
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count; j++)
      part[i * count + j] =
          0.5 * (density[members[i] * n + members[j]] + density[members[j] * n + members[i]]);
  TG_TRY_GOTO(tg_small_eigen((int)count, part, (int)count, values), done);
  for (size_t k = 0; k < count; k++) {
    order[done + k] = (found){values[k], done + k};
    for (size_t i = 0; i < count; i++) coefficient[members[i] * n + done + k] = part[k * count + i];
  }
done:
  tg_free(part);
  tg_free(values);
  return status;
}

/* All parts, in the order of the first orbital of each; label: [n] of the columns. */
static tg_status all_parts(size_t n, const tg_ci_orbital* o, const double* density, found* order,
                           double* coefficient, uint8_t* label) {
  size_t* members = NULL;
  size_t done = 0;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(n + 1, "orbitals of a symmetry", &members));
  for (size_t p = 0; p < n; p++) {
    size_t count = 0, before = 0;
    for (size_t q = 0; q < n; q++) {
      if (o[q].symmetry != o[p].symmetry || o[q].two_m != o[p].two_m) continue;
      before += q < p;
      members[count++] = q;
    }
    if (before) continue; /* its part is done */
    TG_TRY_GOTO(diagonalise(n, density, count, members, done, order, coefficient), done);
    memset(label + done, o[p].symmetry, count);
    done += count;
  }
done:
  tg_free(members);
  return status;
}

tg_status tg_ci_natural_make(size_t n, const tg_ci_orbital* orbitals, const double* density,
                             tg_ci_natural* out) {
  tg_ci_natural made = {.orbitals = n};
  found* order = NULL;
  double* coefficient = NULL;
  uint8_t* label = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "natural orbitals", &order), done);
  TG_TRY_GOTO(TG_ALLOCATE(n * n + 1, "natural orbitals", &coefficient), done);
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "natural orbitals", &label), done);
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "occupations", &made.occupation), done);
  TG_TRY_GOTO(TG_ALLOCATE(n * n + 1, "natural orbitals", &made.coefficient), done);
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "labels", &made.symmetry), done);
  TG_TRY_GOTO(all_parts(n, orbitals, density, order, coefficient, label), done);
  qsort(order, n, sizeof *order, falling);
  for (size_t k = 0; k < n; k++) {
    made.occupation[k] = order[k].occupation;
    made.symmetry[k] = label[order[k].number];
    for (size_t p = 0; p < n; p++)
      made.coefficient[p * n + k] = coefficient[p * n + order[k].number];
  }
  *out = made;
  made = (tg_ci_natural){0};
done:
  tg_free(order);
  tg_free(coefficient);
  tg_free(label);
  tg_ci_natural_free(&made);
  return status;
}
