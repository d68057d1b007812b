/* SPDX-License-Identifier: Apache-2.0 */
/* From J-coupled elements to the m-scheme:
 *
 *   V(a ma b mb, c mc d md) = sqrt((1+d_ab)(1+d_cd)) sum_J <ja ma jb mb|JM> <jc mc jd md|JM>
 * <ab|V|cd>_J
 *
 * antisymmetric already; protons and neutrons are different orbits, so the roots are 1 there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/angular.h"
#include "ci/model.h"

/* Clebsch-Gordan coefficients of all pairs of j in use: block(ja, jb)[ma][mb][J - |ja - jb|]. */
typedef struct coefficients {
  double* block[TG_CI_SHELL_MOST_TWO_J + 1][TG_CI_SHELL_MOST_TWO_J + 1];
} coefficients;

static int least_j(int two_ja, int two_jb) { return abs(two_ja - two_jb) / 2; }

static int count_j(int two_ja, int two_jb) { return (two_ja < two_jb ? two_ja : two_jb) + 1; }

static tg_status block_of(coefficients* table, int two_ja, int two_jb, const double** out) {
  double** block = &table->block[two_ja][two_jb];
  if (!*block) {
    int count = count_j(two_ja, two_jb), least = least_j(two_ja, two_jb);
    TG_TRY(TG_ALLOCATE((size_t)(two_ja + 1) * (size_t)(two_jb + 1) * (size_t)count,
                       "Clebsch-Gordan coefficients", block));
    double* next = *block;
    for (int ma = -two_ja; ma <= two_ja; ma += 2)
      for (int mb = -two_jb; mb <= two_jb; mb += 2)
        for (int j = least; j < least + count; j++)
          *next++ = tg_ci_clebsch(two_ja, ma, two_jb, mb, 2 * j, ma + mb);
  }
  *out = *block;
  return TG_OK;
}

static void coefficients_free(coefficients* table) {
  if (!table) return;
  for (int i = 0; i <= TG_CI_SHELL_MOST_TWO_J; i++)
    for (int k = 0; k <= TG_CI_SHELL_MOST_TWO_J; k++) tg_free(table->block[i][k]);
  tg_free(table);
}

/* One set of four orbits: all its J, and what the loops over m need. */
typedef struct quadruple {
  const tg_ci_two_element* first; /* [count], the same orbits, J rising */
  size_t count;
  int orbit[4];
  int two_j[4];
  int offset[4]; /* of the orbit's first orbital, within its species */
  int kind;
  const double *left, *right; /* coefficients of ab and cd */
} quadruple;

static double element(const quadruple* q, const int m[4]) {
  const double* left =
      q->left + (m[0] * (q->two_j[1] + 1) + m[1]) * count_j(q->two_j[0], q->two_j[1]);
  const double* right =
      q->right + (m[2] * (q->two_j[3] + 1) + m[3]) * count_j(q->two_j[2], q->two_j[3]);
  double sum = 0;
  for (size_t i = 0; i < q->count; i++)
    sum += q->first[i].value.fixed * left[q->first[i].j - least_j(q->two_j[0], q->two_j[1])] *
           right[q->first[i].j - least_j(q->two_j[2], q->two_j[3])];
  if (q->orbit[0] == q->orbit[1]) sum *= sqrt(2.0);
  if (q->orbit[2] == q->orbit[3]) sum *= sqrt(2.0);
  return sum;
}

/* m counts projections from 0: the orbital within its orbit. */
static tg_status set_elements(const quadruple* q, tg_ci_hamiltonian* h) {
  const int shift = (q->two_j[0] + q->two_j[1] - q->two_j[2] - q->two_j[3]) / 2;
  int m[4];
  for (m[0] = 0; m[0] <= q->two_j[0]; m[0]++)
    for (m[1] = q->orbit[0] == q->orbit[1] ? m[0] + 1 : 0; m[1] <= q->two_j[1]; m[1]++)
      for (m[2] = 0; m[2] <= q->two_j[2]; m[2]++) {
        m[3] = m[0] + m[1] - m[2] - shift;
        if (m[3] < 0 || m[3] > q->two_j[3]) continue;
        if (q->orbit[2] == q->orbit[3] && m[3] <= m[2]) continue;
        const double value = element(q, m);
        const int i[4] = {q->offset[0] + m[0], q->offset[1] + m[1], q->offset[2] + m[2],
                          q->offset[3] + m[3]};
        if (q->kind == TG_CI_PN)
          TG_TRY(tg_ci_hamiltonian_set_cross(h, i[0], i[2], i[1], i[3], value));
        else
          TG_TRY(tg_ci_hamiltonian_set_two(h, q->kind == TG_CI_PP ? TG_CI_PROTON : TG_CI_NEUTRON,
                                           i[0], i[1], i[2], i[3], value));
      }
  return TG_OK;
}

static int by_orbits(const void* left, const void* right) {
  const tg_ci_two_element *x = left, *y = right;
  const int differences[] = {x->a - y->a, x->b - y->b, x->c - y->c, x->d - y->d, x->j - y->j};
  for (size_t i = 0; i < 5; i++)
    if (differences[i]) return differences[i];
  return 0;
}

static bool same_orbits(const tg_ci_two_element* x, const tg_ci_two_element* y) {
  return x->a == y->a && x->b == y->b && x->c == y->c && x->d == y->d;
}

