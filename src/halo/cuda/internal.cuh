/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of halo/cuda share. */
#ifndef TG_HALO_CUDA_INTERNAL_CUH
#define TG_HALO_CUDA_INTERNAL_CUH

#include <vector>

#include "comm/cuda/cards.h"
#include "comm/symmetric.h"
#include "device/cuda/check.h"
#include "device/device.h"
#include "halo/cuda/far.h"
#include "halo/cuda/kernels.cuh"
#include "halo/device_halo.h"
#include "halo/device_trace.h"

typedef enum tg_device_schedule {
  TG_DEVICE_HOST,
  TG_DEVICE_STREAM,
  TG_DEVICE_PULSE,
  TG_DEVICE_FUSED,
  TG_DEVICE_DIRECT
} tg_device_schedule;

/* How data reach a PE of another process. */
typedef enum tg_device_path {
  TG_DEVICE_STORE, /* stores into its memory, as within a process */
  TG_DEVICE_PUT,   /* NVSHMEM's puts */
  TG_DEVICE_STAGED /* through pinned memory and the world's messages */
} tg_device_path;

/* Where a PE's arrays begin in its one piece of device memory, bytes; the same in every PE. */
typedef struct tg_device_layout {
  size_t x, f, f_in, reduce, packed, mail, x_mail, velocity;
  size_t flags;      /* x_flag, f_flag, consumed, x_sent: 64-bit words, one after another; last a
                        word that nobody reads */
  size_t words;      /* waited_ns (64 bits); then x_done, f_done: [channel_count + 1] each; abort */
  size_t plan_words; /* of plans made here: see tg_plan_pe */
  size_t zero_bytes; /* the bytes up to here are zeroed at creation */
  size_t index, segment, copy_start, copy, return_atom, sum, source, channel;
  size_t plan_code, plan_tiles, plan_closed; /* scratch of such plans */
  size_t rows, tree;                         /* derived from these (tables.cu) */
  size_t bytes;
} tg_device_layout;

/* One PE's share of the host's knowledge. */
typedef struct tg_device_pe {
  int card;     /* -1: of another process */
  char* memory; /* NULL: out of reach */
  size_t home_count;
  std::vector<size_t> send_count, receive_count; /* [channel_count] */
  std::vector<int> to, from;
} tg_device_pe;

struct tg_device_halo {
  tg_cards cards;
  tg_world* world; /* NULL: all PEs are of this process; else only `own` */
  int own;
  tg_device_path path;
  const tg_device_far* far; /* NULL: the kernels of schedules.cu do it */
  tg_symmetric* symmetric;  /* memory of the PEs of a world; NULL: this process's own */
  char* pinned;             /* path staged: [2][send_capacity][3] on the host, to and fro */
  int64_t staged_turn;      /* number of the exchange, for messages */
  int put_blocks;           /* path put: of one channel */
  unsigned* alarm;          /* the world's abort word of this PE; NULL: the halo's own */
  tg_device_schedule schedule;
  tg_halo_return force_return;
  bool double_precision, bulk, returns_forces, direct;
  double deadline_s;
  int pe_count, channel_count;
  int grid[3];   /* of the plan: PEs along x, y, z */
  int row_words; /* of a row of the table of sums (mail_forces.cuh): 4, 8; 0: there is none */
  size_t home_capacity, local_capacity, send_capacity, copy_capacity;
  std::vector<size_t> capacity, slice, send_slot; /* [channel_count] */
  tg_device_layout layout;
  std::vector<tg_device_pe> pes;
  /* per card: */
  void* ports[TG_MOST_CARDS];       /* [PEs of the card] tg_halo_port */
  void** velocities[TG_MOST_CARDS]; /* [PEs of the card] */
  unsigned** abort_of[TG_MOST_CARDS];
  char* plan_input[TG_MOST_CARDS]; /* geometry, then [PEs of the card] tg_plan_input; or NULL */
  tg_halo_fault* fault[TG_MOST_CARDS];
  int send_blocks, return_blocks; /* of one channel of one PE */
  int post_blocks;                /* of a PE, for positions by mail; 0: they go by flags */
  int post_back_blocks;           /* the same for forces */
  bool overlaps; /* a kernel may start before the one ahead of it has ended (mail.cuh) */
  tg_device_halo_counters counters;
  struct tg_device_trace* trace; /* NULL: kernels without stamps, nothing is recorded */
  bool by_mail;                  /* another kernel posted the latest positions: take them in */
  bool positions_out;            /* positions were sent, forces have not come back */
  bool capturing;
  tg_device_geometry geometry;     /* of plans made on the device */
  bool plans_here;                 /* there have been some: the host's counts may be old */
  bool plan_queued[TG_MOST_CARDS]; /* just now: the next kernel may not overlap with it */
};

