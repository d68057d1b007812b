/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: memory of the cards of one process, or symmetric memory of a world. Before the caller's
 * part a window has a head: flags, the abort word, the claim. */
#include "md/cuda/peers.cuh"

#include <string.h>

#include <new>

#include "comm/cuda/cards.h"
#include "comm/symmetric.h"
#include "device/device.h"

enum {
  FLAG_BYTES = TG_MD_FLAG_ALL * TG_MD_MOST_CARDS * TG_MD_FLAG_BYTES,
  HEAD_BYTES = FLAG_BYTES + 256 /* abort, claim: a line each */
};
static_assert(HEAD_BYTES % 256 == 0, "the caller's part is aligned");

struct tg_md_peers {
  tg_world* world;
  tg_cards cards; /* of this process */
  int card_count, first;
  double deadline_s;
  void* memory[TG_MD_MOST_CARDS];               /* own cards', without a world */
  tg_symmetric* symmetric;                      /* with one */
  char* head[TG_MD_MOST_CARDS];                 /* of each card's window */
  uint64_t* abort_word[TG_MD_MOST_CARDS];       /* of each card */
  tg_md_peers_report* report[TG_MD_MOST_CARDS]; /* own cards', as the host sees them */
  tg_md_peers_report* on_device[TG_MD_MOST_CARDS];
};

static const char* kind_name(uint64_t kind) {
  static const char* const names[] = {
      "positions of a step", "atoms for a search", "halo places",       "sums of energies",
      "part of a frame",     "positions along z",  "positions along y", "positions along x"};
  return kind < TG_MD_FLAG_ALL ? names[kind] : "flag";
}

static tg_status open_world(tg_md_peers* p, tg_world* world) {
  int device = -1;
  void* stream = nullptr;
  p->world = world;
  p->card_count = tg_world_pe_count(world);
  p->first = tg_world_pe(world);
  if (p->card_count > TG_MD_MOST_CARDS)
    return tg_fail(TG_ERR_INPUT, "%d processes with a GPU each: at most %d share a simulation",
                   p->card_count, TG_MD_MOST_CARDS);
  TG_TRY(tg_world_device(world, &device, &stream));
  return tg_cards_open_own(device, stream, p->first, p->card_count, &p->cards);
}

static tg_status open_process(tg_md_peers* p, const tg_md_peers_params* params) {
  p->card_count = params->card_count > 1 ? params->card_count : 1;
  if (p->card_count > TG_MD_MOST_CARDS)
    return tg_fail(TG_ERR_INPUT, "%d GPUs: at most %d share a simulation", p->card_count,
                   TG_MD_MOST_CARDS);
  if (p->card_count == 1) return tg_cards_open_own(params->device, nullptr, 0, 1, &p->cards);
  return tg_cards_open(p->card_count, p->card_count, &p->cards);
}

/* Of this process's i-th card. */
static tg_status make_report(tg_md_peers* p, int i) {
  const int device = p->cards.card[i].device;
  void *host = nullptr, *seen = nullptr;
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  TG_TRY(tg_cuda_host_status(cudaHostAlloc(&host, sizeof(tg_md_peers_report), cudaHostAllocMapped),
                             sizeof(tg_md_peers_report)));
  p->report[i] = (tg_md_peers_report*)host;
  memset(host, 0, sizeof(tg_md_peers_report));
  TG_TRY(tg_cuda_status(cudaHostGetDevicePointer(&seen, host, 0), device,
                        "reaching memory of the host"));
  p->on_device[i] = (tg_md_peers_report*)seen;
  return TG_OK;
}

/* Collective, where there is a world. */
static tg_status agree(const tg_md_peers* p, tg_status status) {
  return p->world ? tg_world_agree(p->world, status) : status;
}

tg_status tg_md_peers_open(const tg_md_peers_params* params, tg_md_peers** out) {
  tg_md_peers* p = new (std::nothrow) tg_md_peers();
  if (!p) return tg_fail(TG_ERR_MACHINE, "no memory for the cards of a simulation");
  p->deadline_s = params->deadline_s > 0 ? params->deadline_s : 60;
  tg_status status = params->world ? open_world(p, params->world) : open_process(p, params);
  for (int i = 0; i < p->cards.count && status == TG_OK; i++) status = make_report(p, i);
  status = agree(p, status);
  if (status == TG_OK)
    *out = p;
  else
    tg_md_peers_close(&p);
  return status;
}

static tg_status allocate_own(tg_md_peers* p, int i, size_t bytes) {
  const tg_card* card = &p->cards.card[i];
  TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
  TG_TRY(tg_cuda_allocate(card->device, bytes, "memory for atoms, lists and steps", &p->memory[i]));
  TG_TRY(tg_cuda_status(cudaMemsetAsync(p->memory[i], 0, bytes, card->stream), card->device,
                        "clearing memory"));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(card->stream), card->device, "clearing memory"));
  p->head[i] = (char*)p->memory[i];
  p->abort_word[i] = (uint64_t*)(p->head[i] + FLAG_BYTES);
  return TG_OK;
}

