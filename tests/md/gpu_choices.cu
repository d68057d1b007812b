/* SPDX-License-Identifier: Apache-2.0 */
/* What a run on the GPU chooses for itself: list intervals by measured time, and who computes the
 * forces of a minimisation. Runs of the same choice are the same to the byte; a minimisation goes
 * down like the CPU's.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include "md/gpu_files.cuh"

extern "C" {
#include "base/interrupt.h"
}

static tg_md_run_result chosen;

static void tuned(tg_md_job* job) { job->tune = 1; }
static void as_chosen(tg_md_job* job) {
  job->nstlist = chosen.nstlist;
  job->prune_interval = chosen.prune_interval;
}

/* Tunes a run, asks for what it found, and stops and continues another tuned run. */
static bool tuning_is_kept() {
  tg_md_run_result result, formula;
  const std::string mdp = plain + coupled + "nstenergy = 10\nnstxout = 70\n";
  const std::string whole = mdp + "nsteps = 600\n";
  if (!run(whole, "cuda", "formula", false, &formula)) return false;
  prepare = tuned;
  bool right = run(whole, "cuda", "tuned", false, &chosen);
  prepare = as_chosen;
  right = right && run(whole, "cuda", "asked", false, &result);
  prepare = tuned;
  right = right && run(mdp + "nsteps = 333\n", "cuda", "halves", false, &result);
  const tg_md_run_result first = result;
  right = right && run(whole, "cuda", "halves", true, &result);
  prepare = nullptr;
  if (!right) return false;
  printf("    %s", read_file(scratch + "/tuned/tuning.json").c_str());
  printf("    formula: every %d steps, %d; tuned: %d, %d\n", formula.nstlist,
         formula.prune_interval, chosen.nstlist, chosen.prune_interval);
  EXPECT(result.nstlist == first.nstlist && result.prune_interval == first.prune_interval);
  EXPECT(result.inner_radius == first.inner_radius && result.list_radius == first.list_radius);
  EXPECT(read_file(scratch + "/tuned/tuning.json").find("\"measured\"") != std::string::npos);
  EXPECT(read_file(scratch + "/tuned/md.log").find("tuning: every ") != std::string::npos);
  EXPECT(read_file(scratch + "/formula/tuning.json").empty());
  return same_files("tuned", "asked");
}

static bool tuning_can_be_interrupted() {
  tg_md_run_result result;
  prepare = tuned;
  tg_interrupt_request(true);
  const bool right =
      run_to(TG_ERR_INTERRUPTED, plain + "nsteps = 50\n", "cuda", "stopped", false, &result);
  tg_interrupt_request(false);
  prepare = nullptr;
  EXPECT(right && strstr(tg_last_error(), "before the first step") != NULL);
  return true;
}

/* Where the .mdp file gives the lists there is nothing to tune. */
static bool given_lists_stay() {
  tg_md_run_result result;
  prepare = tuned;
  const bool done = run(plain + "verlet-buffer-tolerance = -1\nrlist = 1.05\nnsteps = 50\n", "cuda",
                        "given", false, &result);
  prepare = nullptr;
  EXPECT(done && result.nstlist == 10 && result.list_radius == 1.05);
  EXPECT(read_file(scratch + "/given/tuning.json").empty());
  return true;
}

/* Potentials of the same tries: both sides accept the same ones, and differ by the precision of
 * floats in pair energies, 1e-6 of their sum at the most. */
static bool minimises(const char* name, const std::string& mdp, bool overlaps) {
  tg_md_run_result cpu, gpu;
  const std::string on_cpu = std::string(name) + "-cpu", on_gpu = std::string(name) + "-gpu";
  if (!run(mdp, "omp", on_cpu, false, &cpu) || !run(mdp, "cuda", on_gpu, false, &gpu)) return false;
  const std::vector<numbers> a = read_energies(scratch + "/" + on_gpu);
  const std::vector<numbers> b = read_energies(scratch + "/" + on_cpu);
  EXPECT(a.size() > 5 && a.size() == b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); i++) {
    const double mine = a[i].at("Potential")[0], theirs = b[i].at("Potential")[0];
    const double scale = fabs(b[i].at("LJ (SR)")[0]) + fabs(b[i].at("Coulomb (SR)")[0]);
    if (a[i].at("step")[0] != b[i].at("step")[0]) printf("    other steps at line %zu\n", i);
    EXPECT(a[i].at("step")[0] == b[i].at("step")[0]);
    worst = fmax(worst, fabs(mine - theirs) / scale);
  }
  printf(
      "    %s: %.8g and %.8g kJ/mol after %lld steps, largest forces %.6g and %.6g; at most "
      "%.2g of the energies apart\n",
      name, a.back().at("Potential")[0], b.back().at("Potential")[0], gpu.last_step,
      gpu.largest_force, cpu.largest_force, worst);
  EXPECT(worst <= 1e-6);
  EXPECT(gpu.converged == cpu.converged && gpu.last_step == cpu.last_step);
  EXPECT(fabs(gpu.largest_force - cpu.largest_force) <= 1e-3 * cpu.largest_force);
  EXPECT(!overlaps || b[0].at("Potential")[0] > b.back().at("Potential")[0] + 1000);
  return true;
}

/* The example with one atom moved by 0.07 nm, so that forces begin beyond what the GPU may sum. */
static bool with_overlap(const std::string& mdp) {
  const std::string before = input;
  std::string gro = read_file(input + "conf.gro");
  const size_t line = gro.find('\n', gro.find('\n') + 1) + 1;
  char moved[16];
  snprintf(moved, sizeof moved, "%8.3f", atof(gro.substr(line + 20, 8).c_str()) + 0.07);
  gro.replace(line + 20, 8, moved);
  if (!write_file(scratch + "/conf.gro", gro) ||
      !write_file(scratch + "/topol.top", read_file(input + "topol.top")))
    return false;
  input = scratch + "/";
  const bool right = minimises("overlap", mdp, true);
  input = before;
  return right;
}

int main() {
  if (!make_scratch()) return 77;
  const std::string down =
      "integrator = steep\ncoulombtype = Reaction-Field\nrcoulomb = 0.9\nepsilon-rf = 0\nvdwtype = "
      "Cut-off\nrvdw = 0.9\nemstep = 0.01\nnstenergy = 1\n";
  report(tuning_is_kept(), "tuned lists");
  report(tuning_can_be_interrupted(), "tuning that is interrupted");
  report(given_lists_stay(), "lists that are given");
  report(minimises("down", down + "constraints = h-bonds\nnsteps = 100\nemtol = 10\n", false),
         "a minimisation");
  report(minimises("to-the-end", down + "constraints = none\nnsteps = 300\nemtol = 1500\n", false),
         "a minimisation that converges");
  report(with_overlap(down + "constraints = none\nnsteps = 60\nemtol = 10\n"),
         "a minimisation from an overlap");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
