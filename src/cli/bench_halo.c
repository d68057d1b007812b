/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_halo.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plot.h"
#include "base/text.h"
#include "bench/halo_trace.h"
#include "cli/cli.h"
#include "cli/machine.h"
#include "device/device.h"

typedef tg_cli_halo_fields fields;
typedef tg_cli_halo_bench bench;

static const tg_cli_option options[] = {
    {"halo", 0, TG_CLI_CHOICE, offsetof(fields, halo), "all|host|stream|pulse|fused|direct",
     "schedules to measure (default all; stream needs a GPU)", false},
    {"atoms", 0, TG_CLI_INT, offsetof(fields, atoms), "N",
     "atoms (default 45000, on GPUs then 180000)", false},
    {"reach", 0, TG_CLI_DOUBLE, offsetof(fields, reach), "NM", "cut-off and buffer (default 1.1)",
     false},
    {"pe", 0, TG_CLI_TEXT, offsetof(fields, pe), "GRID",
     "processing elements: a grid such as 2x2x1, or a number (default 2x1x1, 2x2x1, 2x2x2; under a "
     "launcher its processes)",
     false},
    {"transport", 0, TG_CLI_CHOICE, offsetof(fields, transport), "loop|mpi|socket|nvshmem",
     "how they talk (default between processes nvshmem on GPUs, else mpi under a launcher and "
     "socket where TG_BOOTSTRAP is set; else loop)",
     false},
    {"gpus", 0, TG_CLI_INT, offsetof(fields, gpus), "N",
     "GPUs of this process; 0: measure the CPUs (default: one, then two; CPUs where there is none)",
     false},
    {"force-return", 0, TG_CLI_CHOICE, offsetof(fields, force_return), "all|put|pull|reduce",
     "how forces come back on GPUs, schedules fused and direct (default all)", false},
    {"halo-path", 0, TG_CLI_CHOICE, offsetof(fields, path), "all|auto|store|put",
     "between processes on GPUs: stores, or puts with signals (default all: both)", false},
    {"bulk", 0, TG_CLI_FLAG, offsetof(fields, bulk), NULL,
     "positions on GPUs by bulk copies only (default: with and without)", false},
    {"precision", 0, TG_CLI_CHOICE, offsetof(fields, precision), "single|double",
     "of positions and forces (default single)", false},
    {"repeats", 0, TG_CLI_INT, offsetof(fields, repeats), "N",
     "measurements of each schedule (default 9)", false},
    {"deadline", 0, TG_CLI_DOUBLE, offsetof(fields, deadline), "SECONDS",
     "a processing element that waits longer for another ends the run (default 60, for flags on "
     "GPUs 5)",
     false},
    {"model", 0, TG_CLI_FLAG, offsetof(fields, model), NULL,
     "measure nothing; what the model says for 4, 8 and 72 GPUs", false},
    {"flag-us", 0, TG_CLI_DOUBLE, offsetof(fields, flag_us), "US",
     "for these: a flag's way between GPUs (default: measured, without GPUs that of two H200)",
     false},
    {"bandwidth", 0, TG_CLI_DOUBLE, offsetof(fields, bandwidth), "GBS",
     "a GPU's stores into another one's memory (default likewise)", false},
    {"node-us", 0, TG_CLI_DOUBLE, offsetof(fields, node_us), "US",
     "a kernel in a graph (default likewise)", false},
    {"fabric-latency", 0, TG_CLI_DOUBLE, offsetof(fields, fabric_latency), "US",
     "a slower network: put with signal, one way (default 5, as on InfiniBand NDR)", false},
    {"fabric-bandwidth", 0, TG_CLI_DOUBLE, offsetof(fields, fabric_bandwidth), "GBS",
     "its bandwidth for each GPU (default 47)", false},
    {"fabric-message", 0, TG_CLI_DOUBLE, offsetof(fields, fabric_message), "US",
     "how long each message keeps its sender busy (default 0.5)", false},
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print one JSON object, no table",
     false},
    {"json-lines", 0, TG_CLI_TEXT, offsetof(fields, json_lines), "FILE",
     "also write one JSON object per measurement", false},
    {"plot", 0, TG_CLI_TEXT, offsetof(fields, plot), "FILE",
     "plot a step by schedule over the model's floor, .svg or .png", false},
    {"trace", 0, TG_CLI_TEXT, offsetof(fields, trace), "FILE",
     "measure nothing; write the timelines of a few steps, for ui.perfetto.dev", false},
    {"output", 'o', TG_CLI_TEXT, offsetof(fields, output), "FOLDER",
     "for the files above where their names have no folder; alone it writes halo.jsonl and "
     "halo.svg",
     false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* "4" or "2x2x1". */
static tg_status read_pe(bench* b) {
  const char* at = b->f.pe;
  int numbers[3] = {0, 0, 0}, count = 0;
  bool more = true; /* a number must follow */
  while (more && count < 3) {
    int length = (int)strcspn(at, "xX");
    if (!tg_parse_int(at, length, &numbers[count]) || numbers[count] < 1 || numbers[count] > 256)
      break;
    count++;
    at += length;
    more = *at != '\0';
    if (more) at++;
  }
  if (more || (count != 1 && count != 3))
    return tg_fail(TG_ERR_INPUT,
                   "--pe %s: a grid of three numbers such as 2x2x1, or one number, was expected",
                   b->f.pe);
  b->pe_count = count == 1 ? numbers[0] : numbers[0] * numbers[1] * numbers[2];
  if (count == 3) memcpy(b->grid, numbers, sizeof b->grid);
  if (b->pe_count < 2 || b->pe_count > TG_BENCH_HALO_MOST_PES)
    return tg_fail(TG_ERR_INPUT, "--pe %s: an exchange needs 2 processing elements, and at most %d",
                   b->f.pe, TG_BENCH_HALO_MOST_PES);
  return TG_OK;
}

static tg_status more_than_0(const char* name, double value) {
  if (value > 0 || isnan(value)) return TG_OK; /* not a number: not given */
  return tg_fail(TG_ERR_INPUT, "--%s %g: a number above 0 was expected", name, value);
}

/* What is asked for and would not be written is refused, not left out. */
static tg_status check_outputs(const fields* f) {
  const char* left_out = f->json_lines ? "--json-lines" : f->plot ? "--plot" : NULL;
  if (f->model && !left_out) left_out = f->trace ? "--trace" : f->output ? "-o" : NULL;
  if (f->trace && !left_out && f->json) left_out = "--json";
  if (!left_out || !(f->model || f->trace)) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "%s measures nothing that %s could hold; leave one of them out",
                 f->model ? "--model" : "--trace", left_out);
}

