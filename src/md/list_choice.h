/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/list_choice.h  How often the pair list is rebuilt and pruned, and how far it reaches.
 *
 * Every nstlist steps a search makes a list with `radius`. Where pruning pays, every prune_interval
 * steps since then the kernel's list is made from it: what is within inner_radius. A pair is missed
 * where it was beyond radius at the search or beyond inner_radius at the last pruning, so each of
 * the two gets half of verlet-buffer-tolerance. */
#ifndef TG_MD_LIST_CHOICE_H
#define TG_MD_LIST_CHOICE_H

#include <throng/md.h>

#include "md/run_restart.h"
#include "md/system.h"

/* Of a minimisation's pair list, nm: it is rebuilt before atoms can have moved half of it. */
#define TG_MINIMISE_BUFFER 0.1

typedef struct tg_list_choice {
  int nstlist;
  double radius;       /* nm, of the pair list */
  int prune_interval;  /* steps; 0: the list is used as it is */
  double inner_radius; /* nm, of the pruned list; 0 without pruning */
  const char* reason;  /* why, in words; static */
} tg_list_choice;

/* Room for what tg_list_alternatives gives. */
enum { TG_LIST_ALTERNATIVES = 10 };

/** Local, the same on every PE: a continued run keeps what its checkpoint says; a negative
 * tolerance takes rlist and nstlist as given, without pruning; else the radii follow from the
 * tolerance (verlet_buffer.h), for the job's intervals where it has any. Nothing is measured. */
tg_status tg_list_choose(const tg_md_system* system, const tg_md_job* job,
                         const tg_restart* restart, tg_list_choice* out);

/** Local: radii within the tolerance for these intervals. TG_ERR_INPUT where the box is too small
 * for them. */
tg_status tg_list_fix(const tg_md_system* system, const tg_md_job* job, int nstlist,
                      int prune_interval, tg_list_choice* out);
/** Local: for every nstlist that is worth a try the choice that should be the cheapest; for runs
 * with a tolerance. out: [TG_LIST_ALTERNATIVES]. */
tg_status tg_list_alternatives(const tg_md_system* system, const tg_md_job* job,
                               tg_list_choice* out, int* count);
/** The interval of prunings that is `by` further on in the list of those that are tried; 0: none.
 */
int tg_list_next_interval(int interval, int by);

#endif
