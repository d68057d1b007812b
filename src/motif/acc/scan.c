/* SPDX-License-Identifier: Apache-2.0 */
/* Scan by OpenACC, which has no directive for it. */
#include "motif/acc/loops.h"
#include "motif/acc/table.h"
#include "motif/directives_sums.h"
#include "motif/module/services.h"

#define ACC_AS_IT_IS

#define SCANS(x, in_type, out_type)                                                                \
  TG_SCAN_SERIAL(serial_##x, ACC_SERIAL, in_type, out_type)                                        \
  TG_SCAN_SWEEP(sweep_##x, ACC_AS_IT_IS, ACC_LEVEL, ACC_JOIN, in_type, out_type)                   \
  TG_SCAN_SWEEP(waits_##x, ACC_AS_IT_IS, ACC_FLAT, ACC_AS_IT_IS, in_type, out_type)                \
  TG_SCAN_TWO_PASS(two_pass_##x, ACC_FLAT, in_type, out_type)                                      \
  TG_SCAN_HOST(host_##x, &tg_acc_memory, tg_module_staging, in_type, out_type)
SCANS(u32, uint32_t, uint32_t)
SCANS(u64, uint64_t, uint64_t)
SCANS(offsets, uint32_t, uint64_t)

static const char* refuses_host(void) {
  return tg_acc_on_host() ? "the numbers are in host memory already" : NULL;
}

const tg_scan_version tg_acc_scans[] = {
    {"serial", NULL, NULL, serial_u32, serial_u64, serial_offsets},
    {"sweep", NULL, NULL, sweep_u32, sweep_u64, sweep_offsets},
    {"sweep waits", NULL, NULL, waits_u32, waits_u64, waits_offsets},
    {"two_pass", NULL, tg_scan_two_pass_bytes, two_pass_u32, two_pass_u64, two_pass_offsets},
    {"host", refuses_host, NULL, host_u32, host_u64, host_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
