/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/simd/simd.h  Vectors for the cluster kernels: one small set of operations.
 *
 * The files of this folder are compiled once per instruction set and precision
 * (src/md/omp/variants.cmake). The build defines TG_VARIANT, the suffix of the exported names, and
 * TG_SIMD_DOUBLE, 0 or 1.
 *
 * A vector holds V_ROWS i-atoms x V_WIDTH j-atoms. Plain arithmetic is that of GCC's vector
 * extensions; here stands what they lack. v_add_cluster adds each i-atom's sum over lanes to the 4
 * places at p. Where AVX-512 is compiled for, float has 2 x 8 and double
 * 1 x 8 lanes; AVX2: float 1 x 8, double 1 x 4; else 1 x 4 of both. */
#ifndef TG_MD_OMP_SIMD_SIMD_H
#define TG_MD_OMP_SIMD_SIMD_H

#include "md/omp/simd/simd_types.h"

#if defined(__AVX512F__)
#include "md/omp/simd/simd_avx512.h"
#else
#include "md/omp/simd/simd_generic.h"
#endif

enum { V_LANES = V_ROWS * V_WIDTH };

#endif
