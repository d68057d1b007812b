/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "md/input.h"
#include "md/parameters.h"
#include "md/parameters_table.h"

static tg_status read_text(const char* text, input_log* all, tg_parameters* out) {
  tg_log log = {input_sink, all};
  if (all) memset(all, 0, sizeof *all);
  const char* path = input_file("test.mdp", text);
  tg_status status = tg_parameters_read(path, 0, all ? &log : NULL, out);
  unlink(path);
  return status;
}

static const tg_parameter_line* line_of(const tg_parameters* p, const char* key) {
  for (int i = 0; i < p->line_count; i++)
    if (strcmp(p->lines[i].key, key) == 0) return &p->lines[i];
  return NULL;
}

/* The values of a GROMACS mdout.mdp made from an empty file. */
static void an_empty_file_gives_the_defaults(void** state) {
  (void)state;
  tg_parameters p;
  input_log all;
  assert_int_equal(read_text("\n; nothing\n", &all, &p), TG_OK);
  assert_int_equal(all.warnings, 0);
  assert_int_equal(p.integrator, TG_INTEGRATOR_LEAP_FROG);
  assert_true(p.dt == 0.001 && p.tinit == 0 && p.steps == 0 && p.init_step == 0);
  assert_int_equal(p.comm_mode, TG_COMM_LINEAR);
  assert_int_equal(p.nstcomm, 100);
  assert_int_equal(p.nstxout + p.nstvout + p.nstfout + p.nstxout_compressed, 0);
  assert_int_equal(p.nstlog, 1000);
  assert_int_equal(p.nstenergy, 1000);
  assert_int_equal(p.nstcalcenergy, 100);
  assert_true(p.compressed_precision == 1000);
  assert_int_equal(p.nstlist, 10);
  assert_false(p.nstlist_given);
  assert_true(p.verlet_buffer_tolerance == 0.005 && p.rlist == 1 && p.cutoff == 1);
  assert_int_equal(p.coulomb_type, TG_COULOMB_CUT_OFF);
  assert_int_equal(p.coulomb_modifier, TG_MODIFIER_POTENTIAL_SHIFT);
  assert_int_equal(p.vdw_modifier, TG_MODIFIER_POTENTIAL_SHIFT);
  assert_true(p.epsilon_r == 1 && p.epsilon_rf == 0);
  assert_int_equal(p.constraints, TG_CONSTRAIN_NONE);
  assert_int_equal(p.lincs_order, 4);
  assert_int_equal(p.lincs_iterations, 1);
  assert_true(p.lincs_warn_angle == 30);
  assert_false(p.continuation || p.generate_velocities);
  assert_int_equal(p.thermostat, TG_THERMOSTAT_NONE);
  assert_true(p.gen_temp == 300 && p.em_tolerance == 10 && p.em_step == 0.01);
  assert_true(p.gen_seed >= 0 && p.ld_seed >= 0);
  assert_int_equal(p.define_count + p.include_count + p.temperature_group_count, 0);
  tg_parameters_free(&p);
}

static void keys_and_values_are_spelled_freely(void** state) {
  (void)state;
  tg_parameters p;
  input_log all;
  assert_int_equal(
      read_text("  NST_list=5;c\r\nCoulombType = reaction_field\nRcoulomb = 0.9\nrvdw=0.9\n"
                "epsilon_rf =  78.5 ; water\ndefine = -DPOSRES -DX=2\ninclude = -I../a\n"
                "tcoupl = V-rescale\ntc_grps = A B\ntau-t = 0.05 -1\nref_t = 300 310\n"
                "dt = 0.002\ngen-vel = yes\ngen_seed = 42\nld-seed = 7\nemtol =\n",
                &all, &p),
      TG_OK);
  assert_int_equal(all.warnings, 0);
  assert_int_equal(p.nstlist, 5);
  assert_true(p.nstlist_given && p.cutoff == 0.9 && p.epsilon_rf == 78.5);
  assert_int_equal(p.coulomb_type, TG_COULOMB_REACTION_FIELD);
  assert_int_equal(p.define_count, 2);
  assert_string_equal(p.defines[1], "X=2");
  assert_string_equal(p.includes[0], "../a");
  assert_int_equal(p.temperature_group_count, 2);
  assert_string_equal(p.temperature_groups[1], "B");
  assert_true(p.tau_t[1] == -1 && p.ref_t[1] == 310);
  assert_int_equal(p.nsttcouple, 10);
  assert_true(p.gen_seed == 42 && p.ld_seed == 7 && p.em_tolerance == 10);
  assert_int_equal(line_of(&p, "nstlist")->line, 1);
  assert_int_equal(line_of(&p, "nstcomm")->line, 0);
  tg_parameters_free(&p);
}

