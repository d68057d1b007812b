/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/device_share.h"

#include "base/memory.h"
#include "ci/device_exchange.h"
#include "ci/device_place.h"

struct tg_ci_device_share {
  tg_world* world;
  const tg_ci_distribution* d;
  tg_ci_device_place* place;
  tg_ci_device_operator* op; /* NULL: this PE has no rows */
  tg_ci_device_exchange* exchange;
  uint64_t dimension;
  tg_ci_device_rows rows;
  int pe, block;
  tg_ci_device_operator_facts made;
};

void tg_ci_device_share_destroy(tg_ci_device_share** share) {
  tg_ci_device_share* s = *share;
  if (!s) return;
  tg_ci_device_exchange_destroy(&s->exchange); /* waits for the stream */
  tg_ci_device_operator_free(s->op);
  tg_ci_device_place_close(&s->place);
  tg_free(s);
  *share = NULL;
}

/* Collective: elements of all PEs are stored, or of none. */
static tg_status settle_storage(const tg_ci_device_share* s, const tg_ci_device_share_params* p,
                                tg_ci_device_operator_params* op) {
  tg_ci_device_operator_facts facts = {0};
  TG_TRY(tg_world_agree(s->world, tg_ci_device_operator_estimate(p->h, p->space, op, &facts)));
  int64_t fly = facts.host.storage == TG_CI_STORAGE_FLY;
  TG_TRY(tg_world_max_int64(s->world, &fly, 1));
  op->storage = fly ? TG_CI_STORAGE_FLY : facts.host.storage;
  return TG_OK;
}

static tg_status make_operator(tg_ci_device_share* s, const tg_ci_device_share_params* p) {
  tg_ci_device_operator_params op = *p->op;
  op.rows = &s->rows;
  op.device = tg_ci_device_share_device(s);
  op.stream = tg_ci_device_share_stream(s);
  TG_TRY(settle_storage(s, p, &op));
  tg_status status = TG_OK;
  if (s->rows.end > s->rows.first) {
    status = tg_ci_device_operator_create(p->h, p->space, &op, &s->op);
    if (status == TG_OK) s->made = tg_ci_device_operator_facts_of(s->op);
    if (status == TG_OK) status = tg_ci_device_place_settle(s->place);
  } else {
    s->made.host.storage = op.storage;
  }
  return tg_world_agree(s->world, status);
}

static tg_status make_exchange(tg_ci_device_share* s, const tg_ci_device_share_params* p) {
  tg_ci_range* needed = NULL;
  size_t count = 0;
  tg_status status = tg_ci_needed(p->op->fly, s->rows.first, s->rows.end, &needed, &count);
  TG_TRY_GOTO(tg_world_agree(s->world, status), done);
  const tg_ci_exchange_params params = {
      .distribution = s->d, .needed = needed, .needed_count = count, .most = p->block};
  status = tg_ci_device_exchange_create(s->world, tg_ci_device_place_queue(s->place), &params,
                                        &s->exchange);
done:
  tg_free(needed);
  return status;
}

tg_status tg_ci_device_share_create(tg_world* world, const tg_ci_device_share_params* p,
                                    tg_ci_device_share** out) {
  const tg_ci_distribution* d = p->distribution;
  const int pe = tg_world_pe(world);
  tg_ci_device_share* s = NULL;
  tg_status status = TG_ALLOCATE(1, "a share of the Hamiltonian", &s);
  if (status == TG_OK) {
    *s = (tg_ci_device_share){.world = world,
                              .d = d,
                              .dimension = p->space->dimension,
                              .rows = {d->first[pe], d->first[pe + 1]},
                              .pe = pe,
                              .block = p->block};
    status = tg_ci_device_place_open(world, p->gpus, p->op->device, &s->place);
  }
  TG_TRY_GOTO(tg_world_agree(world, status), failed);
  TG_TRY_GOTO(make_operator(s, p), failed);
  TG_TRY_GOTO(make_exchange(s, p), failed);
  *out = s;
  return TG_OK;
failed:
  tg_ci_device_share_destroy(&s);
  return status;
}

/* Once this PE's rows of x are on their way. */
static tg_status multiply(tg_ci_device_share* s, int k, double* y, size_t ld) {
  const double* all = tg_ci_device_exchange_x(s->exchange);
  const size_t ldx = (size_t)s->dimension;
  if (s->op) TG_TRY(tg_ci_device_operator_apply_local(s->op, k, all, ldx, y, ld));
  TG_TRY(tg_ci_device_exchange_wait(s->exchange));
  if (s->op) TG_TRY(tg_ci_device_operator_apply_rest(s->op, k, all, ldx, y, ld));
  return tg_ci_device_exchange_done(s->exchange);
}

