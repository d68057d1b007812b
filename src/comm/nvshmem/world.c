/* SPDX-License-Identifier: Apache-2.0 */
/* A world of processes with a GPU each: made, run, ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "comm/nvshmem/nvshmem.h"
#include "device/device.h"
#include "device/nvshmem.h"

/* How long the words of a PE whose kernel gave up are waited for. */
static const double alarm_words_s = 1;

/* What NVSHMEM was started with, once for this process. */
static struct session {
  tg_nvshmem_id id;
  int pe, pe_count, device;
  int started;
} session;

/* A world and its link in one piece. */
typedef struct opened {
  tg_world world;
  tg_nvshmem_link link;
} opened;

static tg_nvshmem_link* link_of(const tg_world* world) { return world->link; }

tg_world* tg_nvshmem_host(const tg_world* world) {
  tg_world* host = link_of(world)->host;
  host->note = world->note;
  host->note_part = world->note_part;
  host->note_turn = world->note_turn;
  host->deadline_s = world->deadline_s;
  return host;
}

void tg_nvshmem_raise_alarm(tg_world* world, bool all) {
  tg_nvshmem_link* link = link_of(world);
  if (!link->alarm || link->alarm_raised) return;
  link->alarm_raised = true;
  size_t stride = 0;
  uint64_t* word = tg_symmetric_signals(link->alarm, &stride);
  for (int p = 0; p < world->pe_count; p++)
    if (all || p == world->pe) tg_nvshmem_alarm(&link->gpu, word, p);
}

static tg_status nvshmem_aborted(tg_world* world) {
  tg_world* host = tg_nvshmem_host(world);
  tg_status status = host->ops->aborted(host);
  if (status == TG_OK || link_of(world)->alarm_raised) return status;
  tg_nvshmem_raise_alarm(world, false); /* kernels that spin here shall end too */
  return host->ops->aborted(host);      /* its words again */
}

static void nvshmem_abort(tg_world* world, tg_status status, const char* message) {
  tg_world* host = tg_nvshmem_host(world);
  host->ops->abort(host, status, message);
  tg_nvshmem_raise_alarm(world, true);
}

tg_status tg_nvshmem_heed_alarm(tg_world* world, bool* raised) {
  tg_nvshmem_link* link = link_of(world);
  *raised = false;
  TG_TRY(nvshmem_aborted(world));
  *raised = link->alarm && tg_symmetric_value(link->alarm, 0) != 0;
  if (!*raised) return nvshmem_aborted(world); /* as it is when it cannot be read */
  double now = tg_time_now();
  if (link->alarm_seen == 0) link->alarm_seen = now;
  if (now - link->alarm_seen < alarm_words_s) return TG_OK;
  tg_fail(TG_ERR_MACHINE,
          "PE %d: a kernel of some PE gave up and raised the alarm, and no PE has said why for "
          "%.0f s",
          world->pe, alarm_words_s);
  tg_world_give_up(world, TG_ERR_MACHINE);
  return nvshmem_aborted(world);
}

static tg_status nvshmem_exchange(tg_world* world, const tg_message* message) {
  tg_world* host = tg_nvshmem_host(world);
  tg_status status = host->ops->exchange(host, message);
  /* the host world may have been aborted by its own deadline */
  if (status != TG_OK && host->ops->aborted(host) != TG_OK) {
    tg_nvshmem_raise_alarm(world, true);
    status = host->ops->aborted(host);
  }
  return status;
}

static void nvshmem_device(const tg_world* world, int* device, void** stream) {
  *device = link_of(world)->gpu.device;
  *stream = link_of(world)->gpu.stream;
}

static tg_symmetric* nvshmem_alarm(const tg_world* world) { return link_of(world)->alarm; }

/* Waits until the stream has done what is queued, for its puts must not outlive the memory. */
static tg_status drain(tg_world* world) {
  double start = tg_time_now();
  for (bool done = false;;) {
    TG_TRY(tg_gpu_stream_query(&link_of(world)->gpu, &done));
    if (done) return TG_OK;
    TG_TRY(nvshmem_aborted(world));
    if (tg_time_now() - start > world->deadline_s)
      return tg_fail(TG_ERR_MACHINE, "PE %d: the work on its GPU has not ended for %.1f s",
                     world->pe, tg_time_now() - start);
  }
}

