/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mpi_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

#include "base/timer.h"
#include "comm/world.h"

/* The first of these variables that is set, as a number. */
static int environment_number(const char* const* names, int otherwise) {
  for (; *names; names++) {
    const char* text = getenv(*names);
    if (text && *text) return (int)strtol(text, NULL, 10);
  }
  return otherwise;
}

/* Open MPI; MPICH and its kin; PMIx; MVAPICH; srun */
int tg_cli_launcher_rank(void) {
  static const char* const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PMIX_RANK",
                                      "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", NULL};
  static const char* const own[] = {"TG_PE", NULL};
  return environment_number(getenv("TG_BOOTSTRAP") ? own : names, 0);
}

#ifdef TG_HAVE_MPI

static bool session_open;

/* By mpirun, with any number of processes. srun sets its variables without MPI as well. */
static bool launched(void) {
  if (getenv("TG_BOOTSTRAP")) return false; /* the processes do without MPI */
  static const char* const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                      NULL};
  return tg_world_under_launcher() || environment_number(names, 0) > 0;
}

/* MPI must be there before the verb opens its world: "--transport mpi" or "--transport=mpi". */
static bool asked_for(int argc, char** argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strcmp(argv[i], "--transport=mpi") == 0) return true;
    if (i + 1 < argc && strcmp(argv[i], "--transport") == 0 && strcmp(argv[i + 1], "mpi") == 0)
      return true;
  }
  return false;
}

tg_status tg_cli_mpi_begin(int argc, char** argv) {
  if (!launched() && !asked_for(argc, argv)) return TG_OK;
  int provided = 0;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return tg_fail(TG_ERR_MACHINE, "MPI cannot be started");
  session_open = true;
  if (provided < MPI_THREAD_FUNNELED)
    return tg_fail(TG_ERR_MACHINE, "this MPI cannot be used by a process with threads");
  return TG_OK;
}

/* MPI_Finalize would wait for ever; the launcher ends the process that does not come. */
__attribute__((noreturn)) static void end_the_job(tg_status status) {
  fprintf(stderr, "throng: %s\n", tg_last_error());
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, (int)status);
  _Exit((int)status);
}

/* The least of all processes' numbers. A process that has waited for another in vain waits for it
 * here for a moment only. Those that did well, or failed together, come without delay or are still
 * at work: they wait as long as it takes. */
static int least_of_all(int mine, tg_status status) {
  MPI_Request request;
  const struct timespec moment = {0, 1000000};
  const double patience_s = 2;
  double start = tg_time_now();
  int least = mine, here = 0;
  MPI_Iallreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  for (;;) {
    MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    if (here) break;
    if (status == TG_ERR_MACHINE && tg_time_now() - start > patience_s) end_the_job(status);
    nanosleep(&moment, NULL);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE); /* done already */
  return least;
}

tg_status tg_cli_mpi_end(tg_status status, bool* reporter) {
  *reporter = true;
  if (!session_open) return status;
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* the lowest number of those that failed wins and brings its status */
  int first = least_of_all(status == TG_OK ? size : rank, status), its = (int)status;
  if (first < size) MPI_Bcast(&its, 1, MPI_INT, first, MPI_COMM_WORLD);
  MPI_Finalize();
  session_open = false;
  *reporter = first == rank;
  return status == TG_OK ? (tg_status)its : status;
}

bool tg_cli_mpi_version(char* out, size_t size) {
  char words[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(words, &length);
  words[strcspn(words, "\n,")] = '\0';
  snprintf(out, size, "%s (MPI %d.%d)", words, MPI_VERSION, MPI_SUBVERSION);
  return true;
}

#else

tg_status tg_cli_mpi_begin(int argc, char** argv) {
  (void)argc;
  (void)argv;
  if (getenv("TG_BOOTSTRAP") || !tg_world_under_launcher()) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "started by an MPI launcher, but throng was built without MPI; start it without, "
                 "or build it where mpicc is found (TG_MPI=ON)");
}

tg_status tg_cli_mpi_end(tg_status status, bool* reporter) {
  *reporter = tg_cli_launcher_rank() == 0;
  return status;
}

bool tg_cli_mpi_version(char* out, size_t size) {
  snprintf(
      out, size,
      "throng was built without MPI; install it (Debian: libopenmpi-dev openmpi-bin) and build "
      "again (./dev build)");
  return false;
}

#endif
