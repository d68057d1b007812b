/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of strings by class, without the strings. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/strings.h"

/* Ways to reach (particles, 2m, label, weight): a dense array in this order. */
typedef struct ways {
  int particles, reach; /* |sum of 2m| <= reach */
  unsigned labels;      /* a power of two */
  int weights;          /* weight 0 ... weights - 1 */
  bool weighed;         /* false: weights are not looked at */
  size_t plane;         /* elements of one particle number */
  uint64_t* count;      /* [particles + 1, plane] */
} ways;

static size_t place(const ways* w, int two_m, unsigned label, int weight) {
  return ((size_t)(two_m + w->reach) * w->labels + label) * (size_t)w->weights + (size_t)weight;
}

static uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }
static uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static int orbital_weight(const ways* w, const tg_ci_orbital* o) {
  return w->weighed ? o->weight : 0;
}

/* to[n + more] += factor * from[n], each moved by the sums given; most: of n. */
static void shift_add(const ways* shape, const uint64_t* from, uint64_t* to, int two_m,
                      unsigned label, int weight, uint64_t factor) {
  const int reach = shape->reach;
  for (int m = -reach; m <= reach; m++) {
    if (m + two_m < -reach || m + two_m > reach) continue;
    for (unsigned l = 0; l < shape->labels; l++)
      for (int v = 0; v + weight < shape->weights; v++) {
        const uint64_t old = from[place(shape, m, l, v)];
        if (!old) continue;
        uint64_t* there = to + place(shape, m + two_m, l ^ label, v + weight);
        *there = add(*there, multiply(old, factor));
      }
  }
}

/* One more orbital, in or out. Falling, as particle number n + 1 takes from n as it was. */
static void with_orbital(ways* w, const tg_ci_orbital* o, int most) {
  for (int n = most - 1; n >= 0; n--)
    shift_add(w, w->count + (size_t)n * w->plane, w->count + (size_t)(n + 1) * w->plane, o->two_m,
              o->symmetry, orbital_weight(w, o), 1);
}

/* The active orbitals of a shell with least ... most particles in them. */
static tg_status with_shell(ways* w, size_t count, const tg_ci_orbital* orbitals,
                            const uint16_t* members, int least, int most) {
  ways shell = *w, sum = *w;
  tg_status status = TG_OK;
  shell.count = sum.count = NULL;
  const size_t size = (size_t)(w->particles + 1) * w->plane;
  TG_TRY_GOTO(TG_ALLOCATE(size, "counts of strings", &shell.count), done);
  TG_TRY_GOTO(TG_ALLOCATE(size, "counts of strings", &sum.count), done);
  shell.count[place(w, 0, 0, 0)] = 1;
  for (size_t i = 0; i < count; i++) with_orbital(&shell, &orbitals[members[i]], w->particles);
  for (int k = least; k <= most && k <= w->particles; k++)
    for (int m = -w->reach; m <= w->reach; m++)
      for (unsigned l = 0; l < w->labels; l++)
        for (int v = 0; v < w->weights; v++) {
          const uint64_t factor = shell.count[(size_t)k * w->plane + place(w, m, l, v)];
          if (!factor) continue;
          for (int n = 0; n + k <= w->particles; n++)
            shift_add(w, w->count + (size_t)n * w->plane, sum.count + (size_t)(n + k) * w->plane, m,
                      l, v, factor);
        }
  uint64_t* old = w->count;
  w->count = sum.count;
  sum.count = old;
done:
  TG_FREE(shell.count);
  TG_FREE(sum.count);
  return status;
}

static int falling(const void* a, const void* b) { return *(const int*)b - *(const int*)a; }

/* The largest sum of particles numbers among count. */
static int largest_sum(size_t count, int* numbers, int particles) {
  int sum = 0;
  if (count) qsort(numbers, count, sizeof *numbers, falling);
  for (int i = 0; i < particles && (size_t)i < count; i++) sum += numbers[i];
  return sum;
}

