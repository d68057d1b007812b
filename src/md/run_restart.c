/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of a run: always the state at a list step, so that a continued run repeats the few
 * steps since then bit for bit, and output files are cut back to where they were at that step. */
#include "md/run_restart.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "md/checkpoint.h"
#include "md/run.h"

static const char* const file_name = "state.cpt";

/* What must not change between a run and its continuation: atoms, interactions, and the parameters
 * that the forces and the time axis depend on. */
static uint32_t fingerprint(const tg_md_system* system) {
  const tg_topology* topology = &system->topology;
  const tg_parameters* p = &system->parameters;
  unsigned crc = 0;
  for (size_t m = 0; m < topology->molecule_type_count; m++) {
    const tg_molecule_type* type = &topology->molecule_types[m];
    for (size_t a = 0; a < type->atom_count; a++) {
      const tg_atom* atom = &type->atoms[a];
      double numbers[3] = {atom->type, atom->charge, atom->mass};
      crc = tg_crc32(crc, numbers, sizeof numbers);
    }
    size_t starts = type->atom_count + 1;
    crc = tg_crc32(crc, type->exclusion_start, starts * sizeof *type->exclusion_start);
    crc = tg_crc32(crc, type->exclusion,
                   (size_t)type->exclusion_start[type->atom_count] * sizeof *type->exclusion);
    for (int kind = 0; kind < TG_INTERACTION_KINDS; kind++)
      for (size_t i = 0; i < type->interactions[kind].count; i++) {
        const tg_interaction* item = &type->interactions[kind].items[i];
        size_t atoms = (size_t)tg_interaction_atoms((tg_interaction_kind)kind);
        size_t count = (size_t)tg_interaction_parameters((tg_interaction_kind)kind);
        crc = tg_crc32(crc, item->atoms, atoms * sizeof *item->atoms);
        crc = tg_crc32(crc, item->parameters, count * sizeof *item->parameters);
      }
  }
  for (size_t b = 0; b < topology->block_count; b++) {
    int block[2] = {topology->blocks[b].molecule_type, topology->blocks[b].count};
    crc = tg_crc32(crc, block, sizeof block);
  }
  size_t pairs = topology->type_count * topology->type_count;
  crc = tg_crc32(crc, topology->c6, pairs * sizeof *topology->c6);
  crc = tg_crc32(crc, topology->c12, pairs * sizeof *topology->c12);
  /* the atoms in traj.xtc must stay the same for the file to make sense */
  for (int g = 0; g < p->compressed_group_count; g++) {
    const tg_index_group* group = tg_index_find(&system->index, p->compressed_groups[g]);
    if (group) crc = tg_crc32(crc, group->atoms, group->count * sizeof *group->atoms);
  }
  double numbers[] = {topology->fudge_qq,
                      p->dt,
                      p->tinit,
                      (double)p->init_step,
                      p->cutoff,
                      p->coulomb_type,
                      p->epsilon_r,
                      p->epsilon_rf,
                      p->coulomb_modifier,
                      p->vdw_modifier,
                      p->constraints,
                      p->integrator,
                      p->temperature_group_count};
  return tg_crc32(crc, numbers, sizeof numbers);
}

/* How the marks travel: one array of doubles (file sizes stand beside it by name). */
enum { MARKS = 1 + 2 * TG_E_COUNT + 5, LIST = 4, END = 2 };

static void pack_marks(const tg_output_marks* marks, double* out) {
  *out++ = marks->samples;
  memcpy(out, marks->sum, sizeof marks->sum);
  memcpy(out + TG_E_COUNT, marks->sum_squares, sizeof marks->sum_squares);
  memcpy(out + 2 * TG_E_COUNT, marks->drift_sums, sizeof marks->drift_sums);
}

static void unpack_marks(const double* in, tg_output_marks* marks) {
  marks->samples = *in++;
  memcpy(marks->sum, in, sizeof marks->sum);
  memcpy(marks->sum_squares, in + TG_E_COUNT, sizeof marks->sum_squares);
  memcpy(marks->drift_sums, in + 2 * TG_E_COUNT, sizeof marks->drift_sums);
}

