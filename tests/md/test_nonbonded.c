/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces: every variant against the specification on random and adversarial systems, and both
 * against the laws (forces are -dE/dx, Newton's third law, the virial is a volume derivative). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "md/nonbonded_systems.h"

enum { GUARD = 16 };
static const char* const VARIANTS[] = {"AVX-512", "AVX2", "portable"};

/* Arrays with NaN on both sides: reading them spoils the answer, writing them is seen. */
static double (*guarded(size_t n))[3] {
  double(*all)[3] = malloc((n + 2 * GUARD) * sizeof *all);
  for (size_t i = 0; i < n + 2 * GUARD; i++) {
    for (int d = 0; d < 3; d++) all[i][d] = i < GUARD || i >= n + GUARD ? (double)NAN : 0;
  }
  return all + GUARD;
}

static void guarded_free(double (*x)[3], size_t n) {
  double(*all)[3] = x - GUARD;
  for (size_t i = 0; i < GUARD; i++) {
    for (int d = 0; d < 3; d++) assert_true(isnan(all[i][d]) && isnan(all[n + GUARD + i][d]));
  }
  free(all);
}

typedef struct run_options {
  const char* backend;
  bool mixed, no_shift, no_energy;
  int threads;
  double radius, prune; /* prune: 0: no */
} run_options;

static tg_nonbonded_result run(const test_system* s, run_options options, double (*f)[3]) {
  double(*x)[3] = guarded(s->n);
  memcpy(x, s->x, s->n * sizeof *x);
  tg_nonbonded_params params = system_params(s, options.backend, options.mixed, options.threads);
  if (options.no_shift) params.lj_shift = params.coulomb_shift = false;
  tg_nonbonded_atoms atoms = system_atoms(s, x);
  atoms.offset = s->offset;
  tg_nonbonded* nonbonded = NULL;
  assert_int_equal(tg_nonbonded_create(&params, &nonbonded), TG_OK);
  assert_int_equal(tg_nonbonded_search(nonbonded, &atoms, options.radius), TG_OK);
  if (options.prune > 0) {
    assert_int_equal(tg_nonbonded_prune(nonbonded, x, options.prune), TG_OK);
  }
  tg_nonbonded_result result = {.want_energy = !options.no_energy};
  tg_nonbonded_compute(nonbonded, x, f, &result);
  tg_nonbonded_destroy(&nonbonded);
  assert_null(nonbonded);
  guarded_free(x, s->n);
  return result;
}

/* Each variant, precision and thread count against ref. Error bound: each pair's terms carry some
 * roundings (32 covers the operations and the sum over a few hundred terms in partial sums), and
 * each coordinate an error of a few ulp of what it is stored relative to: `extent`, nm, in float;
 * the position itself in double. */
static void compare(const test_system* s, run_options options, double extent) {
  double(*expected)[3] = guarded(s->n);
  options.backend = "ref";
  const double prune = options.prune;
  const tg_nonbonded_result want = run(s, options, expected);
  test_bounds bounds;
  bounds_compute(s, &bounds);
  options.backend = "omp";
  for (size_t v = 0; v < sizeof VARIANTS / sizeof *VARIANTS; v++) {
    setenv("TG_SIMD", VARIANTS[v], 1); /* one that does not run here falls back to the best */
    for (int mode = 0; mode < 12; mode++) {
      options.mixed = mode % 2;
      options.threads = 1 + mode / 2 % 3;
      options.no_energy = mode / 6;
      options.prune = prune;
      double(*f)[3] = guarded(s->n);
      const tg_nonbonded_result have = run(s, options, f);
      const double eps = options.mixed ? (double)FLT_EPSILON : DBL_EPSILON;
      const double largest = 3 * fmax(fmax(s->box[0], s->box[1]), s->box[2]);
      const double shift = 4 * eps * (options.mixed ? extent : largest);
      for (size_t i = 0; i < s->n; i++) {
        const double bound = 32 * eps * bounds.size[i] + shift * bounds.slope[i] + 1e-300;
        for (int d = 0; d < 3; d++) {
          if (!(fabs(f[i][d] - expected[i][d]) <= bound)) {
            fail_msg("%s, %d threads, mode %d: force %zu of %zu, %c: %.15g, expected %.15g +- %g",
                     VARIANTS[v], options.threads, mode, i, s->n, "xyz"[d], f[i][d], expected[i][d],
                     bound);
          }
        }
      }
      if (!options.no_energy) {
        const double bound = 32 * eps * bounds.energy + shift * bounds.energy_slope;
        assert_true(fabs(have.lj - want.lj) <= bound);
        assert_true(fabs(have.coulomb - want.coulomb) <= bound);
        for (int k = 0; k < 9; k++) {
          assert_true(fabs(have.virial[k / 3][k % 3] - want.virial[k / 3][k % 3]) <= 13 * bound);
        }
      }
      guarded_free(f, s->n);
    }
    unsetenv("TG_SIMD");
  }
  bounds_free(&bounds);
  guarded_free(expected, s->n);
}

static void water_agrees(void** state) {
  (void)state;
  test_system s;
  system_water(&s, 7, 8, 9, 1);
  compare(&s, (run_options){.radius = 0.97}, 2);
  compare(&s, (run_options){.radius = 1.05, .prune = 0.92, .no_shift = true}, 2);
  system_free(&s);
}

static void shapes_agree(void** state) {
  (void)state;
  const double boxes[][3] = {
      {2, 2.5, 3}, {1.85, 6, 1.8}, {12, 1.8, 1.8}, {1.9, 1.8, 14}, {30, 30, 30}};
  for (size_t b = 0; b < sizeof boxes / sizeof *boxes; b++) {
    for (int clustered = 0; clustered < 2; clustered++) {
      test_system s;
      system_random(&s, 350, boxes[b], 0.22, clustered, 17 + b);
      /* a sparse column's block may be as long as the box */
      const double extent = fmax(boxes[b][2], 2);
      compare(&s, (run_options){.radius = 0.9}, extent);
      s.periodic[b % 3] = false;
      compare(&s, (run_options){.radius = 1.0, .no_shift = true}, extent);
      system_types(&s, true);
      for (int d = 0; d < 3; d++) s.periodic[d] = false;
      compare(&s, (run_options){.radius = 1.2, .prune = 0.95}, 3 * extent);
      system_free(&s);
    }
  }
}

static void few_atoms_agree(void** state) {
  (void)state;
  const double box[3] = {1.8, 1.9, 2.0};
  for (size_t n = 0; n <= 10; n++) {
    test_system s;
    system_random(&s, n, box, 0.25, n % 2, 100 + n);
    compare(&s, (run_options){.radius = 0.95}, 2);
    system_free(&s);
  }
}

/* One of 2 x 2 domains in x and y, with the forward halo: home atoms first. */
static void domain_of(const test_system* s, const double (*wrapped)[3], int cx, int cy,
                      double reach, test_system* out) {
  const int cell[2] = {cx, cy};
  int* local = malloc((s->n + 1) * sizeof *local);
  system_allocate(out, s->n);
  memcpy(out->box, s->box, sizeof out->box);
  memcpy(out->c6, s->c6, sizeof out->c6);
  memcpy(out->c12, s->c12, sizeof out->c12);
  out->periodic[0] = out->periodic[1] = false;
  out->n = 0;
  for (size_t i = 0; i < s->n; i++) {
    local[i] = -1;
    double x[3] = {wrapped[i][0], wrapped[i][1], wrapped[i][2]};
    uint8_t offset[3] = {0};
    bool wanted = true;
    for (int d = 0; d < 2; d++) {
      const double low = cell[d] * s->box[d] / 2, high = low + s->box[d] / 2;
      if (x[d] >= low && x[d] < high) continue;
      if (x[d] < low) x[d] += s->box[d];
      offset[d] = 1;
      wanted = wanted && x[d] < high + reach;
    }
    if (!wanted) continue;
    local[i] = (int)out->n;
    memcpy(out->x[out->n], x, sizeof x);
    memcpy(out->offset[out->n], offset, sizeof offset);
    out->global[out->n] = (int)i;
    out->type[out->n] = s->type[i];
    out->charge[out->n++] = s->charge[i];
  }
  int count = 0;
  for (size_t i = 0; i < out->n; i++) {
    const int global = out->global[i];
    for (int e = s->exclusion_start[global]; e < s->exclusion_start[global + 1]; e++) {
      if (local[s->exclusion[e]] >= 0) out->exclusion[count++] = local[s->exclusion[e]];
    }
    out->exclusion_start[i + 1] = count;
  }
  free(local);
}

/* The domains' pairs together are the box's pairs, each once. */
static void domains_add_up(void** state) {
  (void)state;
  test_system s;
  const double box[3] = {3.0, 3.2, 1.9};
  system_random(&s, 1200, box, 0.2, false, 5);
  double(*wrapped)[3] = guarded(s.n), (*whole)[3] = guarded(s.n), (*sum)[3] = guarded(s.n);
  for (size_t i = 0; i < s.n; i++) {
    for (int d = 0; d < 3; d++) {
      wrapped[i][d] = s.x[i][d] - box[d] * floor(s.x[i][d] / box[d]);
    }
  }
  const double radius = 1.0;
  const tg_nonbonded_result want =
      run(&s, (run_options){.backend = "ref", .radius = radius}, whole);
  double lj = 0, coulomb = 0, virial = 0;
  for (int cell = 0; cell < 4; cell++) {
    test_system part;
    domain_of(&s, (const double(*)[3])wrapped, cell / 2, cell % 2, radius, &part);
    compare(&part, (run_options){.radius = radius}, 2);
    double(*f)[3] = guarded(part.n);
    const tg_nonbonded_result have =
        run(&part, (run_options){.backend = "omp", .radius = radius, .threads = 2}, f);
    for (size_t i = 0; i < part.n; i++) {
      for (int d = 0; d < 3; d++) sum[part.global[i]][d] += f[i][d];
    }
    lj += have.lj;
    coulomb += have.coulomb;
    virial += have.virial[0][1];
    guarded_free(f, part.n);
    system_free(&part);
  }
  test_bounds bounds;
  bounds_compute(&s, &bounds);
  const double shift = 4 * DBL_EPSILON * 10;
  for (size_t i = 0; i < s.n; i++) {
    const double bound = 32 * DBL_EPSILON * bounds.size[i] + shift * bounds.slope[i];
    for (int d = 0; d < 3; d++) assert_true(fabs(sum[i][d] - whole[i][d]) <= bound);
  }
  const double bound = 32 * DBL_EPSILON * bounds.energy + shift * bounds.energy_slope;
  assert_true(fabs(lj - want.lj) <= bound);
  assert_true(fabs(coulomb - want.coulomb) <= bound);
  assert_true(fabs(virial - want.virial[0][1]) <= 13 * bound);
  bounds_free(&bounds);
  guarded_free(wrapped, s.n);
  guarded_free(whole, s.n);
  guarded_free(sum, s.n);
  system_free(&s);
}

static double energy_of(const test_system* s, const char* backend) {
  double(*f)[3] = guarded(s->n);
  const tg_nonbonded_result r =
      run(s, (run_options){.backend = backend, .radius = 1.0, .threads = 1}, f);
  guarded_free(f, s->n);
  return r.lj + r.coulomb;
}

/* Shifted energies vanish at the cut-off, the force of LJ does not: a pair that crosses it makes an
 * error of the second order in the step, as the difference quotient has anyway. */
static void laws_hold(void** state) {
  (void)state;
  for (int b = 0; b < 2; b++) {
    const char* backend = b == 0 ? "ref" : "omp";
    test_system s;
    system_water(&s, 6, 6, 6, 3);
    double(*f)[3] = guarded(s.n);
    const tg_nonbonded_result result =
        run(&s, (run_options){.backend = backend, .radius = 1.0, .threads = 2}, f);
    double total[3] = {0}, size = 0;
    for (size_t i = 0; i < s.n; i++) {
      for (int d = 0; d < 3; d++) {
        total[d] += f[i][d];
        size += fabs(f[i][d]);
      }
    }
    for (int d = 0; d < 3; d++) assert_true(fabs(total[d]) <= 1e-12 * size);
    const double h = 1e-5;
    for (size_t i = 0; i < s.n; i += 97) {
      for (int d = 0; d < 3; d++) {
        const double x = s.x[i][d];
        s.x[i][d] = x + h;
        const double above = energy_of(&s, backend);
        s.x[i][d] = x - h;
        const double below = energy_of(&s, backend);
        s.x[i][d] = x;
        /* LJ's force at 0.9 nm is 0.03 kJ/mol/nm a pair; a handful may cross within 2e-5 nm */
        const double slope = -(above - below) / (2 * h);
        assert_true(fabs(slope - f[i][d]) <= 1e-5 * (1000 + fabs(f[i][d])));
      }
    }
    double energies[2];
    const double saved = s.box[0];
    for (int k = 0; k < 2; k++) { /* all coordinates scaled: dE/d ln(scale) = 2 trace(virial) */
      const double scale = 1 + (k == 0 ? h : -h);
      for (int d = 0; d < 3; d++) s.box[d] *= scale;
      for (size_t i = 0; i < s.n; i++) {
        for (int d = 0; d < 3; d++) s.x[i][d] *= scale;
      }
      energies[k] = energy_of(&s, backend);
      for (int d = 0; d < 3; d++) s.box[d] /= scale;
      for (size_t i = 0; i < s.n; i++) {
        for (int d = 0; d < 3; d++) s.x[i][d] /= scale;
      }
    }
    assert_true(fabs(s.box[0] - saved) < 1e-12);
    const double trace = result.virial[0][0] + result.virial[1][1] + result.virial[2][2];
    const double slope = (energies[0] - energies[1]) / (2 * h);
    assert_true(fabs(slope - 2 * trace) <= 1e-5 * (fabs(slope) + 1e4));
    guarded_free(f, s.n);
    system_free(&s);
  }
}

/* The error that float makes, as a physicist would state it. Coordinates carry 2^-25 nm or so; the
 * steepest pairs amplify that by 13/r, r about 0.17 nm here: 2e-6 of their force. */
static void mixed_precision_is_good(void** state) {
  (void)state;
  const int sizes[][3] = {{9, 8, 7}, {97, 6, 6}};
  for (int k = 0; k < 2; k++) {
    test_system s;
    system_water(&s, sizes[k][0], sizes[k][1], sizes[k][2], 9);
    double(*f)[3] = guarded(s.n), (*g)[3] = guarded(s.n);
    const tg_nonbonded_result want = run(&s, (run_options){.backend = "ref", .radius = 0.9}, f);
    const tg_nonbonded_result have =
        run(&s, (run_options){.backend = "omp", .mixed = true, .radius = 0.97, .threads = 2}, g);
    double error = 0, size = 0;
    for (size_t i = 0; i < s.n; i++) {
      for (int d = 0; d < 3; d++) {
        error += (f[i][d] - g[i][d]) * (f[i][d] - g[i][d]);
        size += f[i][d] * f[i][d];
      }
    }
    print_message("mixed: relative RMS error of forces %.2g, LJ %.2g, Coulomb %.2g\n",
                  sqrt(error / size), fabs(have.lj / want.lj - 1),
                  fabs(have.coulomb - want.coulomb) / fabs(want.coulomb));
    assert_true(sqrt(error / size) < 4e-6);
    assert_true(fabs(have.lj - want.lj) < 1e-5 * fabs(want.lj));
    /* Random molecules' Coulomb energies cancel; what is rounded is of the size of the self terms.
     */
    double self = 0;
    for (size_t i = 0; i < s.n; i++) self += 0.5 * 138.935 * 1.5 / 0.9 * s.charge[i] * s.charge[i];
    assert_true(fabs(have.coulomb - want.coulomb) < 8 * (double)FLT_EPSILON * self);
    guarded_free(f, s.n);
    guarded_free(g, s.n);
    system_free(&s);
  }
}

static void runs_repeat(void** state) {
  (void)state;
  test_system s;
  system_water(&s, 8, 8, 8, 4);
  for (int threads = 1; threads <= 3; threads++) {
    const run_options options = {.backend = "omp", .mixed = true, .radius = 1, .threads = threads};
    double(*f)[3] = guarded(s.n), (*g)[3] = guarded(s.n);
    const tg_nonbonded_result first = run(&s, options, f), second = run(&s, options, g);
    assert_memory_equal(f, g, s.n * sizeof *f);
    assert_true(first.lj == second.lj && first.coulomb == second.coulomb);
    assert_int_equal(first.pairs_in_list, second.pairs_in_list);
    guarded_free(f, s.n);
    guarded_free(g, s.n);
  }
  system_free(&s);
}

static void wrong_input_is_named(void** state) {
  (void)state;
  test_system s;
  system_water(&s, 6, 6, 6, 2);
  tg_nonbonded* nonbonded = NULL;
  tg_nonbonded_params params = system_params(&s, "fast", false, 1);
  assert_int_equal(tg_nonbonded_create(&params, &nonbonded), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "fast"));
  assert_null(nonbonded);
  params.backend = "omp";
  assert_int_equal(tg_nonbonded_create(&params, &nonbonded), TG_OK);
  assert_non_null(strstr(tg_nonbonded_describe(nonbonded), "omp: "));
  tg_nonbonded_atoms atoms = system_atoms(&s, (const double(*)[3])s.x);
  assert_int_equal(tg_nonbonded_search(nonbonded, &atoms, 0.8), TG_ERR_INPUT);
  atoms.box[1] = 1.7;
  assert_int_equal(tg_nonbonded_search(nonbonded, &atoms, 1.0), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "1.7 nm long in y"));
  atoms.box[1] = s.box[1];
  s.x[4][2] = (double)NAN;
  assert_int_equal(tg_nonbonded_search(nonbonded, &atoms, 1.0), TG_ERR_NUMERICS);
  tg_nonbonded_destroy(&nonbonded);
  tg_nonbonded_destroy(&nonbonded);
  system_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(few_atoms_agree), cmocka_unit_test(water_agrees),
      cmocka_unit_test(shapes_agree),    cmocka_unit_test(domains_add_up),
      cmocka_unit_test(laws_hold),       cmocka_unit_test(mixed_precision_is_good),
      cmocka_unit_test(runs_repeat),     cmocka_unit_test(wrong_input_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
