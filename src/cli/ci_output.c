/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ci_output.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "ci/restart.h"
#include "ci/tables_file.h"
#include "ci/wave_file.h"
#include "cli/ci_picture.h"
#include "cli/ci_report.h"

/* ---- before the work ---- */

/* In the folder, unless it has a path of its own; "" where it is not asked for. */
static tg_status place(const char* folder, const char* name, char* out) {
  if (!name) return TG_OK;
  return tg_path_join(folder && !strchr(name, '/') ? folder : "", name, out, TG_CLI_CI_PATH);
}

enum { FILES = 6 };

/* What is or may be written, the log last. */
static void list_files(const tg_cli_ci_outputs* out, const char* all[FILES]) {
  const char* const files[FILES] = {out->json, out->picture, out->arrays,
                                    out->wave, out->restart, out->log_path};
  memcpy(all, files, sizeof files);
}

static tg_status not_over(const char* output, const char* input) {
  if (!tg_path_same(output, input)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s: is an input of this run (%s) and would be written over; give the output "
                 "another name",
                 output, input);
}

/* Operators of the list come from files, "FILE.opme" or the first part of "FILE.opme:100:1". */
static tg_status not_over_operators(const char* output, const tg_ci_observable_list* list) {
  char path[TG_CLI_CI_PATH];
  for (size_t i = 0; i < list->count; i++) {
    const char* end = list->argument[i] ? strstr(list->argument[i], ".opme") : NULL;
    if (!end) continue;
    snprintf(path, sizeof path, "%.*s", (int)(end + strlen(".opme") - list->argument[i]),
             list->argument[i]);
    TG_TRY(not_over(output, path));
  }
  return TG_OK;
}

/* Nothing is written twice, and never over an input. */
static tg_status check_apart(const tg_cli_ci_job* job, const tg_ci_observable_list* list,
                             const tg_cli_ci_outputs* out) {
  const char* all[FILES];
  list_files(out, all);
  for (int i = 0; i < FILES; i++) {
    if (!*all[i]) continue;
    for (int k = 0; k < i; k++)
      if (*all[k] && tg_path_same(all[i], all[k]))
        return tg_fail(TG_ERR_INPUT, "%s: is to be two files at once; give them different names",
                       all[i]);
    for (size_t k = 0; k < job->input.fact_count; k++)
      TG_TRY(not_over(all[i], job->input.facts[k].path));
    if (job->partition) TG_TRY(not_over(all[i], job->partition));
    TG_TRY(not_over_operators(all[i], list));
  }
  return TG_OK;
}

/* HDF5 cannot write into devices and pipes. */
static tg_status check_plain(const char* path) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return tg_fail(TG_ERR_INPUT, "%s: is a device or a pipe; HDF5 needs a plain file", path);
  return tg_new_file_check(path);
}

static tg_status check_names(const tg_cli_ci_outputs* out) {
  if (*out->json) TG_TRY(tg_new_file_check(out->json));
  if (*out->picture) TG_TRY(tg_cli_ci_picture_check(out->picture));
  if (*out->wave) TG_TRY(check_plain(out->wave));
  if (*out->arrays) TG_TRY(check_plain(out->arrays));
  return TG_OK;
}

/* Results of an earlier run are refused without force; a log without results, as an interrupted run
 * leaves it, is gone on with. *results: there are some. */
static tg_status check_earlier(bool force, const tg_cli_ci_outputs* out, bool* results) {
  const char* all[FILES];
  list_files(out, all);
  *results = false;
  for (int i = 0; i < FILES; i++) {
    if (!*all[i] || all[i] == out->restart || !tg_path_exists(all[i])) continue;
    if (all[i] == out->log_path && !*results) continue;
    if (!force)
      return tg_fail(TG_ERR_INPUT,
                     "%s: is there from an earlier run; keep it as a numbered copy (--force), or "
                     "choose another folder (-o)",
                     all[i]);
    *results = true;
  }
  return TG_OK;
}

/* Whatever would be refused is refused before a file of an earlier run is touched. */
static tg_status open_folder(const tg_cli_ci_output_options* o, tg_cli_ci_outputs* out) {
  const char* all[FILES];
  bool results;
  TG_TRY(tg_folder_make(o->folder));
  TG_TRY(tg_folder_lock(o->folder, &out->folder_lock));
  TG_TRY(check_earlier(o->force, out, &results));
  TG_TRY(check_names(out));
  list_files(out, all);
  for (int i = 0; i < FILES && results; i++)
    if (*all[i] && all[i] != out->restart) TG_TRY(tg_file_keep_copy(all[i]));
  return tg_file_open(out->log_path, "a", &out->log);
}

tg_status tg_cli_ci_needs_hdf5(const char* option, const char* path) {
  if (!path || tg_ci_results_library()) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "%s %s: this throng was built without HDF5, which the file needs; ./dev build "
                 "installs libhdf5-dev and builds again (cmake alone: install it first)",
                 option, path);
}

void tg_cli_ci_command(int argc, char** argv, char* out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "throng");
  for (int i = 0; i < argc && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, " %s", argv[i]);
}

