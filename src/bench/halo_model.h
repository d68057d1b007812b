/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo_model.h  What a step of a halo exchange must cost at least: its model.
 *
 *   step = hops x latency + bytes / bandwidth + starts
 *
 * A step is positions there and forces back. *Hops* follow one another: staged, the pulses there
 * and back; direct, one each way.
 *
 * | part    | GPUs                                 | CPUs                                         |
 * |---------|--------------------------------------|----------------------------------------------|
 * | latency | flag: release store to acquire load  | flag: raised to seen, two PEs play ping-pong |
 * |         |                                      | (host: a message of 8 bytes each way)        |
 * | bytes   | sent by the busiest card, at the     | sent by the busiest PE, at the rate of a put |
 * |         | rate of direct stores                | (host: a message), and once more at that of  |
 * |         |                                      | packing vectors by index                     |
 * | starts  | launches x a graph node; host:       | messages beyond one a hop x what one more    |
 * |         | launches and copies x a launch, and  | flag costs                                   |
 * |         | blocking waits x what one adds       |                                              |
 *
 * The constants are measured in the same run; on CPUs by all PEs at once, in pairs, so that PEs
 * that share cores are measured sharing them. The kernels' own work is not in the model: the ratio
 * of a step to its model says how much there is of it, and of everything else. */
#ifndef TG_BENCH_HALO_MODEL_H
#define TG_BENCH_HALO_MODEL_H

#include "comm/world.h"
#include "halo/device_halo.h"

typedef struct tg_bench_halo_model {
  double hops_us, bytes_us, starts_us;
  double total_us;
} tg_bench_halo_model;

/** What a step did. */
typedef struct tg_bench_halo_work {
  int hops;
  double bytes;    /* of the busiest */
  double launches; /* kernels and copies */
  double waits;    /* blocking waits of the CPU */
  double messages; /* of one PE */
  bool by_host;    /* schedule host */
} tg_bench_halo_work;

tg_bench_halo_model tg_bench_halo_model_gpus(const tg_device_halo_constants* constants,
                                             const tg_bench_halo_work* work);

/** Of PEs in host memory, measured by all of them at once. */
typedef struct tg_bench_halo_host_constants {
  double flag_s;              /* raised to seen, one way */
  double raise_s;             /* one more flag raised and seen, of several */
  double put_bytes_per_s;     /* into the partner's memory, by stores or by message */
  double message_s;           /* 8 bytes there and 8 back at the same time */
  double message_bytes_per_s; /* of one PE, in a large such exchange */
  double pack_bytes_per_s;    /* vectors by index, within a PE */
  size_t block_bytes;         /* what "large" was: as a message of the case */
} tg_bench_halo_host_constants;

/** Collective: measures them, `repeats` times, with blocks of so many bytes (the largest of the
 * PEs' numbers) of vectors of doubles (wide) or floats; medians, the same on all PEs. At least two
 * PEs. */
tg_status tg_bench_halo_host_measure(tg_world* world, size_t block_bytes, bool wide, int repeats,
                                     tg_bench_halo_host_constants* out);

tg_bench_halo_model tg_bench_halo_model_host(const tg_bench_halo_host_constants* constants,
                                             const tg_bench_halo_work* work);

/** The constants of two H200 with NVLink, measured on 2026-11-30 (docs/performance.md): the
 * default where no GPUs are at hand. */
extern const tg_device_halo_constants tg_bench_halo_two_h200;

/** A network between GPUs, on which every put carries its signal. */
typedef struct tg_bench_halo_fabric {
  double latency_s;   /* put-with-signal, issued to seen, one way */
  double bytes_per_s; /* of one GPU */
  double message_s;   /* each message occupies the sender so long */
} tg_bench_halo_fabric;

/** The default: InfiniBand NDR (docs/performance.md says where the figures are from). */
extern const tg_bench_halo_fabric tg_bench_halo_ndr;

/** A step of gpus PEs, one on each GPU, as the model has it. */
typedef struct tg_bench_halo_prediction {
  int atoms, gpus;
  int grid[3];
  int pulses, neighbours; /* messages each way, staged and direct */
  double bytes;           /* a step and GPU */
  double host_us, fused_us, direct_us;
  double break_even_s; /* fabric: direct wins while a message occupies the sender for less;
                          infinite where direct has no more messages */
} tg_bench_halo_prediction;

/** Local. fabric NULL: by stores and flags over NVLink. element: bytes of a coordinate.
 * TG_ERR_INPUT where the box cannot be cut so. */
tg_status tg_bench_halo_predict(int atoms, double reach, int gpus, size_t element,
                                const tg_device_halo_constants* constants,
                                const tg_bench_halo_fabric* fabric, tg_bench_halo_prediction* out);

#endif
