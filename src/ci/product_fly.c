/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/product_fly.h"

#include <stdbool.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/memory.h"
#include "ci/mirror.h"
#include "ci/table_jobs.h"

void tg_ci_fly_free(tg_ci_fly* f) {
  for (int t = 0; t < 2; t++) {
    tg_ci_jumps_free(&f->jumps[t]);
    tg_ci_alone_free(&f->alone[t]);
  }
  TG_FREE(f->row_begin);
  TG_FREE(f->rows);
  for (int t = 0; t < 2; t++) {
    TG_FREE(f->fields[t].row);
    TG_FREE(f->fields[t].value);
  }
  TG_FREE(f->still);
  TG_FREE(f->diagonal);
  TG_FREE(f->elements);
  *f = (tg_ci_fly){0};
}

static size_t operators_of(const tg_ci_jumps* j, size_t channel) {
  return j->channel_begin[channel + 1] - j->channel_begin[channel];
}

/* w(a,b) of one operator of A, for the operators of B that occur: a part of all, in the same order.
 */
static void fill_row(const tg_ci_hamiltonian* h, const tg_ci_fly* f, size_t channel, uint32_t a,
                     double* out) {
  const size_t na = f->orbitals[0], nb = f->orbitals[1];
  const tg_ci_jumps* jb = &f->jumps[1];
  const double* values;
  const uint32_t* places;
  const size_t count = operators_of(jb, channel);
  const size_t elements =
      tg_ci_hamiltonian_cross_row(h, (int)(a / na), (int)(a % na), &values, &places);
  if (!elements || !count) return;
  const tg_ci_orbital* o;
  tg_ci_hamiltonian_orbitals(h, 1, &o);
  const uint32_t *operators = jb->operators + jb->channel_begin[channel], *members;
  const tg_ci_orbital *to = &o[operators[0] / nb], *from = &o[operators[0] % nb];
  tg_ci_hamiltonian_transitions(h, 1, to->two_m - from->two_m,
                                (unsigned)(to->symmetry ^ from->symmetry), &members);
  for (size_t b = 0, e = 0; b < count && e < elements; e++) {
    const uint32_t member = members[places ? places[e] : e];
    while (b < count && operators[b] < member) b++;
    if (b < count && operators[b] == member) out[b++] = values[e];
  }
}

/* w between operator o (i * orbitals + j) of a species and a+_q a_q of the other. */
static double still_element(const tg_ci_hamiltonian* h, const tg_ci_fly* f, int species, uint32_t o,
                            size_t q) {
  const int n = (int)f->orbitals[species], i = (int)o / n, j = (int)o % n;
  return species ? tg_ci_hamiltonian_cross(h, (int)q, (int)q, i, j)
                 : tg_ci_hamiltonian_cross(h, i, j, (int)q, (int)q);
}

static tg_status make_fields(const tg_ci_hamiltonian* h, tg_ci_fly* f, int species) {
  const tg_ci_jumps* jumps = &f->jumps[species];
  const uint32_t still = tg_ci_channel_still(jumps);
  const size_t count = operators_of(jumps, still);
  const uint32_t* operators = jumps->operators + jumps->channel_begin[still];
  tg_ci_fields* out = &f->fields[species];
  out->stride = f->orbitals[1 - species];
  out->rows = 1; /* the zeros */
  TG_TRY(TG_ALLOCATE(count, "operators", &out->row));
  for (size_t o = 0; o < count; o++) {
    bool any = false;
    for (size_t q = 0; q < out->stride && !any; q++)
      any = still_element(h, f, species, operators[o], q) != 0;
    if (any) out->row[o] = (uint32_t)out->rows++;
  }
  TG_TRY(TG_ALLOCATE(out->rows * out->stride, "elements between species", &out->value));
  for (size_t o = 0; o < count; o++)
    for (size_t q = 0; out->row[o] && q < out->stride; q++)
      out->value[out->row[o] * out->stride + q] = still_element(h, f, species, operators[o], q);
  f->bytes += count * sizeof *out->row + out->rows * out->stride * sizeof *out->value;
  return TG_OK;
}

