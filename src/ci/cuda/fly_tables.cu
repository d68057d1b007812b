/* SPDX-License-Identifier: Apache-2.0 */
/* From the tables of the host to those of the device: the targets' arrays one behind the other, all
 * in one allocation. */
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "ci/cuda/fly.cuh"

/* Arrays of the device's one allocation: laid out first, then copied. With memory NULL they are
 * only counted. */
typedef struct room {
  char* memory;
  size_t used;
  cudaError_t error;
} room;

template <typename T>
static T* carve(room* r, size_t count) {
  T* at = (T*)(r->memory ? r->memory + r->used : nullptr);
  r->used += (std::max<size_t>(count, 1) * sizeof(T) + 255) / 256 * 256;
  return at;
}

/* Pageable memory is read before the call returns. */
template <typename T>
static void put(room* r, T* to, const T* from, size_t count) {
  if (r->memory && count && r->error == cudaSuccess)
    r->error = cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice);
}

template <typename T>
static T* place(room* r, const T* from, size_t count) {
  T* at = carve<T>(r, count);
  put(r, at, from, count);
  return at;
}

static size_t entries_of(const tg_ci_target* t) {
  return t->link_count ? t->links[t->link_count - 1].first + t->links[t->link_count - 1].count : 0;
}

/* begin is absolute in the target; here it is in the species. */
static void place_links(room* r, const tg_ci_target* targets, size_t classes,
                        const tg_ci_strings* strings, bool jumps, tg_fly_links* out) {
  std::vector<uint32_t> of(1, 0), begin;
  std::vector<tg_fly_link> links;
  size_t entries = 0, rows = 0, count = 0;
  for (size_t c = 0; c < classes; c++) {
    entries += entries_of(&targets[c]);
    count += targets[c].link_count;
    rows += targets[c].link_count * ((size_t)strings->classes[c].count + 1);
  }
  out->failure = entries > UINT32_MAX || count > UINT32_MAX ? "connections of strings" : nullptr;
  out->of = carve<uint32_t>(r, classes + 1);
  out->link = carve<tg_fly_link>(r, count);
  out->begin = carve<uint32_t>(r, rows);
  out->from = carve<uint32_t>(r, entries);
  out->code = jumps ? carve<uint32_t>(r, entries) : nullptr;
  out->value = jumps ? nullptr : carve<double>(r, entries);
  if (!r->memory || out->failure) return;
  size_t first = 0, row = 0;
  for (size_t c = 0; c < classes; c++) {
    const tg_ci_target* t = &targets[c];
    const size_t size = (size_t)strings->classes[c].count + 1, all = t->link_count * size;
    for (size_t l = 0; l < t->link_count; l++) {
      tg_fly_link link = {t->links[l].source, t->links[l].channel, row + t->links[l].rows};
      links.push_back(link);
    }
    of.push_back((uint32_t)links.size());
    begin.resize(all);
    for (size_t e = 0; e < all; e++) begin[e] = t->begin[e] + (uint32_t)first;
    put(r, out->begin + row, begin.data(), all);
    const size_t here = entries_of(t);
    put(r, out->from + first, t->from, here);
    if (jumps)
      put(r, out->code + first, t->code, here);
    else
      put(r, out->value + first, t->value, here);
    row += all;
    first += here;
  }
  put(r, out->of, of.data(), of.size());
  put(r, out->link, links.data(), links.size());
}

static void place_space(room* r, const tg_ci_space* space, tg_fly_view* v) {
  std::vector<tg_fly_block> blocks;
  std::vector<uint32_t> begin;
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* b = &space->blocks[n];
    tg_fly_block block = {b->a,
                          b->b,
                          (uint32_t)b->columns,
                          (uint32_t)space->strings[0].classes[b->a].begin,
                          (uint32_t)space->strings[1].classes[b->b].begin,
                          b->offset};
    blocks.push_back(block);
  }
  for (size_t c = 0; c <= space->strings[0].class_count; c++)
    begin.push_back((uint32_t)space->block_begin[c]);
  v->blocks = place(r, blocks.data(), blocks.size());
  v->block_begin = place(r, begin.data(), begin.size());
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* s = &space->strings[t];
    v->particles[t] = (uint32_t)s->particles;
    v->orbitals[t] = (uint32_t)s->orbitals;
    v->strings[t] = place(r, s->orbital, s->count * (size_t)s->particles);
  }
}

