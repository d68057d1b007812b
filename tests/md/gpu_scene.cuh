/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/gpu_scene.cuh  Systems and runs for the tests of domains on GPUs: throng's example,
 * copies of it, the example in vacuum; steps with whatever grid, cards and schedule; what they
 * leave. */
#ifndef TG_TESTS_MD_GPU_SCENE_CUH
#define TG_TESTS_MD_GPU_SCENE_CUH

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/units.h"
#include "device/device.h"
#include "halo/gpu_check.cuh"
#include "md/device_step.h"
extern "C" {
#include "md/build.h"
#include "md/device_atoms.h"
#include "md/system.h"
}

enum { MOST_SEARCH_STEPS = 10 };

static std::string scratch; /* a folder of our own */

static bool make_scratch() {
  char folder[] = "/tmp/throng-gpu-md-XXXXXX";
  if (!mkdtemp(folder)) return false;
  scratch = folder;
  return true;
}

/* A system and what follows from it alone. */
typedef struct scene {
  tg_md_system* system;
  tg_device_atoms atoms;
  tg_device_work work;
  double list_radius, inner_radius, row_room;
  int search_steps;
  int cards;
  const char* halo;               /* NULL: the default */
  const tg_device_planes* planes; /* NULL: bricks of equal size */
  bool balance;
} scene;

static const std::string held = "constraints = h-bonds\ncomm-mode = none\n";

static void free_scene(scene* s) {
  tg_device_atoms_free(&s->atoms);
  tg_device_work_free(&s->work);
  tg_md_system_destroy(&s->system);
}

static bool write_file(const std::string& path, const std::string& text) {
  FILE* stream = fopen(path.c_str(), "wb");
  EXPECT(stream != NULL);
  fwrite(text.data(), 1, text.size(), stream);
  return fclose(stream) == 0;
}

static const char field[] =
    "integrator = md\ncoulombtype = Reaction-Field\nrcoulomb = 0.9\nepsilon-rf = 0\nvdwtype = "
    "Cut-off\nrvdw = 0.9\nnstlist = 20\ndt = 0.002\n";
static const char coupled[] =
    "tcoupl = v-rescale\ntc-grps = System\nref-t = 310\ntau-t = 0.05\nnsttcouple = 5\ncomm-mode = "
    "linear\nnstcomm = 10\nld-seed = 7\n";

/* From a folder with conf.gro and topol.top. */
static bool read_scene(const std::string& folder, const std::string& more, scene* s) {
  const std::string c = folder + "conf.gro", p = folder + "topol.top", f = scratch + "/in.mdp";
  if (!write_file(f, std::string(field) + more)) return false;
  tg_md_files files;
  tg_log log;
  memset(s, 0, sizeof *s);
  memset(&files, 0, sizeof files);
  memset(&log, 0, sizeof log);
  files.configuration = c.c_str();
  files.topology = p.c_str();
  files.parameters = f.c_str();
  files.restraints = c.c_str();
  files.chance_seed = 1;
  RUN(tg_md_system_read(&files, &log, &s->system));
  /* hydrogens turn fast: 0.02 nm in 5 steps is common, so these buffers are of 7 to 10 times that
   * and 5 times what is common in 10 steps; a pair missed for a step shows as 1e-5 nm. A small box
   * has no room for more. */
  const bool is_small = s->system->box[0] < 4;
  s->cards = 1;
  s->search_steps = is_small ? 5 : MOST_SEARCH_STEPS;
  s->list_radius = is_small ? 1.1 : 1.15;
  s->inner_radius = is_small ? 1.1 : 1.05;
  return true;
}

static bool prepare(scene* s) {
  const int once[3] = {1, 1, 1};
  RUN(tg_device_atoms_make(s->system, once, &s->atoms));
  RUN(tg_device_work_make(s->system, &s->work));
  return true;
}

