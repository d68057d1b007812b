/* SPDX-License-Identifier: Apache-2.0 */
/* States shared by several PEs: products, levels, going on with another number of them, and what
 * happens where one fails. Under mpirun the products once more, each PE a process. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

#include "ci/product_fly.h"
#include "ci/random_h.h"
#include "ci/restart.h"
#include "ci/share.h"
#include "ci/solve.h"
#include "comm/worlds.h"
#include "support.h"

#define PLACE TG_BUILD_DIR "/pes-test"

static bool under_mpi;

/* ---- products ---- */

enum { VECTORS = 5 /* more than are exchanged at once */, TURNS = 7 };

typedef struct product {
  tg_ci_operator* op; /* for several PEs */
  size_t n;
  const double* x;        /* [n, VECTORS] */
  const double* expected; /* [n, VECTORS] */
  double limit;
  int block, threads;
  bool fails;                    /* PE 1 does not come to the third product */
  double* bits;                  /* [n] PE 0 leaves y of the first vector here, if it is there */
  uint64_t sent[64], needed[64]; /* of each PE */
} product;

static double y_of(const product* p, size_t v, size_t i) { return p->expected[v * p->n + i]; }

/* Vectors change from turn to turn, so that what a turn left behind would show. */
static tg_status turns(tg_ci_share* share, const product* p, size_t first, size_t rows, double* x,
                       double* y, size_t ld) {
  for (int turn = 0; turn < TURNS; turn++) {
    const double factor = turn % 2 ? -1 - turn : 1 + turn;
    const int k = 1 + turn % VECTORS;
    for (size_t v = 0; v < (size_t)k; v++)
      for (size_t i = 0; i < rows; i++) {
        x[v * ld + i] = factor * p->x[v * p->n + first + i];
        y[v * ld + i] = NAN;
      }
    TG_TRY(tg_ci_share_apply(share, k, x, y, ld));
    for (size_t v = 0; v < (size_t)k; v++)
      for (size_t i = 0; i < rows; i++)
        if (!(fabs(y[v * ld + i] - factor * y_of(p, v, first + i)) <= fabs(factor) * p->limit))
          return tg_fail(TG_ERR_NUMERICS, "turn %d, vector %zu, row %zu: %.17g, expected %.17g",
                         turn, v, first + i, y[v * ld + i], factor * y_of(p, v, first + i));
    if (p->fails && turn == 2 && first > 0) return tg_fail(TG_ERR_NUMERICS, "PE 1 has had enough");
  }
  return TG_OK;
}

static tg_status product_on_pe(tg_world* world, void* context) {
  product* p = context;
  const tg_ci_distribution* d = tg_ci_operator_distribution(p->op);
  const int pe = tg_world_pe(world);
  const size_t first = (size_t)d->first[pe], rows = (size_t)d->first[pe + 1] - first;
  const size_t ld = rows + 3;
  const tg_ci_share_params params = {p->op, p->block, p->threads};
  tg_ci_share* share = NULL;
  double *x = calloc(VECTORS * ld, sizeof *x), *y = calloc(VECTORS * ld, sizeof *y);
  double* whole = calloc(p->n, sizeof *whole);
  tg_status status = tg_ci_share_create(world, &params, &share);
  if (status == TG_OK) status = turns(share, p, first, rows, x, y, ld);
  if (status == TG_OK) {
    for (size_t i = 0; i < rows; i++) x[i] = p->x[first + i];
    status = tg_ci_share_apply(share, 1, x, y, ld);
  }
  if (status == TG_OK) status = tg_ci_rows_gather(world, d, y, whole);
  if (status == TG_OK && pe == 0 && p->bits) memcpy(p->bits, whole, p->n * sizeof *whole);
  if (status == TG_OK) {
    p->sent[pe] = tg_ci_share_facts_of(share).exchange.sent;
    p->needed[pe] = tg_ci_share_facts_of(share).exchange.needed;
  }
  if (status == TG_OK && tg_ci_share_facts_of(share).rows != rows)
    status = tg_fail(TG_ERR_NUMERICS, "PE %d does not know its rows", pe);
  tg_ci_share_destroy(&share);
  free(x);
  free(y);
  free(whole);
  return status;
}

static tg_status run_product(product* p, int pes, tg_ci_hamiltonian* h, tg_ci_space* space,
                             tg_ci_storage storage) {
  const tg_ci_operator_params params = {
      .storage = storage, .threads = 2, .pes = pes, .local = pes, .memory = 1u << 30};
  const tg_world_params world = {
      .transport = under_mpi ? "mpi" : "loop", .pe_count = under_mpi ? 0 : pes, .deadline_s = 60};
  assert_ok(tg_ci_operator_create(h, space, &params, &p->op));
  const tg_status status = tg_world_run(&world, product_on_pe, p);
  tg_ci_operator_free(p->op);
  return status;
}

