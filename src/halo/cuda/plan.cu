/* SPDX-License-Identifier: Apache-2.0 */
/* Plans made on the device, the host's side: inputs, launches, and the counts that come of it. */
#include "halo/cuda/plan.cuh"

#include <string.h>

#include <algorithm>

#include "halo/cuda/internal.cuh"

size_t tg_plan_words_size(int channels) { return tg_plan_words_bytes(channels); }

int tg_plan_tile_count(size_t atoms) {
  return std::max(1, (int)((atoms + TG_PLAN_TILE - 1) / TG_PLAN_TILE));
}

static tg_status select_card(const tg_device_halo* halo, int card) {
  int device = halo->cards.card[card].device;
  return tg_cuda_status(cudaSetDevice(device), device, "selecting it");
}

/* Channels as device_plan.h orders them; false if the halo has not as many. */
static bool name_channels(const tg_device_halo* halo, const tg_device_geometry* box,
                          tg_plan_shape* shape) {
  const int *most = box->pulses, room = halo->channel_count;
  int c = 0;
  if (!halo->direct) {
    for (int d = 2; d >= 0; d--) {
      shape->first[d] = c;
      for (int i = 0; i < most[d]; i++, c++) {
        if (c == room) return false;
        shape->dimension[c] = (uint8_t)d;
        shape->pulse[c] = (uint8_t)i;
      }
    }
    return c == room;
  }
  for (int x = 0; x <= most[0]; x++)
    for (int y = 0; y <= most[1]; y++)
      for (int z = 0; z <= most[2]; z++) {
        if (!x && !y && !z) continue;
        if (c == room) return false;
        shape->offset[c++] = (uint32_t)(x | y << 8 | z << 16);
      }
  return c == room;
}

static tg_plan_shape shape_of(const tg_device_halo* halo, const tg_device_geometry* box,
                              bool* fits) {
  tg_plan_shape shape;
  memset(&shape, 0, sizeof shape);
  const tg_device_layout* at = &halo->layout;
  shape.direct = halo->direct;
  shape.channel_count = halo->channel_count;
  shape.home_capacity = (int)halo->home_capacity;
  shape.local_capacity = (int)halo->local_capacity;
  shape.copy_capacity = (int)halo->copy_capacity;
  shape.home_tiles = tg_plan_tile_count(halo->home_capacity);
  shape.x = at->x;
  shape.flags = at->flags;
  shape.words = at->plan_words;
  shape.code = at->plan_code;
  shape.tiles = at->plan_tiles;
  shape.closed = at->plan_closed;
  for (int d = 0; d < 3; d++) {
    shape.grid[d] = box->grid[d];
    shape.pulses[d] = box->pulses[d];
  }
  for (int c = 0; c < halo->channel_count; c++) {
    shape.capacity[c] = (int)halo->capacity[c];
    shape.slice[c] = (int)halo->slice[c];
  }
  *fits = name_channels(halo, box, &shape);
  return shape;
}

/* Do the halo's messages go where those of this shape do? As many they are. */
static bool same_ways(const tg_device_halo* halo, const tg_plan_shape* shape) {
  const int* grid = shape->grid;
  for (int p = tg_first_pe(halo); p < tg_end_pe(halo); p++)
    for (int c = 0; c < halo->channel_count; c++) {
      int cell[3] = {p / grid[2] / grid[1], p / grid[2] % grid[1], p % grid[2]}, to = 0;
      for (int d = 0; d < 3; d++) {
        int up = shape->direct ? (int)(shape->offset[c] >> 8 * d & 255) : shape->dimension[c] == d;
        to = to * grid[d] + (cell[d] - up + grid[d]) % grid[d];
      }
      if (halo->pes[p].to[c] != to) return false;
    }
  return true;
}

template <typename T>
static tg_status load_kernels(int device) {
  cudaFuncAttributes a;
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_plan_count<T>), device, "loading a kernel"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_plan_send<T>), device, "loading a kernel"));
  TG_TRY(tg_cuda_status(cudaFuncGetAttributes(&a, tg_plan_scan<T>), device, "loading a kernel"));
  return tg_cuda_status(cudaFuncGetAttributes(&a, tg_plan_copies<T>), device, "loading a kernel");
}

