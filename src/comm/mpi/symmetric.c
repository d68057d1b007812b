/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric memory of processes.
 *
 * PEs of a node have it in shared windows: a peer's block is plain memory, its signals are C11
 * atomics. To other nodes a put is one message, header and data; MPI keeps the messages of a pair
 * in order, and the receiver takes them in, data first and then the signal, whenever it waits for a
 * signal or reads one. The sender keeps a copy until MPI is done with it, so a put never waits.
 *
 * A window can only be released by all its PEs together: what has been destroyed stays listed until
 * the next creation, or the end of the world, finds that all PEs have destroyed it. */
#ifdef TG_HAVE_MPI
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/timer.h"
#include "comm/mpi/channel.h"
#include "comm/puts.h"

enum { ROUNDS_PER_LOOK = 32 };

/* The transport's part of a symmetric memory. */
typedef struct window {
  MPI_Win window; /* MPI_WIN_NULL: alone on its node, ordinary memory */
} window;

static tg_mpi_link* link_of(tg_world* world) { return world->link; }

/* TG_NODE_SIZE, where the caller leaves the size open. 0: all of a machine. */
static tg_status read_node_size(int* node_size) {
  const char* text = getenv("TG_NODE_SIZE");
  if (*node_size > 0 || text == NULL || *text == '\0') return TG_OK;
  if (tg_parse_int(text, (int)strlen(text), node_size) && *node_size >= 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "TG_NODE_SIZE=%s: a number of processes, or 0 for all of a machine, was expected",
                 text);
}

tg_status tg_mpi_node_create(tg_world* world, int node_size) {
  tg_mpi_link* link = link_of(world);
  MPI_Comm machine;
  MPI_Group all, node;
  int rank = 0;
  /* collective from here on: each process goes on, and all learn of a mistake at the end */
  const tg_status status = read_node_size(&node_size);
  if (status != TG_OK) node_size = 0;
  MPI_Comm_split_type(link->data, MPI_COMM_TYPE_SHARED, world->pe, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &rank);
  MPI_Comm_size(machine, &world->node_pe_count); /* of which node may be a part */
  world->node_pe = rank;
  MPI_Comm_split(machine, node_size > 0 ? rank / node_size : 0, rank, &link->node);
  MPI_Comm_free(&machine);
  MPI_Comm_size(link->node, &link->node_count);
  MPI_Comm_group(link->data, &all);
  MPI_Comm_group(link->node, &node);
  for (int p = 0; p < world->pe_count; p++) {
    MPI_Group_translate_ranks(all, 1, &p, node, &rank);
    link->node_rank[p] = rank == MPI_UNDEFINED ? TG_NO_PE : rank;
  }
  MPI_Group_free(&all);
  MPI_Group_free(&node);
  return status;
}

static window* window_of(const tg_symmetric* s) { return s->share; }

static tg_status release(tg_symmetric* s) {
  window* w = window_of(s);
  if (w->window != MPI_WIN_NULL) {
    MPI_Win_unlock_all(w->window);
    MPI_Win_free(&w->window);
  } else {
    tg_free(s->base[s->world->pe]);
  }
  tg_free(w);
  tg_free(s->base);
  tg_free(s);
  return TG_OK;
}

/* Blocks of the PEs of this node in a shared window. */
static tg_status share_blocks(tg_symmetric* s, size_t bytes) {
  tg_mpi_link* link = link_of(s->world);
  window* w = window_of(s);
  void* mine = NULL;
  MPI_Comm_set_errhandler(link->node, MPI_ERRORS_RETURN);
  int code =
      MPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, link->node, &mine, &w->window);
  if (code != MPI_SUCCESS) {
    w->window = MPI_WIN_NULL;
    return tg_fail(TG_ERR_MACHINE,
                   "symmetric memory: MPI has no shared window of %zu bytes for each of %d "
                   "processes; make /dev/shm larger, or set TG_NODE_SIZE=1",
                   bytes, link->node_count);
  }
  MPI_Win_lock_all(MPI_MODE_NOCHECK, w->window);
  for (int p = 0; p < s->world->pe_count; p++) {
    MPI_Aint size = 0;
    int unit = 0;
    void* block = NULL;
    if (link->node_rank[p] == TG_NO_PE) continue;
    MPI_Win_shared_query(w->window, link->node_rank[p], &size, &unit, &block);
    s->base[p] = block;
  }
  return TG_OK;
}

tg_status tg_mpi_symmetric_create(tg_symmetric* s) {
  tg_world* world = s->world;
  tg_mpi_link* link = link_of(world);
  size_t bytes = tg_symmetric_block_bytes(s);
  window* w = NULL;
  TG_TRY(tg_symmetric_reap(world, &link->symmetric, release));
  tg_status status = tg_world_agree(world, TG_ALLOCATE(1, "symmetric memory", &w));
  if (status != TG_OK) goto fail;
  w->window = MPI_WIN_NULL;
  s->share = w;
  status = link->node_count > 1
               ? share_blocks(s, bytes)
               : tg_allocate(bytes, 1, "symmetric memory", (void**)&s->base[world->pe]);
  if (s->base[world->pe]) memset(s->base[world->pe], 0, bytes);
  s->number = ++link->symmetric_count;
  status = tg_world_agree(world, status);
  if (status != TG_OK) goto fail;
  s->next = link->symmetric;
  link->symmetric = s;
  return tg_world_barrier(world); /* before a put arrives all must have it, zeroed */
fail:
  /* where one node failed, another's window is left to MPI */
  if (link->node_count == 1) tg_free(s->base[world->pe]);
  tg_free(w);
  return status;
}

