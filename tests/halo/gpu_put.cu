/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of path put with many PEs in one process, where puts are made by
 * gpu_put_headers/nvshmem.h: several pulses, forwarding, thin domains, which processes with a GPU
 * each could only show with many GPUs. Each PE has a stream; a few small grids run side by side on
 * any GPU that these kernels are for, and if they did not, a deadline would say so.
 *
 *   halo_gpu_put [quick]     quick: a part that is short enough for compute-sanitizer */
#include "halo/nvshmem/put.cuh"

#include "halo/gpu_scene.cuh"
#include "halo/slanted.cuh"

enum { BLOCKS = 2 };
static int steps = 100;

static const layout layouts[] = {
    {{2, 1, 1}, 1.0, 300, 1},  {{3, 1, 1}, 2.0, 200, 1}, {{1, 1, 3}, 1.5, 200, 0.25},
    {{4, 1, 1}, 1.5, 200, 1},  {{5, 1, 1}, 2.5, 150, 1}, {{1, 2, 3}, 1.25, 300, 1},
    {{2, 2, 2}, 1.25, 500, 1}, {{2, 2, 2}, 2.0, 200, 1}, {{4, 2, 1}, 1.75, 200, 1},
    {{2, 2, 2}, 1.0, 0, 1},
};

/* The PEs of a halo, each with a stream of its own. */
typedef struct crowd {
  std::vector<tg_device_halo_view> views;
  std::vector<cudaStream_t> streams;
  ~crowd() {
    for (cudaStream_t stream : streams) cudaStreamDestroy(stream);
  }
} crowd;

static bool gather_crowd(tg_device_halo* halo, int pes, crowd* out) {
  fake_heap heap = {};
  heap.bytes = halo->layout.bytes;
  heap.pe_count = pes;
  for (int p = 0; p < pes; p++) {
    tg_device_halo_view v;
    cudaStream_t stream;
    tg_device_halo_view_of(halo, p, &v);
    heap.memory[p] = halo->pes[(size_t)p].memory;
    cudaSetDevice(v.device);
    EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    out->views.push_back(v);
    out->streams.push_back(stream);
  }
  for (const tg_device_halo_view& v : out->views) {
    cudaSetDevice(v.device);
    EXPECT(cudaMemcpyToSymbol(fake, &heap, sizeof heap) == cudaSuccess);
  }
  return true;
}

/* What went wrong in a kernel is in the record of the card, which the halo reads. */
static bool all_done(tg_device_halo* halo, const crowd* c) {
  for (size_t p = 0; p < c->views.size(); p++) {
    cudaSetDevice(c->views[p].device);
    EXPECT(cudaStreamSynchronize(c->streams[p]) == cudaSuccess);
  }
  RUN(tg_device_halo_synchronize(halo));
  return true;
}

template <typename T>
static bool positions(const crowd* c, bool pulse, int consume) {
  const int channels = c->views[0].channel_count;
  for (int first = 0; first < (pulse ? channels : 1); first++)
    for (size_t p = 0; p < c->views.size(); p++) {
      cudaSetDevice(c->views[p].device);
      tg_put_positions<T>
          <<<dim3(BLOCKS, pulse ? 1 : (unsigned)channels), TG_PUT_THREADS, 0, c->streams[p]>>>(
              (const tg_halo_port<T>*)c->views[p].port, first, consume);
      EXPECT(cudaGetLastError() == cudaSuccess);
    }
  return true;
}

template <typename T>
static bool forces(const crowd* c, bool pulse) {
  const int channels = c->views[0].channel_count;
  for (int k = 0; k < (pulse ? channels : 1); k++)
    for (size_t p = 0; p < c->views.size(); p++) {
      const tg_halo_port<T>* port = (const tg_halo_port<T>*)c->views[p].port;
      cudaSetDevice(c->views[p].device);
      if (pulse)
        tg_put_pulse_forces<T>
            <<<BLOCKS, TG_PUT_THREADS, 0, c->streams[p]>>>(port, channels - 1 - k);
      else
        tg_put_forces<T>
            <<<dim3(BLOCKS, (unsigned)channels + 1), TG_PUT_THREADS, 0, c->streams[p]>>>(port);
      EXPECT(cudaGetLastError() == cudaSuccess);
    }
  return true;
}

/* Bits of schedule host and of the direct schedule that stores. */
static bool reference(const scene* s, bool direct, int gpus, bool wide, std::vector<double>* out) {
  const way w = {direct ? "direct" : "host", NULL, false};
  tg_device_halo_params params = params_of(&w, gpus, wide, true);
  holder h;
  RUN(tg_device_halo_create(&params, &s->plan, &h.halo));
  RUN(tg_device_halo_positions(h.halo));
  RUN(set_forces(s, h.halo, true));
  RUN(tg_device_halo_forces(h.halo));
  return check_forces(s, h.halo, out);
}

template <typename T>
static bool one_layout(const layout* wanted, bool direct, bool pulse, int gpus) {
  scene s;
  RUN(scene_make(wanted, 0, direct, &s));
  std::vector<double> bits;
  if (!reference(&s, direct, gpus, sizeof(T) == 8, &bits)) return false;
  const way w = {direct ? "direct" : "fused", "put", false};
  tg_device_halo_params params = params_of(&w, gpus, sizeof(T) == 8, true);
  holder h;
  crowd c;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  if (!gather_crowd(h.halo, s.plan.pe_count, &c)) return false;
  for (int round = 0; round < 3; round++) {
    RUN(set_positions(&s, h.halo));
    if (!positions<T>(&c, pulse, 0) || !all_done(h.halo, &c)) return false;
    if (!check_positions(&s, h.halo)) return false;
    RUN(set_forces(&s, h.halo, round == 2));
    if (!forces<T>(&c, pulse) || !all_done(h.halo, &c)) return false;
    std::vector<double> found;
    if (!check_forces(&s, h.halo, round == 2 ? &found : NULL)) return false;
    if (round == 2) EXPECT(memcmp(found.data(), bits.data(), bits.size() * sizeof(double)) == 0);
  }
  return true;
}

