/* SPDX-License-Identifier: Apache-2.0 */
/* The stored matrix from comparisons of states: filter, scan and fill of motif/table.h, tiles of
 * rows in a block meeting the columns of those blocks alone that jumps can reach; then each hit's
 * element. */
#include <string.h>

#include <algorithm>

#include "ci/cuda/stored_element.cuh"
#include "ci/cuda/stored_encode.cuh"
#include "ci/cuda/stored_walk.cuh"

struct hits_source {
  stored_elements e;
  uint64_t first;
  const uint64_t* offsets; /* [rows + 1] */
  const uint32_t* hits;
  stored_columns kept;
  template <class SINK>
  __device__ __forceinline__ void walk(uint64_t state, SINK* sink) const {
    const uint64_t row = state - first;
    for (uint64_t h = offsets[row]; h < offsets[row + 1]; h++)
      if (hits[h] != state && stored_keeps(kept, hits[h]))
        sink->valued((int32_t)hits[h], stored_element(&e, state, hits[h]));
  }
};

static __global__ void diagonal_same(hits_source source, uint64_t rows, double* diagonal) {
  const uint64_t row = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (row < rows) diagonal[row] = stored_same(&source.e, source.first + row);
}

/* States in the forms that filters take: A's orbitals, then B's behind them. */
static __global__ void make_states(stored_tables t, uint32_t orbitals_a, uint64_t count,
                                   size_t stride, uint16_t* orbital, uint64_t* bits) {
  const uint64_t state = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (state >= count) return;
  const stored_row r = stored_row_of(&t, state);
  uint32_t k = 0;
  for (int s = 0; s < 2; s++) {
    const uint16_t* list = stored_list(&t, s, &r);
    for (uint32_t p = 0; p < t.species[s].particles; p++, k++) {
      const uint32_t o = list[p] + (s ? orbitals_a : 0);
      orbital[k * stride + state] = (uint16_t)o;
      bits[o / 64 * stride + state] |= UINT64_C(1) << o % 64;
    }
  }
}

/* All that is needed until the matrix is made. */
typedef struct work {
  const tg_motif_table* table;
  tg_ci_flat flat;
  tg_ci_flat_elements elements;
  tg_ci_flat_spans spans;
  void *tables, *element_memory, *scratch;
  tg_states states;
  uint32_t *counts, *hits, *tile_rows, *tile_spans, *span_list;
  uint64_t* offsets;
  const tg_filter_version* filter;
  const tg_fill_version* fill;
  const tg_scan_version* scan;
} work;

static void work_end(work* w) {
  tg_ci_flat_free(&w->flat);
  tg_ci_flat_elements_free(&w->elements);
  tg_ci_flat_spans_free(&w->spans);
  void* const list[] = {w->tables,    w->element_memory, w->scratch,    w->counts,
                        w->hits,      w->offsets,        w->tile_rows,  w->tile_spans,
                        w->span_list, w->states.orbital, w->states.bits};
  for (void* memory : list) cudaFree(memory);
}

static tg_status room_for(const work* w, size_t bytes, void** out) {
  return w->table->memory->allocate(std::max<size_t>(bytes, 1), "the search for matrix elements",
                                    out);
}

