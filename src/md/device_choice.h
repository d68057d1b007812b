/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_choice.h  On how many GPUs a run is, in which domains, with which exchange. */
#ifndef TG_MD_DEVICE_CHOICE_H
#define TG_MD_DEVICE_CHOICE_H

#include <stdbool.h>
#include <throng/md.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  TG_DEVICE_MOST_CARDS = 8,   /* that share a system */
  TG_DEVICE_MOST_DOMAINS = 16 /* in all */
};

typedef struct tg_device_choice {
  int card_count;
  int grid[3]; /* domains along x, y, z; dealt to cards in blocks */
  const char* halo;
} tg_device_choice;

/** Local: what is wrong with a job by itself, before anything is read. TG_ERR_INPUT for GPUs that
 * its backend does not use, transports and schedules that there are not for its backend. */
tg_status tg_device_choice_check(const tg_md_job* job);
/** The transport of the world that a job on GPUs needs: nvshmem for processes that a launcher or
 * TG_BOOTSTRAP brings together, else loop. */
const char* tg_device_choice_transport(const tg_md_job* job);
/** Local. process_count: of a world with a GPU for each, or 1. TG_ERR_INPUT where domains, GPUs and
 * processes do not fit each other. Looks at no GPU. */
tg_status tg_device_choose(const tg_md_job* job, const double box[3], int process_count,
                           tg_device_choice* out);

#ifdef __cplusplus
}
#endif
#endif