static tg_status shape_make(size_t n, const tg_ci_orbital* orbitals, const tg_ci_limits* limits,
                            ways* out) {
  int* numbers = NULL;
  TG_TRY(TG_ALLOCATE(n + 1, "orbitals", &numbers));
  out->particles = limits->particles;
  out->labels = 1;
  for (size_t i = 0; i < n; i++) {
    numbers[i] = abs(orbitals[i].two_m);
    while (out->labels <= orbitals[i].symmetry) out->labels *= 2;
  }
  out->reach = largest_sum(n, numbers, limits->particles);
  for (size_t i = 0; i < n; i++) numbers[i] = orbitals[i].weight;
  const int heaviest = largest_sum(n, numbers, limits->particles);
  out->weights = 1;
  out->weighed = limits->weight_most >= 0;
  if (out->weighed) out->weights += limits->weight_most < heaviest ? limits->weight_most : heaviest;
  out->plane = (size_t)(2 * out->reach + 1) * out->labels * (size_t)out->weights;
  tg_free(numbers);
  return TG_ALLOCATE((size_t)(out->particles + 1) * out->plane, "counts of strings", &out->count);
}

/* All orbitals, shell by shell; occupation: [shells] exact ones of a partition, or NULL. */
static tg_status count_ways(size_t n, const tg_ci_orbital* orbitals, const tg_ci_limits* limits,
                            const uint16_t* occupation, uint16_t* members, ways* w) {
  memset(w->count, 0, (size_t)(w->particles + 1) * w->plane * sizeof *w->count);
  int frozen = 0, m = 0, weight = 0, last = -1;
  unsigned label = 0;
  for (size_t i = 0; i < n; i++) {
    if (orbitals[i].shell > last) last = orbitals[i].shell;
    if (!limits->roles || limits->roles[i] != TG_CI_FROZEN) continue;
    frozen++;
    m += orbitals[i].two_m;
    label ^= orbitals[i].symmetry;
    weight += orbital_weight(w, &orbitals[i]);
  }
  if (frozen > w->particles || weight >= w->weights) return TG_OK;
  w->count[(size_t)frozen * w->plane + place(w, m, label, weight)] = 1;
  for (int s = 0; s <= last; s++) {
    size_t count = 0;
    int held = 0;
    for (size_t i = 0; i < n; i++) {
      if (orbitals[i].shell != s) continue;
      const int role = limits->roles ? limits->roles[i] : TG_CI_ACTIVE;
      if (role == TG_CI_ACTIVE) members[count++] = (uint16_t)i;
      held += role == TG_CI_FROZEN;
    }
    const bool limited = (size_t)s < limits->shells;
    int least = limited && limits->least ? limits->least[s] : 0, most = (int)count + held;
    if (limited && limits->most && limits->most[s] < most) most = limits->most[s];
    if (occupation && occupation[s] > least) least = occupation[s];
    if (occupation && occupation[s] < most) most = occupation[s];
    least = least > held ? least - held : 0;
    most -= held;
    if (least > 0 || most < (int)count) {
      TG_TRY(with_shell(w, count, orbitals, members, least, most));
    } else {
      for (size_t i = 0; i < count; i++) with_orbital(w, &orbitals[members[i]], w->particles);
    }
  }
  return TG_OK;
}

static tg_status append_classes(const ways* w, uint32_t partition, tg_ci_class** list,
                                size_t* count, size_t* room) {
  const uint64_t* all = w->count + (size_t)w->particles * w->plane;
  for (int m = -w->reach; m <= w->reach; m++)
    for (unsigned l = 0; l < w->labels; l++)
      for (int v = 0; v < w->weights; v++) {
        const uint64_t strings = all[place(w, m, l, v)];
        if (!strings) continue;
        TG_TRY(TG_RESERVE(*count + 1, "classes of strings", list, room));
        (*list)[(*count)++] = (tg_ci_class){.two_m = m,
                                            .symmetry = l,
                                            .weight = (uint32_t)v,
                                            .partition = partition,
                                            .count = strings};
      }
  return TG_OK;
}