/* An option that would change nothing is refused, too. given: NULL ends. */
static tg_status refuse_given(const char* mode, const char* const* given) {
  for (; *given; given++)
    if (**given)
      return tg_fail(TG_ERR_INPUT, "--%s has no meaning with %s; leave it out", *given, mode);
  return TG_OK;
}

static bool is_all(const char* word) { return strcmp(word, "all") == 0; }

/* Options of measurements with --model and --trace, those of the model with --trace. */
static tg_status check_modes(const fields* f) {
  const char* const measuring[] = {is_all(f->halo) ? "" : "halo",
                                   f->transport ? "transport" : "",
                                   is_all(f->force_return) ? "" : "force-return",
                                   is_all(f->path) ? "" : "halo-path",
                                   f->bulk ? "bulk" : "",
                                   f->repeats != INT_MIN ? "repeats" : "",
                                   NULL};
  const char* const sized[] = {f->pe ? "pe" : "", f->gpus != INT_MIN ? "gpus" : "",
                               isnan(f->deadline) ? "" : "deadline", NULL};
  const char* const modelled[] = {isnan(f->flag_us) ? "" : "flag-us",
                                  isnan(f->bandwidth) ? "" : "bandwidth",
                                  isnan(f->node_us) ? "" : "node-us",
                                  isnan(f->fabric_latency) ? "" : "fabric-latency",
                                  isnan(f->fabric_bandwidth) ? "" : "fabric-bandwidth",
                                  isnan(f->fabric_message) ? "" : "fabric-message",
                                  NULL};
  if (f->model || f->trace) TG_TRY(refuse_given(f->model ? "--model" : "--trace", measuring));
  if (f->model) TG_TRY(refuse_given("--model", sized));
  return f->trace ? refuse_given("--trace", modelled) : TG_OK;
}

