/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_motif.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/plot.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef struct fields {
  const char *figure, *backend, *version, *orbitals, *json_lines, *plot, *output;
  int states, rows, columns, items, sums, bodies, threads, repeats;
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
     "only versions with these words in their names; several are parted by commas, and =NAME is a "
     "whole name",
     false},
    {"states", 0, TG_CLI_INT, offsetof(fields, states), "N", "rows, and columns (default 65536)",
     false},
    {"rows", 0, TG_CLI_INT, offsetof(fields, rows), "N", "rows (default: as --states)", false},
    {"columns", 0, TG_CLI_INT, offsetof(fields, columns), "N", "columns (default: as --states)",
     false},
    {"items", 0, TG_CLI_INT, offsetof(fields, items), "N",
     "the most of scan, and those of reduce (default 16777216)", false},
    {"sums", 0, TG_CLI_INT, offsetof(fields, sums), "M",
     "the most sums of figure 15, which begins with 8 and doubles (default 256)", false},
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
     "seconds of one measurement: rows of pairs are cut to that (default 0.1)", false},
    {"limit", 0, TG_CLI_DOUBLE, offsetof(fields, limit), "S",
     "a version that takes longer for one measurement, by the median of three, is left out "
     "(default 2)",
     false},
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

/* A folder, and how much of its path was there before. */
typedef struct made_folder {
  char path[4096];
  size_t before;
} made_folder;

typedef struct outputs {
  const char* folder; /* of the plots; NULL: none */
  bool to_file;       /* JSON lines */
  tg_new_file file;
  made_folder made[2];
  int made_count;
} outputs;

/* Of all figures those that have a wanted version. */
static bool chosen(const fields* f, const tg_bench_motif_params* p, int figure) {
  if (strcmp(f->figure, "all") != 0) return strcmp(f->figure, tg_bench_motif_name(figure)) == 0;
  return p->version == NULL || tg_bench_motif_has_version(figure, p) ||
         !tg_bench_motif_has_version(-1, p); /* each is refused then */
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
  TG_TRY(positive("sums", f->sums));
  if (f->bodies != INT_MIN) TG_TRY(positive("bodies", f->bodies));
  *p = (tg_bench_motif_params){.backends = f->backend,
                               .version = f->version,
                               .rows = (size_t)rows,
                               .columns = (size_t)columns,
                               .items = (size_t)f->items,
                               .sums = (uint32_t)f->sums,
                               .d = f->bodies == INT_MIN ? 0 : f->bodies,
                               .threads = f->threads,
                               .repeats = f->repeats,
                               .budget_s = f->budget,
                               .limit_s = f->limit,
                               .memory_bytes = memory_bytes};
  TG_TRY(read_orbitals(f->orbitals, p));
  tg_motif_tables_limit(f->backend);
  for (const int* figure = tg_bench_motif_figures; *figure >= 0; figure++)
    if (chosen(f, p, *figure)) TG_TRY(tg_bench_motif_check(*figure, p));
  return TG_OK;
}

static tg_status make_folder(const char* path, outputs* out) {
  made_folder* made = &out->made[out->made_count];
  TG_TRY(tg_path_join("", path, made->path, sizeof made->path));
  char* end = made->path + strlen(made->path);
  while (end > made->path && end[-1] == '/') *--end = '\0';
  while (end > made->path) { /* a part of the path at a time, from its end */
    const char cut = *end;
    *end = '\0';
    const bool there = tg_path_exists(made->path);
    *end = cut;
    if (there) break;
    while (end > made->path && *--end != '/') {
    }
  }
  made->before = (size_t)(end - made->path);
  out->made_count++;
  return tg_folder_make(path);
}

/* Folders that were made for nothing go again, where they are empty. */
static void unmake_folders(outputs* out) {
  for (; out->made_count > 0; out->made_count--) {
    made_folder* made = &out->made[out->made_count - 1];
    while (strlen(made->path) > made->before) {
      rmdir(made->path); /* which leaves one that is not empty, as it does its parents */
      char* slash = strrchr(made->path, '/');
      if (slash == NULL) break;
      *slash = '\0';
    }
  }
}

/* A picture's place, which must not be that of the JSON lines (NULL: none). */
static tg_status check_picture(const char* folder, const char* name, const char* lines) {
  char path[4096];
  TG_TRY(tg_path_join(folder, name, path, sizeof path));
  if (lines != NULL && tg_path_same(lines, path))
    return tg_fail(TG_ERR_INPUT,
                   "--json-lines %s: the figure's picture goes there; give the lines another name",
                   lines);
  return tg_new_file_check(path);
}

