/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/info_halo.h  The rows of `throng info` on the schedules of the halo exchange. */
#ifndef TG_CLI_INFO_HALO_H
#define TG_CLI_INFO_HALO_H

#include "base/json.h"
#include "device/device.h"

/** Which schedule a run takes unless --halo says another, and why. */
typedef struct tg_cli_halo_default {
  const char* name; /* NULL: none, as there is nothing to exchange between */
  char reason[320];
} tg_cli_halo_default;

/** Between CPUs. */
void tg_cli_halo_of_cpus(tg_cli_halo_default* out);
/** Between GPUs of one process; links: [gpu_count, gpu_count], from and to, the diagonal unused. */
void tg_cli_halo_of_gpus(int gpu_count, const tg_device_link* links, tg_cli_halo_default* out);

void tg_cli_info_print_halo(int gpu_count, const tg_device_link* links);
/** The same as the object "halo" of the object that is open. */
void tg_cli_info_json_halo(tg_json* json, int gpu_count, const tg_device_link* links);

#endif