static tg_ci_hamiltonian* sd_h(void) {
  tg_ci_orbital o[64];
  const size_t n = shell_sd(o);
  return random_h(n, o, n, o, 41);
}

/* What one PE makes of it. */
static void prepare(tg_ci_hamiltonian* h, tg_ci_space* space, product* p) {
  tg_ci_fly f = {0};
  *p = (product){.n = (size_t)space->dimension, .block = 2, .threads = under_mpi ? 1 : 2};
  double *x = calloc(VECTORS * p->n, sizeof *x), *y = calloc(VECTORS * p->n, sizeof *y);
  for (size_t i = 0; i < VECTORS * p->n; i++) x[i] = shell_random(42, i);
  assert_ok(tg_ci_fly_make(h, space, 2, &f));
  assert_ok(tg_ci_fly_apply_block(&f, 2, VECTORS, x, y, p->n));
  /* another order of a row's terms, of which none has more than three times the mean, each below
   * 40 as in test_distribution.c */
  const double terms = 3 * (double)f.pairs / (double)p->n;
  p->limit = terms * 40 * terms * DBL_EPSILON;
  tg_ci_fly_free(&f);
  p->x = x;
  p->expected = y;
}

static void unprepare(product* p) {
  free((double*)p->x);
  free((double*)p->expected);
}

static int mpi_size(void) {
  int size = 1;
#ifdef TG_HAVE_MPI
  if (under_mpi) MPI_Comm_size(MPI_COMM_WORLD, &size);
#endif
  return size;
}

