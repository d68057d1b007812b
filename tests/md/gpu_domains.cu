/* SPDX-License-Identifier: Apache-2.0 */
/* Several domains on one GPU against one: forces, every term of the energy, trajectories, long runs
 * in which atoms change domains; the same bits again.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: "quick" for a part that
 * is short enough for compute-sanitizer, "times" for how long the stages
 * take or "cards" for several cards
 * alone.
 *
 *   RUN: all */
#include "md/gpu_scene.cuh"

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
  if (!make_scratch()) return 1;
  if (argc > 1 && strcmp(argv[1], "quick") == 0)
    report(loaded(1, held, {{2, 2, 2}}), "a small box");
  else if (argc > 1 && strcmp(argv[1], "times") == 0)
    report(print_times(), "times");
  else if (argc > 1 && strcmp(argv[1], "cards") == 0)
    run_cards();
  else
    run_all(), run_cards();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
