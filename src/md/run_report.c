/* SPDX-License-Identifier: Apache-2.0 */
#include "md/run_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/plot.h"
#include "base/text.h"

static const char* kernels_of(const tg_run* run) {
  return run->kernels[0] ? run->kernels : tg_nonbonded_describe(run->domain->nonbonded);
}

/* Who computes what. */
static void log_elements(const tg_run* run) {
  const tg_domain* domain = run->domain;
  const tg_device_choice* devices = &run->devices;
  const int* grid = devices->card_count > 0 ? devices->grid : domain->params.grid;
  const int count = grid[0] * grid[1] * grid[2], cards = devices->card_count;
  tg_output* out = run->output;
  if (cards == 0)
    tg_output_log(out, "%d processing element%s (%d x %d x %d, %s, halo %s), %d thread%s each, %s",
                  count, count == 1 ? "" : "s", grid[0], grid[1], grid[2],
                  tg_world_transport(domain->world), tg_halo_schedule_of(domain->halo),
                  domain->params.threads, domain->params.threads == 1 ? "" : "s", kernels_of(run));
  else if (count == 1)
    tg_output_log(out, "1 processing element on a GPU, %s", kernels_of(run));
  else
    tg_output_log(out, "%d processing elements (%d x %d x %d, halo %s) on %d GPU%s%s, %s", count,
                  grid[0], grid[1], grid[2], devices->halo, cards, cards == 1 ? "" : "s",
                  run->processes ? ", a process each" : "", kernels_of(run));
}

void tg_run_report_start(tg_run* run, const tg_list_choice* choice) {
  if (!run->output) return;
  const tg_md_system* system = run->system;
  const tg_parameters* p = &system->parameters;
  tg_output* out = run->output;
  tg_output_log(out, "throng %s: %s", TG_VERSION,
                p->integrator == TG_INTEGRATOR_LEAP_FROG ? "leap-frog molecular dynamics"
                                                         : "steepest-descent minimisation");
  tg_output_log(out, "%zu atoms in %zu molecules, box %.5f x %.5f x %.5f nm, %zu constraints",
                system->atom_count, system->molecule_count, system->box[0], system->box[1],
                system->box[2], system->constraint_count);
  tg_output_log(out, "%.0f degrees of freedom, cut-off %g nm, time step %g ps",
                system->total_degrees_of_freedom, p->cutoff, p->dt);
  tg_output_log(out, "pair list every %d steps with radius %.4f nm: %s", choice->nstlist,
                choice->radius, choice->reason);
  if (choice->prune_interval > 0)
    tg_output_log(out, "pruned every %d steps to %.4f nm", choice->prune_interval,
                  choice->inner_radius);
  log_elements(run);
  if (p->generate_velocities)
    tg_output_log(out, "velocities drawn with gen-seed %lld", p->gen_seed);
  if (p->thermostat == TG_THERMOSTAT_V_RESCALE)
    tg_output_log(out, "thermostat noise from ld-seed %lld", p->ld_seed);
  if (run->result.first_step != p->init_step)
    tg_output_log(out, "continued from step %lld", run->result.first_step);
}

static void log_averages(tg_run* run) {
  const tg_output_marks* sums = tg_output_sums(run->output);
  if (sums->samples < 1) return;
  tg_output_log(run->output, "\naverages over %.0f samples%*s mean        rms fluctuation",
                sums->samples, 4, "");
  for (int term = 0; term < TG_E_COUNT; term++) {
    if (!tg_output_has_term(run->system, (tg_energy_term)term)) continue;
    double mean = sums->sum[term] / sums->samples;
    double variance = sums->sum_squares[term] / sums->samples - mean * mean;
    tg_output_log(run->output, "%20s %-7s %16.8g %16.6g", tg_energy_label((tg_energy_term)term),
                  tg_energy_unit((tg_energy_term)term), mean, variance > 0 ? sqrt(variance) : 0.0);
  }
}

