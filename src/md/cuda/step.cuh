/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/step.cuh  What the kernels of a step share besides state.cuh. */
#ifndef TG_MD_CUDA_STEP_CUH
#define TG_MD_CUDA_STEP_CUH

#include "md/cuda/state.cuh"
#include "md/device_step.h"

enum {
  TG_STEP_THREADS = 64, /* of the update's blocks: small ones spread evenly */
  TG_STEP_ROWS = 64,    /* of each table of sums */
  TG_STEP_BONDED_TERMS = TG_DEVICE_TERMS + 6,
  TG_STEP_MOVE_TERMS = 7,    /* virial of constraints, squares of their deviations */
  TG_STEP_KINETIC_TERMS = 9, /* m v: x y z, m v v / 2: xx yy zz xy xz yz */
  TG_STEP_RECORDS = 4096,    /* that the host has room for: two stretches of energies */
  TG_STEP_NOISE = 4096       /* couplings ahead for which the host has drawn random numbers */
};

/** Fixed point: units of kinetic energy and momentum, of a squared relative deviation. */
#define TG_STEP_KINETIC_UNITS 16777216.0
#define TG_STEP_DEVIATION_UNITS 0x1p60
/** Largest addend of the latter, in units: a deviation of 0.2 %. */
#define TG_STEP_DEVIATION_MOST 0x1p42

/** What a step that scales velocities does to those of a bin: v' = lambda (v - u). */
typedef struct tg_step_scale {
  double lambda, u[3];
} tg_step_scale;

/** In device memory, written by the kernels. */
typedef struct tg_step_state {
  long long base;               /* first step of the stretch */
  double kinetic_old[6];        /* of v(t - dt/2), after scaling */
  double given[TG_MAX_GROUPS];  /* heat, with what the prepared step gives */
  double before[TG_MAX_GROUPS]; /* without it */
  double kept_given[TG_MAX_GROUPS];
  long long prepared_step, kept_step;
  unsigned long long record_count, stretch_count;
  unsigned long long fast_atom, bad_group; /* ~0: none */
} tg_step_state;

/** In memory of the host that the GPU writes. */
typedef struct tg_step_report {
  unsigned long long record_count, fast_atom, bad_group;
  unsigned lists;
} tg_step_report;

/** What the thermostat needs; in device memory. */
typedef struct tg_step_thermostat {
  int kind, temperature_count, comm_count, bin_count;
  double period;
  double tau_t[TG_MAX_GROUPS], ref_t[TG_MAX_GROUPS], degrees_of_freedom[TG_MAX_GROUPS];
  int bin_temperature[TG_DEVICE_BINS], bin_comm[TG_DEVICE_BINS];
  double bin_mass[TG_DEVICE_BINS];
} tg_step_thermostat;

typedef struct tg_step_groups {
  uint32_t count;
  const int* atom;
  const int* table;
} tg_step_groups;

/** A kernel's parameter, with tg_md_view. */
typedef struct tg_step_view {
  double nm[3], units[3]; /* a unit of position; units in a nm */
  double dt, inverse_dt, speed_limit2;
  double cutoff2, rf_k, rf_c, coulomb_scale, pair_scale;
  int lincs_order, lincs_iterations;
  uint32_t bin_count, couple_period;
  float4* v; /* by atom: nm/ps; w: inverse mass */
  const unsigned char* bin;
  tg_step_scale* scale;
  /* groups: an update's blocks have waters, then groups by width, then single atoms */
  uint32_t first_block[TG_DEVICE_WIDTHS + 3];
  uint32_t water_count, single_count;
  const int4* water;
  const tg_settle* settle;
  const int* single;
  tg_step_groups groups[TG_DEVICE_WIDTHS];
  const tg_device_lane* lanes;
  /* bonded */
  uint32_t kind_start[TG_DEVICE_KINDS + 1];
  const int4* item;
  const int* item_parameters;
  const double (*parameters)[TG_DEVICE_PARAMETERS];
  const double (*reference)[3];
  /* sums: [TG_STEP_ROWS] rows each */
  int64_t *bonded_sum, *move_sum, *kinetic_sum; /* kinetic: [rows][bins][terms] */
  uint32_t pair_halves;                         /* in a pair: 2 with many domains, else 1 */
  tg_step_state* state;
  const tg_step_thermostat* thermostat;
  /* copies of the state: of the last search, of the last frame */
  uint4 *kept_x, *frame_x;
  float4 *kept_v, *frame_v;
  int* frame_f; /* [atom_count][3] units */
  /* host memory */
  tg_device_record* record; /* [TG_STEP_RECORDS] */
  tg_step_report* report;   /* [TG_DEVICE_IN_FLIGHT] */
  const double* noise;      /* [TG_STEP_NOISE][TG_MAX_GROUPS][2] */
} tg_step_view;

/** Of one domain, in device memory: what of each list is its own. */
typedef struct tg_step_home_counts {
  uint32_t group[TG_DEVICE_WIDTHS + 2]; /* waters; groups by width; single atoms */
  uint32_t kind[TG_DEVICE_KINDS];
  uint32_t kind_start[TG_DEVICE_KINDS + 1]; /* in whole warps */
} tg_step_home_counts;

