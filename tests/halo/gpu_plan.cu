/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made on the device, against plans made on the host: the same bytes in every map; then the
 * exchange by these maps, alone and in graphs over atoms that move; messages that outgrow their
 * room; and how long a plan takes.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Arguments: GPUs (none or 0: 1 and
 * 2), and "quick" for a part that is short enough for compute-sanitizer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "base/timer.h"
#include "device/device.h"
#include "plan_maps.cuh"
#include "plan_scene.cuh"

/* The maps that are there, made on the device, against those that the host uploads for s. */
template <typename T>
static bool same_maps(const scene* s, tg_device_halo* h) {
  return maps_match<T>(h, &s->plan, 0, s->pe_count);
}

static int number_of(const scene* s, int p, size_t local) {
  const tg_device_part* part = &s->plan.parts[p];
  return s->numbers[part->origin_pe[local]][part->origin_atom[local]];
}

/* Numbers out, shifted by the vectors that were crossed; whole forces back. */
static bool exchange(const scene* s, tg_device_halo* h) {
  const int* grid = s->wanted.grid;
  for (int p = 0; p < s->pe_count; p++) {
    std::vector<double> x(3 * s->numbers[p].size() + 3);
    for (size_t i = 0; i < 3 * s->numbers[p].size(); i++) x[i] = s->numbers[p][i / 3] + i % 3;
    RUN(tg_device_halo_set_positions(h, p, (const vector3*)x.data()));
  }
  RUN(tg_device_halo_positions(h));
  std::vector<double> sum(3 * (size_t)s->wanted.atoms, 0);
  for (int p = 0; p < s->pe_count; p++) {
    size_t local = s->plan.parts[p].local_count;
    std::vector<double> x(3 * local + 3);
    RUN(tg_device_halo_get_positions(h, p, (vector3*)x.data()));
    for (size_t i = 0; i < local; i++) {
      int n = number_of(s, p, i), q = s->plan.parts[p].origin_pe[i];
      int here[3] = {p / grid[2] / grid[1], p / grid[2] % grid[1], p % grid[2]};
      int there[3] = {q / grid[2] / grid[1], q / grid[2] % grid[1], q % grid[2]};
      for (int k = 0; k < 3; k++) {
        double wanted = n + k;
        for (int d = 2; d >= 0; d--) { /* rounded at each boundary */
          double edge = there[d] < here[d] ? s->box[d][k] : 0;
          wanted = s->wide ? wanted + edge : (double)((float)wanted + (float)edge);
        }
        EXPECT(x[3 * i + k] == wanted);
        sum[3 * n + k] += x[3 * i + k] = (n + 1) * (k + 1) + 100 * p;
      }
    }
    RUN(tg_device_halo_set_forces(h, p, (const vector3*)x.data()));
  }
  RUN(tg_device_halo_forces(h));
  for (int p = 0; p < s->pe_count; p++) {
    std::vector<double> f(3 * s->plan.parts[p].local_count + 3);
    RUN(tg_device_halo_get_forces(h, p, (vector3*)f.data()));
    for (size_t i = 0; i < 3 * s->numbers[p].size(); i++)
      EXPECT(f[i] == sum[3 * s->numbers[p][i / 3] + i % 3]);
  }
  return true;
}

static bool spoil_all(tg_device_halo* h, bool wide) {
  for (int p = 0; p < h->pe_count; p++)
    if (!(wide ? spoil<double>(h, p) : spoil<float>(h, p))) return false;
  return true;
}

