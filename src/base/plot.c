/* SPDX-License-Identifier: Apache-2.0 */
/* The script and gnuplot's words are unnamed temporary files, handed over as its standard input and
 * error: nothing can be left behind. The picture is drawn beside its place and renamed, so that it
 * is whole or absent. */
#include "base/plot.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

enum { MOST_PANELS = sizeof((tg_plot*)0)->panel_labels / sizeof(char*) };
enum { MOST_NUMBERS = 12, DASHES = 5 };

/* A gnuplot string in single quotes, where only the quote itself is special. */
static void write_quoted(FILE* script, const char* text) {
  fputc('\'', script);
  for (; text && *text; text++) {
    if (*text == '\'') fputc('\'', script);
    fputc((unsigned char)*text < ' ' ? ' ' : *text, script);
  }
  fputc('\'', script);
}

static int count_panels(const tg_plot* plot) {
  int count = 0;
  while (count < MOST_PANELS && plot->panel_labels[count]) count++;
  return count > 0 ? count : 1;
}

static bool ends_in(const char* path, const char* ending) {
  const char* dot = strrchr(path, '.');
  return dot && tg_compare_nocase(dot, ending) == 0;
}

tg_status tg_plot_check_name(const char* path) {
  if (ends_in(path, ".png") || ends_in(path, ".svg")) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "%s: a plot's name must end in .svg or .png", path);
}

static tg_status check_plot(const tg_plot* plot, const char* path, bool* png) {
  TG_TRY(tg_plot_check_name(path));
  *png = ends_in(path, ".png");
  int drawn[MOST_PANELS] = {0};
  for (int i = 0; i < plot->curve_count; i++) {
    const tg_plot_curve* curve = &plot->curves[i];
    if (curve->panel < 0 || curve->panel >= count_panels(plot))
      return tg_fail(TG_ERR_INTERNAL, "%s: curve %d is for panel %d of %d", path, i, curve->panel,
                     count_panels(plot));
    for (size_t p = 0; p < curve->count; p++)
      if (isfinite(curve->x[p]) && isfinite(curve->y[p]) && (!plot->log_x || curve->x[p] > 0) &&
          (!plot->log_y || curve->y[p] > 0))
        drawn[curve->panel]++;
  }
  for (int panel = 0; panel < count_panels(plot); panel++)
    if (!drawn[panel])
      return tg_fail(TG_ERR_INPUT, "%s: panel %d of the plot has no point that can be drawn", path,
                     panel + 1);
  return TG_OK;
}

static void write_data(FILE* script, const tg_plot* plot) {
  for (int i = 0; i < plot->curve_count; i++) {
    const tg_plot_curve* curve = &plot->curves[i];
    fprintf(script, "$curve%d << end_of_curve\n", i);
    for (size_t p = 0; p < curve->count; p++) {
      /* a gap, by gnuplot's rules, is an empty line */
      if (isfinite(curve->x[p]) && isfinite(curve->y[p]))
        fprintf(script, "%.9g %.9g\n", curve->x[p], curve->y[p]);
      else
        fputc('\n', script);
    }
    fputs("end_of_curve\n", script);
  }
}

static bool shares_span(const tg_plot* plot, int panel) {
  return !plot->log_y && (plot->same_span >> panel & 1);
}

/* The least and the greatest y of a panel; false if they are the same or there are none. */
static bool find_extent(const tg_plot* plot, int panel, double* low, double* high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (int i = 0; i < plot->curve_count; i++)
    for (size_t p = 0; plot->curves[i].panel == panel && p < plot->curves[i].count; p++) {
      double y = plot->curves[i].y[p];
      if (!isfinite(y)) continue;
      *low = fmin(*low, y);
      *high = fmax(*high, y);
    }
  return *low < *high;
}

