/* SPDX-License-Identifier: Apache-2.0 */
/* The table of schedules, and the calls that go through it. */
#include <string.h>

#include "halo/internal.h"

static const tg_halo_schedule* const schedules[] = {
    &tg_halo_schedule_host,
    &tg_halo_schedule_pulse,
    &tg_halo_schedule_fused,
    &tg_halo_schedule_direct,
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

const tg_halo_schedule* tg_halo_schedule_find(const char* name) {
  if (!name) return &tg_halo_schedule_pulse; /* docs/performance.md says why */
  for (size_t i = 0; i < SCHEDULES; i++)
    if (strcmp(name, schedules[i]->name) == 0) return schedules[i];
  return NULL;
}

const char* tg_halo_schedule_name(int number) {
  return number >= 0 && number < SCHEDULES ? schedules[number]->name : NULL;
}

const char* tg_halo_schedule_of(const tg_halo* halo) { return halo->schedule->name; }

static tg_status move(tg_halo* halo, const tg_halo_data* data, bool up) {
  int64_t begin = tg_trace_now(halo->trace);
  tg_status status = up ? halo->schedule->up(halo, data) : halo->schedule->down(halo, data);
  tg_world_note(halo->world, NULL, 0, 0);
  if (halo->trace) {
    const char* name = up ? "exchange of forces" : "exchange of positions";
    tg_trace_event event = tg_trace_span(TG_HALO_TRACE_CPU, name, begin);
    event.number = halo->counters.exchanges;
    tg_trace_end(halo->trace, event);
  }
  return status;
}

/* Whether there is something to exchange, and a place for it. All PEs have a plan or none has, so
 * all fail alike without one; an array is one PE's own fault, and the others must not wait for it.
 */
static tg_status check(const tg_halo* halo, const void* array, size_t size) {
  if (!halo)
    return tg_fail(TG_ERR_INPUT, "halo exchange: no halo (NULL); call tg_halo_create first");
  if (!halo->planned)
    return tg_fail(TG_ERR_INPUT,
                   "halo exchange: PE %d has no plan (none was made, or the last one failed); call "
                   "tg_halo_plan first",
                   tg_world_pe(halo->world));
  if (array || !halo->local_count || !size) return TG_OK;
  tg_status status =
      tg_fail(TG_ERR_INPUT, "halo exchange: PE %d gave no array (NULL) for its %zu local atoms",
              tg_world_pe(halo->world), halo->local_count);
  tg_world_abort(halo->world, status);
  return status;
}

tg_status tg_halo_copy(tg_halo* halo, void* array, size_t size) {
  TG_TRY(check(halo, array, size));
  tg_halo_data data = {.base = array, .stride = size, .size = size, .what = "halo copy, part"};
  halo->counters.exchanges++;
  if (!halo->schedule->symmetric) return move(halo, &data, false);
  /* slots are sized for positions: larger elements go in parts */
  for (size_t done = 0; done < size; done += TG_HALO_ELEMENT) {
    data.base = (char*)array + done;
    data.size = size - done < TG_HALO_ELEMENT ? size - done : TG_HALO_ELEMENT;
    TG_TRY(move(halo, &data, false));
  }
  return TG_OK;
}

static tg_status vectors(tg_halo* halo, void* base, tg_halo_kind kind, bool up) {
  size_t size = kind == TG_HALO_DOUBLE3 ? 3 * sizeof(double) : 3 * sizeof(float);
  TG_TRY(check(halo, base, size));
  tg_halo_data data = {.base = base,
                       .stride = size,
                       .size = size,
                       .kind = kind,
                       .shifted = !up,
                       .what = halo->schedule->direct
                                   ? (up ? "halo forces, neighbour" : "halo positions, neighbour")
                                   : (up ? "halo forces, pulse" : "halo positions, pulse")};
  halo->counters.exchanges++;
  return move(halo, &data, up);
}

tg_status tg_halo_positions(tg_halo* halo, double (*x)[3]) {
  return vectors(halo, x, TG_HALO_DOUBLE3, false);
}

tg_status tg_halo_positions_float(tg_halo* halo, float (*x)[3]) {
  return vectors(halo, x, TG_HALO_FLOAT3, false);
}

tg_status tg_halo_forces(tg_halo* halo, double (*f)[3]) {
  return vectors(halo, f, TG_HALO_DOUBLE3, true);
}

tg_status tg_halo_forces_float(tg_halo* halo, float (*f)[3]) {
  return vectors(halo, f, TG_HALO_FLOAT3, true);
}

void tg_halo_trace(tg_halo* halo, tg_trace* trace) {
  const char* part = halo->schedule->direct ? "neighbour" : "pulse";
  halo->trace = trace;
  tg_trace_name_line(trace, TG_HALO_TRACE_CPU, "CPU");
  for (int i = 0; TG_HALO_TRACE_PARTS + i < TG_HALO_TRACE_LINES; i++)
    tg_trace_name_line(trace, TG_HALO_TRACE_PARTS + i, "%s %d", part, i);
}

tg_halo_counters tg_halo_counters_read(const tg_halo* halo) { return halo->counters; }
