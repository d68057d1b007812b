/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/space.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* The classes of both species under the space's limits. */
typedef struct census {
  tg_ci_limits limits[2];
  const char* names[2];
  tg_ci_class* classes[2];
  size_t count[2];
  uint64_t* pairs; /* sorted (A << 32 | B) of partitions; NULL: every pair */
  size_t pair_count;
} census;

static void census_free(census* c) {
  TG_FREE(c->classes[0]);
  TG_FREE(c->classes[1]);
  TG_FREE(c->pairs);
}

static int by_number(const void* p, const void* q) {
  const uint64_t a = *(const uint64_t*)p, b = *(const uint64_t*)q;
  return a < b ? -1 : a > b;
}

static tg_status census_pairs(const tg_ci_space_params* params, census* c) {
  c->pair_count = params->partition_pair_count;
  TG_TRY(TG_ALLOCATE(c->pair_count, "pairs of partitions", &c->pairs));
  for (size_t p = 0; p < c->pair_count; p++) {
    const uint32_t* pair = params->partition_pairs + 2 * p;
    for (int t = 0; t < 2; t++)
      if (pair[t] >= params->limits[t].partition_count)
        return tg_fail(TG_ERR_INPUT,
                       "pair %zu of partitions names partition %u of the %s; there are %zu", p + 1,
                       pair[t] + 1, c->names[t], params->limits[t].partition_count);
    c->pairs[p] = (uint64_t)pair[0] << 32 | pair[1];
  }
  if (c->pair_count) qsort(c->pairs, c->pair_count, sizeof *c->pairs, by_number);
  return TG_OK;
}

static tg_status census_take(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                             bool weights, census* c) {
  static const char* const names[2] = {"particles of species A", "particles of species B"};
  for (int t = 0; t < 2; t++) {
    const tg_ci_orbital* orbitals;
    const size_t n = tg_ci_hamiltonian_orbitals(h, t, &orbitals);
    c->names[t] = params->names[t] ? params->names[t] : names[t];
    c->limits[t] = params->limits[t];
    tg_ci_limits* limits = &c->limits[t];
    if (!weights) {
      limits->weight_most = INT_MAX;
    } else if (params->weight_most >= 0 &&
               (limits->weight_most < 0 || limits->weight_most > params->weight_most)) {
      limits->weight_most = params->weight_most;
    }
    TG_TRY(tg_ci_classes_count(n, orbitals, limits, c->names[t], &c->classes[t], &c->count[t]));
  }
  return census_pairs(params, c);
}

/* May strings of these two classes make a state, whatever its 2M and label? */
static bool allowed(const census* c, const tg_ci_space_params* params, const tg_ci_class* a,
                    const tg_ci_class* b) {
  if (params->weight_most >= 0 && a->weight + (uint64_t)b->weight > (uint64_t)params->weight_most)
    return false;
  if (!c->pair_count) return true;
  const uint64_t pair = (uint64_t)a->partition << 32 | b->partition;
  return bsearch(&pair, c->pairs, c->pair_count, sizeof pair, by_number) != NULL;
}

static uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }
static uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static int by_symmetry(const void* p, const void* q) {
  const tg_ci_dimension *a = p, *b = q;
  if (a->two_m != b->two_m) return a->two_m < b->two_m ? -1 : 1;
  return a->symmetry < b->symmetry ? -1 : a->symmetry > b->symmetry;
}

/* A class of A with all classes of B: sums by (2M, label) into a dense array. */
static tg_status count_all(const census* c, const tg_ci_space_params* params, int least_m,
                           size_t span, unsigned labels, uint64_t* states) {
  for (size_t i = 0; i < c->count[0]; i++)
    for (size_t j = 0; j < c->count[1]; j++) {
      const tg_ci_class *a = &c->classes[0][i], *b = &c->classes[1][j];
      if (!allowed(c, params, a, b)) continue;
      const size_t at =
          (size_t)(a->two_m + b->two_m - least_m) * labels + (a->symmetry ^ b->symmetry);
      if (at >= span * labels) return tg_fail(TG_ERR_INTERNAL, "a sum of 2m out of range");
      states[at] = add(states[at], multiply(a->count, b->count));
    }
  return TG_OK;
}

