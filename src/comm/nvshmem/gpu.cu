/* SPDX-License-Identifier: Apache-2.0 */
/* The transport's calls of CUDA and NVSHMEM. */
#include "comm/nvshmem/gpu.h"

#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/timer.h"
#include "device/cuda/check.h"

static_assert(sizeof(nvshmemx_uniqueid_t) == TG_NVSHMEM_ID_BYTES, "the id travels as bytes");

namespace {

/* The device for the length of a block. */
struct on_device {
  int before;
  tg_status status;
  explicit on_device(int device) : before(device) {
    cudaGetDevice(&before);
    status = tg_cuda_status(cudaSetDevice(device), device, "selecting it");
  }
  ~on_device() { cudaSetDevice(before); }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
};

cudaStream_t stream_of(void* stream) { return static_cast<cudaStream_t>(stream); }

/* Waits for what is queued on a stream, at most deadline_s: kernels that spin may be among it. */
tg_status wait_for(int device, cudaStream_t stream, const char* what, double deadline_s) {
  double start = tg_time_now();
  for (;;) {
    cudaError_t error = cudaStreamQuery(stream);
    if (error != cudaErrorNotReady) return tg_cuda_status(error, device, what);
    if (tg_time_now() - start > deadline_s)
      return tg_fail(TG_ERR_MACHINE, "GPU %d: %s: it has not ended for %.1f s", device, what,
                     tg_time_now() - start);
  }
}

}  // namespace

tg_status tg_gpu_identity(int device, unsigned char* uuid, char* bus, size_t bus_bytes) {
  cudaDeviceProp properties;
  TG_TRY(tg_cuda_status(cudaGetDeviceProperties(&properties, device), device, "asking for facts"));
  static_assert(sizeof properties.uuid == TG_GPU_UUID_BYTES, "");
  memcpy(uuid, &properties.uuid, TG_GPU_UUID_BYTES);
  return tg_cuda_status(cudaDeviceGetPCIBusId(bus, (int)bus_bytes, device), device,
                        "asking for its PCI address");
}

static tg_status check_stream(int device, void* stream) {
#if CUDART_VERSION >= 12080
  int of = device;
  TG_TRY(tg_cuda_status(cudaStreamGetDevice(stream_of(stream), &of), device,
                        "looking at the caller's stream"));
  if (of != device)
    return tg_fail(TG_ERR_INPUT,
                   "world: the stream given is one of GPU %d, but this PE's GPU is %d; make it "
                   "there, or give the device too",
                   of, device);
#else
  (void)device, (void)stream; /* CUDA does not say */
#endif
  return TG_OK;
}

tg_status tg_gpu_link_open(int device, void* stream, tg_gpu_link* out) {
  on_device guard(device);
  TG_TRY(guard.status);
  out->device = device;
  if (stream) TG_TRY(check_stream(device, stream));
  out->stream = stream;
  if (!stream) {
    cudaStream_t made;
    TG_TRY(tg_cuda_status(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), device,
                          "making a stream"));
    out->stream = made;
    out->own_stream = true;
  }
  int least = 0, greatest = 0;
  cudaStream_t side;
  TG_TRY(tg_cuda_status(cudaDeviceGetStreamPriorityRange(&least, &greatest), device,
                        "asking for stream priorities"));
  TG_TRY(tg_cuda_status(cudaStreamCreateWithPriority(&side, cudaStreamNonBlocking, greatest),
                        device, "making a stream"));
  out->side = side;
  void* one = NULL;
  TG_TRY(tg_cuda_status(cudaMallocHost(&one, sizeof *out->one), device,
                        "asking for pinned host memory"));
  out->one = static_cast<uint64_t*>(one);
  *out->one = 1;
  return TG_OK;
}

