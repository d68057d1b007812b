/* SPDX-License-Identifier: Apache-2.0 */
/* For gpu_plan.cu: atoms in a box, the host's plan of them, and what a plan on the device is made
 * from. */
#ifndef TG_TESTS_HALO_PLAN_SCENE_CUH
#define TG_TESTS_HALO_PLAN_SCENE_CUH

#include <math.h>
#include <string.h>

#include <vector>

#include "halo/cuda/internal.cuh"
#include "halo/gpu_check.cuh"

/* Multiples of 1/8 that are not whole, so that numbers below 2^16 stay exact; and vectors that
 * round wherever they are added. */
static const double boxes[2][3][3] = {{{3.125, 0, 0}, {0, 4.375, 0}, {0, 0, 2.875}},
                                      {{3.1, 0, 0}, {0.7, 4.4, 0}, {-0.6, 1.3, 2.9}}};

/* All atoms, where they live, and the plan that the host makes of them. */
typedef struct scene {
  layout wanted;
  bool oblique, wide, direct;
  const double (*box)[3];
  int pe_count;
  std::vector<std::vector<double>> centres; /* by PE, as the device has them: rounded to float */
  std::vector<std::vector<int>> numbers;
  tg_device_plan plan = {};
  ~scene() { tg_device_plan_free(&plan); }
} scene;

static tg_status scene_plan(scene* s) {
  std::vector<size_t> counts;
  std::vector<const double(*)[3]> centres;
  for (int p = 0; p < s->pe_count; p++) {
    counts.push_back(s->numbers[p].size());
    centres.push_back((const double(*)[3])s->centres[p].data());
  }
  tg_device_plan_free(&s->plan);
  const double edges[3] = {s->box[0][0], s->box[1][1], s->box[2][2]};
  return s->oblique
             ? tg_device_plan_make_triclinic(s->wanted.grid, s->box, s->wanted.reach, counts.data(),
                                             centres.data(), s->direct, &s->plan)
             : tg_device_plan_make(s->wanted.grid, edges, s->wanted.reach, counts.data(),
                                   centres.data(), s->direct, &s->plan);
}

/* Every fifth atom stands where along one dimension the reach of a PE below ends, or a rounding
 * beside it. */
static tg_status scene_make(const layout* wanted, int round, bool oblique, bool wide, bool direct,
                            scene* s) {
  const int* grid = wanted->grid;
  s->wanted = *wanted;
  s->oblique = oblique;
  s->wide = wide;
  s->direct = direct;
  s->box = boxes[oblique];
  s->pe_count = grid[0] * grid[1] * grid[2];
  s->centres.assign(s->pe_count, {});
  s->numbers.assign(s->pe_count, {});
  tg_device_geometry g;
  TG_TRY(tg_device_geometry_make(grid, s->box, oblique, wanted->reach, &g));
  for (int i = 0; i < wanted->atoms; i++) {
    double u[3], at[3] = {0, 0, 0}, edge_case = -1;
    int pe = 0, chosen = i / 5 % 3;
    for (int d = 0; d < 3; d++) {
      u[d] = uniform(3 * (uint64_t)i + d, round) * wanted->filled;
      int cell = (int)(u[d] * grid[d]);
      double upper = g.edge[d] * (cell + 1) / grid[d];
      int under = cell; /* the PE below whose reach ends in this brick */
      while (under > 0 && g.edge[d] * under / grid[d] + wanted->reach >= upper) under--;
      double limit = g.edge[d] * under / grid[d] + wanted->reach;
      if (i % 5 == 0 && d == chosen && limit < upper) {
        edge_case = i / 15 % 3 == 0   ? limit
                    : i / 15 % 3 == 1 ? nextafter(limit, 0)
                                      : nextafter(limit, 100);
        u[d] = edge_case / g.edge[d];
      }
      pe = pe * grid[d] + cell;
    }
    for (int d = 0; d < 3; d++)
      for (int k = 0; k < 3; k++) at[k] += u[d] * s->box[d][k];
    if (edge_case >= 0 && !oblique) at[chosen] = edge_case;
    for (double x : at) s->centres[pe].push_back(wide ? x : (double)(float)x);
    s->numbers[pe].push_back(i);
  }
  return scene_plan(s);
}

/* A halo, and device memory for centres and counts, all gone at the end of the block. */
typedef struct holder {
  tg_device_halo* halo = NULL;
  tg_device_halo_graph* graph = NULL;
  std::vector<char*> memory; /* by PE: count, then at 256 bytes the centres, then numbers */
  ~holder() {
    for (char* one : memory) cudaFree(one);
    if (halo) tg_device_halo_graph_destroy(halo, &graph);
    tg_device_halo_destroy(&halo);
  }
} holder;

static tg_status make_halo(const scene* s, const char* schedule, int gpus, double margin,
                           holder* h) {
  tg_device_halo_params params = {};
  params.gpus = gpus;
  params.schedule = schedule;
  params.double_precision = s->wide;
  params.returns_forces = true;
  params.margin = margin;
  params.deadline_s = 2;
  return tg_device_halo_create(&params, &s->plan, &h->halo);
}

/* What the scene's plan is made from goes to the devices: room for `room` atoms a PE. */
static tg_status put_sources(const scene* s, holder* h, size_t room) {
  bool fresh = h->memory.empty();
  std::vector<tg_device_halo_source> sources;
  size_t element = s->wide ? 8 : 4;
  for (int p = 0; p < s->pe_count; p++) {
    tg_device_halo_view v;
    tg_device_halo_view_of(h->halo, p, &v);
    TG_TRY(tg_cuda_status(cudaSetDevice(v.device), v.device, "selecting it"));
    char* at = NULL;
    if (fresh) {
      TG_TRY(tg_cuda_status(cudaMalloc((void**)&at, 256 + room * 3 * 8 + room * 4), v.device,
                            "test memory"));
      h->memory.push_back(at);
    }
    at = h->memory[p];
    int count = (int)s->numbers[p].size();
    std::vector<char> bytes(count * 3 * element + 8);
    for (int i = 0; i < 3 * count; i++)
      if (s->wide)
        ((double*)bytes.data())[i] = s->centres[p][i];
      else
        ((float*)bytes.data())[i] = (float)s->centres[p][i];
    cudaMemcpy(at, &count, sizeof count, cudaMemcpyHostToDevice);
    cudaMemcpy(at + 256, bytes.data(), count * 3 * element, cudaMemcpyHostToDevice);
    cudaMemcpy(at + 256 + room * 24, s->numbers[p].data(), count * 4, cudaMemcpyHostToDevice);
    TG_TRY(tg_cuda_status(cudaDeviceSynchronize(), v.device, "test memory"));
    sources.push_back({at + 256, (const int*)at});
  }
  if (!fresh) return TG_OK; /* the addresses are known */
  return tg_device_halo_plan_from(h->halo, s->box, s->wanted.reach, sources.data());
}

#endif