static tg_status no_state(const census* c, const tg_ci_space_params* params) {
  for (int t = 0; t < 2; t++)
    if (c->count[t] == 0)
      return tg_fail(TG_ERR_INPUT,
                     "no configuration of the %s is left by the limits of weight, shells and "
                     "partitions; allow more",
                     c->names[t]);
  return tg_fail(TG_ERR_INPUT,
                 "no state is left by the limits: the %s and %s that are allowed do not combine%s; "
                 "allow more",
                 c->names[0], c->names[1],
                 params->weight_most >= 0 ? " within the limit of the weight" : "");
}

tg_status tg_ci_space_count(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                            tg_ci_dimension** out, size_t* out_count) {
  tg_status status = TG_OK;
  census c = {0};
  uint64_t* states = NULL;
  tg_ci_dimension* list = NULL;
  TG_TRY_GOTO(census_take(h, params, true, &c), done);
  if (!c.count[0] || !c.count[1]) {
    status = no_state(&c, params);
    goto done;
  }
  const int least = c.classes[0][0].two_m + c.classes[1][0].two_m;
  const int most = c.classes[0][c.count[0] - 1].two_m + c.classes[1][c.count[1] - 1].two_m;
  const size_t span = (size_t)most - (size_t)least + 1;
  unsigned labels = 1;
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < c.count[t]; i++)
      while (labels <= c.classes[t][i].symmetry) labels *= 2;
  TG_TRY_GOTO(TG_ALLOCATE(span * labels, "dimensions", &states), done);
  TG_TRY_GOTO(count_all(&c, params, least, span, labels, states), done);
  size_t count = 0;
  for (size_t i = 0; i < span * labels; i++) count += states[i] != 0;
  if (!count) {
    status = no_state(&c, params);
    goto done;
  }
  TG_TRY_GOTO(TG_ALLOCATE(count, "dimensions", &list), done);
  count = 0;
  for (size_t i = 0; i < span * labels; i++)
    if (states[i])
      list[count++] = (tg_ci_dimension){.two_m = least + (int)(i / labels),
                                        .symmetry = (uint32_t)(i % labels),
                                        .states = states[i]};
  *out = list;
  *out_count = count;
done:
  census_free(&c);
  TG_FREE(states);
  return status;
}

tg_status tg_ci_space_least_weight(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                                   int* out) {
  tg_status status = TG_OK;
  census c = {0};
  TG_TRY_GOTO(census_take(h, params, false, &c), done);
  uint64_t least = UINT64_MAX;
  tg_ci_space_params free_params = *params;
  free_params.weight_most = -1;
  for (size_t i = 0; i < c.count[0]; i++)
    for (size_t j = 0; j < c.count[1]; j++) {
      const tg_ci_class *a = &c.classes[0][i], *b = &c.classes[1][j];
      if ((uint64_t)a->weight + b->weight < least && allowed(&c, &free_params, a, b))
        least = (uint64_t)a->weight + b->weight;
    }
  if (least == UINT64_MAX)
    status = no_state(&c, &free_params);
  else
    *out = (int)least;
done:
  census_free(&c);
  return status;
}

/* The message of a space without states: what there would be. */
static tg_status none_such(const tg_ci_hamiltonian* h, const tg_ci_space_params* params) {
  tg_ci_dimension* list = NULL;
  size_t count;
  TG_TRY(tg_ci_space_count(h, params, &list, &count));
  const tg_ci_dimension wanted = {.two_m = params->two_m};
  size_t at = 0;
  while (at < count && by_symmetry(&list[at], &wanted) < 0) at++;
  char labels[256] = "";
  for (; at < count && list[at].two_m == params->two_m; at++)
    snprintf(labels + strlen(labels), sizeof labels - strlen(labels), "%s%u", *labels ? ", " : "",
             list[at].symmetry);
  const int least = list[0].two_m, most = list[count - 1].two_m;
  tg_status status;
  if (*labels)
    status = tg_fail(TG_ERR_INPUT,
                     "no state with 2M = %d has the symmetry label %d; labels with states: %s",
                     params->two_m, params->symmetry, labels);
  else if ((params->two_m - least) % 2 != 0 && params->two_m >= least && params->two_m <= most)
    status = tg_fail(TG_ERR_INPUT, "2M = %d: with %d + %d particles 2M must be %s, from %d to %d",
                     params->two_m, params->limits[0].particles, params->limits[1].particles,
                     least % 2 ? "odd" : "even", least, most);
  else
    status = tg_fail(TG_ERR_INPUT, "no state has 2M = %d; states exist for 2M from %d to %d",
                     params->two_m, least, most);
  tg_free(list);
  return status;
}

