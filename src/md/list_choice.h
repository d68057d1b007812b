/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/list_choice.h  How often the pair list is rebuilt, and how far it reaches. */
#ifndef TG_MD_LIST_CHOICE_H
#define TG_MD_LIST_CHOICE_H

#include <throng/md.h>

#include "md/run_restart.h"
#include "md/system.h"

typedef struct tg_list_choice {
  int nstlist;
  double radius;        /* nm, of the pair list */
  double buffer_radius; /* nm, what the tolerance asks for at nstlist; 0 where rlist was given */
  const char* reason;   /* why, in words; static */
} tg_list_choice;

/** Local, the same on every PE: a continued run keeps what its checkpoint says; a negative
 * tolerance takes rlist and nstlist as given; else the radius follows from the tolerance
 * (verlet_buffer.h). */
tg_status tg_list_choose(const tg_md_system* system, const tg_md_job* job,
                         const tg_restart* restart, tg_list_choice* out);

#endif