static tg_status make_tables(const tg_ci_hamiltonian* h, tg_ci_fly* f) {
  const tg_ci_jumps *ja = &f->jumps[0], *jb = &f->jumps[1];
  const size_t na = f->orbitals[0], nb = f->orbitals[1];
  size_t size = 0; /* a row of zeros first, for operators without elements */
  for (size_t c = 0; c < ja->channel_count; c++)
    if (operators_of(jb, c) > size) size = operators_of(jb, c);
  TG_TRY(TG_ALLOCATE(ja->channel_begin[ja->channel_count], "operators", &f->row_begin));
  for (size_t c = 0; c < ja->channel_count; c++)
    for (size_t a = ja->channel_begin[c]; a < ja->channel_begin[c + 1]; a++) {
      const uint32_t o = ja->operators[a];
      const double* values;
      const uint32_t* places;
      if (!tg_ci_hamiltonian_cross_row(h, (int)(o / na), (int)(o % na), &values, &places)) continue;
      f->row_begin[a] = size;
      size += operators_of(jb, c);
    }
  TG_TRY(TG_ALLOCATE(size, "elements between species", &f->rows));
  for (size_t c = 0; c < ja->channel_count; c++)
    for (size_t a = ja->channel_begin[c]; a < ja->channel_begin[c + 1]; a++)
      if (f->row_begin[a]) fill_row(h, f, c, ja->operators[a], f->rows + f->row_begin[a]);
  for (int t = 0; t < 2; t++) TG_TRY(make_fields(h, f, t));
  TG_TRY(TG_ALLOCATE(na * nb, "elements between species", &f->still));
  for (size_t p = 0; p < na; p++)
    for (size_t q = 0; q < nb; q++)
      f->still[p * nb + q] = tg_ci_hamiltonian_cross(h, (int)p, (int)p, (int)q, (int)q);
  f->bytes += ja->channel_begin[ja->channel_count] * sizeof *f->row_begin;
  f->bytes += (size + na * nb) * sizeof(double);
  return TG_OK;
}

/* For row i the field of its particles on B's orbitals, then each column's sum over its own. */
static void diagonal_row(const tg_ci_fly* f, const tg_ci_block* block, size_t i, double* field,
                         double* row) {
  const tg_ci_strings *sa = &f->space->strings[0], *sb = &f->space->strings[1];
  const size_t nb = f->orbitals[1];
  const size_t first_a = sa->classes[block->a].begin, first_b = sb->classes[block->b].begin;
  const uint16_t* list = tg_ci_string(sa, first_a + i);
  memset(field, 0, nb * sizeof *field);
  for (int k = 0; k < sa->particles; k++)
    for (size_t q = 0; q < nb; q++) field[q] += f->still[list[k] * nb + q];
  for (size_t j = 0; j < block->columns; j++) {
    const uint16_t* other = tg_ci_string(sb, first_b + j);
    double sum = 0;
    for (int k = 0; k < sb->particles; k++) sum += field[other[k]];
    row[j] =
        f->constant + f->alone[0].diagonal[first_a + i] + f->alone[1].diagonal[first_b + j] + sum;
  }
}

tg_status tg_ci_fly_diagonal(const tg_ci_fly* f, int threads, uint64_t first, uint64_t end,
                             double* out) {
  const size_t nb = f->orbitals[1];
  double* fields = NULL;
  TG_TRY(TG_ALLOCATE((size_t)threads * (nb + 8), "fields", &fields));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t n = 0; n < f->space->block_count; n++) {
#ifdef _OPENMP
    double* field = fields + (size_t)omp_get_thread_num() * (nb + 8);
#else
    double* field = fields;
#endif
    const tg_ci_block* block = &f->space->blocks[n];
    for (size_t i = 0; i < block->rows; i++) {
      const uint64_t at = block->offset + (uint64_t)i * block->columns;
      if (at >= first && at < end) diagonal_row(f, block, i, field, out + (at - first));
    }
  }
  tg_free(fields);
  return TG_OK;
}

