/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's memory of an exchange is one block, at the same distances on all:
 *
 *   | what                          | doubles                                                    |
 *   |-------------------------------|------------------------------------------------------------|
 *   | x                             | dimension * most                                           |
 *   | values that are being summed  | [2, PEs, SUMS]: for even and odd sums, what each PE brings |
 *
 * Sums use two halves in turn, so nobody needs to say that they have been read: who stores its part
 * of sum s + 2 has waited for the parts of s + 1 of all, which each stored after it had read s. */
#include "ci/device_exchange.h"

#include "base/memory.h"
#include "ci/device_lists.h"
#include "ci/readers.h"
#include "comm/symmetric.h"

enum {
  SUMS = 8192, /* numbers that are summed at once */
  CLOCKS = 8,  /* exchanges whose events may be read later */
  MARKS = 5    /* of an exchange: its start; stored; waits; all it reads has come; rows are made */
};

enum { ARRIVED, CONSUMED, SUMMED, EVENTS = SUMMED + 2 };

/* What threads tell each other. */
typedef struct card {
  tg_ci_queue queue;
  char* block;
  void* event[EVENTS];
  _Atomic int* users; /* PE 0's counts */
} card;

struct tg_ci_device_exchange {
  tg_world* world;
  tg_ci_queue queue;
  const tg_ci_queue_ops* ops;
  int pe, count, most;
  uint64_t dimension, first, end;
  tg_ci_readers of;
  tg_symmetric* memory; /* signals; of processes the block, too */
  bool processes, joined;
  bool messages;       /* some readers are out of reach: they are sent what is in this PE's x */
  card* cards;         /* [count] of threads */
  char** block;        /* [count] NULL: only messages reach it */
  char** blocks_there; /* the same on the device */
  tg_ci_piece* pieces; /* on the device: what each reader is sent; for this PE all it has */
  size_t* piece_begin; /* [count + 1] */
  uint64_t* states;    /* [count] in them */
  tg_eigen_targets targets;
  uint32_t* masks;   /* on the device: the targets' */
  uint64_t* chunked; /* [count] states in a reader's chunks; 0: it is no target */
  int made;          /* vectors that have been made into x for a product to take; 0: none */
  uint64_t turn, sum_turn;
  void* clocks[CLOCKS][MARKS];
  uint64_t products;    /* exchanges that one has begun with: those that are timed */
  uint64_t read_clocks; /* of them those whose times are in the facts */
  double product_s;
  tg_ci_exchange_facts facts;
};

typedef tg_ci_device_exchange exchange;

/* Signals of a PE: whose slice has arrived, who has consumed this one's, whose part of a sum has.
 */
static int arrived(int from) { return from; }
static int consumed(const exchange* e, int by) { return e->count + by; }
static int summed(const exchange* e, int from) { return 2 * e->count + from; }

/* Where a PE's part of a sum is, in doubles of a block. */
static size_t slot(const exchange* e, uint64_t turn, int from) {
  return (size_t)e->dimension * (size_t)e->most +
         ((turn & 1) * (size_t)e->count + (size_t)from) * SUMS;
}

static double* doubles(char* block) { return (double*)(void*)block; }

static uint64_t block_bytes(uint64_t dimension, int most, int pe_count) {
  return (dimension * (uint64_t)most + 2 * (uint64_t)pe_count * SUMS) * sizeof(double);
}

uint64_t tg_ci_device_exchange_bytes(uint64_t dimension, int most, int pe_count) {
  return block_bytes(dimension, most, pe_count) + (dimension / TG_CI_CHUNK + 2) * sizeof(uint32_t);
}

/* ---- waiting and telling ---- */

/* Until the other PE has queued what it promised. */
static tg_status wait_for(exchange* e, int signal, int pe, uint64_t turn, const char* what) {
  const tg_symmetric_source source = {.signal = signal, .pe = pe};
  if (turn == 0) return TG_OK;
  tg_world_note(e->world, what, pe, (int64_t)turn);
  return tg_symmetric_wait(e->memory, source, turn);
}

/* Then, of threads, the stream waits until it is done; of processes it has been. */
static tg_status wait_event(const exchange* e, int pe, int event) {
  return e->processes ? TG_OK : e->ops->wait_for(&e->queue, e->cards[pe].event[event]);
}

