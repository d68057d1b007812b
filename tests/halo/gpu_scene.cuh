/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the halo exchange on GPUs share: atoms with numbers, where each must be, and
 * kernels that exchange them again and again and count what is not as it should be.
 *
 * A process that has one PE of a world sets own_pe; all loops are then over that PE alone. */
#ifndef TG_TESTS_HALO_GPU_SCENE_CUH
#define TG_TESTS_HALO_GPU_SCENE_CUH

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "base/timer.h"
#include "device/device.h"
#include "halo/cuda/internal.cuh"
#include "halo/gpu_check.cuh"

static int own_pe = -1; /* all */

static double deadline_s = 2;

/* powers of two, and domains of whole 2^-k nm: what single precision adds up exactly */
static const double box[3] = {4, 4, 4};

/* All atoms, and where they live. Coordinates are multiples of 2^-10 nm. */
typedef struct scene {
  layout wanted;
  std::vector<double> all; /* [atoms][3] */
  std::vector<std::vector<double>> centres;
  std::vector<std::vector<int>> numbers;
  tg_device_plan plan = {};
  ~scene() { tg_device_plan_free(&plan); }
} scene;

static int cell_of(double x, int grid, double edge) {
  int cell = grid - 1;
  while (cell > 0 && x < edge * cell / grid) cell--;
  return cell;
}

static tg_status scene_make(const layout* wanted, int round, bool direct, scene* out) {
  const int* grid = wanted->grid;
  int pes = grid[0] * grid[1] * grid[2];
  out->wanted = *wanted;
  out->all.resize(3 * (size_t)wanted->atoms);
  out->centres.assign(pes, {});
  out->numbers.assign(pes, {});
  for (int i = 0; i < wanted->atoms; i++) {
    int pe = 0;
    for (int d = 0; d < 3; d++) {
      double x = floor(uniform(3 * (uint64_t)i + d, round) * box[d] * wanted->filled * 1024) / 1024;
      out->all[3 * i + d] = x;
      pe = pe * grid[d] + cell_of(x, grid[d], box[d]);
    }
    out->centres[pe].insert(out->centres[pe].end(), &out->all[3 * i], &out->all[3 * i] + 3);
    out->numbers[pe].push_back(i);
  }
  std::vector<size_t> counts;
  std::vector<const double(*)[3]> centres;
  for (int p = 0; p < pes; p++) {
    counts.push_back(out->numbers[p].size());
    centres.push_back((const double(*)[3])out->centres[p].data());
  }
  tg_device_plan_free(&out->plan);
  return tg_device_plan_make(grid, box, wanted->reach, counts.data(), centres.data(), direct,
                             &out->plan);
}

/* Must PE p have atom, and where? */
static bool belongs(const scene* s, int p, int atom, double x[3]) {
  const int* grid = s->wanted.grid;
  int cell[3] = {p / grid[2] / grid[1], p / grid[2] % grid[1], p % grid[2]};
  for (int d = 0; d < 3; d++) {
    double at = s->all[3 * atom + d];
    int theirs = cell_of(at, grid[d], box[d]);
    x[d] = at + (theirs < cell[d] ? box[d] : 0);
    double upper = box[d] * (cell[d] + 1) / grid[d];
    if (theirs != cell[d] && !(x[d] < upper + s->wanted.reach)) return false;
  }
  return true;
}

static int number_of(const scene* s, int p, size_t local) {
  const tg_device_part* part = &s->plan.parts[p];
  return s->numbers[part->origin_pe[local]][part->origin_atom[local]];
}

/* The plan against brute force; then the data against the plan. */
static inline bool check_plan(const scene* s) {
  for (int p = 0; p < s->plan.pe_count; p++) {
    std::vector<int> seen(s->wanted.atoms, 0);
    size_t required = 0;
    for (size_t i = 0; i < s->plan.parts[p].local_count; i++) seen[number_of(s, p, i)]++;
    for (int a = 0; a < s->wanted.atoms; a++) {
      double x[3];
      bool here = belongs(s, p, a, x);
      required += here;
      EXPECT(seen[a] == (here ? 1 : 0));
    }
    EXPECT(required == s->plan.parts[p].local_count);
  }
  return true;
}