/* sums: over PEs; what no part accounts for is TG_PART_OTHER's. */
static void fill_parts(tg_run* run, const double* sums, double pairs) {
  tg_md_run_result* result = &run->result;
  const tg_domain* domain = run->domain;
  int pe_count = tg_world_pe_count(domain->world);
  double other = result->wall_s;
  for (int i = 0; i < TG_PART_COUNT; i++) {
    result->parts[i] =
        (tg_md_part_time){tg_md_part_name((tg_md_part)i), i == TG_PART_OTHER ? 0 : sums[i]};
    result->parts[i].seconds /= pe_count;
    other -= result->parts[i].seconds;
  }
  result->parts[TG_PART_OTHER].seconds = other;
  result->part_count = TG_PART_COUNT;
  result->pairs_in_list = pairs;
  result->nstlist = run->nstlist;
  result->list_radius = run->list_radius;
  result->prune_interval = run->prune_interval;
  result->inner_radius = run->prune_interval > 0 ? run->inner_radius : 0;
  result->threads = domain->params.threads;
  snprintf(result->kernels, sizeof result->kernels, "%s", kernels_of(run));
}

static void log_parts(tg_run* run) {
  const tg_md_run_result* result = &run->result;
  if (run->steps_done < 1 || !(result->wall_s > 0)) return; /* there is nothing to share out */
  double total = result->wall_s, seconds = result->parts[TG_PART_NONBONDED].seconds;
  tg_output_log(run->output, "\ntime split (mean over processing elements)   seconds   share");
  for (int i = 0; i < result->part_count; i++)
    tg_output_log(run->output, "  %-40s %9.3f  %5.1f %%", result->parts[i].name,
                  result->parts[i].seconds, 100 * result->parts[i].seconds / total);
  /* a minimisation evaluates forces more often than it counts steps */
  if (seconds > 0 && run->system->parameters.integrator == TG_INTEGRATOR_LEAP_FROG)
    tg_output_log(run->output, "%.0f pairs in the list, %.4g pair distances a second",
                  result->pairs_in_list, result->pairs_in_list * (double)run->steps_done / seconds);
}

_Static_assert(sizeof((tg_md_run_result*)0)->parts / sizeof(tg_md_part_time) >= TG_PART_COUNT,
               "the public result has room for every part");

tg_status tg_run_report_end(tg_run* run) {
  tg_domain* domain = run->domain;
  double sums[TG_PART_COUNT + 1];
  memcpy(sums, domain->part_s, sizeof domain->part_s);
  sums[TG_PART_COUNT] = (double)domain->pairs_in_list;
  TG_TRY(tg_world_sum_doubles(domain->world, sums, TG_PART_COUNT + 1));
  fill_parts(run, sums, sums[TG_PART_COUNT]);
  if (!run->output) return TG_OK;
  tg_md_run_result* result = &run->result;
  const tg_output_marks* averages = tg_output_sums(run->output);
  double dt = run->system->parameters.dt;
  double steps = (double)run->steps_done;
  if (result->wall_s > 0) result->ns_per_day = steps * dt * 1e-3 * 86400 / result->wall_s;
  result->drift = tg_output_drift(run->output) / (double)run->system->atom_count;
  if (averages->samples > 0)
    result->mean_temperature = averages->sum[TG_E_TEMPERATURE] / averages->samples;
  log_averages(run);
  log_parts(run);
  if (run->system->parameters.integrator == TG_INTEGRATOR_LEAP_FROG) {
    tg_output_log(run->output, "drift of the conserved energy %.3g kJ/mol/ps per atom",
                  result->drift);
    if (run->steps_done > 0)
      tg_output_log(run->output, "%lld step%s in %.2f s: %.2f ns/day, %.1f us a step",
                    run->steps_done, run->steps_done == 1 ? "" : "s", result->wall_s,
                    result->ns_per_day, 1e6 * result->wall_s / steps);
    else
      tg_output_log(run->output, "no step was finished in %.2f s", result->wall_s);
  } else {
    tg_output_log(run->output, "%s: largest force %.6g kJ/mol/nm after %lld steps",
                  result->converged ? "converged" : "not converged", result->largest_force,
                  result->last_step);
  }
  return TG_OK;
}

