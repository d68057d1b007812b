/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo.h  Who needs whose data: the plan of a halo exchange, and its schedules.
 *
 * PEs stand on a periodic grid of domains (grid[0] x grid[1] x grid[2] = x, y, z; PE number =
 * (ix * grid[1] + iy) * grid[2] + iz) that cut the box into equal bricks. Each PE owns the *home*
 * atoms (or cells, or points) whose *centre* lies in its brick and needs copies, the *halo*, of all
 * atoms whose centre lies within `reach` above its upper boundaries (the eighth-shell zones: only
 * forward neighbours are imported). A pair of atoms belongs to the PE at the component-wise minimum
 * of their domains' offsets, so a PE computes the pair (i, j) exactly when
 * min(offset_i[d], offset_j[d]) == 0 in every dimension d, and returns to the others what they are
 * due of it.
 *
 * Staged exchange: dimensions z, y, x in this order, and in each dimension as many *pulses* as
 * domains that `reach` spans. In a pulse every PE sends to its lower neighbour and receives from
 * its upper one; data received in earlier pulses are forwarded. Forces return in the reverse order
 * and are added where the positions came from. Every schedule gives the same layout and the same
 * results to the last bit.
 *
 * Layout per PE: x: [n_home + n_halo][3], nm; home first, then one contiguous slice per pulse.
 * Arrays are the caller's, of doubles or of floats. All calls are for the world's own thread.
 *
 * Errors of the exchange calls (tg_halo_copy, tg_halo_positions, tg_halo_forces and their float
 * versions): a wait that lasts longer than the world's deadline ends with TG_ERR_MACHINE and a
 * message that says who waited for whom, in which pulse or for which neighbour of which exchange,
 * what the flag was and what was expected. That, and any other failure of a PE inside the exchange
 * (memory, a connection that is lost), aborts the world: the calls of all PEs end with the status
 * and message of the PE that failed first, and so does every later one that has to wait. The array
 * is unspecified then; the halo can only be destroyed. */
#ifndef THRONG_HALO_H
#define THRONG_HALO_H

#include <stddef.h>
#include <stdint.h>
#include <throng/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_halo tg_halo;

typedef struct tg_halo_params {
  int grid[3];          /* domains along x, y, z; their product is the world's PE count */
  const char* schedule; /* "host", "pulse" (also NULL), "fused" or "direct" */
  double margin; /* room for messages is the largest so far x margin, 1 to 1000; 0: the default,
                    1.25 */
  /** Receives words about memory that had to grow; NULL: silent. PE 0 only. */
  void (*message)(void* context, const char* line);
  void* context;
} tg_halo_params;

/** Counters since creation, counted where the thing happens. */
typedef struct tg_halo_counters {
  int64_t exchanges;
  int64_t bytes_sent;
  int64_t messages;
  int64_t waits;   /* blocking: for a message, a flag, or word that a slot has been read */
  int64_t regrows; /* how often message room was too small */
  double wait_s;   /* wall time inside transfers and waits */
} tg_halo_counters;

/** Collective: grid, schedule and margin must be the same on all PEs. Fails with TG_ERR_INPUT,
 * agreed by all, where one of them differs (the message names it, and the PE), where the grid does
 * not match the world, and where params or out is NULL. */
tg_status tg_halo_create(tg_world* world, const tg_halo_params* params, tg_halo** out);
/** Local, null-safe, sets NULL. Before the world ends. */
void tg_halo_destroy(tg_halo** halo);

/** The name of a schedule by its number; NULL beyond the last. */
const char* tg_halo_schedule_name(int number);

/** The name of the schedule in use. */
const char* tg_halo_schedule_of(const tg_halo* halo);

/** The grid cell of this PE, [3]. */
const int* tg_halo_cell(const tg_halo* halo);
/** The PE whose brick holds a centre (which is wrapped into the box first). Local. */
int tg_halo_owner(const tg_halo* halo, const double box[3], const double centre[3]);
/** As tg_halo_owner in a box of three vectors. */
int tg_halo_owner_triclinic(const tg_halo* halo, const double box[3][3], const double centre[3]);

