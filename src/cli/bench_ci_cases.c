/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/bench_ci.h"

typedef tg_bench_ci_case known;

static bool named(const tg_cli_list* names, const char* name) {
  for (int i = 0; i < names->count; i++)
    if (strcmp(names->items[i], name) == 0) return true;
  return false;
}

static tg_status check_names(const tg_cli_list* asked, const char* interaction) {
  const char* names[TG_CLI_BENCH_CI_CASES + 1] = {"all"};
  int count = 1;
  for (const known* c = tg_bench_ci_cases; c->name; c++) names[count++] = c->name;
  for (int i = 0; i < asked->count; i++) {
    bool is_known = false;
    for (int n = 0; n < count; n++) is_known |= strcmp(names[n], asked->items[i]) == 0;
    const char* near = tg_cli_nearest(asked->items[i], names, count);
    if (!is_known)
      return tg_fail(TG_ERR_INPUT, "--case %s is not known%s%s; --help lists the cases",
                     asked->items[i], near ? "; nearest: " : "", near ? near : "");
  }
  if (interaction && (asked->count != 1 || named(asked, "all")))
    return tg_fail(TG_ERR_INPUT, "--interaction goes with one --case, whose input it is");
  return TG_OK;
}

/* The input of a case; TG_ERR_INPUT where it is not there. */
static tg_status input_of(const char* interaction, const char* data, const known* c, char* out,
                          size_t size) {
  if (interaction || !c->file) {
    const int length = snprintf(out, size, "%s", interaction ? interaction : c->builtin);
    return length >= 0 && (size_t)length < size
               ? TG_OK
               : tg_fail(TG_ERR_INPUT, "the name of an input is longer than %zu letters", size - 1);
  }
  TG_TRY(tg_path_join(data, c->file, out, size));
  if (tg_path_exists(out)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "%s: the input of case %s is not there; --data FOLDER says where %s is, or "
                 "--interaction FILE names it",
                 out, c->name, c->file);
}

tg_status tg_cli_bench_ci_choose(const tg_cli_list* names, const char* interaction,
                                 const char* data, bool gpu, tg_cli_bench_ci_selection* out) {
  out->count = 0;
  TG_TRY(check_names(names, interaction));
  for (const known* c = tg_bench_ci_cases; c->name; c++) {
    const bool usual = names->count == 0 && (c->length == TG_BENCH_CI_SECONDS ||
                                             (gpu && c->length == TG_BENCH_CI_MINUTES));
    const bool all = named(names, "all") && (gpu || c->length != TG_BENCH_CI_GPU);
    if (!gpu && c->length == TG_BENCH_CI_GPU && named(names, c->name))
      return tg_fail(TG_ERR_INPUT,
                     "--case %s takes hours of a few processors; throng bench ci measures it on a "
                     "GPU",
                     c->name);
    if (!usual && !all && !named(names, c->name)) continue;
    const tg_status status =
        input_of(interaction, data, c, out->input[out->count], sizeof out->input[0]);
    if (status != TG_OK && names->count) return status;
    if (status == TG_OK) out->list[out->count++] = c;
  }
  return TG_OK;
}