static tg_status nvshmem_close(tg_world** pointer, tg_status status) {
  tg_world* world = *pointer;
  tg_nvshmem_link* link = world->link;
  *pointer = NULL;
  /* the host world agrees on the outcome when it closes; here only: are all still there? */
  bool whole = nvshmem_aborted(world) == TG_OK;
  if (whole && link->symmetric) {
    char words[TG_WORLD_MESSAGE] = {0};
    if (status != TG_OK) strncpy(words, tg_last_error(), sizeof words - 1);
    tg_status end = tg_world_agree(world, drain(world));
    whole = end == TG_OK && tg_nvshmem_symmetric_end(world, true) == TG_OK;
    if (status == TG_OK)
      status = end;
    else
      tg_set_last_error(words);
  }
  if (!whole) tg_nvshmem_symmetric_end(world, false);
  status = tg_world_close(&link->host, status);
  tg_gpu_link_close(&link->gpu);
  tg_world_release(world);
  tg_free(world); /* its link is in the same piece of memory */
  return status;
}

static const tg_transport_ops nvshmem_ops = {
    .name = "nvshmem",
    .close = nvshmem_close,
    .device = nvshmem_device,
    .alarm = nvshmem_alarm,
    .heed_alarm = tg_nvshmem_heed_alarm,
    .exchange = nvshmem_exchange,
    .abort = nvshmem_abort,
    .aborted = nvshmem_aborted,
    .symmetric_create = tg_nvshmem_symmetric_create,
    .symmetric_destroy = tg_nvshmem_symmetric_destroy,
    .symmetric_put = tg_nvshmem_symmetric_put,
    .symmetric_values = tg_nvshmem_symmetric_values,
    .symmetric_wait = tg_nvshmem_symmetric_wait,
};

/* The world underneath. */
static tg_status open_host(const tg_world_params* params, tg_world** out) {
  if (params->communicator || tg_mpi_usable()) return tg_mpi_open(params, out);
  if (tg_socket_usable()) return tg_socket_open(params, out);
  if (tg_world_under_launcher()) return tg_mpi_open(params, out); /* says what is missing */
  if (params->pe_count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "world: %d processing elements asked for in one process; transport nvshmem "
                   "needs a process for each: start them with mpirun -n %d, or as transport socket "
                   "wants it (TG_BOOTSTRAP)",
                   params->pe_count, params->pe_count);
  return tg_loop_open(params, out);
}

/* What a PE says of its GPU. */
typedef struct card {
  unsigned char uuid[TG_GPU_UUID_BYTES];
  char bus[32];
  int device, node_count;
} card;

static tg_status choose_device(const tg_world* host, const int* wanted, card* mine) {
  int count = tg_device_count();
  if (wanted && (*wanted < 0 || *wanted >= count))
    return tg_fail(TG_ERR_MACHINE, "PE %d asks for GPU %d; there are %d, numbered from 0", host->pe,
                   *wanted, count);
  mine->device = wanted ? *wanted : tg_world_node_pe(host) % count;
  mine->node_count = tg_world_node_pe_count(host);
  return tg_gpu_identity(mine->device, mine->uuid, mine->bus, sizeof mine->bus);
}

/* The first two PEs that have the same GPU; a failure that all come to alike. */
static tg_status none_shared(const card* all, int count) {
  for (int a = 0; a < count; a++)
    for (int b = a + 1; b < count; b++)
      if (memcmp(all[a].uuid, all[b].uuid, sizeof all[a].uuid) == 0)
        return tg_fail(
            TG_ERR_MACHINE,
            "PEs %d and %d would share one GPU (number %d, at %s): kernels that wait for "
            "each other would hang. %d PEs run on that machine; start no more there "
            "than it has GPUs (CUDA_VISIBLE_DEVICES hides some), and give each its own",
            a, b, all[a].device, all[a].bus, all[a].node_count);
  return TG_OK;
}

/* Collective: *device is this PE's alone. */
static tg_status agree_devices(tg_world* host, const tg_world_params* params, int* device) {
  card mine, *all = NULL;
  memset(&mine, 0, sizeof mine);
  tg_status status = tg_nvshmem_check();
  if (status == TG_OK) status = choose_device(host, params->device, &mine);
  if (status == TG_OK) status = TG_ALLOCATE((size_t)host->pe_count, "GPUs", &all);
  status = tg_world_agree(host, status);
  if (status == TG_OK) status = tg_world_all_gather(host, &mine, sizeof mine, all);
  if (status == TG_OK) status = tg_world_agree(host, none_shared(all, host->pe_count));
  tg_free(all);
  *device = mine.device;
  return status;
}

