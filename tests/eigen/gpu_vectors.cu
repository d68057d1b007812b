/* SPDX-License-Identifier: Apache-2.0 */
/* The eigen-solver's vectors on a GPU against the host's: each operation but a step of Lanczos
 * (gpu_step.cu), and whole solves.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: "quick" for a part that is
 * short enough for compute-sanitizer; "times" for bytes a second, too. */
#include <stdlib.h>

#include "eigen/gpu_sides.cuh"

static bool operations(size_t n, size_t first, int p, int c) {
  sides s;
  if (!open_sides(&s, n, first, std::max(p, 2) + 8, 8)) return false;
  const numbers v = columns_of(&s, p, 100), w = columns_of(&s, c, 900);
  double *gv, *gw;
  if (!upload(&s, v, &gv) || !upload(&s, w, &gw)) return false;
  numbers h((size_t)(p + 1) * c, -7), g = h;
  RUN(tg_rows_inner(&s.host, v.data(), p, w.data(), c, h.data(), p + 1));
  RUN(tg_rows_inner(&s.gpu, gv, p, gw, c, g.data(), p + 1));
  for (size_t i = 0; i < h.size(); i++) EXPECT(fabs(h[i] - g[i]) <= of_sums((double)n));
  RUN(tg_rows_inner(&s.gpu, gv, p, gw, c, h.data(), p + 1));
  EXPECT(memcmp(h.data(), g.data(), h.size() * sizeof(double)) == 0); /* the same bits again */
  numbers norm_h(c), norm_g(c);
  RUN(tg_rows_norms(&s.host, w.data(), c, norm_h.data()));
  RUN(tg_rows_norms(&s.gpu, gw, c, norm_g.data()));
  for (int i = 0; i < c; i++) EXPECT(fabs(norm_h[i] - norm_g[i]) <= of_sums((double)n));

  numbers part((size_t)p * c);
  for (size_t i = 0; i < part.size(); i++) part[i] = 2 * uniform(55, i) - 1;
  numbers x = w;
  tg_rows_subtract(&s.host, x.data(), c, v.data(), p, part.data(), p);
  tg_rows_subtract(&s.gpu, gw, c, gv, p, part.data(), p);
  if (!same(&s, gw, x, of_sums(p) * 4, "subtract")) return false;
  RUN(tg_rows_put(&s.gpu, x.data(), x.size(), gw)); /* the same bits from here */

  const int q = std::min(p, 7);
  numbers turn((size_t)p * q);
  for (size_t i = 0; i < turn.size(); i++) turn[i] = 2 * uniform(77, i) - 1;
  numbers made((size_t)q * s.host.ld, 0), in_place = v;
  double* gout;
  if (!upload(&s, made, &gout)) return false;
  tg_rows_times(&s.host, v.data(), p, turn.data(), p, q, made.data());
  tg_rows_times(&s.gpu, gv, p, turn.data(), p, q, gout);
  if (!same(&s, gout, made, of_sums(p) * 4, "times")) return false;
  tg_rows_times(&s.host, in_place.data(), p, turn.data(), p, q, in_place.data());
  tg_rows_times(&s.gpu, gv, p, turn.data(), p, q, gv);
  if (!same(&s, gv, in_place, of_sums(p) * 4, "times in place")) return false;

  tg_rows_scale(&s.host, x.data(), 0.3);
  tg_rows_scale(&s.gpu, gw, 0.3);
  if (!same(&s, gw, x, 0, "scale")) return false;
  tg_rows_random(&s.host, 5, 3, x.data());
  tg_rows_random(&s.gpu, 5, 3, gw);
  if (!same(&s, gw, x, 1e-14, "random")) return false; /* numbers up to 9, a few ulps */
  tg_rows_copy(&s.gpu, gw, gout);
  RUN(tg_rows_get(&s.gpu, gout, s.host.ld, x.data()));
  if (!same(&s, gw, numbers(x.begin(), x.begin() + (long)n), 0, "copy")) return false;

  double low, high, low_g, high_g;
  const numbers d = columns_of(&s, 1, 31);
  double* gd;
  if (!upload(&s, d, &gd)) return false;
  RUN(tg_rows_bounds(&s.host, d.data(), &low, &high));
  RUN(tg_rows_bounds(&s.gpu, gd, &low_g, &high_g));
  EXPECT(low == low_g && high == high_g);
  numbers one = columns_of(&s, 1, 32);
  RUN(tg_rows_put(&s.gpu, one.data(), one.size(), gout));
  tg_rows_favour(&s.host, d.data(), low, 0.1, one.data());
  tg_rows_favour(&s.gpu, gd, low, 0.1, gout);
  tg_rows_divide(&s.host, d.data(), 0.25, 0.01, one.data());
  tg_rows_divide(&s.gpu, gd, 0.25, 0.01, gout);
  if (!same(&s, gout, one, 100 * 4 * 2.3e-16, "favour, divide")) return false;

  EXPECT(tg_rows_find_nan(&s.gpu, gd) == -1);
  const double bad = NAN;
  RUN(tg_rows_put(&s.gpu, &bad, 1, gd + n / 2));
  RUN(tg_rows_put(&s.gpu, &bad, 1, gd + n - 1));
  EXPECT(tg_rows_find_nan(&s.gpu, gd) == (int64_t)(first + n / 2));
  EXPECT(tg_rows_bounds(&s.gpu, gd, &low, &high) == TG_ERR_NUMERICS);
  double* const all[] = {gv, gw, gout, gd};
  for (double* columns : all) s.gpu.ops->release(&s.gpu, columns);
  close_sides(&s);
  return true;
}

