/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <sys/stat.h>

#include "topology_fixture.h"

#define ETHANOL_ATOMS                                                                              \
  "[ moleculetype ]\nM 3\n[ atoms ]\n"                                                             \
  "1 opls_157 1 ETH C 1 -0.18\n2 opls_156 1 ETH H 1 0.06\n3 opls_156 1 ETH H 1 0.06\n"             \
  "4 opls_156 1 ETH H 1 0.06\n5 opls_157 1 ETH C 2\n6 opls_156 1 ETH H 2 0.06\n"                   \
  "7 opls_156 1 ETH H 2 0.06\n8 opls_154 1 ETH OA 2 -0.683\n9 opls_155 1 ETH HO 2 0.418\n"
#define ETHANOL_BONDS "1 5 1\n1 2 1\n1 3 1\n1 4 1\n5 6 1\n5 7 1\n5 8 1\n8 9 1\n"

static bool excludes(const tg_molecule_type* type, int a, int b) {
  for (int k = type->exclusion_start[a]; k < type->exclusion_start[a + 1]; k++)
    if (type->exclusion[k] == b) return true;
  return false;
}

static void check_exclusions(const tg_molecule_type* type) {
  for (int i = 0; i < (int)type->atom_count; i++)
    for (int k = type->exclusion_start[i]; k < type->exclusion_start[i + 1]; k++) {
      int j = type->exclusion[k];
      assert_true(j != i && j >= 0 && j < (int)type->atom_count);
      assert_true(excludes(type, j, i));
      if (k > type->exclusion_start[i]) assert_true(type->exclusion[k - 1] < j);
    }
}

static int exclusion_count(const tg_molecule_type* type) {
  return type->exclusion_start[type->atom_count];
}

static const tg_interaction* item(const tg_topology* topology, tg_interaction_kind kind, size_t i) {
  const tg_interactions* list = &topology->molecule_types[0].interactions[kind];
  assert_true(i < list->count);
  return &list->items[i];
}

static size_t count(const tg_topology* topology, tg_interaction_kind kind) {
  return topology->molecule_types[0].interactions[kind].count;
}

static void ethanol_is_read_whole(void** state) {
  (void)state;
  tg_topology t;
  fixture_read_well(FORCE_FIELD ETHANOL_ATOMS "[ bonds ]\n" ETHANOL_BONDS
                                              "[ pairs ]\n2 6 1\n1 9 1 0.2 0.5\n"
                                              "[ angles ]\n2 1 5 1\n[ dihedrals ]\n2 1 5 6 3\n" END,
                    NULL, &t);
  assert_string_equal(fixture_log, "");
  assert_string_equal(t.title, "small  test");
  assert_int_equal(tg_topology_atoms(&t), 18);
  assert_int_equal(t.type_count, 4);
  assert_int_equal(t.atom_types[2].atomic_number, 8);
  const tg_molecule_type* type = &t.molecule_types[0];
  assert_true(type->atoms[4].charge == 0.145 && type->atoms[4].mass == 12.011); /* from the type */
  assert_string_equal(type->atoms[7].name, "OA");
  assert_int_equal(count(&t, TG_BOND), 8);
  assert_true(item(&t, TG_BOND, 6)->parameters[0] == 0.141);    /* CT OH */
  assert_true(item(&t, TG_BOND, 7)->parameters[1] == 462750.4); /* listed as HO OH */
  assert_true(item(&t, TG_ANGLE, 0)->parameters[0] == 110.7);   /* listed as CT CT HC */
  assert_true(item(&t, TG_DIHEDRAL_RYCKAERT, 0)->parameters[3] == -2.5104);
  /* all 36 pairs but the three of a methyl and the hydroxyl hydrogen, four bonds apart */
  check_exclusions(type);
  assert_int_equal(exclusion_count(type), 2 * 33);
  assert_false(excludes(type, 1, 8));
  assert_true(excludes(type, 0, 8));
  /* generated: 4 epsilon sigma^6 with half of HC's; given: sigma 0.2, epsilon 0.5 */
  assert_near(item(&t, TG_PAIR_14, 0)->parameters[0], 0.5 * 4 * 0.12552 * pow(0.25, 6));
  assert_near(item(&t, TG_PAIR_14, 0)->parameters[1], 0.5 * 4 * 0.12552 * pow(0.25, 12));
  assert_near(item(&t, TG_PAIR_14, 1)->parameters[0], 4 * 0.5 * pow(0.2, 6));
  tg_topology_free(&t);
}

