/* SPDX-License-Identifier: Apache-2.0 */
/* The program where one of several PEs stops or dies in the middle of a run: the others end, say
 * for whom they waited and for what, and exit with code 3. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "base/timer.h"
#include "md/engine_case.h"

/* Far more steps than the test lets it do. The plain backend makes forces nearly all of a step, and
 * the victim is given less of the processors than the others: so it is stopped while it computes
 * forces, and they wait for these. */
static const char mdp[] =
    "dt = 0.002\nnsteps = 1000000\nnstlist = 200\nverlet-buffer-tolerance = -1\nrlist = "
    "1.1\nrcoulomb = 0.9\nrvdw = 0.9\n"
    "coulombtype = reaction-field\nepsilon-rf = 0\nconstraints = h-bonds\nnstcalcenergy = "
    "1\nnstenergy = 1\n";

static const char configuration[] = ENGINE_EXAMPLE "conf.gro";
static const char topology[] = ENGINE_EXAMPLE "topol.top";
#define DEADLINE "3" /* a loaded machine has pauses of a second */
enum { PES = 3, VICTIM = 1, ATTEMPTS = 4, MOST_WORDS = 40 };
static const double longest_s = 60; /* deadline, patience with the missing, and a loaded machine */

static char run_name[32];

/* A name of its own for each run and its log. */
static const char* next_run(void) {
  static int number;
  snprintf(run_name, sizeof run_name, "run%d", ++number);
  return run_name;
}

static const char* log_path(const char* run, int pe) {
  char name[64];
  snprintf(name, sizeof name, "%s.log%d", run, pe);
  return engine_path(name);
}

/* The program, behind the words of a launcher; its output goes to a log. */
static pid_t start(const char* const* launcher, const char* run, const char* transport, int pe) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child > 0) return child;
  const char* words[MOST_WORDS] = {NULL};
  const char* const program[] = {TG_PROGRAM,
                                 "md",
                                 "run",
                                 "-c",
                                 configuration,
                                 "-p",
                                 topology,
                                 "-f",
                                 engine_path("run.mdp"),
                                 "-o",
                                 engine_path(run),
                                 "--pe",
                                 "1x1x3",
                                 "--backend",
                                 "ref",
                                 "--deadline",
                                 DEADLINE,
                                 "--transport",
                                 transport,
                                 "--threads",
                                 strcmp(transport, "loop") == 0 ? "3" : "1",
                                 NULL};
  int count = 0;
  for (; *launcher; launcher++) words[count++] = *launcher;
  memcpy(words + count, program, sizeof program);
  int log = open(log_path(run, pe), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) _exit(99);
  alarm(120); /* outlives exec: nothing is left behind */
  execvp(words[0], (char* const*)words);
  _exit(99);
}

static const char* const no_launcher[] = {NULL};

/* Until all PEs are in the midst of steps. False: the run has ended, on a machine so loaded that a
 * wait met the deadline all by itself. */
static bool wait_for_steps(const char* run, pid_t child) {
  char path[300];
  struct timespec pause = {0, 10000000};
  snprintf(path, sizeof path, "%s/energies.jsonl", engine_path(run));
  for (int i = 0; i < 6000; i++) {
    siginfo_t ended = {.si_pid = 0};
    nanosleep(&pause, NULL);
    if (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid)
      return false;
    FILE* stream = fopen(path, "r");
    if (!stream) continue;
    int lines = 0;
    for (int byte; (byte = fgetc(stream)) != EOF;) lines += byte == '\n';
    fclose(stream);
    if (lines >= 2) return true;
  }
  fail_msg("%s does no steps", run);
  return false;
}

/* The exit code of a child, which must end in time; 1000 + the signal that killed it. */
static int finish(pid_t child) {
  double start_s = tg_time_now();
  struct timespec pause = {0, 10000000};
  int ended = 0;
  for (;;) {
    pid_t done = waitpid(child, &ended, WNOHANG);
    if (done == child) break;
    if (done < 0 && errno != EINTR) fail_msg("waitpid: %s", strerror(errno));
    if (tg_time_now() - start_s > longest_s) {
      kill(child, SIGKILL);
      fail_msg("it still ran %g s after a PE had gone", longest_s);
    }
    nanosleep(&pause, NULL);
  }
  return WIFEXITED(ended) ? WEXITSTATUS(ended) : 1000 + WTERMSIG(ended);
}

