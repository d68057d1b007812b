/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/reach.h  Whether inputs without a core go as far as an Nmax does. */
#ifndef TG_CI_REACH_H
#define TG_CI_REACH_H

#include "ci/problem.h"

/** TG_ERR_INPUT where an input without a core lacks orbits, or elements of pairs, that
 * configurations of up to nmax quanta above the lowest one occupy; the message says what is there
 * and which nmax it is good for. accept: a note of the problem instead. Not looked at where weights
 * are no oscillator quanta, or where the lowest shell is missing (a core that the input does not
 * name). */
tg_status tg_ci_reach_check(int nmax, bool accept, tg_ci_problem* problem);

#endif
