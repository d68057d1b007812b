/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/operators.h  Operators for the fused chain filter -> element -> reduce, and that
 * chain's interface.
 *
 * Expectation values a_k = sum over hits of x[row] O_k(row, column) y[column] need no stored
 * matrix: where a pair is a hit, its elements are computed and added to the sums at once. An
 * operator is a pair of inline functions of the difference of the two states,
 *
 *   bin(difference, m)      which of the m sums, < m
 *   value(difference)       the element
 *
 * listed in TG_OPERATORS, so that each backend compiles them into its own loop; TG_INLINE is what
 * makes them callable there. Every operator adds to every hit:
 *
 *   rank      bin D (at most m - 1), value 1: x.y parted by the number D of particles that moved
 *   transfer  bin (sum of q - sum of p) modulo m, value the sign of <row| a+_p.. a_q.. |column>
 *   lowest    bin (lowest of p and q) modulo m (0 for D = 0), value 1 / (1 + sum |p_k - q_k|)
 *
 * p_0 < p_1 .. are the D orbitals of the row's state alone, q_0 < q_1 .. those of the column's. The
 * sign is that of bringing them to the front of both states: each passes the particles below it, so
 * it is -1 to the sum of their places (0 for the lowest particle) in their own states. */
#ifndef TG_MOTIF_OPERATORS_H
#define TG_MOTIF_OPERATORS_H

#include "motif/pairs.h"

#ifdef TG_INLINE /* a directive and the linkage, of who includes this */
#elif defined __CUDACC__
#define TG_INLINE static __host__ __device__ __forceinline__
#else
#define TG_INLINE static inline
#endif

enum { TG_DIFFERENCE_MOST = 8 }; /* particles that may have moved: d <= 8 in the fused chain */

typedef struct tg_difference {
  int moved; /* D */
  int odd;   /* the sign is -1 */
  uint16_t p[TG_DIFFERENCE_MOST], q[TG_DIFFERENCE_MOST];
} tg_difference;

/** Compares the states row and column by their lists of n orbitals, plane by plane. False, with
 * out half filled, where more than most particles differ. */
TG_INLINE bool tg_difference_find(const uint16_t* row, size_t row_stride, const uint16_t* column,
                                  size_t column_stride, int n, int most, tg_difference* out) {
  int i = 0, j = 0, p = 0, q = 0, odd = 0;
  while (i < n || j < n) {
    const int a = i < n ? row[(size_t)i * row_stride] : (int)TG_STATES_MOST_ORBITALS;
    const int b = j < n ? column[(size_t)j * column_stride] : (int)TG_STATES_MOST_ORBITALS;
    if (a < b) {
      if (p == most) return false;
      out->p[p++] = (uint16_t)a;
      odd ^= i;
    } else if (b < a) {
      if (q == most) return false;
      out->q[q++] = (uint16_t)b;
      odd ^= j;
    }
    i += a <= b;
    j += b <= a;
  }
  out->moved = p;
  out->odd = odd & 1;
  return true;
}

TG_INLINE uint32_t tg_rank_bin(const tg_difference* f, uint32_t m) {
  return (uint32_t)f->moved < m ? (uint32_t)f->moved : m - 1;
}
TG_INLINE double tg_rank_value(const tg_difference* f) {
  (void)f;
  return 1;
}

TG_INLINE uint32_t tg_transfer_bin(const tg_difference* f, uint32_t m) {
  int64_t sum = 0;
  for (int k = 0; k < f->moved; k++) sum += (int64_t)f->q[k] - f->p[k];
  sum %= (int64_t)m;
  return (uint32_t)(sum < 0 ? sum + (int64_t)m : sum);
}
TG_INLINE double tg_transfer_value(const tg_difference* f) { return f->odd ? -1 : 1; }

TG_INLINE uint32_t tg_lowest_bin(const tg_difference* f, uint32_t m) {
  if (f->moved == 0) return 0;
  return (f->p[0] < f->q[0] ? f->p[0] : f->q[0]) % m;
}
TG_INLINE double tg_lowest_value(const tg_difference* f) {
  int sum = 1;
  for (int k = 0; k < f->moved; k++)
    sum += f->p[k] < f->q[k] ? f->q[k] - f->p[k] : f->p[k] - f->q[k];
  return 1.0 / sum;
}

/** X(name): every operator, in the order of their sums. */
#define TG_OPERATORS(X) X(rank) X(transfer) X(lowest)
enum { TG_OPERATOR_COUNT = 3 };

typedef struct tg_expectation {
  tg_pairs pairs;  /* d <= TG_DIFFERENCE_MOST */
  const double* x; /* [rows] */
  const double* y; /* [columns] */
  uint32_t m;      /* sums of an operator, >= 1 */
  double* sums;    /* [TG_OPERATOR_COUNT, m], written (not added to) */
} tg_expectation;

typedef struct tg_expect_version {
  const char* name;
  const char* method;
  bool deterministic; /* the same bits each time, whatever the number of threads */
  tg_pairs_refuses refuses;
  size_t (*scratch)(const tg_expectation* what); /* bytes; NULL: none */
  tg_status (*expect)(const tg_expectation* what, void* scratch);
} tg_expect_version;

#endif
