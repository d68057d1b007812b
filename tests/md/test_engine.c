/* SPDX-License-Identifier: Apache-2.0 */
/* The engine as a whole on examples/ethanol-water: energies and forces of another program, laws of
 * physics, independence of the number of PEs, continued runs. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <throng/md.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "md/energies.h"
#include "md/engine_case.h"

/* Double-precision GROMACS 2026 for conf.gro and rf.mdp, kJ/mol (the example's README). */
static const struct {
  tg_energy_term term;
  double value;
} reference[] = {
    {TG_E_BOND, 346.35222633058},          {TG_E_ANGLE, 1607.902806022305},
    {TG_E_RYCKAERT, 252.925603617403},     {TG_E_LJ_14, 62.989852999717},
    {TG_E_COULOMB_14, -3441.555273493006}, {TG_E_LJ, 12385.526377308102},
    {TG_E_COULOMB, -83563.598330431},      {TG_E_POTENTIAL, -72349.4567376459},
};

static void check_energies(const tg_md_energy_result* result, double tolerance) {
  for (size_t i = 0; i < sizeof reference / sizeof *reference; i++) {
    double found = result->terms[reference[i].term], wanted = reference[i].value;
    if (fabs(found - wanted) > tolerance * fmax(1, fabs(wanted)))
      fail_msg("%s: %.10g, expected %.10g", tg_md_energy_label((int)reference[i].term), found,
               wanted);
  }
}

/* Relative root mean square difference from the other program's forces. */
static double force_difference(const tg_md_energy_result* result) {
  tg_text_file file;
  assert_int_equal(
      tg_text_file_read(TG_SOURCE_DIR "/tests/md/data/ethanol-water.rf.forces.txt", &file), TG_OK);
  double difference = 0, norm = 0;
  size_t atom = 0;
  for (size_t i = 0; i < file.line_count; i++) {
    tg_word words[3];
    if (file.lines[i][0] == '#' || tg_split_words(file.lines[i], words, 3) != 3) continue;
    assert_true(atom < result->atom_count);
    for (int d = 0; d < 3; d++) {
      double wanted;
      assert_true(tg_parse_double(words[d].start, words[d].length, &wanted));
      double delta = result->forces[atom][d] - wanted;
      difference += delta * delta;
      norm += wanted * wanted;
    }
    atom++;
  }
  assert_int_equal(atom, result->atom_count);
  tg_text_file_free(&file);
  return sqrt(difference / norm);
}

static void energies_match(const char* backend, const char* precision, double energy,
                           double force) {
  tg_md_job job = engine_job("rf.mdp");
  job.backend = backend;
  job.precision = precision;
  tg_md_energy_result result;
  engine_ok(tg_md_energy(&job, &result));
  check_energies(&result, energy);
  double difference = force_difference(&result);
  if (!(difference < force)) fail_msg("%s %s: forces differ by %g", backend, precision, difference);
  tg_md_energy_free(&result);
}

static void reference_energies_and_forces(void** state) {
  (void)state;
  energies_match("ref", "double", 1e-7, 1e-6);
  energies_match("omp", "double", 1e-7, 1e-6);
  energies_match("omp", "mixed", 1e-5, 1e-4);
}

/* W = -1/2 sum r.F: scaling all positions and the box by s gives dE/ds = -sum r.F = 2 tr W at s
 * = 1. Every pair energy is zero at the cut-off, so that pairs which cross it add nothing. */
