/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/module.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A module, or why there is none. A failed one lists nothing and runs nowhere. */
typedef struct module {
  const char* made_by; /* what would have built it */
  tg_motif_table failed;
  char reason[512];
  const tg_motif_table* table; /* NULL: not tried yet */
  void* handle;                /* of a table that is the module's */
} module;

/* Symbols of the module and of its libraries go before the program's: two OpenMP run-time libraries
 * have functions of the same names. The address sanitizer cannot have that. */
#ifdef __SANITIZE_ADDRESS__
enum { HOW = RTLD_NOW | RTLD_LOCAL };
#else
enum { HOW = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND };
#endif

/* A file that ends before what its header speaks of kills whoever maps it. What is no such file at
 * all is left to dlopen, which says so. */
static bool is_damaged(const char* path, module* m) {
  ElfW(Ehdr) head;
  struct stat facts;
  FILE* stream = fopen(path, "rb");
  if (stream == NULL) return false;
  const bool read = fread(&head, sizeof head, 1, stream) == 1 && fstat(fileno(stream), &facts) == 0;
  fclose(stream);
  if (!read || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
  const double size = (double)facts.st_size; /* no sum of the header's numbers overflows */
  const double end = (double)head.e_shoff + (double)head.e_shnum * head.e_shentsize;
  if (size >= end) return false;
  snprintf(m->reason, sizeof m->reason,
           "%.300s is damaged: it has %.0f bytes, and by its header at least %.0f; copy or build "
           "it anew",
           path, size, end);
  return true;
}

static void* open_in(const char* folder, const char* below, module* m) {
  char path[4096];
  const int length = snprintf(path, sizeof path, "%s%sthrong-%s.so", folder, below, m->failed.name);
  if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) return NULL;
  if (is_damaged(path, m)) return NULL;
  void* handle = dlopen(path, HOW);
  if (handle == NULL) snprintf(m->reason, sizeof m->reason, "%s", dlerror());
  return handle;
}

static void* open_chosen(const char* folder, module* m) {
  snprintf(m->reason, sizeof m->reason,
           "no throng-%s.so in $TG_MODULES (%.200s); making it takes %s", m->failed.name,
           folder[0] == '\0' ? "which is empty" : folder, m->made_by);
  return folder[0] == '\0' ? NULL : open_in(folder, "/", m);
}

static void* open_module(module* m) {
  const char* chosen = getenv("TG_MODULES");
  if (chosen != NULL) return open_chosen(chosen, m);
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

/* The table of an open module; NULL, with the reason, where it is not one of ours. */
static const tg_motif_table* table_of(void* handle, module* m) {
  const tg_module_services services = {TG_MODULE_VERSION, tg_vfail, environ, TG_MODULE_LAYOUT};
  tg_module_entry* entry = NULL;
  *(void**)&entry = dlsym(handle, "tg_module_table");
  const tg_motif_table* table = entry != NULL ? entry(&services) : NULL;
  if (table == NULL) {
    snprintf(m->reason, sizeof m->reason,
             "throng-%s.so is not of this throng " TG_VERSION ", but of another version or build",
             m->failed.name);
    return NULL;
  }
  if (strcmp(table->name, m->failed.name) == 0) return table;
  snprintf(m->reason, sizeof m->reason,
           "throng-%s.so is the module '%s' under another's name; copy or build it anew",
           m->failed.name, table->name);
  return NULL;
}

static const tg_motif_table* load(module* m, bool wanted) {
  if (m->table != NULL) return m->table;
  snprintf(m->reason, sizeof m->reason,
           "throng was built without it: ./dev build makes it where it finds %s", m->made_by);
  if (!wanted) snprintf(m->reason, sizeof m->reason, "it was not asked for");
  m->table = &m->failed;
  void* handle = wanted ? open_module(m) : NULL;
  const tg_motif_table* table = handle != NULL ? table_of(handle, m) : NULL;
  if (table == NULL) return m->table;
  m->handle = handle;
  return m->table = table;
}

static void describe_failed(char* out, size_t size) { snprintf(out, size, "not loaded"); }

#define MODULE(id, name_, made_by_)                                                                \
  static module id;                                                                                \
  static tg_status check_##id(void) { return tg_fail(TG_ERR_MACHINE, "%s", id.reason); }           \
  const tg_motif_table* tg_module_##id(bool wanted) {                                              \
    id.made_by = made_by_;                                                                         \
    id.failed = (tg_motif_table){.name = name_,                                                    \
                                 .check = check_##id,                                              \
                                 .describe = describe_failed,                                      \
                                 .host = true,                                                     \
                                 .memory = &tg_motif_host_memory};                                 \
    return load(&id, wanted);                                                                      \
  }

MODULE(acc, "acc", "a compiler with OpenACC (GCC 12 or later)")
MODULE(offload, "offload", "a compiler with OpenMP (GCC 12 or later)")
MODULE(offload_clang, "offload-clang", "Clang 19 or later with libomptarget")

void* tg_module_symbol(const tg_motif_table* table, const char* name) {
  const module* const all[] = {&acc, &offload, &offload_clang};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i]->table == table && all[i]->handle != NULL) return dlsym(all[i]->handle, name);
  return NULL;
}
