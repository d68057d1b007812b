/* SPDX-License-Identifier: Apache-2.0 */
/** @file device_halo.h  The halo exchange between GPUs, of one process or of one each.
 *
 * Made by tg_device_halo_create, one object serves all PEs, dealt out to the GPUs of this process
 * in blocks of equal size; one launch per stage serves all PEs of a card. Made by
 * tg_device_halo_open, it serves the one PE of its process in a world of them: all calls are for
 * that PE, by its number, and each exchange is queued by every PE. Work is queued on one stream per
 * card; nothing blocks but where it is said. Where throng was built without CUDA, both fail with
 * TG_ERR_MACHINE.
 *
 * Per PE: x and f: [local capacity][3], float or double; home atoms first, then one slice per
 * channel (throng/device_plan.h) at a *fixed* place, so that a captured graph outlives a new plan
 * whose counts fit. "Compact" arrays on the host have home, then the channels' atoms without gaps.
 *
 * Schedules: host, stream, pulse, fused (staged plan) and direct (direct plan). One step is
 * tg_device_halo_positions, then, with returns_forces, exactly one tg_device_halo_forces. What the
 * caller may touch: between the two, its halo forces; x of the halo from positions to the next
 * positions; everything by work queued on the card's stream. Kernels of the caller include
 * <throng/device/halo.cuh>; examples/stencil-cuda has some. */
#ifndef THRONG_DEVICE_HALO_H
#define THRONG_DEVICE_HALO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <throng/device_plan.h>
#include <throng/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_device_halo tg_device_halo;
typedef struct tg_device_halo_graph tg_device_halo_graph;

typedef struct tg_device_halo_params {
  int gpus;                 /* create: 0: all, at most one per PE. open: not read */
  const char* schedule;     /* host, stream, pulse, fused, direct; NULL: direct or fused, as the
                               plan is */
  const char* force_return; /* of fused and direct: put, pull, reduce; NULL: put. reduce adds in
                               any order, so its last bits change from run to run */
  bool double_precision;
  bool bulk;           /* positions by bulk copies from shared memory (fused, pulse, direct) */
  bool returns_forces; /* every positions is followed by a forces */
  double margin;       /* capacity over the first plan's counts; 0: 1.25; 1 to 1000 */
  double deadline_s;   /* of a wait on a device; 0: 5 */
  const char* path;    /* open only, transport nvshmem: "store": kernels store into the other PEs'
                          memory (NVLink); "put": NVSHMEM moves the data, whatever the fabric;
                          "auto", NULL: store where all PEs reach each other, else put */
} tg_device_halo_params;

/** Counted where it happens: for the calls made, not for replays of a graph. After plans made on
 * the devices, bytes are those of the plan that tg_device_halo_synchronize saw last. A staged
 * message is a blocking wait, too. */
typedef struct tg_device_halo_counts {
  int64_t launches, copies;
  int64_t blocking_waits; /* host waits per card */
  int64_t bytes;          /* of payload, sent by all PEs of this process */
  double wait_s;          /* host time in them */
} tg_device_halo_counts;

typedef struct tg_device_halo_counters {
  tg_device_halo_counts positions, forces;
  double device_wait_s; /* by the first blocks, in flag waits, all PEs, replays included */
} tg_device_halo_counters;

/** A PE's device side, for kernels of the caller. port: a tg_halo_port<float or double>* in device
 * memory (throng/device/halo.cuh). */
typedef struct tg_device_halo_view {
  int device;
  void* stream; /* cudaStream_t */
  const void* port;
  void *x, *f;       /* [local_capacity][3] */
  size_t home_count; /* as tg_device_halo_synchronize saw it last; always right: port->home_count */
  size_t local_capacity;
  int channel_count;
  const size_t* slices; /* [channel_count]: first atom of each slice; owned by the halo */
} tg_device_halo_view;

/** Local. The plan is copied. */
tg_status tg_device_halo_create(const tg_device_halo_params* params, const tg_device_plan* plan,
                                tg_device_halo** out);
/** Collective: a process and a GPU for each PE of the world; plan: of as many PEs, this one's part
 * is read and copied. Capacities are the largest of all PEs'. Transport nvshmem: every schedule;
 * mpi and socket: schedule host, which is staged through the host, the GPU being the one of this
 * process's number on its machine; loop: of one PE. Params must be the same on all PEs. The halo
 * ends before the world does. */
tg_status tg_device_halo_open(tg_world* world, const tg_device_halo_params* params,
                              const tg_device_plan* plan, tg_device_halo** out);
/** Local, null-safe, sets NULL. Waits for queued work. */
void tg_device_halo_destroy(tg_device_halo** halo);

/** Local; of a world: collective. A new layout: waits for queued work on all cards, then replaces
 * maps and counts. Data of x and f are unspecified afterwards. TG_ERR_MACHINE, with nothing changed
 * on any PE, where a count exceeds its capacity: make a new halo. Graphs of schedules host and
 * stream hold the old sizes: capture again.
 */
tg_status tg_device_halo_replan(tg_device_halo* halo, const tg_device_plan* plan);

/** Where a PE's plans on the device come from. */
typedef struct tg_device_halo_source {
  const void* centre;    /* device memory of the PE's card: [home_count][3], float or double as the
                            halo's data, nm, in the PE's brick. NULL: x of its home atoms */
  const int* home_count; /* device memory of the PE's card, read when a plan is made. NULL: as many
                            as before */
} tg_device_halo_source;