static tg_status make_diagonal(tg_ci_fly* f, int threads) {
  TG_TRY(TG_ALLOCATE(f->space->dimension, "diagonal of the Hamiltonian", &f->diagonal));
  return tg_ci_fly_diagonal(f, threads, 0, f->space->dimension, f->diagonal);
}

/* Fewer than FEW jumps of an operator leave most lanes empty. Rows are the faster way, as they use
 * all of a cache line: columns pay where they have several times as many jumps. */
tg_ci_way tg_ci_fly_way(const tg_ci_link* a, const tg_ci_link* b) {
  enum { FEW = 4, TIMES = 3 };
  const double by_a = (double)a->count / (double)a->operator_count;
  const double by_b = (double)b->count / (double)b->operator_count;
  if (by_a < FEW && by_b < FEW) return TG_CI_WAY_SINGLE;
  return by_a < 2 * 8 && by_b > TIMES * by_a ? TG_CI_WAY_COLUMNS : TG_CI_WAY_ROWS;
}

/* Pairs of states that differ in at most two particles, one of them in the block. */
static uint64_t block_pairs(const tg_ci_fly* f, const tg_ci_block* block, uint64_t* lanes) {
  const tg_ci_space* space = f->space;
  const tg_ci_target *alone_a = &f->alone[0].targets[block->a],
                     *alone_b = &f->alone[1].targets[block->b];
  const tg_ci_target *jump_a = &f->jumps[0].targets[block->a],
                     *jump_b = &f->jumps[1].targets[block->b];
  uint64_t pairs = (uint64_t)block->rows * block->columns;
  for (size_t l = 0; l < alone_a->link_count; l++)
    if (tg_ci_space_block(space, alone_a->links[l].source, block->b) != SIZE_MAX)
      pairs += (uint64_t)alone_a->links[l].count * block->columns;
  for (size_t l = 0; l < alone_b->link_count; l++)
    if (tg_ci_space_block(space, block->a, alone_b->links[l].source) != SIZE_MAX)
      pairs += (uint64_t)alone_b->links[l].count * block->rows;
  for (size_t l = 0; l < jump_a->link_count; l++) {
    const tg_ci_link* a = &jump_a->links[l];
    size_t first;
    const size_t count = tg_ci_links_of(jump_b, a->channel, &first);
    for (size_t m = first; m < first + count; m++)
      if (tg_ci_space_block(space, a->source, jump_b->links[m].source) != SIZE_MAX) {
        const uint64_t both = (uint64_t)a->count * jump_b->links[m].count;
        pairs += both;
        if (tg_ci_fly_way(a, &jump_b->links[m]) != TG_CI_WAY_SINGLE) *lanes += both;
      }
  }
  return pairs;
}

void tg_ci_fly_useful(const tg_ci_hamiltonian* h, const tg_ci_space* space, bool nonzero,
                      bool* const useful[2]) {
  const tg_ci_orbital* o;
  const size_t na = tg_ci_hamiltonian_orbitals(h, 0, &o), nb = space->strings[1].orbitals;
  if (!space->strings[0].particles || !space->strings[1].particles) return;
  if (!nonzero) {
    memset(useful[0], true, na * na * sizeof(bool));
    memset(useful[1], true, nb * nb * sizeof(bool));
    return;
  }
  for (size_t i = 0; i < na; i++)
    for (size_t j = 0; j < na; j++) {
      const double* values;
      const uint32_t *places, *members;
      const size_t count = tg_ci_hamiltonian_cross_row(h, (int)i, (int)j, &values, &places);
      if (!count) continue;
      tg_ci_hamiltonian_transitions(h, 1, o[j].two_m - o[i].two_m,
                                    (unsigned)(o[i].symmetry ^ o[j].symmetry), &members);
      for (size_t e = 0; e < count; e++)
        if (values[e] != 0)
          useful[0][i * na + j] = useful[1][members[places ? places[e] : e]] = true;
    }
}

