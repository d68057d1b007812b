/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/plot.h"
#include "base/text.h"
#include "bench/motif.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct fields {
  const char *figure, *backend, *version, *json_lines, *plot;
  int states, items, orbitals, bodies, threads, repeats;
  double budget;
} fields;

static const tg_cli_option options[] = {
    {"figure", 0, TG_CLI_CHOICE, offsetof(fields, figure), "7|8|11|13|15|all",
     "filter by particles, by states; scan; fill; reduce (default all)", false},
    {"backend", 0, TG_CLI_TEXT, offsetof(fields, backend), "NAME",
     "one backend only (default: all that run here)", false},
    {"version", 0, TG_CLI_TEXT, offsetof(fields, version), "WORDS",
     "only versions with these words in their names", false},
    {"states", 0, TG_CLI_INT, offsetof(fields, states), "N", "rows, and columns (default 65536)",
     false},
    {"items", 0, TG_CLI_INT, offsetof(fields, items), "N",
     "the most of scan, and those of reduce (default 16777216)", false},
    {"orbitals", 0, TG_CLI_INT, offsetof(fields, orbitals), "N", "of a state (default 128)", false},
    {"bodies", 0, TG_CLI_INT, offsetof(fields, bodies), "D",
     "hits differ in at most 2 D orbitals (default 2)", false},
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N",
     "of backends on the host (default: all it may use)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each version, in turns (default 5)", false},
    {"budget", 0, TG_CLI_DOUBLE, offsetof(fields, budget), "S",
     "seconds of one measurement: rows are cut to that (default 0.1)", false},
    {"json-lines", 0, TG_CLI_TEXT, offsetof(fields, json_lines), "FILE",
     "also write one JSON object per measurement", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FOLDER",
     "plot each figure into figure-7.svg and so on", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* All measurements of a run. */
typedef struct bench {
  fields f;
  FILE* lines;
  tg_bench_motif_row* rows;
  size_t count, room;
  double axis; /* of the row that was shown last */
  int figure;
} bench;

static const char* unit_of(const tg_bench_motif_row* r) {
  return r->particles > 0 ? "pairs/s" : r->figure == 11 ? "elements/s" : "items/s";
}

static void print_row(bench* b, const tg_bench_motif_row* r) {
  if (b->figure != r->figure || b->axis != r->x || b->count == 0) {
    printf("\nfigure %d, %s %.4g", r->figure, tg_bench_motif_axis(r->figure), r->x);
    if (r->particles > 0) printf(", %u particles, density %.3g", r->particles, r->density);
    printf("\n%-8s %-10s %-22s %10s %10s %10s  %s\n", "backend", "motif", "version", "least/ms",
           "median/ms", "rate", "of");
    b->figure = r->figure;
    b->axis = r->x;
  }
  printf("%-8s %-10s %-22s %10.3f %10.3f %10.3g  %s%s\n", r->backend, r->motif, r->version,
         r->least_s * 1e3, r->median_s * 1e3, r->rate, unit_of(r), r->checked ? "" : ", yardstick");
  fflush(stdout);
}

static void write_json(const bench* b, const tg_bench_motif_row* r) {
  tg_json json = tg_json_on(b->lines, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_text(&json, "benchmark", "motif");
  tg_json_int(&json, "figure", r->figure);
  tg_json_text(&json, "backend", r->backend);
  tg_json_text(&json, "motif", r->motif);
  tg_json_text(&json, "version", r->version);
  tg_json_text(&json, "axis", tg_bench_motif_axis(r->figure));
  tg_json_double(&json, "x", r->x);
  tg_json_int(&json, "particles", r->particles);
  tg_json_int(&json, "orbitals", b->f.orbitals);
  tg_json_int(&json, "bodies", b->f.bodies);
  tg_json_int(&json, "threads", b->f.threads);
  tg_json_double(&json, "density", r->density);
  tg_json_double(&json, "least_s", r->least_s);
  tg_json_double(&json, "median_s", r->median_s);
  tg_json_double(&json, "work", r->work);
  tg_json_double(&json, "rate", r->rate);
  tg_json_text(&json, "rate_unit", unit_of(r));
  tg_json_bool(&json, "checked", r->checked);
  tg_json_close_object(&json);
}

static void show(void* context, const tg_bench_motif_row* row) {
  bench* b = context;
  print_row(b, row);
  if (b->lines) write_json(b, row);
  /* without memory for it, a row is printed but not plotted */
  if (TG_RESERVE(b->count + 1, "measurements", &b->rows, &b->room) == TG_OK)
    b->rows[b->count++] = *row;
}

static bool same_curve(const tg_bench_motif_row* a, const tg_bench_motif_row* b) {
  return strcmp(a->backend, b->backend) == 0 && strcmp(a->motif, b->motif) == 0 &&
         strcmp(a->version, b->version) == 0;
}

enum { MOST_CURVES = 96 };

typedef struct drawing {
  tg_plot_curve curves[MOST_CURVES];
  char labels[MOST_CURVES][96];
  int count;
} drawing;

/* A curve per backend and version, of what has more than one point. */
static tg_status collect_curves(const bench* b, int figure, double* points, drawing* d) {
  for (size_t i = 0; i < b->count && d->count < MOST_CURVES; i++) {
    const tg_bench_motif_row* r = &b->rows[i];
    bool known = r->figure != figure;
    for (size_t j = 0; j < i && !known; j++)
      known = b->rows[j].figure == figure && same_curve(&b->rows[j], r);
    if (known) continue;
    double *x = points, *y = points + b->count;
    size_t n = 0;
    for (size_t j = i; j < b->count; j++)
      if (b->rows[j].figure == figure && same_curve(&b->rows[j], r)) {
        x[n] = b->rows[j].x;
        y[n++] = b->rows[j].rate;
      }
    if (n < 2) continue;
    snprintf(d->labels[d->count], sizeof d->labels[0], "%s %s %s", r->backend, r->motif,
             r->version);
    d->curves[d->count] =
        (tg_plot_curve){.label = d->labels[d->count], .x = x, .y = y, .count = n, .panel = 0};
    d->count++;
    points += 2 * b->count;
  }
  return TG_OK;
}

static tg_status draw(const bench* b, int figure) {
  static const char* const titles[] = {[7] = "Filter, every version",
                                       [8] = "Filter, 8 particles",
                                       [11] = "Scan",
                                       [13] = "Count and fill",
                                       [15] = "Reduce"};
  static drawing d;
  double* points = NULL;
  char name[32], path[4096];
  d.count = 0;
  TG_TRY(TG_ALLOCATE(2 * b->count * MOST_CURVES, "points of a plot", &points));
  tg_status status = collect_curves(b, figure, points, &d);
  snprintf(name, sizeof name, "figure-%d.svg", figure);
  const tg_plot plot = {.title = titles[figure],
                        .x_label = tg_bench_motif_axis(figure),
                        .panel_labels = {figure == 11   ? "elements a second"
                                         : figure == 15 ? "items a second"
                                                        : "pairs a second",
                                         NULL},
                        .curves = d.curves,
                        .curve_count = d.count,
                        .log_x = figure != 7,
                        .log_y = 1};
  if (status == TG_OK) status = tg_path_join(b->f.plot, name, path, sizeof path);
  if (status == TG_OK && d.count > 0) status = tg_plot_write(&plot, path);
  TG_FREE(points);
  return status;
}

static void print_backends(const bench* b, const tg_cli_machine* machine) {
  printf("throng %s, %s, %d threads; %d orbitals, hits differ in at most %d\n", TG_VERSION,
         machine->cpu_model, b->f.threads, b->f.orbitals, 2 * b->f.bodies);
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    char words[200];
    (*t)->describe(words, sizeof words);
    const bool runs = (*t)->check == NULL || (*t)->check() == TG_OK;
    printf("%-8s %s%s%s\n", (*t)->name, words,
           runs ? "" : "; not here: ", runs ? "" : tg_last_error());
  }
}

static tg_status run_figures(bench* b) {
  const tg_bench_motif_params params = {.backend = b->f.backend,
                                        .version = b->f.version,
                                        .states = (size_t)b->f.states,
                                        .items = (size_t)b->f.items,
                                        .orbitals = (uint32_t)b->f.orbitals,
                                        .d = b->f.bodies,
                                        .threads = b->f.threads,
                                        .repeats = b->f.repeats,
                                        .budget_s = b->f.budget};
  const bool all = strcmp(b->f.figure, "all") == 0;
  for (const int* figure = tg_bench_motif_figures; *figure != 0; figure++) {
    char name[16];
    snprintf(name, sizeof name, "%d", *figure);
    if (!all && strcmp(b->f.figure, name) != 0) continue;
    TG_TRY(tg_bench_motif_run(*figure, &params, show, b));
    if (b->f.plot) TG_TRY(draw(b, *figure));
  }
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static bench b;
  const tg_cli_machine machine = tg_cli_machine_query();
  b = (bench){.f = {.figure = "all",
                    .states = 65536,
                    .items = 1 << 24,
                    .orbitals = 128,
                    .bodies = 2,
                    .threads = machine.usable_threads,
                    .repeats = 5,
                    .budget = 0.1}};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &b.f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  if (b.f.orbitals < 20 || b.f.states < 0 || b.f.items < 0 || !(b.f.budget > 0))
    return tg_fail(TG_ERR_INPUT,
                   "bench motif: give at least 20 orbitals (figure 7 has 20 particles), and "
                   "numbers above 0");
  if (b.f.plot) TG_TRY(tg_folder_make(b.f.plot));
  tg_new_file file;
  if (b.f.json_lines) {
    TG_TRY(tg_new_file_open(b.f.json_lines, &file));
    b.lines = file.stream;
  }
  print_backends(&b, &machine);
  tg_status status = run_figures(&b);
  if (b.f.json_lines) {
    /* what was measured is kept, also when a later case failed */
    const tg_status written = tg_new_file_commit(&file);
    if (status == TG_OK) status = written;
  }
  TG_FREE(b.rows);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng bench motif --figure 8 --states 4096", "the filter of 8 particles, small"},
    {"throng bench motif --json-lines motif.jsonl --plot figures", "all five, as JSON and plots"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_motif_verb = {
    .name = "bench motif",
    .summary = "speed of filter, scan, fill and reduce, by backend and version",
    .usage = "[options]",
    .text =
        "The experiments of \"Accelerating quantum many-body configuration interaction with "
        "directives\" under the numbers of its figures: random states of 4 to 20 particles, "
        "biased to the low orbitals. All versions of a case run in turns, after each one's "
        "answer was compared with that of the backend ref; the least time gives the rate. "
        "docs/motifs.md explains the versions.",
    .options = options,
    .examples = examples,
    .run = run,
};
