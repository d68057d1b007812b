/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/namelist.h  The Fortran namelist at the head of a FCIDUMP. */
#ifndef TG_CI_INPUT_NAMELIST_H
#define TG_CI_INPUT_NAMELIST_H

#include "base/text.h"

typedef struct tg_ci_namelist_entry {
  char key[32]; /* upper case */
  char** value; /* [count]: words, repeats (8*1) written out */
  size_t count, capacity;
  tg_place place;
} tg_ci_namelist_entry;

typedef struct tg_ci_namelist {
  tg_ci_namelist_entry* entry; /* [count] */
  size_t count, capacity;
  size_t next_line; /* the first line behind it, from 0 */
} tg_ci_namelist;

/** Reads `&FCI key=value, ... &END` (or $FCI, $END, `/`), keys on one line or many, any spacing. */
tg_status tg_ci_namelist_read(const tg_text_file* file, tg_ci_namelist* out);
void tg_ci_namelist_free(tg_ci_namelist* list);

const tg_ci_namelist_entry* tg_ci_namelist_find(const tg_ci_namelist* list, const char* key);
/** One whole number; *out keeps its value where the key is absent. */
tg_status tg_ci_namelist_int(const tg_ci_namelist* list, const char* key, int least, int most,
                             int* out);
/** A logical (.TRUE., T, .FALSE., 1, 0 ...). */
tg_status tg_ci_namelist_logical(const tg_ci_namelist* list, const char* key, bool* out);

#endif
