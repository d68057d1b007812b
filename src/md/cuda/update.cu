/* SPDX-License-Identifier: Apache-2.0 */
/* The leap-frog step with its constraints, in one kernel and without any sum over the whole system:
 *
 *   v(t + dt/2) = lambda (v(t - dt/2) - u) + dt F/m, constrained; x(t + dt) = x + dt v(t + dt/2)
 *
 * A rigid water is a thread, a LINCS group some lanes of a warp, any other atom a thread. They read
 * and clear the forces in the atoms' slots and write positions by atom and by slot. A displacement
 * is rounded to units of 2^-32 of the box and added exactly; nothing of a position is lost.
 *
 * Cost: 100 bytes an atom of memory; at some 50,000 atoms the latency of two dependent loads and of
 * the constraints' chain of operations. */
#include "md/cuda/constrain.cuh"
#include "md/cuda/launch.cuh"
#include "md/cuda/stages.cuh"

enum { THREADS = TG_STEP_THREADS };

/* Where a new position goes besides the atom's: there is one domain; into all slots of many, here
 * and on other cards; into its own slot, from which an exchange takes it (stages.cuh). */
enum { ALONE, PUSHES, STAYS };

typedef struct mover {
  uint32_t atom, slot;
  uint4 x;
  float inverse_mass;
  double v[3];
  uint32_t copies; /* bit d: domain d has one */
} mover;

/* What a domain moves, wherever that is written. */
typedef struct share {
  const tg_md_grid* grid; /* of many domains */
  uint32_t water_count, single_count;
  const int4* water;
  const int* single;
  tg_step_groups groups[TG_DEVICE_WIDTHS];
} share;

/* What a thread adds to the sums of a step. */
typedef struct moved {
  double virial[6], squares;
} moved;

/* Reads what an atom has from its last update, two kernels back: launch.cuh. */
template <int REACH>
static __device__ __forceinline__ void load(const tg_md_view& v, const tg_step_view& s,
                                            uint32_t atom, mover& m) {
  m.atom = atom;
  m.slot = __ldcg(&v.slot_of_atom[atom]);
  m.x = __ldcg(&v.atom_x[atom]);
  const float4 old = __ldcg(&s.v[atom]);
  m.inverse_mass = old.w;
  m.v[0] = old.x;
  m.v[1] = old.y;
  m.v[2] = old.z;
  if (REACH == PUSHES) m.copies = __ldcg(&v.send_mask[atom]);
}

/* Scales the velocity, and adds the force's share. Nothing is stored yet, so that the loads of a
 * thread's atoms overlap. */
template <bool SCALE>
static __device__ __forceinline__ void kick(const tg_md_view& v, const tg_step_view& s, mover& m) {
  const double factor = s.dt * (double)m.inverse_mass / TG_MD_FORCE_UNITS;
  int force[3];
  tg_step_read_force(v, m.slot, force);
  if (SCALE) {
    const tg_step_scale& scale = s.scale[s.bin[m.atom]];
#pragma unroll
    for (int d = 0; d < 3; d++) m.v[d] = scale.lambda * (m.v[d] - scale.u[d]);
  }
#pragma unroll
  for (int d = 0; d < 3; d++) m.v[d] += factor * force[d];
}

/* Stores the atom where other domains have it. */
static __device__ __forceinline__ void push(const tg_md_grid& g, const tg_md_view& v,
                                            const mover& m) {
  for (uint32_t left = m.copies; left != 0; left &= left - 1) {
    const uint32_t domain = (uint32_t)__ffs((int)left) - 1;
    const uint32_t slot = __ldcg(&v.send_slot[(size_t)domain * v.atom_count + m.atom]);
    g.x[domain][slot] = m.x;
  }
}

