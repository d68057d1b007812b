/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/orbits.h  The j-orbits of protons and neutrons that a nuclear model lives in. */
#ifndef TG_CI_ORBITS_H
#define TG_CI_ORBITS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { TG_CI_MOST_SHELLS = 1024, TG_CI_SHELL_NAME = 40, TG_CI_SHELL_MOST_TWO_J = 63 };
enum { TG_CI_PROTON = 0, TG_CI_NEUTRON = 1 };
enum { TG_CI_PP = 0, TG_CI_NN = 1, TG_CI_PN = 2, TG_CI_PAIR_KINDS = 3 };

/** A j-orbit of protons or of neutrons. */
typedef struct tg_ci_shell {
  int n, l, two_j;             /* n from 0 */
  int species;                 /* TG_CI_PROTON or TG_CI_NEUTRON */
  int weight;                  /* for truncations; 2n + l where the input has none */
  char name[TG_CI_SHELL_NAME]; /* p0d5/2, n1s1/2 */
} tg_ci_shell;

/** The orbits: all of protons, then all of neutrons, each in the order of the input. */
typedef struct tg_ci_shells {
  tg_ci_shell* shell; /* [count] */
  size_t count;
  size_t proton_count;
} tg_ci_shells;

void tg_ci_shells_free(tg_ci_shells* shells);
tg_status tg_ci_shells_copy(const tg_ci_shells* from, tg_ci_shells* out);
/** Adds an orbit and names it; protons must come first. TG_ERR_INPUT at place for impossible
 * quantum numbers, an orbit that is there already, too many. weight < 0: 2n + l. */
tg_status tg_ci_shells_add(tg_ci_shells* shells, tg_ci_shell shell, tg_place place);
/** The number of the orbit with these quantum numbers and species, or -1. */
int tg_ci_shells_find(const tg_ci_shells* shells, const tg_ci_shell* like);
/** The same orbit of the other species, or -1. */
int tg_ci_shells_partner(const tg_ci_shells* shells, int number);
/** Each proton orbit has its neutron orbit and the other way round. */
bool tg_ci_shells_isospin(const tg_ci_shells* shells);

/** TG_CI_PP, _NN or _PN of two orbits. */
int tg_ci_pair_kind(const tg_ci_shells* shells, int a, int b);

#endif
