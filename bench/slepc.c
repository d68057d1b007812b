/* SPDX-License-Identifier: Apache-2.0 */
/* Question: how many products, and how much time, does SLEPc take for the levels that throng's
 * eigen-solver finds, with the very same operator on one thread?
 *
 *   slepc INPUT PROTONS NEUTRONS [NMAX]
 *
 * INPUT is a file or builtin:usdb. The operator is stored; both solvers multiply one vector at a
 * time or, throng, its usual blocks. Ten states, residuals of 1e-4 MeV, each residual computed from
 * a product of its own; processor time. Not part of the build (docs/eigen.md says how): SLEPc is no
 * dependency. */
#include <math.h>
#include <slepceps.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "ci/input/input.h"
#include "ci/operator.h"
#include "ci/problem.h"
#include "eigen/eigen.h"

enum { STATES = 10 };
static const double tolerance = 1e-4;

typedef struct bench {
  tg_ci_operator* op;
  size_t n;
  long products;
  double seconds; /* in products */
} bench;

/* Of one thread: what else the machine does counts less. */
static double processor_now(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void must(int failed, const char* what) {
  if (!failed) return;
  fprintf(stderr, "%s: %s\n", what, tg_last_error());
  exit(1);
}

static tg_status multiply(void* context, int k, const double* x, double* y, size_t ld) {
  bench* b = context;
  const double start = processor_now();
  const tg_status status = tg_ci_operator_apply(b->op, k, x, y, ld);
  b->seconds += processor_now() - start;
  b->products += k;
  return status;
}

static PetscErrorCode multiply_shell(Mat matrix, Vec x, Vec y) {
  bench* b;
  const PetscScalar* from;
  PetscScalar* to;
  PetscCall(MatShellGetContext(matrix, &b));
  PetscCall(VecGetArrayRead(x, &from));
  PetscCall(VecGetArrayWrite(y, &to));
  must(multiply(b, 1, from, to, b->n) != TG_OK, "product");
  PetscCall(VecRestoreArrayRead(x, &from));
  PetscCall(VecRestoreArrayWrite(y, &to));
  return 0;
}

static void report(const char* name, const bench* b, double start, double lowest, double highest,
                   double residual) {
  const double all = processor_now() - start;
  printf("%-34s %4ld products, %6.2f s, %6.2f of them products; %.5f ... %.5f, residual %.1e\n",
         name, b->products, all, b->seconds, lowest, highest, residual);
  fflush(stdout);
}

static void by_throng(bench* b, int block, tg_eigen_check check) {
  tg_eigen_params params = tg_eigen_defaults();
  const tg_eigen_problem problem = {.n = b->n, .context = b, .apply = multiply};
  tg_eigen_result result;
  char name[64];
  double worst = 0;
  params.states = STATES;
  params.tolerance = tolerance;
  params.block = block;
  params.check = check;
  params.threads = 1;
  b->products = 0;
  b->seconds = 0;
  const double start = processor_now();
  must(tg_eigen_solve(&problem, &params, &result) != TG_OK, "throng");
  for (int i = 0; i < STATES; i++) worst = fmax(worst, result.residuals[i]);
  snprintf(name, sizeof name, "throng, block %d, basis %d%s", block, result.basis,
           check == TG_EIGEN_CHECK_OFF ? ", no check" : "");
  report(name, b, start, result.values[0], result.values[STATES - 1], worst);
  tg_eigen_result_free(&result);
}

static PetscErrorCode by_slepc(bench* b, const char* type, PetscInt basis) {
  Mat matrix;
  EPS eps;
  PetscInt found;
  double worst = 0, lowest = 0, highest = 0;
  char name[64];
  const PetscInt n = (PetscInt)b->n;
  b->products = 0;
  b->seconds = 0;
  const double start = processor_now();
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n, n, n, n, b, &matrix));
  PetscCall(MatShellSetOperation(matrix, MATOP_MULT, (void (*)(void))multiply_shell));
  PetscCall(EPSCreate(PETSC_COMM_SELF, &eps));
  PetscCall(EPSSetOperators(eps, matrix, NULL));
  PetscCall(EPSSetProblemType(eps, EPS_HEP));
  PetscCall(EPSSetType(eps, type));
  PetscCall(EPSSetWhichEigenpairs(eps, EPS_SMALLEST_REAL));
  PetscCall(EPSSetConvergenceTest(eps, EPS_CONV_ABS));
  PetscCall(EPSSetTolerances(eps, tolerance, 10000));
  PetscCall(EPSSetDimensions(eps, STATES, basis, PETSC_DEFAULT));
  PetscCall(EPSSetFromOptions(eps));
  PetscCall(EPSSolve(eps));
  PetscCall(EPSGetConverged(eps, &found));
  for (PetscInt i = 0; i < STATES && i < found; i++) {
    PetscReal residual;
    PetscScalar value;
    PetscCall(EPSGetEigenvalue(eps, i, &value, NULL));
    PetscCall(EPSComputeError(eps, i, EPS_ERROR_ABSOLUTE, &residual));
    worst = fmax(worst, residual);
    if (i == 0) lowest = value;
    highest = value;
  }
  snprintf(name, sizeof name, "SLEPc %s, basis %d%s", type, (int)basis,
           found < STATES ? " (not all)" : "");
  report(name, b, start, lowest, highest, worst);
  PetscCall(EPSDestroy(&eps));
  PetscCall(MatDestroy(&matrix));
  return 0;
}

int main(int count, char** words) {
  if (count < 4) {
    fprintf(stderr, "slepc INPUT PROTONS NEUTRONS [NMAX]\n");
    return 2;
  }
  const tg_ci_source source = {.path = words[1]};
  const tg_ci_operator_params stored = {.storage = TG_CI_STORAGE_STORED, .threads = 1};
  tg_ci_problem_params numbers = tg_ci_problem_defaults();
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_space* space = NULL;
  bench b = {0};
  int none = 0;
  numbers.protons = atoi(words[2]);
  numbers.neutrons = atoi(words[3]);
  if (count > 4) numbers.nmax = atoi(words[4]);
  must(tg_ci_input_read(&source, 1, &input) != TG_OK, words[1]);
  must(tg_ci_problem_make(&input, &numbers, &problem) != TG_OK, words[1]);
  tg_ci_space_params sector = problem.space;
  sector.symmetry = (int)problem.sectors[0];
  must(tg_ci_space_make(problem.h, &sector, &space) != TG_OK, "space");
  must(tg_ci_operator_create(problem.h, space, &stored, &b.op) != TG_OK, "operator");
  b.n = (size_t)space->dimension;
  printf("%s, %s + %s particles: %zu states\n", words[1], words[2], words[3], b.n);
  for (int block = 1; block <= 4; block *= 2) {
    by_throng(&b, block, TG_EIGEN_CHECK_OFF);
    by_throng(&b, block, TG_EIGEN_CHECK_AUTO);
  }
  PetscCall(SlepcInitialize(&none, NULL, NULL, NULL));
  PetscCall(by_slepc(&b, EPSKRYLOVSCHUR, 80));
  PetscCall(by_slepc(&b, EPSKRYLOVSCHUR, 40));
  PetscCall(by_slepc(&b, EPSGD, 80));
  PetscCall(SlepcFinalize());
  tg_ci_operator_free(b.op);
  tg_ci_space_free(space);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  return 0;
}
