/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <string.h>

#include "ci/shells.h"

static tg_ci_hamiltonian* same_orbitals(size_t n, const tg_ci_orbital* o) {
  tg_ci_hamiltonian* h = NULL;
  assert_int_equal(tg_ci_hamiltonian_create(n, o, n, o, &h), TG_OK);
  return h;
}

static uint64_t dimension(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  uint64_t states = 0;
  size_t bytes = 0;
  assert_int_equal(tg_ci_space_estimate(h, params, &states, &bytes), TG_OK);
  assert_true(bytes > 0);
  return states;
}

/* Known dimensions: two shell-model codes agree on each of the smaller ones; 52Fe to 56Ni are in
 * the literature of the full pf shell. */
static void dimensions_are_exact(void** state) {
  (void)state;
  static const struct {
    size_t (*shell)(tg_ci_orbital*);
    int a, b, two_m;
    uint64_t states;
  } cases[] = {{shell_p, 2, 2, 0, 51},          {shell_p, 4, 4, 0, 51},
               {shell_sd, 0, 2, 0, 14},         {shell_sd, 2, 2, 0, 640},
               {shell_sd, 4, 4, 0, 28503},      {shell_sd, 4, 5, 1, 44133},
               {shell_sd, 6, 6, 0, 93710},      {shell_pf, 2, 4, 0, 86810},
               {shell_pf, 4, 4, 0, 1963461},    {shell_pf, 6, 6, 0, 109954620},
               {shell_pf, 6, 10, 0, 501113392}, {shell_pf, 8, 8, 0, 1087455228}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_ci_orbital o[64];
    tg_ci_hamiltonian* h = same_orbitals(cases[i].shell(o), o);
    const tg_ci_space_params params = space_of(cases[i].a, cases[i].b, cases[i].two_m);
    assert_int_equal(dimension(h, &params), cases[i].states);
    tg_ci_hamiltonian_free(h);
  }
}

/* No-core spaces, of the parity of the lowest configuration (even Nmax). */
static void oscillator_dimensions_are_exact(void** state) {
  (void)state;
  static const struct {
    int most, a, b, two_m, nmax, parity;
    uint64_t states;
  } cases[] = {{1, 1, 1, 0, 0, 0, 2}, /* both in the lowest shell, of weight 0 */
               {2, 2, 1, 1, 2, 0, 41},
               {3, 3, 3, 0, 2, 0, 800},
               {5, 3, 3, 0, 4, 0, 17040},
               {3, 3, 4, 1, 2, 1, 1961}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_ci_orbital o[128];
    tg_ci_hamiltonian* h = same_orbitals(shell_oscillator(o, cases[i].most), o);
    tg_ci_space_params params = space_of(cases[i].a, cases[i].b, cases[i].two_m);
    params.symmetry = cases[i].parity;
    int least = -1;
    assert_int_equal(tg_ci_space_least_weight(h, &params, &least), TG_OK);
    assert_int_equal(least,
                     (cases[i].a > 2 ? cases[i].a - 2 : 0) + (cases[i].b > 2 ? cases[i].b - 2 : 0));
    params.weight_most = least + cases[i].nmax;
    assert_int_equal(dimension(h, &params), cases[i].states);
    tg_ci_hamiltonian_free(h);
  }
}

/* Full CI of water in 6-31G: 13 orbitals, five electrons of each spin. */
static void irreps_are_counted(void** state) {
  (void)state;
  static const uint8_t labels[13] = {0, 0, 0, 0, 0, 0, 0, 2, 2, 3, 3, 3, 3};
  tg_ci_orbital o[13];
  for (size_t i = 0; i < 13; i++)
    o[i] = (tg_ci_orbital){.symmetry = labels[i], .shell = (uint16_t)i};
  tg_ci_hamiltonian* h = same_orbitals(13, o);
  tg_ci_space_params params = space_of(5, 5, 0);
  assert_int_equal(dimension(h, &params), 1287 * 1287);
  params.symmetry = 0;
  assert_int_equal(dimension(h, &params), 414441);
  tg_ci_hamiltonian_free(h);
}

static bool increasing(const uint16_t* a, const uint16_t* b, int count) {
  for (int k = 0; k < count; k++)
    if (a[k] != b[k]) return a[k] < b[k];
  return false;
}

