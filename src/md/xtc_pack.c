/* SPDX-License-Identifier: Apache-2.0 */
#include "md/xtc_pack.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

__extension__ typedef unsigned __int128 wide; /* three numbers of 24 bits multiplied out: 72 bits */

enum { MAX_FOLLOWERS = 8, LEVEL_SPAN = 8, PACKED_AXIS_MAX = 0xffffff };

/* Edge of the cube of differences at each level from TG_XTC_FIRST_LEVEL: part of the format,
 * 2^(level/3) but for the rounding, which follows no one rule. */
static const int32_t level_sizes[TG_XTC_LAST_LEVEL - TG_XTC_FIRST_LEVEL + 1] = {
    8,       10,       12,       16,      20,      25,      32,      40,      50,      64,
    80,      101,      128,      161,     203,     256,     322,     406,     512,     645,
    812,     1024,     1290,     1625,    2048,    2580,    3250,    4096,    5060,    6501,
    8192,    10321,    13003,    16384,   20642,   26007,   32768,   41285,   52015,   65536,
    82570,   104031,   131072,   165140,  208063,  262144,  330280,  416127,  524287,  660561,
    832255,  1048576,  1321122,  1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042,
    8388607, 10568983, 13316085, 16777216};

static int32_t level_size(int level) {
  if (level < TG_XTC_FIRST_LEVEL) level = TG_XTC_FIRST_LEVEL;
  return level_sizes[level - TG_XTC_FIRST_LEVEL];
}

static int bit_length(wide value) {
  int bits = 0;
  for (; value > 0; value >>= 1) bits++;
  return bits;
}

/* How the anchors of a frame are stored. */
typedef struct anchor_form {
  uint32_t size[3]; /* numbers per axis */
  int bits;         /* all three in one number of so many bits; 0: an axis is too long for that */
  int axis_bits[3]; /* then, each by itself */
} anchor_form;

static bool anchor_form_of(const int32_t low[3], const int32_t high[3], anchor_form* form) {
  wide product = 1;
  bool joined = true;
  for (int k = 0; k < 3; k++) {
    int64_t extent = (int64_t)high[k] - low[k];
    if (extent < 0 || extent >= INT32_MAX - 2) return false; /* other programs count it in an int */
    form->size[k] = (uint32_t)extent + 1;
    form->axis_bits[k] = bit_length(form->size[k]);
    joined = joined && form->size[k] <= PACKED_AXIS_MAX;
    product *= form->size[k];
  }
  form->bits = joined ? bit_length(product) : 0;
  return true;
}

/* --- writing --- */

typedef struct bit_writer {
  unsigned char* next;
  uint32_t pending; /* fewer than 8 bits, the oldest highest */
  int pending_bits;
} bit_writer;

/* Appends the low bits (at most 24 at once) of value, the highest first. */
static inline void put_bits(bit_writer* out, int bits, uint32_t value) {
  out->pending = out->pending << bits | value;
  out->pending_bits += bits;
  while (out->pending_bits >= 8) {
    out->pending_bits -= 8;
    *out->next++ = (unsigned char)(out->pending >> out->pending_bits);
  }
  out->pending &= (1u << out->pending_bits) - 1;
}

static void put_axis(bit_writer* out, int bits, uint32_t value) {
  if (bits > 16) {
    put_bits(out, bits - 16, value >> 16);
    value &= 0xffff;
    bits = 16;
  }
  put_bits(out, bits, value);
}

/* Three numbers as one in a mixed base: its bytes lowest first, then the bits that are left over.
 */
static inline void put_triple(bit_writer* out, int bits, const uint32_t size[3],
                              const uint32_t value[3]) {
  wide joined = ((wide)value[0] * size[1] + value[1]) * size[2] + value[2];
  for (; bits >= 8; bits -= 8, joined >>= 8) put_bits(out, 8, (uint32_t)(joined & 0xff));
  if (bits > 0) put_bits(out, bits, (uint32_t)joined);
}

static void put_anchor(bit_writer* out, const anchor_form* form, const int32_t low[3],
                       const int32_t x[3]) {
  uint32_t offset[3];
  for (int k = 0; k < 3; k++) offset[k] = (uint32_t)((int64_t)x[k] - low[k]);
  if (form->bits > 0) {
    put_triple(out, form->bits, form->size, offset);
    return;
  }
  for (int k = 0; k < 3; k++) put_axis(out, form->axis_bits[k], offset[k]);
}

static inline bool within(const int32_t a[3], const int32_t b[3], int64_t reach) {
  for (int k = 0; k < 3; k++) {
    if (llabs((int64_t)a[k] - b[k]) >= reach) return false;
  }
  return true;
}

