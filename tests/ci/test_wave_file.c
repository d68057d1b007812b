/* SPDX-License-Identifier: Apache-2.0 */
/* Files of wave functions: what is read is what was written, it is usable without the input, and a
 * file that is damaged or not ours is refused. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "ci/digest.h"
#include "ci/wave_file.h"
#include "support.h"

/* HDF5 keeps some small memory for itself when it has met a damaged file. */
const char* __lsan_default_suppressions(void) __attribute__((visibility("default")));
const char* __lsan_default_suppressions(void) { return "leak:libhdf5"; }

#define PLACE TG_BUILD_DIR "/wave-test.h5"

typedef struct solved {
  tg_ci_input input;
  tg_ci_problem problem;
  tg_ci_spectrum spectrum;
} solved;

/* The problem points to the input, so that it must stay where it is. */
static void solve(const char* path, const tg_ci_problem_params* params, int states, solved* s) {
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states = states;
  how.threads = 1;
  s->input = read_file(path);
  assert_ok(tg_ci_problem_make(&s->input, params, &s->problem));
  assert_ok(tg_ci_solve(&s->problem, &how, &s->spectrum));
}

static void release(solved* s) {
  tg_ci_spectrum_free(&s->spectrum);
  tg_ci_problem_free(&s->problem);
  tg_ci_input_free(&s->input);
}

static tg_ci_problem_params nucleus(int protons, int neutrons) {
  tg_ci_problem_params p = tg_ci_problem_defaults();
  p.protons = protons;
  p.neutrons = neutrons;
  return p;
}

/* States need LAPACK, their file HDF5. */
static bool without_libraries(void) {
#ifndef TG_HAVE_LAPACK
  return true;
#endif
  if (tg_ci_results_library()) return false;
  tg_ci_wave wave;
  assert_int_equal(tg_ci_wave_read(PLACE, &wave), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "libhdf5-dev"));
  return true;
}

/* Everything in the file is what was solved, bit for bit. */
static void compare(const solved* s, const tg_ci_wave* w) {
  assert_int_equal(w->kind, s->problem.kind);
  assert_int_equal(w->two_m, s->problem.two_m);
  assert_true(w->digest == tg_ci_hamiltonian_digest(s->problem.h));
  assert_true(tg_ci_orbitals_digest(w->orbitals) == tg_ci_orbitals_digest(s->problem.h));
  assert_true(w->hw == s->problem.hw);
  assert_true(w->mass == s->problem.mass);
  assert_int_equal(w->sector_count, s->spectrum.sector_count);
  for (size_t k = 0; k < w->sector_count; k++) {
    const tg_ci_wave_sector* read = &w->sectors[k];
    const tg_ci_sector* made = &s->spectrum.sectors[k];
    const size_t n = (size_t)made->space->dimension;
    assert_int_equal(read->symmetry, made->need.symmetry);
    assert_int_equal(read->states, made->result.states);
    assert_int_equal(read->space->dimension, n);
    for (int i = 0; i < read->states; i++) {
      assert_true(read->energies[i] == made->result.values[i]);
      assert_true(read->residuals[i] == made->result.residuals[i]);
      assert_true(read->errors[i] == made->result.errors[i]);
      assert_memory_equal(read->vectors + (size_t)i * read->ld,
                          made->result.vectors + (size_t)i * made->result.ld, n * sizeof(double));
    }
  }
  for (size_t i = 0; i < s->spectrum.level_count; i++) {
    const tg_ci_level* level = &s->spectrum.levels[i];
    const double* read = w->sectors[level->sector].squared + level->number * TG_CI_LABELS;
    for (int k = 0; k < TG_CI_LABELS; k++)
      assert_true(read[k] == level->squared[k] || (isnan(read[k]) && isnan(level->squared[k])));
  }
}

static void write_and_read(const char* path, const tg_ci_problem_params* params, int states,
                           solved* s, tg_ci_wave* wave) {
  solve(path, params, states, s);
  unlink(PLACE);
  assert_ok(tg_ci_wave_write(PLACE, &s->problem, &s->spectrum, "a test"));
  assert_false(is_there(PLACE ".part"));
  assert_ok(tg_ci_wave_read(PLACE, wave));
  compare(s, wave);
}

