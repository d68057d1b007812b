/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that test whole runs on a GPU share: a folder, runs of the example in it, and its
 * files read back. */
#ifndef TG_TESTS_MD_GPU_FILES_CUH
#define TG_TESTS_MD_GPU_FILES_CUH

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include <throng/md.h>

#include "device/device.h"
#include "halo/gpu_check.cuh"

static std::string scratch; /* a folder of our own */

/* False, having said why, where nothing can be tested. */
[[maybe_unused]] static bool make_scratch() {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return false;
  }
  char folder[] = "/tmp/throng-gpu-run-XXXXXX";
  if (!mkdtemp(folder)) return false;
  scratch = folder;
  return true;
}

static const char field[] =
    "integrator = md\ncoulombtype = Reaction-Field\nrcoulomb = 0.9\nepsilon-rf = 0\nvdwtype = "
    "Cut-off\nrvdw = 0.9\nnstlist = 10\n";
[[maybe_unused]] static const std::string plain =
    std::string(field) + "dt = 0.002\nconstraints = h-bonds\n";

typedef std::map<std::string, std::vector<double>> numbers;

/* A line of energies.jsonl: names and the numbers after them. */
[[maybe_unused]] static numbers parse_line(const std::string& line) {
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

[[maybe_unused]] static std::string read_file(const std::string& path) {
  std::string out;
  FILE* stream = fopen(path.c_str(), "rb");
  if (!stream) return out;
  char buffer[65536];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, stream)) > 0) out.append(buffer, got);
  fclose(stream);
  return out;
}

[[maybe_unused]] static std::vector<numbers> read_energies(const std::string& folder) {
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

[[maybe_unused]] static uint32_t big_endian(const char* at) {
  const unsigned char* b = (const unsigned char*)at;
  return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

[[maybe_unused]] static float real_at(const char* at) {
  const uint32_t bits = big_endian(at);
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

/* traj.trr in single precision: magic, name, 13 fields of which sizes, count, step; box, x, v, f.
 */
[[maybe_unused]] static std::vector<frame> read_trr(const std::string& folder) {
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

[[maybe_unused]] static bool write_file(const std::string& path, const std::string& text) {
  FILE* stream = fopen(path.c_str(), "wb");
  EXPECT(stream != NULL);
  fwrite(text.data(), 1, text.size(), stream);
  return fclose(stream) == 0;
}

/* Where conf.gro, topol.top and reference.gro are. */
static std::string input = TG_SOURCE_DIR "/examples/ethanol-water/", reference = "conf.gro";

/* Where set, it has the last word on a job. */
static void (*prepare)(tg_md_job* job);

[[maybe_unused]] static bool run_to(tg_status expected, const std::string& mdp, const char* backend,
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
  if (prepare) prepare(&job);
  const tg_status status = tg_md_run(&job, result);
  if (status != expected) printf("    %s: status %d: %s\n", name.c_str(), status, tg_last_error());
  EXPECT(status == expected);
  return true;
}

[[maybe_unused]] static bool run(const std::string& mdp, const char* backend,
                                 const std::string& name, bool go_on, tg_md_run_result* result) {
  return run_to(TG_OK, mdp, backend, name, go_on, result);
}

[[maybe_unused]] static double rms_of(const std::vector<float>& a) {
  double sum = 0;
  for (float x : a) sum += (double)x * x;
  return sqrt(sum / (double)(a.empty() ? 1 : a.size()));
}

[[maybe_unused]] static double rms_apart(const frame& a, const frame& b, int part) {
  double sum = 0;
  for (size_t i = 0; i < a.part[part].size(); i++) {
    double d = (double)a.part[part][i] - b.part[part][i];
    if (part == 0) d -= a.box[i % 3] * rint(d / a.box[i % 3]);
    sum += d * d;
  }
  return sqrt(sum / (double)(a.part[part].empty() ? 1 : a.part[part].size()));
}

[[maybe_unused]] static bool same_files(const std::string& a, const std::string& b) {
  for (const char* name : {"energies.jsonl", "energies.xvg", "traj.trr", "confout.gro"}) {
    const std::string x = read_file(scratch + "/" + a + "/" + name);
    const std::string y = read_file(scratch + "/" + b + "/" + name);
    printf("    %s: %zu bytes, %s\n", name, x.size(), x == y ? "equal" : "DIFFERENT");
    EXPECT(!x.empty() && x == y);
  }
  return true;
}

[[maybe_unused]] static const char coupled[] =
    "tcoupl = v-rescale\ntc-grps = System\nref-t = 300\ntau-t = 0.1\nnsttcouple = 5\ncomm-mode = "
    "linear\nnstcomm = 20\nld-seed = 7\n";

#endif
