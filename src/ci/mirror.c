/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/mirror.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool same_class(const tg_ci_class* a, const tg_ci_class* b) {
  return a->two_m == b->two_m && a->symmetry == b->symmetry && a->weight == b->weight &&
         a->begin == b->begin && a->count == b->count;
}

bool tg_ci_mirror_strings(const tg_ci_hamiltonian* h, const tg_ci_space* space) {
  const tg_ci_strings *a = &space->strings[0], *b = &space->strings[1];
  const tg_ci_orbital *p, *q;
  const size_t n = tg_ci_hamiltonian_orbitals(h, 0, &p);
  if (n != tg_ci_hamiltonian_orbitals(h, 1, &q) || a->particles != b->particles ||
      a->count != b->count || a->class_count != b->class_count || a->heaviest != b->heaviest)
    return false;
  for (size_t i = 0; i < n; i++)
    if (p[i].two_m != q[i].two_m || p[i].symmetry != q[i].symmetry || p[i].weight != q[i].weight)
      return false;
  for (size_t c = 0; c < a->class_count; c++)
    if (!same_class(&a->classes[c], &b->classes[c])) return false;
  const size_t bytes = a->count * (size_t)a->particles * sizeof *a->orbital;
  return bytes == 0 || memcmp(a->orbital, b->orbital, bytes) == 0;
}

static uint32_t mirrored(const tg_ci_jumps* j, uint32_t channel) {
  return (2 * (uint32_t)j->reach - channel / j->labels) * j->labels + channel % j->labels;
}

static tg_status copy(size_t count, size_t size, const void* from, void** out) {
  if (!from) return TG_OK;
  TG_TRY(tg_allocate_untouched(count, size, "tables of the second species", out));
  if (count) memcpy(*out, from, count * size);
  return TG_OK;
}
#define COPY(count, from, out) copy((count), sizeof **(out), (from), (void**)(out))

static tg_status copy_target(const tg_ci_target* a, size_t rows, tg_ci_target* b) {
  size_t entries = 0;
  for (size_t l = 0; l < a->link_count; l++) entries += a->links[l].count;
  b->link_count = a->link_count;
  TG_TRY(COPY(a->link_count, a->links, &b->links));
  TG_TRY(COPY(a->link_count * (rows + 1), a->begin, &b->begin));
  TG_TRY(COPY(entries, a->from, &b->from));
  return COPY(entries, a->value, &b->value);
}

/* A link of A as the next one of B, whose last link ends where `next` begins. */
static void move_link(const tg_ci_target* a, const tg_ci_link* from, size_t rows,
                      const tg_ci_link* next, tg_ci_target* b) {
  const size_t n = from->count, f = from->first, o = from->operators;
  const uint32_t shift = (uint32_t)(next->first - f);
  for (size_t r = 0; r <= rows; r++) b->begin[next->rows + r] = a->begin[from->rows + r] + shift;
  memcpy(b->from + next->first, a->from + f, n * sizeof *b->from);
  memcpy(b->code + next->first, a->code + f, n * sizeof *b->code);
  memcpy(b->op_of + next->first, a->op_of + f, n * sizeof *b->op_of);
  memcpy(b->op_to + next->first, a->op_to + f, n * sizeof *b->op_to);
  memcpy(b->op_from + next->first, a->op_from + f, n * sizeof *b->op_from);
  for (size_t k = 0; k <= from->operator_count; k++) { /* and the end */
    b->op[next->operators + k] = a->op[o + k];
    b->op_begin[next->operators + k] = a->op_begin[o + k] + shift;
  }
}

