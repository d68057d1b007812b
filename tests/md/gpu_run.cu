/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs on the GPU against the same runs on the CPU in double precision: energies, positions,
 * velocities and forces step by step; reruns and continued runs to the bit.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include "md/gpu_files.cuh"

/* Both backends, 20 steps with all output. The forces of the start agree to the precision of
 * floats in pair forces; from there errors grow. */
static bool agrees(const char* name, const std::string& more) {
  const std::string mdp = std::string(field) + more +
                          "verlet-buffer-tolerance = 1e-6\nnsteps = 20\nnstenergy = "
                          "1\nnstcalcenergy = 1\nnstxout = 1\nnstvout = "
                          "1\nnstfout = 1\n";
  tg_md_run_result cpu, gpu;
  if (!run(mdp, "omp", std::string(name) + "-cpu", false, &cpu)) return false;
  if (!run(mdp, "cuda", std::string(name) + "-gpu", false, &gpu)) return false;
  const std::vector<numbers> a = read_energies(scratch + "/" + name + "-gpu");
  const std::vector<numbers> b = read_energies(scratch + "/" + name + "-cpu");
  const std::vector<frame> x = read_trr(scratch + "/" + name + "-gpu");
  const std::vector<frame> y = read_trr(scratch + "/" + name + "-cpu");
  EXPECT(a.size() == 21 && b.size() == 21 && x.size() == 21 && y.size() == 21);
  for (size_t i = 0; i < a.size(); i += i == 0 ? 1 : i == 1 ? 4 : 15) {
    printf("  step %zu: rms apart: x %.2e nm, v %.2e of %.2f nm/ps, f %.2e of %.0f\n", i,
           rms_apart(x[i], y[i], 0), rms_apart(x[i], y[i], 1), rms_of(y[i].part[1]),
           rms_apart(x[i], y[i], 2) / rms_of(y[i].part[2]), rms_of(y[i].part[2]));
    for (const auto& term : b[i]) {
      const auto& mine = a[i].at(term.first);
      double worst = 0;
      for (size_t k = 0; k < mine.size(); k++) worst = fmax(worst, fabs(mine[k] - term.second[k]));
      if (worst > 0)
        printf("    %-20s %.8g, %.3g from %.8g\n", term.first.c_str(), mine[0], worst,
               term.second[0]);
    }
  }
  EXPECT(rms_apart(x[0], y[0], 0) <= 1e-6);
  EXPECT(rms_apart(x[0], y[0], 2) <= 1e-4 * rms_of(y[0].part[2]));
  EXPECT(rms_apart(x[20], y[20], 0) <= 1e-5);
  for (size_t i = 0; i < a.size(); i++) {
    const double scale = fabs(b[i].at("Potential")[0]) + b[i].at("Kinetic En.")[0];
    for (const auto& term : b[i]) {
      const std::string& label = term.first;
      if (label == "Pressure" || label == "Temperature" || label == "Constr. rmsd") continue;
      const auto& mine = a[i].at(label);
      for (size_t k = 0; k < mine.size(); k++) {
        const bool right = fabs(mine[k] - term.second[k]) <= 1e-5 * scale;
        if (!right)
          printf("    step %zu, %s: %.8g, %.8g\n", i, label.c_str(), mine[k], term.second[k]);
        if (label != "pressure_bar") EXPECT(right);
      }
    }
    EXPECT(fabs(a[i].at("Pressure")[0] - b[i].at("Pressure")[0]) <= 5);
    EXPECT(fabs(a[i].at("Temperature")[0] - b[i].at("Temperature")[0]) <= 0.01);
    if (b[i].count("Constr. rmsd"))
      EXPECT(a[i].at("Constr. rmsd")[0] <= 1.2 * b[i].at("Constr. rmsd")[0] + 1e-7);
  }
  return true;
}

/* Chains of five atoms with every kind of interaction that the example lacks. */
static const char chains[] =
    "[ defaults ]\n1 2 yes 0.5 0.5\n[ atomtypes ]\nX 6 12.0 0.0 A 0.3 0.3\n[ moleculetype ]\nMOL "
    "3\n"
    "[ atoms ]\n1 X 1 MOL C1 1 0.2 12.0\n2 X 1 MOL C2 2 -0.3 12.0\n3 X 1 MOL C3 3 0.25 12.0\n"
    "4 X 1 MOL C4 4 -0.35 12.0\n5 X 1 MOL C5 5 0.2 12.0\n"
    "[ bonds ]\n1 2 1 0.15 200000\n2 3 1 0.15 200000\n3 4 1 0.15 200000\n4 5 1 0.15 200000\n"
    "[ angles ]\n1 2 3 1 110 400\n2 3 4 1 105 300\n3 4 5 1 112 350\n"
    "[ dihedrals ]\n1 2 3 4 9 30 4 2\n1 2 3 4 9 0 2 3\n2 3 4 5 3 1 -2 3 0.5 0.2 -0.1\n"
    "1 2 3 4 2 150 30\n2 3 4 5 4 180 5 2\n[ pairs ]\n1 4 1\n2 5 1\n"
    "[ position_restraints ]\n1 1 1000 800 500\n4 1 0 300 700\n"
    "[ system ]\nchains\n[ molecules ]\nMOL 125\n";

