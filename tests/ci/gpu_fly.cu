/* SPDX-License-Identifier: Apache-2.0 */
/* The factorised product on the GPU against the host's: random Hamiltonians and USDB, every kind of
 * space, several vectors, ranges of rows; the same bits again.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Argument "quick": a part that is short
 * enough for compute-sanitizer. "time SHELL A B [PARTS]": how long a product takes of A and B
 * particles in the sd or pf shell, with a random interaction; by all rows, and by those of each of
 * so many PEs. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ci/cuda/fly.cuh"
#include "ci/device_fly.h"
#include "device/device.h"
#include "halo/gpu_check.cuh"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers" /* which C leaves zero */
extern "C" {
#include "base/timer.h"
#include "ci/distribution.h"
#include "ci/problem.h"
#include "ci/shells.h"
}

static bool cuda(cudaError_t error) {
  if (error != cudaSuccess) printf("    %s\n", cudaGetErrorString(error));
  return error == cudaSuccess;
}
#define CUDA(call) EXPECT(cuda(call))

/* Device memory that goes with its scope. */
struct device_array {
  double* at = nullptr;
  bool make(size_t count) {
    return cuda(cudaMalloc(&at, std::max<size_t>(count, 1) * sizeof(double)));
  }
  ~device_array() { cudaFree(at); }
};

struct operator_of_space {
  tg_ci_space* space = nullptr;
  tg_ci_fly fly = {};
  bool make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params, bool nonzero, bool full) {
    RUN(tg_ci_space_make(h, params, &space));
    if (nonzero)
      RUN(tg_ci_fly_make_nonzero(h, space, 8, &fly));
    else if (full)
      RUN(tg_ci_fly_make(h, space, 8, &fly));
    else
      RUN(tg_ci_fly_tables(h, space, 8, false, &fly));
    return true;
  }
  ~operator_of_space() {
    tg_ci_fly_free(&fly);
    if (space) tg_ci_space_free(space);
  }
};

struct device_operator {
  tg_ci_device_fly* at = nullptr;
  ~device_operator() { tg_ci_device_fly_destroy(&at); }
};

/* Strips of B that read x outside the rows of y, of all cases. */
static size_t reading_others;

/* Memory beyond y must stay as it is. */
enum { GUARD = 7 };
static const double UNTOUCHED = -12345.5;

/* In two steps, the first of which meets no numbers but in its own rows of x, into y: [rows, k] at
 * a distance of ldy. */
static bool multiply_in_steps(tg_ci_device_fly* op, cudaStream_t stream, uint64_t dimension,
                              tg_ci_device_rows rows, int k, const double* x, size_t ld, double* y,
                              size_t ldy) {
  const size_t n = (size_t)(rows.end - rows.first), width = sizeof(double);
  device_array own;
  EXPECT(own.make((size_t)k * dimension));
  CUDA(cudaMemset(own.at, 0xff, (size_t)k * dimension * width)); /* not numbers */
  if (n)
    CUDA(cudaMemcpy2D(own.at + rows.first, dimension * width, x + rows.first, ld * width, n * width,
                      (size_t)k, cudaMemcpyDeviceToDevice));
  RUN(tg_ci_device_fly_apply_local(op, k, own.at, dimension, y, ldy));
  CUDA(cudaStreamSynchronize(stream));
  RUN(tg_ci_device_fly_apply_rest(op, k, x, ld, y, ldy));
  CUDA(cudaStreamSynchronize(stream));
  return true;
}

/* Small blocks in the stream of the others, or beside it. */
static bool other_way(tg_ci_device_fly* op) {
  op->beside = !op->beside;
  RUN(tg_fly_side_make(op));
  return true;
}

/* k vectors by rows [first, end); out: [end - first, k] packed. As a whole and in two steps, small
 * blocks by one stream and by two. */
