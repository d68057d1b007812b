/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/oscillator.h  Radial functions of the harmonic oscillator and the constants of nuclei.
 *
 * n counts from 0 and R_nl > 0 near the origin; so <nl|r^2|n+1,l> < 0. Lengths in units of the
 * oscillator length b, b^2 = hbar^2 / (m hw). */
#ifndef TG_CI_OSCILLATOR_H
#define TG_CI_OSCILLATOR_H

/** <n1 l1| r^k |n2 l2> in b^k, for k >= |l1 - l2| with l1 + l2 + k even (all electric multipoles,
 * and r^2); NAN otherwise. All terms of the sum have one sign: nothing cancels at any n. */
double tg_ci_radial(int n1, int l1, int k, int n2, int l2);

/** b^2 in fm^2 of an oscillator energy hw in MeV. */
double tg_ci_oscillator_length2(double hw);

/** The customary oscillator energy of a nucleus of mass number A, 41 A^(-1/3) MeV. */
double tg_ci_oscillator_energy(double mass);

/** <n1 l1 j1||r||n2 l2 j2> in b: reduced elements (Edmonds) of the position vector. */
double tg_ci_position_reduced(int n1, int l1, int two_j1, int n2, int l2, int two_j2);

/** <l1 j1||Y_k||l2 j2>, j coupled from l and then s; 0 where l1 + l2 + k is odd. */
double tg_ci_harmonic_reduced(int l1, int two_j1, int k, int l2, int two_j2);

/** <l1 j1||l||l2 j2> and <l1 j1||s||l2 j2>. */
double tg_ci_orbital_reduced(int l1, int two_j1, int l2, int two_j2);
double tg_ci_spin_reduced(int l1, int two_j1, int l2, int two_j2);

#endif
