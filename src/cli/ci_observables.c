/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ci_observables.h"

#include <math.h>
#include <string.h>

#include "base/text.h"

/* count numbers with commas between them. */
static tg_status read_list(const char* option, const char* text, int count, const char* expected,
                           double* out) {
  const char* at = text;
  for (int i = 0; i < count; i++) {
    const char* end = strchr(at, ',');
    const bool last = i == count - 1;
    const int length = end ? (int)(end - at) : (int)strlen(at);
    if (last == (end != NULL) || !tg_parse_double(at, length, &out[i]))
      return tg_fail(TG_ERR_INPUT, "--%s %s: expected %d numbers, %s", option, text, count,
                     expected);
    at = end + 1;
  }
  return TG_OK;
}

tg_status tg_cli_ci_observables_open(const tg_cli_ci_observable_options* o,
                                     const tg_ci_problem* initial, const tg_ci_problem* final,
                                     const tg_ci_solve_params* solve, tg_ci_observable_list* list,
                                     tg_ci_observable_params* params) {
  double g[4];
  tg_ci_observable_list made = {0};
  tg_ci_observable_params p = tg_ci_observable_defaults();
  p.threads = solve->threads;
  p.states = solve->states;
  if (o->charges) {
    TG_TRY(read_list("charges", o->charges, 2, "of proton and neutron: 1.5,0.5", p.charge));
    for (int t = 0; t < 2; t++)
      if (!(fabs(p.charge[t]) <= 1e6))
        return tg_fail(TG_ERR_INPUT, "--charges %s: a charge of %g e makes no sense; at most 1e6",
                       o->charges, p.charge[t]);
    p.charges_given = true;
  }
  if (o->g) {
    TG_TRY(read_list("g", o->g, 4, "gl of proton and neutron, then gs: 1,0,5.586,-3.826", g));
    for (int i = 0; i < 4; i++)
      if (!(fabs(g[i]) <= 1e6))
        return tg_fail(TG_ERR_INPUT, "--g %s: a g factor of %g makes no sense; at most 1e6", o->g,
                       g[i]);
    memcpy(p.g_orbital, g, sizeof p.g_orbital);
    memcpy(p.g_spin, g + 2, sizeof p.g_spin);
  }
  const char* words = o->list || !final ? o->list : "all";
  TG_TRY(tg_ci_observables_parse(words, initial->kind, final == NULL, &made));
  const tg_status status = tg_ci_observables_check(&made, &p, initial, final);
  if (status != TG_OK) {
    tg_ci_observables_free(&made);
    return status;
  }
  *list = made;
  *params = p;
  return TG_OK;
}