/* The PEs of this process. */
static int first_of(const scene* s) {
  (void)s;
  return own_pe < 0 ? 0 : own_pe;
}
static int end_of(const scene* s) { return own_pe < 0 ? s->plan.pe_count : own_pe + 1; }

static tg_status set_positions(const scene* s, tg_device_halo* halo) {
  for (int p = first_of(s); p < end_of(s); p++)
    TG_TRY(tg_device_halo_set_positions(halo, p, (const double(*)[3])s->centres[p].data()));
  return TG_OK;
}

static bool check_positions(const scene* s, tg_device_halo* halo) {
  for (int p = first_of(s); p < end_of(s); p++) {
    size_t local = s->plan.parts[p].local_count;
    std::vector<double> x(3 * local + 1);
    RUN(tg_device_halo_get_positions(halo, p, (vector3*)x.data()));
    for (size_t i = 0; i < local; i++) {
      double wanted[3];
      belongs(s, p, number_of(s, p, i), wanted);
      for (int d = 0; d < 3; d++) EXPECT(x[3 * i + d] == wanted[d]);
    }
  }
  return true;
}

/* In whole numbers, so exact; inexact adds thirds, whose sum depends on the order. */
static double copy_force(int atom, int pe, int d, bool inexact) {
  return inexact ? (atom + 1.0) * (d + 1) / (3 + pe) : (atom + 1) * (d + 1) + 1000.0 * pe;
}

static tg_status set_forces(const scene* s, tg_device_halo* halo, bool inexact) {
  for (int p = first_of(s); p < end_of(s); p++) {
    size_t local = s->plan.parts[p].local_count;
    std::vector<double> f(3 * local + 1);
    for (size_t i = 0; i < 3 * local; i++)
      f[i] = copy_force(number_of(s, p, i / 3), p, (int)(i % 3), inexact);
    TG_TRY(tg_device_halo_set_forces(halo, p, (const double(*)[3])f.data()));
  }
  return TG_OK;
}

static bool check_forces(const scene* s, tg_device_halo* halo, std::vector<double>* all) {
  std::vector<double> sum(3 * (size_t)s->wanted.atoms, 0);
  for (int p = 0; p < s->plan.pe_count; p++)
    for (size_t i = 0; i < s->plan.parts[p].local_count; i++)
      for (int d = 0; d < 3; d++)
        sum[3 * number_of(s, p, i) + d] += copy_force(number_of(s, p, i), p, d, all != NULL);
  for (int p = first_of(s); p < end_of(s); p++) {
    std::vector<double> f(3 * s->plan.parts[p].local_count + 1);
    RUN(tg_device_halo_get_forces(halo, p, (vector3*)f.data()));
    for (size_t i = 0; i < s->plan.parts[p].home_count; i++)
      for (int d = 0; d < 3; d++) {
        double wanted = sum[3 * number_of(s, p, i) + d], found = f[3 * i + d];
        if (all) {
          all->push_back(found);
          /* at most 26 sums, each rounded once to 24 bits */
          EXPECT(fabs(found - wanted) <= 27 * 0x1p-24 * fabs(wanted));
        } else {
          EXPECT(found == wanted);
        }
      }
  }
  return true;
}

/* A way to exchange. */
typedef struct way {
  const char* schedule;
  const char* force_return;
  bool bulk;
  const char* path = NULL;
} way;

static tg_device_halo_params params_of(const way* w, int gpus, bool wide, bool forces) {
  tg_device_halo_params params = {};
  params.gpus = gpus;
  params.schedule = w->schedule;
  params.force_return = w->force_return;
  params.bulk = w->bulk;
  params.path = w->path;
  params.double_precision = wide;
  params.returns_forces = forces;
  params.margin = 1;
  params.deadline_s = deadline_s;
  return params;
}

