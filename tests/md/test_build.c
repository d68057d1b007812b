/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>

#include "base/file.h"
#include "base/scratch.h"
#include "md/build.h"

static void put(const char* path, const char* text) {
  FILE* stream = fopen(path, "w");
  assert_non_null(stream);
  fputs(text, stream);
  fclose(stream);
}

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
  const char* never = scratch_path(folder, "never"); /* bad input leaves nothing behind */
  put(conf, "no configuration\n");
  assert_int_not_equal(tg_md_build_replicate(conf, top, &options, &log, &params, never), TG_OK);
  assert_false(tg_path_exists(never));
  tg_configuration_free(&c);
  tg_configuration_free(&many);
  scratch_remove(folder);
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

/* Twice the kinetic energy over kT is the number of degrees of freedom, exactly: 9 - 3 for a rigid
 * water, less 3 for the centre of mass; and no bond stretches. Rounding to 1e-3 nm is not yet done.
 */
static void velocities_lie_on_the_constraints(void** state) {
  (void)state;
  const double edges[3] = {2, 2, 2};
  static const tg_topology_options plain = {0};
  static const tg_log silent = {NULL, NULL};
  const char* folder = scratch_make();
  tg_topology topology;
  tg_configuration start, drawn;
  if (tg_md_build_water(edges, 300, 1, folder)) fail_msg("%s", tg_last_error());
  assert_int_equal(tg_topology_read(scratch_path(folder, "topol.top"), &plain, &silent, &topology),
                   TG_OK);
  assert_int_equal(tg_configuration_read(scratch_path(folder, "conf.gro"), &start), TG_OK);
  tg_md_build_params params = {{1, 1, 1}, 250, 3};
  assert_int_equal(tg_md_build_configuration(&start, &topology, &params, &drawn), TG_OK);
  double kinetic2 = 0, stretch = 0;
  for (size_t i = 0; i < drawn.count; i++) {
    size_t first = i - i % 3, next = first + (i + 1) % 3;
    double along = 0, square = 0;
    for (int k = 0; k < 3; k++) {
      double r = drawn.x[next][k] - drawn.x[i][k];
      kinetic2 += (i % 3 ? 1.008 : 15.9994) * drawn.v[i][k] * drawn.v[i][k];
      along += r * (drawn.v[next][k] - drawn.v[i][k]);
      square += r * r;
    }
    stretch = fmax(stretch, fabs(along) / sqrt(square));
  }
  double degrees = 2.0 * (double)drawn.count - 3;
  assert_true(fabs(kinetic2 / (degrees * 0.008314462618 * 250) - 1) < 1e-8); /* digits of k */
  assert_true(stretch < 1e-11); /* ten times where the projection stops: it is scaled */
  tg_configuration_free(&start);
  tg_configuration_free(&drawn);
  tg_topology_free(&topology);
  scratch_remove(folder);
}

static void earlier_files_are_kept(void** state) {
  (void)state;
  const double edges[3] = {1, 1, 1};
  const char* folder = scratch_make();
  assert_int_equal(tg_md_build_check_room(folder), TG_OK);
  if (tg_md_build_water(edges, 300, 1, folder)) fail_msg("%s", tg_last_error());
  assert_int_equal(tg_md_build_check_room(folder), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "--force"));
  if (tg_md_build_water(edges, 300, 2, folder)) fail_msg("%s", tg_last_error());
  static const char* const names[] = {"conf.gro.1", "topol.top.1", "em.mdp.1", "rf.mdp.1"};
  for (int i = 0; i < 4; i++) assert_true(tg_path_exists(scratch_path(folder, names[i])));
  scratch_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(water_fills_its_box_and_replicates),
      cmocka_unit_test(topologies_keep_their_includes),
      cmocka_unit_test(velocities_lie_on_the_constraints),
      cmocka_unit_test(earlier_files_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