/* <J^2> of the states of a file, by an operator that the file alone gives. */
static void nucleus_is_usable(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_wave w;
  const tg_ci_problem_params params = nucleus(2, 3);
  solved s;
  write_and_read("builtin:usdb", &params, 4, &s, &w);
  const tg_ci_nucleus who = {.protons = w.particles[0], .neutrons = w.particles[1], .hw = w.hw};
  const tg_ci_operator_params how = {.storage = TG_CI_STORAGE_FLY, .threads = 1};
  const tg_ci_wave_sector* sector = &w.sectors[0];
  const size_t n = (size_t)sector->space->dimension;
  tg_ci_hamiltonian* j2 = NULL;
  tg_ci_operator* op = NULL;
  double* y = NULL;
  assert_ok(tg_ci_model_quantity(&w.model, TG_CI_J2, &who, &j2));
  assert_ok(tg_ci_operator_create(j2, sector->space, &how, &op));
  assert_ok(TG_ALLOCATE(n, "a vector", &y));
  for (int i = 0; i < sector->states; i++) {
    const double* v = sector->vectors + (size_t)i * sector->ld;
    double sum = 0;
    assert_ok(tg_ci_operator_apply(op, 1, v, y, n));
    for (size_t k = 0; k < n; k++) sum += v[k] * y[k];
    /* n terms of at most 6.5 * 7.5, rounded */
    assert_close(sum, sector->squared[i * TG_CI_LABELS], 1e-11);
  }
  tg_free(y);
  tg_ci_operator_free(op);
  tg_ci_hamiltonian_free(j2);
  tg_ci_wave_free(&w);
  release(&s);
}

/* One species is absent; two sectors; a truncated space without a core. */
static void other_spaces(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_wave w;
  tg_ci_problem_params params = nucleus(TG_CI_UNSET, 3);
  solved s;
  write_and_read("builtin:usdb", &params, 5, &s, &w);
  tg_ci_wave_free(&w);
  release(&s);

  params = nucleus(2, 1);
  params.nmax = 1;
  params.hw = 20;
  write_and_read(SHIPPED("sp.h2"), &params, 3, &s, &w);
  assert_true(w.space.weight_most >= 0);
  assert_true(w.model.core_mass == 0);
  tg_ci_wave_free(&w);
  release(&s);

  params = tg_ci_problem_defaults();
  write_and_read(SHIPPED("rhf.fcidump"), &params, 2, &s, &w);
  assert_true(w.sector_count > 1);
  tg_ci_wave_free(&w);
  release(&s);
}

/* Occupations, roles and partitions travel with the states. */
static void restrictions(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_input input = read_file("builtin:usdb");
  const tg_ci_problem_params params = nucleus(2, 2);
  solved s = {.input = input};
  assert_ok(tg_ci_problem_make(&s.input, &params, &s.problem));
  static const uint16_t least[3] = {0, 0, 0}, most[3] = {2, 2, 1};
  static const uint16_t partitions[2][3] = {{2, 0, 0}, {1, 1, 0}};
  static const uint32_t pairs[3][2] = {{0, 0}, {1, 0}, {0, 1}};
  uint8_t roles[12] = {0};
  roles[11] = TG_CI_UNUSED;
  tg_ci_space_params* p = &s.problem.space;
  for (int t = 0; t < 2; t++) {
    p->limits[t].shells = 3;
    p->limits[t].least = least;
    p->limits[t].most = most;
    p->limits[t].partition_count = 2;
    p->limits[t].partitions = partitions[0];
  }
  p->limits[0].roles = roles;
  p->partition_pair_count = 3;
  p->partition_pairs = pairs[0];
  tg_free(s.problem.dimensions);
  assert_ok(tg_ci_space_count(s.problem.h, p, &s.problem.dimensions, &s.problem.dimension_count));
  tg_ci_solve_params how = tg_ci_solve_defaults();
  how.states = 3;
  assert_ok(tg_ci_solve(&s.problem, &how, &s.spectrum));
  assert_ok(tg_ci_wave_write(PLACE, &s.problem, &s.spectrum, NULL));
  tg_ci_wave w;
  assert_ok(tg_ci_wave_read(PLACE, &w));
  compare(&s, &w);
  assert_true(tg_ci_limits_digest(w.orbitals, &w.space) == tg_ci_limits_digest(s.problem.h, p));
  tg_ci_wave_free(&w);
  release(&s);
}

/* ---- what is refused ---- */

static void expect_refused(const char* words) {
  tg_ci_wave w;
  assert_int_equal(tg_ci_wave_read(PLACE, &w), TG_ERR_INPUT);
  if (!strstr(tg_last_error(), words)) fail_msg("'%s' is not in: %s", words, tg_last_error());
  if (strncmp(tg_last_error(), PLACE, strlen(PLACE)) != 0) fail_msg("%s", tg_last_error());
}

