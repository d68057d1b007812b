/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of a throng that was built without NVSHMEM. tg_nvshmem_check fails there, so no world
 * gets as far as this; each of them says why all the same. */
#include "comm/nvshmem/gpu.h"
#include "device/nvshmem.h"

static tg_status none(void) { return tg_nvshmem_check(); }

tg_status tg_gpu_identity(int device, unsigned char* uuid, char* bus, size_t bus_bytes) {
  (void)device, (void)uuid, (void)bus, (void)bus_bytes;
  return none();
}

tg_status tg_gpu_link_open(int device, void* stream, tg_gpu_link* out) {
  (void)device, (void)stream, (void)out;
  return none();
}

tg_status tg_gpu_link_reserve(tg_gpu_link* link, size_t words) {
  (void)link, (void)words;
  return none();
}

void tg_gpu_link_close(tg_gpu_link* link) { (void)link; }

tg_status tg_gpu_stream_query(const tg_gpu_link* link, bool* done) {
  (void)link, (void)done;
  return none();
}

tg_status tg_nvshmem_id_make(tg_nvshmem_id* out) {
  (void)out;
  return none();
}

tg_status tg_nvshmem_start(const tg_nvshmem_id* id, int pe, int pe_count, int device) {
  (void)id, (void)pe, (void)pe_count, (void)device;
  return none();
}

tg_status tg_nvshmem_allocate(int device, size_t bytes, void** out) {
  (void)device, (void)bytes, (void)out;
  return none();
}

void tg_nvshmem_free(int device, void* block) { (void)device, (void)block; }

tg_status tg_gpu_free_bytes(int device, size_t* out) {
  (void)device, (void)out;
  return none();
}

void* tg_nvshmem_reach(void* block, int pe) {
  (void)block, (void)pe;
  return NULL;
}

tg_status tg_nvshmem_put(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                         uint64_t* signal, bool add, uint64_t value, int pe) {
  (void)link, (void)to, (void)data, (void)bytes, (void)signal, (void)add, (void)value, (void)pe;
  return none();
}

tg_status tg_nvshmem_put_only(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                              int pe) {
  (void)link, (void)to, (void)data, (void)bytes, (void)pe;
  return none();
}

tg_status tg_nvshmem_alarm(const tg_gpu_link* link, uint64_t* signal, int pe) {
  (void)link, (void)signal, (void)pe;
  return none();
}

bool tg_gpu_holds(const void* data) {
  (void)data;
  return false;
}

tg_status tg_gpu_store(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                       double deadline_s) {
  (void)link, (void)to, (void)data, (void)bytes, (void)deadline_s;
  return none();
}

tg_status tg_gpu_fetch(tg_gpu_link* link, const void* from, size_t words, double deadline_s) {
  (void)link, (void)from, (void)words, (void)deadline_s;
  return none();
}
