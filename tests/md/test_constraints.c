/* SPDX-License-Identifier: Apache-2.0 */
/* SETTLE and LINCS: lengths, momentum, virial, velocities, and each against the other. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "md/constraints.h"
#include "md/support.h"

enum { MAX_ATOMS = 600, MAX_PAIRS = 600 };
static const double epsilon = 2.2e-16;
static const double dt = 0.002;

typedef struct bench {
  size_t atoms, pairs, waters;
  double mass[MAX_ATOMS], inverse_mass[MAX_ATOMS];
  double old[MAX_ATOMS][3], new[MAX_ATOMS][3], v[MAX_ATOMS][3];
  int pair[MAX_PAIRS][2], water[MAX_ATOMS][3];
  double length[MAX_PAIRS], distance[MAX_ATOMS][2];
  tg_constraints* constraints;
} bench;

static const double oh = 0.1, hh = 0.16330; /* SPC */

static void add_atom(bench* b, double mass, double x, double y, double z) {
  size_t i = b->atoms++;
  b->mass[i] = mass;
  b->inverse_mass[i] = 1 / mass;
  b->old[i][0] = x, b->old[i][1] = y, b->old[i][2] = z;
}

static void add_pair(bench* b, int i, int j, double length) {
  b->pair[b->pairs][0] = i, b->pair[b->pairs][1] = j;
  b->length[b->pairs++] = length;
}

/* A water of exact shape at a random place and (by three shears' worth of rotation) in a random
 * direction. */
static void add_water(bench* b, uint64_t* seed) {
  double height = sqrt(oh * oh - hh * hh / 4), place[3];
  double local[3][3] = {{0, 0, 0}, {hh / 2, -height, 0}, {-hh / 2, -height, 0}};
  for (int d = 0; d < 3; d++) place[d] = random_between(seed, 0, 4);
  for (int axis = 0; axis < 3; axis++) {
    double angle = random_between(seed, 0, 6.28), c = cos(angle), s = sin(angle);
    int p = (axis + 1) % 3, q = (axis + 2) % 3;
    for (int k = 0; k < 3; k++) {
      double u = local[k][p], w = local[k][q];
      local[k][p] = c * u - s * w;
      local[k][q] = s * u + c * w;
    }
  }
  for (int k = 0; k < 3; k++)
    add_atom(b, k ? 1.008 : 15.9994, place[0] + local[k][0], place[1] + local[k][1],
             place[2] + local[k][2]);
}

static void set_water(bench* b, int first, int settle) {
  if (settle) {
    for (int k = 0; k < 3; k++) b->water[b->waters][k] = first + k;
    b->distance[b->waters][0] = oh, b->distance[b->waters++][1] = hh;
  } else {
    add_pair(b, first, first + 1, oh);
    add_pair(b, first, first + 2, oh);
    add_pair(b, first + 1, first + 2, hh);
  }
}

/* A zigzag chain of heavy atoms, each with two hydrogens; every bond a constraint. */
static void add_chain(bench* b, int carbons) {
  for (int c = 0; c < carbons; c++) {
    int first = (int)b->atoms;
    double x = 0.125 * c, y = (c % 2) * 0.087, out = c % 2 ? 0.063 : -0.063;
    add_atom(b, 12.011, x, y, 0);
    add_atom(b, 1.008, x, y + out, 0.089);
    add_atom(b, 1.008, x, y + out, -0.089);
    if (c) add_pair(b, first - 3, first, hypot(0.125, 0.087));
    add_pair(b, first, first + 1, hypot(0.063, 0.089));
    add_pair(b, first + 2, first, hypot(0.063, 0.089));
  }
}

static void start(bench* b, int order, int iterations, int threads) {
  tg_constraints_params params = {order, iterations, 30, threads};
  assert_int_equal(tg_constraints_create(&params, &b->constraints), TG_OK);
  assert_int_equal(
      tg_constraints_set(b->constraints, b->atoms, b->inverse_mass, b->pairs, b->pair, b->length,
                         b->waters, b->water, (const double(*)[2])b->distance),
      TG_OK);
}

