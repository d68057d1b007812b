/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of CUDA for exchanges, and the places of PEs on GPUs. */
#include <cstring>
#include <new>

#include "ci/device_place.h"
#include "ci/device_queue.h"
#include "comm/cuda/cards.h"
#include "comm/symmetric.h"
#include "device/cuda/check.h"

namespace {

constexpr int THREADS = 256;

cudaStream_t stream_of(const tg_ci_queue* q) { return (cudaStream_t)q->stream; }

tg_status check(const tg_ci_queue* q, cudaError_t error, const char* what) {
  return tg_cuda_status(error, q->device, what);
}

/* ---- kernels ---- */

/* A slice's rows into an x: a block for a piece of a vector, 16 bytes at a time where source and
 * target allow it. Limited by memory, or by the link, which wants all reads of a thread under way.
 */
__global__ void __launch_bounds__(THREADS) copy_rows(tg_ci_rows_copy c) {
  const tg_ci_piece p = c.pieces[blockIdx.x];
  const double* __restrict__ from = c.x + blockIdx.y * c.ld + (p.first - c.first);
  double* __restrict__ there = c.to + blockIdx.y * c.dimension + p.first;
  uint64_t done = 0;
  if ((((uintptr_t)from ^ (uintptr_t)there) & 15) == 0) {
    const uint64_t skip = ((uintptr_t)there & 15) != 0, pairs = (p.count - skip) / 2;
    const double2* __restrict__ from2 = (const double2*)(from + skip);
    double2* __restrict__ there2 = (double2*)(there + skip);
#pragma unroll 8
    for (uint64_t i = threadIdx.x; i < pairs; i += THREADS) there2[i] = from2[i];
    if (skip && threadIdx.x == 0) there[0] = from[0];
    done = skip + 2 * pairs;
  }
#pragma unroll 8
  for (uint64_t i = done + threadIdx.x; i < p.count; i += THREADS) there[i] = from[i];
}

/* Numbers into a place of each PE: a row of blocks for a PE. */
__global__ void __launch_bounds__(THREADS) spread_values(tg_ci_spread s) {
  double* to = (double*)s.blocks[blockIdx.y];
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  if (to && i < s.count) to[s.offset + i] = s.values[i];
}

__global__ void __launch_bounds__(THREADS)
    add_values(const double* slots, int parts, size_t stride, double* values, size_t count) {
  const size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x;
  if (i >= count) return;
  double sum = slots[i];
  for (int p = 1; p < parts; p++) sum += slots[(size_t)p * stride + i];
  values[i] = sum;
}

unsigned blocks_for(size_t count) { return (unsigned)((count + THREADS - 1) / THREADS); }

/* ---- the table ---- */

tg_status allocate(const tg_ci_queue* q, size_t bytes, void** out) {
  *out = nullptr;
  TG_TRY(check(q, cudaSetDevice(q->device), "selecting it"));
  TG_TRY(tg_cuda_allocate(q->device, bytes, "vectors of all processing elements", out));
  /* on the stream: the default one does not order what others will queue */
  cudaError_t error = cudaMemsetAsync(*out, 0, bytes, stream_of(q));
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream_of(q));
  return check(q, error, "clearing vectors");
}

void release(const tg_ci_queue* q, void* memory) {
  if (!memory) return;
  cudaSetDevice(q->device);
  tg_cuda_release(memory);
}

tg_status upload(const tg_ci_queue* q, const void* from, size_t bytes, void* to) {
  if (bytes == 0) return TG_OK;
  cudaError_t error = cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_of(q));
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream_of(q));
  return check(q, error, "copying lists");
}

tg_status finish(const tg_ci_queue* q) {
  TG_TRY(check(q, cudaSetDevice(q->device), "selecting it"));
  return check(q, cudaStreamSynchronize(stream_of(q)), "finishing an exchange");
}

tg_status event_make(const tg_ci_queue* q, bool timed, void** out) {
  cudaEvent_t event = nullptr;
  const unsigned flags = timed ? cudaEventDefault : cudaEventDisableTiming;
  *out = nullptr;
  TG_TRY(check(q, cudaEventCreateWithFlags(&event, flags), "making an event"));
  *out = event;
  return TG_OK;
}

void event_free(void* event) {
  if (event) cudaEventDestroy((cudaEvent_t)event);
}

tg_status record(const tg_ci_queue* q, void* event) {
  return check(q, cudaEventRecord((cudaEvent_t)event, stream_of(q)), "recording an event");
}

tg_status wait_for(const tg_ci_queue* q, void* event) {
  return check(q, cudaStreamWaitEvent(stream_of(q), (cudaEvent_t)event, 0),
               "waiting for another GPU");
}