/* Calls for each block in order; stops at the first failure. */
typedef tg_status (*block_visit)(void* context, size_t a, size_t b);

static tg_status visit_blocks(const census* c, const tg_ci_space_params* params, block_visit visit,
                              void* context) {
  for (size_t i = 0; i < c->count[0]; i++) {
    const tg_ci_class* a = &c->classes[0][i];
    const int two_m = params->two_m - a->two_m;
    const uint32_t label = params->symmetry < 0 ? 0 : (uint32_t)params->symmetry ^ a->symmetry;
    for (size_t j = tg_ci_classes_from(c->count[1], c->classes[1], two_m, label); j < c->count[1];
         j++) {
      const tg_ci_class* b = &c->classes[1][j];
      if (b->two_m != two_m || (params->symmetry >= 0 && b->symmetry != label)) break;
      if (allowed(c, params, a, b)) TG_TRY(visit(context, i, j));
    }
  }
  return TG_OK;
}

typedef struct plan {
  const census* census;
  uint32_t* number[2]; /* [classes of the census] 1 where used; then number + 1 among the used */
  size_t block_count, used[2];
  uint64_t dimension, strings[2];
  tg_ci_space* space; /* NULL while counting */
} plan;

static tg_status count_block(void* context, size_t a, size_t b) {
  plan* p = context;
  p->block_count++;
  p->number[0][a] = p->number[1][b] = 1;
  p->dimension =
      add(p->dimension, multiply(p->census->classes[0][a].count, p->census->classes[1][b].count));
  return TG_OK;
}

static tg_status store_block(void* context, size_t a, size_t b) {
  plan* p = context;
  tg_ci_space* s = p->space;
  tg_ci_block* block = &s->blocks[s->block_count++];
  block->a = p->number[0][a] - 1;
  block->b = p->number[1][b] - 1;
  block->rows = p->census->classes[0][a].count;
  block->columns = p->census->classes[1][b].count;
  block->offset = s->dimension;
  s->dimension += (uint64_t)block->rows * block->columns;
  s->block_begin[block->a + 1] = s->block_count;
  return TG_OK;
}

static void plan_free(plan* p) {
  TG_FREE(p->number[0]);
  TG_FREE(p->number[1]);
}

static tg_status plan_make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                           const census* c, plan* p) {
  p->census = c;
  for (int t = 0; t < 2; t++) TG_TRY(TG_ALLOCATE(c->count[t] + 1, "classes", &p->number[t]));
  TG_TRY(visit_blocks(c, params, count_block, p));
  if (!p->block_count) return none_such(h, params);
  for (int t = 0; t < 2; t++)
    for (size_t i = 0; i < c->count[t]; i++)
      if (p->number[t][i]) {
        p->number[t][i] = (uint32_t)++p->used[t];
        p->strings[t] = add(p->strings[t], c->classes[t][i].count);
      }
  return TG_OK;
}

static size_t plan_bytes(const tg_ci_hamiltonian* h, const plan* p) {
  size_t bytes = p->block_count * sizeof(tg_ci_block) + (p->used[0] + 1) * sizeof(size_t);
  for (int t = 0; t < 2; t++)
    bytes =
        add(bytes, add(p->used[t] * sizeof(tg_ci_class),
                       tg_ci_strings_bytes(p->census->limits[t].particles,
                                           tg_ci_hamiltonian_orbitals(h, t, NULL), p->strings[t])));
  return bytes;
}

tg_status tg_ci_space_estimate(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                               uint64_t* dimension, size_t* bytes) {
  tg_status status = TG_OK;
  census c = {0};
  plan p = {0};
  TG_TRY_GOTO(census_take(h, params, true, &c), done);
  TG_TRY_GOTO(plan_make(h, params, &c, &p), done);
  *dimension = p.dimension;
  *bytes = plan_bytes(h, &p);
done:
  plan_free(&p);
  census_free(&c);
  return status;
}

