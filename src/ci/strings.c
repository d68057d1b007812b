/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/strings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

void tg_ci_strings_free(tg_ci_strings* s) {
  TG_FREE(s->classes);
  TG_FREE(s->orbital);
  TG_FREE(s->low);
  TG_FREE(s->marks);
  TG_FREE(s->table);
  *s = (tg_ci_strings){0};
}

static size_t table_size(uint64_t count) {
  size_t size = 16;
  while (size < 2 * count) size *= 2;
  return size;
}

size_t tg_ci_strings_bytes(int particles, size_t orbitals, uint64_t count) {
  if (count > UINT32_MAX) return SIZE_MAX; /* tg_ci_strings_make refuses */
  return (size_t)count * ((size_t)particles * sizeof(uint16_t) + sizeof(uint64_t)) +
         orbitals * sizeof(uint64_t) + table_size(count) * sizeof(uint32_t);
}

uint64_t tg_ci_strings_mark(const tg_ci_strings* s, const uint16_t* orbitals) {
  uint64_t mark = 0;
  for (int k = 0; k < s->particles; k++) mark ^= s->marks[orbitals[k]];
  return mark;
}

size_t tg_ci_strings_find(const tg_ci_strings* s, const uint16_t* orbitals, uint64_t mark) {
  const size_t bytes = (size_t)s->particles * sizeof *orbitals;
  for (size_t place = mark & (s->table_size - 1);; place = (place + 1) & (s->table_size - 1)) {
    const uint32_t entry = s->table[place];
    if (!entry) return SIZE_MAX;
    if (bytes == 0 || memcmp(tg_ci_string(s, entry - 1), orbitals, bytes) == 0) return entry - 1;
  }
}

size_t tg_ci_strings_find_bits(const tg_ci_strings* s, uint64_t bits, uint64_t mark) {
  for (size_t place = mark & (s->table_size - 1);; place = (place + 1) & (s->table_size - 1)) {
    const uint32_t entry = s->table[place];
    if (!entry) return SIZE_MAX;
    if (s->low[entry - 1] == bits) return entry - 1;
  }
}

