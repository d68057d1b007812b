/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs on the GPU against the same runs on the CPU in double precision: energies, positions,
 * velocities and forces step by step; reruns and continued runs to the bit.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include <throng/md.h>

#include "device/device.h"
#include "halo/gpu_check.cuh"

static std::string scratch; /* a folder of our own */

static const char field[] =
    "integrator = md\ncoulombtype = Reaction-Field\nrcoulomb = 0.9\nepsilon-rf = 0\nvdwtype = "
    "Cut-off\nrvdw = 0.9\nnstlist = 10\n";
static const std::string plain = std::string(field) + "dt = 0.002\nconstraints = h-bonds\n";

typedef std::map<std::string, std::vector<double>> numbers;

/* A line of energies.jsonl: names and the numbers after them. */
static numbers parse_line(const std::string& line) {
  numbers out;
  size_t at = 0;
  while ((at = line.find('"', at)) != std::string::npos) {
    const size_t end = line.find('"', at + 1);
    const std::string name = line.substr(at + 1, end - at - 1);
    at = end + 1;
    const size_t stop = line.find('"', at);
    const std::string rest = line.substr(at, stop == std::string::npos ? stop : stop - at);
    const char* text = rest.c_str();
    while (*text) {
      char* after;
      const double value = strtod(text, &after);
      if (after != text) out[name].push_back(value);
      text = after != text ? after : text + 1;
    }
    if (stop == std::string::npos) break;
    at = stop;
  }
  return out;
}

static std::string read_file(const std::string& path) {
  std::string out;
  FILE* stream = fopen(path.c_str(), "rb");
  if (!stream) return out;
  char buffer[65536];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, stream)) > 0) out.append(buffer, got);
  fclose(stream);
  return out;
}

static std::vector<numbers> read_energies(const std::string& folder) {
  std::vector<numbers> out;
  const std::string text = read_file(folder + "/energies.jsonl");
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out.push_back(parse_line(text.substr(at, end - at)));
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return out;
}

typedef struct frame {
  int step;
  double box[3];
  std::vector<float> part[3]; /* x, v, f */
} frame;

static uint32_t big_endian(const char* at) {
  const unsigned char* b = (const unsigned char*)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static float real_at(const char* at) {
  const uint32_t bits = big_endian(at);
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

/* traj.trr in single precision: magic, name, 13 fields of which sizes, count, step; box, x, v, f.
 */
static std::vector<frame> read_trr(const std::string& folder) {
  std::vector<frame> out;
  const std::string text = read_file(folder + "/traj.trr");
  for (size_t at = 0; at + 24 + 13 * 4 < text.size();) {
    frame f;
    const char* p = text.data() + at + 24;
    const uint32_t sizes[4] = {big_endian(p + 8), big_endian(p + 28), big_endian(p + 32),
                               big_endian(p + 36)};
    f.step = (int)big_endian(p + 44);
    p += 13 * 4 + 8;
    for (int d = 0; d < 3; d++) f.box[d] = real_at(p + 16 * d);
    p += sizes[0];
    for (int k = 0; k < 3; k++) {
      for (uint32_t i = 0; i < sizes[k + 1] / 4; i++) f.part[k].push_back(real_at(p + 4 * i));
      p += sizes[k + 1];
    }
    at = (size_t)(p - text.data());
    out.push_back(f);
  }
  return out;
}

static bool write_file(const std::string& path, const std::string& text) {
  FILE* stream = fopen(path.c_str(), "wb");
  EXPECT(stream != NULL);
  fwrite(text.data(), 1, text.size(), stream);
  return fclose(stream) == 0;
}

/* Where conf.gro, topol.top and reference.gro are. */
static std::string input = TG_SOURCE_DIR "/examples/ethanol-water/", reference = "conf.gro";

static bool run_to(tg_status expected, const std::string& mdp, const char* backend,
                   const std::string& name, bool go_on, tg_md_run_result* result) {
  const std::string c = input + "conf.gro", p = input + "topol.top", r = input + reference;
  const std::string f = scratch + "/" + name + ".mdp", o = scratch + "/" + name;
  if (!write_file(f, mdp)) return false;
  tg_md_job job;
  tg_md_job_default(&job);
  job.configuration = c.c_str();
  job.topology = p.c_str();
  job.parameters = f.c_str();
  job.output = o.c_str();
  job.restraints = r.c_str();
  job.backend = backend;
  job.precision = strcmp(backend, "cuda") == 0 ? "mixed" : "double";
  job.threads = 8;
  job.force = !go_on;
  job.continue_run = go_on;
  const tg_status status = tg_md_run(&job, result);
  if (status != expected) printf("    %s: status %d: %s\n", name.c_str(), status, tg_last_error());
  EXPECT(status == expected);
  return true;
}

static bool run(const std::string& mdp, const char* backend, const std::string& name, bool go_on,
                tg_md_run_result* result) {
  return run_to(TG_OK, mdp, backend, name, go_on, result);
}

static double rms_of(const std::vector<float>& a) {
  double sum = 0;
  for (float x : a) sum += (double)x * x;
  return sqrt(sum / (double)(a.empty() ? 1 : a.size()));
}

static double rms_apart(const frame& a, const frame& b, int part) {
  double sum = 0;
  for (size_t i = 0; i < a.part[part].size(); i++) {
    double d = (double)a.part[part][i] - b.part[part][i];
    if (part == 0) d -= a.box[i % 3] * rint(d / a.box[i % 3]);
    sum += d * d;
  }
  return sqrt(sum / (double)(a.part[part].empty() ? 1 : a.part[part].size()));
}

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

static bool same_files(const std::string& a, const std::string& b) {
  for (const char* name : {"energies.jsonl", "energies.xvg", "traj.trr", "confout.gro"}) {
    const std::string x = read_file(scratch + "/" + a + "/" + name);
    const std::string y = read_file(scratch + "/" + b + "/" + name);
    printf("    %s: %zu bytes, %s\n", name, x.size(), x == y ? "equal" : "DIFFERENT");
    EXPECT(!x.empty() && x == y);
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

static const char coupled[] =
    "tcoupl = v-rescale\ntc-grps = System\nref-t = 300\ntau-t = 0.1\nnsttcouple = 5\ncomm-mode = "
    "linear\nnstcomm = 20\nld-seed = 7\n";

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

/* Atoms without interactions that fly towards one point, to 37 times their density, in straight
 * lines, whatever becomes of the pair list. */
static bool flies_straight() {
  const int count = 8000, steps = 200;
  const double edge = 9, dt = 0.002, way = 0.7;
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
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  char folder[] = "/tmp/throng-gpu-run-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  scratch = folder;
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
  report(flies_straight(), "atoms that crowd");
  report(keeps_the_last_good_state(), "the last good state");
  report(tells_of_files(), "files that cannot be written");
  report(drifts_little(argc > 1 ? atol(argv[1]) : 5000), "drift");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
