/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/plot.h  Plots through gnuplot, where it is installed. */
#ifndef TG_BASE_PLOT_H
#define TG_BASE_PLOT_H

#include <stddef.h>

#include "base/status.h"

typedef enum tg_plot_style {
  TG_PLOT_LINE, /* a single point is drawn as one */
  TG_PLOT_BARS, /* from the bottom, centred on x */
  TG_PLOT_DOTS, /* black */
} tg_plot_style;

typedef struct tg_plot_curve {
  const char* label;
  const double* x; /* [count] */
  const double* y; /* [count] */
  size_t count;
  int panel; /* 0 is the top one */
  tg_plot_style style;
  double width; /* of bars, in units of x */
  int colour;   /* from 1; 0: by the curve's place among the others */
  int dash;     /* of a line, from 1 (solid); 0: solid; beyond 5 with marks */
} tg_plot_curve;

typedef struct tg_plot {
  const char* title;
  const char* x_label;
  const char* panel_labels[4]; /* y axis of each panel; NULL ends */
  const tg_plot_curve* curves;
  int curve_count;
  int log_x, log_y;
  int legend_right;           /* beside the panels, for many curves; else above each */
  const char* const* x_names; /* what stands under x = 1, 2 ... instead of numbers, or NULL; */
  int x_name_count;           /* the axis then reaches half a unit beyond them */
  int x_at_points;            /* numbers stand under the curves' own x, where these are few */
  unsigned same_span; /* bit p: panel p. Their y axes span the same difference, each about its own
                         curves, so that heights compare. Not with log_y */
} tg_plot;

/** Writes the plot as path (.svg or .png by its ending), stacked panels sharing the x axis. If
 * gnuplot is missing: TG_ERR_MACHINE with the package to install; nothing is left behind. */
tg_status tg_plot_write(const tg_plot* plot, const char* path);

/** TG_ERR_INPUT unless path ends in .svg or .png: for a look before the work that is plotted. */
tg_status tg_plot_check_name(const char* path);

/** "gnuplot 5.4 patchlevel 4" or the like into out, from the program itself. TG_ERR_MACHINE, with
 * the package to install, if it is missing. */
tg_status tg_plot_program(char* out, size_t size);

#endif
