/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/domain_internal.h  Shared by the files that implement domain.h. */
#ifndef TG_MD_DOMAIN_INTERNAL_H
#define TG_MD_DOMAIN_INTERNAL_H

#include "md/domain.h"

/** An atom on its way to another PE. */
typedef struct tg_traveller {
  int global;
  int pad; /* keeps the record free of uninitialised bytes */
  double x[3], v[3], centre[3];
} tg_traveller;

/** How a constraint group is put together: atom k hangs on an earlier atom of its group. */
typedef struct tg_group_tree {
  int* group_of;         /* [atom_count] group number within the molecule */
  int* order;            /* [atom_count] atoms, each after its parent */
  int* parent;           /* [atom_count] by position in order; -1: first of its group */
  int* constraint_order; /* the molecule's TG_CONSTRAINT numbers, group by group */
} tg_group_tree;

struct tg_domain_scratch {
  tg_group_tree* trees; /* [molecule_type_count] */
  tg_traveller* stay;   /* home atoms while they migrate */
  size_t stay_count, stay_capacity;
  tg_traveller* send[2]; /* down, up */
  size_t send_count[2], send_capacity[2];
  void* received;
  size_t received_capacity;
  int* exclusion_start;
  size_t exclusion_start_capacity;
  int* exclusion;
  size_t exclusion_capacity;
  int* molecule_stamp; /* [molecule_count] last partition that listed it */
  int stamp;
  int (*pairs)[2];
  size_t pairs_capacity;
  double* lengths;
  size_t lengths_capacity;
  int (*settles)[3];
  size_t settles_capacity;
  double (*settle_distances)[2];
  size_t settle_distances_capacity;
  long long bonded_expected; /* interactions of the whole system */
  void* gathered;
  size_t gathered_capacity;
  void* outgoing;
  size_t outgoing_capacity;
};

/** Room for `count` local atoms in every array of the domain. */
tg_status tg_domain_reserve(tg_domain* domain, size_t count);

/** Local: builds, from home and halo atoms, interactions, exclusions and constraints; returns
 * through listed the number of bonded interactions assigned to this PE. */
tg_status tg_domain_localise(tg_domain* domain, long long* listed);

/** Local: the spanning trees of constraint groups; and their use: moves each atom of home groups
 * next to its parent (x: [atom_count][3] of the whole system). */
tg_status tg_group_trees_build(const tg_md_system* system, tg_group_tree** out);
void tg_group_trees_free(const tg_md_system* system, tg_group_tree* trees);
void tg_group_make_whole(const tg_md_system* system, const tg_group_tree* trees, int molecule,
                         const double (*x)[3], double (*whole)[3]);

#endif
