/* SPDX-License-Identifier: Apache-2.0 */
/* The motifs' tests, which are written over the table of backends, on the GPU: test_pairs.c and
 * test_scan_reduce.c once more, without cmocka. Exits with 77 where there is no GPU. */
#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"

extern "C" int tg_test_pairs_main(void);
extern "C" int tg_test_scan_reduce_main(void);

int main(void) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  setenv("TG_TEST_BACKEND", "cuda", 0); /* the others' tests run elsewhere */
  const int failed = tg_test_pairs_main() + tg_test_scan_reduce_main();
  printf("%d failed\n", failed);
  return failed ? 1 : 0;
}