/* The arguments of a start. */
typedef struct start {
  tg_nvshmem_id id;
  int pe, pe_count, device;
} start;

static tg_status call_start(void* argument) {
  const start* s = argument;
  return tg_nvshmem_start(&s->id, s->pe, s->pe_count, s->device);
}

static tg_status start_session(tg_world* world) {
  tg_world* host = tg_nvshmem_host(world);
  start* s = NULL;
  bool left = false;
  tg_status status = TG_ALLOCATE(1, "starting NVSHMEM", &s);
  if (status == TG_OK && host->pe == 0) status = tg_nvshmem_id_make(&s->id);
  status = tg_world_agree(host, status);
  if (status == TG_OK) status = tg_world_broadcast(host, 0, &s->id, sizeof s->id);
  if (status == TG_OK) {
    s->pe = host->pe;
    s->pe_count = host->pe_count;
    s->device = link_of(world)->gpu.device;
    status = tg_watched(world, "the start of NVSHMEM", call_start, s, &left);
    if (left) return status; /* s with it */
    status = tg_world_agree(host, status);
  }
  if (status == TG_OK)
    session = (struct session){s->id, s->pe, s->pe_count, s->device, .started = 1};
  tg_free(s);
  return status;
}

/* Collective: starts NVSHMEM, or finds that it was started by these PEs in this order. */
static tg_status join_session(tg_world* world) {
  tg_world* host = tg_nvshmem_host(world);
  int64_t started[2] = {session.started, -session.started};
  TG_TRY(tg_world_max_int64(host, started, 2));
  if (started[0] == 0) return start_session(world);
  struct session first = session;
  TG_TRY(tg_world_broadcast(host, 0, &first, sizeof first));
  tg_status status = TG_OK;
  if (!session.started || memcmp(&first.id, &session.id, sizeof first.id) != 0 ||
      session.pe != host->pe || session.pe_count != host->pe_count ||
      session.device != link_of(world)->gpu.device)
    status = tg_fail(TG_ERR_MACHINE,
                     "PE %d: NVSHMEM keeps the processes, their order and the GPUs of its first "
                     "start (there this process was PE %d of %d, on GPU %d) for the life of a "
                     "process; open the world with the same, or start the processes anew",
                     host->pe, session.started ? session.pe : -1, session.pe_count, session.device);
  return tg_world_agree(host, status);
}

/* Collective: all but the host world, which is there. */
static tg_status open_parts(tg_world* world, const tg_world_params* params) {
  tg_nvshmem_link* link = link_of(world);
  int device = 0;
  TG_TRY(agree_devices(link->host, params, &device));
  TG_TRY(tg_world_agree(link->host, tg_gpu_link_open(device, params->stream, &link->gpu)));
  TG_TRY(join_session(world));
  return tg_symmetric_create(world, TG_ALARM_BYTES + TG_NVSHMEM_STAGE_BYTES, 1, &link->alarm);
}

tg_status tg_nvshmem_open(const tg_world_params* params, tg_world** out) {
  if (!tg_nvshmem_built()) return tg_nvshmem_check();
  /* A kernel loaded while another one spins would wait for it; multicast is of no use here, and
   * its set-up fails on machines that are not set up for it. */
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
  tg_world* host = NULL;
  opened* one = NULL;
  TG_TRY(open_host(params, &host));
  tg_status status = tg_world_agree(host, TG_ALLOCATE(1, "a world", &one));
  if (status != TG_OK || !one) {
    tg_free(one);
    return tg_world_close(&host, status);
  }
  tg_world* world = &one->world;
  one->link.host = host;
  tg_world_init(world, &nvshmem_ops, &one->link, host->pe, host->pe_count, params->deadline_s);
  world->node_pe = host->node_pe;
  world->node_pe_count = host->node_pe_count;
  status = open_parts(world, params);
  if (status != TG_OK) return nvshmem_close(&world, status);
  *out = world;
  return TG_OK;
}

tg_status tg_nvshmem_run(const tg_world_params* params, tg_world_main main, void* context) {
  tg_world* world = NULL;
  TG_TRY(tg_nvshmem_open(params, &world));
  return nvshmem_close(&world, tg_world_call_main(world, main, context));
}
