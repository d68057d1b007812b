/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_md.h  Molecular dynamics in the memory of GPUs: atoms, pair list, pair forces.
 *
 * Everything is queued on one stream of each GPU and stays there; the host sees what it asks for.
 * With several GPUs, of this process or of a world's, calls are for all of this process; between
 * processes all calls are collective, and what is read back is of the domains of this process.
 * The physics is that of nonbonded.h. Positions are fixed point, 2^-32 of the box a unit, so that
 * differences are nearest images of the same precision everywhere; forces are sums of fixed-point
 * numbers, so that they are the same bits in any order. docs/md-gpu.md has layouts and reasons.
 *
 * Where throng was built without CUDA, tg_device_md_create fails with TG_ERR_MACHINE. */
#ifndef TG_MD_DEVICE_MD_H
#define TG_MD_DEVICE_MD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/world.h"
#include "md/device_balance.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_device_md tg_device_md;

typedef struct tg_device_md_params {
  int device;
  double box[3]; /* nm, rectangular, periodic */
  size_t atom_count;
  const int* type;            /* [atom_count] */
  const double* charge;       /* [atom_count] e */
  const int* exclusion_start; /* [atom_count + 1]: partners of atom i are at exclusion[start[i]..
                                 start[i + 1]), both directions; NULL: none are excluded */
  const int* exclusion;
  int type_count;
  const double* c6; /* [type_count * type_count] */
  const double* c12;
  double cutoff;        /* nm */
  double rf_k, rf_c;    /* nm^-3, nm^-1 */
  double coulomb_scale; /* kJ mol^-1 nm e^-2 */
  bool lj_shift, coulomb_shift;
  double list_radius;  /* nm, of a search */
  double inner_radius; /* nm, of a pruning; cutoff <= inner_radius <= list_radius */
  double row_room;     /* of the lists, in units of what a liquid needs twice over; 0: 1 */
  int domains[3];      /* that the box is cut into along each edge; 0: 1 */
  int card_count;      /* GPUs 0 to card_count - 1 share them in blocks; 0 or 1: `device` has all */
  tg_world* world;     /* of transport nvshmem: a GPU for each PE, in place of these; or NULL */
  const char* halo;    /* host, stream, pulse, fused, direct: how positions of several domains are
                          exchanged; NULL: direct */
  double deadline_s;   /* a GPU that waits longer for another gives up; 0: 60 */
  /* between domains, no layer thinner than 0.6 nm; NULL: layers of equal thickness */
  const tg_device_planes* planes;
  bool balance; /* planes move at searches, by what timed steps take (device_step.h) */
} tg_device_md_params;

typedef struct tg_device_md_energies {
  double lj, coulomb;  /* kJ/mol */
  double virial[3][3]; /* -1/2 sum r_ij (outer) F_ij, kJ/mol */
  int64_t pairs;       /* within the cut-off */
} tg_device_md_energies;

typedef struct tg_device_md_counts {
  int64_t clusters, slots;
  int64_t listed, kept; /* pairs that the lists of search and of pruning hold, padding included */
  int64_t listed_most, kept_most; /* entries of the longest row of each */
} tg_device_md_counts;

typedef enum tg_device_md_stage {
  TG_DEVICE_MD_SORT,
  TG_DEVICE_MD_LIST,
  TG_DEVICE_MD_PRUNE,
  TG_DEVICE_MD_FORCES,
  TG_DEVICE_MD_ENERGIES, /* forces with energies and virial */
  TG_DEVICE_MD_STAGES
} tg_device_md_stage;

/** Local. Arrays are copied. TG_ERR_INPUT where the box is too small for the list. */
tg_status tg_device_md_create(const tg_device_md_params* params, tg_device_md** out);
/** Null-safe, sets NULL. */
void tg_device_md_destroy(tg_device_md** md);

/** x: [atom_count][3] nm, anywhere; atoms keep their places in the clusters. Blocks. */
tg_status tg_device_md_set_positions(tg_device_md* md, const double (*x)[3]);

/** Sorts the atoms into clusters, and lists all pairs within list_radius. Queued. */
tg_status tg_device_md_search(tg_device_md* md);
/** Keeps of the search's list what is within inner_radius now, for the forces. Queued. */
tg_status tg_device_md_prune(tg_device_md* md);
/** Pair forces of all atoms, in place of those before, with energies or without. Queued. */
tg_status tg_device_md_forces(tg_device_md* md, bool want_energy);

/** f: [atom_count][3] kJ mol^-1 nm^-1, or NULL; energies of the last forces that wanted them, or
 * NULL. Blocks; TG_ERR_MACHINE where a list has outgrown its room. */
tg_status tg_device_md_get_forces(tg_device_md* md, double (*f)[3],
                                  tg_device_md_energies* energies);
/** What has become of planes. */
typedef struct tg_device_balance {
  tg_device_planes planes; /* of the last search whose state is kept */
  long long moves;         /* searches at which some have moved; 0 without `balance` */
  /* the longest time of a domain by the mean, at first and at last; 0: not timed */
  double first, last;
} tg_device_balance;
/** Blocks until what is queued is done. Of several processes each has the same. */
tg_status tg_device_md_get_balance(const tg_device_md* md, tg_device_balance* out);

/** Blocks. */
tg_status tg_device_md_count(tg_device_md* md, tg_device_md_counts* out);

/** Microseconds of one stage, the median of `repeats` graphs of `launches` each. The state is left
 * as after one. Blocks. */
tg_status tg_device_md_measure(tg_device_md* md, tg_device_md_stage stage, int launches,
                               int repeats, double* microseconds);

#ifdef __cplusplus
}
#endif
#endif
