/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/motif_transfer.h"

#include <math.h>

tg_scan_cost tg_scan_cost_fit(size_t count, const double* n, const double* seconds) {
  size_t least = 0, most = 0;
  for (size_t i = 1; i < count; i++) {
    if (n[i] < n[least]) least = i;
    if (n[i] > n[most]) most = i;
  }
  tg_scan_cost cost = {0, seconds[most] / n[most]};
  if (n[least] == n[most]) return cost;
  cost.element_s = fmax(0, (seconds[most] - seconds[least]) / (n[most] - n[least]));
  cost.fixed_s = fmax(0, seconds[least] - cost.element_s * n[least]);
  return cost;
}

double tg_scan_cost_of(tg_scan_cost cost, double n) { return cost.fixed_s + n * cost.element_s; }

tg_scan_cost tg_scan_cost_add(tg_scan_cost a, tg_scan_cost b) {
  return (tg_scan_cost){a.fixed_s + b.fixed_s, a.element_s + b.element_s};
}

double tg_scan_cost_crossing(tg_scan_cost a, tg_scan_cost b) {
  if (b.element_s == a.element_s) return b.fixed_s < a.fixed_s ? 0 : INFINITY;
  if (b.element_s > a.element_s) return INFINITY;
  return fmax(0, (b.fixed_s - a.fixed_s) / (a.element_s - b.element_s));
}

tg_scan_machine tg_scan_machine_of(tg_scan_cost copy, tg_scan_cost link, tg_scan_cost host,
                                   size_t few, double sweep_s) {
  enum { COPIED = 8 /* bytes: four read, or there, and four written, or back */ };
  /* a copy is a call and a kernel, a sweep a call and some kernels */
  const int kernels = tg_scan_kernels(TG_SCAN_SWEEP, few);
  const double more = kernels > 1 ? (sweep_s - copy.fixed_s) / (kernels - 1) : 0;
  const double kernel = fmin(fmax(0, more), copy.fixed_s);
  return (tg_scan_machine){.memory = COPIED / copy.element_s,
                           .to_host = COPIED / link.element_s,
                           .to_device = COPIED / link.element_s,
                           .call_s = copy.fixed_s - kernel,
                           .kernel_s = kernel,
                           .host_s = host.element_s};
}
