/* SPDX-License-Identifier: Apache-2.0 */
/* The halo exchange on GPUs, checked by atom numbers: every copy must be there, once, in place, as
 * brute force over all atoms says; forces must be the sum over the copies.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped).
 *
 *   halo_gpu_halo [GPUS] [quick]     GPUS: only with so many; quick: a part that is short enough
 * for compute-sanitizer, with deadlines that suit its pace */
#include "halo/gpu_counts.cuh"
#include "halo/gpu_scene.cuh"
#include "halo/gpu_stall.cuh"
#include "halo/slanted.cuh"

/* Back to back: so many steps under one plan after another, ten to a graph. */
static int rounds = 10, launches_a_round = 10;

static const way ways[] = {
    {"host", NULL, false},    {"stream", NULL, false},   {"pulse", NULL, false},
    {"fused", "put", false},  {"fused", "pull", false},  {"fused", "reduce", false},
    {"direct", "put", false}, {"direct", "pull", false}, {"direct", "reduce", false},
    {"pulse", NULL, true},    {"fused", "put", true},    {"direct", "put", true},
};

/* One layout, one way: everything arrives; forces add up; a second time; then a smaller layout in
 * the same memory. */
static bool one_layout(const layout* wanted, const way* w, int gpus, bool wide) {
  scene s;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  if (!check_plan(&s)) return false;
  tg_device_halo_params params = params_of(w, gpus, wide, true);
  params.margin = 1.5;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  for (int round = 0; round < 3; round++) {
    if (round == 2) { /* other atoms, fewer of them */
      layout fewer = *wanted;
      fewer.atoms /= 3;
      RUN(scene_make(&fewer, 7, is_direct(w), &s));
      if (tg_device_halo_replan(h.halo, &s.plan) != TG_OK) {
        /* some message may have grown; that must be said, and must not be a fault */
        EXPECT(strstr(tg_last_error(), "make a new halo") != NULL);
        return true;
      }
    }
    if (!exchange_once(&s, h.halo)) return false;
  }
  return true;
}

/* What a staged exchange must give, added on the host: pulse by pulse, the last one first. */
template <typename T>
static std::vector<double> staged_sums(const scene* s) {
  std::vector<std::vector<T>> f(s->plan.pe_count);
  for (int p = 0; p < s->plan.pe_count; p++)
    for (size_t i = 0; i < 3 * s->plan.parts[p].local_count; i++)
      f[p].push_back((T)copy_force(number_of(s, p, i / 3), p, (int)(i % 3), true));
  for (int c = s->plan.channel_count - 1; c >= 0; c--)
    for (int p = 0; p < s->plan.pe_count; p++) {
      const tg_device_message* m = &s->plan.parts[p].messages[c];
      const size_t slice = s->plan.parts[m->to].messages[c].receive_start;
      for (size_t i = 0; i < 3 * m->send_count; i++)
        f[p][3 * (size_t)m->send[i / 3] + i % 3] += f[m->to][3 * slice + i];
    }
  std::vector<double> all;
  for (int p = 0; p < s->plan.pe_count; p++)
    for (size_t i = 0; i < 3 * s->plan.parts[p].home_count; i++) all.push_back((double)f[p][i]);
  return all;
}

/* Forces in thirds: the same bits every time, and those of the host, for all schedules. */
static bool same_bits(const layout* wanted, int gpus, bool wide) {
  scene staged;
  RUN(scene_make(wanted, 0, false, &staged));
  const std::vector<double> sums =
      wide ? staged_sums<double>(&staged) : staged_sums<float>(&staged);
  for (const way& w : ways) {
    if (w.force_return && strcmp(w.force_return, "reduce") == 0) continue;
    scene s;
    RUN(scene_make(wanted, 0, is_direct(&w), &s));
    tg_device_halo_params params = params_of(&w, gpus, wide, true);
    holder h;
    RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
    for (int again = 0; again < 2; again++) {
      std::vector<double> all;
      RUN(tg_device_halo_positions(h.halo));
      RUN(set_forces(&s, h.halo, true));
      RUN(tg_device_halo_forces(h.halo));
      if (!check_forces(&s, h.halo, &all)) return false;
      EXPECT(all.size() == sums.size());
      bool same = memcmp(sums.data(), all.data(), all.size() * sizeof(double)) == 0;
      if (!same) printf("    %s %s\n", w.schedule, w.force_return ? w.force_return : "");
      EXPECT(same);
    }
  }
  return true;
}

