/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges by NVSHMEM: puts from kernels (path put; schedules pulse, fused, direct) and puts
 * queued on the stream (schedule stream, on every path, as processes cannot meet by events).
 * Compiled relocatable, for NVSHMEM's device half; the kernels of path store stay out of this. */
#include <algorithm>

#include "halo/cuda/internal.cuh"
#include "halo/nvshmem/put.cuh"

enum { MOST_BLOCKS = 64, COMPONENTS_PER_THREAD = 2 };

template <typename... Formal, typename... Actual>
static tg_status launch(tg_device_halo* halo, tg_device_halo_counts* counts, dim3 grid,
                        void (*kernel)(Formal...), Actual... args) {
  const tg_card* card = &halo->cards.card[0];
  TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
  kernel<<<grid, TG_PUT_THREADS, 0, card->stream>>>(Formal(args)...);
  counts->launches++;
  return tg_cuda_status(cudaGetLastError(), card->device, "launching a halo kernel");
}

/* How many blocks run at once; loads the kernel, too. */
template <typename Kernel>
static tg_status resident_blocks(const tg_device_halo* halo, Kernel kernel, int* least) {
  int device = halo->cards.card[0].device, per = 0, processors = 0;
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  TG_TRY(
      tg_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, kernel, TG_PUT_THREADS, 0),
                     device, "asking how many blocks fit"));
  TG_TRY(tg_cuda_status(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device),
                        device, "asking for its multiprocessors"));
  *least = std::min(*least, per * processors);
  return TG_OK;
}

template <typename T>
static tg_status choose_grids(tg_device_halo* halo) {
  int least = INT32_MAX;
  TG_TRY(resident_blocks(halo, tg_put_positions<T>, &least));
  TG_TRY(resident_blocks(halo, tg_put_pushed<T>, &least));
  TG_TRY(resident_blocks(halo, tg_put_forces<T>, &least));
  TG_TRY(resident_blocks(halo, tg_put_pulse_forces<T>, &least));
  TG_TRY(resident_blocks(halo, tg_queue_pack<T>, &least));
  TG_TRY(resident_blocks(halo, tg_queue_arrive<T>, &least));
  TG_TRY(resident_blocks(halo, tg_queue_add<T>, &least));
  size_t largest = 4, work = TG_PUT_THREADS * COMPONENTS_PER_THREAD;
  for (size_t capacity : halo->capacity) largest = std::max(largest, capacity);
  int wanted = (int)std::min((3 * largest + work - 1) / work, (size_t)MOST_BLOCKS);
  halo->put_blocks = std::min(wanted, least / (halo->channel_count + 1));
  if (halo->put_blocks < 1)
    return tg_fail(TG_ERR_MACHINE,
                   "halo: %d messages do not run at the same time on one GPU (%d blocks do); use "
                   "schedule pulse or fewer processing elements",
                   halo->channel_count, least);
  return TG_OK;
}

static tg_status prepare(tg_device_halo* halo) {
  return halo->double_precision ? choose_grids<double>(halo) : choose_grids<float>(halo);
}

template <typename T>
static const tg_halo_port<T>* port_of(const tg_device_halo* halo) {
  return (const tg_halo_port<T>*)halo->ports[0];
}

template <typename T>
static tg_status send(tg_device_halo* halo) {
  tg_device_halo_counts* counts = &halo->counters.positions;
  const int consume = !halo->returns_forces, channels = halo->channel_count;
  const unsigned blocks = (unsigned)halo->put_blocks;
  if (halo->schedule != TG_DEVICE_PULSE)
    return launch(halo, counts, dim3(blocks, (unsigned)channels), tg_put_positions<T>,
                  port_of<T>(halo), 0, consume);
  for (int c = 0; c < channels; c++)
    TG_TRY(launch(halo, counts, dim3(blocks), tg_put_positions<T>, port_of<T>(halo), c, consume));
  return TG_OK;
}

template <typename T>
static tg_status give_back(tg_device_halo* halo) {
  tg_device_halo_counts* counts = &halo->counters.forces;
  const unsigned blocks = (unsigned)halo->put_blocks;
  if (halo->schedule != TG_DEVICE_PULSE)
    return launch(halo, counts, dim3(blocks, (unsigned)halo->channel_count + 1), tg_put_forces<T>,
                  port_of<T>(halo));
  for (int c = halo->channel_count - 1; c >= 0; c--)
    TG_TRY(launch(halo, counts, dim3(blocks), tg_put_pulse_forces<T>, port_of<T>(halo), c));
  return TG_OK;
}

