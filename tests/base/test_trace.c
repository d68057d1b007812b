/* SPDX-License-Identifier: Apache-2.0 */
/* Records of spans, and the file made of them, read back by a reader of its own. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/trace.h"
#include "scratch.h"

static tg_trace* make(const char* name, size_t capacity) {
  tg_trace* trace = NULL;
  assert_int_equal(tg_trace_create(name, 3, capacity, &trace), TG_OK);
  return trace;
}

/* A span at chosen times. */
static void add(tg_trace* trace, int line, const char* name, int64_t begin, int64_t end,
                uint64_t out, uint64_t in) {
  tg_trace_event event = tg_trace_span(line, name, begin);
  event.end_ns = end;
  event.arrow_out = out;
  event.arrow_in = in;
  tg_trace_add(trace, &event);
}

static void nothing_is_recorded_without_a_trace(void** state) {
  (void)state;
  assert_int_equal(tg_trace_now(NULL), 0);
  tg_trace_end(NULL, tg_trace_span(0, "work", 1));
  tg_trace_add(NULL, &(tg_trace_event){.name = "work"});
  tg_trace_name_line(NULL, 0, "CPU");
  tg_trace* trace = make("a", 2);
  trace->paused = true;
  assert_int_equal(tg_trace_now(trace), 0);
  tg_trace_end(trace, tg_trace_span(0, "work", 1));
  trace->paused = false;
  tg_trace_end(trace, tg_trace_span(0, "began while paused", 0));
  assert_true(trace->count == 0 && trace->dropped == 0);
  tg_trace_destroy(&trace);
  assert_null(trace);
  tg_trace_destroy(&trace);
}

static void what_finds_no_room_is_counted(void** state) {
  (void)state;
  tg_trace* trace = make("a", 2);
  for (int i = 0; i < 5; i++) {
    int64_t begin = tg_trace_now(trace);
    assert_true(begin > 0);
    tg_trace_end(trace, tg_trace_span(i % 3, "work", begin));
  }
  add(trace, 3, "beyond the last line", 1, 2, 0, 0);
  assert_true(trace->count == 2 && trace->dropped == 4);
  for (size_t i = 0; i < 2; i++) assert_true(trace->events[i].begin_ns <= trace->events[i].end_ns);
  tg_trace_destroy(&trace);
}

/* The object of the file that holds all of the words, as text; they are few and flat but for args.
 */
static const char* object(const char* text, const char* a, const char* b) {
  static char found[512];
  for (const char* at = strstr(text, "{\"ph\": "); at; at = strstr(at + 1, "{\"ph\": ")) {
    const char* next = strstr(at + 1, "{\"ph\": ");
    size_t length = next ? (size_t)(next - at) : strlen(at);
    if (length >= sizeof found) length = sizeof found - 1;
    memcpy(found, at, length);
    found[length] = '\0';
    if (strstr(found, a) && strstr(found, b)) return found;
  }
  return NULL;
}

static double number(const char* in, const char* key) {
  assert_non_null(in);
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(in, quoted);
  assert_non_null(at);
  return strtod(at + strlen(quoted), NULL);
}

