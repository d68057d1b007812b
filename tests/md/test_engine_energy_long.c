/* SPDX-License-Identifier: Apache-2.0 */
/* What takes minutes to show: no drift, no atom lost, the canonical distribution, equipartition. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/units.h"
#include "md/engine_runs.h"

/* 10 ps: the drift's standard error is to be a quarter of the bound at most. The list is exact: see
 * test_engine_energy.c. */
static void energy_does_not_drift(void** state) {
  (void)state;
  engine_run("drift",
             ENGINE_PHYSICS
             "verlet-buffer-tolerance = -1\nrlist = 1.0\ndt = 0.001\nnsteps = 10050\nnstlist = 8\n"
             "comm-mode = none\nnstcalcenergy = 10\nnstenergy = 10\n",
             NULL, 0);
  double *time = NULL, *energy = NULL;
  size_t rows = engine_column("drift", "Conserved En.", &time, &energy);
  assert_int_equal(rows, 1006);
  engine_line line = engine_fit(time + 6, energy + 6, 1000, 20);
  double drift = line.slope / ENGINE_ATOMS, error = line.error / ENGINE_ATOMS;
  print_message("drift %.3g +- %.3g kJ/mol/ps per atom\n", drift, error);
  assert_true(error < 0.25e-4);
  assert_true(fabs(drift) < 1e-4);
  tg_free(time);
  tg_free(energy);
}

/* 10,000 steps on eight PEs: the engine counts atoms and interactions at every search, and fails
 * where one is missing; here every water of the last frame is looked at. Of 1000 steps two parts
 * equal the whole. */
