/* SPDX-License-Identifier: Apache-2.0 */
/* What happens where a function that a parallel loop calls lacks its directive? The loop of a
 * filter in small. WITH: the directive is there; SAME: the function is in this unit, and not
 * inlined. */
#include <stdbool.h>

#ifdef SAME
static __attribute__((noinline)) bool few(int a, int b) { return (a ^ b) < 4; }
#else
#ifdef WITH
#ifdef _OPENACC
#pragma acc routine seq
#else
#pragma omp declare target
#endif
#endif
bool few(int a, int b);
#if defined WITH && !defined _OPENACC
#pragma omp end declare target
#endif
#endif

int count(int n, const int* row, const int* column);
int count(int n, const int* row, const int* column) {
  int found = 0;
#ifdef _OPENACC
#pragma acc parallel loop copyin(row[:n], column[:n]) reduction(+ : found)
#else
#pragma omp target teams distribute parallel for map(to : row[:n], column[:n]) reduction(+ : found)
#endif
  for (int i = 0; i < n; i++) found += few(row[i], column[i]) ? 1 : 0;
  return found;
}
