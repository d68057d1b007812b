/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/omp/run.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"

static int this_thread(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

size_t tg_omp_items(const tg_pairs* pairs, size_t block) {
  return pairs->tile_count > 0 ? pairs->tile_count : (pairs->rows.count + block - 1) / block;
}

/* What a thread needs of the rows of its block. */
typedef struct workspace {
  uint64_t* sets;
  uint16_t* lists;
} workspace;

static size_t set_words(const tg_pairs* pairs) { return (pairs->rows.orbitals + 63) / 64; }

static tg_status make_workspace(const tg_omp_job* job, size_t block, workspace* w) {
  const tg_pairs* pairs = job->pairs;
  if (job->method == TG_OMP_WORD64)
    return TG_ALLOCATE(block * set_words(pairs), "sets of rows", &w->sets);
  if (job->method == TG_OMP_ARRAY)
    return TG_ALLOCATE(block * pairs->rows.particles, "lists of rows", &w->lists);
  return TG_OK;
}

static void load_rows(const tg_omp_job* job, size_t row, size_t count, const workspace* w) {
  const tg_states* rows = &job->pairs->rows;
  const size_t words = set_words(job->pairs), n = rows->particles;
  if (w->sets) memset(w->sets, 0, count * words * sizeof *w->sets);
  if (!w->sets && !w->lists) return;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < n; k++) {
      const uint16_t orbital = rows->orbital[k * rows->stride + row + i];
      if (w->sets) w->sets[i * words + orbital / 64] |= 1ULL << orbital % 64;
      if (w->lists) w->lists[i * n + k] = orbital;
    }
}

/* One block against one run of columns; with once, without the groups below the diagonal. */
static void filter_columns(const tg_omp_job* job, tg_omp_block* what, size_t begin, size_t end) {
  const tg_pairs* pairs = job->pairs;
  if (pairs->once) {
    const uint64_t first = pairs->first_row + what->row + 1; /* global number of the first column */
    if (first > pairs->first_column + begin) {
      const uint64_t skip = first - pairs->first_column;
      begin = skip > end ? end : (size_t)skip;
    }
  }
  what->column_begin = begin;
  what->column_end = end;
  const bool one_word = job->method == TG_OMP_BITS_LEAD2 && pairs->rows.words < 2;
  job->kernels->block[one_word ? TG_OMP_BITS_LEAD1 : job->method][job->sink](what);
}

static void do_item(const tg_omp_job* job, size_t item, size_t block, const workspace* w) {
  const tg_pairs* pairs = job->pairs;
  const bool tiles = pairs->tile_count > 0;
  const size_t begin = tiles ? pairs->tile_rows[item] : item * block;
  size_t end = tiles ? pairs->tile_rows[item + 1] : begin + block;
  if (end > pairs->rows.count) end = pairs->rows.count;
  tg_omp_block what = {
      .pairs = pairs,
      .sets = w->sets,
      .set_words = set_words(pairs),
      .lists = w->lists,
      .found = job->found,
      .offsets = job->offsets,
      .hits = job->hits,
      .visit = job->visit,
      .context = job->context ? job->context(job->owner, item, this_thread()) : NULL};
  for (size_t row = begin; row < end; row += block) {
    what.row = row;
    what.row_count = end - row < block ? end - row : block;
    load_rows(job, row, what.row_count, w);
    if (!tiles) {
      filter_columns(job, &what, 0, pairs->columns.count);
      continue;
    }
    for (uint32_t s = pairs->tile_spans[item]; s < pairs->tile_spans[item + 1]; s++)
      filter_columns(job, &what, pairs->spans[2 * (size_t)s], pairs->spans[2 * (size_t)s + 1]);
  }
}

/* Large enough to use each group of columns often, small enough to give every thread several. */
static size_t choose_block(const tg_pairs* pairs) {
  const size_t share = pairs->rows.count / (4 * (size_t)pairs->threads) + 1;
  return share < TG_OMP_BLOCK ? share : TG_OMP_BLOCK;
}

tg_status tg_omp_run(const tg_omp_job* job) {
  const tg_pairs* pairs = job->pairs;
  const size_t block = job->block > 0 ? job->block : choose_block(pairs);
  const size_t items = tg_omp_items(pairs, block);
  const int threads = pairs->threads;
  int failed = 0;
  (void)threads;
  if (job->found != NULL && pairs->rows.count > 0)
    memset(job->found, 0, pairs->rows.count * sizeof *job->found);
#pragma omp parallel num_threads(threads) default(none) shared(job, block, items, failed)
  {
    workspace w = {0};
    if (make_workspace(job, block, &w) != TG_OK) {
#pragma omp atomic write
      failed = 1;
    }
#pragma omp barrier
#pragma omp for schedule(dynamic, 1)
    for (size_t item = 0; item < items; item++)
      if (!failed) do_item(job, item, block, &w);
    TG_FREE(w.sets);
    TG_FREE(w.lists);
  }
  if (failed) return tg_fail(TG_ERR_MACHINE, "no memory for a block of %zu rows", block);
  return TG_OK;
}

const char* tg_omp_refuse(const tg_pairs* pairs, tg_omp_method method) {
  if (method == TG_OMP_WORD64) return tg_pairs_need_word64(pairs);
  if (method != TG_OMP_ARRAY) return tg_pairs_need_bits(pairs);
  if (pairs && pairs->rows.particles > INT16_MAX) return "more than 32,767 particles";
  return tg_pairs_need_array(pairs);
}
