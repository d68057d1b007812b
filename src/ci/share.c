/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/share.h"

#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/product_fly.h"
#include "ci/stored_part.h"

struct tg_ci_share {
  tg_world* world;
  const tg_ci_distribution* d;
  const tg_ci_fly* fly;
  bool stores;
  tg_ci_stored_part stored;
  double* diagonal; /* [rows], on the fly */
  tg_ci_exchange* exchange;
  uint64_t dimension, first, rows;
  int pe, threads, block;
  tg_ci_share_facts facts;
};

void tg_ci_share_destroy(tg_ci_share** share) {
  tg_ci_share* s = *share;
  if (!s) return;
  tg_ci_exchange_destroy(&s->exchange);
  tg_ci_stored_part_free(&s->stored);
  tg_free(s->diagonal);
  tg_free(s);
  *share = NULL;
}

/* Local: what this PE's rows take. */
static tg_status make_rows(tg_ci_share* s) {
  if (s->stores) {
    TG_TRY(tg_ci_stored_part_make(s->fly, s->d, s->pe, s->threads, &s->stored));
    s->facts.stored = s->stored.count + s->rows;
    s->facts.bytes += s->stored.bytes;
    return TG_OK;
  }
  TG_TRY(TG_ALLOCATE((size_t)s->rows, "diagonal of the Hamiltonian", &s->diagonal));
  s->facts.bytes += s->rows * sizeof *s->diagonal;
  return tg_ci_fly_diagonal(s->fly, s->threads, s->first, s->first + s->rows, s->diagonal);
}

tg_status tg_ci_share_create(tg_world* world, const tg_ci_share_params* params, tg_ci_share** out) {
  const tg_ci_distribution* d = tg_ci_operator_distribution(params->op);
  const int pe = tg_world_pe(world);
  const uint64_t first = d->first[pe], rows = d->first[pe + 1] - first;
  tg_ci_share* s = NULL;
  tg_ci_range* needed = NULL;
  size_t count = 0;
  tg_status status = TG_ALLOCATE(1, "a share of the Hamiltonian", &s);
  if (status == TG_OK) {
    const tg_ci_operator_facts facts = tg_ci_operator_facts_of(params->op);
    *s = (tg_ci_share){.world = world,
                       .d = d,
                       .fly = tg_ci_operator_fly(params->op),
                       .stores = facts.storage == TG_CI_STORAGE_STORED,
                       .dimension = facts.dimension,
                       .first = first,
                       .rows = rows,
                       .pe = pe,
                       .threads = params->threads,
                       .block = params->block,
                       .facts = {.rows = rows, .elements = d->elements[pe]}};
    status = tg_ci_needed(s->fly, first, first + rows, &needed, &count);
  }
  if (status == TG_OK) status = make_rows(s);
  TG_TRY_GOTO(tg_world_agree(world, status), failed);
  const tg_ci_exchange_params exchange = {.distribution = d,
                                          .needed = needed,
                                          .needed_count = count,
                                          .most = params->block,
                                          .threads = params->threads};
  TG_TRY_GOTO(tg_ci_exchange_create(world, &exchange, &s->exchange), failed);
  s->facts.bytes += tg_ci_exchange_bytes(s->dimension, params->block);
  tg_free(needed);
  *out = s;
  return TG_OK;
failed:
  tg_free(needed);
  tg_ci_share_destroy(&s);
  return status;
}

static tg_status wait_for_slice(void* context, int pe) {
  tg_ci_share* s = context;
  return tg_ci_exchange_wait(s->exchange, pe);
}

static tg_status times_fly(tg_ci_share* s, const tg_ci_fly_vectors* v) {
  const tg_ci_fly_part part = {.first = s->first,
                               .end = s->first + s->rows,
                               .diagonal = s->diagonal,
                               .slices = s->d,
                               .own = s->pe,
                               .ready = wait_for_slice,
                               .context = s};
  return tg_ci_fly_apply_part(s->fly, &part, s->threads, v);
}

static tg_status times_stored(tg_ci_share* s, const double* x, size_t ld,
                              const tg_ci_fly_vectors* v) {
  tg_ci_stored_part_own(&s->stored, s->threads, v->k, x, v->y, ld);
  for (int step = 1; step < s->d->pe_count; step++) {
    const int pe = (s->pe + step) % s->d->pe_count;
    TG_TRY(tg_ci_exchange_wait(s->exchange, pe));
    tg_ci_stored_part_add(&s->stored, s->threads, pe, v);
  }
  return TG_OK;
}

/* Of as many vectors as an exchange has room for. */
static tg_status apply(tg_ci_share* s, int k, const double* x, double* y, size_t ld) {
  TG_TRY(tg_ci_exchange_push(s->exchange, k, x, ld));
  const tg_ci_fly_vectors v = {
      .k = k, .x = tg_ci_exchange_x(s->exchange), .ldx = (size_t)s->dimension, .y = y, .ldy = ld};
  TG_TRY(s->stores ? times_stored(s, x, ld, &v) : times_fly(s, &v));
  return tg_ci_exchange_done(s->exchange);
}

tg_status tg_ci_share_apply(tg_ci_share* s, int k, const double* x, double* y, size_t ld) {
  const double begin = tg_time_now();
  for (int v = 0; v < k; v += s->block) {
    const size_t at = (size_t)v * ld;
    TG_TRY(apply(s, k - v < s->block ? k - v : s->block, x + at, y + at, ld));
  }
  s->facts.product_s += tg_time_now() - begin;
  return TG_OK;
}

const double* tg_ci_share_diagonal(const tg_ci_share* s) {
  /* of no rows any place will do, but not none: that would mean that there is no diagonal */
  static const double no_rows = 0;
  const double* diagonal = s->stores ? s->stored.own.diagonal : s->diagonal;
  return diagonal ? diagonal : &no_rows;
}

tg_ci_share_facts tg_ci_share_facts_of(const tg_ci_share* s) {
  tg_ci_share_facts facts = s->facts;
  facts.exchange = tg_ci_exchange_facts_of(s->exchange);
  return facts;
}

tg_status tg_ci_rows_gather(tg_world* world, const tg_ci_distribution* d, const double* x,
                            double* out) {
  const int pe = tg_world_pe(world);
  const size_t rows = (size_t)(d->first[pe + 1] - d->first[pe]);
  void* all = NULL;
  size_t capacity = 0;
  const tg_status status = tg_world_gather(world, 0, x, rows * sizeof *x, &all, &capacity, NULL);
  if (status == TG_OK && pe == 0) memcpy(out, all, (size_t)d->first[d->pe_count] * sizeof *out);
  tg_free(all);
  return status;
}
