/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/cuda/cards.h"

#include <stdlib.h>
#include <string.h>

#include "device/cuda/check.h"
#include "device/device.h"

int tg_cards_of(const tg_cards* cards, int pe) {
  for (int i = cards->count - 1; i > 0; i--)
    if (pe >= cards->card[i].first_pe) return i;
  return 0;
}

static tg_status enable_peers(const tg_cards* cards, int from) {
  for (int to = 0; to < cards->count; to++) {
    if (to == from) continue;
    int a = cards->card[from].device, b = cards->card[to].device;
    tg_device_link link;
    TG_TRY(tg_device_query_link(a, b, &link));
    if (!link.peer_access)
      return tg_fail(TG_ERR_MACHINE,
                     "GPU %d does not reach the memory of GPU %d; give --gpus 1, or use cards "
                     "joined by NVLink (nvidia-smi topo -m shows them)",
                     a, b);
    cudaError_t error = cudaDeviceEnablePeerAccess(b, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      error = cudaSuccess;
    }
    TG_TRY(tg_cuda_status(error, a, "reaching for another GPU's memory"));
  }
  return TG_OK;
}

static tg_status open_card(tg_cards* cards, int i) {
  tg_card* card = &cards->card[i];
  TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
  if (!card->borrowed)
    TG_TRY(tg_cuda_status(cudaStreamCreateWithFlags(&card->stream, cudaStreamNonBlocking),
                          card->device, "making a stream"));
  TG_TRY(tg_cuda_status(cudaEventCreateWithFlags(&card->event, cudaEventDisableTiming),
                        card->device, "making an event"));
  return enable_peers(cards, i);
}

tg_status tg_cards_open(int wanted, int pe_count, tg_cards* out) {
  /* a kernel loaded while another one spins would wait for it */
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  tg_cards cards;
  memset(&cards, 0, sizeof cards);
  int there = tg_device_count();
  if (there == 0) return tg_fail(TG_ERR_MACHINE, "no GPU: %s", tg_device_reason());
  if (wanted > there || wanted < 0 || wanted > TG_MOST_CARDS)
    return tg_fail(TG_ERR_MACHINE, "%d GPUs were asked for, but there are %d (at most %d serve)",
                   wanted, there, TG_MOST_CARDS);
  if (wanted > pe_count)
    return tg_fail(TG_ERR_INPUT,
                   "%d GPUs for %d processing elements; give at least one to each GPU", wanted,
                   pe_count);
  cards.count = wanted ? wanted : there;
  if (cards.count > pe_count) cards.count = pe_count;
  if (cards.count > TG_MOST_CARDS) cards.count = TG_MOST_CARDS;
  cards.pe_count = pe_count;
  for (int i = 0; i < cards.count; i++) {
    tg_card* card = &cards.card[i];
    card->device = i;
    /* the first PE whose card is i: ceiling of i * pe_count / count */
    card->first_pe = (int)(((long long)i * pe_count + cards.count - 1) / cards.count);
    int next = (int)(((long long)(i + 1) * pe_count + cards.count - 1) / cards.count);
    card->pe_count = next - card->first_pe;
  }
  for (int i = 0; i < cards.count; i++) {
    tg_status status = open_card(&cards, i);
    if (status != TG_OK) {
      tg_cards_close(&cards);
      return status;
    }
  }
  *out = cards;
  return TG_OK;
}

tg_status tg_cards_open_own(int device, void* stream, int pe, int pe_count, tg_cards* out) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  tg_cards cards;
  memset(&cards, 0, sizeof cards);
  if (tg_device_count() == 0) return tg_fail(TG_ERR_MACHINE, "no GPU: %s", tg_device_reason());
  cards.count = 1;
  cards.pe_count = pe_count;
  cards.card[0].device = device;
  cards.card[0].stream = (cudaStream_t)stream;
  cards.card[0].borrowed = stream != NULL;
  cards.card[0].first_pe = pe;
  cards.card[0].pe_count = 1;
  tg_status status = open_card(&cards, 0);
  if (status == TG_OK)
    *out = cards;
  else
    tg_cards_close(&cards);
  return status;
}

void tg_cards_close(tg_cards* cards) {
  for (int i = 0; i < cards->count; i++) {
    tg_card* card = &cards->card[i];
    cudaSetDevice(card->device);
    if (card->event) cudaEventDestroy(card->event);
    if (card->stream && !card->borrowed) cudaStreamDestroy(card->stream);
  }
  memset(cards, 0, sizeof *cards);
}
