/* SPDX-License-Identifier: Apache-2.0 */
/** @file halo/device_trace.h  Timelines of the halo exchange on GPUs.
 *
 * Kernels that are compiled a second time for it *stamp* the end of each stage of their work: the
 * GPU's clock, by the first thread of a row of blocks (a PE's channel), into device memory that is
 * read afterwards. Copies lie between two events. A GPU's clock is set against the CPU's by a
 * kernel that answers the host, a second GPU's against the first's by flags. Kernels that are not
 * traced are not changed by any of it. */
#ifndef TG_HALO_DEVICE_TRACE_H
#define TG_HALO_DEVICE_TRACE_H

#include "base/trace.h"
#include "halo/device_halo.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a row has done since its last stamp. */
typedef enum tg_stage {
  TG_STAGE_BEGIN, /* nothing: its kernel has begun */
  TG_STAGE_PACK,
  TG_STAGE_PACK_HOME,
  TG_STAGE_PACK_FORWARDED,
  TG_STAGE_RAISE, /* the last block of the row has raised the flag */
  TG_STAGE_WAIT,  /* for the positions of channel `part` */
  TG_STAGE_CONSUMED,
  TG_STAGE_POST_HOME,
  TG_STAGE_POST_FORWARDED, /* of channel `part`, each as its letter came */
  TG_STAGE_POSTED,
  TG_STAGE_RECEIVE, /* letters awaited and unpacked */
  TG_STAGE_RETURN,  /* forces posted or reduced */
  TG_STAGE_RETURN_RAISE,
  TG_STAGE_RETURN_WAIT, /* for the forces of channel `part` */
  TG_STAGE_ADD,
  TG_STAGE_ADD_LETTERS, /* awaited and added */
  TG_STAGE_UNPACK,
  TG_STAGE_WORK,
  TG_STAGE_COUNT
} tg_stage;

typedef struct tg_stamp {
  uint64_t time_ns; /* of the GPU */
  uint64_t clock;   /* cycles of the multiprocessor */
  uint64_t number;  /* of the exchange */
  uint16_t stage, part;
  uint32_t multiprocessor;
} tg_stamp;

#ifdef __CUDACC__
#define TG_BOTH_SIDES static __host__ __device__ inline
#else
#define TG_BOTH_SIDES static inline
#endif

/** Rows of a PE: positions out and in and forces back by channel, then these. */
TG_BOTH_SIDES int tg_row_out(int channel) { return channel; }
TG_BOTH_SIDES int tg_row_in(int channel_count, int channel) { return channel_count + channel; }
TG_BOTH_SIDES int tg_row_back(int channel_count, int channel) {
  return 2 * channel_count + channel;
}
TG_BOTH_SIDES int tg_row_home(int channel_count) { return 3 * channel_count; }
TG_BOTH_SIDES int tg_row_work(int channel_count) { return 3 * channel_count + 1; }
TG_BOTH_SIDES int tg_row_count(int channel_count) { return 3 * channel_count + 2; }

/** Finer times where the GPU's clock ticks coarsely: time_ns was read as the last tick, so each
 * stamp bounds how its multiprocessor's cycles lie in time, and all together bound it closely.
 * Where they contradict each other (the frequency changed) the middle of the tick stays. */
tg_status tg_stamps_refine(tg_stamp* stamps, size_t count, double tick_ns, double cycles_per_ns);

/** Whose row it is. */
typedef struct tg_stamp_row {
  int line;
  int pe;
  const int *to, *from; /* [channel_count] of that PE */
  int channel;          /* -1: of all */
  int64_t ahead_ns;     /* of this GPU's clock over the CPU's */
} tg_stamp_row;

/** Turns the stamps of a row, [count], into spans; sorts them by time. */
void tg_stamps_record(tg_trace* trace, const tg_stamp_row* row, tg_stamp* stamps, size_t count);

/** Traces of one recording: the CPU's, then one per GPU. */
typedef struct tg_device_traces {
  tg_trace** traces; /* [count], owned */
  int count;
} tg_device_traces;

/** From now on traced kernels are launched: run some steps to warm them up. One halo of a process
 * at a time. Room: steps to be recorded. */
tg_status tg_device_halo_trace_open(tg_device_halo* halo, int steps);
/** Waits for queued work, compares the clocks, and records from now on. */
tg_status tg_device_halo_trace_start(tg_device_halo* halo);
/** Where the caller records what the CPU does, on line 0. */
tg_trace* tg_device_halo_trace_cpu(tg_device_halo* halo);
/** Waits for queued work; the recording is over. notes gets the clocks' errors under names that
 * begin with prefix. */
tg_status tg_device_halo_trace_stop(tg_device_halo* halo, const char* prefix, tg_trace_notes* notes,
                                    tg_device_traces* out);

/** Queues a stand-in for local work, on a stream of its own, after what is queued now; it keeps a
 * quarter of the GPU's multiprocessors busy so long. In a recording only. */
tg_status tg_device_halo_work_begin(tg_device_halo* halo, double microseconds);
/** What is queued from now on comes after that work. */
tg_status tg_device_halo_work_end(tg_device_halo* halo);

#ifdef __cplusplus
}
#endif
#endif
