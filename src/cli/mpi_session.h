/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/mpi_session.h  MPI around a verb: started by the program, never by the library. */
#ifndef TG_CLI_MPI_SESSION_H
#define TG_CLI_MPI_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** This process's number among those that a launcher started, or of transport socket, by the
 * environment; else 0. */
int tg_cli_launcher_rank(void);

/** Starts MPI where an MPI launcher started this process, or the verb's words ask for --transport
 * mpi. TG_ERR_MACHINE if there are several processes and throng was built without MPI. shares: the
 * verb may share a world with other processes; then, unless --transport loop is asked for, all must
 * have the same words: TG_ERR_INPUT, at once or in the verb's world, where they differ. */
tg_status tg_cli_mpi_begin(int argc, char** argv, bool shares);

/** Collective over the processes: ends MPI. Returns status, or for a process that succeeded the
 * status of the lowest-numbered one that failed; *reporter says whether this process is that one
 * (or alone), whose message is to be printed. Does not return where this process failed with
 * TG_ERR_MACHINE and another does not come within 2 s, or otherwise in a verb that shares a world
 * and another does not come within 10 s: prints the message and ends the job. */
tg_status tg_cli_mpi_end(tg_status status, bool* reporter);

/** The MPI library's own words into out; false where throng was built without MPI. */
bool tg_cli_mpi_version(char* out, size_t size);

#endif
