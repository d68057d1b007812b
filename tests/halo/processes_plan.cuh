/* SPDX-License-Identifier: Apache-2.0 */
/* For gpu_halo_processes.cu: plans made on the devices of two processes. */
#ifndef TG_TESTS_HALO_PROCESSES_PLAN_CUH
#define TG_TESTS_HALO_PROCESSES_PLAN_CUH

#include "halo/plan_maps.cuh"
#include "halo/processes_scene.cuh"

/* This PE's source of plans: a count and, at 256 bytes, centres. Gone at the end of its block. */
typedef struct own_source {
  char* memory = NULL;
  std::vector<tg_device_halo_source> of; /* [PEs] */
  ~own_source() { cudaFree(memory); }
} own_source;

/* After everything that was queued has ended. in_x: the centres go to x of the halo instead. */
static tg_status put_source(const scene* s, tg_device_halo* halo, bool wide, bool in_x,
                            own_source* out) {
  tg_device_halo_view v;
  tg_device_halo_view_of(halo, own_pe, &v);
  TG_TRY(tg_cuda_status(cudaSetDevice(v.device), v.device, "selecting it"));
  if (!out->memory)
    TG_TRY(tg_cuda_status(cudaMalloc((void**)&out->memory, 256 + 24 * v.local_capacity), v.device,
                          "test memory"));
  const std::vector<double>& centres = s->centres[(size_t)own_pe];
  const std::vector<float> single(centres.begin(), centres.end());
  const int count = (int)(centres.size() / 3);
  cudaMemcpy(out->memory, &count, sizeof count, cudaMemcpyHostToDevice);
  cudaMemcpy(in_x ? v.x : out->memory + 256,
             wide ? (const void*)centres.data() : (const void*)single.data(),
             centres.size() * (wide ? 8 : 4), cudaMemcpyHostToDevice);
  out->of.assign((size_t)s->plan.pe_count, tg_device_halo_source{NULL, NULL});
  out->of[(size_t)own_pe] = {in_x ? NULL : out->memory + 256, (const int*)out->memory};
  return tg_cuda_status(cudaDeviceSynchronize(), v.device, "test memory");
}

static const double plan_box[3][3] = {{box[0], 0, 0}, {0, box[1], 0}, {0, 0, box[2]}};

/* Does a plan fit, on all PEs? One that does not would end the world. */
static bool fits_all(const tg_device_halo* halo, const tg_device_plan* plan) {
  int64_t wrong = tg_device_plan_fits(halo, plan) != TG_OK;
  return tg_world_max_int64(world, &wrong, 1) == TG_OK && wrong == 0;
}

/* A plan in memory that just holds it, then others where they fit: the same bytes as the host's,
 * and an exchange by them. */
static bool device_plans(const layout* wanted, bool direct, bool wide, tg_device_halo* halo) {
  own_source source;
  for (int round = 0; round < 3; round++) {
    scene s;
    RUN(scene_make(wanted, round, direct, &s));
    if (!fits_all(halo, &s.plan)) continue;
    RUN(put_source(&s, halo, wide, false, &source));
    if (round == 0) RUN(tg_device_halo_plan_from(halo, plan_box, wanted->reach, source.of.data()));
    EXPECT(wide ? spoil<double>(halo, own_pe) : spoil<float>(halo, own_pe));
    RUN(tg_world_barrier(world)); /* nobody makes a plan while another spoils */
    RUN(tg_device_halo_replan_on_device(halo));
    RUN(tg_device_halo_synchronize(halo));
    RUN(set_positions(&s, halo));
    RUN(tg_device_halo_positions(halo));
    RUN(tg_device_halo_synchronize(halo));
    if (!check_positions(&s, halo)) return false;
    RUN(set_forces(&s, halo, false));
    RUN(tg_device_halo_forces(halo));
    RUN(tg_device_halo_synchronize(halo));
    if (!check_forces(&s, halo, NULL)) return false;
    EXPECT(wide ? maps_match<double>(halo, &s.plan, own_pe, own_pe + 1)
                : maps_match<float>(halo, &s.plan, own_pe, own_pe + 1));
  }
  return true;
}