static inline int64_t square_distance(const int32_t a[3], const int32_t b[3]) {
  int64_t sum = 0;
  for (int k = 0; k < 3; k++) sum += ((int64_t)a[k] - b[k]) * ((int64_t)a[k] - b[k]);
  return sum;
}

/* The level to start with: the first whose size reaches the shortest step between neighbours in the
 * file (each axis counted in full). */
static int start_level(const int32_t (*x)[3], size_t count) {
  int64_t shortest = INT64_MAX;
  for (size_t i = 1; i < count; i++) {
    int64_t step = 0;
    for (int k = 0; k < 3; k++) step += llabs((int64_t)x[i][k] - x[i - 1][k]);
    if (step < shortest) shortest = step;
  }
  int level = TG_XTC_FIRST_LEVEL;
  while (level < TG_XTC_LAST_LEVEL && level_size(level) < shortest) level++;
  return level;
}

static void find_extent(const int32_t (*x)[3], size_t count, int32_t low[3], int32_t high[3]) {
  for (int k = 0; k < 3; k++) low[k] = high[k] = x[0][k];
  for (size_t i = 1; i < count; i++) {
    for (int k = 0; k < 3; k++) {
      if (x[i][k] < low[k]) low[k] = x[i][k];
      if (x[i][k] > high[k]) high[k] = x[i][k];
    }
  }
}

/* What packing carries from group to group. */
typedef struct packer {
  bit_writer out;
  anchor_form form;
  int level, lowest, highest;
  int followers; /* of the group before; -1: none yet */
} packer;

/* Writes the group that begins at atom `first`; returns the atom after it. */
static size_t pack_group(packer* p, const int32_t low[3], int32_t (*x)[3], size_t count,
                         size_t first) {
  int64_t reach = level_size(p->level) / 2;
  int change = 0;
  /* Judged before the swap: an anchor near its predecessor asks for longer differences, so that it
   * would have been a follower; one far away lets a shorter cube be tried. */
  if (p->level < p->highest && first > 0 &&
      within(x[first], x[first - 1], level_size(p->highest) / 2))
    change = 1;
  else if (p->level > p->lowest)
    change = -1;

  int followers = 0;
  if (first + 1 < count && within(x[first], x[first + 1], reach)) {
    int32_t kept[3];
    memcpy(kept, x[first], sizeof kept);
    memcpy(x[first], x[first + 1], sizeof kept);
    memcpy(x[first + 1], kept, sizeof kept);
    followers = 1;
    while (followers < MAX_FOLLOWERS && first + (size_t)followers + 1 < count &&
           within(x[first + (size_t)followers], x[first + (size_t)followers + 1], reach))
      followers++;
  }
  if (change < 0) { /* only where every follower would fit the shorter cube's sphere */
    int64_t shorter = level_size(p->level - 1) / 2;
    if (followers == 0) change = 0;
    for (int i = 1; i <= followers; i++) {
      if (square_distance(x[first + (size_t)i], x[first + (size_t)i - 1]) >= shorter * shorter)
        change = 0;
    }
  }

  put_anchor(&p->out, &p->form, low, x[first]);
  if (followers != p->followers || change != 0) {
    put_bits(&p->out, 1, 1);
    put_bits(&p->out, 5, (uint32_t)(3 * followers + change + 1));
    p->followers = followers;
  } else {
    put_bits(&p->out, 1, 0);
  }
  uint32_t edge = (uint32_t)level_size(p->level);
  const uint32_t cube[3] = {edge, edge, edge};
  for (int i = 1; i <= followers; i++) {
    const int32_t *here = x[first + (size_t)i], *before = x[first + (size_t)i - 1];
    uint32_t difference[3];
    for (int k = 0; k < 3; k++) difference[k] = (uint32_t)((int64_t)here[k] - before[k] + reach);
    put_triple(&p->out, p->level, cube, difference);
  }
  p->level += change;
  return first + 1 + (size_t)followers;
}

tg_status tg_xtc_pack(int32_t (*x)[3], size_t count, tg_xtc_packed* packed) {
  packer p = {.followers = -1};
  packed->size = 0;
  find_extent((const int32_t(*)[3])x, count, packed->low, packed->high);
  if (!anchor_form_of(packed->low, packed->high, &p.form))
    return tg_fail(
        TG_ERR_NUMERICS,
        "the atoms lie up to %lld units of the .xtc precision apart, more than the format's "
        "2147483645; lower compressed-x-precision, or look for an atom that flew off",
        (long long)packed->high[0] - packed->low[0]);
  /* an anchor needs at most 96 bits and its flags 6, a follower at most 72: 13 bytes hold either */
  TG_TRY(TG_RESERVE(count * 13 + 16, "a compressed frame", &packed->bytes, &packed->capacity));
  p.out.next = packed->bytes;
  p.level = packed->level = start_level((const int32_t(*)[3])x, count);
  p.highest = p.level + LEVEL_SPAN < TG_XTC_LAST_LEVEL ? p.level + LEVEL_SPAN : TG_XTC_LAST_LEVEL;
  p.lowest = p.highest - LEVEL_SPAN;
  for (size_t i = 0; i < count;) i = pack_group(&p, packed->low, x, count, i);
  if (p.out.pending_bits > 0) put_bits(&p.out, 8 - p.out.pending_bits, 0);
  packed->size = (size_t)(p.out.next - packed->bytes);
  return TG_OK;
}

