/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_ci.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/plot.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "device/device.h"

enum { MOST_GPUS = 4, MOST_ROWS = 2 * MOST_GPUS * TG_CLI_BENCH_CI_CASES };

typedef struct fields {
  tg_cli_list cases;
  const char *interaction, *data, *storage, *backend, *plot, *json_file, *gpus;
  const char *frozen, *active;
  int protons, neutrons, nmax, irrep, excitations, states;
  int threads, repeats, device;
  int gpu_count[MOST_GPUS], gpu_counts; /* what gpus says */
  bool products, json;
} fields;

static const tg_cli_option options[] = {
    {"case", 0, TG_CLI_LIST, offsetof(fields, cases), "NAME",
     "20Ne, 24Mg, 28Si, 46Ti, 6Li, H2O, 48Cr, 52Fe, 56Fe, 56Ni, or all (default: "
     "24Mg to 48Cr, whose input is there)",
     false},
    {"interaction", 'i', TG_CLI_TEXT, offsetof(fields, interaction), "FILE",
     "input of the one case that is named, or of one's own; builtin:NAME, too", false},
    {"protons", 0, TG_CLI_INT, offsetof(fields, protons), "N",
     "a case of one's own: protons outside the core", false},
    {"neutrons", 0, TG_CLI_INT, offsetof(fields, neutrons), "N", "and neutrons", false},
    {"nmax", 0, TG_CLI_INT, offsetof(fields, nmax), "N", "and most oscillator quanta", false},
    {"irrep", 0, TG_CLI_INT, offsetof(fields, irrep), "N",
     "a case of one's own: a molecule's states of this irrep", false},
    {"frozen", 0, TG_CLI_TEXT, offsetof(fields, frozen), "LIST", "and orbitals that are full",
     false},
    {"active", 0, TG_CLI_TEXT, offsetof(fields, active), "E,N", "and electrons in orbitals above",
     false},
    {"excitations", 0, TG_CLI_INT, offsetof(fields, excitations), "N",
     "of one's own, either kind: most particles above the lowest configuration", false},
    {"states", 'n', TG_CLI_INT, offsetof(fields, states), "N", "and lowest states (default 10)",
     false},
    {"data", 0, TG_CLI_TEXT, offsetof(fields, data), "FOLDER",
     "where snt/kb3g.snt and others are (default ../shared/data/ci)", false},
    {"backend", 0, TG_CLI_CHOICE, offsetof(fields, backend), "cuda|omp",
     "cuda; the processors are measured by throng bench ci-cpu (default cuda)", false},
    {"storage", 0, TG_CLI_CHOICE, offsetof(fields, storage), "all|auto|stored|fly|mixed",
     "of the Hamiltonian; all: stored, where it fits, and fly (default all)", false},
    {"products", 0, TG_CLI_FLAG, offsetof(fields, products), NULL,
     "measure products alone, solve nothing", false},
    {"gpu", 0, TG_CLI_INT, offsetof(fields, device), "N", "which GPU, where it is one (default 0)",
     false},
    {"gpus", 0, TG_CLI_TEXT, offsetof(fields, gpus), "N,...",
     "numbers of GPUs that share the states, one after the other (default 1)", false},
    {"threads", 0, TG_CLI_INT, offsetof(fields, threads), "N",
     "of the host (default: all it may use)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "products, and solves, of each case (default 5)", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "bars of the times beside the other programs', .svg or .png", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL,
     "print JSON lines: the machine, and each case", false},
    {"json-file", 0, TG_CLI_TEXT, offsetof(fields, json_file), "FILE",
     "write the JSON lines into a file, beside the table", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* ---- table ---- */

static void print_head(const tg_device_info* gpu) {
  printf("GPU       %s, %d multiprocessors, %.2f GHz, %.0f GB free; throng %s\n", gpu->name,
         gpu->multiprocessor_count, 1e-6 * gpu->clock_khz, 1e-9 * (double)gpu->memory_free_bytes,
         TG_VERSION);
  printf(
      "make      s for tables on the host, and for tables or the matrix on the GPU\n"
      "product   ms of 1, 2 and 4 vectors at once (median); 1e9 matrix elements a second of one, "
      "and of\n          the best width; floor: share of what memory (stored) or double precision "
      "(fly) allow\n"
      "solve     s of all, from numbers of particles to the table (least, median); vectors "
      "multiplied; ms\n          that the eigen-solver takes beside each; s for labels; GB on the "
      "GPU\n"
      "peer      other program's s, on two cores of a Xeon with AVX-512 unless said\n");
  printf("\n%-5s %10s %8s %-9s %12s %24s %12s %6s %14s %6s %6s %6s %6s %8s\n", "case", "states",
         "pairs", "way", "make", "product of 1, 2, 4", "1e9/s", "floor", "solve", "prods", "beside",
         "labels", "GB", "peer");
}

/* "stored", "fly x2": of two GPUs. */
static const char* way_of(const tg_bench_ci_gpu_result* r, char out[16]) {
  const char* name = tg_ci_storage_name(r->facts.host.storage);
  if (r->gpus > 1)
    snprintf(out, 16, "%s x%d", name, r->gpus);
  else
    snprintf(out, 16, "%s", name);
  return out;
}

static double rate_of(const tg_bench_ci_gpu_result* r, int w) {
  if (!(r->product_s[w] > 0)) return 0;
  return 1e-9 * tg_bench_ci_widths[w] * (double)r->facts.host.pairs / r->product_s[w];
}

static int best_width(const tg_bench_ci_gpu_result* r) {
  int best = 0;
  for (int w = 1; w < TG_BENCH_CI_WIDTHS; w++)
    if (rate_of(r, w) > rate_of(r, best)) best = w;
  return best;
}

static double beside_of(const tg_bench_ci_gpu_result* r) {
  return (r->solve_s - r->multiplied_s) / (double)(r->products ? r->products : 1);
}

static double gpu_bytes(const tg_bench_ci_gpu_result* r) {
  const tg_ci_device_need* g = &r->need.gpu;
  const bool stored = r->facts.host.storage != TG_CI_STORAGE_FLY;
  return (double)(r->solved ? g->vectors : 0) +
         (double)(stored ? r->facts.stored_bytes : r->facts.fly_bytes);
}

static void print_row(const tg_cli_bench_ci_row* row) {
  const tg_bench_ci_gpu_result* r = &row->result;
  const int best = best_width(r);
  char way[16];
  printf("%-5s %10llu %8.2e %-9s %5.3f %6.3f %7.3f %7.3f %8.3f %5.0f %6.0f %5.0f%%",
         row->what->name, (unsigned long long)r->facts.host.dimension, (double)r->facts.host.pairs,
         way_of(r, way), r->facts.tables_s, r->facts.device_s, 1e3 * r->product_s[0],
         1e3 * r->product_s[1], 1e3 * r->product_s[2], rate_of(r, 0), rate_of(r, best),
         100 * r->floor_s[best] / r->product_s[best]);
  if (r->solved)
    printf(" %6.3f %7.3f %6lld %6.3f %6.3f", r->total_s, r->median_s, (long long)r->products,
           1e3 * beside_of(r), r->labels_s);
  else
    printf(" %14s %6s %6s %6s", "-", "-", "-", "-");
  printf(" %6.2f", 1e-9 * gpu_bytes(r));
  if (row->what->peer)
    printf(" %8.1f\n", row->what->peer_s);
  else
    printf(" %8s\n", "-");
  fflush(stdout);
}

/* Beside the same with fewer GPUs. */
static void print_gain(const tg_cli_bench_ci_row* one, const tg_cli_bench_ci_row* row) {
  const tg_bench_ci_gpu_result *a = &one->result, *b = &row->result;
  printf("      %d GPUs beside %d:", b->gpus, a->gpus);
  for (int w = 0; w < TG_BENCH_CI_WIDTHS && a->product_s[w] > 0 && b->product_s[w] > 0; w++)
    printf("%s products of %d %.2f times as fast (exchange %.3f ms, %.1f %%)", w ? "," : "",
           tg_bench_ci_widths[w], a->product_s[w] / b->product_s[w], 1e3 * b->exchange_s[w],
           100 * b->exchange_s[w] / b->product_s[w]);
  if (a->solved && b->solved) printf("; solve %.2f", a->total_s / b->total_s);
  printf("\n");
  fflush(stdout);
}

static void print_notes(const tg_cli_bench_ci_row* rows, int count) {
  if (count == 0) return;
  printf("\nfloors: %.0f GB/s, %.2f e12 fused multiply-adds a second\n",
         1e-9 * rows[0].result.bytes_per_s, 1e-12 * rows[0].result.fmas_per_s);
  for (int i = 0; i < count; i++)
    if (rows[i].what->peer && (i == 0 || rows[i].what != rows[i - 1].what))
      printf("peer of %s: %s\n", rows[i].what->name, rows[i].what->peer);
}

/* ---- JSON ---- */

static tg_json line_of(FILE* out, const char* kind) {
  tg_json json = tg_json_on(out, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "ci");
  tg_json_text(&json, "kind", kind);
  return json;
}

static void json_machine(FILE* out, const tg_device_info* gpu, const fields* f) {
  tg_json json = line_of(out, "machine");
  tg_json_text(&json, "gpu", gpu->name);
  tg_json_int(&json, "multiprocessors", gpu->multiprocessor_count);
  tg_json_int(&json, "clock_khz", gpu->clock_khz);
  tg_json_double(&json, "free_bytes", (double)gpu->memory_free_bytes);
  tg_json_int(&json, "threads", f->threads);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_close_object(&json);
}

static void json_solve(tg_json* json, const tg_bench_ci_gpu_result* r) {
  tg_json_int(json, "block", r->block);
  tg_json_int(json, "basis", r->basis);
  tg_json_int(json, "restarts", r->restarts);
  tg_json_int(json, "products", (long long)r->products);
  tg_json_int(json, "passes", (long long)r->passes);
  tg_json_double(json, "setup_s", r->setup_s);
  tg_json_double(json, "solve_s", r->solve_s);
  tg_json_double(json, "products_s", r->multiplied_s);
  tg_json_double(json, "orthogonal_s", r->orthogonal_s);
  tg_json_double(json, "rotate_s", r->rotate_s);
  tg_json_double(json, "small_s", r->small_s);
  tg_json_double(json, "labels_s", r->labels_s);
  tg_json_double(json, "total_s", r->total_s);
  tg_json_double(json, "median_s", r->median_s);
  tg_json_double(json, "lowest", r->lowest);
  tg_json_bool(json, "complete", r->complete);
}

/* By the model of --storage auto (ci/storage_model.h), of which a GPU's rates can be found by this.
 */
static double estimate_of(const tg_bench_ci_gpu_result* r, int w) {
  const int width = tg_bench_ci_widths[w];
  const tg_ci_storage_times t = tg_ci_storage_estimate(&r->facts.work, width, 0);
  return width * (r->facts.host.storage == TG_CI_STORAGE_STORED ? t.stored_s : t.fly_s);
}

static void json_work(tg_json* json, const tg_ci_storage_work* work) {
  static const char* const names[TG_CI_TERMS] = {
      [TG_CI_TERM_TABLES] = "table_bytes", [TG_CI_TERM_CODED] = "coded",
      [TG_CI_TERM_VALUED] = "valued",      [TG_CI_TERM_ROWS] = "rows",
      [TG_CI_TERM_MEETINGS] = "meetings",  [TG_CI_TERM_TENSOR] = "tensor",
      [TG_CI_TERM_ALONE] = "alone",        [TG_CI_TERM_SMALL] = "small",
      [TG_CI_TERM_LONGEST] = "longest"};
  tg_json_open_object(json, "work");
  for (int t = 0; t < TG_CI_TERMS; t++) tg_json_double(json, names[t], work->count[t]);
  tg_json_close_object(json);
}

static void json_row(FILE* out, const tg_cli_bench_ci_row* row) {
  const tg_bench_ci_gpu_result* r = &row->result;
  tg_json json = line_of(out, "case");
  tg_json_text(&json, "case", row->what->name);
  tg_json_text(&json, "what", row->what->what);
  tg_json_int(&json, "states_found", row->what->states);
  tg_json_int(&json, "states", (long long)r->facts.host.dimension);
  tg_json_int(&json, "pairs", (long long)r->facts.host.pairs);
  tg_json_text(&json, "storage", tg_ci_storage_name(r->facts.host.storage));
  tg_json_int(&json, "gpus", r->gpus);
  tg_json_double(&json, "tables_s", r->facts.tables_s);
  tg_json_double(&json, "device_s", r->facts.device_s);
  tg_json_double(&json, "matrix_bytes", (double)r->facts.stored_bytes);
  tg_json_double(&json, "table_bytes", (double)r->facts.fly_bytes);
  tg_json_double(&json, "product_bytes", (double)r->facts.product_bytes);
  json_work(&json, &r->facts.work);
  tg_json_open_array(&json, "widths");
  for (int w = 0; w < TG_BENCH_CI_WIDTHS && r->product_s[w] > 0; w++) {
    tg_json_open_object(&json, NULL);
    tg_json_int(&json, "vectors", tg_bench_ci_widths[w]);
    tg_json_double(&json, "product_s", r->product_s[w]);
    if (r->gpus > 1) tg_json_double(&json, "exchange_s", r->exchange_s[w]);
    tg_json_double(&json, "floor_s", r->floor_s[w]);
    tg_json_double(&json, "estimated_s", estimate_of(r, w));
    tg_json_double(&json, "elements_per_s", 1e9 * rate_of(r, w));
    tg_json_close_object(&json);
  }
  tg_json_close_array(&json);
  if (r->solved) json_solve(&json, r);
  if (row->what->peer) {
    tg_json_text(&json, "peer", row->what->peer);
    tg_json_double(&json, "peer_s", row->what->peer_s);
  }
  tg_json_close_object(&json);
  fflush(out);
}

/* ---- all of it ---- */

static tg_status read_gpus(fields* f) {
  const char* at = f->gpus;
  if (!at) {
    f->gpu_count[f->gpu_counts++] = 1;
    return TG_OK;
  }
  for (;;) {
    const char* comma = strchr(at, ',');
    const int length = (int)(comma ? (size_t)(comma - at) : strlen(at));
    int count;
    if (f->gpu_counts == MOST_GPUS || !tg_parse_int(at, length, &count) || count < 1 || count > 64)
      return tg_fail(TG_ERR_INPUT, "--gpus %s: up to %d numbers of GPUs were expected, such as 1,2",
                     f->gpus, MOST_GPUS);
    f->gpu_count[f->gpu_counts++] = count;
    if (!comma) return TG_OK;
    at = comma + 1;
  }
}

static bool is_own(const fields* f) {
  return f->protons != TG_CI_UNSET || f->neutrons != TG_CI_UNSET || f->irrep != TG_CI_UNSET;
}

static tg_status check(const fields* f) {
  const bool own = is_own(f);
  if (strcmp(f->backend, "cuda") != 0)
    return tg_fail(TG_ERR_INPUT, "--backend omp: throng bench ci-cpu measures the processors");
  if (f->threads < 1)
    return tg_fail(TG_ERR_INPUT, "--threads %d: at least 1 was expected", f->threads);
  if (f->repeats < 1 || f->repeats > TG_BENCH_CI_REPEATS)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to %d were expected", f->repeats,
                   TG_BENCH_CI_REPEATS);
  if (own && (f->cases.count || !f->interaction))
    return tg_fail(TG_ERR_INPUT,
                   "--protons and --neutrons, or --irrep, are a case of one's own: they go with "
                   "--interaction, without --case");
  if (!own && (f->nmax != TG_CI_UNSET || f->states != 10 || f->excitations != TG_CI_UNSET ||
               f->frozen || f->active))
    return tg_fail(TG_ERR_INPUT,
                   "--nmax, --excitations, --frozen, --active and --states go with --protons and "
                   "--neutrons, or with --irrep");
  if (f->plot && f->products)
    return tg_fail(TG_ERR_INPUT, "--plot draws whole solves: leave --products out");
  if (f->plot && f->gpu_counts > 1)
    return tg_fail(TG_ERR_INPUT, "--plot draws one number of GPUs: give one --gpus");
  if (f->plot) TG_TRY(tg_plot_check_name(f->plot));
  return f->json_file ? tg_new_file_check(f->json_file) : TG_OK;
}

static tg_status choose(const fields* f, tg_bench_ci_case* own, tg_cli_bench_ci_selection* out) {
  if (!is_own(f)) return tg_cli_bench_ci_choose(&f->cases, f->interaction, f->data, true, out);
  *own = (tg_bench_ci_case){.name = "own",
                            .what = f->interaction,
                            .protons = f->protons,
                            .neutrons = f->neutrons,
                            .nmax = f->nmax,
                            .irrep = f->irrep,
                            .states = f->states,
                            .length = TG_BENCH_CI_MINUTES,
                            .lowest = NAN};
  out->list[0] = own;
  out->count = 1;
  const int length = snprintf(out->input[0], sizeof out->input[0], "%s", f->interaction);
  return length >= 0 && (size_t)length < sizeof out->input[0]
             ? TG_OK
             : tg_fail(TG_ERR_INPUT, "the name of an input is too long");
}

/* A case in one storage; of all of them, what does not fit is said and left out. */
static tg_status measure_one(const fields* f, const tg_bench_ci_case* what, const char* input,
                             tg_ci_storage storage, int gpus, tg_cli_bench_ci_row* row,
                             bool* there) {
  const tg_bench_ci_gpu_params p = {.input = input,
                                    .device = f->device,
                                    .gpus = gpus,
                                    .threads = f->threads,
                                    .repeats = f->repeats,
                                    .storage = storage,
                                    .frozen = f->frozen,
                                    .active = f->active,
                                    .excitations = f->excitations,
                                    .solve = !f->products};
  row->what = what;
  const tg_status status = tg_bench_ci_gpu(what, &p, &row->result);
  *there = status == TG_OK;
  if (status != TG_ERR_MACHINE || strcmp(f->storage, "all") != 0) return status;
  fprintf(stderr, "%s, %s: left out: %s\n", what->name, tg_ci_storage_name(storage),
          tg_last_error());
  return TG_OK;
}

/* A case in one storage, by each number of GPUs. */
static tg_status measure_storage(const fields* f, const tg_bench_ci_case* what, const char* input,
                                 tg_ci_storage storage, FILE* const* lines,
                                 tg_cli_bench_ci_row* rows, int* count) {
  const int first = *count;
  for (int g = 0; g < f->gpu_counts; g++) {
    tg_cli_bench_ci_row* row = &rows[*count];
    bool there;
    TG_TRY(measure_one(f, what, input, storage, f->gpu_count[g], row, &there));
    if (!there) continue;
    if (!f->json) print_row(row);
    if (!f->json && *count > first) print_gain(&rows[first], row);
    for (int k = 0; k < 2; k++)
      if (lines[k]) json_row(lines[k], row);
    ++*count;
  }
  return TG_OK;
}

static tg_status measure(const fields* f, const tg_cli_bench_ci_selection* chosen,
                         FILE* const* lines, tg_cli_bench_ci_row* rows, int* count) {
  for (int i = 0; i < chosen->count; i++)
    for (int s = TG_CI_STORAGE_AUTO; s < TG_CI_STORAGES; s++) {
      const bool wanted = strcmp(f->storage, "all") == 0
                              ? s == TG_CI_STORAGE_STORED || s == TG_CI_STORAGE_FLY
                              : strcmp(f->storage, tg_ci_storage_name((tg_ci_storage)s)) == 0;
      if (wanted)
        TG_TRY(measure_storage(f, chosen->list[i], chosen->input[i], (tg_ci_storage)s, lines, rows,
                               count));
    }
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static tg_cli_bench_ci_selection chosen;
  static tg_cli_bench_ci_row rows[MOST_ROWS];
  int count = 0;
  fields f = {.data = "../shared/data/ci",
              .storage = "all",
              .backend = "cuda",
              .protons = TG_CI_UNSET,
              .neutrons = TG_CI_UNSET,
              .nmax = TG_CI_UNSET,
              .irrep = TG_CI_UNSET,
              .excitations = TG_CI_UNSET,
              .states = 10,
              .threads = tg_cli_machine_query().usable_threads,
              .repeats = 5};
  tg_bench_ci_case own;
  tg_new_file file = {0};
  tg_device_info gpu;
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  TG_TRY(read_gpus(&f));
  TG_TRY(check(&f));
  TG_TRY(choose(&f, &own, &chosen));
  if (!tg_cli_speaks()) return TG_OK;
  if (tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "configuration interaction on a GPU: %s", tg_device_reason());
  TG_TRY(tg_device_query(f.device, &gpu));
  if (f.json_file) TG_TRY(tg_new_file_open(f.json_file, &file));
  FILE* const lines[2] = {f.json ? stdout : NULL, file.stream};
  if (!f.json) print_head(&gpu);
  for (int k = 0; k < 2; k++)
    if (lines[k]) json_machine(lines[k], &gpu, &f);
  tg_status status = measure(&f, &chosen, lines, rows, &count);
  if (!f.json) print_notes(rows, count);
  if (f.json_file && status == TG_OK) status = tg_new_file_commit(&file);
  if (f.json_file && status != TG_OK) tg_new_file_abandon(&file);
  if (f.plot && status == TG_OK) status = tg_cli_bench_ci_plot(rows, count, gpu.name, f.plot);
  return status;
}

static const tg_cli_example examples[] = {
    {"throng bench ci", "every case of seconds or minutes whose input is there, both storages"},
    {"throng bench ci --case 28Si --storage stored --json", "one case, for a script"},
    {"throng bench ci -i builtin:usdb --protons 5 --neutrons 5 --products",
     "products of another nucleus"},
    {"throng bench ci -i n2.fcidump --irrep 1 --frozen 2 --products", "and of another molecule"},
    {"throng bench ci --case 48Cr --gpus 1,2", "how much faster two GPUs are than one"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_ci_verb = {
    .name = "bench ci",
    .summary = "how fast configuration interaction is on a GPU",
    .usage = "[--case NAME | -i FILE --protons N --neutrons N] [options]",
    .text =
        "Measures, for known cases and each storage, how long it takes to make the Hamiltonian on "
        "the GPU, how long its product with 1, 2 and 4 vectors takes beside what memory and "
        "arithmetic allow, and whole solves from the numbers of particles to labelled levels. The "
        "lowest energy is checked against other programs', whose times stand beside.\n\n52Fe, 56Fe "
        "and 56Ni are measured when asked for, once and without the look for missed levels.",
    .options = options,
    .examples = examples,
    .run = run,
};
