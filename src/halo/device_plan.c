/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of plan.c for all PEs in one go (device_plan.h).
 *
 * Direct channels are read off the staged plan: the copies a PE ends up with are sorted by where
 * they came from. A copy that is k domains up travelled one way only, and no pulse changes the
 * order of atoms, so the copies of one offset stand in the order of their home numbers. */
#include "halo/device_plan.h"

#include <string.h>

#include "base/memory.h"
#include "halo/internal.h"

static const int dimension_order[3] = {2, 1, 0};

/* A PE while its plan grows. */
typedef struct growing {
  int cell[3];
  double (*centre)[3]; /* [local_count], nm, in this PE's frame */
  uint8_t (*offset)[3];
  int* origin_pe;
  uint32_t* origin_atom;
  size_t centre_room, offset_room, pe_room, atom_room;
  size_t home_count, local_count, before; /* before: local_count as the pulse began */
} growing;

static int pe_at(const int grid[3], const int cell[3]) {
  return (cell[0] * grid[1] + cell[1]) * grid[2] + cell[2];
}

/* The PE that lies offset domains up (sign 1) or down (sign -1). */
static int neighbour(const int grid[3], const int cell[3], const int offset[3], int sign) {
  int at[3];
  for (int d = 0; d < 3; d++) at[d] = ((cell[d] + sign * offset[d]) % grid[d] + grid[d]) % grid[d];
  return pe_at(grid, at);
}

static tg_status reserve(growing* pe, size_t count) {
  if (count > (1u << 26))
    return tg_fail(TG_ERR_INPUT, "halo: %zu atoms on one processing element; at most %u", count,
                   1u << 26);
  TG_TRY(TG_RESERVE(count, "atom centres", &pe->centre, &pe->centre_room));
  TG_TRY(TG_RESERVE(count, "atom offsets", &pe->offset, &pe->offset_room));
  TG_TRY(TG_RESERVE(count, "atom origins", &pe->origin_pe, &pe->pe_room));
  return TG_RESERVE(count, "atom origins", &pe->origin_atom, &pe->atom_room);
}

static tg_status start(growing* pes, const tg_device_geometry* box, const size_t* counts,
                       const double (*const* centres)[3]) {
  const int* grid = box->grid;
  int count = grid[0] * grid[1] * grid[2];
  for (int p = 0; p < count; p++) {
    growing* pe = &pes[p];
    pe->cell[2] = p % grid[2];
    pe->cell[1] = p / grid[2] % grid[1];
    pe->cell[0] = p / grid[2] / grid[1];
    TG_TRY(reserve(pe, counts[p]));
    for (size_t i = 0; i < counts[p]; i++) {
      if (box->oblique)
        tg_halo_across(box->vector, box->edge, centres[p][i], pe->centre[i]);
      else
        memcpy(pe->centre[i], centres[p][i], sizeof *pe->centre);
      memset(pe->offset[i], 0, sizeof *pe->offset);
      pe->origin_pe[i] = p;
      pe->origin_atom[i] = (uint32_t)i;
    }
    pe->home_count = pe->local_count = counts[p];
  }
  return TG_OK;
}

static tg_status append_send(tg_device_message* message, uint32_t atom) {
  TG_TRY(
      TG_RESERVE(message->send_count + 1, "halo index", &message->send, &message->send_capacity));
  message->send[message->send_count++] = atom;
  return TG_OK;
}

/* What `to` gets from `from`, whose message is filled in; the copies are appended. edge: added to
 * their centres along d. */
static tg_status deliver(growing* from, growing* to, const tg_device_message* message, int d,
                         double edge) {
  TG_TRY(reserve(to, to->local_count + message->send_count));
  for (size_t k = 0; k < message->send_count; k++) {
    size_t atom = message->send[k], at = to->local_count++;
    memcpy(to->centre[at], from->centre[atom], sizeof *to->centre);
    memcpy(to->offset[at], from->offset[atom], sizeof *to->offset);
    to->centre[at][d] += edge;
    to->offset[at][d]++;
    to->origin_pe[at] = from->origin_pe[atom];
    to->origin_atom[at] = from->origin_atom[atom];
  }
  return TG_OK;
}

/* One pulse of all PEs: candidates are the local atoms from first[pe] on. */
static tg_status pulse(tg_device_plan* plan, growing* pes, const tg_device_geometry* box, int d,
                       const size_t* first) {
  int unit[3] = {d == 0, d == 1, d == 2};
  int c = plan->channel_count;
  if (c >= TG_DEVICE_PLAN_CHANNELS)
    return tg_fail(TG_ERR_INPUT, "halo: more than %d messages per exchange; use fewer domains",
                   TG_DEVICE_PLAN_CHANNELS);
  for (int p = 0; p < plan->pe_count; p++) {
    growing* pe = &pes[p];
    tg_device_message* message = &plan->parts[p].messages[c];
    message->to = neighbour(plan->grid, pe->cell, unit, -1);
    message->from = neighbour(plan->grid, pe->cell, unit, 1);
    if (pe->cell[d] == 0) memcpy(message->shift[2 - d], box->vector[d], sizeof box->vector[d]);
    double limit = tg_halo_boundary(box->edge[d], pe->cell[d], plan->grid[d]) + box->reach;
    pe->before = pe->local_count;
    for (size_t i = first[p]; i < pe->local_count; i++)
      if (pe->centre[i][d] < limit) TG_TRY(append_send(message, (uint32_t)i));
  }
  for (int p = 0; p < plan->pe_count; p++) {
    tg_device_message* message = &plan->parts[p].messages[c];
    tg_device_message* arriving = &plan->parts[message->to].messages[c];
    arriving->receive_start = pes[message->to].local_count;
    arriving->receive_count = message->send_count;
    TG_TRY(deliver(&pes[p], &pes[message->to], message, d, pes[p].cell[d] == 0 ? box->edge[d] : 0));
  }
  plan->channel_count++;
  return TG_OK;
}

