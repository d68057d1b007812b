/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/table_jobs.h  Within src/ci: tables of jumps and of species alone, made by threads that
 * take one class of one table after the other, the largest first, whichever table it is of: so none
 * waits at the end of each. The tables are the same for any number of threads.
 *
 *   1. the connections to each class                     jumps and alone, side by side
 *   2. operators get their numbers in their channels     jumps; small
 *   3. each class's codes get these, and its second order jumps, side by side */
#ifndef TG_CI_TABLE_JOBS_H
#define TG_CI_TABLE_JOBS_H

#include "ci/links.h"

/** A table to be made: one of jumps and alone is given, and left half-made where making fails. */
typedef struct tg_ci_table_job {
  int species;
  const bool* useful; /* of jumps; NULL: all */
  bool nonzero;       /* of alone */
  tg_ci_jumps* jumps;
  tg_ci_alone* alone;
  uint32_t* number; /* within: [orbitals, orbitals] the operator's number in its channel */
} tg_ci_table_job;

tg_status tg_ci_table_jobs_run(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                               tg_ci_table_job* jobs, size_t count);

/* Steps of a table (jumps.c, alone.c), for that. found: a thread's room, used again for the next
 * class, as growing a list costs more than filling it. *bytes grows by what is made. */
tg_status tg_ci_alone_begin(const tg_ci_space* space, tg_ci_table_job* job);
tg_status tg_ci_alone_class(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            const tg_ci_table_job* job, size_t class, tg_ci_connections* found,
                            size_t* bytes);
void tg_ci_alone_end(const tg_ci_space* space, tg_ci_table_job* job, size_t bytes);
tg_status tg_ci_jumps_begin(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            tg_ci_table_job* job);
tg_status tg_ci_jumps_class(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                            const tg_ci_table_job* job, size_t class, tg_ci_connections* found,
                            size_t* bytes);
tg_status tg_ci_jumps_number(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                             tg_ci_table_job* job);
tg_status tg_ci_jumps_order(const tg_ci_space* space, const tg_ci_table_job* job, size_t class,
                            size_t* bytes);
void tg_ci_jumps_end(tg_ci_table_job* job, size_t bytes);

#endif
