/* SPDX-License-Identifier: Apache-2.0 */
/* The five schedules on GPUs of one process.
 *
 * Forward progress. Kernels of one card run one after another on its stream. A kernel that waits
 * for PEs of its own card (where atoms are forwarded or forces have flags) is launched
 * cooperatively, so that all its blocks run at the same time; every other wait is for a card whose
 * own kernel is queued by the same call. Grids are chosen so that a whole launch is resident. */
#include <algorithm>

#include "base/timer.h"
#include "halo/cuda/internal.cuh"

enum { MOST_BLOCKS = 128, COMPONENTS_PER_THREAD = 2 };

/* The kernel as it is, or compiled with stamps. */
#define TRACED(halo, kernel, ...)                                                                  \
  ((halo)->trace ? kernel<__VA_ARGS__, true> : kernel<__VA_ARGS__, false>)

template <typename... Formal, typename... Actual>
static tg_status launch(tg_device_halo* halo, tg_device_halo_counts* counts, int card_number,
                        dim3 grid, bool cooperative, void (*kernel)(Formal...), Actual... args) {
  const tg_card* card = &halo->cards.card[card_number];
  TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3(TG_HALO_THREADS);
  config.stream = card->stream;
  config.attrs = &attribute;
  config.numAttrs = cooperative ? 1 : 0;
  counts->launches++;
  int64_t begin = tg_device_cpu_now(halo);
  tg_status status = tg_cuda_status(cudaLaunchKernelEx(&config, kernel, Formal(args)...),
                                    card->device, "launching a halo kernel");
  tg_device_cpu_did(
      halo, counts == &halo->counters.forces ? "launch (forces)" : "launch (positions)", begin);
  return status;
}

/* Can kernel run with so many blocks at once on every card? Loads it, too. */
template <typename Kernel>
static tg_status resident_blocks(const tg_device_halo* halo, Kernel kernel, int* least) {
  for (int i = 0; i < halo->cards.count; i++) {
    int device = halo->cards.card[i].device, per = 0, processors = 0;
    TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
    TG_TRY(tg_cuda_status(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, TG_HALO_THREADS, 0), device,
        "asking how many blocks fit"));
    TG_TRY(
        tg_cuda_status(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                       device, "asking for its multiprocessors"));
    *least = std::min(*least, per * processors);
  }
  return TG_OK;
}

/* Those that are traced; loads them. */
template <typename T>
static tg_status traced_blocks(const tg_device_halo* halo, int* send, int* post, int* back,
                               int* other) {
  TG_TRY(resident_blocks(halo, tg_send_positions<T, false, true>, send));
  TG_TRY(resident_blocks(halo, tg_send_positions<T, true, true>, send));
  TG_TRY(resident_blocks(halo, tg_post_positions<T, true>, post));
  TG_TRY(resident_blocks(halo, tg_post_forces<T, true>, back));
  TG_TRY(resident_blocks(halo, tg_return_forces<T, TG_HALO_PULL, true>, back));
  TG_TRY(resident_blocks(halo, tg_return_forces<T, TG_HALO_REDUCE, true>, back));
  TG_TRY(resident_blocks(halo, tg_pack_positions<T, true>, other));
  return resident_blocks(halo, tg_unpack_forces<T, true>, other);
}

template <typename T>
static tg_status grids(tg_device_halo* halo) {
  int send = INT32_MAX, back = INT32_MAX, post = INT32_MAX, other = INT32_MAX, most_pes = 1;
  TG_TRY(resident_blocks(halo, tg_send_positions<T, false, false>, &send));
  TG_TRY(resident_blocks(halo, tg_send_positions<T, true, false>, &send));
  TG_TRY(resident_blocks(halo, tg_move_atoms<T>, &send));
  TG_TRY(resident_blocks(halo, tg_await_positions<T>, &send));
  TG_TRY(resident_blocks(halo, tg_post_forces<T, false>, &back));
  TG_TRY(resident_blocks(halo, tg_post_positions<T, false>, &post));
  TG_TRY(resident_blocks(halo, tg_return_forces<T, TG_HALO_PULL, false>, &back));
  TG_TRY(resident_blocks(halo, tg_return_forces<T, TG_HALO_REDUCE, false>, &back));
  TG_TRY(resident_blocks(halo, tg_pull_forces<T>, &back));
  TG_TRY(resident_blocks(halo, tg_pack_positions<T, false>, &other));
  TG_TRY(resident_blocks(halo, tg_unpack_forces<T, false>, &other));
  if (halo->trace) TG_TRY(traced_blocks<T>(halo, &send, &post, &back, &other));
  for (int i = 0; i < halo->cards.count; i++)
    most_pes = std::max(most_pes, halo->cards.card[i].pe_count);
  size_t largest = 4;
  for (size_t capacity : halo->capacity) largest = std::max(largest, capacity);
  size_t work = TG_HALO_THREADS * COMPONENTS_PER_THREAD;
  int wanted = (int)std::min((3 * largest + work - 1) / work, (size_t)MOST_BLOCKS);
  halo->send_blocks = std::min(wanted, send / (std::max(halo->channel_count, 1) * most_pes));
  halo->return_blocks = std::min(wanted, back / ((halo->channel_count + 1) * most_pes));
  bool forwards = !halo->direct && halo->channel_count > 1;
  if (!halo->bulk && halo->schedule >= TG_DEVICE_FUSED &&
      (!forwards || halo->force_return == TG_HALO_PUT))
    halo->post_blocks = std::min(wanted, post / (2 * std::max(halo->channel_count, 1) * most_pes));
  if (halo->send_blocks < 1 || halo->return_blocks < 1)
    return tg_fail(TG_ERR_MACHINE,
                   "halo: %d messages of %d processing elements do not run at the same time on one "
                   "GPU (%d blocks do); use more GPUs or fewer processing elements",
                   halo->channel_count, most_pes, std::min(send, back));
  return TG_OK;
}

