/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/omp/simd/simd_types.h  The scalar types of a variant, and the names it exports. */
#ifndef TG_MD_OMP_SIMD_TYPES_H
#define TG_MD_OMP_SIMD_TYPES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#define TG_JOIN_(a, b) a##_##b
#define TG_JOIN(a, b) TG_JOIN_(a, b)
/** The name of an exported function or table in this variant. */
#define TG_VARIANT_NAME(name) TG_JOIN(name, TG_VARIANT)

#ifndef TG_SIMD_DOUBLE
#define TG_SIMD_DOUBLE 0 /* when a header is compiled by itself */
#endif

#if TG_SIMD_DOUBLE
typedef double real;
typedef int64_t lane_mask;
#define TG_REAL_TEXT "double"
#else
typedef float real;
typedef int32_t lane_mask;
#define TG_REAL_TEXT "float"
#endif

#endif
