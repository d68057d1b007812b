/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>

#include "base/scratch.h"
#include "base/units.h"
#include "ci/angular.h"
#include "ci/input/builtin.h"
#include "ci/input/partition.h"
#include "support.h"

/* Elements are printed with six decimals and scaled by at most 1.2; an m-scheme element is a sum of
 * a few of them times coefficients below 1, sqrt(2) at most. */
static const double printed = 4e-6;

static void one_interaction_in_every_format(void** state) {
  (void)state;
  const char* const sets[][2] = {{SHIPPED("p_iso.int"), SHIPPED("p.sps")},
                                 {SHIPPED("p.sps"), SHIPPED("p_xpn.int")},
                                 {SHIPPED("p.sp"), SHIPPED("p_upn.int")},
                                 {SHIPPED("p_pn.sp"), SHIPPED("p_xpn.int")},
                                 {SHIPPED("p_pn.sp"), SHIPPED("p_iso.int")}};
  tg_ci_input snt = read_file(SHIPPED("p.snt"));
  assert_int_equal(snt.facts[0].format, TG_CI_SNT);
  assert_int_equal((int)snt.facts[0].orbits, 4);
  assert_int_equal((int)snt.facts[0].two_body[TG_CI_PN], 20);
  assert_close(snt.isospin_breaking, 0, printed);
  const tg_ci_format formats[] = {TG_CI_INT_ISO, TG_CI_INT_XPN, TG_CI_INT_UPN, TG_CI_INT_XPN,
                                  TG_CI_INT_ISO};
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    tg_ci_input other = read_files(2, sets[i]);
    assert_int_equal((int)other.fact_count, 2);
    assert_int_equal(other.facts[1].format, formats[i]);
    /* A = 6: not scaled; A = 9: scaled by (6/9)^0.25 */
    const int nuclei[][2] = {{1, 1}, {2, 3}};
    for (int k = 0; k < 2; k++) {
      tg_ci_hamiltonian* h = nucleus_of(&snt, nuclei[k][0], nuclei[k][1]);
      tg_ci_hamiltonian* same = nucleus_of(&other, nuclei[k][0], nuclei[k][1]);
      assert_close(largest_difference(h, same), 0, printed);
      assert_true(fabs(tg_ci_hamiltonian_two(h, 0, 0, 1, 0, 1)) > 0.1);
      tg_ci_hamiltonian_free(h);
      tg_ci_hamiltonian_free(same);
    }
    tg_ci_input_free(&other);
  }
  tg_ci_input_free(&snt);
}

static void formats_are_recognised(void** state) {
  (void)state;
  static const struct {
    const char* path;
    tg_ci_format format;
  } files[] = {
      {SHIPPED("p.snt"), TG_CI_SNT},
      {SHIPPED("p.ptn"), TG_CI_PTN},
      {SHIPPED("p.sps"), TG_CI_SPS},
      {SHIPPED("p.sp"), TG_CI_SP},
      {SHIPPED("p_pn.sp"), TG_CI_SP},
      {SHIPPED("p_iso.int"), TG_CI_INT},
      {SHIPPED("p_upn.int"), TG_CI_INT},
      {SHIPPED("p_gt.opme"), TG_CI_OPME},
      {SHIPPED("sp.mfdn"), TG_CI_MFDN},
      {SHIPPED("sp_charges.mfdn"), TG_CI_MFDN},
      {SHIPPED("sp.h2"), TG_CI_H2},
      {SHIPPED("rhf.fcidump"), TG_CI_FCIDUMP},
      {SHIPPED("uhf_sections.fcidump"), TG_CI_FCIDUMP},
      {"builtin:usdb", TG_CI_BUILTIN},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    tg_ci_format format = TG_CI_AUTO;
    assert_ok(tg_ci_recognise(files[i].path, &format));
    if (format != files[i].format)
      fail_msg("%s is taken for %s", files[i].path, tg_ci_format_name(format));
  }
}

