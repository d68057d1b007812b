/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_report.h  The levels that `throng ci solve` found, for people and as JSON. */
#ifndef TG_CLI_CI_REPORT_H
#define TG_CLI_CI_REPORT_H

#include <stdio.h>

#include "cli/ci_job.h"

/** arrays: the file that has the observables' arrays; "": there is none. */
void tg_cli_ci_print(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum,
                     const char* arrays);
void tg_cli_ci_json(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum);

/** Parities and irreps are solved one by one, each to a highest level of its own. Up to the lowest
 * of these no level is left out; INFINITY where that says nothing: one is solved alone, or all its
 * levels are there. sector: the one that ends there. */
double tg_cli_ci_complete_to(const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum,
                             size_t* sector);

#endif
