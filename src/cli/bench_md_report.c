/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON lines of `throng bench md`. */
#include <stdio.h>

#include "base/json.h"
#include "cli/bench_md.h"
#include "cli/cli.h"

static void print_head(const tg_device_info* gpu) {
  printf("machine  %s, %d multiprocessors, %d MHz; throng %s\n", gpu->name,
         gpu->multiprocessor_count, gpu->clock_khz / 1000, TG_VERSION);
  printf(
      "kernels  medians of graphs of 10 launches, us; a step: pair forces, list / nstlist, prune "
      "/ interval\n\n");
  printf("%9s %8s %8s %8s %8s %8s %8s %8s %6s %6s %10s\n", "atoms", "sort", "list", "prune",
         "forces", "energies", "a step", "model", "listed", "kept", "pairs/s");
}

static void print_row(const tg_bench_md_gpu_result* r) {
  printf("%9zu", r->atom_count);
  for (int i = 0; i < TG_DEVICE_MD_STAGES; i++) printf(" %8.2f", r->us[i]);
  printf(" %8.2f %8.2f %6.2f %6.2f %10.3g\n", r->us_step, r->us_forces_model,
         (double)r->counts.listed / (double)r->pairs, (double)r->counts.kept / (double)r->pairs,
         (double)r->pairs / r->us[TG_DEVICE_MD_FORCES] * 1e6);
}

void tg_cli_bench_md_print_notes(const tg_bench_md_gpu_result* r) {
  printf("\nlist     to %.4f nm every %d steps, pruned to %.4f nm every %d; cut-off %g nm\n",
         r->list_radius, r->nstlist, r->inner_radius, r->prune_interval, r->cutoff);
  printf(
      "columns  model: forces at the full rate of instructions; listed, kept: pairs in the lists "
      "by pairs within the cut-off\n");
}

/* The first measurement of the row on one GPU without domains; NULL: there is none. */
static const tg_bench_md_gpu_steps_result* alone(const tg_cli_bench_md_row* row) {
  for (int i = 0; i < row->step_count; i++) {
    const int* grid = row->steps[i].devices.grid;
    if (grid[0] * grid[1] * grid[2] == 1) return &row->steps[i];
  }
  return NULL;
}

static void name_domains(const tg_device_choice* d, char* out, size_t size) {
  if (d->grid[0] * d->grid[1] * d->grid[2] == 1)
    snprintf(out, size, "1");
  else
    snprintf(out, size, "%dx%dx%d %s", d->grid[0], d->grid[1], d->grid[2], d->halo);
}

static double exposed(const tg_bench_md_gpu_steps_result* r) {
  return r->us > r->unwaited_us ? r->us - r->unwaited_us : 0;
}

static void print_figure(double value) {
  if (value >= 0)
    printf(" %8.2f", value);
  else
    printf(" %8s", "-");
}

static void print_way(const tg_cli_bench_md_row* row, const tg_bench_md_gpu_steps_result* r) {
  char domains[48];
  const tg_bench_md_gpu_steps_result* one = alone(row);
  name_domains(&r->devices, domains, sizeof domains);
  printf("%9zu %4d %-12s %8.2f %8.2f %8.2f %8.1f", row->kernels.atom_count, r->devices.card_count,
         domains, r->us, r->us_least, r->us_most, r->ns_per_day);
  print_figure(one ? one->us / r->us : -1);
  print_figure(r->unwaited_us > 0 ? exposed(r) : -1);
  for (int k = 0; k < TG_BENCH_MD_GPU_PARTS; k++) printf(" %8.2f", r->part[k]);
  printf(" %8.2f %8.4f", r->kernels, r->waits);
  print_figure(r->gromacs_us > 0 ? r->gromacs_us : -1);
  putchar('\n');
}

static void print_times(const tg_cli_bench_md_row* row, const tg_bench_md_gpu_steps_result* r) {
  const tg_device_step_times* t = &r->times;
  char domains[48];
  if (t->steps == 0) return;
  name_domains(&r->devices, domains, sizeof domains);
  printf(
      "timed    %zu atoms, %d GPU%s, %s: %.2f = local %.2f, exposed %.2f, halo rows %.2f, bonded "
      "after them %.2f, update %.2f, exchange %.2f, between %.2f; beside: bonded %.2f, longest "
      "wait %.2f; search %.1f, pruning %.1f; %d steps\n",
      row->kernels.atom_count, r->devices.card_count, r->devices.card_count == 1 ? "" : "s",
      domains, t->whole, t->local, t->exposed, t->halo, t->tail, t->update, t->exchange, t->between,
      t->bonded, t->longest, t->search, t->prune, t->steps);
}

void tg_cli_bench_md_print_steps(const tg_cli_bench_md_row* rows, int count) {
  const tg_bench_md_gpu_steps_result* first = &rows[0].steps[0];
  if (rows[0].step_count == 0) return;
  printf("\nsteps    whole ones without files, %d measurements of %d or so, us\n\n", first->repeats,
         first->steps);
  printf("%9s %4s %-12s %8s %17s %8s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n", "atoms", "GPUs",
         "domains", "median", "least to most", "ns/day", "speed-up", "exposed", "forces", "update",
         "search", "prune", "kernels", "waits", "GROMACS");
  for (int i = 0; i < count; i++)
    for (int k = 0; k < rows[i].step_count; k++) print_way(&rows[i], &rows[i].steps[k]);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < rows[i].step_count; k++) print_times(&rows[i], &rows[i].steps[k]);
  printf(
      "\ncolumns  speed-up: against one GPU and domain. exposed: by what waits for positions of "
      "other "
      "GPUs make a step longer.\n         forces, update, search, prune: by themselves, us a step; "
      "they overlap. kernels, waits of the host: a step,\n         of all GPUs. GROMACS: 2026 on "
      "one "
      "H200, measured apart (docs/performance.md)\n");
}

