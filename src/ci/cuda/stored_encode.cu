/* SPDX-License-Identifier: Apache-2.0 */
/* Between counting and filling: offsets of the slices, and room for the matrix. */
#include "ci/cuda/stored_encode.cuh"

#include <string.h>

#include <algorithm>

extern "C" {
#include "motif/scan.h"
}

/* Rows are sorted by length where slices would otherwise be longer than their rows by this. */
static const double WORTH_SORTING = 0.15;

enum { WINDOW = 1024 /* rows that are put in order of their lengths */ };

/* Quads of each slice: as many as its longest row needs. */
static __global__ void slice_widths(stored_matrix m, const uint32_t* length, uint32_t* quads) {
  const uint64_t place = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t most = 0;
  if (place < m.rows) most = length[m.row_of ? m.row_of[place] : place];
  most = __reduce_max_sync(0xffffffffu, most);
  if (place % STORED_LANES == 0 && place / STORED_LANES < m.slices)
    quads[place / STORED_LANES] = (most + 3) / 4;
}

/* Rows of a window by falling length, equal ones by number. */
static __global__ void __launch_bounds__(WINDOW)
    order_windows(uint64_t rows, const uint32_t* words, const uint32_t* steps, uint32_t* row_of) {
  __shared__ uint32_t length[WINDOW];
  const uint64_t row = (uint64_t)blockIdx.x * WINDOW + threadIdx.x;
  /* a valued element is three times a word; no row has as many as this could overflow */
  const uint32_t mine = row < rows ? words[row] + 3 * steps[row] : 0;
  length[threadIdx.x] = mine;
  __syncthreads();
  if (row >= rows) return;
  const uint64_t rest = rows - (uint64_t)blockIdx.x * WINDOW;
  const uint32_t count = rest < WINDOW ? (uint32_t)rest : WINDOW;
  uint32_t rank = 0;
  for (uint32_t k = 0; k < count; k++)
    rank += length[k] > mine || (length[k] == mine && k < threadIdx.x);
  row_of[(uint64_t)blockIdx.x * WINDOW + rank] = (uint32_t)row;
}

encode_rules encode_rules_of(const tg_ci_device_stored* s) {
  encode_rules r;
  memset(&r, 0, sizeof r);
  r.shift = s->m.shift;
  r.most_word = (int32_t)((UINT32_C(1) << (31 - s->m.shift)) - 1);
  r.most_step = s->m.wide ? INT32_MAX : INT16_MAX;
  r.half = s->half;
  r.floats = s->m.floats;
  r.wide = s->m.wide;
  return r;
}

/* The scan that reads and writes each number once. */
static tg_status find_scan(const tg_scan_version** out) {
  for (const tg_scan_version* v = tg_motif_table_cuda.scans; v->name; v++)
    if (strcmp(v->name, "single_pass") == 0 && v->offsets && (!v->refuses || !v->refuses())) {
      *out = v;
      return TG_OK;
    }
  return tg_fail(TG_ERR_MACHINE, "no scan for offsets of a stored matrix runs on this GPU");
}

/* Scratch of making, not counted as the object's. */
static tg_status scratch(const tg_ci_device_stored* s, size_t bytes, const char* what, void** out) {
  *out = NULL;
  return tg_cuda_status(cudaMalloc(out, std::max<size_t>(bytes, 1)), s->device, what);
}

tg_status encode_begin(const tg_ci_device_stored* s, encode_work* w) {
  const size_t rows = (size_t)s->m.rows, slices = (size_t)s->m.slices;
  static const char what[] = "memory for counts of matrix elements";
  TG_TRY(find_scan(&w->scan));
  TG_TRY(scratch(s, rows * sizeof *w->words, what, (void**)&w->words));
  TG_TRY(scratch(s, rows * sizeof *w->steps, what, (void**)&w->steps));
  TG_TRY(scratch(s, slices * sizeof *w->quads, what, (void**)&w->quads));
  TG_TRY(scratch(s, sizeof *w->tally, what, (void**)&w->tally));
  TG_TRY(scratch(s, w->scan->scratch ? w->scan->scratch(slices, sizeof(uint64_t)) : 0, what,
                 &w->scratch));
  return tg_cuda_status(cudaMemset(w->tally, 0, sizeof *w->tally), s->device, what);
}

void encode_end(encode_work* w) {
  cudaFree(w->words);
  cudaFree(w->steps);
  cudaFree(w->quads);
  cudaFree(w->row_of);
  cudaFree(w->tally);
  cudaFree(w->scratch);
  memset(w, 0, sizeof *w);
}

