/* SPDX-License-Identifier: Apache-2.0 */
/* Bonded forces against -dE/dx, laws of mechanics, and values worked out by hand. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "md/bonded.h"
#include "md/support.h"

enum { MAX_ATOMS = 640 };

/* One list of one kind, and its surroundings. */
typedef struct bench {
  tg_bonded bonded;
  tg_bonded_environment environment;
  double charge[MAX_ATOMS], x[MAX_ATOMS][3], f[MAX_ATOMS][3], reference[MAX_ATOMS][3];
  size_t atoms;
  tg_energies energies;
} bench;

typedef struct sample {
  tg_interaction_kind kind;
  int atoms;
  double parameters[6];
  int isolated; /* feels no outside: net force and torque vanish */
} sample;

static const sample samples[] = {
    {TG_BOND, 2, {0.15, 2e5}, 1},
    {TG_ANGLE, 3, {109.5, 400}, 1},
    {TG_ANGLE, 3, {180, 300}, 1},
    {TG_DIHEDRAL_PROPER, 4, {30, 5, 3}, 1},
    {TG_DIHEDRAL_PROPER, 4, {180, -4, 2}, 1},
    {TG_DIHEDRAL_RYCKAERT, 4, {9.28, 12.16, -13.12, -3.06, 26.24, -31.5}, 1},
    {TG_DIHEDRAL_IMPROPER, 4, {35.26, 200}, 1},
    {TG_DIHEDRAL_IMPROPER, 4, {180, 170}, 1},
    {TG_DIHEDRAL_IMPROPER_PERIODIC, 4, {180, 4.6, 2}, 1},
    {TG_PAIR_14, 2, {2e-3, 3e-6}, 1},
    {TG_POSITION_RESTRAINT, 1, {1000, 800, 500}, 0},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static void setup(bench* b, double box) {
  memset(b, 0, sizeof *b);
  b->environment = (tg_bonded_environment){.box = {box, box * 1.1, box * 1.2},
                                           .cutoff = 0.9,
                                           .rf_k = 1 / (2 * 0.9 * 0.9 * 0.9),
                                           .rf_c = 1.5 / 0.9,
                                           .coulomb_scale = TG_COULOMB,
                                           .fudge_qq = 0.8333,
                                           .pair_scale = TG_COULOMB,
                                           .charge = b->charge,
                                           .restraint_x = (const double(*)[3])b->reference,
                                           .threads = 1};
}

static void add(bench* b, tg_interaction_kind kind, int width, const int* atoms,
                const double* parameters) {
  tg_bonded_list* list = &b->bonded.lists[kind];
  size_t n = list->count++, room = (n + 1) * (size_t)width;
  assert_int_equal(TG_RESERVE(room, "test", &list->atoms, &list->atoms_capacity), TG_OK);
  assert_int_equal(TG_RESERVE(n + 1, "test", &list->parameters, &list->parameters_capacity), TG_OK);
  memcpy(list->atoms + n * (size_t)width, atoms, (size_t)width * sizeof *atoms);
  list->parameters[n] = parameters;
}

static void add_excluded(bench* b, int i, int j) {
  size_t n = b->bonded.excluded_count++;
  assert_int_equal(TG_RESERVE(2 * n + 2, "test", &b->bonded.excluded, &b->bonded.excluded_capacity),
                   TG_OK);
  b->bonded.excluded[2 * n] = i;
  b->bonded.excluded[2 * n + 1] = j;
}

static double compute(bench* b) {
  double energy = 0;
  memset(b->f, 0, sizeof b->f);
  memset(&b->energies, 0, sizeof b->energies);
  assert_int_equal(tg_bonded_compute(&b->bonded, &b->environment, b->atoms,
                                     (const double(*)[3])b->x, b->f, 1, &b->energies),
                   TG_OK);
  for (int t = 0; t < TG_E_POTENTIAL_TERMS; t++) energy += b->energies.term[t];
  return energy;
}

/* A random chain with steps of 0.1 to 0.2 nm that crosses the edges of the box. */
static void place(bench* b, uint64_t* seed, size_t atoms) {
  b->atoms = atoms;
  for (size_t i = 0; i < atoms; i++) {
    b->charge[i] = random_between(seed, -1, 1);
    for (int d = 0; d < 3; d++) {
      double step = random_between(seed, 0.06, 0.12) * (random_between(seed, -1, 1) < 0 ? -1 : 1);
      b->x[i][d] = i ? b->x[i - 1][d] + step : random_between(seed, -0.1, 0.1);
      b->reference[i][d] = b->x[i][d] + random_between(seed, -0.05, 0.05);
    }
  }
  for (size_t i = 0; i < atoms; i++) /* other images: only the nearest counts */
    for (int d = 0; d < 3; d++)
      if (b->x[i][d] < 0) b->x[i][d] += b->environment.box[d];
}

/* Derivative by a central difference over four points. With h = 2e-5 nm and a dihedral's shortest
 * length, 0.1 nm times the sine of an angle that may be 0.1, the error (n h / l)^4 / 30 of a
 * multiplicity n = 3 is below 1e-6 of the force; rounding adds 3/2 epsilon E/h, at most 1e-10 E
 * with E up to ten times the sum (cancelling terms). */
static double slope(bench* b, double* coordinate) {
  const double h = 2e-5, start = *coordinate;
  double value[4];
  static const double at[4] = {-2, -1, 1, 2};
  for (int k = 0; k < 4; k++) {
    *coordinate = start + at[k] * h;
    value[k] = compute(b);
  }
  *coordinate = start;
  return (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * h);
}

static double largest_force(const bench* b) {
  double largest = 1;
  for (size_t i = 0; i < b->atoms; i++)
    for (int d = 0; d < 3; d++) largest = fmax(largest, fabs(b->f[i][d]));
  return largest;
}

static void check_gradient(bench* b) {
  double f[MAX_ATOMS][3], energy = compute(b), scale = largest_force(b);
  memcpy(f, b->f, sizeof f);
  double tolerance = 2e-6 * scale + 1e-10 * fabs(energy);
  for (size_t i = 0; i < b->atoms; i++)
    for (int d = 0; d < 3; d++) assert_near(f[i][d], -slope(b, &b->x[i][d]), tolerance);
}

static void fill(bench* b, uint64_t* seed, const sample* s) {
  static const int atoms[4] = {0, 1, 2, 3};
  setup(b, 2.0);
  place(b, seed, (size_t)s->atoms);
  add(b, s->kind, s->atoms, atoms, s->parameters);
}

static void forces_are_gradients(void** state) {
  (void)state;
  static bench b;
  uint64_t seed = 1;
  for (int k = 0; k < SAMPLES; k++)
    for (int trial = 0; trial < 20; trial++) {
      fill(&b, &seed, &samples[k]);
      check_gradient(&b);
      tg_bonded_free(&b.bonded);
    }
  for (int trial = 0; trial < 20; trial++) {
    setup(&b, 2.0);
    place(&b, &seed, 2);
    add_excluded(&b, 0, 1);
    check_gradient(&b);
    tg_bonded_free(&b.bonded);
  }
}

/* Sum of forces, and of (r - r_0) x f with r the nearest image. */
static void forces_balance(void** state) {
  (void)state;
  static bench b;
  uint64_t seed = 2;
  for (int k = 0; k < SAMPLES; k++) {
    if (!samples[k].isolated) continue;
    for (int trial = 0; trial < 20; trial++) {
      fill(&b, &seed, &samples[k]);
      compute(&b);
      double tolerance = 64 * 2.3e-16 * largest_force(&b) * (1 + b.environment.box[2]);
      double force[3] = {0}, torque[3] = {0};
      for (size_t i = 0; i < b.atoms; i++) {
        double r[3];
        for (int d = 0; d < 3; d++) {
          r[d] = b.x[i][d] - b.x[0][d];
          r[d] -= b.environment.box[d] * round(r[d] / b.environment.box[d]);
          force[d] += b.f[i][d];
        }
        for (int d = 0; d < 3; d++) {
          int e = (d + 1) % 3, g = (d + 2) % 3;
          torque[d] += r[e] * b.f[i][g] - r[g] * b.f[i][e];
        }
      }
      for (int d = 0; d < 3; d++) {
        assert_near(force[d], 0, tolerance);
        assert_near(torque[d], 0, tolerance);
      }
      tg_bonded_free(&b.bonded);
    }
  }
}

/* The strain derivative: x_d -> x_d (1 + e) with the box, dE/de = 2 virial_dd (virial = -1/2 sum x
 * F). The reference positions of restraints stay. */
static void virial_is_strain_derivative(void** state) {
  (void)state;
  static bench b, moved;
  uint64_t seed = 3;
  static const double at[4] = {-2, -1, 1, 2};
  const double h = 1e-4;
  for (int k = 0; k <= SAMPLES; k++)
    for (int trial = 0; trial < 10; trial++) {
      if (k < SAMPLES) {
        fill(&b, &seed, &samples[k]);
      } else {
        setup(&b, 2.0);
        place(&b, &seed, 2);
        add_excluded(&b, 0, 1);
      }
      double energy = compute(&b), scale = largest_force(&b);
      for (int d = 0; d < 3; d++) {
        double value[4];
        for (int p = 0; p < 4; p++) {
          moved = b;
          moved.environment.charge = moved.charge;
          moved.environment.restraint_x = (const double(*)[3])moved.reference;
          moved.environment.box[d] *= 1 + at[p] * h;
          for (size_t i = 0; i < b.atoms; i++) moved.x[i][d] *= 1 + at[p] * h;
          /* A restrained atom counts where its image nearest to the reference lies. */
          if (k < SAMPLES && samples[k].kind == TG_POSITION_RESTRAINT) {
            double raw = b.x[0][d] - b.reference[0][d], box = b.environment.box[d];
            moved.x[0][d] = (b.reference[0][d] + raw - box * round(raw / box)) * (1 + at[p] * h);
          }
          value[p] = compute(&moved);
        }
        double derivative = (8 * (value[2] - value[1]) - (value[3] - value[0])) / (12 * h);
        assert_near(2 * b.energies.virial[d][d], derivative, 2e-6 * scale + 1e-11 * fabs(energy));
        int e = (d + 1) % 3; /* no torque: a symmetric tensor */
        assert_near(b.energies.virial[d][e], b.energies.virial[e][d], 1e-13 * scale);
      }
      tg_bonded_free(&b.bonded);
    }
}

static double single(const sample* s, const double (*x)[3], bench* b) {
  static const int atoms[4] = {0, 1, 2, 3};
  setup(b, 3.0);
  b->atoms = (size_t)s->atoms;
  memcpy(b->x, x, b->atoms * sizeof *b->x);
  add(b, s->kind, s->atoms, atoms, s->parameters);
  b->charge[0] = 0.5;
  b->charge[1] = -0.4;
  double energy = compute(b);
  tg_bonded_free(&b->bonded);
  return energy;
}

static void known_values(void** state) {
  (void)state;
  static bench b;
  const double right[4][3] = {{0.1, 0, 0}, {0, 0, 0}, {0, 0, 0.1}, {0, 0.1, 0.1}};
  sample bond = {TG_BOND, 2, {0.12, 1e5}, 1}; /* 1/2 1e5 0.02^2 = 20, pushed apart by 2000 */
  assert_near(single(&bond, right, &b), 20, 1e-10);
  assert_near(b.f[0][0], 2000, 1e-8);
  sample angle = {TG_ANGLE, 3, {60, 400}, 1};
  double bend = TG_PI / 6;
  assert_near(single(&angle, right, &b), 200 * bend * bend, 1e-10);
  /* From i along x to l along y, seen along the axis j -> k = z: a turn by +90 degrees (clockwise
   * looking from j to k is positive in the IUPAC sense). */
  sample proper = {TG_DIHEDRAL_PROPER, 4, {90, 5, 1}, 1};
  assert_near(single(&proper, right, &b), 10, 1e-10); /* 5 (1 + cos(90 - 90)) */
  sample improper = {TG_DIHEDRAL_IMPROPER, 4, {90, 100}, 1};
  assert_near(single(&improper, right, &b), 0, 1e-10);
  const double trans[4][3] = {{0.1, 0, 0}, {0, 0, 0}, {0, 0, 0.1}, {-0.1, 0, 0.1}};
  sample ryckaert = {TG_DIHEDRAL_RYCKAERT, 4, {1, 2, 4, 8, 16, 32}, 1};
  assert_near(single(&ryckaert, trans, &b), 63, 1e-10); /* psi = 0 */
  const double cis[4][3] = {{0.1, 0, 0}, {0, 0, 0}, {0, 0, 0.1}, {0.1, 0, 0.1}};
  assert_near(single(&ryckaert, cis, &b), 1 - 2 + 4 - 8 + 16 - 32, 1e-10);
  sample pair = {TG_PAIR_14, 2, {1e-6, 2e-12}, 1}; /* r = 0.1: C6/r^6 = 1, C12/r^12 = 2 */
  assert_near(single(&pair, right, &b), 1 + TG_COULOMB * 0.8333 * -0.2 / 0.1, 1e-9);
  assert_near(b.energies.term[TG_E_LJ_14], 1, 1e-12);
}

static void excluded_pairs_feel_the_field(void** state) {
  (void)state;
  static bench b;
  setup(&b, 3.0);
  b.atoms = 3;
  b.x[1][0] = 2.9;  /* 0.1 away through the edge */
  b.x[2][1] = 0.95; /* beyond the cut-off of both */
  b.charge[0] = b.charge[1] = b.charge[2] = 0.5;
  add_excluded(&b, 0, 1);
  add_excluded(&b, 0, 2);
  double k = b.environment.rf_k, c = b.environment.rf_c, qq = TG_COULOMB * 0.25;
  assert_near(compute(&b), qq * (k * 0.01 - c), 1e-12 * qq);
  assert_near(b.energies.term[TG_E_COULOMB], qq * (k * 0.01 - c), 1e-12 * qq);
  assert_near(b.f[0][0], -2 * k * qq * 0.1, 1e-12 * qq);
  assert_true(b.f[2][1] == 0);
  tg_bonded_free(&b.bonded);
}

static void degenerate_geometry_is_finite(void** state) {
  (void)state;
  static bench b;
  const double line[4][3] = {{0, 0, 0}, {0.1, 0.1, 0.1}, {0.2, 0.2, 0.2}, {0.3, 0.3, 0.3}};
  const double folded[4][3] = {{0, 0, 0}, {0.1, 0.1, 0.1}, {0, 0, 0}, {0.1, 0.1, 0.1}};
  const double point[4][3] = {{0.1, 0, 0}, {0.1, 0, 0}, {0.1, 0, 0}, {0.1, 0, 0}};
  for (int k = 0; k < SAMPLES; k++) {
    const double(*shapes[])[3] = {line, folded, point};
    for (int s = 0; s < (samples[k].kind == TG_PAIR_14 ? 2 : 3); s++) {
      assert_true(isfinite(single(&samples[k], shapes[s], &b)));
      for (size_t i = 0; i < b.atoms; i++)
        for (int d = 0; d < 3; d++) assert_true(isfinite(b.f[i][d]));
    }
  }
}

/* All kinds over many atoms: threads agree with the serial sum up to its rounding, and each thread
 * count with itself bit for bit. */
static void threads_agree(void** state) {
  (void)state;
  static bench b, again;
  uint64_t seed = 5;
  setup(&b, 2.0);
  place(&b, &seed, MAX_ATOMS);
  for (int k = 0; k < SAMPLES; k++)
    for (int i = 0; i + 4 <= MAX_ATOMS; i += 1 + k) {
      int atoms[4] = {i, i + 1, i + 2, i + 3};
      add(&b, samples[k].kind, samples[k].atoms, atoms, samples[k].parameters);
    }
  for (int i = 0; i + 2 < MAX_ATOMS; i++) add_excluded(&b, i, i + 2);
  static double serial[MAX_ATOMS][3];
  double energy = compute(&b);
  memcpy(serial, b.f, sizeof serial);
  tg_energies energies = b.energies;
  double tolerance = 1e-13 * 64 * largest_force(&b);
  for (int threads = 2; threads <= 5; threads++) {
    b.environment.threads = threads;
    assert_near(compute(&b), energy, 1e-12 * fabs(energy));
    for (int i = 0; i < MAX_ATOMS; i++)
      for (int d = 0; d < 3; d++) assert_near(b.f[i][d], serial[i][d], tolerance);
    for (int d = 0; d < 9; d++)
      assert_near((&b.energies.virial[0][0])[d], (&energies.virial[0][0])[d], 1e-12 * fabs(energy));
    again = b;
    compute(&b);
    assert_memory_equal(again.f, b.f, sizeof b.f);
    assert_memory_equal(&again.energies, &b.energies, sizeof b.energies);
  }
  tg_bonded_free(&b.bonded);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forces_are_gradients),
      cmocka_unit_test(forces_balance),
      cmocka_unit_test(virial_is_strain_derivative),
      cmocka_unit_test(known_values),
      cmocka_unit_test(excluded_pairs_feel_the_field),
      cmocka_unit_test(degenerate_geometry_is_finite),
      cmocka_unit_test(threads_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
