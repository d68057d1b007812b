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

void tg_halo_pack(const tg_halo_data* data, const uint32_t* index, size_t count,
                  const double (*shift)[3], int shift_count, void* out) {
  if (data->shifted && data->kind == TG_HALO_DOUBLE3) {
    const double(*x)[3] = (const double(*)[3])(const void*)data->base;
    double(*to)[3] = out;
    for (size_t i = 0; i < count; i++)
      for (int d = 0; d < 3; d++) {
        double value = x[index[i]][d];
        for (int s = 0; s < shift_count; s++) value += shift[s][d];
        to[i][d] = value;
      }
  } else if (data->shifted && data->kind == TG_HALO_FLOAT3) {
    const float(*x)[3] = (const float(*)[3])(const void*)data->base;
    float(*to)[3] = out;
    for (size_t i = 0; i < count; i++)
      for (int d = 0; d < 3; d++) {
        float value = x[index[i]][d];
        for (int s = 0; s < shift_count; s++) value += (float)shift[s][d];
        to[i][d] = value;
      }
  } else {
    tg_halo_gather(data, index, count, out);
  }
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
