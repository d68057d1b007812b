/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/checkpoint.h  The file from which an interrupted run goes on bit-identically.
 *
 * Layout, in the machine's own numbers: a head of 40 bytes ("throng checkpoint", filled up to 20
 * bytes with zeros; then 32-bit version, 0x01020304 for the byte order, size of a real, number of
 * sections, CRC-32 of what came before), then the sections: a head of 56 bytes (name in 36, CRC-32
 * of the content, 64-bit length, 0, CRC-32 of what came before) and the content. Nothing follows
 * the last. Sections: state, x, v, files, then one "v:NAME" for each array of values. A file of a
 * machine with another byte order is refused. */
#ifndef TG_MD_CHECKPOINT_H
#define TG_MD_CHECKPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TG_CHECKPOINT_NAME = 32 };

/** Some doubles under a name: thermostat variables, sums for averages, ... */
typedef struct tg_checkpoint_values {
  char name[TG_CHECKPOINT_NAME]; /* unique within a checkpoint */
  double* values;                /* [count] */
  size_t count;
} tg_checkpoint_values;

/** An output file and how long it was, for cutting it back. */
typedef struct tg_checkpoint_file {
  char name[64];
  int64_t size; /* bytes; -1: not there */
} tg_checkpoint_file;

typedef struct tg_checkpoint {
  int64_t step;
  double time;          /* ps */
  double box[9];        /* nm */
  uint32_t fingerprint; /* CRC-32 of what must not change: topology and parameters as text */
  size_t atom_count;
  double (*x)[3];               /* [atom_count] by global number, nm */
  double (*v)[3];               /* [atom_count] nm/ps */
  tg_checkpoint_values* values; /* [values_count] */
  size_t values_count;
  tg_checkpoint_file* files; /* [file_count] */
  size_t file_count;
} tg_checkpoint;

/** Writes the checkpoint, whole or not at all; an earlier one of that name is kept as
 * "<name>_prev.<ending>" (state.cpt: state_prev.cpt). Local; arrays stay the caller's. */
tg_status tg_checkpoint_write(const char* path, const tg_checkpoint* checkpoint);

/** Reads a checkpoint and checks every byte of it. TG_ERR_INPUT for a missing, cut, damaged or
 * foreign file, naming what is wrong and the earlier checkpoint where there is one. Arrays are
 * allocated: release with tg_checkpoint_free. *out is set only on success. Local. */
tg_status tg_checkpoint_read(const char* path, tg_checkpoint* out);

/** TG_ERR_INPUT, saying what differs, unless the checkpoint belongs to a run with this many atoms
 * and this fingerprint. */
tg_status tg_checkpoint_check(const tg_checkpoint* checkpoint, const char* path, size_t atom_count,
                              uint32_t fingerprint);

/** The values of that name, or NULL. */
const tg_checkpoint_values* tg_checkpoint_find(const tg_checkpoint* checkpoint, const char* name);

/** Releases the arrays of a checkpoint that was read; accepts a zeroed one, and zeroes it. */
void tg_checkpoint_free(tg_checkpoint* checkpoint);

#endif
