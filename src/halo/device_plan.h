/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/device_plan.h  The plans of devices, as callers see them. */
#ifndef TG_HALO_DEVICE_PLAN_H
#define TG_HALO_DEVICE_PLAN_H

#include <throng/device_plan.h>

#include "halo/halo.h"

#endif
