/* SPDX-License-Identifier: Apache-2.0 */
#include "base/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

tg_status tg_trace_create(const char* name, int line_count, size_t capacity, tg_trace** out) {
  tg_trace* trace = NULL;
  TG_TRY(TG_ALLOCATE(1, "a trace", &trace));
  snprintf(trace->name, sizeof trace->name, "%s", name);
  trace->line_count = line_count;
  trace->capacity = capacity;
  tg_status status = TG_ALLOCATE((size_t)line_count, "a trace", &trace->line_names);
  if (status == TG_OK) status = TG_ALLOCATE(capacity, "a trace", &trace->events);
  if (status != TG_OK)
    tg_trace_destroy(&trace);
  else
    *out = trace;
  return status;
}

void tg_trace_destroy(tg_trace** pointer) {
  tg_trace* trace = *pointer;
  if (!trace) return;
  tg_free(trace->line_names);
  tg_free(trace->events);
  tg_free(trace->words);
  TG_FREE(*pointer);
}

void tg_trace_name_line(tg_trace* trace, int line, const char* format, ...) {
  if (!trace || line < 0 || line >= trace->line_count) return;
  va_list args;
  va_start(args, format);
  vsnprintf(trace->line_names[line], sizeof trace->line_names[line], format, args);
  va_end(args);
}

void tg_trace_add(tg_trace* trace, const tg_trace_event* event) {
  if (!trace || trace->paused) return;
  if (trace->count == trace->capacity || event->line < 0 || event->line >= trace->line_count)
    trace->dropped++;
  else
    trace->events[trace->count++] = *event;
}

void tg_trace_note(tg_trace_notes* notes, const char* key, const char* format, ...) {
  if (notes->count == TG_TRACE_NOTES) return;
  int i = notes->count++;
  snprintf(notes->key[i], sizeof notes->key[i], "%s", key);
  va_list args;
  va_start(args, format);
  vsnprintf(notes->text[i], sizeof notes->text[i], format, args);
  va_end(args);
}

/* One end of an arrow. */
typedef struct arrow_end {
  uint64_t number;
  int64_t at_ns;
} arrow_end;

/* A file being written. */
typedef struct writer {
  tg_json json;
  int group;
  int64_t origin_ns;   /* of the group */
  arrow_end *out, *in; /* [out_count], [in_count], by number: of the group */
  size_t out_count, in_count, out_room, in_room;
  long long arrows, backwards, dropped;
} writer;

static double microseconds(const writer* w, int64_t at_ns) {
  return (double)(at_ns - w->origin_ns) / 1000;
}

static int by_number(const void* a, const void* b) {
  uint64_t x = ((const arrow_end*)a)->number, y = ((const arrow_end*)b)->number;
  return (x > y) - (x < y);
}

