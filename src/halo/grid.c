/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of bricks: boundaries, owners, pulses, and the choice of a grid. */
#include <math.h>

#include "halo/internal.h"

double tg_halo_boundary(double edge, int cell, int grid) {
  return cell == grid ? edge
                      : edge * cell / grid; /* the last one exactly, whatever rounding does */
}

double tg_halo_longest_reach(double edge, int grid) {
  return tg_halo_boundary(edge, grid - 1, grid);
}

int tg_halo_pulses_along(double edge, int grid, double reach) {
  int pulses = 0;
  while (pulses < grid - 1 && tg_halo_boundary(edge, pulses, grid) < reach) pulses++;
  return pulses;
}

int tg_halo_owner(const tg_halo* halo, const double box[3], const double centre[3]) {
  int pe = 0;
  for (int d = 0; d < 3; d++) {
    int grid = halo->grid[d];
    double at = centre[d] - floor(centre[d] / box[d]) * box[d];
    if (!(at >= 0 && at < box[d])) at = 0; /* rounding took it onto the edge */
    int cell = (int)(at / box[d] * grid);
    if (cell >= grid) cell = grid - 1;
    /* the boundaries decide, not the division */
    while (cell > 0 && at < tg_halo_boundary(box[d], cell, grid)) cell--;
    while (cell < grid - 1 && at >= tg_halo_boundary(box[d], cell + 1, grid)) cell++;
    pe = pe * grid + cell;
  }
  return pe;
}

tg_status tg_halo_heights(const double box[3][3], double height[3]) {
  const double ax = box[0][0], bx = box[1][0], by = box[1][1];
  const double cx = box[2][0], cy = box[2][1], cz = box[2][2];
  if (!(ax > 0 && by > 0 && cz > 0) || box[0][1] != 0 || box[0][2] != 0 || box[1][2] != 0)
    return tg_fail(TG_ERR_INPUT,
                   "halo: box vectors (%g %g %g), (%g %g %g), (%g %g %g); the first must lie along "
                   "x, the second in the xy plane, and the diagonal be positive",
                   ax, box[0][1], box[0][2], bx, by, box[1][2], cx, cy, cz);
  /* volume over the area of the face: |b x c|, |c x a|, |a x b| */
  double volume = ax * by * cz;
  height[0] = volume / hypot(hypot(by * cz, bx * cz), bx * cy - by * cx);
  height[1] = by * cz / hypot(cz, cy);
  height[2] = cz;
  return TG_OK;
}

void tg_halo_across(const double box[3][3], const double height[3], const double point[3],
                    double out[3]) {
  /* the matrix is triangular: fractions of c, then b, then a */
  double c = point[2] / box[2][2];
  double b = (point[1] - c * box[2][1]) / box[1][1];
  double a = (point[0] - b * box[1][0] - c * box[2][0]) / box[0][0];
  out[0] = a * height[0];
  out[1] = b * height[1];
  out[2] = c * height[2];
}

int tg_halo_owner_triclinic(const tg_halo* halo, const double box[3][3], const double centre[3]) {
  double height[3] = {1, 1, 1}, across[3];
  if (tg_halo_heights(box, height) != TG_OK) return 0; /* the plan will say why */
  tg_halo_across(box, height, centre, across);
  return tg_halo_owner(halo, height, across);
}

/* Volume of one domain's halo: the brick stretched by reach where it has neighbours, less the
 * brick. */
static double halo_volume(const double box[3], double reach, const int grid[3]) {
  double stretched = 1, brick = 1;
  for (int d = 0; d < 3; d++) {
    double width = box[d] / grid[d];
    brick *= width;
    stretched *= grid[d] > 1 ? width + reach : width;
  }
  return stretched - brick;
}

static int all_pulses(const double box[3], double reach, const int grid[3]) {
  int pulses = 0;
  for (int d = 0; d < 3; d++) pulses += tg_halo_pulses_along(box[d], grid[d], reach);
  return pulses;
}

tg_status tg_halo_choose_grid(int pe_count, const double box[3], double reach, int grid[3]) {
  if (pe_count < 1)
    return tg_fail(TG_ERR_INPUT, "domains: %d processing elements; give 1 or more", pe_count);
  double best = INFINITY;
  int best_pulses = 0, best_longest = 0;
  /* larger x first, so that of equals the one cut along x stays: equal to 1e-9, far above rounding
   */
  for (int x = pe_count; x >= 1; x--) {
    for (int y = pe_count / x; y >= 1 && pe_count % x == 0; y--) {
      if (pe_count / x % y) continue;
      int tried[3] = {x, y, pe_count / x / y}, accepted = 1;
      for (int d = 0; d < 3; d++)
        if (tried[d] > 256 || (tried[d] > 1 && reach > tg_halo_longest_reach(box[d], tried[d])))
          accepted = 0;
      if (!accepted) continue;
      double volume = halo_volume(box, reach, tried);
      int pulses = all_pulses(box, reach, tried);
      int equal = best < INFINITY && fabs(volume - best) <= 1e-9 * best;
      int longest = x > tried[1] ? x : tried[1];
      longest = longest > tried[2] ? longest : tried[2];
      if (equal ? pulses > best_pulses || (pulses == best_pulses && longest >= best_longest)
                : volume > best)
        continue;
      best = volume;
      best_pulses = pulses;
      best_longest = longest;
      for (int d = 0; d < 3; d++) grid[d] = tried[d];
    }
  }
  if (best < INFINITY) return TG_OK;
  return tg_fail(
      TG_ERR_INPUT,
      "domains: no grid of %d processing elements serves a box of %g x %g x %g nm with a "
      "reach (cut-off and buffer) of %g nm; use fewer processing elements or a larger box",
      pe_count, box[0], box[1], box[2], reach);
}
