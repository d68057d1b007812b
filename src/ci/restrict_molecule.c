/* SPDX-License-Identifier: Apache-2.0 */
/* Restrictions of molecules: an active space, and occupations of groups of orbitals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/active.h"
#include "ci/input/readers.h"
#include "ci/restrict.h"

/* "1, 4-6": numbers of the orbitals with this role. */
static void list_roles(size_t n, const uint8_t* roles, uint8_t role, char* out, size_t size) {
  size_t used = 0;
  *out = '\0';
  for (size_t i = 0; i < n && used < size - 16; i++) {
    size_t last = i;
    if (roles[i] != role) continue;
    while (last + 1 < n && roles[last + 1] == role) last++;
    used += (size_t)snprintf(out + used, size - used, "%s%zu", used ? ", " : "", i + 1);
    if (last > i) used += (size_t)snprintf(out + used, size - used, "-%zu", last + 1);
    i = last;
  }
}

tg_status tg_ci_restrict_orbitals(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_integrals* g = &p->input->integrals;
  tg_ci_restrictions* r = &p->restrictions;
  uint8_t roles[TG_CI_MOST_SPATIAL];
  char frozen[256], active[256];
  int pairs = 0;
  if (!params->frozen && !params->active) return TG_OK;
  if (params->frozen && params->active)
    return tg_fail(TG_ERR_INPUT,
                   "--frozen and --active: give one; --active says which orbitals are frozen");
  TG_TRY(tg_ci_orbital_roles(g, p->particles[0], p->particles[1], params->frozen, params->active,
                             roles, &pairs));
  TG_TRY(TG_ALLOCATE(g->orbitals, "numbers of orbitals", &r->numbers));
  TG_TRY(tg_ci_integrals_fold(g, roles, r->numbers, &r->folded));
  for (int s = 0; s < 2; s++) p->particles[s] -= pairs;
  list_roles(g->orbitals, roles, TG_CI_FROZEN, frozen, sizeof frozen);
  list_roles(g->orbitals, roles, TG_CI_ACTIVE, active, sizeof active);
  return tg_ci_note(&p->notes, "%s%s%s; %d electrons in the active orbitals %s",
                    pairs ? "doubly occupied orbitals " : "no orbital is frozen", frozen, "",
                    p->particles[0] + p->particles[1], active);
}

/* ---- occupations of groups ----
 *
 * An occupation counts both spins, so that S stays a good number. Groups of orbitals become the
 * "shells" of the strings; the occupations of groups by one spin's electrons are partitions, and
 * two of them are a pair where their sum is within the limits. */

enum { MOST_GROUPS = 8, MOST_PARTITIONS = 20000 };

typedef struct groups {
  size_t count; /* the last one holds the orbitals that no limit names */
  int size[MOST_GROUPS + 1], least[MOST_GROUPS + 1], most[MOST_GROUPS + 1];
  uint16_t of[TG_CI_MOST_SPATIAL];
} groups;

/* The orbital of h with this number in the input, from 0; -1: it is not active. */
static int active_number(const tg_ci_problem* p, size_t number) {
  const size_t n = tg_ci_problem_integrals(p)->orbitals;
  if (!p->restrictions.numbers) return (int)number;
  for (size_t i = 0; i < n; i++)
    if (p->restrictions.numbers[i] == number) return (int)i;
  return -1;
}

/* `1,3-5:2..4`: a list of orbitals up to a colon, the limits behind it. */
static tg_status read_group(const char* text, const char* word, size_t length,
                            const tg_ci_problem* p, groups* g) {
  uint8_t marks[TG_CI_MOST_SPATIAL] = {0};
  const char* colon = memchr(word, ':', length);
  const size_t now = g->count;
  if (!colon)
    return tg_fail(TG_ERR_INPUT,
                   "--occupation '%s': found '%.*s'; expected orbitals and how many electrons they "
                   "hold together, such as 1-3:4..6",
                   text, (int)length, word);
  if (now == MOST_GROUPS)
    return tg_fail(TG_ERR_INPUT, "--occupation '%s': more than %d groups; give fewer", text,
                   MOST_GROUPS);
  TG_TRY(tg_ci_number_list(word, (size_t)(colon - word), "--occupation",
                           p->input->integrals.orbitals, marks));
  for (size_t k = 0; k < p->input->integrals.orbitals; k++) {
    const int i = marks[k] ? active_number(p, k) : -1;
    if (!marks[k]) continue;
    if (i < 0 || g->of[i] != UINT16_MAX)
      return tg_fail(TG_ERR_INPUT, "--occupation '%s': orbital %zu is %s", text, k + 1,
                     i < 0 ? "not an active one; limits are for active orbitals"
                           : "in two groups; name each once");
    g->of[i] = (uint16_t)now;
    g->size[now]++;
  }
  const size_t rest = length - (size_t)(colon - word) - 1;
  if (!tg_ci_read_range(colon + 1, rest, 2 * g->size[now], &g->least[now], &g->most[now]))
    return tg_fail(TG_ERR_INPUT,
                   "--occupation '%s': found '%.*s'; expected a range such as 2..6, 2.., ..6 or 4",
                   text, (int)rest, colon + 1);
  if (g->most[now] > 2 * g->size[now])
    return tg_fail(TG_ERR_INPUT,
                   "--occupation '%s': %d orbitals have room for %d electrons, not %d", text,
                   g->size[now], 2 * g->size[now], g->most[now]);
  g->count++;
  return TG_OK;
}

