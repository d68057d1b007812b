/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/md_job.h"
#include "md/build.h"

typedef struct build_options {
  const char *configuration, *topology, *water, *replicate, *output;
  tg_cli_list includes;
  double velocities;
  long long seed;
  bool force;
} build_options;

static const tg_cli_option options[] = {
    {"configuration", 'c', TG_CLI_TEXT, offsetof(build_options, configuration), "FILE",
     "positions to replicate (.gro, .g96)", false},
    {"topology", 'p', TG_CLI_TEXT, offsetof(build_options, topology), "FILE", "their topology",
     false},
    {"include", 'I', TG_CLI_LIST, offsetof(build_options, includes), "FOLDER",
     "where to look for included files", false},
    {"replicate", 0, TG_CLI_TEXT, offsetof(build_options, replicate), "NXxNYxNZ",
     "copies along each box vector (1x1x1)", false},
    {"water", 0, TG_CLI_TEXT, offsetof(build_options, water), "XxYxZ",
     "a box of SPC/E water instead, edges in nm", false},
    {"velocities", 0, TG_CLI_DOUBLE, offsetof(build_options, velocities), "K",
     "draw velocities for this temperature, that keep the topology's own constraints (water: 300; "
     "otherwise those of the file are copied; bonds that an .mdp file constrains: use its gen-vel)",
     false},
    {"seed", 0, TG_CLI_INT64, offsetof(build_options, seed), "N", "of all random numbers (1)",
     false},
    {"output", 'o', TG_CLI_TEXT, offsetof(build_options, output), "FOLDER",
     "where the new files go", true},
    {"force", 0, TG_CLI_FLAG, offsetof(build_options, force), NULL,
     "keep files of the same names as numbered copies", false},
    {0},
};

static const tg_cli_example examples[] = {
    {"throng md build --water 3.0x3.0x3.0 -o water",
     "902 molecules of water, with the parameters to minimise and to run it"},
    {"throng md build " TG_CLI_MD_EXAMPLE " "
     "--replicate 2x2x2 -o big",
     "a box eight times as large"},
    {0},
};

/* "3.0x3x3" into three numbers. */
static tg_status parse_three(const char* option, const char* text, double out[3]) {
  const char* next = text;
  for (int k = 0; k < 3; k++) {
    int length = 0;
    while (next[length] != '\0' && next[length] != 'x') length++;
    if (!tg_parse_double(next, length, &out[k]) || (next[length] == 'x') != (k < 2))
      return tg_fail(TG_ERR_INPUT, "--%s: found \"%s\"; expected three numbers as in 3x3x2", option,
                     text);
    next += length + 1;
  }
  return TG_OK;
}

static tg_status build_copies(const build_options* o) {
  double copies[3] = {1, 1, 1};
  if (!o->configuration || !o->topology)
    return tg_fail(TG_ERR_INPUT, "throng md build needs -c and -p, or --water XxYxZ");
  if (o->replicate) TG_TRY(parse_three("replicate", o->replicate, copies));
  tg_md_build_params params = {.temperature = o->velocities, .seed = (uint64_t)o->seed};
  for (int k = 0; k < 3; k++) {
    if (!(copies[k] >= 1 && copies[k] <= 1e6 && copies[k] == floor(copies[k])))
      return tg_fail(TG_ERR_INPUT, "--replicate: found \"%s\"; expected whole numbers from 1",
                     o->replicate);
    params.copies[k] = (int)copies[k];
  }
  tg_topology_options search = {.include_folders = o->includes.items,
                                .include_count = o->includes.count};
  tg_log silent = {0};
  return tg_md_build_replicate(o->configuration, o->topology, &search, &silent, &params, o->output);
}

static tg_status run(int argc, char** argv) {
  build_options o = {.velocities = -1, .seed = 1};
  double edges[3];
  TG_TRY(tg_cli_options_parse(options, argc, argv, &o, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  if (!o.force) TG_TRY(tg_md_build_check_room(o.output));
  if (!o.water) {
    TG_TRY(build_copies(&o));
  } else if (o.configuration || o.topology || o.replicate) {
    return tg_fail(TG_ERR_INPUT, "--water makes its own files; leave -c, -p and --replicate out");
  } else {
    TG_TRY(parse_three("water", o.water, edges));
    TG_TRY(tg_md_build_water(edges, o.velocities < 0 ? 300 : o.velocities, (uint64_t)o.seed,
                             o.output));
  }
  printf("wrote %s/conf.gro and %s/topol.top%s\n", o.output, o.output,
         o.water ? ", em.mdp, rf.mdp" : "");
  if (o.water)
    printf(
        "Minimise first (the box starts at some 10 kbar), then simulate:\n"
        "  throng md run -c %s/conf.gro -p %s/topol.top -f %s/em.mdp -o %s/em\n"
        "  throng md run -c %s/em/confout.gro -p %s/topol.top -f %s/rf.mdp -o %s/run\n",
        o.output, o.output, o.output, o.output, o.output, o.output, o.output, o.output);
  return TG_OK;
}

const tg_cli_verb tg_cli_md_build_verb = {
    .name = "md build",
    .summary = "makes inputs: a system replicated, or a box of water",
    .usage = "(-c CONF -p TOPOL --replicate NXxNYxNZ | --water XxYxZ) -o FOLDER [options]",
    .text =
        "A box of water is a lattice, turned at random: it starts at a pressure of some 10 kbar. "
        "Minimise it first: throng md run -c FOLDER/conf.gro -p FOLDER/topol.top -f FOLDER/em.mdp "
        "-o FOLDER/em; then simulate from FOLDER/em/confout.gro with FOLDER/rf.mdp, which draws "
        "velocities.",
    .options = options,
    .examples = examples,
    .run = run,
};
