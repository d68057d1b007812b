/* SPDX-License-Identifier: Apache-2.0 */
#include "md/run_trace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/memory.h"
#include "comm/trace.h"
#include "md/output.h"

enum {
  EVENTS_PER_STEP = 400, /* 26 neighbours, both ways, are 212 */
  PATH_SIZE = 4096,
};

static bool is_given(const tg_md_job* job, const tg_topology* topology) {
  const char* const given[] = {job->configuration, job->parameters, job->index, job->restraints,
                               job->plot};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++)
    if (given[i] && tg_path_same(given[i], job->trace)) return true;
  for (size_t i = 0; i < topology->file_count; i++)
    if (tg_path_same(topology->files[i], job->trace)) return true;
  return tg_output_is_own(job->output, job->trace);
}

/* The output folder and its parents are made with the output; any other has to be there. */
static tg_status check_folder(const tg_md_job* job) {
  char folder[PATH_SIZE], real[PATH_SIZE], output[PATH_SIZE];
  TG_TRY(tg_path_folder(job->trace, folder, sizeof folder));
  if (tg_path_exists(folder)) return tg_new_file_check(job->trace);
  TG_TRY(tg_path_resolve(folder, real, sizeof real));
  TG_TRY(tg_path_resolve(job->output, output, sizeof output));
  size_t length = strlen(real);
  if (strncmp(output, real, length) == 0 && (!output[length] || output[length] == '/'))
    return TG_OK;
  return tg_new_file_check(job->trace); /* which says what is missing */
}

tg_status tg_run_trace_check(const tg_md_job* job, const tg_topology* topology) {
  struct stat info;
  if (!job->trace) return TG_OK;
  /* a device or a pipe is written to, nothing is lost by that */
  if (stat(job->trace, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode))
    return TG_OK;
  if (is_given(job, topology))
    return tg_fail(TG_ERR_INPUT,
                   "%s: the timeline (--trace) would replace a file that this run reads or writes; "
                   "give it another name",
                   job->trace);
  TG_TRY(check_folder(job));
  if (lstat(job->trace, &info) == 0 && !job->force)
    return tg_fail(TG_ERR_INPUT,
                   "%s: is there already; keep it as a numbered copy (--force), or give the "
                   "timeline (--trace) another name",
                   job->trace);
  return TG_OK;
}

/* A file that tg_run_trace_check let pass makes room. */
static tg_status make_room(const char* path) {
  struct stat info;
  if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) TG_TRY(tg_file_keep_copy(path));
  return tg_new_file_check(path); /* better found out now than after the steps */
}

tg_status tg_run_trace_begin(tg_run* run) {
  tg_domain* domain = run->domain;
  if (!run->job->trace) return TG_OK;
  char name[TG_TRACE_NAME];
  snprintf(name, sizeof name, "PE %d", tg_world_pe(domain->world));
  tg_status status = tg_trace_create(name, TG_HALO_TRACE_LINES,
                                     (size_t)TG_RUN_TRACE_STEPS * EVENTS_PER_STEP, &domain->trace);
  if (status == TG_OK && tg_world_pe(domain->world) == 0) status = make_room(run->job->trace);
  TG_TRY(tg_world_agree(domain->world, status));
  tg_halo_trace(domain->halo, domain->trace);
  return TG_OK;
}

void tg_run_trace_step(tg_run* run, int64_t begin_ns) {
  tg_trace* trace = run->domain->trace;
  if (!trace || trace->paused) return;
  tg_trace_event event = tg_trace_span(TG_HALO_TRACE_CPU, "step", begin_ns);
  event.number = run->step;
  tg_trace_end(trace, event);
  if (++run->traced_steps == TG_RUN_TRACE_STEPS) trace->paused = true;
}

static void describe(const tg_run* run, tg_trace_notes* notes) {
  const int* grid = run->domain->params.grid;
  tg_trace_note(notes, "steps", "%d from step %lld on", run->traced_steps, run->result.first_step);
  tg_trace_note(notes, "atoms", "%zu in %d x %d x %d domains", run->system->atom_count, grid[0],
                grid[1], grid[2]);
  tg_trace_note(notes, "halo exchange", "schedule %s, transport %s",
                tg_halo_schedule_of(run->domain->halo), tg_world_transport(run->domain->world));
  tg_trace_note(notes, "pair forces", "one span: local and non-local pairs are computed together");
  tg_trace_note(notes, "clock", "CLOCK_MONOTONIC of the machine of PE 0");
}

tg_status tg_run_trace_write(tg_run* run, bool end) {
  tg_domain* domain = run->domain;
  if (!domain->trace || (!end && run->traced_steps < TG_RUN_TRACE_STEPS)) return TG_OK;
  tg_gathered_traces all = {NULL, 0};
  tg_trace_notes* notes = NULL;
  tg_halo_trace(domain->halo, NULL);
  tg_status status = TG_ALLOCATE(1, "notes", &notes);
  TG_TRY_GOTO(tg_world_agree(domain->world, status), end);
  TG_TRY_GOTO(tg_trace_gather(domain->world, domain->trace, notes, &all), end);
  if (tg_world_pe(domain->world) == 0) {
    tg_trace_group group = {"", all.traces, all.count};
    describe(run, notes);
    status = tg_trace_write(run->job->trace, &group, 1, notes);
  }
  status = tg_world_agree(domain->world, status);
end:
  tg_gathered_traces_free(&all);
  tg_trace_destroy(&domain->trace);
  tg_free(notes);
  return status;
}