/* Moves the atom by dt times its velocity, and clears its force. */
template <int REACH>
static __device__ __forceinline__ void store(const tg_md_view& v, const tg_step_view& s,
                                             const share& h, mover& m) {
  const double speed2 = m.v[0] * m.v[0] + m.v[1] * m.v[1] + m.v[2] * m.v[2];
  if (!(speed2 <= s.speed_limit2)) /* true for NaN as well */
    atomicMin(&s.state->fast_atom, (unsigned long long)m.atom);
  m.x.x += (uint32_t)__double2int_rn(s.dt * m.v[0] * s.units[0]);
  m.x.y += (uint32_t)__double2int_rn(s.dt * m.v[1] * s.units[1]);
  m.x.z += (uint32_t)__double2int_rn(s.dt * m.v[2] * s.units[2]);
  v.force_xy[m.slot] = 0;
  v.force_z[m.slot] = 0;
  v.atom_x[m.atom] = m.x;
  (REACH != ALONE ? v.x_next : v.x)[m.slot] = m.x;
  s.v[m.atom] = make_float4((float)m.v[0], (float)m.v[1], (float)m.v[2], m.inverse_mass);
  if (REACH == PUSHES) push(*h.grid, v, m);
}

static __device__ __forceinline__ void add_deviation(const tg_step_view& s, const uint4& a,
                                                     const uint4& b, double length, moved& e) {
  double d[3];
  tg_step_apart(s, a, b, d);
  const double deviation = sqrt(tg_step_dot(d, d)) / length - 1;
  e.squares += deviation * deviation;
}

/* Adds 1/2 m v v and m v to the block's sums. Every thread of the warp calls; velocities are
 * rounded as they are stored. */
static __device__ __forceinline__ void add_kinetic(const tg_step_view& s, const mover& m, bool real,
                                                   long long* sum) {
  long long term[TG_STEP_KINETIC_TERMS] = {};
  int bin = 0;
  if (real) {
    bin = s.bin[m.atom];
    const double mass = 1 / (double)m.inverse_mass;
    const double x = (float)m.v[0], y = (float)m.v[1], z = (float)m.v[2];
    const double value[TG_STEP_KINETIC_TERMS] = {
        x, y, z, 0.5 * x * x, 0.5 * y * y, 0.5 * z * z, 0.5 * x * y, 0.5 * x * z, 0.5 * y * z};
#pragma unroll
    for (int i = 0; i < TG_STEP_KINETIC_TERMS; i++)
      term[i] = __double2ll_rn(mass * value[i] * TG_STEP_KINETIC_UNITS);
  }
  unsigned left = __ballot_sync(~0U, real);
  while (left != 0) {
    const int leader = __shfl_sync(~0U, bin, __ffs((int)left) - 1);
    const bool mine = real && bin == leader;
    left &= ~__ballot_sync(~0U, mine);
#pragma unroll
    for (int i = 0; i < TG_STEP_KINETIC_TERMS; i++) {
      long long value = mine ? term[i] : 0;
      for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0U, value, step);
      if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long*)sum + leader * TG_STEP_KINETIC_TERMS + i,
                  (unsigned long long)value);
    }
  }
}