/* nsttcouple as GROMACS 2022.5 chose it for dt = 0.002 ps. */
static void the_coupling_period_is_chosen(void** state) {
  (void)state;
  static const struct {
    const char *thermostat, *tau;
    int period;
  } cases[] = {{"v-rescale", "0.002", 10}, {"v-rescale", "0.2", 10}, {"berendsen", "0.004", 1},
               {"berendsen", "0.01", 1},   {"berendsen", "0.02", 2}, {"berendsen", "0.0201", 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[256];
    snprintf(text, sizeof text, "dt=0.002\ntcoupl=%s\ntc-grps=System\ntau-t=%s\nref-t=300\n",
             cases[i].thermostat, cases[i].tau);
    tg_parameters p;
    assert_int_equal(read_text(text, NULL, &p), TG_OK);
    assert_int_equal(p.nsttcouple, cases[i].period);
    tg_parameters_free(&p);
  }
}

static void what_does_not_apply_is_said(void** state) {
  (void)state;
  tg_parameters p;
  input_log all;
  assert_int_equal(
      read_text("pcoupl = no\nfourierspacing = 0.1\ntitle = x\nunconstrained-start = yes\n"
                "nstlits = 4\nelectric-field-x = 0 0 0 0\npull_coord1_k = 3\n"
                "nstenergy = 250\nannealing = no no\nuserint1 = 3\n",
                &all, &p),
      TG_OK);
  assert_int_equal(all.warnings, 4);
  assert_non_null(strstr(all.text, ":3: title is obsolete"));
  assert_non_null(strstr(all.text, ":4: unconstrained-start is the old name of continuation"));
  assert_non_null(strstr(all.text, ":5: nstlits is not a known parameter"));
  assert_non_null(strstr(all.text, "did you mean nstlist?"));
  assert_non_null(strstr(all.text, "nstenergy = 250 is not a multiple of nstcalcenergy = 100"));
  assert_true(p.continuation);
  assert_int_equal(p.nstenergy, 300);
  assert_int_equal(p.nstlist, 10);
  assert_non_null(strstr(line_of(&p, "fourierspacing")->effect, "not used"));
  tg_parameters_free(&p);
}

static void bad_input_is_refused_with_its_place(void** state) {
  (void)state;
  static const struct {
    const char *text, *parts;
  } cases[] = {
      {"coulombtype = PME", "test.mdp:1:15:|coulombtype = PME|Reaction-Field"},
      {"\npcoupl = Parrinello-Rahman", ":2:10:|pcoupl = Parrinello-Rahman|supported: no"},
      {"rcoulomb = 1.2\nrvdw = 1.0", ":2: |rcoulomb = 1.2|rvdw = 1 "},
      {"rcoulomb = 0.9", ":1: |rvdw = 1 "},
      {"dt = 0", ":1: |dt = 0"},
      {"dt = -0.001", "dt = -0.001"},
      {"dt = nan", ":1:6: |dt = nan|a number"},
      {"dt = 0.001 ps", ":1:12: |one value|'ps'"},
      {"nstlist = 0", ":1: |nstlist = 0"},
      {"lincs-order = 2000000000", ":1: |lincs-order = 2000000000|1 to 64"},
      {"lincs-iter = 65", ":1: |lincs-iter = 65|1 to 64"},
      {"nstlist = 1.5", ":1:11: |whole number"},
      {"nstlist = 10\nnst-list = 20", ":2:1: |twice|line 1"},
      {"nsteps 5", ":1:1: |key = value"},
      {"= 5", ":1:1: |no key"},
      {"nsteps = -2", "nsteps = -2|or -1"},
      {"nsteps = 99999999999999999999", "whole number"},
      {"integrator = sd", "integrator = sd|v-rescale"},
      {"integrator = mdd", "unknown value|md, steep"},
      {"tcoupl = nose-hoover", "tcoupl = nose-hoover|v-rescale"},
      {"tcoupl = v-rescale", ":1: |tc-grps names no group"},
      {"tcoupl = v-rescale\ntc-grps = A B\ntau-t = 1\nref-t = 1 2",
       ":3: |2 groups|tau-t: 1, of ref-t: 2"},
      {"tcoupl = v-rescale\ntc-grps = A\ntau-t = 1\nref-t = x", ":4:9: |ref-t = x"},
      {"tc-grps = A\ntau-t = 1\nref-t = -3", "ref-t = -3"},
      {"constraints = h-angles", "h-angles|h-bonds"},
      {"constraint-algorithm = SHAKE", "SHAKE|LINCS"},
      {"cutoff-scheme = group", "group|Verlet"},
      {"vdwtype = Switch", "vdwtype = Switch|Cut-off"},
      {"vdw-modifier = Force-switch", "Force-switch|Potential-shift"},
      {"DispCorr = EnerPres", "DispCorr = EnerPres"},
      {"free_energy = yes", "free_energy = yes"},
      {"freezegrps = SOL", "freezegrps = SOL|restraints"},
      {"electric-field-x = 0 0 1 0", "electric-field-x"},
      {"pbc = no", "pbc = no|xyz"},
      {"comm-mode = angular", "angular|Linear"},
      {"verlet-buffer-tolerance = -1\nrlist = 0.5", ":2: |rlist = 0.5"},
      {"verlet-buffer-tolerance = -0.5", "or -1"},
      {"coulombtype = Reaction-Field\nepsilon-rf = 0.5", ":2: |epsilon-rf = 0.5"},
      {"epsilon-r = 0", "epsilon-r = 0"},
      {"define = POSRES", ":1:10: |-DPOSRES"},
      {"gen-vel = maybe", "gen-vel = maybe|yes or no"},
      {"lincs-order = 0", "lincs-order = 0"},
      {"emstep = 0", "emstep = 0"},
      {"mts = yes", "mts = yes"},
      {"awh = yes", "awh = yes"},
      {"nstcomm = -1", "nstcomm = -1"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tg_parameters p;
    tg_status status = read_text(cases[i].text, NULL, &p);
    expect_refusal(cases[i].text, status, cases[i].parts);
    assert_null(p.lines); /* outputs are set on success only */
  }
  tg_parameters p;
  expect_refusal("missing", tg_parameters_read("/nowhere/a.mdp", 0, NULL, &p), "/nowhere/a.mdp");
  expect_refusal("folder", tg_parameters_read(TG_SOURCE_DIR, 0, NULL, &p), "folder");
}

static void no_key_is_listed_twice(void** state) {
  (void)state;
  size_t total = tg_mdp_key_count + tg_mdp_other_count;
  for (size_t i = 0; i < total; i++)
    for (size_t j = 0; j < i; j++) {
      size_t keys = tg_mdp_key_count;
      const char* a = i < keys ? tg_mdp_keys[i].name : tg_mdp_others[i - keys].name;
      const char* b = j < keys ? tg_mdp_keys[j].name : tg_mdp_others[j - keys].name;
      if (tg_mdp_same(a, b)) fail_msg("%s and %s are the same key", a, b);
    }
  for (size_t i = 0; i < tg_mdp_other_count; i++) {
    if (tg_mdp_others[i].rule != TG_MDP_RENAMED) continue;
    const char* today = tg_mdp_others[i].words;
    assert_true(tg_mdp_find_key(today) || tg_mdp_find_other(today));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_file_gives_the_defaults),
      cmocka_unit_test(keys_and_values_are_spelled_freely),
      cmocka_unit_test(the_coupling_period_is_chosen),
      cmocka_unit_test(what_does_not_apply_is_said),
      cmocka_unit_test(bad_input_is_refused_with_its_place),
      cmocka_unit_test(no_key_is_listed_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
