/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/cli.h  The verbs of the program `throng`, and how a command line becomes one of them.
 */
#ifndef TG_CLI_CLI_H
#define TG_CLI_CLI_H

#include <stdio.h>

#include "base/status.h"
#include "cli/options.h"

/** A command line that works, and what it is for. A list ends with a command of NULL. */
typedef struct tg_cli_example {
  const char* command;
  const char* meaning;
} tg_cli_example;

/** One verb. Its --help, its part of the man page and its parsing come from the same words. */
typedef struct tg_cli_verb {
  const char* name;    /* "info"; "md check" belongs to the group "md" */
  const char* summary; /* one line, no full stop */
  const char* usage;   /* what follows the name: "-c CONF -p TOPOL [options]" */
  const char* text;    /* paragraphs, parted by empty lines, not wrapped; NULL: none */
  const tg_cli_option* options;
  const tg_cli_example* examples;
  /** argv[0] is the verb's name; the options follow. Runs on every PE's process. Results go to
   * stdout (see tg_cli_speaks); a failure is reported by the caller. */
  tg_status (*run)(int argc, char** argv);
} tg_cli_verb;

/** Words over the verbs of a group. */
typedef struct tg_cli_group {
  const char* name;
  const char* summary;
} tg_cli_group;

typedef struct tg_cli_table {
  const tg_cli_verb* const* verbs; /* ends with NULL */
  const tg_cli_group* groups;      /* ends with a name of NULL; empty groups are not shown */
} tg_cli_table;

/** The program's own table (cli/verbs.c, where a verb is added). */
extern const tg_cli_table tg_cli_program;

/** Runs a command line: finds the verb, gives help, starts and ends MPI around a verb where a
 * launcher started this process, and reports a failure once, as "throng: message" on stderr.
 * Returns the exit code. */
int tg_cli_main(const tg_cli_table* table, int argc, char** argv);

/** True on the one process that writes results and words for people: PE 0. */
bool tg_cli_speaks(void);

/** The general help, one verb's, one group's; the man page. */
void tg_cli_help_program(FILE* out, const tg_cli_table* table);
void tg_cli_help_verb(FILE* out, const tg_cli_verb* verb);
void tg_cli_help_group(FILE* out, const tg_cli_table* table, const tg_cli_group* group);
void tg_cli_help_man(FILE* out, const tg_cli_table* table);

#endif
