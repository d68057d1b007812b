/* SPDX-License-Identifier: Apache-2.0 */
/* Trajectory frames survive the way to the file and back, whatever they look like. Called with a
 * folder's name it writes frames for another program to read instead (read_back.py). */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rng.h"
#include "md/trajectory.h"
#include "md/xdr.h"
#include "md/xtc_pack.h"

enum { MAX_ATOMS = 5625 };

/* Ways to place atoms. */
typedef enum shape {
  RANDOM,
  WATER,
  IDENTICAL,
  HUGE_RANGE,
  LINE,
  STEPS,
  ALTERNATING,
  CHAINS,
  SHAPES
} shape;

static void place(shape which, size_t count, double (*x)[3]) {
  tg_rng rng = tg_rng_stream(7, TG_RNG_TEST, (uint64_t)which * 100000 + count);
  for (size_t i = 0; i < count; i++) {
    for (int k = 0; k < 3; k++) {
      double u = tg_rng_uniform(&rng), before = i > 0 ? x[i - 1][k] : 1.5;
      switch (which) {
        case RANDOM: x[i][k] = 3.8 * u - 1; break;
        case WATER: x[i][k] = i % 3 == 0 ? 3.8 * u : x[i - i % 3][k] + 0.15 * (u - 0.5); break;
        case IDENTICAL: x[i][k] = 1.2345; break;
        /* wider than 24 bits an axis, up to the format's limit in z */
        case HUGE_RANGE: x[i][k] = (k == 2 ? 1.0e6 : 2.0e4) * (2 * u - 1); break;
        case LINE: x[i][k] = k == 0 ? 0.001 * (double)i : 0; break;
        /* steps that double: every level of differences is met, up and down */
        case STEPS: x[i][k] = before + 0.001 * pow(2, (double)(i % 20)) * (u > 0.5 ? 1 : -1); break;
        case ALTERNATING: x[i][k] = i % 2 == 0 ? 0 : 16777.215; break;
        /* runs of 1, 2, 3 ... close atoms: groups of every length */
        default: x[i][k] = u < 0.01 ? 100 * u : before + 0.008 * (u - 0.5); break;
      }
    }
  }
}

static const size_t counts[] = {0, 1, 2, 3, 8, 9, 10, 11, 12, 17, 18, 19, 100, 1000, MAX_ATOMS};

static void xtc_frames_come_back(void** state) {
  (void)state;
  double(*x)[3] = malloc(MAX_ATOMS * sizeof *x), (*back)[3] = NULL;
  size_t capacity = 0;
  for (int which = 0; which < SHAPES; which++) {
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
      for (double precision = 100; precision <= 1000; precision *= 10) {
        tg_frame frame = {.step = -5 + (int)n, .time = 0.5 * (double)n, .count = counts[n]};
        for (int i = 0; i < 9; i++) frame.box[i] = i % 4 == 0 ? 3.5 : 0.25 * i;
        place((shape)which, frame.count, x);
        frame.x = (const double(*)[3])x;
        FILE* stream = tmpfile();
        for (int twice = 0; twice < 2; twice++)
          assert_int_equal(tg_xtc_write(stream, &frame, precision), TG_OK);
        rewind(stream);
        for (int twice = 0; twice < 2; twice++) {
          tg_frame read;
          int found = 0;
          if (tg_xtc_read(stream, &read, &back, &capacity, &found)) fail_msg("%s", tg_last_error());
          assert_int_equal(found, 1);
          assert_int_equal(read.count, frame.count);
          assert_int_equal(read.step, frame.step);
          assert_true(read.time == frame.time);
          assert_memory_equal(read.box, frame.box, sizeof frame.box);
          for (size_t i = 0; i < frame.count; i++) {
            for (int k = 0; k < 3; k++) {
              double expected = frame.count <= 9 ? (double)(float)x[i][k]
                                                 : round(x[i][k] * precision) / precision;
              if (back[i][k] != expected)
                fail_msg("shape %d, %zu atoms: atom %zu is %.9g, not %.9g", which, frame.count, i,
                         back[i][k], expected);
            }
          }
        }
        tg_frame end;
        int found = 1;
        assert_int_equal(tg_xtc_read(stream, &end, &back, &capacity, &found), TG_OK);
        assert_int_equal(found, 0);
        fclose(stream);
      }
    }
  }
  tg_free(back);
  free(x);
}

/* An uninteresting frame by hand: all atoms at one place need 3 bits for the anchor (1 x 1 x 1
 * numbers is the product 1: one bit), then groups of nine. */