/* Is this bit string within the limits? Its class is returned too. */
static bool wanted(unsigned bits, size_t n, const tg_ci_orbital* o, const tg_ci_limits* limits,
                   tg_ci_class* class) {
  *class = (tg_ci_class){0};
  uint16_t held[16] = {0};
  int particles = 0;
  for (size_t i = 0; i < n; i++) {
    const bool in = bits >> i & 1;
    if (limits->roles && limits->roles[i] == TG_CI_FROZEN && !in) return false;
    if (limits->roles && limits->roles[i] == TG_CI_UNUSED && in) return false;
    if (!in) continue;
    particles++;
    held[o[i].shell]++;
    class->two_m += o[i].two_m;
    class->symmetry ^= o[i].symmetry;
    if (limits->weight_most >= 0) class->weight += o[i].weight;
  }
  if (particles != limits->particles) return false;
  if (limits->weight_most >= 0 && class->weight > (uint32_t)limits->weight_most) return false;
  for (size_t s = 0; s < limits->shells; s++) {
    if (limits->least && held[s] < limits->least[s]) return false;
    if (limits->most && held[s] > limits->most[s]) return false;
  }
  for (size_t p = 0; p < limits->partition_count; p++) {
    class->partition = (uint32_t)p;
    if (!memcmp(held, limits->partitions + p * limits->shells, limits->shells * sizeof *held))
      return true;
  }
  return limits->partition_count == 0;
}

static bool same_class(const tg_ci_class* a, const tg_ci_class* b) {
  return a->two_m == b->two_m && a->symmetry == b->symmetry && a->weight == b->weight &&
         a->partition == b->partition;
}

static void check_strings(size_t n, const tg_ci_orbital* o, const tg_ci_limits* limits) {
  tg_ci_class* classes = NULL;
  size_t count = 0, total = 0;
  assert_int_equal(tg_ci_classes_count(n, o, limits, "particles", &classes, &count), TG_OK);
  tg_ci_strings strings = {0};
  assert_int_equal(tg_ci_strings_make(n, o, limits, count, classes, &strings), TG_OK);
  for (unsigned bits = 0; bits < 1U << n; bits++) {
    tg_ci_class class;
    if (!wanted(bits, n, o, limits, &class)) continue;
    total++;
    uint16_t list[16];
    int k = 0;
    for (size_t i = 0; i < n; i++)
      if (bits >> i & 1) list[k++] = (uint16_t)i;
    const size_t number = tg_ci_strings_find(&strings, list, tg_ci_strings_mark(&strings, list));
    assert_true(number < strings.count);
    assert_int_equal(strings.low[number], bits);
    assert_true(same_class(&strings.classes[tg_ci_strings_class(&strings, number)], &class));
  }
  assert_int_equal(total, strings.count);
  for (size_t c = 0; c < count; c++)
    for (size_t i = 1; i < classes[c].count; i++) {
      const size_t number = strings.classes[c].begin + i;
      assert_true(increasing(tg_ci_string(&strings, number - 1), tg_ci_string(&strings, number),
                             strings.particles));
    }
  tg_ci_strings_free(&strings);
  tg_free(classes);
}

static void strings_are_all_there_is(void** state) {
  (void)state;
  tg_ci_orbital o[16];
  size_t n = shell_add(o, 0, 3, 1, 1, 0);
  n = shell_add(o, n, 1, 0, 2, 1);
  n = shell_add(o, n, 5, 2, 3, 2);
  uint8_t roles[16] = {0};
  roles[1] = TG_CI_FROZEN;
  roles[6] = TG_CI_FROZEN;
  roles[8] = TG_CI_UNUSED;
  const uint16_t least[3] = {1, 0, 1}, most[3] = {3, 1, 9};
  const uint16_t partitions[4][3] = {{2, 1, 2}, {1, 2, 2}, {4, 0, 1}, {1, 0, 4}};
  for (int particles = 0; particles <= 12; particles++) {
    tg_ci_limits limits = {.particles = particles, .weight_most = -1};
    check_strings(n, o, &limits);
    limits.weight_most = 2 * particles - 1;
    if (particles) check_strings(n, o, &limits);
    limits.weight_most = 0; /* the lightest orbitals have 1: none */
    if (particles) check_strings(n, o, &limits);
    limits.weight_most = 2 * particles - 1;
    limits.shells = 3;
    limits.least = least;
    limits.most = most;
    check_strings(n, o, &limits);
    limits.roles = roles;
    if (particles >= 2 && particles <= 11) check_strings(n, o, &limits);
  }
  tg_ci_limits limits = {.particles = 5,
                         .weight_most = -1,
                         .shells = 3,
                         .partition_count = 4,
                         .partitions = &partitions[0][0]};
  check_strings(n, o, &limits);
  limits.weight_most = 11;
  check_strings(n, o, &limits);
  limits.most = most;
  limits.roles = roles;
  check_strings(n, o, &limits);
  /* a limit of 0 is one, too: orbitals without weight alone */
  for (size_t i = 0; i < n; i++) o[i].weight = o[i].shell == 2;
  limits = (tg_ci_limits){.particles = 3, .weight_most = 0};
  check_strings(n, o, &limits);
}

