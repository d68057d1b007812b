/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/constraints_internal.h  SETTLE and LINCS, each over a part of its constraints. */
#ifndef TG_MD_CONSTRAINTS_INTERNAL_H
#define TG_MD_CONSTRAINTS_INTERNAL_H

#include "md/constraints.h"

/** One rigid water. */
typedef struct tg_settle {
  int atoms[3];           /* O H H */
  double inverse_mass[2]; /* O, H; 1/amu */
  double weight[2];       /* m_O / M, m_H / M */
  double ra, rb, rc;      /* O above the centre of mass, H below it, half of H-H; nm */
  double distance[2];     /* dOH, dHH; nm */
} tg_settle;

/** All LINCS constraints of a PE; arrays over constraints unless said otherwise. */
typedef struct tg_lincs {
  int order, iterations;
  size_t count;
  int (*pairs)[2];
  double* length;
  double* inverse_mass;   /* [2 * count]: of both atoms */
  double* scale;          /* S = 1 / sqrt(sum of the inverse masses) */
  int* neighbour_start;   /* [count + 1] into neighbour and coefficient */
  int* neighbour;         /* constraints that share an atom */
  double* coefficient;    /* their coupling, without the cosine between the two */
  double* coupling;       /* work: the matrix A, as `neighbour` */
  double (*direction)[3]; /* work: unit vector of the old bond */
  double *old_length, *sum, *term[2], *multiplier; /* work */
  size_t* block_start; /* [block_count + 1]: whole groups, some tens of constraints each */
  size_t block_count;
  size_t pair_capacity, length_capacity, mass_capacity, scale_capacity, start_capacity,
      neighbour_capacity, coefficient_capacity, coupling_capacity, direction_capacity, old_capacity,
      sum_capacity, term_capacity[2], multiplier_capacity, block_capacity;
  int *atom_start, *atom_constraint; /* work of tg_lincs_set: constraints of each atom */
  size_t atom_start_capacity, atom_constraint_capacity;
} tg_lincs;

/** The arguments of tg_constraints_apply. */
typedef struct tg_constraints_move {
  const double (*x_old)[3];
  double (*x_new)[3];
  double (*v)[3]; /* or NULL */
  double inverse_dt;
  int want_virial;
} tg_constraints_move;

/** What one thread found. */
typedef struct tg_constraints_found {
  double virial[3][3];
  int failed_atom; /* -1: none */
  double cosine;   /* of its turn; below -1: not finite or no solution */
} tg_constraints_found;

/** Fails where the masses of the hydrogens differ, or the triangle does not exist. */
tg_status tg_settle_make(const int atoms[3], const double distance[2], const double* inverse_mass,
                         tg_settle* out);
void tg_settle_apply(const tg_settle* settles, size_t count, const tg_constraints_move* move,
                     tg_constraints_found* found);
void tg_settle_project(const tg_settle* settles, size_t count, const double (*x)[3],
                       double (*v)[3]);

tg_status tg_lincs_set(tg_lincs* lincs, size_t home_count, const double* inverse_mass, size_t count,
                       const int (*pairs)[2], const double* lengths);
void tg_lincs_free(tg_lincs* lincs);
/** Blocks [first, last). found->cosine holds the limit of a turn to report on entry. */
void tg_lincs_apply(tg_lincs* lincs, size_t first, size_t last, const tg_constraints_move* move,
                    tg_constraints_found* found);
void tg_lincs_project(tg_lincs* lincs, size_t first, size_t last, const double (*x)[3],
                      double (*v)[3]);

#endif
