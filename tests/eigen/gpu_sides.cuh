/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/gpu_sides.cuh  What tests of the eigen-solver's vectors share: the same columns on
 * the host and on a GPU. */
#ifndef TG_TESTS_EIGEN_GPU_SIDES_CUH
#define TG_TESTS_EIGEN_GPU_SIDES_CUH

#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/device.h"
#include "eigen/vectors.h"
#include "halo/gpu_check.cuh"

typedef std::vector<double> numbers;

/* Rows on both sides. */
typedef struct sides {
  tg_eigen_problem problem;
  tg_rows host, gpu;
} sides;

static bool open_sides(sides* s, size_t n, size_t first, int columns, int block) {
  memset(s, 0, sizeof *s);
  s->problem.n = n;
  s->problem.place = TG_EIGEN_CUDA;
  tg_rows_shape(n, &s->host);
  s->host.first = first;
  s->host.threads = 2;
  s->host.problem = &s->problem;
  s->gpu = s->host;
  s->host.ops = &tg_rows_host;
  RUN(tg_rows_cuda(&s->gpu.ops));
  RUN(s->host.ops->open(&s->host, (size_t)columns * (size_t)block, columns));
  RUN(s->gpu.ops->open(&s->gpu, (size_t)columns * (size_t)block, columns));
  return true;
}

static void close_sides(sides* s) {
  s->host.ops->close(&s->host);
  s->gpu.ops->close(&s->gpu);
}

/* Columns of numbers of size 1, zeros in the padding. */
static numbers columns_of(const sides* s, int count, uint64_t seed) {
  numbers all((size_t)count * s->host.ld, 0);
  for (int c = 0; c < count; c++)
    for (size_t i = 0; i < s->host.used; i++)
      all[(size_t)c * s->host.ld + i] = 2 * uniform(seed + (uint64_t)c, i) - 1;
  return all;
}

static bool upload(const sides* s, const numbers& from, double** out) {
  RUN(s->gpu.ops->allocate(&s->gpu, from.size() / s->gpu.ld, "test columns", out));
  RUN(tg_rows_put(&s->gpu, from.data(), from.size(), *out));
  return true;
}

[[maybe_unused]] static bool same(const sides* s, const double* there, const numbers& here,
                                  double allowed, const char* what) {
  numbers back(here.size());
  RUN(tg_rows_get(&s->gpu, there, back.size(), back.data()));
  for (size_t i = 0; i < here.size(); i++)
    if (!(fabs(back[i] - here[i]) <= allowed)) {
      printf("    %s: number %zu is %.17g, the host has %.17g\n", what, i, back[i], here[i]);
      return false;
    }
  return true;
}

/* Errors of a sum of n products of numbers up to 1: at most n eps in any order; roundings are as
 * good as random, so 8 sqrt(n) eps is generous. */
[[maybe_unused]] static double of_sums(double n) { return 8 * sqrt(n) * 2.3e-16; }

static double best_of(const tg_rows* rows, int repeats, void (*work)(const tg_rows*, double*, int),
                      double* basis, int p) {
  double best = 1e30;
  for (int r = 0; r < repeats; r++) {
    rows->ops->mark(rows, 0);
    work(rows, basis, p);
    rows->ops->mark(rows, 1);
    double norm;
    if (tg_rows_norms(rows, basis, 1, &norm) != TG_OK) printf("%s\n", tg_last_error());
    best = std::min(best, rows->ops->between(rows));
  }
  return best;
}

#endif
