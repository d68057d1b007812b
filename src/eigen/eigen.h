/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/eigen.h  The lowest eigenpairs of a large real symmetric operator.
 *
 * The operator is a callback; nothing here knows what it stands for. Two methods: block Lanczos
 * with thick restart and full reorthogonalisation, for operators of which only products are known,
 * and block Davidson, where the diagonal (or better) is a good preconditioner. Both count a state
 * as found when the norm of its residual, A x - value x, computed from a fresh product, is below
 * the tolerance, and both look for levels that the run may have missed. docs/eigen.md has the
 * methods, their cost, how to choose, and the format of the restart file.
 *
 * Vectors are slices of rows: a PE holds n of the n_total rows. All calls but the destroying and
 * asking ones are collective over the PEs that share the rows; every PE brings the same parameters,
 * and `reduce` must give the same bits on all of them.
 *
 *   tg_eigen_params params = tg_eigen_defaults();
 *   params.states = 10;
 *   TG_TRY(tg_eigen_solve(&problem, &params, &result));
 *   ... result.values[i], result.vectors + i * result.ld ...
 *   tg_eigen_result_free(&result);
 *
 * Results are the same bits for any number of threads, if the operator's products are. */
#ifndef TG_EIGEN_EIGEN_H
#define TG_EIGEN_EIGEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_eigen_solver tg_eigen_solver;

typedef enum tg_eigen_reduction { TG_EIGEN_SUM, TG_EIGEN_MIN, TG_EIGEN_MAX } tg_eigen_reduction;

/** Where vectors lie, the x and y of the callbacks with them. */
typedef enum tg_eigen_place {
  TG_EIGEN_HOST,
  TG_EIGEN_CUDA, /* memory of a GPU; callbacks queue their work on `stream` and need not wait for it
                  */
  TG_EIGEN_ACC,  /* memory of the module acc (motif/module.h): of a GPU, or the host's; callbacks
                    return when their work is done */
} tg_eigen_place;

enum { TG_EIGEN_TARGETS = 32 }; /* most places of one outlet */

/** Where else a GPU's kernel stores rows of the columns that it makes. */
typedef struct tg_eigen_targets {
  int count;
  size_t ld;    /* from one column to the next, at every target */
  size_t chunk; /* rows, a multiple of 64 */
  const uint32_t*
      masks; /* [n / chunk, rounded up] of the device; bit t: target t is to have them */
  double* to[TG_EIGEN_TARGETS]; /* [count] where this PE's first row of the first column goes */
} tg_eigen_targets;

/** A product whose x has to be elsewhere, too: there the kernel that makes the next block may store
 * it right away, so that it is on its way before the product begins. Callbacks get the problem's
 * context; each is collective. */
typedef struct tg_eigen_outlet {
  /** What is queued on the stream next may store k columns at the targets. None of these, on all
   * PEs: not so many columns; then nothing is closed. */
  tg_status (*open)(void* context, int k, tg_eigen_targets* out);
  /** It has been queued; x: [n, k], the same columns. */
  tg_status (*close)(void* context, int k, const double* x, size_t ld);
  /** y = A x, as the problem's apply, of the columns that were closed last. Where those have
   * changed since, or are not wanted, apply or open follows in its place. */
  tg_status (*apply)(void* context, int k, double* y, size_t ld);
} tg_eigen_outlet;

/** The operator. All members after apply may be zero. */
typedef struct tg_eigen_problem {
  size_t n;      /* rows of this PE */
  void* context; /* handed to the callbacks */

  /** y = A x for k vectors; x, y: [n, k], column i at i * ld; ld >= n. A must be symmetric. x and y
   * do not overlap; what y held is overwritten, its rows beyond n are left alone. k is at most the
   * block size, for explicit residuals too. */
  tg_status (*apply)(void* context, int k, const double* x, double* y, size_t ld);

  size_t n_total; /* rows of all PEs; 0: n */
  size_t first;   /* number of this PE's first row among all */

  /** values: [count], replaced on all PEs by their sum (minimum, maximum) over the PEs, the same
   * bits everywhere. NULL: one PE. */
  tg_status (*reduce)(void* context, tg_eigen_reduction what, double* values, size_t count);

  /** The same on all PEs: TG_OK, or the failure of one of them, with its message. NULL: one PE. */
  tg_status (*agree)(void* context, tg_status status);

  const double* diagonal; /* [n], of A: Davidson's preconditioner and start vectors; NULL: none */

  /** In place of the diagonal: r: [n, k] holds residuals of Ritz values value: [k]; replaced by
   * corrections, roughly (M - value)^-1 r with M close to A. NULL: diagonal. */
  tg_status (*precondition)(void* context, int k, const double* value, double* r, size_t ld);

  uint64_t fingerprint; /* of the operator, for restart files: which others are refused */

  tg_eigen_place place; /* the diagonal lies there, too; start vectors and results on the host */
  int device;           /* which GPU */
  void* stream;         /* a cudaStream_t of it; NULL: the default one */

  /** As reduce for sums, of values that lie there; queued on the stream. With it a step of Lanczos
   * waits once for the GPU; NULL: for each sum, which then goes by way of reduce. */
  tg_status (*sum_there)(void* context, double* values, size_t count);

  const tg_eigen_outlet* outlet; /* of Lanczos on a CUDA device; on all PEs, or NULL on all */
} tg_eigen_problem;