size_t tg_ci_strings_class(const tg_ci_strings* s, size_t number) {
  size_t low = 0, high = s->class_count; /* begin of low <= number, of high not */
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (s->classes[middle].begin <= number)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* What the enumeration looks up at each step. */
typedef struct listing {
  const tg_ci_orbital* orbitals;
  const tg_ci_limits* limits;
  tg_ci_strings* out;
  uint16_t* active; /* [active_count] orbitals to choose from, rising */
  size_t active_count;
  uint16_t* frozen; /* [frozen_count], rising */
  int frozen_count, choose;
  int* lightest;    /* [choose + 1, active_count + 1]: least weight of r of the last ones */
  uint16_t* most;   /* [shells] */
  uint16_t* held;   /* [shells] occupation so far */
  size_t shells;    /* of all orbitals, and of the limits */
  uint32_t* sorted; /* [partition_count] partitions in the order of their rows */
  uint16_t* chosen; /* [choose] places in active */
  uint16_t* list;   /* [particles] */
  size_t* filled;   /* [class_count] */
} listing;

static void listing_free(listing* l) {
  TG_FREE(l->active);
  TG_FREE(l->frozen);
  TG_FREE(l->lightest);
  TG_FREE(l->most);
  TG_FREE(l->held);
  TG_FREE(l->sorted);
  TG_FREE(l->chosen);
  TG_FREE(l->list);
  TG_FREE(l->filled);
}

static int row_compare(const tg_ci_limits* limits, size_t partition, const uint16_t* row) {
  const uint16_t* other = limits->partitions + partition * limits->shells;
  for (size_t s = 0; s < limits->shells; s++)
    if (other[s] != row[s]) return other[s] < row[s] ? -1 : 1;
  return 0;
}

/* Insertion: partitions are few, and mostly listed in order. */
static void sort_partitions(listing* l) {
  const tg_ci_limits* limits = l->limits;
  for (size_t p = 0; p < limits->partition_count; p++) {
    size_t at = p;
    for (;
         at && row_compare(limits, l->sorted[at - 1], limits->partitions + p * limits->shells) > 0;
         at--)
      l->sorted[at] = l->sorted[at - 1];
    l->sorted[at] = (uint32_t)p;
  }
}

static uint32_t find_partition(const listing* l) {
  size_t low = 0, high = l->limits->partition_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const int order = row_compare(l->limits, l->sorted[middle], l->held);
    if (order == 0) return l->sorted[middle];
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return UINT32_MAX;
}

static int weight_of(const listing* l, size_t orbital) {
  return l->limits->weight_most >= 0 ? l->orbitals[orbital].weight : 0;
}

static tg_status listing_make(size_t n, listing* l) {
  const tg_ci_limits* limits = l->limits;
  TG_TRY(TG_ALLOCATE(n + 1, "active orbitals", &l->active));
  TG_TRY(TG_ALLOCATE(n + 1, "frozen orbitals", &l->frozen));
  l->shells = limits->shells;
  for (size_t i = 0; i < n; i++) {
    const int role = limits->roles ? limits->roles[i] : TG_CI_ACTIVE;
    if (role == TG_CI_ACTIVE) l->active[l->active_count++] = (uint16_t)i;
    if (role == TG_CI_FROZEN) l->frozen[l->frozen_count++] = (uint16_t)i;
    if (l->orbitals[i].shell >= l->shells) l->shells = l->orbitals[i].shell + (size_t)1;
  }
  l->choose = limits->particles - l->frozen_count;
  const size_t stride = l->active_count + 1;
  TG_TRY(TG_ALLOCATE((size_t)(l->choose + 1) * stride, "least weights", &l->lightest));
  TG_TRY(TG_ALLOCATE(l->shells + 1, "limits of shells", &l->most));
  TG_TRY(TG_ALLOCATE(l->shells + 1, "occupations", &l->held));
  TG_TRY(TG_ALLOCATE(limits->partition_count, "partitions", &l->sorted));
  TG_TRY(TG_ALLOCATE((size_t)limits->particles + 1, "string", &l->chosen));
  TG_TRY(TG_ALLOCATE((size_t)limits->particles + 1, "string", &l->list));
  TG_TRY(TG_ALLOCATE(l->out->class_count, "strings of classes", &l->filled));
  enum { NEVER = 1 << 28 };
  for (int r = 1; r <= l->choose; r++) {
    int* row = l->lightest + (size_t)r * stride;
    row[l->active_count] = NEVER;
    for (size_t o = l->active_count; o-- > 0;) {
      const int with = (row - stride)[o + 1] + weight_of(l, l->active[o]);
      row[o] = with < row[o + 1] ? with : row[o + 1];
    }
  }
  for (size_t s = 0; s < l->shells; s++) {
    l->most[s] = s < limits->shells && limits->most ? limits->most[s] : UINT16_MAX;
    uint16_t largest = 0;
    for (size_t p = 0; p < limits->partition_count; p++)
      if (limits->partitions[p * limits->shells + s] > largest)
        largest = limits->partitions[p * limits->shells + s];
    if (limits->partition_count && largest < l->most[s]) l->most[s] = largest;
  }
  for (int k = 0; k < l->frozen_count; k++) l->held[l->orbitals[l->frozen[k]].shell]++;
  sort_partitions(l);
  return TG_OK;
}

/* The string chosen goes to its class, where that is wanted. */
static void store(listing* l) {
  const tg_ci_limits* limits = l->limits;
  tg_ci_strings* s = l->out;
  for (size_t shell = 0; shell < l->shells; shell++) {
    if (l->held[shell] > l->most[shell]) return;
    if (shell < limits->shells && limits->least && l->held[shell] < limits->least[shell]) return;
  }
  uint32_t partition = 0;
  if (limits->partition_count && (partition = find_partition(l)) == UINT32_MAX) return;
  int k = 0, f = 0, c = 0, two_m = 0;
  uint32_t label = 0, weight = 0;
  while (k < limits->particles) {
    uint16_t o;
    if (f < l->frozen_count && (c == l->choose || l->frozen[f] < l->active[l->chosen[c]]))
      o = l->frozen[f++];
    else
      o = l->active[l->chosen[c++]];
    l->list[k++] = o;
    two_m += l->orbitals[o].two_m;
    label ^= l->orbitals[o].symmetry;
    weight += (uint32_t)weight_of(l, o);
  }
  size_t at = tg_ci_classes_from(s->class_count, s->classes, two_m, label);
  for (; at < s->class_count; at++) {
    const tg_ci_class* class = &s->classes[at];
    if (class->two_m != two_m || class->symmetry != label || class->weight > weight) return;
    if (class->weight == weight && class->partition == partition) break;
  }
  if (at == s->class_count) return;
  const size_t offset = l->filled[at]++;
  if (offset >= s->classes[at].count) return; /* reported by the caller, who compares */
  const size_t number = s->classes[at].begin + offset;
  if (k) memcpy(s->orbital + number * (size_t)k, l->list, (size_t)k * sizeof *l->list);
}

/* Depth first, in lexicographic order, without branches that weight or a full shell forbids. */
static void enumerate(listing* l) {
  const size_t stride = l->active_count + 1;
  const int limit = l->limits->weight_most;
  int depth = 0, weight = 0;
  for (int k = 0; k < l->frozen_count; k++) weight += weight_of(l, l->frozen[k]);
  size_t next = 0; /* the place to try at this depth */
  for (;;) {
    bool deeper = false;
    if (depth == l->choose) {
      if (limit < 0 || weight <= limit) store(l);
    } else {
      const int rest = l->choose - depth;
      for (; next + (size_t)rest <= l->active_count; next++) {
        if (limit >= 0 && weight + l->lightest[(size_t)rest * stride + next] > limit) {
          next = l->active_count; /* nothing behind is lighter */
          break;
        }
        const tg_ci_orbital* o = &l->orbitals[l->active[next]];
        const int heavier = weight + weight_of(l, l->active[next]);
        if (l->held[o->shell] >= l->most[o->shell]) continue;
        if (limit >= 0 && heavier + l->lightest[(size_t)(rest - 1) * stride + next + 1] > limit)
          continue;
        deeper = true;
        break;
      }
    }
    if (deeper) {
      l->chosen[depth++] = (uint16_t)next;
      l->held[l->orbitals[l->active[next]].shell]++;
      weight += weight_of(l, l->active[next]);
      next++;
      continue;
    }
    if (depth == 0) return;
    next = l->chosen[--depth];
    l->held[l->orbitals[l->active[next]].shell]--;
    weight -= weight_of(l, l->active[next]);
    next++;
  }
}

static tg_status index_strings(tg_ci_strings* s) {
  TG_TRY(TG_ALLOCATE(s->count, "strings", &s->low));
  TG_TRY(TG_ALLOCATE(s->orbitals, "marks of orbitals", &s->marks));
  s->table_size = table_size(s->count);
  TG_TRY(TG_ALLOCATE(s->table_size, "table of strings", &s->table));
  tg_rng rng = tg_rng_stream(1, TG_RNG_STATES, UINT64_MAX);
  for (size_t o = 0; o < s->orbitals; o++) s->marks[o] = tg_rng_bits(&rng);
  for (size_t i = 0; i < s->count; i++) {
    const uint16_t* list = tg_ci_string(s, i);
    for (int k = 0; k < s->particles; k++)
      if (list[k] < 64) s->low[i] |= UINT64_C(1) << list[k];
    size_t place = tg_ci_strings_mark(s, list) & (s->table_size - 1);
    while (s->table[place]) place = (place + 1) & (s->table_size - 1);
    s->table[place] = (uint32_t)i + 1;
  }
  return TG_OK;
}

tg_status tg_ci_strings_make(size_t n, const tg_ci_orbital* orbitals, const tg_ci_limits* limits,
                             size_t class_count, const tg_ci_class* classes, tg_ci_strings* out) {
  tg_status status = TG_OK;
  tg_ci_strings s = {.particles = limits->particles, .orbitals = n, .class_count = class_count};
  listing l = {.orbitals = orbitals, .limits = limits, .out = &s};
  TG_TRY_GOTO(TG_ALLOCATE(class_count, "classes of strings", &s.classes), done);
  for (size_t c = 0; c < class_count; c++) {
    s.classes[c] = classes[c];
    s.classes[c].begin = s.count;
    if (classes[c].count >= UINT32_MAX - s.count) {
      status = tg_fail(TG_ERR_MACHINE,
                       "more than %u strings of one species; truncate the space or use fewer "
                       "orbitals",
                       UINT32_MAX - 1);
      goto done;
    }
    s.count += classes[c].count;
    if (classes[c].weight > s.heaviest) s.heaviest = classes[c].weight;
  }
  TG_TRY_GOTO(TG_ALLOCATE(s.count * (size_t)s.particles, "strings", &s.orbital), done);
  TG_TRY_GOTO(listing_make(n, &l), done);
  enumerate(&l);
  for (size_t c = 0; c < class_count; c++)
    if (l.filled[c] != s.classes[c].count) {
      status = tg_fail(TG_ERR_INTERNAL, "%zu strings made where %llu were counted", l.filled[c],
                       (unsigned long long)s.classes[c].count);
      goto done;
    }
  TG_TRY_GOTO(index_strings(&s), done);
  *out = s;
  s = (tg_ci_strings){0};
done:
  listing_free(&l);
  tg_ci_strings_free(&s);
  return status;
}
