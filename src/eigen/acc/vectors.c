/* SPDX-License-Identifier: Apache-2.0 */
/* Tall, narrow matrices by OpenACC, in the module acc: plain loops, which are right and serial
 * without their directives.
 *
 * A loop is either a row to a lane, or an item to a warp whose lanes share a sum: GCC joins the
 * lanes' sums by shuffles, in one order, where those of warps and gangs would be joined in any. So
 * inner products are sums of segments, which a second loop adds: the same bits each time.
 *
 * Each region is waited for, and costs some 27 us (motif/acc/loops.h). */
#include "eigen/acc/vectors.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/threefry.h"
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/module/services.h"

enum {
  LEAST_SEGMENT = 2048,
  MOST_SEGMENTS = 1024,
  TILE = 4,            /* columns of V that a warp has */
  PANEL_ROWS = 131072, /* of a product that takes its factor's place */
};

/* An item to a warp; in it, a loop over lanes with sums. */
#define ACC_WARPS(count, ...)                                                                      \
  TG_PRAGMA(acc parallel loop gang worker num_gangs(tg_acc_gangs(32 * (count))) num_workers(8)     \
                vector_length(32) deviceptr(__VA_ARGS__))
#define ACC_LANES(...) TG_PRAGMA(acc loop vector reduction(+ : __VA_ARGS__))
#define ACC_SCALAR(count, clause, name, ...)                                                       \
  TG_PRAGMA(acc parallel loop gang worker vector num_gangs(tg_acc_gangs(count)) num_workers(8)     \
                vector_length(32) deviceptr(__VA_ARGS__) copy(name) reduction(clause               \
                                                                              : name))

typedef tg_rows_acc_state state;

static state* of(const tg_rows* rows) { return rows->device; }

static void shape(const tg_rows* rows, state* s) {
  size_t each = (rows->n + MOST_SEGMENTS - 1) / MOST_SEGMENTS;
  if (each < LEAST_SEGMENT) each = LEAST_SEGMENT;
  s->segment = (each + 31) / 32 * 32;
  s->segments = rows->n > 0 ? (rows->n + s->segment - 1) / s->segment : 1;
}

/* Small matrices that go up: of a product, whose columns come in fours, or to subtract. */
static size_t up_for(size_t room, size_t most) {
  const size_t square = most * (most + 3);
  return room > square ? room : square;
}

static size_t panel_for(const tg_rows* rows, size_t most) {
  return (rows->n < PANEL_ROWS ? rows->n : PANEL_ROWS) * most;
}

/* ---- memory ---- */

static tg_status numbers(size_t count, const char* what, double** out) {
  void* memory = NULL;
  TG_TRY(tg_acc_memory.allocate(count * sizeof **out, what, &memory));
  *out = memory;
  return TG_OK;
}

static void rows_close(tg_rows* rows) {
  state* s = of(rows);
  if (!s) return;
  double* const all[] = {s->partial, s->sums, s->up, s->panel};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) tg_acc_memory.release(all[i]);
  free(s->here);
  free(s);
  rows->device = NULL;
}

static tg_status rows_open(tg_rows* rows, size_t room, int most) {
  static const char what[] = "the eigen-solver's small matrices";
  state* s = calloc(1, sizeof *s);
  if (!s) return tg_fail(TG_ERR_MACHINE, "acc: no memory for %s", what);
  rows->device = s;
  rows->room = s->room = room;
  s->most = (size_t)most;
  shape(rows, s);
  const size_t up = up_for(room, s->most);
  s->here = malloc(up * sizeof *s->here);
  if (!s->here) return tg_fail(TG_ERR_MACHINE, "acc: no memory for %s", what);
  TG_TRY(numbers(s->segments * room, what, &s->partial));
  TG_TRY(numbers(room, what, &s->sums));
  TG_TRY(numbers(panel_for(rows, s->most), what, &s->panel));
  return numbers(up, what, &s->up);
}

