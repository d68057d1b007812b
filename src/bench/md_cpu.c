/* SPDX-License-Identifier: Apache-2.0 */
/* The question and its model stand in md_cpu.h. */
#include "bench/md_cpu.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "bench/openmm.h"
#include "md/parameters.h"

enum { PATH_SIZE = 4096 };

static int ascending(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void sorted(const tg_bench_series* series, double* out) {
  memcpy(out, series->us, (size_t)series->count * sizeof *out);
  qsort(out, (size_t)series->count, sizeof *out, ascending);
}

double tg_bench_least(const tg_bench_series* series) {
  double us[TG_BENCH_MOST_REPEATS];
  sorted(series, us);
  return us[0];
}

double tg_bench_most(const tg_bench_series* series) {
  double us[TG_BENCH_MOST_REPEATS];
  sorted(series, us);
  return us[series->count - 1];
}

double tg_bench_median(const tg_bench_series* series) {
  double us[TG_BENCH_MOST_REPEATS];
  sorted(series, us);
  int half = series->count / 2;
  return series->count % 2 ? us[half] : 0.5 * (us[half - 1] + us[half]);
}

static void say(const tg_bench_md_cpu_params* params, const char* line) {
  if (params->progress) params->progress(params->context, line);
}

/* Output would be measured too, and the number of steps is the benchmark's: these keys are its own.
 */
static bool is_replaced(const char* line) {
  static const char* const keys[] = {"nsteps",  "initstep", "nstxout",           "nstvout",
                                     "nstfout", "nstlog",   "nstxoutcompressed", "nstenergy"};
  char key[32];
  size_t length = 0;
  for (; *line && *line != '=' && *line != ';' && length + 1 < sizeof key; line++)
    if (!strchr("-_ \t", *line)) key[length++] = *line;
  key[length] = '\0';
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (tg_compare_nocase(key, keys[i]) == 0) return true;
  return false;
}

static tg_status write_parameters(const char* from, const char* path, int steps) {
  tg_text_file file;
  TG_TRY(tg_text_file_read(from, &file));
  tg_new_file copy;
  tg_status status = tg_new_file_open(path, &copy);
  if (status == TG_OK) {
    for (size_t i = 0; i < file.line_count; i++)
      if (!is_replaced(file.lines[i])) fprintf(copy.stream, "%s\n", file.lines[i]);
    /* step nsteps is computed too */
    fprintf(copy.stream, "nsteps = %d\nnstlog = 0\nnstenergy = 0\n", steps - 1);
    status = tg_new_file_commit(&copy);
  }
  tg_text_file_free(&file);
  return status;
}

/* A folder of files and of folders of files. */
static void remove_folder(const char* folder, int depth) {
  DIR* entries = opendir(folder);
  if (!entries) return;
  struct dirent* entry;
  while ((entry = readdir(entries))) {
    char path[PATH_SIZE];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (tg_path_join(folder, entry->d_name, path, sizeof path) != TG_OK) continue;
    if (unlink(path) != 0 && depth > 0) remove_folder(path, depth - 1);
  }
  closedir(entries);
  rmdir(folder);
}

static tg_md_job job_of(const tg_bench_md_cpu_params* params) {
  tg_md_job job;
  tg_md_job_default(&job);
  job.configuration = params->configuration;
  job.topology = params->topology;
  job.parameters = params->parameters;
  job.precision = params->precision;
  job.threads = params->threads;
  job.transport = "loop";
  job.pe_count = 1;
  return job;
}

/* Positions in float are good to FLT_EPSILON times the distances they are taken from, at most the
 * pair list's cell of about 1 nm. At 0.15 nm the steepest force, r^-13, turns that into 13 x
 * FLT_EPSILON x 1 / 0.15, 1e-5 of a pair force, and the net force on an atom is about ten times
 * smaller than its largest pair forces. Double precision: the same with DBL_EPSILON, and sums over
 * 1e3 terms. */
static double force_limit(const char* precision) {
  bool mixed = strcmp(precision, "mixed") == 0;
  return 10 * 13 / 0.15 * (mixed ? FLT_EPSILON : 1e3 * DBL_EPSILON);
}

static tg_status check_forces(const tg_bench_md_cpu_params* params, tg_bench_md_cpu_result* out) {
  tg_md_job job = job_of(params);
  tg_md_energy_result fast = {0}, reference = {0};
  TG_TRY(tg_md_energy(&job, &fast));
  job.backend = "ref";
  job.precision = "double";
  tg_status status = tg_md_energy(&job, &reference);
  double difference2 = 0, size2 = 0;
  for (size_t i = 0; status == TG_OK && i < reference.atom_count; i++)
    for (int d = 0; d < 3; d++) {
      double apart = fast.forces[i][d] - reference.forces[i][d];
      difference2 += apart * apart;
      size2 += reference.forces[i][d] * reference.forces[i][d];
    }
  out->atom_count = reference.atom_count;
  out->force_limit = force_limit(params->precision);
  out->force_deviation = size2 > 0 ? sqrt(difference2 / size2) : 0;
  if (status == TG_OK && !(out->force_deviation <= out->force_limit))
    status =
        tg_fail(TG_ERR_NUMERICS,
                "the forces differ from the reference backend's by %.3g of their size, at most "
                "%.3g was expected: no speed is worth measuring",
                out->force_deviation, out->force_limit);
  tg_md_energy_free(&fast);
  tg_md_energy_free(&reference);
  return status;
}

static tg_status run_throng(const tg_bench_md_cpu_params* params, const char* folder, int steps,
                            tg_md_run_result* result) {
  char mdp[PATH_SIZE], output[PATH_SIZE];
  TG_TRY(tg_path_join(folder, "bench.mdp", mdp, sizeof mdp));
  TG_TRY(tg_path_join(folder, "run", output, sizeof output));
  TG_TRY(write_parameters(params->parameters, mdp, steps));
  tg_md_job job = job_of(params);
  job.parameters = mdp;
  job.output = output;
  tg_status status = tg_md_run(&job, result);
  remove_folder(output, 0);
  return status;
}

static tg_status measure_throng(const tg_bench_md_cpu_params* params, const char* folder,
                                tg_bench_md_cpu_result* out) {
  tg_md_run_result result;
  TG_TRY(run_throng(params, folder, params->steps, &result));
  tg_bench_series* series = &out->series[0];
  double us = 1e6 * result.wall_s / params->steps;
  if (series->count == 0 || us < tg_bench_least(series)) out->best = result;
  series->us[series->count++] = us;
  return TG_OK;
}

/* Starts OpenMM where it can take part; says in out->openmm why not. */
static void invite_openmm(const tg_bench_md_cpu_params* params, tg_bench_md_cpu_result* out,
                          tg_openmm* openmm) {
  if (!params->python) {
    snprintf(out->openmm, sizeof out->openmm, "left out");
    return;
  }
  tg_openmm_params partner = {.python = params->python,
                              .script = params->script,
                              .configuration = params->configuration,
                              .topology = params->topology,
                              .cutoff = out->cutoff,
                              .dt = out->dt,
                              .threads = params->threads,
                              .warm_up = params->warm_up};
  if (tg_openmm_start(&partner, openmm) != TG_OK) {
    snprintf(out->openmm, sizeof out->openmm, "%.200s", tg_last_error());
    return;
  }
  snprintf(out->openmm, sizeof out->openmm, "%s", openmm->version);
  static const char* const variants[] = {"native", "gromacs"};
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
    tg_bench_series* series = &out->series[out->series_count++];
    series->variant = variants[i];
    snprintf(series->name, sizeof series->name, "OpenMM %s", variants[i]);
  }
}

