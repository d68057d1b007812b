/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of a staged exchange (halo.h): which local atoms go down in each pulse.
 *
 * In a pulse along d a PE sends those candidates whose centre lies below its lower boundary +
 * reach. That boundary is the receiver's upper one, so the receiver gets exactly what lies within
 * reach above its brick. Candidates of the first pulse along d: home atoms and all that came along
 * earlier dimensions (so edges and corners are forwarded); of a later pulse: what the pulse before
 * it brought. Centres travel in the plan's own messages, moved into the frame of the receiver. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "halo/lanes.h"

static const int dimension_order[3] = {2, 1, 0};

static int pe_at(const int grid[3], int x, int y, int z) { return (x * grid[1] + y) * grid[2] + z; }

static void place(tg_halo* halo, int pe) {
  const int* grid = halo->grid;
  halo->cell[2] = pe % grid[2];
  halo->cell[1] = pe / grid[2] % grid[1];
  halo->cell[0] = pe / grid[2] / grid[1];
  for (int d = 0; d < 3; d++) {
    int at[3] = {halo->cell[0], halo->cell[1], halo->cell[2]};
    at[d] = (halo->cell[d] + grid[d] - 1) % grid[d];
    halo->lower[d] = pe_at(grid, at[0], at[1], at[2]);
    at[d] = (halo->cell[d] + 1) % grid[d];
    halo->upper[d] = pe_at(grid, at[0], at[1], at[2]);
  }
}

static tg_status check_params(const tg_world* world, const tg_halo_params* params) {
  const int* grid = params->grid;
  long long product = 1;
  for (int d = 0; d < 3; d++) {
    if (grid[d] < 1 || grid[d] > 256) /* offsets are bytes */
      return tg_fail(TG_ERR_INPUT, "domains: a grid of %d x %d x %d; each must be 1 to 256",
                     grid[0], grid[1], grid[2]);
    product *= grid[d];
  }
  if (product != tg_world_pe_count(world))
    return tg_fail(TG_ERR_INPUT,
                   "domains: a grid of %d x %d x %d needs %lld processing elements, but there are "
                   "%d; make them equal",
                   grid[0], grid[1], grid[2], product, tg_world_pe_count(world));
  if (!tg_halo_schedule_find(params->schedule))
    return tg_fail(TG_ERR_INPUT,
                   "halo: schedule '%s' is not known; give host, pulse, fused or direct",
                   params->schedule);
  if (params->margin != 0 && !(params->margin >= 1 && params->margin <= TG_HALO_MOST_MARGIN))
    return tg_fail(TG_ERR_INPUT, "halo: a margin of %g; give 1 to %d, or 0 for the default",
                   params->margin, TG_HALO_MOST_MARGIN);
  return TG_OK;
}

/* To the last bit: other than ==, NaN is the same as itself. */
static bool same_bits(double a, double b) {
  uint64_t bits[2];
  memcpy(&bits[0], &a, sizeof a);
  memcpy(&bits[1], &b, sizeof b);
  return bits[0] == bits[1];
}

/* What all PEs must give alike. */
typedef struct common_params {
  int grid[3];
  char schedule[20];
  double margin;
} common_params;

/* Collective: every PE compares its own with PE 0's; the lowest that differs is named. */
static tg_status check_same_params(tg_world* world, const tg_halo_params* params,
                                   tg_status status) {
  common_params mine = {0}, first;
  if (status == TG_OK) {
    memcpy(mine.grid, params->grid, sizeof mine.grid);
    const char* name = params->schedule ? params->schedule : tg_halo_schedule_find(NULL)->name;
    snprintf(mine.schedule, sizeof mine.schedule, "%s", name);
    mine.margin = params->margin + 0.0; /* -0 is 0 */
  }
  first = mine;
  TG_TRY(tg_world_broadcast(world, 0, &first, sizeof first));
  int pe = tg_world_pe(world);
  if (status == TG_OK && memcmp(first.grid, mine.grid, sizeof mine.grid) != 0)
    status = tg_fail(TG_ERR_INPUT,
                     "halo: the grid differs between PEs: PE 0 gave %d x %d x %d, PE %d %d x %d x "
                     "%d; give all the same",
                     first.grid[0], first.grid[1], first.grid[2], pe, mine.grid[0], mine.grid[1],
                     mine.grid[2]);
  else if (status == TG_OK && memcmp(first.schedule, mine.schedule, sizeof mine.schedule) != 0)
    status = tg_fail(TG_ERR_INPUT,
                     "halo: the schedule differs between PEs: PE 0 gave '%s', PE %d '%s'; give all "
                     "the same",
                     first.schedule, pe, mine.schedule);
  else if (status == TG_OK && !same_bits(first.margin, mine.margin))
    status = tg_fail(TG_ERR_INPUT,
                     "halo: the margin differs between PEs: PE 0 gave %.17g, PE %d %.17g; give all "
                     "the same",
                     first.margin, pe, mine.margin);
  return tg_world_agree(world, status);
}

