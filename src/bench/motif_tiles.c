/* SPDX-License-Identifier: Apache-2.0 */
/* What is gained by tiles that are skipped: the same states in the order of their tiles, counted
 * with the tiles' spans and without. */
#include <string.h>

#include "base/memory.h"
#include "bench/motif_figures.h"

static tg_status gather(tg_states* states, const tg_tiling* tiling) {
  tg_states sorted;
  TG_TRY(tg_states_gather(states, tiling->order, states->count, &sorted));
  tg_states_free(states);
  *states = sorted;
  return TG_OK;
}

static tg_status make_tiles(tg_motif_case* c) {
  tg_tiling rows = {0}, columns = {0};
  tg_status status = tg_tiling_make(&c->rows, TG_TILES_GROUPS, TG_TILES_SIZE, &rows);
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
  c->whole = true; /* the first tiles stand for nothing */
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