static void disturb(bench* b, uint64_t* seed, double size) {
  for (size_t i = 0; i < b->atoms; i++)
    for (int d = 0; d < 3; d++) {
      b->new[i][d] = b->old[i][d] + random_between(seed, -size, size);
      b->v[i][d] = random_between(seed, -1, 1);
    }
}

#define CONST3(a) ((const double(*)[3])(a))

static double deviation(const bench* b) {
  double squares, largest;
  size_t count;
  tg_constraints_deviation(b->constraints, CONST3(b->new), &squares, &count, &largest);
  assert_int_equal(count, b->pairs + 3 * b->waters);
  assert_true(squares <= (double)count * largest * largest);
  return largest;
}

/* Applies, and checks what holds for every method: the virial by the definition, velocities,
 * momentum. */
static void apply_and_check(bench* b) {
  static double before[MAX_ATOMS][3], speed[MAX_ATOMS][3];
  double virial[3][3] = {{0}}, direct[3][3] = {{0}}, momentum[3] = {0}, torque[3] = {0},
         largest = 0;
  memcpy(before, b->new, sizeof before);
  memcpy(speed, b->v, sizeof speed);
  tg_constraints_failure failure;
  assert_int_equal(
      tg_constraints_apply(b->constraints, CONST3(b->old), b->new, b->v, 1 / dt, virial, &failure),
      TG_OK);
  assert_int_equal(failure.local_atom, -1);
  for (size_t i = 0; i < b->atoms; i++)
    for (int d = 0; d < 3; d++) {
      double shift = b->new[i][d] - before[i][d];
      assert_near(b->v[i][d] - speed[i][d], shift / dt, 32 * epsilon * 4 / dt);
      double force = shift * b->mass[i] / (dt * dt);
      largest = fmax(largest, fabs(force));
      momentum[d] += force;
      for (int e = 0; e < 3; e++) direct[e][d] -= 0.5 * b->old[i][e] * force;
    }
  for (size_t i = 0; i < b->atoms; i++)
    for (int d = 0; d < 3; d++) {
      int e = (d + 1) % 3, g = (d + 2) % 3;
      torque[d] += b->old[i][e] * b->mass[i] * (b->new[i][g] - before[i][g]) / (dt * dt) -
                   b->old[i][g] * b->mass[i] * (b->new[i][e] - before[i][e]) / (dt * dt);
    }
  /* Each direct force carries the rounding of positions of up to 4 nm, 16/dt^2 m epsilon. */
  double noise = 16 * epsilon * 4 * 16 / (dt * dt) * (double)b->atoms;
  for (int d = 0; d < 3; d++) {
    assert_near(momentum[d], 0, noise);
    assert_near(torque[d], 0, 4 * 2 * noise);
    for (int e = 0; e < 3; e++) assert_near(virial[d][e], direct[d][e], 4 * noise);
  }
}

/* Shape after one application: SETTLE is exact, up to the rounding of 4 nm coordinates. */
static void settle_keeps_the_shape(void** state) {
  (void)state;
  static bench b;
  uint64_t seed = 1;
  memset(&b, 0, sizeof b);
  for (int w = 0; w < 77; w++) { /* a short last strip */
    add_water(&b, &seed);
    set_water(&b, 3 * w, 1);
  }
  start(&b, 4, 1, 1);
  for (int trial = 0; trial < 20; trial++) {
    disturb(&b, &seed, 0.008);
    apply_and_check(&b);
    assert_true(deviation(&b) < 64 * epsilon * 4 / oh);
  }
  tg_constraints_destroy(&b.constraints);
}

/* Two independent methods meet in the same positions; LINCS converges, so the agreement is down to
 * rounding. */