static tg_status check(bench* b) {
  fields* f = &b->f;
  TG_TRY(check_outputs(f));
  TG_TRY(check_modes(f));
  if (f->repeats == INT_MIN) f->repeats = 9;
  if (f->pe) TG_TRY(read_pe(b));
  if (f->atoms < 1 && f->atoms != INT_MIN)
    return tg_fail(TG_ERR_INPUT, "--atoms %d: at least 1 was expected", f->atoms);
  if (f->repeats < 1 || f->repeats > TG_BENCH_HALO_MOST_REPEATS)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to %d were expected", f->repeats,
                   TG_BENCH_HALO_MOST_REPEATS);
  if (f->gpus != INT_MIN && f->gpus < 0)
    return tg_fail(TG_ERR_INPUT, "--gpus %d: 0 (the CPUs) or more was expected", f->gpus);
  TG_TRY(more_than_0("deadline", f->deadline));
  b->deadline_s = isnan(f->deadline) ? 0 : f->deadline;
  TG_TRY(more_than_0("reach", f->reach));
  TG_TRY(more_than_0("flag-us", f->flag_us));
  TG_TRY(more_than_0("bandwidth", f->bandwidth));
  TG_TRY(more_than_0("node-us", f->node_us));
  TG_TRY(more_than_0("fabric-latency", f->fabric_latency));
  TG_TRY(more_than_0("fabric-bandwidth", f->fabric_bandwidth));
  return more_than_0("fabric-message", f->fabric_message);
}

/* CPUs or GPUs, and how many processes. */
static tg_status choose_machine(bench* b, int there) {
  const fields* f = &b->f;
  bool launched = tg_world_under_launcher() || getenv("TG_BOOTSTRAP");
  bool named = f->transport && strcmp(f->transport, "loop") != 0;
  b->on_gpus = f->gpus != 0 && there > 0;
  b->processes = named || (launched && !f->transport);
  if (f->gpus > 0 && there == 0)
    return tg_fail(TG_ERR_MACHINE, "--gpus %d: %s; --gpus 0 measures the CPUs", f->gpus,
                   tg_device_reason());
  if (f->gpus > 0 && b->processes)
    return tg_fail(TG_ERR_INPUT,
                   "--gpus %d: processes have a GPU each; their number is the launcher's", f->gpus);
  if (!b->on_gpus && strcmp(f->halo, "stream") == 0)
    return tg_fail(TG_ERR_INPUT,
                   "--halo stream: host memory has no streams; give host, pulse, fused or direct "
                   "(%s)",
                   there ? "--gpus 0 asks for the CPUs" : tg_device_reason());
  const char* const of_gpus[] = {is_all(f->force_return) ? "" : "force-return",
                                 is_all(f->path) ? "" : "halo-path", f->bulk ? "bulk" : "", NULL};
  if (!b->on_gpus && !f->trace) TG_TRY(refuse_given("a measurement on CPUs", of_gpus));
  if (!b->on_gpus && f->transport && strcmp(f->transport, "nvshmem") == 0)
    return tg_fail(TG_ERR_MACHINE, "--transport nvshmem: %s; the CPUs have loop, mpi and socket",
                   there ? "it is for GPUs" : tg_device_reason());
  return TG_OK;
}

/* Files: beside each other in the folder of -o where their names have none. Only PE 0 calls. */
static tg_status open_files(bench* b) {
  const fields* f = &b->f;
  const char* lines = f->json_lines ? f->json_lines : f->output ? "halo.jsonl" : NULL;
  const char* plot = f->plot;
  char words[128];
  bool drawn = tg_plot_program(words, sizeof words) == TG_OK;
  if (f->output) TG_TRY(tg_folder_make(f->output));
  if (f->output && !plot && drawn && !f->model) plot = "halo.svg";
  if (plot && !drawn) return TG_ERR_MACHINE; /* its message is set */
  if (plot) {
    TG_TRY(tg_path_join(f->output && !strchr(plot, '/') ? f->output : "", plot, b->plot_path,
                        sizeof b->plot_path));
    TG_TRY(tg_plot_check_name(b->plot_path));
    TG_TRY(tg_new_file_check(b->plot_path));
  }
  if (!lines || f->model) return TG_OK;
  TG_TRY(tg_path_join(f->output && !strchr(lines, '/') ? f->output : "", lines, b->lines_path,
                      sizeof b->lines_path));
  TG_TRY(tg_new_file_open(b->lines_path, &b->file));
  b->lines = b->file.stream;
  return TG_OK;
}

