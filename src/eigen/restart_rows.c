/* SPDX-License-Identifier: Apache-2.0 */
#include "eigen/restart_rows.h"

#include <string.h>
#include <sys/types.h>

enum { PIECE = 4096 /* numbers read at once */ };

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

tg_status tg_eigen_columns_sum(const tg_eigen_solver* s, const tg_eigen_matrix* c, uint64_t* sum) {
  uint64_t all = 0;
  for (size_t i = 0; i < c->count; i++) {
    const double* column = c->data + i * s->rows.ld;
    const uint64_t place = place_of(s, i);
    uint64_t mine = 0;
#pragma omp parallel for num_threads(s->rows.threads) schedule(static) reduction(+ : mine)
    for (size_t k = 0; k < s->problem.n; k++) mine += mixed(column[k], place + k);
    all += mine;
  }
  *sum = all;
  return tg_eigen_sum_of_all(s, sum);
}

/* To this PE's rows of a column. */
static bool go_to(const tg_eigen_solver* s, FILE* stream, uint64_t at, size_t column) {
  if (s->problem.n == tg_eigen_total(&s->problem)) return true; /* there already */
  return fseeko(stream, (off_t)(at + place_of(s, column) * sizeof(double)), SEEK_SET) == 0;
}

void tg_eigen_columns_write(const tg_eigen_solver* s, const tg_eigen_matrix* c, FILE* stream,
                            uint64_t at) {
  for (size_t i = 0; i < c->count && s->problem.n > 0; i++)
    if (!go_to(s, stream, at, i) ||
        fwrite(c->data + i * s->rows.ld, sizeof(double), s->problem.n, stream) != s->problem.n)
      return;
}

/* Rows of a column that are looked at only. */
static bool look(const tg_eigen_solver* s, FILE* stream, uint64_t place, uint64_t* sum) {
  double piece[PIECE];
  for (size_t done = 0; done < s->problem.n;) {
    const size_t left = s->problem.n - done, count = left < PIECE ? left : PIECE;
    if (fread(piece, sizeof *piece, count, stream) != count) return false;
    for (size_t k = 0; k < count; k++) *sum += mixed(piece[k], place + done + k);
    done += count;
  }
  return true;
}

bool tg_eigen_columns_read(const tg_eigen_solver* s, const tg_eigen_matrix* c, FILE* stream,
                           uint64_t at, uint64_t* sum) {
  if (sum) *sum = 0;
  for (size_t i = 0; i < c->count && s->problem.n > 0; i++) {
    if (!go_to(s, stream, at, i)) return false;
    if (sum ? !look(s, stream, place_of(s, i), sum)
            : fread(c->data + i * s->rows.ld, sizeof(double), s->problem.n, stream) != s->problem.n)
      return false;
  }
  return true;
}
