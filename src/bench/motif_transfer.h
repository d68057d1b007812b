/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/motif_transfer.h  Question: where should a device's numbers be scanned?
 *
 * Model: each way costs a fixed time and a time for each element,
 *
 *   serial on the device     one thread: little fixed, much for each element
 *   parallel on the device   launches (the sweep's grow with log n, which counts as fixed here)
 *   on the host              the link there and back, and the host's scan
 *
 * Two lines cross at most once, so for two ways there is a number of elements from which on one of
 * them wins. The constants are fitted to what was measured. A model of launches and bytes, beside
 * which the times can be laid, is in motif/scan.h; most of its constants are in the same lines. */
#ifndef TG_BENCH_MOTIF_TRANSFER_H
#define TG_BENCH_MOTIF_TRANSFER_H

#include <stddef.h>

#include "motif/scan.h"

/** Seconds for n elements: fixed_s + n element_s. */
typedef struct tg_scan_cost {
  double fixed_s, element_s;
} tg_scan_cost;

/** Through the times of the least and of the greatest n (of count >= 1; of one, all is for the
 * elements); neither constant is below 0. */
tg_scan_cost tg_scan_cost_fit(size_t count, const double* n, const double* seconds);
double tg_scan_cost_of(tg_scan_cost cost, double n);
tg_scan_cost tg_scan_cost_add(tg_scan_cost a, tg_scan_cost b);
/** The number of elements from which on b is faster than a: 0 where it always is, infinite where it
 * never is. */
double tg_scan_cost_crossing(tg_scan_cost a, tg_scan_cost b);

/** The machine of motif/scan.h by lines for 32-bit numbers: a copy (read and written), the link
 * there and back (as fast one way as the other), the host's scan; and by a sweep of so few numbers
 * that its kernels are its time. serial_s is left 0. */
tg_scan_machine tg_scan_machine_of(tg_scan_cost copy, tg_scan_cost link, tg_scan_cost host,
                                   size_t few, double sweep_s);

#endif
