/* SPDX-License-Identifier: Apache-2.0 */
/* What an exchange is made of, measured: a flag's way, a launch, a graph node, stores across the
 * link. The model of `throng bench halo` adds them up. */
#include <algorithm>
#include <vector>

#include "base/timer.h"
#include "halo/cuda/internal.cuh"

enum { ROUNDS = 2000, REPEATS = 5 };
static const size_t STORE_BYTES = (size_t)64 << 20;
static const unsigned long long PATIENCE_NS = 2000000000ull;

/* Two flags: mine rises when the partner has answered. */
typedef struct table {
  uint64_t *mine, *theirs;
  unsigned long long* taken_ns; /* 0 at the end: the partner did not answer */
} table;

/* Ball over the net: side 0 (the first block, where both are in one launch) serves. */
static __global__ void play(table first, table second, int side) {
  if (threadIdx.x) return;
  if (blockIdx.x == 1) side = 1;
  table at = blockIdx.x == 0 ? first : second;
  unsigned long long start = tg_halo_now();
  *at.taken_ns = 0;
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    if (side == 0) tg_halo_store_release(at.theirs, round);
    while (tg_halo_load_acquire(at.mine) < round)
      if (tg_halo_now() - start > PATIENCE_NS) return;
    if (side == 1) tg_halo_store_release(at.theirs, round);
  }
  *at.taken_ns = tg_halo_now() - start;
}

static __global__ void nothing(void) {}

static __global__ void store(const float4* from, float4* to, size_t count) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count;
       i += (size_t)gridDim.x * blockDim.x)
    to[i] = from[i];
}

static tg_status ok(cudaError_t error, int device) {
  return tg_cuda_status(error, device, "measuring the exchange's constants");
}

static tg_status pick(const tg_cards* cards, int i) {
  return ok(cudaSetDevice(cards->card[i].device), cards->card[i].device);
}

static tg_status wait_cards(const tg_cards* cards) {
  for (int i = 0; i < cards->count; i++)
    TG_TRY(ok(cudaStreamSynchronize(cards->card[i].stream), cards->card[i].device));
  return TG_OK;
}

static double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/* memory: [card], 1 KB at least: a flag, and the time taken. */
static tg_status measure_flag(const tg_cards* cards, char* const* memory, double* out) {
  bool two = cards->count > 1;
  table side[2];
  for (int s = 0; s < 2; s++) {
    char *mine = two ? memory[s] : memory[0] + 512 * s,
         *theirs = two ? memory[1 - s] : memory[0] + 512 * (1 - s);
    side[s] = {(uint64_t*)mine, (uint64_t*)theirs, (unsigned long long*)(mine + 256)};
  }
  std::vector<double> taken;
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    for (int i = 0; i < cards->count; i++) {
      TG_TRY(pick(cards, i));
      TG_TRY(ok(cudaMemset(memory[i], 0, 1024), cards->card[i].device));
      TG_TRY(ok(cudaDeviceSynchronize(), cards->card[i].device));
    }
    for (int i = 0; i < cards->count; i++) {
      TG_TRY(pick(cards, i));
      play<<<two ? 1 : 2, 32, 0, cards->card[i].stream>>>(side[i], side[1], i);
      TG_TRY(ok(cudaGetLastError(), cards->card[i].device));
    }
    TG_TRY(wait_cards(cards));
    unsigned long long ns = 0;
    TG_TRY(ok(cudaMemcpy(&ns, side[0].taken_ns, sizeof ns, cudaMemcpyDeviceToHost), 0));
    if (ns == 0)
      return tg_fail(TG_ERR_MACHINE, "flags do not travel between GPUs: none came in %g s",
                     (double)PATIENCE_NS * 1e-9);
    taken.push_back((double)ns * 1e-9 / (2 * ROUNDS));
  }
  *out = median(taken);
  return TG_OK;
}