/* The columns of energies.xvg that the plot shows. */
enum { CURVES = 3 };

typedef struct table {
  double* columns[1 + CURVES]; /* time, then curves */
  size_t capacity[1 + CURVES];
  size_t count;
} table;

static int column_of(const tg_md_system* system, tg_energy_term wanted) {
  int column = 1;
  for (int term = 0; term < (int)wanted; term++)
    column += tg_output_has_term(system, (tg_energy_term)term);
  return column;
}

static tg_status read_table(const char* path, const int* columns, table* out) {
  tg_text_file file;
  TG_TRY(tg_text_file_read(path, &file));
  tg_status status = TG_OK;
  for (size_t i = 0; i < file.line_count && status == TG_OK; i++) {
    tg_word words[TG_E_COUNT + 1];
    if (file.lines[i][0] == '#' || file.lines[i][0] == '@') continue;
    int found = tg_split_words(file.lines[i], words, TG_E_COUNT + 1);
    for (int c = 0; c <= CURVES && status == TG_OK; c++) {
      status = TG_RESERVE(out->count + 1, "plot", &out->columns[c], &out->capacity[c]);
      if (status == TG_OK && (columns[c] >= found ||
                              !tg_parse_double(words[columns[c]].start, words[columns[c]].length,
                                               &out->columns[c][out->count])))
        status = tg_fail_at((tg_place){path, (int)i + 1, 0}, "a number was expected in column %d",
                            columns[c] + 1);
    }
    out->count++;
  }
  tg_text_file_free(&file);
  return status;
}

tg_status tg_run_plot_check(const tg_md_job* job) {
  TG_TRY(tg_plot_check_name(job->plot));
  char in_output[4096], folder[4096];
  const char* slash = strrchr(job->plot, '/');
  if (!slash) return TG_OK;
  TG_TRY(tg_path_join(job->output, slash + 1, in_output, sizeof in_output));
  if (strcmp(in_output, job->plot) == 0) return TG_OK; /* that folder will be made */
  snprintf(folder, sizeof folder, "%.*s", (int)(slash - job->plot), job->plot);
  if (slash == job->plot || tg_path_exists(folder)) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "%s: cannot be written: the folder %s does not exist; make it first",
                 job->plot, folder);
}

tg_status tg_run_plot(const tg_md_job* job, const tg_md_system* system) {
  static const tg_energy_term terms[CURVES] = {TG_E_POTENTIAL, TG_E_CONSERVED, TG_E_TEMPERATURE};
  int columns[1 + CURVES] = {0};
  for (int c = 0; c < CURVES; c++) columns[c + 1] = column_of(system, terms[c]);
  char path[4096];
  table data = {0};
  TG_TRY(tg_path_join(job->output, tg_output_name(TG_OUTPUT_XVG), path, sizeof path));
  tg_status status = read_table(path, columns, &data);
  if (status == TG_OK) {
    tg_plot_curve curves[CURVES];
    for (int c = 0; c < CURVES; c++)
      curves[c] = (tg_plot_curve){.label = NULL, /* one curve a panel: the axis names it */
                                  .x = data.columns[0],
                                  .y = data.columns[c + 1],
                                  .count = data.count,
                                  .panel = c};
    bool dynamics = system->parameters.integrator == TG_INTEGRATOR_LEAP_FROG;
    tg_plot plot = {.title = system->topology.title,
                    .x_label = dynamics ? "time / ps" : "step",
                    .panel_labels = {"potential energy / (kJ/mol)", "conserved energy / (kJ/mol)",
                                     "temperature / K", NULL},
                    .curves = curves,
                    .curve_count = dynamics ? CURVES : 1,
                    .same_span = 1u << 0 | 1u << 1}; /* the energies: constancy shows */
    if (!dynamics) plot.panel_labels[1] = NULL;
    status = tg_plot_write(&plot, job->plot);
  }
  for (int c = 0; c <= CURVES; c++) tg_free(data.columns[c]);
  return status;
}
