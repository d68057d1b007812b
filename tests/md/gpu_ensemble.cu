/* SPDX-License-Identifier: Apache-2.0 */
/* A long run at constant temperature on the GPU: means and widths of energies and pressure against
 * a run of the backend omp, and the kinetic energy against the canonical distribution.
 *
 * Figures of both runs have standard errors from the scatter of blocks of 5 ps, longer than any of
 * these quantities remembers (the slowest, the potential energy, 1.8 ps). Ten comparisons, 4
 * standard errors each: one in 1,500 right programs would fail, and a program either does or does
 * not, as a rerun gives the same bits.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: steps (200,000), ld-seed. */
#include <algorithm>

#include "base/units.h"
#include "md/gpu_files.cuh"

static const double step_ps = 0.002, apart_ps = 0.04, thrown_ps = 20, block_ps = 5, kelvin = 300;
static const double degrees_of_freedom = 11622; /* of the example, centre of mass at rest */

/* 200 ps of the example by `throng md run --backend omp`, two threads, with the .mdp below; the
 * first 20 ps left out. kJ/mol, bar. */
static const struct {
  const char* term;
  double mean, mean_error, width, width_error;
} of_cpu[] = {
    {"Kinetic En.", 14505.36, 6.44, 186.76, 2.78}, {"Potential", -72584.2, 41.3, 296.1, 9.9},
    {"LJ (SR)", 12866.6, 20.9, 294.9, 6.37},       {"Coulomb (SR)", -84383.6, 57.3, 465.8, 15.8},
    {"Pressure", 446.57, 16.9, 350.0, 5.09},
};

typedef struct moments {
  double mean, mean_error, width, width_error;
} moments;

static moments moments_of(const std::vector<double>& x) {
  const size_t length = (size_t)(block_ps / apart_ps), blocks = x.size() / length;
  double sum = 0, squares = 0, of_means[2] = {}, of_squares[2] = {};
  for (double value : x) sum += value;
  moments m;
  m.mean = sum / (double)x.size();
  for (double value : x) squares += (value - m.mean) * (value - m.mean);
  m.width = sqrt(squares / (double)x.size());
  for (size_t b = 0; b < blocks; b++) {
    double mean = 0, square = 0;
    for (size_t i = b * length; i < (b + 1) * length; i++) {
      mean += (x[i] - m.mean) / (double)length;
      square += (x[i] - m.mean) * (x[i] - m.mean) / (double)length;
    }
    of_means[0] += mean, of_means[1] += mean * mean;
    of_squares[0] += square, of_squares[1] += square * square;
  }
  const double n = (double)blocks;
  m.mean_error = sqrt((of_means[1] / n - of_means[0] / n * of_means[0] / n) / (n - 1));
  const double variance_error =
      sqrt((of_squares[1] / n - of_squares[0] / n * of_squares[0] / n) / (n - 1));
  m.width_error = variance_error / (2 * m.width);
  return m;
}

static std::vector<double> samples(const std::vector<numbers>& lines, const char* term) {
  std::vector<double> out;
  for (size_t i = (size_t)(thrown_ps / apart_ps); i < lines.size(); i++)
    out.push_back(lines[i].at(term)[0]);
  return out;
}

static bool near(const char* what, double a, double a_error, double b, double b_error) {
  const double error = hypot(a_error, b_error), apart = (a - b) / error;
  printf("    %-20s GPU %11.2f +- %6.2f, CPU %11.2f +- %6.2f: %+.1f standard errors\n", what, a,
         a_error, b, b_error, apart);
  return fabs(apart) <= 4;
}

static bool moments_are_the_cpus(const std::vector<numbers>& lines) {
  bool right = true;
  for (const auto& cpu : of_cpu) {
    const moments m = moments_of(samples(lines, cpu.term));
    const std::string width = std::string("  width of it");
    right = near(cpu.term, m.mean, m.mean_error, cpu.mean, cpu.mean_error) && right;
    right = near(width.c_str(), m.width, m.width_error, cpu.width, cpu.width_error) && right;
  }
  EXPECT(right);
  return true;
}

/* Of a gamma distribution of large shape, by Wilson and Hilferty's cube root, good to 1e-4. */
static double gamma_below(double x, double shape) {
  const double z = (cbrt(x / shape) - 1 + 1 / (9 * shape)) * 3 * sqrt(shape);
  return 0.5 * erfc(-z / sqrt(2.0));
}

/* The largest distance of every so manieth sample's distribution, from the first on, from the
 * canonical one; scale: of their temperature. */
static double distance(const std::vector<double>& all, size_t first, size_t every, double scale,
                       size_t* count) {
  std::vector<double> x;
  for (size_t i = first; i < all.size(); i += every)
    x.push_back(scale * all[i] / (TG_BOLTZMANN * kelvin));
  std::sort(x.begin(), x.end());
  const double n = (double)x.size();
  double most = 0;
  for (size_t i = 0; i < x.size(); i++) {
    const double below = gamma_below(x[i], degrees_of_freedom / 2);
    most = fmax(most, fmax(fabs(below - (double)i / n), fabs((double)(i + 1) / n - below)));
  }
  *count = x.size();
  return most;
}

/* Kolmogorov and Smirnov's test. The kinetic energy remembers 0.1 ps, so samples 0.4 ps apart are
 * nearly independent (correlation 0.06, as a part of it follows the potential energy's 1.8 ps): one
 * in a thousand independent sets lies beyond 1.95 / sqrt(count), of these a few. */
static bool kinetic_energy_is_canonical(const std::vector<numbers>& lines) {
  const std::vector<double> all = samples(lines, "Kinetic En.");
  size_t count, other;
  const double most = distance(all, 0, 10, 1, &count), allowed = 1.95 / sqrt((double)count);
  printf(
      "    %zu samples, largest distance from the canonical distribution %.4f, allowed %.4f; "
      "shifted by half: %.4f, all: %.4f\n",
      count, most, allowed, distance(all, 5, 10, 1, &other), distance(all, 0, 1, 1, &other));
  EXPECT(count >= 100 && most < allowed);
  EXPECT(distance(all, 0, 10, 1.01, &other) > allowed); /* it notices a temperature 1 % too high */
  return true;
}

int main(int argc, char** argv) {
  if (!make_scratch()) return 77;
  const long steps = argc > 1 ? atol(argv[1]) : 200000, seed = argc > 2 ? atol(argv[2]) : 20261130;
  tg_md_run_result result;
  const std::string mdp =
      std::string(field) +
      "dt = 0.002\nconstraints = h-bonds\ntcoupl = v-rescale\ntc-grps = System\nref-t = 300\n"
      "tau-t = 0.1\nnsttcouple = 10\ncomm-mode = linear\nnstcomm = 100\n"
      "nstenergy = 20\nnstcalcenergy = 20\nnsteps = " +
      std::to_string(steps) + "\nld-seed = " + std::to_string(seed) + "\n";
  if (run(mdp, "cuda", "nvt", false, &result)) {
    const std::vector<numbers> lines = read_energies(scratch + "/nvt");
    printf("    %.0f ps in %.2f s, conserved energy drifts by %.2g kJ/mol/ps per atom\n",
           (double)steps * step_ps, result.wall_s, result.drift);
    report(moments_are_the_cpus(lines), "means and widths");
    report(kinetic_energy_is_canonical(lines), "the kinetic energy's distribution");
  } else {
    report(false, "the run");
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
