/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/strips.h"

#include "base/memory.h"

void tg_ci_strips_free(tg_ci_strips* s) {
  TG_FREE(s->link_begin);
  TG_FREE(s->links);
  TG_FREE(s->begin);
  TG_FREE(s->entries);
  *s = (tg_ci_strips){0};
}

static uint32_t strips_of(uint64_t strings) {
  return (uint32_t)((strings + TG_CI_STRIP_HEIGHT - 1) / TG_CI_STRIP_HEIGHT);
}

uint64_t tg_ci_strips_bytes(const tg_ci_fly* fly, int species) {
  const tg_ci_strings* s = &fly->space->strings[species];
  uint64_t bytes = 0;
  for (size_t c = 0; c < s->class_count; c++) {
    const tg_ci_target* t = &fly->alone[species].targets[c];
    for (size_t l = 0; l < t->link_count; l++)
      bytes += sizeof(tg_ci_strip_link) + t->links[l].count * sizeof(tg_ci_strip_entry) +
               strips_of(s->classes[t->links[l].source].count) * (s->classes[c].count + 1) *
                   sizeof(uint32_t);
  }
  return bytes;
}

/* Where each link's strips and entries begin. */
static tg_status lay_out(const tg_ci_fly* f, int species, const bool* wanted, tg_ci_strips* s,
                         size_t* entry) {
  const tg_ci_strings* strings = &f->space->strings[species];
  size_t n = 0;
  for (size_t c = 0; c < strings->class_count; c++) {
    const tg_ci_target* t = &f->alone[species].targets[c];
    s->link_begin[c] = (uint32_t)n;
    for (size_t l = 0; wanted[c] && l < t->link_count; l++, n++) {
      const uint32_t columns = (uint32_t)strings->classes[t->links[l].source].count;
      const uint32_t count = strips_of(columns);
      s->links[n] = (tg_ci_strip_link){.source = t->links[l].source,
                                       .columns = columns,
                                       .height = (columns + count - 1) / count,
                                       .count = count,
                                       .begin = s->begin_count};
      entry[n] = s->entry_count;
      s->begin_count += count * ((size_t)strings->classes[c].count + 1);
      s->entry_count += t->links[l].count;
    }
  }
  s->link_begin[strings->class_count] = (uint32_t)n;
  if (s->entry_count < UINT32_MAX) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "too many elements of one species for the tables of a GPU");
}

/* Rows rise in from, so a strip's part of a row is one piece. */
static void fill(const tg_ci_target* t, const tg_ci_link* from, const tg_ci_strip_link* to,
                 size_t rows, size_t entry, tg_ci_strips* s) {
  const uint32_t* begin = t->begin + from->rows;
  uint32_t* out = s->begin + to->begin;
  for (uint32_t strip = 0; strip < to->count; strip++) {
    const uint32_t start = strip * to->height, end = start + to->height;
    for (size_t r = 0; r < rows; r++) {
      *out++ = (uint32_t)entry;
      uint32_t low = begin[r], high = begin[r + 1];
      while (low < high) { /* the first one at or behind start */
        const uint32_t middle = low + (high - low) / 2;
        if (t->from[middle] < start)
          low = middle + 1;
        else
          high = middle;
      }
      for (uint32_t e = low; e < begin[r + 1] && t->from[e] < end; e++)
        s->entries[entry++] = (tg_ci_strip_entry){.value = t->value[e], .from = t->from[e] - start};
    }
    *out++ = (uint32_t)entry;
  }
}

tg_status tg_ci_strips_make(const tg_ci_fly* fly, int species, const bool* wanted, int threads,
                            tg_ci_strips* out) {
  tg_status status = TG_OK;
  tg_ci_strips s = {0};
  size_t* entry = NULL;
  const tg_ci_strings* strings = &fly->space->strings[species];
  for (size_t c = 0; c < strings->class_count; c++)
    if (wanted[c]) s.link_count += fly->alone[species].targets[c].link_count;
  s.class_count = strings->class_count;
  TG_TRY_GOTO(TG_ALLOCATE(strings->class_count + 1, "strips", &s.link_begin), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.link_count, "strips", &s.links), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.link_count + 1, "strips", &entry), done);
  TG_TRY_GOTO(lay_out(fly, species, wanted, &s, entry), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.begin_count, "strips", &s.begin), done);
  TG_TRY_GOTO(TG_ALLOCATE(s.entry_count, "strips", &s.entries), done);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t c = 0; c < strings->class_count; c++) {
    const tg_ci_target* t = &fly->alone[species].targets[c];
    for (uint32_t n = s.link_begin[c]; n < s.link_begin[c + 1]; n++)
      fill(t, &t->links[n - s.link_begin[c]], &s.links[n], (size_t)strings->classes[c].count,
           entry[n], &s);
  }
done:
  tg_free(entry);
  if (status != TG_OK)
    tg_ci_strips_free(&s);
  else
    *out = s;
  (void)threads;
  return status;
}
