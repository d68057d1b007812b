/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/state.cuh  What lies in the GPU's memory, and what all kernels agree on.
 *
 * The box is cut into *domains*, one *view* each; a launch serves those of a card by blockIdx.z. A
 * domain's *home* atoms are those whose group begins in its brick; it computes all their pairs, for
 * which it has *halo* atoms, copies of others' home atoms within a list radius of its own. Arrays
 * by atom have the files' numbers and all atoms, on each card. Slots are a domain's own, home
 * atoms' first. Kernels have a version for one domain, which knows nothing of all this, and one for
 * many.
 *
 * A *slot* is a place in the sorted order, slot = 8 * cluster + lane. Columns in x and y are filled
 * up to whole clusters with *fillers*: no atom, no charge, in no list.
 *
 * Positions are unsigned, 2^-32 of the box a unit: the difference of two, read as a signed number,
 * is the nearest image's. A list entry is slot << 8 | mask: bit k says that the atom in this slot
 * and atom k of the cluster whose row it is in interact. Rows are padded to whole warps with
 * entries of mask 0. A pair of clusters is in the row of the one from which the other is *forward*
 * (list.cu); each pair of atoms is in one row. */
#ifndef TG_MD_CUDA_STATE_CUH
#define TG_MD_CUDA_STATE_CUH

#include <stdint.h>

#include "device/cuda/check.h"
#include "md/cuda/peers.cuh"
#include "md/cuda/times.cuh"
#include "md/device_balance.h"
#include "md/device_md.h"
#include "md/device_stages.h"

enum {
  TG_MD_CLUSTER = 8,          /* atoms */
  TG_MD_DOMAINS = 8,          /* of one launch, by blockIdx.z */
  TG_MD_MOST_DOMAINS = 16,    /* of all cards: bits of send_mask */
  TG_MD_WARPS = 4,            /* of a block, a row of the list each */
  TG_MD_FORCE_WARPS = 24,     /* of the forces that a multiprocessor has room for */
  TG_MD_ROW_BYTES = 80,       /* 8 pairs of LJ parameters, padded against bank conflicts */
  TG_MD_ENERGY_ROWS = 64,     /* sums of energies, so that few warps meet in one */
  TG_MD_ENERGY_TERMS = 9,     /* LJ, Coulomb, virial xx yy zz xy xz yz, pairs */
  TG_MD_QUEUE = 512,          /* clusters that a warp of the search looks at, of 32 columns */
  TG_MD_MOST_SLOTS = 1 << 24, /* an entry of the list has 24 bits for one */
  TG_MD_PARTNERS = 256,       /* excluded partners of the atoms of one cluster */
  TG_MD_SHEET_SHIFT = 28,     /* rank: sheet << 28 | rank */
  TG_MD_SUM_TERMS = 192       /* numbers that a reduction adds up over cards, at most */
};

/** In tg_md_view.count of the pruned list: the row has halo atoms. */
#define TG_MD_ROW_WAITS 0x80000000U

/** In place of a slot: the domain does not have the atom. */
#define TG_MD_NO_SLOT 0xFFFFFFFFU

/** Fixed point: units in a kJ mol^-1 nm^-1 of force, in a kJ/mol of energy or virial. Forces are 32
 * bits wide, so that they reach to 5e5 kJ mol^-1 nm^-1; what is in between may pass that, as long
 * as the sum does not. */
#define TG_MD_FORCE_UNITS 4096.0
#define TG_MD_ENERGY_UNITS 1048576.0

#define TG_MD_HAS_LJ 0x80000000U

/** What can go wrong in a kernel; bits of *trouble, which stay set. */
enum {
  TG_MD_LIST_FULL = 1,     /* a row is longer than its room */
  TG_MD_PARTNERS_FULL = 2, /* more than TG_MD_PARTNERS */
  TG_MD_CLUSTER_WIDE = 4,  /* a cluster and its neighbours span more than half the box */
  TG_MD_QUEUE_FULL = 8,
  TG_MD_DOMAIN_FULL = 16, /* more atoms near a domain than it has room for */
  TG_MD_BONDED_FAR = 32,  /* a bonded partner is beyond the list radius */
  TG_MD_PEER_LOST = 64    /* waiting for another card was given up */
};
/** More room (tg_device_md_params.row_room) helps against these. */
#define TG_MD_WANTS_ROOM (TG_MD_LIST_FULL | TG_MD_DOMAIN_FULL)

