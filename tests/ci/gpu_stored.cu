/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix on a GPU against the host's product: coded, plain, with floats, half of it,
 * some of its rows, by both builders; the same bits again.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped).
 *
 *   gpu_stored [quick]
 *       the tests; quick: few, short enough for compute-sanitizer
 *   gpu_stored time FILE PROTONS NEUTRONS [NMAX [KIND [PES]]]
 *       how long a nucleus's matrix takes to make and to multiply by; NMAX 0: no limit; PES: of the
 *       rows of the first of so many, with their columns together and apart */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/cuda/check.h"
#include "device/device.h"
#include "halo/gpu_check.cuh"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* which C leaves zero */
#include "base/timer.h"
extern "C" {
#include "ci/device_fly.h"
#include "ci/device_mixed.h"
#include "ci/device_stored.h"
#include "ci/distribution.h"
#include "ci/problem.h"
#include "ci/product_fly.h"
#include "ci/shells.h"
}

/* A space with its Hamiltonian. */
typedef struct scene {
  const char* name;
  tg_ci_hamiltonian* h;
  tg_ci_space* space;
  tg_ci_fly fly;
} scene;

static void scene_free(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_hamiltonian_free(s->h);
}

static bool scene_make(const char* name, size_t orbitals, const tg_ci_orbital* list,
                       const tg_ci_space_params* params, scene* s) {
  memset(s, 0, sizeof *s);
  s->name = name;
  RUN(tg_ci_hamiltonian_create(orbitals, list, orbitals, list, &s->h));
  RUN(shell_fill(s->h, 11));
  RUN(tg_ci_space_make(s->h, params, &s->space));
  RUN(tg_ci_fly_make(s->h, s->space, 4, &s->fly));
  return true;
}

static bool on_device(size_t count, double** out) {
  EXPECT(cudaMalloc((void**)out, count * sizeof **out) == cudaSuccess);
  return true;
}

typedef tg_status product(tg_ci_device_stored*, int, const double*, size_t, double*, size_t);

/* x: [columns, ld] of the space, y: of the rows; from host to host. */
static bool multiply(tg_ci_device_stored* s, product* apply, int k, const std::vector<double>& x,
                     size_t ldx, std::vector<double>* y, size_t ldy) {
  double *dx, *dy;
  if (!on_device(x.size(), &dx) || !on_device(y->size(), &dy)) return false;
  cudaMemcpy(dx, x.data(), x.size() * sizeof *dx, cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y->data(), y->size() * sizeof *dy, cudaMemcpyHostToDevice);
  const tg_status status = apply(s, k, dx, ldx, dy, ldy);
  const cudaError_t error =
      cudaMemcpy(y->data(), dy, y->size() * sizeof *dy, cudaMemcpyDeviceToHost);
  cudaFree(dx);
  cudaFree(dy);
  RUN(status);
  EXPECT(error == cudaSuccess);
  return true;
}

enum { MOST = TG_CI_DEVICE_STORED_WIDTH + 1 };
static const double UNTOUCHED = 1e300;

/* In two steps, the first of which meets no numbers but in the columns that are kept apart. */
static bool multiply_in_steps(tg_ci_device_stored* s, const tg_ci_device_rows* own, int k,
                              const std::vector<double>& x, size_t ldx, std::vector<double>* y,
                              size_t ldy) {
  std::vector<double> here(x.size(), NAN);
  for (size_t v = 0; own && v < (size_t)k; v++)
    memcpy(&here[v * ldx + own->first], &x[v * ldx + own->first],
           (own->end - own->first) * sizeof(double));
  return multiply(s, tg_ci_device_stored_apply_local, k, here, ldx, y, ldy) &&
         multiply(s, tg_ci_device_stored_apply_rest, k, x, ldx, y, ldy);
}

/* Products of 1 ... MOST vectors, against the host's; twice the same bits, alone or together, at
 * once or in steps. */
