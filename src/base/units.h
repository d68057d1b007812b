/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/units.h  Units and physical constants, once. Nowhere else does a bare factor stand.
 *
 * Molecular dynamics uses the GROMACS units: nm, ps, amu, e, kJ/mol, K, bar; velocities nm/ps,
 * forces kJ mol^-1 nm^-1. Constants are the CODATA 2018 values (the SI's exact k_B, N_A, e where
 * exact). */
#ifndef TG_BASE_UNITS_H
#define TG_BASE_UNITS_H

#define TG_PI 3.14159265358979323846
#define TG_DEGREE (TG_PI / 180.0)

/** Gas constant, kJ mol^-1 K^-1: k_B N_A = 1.380649e-23 * 6.02214076e23 / 1000. */
#define TG_BOLTZMANN 0.008314462618
/** Electric conversion factor f = 1/(4 pi eps0), kJ mol^-1 nm e^-2. */
#define TG_COULOMB 138.935457644
/** 1 kJ mol^-1 nm^-3 in bar: 1e3 / (N_A 1e-27) Pa / 1e5. */
#define TG_PRESSURE_BAR 16.6053906717
/** amu nm^-3 to kg m^-3. */
#define TG_DENSITY_SI 1.66053906660

/* Nuclei: MeV, fm, e, nuclear magnetons. */

/** hbar c, MeV fm, and the masses of proton and neutron, MeV / c^2. */
#define TG_HBAR_C 197.3269804
#define TG_PROTON_MASS 938.27208816
#define TG_NEUTRON_MASS 939.56542052
/** hbar^2 / m, MeV fm^2: (hbar c)^2 / (m c^2) with the mean mass 938.91875434 MeV / c^2 of proton
 * and neutron, 41.4710400 */
#define TG_HBAR2_PER_NUCLEON (TG_HBAR_C * TG_HBAR_C / (0.5 * (TG_PROTON_MASS + TG_NEUTRON_MASS)))
/** The free nucleons' g factors of spin, as the shell-model codes round them. */
#define TG_G_SPIN_PROTON 5.586
#define TG_G_SPIN_NEUTRON (-3.826)
/** Charge radius of the proton, fm, and mean square charge radius of the neutron, fm^2 (Particle
 * Data Group 2022). */
#define TG_PROTON_RADIUS 0.8414
#define TG_NEUTRON_RADIUS2 (-0.1155)

#endif
