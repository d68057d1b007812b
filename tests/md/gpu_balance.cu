/* SPDX-License-Identifier: Apache-2.0 */
/* Domains of unequal size on GPUs, and planes that move while steps go on: the physics of one
 * domain, times that become alike.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Argument "quick": a part that is short
 * enough for compute-sanitizer.
 *
 *   RUN: all */
#include "md/gpu_scene.cuh"

static double rms(const std::vector<double>& a) {
  double sum = 0;
  for (double x : a) sum += x * x;
  return sqrt(sum / (double)a.size());
}

static double rms_apart(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum / (double)a.size());
}

/* Pair forces differ by rounding, as they do with equal bricks (gpu_domains.cu); sums of bonded
 * terms do not. */
static bool same_forces(const outcome& a, const outcome& b) {
  printf("    forces %.2e apart\n", rms_apart(a.f, b.f) / rms(b.f));
  EXPECT(a.x == b.x && a.v == b.v);
  EXPECT(rms_apart(a.f, b.f) <= 2e-6 * rms(b.f));
  for (int i = 0; i < 9; i++) EXPECT(a.records.back().term[i] == b.records[0].term[i]);
  for (int i = 9; i < TG_DEVICE_TERMS; i++)
    EXPECT(fabs(a.records.back().term[i] - b.records[0].term[i]) <=
           2e-6 * (1 + fabs(b.records[0].term[i])));
  return true;
}

/* With one domain, where `many` has ended. */
static bool one_agrees(const scene* s, const outcome& many) {
  outcome fresh;
  const int one[3] = {1, 1, 1};
  if (!run_from(s, one, (const vector3*)many.x.data(), (const vector3*)many.v.data(), 0, 1, &fresh))
    return false;
  return same_forces(many, fresh);
}

static tg_device_planes planes_of(const int grid[3], double shift) {
  tg_device_planes p;
  const uint32_t count[3] = {(uint32_t)grid[0], (uint32_t)grid[1], (uint32_t)grid[2]};
  tg_balance_equal(count, &p);
  for (int d = 0; d < 3; d++)
    for (int k = 1; k < grid[d]; k++)
      p.at[d][k] += (uint32_t)(int32_t)(shift * 0x1p32 / grid[d] * (d == 1 ? -1 : 1));
  return p;
}

/* Thick and thin bricks, after 60 steps in which atoms change domains. In a small box thin bricks
 * have clusters that are too wide for it. */
static bool unequal(int copies, int cards, double most,
                    const std::vector<std::vector<int>>& grids) {
  scene s;
  if (!load(copies, held, &s)) return false;
  s.cards = cards;
  for (const std::vector<int>& g : grids)
    for (double shift : {0.7 * most, -most}) {
      const int grid[3] = {g[0], g[1], g[2]};
      const tg_device_planes planes = planes_of(grid, shift);
      outcome many, again;
      s.planes = &planes;
      printf("  %d atoms, %d x %d x %d on %d, planes moved by %.2f\n", (int)s.atoms.count, g[0],
             g[1], g[2], cards, shift);
      if (!run(&s, g[0], g[1], g[2], 60, 20, &many) || !run(&s, g[0], g[1], g[2], 60, 20, &again) ||
          !same_bits(many, again) || !one_agrees(&s, many))
        return false;
    }
  free_scene(&s);
  return true;
}

/* Stretches with planes that move; then a frame. */
static bool run_balanced(const scene* s, const int domains[3], int stretches, outcome* out,
                         tg_device_balance* balance) {
  engine e = {NULL, NULL};
  const int count = s->search_steps, last = stretches * count;
  if (!open_engine(s, domains, (const vector3*)s->atoms.x, (const vector3*)s->system->start.v, last,
                   1 << 30, &e))
    return false;
  RUN(tg_device_step_time(e.step, 1));
  for (int first = 0; first <= last; first += count) {
    unsigned char flags[MOST_SEARCH_STEPS + 1];
    const int left = last + 1 - first, steps = left < count ? left : count;
    for (int i = 0; i <= steps; i++) flags[i] = flags_of(s, first + i, last, 1 << 30);
    RUN(tg_device_step_queue(e.step, flags, steps));
    if (!collect(&e, out)) return false;
  }
  if (!read_frame(&e, s->atoms.count, out)) return false;
  RUN(tg_device_md_get_balance(e.md, balance));
  close_engine(&e);
  return true;
}

