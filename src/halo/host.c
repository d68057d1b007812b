/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule host: the CPU packs, sends, waits, pulse by pulse; the baseline of the others.
 *
 * Down: each pulse packs what its index names (home atoms and, in later pulses, halo atoms that
 * have arrived by then), and receives straight into its slice. Up: the pulses in reverse; a slice
 * is sent as it lies, what arrives is added by index. A forwarded atom is thus complete when its
 * turn to go back comes, and every sum has one fixed order. */
#include "base/memory.h"
#include "base/timer.h"
#include "halo/internal.h"

/* The message of pulse p, there and here. */
static tg_status transfer(tg_halo* halo, int p, bool up, const void* send, size_t send_bytes,
                          void* receive, size_t receive_bytes) {
  const tg_halo_pulse* pulse = &halo->pulses[p];
  int to = up ? pulse->upper : pulse->lower, from = up ? pulse->lower : pulse->upper;
  int64_t begin = tg_halo_sent(halo, p, up, to, tg_trace_now(halo->trace));
  double start = tg_time_now();
  tg_status status =
      tg_world_exchange(halo->world, to, send, send_bytes, from, receive, receive_bytes);
  halo->counters.wait_s += tg_time_now() - start;
  halo->counters.waits++; /* for the message that comes, and the receipt of the one that goes */
  halo->counters.messages++;
  halo->counters.bytes_sent += (int64_t)send_bytes;
  tg_halo_received(halo, p, up, from, begin);
  return status;
}

/* Room for the largest message of the plan; asks for memory only after a new plan or a larger size.
 */
static tg_status packed_room(tg_halo* halo, size_t size) {
  size_t most = 0;
  for (int p = 0; p < halo->pulse_count; p++)
    if (halo->pulses[p].send_count > most) most = halo->pulses[p].send_count;
  tg_status status =
      TG_RESERVE(most * size, "halo messages", &halo->packed, &halo->packed_capacity);
  if (status != TG_OK) tg_world_abort(halo->world, status); /* the others are on their way */
  return status;
}

static char* slice(const tg_halo_data* data, const tg_halo_pulse* pulse) {
  return pulse->receive_count ? data->base + pulse->receive_start * data->size : NULL;
}

static tg_status host_down(tg_halo* halo, const tg_halo_data* data) {
  TG_TRY(packed_room(halo, data->size));
  for (int p = 0; p < halo->pulse_count; p++) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    tg_world_note(halo->world, data->what, p + 1, halo->counters.exchanges);
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_pack(data, halo->index + pulse->send_start, pulse->send_count, &pulse->shift, 1,
                 halo->packed);
    tg_halo_span(halo, p, "pack", begin, pulse->send_count);
    TG_TRY(transfer(halo, p, false, halo->packed, pulse->send_count * data->size,
                    slice(data, pulse), pulse->receive_count * data->size));
  }
  return TG_OK;
}

static tg_status host_up(tg_halo* halo, const tg_halo_data* data) {
  TG_TRY(packed_room(halo, data->size));
  for (int p = halo->pulse_count - 1; p >= 0; p--) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    tg_world_note(halo->world, data->what, p + 1, halo->counters.exchanges);
    TG_TRY(transfer(halo, p, true, slice(data, pulse), pulse->receive_count * data->size,
                    halo->packed, pulse->send_count * data->size));
    int64_t begin = tg_trace_now(halo->trace);
    tg_halo_add(data, halo->index + pulse->send_start, pulse->send_count, halo->packed);
    tg_halo_span(halo, p, "add", begin, pulse->send_count);
  }
  return TG_OK;
}

const tg_halo_schedule tg_halo_schedule_host = {
    .name = "host",
    .down = host_down,
    .up = host_up,
};