/* A halo that is gone at the end of its block. */
typedef struct holder {
  tg_device_halo* halo = NULL;
  tg_device_halo_graph* graph = NULL;
  ~holder() {
    if (halo) tg_device_halo_graph_destroy(halo, &graph);
    tg_device_halo_destroy(&halo);
  }
} holder;

static inline bool is_direct(const way* w) { return strcmp(w->schedule, "direct") == 0; }

/* Are its positions sent as those of another way? force_return tells only in a staged exchange,
 * whose positions go by mail if its forces are put. */
static inline bool sends_like_another(const way* w) {
  return w->force_return && strcmp(w->force_return, "put") &&
         (is_direct(w) || !strcmp(w->force_return, "reduce"));
}

/* Back to back, on the device: step n sets home atom i to (number, n, n + number), exchanges, and
 * counts the copies that read otherwise. Then each copy's force is (1, n, number) and each home
 * atom must get them all. */
typedef struct watch {
  const int* number;  /* [local_capacity]; -1: nobody */
  const float* shift; /* [local_capacity][3] */
  const int* copies;  /* [home_count]: of each home atom, elsewhere */
  unsigned* step;     /* counted on the device: graphs freeze arguments */
  unsigned* wrong;
} watch;

/* The watches of a card's PEs. Each kernel serves all of them by one launch. */
typedef struct watch_set {
  watch of[8];
} watch_set;

static inline watch_set only(const watch& one) {
  watch_set set = {};
  set.of[0] = one;
  return set;
}

static __global__ void set_home(const tg_halo_port<float>* ports, watch_set set) {
  const tg_halo_port<float>* port = &ports[blockIdx.z];
  watch w = set.of[blockIdx.z];
  unsigned n = *w.step + 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    port->x[3 * i] = (float)w.number[i];
    port->x[3 * i + 1] = (float)n;
    port->x[3 * i + 2] = (float)(n + (unsigned)w.number[i]);
  }
}

/* Direct: the same, pushed as it is made. Were the PEs of a card launched one by one, the first
 * could wait for word from a PE of another card whose kernel stands behind one that waits for this
 * card's second. */
static __global__ void set_and_push(const tg_halo_port<float>* ports, watch_set set, int consume,
                                    int by_mail) {
  const tg_halo_port<float>* port = &ports[blockIdx.z];
  watch w = set.of[blockIdx.z];
  unsigned n = *w.step + 1;
  uint64_t number = tg_halo_next(port);
  if (consume) {
    if (blockIdx.x == 0 && threadIdx.x == 0) tg_halo_consumed(port, number - 1);
    if (!tg_halo_may_push(port, number)) return;
  }
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    float x = (float)w.number[i], y = (float)n, z = (float)(n + (unsigned)w.number[i]);
    port->x[3 * i] = x;
    port->x[3 * i + 1] = y;
    port->x[3 * i + 2] = z;
    if (by_mail)
      tg_halo_post_atom(port, i, x, y, z, number);
    else
      tg_halo_push(port, i, x, y, z);
  }
  if (by_mail)
    tg_halo_posted(port, number, gridDim.x);
  else
    tg_halo_raise(port, number, gridDim.x);
}

/* Waits itself where asked (direct pushes come from kernels that end before their receivers know).
 * Blocks share the atoms, so each waits for all flags. */