static tg_status record(const exchange* e, int event) {
  return e->processes ? TG_OK : e->ops->record(&e->queue, e->cards[e->pe].event[event]);
}

static tg_status raise_signal(exchange* e, int pe, int signal, uint64_t turn) {
  return tg_symmetric_signal(e->memory, pe, signal, TG_SIGNAL_SET, turn);
}

/* ---- times ---- */

static tg_status mark(const exchange* e, int which) {
  return e->ops->record(&e->queue, e->clocks[e->products % CLOCKS][which]);
}

/* Of the oldest exchange that has not been read; waits for it. */
static void read_clock(exchange* e) {
  void* const* at = e->clocks[++e->read_clocks % CLOCKS];
  double seconds[MARKS] = {0};
  for (int m = MARKS - 1; m > 0; m--)
    if (e->ops->between(&e->queue, at[0], at[m], &seconds[m]) != TG_OK) return;
  e->facts.push_s += seconds[1];
  e->facts.exposed_s += seconds[3] - (seconds[2] - seconds[1]);
  e->product_s += seconds[4];
}

static tg_status start_clock(exchange* e) {
  if (e->products >= e->read_clocks + CLOCKS) read_clock(e);
  e->products++;
  return mark(e, 0);
}

/* ---- making ---- */

/* What each reader is sent, in pieces; this PE's own x gets all. */
static tg_status make_pieces(exchange* e) {
  const tg_ci_range own = {e->first, e->end};
  tg_ci_pieces all = {0};
  tg_status status = TG_OK;
  for (int p = 0; p < e->count; p++) {
    const tg_ci_reader* reader = &e->of.readers[p];
    const tg_ci_range* list = p == e->pe ? &own : reader->list;
    const size_t count = p == e->pe ? e->end > e->first : reader->count;
    TG_TRY_GOTO(tg_ci_pieces_add(list, count, &all, &e->states[p]), done);
    e->piece_begin[p + 1] = all.count;
  }
  const size_t size = sizeof *all.list;
  TG_TRY_GOTO(e->ops->allocate(&e->queue, (all.count + 1) * size, (void**)&e->pieces), done);
  status = e->ops->upload(&e->queue, all.list, all.count * size, e->pieces);
done:
  tg_free(all.list);
  return status;
}

/* Where a kernel that makes this PE's rows stores them: its own x, all of it, and as many others as
 * there may be; the rest are sent copies. */
static tg_status make_targets(exchange* e) {
  const tg_ci_range own = {e->first, e->end};
  const uint64_t chunks = (own.end - own.first + TG_CI_CHUNK - 1) / TG_CI_CHUNK;
  tg_eigen_targets* t = &e->targets;
  uint32_t* masks = NULL;
  tg_status status;
  TG_TRY(TG_ALLOCATE((size_t)chunks + 1, "lists of readers", &masks));
  TG_TRY_GOTO(TG_ALLOCATE((size_t)e->count, "processing elements", &e->chunked), done);
  for (uint64_t c = 0; c < chunks; c++) masks[c] = 1;
  *t = (tg_eigen_targets){.count = 1, .ld = (size_t)e->dimension, .chunk = TG_CI_CHUNK};
  t->to[0] = doubles(e->block[e->pe]) + e->first;
  for (int step = 1; step < e->count && t->count < TG_EIGEN_TARGETS; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    const tg_ci_reader* reader = &e->of.readers[pe];
    if (!reader->count || !e->block[pe]) continue;
    e->chunked[pe] =
        tg_ci_chunks_mark(own, reader->list, reader->count, (uint32_t)1 << t->count, masks);
    t->to[t->count++] = doubles(e->block[pe]) + e->first;
  }
  const size_t bytes = ((size_t)chunks + 1) * sizeof *masks;
  TG_TRY_GOTO(e->ops->allocate(&e->queue, bytes, (void**)&e->masks), done);
  t->masks = e->masks;
  status = e->ops->upload(&e->queue, masks, bytes, e->masks);
done:
  tg_free(masks);
  return status;
}

static void free_card(const card* c) {
  if (!c->queue.ops) return;
  c->queue.ops->release(&c->queue, c->block);
  for (int i = 0; i < EVENTS; i++) c->queue.ops->event_free(c->event[i]);
}

