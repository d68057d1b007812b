/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/results_file.h  Files of named arrays with units and attributes (HDF5), for all that is
 * too large for a table: wave functions, densities, natural orbitals.
 *
 *   tg_ci_results* file = NULL;
 *   TG_TRY(tg_ci_results_create("density.h5", "throng densities", 1, &file));
 *   const tg_ci_array rho = {.element = TG_CI_DOUBLE, .axes = 2, .size = {n, n}, .data = values,
 *                            .unit = "1", .about = "<a+_i a_j>, protons"};
 *   TG_TRY_GOTO(tg_ci_results_put(file, "states/0/protons", &rho), done);
 *   TG_TRY_GOTO(tg_ci_results_set_double(file, "states/0", "energy_MeV", energy), done);
 *   status = tg_ci_results_commit(&file);
 * done:
 *   tg_ci_results_close(&file);
 *
 * A file appears under its name when it is complete. Arrays and attributes carry checksums, so that
 * a damaged file is refused, not used. Groups ("states/0") are made as names need them. Where
 * throng was built without HDF5, creating and opening fail with TG_ERR_MACHINE and say so. Calls
 * are for one thread at a time. */
#ifndef TG_CI_RESULTS_FILE_H
#define TG_CI_RESULTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef enum tg_ci_element_type {
  TG_CI_DOUBLE,
  TG_CI_INT32,
  TG_CI_INT64,
  TG_CI_UINT8,
  TG_CI_UINT16,
  TG_CI_UINT32,
  TG_CI_UINT64,
} tg_ci_element_type;

enum { TG_CI_MOST_AXES = 4 };

/** An array: [size[0], ..., size[axes - 1]], the last index fastest. */
typedef struct tg_ci_array {
  tg_ci_element_type element;
  int axes;                     /* 1 ... TG_CI_MOST_AXES */
  size_t size[TG_CI_MOST_AXES]; /* may be 0 */
  const void* data;
  size_t stride;     /* of two axes: elements from one row to the next; 0: size[1] */
  const char* unit;  /* "MeV"; NULL: a pure number, no attribute */
  const char* about; /* one line; NULL: none */
} tg_ci_array;

typedef struct tg_ci_results tg_ci_results;

/** "HDF5 1.10.8"; NULL where throng was built without. */
const char* tg_ci_results_library(void);

/** Starts a file that will replace path when it is committed. format and version say what is in it:
 * attributes of the file, as are the version of throng and the time. */
tg_status tg_ci_results_create(const char* path, const char* format, int version,
                               tg_ci_results** out);

/** Adds an array. TG_ERR_MACHINE: disk full ...; TG_ERR_INTERNAL: the name is taken. */
tg_status tg_ci_results_put(tg_ci_results* file, const char* name, const tg_ci_array* array);
/** Attributes of an array or a group, which is made; "": of the file. */
tg_status tg_ci_results_set_text(tg_ci_results* file, const char* object, const char* name,
                                 const char* value);
tg_status tg_ci_results_set_int(tg_ci_results* file, const char* object, const char* name,
                                int64_t value);
tg_status tg_ci_results_set_double(tg_ci_results* file, const char* object, const char* name,
                                   double value);

/** Completes the file and closes it; sets NULL. On failure nothing is left of it. */
tg_status tg_ci_results_commit(tg_ci_results** file);

/** Opens a file of this format. TG_ERR_INPUT: not HDF5, cut short, of another format, or of a newer
 * version than most_version. */
tg_status tg_ci_results_open(const char* path, const char* format, int most_version,
                             tg_ci_results** out);
/** Null-safe, sets NULL. A file that was created and not committed is removed. */
void tg_ci_results_close(tg_ci_results** file);

const char* tg_ci_results_path(const tg_ci_results* file);
int tg_ci_results_version(const tg_ci_results* file);
/** Is there an array or a group of this name? */
bool tg_ci_results_has(tg_ci_results* file, const char* name);
/** Axes and sizes of an array; data, unit and about are NULL. TG_ERR_INPUT where there is none. */
tg_status tg_ci_results_look(tg_ci_results* file, const char* name, tg_ci_array* out);
/** Reads into data, packed or with the stride of like, whose element type, axes and sizes the file
 * must have. TG_ERR_INPUT: not there, other sizes, wrong checksum. */
tg_status tg_ci_results_get(tg_ci_results* file, const char* name, const tg_ci_array* like,
                            void* data);
/** Attributes; TG_ERR_INPUT where there is none of this kind. Text longer than size - 1 is cut. */
tg_status tg_ci_results_get_text(tg_ci_results* file, const char* object, const char* name,
                                 char* out, size_t size);
tg_status tg_ci_results_get_int(tg_ci_results* file, const char* object, const char* name,
                                int64_t* out);
tg_status tg_ci_results_get_double(tg_ci_results* file, const char* object, const char* name,
                                   double* out);

#endif