/* A triclinic box: positions have the host's bits by every schedule, whoever sends them: the halo,
 * its kernel that moves, or the test's own. */
static bool slanted_bits(const layout* wanted, int gpus, bool wide) {
  enum { HALO, MOVE, PUSH, POST };
  slanted s;
  RUN(slanted_make(wanted, wide, &s));
  for (const way& w : ways) {
    RUN(slanted_plan(&s, is_direct(&w)));
    for (int sender = HALO; sender <= (is_direct(&w) && !w.bulk ? POST : HALO); sender++) {
      tg_device_halo_params params = params_of(&w, gpus, wide, true);
      holder h;
      RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
      RUN(slanted_set(&s, h.halo));
      if (sender == HALO) RUN(tg_device_halo_positions(h.halo));
      if (sender == MOVE) RUN(tg_device_halo_move(h.halo, 1, true)); /* at no speed */
      if (sender == MOVE) RUN(tg_device_halo_await(h.halo));
      if (sender >= PUSH && !slanted_push(&s, h.halo, sender == POST)) return false;
      RUN(tg_device_halo_synchronize(h.halo));
      if (slanted_check(&s, h.halo)) continue;
      printf("    %s %s%s, sender %d\n", w.schedule, w.force_return ? w.force_return : "",
             w.bulk ? " bulk" : "", sender);
      return false;
    }
  }
  return true;
}

/* A layout and others that fit into its memory, with no room to spare. */
enum { SERIES = 6 };
typedef struct series {
  scene of[SERIES];
  bool made;
} series;

/* Fewer atoms elsewhere, down to none, until every message fits. */
static bool series_make(const layout* wanted, bool direct, const tg_device_halo* halo,
                        series* out) {
  static const double share[SERIES] = {1, 0.75, 0.5, 0.9, 0, 0.25};
  for (int i = 1; i < SERIES; i++) {
    layout fewer = *wanted;
    fewer.atoms = (int)(wanted->atoms * share[i]);
    for (int seed = 1;; seed++, fewer.atoms = fewer.atoms * 9 / 10) {
      RUN(scene_make(&fewer, 10 * i + seed, direct, &out->of[i]));
      if (tg_device_plan_fits(halo, &out->of[i].plan) == TG_OK) break;
      EXPECT(fewer.atoms > 0); /* nothing fits always */
    }
  }
  return out->made = true;
}

/* All steps so far were made, and nobody saw anything stale. */
static bool seen_by(const std::vector<watch>& watches, unsigned steps) {
  for (const watch& w : watches) {
    unsigned found[2];
    EXPECT(cudaMemcpy(found, w.step, sizeof found, cudaMemcpyDeviceToHost) == cudaSuccess);
    EXPECT(found[0] == steps); /* all steps were made */
    EXPECT(found[1] == 0);     /* nothing stale */
  }
  return true;
}

/* The steps of a round. Schedule host has no graph; that of stream holds the plan's sizes. */
static bool run_round(const way* w, holder* h, const std::vector<watch>& watches, bool forces,
                      sender how) {
  if (!strcmp(w->schedule, "host")) {
    for (int n = 0; n < 10 * launches_a_round; n++)
      if (!queue_step(h->halo, watches, how, forces)) return false;
  } else {
    if (!strcmp(w->schedule, "stream")) tg_device_halo_graph_destroy(h->halo, &h->graph);
    if (!h->graph) {
      bool right = true;
      RUN(tg_device_halo_graph_begin(h->halo));
      for (int n = 0; n < 10 && right; n++) right = queue_step(h->halo, watches, how, forces);
      RUN(tg_device_halo_graph_end(h->halo, &h->graph));
      EXPECT(right);
    }
    for (int n = 0; n < launches_a_round; n++) RUN(tg_device_halo_graph_launch(h->halo, h->graph));
  }
  RUN(tg_device_halo_synchronize(h->halo));
  return true;
}

