/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include "base/scratch.h"
#include "md/checkpoint.h"

static double x[4][3] = {{1.0 / 3, -2, 5e-300}, {4, 5, 6}, {7, 8, 9}, {0.1, 0.2, 0.3}};
static double v[4][3] = {{-1, 2, -0.0}, {0.5}, {1e9, 2}, {3}};
static double heat[2] = {1.25, -7.5e-9}, sums[3] = {1, 2, 3};
static tg_checkpoint_values values[3] = {{"heat", heat, 2}, {"sums", sums, 3}, {"none", NULL, 0}};
static tg_checkpoint_file files[2] = {{"traj.xtc", 1LL << 40}, {"md.log", -1}};

static tg_checkpoint example(void) {
  return (tg_checkpoint){.step = 1LL << 33,
                         .time = 0.1,
                         .box = {3, 0, 0, 0, 4, 0, 0, 0, 5},
                         .fingerprint = 0xdeadbeef,
                         .atom_count = 4,
                         .x = x,
                         .v = v,
                         .values = values,
                         .values_count = 3,
                         .files = files,
                         .file_count = 2};
}

static void a_checkpoint_comes_back_bit_by_bit(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "state.cpt");
  tg_checkpoint c = example(), back;
  assert_int_equal(tg_checkpoint_write(path, &c), TG_OK);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_OK);
  assert_true(back.step == c.step && back.time == c.time && back.fingerprint == c.fingerprint);
  assert_memory_equal(back.box, c.box, sizeof c.box);
  assert_int_equal(back.atom_count, 4);
  assert_memory_equal(back.x, x, sizeof x);
  assert_memory_equal(back.v, v, sizeof v);
  assert_int_equal(back.values_count, 3);
  assert_memory_equal(tg_checkpoint_find(&back, "heat")->values, heat, sizeof heat);
  assert_int_equal(tg_checkpoint_find(&back, "sums")->count, 3);
  assert_int_equal(tg_checkpoint_find(&back, "none")->count, 0);
  assert_null(tg_checkpoint_find(&back, "other"));
  assert_int_equal(back.file_count, 2);
  assert_string_equal(back.files[0].name, "traj.xtc");
  assert_true(back.files[0].size == 1LL << 40 && back.files[1].size == -1);
  assert_int_equal(tg_checkpoint_check(&back, path, 4, 0xdeadbeef), TG_OK);
  assert_int_equal(tg_checkpoint_check(&back, path, 5, 0xdeadbeef), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "4 atoms and this system 5"));
  assert_int_equal(tg_checkpoint_check(&back, path, 4, 1), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "another topology"));
  tg_checkpoint_free(&back);
  tg_checkpoint_free(&back);
  scratch_remove(folder);
}

static void the_one_before_is_kept(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "state.cpt");
  tg_checkpoint c = example(), back;
  for (c.step = 1; c.step <= 3; c.step++) assert_int_equal(tg_checkpoint_write(path, &c), TG_OK);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_OK);
  assert_int_equal(back.step, 3);
  tg_checkpoint_free(&back);
  assert_int_equal(tg_checkpoint_read(scratch_path(folder, "state_prev.cpt"), &back), TG_OK);
  assert_int_equal(back.step, 2);
  tg_checkpoint_free(&back);
  FILE* stream = fopen(path, "wb"); /* a foreign file: the message names the way out */
  fputs("something else", stream);
  fclose(stream);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "not a checkpoint"));
  assert_non_null(strstr(tg_last_error(), "state_prev.cpt"));
  scratch_remove(folder);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_ERR_INPUT);
}

static void put(const char* path, const char* bytes, size_t size) {
  FILE* stream = fopen(path, "wb");
  assert_int_equal(fwrite(bytes, 1, size, stream), size);
  fclose(stream);
}

static void every_damage_is_noticed(void** state) {
  (void)state;
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "state.cpt");
  tg_checkpoint c = example(), back;
  assert_int_equal(tg_checkpoint_write(path, &c), TG_OK);
  static char bytes[4096];
  FILE* stream = fopen(path, "rb");
  size_t size = fread(bytes, 1, sizeof bytes, stream);
  fclose(stream);
  assert_true(size > 0 && size < sizeof bytes);
  for (size_t i = 0; i < size; i++) {
    bytes[i] ^= (char)(1 << i % 8);
    put(path, bytes, size);
    if (tg_checkpoint_read(path, &back) != TG_ERR_INPUT) fail_msg("byte %zu changed unnoticed", i);
    bytes[i] ^= (char)(1 << i % 8);
    put(path, bytes, i);
    if (tg_checkpoint_read(path, &back) != TG_ERR_INPUT) fail_msg("cut at %zu unnoticed", i);
  }
  put(path, bytes, size + 1);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_ERR_INPUT);
  put(path, bytes, size);
  assert_int_equal(tg_checkpoint_read(path, &back), TG_OK);
  tg_checkpoint_free(&back);
  scratch_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_checkpoint_comes_back_bit_by_bit),
      cmocka_unit_test(the_one_before_is_kept),
      cmocka_unit_test(every_damage_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
