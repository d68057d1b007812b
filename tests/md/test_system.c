/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>

#include "base/units.h"
#include "md/input.h"
#include "md/report.h"
#include "md/system.h"

/* A chain H1-C-O-H2 (bonds with hydrogens 0.1 nm, C-O 0.15 nm) and rigid water. */
static const char topology_text[] =
    "[ defaults ]\n1 2 no 1.0 1.0\n[ atomtypes ]\n"
    "X 6 12.0 0.0 A 0.3 0.5\nO 8 16.0 0.0 A 0.3 0.5\nH 1 1.0 0.0 A 0.0 0.0\n"
    "[ moleculetype ]\nCHN 2\n[ atoms ]\n1 H 1 CHN H1 1 0.1 1.0\n2 X 1 CHN C 1 0.0 12.0\n"
    "3 O 1 CHN O 1 -0.3 16.0\n4 H 1 CHN H2 1 0.2 1.0\n"
    "[ bonds ]\n1 2 1 0.1 1000\n2 3 1 0.15 1000\n3 4 1 0.1 1000\n"
    "#ifdef POSRES\n[ position_restraints ]\n2 1 1000 1000 1000\n#endif\n"
    "[ moleculetype ]\nSOL 2\n[ atoms ]\n1 O 1 SOL OW 1 -0.8 16.0\n2 H 1 SOL HW1 1 0.4 1.0\n"
    "3 H 1 SOL HW2 1 0.4 1.0\n[ settles ]\n1 1 0.1 0.16330\n[ exclusions ]\n1 2 3\n2 1 3\n3 1 2\n"
    "[ system ]\ntest\n[ molecules ]\nCHN 2\nSOL 3\n";

enum { ATOMS = 17 };

/* The atoms on a line, 0.1 nm apart in x. */
static void write_gro(char* text, size_t size, const char* name_of_second, const char* box) {
  static const char* const chain[] = {"H1", "C", "O", "H2"};
  static const char* const water[] = {"OW", "HW1", "HW2"};
  size_t used = (size_t)snprintf(text, size, "line\n%d\n", ATOMS);
  for (int i = 0; i < ATOMS; i++) {
    const char* name = i == 1 ? name_of_second : i < 8 ? chain[i % 4] : water[(i - 8) % 3];
    used += (size_t)snprintf(text + used, size - used, "%5d%-5s%5s%5d%8.3f%8.3f%8.3f\n", 1,
                             i < 8 ? "CHN" : "SOL", name, i + 1, 0.1 * i, 0.05 * (i % 3), 0.0);
  }
  snprintf(text + used, size - used, "%s\n", box);
}

typedef struct trial {
  const char *top, *gro, *mdp, *ndx, *reference; /* texts; NULL: no such file (top, gro: usual) */
} trial;

static tg_status read_trial(const trial* t, input_log* all, tg_md_system** out) {
  char gro[4096];
  write_gro(gro, sizeof gro, "C", "2.5 2.5 2.5");
  tg_md_files files = {0};
  files.topology = input_file("t.top", t->top ? t->top : topology_text);
  files.configuration = input_file("t.gro", t->gro ? t->gro : gro);
  files.parameters = t->mdp ? input_file("t.mdp", t->mdp) : NULL;
  files.index = t->ndx ? input_file("t.ndx", t->ndx) : NULL;
  files.restraints = t->reference ? input_file("r.gro", t->reference) : NULL;
  tg_log log = {input_sink, all};
  if (all) memset(all, 0, sizeof *all);
  tg_status status = tg_md_system_read(&files, all ? &log : NULL, out);
  unlink(files.topology);
  unlink(files.configuration);
  if (files.parameters) unlink(files.parameters);
  if (files.index) unlink(files.index);
  if (files.restraints) unlink(files.restraints);
  return status;
}