static bool check_products(const scene* s, tg_ci_device_stored* stored, uint64_t first,
                           uint64_t end, const tg_ci_device_rows* own) {
  tg_ci_device_stored_facts facts;
  tg_ci_device_stored_query(stored, &facts);
  const size_t n = (size_t)s->space->dimension, rows = (size_t)(end - first);
  const size_t ldx = n + 3, ldy = rows + 5;
  std::vector<double> x(MOST * ldx), expected, alone;
  expected.resize(MOST * n);
  double largest = 0, norm = facts.norm;
  for (size_t i = 0; i < x.size(); i++) x[i] = 2 * uniform(3, i) - 1;
  for (int v = 0; v < MOST; v++)
    RUN(tg_ci_fly_apply(&s->fly, 4, x.data() + v * ldx, expected.data() + v * n));
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(s->fly.diagonal[i]));
  /* sums of |elements| of a row times |x| <= 1, in another order; a float is rounded once */
  const double terms = (double)facts.elements / (double)rows + 100;
  const double tolerance = (norm + largest) * terms * DBL_EPSILON + facts.rounding * (1 + 1e-9);
  for (int k = 1; k <= MOST; k++)
    for (int again = 0; again < 3; again++) {
      std::vector<double> y(MOST * ldy, UNTOUCHED);
      if (again < 2) EXPECT(multiply(stored, tg_ci_device_stored_apply, k, x, ldx, &y, ldy));
      if (again == 2) EXPECT(multiply_in_steps(stored, own, k, x, ldx, &y, ldy));
      for (int v = 0; v < MOST; v++)
        for (size_t i = 0; i < ldy; i++) {
          const double here = y[v * ldy + i];
          if (i >= rows || v >= k) {
            EXPECT(here == UNTOUCHED);
          } else {
            EXPECT(fabs(here - expected[v * n + first + i]) <= tolerance);
          }
        }
      if (k == 1) {
        if (again) EXPECT(memcmp(alone.data(), y.data(), rows * sizeof(double)) == 0);
        alone = y;
      } else {
        EXPECT(memcmp(alone.data(), y.data(), rows * sizeof(double)) == 0);
      }
    }
  std::vector<double> d(rows);
  double* device;
  if (!on_device(rows, &device)) return false;
  RUN(tg_ci_device_stored_diagonal(stored, device));
  EXPECT(cudaMemcpy(d.data(), device, rows * sizeof *device, cudaMemcpyDeviceToHost) ==
         cudaSuccess);
  cudaFree(device);
  for (size_t i = 0; i < rows; i++)
    EXPECT(fabs(d[i] - s->fly.diagonal[first + i]) <= 64 * DBL_EPSILON * (largest + 1));
  return true;
}

typedef struct variant {
  tg_ci_device_stored_builder builder;
  bool half, floats, plain;
  bool part; /* some rows only */
} variant;

static bool check_variant(const scene* s, const variant* v) {
  tg_ci_device_stored_params p;
  memset(&p, 0, sizeof p);
  p.fly = &s->fly;
  p.h = s->h;
  p.builder = v->builder;
  p.half = v->half;
  p.float_elements = v->floats;
  p.plain = v->plain;
  tg_ci_device_rows rows = {0, s->space->dimension};
  if (v->part) { /* from the second block's second row to somewhere in the middle of the last */
    const tg_ci_block *low = &s->space->blocks[s->space->block_count > 1],
                      *high = &s->space->blocks[s->space->block_count - 1];
    rows.first = low->offset + (low->rows > 1 ? low->columns : 0);
    rows.end = high->offset + (high->rows + 1) / 2 * high->columns;
    if (rows.first >= rows.end) return true;
    p.rows = &rows;
  }
  tg_ci_device_stored* stored = NULL;
  RUN(tg_ci_device_stored_create(&p, &stored));
  tg_ci_device_stored_facts facts;
  tg_ci_device_stored_query(stored, &facts);
  uint64_t making;
  bool right = true;
  right &= expect(facts.bytes <= tg_ci_device_stored_bytes(&p, &making), "bytes were foretold");
  right &= expect(facts.rows == rows.end - rows.first, "rows");
  /* elements of random numbers are not zero, but where no number was given */
  if (!v->part)
    right &= expect(facts.elements <= (s->fly.pairs - s->space->dimension) / (v->half ? 2 : 1),
                    "no more elements than pairs");
  right &= expect(v->floats || facts.rounding == 0, "doubles are not rounded");
  right &= expect(!v->floats || facts.rounding <= ldexp(facts.norm, -24), "floats are");
  right &= check_products(s, stored, rows.first, rows.end, NULL);
  tg_ci_device_stored_destroy(&stored);
  return right && expect(stored == NULL, "destroyed");
}

