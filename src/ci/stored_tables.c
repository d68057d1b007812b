/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/stored_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ci/product_fly.h"
#include "ci/stored_values.h"

static void links_free(tg_ci_flat_links* l) {
  TG_FREE(l->of_class);
  TG_FREE(l->links);
  TG_FREE(l->begin);
  TG_FREE(l->from);
}

void tg_ci_flat_free(tg_ci_flat* f) {
  for (int t = 0; t < 2; t++) {
    tg_ci_flat_species* s = &f->species[t];
    links_free(&s->jumps);
    links_free(&s->alone);
    TG_FREE(s->first);
    TG_FREE(s->orbitals);
    TG_FREE(s->diagonal);
    TG_FREE(s->code);
    TG_FREE(s->field);
    TG_FREE(s->word);
    TG_FREE(s->value);
    TG_FREE(s->fields);
  }
  TG_FREE(f->block_a);
  TG_FREE(f->block_b);
  TG_FREE(f->columns);
  TG_FREE(f->offset);
  TG_FREE(f->block_of);
  TG_FREE(f->channel_link);
  TG_FREE(f->row_begin);
  TG_FREE(f->rows);
  TG_FREE(f->row_words);
  TG_FREE(f->still);
  TG_FREE(f->values);
  *f = (tg_ci_flat){0};
}

enum { FEW = 1 << 12 /* entries that one thread copies before others are awake */ };

static tg_status copy(size_t count, size_t size, const void* from, void** out) {
  TG_TRY(tg_allocate_untouched(count, size, "flat tables of the Hamiltonian", out));
  if (count) memcpy(*out, from, count * size);
  return TG_OK;
}
#define COPY(count, from, out) copy((count), sizeof **(out), (from), (void**)(out))

static size_t entries_of(const tg_ci_target* t) {
  size_t count = 0;
  for (size_t l = 0; l < t->link_count; l++) count += t->links[l].count;
  return count;
}

/* Where each class's links, rows and entries begin. */
typedef struct place {
  uint32_t link, row, entry;
} place;

static void copy_links(const tg_ci_target* t, size_t rows, const place* at, tg_ci_flat_links* out) {
  const size_t entries = entries_of(t);
  uint32_t row = at->row;
  for (size_t l = 0; l < t->link_count; l++) {
    out->links[at->link + l] = (tg_ci_flat_link){
        .source = t->links[l].source, .channel = t->links[l].channel, .begin = row};
    for (size_t r = 0; r < rows; r++)
      out->begin[row++] = at->entry + t->begin[t->links[l].rows + r];
  }
  if (entries) memcpy(out->from + at->entry, t->from, entries * sizeof *t->from);
}

/* The links of all classes one behind the other; numbers of entries go on from class to class.
 * first: [classes], where each one's entries begin. */
static tg_status flatten_links(const tg_ci_strings* s, const tg_ci_target* targets, place* first,
                               tg_ci_flat_links* out) {
  static const char what[] = "flat tables of the Hamiltonian";
  const size_t class_count = s->class_count;
  out->class_count = class_count;
  TG_TRY(TG_ALLOCATE(class_count + 1, what, &out->of_class));
  for (size_t c = 0; c < class_count; c++) {
    first[c] = (place){(uint32_t)out->link_count, (uint32_t)out->begin_count, (uint32_t)out->count};
    out->link_count += targets[c].link_count;
    out->begin_count += targets[c].link_count * (s->classes[c].count + 1);
    out->count += entries_of(&targets[c]);
    out->of_class[c + 1] = (uint32_t)out->link_count;
  }
  if (out->begin_count >= UINT32_MAX || out->count >= UINT32_MAX / 2)
    return tg_fail(TG_ERR_MACHINE,
                   "%zu connections between strings are too many for a stored matrix on a GPU; use "
                   "--storage fly",
                   out->count);
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->link_count, what, &out->links));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->begin_count, what, &out->begin));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->count, what, &out->from));
#pragma omp parallel for schedule(dynamic) if (out->count > FEW)
  for (size_t c = 0; c < class_count; c++)
    copy_links(&targets[c], (size_t)s->classes[c].count + 1, &first[c], out);
  return TG_OK;
}

