/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/md_cpu.h  Question: how fast is molecular dynamics on the cores of this machine,
 * where does the time of a step go, and how does that compare with OpenMM on the same system, here
 * and now?
 *
 * Model: a step costs the pairs in the list x the instructions a pair / the rate of the vector
 * units, plus everything else. With SIMD of 8 floats and about 40 instructions for 8 pairs, a core
 * at 3 GHz that completes one to two of them a cycle evaluates 0.6 to 1.2e9 pairs a second; for the
 * 5,625 atoms of the example, some 2 to 3.5 million listed pairs are 2 to 6 ms of one core. Bonded
 * forces, constraints and the update touch each atom a few times and should stay below a third of
 * that.
 *
 * Method: the programs take turns, so that what else the machine does hits all alike; the least
 * time is the one least disturbed. The forces of the start are checked against the reference
 * backend first. */
#ifndef TG_BENCH_MD_CPU_H
#define TG_BENCH_MD_CPU_H

#include <throng/md.h>

#include "base/status.h"

enum { TG_BENCH_MOST_REPEATS = 64, TG_BENCH_MOST_SERIES = 3 };

typedef struct tg_bench_md_cpu_params {
  const char *configuration, *topology, *parameters;
  const char* precision; /* "mixed" or "double" */
  int threads;           /* at least 1, of each program */
  int steps;             /* of each measurement */
  int warm_up;           /* steps before the first */
  int repeats;
  const char* python; /* an interpreter with openmm; NULL: OpenMM is left out */
  const char* script; /* tools/bench_openmm.py */
  void (*progress)(void* context, const char* line); /* or NULL */
  void* context;
} tg_bench_md_cpu_params;

typedef struct tg_bench_series {
  char name[128];
  const char* variant;              /* of OpenMM's system (bench/openmm.h); NULL: throng */
  double us[TG_BENCH_MOST_REPEATS]; /* per step; [count] in the order of measurement */
  int count;
} tg_bench_series;

typedef struct tg_bench_md_cpu_result {
  tg_bench_series series[TG_BENCH_MOST_SERIES]; /* [series_count]; throng is the first */
  int series_count;
  char openmm[256]; /* its version, or why it took no part */
  size_t atom_count;
  double cutoff, dt;      /* nm, ps */
  double force_deviation; /* rms of (forces - reference) / rms of the reference's */
  double force_limit;     /* what it must stay below */
  tg_md_run_result best;  /* throng's fastest run */
} tg_bench_md_cpu_result;

/** Runs all measurements; output goes to a temporary folder that is removed. TG_ERR_NUMERICS if the
 * forces are wrong. */
tg_status tg_bench_md_cpu(const tg_bench_md_cpu_params* params, tg_bench_md_cpu_result* out);

/** Of a series' measurements. */
double tg_bench_least(const tg_bench_series* series);
double tg_bench_median(const tg_bench_series* series);
double tg_bench_most(const tg_bench_series* series);

#endif
