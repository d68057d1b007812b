/* SPDX-License-Identifier: Apache-2.0 */
/* Whole steps on a GPU; the question and the method stand in md_gpu.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/timer.h"
#include "bench/md_gpu.h"
#include "md/build.h"
#include "md/device_run.h"
#include "md/device_setup.h"

enum { PATH_SIZE = 4096, MOST_REPEATS = 1000 };

typedef struct bench {
  const tg_bench_md_gpu_params* params;
  tg_md_system* system;
  tg_run run; /* what tg_run_device_flags reads */
  tg_list_choice lists;
  tg_device_atoms atoms;
  tg_device_work work;
  tg_device_md* md;
  tg_device_step* step;
  long long next, listed;
} bench;

const char* tg_bench_md_gpu_part_name(tg_bench_md_gpu_part part) {
  static const char* const names[] = {"forces", "update", "search", "prune"};
  return names[part];
}

/* us a step of GROMACS 2026 (CUDA 13, one H200, 12 threads) for copies of the example, the least of
 * what was seen; docs/performance.md says how. */
static double gromacs_us(const bench* b) {
  static const struct {
    size_t atoms;
    double us;
  } measured[] = {{45000, 158}, {180000, 495}, {1440000, 3467}};
  for (size_t i = 0; b->params->example && i < sizeof measured / sizeof *measured; i++)
    if (measured[i].atoms == b->atoms.count) return measured[i].us;
  return 0;
}

static tg_status read_copies(bench* b, const char* folder) {
  const tg_bench_md_gpu_params* params = b->params;
  const tg_topology_options search = {0};
  const tg_log silent = {0};
  const int* copies = params->copies;
  tg_md_build_params build = {.copies = {copies[0], copies[1], copies[2]}, .temperature = -1};
  char configuration[PATH_SIZE], topology[PATH_SIZE];
  TG_TRY(tg_path_join(folder, "conf.gro", configuration, sizeof configuration));
  TG_TRY(tg_path_join(folder, "topol.top", topology, sizeof topology));
  tg_status status = tg_md_build_replicate(params->configuration, params->topology, &search,
                                           &silent, &build, folder);
  const tg_md_files files = {.configuration = configuration,
                             .topology = topology,
                             .parameters = params->parameters,
                             .chance_seed = 1};
  if (status == TG_OK) status = tg_md_system_read(&files, &silent, &b->system);
  unlink(configuration);
  unlink(topology);
  return status;
}

static tg_status make_system(bench* b) {
  char folder[] = "/tmp/throng-bench-md-XXXXXX";
  if (!mkdtemp(folder))
    return tg_fail(TG_ERR_MACHINE, "%s: no temporary folder can be made", folder);
  const tg_status status = read_copies(b, folder);
  rmdir(folder);
  return status;
}

static unsigned char flags_of(const bench* b, long long step, bool first) {
  return tg_run_device_flags(&b->run, step, b->listed, first) & (unsigned char)~TG_STEP_FRAME;
}

/* Atoms start where the file has them, on their constraints to the file's three decimals. */
static tg_status make_steps(bench* b, const tg_device_choice* devices) {
  const tg_md_system* system = b->system;
  tg_device_setup setup = {.system = system,
                           .atoms = &b->atoms,
                           .work = &b->work,
                           .device = b->params->device,
                           .devices = devices,
                           .lists = b->lists,
                           .x = (const double(*)[3])b->atoms.x};
  tg_thermostat_start(&system->parameters, system->degrees_of_freedom, &setup.thermostat);
  TG_TRY(tg_device_setup_steps(&setup, &b->md, &b->step));
  b->next = b->listed = 0;
  return tg_device_step_start(b->step, (const double(*)[3])system->start.v, 0,
                              flags_of(b, 0, true));
}