static void combination_rules(void** state) {
  (void)state;
  for (int rule = 1; rule <= 3; rule++) {
    char text[1024];
    snprintf(
        text, sizeof text,
        "[ defaults ]\n1 %d yes 0.5 0.5\n[ atomtypes ]\nA 1 0 A 0.3 0.4\nB 1 0 A 0.2 0.9\n"
        "C 1 0 A 0.1 0.1\n[ nonbond_params ]\nC A 1 0.25 0.7\n[ pairtypes ]\nB B 1 0.15 0.3\n"
        "[ moleculetype ]\nM 0\n[ atoms ]\n1 A 1 M A 1\n2 B 1 M B 1\n3 C 1 M C 1\n4 B 1 M B 1\n"
        "[ pairs ]\n1 2 1\n2 4 1\n1 3 1\n" END,
        rule);
    tg_topology t;
    fixture_read_well(text, NULL, &t);
    double v = rule == 2 ? 0.25 : sqrt(0.3 * 0.2), w = sqrt(0.4 * 0.9);
    double c6 = rule == 1 ? v : 4 * w * pow(v, 6), c12 = rule == 1 ? w : 4 * w * pow(v, 12);
    assert_near(t.c6[0 * 3 + 1], c6);
    assert_near(t.c12[1 * 3 + 0], c12);
    /* [ nonbond_params ] stands above the rule, for the generated 1-4 pair too */
    c6 = rule == 1 ? 0.25 : 4 * 0.7 * pow(0.25, 6);
    assert_near(t.c6[0 * 3 + 2], c6);
    assert_near(t.c6[2 * 3 + 0], c6);
    assert_near(item(&t, TG_PAIR_14, 2)->parameters[0], 0.5 * c6);
    assert_near(item(&t, TG_PAIR_14, 0)->parameters[1], 0.5 * t.c12[1]);
    /* [ pairtypes ] are not scaled */
    assert_near(item(&t, TG_PAIR_14, 1)->parameters[1], rule == 1 ? 0.3 : 4 * 0.3 * pow(0.15, 12));
    assert_int_equal(exclusion_count(&t.molecule_types[0]), 0);
    tg_topology_free(&t);
  }
}

static void atom_types_in_every_layout(void** state) {
  (void)state;
  tg_topology t;
  fixture_read_well(
      "[ defaults ]\n1 2\n[ atomtypes ]\nA 12 0.5 A 0.3 0.4\nB BB 12 0.5 a 0.3 0.4\n"
      "C 6 12 0.5 A 0.3 0.4\nD DD 6 12 0.5 A 0.3 0.4\nE 12 0.5 A -0.3 0.4\n"
      "MW 0 0 V 0 0\n"
      "[ moleculetype ]\nM 1\n[ atoms ]\n1 D 7B M D 1 0 12 D\n" END,
      NULL, &t);
  const char* const bonded[] = {"A", "BB", "C", "DD", "E"};
  for (int i = 0; i < 5; i++) {
    assert_string_equal(t.atom_types[i].bonded, bonded[i]);
    assert_int_equal(t.atom_types[i].atomic_number, i == 2 || i == 3 ? 6 : -1);
    assert_true(t.atom_types[i].mass == 12 && t.atom_types[i].charge == 0.5);
    assert_true(t.atom_types[i].sigma == 0.3 && t.atom_types[i].epsilon == 0.4);
  }
  assert_true(t.c6[4 * 6 + 4] == 0 && t.c6[0 * 6 + 4] == 0); /* negative sigma: repulsion only */
  assert_true(t.c12[4 * 6 + 4] == t.c12[0]);
  assert_int_equal(t.molecule_types[0].atoms[0].residue_number, 7);
  assert_false(t.generate_pairs);
  assert_true(t.fudge_lj == 1 && t.fudge_qq == 1);
  tg_topology_free(&t);
}

#define FOUR                                                                                       \
  "[ moleculetype ]\nM 3\n[ atoms ]\n1 P 1 M P 1\n2 Q 1 M Q 1\n3 R 1 M R 1\n4 S 1 M S 1\n"
#define FOUR_TYPES DEFAULTS "[ atomtypes ]\nP 1 0 A 0 0\nQ 1 0 A 0 0\nR 1 0 A 0 0\nS 1 0 A 0 0\n"