static bool run_rounds(const way* w, series* scenes, holder* h, const std::vector<watch>& watches,
                       const std::vector<char*>& memory, bool forces, sender how) {
  for (int round = 0; round < rounds; round++) {
    /* the fullest, another, the fullest, yet another, ... */
    const scene* s = &scenes->of[round % 2 ? 1 + round / 2 % (SERIES - 1) : 0];
    if (round > 0) {
      RUN(tg_device_halo_replan(h->halo, &s->plan));
      for (int p = 0; p < s->plan.pe_count; p++) RUN(watch_fill(s, h->halo, p, memory[p]));
    }
    if (!run_round(w, h, watches, forces, how)) return false;
    if (!seen_by(watches, 10u * (unsigned)(launches_a_round * (round + 1)))) return false;
  }
  return true;
}

/* 1,000 exchanges back to back with changing data, a new plan every 100; margin 1. */
static bool thousand(const way* w, const layout* wanted, series* scenes, int gpus, bool forces,
                     sender how) {
  if (!scenes->made) RUN(scene_make(wanted, 0, is_direct(w), &scenes->of[0]));
  const tg_device_plan* plan = &scenes->of[0].plan;
  tg_device_halo_params params = params_of(w, gpus, false, forces);
  holder h;
  RUN(tg_device_halo_create(&params, plan, &h.halo));
  if (!scenes->made && !series_make(wanted, is_direct(w), h.halo, scenes)) return false;
  std::vector<watch> watches(plan->pe_count);
  std::vector<char*> memory(plan->pe_count, NULL);
  for (int p = 0; p < plan->pe_count; p++)
    RUN(watch_make(&scenes->of[0], h.halo, p, &watches[p], &memory[p]));
  bool right = run_rounds(w, scenes, &h, watches, memory, forces, how);
  tg_device_halo_synchronize(h.halo);
  for (char* one : memory) cudaFree(one);
  return right;
}

/* A graph outlives a new plan. */
static bool graph_and_replan(const way* w, int gpus) {
  layout wanted = {{2, 2, 1}, 1.0, 700, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, gpus, false, true);
  params.margin = 2;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  RUN(tg_device_halo_graph_begin(h.halo));
  RUN(tg_device_halo_positions(h.halo));
  RUN(tg_device_halo_forces(h.halo));
  RUN(tg_device_halo_graph_end(h.halo, &h.graph));
  for (int round = 0; round < 6; round++) {
    layout now = wanted;
    if (round == 3) now.atoms = 0;
    if (round % 2) now.atoms /= 2;
    RUN(scene_make(&now, round, is_direct(w), &s));
    RUN(tg_device_halo_replan(h.halo, &s.plan));
    RUN(set_positions(&s, h.halo));
    RUN(set_forces(&s, h.halo, false));
    RUN(tg_device_halo_graph_launch(h.halo, h.graph));
    RUN(tg_device_halo_synchronize(h.halo));
    if (!check_positions(&s, h.halo) || !check_forces(&s, h.halo, NULL)) return false;
  }
  layout many = wanted;
  many.atoms = 3000;
  RUN(scene_make(&many, 0, is_direct(w), &s));
  EXPECT(tg_device_halo_replan(h.halo, &s.plan) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "room for") != NULL);
  return true;
}

