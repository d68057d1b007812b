/* SPDX-License-Identifier: Apache-2.0 */
/* .xtc: a frame is the number 1995, atom count, step, time, box, and the positions: count again; up
 * to 9 atoms as floats; otherwise precision, extent, level, byte count and the bit stream of
 * xtc_pack.h. */
#include <limits.h>
#include <math.h>

#include "base/memory.h"
#include "md/trajectory.h"
#include "md/xdr.h"
#include "md/xtc_pack.h"

enum { XTC_MAGIC = 1995, XTC_PLAIN_ATOMS = 9, XTC_MAX_ATOMS = INT32_MAX / 13 - 2 };

static const double coordinate_limit = INT32_MAX - 2.0; /* what other readers accept */

/* Rounds to units of 1/precision, half away from zero. */
static tg_status to_integers(const tg_frame* frame, double precision, int32_t (*out)[3]) {
  for (size_t i = 0; i < frame->count; i++) {
    for (int k = 0; k < 3; k++) {
      double scaled = round(frame->x[i][k] * precision);
      if (!(fabs(scaled) <= coordinate_limit))
        return tg_fail(
            TG_ERR_NUMERICS,
            "step %lld: coordinate %c of atom %zu is %g nm, which .xtc cannot hold at "
            "precision %g (|x| <= %g nm); the atom flew off, or lower compressed-x-precision",
            frame->step, "xyz"[k], i + 1, frame->x[i][k], precision, coordinate_limit / precision);
      out[i][k] = (int32_t)scaled;
    }
  }
  return TG_OK;
}

static tg_status check_frame(const tg_frame* frame, double precision) {
  if (!(precision > 0) || !((float)precision < INFINITY) || !((float)precision > 0))
    return tg_fail(TG_ERR_INPUT, "compressed-x-precision is %g; expected a positive number",
                   precision);
  if (frame->count > XTC_MAX_ATOMS)
    return tg_fail(TG_ERR_INPUT,
                   "%zu atoms are more than an .xtc frame can hold (%d); write fewer with "
                   "compressed-x-grps",
                   frame->count, XTC_MAX_ATOMS);
  if (frame->step < INT32_MIN || frame->step > INT32_MAX)
    return tg_fail(TG_ERR_NUMERICS,
                   "step %lld does not fit the 32 bits that .xtc has for it; start a new run with "
                   "init-step = 0",
                   frame->step);
  return TG_OK;
}

tg_status tg_xtc_write(FILE* stream, const tg_frame* frame, double precision) {
  TG_TRY(check_frame(frame, precision));
  bool plain = frame->count <= XTC_PLAIN_ATOMS;
  precision = (double)(float)precision; /* as the file will say */
  tg_status status = TG_OK;
  tg_xtc_packed packed = {0};
  int32_t(*numbers)[3] = NULL;
  if (!plain) {
    TG_TRY_GOTO(TG_ALLOCATE(frame->count, "a compressed frame", &numbers), free_frame);
    TG_TRY_GOTO(to_integers(frame, precision, numbers), free_frame);
    TG_TRY_GOTO(tg_xtc_pack(numbers, frame->count, &packed), free_frame);
  }
  errno = 0;
  tg_xdr_put_int(stream, XTC_MAGIC);
  tg_xdr_put_int(stream, (int32_t)frame->count);
  tg_xdr_put_int(stream, (int32_t)frame->step);
  tg_xdr_put_reals(stream, &frame->time, 1, false);
  tg_xdr_put_reals(stream, frame->box, 9, false);
  tg_xdr_put_int(stream, (int32_t)frame->count);
  if (plain) {
    if (frame->count > 0) tg_xdr_put_reals(stream, frame->x[0], frame->count * 3, false);
  } else {
    tg_xdr_put_reals(stream, &precision, 1, false);
    for (int k = 0; k < 3; k++) tg_xdr_put_int(stream, packed.low[k]);
    for (int k = 0; k < 3; k++) tg_xdr_put_int(stream, packed.high[k]);
    tg_xdr_put_int(stream, packed.level);
    tg_xdr_put_int(stream, (int32_t)packed.size);
    static const unsigned char padding[3];
    fwrite(packed.bytes, 1, packed.size, stream);
    fwrite(padding, 1, (4 - packed.size % 4) % 4, stream);
  }
  status = tg_xdr_check(stream, "an .xtc frame");
free_frame:
  tg_free(numbers);
  tg_free(packed.bytes);
  return status;
}

