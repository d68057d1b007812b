/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/restart.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "base/timer.h"
#include "ci/digest.h"

enum { PATH_SIZE = 4096, WORD = 64, MOST_FACTS = 12, WRITING_SHARE = 20 };

static const char title[] = "throng ci restart 1";

/* What must be the same for a run to go on, as words. */
typedef struct fact {
  char key[WORD], value[WORD];
  const char* meaning; /* in a message */
} fact;

typedef struct facts {
  fact list[MOST_FACTS];
  int count;
} facts;

static void add(facts* f, const char* key, const char* meaning, const char* format, ...)
    __attribute__((format(printf, 4, 5)));

static void add(facts* f, const char* key, const char* meaning, const char* format, ...) {
  fact* next = &f->list[f->count++];
  va_list args;
  va_start(args, format);
  snprintf(next->key, WORD, "%s", key);
  vsnprintf(next->value, WORD, format, args);
  va_end(args);
  next->meaning = meaning;
}

static uint64_t describe(const tg_ci_problem* p, int states, facts* f) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  const uint64_t orbitals = tg_ci_orbitals_digest(p->h);
  const uint64_t restrictions = tg_ci_limits_digest(p->h, &p->space);
  const uint64_t hamiltonian = tg_ci_hamiltonian_digest(p->h);
  unsigned symmetries = 0;
  for (size_t s = 0; s < p->sector_count; s++) symmetries |= 1u << p->sectors[s];
  add(f, "kind", "the kind of the problem", nucleus ? "nucleus" : "molecule");
  add(f, nucleus ? "protons" : "spin_up",
      nucleus ? "the number of protons" : "electrons of spin up", "%d", p->particles[0]);
  add(f, nucleus ? "neutrons" : "spin_down",
      nucleus ? "the number of neutrons" : "electrons of spin down", "%d", p->particles[1]);
  add(f, nucleus ? "two_m" : "two_sz", nucleus ? "2M" : "2Sz", "%d", p->two_m);
  add(f, "symmetries", nucleus ? "the parities (1 +, 2 -, 3 both)" : "the irreps (a bit for each)",
      "%u", symmetries);
  add(f, "two_j", nucleus ? "2J, if only one (-1: all)" : "2S, if only one (-1: all)", "%d",
      p->two_j);
  add(f, "states", "the number of states", "%d", states);
  add(f, "orbitals", "the orbitals (their digest)", "%016llx", (unsigned long long)orbitals);
  add(f, "restrictions", "the restrictions of the space (their digest)", "%016llx",
      (unsigned long long)restrictions);
  add(f, "hamiltonian",
      nucleus ? "the Hamiltonian: interaction, scaling, hw or beta-cm (its digest)"
              : "the Hamiltonian: the integrals (their digest)",
      "%016llx", (unsigned long long)hamiltonian);
  const uint64_t all[] = {hamiltonian,
                          restrictions,
                          (uint64_t)p->particles[0],
                          (uint64_t)p->particles[1],
                          (uint64_t)(int64_t)p->two_m,
                          (uint64_t)(int64_t)p->two_j};
  return tg_ci_digest(0, all, sizeof all / sizeof *all);
}

/* ---- the text ---- */

static tg_status write_text(const tg_ci_problem* p, const char* path, const facts* f) {
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  fprintf(file.stream, "%s\n", title);
  for (size_t i = 0; i < p->input->fact_count; i++)
    fprintf(file.stream, "# input %s\n", p->input->facts[i].path);
  for (int i = 0; i < f->count; i++)
    fprintf(file.stream, "%s %s\n", f->list[i].key, f->list[i].value);
  return tg_new_file_commit(&file);
}

