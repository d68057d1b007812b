/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/wave_file.h  Files of wave functions: the states that `throng ci solve` found with all
 * that is needed to use them later without the input. docs/formats.md describes the file. */
#ifndef TG_CI_WAVE_FILE_H
#define TG_CI_WAVE_FILE_H

#include "ci/results_file.h"
#include "ci/solve.h"

#define TG_CI_WAVE_FORMAT "throng wave functions"
enum { TG_CI_WAVE_VERSION = 1 };

/** Writes the states of all sectors. command: what made them, for the record; NULL: none. */
tg_status tg_ci_wave_write(const char* path, const tg_ci_problem* problem,
                           const tg_ci_spectrum* spectrum, const char* command);

/** The states of one symmetry. */
typedef struct tg_ci_wave_sector {
  unsigned symmetry;
  tg_ci_space* space; /* made again; its strings and blocks are those of the file */
  int states;
  double* energies;  /* [states] rising; MeV or Ha */
  double* residuals; /* [states] norms of H v - E v */
  double* errors;    /* [states] bounds of the energies' errors */
  double* squared;   /* [states, TG_CI_LABELS], as in tg_ci_level; NAN: not known */
  double* vectors;   /* [states, ld], the first space->dimension of each: orthonormal */
  size_t ld;
} tg_ci_wave_sector;

typedef struct tg_ci_wave {
  char* path;
  tg_ci_kind kind;
  tg_ci_model model;           /* of a nucleus: orbits, core, hw; no elements */
  tg_ci_hamiltonian* orbitals; /* an operator without elements: what tg_ci_space_make takes */
  tg_ci_space_params space;    /* the restrictions; symmetry -1; arrays are this structure's */
  int particles[2];            /* as of tg_ci_problem, like the next three */
  int two_m;
  double hw, mass;
  uint64_t digest; /* tg_ci_hamiltonian_digest of H */
  tg_ci_wave_sector* sectors;
  size_t sector_count;
  void* arrays[9]; /* behind `space` */
} tg_ci_wave;

/** Reads all of it. TG_ERR_INPUT: no such file, of another format or a newer version, cut or
 * damaged, or strings that are not those this throng makes from the file's parameters. */
tg_status tg_ci_wave_read(const char* path, tg_ci_wave* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_wave_free(tg_ci_wave* wave);

#endif