/* What the predictions are made of: measured here, or as two H200 have it, but for what is given.
 */
static void set_outlook(bench* b) {
  const fields* f = &b->f;
  tg_cli_halo_outlook* o = &b->outlook;
  tg_device_halo_constants* c = &o->constants;
  bool given = !isnan(f->flag_us) || !isnan(f->bandwidth) || !isnan(f->node_us);
  bool measured = c->flag_s > 0;
  if (!measured) *c = tg_bench_halo_two_h200;
  o->source = measured ? (given ? "as given, else measured here" : "measured here")
              : given  ? "as given, else as two H200 measured on 2026-11-30"
                       : "of two H200, measured on 2026-11-30: not of this machine";
  o->fabric = tg_bench_halo_ndr;
  o->reach = f->reach;
  o->element = strcmp(f->precision, "double") == 0 ? sizeof(double) : sizeof(float);
  if (!isnan(f->flag_us)) c->flag_s = f->flag_us * 1e-6;
  if (!isnan(f->bandwidth)) c->bytes_per_s = f->bandwidth * 1e9;
  if (!isnan(f->node_us)) c->node_s = f->node_us * 1e-6;
  if (!isnan(f->fabric_latency)) o->fabric.latency_s = f->fabric_latency * 1e-6;
  if (!isnan(f->fabric_bandwidth)) o->fabric.bytes_per_s = f->fabric_bandwidth * 1e9;
  if (!isnan(f->fabric_message)) o->fabric.message_s = f->fabric_message * 1e-6;
}

static void print_machine(const bench* b, int there) {
  tg_cli_machine machine = tg_cli_machine_query();
  tg_device_info info;
  if (b->on_gpus && tg_device_query(0, &info) == TG_OK)
    printf("throng %s on %d x %s\n", TG_VERSION, there, info.name);
  else
    printf("throng %s on CPUs: %s, %d threads usable\n", TG_VERSION, machine.cpu_model,
           machine.usable_threads);
  tg_cli_halo_print_legend(b->on_gpus);
}

/* PE 0, when all is measured, or nothing was to be. */
static void print_end(const bench* b) {
  static const int both[] = {45000, 180000};
  const int* sizes = b->f.atoms == INT_MIN ? both : &b->f.atoms;
  int count = b->f.atoms == INT_MIN ? 2 : 1;
  if (!b->f.json) {
    tg_cli_halo_print_outlook(&b->outlook, sizes, count);
    return;
  }
  tg_json json = tg_json_on(stdout, true);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "halo");
  tg_json_text(&json, "version", TG_VERSION);
  tg_json_open_array(&json, "measurements");
  for (int i = 0; i < b->record_count; i++) tg_cli_halo_json_record(&json, &b->records[i]);
  tg_json_close_array(&json);
  tg_cli_halo_json_outlook(&json, &b->outlook, sizes, count);
  tg_json_close_object(&json);
}

/* What was measured is kept, also when a later case failed. */
static tg_status finish(bench* b, tg_status status) {
  if (b->lines && !b->record_count) { /* nothing to put in the place of an earlier file */
    tg_new_file_abandon(&b->file);
    b->lines = NULL;
  }
  if (b->lines) {
    tg_status written = tg_new_file_commit(&b->file);
    if (status == TG_OK) status = written;
  }
  TG_TRY(status);
  set_outlook(b);
  print_end(b);
  if (b->plot_path[0]) TG_TRY(tg_cli_halo_plot(b->records, b->record_count, b->plot_path));
  if (!b->f.json && b->lines) printf("written to %s\n", b->lines_path);
  if (!b->f.json && b->plot_path[0]) printf("written to %s\n", b->plot_path);
  return TG_OK;
}

