/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of `throng bench ci`: bars of whole solves, stored and on the fly, beside other
 * programs' times. */
#include <stdio.h>

#include "base/plot.h"
#include "cli/bench_ci.h"

enum { KINDS = 3, MOST = TG_CLI_BENCH_CI_CASES };

tg_status tg_cli_bench_ci_plot(const tg_cli_bench_ci_row* rows, int count, const char* gpu,
                               const char* path) {
  static const char* const labels[KINDS] = {"throng, stored", "throng, on the fly",
                                            "BIGSTICK; H2O: psi4 (CPUs)"};
  const char* names[MOST];
  double x[KINDS][MOST], y[KINDS][MOST];
  size_t points[KINDS] = {0};
  int places = 0;
  for (int i = 0; i < count; i++) {
    const tg_bench_ci_gpu_result* r = &rows[i].result;
    const bool first = i == 0 || rows[i].what != rows[i - 1].what;
    const int kind = r->facts.host.storage == TG_CI_STORAGE_STORED ? 0 : 1;
    if (first) names[places++] = rows[i].what->name;
    x[kind][points[kind]] = places + 0.27 * (kind - 1);
    y[kind][points[kind]++] = r->total_s;
    if (!first || !rows[i].what->peer) continue;
    x[2][points[2]] = places + 0.27;
    y[2][points[2]++] = rows[i].what->peer_s;
  }
  tg_plot_curve curves[KINDS];
  int used = 0;
  for (int k = 0; k < KINDS; k++)
    if (points[k] > 0)
      curves[used++] = (tg_plot_curve){.label = labels[k],
                                       .x = x[k],
                                       .y = y[k],
                                       .count = points[k],
                                       .style = TG_PLOT_BARS,
                                       .width = 0.25,
                                       .colour = k + 1};
  char title[192];
  snprintf(title, sizeof title, "lowest levels, complete and labelled, on one %s", gpu);
  const tg_plot plot = {.title = title,
                        .x_label = "",
                        .panel_labels = {"time / s"},
                        .curves = curves,
                        .curve_count = used,
                        .log_y = 1,
                        .x_names = names,
                        .x_name_count = places};
  return tg_plot_write(&plot, path);
}
