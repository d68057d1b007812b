/* SPDX-License-Identifier: Apache-2.0 */
/* Processes in place of threads: energies and trajectories are those of one PE. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "md/energies.h"
#include "md/engine_case.h"

static const struct {
  int pe_count;
  const char* grid;
  int pe[3];
} grids[] = {{1, "1x1x1", {1, 1, 1}}, {2, "1x1x2", {1, 1, 2}}, {3, "3x1x1", {3, 1, 1}},
             {4, "1x2x2", {1, 2, 2}}, {6, "3x2x1", {3, 2, 1}}, {8, "2x2x2", {2, 2, 2}}};
enum { GRIDS = sizeof grids / sizeof *grids };

/* The list misses no pair for its 20 fs: a buffered one may, by its tolerance, and which it misses
 * depends on the backend. */
static const char mdp[] =
    "verlet-buffer-tolerance = -1\nrlist = 1.2\ndt = 0.002\nnsteps = 20\nnstlist = 10\nrcoulomb = "
    "0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\nnstenergy = 10\n";

static void launch(int pe_count, const char* arguments) {
  char line[2048];
  snprintf(line, sizeof line,
           "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 mpirun "
           "--oversubscribe --bind-to none -n %d '%s' md %s -c " ENGINE_EXAMPLE
           "conf.gro -p " ENGINE_EXAMPLE
           "topol.top -f '%s' --precision double --threads 1 --transport mpi >'%s' 2>&1",
           pe_count, TG_PROGRAM, arguments, engine_path("run.mdp"), engine_path("log"));
  int ended = system(line);
  if (ended != 0) {
    snprintf(line, sizeof line, "cat '%s' >&2", engine_path("log"));
    if (system(line) != 0) print_error("no log\n");
    fail_msg("%d processes, %s: status %d", pe_count, arguments, ended);
  }
}

/* Nothing to test without a launcher, or in a program built without MPI. */
static int have_mpi(void) {
#if defined(TG_HAVE_MPI) && TG_HAVE_MPI
  return system("mpirun --version 2>&1 | grep -q 'Open MPI'") == 0;
#else
  return 0;
#endif
}

static double* step_0_energies(int* count) {
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("run.mdp");
  job.precision = "double";
  tg_md_energy_result result;
  engine_ok(tg_md_energy(&job, &result));
  static double terms[24];
  memcpy(terms, result.terms, sizeof terms);
  *count = result.term_count;
  tg_md_energy_free(&result);
  return terms;
}

/* The words after `"label":` in the JSON of md energy. */
static double value_of(const char* text, const char* label) {
  char key[64];
  snprintf(key, sizeof key, "\"%s\":", label);
  const char* at = strstr(text, key);
  if (!at) fail_msg("%s has no %s", text, key);
  return at ? strtod(at + strlen(key), NULL) : NAN;
}

static void energies_do_not_depend_on_the_processes(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  engine_write_mdp("run.mdp", mdp);
  int count;
  const double* wanted = step_0_energies(&count);
  for (int g = 1; g < GRIDS; g++) { /* one process is no MPI job */
    char arguments[128];
    snprintf(arguments, sizeof arguments, "energy --json --pe %s", grids[g].grid);
    launch(grids[g].pe_count, arguments);
    static char text[1 << 14];
    FILE* stream = fopen(engine_path("log"), "r");
    assert_non_null(stream);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    fclose(stream);
    for (int t = 0; t < count; t++) {
      double found = value_of(text, tg_md_energy_label(t));
      if (!(fabs(found - wanted[t]) <= 1e-10 * fmax(1, fabs(wanted[t]))))
        fail_msg("%s: %s is %.15g, on one PE %.15g", grids[g].grid, tg_md_energy_label(t), found,
                 wanted[t]);
    }
  }
}

static void check_trajectory(const char* run, const double (*wanted)[3]) {
  double(*x)[3] = engine_checkpoint_x(run, 20);
  for (size_t i = 0; i < ENGINE_ATOMS; i++)
    for (int d = 0; d < 3; d++) {
      double delta = x[i][d] - wanted[i][d];
      delta -= ENGINE_BOX * rint(delta / ENGINE_BOX);
      if (!(fabs(delta) < 1e-8))
        fail_msg("%s: atom %zu is %g nm away from where one PE has it", run, i + 1, delta);
    }
  tg_free(x);
}

static void run_loop(const char* run, const char* backend, const int grid[3]) {
  tg_md_job job = engine_job(NULL);
  job.parameters = engine_path("run.mdp");
  job.backend = backend;
  job.precision = "double";
  job.transport = "loop";
  job.output = engine_path(run);
  memcpy(job.grid, grid, sizeof job.grid);
  tg_md_run_result result;
  engine_ok(tg_md_run(&job, &result));
}

static void trajectories_do_not_depend_on_the_processes(void** state) {
  (void)state;
  engine_write_mdp("run.mdp", mdp);
  run_loop("one", "omp", grids[0].pe);
  double(*one)[3] = engine_checkpoint_x("one", 20);
  run_loop("ref1", "ref", grids[0].pe);
  run_loop("ref2", "ref", grids[1].pe);
  check_trajectory("ref1", (const double(*)[3])one);
  check_trajectory("ref2", (const double(*)[3])one);
  for (int g = 1; g < GRIDS && have_mpi(); g++) {
    char arguments[256], run[32];
    snprintf(run, sizeof run, "mpi%s", grids[g].grid);
    snprintf(arguments, sizeof arguments, "run --pe %s -o '%s'", grids[g].grid, engine_path(run));
    launch(grids[g].pe_count, arguments);
    check_trajectory(run, (const double(*)[3])one);
  }
  tg_free(one);
}

/* One process draws the picture: a gnuplot in front of the real one counts how often it is run. */
static void one_process_plots(void** state) {
  (void)state;
  if (!have_mpi() || system("gnuplot --version >/dev/null 2>&1") != 0) skip();
  engine_write_mdp("run.mdp", mdp);
  char path[4096], arguments[512];
  FILE* stream = fopen(engine_path("gnuplot"), "w");
  assert_non_null(stream);
  fprintf(stream, "#!/bin/sh\necho run >>\"$0.count\"\nPATH=${PATH#*:}\nexec gnuplot \"$@\"\n");
  fclose(stream);
  assert_int_equal(chmod(engine_path("gnuplot"), 0755), 0);
  const char* before = getenv("PATH");
  char* kept = before ? strdup(before) : NULL;
  if (!kept) {
    skip();
    return;
  }
  const char* folder = engine_path("gnuplot");
  snprintf(path, sizeof path, "%.*s:%s", (int)(strlen(folder) - strlen("/gnuplot")), folder, kept);
  setenv("PATH", path, 1);
  snprintf(arguments, sizeof arguments, "run --pe 2 --plot p.svg -o '%s'", engine_path("plotted"));
  launch(2, arguments);
  setenv("PATH", kept, 1);
  free(kept);
  assert_int_equal(access(engine_path("plotted/p.svg"), R_OK), 0);
  stream = fopen(engine_path("gnuplot.count"), "r");
  assert_non_null(stream);
  int lines = 0;
  for (int c = fgetc(stream); c != EOF; c = fgetc(stream)) lines += c == '\n';
  fclose(stream);
  assert_int_equal(lines, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(energies_do_not_depend_on_the_processes),
      cmocka_unit_test(trajectories_do_not_depend_on_the_processes),
      cmocka_unit_test(one_process_plots),
  };
  return cmocka_run_group_tests_name("processes", tests, engine_set_up, engine_tear_down);
}