/* Elements to the device, one allocation: eights first, so that all are aligned. */
static tg_status upload_elements(work* w, stored_elements* to) {
  const tg_ci_flat_elements* f = &w->elements;
  const size_t aa = f->orbitals[0] * f->orbitals[0], bb = f->orbitals[1] * f->orbitals[1];
  const size_t squares[2] = {aa, bb};
  size_t used = 0;
  char* memory = NULL;
  tg_status status = TG_OK;
  const auto put = [&](const void* from, size_t bytes, const void** at) {
    if (memory) {
      *at = memory + used;
      if (status == TG_OK) status = w->table->memory->upload(memory + used, from, bytes);
    }
    used += (bytes + 7) / 8 * 8;
  };
  for (int pass = 0; pass < 2 && status == TG_OK; pass++) {
    if (pass) {
      TG_TRY(room_for(w, used, &w->element_memory));
      memory = (char*)w->element_memory;
      used = 0;
    }
    put(f->value, f->count * sizeof(double), (const void**)&to->value);
    put(f->cross_row, aa * sizeof(uint64_t), (const void**)&to->cross_row);
    put(f->cross_place, bb * sizeof(uint32_t), (const void**)&to->cross_place);
    for (int t = 0; t < 2; t++) {
      const size_t n = squares[t];
      put(f->one[t], n * sizeof(double), (const void**)&to->one[t]);
      put(f->pair_row[t], n * sizeof(uint64_t), (const void**)&to->pair_row[t]);
      put(f->pair_place[t], n * sizeof(uint32_t), (const void**)&to->pair_place[t]);
      put(f->pair_channel[t], n * sizeof(uint32_t), (const void**)&to->pair_channel[t]);
      put(f->cross_channel[t], n * sizeof(uint32_t), (const void**)&to->cross_channel[t]);
    }
  }
  for (int t = 0; t < 2; t++) to->n[t] = (uint32_t)f->orbitals[t];
  to->constant = w->flat.constant;
  return status;
}

static tg_status put_states(const tg_ci_device_stored* s, work* w, const stored_tables* tables) {
  enum { THREADS = 256 };
  tg_states* states = &w->states;
  const size_t orbitals = w->elements.orbitals[0] + w->elements.orbitals[1];
  states->count = (size_t)s->dimension;
  states->stride = ((states->count + 63) / 64 | 1) * 64;
  states->particles = (uint32_t)(w->flat.species[0].particles + w->flat.species[1].particles);
  states->orbitals = (uint32_t)orbitals;
  states->words = (uint32_t)((orbitals + 63) / 64);
  TG_TRY(room_for(w, tg_states_orbital_bytes(states), (void**)&states->orbital));
  TG_TRY(room_for(w, tg_states_bits_bytes(states), (void**)&states->bits));
  states->low = states->bits;
  cudaMemset(states->orbital, 0, tg_states_orbital_bytes(states));
  cudaMemset(states->bits, 0, tg_states_bits_bytes(states));
  make_states<<<(unsigned)((s->dimension + THREADS - 1) / THREADS), THREADS>>>(
      *tables, (uint32_t)w->elements.orbitals[0], s->dimension, states->stride, states->orbital,
      states->bits);
  return stored_queued(s, "listing states");
}

static bool runs(tg_pairs_refuses refuses, const tg_pairs* pairs) {
  return !refuses || !refuses(pairs);
}

/* The fastest that runs (docs/motifs.md), with hits in order, so that it is the same each time. */
static tg_status choose(work* w, const tg_pairs* pairs) {
  static const char* const names[][2] = {{"bits mma", "bits mma ranked"},
                                         {"bits folded", "bits folded ranked"},
                                         {"bits", "bits ranked"},
                                         {"word64", "word64 ranked"}};
  for (const auto& name : names) {
    for (const tg_filter_version* v = w->table->filters; v->name; v++)
      if (strcmp(v->name, name[0]) == 0 && runs(v->refuses, pairs)) w->filter = v;
    for (const tg_fill_version* v = w->table->fills; w->filter && v->name; v++)
      if (strcmp(v->name, name[1]) == 0 && runs(v->refuses, pairs)) w->fill = v;
    if (w->fill) break;
    w->filter = NULL;
  }
  for (const tg_scan_version* v = w->table->scans; v->name; v++)
    if (strcmp(v->name, "single_pass") == 0 && (!v->refuses || !v->refuses())) w->scan = v;
  if (w->fill && w->scan) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "no filter of states runs on this GPU for these orbitals");
}

/* Uploads a list of 32-bit numbers. */
static tg_status put_list(const work* w, const uint32_t* from, size_t count, uint32_t** to) {
  TG_TRY(room_for(w, count * sizeof *from, (void**)to));
  return w->table->memory->upload(*to, from, count * sizeof *from);
}