void tg_mpi_symmetric_destroy(tg_symmetric* s) { s->destroyed = true; }

static void send_done(tg_mpi_link* link) {
  tg_mpi_put** at = &link->sending;
  while (*at) {
    tg_mpi_put* put = *at;
    int flag = 0;
    MPI_Test(&put->request, &flag, MPI_STATUS_IGNORE);
    if (!flag) {
      at = &put->next;
      continue;
    }
    *at = put->next;
    tg_free(put);
  }
}

static tg_status send_put(tg_world* world, int pe, const tg_put_head* head, const void* data) {
  tg_mpi_link* link = link_of(world);
  tg_mpi_put* put = NULL;
  size_t bytes = sizeof *head + (size_t)head->bytes;
  tg_status status = tg_allocate(sizeof *put + bytes, 1, "a put", (void**)&put);
  if (status != TG_OK) return tg_world_give_up(world, status);
  put->message = (char*)(put + 1);
  memcpy(put->message, head, sizeof *head);
  if (head->bytes) memcpy(put->message + sizeof *head, data, (size_t)head->bytes);
  put->next = link->sending;
  link->sending = put;
  MPI_Isend(put->message, (int)bytes, MPI_BYTE, pe, TG_MPI_TAG_PUT, link->puts, &put->request);
  /* send_done waits. NOLINTNEXTLINE(*-optin.mpi.MPI-Checker) */
  link->put_to[pe]++;
  return TG_OK;
}

tg_status tg_mpi_symmetric_put(tg_symmetric* s, int pe, size_t offset, const void* data,
                               size_t bytes, int signal, tg_signal_op op, uint64_t value) {
  tg_put_head head = {.number = s->number, .offset = offset, .value = value, .signal = -1};
  const char* from = data;
  send_done(link_of(s->world));
  while (bytes > tg_mpi_piece) { /* larger than MPI's counts: the last piece brings the signal */
    head.bytes = tg_mpi_piece;
    TG_TRY(send_put(s->world, pe, &head, from));
    from += tg_mpi_piece;
    head.offset += tg_mpi_piece;
    bytes -= tg_mpi_piece;
  }
  head.bytes = bytes;
  head.signal = signal;
  head.op = op;
  return send_put(s->world, pe, &head, from);
}

/* Of the same program, on whose checks this one relies. */
static void take_put(tg_world* world, const char* message) {
  tg_put_head head;
  memcpy(&head, message, sizeof head);
  tg_symmetric* s = tg_puts_find(link_of(world)->symmetric, head.number);
  if (!s) return;
  if (head.bytes) memcpy(s->base[world->pe] + head.offset, message + sizeof head, head.bytes);
  tg_put_signal(s, &head);
}

void tg_mpi_symmetric_progress(tg_world* world) {
  tg_mpi_link* link = link_of(world);
  if (link->node_count == world->pe_count) return;
  for (;;) {
    int flag = 0, bytes = 0;
    MPI_Message matched;
    MPI_Status state;
    MPI_Improbe(MPI_ANY_SOURCE, TG_MPI_TAG_PUT, link->puts, &flag, &matched, &state);
    if (!flag) break;
    MPI_Get_count(&state, MPI_BYTE, &bytes);
    if (TG_RESERVE((size_t)bytes, "a put", &link->arriving, &link->arriving_capacity) != TG_OK) {
      tg_world_give_up(world, TG_ERR_MACHINE);
      return;
    }
    MPI_Mrecv(link->arriving, bytes, MPI_BYTE, &matched, MPI_STATUS_IGNORE);
    link->put_from[state.MPI_SOURCE]++;
    take_put(world, link->arriving);
  }
  send_done(link);
}

tg_status tg_mpi_symmetric_wait(const tg_symmetric_wait_list* list, int* which) {
  tg_world* world = list->symmetric->world;
  tg_mpi_link* link = link_of(world);
  tg_mpi_pace pace = {0};
  for (;;) {
    tg_mpi_symmetric_progress(world);
    if (tg_symmetric_arrived(list, which)) return TG_OK;
    tg_mpi_pause(link, &pace);
    if (pace.rounds % ROUNDS_PER_LOOK) continue;
    TG_TRY(tg_mpi_poll_abort(world));
    double now = tg_time_now();
    if (pace.start == 0) pace.start = now;
    if (now - pace.start > world->deadline_s) return tg_symmetric_late(list, now - pace.start);
  }
}

void tg_mpi_node_end(tg_world* world) {
  tg_mpi_link* link = link_of(world);
  int64_t* expected = NULL;
  if (TG_ALLOCATE((size_t)world->pe_count, "puts", &expected) != TG_OK) return;
  MPI_Alltoall(link->put_to, 1, MPI_INT64_T, expected, 1, MPI_INT64_T, link->data);
  for (bool all = false; !all;) {
    tg_mpi_symmetric_progress(world);
    all = !link->sending;
    for (int p = 0; p < world->pe_count; p++) all = all && link->put_from[p] >= expected[p];
  }
  tg_free(expected);
  while (link->symmetric) { /* in the same order on all PEs */
    tg_symmetric* s = link->symmetric;
    link->symmetric = s->next;
    release(s);
  }
}
#endif