static void scaling_can_be_chosen(void** state) {
  (void)state;
  tg_ci_source sources[2] = {{.path = SHIPPED("p.sps")}, {.path = SHIPPED("p_iso.int")}};
  const tg_ci_nucleus nucleus = {.protons = 4, .neutrons = 4};
  const int o[4] = {0, 0, 0, 0};
  double values[3];
  const char* const choices[] = {NULL, "none", "12,-0.5"};
  for (int i = 0; i < 3; i++) {
    tg_ci_input input;
    tg_ci_couplings c;
    int sign = 1;
    if (choices[i]) assert_ok(tg_ci_scale_parse(choices[i], &sources[1]));
    assert_ok(tg_ci_input_read(sources, 2, &input));
    assert_ok(tg_ci_model_couplings(&input.model, &nucleus, &c));
    values[i] = tg_ci_couplings_two(&c, &input.model.shells, o, 0, &sign)->value.fixed;
    assert_true(tg_ci_couplings_one(&c, 1, 1)->value.fixed == -2.5); /* never scaled */
    tg_ci_couplings_free(&c);
    tg_ci_input_free(&input);
  }
  assert_close(values[0] / values[1], pow(6.0 / 12, 0.25), 1e-14);
  assert_close(values[2] / values[1], 1, 1e-14);
  tg_ci_input input;
  assert_ok(tg_ci_scale_parse("6,0.25,5", &sources[1])); /* the file says a core of 4 */
  assert_int_equal(tg_ci_input_read(sources, 2, &input), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "the core has mass 4"));
  assert_int_equal(tg_ci_scale_parse("6,0.25,4,1", &sources[0]), TG_ERR_INPUT);
  assert_int_equal(tg_ci_scale_parse("18;0.3", &sources[0]), TG_ERR_INPUT);
  assert_int_equal(tg_ci_scale_parse("-18,0.3", &sources[0]), TG_ERR_INPUT);
}

/* The kinetic energy by formula against that of a column made with Moshinsky brackets; and V +
 * Coulomb as two files against one with charges. */
static void no_core_inputs_add_up(void** state) {
  (void)state;
  const tg_ci_nucleus nucleus = {.protons = 2, .neutrons = 1, .hw = 20};
  tg_ci_nucleus with_kinetic = nucleus;
  with_kinetic.relative_kinetic = true;
  const char* const both[] = {SHIPPED("sp.h2"), SHIPPED("sp_coulomb.h2")};
  const char* const old[] = {SHIPPED("sp.mfdn"), SHIPPED("sp_charges.mfdn")};
  for (size_t files = 1; files <= 2; files++) {
    tg_ci_input h2 = read_files(files, both), mfdn = read_file(old[files - 1]);
    tg_ci_hamiltonian *h = NULL, *same = NULL;
    assert_ok(tg_ci_model_hamiltonian(&h2.model, &with_kinetic, &h));
    assert_ok(tg_ci_model_hamiltonian(&mfdn.model, &nucleus, &same));
    /* h2 has eight digits of numbers below 5; Trel eight decimals times 2 hw / A */
    assert_close(largest_difference(h, same), 0, 2e-6);
    tg_ci_hamiltonian_free(h);
    tg_ci_hamiltonian_free(same);
    assert_int_equal(tg_ci_model_hamiltonian(&mfdn.model, &with_kinetic, &h), TG_ERR_INPUT);
    assert_non_null(strstr(tg_last_error(), "in it already"));
    with_kinetic.hw = 0;
    assert_int_equal(tg_ci_model_hamiltonian(&h2.model, &with_kinetic, &h), TG_ERR_INPUT);
    assert_non_null(strstr(tg_last_error(), "--hw"));
    with_kinetic.hw = 20;
    assert_int_equal(h2.model.parts[0].pair_weight_most[TG_CI_PN], 2);
    assert_true(files == 1 ? h2.isospin_breaking < 1e-6 : h2.isospin_breaking > 0.1);
    tg_ci_input_free(&h2);
    tg_ci_input_free(&mfdn);
  }
}

/* ---- texts of a few lines ---- */

static tg_ci_input read_texts(size_t count, const char* const* texts) {
  const char* paths[4];
  const char* folder = scratch_make();
  static const char* const names[] = {"first", "second", "third", "fourth"};
  assert_true(count <= 4);
  for (size_t i = 0; i < count && i < 4; i++) {
    paths[i] = scratch_path(folder, names[i]);
    FILE* stream = fopen(paths[i], "w");
    assert_non_null(stream);
    fputs(texts[i], stream);
    fclose(stream);
  }
  tg_ci_input input = read_files(count, paths);
  scratch_remove(folder);
  return input;
}

