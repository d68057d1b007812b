/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges as CUDA graphs: a graph per card where the cards meet by flags in memory; one graph
 * over all cards where they meet by events (schedule stream). */
#include <string.h>

#include <new>

#include "halo/cuda/internal.cuh"

static tg_status select_card(const tg_card* card) {
  return tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it");
}

/* What is queued on card `to` from now on comes after what is queued on card `from`. */
static tg_status after(tg_device_halo* halo, int to, int from) {
  tg_card *first = &halo->cards.card[from], *then = &halo->cards.card[to];
  TG_TRY(select_card(first));
  TG_TRY(tg_cuda_status(cudaEventRecord(first->event, first->stream), first->device,
                        "recording an event"));
  TG_TRY(select_card(then));
  return tg_cuda_status(cudaStreamWaitEvent(then->stream, first->event, 0), then->device,
                        "waiting for an event");
}

tg_status tg_device_halo_graph_begin(tg_device_halo* halo) {
  if (halo->schedule == TG_DEVICE_HOST)
    return tg_fail(TG_ERR_INPUT, "halo: schedule host has no graph, the CPU is part of it");
  if (halo->capturing) return tg_fail(TG_ERR_INTERNAL, "halo: a graph is begun twice");
  int graphs = tg_one_graph(halo) ? 1 : halo->cards.count;
  for (int i = 0; i < graphs; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(select_card(card));
    TG_TRY(tg_cuda_status(cudaStreamBeginCapture(card->stream, cudaStreamCaptureModeThreadLocal),
                          card->device, "beginning a graph"));
  }
  halo->capturing = true;
  for (int i = 1; i < halo->cards.count && tg_one_graph(halo); i++) TG_TRY(after(halo, i, 0));
  return TG_OK;
}

static tg_status prepare_card(const tg_card* card, cudaGraph_t graph, cudaGraphExec_t* out) {
  TG_TRY(select_card(card));
  TG_TRY(tg_cuda_status(cudaGraphInstantiate(out, graph, 0), card->device, "preparing a graph"));
  return tg_cuda_status(cudaGraphUpload(*out, card->stream), card->device, "loading a graph");
}

tg_status tg_device_halo_graph_end(tg_device_halo* halo, tg_device_halo_graph** out) {
  if (!halo->capturing) return tg_fail(TG_ERR_INTERNAL, "halo: no graph was begun");
  tg_status status = TG_OK;
  for (int i = 1; i < halo->cards.count && tg_one_graph(halo) && status == TG_OK; i++)
    status = after(halo, 0, i);
  tg_device_halo_graph* graph = new (std::nothrow) tg_device_halo_graph();
  if (!graph) return tg_fail(TG_ERR_MACHINE, "no memory for a graph");
  memset(graph, 0, sizeof *graph);
  int graphs = tg_one_graph(halo) ? 1 : halo->cards.count;
  cudaGraph_t captured[TG_MOST_CARDS] = {};
  /* All captures end, whatever happens, and before any graph is prepared: preparing one invalidates
   * captures that this thread has open on other cards. */
  for (int i = 0; i < graphs; i++) {
    const tg_card* card = &halo->cards.card[i];
    tg_status ended = select_card(card);
    if (ended == TG_OK)
      ended = tg_cuda_status(cudaStreamEndCapture(card->stream, &captured[i]), card->device,
                             "ending a graph");
    if (status == TG_OK) status = ended;
  }
  for (int i = 0; i < graphs; i++) {
    if (status == TG_OK) status = prepare_card(&halo->cards.card[i], captured[i], &graph->exec[i]);
    if (captured[i]) cudaGraphDestroy(captured[i]);
  }
  halo->capturing = false;
  for (int i = 0; i < halo->cards.count && status == TG_OK; i++)
    status = tg_cuda_status(cudaStreamSynchronize(halo->cards.card[i].stream),
                            halo->cards.card[i].device, "loading a graph");
  if (status == TG_OK)
    *out = graph;
  else
    tg_device_halo_graph_destroy(halo, &graph);
  return status;
}

tg_status tg_device_halo_graph_launch(tg_device_halo* halo, tg_device_halo_graph* graph) {
  bool one = tg_one_graph(halo);
  for (int i = 1; i < halo->cards.count && one; i++) TG_TRY(after(halo, 0, i));
  for (int i = 0; i < halo->cards.count; i++) {
    if (!graph->exec[i]) continue;
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(select_card(card));
    TG_TRY(tg_cuda_status(cudaGraphLaunch(graph->exec[i], card->stream), card->device,
                          "launching a graph"));
  }
  for (int i = 1; i < halo->cards.count && one; i++) TG_TRY(after(halo, i, 0));
  return TG_OK;
}

void tg_device_halo_graph_destroy(tg_device_halo* halo, tg_device_halo_graph** graph) {
  if (!graph || !*graph) return;
  for (int i = 0; i < halo->cards.count; i++) {
    if (!(*graph)->exec[i]) continue;
    cudaSetDevice(halo->cards.card[i].device);
    cudaGraphExecDestroy((*graph)->exec[i]);
  }
  delete *graph;
  *graph = NULL;
}