tg_status tg_halo_create(tg_world* world, const tg_halo_params* params, tg_halo** out) {
  tg_halo* halo = NULL;
  if (!world) return tg_fail(TG_ERR_INPUT, "halo: no world (NULL); open one first");
  tg_status status = TG_OK;
  if (!params || !out)
    status = tg_fail(TG_ERR_INPUT, "PE %d: a halo with %s NULL; give its address",
                     tg_world_pe(world), params ? "out" : "params");
  status = check_same_params(world, params, status);
  if (status != TG_OK || !params || !out) return status;
  status = check_params(world, params);
  if (status == TG_OK) status = TG_ALLOCATE(1, "a halo", &halo);
  if (status == TG_OK) status = tg_halo_lanes_create(&halo->lanes);
  status = tg_world_agree(world, status);
  if (status != TG_OK || !halo) {
    tg_halo_destroy(&halo);
    return status;
  }
  halo->world = world;
  halo->params = *params;
  halo->schedule = tg_halo_schedule_find(params->schedule);
  memcpy(halo->grid, params->grid, sizeof halo->grid);
  place(halo, tg_world_pe(world));
  *out = halo;
  return TG_OK;
}

void tg_halo_destroy(tg_halo** halo) {
  if (!halo || !*halo) return;
  tg_free((*halo)->centre);
  tg_free((*halo)->offset);
  tg_free((*halo)->pulses);
  tg_free((*halo)->index);
  tg_free((*halo)->packed);
  tg_free((*halo)->arrived);
  tg_free((*halo)->scaled);
  tg_halo_lanes_destroy(&(*halo)->lanes);
  TG_FREE(*halo);
}

const int* tg_halo_cell(const tg_halo* halo) { return halo->cell; }
size_t tg_halo_home_count(const tg_halo* halo) { return halo->home_count; }
size_t tg_halo_halo_count(const tg_halo* halo) { return halo->local_count - halo->home_count; }
const uint8_t (*tg_halo_offsets(const tg_halo* halo))[3] {
  return (const uint8_t(*)[3])halo->offset;
}
int tg_halo_pulse_count(const tg_halo* halo) { return halo->pulse_count; }

static tg_status check_plan(const tg_halo* halo, const double box[3], double reach,
                            size_t home_count, const double (*centre)[3]) {
  if (!(reach >= 0)) return tg_fail(TG_ERR_INPUT, "halo: a reach of %g nm; give 0 or more", reach);
  for (int d = 0; d < 3; d++) {
    double longest = tg_halo_longest_reach(box[d], halo->grid[d]);
    if (!(box[d] > 0 && box[d] < INFINITY))
      return tg_fail(TG_ERR_INPUT, "halo: a box edge of %g nm along %c", box[d], "xyz"[d]);
    if (halo->grid[d] > 1 && reach > longest)
      return tg_fail(TG_ERR_INPUT,
                     "halo: a reach (cut-off and buffer) of %g nm; %d domains along %c in a box "
                     "edge of %g nm serve at most %g nm; use fewer along %c, or a larger box",
                     reach, halo->grid[d], "xyz"[d], box[d], longest, "xyz"[d]);
    double slack = 1e-9 * box[d]; /* callers wrap by arithmetic of their own */
    double low = tg_halo_boundary(box[d], halo->cell[d], halo->grid[d]) - slack;
    double high = tg_halo_boundary(box[d], halo->cell[d] + 1, halo->grid[d]) + slack;
    for (size_t i = 0; i < home_count; i++)
      if (!(centre[i][d] >= low && centre[i][d] <= high))
        return tg_fail(
            TG_ERR_INTERNAL,
            "PE %d: the centre of home atom %zu has %c = %.9g nm, outside the brick %.9g "
            "to %.9g nm",
            tg_world_pe(halo->world), i, "xyz"[d], centre[i][d], low, high);
  }
  return TG_OK;
}

/* Edges (in a triclinic box: heights) and what a copy that crosses each boundary is shifted by. */
typedef struct geometry {
  double edge[3], vector[3][3], reach;
} geometry;

/* Collective: pulses of PEs with different boxes would not match up, and would wait for each other
 * in vain. status: this PE's so far. */
