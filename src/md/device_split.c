/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that do nothing besides moving are timed in the run itself (md/device_times.h). What a step
 * with energies or sums takes more is the difference of kernels measured by themselves when the run
 * is over, as are all parts of runs so short that no step was timed. */
#include "md/device_split.h"

#include <math.h>
#include <stdio.h>

/* By themselves, us. */
typedef struct alone {
  double list[TG_DEVICE_MD_STAGES], step[TG_DEVICE_STEP_STAGES];
} alone;

static tg_status measure_alone(tg_device_md* md, tg_device_step* step, alone* us) {
  for (int i = 0; i < TG_DEVICE_STEP_STAGES; i++) /* first, while forces are 0: atoms just fly */
    TG_TRY(tg_device_step_measure(step, (tg_device_step_stage)i, &us->step[i]));
  for (int i = 0; i < TG_DEVICE_MD_STAGES; i++)
    TG_TRY(tg_device_md_measure(md, (tg_device_md_stage)i, 10, 5, &us->list[i]));
  return TG_OK;
}

/* Where planes have got to. */
static tg_status log_balance(const tg_run* run, const tg_device_md* md) {
  const int* grid = run->devices.grid;
  tg_device_balance b;
  char line[3 * TG_DEVICE_NUMBERED * 12];
  int length = 0;
  TG_TRY(tg_device_md_get_balance(md, &b));
  for (int d = 0; d < 3; d++) {
    const uint32_t count = (uint32_t)grid[d];
    if (count == 1) continue;
    length += snprintf(line + length, sizeof line - (size_t)length, "%s %c", length > 0 ? "," : "",
                       "xyz"[d]);
    for (uint32_t k = 0; k < count; k++) {
      const double end = (double)tg_balance_end(b.planes.at[d], count, k);
      length += snprintf(line + length, sizeof line - (size_t)length, " %.3f",
                         (end - b.planes.at[d][k]) * 0x1p-32 * run->system->box[d]);
    }
  }
  tg_output_log(run->output,
                "balance: planes moved at %lld searches; the longest time of a domain by the mean "
                "%.3f at first, %.3f at last; layers are thick, nm:%s",
                b.moves, b.first, b.last, line);
  return TG_OK;
}

/* All processes' domains, and the largest of their parts. */
static tg_status gather(tg_world* processes, tg_device_step_times* t) {
  enum { PARTS = 15, WORDS = PARTS + TG_DEVICE_NUMBERED };
  double* part[PARTS] = {&t->whole,   &t->local,  &t->exposed, &t->halo,     &t->tail,
                         &t->bonded,  &t->update, &t->between, &t->work[0],  &t->work[1],
                         &t->work[2], &t->search, &t->prune,   &t->exchange, &t->longest};
  int64_t words[WORDS] = {0};
  if (!processes) return TG_OK;
  for (int i = 0; i < PARTS; i++) words[i] = llround(1e6 * *part[i]); /* ps */
  for (int d = 0; d < TG_DEVICE_NUMBERED; d++) words[PARTS + d] = llround(1e6 * t->domain[d]);
  TG_TRY(tg_world_max_int64(processes, words, WORDS));
  for (int i = 0; i < PARTS; i++) *part[i] = 1e-6 * (double)words[i];
  for (int d = 0; d < TG_DEVICE_NUMBERED; d++) t->domain[d] = 1e-6 * (double)words[PARTS + d];
  return TG_OK;
}

static void split_alone(const tg_run* run, const tg_device_done* done, const alone* us) {
  double* part = run->domain->part_s;
  const double steps = (double)run->steps_done, energies = (double)done->energy_steps;
  const double sums = (double)done->sum_steps, searches = (double)done->searches;
  /* what bonded forces add, which the kernel with energies was measured without */
  const double bonded = fmax(0, us->step[TG_DEVICE_STEP_FORCES] - us->list[TG_DEVICE_MD_FORCES]);
  part[TG_PART_SEARCH] =
      1e-6 * (searches * (us->list[TG_DEVICE_MD_SORT] + us->list[TG_DEVICE_MD_LIST]) +
              (searches + (double)done->prunings) * us->list[TG_DEVICE_MD_PRUNE]);
  part[TG_PART_NONBONDED] = 1e-6 * ((steps - energies) * us->step[TG_DEVICE_STEP_FORCES] +
                                    energies * (us->list[TG_DEVICE_MD_ENERGIES] + bonded));
  part[TG_PART_UPDATE] = 1e-6 * ((steps - sums) * us->step[TG_DEVICE_STEP_UPDATE] +
                                 sums * us->step[TG_DEVICE_STEP_UPDATE_SUMS]);
}

