/* SPDX-License-Identifier: Apache-2.0 */
/* A PE's part of a device plan, from the plan that the PEs of a world have made together (plan.c).
 *
 * Staged: the pulses are the messages, word for word. Direct: the halo atoms sorted by their
 * offset, in their order; each PE asks the owners for them by their numbers at home, and so the
 * owners learn what they send. */
#include <string.h>

#include "base/memory.h"
#include "halo/device_plan.h"
#include "halo/internal.h"

/* Fills the halo part of a list of numbers, [local_count], from those of the home atoms. */
static tg_status learn(tg_halo* halo, uint32_t* numbers) {
  tg_halo_data data = {.base = (char*)numbers,
                       .stride = sizeof *numbers,
                       .size = sizeof *numbers,
                       .what = "atom numbers"};
  tg_status status = tg_halo_schedule_host.down(halo, &data);
  tg_world_note(halo->world, NULL, 0, 0);
  return status;
}

/* Where atoms live and their numbers there, in the order of the host's plan. */
static tg_status learn_origins(tg_halo* halo, int* pes, uint32_t* atoms, uint32_t* scratch) {
  for (size_t i = 0; i < halo->home_count; i++) {
    atoms[i] = (uint32_t)i;
    scratch[i] = (uint32_t)tg_world_pe(halo->world);
  }
  TG_TRY(learn(halo, atoms));
  TG_TRY(learn(halo, scratch));
  for (size_t i = 0; i < halo->local_count; i++) pes[i] = (int)scratch[i];
  return TG_OK;
}

static tg_status too_many(void) {
  return tg_fail(TG_ERR_INPUT, "halo: more than %d messages per exchange; use fewer domains",
                 TG_DEVICE_PLAN_CHANNELS);
}

static tg_status take_send(tg_device_message* message, const uint32_t* atoms, size_t count) {
  TG_TRY(TG_RESERVE(count, "halo index", &message->send, &message->send_capacity));
  if (count) memcpy(message->send, atoms, count * sizeof *atoms);
  message->send_count = count;
  return TG_OK;
}

static tg_status take_pulses(const tg_halo* halo, tg_device_plan* plan, tg_device_part* part) {
  if (halo->pulse_count > TG_DEVICE_PLAN_CHANNELS) return too_many();
  for (int c = 0; c < halo->pulse_count; c++) {
    const tg_halo_pulse* pulse = &halo->pulses[c];
    tg_device_message* message = &part->messages[c];
    message->to = pulse->lower;
    message->from = pulse->upper;
    memcpy(message->shift[2 - pulse->dimension], pulse->shift, sizeof pulse->shift);
    message->receive_start = pulse->receive_start;
    message->receive_count = pulse->receive_count;
    TG_TRY(take_send(message, halo->index + pulse->send_start, pulse->send_count));
  }
  plan->channel_count = halo->pulse_count;
  return TG_OK;
}

/* The PE that lies offset domains up (sign 1) or down (sign -1). */
static int neighbour(const tg_halo* halo, const int offset[3], int sign) {
  int pe = 0;
  for (int d = 0; d < 3; d++) {
    int grid = halo->grid[d];
    pe = pe * grid + ((halo->cell[d] + sign * offset[d]) % grid + grid) % grid;
  }
  return pe;
}

static bool comes_from(const uint8_t offset[3], const int wanted[3]) {
  return offset[0] == wanted[0] && offset[1] == wanted[1] && offset[2] == wanted[2];
}

/* What a message brings, behind what is in part already. */
static void sort_in(const tg_halo* halo, const int offset[3], const int* pes, const uint32_t* atoms,
                    tg_device_part* part, tg_device_message* message) {
  message->to = neighbour(halo, offset, -1);
  message->from = neighbour(halo, offset, 1);
  for (int d = 0; d < 3; d++)
    if (halo->cell[d] < offset[d])
      memcpy(message->shift[2 - d], halo->edge_shift[d], sizeof halo->edge_shift[d]);
  message->receive_start = part->local_count;
  for (size_t i = halo->home_count; i < halo->local_count; i++) {
    if (!comes_from(halo->offset[i], offset)) continue;
    part->origin_pe[part->local_count] = pes[i];
    part->origin_atom[part->local_count++] = atoms[i];
  }
  message->receive_count = part->local_count - message->receive_start;
}

