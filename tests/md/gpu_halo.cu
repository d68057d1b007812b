/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of a step's exchange of positions, on one GPU and on two: the same bits as `direct` for
 * hundreds of steps in which atoms change domains; as many kernels and waits of the host as
 * docs/md-gpu.md says; what has no room is told.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: "quick" for a part that is
 * short enough for compute-sanitizer, "cards" for two cards alone, or a schedule's name.
 *
 *   RUN: all quick */
#include "md/gpu_scene.cuh"

static const char* const names[] = {"host", "stream", "pulse", "fused"};

static std::vector<const char*> schedules(names, names + 4);

/* Searches, stretches, and how many dimensions are cut. */
typedef struct counts {
  long long steps, searches, stretches, stages, cards;
} counts;

/* Against direct, whose graphs have everything else. At a search: clearing twice, counting,
 * placing, filling; with several cards telling. */
static bool right_counts(const char* name, const counts& n, const outcome& out,
                         const outcome& direct) {
  const bool host = strcmp(name, "host") == 0, stream = strcmp(name, "stream") == 0;
  const bool fused = strcmp(name, "fused") == 0;
  const long long lists = n.searches * (n.cards > 1 ? 6 : 5);
  const long long each = fused ? 1 : n.stages * (host || stream ? 2 : 1);
  const long long kernels = n.cards * (lists + n.steps * each);
  const long long reading = host || stream ? n.searches : 0;
  const long long waits = n.cards * (reading + (host ? 2 * n.stages * n.steps : 0));
  printf("    %s: %lld kernels and %lld waits more than direct\n", name,
         out.kernels - direct.kernels, out.waits - direct.waits);
  EXPECT(out.kernels - direct.kernels == kernels);
  EXPECT(out.waits - direct.waits == waits);
  return true;
}

static bool compare(scene* s, int a, int b, int c, int steps) {
  outcome direct, other;
  const counts n = {steps + 1, steps / s->search_steps + 1, steps / s->search_steps + 1,
                    (a > 1) + (b > 1) + (c > 1), s->cards};
  bool right = true;
  printf("  %d x %d x %d on %d\n", a, b, c, s->cards);
  s->halo = "direct";
  if (!run(s, a, b, c, steps, 50, &direct)) return false;
  for (const char* name : schedules) {
    s->halo = name;
    const bool same = run(s, a, b, c, steps, 50, &other) && same_bits(other, direct) &&
                      right_counts(name, n, other, direct);
    if (!same) printf("    %s differs\n", name);
    right = right && same;
  }
  return right;
}

static bool loaded(int copies, const std::string& more, const std::vector<std::vector<int>>& grids,
                   int steps, int cards = 1) {
  scene s;
  bool right = true;
  if (!load(copies, more, &s)) return false;
  s.cards = cards;
  for (const std::vector<int>& g : grids) right = compare(&s, g[0], g[1], g[2], steps) && right;
  free_scene(&s);
  return right;
}

/* Bricks without atoms, which lie on the way of others' copies. */
static bool in_vacuum(const std::vector<std::vector<int>>& grids, int cards = 1) {
  scene s;
  const double box[3] = {9, 9, 9};
  bool right = true;
  if (!load_in_vacuum(box, &s)) return false;
  s.cards = cards;
  for (const std::vector<int>& g : grids) right = compare(&s, g[0], g[1], g[2], 20) && right;
  free_scene(&s);
  return right;
}

/* Words that there are not, and a system whose room was chosen too small. */
static bool what_does_not_fit_is_told() {
  scene s;
  engine e = {NULL, NULL};
  const int domains[3] = {2, 2, 2};
  tg_device_md_params p;
  if (!load(1, held, &s)) return false;
  tg_device_atoms_params(&s.atoms, s.system, &p);
  p.list_radius = p.inner_radius = s.list_radius;
  p.domains[0] = 2;
  p.halo = "pigeon";
  EXPECT(tg_device_md_create(&p, &e.md) == TG_ERR_INPUT && !e.md);
  EXPECT(strstr(tg_last_error(), "halo \"pigeon\""));
  for (const char* name : schedules) {
    const unsigned char flags[3] = {TG_STEP_SEARCH, 0, 0};
    const tg_device_record* records;
    tg_device_trouble trouble;
    int steps, count;
    s.halo = name;
    s.row_room = 0.3;
    if (!open_engine(&s, domains, (const vector3*)s.atoms.x, (const vector3*)s.system->start.v, 1,
                     1, &e))
      return false;
    RUN(tg_device_step_queue(e.step, flags, 2));
    RUN(tg_device_step_collect(e.step, &steps, &records, &count, &trouble));
    EXPECT(trouble.lists != 0 && trouble.list_full);
    EXPECT(trouble.fast_atom < 0 && trouble.bad_group < 0);
    EXPECT(tg_device_md_get_forces(e.md, NULL, NULL) == TG_ERR_MACHINE);
    close_engine(&e);
  }
  free_scene(&s);
  return true;
}

static void run_all() {
  report(loaded(1, held, {{2, 1, 1}, {1, 2, 2}, {2, 2, 2}, {3, 1, 1}, {1, 1, 5}, {2, 2, 1}}, 20),
         "a small box");
  report(loaded(1, "comm-mode = none\nconstraints = h-bonds\n", {{2, 2, 2}}, 507), "507 steps");
  report(loaded(2, std::string("constraints = h-bonds\n") + coupled, {{2, 2, 1}}, 507),
         "507 steps with a thermostat, 45,000 atoms");
  report(in_vacuum({{2, 2, 2}, {4, 2, 1}}), "a drop in a corner");
  report(what_does_not_fit_is_told(), "what does not fit is told");
}

static void run_cards() {
  if (tg_device_count() < 2) {
    printf("several cards: skipped, there is one GPU\n");
    return;
  }
  report(loaded(1, held, {{2, 1, 1}, {1, 2, 2}, {2, 2, 2}}, 20, 2), "two cards, a small box");
  report(loaded(1, std::string("constraints = h-bonds\n") + coupled, {{2, 2, 2}}, 507, 2),
         "two cards, 507 steps with a thermostat");
  report(loaded(2, held, {{2, 1, 1}}, 507, 2), "two cards, 507 steps, 45,000 atoms");
  report(in_vacuum({{2, 1, 1}, {2, 2, 2}}, 2), "two cards, one empty");
}

int main(int argc, char** argv) {
  const char* word = argc > 1 ? argv[1] : "all";
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (!make_scratch()) return 1;
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (const char* name : names)
    if (strcmp(word, name) == 0) schedules = {name};
  if (strcmp(word, "quick") == 0)
    report(loaded(1, held, {{2, 2, 2}}, 6), "a small box");
  else if (strcmp(word, "cards") == 0)
    run_cards();
  else
    run_all(), run_cards();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