/* Each copy's force is 1. */
static __global__ void unit_forces(const tg_halo_port<float>* port) {
  const int start = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const int stride = (int)(gridDim.x * blockDim.x);
  for (int i = start; i < 3 * port->home_count; i += stride) port->f[i] = 0;
  for (int c = 0; c < port->channel_count; c++)
    for (int i = start; i < 3 * port->channel[c].receive_count; i += stride)
      port->f[3 * port->channel[c].slice + i] = 1;
}

static bool check_units(const scene* s, tg_device_halo* halo) {
  std::vector<int> copies(s->numbers[(size_t)own_pe].size(), 0);
  for (int p = 0; p < s->plan.pe_count; p++) {
    const tg_device_part* part = &s->plan.parts[p];
    for (size_t i = part->home_count; i < part->local_count; i++)
      if (part->origin_pe[i] == own_pe) copies[part->origin_atom[i]]++;
  }
  std::vector<double> f(3 * s->plan.parts[own_pe].local_count + 3);
  RUN(tg_device_halo_get_forces(halo, own_pe, (vector3*)f.data()));
  for (size_t i = 0; i < 3 * copies.size(); i++) EXPECT(f[i] == copies[i / 3]);
  return true;
}

/* Four new plans and exchanges to a graph, which follows the atoms: from x, after each other. */
static bool device_plans_in_graph(const layout* wanted, bool direct, tg_device_halo* halo,
                                  tg_device_halo_graph** graph) {
  own_source source;
  scene s;
  tg_device_halo_view v;
  tg_device_halo_view_of(halo, own_pe, &v);
  RUN(scene_make(wanted, 0, direct, &s));
  RUN(put_source(&s, halo, false, true, &source));
  RUN(tg_device_halo_plan_from(halo, plan_box, wanted->reach, source.of.data()));
  RUN(tg_device_halo_graph_begin(halo));
  for (int n = 0; n < 4; n++) {
    RUN(tg_device_halo_replan_on_device(halo));
    RUN(tg_device_halo_positions(halo));
    unit_forces<<<2, 128, 0, (cudaStream_t)v.stream>>>((const tg_halo_port<float>*)v.port);
    EXPECT(cudaGetLastError() == cudaSuccess);
    RUN(tg_device_halo_forces(halo));
  }
  RUN(tg_device_halo_graph_end(halo, graph));
  for (int round = 0; round < 6; round++) {
    layout now = *wanted;
    if (round % 2) now.atoms /= 2;
    if (round == 4) now.atoms = 0;
    RUN(scene_make(&now, round, direct, &s));
    RUN(put_source(&s, halo, false, true, &source));
    for (int n = 0; n < 10; n++) RUN(tg_device_halo_graph_launch(halo, *graph));
    RUN(tg_device_halo_synchronize(halo));
    if (!check_positions(&s, halo) || !check_units(&s, halo)) return false;
  }
  return true;
}

/* Refused on both PEs, and nothing has changed. */
static bool device_plan_refusals(tg_device_halo* halo, bool stores) {
  double wider[3][3];
  memcpy(wider, plan_box, sizeof wider);
  if (!stores) {
    EXPECT(tg_device_halo_plan_from(halo, plan_box, 1, NULL) == TG_ERR_INPUT);
    EXPECT(strstr(tg_last_error(), "path put takes its plans from the host") != NULL);
    return true;
  }
  wider[1][1] += own_pe;
  EXPECT(tg_device_halo_plan_from(halo, wider, 1, NULL) == TG_ERR_INTERNAL);
  EXPECT(strstr(tg_last_error(), "differs between") != NULL);
  EXPECT(tg_device_halo_plan_from(halo, plan_box, 1 + own_pe, NULL) == TG_ERR_INTERNAL);
  EXPECT(tg_device_halo_plan_from(halo, plan_box, 3, NULL) == TG_ERR_INPUT);
  EXPECT(tg_device_halo_plan_from(halo, plan_box, own_pe ? 3 : 1, NULL) == TG_ERR_INPUT);
  EXPECT(tg_device_halo_replan_on_device(halo) == TG_ERR_INTERNAL);
  return true;
}

