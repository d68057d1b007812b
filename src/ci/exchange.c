/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/exchange.h"

#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/readers.h"
#include "comm/symmetric.h"

enum { PIECE = 1 << 16 /* states copied by a thread at once */ };

struct tg_ci_exchange {
  tg_world* world;
  tg_symmetric* memory;
  const tg_ci_distribution* d;
  uint64_t dimension, first, end; /* of all; this PE's */
  int pe, count, most, threads;
  tg_ci_readers of;
  uint64_t turn;
  tg_ci_exchange_facts facts;
};

uint64_t tg_ci_exchange_bytes(uint64_t dimension, int most) {
  return dimension * (uint64_t)most * sizeof(double);
}

/* Signals of a PE: whose slice has arrived, who has consumed this one's. */
static int arrived(const tg_ci_exchange* e, int from) {
  (void)e;
  return from;
}
static int consumed(const tg_ci_exchange* e, int by) { return e->count + by; }

void tg_ci_exchange_destroy(tg_ci_exchange** exchange) {
  tg_ci_exchange* e = *exchange;
  if (!e) return;
  tg_symmetric_destroy(&e->memory);
  tg_ci_readers_free(&e->of);
  tg_free(e);
  *exchange = NULL;
}

tg_status tg_ci_exchange_create(tg_world* world, const tg_ci_exchange_params* params,
                                tg_ci_exchange** out) {
  const tg_ci_distribution* d = params->distribution;
  tg_ci_exchange* e = NULL;
  tg_status status = TG_ALLOCATE(1, "an exchange", &e);
  if (status == TG_OK) {
    const int pe = tg_world_pe(world);
    *e = (tg_ci_exchange){.world = world,
                          .d = d,
                          .pe = pe,
                          .count = d->pe_count,
                          .dimension = d->first[d->pe_count],
                          .first = d->first[pe],
                          .end = d->first[pe + 1],
                          .most = params->most,
                          .threads = params->threads};
  }
  TG_TRY_GOTO(tg_world_agree(world, status), failed);
  TG_TRY_GOTO(tg_ci_readers_make(world, d, params->needed, params->needed_count, &e->of), failed);
  e->facts.needed = e->of.needed;
  TG_TRY_GOTO(tg_symmetric_create(world, (size_t)tg_ci_exchange_bytes(e->dimension, e->most),
                                  2 * e->count, &e->memory),
              failed);
  *out = e;
  return TG_OK;
failed:
  tg_ci_exchange_destroy(&e);
  return status;
}

/* ---- an exchange ---- */

const double* tg_ci_exchange_x(const tg_ci_exchange* e) { return tg_symmetric_local(e->memory); }

/* States first ... end - 1 of this PE into an x that can be stored to, by all threads. */
static void copy(const tg_ci_exchange* e, tg_ci_range r, int k, const double* x, size_t ld,
                 double* to) {
  const uint64_t pieces = (r.end - r.first + PIECE - 1) / PIECE, all = pieces * (uint64_t)k;
#pragma omp parallel for num_threads(e->threads) schedule(static) if (all > 1)
  for (uint64_t p = 0; p < all; p++) {
    const uint64_t v = p / pieces, first = r.first + p % pieces * PIECE;
    const uint64_t count = r.end - first < PIECE ? r.end - first : PIECE;
    memcpy(to + v * e->dimension + first, x + v * ld + (first - e->first), count * sizeof *x);
  }
}

/* The same where only messages reach; they raise nothing yet. */
static tg_status send(const tg_ci_exchange* e, int pe, tg_ci_range r, int k, const double* x,
                      size_t ld) {
  for (int v = 0; v < k; v++)
    TG_TRY(tg_symmetric_put(
        e->memory, pe, (size_t)((uint64_t)v * e->dimension + r.first) * sizeof *x,
        x + (size_t)v * ld + (size_t)(r.first - e->first), (size_t)(r.end - r.first) * sizeof *x,
        arrived(e, e->pe), TG_SIGNAL_ADD, 0));
  return TG_OK;
}

/* Waiting, which is what of an exchange is not hidden. */
static tg_status wait_for(tg_ci_exchange* e, int signal, int pe, uint64_t turn, const char* what) {
  const double begin = tg_time_now();
  tg_world_note(e->world, what, pe, (int64_t)e->turn);
  const tg_status status =
      tg_symmetric_wait(e->memory, (tg_symmetric_source){.signal = signal, .pe = pe}, turn);
  e->facts.exposed_s += tg_time_now() - begin;
  return status;
}

tg_status tg_ci_exchange_push(tg_ci_exchange* e, int k, const double* x, size_t ld) {
  e->turn++;
  e->facts.turns++;
  if (k > e->most)
    return tg_fail(TG_ERR_INTERNAL, "%d vectors are to be exchanged at once, at most %d", k,
                   e->most);
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    const tg_ci_reader* reader = &e->of.readers[pe];
    if (!reader->count) continue;
    TG_TRY(wait_for(e, consumed(e, pe), pe, e->turn - 1, "a vector's slice, read by PE"));
    const double begin = tg_time_now();
    double* there = tg_symmetric_peer(e->memory, pe);
    for (size_t r = 0; r < reader->count; r++) {
      const tg_ci_range range = reader->list[r];
      if (there)
        copy(e, range, k, x, ld, there);
      else
        TG_TRY(send(e, pe, range, k, x, ld));
      e->facts.sent += (range.end - range.first) * (uint64_t)k * sizeof *x;
    }
    TG_TRY(tg_symmetric_signal(e->memory, pe, arrived(e, e->pe), TG_SIGNAL_SET, e->turn));
    e->facts.push_s += tg_time_now() - begin;
  }
  const double begin = tg_time_now();
  if (e->end > e->first)
    copy(e, (tg_ci_range){e->first, e->end}, k, x, ld, tg_symmetric_local(e->memory));
  e->facts.push_s += tg_time_now() - begin;
  return TG_OK;
}

tg_status tg_ci_exchange_wait(tg_ci_exchange* e, int pe) {
  if (pe == e->pe || !e->of.sources[pe]) return TG_OK;
  return wait_for(e, arrived(e, pe), pe, e->turn, "a vector's slice, of PE");
}

tg_status tg_ci_exchange_done(tg_ci_exchange* e) {
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + step) % e->count;
    if (!e->of.sources[pe]) continue;
    /* it may have come without having been waited for */
    TG_TRY(tg_ci_exchange_wait(e, pe));
    TG_TRY(tg_symmetric_signal(e->memory, pe, consumed(e, e->pe), TG_SIGNAL_SET, e->turn));
  }
  return TG_OK;
}

tg_ci_exchange_facts tg_ci_exchange_facts_of(const tg_ci_exchange* e) { return e->facts; }
