/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/run_restart.h  What a continued run starts from. */
#ifndef TG_MD_RUN_RESTART_H
#define TG_MD_RUN_RESTART_H

#include <stdint.h>
#include <throng/md.h>

#include "md/output.h"
#include "md/system.h"

/** x NULL: a new run. */
typedef struct tg_restart {
  long long step;
  int nstlist;
  double list_radius;
  int prune_interval;
  double inner_radius;
  double (*x)[3]; /* [atom_count], nm */
  double (*v)[3]; /* [atom_count], nm/ps */
  double heat[TG_MAX_GROUPS];
  uint64_t thermostat_seed;
  bool finished;       /* the run came to its end */
  long long last_step; /* and which it was, or would have been */
  tg_output_marks marks;
} tg_restart;

/** Reads the checkpoint in job->output and checks that it belongs to this system. Local. */
tg_status tg_restart_read(const tg_md_job* job, const tg_md_system* system, tg_restart* out);
void tg_restart_free(tg_restart* restart);

#endif
