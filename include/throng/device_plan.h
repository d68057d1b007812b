/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_plan.h  The plans of a halo exchange as the devices need them: of all PEs of
 * one process at once, or of one PE of a world.
 *
 * A caller who knows all PEs exchanges nothing: the same rules as tg_halo_plan (throng/halo.h), on
 * the same centres, give the same halos. A *channel* is one message: staged, the pulses in the
 * order in which positions travel; direct, one per offset (0 0 1), (0 1 0) ... of domains up, z
 * fastest. All PEs have the same channels, some of them empty. */
#ifndef THRONG_DEVICE_PLAN_H
#define THRONG_DEVICE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <throng/halo.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_DEVICE_PLAN_CHANNELS = 64 }; /* at most */

typedef struct tg_device_message {
  int to, from;         /* PEs: positions go to one and come from the other */
  double shift[3][3];   /* nm, added to what is sent, one row after the other: the vectors of the
                           box that it crosses along z, y, x; a row is zero where it crosses none.
                           GPUs do not read what is zero in every box of throng/halo.h */
  size_t send_count;    /* atoms */
  uint32_t* send;       /* [send_count] local atoms, ascending: home first, then by channel */
  size_t send_capacity; /* of send */
  size_t receive_count; /* atoms */
  size_t receive_start; /* local number of the first one that arrives */
} tg_device_message;

/** Local atoms of a PE: home, then what each channel brings, channel by channel. */
typedef struct tg_device_part {
  size_t home_count, local_count;
  tg_device_message* messages; /* [channel_count] */
  int* origin_pe;              /* [local_count] */
  uint32_t* origin_atom;       /* [local_count] number at home */
} tg_device_part;

typedef struct tg_device_plan {
  int grid[3], pe_count, channel_count;
  bool direct;
  tg_device_part* parts; /* [pe_count] */
} tg_device_plan;

/** Local. counts: [grid product]; centres: [grid product], each [counts][3], nm, in its brick.
 * TG_ERR_INPUT where the reach is longer than the grid serves. */
tg_status tg_device_plan_make(const int grid[3], const double box[3], double reach,
                              const size_t* counts, const double (*const* centres)[3], bool direct,
                              tg_device_plan* out);
/** As tg_device_plan_make in a box of three vectors: the halos, and the order of atoms in them, of
 * tg_halo_plan_triclinic (throng/halo.h). */
tg_status tg_device_plan_make_triclinic(const int grid[3], const double box[3][3], double reach,
                                        const size_t* counts, const double (*const* centres)[3],
                                        bool direct, tg_device_plan* out);
/** Collective, after tg_halo_plan on a halo of any schedule: the same plan as tg_device_plan_make's
 * from all PEs' centres, but with this PE's part only; the other parts are empty. */
tg_status tg_device_plan_from_halo(tg_halo* halo, bool direct, tg_device_plan* out);
/** Accepts a zeroed or half-made one. */
void tg_device_plan_free(tg_device_plan* plan);

#ifdef __cplusplus
}
#endif
#endif
