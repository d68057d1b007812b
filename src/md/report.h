/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/report.h  A system in words, and as JSON: what would be run. */
#ifndef TG_MD_REPORT_H
#define TG_MD_REPORT_H

#include <stdio.h>

#include "base/json.h"
#include "md/system.h"

/** Writes what would be run: molecules, charge, box, cut-offs, degrees of freedom, constraints,
 * groups, and what each .mdp key became. Local. */
void tg_md_system_report(const tg_md_system* system, FILE* stream);

/** The same as members of the JSON object that is open. */
void tg_md_system_report_json(const tg_md_system* system, tg_json* json);

#endif
