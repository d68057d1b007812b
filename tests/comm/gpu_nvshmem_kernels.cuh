/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gpu_nvshmem.cu: what a program of throng's users might do with symmetric memory.
 */
#ifndef TG_TESTS_COMM_GPU_NVSHMEM_KERNELS_CUH
#define TG_TESTS_COMM_GPU_NVSHMEM_KERNELS_CUH

#include <stdint.h>

/* The four facts that a kernel needs to signal and to wait. */
struct reach {
  uint64_t *mine, *theirs;              /* memory */
  uint64_t *my_signals, *their_signals; /* the first of each */
  size_t words;                         /* from one signal to the next */
};

static __device__ uint64_t load_acquire(const uint64_t* at) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(at) : "memory");
  return value;
}

static __device__ void store_release(uint64_t* at, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" : : "l"(at), "l"(value) : "memory");
}

/* Until *at >= value, the alarm, or 10 s; true: it came. */
static __device__ bool spin(const uint64_t* at, uint64_t value, const uint64_t* alarm) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  while (load_acquire(at) < value) {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (load_acquire(alarm) || now - start > 10000000000ull) return false;
  }
  return true;
}

/* From nothing to the next PE's memory: word i of round n, then signal 0 = n; one block. Waits for
 * the word that round n-1 was read (signal 1). *wrong counts what is amiss. */
static __global__ void send(reach r, uint64_t n, uint64_t pe, int count, const uint64_t* alarm,
                            unsigned* wrong) {
  __shared__ bool ready;
  if (threadIdx.x == 0) ready = spin(r.my_signals + r.words, n - 1, alarm);
  __syncthreads();
  if (!ready) {
    if (threadIdx.x == 0) atomicAdd(wrong, 1u);
    return;
  }
  for (int i = (int)threadIdx.x; i < count; i += (int)blockDim.x)
    r.theirs[i] = (pe << 48) ^ (n << 24) ^ ((uint64_t)i * 0x9e3779b97f4a7c15u);
  __syncthreads();
  if (threadIdx.x == 0) store_release(r.their_signals, n);
}

/* From this PE's memory to *wrong, the number of wrong words; then tells the sender. */
static __global__ void receive(reach r, uint64_t n, uint64_t from, int count, uint64_t* consumed,
                               const uint64_t* alarm, unsigned* wrong) {
  __shared__ bool ready;
  if (threadIdx.x == 0) ready = spin(r.my_signals, n, alarm);
  __syncthreads();
  unsigned bad = ready ? 0 : 1;
  for (int i = (int)threadIdx.x; ready && i < count; i += (int)blockDim.x)
    bad += *(volatile uint64_t*)&r.mine[i] !=
           ((from << 48) ^ (n << 24) ^ ((uint64_t)i * 0x9e3779b97f4a7c15u));
  if (bad) atomicAdd(wrong, bad);
  __syncthreads();
  if (threadIdx.x == 0) store_release(consumed, n);
}

/* Spins until the alarm (*seen = 1) or 10 s. */
static __global__ void await_alarm(const uint64_t* alarm, unsigned* seen) {
  unsigned long long start, now;
  if (threadIdx.x != 0) return; /* they hold the block's place all the same */
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    if (load_acquire(alarm)) {
      *seen = 1;
      return;
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < 10000000000ull);
}

/* A kernel that gives up: raises the alarm of another PE. */
static __global__ void raise(uint64_t* alarm) { *(volatile uint64_t*)alarm = 1; }

/* Takes a while, then fills words. */
static __global__ void slow_fill(uint64_t* words, int count, uint64_t value) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < 50000000ull);
  for (int i = 0; i < count; i++) words[i] = value + (uint64_t)i;
}

#endif
