/* SPDX-License-Identifier: Apache-2.0 */
/* What comes between the steps of a run on the GPU: lists that outgrow their room, a signal, a
 * system that blows up, a full disk. Where a run goes on, it gives the bytes of one that nothing
 * came between.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <signal.h>
#include <sys/resource.h>

#include "md/gpu_files.cuh"

extern "C" {
#include "base/interrupt.h"
}
extern "C" void tg_run_device_first_room(double room); /* md/device_run.h, which is not for C++ */

/* The steps that a run went back to for more room, from its log. */
static std::vector<long> regrown(const std::string& name) {
  static const char words[] = "the steps from ";
  std::vector<long> out;
  const std::string log = read_file(scratch + "/" + name + "/md.log");
  for (size_t at = 0; (at = log.find("outgrown its room", at)) != std::string::npos; at++)
    out.push_back(atol(log.c_str() + log.find(words, at) + strlen(words)));
  return out;
}

/* Atoms without interactions that fly towards one point, to 64 times their density, in straight
 * lines, whatever becomes of the pair list: its rows outgrow their room on the way. */
static bool flies_straight() {
  const int count = 8000, steps = 200;
  const double edge = 9, dt = 0.002, way = 0.75;
  std::string gro = "focus\n8000\n";
  char line[128];
  std::vector<double> x, v;
  for (int i = 0; i < count; i++) {
    snprintf(line, sizeof line, "%5dX        X%5d", i + 1, i + 1);
    gro += line;
    for (int d = 0; d < 3; d++) {
      x.push_back(1e-3 * rint(1e3 * (0.01 + (edge - 0.02) * uniform((uint64_t)i, (uint64_t)d))));
      v.push_back(1e-4 * rint(1e4 * (way * (edge / 2 - x.back()) / (steps * dt))));
      snprintf(line, sizeof line, "%8.3f", x.back());
      gro += line;
    }
    for (int d = 3; d > 0; d--) {
      snprintf(line, sizeof line, "%8.4f", v[v.size() - (size_t)d]);
      gro += line;
    }
    gro += "\n";
  }
  gro += "   9.00000   9.00000   9.00000\n";
  const std::string before = input;
  if (!write_file(scratch + "/conf.gro", gro) ||
      !write_file(scratch + "/topol.top",
                  "[ defaults ]\n1 2 no 1 1\n[ atomtypes ]\nX 6 12.0 0.0 A 0 0\n[ moleculetype ]\n"
                  "X 0\n[ atoms ]\n1 X 1 X X 1 0.0 12.0\n[ system ]\nfocus\n[ molecules ]\n"
                  "X 8000\n"))
    return false;
  tg_md_run_result result;
  input = scratch + "/";
  const bool done = run(std::string(field) +
                            "dt = 0.002\ncomm-mode = none\nverlet-buffer-tolerance = -1\nrlist = "
                            "1.0\nnsteps = 200\nnstenergy = 10\nnstxout = 15\n",
                        "cuda", "focus", false, &result);
  input = before;
  if (!done) return false;
  const std::vector<frame> frames = read_trr(scratch + "/focus");
  EXPECT(!regrown("focus").empty() && regrown("focus")[0] > 0);
  EXPECT(frames.size() == 14 && read_energies(scratch + "/focus").size() == 21);
  double worst = 0;
  for (size_t i = 0; i < x.size(); i++)
    for (const frame& f : frames) {
      const double apart = x[i] + v[i] * dt * f.step - (double)f.part[0][i];
      worst = fmax(worst, fabs(apart - edge * rint(apart / edge)));
    }
  printf("    %zu frames, largest error %.2g nm\n", frames.size(), worst);
  EXPECT(worst < 2e-6); /* 9 nm and 8 nm/ps for 0.4 ps in float, 200 displacements of 2^-32 box */
  return true;
}

static bool state_is_kept(const std::string& name) {
  EXPECT(!read_file(scratch + "/" + name + "/last_good.gro").empty());
  EXPECT(!read_file(scratch + "/" + name + "/state.cpt").empty());
  EXPECT(read_file(scratch + "/" + name + "/md.log").find("last good positions") !=
         std::string::npos);
  return true;
}

/* What went wrong leaves the state of the last search, from which the run can go on: bonds to
 * hydrogen, which swing in 9 fs, with a time step beyond a third of that; and a list too wide
 * for the box. */
static bool keeps_the_last_good_state() {
  tg_md_run_result result;
  const std::string mdp = std::string(field) + "constraints = none\ncomm-mode = none\n";
  if (!run_to(TG_ERR_NUMERICS, mdp + "nsteps = 2000\ndt = 0.004\n", "cuda", "blown", false,
              &result))
    return false;
  printf("    %s\n", tg_last_error());
  EXPECT(strstr(tg_last_error(), "blew up") != NULL);
  if (!state_is_kept("blown")) return false;
  if (!run_to(TG_ERR_MACHINE,
              plain + "comm-mode = none\nnsteps = 100\nverlet-buffer-tolerance = -1\nrlist = 1.8\n",
              "cuda", "wide", false, &result))
    return false;
  printf("    %s\n", tg_last_error());
  EXPECT(strstr(tg_last_error(), "--backend omp") != NULL);
  return state_is_kept("wide");
}