/* ---- whole solves: diag(i mod a hundred things) and a band, on either side ---- */

static double on_diagonal(size_t i) { return 1e-3 * (double)i + 10 * uniform(3, i); }
static double off_diagonal(size_t i) { return uniform(4, i) - 0.5; }

static tg_status host_product(void* context, int k, const double* x, double* y, size_t ld) {
  const size_t n = *(const size_t*)context, band = n > 50 ? 37 : 1;
  for (int c = 0; c < k; c++)
    for (size_t i = 0; i < n; i++) {
      const double* from = x + c * ld;
      double sum = on_diagonal(i) * from[i];
      if (i + band < n) sum += off_diagonal(i) * from[i + band];
      if (i >= band) sum += off_diagonal(i - band) * from[i - band];
      y[c * ld + i] = sum;
    }
  return TG_OK;
}

typedef struct gpu_operator {
  size_t n;
  double *d, *e;
} gpu_operator;

__global__ void multiply(size_t n, size_t band, const double* d, const double* e, const double* x,
                         double* y, size_t ld) {
  x += blockIdx.y * ld;
  y += blockIdx.y * ld;
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = d[i] * x[i];
  if (i + band < n) sum += e[i] * x[i + band];
  if (i >= band) sum += e[i - band] * x[i - band];
  y[i] = sum;
}

static tg_status gpu_product(void* context, int k, const double* x, double* y, size_t ld) {
  const gpu_operator* op = (const gpu_operator*)context;
  const dim3 grid((unsigned)((op->n + 255) / 256), k);
  multiply<<<grid, 256>>>(op->n, op->n > 50 ? 37 : 1, op->d, op->e, x, y, ld);
  return TG_OK;
}