/* Of as many vectors as an exchange has room for. */
static tg_status apply(tg_ci_device_share* s, int k, const double* x, double* y, size_t ld) {
  TG_TRY(tg_ci_device_exchange_push(s->exchange, k, x, ld));
  return multiply(s, k, y, ld);
}

static tg_status apply_made(tg_ci_device_share* s, int k, double* y, size_t ld) {
  TG_TRY(tg_ci_device_exchange_take(s->exchange, k));
  return multiply(s, k, y, ld);
}

/* The others may be waiting for what a PE whose GPU failed will never store. */
static tg_status or_abort(const tg_ci_device_share* s, tg_status status) {
  if (status != TG_OK) tg_world_abort(s->world, status);
  return status;
}

tg_status tg_ci_device_share_apply(tg_ci_device_share* s, int k, const double* x, double* y,
                                   size_t ld) {
  for (int v = 0; v < k; v += s->block) {
    const size_t at = (size_t)v * ld;
    TG_TRY(or_abort(s, apply(s, k - v < s->block ? k - v : s->block, x + at, y + at, ld)));
  }
  return TG_OK;
}

tg_status tg_ci_device_share_open(tg_ci_device_share* s, int k, tg_eigen_targets* out) {
  out->count = 0;
  return k <= s->block ? or_abort(s, tg_ci_device_exchange_open(s->exchange, k, out)) : TG_OK;
}

tg_status tg_ci_device_share_close(tg_ci_device_share* s, int k, const double* x, size_t ld) {
  return or_abort(s, tg_ci_device_exchange_close(s->exchange, k, x, ld));
}

tg_status tg_ci_device_share_apply_made(tg_ci_device_share* s, int k, double* y, size_t ld) {
  return or_abort(s, apply_made(s, k, y, ld));
}

tg_status tg_ci_device_share_sum(tg_ci_device_share* s, double* values, size_t count) {
  return or_abort(s, tg_ci_device_exchange_sum(s->exchange, values, count));
}

tg_status tg_ci_device_share_diagonal(tg_ci_device_share* s, const double** out) {
  /* of no rows any place will do, but not none: that would mean that there is no diagonal */
  *out = tg_ci_device_exchange_x(s->exchange);
  return s->op ? tg_ci_device_operator_diagonal(s->op, out) : TG_OK;
}

tg_ci_share_facts tg_ci_device_share_facts_of(tg_ci_device_share* s) {
  tg_ci_share_facts f = {.rows = s->rows.end - s->rows.first,
                         .elements = s->d->elements[s->pe],
                         .stored = s->op ? s->made.host.stored : 0,
                         .bytes = tg_ci_device_share_bytes(s)};
  f.exchange = tg_ci_device_exchange_facts_of(s->exchange, &f.product_s);
  return f;
}

static void most_of(uint64_t one, uint64_t* most) {
  if (one > *most) *most = one;
}

tg_status tg_ci_device_share_operators(const tg_ci_device_share* s,
                                       tg_ci_device_operator_facts* out) {
  const int count = s->d->pe_count;
  tg_ci_device_operator_facts* all = NULL;
  tg_status status = TG_ALLOCATE((size_t)count, "what operators are", &all);
  TG_TRY_GOTO(tg_world_agree(s->world, status), done);
  TG_TRY_GOTO(tg_world_all_gather(s->world, &s->made, sizeof s->made, all), done);
  *out = all[0];
  for (int p = 1; p < count; p++) {
    const tg_ci_device_operator_facts* f = &all[p];
    most_of(f->fly_bytes, &out->fly_bytes);
    most_of(f->stored_bytes, &out->stored_bytes);
    most_of(f->making_bytes, &out->making_bytes);
    most_of(f->product_bytes, &out->product_bytes);
    if (f->rounding > out->rounding) out->rounding = f->rounding;
    if (f->device_s > out->device_s) out->device_s = f->device_s;
    out->stored_elements += f->stored_elements;
    out->host.stored += f->host.stored;
    /* one without rows has made nothing */
    if (out->host.dimension == 0) {
      out->host = f->host;
      out->times = f->times;
    }
  }
done:
  tg_free(all);
  return status;
}

uint64_t tg_ci_device_share_mark(const tg_ci_device_share* s,
                                 const tg_ci_device_operator_params* params) {
  return tg_ci_device_operator_mark(&s->made, params);
}

uint64_t tg_ci_device_share_bytes(const tg_ci_device_share* s) {
  const bool fly = s->made.host.storage == TG_CI_STORAGE_FLY;
  return (fly ? s->made.fly_bytes : s->made.stored_bytes) +
         tg_ci_device_exchange_bytes(s->dimension, s->block, s->d->pe_count);
}

int tg_ci_device_share_device(const tg_ci_device_share* s) {
  return tg_ci_device_place_queue(s->place)->device;
}

void* tg_ci_device_share_stream(const tg_ci_device_share* s) {
  return tg_ci_device_place_queue(s->place)->stream;
}