/* A plan in memory that just holds it; then, with more room, of other atoms. */
static bool one_layout(const layout* wanted, const char* schedule, bool oblique, bool wide,
                       int gpus) {
  bool direct = !strcmp(schedule, "direct");
  for (int round = 0; round < 2; round++) {
    scene s;
    holder h;
    RUN(scene_make(wanted, round, oblique, wide, direct, &s));
    RUN(make_halo(&s, schedule, gpus, round ? 1.75 : 1, &h));
    RUN(put_sources(&s, &h, (size_t)wanted->atoms + 1));
    for (int again = 0; again < 2 + round; again++) {
      bool fits = true;
      if (again == 2) {
        RUN(scene_make(wanted, 5, oblique, wide, direct, &s));
        fits = tg_device_plan_fits(h.halo, &s.plan) == TG_OK;
        RUN(put_sources(&s, &h, (size_t)wanted->atoms + 1));
      }
      if (!spoil_all(h.halo, wide)) return false;
      RUN(tg_device_halo_replan_on_device(h.halo));
      if (!fits) { /* seldom: some message grew by more than the margin */
        EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
        EXPECT(strstr(tg_last_error(), "make a new halo") != NULL);
        return true;
      }
      RUN(tg_device_halo_synchronize(h.halo));
      if (again == 1 || again == 2) /* and by the device's own maps */
        if (!exchange(&s, h.halo)) return false;
      if (!(wide ? same_maps<double>(&s, h.halo) : same_maps<float>(&s, h.halo))) return false;
    }
  }
  return true;
}

/* In a graph: atoms wander, the plan follows, numbers are exchanged and counted on the device. */
typedef struct walk {
  float* centre;
  const int *count, *number;
  unsigned *step, *wrong;
} walk;

static __global__ void wander(const tg_halo_port<float>* port, walk w) {
  unsigned n = *w.step + 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < *w.count; i += gridDim.x * blockDim.x) {
    for (int d = 0; d < 3; d++) {
      unsigned bits = ((unsigned)w.number[i] * 3u + (unsigned)d) * 2654435761u + n * 40503u;
      bits = (bits ^ (bits >> 15)) * 2246822519u;
      w.centre[3 * i + d] += (float)((int)(bits >> 24) - 128) * 2e-4f;
    }
    port->x[3 * i] = (float)w.number[i];
    port->x[3 * i + 1] = (float)n;
    port->x[3 * i + 2] = (float)(n + (unsigned)w.number[i]);
  }
}

/* Every copy is of this step and whole: a number g, n, n + g, but for edges that were crossed. */
static __global__ void check_copies(const tg_halo_port<float>* port, walk w, float bx, float by,
                                    float bz) {
  float n = (float)(*w.step + 1);
  unsigned wrong = 0;
  int start = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = start; i < port->home_count; i += stride)
    for (int d = 0; d < 3; d++) port->f[3 * i + d] = 0;
  for (int c = 0; c < port->channel_count; c++)
    for (int k = start; k < port->channel[c].receive_count; k += stride) {
      size_t at = 3 * (size_t)(port->channel[c].slice + k);
      float g = port->x[at], y = port->x[at + 1], z = port->x[at + 2];
      if (g != floorf(g)) g -= bx;
      wrong +=
          g != floorf(g) || g < 0 || (y != n && y != n + by) || (z != n + g && z != n + g + bz);
      port->f[at] = 1;
      port->f[at + 1] = n;
      port->f[at + 2] = g;
    }
  if (wrong) atomicAdd(w.wrong, wrong);
}

static __global__ void check_sums(const tg_halo_port<float>* port, walk w) {
  float n = (float)(*w.step + 1);
  unsigned wrong = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    const float* f = port->f + 3 * i;
    bool some = port->copy_start[i + 1] > port->copy_start[i];
    wrong += (f[0] > 0) != some || f[1] != f[0] * n || f[2] != f[0] * (float)w.number[i];
  }
  if (wrong) atomicAdd(w.wrong, wrong);
}

static __global__ void next_step(walk w) { ++*w.step; }