static tg_status check_text(const tg_text_file* file, const char* path, const facts* f) {
  if (file->line_count == 0 || strcmp(file->lines[0], title) != 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: is no restart file of throng ci (its first line is not '%s'); give another "
                   "name",
                   path, title);
  for (int i = 0; i < f->count; i++) {
    const fact* here = &f->list[i];
    const size_t length = strlen(here->key);
    const char* found = NULL;
    for (size_t k = 1; k < file->line_count && !found; k++)
      if (strncmp(file->lines[k], here->key, length) == 0 && file->lines[k][length] == ' ')
        found = file->lines[k] + length + 1;
    if (i == 0 && found && strcmp(found, here->value) != 0)
      return tg_fail(TG_ERR_INPUT, "%s: is of a %s, this input is of a %s; give another file", path,
                     found, here->value);
    if (!found)
      return tg_fail(TG_ERR_INPUT, "%s: does not say %s; it is damaged: remove it and start afresh",
                     path, here->meaning);
    if (strcmp(found, here->value) != 0)
      return tg_fail(
          TG_ERR_INPUT,
          "%s: is of another problem: %s is %s there, here it is %s; give the options of "
          "that run, or another file",
          path, here->meaning, found, here->value);
  }
  return TG_OK;
}

static tg_status state_path(const tg_ci_problem* p, const char* path, unsigned symmetry, int round,
                            char* out) {
  int used;
  char behind[WORD] = "";
  if (round > 0) snprintf(behind, sizeof behind, ".lift%d", round);
  if (p->kind == TG_CI_NUCLEUS)
    used = snprintf(out, PATH_SIZE, "%s.parity%c%s", path, symmetry ? '-' : '+', behind);
  else
    used = snprintf(out, PATH_SIZE, "%s.irrep%u%s", path, symmetry + 1, behind);
  if (used < 0 || used >= PATH_SIZE)
    return tg_fail(TG_ERR_INPUT, "%s: the name of a restart file is too long", path);
  return TG_OK;
}

/* Two runs would take each other's states for their own. File systems without locks are trusted. */
static tg_status lock_text(const char* path, int* lock) {
  *lock = open(path, O_RDONLY | O_CLOEXEC);
  if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return TG_OK;
  close(*lock);
  *lock = -1;
  return tg_fail(TG_ERR_INPUT,
                 "%s: another run is keeping its states there; wait for its end, or give another "
                 "name",
                 path);
}

static bool has_states(const tg_ci_problem* problem, const char* path) {
  char state[PATH_SIZE];
  for (size_t s = 0; s < problem->sector_count; s++)
    for (int round = 0; round < TG_CI_RESTART_ROUNDS; round++)
      if (state_path(problem, path, problem->sectors[s], round, state) == TG_OK &&
          tg_path_exists(state))
        return true;
  return false;
}

void tg_ci_restart_end(tg_ci_restart* restart) {
  if (restart->lock < 0) return;
  if (!restart->goes_on && !has_states(restart->problem, restart->path)) unlink(restart->path);
  close(restart->lock);
  restart->lock = -1;
}

tg_status tg_ci_restart_begin(const tg_ci_problem* problem, const char* path, double interval_s,
                              int states, bool look, tg_ci_restart* out) {
  facts f = {0};
  char state[PATH_SIZE];
  *out = (tg_ci_restart){.problem = problem, .path = path, .interval_s = interval_s, .lock = -1};
  out->digest = describe(problem, states, &f);
  if (!look) return TG_OK;
  out->goes_on = tg_path_exists(path);
  if (out->goes_on) {
    tg_text_file file;
    TG_TRY(tg_text_file_read(path, &file));
    const tg_status status = check_text(&file, path, &f);
    tg_text_file_free(&file);
    return status == TG_OK ? lock_text(path, &out->lock) : status;
  }
  for (size_t s = 0; s < problem->sector_count; s++) {
    TG_TRY(state_path(problem, path, problem->sectors[s], 0, state));
    if (tg_path_exists(state))
      return tg_fail(
          TG_ERR_INPUT,
          "%s: is in the way: it belongs to a restart file %s that is gone; remove it, or "
          "give another name",
          state, path);
  }
  TG_TRY(write_text(problem, path, &f));
  return lock_text(path, &out->lock);
}

void tg_ci_restart_remove(const tg_ci_problem* problem, const char* path) {
  char state[PATH_SIZE];
  for (size_t s = 0; s < problem->sector_count; s++)
    for (int round = 0; round < TG_CI_RESTART_ROUNDS; round++)
      if (state_path(problem, path, problem->sectors[s], round, state) == TG_OK) unlink(state);
  unlink(path);
}

/* ---- solving ---- */

typedef struct watch {
  const tg_ci_restart* restart;
  const tg_eigen_params* caller;
  const char* path;
  double next;     /* time of the next save */
  bool found_kept; /* the state with all states found is on disk */
  bool began;      /* a step is made */
} watch;