tg_status tg_device_board_set(int device, const tg_stamp_board* board) {
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  return tg_cuda_status(cudaMemcpyToSymbol(tg_board, board, sizeof *board), device,
                        "copying to it");
}

tg_status tg_device_grids_choose(tg_device_halo* halo) {
  return halo->double_precision ? grids<double>(halo) : grids<float>(halo);
}

static dim3 one_channel(const tg_device_halo* halo, int card) {
  return dim3(halo->send_blocks, 1, halo->cards.card[card].pe_count);
}

/* May PEs of a card wait for each other inside a kernel? They do where atoms are forwarded; a
 * single message or direct exchange forwards none, under any plan. */
static bool forwards_within(const tg_device_halo* halo, int card) {
  return halo->cards.card[card].pe_count > 1 && !halo->direct && halo->channel_count > 1;
}

/* Likewise for forces: pulled or reduced ones have flags of their own within a card, too. */
static bool returns_within(const tg_device_halo* halo, int card) {
  return halo->force_return == TG_HALO_PUT ? forwards_within(halo, card)
                                           : halo->cards.card[card].pe_count > 1;
}

/* A blocking wait for every card, counted. */
static tg_status wait_all(tg_device_halo* halo, tg_device_halo_counts* counts) {
  double start = tg_time_now();
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    int64_t begin = tg_device_cpu_now(halo);
    TG_TRY(tg_cuda_status(cudaStreamSynchronize(card->stream), card->device,
                          "waiting for a halo exchange"));
    tg_device_cpu_did(halo, "synchronise", begin);
    counts->blocking_waits++;
  }
  counts->wait_s += tg_time_now() - start;
  return TG_OK;
}

/* Work queued from here on, on any card, comes after what is queued now on the others. */
static tg_status meet(tg_device_halo* halo) {
  if (halo->cards.count < 2) return TG_OK;
  int64_t begin = tg_device_cpu_now(halo);
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
    TG_TRY(tg_cuda_status(cudaEventRecord(card->event, card->stream), card->device,
                          "recording an event"));
  }
  for (int i = 0; i < halo->cards.count; i++)
    for (int j = 0; j < halo->cards.count; j++) {
      if (i == j) continue;
      const tg_card* card = &halo->cards.card[i];
      TG_TRY(tg_cuda_status(cudaStreamWaitEvent(card->stream, halo->cards.card[j].event, 0),
                            card->device, "waiting for an event"));
    }
  tg_device_cpu_did(halo, "order streams", begin);
  return TG_OK;
}

/* Copies of channel c, of all PEs: packed positions to the slices of their receivers, or slices of
 * forces to the buffers of those who sent the positions. */
static tg_status copy_channel(tg_device_halo* halo, tg_device_halo_counts* counts, int c,
                              bool forces) {
  const tg_device_layout* at = &halo->layout;
  size_t atom = 3 * tg_element(halo);
  for (int p = 0; p < halo->pe_count; p++) {
    const tg_device_pe* pe = &halo->pes[p];
    const tg_card* card = &halo->cards.card[pe->card];
    size_t bytes = (forces ? pe->receive_count[c] : pe->send_count[c]) * atom;
    if (bytes == 0) continue;
    const char* from = forces ? pe->memory + at->f + halo->slice[c] * atom
                              : pe->memory + at->packed + halo->send_slot[c] * atom;
    char* to = forces ? halo->pes[pe->from[c]].memory + at->f_in + halo->send_slot[c] * atom
                      : halo->pes[pe->to[c]].memory + at->x + halo->slice[c] * atom;
    TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
    tg_device_copy_event(halo, p, c, forces, true);
    int64_t begin = tg_device_cpu_now(halo);
    TG_TRY(tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, card->stream),
                          card->device, "copying a halo message"));
    tg_device_cpu_did(halo, "copy", begin);
    tg_device_copy_event(halo, p, c, forces, false);
    counts->copies++;
  }
  return TG_OK;
}

