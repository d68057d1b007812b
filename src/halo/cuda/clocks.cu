/* SPDX-License-Identifier: Apache-2.0 */
/* A moment on two clocks: A asks, B answers with its time, A takes its own time before and after.
 * B's moment lies between the two; the quickest of many rounds bounds it best. The CPU asks the
 * first card through pinned memory; the other cards ask the first through flags, whose way is
 * shorter than that to the CPU. */
#include "halo/cuda/clocks.cuh"

#include <string.h>

#include "base/timer.h"
#include "device/cuda/check.h"
#include "halo/cuda/stamps.cuh"

enum { ROUNDS = 200, PROBE_NS = 200000 };
static const unsigned long long PATIENCE_NS = 1000000000ull;

/* Words that two sides share, each in a line of its own. */
typedef struct tg_page {
  uint64_t ask[8], answer[8], time[8], best[8];
} tg_page;

/* The clock's smallest step, and cycles per ns. out: [3] step, ns, cycles. */
static __global__ void probe(unsigned long long* out) {
  unsigned long long start = tg_halo_now(), before = start, now, step = ~0ull, from, to;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(from));
  do {
    now = tg_halo_now();
    if (now != before && now - before < step && before != start) step = now - before;
    before = now;
  } while (now - start < PROBE_NS);
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(to));
  out[0] = step;
  out[1] = now - start;
  out[2] = to - from;
}

/* Answers on other, which may be page itself, whenever `ask` rises on page. */
static __global__ void answer(tg_page* page, tg_page* other) {
  unsigned long long start = tg_halo_now();
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    while (tg_halo_load_acquire(page->ask) < round)
      if (tg_halo_now() - start > PATIENCE_NS) return;
    *(volatile uint64_t*)other->time = tg_halo_now();
    tg_halo_store_release(other->answer, round);
  }
}

/* Asks the first card: own is this card's page, first the other's. best: before, theirs, after. */
static __global__ void question(tg_page* own, tg_page* first) {
  unsigned long long start = tg_halo_now(), least = ~0ull;
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    unsigned long long before = tg_halo_now();
    tg_halo_store_release(first->ask, round);
    while (tg_halo_load_acquire(own->answer) < round)
      if (tg_halo_now() - start > PATIENCE_NS) return;
    unsigned long long after = tg_halo_now();
    uint64_t theirs = *(volatile uint64_t*)own->time;
    if (after - before >= least) continue;
    least = after - before;
    own->best[0] = before;
    own->best[1] = theirs;
    own->best[2] = after;
  }
}

static tg_status ok(cudaError_t error, int device) {
  return tg_cuda_status(error, device, "comparing clocks");
}

static tg_status failed(int device) {
  return tg_fail(TG_ERR_MACHINE, "GPU %d: comparing clocks: no answer came in %g s", device,
                 (double)PATIENCE_NS * 1e-9);
}

/* Everything is loaded before anything spins. */
static tg_status prepare(const tg_cards* cards, tg_page** pages) {
  for (int i = 0; i < cards->count; i++) {
    cudaFuncAttributes attributes;
    int device = cards->card[i].device;
    TG_TRY(ok(cudaSetDevice(device), device));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, probe), device));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, answer), device));
    TG_TRY(ok(cudaFuncGetAttributes(&attributes, question), device));
    TG_TRY(ok(cudaMalloc((void**)&pages[i], sizeof(tg_page)), device));
    TG_TRY(ok(cudaDeviceSynchronize(), device));
  }
  return TG_OK;
}

static tg_status probe_card(const tg_card* card, tg_page* page, tg_device_clock* clock) {
  unsigned long long found[3];
  TG_TRY(ok(cudaSetDevice(card->device), card->device));
  probe<<<1, 1, 0, card->stream>>>((unsigned long long*)page);
  TG_TRY(ok(cudaGetLastError(), card->device));
  TG_TRY(ok(cudaStreamSynchronize(card->stream), card->device));
  TG_TRY(ok(cudaMemcpy(found, page, sizeof found, cudaMemcpyDeviceToHost), card->device));
  clock->tick_ns = (double)found[0];
  clock->cycles_per_ns = (double)found[2] / (double)found[1];
  return TG_OK;
}

