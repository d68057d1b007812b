/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/openmm.h  OpenMM's CPU platform as a partner of measurements: a Python process that
 * computes when asked and sleeps otherwise. */
#ifndef TG_BENCH_OPENMM_H
#define TG_BENCH_OPENMM_H

#include <stdio.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct tg_openmm {
  pid_t process;  /* 0: not running */
  FILE* requests; /* to the process, and from it */
  FILE* answers;
  char version[64];
} tg_openmm;

typedef struct tg_openmm_params {
  const char* python; /* an interpreter that has openmm */
  const char* script; /* tools/bench_openmm.py */
  const char *configuration, *topology;
  double cutoff; /* nm */
  double dt;     /* ps */
  int threads;
  int warm_up; /* steps */
} tg_openmm_params;

/** Starts the process and waits until it has warmed up. TG_ERR_MACHINE if it does not run (no
 * interpreter, no openmm); out is then as if never started. */
tg_status tg_openmm_start(const tg_openmm_params* params, tg_openmm* out);
/** Runs steps with a variant of the script ("gromacs", "native"). */
tg_status tg_openmm_measure(tg_openmm* openmm, const char* variant, int steps, double* us_per_step);
/** Ends the process; harmless on one that was not started. */
void tg_openmm_stop(tg_openmm* openmm);

#endif
