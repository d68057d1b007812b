/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on a GPU: what callers see. */
#include "ci/cuda/fly.cuh"

#include <new>

#include "device/device.h"

/* The rows are whole ones of blocks. */
static tg_status check_rows(const tg_ci_fly* f, int device, const tg_ci_device_rows* rows) {
  const uint64_t edges[2] = {rows->first, rows->end};
  bool right = rows->first <= rows->end && rows->end <= f->space->dimension;
  for (int e = 0; right && e < 2; e++) {
    if (edges[e] == f->space->dimension) continue;
    const tg_ci_block* b = &f->space->blocks[tg_ci_space_block_of(f->space, edges[e])];
    right = (edges[e] - b->offset) % b->columns == 0;
  }
  if (right) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "GPU %d: states %llu to %llu of %llu are not whole rows of the space's blocks",
                 device, (unsigned long long)rows->first, (unsigned long long)rows->end,
                 (unsigned long long)f->space->dimension);
}

/* Threads of small blocks have much to do one after the other, and leave room for others. */
tg_status tg_fly_side_make(tg_ci_device_fly* fly) {
  const char* what = "making a stream for small blocks";
  if (!fly->beside || fly->side) return TG_OK;
  TG_TRY(tg_cuda_status(cudaStreamCreateWithFlags(&fly->side, cudaStreamNonBlocking), fly->device,
                        what));
  TG_TRY(tg_cuda_status(cudaEventCreateWithFlags(&fly->fork, cudaEventDisableTiming), fly->device,
                        what));
  return tg_cuda_status(cudaEventCreateWithFlags(&fly->join, cudaEventDisableTiming), fly->device,
                        what);
}

tg_status tg_ci_device_fly_create(const tg_ci_fly* from, int device, void* stream,
                                  const tg_ci_device_rows* rows, tg_ci_device_fly** out) {
  const tg_ci_device_rows all = {0, from->space->dimension};
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  if (!rows) rows = &all;
  TG_TRY(check_rows(from, device, rows));
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  tg_ci_device_fly* fly = new (std::nothrow) tg_ci_device_fly();
  if (!fly) return tg_fail(TG_ERR_MACHINE, "no memory for a Hamiltonian on a GPU");
  int major = 0;
  fly->device = device;
  fly->stream = (cudaStream_t)stream;
  fly->view.first = rows->first;
  fly->view.end = rows->end;
  tg_status status =
      tg_cuda_status(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
                     device, "asking for its kind");
  fly->overlaps = major >= 9;
  if (status == TG_OK) status = tg_fly_tables_make(fly, from, rows);
  if (status == TG_OK) status = tg_fly_alone_prepare(fly);
  if (status == TG_OK) status = tg_fly_cross_prepare(fly);
  if (status == TG_OK) status = tg_fly_side_make(fly);
  if (status == TG_OK) {
    tg_fly_queue_field_sums(fly);
    status = tg_cuda_status(cudaGetLastError(), device, "preparing the product");
  }
  if (status != TG_OK) {
    tg_ci_device_fly_destroy(&fly);
    return status;
  }
  *out = fly;
  return TG_OK;
}

void tg_ci_device_fly_destroy(tg_ci_device_fly** fly) {
  if (fly == nullptr || *fly == nullptr) return;
  cudaSetDevice((*fly)->device);
  cudaStreamSynchronize((*fly)->stream);
  if ((*fly)->side) {
    cudaStreamSynchronize((*fly)->side);
    cudaStreamDestroy((*fly)->side);
  }
  if ((*fly)->fork) cudaEventDestroy((*fly)->fork);
  if ((*fly)->join) cudaEventDestroy((*fly)->join);
  cudaFree((*fly)->memory);
  delete *fly;
  *fly = nullptr;
}

static tg_status select_device(const tg_ci_device_fly* fly) {
  return tg_cuda_status(cudaSetDevice(fly->device), fly->device, "selecting it");
}

/* Small blocks beside what else is queued, until finish; they read x, and write other rows of y
 * than the others. The product's first kernel follows the fork, and begins when all before it is
 * done; those behind it follow each other without anything between them. */
static tg_status fork_small(tg_ci_device_fly* fly, int k, const double* x, size_t ldx, double* y,
                            size_t ldy) {
  const int device = fly->device;
  if (!fly->beside || fly->view.piece_count == 0) return TG_OK;
  TG_TRY(tg_cuda_status(cudaEventRecord(fly->fork, fly->stream), device, "small blocks"));
  TG_TRY(tg_cuda_status(cudaStreamWaitEvent(fly->side, fly->fork, 0), device, "small blocks"));
  tg_fly_queue_states(fly, true, k, x, ldx, y, ldy);
  return tg_cuda_status(cudaEventRecord(fly->join, fly->side), device, "small blocks");
}

/* What small blocks and both species have left, behind the parts of one species. */
static tg_status finish(tg_ci_device_fly* fly, int k, const double* x, size_t ldx, double* y,
                        size_t ldy) {
  if (!fly->beside) tg_fly_queue_states(fly, false, k, x, ldx, y, ldy);
  tg_fly_queue_cross(fly, k, x, ldx, y, ldy);
  if (fly->beside && fly->view.piece_count > 0)
    TG_TRY(tg_cuda_status(cudaStreamWaitEvent(fly->stream, fly->join, 0), fly->device,
                          "small blocks"));
  return tg_cuda_status(cudaGetLastError(), fly->device, "starting the product");
}

tg_status tg_ci_device_fly_apply(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                 double* y, size_t ldy) {
  TG_TRY(select_device(fly));
  TG_TRY(fork_small(fly, k, x, ldx, y, ldy));
  tg_fly_begin(fly);
  tg_fly_queue_alone(fly, 1, false, k, x, ldx, y, ldy);
  tg_fly_queue_alone(fly, 0, true, k, x, ldx, y, ldy);
  return finish(fly, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_fly_apply_local(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                       double* y, size_t ldy) {
  TG_TRY(select_device(fly));
  tg_fly_begin(fly);
  tg_fly_queue_own(fly, true, k, x, ldx, y, ldy);
  return tg_cuda_status(cudaGetLastError(), fly->device, "starting the product");
}

tg_status tg_ci_device_fly_apply_rest(tg_ci_device_fly* fly, int k, const double* x, size_t ldx,
                                      double* y, size_t ldy) {
  TG_TRY(select_device(fly));
  TG_TRY(fork_small(fly, k, x, ldx, y, ldy));
  tg_fly_begin(fly);
  tg_fly_queue_own(fly, false, k, x, ldx, y, ldy);
  tg_fly_queue_alone(fly, 0, true, k, x, ldx, y, ldy);
  return finish(fly, k, x, ldx, y, ldy);
}

tg_status tg_ci_device_fly_diagonal(tg_ci_device_fly* fly, double* d) {
  TG_TRY(select_device(fly));
  tg_fly_queue_diagonal(fly, d);
  return tg_cuda_status(cudaGetLastError(), fly->device, "starting the diagonal");
}