static bool notes_say(const tg_ci_input* input, const char* words) {
  for (size_t i = 0; i < input->notes.count; i++)
    if (strstr(input->notes.line[i], words)) return true;
  return false;
}

static double one_of(const tg_ci_input* input, int a, int b) {
  const tg_ci_one_element* e = tg_ci_couplings_one(&input->model.parts[0].couplings, a, b);
  return e ? e->value.fixed : 0;
}

/* Elements in units of hw: one-body hw (A-1)/A, two-body hw/A, beside plain ones. */
static void kinetic_energy_of_snt_files(void** state) {
  (void)state;
  const char* const text =
      "1 1 0 0\n1 0 0 1 -1\n2 0 0 1 1\n2 10 20\n1 1 0.75\n2 2 0.75\n1 10 20.0\n"
      "1 2 1 2 1 -8.0 -0.5\n";
  tg_ci_input input = read_texts(1, &text);
  const tg_ci_nucleus nucleus = {.protons = 2, .neutrons = 1};
  tg_ci_couplings c;
  int sign = 1;
  assert_ok(tg_ci_model_couplings(&input.model, &nucleus, &c));
  assert_close(tg_ci_couplings_one(&c, 1, 1)->value.fixed, 0.75 * 20 * 2 / 3, 1e-14);
  assert_close(tg_ci_couplings_two(&c, &input.model.shells, (const int[]){0, 1, 0, 1}, 1, &sign)
                   ->value.fixed,
               -8 - 0.5 * 20 / 3, 1e-14);
  tg_ci_couplings_free(&c);
  tg_ci_input_free(&input);
}

static void words_of_int_and_sps_files(void** state) {
  (void)state;
  /* two orbits of one l and j; more announced than there, a mass block, off-diagonal elements */
  const char* const hops[] = {"iso\n2\n0 0 0.5 0\n1.0 0.0 1/2 2.0\n",
                              "# pn\n1 0.5 1.5\n 0.25 1.25\n1 1 1 1 0 1 -1.0\n1\n3 4 0.125\n"};
  tg_ci_input input = read_texts(2, hops);
  assert_true(one_of(&input, 2, 3) == 0.125 && one_of(&input, 0, 1) == 0);
  assert_true(one_of(&input, 2, 2) == 0.25);
  assert_int_equal(input.model.shells.shell[1].n, 1);
  assert_int_equal(input.model.shells.shell[3].weight, 2);
  tg_ci_input_free(&input);
  const char* const few[] = {"pnw\n2\n0 1 0.5 1 99\n0 1 1.5 2 3\n",
                             "7 1.0 2.0 3.0 4 6 0.5\n1 1 1 1 0 1 -1.0\n"};
  input = read_texts(2, few);
  assert_int_equal((int)input.model.shells.count, 3);
  assert_int_equal(input.model.shells.shell[2].weight, 3);
  assert_true(one_of(&input, 2, 2) == 3 && input.isospin_breaking == -1);
  assert_true(notes_say(&input, "7 elements are announced and 1 are there"));
  assert_true(notes_say(&input, "BIGSTICK would not"));
  assert_true(notes_say(&input, "weight 99"));
  tg_ci_input_free(&input);
  const char* const automatic[] = {"auto\n2\n", "0 0 0 0 1.5 0 0\n"};
  input = read_texts(2, automatic);
  const int two_j[] = {1, 1, 3, 1, 3, 5}, l[] = {0, 1, 1, 0, 2, 2};
  for (int i = 0; i < 6; i++) {
    assert_int_equal(input.model.shells.shell[6 + i].two_j, two_j[i]);
    assert_int_equal(input.model.shells.shell[6 + i].l, l[i]);
  }
  tg_ci_input_free(&input);
}

static void partitions(void** state) {
  (void)state;
  tg_ci_input input = read_file(SHIPPED("p.snt"));
  tg_ci_partition p;
  assert_ok(tg_ci_partition_read(SHIPPED("p.ptn"), &input.model.shells, &p));
  assert_int_equal(p.protons, 3);
  assert_int_equal(p.parity, -1);
  assert_int_equal((int)p.count[1], 3);
  assert_int_equal(p.occupation[1][2], 1);
  assert_int_equal((int)p.pair_count, 4);
  assert_int_equal(p.pair[3][1], 2);
  tg_ci_partition_free(&p);
  tg_ci_input_free(&input);
}

