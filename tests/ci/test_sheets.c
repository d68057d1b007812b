/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a GPU, taken apart again: every jump and every element once, where it belongs. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "ci/random_h.h"
#include "ci/sheets.h"
#include "ci/strips.h"

typedef struct scene {
  tg_ci_hamiltonian* h;
  tg_ci_space* space;
  tg_ci_fly fly;
  bool* wanted; /* all classes and blocks */
} scene;

static void scene_make(scene* s, size_t na, const tg_ci_orbital* a, size_t nb,
                       const tg_ci_orbital* b, const tg_ci_space_params* params) {
  memset(s, 0, sizeof *s);
  s->h = random_h(na, a, nb, b, 5);
  assert_int_equal(tg_ci_space_make(s->h, params, &s->space), TG_OK);
  assert_int_equal(tg_ci_fly_tables(s->h, s->space, 2, false, &s->fly), TG_OK);
  const size_t count =
      s->space->strings[0].count + s->space->strings[1].count + s->space->block_count;
  assert_int_equal(TG_ALLOCATE(count, "flags", &s->wanted), TG_OK);
  memset(s->wanted, true, count);
}

static void scene_free(scene* s) {
  tg_free(s->wanted);
  tg_ci_fly_free(&s->fly);
  tg_ci_space_free(s->space);
  tg_ci_hamiltonian_free(s->h);
}

/* The jump of a target to row from a string of the source by an operator: its number; it must be
 * there, with this sign. */
static size_t find_jump(const tg_ci_target* t, const tg_ci_link* link, uint32_t row, uint32_t from,
                        uint32_t op, bool minus) {
  const uint32_t* begin = t->begin + link->rows;
  for (uint32_t e = begin[row]; e < begin[row + 1]; e++)
    if (t->from[e] == from) {
      assert_int_equal(t->code[e], 2 * op + minus);
      return e;
    }
  fail_msg("no jump to %u from %u by %u", row, from, op);
  return 0;
}

/* An operator and a column. */
typedef struct needed {
  uint32_t op, column;
} needed;

/* What a chunk keeps, by place; the masks must fit what else is told of units and lanes. */
static uint32_t read_places(const tg_ci_sheets* s, const tg_ci_sheet* sheet,
                            const tg_ci_chunk* chunk, needed* places) {
  uint32_t used = 0;
  for (uint32_t u = 0; u < chunk->unit_count; u++) {
    const uint32_t* masks = s->masks + (size_t)(chunk->units + u) * TG_CI_SHEET_LANES;
    uint32_t eights = 0;
    for (uint32_t lane = 0; lane < TG_CI_SHEET_LANES; lane++) {
      assert_int_equal(s->first[(size_t)(chunk->units + u) * TG_CI_SHEET_LANES + lane], used);
      for (uint32_t bit = 0; bit < 32; bit++) {
        if (!(masks[lane] >> bit & 1)) continue;
        const needed n = {
            .op = bit / 4 * 8 + lane % 4 * 2 + bit % 2,
            .column = chunk->column + u * TG_CI_SHEET_UNIT + lane / 4 + bit / 2 % 2 * 8};
        assert_true(n.op < sheet->operator_count && n.column < sheet->columns);
        eights |= 1u << bit / 4;
        places[used++] = n;
      }
    }
    assert_int_equal(s->units[chunk->units + u], eights);
  }
  return used;
}

