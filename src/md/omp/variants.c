/* SPDX-License-Identifier: Apache-2.0 */
/* Every variant of the cluster kernels that variants.cmake compiles. */
#include "md/omp/cluster.h"

extern const tg_cluster_kernels tg_cluster_kernels_portable_float;
extern const tg_cluster_kernels tg_cluster_kernels_portable_double;
#ifdef TG_SIMD_X86
extern const tg_cluster_kernels tg_cluster_kernels_avx2_float;
extern const tg_cluster_kernels tg_cluster_kernels_avx2_double;
extern const tg_cluster_kernels tg_cluster_kernels_avx512_float;
extern const tg_cluster_kernels tg_cluster_kernels_avx512_double;
#endif

const tg_cluster_kernels* const* tg_cluster_variants(void) {
  static const tg_cluster_kernels* const variants[] = {
#ifdef TG_SIMD_X86
      &tg_cluster_kernels_avx512_float,
      &tg_cluster_kernels_avx512_double,
      &tg_cluster_kernels_avx2_float,
      &tg_cluster_kernels_avx2_double,
#endif
      &tg_cluster_kernels_portable_float,
      &tg_cluster_kernels_portable_double,
      NULL,
  };
  return variants;
}
