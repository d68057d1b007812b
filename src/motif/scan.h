/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/scan.h  Scan: counts to offsets.
 *
 * Exclusive and of any length: out[0] = 0 and out[i + 1] = out[i] + in[i], so out has count + 1
 * elements and its last is the total. in and out do not overlap. Sums of 32 bits wrap.
 *
 * Names: serial; sweep (up and down a binary tree, a parallel loop or kernel a level); single_pass
 * (each element is read once and written once); two_pass (sums of parts, then each part again);
 * library; omp_scan (the scan directive of OpenMP 5); host, host pinned (of numbers in a device's
 * memory: on the host, over the link and back). */
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

/* Which way when: a model of the time of a scan of numbers that lie in a device's memory. */

typedef enum tg_scan_way {
  TG_SCAN_SERIAL,         /* one thread of the device */
  TG_SCAN_SWEEP_IN_PLACE, /* a kernel a level, level l at strides of 2^l: a sector a number */
  TG_SCAN_SWEEP,          /* a kernel a level, each level packed */
  TG_SCAN_SINGLE_PASS,
  TG_SCAN_TWO_PASS, /* a kernel a level of chunks (tg_scan_chunk), up and down */
  TG_SCAN_HOST,     /* there and back */
  TG_SCAN_WAYS
} tg_scan_way;

/** What the model goes by; each is measured. */
typedef struct tg_scan_machine {
  double memory;             /* bytes a second of the device's memory, read and written together */
  double to_host, to_device; /* bytes a second of the link */
  double call_s;             /* of a call that does next to nothing, with waiting for it */
  double kernel_s;           /* of a kernel more that is queued behind another */
  double serial_s;           /* of an element, one thread of the device */
  double host_s;             /* of an element, the host's scan */
} tg_scan_machine;

enum { TG_SCAN_SECTOR = 32 /* bytes of memory that are read or written together */ };

/** Elements to a chunk of two_pass's level of count, of which a thread has one: longer chunks where
 * there would be more than 2^16, as each keeps a line of the first-level cache. And its chunks. */
enum { TG_SCAN_CHUNK = 256, TG_SCAN_CHUNKS = 1 << 16 };
static inline size_t tg_scan_chunk(size_t count) {
  const size_t chunk = (count + TG_SCAN_CHUNKS - 1) / TG_SCAN_CHUNKS;
  return chunk > TG_SCAN_CHUNK ? chunk : (size_t)TG_SCAN_CHUNK;
}
static inline size_t tg_scan_chunks(size_t count) {
  const size_t chunk = tg_scan_chunk(count);
  return count > 0 ? (count + chunk - 1) / chunk : 1;
}

/** Bytes that go through the device's memory if no cache keeps any from level to level, of elements
 * of so many bytes in and sums of so many bytes out:
 *
 *   serial, single_pass, host   n (in + out)
 *   sweep                       a level of n reads n and writes n/2 on the way up, reads n and n/2
 *                               and writes n on the way down: 8 n out where in = out
 *   sweep in place              n (in + out) for the copy; each way, a level of stride s: all is
 *                               read and written while 2 s sums lie in a sector, then three sectors
 *                               for each of n/2s pairs: 20 n out where in = out = 4 bytes
 *   two_pass                    n (2 in + out), and of the c sums of chunks, where there is more
 * than one, c out written, and c out read for the last kernel; they are scanned in place likewise,
 * 3 c out: 3 n out and little more where in = out */
double tg_scan_bytes(tg_scan_way way, size_t count, size_t in, size_t out);
/** Kernels that are queued, one a level and way; two_pass: five from 65,537 elements on. */
int tg_scan_kernels(tg_scan_way way, size_t count);
/** Seconds. call + kernels + bytes / memory; serial: call + kernel + elements; host: two calls, for
 * both copies are waited for, the link there and back, and the elements. */
double tg_scan_time(const tg_scan_machine* machine, tg_scan_way way, size_t count, size_t in,
                    size_t out);
tg_scan_way tg_scan_fastest(const tg_scan_machine* machine, size_t count, size_t in, size_t out);
/** The least power of two from which on, up to 2^40, way takes less time than other; 0: none. */
size_t tg_scan_crossing(const tg_scan_machine* machine, tg_scan_way way, tg_scan_way other,
                        size_t in, size_t out);
/** "serial", "sweep in place", ... */
const char* tg_scan_way_name(tg_scan_way way);

#endif