static void virial_is_the_volume_derivative(void** state) {
  (void)state;
  const double h = 1e-5;
  double energy[2], twice_trace = 0;
  for (int side = 0; side < 2; side++) {
    engine_write_scaled("scaled.gro", side ? 1 + h : 1 - h);
    tg_md_job job = engine_job("rf.mdp");
    job.configuration = engine_path("scaled.gro");
    job.precision = "double";
    tg_md_energy_result result;
    engine_ok(tg_md_energy(&job, &result));
    energy[side] = result.terms[TG_E_POTENTIAL];
    for (int d = 0; d < 3; d++) twice_trace += result.virial[d][d]; /* mean of the two sides */
    tg_md_energy_free(&result);
  }
  double derivative = (energy[1] - energy[0]) / (2 * h);
  /* Central difference: h^2 times the third derivative, for r^-12 some 13 * 14 times the first; the
   * mean of the virials likewise. Rounded coordinates (1e-12 nm) times forces of 1e3 kJ/mol/nm on
   * 17,000 coordinates at random, over h. */
  double tolerance = 400 * h * h * 1e5 + 1e-12 * 1e3 * 130 / h;
  /* Some 850,000 pairs within the cut-off: 3 h of them cross it on each side, where the
   * Lennard-Jones force is not zero: r F up to 6 C6/rc^6 = 0.03 kJ/mol; the trapezium misses each
   * by at most half, at random. */
  tolerance += 5 * 0.29 * 0.03 * sqrt(850e3 * 6 * h);
  if (!(fabs(derivative - twice_trace) < tolerance))
    fail_msg("dE/ds = %.8g, twice the virial's trace %.8g, tolerance %g", derivative, twice_trace,
             tolerance);
}

static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {1, 2, 2}, {3, 2, 1}, {2, 2, 2}};
enum { GRIDS = sizeof grids / sizeof *grids };

static void energies_do_not_depend_on_the_grid(void** state) {
  (void)state;
  double first[24];
  for (int g = 0; g < GRIDS; g++) {
    tg_md_job job = engine_job("rf.mdp");
    job.precision = "double";
    memcpy(job.grid, grids[g], sizeof job.grid);
    tg_md_energy_result result;
    engine_ok(tg_md_energy(&job, &result));
    for (int t = 0; t < result.term_count; t++) {
      if (g == 0) first[t] = result.terms[t];
      if (fabs(result.terms[t] - first[t]) > 1e-10 * fmax(1, fabs(first[t])))
        fail_msg("grid %d %d %d: %s is %.15g, on one PE %.15g", grids[g][0], grids[g][1],
                 grids[g][2], tg_md_energy_label(t), result.terms[t], first[t]);
    }
    tg_md_energy_free(&result);
  }
}

static void trajectories_do_not_depend_on_the_grid(void** state) {
  (void)state;
  double(*first)[3] = NULL;
  for (int g = 0; g < GRIDS; g++) {
    char name[64];
    snprintf(name, sizeof name, "grid%d%d%d", grids[g][0], grids[g][1], grids[g][2]);
    engine_write_mdp(
        "short.mdp",
        "dt = 0.002\nnsteps = 20\nnstlist = 20\nrcoulomb = 0.9\nrvdw = 0.9\n"
        "coulombtype = reaction-field\nepsilon-rf = 0\n"
        "constraints = h-bonds\nnstenergy = 10\n"
        /* which pairs a pruned list of clusters misses depends on the grid: miss none */
        "verlet-buffer-tolerance = 1e-9\n");
    tg_md_job job = engine_job(NULL);
    job.parameters = engine_path("short.mdp");
    job.precision = "double";
    job.output = engine_path(name);
    memcpy(job.grid, grids[g], sizeof job.grid);
    tg_md_run_result result;
    engine_ok(tg_md_run(&job, &result));
    double(*x)[3] = engine_checkpoint_x(name, 20);
    for (size_t i = 0; i < ENGINE_ATOMS && g > 0; i++)
      for (int d = 0; d < 3; d++) {
        double delta = x[i][d] - first[i][d];
        delta -= ENGINE_BOX * rint(delta / ENGINE_BOX);
        if (!(fabs(delta) < 1e-8))
          fail_msg("%s: atom %zu is %g nm away from where one PE has it", name, i + 1, delta);
      }
    if (g == 0)
      first = x;
    else
      tg_free(x);
  }
  tg_free(first);
}

