/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/lanes.h  Slots and flags in symmetric memory: how a sender and a reader keep out of
 * each other's way; not for callers.
 *
 * A *lane* is one message of an exchange: a pulse, or in schedule direct a neighbour. It goes
 * *down* (positions, from `to`'s point of view from above) and *up* (forces). Each PE has, per lane
 * and direction, a slot where its data arrive, and two flags:
 *
 *   | flag     | raised by | where         | means                    |
 *   |----------|-----------|---------------|--------------------------|
 *   | data     | sender    | at the reader | the slot holds exchange n|
 *   | consumed | reader    | at the sender | exchange n has been read |
 *
 * Flags are 64-bit, only ever rise, are never reset; the value is the number of the exchange, from
 * 1, counted alike on all PEs; a wait is for greater or equal. An empty message raises its flag
 * too.
 *
 *   | step | sender, exchange n                    | reader, exchange n                    |
 *   |------|---------------------------------------|---------------------------------------|
 *   | 1    | may it write? see below               | consumed flag of n - 1? see below     |
 *   | 2    | packs into the reader's slot          |                                       |
 *   | 3    | data flag of the reader = n (release) | waits for its data flag >= n (acquire)|
 *   | 4    |                                       | copies out of the slot, or adds       |
 *
 * Write after read: a slot of one direction may be written in exchange n when its reader is done
 * with the last exchange m < n of that direction. If one of the other direction lies between, its
 * data flag has said so: whoever returned the forces of a slot had read it, and the sender waited
 * for that flag. (So the force return of a step is the consumed flag of its positions, and the
 * positions of the next step that of the forces.) Only two exchanges of one direction in a row need
 * the consumed flag, value m; the reader raises it as it begins the second, when it is known to be
 * needed. A plan is a barrier: all PEs are done with everything before. */
#ifndef TG_HALO_LANES_H
#define TG_HALO_LANES_H

#include "comm/symmetric.h"
#include "halo/internal.h"

typedef enum tg_halo_direction { TG_HALO_DOWN, TG_HALO_UP } tg_halo_direction;

/** Down data go to PE `to` and come from PE `from`; up the other way round. */
typedef struct tg_halo_lane {
  int to, from;
  size_t send_count;    /* atoms that go down */
  size_t receive_count; /* atoms that come down */
} tg_halo_lane;

/** The plan of schedule direct: lane o serves the neighbours at one offset (ox, oy, oz), in the
 * order of (ox * (py + 1) + oy) * (pz + 1) + oz. */
typedef struct tg_halo_direct_plan {
  size_t *send_start, *receive_start; /* [lanes + 1] in what follows */
  uint32_t* send;                     /* home atoms */
  uint32_t* receive;                  /* local atoms, ascending in each lane */
  uint32_t* parent;      /* as send: where the force of that copy is added: home atom, or place in
                            parent_lane */
  int* parent_lane;      /* [lanes]; -1: home */
  int (*hops)[3];        /* [lanes] the offset */
  double (*shift)[3][3]; /* [lanes]: of the dimensions hopped, z, y, x, in order */
  int* shift_count;      /* [lanes] */
  size_t lane_capacity, start_capacity, send_capacity, receive_capacity, parent_capacity;
  size_t capacities[6];
} tg_halo_direct_plan;

typedef struct tg_halo_lanes {
  tg_halo_lane* lanes; /* [count] */
  int count;
  size_t lane_capacity;
  tg_symmetric* memory;
  int memory_lanes; /* lanes that have slots and flags */
  size_t* capacity; /* [memory_lanes] atoms of a slot, the same on all PEs */
  size_t* slot;     /* [memory_lanes] where the down slot begins, bytes; the up slot follows it */
  size_t capacities[4];
  size_t bytes;    /* of all slots */
  char* outgoing;  /* [bytes] as the slots: packed here for a PE that stores do not reach */
  bool overflow;   /* a message did not fit; stays until the slots have grown */
  bool guarded;    /* this exchange and the last go in one direction */
  int last;        /* direction of the last exchange of this plan; -1: none yet */
  uint64_t turn;   /* number of the exchange */
  int64_t* needed; /* scratch, [count] */
  size_t* block;   /* staged: [count][count + 2]: where in tg_halo.index the atoms of pulse p that
                      came from home, pulse 0, pulse 1 ... begin */
  int* state;      /* staged: scratch, [4 * (count + 1)] */
  tg_symmetric_source* sources; /* scratch, [count] */
  size_t block_capacity, state_capacity, source_capacity;
  tg_halo_direct_plan direct;
} tg_halo_lanes;

tg_status tg_halo_lanes_create(tg_halo_lanes** out);
void tg_halo_lanes_destroy(tg_halo_lanes** lanes);
/** Local: makes *count lanes. */
tg_status tg_halo_lanes_resize(tg_halo_lanes* lanes, int count);
/** Collective, after a plan: slots large enough for it. */
tg_status tg_halo_lanes_fit(tg_halo* halo);

/** Begins an exchange, on every lane. */
tg_status tg_halo_lanes_begin(tg_halo* halo, tg_halo_direction direction);
/** Where to pack what goes out on a lane, when its reader is done with what was there. */
tg_status tg_halo_lanes_slot(tg_halo* halo, const tg_halo_data* data, int lane,
                             tg_halo_direction direction, void** slot);
/** What was packed is complete: count elements. */
tg_status tg_halo_lanes_send(tg_halo* halo, const tg_halo_data* data, int lane,
                             tg_halo_direction direction, size_t count);
/** Waits for what comes in on a lane. */
tg_status tg_halo_lanes_receive(tg_halo* halo, const tg_halo_data* data, int lane,
                                tg_halo_direction direction, void** slot);
/** As tg_halo_lanes_receive for whichever comes first of open[*count], which it is taken out of. */
tg_status tg_halo_lanes_receive_any(tg_halo* halo, const tg_halo_data* data, int* open, int* count,
                                    tg_halo_direction direction, int* lane, void** slot);

/** Local, after a plan: lanes of pulses, and the blocks of their index. */
tg_status tg_halo_staged_plan(tg_halo* halo);
/** Collective, after a plan: lanes of neighbours. edge_shift: [3][3], what a copy that crosses the
 * boundary of dimension d is shifted by. */
tg_status tg_halo_direct_plan_make(tg_halo* halo, const double edge_shift[3][3]);

#endif