/* The rows of a part, or one row of the block with fewest columns: of one column it has no others
 * that are its own. */
static tg_ci_device_rows some_rows(const tg_ci_space* space, bool one) {
  const tg_ci_block *low = &space->blocks[space->block_count > 1],
                    *high = &space->blocks[space->block_count - 1];
  tg_ci_device_rows rows = {low->offset + (low->rows > 1 ? low->columns : 0),
                            high->offset + (high->rows + 1) / 2 * high->columns};
  for (size_t n = 0; one && n < space->block_count; n++)
    if (space->blocks[n].columns < low->columns) low = &space->blocks[n];
  if (one || rows.first >= rows.end) rows = {low->offset, low->offset + low->columns};
  return rows;
}

/* As many elements as without, and the same products, of a part of the rows and of one: with their
 * columns kept apart, or all, so that there are no others. */
static bool check_apart(const scene* s, const variant* v, bool one) {
  const tg_ci_device_rows rows = some_rows(s->space, one), all = {0, s->space->dimension};
  const tg_ci_device_rows* const owns[] = {NULL, &rows, &all};
  tg_ci_device_stored_facts first = {}, facts;
  tg_ci_device_stored_params p;
  memset(&p, 0, sizeof p);
  p.fly = &s->fly;
  p.h = s->h;
  p.builder = v->builder;
  p.float_elements = v->floats;
  p.plain = v->plain;
  p.rows = &rows;
  for (const tg_ci_device_rows* own : owns) {
    tg_ci_device_stored* stored = NULL;
    p.own = own;
    RUN(tg_ci_device_stored_create(&p, &stored));
    tg_ci_device_stored_query(stored, &facts);
    if (!own) first = facts;
    EXPECT(facts.bytes <= tg_ci_device_stored_bytes(&p, NULL));
    EXPECT(facts.elements == first.elements && facts.coded == first.coded);
    EXPECT(facts.norm >= first.norm * (1 - 1e-12) && facts.norm <= first.norm * 2);
    EXPECT(check_products(s, stored, rows.first, rows.end, own));
    tg_ci_device_stored_destroy(&stored);
  }
  return true;
}

/* A row that is cut, and rows that are not among the columns. */
static bool check_refused(const scene* s) {
  const tg_ci_device_rows rows = some_rows(s->space, false);
  const tg_ci_block* last = &s->space->blocks[s->space->block_count - 1];
  const tg_ci_device_rows wrong[] = {{rows.first, rows.end - 1},
                                     {rows.end, s->space->dimension + 1},
                                     {0, last->offset + last->columns * last->rows - 1}};
  tg_ci_device_stored_params p;
  memset(&p, 0, sizeof p);
  p.fly = &s->fly;
  p.rows = &rows;
  for (const tg_ci_device_rows& own : wrong) {
    tg_ci_device_stored* stored = NULL;
    if (last->columns < 2 && own.first == 0) continue; /* that is no cut */
    p.own = &own;
    EXPECT(tg_ci_device_stored_create(&p, &stored) == TG_ERR_INPUT && stored == NULL);
  }
  return true;
}

