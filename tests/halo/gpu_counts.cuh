/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, copies and blocking waits of a step, as docs/halo.md's table has them: by the halo's
 * own counters and by what a graph of the step holds. */
#ifndef TG_TESTS_HALO_GPU_COUNTS_CUH
#define TG_TESTS_HALO_GPU_COUNTS_CUH

#include "halo/gpu_scene.cuh"

/* Of all cards, one direction. */
typedef struct step_counts {
  int64_t launches, copies, waits;
} step_counts;

static step_counts counts_of(const scene* s, const way* w, int gpus, bool forces) {
  const int64_t n = s->plan.channel_count, cards = gpus;
  const bool host = strcmp(w->schedule, "host") == 0, stream = strcmp(w->schedule, "stream") == 0;
  const bool one_by_one = host || stream || strcmp(w->schedule, "pulse") == 0;
  step_counts counts = {n == 0 ? 0 : cards * (one_by_one ? n : 1), 0, host ? cards * 2 * n : 0};
  for (int p = 0; p < s->plan.pe_count && (host || stream); p++)
    for (int c = 0; c < n; c++) {
      const tg_device_message* m = &s->plan.parts[p].messages[c];
      counts.copies += (forces ? m->receive_count : m->send_count) > 0;
    }
  return counts;
}

static bool same_counts(const char* what, const tg_device_halo_counts* before,
                        const tg_device_halo_counts* after, const step_counts* wanted) {
  const step_counts found = {after->launches - before->launches, after->copies - before->copies,
                             after->blocking_waits - before->blocking_waits};
  if (found.launches == wanted->launches && found.copies == wanted->copies &&
      found.waits == wanted->waits)
    return true;
  printf("    %s: %lld launches, %lld copies, %lld waits; expected %lld, %lld, %lld\n", what,
         (long long)found.launches, (long long)found.copies, (long long)found.waits,
         (long long)wanted->launches, (long long)wanted->copies, (long long)wanted->waits);
  return false;
}

/* What the step really queues: nodes of one graph per card. Nothing in it may block: a wait of the
 * CPU for a stream that is captured is an error. */
static bool same_nodes(tg_device_halo* halo, int64_t launches, int64_t copies) {
  int64_t kernels = 0, others = 0;
  const tg_cards* cards = &halo->cards;
  for (int i = 0; i < cards->count; i++) {
    cudaSetDevice(cards->card[i].device);
    EXPECT(cudaStreamBeginCapture(cards->card[i].stream, cudaStreamCaptureModeThreadLocal) ==
           cudaSuccess);
  }
  tg_status status = tg_device_halo_positions(halo);
  if (status == TG_OK) status = tg_device_halo_forces(halo);
  if (status != TG_OK) printf("    %s\n", tg_last_error());
  for (int i = 0; i < cards->count; i++) {
    cudaGraph_t graph = NULL;
    size_t count = 0;
    cudaSetDevice(cards->card[i].device);
    EXPECT(cudaStreamEndCapture(cards->card[i].stream, &graph) == cudaSuccess && graph);
    EXPECT(cudaGraphGetNodes(graph, NULL, &count) == cudaSuccess);
    std::vector<cudaGraphNode_t> nodes(count + 1);
    if (count) EXPECT(cudaGraphGetNodes(graph, nodes.data(), &count) == cudaSuccess);
    for (size_t k = 0; k < count; k++) {
      cudaGraphNodeType type;
      EXPECT(cudaGraphNodeGetType(nodes[k], &type) == cudaSuccess);
      kernels += type == cudaGraphNodeTypeKernel;
      others += type != cudaGraphNodeTypeKernel;
    }
    cudaGraphDestroy(graph);
  }
  EXPECT(status == TG_OK);
  if (kernels != launches || others != copies)
    printf("    a graph of %lld kernels and %lld other nodes; expected %lld, %lld\n",
           (long long)kernels, (long long)others, (long long)launches, (long long)copies);
  return kernels == launches && others == copies;
}

/* pulses: of the staged plan. */
static bool counted(const layout* wanted, int pulses, const way* w, int gpus) {
  scene s;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  EXPECT(is_direct(w) || s.plan.channel_count == pulses);
  tg_device_halo_params params = params_of(w, gpus, false, true);
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  const step_counts there = counts_of(&s, w, gpus, false), back = counts_of(&s, w, gpus, true);
  for (int n = 0; n < 2; n++) {
    tg_device_halo_counters before, after;
    RUN(tg_device_halo_counters_read(h.halo, &before));
    RUN(tg_device_halo_positions(h.halo));
    RUN(tg_device_halo_forces(h.halo));
    RUN(tg_device_halo_counters_read(h.halo, &after));
    EXPECT(same_counts("positions", &before.positions, &after.positions, &there));
    EXPECT(same_counts("forces", &before.forces, &after.forces, &back));
  }
  /* where cards meet by events, their streams are not captured apart */
  if (!strcmp(w->schedule, "host") || (!strcmp(w->schedule, "stream") && gpus > 1)) return true;
  return same_nodes(h.halo, there.launches + back.launches, there.copies + back.copies);
}

/* Schedule direct, sent by the kernel that moves the atoms: that one and tg_device_halo_await,
 * where the atoms' step alone would take the first. A kernel of the caller that pushes and one that
 * waits by itself: none at all. */
static bool counted_pushes(const layout* wanted, int gpus) {
  const way w = {"direct", "put", false};
  scene s;
  RUN(scene_make(wanted, 0, true, &s));
  tg_device_halo_params params = params_of(&w, gpus, false, true);
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  const int64_t cards = gpus, any = s.plan.channel_count > 0;
  const step_counts moving = {cards, 0, 0}, awaiting = {cards * any, 0, 0}, back = awaiting;
  tg_device_halo_counters start, moved, sent, returned;
  for (int n = 0; n < 2; n++) {
    RUN(tg_device_halo_counters_read(h.halo, &start));
    RUN(tg_device_halo_move(h.halo, 0.25, true));
    RUN(tg_device_halo_counters_read(h.halo, &moved));
    RUN(tg_device_halo_await(h.halo));
    RUN(tg_device_halo_counters_read(h.halo, &sent));
    RUN(tg_device_halo_forces(h.halo));
    RUN(tg_device_halo_counters_read(h.halo, &returned));
    EXPECT(same_counts("moving", &start.positions, &moved.positions, &moving));
    EXPECT(same_counts("awaiting", &moved.positions, &sent.positions, &awaiting));
    EXPECT(same_counts("forces", &sent.forces, &returned.forces, &back));
  }
  std::vector<watch> watches(s.plan.pe_count);
  std::vector<char*> memory(s.plan.pe_count, NULL);
  for (int p = 0; p < s.plan.pe_count; p++) RUN(watch_make(&s, h.halo, p, &watches[p], &memory[p]));
  const step_counts none = {0, 0, 0};
  bool right = queue_step(h.halo, watches, PUSHED, true);
  RUN(tg_device_halo_counters_read(h.halo, &sent));
  for (char* one : memory) cudaFree(one);
  EXPECT(right);
  EXPECT(same_counts("pushing", &returned.positions, &sent.positions, &none));
  EXPECT(same_counts("forces", &returned.forces, &sent.forces, &back));
  return true;
}

#endif