static void settle_and_lincs_agree(void** state) {
  (void)state;
  static bench a, b;
  uint64_t seed = 2;
  memset(&a, 0, sizeof a);
  for (int w = 0; w < 20; w++) add_water(&a, &seed);
  b = a;
  for (int w = 0; w < 20; w++) {
    set_water(&a, 3 * w, 1);
    set_water(&b, 3 * w, 0);
  }
  start(&a, 4, 1, 1);
  start(&b, 64, 30, 1);
  disturb(&a, &seed, 0.005);
  memcpy(b.new, a.new, sizeof b.new);
  memcpy(b.v, a.v, sizeof b.v);
  apply_and_check(&a);
  apply_and_check(&b);
  for (size_t i = 0; i < a.atoms; i++)
    for (int d = 0; d < 3; d++) {
      assert_near(a.new[i][d], b.new[i][d], 100 * epsilon * 4);
      assert_near(a.v[i][d], b.v[i][d], 100 * epsilon * 4 / dt);
    }
  tg_constraints_project(a.constraints, CONST3(a.new), a.v);
  tg_constraints_project(b.constraints, CONST3(a.new), b.v);
  for (size_t i = 0; i < a.atoms; i++)
    for (int d = 0; d < 3; d++) assert_near(a.v[i][d], b.v[i][d], 1000 * epsilon * 4 / dt);
  tg_constraints_destroy(&a.constraints);
  tg_constraints_destroy(&b.constraints);
}

/* All bonds of a chain. More order and iterations bring the lengths closer, down to rounding. */
static void chain_converges(void** state) {
  (void)state;
  static bench b;
  static double disturbed[MAX_ATOMS][3];
  memset(&b, 0, sizeof b);
  add_chain(&b, 60);
  uint64_t seed = 3;
  disturb(&b, &seed, 0.004);
  memcpy(disturbed, b.new, sizeof disturbed);
  double last = 1;
  const int settings[][2] = {{2, 0}, {4, 1}, {8, 2}, {24, 20}};
  for (int k = 0; k < 4; k++) {
    start(&b, settings[k][0], settings[k][1], 1);
    memcpy(b.new, disturbed, sizeof disturbed);
    apply_and_check(&b);
    double now = deviation(&b);
    assert_true(now < last);
    last = now;
    tg_constraints_destroy(&b.constraints);
  }
  assert_true(last < 100 * epsilon * 7.5 / oh); /* coordinates up to 7.5 nm */
}

/* No relative velocity along any bond is left, momentum stays, and a second projection changes
 * nothing. */