/** Collective: makes the plan. centre: [n_home][3], nm: the point that decides for each home atom
 * (atoms of one group share a centre and so travel together); must lie inside this PE's brick. box:
 * edge lengths, nm. reach: nm, >= 0. Fails with TG_ERR_INPUT, agreed by all, where reach exceeds
 * (grid[d]-1)/grid[d] * box[d] in a dimension with grid[d] > 1 (fewer PEs along it, or a larger
 * box); with TG_ERR_INTERNAL, agreed by all, where a centre lies elsewhere, or where box or reach
 * are not the same on all PEs to the last bit. After a failure there is no plan and no atom, on any
 * PE, as before the first; a plan that was refused so may be followed by a better one. */
tg_status tg_halo_plan(tg_halo* halo, const double box[3], double reach, size_t home_count,
                       const double (*centre)[3]);
/** As tg_halo_plan in a box of three vectors, the rows of box: (ax 0 0) (bx by 0) (cx cy cz).
 * Bricks are parallelepipeds along them; reach and edge are measured across the faces. */
tg_status tg_halo_plan_triclinic(tg_halo* halo, const double box[3][3], double reach,
                                 size_t home_count, const double (*centre)[3]);

/** Local, of the latest plan: atoms at home, and copies of others'. */
size_t tg_halo_home_count(const tg_halo* halo);
size_t tg_halo_halo_count(const tg_halo* halo);
/** offset: [n_home + n_halo][3]: from how many domains up each local atom comes (home: 0 0 0).
 * Owned by the halo, valid until the next plan. */
const uint8_t (*tg_halo_offsets(const tg_halo* halo))[3];
/** Local: pulses of the latest plan, each way, whatever the schedule. */
int tg_halo_pulse_count(const tg_halo* halo);

/* Exchanges. Without a plan each fails at once on all PEs (TG_ERR_INPUT) and touches nothing. NULL
 * for an array that has elements is TG_ERR_INPUT on that PE, and aborts the world. */

/** Collective: copies data of home atoms to their halo copies, unshifted. array: [n_home + n_halo]
 * elements of `size` bytes, > 0; the halo part is written. All PEs give the same size.
 * TG_ERR_MACHINE at the deadline; the abort's status in an aborted world (see above). */
tg_status tg_halo_copy(tg_halo* halo, void* array, size_t size);
/** Collective: as tg_halo_copy for positions x: [n_home + n_halo][3], nm, adding the box edge (or
 * vector) to copies that crossed the periodic boundary, so that each halo atom lies above the home
 * brick. Errors as tg_halo_copy. */
tg_status tg_halo_positions(tg_halo* halo, double (*x)[3]);
/** As tg_halo_positions, in single precision: the edge is added in it. */
tg_status tg_halo_positions_float(tg_halo* halo, float (*x)[3]);
/** Collective: f: [n_home + n_halo][3]; adds each halo copy's force to its home atom, in a fixed
 * order (bit-reproducible, the same in all schedules). The halo part is unspecified afterwards.
 * Errors as tg_halo_copy. */
tg_status tg_halo_forces(tg_halo* halo, double (*f)[3]);
/** As tg_halo_forces, in single precision: sums are, too. */
tg_status tg_halo_forces_float(tg_halo* halo, float (*f)[3]);

/** Local. */
tg_halo_counters tg_halo_counters_read(const tg_halo* halo);

/** Chooses a grid for pe_count PEs: the factorisation with the least halo volume for this box and
 * reach that tg_halo_plan accepts. TG_ERR_INPUT if none does. Local. */
tg_status tg_halo_choose_grid(int pe_count, const double box[3], double reach, int grid[3]);

#ifdef __cplusplus
}
#endif
#endif
