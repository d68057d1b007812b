/* SPDX-License-Identifier: Apache-2.0 */
/* Radii: a nucleus whose radius is known by hand, and what the three must have to do with each
 * other. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "ci/oscillator.h"
#include "ci/radii.h"
#include "ci/solve.h"
#include "support.h"

typedef struct solved {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
} solved;

static void solve(int protons, int neutrons, int nmax, solved* out) {
  memset(out, 0, sizeof *out);
  out->input = read_file(SHIPPED("sp.h2"));
  tg_ci_problem_params params = tg_ci_problem_defaults();
  params.protons = protons;
  params.neutrons = neutrons;
  params.nmax = nmax;
  params.allow_cut = true; /* the file has two shells */
  params.hw = 20;
  params.relative_kinetic = true;
  assert_ok(tg_ci_problem_make(&out->input, &params, &out->problem));
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.threads = 1;
  how.tolerance = 1e-8;
  assert_ok(tg_ci_solve(&out->problem, &how, &out->spectrum));
}

static void release(solved* s) {
  tg_ci_spectrum_free(&s->spectrum);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static void radii_of(const solved* s, int protons, int neutrons, tg_ci_radii* radii) {
  const tg_ci_sector* sector = &s->spectrum.sectors[0];
  const tg_ci_nucleus nucleus = {.protons = protons, .neutrons = neutrons, .hw = 20};
  assert_ok(tg_ci_radii_make(&s->input.model, &nucleus, sector->space,
                             (size_t)sector->result.states, sector->result.vectors,
                             sector->result.ld, 1, radii));
}

/* 4He as (0s)^4: one state; 3/2 b^2 of each nucleon, less that of the centre of mass, 3/2 b^2 / A.
 */
static void helium(void** state) {
  (void)state;
  solved s;
  tg_ci_radii r;
  solve(2, 2, 0, &s);
  assert_int_equal(s.spectrum.level_count, 1);
  assert_int_equal(s.spectrum.sectors[0].space->dimension, 1);
  radii_of(&s, 2, 2, &r);
  const double expected = 1.5 * tg_ci_oscillator_length2(20) * 3 / 4;
  assert_close(r.matter, expected, 1e-12);
  assert_close(r.proton, expected, 1e-12);
  assert_close(r.neutron, expected, 1e-12);
  /* 0.8414^2 - 0.1155 + 3/4 (197.3269804 / 938.27208816)^2 */
  assert_close(r.charge - r.proton, 0.70795396 - 0.1155 + 0.75 * 0.04422984, 1e-7);
  release(&s);
}

/* A r_m^2 = Z r_p^2 + N r_n^2, whatever the state. */
static void mixtures(void** state) {
  (void)state;
  static const int cases[][3] = {{2, 1, 1}, {2, 2, 2}, {1, 2, 2}, {3, 2, 2}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const int z = cases[k][0], n = cases[k][1];
    solved s;
    tg_ci_radii r[32];
    solve(z, n, cases[k][2], &s);
    assert_true(s.spectrum.level_count > 2 && s.spectrum.level_count <= 32);
    radii_of(&s, z, n, r);
    for (size_t i = 0; i < s.spectrum.level_count; i++) {
      assert_true(r[i].proton > 1 && r[i].neutron > 1);
      assert_close((z + n) * r[i].matter, z * r[i].proton + n * r[i].neutron, 1e-11);
    }
    release(&s);
  }
}

static void what_is_not_there(void** state) {
  (void)state;
  solved s;
  tg_ci_radii r[32];
  solve(0, 2, 2, &s);
  radii_of(&s, 0, 2, r);
  assert_true(isnan(r[0].proton) && isnan(r[0].charge));
  assert_close(r[0].matter, r[0].neutron, 1e-12);
  assert_true(isnan(tg_ci_charge_radius2(1, 0, 2)));
  release(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(helium),
      cmocka_unit_test(mixtures),
      cmocka_unit_test(what_is_not_there),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
