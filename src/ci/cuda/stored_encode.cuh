/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/cuda/stored_encode.cuh  Counting and filling the rows of a stored matrix, whatever
 * finds their elements.
 *
 * A SOURCE has walk(state, sink): all elements of the row in its columns `kept` but the diagonal,
 * each once, always in the same order. It is walked twice, by a thread for each row: to count, and
 * to fill. */
#ifndef TG_CI_CUDA_STORED_ENCODE_CUH
#define TG_CI_CUDA_STORED_ENCODE_CUH

#include "ci/cuda/stored.cuh"

extern "C" {
#include "motif/backends.h" /* tables by name would load the modules of other models */
}

enum { ENCODE_THREADS = 128 };

/** Places that a step of so many columns takes: one, and one for each time it is too long. */
static __device__ __forceinline__ uint32_t places_of(int32_t step, int32_t most) {
  const uint32_t length = step < 0 ? 0u - (uint32_t)step : (uint32_t)step;
  return length ? (length - 1) / (uint32_t)most + 1 : 1;
}

typedef struct encode_rules {
  int32_t most_word, most_step; /* longest steps */
  int shift;
  bool half, floats, wide;
} encode_rules;

/** Counts. */
struct count_sink {
  encode_rules rules;
  int32_t row, word_column, step_column;
  uint32_t words, steps, coded_count, valued_count;

  __device__ __forceinline__ void coded(int32_t column, uint32_t) {
    if (rules.half && column < row) return;
    words += places_of(column - word_column, rules.most_word);
    word_column = column;
    coded_count++;
  }
  __device__ __forceinline__ void valued(int32_t column, double value) {
    if (value == 0 || (rules.half && column < row)) return;
    steps += places_of(column - step_column, rules.most_step);
    step_column = column;
    valued_count++;
  }
};

/** Where a lane writes its places of one kind, part after part. */
struct part_cursor {
  int32_t* start; /* of the lane, in the slice's first part */
  uint32_t place, part_length, next_part;
  int32_t column;

  __device__ __forceinline__ void begin_place() {
    if (place != next_part) return;
    *start = column;
    start += STORED_LANES;
    next_part += part_length;
  }
};

/** Fills. */
struct fill_sink {
  encode_rules rules;
  const double* values;
  int32_t row;
  part_cursor word, step;
  uint4* words; /* of the lane, in the slice's first quad */
  uint4 pending;
  char *steps, *amounts; /* of the slice */
  uint32_t lane;
  double norm, rounding;

  __device__ __forceinline__ void put_word(uint32_t w) {
    word.begin_place();
    pending = make_uint4(pending.y, pending.z, pending.w, w);
    if ((word.place & 3) == 3) words[(size_t)(word.place >> 2) * STORED_LANES] = pending;
    word.place++;
  }
  __device__ __forceinline__ void put_step(int32_t by, double value) {
    step.begin_place();
    const size_t group = step.place >> 2, in = step.place & 3;
    const size_t at = (group * STORED_LANES + lane) * 4 + in;
    if (rules.wide)
      ((int32_t*)steps)[at] = by;
    else
      ((int16_t*)steps)[at] = (int16_t)by;
    if (rules.floats)
      ((float*)amounts)[at] = (float)value;
    else
      ((double*)amounts)[((group * 2 + (in >> 1)) * STORED_LANES + lane) * 2 + (in & 1)] = value;
    step.place++;
  }
  __device__ __forceinline__ void coded(int32_t column, uint32_t w) {
    norm += values[w >> 1];
    if (rules.half && column < row) return;
    int32_t by = column - word.column;
    for (; by > rules.most_word; by -= rules.most_word) {
      put_word((uint32_t)rules.most_word << rules.shift);
      word.column += rules.most_word;
    }
    for (; by < -rules.most_word; by += rules.most_word) {
      put_word((uint32_t)-rules.most_word << rules.shift);
      word.column -= rules.most_word;
    }
    put_word((uint32_t)by << rules.shift | w);
    word.column = column;
  }
  __device__ __forceinline__ void valued(int32_t column, double value) {
    if (value == 0) return;
    norm += fabs(value);
    if (rules.floats) rounding += fabs(value - (double)(float)value);
    if (rules.half && column < row) return;
    int32_t by = column - step.column;
    for (; by > rules.most_step; by -= rules.most_step) {
      put_step(rules.most_step, 0);
      step.column += rules.most_step;
    }
    for (; by < -rules.most_step; by += rules.most_step) {
      put_step(-rules.most_step, 0);
      step.column -= rules.most_step;
    }
    put_step(by, value);
    step.column = column;
  }
};

template <class SOURCE>
static __global__ void __launch_bounds__(ENCODE_THREADS)
    count_rows(SOURCE source, stored_matrix m, encode_rules rules, uint32_t* words, uint32_t* steps,
               stored_tally* tally) {
  const uint64_t row = (uint64_t)blockIdx.x * ENCODE_THREADS + threadIdx.x;
  count_sink sink = {};
  sink.rules = rules;
  sink.row = sink.word_column = sink.step_column = (int32_t)(m.first + row);
  if (row < m.rows) {
    source.walk(m.first + row, &sink);
    words[row] = sink.words;
    steps[row] = sink.steps;
  }
  __shared__ unsigned long long sums[4]; /* whole numbers: any order gives the same */
  if (threadIdx.x < 4) sums[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&sums[0], (unsigned long long)sink.coded_count);
  atomicAdd(&sums[1], (unsigned long long)sink.valued_count);
  atomicAdd(&sums[2], (unsigned long long)sink.words);
  atomicAdd(&sums[3], (unsigned long long)sink.steps);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&tally->coded, sums[0]);
    atomicAdd(&tally->valued, sums[1]);
    atomicAdd(&tally->words, sums[2]);
    atomicAdd(&tally->steps, sums[3]);
  }
}

