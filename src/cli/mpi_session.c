/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mpi_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

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

tg_status tg_cli_mpi_end(tg_status status, bool* reporter) {
  *reporter = true;
  if (!session_open) return status;
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int mine[2] = {status == TG_OK ? size : rank, status}, first[2] = {size, TG_OK};
  /* pairs of the failing process and its status; the lowest number wins and brings its status */
  MPI_Allreduce(&mine[0], &first[0], 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first[0] < size) {
    first[1] = mine[1];
    MPI_Bcast(&first[1], 1, MPI_INT, first[0], MPI_COMM_WORLD);
  }
  MPI_Finalize();
  session_open = false;
  *reporter = first[0] == rank;
  return status == TG_OK ? (tg_status)first[1] : status;
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
  snprintf(out, size, "throng was built without MPI; build it where mpicc is found (TG_MPI=ON)");
  return false;
}

#endif
