/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/pretend_gpu.h  For one test program: GPUs and an NVSHMEM that are pretended, so that
 * transport nvshmem's own part can be tested on any machine.
 *
 * It defines the functions of comm/nvshmem/gpu.h, device/nvshmem.h and device/device.h, and so
 * takes the place of the library's. An address of "device memory" is one that nobody may load or
 * store: the transport dies if it tries. What stands there is in a shared file, which pretend_at
 * finds. Streams do at once what is queued. */
#ifndef TG_TESTS_COMM_PRETEND_GPU_H
#define TG_TESTS_COMM_PRETEND_GPU_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "comm/nvshmem/gpu.h"
#include "device/device.h"
#include "device/nvshmem.h"

enum { PRETEND_MOST = 64, PRETEND_PES = 16 };

/** What a test changes. */
static struct pretend {
  int device_count;
  size_t free_bytes;
  bool far;        /* no PE reaches another's memory */
  bool hang;       /* the next collective call never returns */
  bool no_fetch;   /* the device fails: signals cannot be read */
  int free_count;  /* releases so far */
  int start_count; /* starts of NVSHMEM */
} pretend = {.device_count = 64, .free_bytes = (size_t)1 << 30};

static struct pretend_session {
  char name[TG_NVSHMEM_ID_BYTES + 1];
  int pe, pe_count, made;
  struct {
    char* address; /* that nobody may touch */
    size_t bytes;
    char* at[PRETEND_PES]; /* where PEs' blocks really are; NULL: not looked for yet */
    int number;
  } block[PRETEND_MOST];
} pretend_session;

static char* pretend_map(int pe, int number, size_t bytes, int flags) {
  char name[256];
  snprintf(name, sizeof name, "%s-%d-%d", pretend_session.name, pe, number);
  int file = shm_open(name, flags, 0600);
  if (file < 0 || (flags & O_CREAT && ftruncate(file, (off_t)bytes) != 0)) return NULL;
  char* at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return at == MAP_FAILED ? NULL : at;
}

/** Where what a PE has at this device address really is; NULL: it is no device address. */
static void* pretend_at(const void* address, int pe) {
  const char* wanted = address;
  for (int i = 0; i < PRETEND_MOST; i++) {
    if (!pretend_session.block[i].address) continue;
    size_t bytes = pretend_session.block[i].bytes;
    for (int q = 0; q < pretend_session.pe_count; q++) {
      /* the addresses of PE q follow each other in this process's view */
      const char* first = pretend_session.block[i].address + (size_t)q * bytes;
      if (wanted < first || wanted >= first + bytes) continue;
      int owner = pe < 0 ? q : pe;
      char** at = &pretend_session.block[i].at[owner];
      if (!*at) *at = pretend_map(owner, pretend_session.block[i].number, bytes, O_RDWR);
      return *at ? *at + (wanted - first) : NULL;
    }
  }
  return NULL;
}

bool tg_device_built(void) { return true; }
int tg_device_count(void) { return pretend.device_count; }
const char* tg_device_reason(void) { return pretend.device_count ? "" : "all were taken away"; }
int tg_device_driver_version(void) { return 0; }
int tg_device_runtime_version(void) { return 0; }
tg_status tg_device_query(int device, tg_device_info* out) {
  (void)out;
  return tg_fail(TG_ERR_MACHINE, "GPU %d is pretended", device);
}
tg_status tg_device_query_link(int from, int to, tg_device_link* out) {
  (void)to;
  return tg_device_query(from, (tg_device_info*)(void*)out);
}
tg_status tg_device_self_test(int device) { return tg_device_query(device, NULL); }

bool tg_nvshmem_built(void) { return true; }
const char* tg_nvshmem_version(void) { return "0.0.0"; }
tg_status tg_nvshmem_check(void) {
  if (pretend.device_count) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "no GPU to share memory with: %s", tg_device_reason());
}

tg_status tg_gpu_identity(int device, unsigned char* uuid, char* bus, size_t bus_bytes) {
  memset(uuid, 0, TG_GPU_UUID_BYTES);
  memcpy(uuid, &device, sizeof device);
  snprintf(bus, bus_bytes, "0000:%02d:00.0", device);
  return TG_OK;
}

tg_status tg_gpu_link_open(int device, void* stream, tg_gpu_link* out) {
  static int own;
  out->device = device;
  out->stream = stream ? stream : &own;
  out->side = &own;
  return TG_OK;
}

tg_status tg_gpu_link_reserve(tg_gpu_link* link, size_t words) {
  if (words <= link->room_words) return TG_OK;
  free(link->room);
  link->room = calloc(words, sizeof *link->room);
  link->room_words = words;
  return TG_OK;
}

void tg_gpu_link_close(tg_gpu_link* link) {
  free(link->room);
  memset(link, 0, sizeof *link);
}

tg_status tg_gpu_stream_query(const tg_gpu_link* link, bool* done) {
  *done = link->stream != NULL;
  return TG_OK;
}

