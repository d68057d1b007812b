/* SPDX-License-Identifier: Apache-2.0 */
/* Constant energy: another program's total energy, second order in the time step, no drift. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "md/engine_runs.h"

/* The list is exact: with 0.1 nm beyond the cut-off and at most 8 fs between searches, two atoms
 * would have to approach at 12 nm/ps each way, ten times the speed of a hydrogen at 300 K. */
#define EXACT_LIST "verlet-buffer-tolerance = -1\nrlist = 1.0\n"

/* Double-precision GROMACS 2026 from conf.gro as it stands: leap-frog, dt 1 fs, reaction field 0.9
 * nm, LINCS on h-bonds and SETTLE, nothing constrained first. ps, kJ/mol, K. */
static const struct {
  double time, total, temperature;
} reference[] = {
    {0.00, -57684.821990, 303.4409}, {0.02, -57883.406254, 298.7599},
    {0.04, -57876.476702, 293.5161}, {0.06, -57882.046362, 300.6201},
    {0.08, -57879.271912, 294.5910}, {0.10, -57881.259330, 305.8660},
    {0.12, -57882.034038, 304.1443}, {0.14, -57879.818074, 297.6380},
    {0.16, -57877.656896, 297.1617}, {0.18, -57879.656051, 301.4747},
    {0.20, -57881.900699, 296.1928},
};
enum { SAMPLES = sizeof reference / sizeof *reference };

/* The start is off the constraints by its rounding; the first 0.04 ps let that go. Temperatures are
 * those of the same trajectory, which chaos parts by far less than 1 K in 0.2 ps. */
static void total_energy_meets_the_reference(void** state) {
  (void)state;
  engine_run("nve",
             ENGINE_PHYSICS EXACT_LIST
             "dt = 0.001\nnsteps = 200\nnstlist = 8\ncontinuation = yes\ncomm-mode = none\n"
             "nstcalcenergy = 20\nnstenergy = 20\n",
             NULL, 0);
  double *time = NULL, *total = NULL, *temperature = NULL;
  assert_int_equal(engine_column("nve", "Total Energy", &time, &total), SAMPLES);
  assert_int_equal(engine_column("nve", "Temperature", NULL, &temperature), SAMPLES);
  for (int i = 0; i < SAMPLES; i++) {
    assert_true(fabs(time[i] - reference[i].time) < 1e-9);
    if (reference[i].time < 0.039) continue;
    if (!(fabs(total[i] - reference[i].total) < 3) ||
        !(fabs(temperature[i] - reference[i].temperature) < 1))
      fail_msg("at %g ps: %.3f kJ/mol and %.3f K, expected %.3f and %.3f", time[i], total[i],
               temperature[i], reference[i].total, reference[i].temperature);
  }
  tg_free(time);
  tg_free(total);
  tg_free(temperature);
}

/* A start on the constraint surface, with velocities at half of each of three time steps before it:
 * from a run at 0.25 fs, whose half-step velocities at -0.125 - 0.25 j fs average to those at -1
 * (j = 3, 4), -0.5 (j = 1, 2) and -0.25 fs (j = 0, 1). */
enum { STEP_SIZES = 3, FINE_STEPS = 160 };

static void write_starts(void) {
  static const int first[STEP_SIZES] = {3, 1, 0};
  double(*v[5])[3];
  double(*x)[3] = NULL;
  for (int j = 4; j >= 0; j--) {
    char mdp[512], path[300];
    snprintf(mdp, sizeof mdp,
             ENGINE_PHYSICS
             "verlet-buffer-tolerance = -1\nrlist = 0.9\nnstlist = 1\ndt = 0.00025\nnsteps = %d\n"
             "comm-mode = none\nnstcalcenergy = 10\nnstenergy = 10\n",
             FINE_STEPS - j);
    engine_run("fine", mdp, NULL, j < 4);
    snprintf(path, sizeof path, "%s/state.cpt", engine_path("fine"));
    tg_checkpoint checkpoint;
    engine_ok(tg_checkpoint_read(path, &checkpoint));
    assert_int_equal(checkpoint.step, FINE_STEPS - j);
    v[j] = checkpoint.v;
    checkpoint.v = NULL;
    if (j == 0) {
      x = checkpoint.x;
      checkpoint.x = NULL;
    }
    tg_checkpoint_free(&checkpoint);
  }
  tg_configuration start;
  engine_ok(tg_configuration_read(ENGINE_EXAMPLE "conf.gro", &start));
  memcpy(start.x, x, ENGINE_ATOMS * sizeof *x);
  for (int s = 0; s < STEP_SIZES; s++) {
    char name[32];
    snprintf(name, sizeof name, "start%d.gro", s);
    for (size_t i = 0; i < ENGINE_ATOMS; i++)
      for (int d = 0; d < 3; d++) start.v[i][d] = (v[first[s]][i][d] + v[first[s] + 1][i][d]) / 2;
    engine_ok(tg_configuration_save_gro(&start, 12, engine_path(name)));
  }
  tg_configuration_free(&start);
  tg_free(x);
  for (int j = 0; j < 5; j++) tg_free(v[j]);
}