tg_status between(const tg_ci_queue* q, void* first, void* last, double* seconds) {
  float ms = 0;
  TG_TRY(check(q, cudaEventSynchronize((cudaEvent_t)last), "waiting for a product"));
  TG_TRY(check(q, cudaEventElapsedTime(&ms, (cudaEvent_t)first, (cudaEvent_t)last),
               "timing a product"));
  *seconds = 1e-3 * ms;
  return TG_OK;
}

tg_status queue_copy_rows(const tg_ci_queue* q, const tg_ci_rows_copy* c) {
  if (c->count == 0) return TG_OK;
  const dim3 grid((unsigned)c->count, (unsigned)c->k);
  copy_rows<<<grid, THREADS, 0, stream_of(q)>>>(*c);
  return check(q, cudaGetLastError(), "storing a vector's rows");
}

tg_status queue_spread(const tg_ci_queue* q, const tg_ci_spread* s) {
  const dim3 grid(blocks_for(s->count), (unsigned)s->pes);
  spread_values<<<grid, THREADS, 0, stream_of(q)>>>(*s);
  return check(q, cudaGetLastError(), "handing numbers round");
}

tg_status queue_add(const tg_ci_queue* q, const double* slots, int parts, size_t stride,
                    double* values, size_t count) {
  add_values<<<blocks_for(count), THREADS, 0, stream_of(q)>>>(slots, parts, stride, values, count);
  return check(q, cudaGetLastError(), "summing numbers");
}

const tg_ci_queue_ops table = {allocate,   release,         upload,       finish,
                               event_make, event_free,      record,       wait_for,
                               between,    queue_copy_rows, queue_spread, queue_add};

}  // namespace

tg_status tg_ci_queue_cuda(const tg_ci_queue_ops** out) {
  *out = &table;
  return TG_OK;
}

/* ---- places ---- */

struct tg_ci_device_place {
  tg_cards cards;
  tg_ci_queue queue;
};

tg_status tg_ci_device_place_open(tg_world* world, int gpus, int device, tg_ci_device_place** out) {
  const int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  tg_ci_device_place* p = new (std::nothrow) tg_ci_device_place();
  if (!p) return tg_fail(TG_ERR_MACHINE, "no memory for a place on a GPU");
  tg_status status = TG_OK;
  void* stream = nullptr;
  if (tg_world_of_processes(world)) {
    status = tg_world_device(world, &device, &stream);
    if (status == TG_OK) status = tg_cards_open_own(device, stream, pe, count, &p->cards);
  } else if (gpus > 1) {
    status = tg_cards_open(gpus, count, &p->cards);
  } else {
    status = tg_cards_open_own(device, nullptr, pe, count, &p->cards);
  }
  if (status != TG_OK) {
    delete p;
    return status;
  }
  const tg_card* mine = &p->cards.card[p->cards.count > 1 ? tg_cards_of(&p->cards, pe) : 0];
  p->queue = {&table, mine->device, mine->stream};
  status = tg_cuda_status(cudaSetDevice(mine->device), mine->device, "selecting it");
  *out = p;
  if (status != TG_OK) tg_ci_device_place_close(out);
  return status;
}

void tg_ci_device_place_close(tg_ci_device_place** place) {
  if (!*place) return;
  cudaSetDevice((*place)->queue.device);
  cudaStreamSynchronize((cudaStream_t)(*place)->queue.stream);
  tg_cards_close(&(*place)->cards);
  delete *place;
  *place = nullptr;
}

tg_status tg_ci_device_place_settle(const tg_ci_device_place* place) {
  return tg_cuda_status(cudaDeviceSynchronize(), place->queue.device, "making a Hamiltonian");
}

const tg_ci_queue* tg_ci_device_place_queue(const tg_ci_device_place* place) {
  return &place->queue;
}

tg_status tg_ci_device_places_meet(int gpus) {
  tg_cards cards;
  TG_TRY(tg_cards_open(gpus, gpus, &cards));
  tg_cards_close(&cards);
  return TG_OK;
}

tg_status tg_ci_device_stream_make(int device, void** out) {
  cudaStream_t stream = nullptr;
  *out = nullptr;
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  TG_TRY(tg_cuda_status(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), device,
                        "making a stream"));
  *out = stream;
  return TG_OK;
}

void tg_ci_device_stream_free(int device, void* stream) {
  if (!stream) return;
  cudaSetDevice(device);
  cudaStreamSynchronize((cudaStream_t)stream);
  cudaStreamDestroy((cudaStream_t)stream);
}

bool tg_ci_device_pin(int device, void* memory, size_t bytes) {
  if (cudaSetDevice(device) != cudaSuccess) return false;
  if (cudaHostRegister(memory, bytes, cudaHostRegisterPortable) == cudaSuccess) return true;
  cudaGetLastError(); /* or the next check would find it */
  return false;
}

void tg_ci_device_unpin(int device, void* memory) {
  cudaSetDevice(device);
  cudaHostUnregister(memory);
}