static void place_elements(room* r, const tg_ci_fly* f, tg_fly_view* v) {
  const tg_ci_jumps *ja = &f->jumps[0], *jb = &f->jumps[1];
  const size_t operators = ja->channel_begin[ja->channel_count];
  std::vector<uint32_t> begin;
  std::vector<uint64_t> rows;
  size_t size = 0; /* as in product_fly.c: the longest row of zeros, then the others */
  for (size_t c = 0; c < ja->channel_count; c++)
    size = std::max(size, jb->channel_begin[c + 1] - jb->channel_begin[c]);
  for (size_t c = 0; c < ja->channel_count; c++)
    for (size_t a = ja->channel_begin[c]; a < ja->channel_begin[c + 1]; a++)
      if (f->row_begin[a]) size += jb->channel_begin[c + 1] - jb->channel_begin[c];
  for (size_t c = 0; c <= ja->channel_count; c++) begin.push_back((uint32_t)ja->channel_begin[c]);
  for (size_t a = 0; a < operators; a++) rows.push_back(f->row_begin[a]);
  v->still = tg_ci_channel_still(ja);
  v->cross = place(r, f->rows, size);
  v->cross_row = place(r, rows.data(), operators);
  v->channel_begin = place(r, begin.data(), begin.size());
  v->pairs = place(r, f->still, f->orbitals[0] * f->orbitals[1]);
  for (int t = 0; t < 2; t++) {
    const tg_ci_fields* field = &f->fields[t];
    const tg_ci_jumps* j = &f->jumps[t];
    v->fields[t].stride = (uint32_t)field->stride;
    v->fields[t].row =
        place(r, field->row, j->channel_begin[v->still + 1] - j->channel_begin[v->still]);
    v->fields[t].value = place(r, field->value, field->rows * field->stride);
    v->alone_diagonal[t] = place(r, f->alone[t].diagonal, f->space->strings[t].count);
  }
  v->constant = f->constant;
}

/* Costly rows first, so that none begins when the others end. */
static void place_rows(room* r, const tg_ci_fly* f, const tg_ci_device_rows* rows, tg_fly_view* v) {
  const tg_ci_space* space = f->space;
  std::vector<tg_fly_row> list;
  std::vector<uint32_t> order;
  std::vector<double> cost;
  for (size_t n = 0; n < space->block_count; n++) {
    order.push_back((uint32_t)n);
    cost.push_back(f->elements[n] / (double)space->blocks[n].rows);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&cost](uint32_t p, uint32_t q) { return cost[p] > cost[q]; });
  for (uint32_t n : order) {
    const tg_ci_block* b = &space->blocks[n];
    for (size_t i = 0; i < b->rows; i++) {
      const uint64_t state = b->offset + i * b->columns;
      tg_fly_row row = {n, (uint32_t)i};
      if (state >= rows->first && state < rows->end) list.push_back(row);
    }
  }
  v->row_count = list.size();
  v->first = rows->first;
  v->rows = place(r, list.data(), list.size());
}

static void place_all(room* r, const tg_ci_fly* f, const tg_ci_device_rows* rows, tg_fly_view* v) {
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* s = &f->space->strings[t];
    place_links(r, f->jumps[t].targets, f->jumps[t].class_count, s, true, &v->jumps[t]);
    place_links(r, f->alone[t].targets, f->alone[t].class_count, s, false, &v->alone[t]);
  }
  place_space(r, f->space, v);
  place_elements(r, f, v);
  place_rows(r, f, rows, v);
}

uint64_t tg_ci_device_fly_bytes(const tg_ci_fly* fly) {
  room r = {};
  tg_fly_view v = {};
  const tg_ci_device_rows all = {0, fly->space->dimension};
  place_all(&r, fly, &all, &v);
  return r.used;
}

tg_status tg_fly_tables_make(tg_ci_device_fly* fly, const tg_ci_fly* from,
                             const tg_ci_device_rows* rows) {
  room r = {};
  tg_fly_view* v = &fly->view;
  place_all(&r, from, rows, v);
  for (int t = 0; t < 2; t++)
    if (v->jumps[t].failure || v->alone[t].failure)
      return tg_fail(TG_ERR_MACHINE,
                     "GPU %d: more than %u connections of strings of one species; truncate the "
                     "space, or use the backend omp",
                     fly->device, UINT32_MAX);
  TG_TRY(tg_cuda_status(cudaMalloc(&fly->memory, r.used), fly->device,
                        "allocating the tables of the Hamiltonian"));
  r.memory = (char*)fly->memory;
  r.used = 0;
  place_all(&r, from, rows, v);
  return tg_cuda_status(r.error, fly->device, "copying the tables of the Hamiltonian");
}
