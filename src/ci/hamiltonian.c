/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/hamiltonian.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"

/* Ordered pairs (i, j) of orbitals sorted into channels. */
typedef struct channels {
  int least_m, span_m; /* 2m of a channel: least_m ... least_m + span_m - 1 */
  unsigned labels;     /* a power of two that no product of labels reaches */
  size_t* begin;       /* [span_m * labels + 1] into members */
  uint32_t* members;   /* i * orbitals + j, sorted by channel */
  uint32_t* position;  /* [orbitals^2] within the channel, of those that are members */
} channels;

/* A row of a matrix: all elements, or, while few are not zero, these and behind them their places,
 * rising. */
typedef struct matrix_row {
  double* value;
  uint32_t count, room; /* room DENSE: [all] */
} matrix_row;

enum { SHORT_ROW = 64, FIRST_ROOM = 5 /* a cache line */ };
enum { SPARSE = 16 }; /* fewer than one in so many: more would be slow to put in their places */
static const uint32_t dense = UINT32_MAX;

typedef struct species {
  size_t count;
  tg_ci_orbital* orbitals;
  double** one; /* [count]: rows of count */
  channels pairs, transitions;
  matrix_row* two; /* [pairs]: row p of a channel's matrix, its first p + 1 elements */
} species;

static size_t pair_count(const species* s) {
  return s->count < 2 ? 0 : s->count * (s->count - 1) / 2;
}

struct tg_ci_hamiltonian {
  double constant;
  species s[2];
  matrix_row* cross; /* [transitions of A]: a row of the B channel that balances it */
  size_t bytes;      /* of the rows */
};

static const char species_names[2] = {'A', 'B'};

static size_t channel_of(const channels* c, int two_m, unsigned label) {
  if (two_m < c->least_m || two_m >= c->least_m + c->span_m || label >= c->labels) return SIZE_MAX;
  return (size_t)(two_m - c->least_m) * c->labels + label;
}

static size_t channel_count(const channels* c, size_t channel) {
  return channel == SIZE_MAX ? 0 : c->begin[channel + 1] - c->begin[channel];
}

static int pair_m(const species* s, size_t i, size_t j, bool transition) {
  return s->orbitals[i].two_m + (transition ? -s->orbitals[j].two_m : s->orbitals[j].two_m);
}

static unsigned pair_label(const species* s, size_t i, size_t j) {
  return (unsigned)(s->orbitals[i].symmetry ^ s->orbitals[j].symmetry);
}

/* transition: all (i, j) by the difference of 2m; otherwise i < j by the sum. */
static tg_status channels_make(const species* s, bool transition, channels* out) {
  const size_t n = s->count;
  int least = 0, most = 0;
  unsigned labels = 1;
  for (size_t i = 0; i < n; i++) {
    if (i == 0 || s->orbitals[i].two_m < least) least = s->orbitals[i].two_m;
    if (i == 0 || s->orbitals[i].two_m > most) most = s->orbitals[i].two_m;
    while (labels <= s->orbitals[i].symmetry) labels *= 2;
  }
  out->least_m = transition ? least - most : 2 * least;
  out->span_m = 2 * (most - least) + 1;
  out->labels = labels;
  const size_t count = transition ? n * n : n < 2 ? 0 : n * (n - 1) / 2;
  TG_TRY(TG_ALLOCATE((size_t)out->span_m * labels + 2, "channels of orbital pairs", &out->begin));
  TG_TRY(TG_ALLOCATE(count, "orbital pairs", &out->members));
  TG_TRY(TG_ALLOCATE(n * n, "orbital pairs", &out->position));
  size_t* next = out->begin + 1; /* counts first; then where the next member of a channel goes */
  for (size_t i = 0; i < n; i++)
    for (size_t j = transition ? 0 : i + 1; j < n; j++)
      next[channel_of(out, pair_m(s, i, j, transition), pair_label(s, i, j)) + 1]++;
  for (size_t c = 0; c < (size_t)out->span_m * labels; c++) next[c + 1] += next[c];
  for (size_t i = 0; i < n; i++)
    for (size_t j = transition ? 0 : i + 1; j < n; j++) {
      const size_t c = channel_of(out, pair_m(s, i, j, transition), pair_label(s, i, j));
      out->members[next[c]++] = (uint32_t)(i * n + j);
    }
  for (size_t c = 0; c < (size_t)out->span_m * labels; c++)
    for (size_t m = out->begin[c]; m < out->begin[c + 1]; m++)
      out->position[out->members[m]] = (uint32_t)(m - out->begin[c]);
  return TG_OK;
}

