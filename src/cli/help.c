/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"

enum { TEXT_COLUMNS = 80, OPTION_COLUMN = 26 };

/* Words wrapped between indent and TEXT_COLUMNS, the first line continued at column. Ends the line.
 */
static void write_wrapped(FILE* out, const char* text, int indent, int column) {
  while (*text) {
    int length = (int)strcspn(text, " \n");
    if (column > indent && column + 1 + length > TEXT_COLUMNS) {
      fputc('\n', out);
      column = 0;
    }
    if (column < indent) {
      fprintf(out, "%*s", indent - column, "");
      column = indent;
    } else if (column > indent) {
      fputc(' ', out);
      column++;
    }
    fprintf(out, "%.*s", length, text);
    column += length;
    text += length;
    if (text[0] == '\n' && text[1] == '\n') {
      fputs("\n\n", out);
      column = 0;
    }
    text += strspn(text, " \n");
  }
  fputc('\n', out);
}

static bool in_group(const tg_cli_verb* verb, const tg_cli_group* group) {
  size_t length = strlen(group->name);
  return strncmp(verb->name, group->name, length) == 0 && verb->name[length] == ' ';
}

static void write_summary(FILE* out, const char* name, const char* summary) {
  fprintf(out, "  %-16s", name);
  write_wrapped(out, summary, 18, 18);
}

static void write_option(FILE* out, const tg_cli_option* option) {
  int column = option->letter ? fprintf(out, "  -%c, --%s", option->letter, option->name)
                              : fprintf(out, "      --%s", option->name);
  if (option->kind != TG_CLI_FLAG) column += fprintf(out, " %s", option->value);
  if (column + 2 > OPTION_COLUMN) {
    fputc('\n', out);
    column = 0;
  }
  fprintf(out, "%*s", OPTION_COLUMN - column, "");
  char words[1024];
  snprintf(words, sizeof words, "%s%s%s", option->help,
           option->kind == TG_CLI_LIST ? "; may be repeated" : "",
           option->required ? " (needed)" : "");
  write_wrapped(out, words, OPTION_COLUMN, OPTION_COLUMN);
}

void tg_cli_help_verb(FILE* out, const tg_cli_verb* verb) {
  fprintf(out, "Usage: throng %s %s\n\n", verb->name, verb->usage);
  write_wrapped(out, verb->summary, 0, 0);
  if (verb->text) {
    fputc('\n', out);
    write_wrapped(out, verb->text, 0, 0);
  }
  fputs("\nOptions:\n", out);
  for (const tg_cli_option* option = verb->options; option->name; option++)
    write_option(out, option);
  write_option(out, &(tg_cli_option){.name = "help", .letter = 'h', .help = "shows this help"});
  if (verb->examples->command) fputs("\nExamples:\n", out);
  for (const tg_cli_example* example = verb->examples; example->command; example++) {
    fprintf(out, "  %s\n", example->command);
    write_wrapped(out, example->meaning, 6, 0);
  }
}

void tg_cli_help_group(FILE* out, const tg_cli_table* table, const tg_cli_group* group) {
  fprintf(out, "Usage: throng %s VERB [options]\n\n%s\n\nVerbs:\n", group->name, group->summary);
  for (const tg_cli_verb* const* verb = table->verbs; *verb; verb++)
    if (in_group(*verb, group)) write_summary(out, (*verb)->name, (*verb)->summary);
  fprintf(out, "\n`throng help %s VERB` explains one of them.\n", group->name);
}

static const char OVERVIEW[] =
    "throng simulates many bodies: molecular dynamics, and configuration interaction, the levels "
    "of nuclei and molecules; both on the cores of one machine, over several processes, or on "
    "GPUs. Started by an MPI launcher, its processes work on one calculation together.";

/* One line per status of status.h, by way of the callback. */
static void each_exit_code(void (*write)(FILE* out, int code, const char* text), FILE* out) {
#define EXIT_CODE(name, code, text) write(out, code, text);
  TG_STATUS_LIST(EXIT_CODE)
#undef EXIT_CODE
}

static void write_exit_code(FILE* out, int code, const char* text) {
  fprintf(out, "  %3d  %s\n", code, text);
}