/* Positions in a triclinic box. */
template <typename T>
static bool slanted_bits(const layout* wanted, bool direct, bool pulse, int gpus) {
  slanted s;
  RUN(slanted_make(wanted, sizeof(T) == 8, &s));
  RUN(slanted_plan(&s, direct));
  const way w = {direct ? "direct" : "fused", "put", false};
  tg_device_halo_params params = params_of(&w, gpus, sizeof(T) == 8, true);
  holder h;
  crowd c;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  if (!gather_crowd(h.halo, s.plan.pe_count, &c)) return false;
  RUN(slanted_set(&s, h.halo));
  return positions<T>(&c, pulse, 0) && all_done(h.halo, &c) && slanted_check(&s, h.halo);
}

/* Back to back, with changing data. */
static bool back_to_back(const layout* wanted, bool direct, bool pulse, bool returns, int gpus) {
  scene s;
  RUN(scene_make(wanted, 0, direct, &s));
  const way w = {direct ? "direct" : "fused", "put", false};
  tg_device_halo_params params = params_of(&w, gpus, false, true);
  holder h;
  crowd c;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  if (!gather_crowd(h.halo, s.plan.pe_count, &c)) return false;
  std::vector<watch> watches(c.views.size());
  std::vector<char*> memory(c.views.size(), NULL);
  for (size_t p = 0; p < c.views.size(); p++)
    RUN(watch_make(&s, h.halo, (int)p, &watches[p], &memory[p]));
  bool right = true;
  for (int n = 0; n < steps && right; n++)
    for (int stage = 0; stage < 4 && right; stage++) {
      for (size_t p = 0; p < c.views.size(); p++) {
        const tg_halo_port<float>* port = (const tg_halo_port<float>*)c.views[p].port;
        cudaSetDevice(c.views[p].device);
        if (stage == 0) set_home<<<2, 128, 0, c.streams[p]>>>(port, only(watches[p]));
        if (stage == 1)
          check_halo<<<4, 128, 0, c.streams[p]>>>(port, only(watches[p]),
                                                  (int)c.views[p].local_capacity, 0);
        if (stage == 2 && returns) check_sums<<<2, 128, 0, c.streams[p]>>>(port, only(watches[p]));
        if (stage == 3) next_step<<<1, 1, 0, c.streams[p]>>>(only(watches[p]));
      }
      if (stage == 0) right = positions<float>(&c, pulse, !returns);
      if (stage == 1 && returns) right = forces<float>(&c, pulse);
    }
  right = all_done(h.halo, &c) && right;
  for (size_t p = 0; p < c.views.size(); p++) {
    unsigned found[2];
    cudaMemcpy(found, watches[p].step, sizeof found, cudaMemcpyDeviceToHost);
    cudaFree(memory[p]);
    right = expect(found[0] == (unsigned)steps, "all steps were made") && right;
    right = expect(found[1] == 0, "nothing stale") && right;
  }
  return right;
}

static tg_status load_put_kernels(int device) {
  cudaFuncAttributes a;
  TG_TRY(load_kernels_on(device));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_positions<float>), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_positions<double>), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_forces<float>), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_forces<double>), device, "loading"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_pulse_forces<float>), device, "loading"));
  return tg_cuda_status(cudaFuncGetAttributes(&a, tg_put_pulse_forces<double>), device, "loading");
}

/* quick: two layouts, few steps. */
static void all_on(int gpus, bool quick) {
  static const char* const names[] = {"fused", "pulse", "direct"};
  int number = 0;
  for (const layout& wanted : layouts) {
    if (quick && number++ % 5) continue; /* one message; two, or three direct */
    for (int kind = 0; kind < 3; kind++) {
      const bool direct = kind == 2, pulse = kind == 1;
      char name[100];
      snprintf(name, sizeof name, "put, %s, %d x %d x %d on %d GPU", names[kind], wanted.grid[0],
               wanted.grid[1], wanted.grid[2], gpus);
      report(one_layout<float>(&wanted, direct, pulse, gpus), name);
      report(one_layout<double>(&wanted, direct, pulse, gpus), std::string("double, ") + name);
      for (int returns = 0; returns < 2; returns++)
        report(back_to_back(&wanted, direct, pulse, returns != 0, gpus),
               std::string(returns ? "steps with forces, " : "steps, ") + name);
    }
  }
  for (const layout& wanted : slanted_layouts)
    for (int kind = 0; kind < 3; kind++) {
      const std::string name = std::string("put, triclinic, ") + names[kind];
      report(slanted_bits<float>(&wanted, kind == 2, kind == 1, gpus), name);
      report(slanted_bits<double>(&wanted, kind == 2, kind == 1, gpus), name + ", double");
    }
}

int main(int argc, char** argv) {
  const bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
  int there = tg_device_count();
  if (there == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  if (quick) {
    deadline_s = 20;
    steps = 10;
  }
  for (int gpus = 1; gpus <= (there < 2 ? there : 2); gpus++) {
    for (int i = 0; i < gpus; i++)
      if (load_put_kernels(i) != TG_OK) {
        printf("%s\n", tg_last_error());
        return 1;
      }
    all_on(gpus, quick);
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}