static void channels_free(channels* c) {
  TG_FREE(c->begin);
  TG_FREE(c->members);
  TG_FREE(c->position);
}

static tg_status species_make(size_t count, const tg_ci_orbital* orbitals, species* out) {
  out->count = count;
  TG_TRY(TG_ALLOCATE(count, "orbitals", &out->orbitals));
  if (count) memcpy(out->orbitals, orbitals, count * sizeof *orbitals);
  TG_TRY(TG_ALLOCATE(count, "one-body elements", &out->one));
  TG_TRY(channels_make(out, false, &out->pairs));
  TG_TRY(channels_make(out, true, &out->transitions));
  return TG_ALLOCATE(pair_count(out), "two-body elements", &out->two);
}

tg_status tg_ci_hamiltonian_create(size_t count_a, const tg_ci_orbital* orbitals_a, size_t count_b,
                                   const tg_ci_orbital* orbitals_b, tg_ci_hamiltonian** out) {
  tg_status status = TG_OK;
  tg_ci_hamiltonian* h = NULL;
  const size_t most = count_a > count_b ? count_a : count_b;
  if (most > TG_CI_MOST_ORBITALS)
    return tg_fail(TG_ERR_INPUT,
                   "%zu single-particle states of one species; at most %d are supported", most,
                   TG_CI_MOST_ORBITALS);
  TG_TRY(TG_ALLOCATE(1, "Hamiltonian", &h));
  TG_TRY_GOTO(species_make(count_a, orbitals_a, &h->s[0]), failed);
  TG_TRY_GOTO(species_make(count_b, orbitals_b, &h->s[1]), failed);
  TG_TRY_GOTO(TG_ALLOCATE(count_a * count_a, "elements between species", &h->cross), failed);
  *out = h;
  return TG_OK;
failed:
  tg_ci_hamiltonian_free(h);
  return status;
}

static void rows_free(matrix_row* rows, size_t count) {
  for (size_t r = 0; rows && r < count; r++) tg_free(rows[r].value);
  tg_free(rows);
}

void tg_ci_hamiltonian_free(tg_ci_hamiltonian* h) {
  if (!h) return;
  for (int t = 0; t < 2; t++) {
    species* s = &h->s[t];
    TG_FREE(s->orbitals);
    for (size_t i = 0; s->one && i < s->count; i++) tg_free(s->one[i]);
    TG_FREE(s->one);
    rows_free(s->two, pair_count(s));
    channels_free(&s->pairs);
    channels_free(&s->transitions);
  }
  rows_free(h->cross, h->s[0].count * h->s[0].count);
  tg_free(h);
}

static uint32_t* places_of(const matrix_row* r) { return (uint32_t*)(void*)(r->value + r->room); }