static tg_status set_two_body(const tg_ci_shells* shells, const int* offsets,
                              const tg_ci_two_element* sorted, size_t count, tg_ci_hamiltonian* h) {
  coefficients* table = NULL;
  TG_TRY(TG_ALLOCATE(1, "Clebsch-Gordan coefficients", &table));
  tg_status status = TG_OK;
  for (size_t begin = 0, end = 0; begin < count; begin = end) {
    while (end < count && same_orbits(&sorted[begin], &sorted[end])) end++;
    const tg_ci_two_element* e = &sorted[begin];
    quadruple q = {.first = e, .count = end - begin, .orbit = {e->a, e->b, e->c, e->d}};
    for (int i = 0; i < 4; i++) {
      q.two_j[i] = shells->shell[q.orbit[i]].two_j;
      q.offset[i] = offsets[q.orbit[i]];
    }
    q.kind = tg_ci_pair_kind(shells, e->a, e->b);
    TG_TRY_GOTO(block_of(table, q.two_j[0], q.two_j[1], &q.left), free_table);
    TG_TRY_GOTO(block_of(table, q.two_j[2], q.two_j[3], &q.right), free_table);
    TG_TRY_GOTO(set_elements(&q, h), free_table);
  }
free_table:
  coefficients_free(table);
  return status;
}

size_t tg_ci_model_orbital_count(const tg_ci_model* model, int species) {
  size_t count = 0;
  for (size_t i = 0; i < model->shells.count; i++)
    if (model->shells.shell[i].species == species)
      count += (size_t)model->shells.shell[i].two_j + 1;
  return count;
}

void tg_ci_model_orbitals(const tg_ci_model* model, int species, tg_ci_orbital* orbitals) {
  uint16_t number = 0;
  for (size_t i = 0; i < model->shells.count; i++) {
    const tg_ci_shell* shell = &model->shells.shell[i];
    if (shell->species != species) continue;
    for (int m = -shell->two_j; m <= shell->two_j; m += 2)
      *orbitals++ = (tg_ci_orbital){.two_m = (int16_t)m,
                                    .symmetry = (uint8_t)(shell->l % 2),
                                    .weight = (uint8_t)shell->weight,
                                    .shell = number};
    number++;
  }
}

static tg_status create(const tg_ci_model* model, tg_ci_hamiltonian** out) {
  const size_t protons = tg_ci_model_orbital_count(model, TG_CI_PROTON);
  const size_t neutrons = tg_ci_model_orbital_count(model, TG_CI_NEUTRON);
  tg_ci_orbital* orbitals = NULL;
  TG_TRY(TG_ALLOCATE(protons + neutrons, "orbitals", &orbitals));
  if (orbitals) {
    tg_ci_model_orbitals(model, TG_CI_PROTON, orbitals);
    tg_ci_model_orbitals(model, TG_CI_NEUTRON, orbitals + protons);
  }
  const tg_ci_orbital* second = orbitals ? orbitals + protons : NULL;
  tg_status status = tg_ci_hamiltonian_create(protons, orbitals, neutrons, second, out);
  tg_free(orbitals);
  return status;
}

tg_status tg_ci_couplings_uncouple(const tg_ci_couplings* couplings, const tg_ci_model* model,
                                   tg_ci_hamiltonian** out) {
  const tg_ci_shells* shells = &model->shells;
  tg_ci_hamiltonian* h = NULL;
  int* offsets = NULL;
  tg_ci_two_element* sorted = NULL;
  tg_status status = TG_OK;
  TG_TRY_GOTO(create(model, &h), failed);
  TG_TRY_GOTO(TG_ALLOCATE(shells->count, "orbits", &offsets), failed);
  for (size_t i = 1; i < shells->count; i++)
    offsets[i] = i == shells->proton_count ? 0 : offsets[i - 1] + shells->shell[i - 1].two_j + 1;
  for (size_t i = 0; i < couplings->one_count; i++) {
    const tg_ci_one_element* e = &couplings->one[i];
    for (int m = 0; m <= shells->shell[e->a].two_j; m++)
      TG_TRY_GOTO(tg_ci_hamiltonian_set_one(h, shells->shell[e->a].species, offsets[e->a] + m,
                                            offsets[e->b] + m, e->value.fixed),
                  failed);
  }
  TG_TRY_GOTO(TG_ALLOCATE(couplings->two_count, "two-body elements", &sorted), failed);
  if (couplings->two_count) {
    memcpy(sorted, couplings->two, couplings->two_count * sizeof *sorted);
    qsort(sorted, couplings->two_count, sizeof *sorted, by_orbits);
  }
  TG_TRY_GOTO(set_two_body(shells, offsets, sorted, couplings->two_count, h), failed);
  tg_free(sorted);
  tg_free(offsets);
  *out = h;
  return TG_OK;
failed:
  tg_free(sorted);
  tg_free(offsets);
  tg_ci_hamiltonian_free(h);
  return status;
}

tg_status tg_ci_model_number(const tg_ci_model* model, size_t shell, tg_ci_hamiltonian** out) {
  if (shell >= model->shells.count)
    return tg_fail(TG_ERR_INPUT, "orbit %zu of %zu; they count from 0", shell, model->shells.count);
  tg_ci_couplings number = {0};
  tg_ci_one_element e = {.a = (int)shell, .b = (int)shell, .value = {.fixed = 1}};
  tg_status status = tg_ci_couplings_put_one(&number, &model->shells, e, (tg_place){"", 0, 0});
  if (status == TG_OK) status = tg_ci_couplings_uncouple(&number, model, out);
  tg_ci_couplings_free(&number);
  return status;
}
