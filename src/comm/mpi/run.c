/* SPDX-License-Identifier: Apache-2.0 */
/* A world of processes: made, run, and its outcome agreed. */
#include "comm/transport.h"

#ifndef TG_HAVE_MPI

bool tg_mpi_usable(void) { return false; }

tg_status tg_mpi_run(const tg_world_params* params, tg_world_main main, void* context) {
  tg_world* none = NULL;
  (void)main, (void)context;
  return tg_mpi_open(params, &none);
}

tg_status tg_mpi_open_fortran(const tg_world_params* params, int communicator, tg_world** out) {
  (void)communicator;
  return tg_mpi_open(params, out);
}

tg_status tg_mpi_close(tg_world** world, tg_status status) {
  (void)world;
  return status;
}

tg_status tg_mpi_open(const tg_world_params* params, tg_world** out) {
  (void)params, (void)out;
  return tg_fail(TG_ERR_MACHINE,
                 "world: this throng was built without MPI; install MPI "
                 "(Debian: libopenmpi-dev openmpi-bin) and build again (./dev build), or use "
                 "--transport loop without a launcher");
}

#else
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/mpi/channel.h"

tg_status tg_mpi_aborted(tg_world* world) {
  return tg_outcome_aborted(&((tg_mpi_link*)world->link)->abort);
}

tg_status tg_mpi_poll_abort(tg_world* world) {
  tg_mpi_link* link = world->link;
  if (link->abort.aborted) return tg_mpi_aborted(world);
  int flag = 0;
  MPI_Status state;
  MPI_Iprobe(MPI_ANY_SOURCE, TG_MPI_TAG_ABORT, link->control, &flag, &state);
  if (!flag) return TG_OK;
  MPI_Recv(&link->abort, (int)sizeof link->abort, MPI_BYTE, state.MPI_SOURCE, TG_MPI_TAG_ABORT,
           link->control, MPI_STATUS_IGNORE);
  return tg_mpi_aborted(world);
}

void tg_mpi_abort(tg_world* world, tg_status status, const char* message) {
  tg_mpi_link* link = world->link;
  if (!tg_outcome_abort(&link->abort, status, world->pe, message)) return;
  for (int p = 0; p < world->pe_count; p++)
    if (p != world->pe)
      MPI_Isend(&link->abort, (int)sizeof link->abort, MPI_BYTE, p, TG_MPI_TAG_ABORT, link->control,
                &link->abort_requests[p]);
}

static const tg_transport_ops mpi_ops = {
    .name = "mpi",
    .close = tg_mpi_close,
    .exchange = tg_mpi_exchange,
    .abort = tg_mpi_abort,
    /* at the start of every call: the messages it needs may have come before the abort did */
    .aborted = tg_mpi_poll_abort,
    .symmetric_create = tg_mpi_symmetric_create,
    .symmetric_destroy = tg_mpi_symmetric_destroy,
    .symmetric_put = tg_mpi_symmetric_put,
    .symmetric_progress = tg_mpi_symmetric_progress,
    .symmetric_wait = tg_mpi_symmetric_wait,
};

/* Waits for a request. An aborted world does so for a limited time; false: it passed. */
static bool outcome_wait(tg_world* world, MPI_Request* request, double patience_s) {
  tg_mpi_link* link = world->link;
  tg_mpi_pace pace = {0};
  for (;;) {
    int flag = 0;
    if (MPI_Test(request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (flag) return true;
    tg_mpi_pause(link, &pace);
    if (pace.rounds % 32 || tg_mpi_poll_abort(world) == TG_OK) continue;
    double now = tg_time_now();
    if (pace.start == 0) pace.start = now;
    if (now - pace.start > patience_s) {
      MPI_Cancel(request);
      MPI_Request_free(request);
      return false;
    }
  }
}

/* The buffers of both are static because a wait that was given up leaves them to MPI. */
static bool outcome_send(tg_world* world, int to, const tg_outcome* outcome) {
  static tg_outcome leaving;
  MPI_Request request;
  leaving = *outcome;
  MPI_Isend(&leaving, (int)sizeof leaving, MPI_BYTE, to, TG_MPI_TAG_OUTCOME,
            ((tg_mpi_link*)world->link)->control, &request);
  return outcome_wait(world, &request, tg_outcome_patience_s);
}

static bool outcome_receive(tg_world* world, int from, double patience_s, tg_outcome* outcome) {
  static tg_outcome arriving;
  MPI_Request request;
  MPI_Irecv(&arriving, (int)sizeof arriving, MPI_BYTE, from, TG_MPI_TAG_OUTCOME,
            ((tg_mpi_link*)world->link)->control, &request);
  if (!outcome_wait(world, &request, patience_s)) return false;
  *outcome = arriving;
  return true;
}

/* Leaves the outcome of all PEs in *outcome. True when MPI owes this world nothing. */
static bool agree_end(tg_world* world, tg_status status, tg_outcome* outcome) {
  static const tg_outcome_ways ways = {outcome_send, outcome_receive};
  tg_mpi_link* link = world->link;
  tg_mpi_poll_abort(world);
  bool complete = tg_outcome_agree(world, &link->abort, status, &ways, outcome);
  return complete && !link->abort.aborted && !outcome->aborted;
}

/* Memory of a world; MPI's share is made or released elsewhere. */
static void world_free(tg_world* world) {
  tg_mpi_link* link = world->link;
  tg_world_release(world);
  tg_free(link->abort_requests);
  tg_free(link->node_rank);
  tg_free(link->put_to);
  tg_free(link->put_from);
  tg_free(link->arriving);
  tg_free(link);
  tg_free(world);
}

static tg_status world_allocate(int pe_count, tg_world** out) {
  tg_world* world = NULL;
  tg_mpi_link* link = NULL;
  size_t count = (size_t)pe_count;
  tg_status status = TG_OK;
  TG_TRY(TG_ALLOCATE(1, "a world", &world));
  TG_TRY_GOTO(TG_ALLOCATE(1, "a world", &link), fail);
  world->link = link;
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->abort_requests), fail);
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->node_rank), fail);
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->put_to), fail);
  TG_TRY_GOTO(TG_ALLOCATE(count, "a world", &link->put_from), fail);
  for (int p = 0; p < pe_count; p++) link->abort_requests[p] = MPI_REQUEST_NULL;
  *out = world;
  return TG_OK;
