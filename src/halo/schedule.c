/* SPDX-License-Identifier: Apache-2.0 */
/* The table of schedules, and the calls that go through it. */
#include <string.h>

#include "halo/internal.h"

static const tg_halo_schedule* const schedules[] = {&tg_halo_schedule_host};

const tg_halo_schedule* tg_halo_schedule_find(const char* name) {
  if (!name) return schedules[0];
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
    if (strcmp(name, schedules[i]->name) == 0) return schedules[i];
  return NULL;
}

tg_status tg_halo_copy(tg_halo* halo, void* array, size_t size) {
  halo->counters.exchanges++;
  return halo->schedule->copy(halo, array, size);
}

tg_status tg_halo_positions(tg_halo* halo, double (*x)[3]) {
  halo->counters.exchanges++;
  return halo->schedule->positions(halo, x);
}

tg_status tg_halo_forces(tg_halo* halo, double (*f)[3]) {
  halo->counters.exchanges++;
  return halo->schedule->forces(halo, f);
}

tg_halo_counters tg_halo_counters_read(const tg_halo* halo) { return halo->counters; }
