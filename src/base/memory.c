/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef MADV_HUGEPAGE
/* The first touches of small pages take the system as long as a device takes to fill them. */
static const size_t HUGE_PAGE = (size_t)2 << 20, FEW_HUGE_PAGES = 4;
#endif

static void* aligned_bytes(size_t bytes) {
  size_t rounded = (bytes + TG_CACHE_LINE - 1) / TG_CACHE_LINE * TG_CACHE_LINE;
  return rounded < bytes ? NULL : aligned_alloc(TG_CACHE_LINE, rounded);
}

static tg_status out_of_memory(size_t count, size_t size, const char* what) {
  return tg_fail(TG_ERR_MACHINE,
                 "out of memory: %.1f MiB for %s; use a smaller system or more processing elements "
                 "on more machines",
                 (double)count * (double)size / 1048576.0, what);
}

tg_status tg_allocate(size_t count, size_t size, const char* what, void** out) {
  *out = NULL;
  if (count == 0 || size == 0) return TG_OK;
  if (count > PTRDIFF_MAX / size) return out_of_memory(count, size, what);
  void* memory = aligned_bytes(count * size);
  if (!memory) return out_of_memory(count, size, what);
  memset(memory, 0, count * size);
  *out = memory;
  return TG_OK;
}

tg_status tg_allocate_untouched(size_t count, size_t size, const char* what, void** out) {
  *out = NULL;
  if (count == 0 || size == 0) return TG_OK;
  if (count > PTRDIFF_MAX / size) return out_of_memory(count, size, what);
  const size_t bytes = count * size;
#ifdef MADV_HUGEPAGE
  if (bytes >= FEW_HUGE_PAGES * HUGE_PAGE && bytes <= PTRDIFF_MAX - HUGE_PAGE) {
    const size_t pages = (bytes + HUGE_PAGE - 1) / HUGE_PAGE;
    *out = aligned_alloc(HUGE_PAGE, pages * HUGE_PAGE);
    if (*out) madvise(*out, pages * HUGE_PAGE, MADV_HUGEPAGE); /* or else small ones, as usual */
  }
#endif
  if (!*out) *out = aligned_bytes(bytes);
  return *out ? TG_OK : out_of_memory(count, size, what);
}

tg_status tg_reserve(size_t count, size_t size, const char* what, void** array, size_t* capacity) {
  if (count <= *capacity) return TG_OK;
  size_t wanted = *capacity + *capacity / 2 + 16;
  if (wanted < count) wanted = count;
  if (wanted > PTRDIFF_MAX / size) return out_of_memory(wanted, size, what);
  char* grown = aligned_bytes(wanted * size);
  if (!grown) return out_of_memory(wanted, size, what);
  if (*array) memcpy(grown, *array, *capacity * size);
  memset(grown + *capacity * size, 0, (wanted - *capacity) * size);
  free(*array);
  *array = grown;
  *capacity = wanted;
  return TG_OK;
}

void tg_free(void* pointer) { free(pointer); }

void tg_memory_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

uint64_t tg_memory_free(void) {
  const long pages = sysconf(_SC_AVPHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

/* A line of /proc/self/status in bytes. */
static uint64_t process_bytes(const char* name) {
  char line[256];
  unsigned long long kilobytes = 0;
  const size_t length = strlen(name);
  FILE* stream = fopen("/proc/self/status", "r");
  while (stream && fgets(line, sizeof line, stream))
    if (strncmp(line, name, length) == 0) kilobytes = strtoull(line + length, NULL, 10);
  if (stream) fclose(stream);
  return 1024 * (uint64_t)kilobytes;
}

uint64_t tg_memory_held(uint64_t* highest) {
  if (highest) *highest = process_bytes("VmHWM:");
  return process_bytes("VmRSS:");
}

tg_status tg_copy_text(const char* text, char** out) {
  size_t length = text ? strlen(text) : 0;
  TG_TRY(TG_ALLOCATE(length + 1, "text", out));
  if (length) memcpy(*out, text, length);
  return TG_OK;
}
