/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <sys/mman.h>

#include "base/scratch.h"
#include "ci/input/partition.h"
#include "ci/transitions.h"
#include "support.h"

static const char* folder;

static int make_folder(void** state) {
  (void)state;
  static char path[512];
  snprintf(path, sizeof path, "%s", scratch_make());
  folder = path;
  return 0;
}

static int remove_folder(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

static const char* write_text(const char* name, const char* text, size_t size) {
  const char* path = scratch_path(folder, name);
  FILE* stream = fopen(path, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(text, 1, size, stream), size);
  fclose(stream);
  return path;
}

typedef struct bad_case {
  const char* text;
  int line;             /* that the message names; 0: none */
  const char* expected; /* part of the message */
  const char* orbits;   /* of .int files: text of a .sps or .sp file */
  tg_ci_format format;
} bad_case;

#define CASE_BOTH(TEXT, LINE, EXPECTED, ORBITS, FORMAT)                                            \
  { .text = (TEXT), .line = (LINE), .expected = (EXPECTED), .orbits = (ORBITS), .format = (FORMAT) }
#define CASE(TEXT, LINE, EXPECTED) CASE_BOTH(TEXT, LINE, EXPECTED, NULL, TG_CI_AUTO)
#define CASE_IN(TEXT, LINE, EXPECTED, ORBITS) CASE_BOTH(TEXT, LINE, EXPECTED, ORBITS, TG_CI_AUTO)
#define CASE_AS(TEXT, LINE, EXPECTED, FORMAT) CASE_BOTH(TEXT, LINE, EXPECTED, NULL, FORMAT)

/* Refuses, names file and line, and says what was expected. */
static void refuse(const bad_case* c) {
  tg_ci_source sources[2] = {
      {.path = write_text("bad", c->text, strlen(c->text)), .format = c->format}};
  size_t count = 1;
  if (c->orbits) sources[count++].path = write_text("orbits.sps", c->orbits, strlen(c->orbits));
  tg_ci_input input;
  memset(&input, 0x5a, sizeof input);
  if (tg_ci_input_read(sources, count, &input) != TG_ERR_INPUT)
    fail_msg("not refused: %s (expected: %s)", c->text, c->expected);
  const char* message = tg_last_error();
  if (!strstr(message, c->expected)) fail_msg("'%s' does not say '%s'", message, c->expected);
  if (c->line) {
    char place[64];
    snprintf(place, sizeof place, "bad:%d:", c->line);
    if (!strstr(message, place)) fail_msg("'%s' does not name line %d", message, c->line);
  } else {
    assert_non_null(strstr(message, "bad"));
  }
}

static void refuse_all(const bad_case* cases, size_t count) {
  for (size_t i = 0; i < count; i++) refuse(&cases[i]);
}

#define REFUSE_ALL(cases) refuse_all(cases, sizeof(cases) / sizeof *(cases))

/* ---- .snt ---- */

#define SNT_ORBITS "2 2 2 2\n1 0 1 1 -1\n2 0 1 3 -1\n3 0 1 1 1\n4 0 1 3 1\n"

static void snt(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE_AS("2 2 2 2\n1 0 1 1 -1\n2 0 1 3 -1\n3 0 1 1 1\n", 4,
              "the file ends here; expected another orbit", TG_CI_SNT),
      CASE_AS("2 2 2\n1 0 1 1 -1\n", 1, "found 3 words; expected 4 numbers", TG_CI_SNT),
      CASE_AS("0 0 0 0\n0 0\n0 0\n", 1, "no orbits", TG_CI_SNT),
      CASE("1 0 0 0\n2 0 1 1 -1\n", 2, "found 2; expected the next number of an orbit"),
      CASE("1 0 0 0\n1 0 1 5 -1\n", 2, "expected n from 0, l >= 0 and 2j = 2l + 1 or 2l - 1"),
      CASE("1 0 0 0\n1 0 1 1 1\n", 2, "found 2tz = 1 for orbit 1; expected -1"),
      CASE("2 0 0 0\n1 0 1 1 -1\n2 0 1 1 -1\n", 3, "the orbit p0p1/2 is there already"),
      CASE(SNT_ORBITS "1 7\n1 1 0.5\n", 6, "found method 7; expected 0, 1 or 10"),
      CASE(SNT_ORBITS "1 10\n1 1 0.5\n", 6, "expected hw in MeV"),
      CASE(SNT_ORBITS "1 10 -5\n1 1 0.5\n", 6, "expected more than 0"),
      CASE(SNT_ORBITS "1 0\n1 9 0.5\n", 7, "found 9; expected the number of an orbit from 1 to 4"),
      CASE(SNT_ORBITS "1 0\n1 1 0.5x\n", 7, "found '0.5x'; expected the element"),
      CASE(SNT_ORBITS "1 0\n1 2 0.5\n", 7, "only orbits of the same species, l and j can mix"),
      CASE(SNT_ORBITS "2 0\n1 1 0.5\n1 1 0.6\n0 0\n", 8, "is 0.6 here and 0.5 in line 7"),
      CASE(SNT_ORBITS "0 0\n1 1\n1 1 1 1 0 1.0\n", 7, "expected the mass number A0"),
      CASE(SNT_ORBITS "0 0\n1 1 0 -0.3\n1 1 1 1 0 1.0\n", 7, "found A0 = 0"),
      CASE(SNT_ORBITS "0 0\n1 4 18 -0.3\n1 1 1 1 0 1.0\n", 7, "found method 4"),
      CASE(SNT_ORBITS "0 0\n2 0\n1 1 1 1 0 1.0\n", 8,
           "the file ends here; expected another two-body"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 1 0 1.0\n1 1 2 2 0 1.0\n", 9, "after the two-body elements"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 1 1 0.3\n", 8,
           "two particles in one orbit couple to even J"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 2 1 2 3 0.3\n", 8, "the orbits do not couple to this J"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 3 0 0.3\n", 8, "different numbers of protons"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 1 nan 0.3\n", 8, "found 'nan'; expected J"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 1 0 nan\n", 8, "found 'nan'; expected the element V"),
      CASE(SNT_ORBITS "0 0\n1 0\n1 1 1 1 0\n", 8, "found 5 words; expected 6 numbers"),
      CASE(SNT_ORBITS "0 0\n2 0\n1 1 2 2 0 0.3\n2 2 1 1 0 0.4\n", 9, "but line 8 says 0.3 for it"),
      CASE(SNT_ORBITS "0 0\n2 0\n1 2 1 2 2 0.3\n2 1 1 2 2 0.3\n", 9,
           "(or its hermitian or exchanged"),
      CASE("1 1 0 0\n1 0 0 1 -1\n2 0 1 1 1\n0 0\n1 0\n1 2 1 1 0 2\n", 6, "different numbers"),
      CASE("2 0 0 0\n1 0 0 1 -1\n2 0 1 1 -1\n0 0\n1 0\n1 2 1 1 0 2\n", 6, "the parities differ"),
  };
  REFUSE_ALL(cases);
}

