/* SPDX-License-Identifier: Apache-2.0 */
/* The five schedules on GPUs of one process, and by stores of several.
 *
 * Forward progress. Kernels of one card run one after another on its stream. A kernel that waits
 * for PEs of its own card is launched so that all its blocks run at the same time: grids are chosen
 * for that, and kernels whose blocks share flags are launched cooperatively as well. (Those of
 * mail.cuh need not be: whatever else runs on the card ends by itself, and their blocks then follow
 * up.) Every other wait is for a card whose own kernel is queued by the same call, or by another
 * process. */
#include <algorithm>

#include "base/timer.h"
#include "halo/cuda/internal.cuh"
#include "halo/cuda/mail_forces.cuh"

enum { MOST_BLOCKS = 128, COMPONENTS_PER_THREAD = 2 };

/* The kernel as it is, or compiled with stamps. */
#define TRACED(halo, kernel, ...)                                                                  \
  ((halo)->trace ? kernel<__VA_ARGS__, true> : kernel<__VA_ARGS__, false>)

/* How a kernel is launched. */
typedef enum launch_kind {
  PLAIN,
  COOPERATIVE,
  EARLY /* it may start before the kernel ahead of it has ended: it has griddepcontrol.wait */
} launch_kind;

template <typename... Formal, typename... Actual>
static tg_status launch(tg_device_halo* halo, tg_device_halo_counts* counts, int card_number,
                        dim3 grid, int threads, launch_kind kind, void (*kernel)(Formal...),
                        Actual... args) {
  const tg_card* card = &halo->cards.card[card_number];
  TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
  cudaLaunchAttribute attribute = {};
  if (kind == COOPERATIVE) {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  } else {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = dim3((unsigned)threads);
  config.stream = card->stream;
  config.attrs = &attribute;
  /* behind a plan that is being made, a kernel's early part would read maps half made */
  const bool early = kind == EARLY && halo->overlaps && !halo->plan_queued[card_number];
  halo->plan_queued[card_number] = false;
  config.numAttrs = kind == COOPERATIVE || early ? 1 : 0;
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
static tg_status resident_blocks(const tg_device_halo* halo, Kernel kernel, int threads,
                                 int* least) {
  for (int i = 0; i < halo->cards.count; i++) {
    int device = halo->cards.card[i].device, per = 0, processors = 0;
    TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
    TG_TRY(tg_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, threads, 0),
                          device, "asking how many blocks fit"));
    TG_TRY(
        tg_cuda_status(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                       device, "asking for its multiprocessors"));
    *least = std::min(*least, per * processors);
  }
  return TG_OK;
}

/* Blocks of a PE that serves each entry of its channels once. */
static int mail_blocks(const tg_device_halo* halo) {
  size_t blocks = 0;
  for (size_t capacity : halo->capacity)
    blocks += (capacity + TG_MAIL_THREADS - 1) / TG_MAIL_THREADS;
  return (int)std::max(blocks, (size_t)1);
}

static int most_pes_of(const tg_device_halo* halo) {
  int most = 1;
  for (int i = 0; i < halo->cards.count; i++) most = std::max(most, halo->cards.card[i].pe_count);
  return most;
}

/* Do few channels and PEs serve, so that the kernels' parameters are short? */
static bool few(const tg_device_halo* halo) {
  return halo->channel_count < TG_MAIL_FEW && most_pes_of(halo) <= TG_MAIL_FEW;
}

/* Grids of the kernels by mail; 0 blocks where positions or forces do not go that way. */
template <typename T>
static tg_status mail_grids(tg_device_halo* halo) {
  int there = INT32_MAX, back = INT32_MAX, most_pes = most_pes_of(halo);
  if (halo->schedule < TG_DEVICE_FUSED || halo->channel_count == 0) return TG_OK;
  if (most_pes > TG_MAIL_MANY)
    return tg_fail(TG_ERR_MACHINE,
                   "halo: %d processing elements on one GPU, at most %d; use more GPUs or fewer "
                   "processing elements",
                   most_pes, (int)TG_MAIL_MANY);
  TG_TRY(few(halo) ? resident_blocks(halo, TRACED(halo, tg_post_positions, T, TG_MAIL_FEW),
                                     TG_MAIL_THREADS, &there)
                   : resident_blocks(halo, TRACED(halo, tg_post_positions, T, TG_MAIL_MANY),
                                     TG_MAIL_THREADS, &there));
  TG_TRY(
      halo->row_words == 8
          ? resident_blocks(halo, TRACED(halo, tg_post_forces, T, 8, true), TG_MAIL_THREADS, &back)
      : halo->row_words == 4 && halo->direct
          ? resident_blocks(halo, TRACED(halo, tg_post_forces, T, 4, true), TG_MAIL_THREADS, &back)
      : halo->row_words == 4
          ? resident_blocks(halo, TRACED(halo, tg_post_forces, T, 4, false), TG_MAIL_THREADS, &back)
          : resident_blocks(halo, tg_post_forces_lists<T>, TG_MAIL_THREADS, &back));
  int wanted = mail_blocks(halo);
  bool forwards = !halo->direct && halo->channel_count > 1;
  if (!halo->bulk && (!forwards || halo->force_return == TG_HALO_PUT))
    halo->post_blocks = std::min(wanted, there / most_pes);
  if (halo->force_return == TG_HALO_PUT) halo->post_back_blocks = std::min(wanted, back / most_pes);
  return TG_OK;
}

