/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `throng bench halo`, at most 100 columns wide, and its JSON. */
#include <math.h>
#include <string.h>

#include "cli/bench_halo.h"

static const int GPU_COUNTS[] = {4, 8, 72};
enum { PREDICTIONS = sizeof GPU_COUNTS / sizeof *GPU_COUNTS };

void tg_cli_halo_way(const tg_bench_halo_case* what, char* out, size_t size) {
  snprintf(out, size, "%s%s%s%s", what->schedule, what->force_return ? " " : "",
           what->force_return ? what->force_return : "", what->bulk ? " bulk" : "");
}

void tg_cli_halo_print_legend(bool gpus) {
  printf(
      "us: a step, positions (x) there and forces (f) back; +-: the middle half of its repeats;\n"
      "x, f: their parts; wt: blocking waits of the CPU, x+f; GB/s: sent by the busiest %s, over "
      "the step;\n",
      gpus ? "card" : "PE");
  if (gpus)
    printf(
        "ln: launches of a card, x+f; CPU%%, flag%%: of the time, CPU in blocking waits, PEs in "
        "flag waits;\n");
  else
    printf("msg: messages of a PE, x+f; wait%%: of the time, PEs waiting for others;\n");
  printf("model: what latencies, bytes and %s allow; ratio: step / model\n",
         gpus ? "launches" : "messages");
}

static void print_device_constants(const tg_device_halo_constants* c) {
  printf(
      "measured: flag %.2f us one way %s, launch %.2f us, graph node %.2f us,\n          blocking "
      "wait %.2f us, stores %.1f GB/s\n",
      c->flag_s * 1e6, c->between_cards ? "between cards" : "within the card", c->launch_s * 1e6,
      c->node_s * 1e6, c->wait_s * 1e6, c->bytes_per_s * 1e-9);
}

static void print_host_constants(const tg_bench_halo_host_constants* c) {
  printf(
      "measured: flag %.2f us one way, one more %.2f us; message %.2f us; %.0f kB by put %.2f "
      "GB/s,\n          by message %.2f GB/s, packed by index %.2f GB/s\n",
      c->flag_s * 1e6, c->raise_s * 1e6, c->message_s * 1e6, (double)c->block_bytes * 1e-3,
      c->put_bytes_per_s * 1e-9, c->message_bytes_per_s * 1e-9, c->pack_bytes_per_s * 1e-9);
}

void tg_cli_halo_print_case(const tg_cli_halo_record* record) {
  const tg_bench_halo_case* w = &record->row.what;
  printf("\n%d atoms, %dx%dx%d PEs", w->atoms, w->grid[0], w->grid[1], w->grid[2]);
  if (w->gpus == 0)
    printf(" on CPUs");
  else
    printf(" on %d GPU%s of %s", w->gpus, w->gpus > 1 ? "s" : "",
           strcmp(w->transport, "loop") == 0 ? "one process" : "as many processes");
  printf(", reach %g nm, %s precision; %.1f kB a step\n", w->reach,
         w->double_precision ? "double" : "single", record->row.bytes * 1e-3);
  if (w->gpus) {
    print_device_constants(&record->device);
    printf("%-15s %-13s %7s %5s %7s %7s %5s %5s %5s %4s %5s %6s %4s\n", "schedule", "transport",
           "us", "+-", "x", "f", "ln", "wt", "GB/s", "CPU%", "flag%", "model", "rat.");
  } else {
    print_host_constants(&record->host);
    printf("%-8s %-9s %9s %8s %9s %9s %5s %5s %6s %5s %9s %6s\n", "schedule", "transport", "us",
           "+-", "x", "f", "msg", "wt", "GB/s", "wait%", "model", "ratio");
  }
}

static const char* pair(double x, double f, char out[24]) {
  snprintf(out, 24, "%.0f+%.0f", x, f);
  return out;
}

void tg_cli_halo_print_row(const tg_bench_halo_row* r) {
  const tg_bench_halo_case* w = &r->what;
  char way[48], via[48], a[24], b[24];
  tg_cli_halo_way(w, way, sizeof way);
  snprintf(via, sizeof via, "%s%s%s", w->transport, w->path ? " " : "", w->path ? w->path : "");
  if (w->gpus)
    printf("%-15s %-13s %7.2f %5.2f %7.2f %7.2f %5s %5s %5.1f %4.0f %5.0f %6.2f %4.1f\n", way, via,
           r->step_us, r->step_spread_us, r->positions_us, r->forces_us,
           pair(r->launches_x, r->launches_f, a), pair(r->waits_x, r->waits_f, b),
           r->bytes_per_s * 1e-9, r->host_wait_share * 100, r->flag_wait_share * 100,
           r->model.total_us, r->ratio);
  else
    printf("%-8s %-9s %9.2f %8.2f %9.2f %9.2f %5s %5s %6.2f %5.0f %9.2f %6.1f\n", way, via,
           r->step_us, r->step_spread_us, r->positions_us, r->forces_us,
           pair(r->messages_x, r->messages_f, a), pair(r->waits_x, r->waits_f, b),
           r->bytes_per_s * 1e-9, r->host_wait_share * 100, r->model.total_us, r->ratio);
  fflush(stdout);
}

