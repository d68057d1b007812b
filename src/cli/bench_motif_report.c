/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `throng bench motif`, its JSON lines, and what a figure says in words. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "bench/motif_transfer.h"
#include "cli/bench_motif.h"

typedef tg_cli_motif_bench bench;
typedef tg_bench_motif_row row;

void tg_cli_motif_print_backends(const bench* b) {
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    char words[256];
    (*t)->describe(words, sizeof words);
    if (!tg_bench_motif_wants(&b->params, (*t)->name))
      printf("%-13s left out: --backend\n", (*t)->name);
    else if ((*t)->check != NULL && (*t)->check() != TG_OK)
      printf("%-13s left out: %s\n", (*t)->name, tg_last_error());
    else
      printf("%-13s %s\n", (*t)->name, words);
  }
}

/* Rows of one case stand under one head. */
static bool same_case(const row* a, const row* b) {
  return a->figure == b->figure && a->x == b->x && a->particles == b->particles &&
         a->orbitals == b->orbitals && a->rows == b->rows;
}

static void print_head(const row* r) {
  const int figure = r->figure;
  printf("\n%s%s, %s %.4g", figure == TG_BENCH_MOTIF_TILES ? "" : "figure ",
         tg_bench_motif_name(figure), tg_bench_motif_axis(figure), r->x);
  if (r->particles > 0)
    printf(": %zu x %zu states of %u particles in %u orbitals, d = %d, density of hits %.3g",
           r->rows, r->columns, r->particles, r->orbitals, r->d, r->density);
  else if (r->rows > 0)
    printf(": %zu x %zu pairs, no filter", r->rows, r->columns);
  printf("\n%-13s %-9s %-24s %10s %10s %10s  %s\n", "backend", "motif", "version", "least/ms",
         "median/ms", "rate", "of");
}

void tg_cli_motif_print_row(bench* b, const row* r) {
  char version[64];
  if (b->count == 0 || !same_case(&b->shown, r)) print_head(r);
  b->shown = *r;
  snprintf(version, sizeof version, "%s%s", r->version, r->tiled ? " + tiles" : "");
  printf("%-13s %-9s %-24s ", r->backend, r->motif, version);
  if (r->skipped[0])
    printf("left out: %s\n", r->skipped);
  else
    printf("%10.4g %10.4g %10.3g  %s%s\n", r->least_s * 1e3, r->median_s * 1e3, r->rate, r->unit,
           r->checked ? "" : ", yardstick");
  fflush(stdout);
}

