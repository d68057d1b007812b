/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_setup.h  Lists and steps on GPUs for a system and a choice of lists. */
#ifndef TG_MD_DEVICE_SETUP_H
#define TG_MD_DEVICE_SETUP_H

#include "md/device_atoms.h"
#include "md/device_choice.h"
#include "md/device_step.h"
#include "md/list_choice.h"

typedef struct tg_device_setup {
  const tg_md_system* system;
  const tg_device_atoms* atoms;
  const tg_device_work* work;
  int device;                      /* the GPU, where there is one and no world */
  const tg_device_choice* devices; /* NULL: one GPU, one domain */
  tg_world* world;                 /* of processes with a GPU each, or NULL */
  double deadline_s;               /* 0: the default */
  tg_list_choice lists;
  /* as tg_device_md_params */
  double row_room;
  const tg_device_planes* planes;
  bool balance;
  const double (*x)[3]; /* [atom_count] nm */
  tg_thermostat_state thermostat;
} tg_device_setup;

/** The lists alone, at x; and steps on top of them, before tg_device_step_start. Both are the
 * caller's to destroy, also after a failure (NULL where nothing was made). Block. */
tg_status tg_device_setup_lists(const tg_device_setup* setup, tg_device_md** md);
tg_status tg_device_setup_steps(const tg_device_setup* setup, tg_device_md** md,
                                tg_device_step** step);

#endif
