/* SPDX-License-Identifier: Apache-2.0 */
/* The public entry points: read, make a world, run, write. */
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/timer.h"
#include "base/units.h"
#include "md/device_choice.h"
#include "md/device_run.h"
#include "md/list_choice.h"
#include "md/run.h"
#include "md/run_report.h"
#include "md/run_restart.h"
#include "md/run_trace.h"

void tg_md_job_default(tg_md_job* job) {
  memset(job, 0, sizeof *job);
  job->backend = "omp";
  job->precision = "mixed";
  job->checkpoint_minutes = 15;
}

/* What the PEs of one process share; where PEs are processes each has its own. */
typedef struct shared {
  const tg_md_job* job;
  tg_md_system* system;
  tg_restart restart;
  tg_md_run_result* run_result;
  tg_md_energy_result* energy_result;
} shared;

static void pass_on(void* context, tg_log_level level, const char* line) {
  const tg_md_job* job = context;
  job->message(job->context, level == TG_LOG_WARNING, line);
}

static tg_log log_of(const tg_md_job* job, const tg_world* world) {
  tg_log log = {NULL, NULL};
  if (job->message && tg_world_pe(world) == 0) log = (tg_log){pass_on, (void*)job};
  return log;
}

/* True on the PE that acts for its process: the first thread of loop, else every PE. */
static bool leads_process(const tg_world* world) {
  return tg_world_pe(world) == 0 || tg_world_of_processes(world);
}

/* Collective: every process reads the input; one seed for all where the .mdp leaves it to chance.
 */
static tg_status read_system(shared* s, tg_world* world) {
  long long seed = (long long)time(NULL) & 0x7fffffff;
  TG_TRY(tg_world_broadcast(world, 0, &seed, sizeof seed));
  const tg_md_job* job = s->job;
  tg_status status = TG_OK;
  if (leads_process(world)) {
    tg_md_files files = {
        .configuration = job->configuration,
        .topology = job->topology,
        .parameters = job->parameters,
        .index = job->index,
        .restraints = job->restraints,
        .include_folders = job->include_folders,
        .include_count = job->include_count,
        .chance_seed = seed,
    };
    tg_log log = log_of(job, world);
    status = tg_md_system_read(&files, &log, &s->system);
  }
  return tg_world_agree(world, status);
}

static int available_threads(void) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}

/* Threads of one PE: the process's share, divided among its PEs. */
static int threads_of_pe(const tg_md_job* job, const tg_world* world) {
  if (strcmp(job->backend, "ref") == 0) return 1;
  int threads = job->threads > 0 ? job->threads : available_threads();
  int sharers = tg_world_pe_count(world);
  if (tg_world_of_processes(world)) {
    /* ranks on this node share its processors unless the user has said how many threads to use */
    const char* local = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    int ranks = sharers;
    if (local) tg_parse_int(local, (int)strlen(local), &ranks);
    sharers = job->threads > 0 ? 1 : ranks;
  }
  threads /= sharers > 0 ? sharers : 1;
  return threads > 0 ? threads : 1;
}

static bool on_gpu(const tg_md_job* job) { return strcmp(job->backend, "cuda") == 0; }

static tg_status world_params(const tg_md_job* job, tg_world_params* out) {
  memset(out, 0, sizeof *out);
  const int* grid = job->grid;
  for (int d = 0; d < 3; d++) /* so that the product below is a number */
    if (grid[d] > 1024)
      return tg_fail(TG_ERR_INPUT, "a grid of %d x %d x %d domains: at most 1024 in a dimension",
                     grid[0], grid[1], grid[2]);
  int product = grid[0] * grid[1] * grid[2];
  if (product < 0 || (product == 0 && (grid[0] || grid[1] || grid[2])))
    return tg_fail(TG_ERR_INPUT, "a grid of %d x %d x %d domains: all three must be at least 1",
                   grid[0], grid[1], grid[2]);
  if (product && job->pe_count && product != job->pe_count)
    return tg_fail(TG_ERR_INPUT,
                   "a grid of %d x %d x %d domains needs %d processing elements, not %d", grid[0],
                   grid[1], grid[2], product, job->pe_count);
  out->transport = job->transport;
  out->deadline_s = job->deadline_s;
  out->pe_count = product ? product : job->pe_count;
  if (!on_gpu(job)) return TG_OK;
  out->transport = tg_device_choice_transport(job);
  out->pe_count = 0; /* processes; the domains are the GPUs' business */
  return TG_OK;
}