void tg_cli_help_program(FILE* out, const tg_cli_table* table) {
  fputs("Usage: throng VERB [options]\n\n", out);
  write_wrapped(out, OVERVIEW, 0, 0);
  fputs("\nVerbs:\n", out);
  for (const tg_cli_verb* const* verb = table->verbs; *verb; verb++)
    write_summary(out, (*verb)->name, (*verb)->summary);
  write_summary(out, "help [VERB]", "explains a verb; with --man writes the manual page");
  fputs("\nOptions:\n", out);
  write_option(out, &(tg_cli_option){.name = "help", .letter = 'h', .help = "shows this help"});
  write_option(out, &(tg_cli_option){.name = "version", .help = "shows the version"});
  fputs("\nExit status:\n", out);
  each_exit_code(write_exit_code, out);
}

/* Text for roff: no escape, and no request at the start of a line. */
static void write_roff(FILE* out, const char* text) {
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", out);
    line_start = *text == '\n';
    switch (*text) {
      case '\\': fputs("\\e", out); break;
      case '-': fputs("\\-", out); break;
      case '\'': fputs("\\(aq", out); break;
      case '`': fputs("\\(ga", out); break;
      case '^': fputs("\\(ha", out); break;
      case '~': fputs("\\(ti", out); break;
      case '\n':
        fputc('\n', out);
        if (text[1] == '\n') {
          fputs(".PP\n", out);
          text++;
        }
        break;
      default: fputc(*text, out);
    }
  }
  fputc('\n', out);
}

static void man_exit_code(FILE* out, int code, const char* text) {
  fprintf(out, ".TP\n.B %d\n", code);
  write_roff(out, text);
}

static void man_option(FILE* out, const tg_cli_option* option) {
  fputs(".TP\n", out);
  if (option->letter) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
  fputs("\\fB\\-\\-", out);
  for (const char* at = option->name; *at; at++) fprintf(out, "%s%c", *at == '-' ? "\\" : "", *at);
  fputs("\\fR", out);
  if (option->kind == TG_CLI_CHOICE)
    fprintf(out, " %s", option->value);
  else if (option->kind != TG_CLI_FLAG)
    fprintf(out, " \\fI%s\\fR", option->value);
  fputc('\n', out);
  write_roff(out, option->help);
  if (option->kind == TG_CLI_LIST) fputs("May be repeated.\n", out);
  if (option->required) fputs("(needed)\n", out);
}

static void man_verb(FILE* out, const tg_cli_verb* verb) {
  fputs(".SS ", out);
  write_roff(out, verb->name);
  fprintf(out, ".B throng %s\n", verb->name);
  write_roff(out, verb->usage);
  fputs(".PP\n", out);
  write_roff(out, verb->summary);
  if (verb->text) {
    fputs(".PP\n", out);
    write_roff(out, verb->text);
  }
  for (const tg_cli_option* option = verb->options; option->name; option++) man_option(out, option);
  for (const tg_cli_example* example = verb->examples; example->command; example++) {
    fputs(".PP\nExample: ", out);
    write_roff(out, example->meaning);
    fputs(".PP\n.RS 4\n.nf\n", out);
    write_roff(out, example->command);
    fputs(".fi\n.RE\n", out);
  }
}

void tg_cli_help_man(FILE* out, const tg_cli_table* table) {
  fprintf(out, ".TH THRONG 1 \"%s\" \"throng %s\" \"User commands\"\n", TG_RELEASE_DATE,
          TG_VERSION);
  fputs(".SH NAME\nthrong \\- simulates many bodies\n.SH SYNOPSIS\n", out);
  fputs(".B throng\n\\fIVERB\\fR [\\fIoptions\\fR]\n.br\n.B throng help\n[\\fIVERB\\fR]\n", out);
  fputs(".br\n.B throng \\-\\-version\n.SH DESCRIPTION\n", out);
  write_roff(out, OVERVIEW);
  fputs(".SH VERBS\n", out);
  for (const tg_cli_verb* const* verb = table->verbs; *verb; verb++) man_verb(out, *verb);
  fputs(".SH EXIT STATUS\n", out);
  each_exit_code(man_exit_code, out);
}
