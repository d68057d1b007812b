/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/ci_cpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/input.h"

/* Energies: two shell-model programs that agree to the digits given; a full CI program. Times of
 * peers: two cores (psi4: one) of a Xeon with AVX-512 that little else used, 2026. */
#define BIGSTICK "BIGSTICK, float vectors"
const tg_bench_ci_case tg_bench_ci_cases[] = {
    {"20Ne", "USDB, sd shell", NULL, "builtin:usdb", 2, 2, TG_CI_UNSET, TG_CI_UNSET, 10,
     TG_BENCH_CI_MOMENT, -40.47233, 5e-6, NULL, 0},
    {"24Mg", "USDB, sd shell", NULL, "builtin:usdb", 4, 4, TG_CI_UNSET, TG_CI_UNSET, 10,
     TG_BENCH_CI_SECONDS, -87.10445, 5e-6, BIGSTICK, 3.1},
    {"28Si", "USDB, sd shell", NULL, "builtin:usdb", 6, 6, TG_CI_UNSET, TG_CI_UNSET, 10,
     TG_BENCH_CI_SECONDS, -135.86073, 5e-6, BIGSTICK, 12.6},
    {"46Ti", "KB3G, pf shell", "snt/kb3g.snt", NULL, 2, 4, TG_CI_UNSET, TG_CI_UNSET, 10,
     TG_BENCH_CI_SECONDS, -71.22098, 5e-6, BIGSTICK, 12.7},
    {"6Li", "JISP16, no core, Nmax 4", "snt/jisp16_A6_Nmax4.snt", NULL, 3, 3, 4, TG_CI_UNSET, 10,
     TG_BENCH_CI_SECONDS, -24.45848, 5e-6, NULL, 0},
    {"H2O", "6-31G, irrep A1, full CI", "fcidump/H2O_6-31g.FCIDUMP", NULL, TG_CI_UNSET, TG_CI_UNSET,
     TG_CI_UNSET, 1, 1, TG_BENCH_CI_SECONDS, -76.120874345986, 1e-9, "psi4, one core", 10.6},
    {"48Cr", "KB3G, pf shell", "snt/kb3g.snt", NULL, 4, 4, TG_CI_UNSET, TG_CI_UNSET, 5,
     TG_BENCH_CI_MINUTES, -100.53485, 5e-6, BIGSTICK, 378},
    {"52Fe", "KB3G, pf shell", "snt/kb3g.snt", NULL, 6, 6, TG_CI_UNSET, TG_CI_UNSET, 2,
     TG_BENCH_CI_GPU, NAN, 0, NULL, 0},
    {"56Fe", "KB3G, pf shell", "snt/kb3g.snt", NULL, 6, 10, TG_CI_UNSET, TG_CI_UNSET, 1,
     TG_BENCH_CI_GPU, NAN, 0, NULL, 0},
    {"56Ni", "KB3G, pf shell", "snt/kb3g.snt", NULL, 8, 8, TG_CI_UNSET, TG_CI_UNSET, 1,
     TG_BENCH_CI_GPU, NAN, 0, "published, 8,192 cores", 145},
    {.name = NULL},
};

/* ---- memory ---- */

/* The kernel's mark of the largest resident size starts again from now. */
static bool reset_peak(void) {
  tg_memory_trim();
  FILE* file = fopen("/proc/self/clear_refs", "w");
  if (!file) return false;
  const bool written = fputs("5", file) >= 0;
  return (fclose(file) == 0) && written;
}

static double peak_now(void) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  double kib = 0;
  while (file && fgets(line, sizeof line, file))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtod(line + 6, NULL);
  if (file) fclose(file);
  return 1024 * kib;
}

/* ---- one run ---- */