typedef struct tg_md_totals {
  uint32_t clusters, home_clusters; /* home clusters come first */
  /* of many domains: where home atoms are, relative to the brick's middle; low > high: none */
  int32_t low[3], high[3];
  uint32_t origin; /* of a box cut in z: heights are z - origin, opposite the brick; else 0 */
  /* that have got their place in `order` so far: with halo atoms << 32 | without; then 0 */
  unsigned long long rows;
} tg_md_totals;

/** What is the same for all domains. In a kernel these are operands, not loads. */
typedef struct tg_md_constants {
  float nm[3];       /* a unit of position */
  float half_box[3]; /* nm */
  float list_radius, inner_radius;
  float cutoff2, rf_2k, rf_k, rf_c, edge6;
  float coulomb_scale; /* in units of force */
  uint32_t type_count;
  const float2* lj; /* [type_count^2]: 6 C6, 12 C12, in units of force */
} tg_md_constants;

/** One domain. Arrays by atom have atom_count elements; by slot, 8 a cluster. Bins, slabs and
 * columns lie in *sheets*: home atoms; halo atoms; of a box cut in z, these below and above the
 * brick's middle apart. */
typedef struct tg_md_view {
  uint32_t atom_count, cluster_capacity;
  uint32_t row_capacity; /* home clusters */
  uint32_t domain;       /* its number among all */
  uint32_t sheets;
  uint32_t columns[2];  /* column (cx, cy) is number cx * columns[1] + cy */
  uint32_t slabs;       /* of a column in z, which no cluster crosses unless it is dense */
  uint32_t dense;       /* atoms of a column at home from which on it is */
  uint32_t bins;        /* of a slab in z, for sorting */
  uint32_t range[2];    /* columns that a list radius spans */
  uint32_t row_room[2]; /* entries of a row: search, pruning; multiples of 32 */
  /* by atom */
  uint4* atom_x;       /* x, y, z; w: charge, a float */
  uint32_t* atom_type; /* | TG_MD_HAS_LJ where it has LJ with any type */
  uint32_t* slot_of_atom;
  const uint32_t* exclusion_start;
  const uint32_t* exclusion;
  /* by atom, of many domains */
  const uint32_t* first_of_group; /* whose domain is the atom's; NULL: its own */
  uint8_t* owner;                 /* domain */
  uint32_t* send_mask;            /* of home atoms: bit d: domain d has a copy */
  uint32_t* send_slot;            /* [domains][atom_count] where */
  /* sorting: atoms in bins, in order of bins; [atom_count] each */
  uint32_t* rank;         /* of an atom among those of its bin, in any order */
  uint64_t* key;          /* height << 32 | atom */
  uint32_t* sorted;       /* atoms, by slab and height */
  uint32_t* bin_count;    /* [sheets * columns * slabs * bins]; 0 between searches */
  uint32_t* bin_atom;     /* [sheets * columns * slabs * bins + 1] first in key and sorted */
  uint32_t* slab_cluster; /* [sheets * columns * slabs + 1] first cluster */
  /* by slot */
  uint4* x;           /* as atom_x */
  uint4* x_next;      /* where the update puts it: with several cards another array, in turns */
  uint32_t* row;      /* bytes before the type's row in the table of LJ parameters */
  int32_t* atom;      /* -1: a filler */
  uint64_t* force_xy; /* units: y << 32 plus x, so that y's half lacks 1 where x is negative */
  int32_t* force_z;
  /* by cluster */
  uint32_t* bottom; /* lowest height of its atoms; ascending in a column */
  uint4* centre; /* of the box around its atoms; w: atoms | atoms with LJ << 8, which come first */
  float4* half;  /* nm, half the box's edges; w: the column, as an integer's bits */
  uint32_t* list[2]; /* [cluster_capacity][row_room] */
  uint32_t* count[2];
  uint32_t* order; /* rows as the forces take them, from one search to the next */
  /* of a card; of many domains virials and energies as they are, pairs in halves */
  int64_t* energy; /* [TG_MD_ENERGY_ROWS][TG_MD_ENERGY_TERMS] */
  uint32_t* trouble;
  tg_md_totals* totals;
} tg_md_view;

/** How the box is cut; domain (a, b, c) is number (a * grid[1] + b) * grid[2] + c. */
typedef struct tg_md_grid {
  uint32_t count[3];
  uint32_t domains, first; /* of all cards; first of this card */
  const uint32_t* plane;   /* [3][TG_MD_MOST_DOMAINS] where each brick begins, ascending from 0 */
  uint4* x[TG_MD_MOST_DOMAINS]; /* x_next of each, as this card reaches it */
} tg_md_grid;