static void eight_pes_lose_nothing(void** state) {
  (void)state;
  static const char mdp[] = ENGINE_PHYSICS
      "dt = 0.002\nnsteps = %d\nnstlist = 20\ncomm-mode = linear\nnstenergy = 100\n"
      "nstxout-compressed = 200\n";
  static const struct {
    const char* run;
    int steps;
  } parts[] = {{"far", 10000}, {"whole", 1000}, {"halves", 493}, {"halves", 1000}};
  for (int i = 0; i < 4; i++) {
    char text[512];
    snprintf(text, sizeof text, mdp, parts[i].steps);
    engine_write_mdp("eight.mdp", text);
    tg_md_job job = engine_job(NULL);
    job.parameters = engine_path("eight.mdp");
    job.output = engine_path(parts[i].run);
    job.continue_run = i == 3;
    memcpy(job.grid, (int[3]){2, 2, 2}, sizeof job.grid);
    tg_md_run_result result;
    engine_ok(tg_md_run(&job, &result));
    assert_int_equal(result.last_step, parts[i].steps);
  }
  static const char* const files[] = {"energies.xvg", "energies.jsonl", "traj.xtc", "confout.gro"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    engine_same_bytes("whole", "halves", files[i]);
  char path[300];
  snprintf(path, sizeof path, "%s/confout.gro", engine_path("far"));
  tg_configuration last;
  engine_ok(tg_configuration_read(path, &last));
  assert_int_equal(last.count, ENGINE_ATOMS);
  for (size_t i = 375 * 3; i < last.count; i += 3) /* waters are whole: O-H is 0.1 nm */
    for (size_t h = 1; h <= 2; h++) {
      double square = 0;
      for (int d = 0; d < 3; d++) {
        double delta = last.x[i + h][d] - last.x[i][d];
        delta -= ENGINE_BOX * rint(delta / ENGINE_BOX);
        square += delta * delta;
      }
      assert_true(fabs(sqrt(square) - 0.1) < 2e-3); /* coordinates have three decimals */
    }
  tg_configuration_free(&last);
}

/* Velocity frames of a .trr with nothing else, in float: the last part of each frame. Adds up
 * twice the kinetic energy of the ethanol (the first 1125 atoms) and of the water. */
static size_t sum_kinetic(const char* run, const double* mass, double (*sums)[2]) {
  char path[300];
  snprintf(path, sizeof path, "%s/traj.trr", engine_path(run));
  FILE* stream = fopen(path, "rb");
  assert_non_null(stream);
  enum { PART = ENGINE_ATOMS * 12, HEAD = 4 * 3 + 12 + 4 * 13 + 4 * 2 + 4 * 9 };
  static unsigned char frame[HEAD + PART];
  size_t count = 0, got;
  while ((got = fread(frame, 1, sizeof frame, stream)) == sizeof frame) {
    sums[count][0] = sums[count][1] = 0;
    for (size_t k = 0; k < 3 * (size_t)ENGINE_ATOMS; k++) {
      const unsigned char* byte = frame + HEAD + 4 * k;
      uint32_t word = (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 | (uint32_t)byte[2] << 8 |
                      (uint32_t)byte[3];
      float v;
      memcpy(&v, &word, sizeof v);
      sums[count][k / 3 >= 1125] += mass[k / 3] * (double)v * (double)v;
    }
    count++;
  }
  assert_int_equal(got, 0);
  fclose(stream);
  return count;
}

/* v-rescale draws the kinetic energy from its canonical distribution, of variance n (kT)^2 / 2 for
 * n degrees of freedom (constant energy gives about half of it, Berendsen's thermostat less), and
 * energy is shared alike between ethanol and water. 30 ps with a coupling time of 0.02 ps. */
static void v_rescale_is_canonical_and_parts_evenly(void** state) {
  (void)state;
  enum { FRAMES = 1001, SKIP = 100, BLOCKS = 20 };
  engine_write_mdp("canonical.mdp", ENGINE_PHYSICS
                   "dt = 0.001\nnsteps = 30000\nnstlist = 20\nnstcalcenergy = 30\nnstenergy = 30\n"
                   "nstvout = 30\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.02\nref-t = 300\n"
                   "ld-seed = 11\nnsttcouple = 5\n");
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("canonical.mdp");
  job.output = engine_path("canonical");
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
  double *kinetic = NULL, *times = NULL, mean, rms;
  assert_int_equal(engine_column("canonical", "Kinetic En.", &times, &kinetic), FRAMES);
  /* 3 per atom less 4500 of SETTLE, 750 of h-bonds, 3 of the centre of mass */
  double n = 3.0 * ENGINE_ATOMS - 4500 - 750 - 3, kt = TG_BOLTZMANN * 300;
  engine_moments(kinetic, SKIP, FRAMES, &mean, &rms);
  double ratio = rms * rms / (n / 2 * kt * kt);
  print_message("mean %.2f of %.2f kJ/mol, variance %.3f of the canonical one\n", mean, n * kt / 2,
                ratio);
  /* A memory of 0.02 ps between samples 0.03 ps apart leaves c = exp(-1.5): of 901 samples (1 - c)
   * / (1 + c) are independent for the mean, (1 - c^2) / (1 + c^2) for the variance: 570 and 810.
   * Five standard errors. The mean half-step kinetic energy of leap-frog has an error of order (w
   * dt)^2 / 8, 1 % for the few modes of w = 0.3/fs: 0.3 % in all. */
  assert_true(fabs(mean / (n * kt / 2) - 1) < 5 * sqrt(2 / n / 570) + 0.003);
  assert_true(fabs(ratio - 1) < 5 * sqrt(2.0 / 810));

  static double sums[FRAMES + 1][2], mass[ENGINE_ATOMS];
  static const double ethanol[9] = {12.011, 1.008, 1.008,   1.008, 12.011,
                                    1.008,  1.008, 15.9994, 1.008};
  for (size_t i = 0; i < ENGINE_ATOMS; i++)
    mass[i] = i < 1125 ? ethanol[i % 9] : i % 3 == 0 ? 15.9994 : 1.008;
  assert_int_equal(sum_kinetic("canonical", mass, sums), FRAMES);
  /* The difference of temperatures, its error from blocks of 1.35 ps. */
  double block[BLOCKS] = {0}, difference = 0, scatter = 0;
  for (size_t f = SKIP; f < SKIP + 900; f++) {
    double of_ethanol = sums[f][0] / (125 * 21 * TG_BOLTZMANN);
    double of_water = sums[f][1] / (1500 * 6 * TG_BOLTZMANN);
    block[(f - SKIP) / 45] += (of_ethanol - of_water) / 45;
  }
  for (int b = 0; b < BLOCKS; b++) difference += block[b] / BLOCKS;
  for (int b = 0; b < BLOCKS; b++) scatter += pow(block[b] - difference, 2);
  double error = sqrt(scatter / (BLOCKS * (BLOCKS - 1)));
  print_message("ethanol is %.2f +- %.2f K warmer than water\n", difference, error);
  /* Half-step velocities overrate a mode of w by 1 / (1 - (w dt / 2)^2), 2 % for the fastest bends
   * of ethanol (w = 0.28/fs), a third of its 21: 2 K. */
  /* One frame's difference scatters by T sqrt(2/2625 + 2/9000) = 9.4 K; the mean of a block by no
   * more, so 20 blocks give 2.1 K at most, and an error estimated from 20 is itself within half of
   * that. */
  assert_true(error < 1.5 * 2.1);
  assert_true(fabs(difference) < 4 * error + 2);
  tg_free(kinetic);
  tg_free(times);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energy_does_not_drift),
      cmocka_unit_test(eight_pes_lose_nothing),
      cmocka_unit_test(v_rescale_is_canonical_and_parts_evenly),
  };
  return cmocka_run_group_tests_name("engine energy, long", tests, engine_set_up, engine_tear_down);
}