tg_status tg_cli_ci_outputs_open(const tg_cli_ci_output_options* o, int argc, char** argv,
                                 tg_cli_ci_outputs* out) {
  const bool hdf5 = tg_ci_results_library() != NULL, all = o->folder != NULL;
  memset(out, 0, sizeof *out);
  out->folder_lock = -1;
  tg_cli_ci_command(argc, argv, out->command, sizeof out->command);
  TG_TRY(tg_cli_ci_needs_hdf5("--wave", o->wave));
  TG_TRY(tg_cli_ci_needs_hdf5("--arrays", o->arrays));
  if (o->force && !all)
    return tg_fail(TG_ERR_INPUT, "--force is about the files of a folder: give one (-o FOLDER)");
  const char *json = all ? "levels.json" : NULL, *picture = all ? "levels.svg" : NULL;
  const char *arrays = all && hdf5 ? "observables.h5" : NULL, *log = all ? "ci.log" : NULL;
  TG_TRY(place(o->folder, o->json_file ? o->json_file : json, out->json));
  TG_TRY(place(o->folder, o->picture ? o->picture : picture, out->picture));
  TG_TRY(place(o->folder, o->arrays ? o->arrays : arrays, out->arrays));
  TG_TRY(place(o->folder, o->wave, out->wave));
  TG_TRY(place(o->folder, o->restart, out->restart));
  TG_TRY(place(o->folder, log, out->log_path));
  out->goes_on = *out->restart && tg_path_exists(out->restart);
  return TG_OK;
}

static void begin_log(const tg_cli_ci_outputs* outputs, const tg_cli_ci_job* job) {
  char now[64];
  const time_t seconds = time(NULL);
  struct tm utc;
  gmtime_r(&seconds, &utc);
  strftime(now, sizeof now, "%Y-%m-%d %H:%M:%S UTC", &utc);
  fprintf(outputs->log, "%s\nthrong %s, %s%s\n", outputs->command, TG_VERSION, now,
          outputs->goes_on ? "; goes on" : "");
  for (size_t i = 0; i < job->input.fact_count; i++)
    fprintf(outputs->log, "input %s: %s\n", job->input.facts[i].path,
            tg_ci_format_name(job->input.facts[i].format));
  for (size_t i = 0; i < job->input.notes.count; i++)
    fprintf(outputs->log, "Note: %s\n", job->input.notes.line[i]);
  fflush(outputs->log);
}

tg_status tg_cli_ci_outputs_begin(const tg_cli_ci_output_options* options, const tg_cli_ci_job* job,
                                  const tg_ci_observable_list* list, tg_cli_ci_outputs* outputs) {
  TG_TRY(check_apart(job, list, outputs));
  TG_TRY(options->folder ? open_folder(options, outputs) : check_names(outputs));
  if (outputs->log) begin_log(outputs, job);
  return TG_OK;
}

/* ---- after it ---- */

void tg_cli_ci_keep_failure(tg_cli_ci_first_failure* first, tg_status status) {
  if (status == TG_OK || first->status != TG_OK) return;
  first->status = status;
  snprintf(first->words, sizeof first->words, "%s", tg_last_error());
}

static tg_status write_json(const char* path, const tg_cli_ci_job* job,
                            const tg_ci_spectrum* spectrum) {
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  tg_cli_ci_json(file.stream, job, spectrum);
  return tg_new_file_commit(&file);
}

tg_status tg_cli_ci_outputs_write(tg_cli_ci_outputs* outputs, const tg_cli_ci_job* job,
                                  const tg_ci_spectrum* spectrum, bool done) {
  tg_cli_ci_first_failure first = {.status = TG_OK};
  if (*outputs->wave)
    tg_cli_ci_keep_failure(
        &first, tg_ci_wave_write(outputs->wave, &job->problem, spectrum, outputs->command));
  if (*outputs->arrays && (job->tables.table_count || job->tables.data_count))
    tg_cli_ci_keep_failure(&first,
                           tg_ci_tables_write(outputs->arrays, &job->tables, outputs->command));
  if (*outputs->picture)
    tg_cli_ci_keep_failure(&first, tg_cli_ci_picture(outputs->picture, job, spectrum));
  if (*outputs->json) tg_cli_ci_keep_failure(&first, write_json(outputs->json, job, spectrum));
  if (outputs->log) {
    fputc('\n', outputs->log);
    tg_cli_ci_print(outputs->log, job, spectrum, outputs->arrays);
    if (first.status != TG_OK) fprintf(outputs->log, "%s\n", first.words);
    tg_cli_ci_keep_failure(&first, tg_file_close(&outputs->log, outputs->log_path));
  }
  if (first.status != TG_OK) return tg_fail(first.status, "%s", first.words);
  if (*outputs->restart && done) tg_ci_restart_remove(&job->problem, outputs->restart);
  return TG_OK;
}

void tg_cli_ci_outputs_close(tg_cli_ci_outputs* outputs, tg_status status) {
  if (outputs->folder_lock >= 0) close(outputs->folder_lock);
  outputs->folder_lock = -1;
  if (!outputs->log) return;
  if (status != TG_OK) fprintf(outputs->log, "%s\n", tg_last_error());
  fclose(outputs->log);
  outputs->log = NULL;
}
