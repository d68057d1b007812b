/* SPDX-License-Identifier: Apache-2.0 */
/* Levels by several PEs on GPUs, whose vectors go out as the eigen-solver makes them, against the
 * same by copies: not a bit may differ, whatever became void on the way. Threads of this process
 * are the PEs, on one GPU and on two where there are two; under mpirun, with the word nvshmem,
 * processes with a GPU each.
 *
 *   RUN-MPI: nvshmem
 *
 * Arguments: "quick", a part that is short enough for compute-sanitizer; "time FILE PROTONS
 * NEUTRONS PES GPUS STORAGE", seconds of a step either way.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>
#ifdef TG_HAVE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "device/device.h"
#include "device/nvshmem.h"
#include "halo/gpu_check.cuh"
extern "C" {
#include "ci/device_share.h"
#include "ci/input/input.h"
#include "ci/problem.h"
}

#define DATA TG_SOURCE_DIR "/tests/ci/data/"

enum { MOST_PES = 5, MOST_STATES = 8 };

/* Processes, and this one's number; 0: threads of one. */
static int processes, rank_;

typedef struct question {
  const char* input;
  int protons, neutrons; /* TG_CI_UNSET: a molecule */
  int states, block, basis;
} question;

static const question questions[] = {
    {"builtin:ckpot", 1, 1, 3, 2,
     0}, /* fewer states than some PEs would like; the basis spans it */
    {"builtin:usdb", 1, 2, 4, 1, 0},
    {"builtin:usdb", 0, 3, 3, 4, 0},
    {"builtin:usdb", 2, 2, 4, 2, 20}, /* starts again and again */
    {"builtin:usdb", 4, 4, 4, 2, 0},
    {"builtin:usdb", 4, 4, 4, 4, 24},
    {DATA "lih.fcidump", TG_CI_UNSET, TG_CI_UNSET, 3, 2, 0},
};

/* What PEs solve, and what came of it. */
typedef struct scene {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  tg_ci_fly fly;
  tg_ci_device_operator_params params;
  tg_ci_distribution split;
  const question* q;
  int gpus;
  bool out; /* vectors go out as they are made */
  std::vector<double> values, vectors;
  int64_t passes;
  int opened, taken; /* PE 0's; of processes this one's, as all of these */
  tg_eigen_times times;
  tg_ci_share_facts facts;
} scene;

typedef struct pe {
  scene* s;
  tg_world* world;
  tg_ci_device_share* share;
  int opened, taken;
} pe;

static tg_status apply(void* context, int k, const double* x, double* y, size_t ld) {
  return tg_ci_device_share_apply(((pe*)context)->share, k, x, y, ld);
}

static tg_status sum_there(void* context, double* values, size_t count) {
  return tg_ci_device_share_sum(((pe*)context)->share, values, count);
}

static tg_status reduce(void* context, tg_eigen_reduction what, double* values, size_t count) {
  const pe* p = (const pe*)context;
  if (what == TG_EIGEN_SUM) return tg_world_sum_doubles(p->world, values, count);
  std::vector<double> all(MOST_PES * count);
  TG_TRY(tg_world_all_gather(p->world, values, count * sizeof *values, all.data()));
  for (size_t i = 0; i < count * (size_t)tg_world_pe_count(p->world); i++) {
    double* value = &values[i % count];
    *value = what == TG_EIGEN_MIN ? fmin(*value, all[i]) : fmax(*value, all[i]);
  }
  return TG_OK;
}

static tg_status agree(void* context, tg_status status) {
  return tg_world_agree(((pe*)context)->world, status);
}

static tg_status open_outlet(void* context, int k, tg_eigen_targets* out) {
  pe* p = (pe*)context;
  p->opened++;
  return tg_ci_device_share_open(p->share, k, out);
}

static tg_status close_outlet(void* context, int k, const double* x, size_t ld) {
  return tg_ci_device_share_close(((pe*)context)->share, k, x, ld);
}

static tg_status apply_made(void* context, int k, double* y, size_t ld) {
  pe* p = (pe*)context;
  p->taken++;
  return tg_ci_device_share_apply_made(p->share, k, y, ld);
}

static const tg_eigen_outlet outlet = {open_outlet, close_outlet, apply_made};