template <typename T>
static tg_status grids(tg_device_halo* halo) {
  int send = INT32_MAX, back = INT32_MAX, other = INT32_MAX, most_pes = most_pes_of(halo);
  const int threads = TG_HALO_THREADS;
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_send_positions, T, false), threads, &send));
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_send_positions, T, true), threads, &send));
  TG_TRY(resident_blocks(halo, tg_move_atoms<T>, threads, &send));
  TG_TRY(resident_blocks(halo, tg_await_positions<T>, threads, &send));
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_return_forces, T, TG_HALO_PULL), threads, &back));
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_return_forces, T, TG_HALO_REDUCE), threads, &back));
  TG_TRY(resident_blocks(halo, tg_pull_forces<T>, threads, &back));
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_pack_positions, T), threads, &other));
  TG_TRY(resident_blocks(halo, TRACED(halo, tg_unpack_forces, T), threads, &other));
  size_t largest = 4;
  for (size_t capacity : halo->capacity) largest = std::max(largest, capacity);
  size_t work = TG_HALO_THREADS * COMPONENTS_PER_THREAD;
  int wanted = (int)std::min((3 * largest + work - 1) / work, (size_t)MOST_BLOCKS);
  halo->send_blocks = std::min(wanted, send / (std::max(halo->channel_count, 1) * most_pes));
  halo->return_blocks = std::min(wanted, back / ((halo->channel_count + 1) * most_pes));
  if (halo->send_blocks < 1 || halo->return_blocks < 1)
    return tg_fail(TG_ERR_MACHINE,
                   "halo: %d messages of %d processing elements do not run at the same time on one "
                   "GPU (%d blocks do); use more GPUs or fewer processing elements",
                   halo->channel_count, most_pes, std::min(send, back));
  return mail_grids<T>(halo);
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
      TG_TRY(launch(halo, counts, i, one_channel(halo, i), TG_HALO_THREADS, PLAIN,
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
      TG_TRY(launch(halo, counts, i, one_channel(halo, i), TG_HALO_THREADS, PLAIN,
                    TRACED(halo, tg_unpack_forces, T), (const tg_halo_port<T>*)halo->ports[i], c));
  }
  return TG_OK;
}

template <typename T>
static tg_status send_from(tg_device_halo* halo, int card, dim3 grid, bool cooperative,
                           int first_channel) {
  const tg_halo_port<T>* ports = (const tg_halo_port<T>*)halo->ports[card];
  int consume = !halo->returns_forces;
  return launch(halo, &halo->counters.positions, card, grid, TG_HALO_THREADS,
                cooperative ? COOPERATIVE : PLAIN,
                halo->bulk ? TRACED(halo, tg_send_positions, T, true)
                           : TRACED(halo, tg_send_positions, T, false),
                ports, first_channel, consume);
}

template <typename T, int N>
static tg_mail_site<T, N> site_of(const tg_device_halo* halo, int card_number) {
  const tg_card* card = &halo->cards.card[card_number];
  const tg_device_layout* at = &halo->layout;
  tg_mail_site<T, N> site = {};
  site.ports = (const tg_halo_port<T>*)halo->ports[card_number];
  for (int i = 0; i < card->pe_count; i++)
    site.memory[i] = halo->pes[(size_t)(card->first_pe + i)].memory;
  site.x = at->x;
  site.f = at->f;
  site.mail = at->mail;
  site.x_mail = at->x_mail;
  site.index = at->index;
  site.rows = at->rows;
  site.channel = at->channel;
  site.flags = at->flags;
  site.channel_count = halo->channel_count;
  site.home_capacity = (int)halo->home_capacity;
  for (int c = 0; c < N; c++) {
    bool there = c < halo->channel_count;
    site.send_slot[c] = (int)(there ? halo->send_slot[(size_t)c] : halo->send_capacity);
    site.first_block[c] = there ? site.blocks : INT32_MAX;
    if (there)
      site.blocks += (int)((halo->capacity[(size_t)c] + TG_MAIL_THREADS - 1) / TG_MAIL_THREADS);
  }
  site.blocks = std::max(site.blocks, 1);
  return site;
}

template <typename T, int N>
static tg_status post(tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(launch(halo, &halo->counters.positions, i,
                  dim3((unsigned)halo->post_blocks, (unsigned)halo->cards.card[i].pe_count),
                  TG_MAIL_THREADS, EARLY, TRACED(halo, tg_post_positions, T, N),
                  site_of<T, N>(halo, i), (int)!halo->returns_forces,
                  (int)(!halo->direct && halo->channel_count > 1)));
  return TG_OK;
}

