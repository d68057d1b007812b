/* SPDX-License-Identifier: Apache-2.0 */
/* The flat lists that a GPU's steps work through: nothing is left out or done twice, and tables of
 * lanes, read as the kernel reads them, give LINCS's answer. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "md/device_work.h"
#include "md/input.h"
#include "md/system.h"

static tg_md_system* read_example(const char* mdp) {
  tg_md_files files = {.configuration = TG_SOURCE_DIR "/examples/ethanol-water/conf.gro",
                       .topology = TG_SOURCE_DIR "/examples/ethanol-water/topol.top",
                       .parameters = input_file("work.mdp", mdp),
                       .chance_seed = 1};
  tg_md_system* system = NULL;
  if (tg_md_system_read(&files, NULL, &system) != TG_OK) fail_msg("%s", tg_last_error());
  unlink(files.parameters);
  return system;
}

static const char h_bonds[] = "constraints = h-bonds\nrcoulomb = 0.9\nrvdw = 0.9\n";
static const char all_bonds[] =
    "constraints = all-bonds\nrcoulomb = 0.9\nrvdw = 0.9\ntcoupl = berendsen\ntc-grps = ETH SOL\n"
    "tau-t = 1 1\nref-t = 300 300\n";

static void every_atom_moves_once(void** state) {
  (void)state;
  const char* const mdp[] = {h_bonds, all_bonds};
  for (int m = 0; m < 2; m++) {
    tg_md_system* system = read_example(mdp[m]);
    tg_device_work work;
    assert_int_equal(tg_device_work_make(system, &work), TG_OK);
    unsigned char* seen = test_calloc(system->atom_count, 1);
    for (size_t i = 0; i < work.water_count; i++)
      for (int k = 0; k < 3; k++) seen[work.waters[i][k]]++;
    size_t constraints = 3 * work.water_count;
    for (int w = 0; w < TG_DEVICE_WIDTHS; w++) {
      const tg_device_groups* groups = &work.groups[w];
      const size_t width = (size_t)4 << w;
      for (size_t i = 0; i < groups->count * width; i++) {
        if (groups->atom[i] >= 0) seen[groups->atom[i]]++;
        constraints += work.lanes[groups->table[i / width] + (int)(i % width)].scale > 0;
      }
    }
    for (size_t i = 0; i < work.single_count; i++) seen[work.single[i]]++;
    for (size_t i = 0; i < system->atom_count; i++) assert_int_equal(seen[i], 1);
    assert_int_equal(constraints, system->constraint_count);
    double mass[TG_DEVICE_BINS] = {0}, wanted = 0, found = 0;
    for (size_t i = 0; i < system->atom_count; i++) {
      mass[work.bin[i]] += 1 / (double)work.inverse_mass[i];
      wanted += tg_md_atom(system, i)->mass;
      assert_int_equal(work.bin_temperature[work.bin[i]],
                       system->temperature_group ? system->temperature_group[i] : 0);
    }
    assert_int_equal(work.bin_count, m + 1);
    for (int b = 0; b < work.bin_count; b++) {
      assert_float_equal(mass[b], work.bin_mass[b], 1e-9 * mass[b]);
      found += mass[b];
    }
    assert_float_equal(found, wanted, 1e-7 * wanted); /* masses are floats */
    test_free(seen);
    tg_device_work_free(&work);
    tg_md_system_destroy(&system);
  }
}

static void every_interaction_is_listed(void** state) {
  (void)state;
  tg_md_system* system = read_example(h_bonds);
  tg_device_work work;
  assert_int_equal(tg_device_work_make(system, &work), TG_OK);
  size_t wanted[TG_DEVICE_KINDS] = {0}, found[TG_DEVICE_KINDS] = {0};
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[m]];
    for (int kind = 0; kind < TG_DEVICE_EXCLUDED; kind++)
      wanted[kind] += type->interactions[kind].count;
    const bool water = type->interactions[TG_SETTLE].count > 0;
    if (water) /* every atom of the example has a charge, and is excluded from some */
      wanted[TG_DEVICE_EXCLUDED_RIGID] += (size_t)type->exclusion_start[type->atom_count] / 2;
    else
      wanted[TG_DEVICE_EXCLUDED_BY_ATOM] += type->atom_count;
  }
  for (int kind = 0; kind < TG_DEVICE_KINDS; kind++) {
    assert_int_equal(work.kind_start[kind] % TG_DEVICE_WARP, 0);
    int atoms = kind == TG_DEVICE_EXCLUDED_BY_ATOM ? 1 : 2;
    if (kind < TG_DEVICE_EXCLUDED) atoms = tg_interaction_atoms((tg_interaction_kind)kind);
    for (size_t i = work.kind_start[kind]; i < work.kind_start[kind + 1]; i++) {
      if (work.items[i][0] < 0) continue;
      found[kind]++;
      for (int k = 0; k < 4; k++) assert_int_equal(work.items[i][k] >= 0, k < atoms);
      for (int k = 1; k < atoms; k++)
        assert_int_equal(system->atom_molecule[work.items[i][k]],
                         system->atom_molecule[work.items[i][0]]);
    }
    assert_int_equal(found[kind], wanted[kind]);
  }
  tg_device_work_free(&work);
  tg_md_system_destroy(&system);
}

enum { ORDER = 4, ITERATIONS = 2 };

