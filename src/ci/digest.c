/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/digest.h"

#include <string.h>

uint64_t tg_ci_digest(uint64_t digest, const uint64_t* words, size_t count) {
  for (size_t i = 0; i < count; i++) {
    digest = (digest ^ words[i] ^ UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xbf58476d1ce4e5b9);
    digest ^= digest >> 29;
  }
  return digest;
}

static uint64_t one(uint64_t digest, uint64_t word) { return tg_ci_digest(digest, &word, 1); }

static uint64_t number(uint64_t digest, double value) {
  uint64_t word;
  value += 0.0; /* -0 is 0 */
  memcpy(&word, &value, sizeof word);
  return one(digest, word);
}

uint64_t tg_ci_orbitals_digest(const tg_ci_hamiltonian* h) {
  uint64_t digest = 0;
  for (int s = 0; s < 2; s++) {
    const tg_ci_orbital* o;
    const size_t count = tg_ci_hamiltonian_orbitals(h, s, &o);
    digest = one(digest, count);
    for (size_t i = 0; i < count; i++)
      digest = one(digest, (uint64_t)(uint16_t)o[i].two_m << 32 | (uint64_t)o[i].symmetry << 24 |
                               (uint64_t)o[i].weight << 16 | o[i].shell);
  }
  return digest;
}

/* Sums of 2m reach four times the largest; labels are below 8. */
enum { LABELS = 8 };

static int most_two_m(const tg_ci_hamiltonian* h) {
  int most = 0;
  for (int s = 0; s < 2; s++) {
    const tg_ci_orbital* o;
    const size_t count = tg_ci_hamiltonian_orbitals(h, s, &o);
    for (size_t i = 0; i < count; i++) {
      const int m = o[i].two_m < 0 ? -o[i].two_m : o[i].two_m;
      if (m > most) most = m;
    }
  }
  return most;
}

/* v of the pairs of one channel, i < j and k < l. */
static uint64_t add_pairs(uint64_t digest, const tg_ci_hamiltonian* h, int s, int two_m,
                          unsigned symmetry) {
  const size_t n = tg_ci_hamiltonian_orbitals(h, s, NULL);
  const uint32_t* pairs = NULL;
  const size_t count = tg_ci_hamiltonian_pairs(h, s, two_m, symmetry, &pairs);
  for (size_t a = 0; a < count; a++)
    for (size_t b = a; b < count; b++) {
      const double v = tg_ci_hamiltonian_two(h, s, (int)(pairs[a] / n), (int)(pairs[a] % n),
                                             (int)(pairs[b] / n), (int)(pairs[b] % n));
      if (v != 0) digest = number(one(digest, (uint64_t)pairs[a] << 32 | pairs[b]), v);
    }
  return digest;
}

/* w of the transitions of A with one change, each with those of B that balance it. */
static uint64_t add_cross(uint64_t digest, const tg_ci_hamiltonian* h, int two_m,
                          unsigned symmetry) {
  const size_t n = tg_ci_hamiltonian_orbitals(h, 0, NULL);
  const uint32_t *of_a = NULL, *of_b = NULL;
  const size_t count_a = tg_ci_hamiltonian_transitions(h, 0, two_m, symmetry, &of_a);
  (void)tg_ci_hamiltonian_transitions(h, 1, -two_m, symmetry, &of_b);
  for (size_t a = 0; a < count_a; a++) {
    const double* values;
    const uint32_t* places;
    const size_t count =
        tg_ci_hamiltonian_cross_row(h, (int)(of_a[a] / n), (int)(of_a[a] % n), &values, &places);
    for (size_t e = 0; e < count; e++)
      if (values[e] != 0)
        digest =
            number(one(digest, (uint64_t)of_a[a] << 32 | of_b[places ? places[e] : e]), values[e]);
  }
  return digest;
}

uint64_t tg_ci_hamiltonian_digest(const tg_ci_hamiltonian* h) {
  uint64_t digest = number(tg_ci_orbitals_digest(h), tg_ci_hamiltonian_constant(h));
  for (int s = 0; s < 2; s++) {
    const int n = (int)tg_ci_hamiltonian_orbitals(h, s, NULL);
    for (int i = 0; i < n; i++)
      for (int j = i; j < n; j++) {
        const double e = tg_ci_hamiltonian_one(h, s, i, j);
        if (e != 0) digest = number(one(digest, (uint64_t)i << 32 | (uint64_t)j), e);
      }
  }
  const int most = 2 * most_two_m(h);
  for (int two_m = -most; two_m <= most; two_m++)
    for (unsigned symmetry = 0; symmetry < LABELS; symmetry++) {
      for (int s = 0; s < 2; s++) digest = add_pairs(digest, h, s, two_m, symmetry);
      digest = add_cross(digest, h, two_m, symmetry);
    }
  return digest;
}

uint64_t tg_ci_limits_digest(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  uint64_t digest = one(0, (uint64_t)(int64_t)params->weight_most);
  for (int s = 0; s < 2; s++) {
    const tg_ci_limits* l = &params->limits[s];
    const size_t n = tg_ci_hamiltonian_orbitals(h, s, NULL);
    digest = one(digest, (uint64_t)(int64_t)l->weight_most);
    for (size_t i = 0; l->roles && i < n; i++) digest = one(digest, l->roles[i]);
    for (size_t i = 0; l->least && i < l->shells; i++) digest = one(digest, l->least[i]);
    for (size_t i = 0; l->most && i < l->shells; i++) digest = one(digest, 65536u + l->most[i]);
    for (size_t i = 0; i < l->partition_count * l->shells; i++)
      digest = one(digest, l->partitions[i]);
  }
  for (size_t i = 0; i < 2 * params->partition_pair_count; i++)
    digest = one(digest, params->partition_pairs[i]);
  return digest;
}