static bool queue_walk(tg_device_halo* h, const std::vector<walk>& walks, const double (*box)[3]) {
  for (int stage = 0; stage < 4; stage++) {
    for (size_t p = 0; p < walks.size(); p++) {
      tg_device_halo_view v;
      tg_device_halo_view_of(h, (int)p, &v);
      cudaSetDevice(v.device);
      cudaStream_t stream = (cudaStream_t)v.stream;
      const tg_halo_port<float>* port = (const tg_halo_port<float>*)v.port;
      if (stage == 0) wander<<<2, 128, 0, stream>>>(port, walks[p]);
      if (stage == 1)
        check_copies<<<2, 128, 0, stream>>>(port, walks[p], (float)box[0][0], (float)box[1][1],
                                            (float)box[2][2]);
      if (stage == 2) check_sums<<<2, 128, 0, stream>>>(port, walks[p]);
      if (stage == 3) next_step<<<1, 1, 0, stream>>>(walks[p]);
      if (cudaGetLastError() != cudaSuccess) return expect(false, "a test kernel starts");
    }
    if (stage == 0) {
      RUN(tg_device_halo_replan_on_device(h));
      RUN(tg_device_halo_positions(h));
    }
    if (stage == 1) RUN(tg_device_halo_forces(h));
  }
  return true;
}

static tg_status load_kernels(int gpus) {
  for (int i = 0; i < gpus; i++) {
    cudaFuncAttributes a;
    TG_TRY(tg_cuda_status(cudaSetDevice(i), i, "selecting it"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, wander), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_copies), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, check_sums), i, "loading"));
    TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, next_step), i, "loading"));
  }
  return TG_OK;
}

/* 3 x 40 steps, 4 to a graph; after each 40 the plan must be the host's of where the atoms are. */
static bool walking(const int grid[3], const char* schedule, int gpus) {
  layout wanted = {{grid[0], grid[1], grid[2]}, 1.1, 900, 1};
  scene s;
  holder h;
  RUN(scene_make(&wanted, 0, false, false, !strcmp(schedule, "direct"), &s));
  RUN(make_halo(&s, schedule, gpus, 2.5, &h));
  size_t room = (size_t)wanted.atoms + 1;
  RUN(put_sources(&s, &h, room));
  std::vector<walk> walks;
  for (int p = 0; p < s.pe_count; p++) {
    tg_device_halo_view v;
    tg_device_halo_view_of(h.halo, p, &v);
    cudaSetDevice(v.device);
    char* at = h.memory[p];
    cudaMemset(at + 8, 0, 8);
    cudaDeviceSynchronize();
    walks.push_back({(float*)(at + 256), (const int*)at, (const int*)(at + 256 + room * 24),
                     (unsigned*)(at + 8), (unsigned*)(at + 12)});
  }
  RUN(tg_device_halo_graph_begin(h.halo));
  bool right = true;
  for (int n = 0; n < 4 && right; n++) right = queue_walk(h.halo, walks, s.box);
  RUN(tg_device_halo_graph_end(h.halo, &h.graph));
  for (int part = 0; part < 3 && right; part++) {
    for (int n = 0; n < 10; n++) RUN(tg_device_halo_graph_launch(h.halo, h.graph));
    RUN(tg_device_halo_synchronize(h.halo));
    for (int p = 0; p < s.pe_count; p++) {
      unsigned found[2];
      cudaMemcpy(found, walks[p].step, sizeof found, cudaMemcpyDeviceToHost);
      EXPECT(found[0] == 40u * (part + 1));
      EXPECT(found[1] == 0);
      std::vector<float> x(s.centres[p].size() + 3);
      cudaMemcpy(x.data(), walks[p].centre, s.centres[p].size() * 4, cudaMemcpyDeviceToHost);
      for (size_t i = 0; i < s.centres[p].size(); i++) s.centres[p][i] = x[i];
    }
    RUN(scene_plan(&s));
    right = same_maps<float>(&s, h.halo); /* and the graph goes on from the host's maps */
  }
  return right && exchange(&s, h.halo);
}

