/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/table.h"

#include <string.h>

#include "base/memory.h"
#include "device/device.h"
#include "motif/backends.h"
#include "motif/module.h"

/* Makes CUDA's own context of GPU 0 current. The run-time libraries of modules take the context
 * that they find, and else make one, which CUDA's calls would then push aside: a module's next
 * kernel fails, "invalid resource handle". */
static void make_context(void) {
  tg_device_info info;
  if (tg_device_count() > 0) tg_device_query(0, &info);
}

static const char* wanted = NULL; /* NULL: all */

void tg_motif_tables_limit(const char* names) { wanted = names; }

static bool wants(const char* name) {
  if (wanted == NULL || strcmp(wanted, "all") == 0) return true;
  const size_t length = strlen(name);
  for (const char* at = wanted;; at++) {
    const size_t word = strcspn(at, ",");
    if (word == length && strncmp(at, name, word) == 0) return true;
    at += word;
    if (*at == '\0') return false;
  }
}

const tg_motif_table* const* tg_motif_tables(void) {
  enum { BUILT_IN = 3 };
  static const tg_motif_table* tables[BUILT_IN + 4] = {&tg_motif_table_ref, &tg_motif_table_omp,
                                                       &tg_motif_table_cuda};
  if (tables[BUILT_IN] == NULL) {
    make_context();
    tables[BUILT_IN] = tg_module_acc(wants("acc"));
    tables[BUILT_IN + 1] = tg_module_offload(wants("offload"));
    tables[BUILT_IN + 2] = tg_module_offload_clang(wants("offload-clang"));
  }
  return tables;
}

const tg_motif_table* tg_motif_table_find(const char* name) {
  for (const tg_motif_table* const* t = tg_motif_tables(); name != NULL && *t != NULL; t++)
    if (strcmp((*t)->name, name) == 0) return *t;
  return NULL;
}

static const tg_fill_version* ordered_fill(const tg_pairs* pairs, const char* method) {
  for (const tg_fill_version* v = tg_motif_table_omp.fills; v->name != NULL; v++)
    if (v->ordered && strcmp(v->method, method) == 0 &&
        (v->refuses == NULL || v->refuses(pairs) == NULL))
      return v;
  return NULL;
}

tg_status tg_motif_choose_way(const tg_pairs* pairs, tg_motif_way* out) {
  const char* best = pairs->rows.words == 1 ? "bits" : "word64";
  for (int any = 0; any < 2; any++)
    for (const tg_filter_version* v = tg_motif_table_omp.filters; v->name != NULL; v++) {
      if (v->refuses != NULL && v->refuses(pairs) != NULL) continue;
      if (!any && strcmp(v->method, best) != 0) continue;
      const tg_fill_version* fill = ordered_fill(pairs, v->method);
      if (fill == NULL) continue;
      *out = (tg_motif_way){v, fill, tg_motif_table_omp.scans};
      return TG_OK;
    }
  return tg_fail(TG_ERR_INPUT, "states without bits, low words and lists: no filter takes them");
}

static tg_status host_allocate(size_t bytes, const char* what, void** out) {
  return tg_allocate(bytes, 1, what, out);
}
static tg_status host_copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) memcpy(to, from, bytes);
  return TG_OK;
}
static tg_status host_synchronize(void) { return TG_OK; }

const tg_motif_memory tg_motif_host_memory = {host_allocate, tg_free, host_copy, host_copy,
                                              host_synchronize};

static tg_status copy_plane(const tg_motif_memory* memory, const void* from, size_t bytes,
                            const char* what, void** out) {
  TG_TRY(memory->allocate(bytes, what, out));
  return memory->upload(*out, from, bytes);
}

tg_status tg_motif_states_upload(const tg_motif_table* table, const tg_states* host,
                                 tg_states* out) {
  const tg_motif_memory* memory = table->memory;
  tg_states s = *host;
  s.low = s.bits = NULL;
  s.orbital = NULL;
  tg_status status = TG_OK;
  if (host->bits) {
    TG_TRY_GOTO(copy_plane(memory, host->bits, tg_states_bits_bytes(host), "bits of states",
                           (void**)&s.bits),
                undo);
    s.low = s.bits;
  } else if (host->low) {
    TG_TRY_GOTO(copy_plane(memory, host->low, tg_states_low_bytes(host), "low bits of states",
                           (void**)&s.low),
                undo);
  }
  if (host->orbital)
    TG_TRY_GOTO(copy_plane(memory, host->orbital, tg_states_orbital_bytes(host),
                           "orbitals of states", (void**)&s.orbital),
                undo);
  *out = s;
  return TG_OK;
undo:
  tg_motif_states_free(table, &s);
  return status;
}

void tg_motif_states_free(const tg_motif_table* table, tg_states* states) {
  if (states->bits == NULL) table->memory->release(states->low);
  table->memory->release(states->bits);
  table->memory->release(states->orbital);
  *states = (tg_states){0};
}
