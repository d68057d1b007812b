/* SPDX-License-Identifier: Apache-2.0 */
/* From stamps to spans; the part of device traces that needs no device. */
#include "halo/device_trace.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

typedef enum arrow { NONE, OUT, BACK_OUT, IN, BACK_IN } arrow;

static const struct {
  const char* name;
  arrow arrow;
} STAGES[TG_STAGE_COUNT] = {
    [TG_STAGE_BEGIN] = {"begin", NONE},
    [TG_STAGE_PACK] = {"pack", NONE},
    [TG_STAGE_PACK_HOME] = {"pack home atoms", NONE},
    [TG_STAGE_PACK_FORWARDED] = {"pack forwarded atoms", NONE},
    [TG_STAGE_RAISE] = {"raise flag (last block)", OUT},
    [TG_STAGE_WAIT] = {"wait for positions", IN},
    [TG_STAGE_CONSUMED] = {"wait until read", NONE},
    [TG_STAGE_POST_HOME] = {"post home atoms", OUT},
    [TG_STAGE_POST_FORWARDED] = {"await letters and forward them", IN},
    [TG_STAGE_POSTED] = {"posted", NONE},
    [TG_STAGE_RECEIVE] = {"await letters and unpack them", IN},
    [TG_STAGE_RETURN] = {"return forces", NONE},
    [TG_STAGE_RETURN_RAISE] = {"raise flag (last block)", BACK_OUT},
    [TG_STAGE_RETURN_WAIT] = {"wait for forces", BACK_IN},
    [TG_STAGE_ADD] = {"add forces", NONE},
    [TG_STAGE_ADD_LETTERS] = {"await letters and add them", NONE},
    [TG_STAGE_UNPACK] = {"add forces", NONE},
    [TG_STAGE_WORK] = {"local work (synthetic)", NONE},
};

/* Stamps of equal times stay in the order in which they were written. */
static void sort_by_time(tg_stamp* stamps, size_t count) {
  for (size_t i = 1; i < count; i++) {
    tg_stamp one = stamps[i];
    size_t at = i;
    for (; at > 0 && stamps[at - 1].time_ns > one.time_ns; at--) stamps[at] = stamps[at - 1];
    stamps[at] = one;
  }
}

static int by_multiprocessor(const void* a, const void* b) {
  const tg_stamp *x = *(tg_stamp*const*)a, *y = *(tg_stamp*const*)b;
  return (x->multiprocessor > y->multiprocessor) - (x->multiprocessor < y->multiprocessor);
}

/* Stamps of one multiprocessor. */
static void refine_one(tg_stamp* const* stamps, size_t count, double tick_ns, double rate) {
  uint64_t first_time = stamps[0]->time_ns, first_clock = stamps[0]->clock;
  double low = -INFINITY, high = INFINITY; /* of the time at first_clock, less first_time */
  for (size_t i = 0; i < count; i++) {
    double time = (double)(int64_t)(stamps[i]->time_ns - first_time);
    double since = (double)(int64_t)(stamps[i]->clock - first_clock) / rate;
    if (time - since > low) low = time - since;
    if (time + tick_ns - since < high) high = time + tick_ns - since;
  }
  for (size_t i = 0; i < count; i++) {
    double since = (double)(int64_t)(stamps[i]->clock - first_clock) / rate;
    if (low <= high)
      stamps[i]->time_ns = first_time + (uint64_t)(int64_t)llround(0.5 * (low + high) + since);
    else
      stamps[i]->time_ns += (uint64_t)llround(0.5 * tick_ns);
  }
}

tg_status tg_stamps_refine(tg_stamp* stamps, size_t count, double tick_ns, double cycles_per_ns) {
  tg_stamp** sorted = NULL;
  if (!count) return TG_OK;
  TG_TRY(TG_ALLOCATE(count, "stamps", &sorted));
  for (size_t i = 0; i < count; i++) sorted[i] = &stamps[i];
  qsort(sorted, count, sizeof *sorted, by_multiprocessor);
  for (size_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count; end++)
      if (sorted[end]->multiprocessor != sorted[first]->multiprocessor) break;
    refine_one(sorted + first, end - first, tick_ns, cycles_per_ns);
  }
  tg_free(sorted);
  return TG_OK;
}

/* As on the host: exchange, way, channel, and who reads. */
static uint64_t arrow_number(uint64_t number, int channel, int up, int reader) {
  return number << 26 | (uint64_t)reader << 10 | (uint64_t)channel << 1 | (uint64_t)up;
}

static void set_arrow(tg_trace_event* event, const tg_stamp_row* row, const tg_stamp* stamp) {
  int part = stamp->part, own = row->channel;
  switch (STAGES[stamp->stage].arrow) {
    case NONE: break;
    case OUT:
      event->peer = row->to[own];
      event->arrow_out = arrow_number(stamp->number, own, 0, event->peer);
      break;
    case BACK_OUT:
      event->peer = row->from[own];
      event->arrow_out = arrow_number(stamp->number, own, 1, event->peer);
      break;
    case IN:
      event->peer = row->from[part];
      event->arrow_in = arrow_number(stamp->number, part, 0, row->pe);
      break;
    case BACK_IN:
      event->peer = row->to[part];
      event->arrow_in = arrow_number(stamp->number, part, 1, row->pe);
      break;
  }
}

void tg_stamps_record(tg_trace* trace, const tg_stamp_row* row, tg_stamp* stamps, size_t count) {
  sort_by_time(stamps, count);
  for (size_t i = 1; i < count; i++) {
    const tg_stamp *stamp = &stamps[i], *before = &stamps[i - 1];
    if (stamp->stage == TG_STAGE_BEGIN || stamp->stage >= TG_STAGE_COUNT) continue;
    int64_t begin = (int64_t)before->time_ns - row->ahead_ns;
    tg_trace_event event = tg_trace_span(row->line, STAGES[stamp->stage].name, begin);
    event.end_ns = (int64_t)stamp->time_ns - row->ahead_ns;
    if (row->channel >= 0 || STAGES[stamp->stage].arrow != NONE) event.part = stamp->part;
    if (stamp->number) event.number = (int64_t)stamp->number;
    set_arrow(&event, row, stamp);
    tg_trace_add(trace, &event);
  }
}
