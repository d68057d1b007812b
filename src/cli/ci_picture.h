/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_picture.h  A level scheme as an SVG picture: levels over an axis of excitation
 * energy, labelled with J and parity (molecules: S), a column for each isospin and parity (irrep);
 * B(E2) as arrows where the observables have them. */
#ifndef TG_CLI_CI_PICTURE_H
#define TG_CLI_CI_PICTURE_H

#include <stddef.h>

#include "cli/ci_job.h"

/** Writes the picture. TG_ERR_INPUT where path cannot be written. */
tg_status tg_cli_ci_picture(const char* path, const tg_cli_ci_job* job,
                            const tg_ci_spectrum* spectrum);
/** TG_ERR_INPUT unless path ends in .svg: for a look before the work. */
tg_status tg_cli_ci_picture_check(const char* path);

/** Moves rising positions apart until neighbours are at least gap from each other, as little as can
 * be (least squares), keeping their order. */
void tg_cli_spread(size_t count, double* positions, double gap);

#endif
