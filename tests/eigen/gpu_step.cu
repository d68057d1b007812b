/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Lanczos on a GPU: what it makes, and what it stores where products want it.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Argument "times": microseconds of a
 * step with and without places elsewhere. */
#include "eigen/gpu_sides.cuh"

/* Places where a step is to store what it makes: their rows begin at odd and even numbers, columns
 * are an odd distance apart, and some chunks go nowhere. */
enum { PLACES = 3, CHUNK = 64 };

typedef struct places {
  double* there; /* [PLACES, room] */
  size_t room;
  std::vector<uint32_t> masks;
  tg_eigen_targets targets;
  int opened, closed;
} places;

static tg_status open_places(void* context, int k, tg_eigen_targets* out) {
  places* p = (places*)context;
  p->opened += k;
  *out = p->targets;
  return TG_OK;
}

static tg_status close_places(void* context, int k, const double* x, size_t ld) {
  places* p = (places*)context;
  p->closed += x && ld ? k : 0;
  return TG_OK;
}

static const tg_eigen_outlet to_places = {open_places, close_places, NULL};

static bool make_places(sides* s, int c, places* p) {
  const size_t ld = (s->host.n + 5) | 1, chunks = (s->host.used + CHUNK - 1) / CHUNK;
  uint32_t* masks;
  p->room = ld * c + 8;
  for (size_t i = 0; i < chunks; i++) p->masks.push_back((uint32_t)(1 + 8 * uniform(5, i)) % 8);
  const std::vector<double> nothing(PLACES * p->room, -7);
  EXPECT(cudaMalloc(&p->there, nothing.size() * 8) == cudaSuccess);
  EXPECT(cudaMalloc(&masks, chunks * 4) == cudaSuccess);
  EXPECT(cudaMemcpy(p->there, nothing.data(), nothing.size() * 8, cudaMemcpyDefault) ==
         cudaSuccess);
  EXPECT(cudaMemcpy(masks, p->masks.data(), chunks * 4, cudaMemcpyDefault) == cudaSuccess);
  p->targets.count = PLACES;
  p->targets.ld = ld;
  p->targets.chunk = CHUNK;
  p->targets.masks = masks;
  for (int t = 0; t < PLACES; t++) p->targets.to[t] = p->there + t * p->room + t + 1;
  s->problem.context = p;
  s->problem.outlet = &to_places;
  return true;
}

/* They hold the bits of c columns, and nothing beside. */
static bool right_places(const sides* s, const double* columns, int c, places* p) {
  numbers made((size_t)c * s->gpu.ld), expected(PLACES * p->room, -7), there(expected.size());
  RUN(tg_rows_get(&s->gpu, columns, made.size(), made.data()));
  EXPECT(p->opened == c && p->closed == c);
  for (int t = 0; t < PLACES; t++)
    for (int j = 0; j < c; j++)
      for (size_t i = 0; i < s->host.used; i++)
        if (p->masks[i / CHUNK] >> t & 1)
          expected[t * p->room + t + 1 + j * p->targets.ld + i] = made[j * s->gpu.ld + i];
  EXPECT(cudaMemcpy(there.data(), p->there, there.size() * 8, cudaMemcpyDefault) == cudaSuccess);
  EXPECT(memcmp(there.data(), expected.data(), there.size() * 8) == 0);
  cudaFree(p->there);
  cudaFree((void*)p->targets.masks);
  return true;
}

/* A step leaves columns that are orthonormal and apart from the basis, with the coefficients that
 * make up the products again. near: the second product is nearly the first, so that it says so. */
