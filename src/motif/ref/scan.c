/* SPDX-License-Identifier: Apache-2.0 */
/* The scan: one sum, carried along. */
#include "motif/ref/table.h"

#define SERIAL(x, in_type, out_type)                                                               \
  static tg_status serial_##x(size_t count, const in_type* in, out_type* out, void* scratch,       \
                              int threads) {                                                       \
    (void)scratch;                                                                                 \
    (void)threads;                                                                                 \
    out[0] = 0;                                                                                    \
    for (size_t i = 0; i < count; i++) out[i + 1] = out[i] + in[i];                                \
    return TG_OK;                                                                                  \
  }

SERIAL(u32, uint32_t, uint32_t)
SERIAL(u64, uint64_t, uint64_t)
SERIAL(offsets, uint32_t, uint64_t)

const tg_scan_version tg_ref_scans[] = {
    {"serial", NULL, NULL, serial_u32, serial_u64, serial_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