/* Folders and files are looked at before anything is measured. */
static tg_status open_outputs(const fields* f, const tg_bench_motif_params* p, outputs* out) {
  char words[128], path[4096];
  const bool drawn = tg_plot_program(words, sizeof words) == TG_OK;
  const bool to_file = f->json_lines || f->output;
  if (f->plot && !drawn) return TG_ERR_MACHINE; /* its message is set */
  out->folder = f->plot ? f->plot : drawn ? f->output : NULL;
  if (f->output) TG_TRY(make_folder(f->output, out));
  if (out->folder && out->folder != f->output) TG_TRY(make_folder(out->folder, out));
  const char* lines = f->json_lines ? f->json_lines : "motif.jsonl";
  TG_TRY(tg_path_join(f->output && !strchr(lines, '/') ? f->output : "", lines, path, sizeof path));
  for (const int* figure = tg_bench_motif_figures; out->folder && *figure >= 0; figure++)
    for (const char* const* name = tg_cli_motif_pictures(*figure); chosen(f, p, *figure) && *name;
         name++)
      TG_TRY(check_picture(out->folder, *name, to_file ? path : NULL));
  if (!to_file) return TG_OK;
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

/* A picture that fails costs no measurement: the first one's message is kept in fault. */
static tg_status plot(const tg_cli_motif_bench* b, int figure, const char* folder, char* fault,
                      size_t size) {
  const tg_status status = tg_cli_motif_plot(b, figure, folder);
  if (status == TG_OK || status == TG_ERR_INTERRUPTED) return status;
  if (fault[0] == '\0') snprintf(fault, size, "%s", tg_last_error());
  return TG_OK;
}

static tg_status run_figures(tg_cli_motif_bench* b, const fields* f, const char* folder,
                             char* fault, size_t size) {
  TG_TRY(yardsticks(b));
  for (const int* figure = tg_bench_motif_figures; *figure >= 0; figure++) {
    if (!chosen(f, &b->params, *figure)) continue;
    TG_TRY(tg_bench_motif_run(*figure, &b->params, show, b));
    if (!b->json) tg_cli_motif_print_summary(b, *figure);
    if (folder) TG_TRY(plot(b, *figure, folder, fault, size));
  }
  if (!b->json) printf("\n");
  return yardsticks(b);
}

/* What was measured is kept, also when a later case failed; its last line says so then. */
static tg_status finish(tg_cli_motif_bench* b, outputs* out, tg_status status, const char* fault) {
  char reason[1024] = "";
  if (status != TG_OK) snprintf(reason, sizeof reason, "%s", tg_last_error());
  if (status != TG_OK && b->json) tg_cli_motif_json_incomplete(stdout, reason);
  if (status != TG_OK && b->lines) tg_cli_motif_json_incomplete(b->lines, reason);
  if (out->to_file && b->count == 0) {
    tg_new_file_abandon(&out->file);
  } else if (out->to_file) {
    const tg_status written = tg_new_file_commit(&out->file);
    if (status == TG_OK && written != TG_OK) {
      status = written;
    } else if (status != TG_OK && written == TG_OK) {
      tg_fail(status, "%s; what was measured is kept in %s", reason, out->file.path);
    } else if (status != TG_OK) {
      tg_fail(status, "%s", reason);
    }
  }
  if (b->count == 0) unmake_folders(out);
  TG_FREE(b->rows);
  return status != TG_OK || fault[0] == '\0' ? status : tg_fail(TG_ERR_MACHINE, "%s", fault);
}

/* How long it may take, before it begins. */
static void print_duration(const fields* f, const tg_bench_motif_params* p) {
  double seconds = 0;
  for (const int* figure = tg_bench_motif_figures; *figure >= 0; figure++)
    if (chosen(f, p, *figure)) seconds += tg_bench_motif_seconds(*figure, p);
  printf(
      "this takes up to about %.0f %s; less with a smaller --budget, fewer --repeats, one "
      "--figure, fewer --backend\n",
      seconds < 120 ? ceil(seconds) : ceil(seconds / 60), seconds < 120 ? "s" : "minutes");
  fflush(stdout);
}

static tg_status run(int argc, char** argv) {
  const tg_cli_machine machine = tg_cli_machine_query();
  fields f = {.figure = "all",
              .backend = "all",
              .orbitals = "128,1024",
              .states = 65536,
              .sums = 256,
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
  const tg_status opened = open_outputs(&f, &b.params, &out);
  if (opened != TG_OK) {
    unmake_folders(&out);
    return opened;
  }
  b.json = f.json;
  b.lines = out.to_file ? out.file.stream : NULL;
  if (!b.json) {
    printf("throng %s, %s, %d threads\n", TG_VERSION, machine.cpu_model, b.params.threads);
    tg_cli_motif_print_backends(&b);
    print_duration(&f, &b.params);
  }
  char fault[1024] = "";
  const tg_status status = run_figures(&b, &f, out.folder, fault, sizeof fault);
  return finish(&b, &out, status, fault);
}

static const tg_cli_example examples[] = {
    {"throng bench motif --figure 8 --states 4096 --budget 0.002",
     "the filter of 8 particles, small"},
    {"throng bench motif -o build/motif",
     "all, with every backend that runs here: table, JSON lines, and plots"},
    {"throng bench motif --figure 11 --backend ref,omp --items 100000",
     "scans of two backends side by side, by length"},
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