static size_t bytes_of(const tg_rows* rows, size_t room, int most) {
  state s;
  shape(rows, &s);
  return (s.segments * room + room + up_for(room, (size_t)most) + panel_for(rows, (size_t)most)) *
         sizeof(double);
}

static void fill_zeros(size_t count, double* w) {
  ACC_FLAT(count, w)
  for (size_t i = 0; i < count; i++) w[i] = 0;
}

static tg_status rows_allocate(const tg_rows* rows, size_t columns, const char* what,
                               double** out) {
  double* w = NULL;
  TG_TRY(numbers(columns * rows->ld + 1, what, &w));
  fill_zeros(columns * rows->ld + 1, w);
  *out = w;
  return TG_OK;
}

static void rows_release(const tg_rows* rows, double* columns) {
  (void)rows;
  tg_acc_memory.release(columns);
}

/* ---- inner products ---- */

/* TILE columns of V with one of W, within each segment. */
static void inner_one(const state* s, const tg_rows* rows, const double* v, int p, const double* w,
                      double* partial, size_t room) {
  const size_t n = rows->n, ld = rows->ld, segment = s->segment, segments = s->segments;
  const size_t tiles = ((size_t)p + TILE - 1) / TILE, items = tiles * segments;
  const size_t last = (size_t)p - 1;
  ACC_WARPS(items, v, w, partial)
  for (size_t item = 0; item < items; item++) {
    const size_t part = item % segments, i = item / segments * TILE;
    const size_t end = (part + 1) * segment < n ? (part + 1) * segment : n;
    const double *v0 = v + i * ld, *v1 = v + (i + 1 < last ? i + 1 : last) * ld;
    const double* v2 = v + (i + 2 < last ? i + 2 : last) * ld;
    const double* v3 = v + (i + 3 < last ? i + 3 : last) * ld;
    double a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    ACC_LANES(a0, a1, a2, a3)
    for (size_t row = part * segment; row < end; row++) {
      const double x = w[row];
      a0 += v0[row] * x;
      a1 += v1[row] * x;
      a2 += v2[row] * x;
      a3 += v3[row] * x;
    }
    double* to = partial + part * room + i;
    to[0] = a0;
    if (i + 1 <= last) to[1] = a1;
    if (i + 2 <= last) to[2] = a2;
    if (i + 3 <= last) to[3] = a3;
  }
}

/* The same with two columns of W: V is read once for both. */
static void inner_two(const state* s, const tg_rows* rows, const double* v, int p, const double* w,
                      double* partial, size_t room) {
  const size_t n = rows->n, ld = rows->ld, segment = s->segment, segments = s->segments;
  const size_t tiles = ((size_t)p + TILE - 1) / TILE, items = tiles * segments;
  const size_t last = (size_t)p - 1, other = (size_t)p;
  const double* u = w + ld;
  ACC_WARPS(items, v, w, u, partial)
  for (size_t item = 0; item < items; item++) {
    const size_t part = item % segments, i = item / segments * TILE;
    const size_t end = (part + 1) * segment < n ? (part + 1) * segment : n;
    const double *v0 = v + i * ld, *v1 = v + (i + 1 < last ? i + 1 : last) * ld;
    const double* v2 = v + (i + 2 < last ? i + 2 : last) * ld;
    const double* v3 = v + (i + 3 < last ? i + 3 : last) * ld;
    double a0 = 0, a1 = 0, a2 = 0, a3 = 0, b0 = 0, b1 = 0, b2 = 0, b3 = 0;
    ACC_LANES(a0, a1, a2, a3, b0, b1, b2, b3)
    for (size_t row = part * segment; row < end; row++) {
      const double x = w[row], y = u[row];
      const double q0 = v0[row], q1 = v1[row], q2 = v2[row], q3 = v3[row];
      a0 += q0 * x;
      a1 += q1 * x;
      a2 += q2 * x;
      a3 += q3 * x;
      b0 += q0 * y;
      b1 += q1 * y;
      b2 += q2 * y;
      b3 += q3 * y;
    }
    double* to = partial + part * room + i;
    to[0] = a0;
    to[other] = b0;
    if (i + 1 <= last) to[1] = a1, to[other + 1] = b1;
    if (i + 2 <= last) to[2] = a2, to[other + 2] = b2;
    if (i + 3 <= last) to[3] = a3, to[other + 3] = b3;
  }
}

