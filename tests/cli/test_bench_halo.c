/* SPDX-License-Identifier: Apache-2.0 */
/* `throng bench halo` on CPUs: what it counts, prints, writes and refuses; and its model. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/file.h"
#include "base/scratch.h"
#include "bench/halo_model.h"

static char output[1 << 17];
static const char* folder;

static int begin(void** state) {
  (void)state;
  folder = scratch_make();
  return 0;
}

static int end(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

/* What the shell says to a line; its words into output. */
static int shell(const char* line) {
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
  int ended = pclose(pipe);
  assert_true(WIFEXITED(ended));
  return WEXITSTATUS(ended);
}

/* Small enough to be over in a moment; launcher: "" or mpirun and its words. */
static int launch(const char* launcher, const char* words) {
  char line[4096];
  snprintf(line, sizeof line, "cd '%s' && %s '%s' bench halo %s", folder, launcher, TG_PROGRAM,
           words);
  return shell(line);
}

#define SMALL "--gpus 0 --atoms 3000 --repeats 1 "

static bool have_mpi(void) {
#if defined(TG_HAVE_MPI) && TG_HAVE_MPI
  return system("mpirun --version 2>&1 | grep -q 'Open MPI'") == 0;
#else
  return false;
#endif
}

/* MPI itself leaks. */
#define MPIRUN_2                                                                                   \
  "env ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "     \
  "OMP_NUM_THREADS=1 mpirun "                                                                      \
  "--oversubscribe --bind-to none -n 2"

/* The number after "key": from `at` on. */
static double number_at(const char* at, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* found = at ? strstr(at, quoted) : NULL;
  if (!found) {
    fail_msg("no %s in %.200s", key, at ? at : "nothing");
    return NAN;
  }
  return strtod(found + strlen(quoted), NULL);
}

/* Where the measurement of a schedule ends its identification; the counts follow. */
static const char* row_of(const char* schedule) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"schedule\": \"%s\"", schedule);
  const char* at = strstr(output, quoted);
  if (!at) fail_msg("no row of %s", schedule);
  return at;
}

static void output_is_json(void) {
  char path[1024], line[1200];
  snprintf(path, sizeof path, "%s/checked.json", folder);
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  fputs(output, file);
  fclose(file);
  if (system("python3 -c 1 2>/dev/null") != 0) return;
  snprintf(line, sizeof line, "python3 -m json.tool '%s' >/dev/null", path);
  assert_int_equal(system(line), 0);
}

static const char* const schedules[] = {"host", "pulse", "fused", "direct"};
enum { SCHEDULES = 4 };

/* The table of docs/halo.md: messages, and blocking waits, each way. */
static void check_counts(int staged, int direct) {
  for (int s = 0; s < SCHEDULES; s++) {
    const char* row = row_of(schedules[s]);
    int wanted = strcmp(schedules[s], "direct") == 0 ? direct : staged;
    assert_true(number_at(row, "messages_positions") == wanted);
    assert_true(number_at(row, "messages_forces") == wanted);
    assert_true(number_at(row, "waits_positions") == wanted);
    assert_true(number_at(row, "waits_forces") == wanted);
    assert_true(number_at(row, "launches_positions") == 0);
  }
}

static void check_sums(void) {
  for (int s = 0; s < SCHEDULES; s++) {
    const char* row = row_of(schedules[s]);
    double step = number_at(row, "step_us"), model = number_at(row, "model_us");
    double parts = number_at(row, "model_hops_us") + number_at(row, "model_bytes_us") +
                   number_at(row, "model_starts_us");
    assert_true(step > 0 && model > 0);
    assert_true(fabs(number_at(row, "positions_us") + number_at(row, "forces_us") - step) <
                1e-9 * step);
    assert_true(number_at(row, "positions_us") > 0 && number_at(row, "forces_us") > 0);
    assert_true(number_at(row, "least_us") <= step && step <= number_at(row, "most_us"));
    assert_true(fabs(parts - model) < 1e-9 * model);
    assert_true(fabs(number_at(row, "ratio") - step / model) < 1e-9 * step / model);
    double share = number_at(row, "host_wait_share");
    assert_true(share >= 0 && share <= 1);
    double bytes = number_at(row, "bytes");
    assert_true(fabs(number_at(row, "bytes_per_s") - bytes / step * 1e6) <
                1e-6 * bytes / step * 1e6);
  }
}

