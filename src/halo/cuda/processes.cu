/* SPDX-License-Identifier: Apache-2.0 */
/* A device halo of a world: a process and a GPU for each PE.
 *
 * Where kernels reach the other PEs' memory (transport nvshmem on NVLink) the addresses are all
 * that differs from one process with several GPUs: the layout is the same on every PE, so a peer's
 * memory gives the places of its slices, flags and letters, and the kernels of schedules.cu run as
 * they are. Elsewhere a table of far.h takes their place. */
#include <string.h>

#include <new>

#include "device/nvshmem.h"
#include "halo/cuda/internal.cuh"

static bool on_transport(const tg_device_halo* halo, const char* name) {
  return strcmp(tg_world_transport(halo->world), name) == 0;
}

static tg_status check_transport(const tg_device_halo* halo, const tg_device_halo_params* params) {
  const char* path = params->path ? params->path : "auto";
  const char* transport = tg_world_transport(halo->world);
  bool automatic = strcmp(path, "auto") == 0, signals = on_transport(halo, "nvshmem");
  if (!automatic && strcmp(path, "store") != 0 && strcmp(path, "put") != 0)
    return tg_fail(TG_ERR_INPUT, "halo: path '%s' is not known; give auto, store or put", path);
  if (on_transport(halo, "loop") && halo->pe_count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "halo: the %d processing elements of transport loop are of one process; one "
                   "device halo serves them all (create), or use transport nvshmem",
                   halo->pe_count);
  if (!signals && halo->schedule != TG_DEVICE_HOST && halo->pe_count > 1)
    return tg_fail(TG_ERR_INPUT,
                   "halo: on GPUs of several processes transport %s has schedule host only, staged "
                   "through the host: the others store or put into another GPU's memory from a "
                   "kernel or a stream, which messages cannot; use transport nvshmem",
                   transport);
  if (!automatic && (!signals || halo->schedule == TG_DEVICE_HOST))
    return tg_fail(
        TG_ERR_INPUT,
        "halo: path %s is for schedules that signal, on transport nvshmem; there is none "
        "on transport %s%s; leave it out",
        path, transport, halo->schedule == TG_DEVICE_HOST ? " with schedule host" : "");
  return TG_OK;
}

static tg_status open_card(tg_device_halo* halo) {
  int device = 0, count = tg_device_count();
  void* stream = NULL;
  if (on_transport(halo, "nvshmem"))
    TG_TRY(tg_world_device(halo->world, &device, &stream));
  else
    device = count > 0 ? tg_world_node_pe(halo->world) % count : 0;
  return tg_cards_open_own(device, stream, halo->own, halo->pe_count, &halo->cards);
}

/* What each PE decides for itself. */
static tg_status begin(tg_device_halo* halo, const tg_device_halo_params* params,
                       const tg_device_plan* plan) {
  tg_device_halo_params wanted = *params;
  if (plan->pe_count != halo->pe_count)
    return tg_fail(TG_ERR_INPUT,
                   "halo: a plan of %d processing elements in a world of %d; make them equal",
                   plan->pe_count, halo->pe_count);
  if (!params->schedule && !on_transport(halo, "nvshmem") && !plan->direct)
    wanted.schedule = "host";
  TG_TRY(tg_device_halo_read_params(halo, &wanted, plan));
  TG_TRY(check_transport(halo, params));
  halo->path = halo->schedule == TG_DEVICE_HOST ? TG_DEVICE_STAGED : TG_DEVICE_STORE;
  TG_TRY(open_card(halo));
  TG_TRY(tg_device_halo_check_bulk(halo));
  return tg_device_halo_choose_kernels(halo);
}

/* Collective: PEs with different parameters would wait for each other in vain. */
static tg_status check_same(tg_device_halo* halo, const tg_device_halo_params* params) {
  enum { VALUES = 9 };
  const char* path = params->path ? params->path : "auto";
  int64_t values[2 * VALUES] = {/* a path is told by its first letter */
                                halo->channel_count,
                                halo->direct,
                                halo->schedule,
                                halo->force_return,
                                halo->double_precision,
                                halo->bulk,
                                halo->returns_forces,
                                path[0],
                                0};
  memcpy(&values[VALUES - 1], &params->margin, sizeof(double));
  /* the largest complement is the complement of the smallest */
  for (int i = 0; i < VALUES; i++) values[VALUES + i] = ~values[i];
  TG_TRY(tg_world_max_int64(halo->world, values, 2 * VALUES));
  for (int i = 0; i < VALUES; i++)
    if (values[i] != ~values[VALUES + i])
      return tg_fail(TG_ERR_INTERNAL,
                     "halo: the parameters or the numbers of messages differ between processing "
                     "elements; PE %d has %d messages",
                     halo->own, halo->channel_count);
  return TG_OK;
}