/* Marks the jumps of one sheet. */
static void read_sheet(const tg_ci_sheets* s, const tg_ci_tile* tile, const tg_ci_sheet* sheet,
                       const tg_ci_target* t, const tg_ci_link* link, uint8_t* seen) {
  const uint32_t empty = tile->room - 1;
  uint32_t column = 0;
  needed* places = NULL;
  assert_int_equal(TG_ALLOCATE(tile->room, "places", &places), TG_OK);
  assert_int_equal(sheet->source, link->source);
  assert_true(sheet->operator_count <= TG_CI_SHEET_OPERATORS);
  for (uint32_t c = 0; c < sheet->chunk_count; c++) {
    const tg_ci_chunk* chunk = &s->chunks[sheet->chunks + c];
    uint32_t kept = 0;
    assert_int_equal(chunk->column, column);
    assert_true(chunk->unit_count > 0);
    column += chunk->unit_count * TG_CI_SHEET_UNIT;
    const uint32_t used = read_places(s, sheet, chunk, places);
    assert_true(used <= empty);
    for (uint32_t g = chunk->groups; g < chunk->groups + chunk->group_count; g++) {
      const uint32_t lines = s->group_begin[g + 1] - s->group_begin[g];
      const uint32_t* words = s->words + (size_t)s->group_begin[g] * 32;
      for (uint32_t lane = 0; lane < 32; lane++)
        for (uint32_t half = 1; half < 2 * lines; half++) {
          const uint32_t row = words[lane] & 0xffff;
          const uint32_t word = words[half / 2 * 32 + lane];
          const uint32_t jump = half % 2 ? word >> 16 : word & 0xffff;
          assert_true(row <= tile->count);
          if (jump == empty) continue;
          assert_true(row < tile->count && (jump & 0x7fff) < used);
          const needed* n = &places[jump & 0x7fff];
          const size_t e = find_jump(t, link, tile->first + row, n->column,
                                     s->operators[sheet->operators + n->op], jump >> 15);
          assert_int_equal(seen[e]++, 0);
          kept++;
        }
    }
    assert_int_equal(kept, used); /* what is kept is read once */
  }
  assert_true(column >= sheet->columns);
  tg_free(places);
}

static void check_sheets(const scene* s) {
  tg_ci_sheets sheets = {0};
  assert_int_equal(tg_ci_sheets_make(&s->fly, s->wanted, 2, &sheets), TG_OK);
  const tg_ci_strings* strings = &s->space->strings[1];
  for (size_t c = 0; c < strings->class_count; c++) {
    const tg_ci_target* t = &s->fly.jumps[1].targets[c];
    const size_t last = t->link_count;
    const size_t count = last ? t->links[last - 1].first + t->links[last - 1].count : 0;
    uint8_t* seen = NULL;
    assert_int_equal(TG_ALLOCATE(count + 1, "jumps", &seen), TG_OK);
    uint64_t rows = 0;
    for (uint32_t n = sheets.tile_begin[c]; n < sheets.tile_begin[c + 1]; n++) {
      const tg_ci_tile* tile = &sheets.tiles[n];
      assert_int_equal(tile->first, rows);
      assert_true(tile->count <= TG_CI_TILE_MOST);
      rows += tile->count;
      uint32_t at = tile->sheets;
      for (size_t l = 0; l < t->link_count; l++) {
        uint32_t operators = 0;
        for (; operators < t->links[l].operator_count; at++) {
          read_sheet(&sheets, tile, &sheets.sheets[at], t, &t->links[l], seen);
          operators += sheets.sheets[at].operator_count;
        }
      }
      assert_int_equal(at, tile->sheets + tile->sheet_count);
    }
    assert_int_equal(rows, strings->classes[c].count);
    for (size_t e = 0; e < count; e++) assert_int_equal(seen[e], 1);
    tg_free(seen);
  }
  tg_ci_sheets_free(&sheets);
}

static void check_steps(const scene* s) {
  tg_ci_steps steps = {0};
  assert_int_equal(tg_ci_steps_make(&s->fly, s->wanted, &steps), TG_OK);
  const tg_ci_jumps* j = &s->fly.jumps[0];
  assert_int_equal(steps.count, j->count);
  for (size_t c = 0; c < j->class_count; c++) {
    const tg_ci_target* t = &j->targets[c];
    for (size_t r = 0; r < s->space->strings[0].classes[c].count; r++)
      for (size_t l = 0; l < t->link_count; l++) {
        const uint32_t* from = t->begin + t->links[l].rows + r;
        const uint32_t* to = steps.begin + steps.base[c] + r * (t->link_count + 1) + l;
        assert_int_equal(to[1] - to[0], from[1] - from[0]);
        for (uint32_t e = 0; e < to[1] - to[0]; e++) {
          const double* row = tg_ci_fly_row(&s->fly, t->links[l].channel, t->code[from[0] + e] / 2);
          assert_int_equal(steps.from[to[0] + e], t->from[from[0] + e]);
          assert_int_equal(steps.code[to[0] + e], t->code[from[0] + e]);
          assert_ptr_equal(s->fly.rows + (steps.row[to[0] + e] & 0x7fffffff), row);
          assert_int_equal(steps.row[to[0] + e] >> 31, t->code[from[0] + e] & 1);
        }
      }
  }
  tg_ci_steps_free(&steps);
}