/* In the midst of the victim's forces, most likely. */
static void let_fall_behind(pid_t victim) {
  const struct timespec moment = {0, 300000000};
  assert_int_equal(setpriority(PRIO_PROCESS, (id_t)victim, 5), 0);
  nanosleep(&moment, NULL);
}

static const char* read_log(const char* run, int pe) {
  static char text[1 << 14];
  FILE* stream = fopen(log_path(run, pe), "r");
  assert_non_null(stream);
  text[fread(text, 1, sizeof text - 1, stream)] = '\0';
  fclose(stream);
  return text;
}

/* Whether a log speaks of the exchange; in any case it must name the PE. The wait may also have
 * been one of all PEs' agreements, which have no pulse. */
static bool names_the_pulse(const char* text, const char* victim) {
  if (!strstr(text, victim)) fail_msg("'%s' is not in: %s", victim, text);
  return strstr(text, "(halo ") && strstr(text, ", pulse ") && strstr(text, ", exchange ") &&
         strstr(text, ", at least ");
}

/* Lets a way of going wrong happen until it is in an exchange that it does: most of the time. */
static void until_in_an_exchange(bool (*happen)(const char* run)) {
  engine_write_mdp("run.mdp", mdp);
  for (int i = 0; i < ATTEMPTS; i++)
    if (happen(next_run())) return;
  fail_msg("no wait for an exchange in %d attempts: %s", ATTEMPTS, read_log(run_name, 0));
}

static bool socket_loses(const char* run, int how, const char* victim) {
  pid_t pes[PES];
  char text[300];
  snprintf(text, sizeof text, "file:%s", engine_path("rendezvous"));
  setenv("TG_BOOTSTRAP", text, 1);
  setenv("TG_PE_COUNT", "3", 1);
  for (int p = 0; p < PES; p++) {
    snprintf(text, sizeof text, "%d", p);
    setenv("TG_PE", text, 1);
    pes[p] = start(no_launcher, run, "socket", p);
  }
  unsetenv("TG_BOOTSTRAP");
  if (!wait_for_steps(run, pes[0])) {
    for (int p = 0; p < PES; p++) finish(pes[p]);
    return false;
  }
  let_fall_behind(pes[VICTIM]);
  kill(pes[VICTIM], how);
  bool all_say = true;
  for (int p = 0; p < PES; p++) {
    if (p == VICTIM) continue;
    int code = finish(pes[p]);
    if (code != 3) fail_msg("PE %d: exit code %d: %s", p, code, read_log(run, p));
    all_say = names_the_pulse(read_log(run, p), victim) && all_say;
  }
  kill(pes[VICTIM], SIGCONT); /* a stopped one learns of it when it goes on */
  assert_int_equal(finish(pes[VICTIM]), how == SIGKILL ? 1000 + SIGKILL : 3);
  return all_say;
}

static bool socket_killed(const char* run) {
  return socket_loses(run, SIGKILL, " lost PE 1 while");
}
static bool socket_stopped(const char* run) { return socket_loses(run, SIGSTOP, "PE 1"); }

static void a_killed_process_ends_the_others(void** state) {
  (void)state;
  until_in_an_exchange(socket_killed);
}

static void a_stopped_process_ends_the_others(void** state) {
  (void)state;
  until_in_an_exchange(socket_stopped);
}

static bool have_mpi(void) {
#if defined(TG_HAVE_MPI) && TG_HAVE_MPI
  return system("mpirun --version 2>&1 | grep -q 'Open MPI'") == 0;
#else
  return false;
#endif
}

static pid_t start_mpi(const char* run) {
  static const char* const mpirun[] = {"mpirun", "--oversubscribe", "--bind-to", "none", "-n", "3",
                                       NULL};
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  pid_t launcher = start(mpirun, run, "mpi", 0);
  if (wait_for_steps(run, launcher)) return launcher;
  finish(launcher);
  return -1;
}

static bool has_word(const char* path, const char* word) {
  char text[1 << 15];
  FILE* stream = fopen(path, "r");
  if (!stream) return false;
  size_t bytes = fread(text, 1, sizeof text - 1, stream), length = strlen(word);
  fclose(stream);
  text[bytes] = '\0';
  for (size_t at = 0; at < bytes; at += strlen(text + at) + 1)
    if (strncmp(text + at, word, length + 1) == 0) return true;
  return false;
}

