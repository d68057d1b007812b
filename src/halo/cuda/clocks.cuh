/* SPDX-License-Identifier: Apache-2.0 */
/* How the clocks of GPUs lie against the CPU's. */
#ifndef TG_HALO_CUDA_CLOCKS_CUH
#define TG_HALO_CUDA_CLOCKS_CUH

#include "comm/cuda/cards.h"

typedef struct tg_device_clock {
  int64_t ahead_ns; /* of the CPU's monotonic clock */
  int64_t error_ns; /* against the CPU's: at most so much */
  int64_t peer_ns;  /* against the first card's: at most so much; 0 on the first */
  double tick_ns, cycles_per_ns;
} tg_device_clock;

/* Waits for queued work; takes some ms. clocks: [cards->count]. */
tg_status tg_device_clocks_compare(const tg_cards* cards, tg_device_clock* clocks);

#endif
