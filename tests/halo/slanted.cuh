/* SPDX-License-Identifier: Apache-2.0 */
/* Positions in a triclinic box whose vectors, like the atoms' coordinates, have no short binary
 * form: a copy that crosses several boundaries is rounded at each, so its last bits tell in which
 * order it was shifted. The host library says what they must be. */
#ifndef TG_TESTS_HALO_SLANTED_CUH
#define TG_TESTS_HALO_SLANTED_CUH

#include "halo/gpu_scene.cuh"

static const double slanted_box[3][3] = {{3.1, 0, 0}, {0.7, 3.3, 0}, {-0.9, 1.1, 2.9}};

static const layout slanted_layouts[] = {
    {{2, 2, 2}, 1.15, 400, 1}, {{3, 1, 1}, 1.2, 250, 1}, {{1, 2, 3}, 1.2, 300, 1},
    {{1, 1, 5}, 1.9, 200, 1},  {{4, 2, 1}, 1.3, 200, 1},
};

typedef struct slanted {
  layout wanted;
  bool wide;
  std::vector<std::vector<double>> centres, x; /* by PE: [home][3] */
  std::vector<std::vector<int>> numbers;
  std::vector<std::vector<double>> copies; /* by PE: [atoms][3], from the host library */
  std::vector<std::vector<int>> seen;      /* by PE: [atoms], copies there */
  tg_device_plan plan = {};
  ~slanted() { tg_device_plan_free(&plan); }
} slanted;

template <typename T>
static tg_status slanted_exchange(tg_halo* halo, slanted* s, int pe) {
  const size_t home = s->numbers[(size_t)pe].size(), local = home + tg_halo_halo_count(halo);
  std::vector<int> number(s->numbers[(size_t)pe]);
  std::vector<T> x(3 * local + 3);
  number.resize(local + 1);
  for (size_t i = 0; i < 3 * home; i++) x[i] = (T)s->x[(size_t)pe][i];
  TG_TRY(tg_halo_copy(halo, number.data(), sizeof number[0]));
  if (sizeof(T) == 8)
    TG_TRY(tg_halo_positions(halo, (double(*)[3])(void*)x.data()));
  else
    TG_TRY(tg_halo_positions_float(halo, (float(*)[3])(void*)x.data()));
  for (size_t i = home; i < local; i++) {
    s->seen[(size_t)pe][(size_t)number[i]]++;
    for (size_t d = 0; d < 3; d++)
      s->copies[(size_t)pe][3 * (size_t)number[i] + d] = (double)x[3 * i + d];
  }
  return TG_OK;
}

/* One PE of a world of threads. */
static tg_status slanted_on_host(tg_world* world, void* context) {
  slanted* s = (slanted*)context;
  const size_t pe = (size_t)tg_world_pe(world);
  tg_halo_params params = {};
  params.schedule = "host";
  memcpy(params.grid, s->wanted.grid, sizeof params.grid);
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  tg_status status =
      tg_halo_plan_triclinic(halo, slanted_box, s->wanted.reach, s->numbers[pe].size(),
                             (const double(*)[3])s->centres[pe].data());
  if (status == TG_OK)
    status = s->wide ? slanted_exchange<double>(halo, s, (int)pe)
                     : slanted_exchange<float>(halo, s, (int)pe);
  tg_halo_destroy(&halo);
  return status;
}

/* Every seventh atom has a coordinate of -0. */
static tg_status slanted_make(const layout* wanted, bool wide, slanted* s) {
  const int* grid = wanted->grid;
  const int pes = grid[0] * grid[1] * grid[2];
  s->wanted = *wanted;
  s->wide = wide;
  s->centres.resize((size_t)pes);
  s->x.resize((size_t)pes);
  s->numbers.resize((size_t)pes);
  s->copies.assign((size_t)pes, std::vector<double>(3 * (size_t)wanted->atoms));
  s->seen.assign((size_t)pes, std::vector<int>((size_t)wanted->atoms, 0));
  for (int i = 0; i < wanted->atoms; i++) {
    double at[3] = {0, 0, 0};
    int pe = 0;
    for (int d = 0; d < 3; d++) {
      double u = uniform(3 * (uint64_t)i + (uint64_t)d, 3);
      pe = pe * grid[d] + (int)(u * grid[d]);
      for (int k = 0; k < 3; k++) at[k] += u * slanted_box[d][k];
    }
    s->numbers[(size_t)pe].push_back(i);
    for (int d = 0; d < 3; d++) {
      s->centres[(size_t)pe].push_back(at[d]);
      s->x[(size_t)pe].push_back(i % 7 == 0 && i / 7 % 3 == d ? -0.0 : at[d]);
    }
  }
  tg_world_params params = {};
  params.transport = "loop";
  params.pe_count = pes;
  params.deadline_s = 20;
  return tg_world_run(&params, slanted_on_host, s);
}