enum { INPUTS_AT = (sizeof(tg_device_geometry) + 15) / 16 * 16 };

template <typename T>
static tg_status put_inputs(tg_device_halo* halo, const tg_device_halo_source* sources) {
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    std::vector<char> bytes(INPUTS_AT + card->pe_count * sizeof(tg_plan_input<T>), 0);
    memcpy(bytes.data(), &halo->geometry, sizeof halo->geometry);
    for (int p = 0; sources && p < card->pe_count; p++) {
      const tg_device_halo_source* source = &sources[card->first_pe + p];
      tg_plan_input<T> input = {(const T*)source->centre, source->home_count};
      memcpy(&bytes[INPUTS_AT + p * sizeof input], &input, sizeof input);
    }
    TG_TRY(select_card(halo, i));
    TG_TRY(load_kernels<T>(card->device));
    if (!halo->plan_input[i])
      TG_TRY(tg_cuda_status(cudaMalloc((void**)&halo->plan_input[i], bytes.size()), card->device,
                            "allocating halo memory"));
    TG_TRY(tg_cuda_status(
        cudaMemcpy(halo->plan_input[i], bytes.data(), bytes.size(), cudaMemcpyHostToDevice),
        card->device, "copying to it"));
    TG_TRY(tg_cuda_status(cudaDeviceSynchronize(), card->device, "copying to it"));
  }
  return TG_OK;
}

/* What a process can tell by itself. */
static tg_status check_from(const tg_device_halo* halo, const double box[3][3], double reach,
                            tg_device_geometry* made) {
  if (halo->schedule < TG_DEVICE_PULSE)
    return tg_fail(TG_ERR_INPUT,
                   "halo: schedules host and stream take their plans from the host; use pulse, "
                   "fused or direct");
  if (halo->path != TG_DEVICE_STORE)
    return tg_fail(TG_ERR_INPUT,
                   "halo: path put takes its plans from the host (tg_device_halo_replan), as "
                   "devices make theirs by stores into each other's memory; give path store where "
                   "GPUs are joined by NVLink");
  bool oblique = false, fits = false;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) oblique = oblique || (i != j && box[i][j] != 0);
  TG_TRY(tg_device_geometry_make(halo->grid, box, oblique, reach, made));
  tg_plan_shape shape = shape_of(halo, made, &fits);
  if (!fits || !same_ways(halo, &shape))
    return tg_fail(TG_ERR_MACHINE,
                   "halo: a reach of %g nm spans %d x %d x %d domains, other than the plan that "
                   "memory was laid out for; make a new halo",
                   reach, made->pulses[0], made->pulses[1], made->pulses[2]);
  return TG_OK;
}

tg_status tg_device_halo_plan_from(tg_device_halo* halo, const double box[3][3], double reach,
                                   const tg_device_halo_source* sources) {
  tg_device_geometry made;
  tg_status status = check_from(halo, box, reach, &made);
  if (halo->world) status = tg_device_processes_geometry(halo, &made, status);
  TG_TRY(status);
  TG_TRY(tg_device_halo_synchronize(halo));
  halo->geometry = made;
  status =
      halo->double_precision ? put_inputs<double>(halo, sources) : put_inputs<float>(halo, sources);
  return halo->world ? tg_world_agree(halo->world, status) : status;
}

template <typename... Formal, typename... Actual>
static tg_status launch(tg_device_halo* halo, int card_number, int blocks, int rows,
                        void (*kernel)(Formal...), Actual... args) {
  const tg_card* card = &halo->cards.card[card_number];
  TG_TRY(select_card(halo, card_number));
  dim3 grid((unsigned)blocks, (unsigned)rows, (unsigned)card->pe_count);
  kernel<<<grid, TG_PLAN_TILE, 0, card->stream>>>(Formal(args)...);
  return tg_cuda_status(cudaGetLastError(), card->device, "launching a halo kernel");
}

