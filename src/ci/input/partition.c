/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/input/partition.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/input/lines.h"

void tg_ci_partition_free(tg_ci_partition* partition) {
  if (!partition) return;
  tg_free(partition->occupation[0]);
  tg_free(partition->occupation[1]);
  tg_free(partition->pair);
  memset(partition, 0, sizeof *partition);
}

static size_t first_orbit(const tg_ci_shells* shells, int species) {
  return species == TG_CI_PROTON ? 0 : shells->proton_count;
}

static int parity_of(const tg_ci_shells* shells, int species, const int* occupation,
                     size_t orbits) {
  int odd = 0;
  for (size_t i = 0; i < orbits; i++)
    odd += occupation[i] * shells->shell[first_orbit(shells, species) + i].l;
  return odd % 2 ? -1 : 1;
}

/* `index occ ...`: occupation is the next free row. */
static tg_status read_configuration(tg_ci_lines* lines, const tg_ci_shells* shells, int species,
                                    int expected, tg_ci_partition* p, int* occupation) {
  const size_t orbits = p->orbits[species];
  const int particles = species == TG_CI_PROTON ? p->protons : p->neutrons;
  int number = 0, sum = 0;
  TG_TRY(tg_ci_lines_need(lines, "another configuration: its number and the occupations"));
  TG_TRY(tg_ci_lines_words(lines, orbits + 1, orbits + 1,
                           "the number of the configuration and an occupation for each orbit"));
  TG_TRY(
      tg_ci_lines_int(lines, 0, "the next number of a configuration", expected, expected, &number));
  for (size_t i = 0; i < orbits; i++) {
    const tg_ci_shell* shell = &shells->shell[first_orbit(shells, species) + i];
    TG_TRY(tg_ci_lines_int(lines, i + 1, "an occupation", 0, shell->two_j + 1, &occupation[i]));
    sum += occupation[i];
  }
  if (sum != particles)
    return tg_fail_at(tg_ci_lines_place(lines, 1),
                      "the occupations add up to %d; expected the %d %s of the first line", sum,
                      particles, species == TG_CI_PROTON ? "protons" : "neutrons");
  for (int i = 0; i < expected - 1; i++)
    if (memcmp(p->occupation[species] + (size_t)i * orbits, occupation,
               orbits * sizeof *occupation) == 0 &&
        orbits)
      return tg_fail_at(tg_ci_lines_place(lines, 0),
                        "the same occupations as configuration %d; expected each once", i + 1);
  return TG_OK;
}

static tg_status read_configurations(tg_ci_lines* lines, const tg_ci_shells* shells, int species,
                                     int count, tg_ci_partition* p) {
  const size_t orbits = p->orbits[species];
  size_t capacity = 0;
  for (int i = 0; i < count; i++) {
    /* grown line by line: a wrong number in the file must not ask for all the memory there is */
    TG_TRY(
        TG_RESERVE(((size_t)i + 1) * orbits, "configurations", &p->occupation[species], &capacity));
    TG_TRY(read_configuration(lines, shells, species, i + 1, p,
                              orbits ? p->occupation[species] + (size_t)i * orbits : NULL));
    p->count[species]++;
  }
  return TG_OK;
}

static int by_pair(const void* left, const void* right) {
  const int *x = left, *y = right;
  if (x[0] != y[0]) return x[0] < y[0] ? -1 : 1;
  return x[1] < y[1] ? -1 : x[1] > y[1];
}

