/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/internal.h  What the plan hands to the schedules; not for callers.
 *
 * A schedule moves data along the pulses of the plan; it decides nothing about who needs what. A
 * new one is a file of its own and a line in schedule.c. */
#ifndef TG_HALO_INTERNAL_H
#define TG_HALO_INTERNAL_H

#include <stdbool.h>

#include "halo/halo.h"

/** One message of the staged exchange. Positions go to the lower neighbour and come from the upper
 * one; forces the other way round. */
typedef struct tg_halo_pulse {
  int dimension;
  int lower, upper;     /* PEs */
  double shift[3];      /* nm, added to positions that are sent */
  size_t send_start;    /* in tg_halo.index */
  size_t send_count;    /* atoms */
  size_t receive_start; /* local atom number of the slice that arrives */
  size_t receive_count; /* atoms */
} tg_halo_pulse;

typedef enum tg_halo_kind { TG_HALO_BYTES, TG_HALO_FLOAT3, TG_HALO_DOUBLE3 } tg_halo_kind;

/** What an exchange moves: an array of [n_home + n_halo] elements. */
typedef struct tg_halo_data {
  char* base;
  size_t stride; /* bytes from element to element */
  size_t size;   /* bytes of each that travel */
  tg_halo_kind kind;
  bool shifted;     /* positions */
  const char* what; /* for messages */
} tg_halo_data;

/** down: from home atoms to their copies; up: from copies to home atoms, added. */
typedef struct tg_halo_schedule {
  const char* name;
  bool symmetric; /* works in tg_halo_lanes: TG_HALO_ELEMENT bytes an element at most */
  bool direct;    /* lanes are neighbours, not pulses */
  tg_status (*down)(tg_halo* halo, const tg_halo_data* data);
  tg_status (*up)(tg_halo* halo, const tg_halo_data* data);
} tg_halo_schedule;

enum { TG_HALO_ELEMENT = 3 * sizeof(double), TG_HALO_MOST_MARGIN = 1000 };

struct tg_halo_lanes;

struct tg_halo {
  tg_world* world;
  const tg_halo_schedule* schedule;
  tg_halo_params params;
  int grid[3], cell[3];
  int lower[3], upper[3]; /* neighbours, PEs */
  tg_halo_counters counters;

  bool planned; /* the last plan succeeded, on all PEs; else there are no atoms here */
  size_t home_count, local_count;
  double (*centre)[3];  /* [local_count], nm, in this PE's frame: halo above the brick; in a
                           triclinic box the distances across its faces */
  uint8_t (*offset)[3]; /* [local_count] */
  size_t centre_capacity, offset_capacity;

  tg_halo_pulse* pulses; /* [pulse_count], in the order in which positions travel */
  int pulse_count;
  int pulses_along[3];
  double edge_shift[3][3]; /* nm, what a copy that crosses the boundary of a dimension is shifted by
                            */
  size_t pulse_capacity;
  uint32_t* index; /* local atom numbers of what is sent, pulse by pulse, each part ascending: home
                      atoms first (independent), then by the pulse that brought them */
  size_t index_count, index_capacity;

  char* packed; /* scratch: a message being packed, or one that arrived */
  size_t packed_capacity;
  char* arrived; /* scratch of the plan */
  size_t arrived_capacity;
  double (*scaled)[3]; /* scratch of the plan of a triclinic box */
  size_t scaled_capacity;

  struct tg_halo_lanes* lanes; /* of the schedules in symmetric memory */

  tg_trace* trace; /* NULL: nothing is recorded */
};

/** Records what pulse or neighbour `part` was doing since begin_ns (tg_trace_now). */
static inline void tg_halo_span(tg_halo* halo, int part, const char* name, int64_t begin_ns,
                                size_t atoms) {
  if (!halo->trace) return;
  tg_trace_event event = tg_trace_span(TG_HALO_TRACE_PARTS + part, name, begin_ns);
  event.part = part;
  event.number = halo->counters.exchanges;
  event.atoms = (int64_t)atoms;
  tg_trace_end(halo->trace, event);
}

/** The arrow of a message: exchange, pulse or neighbour, way, and who reads it. */
static inline uint64_t tg_halo_arrow(const tg_halo* halo, int part, bool up, int reader) {
  return (uint64_t)halo->counters.exchanges << 26 | (uint64_t)reader << 10 | (uint64_t)part << 1 |
         up;
}

/** Records that the message to PE `to` left, by a flag raised or a send begun; returns the time. */
static inline int64_t tg_halo_sent(tg_halo* halo, int part, bool up, int to, int64_t begin_ns) {
  if (!halo->trace) return 0;
  const char* name = halo->schedule->symmetric ? "raise flag" : "send";
  tg_trace_event event = tg_trace_span(TG_HALO_TRACE_PARTS + part, name, begin_ns);
  event.number = halo->counters.exchanges;
  event.part = part;
  event.peer = to;
  event.arrow_out = tg_halo_arrow(halo, part, up, to);
  tg_trace_end(halo->trace, event);
  return tg_trace_now(halo->trace);
}

/** Records the wait for PE `from`, which is over now. */
static inline void tg_halo_received(tg_halo* halo, int part, bool up, int from, int64_t begin_ns) {
  if (!halo->trace) return;
  tg_trace_event event = tg_trace_span(TG_HALO_TRACE_PARTS + part, "wait", begin_ns);
  event.number = halo->counters.exchanges;
  event.part = part;
  event.peer = from;
  event.arrow_in = tg_halo_arrow(halo, part, up, tg_world_pe(halo->world));
  tg_trace_end(halo->trace, event);
}

/** NULL for an unknown name; NULL name: the default. */
const tg_halo_schedule* tg_halo_schedule_find(const char* name);
extern const tg_halo_schedule tg_halo_schedule_host;
extern const tg_halo_schedule tg_halo_schedule_pulse;
extern const tg_halo_schedule tg_halo_schedule_fused;
extern const tg_halo_schedule tg_halo_schedule_direct;

/** Lower boundary of domain `cell` (0..grid) along an edge. */
double tg_halo_boundary(double edge, int cell, int grid);
/** The largest reach that grid domains along an edge serve: all other domains. */
double tg_halo_longest_reach(double edge, int grid);
/** Pulses along a dimension: how many domains reach spans. */
int tg_halo_pulses_along(double edge, int grid, double reach);

/** Heights of a box of three vectors (see tg_halo_plan_triclinic): the distances between opposite
 * faces, nm. TG_ERR_INPUT where it is not such a box. */
tg_status tg_halo_heights(const double box[3][3], double height[3]);
/** A point's distances above the lower faces, nm: what a rectangular box's coordinates are. */
void tg_halo_across(const double box[3][3], const double height[3], const double point[3],
                    double out[3]);

/** Elements named by index, one after another, into out; positions get the shifts, one after the
 * other, added in the array's own precision. */
void tg_halo_pack(const tg_halo_data* data, const uint32_t* index, size_t count,
                  const double (*shift)[3], int shift_count, void* out);
/** As tg_halo_pack, never shifted. */
void tg_halo_gather(const tg_halo_data* data, const uint32_t* index, size_t count, void* out);
/** Elements first, first + 1 ... into out. */
void tg_halo_pack_slice(const tg_halo_data* data, size_t first, size_t count, void* out);
void tg_halo_unpack_slice(const tg_halo_data* data, size_t first, size_t count, const void* in);
void tg_halo_unpack(const tg_halo_data* data, const uint32_t* index, size_t count, const void* in);
/** Adds vectors to the elements that index names. */
void tg_halo_add(const tg_halo_data* data, const uint32_t* index, size_t count, const void* in);

#endif
