/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/memory.h  Aligned memory with checked sizes. */
#ifndef TG_BASE_MEMORY_H
#define TG_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TG_CACHE_LINE = 64 };

/** Allocates count * size bytes, aligned to a cache line and zeroed; *out is NULL for a count of 0.
 * Fails with TG_ERR_MACHINE (saying how much was asked for, and for what) and leaves *out NULL.
 * Release with tg_free. */
tg_status tg_allocate(size_t count, size_t size, const char* what, void** out);

/** The same, but what is in it is not defined: of large memory a page costs nothing until it is
 * written to, and threads that write to different pages share that cost. */
tg_status tg_allocate_untouched(size_t count, size_t size, const char* what, void** out);

/** Makes room for at least count elements of size bytes in *array (which may be NULL), keeping the
 * first *capacity elements; new room is zeroed. Grows by at least half, never shrinks. Aligned to a
 * cache line; release with tg_free. On failure *array and *capacity are as before. */
tg_status tg_reserve(size_t count, size_t size, const char* what, void** array, size_t* capacity);

/** Releases memory from tg_allocate or tg_reserve; NULL is allowed. */
void tg_free(void* pointer);

/** Gives what was freed, and the library keeps for later, back to the machine where it can, so that
 * the resident size is what is in use. */
void tg_memory_trim(void);

/** Typed forms: `double* x = NULL; TG_TRY(TG_ALLOCATE(n, "positions", &x));` */
#define TG_ALLOCATE(count, what, out) tg_allocate((count), sizeof **(out), (what), (void**)(out))
#define TG_ALLOCATE_UNTOUCHED(count, what, out)                                                    \
  tg_allocate_untouched((count), sizeof **(out), (what), (void**)(out))
#define TG_RESERVE(count, what, array, capacity)                                                   \
  tg_reserve((count), sizeof **(array), (what), (void**)(array), (capacity))

/** Frees and sets to NULL. */
#define TG_FREE(pointer)                                                                           \
  do {                                                                                             \
    tg_free(pointer);                                                                              \
    (pointer) = NULL;                                                                              \
  } while (0)

/** Bytes that the machine has free; UINT64_MAX where the system does not tell. */
uint64_t tg_memory_free(void);
/** Bytes that this process holds now, and *highest (may be NULL): the most it held so far. 0 where
 * the system does not tell. */
uint64_t tg_memory_held(uint64_t* highest);

/** A copy of text (release with tg_free); NULL text gives "". */
tg_status tg_copy_text(const char* text, char** out);

#ifdef __cplusplus
}
#endif
#endif