static void two_threads_exchange(void** state) {
  (void)state;
  assert_int_equal(launch("", SMALL "--pe 2 --json 2>&1"), 0);
  output_is_json();
  check_counts(1, 1);
  check_sums();
  /* the copies of one face and the forces of the other, 3 floats each; the same for all schedules
   */
  double bytes = number_at(row_of("host"), "bytes");
  double edge = cbrt(3000 / 100.), expected = 2 * 1.1 * edge * edge * 100 * 12;
  assert_true(fabs(bytes - expected) < 0.15 * expected); /* atoms are at random: 5 sigma of 1,000 */
  for (int s = 1; s < SCHEDULES; s++)
    assert_true(number_at(row_of(schedules[s]), "bytes") == bytes);
  assert_int_equal(launch("", SMALL "--pe 2 --precision double --json 2>&1"), 0);
  assert_true(number_at(row_of("host"), "bytes") == 2 * bytes);
}

static void eight_threads_exchange(void** state) {
  (void)state;
  assert_int_equal(launch("", SMALL "--pe 2x2x2 --json 2>&1"), 0);
  check_counts(3, 7);
  check_sums();
  assert_int_equal(launch("", SMALL "--pe 2x2x1 --halo direct --json 2>&1"), 0);
  assert_true(number_at(row_of("direct"), "messages_positions") == 3);
  assert_null(strstr(output, "\"schedule\": \"host\""));
}

static void two_processes_exchange(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  assert_int_equal(launch(MPIRUN_2, SMALL "--json 2>&1"), 0);
  output_is_json(); /* and so one process wrote it */
  assert_non_null(strstr(output, "\"transport\": \"mpi\""));
  check_counts(1, 1);
  check_sums();
  assert_int_equal(launch("env TG_NODE_SIZE=1 " MPIRUN_2, SMALL "--halo fused --json 2>&1"), 0);
  assert_true(number_at(row_of("fused"), "messages_forces") == 1);
  assert_int_equal(launch("env TG_NODE_SIZE=few " MPIRUN_2, SMALL "2>&1"), 2);
  assert_non_null(strstr(output, "TG_NODE_SIZE=few: a number"));
  assert_int_equal(launch(MPIRUN_2, SMALL "--pe 3 2>&1"), 2);
  assert_non_null(strstr(output, "2 processes"));
  assert_int_equal(launch("env ASAN_OPTIONS=detect_leaks=0", SMALL "--transport mpi 2>&1"), 2);
  assert_non_null(strstr(output, "mpirun -n 2"));
}

/* The table has its columns, a row for each schedule, and fits on a screen. */
static void the_table_fits(void** state) {
  (void)state;
  assert_int_equal(launch("", SMALL "2>&1"), 0);
  const char* head = strstr(output, "schedule transport");
  assert_non_null(head);
  static const char* const columns[] = {" us ", " +- ",   " x ",     " f ",     " msg ",
                                        " wt ", " GB/s ", " wait% ", " model ", " ratio\n"};
  for (size_t c = 0; c < sizeof columns / sizeof *columns; c++) {
    const char* at = strstr(head, columns[c]);
    if (!at || at > strchr(head, '\n')) fail_msg("no column%s", columns[c]);
  }
  int rows = 0;
  for (char* line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
    if (strlen(line) > 100) fail_msg("%zu columns: %s", strlen(line), line);
    for (int s = 0; s < SCHEDULES; s++)
      rows += strncmp(line, schedules[s], strlen(schedules[s])) == 0 && strstr(line, " loop ");
  }
  assert_int_equal(rows, 3 * SCHEDULES); /* 2x1x1, 2x2x1, 2x2x2 */
}

static void files_are_written(void** state) {
  (void)state;
  char line[1200];
  bool draws = system("gnuplot --version >/dev/null 2>&1") == 0;
  assert_int_equal(launch("", SMALL "--pe 2 -o files 2>&1"), 0);
  snprintf(line, sizeof line, "cat '%s/files/halo.jsonl'", folder);
  assert_int_equal(shell(line), 0);
  int lines = 0;
  for (const char* at = output; (at = strchr(at, '\n')); at++) lines++;
  assert_int_equal(lines, SCHEDULES);
  check_counts(1, 1);
  if (!draws) skip();
  snprintf(line, sizeof line, "cat '%s/files/halo.svg'", folder);
  assert_int_equal(shell(line), 0);
  assert_non_null(strstr(output, "<svg"));
  for (int s = 0; s < SCHEDULES; s++) assert_non_null(strstr(output, schedules[s]));
  assert_non_null(strstr(output, "floor"));
  assert_int_equal(launch("", SMALL "--pe 2 -o files --plot other.svg 2>&1"), 0);
  snprintf(line, sizeof line, "%s/files/other.svg", folder);
  assert_true(tg_path_exists(line));
}