fail:
  if (link)
    world_free(world);
  else
    tg_free(world);
  return status;
}

bool tg_mpi_usable(void) {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  if (initialised) MPI_Finalized(&finalised);
  return initialised && !finalised;
}

tg_status tg_mpi_open(const tg_world_params* params, tg_world** out) {
  int initialised = 0, pe = 0, pe_count = 0;
  MPI_Initialized(&initialised);
  if (!initialised)
    return tg_fail(TG_ERR_MACHINE,
                   "world: MPI is not initialised; transport mpi needs a program "
                   "that calls MPI_Init_thread first");
  MPI_Comm all = MPI_COMM_WORLD;
  if (params->communicator) memcpy(&all, params->communicator, sizeof all);
  MPI_Comm_rank(all, &pe);
  MPI_Comm_size(all, &pe_count);
  if (params->pe_count && params->pe_count != pe_count)
    return tg_fail(TG_ERR_INPUT,
                   "world: %d processing elements asked for, but the launcher started %d; make "
                   "them equal",
                   params->pe_count, pe_count);
  tg_world* world = NULL;
  TG_TRY(world_allocate(pe_count, &world));
  tg_mpi_link* link = world->link;
  MPI_Comm_dup(all, &link->data);
  MPI_Comm_dup(all, &link->control);
  MPI_Comm_dup(all, &link->puts);
  MPI_Comm_set_errhandler(link->data, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(link->control, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(link->puts, MPI_ERRORS_RETURN);
  tg_world_init(world, &mpi_ops, link, pe, pe_count, params->deadline_s);
  tg_status status = tg_mpi_node_create(world, params->node_size);
  if (status != TG_OK) return tg_mpi_close(&world, status);
  link->spin = world->node_pe_count <= (int)sysconf(_SC_NPROCESSORS_ONLN);
  *out = world;
  return TG_OK;
}

tg_status tg_mpi_open_fortran(const tg_world_params* params, int communicator, tg_world** out) {
  tg_world_params known = *params;
  MPI_Comm all = MPI_Comm_f2c((MPI_Fint)communicator);
  known.communicator = &all;
  return tg_mpi_open(&known, out);
}

tg_status tg_mpi_close(tg_world** pointer, tg_status status) {
  tg_world* world = *pointer;
  tg_mpi_link* link = world->link;
  tg_outcome outcome;
  *pointer = NULL;
  if (agree_end(world, status, &outcome)) {
    tg_mpi_node_end(world);
    MPI_Comm_free(&link->control);
    MPI_Comm_free(&link->data);
    MPI_Comm_free(&link->puts);
    if (link->node != MPI_COMM_NULL) MPI_Comm_free(&link->node);
    world_free(world);
  } else { /* an aborted world leaves messages behind; what they point to must stay */
    tg_world_release(world);
  }
  if (outcome.status != TG_OK) tg_set_last_error(outcome.message);
  return (tg_status)outcome.status;
}

tg_status tg_mpi_run(const tg_world_params* params, tg_world_main main, void* context) {
  tg_world* world = NULL;
  TG_TRY(tg_mpi_open(params, &world));
  return tg_mpi_close(&world, tg_world_call_main(world, main, context));
}
#endif
