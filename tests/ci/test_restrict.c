/* SPDX-License-Identifier: Apache-2.0 */
/* Restricted spaces: their energies are those of the block of the full matrix that belongs to the
 * states allowed, which are chosen here one by one. The full matrix is the reference's: operators
 * applied to occupied sets, no strings, no folding. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/scratch.h"
#include "ci/active.h"
#include "ci/ref/product.h"
#include "ci/solve.h"
#include "eigen/small.h"
#include "support.h"

enum { MOST_SHELLS = 16 };

/* Occupations of a state: of the orbits (or spatial orbitals) of each species. */
typedef struct state {
  int held[2][MOST_SHELLS];
} state;

typedef bool (*choice)(const state* s);

typedef struct full {
  tg_ci_problem problem;
  tg_ci_space* space;
  double* matrix; /* [dimension, dimension] */
} full;

/* The whole space at this M (all symmetries), and its matrix. */
static full full_of(const tg_ci_input* input, const tg_ci_problem_params* params) {
  full f = {0};
  assert_ok(tg_ci_problem_make(input, params, &f.problem));
  assert_ok(tg_ci_space_make(f.problem.h, &f.problem.space, &f.space));
  const size_t n = (size_t)f.space->dimension;
  assert_ok(TG_ALLOCATE(n * n, "matrix", &f.matrix));
  for (size_t c = 0; c < n; c++)
    assert_ok(tg_ci_ref_column(f.problem.h, f.space, c, 1, f.matrix + c * n));
  return f;
}

static void full_free(full* f) {
  tg_free(f->matrix);
  tg_ci_space_free(f->space);
  tg_ci_problem_free(&f->problem);
}

static state state_of(const full* f, uint64_t number) {
  state s = {0};
  size_t string[2];
  tg_ci_space_strings(f->space, number, &string[0], &string[1]);
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* orbital;
    tg_ci_hamiltonian_orbitals(f->problem.h, t, &orbital);
    const uint16_t* list = tg_ci_string(&f->space->strings[t], string[t]);
    for (int k = 0; k < f->space->strings[t].particles; k++) s.held[t][orbital[list[k]].shell]++;
  }
  return s;
}

/* Energies, rising, of the block of chosen states; returns how many. */
static size_t block_energies(const full* f, choice allowed, double* energies) {
  const size_t n = (size_t)f->space->dimension;
  size_t *chosen = NULL, count = 0;
  double* block = NULL;
  assert_ok(TG_ALLOCATE(n, "chosen states", &chosen));
  for (size_t i = 0; i < n; i++) {
    const state s = state_of(f, i);
    if (allowed(&s)) chosen[count++] = i;
  }
  assert_true(count > 0 && count < n);
  assert_ok(TG_ALLOCATE(count * count, "block", &block));
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < count; j++) block[i * count + j] = f->matrix[chosen[i] * n + chosen[j]];
  assert_ok(tg_small_eigen((int)count, block, (int)count, energies));
  tg_free(block);
  tg_free(chosen);
  return count;
}

/* Every level of the restricted problem, and none else. */
static void expect_block(const full* f, const tg_ci_problem_params* params, choice allowed) {
  static double energies[1024];
  tg_ci_problem p;
  tg_ci_spectrum spectrum;
  const size_t count = block_energies(f, allowed, energies);
  assert_ok(tg_ci_problem_make(f->problem.input, params, &p));
  assert_true(p.notes.count > 0);
  uint64_t states = 0, most = 0;
  for (size_t s = 0; s < p.sector_count; s++) {
    const uint64_t dimension = tg_ci_problem_dimension(&p, p.sectors[s]);
    states += dimension;
    if (dimension > most) most = dimension;
  }
  assert_int_equal(states, count);
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  solve.states = (int)most;
  solve.threads = 1;
  solve.tolerance = 1e-6;
  assert_ok(tg_ci_solve(&p, &solve, &spectrum));
  assert_int_equal(spectrum.level_count, count);
  for (size_t i = 0; i < count; i++)
    assert_close(spectrum.levels[i].energy, energies[i], 1e-8 * fmax(1, fabs(energies[i])));
  tg_ci_spectrum_free(&spectrum);
  tg_ci_problem_free(&p);
}

/* ---- nuclei: 0d3/2, 0d5/2, 1s1/2 of protons and neutrons ---- */

enum { D3, D5, S1 };

