/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_progress.h  What `throng ci solve` says while it works: a line on a terminal that
 * is written over, lines in a log. */
#ifndef TG_CLI_CI_PROGRESS_H
#define TG_CLI_CI_PROGRESS_H

#include <stdio.h>

#include "ci/solve.h"

enum { TG_CLI_CI_LOOKS = 64 };

/** How far the solver was at its last looks at residuals. */
typedef struct tg_cli_ci_pace {
  double products[TG_CLI_CI_LOOKS]; /* of each look */
  double digits[TG_CLI_CI_LOOKS];   /* to go: sum over states of log10(residual / tolerance) > 0 */
  int count;
} tg_cli_ci_pace;

typedef struct tg_cli_ci_progress {
  FILE* terminal; /* a line that is written over; NULL: none */
  FILE* lines;    /* a line now and then; NULL: none */
  double pause;   /* seconds between two of them, at least */
  double next;    /* time of the next */
  double end;     /* time at which the run is to stop; 0: when it is through */
  size_t sector;  /* that the pace is of */
  int phase;      /* of the last call */
  tg_cli_ci_pace pace;
} tg_cli_ci_progress;

/** For tg_ci_solve_params.progress; context is a tg_cli_ci_progress. */
tg_status tg_cli_ci_progress_show(void* context, const tg_ci_problem* problem, size_t sector,
                                  const tg_eigen_progress* progress);
/** Takes the terminal's line away. */
void tg_cli_ci_progress_end(tg_cli_ci_progress* progress);

/** Notes a look, if it is one. */
void tg_cli_ci_pace_note(tg_cli_ci_pace* pace, const tg_eigen_progress* progress);
/** Products until all residuals are small enough, by the line through the latest looks; NAN where
 * they do not lie on one well enough to say. */
double tg_cli_ci_pace_left(const tg_cli_ci_pace* pace);

#endif
