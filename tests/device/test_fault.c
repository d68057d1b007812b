/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of each fault of a GPU: the facts it rests on, and what to do. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <string.h>

#include "device/fault.h"

static const size_t gib = (size_t)1 << 30;

static tg_device_facts some_facts(void) {
  return (tg_device_facts){.device = 3,
                           .name = "NVIDIA Something",
                           .what = "computing",
                           .words = "it went wrong (cudaErrorOfSomeKind)",
                           .driver = 12040,
                           .runtime = 13000,
                           .compute_major = 7,
                           .compute_minor = 5};
}

static void says(tg_device_fault fault, const tg_device_facts* facts, const char* const* words) {
  assert_int_equal(tg_device_fail(fault, facts), TG_ERR_MACHINE);
  const char* message = tg_last_error();
  for (int i = 0; words[i]; i++)
    if (!strstr(message, words[i])) fail_msg("no \"%s\" in: %s", words[i], message);
}

#define SAYS(fault, facts, ...) says(fault, facts, (const char* const[]){__VA_ARGS__, NULL})

static void every_fault_names_gpu_and_deed(void** state) {
  (void)state;
  for (int fault = TG_FAULT_MEMORY; fault <= TG_FAULT_OTHER; fault++) {
    tg_device_facts facts = some_facts();
    SAYS((tg_device_fault)fault, &facts, "GPU 3 (NVIDIA Something): computing: ");
    facts.name = NULL; /* a lost GPU does not even say its name */
    SAYS((tg_device_fault)fault, &facts, "GPU 3: computing: ");
    if (fault != TG_FAULT_MEMORY)
      SAYS((tg_device_fault)fault, &facts, fault == TG_FAULT_OTHER ? facts.words : "cudaErrorOf");
  }
}

static void memory_is_accounted_for(void** state) {
  (void)state;
  tg_device_facts facts = some_facts();
  facts.what = "memory for atoms and lists";
  facts.wanted_bytes = 3 * gib + gib / 2;
  facts.free_bytes = 2 * gib;
  facts.own_bytes = gib / 4;
  facts.total_bytes = facts.free_bytes + facts.own_bytes + gib / 2;
  SAYS(TG_FAULT_MEMORY, &facts, "atoms and lists", "3.5 GiB are wanted",
       "2.0 GiB of 2.8 GiB are free", "throng holds 256.0 MiB", "fewer atoms",
       "CUDA_VISIBLE_DEVICES");
  assert_null(strstr(tg_last_error(), "other programs")); /* half a GiB is the driver's */
  facts.total_bytes = facts.free_bytes + facts.own_bytes + 77 * gib;
  SAYS(TG_FAULT_MEMORY, &facts, "other programs 77.0 GiB", "nvidia-smi");
  facts.wanted_bytes = 0; /* CUDA's own need, which nobody knows */
  tg_device_fail(TG_FAULT_MEMORY, &facts);
  assert_null(strstr(tg_last_error(), "wanted"));
  facts.free_bytes = 12;
  SAYS(TG_FAULT_MEMORY, &facts, "12 bytes of ");
}

static void a_busy_gpu_says_why(void** state) {
  (void)state;
  tg_device_facts facts = some_facts();
  SAYS(TG_FAULT_BUSY, &facts, "another program may have it");
  facts.exclusive = 1;
  SAYS(TG_FAULT_BUSY, &facts, "compute mode", "one process at a time", "CUDA_VISIBLE_DEVICES");
}

static void versions_and_architectures_are_named(void** state) {
  (void)state;
  const tg_device_facts facts = some_facts();
  SAYS(TG_FAULT_OLD_DRIVER, &facts, "serves CUDA 12.4", "built with 13.0", "newer driver");
  SAYS(TG_FAULT_NO_KERNEL, &facts, "capability 7.5", "-DCMAKE_CUDA_ARCHITECTURES=75");
  SAYS(TG_FAULT_NO_GPU, &facts, "nvidia-smi", "CUDA_VISIBLE_DEVICES");
  SAYS(TG_FAULT_LOST, &facts, "Xid", "--continue");
  SAYS(TG_FAULT_KERNEL, &facts, "report it");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_fault_names_gpu_and_deed),
      cmocka_unit_test(memory_is_accounted_for),
      cmocka_unit_test(a_busy_gpu_says_why),
      cmocka_unit_test(versions_and_architectures_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
