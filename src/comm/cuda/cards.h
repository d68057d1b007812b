/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/cuda/cards.h  The GPUs of one process and the PEs on them; for .cu files only.
 *
 * PEs are dealt out in blocks: card = pe * card_count / pe_count. All cards reach each other's
 * memory by loads and stores (peer access), or opening fails. */
#ifndef TG_COMM_CUDA_CARDS_H
#define TG_COMM_CUDA_CARDS_H

#include <cuda_runtime.h>

#include "base/status.h"

enum { TG_MOST_CARDS = 16 };

typedef struct tg_card {
  int device;
  cudaStream_t stream;
  bool borrowed; /* the stream is the caller's */
  cudaEvent_t event;
  int first_pe, pe_count;
} tg_card;

typedef struct tg_cards {
  tg_card card[TG_MOST_CARDS];
  int count;
  int pe_count;
} tg_cards;

/** Local. wanted: how many GPUs, 0: all that can be used, at most one per PE. TG_ERR_MACHINE if
 * there are not so many or one does not reach another. */
tg_status tg_cards_open(int wanted, int pe_count, tg_cards* out);
/** Local: the one GPU of a process that is PE pe. stream: the caller's, which outlives this; NULL:
 * makes one. */
tg_status tg_cards_open_own(int device, void* stream, int pe, int pe_count, tg_cards* out);
/** Accepts a zeroed or half-opened one. Waits for nothing. */
void tg_cards_close(tg_cards* cards);

int tg_cards_of(const tg_cards* cards, int pe);

#endif