/* How often lists are made: given, measured, or neither. */
static tg_status check_lists(const tg_md_job* job) {
  if (job->tune && job->reproducible)
    return tg_fail(TG_ERR_INPUT,
                   "--tune chooses by measured time, and --reproducible says not to: give one of "
                   "them, or --lists with what was measured before");
  if (job->tune && job->nstlist)
    return tg_fail(TG_ERR_INPUT, "--tune chooses what --lists gives: give one of them");
  if (job->tune && !on_gpu(job))
    return tg_fail(TG_ERR_INPUT,
                   "--tune: the backend %s measures nothing; leave it out, or use the backend cuda",
                   job->backend);
  if (job->nstlist < 0 || job->prune_interval < 0 ||
      (job->prune_interval > 0 && job->prune_interval >= job->nstlist))
    return tg_fail(TG_ERR_INPUT,
                   "a search every %d steps and a pruning every %d: two numbers above 0 were "
                   "expected, the second below the first",
                   job->nstlist, job->prune_interval);
  return TG_OK;
}

static tg_status check_balance(const tg_md_job* job) {
  if (!job->balance) return TG_OK;
  if (job->reproducible)
    return tg_fail(TG_ERR_INPUT,
                   "--balance moves domains by measured time, and --reproducible says not to: give "
                   "one of them");
  if (!on_gpu(job))
    return tg_fail(TG_ERR_INPUT,
                   "--balance: the backend %s has domains of equal size; leave it out, or use the "
                   "backend cuda",
                   job->backend);
  return TG_OK;
}

static tg_status check_job(const tg_md_job* job) {
  TG_TRY(check_lists(job));
  TG_TRY(check_balance(job));
  if (!job->configuration)
    return tg_fail(TG_ERR_INPUT, "no start configuration: give a .gro or .g96 file (-c)");
  if (!job->topology) return tg_fail(TG_ERR_INPUT, "no topology: give a .top file (-p)");
  if (strcmp(job->backend, "ref") != 0 && strcmp(job->backend, "omp") != 0 && !on_gpu(job))
    return tg_fail(TG_ERR_INPUT, "backend \"%s\": molecular dynamics has ref, omp and cuda",
                   job->backend);
  if (strcmp(job->precision, "mixed") != 0 && strcmp(job->precision, "double") != 0)
    return tg_fail(TG_ERR_INPUT, "precision \"%s\": there are mixed and double", job->precision);
  return tg_device_choice_check(job);
}

static tg_domain_params domain_params(const shared* s, const tg_world* world,
                                      const tg_list_choice* list) {
  const tg_md_job* job = s->job;
  tg_domain_params params = {
      .backend = on_gpu(job) ? "omp" : job->backend, /* a GPU's start is prepared by omp */
      .mixed = strcmp(job->precision, "mixed") == 0 && strcmp(job->backend, "ref") != 0,
      .threads = threads_of_pe(job, world),
      .list_radius = list->radius,
      .prune_interval = list->prune_interval,
      .inner_radius = list->inner_radius,
      .halo = job->halo && !on_gpu(job) ? job->halo : "pulse",
  };
  memcpy(params.grid, job->grid, sizeof params.grid);
  if (tg_world_pe_count(world) == 1) params.grid[0] = params.grid[1] = params.grid[2] = 1;
  return params;
}

static tg_status allocate_whole(tg_run* run) {
  size_t count = run->system->atom_count;
  TG_TRY(TG_ALLOCATE(count, "output positions", &run->whole_x));
  TG_TRY(TG_ALLOCATE(count, "output velocities", &run->whole_v));
  return TG_ALLOCATE(count, "output forces", &run->whole_f);
}

static void free_run(tg_run* run) {
  tg_world* alone = run->own_world;
  tg_output_close(&run->output);
  tg_domain_destroy(&run->domain);
  tg_snapshot_free(&run->snapshot);
  tg_free(run->whole_x);
  tg_free(run->whole_v);
  tg_free(run->whole_f);
  if (alone) tg_world_close(&alone, TG_OK);
}

/* Collective: the start lies on the constraints and moves along them, as GROMACS's continuation =
 * no has it. */
