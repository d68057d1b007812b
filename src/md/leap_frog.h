/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/leap_frog.h  The leap-frog step and sums over velocities.
 *
 * All local, over the home atoms of one PE; sums over PEs are the caller's. Every sum is the same
 * on each run with the same thread count. Groups: group[i] is the group of atom i; NULL puts all
 * into group 0; an atom whose number is not below group_count is left out. */
#ifndef TG_MD_LEAP_FROG_H
#define TG_MD_LEAP_FROG_H

#include <stddef.h>

/** The home atoms. */
typedef struct tg_leap_frog_atoms {
  size_t home_count;
  const double* mass;         /* [home_count] amu */
  const double* inverse_mass; /* [home_count] 1/amu; 0 holds an atom's velocity */
  const unsigned char* group; /* [home_count] or NULL */
  int group_count;            /* at most TG_MAX_GROUPS */
  int threads;
} tg_leap_frog_atoms;

/** v(t + dt/2) = lambda[group] v(t - dt/2) + dt F(t)/m and x_new = x + dt v(t + dt/2). lambda:
 * [group_count], or NULL for no scaling. x_new may be x. */
void tg_leap_frog_step(const tg_leap_frog_atoms* atoms, double dt, const double* lambda,
                       const double (*x)[3], const double (*f)[3], double (*v)[3],
                       double (*x_new)[3]);

/** kinetic[g] = sum 1/2 m v (outer) v over the atoms of group g: [group_count][3][3], kJ/mol. */
void tg_leap_frog_kinetic(const tg_leap_frog_atoms* atoms, const double (*v)[3],
                          double (*kinetic)[3][3]);

/** momentum[g] = sum of m v and of m over group g: [group_count][4], amu nm/ps and amu. */
void tg_leap_frog_momentum(const tg_leap_frog_atoms* atoms, const double (*v)[3],
                           double (*momentum)[4]);

/** Subtracts velocity[g] from every atom of group g. velocity: [group_count][3]. */
void tg_leap_frog_remove_velocity(const tg_leap_frog_atoms* atoms, const double (*velocity)[3],
                                  double (*v)[3]);

#endif
