/* SPDX-License-Identifier: Apache-2.0 */
/* From the tables of the host to those of the device, all in one allocation. */
#include <algorithm>

#include "ci/cuda/fly_work.cuh"

/* Arrays of the device's one allocation. With memory NULL they are only counted. */
typedef struct room {
  char* memory;
  size_t used;
  cudaStream_t stream;
  cudaError_t error;
} room;

template <typename T>
static T* carve(room* r, size_t count) {
  T* at = (T*)(r->memory ? r->memory + r->used : nullptr);
  r->used += (std::max<size_t>(count, 1) * sizeof(T) + 255) / 256 * 256;
  return at;
}

/* What is copied is pageable, so it has been read when the call returns. */
template <typename T>
static void put(room* r, T* to, const T* from, size_t count) {
  if (r->memory && count && r->error == cudaSuccess)
    r->error = cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyHostToDevice, r->stream);
}

template <typename T>
static T* place(room* r, const T* from, size_t count) {
  T* at = carve<T>(r, count);
  put(r, at, from, count);
  return at;
}

/* Replaces the host's pointer by the device's. */
template <typename T>
static void move(room* r, T** array, const T* from, size_t count) {
  *array = place(r, from, count);
}

static size_t entries_of(const tg_ci_target* t) {
  return t->link_count ? t->links[t->link_count - 1].first + t->links[t->link_count - 1].count : 0;
}

/* Of the wanted classes. begin is absolute in the target; here it is in the species. */
static void place_links(room* r, const tg_ci_target* targets, const tg_ci_strings* strings,
                        const bool* wanted, bool jumps, tg_fly_links* out) {
  const size_t classes = strings->class_count;
  std::vector<uint32_t> of(1, 0), begin;
  std::vector<tg_fly_link> links;
  size_t entries = 0, rows = 0;
  for (size_t c = 0; c < classes; c++) {
    const tg_ci_target* t = &targets[c];
    const size_t size = (size_t)strings->classes[c].count + 1;
    for (size_t l = 0; wanted[c] && l < t->link_count; l++) {
      tg_fly_link link = {t->links[l].source, t->links[l].channel, rows + t->links[l].rows};
      links.push_back(link);
    }
    of.push_back((uint32_t)links.size());
    if (!wanted[c]) continue;
    entries += entries_of(t);
    rows += t->link_count * size;
  }
  out->overflows = entries > UINT32_MAX;
  out->of = place(r, of.data(), of.size());
  out->link = place(r, links.data(), links.size());
  out->begin = carve<uint32_t>(r, rows);
  out->from = carve<uint32_t>(r, entries);
  out->code = jumps ? carve<uint32_t>(r, entries) : nullptr;
  out->value = jumps ? nullptr : carve<double>(r, entries);
  if (!r->memory || out->overflows) return;
  size_t first = 0, row = 0;
  for (size_t c = 0; c < classes; c++) {
    if (!wanted[c]) continue;
    const tg_ci_target* t = &targets[c];
    const size_t all = t->link_count * ((size_t)strings->classes[c].count + 1);
    const size_t here = entries_of(t);
    begin.resize(all);
    for (size_t e = 0; e < all; e++) begin[e] = t->begin[e] + (uint32_t)first;
    put(r, out->begin + row, begin.data(), all);
    put(r, out->from + first, t->from, here);
    if (jumps)
      put(r, out->code + first, t->code, here);
    else
      put(r, out->value + first, t->value, here);
    row += all;
    first += here;
  }
}

/* Links of A without their entries, which tg_ci_steps has. */
static void place_steps_links(room* r, const tg_ci_jumps* jumps, tg_fly_links* out) {
  std::vector<uint32_t> of(1, 0);
  std::vector<tg_fly_link> links;
  for (size_t c = 0; c < jumps->class_count; c++) {
    const tg_ci_target* t = &jumps->targets[c];
    for (size_t l = 0; l < t->link_count; l++) {
      tg_fly_link link = {t->links[l].source, t->links[l].channel, 0};
      links.push_back(link);
    }
    of.push_back((uint32_t)links.size());
  }
  out->of = place(r, of.data(), of.size());
  out->link = place(r, links.data(), links.size());
}

static size_t class_pairs(const tg_ci_space* space) {
  return space->strings[0].class_count * space->strings[1].class_count;
}

