/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the whole engine share: the example's files, a temporary folder, comparisons. */
#ifndef TG_TESTS_MD_ENGINE_CASE_H
#define TG_TESTS_MD_ENGINE_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <throng/md.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "md/checkpoint.h"
#include "md/configuration.h"

enum { ENGINE_ATOMS = 5625 };
static const double ENGINE_BOX = 3.81597;
#define ENGINE_EXAMPLE TG_SOURCE_DIR "/examples/ethanol-water/"

static char engine_folder[64];

__attribute__((unused)) static int engine_set_up(void** state) {
  (void)state;
  snprintf(engine_folder, sizeof engine_folder, "/tmp/throng-engine-XXXXXX");
  return mkdtemp(engine_folder) ? 0 : -1;
}

__attribute__((unused)) static int engine_tear_down(void** state) {
  (void)state;
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", engine_folder);
  return system(command);
}

/** A path in the temporary folder; one of eight buffers in turn. */
__attribute__((unused)) static const char* engine_path(const char* name) {
  static char paths[8][256];
  static int next;
  char* path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", engine_folder, name);
  return path;
}

__attribute__((unused)) static void engine_ok(tg_status status) {
  if (status != TG_OK) fail_msg("%s: %s", tg_status_text(status), tg_last_error());
}

/** The example with one of its own .mdp files, or none yet. */
__attribute__((unused)) static tg_md_job engine_job(const char* mdp) {
  static char path[512];
  tg_md_job job;
  tg_md_job_default(&job);
  job.configuration = ENGINE_EXAMPLE "conf.gro";
  job.topology = ENGINE_EXAMPLE "topol.top";
  if (mdp) {
    snprintf(path, sizeof path, ENGINE_EXAMPLE "%s", mdp);
    job.parameters = path;
  }
  return job;
}

__attribute__((unused)) static void engine_write_mdp(const char* name, const char* text) {
  FILE* stream = fopen(engine_path(name), "w");
  assert_non_null(stream);
  fputs(text, stream);
  assert_int_equal(fclose(stream), 0);
}

__attribute__((unused)) static void engine_write_scaled(const char* name, double factor) {
  tg_configuration start;
  engine_ok(tg_configuration_read(ENGINE_EXAMPLE "conf.gro", &start));
  for (size_t i = 0; i < start.count; i++)
    for (int d = 0; d < 3; d++) start.x[i][d] *= factor;
  for (int i = 0; i < 9; i++) start.box[i] *= factor;
  engine_ok(tg_configuration_save_gro(&start, 12, engine_path(name)));
  tg_configuration_free(&start);
}

/** The positions in a run's checkpoint, which must be of that step. Release with tg_free. */
__attribute__((unused)) static double (*engine_checkpoint_x(const char* run, long long step))[3] {
  char path[300];
  snprintf(path, sizeof path, "%s/state.cpt", engine_path(run));
  tg_checkpoint checkpoint;
  engine_ok(tg_checkpoint_read(path, &checkpoint));
  assert_int_equal(checkpoint.step, step);
  double(*x)[3] = checkpoint.x;
  checkpoint.x = NULL;
  tg_checkpoint_free(&checkpoint);
  return x;
}

__attribute__((unused)) static void engine_same_bytes(const char* run_a, const char* run_b,
                                                      const char* file) {
  char path_a[300], path_b[300];
  snprintf(path_a, sizeof path_a, "%s/%s", engine_path(run_a), file);
  snprintf(path_b, sizeof path_b, "%s/%s", engine_path(run_b), file);
  FILE *a = fopen(path_a, "rb"), *b = fopen(path_b, "rb");
  if (!a || !b) fail_msg("%s or %s is not there", path_a, path_b);
  long at = 0;
  int byte_a, byte_b;
  do {
    byte_a = fgetc(a);
    byte_b = fgetc(b);
    if (byte_a != byte_b) fail_msg("%s differs at byte %ld", file, at);
    at++;
  } while (byte_a != EOF);
  assert_true(at > 1);
  fclose(a);
  fclose(b);
}

/** One column of a run's energies.xvg by its legend. Returns the number of rows; *values (release
 * with tg_free) and *times may be NULL. */
__attribute__((unused)) static size_t engine_column(const char* run, const char* label,
                                                    double** times, double** values) {
  char path[300], wanted[64];
  snprintf(path, sizeof path, "%s/energies.xvg", engine_path(run));
  snprintf(wanted, sizeof wanted, "legend \"%s\"", label);
  tg_text_file file;
  engine_ok(tg_text_file_read(path, &file));
  int column = -1, legends = 0;
  size_t rows = 0;
  if (times) engine_ok(TG_ALLOCATE(file.line_count, "times", times));
  engine_ok(TG_ALLOCATE(file.line_count, "values", values));
  for (size_t i = 0; i < file.line_count; i++) {
    const char* line = file.lines[i];
    if (strstr(line, " legend \"")) {
      legends++;
      if (strstr(line, wanted)) column = legends;
    }
    if (line[0] == '#' || line[0] == '@') continue;
    tg_word words[32];
    int count = tg_split_words(line, words, 32);
    assert_true(column > 0 && column < count);
    assert_true(tg_parse_double(words[column].start, words[column].length, &(*values)[rows]));
    if (times) assert_true(tg_parse_double(words[0].start, words[0].length, &(*times)[rows]));
    rows++;
  }
  tg_text_file_free(&file);
  return rows;
}

__attribute__((unused)) static double engine_last_energy(const char* run, const char* label) {
  double* values = NULL;
  size_t rows = engine_column(run, label, NULL, &values);
  assert_true(rows > 0);
  double last = values[rows - 1];
  tg_free(values);
  return last;
}

#endif