/* ---- .int with .sps and .sp ---- */

#define P_SPS "iso\n2\n0 1 0.5 1\n0 1 1.5 1\n"

static void int_files(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE("1 1.0 2.0\n1 1 1 1 0 1 0.5\n", 0, "does not say its orbits; give a .sps or .sp"),
      CASE_IN("1 1.0 2.0 3.0\n1 1 1 1 0 1 0.5\n", 1, "found 3 numbers after the number of elements",
              P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 2 0.5\n", 2, "found 2; expected T from 0 to 1", P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 0 0.5\n", 2, "odd J + T", P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 5 0 1 0.5\n", 2, "found 5; expected the number of an orbit", P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 0.5\n", 2, "found 6 words; expected 7 numbers", P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 1 0.5\n1 1 2 2 0 1 0.5\n", 3, "is the number of elements wrong",
              P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 1 0.5\n1\n1 2 0.5\n", 4, "can mix", P_SPS),
      CASE_IN("1 1.0 2.0\n1 1 1 1 0 1 0.5\n1\n1 1 0.5\n", 4, "is 0.5 here and 1 in line 1", P_SPS),
      CASE_IN("-1 1.0 2.0\n1 1 1 1 0 1 0.5\n", 0, "no mass block", P_SPS),
      CASE_IN("1 1.0 2.0 4.5 6 0.3\n1 1 1 1 0 1 0.5\n", 1, "found the mass block", P_SPS),
      CASE_IN("1 1.0 2.0 6 7 0.3\n1 1 1 1 0 1 0.5\n", 1,
              "the file of orbits 4; expected the same core", "t\n4 2\n2\n1 2\n1 1 1 1\n2 1 1 3\n"),
      CASE_IN("2 1.0 2.0\n1 2 1 2 1 0 0.5\n2 1 1 2 1 0 0.5\n", 3, "but line 2 says", P_SPS),
      CASE_IN("1 1.0 2.0 1.0 2.0\n3 3 3 3 0 0 0.5\n", 2,
              "found T = 0 for two protons or two neutrons", P_SPS),
      CASE_IN("1 1.0 2.0 1.0 2.0\n3 1 3 1 0 1 0.5\n", 2, "a neutron orbit before a proton orbit",
              P_SPS),
      CASE_IN("1 1.0 2.0\n3 3 3 3 0 1 0.5\n", 1, "orbit 3 is used, but there are 2", P_SPS),
      CASE_BOTH("1 1.0 2.0\n1 3 1 3 0 1 0.5\n", 1, "or --format xpn", P_SPS, TG_CI_INT_ISO),
      CASE_IN("0 1.0 2.0 3.0 4.0 6 0.3\n", 1, "say which with --format iso or xpn",
              "iso\n3\n0 2 2.5 2\n0 2 1.5 2\n1 0 0.5 2\n"),
      CASE_IN("1 1.0 x\n1 1 1 1 0 1 0.5\n", 1, "found 'x'; expected a single-particle energy",
              P_SPS),
  };
  REFUSE_ALL(cases);
}

