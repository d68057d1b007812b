/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/md_job.h"

typedef struct fields {
  tg_cli_md_input input;
  tg_cli_md_machine machine;
  const char* forces;
  bool json;
} fields;

static const tg_cli_option options[] = {
    TG_CLI_MD_INPUT_OPTIONS(fields),
    {"forces", 0, TG_CLI_TEXT, offsetof(fields, forces), "FILE",
     "write the forces in file order, kJ/mol/nm, one atom a line", false},
    TG_CLI_MD_MACHINE_OPTIONS(fields),
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print JSON", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

static tg_status write_forces(const char* path, const tg_md_energy_result* result) {
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  fprintf(file.stream, "# fx fy fz in kJ/mol/nm, one atom a line, in file order\n");
  for (size_t i = 0; i < result->atom_count; i++)
    fprintf(file.stream, "%.9g %.9g %.9g\n", result->forces[i][0], result->forces[i][1],
            result->forces[i][2]);
  return tg_new_file_commit(&file);
}

static void print_tensor(const char* title, const double (*tensor)[3]) {
  printf("\n%s\n", title);
  for (int i = 0; i < 3; i++)
    printf("  %16.6f %16.6f %16.6f\n", tensor[i][0], tensor[i][1], tensor[i][2]);
}

static void print_text(const tg_md_energy_result* result) {
  for (int t = 0; t < result->term_count; t++)
    printf("%-16s %20.9f %s\n", tg_md_energy_label(t), result->terms[t], tg_md_energy_unit(t));
  print_tensor("virial / (kJ/mol), -1/2 sum x (outer) F", (const double(*)[3])result->virial);
  print_tensor("pressure / bar", (const double(*)[3])result->pressure);
  if (result->constraint_count)
    printf(
        "\nNote: constraint forces are not in the virial and the pressure (one configuration does "
        "not tell them); the pressure of a run has them.\n");
}

static void print_json(const tg_md_energy_result* result) {
  tg_json json = tg_json_on(stdout, true);
  tg_json_open_object(&json, NULL);
  tg_json_int(&json, "atoms", (long long)result->atom_count);
  tg_json_open_object(&json, "energies");
  for (int t = 0; t < result->term_count; t++)
    tg_json_double(&json, tg_md_energy_label(t), result->terms[t]);
  tg_json_close_object(&json);
  tg_json_doubles(&json, "virial_kJ_per_mol", &result->virial[0][0], 9);
  tg_json_doubles(&json, "pressure_bar", &result->pressure[0][0], 9);
  tg_json_bool(&json, "constraint_forces_left_out", result->constraint_count > 0);
  tg_json_close_object(&json);
}

static tg_status run(int argc, char** argv) {
  fields f = {.machine = TG_CLI_MD_MACHINE_DEFAULT};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  tg_md_job job;
  TG_TRY(tg_cli_md_job(&f.input, &f.machine, &job));
  tg_md_energy_result result;
  TG_TRY(tg_md_energy(&job, &result));
  tg_status status = TG_OK;
  if (tg_cli_speaks()) {
    if (f.forces) status = write_forces(f.forces, &result);
    if (status == TG_OK) (f.json ? print_json : print_text)(&result);
  }
  tg_md_energy_free(&result);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng md energy " TG_CLI_MD_EXAMPLE " -f "
     "examples/ethanol-water/rf.mdp --precision double",
     "every term, the virial and the pressure"},
    {"throng md energy " TG_CLI_MD_EXAMPLE " -f "
     "examples/ethanol-water/rf.mdp --forces forces.txt --json",
     "the forces into a file, the rest as JSON"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_md_energy_verb = {
    .name = "md energy",
    .summary = "energy terms, virial, pressure and forces of one configuration",
    .usage = "-c CONF -p TOPOL [-f MDP] [options]",
    .text =
        "Evaluates the configuration as it stands: nothing is constrained or minimised first. The "
        "kinetic terms are those of the velocities in the file, zero where it has none. Constraint "
        "forces are in neither the virial nor the pressure: where bonds or waters are rigid, only "
        "the "
        "pressure of a run (md run) is that of the system; the JSON key constraint_forces_left_out "
        "says so.",
    .options = options,
    .examples = examples,
    .run = run,
};