static void write_y_range(FILE* script, const tg_plot* plot, int panel, int panels) {
  double low, high, span = 0;
  for (int other = 0; other < panels; other++)
    if (shares_span(plot, other) && find_extent(plot, other, &low, &high))
      span = fmax(span, high - low);
  find_extent(plot, panel, &low, &high);
  if (shares_span(plot, panel) && span > 0 && isfinite(low)) {
    double middle = 0.5 * (low + high), half = 0.55 * span; /* a twentieth stays free at each end */
    fprintf(script, "set yrange [%.17g:%.17g]\n", middle - half, middle + half);
  } else {
    fputs("set yrange [*:*]\n", script);
  }
}

/* gnuplot has five dashes: curves beyond these have marks as well. A single point is a mark. */
static void write_style(FILE* script, const tg_plot_curve* curve, int colour) {
  const int dash = curve->dash > 0 ? curve->dash - 1 : 0;
  if (curve->style == TG_PLOT_BARS)
    fprintf(script, ":(%.9g) with boxes linetype %d fillstyle solid 1 noborder ", curve->width,
            colour);
  else if (curve->style == TG_PLOT_DOTS)
    fputs(" with points pointtype 7 pointsize 0.7 linecolor rgb 'black' ", script);
  else if (curve->count <= 1)
    fprintf(script, " with points linetype %d pointtype %d ", colour, dash + 1);
  else if (dash >= DASHES)
    fprintf(script, " with linespoints linetype %d linewidth 2 dashtype %d pointtype %d ", colour,
            dash % DASHES + 1, dash / DASHES + 5);
  else
    fprintf(script, " with lines linetype %d linewidth 2 dashtype %d ", colour, dash + 1);
}

/* Names that are too long to stand side by side are turned. */
static bool turns_names(const tg_plot* plot) {
  size_t letters = 0;
  for (int i = 0; i < plot->x_name_count; i++) letters += strlen(plot->x_names[i]) + 2;
  return letters > 100;
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* The x of all curves, each once, rising; 0: they are too many. */
static int find_numbers(const tg_plot* plot, double numbers[MOST_NUMBERS]) {
  int count = 0;
  for (int i = 0; i < plot->curve_count; i++)
    for (size_t p = 0; p < plot->curves[i].count; p++) {
      const double x = plot->curves[i].x[p];
      bool known = !isfinite(x);
      for (int k = 0; k < count && !known; k++) known = numbers[k] == x;
      if (known) continue;
      if (count == MOST_NUMBERS) return 0;
      numbers[count++] = x;
    }
  qsort(numbers, (size_t)count, sizeof *numbers, by_value);
  return count;
}

/* What stands under the x axis: panels share it, so words and numbers stand under the lowest.
 * Turned names take so much of a panel's height that each has its own, and all are the same size.
 */
static void write_x_tics(FILE* script, const tg_plot* plot, bool lowest) {
  double numbers[MOST_NUMBERS] = {0};
  const int names = plot->x_name_count;
  const int count = names > 0 ? names : plot->x_at_points ? find_numbers(plot, numbers) : 0;
  const bool shown = lowest || turns_names(plot);
  fprintf(script, "set format x %s\n", shown ? "'%g'" : "''");
  if (count == 0) return;
  fputs(turns_names(plot) ? "set xtics rotate by 50 right font ',10' ("
                          : "set xtics norotate font ',13' (",
        script);
  for (int i = 0; i < count; i++) {
    char words[32] = "";
    const double x = names > 0 ? i + 1 : numbers[i];
    if (names == 0) snprintf(words, sizeof words, x == floor(x) ? "%.0f" : "%.2g", x);
    fputs(i ? ", " : "", script);
    write_quoted(script, !shown ? "" : names > 0 ? plot->x_names[i] : words);
    fprintf(script, " %.9g", x);
  }
  fputs(") noenhanced\n", script);
}

static void write_panel(FILE* script, const tg_plot* plot, int panel, int panels) {
  const bool lowest = panel == panels - 1;
  double low = 0, high = 0;
  write_y_range(script, plot, panel, panels);
  write_x_tics(script, plot, lowest);
  find_extent(plot, panel, &low, &high);
  fprintf(script, "set format y %s\n", plot->log_y && high >= 1e5 ? "'10^{%L}'" : "'%g'");
  fputs("set xlabel ", script);
  write_quoted(script, lowest ? plot->x_label : "");
  fputs(" noenhanced\nset ylabel ", script);
  write_quoted(script, plot->panel_labels[panel]);
  fputs(" noenhanced font ',11'\nplot ", script);
  bool first = true;
  for (int i = 0; i < plot->curve_count; i++) {
    const tg_plot_curve* curve = &plot->curves[i];
    if (curve->panel != panel || curve->count == 0) continue;
    fprintf(script, "%s$curve%d using 1:2", first ? "" : ", ", i);
    write_style(script, curve, curve->colour ? curve->colour : i + 1);
    if (curve->label && *curve->label) {
      fputs("title ", script);
      write_quoted(script, curve->label);
      fputs(" noenhanced", script);
    } else {
      fputs("notitle", script);
    }
    first = false;
  }
  fputc('\n', script);
}

/* The common range of x, so that stacked panels line up. */
static void write_range(FILE* script, const tg_plot* plot) {
  if (plot->x_name_count > 0) {
    fprintf(script, "set xrange [0.5:%d.5]\n", plot->x_name_count);
    return;
  }
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < plot->curve_count; i++)
    for (size_t p = 0; p < plot->curves[i].count; p++) {
      double x = plot->curves[i].x[p];
      if (!isfinite(x) || (plot->log_x && x <= 0)) continue;
      low = fmin(low, x);
      high = fmax(high, x);
    }
  if (low == high && plot->log_x) low /= 2, high *= 2;
  if (low < high) fprintf(script, "set xrange [%.17g:%.17g]\n", low, high);
}

