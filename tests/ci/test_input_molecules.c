/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/scratch.h"
#include "ci/input/fcidump.h"
#include "support.h"

static tg_ci_hamiltonian* molecule_of(const tg_ci_input* input) {
  tg_ci_hamiltonian* h = NULL;
  assert_ok(tg_ci_integrals_hamiltonian(&input->integrals, &h));
  return h;
}

/* The energy of a determinant, from the operator alone; orbital numbers from 0. */
static double of_determinant(const tg_ci_hamiltonian* h, const int* alpha, int count_a,
                             const int* beta, int count_b) {
  const int* const lists[2] = {alpha, beta};
  const int counts[2] = {count_a, count_b};
  double sum = tg_ci_hamiltonian_constant(h);
  for (int s = 0; s < 2; s++)
    for (int x = 0; x < counts[s]; x++) {
      const int i = lists[s][x];
      sum += tg_ci_hamiltonian_one(h, s, i, i);
      for (int y = x + 1; y < counts[s]; y++)
        sum += tg_ci_hamiltonian_two(h, s, i, lists[s][y], i, lists[s][y]);
    }
  for (int x = 0; x < count_a; x++)
    for (int y = 0; y < count_b; y++)
      sum += tg_ci_hamiltonian_cross(h, alpha[x], alpha[x], beta[y], beta[y]);
  return sum;
}

static void elements_are_those_of_slater_and_condon(void** state) {
  (void)state;
  tg_ci_input input = read_file(SHIPPED("rhf.fcidump"));
  const tg_ci_integrals* g = &input.integrals;
  tg_ci_hamiltonian* h = molecule_of(&input);
  assert_int_equal(input.kind, TG_CI_MOLECULE);
  assert_int_equal((int)g->orbitals, 4);
  assert_int_equal(g->electrons, 4);
  assert_true(g->symmetry && g->label[3] == 2 && g->symmetry_violation == 0);
  assert_int_equal((int)input.facts[0].ignored, 4); /* orbital energies */
  assert_true(tg_ci_hamiltonian_constant(h) == 0.75);
  const tg_ci_orbital* orbitals = NULL;
  assert_int_equal((int)tg_ci_hamiltonian_orbitals(h, 1, &orbitals), 4);
  assert_int_equal(orbitals[2].symmetry, 1);
#define V(i, j, k, l) tg_ci_integrals_two(g, TG_CI_AA, i, j, k, l)
  assert_true(V(0, 1, 1, 1) != 0 && V(0, 1, 1, 1) == V(1, 1, 1, 0));
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      assert_true(tg_ci_hamiltonian_one(h, 1, i, j) == tg_ci_integrals_one(g, 0, i, j));
      for (int k = 0; k < 4; k++)
        for (int l = 0; l < 4; l++) {
          assert_true(tg_ci_hamiltonian_cross(h, i, j, k, l) == V(i, j, k, l));
          if (i != j && k != l)
            assert_close(tg_ci_hamiltonian_two(h, 0, i, j, k, l), V(i, k, j, l) - V(i, l, j, k),
                         1e-15);
        }
    }
  /* both lowest orbitals doubly occupied: 2 h + (J) + sums 2 J - K */
  const int two[2] = {0, 1};
  const double expected = 0.75 + 2 * tg_ci_integrals_one(g, 0, 0, 0) +
                          2 * tg_ci_integrals_one(g, 0, 1, 1) + V(0, 0, 0, 0) + V(1, 1, 1, 1) +
                          4 * V(0, 0, 1, 1) - 2 * V(0, 1, 1, 0);
#undef V
  assert_close(of_determinant(h, two, 2, two, 2), expected, 1e-14);
  tg_ci_hamiltonian_free(h);
  tg_ci_input_free(&input);
}

