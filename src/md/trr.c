/* SPDX-License-Identifier: Apache-2.0 */
/* .trr: a frame is the number 1993, the format's name, thirteen integers (sizes in bytes of each
 * part, atom count, step), time and lambda, and the parts that are there: box, positions,
 * velocities, forces. Real numbers are floats or doubles; readers tell by the size of the box. */
#include <limits.h>

#include "md/trajectory.h"
#include "md/xdr.h"

enum { TRR_MAGIC = 1993, TRR_NAME_LENGTH = 12 };
static const char trr_name[] = "GMX_trn_file";

/* The integers after the name, in the file's order. */
enum {
  TRR_INPUT,
  TRR_ENERGIES,
  TRR_BOX,
  TRR_VIRIAL,
  TRR_PRESSURE,
  TRR_TOPOLOGY,
  TRR_SYMBOLS,
  TRR_X,
  TRR_V,
  TRR_F,
  TRR_ATOMS,
  TRR_STEP,
  TRR_ENERGY_COUNT,
  TRR_FIELDS
};

tg_status tg_trr_write(FILE* stream, const tg_frame* frame, int use_double) {
  bool wide = use_double != 0;
  size_t real = wide ? 8 : 4, limit = INT32_MAX / (3 * real);
  if (frame->count > limit)
    return tg_fail(
        TG_ERR_INPUT,
        "%zu atoms are more than a .trr frame can hold (%zu in %s precision); write .xtc "
        "instead",
        frame->count, limit, wide ? "double" : "single");
  if (frame->step < INT32_MIN || frame->step > INT32_MAX)
    return tg_fail(TG_ERR_NUMERICS,
                   "step %lld does not fit the 32 bits that .trr has for it; start a new run with "
                   "init-step = 0",
                   frame->step);
  int32_t part = (int32_t)(frame->count * 3 * real);
  int32_t fields[TRR_FIELDS] = {0};
  fields[TRR_BOX] = (int32_t)(9 * real);
  fields[TRR_X] = frame->x ? part : 0;
  fields[TRR_V] = frame->v ? part : 0;
  fields[TRR_F] = frame->f ? part : 0;
  fields[TRR_ATOMS] = (int32_t)frame->count;
  fields[TRR_STEP] = (int32_t)frame->step;
  errno = 0;
  tg_xdr_put_int(stream, TRR_MAGIC);
  tg_xdr_put_int(stream, TRR_NAME_LENGTH + 1); /* with its end, as C counts; then XDR's own count */
  tg_xdr_put_int(stream, TRR_NAME_LENGTH);
  fwrite(trr_name, 1, TRR_NAME_LENGTH, stream);
  for (int i = 0; i < TRR_FIELDS; i++) tg_xdr_put_int(stream, fields[i]);
  const double time_and_lambda[2] = {frame->time, 0};
  tg_xdr_put_reals(stream, time_and_lambda, 2, wide);
  tg_xdr_put_reals(stream, frame->box, 9, wide);
  const double(*parts[3])[3] = {frame->x, frame->v, frame->f};
  for (int i = 0; i < 3; i++) {
    if (parts[i] && frame->count > 0) tg_xdr_put_reals(stream, parts[i][0], frame->count * 3, wide);
  }
  return tg_xdr_check(stream, "a .trr frame");
}

static tg_status cut_short(void) {
  return tg_fail(TG_ERR_INPUT,
                 "the .trr file ends inside a frame; cut it back to its last whole frame");
}

static tg_status check_fields(const int32_t fields[TRR_FIELDS], int32_t real) {
  int64_t part = (int64_t)fields[TRR_ATOMS] * 3 * real;
  bool good = fields[TRR_ATOMS] >= 0 && (real == 4 || real == 8);
  for (int i = TRR_INPUT; i <= TRR_F; i++) good = good && fields[i] >= 0;
  for (int i = TRR_X; i <= TRR_F; i++) good = good && (fields[i] == 0 || fields[i] == part);
  if (good) return TG_OK;
  return tg_fail(
      TG_ERR_INPUT,
      "a .trr frame of %d atoms has parts of %d, %d and %d bytes, which cannot be; the file is "
      "damaged",
      fields[TRR_ATOMS], fields[TRR_X], fields[TRR_V], fields[TRR_F]);
}

/* Moves on over bytes that must be there: a seek alone would not notice that the file has ended. */
static bool skip_bytes(FILE* stream, int64_t bytes) {
  char buffer[4096];
  while (bytes > 0) {
    size_t now = bytes < (int64_t)sizeof buffer ? (size_t)bytes : sizeof buffer;
    if (fread(buffer, 1, now, stream) != now) return false;
    bytes -= (int64_t)now;
  }
  return true;
}

tg_status tg_trr_skip(FILE* stream, tg_frame* frame, int* found) {
  int first = getc(stream);
  if (first == EOF && !ferror(stream)) {
    *found = 0;
    return TG_OK;
  }
  ungetc(first, stream);
  int32_t magic = 0, lengths[2] = {0}, fields[TRR_FIELDS];
  char name[TRR_NAME_LENGTH] = {0};
  if (!tg_xdr_get_int(stream, &magic) || !tg_xdr_get_int(stream, &lengths[0]) ||
      !tg_xdr_get_int(stream, &lengths[1]) || fread(name, 1, sizeof name, stream) != sizeof name)
    return cut_short();
  if (magic != TRR_MAGIC || lengths[1] != TRR_NAME_LENGTH ||
      memcmp(name, trr_name, TRR_NAME_LENGTH) != 0)
    return tg_fail(
        TG_ERR_INPUT,
        "found %d where a .trr frame begins with %d and the name %s; this is not a .trr file, "
        "or it is damaged",
        magic, TRR_MAGIC, trr_name);
  for (int i = 0; i < TRR_FIELDS; i++) {
    if (!tg_xdr_get_int(stream, &fields[i])) return cut_short();
  }
  int32_t real = 4;
  if (fields[TRR_BOX] > 0)
    real = fields[TRR_BOX] / 9;
  else if (fields[TRR_ATOMS] > 0) /* without a box, any part tells */
    real = (fields[TRR_X] | fields[TRR_V] | fields[TRR_F]) / 3 / fields[TRR_ATOMS];
  TG_TRY(check_fields(fields, real));
  tg_frame read = {.count = (size_t)fields[TRR_ATOMS], .step = fields[TRR_STEP]};
  double time_and_lambda[2];
  bool whole = tg_xdr_get_reals(stream, time_and_lambda, 2, real == 8) &&
               skip_bytes(stream, (int64_t)fields[TRR_INPUT] + fields[TRR_ENERGIES]);
  if (fields[TRR_BOX] > 0) whole = whole && tg_xdr_get_reals(stream, read.box, 9, real == 8);
  int64_t rest = 0;
  for (int i = TRR_VIRIAL; i <= TRR_F; i++) rest += fields[i];
  if (!whole || !skip_bytes(stream, rest)) return cut_short();
  read.time = time_and_lambda[0];
  *frame = read;
  *found = 1;
  return TG_OK;
}