template <int REACH, bool SCALE, bool SUMS, bool ENERGY>
static __device__ __forceinline__ void move_water(const tg_md_view& v, const tg_step_view& s,
                                                  const share& h, uint32_t i, long long* sum,
                                                  moved& e) {
  const bool real = i < h.water_count;
  mover m[3];
  if (real) {
    const int4 water = h.water[i];
    const tg_settle w = s.settle[water.w];
    load<REACH>(v, s, (uint32_t)water.x, m[0]);
    load<REACH>(v, s, (uint32_t)water.y, m[1]);
    load<REACH>(v, s, (uint32_t)water.z, m[2]);
    tg_launch_wait();
    kick<SCALE>(v, s, m[0]);
    kick<SCALE>(v, s, m[1]);
    kick<SCALE>(v, s, m[2]);
    double b[3], c[3], p[3], q[3], d[3][3];
    tg_step_apart(s, m[1].x, m[0].x, b);
    tg_step_apart(s, m[2].x, m[0].x, c);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      p[k] = b[k] + s.dt * (m[1].v[k] - m[0].v[k]);
      q[k] = c[k] + s.dt * (m[2].v[k] - m[0].v[k]);
    }
    if (!tg_step_settle(w, b, c, p, q, d))
      atomicMin(&s.state->bad_group, (unsigned long long)m[0].atom);
#pragma unroll
    for (int a = 0; a < 3; a++) {
#pragma unroll
      for (int k = 0; k < 3; k++) m[a].v[k] += d[a][k] * s.inverse_dt;
      store<REACH>(v, s, h, m[a]);
    }
    if (ENERGY) {
      const double factor = -0.5 * s.inverse_dt * s.inverse_dt / w.inverse_mass[1];
      e.virial[0] += factor * (b[0] * d[1][0] + c[0] * d[2][0]);
      e.virial[1] += factor * (b[1] * d[1][1] + c[1] * d[2][1]);
      e.virial[2] += factor * (b[2] * d[1][2] + c[2] * d[2][2]);
      e.virial[3] += factor * (b[0] * d[1][1] + c[0] * d[2][1]);
      e.virial[4] += factor * (b[0] * d[1][2] + c[0] * d[2][2]);
      e.virial[5] += factor * (b[1] * d[1][2] + c[1] * d[2][2]);
      add_deviation(s, m[0].x, m[1].x, w.distance[0], e);
      add_deviation(s, m[0].x, m[2].x, w.distance[0], e);
      add_deviation(s, m[1].x, m[2].x, w.distance[1], e);
    }
  }
  if (SUMS)
    for (int a = 0; a < 3; a++) add_kinetic(s, m[a], real, sum);
}

static __device__ __forceinline__ uint4 shuffle(const uint4& x, int from, int width) {
  return make_uint4(__shfl_sync(~0U, x.x, from, width), __shfl_sync(~0U, x.y, from, width),
                    __shfl_sync(~0U, x.z, from, width), 0);
}

template <int W, int REACH, bool SCALE, bool SUMS, bool ENERGY>
static __device__ __forceinline__ void move_group(const tg_md_view& v, const tg_step_view& s,
                                                  const share& h, const tg_step_groups& groups,
                                                  uint32_t i, long long* sum, moved& e) {
  const uint32_t group = i / W;
  const bool used = group < groups.count;
  const int atom = used ? groups.atom[i] : -1;
  tg_device_lane lane = {};
  if (used) lane = s.lanes[groups.table[group] + (int)(i % W)];
  mover m = {};
  if (atom >= 0) load<REACH>(v, s, (uint32_t)atom, m);
  tg_launch_wait();
  if (atom >= 0) kick<SCALE>(v, s, m);
  double old[3], free[3], to[3];
  tg_step_apart(s, m.x, shuffle(m.x, 0, W), old);
#pragma unroll
  for (int d = 0; d < 3; d++) to[d] = free[d] = old[d] + s.dt * m.v[d];
  tg_step_bond bond;
  tg_step_lincs<W>(lane, s.lincs_order, s.lincs_iterations, old, to, bond);
  const bool bonded = lane.scale > 0;
  if (bonded && !(tg_step_dot(bond.u, bond.now) >= 0))
    atomicMin(&s.state->bad_group, (unsigned long long)groups.atom[i - i % W]);
  if (atom >= 0) {
#pragma unroll
    for (int d = 0; d < 3; d++) m.v[d] += (to[d] - free[d]) * s.inverse_dt;
    store<REACH>(v, s, h, m);
  }
  if (ENERGY) {
    const double factor =
        0.5 * s.inverse_dt * s.inverse_dt * bond.sum * lane.scale * bond.old_length;
    e.virial[0] += factor * bond.u[0] * bond.u[0];
    e.virial[1] += factor * bond.u[1] * bond.u[1];
    e.virial[2] += factor * bond.u[2] * bond.u[2];
    e.virial[3] += factor * bond.u[0] * bond.u[1];
    e.virial[4] += factor * bond.u[0] * bond.u[2];
    e.virial[5] += factor * bond.u[1] * bond.u[2];
    const uint4 a = shuffle(m.x, lane.a, W), b = shuffle(m.x, lane.b, W);
    if (bonded) add_deviation(s, a, b, lane.length, e);
  }
  if (SUMS) add_kinetic(s, m, atom >= 0, sum);
}