static std::string chains_gro(double shift) {
  static const double at[5][3] = {
      {0, 0, 0}, {0.15, 0, 0}, {0.2, 0.14, 0}, {0.34, 0.16, 0.05}, {0.38, 0.3, 0.08}};
  std::string out = "chains\n625\n";
  char line[128];
  for (int i = 0; i < 625; i++) {
    const int m = i / 5, cell[3] = {m % 5, m / 5 % 5, m / 25};
    snprintf(line, sizeof line, "%5dMOL     C%d%5d", m + 1, i % 5 + 1, i + 1);
    out += line;
    for (int d = 0; d < 3; d++) {
      const double bent = 0.03 * uniform((uint64_t)i, (uint64_t)d);
      snprintf(line, sizeof line, "%8.3f", 0.84 * cell[d] + at[i % 5][d] + bent + shift);
      out += line;
    }
    out += "\n";
  }
  return out + "   4.20000   4.20000   4.20000\n";
}

/* Reference positions are off by so much that some are nearer across the box's face. */
static bool all_interactions() {
  const std::string before[2] = {input, reference};
  if (!write_file(scratch + "/conf.gro", chains_gro(0)) ||
      !write_file(scratch + "/reference.gro", chains_gro(-0.02)) ||
      !write_file(scratch + "/topol.top", chains))
    return false;
  input = scratch + "/";
  reference = "reference.gro";
  const bool right = agrees("chains", "dt = 0.0005\ncomm-mode = none\n");
  input = before[0];
  reference = before[1];
  return right;
}

static bool reruns_are_the_same() {
  tg_md_run_result result;
  const std::string mdp =
      plain + coupled + "nsteps = 500\nnstenergy = 50\nnstxout = 130\nnstvout = 500\n";
  return run(mdp, "cuda", "once", false, &result) && run(mdp, "cuda", "again", false, &result) &&
         same_files("once", "again");
}

/* The first run ends within a list's life; the second goes back to its search. */
static bool continued_is_the_same() {
  tg_md_run_result result;
  const std::string mdp = plain + coupled + "nstenergy = 10\nnstxout = 70\n";
  return run(mdp + "nsteps = 600\n", "cuda", "whole", false, &result) &&
         run(mdp + "nsteps = 333\n", "cuda", "parts", false, &result) &&
         run(mdp + "nsteps = 600\n", "cuda", "parts", true, &result) &&
         same_files("whole", "parts");
}

/* Pieces of 5,000 steps of these 5,625 atoms scatter by 1.2e-4: noise of the energies at their
 * ends. So a drift takes more steps, a second and a half. */
static bool drifts_little(long steps) {
  tg_md_run_result result;
  const std::string mdp = std::string(plain) +
                          "comm-mode = none\nnstenergy = 1000\nnsteps = " + std::to_string(steps) +
                          "\nverlet-buffer-tolerance = 1e-4\n";
  if (!run(mdp, "cuda", "drift", false, &result)) return false;
  printf("    %ld steps: drift %.3g kJ/mol/ps per atom, %.2f K, %.1f us a step\n", steps,
         result.drift, result.mean_temperature, 1e6 * result.wall_s / (double)steps);
  EXPECT(fabs(result.drift) < 2e-4);
  return true;
}

int main(int argc, char** argv) {
  if (!make_scratch()) return 77;
  const std::string held = "dt = 0.002\nconstraints = h-bonds\n";
  report(agrees("nve", held + "comm-mode = none\n"), "NVE");
  report(
      agrees("rescale", held + "tcoupl = v-rescale\ntc-grps = System\nref-t = 310\ntau-t = 0.05\n"
                               "nsttcouple = 2\ncomm-mode = linear\nnstcomm = 3\nld-seed = 5\n"),
      "v-rescale, centre of mass removed");
  report(agrees("groups",
                held + "tcoupl = Berendsen\ntc-grps = ETH SOL\nref-t = 310 290\ntau-t = 0.1 0.2\n"
                       "nsttcouple = 1\ncomm-mode = linear\nnstcomm = 1\n"),
         "Berendsen, two groups");
  report(agrees("all-bonds", "dt = 0.002\nconstraints = all-bonds\ncomm-mode = none\n"),
         "all bonds");
  report(agrees("free", "constraints = none\ndt = 0.0005\ncomm-mode = none\n"), "no constraints");
  report(all_interactions(), "all interactions");
  report(reruns_are_the_same(), "reruns are the same");
  report(continued_is_the_same(), "a continued run is the same");
  report(drifts_little(argc > 1 ? atol(argv[1]) : 60000), "drift");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
