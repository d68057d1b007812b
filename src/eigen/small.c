/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen/small.h"

#include <math.h>

#ifdef TG_HAVE_LAPACK
#include <dlfcn.h>
#include <lapacke.h>
#include <string.h>

/* OpenBLAS shares even a matrix of 100 x 100 out among threads that wait for each other busily: on
 * a machine with anything else to do that takes 50 times as long, and the bits come to depend on
 * it. So one thread while we are at it, where this is the BLAS at hand. Returns the number before;
 * 0: another BLAS. */
static int set_blas_threads(int count) {
  int (*get)(void);
  void (*set)(int);
  void* const getter = dlsym(RTLD_DEFAULT, "openblas_get_num_threads");
  void* const setter = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (!getter || !setter || count < 1) return 0;
  memcpy(&get, &getter, sizeof get); /* ISO C knows no cast from an object to a function */
  memcpy(&set, &setter, sizeof set);
  const int before = get();
  if (before != count) set(count);
  return before;
}
#endif

tg_status tg_small_eigen(int p, double* a, int lda, double* values) {
#ifdef TG_HAVE_LAPACK
  if (p == 0) return TG_OK;
  const int threads = set_blas_threads(1);
  const int info = LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'V', 'U', p, a, lda, values);
  set_blas_threads(threads);
  if (info != 0)
    return tg_fail(TG_ERR_NUMERICS,
                   "LAPACK's dsyevd gave up on the %d x %d matrix of the basis (info %d); check "
                   "what the operator gives",
                   p, p, info);
  /* the sign of a vector is LAPACK's choice: take the one whose largest element is positive */
  for (int i = 0; i < p; i++) {
    double* s = a + (long)i * lda;
    int largest = 0;
    for (int k = 1; k < p; k++)
      if (fabs(s[k]) > fabs(s[largest])) largest = k;
    if (s[largest] < 0)
      for (int k = 0; k < p; k++) s[k] = -s[k];
  }
  return TG_OK;
#else
  (void)p, (void)a, (void)lda, (void)values;
  return tg_fail(TG_ERR_MACHINE,
                 "this throng was built without LAPACK, which the eigen-solver needs; install "
                 "liblapacke-dev and build again");
#endif
}
