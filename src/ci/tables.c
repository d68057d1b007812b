/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

static void table_free(tg_ci_table* table) {
  if (!table) return;
  for (size_t c = 0; c < table->column_count; c++) tg_free(table->columns[c].value);
  tg_free(table->columns);
  tg_free(table->names);
  tg_free(table);
}

void tg_ci_tables_free(tg_ci_tables* tables) {
  if (!tables) return;
  for (size_t t = 0; t < tables->table_count; t++) table_free(tables->tables[t]);
  for (size_t d = 0; d < tables->data_count; d++) tg_free(tables->data[d].value);
  for (size_t n = 0; n < tables->note_count; n++) tg_free(tables->notes[n]);
  tg_free(tables->tables);
  tg_free(tables->data);
  tg_free(tables->notes);
  memset(tables, 0, sizeof *tables);
}

tg_status tg_ci_tables_add(tg_ci_tables* tables, const char* name, const char* title,
                           tg_ci_table** out) {
  tg_ci_table* table = NULL;
  TG_TRY(TG_RESERVE(tables->table_count + 1, "tables", &tables->tables, &tables->table_room));
  TG_TRY(TG_ALLOCATE(1, "a table", &table));
  snprintf(table->name, sizeof table->name, "%s", name);
  snprintf(table->title, sizeof table->title, "%s", title);
  table->printed = true;
  tables->tables[tables->table_count++] = table;
  *out = table;
  return TG_OK;
}

tg_ci_table* tg_ci_tables_find(const tg_ci_tables* tables, const char* name) {
  for (size_t t = 0; t < tables->table_count; t++)
    if (strcmp(tables->tables[t]->name, name) == 0) return tables->tables[t];
  return NULL;
}

tg_status tg_ci_tables_data(tg_ci_tables* tables, const char* name, int axes, const size_t* size,
                            const char* unit, const char* about, double** value) {
  size_t count = 1;
  tg_ci_data data = {.axes = axes};
  if (axes < 1 || axes > TG_CI_DATA_AXES)
    return tg_fail(TG_ERR_INTERNAL, "an array '%s' of %d axes; 1 to %d are possible", name, axes,
                   TG_CI_DATA_AXES);
  TG_TRY(TG_RESERVE(tables->data_count + 1, "arrays", &tables->data, &tables->data_room));
  for (int a = 0; a < axes; a++) {
    data.size[a] = size[a];
    if (__builtin_mul_overflow(count, size[a], &count)) count = SIZE_MAX;
  }
  TG_TRY(TG_ALLOCATE(count, name, &data.value));
  snprintf(data.name, sizeof data.name, "%s", name);
  snprintf(data.unit, sizeof data.unit, "%s", unit);
  snprintf(data.about, sizeof data.about, "%s", about);
  tables->data[tables->data_count++] = data;
  *value = data.value;
  return TG_OK;
}

tg_status tg_ci_tables_note(tg_ci_tables* tables, const char* format, ...) {
  char line[512];
  va_list args;
  va_start(args, format);
  vsnprintf(line, sizeof line, format, args);
  va_end(args);
  for (size_t n = 0; n < tables->note_count; n++)
    if (strcmp(tables->notes[n], line) == 0) return TG_OK;
  TG_TRY(TG_RESERVE(tables->note_count + 1, "notes", &tables->notes, &tables->note_room));
  TG_TRY(tg_copy_text(line, &tables->notes[tables->note_count]));
  tables->note_count++;
  return TG_OK;
}

static void fill(double* value, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++) value[i] = NAN;
}

tg_status tg_ci_table_column(tg_ci_table* table, tg_ci_column like, size_t* out) {
  tg_ci_column* columns = NULL;
  like.value = NULL;
  if (tg_ci_table_find(table, like.name) != SIZE_MAX)
    return tg_fail(TG_ERR_INTERNAL, "table '%s' has two columns '%s'", table->name, like.name);
  TG_TRY(TG_ALLOCATE(table->column_count + 1, "columns", &columns));
  const tg_status status = TG_ALLOCATE(table->room ? table->room : 1, "a column", &like.value);
  if (status != TG_OK) {
    tg_free(columns);
    return status;
  }
  if (table->column_count) memcpy(columns, table->columns, table->column_count * sizeof *columns);
  fill(like.value, 0, table->rows);
  columns[table->column_count] = like;
  tg_free(table->columns);
  table->columns = columns;
  *out = table->column_count++;
  return TG_OK;
}