static int by_class(const void* p, const void* q) {
  const tg_ci_class *a = p, *b = q;
  if (a->two_m != b->two_m) return a->two_m < b->two_m ? -1 : 1;
  if (a->symmetry != b->symmetry) return a->symmetry < b->symmetry ? -1 : 1;
  if (a->weight != b->weight) return a->weight < b->weight ? -1 : 1;
  return a->partition < b->partition ? -1 : a->partition > b->partition;
}

static tg_status check_limits(size_t n, const tg_ci_orbital* orbitals, const tg_ci_limits* limits,
                              const char* species) {
  size_t usable = 0, frozen = 0, shells = 0;
  for (size_t i = 0; i < n; i++) {
    const int role = limits->roles ? limits->roles[i] : TG_CI_ACTIVE;
    usable += role != TG_CI_UNUSED;
    frozen += role == TG_CI_FROZEN;
    if (orbitals[i].shell >= shells) shells = orbitals[i].shell + (size_t)1;
  }
  if (limits->particles < 0)
    return tg_fail(TG_ERR_INPUT, "%d %s; a number from 0 to %zu is needed", limits->particles,
                   species, usable);
  if ((size_t)limits->particles > usable)
    return tg_fail(
        TG_ERR_INPUT,
        "%d %s do not fit into their %zu single-particle states; at most %zu are possible",
        limits->particles, species, usable, usable);
  if ((size_t)limits->particles < frozen)
    return tg_fail(TG_ERR_INPUT,
                   "%zu single-particle states of the %s are frozen, more than the %d particles; "
                   "freeze fewer",
                   frozen, species, limits->particles);
  if (limits->partition_count && limits->shells < shells)
    return tg_fail(TG_ERR_INPUT,
                   "partitions of the %s give occupations of %zu shells; there are %zu", species,
                   limits->shells, shells);
  return TG_OK;
}

tg_status tg_ci_classes_count(size_t n, const tg_ci_orbital* orbitals, const tg_ci_limits* limits,
                              const char* species, tg_ci_class** out, size_t* out_count) {
  TG_TRY(check_limits(n, orbitals, limits, species));
  tg_status status = TG_OK;
  tg_ci_class* list = NULL;
  size_t count = 0, room = 0;
  uint16_t* members = NULL;
  ways w = {0};
  TG_TRY_GOTO(TG_ALLOCATE(n + 1, "orbitals", &members), done);
  TG_TRY_GOTO(shape_make(n, orbitals, limits, &w), done);
  const size_t rounds = limits->partition_count ? limits->partition_count : 1;
  for (size_t p = 0; p < rounds; p++) {
    const uint16_t* row = limits->partition_count ? limits->partitions + p * limits->shells : NULL;
    int sum = 0;
    for (size_t s = 0; row && s < limits->shells; s++) sum += row[s];
    if (row && sum != limits->particles) {
      status = tg_fail(TG_ERR_INPUT, "partition %zu of the %s holds %d particles; it must hold %d",
                       p + 1, species, sum, limits->particles);
      goto done;
    }
    TG_TRY_GOTO(count_ways(n, orbitals, limits, row, members, &w), done);
    TG_TRY_GOTO(append_classes(&w, (uint32_t)p, &list, &count, &room), done);
  }
  if (count) qsort(list, count, sizeof *list, by_class);
  *out = list;
  *out_count = count;
  list = NULL;
done:
  TG_FREE(w.count);
  TG_FREE(members);
  TG_FREE(list);
  return status;
}

size_t tg_ci_classes_from(size_t count, const tg_ci_class* classes, int two_m, uint32_t symmetry) {
  const tg_ci_class wanted = {.two_m = two_m, .symmetry = symmetry};
  size_t low = 0;
  while (count) {
    const size_t half = count / 2;
    if (by_class(&classes[low + half], &wanted) < 0) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low;
}
