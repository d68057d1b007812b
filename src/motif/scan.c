/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/scan.h"

/* One way through the tree, in place: levels of stride 1, 2, 4 ... */
static double place_bytes(size_t count, size_t width) {
  double bytes = 0;
  for (size_t stride = 1; 2 * stride <= count; stride *= 2) {
    const size_t pairs = count / (2 * stride);
    bytes += 2 * stride * width <= TG_SCAN_SECTOR ? 2.0 * (double)count * (double)width
                                                  : 3.0 * TG_SCAN_SECTOR * (double)pairs;
  }
  return bytes;
}

/* Both ways, level above level; the lowest has elements of in bytes. */
static double packed_bytes(size_t count, size_t in, size_t out) {
  double bytes = 0;
  size_t width = in;
  for (size_t n = count; n > 1; n = (n + 1) / 2) {
    const size_t pairs = (n + 1) / 2;
    const double above = (double)pairs, here = (double)n;
    bytes += here * (double)width + above * (double)out;                      /* up */
    bytes += here * (double)width + above * (double)out + here * (double)out; /* down */
    width = out;
  }
  return bytes;
}

/* Two reads and a write of each level; and of the level below, its sums that are written, and read
 * at the end. */
static double two_pass_bytes(size_t count, size_t in, size_t out) {
  if (tg_scan_chunks(count) == 1) return (double)count * (double)(in + out);
  const size_t chunks = tg_scan_chunks(count);
  return (double)count * (double)(2 * in + out) + 2.0 * (double)chunks * (double)out +
         two_pass_bytes(chunks, out, out);
}

/* Levels above the lowest, up and down; the top goes down only. */
static int two_pass_kernels(size_t count) {
  const size_t chunks = tg_scan_chunks(count);
  return chunks == 1 ? 1 : 2 + two_pass_kernels(chunks);
}

double tg_scan_bytes(tg_scan_way way, size_t count, size_t in, size_t out) {
  const double once = (double)count * (double)(in + out);
  switch (way) {
    case TG_SCAN_SWEEP_IN_PLACE: return once + 2 * place_bytes(count, out);
    case TG_SCAN_SWEEP: return packed_bytes(count, in, out);
    case TG_SCAN_TWO_PASS: return two_pass_bytes(count, in, out);
    default: return once;
  }
}

int tg_scan_kernels(tg_scan_way way, size_t count) {
  int levels = 0;
  for (size_t n = count; n > 1; n = (n + 1) / 2) levels++;
  switch (way) {
    case TG_SCAN_SWEEP_IN_PLACE:
    case TG_SCAN_SWEEP: return 2 * levels + 1; /* and the copy, or the top */
    case TG_SCAN_TWO_PASS: return two_pass_kernels(count);
    case TG_SCAN_HOST: return 0;
    default: return 1;
  }
}

double tg_scan_time(const tg_scan_machine* machine, tg_scan_way way, size_t count, size_t in,
                    size_t out) {
  const double n = (double)count;
  double time = machine->call_s + machine->kernel_s * tg_scan_kernels(way, count);
  if (way == TG_SCAN_HOST)
    return time + machine->call_s + n * (double)in / machine->to_host + n * machine->host_s +
           n * (double)out / machine->to_device;
  if (way == TG_SCAN_SERIAL) return time + n * machine->serial_s;
  return time + tg_scan_bytes(way, count, in, out) / machine->memory;
}

tg_scan_way tg_scan_fastest(const tg_scan_machine* machine, size_t count, size_t in, size_t out) {
  tg_scan_way best = 0;
  for (tg_scan_way way = 0; way < TG_SCAN_WAYS; way++)
    if (tg_scan_time(machine, way, count, in, out) < tg_scan_time(machine, best, count, in, out))
      best = way;
  return best;
}

size_t tg_scan_crossing(const tg_scan_machine* machine, tg_scan_way way, tg_scan_way other,
                        size_t in, size_t out) {
  size_t from = 0;
  for (size_t count = (size_t)1 << 40; count >= 1; count /= 2) {
    if (!(tg_scan_time(machine, way, count, in, out) <
          tg_scan_time(machine, other, count, in, out)))
      break;
    from = count;
  }
  return from;
}

const char* tg_scan_way_name(tg_scan_way way) {
  static const char* const names[TG_SCAN_WAYS] = {"serial",      "sweep in place", "sweep",
                                                  "single_pass", "two_pass",       "host"};
  return names[way];
}