/* On one grid the schedules differ in nothing: the same bits in every file. */
static void runs_do_not_depend_on_the_schedule(void** state) {
  (void)state;
  static const char* const schedules[] = {"host", "pulse", "fused", "direct"};
  double first[24] = {0};
  double(*first_x)[3] = NULL;
  for (int s = 0; s < 4; s++) {
    tg_md_job job = engine_job("rf.mdp");
    job.precision = "double";
    job.halo = schedules[s];
    job.reproducible = 1;
    memcpy(job.grid, (int[3]){2, 2, 2}, sizeof job.grid);
    tg_md_energy_result energy;
    engine_ok(tg_md_energy(&job, &energy));
    for (int t = 0; t < energy.term_count; t++) {
      if (s == 0) first[t] = energy.terms[t];
      if (fabs(energy.terms[t] - first[t]) > 1e-10 * fmax(1, fabs(first[t])))
        fail_msg("%s: %s is %.15g, with host %.15g", schedules[s], tg_md_energy_label(t),
                 energy.terms[t], first[t]);
    }
    tg_md_energy_free(&energy);
    engine_write_mdp("schedules.mdp",
                     "dt = 0.002\nnsteps = 20\nnstlist = 5\nrcoulomb = 0.9\nrvdw = 0.9\n"
                     "coulombtype = reaction-field\nepsilon-rf = 0\n"
                     "constraints = h-bonds\nnstenergy = 10\n");
    job.parameters = engine_path("schedules.mdp");
    job.output = engine_path(schedules[s]);
    tg_md_run_result result;
    engine_ok(tg_md_run(&job, &result));
    double(*x)[3] = engine_checkpoint_x(schedules[s], 20);
    if (s == 0) {
      first_x = x;
      continue;
    }
    assert_memory_equal(x, first_x, ENGINE_ATOMS * sizeof *x);
    engine_same_bytes("host", schedules[s], "energies.xvg");
    tg_free(x);
  }
  tg_free(first_x);
  tg_md_job job = engine_job("rf.mdp");
  job.halo = "pigeon";
  tg_md_energy_result energy;
  assert_int_equal(tg_md_energy(&job, &energy), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "pigeon"));
}

static void a_continued_run_is_bit_identical(void** state) {
  (void)state;
  static const char* const mdp =
      "dt = 0.002\nnsteps = %d\nnstlist = 10\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = "
      "reaction-field\n"
      "epsilon-rf = 0\nconstraints = h-bonds\nnstenergy = 5\nnstxout-compressed = 4\nnstvout = 6\n"
      "nstcalcenergy = 5\ntcoupl = v-rescale\ntc-grps = System\ntau-t = 0.1\nref-t = 300\nld-seed "
      "= 7\n";
  char text[512];
  snprintf(text, sizeof text, mdp, 100); /* a list step for any nstlist that may be chosen */
  engine_write_mdp("whole.mdp", text);
  snprintf(text, sizeof text, mdp, 47); /* stops between two pair searches and prunings */
  engine_write_mdp("half.mdp", text);
  tg_md_job job = engine_job(NULL);
  tg_md_run_result result;
  memcpy(job.grid, (int[3]){1, 1, 2}, sizeof job.grid);
  job.parameters = engine_path("whole.mdp");
  job.output = engine_path("uninterrupted");
  engine_ok(tg_md_run(&job, &result));
  job.parameters = engine_path("half.mdp");
  job.output = engine_path("continued");
  engine_ok(tg_md_run(&job, &result));
  job.parameters = engine_path("whole.mdp");
  job.continue_run = 1;
  engine_ok(tg_md_run(&job, &result));
  static const char* const files[] = {"energies.xvg", "energies.jsonl", "traj.xtc", "traj.trr",
                                      "confout.gro"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    engine_same_bytes("uninterrupted", "continued", files[i]);
  double(*whole)[3] = engine_checkpoint_x("uninterrupted", 100);
  double(*parts)[3] = engine_checkpoint_x("continued", 100);
  assert_memory_equal(whole, parts, ENGINE_ATOMS * sizeof *whole);
  tg_free(whole);
  tg_free(parts);
}

/* Other exclusions or another fudgeQQ are another system, though atoms and bonds are the same. */
static void a_changed_topology_is_not_continued(void** state) {
  (void)state;
  static const char* const edits[] = {"s/^  ETH   3/  ETH   1/", "s/0.5      0.5/0.5      0.9/"};
  engine_write_mdp("before.mdp",
                   "nsteps = 2\ncoulombtype = reaction-field\nconstraints = h-bonds\n");
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("before.mdp");
  job.output = engine_path("topologies");
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
  job.continue_run = 1;
  for (int i = 0; i < 2; i++) {
    char command[600];
    snprintf(command, sizeof command,
             "sed '%s' " ENGINE_EXAMPLE "topol.top > '%s' && ! cmp -s '%s' " ENGINE_EXAMPLE
             "topol.top",
             edits[i], engine_path("other.top"), engine_path("other.top"));
    assert_int_equal(system(command), 0);
    job.topology = engine_path("other.top");
    assert_int_equal(tg_md_run(&job, &result), TG_ERR_INPUT);
    assert_non_null(strstr(tg_last_error(), "another topology"));
  }
}

static void an_earlier_run_is_refused_or_kept(void** state) {
  (void)state;
  engine_write_mdp("tiny.mdp", "nsteps = 2\ncoulombtype = reaction-field\nconstraints = h-bonds\n");
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("tiny.mdp");
  job.output = engine_path("again");
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
  assert_int_equal(tg_md_run(&job, &result), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "--force"));
  job.force = 1;
  engine_ok(tg_md_run(&job, &result));
  engine_same_bytes("again", "again", "energies.xvg.1");
}