static void split_timed(const tg_run* run, const tg_device_done* done, const alone* us,
                        const tg_device_step_times* t) {
  double* part = run->domain->part_s;
  const double steps = (double)run->steps_done;
  const double search = t->search > 0 ? t->search
                                      : us->list[TG_DEVICE_MD_SORT] + us->list[TG_DEVICE_MD_LIST] +
                                            us->list[TG_DEVICE_MD_PRUNE];
  const double prune = t->prune > 0 ? t->prune : us->list[TG_DEVICE_MD_PRUNE];
  const double energies = fmax(0, us->list[TG_DEVICE_MD_ENERGIES] - us->list[TG_DEVICE_MD_FORCES]);
  const double sums =
      fmax(0, us->step[TG_DEVICE_STEP_UPDATE_SUMS] - us->step[TG_DEVICE_STEP_UPDATE]);
  part[TG_PART_SEARCH] = 1e-6 * ((double)done->searches * search + (double)done->prunings * prune);
  part[TG_PART_HALO] = 1e-6 * steps * (t->exposed + t->exchange);
  part[TG_PART_NONBONDED] = 1e-6 * (steps * (t->work[TG_DEVICE_LOCAL] + t->work[TG_DEVICE_HALO]) +
                                    (double)done->energy_steps * energies);
  part[TG_PART_BONDED] = 1e-6 * steps * t->work[TG_DEVICE_BONDED];
  part[TG_PART_UPDATE] = 1e-6 * (steps * t->update + (double)done->sum_steps * sums);
}

static void log_alone(tg_output* out, const alone* us) {
  tg_output_log(
      out,
      "\nGPU kernels by themselves, us: sort %.1f, search %.1f, prune %.1f, forces %.1f (pairs "
      "alone %.1f, with energies %.1f), update and constraints %.1f (with sums %.1f), sums %.1f; "
      "forces and update %.1f, overlapping %.1f",
      us->list[TG_DEVICE_MD_SORT], us->list[TG_DEVICE_MD_LIST], us->list[TG_DEVICE_MD_PRUNE],
      us->step[TG_DEVICE_STEP_FORCES], us->list[TG_DEVICE_MD_FORCES],
      us->list[TG_DEVICE_MD_ENERGIES], us->step[TG_DEVICE_STEP_UPDATE],
      us->step[TG_DEVICE_STEP_UPDATE_SUMS], us->step[TG_DEVICE_STEP_REDUCE],
      us->step[TG_DEVICE_STEP_SERIAL], us->step[TG_DEVICE_STEP_CHAIN]);
}

static void log_timed(tg_output* out, const tg_device_step_times* t, int domains) {
  tg_output_log(out,
                "GPU timers, %d timed steps, us: %.2f a step: local pairs to %.2f, exposed wait "
                "for other GPUs %.2f, pairs with halo atoms after it %.2f, bonded interactions "
                "after these %.2f, update and constraints %.2f, exchange by itself %.2f, between "
                "kernels %.2f",
                t->steps, t->whole, t->local, t->exposed, t->halo, t->tail, t->update, t->exchange,
                t->between);
  tg_output_log(out,
                "as warps share them: local pairs %.2f, pairs with halo atoms %.2f, bonded "
                "interactions %.2f; a search %.1f, a pruning %.1f",
                t->work[TG_DEVICE_LOCAL], t->work[TG_DEVICE_HALO], t->work[TG_DEVICE_BONDED],
                t->search, t->prune);
  if (domains == 1) return;
  char line[TG_DEVICE_NUMBERED * 12];
  int length = 0;
  double most = 0, sum = 0;
  for (int d = 0; d < domains; d++) {
    length += snprintf(line + length, sizeof line - (size_t)length, " %.2f", t->domain[d]);
    most = fmax(most, t->domain[d]);
    sum += t->domain[d];
  }
  tg_output_log(
      out, "forces and update of each domain, us of the whole GPU:%s; the longest by the mean %.3f",
      line, sum > 0 ? most * domains / sum : 1);
}

tg_status tg_device_split(tg_run* run, tg_device_md* md, tg_device_step* step,
                          const tg_device_done* done) {
  const int* grid = run->devices.grid;
  const double steps = fmax((double)run->steps_done, 1);
  tg_device_step_times t;
  alone us;
  long long kernels, waits;
  TG_TRY(tg_device_step_times_of(step, &t));
  TG_TRY(gather(run->processes, &t));
  TG_TRY(measure_alone(md, step, &us));
  if (t.steps > 0)
    split_timed(run, done, &us, &t);
  else
    split_alone(run, done, &us);
  run->domain->part_s[TG_PART_OUTPUT] = done->idle_s;
  tg_device_step_launches(step, &kernels, &waits);
  log_alone(run->output, &us);
  if (t.steps > 0) log_timed(run->output, &t, grid[0] * grid[1] * grid[2]);
  if (run->job->balance) TG_TRY(log_balance(run, md));
  tg_output_log(run->output, "the split below is made of %s; what overlaps makes \"other\" smaller",
                t.steps > 0 ? "the timed steps, and of kernels by themselves for what steps with "
                              "energies take more"
                            : "kernels by themselves, as no step was timed");
  tg_output_log(run->output,
                "%lld kernels in graphs (%.2f a step), %lld waits of the host; %.1f us a step "
                "without the files that the GPU waited for",
                kernels, (double)kernels / steps, waits,
                1e6 * (run->result.wall_s - done->idle_s) / steps);
  return TG_OK;
}