static int count_of(const char* text, const char* word) {
  int count = 0;
  for (const char* at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
  return count;
}

/* Braces and brackets close in their order; there is no text with such letters here. */
static void assert_well_formed(const char* text) {
  char open[64] = {0};
  int depth = 0;
  for (; *text; text++) {
    if (*text == '{' || *text == '[') {
      assert_true(depth < 64);
      open[depth++] = *text == '{' ? '}' : ']';
    }
    if (*text == '}' || *text == ']') {
      assert_true(depth > 0);
      assert_int_equal(open[--depth], *text);
    }
  }
  assert_int_equal(depth, 0);
}

static void the_file_says_what_was_recorded(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "trace.json");
  tg_trace *a = make("PE 0", 8), *b = make("PE 1", 8), *later = make("PE 0", 8);
  tg_trace_name_line(a, 0, "CPU");
  tg_trace_name_line(a, 1, "pulse %d", 0);
  /* recorded when they end: the inner one first */
  add(a, 0, "inner", 5200, 5300, 0, 0);
  add(a, 0, "outer", 5000, 6500, 0, 0);
  add(a, 1, "raise", 5100, 5150, 7, 0);
  add(a, 1, "raise for nobody", 5160, 5170, 8, 0);
  add(b, 1, "wait", 4500, 5400, 0, 7);
  add(b, 1, "unpack", 5400, 5500, 0, 0);
  add(b, 1, "wait for nobody", 5600, 5700, 0, 9);
  tg_trace_event mark = tg_trace_span(1, "mark", 5750);
  mark.instant = true;
  mark.part = 0;
  mark.number = 12;
  tg_trace_add(b, &mark);
  add(later, 0, "raise", 900000, 900001, 7, 0); /* the same number in another group */
  tg_trace* first[] = {a, b};
  tg_trace* second[] = {later};
  tg_trace_group groups[] = {{"one", first, 2}, {"two", second, 1}};
  tg_trace_notes* notes = NULL;
  assert_int_equal(TG_ALLOCATE(1, "notes", &notes), TG_OK);
  tg_trace_note(notes, "clock", "of %s", "this machine");
  assert_int_equal(tg_trace_write(path, groups, 2, notes), TG_OK);
  const char* text = scratch_read(path);
  assert_non_null(text);
  assert_well_formed(text);
  assert_non_null(object(text, "process_name", "one: PE 1"));
  assert_non_null(object(text, "thread_name", "pulse 0"));
  assert_non_null(object(text, "thread_name", "line 1")); /* of b, where it has no name */
  assert_null(object(text, "thread_name", "line 2"));     /* nothing is on it */
  assert_true(strstr(text, "\"outer\"") < strstr(text, "\"inner\"")); /* an outer span first */
  /* the group's time begins with its first record */
  assert_true(fabs(number(object(text, "\"X\"", "\"wait\""), "ts")) < 1e-9);
  assert_true(fabs(number(object(text, "\"X\"", "\"outer\""), "ts") - 0.5) < 1e-9);
  assert_true(fabs(number(object(text, "\"X\"", "\"outer\""), "dur") - 1.5) < 1e-9);
  assert_true(number(object(text, "\"i\"", "\"mark\""), "number") == 12);
  /* one arrow: the others lack an end; it ends where the wait does, before what follows */
  assert_int_equal(count_of(text, "\"ph\": \"s\""), 1);
  assert_int_equal(count_of(text, "\"ph\": \"f\""), 1);
  assert_int_equal(count_of(text, "\"id\": \"0:7\""), 2);
  assert_true(fabs(number(object(text, "\"f\"", "\"arrow\""), "ts") - 0.9) < 1e-9);
  assert_true(fabs(number(object(text, "\"i\"", "\"arrived\""), "ts") - 0.9) < 1e-9);
  assert_true(strstr(text, "\"arrived\"") < strstr(text, "\"unpack\""));
  assert_true(number(text, "arrows") == 1 && number(text, "events dropped") == 0);
  assert_true(number(text, "arrows that end before they begin") == 0);
  assert_non_null(strstr(text, "\"clock\": \"of this machine\""));
  tg_free(notes);
  tg_trace_destroy(&a);
  tg_trace_destroy(&b);
  tg_trace_destroy(&later);
  scratch_remove(folder);
}

static void clocks_that_disagree_are_told(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "trace.json");
  tg_trace *a = make("a", 1), *b = make("b", 1);
  add(a, 0, "raise", 2000, 3000, 5, 0);
  add(b, 0, "wait", 1000, 1900, 0, 5); /* over before the flag can have risen */
  add(a, 0, "raise", 4000, 5000, 6, 0);
  add(b, 0, "wait", 3000, 4500, 0, 6); /* while it is raised: in time */
  tg_trace* both[] = {a, b};
  tg_trace_group group = {"", both, 2};
  assert_int_equal(tg_trace_write(path, &group, 1, NULL), TG_OK);
  const char* text = scratch_read(path);
  assert_true(number(text, "arrows that end before they begin") == 1);
  assert_int_equal(tg_trace_write(scratch_path(folder, "no/such/folder"), &group, 1, NULL),
                   TG_ERR_INPUT);
  tg_trace_destroy(&a);
  tg_trace_destroy(&b);
  scratch_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_recorded_without_a_trace),
      cmocka_unit_test(what_finds_no_room_is_counted),
      cmocka_unit_test(the_file_says_what_was_recorded),
      cmocka_unit_test(clocks_that_disagree_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
