/* SPDX-License-Identifier: Apache-2.0 */
/* The motifs' tests, which are written over the table of backends, on the GPU: test_pairs.c and
 * test_scan_reduce.c once more, without cmocka. Exits with 77 where there is no GPU.
 *
 *   motif_gpu_motif            all tests, of cuda or of $TG_TEST_BACKEND (tests/motif/tables.h)
 *   motif_gpu_motif versions   the versions that the backend does not refuse, a line each: of which
 *                              motif, a tabulator, and the name; for running them one by one */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "motif/table.h"

extern "C" int tg_test_pairs_main(void);
extern "C" int tg_test_scan_reduce_main(void);

/* A name that two lists have (a fill may be called as its filter) is one line. */
static void say(const char* motif, const char* name, const char* refusal) {
  static char before[8192];
  char line[160];
  snprintf(line, sizeof line, "%s\t%s\n", motif, name);
  if (refusal != NULL || strstr(before, line) != NULL) return;
  if (strlen(before) + strlen(line) < sizeof before) strcat(before, line);
  fputs(line, stdout);
}

#define SAY_ALL(type, list, motif, argument)                                                       \
  for (const type* v = (list); v != NULL && v->name != NULL; v++)                                  \
  say(motif, v->name, v->refuses != NULL ? v->refuses(argument) : NULL)

static int say_versions(const char* backend) {
  const tg_motif_table* t = tg_motif_table_find(backend);
  if (t == NULL || (t->check != NULL && t->check() != TG_OK)) {
    fprintf(stderr, "%s: %s\n", backend, t == NULL ? "there is no such backend" : tg_last_error());
    return 1;
  }
  SAY_ALL(tg_filter_version, t->filters, "pairs", NULL);
  SAY_ALL(tg_fill_version, t->fills, "pairs", NULL);
  SAY_ALL(tg_collect_version, t->collects, "pairs", NULL);
  SAY_ALL(tg_expect_version, t->expects, "pairs", NULL);
  SAY_ALL(tg_scan_version, t->scans, "scan", );
  SAY_ALL(tg_reduce_version, t->reduces, "reduce", 0);
  SAY_ALL(tg_dense_version, t->denses, "dense", 0);
  return 0;
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  setenv("TG_TEST_BACKEND", "cuda", 0); /* the others' tests run elsewhere */
  if (argc > 1 && strcmp(argv[1], "versions") == 0) return say_versions(getenv("TG_TEST_BACKEND"));
  const int failed = tg_test_pairs_main() + tg_test_scan_reduce_main();
  printf("%d failed\n", failed);
  return failed ? 1 : 0;
}
