/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `throng bench halo`: bars of a step by schedule, grouped by grid, a panel for each
 * number of atoms on so many GPUs; a dot in each bar is the model's floor. Of the ways of a
 * schedule (force returns, paths) the fastest one is drawn. */
#include <string.h>

#include "base/plot.h"
#include "cli/bench_halo.h"

static const char* const SCHEDULES[] = {"host", "stream", "pulse", "fused", "direct"};
enum {
  SCHEDULE_COUNT = sizeof SCHEDULES / sizeof *SCHEDULES,
  MOST_PANELS = 4,
  MOST_GRIDS = 16,
  MOST_CURVES = MOST_PANELS * (SCHEDULE_COUNT + 1),
  MOST_POINTS = MOST_GRIDS * SCHEDULE_COUNT,
};

typedef struct picture {
  const tg_bench_halo_case* panels[MOST_PANELS];
  char labels[MOST_PANELS][64];
  int panel_count;
  char grids[MOST_GRIDS][24];
  const char* names[MOST_GRIDS];
  int grid_count;
  const char* schedules[SCHEDULE_COUNT]; /* those that were measured */
  int schedule_count;
  tg_plot_curve curves[MOST_CURVES];
  int curve_count;
  double x[MOST_CURVES][MOST_POINTS], y[MOST_CURVES][MOST_POINTS];
} picture;

/* The panel of a case; -1: there are enough. */
static int panel_of(picture* p, const tg_bench_halo_case* what) {
  for (int i = 0; i < p->panel_count; i++)
    if (p->panels[i]->atoms == what->atoms && p->panels[i]->gpus == what->gpus) return i;
  if (p->panel_count == MOST_PANELS) return -1;
  if (what->gpus)
    snprintf(p->labels[p->panel_count], sizeof *p->labels, "us, %d atoms, %d GPU%s", what->atoms,
             what->gpus, what->gpus > 1 ? "s" : "");
  else
    snprintf(p->labels[p->panel_count], sizeof *p->labels, "us, %d atoms, CPUs", what->atoms);
  p->panels[p->panel_count] = what;
  return p->panel_count++;
}

static int grid_of(picture* p, const tg_bench_halo_case* what) {
  char name[24];
  snprintf(name, sizeof name, "%dx%dx%d", what->grid[0] % 1000, what->grid[1] % 1000,
           what->grid[2] % 1000);
  for (int i = 0; i < p->grid_count; i++)
    if (strcmp(p->grids[i], name) == 0) return i;
  if (p->grid_count == MOST_GRIDS) return -1;
  memcpy(p->grids[p->grid_count], name, sizeof name);
  p->names[p->grid_count] = p->grids[p->grid_count];
  return p->grid_count++;
}

static void add_point(picture* p, int curve, double x, double y) {
  tg_plot_curve* c = &p->curves[curve];
  p->x[curve][c->count] = x;
  p->y[curve][c->count++] = y;
}

/* The fastest row of a schedule in a panel and on a grid; NULL: none. */
static const tg_bench_halo_row* fastest(picture* p, const tg_cli_halo_record* records, int count,
                                        int panel, int grid, int schedule) {
  const tg_bench_halo_row* best = NULL;
  for (int i = 0; i < count; i++) {
    const tg_bench_halo_row* row = &records[i].row;
    if (strcmp(row->what.schedule, p->schedules[schedule]) != 0) continue;
    if (panel_of(p, &row->what) != panel || grid_of(p, &row->what) != grid) continue;
    if (!best || row->step_us < best->step_us) best = row;
  }
  return best;
}

static int start_curve(picture* p, tg_plot_curve curve) {
  int i = p->curve_count++;
  curve.x = p->x[i];
  curve.y = p->y[i];
  p->curves[i] = curve;
  return i;
}

/* Bars of all schedules, and the dots on them. */
static void fill_panel(picture* p, const tg_cli_halo_record* records, int count, int panel) {
  const double width = 0.8 / p->schedule_count;
  int bars[SCHEDULE_COUNT] = {0};
  for (int s = 0; s < p->schedule_count; s++)
    bars[s] = start_curve(p, (tg_plot_curve){.label = panel ? NULL : p->schedules[s],
                                             .panel = panel,
                                             .style = TG_PLOT_BARS,
                                             .width = 0.9 * width,
                                             .colour = s + 1});
  int dots = start_curve(
      p, (tg_plot_curve){
             .label = panel ? NULL : "model's floor", .panel = panel, .style = TG_PLOT_DOTS});
  for (int s = 0; s < p->schedule_count; s++)
    for (int g = 0; g < p->grid_count; g++) {
      const tg_bench_halo_row* row = fastest(p, records, count, panel, g, s);
      if (!row) continue;
      double x = g + 1 + (s - (p->schedule_count - 1) / 2.) * width;
      add_point(p, bars[s], x, row->step_us);
      add_point(p, dots, x, row->model.total_us);
    }
}

static void find_schedules(picture* p, const tg_cli_halo_record* records, int count) {
  for (int s = 0; s < SCHEDULE_COUNT; s++)
    for (int i = 0; i < count; i++)
      if (strcmp(records[i].row.what.schedule, SCHEDULES[s]) == 0) {
        p->schedules[p->schedule_count++] = SCHEDULES[s];
        break;
      }
}

tg_status tg_cli_halo_plot(const tg_cli_halo_record* records, int count, const char* path) {
  static picture p;
  p = (picture){0};
  for (int i = 0; i < count; i++)
    if (panel_of(&p, &records[i].row.what) >= 0) grid_of(&p, &records[i].row.what);
  find_schedules(&p, records, count);
  for (int panel = 0; panel < p.panel_count; panel++) fill_panel(&p, records, count, panel);
  tg_plot plot = {.title = "A step of the halo exchange, by schedule",
                  .x_label = "processing elements",
                  .curves = p.curves,
                  .curve_count = p.curve_count,
                  .log_y = 1,
                  .x_names = p.names,
                  .x_name_count = p.grid_count};
  for (int panel = 0; panel < p.panel_count; panel++) plot.panel_labels[panel] = p.labels[panel];
  return tg_plot_write(&plot, path);
}
