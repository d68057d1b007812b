/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/problem.h  A question about a nucleus or a molecule: an input and numbers of particles
 * become a Hamiltonian, a space and the quantities that label levels.
 *
 * M and the symmetry (the parity of nuclei, a molecule's irrep) are conserved, so a problem falls
 * into *sectors*: one M, and each symmetry that has states or the one asked for. Levels of J > M
 * have a state in the sector, so the least M shows all levels. */
#ifndef TG_CI_PROBLEM_H
#define TG_CI_PROBLEM_H

#include <limits.h>
#include <stdbool.h>

#include "ci/input/input.h"
#include "ci/input/partition.h"
#include "ci/space.h"

enum { TG_CI_UNSET = INT_MIN };

/** Start from tg_ci_problem_defaults(). */
typedef struct tg_ci_problem_params {
  /* Protons and neutrons outside the core. UNSET: 0, where the other is given. */
  int protons, neutrons;
  int two_m;      /* UNSET: 0 or 1, as the number of particles says */
  int parity;     /* +1, -1; UNSET: with nmax that of the highest excitations, otherwise both */
  int nmax;       /* most oscillator quanta above the lowest configuration; UNSET: no limit */
  bool allow_cut; /* nmax may go further than the orbits and elements of an input without a core */
  double hw;      /* MeV; 0: the input's, else 41 A^(-1/3) around a core */
  double beta_cm; /* H + beta_cm (Hcm - 3/2 hw), without a core; 0: H alone */
  bool relative_kinetic; /* add the relative kinetic energy */
  /* Electrons and twice Sz. UNSET: the input's; another number of electrons: 0 or 1. */
  int electrons, two_sz;
  int irrep; /* Molpro's number, 1 to 8; UNSET: all */
  int two_j; /* only states with this J (of molecules S), of M = J; UNSET: all */

  /* Restrictions of the space (docs/how-to/truncations.md); NULL, UNSET: none. */
  const char* partition; /* of nuclei: a .ptn file; it says protons, neutrons and parity, too */
  const char*
      occupation;     /* of orbits, "0d5/2:2..6,n1s1/2:0..1"; of orbitals together, "1-3:5..6" */
  const char* frozen; /* full orbits "0s1/2,n0p3/2"; orbitals: the lowest "2", or a list "1,4-5" */
  const char* active; /* of molecules: "6,6" or "6:3-5,8", the others full or empty */
  int excitations;    /* most particles above the lowest configuration */
} tg_ci_problem_params;

/** What labels levels. */
typedef enum tg_ci_label {
  TG_CI_LABEL_J,  /* J of nuclei, S of molecules: x (x + 1) is measured */
  TG_CI_LABEL_T,  /* isospin, the same way */
  TG_CI_LABEL_CM, /* <Hcm> - 3/2 hw, MeV: the excitation of the centre of mass */
  TG_CI_LABELS
} tg_ci_label;

/** What tg_ci_problem's space points at. */
typedef struct tg_ci_restrictions {
  uint8_t* roles[2];            /* [orbitals] */
  uint16_t *least[2], *most[2]; /* [shells] */
  uint16_t* partitions[2];      /* [partition_count, shells] */
  uint32_t* pairs;              /* [partition_pair_count, 2] */
  tg_ci_integrals folded;       /* over the active orbitals, where there are others */
  uint16_t* numbers;            /* [orbitals of these] numbers they have in the input, from 0 */
} tg_ci_restrictions;

typedef struct tg_ci_problem {
  const tg_ci_input* input; /* the caller's */
  tg_ci_kind kind;
  int particles[2]; /* protons and neutrons outside the core; active electrons, spin up and down */
  int two_m;        /* of molecules twice Sz, which the numbers of electrons fix */
  int two_j;        /* only states with this J or S; -1: all. Then M is J */
  double hw, mass;  /* MeV and the mass number, core included; 0: not known or not needed */
  int least_weight; /* of the lowest configuration; -1 where nmax is not given */
  tg_ci_hamiltonian* h;
  tg_ci_hamiltonian* label[TG_CI_LABELS]; /* NULL: not known here, or not asked for */
  char unknown[TG_CI_LABELS][256];        /* and why, in words */
  bool spin_by_lookup; /* S^2 is measured without an operator (spin.h): it would be too large */
  tg_ci_space_params space;    /* its symmetry is -1: set it to a sector's */
  tg_ci_dimension* dimensions; /* [dimension_count], of all M and symmetries */
  size_t dimension_count;
  unsigned* sectors; /* [sector_count] symmetries that are asked for and have states at M */
  size_t sector_count;
  uint64_t* levels; /* [sector_count] states that may be asked for: with two_j, those of this J */
  tg_ci_restrictions restrictions;
  tg_ci_notes notes; /* how the space is restricted, in words */
} tg_ci_problem;

/** The integrals of a molecule that h is made from: over the active orbitals. */
const tg_ci_integrals* tg_ci_problem_integrals(const tg_ci_problem* problem);

tg_ci_problem_params tg_ci_problem_defaults(void);

/** Makes the operators and counts states; nothing of the size of the space. TG_ERR_INPUT, with what
 * would be possible, for numbers of particles that do not fit, an M of the wrong evenness or too
 * large, a parity or irrep without states, and what the other kind of input needs. The input must
 * stay. */
tg_status tg_ci_problem_make(const tg_ci_input* input, const tg_ci_problem_params* params,
                             tg_ci_problem* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_problem_free(tg_ci_problem* problem);

/** States of a symmetry at the problem's M. */
uint64_t tg_ci_problem_dimension(const tg_ci_problem* problem, unsigned symmetry);

/** "MeV" or "Ha". */
const char* tg_ci_problem_unit(const tg_ci_problem* problem);

#endif
