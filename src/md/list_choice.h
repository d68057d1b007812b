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

/** Local, the same on every PE: a continued run keeps what its checkpoint says; a negative
 * tolerance takes rlist and nstlist as given, without pruning; else the radii follow from the
 * tolerance (verlet_buffer.h). */
tg_status tg_list_choose(const tg_md_system* system, const tg_md_job* job,
                         const tg_restart* restart, tg_list_choice* out);

#endif
