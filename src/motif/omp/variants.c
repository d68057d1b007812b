/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant of simd/block.c that variants.cmake compiles. */
#include "motif/omp/block.h"

extern const tg_omp_kernels tg_omp_kernels_portable;
#ifdef TG_BLOCK_X86
extern const tg_omp_kernels tg_omp_kernels_avx2;
extern const tg_omp_kernels tg_omp_kernels_avx512;
#endif

const tg_omp_kernels* const* tg_omp_variants(void) {
  static const tg_omp_kernels* const variants[] = {
#ifdef TG_BLOCK_X86
      &tg_omp_kernels_avx512,
      &tg_omp_kernels_avx2,
#endif
      &tg_omp_kernels_portable,
      NULL,
  };
  return variants;
}

const tg_omp_kernels* tg_omp_best(void) {
  const tg_omp_kernels* const* v = tg_omp_variants();
  while (!(*v)->runs()) v++; /* portable always does */
  return *v;
}