static void mistakes_are_refused(void** state) {
  (void)state;
  static const struct {
    const char *words, *named;
    int code;
  } wrong[] = {{"--pe 1", "--pe 1: an exchange needs 2", 2},
               {"--pe 2x", "--pe 2x", 2},
               {"--pe 2x2", "2x2x1", 2},
               {"--pe 65", "at most 64", 2},
               {"--atoms 0", "--atoms 0", 2},
               {"--repeats 0", "--repeats 0", 2},
               {"--repeats 102", "1 to 101", 2},
               {"--gpus -1", "--gpus -1", 2},
               {"--reach 0", "--reach 0", 2},
               {"--flag-us 0", "--flag-us 0", 2},
               {"--deadline 0", "--deadline 0", 2},
               {"--deadline -1", "--deadline -1", 2},
               {"--deadline soon", "--deadline", 2},
               {"--bandwidth -2", "--bandwidth -2", 2},
               {"--fabric-latency 0", "--fabric-latency 0", 2},
               {"--gpus 0 --halo stream", "host, pulse, fused or direct", 2},
               {"--gpus 0 --transport nvshmem", "--transport nvshmem", 3},
               {"--gpus 0 --pe 2 --plot halo.pdf", "halo.pdf", 2},
               {"--model --json-lines halo.jsonl", "--json-lines", 2},
               {"--model --plot halo.svg", "--plot", 2},
               {"--model -o somewhere", "-o", 2},
               {"--trace a.json --json", "--json", 2},
               {"--model --pe 2", "--pe has no meaning with --model", 2},
               {"--model --gpus 1", "--gpus has", 2},
               {"--model --halo direct", "--halo has", 2},
               {"--model --repeats 3", "--repeats has", 2},
               {"--trace a.json --halo direct", "--halo has no meaning with --trace", 2},
               {"--trace a.json --flag-us 2", "--flag-us has", 2},
               {"--gpus 0 --bulk", "--bulk has no meaning with a measurement on CPUs", 2},
               {"--gpus 0 --force-return pull", "--force-return has", 2},
               {"--gpus 0 --halo-path put", "--halo-path has", 2},
               {"--trace a.json --plot halo.svg", "--plot", 2},
               {"--gpus 0 --pe 2 --json-lines no/such/halo.jsonl", "no/such", 2},
               {"--gpus 0 --pe 4x1x1 --atoms 1000 --reach 1.7", "1.7", 2}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char words[512];
    snprintf(words, sizeof words, "%s 2>&1", wrong[i].words);
    int code = launch("", words);
    if (code != wrong[i].code || !strstr(output, wrong[i].named))
      fail_msg("%s: exit status %d, %s", wrong[i].words, code, output);
  }
}

/* Nothing is measured for a picture that cannot be written. */
static void the_picture_has_its_place_first(void** state) {
  (void)state;
  if (system("gnuplot --version >/dev/null 2>&1") != 0) skip();
  assert_int_equal(launch("", SMALL "--pe 2 --plot /no/such/a.svg 2>&1"), 2);
  assert_non_null(strstr(output, "/no/such/a.svg: cannot be written"));
  assert_null(strstr(output, " us"));
  assert_null(strstr(output, "on CPUs"));
}

/* Of 64 threads some cannot keep a deadline that is over before a word is passed on. */
static void a_deadline_ends_the_run(void** state) {
  (void)state;
  static const char* const cases[] = {SMALL "--pe 4x4x4",
                                      "--gpus 0 --atoms 3000 --pe 4x4x4 --trace trace.json"};
  for (int i = 0; i < 2; i++) {
    char words[256];
    snprintf(words, sizeof words, "%s --deadline 1e-9 2>&1", cases[i]);
    assert_int_equal(launch("", words), 3);
    assert_non_null(strstr(output, " waited "));
    assert_non_null(strstr(output, "the deadline of 1e-09 s"));
  }
  assert_int_equal(launch("", SMALL "--deadline 30 --pe 2 --halo direct 2>&1"), 0);
  /* processes: PE 1 never comes */
  char words[256];
  snprintf(words, sizeof words, "env TG_PE=0 TG_PE_COUNT=2 TG_BOOTSTRAP=file:%s/meeting", folder);
  assert_int_equal(launch(words, SMALL "--deadline 0.2 2>&1"), 3);
  assert_non_null(strstr(output, "the deadline of 0.2 s"));
}