/** The groups that a domain owns, and the interactions with an atom of its own; in any order. */
typedef struct tg_step_home {
  int4* water;
  int* atom[TG_DEVICE_WIDTHS];
  int* table[TG_DEVICE_WIDTHS];
  int* single;
  int* item; /* numbers in tg_step_view.item; a kind's begin where that list has them */
  tg_step_home_counts* count;
} tg_step_home;

/** A kernel's parameter where there are many domains. */
typedef struct tg_step_homes {
  /* as in tg_step_view, of the largest domain that there is room for */
  uint32_t first_block[TG_DEVICE_WIDTHS + 3];
  uint32_t item_room[2]; /* without and with excluded pairs in rigid waters */
  tg_step_home item[TG_MD_DOMAINS];
} tg_step_homes;

/** What a reduction does. */
enum {
  TG_REDUCE_RECORD = 1,  /* of the step that has just moved */
  TG_REDUCE_PREPARE = 2, /* for the step to come: its velocities' sums, and with these */
  TG_REDUCE_COUPLE = 4,
  TG_REDUCE_COMM = 8
};

/** Where the forces begin early (launch.cuh), and which kernel is ahead then. */
enum { TG_STEP_ALONE, TG_STEP_BEHIND_UPDATE, TG_STEP_BEHIND_PRUNING };

/** Queue one kernel each, on md->stream where none is given. early: launch.cuh. */
/** Pair forces and bonded forces; full: with those that constraints undo. homes: NULL: none. */
tg_status tg_step_queue_forces(const tg_device_md* md, const tg_step_view* s,
                               const tg_step_homes* homes, int launch, bool energy, bool full);
/** With several cards the next step's views have their positions elsewhere. */
tg_status tg_step_queue_update(tg_device_md* md, const tg_step_view* s, const tg_step_homes* homes,
                               bool early, bool scale, bool sums, bool energy);
/** After a search, of many domains: which groups and interactions are whose. */
tg_status tg_step_queue_homes(const tg_device_md* md, const tg_step_view* s,
                              const tg_step_homes* homes);
/** Sums over the present velocities, as an update with sums leaves them. */
tg_status tg_step_queue_sums(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream);
/** offset: of the step to come (with PREPARE) within the stretch. */
tg_status tg_step_queue_reduce(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream,
                               int flags, int offset);
tg_status tg_step_queue_keep(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream);
/** Where there are several cards: x and v of all atoms to all cards, before a search. */
tg_status tg_step_queue_share(const tg_device_md* md, const tg_step_view* s);
/** Where there are several cards: all have come to here (TG_MD_FLAG_SEARCH, PLAN or FRAME). */
tg_status tg_step_queue_meeting(const tg_device_md* md, const tg_step_view* s, int kind);
/** As tg_step_queue_frame with several cards: a frame at card 0. */
tg_status tg_step_queue_frame_share(const tg_device_md* md, const tg_step_view* s);
tg_status tg_step_queue_frame(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream);
/** The end of a stretch of `count` steps. */
tg_status tg_step_queue_end(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream,
                            int count);

#ifdef __CUDACC__
/** The parameter of a kernel that has a version for one domain, and one for many. */
template <bool MANY>
struct tg_step_homes_choice {
  typedef tg_step_homes type;
};
template <>
struct tg_step_homes_choice<false> {
  typedef struct {
    uint32_t none;
  } type;
};
template <bool MANY>
using tg_step_homes_of = typename tg_step_homes_choice<MANY>::type;

/** Adds a warp's sum of fixed-point numbers, the same in any order. */
static __device__ __forceinline__ void tg_step_add_warp(int64_t* to, long long value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
  if (threadIdx.x % 32 == 0 && value != 0)
    atomicAdd((unsigned long long*)to, (unsigned long long)value);
}

static __device__ __forceinline__ void tg_step_add_force(const tg_md_view& v, uint32_t slot,
                                                         const double (&f)[3]) {
  tg_md_add_force(v, slot, __double2int_rn(f[0] * TG_MD_FORCE_UNITS),
                  __double2int_rn(f[1] * TG_MD_FORCE_UNITS),
                  __double2int_rn(f[2] * TG_MD_FORCE_UNITS));
}

/** The sum in a slot, in units. */
static __device__ __forceinline__ void tg_step_read_force(const tg_md_view& v, uint32_t slot,
                                                          int (&units)[3]) {
  const uint64_t xy = v.force_xy[slot];
  units[0] = (int)(uint32_t)xy;
  units[1] = (int)((xy - (uint64_t)(int64_t)units[0]) >> 32);
  units[2] = v.force_z[slot];
}

/** a - b, nm, nearest image; exact. */
static __device__ __forceinline__ void tg_step_apart(const tg_step_view& s, const uint4& a,
                                                     const uint4& b, double (&d)[3]) {
  d[0] = (double)(int32_t)(a.x - b.x) * s.nm[0];
  d[1] = (double)(int32_t)(a.y - b.y) * s.nm[1];
  d[2] = (double)(int32_t)(a.z - b.z) * s.nm[2];
}

static __device__ __forceinline__ double tg_step_dot(const double (&a)[3], const double (&b)[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static __device__ __forceinline__ void tg_step_cross(const double (&a)[3], const double (&b)[3],
                                                     double (&out)[3]) {
  out[0] = a[1] * b[2] - a[2] * b[1];
  out[1] = a[2] * b[0] - a[0] * b[2];
  out[2] = a[0] * b[1] - a[1] * b[0];
}
#endif

#endif