static void files_of_orbits(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE("iso\n2\n0 1 0.5 1\n", 3, "expected another orbit"),
      CASE("iso\n1\n0 1 0.5 1\n0 1 1.5 1\n", 4, "after the orbits announced"),
      CASE("iso\n1\n0 1 0.7 1\n", 3, "found '0.7'; expected j, such as 2.5"),
      CASE("iso\n1\n0.5 1 0.5 1\n", 3, "expected n, a whole number"),
      CASE("iso\n1\n0 3 0.5 1\n", 3, "expected n from 0"),
      CASE("iso\n0\n", 2, "found 0; expected the number of orbits from 1"),
      CASE("pnw\n1\n0 1 0.5 1\n", 3, "expected 5 numbers"),
      CASE("auto\n50\n", 2, "found 50; expected the largest number of oscillator quanta"),
      CASE("t\n4 5\n2\n1 2\n1 1 1 1\n2 1 1 3\n", 2, "expected Z of the core from 0 to 4"),
      CASE("t\n4 2\n2\n1 3\n1 1 1 1\n2 1 1 3\n", 4, "found 3; expected a number of orbits"),
      CASE("pn\n4 2\n4\n2 2 1\n1 1 1 1\n", 4, "found 3 orbits here; expected the 4"),
      CASE("t\n4 2\n1\n1 1\n1 0 1 1\n", 5, "found 0; expected n (from 1)"),
      CASE("iso\n1\n0 1 0.5 1\n", 0, "only orbits; expected an interaction too"),
  };
  REFUSE_ALL(cases);
}

/* ---- MFDn ---- */

#define H2_ORBITS "15099\n1 1\n1 0 0 1 1 0.0\n1 0 0 1 2 0.0\n"

static void mfdn(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE_AS("15200\n1 1\n", 1, "h2 files of version 15200 are not read", TG_CI_H2),
      CASE_AS("15099\n1 1\n1 0 0 1 2 0.0\n", 3, "found 2; expected the class", TG_CI_H2),
      CASE(H2_ORBITS "2 0 0\n", 5, "found J0 = 2; expected 0: only scalar"),
      CASE(H2_ORBITS "0 0 0\n0 0\n0 0 0\n0 0 0\n1 0 0\n1 1 1 1 0 0 22 -1.0\n", 10,
           "found 22; expected the code"),
      CASE(H2_ORBITS "0 0 0\n0 0\n0 0 0\n0 0 0\n1 0 0\n1 1 1 1 0 2 11 -1.0\n", 10,
           "found 2J = 0 and 2"),
      CASE(H2_ORBITS "0 0 0\n0 0\n0 0 0\n0 0 0\n1 0 1\n1 1 1 1 0 0 11 -1.0\n", 10,
           "expected another two-body element"),
      CASE(H2_ORBITS "0 0 0\n0 0\n0 0 0\n0 0 0\n1 0 0\n1 2 1 1 0 0 11 -1.0\n", 10,
           "found 2; expected"),
      CASE("15099\n1 1\n1 0 0 1 1 0.5\n", 3, "found the weight 0.5"),
      CASE_AS("2\n1 1 1 1 0 1 0.75 0.5 0 -1\n", 2, "expected another element", TG_CI_MFDN),
      CASE("1\n1 1 1 1 0 1 0.75 0.5 0 -1 0\n", 2, "found 11 numbers; expected 10"),
      CASE("1\n1 1 1 1 1 1 0.75 0.5 0 -1\n", 2, "odd J + T"),
      CASE("1\n1 1 1 900 1 1 0.75 0.5 0 -1\n", 2, "found 900; expected the number of an orbit"),
  };
  REFUSE_ALL(cases);
}

