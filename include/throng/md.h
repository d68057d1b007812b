/* SPDX-License-Identifier: Apache-2.0 */
/** @file md.h  Molecular dynamics from GROMACS input files.
 *
 *     tg_md_job job;
 *     tg_md_job_default(&job);
 *     job.configuration = "conf.gro"; job.topology = "topol.top"; job.parameters = "grompp.mdp";
 *     job.output = "run";
 *     tg_md_run_result result;
 *     if (tg_md_run(&job, &result) != TG_OK) fprintf(stderr, "%s\n", tg_last_error());
 *
 * Units: nm, ps, amu, e, kJ/mol, K, bar. The library never prints: words for people arrive through
 * job.message, progress through job.progress. */
#ifndef THRONG_MD_H
#define THRONG_MD_H

#include <stddef.h>
#include <throng/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_md_progress {
  long long step, last_step; /* last_step -1: no end */
  double ns_per_day;
  double seconds_left; /* < 0: not known */
} tg_md_progress;

/** What to run, on what, and where the output goes. Texts are not owned and must outlive the call.
 */
typedef struct tg_md_job {
  const char* configuration;          /* .gro or .g96 */
  const char* topology;               /* .top */
  const char* parameters;             /* .mdp; NULL: GROMACS's defaults */
  const char* index;                  /* .ndx or NULL */
  const char* restraints;             /* .gro or .g96 with reference positions, or NULL */
  const char* const* include_folders; /* [include_count] */
  int include_count;

  const char* backend; /* "omp" (default), "ref", or "cuda": tg_md_run on GPUs */
  const char*
      precision; /* "mixed" (default: pair forces in float, the rest in double) or "double" */
  const char* transport; /* "loop", "mpi", "socket", or NULL: socket where TG_BOOTSTRAP is in the
                            environment, else mpi under an MPI launcher, else loop. Backend cuda:
                            "loop", "nvshmem", or NULL: nvshmem for several processes, else loop */
  const char* halo;  /* schedule of the halo exchange: "host", "pulse", "fused", "direct", or NULL:
                        pulse, with backend cuda direct */
  int grid[3];       /* domains along x, y, z; 0 0 0: chosen for pe_count */
  int pe_count;      /* 0: the launcher's number, or 1; backend cuda: a domain for each GPU */
  int gpus;          /* backend cuda: how many share the system; 0: one, or one for each process */
  int threads;       /* of this process, shared by its PEs; 0: all it may use */
  double deadline_s; /* seconds that a PE may wait for another before the run is given up; 0: 60 */

  const char* output;        /* folder, tg_md_run only */
  int force;                 /* an earlier run in the folder is kept as numbered copies */
  int continue_run;          /* go on from the folder's checkpoint */
  int reproducible;          /* nothing is tuned by measured time */
  int tune;                  /* backend cuda: how often pairs are searched and the list is pruned is
                                chosen by measured time, written to tuning.json */
  int balance;               /* backend cuda, several domains: the planes between them move until
                                all take the same time, so that results depend on measured times */
  int nstlist;               /* > 0: steps between searches, instead of a choice */
  int prune_interval;        /* with nstlist: steps between prunings; 0: none */
  double checkpoint_minutes; /* between checkpoints; default 15 */
  const char* plot;          /* a plot of energies and temperature to write (.svg, .png), or NULL */

  const char* trace; /* tg_md_run only: a timeline of the first 100 steps to write (JSON,
                        trace-event format), or NULL */

  void (*message)(void* context, int warning, const char* line);   /* or NULL */
  void (*progress)(void* context, const tg_md_progress* progress); /* or NULL; PE 0 only */
  void* context;
} tg_md_job;

/** Fills in the defaults. */
void tg_md_job_default(tg_md_job* job);

/** The potential energy of the start and what belongs to it. */
typedef struct tg_md_energy_result {
  int term_count;
  double terms[24];      /* [term_count] in the order of tg_md_energy_label */
  double virial[3][3];   /* kJ/mol, -1/2 sum x (outer) F */
  double pressure[3][3]; /* bar, with the kinetic energy of the start's velocities */
  size_t atom_count;
  double (
      *forces)[3]; /* [atom_count] kJ mol^-1 nm^-1 in file order; release with tg_md_energy_free */
  size_t constraint_count; /* above 0: virial and pressure lack the constraints' forces */
} tg_md_energy_result;

/** The name of a term ("Coulomb (SR)"), its unit; NULL beyond the last. */
const char* tg_md_energy_label(int term);
const char* tg_md_energy_unit(int term);

/** Energy terms, virial, pressure and forces of the configuration as it stands (nothing is
 * constrained first). Collective over the processes of an MPI job; the result is complete on the
 * process of PE 0, its forces are NULL elsewhere. */
tg_status tg_md_energy(const tg_md_job* job, tg_md_energy_result* out);
void tg_md_energy_free(tg_md_energy_result* result);

/** Wall time of one part of the step ("pair forces"), the mean over PEs. */
typedef struct tg_md_part_time {
  const char* name; /* constant */
  double seconds;
} tg_md_part_time;

typedef struct tg_md_run_result {
  long long first_step, last_step;
  double wall_s, ns_per_day;
  double drift;            /* of the conserved energy, kJ/mol/ps per atom (least squares) */
  double mean_temperature; /* K */
  int converged;           /* steepest descent: the largest force is below emtol */
  double largest_force;    /* steepest descent, kJ mol^-1 nm^-1 */

  /* How it ran; complete on the process of PE 0. */
  int part_count;
  tg_md_part_time parts[12]; /* [part_count]; they add up to wall_s */
  double pairs_in_list; /* pairs whose distance a step evaluates, summed over PEs, at the end */
  int nstlist;          /* steps between pair searches */
  double list_radius;   /* nm */
  int prune_interval;   /* steps between prunings of the list; 0: none */
  double inner_radius;  /* nm, of the pruned list */
  int threads;          /* of each PE */
  char kernels[64];     /* what computes pair forces: "omp: AVX2, 4x4 float" */
  int nothing_to_do;    /* the run to continue had reached its last step: no file was touched */
} tg_md_run_result;

/** Runs what the .mdp file asks for and writes into job->output. TG_ERR_NUMERICS names step, atom
 * and molecule of a system that blew up, after writing the last good frame; TG_ERR_INTERRUPTED
 * after an interrupt, with a checkpoint written. Collective over the processes of an MPI job. */
tg_status tg_md_run(const tg_md_job* job, tg_md_run_result* out);

#ifdef __cplusplus
}
#endif
#endif
