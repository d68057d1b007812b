/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/integrals.h  A molecule's one- and two-electron integrals over orthonormal orbitals,
 * and the Hamiltonian made from them.
 *
 * Species A: electrons with spin up (alpha); B: spin down (beta). Orbital p of a species is
 * spatial orbital p of the input, counted from 0; 2m is 0, the symmetry label is the Molpro number
 * of the irrep less 1, so that products are exclusive ors. (ij|kl) is chemists' notation. */
#ifndef TG_CI_INTEGRALS_H
#define TG_CI_INTEGRALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"
#include "ci/key_table.h"

enum { TG_CI_MOST_SPATIAL = 1024 };
enum { TG_CI_AA = 0, TG_CI_BB = 1, TG_CI_AB = 2 };

typedef struct tg_ci_integral {
  double value;
  int i, j, k, l; /* from 0; a one-electron integral has k = l = -1 */
  int line;
} tg_ci_integral;

/** Integrals of one kind, each once. */
typedef struct tg_ci_integral_list {
  tg_ci_integral* item;
  size_t count, capacity;
  tg_ci_key_table index;
} tg_ci_integral_list;

typedef struct tg_ci_integrals {
  size_t orbitals; /* spatial */
  int electrons;
  int two_sz; /* the input's MS2 */
  int isym;   /* the input's target irrep, from 1; 0: none */
  bool unrestricted;
  bool symmetry;              /* labels hold for all integrals; otherwise they are all 0 */
  bool foreign_labels;        /* the input has labels, but other numbers than Molpro's */
  uint8_t* label;             /* [orbitals] */
  double core;                /* the constant */
  tg_ci_integral_list one[2]; /* h; restricted: only [0] */
  tg_ci_integral_list two[3]; /* (ij|kl) of AA, BB, AB; restricted: only AA */
  size_t duplicates;          /* given more than once, agreeing */
  double duplicate_mismatch;  /* the largest difference among them */
  double symmetry_violation;  /* the largest integral that the labels forbid */
  tg_ci_integral forbidden;   /* that one, where it is why labels are not used; line 0: none is */
  uint8_t forbidden_label[4]; /* the input's labels of its orbitals, less 1 */
  size_t orbital_energies;    /* lines with these, which are not used */
} tg_ci_integrals;

void tg_ci_integrals_free(tg_ci_integrals* integrals);

/** h_ij and (ij|kl); spin 0 alpha, 1 beta; kind as above. Indices from 0, in any order. */
double tg_ci_integrals_one(const tg_ci_integrals* integrals, int spin, int i, int j);
double tg_ci_integrals_two(const tg_ci_integrals* integrals, int kind, int i, int j, int k, int l);

/** Adds an integral to a list; fold: (ij|kl) = (kl|ij) is the same. *known: the one that was there
 * already, or NULL where it was added. */
tg_status tg_ci_integral_list_add(tg_ci_integral_list* list, tg_ci_integral integral, bool fold,
                                  const tg_ci_integral** known);

tg_status tg_ci_integrals_hamiltonian(const tg_ci_integrals* integrals, tg_ci_hamiltonian** out);

/** S^2 for given numbers of electrons. TG_ERR_INPUT for unrestricted orbitals that differ between
 * the spins: the input does not have their overlaps. */
tg_status tg_ci_integrals_spin_squared(const tg_ci_integrals* integrals, int alpha, int beta,
                                       tg_ci_hamiltonian** out);

#endif