static tg_status constrain_start(tg_run* run) {
  tg_domain* domain = run->domain;
  tg_constraints_failure failure = {.local_atom = -1};
  if (domain->home_count) memcpy(domain->x_new, domain->x, domain->home_count * sizeof *domain->x);
  tg_status status = tg_constraints_apply(domain->constraints, (const double(*)[3])domain->x,
                                          domain->x_new, NULL, 1, NULL, &failure);
  if (status != TG_OK && failure.local_atom >= 0)
    tg_run_constraint_failure(run, "the start", failure, status);
  TG_TRY(tg_world_agree(domain->world, status));
  double(*swap)[3] = domain->x;
  domain->x = domain->x_new;
  domain->x_new = swap;
  TG_TRY(tg_constraints_project(domain->constraints, (const double(*)[3])domain->x, domain->v));
  return tg_domain_partition(domain);
}

/* Between two pair searches an atom may enter the next domain, not the one behind it. One that
 * moved further than the list's buffer would come as a surprise to the list as well. */
static tg_status check_domains(const tg_run* run) {
  const tg_domain* domain = run->domain;
  double reach = domain->params.list_radius - run->system->parameters.cutoff;
  for (int d = 0; d < 3; d++) {
    int count = domain->params.grid[d];
    double width = run->system->box[d] / count;
    if (count == 1 || width >= reach) continue;
    return tg_fail(
        TG_ERR_INPUT,
        "%d domains along %c are %.3g nm thin, less than the %.3g nm that atoms may move "
        "between pair searches; use fewer processing elements",
        count, "xyz"[d], width, reach);
  }
  return TG_OK;
}

static tg_status start_fresh(tg_run* run) {
  const tg_md_system* system = run->system;
  const tg_parameters* p = &system->parameters;
  TG_TRY(tg_domain_take(run->domain, (const double(*)[3])system->start.x,
                        (const double(*)[3])system->start.v));
  if (p->continuation || system->constraint_count == 0) return TG_OK;
  return constrain_start(run);
}

static tg_status start_from_restart(tg_run* run, const tg_restart* restart) {
  memcpy(run->thermostat.given, restart->heat, sizeof run->thermostat.given);
  run->thermostat.seed = restart->thermostat_seed;
  return tg_domain_take(run->domain, (const double(*)[3])restart->x,
                        (const double(*)[3])restart->v);
}

/* After the loop, however it ended: what must be on disk is written. */
static tg_status wind_up(tg_run* run, tg_status status) {
  char message[2048];
  snprintf(message, sizeof message, "%s", tg_last_error());
  bool dynamics = run->system->parameters.integrator == TG_INTEGRATOR_LEAP_FROG;
  tg_status written = TG_OK;
  const bool kept = run->snapshot.taken && run->state_kept;
  const bool good =
      (status == TG_ERR_NUMERICS && run->snapshot.taken) || (status == TG_ERR_MACHINE && kept);
  if (good) written = tg_run_write_snapshot_gro(run, "last_good.gro");
  if (written == TG_OK && dynamics && run->snapshot.taken && (status != TG_ERR_MACHINE || kept))
    written = tg_run_write_checkpoint(run);
  if (run->output && status != TG_OK) {
    tg_output_log(run->output, "\n%s", message);
    if (good)
      tg_output_log(run->output, "the last good positions are those of step %lld: last_good.gro",
                    run->snapshot.step);
  }
  if (written == TG_OK && status != TG_ERR_MACHINE) written = tg_run_trace_write(run, true);
  if (written == TG_OK) written = tg_run_report_end(run);
  if (status != TG_OK) return tg_fail(status, "%s", message);
  return written;
}

static tg_status open_output(tg_run* run, const shared* s, tg_world* world) {
  const tg_md_job* job = s->job;
  tg_status status = TG_OK;
  if (tg_world_pe(run->domain->world) == 0) status = allocate_whole(run);
  if (tg_world_pe(world) == 0) {
    if (status == TG_OK) status = tg_run_trace_check(job, &run->system->topology);
    if (status == TG_OK)
      status = tg_output_open(job->output, run->system, job->force,
                              s->restart.x ? &s->restart.marks : NULL, &run->output);
  }
  return tg_world_agree(world, status);
}

/* A finished run is left as it is: its last checkpoint lies at a list step, from which the steps
 * to the end would only be repeated. */
