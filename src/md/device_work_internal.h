/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_work_internal.h  Shared by the files that make a tg_device_work. */
#ifndef TG_MD_DEVICE_WORK_INTERNAL_H
#define TG_MD_DEVICE_WORK_INTERNAL_H

#include "md/device_work.h"
#include "md/system.h"

/** Waters, groups with constraints, and single atoms. */
tg_status tg_device_groups_make(const tg_md_system* system, tg_device_work* work);

#endif
