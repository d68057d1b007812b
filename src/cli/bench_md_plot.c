/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `throng bench md`: above, ns/day by size, with GROMACS's where it is known; below,
 * a step's time by size and those of its parts. */
#include "base/plot.h"
#include "cli/bench_md.h"

enum { MOST_POINTS = 16, TIMES = 1 + TG_BENCH_MD_GPU_PARTS, CURVES = 2 + TIMES };

typedef struct picture {
  tg_plot_curve curves[CURVES];
  double x[CURVES][MOST_POINTS], y[CURVES][MOST_POINTS];
  int count;
} picture;

static void start(picture* p, const char* label, int panel, int dash) {
  const int i = p->count++;
  p->curves[i] = (tg_plot_curve){
      .label = label, .x = p->x[i], .y = p->y[i], .panel = panel, .dash = dash, .colour = i + 1};
}

static void add(picture* p, int curve, double x, double y) {
  tg_plot_curve* c = &p->curves[curve];
  if (!(y > 0) || c->count == MOST_POINTS) return;
  p->x[curve][c->count] = x;
  p->y[curve][c->count++] = y;
}

tg_status tg_cli_bench_md_plot(const tg_cli_bench_md_row* rows, int count, const char* path) {
  static picture p;
  p = (picture){.count = 0};
  start(&p, "throng", 0, 1);
  start(&p, "GROMACS 2026", 0, 2);
  start(&p, "a step", 1, 1);
  for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++)
    start(&p, tg_bench_md_gpu_part_name((tg_bench_md_gpu_part)k), 1, 2 + k);
  for (int i = 0; i < count; i++) {
    const tg_bench_md_gpu_steps_result* s = &rows[i].steps;
    const double atoms = (double)rows[i].kernels.atom_count;
    add(&p, 0, atoms, s->ns_per_day);
    if (s->gromacs_us > 0) add(&p, 1, atoms, s->ns_per_day * s->us / s->gromacs_us);
    add(&p, 2, atoms, s->us);
    for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++) add(&p, 3 + k, atoms, s->part[k]);
  }
  tg_plot_curve* shown = p.curves; /* a curve without points is left out */
  int used = 0;
  for (int i = 0; i < p.count; i++)
    if (p.curves[i].count > 0) shown[used++] = p.curves[i];
  const tg_plot plot = {.title = "Molecular dynamics on one GPU",
                        .x_label = "atoms",
                        .panel_labels = {"ns/day", "us a step", NULL},
                        .curves = shown,
                        .curve_count = used,
                        .log_x = 1,
                        .log_y = 1};
  return tg_plot_write(&plot, path);
}
