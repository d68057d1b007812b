/* SPDX-License-Identifier: Apache-2.0 */
/* How long a stage takes: graphs of many launches between two events. */
#include <algorithm>
#include <vector>

#include "md/cuda/state.cuh"

static tg_status queue(tg_device_md* md, tg_device_md_stage stage) {
  switch (stage) {
    case TG_DEVICE_MD_SORT: return tg_md_queue_sort(md);
    case TG_DEVICE_MD_LIST: return tg_md_queue_list(md);
    case TG_DEVICE_MD_PRUNE: return tg_md_queue_prune(md);
    case TG_DEVICE_MD_FORCES: return tg_md_queue_forces(md, false);
    default: return tg_md_queue_forces(md, true);
  }
}

static tg_status capture(tg_device_md* md, tg_device_md_stage stage, int launches,
                         cudaGraphExec_t* out) {
  cudaGraph_t graph = nullptr;
  TG_TRY(tg_cuda_status(cudaStreamBeginCapture(md->stream, cudaStreamCaptureModeThreadLocal),
                        md->device, "beginning a graph"));
  tg_status status = TG_OK;
  for (int i = 0; i < launches && status == TG_OK; i++) status = queue(md, stage);
  const cudaError_t error = cudaStreamEndCapture(md->stream, &graph);
  if (status == TG_OK) status = tg_cuda_status(error, md->device, "ending a graph");
  if (status == TG_OK)
    status = tg_cuda_status(cudaGraphInstantiate(out, graph, 0), md->device, "preparing a graph");
  if (graph) cudaGraphDestroy(graph);
  return status;
}

static tg_status time_graph(tg_device_md* md, cudaGraphExec_t graph, cudaEvent_t event[2],
                            int repeats, std::vector<double>* us) {
  for (int r = -1; r < repeats; r++) { /* the first one warms up */
    float ms = 0;
    cudaEventRecord(event[0], md->stream);
    TG_TRY(tg_cuda_status(cudaGraphLaunch(graph, md->stream), md->device, "starting a graph"));
    cudaEventRecord(event[1], md->stream);
    TG_TRY(tg_cuda_status(cudaEventSynchronize(event[1]), md->device, "running a graph"));
    TG_TRY(tg_cuda_status(cudaEventElapsedTime(&ms, event[0], event[1]), md->device,
                          "measuring time"));
    if (r >= 0) us->push_back(1e3 * ms);
  }
  return TG_OK;
}

tg_status tg_device_md_measure(tg_device_md* md, tg_device_md_stage stage, int launches,
                               int repeats, double* microseconds) {
  cudaGraphExec_t graph = nullptr;
  cudaEvent_t event[2] = {};
  std::vector<double> us;
  TG_TRY(tg_cuda_status(cudaSetDevice(md->device), md->device, "selecting it"));
  tg_status status = capture(md, stage, launches, &graph);
  for (int i = 0; i < 2 && status == TG_OK; i++)
    status = tg_cuda_status(cudaEventCreate(&event[i]), md->device, "making an event");
  if (status == TG_OK) status = time_graph(md, graph, event, repeats, &us);
  for (int i = 0; i < 2; i++)
    if (event[i]) cudaEventDestroy(event[i]);
  if (graph) cudaGraphExecDestroy(graph);
  TG_TRY(status);
  std::sort(us.begin(), us.end());
  *microseconds = us[us.size() / 2] / launches;
  return TG_OK;
}