/* Tiles of the slots that may hold what channel c forwards. */
static int slot_tiles(const tg_plan_shape* shape, int c) {
  int begin = shape->pulse[c] ? shape->slice[c - 1] : shape->home_capacity;
  return (shape->slice[c] - begin + TG_PLAN_SLOTS - 1) / TG_PLAN_SLOTS;
}

template <typename T>
static tg_status replan(tg_device_halo* halo) {
  bool fits;
  const tg_plan_shape shape = shape_of(halo, &halo->geometry, &fits);
  const int channels = shape.channel_count, cards = halo->cards.count;
  int halo_tiles = (shape.local_capacity - shape.home_capacity + TG_PLAN_SLOTS - 1) / TG_PLAN_SLOTS;
  int largest = 1;
  for (int c = 0; c < channels; c++) largest = std::max(largest, shape.capacity[c]);
  auto ports = [&](int i) { return (tg_halo_port<T>*)halo->ports[i]; };
  auto box = [&](int i) { return (const tg_device_geometry*)halo->plan_input[i]; };
  for (int i = 0; i < cards; i++)
    TG_TRY(launch(halo, i, shape.home_tiles, 1, tg_plan_count<T>, ports(i),
                  (const tg_plan_input<T>*)(halo->plan_input[i] + INPUTS_AT), box(i), shape));
  for (int c = 0; c < (shape.direct ? std::min(channels, 1) : channels); c++) {
    int tiles = shape.direct ? shape.home_tiles
                             : slot_tiles(&shape, c) + (shape.pulse[c] ? 0 : shape.home_tiles);
    for (int i = 0; i < cards; i++)
      TG_TRY(launch(halo, i, tiles + 1, shape.direct ? channels : 1, tg_plan_send<T>, ports(i),
                    box(i), c, shape));
  }
  for (int i = 0; i < cards; i++)
    TG_TRY(launch(halo, i, shape.home_tiles + halo_tiles + 1, 1, tg_plan_scan<T>, ports(i), shape));
  int blocks = std::min(64, tg_plan_tile_count((size_t)largest));
  for (int i = 0; i < cards; i++)
    TG_TRY(launch(halo, i, blocks, channels + 1, tg_plan_copies<T>, ports(i), shape));
  for (int i = 0; i < cards; i++) halo->plan_queued[i] = true;
  return tg_device_tables_queue(halo);
}

tg_status tg_device_halo_replan_on_device(tg_device_halo* halo) {
  if (!halo->plan_input[0])
    return tg_fail(TG_ERR_INTERNAL, "halo: a plan on the device before tg_device_halo_plan_from");
  if (halo->returns_forces && halo->positions_out)
    return tg_fail(TG_ERR_INTERNAL, "halo: a new plan between positions and forces");
  halo->plans_here = true;
  return halo->double_precision ? replan<double>(halo) : replan<float>(halo);
}

template <typename T>
static tg_status fetch(tg_device_halo* halo) {
  size_t channels = (size_t)halo->channel_count;
  std::vector<tg_halo_channel<T>> all(channels);
  for (int p = tg_first_pe(halo); p < tg_end_pe(halo); p++) {
    tg_device_pe* pe = &halo->pes[p];
    const tg_card* card = &halo->cards.card[pe->card];
    tg_halo_port<T> port;
    TG_TRY(select_card(halo, pe->card));
    TG_TRY(tg_cuda_status(
        cudaMemcpy(&port, (tg_halo_port<T>*)halo->ports[pe->card] + (p - card->first_pe),
                   sizeof port, cudaMemcpyDeviceToHost),
        card->device, "reading a plan's counts"));
    TG_TRY(tg_cuda_status(
        cudaMemcpy(all.data(), port.channel, channels * sizeof all[0], cudaMemcpyDeviceToHost),
        card->device, "reading a plan's counts"));
    pe->home_count = (size_t)port.home_count;
    for (size_t c = 0; c < channels; c++) {
      pe->send_count[c] = (size_t)all[c].send_count;
      pe->receive_count[c] = (size_t)all[c].receive_count;
    }
  }
  return TG_OK;
}

tg_status tg_device_counts_fetch(tg_device_halo* halo) {
  return halo->double_precision ? fetch<double>(halo) : fetch<float>(halo);
}