template <class SOURCE>
static __global__ void __launch_bounds__(ENCODE_THREADS)
    fill_rows(SOURCE source, stored_matrix m, encode_rules rules, stored_tally* tally) {
  const uint64_t place = (uint64_t)blockIdx.x * ENCODE_THREADS + threadIdx.x;
  const uint64_t slice = place / STORED_LANES;
  const uint32_t lane = threadIdx.x % STORED_LANES;
  if (slice >= m.slices) return;
  const bool none = place >= m.rows; /* the last slice's rest */
  const uint64_t row = none ? m.rows - 1 : m.row_of ? m.row_of[place] : place;
  const size_t start = (size_t)slice * m.parts * STORED_LANES + lane;
  const uint32_t quads = (uint32_t)(m.word.at[slice + 1] - m.word.at[slice]);
  const uint32_t groups = (uint32_t)(m.step.at[slice + 1] - m.step.at[slice]);
  const uint32_t parts = (uint32_t)m.parts;
  fill_sink sink = {};
  sink.rules = rules;
  sink.values = m.values;
  sink.row = (int32_t)(m.first + row);
  sink.word.start = m.word.start + start;
  sink.word.part_length = 4 * ((quads + parts - 1) / parts);
  sink.step.start = m.step.start + start;
  sink.step.part_length = 4 * ((groups + parts - 1) / parts);
  sink.word.column = sink.step.column = sink.row;
  sink.words = m.words + m.word.at[slice] * STORED_LANES + lane;
  sink.steps = (char*)m.steps + m.step.at[slice] * 128 * (m.wide ? 4 : 2);
  sink.amounts = (char*)m.amount + m.step.at[slice] * 128 * (m.floats ? 4 : 8);
  sink.lane = lane;
  if (!none) source.walk(m.first + row, &sink);
  while (sink.word.place < 4 * quads) sink.put_word(0);
  while (sink.step.place < 4 * groups) sink.put_step(0, 0);
  if (none) return;
  /* of numbers that are not negative, the bits are in the order of the numbers */
  atomicMax(&tally->norm, (unsigned long long)__double_as_longlong(sink.norm));
  if (rules.floats)
    atomicMax(&tally->rounding, (unsigned long long)__double_as_longlong(sink.rounding));
}

/** What building needs besides the matrix itself. */
typedef struct encode_work {
  uint32_t *words, *steps; /* [rows] places */
  uint32_t* quads;         /* [slices] */
  uint32_t* row_of;        /* [rows] */
  void* scratch;           /* of the scan */
  stored_tally* tally;
  const tg_scan_version* scan;
} encode_work;

tg_status encode_begin(const tg_ci_device_stored* s, encode_work* w);
void encode_end(encode_work* w);
/** After counting: widths, offsets, and room for the matrix, which is one of s. */
tg_status encode_place(tg_ci_device_stored* s, stored_matrix* m, encode_work* w);
/** After filling: what was made is in the facts, too. */
tg_status encode_note(tg_ci_device_stored* s, const encode_work* w);
encode_rules encode_rules_of(const tg_ci_device_stored* s);

/** Counts and fills one matrix of s. Its kinds, rows, slices and parts are set; the values, too. */
template <class SOURCE>
static tg_status encode_one(tg_ci_device_stored* s, stored_matrix* m, const SOURCE& source) {
  tg_status status = TG_OK;
  encode_work w = {};
  const unsigned blocks =
      (unsigned)((m->slices * STORED_LANES + ENCODE_THREADS - 1) / ENCODE_THREADS);
  TG_TRY_GOTO(encode_begin(s, &w), done);
  count_rows<<<blocks, ENCODE_THREADS>>>(source, *m, encode_rules_of(s), w.words, w.steps, w.tally);
  TG_TRY_GOTO(stored_queued(s, "counting matrix elements"), done);
  TG_TRY_GOTO(encode_place(s, m, &w), done);
  fill_rows<<<blocks, ENCODE_THREADS>>>(source, *m, encode_rules_of(s), w.tally);
  TG_TRY_GOTO(stored_queued(s, "filling the matrix"), done);
  status = encode_note(s, &w);
done:
  encode_end(&w);
  return status;
}

/** All of s. The kinds of m, its rows, slices and parts are set; values and diagonal, too. */
template <class SOURCE>
static tg_status encode(tg_ci_device_stored* s, SOURCE source) {
  source.kept = {s->own.first, s->own.end - s->own.first, false};
  s->rest = s->m;
  s->rest.diagonal = NULL;
  TG_TRY(encode_one(s, &s->m, source));
  const uint64_t elements = s->facts.elements;
  source.kept.others = true;
  if (s->apart) TG_TRY(encode_one(s, &s->rest, source));
  s->rest_empty = s->facts.elements == elements;
  return TG_OK;
}

#endif
