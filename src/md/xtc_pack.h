/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/xtc_pack.h  The bit stream of .xtc frames: integer positions packed into few bits.
 *
 * Atoms come in groups. The first of a group, the anchor, is stored relative to the frame's
 * smallest coordinates, in just the bits that the frame's extent needs. Up to eight followers are
 * stored as differences to the atom before them, in a cube whose edge is one of the level sizes
 * (2^(level/3), rounded). After the anchor stands one bit: 0 means as many followers as in the
 * group before and the same level, 1 means that five bits follow with 3 x followers + 1 + change of
 * level (-1, 0 or 1).
 *
 * The first two atoms of a group with followers change places: in water (O H H) the oxygen then
 * follows a hydrogen and the other hydrogen follows the oxygen, at a bond's length each. */
#ifndef TG_MD_XTC_PACK_H
#define TG_MD_XTC_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { TG_XTC_FIRST_LEVEL = 9, TG_XTC_LAST_LEVEL = 72 };

typedef struct tg_xtc_packed {
  int32_t low[3], high[3]; /* extent of the coordinates */
  int32_t level;           /* at the start of the stream */
  unsigned char* bytes;    /* owned: tg_free */
  size_t size, capacity;
} tg_xtc_packed;

/** Packs x: [count][3] (count >= 2), whose order of atoms it changes as it works. TG_ERR_NUMERICS
 * where the extent does not fit 31 bits, TG_ERR_MACHINE without memory. Local. */
tg_status tg_xtc_pack(int32_t (*x)[3], size_t count, tg_xtc_packed* packed);

/** The reverse. TG_ERR_INPUT where the stream is damaged: it ends early, or has a level or group
 * that cannot be. Reads no byte beyond packed->size, writes no atom beyond count. */
tg_status tg_xtc_unpack(const tg_xtc_packed* packed, int32_t (*x)[3], size_t count);

#endif