/** How planes move (balance.cu); but for `mail` the same on every card. */
typedef struct tg_md_balance {
  unsigned long long mail[TG_MD_MOST_CARDS][1 + TG_MD_DOMAINS]; /* of each: timed steps, times */
  tg_device_planes kept; /* of the last search before which nothing had gone wrong */
  unsigned long long looks, moves;
  uint64_t first[TG_MD_MOST_DOMAINS], last[TG_MD_MOST_DOMAINS]; /* times of domains */
} tg_md_balance;

/** Of layers between planes, as kernels are given it. */
typedef struct tg_md_thickness {
  uint32_t units[3];
} tg_md_thickness;

/** Of a card, in its window: the numbers of its latest exchanges, which are the same on all cards,
 * and mail. */
typedef struct tg_md_exchange {
  uint64_t number[TG_MD_FLAG_KINDS];
  unsigned long long trouble[TG_MD_MOST_CARDS][3];    /* of each: *trouble, fast atom, bad group */
  int64_t sums[2][TG_MD_MOST_CARDS][TG_MD_SUM_TERMS]; /* of each, in turns */
  uint32_t blocks_done;                               /* of an update under way */
  tg_md_timing timing;
  tg_md_balance balance;
} tg_md_exchange;

/** A kernel's parameter. */
typedef struct tg_md_views {
  tg_md_constants all;
  tg_md_grid grid;
  tg_md_peers_view peers;
  tg_md_exchange* exchange; /* own */
  uint32_t place;           /* of a timed step among the stretch's */
  tg_md_view item[TG_MD_DOMAINS];
} tg_md_views;

/** What steps (step.cuh) have in the windows, so that other cards reach it; by atom. */
typedef struct tg_md_step_arrays {
  float4* v; /* nm/ps; w: inverse mass */
  uint4* frame_x;
  float4* frame_v;
  int* frame_f; /* [atom_count][3] units */
} tg_md_step_arrays;

/** How positions are exchanged (stages.cuh). */
enum { TG_MD_DIRECT, TG_MD_HOST, TG_MD_STREAM, TG_MD_PULSE, TG_MD_FUSED };

/** A kernel's parameter, of exchanges other than `direct`. */
typedef struct tg_md_stages {
  tg_stages_messages* messages;
  uint32_t* blocks_done;        /* [TG_STAGES] of an exchange under way */
  uint32_t room;                /* entries, and words of mail, of a domain */
  uint32_t stamped;             /* leaves a stamp */
  uint4* x[TG_MD_MOST_DOMAINS]; /* where each has positions by slot, as this card reaches it */
  /* of the card's own domains; in its window */
  tg_stages_entry* entry[TG_MD_DOMAINS]; /* [room] */
  uint4* sent[TG_MD_DOMAINS]; /* host and stream: [room] messages to others, as entries */
  uint4* mail[TG_MD_DOMAINS]; /* [room] messages from others */
} tg_md_stages;

/** One card; a handle is the first of this process, and the others follow. */
struct tg_device_md {
  int device, domain_count; /* its own domains */
  int card, card_count;     /* its number among all */
  cudaStream_t stream;      /* the cards' */
  void* memory;             /* its window, for all arrays */
  tg_md_step_arrays steps;
  int schedule;            /* TG_MD_DIRECT and the like */
  tg_md_stages stages;     /* of the others; x: see tg_md_stages_now */
  unsigned fused_blocks;   /* of a domain */
  bool stamped;            /* what is queued next is of a timed step, number views.place */
  uint4* x[TG_MD_DOMAINS]; /* of each domain, for even turns; those for odd ones follow */
  int turn;                /* of the arrays x of several cards */
  tg_md_views views;
  double box[3];
  bool balanced;           /* planes move */
  tg_device_planes planes; /* where they are at first */
  tg_md_peers* peers;      /* one for all cards */
  tg_device_md* next;      /* NULL: the last */
};

/** What follows is for a card by itself. */
static inline tg_status tg_md_select(const tg_device_md* md) {
  return tg_cuda_status(cudaSetDevice(md->device), md->device, "selecting it");
}

/** How the box is cut, and the room that follows from it. */
tg_status tg_md_choose_shapes(tg_device_md* md, const tg_device_md_params* params);

