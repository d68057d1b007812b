/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/fcidump.h  FCIDUMP: a molecule's integrals. */
#ifndef TG_CI_INPUT_FCIDUMP_H
#define TG_CI_INPUT_FCIDUMP_H

#include "ci/input/input.h"

tg_status tg_ci_read_fcidump(const char* path, tg_ci_integrals* out, tg_ci_notes* notes);

#endif
