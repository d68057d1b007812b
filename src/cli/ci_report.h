/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_report.h  The levels that `throng ci solve` found, for people and as JSON. */
#ifndef TG_CLI_CI_REPORT_H
#define TG_CLI_CI_REPORT_H

#include <stdio.h>

#include "cli/ci_job.h"

void tg_cli_ci_print(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum);
void tg_cli_ci_json(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum);

#endif