static void add_segments(const state* s, size_t count) {
  const size_t segments = s->segments, room = s->room;
  const double* partial = s->partial;
  double* sums = s->sums;
  ACC_WARPS(count, partial, sums)
  for (size_t i = 0; i < count; i++) {
    double sum = 0;
    ACC_LANES(sum)
    for (size_t part = 0; part < segments; part++) sum += partial[part * room + i];
    sums[i] = sum;
  }
}

tg_status tg_rows_acc_inner(const tg_rows* rows, const double* v, int p, const double* w, int c) {
  state* s = of(rows);
  const size_t count = (size_t)p * (size_t)c;
  for (int j = 0; j < c;) {
    double* to = s->partial + (size_t)j * (size_t)p;
    const double* columns = w + (size_t)j * rows->ld;
    if (c - j >= 2)
      inner_two(s, rows, v, p, columns, to, s->room), j += 2;
    else
      inner_one(s, rows, v, p, columns, to, s->room), j++;
  }
  add_segments(s, count);
  TG_TRY(tg_acc_memory.download(s->here, s->sums, count * sizeof *s->here));
  if (!rows->problem->reduce) return TG_OK;
  return rows->problem->reduce(rows->problem->context, TG_EIGEN_SUM, s->here, count);
}

static tg_status rows_inner(const tg_rows* rows, const double* v, int p, const double* w, int c,
                            double* h, int ldh) {
  if (p == 0 || c == 0) return TG_OK;
  TG_TRY(tg_rows_acc_inner(rows, v, p, w, c));
  for (int j = 0; j < c; j++)
    memcpy(h + (size_t)j * (size_t)ldh, of(rows)->here + (size_t)j * (size_t)p,
           (size_t)p * sizeof *h);
  return TG_OK;
}

static tg_status rows_norms(const tg_rows* rows, const double* w, int c, double* norm) {
  for (int i = 0; i < c; i++) {
    const double* column = w + (size_t)i * rows->ld;
    TG_TRY(tg_rows_acc_inner(rows, column, 1, column, 1));
    norm[i] = sqrt(of(rows)->here[0]);
  }
  return TG_OK;
}

/* ---- subtracting, multiplying ---- */

/* h: [p, 1] or [p, 2], where the loops are. */
static void subtract_one(const tg_rows* rows, double* w, const double* v, int p, const double* h) {
  const size_t n = rows->n, ld = rows->ld;
  ACC_FLAT(n, w, v, h)
  for (size_t row = 0; row < n; row++) {
    double a = w[row];
    for (int i = 0; i < p; i++) a -= v[(size_t)i * ld + row] * h[i];
    w[row] = a;
  }
}

static void subtract_two(const tg_rows* rows, double* w, const double* v, int p, const double* h) {
  const size_t n = rows->n, ld = rows->ld;
  ACC_FLAT(n, w, v, h)
  for (size_t row = 0; row < n; row++) {
    double a = w[row], b = w[ld + row];
    for (int i = 0; i < p; i++) {
      const double x = v[(size_t)i * ld + row];
      a -= x * h[i];
      b -= x * h[p + i];
    }
    w[row] = a;
    w[ld + row] = b;
  }
}

void tg_rows_acc_subtract(const tg_rows* rows, double* w, int c, const double* v, int p,
                          const double* h, int ldh) {
  const state* s = of(rows);
  if (p == 0 || rows->n == 0) return;
  for (int j = 0; j < c;) {
    const int two = c - j >= 2, wide = two ? 2 : 1;
    for (int k = 0; k < wide; k++)
      memcpy(s->here + (size_t)k * (size_t)p, h + (size_t)(j + k) * (size_t)ldh,
             (size_t)p * sizeof *h);
    tg_acc_memory.upload(s->up, s->here, (size_t)wide * (size_t)p * sizeof *h);
    double* to = w + (size_t)j * rows->ld;
    if (two)
      subtract_two(rows, to, v, p, s->up);
    else
      subtract_one(rows, to, v, p, s->up);
    j += wide;
  }
}