/* Groups are separated by semicolons or slashes; a comma belongs to a list. */
static tg_status read_groups(const char* text, const tg_ci_problem* p, groups* g) {
  const size_t n = tg_ci_problem_integrals(p)->orbitals;
  for (size_t i = 0; i < n; i++) g->of[i] = UINT16_MAX;
  for (const char* word = text;; word++) {
    const size_t length = strcspn(word, ";/");
    TG_TRY(read_group(text, word, length, p, g));
    word += length;
    if (!*word) break;
  }
  for (size_t i = 0; i < n; i++)
    if (g->of[i] == UINT16_MAX) {
      g->of[i] = (uint16_t)g->count;
      g->size[g->count]++;
    }
  g->most[g->count] = 2 * g->size[g->count];
  g->count++;
  return TG_OK;
}

/* All ways to spread the electrons of one spin over the groups. */
static tg_status spread(const groups* g, int electrons, uint16_t** out, size_t* count) {
  const size_t last = g->count - 1; /* holds what the others do not */
  size_t room = 0;
  int held[MOST_GROUPS + 1] = {0}, sum = 0;
  for (;;) {
    const int rest = electrons - sum;
    if (rest >= 0 && rest <= g->size[last] && rest <= g->most[last]) {
      if (*count == MOST_PARTITIONS)
        return tg_fail(
            TG_ERR_INPUT,
            "--occupation: electrons can be spread over the groups in more than %d ways; "
            "take fewer or smaller groups",
            MOST_PARTITIONS);
      TG_TRY(TG_RESERVE((*count + 1) * g->count, "partitions", out, &room));
      for (size_t k = 0; k < g->count; k++)
        (*out)[*count * g->count + k] = (uint16_t)(k == last ? rest : held[k]);
      ++*count;
    }
    size_t k = 0; /* the next one: like the digits of a number */
    while (k < last && (sum >= electrons || held[k] == g->size[k] || held[k] == g->most[k])) {
      sum -= held[k];
      held[k++] = 0;
    }
    if (k == last) return TG_OK;
    held[k]++;
    sum++;
  }
}

static tg_status pair_up(const groups* g, const size_t* counts, tg_ci_problem* p) {
  tg_ci_restrictions* r = &p->restrictions;
  size_t room = 0;
  for (size_t a = 0; a < counts[0]; a++)
    for (size_t b = 0; b < counts[1]; b++) {
      bool fits = true;
      for (size_t k = 0; k < g->count; k++) {
        const int sum = r->partitions[0][a * g->count + k] + r->partitions[1][b * g->count + k];
        fits = fits && sum >= g->least[k] && sum <= g->most[k];
      }
      if (!fits) continue;
      TG_TRY(TG_RESERVE(2 * (p->space.partition_pair_count + 1), "pairs of partitions", &r->pairs,
                        &room));
      r->pairs[2 * p->space.partition_pair_count] = (uint32_t)a;
      r->pairs[2 * p->space.partition_pair_count + 1] = (uint32_t)b;
      p->space.partition_pair_count++;
    }
  p->space.partition_pairs = r->pairs;
  if (p->space.partition_pair_count) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "--occupation: %d electrons cannot be spread over the groups within their limits; "
                 "widen them",
                 p->particles[0] + p->particles[1]);
}

tg_status tg_ci_restrict_molecule(const tg_ci_problem_params* params, tg_ci_problem* p) {
  groups g = {0};
  size_t counts[2] = {0, 0};
  if (!params->occupation) return TG_OK;
  TG_TRY(read_groups(params->occupation, p, &g));
  for (int s = 0; s < 2; s++) {
    TG_TRY(spread(&g, p->particles[s], &p->restrictions.partitions[s], &counts[s]));
    tg_ci_hamiltonian_relabel(p->h, s, NULL, g.of);
    p->space.limits[s].shells = g.count;
    p->space.limits[s].partitions = p->restrictions.partitions[s];
    p->space.limits[s].partition_count = counts[s];
  }
  TG_TRY(tg_ci_note(&p->notes, "electrons in orbitals: %s", params->occupation));
  return pair_up(&g, counts, p);
}

tg_status tg_ci_count_higher_spin(const tg_ci_problem_params* params, const tg_ci_problem* p,
                                  tg_ci_dimension** out, size_t* count) {
  tg_ci_problem q = {.input = p->input, .kind = p->kind, .h = p->h, .space = p->space};
  q.restrictions.folded = p->restrictions.folded; /* p's, as numbers are */
  q.restrictions.numbers = p->restrictions.numbers;
  q.space.partition_pairs = NULL;
  q.space.partition_pair_count = 0;
  for (int s = 0; s < 2; s++) {
    q.particles[s] = p->particles[s] + (s == 0 ? 1 : -1);
    q.space.limits[s].particles = q.particles[s];
  }
  *out = NULL;
  *count = 0;
  tg_status status = tg_ci_restrict_molecule(params, &q);
  if (status == TG_OK) status = tg_ci_space_count(q.h, &q.space, out, count);
  for (int s = 0; s < 2; s++) tg_free(q.restrictions.partitions[s]);
  tg_free(q.restrictions.pairs);
  for (size_t i = 0; i < q.notes.count; i++) tg_free(q.notes.line[i]);
  tg_free(q.notes.line);
  return status == TG_ERR_INPUT ? TG_OK : status; /* the limits leave none of that spin */
}