/* ---- built-in interactions ---- */

static void published_levels(void** state) {
  (void)state;
  /* 18O, J = 4: [d5/2]^2 and d5/2 d3/2 mix; -8.40459 MeV by two independent programs */
  tg_ci_input usdb = read_file("builtin:usdb");
  const tg_ci_nucleus oxygen = {.neutrons = 2};
  const tg_ci_shells* s = &usdb.model.shells;
  tg_ci_couplings c;
  assert_ok(tg_ci_model_couplings(&usdb.model, &oxygen, &c));
  const int d3 = 3, d5 = 4;
  int sign[3];
  const double e3 = tg_ci_couplings_one(&c, d3, d3)->value.fixed;
  const double e5 = tg_ci_couplings_one(&c, d5, d5)->value.fixed;
  const tg_ci_two_element* x =
      tg_ci_couplings_two(&c, s, (const int[]){d5, d5, d5, d5}, 4, &sign[0]);
  const tg_ci_two_element* y =
      tg_ci_couplings_two(&c, s, (const int[]){d5, d3, d5, d3}, 4, &sign[1]);
  const tg_ci_two_element* z =
      tg_ci_couplings_two(&c, s, (const int[]){d5, d5, d5, d3}, 4, &sign[2]);
  const double a = 2 * e5 + x->value.fixed, b = e3 + e5 + y->value.fixed, v = z->value.fixed;
  assert_close(0.5 * (a + b) - sqrt(0.25 * (a - b) * (a - b) + v * v), -8.40459, 5.1e-6);
  tg_ci_couplings_free(&c);
  tg_ci_input_free(&usdb);
}

/* P_lm normalised with the Condon-Shortley sign, so that Y = P exp(i m phi) / sqrt(2 pi). */
static double legendre(int l, int m, double x) {
  const int n = abs(m);
  double below = sqrt(0.5), value = 0;
  for (int k = 1; k <= n; k++) below *= -sqrt((2 * k + 1.0) / (2 * k) * (1 - x * x));
  for (int k = n + 1; k <= l; k++) {
    const double next =
        sqrt((4.0 * k * k - 1) / ((double)k * k - n * n)) *
        (x * below - sqrt(((k - 1.0) * (k - 1) - n * n) / (4.0 * (k - 1) * (k - 1) - 1)) * value);
    value = below;
    below = next;
  }
  return m < 0 && n % 2 ? -below : below;
}

enum { NODES = 12 };

/* Gauss' rule on (-1, 1): exact for polynomials up to degree 23; four harmonics here make 8 at
 * most. */
