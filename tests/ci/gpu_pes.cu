/* SPDX-License-Identifier: Apache-2.0 */
/* Several PEs whose states lie on GPUs, as threads of this process: products and sums of two, three
 * and five PEs on one GPU, and on two where there are two, against one PE's. Vectors change from
 * turn to turn by powers of two, so that what a turn left behind would show in whole bits. Under
 * mpirun, with the word nvshmem, the same by processes with a GPU each.
 *
 *   RUN-MPI: nvshmem
 *
 * Argument "quick": a part that is short enough for compute-sanitizer.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <string>
#include <vector>
#ifdef TG_HAVE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "device/cuda/check.h"
#include "device/device.h"
#include "device/nvshmem.h"
#include "halo/gpu_check.cuh"
extern "C" {
#include "ci/device_share.h"
#include "ci/input/input.h"
#include "ci/problem.h"
}

#define DATA TG_SOURCE_DIR "/tests/ci/data/"

enum { VECTORS = 3, TURNS = 40, MOST_PES = 5 };

/* Processes, and this one's number; 0: threads of one. */
static int processes, rank_;
static bool quick;

typedef struct question {
  const char* input;
  int protons, neutrons; /* TG_CI_UNSET: a molecule */
  int excitations;       /* most particles above the lowest configuration; 0: any number */
} question;

static const question questions[] = {
    {"builtin:usdb", 1, 2, 0},
    {"builtin:usdb", 0, 3, 0},
    {"builtin:usdb", 4, 4, 0},
    {"builtin:ckpot", 1, 1, 0}, /* fewer rows than some PEs would like */
    {DATA "lih.fcidump", TG_CI_UNSET, TG_CI_UNSET, 0},
    /* where B alone moves it may come from another PE's rows */
    {"builtin:usdb", 3, 4, 3},
};

/* A problem, what one PE makes of its vectors, and what several are to make. */
typedef struct scene {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space;
  tg_ci_fly fly;
  tg_ci_device_operator_params params;
  size_t n;
  std::vector<double> x, y;     /* [n, VECTORS] */
  std::vector<double> diagonal; /* [n] */
  tg_ci_distribution split;
  int gpus, block;
  double limit; /* of a difference; 0: the same bits */
  bool give_up; /* PE 1 fails at the third product */
  uint64_t needed[MOST_PES];
} scene;

static tg_status room_for(size_t count, double** out) {
  return tg_cuda_allocate(0, (count + 1) * sizeof(double), "a test's vectors", (void**)out);
}

