/* SPDX-License-Identifier: Apache-2.0 */
/* A PE that does not arrive: after some good exchanges PE 1 is set back by one, so it sends, or
 * gives back, the last exchange once more instead of the next. The others must end at their
 * deadline and name a PE, message and counters that are right. */
#ifndef TG_TESTS_HALO_GPU_STALL_CUH
#define TG_TESTS_HALO_GPU_STALL_CUH

#include "halo/gpu_scene.cuh"

enum { STALL_PE = 1, STALL_AFTER = 3 };

/* What a wait is for. */
typedef enum stall_phase { STALL_POSITIONS, STALL_FORCES, STALL_READ } stall_phase;

/* Does a kernel of this way wait for another PE? On one card only where atoms are forwarded, or
 * forces are fetched by flags; with two, wherever a message crosses. (2 x 2 x 1 PEs.) */
static inline bool stall_waits(const way* w, int gpus, stall_phase phase) {
  if (!strcmp(w->schedule, "host") || !strcmp(w->schedule, "stream")) return false;
  if (gpus > 1) return true;
  if (phase == STALL_READ || !strcmp(w->schedule, "pulse")) return false;
  return !is_direct(w) || (phase == STALL_FORCES && strcmp(w->force_return, "put"));
}

/* May `waiting` run out of patience with `awaited` in message c? If that is PE 1; or if it passes
 * on (positions: in c what came in an earlier message; forces: of c what comes back by a later one)
 * what it itself awaits from PE 1. Where each message is a kernel of its own, or nothing is
 * forwarded, it is PE 1 alone. */
static inline bool stall_may_name(const scene* s, const way* w, stall_phase phase, int waiting,
                                  int awaited, int c) {
  const tg_device_message* messages = s->plan.parts[awaited].messages;
  if (c < 0 || c >= s->plan.channel_count) return false;
  if ((phase == STALL_POSITIONS ? messages[c].to : messages[c].from) != waiting) return false;
  if (awaited == STALL_PE) return true;
  if (is_direct(w) || !strcmp(w->schedule, "pulse")) return false;
  for (int q = 0; q < s->plan.channel_count; q++)
    if (phase == STALL_POSITIONS ? q < c && messages[q].from == STALL_PE
                                 : q > c && messages[q].to == STALL_PE)
      return true;
  return false;
}

/* Is message c meant by what follows "of PE n ("? Counted from 1, as a pulse or a neighbour. */
static inline bool stall_where(const char* text, const way* w, int c) {
  char place[32], exchange[32];
  snprintf(place, sizeof place, is_direct(w) ? "neighbour %d at (" : "pulse %d, ", c + 1);
  snprintf(exchange, sizeof exchange, ", exchange %d)", STALL_AFTER + 1);
  return !strncmp(text, place, strlen(place)) && strstr(text, exchange);
}

/* Does the error name one of the waits that there may be, with these counters? */
static bool stall_named(const scene* s, const way* w, stall_phase phase) {
  static const char* const what[] = {"positions", "forces", "word that positions were read"};
  /* a word of exchange n is awaited before n + 1 is sent */
  const int seen = phase == STALL_READ ? STALL_AFTER - 1 : STALL_AFTER;
  char counters[80];
  snprintf(counters, sizeof counters, " stands at %d, %d was awaited", seen, seen + 1);
  const char* text = strstr(tg_last_error(), counters) ? tg_last_error() : "";
  for (int waiting = 0; waiting < s->plan.pe_count; waiting++)
    for (int awaited = 0; awaited < s->plan.pe_count; awaited++) {
      char who[64], whom[80];
      snprintf(who, sizeof who, "PE %d waited ", waiting);
      snprintf(whom, sizeof whom, " for the %s of PE %d (", what[phase], awaited);
      const char* at = strstr(text, whom);
      for (int c = 0; at && strstr(text, who) && c < s->plan.channel_count; c++)
        if (stall_where(at + strlen(whom), w, c) &&
            stall_may_name(s, w, phase, waiting, awaited, c))
          return true;
    }
  printf("    %s\n", tg_last_error());
  return false;
}

/* Sets back what PE 1 has sent. */
static bool stall_set_back(tg_device_halo* halo, uint64_t to) {
  tg_device_halo_view v;
  tg_halo_port<float> port;
  tg_device_halo_view_of(halo, STALL_PE, &v);
  cudaSetDevice(v.device);
  EXPECT(cudaMemcpy(&port, v.port, sizeof port, cudaMemcpyDeviceToHost) == cudaSuccess);
  std::vector<uint64_t> sent((size_t)port.channel_count, to);
  EXPECT(cudaMemcpy(port.x_sent, sent.data(), 8 * sent.size(), cudaMemcpyHostToDevice) ==
         cudaSuccess);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  return true;
}

static bool stalled(const way* w, int gpus, stall_phase phase) {
  const bool forces = phase != STALL_READ;
  /* around a ring of two only PE 0 can wait for the word of PE 1 */
  layout wanted = {{2, forces ? 2 : 1, 1}, 1.0, 300, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, gpus, false, forces);
  params.deadline_s = 0.1;
  holder h;
  RUN(tg_device_halo_create(&params, &s.plan, &h.halo));
  for (int n = 0; n < STALL_AFTER; n++) {
    RUN(tg_device_halo_positions(h.halo));
    if (forces) RUN(tg_device_halo_forces(h.halo));
  }
  if (phase == STALL_FORCES) RUN(tg_device_halo_positions(h.halo));
  RUN(tg_device_halo_synchronize(h.halo));
  /* positions of n + 1 follow what was sent, forces are those of what was sent */
  if (!stall_set_back(h.halo, phase == STALL_FORCES ? STALL_AFTER : STALL_AFTER - 1)) return false;
  double start = tg_time_now();
  RUN(phase == STALL_FORCES ? tg_device_halo_forces(h.halo) : tg_device_halo_positions(h.halo));
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
  double took = tg_time_now() - start;
  EXPECT(took > 0.09 && took < 1); /* the devices' clock may tick in steps */
  EXPECT(stall_named(&s, w, phase));
  /* it stays ended: later waits do not wait */
  start = tg_time_now();
  RUN(phase == STALL_POSITIONS ? tg_device_halo_forces(h.halo) : tg_device_halo_positions(h.halo));
  EXPECT(tg_device_halo_synchronize(h.halo) == TG_ERR_MACHINE);
  EXPECT(tg_time_now() - start < 0.05);
  return true;
}

#endif