static tg_status make_species(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                              bool nonzero, tg_ci_fly* f) {
  tg_status status = TG_OK;
  bool* useful[2] = {NULL, NULL};
  for (int t = 0; t < 2; t++)
    TG_TRY_GOTO(TG_ALLOCATE(f->orbitals[t] * f->orbitals[t] + 1, "operators", &useful[t]), done);
  tg_ci_fly_useful(h, space, nonzero, useful);
  const size_t operators = f->orbitals[0] * f->orbitals[0];
  const bool twins = tg_ci_mirror_strings(h, space);
  const bool jumps = twins && memcmp(useful[0], useful[1], operators * sizeof(bool)) == 0;
  const bool alone = twins && tg_ci_hamiltonian_same_species(h);
  tg_ci_table_job jobs[4];
  size_t count = 0;
  for (int t = 0; t < 2; t++) {
    if (t == 0 || !jumps)
      jobs[count++] = (tg_ci_table_job){.species = t, .useful = useful[t], .jumps = &f->jumps[t]};
    if (t == 0 || !alone)
      jobs[count++] = (tg_ci_table_job){.species = t, .nonzero = nonzero, .alone = &f->alone[t]};
  }
  TG_TRY_GOTO(tg_ci_table_jobs_run(h, space, threads, jobs, count), done);
  if (jumps) TG_TRY_GOTO(tg_ci_mirror_jumps(&f->jumps[0], space, threads, &f->jumps[1]), done);
  if (alone) TG_TRY_GOTO(tg_ci_mirror_alone(&f->alone[0], space, threads, &f->alone[1]), done);
  f->twins = alone;
  for (int t = 0; t < 2; t++) f->bytes += f->jumps[t].bytes + f->alone[t].bytes;
done:
  for (int t = 0; t < 2; t++) tg_free(useful[t]);
  return status;
}

tg_status tg_ci_fly_tables(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                           bool nonzero, tg_ci_fly* out) {
  tg_status status = TG_OK;
  tg_ci_fly f = {.space = space, .constant = tg_ci_hamiltonian_constant(h), .few = nonzero};
  for (int t = 0; t < 2; t++) f.orbitals[t] = tg_ci_hamiltonian_orbitals(h, t, NULL);
  TG_TRY_GOTO(make_species(h, space, threads, nonzero, &f), failed);
  TG_TRY_GOTO(make_tables(h, &f), failed);
  TG_TRY_GOTO(TG_ALLOCATE(space->block_count, "counts of matrix elements", &f.elements), failed);
  uint64_t pairs = 0, lanes = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(+ : pairs, lanes)
  for (size_t n = 0; n < space->block_count; n++) {
    const uint64_t mine = block_pairs(&f, &space->blocks[n], &lanes);
    f.elements[n] = (double)mine;
    pairs += mine;
  }
  f.pairs = pairs;
  f.lane_pairs = lanes;
  f.bytes += space->block_count * sizeof *f.elements + (size_t)space->dimension * sizeof(double);
  *out = f;
  return TG_OK;
failed:
  tg_ci_fly_free(&f);
  return status;
}

static tg_status make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                      bool nonzero, tg_ci_fly* out) {
  tg_ci_fly f;
  TG_TRY(tg_ci_fly_tables(h, space, threads, nonzero, &f));
  const tg_status status = make_diagonal(&f, threads);
  if (status == TG_OK)
    *out = f;
  else
    tg_ci_fly_free(&f);
  return status;
}

tg_status tg_ci_fly_make(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                         tg_ci_fly* out) {
  return make(h, space, threads, false, out);
}

tg_status tg_ci_fly_make_nonzero(const tg_ci_hamiltonian* h, const tg_ci_space* space, int threads,
                                 tg_ci_fly* out) {
  return make(h, space, threads, true, out);
}
