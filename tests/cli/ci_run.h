/* SPDX-License-Identifier: Apache-2.0 */
/** @file tests/cli/ci_run.h  Runs `throng ci` and reads its JSON, and the cases of the reference
 * where that is at hand. */
#ifndef TG_TESTS_CLI_CI_RUN_H
#define TG_TESTS_CLI_CI_RUN_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define CI_SHARED TG_SOURCE_DIR "/../shared/data/ci/"
#define CI_NUCLEAR_TOLERANCE 2e-5   /* MeV: what two other programs agree to */
#define CI_MOLECULAR_TOLERANCE 1e-9 /* Ha */

static char ci_output[1 << 18];

/** Runs `throng ci VERB WORDS`, keeps what it says on both streams; the exit code. */
static inline int ci_run(const char* verb_words) {
  char line[8192];
  snprintf(line, sizeof line, "cd '%s' && '%s' ci %s 2>&1", TG_SOURCE_DIR, TG_PROGRAM, verb_words);
  FILE* pipe = popen(line, "r");
  assert_non_null(pipe);
  ci_output[fread(ci_output, 1, sizeof ci_output - 1, pipe)] = '\0';
  const int ended = pclose(pipe);
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

/** The number behind "key": at or after *at, which moves behind it. */
static inline double ci_number(const char** at, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* found = strstr(*at, quoted);
  if (!found) fail_msg("no %s in: %.4000s", key, *at);
  *at = found + strlen(quoted);
  return strtod(*at, NULL);
}

/** The same from the start of the output. */
static inline double ci_first(const char* key) {
  const char* at = ci_output;
  return ci_number(&at, key);
}

static inline void ci_close(double value, double expected, double tolerance, const char* what) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%s: found %.12g, expected %.12g within %g", what, value, expected, tolerance);
}

/* ---- the reference ---- */

/** The text of the case of that name, up to the next; NULL: no reference here. Once at a time. */
static inline const char* ci_case(const char* name) {
  static char text[1 << 15], one[1 << 13];
  FILE* stream = fopen(CI_SHARED "reference.json", "r");
  if (!stream) return NULL;
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  char mark[128];
  snprintf(mark, sizeof mark, "\"case\": \"%s\"", name);
  const char* start = strstr(text, mark);
  assert_non_null(start);
  const char* end = strstr(start + 1, "\"case\"");
  snprintf(one, sizeof one, "%.*s", end ? (int)(end - start) : (int)strlen(start), start);
  return one;
}

/** A number of a case, or NAN. */
static inline double ci_case_number(const char* text, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* found = strstr(text, quoted);
  return found ? strtod(found + strlen(quoted), NULL) : NAN;
}

/** Solves a nuclear case and compares dimension, pairs, each level's energy and J, and that no
 * level is missing. more: further options. */
static inline void ci_expect_nucleus(const char* name, const char* more) {
  const char* text = ci_case(name);
  if (!text) return;
  char words[1024], file[64];
  assert_int_equal(sscanf(strstr(text, "\"interaction\""), "\"interaction\": \"%63[^\"]", file), 1);
  int levels = 0;
  const char* list = strstr(text, "\"levels_MeV\": [") + strlen("\"levels_MeV\": [");
  for (const char* c = list; c[0] != ']' || c[1] != ']'; c++) levels += *c == '[';
  int used = snprintf(words, sizeof words,
                      "solve -i '" CI_SHARED
                      "%s' --protons %.0f --neutrons %.0f --two-m %.0f --states %d --json %s",
                      file, ci_case_number(text, "protons"), ci_case_number(text, "neutrons"),
                      ci_case_number(text, "two_m"), levels, more);
  const double nmax = ci_case_number(text, "nmax");
  if (!isnan(nmax)) snprintf(words + used, sizeof words - (size_t)used, " --nmax %.0f", nmax);
  if (ci_run(words) != 0) fail_msg("%s: %s", words, ci_output);
  const char* at = ci_output;
  for (int i = 0; i < levels; i++) {
    char* end;
    list = strchr(list, '[') + 1;
    const double energy = strtod(list, &end), j = strtod(end + 1, &end);
    list = end;
    ci_close(ci_number(&at, "energy_MeV"), energy, CI_NUCLEAR_TOLERANCE, name);
    ci_close(ci_number(&at, "two_J"), 2 * j, 0, name);
  }
  ci_close(ci_number(&at, "dimension"), ci_case_number(text, "dim"), 0, name);
  const double pairs = ci_case_number(text, "pairs_le_2");
  if (!isnan(pairs)) ci_close(ci_number(&at, "pairs"), pairs, 0, name);
  assert_non_null(strstr(at, "\"checked\": true"));
}

/** Solves a molecule's case for its lowest state, and compares with the reference's energy. */
static inline void ci_expect_molecule(const char* name, const char* file, const char* more) {
  const char* text = ci_case(name);
  if (!text) return;
  char words[1024];
  snprintf(words, sizeof words, "solve -i '" CI_SHARED "fcidump/%s.FCIDUMP' --json %s", file, more);
  if (ci_run(words) != 0) fail_msg("%s: %s", words, ci_output);
  ci_close(ci_first("energy_Ha"), ci_case_number(text, "E_Ha"), CI_MOLECULAR_TOLERANCE, name);
  const double determinants = ci_case_number(text, "determinants");
  double all = 0;
  for (const char* at = ci_output; strstr(at, "\"dimension\": ");)
    all += ci_number(&at, "dimension");
  if (!isnan(determinants) && !strstr(more, "--irrep")) ci_close(all, determinants, 0, name);
  const double first = ci_case_number(text, "determinants_A1");
  if (!isnan(first)) ci_close(ci_first("dimension"), first, 0, name);
}

#endif
