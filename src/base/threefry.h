/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/threefry.h  The block cipher behind base/rng.h, for the host and for kernels.
 *
 * Threefry-2x64 is the Threefish block cipher of Skein with 128-bit blocks, 20 rounds and no tweak:
 * a round adds the second word to the first, rotates the second and mixes the first into it; every
 * four rounds a word of the key schedule (the key and the parity of its words) is added. */
#ifndef TG_BASE_THREEFRY_H
#define TG_BASE_THREEFRY_H

#include <stdint.h>

#ifdef __CUDACC__
#define TG_THREEFRY_INLINE static __host__ __device__ __forceinline__
#elif defined _OPENACC
#define TG_THREEFRY_INLINE _Pragma("acc routine seq") static inline
#else
#define TG_THREEFRY_INLINE static inline
#endif

/** out = threefry2x64-20(key, counter). */
TG_THREEFRY_INLINE void tg_threefry_block(const uint64_t key[2], const uint64_t counter[2],
                                          uint64_t out[2]) {
  const uint64_t parity = 0x1BD11BDAA9FC1A22u;               /* from the Skein 1.3 specification */
  const int rotations[8] = {16, 42, 12, 31, 16, 32, 24, 21}; /* Salmon et al., table 3 */
  const uint64_t schedule[3] = {key[0], key[1], parity ^ key[0] ^ key[1]};
  uint64_t a = counter[0] + schedule[0];
  uint64_t b = counter[1] + schedule[1];
  for (int round = 0; round < 20; round++) {
    const int bits = rotations[round % 8];
    a += b;
    b = (b << bits | b >> (64 - bits)) ^ a;
    if ((round + 1) % 4 == 0) {
      const uint64_t injection = (uint64_t)(round + 1) / 4;
      a += schedule[injection % 3];
      b += schedule[(injection + 1) % 3] + injection;
    }
  }
  out[0] = a;
  out[1] = b;
}

#endif