static tg_status reach_all(tg_md_peers* p) {
  tg_symmetric* alarm = tg_world_alarm(p->world);
  if (!alarm)
    return tg_fail(TG_ERR_INPUT, "transport \"%s\": GPUs of several processes need nvshmem",
                   tg_world_transport(p->world));
  size_t stride = 0;
  char* word = (char*)tg_symmetric_signals(alarm, &stride);
  const size_t behind = (size_t)(word - (char*)tg_symmetric_local(alarm));
  for (int c = 0; c < p->card_count; c++) {
    char* at = (char*)tg_symmetric_peer(alarm, c);
    p->head[c] = (char*)tg_symmetric_peer(p->symmetric, c);
    if (!p->head[c] || !at)
      return tg_fail(TG_ERR_MACHINE,
                     "PE %d: GPU %d does not reach the memory of PE %d's GPU by loads and stores; "
                     "use GPUs of one machine that NVLink or the like joins (throng info shows "
                     "the links), or one GPU",
                     p->first, p->cards.card[0].device, c);
    p->abort_word[c] = (uint64_t*)(at + behind);
  }
  return TG_OK;
}

tg_status tg_md_peers_allocate(tg_md_peers* p, size_t bytes) {
  if (p->symmetric || p->head[0])
    return agree(p, tg_fail(TG_ERR_INTERNAL, "the window is there already"));
  if (p->world) {
    TG_TRY(tg_symmetric_create(p->world, HEAD_BYTES + bytes, 0, &p->symmetric));
    return tg_world_agree(p->world, reach_all(p));
  }
  for (int i = 0; i < p->cards.count; i++) TG_TRY(allocate_own(p, i, HEAD_BYTES + bytes));
  return TG_OK;
}

void tg_md_peers_close(tg_md_peers** peers) {
  if (peers == nullptr || *peers == nullptr) return;
  tg_md_peers* p = *peers;
  for (int i = 0; i < p->cards.count; i++) { /* no card may store into what is freed */
    cudaSetDevice(p->cards.card[i].device);
    if (p->cards.card[i].stream) cudaStreamSynchronize(p->cards.card[i].stream);
  }
  for (int i = 0; i < p->cards.count; i++) {
    cudaSetDevice(p->cards.card[i].device);
    tg_cuda_release(p->memory[i]);
    cudaFreeHost(p->report[i]);
  }
  tg_symmetric_destroy(&p->symmetric);
  tg_cards_close(&p->cards);
  delete p;
  *peers = nullptr;
}

int tg_md_peers_card_count(const tg_md_peers* p) { return p->card_count; }
tg_world* tg_md_peers_world(const tg_md_peers* p) { return p->world; }
int tg_md_peers_first(const tg_md_peers* p) { return p->first; }
int tg_md_peers_own_count(const tg_md_peers* p) { return p->cards.count; }

int tg_md_peers_device(const tg_md_peers* p, int card) {
  return p->cards.card[card - p->first].device;
}

cudaStream_t tg_md_peers_stream(const tg_md_peers* p, int card) {
  return p->cards.card[card - p->first].stream;
}

void* tg_md_peers_base(const tg_md_peers* p, int card) {
  return p->head[card] ? p->head[card] + HEAD_BYTES : nullptr;
}

tg_md_peers_view tg_md_peers_view_of(const tg_md_peers* p, int card) {
  tg_md_peers_view view = {};
  view.card = (uint32_t)card;
  view.card_count = (uint32_t)p->card_count;
  for (int c = 0; c < p->card_count; c++) {
    view.base[c] = p->head[c] + HEAD_BYTES;
    view.flags[c] = (uint64_t*)p->head[c];
    view.abort[c] = p->abort_word[c];
  }
  view.claim = (uint64_t*)(p->head[card] + FLAG_BYTES + TG_MD_FLAG_BYTES);
  view.deadline_ns = (uint64_t)(1e9 * p->deadline_s);
  view.report = p->on_device[card - p->first];
  return view;
}

static uint64_t word_of(const uint64_t* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

tg_status tg_md_peers_check(tg_md_peers* p) {
  bool aborted = false;
  for (int i = 0; i < p->cards.count; i++) {
    const tg_md_peers_report* r = p->report[i];
    aborted = aborted || word_of(&r->aborted) != 0;
    if (word_of(&r->late) == 0) continue;
    const tg_status status = tg_fail(
        TG_ERR_MACHINE,
        "GPU %d of %d waited %g s for GPU %d's %s number %llu; there was number %llu: GPU %d, or "
        "the process that drives it, has stopped or is far behind",
        p->first + i, p->card_count, p->deadline_s, (int)r->from, kind_name(r->kind),
        (unsigned long long)r->wanted, (unsigned long long)r->found, (int)r->from);
    if (p->world) tg_world_abort(p->world, status);
    return status;
  }
  if (!aborted) return TG_OK;
  if (p->world) {
    TG_TRY(tg_world_heed_alarm(p->world));
    return tg_fail(TG_ERR_MACHINE, "PE %d: another process has given up", p->first);
  }
  return tg_fail(TG_ERR_MACHINE, "a GPU has given up waiting for another");
}
