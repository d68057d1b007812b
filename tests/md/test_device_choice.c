/* SPDX-License-Identifier: Apache-2.0 */
/* Domains for GPUs: what does not fit is refused by name, what is left out is chosen. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "md/device_choice.h"

static const double cube[3] = {8, 8, 8}, flat[3] = {16, 32, 8}, large[3] = {16, 16, 16};

static tg_md_job job_of(int gpus, int pe_count, int x, int y, int z) {
  tg_md_job job;
  tg_md_job_default(&job);
  job.backend = "cuda";
  job.gpus = gpus;
  job.pe_count = pe_count;
  job.grid[0] = x;
  job.grid[1] = y;
  job.grid[2] = z;
  return job;
}

static void expect_grid(const tg_md_job* job, const double* box, int processes, int cards, int x,
                        int y, int z) {
  tg_device_choice choice;
  assert_int_equal(tg_device_choose(job, box, processes, &choice), TG_OK);
  assert_int_equal(choice.card_count, cards);
  assert_int_equal(choice.grid[0], x);
  assert_int_equal(choice.grid[1], y);
  assert_int_equal(choice.grid[2], z);
  assert_string_equal(choice.halo, "direct");
}

static void a_domain_for_each_gpu_is_a_slab(void** state) {
  (void)state;
  for (int gpus = 1; gpus <= TG_DEVICE_MOST_CARDS; gpus++) {
    const tg_md_job job = job_of(gpus, 0, 0, 0, 0), alone = job_of(0, 0, 0, 0, 0);
    expect_grid(&job, cube, 1, gpus, gpus, 1, 1);
    expect_grid(&job, flat, 1, gpus, 1, gpus, 1);
    expect_grid(&alone, flat, gpus, gpus, 1, gpus, 1); /* processes */
  }
}

static void several_domains_have_little_halo(void** state) {
  (void)state;
  const tg_md_job eight = job_of(2, 8, 0, 0, 0), four = job_of(1, 4, 0, 0, 0);
  const tg_md_job given = job_of(2, 0, 1, 2, 3), both = job_of(0, 6, 1, 2, 3);
  /* 1 nm around a domain of 16 x 8 x 4: 16 x 10 x 6 - 512; of 8 x 8 x 8: 10 x 10 x 10 - 512 */
  expect_grid(&eight, large, 1, 2, 1, 2, 4);
  /* of 16 x 8 x 8: 16 x 10 x 8 - 1024; of 8 x 16 x 8: 10 x 18 x 8 - 1024 */
  expect_grid(&four, flat, 1, 1, 1, 4, 1);
  expect_grid(&given, cube, 1, 2, 1, 2, 3);
  expect_grid(&both, cube, 2, 2, 1, 2, 3);
}

static void expect_refusal(tg_md_job job, int processes, const char* words) {
  tg_device_choice choice;
  tg_status status = tg_device_choice_check(&job);
  if (status == TG_OK) status = tg_device_choose(&job, cube, processes, &choice);
  assert_int_equal(status, TG_ERR_INPUT);
  if (!strstr(tg_last_error(), words))
    fail_msg("'%s' was expected in '%s'", words, tg_last_error());
}

static void what_does_not_fit_is_refused(void** state) {
  (void)state;
  expect_refusal(job_of(3, 0, 2, 2, 1), 1, "4 domains on 3 GPUs");
  expect_refusal(job_of(2, 1, 0, 0, 0), 1, "1 domain on 2 GPUs");
  expect_refusal(job_of(2, 17, 0, 0, 0), 1, "at most 16");
  expect_refusal(job_of(1, 0, 1024, 1024, 1024), 1, "1073741824 domains");
  expect_refusal(job_of(2, 0, 0, 0, 0), 4, "2 GPUs for 4 processes");
  expect_refusal(job_of(0, 0, 0, 0, 0), 9, "9 processes");
  expect_refusal(job_of(9, 0, 0, 0, 0), 1, "at most 8");
  expect_refusal(job_of(-1, 0, 0, 0, 0), 1, "-1 GPUs");
  tg_md_job job = job_of(2, 0, 0, 0, 0);
  job.transport = "socket";
  expect_refusal(job, 1, "give loop");
  job.transport = NULL;
  job.halo = "pigeon";
  expect_refusal(job, 1, "halo \"pigeon\"");
  job.halo = NULL;
  job.backend = "omp";
  expect_refusal(job, 1, "the backend omp uses none");
}

static void gpus_have_all_schedules(void** state) {
  (void)state;
  static const char* const names[] = {"host", "stream", "pulse", "fused", "direct"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    tg_device_choice choice;
    tg_md_job job = job_of(2, 0, 0, 0, 0);
    job.halo = names[i];
    assert_int_equal(tg_device_choice_check(&job), TG_OK);
    assert_int_equal(tg_device_choose(&job, cube, 1, &choice), TG_OK);
    assert_string_equal(choice.halo, names[i]);
  }
  tg_md_job job = job_of(0, 0, 0, 0, 0);
  job.backend = "omp";
  job.halo = "stream";
  expect_refusal(job, 1, "halo \"stream\"");
}

static void processes_get_the_transport_of_gpus(void** state) {
  (void)state;
  tg_md_job job = job_of(2, 0, 0, 0, 0);
  unsetenv("TG_BOOTSTRAP");
  unsetenv("OMPI_COMM_WORLD_SIZE");
  assert_string_equal(tg_device_choice_transport(&job), "loop");
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  assert_string_equal(tg_device_choice_transport(&job), "nvshmem");
  job.transport = "loop";
  assert_string_equal(tg_device_choice_transport(&job), "loop");
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_domain_for_each_gpu_is_a_slab),
      cmocka_unit_test(several_domains_have_little_halo),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(gpus_have_all_schedules),
      cmocka_unit_test(processes_get_the_transport_of_gpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