tg_status tg_device_capacities_agree(tg_device_halo* halo, size_t* home) {
  std::vector<int64_t> most(halo->capacity.begin(), halo->capacity.end());
  most.push_back((int64_t)*home);
  TG_TRY(tg_world_max_int64(halo->world, most.data(), most.size()));
  *home = (size_t)most.back();
  for (size_t c = 0; c < halo->capacity.size(); c++) halo->capacity[c] = (size_t)most[c];
  return TG_OK;
}

/* Memory that no other PE reaches. */
static tg_status allocate_own(tg_device_halo* halo) {
  int device = halo->cards.card[0].device;
  char** memory = &halo->pes[(size_t)halo->own].memory;
  TG_TRY(tg_device_halo_allocate(device, (void**)memory, halo->layout.bytes));
  TG_TRY(tg_cuda_status(cudaMemset(*memory, 0, halo->layout.zero_bytes), device,
                        "clearing halo memory"));
  return tg_cuda_status(
      cudaMallocHost((void**)&halo->pinned, 6 * halo->send_capacity * tg_element(halo) + 1), device,
      "allocating pinned memory for halo messages");
}

static int unreached(const tg_device_halo* halo) {
  for (int p = 0; p < halo->pe_count; p++)
    if (!halo->pes[(size_t)p].memory) return p;
  return -1;
}

/* Collective: symmetric memory, and by which path the PEs reach each other: all by the same. */
static tg_status share_memory(tg_device_halo* halo, const tg_device_halo_params* params) {
  TG_TRY(tg_symmetric_create(halo->world, halo->layout.bytes, 1, &halo->symmetric));
  for (int p = 0; p < halo->pe_count; p++)
    halo->pes[(size_t)p].memory = (char*)tg_symmetric_peer(halo->symmetric, p);
  const char* path = params->path ? params->path : "auto";
  bool forced = strcmp(path, "store") == 0;
  tg_status status = TG_OK;
  int missing = unreached(halo);
  if (forced && missing >= 0)
    status = tg_fail(TG_ERR_MACHINE,
                     "halo: path store, but PE %d does not reach the memory of PE %d; give path "
                     "put, or GPUs joined by NVLink",
                     halo->own, missing);
  TG_TRY(tg_world_agree(halo->world, status));
  int64_t put = strcmp(path, "put") == 0 || missing >= 0;
  TG_TRY(tg_world_max_int64(halo->world, &put, 1));
  if (put) halo->path = TG_DEVICE_PUT;
  halo->pes[(size_t)halo->own].memory = (char*)tg_symmetric_local(halo->symmetric);
  tg_symmetric* alarm = tg_world_alarm(halo->world);
  size_t stride = 0;
  if (alarm) halo->alarm = (unsigned*)tg_symmetric_signals(alarm, &stride);
  return TG_OK;
}

static tg_status choose_far(tg_device_halo* halo) {
  if (halo->pe_count == 1) return TG_OK;
  if (halo->path == TG_DEVICE_PUT && (halo->bulk || halo->force_return != TG_HALO_PUT))
    return tg_fail(TG_ERR_INPUT,
                   "halo: path put has no bulk copies and no force return pull or reduce, which "
                   "load from or add to another GPU's memory; give path store, or leave them out");
  if (halo->path == TG_DEVICE_STAGED)
    halo->far = tg_device_far_host();
  else if (halo->schedule == TG_DEVICE_STREAM)
    halo->far = tg_device_far_queue();
  else if (halo->path == TG_DEVICE_PUT)
    halo->far = tg_device_far_put();
  else
    return TG_OK;
  return halo->far ? halo->far->prepare(halo) : tg_nvshmem_check();
}

static tg_status finish(tg_device_halo* halo, const tg_device_plan* plan) {
  TG_TRY(tg_device_halo_allocate_cards(halo));
  TG_TRY(tg_device_plan_upload(halo, plan));
  TG_TRY(tg_device_grids_choose(halo));
  return choose_far(halo);
}

