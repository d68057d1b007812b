/* SPDX-License-Identifier: Apache-2.0 */
/* The module "acc": memory, and what it runs on. Without OpenACC it is plain C on the host. */
#include "motif/acc/table.h"

#ifdef _OPENACC
#include <openacc.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "motif/module/services.h"

static bool on_device;

bool tg_acc_on_host(void) { return !on_device; }

int tg_acc_gangs(size_t items) {
  const size_t lanes = 256, most = 4096, gangs = (items + lanes - 1) / lanes;
  return (int)(gangs < 1 ? 1 : gangs > most ? most : gangs);
}

static char refusal[200]; /* why the settings cannot be met; "": they can */

#ifdef _OPENACC
static const char* setting(const char* name) {
  const char* text = getenv(name);
  return text == NULL ? "" : text;
}

/* The run-time library waits for ever where $ACC_DEVICE_NUM names no device; so the number is
 * looked at before the library does. */
static bool is_number_met(acc_device_t type) {
  const char* text = setting("ACC_DEVICE_NUM");
  const int count = acc_get_num_devices(type);
  char* end = NULL;
  const long number = strtol(text, &end, 10);
  if (text[0] == '\0') return true;
  if (end == text || *end != '\0' || number < 0)
    snprintf(refusal, sizeof refusal, "$ACC_DEVICE_NUM is '%.40s': 0 or more was expected", text);
  else if (number >= count)
    snprintf(refusal, sizeof refusal, "$ACC_DEVICE_NUM is %ld, there %s %d device%s%s", number,
             count == 1 ? "is" : "are", count, count == 1 ? "" : "s",
             type == acc_device_host ? " (the host)" : "");
  return refusal[0] == '\0';
}
#endif

/* The device that $ACC_DEVICE_TYPE and $ACC_DEVICE_NUM name, or a GPU where there is one. */
static void choose_device(void) {
#ifdef _OPENACC
  const char* type = setting("ACC_DEVICE_TYPE");
  const bool gpus = acc_get_num_devices(acc_device_nvidia) > 0;
  const bool host = strcasecmp(type, "host") == 0, nvidia = strcasecmp(type, "nvidia") == 0;
  if (!host && !nvidia && type[0] != '\0' && strcasecmp(type, "default") != 0)
    snprintf(refusal, sizeof refusal, "$ACC_DEVICE_TYPE is '%.40s': nvidia or host was expected",
             type);
  else if (nvidia && !gpus)
    snprintf(refusal, sizeof refusal,
             "$ACC_DEVICE_TYPE is '%.40s', and no NVIDIA GPU takes its code here", type);
  const acc_device_t device = gpus && !host ? acc_device_nvidia : acc_device_host;
  if (refusal[0] != '\0' || !is_number_met(device)) return;
  on_device = device == acc_device_nvidia;
  acc_set_device_type(device);
#endif
}

static tg_status allocate(size_t bytes, const char* what, void** out) {
  *out = NULL;
  if (bytes == 0) return TG_OK;
#ifdef _OPENACC
  if (on_device)
    *out = acc_malloc(bytes);
  else
#endif
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (*out == NULL) return tg_fail(TG_ERR_MACHINE, "acc: no %zu bytes for %s", bytes, what);
  return TG_OK;
}

static void release(void* pointer) {
#ifdef _OPENACC
  if (pointer != NULL && on_device) {
    acc_free(pointer);
    return;
  }
#endif
  free(pointer);
}

static tg_status synchronize(void) {
#ifdef _OPENACC
  acc_wait_all();
#endif
  return TG_OK;
}

static tg_status upload(void* to, const void* from, size_t bytes) {
  synchronize();
  if (bytes == 0) return TG_OK;
#ifdef _OPENACC
  if (on_device) {
    acc_memcpy_to_device(to, (void*)(uintptr_t)from, bytes);
    return TG_OK;
  }
#endif
  memcpy(to, from, bytes);
  return TG_OK;
}

static tg_status download(void* to, const void* from, size_t bytes) {
  synchronize();
  if (bytes == 0) return TG_OK;
#ifdef _OPENACC
  if (on_device) {
    acc_memcpy_from_device(to, (void*)(uintptr_t)from, bytes);
    return TG_OK;
  }
#endif
  memcpy(to, from, bytes);
  return TG_OK;
}

const tg_motif_memory tg_acc_memory = {allocate, release, upload, download, synchronize};

#ifdef TG_MODULE_FOR /* by the build: whose machine code is in it, beside the host's */
#define BUILT_FOR ", " TG_MODULE_FOR
#else
#define BUILT_FOR ""
#endif

static void describe(char* out, size_t size) {
#ifdef _OPENACC
  if (on_device) {
    const char* name = acc_get_property_string(acc_get_device_num(acc_device_nvidia),
                                               acc_device_nvidia, acc_property_name);
    snprintf(out, size, "OpenACC by GCC %s" BUILT_FOR ", on %s", __VERSION__,
             name ? name : "a GPU");
    return;
  }
  snprintf(out, size, "OpenACC by GCC %s" BUILT_FOR ", on the host, one thread", __VERSION__);
#else
  snprintf(out, size, "OpenACC's source without its directives, on the host, one thread");
#endif
}

static tg_status check(void) {
  if (!tg_module_processor_fits()) return tg_fail(TG_ERR_MACHINE, "the processor lacks AVX2");
  if (refusal[0] != '\0') return tg_fail(TG_ERR_MACHINE, "%s", refusal);
  return TG_OK;
}

static tg_motif_table table = {
    .name = "acc",
    .check = check,
    .describe = describe,
    .memory = &tg_acc_memory,
    .filters = tg_acc_filters,
    .fills = tg_acc_fills,
    .scans = tg_acc_scans,
    .reduces = tg_acc_reduces,
    .expects = tg_acc_expects,
    .denses = tg_acc_denses,
};

extern __attribute__((visibility("default"))) tg_module_entry tg_module_table;
const tg_motif_table* tg_module_table(const tg_module_services* services) {
  if (!tg_module_accept(services)) return NULL;
  choose_device();
  table.host = !on_device;
  return &table;
}
