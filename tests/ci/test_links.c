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
#include "ci/mirror.h"
#include "ci/product_fly.h"
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

static void same_targets(const tg_ci_target* a, const tg_ci_target* b, size_t rows) {
  size_t entries = 0, operators = 0;
  assert_int_equal(a->link_count, b->link_count);
  if (!a->link_count) return;
  assert_memory_equal(a->links, b->links, a->link_count * sizeof *a->links);
  for (size_t l = 0; l < a->link_count; l++) {
    entries += a->links[l].count;
    operators += a->links[l].operator_count + 1;
  }
  assert_memory_equal(a->begin, b->begin, a->link_count * (rows + 1) * sizeof *a->begin);
  assert_memory_equal(a->from, b->from, entries * sizeof *a->from);
  if (a->value) assert_memory_equal(a->value, b->value, entries * sizeof *a->value);
  if (!a->code) return;
  assert_memory_equal(a->code, b->code, entries * sizeof *a->code);
  assert_memory_equal(a->op, b->op, operators * sizeof *a->op);
  assert_memory_equal(a->op_begin, b->op_begin, operators * sizeof *a->op_begin);
  assert_memory_equal(a->op_of, b->op_of, entries * sizeof *a->op_of);
  assert_memory_equal(a->op_to, b->op_to, entries * sizeof *a->op_to);
  assert_memory_equal(a->op_from, b->op_from, entries * sizeof *a->op_from);
}

/* Whichever thread takes which class of which table. */
static void threads_make_the_same(void** state) {
  (void)state;
  setup s = make(shell_sd, 4, -1);
  tg_ci_fly one, some;
  assert_int_equal(tg_ci_fly_tables(s.h, s.space, 1, false, &one), TG_OK);
  assert_int_equal(tg_ci_fly_tables(s.h, s.space, 5, false, &some), TG_OK);
  assert_int_equal(one.bytes, some.bytes);
  assert_int_equal(one.pairs, some.pairs);
  for (int t = 0; t < 2; t++) {
    const tg_ci_strings* strings = &s.space->strings[t];
    const tg_ci_jumps *a = &one.jumps[t], *b = &some.jumps[t];
    assert_true(strings->class_count > 5);
    assert_int_equal(a->count, b->count);
    assert_int_equal(one.alone[t].count, some.alone[t].count);
    assert_memory_equal(a->channel_begin, b->channel_begin,
                        (a->channel_count + 1) * sizeof *a->channel_begin);
    assert_memory_equal(a->operators, b->operators,
                        a->channel_begin[a->channel_count] * sizeof *a->operators);
    assert_memory_equal(one.alone[t].diagonal, some.alone[t].diagonal,
                        strings->count * sizeof *one.alone[t].diagonal);
    for (size_t c = 0; c < strings->class_count; c++) {
      const size_t rows = (size_t)strings->classes[c].count;
      same_targets(&a->targets[c], &b->targets[c], rows);
      same_targets(&one.alone[t].targets[c], &some.alone[t].targets[c], rows);
    }
  }
  tg_ci_fly_free(&one);
  tg_ci_fly_free(&some);
  unmake(&s);
}

/* B's elements become A's. */
static void make_equal(tg_ci_hamiltonian* h) {
  const int n = (int)tg_ci_hamiltonian_orbitals(h, 0, NULL);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      assert_int_equal(tg_ci_hamiltonian_set_one(h, 1, i, j, tg_ci_hamiltonian_one(h, 0, i, j)),
                       TG_OK);
      for (int k = 0; k < n; k++)
        for (int l = 0; l < n; l++)
          assert_int_equal(
              tg_ci_hamiltonian_set_two(h, 1, i, j, k, l, tg_ci_hamiltonian_two(h, 0, i, j, k, l)),
              TG_OK);
    }
}

/* What is taken over from A is what B's own search finds. */
static void check_mirror(setup s, bool same) {
  tg_ci_fly f;
  tg_ci_jumps j;
  tg_ci_alone a;
  const tg_ci_strings* strings = &s.space->strings[1];
  assert_true(tg_ci_mirror_strings(s.h, s.space));
  assert_int_equal(tg_ci_hamiltonian_same_species(s.h), same);
  assert_int_equal(tg_ci_fly_tables(s.h, s.space, 2, false, &f), TG_OK);
  assert_int_equal(tg_ci_jumps_make(s.h, s.space, 1, 2, &j), TG_OK);
  assert_int_equal(tg_ci_alone_make(s.h, s.space, 1, 2, &a), TG_OK);
  assert_int_equal(f.jumps[1].count, j.count);
  assert_int_equal(f.jumps[1].bytes, j.bytes);
  assert_int_equal(f.alone[1].count, a.count);
  assert_int_equal(f.alone[1].bytes, a.bytes);
  assert_memory_equal(f.jumps[1].channel_begin, j.channel_begin,
                      (j.channel_count + 1) * sizeof *j.channel_begin);
  assert_memory_equal(f.jumps[1].operators, j.operators,
                      j.channel_begin[j.channel_count] * sizeof *j.operators);
  assert_memory_equal(f.alone[1].diagonal, a.diagonal, strings->count * sizeof *a.diagonal);
  for (size_t c = 0; c < strings->class_count; c++) {
    same_targets(&f.jumps[1].targets[c], &j.targets[c], (size_t)strings->classes[c].count);
    same_targets(&f.alone[1].targets[c], &a.targets[c], (size_t)strings->classes[c].count);
  }
  tg_ci_alone_free(&a);
  tg_ci_jumps_free(&j);
  tg_ci_fly_free(&f);
}

static size_t shell_oscillator_2(tg_ci_orbital* o) { return shell_oscillator(o, 2); }

static void second_species_as_the_first(void** state) {
  (void)state;
  setup s = make(shell_oscillator_2, 3, 4); /* both parities, and weights */
  assert_true(s.space->strings[0].heaviest > 0);
  check_mirror(s, false);
  make_equal(s.h);
  check_mirror(s, true);
  unmake(&s);
  s = make(shell_sd, 4, -1);
  make_equal(s.h);
  check_mirror(s, true);
  unmake(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_some_hundred),
      cmocka_unit_test(many_orbitals_with_weights),
      cmocka_unit_test(threads_make_the_same),
      cmocka_unit_test(second_species_as_the_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
