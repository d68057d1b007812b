/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for is looked at before anything is allocated. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/motif.h"
#include "bench/motif_figures.h"
#include "device/device.h"

enum { MOST_THREADS = 4096 };

/* The next of the names that commas part, and its length; NULL at the end. */
static const char* next_name(const char** rest, size_t* length) {
  const char* name = *rest;
  if (name == NULL) return NULL;
  *length = strcspn(name, ",");
  *rest = name[*length] == ',' ? name + *length + 1 : NULL;
  return name;
}

static bool wants_all(const tg_bench_motif_params* p) {
  return p->backends == NULL || strcmp(p->backends, "all") == 0;
}

bool tg_bench_motif_wants(const tg_bench_motif_params* params, const char* backend) {
  const char *rest = params->backends, *name = NULL;
  size_t length = 0;
  if (wants_all(params)) return true;
  while ((name = next_name(&rest, &length)) != NULL)
    if (strlen(backend) == length && strncmp(backend, name, length) == 0) return true;
  return false;
}

static tg_status check_backends(const tg_bench_motif_params* p) {
  const char *rest = p->backends, *name = NULL;
  size_t length = 0;
  if (wants_all(p)) return TG_OK;
  while ((name = next_name(&rest, &length)) != NULL) {
    char word[64], known[200] = "all";
    const tg_motif_table* table = NULL;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (strcmp(word, "all") == 0)
      return tg_fail(TG_ERR_INPUT, "--backend %s: 'all' stands alone, without other names",
                     p->backends);
    for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
      if (strcmp((*t)->name, word) == 0) table = *t;
      const size_t used = strlen(known);
      snprintf(known + used, sizeof known - used, ", %s", (*t)->name);
    }
    if (table == NULL)
      return tg_fail(TG_ERR_INPUT,
                     "--backend: there is no '%s'; give %s, or several parted by commas", word,
                     known);
    if (table->check && table->check() != TG_OK) {
      char reason[512];
      snprintf(reason, sizeof reason, "%s", tg_last_error());
      return tg_fail(TG_ERR_MACHINE, "--backend %s does not run here: %s", word, reason);
    }
  }
  return TG_OK;
}

bool tg_bench_motif_named(const tg_bench_motif_params* params, const char* version) {
  const char *rest = params->version, *words = NULL;
  size_t length = 0;
  if (rest == NULL) return true;
  while ((words = next_name(&rest, &length)) != NULL) {
    if (words[0] == '=' && strlen(version) == length - 1 &&
        strncmp(version, words + 1, length - 1) == 0)
      return true;
    for (const char* at = version; words[0] != '=' && strlen(at) >= length; at++)
      if (strncmp(at, words, length) == 0) return true;
  }
  return false;
}

/* Has a backend, of an experiment (-1: of any), a version that is wanted? As bench/motif.c adds
 * them. */
static bool table_has(const tg_motif_table* t, int figure, const tg_bench_motif_params* p) {
  const bool any = figure < 0, seven = any || figure == 7, fill = any || figure == 13;
  const bool reduce = any || figure == 15;
#define LOOK(type, list, asked, all)                                                               \
  for (const type* v = (asked) ? t->list : NULL; v && v->name; v++)                                \
    if (((all) || !tg_motif_version_slow(v->name)) && tg_bench_motif_named(p, v->name)) return true;
  LOOK(tg_filter_version, filters, any || figure != 11, seven)
  LOOK(tg_fill_version, fills, fill, false)
  LOOK(tg_collect_version, collects, fill, false)
  LOOK(tg_scan_version, scans, any || figure == 11, true)
  LOOK(tg_reduce_version, reduces, reduce, true)
  LOOK(tg_expect_version, expects, reduce, false)
  LOOK(tg_dense_version, denses, reduce, true)
#undef LOOK
  return false;
}

static bool is_used(const tg_bench_motif_params* p, const tg_motif_table* t) {
  return tg_bench_motif_wants(p, t->name) && (t->check == NULL || t->check() == TG_OK);
}

bool tg_bench_motif_has_version(int figure, const tg_bench_motif_params* params) {
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++)
    if (is_used(params, *t) && table_has(*t, figure, params)) return true;
  return false;
}

/* Cases of an experiment, as bench/motif.c makes them. */
static int cases_of(int figure, const tg_bench_motif_params* p) {
  int count = 0;
  switch (figure) {
    case 7: return TG_MOTIF_PARTICLES * p->orbital_count;
    case 8:
      for (size_t part = 256; part >= 1; part /= 4)
        count += part == 1 || (p->rows / part >= 1024 && p->columns / part >= 1024);
      return count * p->orbital_count;
    case 11:
      for (size_t n = 1024; n <= p->items; n *= 4) count++;
      return count;
    case 13: return TG_MOTIF_DENSITIES;
    case 15:
      for (uint32_t m = 8; m <= p->sums; m *= 2) count++;
      return count;
    default: return p->d > 0 ? 2 : 6;
  }
}

/* Versions that are run in the cases of an experiment, of all backends. */
static int runs_of(int figure, const tg_bench_motif_params* p) {
  const int cases = cases_of(figure, p);
  int count = 0;
#define COUNT(type, list, asked, all, times)                                                       \
  for (const type* v = (asked) ? (*t)->list : NULL; v && v->name; v++)                             \
    if (((all) || !tg_motif_version_slow(v->name)) && tg_bench_motif_named(p, v->name))            \
      count += (times);
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    if (!is_used(p, *t)) continue;
    COUNT(tg_filter_version, filters, figure != 11 && figure != 15, figure == 7,
          figure == TG_BENCH_MOTIF_TILES ? 2 * cases : cases)
    COUNT(tg_fill_version, fills, figure == 13, false, cases)
    COUNT(tg_collect_version, collects, figure == 13, false, cases)
    COUNT(tg_scan_version, scans, figure == 11, true, cases)
    COUNT(tg_reduce_version, reduces, figure == 15, true, cases)
    COUNT(tg_dense_version, denses, figure == 15, true, cases)
    COUNT(tg_filter_version, filters, figure == 15, false, 1) /* beside the fused chain */
    COUNT(tg_expect_version, expects, figure == 15, false, 1)
  }