static void states_and_strings_agree(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  tg_ci_hamiltonian* h = same_orbitals(shell_oscillator(o, 3), o);
  tg_ci_space_params params = space_of(2, 3, 1);
  params.weight_most = 6;
  tg_ci_space* s = NULL;
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
  assert_int_equal(s->dimension, dimension(h, &params));
  uint64_t found = 0;
  for (size_t a = 0; a < s->strings[0].count; a++)
    for (size_t b = 0; b < s->strings[1].count; b++) {
      const uint64_t number = tg_ci_space_state(s, a, b);
      if (number == UINT64_MAX) continue;
      size_t back_a, back_b;
      tg_ci_space_strings(s, number, &back_a, &back_b);
      assert_true(back_a == a && back_b == b);
      int two_m = 0, weight = 0;
      for (int k = 0; k < 2; k++) two_m += o[tg_ci_string(&s->strings[0], a)[k]].two_m;
      for (int k = 0; k < 3; k++) two_m += o[tg_ci_string(&s->strings[1], b)[k]].two_m;
      for (int k = 0; k < 2; k++) weight += o[tg_ci_string(&s->strings[0], a)[k]].weight;
      for (int k = 0; k < 3; k++) weight += o[tg_ci_string(&s->strings[1], b)[k]].weight;
      assert_int_equal(two_m, 1);
      assert_true(weight <= 6);
      found++;
    }
  assert_int_equal(found, s->dimension);
  tg_ci_dimension* list = NULL;
  size_t count = 0;
  uint64_t sum = 0;
  assert_int_equal(tg_ci_space_count(h, &params, &list, &count), TG_OK);
  for (size_t i = 0; i < count; i++)
    if (list[i].two_m == 1) sum += list[i].states;
  assert_int_equal(sum, s->dimension);
  tg_free(list);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

/* Pairs of partitions: at most two particles of both species leave f7/2. */
static void partition_pairs_truncate(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  tg_ci_hamiltonian* h = same_orbitals(shell_pf(o), o);
  uint16_t partitions[64][4];
  size_t count = 0;
  for (uint16_t i = 0; i <= 2; i++)
    for (uint16_t j = 0; i + j <= 2; j++)
      for (uint16_t k = 0; i + j + k <= 2; k++, count++)
        memcpy(partitions[count], (uint16_t[4]){(uint16_t)(2 - i - j - k), i, j, k},
               sizeof partitions[count]);
  uint32_t pairs[64 * 64][2];
  size_t pair_count = 0;
  for (uint32_t p = 0; p < count; p++)
    for (uint32_t q = 0; q < count; q++)
      if (4 - partitions[p][0] - partitions[q][0] <= 2)
        memcpy(pairs[pair_count++], (uint32_t[2]){p, q}, sizeof *pairs);
  tg_ci_space_params params = space_of(2, 2, 0);
  for (int t = 0; t < 2; t++) {
    params.limits[t].shells = 4;
    params.limits[t].partition_count = count;
    params.limits[t].partitions = &partitions[0][0];
  }
  tg_ci_space_params full = params;
  full.limits[0].partition_count = full.limits[1].partition_count = 0;
  assert_int_equal(dimension(h, &params), dimension(h, &full));
  params.partition_pair_count = pair_count;
  params.partition_pairs = &pairs[0][0];
  const uint64_t truncated = dimension(h, &params);
  /* the same truncation by weights */
  for (size_t i = 0; i < 20; i++) o[i].weight = o[i].shell > 0;
  tg_ci_hamiltonian* weighted = same_orbitals(20, o);
  full.weight_most = 2;
  assert_int_equal(truncated, dimension(weighted, &full));
  tg_ci_space* s = NULL;
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK);
  assert_int_equal(s->dimension, truncated);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(weighted);
  tg_ci_hamiltonian_free(h);
}