static bool balances(scene* s, const int grid[3], int stretches, double most) {
  tg_device_balance b;
  outcome many;
  s->balance = true;
  const bool right = run_balanced(s, grid, stretches, &many, &b);
  s->balance = false;
  if (!right) return false;
  printf("  %d atoms, %d x %d x %d on %d: %.3f at first, %.3f at last, %lld moves; planes",
         (int)s->atoms.count, grid[0], grid[1], grid[2], s->cards, b.first, b.last, b.moves);
  for (int d = 0; d < 3; d++)
    for (int k = 1; k < grid[d]; k++) printf(" %c %.4f", "xyz"[d], b.planes.at[d][k] * 0x1p-32);
  printf("\n");
  EXPECT(b.moves > 0 && b.last < b.first);
  EXPECT(b.last <= most);
  return one_agrees(s, many);
}

/* A slab of 3.8 nm in a box of 9, and a drop in a corner. Four layers of a slab may be no thinner
 * than 1.1 nm, so that the fullest has 1.1 / 3.8 of it, 1.16 of the mean, and what is computed
 * twice besides. */
static bool in_vacuum(int cards) {
  scene s;
  const double slab[3] = {3.81597, 3.81597, 9}, drop[3] = {9, 9, 9};
  const int two[3] = {1, 1, 2}, four[3] = {1, 1, 4}, eight[3] = {2, 2, 2};
  if (!load_in_vacuum(slab, &s)) return false;
  s.cards = cards;
  bool right = balances(&s, two, 60, 1.15);
  right = balances(&s, four, 60, 1.4) && right;
  free_scene(&s);
  if (!load_in_vacuum(drop, &s)) return false;
  s.cards = cards;
  right = balances(&s, eight, 60, 1.4) && right;
  free_scene(&s);
  return right;
}

static bool few_steps() {
  scene s;
  const double slab[3] = {3.81597, 3.81597, 9};
  const int two[3] = {1, 1, 2};
  if (!load_in_vacuum(slab, &s)) return false;
  const bool right = balances(&s, two, 5, 1.9);
  free_scene(&s);
  return right;
}

/* Even times leave the planes about where they are. */
static bool liquid_stays(int cards) {
  scene s;
  tg_device_balance b;
  outcome many;
  const int grid[3] = {2, 1, 1};
  if (!load(2, held, &s)) return false;
  s.cards = cards;
  s.balance = true;
  if (!run_balanced(&s, grid, 40, &many, &b)) return false;
  printf("  %d atoms on %d: %.3f at first, %.3f at last, %lld moves; plane x %.4f\n",
         (int)s.atoms.count, cards, b.first, b.last, b.moves, b.planes.at[0][1] * 0x1p-32);
  EXPECT(fabs(b.planes.at[0][1] * 0x1p-32 - 0.5) < 0.05);
  s.balance = false;
  const bool right = one_agrees(&s, many);
  free_scene(&s);
  return right;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (!make_scratch()) return 1;
  if (argc > 1 && strcmp(argv[1], "quick") == 0) {
    report(few_steps(), "planes move");
    printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
  }
  report(unequal(1, 1, 0.3, {{2, 1, 1}, {1, 1, 3}, {2, 2, 2}}),
         "bricks of unequal size, a small box");
  report(unequal(2, 1, 0.5, {{2, 1, 1}, {1, 2, 2}, {2, 2, 2}}), "bricks of unequal size");
  report(in_vacuum(1), "planes move in vacuum");
  report(liquid_stays(1), "planes stay in a liquid");
  if (tg_device_count() > 1) {
    report(unequal(2, 2, 0.5, {{2, 1, 1}, {2, 2, 2}}), "bricks of unequal size, two cards");
    report(in_vacuum(2), "planes move in vacuum, two cards");
    report(liquid_stays(2), "planes stay in a liquid, two cards");
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