/* Local: all but what needs the others. */
static tg_status make_own(exchange* e, card* mine) {
  const size_t pes = (size_t)e->count;
  TG_TRY(TG_ALLOCATE(pes, "processing elements", &e->block));
  TG_TRY(TG_ALLOCATE(pes, "processing elements", &e->states));
  TG_TRY(TG_ALLOCATE(pes + 1, "processing elements", &e->piece_begin));
  for (int c = 0; c < CLOCKS; c++)
    for (int m = 0; m < MARKS; m++) TG_TRY(e->ops->event_make(&e->queue, true, &e->clocks[c][m]));
  TG_TRY(make_pieces(e));
  TG_TRY(e->ops->allocate(&e->queue, pes * sizeof(char*), (void**)&e->blocks_there));
  if (e->processes) return TG_OK;
  TG_TRY(TG_ALLOCATE(pes, "processing elements", &e->cards));
  mine->queue = e->queue;
  for (int i = 0; i < EVENTS; i++) TG_TRY(e->ops->event_make(&e->queue, false, &mine->event[i]));
  TG_TRY(e->ops->allocate(&e->queue, (size_t)block_bytes(e->dimension, e->most, e->count),
                          (void**)&mine->block));
  if (e->pe != 0) return TG_OK;
  TG_TRY(TG_ALLOCATE(1, "processing elements", &mine->users));
  *mine->users = e->count;
  return TG_OK;
}

/* The last of the threads releases what all of them store into and wait for. */
static void leave(const exchange* e) {
  _Atomic int* users = e->cards[0].users;
  if ((*users)-- > 1) return;
  for (int p = 0; p < e->count; p++) free_card(&e->cards[p]);
  tg_free((void*)users);
}

/* Collective: where the others' memory is. */
static tg_status meet(exchange* e, card* mine) {
  const uint64_t bytes = block_bytes(e->dimension, e->most, e->count);
  TG_TRY(tg_symmetric_create(e->world, e->processes ? (size_t)bytes : 0, 3 * e->count, &e->memory));
  if (!e->processes) {
    TG_TRY(tg_world_all_gather(e->world, mine, sizeof *mine, e->cards));
    e->joined = true;
  }
  for (int p = 0; p < e->count; p++)
    e->block[p] = e->processes ? tg_symmetric_peer(e->memory, p) : e->cards[p].block;
  if (e->processes) e->block[e->pe] = tg_symmetric_local(e->memory);
  for (int p = 0; p < e->count; p++)
    if (!e->block[p] && e->of.readers[p].count) e->messages = true;
  const size_t size = (size_t)e->count * sizeof *e->block;
  tg_status status = e->ops->upload(&e->queue, e->block, size, e->blocks_there);
  if (status == TG_OK) status = make_targets(e);
  return tg_world_agree(e->world, status);
}

tg_status tg_ci_device_exchange_create(tg_world* world, const tg_ci_queue* queue,
                                       const tg_ci_exchange_params* params,
                                       tg_ci_device_exchange** out) {
  const tg_ci_distribution* d = params->distribution;
  exchange* e = NULL;
  card mine = {.block = NULL};
  tg_status status = TG_ALLOCATE(1, "an exchange", &e);
  TG_TRY_GOTO(tg_world_agree(world, status), failed);
  const int pe = tg_world_pe(world);
  *e = (exchange){.world = world,
                  .queue = *queue,
                  .ops = queue->ops,
                  .pe = pe,
                  .count = d->pe_count,
                  .most = params->most,
                  .dimension = d->first[d->pe_count],
                  .first = d->first[pe],
                  .end = d->first[pe + 1],
                  .processes = tg_world_of_processes(world) != 0};
  TG_TRY_GOTO(tg_ci_readers_make(world, d, params->needed, params->needed_count, &e->of), failed);
  e->facts.needed = e->of.needed;
  TG_TRY_GOTO(tg_world_agree(world, make_own(e, &mine)), failed);
  TG_TRY_GOTO(meet(e, &mine), failed);
  *out = e;
  return TG_OK;
failed:
  /* where the gathering failed others may have it: then it stays, as the world ends */
  if (e && !e->joined && !e->memory) {
    free_card(&mine);
    tg_free((void*)mine.users);
  }
  tg_ci_device_exchange_destroy(&e);
  return status;
}

