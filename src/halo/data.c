/* SPDX-License-Identifier: Apache-2.0 */
/* Between arrays and messages. */
#include <string.h>

#include "halo/internal.h"

/* With a size that the compiler knows, a copy is a few moves instead of a call. */
static inline void gather_sized(const tg_halo_data* data, const uint32_t* index, size_t count,
                                char* out, size_t size) {
  for (size_t i = 0; i < count; i++)
    memcpy(out + i * size, data->base + index[i] * data->stride, size);
}

static inline void scatter_sized(const tg_halo_data* data, const uint32_t* index, size_t count,
                                 const char* in, size_t size) {
  for (size_t i = 0; i < count; i++)
    memcpy(data->base + index[i] * data->stride, in + i * size, size);
}

void tg_halo_gather(const tg_halo_data* data, const uint32_t* index, size_t count, void* out) {
  if (data->size == 3 * sizeof(double))
    gather_sized(data, index, count, out, 3 * sizeof(double));
  else if (data->size == 3 * sizeof(float))
    gather_sized(data, index, count, out, 3 * sizeof(float));
  else
    gather_sized(data, index, count, out, data->size);
}

/* Shifts in the array's precision; one of them, the usual number, is added without a loop. */
#define PACK_SHIFTED(type)                                                                         \
  static void pack_##type(const tg_halo_data* data, const uint32_t* index, size_t count,           \
                          const double(*shift)[3], int shift_count, type(*to)[3]) {                \
    const type(*x)[3] = (const type(*)[3])(const void*)data->base;                                 \
    const type first[3] = {(type)shift[0][0], (type)shift[0][1], (type)shift[0][2]};               \
    for (size_t i = 0; i < count; i++)                                                             \
      for (int d = 0; d < 3; d++) to[i][d] = x[index[i]][d] + first[d];                            \
    for (int s = 1; s < shift_count; s++) {                                                        \
      const type next[3] = {(type)shift[s][0], (type)shift[s][1], (type)shift[s][2]};              \
      for (size_t i = 0; i < count; i++)                                                           \
        for (int d = 0; d < 3; d++) to[i][d] += next[d];                                           \
    }                                                                                              \
  }
PACK_SHIFTED(float)
PACK_SHIFTED(double)

void tg_halo_pack(const tg_halo_data* data, const uint32_t* index, size_t count,
                  const double (*shift)[3], int shift_count, void* out) {
  if (data->shifted && shift_count > 0 && data->kind == TG_HALO_DOUBLE3)
    pack_double(data, index, count, shift, shift_count, out);
  else if (data->shifted && shift_count > 0 && data->kind == TG_HALO_FLOAT3)
    pack_float(data, index, count, shift, shift_count, out);
  else
    tg_halo_gather(data, index, count, out);
}

void tg_halo_pack_slice(const tg_halo_data* data, size_t first, size_t count, void* out) {
  if (data->stride == data->size) {
    if (count) memcpy(out, data->base + first * data->stride, count * data->size);
    return;
  }
  for (size_t i = 0; i < count; i++)
    memcpy((char*)out + i * data->size, data->base + (first + i) * data->stride, data->size);
}

void tg_halo_unpack_slice(const tg_halo_data* data, size_t first, size_t count, const void* in) {
  if (data->stride == data->size) {
    if (count) memcpy(data->base + first * data->stride, in, count * data->size);
    return;
  }
  for (size_t i = 0; i < count; i++)
    memcpy(data->base + (first + i) * data->stride, (const char*)in + i * data->size, data->size);
}

void tg_halo_unpack(const tg_halo_data* data, const uint32_t* index, size_t count, const void* in) {
  if (data->size == 3 * sizeof(double))
    scatter_sized(data, index, count, in, 3 * sizeof(double));
  else if (data->size == 3 * sizeof(float))
    scatter_sized(data, index, count, in, 3 * sizeof(float));
  else
    scatter_sized(data, index, count, in, data->size);
}

void tg_halo_add(const tg_halo_data* data, const uint32_t* index, size_t count, const void* in) {
  if (data->kind == TG_HALO_DOUBLE3) {
    double(*f)[3] = (double(*)[3])(void*)data->base;
    const double(*from)[3] = in;
    for (size_t i = 0; i < count; i++)
      for (int d = 0; d < 3; d++) f[index[i]][d] += from[i][d];
  } else {
    float(*f)[3] = (float(*)[3])(void*)data->base;
    const float(*from)[3] = in;
    for (size_t i = 0; i < count; i++)
      for (int d = 0; d < 3; d++) f[index[i]][d] += from[i][d];
  }
}