static tg_status solve(pe* p) {
  scene* s = p->s;
  const int number = tg_world_pe(p->world);
  const size_t first = (size_t)s->split.first[number];
  const size_t all = (size_t)s->split.first[s->split.pe_count];
  tg_eigen_problem problem = {};
  problem.n = (size_t)s->split.first[number + 1] - first;
  problem.first = first;
  problem.n_total = all;
  problem.context = p;
  problem.apply = apply;
  problem.reduce = reduce;
  problem.agree = agree;
  problem.sum_there = sum_there;
  problem.place = TG_EIGEN_CUDA;
  problem.device = tg_ci_device_share_device(p->share);
  problem.stream = tg_ci_device_share_stream(p->share);
  if (s->out) problem.outlet = &outlet;
  tg_eigen_params params = tg_eigen_defaults();
  params.method = TG_EIGEN_LANCZOS;
  params.states = s->q->states;
  params.block = s->q->block;
  params.basis = s->q->basis;
  params.tolerance = 1e-4;
  params.threads = 2;
  params.into = s->vectors.data() + first;
  params.into_ld = all;
  tg_eigen_result result;
  TG_TRY(tg_eigen_solve(&problem, &params, &result));
  const tg_ci_share_facts facts = tg_ci_device_share_facts_of(p->share);
  if (number == rank_) {
    s->values.assign(result.values, result.values + result.states);
    s->passes = result.passes;
    s->times = result.times;
    s->facts = facts;
    s->opened = p->opened;
    s->taken = p->taken;
  }
  tg_eigen_result_free(&result);
  return TG_OK;
}

static tg_status on_pe(tg_world* world, void* context) {
  scene* s = (scene*)context;
  const tg_ci_device_share_params params = {s->problem.h, s->space, &s->split,
                                            &s->params,   s->gpus,  s->q->block};
  pe p = {s, world, nullptr, 0, 0};
  TG_TRY(tg_ci_device_share_create(world, &params, &p.share));
  const tg_status status = solve(&p);
  tg_ci_device_share_destroy(&p.share);
  return status;
}

static bool open_scene(const question* q, tg_ci_storage storage, scene* s) {
  tg_ci_source source;
  memset(&source, 0, sizeof source);
  source.path = q->input;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = q->protons;
  params.neutrons = q->neutrons;
  s->q = q;
  RUN(tg_ci_input_read(&source, 1, &s->input));
  RUN(tg_ci_problem_make(&s->input, &params, &s->problem));
  tg_ci_space_params wanted = s->problem.space;
  wanted.symmetry = (int)s->problem.sectors[0];
  RUN(tg_ci_space_make(s->problem.h, &wanted, &s->space));
  s->params.storage = storage;
  s->params.device = rank_;
  s->params.memory = UINT64_MAX / 2;
  s->params.threads = 4;
  RUN(tg_ci_device_tables(s->problem.h, s->space, &s->params, &s->fly));
  s->params.fly = &s->fly;
  return true;
}