static tg_status find_hits(const tg_ci_device_stored* s, const tg_ci_device_stored_params* p,
                           work* w) {
  const size_t rows = (size_t)s->m.rows;
  uint64_t count;
  tg_pairs pairs;
  memset(&pairs, 0, sizeof pairs);
  TG_TRY(tg_ci_flat_spans_make(p->fly, s->m.first, s->m.first + s->m.rows, &w->spans));
  TG_TRY(put_list(w, w->spans.tile_rows, w->spans.tile_count + 1, &w->tile_rows));
  TG_TRY(put_list(w, w->spans.tile_spans, w->spans.tile_count + 1, &w->tile_spans));
  TG_TRY(put_list(w, w->spans.spans, 2 * w->spans.span_count, &w->span_list));
  pairs.rows = tg_states_slice(&w->states, (size_t)s->m.first, rows);
  pairs.columns = w->states;
  pairs.d = 2;
  pairs.threads = 1;
  pairs.tile_count = (uint32_t)w->spans.tile_count;
  pairs.tile_rows = w->tile_rows;
  pairs.tile_spans = w->tile_spans;
  pairs.spans = w->span_list;
  TG_TRY(choose(w, &pairs));
  TG_TRY(room_for(w, rows * sizeof *w->counts, (void**)&w->counts));
  TG_TRY(room_for(w, (rows + 1) * sizeof *w->offsets, (void**)&w->offsets));
  TG_TRY(room_for(w, w->scan->scratch ? w->scan->scratch(rows, sizeof(uint64_t)) : 0, &w->scratch));
  TG_TRY(w->filter->count(&pairs, w->counts));
  TG_TRY(w->scan->offsets(rows, w->counts, w->offsets, w->scratch, 1));
  TG_TRY(w->table->memory->download(&count, w->offsets + rows, sizeof count));
  TG_TRY(room_for(w, (size_t)count * sizeof *w->hits, (void**)&w->hits));
  TG_TRY(w->fill->fill(&pairs, w->offsets, w->counts, w->hits));
  return w->table->memory->synchronize();
}

tg_status stored_build_motifs(tg_ci_device_stored* s, const tg_ci_device_stored_params* p) {
  enum { THREADS = 256 };
  tg_status status = TG_OK;
  work w = {};
  hits_source source = {};
  stored_tables tables = {};
  double* diagonal = NULL;
  w.table = &tg_motif_table_cuda;
  if (!p->h) return tg_fail(TG_ERR_INPUT, "comparing states takes the Hamiltonian");
  TG_TRY_GOTO(tg_ci_flat_make(p->fly, false, &w.flat), done);
  if (w.flat.species[0].particles + w.flat.species[1].particles == 0) {
    status = tg_fail(TG_ERR_INPUT, "there are no particles, and so no pairs of states to compare");
    goto done;
  }
  TG_TRY_GOTO(tg_ci_flat_elements_make(p->h, &w.elements), done);
  TG_TRY_GOTO(stored_upload_tables(s, &w.flat, &w.tables, &tables), done);
  TG_TRY_GOTO(put_states(s, &w, &tables), done);
  TG_TRY_GOTO(find_hits(s, p, &w), done);
  TG_TRY_GOTO(upload_elements(&w, &source.e), done);
  source.e.bits = w.states.bits;
  source.e.stride = w.states.stride;
  source.e.words = w.states.words;
  source.first = s->m.first;
  source.offsets = w.offsets;
  source.hits = w.hits;
  TG_TRY_GOTO(STORED_ALLOCATE(s, s->m.rows, "diagonal", &diagonal), done);
  s->m.diagonal = diagonal;
  diagonal_same<<<(unsigned)((s->m.rows + THREADS - 1) / THREADS), THREADS>>>(source, s->m.rows,
                                                                              diagonal);
  TG_TRY_GOTO(stored_queued(s, "the diagonal"), done);
  status = encode(s, source);
done:
  work_end(&w);
  return status;
}
