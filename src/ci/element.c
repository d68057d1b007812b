/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/element.h"

#include <stddef.h>

/* What one string has and the other has not, and the phase between them. */
typedef struct difference {
  int count; /* 3: more than two */
  uint16_t bra[2], ket[2];
  int parity; /* of the places at which they stand: those of each string moved to its front */
} difference;

static difference compare(int n, const uint16_t* bra, const uint16_t* ket) {
  difference d = {0};
  int in_bra = 0, in_ket = 0;
  for (int i = 0, j = 0; i < n || j < n;) {
    if (i < n && j < n && bra[i] == ket[j]) {
      i++;
      j++;
    } else if (j == n || (i < n && bra[i] < ket[j])) {
      if (in_bra == 2) return (difference){.count = 3};
      d.parity += i - in_bra;
      d.bra[in_bra++] = bra[i++];
    } else {
      if (in_ket == 2) return (difference){.count = 3};
      d.parity += j - in_ket;
      d.ket[in_ket++] = ket[j++];
    }
  }
  d.count = in_bra;
  return d;
}

static double same(const tg_ci_hamiltonian* h, const int n[2], const uint16_t* const s[2]) {
  double sum = tg_ci_hamiltonian_constant(h);
  for (int t = 0; t < 2; t++)
    for (int k = 0; k < n[t]; k++) {
      sum += tg_ci_hamiltonian_one(h, t, s[t][k], s[t][k]);
      for (int l = k + 1; l < n[t]; l++)
        sum += tg_ci_hamiltonian_two(h, t, s[t][k], s[t][l], s[t][k], s[t][l]);
    }
  for (int k = 0; k < n[0]; k++)
    for (int l = 0; l < n[1]; l++)
      sum += tg_ci_hamiltonian_cross(h, s[0][k], s[0][k], s[1][l], s[1][l]);
  return sum;
}

/* One particle of species t moved. */
static double single(const tg_ci_hamiltonian* h, const int n[2], const uint16_t* const bra[2],
                     int t, const difference* d) {
  const int i = d->bra[0], j = d->ket[0], other = 1 - t;
  double sum = tg_ci_hamiltonian_one(h, t, i, j);
  for (int k = 0; k < n[t]; k++) sum += tg_ci_hamiltonian_two(h, t, i, bra[t][k], j, bra[t][k]);
  for (int k = 0; k < n[other]; k++)
    sum += t ? tg_ci_hamiltonian_cross(h, bra[other][k], bra[other][k], i, j)
             : tg_ci_hamiltonian_cross(h, i, j, bra[other][k], bra[other][k]);
  return sum;
}

double tg_ci_element(const tg_ci_hamiltonian* h, const int n[2], const uint16_t* const bra[2],
                     const uint16_t* const ket[2]) {
  const difference a = compare(n[0], bra[0], ket[0]);
  if (a.count > 2) return 0;
  const difference b = compare(n[1], bra[1], ket[1]);
  if (a.count + b.count > 2) return 0;
  double value;
  if (a.count + b.count == 0)
    value = same(h, n, bra);
  else if (a.count == 2)
    value = tg_ci_hamiltonian_two(h, 0, a.bra[0], a.bra[1], a.ket[0], a.ket[1]);
  else if (b.count == 2)
    value = tg_ci_hamiltonian_two(h, 1, b.bra[0], b.bra[1], b.ket[0], b.ket[1]);
  else if (a.count == 1 && b.count == 1)
    value = tg_ci_hamiltonian_cross(h, a.bra[0], a.ket[0], b.bra[0], b.ket[0]);
  else
    value = single(h, n, bra, a.count ? 0 : 1, a.count ? &a : &b);
  return (a.parity + b.parity) & 1 ? -value : value;
}
