/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/strips.h  The part of H that acts on one species alone, cut for a GPU's tensor units.
 *
 * A block of threads holds 64 columns of x (of a species' matrix times x) for so many strings of a
 * link's source as its memory takes: a *strip*. Sixteen neighbouring strings of the target are a
 * *panel*, and a panel's elements from four neighbouring strings of a strip a *tile*, the side of
 * a small dense product; tiles without an element are left out. Those of strip s of a link and
 * panel p of the target are begin[link.begin + s * panels + p] up to the next. */
#ifndef TG_CI_STRIPS_H
#define TG_CI_STRIPS_H

#include "ci/product_fly.h"

enum {
  TG_CI_STRIP_LOW = 96, /* strings of a strip, where classes have at most 1,024 */
  TG_CI_STRIP_HIGH = 192,
  TG_CI_PANEL = 16,
  TG_CI_TILE_SIDE = 4
};

/** Elements that are there. Bit 2 * lane + half of the mask stands for string lane / 4 + 8 * half
 * of the panel and string lane % 4 of the four, as lanes of a tensor instruction hold them; the
 * values lie in the order of the bits. */
typedef struct tg_ci_strip_tile {
  uint64_t mask;
  uint32_t first; /* in tg_ci_strips::values */
  uint32_t from;  /* first of the four strings, within the strip */
} tg_ci_strip_tile;

typedef struct tg_ci_strip_link {
  uint32_t source;
  uint32_t columns; /* strings of the source */
  uint32_t count;   /* strips, of tg_ci_strips::height strings each but for the last */
  uint32_t padding;
  uint64_t begin;
} tg_ci_strip_link;

typedef struct tg_ci_strips {
  uint32_t height; /* TG_CI_STRIP_LOW or _HIGH */
  size_t class_count, link_count, begin_count, tile_count, value_count;
  uint32_t* link_begin; /* [classes + 1] */
  tg_ci_strip_link* links;
  uint32_t* begin; /* [begin_count + 1] */
  tg_ci_strip_tile* tiles;
  double* values;
} tg_ci_strips;

/** Panels of a class of so many strings. */
static inline uint32_t tg_ci_panels(uint64_t strings) {
  return (uint32_t)((strings + TG_CI_PANEL - 1) / TG_CI_PANEL);
}

/** Those of a species' classes that are wanted: [classes]. threads >= 1. */
tg_status tg_ci_strips_make(const tg_ci_fly* fly, int species, const bool* wanted, int threads,
                            tg_ci_strips* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_strips_free(tg_ci_strips* strips);
/** Before they are made, of all classes: no less than it will be. */
uint64_t tg_ci_strips_bytes(const tg_ci_fly* fly, int species);

#endif
