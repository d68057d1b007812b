/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/orbits.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

void tg_ci_shells_free(tg_ci_shells* shells) {
  tg_free(shells->shell);
  memset(shells, 0, sizeof *shells);
}

tg_status tg_ci_shells_copy(const tg_ci_shells* from, tg_ci_shells* out) {
  tg_ci_shells copy = *from;
  size_t room = from->count ? 1 : 0;
  while (room < from->count) room *= 2;
  TG_TRY(TG_ALLOCATE(room, "orbits", &copy.shell));
  if (from->count) memcpy(copy.shell, from->shell, from->count * sizeof *copy.shell);
  *out = copy;
  return TG_OK;
}

static void name_shell(tg_ci_shell* shell) {
  static const char letters[] = "spdfghijklmnoqrtuvwxyz";
  char where = shell->species == TG_CI_PROTON ? 'p' : 'n';
  if ((size_t)shell->l < sizeof letters - 1)
    snprintf(shell->name, sizeof shell->name, "%c%d%c%d/2", where, shell->n, letters[shell->l],
             shell->two_j);
  else
    snprintf(shell->name, sizeof shell->name, "%c%d[%d]%d/2", where, shell->n, shell->l,
             shell->two_j);
}

tg_status tg_ci_shells_add(tg_ci_shells* shells, tg_ci_shell shell, tg_place place) {
  if (shell.n < 0 || shell.l < 0 || shell.n > 99 ||
      (shell.two_j != 2 * shell.l + 1 && shell.two_j != 2 * shell.l - 1) || shell.two_j < 1)
    return tg_fail_at(place,
                      "an orbit with n = %d, l = %d, 2j = %d; expected n from 0, l >= 0 and "
                      "2j = 2l + 1 or 2l - 1",
                      shell.n, shell.l, shell.two_j);
  if (shell.two_j > TG_CI_SHELL_MOST_TWO_J)
    return tg_fail_at(place, "an orbit with 2j = %d; at most %d is supported", shell.two_j,
                      TG_CI_SHELL_MOST_TWO_J);
  if (shell.weight < 0) shell.weight = 2 * shell.n + shell.l;
  if (shell.weight > 255)
    return tg_fail_at(place, "an orbit of weight %d; at most 255 is supported", shell.weight);
  name_shell(&shell);
  if (tg_ci_shells_find(shells, &shell) >= 0)
    return tg_fail_at(place, "the orbit %s is there already; each orbit is given once", shell.name);
  if (shells->count == TG_CI_MOST_SHELLS)
    return tg_fail_at(place, "more than %d orbits; fewer are supported", TG_CI_MOST_SHELLS);
  if (shell.species == TG_CI_PROTON && shells->proton_count < shells->count)
    return tg_fail_at(place, "the proton orbit %s after a neutron orbit; protons come first",
                      shell.name);
  /* room is always a power of two: it grows when the count reaches one */
  if ((shells->count & (shells->count - 1)) == 0) {
    tg_ci_shell* larger = NULL;
    TG_TRY(TG_ALLOCATE(shells->count ? 2 * shells->count : 1, "orbits", &larger));
    if (shells->count) memcpy(larger, shells->shell, shells->count * sizeof *larger);
    tg_free(shells->shell);
    shells->shell = larger;
  }
  shells->shell[shells->count++] = shell;
  if (shell.species == TG_CI_PROTON) shells->proton_count++;
  return TG_OK;
}

static bool same_orbit(const tg_ci_shell* a, const tg_ci_shell* b) {
  return a->n == b->n && a->l == b->l && a->two_j == b->two_j;
}

int tg_ci_shells_find(const tg_ci_shells* shells, const tg_ci_shell* like) {
  for (size_t i = 0; i < shells->count; i++)
    if (shells->shell[i].species == like->species && same_orbit(&shells->shell[i], like))
      return (int)i;
  return -1;
}

int tg_ci_shells_partner(const tg_ci_shells* shells, int number) {
  tg_ci_shell like = shells->shell[number];
  like.species = like.species == TG_CI_PROTON ? TG_CI_NEUTRON : TG_CI_PROTON;
  return tg_ci_shells_find(shells, &like);
}

bool tg_ci_shells_isospin(const tg_ci_shells* shells) {
  for (size_t i = 0; i < shells->count; i++)
    if (tg_ci_shells_partner(shells, (int)i) < 0) return false;
  return true;
}

int tg_ci_pair_kind(const tg_ci_shells* shells, int a, int b) {
  int species_a = shells->shell[a].species, species_b = shells->shell[b].species;
  if (species_a != species_b) return TG_CI_PN;
  return species_a == TG_CI_PROTON ? TG_CI_PP : TG_CI_NN;
}
