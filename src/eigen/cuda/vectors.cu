/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors in a GPU's memory: what queues the kernels of kernels.cuh and waits for their answers.
 *
 * Small matrices go up and come back through pinned memory. What goes up lies in a buffer that is
 * used from its begin on again after each wait; kernels read it from device memory, where copies
 * and kernels of one stream are in order. */
#include <cmath>
#include <cstring>
#include <new>

#include "device/cuda/check.h"
#include "eigen/cuda/kernels.cuh"

namespace k = tg_rows_kernels;
using k::factored;
using k::STEP;
using k::THREADS;

namespace {

constexpr int LEAST_SEGMENT = 2048;
constexpr int MOST_SEGMENTS = 528; /* four blocks for each multiprocessor of the largest GPUs */
constexpr int MOST_BLOCKS = 2112;
constexpr int PART = 1024; /* columns that a launch of subtract takes: coefficients are shared */
constexpr int SHARED = 200 * 1024; /* bytes of a tile of rows, at most */
constexpr size_t UP = 1 << 17;     /* numbers that may go up between two waits */
constexpr size_t FEW_UP = 1 << 13; /* the same of a small basis: large pinned memory takes a ms */

struct state {
  int device;
  cudaStream_t stream;
  size_t segment;
  int segments;
  double *partial, *sums, *up; /* of the device: [sums, segments], [sums], [room_up] */
  double *host_sums, *host_up; /* pinned; the same sizes */
  size_t sum_count, room_up, used_up;
  factored *factored_there, *factored_here; /* device; pinned */
  unsigned long long* found;                /* device */
  cudaEvent_t mark[2];
  cudaError_t error; /* the first since the last wait */
};

state* of(const tg_rows* rows) { return (state*)rows->device; }

void note(state* s, cudaError_t error) {
  if (s->error == cudaSuccess) s->error = error;
}

/* After everything that was queued. */
tg_status wait(state* s) {
  note(s, cudaGetLastError());
  note(s, cudaStreamSynchronize(s->stream));
  const cudaError_t error = s->error;
  s->error = cudaSuccess;
  s->used_up = 0;
  return tg_cuda_status(error, s->device, "computing with vectors");
}

int blocks_for(size_t threads) {
  const size_t blocks = (threads + THREADS - 1) / THREADS;
  return (int)(blocks < 1 ? 1 : blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

/* ---- memory ---- */

void shape(const tg_rows* rows, size_t* segment, int* segments) {
  size_t rows_each = (rows->n + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
  if (rows_each < LEAST_SEGMENT) rows_each = LEAST_SEGMENT;
  *segment = (rows_each + 511) / 512 * 512;
  *segments = rows->n > 0 ? (int)((rows->n + *segment - 1) / *segment) : 1;
}

/* Sums at once: `room` of them, or those of a step, whose matrices have y^T y behind them. */
size_t sums_for(size_t room, int most) {
  const size_t step = 2 * STEP * ((size_t)most + 3 * STEP);
  return (room > step ? room : step) + 2 * MOST_BLOCKS;
}

/* Inner products are formed for four columns at once, with a block more than the basis. */
size_t partial_for(int most, int segments) { return STEP * ((size_t)most + 64) * (size_t)segments; }

/* At least what `subtract` sends at once. */
size_t room_up_for(int most) {
  static_assert(FEW_UP >= STEP * PART, "coefficients of a launch of subtract");
  const size_t matrix = (size_t)most * ((size_t)most + 4);
  return matrix <= FEW_UP ? FEW_UP : UP;
}

void close(tg_rows* rows) {
  state* s = of(rows);
  if (!s) return;
  cudaSetDevice(s->device);
  void* const device[] = {s->partial, s->sums, s->up, s->factored_there, s->found};
  for (void* memory : device) tg_cuda_release(memory);
  cudaFreeHost(s->host_sums);
  cudaFreeHost(s->host_up);
  cudaFreeHost(s->factored_here);
  for (cudaEvent_t event : s->mark)
    if (event) cudaEventDestroy(event);
  delete s;
  rows->device = nullptr;
}

tg_status open(tg_rows* rows, size_t room, int most) {
  const tg_eigen_problem* problem = rows->problem;
  state* s = new (std::nothrow) state();
  if (!s) return tg_fail(TG_ERR_MACHINE, "no memory for the eigen-solver on a GPU");
  rows->device = s;
  rows->room = room;
  s->device = problem->device;
  s->stream = (cudaStream_t)problem->stream;
  if ((size_t)most * 8 * sizeof(double) > SHARED)
    return tg_fail(TG_ERR_MACHINE,
                   "a basis of %d vectors is more than the eigen-solver on a GPU takes, which is "
                   "%d; ask for fewer states, or use --backend omp",
                   most, SHARED / 64);
  shape(rows, &s->segment, &s->segments);
  s->sum_count = sums_for(room, most);
  s->room_up = room_up_for(most);
  note(s, cudaSetDevice(s->device));
  const size_t partial = partial_for(most, s->segments);
  const struct {
    void** to;
    size_t bytes;
  } all[] = {{(void**)&s->partial, partial * sizeof(double)},
             {(void**)&s->sums, s->sum_count * sizeof(double)},
             {(void**)&s->up, s->room_up * sizeof(double)},
             {(void**)&s->factored_there, sizeof *s->factored_there},
             {(void**)&s->found, sizeof *s->found}};
  for (const auto& one : all)
    TG_TRY(tg_cuda_allocate(s->device, one.bytes, "the eigen-solver's small matrices", one.to));
  note(s, cudaHostAlloc(&s->host_sums, s->sum_count * sizeof(double), cudaHostAllocDefault));
  note(s, cudaHostAlloc(&s->host_up, s->room_up * sizeof(double), cudaHostAllocDefault));
  note(s, cudaHostAlloc(&s->factored_here, sizeof *s->factored_here, cudaHostAllocDefault));
  for (cudaEvent_t& event : s->mark) note(s, cudaEventCreate(&event));
  TG_TRY(tg_cuda_allow_shared(k::times, s->device));
  return wait(s);
}

tg_status allocate(const tg_rows* rows, size_t columns, const char* what, double** out) {
  const size_t bytes = (columns * rows->ld + 1) * sizeof(double);
  void* memory = nullptr;
  TG_TRY(tg_cuda_status(cudaSetDevice(of(rows)->device), of(rows)->device, "choosing it"));
  TG_TRY(tg_cuda_allocate(of(rows)->device, bytes, what, &memory));
  note(of(rows), cudaMemsetAsync(memory, 0, bytes, of(rows)->stream));
  *out = (double*)memory;
  return TG_OK;
}

void release(const tg_rows* rows, double* columns) {
  if (!columns) return;
  cudaSetDevice(of(rows)->device);
  tg_cuda_release(columns);
}

/* Room for a small matrix that goes up; *there: where it will be. */
double* up(state* s, size_t count, double** there) {
  if (s->used_up + count > s->room_up) {
    note(s, cudaStreamSynchronize(s->stream));
    s->used_up = 0;
  }
  double* here = s->host_up + s->used_up;
  *there = s->up + s->used_up;
  s->used_up += (count + 7) / 8 * 8;
  return here;
}

void send(state* s, const double* here, double* there, size_t count) {
  note(s, cudaMemcpyAsync(there, here, count * sizeof(double), cudaMemcpyHostToDevice, s->stream));
}

/* ---- inner products ---- */

template <int K, int C>
void launch_inner(state* s, const tg_rows* rows, const double* v, int p, const double* w, int c) {
  const dim3 grid((p + K - 1) / K, s->segments);
  k::inner<K, C>
      <<<grid, THREADS, 0, s->stream>>>(v, w, rows->n, rows->ld, s->segment, p, c, s->partial);
}

template <int C>
void launch_inner_of(state* s, const tg_rows* rows, const double* v, int p, const double* w,
                     int c) {
  if (p == 1)
    launch_inner<1, C>(s, rows, v, p, w, c);
  else if (p <= 4)
    launch_inner<4, C>(s, rows, v, p, w, c);
  else
    launch_inner<8, C>(s, rows, v, p, w, c);
}

/* V^T W into sums: [p, c]. */
void queue_inner(state* s, const tg_rows* rows, const double* v, int p, const double* w, int c,
                 double* sums) {
  for (int j = 0; j < c; j += STEP) {
    const int now = c - j < STEP ? c - j : STEP;
    const double* columns = w + (size_t)j * rows->ld;
    if (now == 1)
      launch_inner_of<1>(s, rows, v, p, columns, now);
    else if (now == 2)
      launch_inner_of<2>(s, rows, v, p, columns, now);
    else
      launch_inner_of<4>(s, rows, v, p, columns, now);
    k::sum_segments<<<p * now, 128, 0, s->stream>>>(s->partial, s->segments,
                                                    sums + (size_t)j * (size_t)p);
  }
}

/* Sums over the PEs, where there are others and their GPUs do it. */
tg_status queue_sum(const tg_rows* rows, double* sums, size_t count) {
  const tg_eigen_problem* problem = rows->problem;
  return problem->sum_there ? problem->sum_there(problem->context, sums, count) : TG_OK;
}

tg_status collect(const tg_rows* rows, size_t count) {
  state* s = of(rows);
  TG_TRY(queue_sum(rows, s->sums, count));
  note(s, cudaMemcpyAsync(s->host_sums, s->sums, count * sizeof(double), cudaMemcpyDeviceToHost,
                          s->stream));
  TG_TRY(wait(s));
  const tg_eigen_problem* problem = rows->problem;
  if (!problem->reduce || problem->sum_there) return TG_OK;
  return problem->reduce(problem->context, TG_EIGEN_SUM, s->host_sums, count);
}

tg_status inner(const tg_rows* rows, const double* v, int p, const double* w, int c, double* h,
                int ldh) {
  if (p == 0 || c == 0) return TG_OK;
  state* s = of(rows);
  queue_inner(s, rows, v, p, w, c, s->sums);
  TG_TRY(collect(rows, (size_t)p * (size_t)c));
  for (int j = 0; j < c; j++)
    memcpy(h + (size_t)j * (size_t)ldh, s->host_sums + (size_t)j * (size_t)p,
           (size_t)p * sizeof *h);
  return TG_OK;
}

tg_status norms(const tg_rows* rows, const double* w, int c, double* norm) {
  state* s = of(rows);
  for (int i = 0; i < c; i++) {
    const double* column = w + (size_t)i * rows->ld;
    queue_inner(s, rows, column, 1, column, 1, s->sums + i);
  }
  TG_TRY(collect(rows, (size_t)c));
  for (int i = 0; i < c; i++) norm[i] = sqrt(s->host_sums[i]);
  return TG_OK;
}

/* ---- subtracting, multiplying ---- */

template <int C>
void launch_subtract(state* s, const tg_rows* rows, double* w, const double* v, int p,
                     const double* h, int ldh, const factored* f, const tg_eigen_targets* targets) {
  const int blocks = blocks_for(rows->n / 2);
  /* eight coefficients more: the compiler may read ahead of where it knows that it has to */
  const size_t bytes = (size_t)(p + 8) * C * sizeof(double);
  if (targets)
    k::subtract_out<C><<<blocks, THREADS, bytes, s->stream>>>(w, v, rows->n, rows->ld, p, h, ldh, f,
                                                              *targets, rows->used);
  else
    k::subtract<C><<<blocks, THREADS, bytes, s->stream>>>(w, v, rows->n, rows->ld, p, h, ldh, f);
}

/* h in device memory; f: at the end; targets: NULL, none. */
void queue_subtract(state* s, const tg_rows* rows, double* w, int c, const double* v, int p,
                    const double* h, int ldh, const factored* f, const tg_eigen_targets* targets) {
  if (c == 1)
    launch_subtract<1>(s, rows, w, v, p, h, ldh, f, targets);
  else if (c == 2)
    launch_subtract<2>(s, rows, w, v, p, h, ldh, f, targets);
  else if (c == 3)
    launch_subtract<3>(s, rows, w, v, p, h, ldh, f, targets);
  else
    launch_subtract<4>(s, rows, w, v, p, h, ldh, f, targets);
}

void subtract(const tg_rows* rows, double* w, int c, const double* v, int p, const double* h,
              int ldh) {
  state* s = of(rows);
  for (int j = 0; j < c; j += STEP)
    for (int i = 0; i < p; i += PART) {
      const int wide = c - j < STEP ? c - j : STEP, tall = p - i < PART ? p - i : PART;
      double *there, *here = up(s, (size_t)wide * (size_t)tall, &there);
      for (int q = 0; q < wide; q++)
        memcpy(here + (size_t)q * (size_t)tall, h + (size_t)(j + q) * (size_t)ldh + i,
               (size_t)tall * sizeof *h);
      send(s, here, there, (size_t)wide * (size_t)tall);
      queue_subtract(s, rows, w + (size_t)j * rows->ld, wide, v + (size_t)i * rows->ld, tall, there,
                     tall, nullptr, nullptr);
    }
}

/* s goes up row by row. */
void times(const tg_rows* rows, const double* v, int p, const double* s_matrix, int lds, int q,
           double* out) {
  state* s = of(rows);
  if (p == 0 || q == 0 || rows->n == 0) return;
  const int wide = (q + 3) / 4 * 4;
  const size_t count = (size_t)p * (size_t)wide;
  double *there = nullptr, *own = nullptr;
  double* here = nullptr;
  if (count <= s->room_up) {
    here = up(s, count, &there);
  } else { /* a basis of hundreds: rare enough for memory of its own */
    here = new (std::nothrow) double[count];
    note(s, here ? cudaMalloc(&own, count * sizeof(double)) : cudaErrorMemoryAllocation);
    there = own;
  }
  if (here && there) {
    for (int i = 0; i < p; i++)
      for (int j = 0; j < wide; j++)
        here[(size_t)i * wide + j] = j < q ? s_matrix[(size_t)j * (size_t)lds + (size_t)i] : 0;
    send(s, here, there, count);
    int tall = 64;
    while ((size_t)tall * p * sizeof(double) > SHARED) tall /= 2;
    const size_t tiles = (rows->n + tall - 1) / tall;
    const int blocks = (int)(tiles < MOST_BLOCKS ? tiles : MOST_BLOCKS);
    k::times<<<blocks, THREADS, (size_t)tall * p * sizeof(double), s->stream>>>(
        v, rows->n, rows->ld, p, there, wide, q, out, tall);
  }
  if (count > s->room_up) {
    note(s, cudaStreamSynchronize(s->stream));
    cudaFree(own);
    delete[] here;
  }
}

/* ---- a step ---- */

/* The last pass of it, by way of the outlet where there is one. */
tg_status finish_block(const tg_rows* rows, tg_rows_step* p, double* y, const double* second) {
  const tg_eigen_problem* problem = rows->problem;
  state* s = of(rows);
  tg_eigen_targets targets = {};
  if (problem->outlet) TG_TRY(problem->outlet->open(problem->context, p->c, &targets));
  p->out = targets.count > 0;
  queue_subtract(s, rows, y, p->c, p->basis, p->at, second, p->at + p->c, s->factored_there,
                 p->out ? &targets : nullptr);
  return p->out ? problem->outlet->close(problem->context, p->c, y, rows->ld) : TG_OK;
}

tg_status step(const tg_rows* rows, tg_rows_step* p) {
  state* s = of(rows);
  const int c = p->c, at = p->at, window = at - p->begin;
  double* y = p->basis + (size_t)at * rows->ld;
  const double* from = p->basis + (size_t)p->begin * rows->ld;
  double *first = s->sums, *second = first + (size_t)(window + c) * (size_t)c;
  const size_t count = (size_t)(window + at + 2 * c) * (size_t)c;
  if (at > PART) return tg_fail(TG_ERR_INTERNAL, "a step of %d columns at once", at);
  queue_inner(s, rows, from, window + c, y, c, first);
  TG_TRY(queue_sum(rows, first, (size_t)(window + c) * (size_t)c));
  queue_subtract(s, rows, y, c, from, window, first, window + c, nullptr, nullptr);
  queue_inner(s, rows, p->basis, at + c, y, c, second);
  TG_TRY(queue_sum(rows, second, (size_t)(at + c) * (size_t)c));
  k::factor<<<1, THREADS, 0, s->stream>>>(first, window, second, at, c, p->scale,
                                          s->factored_there);
  TG_TRY(finish_block(rows, p, y, second));
  note(s, cudaMemcpyAsync(s->host_sums, s->sums, count * sizeof(double), cudaMemcpyDeviceToHost,
                          s->stream));
  note(s, cudaMemcpyAsync(s->factored_here, s->factored_there, sizeof *s->factored_here,
                          cudaMemcpyDeviceToHost, s->stream));
  TG_TRY(wait(s));
  for (int j = 0; j < c; j++) {
    memcpy(p->first + (size_t)j * window, s->host_sums + (size_t)j * (window + c),
           (size_t)window * sizeof(double));
    memcpy(p->second + (size_t)j * at, s->host_sums + (second - first) + (size_t)j * (at + c),
           (size_t)at * sizeof(double));
  }
  memcpy(p->norm, s->factored_here->norm, sizeof p->norm);
  memcpy(p->size, s->factored_here->size, sizeof p->size);
  memcpy(p->r, s->factored_here->r, sizeof p->r);
  p->done = s->factored_here->done != 0;
  return TG_OK;
}

/* ---- single columns ---- */

void scale(const tg_rows* rows, double* w, double factor) {
  k::scale<<<blocks_for(rows->n), THREADS, 0, of(rows)->stream>>>(w, rows->n, factor);
}

void copy(const tg_rows* rows, const double* v, double* w) {
  note(of(rows),
       cudaMemcpyAsync(w, v, rows->n * sizeof *w, cudaMemcpyDeviceToDevice, of(rows)->stream));
}

void random(const tg_rows* rows, uint64_t seed, uint64_t number, double* w) {
  if (rows->used == 0) return;
  k::random<<<blocks_for(rows->used / 2 + 1), THREADS, 0, of(rows)->stream>>>(
      w, rows->used, rows->first, seed, number);
}

int64_t find_nan(const tg_rows* rows, const double* w) {
  state* s = of(rows);
  unsigned long long found = ~0ull;
  if (rows->used == 0) return -1;
  cudaMemsetAsync(s->found, 0xff, sizeof found, s->stream);
  k::find_nan<<<blocks_for(rows->used), THREADS, 0, s->stream>>>(w, rows->used, s->found);
  cudaMemcpyAsync(&found, s->found, sizeof found, cudaMemcpyDeviceToHost, s->stream);
  cudaStreamSynchronize(s->stream);
  return found < rows->used ? (int64_t)(rows->first + found) : -1;
}

tg_status bounds(const tg_rows* rows, const double* d, double* low, double* high) {
  state* s = of(rows);
  *low = INFINITY;
  *high = -INFINITY;
  const int64_t bad = find_nan(rows, d);
  if (bad >= 0)
    return tg_fail(TG_ERR_NUMERICS, "the diagonal has a value in row %lld that is no finite number",
                   (long long)bad);
  if (rows->used == 0) return TG_OK;
  const int blocks = blocks_for(rows->used);
  k::bounds<<<blocks, THREADS, 0, s->stream>>>(d, rows->used, s->sums);
  note(s, cudaMemcpyAsync(s->host_sums, s->sums, 2 * (size_t)blocks * sizeof(double),
                          cudaMemcpyDeviceToHost, s->stream));
  TG_TRY(wait(s));
  for (int i = 0; i < blocks; i++) {
    *low = fmin(*low, s->host_sums[2 * i]);
    *high = fmax(*high, s->host_sums[2 * i + 1]);
  }
  return TG_OK;
}

void favour(const tg_rows* rows, const double* d, double low, double width, double* x) {
  k::favour<<<blocks_for(rows->used), THREADS, 0, of(rows)->stream>>>(x, d, rows->used, low, width);
}

void divide(const tg_rows* rows, const double* d, double value, double least, double* r) {
  k::divide<<<blocks_for(rows->used), THREADS, 0, of(rows)->stream>>>(r, d, rows->used, value,
                                                                      least);
}

tg_status move(state* s, const double* from, size_t count, double* to, cudaMemcpyKind kind) {
  if (count > 0) note(s, cudaMemcpyAsync(to, from, count * sizeof(double), kind, s->stream));
  return wait(s);
}

tg_status get(const tg_rows* rows, const double* from, size_t count, double* to) {
  return move(of(rows), from, count, to, cudaMemcpyDeviceToHost);
}

tg_status put(const tg_rows* rows, const double* from, size_t count, double* to) {
  return move(of(rows), from, count, to, cudaMemcpyHostToDevice);
}

void mark(const tg_rows* rows, int which) {
  note(of(rows), cudaEventRecord(of(rows)->mark[which], of(rows)->stream));
}

double between(const tg_rows* rows) {
  float ms = 0;
  note(of(rows), cudaEventElapsedTime(&ms, of(rows)->mark[0], of(rows)->mark[1]));
  return 1e-3 * ms;
}

const tg_rows_ops table = {open,   close, allocate, release, inner,    norms,  subtract,
                           times,  scale, copy,     random,  find_nan, bounds, favour,
                           divide, get,   put,      step,    mark,     between};

}  // namespace

extern "C" tg_status tg_rows_cuda(const tg_rows_ops** out) {
  *out = &table;
  return TG_OK;
}

extern "C" size_t tg_rows_cuda_bytes(const tg_rows* rows, size_t room, int most) {
  size_t segment;
  int segments;
  shape(rows, &segment, &segments);
  const size_t sums = sums_for(room, most) + room_up_for(most);
  return sizeof(double) * (sums + partial_for(most, segments));
}
