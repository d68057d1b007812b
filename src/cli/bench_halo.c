/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plot.h"
#include "base/text.h"
#include "bench/halo.h"
#include "bench/halo_trace.h"
#include "cli/cli.h"
#include "device/device.h"

typedef struct fields {
  const char *halo, *json_lines, *plot, *precision, *pe, *trace;
  int atoms, gpus, repeats;
  double reach;
} fields;

static const tg_cli_option options[] = {
    {"halo", 0, TG_CLI_CHOICE, offsetof(fields, halo), "all|host|stream|pulse|fused|direct",
     "schedules to measure (default all)", false},
    {"atoms", 0, TG_CLI_INT, offsetof(fields, atoms), "N", "atoms (default 45000, then 180000)",
     false},
    {"reach", 0, TG_CLI_DOUBLE, offsetof(fields, reach), "NM", "cut-off and buffer (default 1.1)",
     false},
    {"gpus", 0, TG_CLI_INT, offsetof(fields, gpus), "N", "GPUs (default: one, then two)", false},
    {"pe", 0, TG_CLI_TEXT, offsetof(fields, pe), "GRID",
     "processing elements (default 2x1x1, 2x2x1, 2x2x2)", false},
    {"precision", 0, TG_CLI_CHOICE, offsetof(fields, precision), "single|double",
     "of positions and forces (default single)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of 200 steps each (default 9)", false},
    {"json-lines", 0, TG_CLI_TEXT, offsetof(fields, json_lines), "FILE",
     "also write one JSON object per measurement", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "plot the time of a step by schedule, .svg or .png", false},
    {"trace", 0, TG_CLI_TEXT, offsetof(fields, trace), "FILE",
     "measure nothing; write the timelines of a few steps, for ui.perfetto.dev", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* A schedule with its options. */
static const struct {
  const char *schedule, *force_return;
  bool bulk;
} WAYS[] = {
    {"host", NULL, false},       {"stream", NULL, false},  {"pulse", NULL, false},
    {"fused", "put", false},     {"fused", "pull", false}, {"fused", "reduce", false},
    {"fused", "put", true},      {"direct", "put", false}, {"direct", "pull", false},
    {"direct", "reduce", false}, {"direct", "put", true},
};
enum { WAY_COUNT = sizeof WAYS / sizeof *WAYS, MOST_ROWS = 256 };

static void print_constants(const tg_device_halo_constants* c, int gpus) {
  printf(
      "constants on %d GPU%s: flag %.2f us one way %s, launch %.2f us, graph node %.2f us, "
      "stores %.1f GB/s\n",
      gpus, gpus > 1 ? "s" : "", c->flag_s * 1e6,
      c->between_cards ? "between cards" : "within the card", c->launch_s * 1e6, c->node_s * 1e6,
      c->bytes_per_s * 1e-9);
}

static void print_head(void) {
  printf(
      "\n%-7s %-6s %-4s %-14s %8s %6s %8s %8s | %5s %5s %5s %5s | %8s %7s %5s %5s | %8s %5s %7s\n",
      "atoms", "grid", "GPUs", "schedule", "step/us", "+-", "x/us", "f/us", "x ln", "f ln", "x wt",
      "f wt", "kB", "GB/s", "CPU%", "flag%", "model/us", "ratio", "push/us");
}

static void print_row(const tg_bench_halo_row* r) {
  char grid[24], name[48];
  const tg_bench_halo_case* w = &r->what;
  snprintf(grid, sizeof grid, "%dx%dx%d", w->grid[0], w->grid[1], w->grid[2]);
  snprintf(name, sizeof name, "%s%s%s%s", w->schedule, w->force_return ? " " : "",
           w->force_return ? w->force_return : "", w->bulk ? " bulk" : "");
  printf(
      "%-7d %-6s %-4d %-14s %8.2f %6.2f %8.2f %8.2f | %5.0f %5.0f %5.0f %5.0f | %8.1f %7.2f %5.1f "
      "%5.1f | %8.2f %5.2f",
      w->atoms, grid, w->gpus, name, r->step_us, r->step_spread_us, r->positions_us, r->forces_us,
      r->launches_x, r->launches_f, r->waits_x, r->waits_f, r->bytes * 1e-3, r->bytes_per_s * 1e-9,
      r->host_wait_share * 100, r->flag_wait_share * 100, r->model_us, r->ratio);
  if (r->push_us != 0) printf(" %7.2f", r->push_us);
  printf("\n");
  fflush(stdout);
}

static void write_json(FILE* stream, const tg_bench_halo_row* r,
                       const tg_device_halo_constants* c) {
  const tg_bench_halo_case* w = &r->what;
  tg_json json = tg_json_on(stream, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "version", TG_VERSION);
  tg_json_int(&json, "atoms", w->atoms);
  tg_json_double(&json, "reach_nm", w->reach);
  tg_json_open_array(&json, "grid");
  for (int d = 0; d < 3; d++) tg_json_int(&json, NULL, w->grid[d]);
  tg_json_close_array(&json);
  tg_json_int(&json, "gpus", w->gpus);
  tg_json_text(&json, "schedule", w->schedule);
  tg_json_text(&json, "force_return", w->force_return);
  tg_json_bool(&json, "bulk", w->bulk);
  tg_json_bool(&json, "double", w->double_precision);
  tg_json_int(&json, "messages", r->channel_count);
  tg_json_double(&json, "step_us", r->step_us);
  tg_json_double(&json, "step_spread_us", r->step_spread_us);
  tg_json_double(&json, "positions_us", r->positions_us);
  tg_json_double(&json, "forces_us", r->forces_us);
  tg_json_double(&json, "push_us", r->push_us);
  tg_json_double(&json, "launches_positions", r->launches_x);
  tg_json_double(&json, "launches_forces", r->launches_f);
  tg_json_double(&json, "copies_positions", r->copies_x);
  tg_json_double(&json, "copies_forces", r->copies_f);
  tg_json_double(&json, "waits_positions", r->waits_x);
  tg_json_double(&json, "waits_forces", r->waits_f);
  tg_json_double(&json, "bytes", r->bytes);
  tg_json_double(&json, "bytes_per_s", r->bytes_per_s);
  tg_json_double(&json, "host_wait_share", r->host_wait_share);
  tg_json_double(&json, "flag_wait_share", r->flag_wait_share);
  tg_json_double(&json, "model_us", r->model_us);
  tg_json_double(&json, "ratio", r->ratio);
  tg_json_double(&json, "flag_us", c->flag_s * 1e6);
  tg_json_double(&json, "launch_us", c->launch_s * 1e6);
  tg_json_double(&json, "node_us", c->node_s * 1e6);
  tg_json_double(&json, "store_bytes_per_s", c->bytes_per_s);
  tg_json_close_object(&json);
  fputc('\n', stream);
}

static void print_predictions(int atoms, const fields* f, const tg_device_halo_constants* c) {
  static const int counts[TG_BENCH_HALO_PREDICTIONS] = {4, 8, 72};
  size_t element = strcmp(f->precision, "double") == 0 ? sizeof(double) : sizeof(float);
  for (int i = 0; i < TG_BENCH_HALO_PREDICTIONS; i++) {
    int grid[3];
    double fused, direct;
    printf("model for %d atoms on %d GPUs: ", atoms, counts[i]);
    if (tg_bench_halo_predict(atoms, f->reach, counts[i], false, element, c, grid, &fused) !=
            TG_OK ||
        tg_bench_halo_predict(atoms, f->reach, counts[i], true, element, c, grid, &direct) != TG_OK)
      printf("%s\n", tg_last_error());
    else
      printf("%d x %d x %d, fused %.1f us, direct %.1f us a step\n", grid[0], grid[1], grid[2],
             fused, direct);
  }
}

/* All measurements of a run. */
typedef struct bench {
  fields f;
  FILE* lines;
  tg_bench_halo_row rows[MOST_ROWS];
  int row_count;
} bench;

static tg_status run_case(bench* b, int atoms, const int grid[3], int gpus,
                          const tg_device_halo_constants* constants) {
  for (int w = 0; w < WAY_COUNT; w++) {
    if (strcmp(b->f.halo, "all") != 0 && strcmp(b->f.halo, WAYS[w].schedule) != 0) continue;
    if (b->row_count == MOST_ROWS) return TG_OK;
    tg_bench_halo_case what = {.atoms = atoms,
                               .reach = b->f.reach,
                               .grid = {grid[0], grid[1], grid[2]},
                               .gpus = gpus,
                               .schedule = WAYS[w].schedule,
                               .force_return = WAYS[w].force_return,
                               .bulk = WAYS[w].bulk,
                               .double_precision = strcmp(b->f.precision, "double") == 0,
                               .repeats = b->f.repeats};
    tg_bench_halo_row* row = &b->rows[b->row_count];
    TG_TRY(tg_bench_halo_run(&what, constants, row));
    b->row_count++;
    print_row(row);
    if (b->lines) write_json(b->lines, row, constants);
  }
  return TG_OK;
}

static tg_status read_grid(const char* text, int grid[3]) {
  const char* at = text;
  int read = 0;
  for (; read < 3; read++) {
    int length = (int)strcspn(at, "x");
    if (!tg_parse_int(at, length, &grid[read])) break;
    at += length;
    if (read < 2 && *at++ != 'x') break;
  }
  if (read == 3 && !*at) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "--pe '%s' is not a grid; give one such as 2x2x1", text);
}

static tg_status run_gpus(bench* b, int gpus) {
  static const int grids[][3] = {{2, 1, 1}, {2, 2, 1}, {2, 2, 2}};
  static const int sizes[] = {45000, 180000};
  tg_device_halo_constants constants;
  int given[3];
  if (b->f.pe) TG_TRY(read_grid(b->f.pe, given));
  TG_TRY(tg_device_halo_measure(gpus, &constants));
  print_constants(&constants, gpus);
  print_head();
  for (int s = 0; s < (b->f.atoms ? 1 : 2); s++) {
    int atoms = b->f.atoms ? b->f.atoms : sizes[s];
    for (int g = 0; g < (b->f.pe ? 1 : 3); g++)
      TG_TRY(run_case(b, atoms, b->f.pe ? given : grids[g], gpus, &constants));
    if (gpus > 1) print_predictions(atoms, &b->f, &constants);
  }
  printf("\n");
  return TG_OK;
}

/* A curve per schedule over the measured cases. */
static tg_status draw(const bench* b) {
  static double x[WAY_COUNT][MOST_ROWS], y[WAY_COUNT][MOST_ROWS];
  static char names[WAY_COUNT][48];
  tg_plot_curve curves[WAY_COUNT];
  int count = 0;
  for (int w = 0; w < WAY_COUNT; w++) {
    size_t points = 0;
    for (int i = 0; i < b->row_count; i++) {
      const tg_bench_halo_case* what = &b->rows[i].what;
      if (strcmp(what->schedule, WAYS[w].schedule) != 0 || what->bulk != WAYS[w].bulk ||
          what->force_return != WAYS[w].force_return)
        continue;
      x[w][points] = (double)points + 1;
      y[w][points++] = b->rows[i].step_us;
    }
    if (points == 0) continue;
    snprintf(names[w], sizeof names[w], "%s%s%s%s", WAYS[w].schedule,
             WAYS[w].force_return ? " " : "", WAYS[w].force_return ? WAYS[w].force_return : "",
             WAYS[w].bulk ? " bulk" : "");
    curves[count] =
        (tg_plot_curve){.label = names[w], .x = x[w], .y = y[w], .count = points, .panel = 0};
    count++;
  }
  tg_plot plot = {.title = "Halo exchange, positions and forces",
                  .x_label = "case, in the order of the table",
                  .panel_labels = {"us per step", NULL},
                  .curves = curves,
                  .curve_count = count,
                  .log_y = 1};
  return tg_plot_write(&plot, b->f.plot);
}

/* Timelines instead of measurements; on the CPU where there is no GPU. */
static tg_status write_trace(const fields* f, int there) {
  tg_bench_trace_params params = {.atoms = f->atoms ? f->atoms : 45000,
                                  .reach = f->reach,
                                  .grid = {2, 2, 1},
                                  .gpus = f->gpus     ? f->gpus
                                          : there < 4 ? there
                                                      : 4,
                                  .double_precision = strcmp(f->precision, "double") == 0};
  tg_bench_trace_row rows[TG_BENCH_TRACE_ROWS];
  int count = 0;
  if (f->pe) TG_TRY(read_grid(f->pe, params.grid));
  TG_TRY(tg_bench_trace_write(&params, f->trace, rows, &count));
  for (int i = 0; i < count; i++)
    printf("%-36s %8.1f us a step, recording included; %zu events\n", rows[i].name, rows[i].step_us,
           rows[i].events);
  printf("written to %s: open it at https://ui.perfetto.dev\n", f->trace);
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static bench b;
  b = (bench){.f = {.halo = "all", .precision = "single", .repeats = 9, .reach = 1.1}};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &b.f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  int there = tg_device_count();
  if (b.f.trace) return write_trace(&b.f, there);
  if (there == 0) return tg_fail(TG_ERR_MACHINE, "bench halo: %s", tg_device_reason());
  tg_new_file file;
  if (b.f.json_lines) {
    TG_TRY(tg_new_file_open(b.f.json_lines, &file));
    b.lines = file.stream;
  }
  tg_device_info info;
  tg_status status = tg_device_query(0, &info);
  if (status == TG_OK)
    printf(
        "throng %s, %d x %s, reach %g nm, %s precision; per step and card: ln launches, wt "
        "blocking waits\n",
        TG_VERSION, there, info.name, b.f.reach, b.f.precision);
  if (b.f.gpus && status == TG_OK) status = run_gpus(&b, b.f.gpus);
  for (int gpus = there < 2 ? there : 2; gpus >= 1 && !b.f.gpus && status == TG_OK; gpus--)
    status = run_gpus(&b, gpus);
  if (b.f.json_lines) {
    /* what was measured is kept, also when a later case failed */
    tg_status written = tg_new_file_commit(&file);
    if (status == TG_OK) status = written;
  }
  if (status == TG_OK && b.f.plot) status = draw(&b);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng bench halo", "every schedule on one GPU and on two"},
    {"throng bench halo --halo direct --atoms 45000 --json-lines halo.jsonl",
     "one schedule, one size, results as JSON lines"},
    {"throng bench halo --trace build/halo-trace.json",
     "what happens when: driven by the CPU, and by flags; works without a GPU, too"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_halo_verb = {
    .name = "bench halo",
    .summary = "time of a halo exchange between GPUs, by schedule, against its model",
    .usage = "[options]",
    .text =
        "Random atoms at 100 per cubic nanometre exchange positions and forces; the constants of "
        "the model (a flag's way, a launch, the link) are measured in the same run. x is the "
        "exchange of positions alone, its receivers confirming that they have read; f is the "
        "difference to a whole step. CPU% is the share of wall time in blocking waits of the host, "
        "flag% that in waits for flags on the devices.",
    .options = options,
    .examples = examples,
    .run = run,
};
