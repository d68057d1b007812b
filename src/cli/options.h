/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/options.h  Command-line options from a table: --name VALUE, --name=VALUE, -x VALUE. */
#ifndef TG_CLI_OPTIONS_H
#define TG_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** What an option's value is, and the type of the field that receives it. */
typedef enum tg_cli_kind {
  TG_CLI_FLAG,   /* bool; no value */
  TG_CLI_TEXT,   /* const char* */
  TG_CLI_LIST,   /* tg_cli_list; the option may be repeated */
  TG_CLI_CHOICE, /* const char*; one of the words in `value`, separated by '|' */
  TG_CLI_INT,    /* int */
  TG_CLI_INT64,  /* long long */
  TG_CLI_DOUBLE, /* double */
} tg_cli_kind;

enum { TG_CLI_LIST_SIZE = 64 };

typedef struct tg_cli_list {
  const char* items[TG_CLI_LIST_SIZE];
  int count;
} tg_cli_list;

/** One option. A table of them ends with a name of NULL. Fields keep what they held where the
 * option is not given: defaults are set before tg_cli_options_parse. */
typedef struct tg_cli_option {
  const char* name; /* "replicate", without dashes */
  char letter;      /* 'c' for -c; 0: none */
  tg_cli_kind kind;
  size_t offset;     /* of the field in the verb's structure: offsetof(...) */
  const char* value; /* what stands for the value in the help: "FILE"; for a choice the words */
  const char* help;  /* a sentence without a full stop, default included */
  bool required;
} tg_cli_option;

/** Reads argv[1 .. argc-1] into the structure at fields. Words that are no options go to rest, or
 * are refused where rest is NULL; after "--" all words are such. A word that begins with a dash is
 * taken for a value only if it is a number, or joined by '='. TG_ERR_INPUT names the option, what
 * was found and the nearest spelling. TG_ERR_MACHINE where the machine cannot start as many threads
 * as an option "threads" says. */
tg_status tg_cli_options_parse(const tg_cli_option* options, int argc, char** argv, void* fields,
                               tg_cli_list* rest);

/** The candidate (of count) spelled most like word, NULL if none is near. */
const char* tg_cli_nearest(const char* word, const char* const* candidates, int count);

#endif