/* ---- FCIDUMP ---- */

#define HEAD "&FCI NORB=2,NELEC=2,MS2=0,ORBSYM=1,5,ISYM=1 &END\n"
#define UHF_HEAD "&FCI NORB=2,NELEC=2,MS2=0,UHF=.TRUE. &END\n"

static void fcidumps(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE("&FCI NORB=2,NELEC=2,MS2=0\n0.5 1 1 0 0\n", 2, "ends within the namelist"),
      CASE("&FCI NORB=2,NELEC=2,MS2=0\n", 1, "ends within the namelist"),
      CASE("&FCI NELEC=2 &END\n", 1, "does not say NORB"),
      CASE("&FCI NORB=2 &END\n", 1, "does not say NELEC"),
      CASE("&FCI NORB=two,NELEC=2 &END\n", 1, "found NORB = 'two'"),
      CASE("&FCI NORB=2,NORB=2,NELEC=2 &END\n", 1, "the key NORB is there twice"),
      CASE("&FCI NORB=2,NELEC=5 &END\n1 1 1 0 0\n0 0 0 0 0\n", 1, "found NELEC = 5 in 2 orbitals"),
      CASE("&FCI NORB=2,NELEC=2,MS2=1 &END\n1 1 1 0 0\n0 0 0 0 0\n", 1, "both even or both odd"),
      CASE("&FCI NORB=2,NELEC=2,MS2=4 &END\n1 1 1 0 0\n0 0 0 0 0\n", 1, "3 alpha and -1 beta"),
      CASE("&FCI NORB=2,NELEC=2,ORBSYM=1 &END\n1 1 1 0 0\n0 0 0 0 0\n", 1,
           "found 1 labels in ORBSYM"),
      CASE("&FCI NORB=2,NELEC=2,ORBSYM=1,A &END\n1 1 1 0 0\n0 0 0 0 0\n", 1, "found 'A' in ORBSYM"),
      CASE("&FCI NORB=2,NELEC=2,UHF=maybe &END\n", 1, "expected .TRUE. or .FALSE."),
      CASE("&FCI NORB=2,NELEC=2 &END 1.0 1 1 0 0\n", 1, "behind the namelist's end"),
      CASE(HEAD "1.0 1 1 0\n", 2, "found 4 words; expected 5 numbers"),
      CASE(HEAD "1.0 3 1 0 0\n", 2, "found 3; expected the number of an orbital from 0 to 2"),
      CASE(HEAD "1.0 1 1 1 0\n", 2, "found the indices 1 1 1 0"),
      CASE(HEAD "1.0 0 1 0 0\n", 2, "found the indices 0 1 0 0"),
      CASE(HEAD "1.0e 1 1 0 0\n", 2, "found '1.0e'; expected an integral"),
      CASE(HEAD "1.0 1 1 0 0\n", 2, "ends without the constant"),
      CASE(HEAD "0.0 0 0 0 0\n", 2, "there are no one-electron integrals"),
      CASE(HEAD "1.0 1 1 0 0\n0.5 0 0 0 0\n0.5 2 2 0 0\n", 4, "another line after the constant"),
      CASE(HEAD "1.0 2 1 1 1\n1.1 1 1 1 2\n1 1 1 0 0\n0 0 0 0 0\n", 3, "and 1 in line 2"),
      CASE(HEAD "1 1 1 0 0\n0 0 0 0 0\n1 1 1 0 0\n0 0 0 0 0\n", 3, "does not say so (IUHF=1)"),
      CASE(UHF_HEAD "1 1 1 0 0\n0 0 0 0 0\n1 1 1 0 0\n0 0 0 0 0\n", 3,
           "expected 1 (spin orbitals) or 6"),
      CASE(UHF_HEAD "1 1 2 1 1\n0 0 0 0 0\n", 2, "mixes an odd (alpha) and an even (beta)"),
      CASE("&FCI NORB=3,NELEC=2,UHF=T &END\n1 1 1 0 0\n0 0 0 0 0\n", 1, "expected an even number"),
      CASE(UHF_HEAD "1 1 1 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n",
           2, "a one-electron integral in section 1"),
      CASE(UHF_HEAD "1 1 1 1 1\n2 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n0 0 0 0 0\n",
           3, "found 2 at the end of section 1"),
      CASE_AS("&FCJ NORB=2 &END\n", 1, "expected `&FCI`", TG_CI_FCIDUMP),
  };
  REFUSE_ALL(cases);
}

