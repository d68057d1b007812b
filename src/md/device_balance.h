/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_balance.h  Where the planes between domains on GPUs go, so that all take the
 * same time.
 *
 * Each dimension by itself: a *layer* is all domains between two planes, its time the sum of
 * theirs. Time is taken to be spread evenly over a layer's thickness, and the planes are put where
 * all layers would take the same; half of the way, as that is not so, and no further than a third
 * of a neighbouring layer. Layers whose times are within 2 % of each other's mean stay.
 *
 * Integers alone, so that every card comes to the same planes. For hosts and devices: plain C,
 * functions without state. */
#ifndef TG_MD_DEVICE_BALANCE_H
#define TG_MD_DEVICE_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TG_BALANCE_FUNCTION static __host__ __device__ __forceinline__
#else
#define TG_BALANCE_FUNCTION static inline
#endif

enum { TG_BALANCE_LAYERS = 16 };

/** Where layers begin along x, y, z, in units of 2^-32 of the box, ascending from 0. */
typedef struct tg_device_planes {
  uint32_t at[3][TG_BALANCE_LAYERS];
} tg_device_planes;

/** Layers of equal thickness. */
TG_BALANCE_FUNCTION void tg_balance_equal(const uint32_t count[3], tg_device_planes* out) {
  for (int d = 0; d < 3; d++)
    for (uint32_t k = 0; k < TG_BALANCE_LAYERS; k++)
      out->at[d][k] = k < count[d] ? (uint32_t)(((uint64_t)k << 32) / count[d]) : 0;
}

/** Where layer k of `count` ends. */
TG_BALANCE_FUNCTION uint64_t tg_balance_end(const uint32_t* at, uint32_t count, uint32_t k) {
  return k + 1 < count ? at[k + 1] : (uint64_t)1 << 32;
}

/** The thinnest that a layer may become where its like are thick by 1 / count of the box: a list
 * radius, below which a domain would compute little but others' pairs; half of that thickness in a
 * box that is too small. */
TG_BALANCE_FUNCTION uint32_t tg_balance_least(uint32_t count, double radius, double edge) {
  const double half = 0.5 / count, least = radius / edge;
  return (uint32_t)((least < half ? least : half) * 0x1p32);
}

/** The sum of the layers' times, which become smaller than 2^27 each. */
TG_BALANCE_FUNCTION uint64_t tg_balance_scale(uint32_t count, uint64_t* time) {
  uint64_t sum = 0, most = 0;
  for (uint32_t k = 0; k < count; k++) most = time[k] > most ? time[k] : most;
  while (most >> 27 != 0) {
    most >>= 1;
    for (uint32_t k = 0; k < count; k++) time[k] >>= 1;
  }
  for (uint32_t k = 0; k < count; k++) sum += time[k];
  return sum;
}

/** Where `wanted` of the sum of all times is below. */
TG_BALANCE_FUNCTION uint64_t tg_balance_place(const uint32_t* at, uint32_t count,
                                              const uint64_t* time, uint64_t wanted) {
  uint64_t below = 0;
  for (uint32_t k = 0; k < count; k++) {
    if (wanted < below + time[k])
      return at[k] + (tg_balance_end(at, count, k) - at[k]) * (wanted - below) / time[k];
    below += time[k];
  }
  return (uint64_t)1 << 32;
}

/** From the times of `count` layers, in any unit, to where they begin. least: thickness, at most
 * 1 / count of the box. Whether any plane has moved. */
TG_BALANCE_FUNCTION bool tg_balance_layers(uint32_t count, const uint64_t* times, uint32_t least,
                                           uint32_t* at) {
  uint64_t time[TG_BALANCE_LAYERS] = {0};
  uint32_t to[TG_BALANCE_LAYERS] = {0};
  uint64_t most = 0;
  bool moved = false;
  for (uint32_t k = 0; k < count; k++) time[k] = times[k];
  const uint64_t sum = tg_balance_scale(count, time);
  for (uint32_t k = 0; k < count; k++) most = time[k] > most ? time[k] : most;
  if (count < 2 || most * count * 50 <= sum * 51) return false;
  for (uint32_t k = 1; k < count; k++) {
    const int64_t wanted = (int64_t)tg_balance_place(at, count, time, sum * k / count);
    const uint64_t below = at[k] - at[k - 1], above = tg_balance_end(at, count, k) - at[k];
    const int64_t limit = (int64_t)((below < above ? below : above) / 3);
    int64_t way = (wanted - (int64_t)at[k]) / 2;
    way = way > limit ? limit : way < -limit ? -limit : way;
    to[k] = (uint32_t)((int64_t)at[k] + way);
  }
  for (uint32_t k = 1; k < count; k++)
    if (to[k] < (uint64_t)to[k - 1] + least) to[k] = to[k - 1] + least;
  for (uint32_t k = count - 1; k >= 1; k--) {
    const uint64_t end = tg_balance_end(to, count, k);
    if (to[k] + (uint64_t)least > end) to[k] = (uint32_t)(end - least);
  }
  for (uint32_t k = 1; k < count; k++) {
    moved = moved || at[k] != to[k];
    at[k] = to[k];
  }
  return moved;
}

/** The same for all dimensions; time: of domain (a, b, c) at (a * count[1] + b) * count[2] + c. */
TG_BALANCE_FUNCTION bool tg_balance_planes(const uint32_t count[3], const uint64_t* time,
                                           const uint32_t least[3], tg_device_planes* planes) {
  uint64_t layer[3][TG_BALANCE_LAYERS] = {{0}};
  bool moved = false;
  for (uint32_t a = 0; a < count[0]; a++)
    for (uint32_t b = 0; b < count[1]; b++)
      for (uint32_t c = 0; c < count[2]; c++) {
        const uint64_t one = time[(a * count[1] + b) * count[2] + c];
        layer[0][a] += one;
        layer[1][b] += one;
        layer[2][c] += one;
      }
  for (int d = 0; d < 3; d++)
    if (tg_balance_layers(count[d], layer[d], least[d], planes->at[d])) moved = true;
  return moved;
}

#endif