static __global__ void check_halo(const tg_halo_port<float>* ports, watch_set set, int local,
                                  int wait) {
  const tg_halo_port<float>* port = &ports[blockIdx.z];
  watch w = set.of[blockIdx.z];
  unsigned n = *w.step + 1;
  for (int c = 0; wait && c < port->channel_count; c++)
    if (port->channel[c].from_elsewhere && !tg_halo_wait_positions(port, c, port->x_sent[c]))
      return;
  unsigned wrong = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < local; i += gridDim.x * blockDim.x) {
    if (w.number[i] < 0) continue;
    float g = (float)w.number[i];
    wrong += port->x[3 * i] != g + w.shift[3 * i];
    wrong += port->x[3 * i + 1] != (float)n + w.shift[3 * i + 1];
    wrong += port->x[3 * i + 2] != (float)n + g + w.shift[3 * i + 2];
    bool home = i < port->home_count;
    port->f[3 * i] = home ? 0 : 1;
    port->f[3 * i + 1] = home ? 0 : (float)n;
    port->f[3 * i + 2] = home ? 0 : g;
  }
  if (wrong) atomicAdd(w.wrong, wrong);
}

static __global__ void check_sums(const tg_halo_port<float>* ports, watch_set set) {
  const tg_halo_port<float>* port = &ports[blockIdx.z];
  watch w = set.of[blockIdx.z];
  unsigned n = *w.step + 1, wrong = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    float copies = (float)w.copies[i];
    wrong += port->f[3 * i] != copies;
    wrong += port->f[3 * i + 1] != copies * (float)n;
    wrong += port->f[3 * i + 2] != copies * (float)w.number[i];
  }
  if (wrong) atomicAdd(w.wrong, wrong);
}

static __global__ void next_step(watch_set set) { ++*set.of[blockIdx.z].step; }

static tg_status load_kernels_on(int device) {
  cudaFuncAttributes a;
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, set_home), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, set_and_push), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_halo), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_sums), device, "loading"));
  return tg_cuda_status(cudaFuncGetAttributes(&a, next_step), device, "loading");
}

/* What PE p is to find under the scene's plan; its step goes on. */
static tg_status watch_fill(const scene* s, const tg_device_halo* halo, int p, char* memory) {
  tg_device_halo_view v;
  tg_device_halo_view_of(halo, p, &v);
  const tg_device_part* part = &s->plan.parts[p];
  size_t n = v.local_capacity;
  std::vector<int> numbers(2 * n, -1); /* then copies */
  std::vector<float> shift(3 * n, 0);
  for (size_t i = 0; i < n; i++) numbers[n + i] = 0;
  for (size_t i = 0, c = 0; i < part->local_count; i++) {
    size_t at = i;
    if (i >= part->home_count) {
      while (i >= part->messages[c].receive_start + part->messages[c].receive_count) c++;
      at = v.slices[c] + (i - part->messages[c].receive_start);
    }
    int atom = numbers[at] = number_of(s, p, i);
    double x[3];
    belongs(s, p, atom, x);
    for (int d = 0; d < 3; d++) shift[3 * at + d] = (float)(x[d] - s->all[3 * atom + d]);
  }
  for (int q = 0; q < s->plan.pe_count; q++)
    for (size_t i = s->plan.parts[q].home_count; i < s->plan.parts[q].local_count; i++)
      if (s->plan.parts[q].origin_pe[i] == p) numbers[n + s->plan.parts[q].origin_atom[i]]++;
  TG_TRY(tg_cuda_status(cudaSetDevice(v.device), v.device, "selecting it"));
  cudaMemcpy(memory, numbers.data(), 8 * n, cudaMemcpyHostToDevice);
  cudaMemcpy(memory + 8 * n, shift.data(), 12 * n, cudaMemcpyHostToDevice);
  return tg_cuda_status(cudaDeviceSynchronize(), v.device, "test memory");
}

/* The watch of PE p in device memory of its card. */
static tg_status watch_make(const scene* s, const tg_device_halo* halo, int p, watch* out,
                            char** memory) {
  tg_device_halo_view v;
  tg_device_halo_view_of(halo, p, &v);
  size_t n = v.local_capacity;
  TG_TRY(tg_cuda_status(cudaSetDevice(v.device), v.device, "selecting it"));
  TG_TRY(tg_cuda_status(cudaMalloc((void**)memory, 20 * n + 8), v.device, "test memory"));
  out->number = (const int*)*memory;
  out->copies = out->number + n;
  out->shift = (const float*)(out->copies + n);
  out->step = (unsigned*)(*memory + 20 * n);
  out->wrong = out->step + 1;
  cudaMemset(*memory + 20 * n, 0, 8);
  return watch_fill(s, halo, p, *memory);
}

