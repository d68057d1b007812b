/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/xdr.h  XDR (RFC 4506), as trajectory files use it: big-endian 32-bit integers, IEEE
 * floats and doubles, everything padded to four bytes.
 *
 * Writers leave errors to the stream's error flag; tg_xdr_check asks for it once per frame. */
#ifndef TG_MD_XDR_H
#define TG_MD_XDR_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

enum { TG_XDR_CHUNK = 512 };

static inline void tg_xdr_store(unsigned char* out, uint64_t bits, int size) {
  for (int i = 0; i < size; i++) out[i] = (unsigned char)(bits >> (8 * (size - 1 - i)));
}

static inline uint64_t tg_xdr_load(const unsigned char* in, int size) {
  uint64_t bits = 0;
  for (int i = 0; i < size; i++) bits = bits << 8 | in[i];
  return bits;
}

static inline void tg_xdr_put_int(FILE* stream, int32_t value) {
  unsigned char bytes[4];
  tg_xdr_store(bytes, (uint32_t)value, 4);
  fwrite(bytes, 1, sizeof bytes, stream);
}

/** count values as floats, or as doubles. */
static inline void tg_xdr_put_reals(FILE* stream, const double* values, size_t count, bool wide) {
  unsigned char bytes[TG_XDR_CHUNK * 8];
  int size = wide ? 8 : 4;
  while (count > 0) {
    size_t now = count < TG_XDR_CHUNK ? count : TG_XDR_CHUNK;
    for (size_t i = 0; i < now; i++) {
      uint64_t bits = 0;
      if (wide) {
        memcpy(&bits, &values[i], 8);
      } else {
        float narrow = (float)values[i];
        uint32_t word;
        memcpy(&word, &narrow, 4);
        bits = word;
      }
      tg_xdr_store(bytes + i * (size_t)size, bits, size);
    }
    fwrite(bytes, (size_t)size, now, stream);
    values += now;
    count -= now;
  }
}

/** False at the end of the file or on an error. */
static inline bool tg_xdr_get_int(FILE* stream, int32_t* value) {
  unsigned char bytes[4];
  if (fread(bytes, 1, sizeof bytes, stream) != sizeof bytes) return false;
  *value = (int32_t)(uint32_t)tg_xdr_load(bytes, 4);
  return true;
}

static inline bool tg_xdr_get_reals(FILE* stream, double* values, size_t count, bool wide) {
  unsigned char bytes[8];
  int size = wide ? 8 : 4;
  for (size_t i = 0; i < count; i++) {
    if (fread(bytes, 1, (size_t)size, stream) != (size_t)size) return false;
    uint64_t bits = tg_xdr_load(bytes, size);
    if (wide) {
      memcpy(&values[i], &bits, 8);
    } else {
      uint32_t word = (uint32_t)bits;
      float narrow;
      memcpy(&narrow, &word, 4);
      values[i] = (double)narrow;
    }
  }
  return true;
}

/** TG_ERR_MACHINE where writing to the stream has failed. errno should be 0 before the frame's
 * first write, so that the reason is the write's own. */
static inline tg_status tg_xdr_check(FILE* stream, const char* what) {
  if (!ferror(stream)) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "writing %s failed: %s; free some space or write elsewhere", what,
                 errno ? strerror(errno) : "the stream reports an error");
}

#endif
