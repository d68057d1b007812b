/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "comm/transport.h"
#include "comm/words.h"

enum { DEFAULT_DEADLINE_S = 60 };

static const struct {
  const char* name;
  tg_status (*run)(const tg_world_params* params, tg_world_main main, void* context);
  tg_status (*open)(const tg_world_params* params, tg_world** out);
} transports[] = {{"loop", tg_loop_run, tg_loop_open},
                  {"mpi", tg_mpi_run, tg_mpi_open},
                  {"socket", tg_socket_run, tg_socket_open},
                  {"nvshmem", tg_nvshmem_run, tg_nvshmem_open}};

int tg_world_under_launcher(void) {
  /* Open MPI; MPICH and relatives; MVAPICH; srun */
  static const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                      "SLURM_STEP_NUM_TASKS"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const char* text = getenv(sizes[i]);
    if (text && atoi(text) > 1) return 1;
  }
  return 0;
}

static tg_world_params with_defaults(const tg_world_params* params) {
  tg_world_params known = *params;
  if (!(known.deadline_s > 0)) known.deadline_s = DEFAULT_DEADLINE_S;
  if (!known.transport)
    known.transport = tg_socket_usable() ? "socket" : tg_world_under_launcher() ? "mpi" : "loop";
  return known;
}

static tg_status unknown_transport(const char* name) {
  return tg_fail(TG_ERR_INPUT,
                 "world: transport '%s' is not known; give loop, mpi, socket or nvshmem", name);
}

tg_status tg_world_open(const tg_world_params* params, tg_world** out) {
  *out = NULL;
  tg_world_params known = with_defaults(params);
  for (size_t i = 0; i < sizeof transports / sizeof *transports; i++)
    if (strcmp(known.transport, transports[i].name) == 0) return transports[i].open(&known, out);
  return unknown_transport(known.transport);
}

tg_status tg_world_open_communicator(const void* communicator, double deadline_s, tg_world** out) {
  tg_world_params params = {.transport = communicator ? "mpi" : "loop",
                            .deadline_s = deadline_s,
                            .communicator = communicator};
  return tg_world_open(&params, out);
}

tg_status tg_world_open_gpu(const void* communicator, double deadline_s, const int* device,
                            void* stream, tg_world** out) {
  tg_world_params params = {.transport = "nvshmem",
                            .deadline_s = deadline_s,
                            .communicator = communicator,
                            .device = device,
                            .stream = stream};
  return tg_world_open(&params, out);
}

tg_status tg_world_open_fortran(int communicator, double deadline_s, tg_world** out) {
  tg_world_params params = {.transport = "mpi", .deadline_s = deadline_s};
  params = with_defaults(&params);
  return tg_mpi_open_fortran(&params, communicator, out);
}

tg_status tg_world_close(tg_world** world, tg_status status) {
  if (!world || !*world) return status;
  return (*world)->ops->close(world, status);
}

tg_status tg_world_run(const tg_world_params* params, tg_world_main main, void* context) {
  tg_world_params known = with_defaults(params);
  if (known.pe_count < 0)
    return tg_fail(TG_ERR_INPUT, "world: %d processing elements asked for; give 1 or more",
                   known.pe_count);
  for (size_t i = 0; i < sizeof transports / sizeof *transports; i++)
    if (strcmp(known.transport, transports[i].name) == 0)
      return transports[i].run(&known, main, context);
  return unknown_transport(known.transport);
}

int tg_world_node_pe(const tg_world* world) { return world->node_pe; }
int tg_world_node_pe_count(const tg_world* world) { return world->node_pe_count; }

tg_status tg_world_device(const tg_world* world, int* device, void** stream) {
  if (!world->ops->device)
    return tg_fail(TG_ERR_INPUT,
                   "world: a processing element of transport %s has no GPU; open the world with "
                   "transport nvshmem",
                   world->ops->name);
  world->ops->device(world, device, stream);
  return TG_OK;
}

tg_symmetric* tg_world_alarm(const tg_world* world) {
  return world->ops->alarm ? world->ops->alarm(world) : NULL;
}