/* The first place at or behind e. */
static uint32_t find_place(const matrix_row* r, size_t e) {
  const uint32_t* place = places_of(r);
  uint32_t low = 0, high = r->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (place[middle] < e)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static double row_get(const matrix_row* r, size_t e) {
  if (!r->value) return 0;
  if (r->room == dense) return r->value[e];
  const uint32_t at = find_place(r, e);
  return at < r->count && places_of(r)[at] == e ? r->value[at] : 0;
}

/* Room for another element of a row that has `count` in all; rows that fill up become dense. */
static tg_status row_grow(tg_ci_hamiltonian* h, matrix_row* r, size_t count) {
  matrix_row next = {.room = r->room ? 2 * r->room : FIRST_ROOM, .count = r->count};
  double* block = NULL;
  size_t length = next.room + (next.room + 1) / 2; /* values and places */
  if (count <= SHORT_ROW || next.room >= count / SPARSE) {
    next.room = dense;
    length = count;
  }
  TG_TRY(TG_ALLOCATE(length, "matrix elements", &block));
  next.value = block;
  for (uint32_t k = 0; k < r->count; k++) {
    block[next.room == dense ? places_of(r)[k] : k] = r->value[k];
    if (next.room != dense) places_of(&next)[k] = places_of(r)[k];
  }
  h->bytes += (length - (r->room + (r->room + 1) / 2)) * sizeof *block;
  tg_free(r->value);
  *r = next;
  return TG_OK;
}

/* Element e of a row of count elements. */
static tg_status row_set(tg_ci_hamiltonian* h, matrix_row* r, size_t count, size_t e,
                         double value) {
  if (!r->value && value == 0) return TG_OK;
  if (!r->value) TG_TRY(row_grow(h, r, count));
  if (r->room == dense) {
    r->value[e] = value;
    return TG_OK;
  }
  uint32_t at = find_place(r, e);
  if (at < r->count && places_of(r)[at] == e) {
    r->value[at] = value;
    return TG_OK;
  }
  if (value == 0) return TG_OK;
  if (r->count == r->room) {
    TG_TRY(row_grow(h, r, count));
    return row_set(h, r, count, e, value);
  }
  uint32_t* place = places_of(r);
  for (uint32_t k = r->count++; k > at; k--) {
    place[k] = place[k - 1];
    r->value[k] = r->value[k - 1];
  }
  place[at] = (uint32_t)e;
  r->value[at] = value;
  return TG_OK;
}

static tg_status check_orbitals(const tg_ci_hamiltonian* h, int t, int i, int j) {
  const int wrong = i < 0 || (size_t)i >= h->s[t].count ? i : j;
  if (wrong >= 0 && (size_t)wrong < h->s[t].count) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "there is no single-particle state %d of species %c; it has %zu, numbered from 0",
                 wrong, species_names[t], h->s[t].count);
}

static tg_status forbidden(const char* what, double value, int change_m, unsigned change_label) {
  return tg_fail(TG_ERR_INPUT,
                 "the %s element is %g, but it would change 2M by %d and the symmetry label by %u; "
                 "it must be zero",
                 what, value, change_m, change_label);
}

void tg_ci_hamiltonian_set_constant(tg_ci_hamiltonian* h, double value) { h->constant = value; }

tg_status tg_ci_hamiltonian_set_one(tg_ci_hamiltonian* h, int t, int i, int j, double value) {
  TG_TRY(check_orbitals(h, t, i, j));
  species* s = &h->s[t];
  const int change = pair_m(s, (size_t)i, (size_t)j, true);
  const unsigned label = pair_label(s, (size_t)i, (size_t)j);
  if (change || label) return value == 0 ? TG_OK : forbidden("one-body", value, change, label);
  if (value == 0 && !s->one[i]) return TG_OK;
  for (int k = 0; k < 2; k++) {
    double** line = &s->one[k ? j : i];
    if (!*line) {
      TG_TRY(TG_ALLOCATE(s->count, "matrix elements", line));
      h->bytes += s->count * sizeof **line;
    }
    (*line)[k ? i : j] = value;
  }
  return TG_OK;
}

/* i < j by swapping; false where they are equal. */
static bool order_pair(int* i, int* j, int* sign) {
  if (*i > *j) {
    const int k = *i;
    *i = *j;
    *j = k;
    *sign = -*sign;
  }
  return *i != *j;
}

/* Row and element of v(ij,kl), i < j and k < l, in the channel of both. */
static void two_place(const species* s, size_t channel, int i, int j, int k, int l, size_t* row,
                      size_t* element) {
  const size_t p = s->pairs.position[(size_t)i * s->count + (size_t)j];
  const size_t q = s->pairs.position[(size_t)k * s->count + (size_t)l];
  *row = s->pairs.begin[channel] + (p > q ? p : q);
  *element = p > q ? q : p;
}

static size_t pair_channel(const species* s, int i, int j) {
  return channel_of(&s->pairs, pair_m(s, (size_t)i, (size_t)j, false),
                    pair_label(s, (size_t)i, (size_t)j));
}

