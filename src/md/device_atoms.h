/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_atoms.h  A system's atoms as device_md.h takes them, or copies of it side by
 * side. */
#ifndef TG_MD_DEVICE_ATOMS_H
#define TG_MD_DEVICE_ATOMS_H

#include "md/device_md.h"
#include "md/system.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_device_atoms {
  size_t count;
  double box[3];        /* nm */
  double (*x)[3];       /* [count] nm */
  int* type;            /* [count] */
  double* charge;       /* [count] e */
  int* exclusion_start; /* [count + 1] */
  int* exclusion;
} tg_device_atoms;

/** copies: along each edge, at least 1; the first copy's atoms come first. Release with
 * tg_device_atoms_free, also after a failure. */
tg_status tg_device_atoms_make(const tg_md_system* system, const int copies[3],
                               tg_device_atoms* out);
void tg_device_atoms_free(tg_device_atoms* atoms);

/** What a simulation of the atoms takes from the system; radii are the caller's. Keeps pointers
 * into both. */
void tg_device_atoms_params(const tg_device_atoms* atoms, const tg_md_system* system,
                            tg_device_md_params* out);

#ifdef __cplusplus
}
#endif
#endif
