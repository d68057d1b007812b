/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/build.h  Makes inputs: replicated systems and boxes of water. */
#ifndef TG_MD_BUILD_H
#define TG_MD_BUILD_H

#include <stdint.h>

#include "md/configuration.h"
#include "md/topology.h"

typedef struct tg_md_build_params {
  int copies[3];      /* along each box vector, >= 1 */
  double temperature; /* K: fresh velocities, that keep the topology's own constraints;
                       * negative: copy those there are */
  uint64_t seed;
} tg_md_build_params;

/** Copies of a system beside each other. Molecule blocks stay in the topology's order: all copies
 * of the first block, then of the second. Residues are numbered through. Release with
 * tg_configuration_free. */
tg_status tg_md_build_configuration(const tg_configuration* source, const tg_topology* topology,
                                    const tg_md_build_params* params, tg_configuration* out);

/** A topology's text with the counts of [ molecules ] multiplied, written to out_path. Included
 * files that lie beside the topology are named by their full path, so that the new file may lie
 * anywhere. TG_ERR_INPUT with the place where [ molecules ] is missing or a count is not a plain
 * number. */
tg_status tg_md_build_topology(const char* path, int64_t factor, const char* out_path);

/** Both, from files into a folder: conf.gro and topol.top. Includes are searched as options says.
 */
tg_status tg_md_build_replicate(const char* configuration, const char* topology,
                                const tg_topology_options* options, const tg_log* log,
                                const tg_md_build_params* params, const char* folder);

/** A box of SPC/E water, edges in nm (>= 1), 33.4 molecules a nm^3 on a jittered lattice, turned at
 * random without overlaps, with velocities for the temperature: conf.gro, topol.top, em.mdp
 * (to be minimised with first: the pressure is that of a lattice, some 10 kbar) and rf.mdp, which
 * draws velocities anew, in the folder. */
tg_status tg_md_build_water(const double edges[3], double temperature, uint64_t seed,
                            const char* folder);

/** TG_ERR_INPUT where the folder holds a file that these would write. Both keep such a file as a
 * numbered copy. */
tg_status tg_md_build_check_room(const char* folder);

#endif
