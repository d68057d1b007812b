/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/partition.h  KSHELL's .ptn: which occupations of the orbits a calculation keeps.
 */
#ifndef TG_CI_INPUT_PARTITION_H
#define TG_CI_INPUT_PARTITION_H

#include <stddef.h>

#include "ci/orbits.h"

typedef struct tg_ci_partition {
  int protons, neutrons, parity; /* parity +1 or -1 */
  int line;                      /* of these three */
  size_t orbits[2];              /* of each species */
  size_t count[2];               /* configurations of each species */
  int* occupation[2];            /* [count][orbits]: particles in each orbit */
  int (*pair)[2];                /* [pair_count]: a proton and a neutron configuration, from 0 */
  size_t pair_count;
} tg_ci_partition;

/** Reads a file for these orbits. TG_ERR_INPUT for occupations that do not fit the orbits, the
 * numbers of particles or the parity, repeated configurations, pairs that do not exist. */
tg_status tg_ci_partition_read(const char* path, const tg_ci_shells* shells, tg_ci_partition* out);
void tg_ci_partition_free(tg_ci_partition* partition);

#endif