static bool within_occupations(const state* s) {
  return s->held[0][D5] >= 1 && s->held[1][D5] >= 1 && s->held[1][S1] <= 1 && s->held[0][D3] == 0;
}
static bool one_outside(const state* s) {
  return s->held[0][D3] + s->held[0][S1] + s->held[1][D3] + s->held[1][S1] <= 1;
}
static bool full_s_orbits(const state* s) { return s->held[0][S1] == 2; }
static bool limits_and_one(const state* s) {
  return s->held[0][D5] >= 1 && s->held[0][D3] + s->held[0][S1] <= 1 && s->held[1][D5] <= 1 &&
         s->held[0][D3] + s->held[0][S1] + s->held[1][D3] + s->held[1][S1] <= 2;
}
/* protons (0 2 0), (1 1 0), (0 0 2); neutrons (0 2 0), (0 1 1); pairs 1-1, 2-1, 2-2, 3-2 */
static bool listed_pairs(const state* s) {
  const int* p = s->held[0];
  const bool n1 = s->held[1][D5] == 2, n2 = s->held[1][D5] == 1 && s->held[1][S1] == 1;
  if (p[D5] == 2) return n1;
  if (p[D5] == 1 && p[D3] == 1) return n1 || n2;
  return p[S1] == 2 && n2;
}

static void spaces_of_nuclei(void** unused) {
  (void)unused;
  tg_ci_input input = read_file("builtin:usdb");
  assert_string_equal(input.model.shells.shell[0].name, "p0d3/2");
  tg_ci_problem_params params = tg_ci_problem_defaults(), narrow;
  params.protons = 2;
  params.neutrons = 2;
  params.two_m = 4;
  full f = full_of(&input, &params);
  narrow = params;
  narrow.occupation = "0d5/2:1..,n1s1/2:..1,p:0d3/2:0";
  expect_block(&f, &narrow, within_occupations);
  narrow = params;
  narrow.excitations = 1;
  expect_block(&f, &narrow, one_outside);
  narrow = params;
  narrow.frozen = "p1s1/2";
  expect_block(&f, &narrow, full_s_orbits);
  /* the fewest neutrons outside are one: two particles in all */
  narrow = params;
  narrow.occupation = "p0d5/2:1..2,n0d5/2:0..1";
  narrow.excitations = 1;
  expect_block(&f, &narrow, limits_and_one);
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "pairs.ptn");
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs("2 2 1\n3 2\n1 0 2 0\n2 1 1 0\n3 0 0 2\n1 0 2 0\n2 0 1 1\n4\n1 1\n2 1\n2 2\n3 2\n", stream);
  fclose(stream);
  narrow = tg_ci_problem_defaults(); /* the file says the particles */
  narrow.two_m = 4;
  narrow.partition = path;
  expect_block(&f, &narrow, listed_pairs);
  scratch_remove(folder);
  full_free(&f);
  tg_ci_input_free(&input);
}

/* Weights of a .sps file: those of d3/2 and s1/2 count 2 and 1. */
static bool weight_two(const state* s) {
  return 2 * (s->held[0][D3] + s->held[1][D3]) + s->held[0][S1] + s->held[1][S1] <= 2;
}

static void weights_of_orbit_files(void** unused) {
  (void)unused;
  const char* folder = scratch_make();
  const char* orbits = scratch_path(folder, "weights.sps");
  FILE* stream = fopen(orbits, "w");
  assert_non_null(stream);
  fputs("iso\n3\n0 2 1.5 2\n0 2 2.5 0\n1 0 0.5 1\n", stream);
  fclose(stream);
  char interaction[512];
  snprintf(interaction, sizeof interaction, "%s", scratch_path(folder, "d.int"));
  stream = fopen(interaction, "w");
  assert_non_null(stream);
  fputs(
      "5 2.1 -3.9 -3.2 16 18 0.3\n2 2 2 2 0 1 -2.5\n2 2 3 3 0 1 -1.1\n2 3 2 3 2 0 -1.9\n"
      "1 2 1 2 1 0 -6.5\n1 3 2 3 2 1 0.7\n",
      stream);
  fclose(stream);
  const char* const paths[] = {scratch_path(folder, "weights.sps"), interaction};
  tg_ci_input input = read_files(2, paths);
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = 2;
  params.neutrons = 1;
  full f = full_of(&input, &params);
  params.nmax = 2;
  tg_ci_problem p;
  assert_ok(tg_ci_problem_make(&input, &params, &p));
  assert_int_equal(p.least_weight, 0);
  double energies[512];
  assert_int_equal(tg_ci_problem_dimension(&p, 0), block_energies(&f, weight_two, energies));
  tg_ci_problem_free(&p);
  full_free(&f);
  tg_ci_input_free(&input);
  scratch_remove(folder);
}

/* ---- molecules: four orbitals, two electrons of each spin ---- */

static bool second_full(const state* s) { return s->held[0][1] && s->held[1][1]; }
static bool first_full_last_empty(const state* s) {
  return s->held[0][0] && s->held[1][0] && !s->held[0][3] && !s->held[1][3];
}
static bool three_in_two(const state* s) {
  return s->held[0][0] + s->held[1][0] + s->held[0][1] + s->held[1][1] >= 3;
}
static bool two_groups(const state* s) {
  return s->held[0][3] + s->held[1][3] <= 1 && s->held[0][0] + s->held[1][0] >= 1;
}

