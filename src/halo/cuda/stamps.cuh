/* SPDX-License-Identifier: Apache-2.0 */
/* Stamps of traced kernels (halo/device_trace.h). A kernel's last template parameter says whether
 * it is traced; where it is not, nothing of this is compiled into it. */
#ifndef TG_HALO_CUDA_STAMPS_CUH
#define TG_HALO_CUDA_STAMPS_CUH

#include <throng/device/halo.cuh>

#include "halo/device_trace.h"

typedef struct tg_stamp_board {
  tg_stamp* stamps; /* [rows][capacity] */
  unsigned* counts; /* [rows]: may rise above the capacity */
  unsigned capacity;
  int rows_of_pe;
} tg_stamp_board;

/* This card's; of the file that launches the kernels. */
static __device__ __attribute__((unused)) tg_stamp_board tg_board;

/* k: the PE among those of the card. */
static __device__ __forceinline__ void tg_stamp_write(int k, int row, int stage, int part,
                                                      uint64_t number) {
  tg_stamp stamp;
  unsigned long long clock;
  stamp.time_ns = tg_halo_now();
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(clock));
  asm volatile("mov.u32 %0, %%smid;" : "=r"(stamp.multiprocessor));
  stamp.clock = clock;
  stamp.number = number;
  stamp.stage = (uint16_t)stage;
  stamp.part = (uint16_t)part;
  size_t at = (size_t)k * (size_t)tg_board.rows_of_pe + (size_t)row;
  unsigned place = atomicAdd(&tg_board.counts[at], 1u);
  if (place < tg_board.capacity) tg_board.stamps[at * tg_board.capacity + place] = stamp;
}

/* The first thread of the row's first block has done a stage. The PE is blockIdx.z. */
template <bool TRACED>
static __device__ __forceinline__ void tg_stamp_row_now(int row, int stage, int part,
                                                        uint64_t number) {
  if constexpr (TRACED) {
    if (blockIdx.x == 0 && threadIdx.x == 0)
      tg_stamp_write((int)blockIdx.z, row, stage, part, number);
  }
}

#endif
