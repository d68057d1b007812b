/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_output.h  The files that `throng ci solve` leaves behind: single ones by options,
 * or a folder with all of them. */
#ifndef TG_CLI_CI_OUTPUT_H
#define TG_CLI_CI_OUTPUT_H

#include "ci/observables.h"
#include "cli/ci_job.h"

enum { TG_CLI_CI_PATH = 4096 };

typedef struct tg_cli_ci_output_options {
  const char *folder, *json_file, *wave, *picture, *arrays, *restart;
  bool force;
} tg_cli_ci_output_options;

/** Where things go; "": nowhere. */
typedef struct tg_cli_ci_outputs {
  char json[TG_CLI_CI_PATH], wave[TG_CLI_CI_PATH], picture[TG_CLI_CI_PATH];
  char arrays[TG_CLI_CI_PATH], restart[TG_CLI_CI_PATH], log_path[TG_CLI_CI_PATH];
  bool goes_on;    /* the restart file is there */
  int folder_lock; /* descriptor; -1: none */
  FILE* log;       /* of the folder; NULL: none */
  char command[4096];
} tg_cli_ci_outputs;

/** "throng" and the verb's arguments, for the record. */
void tg_cli_ci_command(int argc, char** argv, char* out, size_t size);
/** TG_ERR_MACHINE where path is given and this throng was built without HDF5. */
tg_status tg_cli_ci_needs_hdf5(const char* option, const char* path);

/** What is to be written where, and whether this throng can. argc, argv: the verb's, for the
 * record. */
tg_status tg_cli_ci_outputs_open(const tg_cli_ci_output_options* options, int argc, char** argv,
                                 tg_cli_ci_outputs* out);
/** Once the job is known to be sound: makes the folder and begins its log. What would be refused
 * after the work is refused here: names, folders, files of an earlier run (without force), outputs
 * that are inputs (of the job, or operators of the list), a folder that another run writes into. */
tg_status tg_cli_ci_outputs_begin(const tg_cli_ci_output_options* options, const tg_cli_ci_job* job,
                                  const tg_ci_observable_list* list, tg_cli_ci_outputs* outputs);
/** The first of several failures, and its message. */
typedef struct tg_cli_ci_first_failure {
  tg_status status;
  char words[1024];
} tg_cli_ci_first_failure;

void tg_cli_ci_keep_failure(tg_cli_ci_first_failure* first, tg_status status);

/** Writes them, once the levels and the observables are known; what fails does not keep the others
 * away, and the first failure is returned. done: nothing failed before, so the restart file is
 * removed where all could be written. */
tg_status tg_cli_ci_outputs_write(tg_cli_ci_outputs* outputs, const tg_cli_ci_job* job,
                                  const tg_ci_spectrum* spectrum, bool done);
/** Lets go of the folder and closes the log, with the error message where the run failed. */
void tg_cli_ci_outputs_close(tg_cli_ci_outputs* outputs, tg_status status);

/* What one option of a list is; `field` is the member of the verb's structure. */
/* clang-format off */
#define TG_CLI_CI_OUTPUT_OPTIONS(type, field)                                                      \
  {"json-file", 0, TG_CLI_TEXT, offsetof(type, field.json_file), "FILE",                           \
   "write the JSON into a file, beside the table", false},                                         \
  {"picture", 0, TG_CLI_TEXT, offsetof(type, field.picture), "FILE",                               \
   "draw the level scheme, .svg", false},                                                          \
  {"wave", 0, TG_CLI_TEXT, offsetof(type, field.wave), "FILE",                                     \
   "write the wave functions, with all that is needed to use them (HDF5)", false},                 \
  {"arrays", 0, TG_CLI_TEXT, offsetof(type, field.arrays), "FILE",                                 \
   "write what --observables gave: tables, and arrays too large for one (HDF5)", false},           \
  {"output", 'o', TG_CLI_TEXT, offsetof(type, field.folder), "FOLDER",                             \
   "write levels.json, levels.svg, observables.h5 and ci.log there, and the other files unless "   \
   "they have a path (default: no folder)", false},                                                \
  {"force", 0, TG_CLI_FLAG, offsetof(type, field.force), NULL,                                     \
   "keep an earlier run's files in the folder as numbered copies", false},                         \
  {"restart", 0, TG_CLI_TEXT, offsetof(type, field.restart), "FILE",                               \
   "go on from this file where it is there; written now and then and on Ctrl-C, removed at the "   \
   "end", false}
/* clang-format on */

#endif