/* A disk that is full: the writer's failure is the run's. */
static bool tells_of_files() {
  tg_md_run_result result;
  struct rlimit before, little;
  getrlimit(RLIMIT_FSIZE, &before);
  little = before;
  little.rlim_cur = 400000; /* a checkpoint has room, six frames have not */
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &little);
  const bool right = run_to(TG_ERR_MACHINE, plain + "nsteps = 2000\nnstxout = 10\n", "cuda", "full",
                            false, &result);
  const std::string message = tg_last_error();
  setrlimit(RLIMIT_FSIZE, &before);
  printf("    %s\n", message.c_str());
  EXPECT(message.find("traj.trr") != std::string::npos);
  return right;
}

static bool same_as(const std::string& mdp, const std::string& whole, const std::string& name,
                    double room) {
  tg_md_run_result result;
  tg_run_device_first_room(room);
  const bool done = run(mdp, "cuda", name, false, &result);
  tg_run_device_first_room(0);
  return done && same_files(whole, name);
}

static void balanced(tg_md_job* job) {
  const int grid[3] = {2, 1, 1};
  memcpy(job->grid, grid, sizeof grid);
  job->balance = 1;
}

/* Planes that move, in lists that get more room: a run like one with a single domain, whose
 * trajectory is the same but for rounding, which in 0.6 ps has not grown to anything. */
static bool balances_and_gets_room() {
  tg_md_run_result one, result;
  const std::string mdp = plain + "comm-mode = none\nnsteps = 300\nnstenergy = 10\n";
  if (!run(mdp, "cuda", "one", false, &one)) return false;
  prepare = balanced;
  tg_run_device_first_room(0.3);
  const bool done = run(mdp, "cuda", "balanced", false, &result);
  tg_run_device_first_room(0);
  prepare = NULL;
  const std::string log = read_file(scratch + "/balanced/md.log");
  const size_t at = log.find("balance: planes moved at ");
  if (at != std::string::npos) printf("    %s\n", log.substr(at, log.find('\n', at) - at).c_str());
  printf("    %zu times more room; %.3f K, %.3f K\n", regrown("balanced").size(),
         result.mean_temperature, one.mean_temperature);
  EXPECT(done && at != std::string::npos);
  EXPECT(!regrown("balanced").empty());
  EXPECT(fabs(result.mean_temperature - one.mean_temperature) < 0.1);
  return true;
}

/* Rows of a liquid are some 32 entries longer at times than at the start: with rooms at which that
 * decides, steps are done again in the middle of a run, and give the same bytes. */
static bool repeats_steps() {
  int again = 0;
  for (int k = 0; k < 6 && again < 2; k++) {
    char radius[64];
    snprintf(radius, sizeof radius, "verlet-buffer-tolerance = -1\nrlist = %.3f\n", 1 + 0.004 * k);
    const std::string mdp =
        plain + coupled + radius + "nsteps = 1500\nnstenergy = 7\nnstxout = 70\nnstvout = 210\n";
    tg_md_run_result result;
    if (!run(mdp, "cuda", "roomy", false, &result)) return false;
    EXPECT(regrown("roomy").empty());
    for (int i = 0; i < 8; i++) {
      const double room = 0.42 + 0.025 * i;
      if (!same_as(mdp, "roomy", "tight", room)) return false;
      const std::vector<long> steps = regrown("tight");
      printf("    rlist %.3f, room %.3f: %zu times", 1 + 0.004 * k, room, steps.size());
      for (long step : steps) printf(", from step %ld", step);
      printf("\n");
      again += !steps.empty() && steps.back() > 0;
      if (steps.empty()) break; /* nor with more room */
    }
  }
  EXPECT(again > 0);
  return true;
}

/* In the middle of a run, from its own thread. */
static void interrupt(void* context, const tg_md_progress* progress) {
  (void)progress;
  int* number = (int*)context;
  if (*number) raise(*number);
  *number = 0;
}

static int signal_number;

static void make_interruptible(tg_md_job* job) {
  job->progress = interrupt;
  job->context = &signal_number;
}

/* The first signal leaves a checkpoint, from which the run goes on to the same bytes. */
static bool goes_on_after(int number, const char* name, const std::string& mdp) {
  tg_md_run_result result;
  RUN(tg_interrupt_install());
  signal_number = number;
  prepare = make_interruptible;
  const bool stopped = run_to(TG_ERR_INTERRUPTED, mdp, "cuda", name, false, &result);
  prepare = nullptr;
  printf("    %s\n", tg_last_error());
  tg_interrupt_request(false);
  if (!stopped) return false;
  EXPECT(result.last_step > 0 && result.last_step < 60000);
  EXPECT(strstr(tg_last_error(), "--continue") != NULL);
  return run(mdp, "cuda", name, true, &result) && same_files("uninterrupted", name);
}

static bool signals_leave_a_checkpoint() {
  tg_md_run_result result;
  const std::string mdp =
      plain + coupled + "nsteps = 60000\nnstenergy = 100\nnstxout = 7000\nnstvout = 30000\n";
  return run(mdp, "cuda", "uninterrupted", false, &result) &&
         goes_on_after(SIGINT, "sigint", mdp) && goes_on_after(SIGTERM, "sigterm", mdp);
}

int main() {
  if (!make_scratch()) return 77;
  report(flies_straight(), "atoms that crowd");
  report(repeats_steps(), "steps that are done again");
  report(balances_and_gets_room(), "planes that move, and more room");
  report(signals_leave_a_checkpoint(), "signals");
  report(keeps_the_last_good_state(), "the last good state");
  report(tells_of_files(), "files that cannot be written");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
