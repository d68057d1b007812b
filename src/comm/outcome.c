/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/outcome.h"

#include <stdio.h>
#include <string.h>

const double tg_outcome_patience_s = 2;
enum { NAMED = 64 }; /* PEs whose silence is mentioned */

bool tg_outcome_abort(tg_outcome* outcome, tg_status status, int origin, const char* message) {
  if (outcome->aborted) return false;
  outcome->status = (int)status;
  outcome->origin = origin;
  strncpy(outcome->message, message, sizeof outcome->message - 1);
  outcome->aborted = 1;
  return true;
}

tg_status tg_outcome_aborted(const tg_outcome* outcome) {
  if (!outcome->aborted) return TG_OK;
  tg_set_last_error(outcome->message);
  return (tg_status)outcome->status;
}

static bool counts_more(const tg_outcome* a, const tg_outcome* b) {
  if (a->status == TG_OK) return false;
  if (b->status == TG_OK) return true;
  if (a->aborted != b->aborted) return a->aborted;
  return a->origin < b->origin;
}

static void add_silent(tg_outcome* outcome, int pe) {
  size_t used = strlen(outcome->message);
  snprintf(outcome->message + used, sizeof outcome->message - used,
           "; PE %d did not answer at the end of the run", pe);
}

bool tg_outcome_agree(tg_world* world, const tg_outcome* abort, tg_status status,
                      const tg_outcome_ways* ways, tg_outcome* outcome) {
  *outcome = *abort;
  if (!abort->aborted) {
    outcome->status = (int)status;
    outcome->origin = status == TG_OK ? TG_NO_PE : world->pe;
    if (status != TG_OK) strncpy(outcome->message, tg_last_error(), sizeof outcome->message - 1);
  }
  tg_outcome heard;
  if (world->pe != 0) {
    /* PE 0 may itself be waiting in vain, for one patience */
    bool told =
        ways->send(world, 0, outcome) && ways->receive(world, 0, 2 * tg_outcome_patience_s, &heard);
    if (told)
      *outcome = heard;
    else if (abort->aborted)
      *outcome = *abort, add_silent(outcome, 0);
    return told;
  }
  bool complete = true, silent[NAMED] = {false};
  for (int p = 1; p < world->pe_count; p++) {
    /* who comes after a silent one has had the time */
    if (!ways->receive(world, p, complete ? tg_outcome_patience_s : 0, &heard)) {
      complete = false;
      if (p < NAMED) silent[p] = true;
    } else if (counts_more(&heard, outcome)) {
      *outcome = heard;
    }
  }
  if (counts_more(abort, outcome)) *outcome = *abort; /* it came up while the others were heard */
  for (int p = 1; p < world->pe_count && p < NAMED; p++)
    if (silent[p]) add_silent(outcome, p);
  for (int p = 1; p < world->pe_count; p++) complete = ways->send(world, p, outcome) && complete;
  return complete;
}
