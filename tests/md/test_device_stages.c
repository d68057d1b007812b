/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges in stages (md/device_stages.h), done on the host as a GPU does them: every copy comes
 * exactly once, from a domain that has the atom by then; messages fill their places without gap;
 * where atoms stand evenly all corners are forwarded. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "md/device_stages.h"

enum { ATOMS = 400, DOMAINS = TG_STAGES_DOMAINS, ROOM = ATOMS * DOMAINS };

/* Slots of a domain: an atom's is its number, turned about so that domains differ. */
static uint32_t slot_of(uint32_t domain, uint32_t atom) { return (atom * 7 + domain * 13) % ATOMS; }
static uint32_t atom_in(uint32_t domain, uint32_t slot) {
  for (uint32_t i = 0; i < ATOMS; i++)
    if (slot_of(domain, i) == slot) return i;
  return ATOMS;
}

typedef struct scene {
  uint32_t grid[3], domains;
  uint32_t owner[ATOMS], holders[ATOMS];
  tg_stages_messages m;
  tg_stages_entry entry[DOMAINS][ROOM];
  bool used[DOMAINS][ROOM]; /* places of a receiver */
  /* by slot */
  uint32_t x[DOMAINS][ATOMS];
  int came[DOMAINS][ATOMS]; /* the stage; 3: has not; -1: at home */
} scene;

/* The kernels of md/cuda/stages.cu, one after the other. */
static void make_lists(scene* s) {
  memset(&s->m, 0, sizeof s->m);
  memset(s->used, 0, sizeof s->used);
  for (uint32_t i = 0; i < ATOMS; i++)
    for (uint32_t to = 0; to < s->domains; to++)
      if (s->holders[i] >> to & 1)
        s->m.count[tg_stages_sender(s->grid, s->owner[i], s->holders[i], to)][to]++;
  for (uint32_t d = 0; d < s->domains; d++) tg_stages_place(s->grid, d, &s->m);
  for (uint32_t from = 0; from < s->domains; from++)
    for (uint32_t slot = 0; slot < ATOMS; slot++) {
      const uint32_t i = atom_in(from, slot);
      if (s->owner[i] != from && !(s->holders[i] >> from & 1)) continue;
      for (uint32_t to = 0; to < s->domains; to++) {
        if (!(s->holders[i] >> to & 1)) continue;
        if (tg_stages_sender(s->grid, s->owner[i], s->holders[i], to) != from) continue;
        const uint32_t at = s->m.entry[from][to] + s->m.filled[from][to]++;
        assert_true(at < ROOM);
        s->entry[from][at] =
            tg_stages_entry_of(s->grid, s->owner[i], s->holders[i], from, slot, to, slot_of(to, i));
      }
    }
}

/* An entry of a stage: the message's place is its own, the atom is there, and came as it says. */
static void send(scene* s, uint32_t from, uint32_t at, int stage) {
  const tg_stages_entry e = s->entry[from][at];
  const uint32_t to = tg_stages_domain(e), slot = tg_stages_slot(e), own = tg_stages_own_slot(e);
  assert_true(to < s->domains && to != from && slot < ATOMS && own < ATOMS);
  assert_int_equal(tg_stages_between(s->grid, from, to), stage);
  assert_true(at >= s->m.entry[from][to] && at < s->m.entry[from][to] + s->m.count[from][to]);
  const uint32_t place = s->m.place[from][to] + at - s->m.entry[from][to];
  assert_true(place >= s->m.place_stage[to][stage] && place < s->m.place_stage[to][stage + 1]);
  assert_false(s->used[to][place]);
  s->used[to][place] = true;
  assert_true(s->came[from][own] < stage); /* it was there before the stage began */
  assert_int_equal(tg_stages_brought(e), (uint32_t)(s->came[from][own] + 1));
  if (tg_stages_brought(e) != TG_STAGES_HOME) {
    const uint32_t bringer = tg_stages_bringer(e);
    assert_int_equal(tg_stages_between(s->grid, bringer, from), s->came[from][own]);
    /* whom a fused exchange waits for sends something then */
    assert_true(tg_stages_comes(s->grid, &s->m, s->came[from][own], bringer, 1, from));
  }
  assert_int_equal(s->came[to][slot], TG_STAGES); /* once */
  s->came[to][slot] = stage;
  s->x[to][slot] = s->x[from][own];
}