static void identical_atoms_pack_as_the_format_says(void** state) {
  (void)state;
  int32_t x[10][3] = {{0}}, back[10][3];
  tg_xtc_packed packed = {0};
  assert_int_equal(tg_xtc_pack(x, 10, &packed), TG_OK);
  assert_int_equal(packed.level, TG_XTC_FIRST_LEVEL);
  /* anchor 0; flag 1; 01 1010 = 3 x 8 + 1 + change; the level may rise after the first group only;
   * each follower is (4, 4, 4) in base 8 = 292 = 0x124 in 9 bits: the byte 0x24, then 1. Second
   * group: anchor 0, flag 1, no followers, level up = 2. 1+1+5 + 8 x 9 + 1+1+5 = 86 bits. */
  assert_int_equal(packed.size, 11);
  /* 0 1 11001 0 | 0100100 1 ... */
  assert_int_equal(packed.bytes[0], 0x72);
  assert_int_equal(packed.bytes[0] >> 6, 1);
  assert_int_equal(packed.bytes[1], 0x49);
  assert_int_equal(tg_xtc_unpack(&packed, back, 10), TG_OK);
  assert_memory_equal(back, x, sizeof x);
  tg_free(packed.bytes);
}

/* Whatever is done to a packed frame, reading ends with a status and inside its arrays. */
static void damaged_streams_are_survived(void** state) {
  (void)state;
  enum { COUNT = 60 };
  double x[COUNT][3];
  int32_t numbers[COUNT][3];
  int refused = 0;
  for (int which = 0; which < SHAPES; which++) {
    place((shape)which, COUNT, x);
    for (int i = 0; i < COUNT; i++)
      for (int k = 0; k < 3; k++) numbers[i][k] = (int32_t)lrint(1000 * x[i][k]);
    tg_xtc_packed packed = {0};
    assert_int_equal(tg_xtc_pack(numbers, COUNT, &packed), TG_OK);
    for (size_t bit = 0; bit < packed.size * 8; bit++) {
      packed.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
      refused += tg_xtc_unpack(&packed, numbers, COUNT) == TG_ERR_INPUT;
      packed.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    packed.size /= 2;
    assert_int_equal(tg_xtc_unpack(&packed, numbers, COUNT), TG_ERR_INPUT);
    tg_free(packed.bytes);
  }
  assert_true(refused > 0);
}

static void what_does_not_fit_is_refused_unwritten(void** state) {
  (void)state;
  double x[12][3] = {{0}};
  tg_frame frame = {.count = 12, .x = (const double(*)[3])x};
  FILE* stream = tmpfile();
  const double bad[] = {2147484.0, -2147484.0, NAN, INFINITY, 1e300};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    x[7][1] = bad[i];
    assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_ERR_NUMERICS);
    assert_non_null(strstr(tg_last_error(), "coordinate y of atom 8"));
  }
  x[7][1] = 2000000;
  x[8][1] = -2000000; /* each fits, their distance does not */
  assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_ERR_NUMERICS);
  x[8][1] = 0;
  frame.step = 1LL << 31;
  assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_ERR_NUMERICS);
  assert_int_equal(tg_trr_write(stream, &frame, 0), TG_ERR_NUMERICS);
  frame.step = 0;
  assert_int_equal(tg_xtc_write(stream, &frame, 0), TG_ERR_INPUT);
  frame.count = (size_t)1 << 31;
  assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_ERR_INPUT);
  assert_int_equal(tg_trr_write(stream, &frame, 0), TG_ERR_INPUT);
  assert_int_equal(ftell(stream), 0);
  fclose(stream);
}

static void a_full_disk_is_told(void** state) {
  (void)state;
  double x[1000][3];
  place(RANDOM, 1000, x);
  tg_frame frame = {.count = 1000, .x = (const double(*)[3])x};
  FILE* stream = fopen("/dev/full", "wb");
  if (!stream) skip();
  setvbuf(stream, NULL, _IOFBF, 512);
  assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_ERR_MACHINE);
  clearerr(stream);
  assert_int_equal(tg_trr_write(stream, &frame, 1), TG_ERR_MACHINE);
  fclose(stream);
}