/** Where the views have positions by slot, and where the next step puts them. With several cards
 * these are two arrays in turns: all have sent each other positions before any of them goes on, so
 * who writes into the one knows that the other has been read. */
void tg_md_take_turn(tg_device_md* md, int turn);

/** Of the box cut into domains. */
static inline bool tg_md_is_many(const tg_device_md* md) { return md->views.grid.domains > 1; }

/** Owners of atoms, and how far those at home reach. Queued by tg_md_queue_sort. */
tg_status tg_md_queue_owners(tg_device_md* md);

/** All forces, all energies become 0. Queued. */
tg_status tg_md_clear_forces(const tg_device_md* md);
tg_status tg_md_clear_energies(const tg_device_md* md);

/** Stages, queued on md->stream. */
tg_status tg_md_queue_sort(tg_device_md* md);
tg_status tg_md_queue_list(tg_device_md* md);
/** early: launch.cuh; the search was before the kernel ahead. */
tg_status tg_md_queue_prune(tg_device_md* md, bool early);
/** After a search's first pruning: the order in which the forces take rows until the next. */
tg_status tg_md_queue_order(tg_device_md* md);
tg_status tg_md_queue_forces(tg_device_md* md, bool want_energy);
/** A mark of a stretch with timed steps, and what adds them all up at its end (times.cuh). */
tg_status tg_md_queue_mark(const tg_device_md* md, int which);
tg_status tg_md_queue_end_times(const tg_device_md* md);
/** Around the meeting of a search where planes move: times to other cards; new planes. */
tg_status tg_md_queue_tell_times(const tg_device_md* md);
tg_status tg_md_queue_move_planes(const tg_device_md* md);
/** Positions by atom into their slots. */
tg_status tg_md_queue_place(tg_device_md* md);
/** Whether the forces' kernels can have the shared memory that type_count asks for. */
tg_status tg_md_prepare_forces(tg_device_md* md);

static inline unsigned tg_md_blocks(size_t items, size_t of_each) {
  return (unsigned)((items + of_each - 1) / of_each);
}

static inline tg_status tg_md_queued(const tg_device_md* md, const char* what) {
  return tg_cuda_status(cudaGetLastError(), md->device, what);
}

#ifdef __CUDACC__
/** One thread of a kernel's version with stamps: the latest of all is kept. */
static __device__ __forceinline__ void tg_md_stamp(const tg_md_views& views, int which) {
  const unsigned long long now = tg_md_clock_ns();
  atomicMax(&views.exchange->timing.stamp[views.place][blockIdx.x % TG_MD_STAMP_ROWS][which],
            tg_times_begins(which) ? ~now : now);
}

/** A warp that has heard from all other cards; since: when it began to look; had_come: it did not
 * wait. */
static __device__ __forceinline__ void tg_md_stamp_wait(const tg_md_views& views, uint64_t since,
                                                        bool had_come) {
  unsigned long long* row =
      views.exchange->timing.stamp[views.place][blockIdx.x % TG_MD_STAMP_ROWS];
  const unsigned long long now = tg_md_clock_ns();
  atomicMax(&row[TG_STAMP_WAIT], now - since);
  if (!had_come) atomicMax(&row[TG_STAMP_HEARD], now);
}

/** A warp's lane that has done its part of domain blockIdx.z since it had all positions: the stamp,
 * and the time. */
static __device__ __forceinline__ void tg_md_worked(const tg_md_views& views, int which, int work,
                                                    uint64_t since) {
  atomicAdd(&views.exchange->timing.spent[blockIdx.x % TG_MD_STAMP_ROWS][blockIdx.z][work],
            (unsigned long long)(tg_md_clock_ns() - since));
  tg_md_stamp(views, which);
}

/** Adds to a slot's force, units; the carry out of x into y is undone by who reads them. Spelled
 * out, as atomicAdd's result is fetched, though nobody wants it, in kernels that acquire flags. */
static __device__ __forceinline__ void tg_md_add_force(const tg_md_view& v, uint32_t slot, int x,
                                                       int y, int z) {
  const int64_t xy = (int64_t)((uint64_t)(uint32_t)y << 32) + x;
  asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" : : "l"(v.force_xy + slot), "l"(xy));
  asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" : : "l"(v.force_z + slot), "r"(z));
}

/** a - b along one dimension, nm, nearest image. */
static __device__ __forceinline__ float tg_md_apart(uint32_t a, uint32_t b, float nm) {
  return (float)(int32_t)(a - b) * nm;
}
#endif

#endif