static void place_space(room* r, const tg_ci_space* space, tg_fly_view* v) {
  std::vector<tg_fly_block> blocks;
  std::vector<uint32_t> at(class_pairs(space), 0);
  v->classes_b = (uint32_t)space->strings[1].class_count;
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* b = &space->blocks[n];
    tg_fly_block block = {b->a,
                          b->b,
                          (uint32_t)b->rows,
                          (uint32_t)b->columns,
                          (uint32_t)space->strings[0].classes[b->a].begin,
                          (uint32_t)space->strings[1].classes[b->b].begin,
                          b->offset};
    blocks.push_back(block);
    at[b->a * v->classes_b + b->b] = (uint32_t)blocks.size();
  }
  v->block_count = (uint32_t)blocks.size();
  v->blocks = place(r, blocks.data(), blocks.size());
  v->block_at = place(r, at.data(), at.size());
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* s = &space->strings[t];
    v->particles[t] = (uint32_t)s->particles;
    v->orbitals[t] = (uint32_t)s->orbitals;
    v->string_count[t] = (uint32_t)s->count;
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

/* No larger than a vector, or small anyway: sums are made again and again otherwise. */
static size_t field_sum_count(const tg_ci_fly* f) {
  const size_t count = f->fields[0].rows * f->space->strings[1].count, small = 8 << 20;
  return count <= std::max<size_t>((size_t)f->space->dimension, small) && f->fields[0].rows < 65536
             ? count
             : 0;
}

/* What is made for the device on the host. */
typedef struct sources {
  tg_fly_work work;
  bool twins; /* strips[1] are those of A, and not made again */
  tg_ci_sheets sheets;
  tg_ci_steps steps;
  tg_ci_sheet_pairs pairs;
  tg_ci_strips strips[2];
} sources;

static void free_sources(sources* s) {
  tg_ci_sheets_free(&s->sheets);
  tg_ci_steps_free(&s->steps);
  tg_ci_sheet_pairs_free(&s->pairs);
  for (int t = 0; t < 2; t++) tg_ci_strips_free(&s->strips[t]);
}

static void place_large(room* r, const sources* s, tg_fly_view* v) {
  v->sheets = s->sheets;
  v->steps = s->steps;
  v->sheet_pairs = s->pairs;
  move(r, &v->sheets.tiles, s->sheets.tiles, s->sheets.tile_count);
  move(r, &v->sheets.sheets, s->sheets.sheets, s->sheets.sheet_count);
  move(r, &v->sheets.chunks, s->sheets.chunks, s->sheets.chunk_count);
  move(r, &v->sheets.units, s->sheets.units, s->sheets.unit_count);
  move(r, &v->sheets.masks, s->sheets.masks, s->sheets.unit_count * TG_CI_SHEET_LANES);
  move(r, &v->sheets.first, s->sheets.first, s->sheets.unit_count * TG_CI_SHEET_LANES);
  move(r, &v->sheets.group_begin, s->sheets.group_begin, s->sheets.group_count + 1);
  move(r, &v->sheets.words, s->sheets.words, s->sheets.word_count);
  move(r, &v->sheets.operators, s->sheets.operators, s->sheets.operator_count);
  move(r, &v->steps.base, s->steps.base, s->steps.class_count);
  move(r, &v->steps.begin, s->steps.begin, s->steps.begin_count);
  move(r, &v->steps.from, s->steps.from, s->steps.count);
  move(r, &v->steps.code, s->steps.code, s->steps.count);
  move(r, &v->steps.row, s->steps.row, s->steps.count);
  move(r, &v->sheet_pairs.begin, s->pairs.begin, v->block_count + 1);
  move(r, &v->sheet_pairs.pairs, s->pairs.pairs, s->pairs.count);
  for (int t = 0; t < 2; t++) {
    const tg_ci_strips* from = &s->strips[t];
    if (t == 1 && s->twins) {
      v->strips[t] = v->strips[0];
      break;
    }
    v->strips[t] = *from;
    move(r, &v->strips[t].link_begin, from->link_begin, from->class_count + 1);
    move(r, &v->strips[t].links, from->links, from->link_count);
    move(r, &v->strips[t].begin, from->begin, from->begin_count + 1);
    move(r, &v->strips[t].tiles, from->tiles, from->tile_count);
    move(r, &v->strips[t].values, from->values, from->value_count);
  }
}

