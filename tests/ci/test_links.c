/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of one species: rows in order, each connection with its own number. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "ci/jumps.h"
#include "ci/links.h"
#include "ci/shells.h"

typedef struct setup {
  tg_ci_hamiltonian* h;
  tg_ci_space* space;
} setup;

static setup make(size_t (*shell)(tg_ci_orbital*), int particles, int weight_most) {
  setup s = {0};
  tg_ci_orbital o[256];
  const size_t n = shell(o);
  assert_int_equal(tg_ci_hamiltonian_create(n, o, n, o, &s.h), TG_OK);
  assert_int_equal(shell_fill(s.h, 5), TG_OK);
  tg_ci_space_params params = space_of(particles, particles, 0);
  if (weight_most >= 0) {
    params.weight_most = weight_most;
    params.symmetry = 0;
  }
  assert_int_equal(tg_ci_space_make(s.h, &params, &s.space), TG_OK);
  return s;
}

static void unmake(setup* s) {
  tg_ci_space_free(s->space);
  tg_ci_hamiltonian_free(s->h);
}

static size_t shell_oscillator_5(tg_ci_orbital* o) { return shell_oscillator(o, 5); }

/* The link of a target from a class, in a channel. */
static const tg_ci_link* link_of(const tg_ci_target* t, uint32_t channel, uint32_t source) {
  for (size_t l = 0; l < t->link_count; l++)
    if (t->links[l].channel == channel && t->links[l].source == source) return &t->links[l];
  fail_msg("no link from class %u", source);
  return NULL;
}

static size_t find(const tg_ci_target* t, const tg_ci_link* link, uint32_t row, uint32_t from) {
  for (size_t e = t->begin[link->rows + row]; e < t->begin[link->rows + row + 1]; e++)
    if (t->from[e] == from) return e;
  fail_msg("%u is connected to %u, but not the other way round", from, row);
  return SIZE_MAX;
}

/* Orbitals of string number that the other lacks. */
static int differ(const tg_ci_strings* s, size_t number, size_t other) {
  const uint16_t *list = tg_ci_string(s, number), *there = tg_ci_string(s, other);
  int count = s->particles;
  for (int k = 0; k < s->particles; k++)
    for (int l = 0; l < s->particles; l++) count -= list[k] == there[l];
  return count;
}

/* Rows rise, and the matrix is symmetric to the last bit: an element that had lost its place would
 * not equal the one across the diagonal, as all are random. Returns the longest row. */
static size_t check_alone(const setup* s) {
  const tg_ci_strings* strings = &s->space->strings[0];
  size_t longest = 0;
  tg_ci_alone a;
  assert_int_equal(tg_ci_alone_make(s->h, s->space, 0, 2, &a), TG_OK);
  for (uint32_t c = 0; c < a.class_count; c++) {
    const tg_ci_target* t = &a.targets[c];
    for (size_t l = 0; l < t->link_count; l++) {
      const tg_ci_link* link = &t->links[l];
      const tg_ci_class* source = &strings->classes[link->source];
      const tg_ci_target* across = &a.targets[link->source];
      const tg_ci_link* back = link_of(across, 0, c);
      for (uint32_t r = 0; r < strings->classes[c].count; r++) {
        const uint32_t* begin = t->begin + link->rows + r;
        if (begin[1] - begin[0] > longest) longest = begin[1] - begin[0];
        for (size_t e = begin[0]; e < begin[1]; e++) {
          assert_true(e == begin[0] || t->from[e] > t->from[e - 1]);
          if (e % 7) continue; /* the search for the other one takes long */
          const double value = across->value[find(across, back, t->from[e], r)];
          assert_memory_equal(&t->value[e], &value, sizeof value);
          const int moved =
              differ(strings, strings->classes[c].begin + r, source->begin + t->from[e]);
          assert_in_range(moved, 1, 2);
        }
      }
    }
  }
  tg_ci_alone_free(&a);
  return longest;
}

/* A row's jumps from one string are told apart by their operators; a string is reached once. */
static void check_jumps(const setup* s) {
  const tg_ci_strings* strings = &s->space->strings[1];
  tg_ci_jumps j;
  assert_int_equal(tg_ci_jumps_make(s->h, s->space, 1, 2, &j), TG_OK);
  for (size_t c = 0; c < j.class_count; c++) {
    const tg_ci_target* t = &j.targets[c];
    for (size_t l = 0; l < t->link_count; l++) {
      const tg_ci_link* link = &t->links[l];
      for (uint32_t r = 0; r < strings->classes[c].count; r++)
        for (size_t e = t->begin[link->rows + r]; e < t->begin[link->rows + r + 1]; e++) {
          assert_true(e == t->begin[link->rows + r] || t->from[e] > t->from[e - 1]);
          const uint32_t* op = j.operators + j.channel_begin[link->channel] + t->code[e] / 2;
          const size_t n = strings->orbitals, here = strings->classes[c].begin + r,
                       there = strings->classes[link->source].begin + t->from[e];
          assert_int_equal(differ(strings, here, there), 1);
          /* it got the one and lost the other */
          int got = 0, lost = 0;
          for (int k = 0; k < strings->particles; k++) {
            got += tg_ci_string(strings, here)[k] == *op / n;
            lost += tg_ci_string(strings, there)[k] == *op % n;
          }
          assert_int_equal(got + lost, 2);
        }
    }
  }
  tg_ci_jumps_free(&j);
}

static void rows_of_some_hundred(void** state) {
  (void)state;
  setup s = make(shell_pf, 5, -1);
  /* sorted by more than one digit of eight bits, and by digits at all */
  assert_true(check_alone(&s) > 100);
  check_jumps(&s);
  unmake(&s);
}

/* 112 orbitals: more than a word's bits; and weights, so that strings of other classes count. */
static void many_orbitals_with_weights(void** state) {
  (void)state;
  setup s = make(shell_oscillator_5, 3, 6);
  assert_true(s.space->strings[0].orbitals > 64);
  assert_true(check_alone(&s) > 30);
  check_jumps(&s);
  unmake(&s);
}

static void largest_class_first(void** state) {
  (void)state;
  setup s = make(shell_sd, 4, -1);
  const tg_ci_strings* strings = &s.space->strings[0];
  size_t* order = NULL;
  assert_int_equal(tg_ci_classes_by_size(strings, &order), TG_OK);
  uint64_t seen = 0;
  assert_true(strings->class_count <= 64);
  for (size_t k = 0; k < strings->class_count; k++) {
    seen |= UINT64_C(1) << order[k];
    if (k > 0)
      assert_true(strings->classes[order[k]].count <= strings->classes[order[k - 1]].count);
  }
  assert_int_equal(seen, (UINT64_C(1) << strings->class_count) - 1);
  tg_free(order);
  unmake(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_some_hundred),
      cmocka_unit_test(many_orbitals_with_weights),
      cmocka_unit_test(largest_class_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
