/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/openmm.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"

enum { LINE_SIZE = 1024 };

static tg_status spawn(const tg_openmm_params* params, int input, int output, pid_t* process) {
  char cutoff[32], dt[32], threads[16], warm_up[16];
  snprintf(cutoff, sizeof cutoff, "%.17g", params->cutoff);
  snprintf(dt, sizeof dt, "%.17g", params->dt);
  snprintf(threads, sizeof threads, "%d", params->threads);
  snprintf(warm_up, sizeof warm_up, "%d", params->warm_up);
  char* arguments[] = {(char*)params->python,
                       (char*)params->script,
                       (char*)params->configuration,
                       (char*)params->topology,
                       cutoff,
                       dt,
                       threads,
                       warm_up,
                       NULL};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  int error = posix_spawnp(process, params->python, &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return tg_fail(TG_ERR_MACHINE, "%s cannot be started: %s", params->python, strerror(error));
  return TG_OK;
}

/* The text after "key": in a line of JSON that the script wrote. */
static const char* after_key(const char* line, const char* key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(line, quoted);
  return at ? at + strlen(quoted) : NULL;
}

static tg_status read_answer(tg_openmm* openmm, char* line) {
  if (fgets(line, LINE_SIZE, openmm->answers)) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "OpenMM's process ended without an answer (see its words above)");
}

tg_status tg_openmm_start(const tg_openmm_params* params, tg_openmm* out) {
  *out = (tg_openmm){0};
  int down[2], up[2];
  /* closed on exec: the process must see the end of its input when this one lets go of it */
  if (pipe2(down, O_CLOEXEC) != 0)
    return tg_fail(TG_ERR_MACHINE, "no pipe to OpenMM: %s", strerror(errno));
  if (pipe2(up, O_CLOEXEC) != 0) {
    close(down[0]);
    close(down[1]);
    return tg_fail(TG_ERR_MACHINE, "no pipe from OpenMM: %s", strerror(errno));
  }
  tg_status status = spawn(params, down[0], up[1], &out->process);
  close(down[0]);
  close(up[1]);
  out->requests = fdopen(down[1], "w");
  out->answers = fdopen(up[0], "r");
  char line[LINE_SIZE];
  if (status == TG_OK) status = read_answer(out, line);
  if (status == TG_OK) {
    const char* version = after_key(line, "version");
    if (version)
      snprintf(out->version, sizeof out->version, "%.*s", (int)strcspn(version + 1, "\""),
               version + 1);
    else
      status = tg_fail(TG_ERR_MACHINE, "OpenMM's process answered \"%s\"", tg_trim(line));
  }
  if (status != TG_OK) tg_openmm_stop(out);
  return status;
}

tg_status tg_openmm_measure(tg_openmm* openmm, const char* variant, int steps,
                            double* us_per_step) {
  /* a partner that died must not end this process by a signal */
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  fprintf(openmm->requests, "%s %d\n", variant, steps);
  fflush(openmm->requests);
  signal(SIGPIPE, before);
  char line[LINE_SIZE];
  TG_TRY(read_answer(openmm, line));
  const char* number = after_key(line, "us_per_step");
  if (!number || !tg_parse_double(number, (int)strcspn(number, ",}"), us_per_step))
    return tg_fail(TG_ERR_MACHINE, "OpenMM's process answered \"%s\"", tg_trim(line));
  return TG_OK;
}

void tg_openmm_stop(tg_openmm* openmm) {
  if (openmm->requests) fclose(openmm->requests);
  if (openmm->answers) fclose(openmm->answers);
  if (openmm->process > 0)
    while (waitpid(openmm->process, NULL, 0) < 0 && errno == EINTR) continue;
  *openmm = (tg_openmm){0};
}