/* Copies of throng's example. */
static bool load(int copies, const std::string& more, scene* s) {
  std::string folder = TG_SOURCE_DIR "/examples/ethanol-water/";
  if (copies > 1) {
    tg_md_build_params build;
    tg_topology_options options;
    tg_log log;
    memset(&build, 0, sizeof build);
    memset(&options, 0, sizeof options);
    memset(&log, 0, sizeof log);
    for (int& n : build.copies) n = copies;
    build.temperature = -1;
    const std::string c = folder + "conf.gro", p = folder + "topol.top";
    folder = scratch + "/";
    remove((folder + "conf.gro").c_str());
    remove((folder + "topol.top").c_str());
    RUN(tg_md_build_replicate(c.c_str(), p.c_str(), &options, &log, &build, scratch.c_str()));
  }
  return read_scene(folder, more, s) && prepare(s);
}

/* The example in a larger box, molecules whole, so that there is vacuum. */
[[maybe_unused]] static bool load_in_vacuum(const double box[3], scene* s) {
  if (!read_scene(TG_SOURCE_DIR "/examples/ethanol-water/",
                  "constraints = h-bonds\ncomm-mode = none\n", s))
    return false;
  tg_md_system* system = s->system;
  for (size_t i = 0; i < system->atom_count; i++)
    for (int d = 0; d < 3; d++) {
      const size_t first = system->molecule_first[system->atom_molecule[i]];
      double* x = &system->start.x[i][d];
      const double apart = *x - system->start.x[first][d];
      *x -= system->box[d] * rint(apart / system->box[d]);
    }
  memcpy(system->box, box, sizeof system->box);
  return prepare(s);
}

/* What a run leaves. */
typedef struct outcome {
  long long kernels, waits;
  std::vector<tg_device_record> records;
  std::vector<double> x, v, f; /* at the last step, but v half a step before */
  std::vector<double> x_after, v_after;
} outcome;

typedef struct engine {
  tg_device_md* md;
  tg_device_step* step;
} engine;

static void close_engine(engine* e) {
  tg_device_step_destroy(&e->step);
  tg_device_md_destroy(&e->md);
}

static unsigned char flags_of(const scene* s, int step, int steps, int energies) {
  const tg_parameters* p = &s->system->parameters;
  int flags = step % s->search_steps == 0 ? TG_STEP_SEARCH : step % 5 == 0 ? TG_STEP_PRUNE : 0;
  if (step > steps) return 0;
  if (step % energies == 0 || step == steps) flags |= TG_STEP_ENERGY;
  if (p->thermostat != TG_THERMOSTAT_NONE && step % p->nsttcouple == 0) flags |= TG_STEP_COUPLE;
  if (p->comm_mode == TG_COMM_LINEAR && step % p->nstcomm == 0) flags |= TG_STEP_COMM;
  if (step == steps) flags |= TG_STEP_FRAME;
  return (unsigned char)flags;
}

static bool open_engine(const scene* s, const int domains[3], const double (*x)[3],
                        const double (*v)[3], int steps, int energies, engine* e) {
  const tg_md_system* system = s->system;
  const tg_parameters* p = &system->parameters;
  tg_device_md_params lists;
  tg_device_atoms_params(&s->atoms, system, &lists);
  lists.list_radius = s->list_radius;
  lists.inner_radius = s->inner_radius;
  lists.row_room = s->row_room;
  /* one domain has one card */
  lists.card_count = domains[0] * domains[1] * domains[2] > 1 ? s->cards : 1;
  lists.deadline_s = 2;
  lists.halo = s->halo;
  const bool is_one = domains[0] * domains[1] * domains[2] == 1;
  lists.planes = is_one ? NULL : s->planes;
  lists.balance = s->balance;
  memcpy(lists.domains, domains, sizeof lists.domains);
  RUN(tg_device_md_create(&lists, &e->md));
  RUN(tg_device_md_set_positions(e->md, x));
  tg_device_step_params q;
  memset(&q, 0, sizeof q);
  q.md = e->md;
  q.work = &s->work;
  memcpy(q.box, system->box, sizeof q.box);
  q.dt = p->dt;
  q.lincs_order = p->lincs_order;
  q.lincs_iterations = p->lincs_iterations;
  q.cutoff = p->cutoff;
  q.rf_k = lists.rf_k;
  q.rf_c = lists.rf_c;
  q.coulomb_scale = lists.coulomb_scale;
  q.pair_scale = TG_COULOMB / p->epsilon_r * system->topology.fudge_qq;
  q.reference = (const vector3*)system->restraint_x;
  q.nsttcouple = p->nsttcouple;
  tg_thermostat_start(p, system->degrees_of_freedom, &q.thermostat);
  RUN(tg_device_step_create(&q, &e->step));
  RUN(tg_device_step_start(e->step, v, 0, flags_of(s, 0, steps, energies)));
  return true;
}