/* Every map leads to where it may, whatever it holds. */
static bool maps_are_safe(const tg_device_halo* h) {
  for (int p = 0; p < h->pe_count; p++) {
    std::vector<std::vector<char>> maps;
    if (!snapshot<double>(h, p, &maps)) return false;
    const tg_halo_port<double>* port = (const tg_halo_port<double>*)maps[8].data();
    const tg_halo_channel<double>* channel = (const tg_halo_channel<double>*)maps[6].data();
    EXPECT(port->home_count >= 0 && port->home_count <= (int)h->home_capacity);
    EXPECT(port->return_count >= 0 && port->return_count <= (int)h->home_capacity);
    for (int c = 0; c < h->channel_count; c++) {
      EXPECT(channel[c].send_count >= 0 && channel[c].send_count <= (int)h->capacity[c]);
      EXPECT(channel[c].receive_count >= 0 && channel[c].receive_count <= (int)h->capacity[c]);
    }
    for (size_t i = 0; i < h->send_capacity; i++)
      EXPECT(((uint32_t*)maps[0].data())[i] < h->local_capacity);
    const uint32_t* starts = (const uint32_t*)maps[2].data();
    for (size_t i = 0; i < h->local_capacity; i++) EXPECT(starts[i + 1] <= h->copy_capacity);
    for (size_t i = 0; i < h->copy_capacity; i++) {
      uint32_t copy = ((uint32_t*)maps[3].data())[i], c = copy >> TG_HALO_PLACE_BITS;
      EXPECT((int)c < h->channel_count);
      EXPECT((copy & ((1u << TG_HALO_PLACE_BITS) - 1)) < h->capacity[c] + (h->capacity[c] == 0));
    }
    for (const tg_halo_sum* sum = (const tg_halo_sum*)maps[4].data();
         sum < (const tg_halo_sum*)maps[4].data() + h->local_capacity; sum++)
      EXPECT(sum->atom < h->local_capacity);
  }
  return true;
}

/* Atoms crowd together (message), or there are more of them (home). */
static bool outgrown(const char* schedule, bool home, int gpus) {
  layout wanted = {{2, 2, 1}, 0.5, 600, 1};
  scene s;
  holder h;
  RUN(scene_make(&wanted, 0, false, true, !strcmp(schedule, "direct"), &s));
  RUN(make_halo(&s, schedule, gpus, 1, &h));
  RUN(put_sources(&s, &h, 4000));
  RUN(tg_device_halo_replan_on_device(h.halo));
  RUN(tg_device_halo_synchronize(h.halo));
  if (home) {
    wanted.atoms = 900;
    RUN(scene_make(&wanted, 0, false, true, s.direct, &s));
  } else {
    for (std::vector<double>& all : s.centres)
      for (size_t i = 0; i < all.size(); i += 3) all[i] = 0.01;
  }
  RUN(put_sources(&s, &h, 4000));
  double start = tg_time_now();
  RUN(tg_device_halo_replan_on_device(h.halo));
  for (int n = 0; n < 3; n++) {
    RUN(tg_device_halo_positions(h.halo));
    RUN(tg_device_halo_forces(h.halo));
    RUN(tg_device_halo_replan_on_device(h.halo));
  }
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "make a new halo") != NULL);
  EXPECT(!home || strstr(tg_last_error(), "home atoms, room for") != NULL);
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE); /* sticky */
  EXPECT(tg_time_now() - start < 1);                            /* nobody waited it out */
  return maps_are_safe(h.halo);
}

/* A PE whose count of blocks was spoilt never says that its part of the plan is there: another card
 * must not wait for ever, and must say for what it waited. */
