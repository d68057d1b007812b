/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that are not there, or not what they seem, and settings that cannot be met: named, and
 * the program goes on. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scratch.h"

static char output[1 << 16];

static int run(const char* settings, const char* words) {
  char line[8192];
  snprintf(line, sizeof line, "env %s timeout 60 '%s' %s 2>&1", settings, TG_PROGRAM, words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

static bool made(const char* name) {
  const char* all = getenv("TG_TEST_MODULES");
  char list[200], word[40];
  if (all == NULL) return false;
  snprintf(list, sizeof list, " %s ", all);
  snprintf(word, sizeof word, " %s ", name);
  return strstr(list, word) != NULL;
}

/* `throng info` ends well, and says so of a module. */
static void info_says(const char* settings, const char* message) {
  if (run(settings, "info") != 0 || strstr(output, message) == NULL)
    fail_msg("%s: '%s' was expected, not: %s", settings, message, output);
}

static void settings_are_met_or_named(void** state) {
  (void)state;
  if (made("acc")) {
    info_says("ACC_DEVICE_NUM=777777", "acc           no   $ACC_DEVICE_NUM is 777777, there");
    info_says("ACC_DEVICE_NUM=-1", "acc           no   $ACC_DEVICE_NUM is '-1'");
    info_says("ACC_DEVICE_TYPE=abc", "acc           no   $ACC_DEVICE_TYPE is 'abc'");
    info_says("ACC_DEVICE_TYPE=host", "acc           yes  OpenACC");
    assert_int_equal(run("ACC_DEVICE_NUM=777777",
                         "bench motif --figure 11 --items 1024 --backend "
                         "acc --threads 1"),
                     3);
    assert_non_null(strstr(output, "$ACC_DEVICE_NUM"));
  }
  if (access("/dev/nvidiactl", F_OK) == 0) return;
  if (made("acc")) info_says("ACC_DEVICE_TYPE=nvidia", "acc           no   $ACC_DEVICE_TYPE is");
  if (made("offload"))
    info_says("OMP_TARGET_OFFLOAD=MANDATORY", "offload       no   $OMP_TARGET_OFFLOAD is");
}

/* Where there is no GPU, too, one is told whether the module has code for one. */
static void info_says_what_modules_are_for(void** state) {
  (void)state;
  if (!made("acc")) skip();
  assert_int_equal(run("ACC_DEVICE_TYPE=host", "info"), 0);
  const char* line = strstr(output, "acc           yes  OpenACC");
  assert_non_null(line);
  const char* words = strstr(line, "code for ");
  assert_true(words != NULL && words < strchr(line, '\n'));
}

/* What the loader says that it loads. */
static void other_modules_are_not_loaded(void** state) {
  (void)state;
  if (!made("acc")) skip();
  run("LD_DEBUG=files",
      "bench motif --figure 11 --items 1024 --backend acc --threads 1 "
      "--repeats 1 2>&1 | grep 'file=.*throng-'");
  assert_non_null(strstr(output, "throng-acc.so"));
  assert_null(strstr(output, "throng-offload"));
  run("LD_DEBUG=files",
      "bench motif --figure 11 --items 1024 --backend ref --threads 1 "
      "--repeats 1 2>&1 | grep 'file=.*throng-'");
  assert_string_equal(output, "");
}

/* Copies a module, or its first bytes (0: all), to the name of another in a folder. */
static void copy_module(const char* name, int bytes, const char* folder, const char* to) {
  char line[16384];
  if (bytes == 0)
    snprintf(line, sizeof line, "cp \"$(dirname '%s')/modules/throng-%s.so\" '%s/throng-%s.so'",
             TG_PROGRAM, name, folder, to);
  else
    snprintf(line, sizeof line,
             "head -c %d \"$(dirname '%s')/modules/throng-%s.so\" > '%s/throng-%s.so'", bytes,
             TG_PROGRAM, name, folder, to);
  assert_int_equal(system(line), 0);
}

static void wrong_modules_are_named(void** state) {
  (void)state;
  char settings[4096];
  info_says("TG_MODULES=/nonexistent", "no throng-acc.so in $TG_MODULES (/nonexistent)");
  info_says("TG_MODULES=", "no throng-acc.so in $TG_MODULES (which is empty)");
  if (!made("acc") || !made("offload")) skip();
  static const int cuts[] = {10, 64, 5000, 60000};
  const char* folder = scratch_make();
  snprintf(settings, sizeof settings, "TG_MODULES='%s'", folder);
  for (size_t k = 0; k < sizeof cuts / sizeof *cuts; k++) {
    copy_module("acc", cuts[k], folder, "acc");
    info_says(settings, k == 0 ? "file too short" : "throng-acc.so is damaged: it has ");
  }
  copy_module("offload", 0, folder, "acc");
  info_says(settings, "throng-acc.so is the module 'offload'");
  copy_module("acc", 0, folder, "acc");
  info_says(settings, "acc           yes  OpenACC");
  scratch_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settings_are_met_or_named),
      cmocka_unit_test(info_says_what_modules_are_for),
      cmocka_unit_test(other_modules_are_not_loaded),
      cmocka_unit_test(wrong_modules_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
