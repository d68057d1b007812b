/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <unistd.h>

#include "base/file.h"
#include "base/plot.h"
#include "base/scratch.h"

static const char* folder;
static const double X[] = {1, 2, 3, 4}, Y[] = {1, 10, NAN, 1000}, Z[] = {-1, 0, 1, 2};

static int begin(void** state) {
  (void)state;
  folder = scratch_make();
  return 0;
}

static int end(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

static bool gnuplot_is_missing(void) {
  char words[128];
  return tg_plot_program(words, sizeof words) != TG_OK;
}

static int entries_of_scratch(void) {
  char command[600];
  snprintf(command, sizeof command, "exit $(ls -A '%s' | wc -l)", folder);
  return system(command) >> 8;
}

static void pictures_are_drawn(void** state) {
  (void)state;
  if (gnuplot_is_missing()) skip();
  const tg_plot_curve curves[] = {{.label = "it's_a 'label'", .x = X, .y = Y, .count = 4},
                                  {.label = "", .x = X, .y = Z, .count = 4, .panel = 1},
                                  {.x = X, .y = Z, .count = 1, .panel = 1}};
  tg_plot plot = {.title = "Energy & 'drift' <kJ/mol>",
                  .x_label = "time / ps",
                  .curves = curves,
                  .panel_labels = {"upper_axis", "lower_axis"},
                  .curve_count = 3};
  const char* svg = scratch_path(folder, "it's.svg");
  assert_int_equal(tg_plot_write(&plot, svg), TG_OK);
  const char* text = scratch_read(svg);
  assert_non_null(text);
  assert_non_null(strstr(text, "<svg"));
  assert_non_null(strstr(text, "upper_axis")); /* names stand as given, not as markup */
  assert_non_null(strstr(text, "it's_a 'label'"));
  const char* png = scratch_path(folder, "plot.PNG");
  assert_int_equal(tg_plot_write(&plot, png), TG_OK);
  assert_memory_equal(scratch_read(png), "\x89PNG\r\n", 6);
  assert_int_equal(entries_of_scratch(), 2);
}

/* The ticks of a panel stand for its range: two panels whose curves rise by 3 and by 0.003 have the
 * same ones if they share a span, and do not otherwise. */
static void panels_can_share_a_span(void** state) {
  (void)state;
  if (gnuplot_is_missing()) skip();
  const double flat[] = {10, 10.001, 10.002, 10.003};
  const tg_plot_curve curves[] = {{.x = X, .y = Z, .count = 4},
                                  {.x = X, .y = flat, .count = 4, .panel = 1}};
  tg_plot plot = {.title = "t",
                  .x_label = "x",
                  .curves = curves,
                  .panel_labels = {"rises by 3", "rises by 0.003"},
                  .curve_count = 2};
  const char* alone = scratch_path(folder, "alone.svg");
  assert_int_equal(tg_plot_write(&plot, alone), TG_OK);
  const char* text = scratch_read(alone);
  assert_non_null(strstr(text, "10.001"));
  plot.same_span = 1u << 0 | 1u << 1;
  const char* together = scratch_path(folder, "together.svg");
  assert_int_equal(tg_plot_write(&plot, together), TG_OK);
  text = scratch_read(together);
  assert_null(strstr(text, "10.001"));
  assert_non_null(strstr(text, "11<")); /* 10.0015 and 1.65 either way */
  assert_non_null(strstr(text, "9<"));
}

/* Bars stand over their names. */
static void bars_have_names(void** state) {
  (void)state;
  if (gnuplot_is_missing()) skip();
  const double three[] = {30, 3, 300};
  static const char* const names[] = {"2x1x1", "it's", "2x2x2"};
  const tg_plot_curve curves[] = {
      {.label = "bars", .x = X, .y = three, .count = 3, .style = TG_PLOT_BARS, .width = 0.5},
      {.label = "dots", .x = X, .y = three, .count = 3, .style = TG_PLOT_DOTS}};
  tg_plot plot = {.title = "t",
                  .x_label = "x",
                  .panel_labels = {"y"},
                  .curves = curves,
                  .curve_count = 2,
                  .log_y = 1,
                  .x_names = names,
                  .x_name_count = 3};
  const char* svg = scratch_path(folder, "bars.svg");
  assert_int_equal(tg_plot_write(&plot, svg), TG_OK);
  const char* text = scratch_read(svg);
  for (int i = 0; i < 3; i++) assert_non_null(strstr(text, names[i]));
  int boxes = 0;
  for (const char* at = text; (at = strstr(at, "<polygon")); at++) boxes++;
  assert_true(boxes >= 3);
}

/* Numbers stand under the points, once: the panels share them. Large ones at the side are powers.
 */
static void numbers_stand_under_points(void** state) {
  (void)state;
  if (gnuplot_is_missing()) skip();
  const double x[] = {1024, 4096, 65536}, y[] = {3e5, 3e6, 3e7};
  const tg_plot_curve curves[] = {{.x = x, .y = y, .count = 3, .dash = 5},
                                  {.x = x, .y = y, .count = 3, .dash = 6, .panel = 1}};
  tg_plot plot = {.title = "t",
                  .x_label = "x",
                  .panel_labels = {"up", "down"},
                  .curves = curves,
                  .curve_count = 2,
                  .log_x = 1,
                  .log_y = 1,
                  .x_at_points = 1};
  const char* svg = scratch_path(folder, "points.svg");
  assert_int_equal(tg_plot_write(&plot, svg), TG_OK);
  const char* text = scratch_read(svg);
  const char* first = strstr(text, "4096<");
  assert_non_null(first);
  assert_null(strstr(first + 1, "4096<"));
  assert_non_null(strstr(text, "65536<"));
  assert_null(strstr(text, "10000<"));
  assert_null(strstr(text, "1×10"));
}

static void what_cannot_be_drawn_is_refused(void** state) {
  (void)state;
  const tg_plot_curve curve = {.label = "", .x = X, .y = Z, .count = 2};
  tg_plot plot = {.title = "t", .x_label = "x", .curves = &curve, .curve_count = 1};
  int before = entries_of_scratch();
  assert_int_equal(tg_plot_write(&plot, scratch_path(folder, "plot.pdf")), TG_ERR_INPUT);
  plot.log_y = 1; /* -1 and 0 have no logarithm */
  assert_int_equal(tg_plot_write(&plot, scratch_path(folder, "plot.svg")), TG_ERR_INPUT);
  plot.log_y = 0;
  assert_int_equal(tg_plot_write(&plot, scratch_path(folder, "no/plot.svg")), TG_ERR_INPUT);
  assert_int_equal(entries_of_scratch(), before);
}

static void a_missing_gnuplot_is_named(void** state) {
  (void)state;
  char path[4096];
  snprintf(path, sizeof path, "%s", getenv("PATH"));
  setenv("PATH", folder, 1);
  const tg_plot_curve curve = {.label = "", .x = X, .y = Z, .count = 4};
  tg_plot plot = {.title = "t", .x_label = "x", .curves = &curve, .curve_count = 1};
  tg_status status = tg_plot_write(&plot, scratch_path(folder, "absent.svg"));
  setenv("PATH", path, 1);
  assert_int_equal(status, TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "install"));
  assert_false(tg_path_exists(scratch_path(folder, "absent.svg")));
  assert_false(tg_path_exists(scratch_path(folder, "absent.svg.part")));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_drawn),
      cmocka_unit_test(panels_can_share_a_span),
      cmocka_unit_test(bars_have_names),
      cmocka_unit_test(numbers_stand_under_points),
      cmocka_unit_test(what_cannot_be_drawn_is_refused),
      cmocka_unit_test(a_missing_gnuplot_is_named),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
