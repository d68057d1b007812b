/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen/restart_rows.h"

#include <string.h>
#include <sys/types.h>

#include "base/memory.h"

enum { PIECE = 1 << 20 }; /* numbers looked at, or on their way to or from a GPU, at once */

/* This PE's rows of a column, piece by piece in the host's memory; the host's own whole. */
typedef struct pieces {
  const tg_eigen_solver* s;
  double* buffer; /* NULL: the column itself */
} pieces;

/* always: a buffer in any case. */
static tg_status pieces_open(const tg_eigen_solver* s, bool always, pieces* out) {
  *out = (pieces){.s = s};
  if (s->problem.place == TG_EIGEN_HOST && !always) return TG_OK;
  return TG_ALLOCATE((size_t)PIECE, "a piece of a restart file", &out->buffer);
}

/* *at: the numbers of the column from `done` on, *count of them. */
static tg_status piece_get(const pieces* p, const double* column, size_t done, const double** at,
                           size_t* count) {
  const size_t left = p->s->problem.n - done;
  *at = column + done;
  *count = left;
  if (!p->buffer) return TG_OK;
  *count = left < PIECE ? left : PIECE;
  *at = p->buffer;
  return tg_rows_get(&p->s->rows, column + done, *count, p->buffer);
}

uint64_t tg_eigen_columns_size(const tg_eigen_solver* s, const tg_eigen_matrix* c) {
  return (uint64_t)c->count * tg_eigen_total(&s->problem) * sizeof(double);
}

/* Every bit of a number and of its place changes about half of the bits. */
static uint64_t mixed(double value, uint64_t place) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits ^= place * 0x9e3779b97f4a7c15u;
  bits = (bits ^ bits >> 32) * 0xd6e8feb86659fd93u;
  bits = (bits ^ bits >> 29) * 0xa0761d6478bd642fu;
  return bits ^ bits >> 32;
}

/* The place in the part of this PE's first row of a column. */
static uint64_t place_of(const tg_eigen_solver* s, size_t column) {
  return (uint64_t)column * tg_eigen_total(&s->problem) + s->problem.first;
}

tg_status tg_eigen_sum_of_all(const tg_eigen_solver* s, uint64_t* sum) {
  enum { WORDS = 4 };
  double words[WORDS];
  if (!s->problem.reduce) return TG_OK;
  /* sums of 16-bit words are exact as doubles */
  for (int w = 0; w < WORDS; w++) words[w] = (double)(*sum >> 16 * w & 0xffff);
  TG_TRY(s->problem.reduce(s->problem.context, TG_EIGEN_SUM, words, WORDS));
  *sum = 0;
  for (int w = 0; w < WORDS; w++) *sum += (uint64_t)words[w] << 16 * w;
  return TG_OK;
}

static uint64_t sum_of(const double* numbers, size_t count, uint64_t place, int threads) {
  uint64_t sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
  for (size_t k = 0; k < count; k++) sum += mixed(numbers[k], place + k);
  return sum;
}

tg_status tg_eigen_columns_sum(const tg_eigen_solver* s, const tg_eigen_matrix* c, uint64_t* sum) {
  pieces by;
  tg_status status = pieces_open(s, false, &by);
  uint64_t all = 0;
  for (size_t i = 0; i < c->count; i++)
    for (size_t done = 0, count = 0; done < s->problem.n && status == TG_OK; done += count) {
      const double* numbers;
      status = piece_get(&by, c->data + i * s->rows.ld, done, &numbers, &count);
      if (status == TG_OK) all += sum_of(numbers, count, place_of(s, i) + done, s->rows.threads);
    }
  tg_free(by.buffer);
  TG_TRY(tg_eigen_agree(&s->problem, status));
  *sum = all;
  return tg_eigen_sum_of_all(s, sum);
}

/* To this PE's rows of a column. */
static bool go_to(const tg_eigen_solver* s, FILE* stream, uint64_t at, size_t column) {
  if (s->problem.n == tg_eigen_total(&s->problem)) return true; /* there already */
  return fseeko(stream, (off_t)(at + place_of(s, column) * sizeof(double)), SEEK_SET) == 0;
}

tg_status tg_eigen_columns_write(const tg_eigen_solver* s, const tg_eigen_matrix* c, FILE* stream,
                                 uint64_t at) {
  pieces by;
  tg_status status = pieces_open(s, false, &by);
  for (size_t i = 0; i < c->count && s->problem.n > 0 && status == TG_OK; i++) {
    if (!go_to(s, stream, at, i)) break;
    for (size_t done = 0, count = 0; done < s->problem.n && status == TG_OK; done += count) {
      const double* numbers;
      status = piece_get(&by, c->data + i * s->rows.ld, done, &numbers, &count);
      if (status == TG_OK && fwrite(numbers, sizeof(double), count, stream) != count) goto done;
    }
  }
done:
  tg_free(by.buffer);
  return status;
}

/* Rows of a column that are looked at only. piece: [PIECE] */
static bool look(const tg_eigen_solver* s, FILE* stream, double* piece, uint64_t place,
                 uint64_t* sum) {
  for (size_t done = 0; done < s->problem.n;) {
    const size_t left = s->problem.n - done, count = left < PIECE ? left : PIECE;
    if (fread(piece, sizeof *piece, count, stream) != count) return false;
    *sum += sum_of(piece, count, place + done, s->rows.threads);
    done += count;
  }
  return true;
}

/* Rows of a column into it; *whole: false where the file ends early. */
static tg_status fill(const pieces* p, FILE* stream, double* column, bool* whole) {
  const size_t n = p->s->problem.n;
  if (!p->buffer) {
    *whole = fread(column, sizeof(double), n, stream) == n;
    return TG_OK;
  }
  for (size_t done = 0; done < n && *whole;) {
    const size_t left = n - done, count = left < PIECE ? left : PIECE;
    *whole = fread(p->buffer, sizeof(double), count, stream) == count;
    if (*whole) TG_TRY(tg_rows_put(&p->s->rows, p->buffer, count, column + done));
    done += count;
  }
  return TG_OK;
}

tg_status tg_eigen_columns_read(const tg_eigen_solver* s, const tg_eigen_matrix* c, FILE* stream,
                                uint64_t at, uint64_t* sum, bool* whole) {
  pieces by;
  tg_status status = pieces_open(s, sum != NULL, &by);
  *whole = true;
  if (sum) *sum = 0;
  for (size_t i = 0; i < c->count && s->problem.n > 0 && *whole && status == TG_OK; i++) {
    *whole = go_to(s, stream, at, i);
    if (!*whole) break;
    if (sum)
      *whole = look(s, stream, by.buffer, place_of(s, i), sum);
    else
      status = fill(&by, stream, c->data + i * s->rows.ld, whole);
  }
  tg_free(by.buffer);
  return status;
}