template <int REACH, bool SCALE, bool SUMS>
static __device__ __forceinline__ void move_single(const tg_md_view& v, const tg_step_view& s,
                                                   const share& h, uint32_t i, long long* sum) {
  const bool real = i < h.single_count;
  mover m;
  if (real) {
    load<REACH>(v, s, (uint32_t)h.single[i], m);
    tg_launch_wait();
    kick<SCALE>(v, s, m);
    store<REACH>(v, s, h, m);
  }
  if (SUMS) add_kinetic(s, m, real, sum);
}

static __device__ __forceinline__ void add_moved(const tg_step_view& s, const moved& e) {
  int64_t* to = s.move_sum + blockIdx.x % TG_STEP_ROWS * TG_STEP_MOVE_TERMS;
  for (int i = 0; i < 6; i++)
    tg_step_add_warp(to + i, __double2ll_rn(e.virial[i] * TG_MD_ENERGY_UNITS));
  tg_step_add_warp(
      to + 6, __double2ll_rn(fmin(e.squares * TG_STEP_DEVIATION_UNITS, TG_STEP_DEVIATION_MOST)));
}

/* The block's sums into one of the rows. */
static __device__ __forceinline__ void add_block(const tg_step_view& s, const long long* sum) {
  __syncthreads();
  const uint32_t terms = s.bin_count * TG_STEP_KINETIC_TERMS;
  int64_t* to = s.kinetic_sum + blockIdx.x % TG_STEP_ROWS * terms;
  for (uint32_t i = threadIdx.x; i < terms; i += THREADS)
    if (sum[i] != 0) atomicAdd((unsigned long long*)to + i, (unsigned long long)sum[i]);
}

static __device__ __forceinline__ void clear_block(const tg_step_view& s, long long* sum) {
  for (uint32_t i = threadIdx.x; i < s.bin_count * TG_STEP_KINETIC_TERMS; i += THREADS) sum[i] = 0;
  __syncthreads();
}

static __device__ __forceinline__ share share_of_one(const tg_step_view& s) {
  share h = {nullptr, s.water_count, s.single_count, s.water, s.single, {}};
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++) h.groups[i] = s.groups[i];
  return h;
}

/* Lists are made at a search, before the kernel ahead began. */
static __device__ __forceinline__ share share_of_home(const tg_md_grid& grid,
                                                      const tg_step_home& home) {
  const uint32_t* count = home.count->group;
  share h = {&grid,      __ldcg(count), __ldcg(count + TG_DEVICE_WIDTHS + 1),
             home.water, home.single,   {}};
  for (int i = 0; i < TG_DEVICE_WIDTHS; i++)
    h.groups[i] = {__ldcg(count + 1 + i), home.atom[i], home.table[i]};
  return h;
}