static bool one_step(size_t n, int at, int c, bool near) {
  sides s;
  if (!open_sides(&s, n, 0, at + c + 8, 8)) return false;
  numbers all = columns_of(&s, at + c, 4);
  double* basis;
  /* the host's Gram-Schmidt, twice */
  for (int i = 0; i < at; i++)
    for (int round = 0; round < 2; round++) {
      double* w = &all[(size_t)i * s.host.ld];
      numbers h(at);
      RUN(tg_rows_inner(&s.host, all.data(), i, w, 1, h.data(), at));
      tg_rows_subtract(&s.host, w, 1, all.data(), i, h.data(), at);
      double norm;
      RUN(tg_rows_norms(&s.host, w, 1, &norm));
      tg_rows_scale(&s.host, w, 1 / norm);
    }
  for (size_t i = 0; near && i < n; i++)
    all[(size_t)(at + 1) * s.host.ld + i] =
        all[(size_t)at * s.host.ld + i] * (1 + 1e-3 * uniform(9, i));
  if (!upload(&s, all, &basis)) return false;
  numbers first((size_t)at * c), second((size_t)at * c);
  tg_rows_step step;
  memset(&step, 0, sizeof step);
  step.basis = basis;
  step.begin = at / 2;
  step.at = at;
  step.c = c;
  step.first = first.data();
  step.second = second.data();
  places p = {};
  if (!make_places(&s, c, &p)) return false;
  RUN(s.gpu.ops->step(&s.gpu, &step));
  EXPECT(step.out && step.done == !near);
  if (!right_places(&s, basis + (size_t)at * s.gpu.ld, c, &p)) return false;
  if (near) { /* what two passes left is orthogonal to the basis */
    numbers h((size_t)at * c);
    RUN(tg_rows_inner(&s.gpu, basis, at, basis + (size_t)at * s.gpu.ld, c, h.data(), at));
    for (double x : h) EXPECT(fabs(x) <= 1e-13 * step.norm[0]);
  } else {
    numbers h((size_t)(at + c) * c);
    RUN(tg_rows_inner(&s.gpu, basis, at + c, basis + (size_t)at * s.gpu.ld, c, h.data(), at + c));
    for (int j = 0; j < c; j++)
      for (int i = 0; i < at + c; i++)
        EXPECT(fabs(h[(size_t)j * (at + c) + i] - (i == at + j)) <= 1e-14);
    numbers now(all.size()), again((size_t)c * s.host.ld, 0);
    RUN(tg_rows_get(&s.gpu, basis, now.size(), now.data()));
    for (int j = 0; j < c; j++) {
      double* sum = &again[(size_t)j * s.host.ld];
      for (size_t row = 0; row < n; row++) {
        for (int i = 0; i < at; i++) {
          double g = second[(size_t)j * at + i];
          if (i >= step.begin) g += first[(size_t)j * (at - step.begin) + (i - step.begin)];
          sum[row] += g * all[(size_t)i * s.host.ld + row];
        }
        for (int i = 0; i <= j; i++)
          sum[row] += step.r[j * c + i] * now[(size_t)(at + i) * s.host.ld + row];
        EXPECT(fabs(sum[row] - all[(size_t)(at + j) * s.host.ld + row]) <= 1e-13);
      }
    }
  }
  s.gpu.ops->release(&s.gpu, basis);
  close_sides(&s);
  return true;
}

/* ---- times ---- */

static void work_step(const tg_rows* rows, double* basis, int p) {
  static double first[4096], second[4096];
  tg_rows_step step;
  memset(&step, 0, sizeof step);
  step.basis = basis;
  step.begin = p - 4;
  step.at = p;
  step.c = 2;
  step.first = first;
  step.second = second;
  if (rows->ops->step(rows, &step) != TG_OK) printf("%s\n", tg_last_error());
}

/* Of two columns; on a GPU that has no other the places are in its own memory, one of them where
 * rows begin at an odd number. */
static bool times(size_t n, int p) {
  sides s;
  double* basis;
  if (!open_sides(&s, n, 0, p + 8, 8)) return false;
  RUN(s.gpu.ops->allocate(&s.gpu, (size_t)p + 4, "a basis", &basis));
  for (int i = 0; i < p + 4; i++) {
    double norm, *column = basis + (size_t)i * s.gpu.ld;
    tg_rows_random(&s.gpu, 1, (uint64_t)i, column);
    RUN(tg_rows_norms(&s.gpu, column, 1, &norm));
    tg_rows_scale(&s.gpu, column, 1 / norm);
  }
  const double column = 8e-9 * (double)n, alone = best_of(&s.gpu, 9, work_step, basis, p);
  places q = {};
  if (!make_places(&s, 2, &q)) return false;
  std::fill(q.masks.begin(), q.masks.end(), 3u); /* two of them, all rows */
  EXPECT(cudaMemcpy((void*)q.targets.masks, q.masks.data(), q.masks.size() * 4,
                    cudaMemcpyDefault) == cudaSuccess);
  const double out = best_of(&s.gpu, 9, work_step, basis, p);
  /* a step reads the basis twice, the window twice, y four times, and writes y twice */
  printf("n %zu, %d columns: step of 2 %.1f us, %.0f GB/s; that goes to two places %.1f us\n", n, p,
         1e6 * alone, column * (2.0 * p + 8 + 2 * 6) / alone, 1e6 * out);
  cudaFree(q.there);
  cudaFree((void*)q.targets.masks);
  s.gpu.ops->release(&s.gpu, basis);
  close_sides(&s);
  return true;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  for (int c : {1, 2, 3, 4}) {
    report(one_step(3001, 41, c, false), "a step of " + std::to_string(c));
    report(one_step(511, 9, c, false), "a step of few rows, " + std::to_string(c));
    if (c > 1) report(one_step(3001, 30, c, true), "a step of near ones " + std::to_string(c));
  }
  if (argc > 1 && strcmp(argv[1], "times") == 0)
    for (size_t n : {(size_t)93710, (size_t)1000000, (size_t)2000000, (size_t)100000000})
      for (int p : {8, 20, 40, 60}) report(times(n, p), "times");
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