/* The demonstration kernel moves and pushes. */
static bool moves(int gpus) {
  layout wanted = {{2, 2, 1}, 1.0, 600, 1};
  scene s;
  RUN(scene_make(&wanted, 0, true, &s));
  way w = {"direct", NULL, false};
  tg_device_halo_params params = params_of(&w, gpus, true, false);
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  RUN(set_positions(&s, h.halo));
  for (int p = 0; p < s.plan.pe_count; p++) {
    std::vector<double> v(s.centres[p].size() + 3, 0.5);
    RUN(tg_device_halo_set_velocities(h.halo, p, (const double(*)[3])v.data()));
  }
  for (int n = 0; n < 4; n++) {
    RUN(tg_device_halo_move(h.halo, 0.25, true));
    RUN(tg_device_halo_await(h.halo));
  }
  RUN(tg_device_halo_synchronize(h.halo));
  for (double& x : s.all) x += 0.5; /* 4 x 0.25 x 0.5; the plan's cells stay those of before */
  for (int p = 0; p < s.plan.pe_count; p++) {
    std::vector<double> x(3 * s.plan.parts[p].local_count + 1);
    RUN(tg_device_halo_get_positions(h.halo, p, (vector3*)x.data()));
    for (size_t i = 0; i < s.plan.parts[p].local_count; i++)
      for (int d = 0; d < 3; d++) {
        double at = s.all[3 * number_of(&s, p, i) + d];
        EXPECT(x[3 * i + d] == at || x[3 * i + d] == at + box[d]);
      }
  }
  return true;
}

static bool refusals(int gpus) {
  layout wanted = {{2, 1, 1}, 1.0, 30, 1};
  scene s;
  RUN(scene_make(&wanted, 0, false, &s));
  tg_device_halo* halo = NULL;
  way pigeon = {"pigeon", NULL, false}, direct = {"direct", NULL, false},
      odd = {"fused", "post", false}, host = {"host", NULL, false};
  tg_device_halo_params params = params_of(&pigeon, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INPUT && !halo);
  params = params_of(&direct, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INTERNAL && !halo);
  params = params_of(&odd, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INPUT && !halo);
  params = params_of(&host, 99, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_MACHINE && !halo);
  holder h;
  params = params_of(&host, gpus, false, true);
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  EXPECT(tg_device_halo_forces(h.halo) == TG_ERR_INTERNAL);
  RUN(tg_device_halo_positions(h.halo));
  EXPECT(tg_device_halo_positions(h.halo) == TG_ERR_INTERNAL);
  EXPECT(tg_device_halo_graph_begin(h.halo) == TG_ERR_INPUT);
  return true;
}

static std::string name_of(const char* what, const way* w, const int grid[3], int gpus) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s%s%s%s, %d x %d x %d on %d GPU", what, w->schedule,
           w->force_return ? " " : "", w->force_return ? w->force_return : "",
           w->bulk ? " bulk" : "", grid[0], grid[1], grid[2], gpus);
  return text;
}

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 200, 1},    {{2, 1, 1}, 1.0, 300, 1},  {{1, 2, 1}, 0, 100, 1},
    {{1, 1, 2}, 1.25, 200, 1},   {{3, 1, 1}, 1.25, 250, 1}, {{3, 1, 1}, 2.0, 200, 1},
    {{1, 1, 3}, 1.5, 200, 0.25}, {{2, 2, 1}, 1.25, 300, 1}, {{1, 2, 2}, 1.5, 150, 0.5},
    {{4, 1, 1}, 1.5, 200, 1},    {{5, 1, 1}, 1.25, 250, 1}, {{5, 1, 1}, 2.5, 150, 1},
    {{1, 2, 3}, 1.25, 300, 1},   {{2, 2, 2}, 1.25, 500, 1}, {{2, 2, 2}, 2.0, 200, 1},
    {{4, 2, 1}, 1.75, 200, 1},   {{2, 2, 2}, 1.0, 0, 1},    {{2, 1, 1}, 0.5, 1, 1},
};