static bool open_operator(size_t n, gpu_operator* op) {
  numbers d(n), e(n);
  op->n = n;
  for (size_t i = 0; i < n; i++) d[i] = on_diagonal(i), e[i] = off_diagonal(i);
  EXPECT(cudaMalloc(&op->d, n * 8) == cudaSuccess && cudaMalloc(&op->e, n * 8) == cudaSuccess);
  EXPECT(cudaMemcpy(op->d, d.data(), n * 8, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMemcpy(op->e, e.data(), n * 8, cudaMemcpyHostToDevice) == cudaSuccess);
  return true;
}

static tg_status stop_and_save(void* context, const tg_eigen_progress* progress,
                               tg_eigen_solver* solver) {
  if (progress->products < 40) return TG_OK;
  TG_TRY(tg_eigen_save(solver, (const char*)context));
  return tg_fail(TG_ERR_INTERRUPTED, "far enough");
}

static bool same_result(const tg_eigen_result* a, const tg_eigen_result* b, size_t n) {
  EXPECT(a->states == b->states && a->products == b->products);
  EXPECT(memcmp(a->values, b->values, (size_t)a->states * 8) == 0);
  for (int i = 0; i < a->states; i++)
    EXPECT(memcmp(a->vectors + (size_t)i * a->ld, b->vectors + (size_t)i * b->ld, n * 8) == 0);
  return true;
}

static bool solves(size_t n, bool davidson, int block, int basis) {
  gpu_operator op;
  numbers d(n);
  if (!open_operator(n, &op)) return false;
  for (size_t i = 0; i < n; i++) d[i] = on_diagonal(i);
  tg_eigen_problem here, there;
  memset(&here, 0, sizeof here);
  here.n = n;
  here.context = &n;
  here.apply = host_product;
  there = here;
  there.context = &op;
  there.apply = gpu_product;
  there.place = TG_EIGEN_CUDA;
  if (davidson) here.diagonal = d.data(), there.diagonal = op.d;
  tg_eigen_params params = tg_eigen_defaults();
  params.states = 4;
  params.block = block;
  params.basis = basis;
  params.tolerance = 1e-7;
  params.threads = 4;
  tg_eigen_result a, b, c;
  RUN(tg_eigen_solve(&here, &params, &a));
  RUN(tg_eigen_solve(&there, &params, &b));
  EXPECT(a.states == b.states && b.check.complete);
  for (int i = 0; i < a.states; i++) EXPECT(fabs(a.values[i] - b.values[i]) <= 1e-8);
  EXPECT(llabs((long long)(a.products - b.products)) <= 4 * b.block + b.products / 10);
  RUN(tg_eigen_solve(&there, &params, &c));
  if (!same_result(&b, &c, n)) return false;
  tg_eigen_result_free(&c);

  /* stopped, saved, and gone on with: there with the same bits, here with the same levels */
  char path[] = "/tmp/throng_gpu_vectors_XXXXXX";
  EXPECT(mkstemp(path) >= 0);
  for (int side = 0; side < 2 && n > 1000; side++) {
    const tg_eigen_problem* problem = side == 0 ? &there : &here;
    tg_eigen_solver* solver = NULL;
    params.progress = stop_and_save;
    params.context = path;
    RUN(tg_eigen_create(&there, &params, &solver));
    EXPECT(tg_eigen_run(solver) == TG_ERR_INTERRUPTED);
    tg_eigen_destroy(&solver);
    params.progress = NULL;
    RUN(tg_eigen_create(problem, &params, &solver));
    RUN(tg_eigen_load(solver, path));
    RUN(tg_eigen_run(solver));
    RUN(tg_eigen_take(solver, &c));
    tg_eigen_destroy(&solver);
    if (side == 0 && !same_result(&b, &c, n)) return false;
    for (int i = 0; i < a.states; i++) EXPECT(fabs(a.values[i] - c.values[i]) <= 1e-8);
    tg_eigen_result_free(&c);
  }
  remove(path);
  tg_eigen_result_free(&a);
  tg_eigen_result_free(&b);
  cudaFree(op.d);
  cudaFree(op.e);
  return true;
}

/* ---- bytes a second ---- */

static void work_subtract(const tg_rows* rows, double* basis, int p) {
  static const double zeros[256] = {0};
  tg_rows_subtract(rows, basis + (size_t)p * rows->ld, 2, basis, p, zeros, p);
}

static void work_times(const tg_rows* rows, double* basis, int p) {
  static double turn[128 * 128];
  for (int i = 0; i < p; i++) turn[i * p + i] = 1;
  tg_rows_times(rows, basis, p, turn, p, p / 2, basis);
}

static bool times(size_t n, int p) {
  sides s;
  double* basis;
  if (!open_sides(&s, n, 0, p + 8, 8)) return false;
  RUN(s.gpu.ops->allocate(&s.gpu, (size_t)p + 4, "a basis", &basis));
  for (int i = 0; i < p + 4; i++) tg_rows_random(&s.gpu, 1, (uint64_t)i, basis + i * s.gpu.ld);
  for (int i = 0; i < p + 4; i++) {
    double norm;
    RUN(tg_rows_norms(&s.gpu, basis + (size_t)i * s.gpu.ld, 1, &norm));
    tg_rows_scale(&s.gpu, basis + (size_t)i * s.gpu.ld, 1 / norm);
  }
  const double column = 8e-9 * (double)n;
  const double subtract = best_of(&s.gpu, 5, work_subtract, basis, p);
  const double rotate = best_of(&s.gpu, 5, work_times, basis, p);
  printf("n %zu, %d columns: subtract %.0f us, %.0f GB/s; times %.0f us, %.0f GB/s\n", n, p,
         1e6 * subtract, column * (p + 4.0) / subtract, 1e6 * rotate, column * 1.5 * p / rotate);
  s.gpu.ops->release(&s.gpu, basis);
  close_sides(&s);
  return true;
}

static bool asked(int argc, char** argv, const char* word) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], word) == 0) return true;
  return false;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  const bool quick = asked(argc, argv, "quick");
  const size_t sizes[] = {1, 7, 513, 4096, 100003};
  for (size_t n : sizes) {
    if (quick && n > 5000) continue;
    for (int p : {1, 3, 8, 21, 64})
      for (int c : {1, 2, 3, 4, 5})
        report(operations(n, n % 2, p, c), "operations " + std::to_string(n) + " " +
                                               std::to_string(p) + " " + std::to_string(c));
  }
  for (size_t n : {(size_t)6, (size_t)40, (size_t)5000, (size_t)60000}) {
    if (quick && n > 5000) continue;
    for (int block : {1, 2, 3, 5})
      report(solves(n, false, block, 0),
             "lanczos " + std::to_string(n) + " block " + std::to_string(block));
    report(solves(n, false, 1, n > 100 ? 12 : 0), "lanczos, the least basis, " + std::to_string(n));
    report(solves(n, true, 0, 0), "davidson " + std::to_string(n));
  }
  if (asked(argc, argv, "times"))
    for (size_t n : {(size_t)93710, (size_t)2000000, (size_t)100000000})
      for (int p : {20, 40, 60}) report(times(n, p), "times");
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
