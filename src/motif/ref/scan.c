/* SPDX-License-Identifier: Apache-2.0 */
/* The scan: one sum, carried along. */
#include "motif/ref/table.h"

static tg_status serial_u32(size_t count, const uint32_t* in, uint32_t* out, void* scratch,
                            int threads) {
  (void)scratch;
  (void)threads;
  out[0] = 0;
  for (size_t i = 0; i < count; i++) out[i + 1] = out[i] + in[i];
  return TG_OK;
}

static tg_status serial_u64(size_t count, const uint64_t* in, uint64_t* out, void* scratch,
                            int threads) {
  (void)scratch;
  (void)threads;
  out[0] = 0;
  for (size_t i = 0; i < count; i++) out[i + 1] = out[i] + in[i];
  return TG_OK;
}

static tg_status serial_offsets(size_t count, const uint32_t* in, uint64_t* out, void* scratch,
                                int threads) {
  (void)scratch;
  (void)threads;
  out[0] = 0;
  for (size_t i = 0; i < count; i++) out[i + 1] = out[i] + in[i];
  return TG_OK;
}

const tg_scan_version tg_ref_scans[] = {
    {"serial", NULL, NULL, serial_u32, serial_u64, serial_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
