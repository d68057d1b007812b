/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_work.h  What a GPU does to a system's atoms besides pair forces, as flat lists.
 *
 * Bonded interactions and excluded pairs stand kind by kind, each kind filled up to whole warps.
 * Every atom is in one *group*: a rigid water, some constraints that hang together, or by itself.
 * Groups with constraints are worked on by 4, 8, 16 or 32 lanes of a warp, an atom and a constraint
 * a lane; the tables of lanes are the same for all copies of a molecule. */
#ifndef TG_MD_DEVICE_WORK_H
#define TG_MD_DEVICE_WORK_H

#include <stddef.h>

#include "base/status.h"
#include "md/constraints_internal.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The first eight are tg_interaction_kind's. */
typedef enum tg_device_kind {
  TG_DEVICE_BOND,
  TG_DEVICE_ANGLE,
  TG_DEVICE_PROPER,
  TG_DEVICE_RYCKAERT,
  TG_DEVICE_IMPROPER,
  TG_DEVICE_IMPROPER_PERIODIC,
  TG_DEVICE_PAIR_14,
  TG_DEVICE_RESTRAINT,
  TG_DEVICE_EXCLUDED,         /* pairs of molecules with rigid waters */
  TG_DEVICE_EXCLUDED_BY_ATOM, /* of others an atom, with all that it is excluded from */
  TG_DEVICE_EXCLUDED_RIGID,   /* within a rigid water: constraints undo their forces, so that only
                                 energies and written forces need them */
  TG_DEVICE_KINDS
} tg_device_kind;

enum {
  TG_DEVICE_WARP = 32,
  TG_DEVICE_BINS = 16, /* of atoms that thermostat and centre-of-mass removal treat alike */
  TG_DEVICE_WIDTHS = 4,
  TG_DEVICE_NEIGHBOURS = 6, /* constraints that share an atom with one */
  TG_DEVICE_OWN = 4,        /* constraints of one atom */
  TG_DEVICE_PARAMETERS = 6
};

/** What a lane of a group does; lanes are numbered within the group. */
typedef struct tg_device_lane {
  double length, scale; /* nm, 1 / sqrt(sum of inverse masses); scale 0: no constraint */
  double coefficient[TG_DEVICE_NEIGHBOURS]; /* 0 beyond the last */
  double inverse_mass;                      /* 1/amu, of this lane's atom */
  unsigned char a, b;                       /* lanes of the constraint's atoms */
  unsigned char neighbour[TG_DEVICE_NEIGHBOURS];
  unsigned char own[TG_DEVICE_OWN]; /* lanes with this lane's atom's constraints */
  signed char sign[TG_DEVICE_OWN];  /* 1: it is end a; -1: end b; 0: none */
} tg_device_lane;

/** Groups of one width, 4 << its number. */
typedef struct tg_device_groups {
  int* atom;  /* [count * width], -1: none */
  int* table; /* [count]: where its lanes begin in `lanes` */
  size_t count, atom_capacity, table_capacity;
} tg_device_groups;

typedef struct tg_device_work {
  size_t atom_count;
  float* inverse_mass; /* [atom_count] 1/amu */
  unsigned char* bin;  /* [atom_count] */
  int bin_count;
  int bin_temperature[TG_DEVICE_BINS]; /* temperature group */
  int bin_comm[TG_DEVICE_BINS];        /* centre-of-mass group; -1: none */
  double bin_mass[TG_DEVICE_BINS];     /* amu, of the inverse masses above */
  int temperature_count, comm_count;
  /* bonded */
  int (*items)[4]; /* [kind_start[TG_DEVICE_KINDS]] atoms; first -1: a filler */
  int* item_parameters;
  size_t kind_start[TG_DEVICE_KINDS + 1];     /* multiples of TG_DEVICE_WARP */
  double (*parameters)[TG_DEVICE_PARAMETERS]; /* [parameter_count] as topology.h has them */
  size_t parameter_count;
  /* groups */
  int (*waters)[4]; /* [water_count] O H H, number in settles */
  size_t water_count;
  tg_settle* settles; /* [settle_count], atoms unused */
  size_t settle_count;
  tg_device_groups groups[TG_DEVICE_WIDTHS];
  tg_device_lane* lanes; /* [lane_count] */
  size_t lane_count;
  int* single; /* [single_count] */
  size_t single_count;
  size_t items_capacity, item_parameters_capacity, parameters_capacity, waters_capacity,
      settles_capacity, lanes_capacity, single_capacity;
} tg_device_work;

struct tg_md_system;

/** TG_ERR_INPUT for what a GPU cannot do, by name. Release with tg_device_work_free, also after a
 * failure. */
tg_status tg_device_work_make(const struct tg_md_system* system, tg_device_work* out);
void tg_device_work_free(tg_device_work* work);

#ifdef __cplusplus
}
#endif
#endif