static bool stalled(const char* schedule) {
  layout wanted = {{2, 1, 1}, 1.0, 300, 1};
  scene s;
  holder h;
  RUN(scene_make(&wanted, 0, false, false, !strcmp(schedule, "direct"), &s));
  RUN(make_halo(&s, schedule, 2, 1, &h));
  h.halo->deadline_s = 0.2;
  RUN(tg_device_halo_replan(h.halo, &s.plan)); /* tells the devices */
  RUN(put_sources(&s, &h, (size_t)wanted.atoms + 1));
  size_t channels = (size_t)h.halo->channel_count;
  size_t done = h.halo->layout.plan_words + tg_plan_words_size((int)channels) - 4 * channels;
  RUN(tg_cuda_status(cudaSetDevice(h.halo->cards.card[0].device), 0, "selecting it"));
  cudaMemset(h.halo->pes[0].memory + done, 0x11, 4 * channels);
  cudaDeviceSynchronize();
  double start = tg_time_now();
  RUN(tg_device_halo_replan_on_device(h.halo));
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "PE 1 waited") && strstr(tg_last_error(), "new plan of PE 0"));
  EXPECT(tg_time_now() - start < 2);
  return true;
}

static bool refusals(int gpus) {
  layout wanted = {{2, 1, 1}, 1.0, 30, 1};
  scene s;
  RUN(scene_make(&wanted, 0, false, false, false, &s));
  holder h, stream;
  RUN(make_halo(&s, "stream", gpus, 1, &stream));
  EXPECT(tg_device_halo_plan_from(stream.halo, s.box, 1, NULL) == TG_ERR_INPUT);
  RUN(make_halo(&s, "fused", gpus, 1, &h));
  EXPECT(tg_device_halo_replan_on_device(h.halo) == TG_ERR_INTERNAL);
  EXPECT(tg_device_halo_plan_from(h.halo, s.box, 3, NULL) == TG_ERR_INPUT);
  EXPECT(tg_device_halo_plan_from(h.halo, s.box, 0, NULL) == TG_ERR_MACHINE);
  RUN(tg_device_halo_plan_from(h.halo, s.box, 1, NULL));
  RUN(tg_device_halo_positions(h.halo));
  EXPECT(tg_device_halo_replan_on_device(h.halo) == TG_ERR_INTERNAL);
  return true;
}

/* Microseconds a plan: by the devices, 10 to a graph; by the host and uploaded. */
static bool timing(const int grid[3], const char* schedule, int atoms, int gpus) {
  layout wanted = {{grid[0], grid[1], grid[2]}, 0, atoms, 1};
  /* the reach of the benchmark in a box of 100 atoms per nm^3, in units of this smaller one */
  wanted.reach = 1.1 * cbrt(3.125 * 4.375 * 2.875 * 100 / atoms);
  scene s;
  holder h;
  RUN(scene_make(&wanted, 0, false, false, !strcmp(schedule, "direct"), &s));
  RUN(make_halo(&s, schedule, gpus, 1.25, &h));
  RUN(put_sources(&s, &h, (size_t)atoms + 1));
  RUN(tg_device_halo_graph_begin(h.halo));
  for (int n = 0; n < 10; n++) RUN(tg_device_halo_replan_on_device(h.halo));
  RUN(tg_device_halo_graph_end(h.halo, &h.graph));
  double best = 1e30, most = 0, start;
  for (int n = 0; n < 12; n++) {
    start = tg_time_now();
    for (int k = 0; k < 5; k++) RUN(tg_device_halo_graph_launch(h.halo, h.graph));
    for (int i = 0; i < h.halo->cards.count; i++)
      cudaStreamSynchronize(h.halo->cards.card[i].stream);
    double took = (tg_time_now() - start) / 50;
    if (n > 1 && took < best) best = took;
    if (n > 1 && took > most) most = took;
  }
  RUN(tg_device_halo_synchronize(h.halo));
  bool right = same_maps<float>(&s, h.halo);
  start = tg_time_now();
  RUN(scene_plan(&s));
  double host = tg_time_now() - start;
  start = tg_time_now();
  RUN(tg_device_halo_replan(h.halo, &s.plan));
  double upload = tg_time_now() - start;
  printf(
      "a plan of %d atoms, %d x %d x %d on %d GPU, %s: on the device %.1f to %.1f us; host %.0f "
      "us and upload %.0f us\n",
      atoms, grid[0], grid[1], grid[2], gpus, schedule, best * 1e6, most * 1e6, host * 1e6,
      upload * 1e6);
  return right;
}