static bool multiply(const tg_ci_fly* fly, tg_ci_device_rows rows, int k, const double* x,
                     size_t ld, std::vector<double>* out, std::vector<double>* diagonal) {
  const size_t n = (size_t)(rows.end - rows.first), ldy = n + GUARD;
  device_operator op;
  device_array y;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  EXPECT(y.make(ldy * (size_t)k));
  const std::vector<double> untouched(ldy * (size_t)k, UNTOUCHED);
  std::vector<double> host(untouched), again(untouched);
  RUN(tg_ci_device_fly_create(fly, 0, stream, &rows, &op.at));
  reading_others += op.at->view.strip_count[1] - op.at->view.own_strips;
  for (int repeat = 0; repeat < 4; repeat++) {
    if (repeat % 2) EXPECT(other_way(op.at));
    CUDA(cudaMemcpy(y.at, untouched.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));
    if (repeat < 2)
      RUN(tg_ci_device_fly_apply(op.at, k, x, ld, y.at, ldy));
    else
      EXPECT(multiply_in_steps(op.at, stream, fly->space->dimension, rows, k, x, ld, y.at, ldy));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(again.data(), y.at, host.size() * sizeof(double), cudaMemcpyDeviceToHost));
    EXPECT(repeat == 0 || memcmp(host.data(), again.data(), host.size() * sizeof(double)) == 0);
    host = again;
  }
  out->resize(n * (size_t)k);
  for (int v = 0; v < k; v++) {
    memcpy(out->data() + n * (size_t)v, host.data() + ldy * (size_t)v, n * sizeof(double));
    for (size_t g = n; g < ldy; g++) EXPECT(host[ldy * (size_t)v + g] == UNTOUCHED);
  }
  if (diagonal) {
    RUN(tg_ci_device_fly_diagonal(op.at, y.at));
    CUDA(cudaStreamSynchronize(stream));
    diagonal->resize(n);
    CUDA(cudaMemcpy(diagonal->data(), y.at, n * sizeof(double), cudaMemcpyDeviceToHost));
  }
  tg_ci_device_fly_destroy(&op.at);
  CUDA(cudaStreamDestroy(stream));
  return true;
}

/* The difference of two sums of n terms in other orders is at most 2 n epsilon of the sum of their
 * sizes, which is sqrt(n) times the length of a sum of random signs. */
static bool close_to(const double* a, const double* b, size_t count, double terms) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    size += b[i] * b[i];
  }
  const double limit = 2 * terms * sqrt(terms) * DBL_EPSILON;
  const bool right = sqrt(difference) <= limit * sqrt(size);
  if (!right)
    printf("    difference %.3g of %.3g, limit %.3g\n", sqrt(difference), sqrt(size), limit);
  return right;
}

/* The state of a whole row at or behind this part of all. */
static uint64_t edge(const tg_ci_space* s, double part) {
  const uint64_t wanted = (uint64_t)(part * (double)s->dimension);
  if (wanted >= s->dimension) return s->dimension;
  const tg_ci_block* b = &s->blocks[tg_ci_space_block_of(s, wanted)];
  return b->offset + (wanted - b->offset + b->columns - 1) / b->columns * b->columns;
}

/* Through the middle of the largest block: others of its class of A, to which B alone may move, lie
 * on one side of it. */
static uint64_t middle(const tg_ci_space* s) {
  const tg_ci_block* largest = s->blocks;
  for (size_t n = 0; n < s->block_count; n++) {
    const tg_ci_block* b = &s->blocks[n];
    if ((uint64_t)b->rows * b->columns > (uint64_t)largest->rows * largest->columns) largest = b;
  }
  return largest->offset + largest->rows / 2 * (uint64_t)largest->columns;
}