struct tg_device_halo_graph {
  cudaGraphExec_t exec[TG_MOST_CARDS]; /* NULL: none for this card */
};

/* The PEs of this process: tg_first_pe .. tg_end_pe - 1. */
static inline int tg_first_pe(const tg_device_halo* halo) { return halo->world ? halo->own : 0; }
static inline int tg_end_pe(const tg_device_halo* halo) {
  return halo->world ? halo->own + 1 : halo->pe_count;
}

static inline size_t tg_element(const tg_device_halo* halo) {
  return halo->double_precision ? sizeof(double) : sizeof(float);
}

/* One graph per card, where cards meet by flags; one for all, where they meet by events. */
static inline bool tg_one_graph(const tg_device_halo* halo) {
  return halo->schedule == TG_DEVICE_STREAM;
}

/* device_halo.cu */
tg_status tg_device_halo_read_params(tg_device_halo* halo, const tg_device_halo_params* params,
                                     const tg_device_plan* plan);
tg_status tg_device_halo_check_bulk(const tg_device_halo* halo);
tg_status tg_device_halo_choose_kernels(tg_device_halo* halo);
tg_status tg_device_halo_allocate(int device, void** out, size_t bytes);
/* "pulse 2" (from 1, as on CPUs), "neighbour 3 at (0 1 1) domains", into out. */
const char* tg_device_halo_channel_name(const tg_device_halo* halo, int channel, char out[64]);
tg_status tg_device_halo_allocate_cards(tg_device_halo* halo);

/* processes.cu. Collective: *home and halo->capacity become the largest of all PEs'. */
tg_status tg_device_capacities_agree(tg_device_halo* halo, size_t* home);
tg_status tg_device_processes_replan(tg_device_halo* halo, const tg_device_plan* plan);
/* Collective: what plans on devices are made from must be the same everywhere; status: of this PE's
 * own look at it. The same status on all PEs. */
tg_status tg_device_processes_geometry(tg_device_halo* halo, const tg_device_geometry* geometry,
                                       tg_status status);
/* Local, after a wait for this PE's queue that ended with status: adds what other PEs gave up, and
 * tells them of this one's failure. */
tg_status tg_device_processes_outcome(tg_device_halo* halo, tg_status status);

/* upload.cu: layout, and the plan's way to the devices. */
tg_status tg_device_layout_choose(tg_device_halo* halo, const tg_device_plan* plan, double margin);
tg_status tg_device_plan_fits(const tg_device_halo* halo, const tg_device_plan* plan);
tg_status tg_device_plan_upload(tg_device_halo* halo, const tg_device_plan* plan);

/* plan.cu: plans made on the device. Their counts, for the host; waits for nothing. */
size_t tg_plan_words_size(int channels);
int tg_plan_tile_count(size_t atoms);
tg_status tg_device_counts_fetch(tg_device_halo* halo);

/* trace.cu. While a trace is recorded: what the CPU did since tg_device_cpu_now; an event before or
 * after the copy of channel c that PE p's card makes. */
void tg_device_trace_free(tg_device_halo* halo);
int64_t tg_device_cpu_now(const tg_device_halo* halo);
void tg_device_cpu_did(tg_device_halo* halo, const char* what, int64_t begin_ns);
void tg_device_copy_event(tg_device_halo* halo, int p, int c, bool forces, bool begins);

/* tables.cu: direct only: how many domains up channel c's copies come from. */
void tg_device_halo_hops(const tg_device_halo* halo, int c, int hops[3]);
/* After every upload. Ends with all cards synchronized. */
tg_status tg_device_tables_make(tg_device_halo* halo);
/* The same behind a plan that is queued: queues the kernels and waits for nothing. */
tg_status tg_device_tables_queue(tg_device_halo* halo);

/* schedules.cu */
/* Where the kernels of that file stamp, on a card. */
tg_status tg_device_board_set(int device, const tg_stamp_board* board);
tg_status tg_device_grids_choose(tg_device_halo* halo);

#endif
