/* SPDX-License-Identifier: Apache-2.0 */
/* A step of Lanczos by OpenACC, with two answers from the device. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "eigen/acc/vectors.h"
#include "motif/acc/loops.h"
#include "motif/acc/table.h"

/* W of c columns times the upper triangle u: [c, c]. */
static void turn(const tg_rows* rows, double* w, int c, const double* u) {
  const size_t n = rows->n, ld = rows->ld;
  ACC_FLAT(n, w, u)
  for (size_t row = 0; row < n; row++)
    for (int j = c - 1; j >= 0; j--) { /* the last first: it needs those before as they were */
      double sum = 0;
      for (int i = 0; i <= j; i++) sum += w[(size_t)i * ld + row] * u[j * c + i];
      w[(size_t)j * ld + row] = sum;
    }
}

/* r^T r = what is left of y^T y once the part along the basis is off, by Cholesky, and the inverse
 * of r. second: [at + c, c]. False where a column has lost too much of its length. */
static bool factor(const double* second, int at, tg_rows_step* p, double* inverse) {
  const int c = p->c, rows = at + c;
  double scale = p->scale;
  bool done = true;
  for (int j = 0; j < c; j++) {
    p->size[j] = sqrt(second[j * rows + at + j]);
    scale = fmax(scale, p->norm[j]);
  }
  for (int j = 0; j < c; j++) {
    for (int i = 0; i <= j; i++) {
      double rest = second[j * rows + at + i];
      for (int k = 0; k < at; k++) rest -= second[i * rows + k] * second[j * rows + k];
      for (int k = 0; k < i; k++) rest -= p->r[i * c + k] * p->r[j * c + k];
      p->r[j * c + i] = i < j ? rest / p->r[i * c + i] : sqrt(rest);
    }
    const double length = p->r[j * c + j];
    /* not: NaN is not done, either */
    done = done && length >= 0.5 * p->size[j] && length > 8 * DBL_EPSILON * fmax(p->size[j], scale);
  }
  for (int j = 0; done && j < c; j++)
    for (int i = c - 1; i >= 0; i--) { /* back substitution: r inverse = 1 */
      double rest = i == j;
      for (int k = i + 1; k <= j; k++) rest -= p->r[k * c + i] * inverse[j * c + k];
      inverse[j * c + i] = i > j ? 0 : rest / p->r[i * c + i];
    }
  return done;
}

/* Two inner products and what they lead to: some seven regions, a fourth of what a step takes pass
 * by pass. */
tg_status tg_rows_acc_step(const tg_rows* rows, tg_rows_step* p) {
  const tg_rows_acc_state* s = rows->device;
  const int c = p->c, at = p->at, window = at - p->begin;
  double* y = p->basis + (size_t)at * rows->ld;
  const double* from = p->basis + (size_t)p->begin * rows->ld;
  double inverse[TG_ROWS_STEP * TG_ROWS_STEP] = {0};
  TG_TRY(tg_rows_acc_inner(rows, from, window + c, y, c));
  for (int j = 0; j < c; j++) {
    const double* column = s->here + (size_t)j * (size_t)(window + c);
    memcpy(p->first + (size_t)j * (size_t)window, column, (size_t)window * sizeof *column);
    p->norm[j] = sqrt(column[window + j]);
  }
  tg_rows_acc_subtract(rows, y, c, from, window, p->first, window);
  TG_TRY(tg_rows_acc_inner(rows, p->basis, at + c, y, c));
  p->done = factor(s->here, at, p, inverse);
  for (int j = 0; j < c; j++)
    memcpy(p->second + (size_t)j * (size_t)at, s->here + (size_t)j * (size_t)(at + c),
           (size_t)at * sizeof *p->second);
  tg_rows_acc_subtract(rows, y, c, p->basis, at, p->second, at);
  if (!p->done) return TG_OK;
  TG_TRY(tg_acc_memory.upload(s->up, inverse, (size_t)c * (size_t)c * sizeof *inverse));
  turn(rows, y, c, s->up);
  return TG_OK;
}