template <typename T>
static tg_status post_back(tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count; i++) {
    dim3 grid((unsigned)halo->post_back_blocks, (unsigned)halo->cards.card[i].pe_count);
    tg_device_halo_counts* counts = &halo->counters.forces;
    if (halo->row_words == 0)
      TG_TRY(launch(halo, counts, i, grid, TG_MAIL_THREADS, EARLY, tg_post_forces_lists<T>,
                    site_of<T, TG_MAIL_MANY>(halo, i)));
    else
      TG_TRY(launch(halo, counts, i, grid, TG_MAIL_THREADS, EARLY,
                    halo->row_words == 8 ? TRACED(halo, tg_post_forces, T, 8, true)
                    : halo->direct       ? TRACED(halo, tg_post_forces, T, 4, true)
                                         : TRACED(halo, tg_post_forces, T, 4, false),
                    site_of<T, TG_MAIL_FEW>(halo, i)));
  }
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
  if (halo->post_blocks > 0)
    return few(halo) ? post<T, TG_MAIL_FEW>(halo) : post<T, TG_MAIL_MANY>(halo);
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
        TG_TRY(launch(halo, counts, i, one_channel(halo, i), TG_HALO_THREADS, PLAIN,
                      tg_pull_forces<T>, (const tg_halo_port<T>*)halo->ports[i], c));
    return TG_OK;
  }
  if (halo->force_return == TG_HALO_PUT) return post_back<T>(halo);
  for (int i = 0; i < halo->cards.count; i++) {
    dim3 grid(halo->return_blocks, halo->channel_count + 1, halo->cards.card[i].pe_count);
    bool within = halo->cards.card[i].pe_count > 1; /* flags of their own within a card, too */
    TG_TRY(launch(halo, counts, i, grid, TG_HALO_THREADS, within ? COOPERATIVE : PLAIN,
                  halo->force_return == TG_HALO_PULL
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
  halo->by_mail = false; /* nothing is left to be taken in */
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
static tg_status move(tg_device_halo* halo, double dt, int push) {
  for (int i = 0; i < halo->cards.count; i++) {
    int pes = halo->cards.card[i].pe_count;
    size_t atoms = (halo->home_capacity + TG_HALO_THREADS - 1) / TG_HALO_THREADS;
    int resident = halo->send_blocks * std::max(halo->channel_count, 1);
    dim3 grid((unsigned)std::max((size_t)1, std::min(atoms, (size_t)resident)), 1, pes);
    TG_TRY(launch(halo, &halo->counters.positions, i, grid, TG_HALO_THREADS, EARLY,
                  tg_move_atoms<T>, (const tg_halo_port<T>*)halo->ports[i],
                  (const T* const*)halo->velocities[i], (T)dt, push, (int)!halo->returns_forces));
  }
  return TG_OK;
}

tg_status tg_device_halo_move(tg_device_halo* halo, double dt, bool push) {
  if (push && halo->schedule != TG_DEVICE_DIRECT)
    return tg_fail(TG_ERR_INTERNAL, "halo: only schedule direct pushes from another kernel");
  if (push) TG_TRY(begin_positions(halo));
  if (push) halo->by_mail = halo->post_blocks > 0 && !halo->far;
  int how = !push ? 0 : halo->by_mail ? 2 : 1;
  TG_TRY(halo->double_precision ? move<double>(halo, dt, how) : move<float>(halo, dt, how));
  return push && halo->far && halo->channel_count ? halo->far->pushed(halo) : TG_OK;
}

static tg_status pushed(tg_device_halo* halo, bool by_mail) {
  if (halo->schedule != TG_DEVICE_DIRECT)
    return tg_fail(TG_ERR_INTERNAL, "halo: only schedule direct pushes from another kernel");
  halo->by_mail = by_mail && !halo->far; /* what is posted there stays here, and is put */
  TG_TRY(begin_positions(halo));
  return halo->far && halo->channel_count ? halo->far->pushed(halo) : TG_OK;
}

tg_status tg_device_halo_pushed(tg_device_halo* halo) { return pushed(halo, false); }

tg_status tg_device_halo_posted(tg_device_halo* halo) { return pushed(halo, true); }

template <typename T, int N>
static tg_status take(tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(launch(
        halo, &halo->counters.positions, i,
        dim3((unsigned)std::max(halo->post_blocks, 1), (unsigned)halo->cards.card[i].pe_count),
        TG_MAIL_THREADS, EARLY, tg_take_positions<T, N>, site_of<T, N>(halo, i)));
  return TG_OK;
}

template <typename T>
static tg_status await(tg_device_halo* halo) {
  if (halo->by_mail) return few(halo) ? take<T, TG_MAIL_FEW>(halo) : take<T, TG_MAIL_MANY>(halo);
  for (int i = 0; i < halo->cards.count; i++)
    TG_TRY(launch(halo, &halo->counters.positions, i,
                  dim3(1, halo->channel_count, halo->cards.card[i].pe_count), TG_HALO_THREADS,
                  EARLY, tg_await_positions<T>, (const tg_halo_port<T>*)halo->ports[i]));
  return TG_OK;
}

tg_status tg_device_halo_await(tg_device_halo* halo) {
  if (halo->channel_count == 0) return TG_OK;
  return halo->double_precision ? await<double>(halo) : await<float>(halo);
}