/* By hand, for constants that are easy to reckon with. */
static void the_model_adds_up(void** state) {
  (void)state;
  const tg_device_halo_constants c = {
      .flag_s = 1e-6, .launch_s = 4e-6, .node_s = 0.5e-6, .wait_s = 6e-6, .bytes_per_s = 1e11};
  const tg_bench_halo_fabric fabric = {.latency_s = 3e-6, .bytes_per_s = 1e10, .message_s = 1e-6};
  tg_bench_halo_prediction p;
  double edge = cbrt(45000 / 100.), bytes = 2 * 1.1 * edge * edge * 100 * 12;
  assert_int_equal(tg_bench_halo_predict(45000, 1.1, 4, 4, &c, NULL, &p), TG_OK);
  assert_true(p.grid[0] == 4 && p.pulses == 1 && p.neighbours == 1);
  assert_true(fabs(p.bytes - bytes) < 1e-9 * bytes);
  assert_true(fabs(p.fused_us - (2 * 1 + bytes * 1e-5 + 2 * 0.5)) < 1e-9);
  assert_true(fabs(p.direct_us - p.fused_us) < 1e-12);
  assert_true(fabs(p.host_us - (2 * 1 + bytes * 1e-5 + 4 * (4 + 6))) < 1e-9);
  assert_true(isinf(p.break_even_s));
  /* 6 x 4 x 3: three hops or one each way, three messages or seven */
  assert_int_equal(tg_bench_halo_predict(45000, 1.1, 72, 4, &c, &fabric, &p), TG_OK);
  assert_true(p.pulses == 3 && p.neighbours == 7);
  assert_true(fabs(p.fused_us - (2 * 3 * 3 + 2 * 3 * 1 + p.bytes * 1e-4 + 1)) < 1e-9);
  assert_true(fabs(p.direct_us - (2 * 3 + 2 * 7 * 1 + p.bytes * 1e-4 + 1)) < 1e-9);
  assert_true(fabs(p.break_even_s - 2 * 3e-6 / 4) < 1e-18);
  /* at the break-even the two are the same */
  tg_bench_halo_fabric even = fabric;
  even.message_s = p.break_even_s;
  assert_int_equal(tg_bench_halo_predict(45000, 1.1, 72, 4, &c, &even, &p), TG_OK);
  assert_true(fabs(p.fused_us - p.direct_us) < 1e-9);
  assert_int_equal(tg_bench_halo_predict(100, 1.1, 72, 4, &c, NULL, &p), TG_ERR_INPUT);
  tg_bench_halo_work work = {.hops = 6, .bytes = 1e5, .launches = 12, .waits = 12, .by_host = true};
  assert_true(fabs(tg_bench_halo_model_gpus(&c, &work).total_us - (6 + 1 + 48 + 72)) < 1e-9);
  work = (tg_bench_halo_work){.hops = 2, .bytes = 1e5, .launches = 2};
  assert_true(fabs(tg_bench_halo_model_gpus(&c, &work).total_us - (2 + 1 + 1)) < 1e-9);
}

static void the_model_needs_no_gpu(void** state) {
  (void)state;
  assert_int_equal(launch("",
                          "--model --atoms 45000 --flag-us 1 --bandwidth 100 --node-us 0.5 "
                          "--fabric-latency 3 --fabric-bandwidth 10 --fabric-message 1 --json "
                          "2>&1"),
                   0);
  output_is_json();
  assert_non_null(strstr(output, "\"measurements\": []"));
  const char* at = strstr(output, "\"gpus\": 4,");
  double bytes = number_at(at, "bytes");
  assert_true(fabs(number_at(at, "direct_us") - (3 + bytes * 1e-5)) < 1e-9);
  at = strstr(output, "\"gpus\": 72,");
  assert_non_null(at);
  at = strstr(at + 1, "\"gpus\": 72,"); /* over the fabric */
  assert_true(fabs(number_at(at, "fused_us") - (18 + 6 + number_at(at, "bytes") * 1e-4 + 1)) <
              1e-9);
  assert_int_equal(launch("", "--model 2>&1"), 0);
  assert_non_null(strstr(output, "not of this machine")); /* its constants are others' */
  assert_null(strstr(output, "schedule transport"));
  for (const char* line = output; line && *line; line = strchr(line, '\n')) {
    line += *line == '\n';
    assert_true(strcspn(line, "\n") <= 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_threads_exchange),
      cmocka_unit_test(eight_threads_exchange),
      cmocka_unit_test(two_processes_exchange),
      cmocka_unit_test(the_table_fits),
      cmocka_unit_test(files_are_written),
      cmocka_unit_test(mistakes_are_refused),
      cmocka_unit_test(the_picture_has_its_place_first),
      cmocka_unit_test(the_model_adds_up),
      cmocka_unit_test(the_model_needs_no_gpu),
      cmocka_unit_test(a_deadline_ends_the_run),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