static int by_source(const void* p, const void* q) {
  const tg_ci_flat_link *a = p, *b = q;
  return a->source < b->source ? -1 : a->source > b->source;
}

/* A's links in the order of the states they come from, not of channels: a row's columns then mostly
 * rise, and few steps between them are long. */
static void order_links(tg_ci_flat_links* l) {
  for (size_t c = 0; c < l->class_count; c++)
    if (l->of_class[c + 1] > l->of_class[c])
      qsort(l->links + l->of_class[c], l->of_class[c + 1] - l->of_class[c], sizeof *l->links,
            by_source);
}

static void class_codes(const tg_ci_jumps* jumps, int species, size_t class, uint32_t* code) {
  const tg_ci_target* t = &jumps->targets[class];
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const size_t before = species ? 0 : jumps->channel_begin[link->channel];
    for (size_t e = link->first; e < link->first + link->count; e++)
      code[e] = t->code[e] + 2 * (uint32_t)before;
  }
}

/* The link of a target's still channel that comes from this class, or NULL. */
static const tg_ci_link* still_link(const tg_ci_jumps* jumps, const tg_ci_target* t,
                                    uint32_t source) {
  size_t first;
  const size_t count = tg_ci_links_of(t, tg_ci_channel_still(jumps), &first);
  for (size_t l = first; l < first + count; l++)
    if (t->links[l].source == source) return &t->links[l];
  return NULL;
}

/* Which single jump an element of the species alone is, if the other's particles add to it. Both
 * rise within a row. */
static void class_fields(const tg_ci_fly* f, int species, size_t class, size_t rows,
                         uint32_t* field) {
  const tg_ci_target* t = &f->alone[species].targets[class];
  const tg_ci_target* jumps = &f->jumps[species].targets[class];
  memset(field, 0, entries_of(t) * sizeof *field);
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const tg_ci_link* still = still_link(&f->jumps[species], jumps, link->source);
    for (size_t r = 0; still && r < rows; r++) {
      uint32_t s = jumps->begin[still->rows + r];
      const uint32_t s_end = jumps->begin[still->rows + r + 1];
      for (uint32_t e = t->begin[link->rows + r]; e < t->begin[link->rows + r + 1]; e++) {
        while (s < s_end && jumps->from[s] < t->from[e]) s++;
        if (s == s_end || jumps->from[s] != t->from[e]) continue;
        const uint32_t row = f->fields[species].row[jumps->code[s] >> 1];
        field[e] = row ? 2 * row + (jumps->code[s] & 1) : 0;
      }
    }
  }
}

/* jump, element: [classes] room for where theirs begin. */
static tg_status flatten_species(const tg_ci_fly* f, int species, place* jump, place* element,
                                 tg_ci_flat_species* out) {
  static const char what[] = "flat tables of the Hamiltonian";
  const tg_ci_strings* s = &f->space->strings[species];
  const tg_ci_alone* alone = &f->alone[species];
  out->strings = s->count;
  out->particles = (size_t)s->particles;
  TG_TRY(TG_ALLOCATE(s->class_count, "classes", &out->first));
  for (size_t c = 0; c < s->class_count; c++) out->first[c] = (uint32_t)s->classes[c].begin;
  TG_TRY(COPY(s->count * out->particles, s->orbital, &out->orbitals));
  TG_TRY(COPY(s->count, alone->diagonal, &out->diagonal));
  TG_TRY(flatten_links(s, f->jumps[species].targets, jump, &out->jumps));
  TG_TRY(flatten_links(s, alone->targets, element, &out->alone));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->jumps.count, what, &out->code));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->alone.count, what, &out->value));
  TG_TRY(TG_ALLOCATE_UNTOUCHED(out->alone.count, what, &out->field));