template <int REACH, bool SCALE, bool SUMS, bool ENERGY>
static __device__ __forceinline__ void move(const tg_md_view& v, const tg_step_view& s,
                                            const share& h, const uint32_t* first) {
  __shared__ long long sum[TG_DEVICE_BINS * TG_STEP_KINETIC_TERMS];
  if (SUMS) clear_block(s, sum);
  moved e = {};
  const uint32_t block = blockIdx.x, i = block * THREADS + threadIdx.x;
  if (block < first[1])
    move_water<REACH, SCALE, SUMS, ENERGY>(v, s, h, i, sum, e);
  else if (block < first[2])
    move_group<4, REACH, SCALE, SUMS, ENERGY>(v, s, h, h.groups[0], i - first[1] * THREADS, sum, e);
  else if (block < first[3])
    move_group<8, REACH, SCALE, SUMS, ENERGY>(v, s, h, h.groups[1], i - first[2] * THREADS, sum, e);
  else if (block < first[4])
    move_group<16, REACH, SCALE, SUMS, ENERGY>(v, s, h, h.groups[2], i - first[3] * THREADS, sum,
                                               e);
  else if (block < first[5])
    move_group<32, REACH, SCALE, SUMS, ENERGY>(v, s, h, h.groups[3], i - first[4] * THREADS, sum,
                                               e);
  else
    move_single<REACH, SCALE, SUMS>(v, s, h, i - first[5] * THREADS, sum);
  if (ENERGY) add_moved(s, e);
  if (SUMS) add_block(s, sum);
}

/* From forces and velocities to new velocities and positions. Launch: blocks of waters, of groups
 * by width, of single atoms. */
template <bool SCALE, bool SUMS, bool ENERGY>
static __global__ void __launch_bounds__(THREADS)
    update(const __grid_constant__ tg_md_view v, const __grid_constant__ tg_step_view s) {
  tg_launch_next();
  move<ALONE, SCALE, SUMS, ENERGY>(v, s, share_of_one(s), s.first_block);
}

static __device__ __forceinline__ void stamp_block(const tg_md_views& views) {
  __syncthreads();
  if (threadIdx.x == 0) tg_md_stamp(views, TG_STAMP_UPDATE);
}

/* The same of a timed step. */
static __global__ void __launch_bounds__(THREADS)
    update_timed(const __grid_constant__ tg_md_views views,
                 const __grid_constant__ tg_step_view s) {
  tg_launch_next();
  move<ALONE, false, false, false>(views.item[0], s, share_of_one(s), s.first_block);
  stamp_block(views);
}

/* Blocks that are done, before this one. */
static __device__ __forceinline__ uint32_t count_up(uint32_t* done) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(done)
               : "memory");
  return before;
}

/* The last block tells the other cards that all positions are sent. Each waits for the kernel
 * ahead, which reads what number the exchange has, even where it moved nothing. */
static __device__ __forceinline__ void end_exchange(const tg_md_views& views) {
  const tg_md_peers_view& p = views.peers;
  tg_md_exchange* e = views.exchange;
  __syncthreads();
  if (threadIdx.x != 0) return;
  tg_launch_wait();
  if (count_up(&e->blocks_done) + 1 < gridDim.x * gridDim.z) return;
  const uint64_t number = e->number[TG_MD_FLAG_X] + 1;
  for (uint32_t c = 0; c < p.card_count; c++)
    if (c != p.card) tg_md_raise(p, c, TG_MD_FLAG_X, number);
  e->blocks_done = 0;
  e->number[TG_MD_FLAG_X] = number;
}

/* The same of many domains. */
template <bool SCALE, bool SUMS, bool ENERGY, bool STAMPED = false>
static __global__ void __launch_bounds__(THREADS)
    update_home(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s,
                const __grid_constant__ tg_step_homes homes) {
  tg_launch_next();
  const tg_md_view& v = views.item[blockIdx.z];
  move<PUSHES, SCALE, SUMS, ENERGY>(v, s, share_of_home(views.grid, homes.item[blockIdx.z]),
                                    homes.first_block);
  if (STAMPED) stamp_block(views);
  if (views.peers.card_count > 1) end_exchange(views);
}

/* The same where an exchange follows, which begins when every block is done and so, as none ends
 * before, when the kernel ahead is. */
