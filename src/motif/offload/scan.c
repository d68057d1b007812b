/* SPDX-License-Identifier: Apache-2.0 */
/* Scan by OpenMP target. The scan directive of OpenMP 5 is for the host so far (backend omp). */
#include "motif/offload/loops.h"
/* the macros below need the loops' */
#include "motif/directives_sums.h"
#include "motif/module/services.h"
#include "motif/offload/table.h"

#define OMP_AS_IT_IS

/* On the host there is no queue whose waiting could be saved, and libomp 19 ends the program now
 * and then in the tasks that it keeps for nowait there (kmp_tasking.cpp: task_team != __null):
 * sweep is queued on a GPU alone. */

#define SCANS(x, in_type, out_type)                                                                \
  TG_SCAN_SERIAL(serial_##x, OMP_SERIAL, in_type, out_type)                                        \
  TG_SCAN_SWEEP(queued_##x, OMP_QUEUE, OMP_LEVEL, OMP_JOIN, in_type, out_type)                     \
  TG_SCAN_SWEEP(waits_##x, OMP_AS_IT_IS, OMP_FLAT, OMP_AS_IT_IS, in_type, out_type)                \
  static tg_status sweep_##x(size_t count, const in_type* in, out_type* out, void* scratch,        \
                             int threads) {                                                        \
    return tg_offload_on_host() ? waits_##x(count, in, out, scratch, threads)                      \
                                : queued_##x(count, in, out, scratch, threads);                    \
  }                                                                                                \
  TG_SCAN_TWO_PASS(two_pass_##x, OMP_FLAT, in_type, out_type)                                      \
  TG_SCAN_HOST(host_##x, &tg_offload_memory, tg_module_staging, in_type, out_type)
SCANS(u32, uint32_t, uint32_t)
SCANS(u64, uint64_t, uint64_t)
SCANS(offsets, uint32_t, uint64_t)

static const char* refuses_host(void) {
  return tg_offload_on_host() ? "the numbers are in host memory already" : NULL;
}

const tg_scan_version tg_offload_scans[] = {
    {"serial", NULL, NULL, serial_u32, serial_u64, serial_offsets},
    {"sweep", NULL, NULL, sweep_u32, sweep_u64, sweep_offsets},
    {"sweep waits", NULL, NULL, waits_u32, waits_u64, waits_offsets},
    {"two_pass", NULL, tg_scan_two_pass_bytes, two_pass_u32, two_pass_u64, two_pass_offsets},
    {"host", refuses_host, NULL, host_u32, host_u64, host_offsets},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
