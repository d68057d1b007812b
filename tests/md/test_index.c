/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "md/index.h"
#include "md/input.h"

/* Two molecules of "LIG" (atoms of residues AAA and BBB) and three waters: 4 + 9 atoms. */
static tg_atom ligand_atoms[2] = {{.name = "C", .residue = "AAA"}, {.name = "N", .residue = "BBB"}};
static tg_atom water_atoms[3] = {{.residue = "SOL"}, {.residue = "SOL"}, {.residue = "SOL"}};
static tg_molecule_type types[2];
static tg_molecule_block blocks[2] = {{0, 2}, {1, 3}};
static tg_topology topology;

static int set_up(void** state) {
  (void)state;
  types[0] = (tg_molecule_type){.atoms = ligand_atoms, .atom_count = 2};
  static char ligand[] = "LIG", water[] = "SOL";
  types[0].name = ligand;
  types[1] = (tg_molecule_type){.name = water, .atoms = water_atoms, .atom_count = 3};
  topology = (tg_topology){
      .molecule_types = types, .molecule_type_count = 2, .blocks = blocks, .block_count = 2};
  return 0;
}

static tg_status read_text(const char* text, tg_index* out) {
  const char* path = input_file("test.ndx", text);
  tg_status status = tg_index_read(path, &topology, out);
  unlink(path);
  return status;
}

static size_t count_of(const tg_index* index, const char* name) {
  const tg_index_group* group = tg_index_find(index, name);
  return group ? group->count : 0;
}

static void default_groups_are_there(void** state) {
  (void)state;
  tg_index index;
  assert_int_equal(tg_index_read(NULL, &topology, &index), TG_OK);
  assert_int_equal(index.group_count, 7); /* System non-Water Water AAA BBB SOL LIG */
  assert_int_equal(count_of(&index, "System"), 13);
  assert_int_equal(count_of(&index, "Water"), 9);
  assert_int_equal(count_of(&index, "non-water"), 4);
  assert_int_equal(count_of(&index, "SOL"), 9); /* residue and molecule: once */
  assert_int_equal(count_of(&index, "LIG"), 4);
  const tg_index_group* b = tg_index_find(&index, "BBB");
  assert_int_equal(b->count, 2);
  assert_int_equal(b->atoms[1], 3);
  assert_null(tg_index_find(&index, "Protein"));
  tg_index_free(&index);
}

static void file_groups_are_added_and_replace(void** state) {
  (void)state;
  tg_index index;
  assert_int_equal(
      read_text("[ mine ]\n 13 1 ; last and first\n2\n[sol]\n5\n[ empty one ]\n", &index), TG_OK);
  const tg_index_group* mine = tg_index_find(&index, "Mine");
  assert_int_equal(mine->count, 3);
  assert_int_equal(mine->atoms[0], 12);
  assert_int_equal(mine->atoms[2], 1);
  assert_int_equal(count_of(&index, "SOL"), 1);
  assert_non_null(tg_index_find(&index, "empty one"));
  tg_index_free(&index);
}

static void bad_input_is_refused_with_its_place(void** state) {
  (void)state;
  static const struct {
    const char *text, *parts;
  } cases[] = {
      {"[ a ]\n1 14\n", "test.ndx:2:3: |atom 14|group a|1 to 13"},
      {"[ a ]\n0\n", ":2:1: |atom 0"},
      {"[ a ]\n-1\n", ":2:1: |atom -1"},
      {"[ a ]\n1 two 3\n", ":2:3: |'two'|not an atom number"},
      {"[ a ]\n1.5\n", ":2:1: |'1.5'"},
      {"1 2 3\n", ":1:1: |before the first group"},
      {"\n  [ a \n1\n", ":2:3: |[ name ]"},
      {"[ ]\n1\n", ":1:1: |no name"},
      {"[ a ]\n99999999999999\n", ":2:1: |not an atom number"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_index index;
    expect_refusal(cases[i].text, read_text(cases[i].text, &index), cases[i].parts);
    assert_null(index.groups);
  }
  tg_index index;
  expect_refusal("missing", tg_index_read("/nowhere/a.ndx", &topology, &index), "/nowhere/a.ndx");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(default_groups_are_there),
      cmocka_unit_test(file_groups_are_added_and_replace),
      cmocka_unit_test(bad_input_is_refused_with_its_place),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