/* Collective; the same status on all PEs. */
static tg_status build(tg_device_halo* halo, const tg_device_halo_params* params,
                       const tg_device_plan* plan) {
  tg_world* world = halo->world;
  halo->own = tg_world_pe(world);
  halo->pe_count = tg_world_pe_count(world);
  TG_TRY(tg_world_agree(world, begin(halo, params, plan)));
  TG_TRY(check_same(halo, params));
  TG_TRY(tg_device_layout_choose(halo, plan, params->margin > 0 ? params->margin : 1.25));
  halo->pes.resize((size_t)halo->pe_count);
  for (int p = 0; p < halo->pe_count; p++) halo->pes[(size_t)p].card = p == halo->own ? 0 : -1;
  if (on_transport(halo, "nvshmem") && halo->path != TG_DEVICE_STAGED)
    TG_TRY(share_memory(halo, params));
  else
    TG_TRY(tg_world_agree(world, allocate_own(halo)));
  return tg_world_agree(world, finish(halo, plan)); /* from here on others may store here */
}

tg_status tg_device_halo_open(tg_world* world, const tg_device_halo_params* params,
                              const tg_device_plan* plan, tg_device_halo** out) {
  tg_device_halo* halo = new (std::nothrow) tg_device_halo();
  TG_TRY(tg_world_agree(world, halo ? TG_OK : tg_fail(TG_ERR_MACHINE, "no memory for a halo")));
  halo->world = world;
  tg_status status = build(halo, params, plan);
  if (status == TG_OK)
    *out = halo;
  else
    tg_device_halo_destroy(&halo);
  return status;
}

/* Has a PE given up? Its kernels have raised the word here, too. */
static tg_status read_abort(const tg_device_halo* halo, unsigned* out) {
  const tg_card* card = &halo->cards.card[0];
  const char* words = halo->pes[(size_t)halo->own].memory + halo->layout.words + sizeof(uint64_t);
  const unsigned* word =
      halo->alarm ? halo->alarm : (const unsigned*)words + 2 * (size_t)halo->channel_count + 2;
  TG_TRY(
      tg_cuda_status(cudaMemcpyAsync(out, word, sizeof *out, cudaMemcpyDeviceToHost, card->stream),
                     card->device, "reading whether a wait was given up"));
  return tg_cuda_status(cudaStreamSynchronize(card->stream), card->device,
                        "reading whether a wait was given up");
}

tg_status tg_device_processes_outcome(tg_device_halo* halo, tg_status status) {
  if (status == TG_OK) {
    unsigned given_up = 0;
    if (halo->path == TG_DEVICE_STAGED) return TG_OK;
    status = read_abort(halo, &given_up);
    if (status == TG_OK && !given_up) return TG_OK;
    /* that PE aborts the world with its reason, and any call brings it here */
    if (status == TG_OK) status = tg_world_barrier(halo->world);
    if (status == TG_OK)
      status = tg_fail(TG_ERR_MACHINE,
                       "halo exchange: PE %d stopped because another one gave up waiting; see that "
                       "one's message",
                       halo->own);
  }
  tg_world_abort(halo->world, status);
  return status;
}

tg_status tg_device_processes_replan(tg_device_halo* halo, const tg_device_plan* plan) {
  TG_TRY(tg_world_agree(halo->world, tg_device_plan_fits(halo, plan)));
  /* the barrier: nobody reads or writes any longer */
  TG_TRY(tg_world_agree(halo->world, tg_device_halo_synchronize(halo)));
  return tg_world_agree(halo->world, tg_device_plan_upload(halo, plan));
}

tg_status tg_device_processes_geometry(tg_device_halo* halo, const tg_device_geometry* geometry,
                                       tg_status status) {
  enum { VALUES = 10 };
  double values[VALUES];
  int64_t bits[2 * VALUES];
  TG_TRY(tg_world_agree(halo->world, status));
  memcpy(values, geometry->vector, sizeof geometry->vector);
  values[VALUES - 1] = geometry->reach;
  memcpy(bits, values, sizeof values);
  for (int i = 0; i < VALUES; i++) bits[VALUES + i] = ~bits[i]; /* as in check_same */
  TG_TRY(tg_world_max_int64(halo->world, bits, 2 * VALUES));
  for (int i = 0; i < VALUES; i++)
    if (bits[i] != ~bits[VALUES + i])
      return tg_fail(TG_ERR_INTERNAL,
                     "halo: the box or the reach differs between processing elements; PE %d has a "
                     "box of (%g %g %g) (%g %g %g) (%g %g %g) nm and a reach of %g nm",
                     halo->own, values[0], values[1], values[2], values[3], values[4], values[5],
                     values[6], values[7], values[8], values[9]);
  return TG_OK;
}