void tg_cli_motif_json_row(FILE* out, const bench* b, const row* r) {
  tg_json json = tg_json_on(out, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_text(&json, "benchmark", "motif");
  tg_json_text(&json, "figure", tg_bench_motif_name(r->figure));
  tg_json_text(&json, "backend", r->backend);
  tg_json_text(&json, "motif", r->motif);
  tg_json_text(&json, "version", r->version);
  tg_json_text(&json, "method", r->method);
  tg_json_text(&json, "axis", tg_bench_motif_axis(r->figure));
  tg_json_double(&json, "x", r->x);
  tg_json_int(&json, "particles", r->particles);
  tg_json_int(&json, "orbitals", r->orbitals);
  tg_json_int(&json, "bodies", r->d);
  tg_json_int(&json, "rows", (long long)r->rows);
  tg_json_int(&json, "columns", (long long)r->columns);
  tg_json_int(&json, "threads", b->params.threads);
  tg_json_double(&json, "density", r->density);
  tg_json_bool(&json, "tiled", r->tiled);
  tg_json_double(&json, "pairs_left", r->left);
  tg_json_text(&json, "skipped", r->skipped[0] ? r->skipped : NULL);
  if (!r->skipped[0]) {
    tg_json_double(&json, "least_s", r->least_s);
    tg_json_double(&json, "median_s", r->median_s);
    tg_json_double(&json, "work", r->work);
    tg_json_double(&json, "rate", r->rate);
    tg_json_text(&json, "rate_unit", r->unit);
    tg_json_bool(&json, "checked", r->checked);
  }
  tg_json_close_object(&json);
}

void tg_cli_motif_print_yardsticks(const tg_bench_yardsticks* y, int threads) {
  printf(
      "yardsticks    STREAM triad %.3g GB/s, xor and popcount of 64 bits %.3g pairs/s (%d "
      "thread%s)\n",
      y->triad_bytes_per_s * 1e-9, y->pairs_per_s, threads, threads == 1 ? "" : "s");
}

void tg_cli_motif_json_yardsticks(FILE* out, const tg_bench_yardsticks* y, int threads) {
  tg_json json = tg_json_on(out, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_text(&json, "benchmark", "motif yardsticks");
  tg_json_int(&json, "threads", threads);
  tg_json_double(&json, "triad_bytes_per_s", y->triad_bytes_per_s);
  tg_json_double(&json, "pairs_per_s", y->pairs_per_s);
  tg_json_close_object(&json);
}

void tg_cli_motif_json_incomplete(FILE* out, const char* reason) {
  tg_json json = tg_json_on(out, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_text(&json, "benchmark", "motif incomplete");
  tg_json_text(&json, "reason", reason);
  tg_json_close_object(&json);
}

/* The measured times of one way to scan, by the number of elements, and their line. */
enum { MOST_LENGTHS = 16 };
typedef struct way {
  const char* name;
  double n[MOST_LENGTHS], seconds[MOST_LENGTHS];
  size_t count;
  tg_scan_cost cost;
} way;

static void add_point(way* w, double n, double seconds) {
  if (w->count == MOST_LENGTHS) return;
  w->n[w->count] = n;
  w->seconds[w->count++] = seconds;
}

static bool is_scan(const row* r, const char* backend) {
  return r->figure == 11 && !r->skipped[0] && strcmp(r->backend, backend) == 0;
}

/* Of a backend: the version of that name; NULL: the fastest parallel one of each length, which is
 * neither serial nor on the host. */
static way way_of(const bench* b, const char* backend, const char* version) {
  way w = {.name = version};
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!is_scan(r, backend)) continue;
    const bool named = version != NULL && strcmp(r->version, version) == 0;
    const bool parallel = strcmp(r->motif, "scan") == 0 && strcmp(r->version, "serial") != 0 &&
                          strncmp(r->version, "host", 4) != 0; /* "host pinned", too */
    if (version != NULL ? !named : !parallel) continue;
    if (w.count > 0 && w.n[w.count - 1] == r->x) { /* another version of this length */
      if (r->least_s >= w.seconds[w.count - 1]) continue;
      w.count--;
    }
    add_point(&w, r->x, r->least_s);
    if (version == NULL) w.name = r->version; /* of the longest */
  }
  if (w.count > 0) w.cost = tg_scan_cost_fit(w.count, w.n, w.seconds);
  return w;
}

/* A time that was measured, or else the line's. */
static double time_of(const way* w, double n, bool* measured) {
  for (size_t i = 0; i < w->count; i++)
    if (w->n[i] == n) {
      *measured = true;
      return w->seconds[i];
    }
  *measured = false;
  return tg_scan_cost_of(w->cost, n);
}

static void print_ratios(const char* backend, const way* serial, const way* parallel) {
  printf("%s: parallel over serial", backend);
  for (size_t i = 0; i < parallel->count; i++) {
    bool measured = false;
    const double one = time_of(serial, parallel->n[i], &measured);
    printf("%s %.0f: %s%.3g", i ? "," : "", parallel->n[i], measured ? "" : "about ",
           one / parallel->seconds[i]);
  }
  printf(" (of the longest: %s)\n", parallel->name);
}

static void print_from(const char* winner, const char* loser, double n) {
  if (n == 0)
    printf("  %s beats %s at every length\n", winner, loser);
  else if (isinf(n))
    printf("  %s never beats %s\n", winner, loser);
  else
    printf("  %s beats %s from %.3g elements on\n", winner, loser, n);
}

/* The transfer model's verdict for a backend with memory of its own. host: the host's own scan. */
static void print_verdict(const bench* b, const char* backend, const way* host, const way* serial,
                          const way* parallel) {
  const way link = way_of(b, backend, "(to the host and back)");
  if (link.count == 0 || host->count == 0) return;
  const tg_scan_cost there = tg_scan_cost_add(link.cost, host->cost);
  printf("  on the host: the link there and back %.3g us + %.3g ns an element, its scan %.3g ns\n",
         link.cost.fixed_s * 1e6, link.cost.element_s * 1e9, host->cost.element_s * 1e9);
  if (serial->count > 0)
    print_from("the scan on the host, with transfers,", "the device's serial one",
               tg_scan_cost_crossing(serial->cost, there));
  if (parallel->count > 0)
    print_from("the device's parallel scan", "that on the host",
               tg_scan_cost_crossing(there, parallel->cost));
  const way done = way_of(b, backend, "host");
  for (size_t i = done.count; i > 0; i = 0)
    printf("  measured on the host, %.0f elements: %.3g ms; the model says %.3g ms\n",
           done.n[i - 1], done.seconds[i - 1] * 1e3, tg_scan_cost_of(there, done.n[i - 1]) * 1e3);
}

/* The model of launches and bytes beside what was measured, of the longest of each way: where a
 * backend copies, and its sweep packs its levels, as the model has it (CUDA's does). */
static void print_model(const bench* b, const char* backend, const way* host) {
  static const tg_scan_way ways[] = {TG_SCAN_SWEEP, TG_SCAN_SINGLE_PASS, TG_SCAN_HOST};
  const way copy = way_of(b, backend, "(copy)"), sweep = way_of(b, backend, "sweep");
  const way link = way_of(b, backend, "(to the host and back)");
  if (copy.count < 2 || link.count < 2 || sweep.count == 0 || host->count == 0) return;
  const tg_scan_machine machine =
      tg_scan_machine_of(copy.cost, link.cost, host->cost, (size_t)sweep.n[0], sweep.seconds[0]);
  printf("  model: memory %.3g GB/s, link %.3g GB/s, a call %.3g us, a kernel %.3g us\n",
         machine.memory * 1e-9, machine.to_host * 1e-9, machine.call_s * 1e6,
         machine.kernel_s * 1e6);
  for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
    const way w = way_of(b, backend, tg_scan_way_name(ways[k]));
    for (size_t i = w.count; i > 0; i = 0)
      printf(
          "    %s, %.0f elements: measured %.3g ms, by the model %.3g ms\n", w.name, w.n[i - 1],
          w.seconds[i - 1] * 1e3,
          tg_scan_time(&machine, ways[k], (size_t)w.n[i - 1], sizeof(uint32_t), sizeof(uint32_t)) *
              1e3);
  }
}