tg_status tg_world_heed_alarm(tg_world* world) {
  tg_status status = world->ops->aborted(world);
  if (!world->ops->heed_alarm) return status;
  for (bool raised = true; raised && status == TG_OK;) {
    status = world->ops->heed_alarm(world, &raised);
    struct timespec moment = {0, 1000000};
    if (raised && status == TG_OK) nanosleep(&moment, NULL);
  }
  return status;
}

void tg_world_init(tg_world* world, const tg_transport_ops* ops, void* link, int pe, int pe_count,
                   double deadline_s) {
  memset(world, 0, sizeof *world);
  world->ops = ops;
  world->link = link;
  world->pe = pe;
  world->pe_count = pe_count;
  world->node_pe = pe;
  world->node_pe_count = pe_count;
  world->deadline_s = deadline_s;
}

tg_status tg_world_call_main(tg_world* world, tg_world_main main, void* context) {
  tg_status status = tg_words_compare(world);
  if (status == TG_OK) status = main(world, context);
  if (status != TG_OK && status != world->agreed) tg_world_abort(world, status);
  return status;
}

void tg_world_release(tg_world* world) {
  TG_FREE(world->gathered);
  TG_FREE(world->work);
  world->gathered_capacity = world->work_capacity = 0;
}

tg_status tg_world_give_up(tg_world* world, tg_status status) {
  world->ops->abort(world, status, tg_last_error());
  return status;
}

/* " (halo positions, pulse 2, exchange 7)", or nothing. */
static const char* doing(const tg_world* world, char* text, size_t size) {
  text[0] = '\0';
  if (world->note)
    snprintf(text, size, " (%s %lld, exchange %lld)", world->note, (long long)world->note_part,
             (long long)world->note_turn);
  return text;
}

tg_status tg_world_late(tg_world* world, double waited_s, int partner, const char* what) {
  char note[128];
  tg_status status = tg_fail(TG_ERR_MACHINE,
                             "PE %d waited %.3g s for PE %d in %s%s, longer than the deadline of "
                             "%.3g s; that PE is stuck, "
                             "gone, or much slower: see its messages, or raise the deadline",
                             world->pe, waited_s, partner, what, doing(world, note, sizeof note),
                             world->deadline_s);
  return tg_world_give_up(world, status);
}

tg_status tg_world_lost(tg_world* world, int lost, int partner, const char* what) {
  char note[128], wait[256] = "";
  if (what)
    snprintf(wait, sizeof wait, " while it waited for PE %d in %s%s", partner, what,
             doing(world, note, sizeof note));
  tg_status status = tg_fail(TG_ERR_MACHINE,
                             "PE %d lost PE %d%s: its connection is closed, so that process was "
                             "killed, crashed, or its machine went down; see its messages",
                             world->pe, lost, wait);
  return tg_world_give_up(world, status);
}

void tg_world_note(tg_world* world, const char* what, int64_t part, int64_t turn) {
  world->note = what;
  world->note_part = part;
  world->note_turn = turn;
}

int tg_world_pe(const tg_world* world) { return world->pe; }
int tg_world_pe_count(const tg_world* world) { return world->pe_count; }
const char* tg_world_transport(const tg_world* world) { return world->ops->name; }
int tg_world_of_processes(const tg_world* world) { return strcmp(world->ops->name, "loop") != 0; }

void tg_world_abort(tg_world* world, tg_status status) {
  world->ops->abort(world, status == TG_OK ? TG_ERR_INTERNAL : status, tg_last_error());
}

/* Every call begins here: a failure agreed earlier is no longer the latest news. */
static tg_status enter(tg_world* world) {
  world->agreed = TG_OK;
  return world->ops->aborted(world);
}