/* The process of a rank: our launcher's child with that variable. */
static pid_t rank_of(pid_t launcher, int rank) {
  char word[64], parent[32], path[300], line[256];
  snprintf(word, sizeof word, "OMPI_COMM_WORLD_RANK=%d", rank);
  snprintf(parent, sizeof parent, "PPid:\t%d\n", (int)launcher);
  DIR* folder = opendir("/proc");
  assert_non_null(folder);
  pid_t found = -1;
  for (struct dirent* entry; found < 0 && (entry = readdir(folder));) {
    bool ours = false;
    snprintf(path, sizeof path, "/proc/%s/status", entry->d_name);
    FILE* stream = fopen(path, "r");
    if (!stream) continue;
    while (fgets(line, sizeof line, stream)) ours = ours || strcmp(line, parent) == 0;
    fclose(stream);
    snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
    if (ours && has_word(path, word)) found = (pid_t)strtol(entry->d_name, NULL, 10);
  }
  closedir(folder);
  assert_true(found > 0);
  return found;
}

static bool mpi_stopped(const char* run) {
  pid_t launcher = start_mpi(run);
  if (launcher < 0) return false;
  pid_t victim = rank_of(launcher, VICTIM);
  let_fall_behind(victim);
  kill(victim, SIGSTOP);
  int code = finish(launcher);
  if (code != 3) fail_msg("exit code %d: %s", code, read_log(run, 0));
  return names_the_pulse(read_log(run, 0), "PE 1");
}

static void a_stopped_rank_ends_the_job(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  until_in_an_exchange(mpi_stopped);
}

/* The launcher is first to know, and its words are what there is. */
static bool mpi_killed(const char* run) {
  pid_t launcher = start_mpi(run);
  if (launcher < 0) return false;
  kill(rank_of(launcher, VICTIM), SIGKILL);
  assert_int_not_equal(finish(launcher), 0);
  assert_non_null(strstr(read_log(run, 0), "signal 9"));
  return true;
}

static void a_killed_rank_ends_the_job(void** state) {
  (void)state;
  if (!have_mpi()) skip();
  until_in_an_exchange(mpi_killed);
}

/* Thread of PE p: the program's first starts one after the other, and none has threads yet. */
static pid_t thread_of(pid_t program, int pe) {
  char path[64];
  pid_t ids[64] = {0};
  int count = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)program);
  DIR* folder = opendir(path);
  assert_non_null(folder);
  for (struct dirent* entry; (entry = readdir(folder)) && count < 64;) {
    pid_t id = (pid_t)strtol(entry->d_name, NULL, 10);
    if (id <= 0 || id == program) continue;
    int at = count++;
    for (; at > 0 && ids[at - 1] > id; at--) ids[at] = ids[at - 1];
    ids[at] = id;
  }
  closedir(folder);
  assert_true(count >= PES);
  return ids[pe];
}

/* Holds one thread of the program as a debugger does, longer than the deadline, then lets it go on:
 * a process ends with all its threads. */
static bool loop_stalled(const char* run) {
  pid_t program = start(no_launcher, run, "loop", 0);
  if (!wait_for_steps(run, program)) {
    finish(program);
    return false;
  }
  pid_t thread = thread_of(program, VICTIM);
  let_fall_behind(thread);
  if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0 ||
      ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) != 0) {
    kill(program, SIGKILL);
    finish(program);
    print_message("no thread can be held here: %s\n", strerror(errno));
    skip();
  }
  int stopped = 0;
  assert_int_equal(waitpid(thread, &stopped, __WALL), thread);
  usleep(4000000); /* the deadline and a second more */
  assert_int_equal(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
  int code = finish(program);
  if (code != 3) fail_msg("exit code %d: %s", code, read_log(run, 0));
  return names_the_pulse(read_log(run, 0), "PE 1");
}

static void a_stalled_thread_ends_the_others(void** state) {
  (void)state;
  until_in_an_exchange(loop_stalled);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_killed_process_ends_the_others),
      cmocka_unit_test(a_stopped_process_ends_the_others),
      cmocka_unit_test(a_stopped_rank_ends_the_job),
      cmocka_unit_test(a_killed_rank_ends_the_job),
      cmocka_unit_test(a_stalled_thread_ends_the_others),
  };
  return cmocka_run_group_tests_name("gone", tests, engine_set_up, engine_tear_down);
}
