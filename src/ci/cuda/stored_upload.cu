/* SPDX-License-Identifier: Apache-2.0 */
/* The flat tables in device memory. */
#include "ci/cuda/stored.cuh"
#include "ci/cuda/stored_walk.cuh"

/* One allocation for all tables; the first pass counts, the second copies. */
typedef struct upload {
  char* memory;
  size_t used;
  cudaError_t error;
} upload;

template <class T>
static void put(upload* u, const T* from, size_t count, const T** to) {
  const size_t bytes = count * sizeof(T);
  if (u->memory) {
    *to = (const T*)(u->memory + u->used);
    if (bytes && u->error == cudaSuccess)
      u->error = cudaMemcpy(u->memory + u->used, from, bytes, cudaMemcpyHostToDevice);
  }
  u->used += (bytes + 255) / 256 * 256;
}

static void put_links(upload* u, const tg_ci_flat_links* from, stored_links* to) {
  put(u, from->of_class, from->class_count + 1, &to->of_class);
  put(u, from->links, from->link_count, &to->links);
  put(u, from->begin, from->begin_count, &to->begin);
  put(u, from->from, from->count, &to->from);
}

static void put_species(upload* u, const tg_ci_flat_species* from, size_t classes, bool coded,
                        stored_species* to) {
  put_links(u, &from->jumps, &to->jumps);
  put_links(u, &from->alone, &to->alone);
  put(u, from->first, classes, &to->first);
  put(u, from->orbitals, from->strings * from->particles, &to->orbitals);
  put(u, from->diagonal, from->strings, &to->diagonal);
  put(u, from->code, from->jumps.count, &to->code);
  put(u, from->field, from->alone.count, &to->field);
  put(u, from->word, coded ? from->alone.count : 0, &to->word);
  put(u, from->value, from->alone.count, &to->value);
  put(u, from->fields, from->field_rows * from->field_stride, &to->fields);
  to->particles = (uint32_t)from->particles;
  to->field_stride = (uint32_t)from->field_stride;
}

static void put_tables(upload* u, const tg_ci_flat* from, stored_tables* to) {
  u->used = 0;
  to->coded = from->value_count > 0;
  put(u, from->block_a, from->block_count, &to->block_a);
  put(u, from->block_b, from->block_count, &to->block_b);
  put(u, from->columns, from->block_count, &to->columns);
  put(u, from->offset, from->block_count + 1, &to->offset);
  put(u, from->block_of, from->class_count[0] * from->class_count[1], &to->block_of);
  put(u, from->channel_link, from->class_count[1] * (from->channel_count + 1), &to->channel_link);
  for (int t = 0; t < 2; t++)
    put_species(u, &from->species[t], from->class_count[t], to->coded, &to->species[t]);
  put(u, from->row_begin, from->operator_count, &to->row_begin);
  put(u, from->rows, from->row_count, &to->rows);
  put(u, from->row_words, to->coded ? from->row_count : 0, &to->row_words);
  put(u, from->still, from->still_count, &to->still);
  to->block_count = (uint32_t)from->block_count;
  to->classes_b = (uint32_t)from->class_count[1];
  to->channel_count = (uint32_t)from->channel_count;
  to->still_stride = (uint32_t)from->still_stride;
  to->constant = from->constant;
}

tg_status stored_upload_tables(const tg_ci_device_stored* s, const tg_ci_flat* flat, void** memory,
                               stored_tables* out) {
  static const char what[] = "copying the tables of a stored matrix";
  upload u = {};
  put_tables(&u, flat, out);
  TG_TRY(tg_cuda_status(cudaMalloc(memory, u.used), s->device, what));
  u.memory = (char*)*memory;
  put_tables(&u, flat, out);
  return tg_cuda_status(u.error, s->device, what);
}