static void dihedrals_take_the_most_exact_types(void** state) {
  (void)state;
  tg_topology t;
  fixture_read_well(FOUR_TYPES
                    "[ dihedraltypes ]\n"
                    "X Q R X 9 1 1 1\nP Q R X 9 2 1 1\nP Q R X 9 3 1 2\nX X X X 9 4 1 1\n"
                    "Q R 3 1 2 3 4 5 6\nP S 2 180 7\nX X R S 4 180 8 2\n"
                    "S R Q P 4 180 9 2\nX Q R X 9 1 1 1\n" FOUR
                    "[ dihedrals ]\n1 2 3 4 9\n4 3 2 1 1\n1 3 2 4 9\n1 2 4 3 9\n"
                    "1 2 3 4 3\n1 2 3 4 2\n4 3 2 1 2\n1 2 3 4 4\n2 1 3 4 4\n"
                    "2 1 3 4 9 5 1 3 5 1 3\n1 2 4 3 9 6 1 3 6 1\n" END,
                    NULL, &t);
  /* two lines of P Q R X for each of the first two, X Q R X backwards, all X, two with their own */
  const double expected[] = {2, 3, 2, 3, 1, 4, 5, 6};
  assert_int_equal(count(&t, TG_DIHEDRAL_PROPER), 8);
  for (size_t i = 0; i < 8; i++)
    assert_true(item(&t, TG_DIHEDRAL_PROPER, i)->parameters[0] == expected[i]);
  assert_int_equal(item(&t, TG_DIHEDRAL_PROPER, 2)->atoms[0], 3);
  assert_true(item(&t, TG_DIHEDRAL_RYCKAERT, 0)->parameters[5] ==
              6);                                       /* two names: the inner atoms */
  assert_int_equal(count(&t, TG_DIHEDRAL_IMPROPER), 2); /* the outer atoms */
  assert_true(item(&t, TG_DIHEDRAL_IMPROPER, 1)->parameters[1] == 7);
  assert_true(item(&t, TG_DIHEDRAL_IMPROPER_PERIODIC, 0)->parameters[1] == 9);
  assert_true(item(&t, TG_DIHEDRAL_IMPROPER_PERIODIC, 1)->parameters[1] == 8);
  tg_topology_free(&t);
}

static void what_counts_as_a_bond(void** state) {
  (void)state;
  /* P-Q bond, Q-R connection, R-S constraint of either function */
  for (int function = 1; function <= 2; function++) {
    char text[1024];
    snprintf(text, sizeof text,
             FOUR_TYPES "[ constrainttypes ]\nS R %d 0.17\n" FOUR
                        "[ bonds ]\n1 2 1 0.1 5\n2 3 5\n[ constraints ]\n3 4 %d\n"
                        "[ exclusions ]\n1 1 2\n" END,
             function, function);
    tg_topology t;
    fixture_read_well(text, NULL, &t);
    assert_int_equal(count(&t, TG_BOND), 1);
    assert_true(item(&t, TG_CONSTRAINT, 0)->parameters[0] == 0.17);
    check_exclusions(&t.molecule_types[0]);
    assert_int_equal(exclusion_count(&t.molecule_types[0]), function == 1 ? 12 : 6);
    tg_topology_free(&t);
  }
  /* water: with nrexcl 1 the two bonds only, with 2 the hydrogens too, with [ exclusions ] one more
   */
  const char* const water[] = {"M 1", "M 2", "M 1"};
  const char* const extra[] = {"", "", "[ exclusions ]\n3 2\n"};
  const int expected[] = {4, 6, 6};
  for (int i = 0; i < 3; i++) {
    char text[1024];
    snprintf(text, sizeof text,
             FOUR_TYPES
             "[ moleculetype ]\n%s\n[ atoms ]\n1 P 1 W O 1\n2 Q 1 W H 1\n3 Q 1 W H 1\n"
             "[ settles ]\n1 1 0.1 0.1633\n%s" END,
             water[i], extra[i]);
    tg_topology t;
    fixture_read_well(text, NULL, &t);
    check_exclusions(&t.molecule_types[0]);
    assert_int_equal(exclusion_count(&t.molecule_types[0]), expected[i]);
    assert_int_equal(item(&t, TG_SETTLE, 0)->atoms[2], 2);
    tg_topology_free(&t);
  }
}

/* A ring of n atoms: each excludes min(2 d, n - 1) others within d bonds. */
static void exclusions_of_a_ring(void** state) {
  (void)state;
  enum { N = 9 };
  for (int depth = 0; depth <= 6; depth++) {
    char text[2048];
    int used = snprintf(text, sizeof text, FOUR_TYPES "[ moleculetype ]\nM %d\n[ atoms ]\n", depth);
    for (int i = 1; i <= N; i++)
      used += snprintf(text + used, sizeof text - (size_t)used, "%d P 1 M P %d\n", i, i);
    used += snprintf(text + used, sizeof text - (size_t)used, "[ bonds ]\n");
    for (int i = 1; i <= N; i++)
      used += snprintf(text + used, sizeof text - (size_t)used, "%d %d 5\n", i, i % N + 1);
    snprintf(text + used, sizeof text - (size_t)used, END);
    tg_topology t;
    fixture_read_well(text, NULL, &t);
    check_exclusions(&t.molecule_types[0]);
    assert_int_equal(exclusion_count(&t.molecule_types[0]),
                     N * (2 * depth < N - 1 ? 2 * depth : N - 1));
    tg_topology_free(&t);
  }
}