#pragma omp parallel for schedule(dynamic) if (out->alone.count > FEW)
  for (size_t c = 0; c < s->class_count; c++) {
    const size_t entries = entries_of(&alone->targets[c]), at = element[c].entry;
    if (entries) {
      memcpy(out->value + at, alone->targets[c].value, entries * sizeof *out->value);
      class_fields(f, species, c, (size_t)s->classes[c].count, out->field + at);
    }
    if (out->code) class_codes(&f->jumps[species], species, c, out->code + jump[c].entry);
  }
  out->field_rows = f->fields[species].rows;
  out->field_stride = f->fields[species].stride;
  return COPY(out->field_rows * out->field_stride, f->fields[species].value, &out->fields);
}

static tg_status flatten_classes(const tg_ci_fly* f, int species, tg_ci_flat_species* out) {
  const size_t count = f->space->strings[species].class_count;
  place* places = NULL;
  TG_TRY(TG_ALLOCATE(2 * count, "classes", &places));
  const tg_status status = flatten_species(f, species, places, places + count, out);
  tg_free(places);
  return status;
}

static tg_status flatten_space(const tg_ci_fly* f, tg_ci_flat* out) {
  static const char what[] = "flat tables of the space";
  const tg_ci_space* space = f->space;
  const size_t na = space->strings[0].class_count, nb = space->strings[1].class_count;
  out->dimension = space->dimension;
  out->block_count = space->block_count;
  out->class_count[0] = na;
  out->class_count[1] = nb;
  TG_TRY(TG_ALLOCATE(space->block_count, what, &out->block_a));
  TG_TRY(TG_ALLOCATE(space->block_count, what, &out->block_b));
  TG_TRY(TG_ALLOCATE(space->block_count, what, &out->columns));
  TG_TRY(TG_ALLOCATE(space->block_count + 1, what, &out->offset));
  TG_TRY(TG_ALLOCATE(na * nb, what, &out->block_of));
  memset(out->block_of, 0xff, na * nb * sizeof *out->block_of);
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    out->block_a[n] = block->a;
    out->block_b[n] = block->b;
    out->columns[n] = (uint32_t)block->columns;
    out->offset[n] = block->offset;
    out->block_of[block->a * nb + block->b] = (uint32_t)n;
  }
  out->offset[space->block_count] = space->dimension;
  return TG_OK;
}

/* First link of each channel of each class of B, and behind them the end. */
static tg_status flatten_channels(const tg_ci_fly* f, tg_ci_flat* out) {
  const tg_ci_flat_links* l = &out->species[1].jumps;
  const size_t stride = f->jumps[1].channel_count + 1;
  out->channel_count = f->jumps[1].channel_count;
  TG_TRY(TG_ALLOCATE(l->class_count * stride, "channels", &out->channel_link));
  for (size_t c = 0; c < l->class_count; c++) {
    uint32_t link = l->of_class[c];
    for (size_t channel = 0; channel < stride; channel++) {
      while (link < l->of_class[c + 1] && l->links[link].channel < channel) link++;
      out->channel_link[c * stride + channel] = link;
    }
  }
  return TG_OK;
}

static size_t count_rows(const tg_ci_fly* f) {
  const tg_ci_jumps *a = &f->jumps[0], *b = &f->jumps[1];
  size_t count = 0;
  for (size_t c = 0; c < a->channel_count; c++) {
    const size_t of_b = b->channel_begin[c + 1] - b->channel_begin[c];
    if (of_b > count) count = of_b; /* the row of zeros */
    for (size_t o = a->channel_begin[c]; o < a->channel_begin[c + 1]; o++)
      if (f->row_begin[o] + of_b > count) count = f->row_begin[o] + of_b;
  }
  return count;
}

