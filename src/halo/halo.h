/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/halo.h  The halo exchange, as callers see it, on worlds made here (comm/world.h). */
#ifndef TG_HALO_HALO_H
#define TG_HALO_HALO_H

#include <throng/halo.h>

#include "comm/world.h"

#endif