/* Several pulses, thin domains, more channels than a row of sums holds. */
static const layout summed[] = {
    {{2, 2, 2}, 1.25, 500, 1},   {{3, 1, 1}, 2.0, 200, 1}, {{4, 2, 1}, 1.75, 300, 1},
    {{1, 1, 3}, 1.5, 200, 0.25}, {{5, 1, 1}, 2.5, 200, 1}, {{2, 3, 3}, 2.0, 500, 1},
    {{1, 2, 2}, 1.0, 200, 1},
};

/* Those of 1,000 exchanges: one, two and three dimensions, odd numbers, thin domains of two and
 * three pulses; last, two of three empty. */
static const layout lasting[] = {
    {{1, 1, 1}, 1.0, 200, 1},    {{2, 1, 1}, 1.0, 200, 1},  {{2, 2, 1}, 1.0, 200, 1},
    {{2, 2, 2}, 1.25, 300, 1},   {{3, 1, 1}, 1.25, 200, 1}, {{5, 1, 1}, 0.75, 200, 1},
    {{1, 2, 3}, 1.25, 250, 1},   {{3, 1, 1}, 2.0, 200, 1},  {{5, 1, 1}, 2.25, 200, 1},
    {{1, 1, 3}, 1.5, 150, 0.25},
};

/* Every way with and without a return of forces. */
static void thousands(const layout* wanted, int gpus) {
  series staged = {}, direct = {};
  for (const way& w : ways)
    for (int forces = 0; forces < 2; forces++) {
      const bool put = !w.force_return || !strcmp(w.force_return, "put");
      series* scenes = is_direct(&w) ? &direct : &staged;
      if (!forces && sends_like_another(&w)) continue;
      report(thousand(&w, wanted, scenes, gpus, forces != 0, SENT),
             name_of(forces ? "1,000 with forces" : "1,000", &w, wanted->grid, gpus));
      if (!is_direct(&w) || w.bulk || !put) continue;
      report(thousand(&w, wanted, scenes, gpus, forces != 0, PUSHED),
             name_of(forces ? "1,000 pushes with forces" : "1,000 pushes", &w, wanted->grid, gpus));
      report(
          thousand(&w, wanted, scenes, gpus, forces != 0, POSTED),
          name_of(forces ? "1,000 by mail with forces" : "1,000 by mail", &w, wanted->grid, gpus));
    }
}

/* 0 to 3 pulses: thick domains and thin ones. */
static void counts_on(int gpus) {
  static const struct {
    layout wanted;
    int pulses;
  } cases[] = {
      {{{1, 1, 1}, 1.0, 200, 1}, 0},  {{{2, 1, 1}, 1.0, 200, 1}, 1}, {{{2, 2, 1}, 1.0, 300, 1}, 2},
      {{{2, 2, 2}, 1.25, 500, 1}, 3}, {{{3, 1, 1}, 2.0, 200, 1}, 2}, {{{5, 1, 1}, 2.25, 200, 1}, 3},
  };
  for (const auto& one : cases) {
    const int* grid = one.wanted.grid;
    if (grid[0] * grid[1] * grid[2] < gpus) continue;
    for (const way& w : ways)
      report(counted(&one.wanted, one.pulses, &w, gpus), name_of("counts", &w, grid, gpus));
    report(counted_pushes(&one.wanted, gpus), "counts of pushes");
  }
}

