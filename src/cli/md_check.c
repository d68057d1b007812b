/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "cli/cli.h"
#include "cli/md_job.h"
#include "md/report.h"

typedef struct check_options {
  const char *configuration, *topology, *parameters, *index, *restraints;
  tg_cli_list folders;
  bool json;
} check_options;

/* What the readers had to say, kept until the report is written. */
typedef struct remarks {
  char** lines;
  tg_log_level* levels;
  size_t count, line_capacity, level_capacity;
} remarks;

static void keep_remark(void* context, tg_log_level level, const char* line) {
  remarks* all = context;
  /* a remark that no memory can be found for is lost, the report is not */
  if (TG_RESERVE(all->count + 1, "remarks", &all->lines, &all->line_capacity) != TG_OK) return;
  if (TG_RESERVE(all->count + 1, "remarks", &all->levels, &all->level_capacity) != TG_OK) return;
  if (tg_copy_text(line, &all->lines[all->count]) != TG_OK) return;
  all->levels[all->count++] = level;
}

static void free_remarks(remarks* all) {
  for (size_t i = 0; i < all->count; i++) tg_free(all->lines[i]);
  tg_free(all->lines);
  tg_free(all->levels);
}

static void json_remarks(tg_json* json, const char* key, tg_log_level level, const remarks* all) {
  tg_json_open_array(json, key);
  for (size_t i = 0; i < all->count; i++)
    if (all->levels[i] == level) tg_json_text(json, NULL, all->lines[i]);
  tg_json_close_array(json);
}

static void print(const tg_md_system* system, const remarks* all, bool as_json) {
  if (as_json) {
    tg_json json = tg_json_on(stdout, true);
    tg_json_open_object(&json, NULL);
    tg_md_system_report_json(system, &json);
    json_remarks(&json, "notes", TG_LOG_NOTE, all);
    json_remarks(&json, "warnings", TG_LOG_WARNING, all);
    tg_json_close_object(&json);
    printf("\n");
    return;
  }
  tg_md_system_report(system, stdout);
  for (size_t i = 0; i < all->count; i++)
    printf("%s: %s\n", all->levels[i] == TG_LOG_WARNING ? "Warning" : "Note", all->lines[i]);
}

#define AT(field) offsetof(check_options, field)
static const tg_cli_option OPTIONS[] = {
    {"configuration", 'c', TG_CLI_TEXT, AT(configuration), "FILE",
     "positions, velocities and box (.gro, .g96)", true},
    {"topology", 'p', TG_CLI_TEXT, AT(topology), "FILE", "molecules and force field (.top)", true},
    {"parameters", 'f', TG_CLI_TEXT, AT(parameters), "FILE",
     "run parameters (.mdp); default: GROMACS's defaults", false},
    {"index", 'n', TG_CLI_TEXT, AT(index), "FILE", "groups of atoms (.ndx)", false},
    {"restraints", 'r', TG_CLI_TEXT, AT(restraints), "FILE",
     "reference positions of position restraints (.gro, .g96)", false},
    {"include", 'I', TG_CLI_LIST, AT(folders), "DIR", "folder to search for #include", false},
    {"json", 0, TG_CLI_FLAG, AT(json), NULL, "writes the report as JSON", false},
    {0},
};
#undef AT

static const tg_cli_example EXAMPLES[] = {
    {"throng md check " TG_CLI_MD_EXAMPLE " -f "
     "examples/ethanol-water/rf.mdp",
     "Shows what would be run."},
    {0},
};

static tg_status run_check(int argc, char** argv) {
  check_options options;
  memset(&options, 0, sizeof options);
  TG_TRY(tg_cli_options_parse(OPTIONS, argc, argv, &options, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  remarks all = {0};
  tg_log log = {keep_remark, &all};
  tg_md_files files = {
      .configuration = options.configuration,
      .topology = options.topology,
      .parameters = options.parameters,
      .index = options.index,
      .restraints = options.restraints,
      .include_folders = options.folders.items,
      .include_count = options.folders.count,
  };
  tg_md_system* system = NULL;
  tg_status status = tg_md_system_read(&files, &log, &system);
  if (status == TG_OK) print(system, &all, options.json);
  tg_md_system_destroy(&system);
  free_remarks(&all);
  return status;
}

const tg_cli_verb tg_cli_md_check_verb = {
    .name = "md check",
    .summary = "shows what would be run, key by key",
    .usage = "-c CONF -p TOPOL [-f MDP] [options]",
    .text =
        "Reads all files of a run and checks that they fit together. Shows atoms by molecule, net "
        "charge, box, cut-offs, constraints, degrees of freedom, groups, and what became of each "
        "key "
        "of the .mdp file.\n\nWarnings are listed at the end. An error names the file, the line "
        "and "
        "what was expected.",
    .options = OPTIONS,
    .examples = EXAMPLES,
    .run = run_check,
};
