/* SPDX-License-Identifier: Apache-2.0 */
/* The file from which an interrupted run goes on; docs/eigen.md has its layout. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "eigen/solver.h"

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, MOST_PARTS = 8 };

static const char magic[24] = "throng eigen-solver";

/* What must be the same for a run to go on. */
typedef struct head {
  char magic[24];
  uint32_t version, byte_order;
  uint64_t n, n_total, first, fingerprint, seed;
  uint32_t method, block, basis, state_size;
  uint32_t states, crc; /* of all before */
} head;

_Static_assert(sizeof(head) == 96, "no padding");

/* A stretch of numbers: the file has its CRC-32 and length in front of it. */
typedef struct part {
  void* data;
  size_t size;
  const char* what;
} part;

static head head_of(const tg_eigen_solver* s) {
  head h = {.version = VERSION,
            .byte_order = BYTE_ORDER_MARK,
            .n = s->problem.n,
            .n_total = tg_eigen_total(&s->problem),
            .first = s->problem.first,
            .fingerprint = s->problem.fingerprint,
            .seed = s->params.seed,
            .method = s->params.method,
            .block = (uint32_t)s->params.block,
            .basis = (uint32_t)s->most,
            .state_size = sizeof s->state,
            .states = (uint32_t)s->params.states};
  memcpy(h.magic, magic, sizeof magic);
  h.crc = tg_crc32(0, &h, offsetof(head, crc));
  return h;
}

/* The matrix t is stored as whole columns of `most`; of columns of n only those in use. */
static int parts_of(const tg_eigen_solver* s, const tg_eigen_state* state, part* parts) {
  const size_t active = (size_t)state->active, column = s->rows.ld * sizeof(double);
  const size_t used = (size_t)(state->locked + state->active + state->width);
  const part all[] = {
      {s->t, active * (size_t)s->most * sizeof(double), "the matrix of the basis"},
      {s->b, (size_t)TG_EIGEN_BLOCK * TG_EIGEN_BLOCK * sizeof(double), "the last block"},
      {s->locked_values, (size_t)state->locked * sizeof(double), "the locked values"},
      {s->values, (size_t)state->known * sizeof(double), "the values"},
      {s->norms, (size_t)state->known * sizeof(double), "the residuals"},
      {s->basis, used * column, "the basis"},
      {s->images, s->images ? active * column : 0, "the images of the basis"},
  };
  const int count = (int)(sizeof all / sizeof *all);
  memcpy(parts, all, sizeof all);
  return count;
}

static void put(FILE* stream, const void* data, size_t size) {
  const uint64_t front[2] = {size, tg_crc32(0, data, size)};
  fwrite(front, sizeof front, 1, stream);
  if (size > 0) fwrite(data, 1, size, stream);
}

tg_status tg_eigen_save(const tg_eigen_solver* solver, const char* path) {
  tg_new_file file;
  if (solver->state.phase == TG_EIGEN_DONE)
    return tg_fail(TG_ERR_INPUT, "%s: the eigen-solver is done, there is nothing to go on with",
                   path);
  TG_TRY(tg_new_file_open(path, &file));
  const head h = head_of(solver);
  fwrite(&h, sizeof h, 1, file.stream);
  put(file.stream, &solver->state, sizeof solver->state);
  part parts[MOST_PARTS] = {0};
  const int count = parts_of(solver, &solver->state, parts);
  for (int i = 0; i < count; i++) put(file.stream, parts[i].data, parts[i].size);
  return tg_new_file_commit(&file);
}

/* --- reading --- */

static tg_status damaged(const char* path, const char* what, const char* how) {
  return tg_fail(TG_ERR_INPUT, "%s: %s: %s; the solve cannot go on from this file, start it afresh",
                 path, what, how);
}

/* One part, into data; NULL: only looked at. */
static tg_status get(FILE* stream, const char* path, const char* what, void* data, size_t size) {
  uint64_t front[2] = {0};
  char buffer[16384] = {0};
  unsigned crc = 0;
  if (fread(front, sizeof front, 1, stream) != 1) return damaged(path, what, "the file ends early");
  if (front[0] != size) return damaged(path, what, "has another length than expected");
  for (size_t done = 0; done < size;) {
    const size_t most = data ? size : sizeof buffer;
    const size_t count = size - done < most ? size - done : most;
    void* to = data ? data : buffer;
    if (fread(to, 1, count, stream) != count) return damaged(path, what, "the file ends early");
    crc = tg_crc32(crc, to, count);
    done += count;
  }
  return crc == front[1] ? TG_OK : damaged(path, what, "the checksum is wrong");
}

