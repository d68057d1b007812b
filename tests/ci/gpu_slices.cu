/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenACC does of configuration interaction, on a GPU: test_slices.c and
 * tests/eigen/test_vectors_acc.c once more, without cmocka. Exits with 77 where the module acc is
 * missing or finds no GPU.
 *
 *   ci_gpu_slices                              the tests
 *   ci_gpu_slices time FILE PROTONS NEUTRONS   how long a nucleus's matrix takes to make, and to
 *                                              multiply by */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <vector>

#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* which C leaves zero */
#include "base/timer.h"
extern "C" {
#include "ci/problem.h"
#include "ci/product_fly.h"
#include "ci/slices.h"
}

extern "C" int tg_test_slices_main(void);
extern "C" int tg_test_vectors_acc_main(void);

/* A product returns when it is done: the time of a call, with what it takes to start it. */
static double median_ms(tg_ci_slices* s, int k, const double* x, double* y, size_t ld) {
  enum { REPEATS = 15 };
  double ms[REPEATS];
  for (int r = -2; r < REPEATS; r++) {
    const double begin = tg_time_now();
    if (tg_ci_slices_apply(s, k, x, ld, y, ld) != TG_OK) return -1;
    if (r >= 0) ms[r] = 1e3 * (tg_time_now() - begin);
  }
  std::sort(ms, ms + REPEATS);
  return ms[REPEATS / 2];
}

static bool time_matrix(const tg_ci_slices_backend* b, const tg_ci_fly* fly, bool plain) {
  const tg_motif_memory* memory = b->motifs->memory;
  const size_t n = (size_t)fly->space->dimension;
  std::vector<double> here(TG_CI_SLICES_WIDTH * n);
  for (size_t i = 0; i < here.size(); i++) here[i] = 1e-3 * (double)(i % 1999) - 1;
  tg_ci_slices_params p;
  memset(&p, 0, sizeof p);
  p.fly = fly;
  p.plain = plain;
  tg_ci_slices* s = NULL;
  void *x = NULL, *y = NULL;
  if (tg_ci_slices_create(b, &p, &s) != TG_OK ||
      memory->allocate(here.size() * sizeof(double), "x", &x) != TG_OK ||
      memory->allocate(here.size() * sizeof(double), "y", &y) != TG_OK ||
      memory->upload(x, here.data(), here.size() * sizeof(double)) != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return false;
  }
  const tg_ci_slices_facts f = tg_ci_slices_query(s);
  printf(
      "%-6s tables %.3f s, counted in %.3f s, filled in %.3f s; %.3f GB; %.4g elements, %.1f %% "
      "coded by %llu values, padding %.1f %%\n",
      plain ? "plain" : "coded", f.flat_s, f.count_s, f.fill_s, 1e-9 * (double)f.bytes,
      (double)f.elements, 100 * (double)f.coded / (double)std::max<uint64_t>(f.elements, 1),
      (unsigned long long)f.values, 100 * ((double)f.places / (double)f.elements - 1));
  for (int k = 1; k <= TG_CI_SLICES_WIDTH; k *= 2) {
    const double ms = median_ms(s, k, (const double*)x, (double*)y, n);
    printf("  %d vectors: %.4f ms a product, %.3g elements/s, %.0f GB/s of the matrix\n", k, ms,
           k * (double)f.elements / ms * 1e3, 1e-6 * (double)f.product_bytes / ms);
    fflush(stdout);
  }
  memory->release(x);
  memory->release(y);
  tg_ci_slices_destroy(&s);
  return true;
}

static int time_nucleus(const tg_ci_slices_backend* b, char** argv) {
  tg_ci_source source;
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space = NULL;
  tg_ci_fly fly;
  memset(&source, 0, sizeof source);
  source.path = argv[2];
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = atoi(argv[3]);
  params.neutrons = atoi(argv[4]);
  const double begin = tg_time_now();
  if (tg_ci_input_read(&source, 1, &input) != TG_OK ||
      tg_ci_problem_make(&input, &params, &problem) != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return 2;
  }
  tg_ci_space_params of = problem.space;
  of.symmetry = (int)problem.sectors[0];
  if (tg_ci_space_make(problem.h, &of, &space) != TG_OK ||
      tg_ci_fly_tables(problem.h, space, 8, false, &fly) != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return 2;
  }
  printf("%s, %d + %d: %llu states, %.4g pairs; tables on the host in %.3f s\n", argv[2],
         params.protons, params.neutrons, (unsigned long long)space->dimension, (double)fly.pairs,
         tg_time_now() - begin);
  int wrong = 0;
  for (int plain = 0; plain < 2; plain++) wrong += !time_matrix(b, &fly, plain != 0);
  tg_ci_fly_free(&fly);
  tg_ci_space_free(space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return wrong ? 1 : 0;
}

int main(int argc, char** argv) {
  tg_ci_slices_backend acc;
  if (tg_ci_slices_find("acc", &acc) != TG_OK) {
    printf("skipped: %s\n", tg_last_error());
    return 77;
  }
  if (acc.motifs->host) {
    printf("skipped: the module acc finds no GPU (throng info)\n");
    return 77;
  }
  if (argc >= 5 && strcmp(argv[1], "time") == 0) return time_nucleus(&acc, argv);
  const int failed = tg_test_vectors_acc_main() + tg_test_slices_main();
  printf("%d failed\n", failed);
  return failed ? 1 : 0;
}