/* Some rows of V s, four columns of s at a time; s is padded with zeros to those. */
static void times_rows(const double* v, size_t ld, size_t first, size_t count, int p,
                       const double* s, int q, double* panel) {
  const int fours = (q + 3) / 4;
  const size_t items = count * (size_t)fours;
  ACC_FLAT(items, v, s, panel)
  for (size_t item = 0; item < items; item++) {
    const size_t row = item % count, j = item / count * 4;
    const double *s0 = s + j * (size_t)p, *s1 = s0 + p, *s2 = s1 + p, *s3 = s2 + p;
    const double* from = v + first + row;
    double a0 = 0, a1 = 0, a2 = 0, a3 = 0;
    for (int i = 0; i < p; i++) {
      const double x = from[(size_t)i * ld];
      a0 += x * s0[i];
      a1 += x * s1[i];
      a2 += x * s2[i];
      a3 += x * s3[i];
    }
    double* to = panel + j * count + row;
    to[0] = a0;
    if (j + 1 < (size_t)q) to[count] = a1;
    if (j + 2 < (size_t)q) to[2 * count] = a2;
    if (j + 3 < (size_t)q) to[3 * count] = a3;
  }
}

static void put_panel(const double* panel, size_t first, size_t count, int q, size_t ld,
                      double* out) {
  const size_t items = count * (size_t)q;
  ACC_FLAT(items, panel, out)
  for (size_t item = 0; item < items; item++)
    out[item / count * ld + first + item % count] = panel[item];
}

static void rows_times(const tg_rows* rows, const double* v, int p, const double* matrix, int lds,
                       int q, double* out) {
  const state* s = of(rows);
  const size_t count = (size_t)p * (size_t)((q + 3) / 4 * 4);
  if (p == 0 || q == 0) return;
  memset(s->here, 0, count * sizeof *s->here);
  for (int j = 0; j < q; j++)
    memcpy(s->here + (size_t)j * (size_t)p, matrix + (size_t)j * (size_t)lds,
           (size_t)p * sizeof *s->here);
  tg_acc_memory.upload(s->up, s->here, count * sizeof *s->here);
  for (size_t first = 0; first < rows->n; first += PANEL_ROWS) {
    const size_t left = rows->n - first, now = left < PANEL_ROWS ? left : PANEL_ROWS;
    times_rows(v, rows->ld, first, now, p, s->up, q, s->panel);
    put_panel(s->panel, first, now, q, rows->ld, out);
  }
}

/* ---- single columns ---- */

static void rows_scale(const tg_rows* rows, double* w, double factor) {
  const size_t n = rows->n;
  ACC_FLAT(n, w)
  for (size_t i = 0; i < n; i++) w[i] *= factor;
}

static void rows_copy(const tg_rows* rows, const double* v, double* w) {
  const size_t n = rows->n;
  ACC_FLAT(n, v, w)
  for (size_t i = 0; i < n; i++) w[i] = v[i];
}

/* Two normal numbers (Box and Muller 1958) for each pair of rows, as eigen/vectors.c makes them. */
TG_ROUTINE void random_pair(uint64_t seed, uint64_t pair, uint64_t number, double out[2]) {
  const double unit = 0x1p-53, turn = 6.283185307179586;
  const uint64_t key[2] = {seed, TG_RNG_START_VECTOR}, counter[2] = {pair, number};
  uint64_t bits[2];
  tg_threefry_block(key, counter, bits);
  const double radius = sqrt(-2.0 * log((double)((bits[0] >> 11) + 1) * unit));
  const double angle = turn * ((double)(bits[1] >> 11) * unit);
  out[0] = radius * cos(angle);
  out[1] = radius * sin(angle);
}