static tg_status nothing_to_do(tg_run* run, const tg_world* world) {
  run->result.nothing_to_do = 1;
  run->result.first_step = run->result.last_step = run->last_step;
  const tg_md_job* job = run->job;
  char line[256];
  snprintf(line, sizeof line,
           "nothing is left to do: the run has reached its last step %lld; raise nsteps to go on",
           run->last_step);
  if (job->message && tg_world_pe(world) == 0) job->message(job->context, 0, line);
  return TG_OK;
}

/* GPUs, and the world of the start's domain: where processes have a GPU each, all prepare the whole
 * system, each for itself, to the same bits. */
static tg_status choose_devices(const shared* s, tg_world* world, tg_run* run) {
  const int count = tg_world_of_processes(world) ? tg_world_pe_count(world) : 1;
  tg_status fits = tg_device_choose(s->job, s->system->box, count, &run->devices);
  if (fits == TG_OK) fits = tg_run_device_check(s->job, s->system, &run->devices, count);
  TG_TRY(tg_world_agree(world, fits));
  if (count == 1) return TG_OK;
  const tg_world_params alone = {.transport = "loop", .pe_count = 1};
  run->processes = world;
  return tg_world_agree(world, tg_world_open(&alone, &run->own_world));
}

static tg_status run_with(shared* s, tg_world* world, tg_run* run) {
  const tg_parameters* p = &s->system->parameters;
  tg_list_choice choice;
  if (on_gpu(s->job)) TG_TRY(choose_devices(s, world, run));
  TG_TRY(tg_world_agree(world, tg_list_choose(s->system, s->job, &s->restart, &choice)));
  tg_world* whole = run->own_world ? run->own_world : world;
  tg_domain_params params = domain_params(s, whole, &choice);
  TG_TRY(tg_world_agree(world, tg_domain_create(s->system, whole, &params, &run->domain)));
  TG_TRY(check_domains(run));
  run->nstlist = choice.nstlist;
  run->list_radius = choice.radius;
  run->prune_interval = choice.prune_interval;
  run->inner_radius = choice.inner_radius;
  run->step = s->restart.x ? s->restart.step : p->init_step;
  run->last_step = p->steps < 0 ? -1 : p->init_step + p->steps;
  if (s->restart.x && s->restart.finished && s->restart.last_step == run->last_step)
    return nothing_to_do(run, world);
  if (run->last_step >= 0 && run->step > run->last_step)
    return tg_fail(TG_ERR_INPUT,
                   "the checkpoint is at step %lld, beyond the last step %lld: raise nsteps",
                   run->step, run->last_step);
  run->result.first_step = run->step;
  tg_thermostat_start(p, s->system->degrees_of_freedom, &run->thermostat);
  /* before the output is opened: a start that is refused leaves the folder as it was */
  tg_status status = s->restart.x ? start_from_restart(run, &s->restart) : start_fresh(run);
  if (status == TG_OK && on_gpu(run->job)) status = tg_run_device_name(run);
  TG_TRY(tg_world_agree(world, status));
  TG_TRY(open_output(run, s, world));
  TG_TRY(tg_run_trace_begin(run));
  tg_run_report_start(run, &choice);
  if (p->integrator != TG_INTEGRATOR_LEAP_FROG)
    status = tg_run_minimise(run);
  else
    status = on_gpu(run->job) ? tg_run_device(run) : tg_run_leap_frog(run);
  run->result.last_step = run->step;
  run->finished = status == TG_OK;
  status = wind_up(run, status);
  tg_status closed = tg_output_close(&run->output);
  return tg_world_agree(world, status != TG_OK ? status : closed);
}

static tg_status run_on_pe(tg_world* world, void* context) {
  shared* s = context;
  TG_TRY(read_system(s, world));
  tg_status status = TG_OK;
  if (s->job->continue_run) {
    if (leads_process(world)) status = tg_restart_read(s->job, s->system, &s->restart);
    TG_TRY(tg_world_agree(world, status));
  }
  tg_run run = {.job = s->job, .system = s->system};
  status = run_with(s, world, &run);
  if (tg_world_pe(world) == 0) *s->run_result = run.result;
  free_run(&run);
  return status;
}

static void free_shared(shared* s) {
  tg_md_system_destroy(&s->system);
  tg_restart_free(&s->restart);
}

