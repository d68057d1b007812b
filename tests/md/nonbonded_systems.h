/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/md/nonbonded_systems.h  Systems for tests of pair forces, and an oracle with error
 * bounds. */
#ifndef TG_TESTS_NONBONDED_SYSTEMS_H
#define TG_TESTS_NONBONDED_SYSTEMS_H

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "md/nonbonded.h"

enum { TYPES = 4, MOST_EXCLUSIONS = 8 };

typedef struct test_system {
  size_t n;
  double (*x)[3];
  int* type;
  double* charge;
  int* global;
  uint8_t (*offset)[3];
  int* exclusion_start;
  int* exclusion;
  double box[3];
  bool periodic[3];
  double c6[TYPES * TYPES], c12[TYPES * TYPES];
  double cutoff;
} test_system;

static inline double random_next(uint64_t* state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15ULL); /* splitmix64 */
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static inline void system_allocate(test_system* s, size_t n) {
  memset(s, 0, sizeof *s);
  s->n = n;
  s->x = calloc(n + 1, sizeof *s->x);
  s->type = calloc(n + 1, sizeof *s->type);
  s->charge = calloc(n + 1, sizeof *s->charge);
  s->global = calloc(n + 1, sizeof *s->global);
  s->offset = calloc(n + 1, sizeof *s->offset);
  s->exclusion_start = calloc(n + 1, sizeof *s->exclusion_start);
  s->exclusion = calloc((n + 1) * MOST_EXCLUSIONS, sizeof *s->exclusion);
  for (size_t i = 0; i < n; i++) s->global[i] = (int)i;
  for (int d = 0; d < 3; d++) s->periodic[d] = true;
  s->cutoff = 0.9;
}

static inline void system_free(test_system* s) {
  free(s->x);
  free(s->type);
  free(s->charge);
  free(s->global);
  free(s->offset);
  free(s->exclusion_start);
  free(s->exclusion);
}

/** Type 0: water oxygen (SPC); 1: no LJ; 2 and 3: others. Products of roots, or not. */
static inline void system_types(test_system* s, bool geometric) {
  const double c6[TYPES] = {0.0026173456, 0, 0.0047, 0.0012};
  const double c12[TYPES] = {2.634129e-6, 0, 5.1e-6, 0.9e-6};
  for (int i = 0; i < TYPES; i++) {
    for (int j = 0; j < TYPES; j++) {
      const double odd = geometric || i == j ? 1 : 1.07;
      s->c6[i * TYPES + j] = odd * sqrt(c6[i]) * sqrt(c6[j]);
      s->c12[i * TYPES + j] = odd * sqrt(c12[i]) * sqrt(c12[j]);
    }
  }
}

/** Rigid water on a jittered lattice at 33.4 molecules/nm^3, random orientation, exclusions inside.
 */
static inline void system_water(test_system* s, int nx, int ny, int nz, uint64_t seed) {
  const int cells[3] = {nx, ny, nz};
  const double edge = cbrt(1 / 33.4);
  system_allocate(s, 3 * (size_t)(nx * ny * nz));
  system_types(s, true);
  for (int d = 0; d < 3; d++) s->box[d] = edge * cells[d];
  for (size_t m = 0; m < s->n / 3; m++) {
    const size_t cell[3] = {m / (size_t)(ny * nz), m / (size_t)nz % (size_t)ny, m % (size_t)nz};
    double a[3], b[3], aa = 0, ab = 0, bb = 0;
    for (int d = 0; d < 3; d++) {
      s->x[3 * m][d] = edge * ((double)cell[d] + 0.5 + 0.2 * (random_next(&seed) - 0.5));
      a[d] = random_next(&seed) - 0.5;
      b[d] = random_next(&seed) - 0.5;
      aa += a[d] * a[d];
      ab += a[d] * b[d];
    }
    for (int d = 0; d < 3; d++) {
      b[d] -= ab / aa * a[d];
      bb += b[d] * b[d];
    }
    for (int d = 0; d < 3; d++) {
      const double p = 0.1 * 0.577 * a[d] / sqrt(aa), q = 0.1 * 0.816 * b[d] / sqrt(bb);
      s->x[3 * m + 1][d] = s->x[3 * m][d] + p + q;
      s->x[3 * m + 2][d] = s->x[3 * m][d] + p - q;
    }
    for (size_t k = 0; k < 3; k++) {
      const size_t i = 3 * m + k;
      s->type[i] = k == 0 ? 0 : 1;
      s->charge[i] = k == 0 ? -0.82 : 0.41;
      s->exclusion_start[i + 1] = s->exclusion_start[i];
      for (size_t l = 0; l < 3; l++) {
        if (l != k) s->exclusion[s->exclusion_start[i + 1]++] = (int)(3 * m + l);
      }
    }
  }
}

/** n atoms of all types on random sites of a lattice of `edge` nm (so none overlap), jittered, in a
 * box; exclusions between some neighbours in number. clustered: sites fill up from eight corners
 * instead. */
