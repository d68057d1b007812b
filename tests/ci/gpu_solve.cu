/* SPDX-License-Identifier: Apache-2.0 */
/* Levels that a GPU finds against those of the processors: energies and labels, either storage, the
 * same bits again, also after an interruption.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "device/device.h"
#include "halo/gpu_check.cuh"
extern "C" {
#include "ci/restart.h"
#include "ci/solve.h"
}

#define DATA TG_SOURCE_DIR "/tests/ci/data/"

typedef struct question {
  const char* input;
  int protons, neutrons; /* TG_CI_UNSET: a molecule */
  int two_m, two_j;
  int states;
} question;

static const question questions[] = {
    {"builtin:usdb", 1, 2, TG_CI_UNSET, TG_CI_UNSET, 5},
    {"builtin:usdb", 2, 2, TG_CI_UNSET, TG_CI_UNSET, 10},
    {"builtin:usdb", 0, 4, TG_CI_UNSET, TG_CI_UNSET, 4},
    {"builtin:usdb", 3, 4, TG_CI_UNSET, TG_CI_UNSET, 6},
    {"builtin:usdb", 4, 4, TG_CI_UNSET, TG_CI_UNSET, 10},
    {"builtin:usdb", 4, 4, 4, TG_CI_UNSET, 5},
    {"builtin:usdb", 3, 3, 6, 6, 2}, /* J = 3 alone */
    {"builtin:usdb", 6, 6, TG_CI_UNSET, TG_CI_UNSET, 10},
    {"builtin:ckpot", 4, 4, TG_CI_UNSET, TG_CI_UNSET, 10},
    {"builtin:ckpot", 1, 1, TG_CI_UNSET, TG_CI_UNSET, 3},
    {DATA "lih.fcidump", TG_CI_UNSET, TG_CI_UNSET, TG_CI_UNSET, TG_CI_UNSET, 3},
};

typedef struct problem {
  tg_ci_input input;
  tg_ci_problem made;
} problem;

static bool open_problem(const question* q, problem* out) {
  tg_ci_source source;
  memset(&source, 0, sizeof source);
  memset(out, 0, sizeof *out);
  source.path = q->input;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = q->protons;
  params.neutrons = q->neutrons;
  params.two_m = q->two_m;
  params.two_j = q->two_j;
  RUN(tg_ci_input_read(&source, 1, &out->input));
  RUN(tg_ci_problem_make(&out->input, &params, &out->made));
  return true;
}

static void close_problem(problem* p) {
  tg_ci_problem_free(&p->made);
  tg_ci_input_free(&p->input);
}

static tg_ci_solve_params params_of(const question* q, tg_ci_backend backend,
                                    tg_ci_storage storage) {
  tg_ci_solve_params p = tg_ci_solve_defaults();
  p.states = q->states;
  p.backend = backend;
  p.storage = storage;
  p.threads = 4;
  return p;
}

static bool same_bits(const tg_ci_spectrum* a, const tg_ci_spectrum* b) {
  EXPECT(a->level_count == b->level_count && a->sector_count == b->sector_count);
  for (size_t i = 0; i < a->level_count; i++) EXPECT(a->levels[i].energy == b->levels[i].energy);
  for (size_t s = 0; s < a->sector_count; s++) {
    const tg_eigen_result *x = &a->sectors[s].result, *y = &b->sectors[s].result;
    for (int i = 0; i < x->states; i++)
      EXPECT(memcmp(x->vectors + (size_t)i * x->ld, y->vectors + (size_t)i * y->ld,
                    a->sectors[s].space->dimension * sizeof(double)) == 0);
  }
  return true;
}

/* Energies to 1e-8 of those of the processors: residuals of 1e-4 MeV leave errors of their square
 * over the gap; labels to what such states have of others. */
static bool same_levels(const tg_ci_spectrum* a, const tg_ci_spectrum* b) {
  EXPECT(a->level_count == b->level_count);
  for (size_t i = 0; i < a->level_count; i++) {
    const tg_ci_level *x = &a->levels[i], *y = &b->levels[i];
    EXPECT(fabs(x->energy - y->energy) <= 1e-8 + x->error + y->error);
    EXPECT(fabs(x->energy - y->energy) <= 1e-6);
    for (int k = 0; k < TG_CI_LABELS; k++)
      EXPECT(isnan(x->squared[k]) == isnan(y->squared[k]) &&
             !(fabs(x->squared[k] - y->squared[k]) > 1e-5));
  }
  return true;
}

static std::atomic<int> steps_left; /* parts ask in turn */
static bool interrupt(void* context) {
  (void)context;
  return steps_left-- == 0;
}

/* Stopped after some steps, twice; the last one goes on to the end. */
static bool goes_on(const problem* p, const tg_ci_solve_params* params,
                    const tg_ci_spectrum* whole) {
  char path[] = "/tmp/throng_gpu_solve_XXXXXX";
  const int file = mkstemp(path);
  EXPECT(file >= 0);
  close(file);
  unlink(path);
  tg_ci_solve_params stopped = *params;
  stopped.restart = path;
  stopped.interrupted = interrupt;
  tg_ci_spectrum s;
  for (int stop = 0; stop < 2; stop++) {
    steps_left = 7;
    EXPECT(tg_ci_solve(&p->made, &stopped, &s) == TG_ERR_INTERRUPTED);
  }
  stopped.interrupted = NULL;
  RUN(tg_ci_solve(&p->made, &stopped, &s));
  const bool same = same_bits(whole, &s);
  tg_ci_spectrum_free(&s);
  tg_ci_restart_remove(&p->made, path);
  return same;
}

