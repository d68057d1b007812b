/* SPDX-License-Identifier: Apache-2.0 */
/* --gpus, --pe and --halo of `throng bench md`: lists, of which every combination that fits is a
 * way to do whole steps. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/bench_md.h"
#include "cli/md_job.h"

enum { WORD = 32 };

/* The next word of a list; *at moves behind it and its comma. False: there is none. */
static bool next_word(const char** at, char word[WORD]) {
  const size_t length = strcspn(*at, ",");
  if (**at == '\0') return false;
  snprintf(word, WORD, "%.*s", (int)(length < WORD ? length : WORD - 1), *at);
  *at += length + ((*at)[length] == ',');
  return true;
}

static tg_status add(const tg_md_job* job, tg_bench_md_gpu_way* ways, int* count) {
  tg_bench_md_gpu_way way = {.gpus = job->gpus, .pe_count = job->pe_count, .halo = job->halo};
  if (*count == TG_CLI_BENCH_MD_WAYS)
    return tg_fail(TG_ERR_INPUT, "--gpus, --pe, --halo: more than %d combinations",
                   TG_CLI_BENCH_MD_WAYS);
  memcpy(way.grid, job->grid, sizeof way.grid);
  ways[(*count)++] = way;
  return TG_OK;
}

/* The exchange matters where there are several domains. */
static tg_status add_schedules(tg_md_job* job, const char* halo, tg_bench_md_gpu_way* ways,
                               int* count) {
  static const char* const all[] = {"host", "stream", "pulse", "fused", "direct"};
  const int* grid = job->grid;
  const int domains = grid[0] ? grid[0] * grid[1] * grid[2] : job->pe_count;
  job->halo = NULL;
  if ((domains ? domains : job->gpus) == 1) return add(job, ways, count);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!halo || (strcmp(halo, "all") != 0 && strcmp(halo, all[i]) != 0)) continue;
    job->halo = all[i];
    if (strcmp(halo, "all") == 0 && tg_device_choice_check(job) != TG_OK) continue;
    TG_TRY(add(job, ways, count));
  }
  return halo ? TG_OK : add(job, ways, count);
}

static tg_status add_domains(tg_md_job* job, const char* pe, const char* halo,
                             tg_bench_md_gpu_way* ways, int* count) {
  char word[WORD];
  if (!pe) return add_schedules(job, halo, ways, count);
  while (next_word(&pe, word)) {
    job->pe_count = 0;
    memset(job->grid, 0, sizeof job->grid);
    TG_TRY(tg_cli_md_parse_pe(word, job));
    const double cube[3] = {1, 1, 1};
    tg_device_choice fits;
    if (tg_device_choose(job, cube, 1, &fits) != TG_OK) continue; /* not with so many GPUs */
    TG_TRY(add_schedules(job, halo, ways, count));
  }
  return TG_OK;
}

tg_status tg_cli_bench_md_ways(const char* gpus, const char* pe, const char* halo,
                               tg_bench_md_gpu_way* ways, int* count) {
  const char *list = gpus ? gpus : "1", *at = list;
  char word[WORD];
  tg_md_job job;
  tg_md_job_default(&job);
  job.backend = "cuda";
  *count = 0;
  while (next_word(&at, word)) {
    if (!tg_parse_int(word, (int)strlen(word), &job.gpus) || job.gpus < 1 ||
        job.gpus > TG_DEVICE_MOST_CARDS)
      return tg_fail(TG_ERR_INPUT,
                     "--gpus %s: numbers from 1 to %d, parted by commas, were expected", list,
                     TG_DEVICE_MOST_CARDS);
    job.pe_count = 0;
    memset(job.grid, 0, sizeof job.grid);
    TG_TRY(add_domains(&job, pe, halo, ways, count));
  }
  if (*count > 0) return TG_OK;
  return tg_fail(
      TG_ERR_INPUT,
      "--gpus %s --pe %s: a number of domains that is a multiple of the GPUs, at most %d, "
      "was expected",
      list, pe ? pe : "", TG_DEVICE_MOST_DOMAINS);
}
