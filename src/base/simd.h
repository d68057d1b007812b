/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/simd.h  Wider SIMD for a hot function, chosen when the program starts. */
#ifndef TG_BASE_SIMD_H
#define TG_BASE_SIMD_H

/** In front of a function: compiled for several x86 instruction sets, the best one used. As neither
 * contraction nor reordering of floating-point operations is allowed, all give the same bits.
 * Nothing elsewhere; nor under the thread sanitizer, which cannot start before the choice is made.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) &&    \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define TG_SIMD_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TG_SIMD_CLONES
#endif

#endif
