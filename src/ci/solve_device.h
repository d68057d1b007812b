/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/solve_device.h  Within src/ci: what of solving a sector is a GPU's: room, the operator,
 * the vectors. The tables of the strings and what follows the levels are the host's. */
#ifndef TG_CI_SOLVE_DEVICE_H
#define TG_CI_SOLVE_DEVICE_H

#include "ci/device_operator.h"
#include "ci/solve.h"
#include "comm/world.h"

/** The GPU of a run. */
typedef struct tg_ci_device_room {
  int device;
  char name[128];
  uint64_t free;   /* bytes */
  uint64_t usable; /* of them, for vectors and the operator */
  int parts; /* that share a sector's states; part p is on GPU device + p, of those there are */
} tg_ci_device_room;

/** The GPUs of a run; of several, bytes are those of the one with the least, for one part.
 * TG_ERR_MACHINE, with the reason, where there is no such GPU. */
tg_status tg_ci_device_room_query(int device, int parts, tg_ci_device_room* out);

/** What the vectors of a part of a space of that many states take: the fewest that do, and as many
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
  /* tg_eigen_solve, or what saves states now and then; world: of the parts, or NULL */
  tg_status (*solve)(void* context, tg_world* world, const tg_eigen_problem* problem,
                     const tg_eigen_params* params, tg_eigen_result* out);
  void* context;
} tg_ci_device_sector;

/** What the sector would take, and how it would be stored. */
tg_status tg_ci_device_sector_need(const tg_ci_device_sector* sector, const tg_ci_hamiltonian* h,
                                   tg_ci_need* out);

/** Makes H on the GPU, finds its lowest states there, and fetches them. need: facts and gpu are
 * filled in; *setup_s, *solve_s: seconds are added. */
tg_status tg_ci_device_sector_solve(const tg_ci_device_sector* sector, const tg_ci_hamiltonian* h,
                                    tg_ci_sector* out);

#endif