static bool check(const tg_ci_hamiltonian* h, const tg_ci_space_params* params, bool nonzero) {
  enum { MOST = 5 };
  operator_of_space op;
  EXPECT(op.make(h, params, nonzero, true));
  const size_t n = (size_t)op.space->dimension, ld = n + 3;
  const double terms = (double)op.fly.pairs / (double)n + 30;
  std::vector<double> x(ld * MOST), expected(ld * MOST);
  for (size_t i = 0; i < x.size(); i++) x[i] = shell_random(5, i);
  RUN(tg_ci_fly_apply_block(&op.fly, 8, MOST, x.data(), expected.data(), ld));
  device_array from;
  EXPECT(from.make(x.size()));
  CUDA(cudaMemcpy(from.at, x.data(), x.size() * sizeof(double), cudaMemcpyHostToDevice));
  std::vector<double> alone, y, diagonal;
  EXPECT(multiply(&op.fly, {0, n}, 1, from.at, ld, &alone, &diagonal));
  EXPECT(close_to(alone.data(), expected.data(), n, terms));
  EXPECT(close_to(diagonal.data(), op.fly.diagonal, n, 100));
  static const int counts[] = {2, 4, MOST};
  for (int k : counts) {
    EXPECT(multiply(&op.fly, {0, n}, k, from.at, ld, &y, NULL));
    EXPECT(memcmp(y.data(), alone.data(), n * sizeof(double)) == 0);
    for (int v = 1; v < k; v++)
      EXPECT(close_to(y.data() + n * (size_t)v, expected.data() + ld * (size_t)v, n, terms));
  }
  const uint64_t low = edge(op.space, 0.37), cut = middle(op.space);
  const tg_ci_device_rows ranges[] = {
      {0, low}, {low, low}, {low, edge(op.space, 0.8)}, {edge(op.space, 0.8), n},
      {0, cut}, {cut, n}};
  for (int p = 0; p < 6; p++) {
    const tg_ci_device_rows rows = ranges[p];
    EXPECT(multiply(&op.fly, rows, p == 2 ? 2 : 1, from.at, ld, &y, &diagonal));
    EXPECT(memcmp(y.data(), alone.data() + rows.first,
                  (size_t)(rows.end - rows.first) * sizeof(double)) == 0);
    EXPECT(close_to(diagonal.data(), op.fly.diagonal + rows.first, (size_t)(rows.end - rows.first),
                    100));
  }
  return true;
}

/* A row that is cut. */
static bool refuses(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  operator_of_space op;
  device_operator device;
  EXPECT(op.make(h, params, false, false));
  size_t n = 0;
  while (n < op.space->block_count && op.space->blocks[n].columns < 2) n++;
  EXPECT(n < op.space->block_count);
  const tg_ci_device_rows rows = {0, op.space->blocks[n].offset + 1};
  EXPECT(tg_ci_device_fly_create(&op.fly, 0, NULL, &rows, &device.at) == TG_ERR_INPUT);
  EXPECT(device.at == NULL);
  return true;
}

static bool random_cases(bool quick) {
  tg_ci_orbital a[64], b[64];
  size_t na = shell_add(a, shell_add(a, shell_add(a, 0, 1, 0, 0, 0), 3, 1, 1, 1), 1, 1, 1, 2);
  size_t nb = shell_add(b, shell_add(b, 0, 3, 1, 1, 0), 1, 0, 2, 1);
  tg_ci_hamiltonian* h = NULL;
  RUN(tg_ci_hamiltonian_create(na, a, nb, b, &h));
  RUN(shell_fill(h, 7));
  for (int i = 0; i <= (int)na; i++)
    for (int j = 0; j <= (int)nb; j++) {
      if (quick && (i != 3 || j != 2)) continue;
      tg_ci_space_params params = space_of(i, j, (i + j) % 2);
      report(check(h, &params, false),
             "two parities, " + std::to_string(i) + " and " + std::to_string(j) + " particles");
      if (i == 3 && j == 3) report(refuses(h, &params), "a row that is cut");
    }
  tg_ci_hamiltonian_free(h);
  static const uint8_t labels[7] = {0, 3, 0, 5, 6, 1, 3};
  memset(a, 0, sizeof a);
  for (int i = 0; i < 7; i++) {
    a[i].symmetry = labels[i];
    a[i].shell = (uint16_t)i;
  }
  RUN(tg_ci_hamiltonian_create(7, a, 7, a, &h));
  RUN(shell_fill(h, 11));
  tg_ci_space_params params = space_of(3, 2, 0);
  for (params.symmetry = -1; params.symmetry < (quick ? 0 : 8); params.symmetry++)
    report(check(h, &params, false), "label " + std::to_string(params.symmetry));
  tg_ci_hamiltonian_free(h);
  na = shell_oscillator(a, 2);
  RUN(tg_ci_hamiltonian_create(na, a, na, a, &h));
  RUN(shell_fill(h, 13));
  params = space_of(2, 3, 1);
  params.symmetry = 1;
  params.weight_most = 3;
  report(check(h, &params, false), "no core, 2 and 3 particles");
  params = space_of(3, 3, 2);
  params.weight_most = 4;
  if (!quick) report(check(h, &params, false), "no core, both parities");
  params = space_of(3, 3, 0); /* blocks of one class of A on both sides of a cut */
  params.weight_most = 6;
  if (!quick) report(check(h, &params, false), "no core, large blocks");
  tg_ci_hamiltonian_free(h);
  if (quick) return true;
  static const int sizes[][3] = {{1, 4, 1}, {5, 1, 0}, {2, 3, 1}};
  for (const int* s : sizes) {
    na = shell_pf(a);
    RUN(tg_ci_hamiltonian_create(na, a, na, a, &h));
    RUN(shell_fill(h, 17));
    params = space_of(s[0], s[1], s[2]);
    report(check(h, &params, false),
           "pf, " + std::to_string(s[0]) + " and " + std::to_string(s[1]) + " particles");
    tg_ci_hamiltonian_free(h);
  }
  return true;
}

