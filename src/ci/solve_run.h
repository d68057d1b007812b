/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/solve_run.h  Within src/ci: one run of tg_ci_solve, and what it needs of memory.
 *
 * Bytes are of this process, all of its PEs, unless said. */
#ifndef TG_CI_SOLVE_RUN_H
#define TG_CI_SOLVE_RUN_H

#include "ci/label_tables.h"
#include "ci/pes.h"
#include "ci/restart.h"
#include "ci/solve_device.h"

typedef struct tg_ci_run {
  const tg_ci_problem* problem;
  const tg_ci_solve_params* params;
  uint64_t memory; /* that is left beside the results of earlier sectors */
  size_t sector;   /* at work */
  tg_ci_pes pes;
  tg_ci_restart restart;
  tg_ci_device_room gpu;    /* of TG_CI_CUDA and TG_CI_ACC */
  const tg_ci_space* space; /* of the sector, and what is being made for its labels: */
  tg_ci_label_tables* labels;
} tg_ci_run;

/** Operator and vectors are in a memory of their own: a GPU's, or OpenACC's. */
bool tg_ci_run_on_gpu(const tg_ci_run* r);
/** The GPU, where there is to be one, or those of this process. */
tg_status tg_ci_run_find_gpu(tg_ci_run* r);
/** What follows has so much less memory. */
void tg_ci_run_take_memory(tg_ci_run* r, uint64_t bytes);
tg_ci_space_params tg_ci_run_space(const tg_ci_problem* problem, unsigned symmetry);
/** Of one PE. memory: what this process may take for vectors. */
tg_eigen_params tg_ci_run_eigen(const tg_ci_run* r, const tg_ci_need* need, uint64_t dimension,
                                uint64_t memory);
tg_ci_operator_params tg_ci_run_operator(const tg_ci_run* r, const tg_ci_need* need);

/** What this process may take: processes of a machine share what that has free. */
uint64_t tg_ci_need_memory(const tg_ci_solve_params* params, const tg_ci_pes* pes);
/** What the process holds now; what was freed is there for what comes. */
void tg_ci_need_note_process(tg_ci_need* need);
/** The space, counted, and the vectors. TG_ERR_MACHINE where they cannot fit. */
tg_status tg_ci_need_space(const tg_ci_run* r, tg_ci_need* need);
/** Once the strings are there: the tables, and the vectors beside them. */
tg_status tg_ci_need_tables(const tg_ci_run* r, const tg_ci_hamiltonian* h,
                            const tg_ci_space* space, tg_ci_need* need);
/** Once it is known whether the matrix is stored. */
void tg_ci_need_choose_block(const tg_ci_run* r, tg_ci_need* need);
void tg_ci_need_set_peak(tg_ci_need* need);
void tg_ci_need_set_gpu_peak(tg_ci_need* need);
/** What stays of a sector: its states and strings. */
uint64_t tg_ci_need_results(const tg_ci_problem* p, const tg_ci_need* need);

#endif
