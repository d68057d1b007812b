/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/nonbonded_backend.h  What a backend of nonbonded.h provides. */
#ifndef TG_MD_NONBONDED_BACKEND_H
#define TG_MD_NONBONDED_BACKEND_H

#include "md/nonbonded.h"

typedef struct tg_nonbonded_ops {
  const char* name;
  tg_status (*create)(const tg_nonbonded_params* params, void** state);
  void (*destroy)(void* state); /* accepts NULL and half-built */
  tg_status (*search)(void* state, const tg_nonbonded_atoms* atoms, double list_radius);
  tg_status (*prune)(void* state, const double (*x)[3], double inner_radius);
  void (*compute)(void* state, const double (*x)[3], double (*f)[3], tg_nonbonded_result* result);
  const char* (*describe)(const void* state);
} tg_nonbonded_ops;

extern const tg_nonbonded_ops tg_nonbonded_ref;
extern const tg_nonbonded_ops tg_nonbonded_omp;

#endif