static tg_status choose_lists(bench* b) {
  tg_md_job job;
  tg_restart restart;
  tg_list_choice choice;
  memset(&restart, 0, sizeof restart);
  tg_md_job_default(&job);
  job.backend = "cuda";
  TG_TRY(tg_list_choose(b->system, &job, &restart, &choice));
  b->lists = choice;
  b->run.system = b->system;
  b->run.last_step = -1;
  b->run.nstlist = choice.nstlist;
  b->run.list_radius = choice.radius;
  b->run.prune_interval = choice.prune_interval;
  b->run.inner_radius = choice.inner_radius;
  if (choice.nstlist <= TG_DEVICE_STRETCH) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "nstlist = %d: this benchmark does up to %d", choice.nstlist,
                 TG_DEVICE_STRETCH);
}

static tg_status collect(bench* b, int* steps) {
  const tg_device_record* records;
  tg_device_trouble trouble;
  int count;
  TG_TRY(tg_device_step_collect(b->step, steps, &records, &count, &trouble));
  if (trouble.lists) return tg_device_md_get_forces(b->md, NULL, NULL); /* which says what */
  if (trouble.fast_atom >= 0 || trouble.bad_group >= 0)
    return tg_fail(TG_ERR_NUMERICS,
                   "atom %lld: the system blew up; start from positions whose energy was minimised",
                   1 + (trouble.fast_atom >= 0 ? trouble.fast_atom : trouble.bad_group));
  return TG_OK;
}