static void place_work(room* r, const tg_fly_work* work, const tg_ci_sheets* sheets,
                       tg_fly_view* v) {
  v->piece_count = work->pieces.size();
  v->pieces = place(r, work->pieces.data(), work->pieces.size());
  for (int size = 0; size < TG_FLY_SIZES; size++) {
    v->row_count[size] = work->rows[size].size();
    v->rows[size] = place(r, work->rows[size].data(), work->rows[size].size());
    v->columns[size] = 0;
    for (const tg_fly_row& row : work->rows[size])
      v->columns[size] = std::max(v->columns[size], sheets->tiles[row.tile].count);
  }
  for (int t = 0; t < 2; t++) {
    v->strip_count[t] = work->strips[t].size();
    v->strip_list[t] = place(r, work->strips[t].data(), work->strips[t].size());
  }
  v->own_strips = work->own_strips;
}

static void place_all(room* r, const tg_ci_fly* f, const sources* s, tg_fly_view* v) {
  place_space(r, f->space, v);
  place_elements(r, f, v);
  v->field_rows = (uint32_t)f->fields[0].rows;
  const size_t sums = field_sum_count(f);
  double* at = carve<double>(r, sums);
  v->field_sums = sums ? at : nullptr;
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* strings = &f->space->strings[t];
    const bool* small = s->work.small_class[t].get();
    place_links(r, f->jumps[t].targets, strings, small, true, &v->jumps[t]);
    place_links(r, f->alone[t].targets, strings, small, false, &v->alone[t]);
  }
  place_steps_links(r, &f->jumps[0], &v->steps_links);
  place_large(r, s, v);
  place_work(r, &s->work, &s->sheets, v);
}

/* Links of one species that small blocks need, as place_links has them. */
static uint64_t links_bytes(const tg_ci_target* targets, const tg_ci_strings* strings,
                            const bool* wanted, size_t entry) {
  uint64_t bytes = 0;
  for (size_t c = 0; c < strings->class_count; c++)
    if (wanted[c])
      bytes += entries_of(&targets[c]) * entry +
               targets[c].link_count *
                   (sizeof(tg_fly_link) + (strings->classes[c].count + 1) * sizeof(uint32_t));
  return bytes;
}

/* Blocks, and what is listed for each. */
static uint64_t block_bytes(const tg_ci_fly* f, const tg_fly_work* work) {
  uint64_t bytes = class_pairs(f->space) * sizeof(uint32_t);
  for (size_t n = 0; n < f->space->block_count; n++) {
    const tg_ci_block* b = &f->space->blocks[n];
    const tg_ci_target *ta = &f->jumps[0].targets[b->a], *tb = &f->jumps[1].targets[b->b];
    const uint64_t states = (uint64_t)b->rows * b->columns;
    bytes += sizeof(tg_fly_block) + sizeof(uint32_t);
    if (!work->large[n]) {
      bytes += (states * work->lanes[n] / TG_FLY_PIECE + 2) * sizeof(tg_fly_piece);
      continue;
    }
    bytes += (b->columns / TG_CI_TILE_MOST + 1) * b->rows * sizeof(tg_fly_row);
    for (int t = 0; t < 2; t++) {
      const uint64_t lanes = t ? b->rows : b->columns, targets = t ? b->columns : b->rows;
      const uint32_t panels = tg_fly_strip_panels(TG_CI_STRIP_LOW); /* or more */
      bytes += (lanes / TG_FLY_STRIP_LANES + 1) * (targets / (TG_CI_PANEL * panels) + 1) *
               sizeof(tg_fly_strip);
    }
    for (size_t l = 0; l < tb->link_count; l++) {
      size_t first;
      const size_t count = tg_ci_links_of(ta, tb->links[l].channel, &first) + 1;
      const size_t parts = tb->links[l].operator_count / TG_CI_SHEET_OPERATORS + 1;
      bytes += count * parts * sizeof(tg_ci_sheet_pair);
    }
  }
  return bytes;
}