static void json_times(tg_json* json, const tg_device_step_times* t) {
  tg_json_open_object(json, "us_timed");
  tg_json_int(json, "steps", t->steps);
  tg_json_double(json, "whole", t->whole);
  tg_json_double(json, "local", t->local);
  tg_json_double(json, "exposed", t->exposed);
  tg_json_double(json, "longest_wait", t->longest);
  tg_json_double(json, "halo", t->halo);
  tg_json_double(json, "tail", t->tail);
  tg_json_double(json, "bonded", t->bonded);
  tg_json_double(json, "update", t->update);
  tg_json_double(json, "exchange", t->exchange);
  tg_json_double(json, "between", t->between);
  tg_json_double(json, "search", t->search);
  tg_json_double(json, "prune", t->prune);
  tg_json_close_object(json);
}

static void json_way(const tg_cli_bench_md_row* row, const tg_bench_md_gpu_steps_result* r) {
  char domains[48];
  const tg_bench_md_gpu_steps_result* one = alone(row);
  const int* grid = r->devices.grid;
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "steps");
  tg_json_int(&json, "atoms", (long long)row->kernels.atom_count);
  tg_json_int(&json, "gpus", r->devices.card_count);
  snprintf(domains, sizeof domains, "%dx%dx%d", grid[0], grid[1], grid[2]);
  tg_json_text(&json, "domains", domains);
  tg_json_text(&json, "halo", r->devices.halo);
  tg_json_int(&json, "steps", r->steps);
  tg_json_int(&json, "repeats", r->repeats);
  tg_json_double(&json, "us_step", r->us);
  tg_json_double(&json, "us_step_least", r->us_least);
  tg_json_double(&json, "us_step_most", r->us_most);
  tg_json_double(&json, "ns_per_day", r->ns_per_day);
  if (one) tg_json_double(&json, "speed_up", one->us / r->us);
  if (r->unwaited_us > 0) tg_json_double(&json, "us_exposed", exposed(r));
  if (r->times.steps > 0) json_times(&json, &r->times);
  tg_json_double(&json, "kernels_per_step", r->kernels);
  tg_json_double(&json, "waits_per_step", r->waits);
  tg_json_open_object(&json, "us_parts");
  for (int i = 0; i < TG_BENCH_MD_GPU_PARTS; i++)
    tg_json_double(&json, tg_bench_md_gpu_part_name((tg_bench_md_gpu_part)i), r->part[i]);
  tg_json_close_object(&json);
  if (r->gromacs_us > 0) tg_json_double(&json, "us_step_gromacs_2026", r->gromacs_us);
  tg_json_close_object(&json);
}

void tg_cli_bench_md_json_steps(const tg_cli_bench_md_row* row) {
  for (int i = 0; i < row->step_count; i++) json_way(row, &row->steps[i]);
  fflush(stdout);
}

static void json_machine(const tg_device_info* gpu) {
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "machine");
  tg_json_text(&json, "gpu", gpu->name);
  tg_json_int(&json, "multiprocessors", gpu->multiprocessor_count);
  tg_json_int(&json, "clock_khz", gpu->clock_khz);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_json_close_object(&json);
}

static void json_row(const tg_bench_md_gpu_result* r) {
  tg_json json = tg_json_on(stdout, false);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "benchmark", "md");
  tg_json_text(&json, "kind", "kernels");
  tg_json_int(&json, "atoms", (long long)r->atom_count);
  tg_json_double(&json, "cutoff_nm", r->cutoff);
  tg_json_double(&json, "list_radius_nm", r->list_radius);
  tg_json_double(&json, "inner_radius_nm", r->inner_radius);
  tg_json_int(&json, "nstlist", r->nstlist);
  tg_json_int(&json, "prune_interval", r->prune_interval);
  tg_json_int(&json, "pairs", (long long)r->pairs);
  tg_json_int(&json, "listed", (long long)r->counts.listed);
  tg_json_int(&json, "kept", (long long)r->counts.kept);
  tg_json_open_object(&json, "us");
  for (int i = 0; i < TG_DEVICE_MD_STAGES; i++)
    tg_json_double(&json, tg_bench_md_gpu_stage((tg_device_md_stage)i), r->us[i]);
  tg_json_close_object(&json);
  tg_json_double(&json, "us_step", r->us_step);
  tg_json_double(&json, "us_forces_model", r->us_forces_model);
  if (r->force_deviation >= 0) tg_json_double(&json, "force_deviation", r->force_deviation);
  tg_json_close_object(&json);
}

void tg_cli_bench_md_show_machine(const tg_device_info* gpu, bool json) {
  if (json)
    json_machine(gpu);
  else
    print_head(gpu);
  fflush(stdout);
}

void tg_cli_bench_md_show_kernels(const tg_bench_md_gpu_result* kernels, bool json) {
  if (json)
    json_row(kernels);
  else
    print_row(kernels);
  fflush(stdout);
}
