/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mpi_session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

#include "base/timer.h"
#include "comm/words.h"
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

/* The value of --transport ("--transport mpi" or "--transport=mpi"), or NULL. */
static const char* transport_of(int argc, char** argv) {
  static const char name[] = "--transport";
  const size_t length = sizeof name - 1;
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
    if (strncmp(argv[i], name, length) != 0) continue;
    if (argv[i][length] == '=') return argv[i] + length + 1;
    if (!argv[i][length] && i + 1 < argc) return argv[i + 1];
  }
  return NULL;
}

/* A process that shares no world with others may have words of its own. */
static bool set_words(int argc, char** argv, bool shares) {
  const char* transport = transport_of(argc, argv);
  if (transport && strcmp(transport, "loop") == 0) shares = false;
  tg_words_set(shares ? argc : 0, argv);
  return shares;
}

#ifdef TG_HAVE_MPI

static bool session_open;
static bool bound; /* to the other processes, by a world */

/* By mpirun, with any number of processes. srun sets its variables without MPI as well. */
static bool launched(void) {
  if (getenv("TG_BOOTSTRAP")) return false; /* the processes do without MPI */
  static const char* const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                      NULL};
  return tg_world_under_launcher() || environment_number(names, 0) > 0;
}

/* MPI must be there before the verb opens its world. */
static bool asked_for(int argc, char** argv) {
  const char* transport = transport_of(argc, argv);
  return transport && strcmp(transport, "mpi") == 0;
}

static tg_status nothing(tg_world* world, void* context) {
  (void)world, (void)context;
  return TG_OK;
}

tg_status tg_cli_mpi_begin(int argc, char** argv, bool shares) {
  bound = set_words(argc, argv, shares);
  if (!launched() && !asked_for(argc, argv)) return TG_OK;
  int provided = 0;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    return tg_fail(TG_ERR_MACHINE, "MPI cannot be started");
  session_open = true;
  if (provided < MPI_THREAD_FUNNELED)
    return tg_fail(TG_ERR_MACHINE, "this MPI cannot be used by a process with threads");
  /* compares the words while all are here: one whose options are refused would never come to the
   * world in which the others wait for it */
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size > 1 ? tg_world_run(&(tg_world_params){.transport = "mpi"}, nothing, NULL) : TG_OK;
}

/* MPI_Finalize would wait for ever; the launcher ends the process that does not come. */
__attribute__((noreturn)) static void end_the_job(tg_status status) {
  fprintf(stderr, "throng: %s\n", tg_last_error());
  fflush(NULL);
  MPI_Abort(MPI_COMM_WORLD, (int)status);
  _Exit((int)status);
}

/* How long this process waits for the others at its end. One that has waited for another in vain
 * does so for a moment only. One that failed otherwise did so in agreement with the others, which
 * come at once, or before it opened its world, in which they may wait for it: it gives them longer.
 * Those that did well, or share no world, wait as long as it takes. */
static double patience_s(tg_status status) {
  if (status == TG_ERR_MACHINE) return 2;
  return status != TG_OK && bound ? 10 : HUGE_VAL;
}

/* The least of all processes' numbers. */
static int least_of_all(int mine, tg_status status) {
  MPI_Request request;
  const struct timespec moment = {0, 1000000};
  double start = tg_time_now();
  int least = mine, here = 0;
  MPI_Iallreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
  for (;;) {
    MPI_Test(&request, &here, MPI_STATUS_IGNORE);
    if (here) break;
    /* no wait for the request: the process ends here. NOLINTNEXTLINE(*-optin.mpi.MPI-Checker) */
    if (tg_time_now() - start > patience_s(status)) end_the_job(status);
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

tg_status tg_cli_mpi_begin(int argc, char** argv, bool shares) {
  set_words(argc, argv, shares);
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
