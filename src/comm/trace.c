/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/trace.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum { ROUNDS = 50, MACHINE = 40 };

/* A trace on its way: this, the lines' names, the events, the events' names; then the next. */
typedef struct header {
  char name[TG_TRACE_NAME];
  int line_count;
  uint64_t count;
  int64_t dropped;
} header;

/* What tells machines apart: the kernel's number of this boot. */
static void machine_name(char name[MACHINE]) {
  memset(name, 0, MACHINE);
  FILE* stream = fopen("/proc/sys/kernel/random/boot_id", "r");
  if (!stream) return;
  size_t length = fread(name, 1, MACHINE - 1, stream);
  name[length] = '\0';
  fclose(stream);
}

/* Collective. offset_ns: of PE p's clock over PE 0's; error_ns: how far it may be off; PE 0 only.
 */
static tg_status compare_clocks(tg_world* world, int p, int64_t* offset_ns, int64_t* error_ns) {
  int self = tg_world_pe(world);
  *error_ns = INT64_MAX;
  if (self != 0 && self != p) return TG_OK;
  int other = self == 0 ? p : 0;
  for (int round = 0; round < ROUNDS; round++) {
    int64_t mine = 0, theirs = 0, before = tg_time_now_ns();
    TG_TRY(tg_world_exchange(world, other, NULL, 0, other, NULL, 0));
    if (self == p) mine = tg_time_now_ns();
    TG_TRY(tg_world_exchange(world, other, &mine, sizeof mine, other, &theirs, sizeof theirs));
    int64_t after = tg_time_now_ns(), error = (after - before) / 2;
    if (error >= *error_ns) continue;
    *error_ns = error;
    *offset_ns = theirs - before - error;
  }
  return TG_OK;
}

/* Collective: offsets at PE 0, [pe_count]. */
static tg_status find_offsets(tg_world* world, tg_trace_notes* notes, int64_t* offsets) {
  char machine[MACHINE], first[MACHINE], key[TG_TRACE_NAME];
  machine_name(machine);
  memcpy(first, machine, sizeof first);
  TG_TRY(tg_world_broadcast(world, 0, first, sizeof first));
  for (int p = 1; p < tg_world_pe_count(world); p++) {
    int64_t same = tg_world_pe(world) != p || memcmp(first, machine, sizeof first) == 0 ? 0 : 1;
    TG_TRY(tg_world_max_int64(world, &same, 1));
    if (!same) continue; /* 0: one machine, one clock */
    int64_t error = 0;
    TG_TRY(compare_clocks(world, p, &offsets[p], &error));
    if (tg_world_pe(world) != 0 || !notes) continue;
    snprintf(key, sizeof key, "clock of PE %d", p);
    tg_trace_note(notes, key, "%.3f us ahead of PE 0's, to within %.3f us",
                  (double)offsets[p] / 1000, (double)error / 1000);
  }
  return TG_OK;
}

static tg_status pack(const tg_trace* trace, char** out, size_t* bytes) {
  header head = {.line_count = trace->line_count, .count = trace->count, .dropped = trace->dropped};
  memcpy(head.name, trace->name, sizeof head.name);
  size_t lines = (size_t)trace->line_count * sizeof *trace->line_names;
  size_t events = trace->count * sizeof *trace->events;
  *bytes = sizeof head + lines + events + trace->count * sizeof *trace->words;
  TG_TRY(tg_allocate(*bytes, 1, "a trace", (void**)out));
  char* at = *out;
  memcpy(at, &head, sizeof head);
  memcpy(at += sizeof head, trace->line_names, lines);
  at += lines;
  if (events) memcpy(at, trace->events, events);
  at += events;
  for (size_t i = 0; i < trace->count; i++, at += sizeof *trace->words)
    snprintf(at, sizeof *trace->words, "%s", trace->events[i].name);
  return TG_OK;
}

/* Moves *at on to the next trace. */
static tg_status unpack(const char** at, int64_t offset_ns, tg_trace** out) {
  header head;
  memcpy(&head, *at, sizeof head);
  *at += sizeof head;
  tg_trace* trace = NULL;
  TG_TRY(tg_trace_create(head.name, head.line_count, (size_t)head.count, &trace));
  *out = trace; /* released by the caller, half-made or not */
  trace->count = (size_t)head.count;
  trace->dropped = head.dropped;
  TG_TRY(TG_ALLOCATE(trace->count, "a trace", &trace->words));
  size_t lines = (size_t)trace->line_count * sizeof *trace->line_names;
  size_t events = trace->count * sizeof *trace->events;
  memcpy(trace->line_names, *at, lines);
  *at += lines;
  if (events) {
    memcpy(trace->events, *at, events);
    memcpy(trace->words, *at + events, trace->count * sizeof *trace->words);
  }
  *at += events + trace->count * sizeof *trace->words;
  for (size_t i = 0; i < trace->count; i++) {
    trace->events[i].name = trace->words[i];
    trace->events[i].begin_ns -= offset_ns;
    trace->events[i].end_ns -= offset_ns;
  }
  return TG_OK;
}

tg_status tg_trace_gather(tg_world* world, const tg_trace* mine, tg_trace_notes* notes,
                          tg_gathered_traces* out) {
  int pe_count = tg_world_pe_count(world);
  char* packed = NULL;
  void* gathered = NULL;
  int64_t* offsets = NULL;
  size_t bytes = 0, capacity = 0;
  bool root = tg_world_pe(world) == 0;
  *out = (tg_gathered_traces){NULL, 0};
  tg_status status = TG_ALLOCATE((size_t)pe_count, "traces", &offsets);
  if (status == TG_OK && root) status = TG_ALLOCATE((size_t)pe_count, "traces", &out->traces);
  if (status == TG_OK) status = pack(mine, &packed, &bytes);
  TG_TRY_GOTO(tg_world_agree(world, status), end);
  TG_TRY_GOTO(find_offsets(world, notes, offsets), end);
  TG_TRY_GOTO(tg_world_gather(world, 0, packed, bytes, &gathered, &capacity, NULL), end);
  const char* at = gathered;
  for (; root && out->count < pe_count && status == TG_OK; out->count++)
    status = unpack(&at, offsets[out->count], &out->traces[out->count]);
  status = tg_world_agree(world, status);
end:
  tg_free(packed);
  tg_free(gathered);
  tg_free(offsets);
  if (status != TG_OK) tg_gathered_traces_free(out);
  return status;
}

void tg_gathered_traces_free(tg_gathered_traces* gathered) {
  for (int i = 0; i < gathered->count; i++) tg_trace_destroy(&gathered->traces[i]);
  TG_FREE(gathered->traces);
  gathered->count = 0;
}