static tg_status pulses(tg_device_plan* plan, growing* pes, const tg_device_geometry* box,
                        size_t* first) {
  for (int k = 0; k < 3; k++) {
    int d = dimension_order[k], count = box->pulses[d];
    memset(first, 0, (size_t)plan->pe_count * sizeof *first);
    for (int i = 0; i < count; i++) {
      TG_TRY(pulse(plan, pes, box, d, first));
      for (int p = 0; p < plan->pe_count; p++) first[p] = pes[p].before;
    }
  }
  return TG_OK;
}

static void hand_over(tg_device_plan* plan, growing* pes) {
  for (int p = 0; p < plan->pe_count; p++) {
    tg_device_part* part = &plan->parts[p];
    part->home_count = pes[p].home_count;
    part->local_count = pes[p].local_count;
    part->origin_pe = pes[p].origin_pe;
    part->origin_atom = pes[p].origin_atom;
    pes[p].origin_pe = NULL;
    pes[p].origin_atom = NULL;
  }
}

static void forget_messages(tg_device_plan* plan) {
  for (int p = 0; p < plan->pe_count; p++)
    for (int c = 0; c < TG_DEVICE_PLAN_CHANNELS; c++) {
      tg_free(plan->parts[p].messages[c].send);
      memset(&plan->parts[p].messages[c], 0, sizeof plan->parts[p].messages[c]);
    }
}

/* The channel of one offset, in all PEs; origins are appended to the new lists. */
static tg_status direct_channel(tg_device_plan* plan, growing* pes, const tg_device_geometry* box,
                                const int offset[3]) {
  int c = plan->channel_count;
  if (c >= TG_DEVICE_PLAN_CHANNELS)
    return tg_fail(TG_ERR_INPUT,
                   "halo: a processing element has more than %d neighbours; use schedule fused, or "
                   "fewer domains",
                   TG_DEVICE_PLAN_CHANNELS);
  for (int p = 0; p < plan->pe_count; p++) {
    growing* pe = &pes[p];
    tg_device_part* part = &plan->parts[p];
    tg_device_message* arriving = &part->messages[c];
    arriving->to = neighbour(plan->grid, pe->cell, offset, -1);
    arriving->from = neighbour(plan->grid, pe->cell, offset, 1);
    for (int k = 0; k < 3; k++) {
      int d = dimension_order[k];
      if (pe->cell[d] < offset[d])
        memcpy(arriving->shift[k], box->vector[d], sizeof box->vector[d]);
    }
    arriving->receive_start = part->local_count;
    tg_device_message* message = &plan->parts[arriving->from].messages[c];
    for (size_t i = pe->home_count; i < pe->local_count; i++) {
      if (pe->offset[i][0] != offset[0] || pe->offset[i][1] != offset[1] ||
          pe->offset[i][2] != offset[2])
        continue;
      TG_TRY(append_send(message, pe->origin_atom[i]));
      part->origin_pe[part->local_count] = pe->origin_pe[i];
      part->origin_atom[part->local_count++] = pe->origin_atom[i];
    }
    arriving->receive_count = part->local_count - arriving->receive_start;
  }
  plan->channel_count++;
  return TG_OK;
}

static tg_status make_direct(tg_device_plan* plan, growing* pes, const tg_device_geometry* box) {
  forget_messages(plan);
  plan->channel_count = 0;
  const int* most = box->pulses;
  for (int p = 0; p < plan->pe_count; p++) {
    tg_device_part* part = &plan->parts[p];
    TG_TRY(TG_ALLOCATE(pes[p].local_count, "atom origins", &part->origin_pe));
    TG_TRY(TG_ALLOCATE(pes[p].local_count, "atom origins", &part->origin_atom));
    part->home_count = part->local_count = pes[p].home_count;
    for (size_t i = 0; i < part->home_count; i++) {
      part->origin_pe[i] = p;
      part->origin_atom[i] = (uint32_t)i;
    }
  }
  for (int x = 0; x <= most[0]; x++)
    for (int y = 0; y <= most[1]; y++)
      for (int z = 0; z <= most[2]; z++) {
        const int offset[3] = {x, y, z};
        if (x || y || z) TG_TRY(direct_channel(plan, pes, box, offset));
      }
  return TG_OK;
}