static bool is_first(const tg_ci_restart* r) { return !r->world || tg_world_pe(r->world) == 0; }

static tg_status agree(const tg_ci_restart* r, tg_status status) {
  return r->world ? tg_world_agree(r->world, status) : status;
}

/* What the first PE has found out. */
static tg_status tell(const tg_ci_restart* r, bool* what) {
  return r->world ? tg_world_broadcast(r->world, 0, what, sizeof *what) : TG_OK;
}

/* At most a twentieth of the time goes into writing. */
static tg_status save(watch* w, const tg_eigen_solver* solver) {
  const double start = tg_time_now();
  const tg_status status = tg_eigen_save(solver, w->path);
  const double end = tg_time_now(), pause = WRITING_SHARE * (end - start);
  w->next = end + (pause > w->restart->interval_s ? pause : w->restart->interval_s);
  return status;
}

/* A full disk now may have room next time, and hours of work are worth more than a state of them:
 * the run goes on, and the state on disk stays the one before. */
static void save_or_warn(watch* w, const tg_eigen_solver* solver) {
  if (save(w, solver) != TG_OK && w->restart->warn && is_first(w->restart))
    w->restart->warn(w->restart->context, tg_last_error());
}

static tg_status watched(void* context, const tg_eigen_progress* progress,
                         tg_eigen_solver* solver) {
  watch* w = context;
  const bool found = progress->phase == TG_EIGEN_VERIFY;
  bool due = (found && !w->found_kept) || tg_time_now() >= w->next;
  TG_TRY(tell(w->restart, &due));
  if (progress->phase != TG_EIGEN_DONE && due) {
    save_or_warn(w, solver);
    w->found_kept = found;
  }
  return w->caller->progress ? w->caller->progress(w->caller->context, progress, solver) : TG_OK;
}

/* Not before the first step: a piece of a run that has just time to read its state would be for
 * nothing, and so would all that follow. */
static bool stop_asked(void* context) {
  watch* w = context;
  if (!w->began) {
    w->began = true;
    return false;
  }
  return w->caller->interrupted && w->caller->interrupted(w->caller->context);
}

/* Memory that was free then need not be the same now: the basis is the saved one's. */
static tg_status adapt(const char* path, tg_eigen_params* params) {
  tg_eigen_saved saved;
  TG_TRY(tg_eigen_look(path, &saved));
  params->basis = saved.basis;
  params->block = saved.block;
  return TG_OK;
}

tg_status tg_ci_restart_solve(const tg_ci_restart* restart, size_t sector,
                              const tg_eigen_problem* problem, const tg_eigen_params* params,
                              tg_eigen_result* out) {
  char path[PATH_SIZE];
  tg_status status;
  tg_eigen_solver* solver = NULL;
  tg_eigen_problem marked = *problem;
  tg_eigen_params with = *params;
  const uint64_t part[] = {restart->problem->sectors[sector], (uint64_t)restart->round,
                           problem->fingerprint};
  TG_TRY(state_path(restart->problem, restart->path, (unsigned)part[0], restart->round, path));
  watch w = {.restart = restart,
             .caller = params,
             .path = path,
             .next = tg_time_now() + restart->interval_s};
  marked.fingerprint = tg_ci_digest(restart->digest, part, problem->fingerprint ? 3 : 2);
  with.progress = watched;
  with.interrupted = stop_asked;
  with.context = &w;
  bool saved = restart->goes_on && tg_path_exists(path);
  TG_TRY(tell(restart, &saved));
  if (saved) TG_TRY(agree(restart, adapt(path, &with)));
  TG_TRY(tg_eigen_create(&marked, &with, &solver));
  if (saved) TG_TRY_GOTO(tg_eigen_load(solver, path), done);
  status = tg_eigen_run(solver);
  if (status == TG_ERR_INTERRUPTED) {
    char words[512];
    snprintf(words, sizeof words, "%s", tg_last_error());
    TG_TRY_GOTO(save(&w, solver), done);
    status =
        tg_fail(TG_ERR_INTERRUPTED, "%s; the same command goes on from %s", words, restart->path);
  }
  if (status == TG_OK) status = tg_eigen_take(solver, out);
done:
  tg_eigen_destroy(&solver);
  return status;
}