static bool agrees(const question* q, tg_ci_storage storage) {
  problem p;
  tg_ci_spectrum host, gpu, again;
  if (!open_problem(q, &p)) return false;
  const tg_ci_solve_params on_host = params_of(q, TG_CI_OMP, TG_CI_STORAGE_AUTO);
  const tg_ci_solve_params on_gpu = params_of(q, TG_CI_CUDA, storage);
  RUN(tg_ci_solve(&p.made, &on_host, &host));
  RUN(tg_ci_solve(&p.made, &on_gpu, &gpu));
  RUN(tg_ci_solve(&p.made, &on_gpu, &again));
  bool right = same_levels(&host, &gpu) && same_bits(&gpu, &again);
  for (size_t s = 0; s < gpu.sector_count; s++)
    right = expect(gpu.sectors[s].result.check.complete, "complete") && right;
  if (right && gpu.sectors[0].space->dimension > 1000 && q->two_j == TG_CI_UNSET)
    right = goes_on(&p, &on_gpu, &gpu);
  tg_ci_spectrum_free(&host);
  tg_ci_spectrum_free(&gpu);
  tg_ci_spectrum_free(&again);
  close_problem(&p);
  return right;
}

/* PEs share states on the GPUs that there are, two at most: the same levels, the same bits each
 * time, and the same after an interruption. */
static bool pes_agree(const question* q, int pes, int gpus, tg_ci_storage storage) {
  problem p;
  tg_ci_spectrum whole, shared, again;
  if (!open_problem(q, &p)) return false;
  tg_ci_solve_params params = params_of(q, TG_CI_CUDA, storage);
  RUN(tg_ci_solve(&p.made, &params, &whole));
  params.pes = pes;
  params.gpus = gpus;
  RUN(tg_ci_solve(&p.made, &params, &shared));
  RUN(tg_ci_solve(&p.made, &params, &again));
  EXPECT(shared.sectors[0].pe_count == pes);
  const bool right = same_levels(&whole, &shared) && same_bits(&shared, &again) &&
                     (q->protons < 3 || goes_on(&p, &params, &shared));
  tg_ci_spectrum_free(&whole);
  tg_ci_spectrum_free(&shared);
  tg_ci_spectrum_free(&again);
  close_problem(&p);
  return right;
}

/* A state that three PEs left, on two GPUs where there are two, is gone on with by one, and by
 * processors. */
static bool three_then_one(const question* q) {
  problem p;
  tg_ci_spectrum whole, end;
  char path[] = "/tmp/throng_gpu_solve_XXXXXX";
  const int file = mkstemp(path);
  EXPECT(file >= 0);
  close(file);
  unlink(path);
  if (!open_problem(q, &p)) return false;
  tg_ci_solve_params params = params_of(q, TG_CI_CUDA, TG_CI_STORAGE_FLY);
  RUN(tg_ci_solve(&p.made, &params, &whole));
  params.restart = path;
  params.interrupted = interrupt;
  bool right = true;
  for (int part = 0; part < 3; part++) {
    params.pes = part == 0 ? 3 : 1;
    params.gpus = part == 0 && tg_device_count() > 1 ? 2 : 1;
    params.backend = part == 2 ? TG_CI_OMP : TG_CI_CUDA;
    if (part == 2) params.interrupted = NULL;
    steps_left = 9;
    const tg_status status = tg_ci_solve(&p.made, &params, &end);
    EXPECT(status == (part == 2 ? TG_OK : TG_ERR_INTERRUPTED));
  }
  right = same_levels(&whole, &end);
  tg_ci_spectrum_free(&whole);
  tg_ci_spectrum_free(&end);
  tg_ci_restart_remove(&p.made, path);
  close_problem(&p);
  return right;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  for (const question& q : questions)
    for (tg_ci_storage storage : {TG_CI_STORAGE_FLY, TG_CI_STORAGE_STORED, TG_CI_STORAGE_MIXED}) {
      if (argc > 1 && strcmp(argv[1], tg_ci_storage_name(storage)) != 0) continue;
      report(agrees(&q, storage), std::string(q.input) + " " + std::to_string(q.protons) + " " +
                                      std::to_string(q.neutrons) + " " +
                                      tg_ci_storage_name(storage));
    }
  for (int gpus = 1; gpus <= 2 && gpus <= tg_device_count(); gpus++)
    for (int pes = 2; pes <= 3; pes++)
      for (int number : {1, 4, 6, 9, 10})
        for (tg_ci_storage storage :
             {TG_CI_STORAGE_FLY, TG_CI_STORAGE_STORED, TG_CI_STORAGE_MIXED}) {
          if (argc > 1 && strcmp(argv[1], "pes") != 0) continue;
          report(pes_agree(&questions[number], pes, gpus, storage),
                 std::to_string(pes) + " PEs on " + std::to_string(gpus) + " GPUs, " +
                     questions[number].input + " " + std::to_string(questions[number].protons) +
                     " " + tg_ci_storage_name(storage));
        }
  report(three_then_one(&questions[4]), "begun by three PEs, finished by one, and by processors");
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
