/* SPDX-License-Identifier: Apache-2.0 */
/* Restrictions of nuclei: KSHELL's partitions, limits of orbits' occupations, full orbits. */
#include "ci/restrict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "ci/active.h"
#include "ci/input/readers.h"

static const char* const species_words[2] = {"protons", "neutrons"};

void tg_ci_restrictions_free(tg_ci_restrictions* r) {
  for (int s = 0; s < 2; s++) {
    tg_free(r->roles[s]);
    tg_free(r->least[s]);
    tg_free(r->most[s]);
    tg_free(r->partitions[s]);
  }
  tg_free(r->pairs);
  tg_free(r->numbers);
  tg_ci_integrals_free(&r->folded);
  memset(r, 0, sizeof *r);
}

/* ---- partitions ---- */

/* What an option says must be what the file says. */
static tg_status agree(const char* path, int line, const char* what, const char* option, int file,
                       int* value) {
  if (*value == TG_CI_UNSET) *value = file;
  if (*value == file) return TG_OK;
  return tg_fail_at((tg_place){path, line, 0},
                    "the partitions are for %s %d, but %s says %d; leave %s away, or take another "
                    "file",
                    what, file, option, *value, option);
}

tg_status tg_ci_restrict_read(const tg_ci_input* input, tg_ci_problem_params* params,
                              tg_ci_partition* out) {
  const char* path = params->partition;
  if (!path) return TG_OK;
  if (input->kind != TG_CI_NUCLEUS)
    return tg_fail(TG_ERR_INPUT,
                   "%s: partitions are of nuclei, and %s is a molecule; give --active, --frozen or "
                   "--occupation",
                   path, input->facts[0].path);
  tg_status status = tg_ci_partition_read(path, &input->model.shells, out);
  if (status == TG_OK)
    status = agree(path, out->line, "proton number", "--protons", out->protons, &params->protons);
  if (status == TG_OK)
    status =
        agree(path, out->line, "neutron number", "--neutrons", out->neutrons, &params->neutrons);
  if (status == TG_OK)
    status = agree(path, out->line, "parity", "--parity", out->parity, &params->parity);
  if (status != TG_OK) {
    tg_ci_partition_free(out);
    *out = (tg_ci_partition){0};
  }
  return status;
}

static tg_status use_partition(const tg_ci_partition* from, tg_ci_problem* p) {
  tg_ci_restrictions* r = &p->restrictions;
  for (int s = 0; s < 2; s++) {
    tg_ci_limits* limits = &p->space.limits[s];
    const size_t count = from->count[s] * from->orbits[s];
    if (!count) continue; /* a species without orbits has one configuration, the empty one */
    TG_TRY(TG_ALLOCATE(count, "partitions", &r->partitions[s]));
    for (size_t i = 0; i < count; i++) r->partitions[s][i] = (uint16_t)from->occupation[s][i];
    limits->shells = from->orbits[s];
    limits->partitions = r->partitions[s];
    limits->partition_count = from->count[s];
  }
  TG_TRY(TG_ALLOCATE(2 * from->pair_count, "pairs of partitions", &r->pairs));
  for (size_t i = 0; i < from->pair_count; i++)
    for (int s = 0; s < 2; s++) r->pairs[2 * i + (size_t)s] = (uint32_t)from->pair[i][s];
  p->space.partition_pairs = r->pairs;
  p->space.partition_pair_count = from->pair_count;
  return TG_OK;
}

/* ---- limits of orbits ---- */

/* Range of an orbit's occupation. */
typedef struct range {
  int least, most;
} range;

bool tg_ci_read_range(const char* text, size_t length, int room, int* least, int* most) {
  size_t dots = 0;
  while (dots + 1 < length && (text[dots] != '.' || text[dots + 1] != '.')) dots++;
  *least = 0;
  *most = room;
  if (dots + 1 >= length) {
    if (!tg_parse_int(text, (int)length, least)) return false;
    *most = *least;
  } else {
    const size_t rest = length - dots - 2;
    if (length == 2) return false;
    if (dots > 0 && !tg_parse_int(text, (int)dots, least)) return false;
    if (rest > 0 && !tg_parse_int(text + dots + 2, (int)rest, most)) return false;
  }
  return *least >= 0 && *most >= *least;
}