/* Widths and offsets of one kind, with the order of rows as it is. */
static tg_status offsets_of(const tg_ci_device_stored* s, const stored_matrix* m, encode_work* w,
                            const uint32_t* length, const stored_stream* stream, uint64_t* total) {
  const size_t slices = (size_t)m->slices;
  enum { THREADS = 256 };
  slice_widths<<<(unsigned)((slices * STORED_LANES + THREADS - 1) / THREADS), THREADS>>>(*m, length,
                                                                                         w->quads);
  TG_TRY(stored_queued(s, "widths of slices"));
  TG_TRY(w->scan->offsets(slices, w->quads, stream->at, w->scratch, 1));
  return tg_cuda_status(
      cudaMemcpy(total, stream->at + slices, sizeof *total, cudaMemcpyDeviceToHost), s->device,
      "offsets of slices");
}

static tg_status check_fits(const tg_ci_device_stored* s, uint64_t bytes) {
  size_t free_bytes, all;
  TG_TRY(tg_cuda_status(cudaMemGetInfo(&free_bytes, &all), s->device, "asking for free memory"));
  if (bytes <= free_bytes) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "GPU %d: the stored matrix needs %.3g GB more, and %.3g GB are free; use --storage "
      "fly, or more GPUs",
      s->device, 1e-9 * (double)bytes, 1e-9 * (double)free_bytes);
}

tg_status encode_place(tg_ci_device_stored* s, stored_matrix* m, encode_work* w) {
  const size_t slices = (size_t)m->slices;
  uint64_t quads, groups;
  stored_tally tally;
  TG_TRY(tg_cuda_status(cudaMemcpy(&tally, w->tally, sizeof tally, cudaMemcpyDeviceToHost),
                        s->device, "counting matrix elements"));
  TG_TRY(STORED_ALLOCATE(s, slices + 1, "offsets of slices", &m->word.at));
  TG_TRY(STORED_ALLOCATE(s, slices + 1, "offsets of slices", &m->step.at));
  TG_TRY(offsets_of(s, m, w, w->words, &m->word, &quads));
  TG_TRY(offsets_of(s, m, w, w->steps, &m->step, &groups));
  const double word_bytes = 4, step_bytes = (m->wide ? 4 : 2) + (m->floats ? 4 : 8);
  const double needed = word_bytes * (double)tally.words + step_bytes * (double)tally.steps;
  const double placed = 128 * (word_bytes * (double)quads + step_bytes * (double)groups);
  if (placed > (1 + WORTH_SORTING) * needed) {
    uint32_t* row_of = NULL;
    TG_TRY(STORED_ALLOCATE(s, m->rows, "order of rows", &row_of));
    order_windows<<<(unsigned)((m->rows + WINDOW - 1) / WINDOW), WINDOW>>>(m->rows, w->words,
                                                                           w->steps, row_of);
    m->row_of = row_of;
    TG_TRY(stored_queued(s, "ordering rows"));
    TG_TRY(offsets_of(s, m, w, w->words, &m->word, &quads));
    TG_TRY(offsets_of(s, m, w, w->steps, &m->step, &groups));
  }
  const size_t starts = slices * (size_t)m->parts * STORED_LANES;
  const uint64_t bytes = 512 * quads + groups * 128 * (uint64_t)step_bytes + 8 * starts;
  TG_TRY(check_fits(s, bytes));
  s->facts.padding += 128 * (quads + groups) - tally.coded - tally.valued;
  s->facts.product_bytes += bytes;
  TG_TRY(STORED_ALLOCATE(s, starts, "first columns", &m->word.start));
  TG_TRY(STORED_ALLOCATE(s, starts, "first columns", &m->step.start));
  TG_TRY(STORED_ALLOCATE(s, quads * STORED_LANES, "stored matrix", &m->words));
  TG_TRY(stored_allocate(s, groups * 128 * (m->wide ? 4 : 2), "stored matrix", &m->steps));
  return stored_allocate(s, groups * 128 * (m->floats ? 4 : 8), "stored matrix", &m->amount);
}

static double of_bits(unsigned long long bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

tg_status encode_note(tg_ci_device_stored* s, const encode_work* w) {
  stored_tally tally;
  TG_TRY(tg_cuda_status(cudaMemcpy(&tally, w->tally, sizeof tally, cudaMemcpyDeviceToHost),
                        s->device, "filling the matrix"));
  s->facts.elements += tally.coded + tally.valued;
  s->facts.coded += tally.coded;
  s->facts.norm += of_bits(tally.norm);
  s->facts.rounding += of_bits(tally.rounding);
  return TG_OK;
}