static tg_status slanted_plan(slanted* s, bool direct) {
  std::vector<size_t> counts;
  std::vector<const double(*)[3]> centres;
  for (size_t p = 0; p < s->numbers.size(); p++) {
    counts.push_back(s->numbers[p].size());
    centres.push_back((const double(*)[3])s->centres[p].data());
  }
  tg_device_plan_free(&s->plan);
  return tg_device_plan_make_triclinic(s->wanted.grid, slanted_box, s->wanted.reach, counts.data(),
                                       centres.data(), direct, &s->plan);
}

static tg_status slanted_set(const slanted* s, tg_device_halo* halo) {
  for (int p = 0; p < s->plan.pe_count; p++)
    TG_TRY(tg_device_halo_set_positions(halo, p, (const double(*)[3])s->x[(size_t)p].data()));
  return TG_OK;
}

/* Of the kernel of a caller: home atoms as they are, pushed or posted. */
template <typename T>
static __global__ void slanted_send(const tg_halo_port<T>* ports, int by_mail) {
  const tg_halo_port<T>* port = &ports[blockIdx.z];
  const uint64_t number = tg_halo_next(port);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < port->home_count;
       i += gridDim.x * blockDim.x) {
    const T* x = port->x + 3 * i;
    if (by_mail)
      tg_halo_post_atom(port, i, x[0], x[1], x[2], number);
    else
      tg_halo_push(port, i, x[0], x[1], x[2]);
  }
  if (by_mail)
    tg_halo_posted(port, number, gridDim.x);
  else
    tg_halo_raise(port, number, gridDim.x);
}

/* One launch for each card. */
static inline bool slanted_push(const slanted* s, tg_device_halo* halo, bool by_mail) {
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    const dim3 grid(2, 1, (unsigned)card->pe_count);
    cudaSetDevice(card->device);
    if (s->wide)
      slanted_send<<<grid, 128, 0, card->stream>>>((const tg_halo_port<double>*)halo->ports[i],
                                                   (int)by_mail);
    else
      slanted_send<<<grid, 128, 0, card->stream>>>((const tg_halo_port<float>*)halo->ports[i],
                                                   (int)by_mail);
    EXPECT(cudaGetLastError() == cudaSuccess);
  }
  RUN(by_mail ? tg_device_halo_posted(halo) : tg_device_halo_pushed(halo));
  RUN(tg_device_halo_await(halo));
  return true;
}

static inline tg_status slanted_load(int device) {
  cudaFuncAttributes a;
  TG_TRY(tg_cuda_status(cudaSetDevice(device), device, "selecting it"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, slanted_send<float>), device, "loading"));
  return tg_cuda_status(cudaFuncGetAttributes(&a, slanted_send<double>), device, "loading");
}

/* The copies have the host's bits, signs of zeros included. */
static bool slanted_check(const slanted* s, tg_device_halo* halo) {
  for (int p = 0; p < s->plan.pe_count; p++) {
    const tg_device_part* part = &s->plan.parts[p];
    std::vector<double> x(3 * part->local_count + 3);
    size_t wanted = 0;
    for (int one : s->seen[(size_t)p]) wanted += (size_t)one;
    EXPECT(part->local_count - part->home_count == wanted);
    RUN(tg_device_halo_get_positions(halo, p, (vector3*)x.data()));
    for (size_t i = part->home_count; i < part->local_count; i++) {
      size_t atom = (size_t)s->numbers[(size_t)part->origin_pe[i]][part->origin_atom[i]];
      EXPECT(s->seen[(size_t)p][atom] == 1);
      const double* host = &s->copies[(size_t)p][3 * atom];
      if (memcmp(&x[3 * i], host, 3 * sizeof(double)) == 0) continue;
      printf("    PE %d, atom %zu: %a %a %a, on the host %a %a %a\n", p, atom, x[3 * i],
             x[3 * i + 1], x[3 * i + 2], host[0], host[1], host[2]);
      return false;
    }
  }
  return true;
}

#endif
