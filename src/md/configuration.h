/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/configuration.h  Positions, velocities and box, as read from .gro and .g96 files. */
#ifndef TG_MD_CONFIGURATION_H
#define TG_MD_CONFIGURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

typedef struct tg_configuration {
  char* title;
  size_t count;
  char (*names)[8];    /* [count] atom names; NULL in a .g96 without them (POSITIONRED) */
  char (*residues)[8]; /* [count] residue names; likewise */
  int* residue_numbers;
  double (*x)[3]; /* [count][3], nm */
  double (*v)[3]; /* [count][3], nm/ps; NULL if the file has none */
  double box[9];  /* three box vectors, row by row, nm */
  double time;    /* ps, from "t=" in the title or the TIMESTEP block; 0 otherwise */
  long long step;
} tg_configuration;

/** Reads .gro or .g96 (by the ending of its name). TG_ERR_INPUT with file:line:column for a short
 * file, a count that does not match, unreadable or non-finite numbers. .gro columns are found by
 * the distance between decimal points, so that any precision works; several frames: the first is
 * read. */
tg_status tg_configuration_read(const char* path, tg_configuration* out);
void tg_configuration_free(tg_configuration* configuration);
/** Writes one .gro frame to a stream. decimals: of positions (velocities get one more); 3 is usual.
 */
tg_status tg_configuration_write_gro(const tg_configuration* configuration, int decimals,
                                     FILE* stream);
/** Writes a .gro file, whole or not at all. */
tg_status tg_configuration_save_gro(const tg_configuration* configuration, int decimals,
                                    const char* path);

#endif