static void rows_random(const tg_rows* rows, uint64_t seed, uint64_t number, double* w) {
  const size_t first = rows->first, end = first + rows->used;
  const size_t low = first / 2, pairs = (end + 1) / 2 - low;
  if (rows->used == 0) return;
  ACC_FLAT(pairs, w)
  for (size_t i = 0; i < pairs; i++) {
    const size_t row = 2 * (low + i); /* among all; a pair may begin before the first one here */
    double two[2];
    random_pair(seed, low + i, number, two);
    if (row >= first) w[row - first] = two[0];
    if (row + 1 < end) w[row + 1 - first] = two[1];
  }
}

static int64_t rows_find_nan(const tg_rows* rows, const double* w) {
  const size_t used = rows->used;
  uint64_t found = UINT64_MAX;
  ACC_SCALAR(used, min, found, w)
  for (size_t i = 0; i < used; i++) {
    const uint64_t bad = w[i] - w[i] == 0 ? UINT64_MAX : (uint64_t)i; /* inf - inf is no number */
    found = bad < found ? bad : found;
  }
  return found < used ? (int64_t)(rows->first + found) : -1;
}

static tg_status rows_bounds(const tg_rows* rows, const double* d, double* low, double* high) {
  const size_t used = rows->used;
  double least = INFINITY, most = -INFINITY;
  const int64_t bad = rows_find_nan(rows, d);
  if (bad >= 0)
    return tg_fail(TG_ERR_NUMERICS, "the diagonal has a value in row %lld that is no finite number",
                   (long long)bad);
  ACC_SCALAR(used, min, least, d)
  for (size_t i = 0; i < used; i++) least = d[i] < least ? d[i] : least;
  ACC_SCALAR(used, max, most, d)
  for (size_t i = 0; i < used; i++) most = d[i] > most ? d[i] : most;
  *low = least;
  *high = most;
  return TG_OK;
}

static void rows_favour(const tg_rows* rows, const double* d, double low, double width, double* x) {
  const size_t used = rows->used;
  ACC_FLAT(used, d, x)
  for (size_t i = 0; i < used; i++) {
    const double weight = width / (d[i] - low + width);
    const double square = weight * weight;
    x[i] *= square * square;
  }
}

static void rows_divide(const tg_rows* rows, const double* d, double value, double least,
                        double* r) {
  const size_t used = rows->used;
  ACC_FLAT(used, d, r)
  for (size_t i = 0; i < used; i++) {
    const double distance = d[i] - value, size = distance < 0 ? -distance : distance;
    r[i] /= size > least ? distance : distance < 0 ? -least : least;
  }
}

static tg_status rows_get(const tg_rows* rows, const double* from, size_t count, double* to) {
  (void)rows;
  return tg_acc_memory.download(to, from, count * sizeof *to);
}

static tg_status rows_put(const tg_rows* rows, const double* from, size_t count, double* to) {
  (void)rows;
  return tg_acc_memory.upload(to, from, count * sizeof *to);
}

static const tg_rows_ops ops = {.open = rows_open,
                                .close = rows_close,
                                .allocate = rows_allocate,
                                .release = rows_release,
                                .inner = rows_inner,
                                .norms = rows_norms,
                                .subtract = tg_rows_acc_subtract,
                                .times = rows_times,
                                .scale = rows_scale,
                                .copy = rows_copy,
                                .random = rows_random,
                                .find_nan = rows_find_nan,
                                .bounds = rows_bounds,
                                .favour = rows_favour,
                                .divide = rows_divide,
                                .get = rows_get,
                                .put = rows_put,
                                .step = tg_rows_acc_step};

extern __attribute__((visibility("default"))) tg_rows_entry tg_module_rows;
const tg_rows_ops* tg_module_rows(const size_t sizes[2], tg_rows_bytes** bytes) {
  static const size_t mine[2] = TG_ROWS_SIZES;
  if (memcmp(sizes, mine, sizeof mine) != 0) return NULL;
  *bytes = bytes_of;
  return &ops;
}