/* Memory for all, for about half, for the factorised product's tables alone, and for nothing. */
static bool check_mixed(const scene* s) {
  const size_t n = (size_t)s->space->dimension;
  tg_ci_device_stored_params p;
  memset(&p, 0, sizeof p);
  p.fly = &s->fly;
  p.plain = true;
  uint64_t making;
  const uint64_t all = tg_ci_device_stored_bytes(&p, &making) + making,
                 tables = tg_ci_device_fly_bytes(&s->fly);
  std::vector<double> x(2 * n), expected(2 * n), d(n);
  for (size_t i = 0; i < x.size(); i++) x[i] = 2 * uniform(4, i) - 1;
  for (int v = 0; v < 2; v++) RUN(tg_ci_fly_apply(&s->fly, 4, &x[v * n], &expected[v * n]));
  double largest = 0;
  for (double e : expected) largest = fmax(largest, fabs(e));
  const double shares[] = {1, 0.5, 0};
  for (double share : shares) {
    tg_ci_device_mixed* m = NULL;
    tg_ci_device_mixed_facts f;
    RUN(tg_ci_device_mixed_create(&p, share == 1 ? all : tables + (uint64_t)(share * (double)all),
                                  &m));
    tg_ci_device_mixed_query(m, &f);
    EXPECT(f.stored_rows + f.fly_rows == n);
    EXPECT(share != 1 || f.fly_rows == 0);
    EXPECT(share != 0 || f.stored_rows == 0);
    EXPECT(share != 0.5 || n < 10000 || (f.stored_rows > 0 && f.fly_rows > 0));
    double *dx, *dy;
    if (!on_device(2 * n, &dx) || !on_device(2 * n, &dy)) return false;
    std::vector<double> y(2 * n);
    cudaMemcpy(dx, x.data(), x.size() * sizeof *dx, cudaMemcpyHostToDevice);
    RUN(tg_ci_device_mixed_apply(m, 2, dx, n, dy, n));
    EXPECT(cudaMemcpy(y.data(), dy, y.size() * sizeof *dy, cudaMemcpyDeviceToHost) == cudaSuccess);
    RUN(tg_ci_device_mixed_diagonal(m, dy));
    EXPECT(cudaMemcpy(d.data(), dy, n * sizeof *dy, cudaMemcpyDeviceToHost) == cudaSuccess);
    for (size_t i = 0; i < 2 * n; i++)
      EXPECT(fabs(y[i] - expected[i]) <= 64 * 1000 * DBL_EPSILON * largest);
    for (size_t i = 0; i < n; i++)
      EXPECT(fabs(d[i] - s->fly.diagonal[i]) <= 64 * DBL_EPSILON * (fabs(d[i]) + 100));
    cudaFree(dx);
    cudaFree(dy);
    tg_ci_device_mixed_destroy(&m);
    EXPECT(m == NULL);
  }
  tg_ci_device_mixed* none = NULL;
  EXPECT(tg_ci_device_mixed_create(&p, 0, &none) == TG_ERR_MACHINE && none == NULL);
  return true;
}

static void check_scene(const scene* s) {
  static const variant variants[] = {
      {TG_CI_DEVICE_BY_JUMPS, false, false, false, false},
      {TG_CI_DEVICE_BY_JUMPS, false, false, true, false},
      {TG_CI_DEVICE_BY_JUMPS, false, true, false, false},
      {TG_CI_DEVICE_BY_JUMPS, false, true, true, false},
      {TG_CI_DEVICE_BY_JUMPS, true, false, false, false},
      {TG_CI_DEVICE_BY_JUMPS, true, false, true, false},
      {TG_CI_DEVICE_BY_JUMPS, true, true, true, false},
      {TG_CI_DEVICE_BY_JUMPS, false, false, false, true},
      {TG_CI_DEVICE_BY_JUMPS, false, true, true, true},
      {TG_CI_DEVICE_BY_MOTIFS, false, false, true, false},
      {TG_CI_DEVICE_BY_MOTIFS, true, false, true, false},
      {TG_CI_DEVICE_BY_MOTIFS, false, true, true, true},
  };
  for (const variant& v : variants)
    report(check_variant(s, &v),
           std::string(s->name) + (v.builder == TG_CI_DEVICE_BY_MOTIFS ? ", motifs" : ", jumps") +
               (v.half ? ", half" : "") + (v.floats ? ", floats" : "") +
               (v.plain ? ", plain" : "") + (v.part ? ", part" : ""));
  static const variant apart[] = {{TG_CI_DEVICE_BY_JUMPS, false, false, false, true},
                                  {TG_CI_DEVICE_BY_JUMPS, false, true, true, true},
                                  {TG_CI_DEVICE_BY_MOTIFS, false, false, true, true}};
  for (const variant& v : apart)
    for (bool one : {false, true})
      report(check_apart(s, &v, one),
             std::string(s->name) + (v.builder == TG_CI_DEVICE_BY_MOTIFS ? ", motifs" : ", jumps") +
                 (v.floats ? ", floats" : "") + (one ? ", one row" : ", part") + ", columns apart");
  report(check_refused(s), std::string(s->name) + ", columns that are refused");
  report(check_mixed(s), std::string(s->name) + ", mixed");
}