static void write_bytes(const unsigned char* bytes, size_t count) {
  FILE* stream = fopen(PLACE, "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(bytes, 1, count, stream), count);
  assert_int_equal(fclose(stream), 0);
}

/* Every byte of a small file, changed one at a time here and there: refused, or the same states. */
static void damage(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_wave w;
  const tg_ci_problem_params params = nucleus(1, 1);
  solved s;
  write_and_read("builtin:ckpot", &params, 2, &s, &w);
  tg_ci_wave_free(&w);
  FILE* stream = fopen(PLACE, "rb");
  static unsigned char bytes[1 << 20];
  const size_t size = fread(bytes, 1, sizeof bytes, stream);
  fclose(stream);
  assert_true(size > 1000 && size < sizeof bytes);

  for (size_t cut = 1; cut <= 8; cut++) {
    write_bytes(bytes, size * cut / 9);
    expect_refused("");
  }
  write_bytes(bytes, size - 1);
  expect_refused("truncated file");
  write_bytes((const unsigned char*)"This is no HDF5 file.", 21);
  expect_refused("is not an HDF5 file");

  size_t refused = 0, tries = 0;
  for (size_t at = 7; at < size; at += 1 + size / 400, tries++) {
    bytes[at] ^= 0x10;
    write_bytes(bytes, size);
    bytes[at] ^= 0x10;
    const tg_status status = tg_ci_wave_read(PLACE, &w);
    if (status == TG_OK) compare(&s, &w); /* a byte that stands for nothing */
    assert_true(status == TG_OK || status == TG_ERR_INPUT);
    refused += status != TG_OK;
    tg_ci_wave_free(&w);
  }
  assert_true(refused > tries / 4);
  release(&s);
  unlink(PLACE);
}

/* The disk is full: nothing is left of the new file, and the old one stays. */
static void full_disk(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_wave w;
  const tg_ci_problem_params params = nucleus(2, 2);
  solved s;
  write_and_read("builtin:usdb", &params, 2, &s, &w);
  tg_ci_wave_free(&w);
  struct rlimit limit, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
  small = limit;
  signal(SIGXFSZ, SIG_IGN);
  for (int i = 0; i < 12; i++) {
    /* bytes of a file; the states alone have 10,240, all of it some 30,000 */
    small.rlim_cur = 500 + 2000 * (rlim_t)i;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const tg_status status = tg_ci_wave_write(PLACE, &s.problem, &s.spectrum, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(status, TG_ERR_MACHINE);
    assert_non_null(strstr(tg_last_error(), "File too large"));
    assert_false(is_there(PLACE ".part"));
  }
  assert_ok(tg_ci_wave_read(PLACE, &w));
  compare(&s, &w);
  tg_ci_wave_free(&w);
  release(&s);
}

static void other_files(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_results* f = NULL;
  assert_ok(tg_ci_results_create(PLACE, "throng densities", 1, &f));
  assert_ok(tg_ci_results_commit(&f));
  expect_refused("holds \"throng densities\"");
  assert_ok(tg_ci_results_create(PLACE, TG_CI_WAVE_FORMAT, TG_CI_WAVE_VERSION + 1, &f));
  assert_ok(tg_ci_results_commit(&f));
  expect_refused("use a newer one");
  assert_ok(tg_ci_results_create(PLACE, TG_CI_WAVE_FORMAT, TG_CI_WAVE_VERSION, &f));
  assert_ok(tg_ci_results_set_text(f, "", "kind", "nucleus"));
  assert_ok(tg_ci_results_commit(&f));
  expect_refused("has no attribute two_m");
  unlink(PLACE);
  expect_refused("cannot be opened");
  assert_int_equal(tg_ci_results_create("/no/such/folder/x.h5", "x", 1, &f), TG_ERR_INPUT);
}

/* ---- named arrays ---- */

static void arrays(void** state) {
  (void)state;
  if (without_libraries()) skip();
  tg_ci_results* f = NULL;
  double values[3][4], back[3][4] = {{0}};
  for (int i = 0; i < 12; i++) values[i / 4][i % 4] = i + 0.25;
  const tg_ci_array a = {.element = TG_CI_DOUBLE,
                         .axes = 2,
                         .size = {3, 2},
                         .stride = 4,
                         .data = values,
                         .unit = "fm^2",
                         .about = "the first two columns"};
  assert_ok(tg_ci_results_create(PLACE, "throng test", 3, &f));
  assert_ok(tg_ci_results_put(f, "states/0/square", &a));
  assert_int_equal(tg_ci_results_put(f, "states/0/square", &a), TG_ERR_INTERNAL);
  const uint64_t large = UINT64_MAX;
  const tg_ci_array whole = {.element = TG_CI_UINT64, .axes = 1, .size = {1}, .data = &large};
  assert_ok(tg_ci_results_put(f, "large", &whole));
  assert_ok(tg_ci_results_set_double(f, "states/0", "energy_MeV", -1.5));
  assert_ok(tg_ci_results_set_text(f, "states/0", "empty", ""));
  assert_ok(tg_ci_results_commit(&f));
  assert_null(f);

  assert_ok(tg_ci_results_open(PLACE, "throng test", 3, &f));
  assert_int_equal(tg_ci_results_version(f), 3);
  assert_true(tg_ci_results_has(f, "states/0"));
  assert_false(tg_ci_results_has(f, "states/1/square"));
  tg_ci_array found;
  assert_ok(tg_ci_results_look(f, "states/0/square", &found));
  assert_int_equal(found.size[0], 3);
  assert_int_equal(found.size[1], 2);
  assert_ok(tg_ci_results_get(f, "states/0/square", &a, back)); /* rows of four again */
  for (int i = 0; i < 12; i++) assert_true(back[i / 4][i % 4] == (i % 4 < 2 ? i + 0.25 : 0));
  found.size[0] = 4;
  assert_int_equal(tg_ci_results_get(f, "states/0/square", &found, back), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "[3, 2] of doubles; [4, 2]"));
  uint64_t number = 0;
  assert_ok(tg_ci_results_get(f, "large", &whole, &number));
  assert_true(number == UINT64_MAX);
  char text[8] = "?";
  double energy = 0;
  assert_ok(tg_ci_results_get_text(f, "states/0", "empty", text, sizeof text));
  assert_string_equal(text, "");
  assert_ok(tg_ci_results_get_text(f, "states/0/square", "unit", text, sizeof text));
  assert_string_equal(text, "fm^2");
  assert_ok(tg_ci_results_get_double(f, "states/0", "energy_MeV", &energy));
  assert_true(energy == -1.5);
  int64_t none;
  assert_int_equal(tg_ci_results_get_int(f, "states/0", "energy_MeV", &none), TG_ERR_INPUT);
  assert_int_equal(tg_ci_results_get_int(f, "nowhere", "x", &none), TG_ERR_INPUT);
  tg_ci_results_close(&f);

  /* what is not committed leaves nothing, and what was there before stays */
  assert_ok(tg_ci_results_create(PLACE, "throng test", 4, &f));
  tg_ci_results* second = NULL;
  assert_int_equal(tg_ci_results_create(PLACE, "throng test", 4, &second), TG_ERR_INPUT);
  tg_ci_results_close(&f);
  assert_false(is_there(PLACE ".part"));
  assert_ok(tg_ci_results_open(PLACE, "throng test", 3, &f));
  tg_ci_results_close(&f);
  unlink(PLACE);
}

/* Two operators that differ in one element, two spaces that differ in one limit. */
static void digests(void** state) {
  (void)state;
  tg_ci_input input = read_file("builtin:ckpot");
  tg_ci_hamiltonian *h = nucleus_of(&input, 2, 2), *g = nucleus_of(&input, 2, 2);
  assert_true(tg_ci_hamiltonian_digest(h) == tg_ci_hamiltonian_digest(g));
  const double one = tg_ci_hamiltonian_one(g, 0, 1, 1),
               two = tg_ci_hamiltonian_two(g, 1, 0, 3, 0, 3);
  const double cross = tg_ci_hamiltonian_cross(g, 0, 0, 1, 1);
  assert_ok(tg_ci_hamiltonian_set_one(g, 0, 1, 1, nextafter(one, 9)));
  assert_true(tg_ci_hamiltonian_digest(h) != tg_ci_hamiltonian_digest(g));
  assert_ok(tg_ci_hamiltonian_set_one(g, 0, 1, 1, one));
  assert_ok(tg_ci_hamiltonian_set_two(g, 1, 0, 3, 0, 3, nextafter(two, 9)));
  assert_true(tg_ci_hamiltonian_digest(h) != tg_ci_hamiltonian_digest(g));
  assert_ok(tg_ci_hamiltonian_set_two(g, 1, 0, 3, 0, 3, two));
  assert_ok(tg_ci_hamiltonian_set_cross(g, 0, 0, 1, 1, nextafter(cross, 9)));
  assert_true(tg_ci_hamiltonian_digest(h) != tg_ci_hamiltonian_digest(g));
  assert_ok(tg_ci_hamiltonian_set_cross(g, 0, 0, 1, 1, cross));
  assert_true(tg_ci_hamiltonian_digest(h) == tg_ci_hamiltonian_digest(g));
  tg_ci_space_params a = {.limits = {{.particles = 2, .weight_most = -1}, {.weight_most = -1}}};
  tg_ci_space_params b = a;
  const uint16_t most[2] = {4, 1};
  b.limits[0].shells = 2;
  b.limits[0].most = most;
  assert_true(tg_ci_limits_digest(h, &a) != tg_ci_limits_digest(h, &b));
  tg_ci_hamiltonian_free(h);
  tg_ci_hamiltonian_free(g);
  tg_ci_input_free(&input);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nucleus_is_usable),
      cmocka_unit_test(other_spaces),
      cmocka_unit_test(restrictions),
      cmocka_unit_test(damage),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(other_files),
      cmocka_unit_test(arrays),
      cmocka_unit_test(digests),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
