/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_times.h"

#include <stdbool.h>
#include <string.h>

#include "md/device_step.h"

enum { ANY = 0xFF, SUMS = TG_STEP_ENERGY | TG_STEP_COUPLE | TG_STEP_COMM };

/* Whether step i is like most: behind an update, which left no energies, and alone with its forces
 * and its update, which leaves no sums for the next. */
static bool is_plain(const unsigned char* flags, int i) {
  return i > 0 && (flags[i - 1] & (TG_STEP_ENERGY | TG_STEP_FRAME)) == 0 && (flags[i] & ANY) == 0 &&
         (flags[i + 1] & SUMS) == 0;
}

/* Whether the beginning of step i's forces is that of the step. */
static bool begins_alike(const unsigned char* flags, int i) {
  return (flags[i] & ~(TG_STEP_COUPLE | TG_STEP_COMM)) == 0;
}

static bool may_count(const unsigned char* flags, int count, int i) {
  return i + 1 < count && is_plain(flags, i) && begins_alike(flags, i + 1);
}

int tg_times_choose(const unsigned char* flags, int count, signed char* place) {
  int pairs = 0, seen = 0, taken = 0;
  memset(place, -1, (size_t)count);
  for (int i = 0; i < count; i++)
    if (may_count(flags, count, i)) pairs++, i++;
  if (pairs == 0) return 0;
  const int each = (pairs + TG_TIMED_STEPS / 2 - 1) / (TG_TIMED_STEPS / 2);
  for (int i = 0; i < count; i++) {
    if (!may_count(flags, count, i)) continue;
    if (seen++ % each == 0) {
      place[i] = (signed char)taken++;
      place[i + 1] = (signed char)taken++;
    }
    i++;
  }
  return taken;
}
