/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `throng bench md`: above, ns/day by size for each way, with GROMACS's where it is
 * known; below, a step's time by size, and those of its parts the first way. */
#include <stdio.h>

#include "base/plot.h"
#include "cli/bench_md.h"

enum {
  MOST_POINTS = 16,
  MOST_WAYS = 6, /* more would not be told apart */
  CURVES = 2 * MOST_WAYS + 1 + TG_BENCH_MD_GPU_PARTS
};

typedef struct picture {
  tg_plot_curve curves[CURVES];
  double x[CURVES][MOST_POINTS], y[CURVES][MOST_POINTS];
  char labels[MOST_WAYS][64];
  int count;
} picture;

static int start(picture* p, const char* label, int panel, int colour, int dash) {
  const int i = p->count++;
  p->curves[i] = (tg_plot_curve){
      .label = label, .x = p->x[i], .y = p->y[i], .panel = panel, .dash = dash, .colour = colour};
  return i;
}

static void add(picture* p, int curve, double x, double y) {
  tg_plot_curve* c = &p->curves[curve];
  if (!(y > 0) || c->count == MOST_POINTS) return;
  p->x[curve][c->count] = x;
  p->y[curve][c->count++] = y;
}

static const char* label_of(picture* p, int way, const tg_device_choice* d) {
  const int domains = d->grid[0] * d->grid[1] * d->grid[2];
  char* label = p->labels[way];
  if (domains == 1)
    snprintf(label, sizeof p->labels[way], "1 GPU");
  else
    snprintf(label, sizeof p->labels[way], "%d GPU%s, %d x %d x %d, %s", d->card_count,
             d->card_count == 1 ? "" : "s", d->grid[0], d->grid[1], d->grid[2], d->halo);
  return label;
}

/* Grids that are chosen may differ between sizes: a way is known by its place. */
static void draw_way(picture* p, const tg_cli_bench_md_row* rows, int count, int way) {
  const char* label = label_of(p, way, &rows[0].steps[way].devices);
  const int above = start(p, label, 0, way + 1, 1), below = start(p, label, 1, way + 1, 1);
  for (int i = 0; i < count; i++) {
    if (way >= rows[i].step_count) continue;
    const tg_bench_md_gpu_steps_result* s = &rows[i].steps[way];
    add(p, above, (double)rows[i].kernels.atom_count, s->ns_per_day);
    add(p, below, (double)rows[i].kernels.atom_count, s->us);
  }
}

static void draw_first(picture* p, const tg_cli_bench_md_row* rows, int count, int colour) {
  const int gromacs = start(p, "GROMACS 2026, 1 GPU", 0, colour, 2);
  int part[TG_BENCH_MD_GPU_PARTS];
  for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++)
    part[k] =
        start(p, tg_bench_md_gpu_part_name((tg_bench_md_gpu_part)k), 1, colour + 1 + k, 2 + k);
  for (int i = 0; i < count; i++) {
    const tg_bench_md_gpu_steps_result* s = &rows[i].steps[0];
    const double atoms = (double)rows[i].kernels.atom_count;
    if (s->gromacs_us > 0) add(p, gromacs, atoms, s->ns_per_day * s->us / s->gromacs_us);
    for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++) add(p, part[k], atoms, s->part[k]);
  }
}

tg_status tg_cli_bench_md_plot(const tg_cli_bench_md_row* rows, int count, const char* path) {
  static picture p;
  p = (picture){.count = 0};
  const int ways = rows[0].step_count < MOST_WAYS ? rows[0].step_count : MOST_WAYS;
  for (int way = 0; way < ways; way++) draw_way(&p, rows, count, way);
  draw_first(&p, rows, count, ways + 1);
  tg_plot_curve* shown = p.curves; /* a curve without points is left out */
  int used = 0;
  for (int i = 0; i < p.count; i++)
    if (p.curves[i].count > 0) shown[used++] = p.curves[i];
  const tg_plot plot = {.title = "Molecular dynamics on GPUs",
                        .x_label = "atoms",
                        .panel_labels = {"ns/day", "us a step", NULL},
                        .curves = shown,
                        .curve_count = used,
                        .log_x = 1,
                        .log_y = 1};
  return tg_plot_write(&plot, path);
}