static tg_status check_same(tg_halo* halo, const geometry* box, tg_status status) {
  double first[10], mine[10];
  memcpy(mine, box->vector, sizeof box->vector);
  mine[9] = box->reach;
  memcpy(first, mine, sizeof first);
  tg_status sent = tg_world_broadcast(halo->world, 0, first, sizeof first);
  if (sent != TG_OK) return sent;
  for (int i = 0; i < 10 && status == TG_OK; i++) {
    if (same_bits(first[i], mine[i])) continue;
    char what[32] = "reach";
    if (i < 9) snprintf(what, sizeof what, "box (vector %c along %c)", "abc"[i / 3], "xyz"[i % 3]);
    status = tg_fail(TG_ERR_INTERNAL,
                     "halo: the %s differs between PEs: PE 0 gave %.17g nm, PE %d %.17g nm; give "
                     "all the same, to the last bit",
                     what, first[i], tg_world_pe(halo->world), mine[i]);
  }
  return status;
}

/* Without a plan there are no atoms, on any PE. */
static void forget_plan(tg_halo* halo) {
  halo->planned = false;
  halo->home_count = halo->local_count = 0;
  halo->pulse_count = 0;
  halo->index_count = 0;
}

static tg_status set_home(tg_halo* halo, size_t home_count, const double (*centre)[3]) {
  if (home_count > UINT32_MAX)
    return tg_fail(TG_ERR_INPUT, "halo: %zu atoms on one PE; at most %u", home_count, UINT32_MAX);
  TG_TRY(TG_RESERVE(home_count, "atom centres", &halo->centre, &halo->centre_capacity));
  TG_TRY(TG_RESERVE(home_count, "atom offsets", &halo->offset, &halo->offset_capacity));
  if (home_count) {
    memcpy(halo->centre, centre, home_count * sizeof *centre);
    memset(halo->offset, 0, home_count * sizeof *halo->offset);
  }
  halo->home_count = halo->local_count = home_count;
  return TG_OK;
}

/* A plan message: [count][3] centres, then [count][3] offsets. */
enum { CENTRE_BYTES = 3 * sizeof(double), ATOM_BYTES = CENTRE_BYTES + 3 };

/* Chooses what pulse sends of the local atoms first..last-1 and packs it. */
static tg_status select_atoms(tg_halo* halo, tg_halo_pulse* pulse, double limit, double edge_shift,
                              size_t first, size_t last) {
  int d = pulse->dimension;
  TG_TRY(TG_RESERVE(halo->index_count + (last - first), "halo index", &halo->index,
                    &halo->index_capacity));
  pulse->send_start = halo->index_count;
  for (size_t i = first; i < last; i++)
    if (halo->centre[i][d] < limit) halo->index[halo->index_count++] = (uint32_t)i;
  size_t count = pulse->send_count = halo->index_count - pulse->send_start;
  TG_TRY(TG_RESERVE(count * ATOM_BYTES, "halo messages", &halo->packed, &halo->packed_capacity));
  for (size_t i = 0; i < count; i++) {
    size_t atom = halo->index[pulse->send_start + i];
    double centre[3] = {halo->centre[atom][0], halo->centre[atom][1], halo->centre[atom][2]};
    uint8_t offset[3] = {halo->offset[atom][0], halo->offset[atom][1], halo->offset[atom][2]};
    centre[d] += edge_shift;
    offset[d]++;
    memcpy(halo->packed + i * CENTRE_BYTES, centre, sizeof centre);
    memcpy(halo->packed + count * CENTRE_BYTES + i * 3, offset, sizeof offset);
  }
  return TG_OK;
}

static tg_status append_arrived(tg_halo* halo, tg_halo_pulse* pulse, size_t bytes) {
  size_t count = bytes / ATOM_BYTES, total = halo->local_count + count;
  if (total > UINT32_MAX)
    return tg_fail(TG_ERR_INPUT, "halo: %zu atoms on one PE; at most %u", total, UINT32_MAX);
  TG_TRY(TG_RESERVE(total, "atom centres", &halo->centre, &halo->centre_capacity));
  TG_TRY(TG_RESERVE(total, "atom offsets", &halo->offset, &halo->offset_capacity));
  pulse->receive_start = halo->local_count;
  pulse->receive_count = count;
  if (count) {
    memcpy(halo->centre + halo->local_count, halo->arrived, count * CENTRE_BYTES);
    memcpy(halo->offset + halo->local_count, halo->arrived + count * CENTRE_BYTES, count * 3);
  }
  halo->local_count = total;
  return TG_OK;
}

