/* SPDX-License-Identifier: Apache-2.0 */
/* Several domains on one GPU against one: forces, every term of the energy, trajectories, long runs
 * in which atoms change domains; the same bits again.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: "quick" for a part that
 * is short enough for compute-sanitizer, "times" for how long the stages
 * take, "cards" for several cards alone,
 * "blocks" for all with TG_MD_ORDER=blocks (docs/md-gpu.md).
 *
 *   RUN: all blocks */
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

/* A system and what follows from it alone. */
typedef struct scene {
  tg_md_system* system;
  tg_device_atoms atoms;
  tg_device_work work;
  double list_radius, inner_radius, row_room;
  int search_steps;
  int cards;
} scene;

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
static bool load_in_vacuum(const double box[3], scene* s) {
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
  right = right && read_frame(&e, s->atoms.count, out);
  close_engine(&e);
  return right;
}

static bool run(const scene* s, int a, int b, int c, int steps, int energies, outcome* out) {
  const int domains[3] = {a, b, c};
  return run_from(s, domains, (const vector3*)s->atoms.x, (const vector3*)s->system->start.v, steps,
                  energies, out);
}

static double rms(const std::vector<double>& a) {
  double sum = 0;
  for (double x : a) sum += x * x;
  return sqrt(sum / (double)a.size());
}

/* Root mean square of the difference; positions: nearest images. */
static double rms_apart(const scene* s, const std::vector<double>& a, const std::vector<double>& b,
                        bool positions) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) {
    double d = a[i] - b[i];
    if (positions) d -= s->system->box[i % 3] * rint(d / s->system->box[i % 3]);
    sum += d * d;
  }
  return sqrt(sum / (double)a.size());
}

/* Positions within a domain are relative to other clusters' centres: each float is rounded
 * otherwise, by 6e-8 nm of a distance, so pair energies and forces differ by some 1e-6. Bonded
 * energies are sums of the same numbers: the same bits. */
static bool same_record(const tg_device_record& a, const tg_device_record& b, bool start) {
  for (int i = 0; i < TG_DEVICE_TERMS; i++) {
    const bool pairs = i >= 9;
    const double apart = fabs(a.term[i] - b.term[i]);
    const bool right = apart <= (pairs ? 2e-6 : start ? 0 : 1e-5) * (1 + fabs(b.term[i]));
    if (!right) printf("    term %d: %.10g, %.10g\n", i, a.term[i], b.term[i]);
    EXPECT(right);
  }
  const double scale = fabs(b.term[9]) + fabs(b.term[10]);
  for (int i = 0; i < 6; i++) EXPECT(fabs(a.virial[i] - b.virial[i]) <= 1e-5 * scale);
  for (int i = 0; i < 6; i++) EXPECT(fabs(a.kinetic[i] - b.kinetic[i]) <= 1e-6 * scale);
  /* of N pairs some N x 3 x 6e-8 / 0.9 fall on the other side of the cut-off, later some more */
  EXPECT((double)llabs(a.pairs - b.pairs) <= 1 + (start ? 1e-6 : 5e-6) * (double)b.pairs);
  EXPECT(fabs(a.heat - b.heat) <= 1e-6 * scale);
  return true;
}

/* The start, and 20 steps: errors of 2e-6 of a force of 600 kJ mol^-1 nm^-1 move the lightest atoms
 * by 5e-9 nm in a step of 2 fs, and some 1e-6 nm in 20; most atoms are heavier. */
static bool same_steps(const scene* s, int a, int b, int c, const outcome* one) {
  outcome start, end;
  printf("  %d x %d x %d\n", a, b, c);
  if (!run(s, a, b, c, 0, 1, &start) || !run(s, a, b, c, 20, 1, &end)) return false;
  printf("    forces: %.2e apart of %.0f; after 20 steps x %.2e nm, v %.2e nm/ps\n",
         rms_apart(s, start.f, one[0].f, false) / rms(one[0].f), rms(one[0].f),
         rms_apart(s, end.x, one[1].x, true), rms_apart(s, end.v, one[1].v, false));
  EXPECT(start.records.size() == 1 && end.records.size() == 21);
  EXPECT(rms_apart(s, start.f, one[0].f, false) <= 2e-6 * rms(one[0].f));
  EXPECT(rms_apart(s, end.x, one[1].x, true) <= 2e-7);
  for (size_t i = 0; i < end.records.size(); i++) {
    EXPECT(end.records[i].step == (long long)i);
    if (!same_record(end.records[i], one[1].records[i], i == 0)) return false;
  }
  return true;
}

static bool agree(scene* s, const std::vector<std::vector<int>>& grids) {
  outcome one[2];
  if (!run(s, 1, 1, 1, 0, 1, &one[0]) || !run(s, 1, 1, 1, 20, 1, &one[1])) return false;
  bool right = true;
  for (const std::vector<int>& g : grids) right = same_steps(s, g[0], g[1], g[2], one) && right;
  free_scene(s);
  return right;
}

