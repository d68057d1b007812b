/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/ci_cpu.h  Question: how long does this machine's CPU take for the lowest levels of
 * known nuclei and of a molecule, from the numbers of particles to labelled levels, where does the
 * time go, and how long did other programs take?
 *
 * Model: products are nearly all of it. On the fly an element of H (a pair of states that differ in
 * at most two particles) is a lane of a fused multiply-add whose operand comes from the
 * second-level cache, 0.2 to 0.5 ns of a core; stored it is half of 10 bytes from memory, shared by
 * the vectors multiplied at once. Making orthogonal reads the basis twice for each block.
 *
 * Method: a case is solved `repeats` times, with the look for missed levels; the least time counts,
 * and the median is given. The lowest energy is checked against one that other programs gave. The
 * yardsticks are measured before and after each case, so that a busy machine shows. */
#ifndef TG_BENCH_CI_CPU_H
#define TG_BENCH_CI_CPU_H

#include "bench/motif.h"
#include "ci/solve.h"

enum { TG_BENCH_CI_REPEATS = 64 };

/** How long a case takes. */
typedef enum tg_bench_ci_length {
  TG_BENCH_CI_MOMENT, /* for trying */
  TG_BENCH_CI_SECONDS,
  TG_BENCH_CI_MINUTES, /* only when asked for */
  TG_BENCH_CI_GPU,     /* hours of a few processors: for bench/ci_gpu.h, when asked for */
} tg_bench_ci_length;

/** A question whose answer is known. */
typedef struct tg_bench_ci_case {
  const char* name;    /* "24Mg" */
  const char* what;    /* in words */
  const char* file;    /* below the data's folder; NULL: built in */
  const char* builtin; /* input where file is NULL */
  int protons, neutrons;
  int nmax;   /* TG_CI_UNSET: none */
  int irrep;  /* of a molecule; TG_CI_UNSET for nuclei */
  int states; /* how many */
  tg_bench_ci_length length;
  double lowest;    /* energy, MeV or Ha, to `exact`; NAN: not known */
  double exact;     /* half a unit of its last digit */
  const char* peer; /* program that took peer_s on the machine that `peer` names; NULL: not known */
  double peer_s;
} tg_bench_ci_case;

/** All cases; a name of NULL ends. */
extern const tg_bench_ci_case tg_bench_ci_cases[];

typedef struct tg_bench_ci_params {
  const char* input; /* file or name of a built-in interaction */
  int threads;       /* at least 1 */
  int repeats;       /* 1 ... TG_BENCH_CI_REPEATS */
  tg_ci_storage storage;
  uint64_t memory; /* bytes; 0: 80 % of what is free */
} tg_bench_ci_params;

typedef struct tg_bench_ci_result {
  tg_ci_need need; /* the estimate before; its facts after */
  int block, basis, restarts;
  int64_t products, passes;
  /* of the fastest run, s */
  double setup_s, solve_s, labels_s, total_s;
  double product_s, orthogonal_s; /* parts of solve_s */
  double median_s;                /* of total_s */
  double peak_bytes;              /* of the process; 0: not known here */
  double lowest, error;           /* energy, and the bound of its error */
  bool complete; /* nothing can be missing, with the probability that was asked for */
  tg_bench_yardsticks yardsticks; /* the better of before and after */
} tg_bench_ci_result;

/** Solves a case. TG_ERR_NUMERICS where the lowest energy is not the known one or the levels are
 * not complete; else as tg_ci_input_read, tg_ci_problem_make and tg_ci_solve. */
tg_status tg_bench_ci_cpu(const tg_bench_ci_case* what, const tg_bench_ci_params* params,
                          tg_bench_ci_result* out);

/** Matrix elements a second of the products, each vector counted. */
double tg_bench_ci_rate(const tg_bench_ci_result* result);

#endif
