/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/tables_file.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { PATH_SIZE = 160, WORDS_SIZE = 60000 /* of an attribute */ };

/* Lines joined by line ends, as far as an attribute has room. */
static void join(char* out, size_t* used, const char* line) {
  const int more = snprintf(out + *used, WORDS_SIZE - *used, "%s%s", *used ? "\n" : "", line);
  if (more > 0) *used += (size_t)more < WORDS_SIZE - *used ? (size_t)more : 0;
  out[*used] = '\0';
}

static tg_status put_names(tg_ci_results* f, const char* path, const tg_ci_table* table) {
  char* words = NULL;
  size_t used = 0;
  TG_TRY(TG_ALLOCATE((size_t)WORDS_SIZE, "names", &words));
  for (size_t i = 0; i < table->name_count; i++) join(words, &used, table->names[i]);
  const tg_status status = tg_ci_results_set_text(f, path, "names", words);
  tg_free(words);
  return status;
}

/* In HDF5 a slash parts groups: "n0d5/2" becomes "n0d5_2". */
static void compose(const char* group, const char* name, char* out) {
  const int begin = snprintf(out, PATH_SIZE, "%s/", group);
  snprintf(out + begin, PATH_SIZE - (size_t)begin, "%s", name);
  for (char* c = out + begin; *c; c++)
    if (*c == '/') *c = '_';
}

/* Halves are kept as twice their value in tables, and written as they are. */
static tg_status put_column(tg_ci_results* f, const tg_ci_table* table, const tg_ci_column* c) {
  char path[PATH_SIZE], group[PATH_SIZE / 2];
  double* values = NULL;
  const double factor = c->kind == TG_CI_COLUMN_HALF ? 0.5 : 1;
  snprintf(group, sizeof group, "tables/%s", table->name);
  compose(group, c->name, path);
  TG_TRY(TG_ALLOCATE(table->rows + 1, "a column", &values));
  for (size_t r = 0; r < table->rows; r++) values[r] = factor * c->value[r];
  const tg_ci_array array = {.element = TG_CI_DOUBLE,
                             .axes = 1,
                             .size = {table->rows},
                             .data = values,
                             .unit = *c->unit ? c->unit : NULL};
  const tg_status status = tg_ci_results_put(f, path, &array);
  tg_free(values);
  TG_TRY(status);
  return c->kind == TG_CI_COLUMN_NAME ? put_names(f, path, table) : TG_OK;
}

static tg_status put_table(tg_ci_results* f, const tg_ci_table* table) {
  char path[PATH_SIZE];
  snprintf(path, sizeof path, "tables/%s", table->name);
  TG_TRY(tg_ci_results_set_text(f, path, "about", table->title));
  for (size_t c = 0; c < table->column_count; c++) TG_TRY(put_column(f, table, &table->columns[c]));
  return TG_OK;
}

static tg_status put_data(tg_ci_results* f, const tg_ci_data* data) {
  char path[PATH_SIZE];
  compose("arrays", data->name, path);
  tg_ci_array array = {.element = TG_CI_DOUBLE,
                       .axes = data->axes,
                       .data = data->value,
                       .unit = *data->unit ? data->unit : NULL,
                       .about = *data->about ? data->about : NULL};
  for (int i = 0; i < data->axes; i++) array.size[i] = data->size[i];
  return tg_ci_results_put(f, path, &array);
}

static tg_status put_notes(tg_ci_results* f, const tg_ci_tables* tables) {
  char* words = NULL;
  size_t used = 0;
  TG_TRY(TG_ALLOCATE((size_t)WORDS_SIZE, "notes", &words));
  for (size_t i = 0; i < tables->note_count; i++) join(words, &used, tables->notes[i]);
  const tg_status status = tg_ci_results_set_text(f, "", "notes", words);
  tg_free(words);
  return status;
}

tg_status tg_ci_tables_write(const char* path, const tg_ci_tables* tables, const char* command) {
  tg_ci_results* f = NULL;
  tg_status status;
  TG_TRY(tg_ci_results_create(path, TG_CI_TABLES_FORMAT, TG_CI_TABLES_VERSION, &f));
  if (command) TG_TRY_GOTO(tg_ci_results_set_text(f, "", "command", command), done);
  TG_TRY_GOTO(put_notes(f, tables), done);
  for (size_t i = 0; i < tables->table_count; i++)
    TG_TRY_GOTO(put_table(f, tables->tables[i]), done);
  for (size_t i = 0; i < tables->data_count; i++) TG_TRY_GOTO(put_data(f, &tables->data[i]), done);
  status = tg_ci_results_commit(&f);
done:
  tg_ci_results_close(&f);
  return status;
}
