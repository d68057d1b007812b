/* SPDX-License-Identifier: Apache-2.0 */
/* The question and its model stand in md_gpu.h. */
#include "bench/md_gpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/device_atoms.h"
#include "md/list_choice.h"
#include "md/nonbonded.h"

/* Counted in the compiled kernel (sm_90): the loop where at most 4 atoms of a cluster have LJ, and
 * what surrounds it. */
enum { TURN_INSTRUCTIONS = 228, ROW_INSTRUCTIONS = 330, LAUNCHES = 10 };

const char* tg_bench_md_gpu_stage(tg_device_md_stage stage) {
  static const char* const names[] = {"sort", "list", "prune", "forces", "energies"};
  return names[stage];
}

/* The forces of all pairs that are not excluded, double precision. */
static tg_status reference_forces(const tg_device_md_params* p, const tg_device_atoms* atoms,
                                  int threads, double (*f)[3]) {
  const tg_nonbonded_params params = {.cutoff = p->cutoff,
                                      .rf_k = p->rf_k,
                                      .rf_c = p->rf_c,
                                      .coulomb_scale = p->coulomb_scale,
                                      .lj_shift = p->lj_shift,
                                      .coulomb_shift = p->coulomb_shift,
                                      .type_count = p->type_count,
                                      .c6 = p->c6,
                                      .c12 = p->c12,
                                      .backend = "omp",
                                      .threads = threads};
  tg_nonbonded* nonbonded = NULL;
  int* global = NULL;
  TG_TRY(TG_ALLOCATE(atoms->count, "atom numbers", &global));
  for (size_t i = 0; i < atoms->count; i++) global[i] = (int)i;
  const tg_nonbonded_atoms all = {.home_count = atoms->count,
                                  .local_count = atoms->count,
                                  .x = (const double(*)[3])atoms->x,
                                  .type = atoms->type,
                                  .charge = atoms->charge,
                                  .global = global,
                                  .box = {atoms->box[0], atoms->box[1], atoms->box[2]},
                                  .periodic = {true, true, true},
                                  .exclusion_start = atoms->exclusion_start,
                                  .exclusion = atoms->exclusion};
  tg_nonbonded_result result = {0};
  tg_status status = tg_nonbonded_create(&params, &nonbonded);
  if (status == TG_OK) status = tg_nonbonded_search(nonbonded, &all, p->cutoff);
  if (status == TG_OK) tg_nonbonded_compute(nonbonded, all.x, f, &result);
  tg_nonbonded_destroy(&nonbonded);
  TG_FREE(global);
  return status;
}

/* Positions in float are good to FLT_EPSILON / 2 of 1 nm; see tests/md/gpu_md.cu for how that shows
 * in a force: 13 / 0.15 nm, and ten times more where large forces cancel. */
static const double LIMIT = 10 * 13 / 0.15 * FLT_EPSILON / 2;

static tg_status check_forces(const tg_bench_md_gpu_params* params, const tg_device_md_params* p,
                              const tg_device_atoms* atoms, tg_device_md* md,
                              tg_bench_md_gpu_result* out) {
  double(*fast)[3] = NULL, (*reference)[3] = NULL;
  tg_status status = TG_ALLOCATE(atoms->count, "forces", &fast);
  if (status == TG_OK) status = TG_ALLOCATE(atoms->count, "forces", &reference);
  if (status == TG_OK) status = reference_forces(p, atoms, params->threads, reference);
  if (status == TG_OK) status = tg_device_md_get_forces(md, fast, NULL);
  double difference2 = 0, size2 = 0;
  for (size_t i = 0; status == TG_OK && i < atoms->count; i++) {
    for (int d = 0; d < 3; d++) {
      const double apart = fast[i][d] - reference[i][d];
      difference2 += apart * apart;
      size2 += reference[i][d] * reference[i][d];
    }
  }
  TG_FREE(fast);
  TG_FREE(reference);
  TG_TRY(status);
  out->force_limit = LIMIT;
  out->force_deviation = size2 > 0 ? sqrt(difference2 / size2) : 0;
  if (out->force_deviation <= LIMIT) return TG_OK;
  return tg_fail(TG_ERR_NUMERICS,
                 "the forces differ from the backend omp's by %.3g of their size, at most %.3g was "
                 "expected: no speed is worth measuring",
                 out->force_deviation, LIMIT);
}

