/* SPDX-License-Identifier: Apache-2.0 */
/* How long a stage takes: graphs of many launches between two events. */
#include <algorithm>
#include <vector>

#include "md/cuda/state.cuh"

static tg_status queue(tg_device_md* md, tg_device_md_stage stage) {
  switch (stage) {
    case TG_DEVICE_MD_SORT: return tg_md_queue_sort(md);
    case TG_DEVICE_MD_LIST: return tg_md_queue_list(md);
    case TG_DEVICE_MD_PRUNE: return tg_md_queue_prune(md, false);
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

/* The first card's time, which includes its waits for the others. */
static tg_status time_graphs(tg_device_md* md, const std::vector<cudaGraphExec_t>& graphs,
                             cudaEvent_t event[2], int repeats, std::vector<double>* us) {
  for (int r = -1; r < repeats; r++) { /* the first one warms up */
    float ms = 0;
    size_t i = 0;
    TG_TRY(tg_md_select(md));
    cudaEventRecord(event[0], md->stream);
    for (const tg_device_md* m = md; m; m = m->next) {
      TG_TRY(tg_md_select(m));
      TG_TRY(
          tg_cuda_status(cudaGraphLaunch(graphs[i++], m->stream), m->device, "starting a graph"));
    }
    TG_TRY(tg_md_select(md));
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
  std::vector<cudaGraphExec_t> graphs;
  cudaEvent_t event[2] = {};
  std::vector<double> us;
  tg_status status = TG_OK;
  for (tg_device_md* m = md; m && status == TG_OK; m = m->next) {
    cudaGraphExec_t graph = nullptr;
    status = tg_md_select(m);
    if (status == TG_OK) status = capture(m, stage, launches, &graph);
    if (status == TG_OK) graphs.push_back(graph);
  }
  if (status == TG_OK) status = tg_md_select(md);
  for (int i = 0; i < 2 && status == TG_OK; i++)
    status = tg_cuda_status(cudaEventCreate(&event[i]), md->device, "making an event");
  if (status == TG_OK) status = time_graphs(md, graphs, event, repeats, &us);
  for (int i = 0; i < 2; i++)
    if (event[i]) cudaEventDestroy(event[i]);
  for (cudaGraphExec_t graph : graphs) cudaGraphExecDestroy(graph);
  TG_TRY(status);
  std::sort(us.begin(), us.end());
  *microseconds = us[us.size() / 2] / launches;
  return TG_OK;
}