static void summarise_scan(const bench* b) {
  way host = way_of(b, "omp", "serial");
  if (host.count == 0) host = way_of(b, "ref", "serial");
  printf("\n");
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    const way serial = way_of(b, (*t)->name, "serial"), parallel = way_of(b, (*t)->name, NULL);
    if (serial.count == 0 && parallel.count == 0) continue;
    if (serial.count > 0 && parallel.count > 0) print_ratios((*t)->name, &serial, &parallel);
    print_verdict(b, (*t)->name, &host, &serial, &parallel);
    print_model(b, (*t)->name, &host);
  }
}

/* Tiles against none, of the same version. */
static void summarise_tiles(const bench* b) {
  printf("\n%-13s %-20s %9s %2s %11s %16s\n", "backend", "version", "particles", "d", "pairs left",
         "time with/without");
  for (size_t i = 0; i < b->count; i++) {
    const row* with = &b->rows[i];
    if (with->figure != TG_BENCH_MOTIF_TILES || !with->tiled || with->skipped[0]) continue;
    for (size_t k = 0; k < i; k++) {
      const row* r = &b->rows[k];
      if (r->tiled || r->skipped[0] || !same_case(r, with)) continue;
      if (strcmp(r->backend, with->backend) != 0 || strcmp(r->version, with->version) != 0)
        continue;
      printf("%-13s %-20s %9u %2d %11.3f %16.3f\n", r->backend, r->version, r->particles, r->d,
             with->left, r->rate / with->rate);
    }
  }
}

void tg_cli_motif_print_summary(const bench* b, int figure) {
  if (figure == 11) summarise_scan(b);
  if (figure == TG_BENCH_MOTIF_TILES) summarise_tiles(b);
}