static void subtract(const double a[3], const double b[3], double out[3]) {
  for (int d = 0; d < 3; d++) out[d] = a[d] - b[d];
}

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* What constrain.cuh does with a group's lanes, all lanes one after the other. */
static void lincs_by_lanes(const tg_device_lane* lanes, int width, double (*x)[3],
                           double (*to)[3]) {
  double u[TG_DEVICE_WARP][3], term[TG_DEVICE_WARP], next[TG_DEVICE_WARP], sum[TG_DEVICE_WARP];
  double now[3];
  for (int i = 0; i < width; i++) {
    subtract(x[lanes[i].a], x[lanes[i].b], u[i]);
    const double inverse = lanes[i].scale > 0 ? 1 / sqrt(dot(u[i], u[i])) : 0;
    for (int d = 0; d < 3; d++) u[i][d] *= inverse;
  }
  for (int round = 0; round <= ITERATIONS; round++) {
    for (int i = 0; i < width; i++) {
      const double length = lanes[i].length;
      subtract(to[lanes[i].a], to[lanes[i].b], now);
      term[i] = round == 0 ? dot(u[i], now) - length
                           : length - sqrt(fmax(2 * length * length - dot(now, now), 0));
      sum[i] = term[i] *= lanes[i].scale;
    }
    for (int k = 0; k < ORDER; k++) {
      for (int i = 0; i < width; i++) {
        next[i] = 0;
        for (int n = 0; n < TG_DEVICE_NEIGHBOURS; n++) {
          const int j = lanes[i].neighbour[n];
          next[i] += lanes[i].coefficient[n] * dot(u[i], u[j]) * term[j];
        }
      }
      for (int i = 0; i < width; i++) sum[i] += term[i] = next[i];
    }
    for (int i = 0; i < width; i++)
      for (int o = 0; o < TG_DEVICE_OWN; o++) {
        const int j = lanes[i].own[o];
        for (int d = 0; d < 3; d++)
          to[i][d] -= lanes[i].sign[o] * lanes[i].inverse_mass * lanes[j].scale * sum[j] * u[j][d];
      }
  }
}

/* The first ethanol, with atoms displaced by some picometres. */
static void lanes_give_what_lincs_gives(void** state) {
  (void)state;
  const char* const mdp[] = {h_bonds, all_bonds};
  for (int m = 0; m < 2; m++) {
    tg_md_system* system = read_example(mdp[m]);
    tg_device_work work;
    assert_int_equal(tg_device_work_make(system, &work), TG_OK);
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[0]];
    const tg_interactions* list = &type->interactions[TG_CONSTRAINT];
    enum { MOST = 32 };
    int pairs[MOST][2];
    double lengths[MOST], inverse_mass[MOST], x[MOST][3], moved[MOST][3], wanted[MOST][3];
    const size_t atoms = type->atom_count;
    assert_true(list->count > 0 && list->count <= MOST && atoms <= MOST);
    for (size_t i = 0; i < list->count; i++) {
      memcpy(pairs[i], list->items[i].atoms, sizeof pairs[i]);
      lengths[i] = list->items[i].parameters[0];
    }
    tg_rng rng = tg_rng_stream(3, TG_RNG_TEST, (uint64_t)m);
    for (size_t i = 0; i < atoms; i++) {
      inverse_mass[i] = 1 / type->atoms[i].mass;
      for (int d = 0; d < 3; d++) {
        const double box = system->box[d], first = system->start.x[0][d];
        x[i][d] = system->start.x[i][d];
        x[i][d] -= box * rint((x[i][d] - first) / box);
        wanted[i][d] = moved[i][d] = x[i][d] + 0.002 * tg_rng_gaussian(&rng);
      }
    }
    const tg_constraints_params params = {ORDER, ITERATIONS, 90, 1};
    tg_constraints* constraints = NULL;
    tg_constraints_failure failure;
    assert_int_equal(tg_constraints_create(&params, &constraints), TG_OK);
    assert_int_equal(tg_constraints_set(constraints, atoms, inverse_mass, list->count,
                                        (const int(*)[2])pairs, lengths, 0, NULL, NULL),
                     TG_OK);
    assert_int_equal(
        tg_constraints_apply(constraints, (const double(*)[3])x, wanted, NULL, 1, NULL, &failure),
        TG_OK);
    tg_constraints_destroy(&constraints);
    int groups_found = 0;
    for (int w = 0; w < TG_DEVICE_WIDTHS; w++) {
      const tg_device_groups* groups = &work.groups[w];
      const int width = 4 << w;
      for (size_t g = 0; g < groups->count; g++) {
        const int* atom = groups->atom + g * (size_t)width;
        double old[TG_DEVICE_WARP][3] = {{0}}, to[TG_DEVICE_WARP][3] = {{0}};
        if (atom[0] >= (int)atoms) continue; /* another molecule's */
        groups_found++;
        for (int i = 0; i < width && atom[i] >= 0; i++) {
          memcpy(old[i], x[atom[i]], sizeof old[i]);
          memcpy(to[i], moved[atom[i]], sizeof to[i]);
        }
        lincs_by_lanes(work.lanes + groups->table[g], width, old, to);
        for (int i = 0; i < width && atom[i] >= 0; i++)
          for (int d = 0; d < 3; d++) /* sums in another order, of terms below 1e-2 nm */
            assert_float_equal(to[i][d], wanted[atom[i]][d], 1e-14);
      }
    }
    assert_int_equal(groups_found, m == 0 ? 3 : 1); /* CH3, CH2, OH; or all in one */
    tg_device_work_free(&work);
    tg_md_system_destroy(&system);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_atom_moves_once),
      cmocka_unit_test(every_interaction_is_listed),
      cmocka_unit_test(lanes_give_what_lincs_gives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