tg_status tg_ci_table_row(tg_ci_table* table, size_t* out) {
  if (table->rows == table->room) {
    const size_t room = 2 * table->room + 8;
    for (size_t c = 0; c < table->column_count; c++) {
      size_t mine = table->room;
      TG_TRY(TG_RESERVE(room, "rows", &table->columns[c].value, &mine));
    }
    table->room = room;
  }
  for (size_t c = 0; c < table->column_count; c++)
    fill(table->columns[c].value, table->rows, table->rows + 1);
  *out = table->rows++;
  return TG_OK;
}

tg_status tg_ci_table_name(tg_ci_table* table, const char* name, size_t* out) {
  size_t room = table->name_count;
  TG_TRY(tg_reserve(table->name_count + 1, sizeof *table->names, "names", (void**)&table->names,
                    &room));
  snprintf(table->names[table->name_count], sizeof *table->names, "%s", name);
  *out = table->name_count++;
  return TG_OK;
}

size_t tg_ci_table_find(const tg_ci_table* table, const char* column) {
  for (size_t c = 0; c < table->column_count; c++)
    if (strcmp(table->columns[c].name, column) == 0) return c;
  return SIZE_MAX;
}

bool tg_ci_table_says(const tg_ci_table* table, size_t row) {
  for (size_t c = table->key_count; c < table->column_count; c++)
    if (!isnan(table->columns[c].value[row])) return true;
  return table->key_count == table->column_count;
}

/* ---- for people ---- */

enum { CELL = 64 };

/* Values are sums of 1e3 to 1e9 terms of some 1 with errors of 1e-16 each, and squares of such:
 * below this they are shown as 0, unless a column tells errors. JSON and files have them as they
 * are. */
static const double rounding = 1e-13;

static void write_cell(const tg_ci_table* table, const tg_ci_column* c, double value, char* out) {
  if (isnan(value)) {
    snprintf(out, CELL, "%s", "-");
    return;
  }
  const long whole = lround(value);
  switch (c->kind) {
    case TG_CI_COLUMN_WHOLE: snprintf(out, CELL, "%ld", whole); break;
    case TG_CI_COLUMN_HALF:
      snprintf(out, CELL, whole % 2 ? "%ld/2" : "%ld", whole % 2 ? whole : whole / 2);
      break;
    case TG_CI_COLUMN_SIGN: snprintf(out, CELL, "%s", value < 0 ? "-" : "+"); break;
    case TG_CI_COLUMN_NAME: snprintf(out, CELL, "%s", table->names[whole]); break;
    case TG_CI_COLUMN_REAL: {
      /* small values are not to be shown as zeros, but what rounding leaves of a zero is */
      const bool zero = fabs(value) < rounding && !strstr(c->name, "error");
      if (zero) value = 0;
      const bool tiny = value != 0 && fabs(value) < 0.5 * pow(10, -c->digits);
      if (tiny)
        snprintf(out, CELL, "%.1e", value);
      else
        snprintf(out, CELL, "%.*f", c->digits, value);
      break;
    }
  }
}

static size_t shown_rows(const tg_ci_table* table) {
  size_t count = 0;
  for (size_t r = 0; r < table->rows; r++) count += tg_ci_table_says(table, r);
  return count;
}

/* The width of a column, its head's or its longest value's. */
static int width_of(const tg_ci_table* table, const tg_ci_column* c) {
  char cell[CELL];
  size_t width = strlen(c->head);
  for (size_t r = 0; r < table->rows; r++) {
    if (!tg_ci_table_says(table, r)) continue;
    write_cell(table, c, c->value[r], cell);
    if (strlen(cell) > width) width = strlen(cell);
  }
  return (int)width;
}

/* A column that people see: with a heading, and a value somewhere. */
static bool is_shown(const tg_ci_table* table, size_t column) {
  const tg_ci_column* c = &table->columns[column];
  if (!c->head[0] || column < table->key_count) return c->head[0] != '\0';
  for (size_t r = 0; r < table->rows; r++)
    if (!isnan(c->value[r])) return true;
  return false;
}