static void json_case(tg_json* json, const tg_bench_halo_case* w) {
  tg_json_int(json, "atoms", w->atoms);
  tg_json_double(json, "reach_nm", w->reach);
  tg_json_open_array(json, "grid");
  for (int d = 0; d < 3; d++) tg_json_int(json, NULL, w->grid[d]);
  tg_json_close_array(json);
  tg_json_int(json, "gpus", w->gpus);
  tg_json_text(json, "transport", w->transport);
  tg_json_text(json, "path", w->path);
  tg_json_text(json, "schedule", w->schedule);
  tg_json_text(json, "force_return", w->force_return);
  tg_json_bool(json, "bulk", w->bulk);
  tg_json_bool(json, "double", w->double_precision);
  tg_json_int(json, "repeats", w->repeats);
}

static void json_row(tg_json* json, const tg_bench_halo_row* r) {
  tg_json_int(json, "messages", r->channel_count);
  tg_json_double(json, "step_us", r->step_us);
  tg_json_double(json, "step_spread_us", r->step_spread_us);
  tg_json_double(json, "least_us", r->least_us);
  tg_json_double(json, "most_us", r->most_us);
  tg_json_double(json, "positions_us", r->positions_us);
  tg_json_double(json, "forces_us", r->forces_us);
  tg_json_double(json, "push_us", r->push_us);
  tg_json_double(json, "launches_positions", r->launches_x);
  tg_json_double(json, "launches_forces", r->launches_f);
  tg_json_double(json, "copies_positions", r->copies_x);
  tg_json_double(json, "copies_forces", r->copies_f);
  tg_json_double(json, "messages_positions", r->messages_x);
  tg_json_double(json, "messages_forces", r->messages_f);
  tg_json_double(json, "waits_positions", r->waits_x);
  tg_json_double(json, "waits_forces", r->waits_f);
  tg_json_double(json, "bytes", r->bytes);
  tg_json_double(json, "bytes_per_s", r->bytes_per_s);
  tg_json_double(json, "host_wait_share", r->host_wait_share);
  tg_json_double(json, "flag_wait_share", r->flag_wait_share);
  tg_json_double(json, "model_us", r->model.total_us);
  tg_json_double(json, "model_hops_us", r->model.hops_us);
  tg_json_double(json, "model_bytes_us", r->model.bytes_us);
  tg_json_double(json, "model_starts_us", r->model.starts_us);
  tg_json_double(json, "ratio", r->ratio);
}

static void json_constants(tg_json* json, const tg_cli_halo_record* record) {
  if (record->row.what.gpus) {
    const tg_device_halo_constants* c = &record->device;
    tg_json_double(json, "flag_us", c->flag_s * 1e6);
    tg_json_double(json, "launch_us", c->launch_s * 1e6);
    tg_json_double(json, "node_us", c->node_s * 1e6);
    tg_json_double(json, "wait_us", c->wait_s * 1e6);
    tg_json_double(json, "store_bytes_per_s", c->bytes_per_s);
  } else {
    const tg_bench_halo_host_constants* c = &record->host;
    tg_json_double(json, "flag_us", c->flag_s * 1e6);
    tg_json_double(json, "raise_us", c->raise_s * 1e6);
    tg_json_double(json, "message_us", c->message_s * 1e6);
    tg_json_double(json, "put_bytes_per_s", c->put_bytes_per_s);
    tg_json_double(json, "message_bytes_per_s", c->message_bytes_per_s);
    tg_json_double(json, "pack_bytes_per_s", c->pack_bytes_per_s);
    tg_json_int(json, "block_bytes", (long long)c->block_bytes);
  }
}

void tg_cli_halo_json_record(tg_json* json, const tg_cli_halo_record* record) {
  tg_json_open_object(json, NULL);
  tg_json_text(json, "version", TG_VERSION);
  json_case(json, &record->row.what);
  json_row(json, &record->row);
  json_constants(json, record);
  tg_json_close_object(json);
}

/* Over NVLink and over the fabric; the same grid. */
static tg_status predict(const tg_cli_halo_outlook* o, int atoms, int gpus,
                         tg_bench_halo_prediction* link, tg_bench_halo_prediction* fabric) {
  TG_TRY(tg_bench_halo_predict(atoms, o->reach, gpus, o->element, &o->constants, NULL, link));
  return tg_bench_halo_predict(atoms, o->reach, gpus, o->element, &o->constants, &o->fabric,
                               fabric);
}

