/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>

#include "base/scratch.h"
#include "md/build.h"

static void water_fills_its_box_and_replicates(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const double edges[3] = {2.0, 2.2, 1.8};
  if (tg_md_build_water(edges, 300, 1, folder)) fail_msg("%s", tg_last_error());
  tg_configuration c = {0}, many = {0};
  const char *conf = scratch_path(folder, "conf.gro"), *top = scratch_path(folder, "topol.top");
  assert_int_equal(tg_configuration_read(conf, &c), TG_OK);
  assert_int_equal(c.count, 3 * (size_t)round(33.4 * 2.0 * 2.2 * 1.8));
  double least = 1;
  for (size_t i = 0; i < c.count; i++) {
    for (size_t j = 0; j < i; j++) {
      double square = 0;
      for (int k = 0; k < 3; k++) {
        double d = c.x[i][k] - c.x[j][k];
        d -= edges[k] * round(d / edges[k]);
        square += d * d;
      }
      if (i / 3 != j / 3 && square < least) least = square;
    }
  }
  assert_true(sqrt(least) >=
              0.15 - 0.001 * sqrt(3)); /* .gro rounds by half of 0.001 an axis and atom */
  tg_md_build_params params = {.copies = {2, 1, 3}, .temperature = -1};
  const char* out = scratch_path(folder, "out");
  tg_topology_options options = {0};
  tg_log log = {0};
  if (tg_md_build_replicate(conf, top, &options, &log, &params, out))
    fail_msg("%s", tg_last_error());
  assert_int_equal(tg_configuration_read(scratch_path(out, "conf.gro"), &many), TG_OK);
  assert_int_equal(many.count, 6 * c.count);
  assert_true(fabs(many.box[0] - 4.0) < 1e-9 && fabs(many.box[8] - 5.4) < 1e-9);
  for (size_t i = 0; i < c.count; i++) /* the second copy lies one box further along z */
    assert_true(fabs(many.x[c.count + i][2] - c.x[i][2] - 1.8) < 1e-9);
  assert_memory_equal(many.v[c.count], c.v[0], c.count * sizeof *c.v);
  tg_topology topology;
  assert_int_equal(tg_topology_read(scratch_path(out, "topol.top"), &options, &log, &topology),
                   TG_OK);
  assert_int_equal(tg_topology_atoms(&topology), many.count);
  tg_topology_free(&topology);
  tg_configuration_free(&c);
  tg_configuration_free(&many);
  scratch_remove(folder);
}

static void put(const char* path, const char* text) {
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
}

static void topologies_keep_their_includes(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char *top = scratch_path(folder, "a.top"), *out = scratch_path(folder, "b.top");
  put(scratch_path(folder, "water.itp"), "");
  put(top,
      "#include \"water.itp\" ; kept\n#include \"elsewhere.itp\"\n[ system ]\nSOL 3\n"
      "[molecules]\n; SOL 1\nSOL 7 ; seven\n#ifdef A\nETH 2\n#endif\n");
  assert_int_equal(tg_md_build_topology(top, 6, out), TG_OK);
  char expected[2048];
  snprintf(expected, sizeof expected,
           "#include \"%s/water.itp\" ; kept\n#include \"elsewhere.itp\"\n[ system ]\nSOL 3\n"
           "[molecules]\n; SOL 1\n  SOL        42\n#ifdef A\n  ETH        12\n#endif\n",
           folder);
  assert_string_equal(scratch_read(out), expected);
  put(top, "[ molecules ]\nSOL many\n");
  assert_int_equal(tg_md_build_topology(top, 6, out), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "a.top:2:"));
  put(top, "[ system ]\nSOL 7\n");
  assert_int_equal(tg_md_build_topology(top, 6, out), TG_ERR_INPUT);
  scratch_remove(folder);
}

static void velocities_have_their_temperature(void** state) {
  (void)state;
  enum { COUNT = 20000 };
  static double mass[COUNT], v[COUNT][3];
  double momentum[3] = {0}, kinetic = 0;
  for (int i = 0; i < COUNT; i++) mass[i] = i % 2 ? 1.008 : 16;
  tg_md_build_velocities(COUNT, mass, 300, 3, v);
  for (int i = 0; i < COUNT; i++) {
    for (int k = 0; k < 3; k++) {
      momentum[k] += mass[i] * v[i][k];
      kinetic += mass[i] * v[i][k] * v[i][k] / 2;
    }
  }
  /* the relative spread of a sum of n squares of normal numbers is sqrt(2 / n); five of them */
  double freedom = 3.0 * COUNT - 3, expected = freedom / 2 * 0.008314462618 * 300;
  assert_true(fabs(kinetic / expected - 1) < 5 * sqrt(2 / freedom));
  for (int k = 0; k < 3; k++) assert_true(fabs(momentum[k]) < 1e-8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(water_fills_its_box_and_replicates),
      cmocka_unit_test(topologies_keep_their_includes),
      cmocka_unit_test(velocities_have_their_temperature),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