/* Where the legend stands, and the margins that it needs. */
static void write_legend(FILE* script, const tg_plot* plot) {
  fputs(plot->legend_right
            ? "set rmargin 36\nset key at graph 1.02, graph 1 left top vertical Left reverse font "
              "',10' maxcols 1\n"
            : "set rmargin 4\nset key above right horizontal\n",
        script);
}

/* Of a panel: a legend beside it takes 16 for each of its lines. */
static int height_of_panel(const tg_plot* plot, int panels) {
  int height = plot->legend_right || turns_names(plot) ? 320 : 240;
  for (int panel = 0; panel < panels && plot->legend_right; panel++) {
    int lines = 0;
    for (int i = 0; i < plot->curve_count; i++)
      lines += plot->curves[i].panel == panel && plot->curves[i].label != NULL;
    if (60 + 16 * lines > height) height = 60 + 16 * lines;
  }
  return height;
}

static void write_script(FILE* script, const tg_plot* plot, const char* picture, bool png) {
  int panels = count_panels(plot);
  int height = 100 + height_of_panel(plot, panels) * panels;
  fprintf(script, "set terminal %s size %d,%d font 'sans,13'\n",
          png ? "pngcairo" : "svg background '#ffffff'", plot->legend_right ? 1200 : 900, height);
  fputs("set output ", script);
  write_quoted(script, picture);
  /* Data first: axes only left and below, a faint grid, and the legend above the panel, where no
   * curve runs through it. The last number of the x axis needs some room to its right. */
  fputs(
      "\nset encoding utf8\nset lmargin 14\nset border 3 linecolor rgb '#555555'\n"
      "set tics nomirror out\nset grid linetype 1 linewidth 0.5 linecolor rgb '#dddddd'\n"
      "set linetype 1 linecolor rgb '#1f5fa8'\n"
      "set linetype 2 linecolor rgb '#c8501e'\nset linetype 3 linecolor rgb '#2a8a57'\n"
      "set linetype 4 linecolor rgb '#7a4fa3'\nset linetype 5 linecolor rgb '#b8860b'\n"
      "set linetype 6 linecolor rgb '#444444'\n",
      script);
  write_legend(script, plot);
  if (plot->log_x) fputs("set logscale x\n", script);
  if (plot->log_y) fputs("set logscale y\n", script);
  write_range(script, plot);
  write_data(script, plot);
  fprintf(script, "set multiplot layout %d,1 title ", panels);
  write_quoted(script, plot->title);
  fputs(" noenhanced\n", script);
  for (int panel = 0; panel < panels; panel++) write_panel(script, plot, panel, panels);
  fputs("unset multiplot\nset output\n", script);
}