template <typename T>
static tg_status send_by_copies(tg_device_halo* halo, bool host) {
  tg_device_halo_counts* counts = &halo->counters.positions;
  if (!host && !halo->returns_forces) TG_TRY(meet(halo)); /* receivers have read the last ones */
  for (int c = 0; c < halo->channel_count; c++) {
    for (int i = 0; i < halo->cards.count; i++)
      TG_TRY(launch(halo, counts, i, one_channel(halo, i), false,
                    TRACED(halo, tg_pack_positions, T), (const tg_halo_port<T>*)halo->ports[i], c));
    if (host) TG_TRY(wait_all(halo, counts));
    TG_TRY(copy_channel(halo, counts, c, false));
    TG_TRY(host ? wait_all(halo, counts) : meet(halo));
  }
  return TG_OK;
}

template <typename T>
static tg_status return_by_copies(tg_device_halo* halo, bool host) {
  tg_device_halo_counts* counts = &halo->counters.forces;
  for (int c = halo->channel_count - 1; c >= 0; c--) {
    if (host) TG_TRY(wait_all(halo, counts));
    TG_TRY(copy_channel(halo, counts, c, true));
    TG_TRY(host ? wait_all(halo, counts) : meet(halo));
    for (int i = 0; i < halo->cards.count; i++)
      TG_TRY(launch(halo, counts, i, one_channel(halo, i), false, TRACED(halo, tg_unpack_forces, T),
                    (const tg_halo_port<T>*)halo->ports[i], c));
  }
  return TG_OK;
}

template <typename T>
static tg_status send_from(tg_device_halo* halo, int card, dim3 grid, bool cooperative,
                           int first_channel) {
  const tg_halo_port<T>* ports = (const tg_halo_port<T>*)halo->ports[card];
  int consume = !halo->returns_forces;
  return launch(halo, &halo->counters.positions, card, grid, cooperative,
                halo->bulk ? TRACED(halo, tg_send_positions, T, true)
                           : TRACED(halo, tg_send_positions, T, false),
                ports, first_channel, consume);
}

template <typename T>
static tg_status post(tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(launch(halo, &halo->counters.positions, i,
                  dim3(halo->post_blocks, 2 * halo->channel_count, halo->cards.card[i].pe_count),
                  forwards_within(halo, i), TRACED(halo, tg_post_positions, T),
                  (const tg_halo_port<T>*)halo->ports[i], (int)!halo->returns_forces,
                  (int)(!halo->direct && halo->channel_count > 1)));
  return TG_OK;
}

template <typename T>
static tg_status send(tg_device_halo* halo) {
  if (halo->schedule == TG_DEVICE_HOST || halo->schedule == TG_DEVICE_STREAM)
    return send_by_copies<T>(halo, halo->schedule == TG_DEVICE_HOST);
  if (halo->schedule == TG_DEVICE_PULSE) {
    for (int c = 0; c < halo->channel_count; c++)
      for (int i = 0; i < halo->cards.count; i++)
        TG_TRY(send_from<T>(halo, i, one_channel(halo, i), false, c));
    return TG_OK;
  }
  if (halo->post_blocks > 0) return post<T>(halo);
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(send_from<T>(halo, i,
                        dim3(halo->send_blocks, halo->channel_count, halo->cards.card[i].pe_count),
                        forwards_within(halo, i), 0));
  return TG_OK;
}

