/* SPDX-License-Identifier: Apache-2.0 */
/* The file from which an interrupted run goes on; docs/eigen.md has its layout. */
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/file.h"
#include "eigen/restart_rows.h"
#include "eigen/solver.h"

enum { VERSION = 2, BYTE_ORDER_MARK = 0x01020304, MOST_PARTS = 8, MATRICES = 2 };

static const char magic[24] = "throng eigen-solver";

/* What must be the same for a run to go on. */
typedef struct head {
  char magic[24];
  uint32_t version, byte_order;
  uint64_t n_total, fingerprint, seed;
  uint32_t method, block, basis, state_size;
  uint32_t states, crc; /* of all before */
} head;

_Static_assert(sizeof(head) == 80, "no padding");

/* What is in front of a part's content. */
typedef struct front {
  uint64_t size, sum; /* bytes, and CRC-32; of vectors the sum of restart_rows.h */
} front;

/* Numbers that all PEs have. */
typedef struct part {
  void* data;
  size_t size;
  const char* what;
} part;

static head head_of(const tg_eigen_solver* s) {
  head h = {.version = VERSION,
            .byte_order = BYTE_ORDER_MARK,
            .n_total = tg_eigen_total(&s->problem),
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

/* The matrix t is stored as whole columns of `most`. */
static int parts_of(const tg_eigen_solver* s, const tg_eigen_state* state, part* parts) {
  const size_t active = (size_t)state->active;
  const part all[] = {
      {s->t, active * (size_t)s->most * sizeof(double), "the matrix of the basis"},
      {s->b, (size_t)TG_EIGEN_BLOCK * TG_EIGEN_BLOCK * sizeof(double), "the last block"},
      {s->locked_values, (size_t)state->locked * sizeof(double), "the locked values"},
      {s->values, (size_t)state->known * sizeof(double), "the values"},
      {s->norms, (size_t)state->known * sizeof(double), "the residuals"},
  };
  const int count = (int)(sizeof all / sizeof *all);
  memcpy(parts, all, sizeof all);
  return count;
}

/* Of the vectors those in use. */
static void columns_of(const tg_eigen_solver* s, const tg_eigen_state* state,
                       tg_eigen_matrix* columns) {
  columns[0] = (tg_eigen_matrix){s->basis, (size_t)(state->locked + state->active + state->width),
                                 "the basis"};
  columns[1] = (tg_eigen_matrix){s->images, s->images ? (size_t)state->active : 0,
                                 "the images of the basis"};
}

/* --- writing --- */

static void put_front(FILE* stream, uint64_t size, uint64_t sum) {
  const front f = {size, sum};
  fwrite(&f, sizeof f, 1, stream);
}

static void put(FILE* stream, const void* data, size_t size) {
  put_front(stream, size, tg_crc32(0, data, size));
  if (size > 0) fwrite(data, 1, size, stream);
}

/* All but the vectors' content. Returns where that begins. */
static uint64_t put_numbers(const tg_eigen_solver* s, FILE* stream) {
  const head h = head_of(s);
  part parts[MOST_PARTS] = {0};
  const int count = parts_of(s, &s->state, parts);
  uint64_t at = sizeof h + sizeof(front) + sizeof s->state;
  for (int i = 0; i < count; i++) at += sizeof(front) + parts[i].size;
  if (!stream) return at;
  fwrite(&h, sizeof h, 1, stream);
  put(stream, &s->state, sizeof s->state);
  for (int i = 0; i < count; i++) put(stream, parts[i].data, parts[i].size);
  return at;
}

/* This PE's rows, and from the one that leads what is in front of them. */
static tg_status put_vectors(const tg_eigen_solver* s, FILE* stream, uint64_t at,
                             const tg_eigen_matrix* columns, const uint64_t* sums) {
  const bool leads = tg_eigen_leads(&s->problem);
  for (int i = 0; i < MATRICES; i++) {
    const uint64_t size = tg_eigen_columns_size(s, &columns[i]);
    if (leads && s->problem.n < tg_eigen_total(&s->problem)) fseeko(stream, (off_t)at, SEEK_SET);
    if (leads) put_front(stream, size, sums[i]);
    TG_TRY(tg_eigen_columns_write(s, &columns[i], stream, at + sizeof(front)));
    at += sizeof(front) + size;
  }
  return TG_OK;
}

/* The one that leads makes the file, the others write into it once it is there; it gets its name
 * when all are done. */
static tg_status write_file(const tg_eigen_solver* s, const char* path,
                            const tg_eigen_matrix* columns, const uint64_t* sums,
                            tg_new_file* file) {
  const tg_eigen_problem* problem = &s->problem;
  const bool leads = tg_eigen_leads(problem);
  TG_TRY(tg_eigen_agree(problem, leads ? tg_new_file_open(path, file) : TG_OK));
  const bool writes = leads || problem->n > 0;
  tg_status status = !leads && writes ? tg_new_file_join(path, file) : TG_OK;
  if (status == TG_OK && writes) {
    const uint64_t at = put_numbers(s, leads ? file->stream : NULL);
    status = put_vectors(s, file->stream, at, columns, sums);
    if (!leads && status == TG_OK) status = tg_new_file_leave(file);
  }
  TG_TRY(tg_eigen_agree(problem, status));
  return tg_eigen_agree(problem, leads ? tg_new_file_commit(file) : TG_OK);
}

tg_status tg_eigen_save(const tg_eigen_solver* solver, const char* path) {
  tg_new_file file = {0};
  tg_eigen_matrix columns[MATRICES];
  uint64_t sums[MATRICES];
  if (solver->state.phase == TG_EIGEN_DONE)
    return tg_fail(TG_ERR_INPUT, "%s: the eigen-solver is done, there is nothing to go on with",
                   path);
  columns_of(solver, &solver->state, columns);
  for (int i = 0; i < MATRICES; i++) TG_TRY(tg_eigen_columns_sum(solver, &columns[i], &sums[i]));
  const tg_status status = write_file(solver, path, columns, sums, &file);
  if (status != TG_OK) tg_new_file_abandon(&file);
  return status;
}

/* --- reading --- */

static tg_status damaged(const char* path, const char* what, const char* how) {
  return tg_fail(TG_ERR_INPUT, "%s: %s: %s; the solve cannot go on from this file, start it afresh",
                 path, what, how);
}

/* One part, into data; NULL: only looked at. */
static tg_status get(FILE* stream, const char* path, const char* what, void* data, size_t size) {
  front f = {0};
  char buffer[16384] = {0};
  unsigned crc = 0;
  if (fread(&f, sizeof f, 1, stream) != 1) return damaged(path, what, "the file ends early");
  if (f.size != size) return damaged(path, what, "has another length than expected");
  for (size_t done = 0; done < size;) {
    const size_t most = data ? size : sizeof buffer;
    const size_t count = size - done < most ? size - done : most;
    void* to = data ? data : buffer;
    if (fread(to, 1, count, stream) != count) return damaged(path, what, "the file ends early");
    crc = tg_crc32(crc, to, count);
    done += count;
  }
  return crc == f.sum ? TG_OK : damaged(path, what, "the checksum is wrong");
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
  *out = (tg_eigen_saved){.n = h.n_total,
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
  } same[] = {{"number of rows", found->n_total, here.n_total},
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

/* The numbers that all have; load: into the solver, else they are only looked at. */
static tg_status read_numbers(tg_eigen_solver* s, FILE* stream, const char* path,
                              const tg_eigen_state* state, bool load) {
  part parts[MOST_PARTS] = {0};
  const int count = parts_of(s, state, parts);
  for (int i = 0; i < count; i++)
    TG_TRY(get(stream, path, parts[i].what, load ? parts[i].data : NULL, parts[i].size));
  return TG_OK;
}

/* This PE's rows; sums: [MATRICES, 2] what the file says, and this PE's part of what was found, if
 * they are only looked at; NULL: into the solver. */
static tg_status read_vectors(tg_eigen_solver* s, FILE* stream, const char* path,
                              const tg_eigen_state* state, uint64_t sums[MATRICES][2]) {
  tg_eigen_matrix columns[MATRICES];
  columns_of(s, state, columns);
  uint64_t at = (uint64_t)ftello(stream);
  for (int i = 0; i < MATRICES; i++) {
    const char* what = columns[i].what;
    const uint64_t size = tg_eigen_columns_size(s, &columns[i]);
    front f = {0};
    if (fseeko(stream, (off_t)at, SEEK_SET) != 0 || fread(&f, sizeof f, 1, stream) != 1)
      return damaged(path, what, "the file ends early");
    if (f.size != size) return damaged(path, what, "has another length than expected");
    if (sums) sums[i][0] = f.sum;
    at += sizeof f;
    bool whole;
    TG_TRY(tg_eigen_columns_read(s, &columns[i], stream, at, sums ? &sums[i][1] : NULL, &whole));
    if (!whole) return damaged(path, what, "the file ends early");
    at += size;
  }
  if (fseeko(stream, (off_t)at, SEEK_SET) != 0 || fgetc(stream) != EOF)
    return damaged(path, "its end", "something follows the last part");
  return TG_OK;
}

/* Local: all of it, before anything is changed. *here: where the numbers behind the state begin. */
static tg_status look_at(tg_eigen_solver* s, FILE* stream, const char* path, tg_eigen_state* state,
                         off_t* here, uint64_t sums[MATRICES][2]) {
  head h = {0};
  if (fread(&h, sizeof h, 1, stream) != 1) return damaged(path, "its head", "the file ends early");
  TG_TRY(check_head(s, path, &h));
  TG_TRY(get(stream, path, "the state", state, sizeof *state));
  if (!possible(s, state)) return damaged(path, "the state", "its numbers cannot be");
  *here = ftello(stream);
  if (*here < 0)
    return tg_fail(TG_ERR_INPUT, "%s: cannot be read twice; a plain file is needed", path);
  TG_TRY(read_numbers(s, stream, path, state, false));
  return read_vectors(s, stream, path, state, sums);
}

static tg_status read_file(tg_eigen_solver* s, FILE* stream, const char* path) {
  const tg_eigen_problem* problem = &s->problem;
  tg_eigen_state state = {0};
  off_t here = 0;
  uint64_t sums[MATRICES][2] = {{0}};
  TG_TRY(tg_eigen_agree(problem, look_at(s, stream, path, &state, &here, sums)));
  for (int i = 0; i < MATRICES; i++) {
    TG_TRY(tg_eigen_sum_of_all(s, &sums[i][1]));
    if (sums[i][0] != sums[i][1])
      return damaged(path, i == 0 ? "the basis" : "the images of the basis",
                     "the checksum is wrong");
  }
  tg_status status = fseeko(stream, here, SEEK_SET) == 0
                         ? read_numbers(s, stream, path, &state, true)
                         : damaged(path, "the state", "cannot be read again");
  if (status == TG_OK) status = read_vectors(s, stream, path, &state, NULL);
  TG_TRY(tg_eigen_agree(problem, status));
  s->state = state;
  s->looked = 0;
  return TG_OK;
}

tg_status tg_eigen_load(tg_eigen_solver* solver, const char* path) {
  FILE* stream = NULL;
  tg_status status = tg_eigen_agree(&solver->problem, tg_file_open(path, "rb", &stream));
  if (status == TG_OK) status = read_file(solver, stream, path);
  if (stream) fclose(stream);
  return status;
}
