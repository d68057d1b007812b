/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/fly_work.cuh  Which part of the product is done by which block of threads. */
#ifndef TG_CI_CUDA_FLY_WORK_CUH
#define TG_CI_CUDA_FLY_WORK_CUH

#include <memory>
#include <vector>

#include "ci/cuda/fly.cuh"

/** On the host; costly work first. */
typedef struct tg_fly_work {
  /* Large blocks are done in tiles and rows, small ones state by state. */
  std::unique_ptr<bool[]> large;          /* [blocks] */
  std::unique_ptr<bool[]> large_class[2]; /* [classes]: of any large block */
  std::unique_ptr<bool[]> small_class[2]; /* of any small one */
  std::vector<uint32_t> lanes;            /* [blocks]: for a state of small ones */
  std::vector<double> cost;               /* [blocks]: of one of them, in elements */
  bool beside;                            /* tg_ci_device_fly::beside */
  std::vector<tg_fly_piece> pieces;
  std::vector<tg_fly_row> rows[TG_FLY_SIZES];
  std::vector<tg_fly_strip> strips[2];
  size_t own_strips; /* of B's, those in front read x in the rows that are made alone */
} tg_fly_work;

/** Sorts the blocks. tiles: the device has the shared memory that large blocks need. */
void tg_fly_work_sort(const tg_ci_fly* fly, bool tiles, tg_fly_work* work);
/** Lists what makes the rows of y. heights: of strips, by species. */
void tg_fly_work_list(const tg_ci_fly* fly, const tg_ci_device_rows* rows,
                      const tg_ci_sheets* sheets, const uint32_t heights[2], int multiprocessors,
                      tg_fly_work* work);

#endif