/* ---- what is none of them ---- */

static void unknown_files(void** state) {
  (void)state;
  static const bad_case cases[] = {
      CASE("", 0, "the file is empty"),
      CASE("! only a comment\n\n", 0, "the file is empty"),
      CASE("hello world\n", 1, "no format that is known"),
      CASE("# RELATIVE LSJT\n 1\n 0 0 0 0 0\n 20 4\n 0 0 0 0 0 1 0 0 0 0 1 -9.5\n", 2,
           "relative matrix elements must be transformed"),
      CASE("3 2 -1\n1 1\n1 0 3\n1 0 2\n1\n1 1\n", 0, "this is a .ptn file"),
      CASE("iso\n1\n1 0 1 0.5\n1 0\n1 1 0.5\n", 0, "this is a .opme file"),
  };
  REFUSE_ALL(cases);
  tg_ci_input input;
  static const struct {
    const char *path, *expected;
  } others[] = {
      {"/no/such/file", "cannot be read"},
      {TG_SOURCE_DIR, "is a folder"},
      {"builtin:usdx", "expected builtin:usdb"},
      {"builtin:sdi:0d5/2", "expected ORBITS:STRENGTHS"},
      {"builtin:sdi:0d5/2:AT0=1", "does not say AT1"},
      {"builtin:sdi:0d7/2:AT0=1,AT1=1", "2j = 2l + 1 or 2l - 1"},
      {"builtin:sdi:0x5/2=y:AT0=1,AT1=1", "expected an orbit and its energy"},
      {"builtin:sdi:0d5/2:AT0=1,AT1=1,D=2", "found 'D'"},
      {"builtin:sdi::AT0=1,AT1=1", "expected orbits"},
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const tg_ci_source source = {.path = others[i].path};
    assert_int_equal(tg_ci_input_read(&source, 1, &input), TG_ERR_INPUT);
    if (!strstr(tg_last_error(), others[i].expected))
      fail_msg("'%s' does not say '%s'", tg_last_error(), others[i].expected);
  }
  tg_ci_format format;
  assert_int_equal(tg_ci_format_parse("hdf5", &format), TG_ERR_INPUT);
  assert_ok(tg_ci_format_parse("XPN", &format));
  assert_int_equal(format, TG_CI_INT_XPN);
}

