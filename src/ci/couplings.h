/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/couplings.h  J-coupled operators of protons and neutrons in j-orbits.
 *
 *   O = sum over ab, m of e_ab a+_am a_bm
 *     + sum over a<=b, c<=d, J, M of <ab|V|cd>_J A+(ab JM) A(cd JM),
 *   A+(ab JM) = (1 + d_ab)^(-1/2) sum_m <ja ma jb mb|JM> a+_a a+_b:
 *
 * antisymmetric, normalised states of two protons, two neutrons or a proton and a neutron. Elements
 * are kept once; reading and writing is in any order of orbits, with the phases <ab|V|cd>_J =
 * <cd|V|ab>_J = -(-1)^(ja+jb-J) <ba|V|cd>_J . */
#ifndef TG_CI_COUPLINGS_H
#define TG_CI_COUPLINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "ci/key_table.h"
#include "ci/orbits.h"

/** An element's value: fixed + hw * per_hw, where the factors of hw depend on the mass (model.h).
 */
typedef struct tg_ci_value {
  double fixed;  /* MeV; scaled by mass where the input says so */
  double per_hw; /* times hw (A - 1) / A of one-body elements, hw / A of two-body elements */
} tg_ci_value;

typedef struct tg_ci_one_element {
  int a, b;
  tg_ci_value value;
  int line;          /* of the input, 0: by formula */
  double resolution; /* half of what the last printed digit can say, 0 by formula */
} tg_ci_one_element;

typedef struct tg_ci_two_element {
  int a, b, c, d, j; /* j whole */
  tg_ci_value value;
  int line;
  double resolution;
} tg_ci_two_element;

typedef struct tg_ci_couplings {
  tg_ci_one_element* one; /* a <= b */
  size_t one_count, one_capacity;
  tg_ci_two_element* two; /* canonical: see tg_ci_two_order */
  size_t two_count, two_capacity;
  tg_ci_key_table one_index, two_index;
  size_t duplicates;         /* given more than once, agreeing */
  double duplicate_mismatch; /* the largest difference among them, within their digits */
  size_t zeros;              /* zero elements of states that do not exist */
} tg_ci_couplings;

void tg_ci_couplings_free(tg_ci_couplings* couplings);

/** Adds an element. TG_ERR_INPUT at place where the orbits have different l, 2j or species, or
 * where it (or its transpose) is there with another value: the message names the other line. */
tg_status tg_ci_couplings_put_one(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_one_element element, tg_place place);

/** Adds an element, orbits in any order. TG_ERR_INPUT at place where it breaks charge, parity, the
 * triangle of J or Pauli's principle with a value that is not zero, or contradicts one that is
 * there (the same, its hermitian partner, or with exchanged orbits). */
tg_status tg_ci_couplings_put_two(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_two_element element, tg_place place);

/** Adds to an element, which need not be there yet; the element must be one that can exist. */
tg_status tg_ci_couplings_add_one(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_one_element element, tg_ci_value value);
tg_status tg_ci_couplings_add_two(tg_ci_couplings* couplings, const tg_ci_shells* shells,
                                  tg_ci_two_element element, tg_ci_value value);

/** Brings the orbits into the one order that is kept (a <= b, c <= d, (a,b) <= (c,d)); returns the
 * sign that the element takes. */
int tg_ci_two_order(const tg_ci_shells* shells, tg_ci_two_element* element);

/** Reads an element with its sign; NULL where there is none (value zero). */
const tg_ci_one_element* tg_ci_couplings_one(const tg_ci_couplings* couplings, int a, int b);
const tg_ci_two_element* tg_ci_couplings_two(const tg_ci_couplings* couplings,
                                             const tg_ci_shells* shells, const int orbits[4], int j,
                                             int* sign);

#endif
