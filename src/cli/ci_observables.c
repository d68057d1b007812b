/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ci_observables.h"

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
                                     int threads, tg_ci_observable_list* list,
                                     tg_ci_observable_params* params) {
  double g[4];
  tg_ci_observable_list made = {0};
  tg_ci_observable_params p = tg_ci_observable_defaults();
  p.threads = threads;
  if (o->charges) {
    TG_TRY(read_list("charges", o->charges, 2, "of proton and neutron: 1.5,0.5", p.charge));
    p.charges_given = true;
  }
  if (o->g) {
    TG_TRY(read_list("g", o->g, 4, "gl of proton and neutron, then gs: 1,0,5.586,-3.826", g));
    memcpy(p.g_orbital, g, sizeof p.g_orbital);
    memcpy(p.g_spin, g + 2, sizeof p.g_spin);
  }
  TG_TRY(tg_ci_observables_parse(o->list, initial->kind, final == NULL, &made));
  const tg_status status = tg_ci_observables_check(&made, &p, initial, final);
  if (status != TG_OK) {
    tg_ci_observables_free(&made);
    return status;
  }
  *list = made;
  *params = p;
  return TG_OK;
}

const char* tg_cli_ci_observables_text(void) {
  static char text[8192];
  size_t used = 0;
  const tg_ci_observable* const* all = tg_ci_observables_all();
  text[0] = '\0';
  for (size_t i = 0; all[i] && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s%s: %s", i ? "; " : "",
                             all[i]->name, all[i]->argument ? ":" : "",
                             all[i]->argument ? all[i]->argument : "", all[i]->help);
  return text;
}