static void note(const tg_ci_spectrum* spectrum, tg_bench_ci_result* out) {
  const tg_ci_sector* s = &spectrum->sectors[0];
  const tg_eigen_result* e = &s->result;
  out->need = s->need;
  out->block = e->block;
  out->basis = e->basis;
  out->restarts = e->restarts;
  out->products = e->products;
  out->passes = e->passes;
  out->setup_s = s->setup_s;
  out->solve_s = s->solve_s;
  out->labels_s = s->labels_s;
  out->total_s = spectrum->seconds;
  out->product_s = e->times.product;
  out->orthogonal_s = e->times.orthogonal;
  out->lowest = spectrum->levels[0].energy;
  out->complete = e->check.complete;
  out->error = e->errors[0];
}

static tg_status check(const tg_bench_ci_case* what, const tg_bench_ci_result* result,
                       const char* unit) {
  const double limit = what->exact + result->error;
  if (!(fabs(result->lowest - what->lowest) <= limit))
    return tg_fail(
        TG_ERR_NUMERICS,
        "%s: the lowest energy is %.8f %s, where %.8f was expected; is the input the one "
        "of this case (%s)?",
        what->name, result->lowest, unit, what->lowest, what->what);
  if (!result->complete) return tg_fail(TG_ERR_NUMERICS, "%s: a level may be missing", what->name);
  return TG_OK;
}

static int by_size(const void* p, const void* q) {
  const double a = *(const double*)p, b = *(const double*)q;
  return a < b ? -1 : a > b;
}

static tg_status measure_yardsticks(int threads, tg_bench_yardsticks* best) {
  tg_bench_yardsticks now;
  TG_TRY(tg_bench_yardsticks_measure(threads, &now));
  best->triad_bytes_per_s = fmax(best->triad_bytes_per_s, now.triad_bytes_per_s);
  best->pairs_per_s = fmax(best->pairs_per_s, now.pairs_per_s);
  return TG_OK;
}

static tg_status solve_all(const tg_bench_ci_case* what, const tg_bench_ci_params* params,
                           const tg_ci_problem* problem, tg_bench_ci_result* out) {
  double seconds[TG_BENCH_CI_REPEATS] = {0};
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  solve.states = what->states;
  solve.storage = params->storage;
  solve.memory = params->memory;
  solve.threads = params->threads;
  const bool peaks = reset_peak();
  for (int r = 0; r < params->repeats; r++) {
    tg_ci_spectrum spectrum = {0};
    tg_bench_ci_result now = *out;
    TG_TRY(tg_ci_solve(problem, &solve, &spectrum));
    note(&spectrum, &now);
    tg_ci_spectrum_free(&spectrum);
    TG_TRY(check(what, &now, tg_ci_problem_unit(problem)));
    seconds[r] = now.total_s;
    if (r == 0 || now.total_s < out->total_s) *out = now;
  }
  out->peak_bytes = peaks ? peak_now() : 0;
  qsort(seconds, (size_t)params->repeats, sizeof *seconds, by_size);
  const int middle = params->repeats / 2;
  out->median_s =
      params->repeats % 2 ? seconds[middle] : 0.5 * (seconds[middle - 1] + seconds[middle]);
  return TG_OK;
}

tg_status tg_bench_ci_cpu(const tg_bench_ci_case* what, const tg_bench_ci_params* params,
                          tg_bench_ci_result* out) {
  tg_status status = TG_OK;
  const tg_ci_source source = {.path = params->input};
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  tg_ci_input input = {0};
  tg_ci_problem problem = {0};
  tg_bench_ci_result result = {0};
  numbers.protons = what->protons;
  numbers.neutrons = what->neutrons;
  numbers.nmax = what->nmax;
  numbers.irrep = what->irrep;
  TG_TRY(tg_ci_input_read(&source, 1, &input));
  TG_TRY_GOTO(tg_ci_problem_make(&input, &numbers, &problem), done);
  TG_TRY_GOTO(measure_yardsticks(params->threads, &result.yardsticks), done);
  TG_TRY_GOTO(solve_all(what, params, &problem, &result), done);
  TG_TRY_GOTO(measure_yardsticks(params->threads, &result.yardsticks), done);
  *out = result;
done:
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return status;
}

double tg_bench_ci_rate(const tg_bench_ci_result* r) {
  return r->product_s > 0 ? (double)r->need.facts.pairs * (double)r->products / r->product_s : 0;
}