static bool collect(engine* e, outcome* out) {
  const tg_device_record* records;
  tg_device_trouble trouble;
  int steps, count;
  RUN(tg_device_step_collect(e->step, &steps, &records, &count, &trouble));
  if (trouble.lists) RUN(tg_device_md_get_forces(e->md, NULL, NULL));
  EXPECT(trouble.lists == 0 && trouble.fast_atom < 0 && trouble.bad_group < 0);
  out->records.insert(out->records.end(), records, records + count);
  return true;
}

static bool read_frame(engine* e, size_t n, outcome* out) {
  tg_device_copy* copy = NULL;
  for (std::vector<double>* a : {&out->x, &out->v, &out->f, &out->x_after, &out->v_after})
    a->assign(3 * n, NAN);
  RUN(tg_device_copy_create(e->step, true, &copy));
  RUN(tg_device_step_copy_frame(e->step, copy));
  tg_device_copy_read(copy, (vector3*)out->x.data(), (vector3*)out->v.data(),
                      (vector3*)out->f.data());
  tg_device_copy_destroy(&copy);
  RUN(tg_device_step_get(e->step, (vector3*)out->x_after.data(), (vector3*)out->v_after.data()));
  return true;
}

/* Steps 0 to `steps`, with energies now and then, and a frame at the last. */
static bool run_from(const scene* s, const int domains[3], const double (*x)[3],
                     const double (*v)[3], int steps, int energies, outcome* out) {
  engine e = {NULL, NULL};
  bool right = open_engine(s, domains, x, v, steps, energies, &e);
  out->records.clear();
  for (int first = 0; right && first <= steps; first += s->search_steps) {
    unsigned char flags[MOST_SEARCH_STEPS + 1];
    const int left = steps + 1 - first, count = left < s->search_steps ? left : s->search_steps;
    for (int i = 0; i <= count; i++) flags[i] = flags_of(s, first + i, steps, energies);
    right = expect(tg_device_step_queue(e.step, flags, count) == TG_OK, "a stretch is queued") &&
            collect(&e, out);
  }
  if (right) tg_device_step_launches(e.step, &out->kernels, &out->waits);
  right = right && read_frame(&e, s->atoms.count, out);
  close_engine(&e);
  return right;
}

[[maybe_unused]] static bool run(const scene* s, int a, int b, int c, int steps, int energies,
                                 outcome* out) {
  const int domains[3] = {a, b, c};
  return run_from(s, domains, (const vector3*)s->atoms.x, (const vector3*)s->system->start.v, steps,
                  energies, out);
}

[[maybe_unused]] static bool same_bits(const outcome& a, const outcome& b) {
  EXPECT(a.x == b.x && a.v == b.v && a.f == b.f);
  EXPECT(a.x_after == b.x_after && a.v_after == b.v_after);
  EXPECT(a.records.size() == b.records.size());
  return expect(
      memcmp(a.records.data(), b.records.data(), a.records.size() * sizeof a.records[0]) == 0,
      "records are the same bits");
}

#endif
