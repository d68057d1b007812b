/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/spin.h"

#include <stdbool.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"

/* out: the string of `particles` orbitals with `to` in the place of `from`, rising. Returns the
 * sign of a+_to a_from: how many orbitals stand between. */
static int exchange(const uint16_t* list, int particles, uint16_t from, uint16_t to,
                    uint16_t* out) {
  int n = 0, between = 0;
  bool placed = false;
  for (int k = 0; k < particles; k++) {
    if (list[k] == from) continue;
    if (!placed && list[k] > to) {
      out[n++] = to;
      placed = true;
    }
    out[n++] = list[k];
    between += from < to ? list[k] > from && list[k] < to : list[k] > to && list[k] < from;
  }
  if (!placed) out[n++] = to;
  return between % 2 ? -1 : 1;
}

static bool holds(const uint16_t* list, int particles, uint16_t orbital) {
  for (int k = 0; k < particles; k++)
    if (list[k] == orbital) return true;
  return false;
}

/* One element of S^2 x; a, b: room for a string each. */
static double element(const tg_ci_space* s, uint64_t state, const double* x, uint16_t* a,
                      uint16_t* b) {
  const tg_ci_strings *up = &s->strings[0], *down = &s->strings[1];
  const int n = up->particles, m = down->particles;
  const double sz = 0.5 * (n - m);
  size_t i, j;
  tg_ci_space_strings(s, state, &i, &j);
  const uint16_t *of_up = tg_ci_string(up, i), *of_down = tg_ci_string(down, j);
  const uint64_t mark_up = tg_ci_strings_mark(up, of_up);
  const uint64_t mark_down = tg_ci_strings_mark(down, of_down);
  double sum = (sz * (sz + 1) + m) * x[state];
  for (int k = 0; k < n; k++) {
    const uint16_t p = of_up[k];
    if (holds(of_down, m, p)) {
      sum -= x[state];
      continue;
    }
    for (int l = 0; l < m; l++) {
      const uint16_t q = of_down[l];
      if (holds(of_up, n, q)) continue;
      const int sign = exchange(of_up, n, p, q, a) * exchange(of_down, m, q, p, b);
      const size_t i2 = tg_ci_strings_find(up, a, mark_up ^ up->marks[p] ^ up->marks[q]);
      const size_t j2 = tg_ci_strings_find(down, b, mark_down ^ down->marks[p] ^ down->marks[q]);
      if (i2 == SIZE_MAX || j2 == SIZE_MAX) continue;
      const uint64_t other = tg_ci_space_state(s, i2, j2);
      if (other != UINT64_MAX) sum -= sign * x[other];
    }
  }
  return sum;
}

tg_status tg_ci_spin_squared_apply(const tg_ci_space* s, int threads, const double* x, double* y) {
#ifdef _OPENMP
  if (threads <= 0) threads = omp_get_max_threads();
#else
  threads = 1;
#endif
  const size_t room = (size_t)s->strings[0].particles + (size_t)s->strings[1].particles + 1;
  uint16_t* lists = NULL;
  TG_TRY(TG_ALLOCATE((size_t)threads * room, "strings", &lists));
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t state = 0; state < s->dimension; state++) {
#ifdef _OPENMP
    uint16_t* mine = lists + (size_t)omp_get_thread_num() * room;
#else
    uint16_t* mine = lists;
#endif
    y[state] = element(s, state, x, mine, mine + s->strings[0].particles);
  }
  tg_free(lists);
  return TG_OK;
}