template <bool SCALE, bool SUMS, bool ENERGY>
static __global__ void __launch_bounds__(THREADS)
    update_stays(const __grid_constant__ tg_md_views views, const __grid_constant__ tg_step_view s,
                 const __grid_constant__ tg_step_homes homes) {
  tg_launch_next();
  const tg_md_view& v = views.item[blockIdx.z];
  move<STAYS, SCALE, SUMS, ENERGY>(v, s, share_of_home(views.grid, homes.item[blockIdx.z]),
                                   homes.first_block);
  tg_launch_wait();
}

/* From velocities to their sums. Launch: a thread an atom. */
static __global__ void __launch_bounds__(THREADS)
    velocity_sums(const __grid_constant__ tg_md_view v, const __grid_constant__ tg_step_view s) {
  __shared__ long long sum[TG_DEVICE_BINS * TG_STEP_KINETIC_TERMS];
  clear_block(s, sum);
  const uint32_t atom = blockIdx.x * THREADS + threadIdx.x;
  mover m;
  if (atom < v.atom_count) {
    const float4 velocity = s.v[atom];
    m.atom = atom;
    m.v[0] = velocity.x;
    m.v[1] = velocity.y;
    m.v[2] = velocity.z;
    m.inverse_mass = velocity.w;
  }
  add_kinetic(s, m, atom < v.atom_count, sum);
  add_block(s, sum);
}

tg_status tg_step_queue_update(tg_device_md* md, const tg_step_view* s, const tg_step_homes* homes,
                               bool early, bool scale, bool sums, bool energy) {
  typedef void one(const tg_md_view, const tg_step_view);
  typedef void many(const tg_md_views, const tg_step_view, const tg_step_homes);
  static one* const of_one[8] = {update<false, false, false>, update<true, false, false>,
                                 update<false, true, false>,  update<true, true, false>,
                                 update<false, false, true>,  update<true, false, true>,
                                 update<false, true, true>,   update<true, true, true>};
  static many* const of_many[8] = {
      update_home<false, false, false>, update_home<true, false, false>,
      update_home<false, true, false>,  update_home<true, true, false>,
      update_home<false, false, true>,  update_home<true, false, true>,
      update_home<false, true, true>,   update_home<true, true, true>};
  static many* const of_staged[8] = {
      update_stays<false, false, false>, update_stays<true, false, false>,
      update_stays<false, true, false>,  update_stays<true, true, false>,
      update_stays<false, false, true>,  update_stays<true, false, true>,
      update_stays<false, true, true>,   update_stays<true, true, true>};
  const int version = (scale ? 1 : 0) + (sums ? 2 : 0) + (energy ? 4 : 0);
  const bool is_many = tg_md_is_many(md);
  const unsigned blocks = (is_many ? homes->first_block : s->first_block)[TG_DEVICE_WIDTHS + 2];
  const dim3 grid(blocks, 1, (unsigned)md->domain_count);
  const char* what = "moving atoms";
  if (blocks == 0) return TG_OK;
  if (is_many) {
    const bool staged = tg_md_is_staged(md);
    many* kernel = (staged ? of_staged : of_many)[version];
    if (version == 0 && md->stamped && !staged) kernel = update_home<false, false, false, true>;
    TG_TRY(tg_launch(md, kernel, grid, THREADS, 0, md->stream, early, what, md->views, *s, *homes));
    tg_md_take_turn(md, md->turn + 1);
    return TG_OK;
  }
  if (version == 0 && md->stamped)
    return tg_launch(md, update_timed, grid, THREADS, 0, md->stream, early, what, md->views, *s);
  return tg_launch(md, of_one[version], grid, THREADS, 0, md->stream, early, what,
                   md->views.item[0], *s);
}

tg_status tg_step_queue_sums(const tg_device_md* md, const tg_step_view* s, cudaStream_t stream) {
  const tg_md_view* v = &md->views.item[0];
  velocity_sums<<<tg_md_blocks(v->atom_count, THREADS), THREADS, 0, stream>>>(*v, *s);
  return tg_md_queued(md, "summing over velocities");
}