/* One pulse of the plan: the candidates are the local atoms first..last-1. */
static tg_status plan_pulse(tg_halo* halo, const geometry* box, int dimension, size_t first,
                            size_t last) {
  TG_TRY(TG_RESERVE((size_t)halo->pulse_count + 1, "pulses", &halo->pulses, &halo->pulse_capacity));
  tg_halo_pulse* pulse = &halo->pulses[halo->pulse_count];
  int cell = halo->cell[dimension];
  double edge = box->edge[dimension];
  *pulse = (tg_halo_pulse){
      .dimension = dimension, .lower = halo->lower[dimension], .upper = halo->upper[dimension]};
  if (cell == 0) memcpy(pulse->shift, box->vector[dimension], sizeof pulse->shift);
  double limit = tg_halo_boundary(edge, cell, halo->grid[dimension]) + box->reach;
  TG_TRY(select_atoms(halo, pulse, limit, cell == 0 ? edge : 0, first, last));
  size_t bytes = 0;
  TG_TRY(tg_world_exchange_any(halo->world, pulse->lower, halo->packed,
                               pulse->send_count * ATOM_BYTES, pulse->upper, (void**)&halo->arrived,
                               &halo->arrived_capacity, &bytes));
  TG_TRY(append_arrived(halo, pulse, bytes));
  halo->pulse_count++;
  return TG_OK;
}

static tg_status plan_pulses(tg_halo* halo, const geometry* box) {
  for (int k = 0; k < 3; k++) {
    int d = dimension_order[k];
    int pulses = tg_halo_pulses_along(box->edge[d], halo->grid[d], box->reach);
    halo->pulses_along[d] = pulses;
    size_t first = 0;
    for (int p = 0; p < pulses; p++) {
      size_t last = halo->local_count;
      TG_TRY(plan_pulse(halo, box, d, first, last));
      first = last;
    }
  }
  return TG_OK;
}

/* Collective: the plan of atoms that all PEs have checked. */
static tg_status make(tg_halo* halo, const geometry* box) {
  memcpy(halo->edge_shift, box->vector, sizeof halo->edge_shift);
  tg_trace* trace = halo->trace; /* the plan's own messages are no exchange */
  halo->trace = NULL;
  tg_status status = plan_pulses(halo, box);
  if (status == TG_OK && halo->schedule->symmetric) {
    status = halo->schedule->direct ? tg_halo_direct_plan_make(halo, box->vector)
                                    : tg_halo_staged_plan(halo);
    if (status == TG_OK) status = tg_halo_lanes_fit(halo);
  }
  halo->trace = trace;
  /* a PE that fails between pulses cannot be waited for: the others are told at once */
  if (status != TG_OK) tg_world_abort(halo->world, status);
  return status;
}

/* status: what the caller found of its arguments; centre is looked at only if that is TG_OK. */
static tg_status plan(tg_halo* halo, const geometry* box, size_t home_count,
                      const double (*centre)[3], tg_status status) {
  forget_plan(halo);
  status = check_same(halo, box, status);
  if (status == TG_OK) status = check_plan(halo, box->edge, box->reach, home_count, centre);
  if (status == TG_OK) status = set_home(halo, home_count, centre);
  /* this is also the barrier after which nobody touches the slots of the old layout */
  status = tg_world_agree(halo->world, status);
  if (status == TG_OK) status = make(halo, box);
  if (status != TG_OK)
    forget_plan(halo);
  else
    halo->planned = true;
  return status;
}

/* box may be of either kind. */
static tg_status check_arguments(const tg_halo* halo, const void* box, size_t home_count,
                                 const void* centre) {
  if (box && (centre || !home_count)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "PE %d: a halo plan of %zu home atoms with %s NULL; give its address",
                 tg_world_pe(halo->world), home_count, box ? "centre" : "box");
}

static tg_status no_halo(void) {
  return tg_fail(TG_ERR_INPUT, "halo plan: no halo (NULL); call tg_halo_create first");
}

tg_status tg_halo_plan(tg_halo* halo, const double box[3], double reach, size_t home_count,
                       const double (*centre)[3]) {
  if (!halo) return no_halo();
  geometry rectangular = {.reach = reach + 0.0};
  for (int d = 0; d < 3 && box; d++) rectangular.edge[d] = rectangular.vector[d][d] = box[d];
  return plan(halo, &rectangular, home_count, centre,
              check_arguments(halo, box, home_count, centre));
}

tg_status tg_halo_plan_triclinic(tg_halo* halo, const double box[3][3], double reach,
                                 size_t home_count, const double (*centre)[3]) {
  if (!halo) return no_halo();
  geometry oblique = {.reach = reach + 0.0};
  /* no -0: a +0 is added at every other hop, and only with it -0 gives the same as nothing */
  for (int d = 0; d < 3 && box; d++)
    for (int i = 0; i < 3; i++) oblique.vector[d][i] = box[d][i] + 0.0;
  tg_status status = check_arguments(halo, box, home_count, centre);
  if (status == TG_OK) status = tg_halo_heights(box, oblique.edge);
  if (status == TG_OK)
    status = TG_RESERVE(home_count, "atom centres", &halo->scaled, &halo->scaled_capacity);
  for (size_t i = 0; i < home_count && status == TG_OK; i++)
    tg_halo_across(box, oblique.edge, centre[i], halo->scaled[i]);
  return plan(halo, &oblique, home_count, (const double(*)[3])halo->scaled, status);
}
