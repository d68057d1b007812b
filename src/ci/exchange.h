/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/exchange.h  A vector's rows on their way from the PE that has them to those whose
 * product reads them.
 *
 * Each PE keeps all of x in symmetric memory, in the numbering of the space. An exchange, number s
 * (from 1), follows docs/halo-protocol.md:
 *
 *   | step | writer of a slice                      | its reader                                  |
 *   |------|----------------------------------------|---------------------------------------------|
 *   | 1    | waits for the reader's consumed >= s-1 |                                             |
 *   | 2    | stores the rows that the reader needs  | makes what its own rows give                |
 *   | 3    | raises the reader's arrived to s       | waits for arrived >= s, slice by slice      |
 *   | 4    |                                        | makes what they give                        |
 *   | 5    |                                        | raises the writer's consumed to s           |
 *
 * A reader raises consumed once it has done all of the exchange, and waits for nothing of the next
 * before it does, so nobody waits in a circle. Which rows a reader needs it tells the writer once,
 * at the start; one that needs none of a writer's rows takes part in none of these steps with it.
 * Writers serve first the reader whose next slice theirs is. */
#ifndef TG_CI_EXCHANGE_H
#define TG_CI_EXCHANGE_H

#include "ci/distribution.h"
#include "comm/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_exchange tg_ci_exchange;

typedef struct tg_ci_exchange_params {
  const tg_ci_distribution* distribution; /* must stay */
  const tg_ci_range* needed;              /* [needed_count] of x, rising (tg_ci_needed) */
  size_t needed_count;
  int most; /* vectors at once */
  int threads;
} tg_ci_exchange_params;

/** What a PE's exchanges were. */
typedef struct tg_ci_exchange_facts {
  uint64_t needed;  /* states of other PEs that this one reads */
  uint64_t sent;    /* bytes stored at other PEs, all exchanges together */
  int64_t turns;    /* exchanges */
  double push_s;    /* storing */
  double exposed_s; /* waiting: for slices, and for readers */
} tg_ci_exchange_facts;

/** Bytes of symmetric memory of a PE. */
uint64_t tg_ci_exchange_bytes(uint64_t dimension, int most);

/** Collective; all PEs bring the same `most`. */
tg_status tg_ci_exchange_create(tg_world* world, const tg_ci_exchange_params* params,
                                tg_ci_exchange** out);
/** Local, null-safe. */
void tg_ci_exchange_destroy(tg_ci_exchange** exchange);

/** x of the exchange that was begun last, as far as it has come: [dimension, most], a column at
 * i * dimension. */
const double* tg_ci_exchange_x(const tg_ci_exchange* exchange);
/** Begins an exchange: this PE's rows of k vectors, [rows, k] at a distance of ld, go into its own
 * x and to those who need them. x may be overwritten on return. Every PE is to do so. */
tg_status tg_ci_exchange_push(tg_ci_exchange* exchange, int k, const double* x, size_t ld);
/** Local: returns when what is needed of that PE's slice is there. */
tg_status tg_ci_exchange_wait(tg_ci_exchange* exchange, int pe);
/** Local: after all uses of x; the others may store the next one. */
tg_status tg_ci_exchange_done(tg_ci_exchange* exchange);

tg_ci_exchange_facts tg_ci_exchange_facts_of(const tg_ci_exchange* exchange);

#ifdef __cplusplus
}
#endif
#endif