static tg_status read_pairs(tg_ci_lines* lines, const tg_ci_shells* shells, tg_ci_partition* p) {
  int count = 0;
  size_t capacity = 0;
  TG_TRY(tg_ci_lines_need(lines, "the number of pairs of configurations"));
  TG_TRY(tg_ci_lines_words(lines, 1, 1, "the number of pairs of configurations alone"));
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of pairs of configurations", 0, INT_MAX, &count));
  for (int i = 0; i < count; i++) {
    TG_TRY(TG_RESERVE(p->pair_count + 1, "pairs of configurations", &p->pair, &capacity));
    int* pair = p->pair[p->pair_count];
    int parity = 1;
    TG_TRY(tg_ci_lines_need(lines, "another pair of configurations"));
    TG_TRY(tg_ci_lines_words(lines, 2, 2, "2 numbers: a proton and a neutron configuration"));
    for (int s = 0; s < 2; s++) {
      TG_TRY(tg_ci_lines_int(lines, (size_t)s, "the number of a configuration", 1, (int)p->count[s],
                             &pair[s]));
      pair[s]--;
      parity *= p->orbits[s] == 0
                    ? 1
                    : parity_of(shells, s, p->occupation[s] + (size_t)pair[s] * p->orbits[s],
                                p->orbits[s]);
    }
    if (parity != p->parity)
      return tg_fail_at(tg_ci_lines_place(lines, 0),
                        "this pair has parity %d; expected the %d of the first line", parity,
                        p->parity);
    p->pair_count++;
  }
  return TG_OK;
}

/* Only after all were read: messages before this name lines. */
static tg_status refuse_repeats(const char* path, tg_ci_partition* p) {
  if (p->pair_count == 0)
    return tg_fail(TG_ERR_INPUT, "%s: no pair of configurations; expected at least one", path);
  qsort(p->pair, p->pair_count, sizeof *p->pair, by_pair);
  for (size_t i = 1; i < p->pair_count; i++)
    if (by_pair(p->pair[i - 1], p->pair[i]) == 0)
      return tg_fail(TG_ERR_INPUT, "%s: the pair %d %d is there twice; expected each once", path,
                     p->pair[i][0] + 1, p->pair[i][1] + 1);
  return TG_OK;
}

static tg_status read_all(tg_ci_lines* lines, const tg_ci_shells* shells, tg_ci_partition* p) {
  int counts[2] = {0, 0};
  p->orbits[0] = shells->proton_count;
  p->orbits[1] = shells->count - shells->proton_count;
  TG_TRY(tg_ci_lines_need(lines, "the numbers of protons and neutrons and the parity"));
  TG_TRY(tg_ci_lines_words(lines, 3, 3, "3 numbers: protons, neutrons, parity"));
  p->line = lines->line;
  TG_TRY(tg_ci_lines_int(lines, 0, "the number of protons", 0, 9999, &p->protons));
  TG_TRY(tg_ci_lines_int(lines, 1, "the number of neutrons", 0, 9999, &p->neutrons));
  TG_TRY(tg_ci_lines_int(lines, 2, "the parity", -1, 1, &p->parity));
  if (p->parity == 0)
    return tg_fail_at(tg_ci_lines_place(lines, 2), "found the parity 0; expected 1 or -1");
  TG_TRY(tg_ci_lines_need(lines, "the numbers of proton and neutron configurations"));
  TG_TRY(tg_ci_lines_words(lines, 2, 2, "2 numbers of configurations"));
  for (size_t s = 0; s < 2; s++)
    TG_TRY(tg_ci_lines_int(lines, s, "a number of configurations", 1, 10000000, &counts[s]));
  for (int s = 0; s < 2; s++) TG_TRY(read_configurations(lines, shells, s, counts[s], p));
  TG_TRY(read_pairs(lines, shells, p));
  TG_TRY(tg_ci_lines_need_end(lines, "the pairs of configurations announced"));
  return refuse_repeats(lines->file.path, p);
}

tg_status tg_ci_partition_read(const char* path, const tg_ci_shells* shells, tg_ci_partition* out) {
  tg_ci_lines lines;
  tg_ci_partition partition = {0};
  tg_status status = tg_ci_lines_open(path, "!#", &lines);
  if (status == TG_OK) status = read_all(&lines, shells, &partition);
  tg_ci_lines_close(&lines);
  if (status != TG_OK) {
    tg_ci_partition_free(&partition);
    return status;
  }
  *out = partition;
  return TG_OK;
}
