/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/builtin.h  Interactions that need no file: builtin:usdb, builtin:ckpot,
 * builtin:sdi:ORBITS:STRENGTHS. */
#ifndef TG_CI_INPUT_BUILTIN_H
#define TG_CI_INPUT_BUILTIN_H

#include "ci/input/input.h"

#define TG_CI_BUILTIN_PREFIX "builtin:"

/** The modified surface-delta interaction (Brussaard and Glaudemans, Shell-Model Applications in
 * Nuclear Spectroscopy, North-Holland 1977, chapter 6) of orbits and strengths given in words:
 *   builtin:sdi:0d5/2=-3.9,1s1/2=-3.2,0d3/2=2.1:AT0=1.0,AT1=1.0,B=0.3,C=0,Z=8,N=8
 * orbits with their single-particle energies (MeV; 0 where not given); A_T0, A_T1, B, C in MeV;
 * Z and N of the core (0). Attractive where A is positive; B and C add {[2T(T+1)-3] B + C}. */
tg_status tg_ci_read_surface_delta(const char* path, tg_ci_model* model);

/** <ab|V|cd>_JT of that interaction, normalised. */
double tg_ci_surface_delta(const tg_ci_shell* const orbits[4], int j, int isospin,
                           const double strength[2]);

#endif
