/* SPDX-License-Identifier: Apache-2.0 */
/* The fused chain, a reduction after a filter: what each hit gives is added in its order. */
#include <string.h>

#include "motif/ref/pairs.h"
#include "motif/ref/table.h"

static bool holds(const tg_states* states, size_t i, uint32_t orbital) {
  for (uint32_t k = 0; k < states->particles; k++)
    if (states->orbital[k * states->stride + i] == orbital) return true;
  return false;
}

/* The operators of motif/operators.h by another way than its: each orbital of one state is looked
 * up in the other. */
static void add_elements(void* context, size_t row, size_t column) {
  const tg_expectation* what = context;
  const tg_states *r = &what->pairs.rows, *c = &what->pairs.columns;
  const uint32_t n = r->particles, m = what->m;
  uint32_t p[TG_DIFFERENCE_MOST] = {0}, q[TG_DIFFERENCE_MOST] = {0};
  uint32_t places = 0, moved = 0, found = 0;
  for (uint32_t k = 0; k < n; k++) {
    const uint32_t a = r->orbital[k * r->stride + row], b = c->orbital[k * c->stride + column];
    if (!holds(c, column, a)) {
      p[moved++] = a;
      places += k;
    }
    if (!holds(r, row, b)) {
      q[found++] = b;
      places += k;
    }
  }
  const double weight = what->x[row] * what->y[column];
  uint64_t up = 0, down = 0, distance = 1;
  for (uint32_t k = 0; k < moved; k++) {
    up += q[k];
    down += p[k];
    distance += p[k] < q[k] ? q[k] - p[k] : p[k] - q[k];
  }
  uint64_t transfer = up >= down ? (up - down) % m : (m - (down - up) % m) % m;
  uint32_t lowest = moved == 0 ? 0 : (p[0] < q[0] ? p[0] : q[0]);
  what->sums[moved < m ? moved : m - 1] += weight;
  what->sums[m + transfer] += places % 2 == 1 ? -weight : weight;
  what->sums[2 * (size_t)m + lowest % m] += weight * (1.0 / (double)distance);
}

static tg_status expect(const tg_expectation* what, void* scratch) {
  (void)scratch;
  tg_expectation mine = *what;
  memset(what->sums, 0, (size_t)TG_OPERATOR_COUNT * what->m * sizeof *what->sums);
  tg_ref_each_hit(&what->pairs, tg_ref_array, add_elements, &mine);
  return TG_OK;
}

static const char* refuses_expect(const tg_pairs* pairs) {
  if (pairs && pairs->d > TG_DIFFERENCE_MOST) return "more than 8 particles may have moved";
  return tg_pairs_need_array(pairs);
}

const tg_expect_version tg_ref_expects[] = {
    {"array serial", "array", true, refuses_expect, NULL, expect},
    {NULL, NULL, false, NULL, NULL, NULL},
};
