/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "comm/world.h"

static bool on_gpus(const tg_md_job* job) { return strcmp(job->backend, "cuda") == 0; }

static bool is(const char* word, const char* other) { return word && strcmp(word, other) == 0; }

static tg_status check_transport(const tg_md_job* job) {
  const char* transport = job->transport;
  if (!on_gpus(job) && is(transport, "nvshmem"))
    return tg_fail(TG_ERR_INPUT,
                   "transport \"nvshmem\": its memory lies on GPUs, which the backend %s does not "
                   "use; give loop, mpi or socket, or the backend cuda",
                   job->backend);
  if (!on_gpus(job) || !transport || is(transport, "loop") || is(transport, "nvshmem"))
    return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "transport \"%s\": steps on GPUs store into each other's memory; give loop (GPUs "
                 "of one process) or nvshmem (a process for each), or leave it out",
                 transport);
}

static tg_status check_halo(const tg_md_job* job) {
  static const char* const known[] = {"host", "stream", "pulse", "fused", "direct"};
  bool found = !job->halo;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    found = found || is(job->halo, known[i]);
  if (!found)
    return tg_fail(TG_ERR_INPUT,
                   "halo \"%s\": there are host, pulse, fused, direct, and on GPUs stream",
                   job->halo);
  if (!on_gpus(job) && is(job->halo, "stream"))
    return tg_fail(TG_ERR_INPUT,
                   "halo \"stream\": a schedule of GPUs, which the backend %s does not use; give "
                   "host, pulse, fused or direct",
                   job->backend);
  return TG_OK;
}

tg_status tg_device_choice_check(const tg_md_job* job) {
  if (job->gpus < 0) return tg_fail(TG_ERR_INPUT, "%d GPUs: at least 1 was expected", job->gpus);
  if (job->gpus > 0 && !on_gpus(job))
    return tg_fail(TG_ERR_INPUT, "%d GPU%s: the backend %s uses none; give the backend cuda too",
                   job->gpus, job->gpus == 1 ? "" : "s", job->backend);
  if (job->gpus > TG_DEVICE_MOST_CARDS)
    return tg_fail(TG_ERR_INPUT, "%d GPUs: at most %d share a system", job->gpus,
                   TG_DEVICE_MOST_CARDS);
  TG_TRY(check_transport(job));
  return check_halo(job);
}

const char* tg_device_choice_transport(const tg_md_job* job) {
  if (job->transport) return job->transport;
  return getenv("TG_BOOTSTRAP") || tg_world_under_launcher() ? "nvshmem" : "loop";
}

/* Of one domain, with a list radius of about 1 nm. */
static double halo_volume(const double box[3], const int grid[3]) {
  const double radius = 1;
  double home = 1, all = 1;
  for (int d = 0; d < 3; d++) {
    const double width = box[d] / grid[d];
    home *= width;
    all *= fmin(width + (grid[d] > 1 ? 2 * radius : 0), box[d]);
  }
  return all - home;
}

/* As many domains as cards: slabs along the longest edge, so that each card has two neighbours;
 * else the grid with the least halo. */
static void choose_grid(const double box[3], int count, int card_count, int grid[3]) {
  int longest = 0;
  for (int d = 1; d < 3; d++)
    if (box[d] > box[longest]) longest = d;
  for (int d = 0; d < 3; d++) grid[d] = d == longest ? count : 1;
  if (count == card_count) return;
  for (int a = 1; a <= count; a++)
    for (int b = 1; a * b <= count; b++) {
      const int other[3] = {a, b, count / (a * b)};
      if (a * b * other[2] != count || !(halo_volume(box, other) < halo_volume(box, grid)))
        continue;
      memcpy(grid, other, sizeof other);
    }
}

static tg_status count_cards(const tg_md_job* job, int process_count, int* out) {
  *out = job->gpus > 0 ? job->gpus : 1;
  if (process_count == 1) return TG_OK;
  if (job->gpus > 0 && job->gpus != process_count)
    return tg_fail(TG_ERR_INPUT,
                   "%d GPUs for %d processes, which have one each; leave the number of GPUs out",
                   job->gpus, process_count);
  if (process_count > TG_DEVICE_MOST_CARDS)
    return tg_fail(TG_ERR_INPUT, "%d processes with a GPU each: at most %d share a system",
                   process_count, TG_DEVICE_MOST_CARDS);
  *out = process_count;
  return TG_OK;
}

tg_status tg_device_choose(const tg_md_job* job, const double box[3], int process_count,
                           tg_device_choice* out) {
  TG_TRY(count_cards(job, process_count, &out->card_count));
  out->halo = job->halo ? job->halo : "direct";
  const int cards = out->card_count, *grid = job->grid;
  const long long product = (long long)grid[0] * grid[1] * grid[2];
  const long long count = product > 0 ? product : job->pe_count > 0 ? job->pe_count : cards;
  if (count > TG_DEVICE_MOST_DOMAINS)
    return tg_fail(TG_ERR_INPUT, "%lld domains: on GPUs there are at most %d", count,
                   TG_DEVICE_MOST_DOMAINS);
  if (count % cards != 0)
    return tg_fail(TG_ERR_INPUT,
                   "%lld domain%s on %d GPUs: each has as many as the others, so a multiple of %d "
                   "was expected, %lld say",
                   count, count == 1 ? "" : "s", cards, cards, (count / cards + 1) * cards);
  memcpy(out->grid, grid, sizeof out->grid);
  if (product == 0) choose_grid(box, (int)count, cards, out->grid);
  return TG_OK;
}