static double distance(const double (*a)[3], const double (*b)[3]) {
  double sum = 0;
  for (size_t i = 0; i < ENGINE_ATOMS; i++)
    for (int d = 0; d < 3; d++) {
      double delta = a[i][d] - b[i][d];
      delta -= ENGINE_BOX * rint(delta / ENGINE_BOX);
      sum += delta * delta;
    }
  return sqrt(sum / ENGINE_ATOMS);
}

/* With time steps of 2, 1 and 0.5 fs along the same 0.2 ps: the conserved energy's fluctuation, and
 * how far the positions after 0.024 ps lie from those at half the time step. Both are A dt^2 + B
 * dt^4; B is (w dt)^2 / 12 of A or so, for the fastest motion of w = 0.3/fs 3 % at 2 fs. */
static void the_error_is_of_second_order(void** state) {
  (void)state;
  static const int per_unit[STEP_SIZES] = {1, 2, 4}; /* steps in 2 fs */
  double rms[STEP_SIZES];
  double(*x[STEP_SIZES])[3];
  write_starts();
  for (int s = 0; s < STEP_SIZES; s++) {
    char mdp[512], name[32], gro[32];
    snprintf(name, sizeof name, "order%d", s);
    snprintf(gro, sizeof gro, "start%d.gro", s);
    for (int part = 0; part < 2; part++) {
      int units = part ? 100 : 12, n = per_unit[s];
      snprintf(mdp, sizeof mdp,
               ENGINE_PHYSICS EXACT_LIST
               "dt = %g\nnsteps = %d\nnstlist = %d\ncontinuation = yes\ncomm-mode = none\n"
               "nstcalcenergy = %d\nnstenergy = %d\n",
               0.002 / n, units * n, 4 * n, n, n);
      engine_run(name, mdp, engine_path(gro), part);
      if (part == 0) x[s] = engine_checkpoint_x(name, units * n);
    }
    double *energy = NULL, mean;
    size_t rows = engine_column(name, "Conserved En.", NULL, &energy);
    assert_int_equal(rows, 101);
    engine_moments(energy, 0, rows, &mean, &rms[s]);
    tg_free(energy);
  }
  double coarse = distance((const double(*)[3])x[0], (const double(*)[3])x[1]);
  double fine = distance((const double(*)[3])x[1], (const double(*)[3])x[2]);
  print_message(
      "conserved energy fluctuates by %.4f, %.4f, %.4f kJ/mol: ratios %.3f, %.3f; "
      "positions %.3g and %.3g nm: ratio %.3f\n",
      rms[0], rms[1], rms[2], rms[0] / rms[1], rms[1] / rms[2], coarse, fine, coarse / fine);
  assert_true(fabs(rms[0] / rms[1] - 4) < 0.4);
  assert_true(fabs(rms[1] / rms[2] - 4) < 0.4);
  assert_true(fabs(coarse / fine - 4) < 0.4);
  for (int s = 0; s < STEP_SIZES; s++) tg_free(x[s]);
}

/* 1 ps bounds the drift to a few 1e-4; the long test goes below 1e-4. */
static void energy_does_not_drift(void** state) {
  (void)state;
  engine_run("drift",
             ENGINE_PHYSICS EXACT_LIST
             "dt = 0.001\nnsteps = 1040\nnstlist = 8\ncomm-mode = none\n"
             "nstcalcenergy = 10\nnstenergy = 10\n",
             NULL, 0);
  double *time = NULL, *energy = NULL;
  size_t rows = engine_column("drift", "Conserved En.", &time, &energy);
  assert_int_equal(rows, 105);
  engine_line line = engine_fit(time + 5, energy + 5, 100, 10); /* 0.05 ps to settle */
  double drift = line.slope / ENGINE_ATOMS, error = line.error / ENGINE_ATOMS;
  print_message("drift %.3g +- %.3g kJ/mol/ps per atom\n", drift, error);
  assert_true(error < 2e-4);
  assert_true(fabs(drift) < 1e-4 + 4 * error);
  tg_free(time);
  tg_free(energy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(total_energy_meets_the_reference),
      cmocka_unit_test(the_error_is_of_second_order),
      cmocka_unit_test(energy_does_not_drift),
  };
  return cmocka_run_group_tests_name("engine energy", tests, engine_set_up, engine_tear_down);
}