static void macros_and_conditions(void** state) {
  (void)state;
  const char* text = FOUR_TYPES
      "#define K3 1000 1000 FZ\n#define FZ 5e2\n#define TORSION 180 2.5 3\n#define P\n#define GONE "
      "1\n"
      "#undef GONE\n" FOUR
      "#ifdef POSRES\n[ position_restraints ]\n1 1 K3\n2 1 FORCE FORCE \\\n FORCE ; z\n#endif\n"
      "#ifdef GONE\n#ifdef POSRES\n #error nested\n#else\n[ nonsense ]\n#include "
      "\"nowhere\"\n#endif\n"
      "#else\n[ Dihedrals ] ; any case\n1 2 3 4 9 TORSION\n#endif\n#ifndef "
      "POSRES\nnonsense\n#endif\n" END;
  const char* const defines[] = {"-DPOSRES", "FORCE=7.5", "UNUSED"};
  tg_topology_options options = {.defines = defines, .define_count = 3};
  tg_topology t;
  fixture_read_well(text, &options, &t);
  assert_int_equal(count(&t, TG_POSITION_RESTRAINT), 2);
  assert_true(item(&t, TG_POSITION_RESTRAINT, 0)->parameters[2] == 500);
  assert_true(item(&t, TG_POSITION_RESTRAINT, 1)->parameters[2] == 7.5);
  assert_true(item(&t, TG_DIHEDRAL_PROPER, 0)->parameters[1] == 2.5);
  assert_non_null(strstr(fixture_log, "'UNUSED'"));
  assert_null(strstr(fixture_log, "FORCE"));
  tg_topology_free(&t);
  const char* const wrong[] = {"2X"};
  options = (tg_topology_options){.defines = wrong, .define_count = 1};
  assert_int_equal(fixture_read(text, &options, &t), TG_ERR_INPUT);
}

static void includes_are_found_in_order(void** state) {
  (void)state;
  assert_int_equal(mkdir(fixture_path("sub"), 0755), 0);
  fixture_write("sub/d.itp", "#include <e.itp>\n#include \"c.itp\"\n"); /* beside it; by folder */
  fixture_write("sub/e.itp", DEFAULTS);
  fixture_write("c.itp", "[ atomtypes ]\nP 1 0 A 0 0\n");
  const char* text = "#include \"sub/d.itp\"\n[ moleculetype ]\nM 1\n[ atoms ]\n1 P 1 M P 1\n" END;
  const char* folders[] = {fixture_folder};
  tg_topology_options options = {.include_folders = folders, .include_count = 1};
  tg_topology t;
  assert_int_equal(fixture_read(text, NULL, &t), TG_ERR_INPUT); /* c.itp is not beside d.itp */
  fixture_read_well(text, &options, &t);
  tg_topology_free(&t);
  char library[200];
  snprintf(library, sizeof library, "/nonexistent::%s", fixture_folder);
  assert_int_equal(setenv("GMXLIB", library, 1), 0);
  fixture_read_well(text, NULL, &t);
  tg_topology_free(&t);
  unsetenv("GMXLIB");
}

static void unusual_input_is_warned_about(void** state) {
  (void)state;
  tg_topology t;
  fixture_read_well("* a heading\n" FOUR_TYPES
                    "P 2 0 A 0 0\n[ bondtypes ]\nP Q 1 0.1 5\nQ P 1 0.2 5\n"
                    "[ moleculetype ]\nOther 1\n[ atoms ]\n1 P 1 M P 1 0.5\n2 Q 1 M Q 1 -0.2\n"
                    "[ bonds ]\n1 2 1\n[ moleculetype ]\nion 1\n[ atoms ]\n1 S 1 I I 1 1\n"
                    "[ system ]\n[ molecules ]\nother 1\nion 0\nion 3\n",
                    NULL, &t);
  const char* const expected[] = {"'P' was defined before",
                                  "replaces the parameters",
                                  "0.3 e, is not a whole",
                                  "'other' taken for 'Other'",
                                  "0 of 'ion'",
                                  "charge of 3.3 e"};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    if (!strstr(fixture_log, expected[i])) fail_msg("no '%s' in %s", expected[i], fixture_log);
  assert_int_equal(t.block_count, 2);
  assert_string_equal(t.title, "");
  assert_true(item(&t, TG_BOND, 0)->parameters[0] == 0.2);
  assert_true(t.molecule_types[0].atoms[0].mass == 2);
  tg_topology_free(&t);
  tg_topology_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ethanol_is_read_whole),
      cmocka_unit_test(combination_rules),
      cmocka_unit_test(atom_types_in_every_layout),
      cmocka_unit_test(dihedrals_take_the_most_exact_types),
      cmocka_unit_test(what_counts_as_a_bond),
      cmocka_unit_test(exclusions_of_a_ring),
      cmocka_unit_test(macros_and_conditions),
      cmocka_unit_test(includes_are_found_in_order),
      cmocka_unit_test(unusual_input_is_warned_about),
  };
  return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