tg_status tg_gpu_link_reserve(tg_gpu_link* link, size_t words) {
  if (words <= link->room_words) return TG_OK;
  on_device guard(link->device);
  TG_TRY(guard.status);
  if (link->room) cudaFreeHost(link->room);
  link->room = NULL;
  link->room_words = 0;
  void* room = NULL;
  TG_TRY(tg_cuda_status(cudaMallocHost(&room, words * sizeof *link->room), link->device,
                        "asking for pinned host memory"));
  link->room = static_cast<uint64_t*>(room);
  link->room_words = words;
  return TG_OK;
}

void tg_gpu_link_close(tg_gpu_link* link) {
  if (!link->stream && !link->side && !link->room) return;
  int before = 0; /* no message of a failure here may cover that of a failure before */
  cudaGetDevice(&before);
  cudaSetDevice(link->device);
  if (link->own_stream) cudaStreamDestroy(stream_of(link->stream));
  if (link->side) cudaStreamDestroy(stream_of(link->side));
  if (link->room) cudaFreeHost(link->room);
  if (link->one) cudaFreeHost(link->one);
  cudaSetDevice(before);
  memset(link, 0, sizeof *link);
}

tg_status tg_gpu_stream_query(const tg_gpu_link* link, bool* done) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  cudaError_t error = cudaStreamQuery(stream_of(link->stream));
  *done = error != cudaErrorNotReady;
  return *done ? tg_cuda_status(error, link->device, "the work on the world's stream") : TG_OK;
}

tg_status tg_nvshmem_id_make(tg_nvshmem_id* out) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  if (nvshmemx_get_uniqueid(&id) != 0)
    return tg_fail(TG_ERR_MACHINE,
                   "NVSHMEM cannot make the id that its PEs find each other by; "
                   "NVSHMEM_DEBUG=INFO says more, NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME names the "
                   "network interface to use");
  memcpy(out->bytes, &id, sizeof id);
  return TG_OK;
}

tg_status tg_nvshmem_start(const tg_nvshmem_id* bytes, int pe, int pe_count, int device) {
  on_device guard(device);
  TG_TRY(guard.status);
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  memcpy(&id, bytes->bytes, sizeof id);
  int status = nvshmemx_set_attr_uniqueid_args(pe, pe_count, &id, &attributes);
  if (status == 0) {
    /* nvshmemx_init_attr is this call and an exit where it fails */
    nvshmemi_version_t version = {NVSHMEM_VENDOR_MAJOR_VERSION, NVSHMEM_VENDOR_MINOR_VERSION,
                                  NVSHMEM_VENDOR_PATCH_VERSION};
    int provided = 0;
    status = nvshmemi_init_thread(NVSHMEM_THREAD_SERIALIZED, &provided, NVSHMEMX_INIT_WITH_UNIQUEID,
                                  &attributes, version);
  }
  if (status != 0 || nvshmemx_init_status() < NVSHMEM_STATUS_IS_INITIALIZED)
    return tg_fail(TG_ERR_MACHINE,
                   "PE %d: NVSHMEM did not start on GPU %d (its status is %d): GPUs of one machine "
                   "must reach each other's memory (throng info), machines need InfiniBand or the "
                   "like; NVSHMEM_DEBUG=INFO says more",
                   pe, device, status);
  if (nvshmem_my_pe() != pe || nvshmem_n_pes() != pe_count)
    return tg_fail(TG_ERR_MACHINE,
                   "PE %d of %d is PE %d of %d of an NVSHMEM that the program had started before; "
                   "open the world with the same processes in the same order",
                   pe, pe_count, nvshmem_my_pe(), nvshmem_n_pes());
  return TG_OK;
}

tg_status tg_nvshmem_allocate(int device, size_t bytes, void** out) {
  on_device guard(device);
  TG_TRY(guard.status);
  void* block = nvshmem_malloc(bytes);
  if (!block)
    return tg_fail(TG_ERR_MACHINE,
                   "NVSHMEM has no %zu bytes left for symmetric memory on GPU %d; set "
                   "NVSHMEM_MAX_MEMORY_PER_GPU (with NVSHMEM_DISABLE_CUDA_VMM=1: "
                   "NVSHMEM_SYMMETRIC_SIZE) higher, 16G say, for all PEs before the start, or use "
                   "more PEs",
                   bytes, device);
  TG_TRY(tg_cuda_status(cudaMemset(block, 0, bytes), device, "clearing symmetric memory"));
  TG_TRY(tg_cuda_status(cudaStreamSynchronize(0), device, "clearing symmetric memory"));
  *out = block;
  return TG_OK;
}

