/* SPDX-License-Identifier: Apache-2.0 */
/* What motif/tiles.h promises of a tiling; that counts with tiles are those without is tested with
 * the pairs (test_pairs.c). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "motif/tiles.h"

/* The particles of a state in a group of orbitals. */
static int held(const tg_states* states, size_t i, const tg_tiling* t, int group) {
  const uint32_t begin = group == 0 ? 0 : t->group_end[group - 1];
  int sum = 0;
  for (uint32_t k = 0; k < states->particles; k++) {
    const uint32_t orbital = states->orbital[k * states->stride + i];
    sum += orbital >= begin && orbital < t->group_end[group];
  }
  return sum;
}

/* Every state is in one tile, none is larger than asked for, the numbers of a tile's states rise,
 * and its ranges are what its states hold. */
static void check_tiling(const tg_states* states, const tg_tiling* t, size_t tile_size) {
  bool* seen = calloc(states->count + 1, sizeof *seen);
  assert_int_equal(t->start[0], 0);
  assert_int_equal(t->start[t->tile_count], states->count);
  for (uint32_t tile = 0; tile < t->tile_count; tile++) {
    assert_true(t->start[tile + 1] > t->start[tile]);
    assert_true(t->start[tile + 1] - t->start[tile] <= tile_size);
    for (uint32_t i = t->start[tile]; i < t->start[tile + 1]; i++) {
      assert_true(t->order[i] < states->count && !seen[t->order[i]]);
      seen[t->order[i]] = true;
      assert_true(i == t->start[tile] || t->order[i] > t->order[i - 1]);
    }
    for (int g = 0; g < t->group_count; g++) {
      int least = 256, most = -1;
      for (uint32_t i = t->start[tile]; i < t->start[tile + 1]; i++) {
        const int here = held(states, t->order[i], t, g);
        least = here < least ? here : least;
        most = here > most ? here : most;
      }
      assert_int_equal(t->least[tile * (size_t)t->group_count + (size_t)g], least);
      assert_int_equal(t->most[tile * (size_t)t->group_count + (size_t)g], most);
    }
  }
  free(seen);
}

static void tilings_hold_their_states(void** state) {
  (void)state;
  static const size_t counts[] = {0, 1, 5, 64, 1000}, sizes[] = {1, 7, 128};
  for (int c = 0; c < 5; c++)
    for (int s = 0; s < 3; s++)
      for (int groups = 1; groups <= TG_TILES_MOST_GROUPS; groups += 5) {
        const tg_states_params params = {counts[c], 8, 128, TG_STATES_SPREAD, 1};
        tg_states states;
        tg_tiling t;
        assert_int_equal(tg_states_random(&params, &states), TG_OK);
        assert_int_equal(tg_tiling_make(&states, groups, sizes[s], &t), TG_OK);
        if (counts[c] == 0)
          assert_int_equal(t.tile_count, 0);
        else
          check_tiling(&states, &t, sizes[s]);
        tg_tiling_free(&t);
        tg_states_free(&states);
      }
}

/* States of one distribution are cut anywhere. */
static void equal_states_are_cut(void** state) {
  (void)state;
  enum { COUNT = 1000 };
  static uint16_t lists[COUNT * 3];
  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < 3; k++) lists[3 * i + k] = (uint16_t)(7 * k + 2);
  tg_states states;
  tg_tiling t;
  assert_int_equal(tg_states_from_lists(COUNT, 3, 64, lists, &states), TG_OK);
  assert_int_equal(tg_tiling_make(&states, 4, 128, &t), TG_OK);
  assert_int_equal(t.tile_count, 8);
  check_tiling(&states, &t, 128);
  tg_tiling_free(&t);
  tg_states_free(&states);
}

/* The default tiles are of use where the documents say so: 30,000 states of 8 particles leave less
 * than half of the pairs at d = 2. */
static void most_pairs_are_skipped(void** state) {
  (void)state;
  const tg_states_params params = {30000, 8, 128, TG_STATES_SPREAD, 1};
  tg_states states;
  tg_tiling t;
  tg_spans two, one;
  assert_int_equal(tg_states_random(&params, &states), TG_OK);
  assert_int_equal(tg_tiling_make(&states, TG_TILES_GROUPS, TG_TILES_SIZE, &t), TG_OK);
  assert_int_equal(tg_spans_make(&t, &t, 2, &two), TG_OK);
  assert_int_equal(tg_spans_make(&t, &t, 1, &one), TG_OK);
  assert_true(two.pairs < 0.45 * 30000. * 30000);
  assert_true(one.pairs < 0.15 * 30000. * 30000);
  tg_spans_free(&one);
  tg_spans_free(&two);
  tg_tiling_free(&t);
  tg_states_free(&states);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  const tg_states_params params = {10, 4, 64, TG_STATES_SPREAD, 1};
  tg_states states;
  tg_tiling t;
  assert_int_equal(tg_states_random(&params, &states), TG_OK);
  assert_int_equal(tg_tiling_make(&states, 0, 128, &t), TG_ERR_INPUT);
  assert_int_equal(tg_tiling_make(&states, TG_TILES_MOST_GROUPS + 1, 128, &t), TG_ERR_INPUT);
  assert_int_equal(tg_tiling_make(&states, 4, 0, &t), TG_ERR_INPUT);
  tg_states_free(&states);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tilings_hold_their_states),
      cmocka_unit_test(equal_states_are_cut),
      cmocka_unit_test(most_pairs_are_skipped),
      cmocka_unit_test(mistakes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
