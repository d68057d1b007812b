/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/worlds.h  For tests: the same checks on loop worlds of many sizes, or, under a
 * launcher, on the one mpi or socket world. Checks inside a world return a failure: cmocka's
 * asserts belong to one thread. */
#ifndef TG_TESTS_COMM_WORLDS_H
#define TG_TESTS_COMM_WORLDS_H

#include <stdio.h>
#include <stdlib.h>
#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

#include "comm/world.h"

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return tg_fail(TG_ERR_INTERNAL, "%s:%d: PE %d: %s", __FILE__, __LINE__, tg_world_pe(world),  \
                     #condition);                                                                  \
  } while (0)

/* Whether this process is one PE of a world whose size is given: by an MPI launcher, or by
 * socket_world.sh. */
static inline int worlds_launched(void) {
  return tg_world_under_launcher() || getenv("TG_BOOTSTRAP");
}

/* Runs main on every size of world and returns the first failure, printed. */
static inline tg_status on_all_worlds(tg_world_main main, void* context) {
  static const int sizes[] = {1, 2, 3, 4, 5, 6, 8};
  int launched = worlds_launched();
  for (size_t i = 0; i < (launched ? 1 : sizeof sizes / sizeof *sizes); i++) {
    tg_world_params params = {.pe_count = launched ? 0 : sizes[i], .deadline_s = 30};
    tg_status status = tg_world_run(&params, main, context);
    if (status != TG_OK) {
      fprintf(stderr, "world of %d: %s\n", params.pe_count, tg_last_error());
      return status;
    }
  }
  return TG_OK;
}

static inline void worlds_begin(int* argc, char*** argv) {
#ifdef TG_HAVE_MPI
  int level = 0;
  if (tg_world_under_launcher()) MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level);
#else
  (void)argc, (void)argv;
#endif
}

static inline int worlds_end(int failures) {
#ifdef TG_HAVE_MPI
  if (tg_world_under_launcher()) MPI_Finalize();
#endif
  return failures;
}

#endif