tg_status tg_ci_hamiltonian_set_two(tg_ci_hamiltonian* h, int t, int i, int j, int k, int l,
                                    double value) {
  TG_TRY(check_orbitals(h, t, i, j));
  TG_TRY(check_orbitals(h, t, k, l));
  species* s = &h->s[t];
  int sign = 1;
  const bool apart = order_pair(&i, &j, &sign), apart_too = order_pair(&k, &l, &sign);
  if (!apart || !apart_too) {
    if (value == 0) return TG_OK;
    return tg_fail(
        TG_ERR_INPUT,
        "the two-body element (%d %d, %d %d) of species %c is %g, but two fermions cannot "
        "share a state; it must be zero",
        i, j, k, l, species_names[t], value);
  }
  const size_t channel = pair_channel(s, i, j);
  if (channel != pair_channel(s, k, l)) {
    if (value == 0) return TG_OK;
    return forbidden(
        "two-body", value,
        pair_m(s, (size_t)i, (size_t)j, false) - pair_m(s, (size_t)k, (size_t)l, false),
        pair_label(s, (size_t)i, (size_t)j) ^ pair_label(s, (size_t)k, (size_t)l));
  }
  size_t row, element;
  two_place(s, channel, i, j, k, l, &row, &element);
  return row_set(h, &s->two[row], row - s->pairs.begin[channel] + 1, element, sign * value);
}

/* The channel of B that balances the transition i <- j of A. */
static size_t balance(const tg_ci_hamiltonian* h, int i, int j) {
  const species* a = &h->s[0];
  return channel_of(&h->s[1].transitions, -pair_m(a, (size_t)i, (size_t)j, true),
                    pair_label(a, (size_t)i, (size_t)j));
}

static size_t cross_row(const tg_ci_hamiltonian* h, int i, int j) {
  const species* a = &h->s[0];
  const channels* c = &a->transitions;
  return c->begin[channel_of(c, pair_m(a, (size_t)i, (size_t)j, true),
                             pair_label(a, (size_t)i, (size_t)j))] +
         c->position[(size_t)i * a->count + (size_t)j];
}

tg_status tg_ci_hamiltonian_set_cross(tg_ci_hamiltonian* h, int i, int j, int k, int l,
                                      double value) {
  TG_TRY(check_orbitals(h, 0, i, j));
  TG_TRY(check_orbitals(h, 1, k, l));
  const species *a = &h->s[0], *b = &h->s[1];
  const int change = pair_m(a, (size_t)i, (size_t)j, true) + pair_m(b, (size_t)k, (size_t)l, true);
  const unsigned label = pair_label(a, (size_t)i, (size_t)j) ^ pair_label(b, (size_t)k, (size_t)l);
  if (change || label) return value == 0 ? TG_OK : forbidden("A-B two-body", value, change, label);
  TG_TRY(row_set(h, &h->cross[cross_row(h, i, j)], channel_count(&b->transitions, balance(h, i, j)),
                 b->transitions.position[(size_t)k * b->count + (size_t)l], value));
  return row_set(h, &h->cross[cross_row(h, j, i)], channel_count(&b->transitions, balance(h, j, i)),
                 b->transitions.position[(size_t)l * b->count + (size_t)k], value);
}

double tg_ci_hamiltonian_constant(const tg_ci_hamiltonian* h) { return h->constant; }

double tg_ci_hamiltonian_one(const tg_ci_hamiltonian* h, int t, int i, int j) {
  const double* row = h->s[t].one[i];
  return row ? row[j] : 0;
}

double tg_ci_hamiltonian_two(const tg_ci_hamiltonian* h, int t, int i, int j, int k, int l) {
  const species* s = &h->s[t];
  int sign = 1;
  const bool apart = order_pair(&i, &j, &sign), apart_too = order_pair(&k, &l, &sign);
  if (!apart || !apart_too) return 0;
  const size_t channel = pair_channel(s, i, j);
  if (channel != pair_channel(s, k, l)) return 0;
  size_t row, element;
  two_place(s, channel, i, j, k, l, &row, &element);
  return sign * row_get(&s->two[row], element);
}

