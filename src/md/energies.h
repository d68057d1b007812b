/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/energies.h  The energy terms of a step, by name. */
#ifndef TG_MD_ENERGIES_H
#define TG_MD_ENERGIES_H

/* name, the column's label (GROMACS's), unit */
#define TG_ENERGY_LIST(X)                                                                          \
  X(TG_E_BOND, "Bond", "kJ/mol")                                                                   \
  X(TG_E_ANGLE, "Angle", "kJ/mol")                                                                 \
  X(TG_E_PROPER, "Proper Dih.", "kJ/mol")                                                          \
  X(TG_E_RYCKAERT, "Ryckaert-Bell.", "kJ/mol")                                                     \
  X(TG_E_IMPROPER, "Improper Dih.", "kJ/mol")                                                      \
  X(TG_E_IMPROPER_PERIODIC, "Per. Imp. Dih.", "kJ/mol")                                            \
  X(TG_E_LJ_14, "LJ-14", "kJ/mol")                                                                 \
  X(TG_E_COULOMB_14, "Coulomb-14", "kJ/mol")                                                       \
  X(TG_E_RESTRAINT, "Position Rest.", "kJ/mol")                                                    \
  X(TG_E_LJ, "LJ (SR)", "kJ/mol")                                                                  \
  X(TG_E_COULOMB, "Coulomb (SR)", "kJ/mol")                                                        \
  X(TG_E_POTENTIAL, "Potential", "kJ/mol")                                                         \
  X(TG_E_KINETIC, "Kinetic En.", "kJ/mol")                                                         \
  X(TG_E_TOTAL, "Total Energy", "kJ/mol")                                                          \
  X(TG_E_CONSERVED, "Conserved En.", "kJ/mol")                                                     \
  X(TG_E_TEMPERATURE, "Temperature", "K")                                                          \
  X(TG_E_PRESSURE, "Pressure", "bar")                                                              \
  X(TG_E_CONSTRAINT_RMSD, "Constr. rmsd", "")

typedef enum tg_energy_term {
#define TG_ENERGY_ENUM(name, label, unit) name,
  TG_ENERGY_LIST(TG_ENERGY_ENUM)
#undef TG_ENERGY_ENUM
      TG_E_COUNT
} tg_energy_term;

/** The terms up to here come from forces (potential terms that add up to TG_E_POTENTIAL). */
enum { TG_E_POTENTIAL_TERMS = TG_E_POTENTIAL };

typedef struct tg_energies {
  double term[TG_E_COUNT];
  double virial[3][3];         /* -1/2 sum x (outer) F, kJ/mol */
  double kinetic_tensor[3][3]; /* 1/2 sum m v (outer) v, kJ/mol */
} tg_energies;

const char* tg_energy_label(tg_energy_term term);
const char* tg_energy_unit(tg_energy_term term);

#endif