static bool loaded(int copies, const std::string& more, const std::vector<std::vector<int>>& grids,
                   int cards = 1) {
  scene s;
  if (!load(copies, more, &s)) return false;
  s.cards = cards;
  return agree(&s, grids);
}

static bool loaded_in_vacuum(double x, double y, double z,
                             const std::vector<std::vector<int>>& grids, int cards = 1) {
  scene s;
  const double box[3] = {x, y, z};
  if (!load_in_vacuum(box, &s)) return false;
  s.cards = cards;
  return agree(&s, grids);
}

static double total(const tg_device_record& r) {
  double sum = -r.heat;
  for (double term : r.term) sum += term;
  return sum + r.kinetic[0] + r.kinetic[1] + r.kinetic[2];
}

static bool same_bits(const outcome& a, const outcome& b) {
  EXPECT(a.x == b.x && a.v == b.v && a.f == b.f);
  EXPECT(a.x_after == b.x_after && a.v_after == b.v_after);
  EXPECT(a.records.size() == b.records.size());
  return expect(
      memcmp(a.records.data(), b.records.data(), a.records.size() * sizeof a.records[0]) == 0,
      "records are the same bits");
}

/* 51 searches or more, between which atoms diffuse by 0.03 nm or so: thousands change domains. The
 * last step's forces are those of one domain at the same places; the conserved energy stays as it
 * does with one domain, to the noise of a step of 2 fs, which after so many steps is another. */
static bool long_run(int copies, int a, int b, int c, const char* more, int cards = 1) {
  scene s;
  outcome many, again, one, fresh;
  const int steps = 507, single[3] = {1, 1, 1};
  if (!load(copies, std::string("constraints = h-bonds\n") + more, &s)) return false;
  s.cards = cards;
  if (!run(&s, a, b, c, steps, 50, &many) || !run(&s, a, b, c, steps, 50, &again) ||
      !run(&s, 1, 1, 1, steps, 50, &one))
    return false;
  if (!same_bits(many, again)) return false;
  if (!run_from(&s, single, (const vector3*)many.x.data(), (const vector3*)many.v.data(), 0, 1,
                &fresh))
    return false;
  EXPECT(fresh.x == many.x && fresh.v == many.v);
  const double apart = rms_apart(&s, many.f, fresh.f, false) / rms(fresh.f);
  printf("    %d x %d x %d: after %d steps forces %.2e apart, conserved energy %.3f, of one %.3f\n",
         a, b, c, steps, apart, total(many.records.back()) - total(many.records[0]),
         total(one.records.back()) - total(one.records[0]));
  EXPECT(apart <= 2e-6);
  for (int i = 0; i < 9; i++) EXPECT(many.records.back().term[i] == fresh.records[0].term[i]);
  double momentum[3] = {0, 0, 0}, mass = 0;
  for (size_t i = 0; i < s.atoms.count; i++) {
    mass += 1 / s.work.inverse_mass[i];
    for (int d = 0; d < 3; d++) momentum[d] += many.v[3 * i + d] / s.work.inverse_mass[i];
  }
  printf("    mean velocity %.2e %.2e %.2e nm/ps\n", momentum[0] / mass, momentum[1] / mass,
         momentum[2] / mass);
  EXPECT(many.records.size() == one.records.size());
  for (size_t i = 0; i < many.records.size(); i++) {
    const double scale = fabs(one.records[i].term[9]) + fabs(one.records[i].term[10]);
    EXPECT(fabs(total(many.records[i]) - total(one.records[i])) <= 2e-5 * scale);
  }
  free_scene(&s);
  return true;
}

/* A system whose room was chosen too small says so. */
static bool too_little_room_is_told() {
  scene s;
  engine e = {NULL, NULL};
  const int domains[3] = {2, 2, 2};
  if (!load(1, "constraints = h-bonds\ncomm-mode = none\n", &s)) return false;
  s.row_room = 0.3;
  if (!open_engine(&s, domains, (const vector3*)s.atoms.x, (const vector3*)s.system->start.v, 0, 1,
                   &e))
    return false;
  const unsigned char flags[2] = {TG_STEP_SEARCH, 0};
  const tg_device_record* records;
  tg_device_trouble trouble;
  int steps, count;
  RUN(tg_device_step_queue(e.step, flags, 1));
  RUN(tg_device_step_collect(e.step, &steps, &records, &count, &trouble));
  EXPECT(trouble.lists != 0 && trouble.list_full);
  EXPECT(tg_device_md_get_forces(e.md, NULL, NULL) == TG_ERR_MACHINE);
  printf("    %s\n", tg_last_error());
  close_engine(&e);
  tg_device_md_params p;
  tg_device_atoms_params(&s.atoms, s.system, &p);
  p.list_radius = p.inner_radius = s.list_radius;
  p.domains[0] = 9;
  EXPECT(tg_device_md_create(&p, &e.md) == TG_ERR_INPUT);
  free_scene(&s);
  return true;
}

