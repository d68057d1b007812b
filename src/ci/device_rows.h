/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_rows.h  Which rows of y a device makes. */
#ifndef TG_CI_DEVICE_ROWS_H
#define TG_CI_DEVICE_ROWS_H

#include <stdint.h>

/** Rows first ... end - 1, in the numbering of the space's states: whole rows of blocks, that is
 * strings of A. */
typedef struct tg_ci_device_rows {
  uint64_t first, end;
} tg_ci_device_rows;

#endif
