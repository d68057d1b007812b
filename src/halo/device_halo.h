/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/device_halo.h  The halo exchange between GPUs, as callers see it, on worlds made
 * here. */
#ifndef TG_HALO_DEVICE_HALO_H
#define TG_HALO_DEVICE_HALO_H

#include <throng/device_halo.h>

#include "halo/halo.h"

#endif
