/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/ci/random_h.h  A Hamiltonian of random elements, for tests that compare ways to
 * multiply by it. */
#ifndef TG_TESTS_CI_RANDOM_H_H
#define TG_TESTS_CI_RANDOM_H_H

#include "shells.h"

static inline tg_ci_hamiltonian* random_h(size_t na, const tg_ci_orbital* a, size_t nb,
                                          const tg_ci_orbital* b, uint64_t seed) {
  tg_ci_hamiltonian* h = NULL;
  assert_int_equal(tg_ci_hamiltonian_create(na, a, nb, b, &h), TG_OK);
  assert_int_equal(shell_fill(h, seed), TG_OK);
  return h;
}

#endif