/* Timelines instead of measurements; on the CPUs where there is no GPU. */
static tg_status write_trace(const bench* b, int there) {
  const fields* f = &b->f;
  char path[4096];
  tg_bench_trace_params params = {.atoms = b->sizes[0],
                                  .reach = f->reach,
                                  .grid = {2, 2, 1},
                                  .gpus = f->gpus > 0 ? f->gpus
                                          : there < 4 ? there
                                                      : 4,
                                  .double_precision = strcmp(f->precision, "double") == 0,
                                  .deadline_s = b->deadline_s};
  tg_bench_trace_row rows[TG_BENCH_TRACE_ROWS];
  int count = 0;
  if (f->pe) TG_TRY(tg_cli_halo_choose_grid(b, params.atoms, b->pe_count, params.grid));
  if (f->output) TG_TRY(tg_folder_make(f->output));
  TG_TRY(tg_path_join(f->output && !strchr(f->trace, '/') ? f->output : "", f->trace, path,
                      sizeof path));
  TG_TRY(tg_new_file_check(path)); /* better found out now than after the measurement */
  TG_TRY(tg_bench_trace_write(&params, path, rows, &count));
  for (int i = 0; i < count; i++)
    printf("%-36s %8.1f us a step, recording included; %zu events\n", rows[i].name, rows[i].step_us,
           rows[i].events);
  printf("written to %s: open it at https://ui.perfetto.dev\n", path);
  return TG_OK;
}

static tg_status run(int argc, char** argv) {
  static bench b;
  b = (bench){.f = {.halo = "all",
                    .force_return = "all",
                    .path = "all",
                    .precision = "single",
                    .atoms = INT_MIN,
                    .gpus = INT_MIN,
                    .repeats = INT_MIN,
                    .deadline = NAN,
                    .reach = 1.1,
                    .flag_us = NAN,
                    .bandwidth = NAN,
                    .node_us = NAN,
                    .fabric_latency = NAN,
                    .fabric_bandwidth = NAN,
                    .fabric_message = NAN}};
  TG_TRY(tg_cli_options_parse(options, argc, argv, &b.f, NULL));
  TG_TRY(check(&b));
  if ((b.f.model || b.f.trace) && !tg_cli_speaks()) return TG_OK;
  int there = b.f.gpus == 0 || b.f.model ? 0 : tg_device_count();
  if (!b.f.model) TG_TRY(choose_machine(&b, there));
  b.sizes[0] = b.f.atoms == INT_MIN ? 45000 : b.f.atoms;
  b.sizes[1] = 180000;
  if (b.f.trace) return write_trace(&b, there);
  b.size_count = b.f.atoms == INT_MIN && b.on_gpus ? 2 : 1;
  if (tg_cli_speaks()) b.begun = open_files(&b);
  if (b.f.model) return b.begun == TG_OK ? finish(&b, TG_OK) : b.begun;
  if (tg_cli_speaks() && b.begun == TG_OK && !b.f.json) print_machine(&b, there);
  tg_status status = tg_cli_halo_measure(&b, there);
  return tg_cli_speaks() ? finish(&b, status) : status;
}

static const tg_cli_example examples[] = {
    {"throng bench halo --plot halo.svg",
     "every schedule, on the GPUs of this machine, or where there are none on its CPUs"},
    {"throng bench halo --gpus 0 --pe 2 --halo direct --json-lines halo.jsonl",
     "one schedule between two PEs on CPUs, also as JSON lines"},
    {"mpirun -n 2 throng bench halo", "between processes"},
    {"throng bench halo --model --fabric-latency 3 --fabric-bandwidth 23",
     "what to expect of 4, 8 and 72 GPUs, over NVLink and over a network of one's own"},
    {"throng bench halo --trace build/halo-trace.json",
     "what happens when: driven by the CPU, and by flags; works without a GPU, too"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_bench_halo_verb = {
    .name = "bench halo",
    .summary = "time of a halo exchange between GPUs or CPUs, by schedule, against its model",
    .usage = "[options]",
    .text =
        "Random atoms at 100 per cubic nanometre exchange positions (x) and forces (f). Each "
        "schedule is checked, then timed; on CPUs the schedules take turns. Counts of launches, "
        "messages and blocking waits are counted where they happen.\n\n"
        "The model of a step: a latency for each hop that follows another (staged: the pulses "
        "there and back; direct: one each way), bytes over a bandwidth, and launches or further "
        "messages. Its constants are measured in the same run. What is above the model is the work "
        "of packing and adding, and waiting for PEs that are late.\n\n"
        "On GPUs x is the exchange of positions alone, its receivers confirming that they have "
        "read, and f the difference to a whole step; on CPUs both are parts of the step. At the "
        "end the model's steps for 4, 8 and 72 GPUs, over NVLink and over a slower network, where "
        "every put carries its signal; host, fused and direct.",
    .options = options,
    .examples = examples,
    .run = run,
};