static void constraints_and_groups_are_found(void** state) {
  (void)state;
  tg_md_system* s = NULL;
  trial t = {.mdp = "constraints = h-bonds\n"};
  assert_int_equal(read_trial(&t, NULL, &s), TG_OK);
  assert_int_equal(s->atom_count, ATOMS);
  assert_int_equal(s->molecule_count, 5);
  assert_int_equal(s->constraint_count, 2 * 2 + 3 * 3);
  const tg_interactions* chain = s->topology.molecule_types[0].interactions;
  assert_int_equal(chain[TG_BOND].count, 1);
  assert_int_equal(chain[TG_BOND].items[0].atoms[0], 1);
  assert_true(chain[TG_CONSTRAINT].items[1].parameters[0] == 0.1);
  assert_int_equal(s->groups[0].group_count, 2); /* H1-C and O-H2 */
  assert_int_equal(s->groups[0].atoms[3], 3);
  assert_int_equal(s->groups[1].group_count, 1);
  /* an H of water is at most (0 + dOH + dHH)/3 from the mean of the three */
  assert_true(fabs(s->group_radius - (0.1 + 0.1633) / 3) < 1e-12);
  assert_true(s->total_degrees_of_freedom == 3 * ATOMS - 13 - 3);
  assert_int_equal(s->atom_molecule[8], 2);
  assert_int_equal(s->molecule_first[5], ATOMS);
  assert_string_equal(tg_md_atom(s, 9)->name, "HW1");
  tg_md_system_destroy(&s);
  t.mdp = "constraints = all-bonds\ncomm-mode = none\n";
  assert_int_equal(read_trial(&t, NULL, &s), TG_OK);
  assert_int_equal(s->topology.molecule_types[0].interactions[TG_BOND].count, 0);
  assert_int_equal(s->groups[0].group_count, 1);
  /* H1 to the others along the chain: (0 + 0.1 + 0.25 + 0.35)/4 */
  assert_true(fabs(s->groups[0].radius - 0.7 / 4) < 1e-12);
  assert_true(s->total_degrees_of_freedom == 3 * ATOMS - 15);
  tg_md_system_destroy(&s);
  assert_null(s);
  tg_md_system_destroy(&s);
}

static void freedom_is_shared_by_groups(void** state) {
  (void)state;
  tg_md_system* s = NULL;
  trial t = {.mdp =
                 "constraints=h-bonds\ntcoupl=v-rescale\ntc-grps=Water mine\ntau-t=1 1\n"
                 "ref-t=300 310\n",
             .ndx = "[ mine ]\n1 2 3 4 5 6 7 8\n"};
  assert_int_equal(read_trial(&t, NULL, &s), TG_OK);
  /* water 27 - 9 = 18, chains 24 - 4 = 20; 3 of 38 go in proportion */
  assert_true(fabs(s->degrees_of_freedom[0] - 18 * 35.0 / 38) < 1e-12);
  assert_true(fabs(s->degrees_of_freedom[1] - 20 * 35.0 / 38) < 1e-12);
  assert_int_equal(s->temperature_group[0], 1);
  assert_int_equal(s->temperature_group[16], 0);
  tg_md_system_destroy(&s);
  t.mdp = "constraints=h-bonds\ncomm-grps=Water non-Water\n";
  assert_int_equal(read_trial(&t, NULL, &s), TG_OK);
  assert_true(fabs(s->total_degrees_of_freedom - 38.0 * (9.0 / 17 * 15 / 18 + 8.0 / 17 * 17 / 20)) <
              1e-12);
  assert_int_equal(s->comm_group_count, 2);
  tg_md_system_destroy(&s);
}

static void velocities_have_the_temperature(void** state) {
  (void)state;
  tg_md_system *s = NULL, *again = NULL;
  trial t = {.mdp = "constraints=h-bonds\ngen-vel=yes\ngen-temp=250\ngen-seed=17\n"};
  assert_int_equal(read_trial(&t, NULL, &s), TG_OK);
  assert_int_equal(read_trial(&t, NULL, &again), TG_OK);
  assert_memory_equal(s->start.v, again->start.v, ATOMS * sizeof *s->start.v);
  double twice_kinetic = 0, momentum[3] = {0};
  for (size_t i = 0; i < ATOMS; i++)
    for (int d = 0; d < 3; d++) {
      double m = tg_md_atom(s, i)->mass, v = s->start.v[i][d];
      twice_kinetic += m * v * v;
      momentum[d] += m * v;
    }
  double temperature = twice_kinetic / (s->total_degrees_of_freedom * TG_BOLTZMANN);
  assert_true(fabs(temperature - 250) < 250 * 1e-13 * ATOMS);
  for (int d = 0; d < 3; d++) assert_true(fabs(momentum[d]) < 1e-12);
  /* nothing moves along the constrained bond H1-C: 0.1 nm in x, 0.05 nm in y */
  double along =
      0.1 * (s->start.v[1][0] - s->start.v[0][0]) + 0.05 * (s->start.v[1][1] - s->start.v[0][1]);
  assert_true(fabs(along) < 1e-12);
  tg_md_system_destroy(&again);
  t.mdp = "constraints=h-bonds\ngen-vel=yes\ngen-temp=250\ngen-seed=18\n";
  assert_int_equal(read_trial(&t, NULL, &again), TG_OK);
  assert_memory_not_equal(s->start.v, again->start.v, ATOMS * sizeof *s->start.v);
  tg_md_system_destroy(&again);
  tg_md_system_destroy(&s);
}