void tg_ci_device_exchange_destroy(tg_ci_device_exchange** out) {
  exchange* e = *out;
  if (!e) return;
  if (e->ops) {
    e->ops->finish(&e->queue);
    if (e->joined) leave(e);
    tg_symmetric_destroy(&e->memory);
    e->ops->release(&e->queue, e->pieces);
    e->ops->release(&e->queue, e->masks);
    e->ops->release(&e->queue, e->blocks_there);
    for (int c = 0; c < CLOCKS; c++)
      for (int m = 0; m < MARKS; m++) e->ops->event_free(e->clocks[c][m]);
  }
  tg_ci_readers_free(&e->of);
  tg_free(e->cards);
  tg_free(e->block);
  tg_free(e->states);
  tg_free(e->chunked);
  tg_free(e->piece_begin);
  tg_free(e);
  *out = NULL;
}

/* ---- an exchange ---- */

const double* tg_ci_device_exchange_x(const tg_ci_device_exchange* e) {
  return doubles(e->block[e->pe]);
}

/* Rows into the x of a PE in reach. */
static tg_status queue_copy(exchange* e, int pe, int k, const double* x, size_t ld) {
  const size_t begin = e->piece_begin[pe];
  const tg_ci_rows_copy copy = {.pieces = e->pieces + begin,
                                .count = e->piece_begin[pe + 1] - begin,
                                .k = k,
                                .x = x,
                                .ld = ld,
                                .first = e->first,
                                .to = doubles(e->block[pe]),
                                .dimension = e->dimension};
  return copy.count ? e->ops->copy_rows(&e->queue, &copy) : TG_OK;
}

/* Rows from this PE's x, where only messages reach; they raise nothing yet. */
static tg_status queue_puts(exchange* e, int pe, int k) {
  const tg_ci_reader* reader = &e->of.readers[pe];
  const double* x = tg_ci_device_exchange_x(e);
  for (int v = 0; v < k; v++)
    for (size_t r = 0; r < reader->count; r++) {
      const tg_ci_range range = reader->list[r];
      const size_t at = (size_t)((uint64_t)v * e->dimension + range.first);
      TG_TRY(tg_symmetric_put(e->memory, pe, at * sizeof *x, x + at,
                              (size_t)(range.end - range.first) * sizeof *x, arrived(e->pe),
                              TG_SIGNAL_ADD, 0));
    }
  return TG_OK;
}

/* Until a reader is done with what it was sent before. */
static tg_status wait_for_reader(exchange* e, int pe) {
  TG_TRY(wait_for(e, consumed(e, pe), pe, e->turn - 1, "a vector's slice, read by PE"));
  return e->turn > 1 ? wait_event(e, pe, CONSUMED) : TG_OK;
}

/* By a kernel, or messages. */
static tg_status send(exchange* e, int pe, int k, const double* x, size_t ld) {
  e->facts.sent += e->states[pe] * (uint64_t)k * sizeof *x;
  return e->block[pe] ? queue_copy(e, pe, k, x, ld) : queue_puts(e, pe, k);
}

static tg_status tell_readers(exchange* e) {
  TG_TRY(record(e, ARRIVED));
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    if (e->of.readers[pe].count) TG_TRY(raise_signal(e, pe, arrived(e->pe), e->turn));
  }
  return TG_OK;
}

static tg_status wait_for_sources(exchange* e) {
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + step) % e->count;
    if (!e->of.sources[pe]) continue;
    TG_TRY(wait_for(e, arrived(pe), pe, e->turn, "a vector's slice, of PE"));
    TG_TRY(wait_event(e, pe, ARRIVED));
  }
  return TG_OK;
}

static tg_status tell_sources(exchange* e) {
  TG_TRY(record(e, CONSUMED));
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + step) % e->count;
    if (e->of.sources[pe]) TG_TRY(raise_signal(e, pe, consumed(e, e->pe), e->turn));
  }
  return TG_OK;
}

/* What was made for the turn before, and not taken, is void: read by nobody, but waited for, as it
 * may still be on its way. */
