/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant of the kernels that variants.cmake compiles. */
#include "ci/omp/kernels.h"

extern const tg_ci_kernels tg_ci_kernels_portable;
#ifdef TG_CI_X86
extern const tg_ci_kernels tg_ci_kernels_avx2;
extern const tg_ci_kernels tg_ci_kernels_avx512;
#endif

const tg_ci_kernels* const* tg_ci_kernel_variants(void) {
  static const tg_ci_kernels* const variants[] = {
#ifdef TG_CI_X86
      &tg_ci_kernels_avx512,
      &tg_ci_kernels_avx2,
#endif
      &tg_ci_kernels_portable,
      NULL,
  };
  return variants;
}

const tg_ci_kernels* tg_ci_kernels_best(void) {
  const tg_ci_kernels* const* v = tg_ci_kernel_variants();
  while (!(*v)->runs()) v++; /* portable always does */
  return *v;
}