static void many_orbitals_are_no_limit(void** state) {
  (void)state;
  static tg_ci_orbital o[1000];
  for (int i = 0; i < 1000; i++)
    o[i] = (tg_ci_orbital){.two_m = (int16_t)(2 * (i % 41) - 40), .shell = (uint16_t)(i / 41)};
  tg_ci_hamiltonian* h = same_orbitals(1000, o);
  /* C(1000, 2) pairs of A by 2M, times the states of B with the opposite */
  uint64_t by_m[161] = {0}, expected = 0;
  for (int i = 0; i < 1000; i++)
    for (int j = 0; j < i; j++) by_m[80 + o[i].two_m + o[j].two_m]++;
  tg_ci_space_params params = space_of(2, 1, 0);
  for (int i = 0; i < 1000; i++) expected += by_m[80 - o[i].two_m];
  assert_int_equal(dimension(h, &params), expected);
  params = space_of(500, 500, 0); /* C(1000, 500) is about 1e299 */
  for (int i = 0; i < 1000; i++) o[i].two_m = 0;
  tg_ci_hamiltonian* flat = same_orbitals(1000, o);
  assert_true(dimension(flat, &params) == UINT64_MAX);
  tg_ci_space* s = NULL;
  assert_int_equal(tg_ci_space_make(flat, &params, &s), TG_ERR_MACHINE);
  tg_ci_hamiltonian_free(flat);
  tg_ci_hamiltonian_free(h);
}

static void refused(const tg_ci_hamiltonian* h, tg_ci_space_params params, const char* words) {
  tg_ci_space* s = NULL;
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_ERR_INPUT);
  assert_null(s);
  if (!strstr(tg_last_error(), words)) fail_msg("'%s' lacks '%s'", tg_last_error(), words);
}

static void impossible_spaces_say_what_is_possible(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  tg_ci_hamiltonian* h = same_orbitals(shell_sd(o), o);
  refused(h, space_of(13, 2, 0), "at most 12");
  refused(h, space_of(-1, 2, 0), "from 0 to 12");
  refused(h, space_of(2, 2, 1), "must be even, from -16 to 16");
  refused(h, space_of(2, 1, 0), "must be odd");
  refused(h, space_of(2, 2, 18), "from -16 to 16");
  tg_ci_space_params params = space_of(2, 2, 0);
  params.symmetry = 1;
  refused(h, params, "labels with states: 0");
  const uint16_t least[3] = {0, 2, 4};
  params = space_of(5, 2, 1);
  params.limits[0].least = least;
  params.limits[0].shells = 3;
  refused(h, params, "limits");
  uint8_t roles[12] = {TG_CI_FROZEN, TG_CI_FROZEN, TG_CI_FROZEN};
  params = space_of(2, 2, 0);
  params.limits[1].roles = roles;
  refused(h, params, "freeze fewer");
  const uint16_t partition[3] = {1, 1, 1};
  params = space_of(2, 2, 0);
  params.limits[0].partitions = partition;
  params.limits[0].partition_count = 1;
  params.limits[0].shells = 3;
  refused(h, params, "holds 3 particles; it must hold 2");
  const uint32_t pairs[2] = {0, 0};
  params = space_of(3, 2, 1);
  params.limits[0].partitions = partition;
  params.limits[0].partition_count = 1;
  params.limits[0].shells = 3;
  params.partition_pairs = pairs;
  params.partition_pair_count = 1;
  refused(h, params, "names partition 1");
  tg_ci_space* s = NULL;
  params = space_of(0, 0, 0);
  assert_int_equal(tg_ci_space_make(h, &params, &s), TG_OK); /* the vacuum is one state */
  assert_int_equal(s->dimension, 1);
  tg_ci_space_free(s);
  tg_ci_hamiltonian_free(h);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(dimensions_are_exact),
      cmocka_unit_test(oscillator_dimensions_are_exact),
      cmocka_unit_test(irreps_are_counted),
      cmocka_unit_test(strings_are_all_there_is),
      cmocka_unit_test(states_and_strings_agree),
      cmocka_unit_test(partition_pairs_truncate),
      cmocka_unit_test(many_orbitals_are_no_limit),
      cmocka_unit_test(impossible_spaces_say_what_is_possible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