typedef enum tg_eigen_method {
  TG_EIGEN_AUTO, /* Davidson where there is a diagonal or a preconditioner, else Lanczos */
  TG_EIGEN_LANCZOS,
  TG_EIGEN_DAVIDSON,
} tg_eigen_method;

/** Whether levels that the run may have missed are looked for. */
typedef enum tg_eigen_check {
  TG_EIGEN_CHECK_AUTO,   /* where the run itself is not evidence enough (docs/eigen.md) */
  TG_EIGEN_CHECK_ALWAYS, /* by a run from other random vectors in any case */
  TG_EIGEN_CHECK_OFF,
} tg_eigen_check;

typedef enum tg_eigen_phase {
  TG_EIGEN_MAIN,   /* towards the wanted states */
  TG_EIGEN_CHECK,  /* looks for missed levels in the complement of the states found */
  TG_EIGEN_VERIFY, /* residuals from fresh products */
  TG_EIGEN_DONE,
} tg_eigen_phase;

/** How far a run is; pointers are the solver's, valid within the callback. */
typedef struct tg_eigen_progress {
  tg_eigen_phase phase;
  int64_t products; /* vectors multiplied so far */
  int64_t passes;   /* calls of apply so far */
  int basis;        /* columns in use */
  int states;
  int known;               /* how many of the values below there are yet, <= states */
  int converged;           /* of the lowest `states`, by their residuals */
  const double* values;    /* [known] rising; of the last look, which is not every step */
  const double* residuals; /* [known] */
  double tolerance;        /* that they are to reach */
  double seconds;          /* since the start, of earlier parts too */
} tg_eigen_progress;

/** Start from tg_eigen_defaults(). */
typedef struct tg_eigen_params {
  int states; /* wanted: the lowest; 1 ... n_total */
  tg_eigen_method method;
  int block;           /* vectors multiplied at once; 0: 2 for Lanczos, up to 4 for Davidson */
  int basis;           /* most vectors kept; 0: chosen from states and memory */
  size_t memory;       /* bytes the solver may take on this PE where vectors lie; 0: 4 GiB */
  double tolerance;    /* largest norm of a residual, in the operator's units; 0: relative */
  double relative;     /* used where tolerance is 0: in units of the operator's norm; 1e-6 */
  uint64_t seed;       /* of the random vectors */
  int64_t products;    /* most products; then TG_ERR_NUMERICS. 0: 10,000 and 1,000 for each state */
  int threads;         /* OpenMP threads of the solver's own work; 0: what OpenMP would take */
  const double* start; /* [n, start_count]; NULL: random */
  int start_count;
  size_t start_ld; /* from one start vector to the next; 0: n */
  double* into;    /* [n, states] of the host, where the final vectors go; NULL: the result's own */
  size_t into_ld;  /* from one of them to the next */
  tg_eigen_check check;
  double miss; /* accepted probability of a missed level, as estimated; 1e-3 */

  /** Between two steps: true ends the run with TG_ERR_INTERRUPTED, ready to be saved or run on.
   * With several PEs all must get the same answer. NULL: never. */
  bool (*interrupted)(void* context);
  /** Between two steps, and at the end. May call tg_eigen_save; a failure ends the run. NULL: none.
   */
  tg_status (*progress)(void* context, const tg_eigen_progress* progress, tg_eigen_solver* solver);
  void* context; /* of these two */
} tg_eigen_params;

/** Seconds by part. */
typedef struct tg_eigen_times {
  double product;    /* in apply */
  double orthogonal; /* inner products with the basis and what follows from them */
  double rotate;     /* the basis at a restart, and the final vectors */
  double small;      /* dense eigenproblems */
  double other;      /* random vectors, preconditioner, callbacks */
  double total;
} tg_eigen_times;

