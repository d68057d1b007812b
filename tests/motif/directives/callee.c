/* SPDX-License-Identifier: Apache-2.0 */
/* The function that caller.c calls, in a unit of its own. WITH: with the directive that compiles it
 * for the device. */
#include <stdbool.h>

#ifdef WITH
#ifdef _OPENACC
#pragma acc routine seq
#else
#pragma omp declare target
#endif
#endif
bool few(int a, int b);
bool few(int a, int b) { return (a ^ b) < 4; }
#if defined WITH && !defined _OPENACC
#pragma omp end declare target
#endif
