/* SPDX-License-Identifier: Apache-2.0 */
/* --trace of the program: the timelines of a run and of the halo benchmark. */
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

#include "base/scratch.h"
#include "device/device.h"

/* Runs a shell command in which %P is the program and %S the top folder of the source. */
static int run(const char* words) {
  char line[4096];
  size_t length = 0;
  for (; *words && length + 600 < sizeof line; words++) {
    const char* put = words[0] != '%' ? NULL : words[1] == 'P' ? TG_PROGRAM : TG_SOURCE_DIR;
    if (put) words++;
    length += put ? (size_t)snprintf(line + length, 600, "%s", put)
                  : (size_t)snprintf(line + length, 2, "%c", *words);
  }
  int ended = system(line);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

static int count_of(const char* text, const char* word) {
  int count = 0;
  for (const char* at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
  return count;
}

/* Python's reader and the checks of tools/trace_check.py, where there is a Python. */
static void assert_checked(const char* path) {
  char command[1400];
  if (run("python3 -c 'import json' 2>/dev/null") != 0) return;
  snprintf(command, sizeof command, "python3 %%S/tools/trace_check.py '%s' >/dev/null", path);
  assert_int_equal(run(command), 0);
}

enum { PES = 4, PULSES = 2, STEPS = 4, MESSAGES = PES * PULSES * 2 * STEPS };

static void the_benchmark_writes_both_timelines(void** state) {
  (void)state;
  if (tg_device_count() > 0) skip(); /* the GPUs' own timelines are written there */
  const char* folder = scratch_make();
  const char* path = scratch_path(folder, "halo.json");
  char command[1400];
  snprintf(command, sizeof command,
           "%%P bench halo --atoms 3000 --reach 0.8 --trace '%s' >/dev/null", path);
  assert_int_equal(run(command), 0);
  const char* text = scratch_read(path);
  assert_non_null(text);
  for (int pe = 0; pe < PES; pe++) {
    char name[64];
    snprintf(name, sizeof name, "\"1 by messages (host): PE %d\"", pe);
    assert_int_equal(count_of(text, name), 1);
    snprintf(name, sizeof name, "\"2 by flags (fused): PE %d\"", pe);
    assert_int_equal(count_of(text, name), 1);
  }
  assert_int_equal(count_of(text, "\"name\": \"pulse 0\""), 2 * PES);
  assert_int_equal(count_of(text, "\"name\": \"pulse 1\""), 2 * PES);
  assert_int_equal(count_of(text, "\"name\": \"step\""), 2 * PES * STEPS);
  assert_int_equal(count_of(text, "\"name\": \"wait\""), 2 * MESSAGES);
  assert_int_equal(count_of(text, "\"name\": \"send\""), MESSAGES);
  assert_int_equal(count_of(text, "\"name\": \"raise flag\""), MESSAGES);
  /* every wait is met by what it waited for */
  assert_int_equal(count_of(text, "\"ph\": \"s\""), 2 * MESSAGES);
  assert_int_equal(count_of(text, "\"ph\": \"f\""), 2 * MESSAGES);
  assert_non_null(strstr(text, "\"arrows that end before they begin\": 0,"));
  assert_non_null(strstr(text, "\"events dropped\": 0"));
  assert_non_null(strstr(text, "\"name\": \"pack forwarded atoms\""));
  assert_checked(path);
  scratch_remove(folder);
}

static void mistakes_are_refused(void** state) {
  (void)state;
  assert_int_equal(run("%P bench halo --pe 200x1x1 --trace /dev/null 2>/dev/null >&2"), 2);
  assert_int_equal(run("%P bench halo --pe 2x2 --trace /dev/null 2>/dev/null >&2"), 2);
  assert_int_equal(run("%P bench halo --trace /no/such/folder/t.json 2>/dev/null >&2"), 2);
}

/* Of PEs as threads, and of PEs as processes where there is an MPI: one file either way. */
static void a_run_writes_its_first_steps(void** state) {
  static const char launch[] =
      "ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS=exitcode=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
      "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 ";
  int worlds = 1;
  if (run("command -v mpirun >/dev/null 2>&1 && ! %P info | grep -q '^MPI  *no'") == 0) worlds = 2;
  (void)state;
  const char* folder = scratch_make();
  const char* mdp = scratch_path(folder, "short.mdp");
  char command[3000];
  snprintf(command, sizeof command,
           "sed 's/^nsteps .*/nsteps = 3/' %%S/examples/ethanol-water/rf.mdp >'%s'", mdp);
  assert_int_equal(run(command), 0);
  for (int processes = 0; processes < worlds; processes++) {
    snprintf(command, sizeof command,
             "cd %%S && %s%%P md run -c examples/ethanol-water/conf.gro -p "
             "examples/ethanol-water/topol.top -f '%s' -o '%s/run%d' --pe 2x1x1 --threads 1 "
             "--halo fused --trace steps.json >/dev/null 2>&1",
             processes ? launch : "", mdp, folder, processes);
    assert_int_equal(run(command), 0);
    char name[32];
    snprintf(name, sizeof name, "run%d/steps.json", processes);
    const char* path = scratch_path(folder, name);
    const char* text = scratch_read(path);
    assert_non_null(text);
    assert_int_equal(count_of(text, "\"name\": \"step\""), 2 * 4);
    assert_int_equal(count_of(text, "\"name\": \"pair forces\""), 2 * 4);
    assert_int_equal(count_of(text, "\"name\": \"halo forces\""), 2 * 4);
    assert_int_equal(count_of(text, "\"name\": \"pair search\""), 2 * 1);
    assert_non_null(strstr(text, "\"steps\": \"4 from step 0 on\""));
    /* a search exchanges numbers and positions, a step positions and forces */
    int messages = 2 * (2 + 4 * 2);
    assert_int_equal(count_of(text, "\"name\": \"wait\""), messages);
    assert_int_equal(count_of(text, "\"ph\": \"f\""), messages);
    assert_checked(path);
  }
  scratch_remove(folder);
}

/* In folder: a run of few steps with these options, whose words are kept in the file said. */
static int run_in(const char* folder, const char* options) {
  char command[3000];
  snprintf(command, sizeof command,
           "cd '%s' && %%P md run -c mine.gro -p mine.top -f short.mdp "
           "--threads 1 %s >said 2>&1",
           folder, options);
  return run(command);
}

static bool in_folder(const char* folder, const char* words) {
  char command[3000];
  snprintf(command, sizeof command, "cd '%s' && %s", folder, words);
  return run(command) == 0;
}

/* Nothing that is there is replaced, and a run that is refused has written nothing. */
static void a_file_that_is_there_is_kept(void** state) {
  (void)state;
  const char* folder = scratch_make();
  char words[1400];
  snprintf(words, sizeof words,
           "cp %s/examples/ethanol-water/topol.top part.itp && "
           "echo '#include \"part.itp\"' >mine.top && "
           "cp %s/examples/ethanol-water/conf.gro mine.gro && ln mine.gro hard && ln -s mine.gro "
           "soft && echo words >notes && cp mine.gro before && "
           "sed 's/^nsteps .*/nsteps = 1/' %s/examples/ethanol-water/rf.mdp >short.mdp",
           TG_SOURCE_DIR, TG_SOURCE_DIR, TG_SOURCE_DIR);
  assert_true(in_folder(folder, words));
  static const char* const refused[] = {
      "--trace ./mine.gro",
      "--trace ./mine.gro --force",
      "--trace ./hard --force",
      "--trace ./soft --force",
      "--trace ./short.mdp",
      "--trace ./notes",
      "--trace md.log",
      "--trace state.cpt --force",
      "--trace ./run/../run/md.log",
      "--trace ./part.itp --force",
      "--trace ./mine.top --force",
      "--trace .//run/confout.gro",
      "--trace ./nowhere/t.json",
      "--trace ./.",
  };
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    int code = run_in(folder, refused[i]);
    if (code != 2) fail_msg("%s: exit status %d", refused[i], code);
    assert_true(in_folder(folder, "test ! -e run && cmp -s mine.gro before && cmp -s soft before"));
    assert_true(in_folder(folder, "test \"$(cat notes)\" = words && test ! -e notes.1"));
  }
  assert_int_equal(run_in(folder, "--trace ./notes --force"), 0);
  assert_true(in_folder(folder, "test \"$(cat notes.1)\" = words && grep -q traceEvents notes"));
  assert_int_equal(run_in(folder, "--trace t.json --force"), 0);
  assert_int_equal(run_in(folder, "--trace t.json --continue"), 0); /* nothing is left to do */
  assert_true(
      in_folder(folder, "sed -i 's/^nsteps .*/nsteps = 2/' short.mdp && cp run/md.log log"));
  assert_int_equal(run_in(folder, "--trace t.json --continue"), 2);
  assert_true(in_folder(folder, "grep -q t.json said && cmp -s run/md.log log"));
  assert_int_equal(run_in(folder, "--trace u.json --continue"), 0);
  assert_int_equal(run_in(folder, "--trace /dev/null --force"), 0);
  scratch_remove(folder);
}

/* The place is looked at first: this reach would be refused by the measurement itself. */
static void the_benchmark_looks_at_the_place_first(void** state) {
  (void)state;
  assert_int_equal(
      run("%P bench halo --gpus 0 --atoms 100 --reach 9 --trace /no/such/t.json 2>&1 | "
          "grep -q /no/such"),
      0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_benchmark_writes_both_timelines),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(a_run_writes_its_first_steps),
      cmocka_unit_test(a_file_that_is_there_is_kept),
      cmocka_unit_test(the_benchmark_looks_at_the_place_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
