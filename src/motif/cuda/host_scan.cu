/* SPDX-License-Identifier: Apache-2.0 */
/* Scan on the host of numbers that lie on the device: what a program does that has a scan for the
 * host alone. Its time is that of the link and of the host's threads (tg_scan_model_time).
 *
 * The host's memory is kept from call to call, until more is asked for: making it costs more than
 * the scan (pages that are touched first, or pinned). */
#include <stdlib.h>

#include "motif/cuda/internal.cuh"

extern "C" {
#include "motif/omp/table.h"
}

typedef struct staging {
  void* room;
  size_t bytes;
} staging;

static staging numbers[2], sums[2]; /* pageable, pinned */

static void staging_free(staging* s, bool pinned) {
  if (pinned)
    cudaFreeHost(s->room);
  else
    free(s->room);
  *s = {};
}

/* At least so many bytes. */
static tg_status staging_ask(staging* s, size_t bytes, bool pinned) {
  if (bytes <= s->bytes) return TG_OK;
  staging_free(s, pinned);
  if (pinned)
    TG_TRY(tg_cuda_status(cudaHostAlloc(&s->room, bytes, cudaHostAllocDefault), 0,
                          "asking for pinned memory"));
  else
    s->room = malloc(bytes);
  if (s->room == NULL)
    return tg_fail(TG_ERR_MACHINE, "no memory for a scan on the host: %zu bytes were asked for",
                   bytes);
  s->bytes = bytes;
  return TG_OK;
}

template <class IN, class OUT>
static tg_status on_host(size_t count, const IN* in, OUT* out, int threads, bool pinned,
                         tg_status (*scan)(size_t, const IN*, OUT*, void*, int)) {
  staging *from = &numbers[pinned], *to = &sums[pinned];
  const size_t in_bytes = count * sizeof *in, out_bytes = (count + 1) * sizeof *out;
  TG_TRY(staging_ask(from, in_bytes + 1, pinned));
  TG_TRY(staging_ask(to, out_bytes, pinned));
  /* the default stream: what was queued before has been done */
  if (count > 0)
    TG_TRY(tg_cuda_status(cudaMemcpy(from->room, in, in_bytes, cudaMemcpyDeviceToHost), 0,
                          "copying numbers to the host"));
  TG_TRY(scan(count, (const IN*)from->room, (OUT*)to->room, NULL, threads));
  return tg_cuda_status(cudaMemcpy(out, to->room, out_bytes, cudaMemcpyHostToDevice), 0,
                        "copying sums to the device");
}

#define HOST_SCANS(x, in_type, out_type)                                                           \
  tg_status tg_cuda_host_##x(size_t count, const in_type* in, out_type* out, void* scratch,        \
                             int threads) {                                                        \
    (void)scratch;                                                                                 \
    return on_host(count, in, out, threads, false, tg_omp_two_pass_##x);                           \
  }                                                                                                \
  tg_status tg_cuda_pinned_##x(size_t count, const in_type* in, out_type* out, void* scratch,      \
                               int threads) {                                                      \
    (void)scratch;                                                                                 \
    return on_host(count, in, out, threads, true, tg_omp_two_pass_##x);                            \
  }

HOST_SCANS(u32, uint32_t, uint32_t)
HOST_SCANS(u64, uint64_t, uint64_t)
HOST_SCANS(offsets, uint32_t, uint64_t)