/* Does "0d5/2", "p0d5/2" or "p:0d5/2" name the orbit? */
static bool names(const char* word, size_t length, const tg_ci_shell* shell) {
  char plain[TG_CI_SHELL_NAME + 2];
  if (length >= sizeof plain) return false;
  snprintf(plain, sizeof plain, "%.*s", (int)length, word);
  if (plain[0] && plain[1] == ':') memmove(plain + 1, plain + 2, strlen(plain + 2) + 1);
  return strcmp(plain, shell->name) == 0 || strcmp(plain, shell->name + 1) == 0;
}

static tg_status unknown_orbit(const char* option, const char* text, const char* word,
                               size_t length, const tg_ci_shells* shells) {
  char list[512] = "";
  size_t used = 0;
  for (size_t i = 0; i < shells->count && used < sizeof list - TG_CI_SHELL_NAME; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "",
                             shells->shell[i].name);
  return tg_fail(TG_ERR_INPUT,
                 "%s '%s': there is no orbit '%.*s'; there are %s (without p or n: both)", option,
                 text, (int)length, word, list);
}

/* What is limited so far. */
typedef struct limits_of {
  const tg_ci_shells* shells;
  bool* set;    /* [shells] */
  range* range; /* [shells] */
} limits_of;

/* One word of a list: an orbit, and behind a colon its range; without one it is full. */
static tg_status limit_word(const char* option, const char* text, const char* word, size_t length,
                            bool full, limits_of* l) {
  const char* colon = NULL;
  for (size_t i = 2; !full && i < length; i++)
    if (word[i] == ':') colon = word + i;
  const size_t name = colon ? (size_t)(colon - word) : length;
  bool found = false;
  if (!full && !colon)
    return tg_fail(TG_ERR_INPUT,
                   "%s '%s': found '%.*s'; expected an orbit and how many particles it holds, such "
                   "as 0d5/2:2..6 or n1s1/2:0",
                   option, text, (int)length, word);
  for (size_t i = 0; i < l->shells->count; i++) {
    const tg_ci_shell* shell = &l->shells->shell[i];
    const int room = shell->two_j + 1;
    if (!names(word, name, shell)) continue;
    found = true;
    if (l->set[i])
      return tg_fail(TG_ERR_INPUT, "%s '%s': the orbit %s has a limit already; give it once",
                     option, text, shell->name);
    l->set[i] = true;
    l->range[i] = (range){room, room};
    if (!colon) continue;
    if (!tg_ci_read_range(colon + 1, length - name - 1, room, &l->range[i].least,
                          &l->range[i].most))
      return tg_fail(TG_ERR_INPUT,
                     "%s '%s': found '%.*s'; expected a range such as 2..6, 2.., ..6 or 4", option,
                     text, (int)(length - name - 1), colon + 1);
    if (l->range[i].most > room)
      return tg_fail(TG_ERR_INPUT, "%s '%s': the orbit %s has room for %d particles, not for %d",
                     option, text, shell->name, room, l->range[i].most);
  }
  return found ? TG_OK : unknown_orbit(option, text, word, name, l->shells);
}

static tg_status limit_list(const char* option, const char* text, bool full, limits_of* l) {
  for (const char* word = text;; word++) {
    const size_t length = strcspn(word, ",");
    TG_TRY(limit_word(option, text, word, length, full, l));
    word += length;
    if (!*word) return TG_OK;
  }
}

/* Whether particles fit between the limits of one species. */
static tg_status check_sums(const limits_of* l, int species, int particles) {
  int least = 0, most = 0;
  for (size_t i = 0; i < l->shells->count; i++) {
    if (l->shells->shell[i].species != species) continue;
    least += l->range[i].least;
    most += l->range[i].most;
  }
  if (particles < least)
    return tg_fail(TG_ERR_INPUT,
                   "the orbits of %s hold at least %d by --occupation and --frozen, and there are "
                   "%d; allow fewer in them",
                   species_words[species], least, particles);
  if (particles > most)
    return tg_fail(TG_ERR_INPUT,
                   "%d %s do not fit: their orbits hold at most %d by --occupation and --frozen; "
                   "allow more in them",
                   particles, species_words[species], most);
  return TG_OK;
}

/* The limits of one species, for the strings. Orbits that are always full or always empty get
 * roles, which the enumeration passes over. */
