/* SPDX-License-Identifier: Apache-2.0 */
/* The table "cuda" where throng was built without CUDA. */
#include <stdio.h>

#include "device/device.h"
#include "motif/backends.h"

static tg_status check(void) { return tg_fail(TG_ERR_MACHINE, "%s", tg_device_reason()); }

static void describe(char* out, size_t size) { snprintf(out, size, "GPU, CUDA"); }

const tg_motif_table tg_motif_table_cuda = {.name = "cuda", .check = check, .describe = describe};
