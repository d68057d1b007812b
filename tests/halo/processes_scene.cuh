/* SPDX-License-Identifier: Apache-2.0 */
/* For gpu_halo_processes.cu: halos of a world, and what all PEs have found. */
#ifndef TG_TESTS_HALO_PROCESSES_SCENE_CUH
#define TG_TESTS_HALO_PROCESSES_SCENE_CUH

#include "comm/world.h"
#include "halo/gpu_scene.cuh"

static tg_world* world;

/* A case passes where it does on all PEs. */
static void report_all(bool right, const char* what, const way* w, const int grid[3]) {
  char name[200];
  int64_t wrong = !right;
  snprintf(name, sizeof name, "%s: %s %s %s%s, %d x %d x %d (PE %d)", what, w->schedule,
           w->force_return ? w->force_return : "-", w->path ? w->path : "-", w->bulk ? " bulk" : "",
           grid[0], grid[1], grid[2], own_pe);
  if (tg_world_max_int64(world, &wrong, 1) != TG_OK) printf("    %s\n", tg_last_error());
  report(wrong == 0, name);
}

static const double (*own_centres(const scene* s))[3] {
  return (const double(*)[3])s->centres[(size_t)own_pe].data();
}

/* The plan as the PEs make it together. */
static tg_status distributed(const scene* s, bool direct, tg_device_plan* out) {
  tg_halo_params params = {};
  params.schedule = "host";
  memcpy(params.grid, s->wanted.grid, sizeof params.grid);
  tg_halo* halo = NULL;
  TG_TRY(tg_halo_create(world, &params, &halo));
  tg_status status =
      tg_halo_plan(halo, box, s->wanted.reach, s->numbers[(size_t)own_pe].size(), own_centres(s));
  if (status == TG_OK) status = tg_device_plan_from_halo(halo, direct, out);
  tg_halo_destroy(&halo);
  return status;
}

static tg_status open_halo(const scene* s, const tg_device_halo_params* params, bool direct,
                           tg_device_halo** out) {
  tg_device_plan plan = {};
  TG_TRY(distributed(s, direct, &plan));
  tg_status status = tg_device_halo_open(world, params, &plan, out);
  tg_device_plan_free(&plan);
  return status;
}

#endif
