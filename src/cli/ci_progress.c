/* SPDX-License-Identifier: Apache-2.0 */
/* How long will it take? Residuals fall state by state, each roughly by a constant factor a product
 * once its turn has come; so the digits that all states together still have to lose fall about
 * linearly with the products, far more so than the worst residual does. A line through the looks of
 * the latest third is followed to zero. Nothing is said where the looks are few or the slope is
 * uncertain; what proves that no level is missing comes on top. */
#include "cli/ci_progress.h"

#include <math.h>
#include <string.h>

#include "base/timer.h"
#include "cli/ci_job.h"

enum { FEWEST_LOOKS = 5 };
static const double most_uncertain = 0.25; /* of the slope */

void tg_cli_ci_pace_note(tg_cli_ci_pace* pace, const tg_eigen_progress* p) {
  double digits = 0;
  if (p->phase != TG_EIGEN_MAIN || p->known < p->states) return;
  for (int i = 0; i < p->known; i++)
    if (p->residuals[i] > p->tolerance) digits += log10(p->residuals[i] / p->tolerance);
  if (pace->count && pace->digits[pace->count - 1] == digits) return; /* the same look */
  if (pace->count == TG_CLI_CI_LOOKS) { /* every other one of the older half is enough */
    const int half = TG_CLI_CI_LOOKS / 2;
    for (int i = 0; i < half / 2; i++) {
      pace->products[i] = pace->products[2 * i];
      pace->digits[i] = pace->digits[2 * i];
    }
    memmove(pace->products + half / 2, pace->products + half, (size_t)half * sizeof(double));
    memmove(pace->digits + half / 2, pace->digits + half, (size_t)half * sizeof(double));
    pace->count = half / 2 + half;
  }
  pace->products[pace->count] = (double)p->products;
  pace->digits[pace->count++] = digits;
}

double tg_cli_ci_pace_left(const tg_cli_ci_pace* pace) {
  if (pace->count < FEWEST_LOOKS) return NAN;
  const double last = pace->products[pace->count - 1];
  const double digits = pace->digits[pace->count - 1];
  int first = pace->count - FEWEST_LOOKS;
  while (first > 0 && pace->products[first - 1] >= last * 2 / 3) first--;
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  for (int i = first; i < pace->count; i++) {
    const double dx = pace->products[i] - last, dy = pace->digits[i];
    n += 1, x += dx, y += dy, xx += dx * dx, xy += dx * dy, yy += dy * dy;
  }
  const double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
  const double slope = sxy / sxx;
  const double error = sqrt(fmax(syy - slope * sxy, 0) / (n - 2) / sxx);
  if (!(slope < 0) || !(error <= most_uncertain * -slope)) return NAN;
  return digits / -slope;
}

static void write_time(double seconds, char* out, size_t size) {
  const long s = (long)(seconds + 0.5);
  if (s < 3600)
    snprintf(out, size, "%ld:%02ld", s / 60, s % 60);
  else
    snprintf(out, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

/* "positive parity: 120 products, 4 of 10 states  -87.10445 -85.60215 MeV  residual 3e-02 ..." */
static void compose(const tg_cli_ci_progress* c, const tg_ci_problem* problem,
                    const tg_eigen_progress* p, char* out, size_t size) {
  static const char* const phases[] = {[TG_EIGEN_MAIN] = "",
                                       [TG_EIGEN_CHECK] = ", looking for missed levels",
                                       [TG_EIGEN_VERIFY] = ", checking residuals",
                                       [TG_EIGEN_DONE] = ", done"};
  char symmetry[64], words[32];
  double worst = 0;
  tg_cli_ci_symmetry(problem, problem->sectors[c->sector], symmetry, sizeof symmetry);
  int used = snprintf(out, size, "%s: %lld products%s, %d of %d states", symmetry,
                      (long long)p->products, phases[p->phase], p->converged, p->states);
  for (int i = 0; i < p->known && i < 3; i++)
    used += snprintf(out + used, size - (size_t)used, "%s%.5f", i ? " " : "  ", p->values[i]);
  for (int i = 0; i < p->known; i++) worst = fmax(worst, p->residuals[i]);
  if (p->known)
    used += snprintf(out + used, size - (size_t)used, " %s, residual %.0e",
                     tg_ci_problem_unit(problem), worst);
  write_time(p->seconds, words, sizeof words);
  used += snprintf(out + used, size - (size_t)used, "  %s", words);
  const double left = tg_cli_ci_pace_left(&c->pace);
  if (p->phase != TG_EIGEN_MAIN || isnan(left) || p->products == 0) return;
  write_time(p->seconds * left / (double)p->products, words, sizeof words);
  snprintf(out + used, size - (size_t)used, ", about %s left", words);
}

tg_status tg_cli_ci_progress_show(void* context, const tg_ci_problem* problem, size_t sector,
                                  const tg_eigen_progress* p) {
  tg_cli_ci_progress* c = context;
  char words[512];
  const double now = tg_time_now();
  const bool turned = p->phase == TG_EIGEN_DONE && c->phase != TG_EIGEN_DONE;
  if (sector != c->sector) {
    c->sector = sector;
    c->pace.count = 0;
  }
  c->phase = (int)p->phase;
  tg_cli_ci_pace_note(&c->pace, p);
  const bool line = c->lines && (turned || now >= c->next);
  if (!c->terminal && !line) return TG_OK;
  compose(c, problem, p, words, sizeof words);
  if (line) {
    fprintf(c->lines, "%s\n", words);
    fflush(c->lines);
    c->next = now + c->pause;
  }
  if (c->terminal) {
    fprintf(c->terminal, "\r%s\033[K", words);
    fflush(c->terminal);
  }
  return TG_OK;
}

void tg_cli_ci_progress_end(tg_cli_ci_progress* c) {
  if (c->terminal) fputs("\r\033[K", c->terminal);
}