/* For people: how long the stages take. */
static bool print_times() {
  static const int grids[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 2}, {2, 2, 2}};
  scene s;
  if (!load(2, "constraints = h-bonds\ncomm-mode = none\n", &s)) return false;
  s.list_radius = 0.9926;
  s.inner_radius = 0.9229;
  for (const int* g : grids) {
    engine e = {NULL, NULL};
    double us[TG_DEVICE_STEP_STAGES], of[TG_DEVICE_MD_STAGES];
    const unsigned char flags[2] = {TG_STEP_SEARCH, 0};
    outcome out;
    if (!open_engine(&s, g, (const vector3*)s.atoms.x, (const vector3*)s.system->start.v, 0, 1, &e))
      return false;
    RUN(tg_device_step_queue(e.step, flags, 1));
    if (!collect(&e, &out)) return false;
    for (int i = 0; i < TG_DEVICE_STEP_STAGES; i++)
      RUN(tg_device_step_measure(e.step, (tg_device_step_stage)i, &us[i]));
    for (int i = 0; i < TG_DEVICE_MD_STAGES; i++)
      RUN(tg_device_md_measure(e.md, (tg_device_md_stage)i, 10, 5, &of[i]));
    tg_device_md_counts counts;
    RUN(tg_device_md_count(e.md, &counts));
    printf(
        "%d x %d x %d, us: sort %.1f, search %.1f, prune %.1f, pairs %.1f; forces %.1f, update "
        "%.1f, both %.1f; %lld clusters, %lld pairs kept\n",
        g[0], g[1], g[2], of[TG_DEVICE_MD_SORT], of[TG_DEVICE_MD_LIST], of[TG_DEVICE_MD_PRUNE],
        of[TG_DEVICE_MD_FORCES], us[TG_DEVICE_STEP_FORCES], us[TG_DEVICE_STEP_UPDATE],
        us[TG_DEVICE_STEP_CHAIN], (long long)counts.clusters, (long long)counts.kept);
    close_engine(&e);
  }
  free_scene(&s);
  return true;
}

static const std::string held = "constraints = h-bonds\ncomm-mode = none\n";

static void run_all() {
  report(loaded(1, held, {{2, 1, 1}, {1, 2, 2}, {2, 2, 2}, {3, 1, 1}, {1, 1, 5}}), "a small box");
  report(loaded(2, held, {{2, 1, 1}, {2, 2, 1}, {1, 2, 2}, {2, 2, 2}, {3, 1, 1}, {1, 1, 5}}),
         "45,000 atoms");
  report(loaded(1, "constraints = all-bonds\ncomm-mode = none\n", {{2, 2, 2}}),
         "groups that straddle");
  report(loaded(1, std::string("constraints = h-bonds\n") + coupled, {{2, 1, 1}, {2, 2, 2}}),
         "thermostat, centre of mass");
  report(loaded_in_vacuum(3.81597, 3.81597, 9, {{1, 1, 4}, {2, 1, 2}}), "a slab in vacuum");
  report(loaded_in_vacuum(9, 9, 9, {{2, 2, 2}, {4, 2, 1}}), "a drop in a corner");
  report(long_run(1, 2, 2, 2, "comm-mode = none\n"), "507 steps");
  report(long_run(2, 2, 1, 1, coupled), "507 steps with a thermostat");
  report(too_little_room_is_told(), "too little room is told");
}

/* The same with domains on two cards; an empty card among them. */
static void run_cards() {
  if (tg_device_count() < 2) {
    printf("several cards: skipped, there is one GPU\n");
    return;
  }
  report(loaded(1, held, {{2, 1, 1}, {1, 1, 2}, {2, 2, 2}}, 2), "two cards, a small box");
  report(loaded(2, held, {{2, 1, 1}, {1, 2, 1}, {4, 1, 1}, {2, 2, 2}}, 2),
         "two cards, 45,000 atoms");
  report(loaded(1, std::string("constraints = h-bonds\n") + coupled, {{2, 1, 1}, {1, 2, 2}}, 2),
         "two cards, thermostat, centre of mass");
  report(loaded_in_vacuum(9, 9, 9, {{2, 1, 1}, {2, 2, 2}}, 2), "two cards, one empty");
  report(long_run(1, 2, 1, 1, "comm-mode = none\n", 2), "two cards, 507 steps");
  report(long_run(2, 2, 1, 1, coupled, 2), "two cards, 507 steps with a thermostat");
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  char folder[] = "/tmp/throng-gpu-domains-XXXXXX";
  if (!mkdtemp(folder)) return 1;
  scratch = folder;
  if (argc > 1 && strcmp(argv[1], "quick") == 0)
    report(loaded(1, held, {{2, 2, 2}}), "a small box");
  else if (argc > 1 && strcmp(argv[1], "times") == 0)
    report(print_times(), "times");
  else if (argc > 1 && strcmp(argv[1], "cards") == 0)
    run_cards();
  else if (argc > 1 && strcmp(argv[1], "blocks") == 0)
    setenv("TG_MD_ORDER", "blocks", 1), run_all(), run_cards();
  else
    run_all(), run_cards();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