tg_status tg_md_run(const tg_md_job* job, tg_md_run_result* out) {
  TG_TRY(check_job(job));
  if (!job->output) return tg_fail(TG_ERR_INPUT, "no output folder (-o)");
  if (job->plot) TG_TRY(tg_run_plot_check(job));
  tg_world_params params;
  TG_TRY(world_params(job, &params));
  tg_md_run_result result = {.last_step = -1}; /* stays so in processes without PE 0 */
  shared s = {.job = job, .run_result = &result};
  tg_status status = tg_world_run(&params, run_on_pe, &s);
  if (status == TG_OK && job->plot && result.last_step >= 0) status = tg_run_plot(job, s.system);
  free_shared(&s);
  *out = result;
  return status;
}

static tg_status energy_with(shared* s, tg_world* world, tg_run* run, tg_md_energy_result* out) {
  const tg_list_choice list = {.nstlist = 1, .radius = s->system->parameters.cutoff};
  tg_domain_params params = domain_params(s, world, &list);
  TG_TRY(tg_domain_create(s->system, world, &params, &run->domain));
  tg_domain* domain = run->domain;
  TG_TRY(tg_domain_take(domain, (const double(*)[3])s->system->start.x,
                        (const double(*)[3])s->system->start.v));
  tg_energies energies = {0};
  TG_TRY(tg_domain_forces(domain, true, &energies));
  for (size_t i = 0; i < domain->home_count; i++)
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++)
        energies.kinetic_tensor[a][b] += 0.5 * domain->mass[i] * domain->v[i][a] * domain->v[i][b];
  TG_TRY(tg_world_sum_doubles(world, &energies.kinetic_tensor[0][0], 9));
  TG_TRY(tg_run_sum_energies(run, &energies));
  TG_TRY(tg_run_constraint_rmsd(run, &energies));
  tg_status status = TG_OK;
  if (tg_world_pe(world) == 0) status = TG_ALLOCATE(s->system->atom_count, "forces", &out->forces);
  TG_TRY(tg_world_agree(world, status));
  tg_domain_whole whole = {NULL, NULL, out->forces};
  TG_TRY(tg_domain_gather(domain, NULL, NULL, (const double(*)[3])domain->f, domain->global,
                          domain->home_count, &whole));
  const double* box = s->system->box;
  double kinetic = 0, degrees = s->system->total_degrees_of_freedom;
  for (int a = 0; a < 3; a++) kinetic += energies.kinetic_tensor[a][a];
  tg_pressure(&energies, box[0] * box[1] * box[2], out->pressure);
  energies.term[TG_E_KINETIC] = kinetic;
  energies.term[TG_E_TOTAL] = energies.term[TG_E_CONSERVED] =
      energies.term[TG_E_POTENTIAL] + kinetic;
  energies.term[TG_E_TEMPERATURE] = degrees > 0 ? 2 * kinetic / (degrees * TG_BOLTZMANN) : 0;
  energies.term[TG_E_PRESSURE] =
      (out->pressure[0][0] + out->pressure[1][1] + out->pressure[2][2]) / 3;
  out->term_count = TG_E_COUNT;
  out->atom_count = s->system->atom_count;
  out->constraint_count = s->system->constraint_count;
  memcpy(out->terms, energies.term, sizeof energies.term);
  memcpy(out->virial, energies.virial, sizeof energies.virial);
  return TG_OK;
}

static tg_status energy_on_pe(tg_world* world, void* context) {
  shared* s = context;
  TG_TRY(read_system(s, world));
  tg_run run = {.job = s->job, .system = s->system};
  tg_md_energy_result result = {0};
  tg_status status = energy_with(s, world, &run, &result);
  free_run(&run);
  if (status == TG_OK && leads_process(world))
    *s->energy_result = result;
  else
    tg_md_energy_free(&result);
  return status;
}

tg_status tg_md_energy(const tg_md_job* job, tg_md_energy_result* out) {
  TG_TRY(check_job(job));
  if (on_gpu(job))
    return tg_fail(TG_ERR_INPUT, "backend \"cuda\": energies of a start have omp and ref");
  tg_world_params params;
  TG_TRY(world_params(job, &params));
  tg_md_energy_result result = {0};
  shared s = {.job = job, .energy_result = &result};
  tg_status status = tg_world_run(&params, energy_on_pe, &s);
  free_shared(&s);
  if (status == TG_OK)
    *out = result;
  else
    tg_md_energy_free(&result);
  return status;
}

void tg_md_energy_free(tg_md_energy_result* result) {
  tg_free(result->forces);
  memset(result, 0, sizeof *result);
}