static tg_status next_turn(exchange* e, int k) {
  if (k > e->most)
    return tg_fail(TG_ERR_INTERNAL, "%d vectors are to be exchanged at once, at most %d", k,
                   e->most);
  if (e->made) {
    TG_TRY(wait_for_sources(e));
    TG_TRY(tell_sources(e));
  }
  e->made = 0;
  e->turn++;
  e->facts.turns++;
  return TG_OK;
}

tg_status tg_ci_device_exchange_push(tg_ci_device_exchange* e, int k, const double* x, size_t ld) {
  TG_TRY(next_turn(e, k));
  TG_TRY(start_clock(e));
  if (e->messages) TG_TRY(queue_copy(e, e->pe, k, x, ld));
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    if (!e->of.readers[pe].count) continue;
    TG_TRY(wait_for_reader(e, pe));
    TG_TRY(send(e, pe, k, x, ld));
  }
  TG_TRY(tell_readers(e));
  /* last, as nobody else waits for it */
  if (!e->messages) TG_TRY(queue_copy(e, e->pe, k, x, ld));
  return mark(e, 1);
}

tg_status tg_ci_device_exchange_open(tg_ci_device_exchange* e, int k, tg_eigen_targets* out) {
  TG_TRY(next_turn(e, k));
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    if (e->of.readers[pe].count) TG_TRY(wait_for_reader(e, pe));
  }
  *out = e->targets;
  return TG_OK;
}

tg_status tg_ci_device_exchange_close(tg_ci_device_exchange* e, int k, const double* x, size_t ld) {
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + e->count - step) % e->count;
    e->facts.sent += e->chunked[pe] * (uint64_t)k * sizeof *x;
    if (e->of.readers[pe].count && !e->chunked[pe]) TG_TRY(send(e, pe, k, x, ld));
  }
  e->made = k;
  return tell_readers(e);
}

tg_status tg_ci_device_exchange_take(tg_ci_device_exchange* e, int k) {
  if (k != e->made)
    return tg_fail(TG_ERR_INTERNAL, "%d vectors are to be multiplied, but %d are there", k,
                   e->made);
  e->made = 0;
  TG_TRY(start_clock(e));
  return mark(e, 1);
}

tg_status tg_ci_device_exchange_wait(tg_ci_device_exchange* e) {
  TG_TRY(mark(e, 2));
  TG_TRY(wait_for_sources(e));
  return mark(e, 3);
}

tg_status tg_ci_device_exchange_done(tg_ci_device_exchange* e) {
  TG_TRY(mark(e, 4));
  return tell_sources(e);
}

/* ---- sums ---- */

static tg_status sum_some(exchange* e, double* values, size_t count) {
  const uint64_t turn = ++e->sum_turn;
  const int event = SUMMED + (int)(turn & 1);
  const size_t mine = slot(e, turn, e->pe);
  double* own = doubles(e->block[e->pe]);
  const tg_ci_spread spread = {
      .values = values, .count = count, .blocks = e->blocks_there, .pes = e->count, .offset = mine};
  TG_TRY(e->ops->spread(&e->queue, &spread));
  TG_TRY(record(e, event));
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + step) % e->count;
    if (e->block[pe])
      TG_TRY(raise_signal(e, pe, summed(e, e->pe), turn));
    else
      TG_TRY(tg_symmetric_put(e->memory, pe, mine * sizeof *own, own + mine, count * sizeof *own,
                              summed(e, e->pe), TG_SIGNAL_SET, turn));
  }
  for (int step = 1; step < e->count; step++) {
    const int pe = (e->pe + step) % e->count;
    TG_TRY(wait_for(e, summed(e, pe), pe, turn, "numbers to be summed, of PE"));
    TG_TRY(wait_event(e, pe, event));
  }
  return e->ops->add(&e->queue, own + slot(e, turn, 0), e->count, SUMS, values, count);
}

tg_status tg_ci_device_exchange_sum(tg_ci_device_exchange* e, double* values, size_t count) {
  for (size_t at = 0; at < count; at += SUMS)
    TG_TRY(sum_some(e, values + at, count - at < SUMS ? count - at : SUMS));
  return TG_OK;
}

tg_ci_exchange_facts tg_ci_device_exchange_facts_of(tg_ci_device_exchange* e, double* product_s) {
  while (e->read_clocks < e->products) read_clock(e);
  *product_s = e->product_s;
  return e->facts;
}
