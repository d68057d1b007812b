/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/ci_gpu.h  Question: how long does a GPU take for the lowest levels of known nuclei,
 * where does the time go, and how far is a product from what the GPU's memory and arithmetic allow?
 *
 * Model, the floor of a product of k vectors: stored, the bytes of the matrix once and x and y once
 * for each vector, at the memory's rate by its clock and width; on the fly, a fused multiply-add of
 * doubles for each element and vector, 64 a clock of a multiprocessor. What the eigen-solver adds
 * is reading its basis twice for each pass.
 *
 * Method: the operator is made and multiplies random vectors, 1, 2 and 4 at once, `repeats` times,
 * timed by events on the GPU; the median counts. Then the case is solved whole, the least time
 * counting, and its lowest energy checked against one that other programs gave. */
#ifndef TG_BENCH_CI_GPU_H
#define TG_BENCH_CI_GPU_H

#include "bench/ci_cpu.h"
#include "ci/device_operator.h"

enum { TG_BENCH_CI_WIDTHS = 3 };
extern const int tg_bench_ci_widths[TG_BENCH_CI_WIDTHS]; /* 1, 2, 4 vectors at once */

typedef struct tg_bench_ci_gpu_params {
  const char* input; /* file or name of a built-in interaction */
  int device, threads;
  int gpus;    /* that share the states, the first ones; 1: `device` alone */
  int repeats; /* 1 ... TG_BENCH_CI_REPEATS */
  tg_ci_storage storage;
  const char *frozen, *active; /* as of tg_ci_problem_params; NULL: none */
  int excitations;             /* TG_CI_UNSET: no limit */
  bool solve;                  /* false: products alone */
} tg_bench_ci_gpu_params;

typedef struct tg_bench_ci_gpu_result {
  int gpus;
  tg_ci_device_operator_facts facts;     /* as made for the products */
  double product_s[TG_BENCH_CI_WIDTHS];  /* 0: not measured, as less took seconds */
  double exchange_s[TG_BENCH_CI_WIDTHS]; /* of them, of several GPUs */
  double floor_s[TG_BENCH_CI_WIDTHS];
  double bytes_per_s, fmas_per_s; /* that the floors suppose */
  bool solved;
  tg_ci_need need;
  int block, basis, restarts;
  int64_t products, passes;
  /* of the fastest run, s */
  double setup_s, solve_s, labels_s, total_s;
  double multiplied_s, orthogonal_s, rotate_s, small_s; /* parts of solve_s */
  double median_s;                                      /* of total_s */
  double lowest, error;
  bool complete;
} tg_bench_ci_gpu_result;

/** Solves a case. TG_ERR_MACHINE without a GPU, or where the storage does not fit; TG_ERR_NUMERICS
 * where the lowest energy is not the known one. */
tg_status tg_bench_ci_gpu(const tg_bench_ci_case* what, const tg_bench_ci_gpu_params* params,
                          tg_bench_ci_gpu_result* out);

/** The products' part of it, by several GPUs: facts, product_s and exchange_s. */
tg_status tg_bench_ci_gpus_products(const tg_ci_hamiltonian* h, const tg_ci_space* space,
                                    const tg_bench_ci_gpu_params* params,
                                    tg_bench_ci_gpu_result* out);

#endif