static void gauss_rule(double* x, double* weight) {
  for (int i = 0; i < NODES; i++) {
    double at = cos(TG_PI * (i + 0.75) / (NODES + 0.5)), slope = 1;
    for (int step = 0; step < 20; step++) {
      double value = at, before = 1;
      for (int k = 2; k <= NODES; k++) {
        const double next = ((2 * k - 1) * at * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      slope = NODES * (at * value - before) / (at * at - 1);
      at -= value / slope;
    }
    x[i] = at;
    weight[i] = 2 / ((1 - at * at) * slope * slope);
  }
}

/* <a ma b mb|delta(angle)|c mc d md> of product states, j from l and then s: the spins go straight
 * through, all four harmonics are taken at one angle. */
static double contact(const tg_ci_shell* const o[4], const int m[4]) {
  double sum = 0;
  double at[NODES], weight[NODES];
  gauss_rule(at, weight);
  for (int s1 = -1; s1 <= 1; s1 += 2)
    for (int s2 = -1; s2 <= 1; s2 += 2) {
      const int spin[4] = {s1, s2, s1, s2};
      double coefficient = 1;
      for (int k = 0; k < 4; k++)
        coefficient *= tg_ci_clebsch(2 * o[k]->l, m[k] - spin[k], 1, spin[k], o[k]->two_j, m[k]);
      if (coefficient == 0) continue;
      double integral = 0;
      for (int i = 0; i < NODES; i++) {
        double product = weight[i];
        for (int k = 0; k < 4; k++) product *= legendre(o[k]->l, (m[k] - spin[k]) / 2, at[i]);
        integral += product;
      }
      sum += coefficient * integral / (2 * TG_PI);
    }
  return sum;
}

/* The formula against the definition: -4 pi A delta, antisymmetric of T = 1 (J + T odd follows),
 * and symmetric of T = 0. */
static void surface_delta_is_a_contact_force(void** state) {
  (void)state;
  const tg_ci_shell list[] = {{.n = 0, .l = 2, .two_j = 5},
                              {.n = 1, .l = 0, .two_j = 1},
                              {.n = 0, .l = 2, .two_j = 3},
                              {.n = 0, .l = 1, .two_j = 3}};
  const double strength[2] = {0.7, 1.3};
  size_t checked = 0;
  for (int x = 0; x < 256; x++) {
    const int at[4] = {x & 3, x >> 2 & 3, x >> 4 & 3, x >> 6};
    const tg_ci_shell* const o[4] = {&list[at[0]], &list[at[1]], &list[at[2]], &list[at[3]]};
    const tg_ci_shell* const swapped[4] = {o[0], o[1], o[3], o[2]};
    if ((o[0]->l + o[1]->l + o[2]->l + o[3]->l) % 2 || x % 3 == 1) continue;
    for (int j = 0; j <= 5; j++)
      for (int isospin = 0; isospin < 2; isospin++) {
        if (!tg_ci_triangle(o[0]->two_j, o[1]->two_j, 2 * j) ||
            !tg_ci_triangle(o[2]->two_j, o[3]->two_j, 2 * j))
          continue;
        const bool left = at[0] == at[1], right = at[2] == at[3];
        if ((left || right) && (j + isospin) % 2 == 0) continue;
        double sum = 0;
        const int last = (o[2]->two_j + o[3]->two_j) / 2;
        for (int exchange = 0; exchange < 2; exchange++) {
          const tg_ci_shell* const* p = exchange ? swapped : o;
          for (int ma = -o[0]->two_j; ma <= o[0]->two_j; ma += 2)
            for (int mc = -p[2]->two_j; mc <= p[2]->two_j; mc += 2) {
              const int m[4] = {ma, -ma, mc, -mc};
              const double c = tg_ci_clebsch(o[0]->two_j, ma, o[1]->two_j, -ma, 2 * j, 0) *
                               tg_ci_clebsch(p[2]->two_j, mc, p[3]->two_j, -mc, 2 * j, 0);
              if (abs(m[1]) > o[1]->two_j || abs(m[3]) > p[3]->two_j || c == 0) continue;
              /* |cd;JT> = (|cd> + (-1)^(jc+jd-J+T) |dc>) / sqrt(2 (1+d)), twice over both sides */
              sum += (exchange ? tg_ci_sign(last - j + isospin) : 1) * c * contact(p, m);
            }
        }
        sum *= -4 * TG_PI * strength[isospin];
        sum *= tg_ci_sign(o[0]->n + o[1]->n + o[2]->n + o[3]->n);
        if (left) sum /= sqrt(2);
        if (right) sum /= sqrt(2);
        assert_close(tg_ci_surface_delta(o, j, isospin, strength), sum, 1e-12);
        checked++;
      }
  }
  assert_true(checked > 200);
}

static void surface_delta_in_words(void** state) {
  (void)state;
  tg_ci_input input =
      read_file("builtin:sdi:0f7/2=-2,1p3/2:AT0=0.5,AT1=0.6,B=0.2,C=-0.1,Z=20,N=20");
  const tg_ci_shells* s = &input.model.shells;
  const tg_ci_couplings* c = &input.model.parts[0].couplings;
  int sign = 1;
  assert_int_equal((int)s->count, 4);
  assert_int_equal(input.model.core_neutrons, 20);
  assert_true(tg_ci_couplings_one(c, 2, 2)->value.fixed == -2);
  const tg_ci_two_element* e = tg_ci_couplings_two(c, s, (const int[]){0, 0, 0, 0}, 0, &sign);
  assert_close(e->value.fixed, -0.6 * 4 + 0.2 - 0.1, 1e-14); /* -A (2j+1)/2 for J = 0, T = 1 */
  assert_close(input.isospin_breaking, 0, 1e-14);
  tg_ci_input_free(&input);
}

/* ---- the reference cases beside the repository, where they are ---- */

static void same_nucleus(const tg_ci_input* a, const tg_ci_input* b, double tolerance) {
  tg_ci_hamiltonian *x = nucleus_of(a, 3, 4), *y = nucleus_of(b, 3, 4);
  assert_close(largest_difference(x, y), 0, tolerance);
  tg_ci_hamiltonian_free(x);
  tg_ci_hamiltonian_free(y);
}

static void reference_interactions(void** state) {
  (void)state;
  if (!is_there(SHARED("snt/usdb.snt"))) skip();
  const char* const iso[] = {SHARED("oxbash/sd.sps"), SHARED("oxbash/usdb.int")};
  const char* const xpn[] = {SHARED("oxbash/sd.sps"), SHARED("oxbash/usdb_xpn_converted.int")};
  tg_ci_input snt = read_file(SHARED("snt/usdb.snt")), built_in = read_file("builtin:usdb");
  tg_ci_input of_iso = read_files(2, iso);
  tg_ci_source sources[2] = {{.path = xpn[0]}, {.path = xpn[1]}};
  tg_ci_input of_xpn;
  assert_ok(tg_ci_scale_parse("18,0.3,16", &sources[1])); /* neither file says the core */
  assert_ok(tg_ci_input_read(sources, 2, &of_xpn));
  /* eight decimals are printed in the .snt */
  same_nucleus(&snt, &built_in, 5e-8);
  same_nucleus(&snt, &of_iso, 5e-8);
  same_nucleus(&snt, &of_xpn, 5e-8);
  tg_ci_input_free(&snt);
  tg_ci_input_free(&built_in);
  tg_ci_input_free(&of_iso);
  tg_ci_input_free(&of_xpn);
  tg_ci_input ckpot = read_file(SHARED("snt/ckpot.snt"));
  built_in = read_file("builtin:ckpot");
  /* five decimals, and elements of four there */
  same_nucleus(&ckpot, &built_in, 3e-5);
  tg_ci_input_free(&ckpot);
  tg_ci_input_free(&built_in);
}

static void reference_no_core(void** state) {
  (void)state;
  if (!is_there(SHARED("snt/jisp16_A3_Nmax2.snt"))) skip();
  const char* const both[] = {SHARED("h2/jisp16_Nmax02_hw20.0_h2v15099.dat"),
                              SHARED("h2/coulomb_Nmax02_p_h2v15099.dat")};
  tg_ci_input h2 = read_files(2, both), snt = read_file(SHARED("snt/jisp16_A3_Nmax2.snt"));
  const tg_ci_nucleus nucleus = {.protons = 2, .neutrons = 1};
  tg_ci_nucleus with_kinetic = {.protons = 2, .neutrons = 1, .hw = 20, .relative_kinetic = true};
  tg_ci_hamiltonian *x, *y;
  assert_ok(tg_ci_model_hamiltonian(&snt.model, &nucleus, &x));
  assert_ok(tg_ci_model_hamiltonian(&h2.model, &with_kinetic, &y));
  /* eight digits of up to 20 MeV; the Coulomb file's constants differ by 1e-5 of 0.8 MeV */
  assert_close(largest_difference(x, y), 0, 2e-5);
  tg_ci_hamiltonian_free(x);
  tg_ci_hamiltonian_free(y);
  tg_ci_input_free(&h2);
  tg_ci_input_free(&snt);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_interaction_in_every_format),
      cmocka_unit_test(formats_are_recognised),
      cmocka_unit_test(scaling_can_be_chosen),
      cmocka_unit_test(no_core_inputs_add_up),
      cmocka_unit_test(kinetic_energy_of_snt_files),
      cmocka_unit_test(words_of_int_and_sps_files),
      cmocka_unit_test(partitions),
      cmocka_unit_test(published_levels),
      cmocka_unit_test(surface_delta_is_a_contact_force),
      cmocka_unit_test(surface_delta_in_words),
      cmocka_unit_test(reference_interactions),
      cmocka_unit_test(reference_no_core),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
