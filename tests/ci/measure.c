/* SPDX-License-Identifier: Apache-2.0 */
/* How many matrix elements a second does H x take, stored and on the fly, for 1, 2 and 4 vectors at
 * once, on one thread and on two?
 *
 *   ci_measure [case ...]
 *
 * Random interactions of the right symmetry in spaces of a physicist's size. The model: fly does
 * one lane of a fused multiply-add an element, from the second-level cache; stored reads 10 bytes
 * for two elements (both triangles), so memory's bandwidth (the STREAM triad, printed first) is its
 * limit. Each product is the best of several after one to warm up; its result is checked against
 * the other way. `cpu` is processor time: on a machine that others use, wall time says less. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/timer.h"
#include "ci/omp/kernels.h"
#include "ci/operator.h"
#include "ci/shells.h"

enum { VECTORS = 4 }; /* at once: 1, 2, 4 */

typedef struct workload {
  const char* name;
  size_t (*shell)(tg_ci_orbital*);
  int a, b, two_m, symmetry, weight_most, repeats;
  bool store;
} workload;

static void must(tg_status status) {
  if (status == TG_OK) return;
  fprintf(stderr, "%s\n", tg_last_error());
  exit(status);
}

static double* vector(size_t n) {
  double* x = NULL;
  must(TG_ALLOCATE(n, "vector", &x));
  return x;
}

static double cpu_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

/* GB/s, of arrays of 160 MB each. */
static double triad(int threads) {
  const size_t n = 20000000;
  double *a = vector(n), *b = vector(n), *c = vector(n), best = 0;
  for (int r = 0; r < 6; r++) {
    const double start = tg_time_now();
#pragma omp parallel for num_threads(threads)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
    const double rate = 24e-9 * (double)n / (tg_time_now() - start);
    if (rate > best) best = rate;
  }
  tg_free(a);
  tg_free(b);
  tg_free(c);
  return best;
}

static size_t oscillator_5(tg_ci_orbital* o) { return shell_oscillator(o, 5); }

/* Like water in 6-31G: 13 orbitals, of C2v. */
static size_t water(tg_ci_orbital* o) {
  static const uint8_t labels[13] = {0, 0, 0, 0, 0, 0, 0, 2, 2, 3, 3, 3, 3};
  for (size_t i = 0; i < 13; i++)
    o[i] = (tg_ci_orbital){.symmetry = labels[i], .shell = (uint16_t)i};
  return 13;
}

static void one_way(const workload* w, const tg_ci_hamiltonian* h, const tg_ci_space* space,
                    tg_ci_storage storage, const double* x, double* y) {
  for (int threads = 1; threads <= 2; threads++) {
    tg_ci_operator* op = NULL;
    const tg_ci_operator_params params = {.storage = storage, .threads = threads};
    const double start = tg_time_now(), start_cpu = cpu_now();
    must(tg_ci_operator_create(h, space, &params, &op));
    const double made = tg_time_now() - start, made_cpu = cpu_now() - start_cpu;
    const tg_ci_operator_facts f = tg_ci_operator_facts_of(op);
    printf("  %-6s %d threads: made in %.3f s (cpu %.3f), %.1f MB\n", tg_ci_storage_name(storage),
           threads, made, made_cpu, 1e-6 * (double)(f.tables + (f.stored ? f.stored_bytes : 0)));
    for (int k = 1; k <= VECTORS; k *= 2) {
      double wall = INFINITY, cpu = INFINITY;
      for (int r = 0; r <= w->repeats; r++) {
        const double t = tg_time_now(), c = cpu_now();
        must(tg_ci_operator_apply(op, k, x, y, (size_t)space->dimension));
        wall = fmin(wall, tg_time_now() - t);
        cpu = fmin(cpu, cpu_now() - c);
      }
      printf("         %d vectors: %.4f s (cpu %.4f): %.2e elements/s, %.2e a cpu second\n", k,
             wall, cpu, k * (double)f.pairs / wall, k * (double)f.pairs / cpu);
    }
    fflush(stdout);
    tg_ci_operator_free(op);
  }
}

static void measure(const workload* w) {
  tg_ci_orbital o[256];
  const size_t n = w->shell(o);
  tg_ci_hamiltonian* h = NULL;
  must(tg_ci_hamiltonian_create(n, o, n, o, &h));
  must(shell_fill(h, 3));
  const tg_ci_space_params params = {
      .limits = {{.particles = w->a, .weight_most = -1}, {.particles = w->b, .weight_most = -1}},
      .two_m = w->two_m,
      .symmetry = w->symmetry,
      .weight_most = w->weight_most};
  tg_ci_space* space = NULL;
  must(tg_ci_space_make(h, &params, &space));
  const size_t size = (size_t)space->dimension;
  double *x = vector(VECTORS * size), *fly = vector(VECTORS * size);
  double* stored = vector(VECTORS * size);
  for (size_t i = 0; i < VECTORS * size; i++) x[i] = shell_random(1, i);
  tg_ci_operator* op = NULL;
  const tg_ci_operator_params automatic = {.threads = 1};
  must(tg_ci_operator_create(h, space, &automatic, &op));
  const tg_ci_operator_facts f = tg_ci_operator_facts_of(op);
  printf("%s: %zu states, %llu pairs, %.0f %% of them in lanes; auto takes %s\n", w->name, size,
         (unsigned long long)f.pairs, 100 * (double)f.lane_pairs / (double)f.pairs,
         tg_ci_storage_name(f.storage));
  tg_ci_operator_free(op);
  one_way(w, h, space, TG_CI_STORAGE_FLY, x, fly);
  if (w->store) {
    one_way(w, h, space, TG_CI_STORAGE_STORED, x, stored);
    double largest = 0, difference = 0;
    for (size_t i = 0; i < VECTORS * size; i++) {
      largest = fmax(largest, fabs(fly[i]));
      difference = fmax(difference, fabs(fly[i] - stored[i]));
    }
    printf("  largest difference %.1e of %.1e\n", difference, largest);
    if (!(difference <= 1e-12 * largest)) exit(TG_ERR_NUMERICS);
  }
  tg_free(x);
  tg_free(fly);
  tg_free(stored);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

int main(int count, char** words) {
  static const workload all[] = {
      {"24Mg", shell_sd, 4, 4, 0, -1, -1, 20, true},
      {"28Si", shell_sd, 6, 6, 0, -1, -1, 20, true},
      {"46Ti", shell_pf, 2, 4, 0, -1, -1, 20, true},
      {"6Li-Nmax4", oscillator_5, 3, 3, 0, 0, 6, 20, true},
      {"H2O", water, 5, 5, 0, 0, -1, 3, false},
      {"48Cr", shell_pf, 4, 4, 0, -1, -1, 3, false},
      {"48Cr-stored", shell_pf, 4, 4, 0, -1, -1, 3, true},
  };
  printf("kernels %s; triad %.1f GB/s on one thread, %.1f on two\n", tg_ci_kernels_best()->name,
         triad(1), triad(2));
  const size_t cases = sizeof all / sizeof *all;
  for (size_t i = 0; i < cases; i++) {
    bool wanted = count < 2 && i + 1 < cases; /* the last takes 7 GB, so only when named */
    for (int a = 1; a < count; a++) wanted |= strcmp(words[a], all[i].name) == 0;
    if (wanted) measure(&all[i]);
  }
  return 0;
}