static tg_status measure_launches(const tg_cards* cards, tg_device_halo_constants* out) {
  cudaStream_t stream = cards->card[0].stream;
  int device = cards->card[0].device;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  TG_TRY(pick(cards, 0));
  TG_TRY(ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), device));
  for (int i = 0; i < ROUNDS; i++) nothing<<<1, 32, 0, stream>>>();
  TG_TRY(ok(cudaStreamEndCapture(stream, &graph), device));
  tg_status status = ok(cudaGraphInstantiate(&exec, graph, 0), device);
  cudaGraphDestroy(graph);
  TG_TRY(status);
  std::vector<double> launches, nodes;
  for (int repeat = 0; repeat <= REPEATS && status == TG_OK; repeat++) {
    double start = tg_time_now();
    for (int i = 0; i < ROUNDS; i++) nothing<<<1, 32, 0, stream>>>();
    status = ok(cudaStreamSynchronize(stream), device);
    double middle = tg_time_now();
    if (status == TG_OK) status = ok(cudaGraphLaunch(exec, stream), device);
    if (status == TG_OK) status = ok(cudaStreamSynchronize(stream), device);
    if (repeat == 0) continue; /* the first one loads things */
    launches.push_back((middle - start) / ROUNDS);
    nodes.push_back((tg_time_now() - middle) / ROUNDS);
  }
  cudaGraphExecDestroy(exec);
  TG_TRY(status);
  out->launch_s = median(launches);
  out->node_s = median(nodes);
  return TG_OK;
}

/* A kernel launched and waited for, as schedule host does: what the wait adds to the launch. */
static tg_status measure_wait(const tg_cards* cards, double launch_s, double* out) {
  enum { WAITS = 100 };
  cudaStream_t stream = cards->card[0].stream;
  int device = cards->card[0].device;
  std::vector<double> taken;
  TG_TRY(pick(cards, 0));
  for (int repeat = 0; repeat < REPEATS; repeat++) {
    double start = tg_time_now();
    for (int i = 0; i < WAITS; i++) {
      nothing<<<1, 32, 0, stream>>>();
      TG_TRY(ok(cudaStreamSynchronize(stream), device));
    }
    taken.push_back((tg_time_now() - start) / WAITS);
  }
  *out = std::max(median(taken) - launch_s, 0.0);
  return TG_OK;
}

/* memory: [card], twice STORE_BYTES. */
static tg_status measure_stores(const tg_cards* cards, char* const* memory, double* out) {
  std::vector<double> rates;
  for (int repeat = 0; repeat <= REPEATS; repeat++) {
    double start = tg_time_now();
    for (int i = 0; i < cards->count; i++) {
      TG_TRY(pick(cards, i));
      store<<<264, 512, 0, cards->card[i].stream>>>(
          (const float4*)memory[i], (float4*)(memory[(i + 1) % cards->count] + STORE_BYTES),
          STORE_BYTES / sizeof(float4));
      TG_TRY(ok(cudaGetLastError(), cards->card[i].device));
    }
    TG_TRY(wait_cards(cards));
    if (repeat) rates.push_back((double)STORE_BYTES / (tg_time_now() - start));
  }
  *out = median(rates);
  return TG_OK;
}

/* Loads the kernels, so that none is loaded while another one spins. */
static tg_status load(const tg_cards* cards) {
  for (int i = 0; i < cards->count; i++) {
    cudaFuncAttributes attributes;
    TG_TRY(pick(cards, i));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, play), cards->card[i].device));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, nothing), cards->card[i].device));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, store), cards->card[i].device));
  }
  return TG_OK;
}

tg_status tg_device_halo_measure(int gpus, tg_device_halo_constants* out) {
  tg_cards cards;
  char* memory[2] = {NULL, NULL};
  tg_device_halo_constants found = {};
  TG_TRY(tg_cards_open(gpus > 1 ? 2 : 1, 2, &cards));
  found.between_cards = cards.count > 1;
  tg_status status = load(&cards);
  for (int i = 0; i < cards.count && status == TG_OK; i++) {
    status = pick(&cards, i);
    if (status == TG_OK)
      status = ok(cudaMalloc((void**)&memory[i], 2 * STORE_BYTES), cards.card[i].device);
  }
  if (status == TG_OK) status = measure_flag(&cards, memory, &found.flag_s);
  if (status == TG_OK) status = measure_launches(&cards, &found);
  if (status == TG_OK) status = measure_wait(&cards, found.launch_s, &found.wait_s);
  if (status == TG_OK) status = measure_stores(&cards, memory, &found.bytes_per_s);
  for (int i = 0; i < cards.count; i++) cudaFree(memory[i]);
  tg_cards_close(&cards);
  if (status == TG_OK) *out = found;
  return status;
}