static bool usdb_case(int protons, int neutrons) {
  tg_ci_source source;
  memset(&source, 0, sizeof source);
  source.path = "builtin:usdb";
  tg_ci_input input = {};
  tg_ci_problem problem = {};
  RUN(tg_ci_input_read(&source, 1, &input));
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = protons;
  params.neutrons = neutrons;
  RUN(tg_ci_problem_make(&input, &params, &problem));
  tg_ci_space_params space = problem.space;
  space.symmetry = (int)problem.sectors[0];
  const std::string name =
      "USDB, " + std::to_string(protons) + " and " + std::to_string(neutrons) + " particles";
  report(check(problem.h, &space, false), name);
  if (problem.label[TG_CI_LABEL_J])
    report(check(problem.label[TG_CI_LABEL_J], &space, true), name + ", J^2");
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return true;
}

/* Milliseconds of one stage, the best of a few. */
template <typename Stage>
static double stage_time(cudaStream_t stream, int repeats, const Stage& stage) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  float best = INFINITY;
  for (int r = 0; r < repeats; r++) {
    float time = 0;
    cudaEventRecord(begin, stream);
    stage();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&time, begin, end);
    best = std::min(best, time);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return best;
}

static void print_stages(tg_ci_device_fly* fly, const double* x, double* y, size_t size,
                         int repeats) {
  const cudaStream_t stream = fly->stream;
  const double states =
      stage_time(stream, repeats, [=] { tg_fly_queue_states(fly, false, 1, x, size, y, size); });
  double alone[2];
  for (int t = 0; t < 2; t++)
    alone[t] = stage_time(stream, repeats,
                          [=] { tg_fly_queue_alone(fly, t, t == 1, 1, x, size, y, size); });
  const double cross =
      stage_time(stream, repeats, [=] { tg_fly_queue_cross(fly, 1, x, size, y, size); });
  printf("  small blocks %.3f, one species %.3f and %.3f, both %.3f ms\n", states, alone[0],
         alone[1], cross);
}

