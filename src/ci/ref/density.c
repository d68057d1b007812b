/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/ref/density.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* a_q, or a+_q where create, on an occupied set: the sign it gives, 0 for nothing left. */
static int act(bool* occupied, size_t q, bool create) {
  if (occupied[q] == create) return 0;
  int sign = 1;
  for (size_t o = 0; o < q; o++)
    if (occupied[o]) sign = -sign;
  occupied[q] = create;
  return sign;
}

/* The state of the space that the set shows; UINT64_MAX: none. list: room for all orbitals. */
static uint64_t find(const tg_ci_space* space, const size_t orbitals[2], const bool* occupied,
                     uint16_t* list) {
  size_t number[2];
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* s = &space->strings[t];
    int k = 0;
    for (size_t o = 0; o < orbitals[t]; o++)
      if (occupied[(t ? orbitals[0] : 0) + o]) list[k++] = (uint16_t)o;
    if (k != s->particles) return UINT64_MAX;
    number[t] = tg_ci_strings_find(s, list, tg_ci_strings_mark(s, list));
    if (number[t] == SIZE_MAX) return UINT64_MAX;
  }
  return tg_ci_space_state(space, number[0], number[1]);
}

tg_status tg_ci_ref_density(const tg_ci_hamiltonian* h, const tg_ci_space* final,
                            const tg_ci_space* initial, size_t p, size_t q, const double* f,
                            const double* i, double* out) {
  const size_t orbitals[2] = {tg_ci_hamiltonian_orbitals(h, 0, NULL),
                              tg_ci_hamiltonian_orbitals(h, 1, NULL)};
  const size_t all = orbitals[0] + orbitals[1];
  bool* occupied = NULL;
  uint16_t* list = NULL;
  tg_status status = TG_OK;
  double sum = 0;
  TG_TRY_GOTO(TG_ALLOCATE(all + 1, "orbitals", &occupied), done);
  TG_TRY_GOTO(TG_ALLOCATE(all + 1, "orbitals", &list), done);
  for (uint64_t state = 0; state < initial->dimension; state++) {
    size_t number[2];
    memset(occupied, 0, all * sizeof *occupied);
    tg_ci_space_strings(initial, state, &number[0], &number[1]);
    for (int t = 0; t < 2; t++)
      for (int k = 0; k < initial->strings[t].particles; k++)
        occupied[(t ? orbitals[0] : 0) + tg_ci_string(&initial->strings[t], number[t])[k]] = true;
    const int sign_q = act(occupied, q, false);
    if (!sign_q) continue;
    const int sign_p = act(occupied, p, true);
    if (!sign_p) continue;
    const uint64_t to = find(final, orbitals, occupied, list);
    if (to != UINT64_MAX) sum += sign_p * sign_q * f[to] * i[state];
  }
  *out = sum;
done:
  tg_free(occupied);
  tg_free(list);
  return status;
}