static tg_ci_space_params limited(int a, int b, int two_m, int weight_most) {
  tg_ci_space_params p = space_of(a, b, two_m);
  p.weight_most = weight_most;
  return p;
}

static void check_all(bool quick) {
  tg_ci_orbital o[128];
  scene s;
  size_t n = shell_sd(o);
  struct {
    const char* name;
    tg_ci_space_params params;
  } sd[] = {{"sd, 2 + 2", space_of(2, 2, 0)},
            {"sd, 3 + 4", space_of(3, 4, 1)},
            {"sd, 4 + 0", space_of(4, 0, 0)},
            {"sd, 0 + 5", space_of(0, 5, 1)},
            {"sd, 1 + 1, one state", space_of(1, 1, 10)}};
  for (auto& c : sd) {
    if (scene_make(c.name, n, o, &c.params, &s))
      check_scene(&s);
    else
      report(false, c.name);
    scene_free(&s);
    if (quick) return;
  }
  n = shell_pf(o);
  const tg_ci_space_params pf = space_of(2, 2, 0);
  if (scene_make("pf, 2 + 2", n, o, &pf, &s))
    check_scene(&s);
  else
    report(false, "pf");
  scene_free(&s);
  n = shell_oscillator(o, 3);
  tg_ci_space_params truncated = limited(2, 2, 0, 5);
  truncated.symmetry = 0;
  if (scene_make("oscillator shells, 2 + 2, weight 5", n, o, &truncated, &s))
    check_scene(&s);
  else
    report(false, "oscillator shells");
  scene_free(&s);
}

/* ---- times ---- */