static tg_status check(const tg_device_geometry* box) {
  const int* grid = box->grid;
  double reach = box->reach;
  for (int d = 0; d < 3; d++) {
    if (!(reach >= 0) || !(box->edge[d] > 0))
      return tg_fail(TG_ERR_INPUT, "halo: a reach of %g nm in a box edge of %g nm along %c", reach,
                     box->edge[d], "xyz"[d]);
    double longest = tg_halo_longest_reach(box->edge[d], grid[d]);
    if (grid[d] > 1 && reach > longest)
      return tg_fail(TG_ERR_INPUT,
                     "halo: a reach of %g nm; %d domains along %c in a box edge of %g nm serve at "
                     "most %g nm; use fewer, or a larger box",
                     reach, grid[d], "xyz"[d], box -> edge[d], longest);
  }
  return TG_OK;
}

tg_status tg_device_geometry_make(const int grid[3], const double box[3][3], bool oblique,
                                  double reach, tg_device_geometry* out) {
  tg_device_geometry made = {.reach = reach, .oblique = oblique};
  memcpy(made.grid, grid, sizeof made.grid);
  if (oblique) {
    for (int d = 0; d < 3; d++)
      for (int i = 0; i < 3; i++) made.vector[d][i] = box[d][i] + 0.0; /* no -0: see plan.c */
    TG_TRY(tg_halo_heights(box, made.edge));
  }
  for (int d = 0; d < 3; d++) {
    if (grid[d] < 1 || grid[d] > 256)
      return tg_fail(TG_ERR_INPUT, "domains: a grid of %d x %d x %d; each must be 1 to 256",
                     grid[0], grid[1], grid[2]);
    if (!oblique) made.edge[d] = made.vector[d][d] = box[d][d];
  }
  TG_TRY(check(&made));
  for (int d = 0; d < 3; d++) made.pulses[d] = tg_halo_pulses_along(made.edge[d], grid[d], reach);
  *out = made;
  return TG_OK;
}

static tg_status make(const tg_device_geometry* box, const size_t* counts,
                      const double (*const* centres)[3], bool direct, tg_device_plan* out) {
  const int* grid = box->grid;
  tg_device_plan plan = {.grid = {grid[0], grid[1], grid[2]},
                         .pe_count = grid[0] * grid[1] * grid[2],
                         .direct = direct};
  growing* pes = NULL;
  size_t* first = NULL;
  tg_status status = TG_OK;
  size_t pe_count = (size_t)plan.pe_count;
  TG_TRY_GOTO(TG_ALLOCATE(pe_count, "halo plans", &plan.parts), end);
  TG_TRY_GOTO(TG_ALLOCATE(pe_count, "halo plans", &pes), end);
  TG_TRY_GOTO(TG_ALLOCATE(pe_count, "halo plans", &first), end);
  for (size_t p = 0; p < pe_count; p++)
    TG_TRY_GOTO(TG_ALLOCATE(TG_DEVICE_PLAN_CHANNELS, "halo messages", &plan.parts[p].messages),
                end);
  TG_TRY_GOTO(start(pes, box, counts, centres), end);
  TG_TRY_GOTO(pulses(&plan, pes, box, first), end);
  if (direct)
    status = make_direct(&plan, pes, box);
  else
    hand_over(&plan, pes);
end:
  for (size_t p = 0; pes && p < pe_count; p++) {
    tg_free(pes[p].centre);
    tg_free(pes[p].offset);
    tg_free(pes[p].origin_pe);
    tg_free(pes[p].origin_atom);
  }
  tg_free(pes);
  tg_free(first);
  if (status == TG_OK)
    *out = plan;
  else
    tg_device_plan_free(&plan);
  return status;
}

tg_status tg_device_plan_make(const int grid[3], const double box[3], double reach,
                              const size_t* counts, const double (*const* centres)[3], bool direct,
                              tg_device_plan* out) {
  const double diagonal[3][3] = {{box[0], 0, 0}, {0, box[1], 0}, {0, 0, box[2]}};
  tg_device_geometry rectangular;
  TG_TRY(tg_device_geometry_make(grid, diagonal, false, reach, &rectangular));
  return make(&rectangular, counts, centres, direct, out);
}

tg_status tg_device_plan_make_triclinic(const int grid[3], const double box[3][3], double reach,
                                        const size_t* counts, const double (*const* centres)[3],
                                        bool direct, tg_device_plan* out) {
  tg_device_geometry oblique;
  TG_TRY(tg_device_geometry_make(grid, box, true, reach, &oblique));
  return make(&oblique, counts, centres, direct, out);
}

void tg_device_plan_free(tg_device_plan* plan) {
  for (int p = 0; plan->parts && p < plan->pe_count; p++) {
    tg_device_part* part = &plan->parts[p];
    for (int c = 0; part->messages && c < TG_DEVICE_PLAN_CHANNELS; c++)
      tg_free(part->messages[c].send);
    tg_free(part->messages);
    tg_free(part->origin_pe);
    tg_free(part->origin_atom);
  }
  TG_FREE(plan->parts);
  memset(plan, 0, sizeof *plan);
}