static tg_status make_direct(tg_halo* halo, const int* pes, const uint32_t* atoms,
                             tg_device_plan* plan, tg_device_part* part) {
  const int* most = halo->pulses_along;
  int count = (most[0] + 1) * (most[1] + 1) * (most[2] + 1) - 1;
  if (count > TG_DEVICE_PLAN_CHANNELS) return too_many(); /* on all PEs alike */
  for (int c = 0; c < count; c++) {
    tg_device_message* message = &part->messages[c];
    const int offset[3] = {(c + 1) / (most[2] + 1) / (most[1] + 1),
                           (c + 1) / (most[2] + 1) % (most[1] + 1), (c + 1) % (most[2] + 1)};
    size_t bytes = 0;
    sort_in(halo, offset, pes, atoms, part, message);
    const uint32_t* asked =
        message->receive_count ? part->origin_atom + message->receive_start : NULL;
    TG_TRY(tg_world_exchange_any(halo->world, message->from, asked,
                                 message->receive_count * sizeof *asked, message->to,
                                 (void**)&halo->arrived, &halo->arrived_capacity, &bytes));
    tg_status status =
        take_send(message, (const uint32_t*)(void*)halo->arrived, bytes / sizeof *asked);
    if (status != TG_OK) { /* the others wait for this PE's next question */
      tg_world_abort(halo->world, status);
      return status;
    }
  }
  plan->channel_count = count;
  return TG_OK;
}

/* What the PEs have to agree on before they exchange anything: the room for a part, and scratch. */
typedef struct workings {
  tg_device_part* part;
  int* pes;
  uint32_t *atoms, *scratch; /* all [local_count] */
} workings;

static tg_status begin(const tg_halo* halo, tg_device_plan* plan, workings* w) {
  size_t count = halo->local_count;
  if (!halo->planned)
    return tg_fail(TG_ERR_INPUT,
                   "halo: PE %d has no plan to be taken to a GPU; call tg_halo_plan first",
                   tg_world_pe(halo->world));
  TG_TRY(TG_ALLOCATE((size_t)plan->pe_count, "halo plans", &plan->parts));
  w->part = &plan->parts[tg_world_pe(halo->world)];
  TG_TRY(TG_ALLOCATE(TG_DEVICE_PLAN_CHANNELS, "halo messages", &w->part->messages));
  TG_TRY(TG_ALLOCATE(count, "atom origins", &w->part->origin_pe));
  TG_TRY(TG_ALLOCATE(count, "atom origins", &w->part->origin_atom));
  TG_TRY(TG_ALLOCATE(count, "atom numbers", &w->pes));
  TG_TRY(TG_ALLOCATE(count, "atom numbers", &w->atoms));
  return TG_ALLOCATE(count, "atom numbers", &w->scratch);
}

static tg_status fill(tg_halo* halo, bool direct, tg_device_plan* plan, const workings* w) {
  tg_device_part* part = w->part;
  TG_TRY(learn_origins(halo, w->pes, w->atoms, w->scratch));
  part->home_count = halo->home_count;
  part->local_count = direct ? halo->home_count : halo->local_count;
  for (size_t i = 0; i < part->local_count; i++) {
    part->origin_pe[i] = w->pes[i];
    part->origin_atom[i] = w->atoms[i];
  }
  tg_status status =
      direct ? make_direct(halo, w->pes, w->atoms, plan, part) : take_pulses(halo, plan, part);
  return tg_world_agree(halo->world, status);
}

tg_status tg_device_plan_from_halo(tg_halo* halo, bool direct, tg_device_plan* out) {
  tg_device_plan plan = {.pe_count = tg_world_pe_count(halo->world), .direct = direct};
  workings w = {0};
  memcpy(plan.grid, halo->grid, sizeof plan.grid);
  tg_status status = tg_world_agree(halo->world, begin(halo, &plan, &w));
  if (status == TG_OK) status = fill(halo, direct, &plan, &w);
  tg_free(w.pes);
  tg_free(w.atoms);
  tg_free(w.scratch);
  if (status == TG_OK)
    *out = plan;
  else
    tg_device_plan_free(&plan);
  return status;
}