static tg_status check_partners(tg_world* world, int to, size_t send_bytes, int from,
                                const size_t* receive_bytes) {
  const char* fault = NULL;
  if (to < 0 || to >= world->pe_count || from < 0 || from >= world->pe_count)
    fault = "there is no such PE";
  else if ((to == world->pe) != (from == world->pe))
    fault = "a PE that sends to itself must receive from itself";
  else if (to == world->pe && receive_bytes && *receive_bytes != send_bytes)
    fault = "the sizes of a message to itself differ";
  if (!fault) return TG_OK;
  tg_fail(TG_ERR_INTERNAL, "PE %d of %d exchanges with PE %d (to) and PE %d (from): %s", world->pe,
          world->pe_count, to, from, fault);
  return tg_world_give_up(world, TG_ERR_INTERNAL);
}

tg_status tg_world_exchange(tg_world* world, int to, const void* send, size_t send_bytes, int from,
                            void* receive, size_t receive_bytes) {
  TG_TRY(enter(world));
  TG_TRY(check_partners(world, to, send_bytes, from, &receive_bytes));
  if (to == world->pe) {
    if (send_bytes) memcpy(receive, send, send_bytes);
    return TG_OK;
  }
  tg_message message = {.to = to,
                        .send = send,
                        .send_bytes = send_bytes,
                        .from = from,
                        .receive = receive,
                        .receive_bytes = receive_bytes};
  return world->ops->exchange(world, &message);
}

tg_status tg_world_exchange_any(tg_world* world, int to, const void* send, size_t send_bytes,
                                int from, void** receive, size_t* capacity, size_t* receive_bytes) {
  TG_TRY(enter(world));
  TG_TRY(check_partners(world, to, send_bytes, from, NULL));
  if (to == world->pe) {
    tg_status status = tg_reserve(send_bytes, 1, "a message", receive, capacity);
    if (status != TG_OK) return tg_world_give_up(world, status);
    if (send_bytes) memcpy(*receive, send, send_bytes);
    *receive_bytes = send_bytes;
    return TG_OK;
  }
  tg_message message = {.to = to,
                        .send = send,
                        .send_bytes = send_bytes,
                        .from = from,
                        .grown = receive,
                        .capacity = capacity,
                        .grown_bytes = receive_bytes};
  return world->ops->exchange(world, &message);
}

static tg_status all_gather(tg_world* world, const void* send, size_t bytes, void* receive) {
  return world->ops->all_gather ? world->ops->all_gather(world, send, bytes, receive)
                                : tg_messages_all_gather(world, send, bytes, receive);
}

tg_status tg_world_all_gather(tg_world* world, const void* send, size_t bytes, void* receive) {
  TG_TRY(enter(world));
  return all_gather(world, send, bytes, receive);
}

static tg_status broadcast(tg_world* world, int root, void* data, size_t bytes) {
  return world->ops->broadcast ? world->ops->broadcast(world, root, data, bytes)
                               : tg_messages_broadcast(world, root, data, bytes);
}

tg_status tg_world_barrier(tg_world* world) {
  TG_TRY(enter(world));
  return world->ops->barrier ? world->ops->barrier(world) : tg_messages_barrier(world);
}

tg_status tg_world_broadcast(tg_world* world, int root, void* data, size_t bytes) {
  TG_TRY(enter(world));
  return broadcast(world, root, data, bytes);
}

/* Reductions: the values of all PEs come to each, in parts that fit a transport's fast path, and
 * each PE combines them in PE order, so that all have the same bits. */
enum { PART = 512 };

typedef void (*combine)(char* into, const char* from, size_t count);

static void add_doubles(char* into, const char* from, size_t count) {
  double* a = (double*)(void*)into;
  const double* b = (const double*)(const void*)from;
  for (size_t i = 0; i < count; i++) a[i] += b[i];
}

static void add_int64(char* into, const char* from, size_t count) {
  int64_t* a = (int64_t*)(void*)into;
  const int64_t* b = (const int64_t*)(const void*)from;
  for (size_t i = 0; i < count; i++) a[i] += b[i];
}

static void max_int64(char* into, const char* from, size_t count) {
  int64_t* a = (int64_t*)(void*)into;
  const int64_t* b = (const int64_t*)(const void*)from;
  for (size_t i = 0; i < count; i++)
    if (b[i] > a[i]) a[i] = b[i];
}

