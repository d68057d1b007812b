/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/step_host.cuh  What the host keeps of a tg_device_step. */
#ifndef TG_MD_CUDA_STEP_HOST_CUH
#define TG_MD_CUDA_STEP_HOST_CUH

#include <string>
#include <vector>

#include "md/cuda/step.cuh"

/** A stretch that was captured. */
typedef struct tg_step_graph {
  std::string flags; /* of its steps and of the one after */
  cudaGraphExec_t exec;
  long long kernels;
} tg_step_graph;

/** What a stretch is made of so far. */
typedef struct tg_step_tail {
  bool summing; /* a reduction is under way beside the main stream */
  bool update;  /* the last kernel of the main stream is an update, which a launch may overlap */
} tg_step_tail;

/** Of one card; a handle is that of the first card of this process, and the others follow. What is
 * marked so is the first one's alone. */
struct tg_device_step {
  tg_device_md* md;
  tg_device_step* next; /* NULL: the last */
  size_t atom_count;
  std::vector<float> inverse_mass;
  tg_step_view view;
  tg_step_homes homes; /* of many domains */
  tg_step_thermostat thermostat;
  tg_thermostat_state coupling;
  void* memory;
  cudaStream_t side; /* sums */
  cudaStream_t copy; /* frames, past the steps */
  cudaEvent_t fork, join, done[TG_DEVICE_IN_FLIGHT];
  tg_device_record* record;
  tg_step_report* report;
  double* noise;
  tg_stages_messages* messages; /* schedules host and stream: of the last search, pinned */
  cudaEvent_t sent;             /* stream: the messages of a stage are queued */
  std::vector<tg_step_graph> graphs;
  double dt; /* of steps that are not rushed */
  /* of the stretch that is queued: whether steps of it are timed, and which (md/device_times.h) */
  bool timed, pruning_marked;
  signed char place[TG_DEVICE_STRETCH];
  /* the first one's: */
  long long next_step;              /* the first that is not queued */
  long long queued, collected;      /* stretches */
  int stretch[TG_DEVICE_IN_FLIGHT]; /* their steps */
  unsigned long long records_read;
  std::vector<tg_device_record> records; /* of the stretch collected last */
  long long kernels, waits;
  int time_every; /* one in so many stretches is timed; 0: none */
};

/** Queue a card's step i of a stretch, but for the exchange of schedules without graphs; and what
 * ends the stretch. */
tg_status tg_step_queue_step(tg_device_step* p, const unsigned char* flags, int i, tg_step_tail* t);
tg_status tg_step_queue_tail(tg_device_step* p, const tg_step_tail* t, int count);
/** A stretch on all cards with a schedule without graphs. */
tg_status tg_step_drive(tg_device_step* step, const unsigned char* flags, int count);

/** What a reduction must prepare for a step with these flags; 0: nothing. */
static inline int tg_step_prepares(unsigned char flags) {
  if (!(flags & (TG_STEP_ENERGY | TG_STEP_COUPLE | TG_STEP_COMM))) return 0;
  return TG_REDUCE_PREPARE | (flags & TG_STEP_COUPLE ? TG_REDUCE_COUPLE : 0) |
         (flags & TG_STEP_COMM ? TG_REDUCE_COMM : 0);
}

/** Local: graphs of other views than the present ones. */
void tg_step_forget_graphs(tg_device_step* step);

/** From the GPU's numbers to nm and nm/ps; [count]. */
void tg_step_positions(const uint4* from, size_t count, const double nm[3], double (*x)[3]);
void tg_step_velocities(const float4* from, size_t count, double (*v)[3]);

/** Random numbers for `count` steps from `first` on. */
void tg_step_draw_noise(tg_device_step* step, long long first, const unsigned char* flags,
                        int count);

#endif