static void spaces_of_molecules(void** unused) {
  (void)unused;
  static const char* const files[] = {SHIPPED("rhf.fcidump"), SHIPPED("uhf_spin.fcidump")};
  for (int k = 0; k < 2; k++) {
    tg_ci_input input = read_file(files[k]);
    tg_ci_problem_params params = tg_ci_problem_defaults(), narrow;
    full f = full_of(&input, &params);
    narrow = params;
    narrow.frozen = "2-2";
    expect_block(&f, &narrow, second_full);
    narrow = params;
    narrow.active = "2:2-3";
    if (k == 0) expect_block(&f, &narrow, first_full_last_empty);
    narrow = params;
    narrow.occupation = "1-2:3..";
    expect_block(&f, &narrow, three_in_two);
    narrow = params;
    narrow.occupation = "4:..1/1:1..2";
    expect_block(&f, &narrow, two_groups);
    full_free(&f);
    tg_ci_input_free(&input);
  }
}

/* Orbitals by number are those by energy, however a dump sorts them; excitations count from them.
 */
static uint16_t order[4];
static bool at_most_two_up(const state* s) {
  int up = 0;
  for (int k = 2; k < 4; k++) up += s->held[0][order[k]] + s->held[1][order[k]];
  return up <= 2;
}

static bool lowest_full(const state* s) { return s->held[0][order[0]] && s->held[1][order[0]]; }
static bool lowest_full_highest_empty(const state* s) {
  return lowest_full(s) && !s->held[0][order[3]] && !s->held[1][order[3]];
}

static void lowest_orbitals(void** unused) {
  (void)unused;
  tg_ci_input input = read_file(SHIPPED("rhf.fcidump"));
  const tg_ci_integrals* g = &input.integrals;
  double energies[4], best = INFINITY;
  assert_ok(tg_ci_orbital_order(g, 2, 2, order, energies));
  for (int k = 1; k < 4; k++) assert_true(energies[order[k]] >= energies[order[k - 1]] - 1e-6);
  /* no other pair of doubly occupied orbitals is lower */
  int pair[2] = {-1, -1};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) {
      const int o[2] = {i, j};
      double energy = 0;
      for (int x = 0; x < 2; x++) {
        energy += 2 * tg_ci_integrals_one(g, 0, o[x], o[x]);
        for (int y = 0; y < 2; y++)
          energy += 2 * tg_ci_integrals_two(g, TG_CI_AA, o[x], o[x], o[y], o[y]) -
                    tg_ci_integrals_two(g, TG_CI_AA, o[x], o[y], o[y], o[x]);
      }
      if (energy < best) {
        best = energy;
        pair[0] = i;
        pair[1] = j;
      }
    }
  assert_true((order[0] == pair[0] && order[1] == pair[1]) ||
              (order[0] == pair[1] && order[1] == pair[0]));
  tg_ci_problem_params params = tg_ci_problem_defaults(), narrow;
  full f = full_of(&input, &params);
  narrow = params;
  narrow.frozen = "1";
  expect_block(&f, &narrow, lowest_full);
  narrow = params;
  narrow.active = "2,2";
  expect_block(&f, &narrow, lowest_full_highest_empty);
  narrow = params;
  narrow.excitations = 2;
  expect_block(&f, &narrow, at_most_two_up);
  full_free(&f);
  tg_ci_input_free(&input);
}

/* ---- one J, one S ---- */

static void every_level(const tg_ci_problem* p, tg_ci_spectrum* out) {
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  solve.threads = 1;
  solve.states = 1;
  for (size_t s = 0; s < p->sector_count; s++)
    if (p->levels[s] > (uint64_t)solve.states) solve.states = (int)p->levels[s];
  solve.states++;
  assert_int_equal(tg_ci_solve(p, &solve, out), TG_ERR_INPUT); /* one more than there are */
  solve.states--;
  assert_ok(tg_ci_solve(p, &solve, out));
}

/* The levels of `all` with this J are what a run for that J finds; returns how many. */
static size_t one_spin_of(const tg_ci_input* input, tg_ci_problem_params params, int two_j,
                          const tg_ci_spectrum* all) {
  tg_ci_problem q;
  tg_ci_spectrum one;
  size_t count = 0, at = 0;
  params.two_j = two_j;
  assert_ok(tg_ci_problem_make(input, &params, &q));
  assert_int_equal(q.two_m, two_j);
  for (size_t i = 0; i < all->level_count; i++)
    count += tg_ci_twice(all->levels[i].squared[TG_CI_LABEL_J]) == two_j;
  uint64_t levels = 0;
  for (size_t s = 0; s < q.sector_count; s++) levels += q.levels[s];
  assert_int_equal(levels, count);
  every_level(&q, &one);
  assert_int_equal(one.level_count, count);
  for (size_t i = 0; i < count; i++, at++) {
    while (tg_ci_twice(all->levels[at].squared[TG_CI_LABEL_J]) != two_j) at++;
    assert_close(one.levels[i].energy, all->levels[at].energy, 1e-7);
    assert_int_equal(tg_ci_twice(one.levels[i].squared[TG_CI_LABEL_J]), two_j);
    assert_true(one.levels[i].residual <= one.sectors[0].result.tolerance);
    assert_true(one.sectors[one.levels[i].sector].result.check.complete);
  }
  tg_ci_spectrum_free(&one);
  tg_ci_problem_free(&q);
  return count;
}

