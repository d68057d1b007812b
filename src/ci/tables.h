/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/tables.h  What observables result in: named tables, and arrays too large for one.
 *
 * A table has rows and columns of doubles; NAN stands for what is not known or does not exist. Two
 * tables are shared, so that observables stand side by side: `levels`, with a row for each level,
 * and `transitions`, with a row for each pair of levels. Others belong to the observable that adds
 * them. Printing, JSON and files are written from the tables alone; an observable formats nothing.
 *
 * The first columns of a table are its *keys* (which level, which orbit); rows where all other
 * columns are NAN are not shown. */
#ifndef TG_CI_TABLES_H
#define TG_CI_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

typedef enum tg_ci_column_kind {
  TG_CI_COLUMN_REAL,  /* `digits` behind the point where printed */
  TG_CI_COLUMN_WHOLE, /* a whole number: levels count from 1 */
  TG_CI_COLUMN_HALF,  /* twice a half-integer: 5 is printed 5/2, in JSON 2.5 */
  TG_CI_COLUMN_SIGN,  /* +1 or -1: a parity */
  TG_CI_COLUMN_NAME,  /* a number into the table's `names`: orbits */
} tg_ci_column_kind;

enum { TG_CI_COLUMN_NAME_SIZE = 40, TG_CI_UNIT_SIZE = 16 };

typedef struct tg_ci_column {
  char name[TG_CI_COLUMN_NAME_SIZE]; /* in JSON and files: "B_E2_down_e2fm4" */
  char head[TG_CI_COLUMN_NAME_SIZE]; /* above the printed column; "": it is not printed */
  char unit[TG_CI_UNIT_SIZE];        /* "e2fm4"; "": a pure number */
  tg_ci_column_kind kind;
  int digits;
  double* value; /* [room of the table] */
} tg_ci_column;

typedef struct tg_ci_table {
  char name[TG_CI_COLUMN_NAME_SIZE]; /* "transitions" */
  char title[160];                   /* above the printed table, a line */
  bool printed;                      /* false: too long for people, in JSON and files only */
  size_t rows, room;
  size_t column_count, key_count; /* the first key_count columns are keys */
  tg_ci_column* columns;
  char (*names)[TG_CI_COLUMN_NAME_SIZE]; /* of TG_CI_COLUMN_NAME; [name_count] */
  size_t name_count;
} tg_ci_table;

enum { TG_CI_DATA_AXES = 4 };

/** An array of doubles, [size[0], ..., size[axes - 1]], the last index fastest: for files. JSON
 * tells its sizes alone. */
typedef struct tg_ci_data {
  char name[64]; /* "two_body_density_aa" */
  int axes;
  size_t size[TG_CI_DATA_AXES];
  double* value;
  char unit[TG_CI_UNIT_SIZE];
  char about[160];
} tg_ci_data;

typedef struct tg_ci_tables {
  tg_ci_table** tables; /* [table_count]; pointers stay good while tables are added */
  size_t table_count, table_room;
  tg_ci_data* data; /* [data_count] */
  size_t data_count, data_room;
  char** notes; /* [note_count] lines for people, in JSON too */
  size_t note_count, note_room;
} tg_ci_tables;

/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_tables_free(tg_ci_tables* tables);

/** A new table without columns and rows; printed. */
tg_status tg_ci_tables_add(tg_ci_tables* tables, const char* name, const char* title,
                           tg_ci_table** out);
/** The table of that name; NULL: there is none. */
tg_ci_table* tg_ci_tables_find(const tg_ci_tables* tables, const char* name);
/** An array of zeros of these sizes, to be filled by the caller through *value. */
tg_status tg_ci_tables_data(tg_ci_tables* tables, const char* name, int axes, const size_t* size,
                            const char* unit, const char* about, double** value);
/** A line for people; the same line twice is kept once. */
tg_status tg_ci_tables_note(tg_ci_tables* tables, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

/** Adds a column, NAN in the rows that are there: name, head, unit, kind and digits of `like` are
 * taken. *out: its number. */
tg_status tg_ci_table_column(tg_ci_table* table, tg_ci_column like, size_t* out);
/** Adds a row, NAN in all columns. *out: its number. */
tg_status tg_ci_table_row(tg_ci_table* table, size_t* out);
/** A name for columns of names. *out: its number. */
tg_status tg_ci_table_name(tg_ci_table* table, const char* name, size_t* out);
/** Number of the column of that name; SIZE_MAX: there is none. */
size_t tg_ci_table_find(const tg_ci_table* table, const char* column);
/** A row has something to say: a column that is no key is not NAN. */
bool tg_ci_table_says(const tg_ci_table* table, size_t row);

/** For people: the tables that are printed, and the notes. most_rows: of a table, a line says how
 * many more there are; 0: all. */
void tg_ci_tables_print(FILE* out, const tg_ci_tables* tables, size_t most_rows);
/** A member "observables" of an open object: a list of objects for each table, "arrays", "notes".
 */
void tg_ci_tables_json(tg_json* json, const tg_ci_tables* tables);

#endif