tg_status tg_run_save_checkpoint(tg_run* run) {
  const tg_snapshot* s = &run->snapshot;
  const tg_md_system* system = run->system;
  const tg_parameters* p = &system->parameters;
  double marks[MARKS],
      list[LIST] = {run->nstlist, run->list_radius, run->prune_interval, run->inner_radius};
  double heat[TG_MAX_GROUPS], end[END] = {run->finished, (double)run->last_step};
  memcpy(heat, s->heat, sizeof heat);
  pack_marks(&s->marks, marks);
  /* a seed of 64 bits in two doubles: where the .mdp says -1 the first draw holds */
  double seed[2] = {(double)(run->thermostat.seed >> 32),
                    (double)(run->thermostat.seed & UINT32_MAX)};
  tg_checkpoint_values values[] = {{"list", list, LIST},
                                   {"thermostat seed", seed, 2},
                                   {"thermostat heat", heat, TG_MAX_GROUPS},
                                   {"energy sums", marks, MARKS},
                                   {"end", end, END}};
  tg_checkpoint_file files[TG_OUTPUT_COUNT];
  memset(files, 0, sizeof files);
  for (int i = 0; i < TG_OUTPUT_COUNT; i++) {
    snprintf(files[i].name, sizeof files[i].name, "%s", tg_output_name(i));
    files[i].size = s->marks.size[i];
  }
  tg_checkpoint checkpoint = {
      .step = s->step,
      .time = p->tinit + (double)s->step * p->dt,
      .box = {system->box[0], 0, 0, 0, system->box[1], 0, 0, 0, system->box[2]},
      .fingerprint = fingerprint(system),
      .atom_count = system->atom_count,
      .x = run->whole_x,
      .v = run->whole_v,
      .values = values,
      .values_count = sizeof values / sizeof *values,
      .files = files,
      .file_count = TG_OUTPUT_COUNT,
  };
  char path[4096];
  TG_TRY(tg_path_join(tg_output_folder(run->output), file_name, path, sizeof path));
  return tg_checkpoint_write(path, &checkpoint);
}

tg_status tg_run_write_checkpoint(tg_run* run) {
  const tg_snapshot* s = &run->snapshot;
  tg_domain_whole whole = {run->whole_x, run->whole_v, NULL};
  TG_TRY(tg_domain_gather(run->domain, (const double(*)[3])s->x, (const double(*)[3])s->v, NULL,
                          s->global, s->home_count, &whole));
  return tg_world_agree(run->domain->world, run->output ? tg_run_save_checkpoint(run) : TG_OK);
}

static tg_status take_values(const tg_checkpoint* checkpoint, const char* path, const char* name,
                             size_t count, double* out) {
  const tg_checkpoint_values* values = tg_checkpoint_find(checkpoint, name);
  if (!values || values->count != count)
    return tg_fail(TG_ERR_INPUT,
                   "%s: holds no \"%s\" of %zu numbers; it was not written by throng md run", path,
                   name, count);
  memcpy(out, values->values, count * sizeof *out);
  return TG_OK;
}

static tg_status take_out(tg_checkpoint* checkpoint, const char* path, tg_restart* restart) {
  double list[LIST], marks[MARKS], seed[2];
  TG_TRY(take_values(checkpoint, path, "list", LIST, list));
  TG_TRY(take_values(checkpoint, path, "thermostat seed", 2, seed));
  restart->thermostat_seed = (uint64_t)seed[0] << 32 | (uint64_t)seed[1];
  TG_TRY(take_values(checkpoint, path, "thermostat heat", TG_MAX_GROUPS, restart->heat));
  TG_TRY(take_values(checkpoint, path, "energy sums", MARKS, marks));
  restart->step = checkpoint->step;
  const tg_checkpoint_values* end = tg_checkpoint_find(checkpoint, "end");
  if (end && end->count == END) { /* earlier builds did not write it */
    restart->finished = end->values[0] != 0;
    restart->last_step = (long long)end->values[1];
  }
  restart->nstlist = (int)list[0];
  restart->list_radius = list[1];
  restart->prune_interval = (int)list[2];
  restart->inner_radius = list[3];
  unpack_marks(marks, &restart->marks);
  for (int i = 0; i < TG_OUTPUT_COUNT; i++) {
    restart->marks.size[i] = -1;
    for (size_t f = 0; f < checkpoint->file_count; f++)
      if (strcmp(checkpoint->files[f].name, tg_output_name(i)) == 0)
        restart->marks.size[i] = checkpoint->files[f].size;
  }
  restart->x = checkpoint->x; /* the arrays change hands */
  restart->v = checkpoint->v;
  checkpoint->x = checkpoint->v = NULL;
  return TG_OK;
}

tg_status tg_restart_read(const tg_md_job* job, const tg_md_system* system, tg_restart* out) {
  memset(out, 0, sizeof *out);
  if (system->parameters.integrator != TG_INTEGRATOR_LEAP_FROG)
    return tg_fail(TG_ERR_INPUT,
                   "a minimisation has no checkpoint; start it again from the positions it reached "
                   "(confout.gro)");
  char path[4096];
  tg_checkpoint checkpoint;
  TG_TRY(tg_path_join(job->output, file_name, path, sizeof path));
  if (!tg_path_exists(path))
    return tg_fail(
        TG_ERR_INPUT,
        "%s: there is no checkpoint to go on from; start the run without --continue (with "
        "--force where the folder holds files of a run)",
        path);
  TG_TRY(tg_checkpoint_read(path, &checkpoint));
  tg_restart restart = {0};
  tg_status status =
      tg_checkpoint_check(&checkpoint, path, system->atom_count, fingerprint(system));
  if (status == TG_OK) status = take_out(&checkpoint, path, &restart);
  tg_checkpoint_free(&checkpoint);
  if (status == TG_OK) *out = restart;
  return status;
}

void tg_restart_free(tg_restart* restart) {
  tg_free(restart->x);
  tg_free(restart->v);
  memset(restart, 0, sizeof *restart);
}