/* All levels at the least M, sorted by J, are what a run for each J finds. */
static void each_spin_by_itself(const tg_ci_input* input, tg_ci_problem_params params, int most) {
  tg_ci_problem p;
  tg_ci_spectrum all;
  size_t seen = 0;
  assert_ok(tg_ci_problem_make(input, &params, &p));
  every_level(&p, &all);
  for (int two_j = 0; two_j <= most; two_j += 2) seen += one_spin_of(input, params, two_j, &all);
  assert_int_equal(seen, all.level_count);
  tg_ci_spectrum_free(&all);
  tg_ci_problem_free(&p);
}

static void each_j_by_itself(void** unused) {
  (void)unused;
  tg_ci_input input = read_file("builtin:ckpot");
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = 2;
  params.neutrons = 2;
  each_spin_by_itself(&input, params, 8);
  params.occupation = "p0p1/2:0..1";
  each_spin_by_itself(&input, params, 8);
  tg_ci_input_free(&input);
}

static void each_s_by_itself(void** unused) {
  (void)unused;
  tg_ci_input input = read_file(SHIPPED("rhf.fcidump"));
  tg_ci_problem_params params = tg_ci_problem_defaults();
  each_spin_by_itself(&input, params, 4);
  /* excitations count from the lowest determinant of that Sz */
  params.excitations = 1;
  for (int two_s = 0; two_s <= 4; two_s += 2) {
    tg_ci_problem p;
    tg_ci_spectrum all;
    params.two_sz = two_s;
    assert_ok(tg_ci_problem_make(&input, &params, &p));
    every_level(&p, &all);
    assert_true(one_spin_of(&input, params, two_s, &all) > 0);
    tg_ci_spectrum_free(&all);
    tg_ci_problem_free(&p);
  }
  params.two_sz = TG_CI_UNSET;
  params.excitations = TG_CI_UNSET;
  params.occupation = "1-2:2..4";
  each_spin_by_itself(&input, params, 4);
  params.occupation = NULL;
  params.frozen = "1";
  each_spin_by_itself(&input, params, 2);
  tg_ci_input_free(&input);
}

/* Few of many levels: the lift parts them from lower ones of higher J. */
static void some_of_many(void** unused) {
  (void)unused;
  tg_ci_input input = read_file("builtin:usdb");
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = 2;
  params.neutrons = 2;
  tg_ci_problem p, q;
  tg_ci_spectrum all, one;
  tg_ci_solve_params solve = tg_ci_solve_defaults();
  solve.states = 80;
  solve.threads = 1;
  assert_ok(tg_ci_problem_make(&input, &params, &p));
  assert_ok(tg_ci_solve(&p, &solve, &all));
  for (int two_j = 0; two_j <= 6; two_j += 2) {
    params.two_j = two_j;
    assert_ok(tg_ci_problem_make(&input, &params, &q));
    solve.states = 4;
    assert_ok(tg_ci_solve(&q, &solve, &one));
    size_t at = 0;
    for (size_t i = 0; i < 4; i++, at++) {
      while (tg_ci_twice(all.levels[at].squared[TG_CI_LABEL_J]) != two_j) at++;
      assert_true(at < all.level_count);
      assert_close(one.levels[i].energy, all.levels[at].energy, 1e-7);
      assert_true(one.levels[i].residual <= 1e-4);
    }
    assert_true(one.sectors[0].result.check.complete);
    tg_ci_spectrum_free(&one);
    tg_ci_problem_free(&q);
  }
  tg_ci_spectrum_free(&all);
  tg_ci_problem_free(&p);
  tg_ci_input_free(&input);
}

int main(void) {
#ifndef TG_HAVE_LAPACK
  puts("skipped: built without LAPACK, which the eigen-solver needs");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spaces_of_nuclei),    cmocka_unit_test(weights_of_orbit_files),
      cmocka_unit_test(spaces_of_molecules), cmocka_unit_test(lowest_orbitals),
      cmocka_unit_test(each_j_by_itself),    cmocka_unit_test(each_s_by_itself),
      cmocka_unit_test(some_of_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