static void layouts_agree(void** state) {
  (void)state;
  tg_ci_input restricted = read_file(SHIPPED("rhf.fcidump"));
  tg_ci_input spin = read_file(SHIPPED("same_spin.fcidump"));
  tg_ci_input sections = read_file(SHIPPED("same_sections.fcidump"));
  tg_ci_hamiltonian *a = molecule_of(&restricted), *b = molecule_of(&spin),
                    *c = molecule_of(&sections);
  assert_true(spin.integrals.unrestricted && sections.integrals.unrestricted);
  assert_true(spin.integrals.orbitals == 4 && spin.integrals.symmetry);
  assert_close(largest_difference(a, b), 0, 1e-15);
  assert_close(largest_difference(a, c), 0, 1e-15);
  tg_ci_hamiltonian_free(a);
  tg_ci_hamiltonian_free(b);
  tg_ci_hamiltonian_free(c);
  tg_ci_input_free(&restricted);
  tg_ci_input_free(&spin);
  tg_ci_input_free(&sections);
  spin = read_file(SHIPPED("uhf_spin.fcidump"));
  sections = read_file(SHIPPED("uhf_sections.fcidump"));
  b = molecule_of(&spin);
  c = molecule_of(&sections);
  assert_close(largest_difference(b, c), 0, 1e-15);
  /* the spins do differ: h, (aa|aa) and (aa|bb) with the sides exchanged */
  assert_true(fabs(tg_ci_hamiltonian_one(b, 0, 0, 0) - tg_ci_hamiltonian_one(b, 1, 0, 0)) > 0.1);
  assert_true(
      fabs(tg_ci_hamiltonian_cross(b, 0, 0, 1, 1) - tg_ci_hamiltonian_cross(b, 1, 1, 0, 0)) > 0.01);
  tg_ci_hamiltonian* s2 = NULL;
  assert_int_equal(tg_ci_integrals_spin_squared(&spin.integrals, 2, 2, &s2), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "overlaps"));
  tg_ci_hamiltonian_free(b);
  tg_ci_hamiltonian_free(c);
  tg_ci_input_free(&spin);
  tg_ci_input_free(&sections);
}

/* Diagonal: Sz (Sz + 1) + N_beta less the doubly occupied; singlet and triplet of two open shells.
 */
static void spin_squared(void** state) {
  (void)state;
  tg_ci_input input = read_file(SHIPPED("same_sections.fcidump"));
  tg_ci_hamiltonian* s2 = NULL;
  const int pairs[] = {0, 1}, high[] = {0, 1, 2, 3}, first[] = {0}, second[] = {1};
  assert_ok(tg_ci_integrals_spin_squared(&input.integrals, 2, 2, &s2));
  assert_close(of_determinant(s2, pairs, 2, pairs, 2), 0, 0);
  assert_close(of_determinant(s2, pairs, 2, high + 2, 2), 2, 0);
  tg_ci_hamiltonian_free(s2);
  assert_ok(tg_ci_integrals_spin_squared(&input.integrals, 4, 0, &s2));
  assert_close(of_determinant(s2, high, 4, NULL, 0), 6, 0);
  tg_ci_hamiltonian_free(s2);
  /* a+_0 b+_1 and a+_1 b+_0: 1 on the diagonal, -1 between: 0 and 2 */
  assert_ok(tg_ci_integrals_spin_squared(&input.integrals, 1, 1, &s2));
  assert_close(of_determinant(s2, first, 1, second, 1), 1, 0);
  assert_true(tg_ci_hamiltonian_cross(s2, 1, 0, 0, 1) == -1);
  tg_ci_hamiltonian_free(s2);
  tg_ci_input_free(&input);
}

static tg_ci_input read_text(const char* text) {
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "dump");
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
  tg_ci_input input = read_file(path);
  scratch_remove(folder);
  return input;
}

#define INTEGRALS "1.0 1 1 1 1\n-2.0 1 1 0 0\n-1 2 2 0 0\n0.5D-1 2 1 0 0\n0.25 0 0 0 0\n"