static tg_status cut_short(void) {
  return tg_fail(TG_ERR_INPUT,
                 "the .xtc file ends inside a frame; cut it back to its last whole frame");
}

/* Reads the packed part of a frame after the atom count. */
static tg_status read_packed(FILE* stream, size_t count, double (*x)[3]) {
  tg_status status = TG_OK;
  tg_xtc_packed packed = {0};
  int32_t(*numbers)[3] = NULL;
  int32_t size = 0;
  double precision = 0;
  bool whole = tg_xdr_get_reals(stream, &precision, 1, false);
  for (int k = 0; k < 3; k++) whole = whole && tg_xdr_get_int(stream, &packed.low[k]);
  for (int k = 0; k < 3; k++) whole = whole && tg_xdr_get_int(stream, &packed.high[k]);
  whole = whole && tg_xdr_get_int(stream, &packed.level) && tg_xdr_get_int(stream, &size);
  if (!whole) return cut_short();
  if (!(precision > 0) || size < 0 || (size_t)size > count * 13 + 16)
    return tg_fail(
        TG_ERR_INPUT,
        "an .xtc frame of %zu atoms says precision %g and %d bytes, which cannot be; cut the "
        "file before this frame",
        count, precision, size);
  packed.size = (size_t)size;
  size_t padded = (packed.size + 3) / 4 * 4;
  TG_TRY_GOTO(TG_RESERVE(padded, "a compressed frame", &packed.bytes, &packed.capacity),
              free_frame);
  TG_TRY_GOTO(TG_ALLOCATE(count, "a compressed frame", &numbers), free_frame);
  if (fread(packed.bytes, 1, padded, stream) != padded) {
    status = cut_short();
    goto free_frame;
  }
  TG_TRY_GOTO(tg_xtc_unpack(&packed, numbers, count), free_frame);
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < 3; k++) x[i][k] = numbers[i][k] / precision;
  }
free_frame:
  tg_free(numbers);
  tg_free(packed.bytes);
  return status;
}

tg_status tg_xtc_read(FILE* stream, tg_frame* frame, double (**x)[3], size_t* capacity,
                      int* found) {
  int first = getc(stream);
  if (first == EOF && !ferror(stream)) {
    *found = 0;
    return TG_OK;
  }
  ungetc(first, stream);
  int32_t magic = 0, count = 0, again = 0, step = 0;
  tg_frame read = {0};
  if (!tg_xdr_get_int(stream, &magic) || !tg_xdr_get_int(stream, &count)) return cut_short();
  if (magic != XTC_MAGIC || count < 0)
    return tg_fail(
        TG_ERR_INPUT,
        "found %d and %d where an .xtc frame begins with %d and its atom count; this is not an "
        ".xtc file, or it is damaged",
        magic, count, XTC_MAGIC);
  if (!tg_xdr_get_int(stream, &step) || !tg_xdr_get_reals(stream, &read.time, 1, false) ||
      !tg_xdr_get_reals(stream, read.box, 9, false) || !tg_xdr_get_int(stream, &again))
    return cut_short();
  if (again != count)
    return tg_fail(TG_ERR_INPUT, "an .xtc frame of %d atoms has %d positions; it is damaged", count,
                   again);
  read.step = step;
  read.count = (size_t)count;
  TG_TRY(TG_RESERVE(read.count, "positions of a frame", x, capacity));
  if (read.count > XTC_PLAIN_ATOMS) {
    TG_TRY(read_packed(stream, read.count, *x));
  } else if (read.count > 0 && !tg_xdr_get_reals(stream, (*x)[0], read.count * 3, false)) {
    return cut_short();
  }
  read.x = (const double(*)[3]) * x;
  *frame = read;
  *found = 1;
  return TG_OK;
}
