/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the example for tests of its energies: the settings in common, and fits. */
#ifndef TG_TESTS_MD_ENGINE_RUNS_H
#define TG_TESTS_MD_ENGINE_RUNS_H

#include "md/engine_case.h"

#define ENGINE_PHYSICS                                                                             \
  "coulombtype = reaction-field\nepsilon-rf = 0\nrcoulomb = 0.9\nrvdw = 0.9\n"                     \
  "constraints = h-bonds\n"

/* Runs mdp from a configuration (NULL: the example's) into a folder, in double. */
__attribute__((unused)) static tg_md_run_result engine_run(const char* name, const char* mdp,
                                                           const char* configuration, int go_on) {
  char file[80];
  snprintf(file, sizeof file, "%s.mdp", name);
  engine_write_mdp(file, mdp);
  tg_md_job job = engine_job(NULL);
  if (configuration) job.configuration = configuration;
  job.parameters = engine_path(file);
  job.precision = "double";
  job.output = engine_path(name);
  job.continue_run = go_on;
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
  return result;
}

typedef struct engine_line {
  double slope, error; /* error: one standard error of the slope */
} engine_line;

/* Slope of y over t (equal steps). Neighbouring samples are correlated: the line is fitted to the
 * means of `blocks` pieces, longer than any memory of the fluctuation, whose scatter gives the
 * error. */
__attribute__((unused)) static engine_line engine_fit(const double* t, const double* y,
                                                      size_t count, size_t blocks) {
  size_t length = count / blocks;
  double x[64], m[64], mean_x = 0, mean_y = 0, xx = 0, xy = 0, rest = 0;
  assert_true(blocks <= 64 && blocks > 2 && length > 0);
  for (size_t b = 0; b < blocks; b++) {
    x[b] = m[b] = 0;
    for (size_t i = b * length; i < (b + 1) * length; i++) {
      x[b] += t[i] / (double)length;
      m[b] += y[i] / (double)length;
    }
    mean_x += x[b] / (double)blocks;
    mean_y += m[b] / (double)blocks;
  }
  for (size_t b = 0; b < blocks; b++) {
    xx += (x[b] - mean_x) * (x[b] - mean_x);
    xy += (x[b] - mean_x) * (m[b] - mean_y);
  }
  engine_line line = {xy / xx, 0};
  for (size_t b = 0; b < blocks; b++) {
    double off = m[b] - mean_y - line.slope * (x[b] - mean_x);
    rest += off * off;
  }
  line.error = sqrt(rest / ((double)(blocks - 2) * xx));
  return line;
}

/* Mean and root mean square deviation of values[first..count). */
__attribute__((unused)) static void engine_moments(const double* values, size_t first, size_t count,
                                                   double* mean, double* rms) {
  double sum = 0, square = 0, n = (double)(count - first);
  for (size_t i = first; i < count; i++) sum += values[i];
  *mean = sum / n;
  for (size_t i = first; i < count; i++) square += (values[i] - *mean) * (values[i] - *mean);
  *rms = sqrt(square / n);
}

#endif
