/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_motif.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/plot.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct fields {
  const char *figure, *backend, *version, *orbitals, *json_lines, *plot, *output;
  int states, rows, columns, items, bodies, threads, repeats;
  double budget, limit;
  bool json;
} fields;

static const tg_cli_option options[] = {
    {"figure", 0, TG_CLI_CHOICE, offsetof(fields, figure), "7|8|11|13|15|tiles|all",
     "filter by particles, by states; scan; fill; reduce; tiles that are skipped (default all)",
     false},
    {"backend", 0, TG_CLI_TEXT, offsetof(fields, backend), "NAMES",
     "backends, parted by commas (default all: those that run here)", false},
    {"version", 0, TG_CLI_TEXT, offsetof(fields, version), "WORDS",
     "only versions with these words in their names", false},
    {"states", 0, TG_CLI_INT, offsetof(fields, states), "N", "rows, and columns (default 65536)",
     false},
    {"rows", 0, TG_CLI_INT, offsetof(fields, rows), "N", "rows (default: as --states)", false},
    {"columns", 0, TG_CLI_INT, offsetof(fields, columns), "N", "columns (default: as --states)",
     false},
    {"items", 0, TG_CLI_INT, offsetof(fields, items), "N",
     "the most of scan, and those of reduce (default 16777216)", false},
    {"orbitals", 0, TG_CLI_TEXT, offsetof(fields, orbitals), "NUMBERS",
     "of a state, at most four parted by commas: figures 7 and 8 take each, the others the first "
     "(default 128,1024)",
     false},
    {"bodies", 'd', TG_CLI_INT, offsetof(fields, bodies), "D",
     "hits differ in at most 2 D orbitals (default 2; tiles: 1, 2 and 3)", false},
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N",
     "of backends on the host (default: all it may use)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each version, in turns (default 5)", false},
    {"budget", 0, TG_CLI_DOUBLE, offsetof(fields, budget), "S",
     "seconds of one measurement: rows are cut to that (default 0.1)", false},
    {"limit", 0, TG_CLI_DOUBLE, offsetof(fields, limit), "S",
     "a version that takes longer for one measurement is left out (default 2)", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print one JSON object per measurement, no table", false},
    {"json-lines", 0, TG_CLI_TEXT, offsetof(fields, json_lines), "FILE",
     "also write one JSON object per measurement", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FOLDER",
     "plot each figure into figure-7.svg and so on", false},
    {"output", 'o', TG_CLI_TEXT, offsetof(fields, output), "FOLDER",
     "for all that: motif.jsonl and, where gnuplot is there, the plots", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

typedef struct outputs {
  const char* folder; /* of the plots; NULL: none */
  bool to_file;       /* JSON lines */
  tg_new_file file;
} outputs;

static bool chosen(const fields* f, int figure) {
  return strcmp(f->figure, "all") == 0 || strcmp(f->figure, tg_bench_motif_name(figure)) == 0;
}

static void show(void* context, const tg_bench_motif_row* row) {
  tg_cli_motif_bench* b = context;
  if (!b->json) tg_cli_motif_print_row(b, row);
  if (b->json) tg_cli_motif_json_row(stdout, b, row);
  if (b->lines) tg_cli_motif_json_row(b->lines, b, row);
  /* without memory for it, a row is printed but not plotted */
  if (TG_RESERVE(b->count + 1, "measurements", &b->rows, &b->room) == TG_OK)
    b->rows[b->count++] = *row;
}

/* "128,1024" */
static tg_status read_orbitals(const char* text, tg_bench_motif_params* p) {
  for (const char* at = text;; at++) {
    const int length = (int)strcspn(at, ",");
    int number = 0;
    if (!tg_parse_int(at, length, &number) || number < 1)
      return tg_fail(TG_ERR_INPUT, "--orbitals %s: numbers parted by commas were expected", text);
    if (p->orbital_count == TG_BENCH_MOTIF_ORBITALS)
      return tg_fail(TG_ERR_INPUT, "--orbitals %s: at most %d numbers were expected", text,
                     TG_BENCH_MOTIF_ORBITALS);
    p->orbitals[p->orbital_count++] = (uint32_t)number;
    at += length;
    if (*at == '\0') return TG_OK;
  }
}

static tg_status positive(const char* name, int value) {
  if (value > 0) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "--%s %d: a number above 0 was expected", name, value);
}

static tg_status read_params(const fields* f, double memory_bytes, tg_bench_motif_params* p) {
  const int rows = f->rows == INT_MIN ? f->states : f->rows;
  const int columns = f->columns == INT_MIN ? f->states : f->columns;
  TG_TRY(positive("states", f->states));
  TG_TRY(positive("rows", rows));
  TG_TRY(positive("columns", columns));
  TG_TRY(positive("items", f->items));
  if (f->bodies != INT_MIN) TG_TRY(positive("bodies", f->bodies));
  *p = (tg_bench_motif_params){.backends = f->backend,
                               .version = f->version,
                               .rows = (size_t)rows,
                               .columns = (size_t)columns,
                               .items = (size_t)f->items,
                               .d = f->bodies == INT_MIN ? 0 : f->bodies,
                               .threads = f->threads,
                               .repeats = f->repeats,
                               .budget_s = f->budget,
                               .limit_s = f->limit,
                               .memory_bytes = memory_bytes};
  TG_TRY(read_orbitals(f->orbitals, p));
  for (const int* figure = tg_bench_motif_figures; *figure >= 0; figure++)
    if (chosen(f, *figure)) TG_TRY(tg_bench_motif_check(*figure, p));
  return TG_OK;
}

/* Folders and files are looked at before anything is measured. */
static tg_status open_outputs(const fields* f, outputs* out) {
  char words[128], path[4096];
  const bool drawn = tg_plot_program(words, sizeof words) == TG_OK;
  if (f->plot && !drawn) return TG_ERR_MACHINE; /* its message is set */
  out->folder = f->plot ? f->plot : drawn ? f->output : NULL;
  if (f->output) TG_TRY(tg_folder_make(f->output));
  if (out->folder) TG_TRY(tg_folder_make(out->folder));
  for (const int* figure = tg_bench_motif_figures; out->folder && *figure >= 0; figure++)
    for (const char* const* name = tg_cli_motif_pictures(*figure); chosen(f, *figure) && *name;
         name++) {
      TG_TRY(tg_path_join(out->folder, *name, path, sizeof path));
      TG_TRY(tg_new_file_check(path));
    }
  if (!f->json_lines && !f->output) return TG_OK;
  const char* lines = f->json_lines ? f->json_lines : "motif.jsonl";
  TG_TRY(tg_path_join(f->output && !strchr(lines, '/') ? f->output : "", lines, path, sizeof path));
  TG_TRY(tg_new_file_open(path, &out->file));
  out->to_file = true;
  return TG_OK;
}

/* Before the figures and after them: how busy the machine was shows in the difference. */
static tg_status yardsticks(tg_cli_motif_bench* b) {
  tg_bench_yardsticks y;
  TG_TRY(tg_bench_yardsticks_measure(b->params.threads, &y));
  if (!b->json) tg_cli_motif_print_yardsticks(&y, b->params.threads);
  if (b->json) tg_cli_motif_json_yardsticks(stdout, &y, b->params.threads);
  if (b->lines) tg_cli_motif_json_yardsticks(b->lines, &y, b->params.threads);
  return TG_OK;
}

static tg_status run_figures(tg_cli_motif_bench* b, const fields* f, const char* folder) {
  TG_TRY(yardsticks(b));
  for (const int* figure = tg_bench_motif_figures; *figure >= 0; figure++) {
    if (!chosen(f, *figure)) continue;
    TG_TRY(tg_bench_motif_run(*figure, &b->params, show, b));
    if (!b->json) tg_cli_motif_print_summary(b, *figure);
    if (folder) TG_TRY(tg_cli_motif_plot(b, *figure, folder));
  }
  if (!b->json) printf("\n");
  return yardsticks(b);
}

/* What was measured is kept, also when a later case failed. */
static tg_status finish(tg_cli_motif_bench* b, outputs* out, tg_status status) {
  if (out->to_file && b->count == 0) {
    tg_new_file_abandon(&out->file);
  } else if (out->to_file) {
    const tg_status written = tg_new_file_commit(&out->file);
    if (status == TG_OK) status = written;
  }
  TG_FREE(b->rows);
  return status;
}

static tg_status run(int argc, char** argv) {
  const tg_cli_machine machine = tg_cli_machine_query();
  fields f = {.figure = "all",
              .backend = "all",
              .orbitals = "128,1024",
              .states = 65536,
              .rows = INT_MIN,
              .columns = INT_MIN,
              .items = 1 << 24,
              .bodies = INT_MIN,
              .threads = machine.usable_threads,
              .repeats = 5,
              .budget = 0.1,
              .limit = 2};
  static tg_cli_motif_bench b;
  static outputs out;
  b = (tg_cli_motif_bench){.rows = NULL};
  out = (outputs){.folder = NULL};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  TG_TRY(read_params(&f, machine.memory_available_bytes, &b.params));
  TG_TRY(open_outputs(&f, &out));
  b.json = f.json;
  b.lines = out.to_file ? out.file.stream : NULL;
  if (!b.json) {
    printf("throng %s, %s, %d threads\n", TG_VERSION, machine.cpu_model, b.params.threads);
    tg_cli_motif_print_backends(&b);
  }
  return finish(&b, &out, run_figures(&b, &f, out.folder));
}

static const tg_cli_example examples[] = {
    {"throng bench motif --figure 8 --states 4096 --budget 0.002",
     "the filter of 8 particles, small"},
    {"throng bench motif -o build/motif",
     "all, with every backend that runs here: table, JSON lines, and plots"},
    {"throng bench motif --figure 11 --backend ref,omp --items 100000",
     "two backends side by side, and where a parallel scan pays"},
    {"throng bench motif --figure tiles --backend omp --states 8192",
     "what tiles that are skipped gain"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_motif_verb = {
    .name = "bench motif",
    .summary = "speed of filter, scan, fill and reduce, by backend and version",
    .usage = "[options]",
    .text =
        "The experiments of \"Accelerating quantum many-body configuration interaction with "
        "directives\" under the numbers of its figures: random states of 4 to 20 particles, "
        "biased to the low orbitals. All versions of a case, of all backends that run here, take "
        "turns, after each one's answer was compared with that of the backend ref; the least time "
        "gives the rate. What does not run, or takes too long, is named with the reason. "
        "docs/motifs.md explains the versions, and how the plots lie beside the paper's.",
    .options = options,
    .examples = examples,
    .run = run,
};
