/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/index.h  Groups of atoms: from an .ndx file, and the ones every system has. */
#ifndef TG_MD_INDEX_H
#define TG_MD_INDEX_H

#include <stddef.h>

#include "base/status.h"
#include "md/topology.h"

typedef struct tg_index_group {
  char* name;
  int* atoms; /* [count], from 0, in file order */
  size_t count, capacity;
} tg_index_group;

typedef struct tg_index {
  tg_index_group* groups;
  size_t group_count, group_capacity;
} tg_index;

/** The default groups (System; Water and non-Water where there is water; one per residue name and
 * per molecule type), followed by those of the .ndx file where path is not NULL (a later group of
 * the same name wins, as with grompp). TG_ERR_INPUT with the place for numbers out of range or not
 * numbers. */
tg_status tg_index_read(const char* path, const tg_topology* topology, tg_index* out);
void tg_index_free(tg_index* index);
/** The group of this name (case does not matter), or NULL. */
const tg_index_group* tg_index_find(const tg_index* index, const char* name);

#endif
