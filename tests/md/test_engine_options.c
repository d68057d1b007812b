/* SPDX-License-Identifier: Apache-2.0 */
/* What an .mdp file can switch, one after the other: energies of both backends, forces against the
 * energy's derivative, thermostats, the motion of groups. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/units.h"
#include "md/energies.h"
#include "md/engine_runs.h"

enum { ETHANOL_ATOMS = 1125 };

/* topol.top with position restraints on the ethanols' carbons and oxygen. */
static void write_restrained_topology(void) {
  FILE* in = fopen(ENGINE_EXAMPLE "topol.top", "r");
  FILE* out = fopen(engine_path("restrained.top"), "w");
  assert_true(in && out);
  char line[256];
  int molecules = 0;
  while (fgets(line, sizeof line, in)) {
    if (strncmp(line, "[ moleculetype ]", 16) == 0 && ++molecules == 2)
      fputs("[ position_restraints ]\n1 1 1000 2000 3000\n5 1 500 0 500\n8 1 1e3 1e3 1e3\n", out);
    fputs(line, out);
  }
  assert_int_equal(molecules, 2);
  fclose(in);
  assert_int_equal(fclose(out), 0);
}

static const struct {
  const char* name;
  const char* mdp;
  int restrained;
} variants[] = {
    {"h-bonds", "constraints = h-bonds\ncoulombtype = reaction-field\n", 0},
    {"all-bonds", "constraints = all-bonds\ncoulombtype = reaction-field\n", 0},
    {"flexible bonds", "constraints = none\ncoulombtype = reaction-field\n", 0},
    {"finite permittivity",
     "coulombtype = reaction-field\nepsilon-rf = 78\nepsilon-r = 1.5\nconstraints = h-bonds\n", 0},
    {"cut-off", "coulombtype = cut-off\nconstraints = h-bonds\n", 0},
    {"nothing shifted", "coulombtype = cut-off\ncoulomb-modifier = none\nvdw-modifier = none\n", 0},
    {"restraints", "coulombtype = reaction-field\ncomm-mode = none\n", 1},
};

static tg_md_job variant_job(size_t v, const char* backend, const char* configuration) {
  char text[512];
  snprintf(text, sizeof text, "rcoulomb = 0.9\nrvdw = 0.9\n%s", variants[v].mdp);
  engine_write_mdp("variant.mdp", text);
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("variant.mdp");
  job.configuration = configuration;
  job.backend = backend;
  job.precision = "double";
  if (variants[v].restrained) {
    job.topology = engine_path("restrained.top");
    job.restraints = ENGINE_EXAMPLE "conf.gro";
  }
  return job;
}

static double potential(size_t v, const tg_configuration* x) {
  engine_ok(tg_configuration_save_gro(x, 12, engine_path("moved.gro")));
  tg_md_job job = variant_job(v, "omp", engine_path("moved.gro"));
  tg_md_energy_result result;
  engine_ok(tg_md_energy(&job, &result));
  double energy = result.terms[TG_E_POTENTIAL];
  tg_md_energy_free(&result);
  return energy;
}

/* Sums of 2 million terms in another order: 1e-12 of the sum of their sizes, some ten times the
 * result. Central difference: h^2 / 6 times the third derivative, below 1e8 for the stiffest bond
 * (3 k / r^2), 1e-10 * 1e8 / 6 = 2e-3; rounding of 1e5 kJ/mol to 1e-14, over h: 1e-4. Energies that
 * jump at the cut-off: 2e-5 nm of path meet 0.02 pairs, none for these atoms. */
static void backends_agree_and_forces_are_derivatives(void** state) {
  (void)state;
  static const size_t moved[] = {1, 7, 4, 2000}; /* a hydrogen, oxygen, carbon; water */
  const double h = 1e-5;
  write_restrained_topology();
  tg_configuration x;
  engine_ok(tg_configuration_read(ENGINE_EXAMPLE "conf.gro", &x));
  for (size_t i = 0; i < x.count; i++) /* off the reference positions */
    for (int d = 0; d < 3; d++) x.x[i][d] += 1e-3 * sin((double)(3 * i) + d);
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    tg_md_energy_result ref, omp;
    engine_ok(tg_configuration_save_gro(&x, 12, engine_path("start.gro")));
    tg_md_job job = variant_job(v, "ref", engine_path("start.gro"));
    engine_ok(tg_md_energy(&job, &ref));
    job.backend = "omp";
    engine_ok(tg_md_energy(&job, &omp));
    for (int t = 0; t < ref.term_count; t++)
      if (!(fabs(ref.terms[t] - omp.terms[t]) <= 1e-11 * fmax(1, 10 * fabs(ref.terms[t]))))
        fail_msg("%s: %s is %.15g and %.15g", variants[v].name, tg_md_energy_label(t), ref.terms[t],
                 omp.terms[t]);
    for (size_t i = 0; i < ENGINE_ATOMS; i++)
      for (int d = 0; d < 3; d++)
        if (!(fabs(ref.forces[i][d] - omp.forces[i][d]) < 1e-7))
          fail_msg("%s: the force on atom %zu is %.15g and %.15g", variants[v].name, i + 1,
                   ref.forces[i][d], omp.forces[i][d]);
    if (variants[v].restrained) assert_true(omp.terms[TG_E_RESTRAINT] > 0.01);
    for (size_t m = 0; m < sizeof moved / sizeof *moved; m++) {
      size_t i = moved[m];
      int d = (int)(m + v) % 3;
      double kept = x.x[i][d];
      x.x[i][d] = kept + h;
      double above = potential(v, &x);
      x.x[i][d] = kept - h;
      double below = potential(v, &x);
      x.x[i][d] = kept;
      double derivative = -(above - below) / (2 * h);
      if (!(fabs(derivative - omp.forces[i][d]) < 5e-3))
        fail_msg("%s: the force on atom %zu is %.8g, the energy's derivative %.8g",
                 variants[v].name, i + 1, omp.forces[i][d], derivative);
    }
    tg_md_energy_free(&ref);
    tg_md_energy_free(&omp);
  }
  tg_configuration_free(&x);
}