/** What is known about missed levels. */
typedef struct tg_eigen_completeness {
  bool complete;      /* false: was not looked at (CHECK_OFF) */
  bool whole_space;   /* the basis spans the space: nothing can be missing */
  int runs;           /* from other random vectors */
  int found;          /* levels among the lowest that only those runs found */
  int64_t products;   /* vectors multiplied for it */
  double probability; /* estimate that a level was missed: a bound, for Lanczos without restart */
  double above;       /* lowest level found outside the wanted ones, roughly; NAN: none seen */
} tg_eigen_completeness;

typedef struct tg_eigen_result {
  int states;
  double* values;    /* [states] rising, in the operator's units */
  double* residuals; /* [states] norm of A x - value x from a fresh product */
  double* errors;    /* [states] bound of the value's error: residual, or residual^2 / gap */
  double* vectors;   /* [n, states], column i at i * ld: orthonormal, this PE's rows; NULL where
                        they went into memory of the caller (params.into) */
  size_t ld;
  double tolerance; /* that was asked of the residuals, in the operator's units */
  int64_t products; /* vectors multiplied */
  int64_t passes;   /* calls of apply */
  int restarts;
  int block, basis; /* as used */
  tg_eigen_method method;
  tg_eigen_times times;
  tg_eigen_completeness check;
} tg_eigen_result;

tg_eigen_params tg_eigen_defaults(void);

/** The smallest basis that the solver works with: `basis` of these parameters, at least, where the
 * space has as many states. The method is not TG_EIGEN_AUTO. */
int tg_eigen_least_basis(const tg_eigen_params* params);

/** Local: bytes a solver and its result take on this PE at their peak, for parameters that would be
 * accepted; 0 otherwise. On a GPU: of its memory; the result, states * n doubles, is the host's. */
size_t tg_eigen_bytes(const tg_eigen_problem* problem, const tg_eigen_params* params);

/** Allocates. problem, params and start vectors are copied; the diagonal and the contexts must
 * outlive the solver. The basis is as large as the PE with the least memory has room for.
 * TG_ERR_INPUT for what cannot be (more states than rows ...), TG_ERR_MACHINE where memory does not
 * do. */
tg_status tg_eigen_create(const tg_eigen_problem* problem, const tg_eigen_params* params,
                          tg_eigen_solver** out);

/** Runs to the end. TG_ERR_INTERRUPTED: run it again to go on. TG_ERR_NUMERICS: the operator gave
 * something that is not a number, is not symmetric, or the products allowed are used up. The
 * callbacks' failures are passed on. */
tg_status tg_eigen_run(tg_eigen_solver* solver);

/** After a run: moves the results, which are then the caller's (tg_eigen_result_free), out of the
 * solver. TG_ERR_INPUT before the end. */
tg_status tg_eigen_take(tg_eigen_solver* solver, tg_eigen_result* out);

/** Null-safe. */
void tg_eigen_destroy(tg_eigen_solver** solver);
void tg_eigen_result_free(tg_eigen_result* result);

/** The four above in one. */
tg_status tg_eigen_solve(const tg_eigen_problem* problem, const tg_eigen_params* params,
                         tg_eigen_result* out);

/** Collective: writes the state, whole or not at all, to one file that all PEs reach (docs/eigen.md
 * has the format), each its rows; the file does not depend on how many they are. Between runs, or
 * within the progress callback, if all are there. */
tg_status tg_eigen_save(const tg_eigen_solver* solver, const char* path);

/** Collective: puts a solver that has not run in the saved state; a run then goes on as if it had
 * never stopped, bit for bit on as many PEs. TG_ERR_INPUT for a file that is cut or damaged, or of
 * another problem, seed, method, block, basis or number of states; the solver is then as before.
 * Tolerance, limits, threads and PEs may differ. */
tg_status tg_eigen_load(tg_eigen_solver* solver, const char* path);

/** What a saved state is of. */
typedef struct tg_eigen_saved {
  size_t n; /* rows of all PEs */
  uint64_t fingerprint, seed;
  tg_eigen_method method;
  int states, block, basis;
} tg_eigen_saved;

/** Local: reads the head of a file of tg_eigen_save, so that a solver with its block and basis can
 * be made. TG_ERR_INPUT as tg_eigen_load, as far as the head says. */
tg_status tg_eigen_look(const char* path, tg_eigen_saved* out);

#ifdef __cplusplus
}
#endif
#endif
