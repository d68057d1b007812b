/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/strips.h  The part of H that acts on one species alone, cut for a GPU.
 *
 * A block of threads holds 32 columns of x (of a species' matrix times x) for so many strings of a
 * link's source as its memory takes: a *strip*. A warp then does a string of the target, a lane a
 * column. An entry has the element and the string within the strip; those of strip s of a link and
 * string r of the target are begin[link.begin + s * (strings + 1) + r] up to the next. */
#ifndef TG_CI_STRIPS_H
#define TG_CI_STRIPS_H

#include "ci/product_fly.h"

enum { TG_CI_STRIP_HEIGHT = 592 };

typedef struct tg_ci_strip_entry {
  double value;
  uint32_t from;
  uint32_t padding;
} tg_ci_strip_entry;

typedef struct tg_ci_strip_link {
  uint32_t source;
  uint32_t columns; /* strings of the source */
  uint32_t height, count;
  uint64_t begin;
} tg_ci_strip_link;

typedef struct tg_ci_strips {
  size_t class_count, link_count, begin_count, entry_count;
  uint32_t* link_begin; /* [classes + 1] */
  tg_ci_strip_link* links;
  uint32_t* begin;
  tg_ci_strip_entry* entries;
} tg_ci_strips;

/** Those of a species' classes that are wanted: [classes]. threads >= 1. */
tg_status tg_ci_strips_make(const tg_ci_fly* fly, int species, const bool* wanted, int threads,
                            tg_ci_strips* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_strips_free(tg_ci_strips* strips);
/** Before they are made, of all classes. */
uint64_t tg_ci_strips_bytes(const tg_ci_fly* fly, int species);

#endif
