/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <string.h>

#include "cli/mpi_session.h"

enum { MOST_NAMES = 64, NAME_SIZE = 64 };

bool tg_cli_speaks(void) { return tg_cli_launcher_rank() == 0; }

static bool is_help(const char* word) {
  return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The group of that name, if it has verbs. */
static const tg_cli_group* find_group(const tg_cli_table* table, const char* name) {
  size_t length = strlen(name);
  for (const tg_cli_group* group = table->groups; group->name; group++) {
    if (strcmp(group->name, name) != 0) continue;
    for (const tg_cli_verb* const* verb = table->verbs; *verb; verb++)
      if (strncmp((*verb)->name, name, length) == 0 && (*verb)->name[length] == ' ') return group;
  }
  return NULL;
}

static tg_status unknown_verb(const tg_cli_table* table, const char* name) {
  const char* names[MOST_NAMES] = {"help"};
  int count = 1;
  for (const tg_cli_verb* const* verb = table->verbs; *verb && count < MOST_NAMES; verb++)
    names[count++] = (*verb)->name;
  for (const tg_cli_group* group = table->groups; group->name && count < MOST_NAMES; group++)
    if (find_group(table, group->name)) names[count++] = group->name;
  const char* nearest = tg_cli_nearest(name, names, count);
  if (nearest)
    return tg_fail(TG_ERR_INPUT, "unknown verb '%s'; did you mean throng %s?", name, nearest);
  return tg_fail(TG_ERR_INPUT, "unknown verb '%s'; throng --help lists them", name);
}

/* A word after a group's name that is none of its verbs: the nearest, or all of them. */
static tg_status unknown_in_group(const tg_cli_table* table, const tg_cli_group* group,
                                  const char* word) {
  const char* names[MOST_NAMES];
  char list[512] = "";
  size_t start = strlen(group->name) + 1, used = 0;
  int count = 0;
  for (const tg_cli_verb* const* verb = table->verbs; *verb && count < MOST_NAMES; verb++) {
    if (strncmp((*verb)->name, group->name, start - 1) != 0 || (*verb)->name[start - 1] != ' ')
      continue;
    names[count] = (*verb)->name + start;
    if (used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", count ? ", " : "",
                               names[count]);
    count++;
  }
  const char* nearest = tg_cli_nearest(word, names, count);
  if (nearest)
    return tg_fail(TG_ERR_INPUT, "unknown verb '%s %s'; did you mean throng %s %s?", group->name,
                   word, group->name, nearest);
  return tg_fail(TG_ERR_INPUT, "unknown verb '%s %s'; throng %s has %s", group->name, word,
                 group->name, list);
}

/* Finds the verb or the group that words[0 .. count-1] begin with; *used is how many words name it.
 */
static tg_status find_verb(const tg_cli_table* table, int count, char** words,
                           const tg_cli_verb** verb, const tg_cli_group** group, int* used) {
  *verb = NULL;
  *group = find_group(table, words[0]);
  char name[NAME_SIZE];
  *used = *group && count > 1 && words[1][0] != '-' ? 2 : 1;
  snprintf(name, sizeof name, "%s%s%s", words[0], *used == 2 ? " " : "",
           *used == 2 ? words[1] : "");
  for (const tg_cli_verb* const* at = table->verbs; *at; at++)
    if (strcmp((*at)->name, name) == 0) *verb = *at;
  if (*verb || (*group && *used == 1)) return TG_OK;
  return *group ? unknown_in_group(table, *group, words[1]) : unknown_verb(table, name);
}

/* throng help [--man | VERB], throng --help */
static tg_status give_help(const tg_cli_table* table, int count, char** words) {
  if (count == 0 || is_help(words[0])) {
    if (tg_cli_speaks()) tg_cli_help_program(stdout, table);
    return TG_OK;
  }
  if (strcmp(words[0], "--man") == 0 && count == 1) {
    if (tg_cli_speaks()) tg_cli_help_man(stdout, table);
    return TG_OK;
  }
  const tg_cli_verb* verb = NULL;
  const tg_cli_group* group = NULL;
  int used = 0;
  TG_TRY(find_verb(table, count, words, &verb, &group, &used));
  if (used < count)
    return tg_fail(TG_ERR_INPUT, "unexpected word '%s' after throng help %s", words[used],
                   verb ? verb->name : group->name);
  if (!tg_cli_speaks()) return TG_OK;
  if (verb)
    tg_cli_help_verb(stdout, verb);
  else
    tg_cli_help_group(stdout, table, group);
  return TG_OK;
}

/* A verb that lets one choose how processes talk. */
static bool shares_world(const tg_cli_verb* verb) {
  for (const tg_cli_option* option = verb->options; option && option->name; option++)
    if (strcmp(option->name, "transport") == 0) return true;
  return false;
}

static tg_status run_verb(const tg_cli_verb* verb, int argc, char** argv, bool* reporter) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (is_help(argv[i])) {
      if (tg_cli_speaks()) tg_cli_help_verb(stdout, verb);
      return TG_OK;
    }
  argv[0] = (char*)verb->name; /* for messages: both words of "md run" */
  tg_status status = tg_cli_mpi_begin(argc, argv, shares_world(verb));
  if (status == TG_OK) status = verb->run(argc, argv);
  return tg_cli_mpi_end(status, reporter);
}

static tg_status run_words(const tg_cli_table* table, int argc, char** argv, bool* reporter) {
  *reporter = tg_cli_speaks();
  if (argc < 2) return tg_fail(TG_ERR_INPUT, "no verb is given; throng --help lists them");
  if (is_help(argv[1])) return give_help(table, 0, NULL);
  if (strcmp(argv[1], "help") == 0) return give_help(table, argc - 2, argv + 2);
  if (strcmp(argv[1], "--version") == 0) {
    if (*reporter) printf("throng %s\n", TG_VERSION);
    return TG_OK;
  }
  if (argv[1][0] == '-')
    return tg_fail(TG_ERR_INPUT, "unknown option %s; a verb comes first, throng --help lists them",
                   argv[1]);
  const tg_cli_verb* verb = NULL;
  const tg_cli_group* group = NULL;
  int used = 0;
  TG_TRY(find_verb(table, argc - 1, argv + 1, &verb, &group, &used));
  if (verb) return run_verb(verb, argc - used, argv + used, reporter);
  if (argc == 2)
    return tg_fail(TG_ERR_INPUT, "throng %s needs a verb; throng help %s lists them", argv[1],
                   argv[1]);
  if (is_help(argv[2])) return give_help(table, 1, argv + 1);
  return tg_fail(TG_ERR_INPUT, "unknown option %s; a verb of throng %s comes first", argv[2],
                 argv[1]);
}

int tg_cli_main(const tg_cli_table* table, int argc, char** argv) {
  bool reporter = true;
  tg_status status = run_words(table, argc, argv, &reporter);
  errno = 0;
  if ((fflush(stdout) != 0 || ferror(stdout)) && status == TG_OK) {
    status = tg_fail(TG_ERR_MACHINE, "standard output cannot be written: %s", strerror(errno));
    reporter = true;
  }
  if (status != TG_OK && reporter) fprintf(stderr, "throng: %s\n", tg_last_error());
  return (int)status;
}