static void close_scene(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static bool run(scene* s, int pes, bool out) {
  tg_world_params world = {};
  world.transport = processes ? "nvshmem" : "loop";
  world.pe_count = pes;
  world.deadline_s = 30;
  s->out = out;
  s->vectors.assign((size_t)s->space->dimension * s->q->states, NAN);
  RUN(tg_world_run(&world, on_pe, s));
  return true;
}

static int void_ones; /* vectors that were made, and made again, in all solves */

static bool same_bits(scene* s, int pes) {
  RUN(tg_ci_distribution_make(&s->fly, pes, &s->split));
  if (!run(s, pes, false)) return false;
  EXPECT(s->opened == 0 && s->taken == 0);
  const std::vector<double> values = s->values, vectors = s->vectors;
  const int64_t passes = s->passes;
  const uint64_t sent = s->facts.exchange.sent;
  if (!run(s, pes, true)) return false;
  EXPECT(s->passes == passes && s->values == values);
  /* of processes only their own rows are numbers */
  EXPECT(memcmp(s->vectors.data(), vectors.data(), vectors.size() * sizeof(double)) == 0);
  EXPECT(s->opened > 0 && s->taken > 0 && s->taken <= s->opened);
  EXPECT(s->facts.exchange.sent >= sent);
  EXPECT(s->facts.exchange.turns == passes + s->opened - s->taken);
  void_ones += s->opened - s->taken - 1; /* nobody wants those of the last step */
  tg_ci_distribution_free(&s->split);
  return true;
}

static std::vector<int> numbers_of_pes(bool quick) {
  if (processes) return {processes};
  if (quick) return {3};
  return {2, 3, (int)MOST_PES};
}

static bool agrees(const question* q, tg_ci_storage storage, bool quick) {
  scene s = {};
  bool right = true;
  if (!open_scene(q, storage, &s)) return false;
  for (s.gpus = 1; s.gpus <= (tg_device_count() > 1 && !processes ? 2 : 1); s.gpus++)
    for (int pes : numbers_of_pes(quick))
      if (!same_bits(&s, pes)) {
        printf("    %d PEs on %d GPUs\n", pes, s.gpus);
        right = false;
      }
  close_scene(&s);
  return right;
}

static void all_tests(bool quick) {
  for (const question& q : questions)
    for (tg_ci_storage storage : {TG_CI_STORAGE_FLY, TG_CI_STORAGE_STORED}) {
      if (quick && q.protons == 4) continue;
      report(agrees(&q, storage, quick), std::string(q.input) + " " + std::to_string(q.protons) +
                                             " block " + std::to_string(q.block) + " " +
                                             tg_ci_storage_name(storage));
    }
  report(void_ones > 0, "some vectors were made twice");
  if (rank_ == 0)
    printf("%d passed, %d failed, on %d GPU%s; %d vectors made twice\n", passed, failed,
           tg_device_count(), tg_device_count() == 1 ? "" : "s", void_ones);
}

/* Milliseconds of a step on PE 0, restarts and residuals included, either way in turn. */
static bool times(char** words) {
  const question q = {words[0], atoi(words[1]), atoi(words[2]), 5, 2, 0};
  const int pes = atoi(words[3]);
  scene s = {};
  if (!open_scene(&q, strcmp(words[5], "fly") ? TG_CI_STORAGE_STORED : TG_CI_STORAGE_FLY, &s))
    return false;
  s.gpus = atoi(words[4]);
  RUN(tg_ci_distribution_make(&s.fly, pes, &s.split));
  for (int i = 0; i < 6; i++) {
    if (!run(&s, pes, i % 2)) return false;
    const double each = 1e3 / (double)s.passes;
    printf(
        "%s, %d PEs, %s: %lld passes, a step %.3f ms: product %.3f (the share's %.3f, of it "
        "exposed %.4f, storing %.4f), vectors %.3f; sent %.1f MB a pass\n",
        words[5], pes, i % 2 ? "as made" : "copied", (long long)s.passes,
        each * (s.times.product + s.times.orthogonal), each * s.times.product,
        each * s.facts.product_s, each * s.facts.exchange.exposed_s, each * s.facts.exchange.push_s,
        each * s.times.orthogonal, 1e-6 * (double)s.facts.exchange.sent / (double)s.passes);
  }
  tg_ci_distribution_free(&s.split);
  close_scene(&s);
  return true;
}

int main(int argc, char** argv) {
  const char* why = tg_device_count() == 0 ? tg_device_reason() : NULL;
  const bool nvshmem = argc > 1 && strcmp(argv[1], "nvshmem") == 0;
  if (!why && argc == 8 && strcmp(argv[1], "time") == 0) return times(argv + 2) ? 0 : 1;
#ifdef TG_HAVE_MPI
  int level = 0;
  if (nvshmem) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
  }
#endif
  if (!why && nvshmem && tg_nvshmem_check() != TG_OK) why = tg_last_error();
  if (!why && nvshmem && (processes < 2 || processes > tg_device_count() || processes > MOST_PES))
    why = "two to five processes with a GPU each are needed";
  if (why)
    printf("skipped: %s\n", why);
  else
    all_tests(argc > 1 && strcmp(argv[1], "quick") == 0);
#ifdef TG_HAVE_MPI
  if (nvshmem) MPI_Finalize();
#endif
  return why ? 77 : failed != 0;
}
