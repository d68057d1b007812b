/* SPDX-License-Identifier: Apache-2.0 */
/* Steps timed by the GPU's timer: the same bits as others, parts that add up to the whole, and as
 * long as the host's clock says, on one GPU and on two.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped).
 *
 *   RUN: all */
#include <algorithm>

#include "base/timer.h"
#include "md/gpu_scene.cuh"

enum { WARM = 3, STRETCHES = 60 };

/* A run of stretches from the start, a search each; two are under way. */
typedef struct timed {
  double us; /* a stretch */
  std::vector<double> x, v;
  tg_device_step_times times;
} timed;

static bool go(engine* e, const scene* s, int first, int stretches) {
  const int count = s->search_steps, never = 1 << 30;
  int under_way = 0;
  outcome out;
  for (int i = first; i < first + stretches; i++) {
    unsigned char flags[MOST_SEARCH_STEPS + 1];
    for (int k = 0; k <= count; k++) flags[k] = flags_of(s, i * count + k, never, never);
    RUN(tg_device_step_queue(e->step, flags, count));
    if (++under_way < TG_DEVICE_IN_FLIGHT) continue;
    if (!collect(e, &out)) return false;
    under_way--;
  }
  for (; under_way > 0; under_way--)
    if (!collect(e, &out)) return false;
  return true;
}

static bool run_timed(const scene* s, const int domains[3], int every, timed* out) {
  engine e = {NULL, NULL};
  if (!open_engine(s, domains, (const vector3*)s->atoms.x, (const vector3*)s->system->start.v,
                   1 << 30, 1 << 30, &e))
    return false;
  RUN(tg_device_step_time(e.step, every));
  if (!go(&e, s, 0, WARM * 8)) return false; /* makes every graph */
  RUN(tg_device_step_time(e.step, every));
  const double clock = tg_time_now();
  if (!go(&e, s, WARM * 8, STRETCHES)) return false;
  out->us = 1e6 * (tg_time_now() - clock) / STRETCHES;
  RUN(tg_device_step_times_of(e.step, &out->times));
  out->x.assign(3 * s->atoms.count, NAN);
  out->v.assign(3 * s->atoms.count, NAN);
  RUN(tg_device_step_get(e.step, (vector3*)out->x.data(), (vector3*)out->v.data()));
  close_engine(&e);
  return true;
}

static void print(const scene* s, const int* g, const timed& off, const timed& some,
                  const timed& all) {
  const tg_device_step_times& t = all.times;
  printf(
      "  %zu atoms, %d x %d x %d on %d: whole %.2f us = local %.2f + exposed %.2f + halo %.2f + "
      "tail %.2f + update %.2f + between %.2f; bonded %.2f beside; %d steps\n",
      s->atoms.count, g[0], g[1], g[2], s->cards, t.whole, t.local, t.exposed, t.halo, t.tail,
      t.update, t.between, t.bonded, t.steps);
  printf(
      "    forces' warps: local %.2f, halo %.2f, bonded %.2f; search %.2f, pruning %.2f; domains",
      t.work[TG_DEVICE_LOCAL], t.work[TG_DEVICE_HALO], t.work[TG_DEVICE_BONDED], t.search, t.prune);
  for (int d = 0; d < g[0] * g[1] * g[2]; d++) printf(" %.2f", t.domain[d]);
  printf("\n    a stretch of %d: %.2f us, 1 in 8 timed %.2f, all timed %.2f\n", s->search_steps,
         off.us, some.us, all.us);
}

/* The steps that count, searches and prunings follow each other, so together they are no longer
 * than the clock's time, but for what begins before it: nothing. Of the rest of a stretch, the
 * other steps are like them. */
static bool times_are_right(scene* s, const int domains[3]) {
  timed off, some, all;
  const int count = domains[0] * domains[1] * domains[2];
  if (!run_timed(s, domains, 0, &off) || !run_timed(s, domains, 8, &some) ||
      !run_timed(s, domains, 1, &all))
    return false;
  print(s, domains, off, some, all);
  EXPECT(off.x == all.x && off.v == all.v);
  EXPECT(off.x == some.x && off.v == some.v);
  EXPECT(off.times.steps == 0);
  const tg_device_step_times& t = all.times;
  /* of 10 steps 1 and 3 count, and 6 and 8, as 5 prunes */
  EXPECT(t.steps == 4 * STRETCHES);
  EXPECT(some.times.steps > 0 && some.times.steps < t.steps);
  EXPECT(t.whole * 4 + t.search + t.prune <= all.us);
  EXPECT(t.whole * 9 + t.search + t.prune >= 0.6 * all.us);
  EXPECT(t.local > 0 && t.update > 0 && t.search > 0 && t.prune > 0 && t.between >= 0);
  if (s->cards == 1) { /* of several the largest of each is told */
    const double sum = t.local + t.exposed + t.halo + t.tail + t.update + t.exchange + t.between;
    EXPECT(fabs(sum - t.whole) <= 1e-6 * t.whole);
    double domain = 0, forces = t.local + t.halo + t.tail;
    for (double us : t.domain) domain += us;
    /* warps are in their places at most all the time */
    EXPECT(domain > t.update && domain <= forces + t.update + 1e-3 * t.whole);
    const double work = t.work[TG_DEVICE_LOCAL] + t.work[TG_DEVICE_HALO] + t.work[TG_DEVICE_BONDED];
    EXPECT(fabs(work - forces) <= 1e-3 * t.whole);
    EXPECT(t.exposed == 0 && t.exchange == 0);
  }
  EXPECT((t.halo > 0) == (count > 1));
  for (int d = 0; d < TG_DEVICE_NUMBERED; d++) EXPECT((t.domain[d] > 0) == (d < count));
  return true;
}

static bool timed_in(int copies, int cards, const std::vector<std::vector<int>>& grids) {
  scene s;
  bool right = true;
  if (!load(copies, held, &s)) return false;
  s.cards = cards;
  for (const std::vector<int>& g : grids) {
    const int domains[3] = {g[0], g[1], g[2]};
    right = times_are_right(&s, domains) && right;
  }
  free_scene(&s);
  return right;
}

int main() {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (!make_scratch()) return 1;
  report(timed_in(2, 1, {{1, 1, 1}, {2, 1, 1}, {2, 2, 2}}), "timed steps");
  if (tg_device_count() > 1) report(timed_in(2, 2, {{2, 1, 1}, {2, 2, 2}}), "two cards");
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