static void print_prediction(const tg_bench_halo_prediction* link,
                             const tg_bench_halo_prediction* fabric) {
  char grid[40], messages[24], wins[32] = "always";
  snprintf(grid, sizeof grid, "%dx%dx%d", link->grid[0], link->grid[1], link->grid[2]);
  snprintf(messages, sizeof messages, "%d / %d", link->pulses, link->neighbours);
  if (isfinite(fabric->break_even_s))
    snprintf(wins, sizeof wins, "%.2f us", fabric->break_even_s * 1e6);
  printf("%-7d %4d %-7s %8s %6.0f | %7.1f %6.1f %6.1f | %7.1f %6.1f %6.1f | %s\n", link->atoms,
         link->gpus, grid, messages, link->bytes * 1e-3, link->host_us, link->fused_us,
         link->direct_us, fabric->host_us, fabric->fused_us, fabric->direct_us, wins);
}

void tg_cli_halo_print_outlook(const tg_cli_halo_outlook* o, const int* sizes, int size_count) {
  const tg_device_halo_constants* c = &o->constants;
  printf(
      "\nmodel of a step between GPUs, us (not measured; reach %g nm, one PE on each)\n"
      "NVLink: flag %.2f us, stores %.0f GB/s, graph node %.2f us (host: launch %.2f, wait %.2f "
      "us);\n        %s\n"
      "fabric: put with signal %.2f us, %.0f GB/s, each message (msg) keeps its sender busy %.2f "
      "us\n",
      o->reach, c->flag_s * 1e6, c->bytes_per_s * 1e-9, c->node_s * 1e6, c->launch_s * 1e6,
      c->wait_s * 1e6, o->source, o->fabric.latency_s * 1e6, o->fabric.bytes_per_s * 1e-9,
      o->fabric.message_s * 1e6);
  printf("%-7s %4s %-7s %8s %6s | %22s | %22s | %s\n", "", "", "", "messages", "", "NVLink        ",
         "fabric        ", "direct wins");
  printf("%-7s %4s %-7s %8s %6s | %7s %6s %6s | %7s %6s %6s | %s\n", "atoms", "GPUs", "grid",
         "st. / d.", "kB", "host", "fused", "direct", "host", "fused", "direct", "if msg <");
  for (int s = 0; s < size_count; s++)
    for (int i = 0; i < PREDICTIONS; i++) {
      tg_bench_halo_prediction link, fabric;
      if (predict(o, sizes[s], GPU_COUNTS[i], &link, &fabric) == TG_OK)
        print_prediction(&link, &fabric);
      else
        printf("%-7d %4d cannot be cut so\n", sizes[s], GPU_COUNTS[i]);
    }
}

static void json_prediction(tg_json* json, const tg_bench_halo_prediction* p, const char* link) {
  tg_json_open_object(json, NULL);
  tg_json_text(json, "link", link);
  tg_json_int(json, "atoms", p->atoms);
  tg_json_int(json, "gpus", p->gpus);
  tg_json_open_array(json, "grid");
  for (int d = 0; d < 3; d++) tg_json_int(json, NULL, p->grid[d]);
  tg_json_close_array(json);
  tg_json_int(json, "messages_staged", p->pulses);
  tg_json_int(json, "messages_direct", p->neighbours);
  tg_json_double(json, "bytes", p->bytes);
  tg_json_double(json, "host_us", p->host_us);
  tg_json_double(json, "fused_us", p->fused_us);
  tg_json_double(json, "direct_us", p->direct_us);
  tg_json_double(json, "direct_wins_below_message_us", p->break_even_s * 1e6);
  tg_json_close_object(json);
}

void tg_cli_halo_json_outlook(tg_json* json, const tg_cli_halo_outlook* o, const int* sizes,
                              int size_count) {
  const tg_device_halo_constants* c = &o->constants;
  tg_json_open_object(json, "model_constants");
  tg_json_text(json, "source", o->source);
  tg_json_double(json, "flag_us", c->flag_s * 1e6);
  tg_json_double(json, "node_us", c->node_s * 1e6);
  tg_json_double(json, "launch_us", c->launch_s * 1e6);
  tg_json_double(json, "wait_us", c->wait_s * 1e6);
  tg_json_double(json, "store_bytes_per_s", c->bytes_per_s);
  tg_json_double(json, "fabric_latency_us", o->fabric.latency_s * 1e6);
  tg_json_double(json, "fabric_bytes_per_s", o->fabric.bytes_per_s);
  tg_json_double(json, "fabric_message_us", o->fabric.message_s * 1e6);
  tg_json_close_object(json);
  tg_json_open_array(json, "predictions");
  for (int s = 0; s < size_count; s++)
    for (int i = 0; i < PREDICTIONS; i++) {
      tg_bench_halo_prediction link, fabric;
      if (predict(o, sizes[s], GPU_COUNTS[i], &link, &fabric) != TG_OK) continue;
      json_prediction(json, &link, "nvlink");
      json_prediction(json, &fabric, "fabric");
    }
  tg_json_close_array(json);
}