static double mass_of(size_t i) {
  static const double ethanol[9] = {12.011, 1.008, 1.008,   1.008, 12.011,
                                    1.008,  1.008, 15.9994, 1.008};
  return i < ETHANOL_ATOMS ? ethanol[i % 9] : i % 3 == 0 ? 15.9994 : 1.008;
}

/* Momentum and twice the kinetic energy of atoms [first, last). */
static void add_up(const double (*v)[3], size_t first, size_t last, double momentum[4]) {
  memset(momentum, 0, 4 * sizeof *momentum);
  for (size_t i = first; i < last; i++)
    for (int d = 0; d < 3; d++) {
      momentum[d] += mass_of(i) * v[i][d];
      momentum[3] += mass_of(i) * v[i][d] * v[i][d];
    }
}

static void run_checkpoint(const char* name, const char* mdp, const char* gro, const char* index,
                           tg_checkpoint* out) {
  engine_write_mdp("groups.mdp", mdp);
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("groups.mdp");
  if (gro) job.configuration = gro;
  job.index = index;
  job.precision = "double";
  job.output = engine_path(name);
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
  char path[300];
  snprintf(path, sizeof path, "%s/state.cpt", engine_path(name));
  engine_ok(tg_checkpoint_read(path, out));
}

/* The ethanols start with 0.1 nm/ps along x. Without removal the total momentum stays; with each
 * group's motion removed both vanish, but for what the groups give each other in one step. */
static void the_motion_of_groups_is_removed(void** state) {
  (void)state;
  tg_configuration x;
  engine_ok(tg_configuration_read(ENGINE_EXAMPLE "conf.gro", &x));
  for (size_t i = 0; i < ETHANOL_ATOMS; i++) x.v[i][0] += 0.1;
  engine_ok(tg_configuration_save_gro(&x, 6, engine_path("drifting.gro")));
  double start[4], ethanol[4], all[4];
  add_up((const double(*)[3])x.v, 0, ENGINE_ATOMS, start);
  double ethanol_mass = 125 * (2 * 12.011 + 6 * 1.008 + 15.9994);
  tg_configuration_free(&x);
  static const char* const modes[] = {"comm-mode = none\n",
                                      "comm-mode = linear\ncomm-grps = ETH SOL\nnstcomm = 1\n"};
  for (int removed = 0; removed < 2; removed++) {
    char mdp[512];
    snprintf(mdp, sizeof mdp,
             ENGINE_PHYSICS
             "dt = 0.001\nnsteps = 20\nverlet-buffer-tolerance = -1\n"
             "rlist = 1.0\nnstlist = 10\n%s",
             modes[removed]);
    tg_checkpoint end;
    run_checkpoint(removed ? "removed" : "kept", mdp, engine_path("drifting.gro"), NULL, &end);
    assert_int_equal(end.step, 20);
    add_up((const double(*)[3])end.v, 0, ENGINE_ATOMS, all);
    add_up((const double(*)[3])end.v, 0, ETHANOL_ATOMS, ethanol);
    tg_checkpoint_free(&end);
    /* rounding: 20 steps of 5625 momenta of up to 100 amu nm/ps, and pairs of forces of 1e3
     * kJ/mol/nm that cancel to 1e-13 */
    for (int d = 0; d < 3; d++)
      if (!(fabs(all[d] - (removed ? 0 : start[d])) < 1e-7))
        fail_msg("%s: momentum %.12g along %c", modes[removed], all[d], "xyz"[d]);
    double velocity = ethanol[0] / ethanol_mass;
    assert_true(removed ? fabs(velocity) < 0.02 : velocity > 0.04);
  }
}