double tg_ci_hamiltonian_cross(const tg_ci_hamiltonian* h, int i, int j, int k, int l) {
  const matrix_row* r = &h->cross[cross_row(h, i, j)];
  const species* b = &h->s[1];
  if (!r->value ||
      balance(h, i, j) != channel_of(&b->transitions, pair_m(b, (size_t)k, (size_t)l, true),
                                     pair_label(b, (size_t)k, (size_t)l)))
    return 0;
  return row_get(r, b->transitions.position[(size_t)k * b->count + (size_t)l]);
}

size_t tg_ci_hamiltonian_orbitals(const tg_ci_hamiltonian* h, int t, const tg_ci_orbital** out) {
  if (out) *out = h->s[t].orbitals;
  return h->s[t].count;
}

void tg_ci_hamiltonian_relabel(tg_ci_hamiltonian* h, int t, const uint8_t* weights,
                               const uint16_t* shells) {
  for (size_t i = 0; i < h->s[t].count; i++) {
    if (weights) h->s[t].orbitals[i].weight = weights[i];
    if (shells) h->s[t].orbitals[i].shell = shells[i];
  }
}

static size_t channels_bytes(const channels* c, size_t orbitals, size_t members) {
  return ((size_t)c->span_m * c->labels + 2) * sizeof *c->begin + members * sizeof *c->members +
         orbitals * orbitals * sizeof *c->position;
}

size_t tg_ci_hamiltonian_bytes(const tg_ci_hamiltonian* h) {
  size_t bytes = sizeof *h + h->bytes + h->s[0].count * h->s[0].count * sizeof *h->cross;
  for (int t = 0; t < 2; t++) {
    const size_t n = h->s[t].count, pairs = pair_count(&h->s[t]);
    bytes += n * (sizeof(tg_ci_orbital) + sizeof(double*)) + pairs * sizeof(matrix_row) +
             channels_bytes(&h->s[t].pairs, n, pairs) +
             channels_bytes(&h->s[t].transitions, n, n * n);
  }
  return bytes;
}

bool tg_ci_hamiltonian_has_pairs(const tg_ci_hamiltonian* h, int t) {
  for (size_t p = 0; p < pair_count(&h->s[t]); p++)
    if (h->s[t].two[p].value) return true;
  return false;
}

static bool same_orbitals(const species* a, const species* b) {
  if (a->count != b->count) return false;
  for (size_t i = 0; i < a->count; i++) {
    const tg_ci_orbital *p = &a->orbitals[i], *q = &b->orbitals[i];
    if (p->two_m != q->two_m || p->symmetry != q->symmetry) return false;
  }
  return true;
}

/* count: elements that a dense row has. */
static bool same_row(const matrix_row* a, const matrix_row* b, size_t count) {
  if (!a->value || !b->value) return a->value == b->value;
  if (a->room == dense || b->room == dense)
    return a->room == b->room && memcmp(a->value, b->value, count * sizeof *a->value) == 0;
  return a->count == b->count && memcmp(a->value, b->value, a->count * sizeof *a->value) == 0 &&
         memcmp(places_of(a), places_of(b), a->count * sizeof(uint32_t)) == 0;
}

bool tg_ci_hamiltonian_same_species(const tg_ci_hamiltonian* h) {
  const species *a = &h->s[0], *b = &h->s[1];
  const channels* c = &a->pairs;
  if (!same_orbitals(a, b)) return false;
  for (size_t i = 0; i < a->count; i++) {
    if (!a->one[i] || !b->one[i]) {
      if (a->one[i] != b->one[i]) return false;
    } else if (memcmp(a->one[i], b->one[i], a->count * sizeof **a->one) != 0) {
      return false;
    }
  }
  for (size_t channel = 0; channel < (size_t)c->span_m * c->labels; channel++)
    for (size_t p = c->begin[channel]; p < c->begin[channel + 1]; p++)
      if (!same_row(&a->two[p], &b->two[p], p - c->begin[channel] + 1)) return false;
  return true;
}

