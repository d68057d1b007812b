/* SPDX-License-Identifier: Apache-2.0 */
/** @file eigen/solver.h  The state of a solver, and what its parts do to it; not for callers.
 *
 * The basis, columns of `basis`, one after the other:
 *
 *   | columns        | what                                                                       |
 *   |----------------|----------------------------------------------------------------------------|
 *   | locked         | states that are found, while missed ones are looked for; else none         |
 *   | active         | the space searched; t: [active, active] is its matrix of the operator      |
 *   | width          | the next block: orthonormal, not multiplied yet                            |
 *   | up to `block`  | room for the products of that block (Lanczos) or for residuals             |
 *
 * All columns are orthonormal. Lanczos: A V = V t + N b^T, V the active columns, N the next block,
 * where b has entries for the last block of V only. Davidson keeps `images`, the products of the
 * active columns, instead. Between two steps that is the whole state. */
#ifndef TG_EIGEN_SOLVER_H
#define TG_EIGEN_SOLVER_H

#include "eigen/eigen.h"
#include "eigen/vectors.h"

/** What of a solver's state is numbers; a restart file holds these 8-byte items in this order. */
typedef struct tg_eigen_state {
  int64_t phase;       /* tg_eigen_phase */
  int64_t locked;      /* columns, see above */
  int64_t active;      /* columns */
  int64_t width;       /* columns */
  int64_t window;      /* Lanczos: first active column that A times the next block has much of */
  int64_t last;        /* Lanczos: columns of the block before the next one */
  int64_t steps;       /* in this phase since its random vectors were drawn */
  int64_t random;      /* columns among those the phase began with that were random */
  int64_t drawn;       /* random vectors drawn so far: the number of the next */
  int64_t restarts;    /* in all */
  int64_t rewound;     /* restarts in this phase */
  int64_t next_look;   /* active columns at which the small problem is solved again */
  int64_t known;       /* values and residuals of the last look, at most states */
  int64_t converged;   /* of them */
  int64_t steps_found; /* steps of the main run when all states had converged */
  int64_t certain;     /* nothing is missed, as far as is looked for: on to the end */
  int64_t refused;     /* explicit residuals above the tolerance, times */
  int64_t products, passes;
  int64_t check_runs, check_found, check_products, whole_space, unsure;
  double scale;       /* of the operator: largest value seen */
  double largest;     /* Ritz value */
  double threshold;   /* the highest wanted value, while missed ones are looked for */
  double margin;      /* a value is below it if it is by more than this */
  double slack;       /* largest residual of the locked states */
  double above;       /* lowest value above the wanted ones */
  double above_error; /* its residual */
  double probability; /* that a level was missed */
  double seconds;     /* of earlier runs */
} tg_eigen_state;

enum { TG_EIGEN_BLOCK = 32 }; /* most vectors multiplied at once */

enum { TG_EIGEN_INTEGERS = 24, TG_EIGEN_REALS = 9 };
_Static_assert(sizeof(tg_eigen_state) == 8 * (TG_EIGEN_INTEGERS + TG_EIGEN_REALS), "no padding");

struct tg_eigen_solver {
  tg_eigen_problem problem;
  tg_eigen_params params; /* with what was left open filled in */
  int most;               /* columns that may be multiplied: locked + active + width */
  int columns;            /* room in basis */
  tg_rows rows;
  tg_eigen_state state;
  double* basis;         /* [rows.n, columns] */
  double* images;        /* Davidson: [rows.n, most] of the active columns, from column 0 on */
  double* t;             /* [most, most] */
  double* s;             /* [most, most] eigenvectors of t at the last look */
  double* theta;         /* [most] its eigenvalues */
  double* residual;      /* [most] estimates of their residuals; Davidson: of those wanted */
  double* b;             /* [TG_EIGEN_BLOCK, same]: A * (last block) = ... + next * b */
  double* coefficients;  /* [columns, TG_EIGEN_BLOCK] of one step */
  double* h;             /* [columns * TG_EIGEN_BLOCK] scratch */
  double* values;        /* [states] of the last look that the caller is told */
  double* norms;         /* [states] */
  double* locked_values; /* [most] of the locked columns */
  int looked;            /* active columns at the last look; 0: s is not theirs */
  int handed;            /* columns of the next block as the problem's outlet has them; 0: none */
  tg_eigen_times times;
  tg_eigen_result result; /* at the end */
};

/* --- parameters (parameters.c) --- */

/** Fills in what is open; TG_ERR_INPUT or TG_ERR_MACHINE for what cannot be. */
tg_status tg_eigen_resolve(const tg_eigen_problem* problem, tg_eigen_params* params);
/** Room: columns that may be multiplied and columns to allocate, for resolved parameters. */
int tg_eigen_most(const tg_eigen_problem* problem, const tg_eigen_params* params);
int tg_eigen_columns(const tg_eigen_problem* problem, const tg_eigen_params* params);
/** The rows of all PEs. */
size_t tg_eigen_total(const tg_eigen_problem* problem);
/** Collective: one outcome for all. */
tg_status tg_eigen_agree(const tg_eigen_problem* problem, tg_status status);
/** Whether this PE has the first row: what one PE does for all, it does. */
bool tg_eigen_leads(const tg_eigen_problem* problem);