/* Namelists in several spellings; labels that the integrals contradict are left alone. */
static void namelists_and_labels(void** state) {
  (void)state;
  static const struct {
    const char* text;
    bool symmetry;
    int notes;
  } cases[] = {
      {"&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,1,ISYM=1 &END\n" INTEGRALS, true, 0},
      {"$fci\n norb = 2\n nelec =2 ms2= 0\n orbsym=2*3,\n $end\n" INTEGRALS, true, 0},
      {" &FCI NORB=2,\n NELEC=2, ORBSYM=1\n,\n1 ! both alike\n, UHF=F IUHF=0\n/\n" INTEGRALS, true,
       0},
      {"&FCI NORB=2,NELEC=2,ORBSYM=1,5, &END\n" INTEGRALS, false, 1},
      {"&FCI NORB=2,NELEC=2,ORBSYM=1,11, PNTGRP=3 &END\n" INTEGRALS, false, 2},
      {"&FCI NORB=2,NELEC=2 &END\n" INTEGRALS, false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_ci_input input = read_text(cases[i].text);
    assert_int_equal((int)input.integrals.orbitals, 2);
    assert_int_equal(input.integrals.symmetry, cases[i].symmetry);
    assert_int_equal((int)input.notes.count, cases[i].notes);
    assert_true(tg_ci_integrals_one(&input.integrals, 1, 0, 1) == 0.05);
    tg_ci_hamiltonian* h = molecule_of(&input);
    assert_true(tg_ci_hamiltonian_one(h, 0, 1, 0) == 0.05); /* not lost to a label */
    tg_ci_hamiltonian_free(h);
    tg_ci_input_free(&input);
  }
}

/* ---- the reference cases beside the repository, where they are ---- */

/* Numbers and symmetry; the determinant of lowest orbitals is the Hartree-Fock one in psi4's dumps.
 */
static void reference_dumps(void** state) {
  (void)state;
  if (!is_there(SHARED("fcidump/block2_N2.STO3G.RHF.FCIDUMP"))) skip();
  static const struct {
    const char* path;
    size_t orbitals;
    int electrons, two_sz;
  } dumps[] = {{SHARED("fcidump/CH2_triplet_UHF_6-31g.FCIDUMP"), 13, 8, 2},
               {SHARED("fcidump/H2O_6-31g.FCIDUMP"), 13, 10, 0},
               {SHARED("fcidump/H2O_sto-3g.FCIDUMP"), 7, 10, 0},
               {SHARED("fcidump/H6_chain_sto-3g.FCIDUMP"), 6, 6, 0},
               {SHARED("fcidump/LiH_6-31g.FCIDUMP"), 11, 4, 0},
               {SHARED("fcidump/N2_sto-3g_R1.1.FCIDUMP"), 10, 14, 0},
               {SHARED("fcidump/hande_H2O-RHF-sto-2g.FCIDUMP"), 7, 10, 0}};
  for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
    tg_ci_input input = read_file(dumps[i].path);
    assert_int_equal((int)input.integrals.orbitals, (int)dumps[i].orbitals);
    assert_int_equal(input.integrals.electrons, dumps[i].electrons);
    assert_int_equal(input.integrals.two_sz, dumps[i].two_sz);
    if (!input.integrals.symmetry) fail_msg("%s: labels do not hold", dumps[i].path);
    tg_ci_input_free(&input);
  }
}

static void reference_layouts_agree(void** state) {
  (void)state;
  if (!is_there(SHARED("fcidump/block2_N2.STO3G.RHF.FCIDUMP"))) skip();
  tg_ci_input restricted = read_file(SHARED("fcidump/block2_N2.STO3G.RHF.FCIDUMP"));
  tg_ci_input sections = read_file(SHARED("fcidump/block2_N2.STO3G.UHF.FCIDUMP"));
  tg_ci_hamiltonian *a = molecule_of(&restricted), *b = molecule_of(&sections);
  /* written from two separate Hartree-Fock runs */
  assert_close(largest_difference(a, b), 0, 1e-9);
  const int lowest[] = {0, 1, 2, 3, 4, 5, 6};
  assert_close(of_determinant(a, lowest, 7, lowest, 7), of_determinant(b, lowest, 7, lowest, 7),
               1e-9);
  tg_ci_hamiltonian* s2 = NULL;
  assert_ok(tg_ci_integrals_spin_squared(&sections.integrals, 7, 7, &s2));
  tg_ci_hamiltonian_free(s2);
  tg_ci_hamiltonian_free(a);
  tg_ci_hamiltonian_free(b);
  tg_ci_input_free(&restricted);
  tg_ci_input_free(&sections);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elements_are_those_of_slater_and_condon),
      cmocka_unit_test(layouts_agree),
      cmocka_unit_test(spin_squared),
      cmocka_unit_test(namelists_and_labels),
      cmocka_unit_test(reference_dumps),
      cmocka_unit_test(reference_layouts_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