/* Who sends the positions: the halo, or the test's own kernel. */
typedef enum sender { SENT, PUSHED, POSTED } sender;

/* The PEs of one card, from PE p on. */
typedef struct card_share {
  tg_device_halo_view first;
  watch_set set;
  unsigned count;
} card_share;

static inline std::vector<card_share> shares_of(const tg_device_halo* halo,
                                                const std::vector<watch>& watches) {
  const size_t end = own_pe < 0 ? watches.size() : (size_t)own_pe + 1;
  std::vector<card_share> shares;
  for (size_t p = own_pe < 0 ? 0 : (size_t)own_pe; p < end; p++) {
    tg_device_halo_view v;
    tg_device_halo_view_of(halo, (int)p, &v);
    if (shares.empty() || shares.back().first.device != v.device) shares.push_back({v, {}, 0});
    card_share* share = &shares.back();
    share->set.of[share->count++] = watches[p];
  }
  return shares;
}

static inline bool queue_push(tg_device_halo* halo, const std::vector<card_share>& shares,
                              sender how, bool forces) {
  for (const card_share& share : shares) {
    cudaSetDevice(share.first.device);
    set_and_push<<<dim3(2, 1, share.count), 128, 0, (cudaStream_t)share.first.stream>>>(
        (const tg_halo_port<float>*)share.first.port, share.set, !forces, how == POSTED);
    if (cudaGetLastError() != cudaSuccess) return expect(false, "a test kernel starts");
  }
  if (how == PUSHED) {
    RUN(tg_device_halo_pushed(halo));
  } else {
    RUN(tg_device_halo_posted(halo));
    RUN(tg_device_halo_await(halo));
  }
  return true;
}

/* One step of all PEs, a launch of each test kernel for a card. */
static inline bool queue_step(tg_device_halo* halo, const std::vector<watch>& watches, sender how,
                              bool forces) {
  const std::vector<card_share> shares = shares_of(halo, watches);
  if (how != SENT && !queue_push(halo, shares, how, forces)) return false;
  for (int stage = 0; stage < 4; stage++) {
    for (const card_share& share : shares) {
      const tg_device_halo_view& v = share.first;
      cudaSetDevice(v.device);
      cudaStream_t stream = (cudaStream_t)v.stream;
      const dim3 grid(2, 1, share.count), one(1, 1, share.count);
      const tg_halo_port<float>* ports = (const tg_halo_port<float>*)v.port;
      if (stage == 0 && how == SENT) set_home<<<grid, 128, 0, stream>>>(ports, share.set);
      if (stage == 1)
        check_halo<<<grid, 128, 0, stream>>>(ports, share.set, (int)v.local_capacity,
                                             how == PUSHED);
      if (stage == 2 && forces) check_sums<<<grid, 128, 0, stream>>>(ports, share.set);
      if (stage == 3) next_step<<<one, 1, 0, stream>>>(share.set);
      if (cudaGetLastError() != cudaSuccess) return expect(false, "a test kernel starts");
    }
    if (stage == 0 && how == SENT) RUN(tg_device_halo_positions(halo));
    if (stage == 1 && forces) RUN(tg_device_halo_forces(halo));
  }
  return true;
}

/* Positions and forces once, everything checked; the halo returns forces. */
static inline bool exchange_once(const scene* s, tg_device_halo* halo) {
  RUN(set_positions(s, halo));
  RUN(tg_device_halo_positions(halo));
  RUN(tg_device_halo_synchronize(halo));
  if (!check_positions(s, halo)) return false;
  RUN(set_forces(s, halo, false));
  RUN(tg_device_halo_forces(halo));
  RUN(tg_device_halo_synchronize(halo));
  return check_forces(s, halo, NULL);
}

#endif
