/* SPDX-License-Identifier: Apache-2.0 */
/* States of a tg_device_step in pinned memory of the host, to be turned into files while the GPU
 * goes on. */
#include <string.h>

#include <new>

#include "md/cuda/step_host.cuh"

struct tg_device_copy {
  size_t atom_count;
  double nm[3];
  void* memory; /* pinned; what follows lies in it */
  uint4* x;
  float4* v;
  int* f; /* [3 atom_count] units, or NULL */
  tg_step_state* state;
};

tg_status tg_device_copy_create(const tg_device_step* p, bool forces, tg_device_copy** out) {
  tg_device_copy* copy = new (std::nothrow) tg_device_copy();
  if (!copy) return tg_fail(TG_ERR_MACHINE, "no memory for a copy of a GPU's state");
  const size_t n = p->atom_count;
  copy->atom_count = n;
  memcpy(copy->nm, p->view.nm, sizeof copy->nm);
  const size_t bytes =
      n * (sizeof(uint4) + sizeof(float4)) + sizeof(tg_step_state) + (forces ? 3 * n : 0) * 4;
  const tg_status status =
      tg_cuda_host_status(cudaHostAlloc(&copy->memory, bytes, cudaHostAllocDefault), bytes);
  if (status != TG_OK) {
    delete copy;
    return status;
  }
  copy->x = (uint4*)copy->memory;
  copy->v = (float4*)(copy->x + n);
  copy->state = (tg_step_state*)(copy->v + n);
  copy->f = forces ? (int*)(copy->state + 1) : nullptr;
  *out = copy;
  return TG_OK;
}

void tg_device_copy_destroy(tg_device_copy** copy) {
  if (copy == nullptr || *copy == nullptr) return;
  cudaFreeHost((*copy)->memory);
  delete *copy;
  *copy = nullptr;
}

static tg_status queue(const tg_device_step* p, cudaStream_t stream, void* to, const void* from,
                       size_t bytes) {
  return tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream),
                        p->md->device, "copying from it");
}

tg_status tg_device_step_copy_kept(tg_device_step* p, tg_device_copy* copy) {
  const size_t n = copy->atom_count;
  const cudaStream_t stream = p->md->stream;
  TG_TRY(tg_md_select(p->md));
  TG_TRY(queue(p, stream, copy->x, p->view.kept_x, n * sizeof *copy->x));
  TG_TRY(queue(p, stream, copy->v, p->view.kept_v, n * sizeof *copy->v));
  TG_TRY(queue(p, stream, copy->state, p->view.state, sizeof *copy->state));
  return tg_cuda_status(cudaStreamSynchronize(stream), p->md->device, "computing");
}

tg_status tg_device_step_copy_frame(tg_device_step* p, tg_device_copy* copy) {
  const size_t n = copy->atom_count;
  TG_TRY(tg_md_select(p->md));
  TG_TRY(queue(p, p->copy, copy->x, p->view.frame_x, n * sizeof *copy->x));
  TG_TRY(queue(p, p->copy, copy->v, p->view.frame_v, n * sizeof *copy->v));
  if (copy->f) TG_TRY(queue(p, p->copy, copy->f, p->view.frame_f, 3 * n * sizeof *copy->f));
  return tg_cuda_status(cudaStreamSynchronize(p->copy), p->md->device, "computing");
}

long long tg_device_copy_step(const tg_device_copy* copy, double* heat) {
  memcpy(heat, copy->state->kept_given, sizeof copy->state->kept_given);
  return copy->state->kept_step;
}

void tg_step_positions(const uint4* from, size_t count, const double nm[3], double (*x)[3]) {
  for (size_t i = 0; i < count; i++) {
    x[i][0] = from[i].x * nm[0];
    x[i][1] = from[i].y * nm[1];
    x[i][2] = from[i].z * nm[2];
  }
}

void tg_step_velocities(const float4* from, size_t count, double (*v)[3]) {
  for (size_t i = 0; i < count; i++) {
    v[i][0] = from[i].x;
    v[i][1] = from[i].y;
    v[i][2] = from[i].z;
  }
}

void tg_device_copy_read(const tg_device_copy* copy, double (*x)[3], double (*v)[3],
                         double (*f)[3]) {
  if (x) tg_step_positions(copy->x, copy->atom_count, copy->nm, x);
  if (v) tg_step_velocities(copy->v, copy->atom_count, v);
  for (size_t i = 0; f && copy->f && i < 3 * copy->atom_count; i++)
    f[i / 3][i % 3] = copy->f[i] / TG_MD_FORCE_UNITS;
}
