/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/restart.h  Solving that can be stopped and goes on later.
 *
 * A restart file is a text that says of which problem it is; beside it, under the same name with
 * `.parity+` or `.irrep3` behind it, lies the eigen-solver's state of each sector that was begun
 * (docs/eigen.md). The search for states of one J may take several rounds, with H lifted higher:
 * the state of round 1 has `.lift1` behind that, and so on; going on, rounds that were through are
 * so at once. States are written every so often, when a sector's states are found, and when
 * the run is interrupted; the results are those of a run that was never stopped, bit for bit. */
#ifndef TG_CI_RESTART_H
#define TG_CI_RESTART_H

#include "ci/problem.h"
#include "comm/world.h"
#include "eigen/eigen.h"

typedef struct tg_ci_restart {
  const tg_ci_problem* problem;
  const char* path;  /* the caller's */
  double interval_s; /* between two states on disk, at least */
  bool goes_on;      /* the file was there */
  uint64_t digest;   /* of the problem */
  int round;         /* of solve.h's search for states of one J: each is a run of its own */
  /* Told why a state could not be written between two steps: the run goes on, and tries again after
   * the interval. NULL: nobody. */
  void (*warn)(void* context, const char* words);
  void* context;
  int lock;        /* on the file, while it is this run's; -1: none */
  tg_world* world; /* of the PEs that share a sector; the first decides. NULL: one */
} tg_ci_restart;

/** Looks for the file, or with look false, for a process that is not the first of several, at the
 * problem alone: the caller then sets goes_on. There: checks that it is of this problem
 * (TG_ERR_INPUT says what differs). Not there: writes it. TG_ERR_INPUT where another run is keeping
 * its states there. states: asked for in each sector. */
tg_status tg_ci_restart_begin(const tg_ci_problem* problem, const char* path, double interval_s,
                              int states, bool look, tg_ci_restart* out);

enum { TG_CI_RESTART_ROUNDS = 6 };

/** Once begin has been called, whatever came of it: others may have the file. One that this run
 * wrote is removed where no state has come to lie beside it. */
void tg_ci_restart_end(tg_ci_restart* restart);

/** tg_eigen_solve for a sector (and round), from its saved state where there is one: of this
 * problem, and of an operator with the same fingerprint. Collective over the PEs of restart's
 * world.
 */
tg_status tg_ci_restart_solve(const tg_ci_restart* restart, size_t sector,
                              const tg_eigen_problem* problem, const tg_eigen_params* params,
                              tg_eigen_result* out);

/** Removes the files, once the results are safe. What is not there is no matter. */
void tg_ci_restart_remove(const tg_ci_problem* problem, const char* path);

#endif