static void apply_model(const tg_device_info* gpu, tg_bench_md_gpu_result* out) {
  const double turns = (double)out->counts.kept / (8 * 32);
  const double instructions =
      turns * TURN_INSTRUCTIONS + (double)out->counts.clusters * ROW_INSTRUCTIONS;
  const double per_us = 4.0 * gpu->multiprocessor_count * gpu->clock_khz * 1e-3;
  out->us_forces_model = per_us > 0 ? instructions / per_us : 0;
  const double search = out->us[TG_DEVICE_MD_SORT] + out->us[TG_DEVICE_MD_LIST];
  const double prune = out->us[TG_DEVICE_MD_PRUNE];
  out->us_step = out->us[TG_DEVICE_MD_FORCES] + search / out->nstlist +
                 prune / (out->prune_interval > 0 ? out->prune_interval : out->nstlist);
}

static tg_status measure(const tg_bench_md_gpu_params* params, const tg_device_md_params* p,
                         const tg_device_atoms* atoms, tg_device_md* md,
                         tg_bench_md_gpu_result* out) {
  tg_device_md_energies energies;
  TG_TRY(tg_device_md_set_positions(md, (const double(*)[3])atoms->x));
  TG_TRY(tg_device_md_search(md));
  TG_TRY(tg_device_md_prune(md));
  TG_TRY(tg_device_md_forces(md, true));
  TG_TRY(tg_device_md_get_forces(md, NULL, &energies));
  out->pairs = energies.pairs;
  out->force_deviation = -1;
  if (params->check) TG_TRY(check_forces(params, p, atoms, md, out));
  TG_TRY(tg_device_md_count(md, &out->counts));
  for (int stage = 0; stage < TG_DEVICE_MD_STAGES; stage++)
    TG_TRY(tg_device_md_measure(md, (tg_device_md_stage)stage, LAUNCHES, params->repeats,
                                &out->us[stage]));
  return TG_OK;
}

/* Radii and intervals as a run of the copies would have them, whose box has room for a larger
 * radius than that of one. */
static tg_status choose_for_copies(const tg_md_system* one, const int copies[3],
                                   tg_list_choice* choice) {
  tg_md_system all = *one;
  tg_md_job job;
  tg_restart restart;
  memset(&restart, 0, sizeof restart);
  tg_md_job_default(&job);
  job.backend = "cuda";
  all.topology.blocks = NULL;
  TG_TRY(TG_ALLOCATE(one->topology.block_count, "molecules", &all.topology.blocks));
  for (size_t i = 0; i < one->topology.block_count; i++) {
    all.topology.blocks[i] = one->topology.blocks[i];
    for (int d = 0; d < 3; d++) all.topology.blocks[i].count *= copies[d];
  }
  for (int d = 0; d < 3; d++) all.box[d] *= copies[d];
  const tg_status status = tg_list_choose(&all, &job, &restart, choice);
  TG_FREE(all.topology.blocks);
  return status;
}

static tg_status choose_list(const tg_md_system* system, const int copies[3],
                             const tg_device_atoms* atoms, tg_device_md_params* p,
                             tg_bench_md_gpu_result* out) {
  tg_list_choice choice;
  TG_TRY(choose_for_copies(system, copies, &choice));
  p->list_radius = choice.radius;
  p->inner_radius = choice.prune_interval > 0 ? choice.inner_radius : choice.radius;
  out->atom_count = atoms->count;
  out->cutoff = p->cutoff;
  out->list_radius = p->list_radius;
  out->inner_radius = p->inner_radius;
  out->nstlist = choice.nstlist;
  out->prune_interval = choice.prune_interval;
  return TG_OK;
}

tg_status tg_bench_md_gpu(const tg_bench_md_gpu_params* params, const tg_device_info* gpu,
                          tg_bench_md_gpu_result* out) {
  const tg_md_files files = {.configuration = params->configuration,
                             .topology = params->topology,
                             .parameters = params->parameters,
                             .chance_seed = 1};
  const tg_log log = {0};
  tg_md_system* system = NULL;
  tg_device_atoms atoms = {0};
  tg_device_md_params p;
  tg_device_md* md = NULL;
  memset(out, 0, sizeof *out);
  tg_status status = tg_md_system_read(&files, &log, &system);
  if (status == TG_OK) status = tg_device_atoms_make(system, params->copies, &atoms);
  if (status == TG_OK) {
    tg_device_atoms_params(&atoms, system, &p);
    p.device = params->device;
    status = choose_list(system, params->copies, &atoms, &p, out);
  }
  if (status == TG_OK) status = tg_device_md_create(&p, &md);
  if (status == TG_OK) status = measure(params, &p, &atoms, md, out);
  if (status == TG_OK) apply_model(gpu, out);
  tg_device_md_destroy(&md);
  tg_device_atoms_free(&atoms);
  tg_md_system_destroy(&system);
  return status;
}