static tg_status gathered_room(tg_world* world, size_t bytes) {
  tg_status status = TG_RESERVE(bytes, "a reduction", &world->gathered, &world->gathered_capacity);
  return status == TG_OK ? TG_OK : tg_world_give_up(world, status);
}

static tg_status reduce(tg_world* world, void* values, size_t count, combine add) {
  TG_TRY(enter(world));
  TG_TRY(gathered_room(world, (size_t)world->pe_count * PART * 8));
  for (size_t done = 0; done < count; done += PART) {
    size_t part = count - done < PART ? count - done : PART;
    char* at = (char*)values + done * 8;
    TG_TRY(all_gather(world, at, part * 8, world->gathered));
    memcpy(at, world->gathered, part * 8);
    for (int p = 1; p < world->pe_count; p++) add(at, world->gathered + (size_t)p * part * 8, part);
  }
  return TG_OK;
}

tg_status tg_world_sum_doubles(tg_world* world, double* values, size_t count) {
  return reduce(world, values, count, add_doubles);
}

tg_status tg_world_max_int64(tg_world* world, int64_t* values, size_t count) {
  return reduce(world, values, count, max_int64);
}

tg_status tg_world_sum_int64(tg_world* world, int64_t* values, size_t count) {
  return reduce(world, values, count, add_int64);
}

tg_status tg_world_agree(tg_world* world, tg_status status) {
  TG_TRY(enter(world));
  int mine = (int)status;
  TG_TRY(gathered_room(world, (size_t)world->pe_count * sizeof mine));
  TG_TRY(all_gather(world, &mine, sizeof mine, world->gathered));
  for (int p = 0; p < world->pe_count; p++) {
    int theirs = 0;
    memcpy(&theirs, world->gathered + (size_t)p * sizeof theirs, sizeof theirs);
    if (theirs == TG_OK) continue;
    char message[TG_WORLD_MESSAGE] = {0};
    if (p == world->pe) strncpy(message, tg_last_error(), sizeof message - 1);
    TG_TRY(broadcast(world, p, message, sizeof message));
    if (p != world->pe) tg_set_last_error(message);
    world->agreed = (tg_status)theirs;
    return world->agreed;
  }
  return TG_OK;
}

/* Root's part of a gather: the sizes are known; makes room. */
static tg_status gather_room(const uint64_t* bytes, int pe_count, void** gathered, size_t* capacity,
                             size_t* sizes) {
  size_t total = 0;
  for (int p = 0; p < pe_count; p++) {
    total += (size_t)bytes[p];
    if (sizes) sizes[p] = (size_t)bytes[p];
  }
  return tg_reserve(total, 1, "gathered data", gathered, capacity);
}

tg_status tg_world_gather(tg_world* world, int root, const void* send, size_t bytes,
                          void** gathered, size_t* capacity, size_t* sizes) {
  TG_TRY(enter(world));
  uint64_t mine = bytes;
  TG_TRY(gathered_room(world, (size_t)world->pe_count * sizeof mine));
  TG_TRY(all_gather(world, &mine, sizeof mine, world->gathered));
  if (world->pe != root) {
    tg_message message = {.to = root, .send = send, .send_bytes = bytes, .from = TG_NO_PE};
    return world->ops->exchange(world, &message);
  }
  const uint64_t* each = (const uint64_t*)(const void*)world->gathered;
  tg_status status = gather_room(each, world->pe_count, gathered, capacity, sizes);
  if (status != TG_OK) return tg_world_give_up(world, status);
  char* at = *gathered;
  for (int p = 0; p < world->pe_count; p++) {
    if (p == root) {
      if (bytes) memcpy(at, send, bytes);
    } else {
      tg_message message = {
          .to = TG_NO_PE, .from = p, .receive = at, .receive_bytes = (size_t)each[p]};
      TG_TRY(world->ops->exchange(world, &message));
    }
    if (each[p]) at += each[p];
  }
  return TG_OK;
}