static void a_blow_up_names_step_and_atom(void** state) {
  (void)state;
  engine_write_mdp("wild.mdp",
                   "dt = 0.02\nnsteps = 500\ncoulombtype = reaction-field\nconstraints = none\n"
                   "rcoulomb = 0.9\nrvdw = 0.9\nverlet-buffer-tolerance = -1\nrlist = 1\n");
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("wild.mdp");
  job.output = engine_path("wild");
  tg_md_run_result result;
  assert_int_equal(tg_md_run(&job, &result), TG_ERR_NUMERICS);
  assert_non_null(strstr(tg_last_error(), "step "));
  assert_non_null(strstr(tg_last_error(), "atom "));
  assert_non_null(strstr(tg_last_error(), "molecule "));
  engine_same_bytes("wild", "wild", "last_good.gro");
}

static void steepest_descent_goes_down(void** state) {
  (void)state;
  engine_write_mdp("em.mdp",
                   "integrator = steep\nnsteps = 60\nemtol = 100\nemstep = 0.01\n"
                   "coulombtype = reaction-field\nrcoulomb = 0.9\nrvdw = 0.9\n");
  double energy[2];
  for (int split = 0; split < 2; split++) {
    tg_md_job job = engine_job(NULL);
    job.parameters = engine_path("em.mdp");
    job.precision = "double";
    job.output = engine_path(split ? "em2" : "em1");
    if (split) memcpy(job.grid, (int[3]){2, 1, 2}, sizeof job.grid);
    tg_md_run_result result;
    engine_ok(tg_md_run(&job, &result));
    energy[split] = engine_last_energy(split ? "em2" : "em1", "Potential");
  }
  assert_true(energy[0] < reference[7].value - 10000);
  assert_true(fabs(energy[1] - energy[0]) < 1e-6 * fabs(energy[0]));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reference_energies_and_forces),
      cmocka_unit_test(virial_is_the_volume_derivative),
      cmocka_unit_test(energies_do_not_depend_on_the_grid),
      cmocka_unit_test(trajectories_do_not_depend_on_the_grid),
      cmocka_unit_test(runs_do_not_depend_on_the_schedule),
      cmocka_unit_test(a_continued_run_is_bit_identical),
      cmocka_unit_test(a_changed_topology_is_not_continued),
      cmocka_unit_test(an_earlier_run_is_refused_or_kept),
      cmocka_unit_test(a_blow_up_names_step_and_atom),
      cmocka_unit_test(steepest_descent_goes_down),
  };
  return cmocka_run_group_tests_name("engine", tests, engine_set_up, engine_tear_down);
}