static void inputs_that_do_not_add_up(void** state) {
  (void)state;
  static const struct {
    const char *first, *second, *expected;
  } cases[] = {
      {SHIPPED("p.snt"), "builtin:usdb", "has mass"},
      {SHIPPED("p.snt"), SHIPPED("rhf.fcidump"), "cannot be added"},
      {SHIPPED("p.sps"), SHIPPED("p.sp"), "a second file of orbits"},
      {"builtin:sdi:0d5/2:AT0=1,AT1=1,Z=8,N=8", "builtin:usdb", "not among those of"},
      {"builtin:usdb", "builtin:sdi:0d5/2:AT0=1,AT1=1,Z=8,N=8", "it lacks the orbit"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const tg_ci_source sources[2] = {{.path = cases[i].first}, {.path = cases[i].second}};
    tg_ci_input input;
    assert_int_equal(tg_ci_input_read(sources, 2, &input), TG_ERR_INPUT);
    if (!strstr(tg_last_error(), cases[i].expected))
      fail_msg("'%s' does not say '%s'", tg_last_error(), cases[i].expected);
  }
}

static void partitions_and_operators(void** state) {
  (void)state;
  tg_ci_input p = read_file(SHIPPED("p.snt"));
  static const struct {
    const char *text, *expected;
  } partitions[] = {
      {"3 2 0\n", "found the parity 0"},
      {"3 2 -1\n1 1\n1 0 2\n", "bad:3:3: the occupations add up to 2; expected the 3 protons"},
      {"3 2 -1\n1 1\n1 3 0\n", "found 3; expected an occupation from 0 to 2"},
      {"3 2 -1\n2 1\n1 0 3\n2 0 3\n", "the same occupations as configuration 1"},
      {"3 2 -1\n1 1\n1 0 3\n1 0 2\n1\n1 2\n", "expected the number of a configuration from 1 to 1"},
      {"3 2 1\n1 1\n1 0 3\n1 0 2\n1\n1 1\n", "this pair has parity -1"},
      {"3 2 -1\n1 1\n1 0 3\n1 0 2\n2\n1 1\n1 1\n", "is there twice"},
      {"3 2 -1\n1 1\n1 0 3\n1 0 2\n0\n", "no pair of configurations"},
      {"3 2 -1\n1 1\n1 0 3\n1 0 2\n1\n1 1\n7\n", "after the pairs of configurations"},
  };
  for (size_t i = 0; i < sizeof partitions / sizeof *partitions; i++) {
    tg_ci_partition partition;
    const char* path = write_text("bad", partitions[i].text, strlen(partitions[i].text));
    assert_int_equal(tg_ci_partition_read(path, &p.model.shells, &partition), TG_ERR_INPUT);
    if (!strstr(tg_last_error(), partitions[i].expected))
      fail_msg("'%s' does not say '%s'", tg_last_error(), partitions[i].expected);
  }
  static const struct {
    const char *text, *expected;
  } operators[] = {
      {"xyz\n", "expected `iso`"},
      {"iso\n1\n1 0 2 2.5\n1 0\n1 1 1.0\n", "not among the model's"},
      {"iso\n2\n1 0 1 0.5\n2 0 1 0.5\n", "the same orbit as number 1"},
      {"iso\n1\n1 0 1 0.5\n1 2\n1 1 1.0\n", "found 2; expected the isospin rank T"},
      {"iso\n1\n1 0 1 0.5\n2 0\n1 1 1.0\n", "which rank 2 does not connect"},
      {"iso\n1\n1 0 1 0.5\n1 0\n", "the operator has no elements"},
      {"iso\n1\n1 0 1 0.5\n1 0\n1 1 1.0\n1 1 1.0\n", "the element 1 1 again"},
      {"iso\n2\n1 0 1 0.5\n2 0 1 1.5\n1 0\n1 2 1.0\n", "the element 1 2 is there, 2 1 is not"},
  };
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    tg_ci_transition t;
    const char* path = write_text("bad", operators[i].text, strlen(operators[i].text));
    assert_int_equal(tg_ci_transition_read(path, &p.model.shells, 0, &t), TG_ERR_INPUT);
    if (!strstr(tg_last_error(), operators[i].expected))
      fail_msg("'%s' does not say '%s'", tg_last_error(), operators[i].expected);
  }
  tg_ci_input_free(&p);
}

/* ---- damaged files: refused or read, never a crash (the sanitizers watch) ---- */

typedef struct sample {
  const char* path;
  tg_ci_format format;
  const char* orbits;
} sample;

static const sample samples[] = {
    {SHIPPED("p.snt"), TG_CI_SNT, NULL},
    {SHIPPED("p_iso.int"), TG_CI_INT, SHIPPED("p.sps")},
    {SHIPPED("p_xpn.int"), TG_CI_INT, SHIPPED("p.sps")},
    {SHIPPED("p_upn.int"), TG_CI_INT_UPN, SHIPPED("p.sp")},
    {SHIPPED("p.sps"), TG_CI_SPS, NULL},
    {SHIPPED("p_pn.sp"), TG_CI_SP, NULL},
    {SHIPPED("sp.h2"), TG_CI_H2, NULL},
    {SHIPPED("sp_charges.mfdn"), TG_CI_MFDN, NULL},
    {SHIPPED("rhf.fcidump"), TG_CI_FCIDUMP, NULL},
    {SHIPPED("uhf_spin.fcidump"), TG_CI_FCIDUMP, NULL},
    {SHIPPED("uhf_sections.fcidump"), TG_CI_FCIDUMP, NULL},
    {SHIPPED("p.ptn"), TG_CI_PTN, NULL},
    {SHIPPED("p_gt.opme"), TG_CI_OPME, NULL},
};