static tg_status copy(double* to, const double* from, size_t count, cudaStream_t stream) {
  cudaError_t error = cudaMemcpyAsync(to, from, count * sizeof *to, cudaMemcpyDefault, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  return tg_cuda_status(error, 0, "copying a test's vectors");
}

/* Memory for a quarter of the matrix beside the tables: mixed has rows of both kinds then. */
static bool limit_memory(scene* s) {
  tg_ci_device_operator_facts facts;
  RUN(tg_ci_device_operator_estimate(s->problem.h, s->space, &s->params, &facts));
  s->params.memory = facts.fly_bytes + (facts.stored_bytes + facts.making_bytes) / 4;
  return true;
}

static bool open_scene(const question* q, tg_ci_storage storage, scene* s) {
  tg_ci_source source;
  memset(&source, 0, sizeof source);
  source.path = q->input;
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = q->protons;
  params.neutrons = q->neutrons;
  if (q->excitations > 0) params.excitations = q->excitations;
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
  if (storage == TG_CI_STORAGE_MIXED && !limit_memory(s)) return false;
  s->n = (size_t)s->space->dimension;
  for (size_t i = 0; i < VECTORS * s->n; i++) s->x.push_back(uniform(7, i) - 0.5);
  s->y.resize(VECTORS * s->n);
  s->diagonal.resize(s->n);
  return true;
}

static void close_scene(scene* s) {
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static bool one_pe(scene* s) {
  tg_ci_device_operator* op;
  double* there;
  const double* diagonal;
  RUN(tg_cuda_status(cudaSetDevice(rank_), rank_, "selecting it"));
  RUN(tg_ci_device_operator_create(s->problem.h, s->space, &s->params, &op));
  RUN(room_for(2 * VECTORS * s->n, &there));
  double* y = there + VECTORS * s->n;
  RUN(copy(there, s->x.data(), VECTORS * s->n, nullptr));
  RUN(tg_ci_device_operator_apply(op, VECTORS, there, s->n, y, s->n));
  RUN(copy(s->y.data(), y, VECTORS * s->n, nullptr));
  RUN(tg_ci_device_operator_diagonal(op, &diagonal));
  RUN(copy(s->diagonal.data(), diagonal, s->n, nullptr));
  tg_cuda_release(there);
  tg_ci_device_operator_free(op);
  return true;
}

/* ---- a PE ---- */

static tg_status compare(const scene* s, const double* got, const double* expected, size_t count,
                         double factor) {
  for (size_t i = 0; i < count; i++)
    if (!(fabs(got[i] - factor * expected[i]) <= fabs(factor) * s->limit))
      return tg_fail(TG_ERR_NUMERICS, "row %zu: %.17g, expected %.17g", i, got[i],
                     factor * expected[i]);
  return TG_OK;
}

/* Products one after the other without a wait between the first two of three. */
static tg_status turns(tg_ci_device_share* share, const scene* s, size_t first, size_t rows,
                       double* x, double* y) {
  const cudaStream_t stream = (cudaStream_t)tg_ci_device_share_stream(share);
  std::vector<double> got(VECTORS * rows + 1);
  for (int turn = 0; turn < (quick ? 5 : TURNS); turn++) {
    const double factor = ldexp(turn % 2 ? -1 : 1, turn % 7);
    const int k = 1 + turn % VECTORS;
    for (int v = 0; v < k; v++) {
      for (size_t i = 0; i < rows; i++) got[v * rows + i] = factor * s->x[v * s->n + first + i];
    }
    TG_TRY(copy(x, got.data(), (size_t)k * rows, stream));
    TG_TRY(tg_ci_device_share_apply(share, k, x, y, rows));
    if (turn % 3 == 1) TG_TRY(tg_ci_device_share_apply(share, k, x, y, rows));
    TG_TRY(copy(got.data(), y, (size_t)k * rows, stream));
    for (int v = 0; v < k; v++)
      TG_TRY(compare(s, got.data() + v * rows, s->y.data() + v * s->n + first, rows, factor));
    if (s->give_up && turn == 2 && first > 0)
      return tg_fail(TG_ERR_NUMERICS, "PE 1 has had enough");
  }
  const double* diagonal;
  TG_TRY(tg_ci_device_share_diagonal(share, &diagonal));
  TG_TRY(copy(got.data(), diagonal, rows, stream));
  return compare(s, got.data(), s->diagonal.data() + first, rows, 1);
}

static tg_status product_on_pe(tg_world* world, void* context) {
  scene* s = (scene*)context;
  const int pe = tg_world_pe(world);
  const size_t first = (size_t)s->split.first[pe], rows = (size_t)s->split.first[pe + 1] - first;
  const tg_ci_device_share_params params = {s->problem.h, s->space, &s->split,
                                            &s->params,   s->gpus,  s->block};
  tg_ci_device_share* share = nullptr;
  double* x = nullptr;
  tg_status status = tg_ci_device_share_create(world, &params, &share);
  if (status != TG_OK) return status;
  status = room_for(2 * VECTORS * rows, &x);
  if (status == TG_OK) status = turns(share, s, first, rows, x, x + VECTORS * rows);
  if (status == TG_OK) {
    const tg_ci_share_facts facts = tg_ci_device_share_facts_of(share);
    s->needed[pe] = facts.exchange.needed;
    if (facts.rows != rows || !(facts.product_s >= facts.exchange.exposed_s) ||
        !(facts.exchange.exposed_s >= facts.exchange.push_s) ||
        facts.exchange.turns < (quick ? 5 : TURNS))
      status = tg_fail(TG_ERR_NUMERICS, "the facts: %g s in products, %g s exposed, %g s storing",
                       facts.product_s, facts.exchange.exposed_s, facts.exchange.push_s);
  }
  tg_ci_device_share_destroy(&share);
  tg_cuda_release(x);
  return status;
}

static int most_gpus() { return tg_device_count() > 1 && !processes ? 2 : 1; }

static std::vector<int> numbers_of_pes() {
  if (processes) return {processes};
  if (quick) return {3};
  return {2, 3, (int)MOST_PES};
}

static tg_status run_pes(int pes, tg_world_main main, void* context) {
  tg_world_params world = {};
  world.transport = processes ? "nvshmem" : "loop";
  world.pe_count = pes;
  world.deadline_s = 30;
  return tg_world_run(&world, main, context);
}

/* Fly: rows have the bits that one PE gives them. Stored, rows of other slices are added up in
 * another order: to 1e-12 of the largest element of y, of rows of at most some thousands. */
static bool products(const question* q, tg_ci_storage storage) {
  scene s = {};
  bool right = true;
  if (!open_scene(q, storage, &s) || !one_pe(&s)) return false;
  double largest = 0;
  for (double value : s.y) largest = fmax(largest, fabs(value));
  s.limit = storage == TG_CI_STORAGE_FLY ? 0 : 1e-12 * largest;
  for (s.gpus = 1; s.gpus <= most_gpus(); s.gpus++)
    for (int pes : numbers_of_pes()) {
      s.block = pes == 3 || processes ? 2 : VECTORS;
      RUN(tg_ci_distribution_make(&s.fly, pes, &s.split));
      const tg_status status = run_pes(pes, product_on_pe, &s);
      if (status != TG_OK) printf("    %d PEs on %d GPUs: %s\n", pes, s.gpus, tg_last_error());
      right = expect(status == TG_OK, "products of several PEs") && right;
      right = expect(s.n < 100 || s.needed[rank_] > 0, "states of others are read") && right;
      tg_ci_distribution_free(&s.split);
    }
  close_scene(&s);
  return right;
}

/* A PE that fails ends the others' waits, with its words, and nothing is released that a GPU still
 * stores to. */
static bool failure_is_told(void) {
  scene s = {};
  if (!open_scene(&questions[2], TG_CI_STORAGE_FLY, &s) || !one_pe(&s)) return false;
  s.gpus = tg_device_count() > 1 ? 2 : 1;
  s.block = VECTORS;
  s.give_up = true;
  RUN(tg_ci_distribution_make(&s.fly, 2, &s.split));
  const tg_status status = run_pes(2, product_on_pe, &s);
  EXPECT(status == TG_ERR_NUMERICS);
  EXPECT(strstr(tg_last_error(), "PE 1 has had enough"));
  tg_ci_distribution_free(&s.split);
  close_scene(&s);
  return true;
}

/* ---- sums ---- */

/* Whole numbers, whose sums have no rounding, of counts below and above what is summed at once. */
static tg_status sums_on_pe(tg_world* world, void* context) {
  scene* s = (scene*)context;
  const int pe = tg_world_pe(world), pes = tg_world_pe_count(world);
  const tg_ci_device_share_params params = {s->problem.h, s->space, &s->split,
                                            &s->params,   s->gpus,  s->block};
  const size_t counts[] = {1, 2, 333, 8192, 8193, 20000};
  tg_ci_device_share* share = nullptr;
  double* values = nullptr;
  tg_status status = tg_ci_device_share_create(world, &params, &share);
  if (status != TG_OK) return status;
  const cudaStream_t stream = (cudaStream_t)tg_ci_device_share_stream(share);
  status = room_for(20000, &values);
  for (int turn = 0; status == TG_OK && turn < 120; turn++) {
    const size_t count = counts[turn % 6];
    std::vector<double> here(count);
    for (size_t i = 0; i < count; i++) here[i] = (double)(turn + 1) * (double)(i + 1) * (pe + 1);
    status = copy(values, here.data(), count, stream);
    if (status == TG_OK) status = tg_ci_device_share_sum(share, values, count);
    if (status == TG_OK) status = tg_ci_device_share_sum(share, values, count);
    if (status == TG_OK) status = copy(here.data(), values, count, stream);
    for (size_t i = 0; status == TG_OK && i < count; i++) {
      const double expected =
          (double)(turn + 1) * (double)(i + 1) * (double)(pes * (pes + 1) / 2) * pes;
      if (here[i] != expected)
        status = tg_fail(TG_ERR_NUMERICS, "sum %d, value %zu: %.17g, expected %.17g", turn, i,
                         here[i], expected);
    }
  }
  tg_ci_device_share_destroy(&share);
  tg_cuda_release(values);
  return status;
}

static bool sums(void) {
  scene s = {};
  if (!open_scene(&questions[0], TG_CI_STORAGE_FLY, &s)) return false;
  s.block = 1;
  for (s.gpus = 1; s.gpus <= most_gpus(); s.gpus++)
    for (int pes : numbers_of_pes()) {
      RUN(tg_ci_distribution_make(&s.fly, pes, &s.split));
      RUN(run_pes(pes, sums_on_pe, &s));
      tg_ci_distribution_free(&s.split);
    }
  close_scene(&s);
  return true;
}

static void all_tests() {
  for (const question& q : questions) {
    if (quick && q.protons == 4) continue;
    for (tg_ci_storage storage : {TG_CI_STORAGE_FLY, TG_CI_STORAGE_STORED, TG_CI_STORAGE_MIXED})
      report(products(&q, storage), std::string(q.input) + " " + std::to_string(q.protons) + " " +
                                        tg_ci_storage_name(storage));
  }
  report(sums(), "sums over PEs");
  /* what a failure leaves of processes is the transport's test */
  if (!processes) report(failure_is_told(), "a PE that fails");
  if (rank_ == 0)
    printf("%d passed, %d failed, on %d GPU%s\n", passed, failed, tg_device_count(),
           tg_device_count() == 1 ? "" : "s");
}

int main(int argc, char** argv) {
  const char* why = tg_device_count() == 0 ? tg_device_reason() : NULL;
  const bool nvshmem = argc > 1 && strcmp(argv[1], "nvshmem") == 0;
  quick = argc > 1 && strcmp(argv[1], "quick") == 0;
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
    all_tests();
#ifdef TG_HAVE_MPI
  if (nvshmem) MPI_Finalize();
#endif
  return why ? 77 : failed != 0;
}
