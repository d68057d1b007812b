/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/links.h  Within src/ci: from a heap of connections to the links of ci/jumps.h. */
#ifndef TG_CI_LINKS_H
#define TG_CI_LINKS_H

#include <stdbool.h>

#include "ci/jumps.h"

/** One connection found: to string row of the target class. They are found row after row. */
typedef struct tg_ci_connection {
  uint32_t channel, source, row, from;
  uint32_t code; /* of a jump */
  double value;  /* of a matrix */
} tg_ci_connection;

typedef struct tg_ci_connections {
  tg_ci_connection* list;
  size_t count, room;
  size_t rows;      /* of the target class; 0: not known */
  uint32_t* number; /* tg_ci_target_make's: of each one's link */
  size_t number_room;
} tg_ci_connections;

void tg_ci_connections_free(tg_ci_connections* c);
tg_status tg_ci_connect(tg_ci_connections* c, tg_ci_connection connection);

/** What a few rows of a class tell of all of them. */
typedef struct tg_ci_sample {
  double connections;
  size_t links; /* those that the few rows have */
} tg_ci_sample;

/** Rows 0, step, 2 step ... of a class are looked at. */
size_t tg_ci_sample_step(size_t rows);
/** From the connections of `sampled` rows. */
tg_status tg_ci_sample_take(const tg_ci_connections* c, size_t sampled, size_t rows,
                            tg_ci_sample* out);
/** A class of tg_ci_alone_make (_nonzero), and of tg_ci_jumps_make_some. */
tg_status tg_ci_alone_sample(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                             bool nonzero, size_t class, tg_ci_sample* out);
tg_status tg_ci_jumps_sample(const tg_ci_hamiltonian* h, const tg_ci_space* space, int species,
                             const bool* useful, size_t class, tg_ci_sample* out);

/** Sorts them into a target's links, begin, from and code (where jumps) or value. rows: strings of
 * the target class. *bytes grows by what the target takes. */
tg_status tg_ci_target_make(tg_ci_connections* c, size_t rows, bool jumps, tg_ci_target* out,
                            size_t* bytes);
void tg_ci_targets_free(tg_ci_target* targets, size_t count);

/** A string with a few orbitals replaced: list (rising) into out, which may not be list. */
void tg_ci_replace(const uint16_t* list, int particles, const uint16_t* removed,
                   const uint16_t* added, int count, uint16_t* out);

#endif