static tg_status mirror_target(const tg_ci_jumps* jumps, const tg_ci_target* a, size_t rows,
                               tg_ci_target* b) {
  static const char what[] = "jumps of the second species";
  size_t entries = 0, operators = 0, n = 0;
  for (size_t l = 0; l < a->link_count; l++) {
    entries += a->links[l].count;
    operators += a->links[l].operator_count + 1;
  }
  b->link_count = a->link_count;
  TG_TRY(TG_ALLOCATE_UNTOUCHED(a->link_count, what, &b->links));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(a->link_count * (rows + 1), what, &b->begin));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(entries, what, &b->from));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(entries, what, &b->code));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(operators, what, &b->op));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(operators, what, &b->op_begin));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(entries, what, &b->op_of));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(entries, what, &b->op_to));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(entries, what, &b->op_from));
  tg_ci_link next = {0};
  /* A's channels from the last change of 2m to the first; of one change labels rise for both */
  for (size_t end = a->link_count; end > 0;) {
    const uint32_t change = a->links[end - 1].channel / jumps->labels;
    size_t begin = end;
    while (begin > 0 && a->links[begin - 1].channel / jumps->labels == change) begin--;
    for (size_t l = begin; l < end; l++) {
      const tg_ci_link* from = &a->links[l];
      next.source = from->source;
      next.channel = mirrored(jumps, from->channel);
      next.count = from->count;
      next.operator_count = from->operator_count;
      move_link(a, from, rows, &next, b);
      b->links[n++] = next;
      next.rows += rows + 1;
      next.first += from->count;
      next.operators += from->operator_count + 1;
    }
    end = begin;
  }
  return TG_OK;
}

/* Operators have the numbers in their channel that A's have. */
static tg_status mirror_channels(const tg_ci_jumps* a, tg_ci_jumps* b) {
  const size_t count = a->channel_begin[a->channel_count];
  TG_TRY(TG_ALLOCATE(a->channel_count + 2, "channels", &b->channel_begin));
  TG_TRY(TG_ALLOCATE(count, "operators", &b->operators));
  for (size_t c = 0; c < a->channel_count; c++) {
    const uint32_t of_a = mirrored(a, (uint32_t)c);
    const size_t first = a->channel_begin[of_a], some = a->channel_begin[of_a + 1] - first;
    if (some)
      memcpy(b->operators + b->channel_begin[c], a->operators + first, some * sizeof *b->operators);
    b->channel_begin[c + 1] = b->channel_begin[c] + some;
  }
  return TG_OK;
}

static tg_status no_memory(tg_status status) {
  return tg_fail(status, "no memory for the tables of the second species; truncate the space");
}

tg_status tg_ci_mirror_jumps(const tg_ci_jumps* a, const tg_ci_space* space, int threads,
                             tg_ci_jumps* b) {
  tg_status status = TG_OK;
  *b = (tg_ci_jumps){.class_count = a->class_count,
                     .reach = a->reach,
                     .labels = a->labels,
                     .channel_count = a->channel_count,
                     .count = a->count,
                     .bytes = a->bytes};
  TG_TRY(TG_ALLOCATE(a->class_count, "targets of jumps", &b->targets));
  TG_TRY(mirror_channels(a, b));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < a->class_count; c++) {
    const size_t rows = (size_t)space->strings[0].classes[c].count;
    const tg_status mine = mirror_target(a, &a->targets[c], rows, &b->targets[c]);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_mirror)
      status = mine;
    }
  }
  (void)threads;
  return status == TG_OK ? TG_OK : no_memory(status); /* the words are with another thread */
}

tg_status tg_ci_mirror_alone(const tg_ci_alone* a, const tg_ci_space* space, int threads,
                             tg_ci_alone* b) {
  tg_status status = TG_OK;
  *b = (tg_ci_alone){.class_count = a->class_count, .count = a->count, .bytes = a->bytes};
  TG_TRY(TG_ALLOCATE(a->class_count, "targets", &b->targets));
  TG_TRY(COPY(space->strings[0].count, a->diagonal, &b->diagonal));
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < a->class_count; c++) {
    const size_t rows = (size_t)space->strings[0].classes[c].count;
    const tg_status mine = copy_target(&a->targets[c], rows, &b->targets[c]);
    if (mine != TG_OK) {
#pragma omp critical(tg_ci_mirror)
      status = mine;
    }
  }
  (void)threads;
  return status == TG_OK ? TG_OK : no_memory(status);
}
