/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/solve_device.h  Within src/ci: what of solving a sector is a GPU's: room, the operator,
 * the vectors. The tables of the strings and what follows the levels are the host's. */
#ifndef TG_CI_SOLVE_DEVICE_H
#define TG_CI_SOLVE_DEVICE_H

#include "ci/device_operator.h"
#include "ci/pes.h"
#include "ci/solve.h"

/** The GPU of a run. */
typedef struct tg_ci_device_room {
  tg_eigen_place place; /* TG_EIGEN_CUDA, or TG_EIGEN_ACC */
  bool host;            /* by OpenACC: it has none, and works on the host */
  int device;
  char name[128];
  uint64_t free;   /* bytes */
  uint64_t usable; /* of them, for vectors and the operator */
  int gpus;        /* of this process */
  int pes;         /* that share a sector's states, of all processes; 1: nothing is shared */
} tg_ci_device_room;

/** The GPU of a run. TG_ERR_MACHINE, with the reason, where there is no such one. */
tg_status tg_ci_device_room_query(int device, tg_ci_device_room* out);
/** What OpenACC's module works on, which it has chosen. */
tg_status tg_ci_device_room_acc(tg_ci_device_room* out);
/** The GPUs of a run by several PEs: bytes are those of the one with the least, for one PE.
 * device: where gpus is 1. TG_ERR_INPUT for more GPUs than PEs. */
tg_status tg_ci_device_room_share(int device, int gpus, const tg_ci_pes* pes,
                                  tg_ci_device_room* out);

/** What the vectors of a PE of a space of that many states take: the fewest that do, and as many
 * as are worth it. eigen: states, block and method count. TG_ERR_MACHINE, with what would help,
 * where not even the fewest fit. */
tg_status tg_ci_device_vectors(const tg_ci_device_room* room, uint64_t dimension,
                               const tg_eigen_params* eigen, uint64_t* fewest, uint64_t* usual);

/** A sector at work. */
typedef struct tg_ci_device_sector {
  const tg_ci_device_room* room;
  const tg_ci_problem* problem;
  const tg_ci_solve_params* params;
  const tg_ci_space* space;
  tg_eigen_params eigen; /* states, block, method, tolerance, callbacks ... */
  /* of one PE: tg_eigen_solve, or what saves states now and then */
  tg_status (*solve)(void* context, const tg_eigen_problem* problem, const tg_eigen_params* params,
                     tg_eigen_result* out);
  void (*made)(void* context); /* the host's threads have nothing more to do */
  void* context;
  /* of several */
  const tg_ci_pes* pes;
  size_t sector;
  const tg_ci_restart* restart; /* NULL: none */
} tg_ci_device_sector;

/** What the sector would take, of several PEs the one with most elements, and how it would be
 * stored. */
tg_status tg_ci_device_sector_need(const tg_ci_device_sector* sector, const tg_ci_hamiltonian* h,
                                   tg_ci_need* out);

/** Collective over processes. Makes H on the GPU, finds its lowest states there, and fetches them.
 * need: facts and gpu are filled in; *setup_s, *solve_s: seconds are added. */
tg_status tg_ci_device_sector_solve(const tg_ci_device_sector* sector, const tg_ci_hamiltonian* h,
                                    tg_ci_sector* out);

#endif