/* A file that no disk sees: thousands of them would wait for one. */
static const char* write_in_memory(const char* text, size_t size) {
  static int descriptor = -1;
  static char path[64];
  if (descriptor < 0) descriptor = memfd_create("damaged", MFD_CLOEXEC);
  assert_true(descriptor >= 0);
  assert_int_equal(ftruncate(descriptor, 0), 0);
  assert_int_equal((size_t)pwrite(descriptor, text, size, 0), size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return path;
}

/* Reads a damaged copy, as what it was and as what it seems to be. True where it was good. */
static bool try_text(const sample* s, const tg_ci_shells* shells, const char* text, size_t size) {
  const char* path = write_in_memory(text, size);
  tg_status status = TG_OK;
  if (s->format == TG_CI_PTN) {
    tg_ci_partition partition;
    status = tg_ci_partition_read(path, shells, &partition);
    if (status == TG_OK) tg_ci_partition_free(&partition);
  } else if (s->format == TG_CI_OPME) {
    tg_ci_transition transition;
    status = tg_ci_transition_read(path, shells, 0, &transition);
    if (status == TG_OK) tg_ci_transition_free(&transition);
  } else {
    for (int forced = 0; forced < 2; forced++) {
      const tg_ci_source sources[2] = {{.path = path, .format = forced ? s->format : TG_CI_AUTO},
                                       {.path = s->orbits}};
      tg_ci_input input;
      status = tg_ci_input_read(sources, s->orbits ? 2 : 1, &input);
      if (status == TG_OK) tg_ci_input_free(&input);
    }
  }
  if (status != TG_OK) {
    assert_int_equal(status, TG_ERR_INPUT);
    assert_true(strlen(tg_last_error()) > 10);
  }
  return status == TG_OK;
}

static void damaged_files(void** state) {
  (void)state;
  static char text[1 << 16], damaged[1 << 16];
  tg_ci_input p = read_file(SHIPPED("p.snt"));
  for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
    const sample* s = &samples[i];
    const char* whole = scratch_read(s->path);
    assert_non_null(whole);
    const size_t size = strlen(whole);
    assert_true(size < sizeof text);
    memcpy(text, whole, size + 1);
    size_t lines = 0;
    /* cut after each line; a few may be whole without their last ones (N of .int may be too large)
     */
    for (size_t at = 0; at < size; at++) {
      if (text[at] != '\n') continue;
      const bool good = try_text(s, &p.model.shells, text, at + 1);
      if (at + 1 == size && s->format != TG_CI_SPS && s->format != TG_CI_SP) assert_true(good);
      if (good && at + 1 < size && s->format != TG_CI_OPME && s->format != TG_CI_INT &&
          s->format != TG_CI_INT_UPN)
        fail_msg("%s is taken as complete after %zu lines", s->path, lines + 1);
      lines++;
    }
    assert_true(lines > 4);
    for (int round = 0; round < 200; round++) {
      memcpy(damaged, text, size);
      const int changes = 1 + round % 4;
      for (int c = 0; c < changes; c++) {
        static const char bytes[] = "0123456789-+.eEdD*/&$=,!# \n\t\x7f\xff";
        const size_t at = (size_t)(fabs(next_random()) * (double)size);
        damaged[at] = bytes[(size_t)(fabs(next_random()) * (double)(sizeof bytes - 1))];
      }
      try_text(s, &p.model.shells, damaged, round % 5 == 4 ? size / 2 : size);
    }
  }
  tg_ci_input_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(snt),
      cmocka_unit_test(int_files),
      cmocka_unit_test(files_of_orbits),
      cmocka_unit_test(mfdn),
      cmocka_unit_test(fcidumps),
      cmocka_unit_test(unknown_files),
      cmocka_unit_test(inputs_that_do_not_add_up),
      cmocka_unit_test(partitions_and_operators),
      cmocka_unit_test(damaged_files),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
