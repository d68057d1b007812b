/* SPDX-License-Identifier: Apache-2.0 */
/** @file bench/halo_scene.h  What is exchanged: atoms at random in a cube, dealt out to bricks. */
#ifndef TG_BENCH_HALO_SCENE_H
#define TG_BENCH_HALO_SCENE_H

#include "bench/halo.h"

#define TG_BENCH_HALO_DENSITY 100. /* atoms per nm^3 */

typedef struct tg_bench_halo_scene {
  double edge; /* nm */
  int grid[3], pe_count;
  size_t counts[TG_BENCH_HALO_MOST_PES];
  double (*centres[TG_BENCH_HALO_MOST_PES])[3]; /* [counts], nm */
  size_t room[TG_BENCH_HALO_MOST_PES];
} tg_bench_halo_scene;

/** Local; the same on every PE. */
tg_status tg_bench_halo_scene_make(const tg_bench_halo_case* what, tg_bench_halo_scene* out);
void tg_bench_halo_scene_free(tg_bench_halo_scene* scene);

/** Is this a copy of atom `atom` of PE `pe`, but for whole box edges and the rounding of their sum
 * in the precision at hand? */
bool tg_bench_halo_scene_is_copy(const tg_bench_halo_scene* scene, int pe, size_t atom,
                                 const double copy[3], bool wide);

#endif