tg_status tg_nvshmem_id_make(tg_nvshmem_id* out) {
  snprintf((char*)out->bytes, sizeof out->bytes, "/throng-test-%d-%d", (int)getpid(),
           (int)(time(NULL) % 100000));
  return TG_OK;
}

tg_status tg_nvshmem_start(const tg_nvshmem_id* id, int pe, int pe_count, int device) {
  (void)device;
  memcpy(pretend_session.name, id->bytes, sizeof id->bytes);
  pretend_session.pe = pe;
  pretend_session.pe_count = pe_count;
  pretend.start_count++;
  return TG_OK;
}

static void pretend_hang(void) {
  while (pretend.hang) usleep(1000);
}

tg_status tg_nvshmem_allocate(int device, size_t bytes, void** out) {
  (void)device;
  pretend_hang();
  int i = 0;
  while (i < PRETEND_MOST && pretend_session.block[i].address) i++;
  if (i == PRETEND_MOST) return tg_fail(TG_ERR_MACHINE, "the pretended heap is full");
  size_t pes = (size_t)pretend_session.pe_count, page = 4096;
  bytes = (bytes + page - 1) / page * page;
  char* address = mmap(NULL, pes * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  int pe = pretend_session.pe, number = ++pretend_session.made;
  pretend_session.block[i].bytes = bytes;
  pretend_session.block[i].number = number;
  memset(pretend_session.block[i].at, 0, sizeof pretend_session.block[i].at);
  pretend_session.block[i].at[pe] = pretend_map(pe, number, bytes, O_CREAT | O_EXCL | O_RDWR);
  pretend_session.block[i].address = address;
  *out = address + (size_t)pe * bytes;
  return TG_OK;
}

static void pretend_release(void* block) {
  for (int i = 0; i < PRETEND_MOST; i++) {
    size_t bytes = pretend_session.block[i].bytes;
    char* address = pretend_session.block[i].address;
    if (!address || (char*)block != address + (size_t)pretend_session.pe * bytes) continue;
    char name[256];
    snprintf(name, sizeof name, "%s-%d-%d", pretend_session.name, pretend_session.pe,
             pretend_session.block[i].number);
    shm_unlink(name);
    for (int q = 0; q < pretend_session.pe_count; q++)
      if (pretend_session.block[i].at[q]) munmap(pretend_session.block[i].at[q], bytes);
    munmap(address, (size_t)pretend_session.pe_count * bytes);
    pretend_session.block[i].address = NULL;
  }
}

void tg_nvshmem_free(int device, void* block) {
  (void)device;
  pretend_hang();
  pretend.free_count++;
  pretend_release(block);
}

/** What worlds that were aborted left behind. */
static void pretend_end(void) {
  for (int i = 0; i < PRETEND_MOST; i++)
    if (pretend_session.block[i].address)
      pretend_release(pretend_session.block[i].address +
                      (size_t)pretend_session.pe * pretend_session.block[i].bytes);
}

tg_status tg_gpu_free_bytes(int device, size_t* out) {
  (void)device;
  *out = pretend.free_bytes;
  return TG_OK;
}

void* tg_nvshmem_reach(void* block, int pe) {
  if (pretend.far) return NULL;
  for (int i = 0; i < PRETEND_MOST; i++) {
    size_t bytes = pretend_session.block[i].bytes;
    char* address = pretend_session.block[i].address;
    if (address && (char*)block == address + (size_t)pretend_session.pe * bytes)
      return address + (size_t)pe * bytes;
  }
  return NULL;
}

tg_status tg_nvshmem_put_only(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                              int pe) {
  (void)link;
  memcpy(pretend_at(to, pe), pretend_at(data, -1), bytes); /* both must be device addresses */
  return TG_OK;
}

tg_status tg_nvshmem_put(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                         uint64_t* signal, bool add, uint64_t value, int pe) {
  if (bytes) tg_nvshmem_put_only(link, to, data, bytes, pe);
  _Atomic uint64_t* counter = pretend_at(signal, pe);
  if (add)
    atomic_fetch_add(counter, value);
  else
    atomic_store(counter, value);
  return TG_OK;
}

tg_status tg_nvshmem_alarm(const tg_gpu_link* link, uint64_t* signal, int pe) {
  return tg_nvshmem_put(link, NULL, NULL, 0, signal, false, 1, pe);
}

bool tg_gpu_holds(const void* data) { return pretend_at(data, -1) != NULL; }

tg_status tg_gpu_store(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                       double deadline_s) {
  (void)link, (void)deadline_s;
  const void* from = pretend_at(data, -1);
  memcpy(pretend_at(to, -1), from ? from : data, bytes);
  return TG_OK;
}

tg_status tg_gpu_fetch(tg_gpu_link* link, const void* from, size_t words, double deadline_s) {
  (void)deadline_s;
  if (pretend.no_fetch) return tg_fail(TG_ERR_MACHINE, "GPU %d fell off the bus", link->device);
  _Atomic uint64_t* at = pretend_at(from, -1);
  for (size_t i = 0; i < words; i++) link->room[i] = atomic_load(&at[i]);
  return TG_OK;
}

#endif