/* The host's rounds with a kernel that runs; page: pinned. */
static bool ask_card(tg_page* page, tg_device_clock* clock) {
  int64_t start = tg_time_now_ns(), least = INT64_MAX;
  for (uint64_t round = 1; round <= ROUNDS; round++) {
    int64_t before = tg_time_now_ns(), after = before;
    __atomic_store_n(&page->ask[0], round, __ATOMIC_RELEASE);
    while (__atomic_load_n(&page->answer[0], __ATOMIC_ACQUIRE) < round)
      if (tg_time_now_ns() - start > (int64_t)PATIENCE_NS) return false;
    after = tg_time_now_ns();
    if (after - before >= least) continue;
    least = after - before;
    clock->error_ns = (least + 1) / 2;
    clock->ahead_ns =
        (int64_t)__atomic_load_n(&page->time[0], __ATOMIC_RELAXED) - before - least / 2;
  }
  return true;
}

static tg_status against_cpu(const tg_card* card, tg_device_clock* clock) {
  tg_page* page = NULL;
  TG_TRY(ok(cudaSetDevice(card->device), card->device));
  TG_TRY(ok(cudaHostAlloc((void**)&page, sizeof *page, cudaHostAllocPortable), card->device));
  memset(page, 0, sizeof *page);
  answer<<<1, 1, 0, card->stream>>>(page, page);
  tg_status status = ok(cudaGetLastError(), card->device);
  if (status == TG_OK && !ask_card(page, clock)) status = failed(card->device);
  tg_status ended = ok(cudaStreamSynchronize(card->stream), card->device);
  cudaFreeHost(page);
  return status != TG_OK ? status : ended;
}

static tg_status against_first(const tg_cards* cards, tg_page* const* pages, int i,
                               tg_device_clock* clocks) {
  tg_page copy;
  const int pair[2] = {0, i};
  for (int k = 0; k < 2; k++) {
    const tg_card* card = &cards->card[pair[k]];
    TG_TRY(ok(cudaSetDevice(card->device), card->device));
    TG_TRY(ok(cudaMemset(pages[pair[k]], 0, sizeof(tg_page)), card->device));
    TG_TRY(ok(cudaDeviceSynchronize(), card->device));
  }
  for (int k = 0; k < 2; k++) {
    const tg_card* card = &cards->card[pair[k]];
    TG_TRY(ok(cudaSetDevice(card->device), card->device));
    if (k == 0)
      answer<<<1, 1, 0, card->stream>>>(pages[0], pages[i]);
    else
      question<<<1, 1, 0, card->stream>>>(pages[i], pages[0]);
    TG_TRY(ok(cudaGetLastError(), card->device));
  }
  for (int k = 0; k < 2; k++)
    TG_TRY(ok(cudaStreamSynchronize(cards->card[pair[k]].stream), cards->card[pair[k]].device));
  TG_TRY(
      ok(cudaMemcpy(&copy, pages[i], sizeof copy, cudaMemcpyDeviceToHost), cards->card[i].device));
  if (copy.best[0] == 0 || copy.answer[0] != ROUNDS) return failed(cards->card[i].device);
  int64_t took = (int64_t)(copy.best[2] - copy.best[0]);
  int64_t ahead_of_first = (int64_t)(copy.best[0] - copy.best[1]) + took / 2;
  clocks[i].peer_ns = (took + 1) / 2;
  clocks[i].ahead_ns = clocks[0].ahead_ns + ahead_of_first;
  clocks[i].error_ns = clocks[0].error_ns + clocks[i].peer_ns;
  return TG_OK;
}

tg_status tg_device_clocks_compare(const tg_cards* cards, tg_device_clock* clocks) {
  tg_page* pages[TG_MOST_CARDS] = {};
  memset(clocks, 0, (size_t)cards->count * sizeof *clocks);
  tg_status status = prepare(cards, pages);
  for (int i = 0; i < cards->count && status == TG_OK; i++)
    status = probe_card(&cards->card[i], pages[i], &clocks[i]);
  if (status == TG_OK) status = against_cpu(&cards->card[0], &clocks[0]);
  for (int i = 1; i < cards->count && status == TG_OK; i++)
    status = against_first(cards, pages, i, clocks);
  for (int i = 0; i < cards->count; i++) cudaFree(pages[i]);
  return status;
}
