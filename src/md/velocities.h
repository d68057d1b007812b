/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/velocities.h  Velocities drawn for a temperature. */
#ifndef TG_MD_VELOCITIES_H
#define TG_MD_VELOCITIES_H

#include <stdint.h>

#include "md/topology.h"

typedef struct tg_velocities {
  const tg_topology* topology; /* its constraints and rigid waters are kept */
  int copies;                  /* of each molecule block, >= 1 */
  double box[9];               /* nm, as in a configuration; zeros: none */
  const double (*x)[3];        /* [atoms], nm; molecules may be cut by the box */
  double temperature;          /* K */
  uint64_t seed;
  double degrees_of_freedom; /* 0: 3 an atom, less constraints, less 3 for the centre of mass */
  double (*v)[3];            /* [atoms], nm/ps: the result */
} tg_velocities;

/** Maxwell's velocities without motion of the centre of mass or along constraints, scaled to
 * exactly the temperature over the degrees of freedom. Local. */
void tg_velocities_draw(const tg_velocities* draw);

#endif
