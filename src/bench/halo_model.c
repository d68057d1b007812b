/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/halo_model.h"

#include <math.h>

#include "bench/halo_scene.h"
#include "halo/halo.h"

const tg_device_halo_constants tg_bench_halo_two_h200 = {
    .flag_s = 1.35e-6,
    .launch_s = 4.88e-6,
    .node_s = 0.50e-6,
    .wait_s = 5.29e-6,
    .bytes_per_s = 332.4e9,
    .between_cards = true,
};

const tg_bench_halo_fabric tg_bench_halo_ndr = {
    .latency_s = 5e-6,
    .bytes_per_s = 47e9,
    .message_s = 0.5e-6,
};

static tg_bench_halo_model in_us(double hops_s, double bytes_s, double starts_s) {
  return (tg_bench_halo_model){.hops_us = hops_s * 1e6,
                               .bytes_us = bytes_s * 1e6,
                               .starts_us = starts_s * 1e6,
                               .total_us = (hops_s + bytes_s + starts_s) * 1e6};
}

tg_bench_halo_model tg_bench_halo_model_gpus(const tg_device_halo_constants* c,
                                             const tg_bench_halo_work* work) {
  double starts = work->by_host ? work->launches * c->launch_s + work->waits * c->wait_s
                                : work->launches * c->node_s;
  return in_us(work->hops * c->flag_s, work->bytes / c->bytes_per_s, starts);
}

tg_bench_halo_model tg_bench_halo_model_host(const tg_bench_halo_host_constants* c,
                                             const tg_bench_halo_work* work) {
  double sent = work->bytes / (work->by_host ? c->message_bytes_per_s : c->put_bytes_per_s);
  return in_us(work->hops * (work->by_host ? c->message_s : c->flag_s),
               sent + work->bytes / c->pack_bytes_per_s,
               fmax(work->messages - work->hops, 0) * c->raise_s);
}

/* Pulses, neighbours and the bytes of a step, of bricks in a cube. */
static void measure_bricks(double edge, double reach, size_t element,
                           tg_bench_halo_prediction* at) {
  double stretched = 1, brick = 1;
  at->neighbours = 1;
  for (int d = 0; d < 3; d++) {
    double width = edge / at->grid[d];
    int along = 0;
    while (along < at->grid[d] - 1 && along * width < reach) along++;
    brick *= width;
    stretched *= at->grid[d] > 1 ? width + reach : width;
    at->pulses += along;
    at->neighbours *= along + 1;
  }
  at->neighbours--;
  at->bytes = 2 * (stretched - brick) * TG_BENCH_HALO_DENSITY * 3 * (double)element;
}

/* us of a step over a fabric, or over NVLink where there is none: every one of the messages each
 * way occupies the sender, hops of them one after another have a latency. */
static double over(const tg_bench_halo_fabric* fabric, const tg_device_halo_constants* c,
                   double bytes, int hops, int messages) {
  if (!fabric) return 2 * hops * c->flag_s + bytes / c->bytes_per_s;
  return 2 * hops * fabric->latency_s + 2 * messages * fabric->message_s +
         bytes / fabric->bytes_per_s;
}

tg_status tg_bench_halo_predict(int atoms, double reach, int gpus, size_t element,
                                const tg_device_halo_constants* c,
                                const tg_bench_halo_fabric* fabric, tg_bench_halo_prediction* out) {
  double edge = cbrt(atoms / TG_BENCH_HALO_DENSITY);
  const double box[3] = {edge, edge, edge};
  tg_bench_halo_prediction at = {.atoms = atoms, .gpus = gpus};
  TG_TRY(tg_halo_choose_grid(gpus, box, reach, at.grid));
  measure_bricks(edge, reach, element, &at);
  double staged = over(fabric, c, at.bytes, at.pulses, at.pulses);
  double direct = over(fabric, c, at.bytes, at.pulses > 0, at.neighbours);
  at.fused_us = 1e6 * (staged + 2 * c->node_s);
  at.direct_us = 1e6 * (direct + 2 * c->node_s);
  /* host, each way and pulse: a kernel and a copy are launched, and two waits block */
  at.host_us = 1e6 * (staged + 4 * at.pulses * (c->launch_s + c->wait_s));
  /* hops saved x latency = messages more x what one costs */
  at.break_even_s = INFINITY;
  if (fabric && at.neighbours > at.pulses)
    at.break_even_s = (at.pulses - 1) * fabric->latency_s / (at.neighbours - at.pulses);
  *out = at;
  return TG_OK;
}