static void trr_frames_are_skipped_by_their_own_sizes(void** state) {
  (void)state;
  double x[20][3], v[20][3];
  place(RANDOM, 20, x);
  place(WATER, 20, v);
  FILE* stream = tmpfile();
  for (int form = 0; form < 16; form++) {
    tg_frame frame = {.step = 100 + form, .time = 0.25 * form, .count = 20, .box = {3, 0, 0, 0, 4}};
    if (form & 1) frame.x = (const double(*)[3])x;
    if (form & 2) frame.v = (const double(*)[3])v;
    if (form & 4) frame.f = (const double(*)[3])v;
    long start = ftell(stream);
    assert_int_equal(tg_trr_write(stream, &frame, form & 8), TG_OK);
    int parts = (form & 1) + (form >> 1 & 1) + (form >> 2 & 1);
    assert_int_equal(ftell(stream) - start, 76 + (form & 8 ? 8 : 4) * (11 + 60 * parts));
  }
  long size = ftell(stream);
  rewind(stream);
  tg_frame read;
  int found = 0;
  for (int form = 0; form < 16; form++) {
    assert_int_equal(tg_trr_skip(stream, &read, &found), TG_OK);
    assert_int_equal(found, 1);
    assert_int_equal(read.step, 100 + form);
    assert_true(read.time == 0.25 * form && read.box[0] == 3 && read.box[4] == 4);
  }
  assert_int_equal(ftell(stream), size);
  assert_int_equal(tg_trr_skip(stream, &read, &found), TG_OK);
  assert_int_equal(found, 0);
  fflush(stream);
  assert_int_equal(ftruncate(fileno(stream), size - 1), 0);
  rewind(stream);
  for (int form = 0; form < 15; form++) assert_int_equal(tg_trr_skip(stream, &read, &found), TG_OK);
  assert_int_equal(tg_trr_skip(stream, &read, &found), TG_ERR_INPUT);
  fclose(stream);
}

static void foreign_and_cut_files_are_refused(void** state) {
  (void)state;
  double x[30][3], (*back)[3] = NULL;
  size_t capacity = 0;
  place(WATER, 30, x);
  tg_frame frame = {.count = 30, .x = (const double(*)[3])x}, read;
  int found;
  FILE* stream = tmpfile();
  assert_int_equal(tg_xtc_write(stream, &frame, 1000), TG_OK);
  fflush(stream);
  for (long size = ftell(stream) - 1; size > 0; size--) {
    assert_int_equal(ftruncate(fileno(stream), size), 0);
    rewind(stream);
    assert_int_equal(tg_xtc_read(stream, &read, &back, &capacity, &found), TG_ERR_INPUT);
  }
  fclose(stream);
  stream = tmpfile();
  fputs("throng is no trajectory, and neither is this text of more than a header's length.",
        stream);
  rewind(stream);
  assert_int_equal(tg_xtc_read(stream, &read, &back, &capacity, &found), TG_ERR_INPUT);
  rewind(stream);
  assert_int_equal(tg_trr_skip(stream, &read, &found), TG_ERR_INPUT);
  fclose(stream);
  tg_free(back);
}

/* --- frames for another program --- */

static FILE* open_in(const char* folder, int which, size_t count, const char* ending) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%d_%zu.%s", folder, which, count, ending);
  FILE* stream = fopen(path, "wb");
  if (!stream) exit(1);
  return stream;
}

static int write_for_others(const char* folder) {
  static double x[MAX_ATOMS][3], v[MAX_ATOMS][3];
  for (int which = 0; which < SHAPES; which++) {
    for (size_t n = 1; n < sizeof counts / sizeof *counts; n++) {
      FILE* xtc = open_in(folder, which, counts[n], "xtc");
      FILE* trr = open_in(folder, which, counts[n], "trr");
      FILE* wide = open_in(folder, which, counts[n], "double.trr");
      FILE* raw = open_in(folder, which, counts[n], "raw");
      for (int i = 0; i < 2; i++) {
        place((shape)((which + i) % SHAPES), counts[n], x);
        place(WATER, counts[n], v);
        tg_frame frame = {.step = 10 + 5 * i,
                          .time = 0.5 + i,
                          .count = counts[n],
                          .box = {3.5, 0, 0, 0, 4.5, 0, 0, 0, 5.5},
                          .x = (const double(*)[3])x};
        if (tg_xtc_write(xtc, &frame, 1000)) return 1;
        frame.v = frame.f = (const double(*)[3])v;
        if (tg_trr_write(trr, &frame, 0) || tg_trr_write(wide, &frame, 1)) return 1;
        fwrite(x, sizeof *x, counts[n], raw);
        fwrite(v, sizeof *v, counts[n], raw);
      }
      fclose(xtc), fclose(trr), fclose(wide), fclose(raw);
    }
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc > 1) return write_for_others(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(xtc_frames_come_back),
      cmocka_unit_test(identical_atoms_pack_as_the_format_says),
      cmocka_unit_test(damaged_streams_are_survived),
      cmocka_unit_test(what_does_not_fit_is_refused_unwritten),
      cmocka_unit_test(a_full_disk_is_told),
      cmocka_unit_test(trr_frames_are_skipped_by_their_own_sizes),
      cmocka_unit_test(foreign_and_cut_files_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