/** Local; of a world: collective, with the same box and reach. Says what plans on the device are
 * made from; waits for queued work. box: its vectors, nm, the rows as in tg_halo_plan_triclinic; if
 * only the diagonal is not zero, a rectangular box as for tg_device_plan_make. sources: [pe_count],
 * copied, of a world only this PE's; what they lead to stays the caller's and is read by each plan.
 * NULL: of every PE the x. May be called again, when the box has changed, and holds for graphs
 * captured before. TG_ERR_INPUT with schedules host and stream, whose copies have sizes that the
 * host knows, and with path put, as plans are made by stores into the other PEs' memory;
 * TG_ERR_MACHINE where box and reach need other messages than the halo has room for: make a new
 * halo. Nothing has changed after these. */
tg_status tg_device_halo_plan_from(tg_device_halo* halo, const double box[3][3], double reach,
                                   const tg_device_halo_source* sources);
/** Queues a new layout, as tg_device_halo_replan gives it, made by the devices: nothing blocks, and
 * a graph may hold it. Between steps only; data of the halo parts are unspecified until the next
 * positions. A count that exceeds its capacity is cut there, so that nothing is stored where it
 * should not be, and ends the exchange: tg_device_halo_synchronize then says TG_ERR_MACHINE, with
 * the count (of a world: on the PE that had it; on all others, that one of them stopped); make a
 * new halo. Every PE of a world queues it. */
tg_status tg_device_halo_replan_on_device(tg_device_halo* halo);

/** Host copies; each waits for queued work. TG_ERR_INPUT for a PE of another process. Positions:
 * home atoms [home_count][3] in; compact out.
 */
tg_status tg_device_halo_set_positions(tg_device_halo* halo, int pe, const double (*x)[3]);
tg_status tg_device_halo_get_positions(tg_device_halo* halo, int pe, double (*x)[3]);
/** Forces: compact in; compact out (only the home part is meant). */
tg_status tg_device_halo_set_forces(tg_device_halo* halo, int pe, const double (*f)[3]);
tg_status tg_device_halo_get_forces(tg_device_halo* halo, int pe, double (*f)[3]);
/** Velocities for tg_device_halo_move: [home_count][3], nm/ps. */
tg_status tg_device_halo_set_velocities(tg_device_halo* halo, int pe, const double (*v)[3]);

/** Queues one exchange on every card (schedule host: does it, blocking). */
tg_status tg_device_halo_positions(tg_device_halo* halo);
tg_status tg_device_halo_forces(tg_device_halo* halo);
/** Queues x += v dt on home atoms. Schedule direct with push: the same kernel also sends the new
 * positions, in place of tg_device_halo_positions; tg_device_halo_await, queued after it, waits for
 * them and puts them in place. */
tg_status tg_device_halo_move(tg_device_halo* halo, double dt, bool push);
tg_status tg_device_halo_await(tg_device_halo* halo);
/** Tells the halo that a kernel of the caller, queued before, has pushed this step's positions
 * (tg_halo_push, tg_halo_raise) in place of tg_device_halo_positions. One launch must serve all PEs
 * of a card. Consumers wait by tg_device_halo_await or, in their own kernels, by
 * tg_halo_wait_positions. */
tg_status tg_device_halo_pushed(tg_device_halo* halo);
/** The same, posted (tg_halo_post_atom, tg_halo_posted): consumers need tg_device_halo_await. */
tg_status tg_device_halo_posted(tg_device_halo* halo);
/** Local: blocks until all work queued by this process is done, for as long as other PEs keep it
 * waiting. TG_ERR_MACHINE where a wait met its deadline, naming who waited for whom, in which pulse
 * or for which neighbour of which exchange, what the counter was and what was awaited; the halo is
 * of no use then, and the world, if any, is aborted. */
tg_status tg_device_halo_synchronize(tg_device_halo* halo);

/** Local: what is queued between begin and end (by these calls or by the caller on the streams)
 * becomes a graph instead. Not with schedule host (TG_ERR_INPUT). end is to be called also after a
 * failure.
 */
tg_status tg_device_halo_graph_begin(tg_device_halo* halo);
/** Local. *out: set only on success; the caller destroys it, before the halo. */
tg_status tg_device_halo_graph_end(tg_device_halo* halo, tg_device_halo_graph** out);
/** Queues the graph on every card, as its calls would have been queued. Of a world: each PE has a
 * graph of its own, and the exchanges in it must meet the other PEs' in the same order, from graphs
 * or not; the call itself waits for nobody. */
tg_status tg_device_halo_graph_launch(tg_device_halo* halo, tg_device_halo_graph* graph);
/** Local, null-safe, sets NULL. Not while the graph is at work. */
void tg_device_halo_graph_destroy(tg_device_halo* halo, tg_device_halo_graph** graph);

/** Local. All zero for a PE of another process. */
void tg_device_halo_view_of(const tg_device_halo* halo, int pe, tg_device_halo_view* out);
/** Local: GPUs of this process that the halo uses. */
int tg_device_halo_gpu_count(const tg_device_halo* halo);
/** Local. Waits for queued work (to read the devices' part). */
tg_status tg_device_halo_counters_read(tg_device_halo* halo, tg_device_halo_counters* out);

/** Latencies and bandwidth of this machine, for the model of an exchange. */
typedef struct tg_device_halo_constants {
  double flag_s;      /* release store to acquire load, one way; between two cards, or (one
                         card) between two blocks */
  double launch_s;    /* an empty kernel, launched back to back */
  double node_s;      /* an empty kernel in a graph */
  double wait_s;      /* host: blocking until a kernel just launched is done, less its launch */
  double bytes_per_s; /* direct stores of one card, both directions at once */
  bool between_cards;
} tg_device_halo_constants;

/** Local. Measures them with the cards 0 and, if gpus > 1, 1. Takes below a second. */
tg_status tg_device_halo_measure(int gpus, tg_device_halo_constants* out);

#ifdef __cplusplus
}
#endif
#endif
