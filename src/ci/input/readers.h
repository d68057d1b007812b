/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/readers.h  One reader per format of nuclei. Each reads an opened file into an
 * empty model; TG_ERR_INPUT names the place. Notes are what a user should hear about. */
#ifndef TG_CI_INPUT_READERS_H
#define TG_CI_INPUT_READERS_H

#include "ci/input/input.h"
#include "ci/input/lines.h"

/** Adds a line, printf style, to what tg_ci_input reports. */
tg_status tg_ci_note(tg_ci_notes* notes, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

tg_status tg_ci_read_snt(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes);
tg_status tg_ci_read_h2(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes);
tg_status tg_ci_read_mfdn(tg_ci_lines* lines, tg_ci_model* model, tg_ci_notes* notes);

/** .sps and .sp: orbits and, where the file says it, the core. */
tg_status tg_ci_read_sps(tg_ci_lines* lines, tg_ci_model* model);
tg_status tg_ci_read_sp(tg_ci_lines* lines, tg_ci_model* model);

/** .int for the orbits of space, which the new model shares. form: TG_CI_INT for a look at it. */
tg_status tg_ci_read_int(tg_ci_lines* lines, tg_ci_format form, const tg_ci_model* space,
                         tg_ci_model* model, tg_ci_notes* notes);

/** The orbits 0s1/2, 0p1/2, 0p3/2, 1s1/2, 0d3/2, ... of all shells up to the one with N quanta. */
tg_status tg_ci_add_automatic_shells(int most_quanta, tg_place place, tg_ci_shells* out);

/** Elements <ab|V|cd>_JT of isospin orbits, normalised: orbit i is proton orbit i and the neutron
 * orbit of the same n, l, j. Zero it before use. */
typedef struct tg_ci_isospin_elements {
  tg_ci_two_element* item; /* [count], a <= b, c <= d, (a,b) <= (c,d) */
  int* isospin;            /* [count] */
  size_t count, capacity, isospin_capacity;
  tg_ci_key_table index;
  size_t duplicates, zeros;
} tg_ci_isospin_elements;

void tg_ci_isospin_elements_free(tg_ci_isospin_elements* elements);

/** Adds an element, orbits in any order; refuses what tg_ci_couplings_put_two refuses, and J + T
 * even of two particles in one orbit. The orbits must be those of an isospin-symmetric model. */
tg_status tg_ci_isospin_put(tg_ci_isospin_elements* elements, const tg_ci_shells* shells,
                            tg_ci_two_element element, int isospin, tg_place place);

/** Makes pp, nn and pn elements of them; the values' per_hw likewise. */
tg_status tg_ci_isospin_expand(const tg_ci_isospin_elements* elements, const tg_ci_shells* shells,
                               tg_ci_couplings* out);

/** USDB, Cohen-Kurath and the surface-delta interaction: see builtin.h. */
tg_status tg_ci_read_builtin(const char* name, tg_ci_model* model, tg_ci_notes* notes);

#endif