static void products_are_those_of_one(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = sd_h();
  const tg_ci_space_params params = space_of(3, 3, 0);
  tg_ci_space* space = NULL;
  assert_ok(tg_ci_space_make(h, &params, &space));
  product p;
  prepare(h, space, &p);
  double *bits = calloc(p.n, sizeof *bits), *again = calloc(p.n, sizeof *again);
  for (int storage = TG_CI_STORAGE_STORED; storage <= TG_CI_STORAGE_FLY; storage++)
    for (int pes = under_mpi ? mpi_size() : 1; pes <= (under_mpi ? mpi_size() : 5); pes++) {
      p.block = pes == 3 ? 4 : 2;
      p.bits = bits;
      if (pes == 1 && !under_mpi) continue; /* is not shared */
      assert_ok(run_product(&p, pes, h, space, (tg_ci_storage)storage));
      p.bits = again;
      p.threads = 1;
      assert_ok(run_product(&p, pes, h, space, (tg_ci_storage)storage));
      p.threads = under_mpi ? 1 : 2;
      if (bits[0] != 0) assert_memory_equal(bits, again, p.n * sizeof *bits);
    }
  free(bits);
  free(again);
  unprepare(&p);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

/* One row, two PEs and more: the others have none, and send nothing. */
static void pes_without_states(void** state) {
  (void)state;
  if (under_mpi) return;
  tg_ci_orbital o[16];
  const size_t n = shell_p(o);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 43);
  const tg_ci_space_params params = space_of(0, 3, 1); /* no protons: a single row */
  tg_ci_space* space = NULL;
  assert_ok(tg_ci_space_make(h, &params, &space));
  product p;
  prepare(h, space, &p);
  for (int storage = TG_CI_STORAGE_STORED; storage <= TG_CI_STORAGE_FLY; storage++) {
    assert_ok(run_product(&p, 7, h, space, (tg_ci_storage)storage));
    for (int pe = 0; pe < 7; pe++) assert_int_equal(p.sent[pe], 0);
  }
  unprepare(&p);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

/* Jumps change 2m by 2 at most, so the PE with the lowest classes of A needs nothing of the one
 * with the highest, nor the other way round. */
static void only_what_is_needed_is_sent(void** state) {
  (void)state;
  if (under_mpi) return;
  tg_ci_orbital o[10];
  size_t n = 0;
  for (int shell = 0; shell < 4; shell++) n = shell_add(o, n, 1, 0, 0, shell);
  tg_ci_hamiltonian* h = random_h(n, o, n, o, 44);
  const tg_ci_space_params params = space_of(4, 4, 0);
  tg_ci_space* space = NULL;
  assert_ok(tg_ci_space_make(h, &params, &space));
  product p;
  prepare(h, space, &p);
  enum { PES = 8 };
  p.threads = 1;
  assert_ok(run_product(&p, PES, h, space, TG_CI_STORAGE_FLY));
  uint64_t vectors = 1, sent = 0, needed = 0;
  for (int turn = 0; turn < TURNS; turn++) vectors += 1 + (uint64_t)(turn % VECTORS);
  for (int pe = 0; pe < PES; pe++) {
    sent += p.sent[pe];
    needed += p.needed[pe];
  }
  assert_int_equal(sent, vectors * needed * sizeof(double));
  const uint64_t all = (PES - 1) * p.n;
  if (!(needed > all / 2 && needed < all - all / 20))
    fail_msg("%llu states of %llu are needed", (unsigned long long)needed, (unsigned long long)all);
  unprepare(&p);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

/* The others' waits end, with its words. */
static void a_pe_that_fails(void** state) {
  (void)state;
  tg_ci_hamiltonian* h = sd_h();
  const tg_ci_space_params params = space_of(2, 2, 0);
  tg_ci_space* space = NULL;
  assert_ok(tg_ci_space_make(h, &params, &space));
  product p;
  prepare(h, space, &p);
  p.fails = true;
  const int pes = under_mpi ? mpi_size() : 3;
  assert_int_equal(run_product(&p, pes, h, space, TG_CI_STORAGE_FLY), TG_ERR_NUMERICS);
  assert_string_equal(tg_last_error(), "PE 1 has had enough");
  unprepare(&p);
  tg_ci_space_free(space);
  tg_ci_hamiltonian_free(h);
}

/* ---- levels ---- */

static bool without_lapack(void) {
#ifdef TG_HAVE_LAPACK
  return under_mpi;
#else
  return true;
#endif
}

static tg_ci_problem neon(tg_ci_input* input, int two_j) {
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_problem problem;
  *input = read_file("builtin:usdb");
  params.protons = 2;
  params.neutrons = 3;
  if (two_j >= 0) params.two_j = two_j;
  assert_ok(tg_ci_problem_make(input, &params, &problem));
  return problem;
}

static tg_ci_problem lithium_hydride(tg_ci_input* input) {
  tg_ci_problem_params params = tg_ci_problem_defaults();
  tg_ci_problem problem;
  *input = read_file(TG_SOURCE_DIR "/examples/molecules/lih.fcidump");
  assert_ok(tg_ci_problem_make(input, &params, &problem));
  return problem;
}

static tg_ci_solve_params usual(void) {
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.threads = 2;
  how.states = 4;
  how.tolerance = 1e-6; /* so that levels are right to its square over their distances */
  return how;
}

static void compare(const tg_ci_spectrum* a, const tg_ci_spectrum* b, double limit) {
  assert_int_equal(a->level_count, b->level_count);
  for (size_t i = 0; i < a->level_count; i++) {
    assert_close(b->levels[i].energy, a->levels[i].energy, limit);
    assert_int_equal(tg_ci_twice(b->levels[i].squared[TG_CI_LABEL_J]),
                     tg_ci_twice(a->levels[i].squared[TG_CI_LABEL_J]));
  }
}

/* Whole vectors that are eigenstates come back: orthonormal, as one PE's. */
static void check_states(const tg_ci_sector* s) {
  const tg_eigen_result* r = &s->result;
  for (int i = 0; i < r->states; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (size_t k = 0; k < s->space->dimension; k++)
        sum += r->vectors[(size_t)i * r->ld + k] * r->vectors[(size_t)j * r->ld + k];
      assert_close(sum, i == j, 1e-12);
    }
}

static void same_levels(const tg_ci_problem* problem, tg_ci_solve_params how) {
  tg_ci_spectrum one, more;
  assert_ok(tg_ci_solve(problem, &how, &one));
  for (how.pes = 2; how.pes <= 3; how.pes++) {
    assert_ok(tg_ci_solve(problem, &how, &more));
    compare(&one, &more, 1e-9);
    for (size_t s = 0; s < more.sector_count; s++) {
      const tg_ci_sector* sector = &more.sectors[s];
      uint64_t rows = 0;
      double elements = 0;
      assert_int_equal(sector->pe_count, how.pes);
      for (int p = 0; p < how.pes; p++) {
        rows += sector->shares[p].rows;
        elements += sector->shares[p].elements;
      }
      assert_int_equal(rows, sector->space->dimension);
      assert_true(elements == (double)sector->need.facts.pairs);
      check_states(sector);
    }
    tg_ci_spectrum_free(&more);
  }
  tg_ci_spectrum_free(&one);
}

static void levels_are_those_of_one(void** state) {
  (void)state;
  if (without_lapack()) return;
  tg_ci_input input;
  tg_ci_problem problem = neon(&input, -1);
  tg_ci_solve_params how = usual();
  for (int storage = TG_CI_STORAGE_STORED; storage <= TG_CI_STORAGE_FLY; storage++) {
    how.storage = (tg_ci_storage)storage;
    same_levels(&problem, how);
  }
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  problem = neon(&input, 5); /* J = 5/2 alone */
  same_levels(&problem, how);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
  problem = lithium_hydride(&input); /* four sectors, by Davidson's method */
  how.states = 2;
  same_levels(&problem, how);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

static int calls_left;

static bool stop(void* context) {
  (void)context;
  return __atomic_sub_fetch(&calls_left, 1, __ATOMIC_RELAXED) < 0;
}

/* Begun by three, gone on with by two, and by one, or by more than there were. */
static void numbers_may_change(void** state) {
  (void)state;
  static const int orders[][3] = {{3, 2, 1}, {1, 3, 2}};
  if (without_lapack()) return;
  tg_ci_input input;
  tg_ci_problem problem = neon(&input, -1);
  tg_ci_spectrum whole, parts;
  tg_ci_solve_params how = usual();
  assert_ok(tg_ci_solve(&problem, &how, &whole));
  how.restart = PLACE;
  how.restart_s = 1e9;
  for (int o = 0; o < 2; o++) {
    how.interrupted = stop;
    for (int part = 0; part < 2; part++) {
      how.pes = orders[o][part];
      how.storage = part ? TG_CI_STORAGE_FLY : TG_CI_STORAGE_STORED; /* another block by itself */
      calls_left = 12 * how.pes;
      assert_int_equal(tg_ci_solve(&problem, &how, &parts), TG_ERR_INTERRUPTED);
      assert_non_null(strstr(tg_last_error(), "goes on from " PLACE));
    }
    how.pes = orders[o][2];
    how.interrupted = NULL;
    assert_ok(tg_ci_solve(&problem, &how, &parts));
    compare(&whole, &parts, 1e-9);
    tg_ci_spectrum_free(&parts);
    tg_ci_restart_remove(&problem, PLACE);
  }
  tg_ci_spectrum_free(&whole);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

static tg_status fall_over(void* context, const tg_ci_problem* problem, size_t sector,
                           const tg_eigen_progress* progress) {
  (void)context, (void)problem, (void)sector;
  return progress->products > 10 ? tg_fail(TG_ERR_MACHINE, "the first PE falls over") : TG_OK;
}

static void a_failure_ends_all(void** state) {
  (void)state;
  if (without_lapack()) return;
  tg_ci_input input;
  tg_ci_problem problem = neon(&input, -1);
  tg_ci_spectrum spectrum;
  tg_ci_solve_params how = usual();
  how.pes = 3;
  how.progress = fall_over;
  assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_ERR_MACHINE);
  assert_string_equal(tg_last_error(), "the first PE falls over");
  how.progress = NULL;
  how.memory = 1 << 18; /* too little for any PE */
  assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_ERR_MACHINE);
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

static int askers;

/* One PE does not answer the question whether to stop, which another puts to it. */
static bool falls_asleep(void* context) {
  (void)context;
  if (__atomic_add_fetch(&askers, 1, __ATOMIC_RELAXED) == 8) sleep(2);
  return false;
}

static void silence_is_no_interruption(void** state) {
  (void)state;
  if (without_lapack()) return;
  tg_ci_input input;
  tg_ci_problem problem = neon(&input, -1);
  tg_ci_spectrum spectrum;
  tg_ci_solve_params how = usual();
  how.interrupted = falls_asleep;
  how.deadline_s = 0.5;
  how.pes = 2;
  for (int kept = 0; kept < 2; kept++) {
    how.restart = kept ? PLACE : NULL;
    askers = 0;
    assert_int_equal(tg_ci_solve(&problem, &how, &spectrum), TG_ERR_MACHINE);
    assert_non_null(strstr(tg_last_error(), "longer than the deadline"));
  }
  assert_int_not_equal(access(PLACE, F_OK), 0); /* of a run without a state nothing is left */
  tg_ci_problem_free(&problem);
  tg_ci_input_free(&input);
}

int main(int argc, char** argv) {
  under_mpi = tg_world_under_launcher();
  worlds_begin(&argc, &argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_those_of_one),   cmocka_unit_test(pes_without_states),
      cmocka_unit_test(only_what_is_needed_is_sent), cmocka_unit_test(a_pe_that_fails),
      cmocka_unit_test(levels_are_those_of_one),     cmocka_unit_test(numbers_may_change),
      cmocka_unit_test(a_failure_ends_all),          cmocka_unit_test(silence_is_no_interruption),
  };
  return worlds_end(cmocka_run_group_tests(tests, NULL, NULL));
}