/* Groups of an .ndx file do what the molecules' own do. */
static void index_groups_are_groups(void** state) {
  (void)state;
  FILE* index = fopen(engine_path("two.ndx"), "w");
  assert_non_null(index);
  fputs("[ first ]\n", index);
  for (int i = 1; i <= ENGINE_ATOMS; i++)
    fprintf(index, "%s%d\n", i == ETHANOL_ATOMS + 1 ? "[ rest ]\n" : "", i);
  assert_int_equal(fclose(index), 0);
  static const char* const names[] = {"ETH SOL", "first rest"};
  for (int i = 0; i < 2; i++) {
    char mdp[512];
    snprintf(mdp, sizeof mdp,
             ENGINE_PHYSICS
             "dt = 0.002\nnsteps = 20\nnstlist = 10\nnstenergy = 5\nnstcalcenergy = 5\n"
             "tcoupl = v-rescale\nref-t = 250 330\ntau-t = 0.1 0.05\nld-seed = 3\n"
             "tc-grps = %s\n",
             names[i]);
    tg_checkpoint end;
    run_checkpoint(i ? "index" : "molecules", mdp, NULL, i ? engine_path("two.ndx") : NULL, &end);
    tg_checkpoint_free(&end);
  }
  engine_same_bytes("molecules", "index", "energies.xvg");
}

/* From 300 K to another temperature within a few coupling times of 0.02 ps, and staying there. The
 * temperature of n = 11,622 degrees of freedom fluctuates by T sqrt(2/n) = 4.3 K; a mean over 0.4
 * ps, some ten times the memory, by 1.4 K; five of that. The potential energy, which follows within
 * a picosecond, takes up to (kT n / 2 per ps) * tau: 2 % of the way of 30 K. */
static void thermostats_reach_their_temperature(void** state) {
  (void)state;
  static const struct {
    const char* name;
    const char* mdp;
    double mean;
  } runs[] = {
      {"berendsen", "tcoupl = berendsen\ntc-grps = System\ntau-t = 0.02\nref-t = 330\n", 330},
      {"v-rescale", "tcoupl = v-rescale\ntc-grps = System\ntau-t = 0.02\nref-t = 330\n", 330},
      /* 2622 and 9000 degrees of freedom */
      {"two", "tcoupl = v-rescale\ntc-grps = ETH SOL\ntau-t = 0.02 0.02\nref-t = 240 330\n",
       (2622 * 240 + 9000 * 330) / 11622.0},
  };
  for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
    char mdp[512];
    snprintf(mdp, sizeof mdp,
             ENGINE_PHYSICS
             "dt = 0.002\nnsteps = 300\nnstlist = 20\nnsttcouple = 2\nld-seed = 5\n"
             "nstenergy = 5\nnstcalcenergy = 5\n%s",
             runs[r].mdp);
    tg_checkpoint end;
    run_checkpoint(runs[r].name, mdp, NULL, NULL, &end);
    double *temperature = NULL, mean, rms, ethanol[4], water[4];
    size_t rows = engine_column(runs[r].name, "Temperature", NULL, &temperature);
    assert_int_equal(rows, 61);
    engine_moments(temperature, 21, rows, &mean, &rms);
    tg_free(temperature);
    if (!(fabs(mean - runs[r].mean) < 8) || !(rms < 10))
      fail_msg("%s: %.2f K +- %.2f, expected %.2f", runs[r].name, mean, rms, runs[r].mean);
    assert_true(end.step > 200);
    add_up((const double(*)[3])end.v, 0, ETHANOL_ATOMS, ethanol);
    add_up((const double(*)[3])end.v, ETHANOL_ATOMS, ENGINE_ATOMS, water);
    tg_checkpoint_free(&end);
    /* one frame: 240 K and 330 K, each within five fluctuations of 6.6 and 4.9 K */
    double of_ethanol = ethanol[3] / (2622 * TG_BOLTZMANN),
           of_water = water[3] / (9000 * TG_BOLTZMANN);
    if (r == 2 && (!(fabs(of_ethanol - 240) < 33) || !(fabs(of_water - 330) < 25)))
      fail_msg("ethanol has %.2f K, water %.2f K", of_ethanol, of_water);
  }
}

static void a_job_on_gpus_is_refused(void** state) {
  (void)state;
  tg_md_energy_result energies;
  tg_md_job job = variant_job(0, "ref", ENGINE_EXAMPLE "conf.gro");
  job.transport = "nvshmem";
  assert_int_equal(tg_md_energy(&job, &energies), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "transport \"nvshmem\": its memory lies on GPUs"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(backends_agree_and_forces_are_derivatives),
      cmocka_unit_test(the_motion_of_groups_is_removed),
      cmocka_unit_test(index_groups_are_groups),
      cmocka_unit_test(thermostats_reach_their_temperature),
      cmocka_unit_test(a_job_on_gpus_is_refused),
  };
  return cmocka_run_group_tests_name("engine options", tests, engine_set_up, engine_tear_down);
}