static double median_ms(tg_ci_device_stored* s, product* apply, int k, const double* x, double* y,
                        size_t ld) {
  enum { REPEATS = 9 };
  float ms[REPEATS];
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  for (int r = -2; r < REPEATS; r++) {
    cudaEventRecord(begin);
    if (apply(s, k, x, ld, y, ld) != TG_OK) return NAN;
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    if (r >= 0) cudaEventElapsedTime(&ms[r], begin, end);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  std::sort(ms, ms + REPEATS);
  return ms[REPEATS / 2];
}

static bool time_variant(const scene* s, const char* name, const variant* v,
                         const tg_ci_device_rows* rows, const tg_ci_device_rows* own) {
  tg_ci_device_stored_params p;
  memset(&p, 0, sizeof p);
  p.fly = &s->fly;
  p.h = s->h;
  p.builder = v->builder;
  p.half = v->half;
  p.float_elements = v->floats;
  p.plain = v->plain;
  p.rows = rows;
  p.own = own;
  tg_ci_device_stored* stored = NULL;
  tg_ci_device_stored_facts f;
  const size_t n = (size_t)s->space->dimension;
  double *x, *y;
  std::vector<double> host(4 * n), expected(n);
  for (size_t i = 0; i < host.size(); i++) host[i] = 2 * uniform(3, i) - 1;
  RUN(tg_ci_device_stored_create(&p, &stored));
  if (!on_device(4 * n, &x) || !on_device(4 * n, &y)) return false;
  cudaMemcpy(x, host.data(), host.size() * sizeof *x, cudaMemcpyHostToDevice);
  tg_ci_device_stored_query(stored, &f);
  printf(
      "%-24s made in %.3f s, %.3f GB (foretold %.3f); %.4g elements, %.1f %% coded by %llu "
      "values, padding %.1f %%; floats may move levels by %.2g\n",
      name, f.seconds, 1e-9 * (double)f.bytes, 1e-9 * (double)tg_ci_device_stored_bytes(&p, NULL),
      (double)f.elements, 100 * (double)f.coded / (double)std::max<uint64_t>(f.elements, 1),
      (unsigned long long)f.values, 100 * (double)f.padding / (double)f.elements, f.rounding);
  for (int k = 1; k <= (v->half ? 1 : 4); k *= 2) {
    const double ms = median_ms(stored, tg_ci_device_stored_apply, k, x, y, n);
    printf("  %d vectors: %.4f ms a product, %.3g elements/s, %.0f GB/s of the matrix\n", k, ms,
           k * (double)f.elements * (v->half ? 2 : 1) / ms * 1e3,
           1e-6 * (double)f.product_bytes / ms);
    if (own)
      printf("    of its own columns %.4f ms, the rest %.4f ms\n",
             median_ms(stored, tg_ci_device_stored_apply_local, k, x, y, n),
             median_ms(stored, tg_ci_device_stored_apply_rest, k, x, y, n));
    fflush(stdout);
  }
  RUN(tg_ci_device_stored_apply(stored, 1, x, n, y, n));
  const size_t made = (size_t)f.rows;
  cudaMemcpy(expected.data(), y, made * sizeof *y, cudaMemcpyDeviceToHost);
  double norm = 0, sum = 0;
  for (size_t i = 0; i < made; i++) {
    norm += expected[i] * expected[i];
    sum += expected[i] * (i % 3 == 0);
  }
  printf("  |y| = %.15g, and a sum %.15g\n", sqrt(norm), sum);
  cudaFree(x);
  cudaFree(y);
  tg_ci_device_stored_destroy(&stored);
  return true;
}

static int time_nucleus(int argc, char** argv) {
  tg_ci_source source;
  tg_ci_input input;
  tg_ci_problem problem;
  scene s;
  memset(&source, 0, sizeof source);
  memset(&problem, 0, sizeof problem);
  memset(&s, 0, sizeof s);
  source.path = argv[2];
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = atoi(argv[3]);
  params.neutrons = atoi(argv[4]);
  if (argc > 5 && atoi(argv[5]) > 0) params.nmax = atoi(argv[5]);
  if (tg_ci_input_read(&source, 1, &input) != TG_OK ||
      tg_ci_problem_make(&input, &params, &problem) != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return 2;
  }
  tg_ci_space_params space = problem.space;
  space.symmetry = (int)problem.sectors[0];
  s.h = problem.h;
  const double begin = tg_time_now();
  if (tg_ci_space_make(s.h, &space, &s.space) != TG_OK ||
      tg_ci_fly_tables(s.h, s.space, 16, false, &s.fly) != TG_OK) {
    fprintf(stderr, "%s\n", tg_last_error());
    return 2;
  }
  printf("%s, %d + %d: %llu states, %.4g pairs; tables on the host in %.3f s\n", argv[2],
         params.protons, params.neutrons, (unsigned long long)s.space->dimension,
         (double)s.fly.pairs, tg_time_now() - begin);
  static const struct {
    const char* name;
    variant v;
  } variants[] = {
      {"coded", {TG_CI_DEVICE_BY_JUMPS, false, false, false, false}},
      {"coded, floats", {TG_CI_DEVICE_BY_JUMPS, false, true, false, false}},
      {"plain", {TG_CI_DEVICE_BY_JUMPS, false, false, true, false}},
      {"plain, floats", {TG_CI_DEVICE_BY_JUMPS, false, true, true, false}},
      {"coded, half", {TG_CI_DEVICE_BY_JUMPS, true, false, false, false}},
      {"plain, by motifs", {TG_CI_DEVICE_BY_MOTIFS, false, false, true, false}},
  };
  int wrong = 0;
  const int pes = argc > 7 ? atoi(argv[7]) : 1;
  tg_ci_distribution d = {};
  if (tg_ci_distribution_make(&s.fly, pes, &d) != TG_OK) return 2;
  const tg_ci_device_rows rows = {d.first[0], d.first[1]};
  for (const auto& v : variants) {
    if (argc > 6 && strcmp(argv[6], v.name) != 0) continue;
    wrong += !time_variant(&s, v.name, &v.v, pes > 1 ? &rows : NULL, NULL);
    if (pes > 1) wrong += !time_variant(&s, "  apart", &v.v, &rows, &rows);
  }
  tg_ci_distribution_free(&d);
  tg_ci_fly_free(&s.fly);
  tg_ci_space_free(s.space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return wrong ? 1 : 0;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (argc >= 5 && strcmp(argv[1], "time") == 0) return time_nucleus(argc, argv);
  check_all(argc > 1 && strcmp(argv[1], "quick") == 0);
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
