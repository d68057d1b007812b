/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/internal.h  What the plan hands to the schedules; not for callers.
 *
 * A schedule moves data along the pulses of the plan; it decides nothing about who needs what. A
 * new one is a file of its own and a line in schedule.c. */
#ifndef TG_HALO_INTERNAL_H
#define TG_HALO_INTERNAL_H

#include "halo/halo.h"

/** One message of the staged exchange. Positions go to the lower neighbour and come from the upper
 * one; forces the other way round. */
typedef struct tg_halo_pulse {
  int dimension;
  int lower, upper;     /* PEs */
  double shift;         /* nm, added along dimension to what is sent */
  size_t send_start;    /* in tg_halo.index */
  size_t send_count;    /* atoms */
  size_t receive_start; /* local atom number of the slice that arrives */
  size_t receive_count; /* atoms */
} tg_halo_pulse;

typedef struct tg_halo_schedule {
  const char* name;
  tg_status (*copy)(tg_halo* halo, void* array, size_t size);
  tg_status (*positions)(tg_halo* halo, double (*x)[3]);
  tg_status (*forces)(tg_halo* halo, double (*f)[3]);
} tg_halo_schedule;

struct tg_halo {
  tg_world* world;
  const tg_halo_schedule* schedule;
  int grid[3], cell[3];
  int lower[3], upper[3]; /* neighbours, PEs */
  tg_halo_counters counters;

  size_t home_count, local_count;
  double (*centre)[3];  /* [local_count], nm, in this PE's frame: halo above the brick */
  uint8_t (*offset)[3]; /* [local_count] */
  size_t centre_capacity, offset_capacity;

  tg_halo_pulse* pulses; /* [pulse_count], in the order in which positions travel */
  int pulse_count;
  size_t pulse_capacity;
  uint32_t* index; /* local atom numbers of what is sent, pulse by pulse */
  size_t index_count, index_capacity;

  char* packed; /* scratch: a message being packed, or one that arrived */
  size_t packed_capacity;
  char* arrived; /* scratch of the plan */
  size_t arrived_capacity;
};

/** NULL for an unknown name; NULL name: the default. */
const tg_halo_schedule* tg_halo_schedule_find(const char* name);
extern const tg_halo_schedule tg_halo_schedule_host;

/** Lower boundary of domain `cell` (0..grid) along an edge. */
double tg_halo_boundary(double edge, int cell, int grid);
/** The largest reach that grid domains along an edge serve: all other domains. */
double tg_halo_longest_reach(double edge, int grid);
/** Pulses along a dimension: how many domains reach spans. */
int tg_halo_pulses_along(double edge, int grid, double reach);

#endif