static tg_status differs(const char* path, const char* what, uint64_t found, uint64_t expected) {
  return tg_fail(TG_ERR_INPUT,
                 "%s: was written by another solve: its %s is %llu, here it is %llu; use the "
                 "parameters of that solve, or start afresh",
                 path, what, (unsigned long long)found, (unsigned long long)expected);
}

/* Is it one, of this kind of machine, and whole? */
static tg_status check_mark(const char* path, const head* found) {
  if (memcmp(found->magic, magic, sizeof magic) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: is no restart file of the eigen-solver", path);
  if (found->byte_order != BYTE_ORDER_MARK)
    return tg_fail(TG_ERR_INPUT, "%s: was written by a machine with another byte order", path);
  if (found->version != VERSION)
    return tg_fail(TG_ERR_INPUT, "%s: is of version %u; this throng reads version %d", path,
                   found->version, VERSION);
  if (found->crc != tg_crc32(0, found, offsetof(head, crc)))
    return damaged(path, "its head", "the checksum is wrong");
  return TG_OK;
}

tg_status tg_eigen_look(const char* path, tg_eigen_saved* out) {
  FILE* stream;
  head h = {0};
  TG_TRY(tg_file_open(path, "rb", &stream));
  const size_t count = fread(&h, sizeof h, 1, stream);
  fclose(stream);
  if (count != 1) return damaged(path, "its head", "the file ends early");
  TG_TRY(check_mark(path, &h));
  *out = (tg_eigen_saved){.n = h.n,
                          .fingerprint = h.fingerprint,
                          .seed = h.seed,
                          .method = (tg_eigen_method)h.method,
                          .states = (int)h.states,
                          .block = (int)h.block,
                          .basis = (int)h.basis};
  return TG_OK;
}

static tg_status check_head(const tg_eigen_solver* s, const char* path, const head* found) {
  const head here = head_of(s);
  TG_TRY(check_mark(path, found));
  const struct {
    const char* what;
    uint64_t found, here;
  } same[] = {{"number of rows of this processing element", found->n, here.n},
              {"number of rows", found->n_total, here.n_total},
              {"first row", found->first, here.first},
              {"operator's fingerprint", found->fingerprint, here.fingerprint},
              {"seed", found->seed, here.seed},
              {"method", found->method, here.method},
              {"block", found->block, here.block},
              {"basis", found->basis, here.basis},
              {"number of states", found->states, here.states},
              {"size of the state", found->state_size, here.state_size}};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    if (same[i].found != same[i].here)
      return differs(path, same[i].what, same[i].found, same[i].here);
  return TG_OK;
}

/* Could the solver be in this state? A file may be whole and still of other parameters. */
static bool possible(const tg_eigen_solver* s, const tg_eigen_state* state) {
  const int64_t all[] = {state->locked, state->active, state->width, state->window, state->last};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] < 0 || all[i] > s->most) return false;
  return state->phase >= TG_EIGEN_MAIN && state->phase < TG_EIGEN_DONE &&
         state->locked + state->active + state->width <= s->columns &&
         state->window + state->last <= state->active && state->last <= TG_EIGEN_BLOCK &&
         state->width <= TG_EIGEN_BLOCK && state->known >= 0 && state->known <= s->params.states;
}

/* The parts of the file; load: into the solver, else they are only looked at. */
static tg_status read_parts(tg_eigen_solver* s, FILE* stream, const char* path,
                            const tg_eigen_state* state, bool load) {
  part parts[MOST_PARTS] = {0};
  const int count = parts_of(s, state, parts);
  for (int i = 0; i < count; i++)
    TG_TRY(get(stream, path, parts[i].what, load ? parts[i].data : NULL, parts[i].size));
  if (fgetc(stream) != EOF) return damaged(path, "its end", "something follows the last part");
  return TG_OK;
}

static tg_status read_file(tg_eigen_solver* s, FILE* stream, const char* path) {
  head h = {0};
  tg_eigen_state state = {0};
  if (fread(&h, sizeof h, 1, stream) != 1) return damaged(path, "its head", "the file ends early");
  TG_TRY(check_head(s, path, &h));
  TG_TRY(get(stream, path, "the state", &state, sizeof state));
  if (!possible(s, &state)) return damaged(path, "the state", "its numbers cannot be");
  const long here = ftell(stream);
  TG_TRY(read_parts(s, stream, path, &state, false)); /* all of it, before anything is changed */
  if (here < 0 || fseek(stream, here, SEEK_SET) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: cannot be read twice; a plain file is needed", path);
  TG_TRY(read_parts(s, stream, path, &state, true));
  s->state = state;
  s->looked = 0;
  return TG_OK;
}

tg_status tg_eigen_load(tg_eigen_solver* solver, const char* path) {
  FILE* stream;
  TG_TRY(tg_file_open(path, "rb", &stream));
  const tg_status status = read_file(solver, stream, path);
  fclose(stream);
  return status;
}