/* How many rows are shown of `most`: a level is not cut in the middle, unless it is the first. */
static size_t whole_levels(const tg_ci_table* table, size_t most) {
  const tg_ci_column* first = &table->columns[0];
  size_t seen = 0, whole = 0;
  double level = NAN;
  if (most == 0 || strcmp(first->name, "level") != 0) return most;
  for (size_t r = 0; r < table->rows && seen <= most; r++) {
    if (!tg_ci_table_says(table, r)) continue;
    if (seen && first->value[r] != level) whole = seen;
    level = first->value[r];
    seen++;
  }
  return whole && seen > most ? whole : most;
}

static void print_table(FILE* out, const tg_ci_table* table, size_t most, int* width) {
  char cell[CELL];
  const size_t most_rows = whole_levels(table, most);
  fprintf(out, "\n%s\n", table->title);
  for (size_t c = 0; c < table->column_count; c++) {
    width[c] = width_of(table, &table->columns[c]);
    if (is_shown(table, c)) fprintf(out, "  %*s", width[c], table->columns[c].head);
  }
  fputc('\n', out);
  size_t done = 0;
  for (size_t r = 0; r < table->rows; r++) {
    if (!tg_ci_table_says(table, r)) continue;
    if (most_rows && done++ == most_rows) {
      fprintf(out, "  and %zu more rows, in the JSON\n", shown_rows(table) - most_rows);
      break;
    }
    for (size_t c = 0; c < table->column_count; c++) {
      if (!is_shown(table, c)) continue;
      write_cell(table, &table->columns[c], table->columns[c].value[r], cell);
      fprintf(out, "  %*s", width[c], cell);
    }
    fputc('\n', out);
  }
}

void tg_ci_tables_print(FILE* out, const tg_ci_tables* tables, size_t most_rows) {
  for (size_t t = 0; t < tables->table_count; t++) {
    const tg_ci_table* table = tables->tables[t];
    int* width = NULL;
    const size_t rows = shown_rows(table);
    if (rows == 0) continue;
    if (!table->printed) {
      fprintf(out, "\n%s: %zu rows, in the JSON\n", table->title, rows);
    } else if (TG_ALLOCATE(table->column_count, "widths", &width) == TG_OK) {
      print_table(out, table, most_rows, width);
    }
    tg_free(width);
  }
  if (tables->note_count) fputc('\n', out);
  for (size_t n = 0; n < tables->note_count; n++) fprintf(out, "Note: %s\n", tables->notes[n]);
}

/* ---- JSON ---- */

static void json_cell(tg_json* json, const tg_ci_table* table, const tg_ci_column* c,
                      double value) {
  if (isnan(value)) return; /* what is not known is not there */
  switch (c->kind) {
    case TG_CI_COLUMN_WHOLE:
    case TG_CI_COLUMN_SIGN: tg_json_int(json, c->name, lround(value)); break;
    case TG_CI_COLUMN_HALF: tg_json_double(json, c->name, 0.5 * value); break;
    case TG_CI_COLUMN_NAME: tg_json_text(json, c->name, table->names[lround(value)]); break;
    case TG_CI_COLUMN_REAL: tg_json_double(json, c->name, value); break;
  }
}

void tg_ci_tables_json(tg_json* json, const tg_ci_tables* tables) {
  tg_json_open_object(json, "observables");
  for (size_t t = 0; t < tables->table_count; t++) {
    const tg_ci_table* table = tables->tables[t];
    tg_json_open_array(json, table->name);
    for (size_t r = 0; r < table->rows; r++) {
      if (!tg_ci_table_says(table, r)) continue;
      tg_json_open_object(json, NULL);
      for (size_t c = 0; c < table->column_count; c++)
        json_cell(json, table, &table->columns[c], table->columns[c].value[r]);
      tg_json_close_object(json);
    }
    tg_json_close_array(json);
  }
  if (tables->data_count) {
    tg_json_open_array(json, "arrays");
    for (size_t d = 0; d < tables->data_count; d++) {
      const tg_ci_data* data = &tables->data[d];
      tg_json_open_object(json, NULL);
      tg_json_text(json, "name", data->name);
      tg_json_text(json, "about", data->about);
      tg_json_text(json, "unit", data->unit);
      tg_json_open_array(json, "size");
      for (int a = 0; a < data->axes; a++) tg_json_int(json, NULL, (long long)data->size[a]);
      tg_json_close_array(json);
      tg_json_close_object(json);
    }
    tg_json_close_array(json);
  }
  tg_json_open_array(json, "notes");
  for (size_t n = 0; n < tables->note_count; n++) tg_json_text(json, NULL, tables->notes[n]);
  tg_json_close_array(json);
  tg_json_close_object(json);
}
