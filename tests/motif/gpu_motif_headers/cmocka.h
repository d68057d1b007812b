/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/motif/gpu_motif_headers/cmocka.h  What the motifs' tests use of cmocka, for machines
 * that lack it: gpu_motif.cu runs them with this on the folder list instead, and
 * tests/ci/gpu_slices.cu those of OpenACC's part of ci. A test goes on after a failed assertion, so
 * that one run tells of every version that is wrong; it ends after 20. TG_TEST_ONLY names the tests
 * that are to run, parted by commas, so that each can be given a time limit.
 */
#ifndef TG_TESTS_MOTIF_GPU_MOTIF_HEADERS_CMOCKA_H
#define TG_TESTS_MOTIF_GPU_MOTIF_HEADERS_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* what main becomes in the files that are included twice in a build */
int tg_test_pairs_main(void);
int tg_test_scan_reduce_main(void);
int tg_test_slices_main(void);
int tg_test_vectors_acc_main(void);

struct CMUnitTest {
  const char* name;
  void (*run)(void** state);
};
#define cmocka_unit_test(function)                                                                 \
  { #function, function }

static jmp_buf plain_end;
static int plain_failures; /* of the running test */

__attribute__((format(printf, 1, 2))) static inline void plain_fail(const char* format, ...) {
  va_list args;
  va_start(args, format);
  printf("    not so: ");
  vprintf(format, args);
  printf("\n");
  va_end(args);
  if (++plain_failures == 20) longjmp(plain_end, 1);
}

#define plain_check(right, words)                                                                  \
  do {                                                                                             \
    if (!(right)) plain_fail("%s:%d: %s", __FILE__, __LINE__, words);                              \
  } while (0)

#define fail_msg(...) plain_fail(__VA_ARGS__)
#define skip() longjmp(plain_end, 2)
#define assert_true(a) plain_check(a, #a)
#define assert_null(a) plain_check((a) == NULL, #a " is NULL")
#define assert_non_null(a) plain_check((a) != NULL, #a " is not NULL")
#define assert_int_equal(a, b) plain_check((a) == (b), #a " == " #b)
#define assert_ptr_equal(a, b) plain_check((a) == (b), #a " == " #b)
#define assert_memory_equal(a, b, n) plain_check(memcmp(a, b, n) == 0, #a ", " #b " the same bits")
#define assert_string_equal(a, b) plain_check(strcmp(a, b) == 0, #a " == " #b)
#define assert_string_not_equal(a, b) plain_check(strcmp(a, b) != 0, #a " != " #b)

/* Is the test among those that TG_TEST_ONLY names, if it does? */
static inline int plain_wanted(const char* test) {
  const char* rest = getenv("TG_TEST_ONLY");
  if (rest == NULL) return 1;
  while (*rest != '\0') {
    const size_t length = strcspn(rest, ",");
    if (length == strlen(test) && strncmp(rest, test, length) == 0) return 1;
    rest += length + (rest[length] == ',');
  }
  return 0;
}

/* The number of tests that failed. */
#define cmocka_run_group_tests(tests, before, after)                                               \
  plain_run(tests, sizeof(tests) / sizeof *(tests))
static inline int plain_run(const struct CMUnitTest* tests, size_t count) {
  static volatile size_t i, failed;
  for (i = 0, failed = 0; i < count; i++) {
    if (!plain_wanted(tests[i].name)) continue;
    plain_failures = 0;
    const int how = setjmp(plain_end);
    if (how == 0) tests[i].run(NULL);
    if (plain_failures > 0) failed++;
    printf("%-8s %s\n",
           plain_failures > 0 ? "FAILED"
           : how == 2         ? "skipped"
                              : "passed",
           tests[i].name);
    fflush(stdout);
  }
  return (int)failed;
}

#endif