static tg_status take_turns(const tg_bench_md_cpu_params* params, const char* folder,
                            tg_openmm* openmm, tg_bench_md_cpu_result* out) {
  tg_md_run_result unused;
  TG_TRY(run_throng(params, folder, params->warm_up, &unused));
  for (int repeat = 0; repeat < params->repeats; repeat++) {
    TG_TRY(measure_throng(params, folder, out));
    for (int s = 1; s < out->series_count; s++) {
      tg_bench_series* series = &out->series[s];
      TG_TRY(tg_openmm_measure(openmm, series->variant, params->steps, &series->us[series->count]));
      series->count++;
    }
    for (int s = 0; s < out->series_count; s++) {
      char line[256];
      snprintf(line, sizeof line, "repeat %d of %d: %-16s %10.1f us a step", repeat + 1,
               params->repeats, out->series[s].name, out->series[s].us[repeat]);
      say(params, line);
    }
  }
  return TG_OK;
}

static tg_status read_parameters(const tg_bench_md_cpu_params* params,
                                 tg_bench_md_cpu_result* out) {
  tg_parameters p;
  tg_log silent = {0};
  TG_TRY(tg_parameters_read(params->parameters, 0, &silent, &p));
  tg_status status = TG_OK;
  if (p.integrator != TG_INTEGRATOR_LEAP_FROG)
    status = tg_fail(TG_ERR_INPUT, "%s: the benchmark runs dynamics: integrator = md",
                     params->parameters);
  out->cutoff = p.cutoff;
  out->dt = p.dt;
  tg_parameters_free(&p);
  return status;
}

tg_status tg_bench_md_cpu(const tg_bench_md_cpu_params* params, tg_bench_md_cpu_result* out) {
  memset(out, 0, sizeof *out);
  out->series_count = 1;
  snprintf(out->series[0].name, sizeof out->series[0].name, "throng");
  TG_TRY(read_parameters(params, out));
  TG_TRY(check_forces(params, out));
  const char* place = getenv("TMPDIR");
  char folder[PATH_SIZE / 2];
  snprintf(folder, sizeof folder, "%s/throng-bench-XXXXXX", place && *place ? place : "/tmp");
  if (!mkdtemp(folder))
    return tg_fail(TG_ERR_MACHINE, "no temporary folder %s: %s", folder, strerror(errno));
  tg_openmm openmm = {0};
  invite_openmm(params, out, &openmm);
  tg_status status = take_turns(params, folder, &openmm, out);
  tg_openmm_stop(&openmm);
  remove_folder(folder, 1);
  return status;
}
