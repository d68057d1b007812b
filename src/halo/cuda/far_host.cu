/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule host between processes, staged: pack kernel, copy to the host, wait, message, copy to
 * the device, pulse by pulse.
 *
 * It is the measure of the other schedules, so it is made as fast as a host-driven exchange can be:
 * buffers are pinned, each message has its own, and the one wait for the stream in a pulse is that
 * before its message. That wait also proves that the copies out of the buffers it is about to
 * overwrite, queued one exchange earlier, are done. */
#include "base/timer.h"
#include "halo/cuda/internal.cuh"

static const size_t components_per_block = 2 * TG_HALO_THREADS, most_blocks = 128;

typedef struct staged {
  tg_device_halo* halo;
  tg_device_halo_counts* counts;
  const tg_card* card;
  size_t atom; /* bytes */
} staged;

static staged stage(tg_device_halo* halo, tg_device_halo_counts* counts) {
  staged s = {halo, counts, &halo->cards.card[0], 3 * tg_element(halo)};
  return s;
}

static tg_status launched(staged* s) {
  s->counts->launches++;
  return tg_cuda_status(cudaGetLastError(), s->card->device, "launching a halo kernel");
}

static unsigned blocks(size_t atoms) {
  size_t wanted = (3 * atoms + components_per_block - 1) / components_per_block;
  return (unsigned)(wanted < most_blocks ? wanted : most_blocks);
}

static tg_status copy(staged* s, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return TG_OK;
  s->counts->copies++;
  return tg_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, s->card->stream),
                        s->card->device, "copying a halo message");
}

/* What was queued is done; then the message of channel c, from and to pinned memory. */
static tg_status exchange(staged* s, int c, bool forces, char* out, char* in) {
  const tg_device_pe* pe = &s->halo->pes[(size_t)s->halo->own];
  size_t down = pe->send_count[(size_t)c] * s->atom, up = pe->receive_count[(size_t)c] * s->atom;
  double start = tg_time_now();
  if (down || up) {
    TG_TRY(tg_cuda_status(cudaStreamSynchronize(s->card->stream), s->card->device,
                          "waiting for a halo exchange"));
    s->counts->blocking_waits++;
  }
  tg_world_note(s->halo->world, forces ? "forces of halo message" : "positions of halo message", c,
                s->halo->staged_turn);
  tg_status status = forces ? tg_world_exchange(s->halo->world, pe->from[(size_t)c], out, up,
                                                pe->to[(size_t)c], in, down)
                            : tg_world_exchange(s->halo->world, pe->to[(size_t)c], out, down,
                                                pe->from[(size_t)c], in, up);
  tg_world_note(s->halo->world, NULL, 0, 0);
  s->counts->blocking_waits++;
  s->counts->wait_s += tg_time_now() - start;
  return status;
}

template <typename T>
static tg_status send(tg_device_halo* halo) {
  staged s = stage(halo, &halo->counters.positions);
  const tg_device_pe* pe = &halo->pes[(size_t)halo->own];
  halo->staged_turn++;
  TG_TRY(tg_cuda_status(cudaSetDevice(s.card->device), s.card->device, "selecting it"));
  for (int c = 0; c < halo->channel_count; c++) {
    size_t at = halo->send_slot[(size_t)c] * s.atom, count = pe->send_count[(size_t)c];
    char *out = halo->pinned + at, *in = halo->pinned + halo->send_capacity * s.atom + at;
    if (count) {
      tg_pack_positions<T, false><<<blocks(count), TG_HALO_THREADS, 0, s.card->stream>>>(
          (const tg_halo_port<T>*)halo->ports[0], c);
      TG_TRY(launched(&s));
    }
    TG_TRY(copy(&s, out, pe->memory + halo->layout.packed + at, count * s.atom));
    TG_TRY(exchange(&s, c, false, out, in));
    TG_TRY(copy(&s, pe->memory + halo->layout.x + halo->slice[(size_t)c] * s.atom, in,
                pe->receive_count[(size_t)c] * s.atom));
  }
  return TG_OK;
}

template <typename T>
static tg_status give_back(tg_device_halo* halo) {
  staged s = stage(halo, &halo->counters.forces);
  const tg_device_pe* pe = &halo->pes[(size_t)halo->own];
  TG_TRY(tg_cuda_status(cudaSetDevice(s.card->device), s.card->device, "selecting it"));
  for (int c = halo->channel_count - 1; c >= 0; c--) {
    size_t at = halo->send_slot[(size_t)c] * s.atom, count = pe->send_count[(size_t)c];
    /* to and fro change places: what came down goes up */
    char *in = halo->pinned + at, *out = halo->pinned + halo->send_capacity * s.atom + at;
    TG_TRY(copy(&s, out, pe->memory + halo->layout.f + halo->slice[(size_t)c] * s.atom,
                pe->receive_count[(size_t)c] * s.atom));
    TG_TRY(exchange(&s, c, true, out, in));
    TG_TRY(copy(&s, pe->memory + halo->layout.f_in + at, in, count * s.atom));
    if (count) {
      tg_unpack_forces<T, false><<<blocks(count), TG_HALO_THREADS, 0, s.card->stream>>>(
          (const tg_halo_port<T>*)halo->ports[0], c);
      TG_TRY(launched(&s));
    }
  }
  return TG_OK;
}

/* Nothing here spins, so any grid will do. */
static tg_status prepare(tg_device_halo* halo) {
  (void)halo;
  return TG_OK;
}

static tg_status positions(tg_device_halo* halo) {
  return halo->double_precision ? send<double>(halo) : send<float>(halo);
}

static tg_status forces(tg_device_halo* halo) {
  return halo->double_precision ? give_back<double>(halo) : give_back<float>(halo);
}

const tg_device_far* tg_device_far_host(void) {
  static const tg_device_far far = {prepare, positions, forces, NULL};
  return &far;
}