uint64_t tg_ci_device_fly_bytes(const tg_ci_fly* f) {
  tg_fly_work work;
  tg_fly_work_sort(f, true, &work);
  uint64_t bytes = (uint64_t)1 << 20; /* for the ends of arrays, and the lists of a small machine */
  bytes += tg_ci_sheets_bytes(f) + block_bytes(f, &work) + field_sum_count(f) * sizeof(double);
  bytes += f->jumps[0].count * 3 * sizeof(uint32_t);
  for (size_t c = 0; c < f->jumps[0].class_count; c++)
    bytes += (f->jumps[0].targets[c].link_count + 1) * (f->space->strings[0].classes[c].count + 1) *
             sizeof(uint32_t);
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* s = &f->space->strings[t];
    const bool* small = work.small_class[t].get();
    bytes += links_bytes(f->jumps[t].targets, s, small, 2 * sizeof(uint32_t)) +
             links_bytes(f->alone[t].targets, s, small, sizeof(uint32_t) + sizeof(double)) +
             tg_ci_strips_bytes(f, t) +
             s->count * (sizeof(double) + (size_t)s->particles * sizeof(uint16_t)) +
             f->fields[t].rows * f->fields[t].stride * sizeof(double);
  }
  const tg_ci_jumps *ja = &f->jumps[0], *jb = &f->jumps[1];
  for (size_t c = 0; c < ja->channel_count; c++)
    bytes += (ja->channel_begin[c + 1] - ja->channel_begin[c] + 1) *
             (jb->channel_begin[c + 1] - jb->channel_begin[c] + 1) * sizeof(double);
  return bytes + f->orbitals[0] * f->orbitals[1] * sizeof(double);
}

/* Whether the strips of both species are the same. */
static bool same_strips(const tg_ci_fly* from, const tg_fly_work* work) {
  const bool *a = work->large_class[0].get(), *b = work->large_class[1].get();
  return from->twins && std::equal(a, a + from->space->strings[0].class_count, b);
}

static tg_status make_sources(const tg_ci_fly* from, const tg_ci_device_rows* rows,
                              int multiprocessors, bool tiles, sources* s) {
  tg_fly_work* work = &s->work;
  const int threads = tg_ci_sheet_threads();
  tg_fly_work_sort(from, tiles, work);
  TG_TRY(tg_ci_sheets_make(from, work->large_class[1].get(), threads, &s->sheets));
  TG_TRY(tg_ci_steps_make(from, work->large_class[0].get(), &s->steps));
  TG_TRY(tg_ci_sheet_pairs_make(from, &s->sheets, work->large.get(), &s->pairs));
  s->twins = same_strips(from, work);
  for (int t = 0; t < (s->twins ? 1 : 2); t++)
    TG_TRY(tg_ci_strips_make(from, t, work->large_class[t].get(), threads, &s->strips[t]));
  const uint32_t heights[2] = {s->strips[0].height, s->strips[s->twins ? 0 : 1].height};
  tg_fly_work_list(from, rows, &s->sheets, heights, multiprocessors, work);
  return TG_OK;
}

static tg_status upload(tg_ci_device_fly* fly, const tg_ci_fly* from, const sources* s) {
  room r = {};
  tg_fly_view* v = &fly->view;
  place_all(&r, from, s, v);
  for (int t = 0; t < 2; t++)
    if (v->jumps[t].overflows || v->alone[t].overflows)
      return tg_fail(TG_ERR_MACHINE,
                     "GPU %d: more than %u connections of strings of one species; truncate the "
                     "space, or use the backend omp",
                     fly->device, UINT32_MAX);
  TG_TRY(tg_cuda_status(cudaMalloc(&fly->memory, r.used), fly->device,
                        "allocating the tables of the Hamiltonian"));
  r.memory = (char*)fly->memory;
  r.used = 0;
  r.stream = fly->stream;
  place_all(&r, from, s, v);
  return tg_cuda_status(r.error, fly->device, "copying the tables of the Hamiltonian");
}

tg_status tg_fly_tables_make(tg_ci_device_fly* fly, const tg_ci_fly* from,
                             const tg_ci_device_rows* rows) {
  int multiprocessors = 0, most = 0;
  TG_TRY(tg_cuda_status(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, fly->device),
      fly->device, "asking for its size"));
  TG_TRY(tg_cuda_status(
      cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, fly->device),
      fly->device, "asking for its size"));
  sources s = {};
  const bool tiles = (size_t)most >= tg_fly_alone_shared() && (size_t)most >= tg_fly_cross_shared();
  tg_status status = make_sources(from, rows, multiprocessors, tiles, &s);
  fly->beside = s.work.beside;
  if (status == TG_OK) status = upload(fly, from, &s);
  free_sources(&s);
  return status;
}