/* --- reading --- */

typedef struct bit_reader {
  const unsigned char *next, *end;
  uint32_t pending;
  int pending_bits;
  bool over; /* more was asked for than there is */
} bit_reader;

static uint32_t get_bits(bit_reader* in, int bits) {
  while (in->pending_bits < bits) {
    uint32_t byte = 0;
    if (in->next < in->end)
      byte = *in->next++;
    else
      in->over = true;
    in->pending = in->pending << 8 | byte;
    in->pending_bits += 8;
  }
  in->pending_bits -= bits;
  uint32_t value = in->pending >> in->pending_bits;
  in->pending &= (1u << in->pending_bits) - 1;
  return value;
}

static uint32_t get_axis(bit_reader* in, int bits) {
  uint32_t high = bits > 16 ? get_bits(in, bits - 16) : 0;
  return bits > 16 ? high << 16 | get_bits(in, 16) : get_bits(in, bits);
}

static void get_triple(bit_reader* in, int bits, const uint32_t size[3], uint32_t value[3]) {
  wide joined = 0;
  int shift = 0;
  for (; bits >= 8; bits -= 8, shift += 8) joined |= (wide)get_bits(in, 8) << shift;
  if (bits > 0) joined |= (wide)get_bits(in, bits) << shift;
  value[2] = (uint32_t)(joined % size[2]);
  joined /= size[2];
  value[1] = (uint32_t)(joined % size[1]);
  value[0] = (uint32_t)(joined / size[1]);
}

static void get_anchor(bit_reader* in, const anchor_form* form, const int32_t low[3],
                       int32_t x[3]) {
  uint32_t offset[3];
  if (form->bits > 0)
    get_triple(in, form->bits, form->size, offset);
  else
    for (int k = 0; k < 3; k++) offset[k] = get_axis(in, form->axis_bits[k]);
  /* unsigned sums: a damaged stream may wrap, which is no worse than any other wrong number */
  for (int k = 0; k < 3; k++) x[k] = (int32_t)((uint32_t)low[k] + offset[k]);
}

static tg_status damaged(const char* what, size_t atom) {
  return tg_fail(TG_ERR_INPUT,
                 "the compressed frame is damaged: %s at atom %zu; cut the file before this frame",
                 what, atom + 1);
}

tg_status tg_xtc_unpack(const tg_xtc_packed* packed, int32_t (*x)[3], size_t count) {
  anchor_form form;
  int level = packed->level, followers = 0;
  if (!anchor_form_of(packed->low, packed->high, &form)) return damaged("its extent cannot be", 0);
  if (level < TG_XTC_FIRST_LEVEL || level > TG_XTC_LAST_LEVEL)
    return damaged("its level of differences cannot be", 0);
  bit_reader in = {.next = packed->bytes, .end = packed->bytes + packed->size};
  for (size_t i = 0; i < count;) {
    get_anchor(&in, &form, packed->low, x[i]);
    int change = 0;
    if (get_bits(&in, 1)) {
      int code = (int)get_bits(&in, 5);
      change = code % 3 - 1;
      followers = code / 3;
    }
    if (followers > MAX_FOLLOWERS || (size_t)followers >= count - i)
      return damaged("a group reaches past the last atom", i);
    uint32_t edge = (uint32_t)level_size(level);
    const uint32_t cube[3] = {edge, edge, edge};
    for (size_t j = i + 1; j <= i + (size_t)followers; j++) {
      uint32_t difference[3];
      get_triple(&in, level, cube, difference);
      for (int k = 0; k < 3; k++)
        x[j][k] = (int32_t)((uint32_t)x[j - 1][k] + difference[k] - edge / 2);
    }
    for (int k = 0; k < 3 && followers > 0; k++) {
      int32_t kept = x[i][k];
      x[i][k] = x[i + 1][k];
      x[i + 1][k] = kept;
    }
    level += change;
    if (level < TG_XTC_FIRST_LEVEL || level > TG_XTC_LAST_LEVEL)
      return damaged("its level of differences cannot be", i);
    if (in.over) return damaged("it ends early", i);
    i += (size_t)followers + 1;
  }
  return TG_OK;
}