static tg_status make_strings(const tg_ci_hamiltonian* h, const plan* p, tg_ci_space* s) {
  for (int t = 0; t < 2; t++) {
    tg_ci_class* used = NULL;
    TG_TRY(TG_ALLOCATE(p->used[t], "classes of strings", &used));
    for (size_t i = 0; i < p->census->count[t]; i++)
      if (p->number[t][i]) used[p->number[t][i] - 1] = p->census->classes[t][i];
    const tg_ci_orbital* orbitals;
    const size_t n = tg_ci_hamiltonian_orbitals(h, t, &orbitals);
    const tg_status status =
        tg_ci_strings_make(n, orbitals, &p->census->limits[t], p->used[t], used, &s->strings[t]);
    tg_free(used);
    TG_TRY(status);
  }
  return TG_OK;
}

tg_status tg_ci_space_make(const tg_ci_hamiltonian* h, const tg_ci_space_params* params,
                           tg_ci_space** out) {
  tg_status status = TG_OK;
  census c = {0};
  plan p = {0};
  tg_ci_space* s = NULL;
  TG_TRY_GOTO(census_take(h, params, true, &c), done);
  TG_TRY_GOTO(plan_make(h, params, &c, &p), done);
  TG_TRY_GOTO(TG_ALLOCATE(1, "space", &s), done);
  s->two_m = params->two_m;
  s->symmetry = params->symmetry;
  if (p.dimension > SIZE_MAX / sizeof(double) / 4) {
    status = tg_fail(TG_ERR_MACHINE,
                     "the space has %.3g states, more than any memory holds; truncate it",
                     (double)p.dimension);
    goto done;
  }
  TG_TRY_GOTO(make_strings(h, &p, s), done);
  TG_TRY_GOTO(TG_ALLOCATE(p.block_count, "blocks", &s->blocks), done);
  TG_TRY_GOTO(TG_ALLOCATE(p.used[0] + 1, "blocks", &s->block_begin), done);
  p.space = s;
  TG_TRY_GOTO(visit_blocks(&c, params, store_block, &p), done);
  *out = s;
  s = NULL;
done:
  tg_ci_space_free(s);
  plan_free(&p);
  census_free(&c);
  return status;
}

void tg_ci_space_free(tg_ci_space* s) {
  if (!s) return;
  tg_ci_strings_free(&s->strings[0]);
  tg_ci_strings_free(&s->strings[1]);
  TG_FREE(s->blocks);
  TG_FREE(s->block_begin);
  tg_free(s);
}

size_t tg_ci_space_block(const tg_ci_space* s, size_t a, size_t b) {
  size_t low = s->block_begin[a], high = s->block_begin[a + 1];
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (s->blocks[middle].b == b) return middle;
    if (s->blocks[middle].b < b)
      low = middle + 1;
    else
      high = middle;
  }
  return SIZE_MAX;
}

size_t tg_ci_space_block_of(const tg_ci_space* s, uint64_t state) {
  size_t low = 0, high = s->block_count;
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (s->blocks[middle].offset <= state)
      low = middle;
    else
      high = middle;
  }
  return low;
}

void tg_ci_space_strings(const tg_ci_space* s, uint64_t state, size_t* a, size_t* b) {
  const tg_ci_block* block = &s->blocks[tg_ci_space_block_of(s, state)];
  const uint64_t local = state - block->offset;
  *a = s->strings[0].classes[block->a].begin + (size_t)(local / block->columns);
  *b = s->strings[1].classes[block->b].begin + (size_t)(local % block->columns);
}

uint64_t tg_ci_space_state(const tg_ci_space* s, size_t a, size_t b) {
  const size_t class_a = tg_ci_strings_class(&s->strings[0], a);
  const size_t class_b = tg_ci_strings_class(&s->strings[1], b);
  const size_t number = tg_ci_space_block(s, class_a, class_b);
  if (number == SIZE_MAX) return UINT64_MAX;
  const tg_ci_block* block = &s->blocks[number];
  return block->offset + (a - s->strings[0].classes[class_a].begin) * block->columns +
         (b - s->strings[1].classes[class_b].begin);
}