/* Runs gnuplot with these streams; *code is its exit status, -1 if a signal ended it. */
static tg_status run_gnuplot(char* const* arguments, int input, int output, int errors, int* code) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t child = 0;
  int error = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return tg_fail(TG_ERR_MACHINE,
                   "gnuplot cannot be started (%s); install the package gnuplot (gnuplot-nox on "
                   "Debian), or leave the plot out",
                   strerror(error));
  int ended = 0;
  while (waitpid(child, &ended, 0) < 0)
    if (errno != EINTR) return tg_fail(TG_ERR_MACHINE, "gnuplot was lost: %s", strerror(errno));
  *code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return TG_OK;
}

/* What gnuplot complained of: the last line with words in it. */
static void last_words(FILE* errors, char* out, size_t size) {
  snprintf(out, size, "no reason given");
  rewind(errors);
  char line[512];
  while (fgets(line, sizeof line, errors)) {
    const char* words = tg_trim(line);
    if (*words && *words != '^') snprintf(out, size, "%s", words);
  }
}

static tg_status draw(const tg_plot* plot, const char* path, const char* picture, bool png) {
  tg_status status = TG_OK;
  FILE* script = tmpfile();
  FILE* errors = script ? tmpfile() : NULL;
  if (!errors) {
    status =
        tg_fail(TG_ERR_MACHINE, "%s: no temporary file for the plot: %s", path, strerror(errno));
    goto close_files;
  }
  write_script(script, plot, picture, png);
  if (fflush(script) != 0 || ferror(script)) {
    status = tg_fail(TG_ERR_MACHINE, "%s: the plot's script cannot be written: %s", path,
                     strerror(errno));
    goto close_files;
  }
  rewind(script);
  char* arguments[] = {(char[]){"gnuplot"}, (char[]){"-"}, NULL};
  int code = 0;
  TG_TRY_GOTO(run_gnuplot(arguments, fileno(script), fileno(errors), fileno(errors), &code),
              close_files);
  struct stat drawn;
  if (code != 0 || stat(picture, &drawn) != 0 || drawn.st_size == 0) {
    char words[512];
    last_words(errors, words, sizeof words);
    status = tg_fail(TG_ERR_MACHINE, "%s: gnuplot failed (exit status %d): %s", path, code, words);
  }
close_files:
  if (script) fclose(script);
  if (errors) fclose(errors);
  return status;
}

tg_status tg_plot_write(const tg_plot* plot, const char* path) {
  bool png = false;
  TG_TRY(check_plot(plot, path, &png));
  tg_new_file place; /* finds out first whether path can be written at all */
  TG_TRY(tg_new_file_open(path, &place));
  tg_status status = draw(plot, path, place.part[0] ? place.part : place.path, png);
  if (status != TG_OK) {
    tg_new_file_abandon(&place);
    return status;
  }
  return tg_new_file_commit(&place);
}

tg_status tg_plot_program(char* out, size_t size) {
  FILE* words = tmpfile();
  if (!words) return tg_fail(TG_ERR_MACHINE, "no temporary file: %s", strerror(errno));
  char* arguments[] = {(char[]){"gnuplot"}, (char[]){"--version"}, NULL};
  int code = 0;
  tg_status status = run_gnuplot(arguments, STDIN_FILENO, fileno(words), fileno(words), &code);
  if (status == TG_OK && code != 0)
    status = tg_fail(TG_ERR_MACHINE, "gnuplot --version failed (exit status %d)", code);
  if (status == TG_OK) last_words(words, out, size);
  fclose(words);
  return status;
}