static tg_status flatten_rows(const tg_ci_fly* f, tg_ci_flat* out) {
  const tg_ci_jumps* a = &f->jumps[0];
  out->operator_count = a->channel_begin[a->channel_count];
  TG_TRY(TG_ALLOCATE(out->operator_count, "operators", &out->row_begin));
  out->row_count = count_rows(f);
  if (out->row_count >= UINT32_MAX)
    return tg_fail(TG_ERR_MACHINE, "too many two-body elements for a stored matrix on a GPU");
  for (size_t o = 0; o < out->operator_count; o++) out->row_begin[o] = (uint32_t)f->row_begin[o];
  out->still_count = f->orbitals[0] * f->orbitals[1];
  out->still_stride = f->orbitals[1];
  out->constant = f->constant;
  TG_TRY(COPY(out->still_count, f->still, &out->still));
  return COPY(out->row_count, f->rows, &out->rows);
}

tg_status tg_ci_flat_make(const tg_ci_fly* f, bool coded, tg_ci_flat* out) {
  tg_status status = TG_OK;
  tg_ci_flat flat = {0};
  if (f->few)
    return tg_fail(TG_ERR_INPUT, "an operator of few elements is not stored; use --storage fly");
  TG_TRY_GOTO(flatten_space(f, &flat), failed);
  for (int t = 0; t < 2; t++) TG_TRY_GOTO(flatten_classes(f, t, &flat.species[t]), failed);
  order_links(&flat.species[0].jumps);
  TG_TRY_GOTO(flatten_channels(f, &flat), failed);
  TG_TRY_GOTO(flatten_rows(f, &flat), failed);
  if (coded) TG_TRY_GOTO(tg_ci_flat_give_words(&flat), failed);
  *out = flat;
  return TG_OK;
failed:
  tg_ci_flat_free(&flat);
  return status;
}

bool tg_ci_flat_may_code(const tg_ci_fly* f) {
  const tg_ci_flat flat = {.row_count = count_rows(f), .rows = f->rows}; /* nothing is copied */
  return flat.row_count < UINT32_MAX && tg_ci_flat_few_values(&flat);
}

/* Entries to a class that come from classes with which the other one makes a block. */
static uint64_t entries_to(const tg_ci_space* space, const tg_ci_target* t, int species,
                           size_t other) {
  uint64_t count = 0;
  for (size_t l = 0; l < t->link_count; l++) {
    const size_t there = species ? tg_ci_space_block(space, other, t->links[l].source)
                                 : tg_ci_space_block(space, t->links[l].source, other);
    if (there != SIZE_MAX) count += t->links[l].count;
  }
  return count;
}

void tg_ci_flat_count(const tg_ci_fly* f, uint64_t first, uint64_t end, uint64_t* elements,
                      uint64_t* with_fields) {
  const tg_ci_space* space = f->space;
  double all = 0, fields = 0;
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* block = &space->blocks[n];
    const uint64_t states = (uint64_t)block->rows * block->columns;
    const uint64_t low = block->offset > first ? block->offset : first;
    const uint64_t high = block->offset + states < end ? block->offset + states : end;
    if (low >= high) continue;
    const double share = (double)(high - low) / (double)states;
    uint64_t mine = 0;
    for (int t = 0; t < 2; t++) { /* single jumps are those of the still channel */
      const size_t class = t ? block->b : block->a, other = t ? block->a : block->b;
      const tg_ci_target* jumps = &f->jumps[t].targets[class];
      size_t at;
      tg_ci_target still = *jumps;
      still.link_count = tg_ci_links_of(jumps, tg_ci_channel_still(&f->jumps[t]), &at);
      if (still.link_count) still.links = jumps->links + at;
      mine += entries_to(space, &still, t, other) * (t ? block->rows : block->columns);
    }
    fields += share * (double)mine;
    all += share * (f->elements[n] - (double)states);
  }
  *elements = (uint64_t)ceil(all);
  *with_fields = (uint64_t)ceil(fields);
}