static tg_status use_limits(const limits_of* l, int s, tg_ci_problem* p) {
  tg_ci_restrictions* r = &p->restrictions;
  const size_t first = s == TG_CI_PROTON ? 0 : l->shells->proton_count;
  const size_t count = (s == TG_CI_PROTON ? l->shells->proton_count : l->shells->count) - first;
  const tg_ci_orbital* orbital;
  const size_t orbitals = tg_ci_hamiltonian_orbitals(p->h, s, &orbital);
  TG_TRY(check_sums(l, s, p->particles[s]));
  TG_TRY(TG_ALLOCATE(count, "limits of orbits", &r->least[s]));
  TG_TRY(TG_ALLOCATE(count, "limits of orbits", &r->most[s]));
  TG_TRY(TG_ALLOCATE(orbitals, "roles of orbitals", &r->roles[s]));
  for (size_t i = 0; i < count; i++) {
    r->least[s][i] = (uint16_t)l->range[first + i].least;
    r->most[s][i] = (uint16_t)l->range[first + i].most;
  }
  for (size_t o = 0; o < orbitals; o++) {
    const size_t i = orbital[o].shell;
    const int room = l->shells->shell[first + i].two_j + 1;
    if (r->most[s][i] == 0) r->roles[s][o] = TG_CI_UNUSED;
    if (r->least[s][i] == room) r->roles[s][o] = TG_CI_FROZEN;
  }
  tg_ci_limits* limits = &p->space.limits[s];
  limits->shells = count;
  limits->least = r->least[s];
  limits->most = r->most[s];
  limits->roles = r->roles[s];
  return TG_OK;
}

static tg_status use_occupations(const tg_ci_problem_params* params, tg_ci_problem* p) {
  const tg_ci_shells* shells = &p->input->model.shells;
  limits_of l = {.shells = shells};
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(shells->count, "limits of orbits", &l.set), done);
  TG_TRY_GOTO(TG_ALLOCATE(shells->count, "limits of orbits", &l.range), done);
  for (size_t i = 0; i < shells->count; i++) l.range[i].most = shells->shell[i].two_j + 1;
  if (params->occupation)
    TG_TRY_GOTO(limit_list("--occupation", params->occupation, false, &l), done);
  if (params->frozen) TG_TRY_GOTO(limit_list("--frozen", params->frozen, true, &l), done);
  for (int s = 0; s < 2; s++) TG_TRY_GOTO(use_limits(&l, s, p), done);
done:
  tg_free(l.set);
  tg_free(l.range);
  return status;
}

tg_status tg_ci_restrict_nucleus(const tg_ci_problem_params* params,
                                 const tg_ci_partition* partition, tg_ci_problem* p) {
  if (params->partition) {
    TG_TRY(use_partition(partition, p));
    TG_TRY(tg_ci_note(&p->notes, "%s: %zu partitions of protons, %zu of neutrons, %zu pairs",
                      params->partition, partition->count[0], partition->count[1],
                      partition->pair_count));
  }
  if (params->occupation)
    TG_TRY(tg_ci_note(&p->notes, "particles in orbits: %s", params->occupation));
  if (params->frozen) TG_TRY(tg_ci_note(&p->notes, "full orbits: %s", params->frozen));
  return params->occupation || params->frozen ? use_occupations(params, p) : TG_OK;
}

/* ---- particles above the lowest configuration ---- */

/* The orbits of a species in the order in which they are filled: without a core by quanta, else by
 * their energies. */
static double level_of(const tg_ci_problem* p, int s, size_t first_orbital, int shell) {
  if (p->input->model.core_mass == 0) {
    const tg_ci_shells* shells = &p->input->model.shells;
    const tg_ci_shell* orbit =
        &shells->shell[(s == TG_CI_PROTON ? 0 : shells->proton_count) + (size_t)shell];
    return 2 * orbit->n + orbit->l;
  }
  return tg_ci_hamiltonian_one(p->h, s, (int)first_orbital, (int)first_orbital);
}

/* weights: 0 for orbitals that the lowest configuration fills, wholly or partly; orbits at one
 * energy count as one. energy: [orbitals]. */
