/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_observables.h  The options about observables that verbs of `throng ci` share. */
#ifndef TG_CLI_CI_OBSERVABLES_H
#define TG_CLI_CI_OBSERVABLES_H

#include "ci/observables.h"
#include "cli/options.h"

typedef struct tg_cli_ci_observable_options {
  const char *list, *charges, *g;
} tg_cli_ci_observable_options;

/** The list (usual, or all between two calculations, where none is given) and the parameters, and
 * what can be refused before a solve, which will have these parameters (between two calculations
 * its threads alone matter). final is NULL within one calculation. Release the list with
 * tg_ci_observables_free. */
tg_status tg_cli_ci_observables_open(const tg_cli_ci_observable_options* options,
                                     const tg_ci_problem* initial, const tg_ci_problem* final,
                                     const tg_ci_solve_params* solve, tg_ci_observable_list* list,
                                     tg_ci_observable_params* params);

/* What one option of a list is; `field` is the member of the verb's structure. */
/* clang-format off */
#define TG_CLI_CI_OBSERVABLE_OPTIONS(type, field)                                                  \
  {"observables", 0, TG_CLI_TEXT, offsetof(type, field.list), "LIST",                              \
   "what to compute from the states, names with commas between them: occupations, e2, m1, e1, "    \
   "e3, e4, gt, obdm, FILE.opme ...; all, usual, none (default: occupations; between two files "   \
   "all); docs/how-to/observables.md", false},                                                     \
  {"charges", 0, TG_CLI_TEXT, offsetof(type, field.charges), "P,N",                                \
   "effective charges of proton and neutron in E2, E3, E4 (default 1.5,0.5; without a core 1,0)",  \
   false},                                                                                         \
  {"g", 0, TG_CLI_TEXT, offsetof(type, field.g), "LP,LN,SP,SN",                                    \
   "g factors of M1: orbital of proton and neutron, spin of both (default 1,0,5.586,-3.826)",      \
   false}
/* clang-format on */

#endif