/* A product by these rows alone, k vectors: what it takes, and its stages. */
static bool time_rows(const operator_of_space& op, tg_ci_device_rows rows, const double* x,
                      double* y) {
  const size_t size = (size_t)op.space->dimension;
  const bool large = op.fly.pairs > 100000000000u;
  const int repeats = large ? 2 : 20;
  device_operator device;
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  const double start = tg_time_now();
  RUN(tg_ci_device_fly_create(&op.fly, 0, stream, &rows, &device.at));
  CUDA(cudaDeviceSynchronize());
  printf("rows %zu to %zu, to the GPU %.2f s\n", (size_t)rows.first, (size_t)rows.end,
         tg_time_now() - start);
  print_stages(device.at, x, y, size, repeats);
  for (int k = 1; k <= (large ? 1 : 4); k *= 2) {
    tg_status status = TG_OK;
    const double time = stage_time(stream, repeats, [&] {
      const tg_status one = tg_ci_device_fly_apply(device.at, k, x, size, y, size);
      if (one != TG_OK) status = one;
    });
    const double local = stage_time(stream, repeats, [&] {
      const tg_status one = tg_ci_device_fly_apply_local(device.at, k, x, size, y, size);
      if (one != TG_OK) status = one;
    });
    const double rest = stage_time(stream, repeats, [&] {
      const tg_status one = tg_ci_device_fly_apply_rest(device.at, k, x, size, y, size);
      if (one != TG_OK) status = one;
    });
    RUN(status);
    printf("  %d vectors: %.3f ms, %.3e elements/s of all; of its own rows %.3f, the rest %.3f\n",
           k, time, k * (double)op.fly.pairs / (1e-3 * time), local, rest);
    fflush(stdout);
  }
  tg_ci_device_fly_destroy(&device.at);
  CUDA(cudaStreamDestroy(stream));
  return true;
}

static bool time_case(const char* shell, int a, int b, int parts) {
  tg_ci_orbital o[64];
  const size_t n = strcmp(shell, "sd") == 0 ? shell_sd(o) : shell_pf(o);
  tg_ci_hamiltonian* h = NULL;
  RUN(tg_ci_hamiltonian_create(n, o, n, o, &h));
  RUN(shell_fill(h, 3));
  const tg_ci_space_params params = space_of(a, b, (a + b) % 2);
  operator_of_space op;
  const double start = tg_time_now();
  EXPECT(op.make(h, &params, false, false));
  const double made = tg_time_now() - start;
  const size_t size = (size_t)op.space->dimension;
  device_array x, y;
  const int most = size > 300000000 ? 1 : 4;
  EXPECT(x.make((size_t)most * size) && y.make((size_t)most * size));
  std::vector<double> host(size);
  for (size_t i = 0; i < size; i++) host[i] = uniform(1, i) - 0.5;
  for (int v = 0; v < most; v++)
    CUDA(cudaMemcpy(x.at + size * (size_t)v, host.data(), size * sizeof(double),
                    cudaMemcpyHostToDevice));
  printf("%s %d+%d: %zu states, %.4g pairs, tables %.2f s, at most %.1f MB on the GPU\n", shell, a,
         b, size, (double)op.fly.pairs, made, 1e-6 * (double)tg_ci_device_fly_bytes(&op.fly));
  EXPECT(time_rows(op, {0, size}, x.at, y.at));
  tg_ci_distribution distribution = {};
  RUN(tg_ci_distribution_make(&op.fly, parts, &distribution));
  for (int p = 0; p < parts && parts > 1; p++)
    EXPECT(time_rows(op, {distribution.first[p], distribution.first[p + 1]}, x.at, y.at));
  tg_ci_distribution_free(&distribution);
  tg_ci_hamiltonian_free(h);
  return true;
}

int main(int count, char** words) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (count >= 5 && strcmp(words[1], "time") == 0) {
    const int a = atoi(words[3]), b = atoi(words[4]);
    return time_case(words[2], a, b, count > 5 ? atoi(words[5]) : 1) ? 0 : 1;
  }
  const bool quick = count > 1 && strcmp(words[1], "quick") == 0;
  report(random_cases(quick), "random Hamiltonians");
  static const int nuclei[][2] = {{2, 2}, {3, 0}, {0, 3}, {1, 4}, {4, 4}, {5, 4}, {6, 6}};
  for (const int* n : nuclei)
    if (!quick || n[0] + n[1] == 4) report(usdb_case(n[0], n[1]), "USDB");
  if (!quick) report(reading_others > 0, "some of what B alone moves comes from others' rows");
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
