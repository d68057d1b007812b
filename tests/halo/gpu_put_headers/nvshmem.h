/* SPDX-License-Identifier: Apache-2.0 */
/* What path put asks of NVSHMEM, done within one process: a symmetric address of one PE becomes
 * that of another by the distance between their memories, and a put is stores and then a flag. For
 * tests of the kernels with more PEs than there are GPUs. */
#ifndef TG_TESTS_HALO_GPU_PUT_NVSHMEM_H
#define TG_TESTS_HALO_GPU_PUT_NVSHMEM_H

#include <stddef.h>
#include <stdint.h>
#include <throng/device/halo.cuh>

enum { NVSHMEM_SIGNAL_SET = 1, NVSHMEM_CMP_GE = 2, FAKE_MOST_PES = 8 };

struct fake_heap {
  char* memory[FAKE_MOST_PES];
  size_t bytes; /* of each */
  int pe_count;
};

static __device__ fake_heap fake;

static __device__ char* fake_address(const void* mine, int pe) {
  for (int p = 0; p < fake.pe_count; p++) {
    size_t at = (size_t)((const char*)mine - fake.memory[p]);
    if ((const char*)mine >= fake.memory[p] && at < fake.bytes) return fake.memory[pe] + at;
  }
  return nullptr; /* a fault, which the test reports */
}

static __device__ void nvshmemx_signal_op(uint64_t* flag, uint64_t value, int op, int pe) {
  (void)op;
  tg_halo_store_release((uint64_t*)fake_address(flag, pe), value);
}

static __device__ void nvshmemx_putmem_signal_nbi_block(void* to, const void* from, size_t bytes,
                                                        uint64_t* flag, uint64_t value, int op,
                                                        int pe) {
  unsigned* there = (unsigned*)fake_address(to, pe);
  for (size_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
    there[i] = ((volatile const unsigned*)from)[i];
  __syncthreads();
  if (threadIdx.x == 0) nvshmemx_signal_op(flag, value, op, pe);
}

static __device__ void nvshmem_uint_p(unsigned* to, unsigned value, int pe) {
  *(volatile unsigned*)fake_address(to, pe) = value;
}

static __device__ void nvshmem_quiet(void) { __threadfence_system(); }

static __device__ void nvshmem_signal_wait_until(uint64_t* flag, int comparison, uint64_t value) {
  (void)comparison;
  while (tg_halo_load_acquire(flag) < value) continue;
}

#endif
