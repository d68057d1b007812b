/* SPDX-License-Identifier: Apache-2.0 */
/* A module's half of motif/module.h: failures are reported to the program. */
#include "motif/module/services.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tg_module_services given;

bool tg_module_accept(const tg_module_services* services) {
  static const size_t layout[TG_MODULE_SIZES] = TG_MODULE_LAYOUT;
  if (services == NULL || strcmp(services->version, TG_MODULE_VERSION) != 0) return false;
  if (memcmp(services->layout, layout, sizeof layout) != 0) return false;
  given = *services;
  /* A program that names environ has a copy of it, which a module that looks into its own libraries
   * first does not see; OpenMP's run-time library reads its settings there. */
  if (environ == NULL) environ = services->environment;
  return true;
}

tg_status tg_vfail(tg_status status, const char* format, va_list args) {
  return given.vfail(status, format, args);
}

tg_status tg_fail(tg_status status, const char* format, ...) {
  va_list args;
  va_start(args, format);
  given.vfail(status, format, args);
  va_end(args);
  return status;
}

void* tg_module_staging(size_t bytes) {
  static void* room;
  static size_t size;
  if (bytes > size) {
    free(room);
    room = malloc(bytes);
    size = room != NULL ? bytes : 0;
  }
  return room;
}

bool tg_module_processor_fits(void) {
#if defined __x86_64__ && defined __AVX2__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
#else
  return true;
#endif
}
