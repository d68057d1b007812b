/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/digest.h  64-bit digests: are two operators, or two spaces, the same? */
#ifndef TG_CI_DIGEST_H
#define TG_CI_DIGEST_H

#include "ci/space.h"

/** Of the orbitals, the constant and every element that is not zero, bit for bit. */
uint64_t tg_ci_hamiltonian_digest(const tg_ci_hamiltonian* h);
/** Of the orbitals alone. */
uint64_t tg_ci_orbitals_digest(const tg_ci_hamiltonian* h);
/** Of the limits: roles, weights, occupations, partitions; not of particles, 2M and symmetry. */
uint64_t tg_ci_limits_digest(const tg_ci_hamiltonian* h, const tg_ci_space_params* params);

/** Goes on with a digest: [count] words. Start from 0. */
uint64_t tg_ci_digest(uint64_t digest, const uint64_t* words, size_t count);

#endif