static void fill_lowest(size_t n, const double* energy, const uint8_t* roles, int particles,
                        uint8_t* weights) {
  static const double same = 1e-6;
  double filled = -INFINITY;
  memset(weights, 1, n);
  while (particles > 0) {
    double next = INFINITY;
    for (size_t i = 0; i < n; i++)
      if (energy[i] > filled && (!roles || roles[i] != TG_CI_UNUSED)) next = fmin(next, energy[i]);
    if (!isfinite(next)) return;
    for (size_t i = 0; i < n; i++)
      if (energy[i] > filled && energy[i] <= next + same) {
        weights[i] = 0;
        particles -= !roles || roles[i] != TG_CI_UNUSED;
      }
    filled = next + same;
  }
}

static tg_status nuclear_weights(tg_ci_problem* p, int s, uint8_t* weights, double* energy,
                                 char* words, size_t size) {
  const tg_ci_orbital* orbital;
  const size_t n = tg_ci_hamiltonian_orbitals(p->h, s, &orbital);
  const tg_ci_shells* shells = &p->input->model.shells;
  size_t first = 0;
  for (size_t i = 0; i < n; i++) {
    if (orbital[i].shell != orbital[first].shell) first = i;
    energy[i] = level_of(p, s, first, orbital[i].shell);
  }
  fill_lowest(n, energy, p->restrictions.roles[s], p->particles[s], weights);
  for (size_t i = 0; i < n; i++) {
    if (weights[i] || (i && orbital[i].shell == orbital[i - 1].shell)) continue;
    const size_t used = strlen(words);
    snprintf(words + used, size - used, "%s%s", used ? ", " : "",
             shells->shell[(s == TG_CI_PROTON ? 0 : shells->proton_count) + orbital[i].shell].name);
  }
  return TG_OK;
}

/* Both spins alike, so that S stays a good number: weight 0 where the lowest determinant has an
 * electron. */
static tg_status molecular_weights(tg_ci_problem* p, uint8_t* weights, char* words, size_t size) {
  const tg_ci_integrals* g = tg_ci_problem_integrals(p);
  uint16_t* order = NULL;
  tg_status status = TG_OK;
  const int a = p->particles[0], b = p->particles[1], filled = a > b ? a : b;
  TG_TRY(TG_ALLOCATE(g->orbitals, "the order of orbitals", &order));
  TG_TRY_GOTO(tg_ci_orbital_order(g, a, b, order, NULL), done);
  memset(weights, 1, g->orbitals);
  for (int k = 0; k < filled; k++) weights[order[k]] = 0;
  snprintf(words, size, "orbitals");
  for (size_t i = 0; i < g->orbitals; i++) {
    const size_t used = strlen(words);
    if (!weights[i])
      snprintf(words + used, size - used, " %d",
               p->restrictions.numbers ? p->restrictions.numbers[i] + 1 : (int)i + 1);
  }
done:
  tg_free(order);
  return status;
}

tg_status tg_ci_restrict_excitations(int excitations, tg_ci_problem* p) {
  uint8_t* weights = NULL;
  double* energy = NULL;
  char words[512] = "";
  tg_status status = TG_OK;
  if (excitations < 0)
    return tg_fail(TG_ERR_INPUT, "--excitations %d; it must be 0 or more", excitations);
  for (int s = 0; s < 2; s++) {
    const tg_ci_orbital* orbital;
    const size_t n = tg_ci_hamiltonian_orbitals(p->h, s, &orbital);
    TG_TRY_GOTO(TG_ALLOCATE(n + 1, "weights", &weights), done);
    TG_TRY_GOTO(TG_ALLOCATE(n + 1, "energies of orbits", &energy), done);
    if (p->kind == TG_CI_NUCLEUS)
      TG_TRY_GOTO(nuclear_weights(p, s, weights, energy, words, sizeof words), done);
    else
      TG_TRY_GOTO(molecular_weights(p, weights, words, sizeof words), done);
    tg_ci_hamiltonian_relabel(p->h, s, weights, NULL);
    TG_FREE(weights);
    TG_FREE(energy);
  }
  TG_TRY_GOTO(
      tg_ci_note(&p->notes, "at most %d particle%s outside of %s, above the fewest possible",
                 excitations, excitations == 1 ? "" : "s", words),
      done);
done:
  tg_free(weights);
  tg_free(energy);
  return status;
}