template <typename T>
static tg_status give_back(tg_device_halo* halo) {
  tg_device_halo_counts* counts = &halo->counters.forces;
  if (halo->schedule == TG_DEVICE_HOST || halo->schedule == TG_DEVICE_STREAM)
    return return_by_copies<T>(halo, halo->schedule == TG_DEVICE_HOST);
  if (halo->schedule == TG_DEVICE_PULSE) {
    for (int c = halo->channel_count - 1; c >= 0; c--)
      for (int i = 0; i < halo->cards.count; i++)
        TG_TRY(launch(halo, counts, i, one_channel(halo, i), false, tg_pull_forces<T>,
                      (const tg_halo_port<T>*)halo->ports[i], c));
    return TG_OK;
  }
  for (int i = 0; i < halo->cards.count; i++) {
    dim3 grid(halo->return_blocks, halo->channel_count + 1, halo->cards.card[i].pe_count);
    TG_TRY(launch(halo, counts, i, grid, returns_within(halo, i),
                  halo->force_return == TG_HALO_PUT ? TRACED(halo, tg_post_forces, T)
                  : halo->force_return == TG_HALO_PULL
                      ? TRACED(halo, tg_return_forces, T, TG_HALO_PULL)
                      : TRACED(halo, tg_return_forces, T, TG_HALO_REDUCE),
                  (const tg_halo_port<T>*)halo->ports[i]));
  }
  return TG_OK;
}

static int64_t payload(const tg_device_halo* halo) {
  size_t atoms = 0;
  for (const tg_device_pe& pe : halo->pes)
    for (size_t count : pe.send_count) atoms += count;
  return (int64_t)(3 * atoms * tg_element(halo));
}

/* Positions are about to be sent: with a force return, the last ones must have come back. */
static tg_status begin_positions(tg_device_halo* halo) {
  if (halo->returns_forces && halo->positions_out)
    return tg_fail(
        TG_ERR_INTERNAL,
        "halo: positions twice without forces in between, on a halo that returns forces");
  halo->positions_out = true;
  halo->counters.positions.bytes += payload(halo);
  return TG_OK;
}

tg_status tg_device_halo_positions(tg_device_halo* halo) {
  TG_TRY(begin_positions(halo));
  if (halo->channel_count == 0) return TG_OK;
  if (halo->far) return halo->far->positions(halo);
  return halo->double_precision ? send<double>(halo) : send<float>(halo);
}

tg_status tg_device_halo_forces(tg_device_halo* halo) {
  if (!halo->returns_forces || !halo->positions_out)
    return tg_fail(TG_ERR_INTERNAL, halo->returns_forces
                                        ? "halo: forces without positions before them"
                                        : "halo: forces on a halo made without their return");
  halo->positions_out = false;
  halo->counters.forces.bytes += payload(halo);
  if (halo->channel_count == 0) return TG_OK;
  if (halo->far) return halo->far->forces(halo);
  return halo->double_precision ? give_back<double>(halo) : give_back<float>(halo);
}

template <typename T>
static tg_status move(tg_device_halo* halo, double dt, bool push) {
  for (int i = 0; i < halo->cards.count; i++) {
    int pes = halo->cards.card[i].pe_count;
    size_t atoms = (halo->home_capacity + TG_HALO_THREADS - 1) / TG_HALO_THREADS;
    int resident = halo->send_blocks * std::max(halo->channel_count, 1);
    dim3 grid((unsigned)std::max((size_t)1, std::min(atoms, (size_t)resident)), 1, pes);
    TG_TRY(launch(halo, &halo->counters.positions, i, grid, false, tg_move_atoms<T>,
                  (const tg_halo_port<T>*)halo->ports[i], (const T* const*)halo->velocities[i],
                  (T)dt, (int)push, (int)!halo->returns_forces));
  }
  return TG_OK;
}

tg_status tg_device_halo_move(tg_device_halo* halo, double dt, bool push) {
  if (push && halo->schedule != TG_DEVICE_DIRECT)
    return tg_fail(TG_ERR_INTERNAL, "halo: only schedule direct pushes from another kernel");
  if (push) TG_TRY(begin_positions(halo));
  TG_TRY(halo->double_precision ? move<double>(halo, dt, push) : move<float>(halo, dt, push));
  return push && halo->far && halo->channel_count ? halo->far->pushed(halo) : TG_OK;
}

tg_status tg_device_halo_pushed(tg_device_halo* halo) {
  if (halo->schedule != TG_DEVICE_DIRECT)
    return tg_fail(TG_ERR_INTERNAL, "halo: only schedule direct pushes from another kernel");
  TG_TRY(begin_positions(halo));
  return halo->far && halo->channel_count ? halo->far->pushed(halo) : TG_OK;
}

template <typename T>
static tg_status await(tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(launch(halo, &halo->counters.positions, i,
                  dim3(1, halo->channel_count, halo->cards.card[i].pe_count), false,
                  tg_await_positions<T>, (const tg_halo_port<T>*)halo->ports[i]));
  return TG_OK;
}

tg_status tg_device_halo_await(tg_device_halo* halo) {
  if (halo->channel_count == 0) return TG_OK;
  return halo->double_precision ? await<double>(halo) : await<float>(halo);
}
