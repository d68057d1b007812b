/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/trace.h  What happened when: records of spans, and a file of them that Perfetto
 * opens.
 *
 * A tg_trace is one *process* of the picture (a PE, a GPU) with several *lines* (its CPU, a pulse,
 * a stream). One thread writes it, into room made beforehand: recording neither allocates nor
 * locks, and what finds no room is counted. Spans of one line follow each other or nest. Everything
 * takes a NULL trace and then does nothing.
 *
 *     int64_t begin = tg_trace_now(trace);
 *     ... work ...
 *     tg_trace_end(trace, tg_trace_span(0, "work", begin));
 *
 * An *arrow* leads from the end of the span that has its number as `arrow_out` to the end of the
 * span of another process that has it as `arrow_in`: both sides work the number out by themselves.
 *
 * The file is JSON in the trace-event format ("traceEvents" with phases X, i, s, f and M), times in
 * microseconds. Processes belong to *groups*, whose time begins at 0 with their first record, so
 * that groups recorded one after another can be compared. */
#ifndef TG_BASE_TRACE_H
#define TG_BASE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/timer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_TRACE_NAME = 48 };

/** A span, or an instant (end_ns = begin_ns). Numbers that are -1 are left out. */
typedef struct tg_trace_event {
  const char* name; /* constant */
  int64_t begin_ns, end_ns;
  uint64_t arrow_out, arrow_in; /* 0: none */
  int64_t number;               /* of the exchange or step */
  int64_t atoms;
  int line;
  int part; /* pulse or neighbour */
  int peer; /* the other PE */
  bool instant;
} tg_trace_event;

typedef struct tg_trace {
  char name[TG_TRACE_NAME];
  bool paused;
  int line_count;
  char (*line_names)[TG_TRACE_NAME]; /* [line_count] */
  tg_trace_event* events;            /* [count] */
  size_t count, capacity;
  int64_t dropped;              /* events without room, or on a line there is not */
  char (*words)[TG_TRACE_NAME]; /* the events' names where they came from another process */
} tg_trace;

/** Local. Lines are numbered from 0. */
tg_status tg_trace_create(const char* name, int line_count, size_t capacity, tg_trace** out);
/** Local, null-safe, sets NULL. */
void tg_trace_destroy(tg_trace** trace);
/** A line without a name is called "line N". */
void tg_trace_name_line(tg_trace* trace, int line, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

void tg_trace_add(tg_trace* trace, const tg_trace_event* event);

/** When a span begins; 0, which records nothing later, where nothing is to be recorded. */
static inline int64_t tg_trace_now(const tg_trace* trace) {
  return trace && !trace->paused ? tg_time_now_ns() : 0;
}

static inline tg_trace_event tg_trace_span(int line, const char* name, int64_t begin_ns) {
  tg_trace_event event;
  event.name = name;
  event.begin_ns = event.end_ns = begin_ns;
  event.arrow_out = event.arrow_in = 0;
  event.number = event.atoms = -1;
  event.line = line;
  event.part = event.peer = -1;
  event.instant = false;
  return event;
}

/** Records a span that ends now. */
static inline void tg_trace_end(tg_trace* trace, tg_trace_event event) {
  if (!trace || trace->paused || event.begin_ns == 0) return;
  event.end_ns = tg_time_now_ns();
  tg_trace_add(trace, &event);
}

typedef struct tg_trace_group {
  const char* name;        /* what its processes' names begin with; "": nothing */
  tg_trace* const* traces; /* [count] */
  int count;
} tg_trace_group;

/** Facts about the recording, written as "otherData" of the file. */
enum { TG_TRACE_NOTES = 48, TG_TRACE_NOTE_TEXT = 200 };
typedef struct tg_trace_notes {
  int count;
  char key[TG_TRACE_NOTES][TG_TRACE_NAME];
  char text[TG_TRACE_NOTES][TG_TRACE_NOTE_TEXT];
} tg_trace_notes;
/** One that finds no room is left out. */
void tg_trace_note(tg_trace_notes* notes, const char* key, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

/** Writes a file (atomically). Arrows that lack an end are left out; how many there are, how many
 * end before they begin (the clocks' error), and how many events were dropped, is noted. notes may
 * be NULL. */
tg_status tg_trace_write(const char* path, const tg_trace_group* groups, int group_count,
                         const tg_trace_notes* notes);

#ifdef __cplusplus
}
#endif
#endif
