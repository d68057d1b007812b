/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plot.h"
#include "cli/bench_ci.h"
#include "cli/cli.h"
#include "cli/machine.h"

typedef tg_bench_ci_case known;
typedef tg_cli_bench_ci_selection selection;
enum { MOST_CASES = TG_CLI_BENCH_CI_CASES };

typedef struct fields {
  tg_cli_list cases;
  const char *interaction, *data, *storage, *plot, *json_file;
  int threads, repeats;
  double memory_gb;
  bool json;
} fields;

static const tg_cli_option options[] = {
    {"case", 0, TG_CLI_LIST, offsetof(fields, cases), "NAME",
     "20Ne, 24Mg, 28Si, 46Ti, 6Li, H2O, 48Cr, or all (default: those of seconds, "
     "24Mg to H2O, whose input is there)",
     false},
    {"interaction", 'i', TG_CLI_TEXT, offsetof(fields, interaction), "FILE",
     "input of the one case that is named, or builtin:NAME", false},
    {"data", 0, TG_CLI_TEXT, offsetof(fields, data), "FOLDER",
     "where snt/kb3g.snt and others are (default ../shared/data/ci)", false},
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N", "(default: all it may use)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "how often each case is solved (default 3, and once where it takes minutes)", false},
    {"storage", 0, TG_CLI_CHOICE, offsetof(fields, storage), "auto|stored|fly",
     "of the Hamiltonian (default auto)", false},
    {"memory", 0, TG_CLI_DOUBLE, offsetof(fields, memory_gb), "GB",
     "that may be used (default: 80 % of what is free)", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "bars of the times beside the other programs', .svg or .png", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print JSON lines: the machine, and each case", false},
    {"json-file", 0, TG_CLI_TEXT, offsetof(fields, json_file), "FILE",
     "write the JSON lines into a file, beside the table", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* ---- table ---- */

static void print_head(const tg_cli_machine* m, const fields* f) {
  printf("machine   %s, %d threads usable, %s; throng %s on %d threads\n", m->cpu_model,
         m->usable_threads, m->simd, TG_VERSION, f->threads);
  printf(
      "s         set-up, solve (with the look for missed levels), labels (J, T ...), all of the "
      "fastest\n          run; median of all\n");
  printf("products  vectors multiplied; ms each; 1e9 matrix elements a second\n");
  printf("MB        peak of the process, and what was foretold of the calculation\n");
  printf("peer      other program's s on two cores of a Xeon with AVX-512 (docs/performance.md)\n");
  printf("\n%-5s %8s %8s %-6s %5s %6s %5s %6s %6s %5s %6s %5s %5s %5s %5s\n", "case", "states",
         "pairs", "way", "setup", "solve", "label", "all", "median", "prod.", "ms", "1e9/s", "MB",
         "est.", "peer");
}

static void print_row(const known* c, const tg_bench_ci_result* r) {
  printf("%-5s %8llu %8.2e %-6s %5.2f %6.2f %5.2f %6.2f %6.2f %5lld %6.2f %5.2f %5.0f %5.0f",
         c->name, (unsigned long long)r->need.facts.dimension, (double)r->need.facts.pairs,
         tg_ci_storage_name(r->need.facts.storage), r->setup_s, r->solve_s, r->labels_s, r->total_s,
         r->median_s, (long long)r->products, 1e3 * r->product_s / (double)r->products,
         1e-9 * tg_bench_ci_rate(r), 1e-6 * r->peak_bytes, 1e-6 * (double)r->need.peak);
  if (c->peer)
    printf(" %5.1f\n", c->peer_s);
  else
    printf(" %5s\n", "-");
  printf("      yardsticks: triad %.1f GB/s, bare filter of 64 bits %.2e pairs/s\n",
         1e-9 * r->yardsticks.triad_bytes_per_s, r->yardsticks.pairs_per_s);
  fflush(stdout);
}

/* ---- JSON ---- */

static tg_json line_of(FILE* out, const char* kind) {
  tg_json json = tg_json_on(out, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "ci-cpu");
  tg_json_text(&json, "kind", kind);
  return json;
}

static void json_setting(FILE* out, const tg_cli_machine* m, const fields* f) {
  tg_json json = line_of(out, "setting");
  tg_json_text(&json, "cpu", m->cpu_model);
  tg_json_int(&json, "usable_threads", m->usable_threads);
  tg_json_text(&json, "simd", m->simd);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_int(&json, "threads", f->threads);
  tg_json_close_object(&json);
}

static void json_row(FILE* out, const known* c, const tg_bench_ci_result* r) {
  tg_json json = line_of(out, "case");
  tg_json_text(&json, "case", c->name);
  tg_json_text(&json, "what", c->what);
  tg_json_int(&json, "states_found", c->states);
  tg_json_int(&json, "states", (long long)r->need.facts.dimension);
  tg_json_int(&json, "pairs", (long long)r->need.facts.pairs);
  tg_json_text(&json, "storage", tg_ci_storage_name(r->need.facts.storage));
  tg_json_int(&json, "block", r->block);
  tg_json_int(&json, "basis", r->basis);
  tg_json_double(&json, "setup_s", r->setup_s);
  tg_json_double(&json, "solve_s", r->solve_s);
  tg_json_double(&json, "labels_s", r->labels_s);
  tg_json_double(&json, "total_s", r->total_s);
  tg_json_double(&json, "median_s", r->median_s);
  tg_json_double(&json, "products_s", r->product_s);
  tg_json_double(&json, "orthogonal_s", r->orthogonal_s);
  tg_json_int(&json, "products", (long long)r->products);
  tg_json_int(&json, "passes", (long long)r->passes);
  tg_json_double(&json, "elements_per_s", tg_bench_ci_rate(r));
  tg_json_double(&json, "estimated_bytes", (double)r->need.peak);
  if (r->peak_bytes > 0) tg_json_double(&json, "peak_bytes", r->peak_bytes);
  tg_json_double(&json, "lowest", r->lowest);
  tg_json_double(&json, "expected", c->lowest);
  tg_json_double(&json, "triad_bytes_per_s", r->yardsticks.triad_bytes_per_s);
  tg_json_double(&json, "filter_pairs_per_s", r->yardsticks.pairs_per_s);
  if (c->peer) {
    tg_json_text(&json, "peer", c->peer);
    tg_json_double(&json, "peer_s", c->peer_s);
  }
  tg_json_close_object(&json);
  fflush(out);
}

/* ---- the picture ---- */

static tg_status draw(const selection* s, const tg_bench_ci_result* results, int threads,
                      const char* path) {
  const char* names[MOST_CASES];
  double x[2][MOST_CASES], y[2][MOST_CASES];
  size_t peers = 0;
  for (int i = 0; i < s->count; i++) {
    names[i] = s->list[i]->name;
    x[0][i] = i + 0.8;
    y[0][i] = results[i].total_s;
    if (!s->list[i]->peer) continue;
    x[1][peers] = i + 1.2;
    y[1][peers++] = s->list[i]->peer_s;
  }
  const tg_plot_curve curves[] = {{.label = "throng",
                                   .x = x[0],
                                   .y = y[0],
                                   .count = (size_t)s->count,
                                   .style = TG_PLOT_BARS,
                                   .width = 0.38},
                                  {.label = "BIGSTICK; H2O: psi4",
                                   .x = x[1],
                                   .y = y[1],
                                   .count = peers,
                                   .style = TG_PLOT_BARS,
                                   .width = 0.38}};
  char title[128];
  snprintf(title, sizeof title, "lowest levels, complete and labelled, on %d CPU threads", threads);
  const tg_plot plot = {.title = title,
                        .x_label = "",
                        .panel_labels = {"time / s"},
                        .curves = curves,
                        .curve_count = peers ? 2 : 1,
                        .log_y = 1,
                        .x_names = names,
                        .x_name_count = s->count};
  return tg_plot_write(&plot, path);
}

/* ---- all of it ---- */

static tg_status check(const fields* f) {
  if (f->threads < 1)
    return tg_fail(TG_ERR_INPUT, "--threads %d: at least 1 was expected", f->threads);
  if (f->repeats < 0 || f->repeats > TG_BENCH_CI_REPEATS)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to %d, or 0 for the usual, were expected",
                   f->repeats, TG_BENCH_CI_REPEATS);
  if (!isnan(f->memory_gb) && !(f->memory_gb > 0 && f->memory_gb < 1e9))
    return tg_fail(TG_ERR_INPUT, "--memory %g: gigabytes, above 0 and below 1e9, were expected",
                   f->memory_gb);
  if (f->plot) TG_TRY(tg_plot_check_name(f->plot));
  return f->json_file ? tg_new_file_check(f->json_file) : TG_OK;
}

static tg_bench_ci_params params_of(const fields* f, const known* c, const char* input) {
  tg_bench_ci_params p = {.input = input,
                          .threads = f->threads,
                          .repeats = f->repeats > 0                     ? f->repeats
                                     : c->length == TG_BENCH_CI_MINUTES ? 1
                                                                        : 3,
                          .memory = f->memory_gb > 0 ? (uint64_t)ceil(1e9 * f->memory_gb) : 0};
  for (int s = TG_CI_STORAGE_AUTO; s <= TG_CI_STORAGE_FLY; s++)
    if (strcmp(f->storage, tg_ci_storage_name((tg_ci_storage)s)) == 0) p.storage = (tg_ci_storage)s;
  return p;
}

/* lines: two streams of JSON, or NULL. */
static tg_status measure(const fields* f, const selection* s, FILE* const* lines,
                         tg_bench_ci_result* results) {
  for (int i = 0; i < s->count; i++) {
    const tg_bench_ci_params p = params_of(f, s->list[i], s->input[i]);
    TG_TRY(tg_bench_ci_cpu(s->list[i], &p, &results[i]));
    if (!f->json) print_row(s->list[i], &results[i]);
    for (int k = 0; k < 2; k++)
      if (lines[k]) json_row(lines[k], s->list[i], &results[i]);
  }
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static selection chosen;
  tg_bench_ci_result results[MOST_CASES];
  const tg_cli_machine machine = tg_cli_machine_query();
  fields f = {.data = "../shared/data/ci",
              .storage = "auto",
              .threads = machine.usable_threads,
              .repeats = 0,
              .memory_gb = NAN};
  tg_new_file file = {0};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  TG_TRY(check(&f));
  TG_TRY(tg_cli_bench_ci_choose(&f.cases, f.interaction, f.data, false, &chosen));
  if (!tg_cli_speaks()) return TG_OK;
  if (f.json_file) TG_TRY(tg_new_file_open(f.json_file, &file));
  FILE* const lines[2] = {f.json ? stdout : NULL, file.stream};
  if (!f.json) print_head(&machine, &f);
  for (int k = 0; k < 2; k++)
    if (lines[k]) json_setting(lines[k], &machine, &f);
  tg_status status = measure(&f, &chosen, lines, results);
  if (f.json_file && status == TG_OK) status = tg_new_file_commit(&file);
  if (f.json_file && status != TG_OK) tg_new_file_abandon(&file);
  if (f.plot && status == TG_OK) status = draw(&chosen, results, f.threads, f.plot);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng bench ci-cpu", "every case of seconds whose input is there; two are built in"},
    {"throng bench ci-cpu --case 24Mg --threads 1 --repeats 1 --json", "one case, for a script"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_ci_cpu_verb = {
    .name = "bench ci-cpu",
    .summary = "how fast configuration interaction is on the cores of this machine",
    .usage = "[--case NAME] [options]",
    .text =
        "Solves known cases from the numbers of particles to labelled levels, the look for missed "
        "levels included, and shows where the time goes: making tables or the matrix, products, "
        "labels. The lowest energy is checked against other programs'. Their times on two cores of "
        "another machine stand beside; the triad (memory) and filter (arithmetic) of the same "
        "minutes tell how fast, or how busy, this one is.",
    .options = options,
    .examples = examples,
    .run = run,
};
