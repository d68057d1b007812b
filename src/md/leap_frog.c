/* SPDX-License-Identifier: Apache-2.0 */
#include "md/leap_frog.h"

#include <string.h>

#include "md/parameters.h"

static size_t share(size_t count, int part, int parts) {
  return count * (size_t)part / (size_t)parts;
}

static int thread_count(const tg_leap_frog_atoms* atoms) {
  return atoms->threads > 1 ? atoms->threads : 1;
}

/* Group of an atom, or -1. */
static inline int group_of(const tg_leap_frog_atoms* atoms, size_t i) {
  int group = atoms->group ? atoms->group[i] : 0;
  return group < atoms->group_count ? group : -1;
}

static void step_range(const tg_leap_frog_atoms* atoms, size_t first, size_t last, double dt,
                       const double* lambda, const double (*x)[3], const double (*f)[3],
                       double (*v)[3], double (*x_new)[3]) {
  double one = lambda && !atoms->group && atoms->group_count > 0 ? lambda[0] : 1;
  for (size_t i = first; i < last; i++) {
    double scale = one, kick = dt * atoms->inverse_mass[i];
    if (lambda && atoms->group) {
      int group = group_of(atoms, i);
      scale = group < 0 ? 1 : lambda[group];
    }
    for (int d = 0; d < 3; d++) {
      double next = scale * v[i][d] + kick * f[i][d];
      v[i][d] = next;
      x_new[i][d] = x[i][d] + dt * next;
    }
  }
}

void tg_leap_frog_step(const tg_leap_frog_atoms* atoms, double dt, const double* lambda,
                       const double (*x)[3], const double (*f)[3], double (*v)[3],
                       double (*x_new)[3]) {
  int threads = thread_count(atoms);
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; t++)
    step_range(atoms, share(atoms->home_count, t, threads),
               share(atoms->home_count, t + 1, threads), dt, lambda, x, f, v, x_new);
}

/* xx xy xz yy yz zz of the atoms of each group. */
static void kinetic_range(const tg_leap_frog_atoms* atoms, size_t first, size_t last,
                          const double (*v)[3], double (*sum)[6]) {
  for (size_t i = first; i < last; i++) {
    int group = group_of(atoms, i);
    if (group < 0) continue;
    double half = 0.5 * atoms->mass[i], *s = sum[group];
    s[0] += half * v[i][0] * v[i][0];
    s[1] += half * v[i][0] * v[i][1];
    s[2] += half * v[i][0] * v[i][2];
    s[3] += half * v[i][1] * v[i][1];
    s[4] += half * v[i][1] * v[i][2];
    s[5] += half * v[i][2] * v[i][2];
  }
}

void tg_leap_frog_kinetic(const tg_leap_frog_atoms* atoms, const double (*v)[3],
                          double (*kinetic)[3][3]) {
  static const int place[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
  int threads = thread_count(atoms);
  memset(kinetic, 0, (size_t)atoms->group_count * sizeof *kinetic);
#pragma omp parallel for ordered num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; t++) {
    double sum[TG_MAX_GROUPS][6] = {{0}};
    kinetic_range(atoms, share(atoms->home_count, t, threads),
                  share(atoms->home_count, t + 1, threads), v, sum);
#pragma omp ordered
    for (int g = 0; g < atoms->group_count; g++)
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) kinetic[g][a][b] += sum[g][place[a][b]];
  }
}

void tg_leap_frog_momentum(const tg_leap_frog_atoms* atoms, const double (*v)[3],
                           double (*momentum)[4]) {
  int threads = thread_count(atoms);
  memset(momentum, 0, (size_t)atoms->group_count * sizeof *momentum);
#pragma omp parallel for ordered num_threads(threads) schedule(static, 1) if (threads > 1)
  for (int t = 0; t < threads; t++) {
    double sum[TG_MAX_GROUPS][4] = {{0}};
    size_t last = share(atoms->home_count, t + 1, threads);
    for (size_t i = share(atoms->home_count, t, threads); i < last; i++) {
      int group = group_of(atoms, i);
      if (group < 0) continue;
      for (int d = 0; d < 3; d++) sum[group][d] += atoms->mass[i] * v[i][d];
      sum[group][3] += atoms->mass[i];
    }
#pragma omp ordered
    for (int g = 0; g < atoms->group_count; g++)
      for (int d = 0; d < 4; d++) momentum[g][d] += sum[g][d];
  }
}

void tg_leap_frog_remove_velocity(const tg_leap_frog_atoms* atoms, const double (*velocity)[3],
                                  double (*v)[3]) {
  for (size_t i = 0; i < atoms->home_count; i++) {
    int group = group_of(atoms, i);
    if (group < 0) continue;
    for (int d = 0; d < 3; d++) v[i][d] -= velocity[group][d];
  }
}
