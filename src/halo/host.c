/* SPDX-License-Identifier: Apache-2.0 */
/* Schedule host: the CPU packs, sends, waits, pulse by pulse; the baseline of the others.
 *
 * Positions: each pulse packs what its index names (home atoms and, in later pulses, halo atoms
 * that have arrived by then), and receives straight into its slice. Forces: the pulses in reverse;
 * a slice is sent as it lies, what arrives is added by index. A forwarded atom is thus complete
 * when its turn to go back comes, and every sum has one fixed order. */
#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "halo/internal.h"

static tg_status transfer(tg_halo* halo, int to, const void* send, size_t send_bytes, int from,
                          void* receive, size_t receive_bytes) {
  double start = tg_time_now();
  tg_status status =
      tg_world_exchange(halo->world, to, send, send_bytes, from, receive, receive_bytes);
  halo->counters.wait_s += tg_time_now() - start;
  halo->counters.messages++;
  halo->counters.bytes_sent += (int64_t)send_bytes;
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

static tg_status host_copy(tg_halo* halo, void* array, size_t size) {
  TG_TRY(packed_room(halo, size));
  char* bytes = array;
  for (int p = 0; p < halo->pulse_count; p++) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    for (size_t i = 0; i < pulse->send_count; i++)
      memcpy(halo->packed + i * size, bytes + halo->index[pulse->send_start + i] * size, size);
    void* slice = pulse->receive_count ? bytes + pulse->receive_start * size : NULL;
    TG_TRY(transfer(halo, pulse->lower, halo->packed, pulse->send_count * size, pulse->upper, slice,
                    pulse->receive_count * size));
  }
  return TG_OK;
}

static tg_status host_positions(tg_halo* halo, double (*x)[3]) {
  TG_TRY(packed_room(halo, sizeof *x));
  double(*packed)[3] = (double(*)[3])(void*)halo->packed;
  for (int p = 0; p < halo->pulse_count; p++) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    double shift[3] = {0, 0, 0};
    shift[pulse->dimension] = pulse->shift;
    for (size_t i = 0; i < pulse->send_count; i++) {
      const double* from = x[halo->index[pulse->send_start + i]];
      for (int d = 0; d < 3; d++) packed[i][d] = from[d] + shift[d];
    }
    void* slice = pulse->receive_count ? x + pulse->receive_start : NULL;
    TG_TRY(transfer(halo, pulse->lower, packed, pulse->send_count * sizeof *x, pulse->upper, slice,
                    pulse->receive_count * sizeof *x));
  }
  return TG_OK;
}

static tg_status host_forces(tg_halo* halo, double (*f)[3]) {
  TG_TRY(packed_room(halo, sizeof *f));
  double(*returned)[3] = (double(*)[3])(void*)halo->packed;
  for (int p = halo->pulse_count - 1; p >= 0; p--) {
    const tg_halo_pulse* pulse = &halo->pulses[p];
    const void* slice = pulse->receive_count ? f + pulse->receive_start : NULL;
    TG_TRY(transfer(halo, pulse->upper, slice, pulse->receive_count * sizeof *f, pulse->lower,
                    returned, pulse->send_count * sizeof *f));
    for (size_t i = 0; i < pulse->send_count; i++) {
      double* to = f[halo->index[pulse->send_start + i]];
      for (int d = 0; d < 3; d++) to[d] += returned[i][d];
    }
  }
  return TG_OK;
}

const tg_halo_schedule tg_halo_schedule_host = {
    .name = "host",
    .copy = host_copy,
    .positions = host_positions,
    .forces = host_forces,
};