static inline void system_random(test_system* s, size_t n, const double box[3], double edge,
                                 bool clustered, uint64_t seed) {
  system_allocate(s, n);
  system_types(s, false);
  memcpy(s->box, box, sizeof s->box);
  size_t sites[3], total = 1;
  for (int d = 0; d < 3; d++) total *= sites[d] = (size_t)fmax(1, floor(box[d] / edge));
  uint8_t* taken = calloc(total, 1);
  if (n > total) abort();
  for (size_t i = 0; i < n; i++) {
    size_t cell[3], site;
    do {
      for (int d = 0; d < 3; d++) {
        double u = random_next(&seed);
        if (clustered) u = u * u * u * u; /* crowds the lower corner */
        cell[d] = (size_t)(u * (double)sites[d]);
      }
      site = (cell[0] * sites[1] + cell[1]) * sites[2] + cell[2];
    } while (taken[site]);
    taken[site] = 1;
    for (int d = 0; d < 3; d++) {
      const double step = box[d] / (double)sites[d];
      s->x[i][d] = step * ((double)cell[d] + 0.5 + 0.3 * (random_next(&seed) - 0.5));
      s->x[i][d] += box[d] * (floor(3 * random_next(&seed)) - 1); /* not wrapped */
    }
    s->type[i] = (int)(random_next(&seed) * TYPES);
    s->charge[i] = 2 * random_next(&seed) - 1;
    s->exclusion_start[i + 1] = s->exclusion_start[i];
    for (int step = -2; step <= 2; step++) {
      const long j = (long)i + step;
      if (step == 0 || j < 0 || j >= (long)n || (i + (size_t)j) % 3 == 0) continue;
      s->exclusion[s->exclusion_start[i + 1]++] = (int)j;
    }
  }
  free(taken);
}

static inline tg_nonbonded_atoms system_atoms(const test_system* s, const double (*x)[3]) {
  tg_nonbonded_atoms atoms = {.home_count = s->n,
                              .local_count = s->n,
                              .x = x,
                              .type = s->type,
                              .charge = s->charge,
                              .global = s->global,
                              .exclusion_start = s->exclusion_start,
                              .exclusion = s->exclusion};
  memcpy(atoms.box, s->box, sizeof atoms.box);
  memcpy(atoms.periodic, s->periodic, sizeof atoms.periodic);
  return atoms;
}

static inline tg_nonbonded_params system_params(const test_system* s, const char* backend,
                                                bool mixed, int threads) {
  const double rc = s->cutoff;
  return (tg_nonbonded_params){.cutoff = rc,
                               .rf_k = 1 / (2 * rc * rc * rc),
                               .rf_c = 1.5 / rc,
                               .coulomb_scale = 138.935457644,
                               .lj_shift = true,
                               .coulomb_shift = true,
                               .type_count = TYPES,
                               .c6 = s->c6,
                               .c12 = s->c12,
                               .backend = backend,
                               .mixed = mixed,
                               .threads = threads};
}

/** Bounds for the error of the force on each atom: `size` the sum of the absolute terms, `slope`
 * the sum of |d term / d r|; and of the absolute energies. All pairs, nearest image, nothing
 * shared. */
typedef struct test_bounds {
  double* size;
  double* slope;
  double energy, energy_slope;
} test_bounds;

static inline void bounds_compute(const test_system* s, test_bounds* b) {
  b->size = calloc(s->n + 1, sizeof(double));
  b->slope = calloc(s->n + 1, sizeof(double));
  b->energy = b->energy_slope = 0;
  const double rc = s->cutoff, k2 = 1 / (rc * rc * rc), f = 138.935457644;
  for (size_t i = 0; i < s->n; i++) {
    for (size_t j = i + 1; j < s->n; j++) {
      double r2 = 0;
      for (int d = 0; d < 3; d++) {
        double dx = s->x[i][d] - s->x[j][d];
        if (s->periodic[d]) dx -= s->box[d] * rint(dx / s->box[d]);
        r2 += dx * dx;
      }
      if (r2 >= rc * rc * 1.0001) continue;
      bool excluded = false;
      for (int e = s->exclusion_start[i]; e < s->exclusion_start[i + 1]; e++) {
        excluded = excluded || (size_t)s->exclusion[e] == j;
      }
      if (excluded) continue;
      const double r = sqrt(r2), c6 = s->c6[s->type[i] * TYPES + s->type[j]];
      const double c12 = s->c12[s->type[i] * TYPES + s->type[j]];
      const double qq = f * fabs(s->charge[i] * s->charge[j]);
      const double e12 = c12 / pow(r, 12), e6 = c6 / pow(r, 6), e1 = qq / r;
      const double size = (12 * e12 + 6 * e6 + e1) / r + qq * k2 * r;
      const double slope = (156 * e12 + 42 * e6 + 2 * e1) / r2 + qq * k2;
      b->size[i] += size;
      b->size[j] += size;
      b->slope[i] += slope + 2 * size / r; /* direction too */
      b->slope[j] += slope + 2 * size / r;
      b->energy += e12 + e6 + e1 + 2 * qq / rc;
      b->energy_slope += size;
    }
  }
}

static inline void bounds_free(test_bounds* b) {
  free(b->size);
  free(b->slope);
}

#endif