/* The elements that a tile has, in all; each must be the matrix's. */
static size_t read_tile(const tg_ci_strips* s, const tg_ci_strip_tile* tile, uint32_t panel,
                        uint32_t start, const tg_ci_target* t, const tg_ci_link* link) {
  size_t count = 0;
  for (uint32_t bit = 0; bit < 64; bit++) {
    if (!(tile->mask >> bit & 1)) continue;
    const uint32_t lane = bit / 2;
    const uint32_t row = panel * TG_CI_PANEL + lane / 4 + bit % 2 * 8;
    const uint32_t from = start + tile->from + lane % 4;
    uint32_t e = t->begin[link->rows + row];
    while (e < t->begin[link->rows + row + 1] && t->from[e] != from) e++;
    assert_true(e < t->begin[link->rows + row + 1]);
    assert_true(s->values[tile->first + count++] == t->value[e]);
  }
  assert_true(count > 0);
  assert_true(tile->from + TG_CI_TILE_SIDE <= s->height);
  return count;
}

static void check_strips(const scene* s) {
  for (int species = 0; species < 2; species++) {
    tg_ci_strips strips = {0};
    assert_int_equal(tg_ci_strips_make(&s->fly, species, s->wanted, 2, &strips), TG_OK);
    const tg_ci_alone* alone = &s->fly.alone[species];
    uint32_t n = 0;
    size_t tiles = 0;
    for (size_t c = 0; c < alone->class_count; c++) {
      const tg_ci_target* t = &alone->targets[c];
      const uint32_t panels = tg_ci_panels(s->space->strings[species].classes[c].count);
      for (size_t l = 0; l < t->link_count; l++, n++) {
        const tg_ci_strip_link* link = &strips.links[n];
        size_t count = 0;
        assert_int_equal(link->source, t->links[l].source);
        for (uint32_t p = 0; p < link->count * panels; p++) {
          const uint32_t* begin = strips.begin + link->begin + p;
          for (uint32_t q = begin[0]; q < begin[1]; q++, tiles++) {
            const tg_ci_strip_tile* tile = &strips.tiles[q];
            assert_true(q == begin[0] || tile[-1].from < tile->from);
            count +=
                read_tile(&strips, tile, p % panels, p / panels * strips.height, t, &t->links[l]);
          }
        }
        assert_int_equal(count, t->links[l].count);
      }
      assert_int_equal(strips.link_begin[c + 1], n);
    }
    assert_int_equal(tiles, strips.tile_count);
    assert_true(strips.tile_count * sizeof(tg_ci_strip_tile) +
                    strips.value_count * sizeof(double) <=
                tg_ci_strips_bytes(&s->fly, species));
    tg_ci_strips_free(&strips);
  }
}

static void check(size_t na, const tg_ci_orbital* a, size_t nb, const tg_ci_orbital* b,
                  const tg_ci_space_params* params) {
  scene s;
  scene_make(&s, na, a, nb, b, params);
  check_sheets(&s);
  check_steps(&s);
  check_strips(&s);
  scene_free(&s);
}

static void valence_spaces(void** state) {
  (void)state;
  tg_ci_orbital a[64], b[64];
  const size_t na = shell_sd(a), nb = shell_pf(b);
  tg_ci_space_params params = space_of(4, 4, 0);
  check(na, a, na, a, &params);
  params = space_of(1, 6, 1); /* several strips and chunks */
  check(na, a, nb, b, &params);
}

static void many_labels_and_operators(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  memset(o, 0, sizeof o);
  for (size_t i = 0; i < 12; i++)
    o[i].symmetry = (uint8_t)(i % 3 == 0); /* more than 64 a channel */
  const tg_ci_space_params params = space_of(3, 4, 0);
  check(12, o, 12, o, &params);
}

static void truncations(void** state) {
  (void)state;
  tg_ci_orbital o[64];
  const size_t n = shell_oscillator(o, 2);
  tg_ci_space_params params = space_of(2, 3, 1);
  params.weight_most = 3;
  check(n, o, n, o, &params);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(valence_spaces),
      cmocka_unit_test(many_labels_and_operators),
      cmocka_unit_test(truncations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
