/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/preprocessor_macros.h  Macros of a topology, and lines that know where they come from.
 *
 * Internal to the preprocessor. */
#ifndef TG_MD_PREPROCESSOR_MACROS_H
#define TG_MD_PREPROCESSOR_MACROS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/** Where one character comes from. */
typedef struct tg_origin {
  int line, column;
} tg_origin;

/** A line and the origin of each of its characters. */
typedef struct tg_mapped_line {
  char* text;         /* [length], and '\0' after tg_mapped_end */
  tg_origin* origins; /* [length] */
  size_t length, text_capacity, origins_capacity;
} tg_mapped_line;

tg_status tg_mapped_append(tg_mapped_line* line, char character, int from_line, int from_column);
tg_status tg_mapped_end(tg_mapped_line* line);
void tg_mapped_free(tg_mapped_line* line);

typedef struct tg_macro {
  char* name;
  char* value; /* "" for a flag */
  bool given;  /* from the parameters, not from a file */
  bool used;
  bool open; /* being replaced just now */
} tg_macro;

typedef struct tg_macro_table {
  tg_macro* items;
  size_t count, capacity;
  int* buckets; /* [bucket_count] first of a chain or -1, by hash; rebuilt when it fills up */
  int* next;    /* [capacity at the last rebuild] */
  size_t bucket_count;
} tg_macro_table;

/** Length of the name at the start of text: a letter or _, then letters, digits and _; 0 if none.
 */
int tg_macro_name_length(const char* text);
/** The macro, or NULL; one that is found counts as used. */
tg_macro* tg_macro_find(tg_macro_table* table, const char* name, int length);
tg_status tg_macro_set(tg_macro_table* table, const char* name, int length, const char* value,
                       bool given);
void tg_macro_remove(tg_macro_table* table, const char* name, int length);
void tg_macro_table_free(tg_macro_table* table);

/** Replaces the macros of in (and those in their values) into out. *circle: the name of a macro
 * that contains itself, or NULL. */
tg_status tg_macro_expand(tg_macro_table* table, const tg_mapped_line* in, tg_mapped_line* out,
                          const char** circle);

#endif
