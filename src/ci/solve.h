/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/solve.h  The lowest levels of a problem: sector by sector a space, the Hamiltonian on
 * it and the eigen-solver; then J, T or S of each state from its expectation values. */
#ifndef TG_CI_SOLVE_H
#define TG_CI_SOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "ci/operator.h"
#include "ci/problem.h"
#include "ci/share.h"
#include "ci/storage_model.h"
#include "eigen/eigen.h"

/** Where products and vectors are. */
typedef enum tg_ci_backend {
  TG_CI_OMP,  /* the processors of this machine */
  TG_CI_CUDA, /* a GPU: operator and vectors lie in its memory (ci/device_operator.h) */
  TG_CI_ACC,  /* the same by OpenACC (ci/slices.h): a GPU where its module has one, else the host */
} tg_ci_backend;

const char* tg_ci_backend_name(tg_ci_backend backend);

/** Start from tg_ci_solve_defaults(). */
typedef struct tg_ci_solve_params {
  int states;       /* of each sector; 0: ten, or as many as there are */
  double tolerance; /* of residuals, MeV or Ha; 0: 1e-4 MeV, 1e-5 Ha */
  tg_ci_storage storage;
  bool float_elements; /* of TG_CI_CUDA: what a stored matrix holds as doubles is rounded to floats
                        */
  uint64_t memory; /* bytes beyond what the process holds; 0: 80 % of what the machine has free */
  int threads;     /* 0: all of OpenMP's */
  tg_ci_backend backend;
  int device; /* of TG_CI_CUDA: which GPU, where it is one */
  int gpus;   /* of TG_CI_CUDA: of this process, which the PEs are dealt out to. 0: one; of a
                 transport of processes each has one */
  tg_eigen_check check;
  int pes; /* processing elements that share a sector's states; 0: one for each of the GPUs, or
              of a transport of processes all */
  const char* transport; /* as tg_world_params has it; NULL: loop */
  double deadline_s;     /* seconds that one waits for another; 0: a day, as shares differ by more
                            than a short one where products take hours */
  const char* restart;   /* a file to go on from, and to write (ci/restart.h). NULL: none */
  double restart_s;      /* seconds between two states on disk, at least; 0: 900 */

  /** Between two steps of the eigen-solver. May be NULL. A failure ends the run. */
  tg_status (*progress)(void* context, const tg_ci_problem* problem, size_t sector,
                        const tg_eigen_progress* progress);
  /** Once, where the restart file was there and is of this problem. May be NULL. */
  void (*goes_on)(void* context, const char* path);
  void (*warn)(void* context, const char* words); /* of what does not end the run. NULL: nobody */
  bool (*interrupted)(void* context);             /* true: TG_ERR_INTERRUPTED soon. NULL: never */
  void* context;
} tg_ci_solve_params;

/** What a sector needs of a GPU: bytes of its memory. */
typedef struct tg_ci_device_need {
  bool used; /* false: the rest is zero */
  bool acc;  /* by OpenACC */
  bool host; /* which has no GPU: memory is the host's */
  int device;
  int gpus;
  int pes; /* that share the sector's states; bytes but `free` are those of one of them */
  char name[128];
  uint64_t free;    /* before the sector */
  uint64_t vectors; /* of the eigen-solver */
  uint64_t tables;  /* of the factorised product, which are there where nothing is stored */
  uint64_t matrix; /* if stored, at most; what it takes where it was made. 0: out of the question */
  uint64_t making; /* what making the matrix takes besides */
  uint64_t product; /* of the matrix, that a product reads; 0: not stored */
  double rounding;  /* MeV or Ha: no level moved farther as elements are floats; 0: none is */
  bool asked;       /* --storage said what becomes of the elements; false: times did, or room */
  tg_ci_storage_times times; /* by the model; zero where nothing could be stored */
  double tables_s;           /* making the tables of strings, on the host */
  double device_s;           /* getting them, or the matrix, onto the device */
} tg_ci_device_need;

/** What a sector needs. */
typedef struct tg_ci_need {
  unsigned symmetry;
  int states;       /* that will be looked for */
  int block;        /* vectors multiplied at once; 0: the eigen-solver's choice */
  uint64_t process; /* bytes the process has before: inputs, operators, results of other sectors */
  uint64_t highest; /* and the most it had so far */
  uint64_t space;   /* bytes of the strings */
  uint64_t tables;  /* bytes of the operator's tables, roughly; facts has what they took */
  uint64_t vectors; /* bytes of the eigen-solver */
  uint64_t peak;    /* bytes of all at once */
  tg_ci_operator_facts facts;
  tg_ci_distribution split; /* of an estimate for several PEs; the caller's */
  double seconds; /* wall time, roughly: by rates of one machine (docs/performance.md), idle */
  tg_ci_device_need gpu;
} tg_ci_need;

typedef struct tg_ci_sector {
  tg_ci_need need;
  tg_ci_space* space;
  tg_eigen_result result;            /* values in MeV or Ha, vectors in the order of the space */
  double setup_s, solve_s, labels_s; /* wall time */
  int pe_count;                      /* that shared it; 0: one had all */
  tg_ci_share_facts* shares;         /* [pe_count] */
  struct tg_ci_states_room* room;    /* of the vectors, while it is solved */
} tg_ci_sector;

typedef struct tg_ci_level {
  size_t sector, number; /* state of that sector */
  unsigned symmetry;
  double energy, residual, error;
  double squared[TG_CI_LABELS]; /* <J^2> or <S^2>, <T^2>, <Hcm> - 3/2 hw; NAN: not known */
} tg_ci_level;

typedef struct tg_ci_spectrum {
  tg_ci_sector* sectors; /* [sector_count], as the problem's */
  size_t sector_count;
  tg_ci_level* levels; /* [level_count], of all sectors, rising */
  size_t level_count;
  double seconds; /* wall time of all */
} tg_ci_spectrum;

tg_ci_solve_params tg_ci_solve_defaults(void);

/** States that are looked for in each sector, as far as it has them, where this many are asked for
 * (0: nothing was said). */
int tg_ci_usual_states(int asked);
/** The tolerance of residuals where this one is asked for (0: nothing was said), MeV or Ha. */
double tg_ci_tolerance(tg_ci_kind kind, double asked);

/** What solving a sector of the problem would take. Makes the tables of jumps, but nothing of the
 * size of the space. */
tg_status tg_ci_solve_estimate(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                               size_t sector, tg_ci_need* out);

/** Collective over the processes of a transport of processes, which all bring the same problem:
 * states and levels are the first one's, the others' are empty, and they call back for
 * interruptions alone.
 *
 * TG_ERR_INPUT where more states are asked for than all sectors have (of a smaller sector all are
 * found); TG_ERR_MACHINE where memory does not do, before anything of that size is allocated;
 * TG_ERR_NUMERICS, TG_ERR_INTERRUPTED from the eigen-solver. */
tg_status tg_ci_solve(const tg_ci_problem* problem, const tg_ci_solve_params* params,
                      tg_ci_spectrum* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_spectrum_free(tg_ci_spectrum* spectrum);

/** Twice the x of x (x + 1) = squared, where that is a whole number to within 0.02; otherwise -1,
 * as for two levels closer than the tolerance that share each other's states. */
int tg_ci_twice(double squared);

/** Which level of its J and parity (S and irrep) a level is: 1 for the lowest; 0 where J is not
 * known. */
size_t tg_ci_level_nth(const tg_ci_spectrum* spectrum, size_t level);

#endif
