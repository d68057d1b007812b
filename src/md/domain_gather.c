/* SPDX-License-Identifier: Apache-2.0 */
/* The whole system at PE 0, for output. */
#include <string.h>

#include "base/memory.h"
#include "md/domain_internal.h"

/* A record per atom: its number, then three doubles for each array that travels. */
static size_t record_size(int arrays) {
  return sizeof(int64_t) + (size_t)arrays * 3 * sizeof(double);
}

static void pack(const double (*const* arrays)[3], int count, const int* global, size_t atoms,
                 char* out) {
  for (size_t i = 0; i < atoms; i++) {
    int64_t number = global[i];
    memcpy(out, &number, sizeof number);
    out += sizeof number;
    for (int a = 0; a < count; a++, out += 3 * sizeof(double))
      memcpy(out, arrays[a][i], 3 * sizeof(double));
  }
}

static void unpack(const char* in, size_t atoms, int count, double (*const* whole)[3]) {
  for (size_t i = 0; i < atoms; i++) {
    int64_t number;
    memcpy(&number, in, sizeof number);
    in += sizeof number;
    for (int a = 0; a < count; a++, in += 3 * sizeof(double))
      memcpy(whole[a][number], in, 3 * sizeof(double));
  }
}

tg_status tg_domain_gather(tg_domain* domain, const double (*home_x)[3], const double (*home_v)[3],
                           const double (*home_f)[3], const int* home_global, size_t home_count,
                           const tg_domain_whole* whole) {
  struct tg_domain_scratch* s = domain->scratch;
  const double(*arrays[3])[3];
  double(*targets[3])[3];
  int count = 0;
  if (home_x) arrays[count] = home_x, targets[count++] = whole->x;
  if (home_v) arrays[count] = home_v, targets[count++] = whole->v;
  if (home_f) arrays[count] = home_f, targets[count++] = whole->f;
  size_t bytes = home_count * record_size(count), capacity = s->outgoing_capacity;
  tg_status status = tg_reserve(bytes, 1, "output", &s->outgoing, &capacity);
  s->outgoing_capacity = capacity;
  if (status == TG_OK) pack(arrays, count, home_global, home_count, (char*)s->outgoing);
  TG_TRY(tg_world_agree(domain->world, status));
  TG_TRY(tg_world_gather(domain->world, 0, s->outgoing, bytes, &s->gathered, &s->gathered_capacity,
                         NULL));
  if (tg_world_pe(domain->world) == 0)
    unpack(s->gathered, domain->system->atom_count, count, targets);
  return TG_OK;
}
