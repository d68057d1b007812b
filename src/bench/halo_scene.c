/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/halo_scene.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

/* The brick along one dimension; its boundaries decide, as in the plan, not the division. */
static int brick(double at, double edge, int count) {
  int cell = (int)(at / edge * count);
  if (cell > count - 1) cell = count - 1;
  while (cell > 0 && at < edge * cell / count) cell--;
  while (cell < count - 1 && at >= edge * (cell + 1) / count) cell++;
  return cell;
}

tg_status tg_bench_halo_scene_make(const tg_bench_halo_case* what, tg_bench_halo_scene* out) {
  const int* grid = what->grid;
  *out = (tg_bench_halo_scene){.edge = cbrt(what->atoms / TG_BENCH_HALO_DENSITY),
                               .grid = {grid[0], grid[1], grid[2]},
                               .pe_count = grid[0] * grid[1] * grid[2]};
  if (out->pe_count > TG_BENCH_HALO_MOST_PES)
    return tg_fail(TG_ERR_INPUT, "bench halo: %d processing elements; at most %d", out->pe_count,
                   TG_BENCH_HALO_MOST_PES);
  for (int i = 0; i < what->atoms; i++) {
    tg_rng rng = tg_rng_stream(1, TG_RNG_BUILD, (uint64_t)i);
    double at[3];
    int pe = 0;
    for (int d = 0; d < 3; d++) {
      at[d] = (1 - tg_rng_uniform(&rng)) * out->edge;
      pe = pe * grid[d] + brick(at[d], out->edge, grid[d]);
    }
    TG_TRY(TG_RESERVE(out->counts[pe] + 1, "atoms", &out->centres[pe], &out->room[pe]));
    memcpy(out->centres[pe][out->counts[pe]++], at, sizeof at);
  }
  return TG_OK;
}

void tg_bench_halo_scene_free(tg_bench_halo_scene* scene) {
  for (int p = 0; p < TG_BENCH_HALO_MOST_PES; p++) TG_FREE(scene->centres[p]);
}

bool tg_bench_halo_scene_is_copy(const tg_bench_halo_scene* scene, int pe, size_t atom,
                                 const double copy[3], bool wide) {
  double limit = (wide ? 0x1p-52 : 0x1p-23) * 2 * scene->edge;
  for (int d = 0; d < 3; d++) {
    double off = copy[d] - scene->centres[pe][atom][d];
    if (!(fabs(off) <= limit || fabs(off - scene->edge) <= limit)) return false;
  }
  return true;
}