static void projection_removes_bond_velocities(void** state) {
  (void)state;
  static bench b;
  static double once[MAX_ATOMS][3];
  uint64_t seed = 4;
  memset(&b, 0, sizeof b);
  add_chain(&b, 30);
  for (int w = 0; w < 40; w++) {
    int first = (int)b.atoms;
    add_water(&b, &seed);
    set_water(&b, first, 1);
  }
  start(&b, 24, 20, 2);
  disturb(&b, &seed, 0);
  double momentum[3] = {0};
  for (size_t i = 0; i < b.atoms; i++)
    for (int d = 0; d < 3; d++) momentum[d] += b.mass[i] * b.v[i][d];
  assert_int_equal(tg_constraints_project(b.constraints, CONST3(b.old), b.v), TG_OK);
  for (size_t n = 0; n < b.pairs + 3 * b.waters; n++) {
    static const int side[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    size_t w = n < b.pairs ? 0 : (n - b.pairs) / 3, k = n < b.pairs ? 0 : (n - b.pairs) % 3;
    int i = n < b.pairs ? b.pair[n][0] : b.water[w][side[k][0]];
    int j = n < b.pairs ? b.pair[n][1] : b.water[w][side[k][1]];
    double along = 0;
    for (int d = 0; d < 3; d++) along += (b.old[i][d] - b.old[j][d]) * (b.v[i][d] - b.v[j][d]);
    assert_near(along / oh, 0, 200 * epsilon * 4);
  }
  for (int d = 0; d < 3; d++) {
    for (size_t i = 0; i < b.atoms; i++) momentum[d] -= b.mass[i] * b.v[i][d];
    assert_near(momentum[d], 0, 16 * epsilon * 16 * (double)b.atoms);
  }
  memcpy(once, b.v, sizeof once);
  tg_constraints_project(b.constraints, CONST3(b.old), b.v);
  for (size_t i = 0; i < b.atoms; i++)
    for (int d = 0; d < 3; d++) assert_near(b.v[i][d], once[i][d], 200 * epsilon * 4);
  tg_constraints_destroy(&b.constraints);
}

/* Groups are independent: threads change the order of virial sums alone. */
static void threads_agree(void** state) {
  (void)state;
  static bench b;
  static double disturbed[MAX_ATOMS][3], serial[MAX_ATOMS][3];
  uint64_t seed = 5;
  memset(&b, 0, sizeof b);
  for (int k = 0; k < 10; k++) add_chain(&b, 10);
  for (int w = 0; w < 90; w++) {
    int first = (int)b.atoms;
    add_water(&b, &seed);
    set_water(&b, first, 1);
  }
  disturb(&b, &seed, 0.003);
  memcpy(disturbed, b.new, sizeof disturbed);
  for (int threads = 1; threads <= 3; threads++) {
    start(&b, 4, 1, threads);
    memcpy(b.new, disturbed, sizeof disturbed);
    apply_and_check(&b);
    if (threads == 1) memcpy(serial, b.new, sizeof serial);
    assert_memory_equal(serial, b.new, sizeof serial);
    tg_constraints_destroy(&b.constraints);
  }
}

static void failures_are_found(void** state) {
  (void)state;
  static bench b;
  uint64_t seed = 6;
  memset(&b, 0, sizeof b);
  add_chain(&b, 3);
  add_water(&b, &seed);
  set_water(&b, 9, 1);
  start(&b, 4, 1, 1);
  tg_constraints_failure failure = {7, 7};
  disturb(&b, &seed, 0);
  tg_status status =
      tg_constraints_apply(b.constraints, CONST3(b.old), b.new, NULL, 1 / dt, NULL, &failure);
  assert_int_equal(status, TG_OK);
  assert_int_equal(failure.local_atom, -1);

  /* H 4 swings about its carbon by some 35 degrees: beyond the warning at 30, no failure. */
  disturb(&b, &seed, 0);
  b.new[4][0] += 0.065;
  status = tg_constraints_apply(b.constraints, CONST3(b.old), b.new, NULL, 1 / dt, NULL, &failure);
  assert_int_equal(status, TG_OK);
  assert_int_equal(failure.local_atom, 3);
  assert_true(failure.angle > 30 && failure.angle < 60);

  for (int bad = 0; bad < 4; bad++) {
    disturb(&b, &seed, 0);
    if (bad == 0) b.new[5][1] = NAN;
    if (bad == 1) b.new[10][2] = INFINITY;
    if (bad == 2) b.new[4][2] -= 3; /* through the carbon and far out on the other side */
    if (bad == 3)
      for (int d = 0; d < 3; d++) b.new[9][d] += d == 1 ? 3 : -2; /* the oxygen torn away */
    if (bad == 3) b.new[10][0] += 5;
    status =
        tg_constraints_apply(b.constraints, CONST3(b.old), b.new, NULL, 1 / dt, NULL, &failure);
    assert_int_equal(status, TG_ERR_NUMERICS);
    assert_int_equal(failure.local_atom >= 9, bad % 2);
    assert_non_null(strstr(tg_last_error(), "local atom"));
  }
  tg_constraints_destroy(&b.constraints);
}

static void wrong_input_is_refused(void** state) {
  (void)state;
  static bench b;
  memset(&b, 0, sizeof b);
  tg_constraints_params none = {0, 1, 30, 1};
  assert_int_equal(tg_constraints_create(&none, &b.constraints), TG_ERR_INPUT);
  assert_null(b.constraints);
  add_chain(&b, 1);
  start(&b, 4, 1, 1);
  double zero[3] = {0, 0, 1};
  assert_int_equal(tg_constraints_set(b.constraints, 3, zero, 1, b.pair, b.length, 0, NULL, NULL),
                   TG_ERR_INPUT);
  const int water[1][3] = {{0, 1, 2}};
  const double flat[1][2] = {{0.1, 0.3}};
  assert_int_equal(
      tg_constraints_set(b.constraints, 3, b.inverse_mass, 0, NULL, NULL, 1, water, flat),
      TG_ERR_INPUT);
  tg_constraints_destroy(&b.constraints);
  tg_constraints_destroy(&b.constraints);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settle_keeps_the_shape),
      cmocka_unit_test(settle_and_lincs_agree),
      cmocka_unit_test(chain_converges),
      cmocka_unit_test(projection_removes_bond_velocities),
      cmocka_unit_test(threads_agree),
      cmocka_unit_test(failures_are_found),
      cmocka_unit_test(wrong_input_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
