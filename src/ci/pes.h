/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/pes.h  The PEs that share a solve, and one sector's levels found by all of them.
 *
 * Two kinds. PEs that are threads of a process (loop) share what it made: inputs, strings, tables;
 * they exist while states are looked for, and the process does all else with all of its threads.
 * PEs that are processes make inputs, strings and tables each; they stay in one world to the end,
 * and what is done with final states the first does alone. */
#ifndef TG_CI_PES_H
#define TG_CI_PES_H

#include <stdbool.h>

#include "ci/device_operator.h"
#include "ci/restart.h"
#include "ci/share.h"
#include "ci/solve.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_pes {
  int count;       /* 1: nothing is shared */
  int local;       /* of them in this process */
  tg_world* world; /* of processes; NULL: threads */
  int threads;     /* of this process; 0: all of OpenMP's */
  double deadline_s;
} tg_ci_pes;

/** Whether PEs of this transport are processes. */
bool tg_ci_pes_are_processes(const char* transport);
/** PEs of an open world, each a process. threads: asked for in each; 0: its part of the machine. */
tg_ci_pes tg_ci_pes_of_world(tg_world* world, int threads);

/** Collective over processes: one outcome for all. */
tg_status tg_ci_pes_agree(const tg_ci_pes* pes, tg_status status);
/** Collective over processes: the first one's bytes to all. */
tg_status tg_ci_pes_tell(const tg_ci_pes* pes, void* data, size_t bytes);
/** Collective over processes: the least of a number. */
tg_status tg_ci_pes_least(const tg_ci_pes* pes, int64_t* number);
/** This process has the first PE. */
bool tg_ci_pes_lead(const tg_ci_pes* pes);

/** Of PEs that work on GPUs. */
typedef struct tg_ci_shared_gpus {
  const tg_ci_hamiltonian* h;
  const tg_ci_space* space;
  const tg_ci_distribution* split;
  const tg_ci_device_operator_params* params; /* of each PE: tables, its part of a GPU's memory */
  int gpus;                           /* of this process; of processes each has the world's own */
  tg_ci_device_operator_facts* facts; /* out, of all PEs together: the first's process */
  void (*made)(void* context); /* once in a process, when a PE's is made; NULL: nobody is told */
  void* context;
} tg_ci_shared_gpus;

/** What is to be solved. */
typedef struct tg_ci_shared_solve {
  const tg_ci_problem* problem;
  const tg_ci_solve_params* params; /* whose callbacks the first PE calls; interrupted: all */
  size_t sector;
  tg_ci_operator* op; /* made for so many PEs; NULL: */
  const tg_ci_shared_gpus* gpus;
  tg_eigen_params eigen;        /* of each; block is set */
  const tg_ci_restart* restart; /* NULL: none */
  tg_ci_sector* out; /* result, of the whole space, and shares: the first's process; setup_s and
                        solve_s: seconds of the first PE are added */
} tg_ci_shared_solve;

/** Collective over processes. The operator's tables go where its elements are stored. */
tg_status tg_ci_solve_shared(const tg_ci_pes* pes, const tg_ci_shared_solve* what);

#ifdef __cplusplus
}
#endif
#endif
