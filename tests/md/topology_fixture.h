/* SPDX-License-Identifier: Apache-2.0 */
/** @file topology_fixture.h  Small topologies written to a folder of their own, for the tests. */
#ifndef TG_TESTS_TOPOLOGY_FIXTURE_H
#define TG_TESTS_TOPOLOGY_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "md/topology.h"

#define DEFAULTS "[ defaults ]\n1 3 yes 0.5 0.5\n"
#define TYPES                                                                                      \
  "[ atomtypes ]\n"                                                                                \
  "opls_157 CT 6 12.011 0.145 A 0.35 0.276144\n"                                                   \
  "opls_156 HC 1 1.008 0.04 A 0.25 0.12552\n"                                                      \
  "opls_154 OH 8 15.9994 -0.683 A 0.312 0.71128\n"                                                 \
  "opls_155 HO 1 1.008 0.418 A 0 0\n"
#define FORCE_FIELD                                                                                \
  DEFAULTS TYPES                                                                                   \
      "[ bondtypes ]\nCT CT 1 0.1529 224262.4\nCT HC 1 0.109 284512\nCT OH 1 0.141 267776\n"       \
      "HO OH 1 0.0945 462750.4\n"                                                                  \
      "[ angletypes ]\nCT CT HC 1 110.7 313.8\n"                                                   \
      "[ dihedraltypes ]\nHC CT CT HC 3 0.6276 1.8828 0 -2.5104 0 0\n"
#define END "[ system ]\nsmall  test \n[ molecules ]\nM 2\n"

static char fixture_folder[64];

static inline int fixture_begin(void** state) {
  (void)state;
  strcpy(fixture_folder, "/tmp/throng-topology-XXXXXX");
  return mkdtemp(fixture_folder) ? 0 : -1;
}

static inline const char* fixture_path(const char* name) {
  static char path[4][160];
  static int turn;
  turn = (turn + 1) % 4;
  snprintf(path[turn], sizeof path[turn], "%s/%s", fixture_folder, name);
  return path[turn];
}

static inline void fixture_write(const char* name, const char* text) {
  FILE* stream = fopen(fixture_path(name), "w");
  assert_non_null(stream);
  assert_true(fputs(text, stream) >= 0);
  assert_int_equal(fclose(stream), 0);
}

static inline int fixture_end(void** state) {
  (void)state;
  const char* const names[] = {"a.top", "b.itp", "c.itp", "sub/d.itp", "sub/e.itp"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unlink(fixture_path(names[i]));
  rmdir(fixture_path("sub"));
  return rmdir(fixture_folder);
}

static char fixture_log[4096];

static inline void fixture_sink(void* context, tg_log_level level, const char* line) {
  (void)context;
  size_t used = strlen(fixture_log);
  snprintf(fixture_log + used, sizeof fixture_log - used, "%s: %s\n",
           level == TG_LOG_WARNING ? "warning" : "note", line);
}

/* Reads text as a.top; what is logged is in fixture_log. */
static inline tg_status fixture_read(const char* text, const tg_topology_options* options,
                                     tg_topology* out) {
  const tg_log log = {fixture_sink, NULL};
  fixture_log[0] = '\0';
  memset(out, 0, sizeof *out);
  fixture_write("a.top", text);
  return tg_topology_read(fixture_path("a.top"), options, &log, out);
}

static inline void fixture_read_well(const char* text, const tg_topology_options* options,
                                     tg_topology* out) {
  if (fixture_read(text, options, out) != TG_OK) fail_msg("%s", tg_last_error());
}

static inline void assert_near(double value, double expected) {
  /* a handful of roundings of double arithmetic */
  double scale = expected < 0 ? -expected : expected;
  double error = value > expected ? value - expected : expected - value;
  if (error > 1e-14 * scale) fail_msg("%.17g instead of %.17g", value, expected);
}

#endif
