/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of a plan in device memory, byte by byte: to be spoilt before a plan is made there, and
 * compared with those that the host uploads. */
#ifndef TG_TESTS_HALO_PLAN_MAPS_CUH
#define TG_TESTS_HALO_PLAN_MAPS_CUH

#include <stdio.h>
#include <string.h>

#include <vector>

#include "halo/cuda/internal.cuh"

/* A map: its name, place and bytes. */
typedef struct map_part {
  const char* name;
  size_t at, bytes;
} map_part;

static std::vector<map_part> parts_of(const tg_device_halo* h) {
  const tg_device_layout* at = &h->layout;
  size_t channels = (size_t)h->channel_count;
  return {{"index", at->index, h->send_capacity * 4},
          {"segment", at->segment, channels * (channels + 1) * 4},
          {"copy_start", at->copy_start, (h->local_capacity + 1) * 4},
          {"copy", at->copy, h->copy_capacity * 4},
          {"sum", at->sum, h->local_capacity * sizeof(tg_halo_sum)},
          {"source", at->source, h->copy_capacity * 8},
          {"channel", at->channel, channels * sizeof(tg_halo_channel<double>)},
          {"return_atom", at->return_atom, h->home_capacity * 4}};
}

/* All maps and the port of a PE. return_atom counts as far as it is valid. */
template <typename T>
static bool snapshot(const tg_device_halo* h, int p, std::vector<std::vector<char>>* out) {
  tg_device_halo_view v;
  tg_device_halo_view_of(h, p, &v);
  cudaSetDevice(v.device);
  std::vector<char> port(sizeof(tg_halo_port<T>));
  bool read = cudaMemcpy(port.data(), v.port, port.size(), cudaMemcpyDeviceToHost) == cudaSuccess;
  out->clear();
  for (const map_part& one : parts_of(h)) {
    std::vector<char> bytes(one.bytes);
    read = read && cudaMemcpy(bytes.data(), h->pes[(size_t)p].memory + one.at, one.bytes,
                              cudaMemcpyDeviceToHost) == cudaSuccess;
    if (!strcmp(one.name, "channel"))
      bytes.resize((size_t)h->channel_count * sizeof(tg_halo_channel<T>));
    if (!strcmp(one.name, "return_atom"))
      bytes.resize(4 * (size_t)((tg_halo_port<T>*)port.data())->return_count);
    out->push_back(bytes);
  }
  out->push_back(port);
  if (!read) printf("    PE %d: its maps cannot be read\n", p);
  return read;
}

/* Whatever a plan writes is spoilt, so that nothing of the last plan passes for the new one. */
template <typename T>
static bool spoil(tg_device_halo* h, int p) {
  tg_device_halo_view v;
  tg_device_halo_view_of(h, p, &v);
  cudaSetDevice(v.device);
  char* memory = h->pes[(size_t)p].memory;
  for (const map_part& one : parts_of(h))
    if (strcmp(one.name, "channel")) cudaMemset(memory + one.at, 0x5a, one.bytes);
  std::vector<tg_halo_channel<T>> channels((size_t)h->channel_count);
  size_t bytes = channels.size() * sizeof channels[0];
  cudaMemcpy(channels.data(), memory + h->layout.channel, bytes, cudaMemcpyDeviceToHost);
  for (tg_halo_channel<T>& one : channels) {
    one.send_count = one.receive_count = 77;
    one.f_waits = 77;
    one.shift = {{77, 77, 77}, {77, 77}, 77};
  }
  cudaMemcpy(memory + h->layout.channel, channels.data(), bytes, cudaMemcpyHostToDevice);
  tg_halo_port<T> port;
  cudaMemcpy(&port, v.port, sizeof port, cudaMemcpyDeviceToHost);
  port.home_count = port.return_count = 77;
  cudaMemcpy((void*)v.port, &port, sizeof port, cudaMemcpyHostToDevice);
  h->pes[(size_t)p].home_count = 77;
  return cudaDeviceSynchronize() == cudaSuccess;
}

/* What was made and what the host uploads; says where they differ. */
static bool same_bytes(const tg_device_halo* h, int p, const std::vector<std::vector<char>>& made,
                       const std::vector<std::vector<char>>& uploaded) {
  std::vector<map_part> names = parts_of(h);
  names.push_back({"port", 0, 0});
  bool right = true;
  for (size_t i = 0; i < names.size(); i++) {
    const std::vector<char>&a = made[i], &b = uploaded[i];
    if (a == b) continue;
    size_t at = 0;
    while (at < a.size() && at < b.size() && a[at] == b[at]) at++;
    printf("    PE %d: %s: %zu and %zu bytes, word %zu is %u, the host's %u\n", p, names[i].name,
           a.size(), b.size(), at / 4, at / 4 < a.size() / 4 ? ((unsigned*)a.data())[at / 4] : 0,
           at / 4 < b.size() / 4 ? ((unsigned*)b.data())[at / 4] : 0);
    right = false;
  }
  return right;
}

/* The maps of PEs first..end-1 that are there, made on the device, against those that the host
 * uploads for plan, which then are there. Of a world: collective. */
template <typename T>
static bool maps_match(tg_device_halo* h, const tg_device_plan* plan, int first, int end) {
  std::vector<std::vector<std::vector<char>>> made((size_t)end), uploaded((size_t)end);
  const std::vector<tg_device_pe> counts = h->pes;
  bool right = true;
  for (int p = first; p < end; p++) right = snapshot<T>(h, p, &made[(size_t)p]) && right;
  if (tg_device_halo_replan(h, plan) != TG_OK) {
    printf("    the host's plan: %s\n", tg_last_error());
    return false;
  }
  for (int p = first; p < end && right; p++) {
    const tg_device_pe *before = &counts[(size_t)p], *after = &h->pes[(size_t)p];
    right = snapshot<T>(h, p, &uploaded[(size_t)p]);
    right = right && same_bytes(h, p, made[(size_t)p], uploaded[(size_t)p]);
    if (before->home_count == after->home_count && before->send_count == after->send_count &&
        before->receive_count == after->receive_count)
      continue;
    printf("    PE %d: the host knows other counts than the device\n", p);
    right = false;
  }
  return right;
}

#endif
