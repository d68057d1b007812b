/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* Every verb, in the order of the help: X(name) stands for `const tg_cli_verb tg_cli_<name>_verb`,
 * defined in cli/<name>.c beside the function that runs it. */
#define TG_CLI_VERBS(X)                                                                            \
  X(md_check)                                                                                      \
  X(md_energy)                                                                                     \
  X(md_run)                                                                                        \
  X(md_build)                                                                                      \
  X(ci_check)                                                                                      \
  X(ci_solve)                                                                                      \
  X(ci_transitions)                                                                                \
  X(bench_md) X(bench_md_cpu) X(bench_ci) X(bench_ci_cpu) X(bench_halo) X(bench_motif) X(info)

#define DECLARE(name) extern const tg_cli_verb tg_cli_##name##_verb;
TG_CLI_VERBS(DECLARE)
#undef DECLARE

#define POINT(name) &tg_cli_##name##_verb,
static const tg_cli_verb* const VERBS[] = {TG_CLI_VERBS(POINT) NULL};
#undef POINT

static const tg_cli_group GROUPS[] = {
    {"md", "molecular dynamics of atoms"},
    {"ci", "configuration interaction: levels of nuclei and molecules"},
    {"bench", "measurements of throng's speed"},
    {NULL, NULL},
};

const tg_cli_table tg_cli_program = {VERBS, GROUPS};
