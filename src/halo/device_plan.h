/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/device_plan.h  The plans of devices, as callers see them. */
#ifndef TG_HALO_DEVICE_PLAN_H
#define TG_HALO_DEVICE_PLAN_H

#include <throng/device_plan.h>

#include "halo/halo.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a box is to a plan. Plain data, so that it can be copied to a device. */
typedef struct tg_device_geometry {
  double edge[3];      /* nm; of an oblique box the heights */
  double vector[3][3]; /* nm, rows: what a copy that crosses a boundary is shifted by */
  double reach;        /* nm */
  int grid[3], pulses[3];
  int oblique; /* centres are measured across the faces (tg_halo_across) */
} tg_device_geometry;

/** Local. oblique = false: of box only the diagonal counts. TG_ERR_INPUT where the reach is longer
 * than the grid serves, or box is none. */
tg_status tg_device_geometry_make(const int grid[3], const double box[3][3], bool oblique,
                                  double reach, tg_device_geometry* out);

#ifdef __cplusplus
}
#endif
#endif