#undef COUNT
  return count;
}

double tg_bench_motif_seconds(int figure, const tg_bench_motif_params* params) {
  enum { OTHERS = 4 }; /* runs that find out how much is run, and the one that is checked */
  return runs_of(figure, params) * (params->repeats + OTHERS) * params->budget_s;
}

static tg_status check_numbers(const tg_bench_motif_params* p) {
  const size_t least = 16, most = 10000000;
  if (p->rows < least || p->rows > most)
    return tg_fail(TG_ERR_INPUT, "bench motif: %zu rows; give %zu to %zu states", p->rows, least,
                   most);
  if (p->columns < least || p->columns > most)
    return tg_fail(TG_ERR_INPUT, "bench motif: %zu columns; give %zu to %zu states", p->columns,
                   least, most);
  if (p->items < 1024 || p->items > (size_t)1 << 30)
    return tg_fail(TG_ERR_INPUT, "--items %zu: 1024 to 2^30 were expected", p->items);
  if (p->sums < 8 || p->sums > TG_BENCH_MOTIF_SUMS)
    return tg_fail(TG_ERR_INPUT, "--sums %u: 8 to %d were expected", p->sums, TG_BENCH_MOTIF_SUMS);
  for (int k = 0; k < p->orbital_count; k++)
    if (p->orbitals[k] < 20 || p->orbitals[k] > TG_STATES_MOST_ORBITALS)
      return tg_fail(TG_ERR_INPUT,
                     "--orbitals %u: 20 (figure 7 has 20 particles) to %d were expected",
                     p->orbitals[k], TG_STATES_MOST_ORBITALS);
  if (p->d < 0 || p->d > TG_DIFFERENCE_MOST)
    return tg_fail(TG_ERR_INPUT, "--bodies %d: 1 to %d were expected", p->d, TG_DIFFERENCE_MOST);
  if (p->threads < 1 || p->threads > MOST_THREADS)
    return tg_fail(TG_ERR_INPUT, "--threads %d: 1 to %d were expected", p->threads, MOST_THREADS);
  if (p->repeats < 1 || p->repeats > TG_BENCH_MOTIF_REPEATS)
    return tg_fail(TG_ERR_INPUT, "--repeats %d: 1 to %d were expected", p->repeats,
                   TG_BENCH_MOTIF_REPEATS);
  if (!(p->budget_s > 0) || !isfinite(p->budget_s))
    return tg_fail(TG_ERR_INPUT, "--budget %g: seconds above 0 were expected", p->budget_s);
  if (!(p->limit_s > 0) || !isfinite(p->limit_s))
    return tg_fail(TG_ERR_INPUT, "--limit %g: seconds above 0 were expected", p->limit_s);
  return TG_OK;
}

static tg_status enough(const char* what, double needed, double there, const char* advice) {
  if (there <= 0 || needed <= there) return TG_OK;
  return tg_fail(
      TG_ERR_MACHINE,
      "bench motif: this takes about %.3g GB of memory %s, and %.3g GB are free; give %s",
      needed * 1e-9, what, there * 1e-9, advice);
}

tg_status tg_bench_motif_fits(const tg_bench_motif_params* params, double bytes,
                              const char* advice) {
  double copies = 2, on_device = 0;
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    if (!is_used(params, *t)) continue;
    if ((*t)->host) copies++;
    if (!(*t)->host) on_device++;
  }
  TG_TRY(enough("in this machine", copies * bytes, params->memory_bytes, advice));
  tg_device_info info;
  if (on_device == 0 || tg_device_query(0, &info) != TG_OK) return TG_OK;
  return enough("on the GPU", on_device * bytes, (double)info.memory_free_bytes, advice);
}

/* Which words a figure's versions must have: some of all, and some of its own. */
static tg_status check_version(int figure, const tg_bench_motif_params* p) {
  const char *rest = p->version, *words = NULL;
  const char* backends = wants_all(p) ? "any backend that runs here" : p->backends;
  size_t length = 0;
  while ((words = next_name(&rest, &length)) != NULL) { /* of several, each is looked at */
    char one[100];
    tg_bench_motif_params only = *p;
    snprintf(one, sizeof one, "%.*s", (int)length, words);
    only.version = one;
    if (length == 0 || !tg_bench_motif_has_version(-1, &only))
      return tg_fail(TG_ERR_INPUT, "--version '%s': no version of %s has that in its name", one,
                     backends);
  }
  if (tg_bench_motif_has_version(figure, p)) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "--version '%s': %s%s has no version of %s with that in its name",
                 p->version, figure == TG_BENCH_MOTIF_TILES ? "" : "figure ",
                 tg_bench_motif_name(figure), backends);
}

tg_status tg_bench_motif_check(int figure, const tg_bench_motif_params* params) {
  TG_TRY(check_numbers(params));
  TG_TRY(check_backends(params));
  TG_TRY(check_version(figure, params));
  return tg_bench_motif_fits(params, tg_bench_motif_bytes(figure, params),
                             figure == 11
                                 ? "fewer --items or backends"
                                 : "fewer --states, --rows, --columns, --items or backends");
}