static std::string name_of(const char* what, const char* schedule, const int grid[3], int gpus) {
  char text[200];
  snprintf(text, sizeof text, "%s: %s, %d x %d x %d on %d GPU", what, schedule, grid[0], grid[1],
           grid[2], gpus);
  return text;
}

static const layout layouts[] = {
    {{1, 1, 1}, 1.1, 200, 1},    {{2, 1, 1}, 1.1, 300, 1},   {{1, 2, 1}, 1.1, 300, 1},
    {{1, 1, 2}, 1.1, 2000, 1},   {{2, 2, 1}, 1.1, 1500, 1},  {{1, 2, 2}, 1.1, 300, 0.5},
    {{2, 2, 2}, 1.1, 3000, 1},   {{2, 2, 2}, 0.6, 500, 0.4}, {{3, 1, 1}, 1.1, 250, 1},
    {{3, 1, 1}, 1.5, 2500, 0.3}, {{5, 1, 1}, 1.1, 400, 1},   {{5, 1, 1}, 1.5, 1500, 1},
    {{1, 1, 5}, 2.0, 300, 1},    {{1, 2, 3}, 1.1, 1200, 1},  {{4, 2, 1}, 1.3, 400, 1},
    {{3, 3, 2}, 1.1, 4000, 1},   {{2, 1, 1}, 0.5, 1, 1},     {{2, 2, 2}, 1.0, 0, 1},
    {{2, 1, 1}, 0, 100, 1},      {{7, 1, 1}, 1.1, 800, 1},   {{7, 1, 1}, 0.3, 800, 1},
};

static void all_on(int gpus, bool quick) {
  static const char* const schedules[] = {"fused", "direct", "pulse"};
  int number = 0;
  for (const layout& wanted : layouts) {
    number++;
    for (int way = 0; way < (number % 3 ? 8 : 12); way++) {
      const char* schedule = schedules[way / 4];
      if (wanted.grid[0] * wanted.grid[1] * wanted.grid[2] < gpus) continue;
      if (quick && ((number + way) % 11 || wanted.atoms > 500)) continue;
      char what[60];
      snprintf(what, sizeof what, "maps%s%s, reach %g", way & 1 ? ", oblique" : "",
               way & 2 ? ", double" : "", wanted.reach);
      report(one_layout(&wanted, schedule, way & 1, way & 2, gpus),
             name_of(what, schedule, wanted.grid, gpus));
    }
  }
  static const int grids[][3] = {{2, 1, 1}, {5, 1, 1}, {2, 2, 2}, {1, 2, 3}};
  for (const int* grid : grids)
    for (const char* schedule : schedules)
      if (!quick || grid == grids[0] || grid == grids[3])
        report(walking(grid, schedule, gpus), name_of("walking", schedule, grid, gpus));
  for (const char* schedule : schedules)
    for (int home = 0; home < 2; home++)
      report(outgrown(schedule, home, gpus),
             std::string(home ? "home outgrown: " : "message outgrown: ") + schedule);
  for (int way = 0; way < 2 && gpus == 2; way++)
    report(stalled(schedules[way]), name_of("stalled", schedules[way], grids[0], gpus));
  report(refusals(gpus), "refusals");
  static const int timed[][3] = {{2, 1, 1}, {2, 2, 2}};
  for (int atoms = 45000; atoms <= 180000 && !quick; atoms *= 4)
    for (const int* grid : timed)
      for (int way = 0; way < 2; way++) report(timing(grid, schedules[way], atoms, gpus), "timing");
}

int main(int argc, char** argv) {
  int there = tg_device_count(), only = argc > 1 ? atoi(argv[1]) : 0;
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
    all_on(gpus, argc > 1 && !strcmp(argv[argc - 1], "quick"));
    printf("on %d GPU: %d passed, %d failed so far, %.1f s\n", gpus, passed, failed,
           tg_time_now() - start);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
