/* SPDX-License-Identifier: Apache-2.0 */
/* The modules "offload" and "offload-clang": memory, and what they run on. Without OpenMP they are
 * plain C on the host. */
#include "motif/offload/table.h"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "motif/module/services.h"

#ifndef TG_MODULE_NAME /* by the build: which compiler's */
#define TG_MODULE_NAME "offload"
#endif

/* A device is one that runs what is sent to it; a target region of a device without code for it
 * runs on the host, where device memory is out of reach. */
static bool device_works(void) {
#ifdef _OPENMP
  int on_host = 1;
  if (omp_get_num_devices() == 0) return false;
#pragma omp target map(from : on_host)
  on_host = omp_is_initial_device();
  return !on_host;
#else
  return false;
#endif
}

static bool on_device;
static char refusal[200]; /* why the settings cannot be met; "": they can */

/* A region of a device that is not there runs on the host or, where $OMP_TARGET_OFFLOAD makes the
 * device mandatory, ends the program; so both are looked at before a region runs. */
static void choose_device(void) {
  const char* offload = getenv("OMP_TARGET_OFFLOAD");
#ifdef _OPENMP
  const int device = omp_get_default_device(), count = omp_get_num_devices();
  if (count > 0 && device > count) /* that of number count is the host */
    snprintf(refusal, sizeof refusal, "$OMP_DEFAULT_DEVICE is %d, there %s %d device%s", device,
             count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
#endif
  if (refusal[0] == '\0') on_device = device_works();
  if (refusal[0] == '\0' && !on_device && offload != NULL && strcasecmp(offload, "mandatory") == 0)
    snprintf(refusal, sizeof refusal,
             "$OMP_TARGET_OFFLOAD is %.40s, and no GPU takes its code here", offload);
}

bool tg_offload_on_host(void) { return !on_device; }

int tg_offload_teams(size_t items) {
  int teams = 1;
  if (!on_device) return 1;
  while (teams < TG_OFFLOAD_TEAMS && (size_t)teams * teams * TG_OFFLOAD_LANE_ITEMS < items)
    teams *= 2;
  return teams;
}

size_t tg_offload_piece(size_t items) {
  enum { TEAMS = 1024 }; /* libomptarget has room for so many teams' sums */
  return on_device && items > TEAMS ? (items + TEAMS - 1) / TEAMS : items + 1;
}

int tg_offload_use_threads(int threads) {
#ifdef _OPENMP
  if (on_device || threads < 1) return 0;
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  return before;
#else
  (void)threads;
  return 0;
#endif
}

void tg_offload_restore_threads(int threads) {
#ifdef _OPENMP
  if (threads > 0) omp_set_num_threads(threads);
#else
  (void)threads;
#endif
}

static tg_status allocate(size_t bytes, const char* what, void** out) {
  *out = NULL;
  if (bytes == 0) return TG_OK;
#ifdef _OPENMP
  if (on_device)
    *out = omp_target_alloc(bytes, omp_get_default_device());
  else
#endif
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*out == NULL) return tg_fail(TG_ERR_MACHINE, "offload: no %zu bytes for %s", bytes, what);
  return TG_OK;
}

static void release(void* pointer) {
#ifdef _OPENMP
  if (pointer != NULL && on_device) {
    omp_target_free(pointer, omp_get_default_device());
    return;
  }
#endif
  free(pointer);
}

/* Every function has waited for its regions when it returns. */
static tg_status synchronize(void) { return TG_OK; }

#ifdef _OPENMP
static tg_status copy(void* to, const void* from, size_t bytes, int to_device, int from_device) {
  if (omp_target_memcpy(to, (void*)(uintptr_t)from, bytes, 0, 0, to_device, from_device) != 0)
    return tg_fail(TG_ERR_MACHINE, "offload: copying %zu bytes failed", bytes);
  return TG_OK;
}
#endif

static tg_status upload(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return TG_OK;
#ifdef _OPENMP
  if (on_device) return copy(to, from, bytes, omp_get_default_device(), omp_get_initial_device());
#endif
  memcpy(to, from, bytes);
  return TG_OK;
}

static tg_status download(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return TG_OK;
#ifdef _OPENMP
  if (on_device) return copy(to, from, bytes, omp_get_initial_device(), omp_get_default_device());
#endif
  memcpy(to, from, bytes);
  return TG_OK;
}

const tg_motif_memory tg_offload_memory = {allocate, release, upload, download, synchronize};

/* Why it is not on a GPU, and what to do. Clang's library counts a device only where code for it is
 * there and has the form that it knows. */
#if defined TG_MODULE_GPU
#define ON_HOST                                                                                    \
  "the host: libomptarget found no GPU that takes its code of " TG_MODULE_GPU                      \
  " (it needs libcuda.so, and CUDA 12's ptxas and nvlink when built)"
#elif defined TG_MODULE_WITHOUT
#define ON_HOST "the host (" TG_MODULE_WITHOUT ")"
#else
#define ON_HOST "the host"
#endif

#ifdef TG_MODULE_FOR /* by the build: whose machine code is in it, beside the host's */
#define BUILT_FOR ", " TG_MODULE_FOR
#else
#define BUILT_FOR ""
#endif

static void describe(char* out, size_t size) {
#ifdef _OPENMP
  snprintf(out, size, "OpenMP target by %s %s" BUILT_FOR ", on %s",
#ifdef __clang__
           "Clang", __clang_version__,
#else
           "GCC", __VERSION__,
#endif
           on_device ? "a GPU" : ON_HOST);
#else
  snprintf(out, size, "OpenMP target's source without its directives, on the host, one thread");
#endif
}

static tg_status check(void) {
  if (!tg_module_processor_fits()) return tg_fail(TG_ERR_MACHINE, "the processor lacks AVX2");
  if (refusal[0] != '\0') return tg_fail(TG_ERR_MACHINE, "%s", refusal);
  return TG_OK;
}

static tg_motif_table table = {
    .name = TG_MODULE_NAME,
    .check = check,
    .describe = describe,
    .memory = &tg_offload_memory,
    .filters = tg_offload_filters,
    .fills = tg_offload_fills,
    .scans = tg_offload_scans,
    .reduces = tg_offload_reduces,
    .expects = tg_offload_expects,
    .denses = tg_offload_denses,
};

extern __attribute__((visibility("default"))) tg_module_entry tg_module_table;
const tg_motif_table* tg_module_table(const tg_module_services* services) {
  if (!tg_module_accept(services)) return NULL;
  choose_device();
  table.host = !on_device;
  return &table;
}