/* --- orthogonality (orthogonal.c) --- */

/** Column i of the basis. */
double* tg_eigen_column(const tg_eigen_solver* solver, int i);

/** Multiplies `count` columns of the basis from `first` on into y, and counts. TG_ERR_NUMERICS
 * where that is not finite. */
tg_status tg_eigen_apply(tg_eigen_solver* solver, int first, int count, double* y);

/** The parts of it, for steps that learn the products' norms by the way: the product alone; what
 * its norms say (intact: y still holds it); and the time since begin, of which the product took the
 * part up to `multiplied`, unless the vectors' own clock knows better. */
tg_status tg_eigen_multiply(tg_eigen_solver* solver, int first, int count, double* y);
tg_status tg_eigen_check_product(tg_eigen_solver* solver, int first, int count, double* y,
                                 const double* norm, bool intact);
void tg_eigen_add_times(tg_eigen_solver* solver, double begin, double multiplied);

/** Where the coefficients of an orthonormalisation go; members may be NULL. */
typedef struct tg_eigen_parts {
  double* h; /* [before, count], += what was subtracted of the columns before */
  int ldh;
  double* b; /* [count, count] = the upper triangular rest */
  int ldb;
  double reference; /* what is left of a column is rounding if it is less than some ulps of this */
} tg_eigen_parts;

/** Makes columns before ... before + count - 1 of the basis orthonormal, among them and to the
 * `before` columns before them: classical Gram-Schmidt by blocks, once more for a column that has
 * lost half its length, as often as that happens. A column of which nothing is left is replaced by
 * a random one while the space has room; *left is how many columns there are. */
tg_status tg_eigen_orthonormalise(tg_eigen_solver* solver, int before, int count,
                                  const tg_eigen_parts* parts, int* left);

/** The second half of it: the columns are orthogonal to those before them up to what subtracting
 * left; size: [count], their lengths before that. */
tg_status tg_eigen_settle_block(tg_eigen_solver* solver, int before, int count, const double* size,
                                const tg_eigen_parts* parts, int* left);

/** Puts the next random vectors in the columns from `first` on, as they are. */
void tg_eigen_draw(tg_eigen_solver* solver, int first, int count);

/* --- methods (lanczos.c, davidson.c) --- */

/** Multiplies the next block and makes the one after. */
tg_status tg_lanczos_step(tg_eigen_solver* solver);
tg_status tg_davidson_step(tg_eigen_solver* solver);

/** Lanczos: solves the small problem: theta, s, residual. Davidson's step does so by itself. */
tg_status tg_lanczos_look(tg_eigen_solver* solver);

/** theta and s from t, for either. */
tg_status tg_eigen_small(tg_eigen_solver* solver);

/* --- the course of a run (solver.c, basis.c) --- */

/** Puts the start vectors, or random ones, where the next block is. */
tg_status tg_eigen_begin(tg_eigen_solver* solver);
/** Draws random vectors for the next block; Davidson's favour rows of low diagonal. */
tg_status tg_eigen_begin_random(tg_eigen_solver* solver, int count);
/** After a look: keeps the lowest `keep` Ritz vectors in place of the active columns; `next`: and
 * the next block, else there is none. */
void tg_eigen_restart(tg_eigen_solver* solver, int keep, bool next);
/** Residuals that count as converged; rounding sets a floor. */
double tg_eigen_tolerance(const tg_eigen_solver* solver);
/** The same for estimates: less, so that the explicit residual passes as well. */
double tg_eigen_enough(const tg_eigen_solver* solver);
/** How many of the lowest `count` Ritz values have converged, without a gap. */
int tg_eigen_converged(const tg_eigen_solver* solver, int count);
/** The basis spans the space. */
bool tg_eigen_spans(const tg_eigen_solver* solver);

/* --- levels that are missing (check.c) --- */

/** After a look with all states found: is what was run evidence enough that none is missing? Sets
 * state.probability, and *sooner: where it is not, whether running on is the shorter way. */
bool tg_eigen_evidence(tg_eigen_solver* solver, bool* sooner);
/** How many of the active Ritz values lie below the wanted ones that are locked. */
int tg_eigen_below(const tg_eigen_solver* solver);
/** Locks what was found and starts again from random vectors. */
tg_status tg_eigen_check_begin(tg_eigen_solver* solver);
/** After a look: is that run at its end? Then either begins another, because states were found, or
 * leaves the wanted ones as active columns and sets state.certain. */
tg_status tg_eigen_check_decide(tg_eigen_solver* solver);

/* --- the end (verify.c) --- */

/** With the wanted states as the active columns: their residuals by fresh products. All small:
 * makes the result, phase DONE. Else the basis starts again from them and their residuals, phase
 * MAIN. */
tg_status tg_eigen_verify(tg_eigen_solver* solver);

#endif
