/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/configuration_text.h  Private to configuration*.c: what .gro and .g96 readers share. */
#ifndef TG_MD_CONFIGURATION_TEXT_H
#define TG_MD_CONFIGURATION_TEXT_H

#include "base/text.h"
#include "md/configuration.h"

/** Room for count atoms; names and residues where named, velocities where moving. */
tg_status tg_configuration_allocate(tg_configuration* out, size_t count, bool named, bool moving);
/** Copies a fixed-width field without its blanks into out (8 bytes). */
void tg_configuration_copy_name(const char* field, int width, char out[8]);
/** Reads `count` numbers in columns of `width` characters from column `from` (0-based). `what`
 * names them. */
tg_status tg_configuration_read_fields(const char* line, int from, int width, int count,
                                       const char* what, tg_place place, double* out);
/** Reads a box line of 3 or 9 numbers into three rows. */
tg_status tg_configuration_read_box(const char* line, tg_place place, double box[9]);
tg_status tg_configuration_read_g96(const tg_text_file* file, tg_configuration* out);

#endif
