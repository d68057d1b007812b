/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/system_parts.h  Private to system*.c: the steps of assembling a system. */
#ifndef TG_MD_SYSTEM_PARTS_H
#define TG_MD_SYSTEM_PARTS_H

#include "md/system.h"

/** Moves the bonds that `constraints` names from TG_BOND to TG_CONSTRAINT, in every molecule type.
 */
tg_status tg_md_convert_bonds(tg_topology* topology, tg_constrain constraints, const char* path);

/** The constraint groups of a molecule type. */
tg_status tg_md_find_groups(const tg_molecule_type* type, tg_constraint_groups* out);
void tg_md_free_groups(tg_constraint_groups* groups);

/** Assigns atoms to temperature and centre-of-mass groups and counts the degrees of freedom. */
tg_status tg_md_count_freedom(tg_md_system* system, const tg_log* log);

#endif
