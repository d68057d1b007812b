/* SPDX-License-Identifier: Apache-2.0 */
/* The halo exchange on GPUs, checked by atom numbers: every copy must be there, once, in place, as
 * brute force over all atoms says; forces must be the sum over the copies.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped).
 *
 *   halo_gpu_halo [GPUS] [quick]     GPUS: only with so many; quick: a part that is short enough
 * for compute-sanitizer, with deadlines that suit its pace */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "base/timer.h"
#include "device/device.h"
#include "halo/cuda/internal.cuh"

static int passed, failed;
static double deadline_s = 2;
static int graph_launches = 100; /* of ten steps each */

/* One failed expectation fails the running case. */
static bool expect(bool right, const char* what) {
  if (!right) printf("    not so: %s\n", what);
  return right;
}

#define EXPECT(condition)                                                                          \
  if (!expect((condition), #condition)) return false
#define RUN(call)                                                                                  \
  do {                                                                                             \
    if ((call) != TG_OK) {                                                                         \
      printf("    %s: %s\n", #call, tg_last_error());                                              \
      return false;                                                                                \
    }                                                                                              \
  } while (0)

static double uniform(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15u + b * 0xbf58476d1ce4e5b9u + 1;
  z = (z ^ (z >> 30)) * 0x94d049bb133111ebu;
  z = (z ^ (z >> 27)) * 0xbf58476d1ce4e5b9u;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

typedef struct layout {
  int grid[3];
  double reach;
  int atoms;
  double filled; /* the fraction of the box along each edge that holds atoms */
} layout;

/* powers of two, and domains of whole 2^-k nm: what single precision adds up exactly */
static const double box[3] = {4, 4, 4};

typedef double vector3[3];

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
static bool check_plan(const scene* s) {
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

static tg_status set_positions(const scene* s, tg_device_halo* halo) {
  for (int p = 0; p < s->plan.pe_count; p++)
    TG_TRY(tg_device_halo_set_positions(halo, p, (const double(*)[3])s->centres[p].data()));
  return TG_OK;
}

static bool check_positions(const scene* s, tg_device_halo* halo) {
  for (int p = 0; p < s->plan.pe_count; p++) {
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
  for (int p = 0; p < s->plan.pe_count; p++) {
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
  for (int p = 0; p < s->plan.pe_count; p++) {
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
} way;

static const way ways[] = {
    {"host", NULL, false},    {"stream", NULL, false},   {"pulse", NULL, false},
    {"fused", "put", false},  {"fused", "pull", false},  {"fused", "reduce", false},
    {"direct", "put", false}, {"direct", "pull", false}, {"direct", "reduce", false},
    {"pulse", NULL, true},    {"fused", "put", true},    {"direct", "put", true},
};

static tg_device_halo_params params_of(const way* w, int gpus, bool wide, bool forces) {
  tg_device_halo_params params = {};
  params.gpus = gpus;
  params.schedule = w->schedule;
  params.force_return = w->force_return;
  params.bulk = w->bulk;
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

static bool is_direct(const way* w) { return strcmp(w->schedule, "direct") == 0; }

/* One layout, one way: everything arrives; forces add up; a second time; then a smaller layout in
 * the same memory. */
static bool one_layout(const layout* wanted, const way* w, int gpus, bool wide) {
  scene s;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  if (!check_plan(&s)) return false;
  tg_device_halo_params params = params_of(w, gpus, wide, true);
  params.margin = 1.5;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  for (int round = 0; round < 3; round++) {
    if (round == 2) { /* other atoms, fewer of them */
      layout fewer = *wanted;
      fewer.atoms /= 3;
      RUN(scene_make(&fewer, 7, is_direct(w), &s));
      if (tg_device_halo_replan(h.halo, &s.plan) != TG_OK) {
        /* some message may have grown; that must be said, and must not be a fault */
        EXPECT(strstr(tg_last_error(), "make a new halo") != NULL);
        return true;
      }
    }
    RUN(set_positions(&s, h.halo));
    RUN(tg_device_halo_positions(h.halo));
    RUN(tg_device_halo_synchronize(h.halo));
    if (!check_positions(&s, h.halo)) return false;
    RUN(set_forces(&s, h.halo, false));
    RUN(tg_device_halo_forces(h.halo));
    RUN(tg_device_halo_synchronize(h.halo));
    if (!check_forces(&s, h.halo, NULL)) return false;
  }
  return true;
}

/* What a staged exchange must give, added on the host: pulse by pulse, the last one first. */
template <typename T>
static std::vector<double> staged_sums(const scene* s) {
  std::vector<std::vector<T>> f(s->plan.pe_count);
  for (int p = 0; p < s->plan.pe_count; p++)
    for (size_t i = 0; i < 3 * s->plan.parts[p].local_count; i++)
      f[p].push_back((T)copy_force(number_of(s, p, i / 3), p, (int)(i % 3), true));
  for (int c = s->plan.channel_count - 1; c >= 0; c--)
    for (int p = 0; p < s->plan.pe_count; p++) {
      const tg_device_message* m = &s->plan.parts[p].messages[c];
      const size_t slice = s->plan.parts[m->to].messages[c].receive_start;
      for (size_t i = 0; i < 3 * m->send_count; i++)
        f[p][3 * (size_t)m->send[i / 3] + i % 3] += f[m->to][3 * slice + i];
    }
  std::vector<double> all;
  for (int p = 0; p < s->plan.pe_count; p++)
    for (size_t i = 0; i < 3 * s->plan.parts[p].home_count; i++) all.push_back((double)f[p][i]);
  return all;
}

/* Forces in thirds: the same bits every time, and those of the host, for all schedules. */
static bool same_bits(const layout* wanted, int gpus, bool wide) {
  scene staged;
  RUN(scene_make(wanted, 0, false, &staged));
  const std::vector<double> sums =
      wide ? staged_sums<double>(&staged) : staged_sums<float>(&staged);
  for (const way& w : ways) {
    if (w.force_return && strcmp(w.force_return, "reduce") == 0) continue;
    scene s;
    RUN(scene_make(wanted, 0, is_direct(&w), &s));
    tg_device_halo_params params = params_of(&w, gpus, wide, true);
    holder h;
    RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
    for (int again = 0; again < 2; again++) {
      std::vector<double> all;
      RUN(tg_device_halo_positions(h.halo));
      RUN(set_forces(&s, h.halo, true));
      RUN(tg_device_halo_forces(h.halo));
      if (!check_forces(&s, h.halo, &all)) return false;
      EXPECT(all.size() == sums.size());
      bool same = memcmp(sums.data(), all.data(), all.size() * sizeof(double)) == 0;
      if (!same) printf("    %s %s\n", w.schedule, w.force_return ? w.force_return : "");
      EXPECT(same);
    }
  }
  return true;
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

static __global__ void set_home(const tg_halo_port<float>* port, watch w) {
  unsigned n = *w.step + 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    port->x[3 * i] = (float)w.number[i];
    port->x[3 * i + 1] = (float)n;
    port->x[3 * i + 2] = (float)(n + (unsigned)w.number[i]);
  }
}

/* The watches of a card's PEs. */
typedef struct watch_set {
  watch of[8];
} watch_set;

/* Direct: the same, pushed as it is made. One launch serves all PEs of a card: were they launched
 * one by one, the first could wait for word from a PE of another card whose kernel stands behind
 * one that waits for this card's second. */
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
static __global__ void check_halo(const tg_halo_port<float>* port, watch w, int local, int wait) {
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

static __global__ void check_sums(const tg_halo_port<float>* port, watch w) {
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

static __global__ void next_step(watch w) { ++*w.step; }

static tg_status load_kernels(int gpus) {
  for (int i = 0; i < gpus; i++) {
    cudaFuncAttributes a;
    TG_TRY(tg_cuda_status(cudaSetDevice(i), i, "selecting it"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, set_home), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, set_and_push), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_halo), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_sums), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, next_step), i, "loading"));
  }
  return TG_OK;
}

/* The watch of PE p in device memory of its card. */
static tg_status watch_make(const scene* s, const tg_device_halo* halo, int p, watch* out,
                            char** memory) {
  tg_device_halo_view v;
  tg_device_halo_view_of(halo, p, &v);
  const tg_device_part* part = &s->plan.parts[p];
  size_t n = v.local_capacity;
  std::vector<int> number(n, -1), copies(n, 0);
  std::vector<float> shift(3 * n, 0);
  for (size_t i = 0, c = 0; i < part->local_count; i++) {
    size_t at = i;
    if (i >= part->home_count) {
      while (i >= part->messages[c].receive_start + part->messages[c].receive_count) c++;
      at = v.slices[c] + (i - part->messages[c].receive_start);
    }
    int atom = number[at] = number_of(s, p, i);
    double x[3];
    belongs(s, p, atom, x);
    for (int d = 0; d < 3; d++) shift[3 * at + d] = (float)(x[d] - s->all[3 * atom + d]);
  }
  for (int q = 0; q < s->plan.pe_count; q++)
    for (size_t i = s->plan.parts[q].home_count; i < s->plan.parts[q].local_count; i++)
      if (s->plan.parts[q].origin_pe[i] == p) copies[s->plan.parts[q].origin_atom[i]]++;
  TG_TRY(tg_cuda_status(cudaSetDevice(v.device), v.device, "selecting it"));
  TG_TRY(tg_cuda_status(cudaMalloc((void**)memory, 20 * n + 8), v.device, "test memory"));
  out->number = (const int*)*memory;
  out->copies = out->number + n;
  out->shift = (const float*)(out->copies + n);
  out->step = (unsigned*)(*memory + 20 * n);
  out->wrong = out->step + 1;
  cudaMemcpy(*memory, number.data(), 4 * n, cudaMemcpyHostToDevice);
  cudaMemcpy(*memory + 4 * n, copies.data(), 4 * n, cudaMemcpyHostToDevice);
  cudaMemcpy(*memory + 8 * n, shift.data(), 12 * n, cudaMemcpyHostToDevice);
  cudaMemset(*memory + 20 * n, 0, 8);
  return tg_cuda_status(cudaDeviceSynchronize(), v.device, "test memory");
}

/* Who sends the positions: the halo, or the test's own kernel. */
typedef enum sender { SENT, PUSHED, POSTED } sender;

/* All PEs of each card by one launch of the pushing kernel. */
static bool queue_push(tg_device_halo* halo, const std::vector<watch>& watches, sender how,
                       bool forces) {
  for (size_t p = 0; p < watches.size();) {
    tg_device_halo_view first, v;
    tg_device_halo_view_of(halo, (int)p, &first);
    watch_set set = {};
    unsigned count = 0;
    for (; p < watches.size(); p++, count++) {
      tg_device_halo_view_of(halo, (int)p, &v);
      if (v.device != first.device) break;
      set.of[count] = watches[p];
    }
    cudaSetDevice(first.device);
    set_and_push<<<dim3(2, 1, count), 128, 0, (cudaStream_t)first.stream>>>(
        (const tg_halo_port<float>*)first.port, set, !forces, how == POSTED);
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

/* For each PE on its stream. */
static bool queue_step(tg_device_halo* halo, const std::vector<watch>& watches, sender how,
                       bool forces) {
  if (how != SENT && !queue_push(halo, watches, how, forces)) return false;
  for (int stage = 0; stage < 4; stage++) {
    for (size_t p = 0; p < watches.size(); p++) {
      tg_device_halo_view v;
      tg_device_halo_view_of(halo, (int)p, &v);
      cudaSetDevice(v.device);
      cudaStream_t stream = (cudaStream_t)v.stream;
      const tg_halo_port<float>* port = (const tg_halo_port<float>*)v.port;
      if (stage == 0 && how == SENT) set_home<<<2, 128, 0, stream>>>(port, watches[p]);
      if (stage == 1)
        check_halo<<<4, 128, 0, stream>>>(port, watches[p], (int)v.local_capacity, how == PUSHED);
      if (stage == 2 && forces) check_sums<<<2, 128, 0, stream>>>(port, watches[p]);
      if (stage == 3) next_step<<<1, 1, 0, stream>>>(watches[p]);
      if (cudaGetLastError() != cudaSuccess) return expect(false, "a test kernel starts");
    }
    if (stage == 0 && how == SENT) RUN(tg_device_halo_positions(halo));
    if (stage == 1 && forces) RUN(tg_device_halo_forces(halo));
  }
  return true;
}

/* 1,000 exchanges (or fewer), ten to a graph (schedule host: a tenth, without). */
static bool thousand(const way* w, const int grid[3], int gpus, bool forces, sender how) {
  layout wanted = {{grid[0], grid[1], grid[2]}, 1.25, 900, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, gpus, false, forces);
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  std::vector<watch> watches(s.plan.pe_count);
  std::vector<char*> memory(s.plan.pe_count, NULL);
  bool right = true, host = strcmp(w->schedule, "host") == 0;
  for (int p = 0; p < s.plan.pe_count; p++) RUN(watch_make(&s, h.halo, p, &watches[p], &memory[p]));
  if (host) {
    for (int n = 0; n < graph_launches && right; n++)
      right = queue_step(h.halo, watches, how, forces);
  } else {
    RUN(tg_device_halo_graph_begin(h.halo));
    for (int n = 0; n < 10 && right; n++) right = queue_step(h.halo, watches, how, forces);
    RUN(tg_device_halo_graph_end(h.halo, &h.graph));
    for (int n = 0; n < graph_launches && right; n++)
      RUN(tg_device_halo_graph_launch(h.halo, h.graph));
  }
  RUN(tg_device_halo_synchronize(h.halo));
  for (int p = 0; p < s.plan.pe_count; p++) {
    unsigned found[2];
    cudaMemcpy(found, watches[p].step, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(memory[p]);
    right =
        expect(found[0] == (unsigned)graph_launches * (host ? 1u : 10u), "all steps were made") &&
        right;
    right = expect(found[1] == 0, "nothing stale") && right;
  }
  return right;
}

/* A graph outlives a new plan. */
static bool graph_and_replan(const way* w, int gpus) {
  layout wanted = {{2, 2, 1}, 1.0, 700, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, gpus, false, true);
  params.margin = 2;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  RUN(tg_device_halo_graph_begin(h.halo));
  RUN(tg_device_halo_positions(h.halo));
  RUN(tg_device_halo_forces(h.halo));
  RUN(tg_device_halo_graph_end(h.halo, &h.graph));
  for (int round = 0; round < 6; round++) {
    layout now = wanted;
    if (round == 3) now.atoms = 0;
    if (round % 2) now.atoms /= 2;
    RUN(scene_make(&now, round, is_direct(w), &s));
    RUN(tg_device_halo_replan(h.halo, &s.plan));
    RUN(set_positions(&s, h.halo));
    RUN(set_forces(&s, h.halo, false));
    RUN(tg_device_halo_graph_launch(h.halo, h.graph));
    RUN(tg_device_halo_synchronize(h.halo));
    if (!check_positions(&s, h.halo) || !check_forces(&s, h.halo, NULL)) return false;
  }
  layout many = wanted;
  many.atoms = 3000;
  RUN(scene_make(&many, 0, is_direct(w), &s));
  EXPECT(tg_device_halo_replan(h.halo, &s.plan) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "room for") != NULL);
  return true;
}

/* The demonstration kernel moves and pushes. */
static bool moves(int gpus) {
  layout wanted = {{2, 2, 1}, 1.0, 600, 1};
  scene s;
  RUN(scene_make(&wanted, 0, true, &s));
  way w = {"direct", NULL, false};
  tg_device_halo_params params = params_of(&w, gpus, true, false);
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  RUN(set_positions(&s, h.halo));
  for (int p = 0; p < s.plan.pe_count; p++) {
    std::vector<double> v(s.centres[p].size() + 3, 0.5);
    RUN(tg_device_halo_set_velocities(h.halo, p, (const double(*)[3])v.data()));
  }
  for (int n = 0; n < 4; n++) {
    RUN(tg_device_halo_move(h.halo, 0.25, true));
    RUN(tg_device_halo_await(h.halo));
  }
  RUN(tg_device_halo_synchronize(h.halo));
  for (double& x : s.all) x += 0.5; /* 4 x 0.25 x 0.5; the plan's cells stay those of before */
  for (int p = 0; p < s.plan.pe_count; p++) {
    std::vector<double> x(3 * s.plan.parts[p].local_count + 1);
    RUN(tg_device_halo_get_positions(h.halo, p, (vector3*)x.data()));
    for (size_t i = 0; i < s.plan.parts[p].local_count; i++)
      for (int d = 0; d < 3; d++) {
        double at = s.all[3 * number_of(&s, p, i) + d];
        EXPECT(x[3 * i + d] == at || x[3 * i + d] == at + box[d]);
      }
  }
  return true;
}

/* A PE whose block counter was spoiled never raises its flag: the others must not wait for ever,
 * and must say for whom they waited. */
static bool stalled(const way* w, int gpus) {
  layout wanted = {{2, 2, 1}, 1.0, 300, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, gpus, false, true);
  params.deadline_s = 0.2;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  tg_halo_port<float> port;
  tg_device_halo_view v;
  tg_device_halo_view_of(h.halo, 1, &v);
  cudaSetDevice(v.device);
  cudaMemcpy(&port, v.port, sizeof port, cudaMemcpyDeviceToHost);
  std::vector<unsigned> spoiled(port.channel_count + 1, 1000000u);
  cudaMemcpy(port.x_done, spoiled.data(), spoiled.size() * 4, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  double start = tg_time_now();
  tg_device_halo_positions(h.halo);
  tg_device_halo_forces(h.halo);
  tg_status status = tg_device_halo_synchronize(h.halo);
  EXPECT(status == TG_ERR_MACHINE);
  /* on two cards a PE that waits for one that waits for PE 1 may be the first to lose patience */
  EXPECT(strstr(tg_last_error(), "waited") != NULL);
  EXPECT(strstr(tg_last_error(), "of PE 1 ") || gpus > 1);
  EXPECT(tg_time_now() - start < 5);
  /* it stays ended: later waits do not wait */
  start = tg_time_now();
  tg_device_halo_positions(h.halo);
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
  EXPECT(tg_time_now() - start < 0.15);
  return true;
}

static bool refusals(int gpus) {
  layout wanted = {{2, 1, 1}, 1.0, 30, 1};
  scene s;
  RUN(scene_make(&wanted, 0, false, &s));
  tg_device_halo* halo = NULL;
  way pigeon = {"pigeon", NULL, false}, direct = {"direct", NULL, false},
      odd = {"fused", "post", false}, host = {"host", NULL, false};
  tg_device_halo_params params = params_of(&pigeon, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INPUT && !halo);
  params = params_of(&direct, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INTERNAL && !halo);
  params = params_of(&odd, gpus, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_INPUT && !halo);
  params = params_of(&host, 99, false, true);
  EXPECT(tg_device_halo_create(&params, &s.plan, &halo) == TG_ERR_MACHINE && !halo);
  holder h;
  params = params_of(&host, gpus, false, true);
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  EXPECT(tg_device_halo_forces(h.halo) == TG_ERR_INTERNAL);
  RUN(tg_device_halo_positions(h.halo));
  EXPECT(tg_device_halo_positions(h.halo) == TG_ERR_INTERNAL);
  EXPECT(tg_device_halo_graph_begin(h.halo) == TG_ERR_INPUT);
  return true;
}

static void report(bool right, const std::string& name) {
  right ? passed++ : failed++;
  if (!right) printf("FAILED %s\n", name.c_str());
  fflush(stdout);
}

static std::string name_of(const char* what, const way* w, const int grid[3], int gpus) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s%s%s%s, %d x %d x %d on %d GPU", what, w->schedule,
           w->force_return ? " " : "", w->force_return ? w->force_return : "",
           w->bulk ? " bulk" : "", grid[0], grid[1], grid[2], gpus);
  return text;
}

static const layout layouts[] = {
    {{1, 1, 1}, 1.0, 200, 1},    {{2, 1, 1}, 1.0, 300, 1},  {{1, 2, 1}, 0, 100, 1},
    {{1, 1, 2}, 1.25, 200, 1},   {{3, 1, 1}, 1.25, 250, 1}, {{3, 1, 1}, 2.0, 200, 1},
    {{1, 1, 3}, 1.5, 200, 0.25}, {{2, 2, 1}, 1.25, 300, 1}, {{1, 2, 2}, 1.5, 150, 0.5},
    {{4, 1, 1}, 1.5, 200, 1},    {{5, 1, 1}, 1.25, 250, 1}, {{5, 1, 1}, 2.5, 150, 1},
    {{1, 2, 3}, 1.25, 300, 1},   {{2, 2, 2}, 1.25, 500, 1}, {{2, 2, 2}, 2.0, 200, 1},
    {{4, 2, 1}, 1.75, 200, 1},   {{2, 2, 2}, 1.0, 0, 1},    {{2, 1, 1}, 0.5, 1, 1},
};

/* Several pulses, thin domains, more channels than a row of sums holds. */
static const layout summed[] = {
    {{2, 2, 2}, 1.25, 500, 1},   {{3, 1, 1}, 2.0, 200, 1}, {{4, 2, 1}, 1.75, 300, 1},
    {{1, 1, 3}, 1.5, 200, 0.25}, {{5, 1, 1}, 2.5, 200, 1}, {{2, 3, 3}, 2.0, 500, 1},
    {{1, 2, 2}, 1.0, 200, 1},
};

static void all_on(int gpus) {
  for (const layout& wanted : layouts) {
    if (wanted.grid[0] * wanted.grid[1] * wanted.grid[2] < gpus) continue;
    for (const way& w : ways)
      for (int wide = 0; wide < 2; wide++)
        report(one_layout(&wanted, &w, gpus, wide != 0),
               name_of(wide ? "layout, double" : "layout", &w, wanted.grid, gpus));
  }
  /* more entries than threads that run at once: blocks go round */
  static const layout crowded = {{2, 2, 2}, 1.0, 120000, 1};
  for (const way& w : ways)
    for (int wide = 0; wide < 2 && w.force_return && !strcmp(w.force_return, "put"); wide++)
      report(one_layout(&crowded, &w, gpus, wide != 0),
             name_of(wide ? "crowded, double" : "crowded", &w, crowded.grid, gpus));
  for (const layout& wanted : summed)
    for (int wide = 0; wide < 2; wide++)
      report(same_bits(&wanted, gpus, wide != 0),
             name_of(wide ? "same bits, double" : "same bits", &ways[0], wanted.grid, gpus));
  static const int grids[][3] = {{2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {2, 2, 2}, {5, 1, 1}};
  for (const int* grid : grids)
    for (const way& w : ways)
      for (int forces = 0; forces < 2; forces++) {
        report(thousand(&w, grid, gpus, forces != 0, SENT),
               name_of(forces ? "1,000 with forces" : "1,000", &w, grid, gpus));
        if (!is_direct(&w) || w.bulk) continue;
        report(thousand(&w, grid, gpus, forces != 0, PUSHED),
               name_of(forces ? "1,000 pushes with forces" : "1,000 pushes", &w, grid, gpus));
        report(thousand(&w, grid, gpus, forces != 0, POSTED),
               name_of(forces ? "1,000 by mail with forces" : "1,000 by mail", &w, grid, gpus));
      }
  for (const way& w : ways) {
    const int grid[3] = {2, 2, 1};
    if (strcmp(w.schedule, "host") && strcmp(w.schedule, "stream"))
      report(graph_and_replan(&w, gpus), name_of("graph and new plan", &w, grid, gpus));
    /* waits inside a kernel: on one card only where it forwards or gathers */
    if (!strcmp(w.schedule, "fused") || (is_direct(&w) && gpus > 1))
      report(stalled(&w, gpus), name_of("stalled", &w, grid, gpus));
  }
  report(moves(gpus), "moves");
  report(refusals(gpus), "refusals");
}

/* Each kernel and each way, once or a few times. */
static void quick_on(int gpus) {
  static const layout few[] = {{{2, 2, 2}, 1.25, 60, 1}, {{5, 1, 1}, 2.5, 40, 1}};
  for (const layout& wanted : few)
    for (const way& w : ways)
      report(one_layout(&wanted, &w, gpus, false), name_of("layout", &w, wanted.grid, gpus));
  report(same_bits(&few[0], gpus, true), "the same bits, double");
  static const int grid[3] = {2, 2, 1};
  for (const way& w : ways) {
    if (w.bulk) continue;
    report(thousand(&w, grid, gpus, true, SENT), name_of("steps", &w, grid, gpus));
    if (!is_direct(&w)) continue;
    report(thousand(&w, grid, gpus, false, PUSHED), name_of("pushes", &w, grid, gpus));
    report(thousand(&w, grid, gpus, false, POSTED), name_of("by mail", &w, grid, gpus));
  }
  report(moves(gpus), "moves");
}

int main(int argc, char** argv) {
  int there = tg_device_count(), only = argc > 1 ? atoi(argv[1]) : 0;
  bool quick = argc > 1 && strcmp(argv[argc - 1], "quick") == 0;
  if (quick) {
    deadline_s = 60;
    graph_launches = 2;
  }
  if (there == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  double start = tg_time_now();
  for (int gpus = 1; gpus <= (there < 2 ? there : 2); gpus++) {
    if (only && gpus != only) continue;
    if (load_kernels(gpus) != TG_OK) {
      printf("%s\n", tg_last_error());
      return 1;
    }
    quick ? quick_on(gpus) : all_on(gpus);
    printf("on %d GPU: %d passed, %d failed so far, %.1f s\n", gpus, passed, failed,
           tg_time_now() - start);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
