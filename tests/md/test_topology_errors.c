/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "topology_fixture.h"

#define MOLECULE "[ moleculetype ]\nM 3\n"
#define ATOMS                                                                                      \
  MOLECULE                                                                                         \
  "[ atoms ]\n1 opls_156 1 M H1 1 0\n2 opls_157 1 M C1 1 0\n3 opls_157 1 M C2 1 0\n"               \
  "4 opls_156 1 M H2 1 0\n5 opls_154 1 M O1 1 0\n"
/* FORCE_FIELD has 16 lines, ATOMS 8: what follows ATOMS is line 25 */

static const struct {
  const char* text;
  const char* place; /* after the file's path */
  const char* words;
} cases[] = {
    {"", ": ", "no [ defaults ]"},
    {"1 2 3\n", ":1:1: ", "before the first section"},
    {"[ defaults\n1 3\n", ":1:1: ", "without ']'"},
    {"[ nonsense ]\n", ":1:1: ", "unknown section [ nonsense ]"},
    {"[ defaults ]\n2 3\n", ":2:1: ", "Buckingham"},
    {"[ defaults ]\n1 4\n", ":2:3: ", "comb-rule"},
    {"[ defaults ]\n1 3 perhaps\n", ":2:5: ", "gen-pairs"},
    {"[ defaults ]\n1 3 yes 0.5 0.5 9\n", ":2:17: ", "power"},
    {DEFAULTS DEFAULTS, ":4:1: ", "second line of [ defaults ]"},
    {"[ atomtypes ]\n", ":1:1: ", "after [ defaults ]"},
    {DEFAULTS "[ bondtypes ]\n", ":3:1: ", "after [ atomtypes ]"},
    {DEFAULTS "[ atomtypes ]\nC 12.0 0\n", ":4: ", "3 columns"},
    {DEFAULTS "[ atomtypes ]\nC 12.0 0 Q 0.3 0.3\n", ":4:10: ", "A, S, V or D"},
    {DEFAULTS "[ atomtypes ]\nC 12.0 0 A 0.3 0x3\n", ":4:16: ", "must be a number"},
    {DEFAULTS TYPES "[ bondtypes ]\nCT QQ 1 0.1 2\n", ":9:4: ", "'QQ' is not in [ atomtypes ]"},
    {DEFAULTS TYPES "[ bondtypes ]\nCT CT 1 0.1 2 3\n", ":9:1: ", "found 3 parameters, expected 2"},
    {DEFAULTS TYPES "[ nonbond_params ]\nopls_157 opls_156 2 1 1 1\n", ":9:19: ", "function 2"},
    {DEFAULTS TYPES
     "[ dihedraltypes ]\nCT CT CT CT 9 0 1 1\nHC CT CT HC 9 0 1 1\nCT CT CT CT 9 0 1 2\n",
     ":11:1: ", "must follow each other"},
    {FORCE_FIELD "[ atoms ]\n", ":17:1: ", "after a [ moleculetype ]"},
    {FORCE_FIELD MOLECULE "[ bonds ]\n", ":19:1: ", "after the [ atoms ]"},
    {FORCE_FIELD MOLECULE "[ atomtypes ]\n", ":19:1: ", "before the first [ moleculetype ]"},
    {FORCE_FIELD ATOMS "[ moleculetype ]\n[ atoms ]\n", ":26:1: ", "after a [ moleculetype ]"},
    {FORCE_FIELD "[ moleculetype ]\nM -1\n", ":18:3: ", "nrexcl"},
    {FORCE_FIELD "[ moleculetype ]\nM 3\nN 3\n", ":19:1: ", "second line"},
    {FORCE_FIELD ATOMS MOLECULE, ":26:1: ", "second time"},
    {FORCE_FIELD MOLECULE END, ":18:1: ", "no atoms"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n1 opls_999 1 M C 1\n", ":20:3: ", "'opls_999'"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n2 opls_157 1 M C 1\n", ":20:1: ", "expected 1, found 2"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n1 opls_157 1 M C 1 0 0\n", ":20:22: ", "mass"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n1 opls_157 1 M C 1 0 -12\n", ":20:22: ", "mass"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n1 opls_157 1 LONGNAME C 1\n", ":20:14: ", "longer than 7"},
    {FORCE_FIELD MOLECULE "[ atoms ]\n1 opls_157 1 M C 1 0 12 opls_156\n", ":20:25: ", "B state"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 6 1\n", ":26:3: ", "atom 6 is not in molecule 'M'"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 2 1\n", ":26:3: ", "twice"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3\n", ":26: ", "the function"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3 3 1 1 1\n", ":26:5: ", "function 3 (Morse bond)"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3 99\n", ":26:5: ", "no function 99"},
    {FORCE_FIELD ATOMS "[ bonds ]\n1 5 1\n", ":26:1: ", "for atoms 1 5 (HC OH)"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3 1 0.1\n", ":26:7: ", "found 1 parameters"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3 1 0.1 KB\n", ":26:11: ", "'KB' (a macro"},
    {FORCE_FIELD ATOMS "[ bonds ]\n2 3 1 0.1 100 0.2 100\n", ":26:7: ", "B state"},
    {FORCE_FIELD ATOMS "[ pairs ]\n1 4 2\n", ":26:5: ", "function 2"},
    {FORCE_FIELD ATOMS "[ pairs_nb ]\n1 4 1\n", ":26:1: ", "not supported yet"},
    {FORCE_FIELD ATOMS "[ angles ]\n1 2 3 5\n", ":26:7: ", "Urey-Bradley"},
    {FORCE_FIELD ATOMS "[ angles ]\n1 2 5 1\n", ":26:1: ", "(HC CT OH)"},
    {FORCE_FIELD ATOMS "[ dihedrals ]\n1 2 3 4 1 0 2 1.5\n", ":26:11: ", "multiplicity"},
    {FORCE_FIELD ATOMS "[ dihedrals ]\n1 2 3 4 9\n", ":26:1: ", "atoms 1 2 3 4 (HC CT CT HC)"},
    {FORCE_FIELD ATOMS "[ constraints ]\n1 2 1 -0.1\n", ":26:7: ", "above 0"},
    {FORCE_FIELD ATOMS "[ settles ]\n4 1 0.1 0.16\n", ":26:1: ", "two hydrogens"},
    {FORCE_FIELD ATOMS "[ settles ]\n1 1 0.1 0.2\n", ":26:5: ", "no triangle"},
    {FORCE_FIELD ATOMS "[ exclusions ]\n1 2 9\n", ":26:5: ", "atom 9"},
    {FORCE_FIELD ATOMS "[ position_restraints ]\n1 2 1 1 1\n", ":26:3: ", "flat-bottomed"},
    {FORCE_FIELD ATOMS "[ virtual_sites3 ]\n1 2 3 4 1 0 0\n", ":26:1: ", "[ virtual_sites3 ]"},
    {FORCE_FIELD ATOMS "[ cmap ]\n1 2 3 4 5 1\n", ":26:1: ", "molecule 'M'"},
    {FORCE_FIELD ATOMS "[ dihedral_restraints ]\n1 2 3 4 1\n", ":26:1: ", "not supported yet"},
    {FORCE_FIELD ATOMS END "[ intermolecular_interactions ]\n", ":29:1: ", "not supported yet"},
    {FORCE_FIELD ATOMS "[ molecules ]\nM 1\n", ":25:1: ", "after [ system ]"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n", ": ", "no [ molecules ]"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n[ molecules ]\n", ": ", "empty"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n[ molecules ]\nM 0\n", ": ", "empty"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n[ molecules ]\nQ 1\n", ":28:1: ", "'Q' is not defined"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n[ molecules ]\nM -2\n", ":28:3: ", "negative"},
    {FORCE_FIELD ATOMS "[ system ]\nx\n[ molecules ]\nM 2000000000\n", ":28:3: ", "atoms in all"},
    {"#include \"nowhere.itp\"\n", ":1:10: ", "'nowhere.itp' was not found"},
    {"#include nowhere.itp\n", ":1:10: ", "file name"},
    {"#include \"a.top\"\n", ":1:10: ", "circle"},
    {"\n#ifdef A\n#else\n", ":2:1: ", "not closed by #endif"},
    {"#endif\n", ":1:1: ", "without an #ifdef"},
    {"#ifdef A\n#else\n#else\n#endif\n", ":3:1: ", "second #else"},
    {"#if 1\n", ":1:1: ", "#if is not supported"},
    {" #error out of order\n", ":1:2: ", "#error out of order"},
    {"#pragma x\n", ":1:1: ", "unknown preprocessor line"},
    {"#define F(x) x\n", ":1:1: ", "arguments"},
    {"#define A B\n#define B A\nA\n", ":3: ", "leads back to itself"},
    {"[ defaults ]\\", ":1:13: ", "continues"},
    {"[ defaults ]\n1 \\ ; here\n3\n", ":2:3: ", "last character"},
    {"[ defaults ]\n1 \\\n3 \\\n maybe\n", ":4:2: ", "found 'maybe'"},
    {DEFAULTS "#define S 0.3 0x1\n[ atomtypes ]\nC 12.0 0 A S\n", ":5:12: ", "found '0x1'"},
};

static void bad_input_is_placed(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_topology topology;
    tg_status status = fixture_read(cases[i].text, NULL, &topology);
    char start[256];
    snprintf(start, sizeof start, "%s%s", fixture_path("a.top"), cases[i].place);
    if (status != TG_ERR_INPUT || strncmp(tg_last_error(), start, strlen(start)) != 0 ||
        !strstr(tg_last_error(), cases[i].words))
      fail_msg("case %zu: wanted '%s' '%s', got %d '%s'", i, cases[i].place, cases[i].words, status,
               tg_last_error());
    assert_null(topology.atom_types);
  }
}

static void generated_pairs_can_be_off(void** state) {
  (void)state;
  tg_topology topology;
  const char* text = "[ defaults ]\n1 2 no\n" TYPES ATOMS "[ pairs ]\n1 4 1\n" END;
  assert_int_equal(fixture_read(text, NULL, &topology), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "gen-pairs is no"));
  assert_non_null(strstr(tg_last_error(), "(opls_156 opls_156)"));
}

static void include_errors_name_the_included_file(void** state) {
  (void)state;
  tg_topology topology;
  fixture_write("b.itp", "; b\n#include \"c.itp\"\n");
  fixture_write("c.itp", "[ atomtypes ]\nC 12.0 0 A 0.3 oops\n");
  char place[200];
  assert_int_equal(fixture_read(DEFAULTS "#include \"b.itp\"\n", NULL, &topology), TG_ERR_INPUT);
  snprintf(place, sizeof place, "%s:2:16: ", fixture_path("c.itp"));
  assert_memory_equal(tg_last_error(), place, strlen(place));

  fixture_write("c.itp", "\n  #include \"b.itp\"\n");
  assert_int_equal(fixture_read("#include \"b.itp\"\n", NULL, &topology), TG_ERR_INPUT);
  char chain[600];
  snprintf(chain, sizeof chain, "%s includes %s includes %s;", fixture_path("b.itp"),
           fixture_path("c.itp"), fixture_path("b.itp"));
  assert_non_null(strstr(tg_last_error(), chain));

  fixture_write("c.itp", "#ifdef A\n");
  assert_int_equal(fixture_read("#include \"b.itp\"\n#endif\n", NULL, &topology), TG_ERR_INPUT);
  snprintf(place, sizeof place, "%s:1:1: ", fixture_path("c.itp"));
  assert_memory_equal(tg_last_error(), place, strlen(place));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_input_is_placed),
      cmocka_unit_test(generated_pairs_can_be_off),
      cmocka_unit_test(include_errors_name_the_included_file),
  };
  return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