template <typename T>
static tg_status send_pushed(tg_device_halo* halo) {
  return launch(halo, &halo->counters.positions, dim3(1, (unsigned)halo->channel_count),
                tg_put_pushed<T>, port_of<T>(halo), (int)!halo->returns_forces);
}

/* Queues a message and the count of its flag. It is added to, not set: a captured graph repeats the
 * value, and the flag still holds the number of the exchange. */
static tg_status queue_put(tg_device_halo* halo, tg_device_halo_counts* counts, size_t to,
                           size_t from, size_t bytes, size_t flag, int pe) {
  const tg_card* card = &halo->cards.card[0];
  char* memory = halo->pes[(size_t)halo->own].memory;
  uint64_t* signal = (uint64_t*)(memory + halo->layout.flags) + flag;
  if (bytes)
    nvshmemx_putmem_signal_on_stream(memory + to, memory + from, bytes, signal, 1,
                                     NVSHMEM_SIGNAL_ADD, pe, card->stream);
  else
    nvshmemx_signal_op_on_stream(signal, 1, NVSHMEM_SIGNAL_ADD, pe, card->stream);
  counts->copies++;
  return tg_cuda_status(cudaGetLastError(), card->device, "queueing a put");
}

template <typename T>
static tg_status queue_send(tg_device_halo* halo) {
  tg_device_halo_counts* counts = &halo->counters.positions;
  const tg_device_pe* pe = &halo->pes[(size_t)halo->own];
  const size_t atom = 3 * sizeof(T);
  for (size_t c = 0; c < (size_t)halo->channel_count; c++) {
    TG_TRY(launch(halo, counts, dim3((unsigned)halo->put_blocks), tg_queue_pack<T>,
                  port_of<T>(halo), (int)c, (int)!halo->returns_forces));
    TG_TRY(queue_put(halo, counts, halo->layout.x + halo->slice[c] * atom,
                     halo->layout.packed + halo->send_slot[c] * atom, pe->send_count[c] * atom, c,
                     pe->to[c]));
    TG_TRY(launch(halo, counts, dim3(1), tg_queue_arrive<T>, port_of<T>(halo), (int)c));
  }
  return TG_OK;
}

template <typename T>
static tg_status queue_return(tg_device_halo* halo) {
  tg_device_halo_counts* counts = &halo->counters.forces;
  const tg_device_pe* pe = &halo->pes[(size_t)halo->own];
  const size_t atom = 3 * sizeof(T), channels = (size_t)halo->channel_count;
  for (size_t c = channels; c-- > 0;) {
    TG_TRY(queue_put(halo, counts, halo->layout.f_in + halo->send_slot[c] * atom,
                     halo->layout.f + halo->slice[c] * atom, pe->receive_count[c] * atom,
                     channels + c, pe->from[c]));
    TG_TRY(launch(halo, counts, dim3((unsigned)halo->put_blocks), tg_queue_add<T>, port_of<T>(halo),
                  (int)c));
  }
  return TG_OK;
}

static tg_status positions(tg_device_halo* halo) {
  return halo->double_precision ? send<double>(halo) : send<float>(halo);
}

static tg_status forces(tg_device_halo* halo) {
  return halo->double_precision ? give_back<double>(halo) : give_back<float>(halo);
}

static tg_status pushed(tg_device_halo* halo) {
  return halo->double_precision ? send_pushed<double>(halo) : send_pushed<float>(halo);
}

static tg_status queue_positions(tg_device_halo* halo) {
  return halo->double_precision ? queue_send<double>(halo) : queue_send<float>(halo);
}

static tg_status queue_forces(tg_device_halo* halo) {
  return halo->double_precision ? queue_return<double>(halo) : queue_return<float>(halo);
}

const tg_device_far* tg_device_far_put(void) {
  static const tg_device_far far = {prepare, positions, forces, pushed};
  return &far;
}

const tg_device_far* tg_device_far_queue(void) {
  static const tg_device_far far = {prepare, queue_positions, queue_forces, NULL};
  return &far;
}
