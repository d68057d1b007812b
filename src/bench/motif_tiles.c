/* SPDX-License-Identifier: Apache-2.0 */
/* What is gained by tiles that are skipped: the same states in the order of their tiles, counted
 * with the tiles' spans and without. */
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "bench/motif_figures.h"

static tg_status gather(tg_states* states, const tg_tiling* tiling) {
  tg_states sorted;
  TG_TRY(tg_states_gather(states, tiling->order, states->count, &sorted));
  tg_states_free(states);
  *states = sorted;
  return TG_OK;
}

static void swap_tiles(uint32_t* places, const tg_tiling* tiling, tg_rng* rng) {
  for (uint32_t t = 0; t < tiling->tile_count; t++) places[t] = t;
  for (uint32_t t = tiling->tile_count; t > 1; t--) {
    const uint32_t other = (uint32_t)(tg_rng_bits(rng) % t), place = places[t - 1];
    places[t - 1] = places[other];
    places[other] = place;
  }
}

/* The tiles in any order, so that the first ones, which is what a run is cut to, stand for all. */
static tg_status shuffle(tg_tiling* tiling) {
  const size_t tiles = tiling->tile_count, g = (size_t)tiling->group_count;
  const size_t states = tiles > 0 ? tiling->start[tiles] : 0;
  tg_rng rng = tg_rng_stream(3, TG_RNG_TEST, tiles);
  tg_tiling to = *tiling;
  uint32_t* places = NULL;
  to.order = to.start = NULL;
  to.least = to.most = NULL;
  tg_status status = TG_ALLOCATE(tiles, "tiles", &places);
  if (status == TG_OK) status = TG_ALLOCATE(states, "states of tiles", &to.order);
  if (status == TG_OK) status = TG_ALLOCATE(tiles + 1, "tiles", &to.start);
  if (status == TG_OK) status = TG_ALLOCATE(tiles * g, "tiles", &to.least);
  if (status == TG_OK) status = TG_ALLOCATE(tiles * g, "tiles", &to.most);
  if (status == TG_OK) swap_tiles(places, tiling, &rng);
  for (size_t t = 0; t < tiles && status == TG_OK; t++) {
    const uint32_t from = places[t], begin = tiling->start[from];
    const uint32_t count = tiling->start[from + 1] - begin;
    to.start[t + 1] = to.start[t] + count;
    memcpy(to.order + to.start[t], tiling->order + begin, count * sizeof *to.order);
    memcpy(to.least + t * g, tiling->least + from * g, g);
    memcpy(to.most + t * g, tiling->most + from * g, g);
  }
  TG_FREE(places);
  if (status == TG_OK) {
    tg_tiling_free(tiling);
    *tiling = to;
  } else {
    tg_tiling_free(&to);
  }
  return status;
}

static tg_status make_tiles(tg_motif_case* c) {
  tg_tiling rows = {0}, columns = {0};
  tg_status status = tg_tiling_make(&c->rows, TG_TILES_GROUPS, TG_TILES_SIZE, &rows);
  if (status == TG_OK) status = shuffle(&rows);
  if (status == TG_OK) status = tg_tiling_make_like(&c->columns, &rows, TG_TILES_SIZE, &columns);
  if (status == TG_OK) status = tg_spans_make(&rows, &columns, c->d, &c->spans);
  if (status == TG_OK) status = gather(&c->rows, &rows);
  if (status == TG_OK) status = gather(&c->columns, &columns);
  tg_tiling_free(&rows);
  tg_tiling_free(&columns);
  return status;
}

static tg_status run_tiles(const tg_motif_figure* f, uint32_t particles, double spread, int d) {
  const tg_bench_motif_params* p = f->params;
  const size_t most = TG_MOTIF_TILE_STATES;
  tg_motif_case* c = NULL;
  TG_TRY(TG_ALLOCATE(1, "a case", &c));
  c->params = p;
  c->d = d;
  c->least_rows = 8 * TG_TILES_SIZE; /* of fewer tiles the share that is skipped says little */
  tg_status status = tg_motif_case_states(c, p->rows < most ? p->rows : most,
                                          p->columns < most ? p->columns : most, particles,
                                          p->orbitals[0], spread);
  if (status == TG_OK) status = make_tiles(c);
  if (status == TG_OK) status = tg_motif_case_open(c);
  if (status == TG_OK) {
    tg_motif_case_add(c, TG_MOTIF_COUNT, true);
    status = tg_motif_case_show(f, c, d);
  }
  tg_motif_case_close(c);
  TG_FREE(c);
  return status;
}

tg_status tg_motif_figure_tiles(const tg_motif_figure* f) {
  const int d = f->params->d;
  for (int k = d > 0 ? d : 1; k <= (d > 0 ? d : 3); k++) {
    TG_TRY(run_tiles(f, 8, TG_STATES_SPREAD, k));
    TG_TRY(run_tiles(f, 16, 20, k));
  }
  return TG_OK;
}