/* A stretch for each life of a list, two under way, and waits for the last. */
static tg_status do_steps(bench* b, int count) {
  unsigned char flags[TG_DEVICE_STRETCH + 1];
  const int life = b->run.nstlist;
  int under_way = 0, steps;
  for (int done = 0; done < count; done += life) {
    for (int i = 0; i <= life; i++) {
      flags[i] = flags_of(b, b->next + i, false);
      if (flags[i] & TG_STEP_SEARCH) b->listed = b->next + i;
    }
    TG_TRY(tg_device_step_queue(b->step, flags, life));
    b->next += life;
    if (++under_way < TG_DEVICE_IN_FLIGHT) continue;
    TG_TRY(collect(b, &steps));
    under_way--;
  }
  for (; under_way > 0; under_way--) TG_TRY(collect(b, &steps));
  return TG_OK;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* us a step: [repeats] in ascending order. */
static tg_status repeat_steps(bench* b, int steps, double* us) {
  const int repeats = b->params->repeats;
  for (int r = 0; r < repeats; r++) {
    const double clock = tg_time_now();
    TG_TRY(do_steps(b, steps));
    us[r] = 1e6 * (tg_time_now() - clock) / steps;
  }
  qsort(us, (size_t)repeats, sizeof *us, ascending);
  return TG_OK;
}

static double median(const double* us, int count) {
  return count % 2 ? us[count / 2] : 0.5 * (us[count / 2 - 1] + us[count / 2]);
}

static tg_status measure_steps(bench* b, tg_bench_md_gpu_steps_result* out) {
  const int life = b->run.nstlist, repeats = b->params->repeats;
  const int steps = (b->params->steps + life - 1) / life * life;
  double us[MOST_REPEATS];
  long long kernels[2], waits[2];
  if (repeats > MOST_REPEATS)
    return tg_fail(TG_ERR_INPUT, "%d repeats: at most %d", repeats, MOST_REPEATS);
  TG_TRY(do_steps(b, steps)); /* which makes the graphs */
  tg_device_step_launches(b->step, &kernels[0], &waits[0]);
  TG_TRY(repeat_steps(b, steps, us));
  tg_device_step_launches(b->step, &kernels[1], &waits[1]);
  const double done = (double)steps * repeats;
  out->steps = steps;
  out->repeats = repeats;
  out->us_least = us[0];
  out->us_most = us[repeats - 1];
  out->us = median(us, repeats);
  out->ns_per_day = b->system->parameters.dt * 1e-3 * 86400 / (1e-6 * out->us);
  out->kernels = (double)(kernels[1] - kernels[0]) / done;
  out->waits = (double)(waits[1] - waits[0]) / done;
  return TG_OK;
}

/* Steps that are timed by the GPUs. */
static tg_status measure_times(bench* b, tg_bench_md_gpu_steps_result* out) {
  TG_TRY(tg_device_step_time(b->step, 1));
  TG_TRY(do_steps(b, 2 * TG_DEVICE_STRETCH));
  TG_TRY(tg_device_step_times_of(b->step, &out->times));
  return tg_device_step_time(b->step, 0);
}

/* With several GPUs: steps that wait for nobody. */
static tg_status measure_waits(bench* b, tg_bench_md_gpu_steps_result* out) {
  double us[MOST_REPEATS];
  if (out->devices.card_count == 1) return TG_OK;
  tg_device_step_rush(b->step, true);
  TG_TRY(do_steps(b, out->steps));
  TG_TRY(repeat_steps(b, out->steps, us));
  tg_device_step_rush(b->step, false);
  out->unwaited_us = median(us, out->repeats);
  return TG_OK;
}

/* The lists' kernels too are measured here: many domains have others. */
static tg_status split(bench* b, tg_bench_md_gpu_steps_result* out) {
  enum { LAUNCHES = 10 };
  const int life = b->run.nstlist, repeats = b->params->repeats;
  const int prune = b->run.prune_interval > 0 ? b->run.prune_interval : life;
  double* part = out->part;
  double sort, list, once;
  TG_TRY(tg_device_step_measure(b->step, TG_DEVICE_STEP_UPDATE, &part[TG_BENCH_MD_GPU_UPDATE]));
  TG_TRY(tg_device_step_measure(b->step, TG_DEVICE_STEP_FORCES, &part[TG_BENCH_MD_GPU_FORCES]));
  TG_TRY(tg_device_md_measure(b->md, TG_DEVICE_MD_SORT, LAUNCHES, repeats, &sort));
  TG_TRY(tg_device_md_measure(b->md, TG_DEVICE_MD_LIST, LAUNCHES, repeats, &list));
  TG_TRY(tg_device_md_measure(b->md, TG_DEVICE_MD_PRUNE, LAUNCHES, repeats, &once));
  part[TG_BENCH_MD_GPU_SEARCH] = (sort + list) / life;
  part[TG_BENCH_MD_GPU_PRUNE] = once * ceil((double)life / prune) / life;
  return TG_OK;
}

static tg_status measure_way(bench* b, const tg_bench_md_gpu_way* way,
                             tg_bench_md_gpu_steps_result* out) {
  tg_md_job job;
  memset(out, 0, sizeof *out);
  tg_md_job_default(&job);
  job.backend = "cuda";
  job.gpus = way->gpus;
  job.pe_count = way->pe_count;
  job.halo = way->halo;
  memcpy(job.grid, way->grid, sizeof job.grid);
  TG_TRY(tg_device_choice_check(&job));
  TG_TRY(tg_device_choose(&job, b->system->box, 1, &out->devices));
  tg_status status = make_steps(b, &out->devices);
  if (status == TG_OK) status = measure_steps(b, out);
  if (status == TG_OK && b->params->stamps) status = measure_times(b, out);
  if (status == TG_OK) status = measure_waits(b, out);
  if (status == TG_OK) status = split(b, out);
  out->gromacs_us = gromacs_us(b);
  tg_device_step_destroy(&b->step);
  tg_device_md_destroy(&b->md);
  return status;
}

tg_status tg_bench_md_gpu_steps(const tg_bench_md_gpu_params* params,
                                tg_bench_md_gpu_steps_result* out, int* done) {
  const int once[3] = {1, 1, 1};
  bench* b = NULL;
  *done = 0;
  TG_TRY(TG_ALLOCATE(1, "benchmark of steps", &b));
  b->params = params;
  tg_status status = make_system(b);
  if (status == TG_OK) status = choose_lists(b);
  if (status == TG_OK) status = tg_device_atoms_make(b->system, once, &b->atoms);
  if (status == TG_OK) status = tg_device_work_make(b->system, &b->work);
  while (status == TG_OK && *done < params->way_count) {
    status = measure_way(b, &params->ways[*done], &out[*done]);
    if (status == TG_OK) ++*done;
  }
  tg_device_work_free(&b->work);
  tg_device_atoms_free(&b->atoms);
  tg_md_system_destroy(&b->system);
  tg_free(b);
  return status;
}