static void exchange(scene* s) {
  for (uint32_t d = 0; d < s->domains; d++)
    for (uint32_t slot = 0; slot < ATOMS; slot++) {
      const uint32_t i = atom_in(d, slot);
      s->came[d][slot] = s->owner[i] == d ? -1 : TG_STAGES;
      s->x[d][slot] = s->owner[i] == d ? 1000 + i : 0;
    }
  for (int stage = 0; stage < TG_STAGES; stage++)
    for (uint32_t from = 0; from < s->domains; from++)
      for (uint32_t at = s->m.entry_stage[from][stage]; at < s->m.entry_stage[from][stage + 1];
           at++)
        send(s, from, at, stage);
  for (uint32_t d = 0; d < s->domains; d++) {
    for (uint32_t i = 0; i < ATOMS; i++) {
      const bool has = s->owner[i] == d || (s->holders[i] >> d & 1);
      assert_int_equal(s->x[d][slot_of(d, i)], has ? 1000 + i : 0);
    }
    for (uint32_t place = 0; place < s->m.place_stage[d][TG_STAGES]; place++)
      assert_true(s->used[d][place]);
  }
}

static const uint32_t grids[][3] = {{2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 1, 5}, {3, 1, 1},
                                    {2, 2, 1}, {1, 2, 2}, {2, 1, 2}, {2, 2, 2}, {3, 2, 2},
                                    {4, 2, 2}, {1, 4, 4}, {2, 2, 4}, {1, 16, 1}};

static void set_grid(scene* s, const uint32_t grid[3]) {
  memcpy(s->grid, grid, sizeof s->grid);
  s->domains = grid[0] * grid[1] * grid[2];
}

/* Any domain may have any atom, whatever lies between: bricks may be empty. */
static void any_holders_get_their_copies(void** state) {
  scene* s = (scene*)*state;
  for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
    for (uint64_t round = 0; round < 4; round++) {
      set_grid(s, grids[g]);
      tg_rng rng = tg_rng_stream(1, TG_RNG_TEST, 100 * g + round);
      for (uint32_t i = 0; i < ATOMS; i++) {
        s->owner[i] = (uint32_t)(tg_rng_bits(&rng) % s->domains);
        s->holders[i] = (uint32_t)tg_rng_bits(&rng) & ((1U << s->domains) - 1);
        if (round % 2) s->holders[i] &= (uint32_t)tg_rng_bits(&rng); /* fewer */
        s->holders[i] &= ~(1U << s->owner[i]);
      }
      make_lists(s);
      exchange(s);
    }
}

static double beyond(double x, double low, double width) {
  double apart = x - (low + width / 2);
  apart = apart < -0.5 ? apart + 1 : apart > 0.5 ? apart - 1 : apart;
  apart = (apart < 0 ? -apart : apart) - width / 2;
  return apart > 0 ? apart : 0;
}

/* Atoms of a box of edge 1, held within a radius of a brick: none is sent past a brick that lies on
 * its way, so each message leaves along one dimension. */
static void corners_are_forwarded(void** state) {
  scene* s = (scene*)*state;
  const double radius = 0.2;
  for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
    set_grid(s, grids[g]);
    tg_rng rng = tg_rng_stream(2, TG_RNG_TEST, g);
    for (uint32_t i = 0; i < ATOMS; i++) {
      uint32_t layer[3];
      double x[3];
      for (int d = 0; d < 3; d++) {
        x[d] = tg_rng_uniform(&rng);
        layer[d] = (uint32_t)(x[d] * s->grid[d]) % s->grid[d];
      }
      s->owner[i] = (layer[0] * s->grid[1] + layer[1]) * s->grid[2] + layer[2];
      s->holders[i] = 0;
      for (uint32_t to = 0; to < s->domains; to++) {
        const uint32_t at[3] = {to / s->grid[2] / s->grid[1], to / s->grid[2] % s->grid[1],
                                to % s->grid[2]};
        double gap2 = 0;
        for (int d = 0; d < 3; d++) {
          const double width = 1.0 / s->grid[d], gap = beyond(x[d], at[d] * width, width);
          gap2 += s->grid[d] > 1 ? gap * gap : 0;
        }
        if (to != s->owner[i] && gap2 < radius * radius) s->holders[i] |= 1U << to;
      }
    }
    make_lists(s);
    exchange(s);
    for (uint32_t from = 0; from < s->domains; from++)
      for (uint32_t to = 0; to < s->domains; to++) {
        const uint32_t sheet = s->grid[1] * s->grid[2];
        const int differ = (from / sheet != to / sheet) +
                           (from / s->grid[2] % s->grid[1] != to / s->grid[2] % s->grid[1]) +
                           (from % s->grid[2] != to % s->grid[2]);
        if (differ != 1) assert_int_equal(s->m.count[from][to], 0);
      }
  }
}

static int setup(void** state) {
  *state = calloc(1, sizeof(scene));
  return *state ? 0 : -1;
}

static int teardown(void** state) {
  free(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(any_holders_get_their_copies, setup, teardown),
      cmocka_unit_test_setup_teardown(corners_are_forwarded, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