static void reaction_field_constants(void** state) {
  (void)state;
  tg_parameters p;
  double k = 0, c = 0, scale = 0;
  assert_int_equal(tg_parameters_default(&p), TG_OK);
  tg_md_reaction_field(&p, &k, &c, &scale);
  assert_true(k == 0 && c == 1 && scale == TG_COULOMB);
  p.coulomb_type = TG_COULOMB_REACTION_FIELD;
  p.cutoff = 0.9;
  tg_md_reaction_field(&p, &k, &c, &scale);
  assert_true(fabs(k - 1 / (2 * 0.729)) < 1e-14 && fabs(c - 1.5 / 0.9) < 1e-14);
  p.epsilon_rf = 78;
  p.epsilon_r = 2;
  tg_md_reaction_field(&p, &k, &c, &scale);
  assert_true(fabs(k - 76 / (158 * 0.729)) < 1e-14 && scale == TG_COULOMB / 2);
  assert_true(fabs(1 / 0.9 + k * 0.81 - c) < 1e-14); /* zero at the cut-off */
  tg_parameters_free(&p);
}

static void read_back(FILE* stream, char* text, size_t size) {
  rewind(stream);
  text[fread(text, 1, size - 1, stream)] = '\0';
  fclose(stream);
}

static void warnings_and_the_report(void** state) {
  (void)state;
  char gro[4096];
  write_gro(gro, sizeof gro, "CA", "2.5 2.5 2.5");
  input_log all;
  tg_md_system* s = NULL;
  trial t = {.gro = gro, .mdp = "define = -DPOSRES\n", .reference = gro};
  assert_int_equal(read_trial(&t, &all, &s), TG_OK);
  assert_non_null(strstr(all.text, "1 atom names"));
  assert_non_null(strstr(all.text, "atom 2: CA and C"));
  assert_non_null(strstr(all.text, "no velocities"));
  assert_non_null(s->restraint_x);
  assert_true(s->restraint_x[3][0] == 0.3);
  FILE* stream = tmpfile();
  assert_non_null(stream);
  tg_md_system_report(s, stream);
  char text[16384] = "";
  read_back(stream, text, sizeof text);
  assert_non_null(strstr(text, "atoms        17 in 5 molecules"));
  assert_non_null(strstr(text, "degrees of freedom  39.00")); /* 51 - 9 - 3 */
  assert_non_null(strstr(text, "position restraints on"));
  stream = tmpfile();
  assert_non_null(stream);
  tg_json json = tg_json_on(stream, false);
  tg_json_open_object(&json, NULL);
  tg_md_system_report_json(s, &json);
  tg_json_close_object(&json);
  read_back(stream, text, sizeof text);
  assert_non_null(strstr(text, "\"degrees_of_freedom\": 39"));
  assert_non_null(strstr(text, "-DPOSRES"));
  tg_md_system_destroy(&s);
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  static char wrong[4096], small[4096], tilted[4096], flat[4096], moved[4096];
  memcpy(moved, topology_text, sizeof topology_text);
  char* last_count = strstr(moved, "SOL 3");
  assert_non_null(last_count);
  last_count[4] = '4';
  write_gro(wrong, sizeof wrong, "N", "2.5 2.5 2.5");
  write_gro(small, sizeof small, "C", "2.5 1.9 2.5");
  write_gro(tilted, sizeof tilted, "C", "2.5 2.5 2.5 0 0 0.5 0 0 0");
  write_gro(flat, sizeof flat, "C", "2.5 2.5 0");
  const char* reference = "t\n1\n    1SOL     OW    1   0.126   1.639   1.427\n2 2 2\n";
  const char* coupled = "tcoupl=v-rescale\ntc-grps=Water\ntau-t=1\nref-t=300\n";
  const char* overlapping = "tcoupl=v-rescale\ntc-grps=System SOL\ntau-t=1 1\nref-t=300 300\n";
  const struct {
    const char* name;
    trial t;
    const char* parts;
  } cases[] = {
      {"count", {.top = moved}, "t.gro:2: |17 atoms|t.top|has 20"},
      {"name", {.gro = wrong}, "t.gro:4: |atom 2 is N|t.top|it is C"},
      {"small box", {.gro = small}, "t.gro:20: |1.9 nm long in y|twice the cut-off"},
      {"tilted box", {.gro = tilted}, "t.gro:20: |triclinic|rectangular"},
      {"no box", {.gro = flat}, "t.gro:20: |0 nm long in z"},
      {"not all coupled", {.mdp = coupled}, "t.mdp|tc-grps|atom 1 "},
      {"overlap", {.mdp = overlapping}, "t.mdp:2: |atom 9 is in System and in SOL"},
      {"no group", {.mdp = "comm-grps=Protein\n"}, "t.mdp:1: |no group Protein"},
      {"empty group", {.mdp = "comm-grps=e\n", .ndx = "[ e ]\n"}, "t.mdp:1: |e is empty"},
      {"no output group", {.mdp = "compressed-x-grps=Q\n"}, "t.mdp|no group Q"},
      {"restraints", {.mdp = "define=-DPOSRES\n"}, "t.top|-r"},
      {"reference",
       {.mdp = "define=-DPOSRES\n", .reference = reference},
       "r.gro:2: |1 atoms|t.top"},
      {"mdp", {.mdp = "coulombtype=PME\n"}, "t.mdp:1:13: |PME"},
      {"ndx", {.ndx = "[ a ]\n18\n"}, "t.ndx:2:1: |18"},
      {"gro", {.gro = "t\n"}, "t.gro: |1 lines"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_md_system* s = NULL;
    expect_refusal(cases[i].name, read_trial(&cases[i].t, NULL, &s), cases[i].parts);
    assert_null(s);
  }
}

/* GROMACS 2022.5's grompp printed these degrees of freedom for this box. */
static void the_reference_box(void** state) {
  (void)state;
  const char* folder = TG_SOURCE_DIR "/../shared/data/md/ethanol-water";
  char gro[512], top[512];
  snprintf(gro, sizeof gro, "%s/conf.gro", folder);
  snprintf(top, sizeof top, "%s/topol.top", folder);
  if (access(gro, R_OK) != 0) skip();
  const char* mdp = input_file("box.mdp",
                               "rcoulomb=0.9\nrvdw=0.9\nconstraints=h-bonds\n"
                               "tcoupl=v-rescale\ntc-grps=SOL ETH\ntau-t=1 1\n"
                               "ref-t=300 300\n");
  tg_md_files files = {.configuration = gro, .topology = top, .parameters = mdp};
  tg_md_system* s = NULL;
  assert_int_equal(tg_md_system_read(&files, NULL, &s), TG_OK);
  unlink(mdp);
  assert_int_equal(s->constraint_count, 1500 * 3 + 125 * 6);
  assert_true(fabs(s->total_degrees_of_freedom - (3 * 5625 - 5250 - 3)) < 1e-8);
  assert_true(fabs(s->degrees_of_freedom[0] - 8997.68) < 0.005);
  assert_true(fabs(s->degrees_of_freedom[1] - 2624.32) < 0.005);
  tg_md_system_destroy(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constraints_and_groups_are_found),
      cmocka_unit_test(freedom_is_shared_by_groups),
      cmocka_unit_test(velocities_have_the_temperature),
      cmocka_unit_test(reaction_field_constants),
      cmocka_unit_test(warnings_and_the_report),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(the_reference_box),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