static void all_on(int gpus) {
  for (const layout& wanted : layouts) {
    if (wanted.grid[0] * wanted.grid[1] * wanted.grid[2] < gpus) continue;
    for (const way& w : ways)
      for (int wide = 0; wide < 2; wide++)
        report(one_layout(&wanted, &w, gpus, wide != 0),
               name_of(wide ? "layout, double" : "layout", &w, wanted.grid, gpus));
  }
  /* more entries than threads that run at once: blocks go round */
  static const layout crowded = {{2, 2, 2}, 1.0, 120000, 1};
  for (const way& w : ways)
    for (int wide = 0; wide < 2 && w.force_return && !strcmp(w.force_return, "put"); wide++)
      report(one_layout(&crowded, &w, gpus, wide != 0),
             name_of(wide ? "crowded, double" : "crowded", &w, crowded.grid, gpus));
  for (const layout& wanted : summed)
    for (int wide = 0; wide < 2; wide++)
      report(same_bits(&wanted, gpus, wide != 0),
             name_of(wide ? "same bits, double" : "same bits", &ways[0], wanted.grid, gpus));
  for (const layout& wanted : slanted_layouts)
    for (int wide = 0; wide < 2; wide++)
      report(slanted_bits(&wanted, gpus, wide != 0),
             name_of(wide ? "triclinic, double" : "triclinic", &ways[0], wanted.grid, gpus));
  for (const layout& wanted : lasting)
    if (wanted.grid[0] * wanted.grid[1] * wanted.grid[2] >= gpus) thousands(&wanted, gpus);
  for (const way& w : ways) {
    const int grid[3] = {2, 2, 1};
    if (strcmp(w.schedule, "host") && strcmp(w.schedule, "stream"))
      report(graph_and_replan(&w, gpus), name_of("graph and new plan", &w, grid, gpus));
    static const char* const names[] = {"stalled", "stalled forces", "stalled word"};
    const bool known = sends_like_another(&w);
    for (stall_phase phase : {STALL_POSITIONS, STALL_FORCES, STALL_READ})
      if (stall_waits(&w, gpus, phase) && !(known && phase != STALL_FORCES))
        report(stalled(&w, gpus, phase), name_of(names[phase], &w, grid, gpus));
  }
  counts_on(gpus);
  report(moves(gpus), "moves");
  report(refusals(gpus), "refusals");
}

/* Each kernel and each way, once or a few times. */
static void quick_on(int gpus) {
  static const layout few[] = {{{2, 2, 2}, 1.25, 60, 1}, {{5, 1, 1}, 2.5, 40, 1}};
  for (const layout& wanted : few)
    for (const way& w : ways)
      report(one_layout(&wanted, &w, gpus, false), name_of("layout", &w, wanted.grid, gpus));
  report(same_bits(&few[0], gpus, true), "the same bits, double");
  report(slanted_bits(&slanted_layouts[0], gpus, false), "triclinic");
  static const layout last = {{2, 2, 1}, 1.25, 200, 1};
  series staged = {}, direct = {};
  for (const way& w : ways) {
    if (w.bulk) continue;
    series* scenes = is_direct(&w) ? &direct : &staged;
    report(thousand(&w, &last, scenes, gpus, true, SENT), name_of("steps", &w, last.grid, gpus));
    if (!is_direct(&w)) continue;
    report(thousand(&w, &last, scenes, gpus, false, PUSHED),
           name_of("pushes", &w, last.grid, gpus));
    report(thousand(&w, &last, scenes, gpus, false, POSTED),
           name_of("by mail", &w, last.grid, gpus));
  }
  report(moves(gpus), "moves");
}

int main(int argc, char** argv) {
  int there = tg_device_count(), only = argc > 1 ? atoi(argv[1]) : 0;
  bool quick = argc > 1 && strcmp(argv[argc - 1], "quick") == 0;
  if (quick) {
    deadline_s = 60;
    rounds = 3;
    launches_a_round = 1;
  }
  if (there == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  double start = tg_time_now();
  for (int gpus = 1; gpus <= (there < 2 ? there : 2); gpus++) {
    if (only && gpus != only) continue;
    tg_status loaded = TG_OK;
    for (int i = 0; i < gpus && loaded == TG_OK; i++) {
      loaded = load_kernels_on(i);
      if (loaded == TG_OK) loaded = slanted_load(i);
    }
    if (loaded != TG_OK) {
      printf("%s\n", tg_last_error());
      return 1;
    }
    quick ? quick_on(gpus) : all_on(gpus);
    printf("on %d GPU: %d passed, %d failed so far, %.1f s\n", gpus, passed, failed,
           tg_time_now() - start);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
