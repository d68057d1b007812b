/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A module, or why there is none. A failed one lists nothing and runs nowhere. */
typedef struct module {
  const char* made_by; /* what would have built it */
  tg_motif_table failed;
  char reason[512];
  const tg_motif_table* table; /* NULL: not tried yet */
} module;

/* Symbols of the module and of its libraries go before the program's: two OpenMP run-time libraries
 * have functions of the same names. The address sanitizer cannot have that. */
#ifdef __SANITIZE_ADDRESS__
enum { HOW = RTLD_NOW | RTLD_LOCAL };
#else
enum { HOW = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

static void* open_in(const char* folder, const char* below, module* m) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s%sthrong-%s.so", folder, below, m->failed.name);
  if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
  void* handle = dlopen(path, HOW);
  if (handle == NULL) snprintf(m->reason, sizeof m->reason, "%s", dlerror());
  return handle;
}

static void* open_module(module* m) {
  const char* chosen = getenv("TG_MODULES");
  if (chosen != NULL) return open_in(chosen, "/", m);
  char program[3500];
  void* handle = NULL;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length > 0) {
    program[length] = '\0';
    char* slash = strrchr(program, '/');
    if (slash != NULL) *slash = '\0';
    handle = open_in(program, "/modules/", m);
    if (handle == NULL) handle = open_in(program, "/../lib/throng/", m);
  }
  if (handle == NULL) handle = open_in(TG_MODULE_BUILD_DIR, "/", m);
  if (handle == NULL) handle = open_in(TG_MODULE_INSTALL_DIR, "/", m);
  return handle;
}

static const tg_motif_table* load(module* m) {
  if (m->table != NULL) return m->table;
  const tg_module_services services = {TG_VERSION, tg_vfail, environ};
  snprintf(m->reason, sizeof m->reason, "throng was built without it: that takes %s", m->made_by);
  m->table = &m->failed;
  void* handle = open_module(m);
  if (handle == NULL) return m->table;
  tg_module_entry* entry = NULL;
  *(void**)&entry = dlsym(handle, "tg_module_table");
  const tg_motif_table* table = entry != NULL ? entry(&services) : NULL;
  if (table == NULL)
    snprintf(m->reason, sizeof m->reason, "throng-%s.so is not of throng " TG_VERSION,
             m->failed.name);
  else
    m->table = table;
  return m->table;
}

static void describe_failed(char* out, size_t size) { snprintf(out, size, "not loaded"); }

#define MODULE(id, name_, made_by_)                                                                \
  static module id;                                                                                \
  static tg_status check_##id(void) { return tg_fail(TG_ERR_MACHINE, "%s", id.reason); }           \
  const tg_motif_table* tg_module_##id(void) {                                                     \
    id.made_by = made_by_;                                                                         \
    id.failed = (tg_motif_table){.name = name_,                                                    \
                                 .check = check_##id,                                              \
                                 .describe = describe_failed,                                      \
                                 .host = true,                                                     \
                                 .memory = &tg_motif_host_memory};                                 \
    return load(&id);                                                                              \
  }

MODULE(acc, "acc", "a compiler with OpenACC (GCC 12 or later)")
MODULE(offload, "offload", "a compiler with OpenMP (GCC 12 or later)")
MODULE(offload_clang, "offload-clang", "Clang 19 or later with libomptarget")