/* PE 1's atoms crowd at its lower face, which is more than its message has room for: both PEs end,
 * at once. Returns whether this one said what it should. */
static bool device_plan_outgrown(tg_device_halo* halo) {
  const layout wanted = {{2, 1, 1}, 1.0, 3000, 1};
  scene s;
  own_source source;
  RUN(scene_make(&wanted, 0, true, &s));
  if (own_pe == 1)
    for (size_t i = 0; i < s.centres[1].size(); i += 3) s.centres[1][i] = 2.0;
  RUN(put_source(&s, halo, false, false, &source));
  RUN(tg_device_halo_plan_from(halo, plan_box, wanted.reach, source.of.data()));
  double start = tg_time_now();
  tg_status status = tg_device_halo_replan_on_device(halo);
  if (status == TG_OK) status = tg_device_halo_positions(halo);
  if (status == TG_OK) status = tg_device_halo_forces(halo);
  if (status == TG_OK) status = tg_device_halo_synchronize(halo);
  printf("    PE %d after %.2f s: %s\n", own_pe, tg_time_now() - start, tg_last_error());
  EXPECT(status == TG_ERR_MACHINE);
  EXPECT(own_pe == 0 ||
         (strstr(tg_last_error(), "PE 1: ") && strstr(tg_last_error(), "room for") != NULL));
  EXPECT(tg_time_now() - start < 2);
  return true;
}

/* Plans made on the devices. */
static bool plans_by(const way* w, const layout* wanted, bool wide) {
  scene s;
  holder h;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, 0, wide, true);
  params.margin = wide ? 1.75 : 1;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  return device_plans(wanted, is_direct(w), wide, h.halo);
}

static bool plans_in_graph(const way* w, const layout* wanted) {
  scene s;
  holder h;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, 0, false, true);
  params.margin = 2.5;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  return device_plans_in_graph(wanted, is_direct(w), h.halo, &h.graph);
}

static bool plans_refused(const way* w) {
  const layout wanted = {{2, 1, 1}, 1.0, 30, 1};
  scene s;
  holder h;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, 0, false, true);
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  return device_plan_refusals(h.halo, strcmp(w->path, "store") == 0);
}

static void check_plans(void) {
  static const layout two[] = {
      {{2, 1, 1}, 1.0, 300, 1}, {{1, 2, 1}, 1.25, 300, 1},   {{1, 1, 2}, 2.0, 200, 1},
      {{1, 2, 1}, 0, 100, 1},   {{2, 1, 1}, 1.0, 100, 0.25}, {{1, 1, 2}, 1.0, 0, 1},
      {{2, 1, 1}, 0.5, 1, 1},   {{2, 1, 1}, 1.0, 20000, 1},
  };
  static const way ways[] = {{"fused", NULL, false, "store"},
                             {"direct", NULL, false, "store"},
                             {"pulse", NULL, false, "store"},
                             {"fused", "pull", false, "store"}};
  static const way put = {"direct", NULL, false, "put"};
  for (const way& w : ways) {
    for (const layout& wanted : two)
      for (int wide = 0; wide < 2; wide++)
        report_all(plans_by(&w, &wanted, wide != 0),
                   wide ? "device's plan, double" : "device's plan", &w, wanted.grid);
    static const layout moving = {{2, 1, 1}, 1.0, 700, 1};
    report_all(plans_in_graph(&w, &moving), "device's plans in a graph", &w, moving.grid);
    report_all(plans_refused(&w), "no device's plan", &w, moving.grid);
  }
  report_all(plans_refused(&put), "no device's plan", &put, two[0].grid);
}

#endif