/* By time; a span before those inside it. */
static int by_time(const void* a, const void* b) {
  const tg_trace_event *x = a, *y = b;
  if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static const arrow_end* find_end(uint64_t number, const arrow_end* ends, size_t count) {
  if (!number || !count) return NULL;
  arrow_end key = {.number = number};
  return bsearch(&key, ends, count, sizeof *ends, by_number);
}

/* Origin and arrows of a group. */
static tg_status survey(writer* w, const tg_trace_group* group) {
  bool any = false;
  w->origin_ns = 0;
  w->out_count = w->in_count = 0;
  for (int t = 0; t < group->count; t++) {
    tg_trace* trace = group->traces[t];
    w->dropped += trace->dropped;
    if (trace->count) qsort(trace->events, trace->count, sizeof *trace->events, by_time);
    for (size_t i = 0; i < trace->count; i++) {
      const tg_trace_event* e = &trace->events[i];
      if (!any || e->begin_ns < w->origin_ns) w->origin_ns = e->begin_ns;
      any = true;
      if (e->arrow_out) {
        TG_TRY(TG_RESERVE(w->out_count + 1, "arrows", &w->out, &w->out_room));
        w->out[w->out_count++] = (arrow_end){e->arrow_out, e->end_ns};
      }
      if (e->arrow_in) {
        TG_TRY(TG_RESERVE(w->in_count + 1, "arrows", &w->in, &w->in_room));
        w->in[w->in_count++] = (arrow_end){e->arrow_in, e->end_ns};
      }
    }
  }
  if (w->out_count) qsort(w->out, w->out_count, sizeof *w->out, by_number);
  if (w->in_count) qsort(w->in, w->in_count, sizeof *w->in, by_number);
  return TG_OK;
}

/* Lines get numbers that no process and no line of another process has: viewers take a thread
 * with its process's number for the main one. Line -1: none. */
static void begin_event(writer* w, const char* phase, const char* name, int process, int line) {
  tg_json_open_object(&w->json, NULL);
  tg_json_text(&w->json, "ph", phase);
  tg_json_text(&w->json, "name", name);
  tg_json_int(&w->json, "pid", process);
  tg_json_int(&w->json, "tid", line < 0 ? process : (long long)process * 10000 + line);
}

/* Names and order of a process and its lines. */
static void write_names(writer* w, const tg_trace_group* group, const tg_trace* trace, int process,
                        const bool* used) {
  char text[2 * TG_TRACE_NAME + 64];
  snprintf(text, sizeof text, "%.*s%s%s", TG_TRACE_NAME + 60, group->name, *group->name ? ": " : "",
           trace->name);
  begin_event(w, "M", "process_name", process, -1);
  tg_json_open_object(&w->json, "args");
  tg_json_text(&w->json, "name", text);
  tg_json_close_object(&w->json);
  tg_json_close_object(&w->json);
  begin_event(w, "M", "process_sort_index", process, -1);
  tg_json_open_object(&w->json, "args");
  tg_json_int(&w->json, "sort_index", process);
  tg_json_close_object(&w->json);
  tg_json_close_object(&w->json);
  for (int line = 0; line < trace->line_count; line++) {
    if (!used[line]) continue;
    snprintf(text, sizeof text, "line %d", line);
    begin_event(w, "M", "thread_name", process, line);
    tg_json_open_object(&w->json, "args");
    tg_json_text(&w->json, "name", *trace->line_names[line] ? trace->line_names[line] : text);
    tg_json_close_object(&w->json);
    tg_json_close_object(&w->json);
    begin_event(w, "M", "thread_sort_index", process, line);
    tg_json_open_object(&w->json, "args");
    tg_json_int(&w->json, "sort_index", line);
    tg_json_close_object(&w->json);
    tg_json_close_object(&w->json);
  }
}

/* One end of an arrow; phase s or f. Viewers tie s to the span it lies in, f to the next one. */
static void write_arrow_end(writer* w, const char* phase, uint64_t number, int64_t at_ns,
                            int process, int line) {
  char id[48];
  snprintf(id, sizeof id, "%d:%llx", w->group, (unsigned long long)number);
  begin_event(w, phase, "arrow", process, line);
  tg_json_text(&w->json, "cat", "arrow");
  tg_json_text(&w->json, "id", id);
  tg_json_double(&w->json, "ts", microseconds(w, at_ns));
  tg_json_close_object(&w->json);
}

static void write_args(tg_json* json, const tg_trace_event* e) {
  tg_json_open_object(json, "args");
  if (e->number >= 0) tg_json_int(json, "number", e->number);
  if (e->part >= 0) tg_json_int(json, "part", e->part);
  if (e->peer >= 0) tg_json_int(json, "peer", e->peer);
  if (e->atoms >= 0) tg_json_int(json, "atoms", e->atoms);
  tg_json_close_object(json);
}

static void write_event(writer* w, const tg_trace_event* e, int process) {
  const arrow_end* to = find_end(e->arrow_out, w->in, w->in_count);
  const arrow_end* from = find_end(e->arrow_in, w->out, w->out_count);
  int64_t took = e->end_ns - e->begin_ns;
  if (took <= 0) took = to ? 1 : 0; /* an arrow needs a span to come from */
  begin_event(w, e->instant ? "i" : "X", e->name, process, e->line);
  tg_json_double(&w->json, "ts", microseconds(w, e->begin_ns));
  if (e->instant)
    tg_json_text(&w->json, "s", "t");
  else
    tg_json_double(&w->json, "dur", (double)took / 1000);
  write_args(&w->json, e);
  tg_json_close_object(&w->json);
  if (to) {
    w->arrows++;
    /* The flag rose at some time within the event: only before it is too early. */
    if (to->at_ns < e->begin_ns) w->backwards++;
    write_arrow_end(w, "s", e->arrow_out, e->begin_ns, process, e->line);
  }
  if (!from) return;
  write_arrow_end(w, "f", e->arrow_in, e->end_ns, process, e->line);
  tg_trace_event arrived = *e;
  arrived.begin_ns = e->end_ns;
  begin_event(w, "i", "arrived", process, e->line);
  tg_json_double(&w->json, "ts", microseconds(w, e->end_ns));
  tg_json_text(&w->json, "s", "t");
  write_args(&w->json, &arrived);
  tg_json_close_object(&w->json);
}

static tg_status write_groups(writer* w, const tg_trace_group* groups, int group_count) {
  int process = 0;
  for (w->group = 0; w->group < group_count; w->group++) {
    const tg_trace_group* group = &groups[w->group];
    TG_TRY(survey(w, group));
    for (int t = 0; t < group->count; t++) {
      const tg_trace* trace = group->traces[t];
      bool* used = NULL;
      TG_TRY(TG_ALLOCATE((size_t)trace->line_count, "a trace", &used));
      for (size_t i = 0; i < trace->count; i++) used[trace->events[i].line] = true;
      write_names(w, group, trace, ++process, used);
      tg_free(used);
      for (size_t i = 0; i < trace->count; i++) write_event(w, &trace->events[i], process);
    }
  }
  return TG_OK;
}

static void write_notes(writer* w, const tg_trace_notes* notes) {
  tg_json_open_object(&w->json, "otherData");
  tg_json_text(&w->json, "program", "throng " TG_VERSION);
  tg_json_int(&w->json, "arrows", w->arrows);
  tg_json_int(&w->json, "arrows that end before they begin", w->backwards);
  tg_json_int(&w->json, "events dropped", w->dropped);
  for (int i = 0; notes && i < notes->count; i++)
    tg_json_text(&w->json, notes->key[i], notes->text[i]);
  tg_json_close_object(&w->json);
}

tg_status tg_trace_write(const char* path, const tg_trace_group* groups, int group_count,
                         const tg_trace_notes* notes) {
  tg_new_file file;
  writer w = {0};
  TG_TRY(tg_new_file_open(path, &file));
  w.json = tg_json_on(file.stream, false);
  tg_json_open_object(&w.json, NULL);
  tg_json_text(&w.json, "displayTimeUnit", "ns");
  tg_json_open_array(&w.json, "traceEvents");
  tg_status status = write_groups(&w, groups, group_count);
  tg_json_close_array(&w.json);
  write_notes(&w, notes);
  tg_json_close_object(&w.json);
  tg_free(w.out);
  tg_free(w.in);
  if (status == TG_OK) return tg_new_file_commit(&file);
  tg_new_file_abandon(&file);
  return status;
}