void tg_nvshmem_free(int device, void* block) {
  on_device guard(device);
  nvshmem_free(block);
}

tg_status tg_gpu_free_bytes(int device, size_t* out) {
  on_device guard(device);
  TG_TRY(guard.status);
  size_t total = 0;
  return tg_cuda_status(cudaMemGetInfo(out, &total), device, "asking for memory");
}

void* tg_nvshmem_reach(void* block, int pe) { return nvshmem_ptr(block, pe); }

static tg_status queued(const tg_gpu_link* link) {
  return tg_cuda_status(cudaGetLastError(), link->device, "queueing a put");
}

tg_status tg_nvshmem_put(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                         uint64_t* signal, bool add, uint64_t value, int pe) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  cudaStream_t stream = stream_of(link->stream);
  int op = add ? NVSHMEM_SIGNAL_ADD : NVSHMEM_SIGNAL_SET;
  /* the signal follows its own data; what was put before is only certain after a quiet. Within
   * reach the stream's order does it */
  if (!nvshmem_ptr(signal, pe)) nvshmemx_quiet_on_stream(stream);
  if (bytes)
    nvshmemx_putmem_signal_on_stream(to, data, bytes, signal, value, op, pe, stream);
  else
    nvshmemx_signal_op_on_stream(signal, value, op, pe, stream);
  return queued(link);
}

tg_status tg_nvshmem_put_only(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                              int pe) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  nvshmemx_putmem_on_stream(to, data, bytes, pe, stream_of(link->stream));
  return queued(link);
}

tg_status tg_nvshmem_alarm(const tg_gpu_link* link, uint64_t* signal, int pe) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  void* reached = nvshmem_ptr(signal, pe);
  if (!reached)
    nvshmemx_signal_op_on_stream(signal, 1, NVSHMEM_SIGNAL_SET, pe, stream_of(link->side));
  else
    TG_TRY(tg_cuda_status(cudaMemcpyAsync(reached, link->one, sizeof *link->one,
                                          cudaMemcpyHostToDevice, stream_of(link->side)),
                          link->device, "raising an alarm"));
  return queued(link);
}

bool tg_gpu_holds(const void* data) {
  cudaPointerAttributes attributes;
  cudaError_t error = cudaPointerGetAttributes(&attributes, data);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaSuccess &&
         (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged);
}

tg_status tg_gpu_store(const tg_gpu_link* link, void* to, const void* data, size_t bytes,
                       double deadline_s) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  cudaStream_t stream = stream_of(link->stream);
  TG_TRY(wait_for(link->device, stream, "the work before a put", deadline_s));
  TG_TRY(tg_cuda_status(cudaMemcpyAsync(to, data, bytes, cudaMemcpyDefault, stream), link->device,
                        "copying to it"));
  return wait_for(link->device, stream, "copying to it", deadline_s);
}

tg_status tg_gpu_fetch(tg_gpu_link* link, const void* from, size_t words, double deadline_s) {
  on_device guard(link->device);
  TG_TRY(guard.status);
  cudaStream_t side = stream_of(link->side);
  if (words > link->room_words)
    return tg_fail(TG_ERR_INTERNAL, "GPU %d: %zu words to fetch, there is room for %zu",
                   link->device, words, link->room_words);
  TG_TRY(tg_cuda_status(
      cudaMemcpyAsync(link->room, from, words * sizeof *link->room, cudaMemcpyDeviceToHost, side),
      link->device, "reading signals"));
  return wait_for(link->device, side, "reading signals", deadline_s);
}