bool tg_ci_hamiltonian_is_sparse(const tg_ci_hamiltonian* h) {
  enum { SHARE = 64 };
  const size_t n = h->s[0].count;
  size_t rows = 0, filled = 0;
  for (int t = 0; t < 2; t++) {
    rows += pair_count(&h->s[t]);
    for (size_t p = 0; p < pair_count(&h->s[t]); p++) filled += h->s[t].two[p].value != NULL;
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      if (i != j) filled += h->cross[cross_row(h, (int)i, (int)j)].value != NULL;
  return SHARE * filled < rows + n * n;
}

static size_t channel_members(const channels* c, int two_m, unsigned label,
                              const uint32_t** members) {
  const size_t channel = channel_of(c, two_m, label);
  *members = channel == SIZE_MAX || !c->members ? NULL : c->members + c->begin[channel];
  return channel_count(c, channel);
}

size_t tg_ci_hamiltonian_pairs(const tg_ci_hamiltonian* h, int t, int two_m, unsigned label,
                               const uint32_t** members) {
  return channel_members(&h->s[t].pairs, two_m, label, members);
}

size_t tg_ci_hamiltonian_transitions(const tg_ci_hamiltonian* h, int t, int two_m, unsigned label,
                                     const uint32_t** members) {
  return channel_members(&h->s[t].transitions, two_m, label, members);
}

size_t tg_ci_hamiltonian_cross_row(const tg_ci_hamiltonian* h, int i, int j, const double** values,
                                   const uint32_t** places) {
  const matrix_row* r = &h->cross[cross_row(h, i, j)];
  *values = r->value;
  *places = r->value && r->room != dense ? places_of(r) : NULL;
  if (!r->value) return 0;
  return *places ? r->count : channel_count(&h->s[1].transitions, balance(h, i, j));
}

/* to += factor * from, of count elements. */
static tg_status row_add(tg_ci_hamiltonian* h, matrix_row* to, size_t count, double factor,
                         const matrix_row* from) {
  if (!from->value) return TG_OK;
  const size_t elements = from->room == dense ? count : from->count;
  for (size_t k = 0; k < elements; k++) {
    const size_t e = from->room == dense ? k : places_of(from)[k];
    if (from->value[k] != 0)
      TG_TRY(row_set(h, to, count, e, row_get(to, e) + factor * from->value[k]));
  }
  return TG_OK;
}

static tg_status add_pairs(tg_ci_hamiltonian* h, species* s, double factor, const species* from) {
  const channels* c = &s->pairs;
  for (size_t channel = 0; channel < (size_t)c->span_m * c->labels; channel++)
    for (size_t p = c->begin[channel]; p < c->begin[channel + 1]; p++)
      TG_TRY(row_add(h, &s->two[p], p - c->begin[channel] + 1, factor, &from->two[p]));
  return TG_OK;
}

tg_status tg_ci_hamiltonian_add(tg_ci_hamiltonian* h, double factor,
                                const tg_ci_hamiltonian* other) {
  for (int t = 0; t < 2; t++)
    if (!same_orbitals(&h->s[t], &other->s[t]))
      return tg_fail(TG_ERR_INPUT,
                     "two operators cannot be added: their single-particle states of species %c "
                     "differ (%zu and %zu states)",
                     species_names[t], h->s[t].count, other->s[t].count);
  h->constant += factor * other->constant;
  for (int t = 0; t < 2; t++) {
    species* s = &h->s[t];
    for (size_t i = 0; i < s->count; i++)
      for (size_t j = 0; j <= i && other->s[t].one[i]; j++)
        if (other->s[t].one[i][j] != 0)
          TG_TRY(tg_ci_hamiltonian_set_one(
              h, t, (int)i, (int)j,
              tg_ci_hamiltonian_one(h, t, (int)i, (int)j) + factor * other->s[t].one[i][j]));
    TG_TRY(add_pairs(h, s, factor, &other->s[t]));
  }
  const size_t n = h->s[0].count;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      const size_t at = cross_row(h, (int)i, (int)j);
      TG_TRY(row_add(h, &h->cross[at],
                     channel_count(&h->s[1].transitions, balance(h, (int)i, (int)j)), factor,
                     &other->cross[at]));
    }
  return TG_OK;
}
