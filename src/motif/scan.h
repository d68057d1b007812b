/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/scan.h  Scan: counts to offsets.
 *
 * Exclusive and of any length: out[0] = 0 and out[i + 1] = out[i] + in[i], so out has count + 1
 * elements and its last is the total. in and out do not overlap. Sums of 32 bits wrap.
 *
 * Names: serial; sweep (up and down a binary tree, a parallel loop or kernel a level; for any
 * length in + out + 2 sums an element); single_pass (each element is read once and written once);
 * library; omp_scan (the scan directive of OpenMP 5). */
#ifndef TG_MOTIF_SCAN_H
#define TG_MOTIF_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/** A backend's version offers what is not NULL. scratch: of as many bytes as the function of that
 * name says for count elements of out's width (which is NULL where nothing is needed), aligned to a
 * cache line, of any content. threads: of host backends. */
typedef struct tg_scan_version {
  const char* name;
  const char* (*refuses)(void); /* why not on this machine; NULL: runs */
  size_t (*scratch)(size_t count, size_t width);
  tg_status (*u32)(size_t count, const uint32_t* in, uint32_t* out, void* scratch, int threads);
  tg_status (*u64)(size_t count, const uint64_t* in, uint64_t* out, void* scratch, int threads);
  /** counts of 32 bits to offsets of 64. */
  tg_status (*offsets)(size_t count, const uint32_t* in, uint64_t* out, void* scratch, int threads);
} tg_scan_version;

#endif
