/* SPDX-License-Identifier: Apache-2.0 */
/* Which states some rows of the product read: all that a jump, or a matrix of one species, leads
 * from, looked up row by row of the blocks they are in. */
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "ci/distribution.h"
#include "ci/product_fly.h"

enum { SHORT_GAP = 512 /* states: two messages cost more than sending these, too */ };

typedef struct marks {
  const tg_ci_fly* f;
  size_t* row_begin; /* [blocks + 1] */
  bool* row;         /* [rows of all blocks] is read */
  bool* reached;     /* [strings of the largest class of A], scratch */
} marks;

/* The marks of the block of these classes; NULL: there is none. */
static bool* rows_of(const marks* m, size_t a, size_t b) {
  const size_t number = tg_ci_space_block(m->f->space, a, b);
  return number == SIZE_MAX ? NULL : m->row + m->row_begin[number];
}

/* Strings from which a link leads to rows begin ... end - 1. */
static void mark_from(const tg_ci_target* t, const tg_ci_link* link, size_t begin, size_t end,
                      bool* out) {
  for (uint32_t e = t->begin[link->rows + begin]; e < t->begin[link->rows + end]; e++)
    out[t->from[e]] = true;
}

static void mark_same(const marks* m, const tg_ci_target* t, size_t l, uint32_t a, size_t begin,
                      size_t end) {
  bool* rows = rows_of(m, a, t->links[l].source);
  for (size_t i = begin; rows && i < end; i++) rows[i] = true;
}

/* What rows begin ... end - 1 of a block read. */
static void mark_block(const marks* m, const tg_ci_block* block, size_t begin, size_t end) {
  const tg_ci_fly* f = m->f;
  const tg_ci_target *alone_a = &f->alone[0].targets[block->a],
                     *alone_b = &f->alone[1].targets[block->b];
  const tg_ci_target *ta = &f->jumps[0].targets[block->a], *tb = &f->jumps[1].targets[block->b];
  memset(rows_of(m, block->a, block->b) + begin, true, (end - begin) * sizeof(bool));
  for (size_t l = 0; l < alone_a->link_count; l++) {
    bool* rows = rows_of(m, alone_a->links[l].source, block->b);
    if (rows) mark_from(alone_a, &alone_a->links[l], begin, end, rows);
  }
  for (size_t l = 0; l < alone_b->link_count; l++) mark_same(m, alone_b, l, block->a, begin, end);
  size_t first, count = tg_ci_links_of(tb, tg_ci_channel_still(&f->jumps[1]), &first);
  for (size_t l = first; l < first + count; l++) mark_same(m, tb, l, block->a, begin, end);
  for (size_t l = 0; l < ta->link_count; l++) {
    const tg_ci_link* link = &ta->links[l];
    const size_t strings = f->space->strings[0].classes[link->source].count;
    memset(m->reached, false, strings * sizeof(bool));
    mark_from(ta, link, begin, end, m->reached);
    count = tg_ci_links_of(tb, link->channel, &first);
    const bool still = link->channel == tg_ci_channel_still(&f->jumps[0]);
    for (size_t n = first; n < first + count + still; n++) {
      /* the last: B stays as it is, and adds a factor */
      const uint32_t source = n < first + count ? tb->links[n].source : block->b;
      bool* rows = rows_of(m, link->source, source);
      for (size_t i = 0; rows && i < strings; i++) rows[i] = rows[i] || m->reached[i];
    }
  }
}

static tg_status marks_make(const tg_ci_fly* f, marks* m) {
  const tg_ci_space* space = f->space;
  size_t largest = 1;
  m->f = f;
  TG_TRY(TG_ALLOCATE(space->block_count + 1, "rows of blocks", &m->row_begin));
  for (size_t n = 0; n < space->block_count; n++)
    m->row_begin[n + 1] = m->row_begin[n] + space->blocks[n].rows;
  for (size_t c = 0; c < space->strings[0].class_count; c++)
    if (space->strings[0].classes[c].count > largest) largest = space->strings[0].classes[c].count;
  TG_TRY(TG_ALLOCATE(m->row_begin[space->block_count], "rows that are read", &m->row));
  return TG_ALLOCATE(largest, "strings that are read", &m->reached);
}

/* The marked rows, which are states one after the other. */
static tg_status ranges_of(const marks* m, tg_ci_range** out, size_t* count) {
  size_t room = 0;
  for (size_t n = 0; n < m->f->space->block_count; n++) {
    const tg_ci_block* block = &m->f->space->blocks[n];
    for (size_t i = 0; i < block->rows; i++) {
      if (!m->row[m->row_begin[n] + i]) continue;
      const uint64_t first = block->offset + (uint64_t)i * block->columns;
      if (*count == 0 || first > (*out)[*count - 1].end + SHORT_GAP) {
        TG_TRY(TG_RESERVE(*count + 1, "ranges of states", out, &room));
        (*out)[(*count)++].first = first;
      }
      (*out)[*count - 1].end = first + block->columns;
    }
  }
  return TG_OK;
}

tg_status tg_ci_needed(const tg_ci_fly* f, uint64_t first, uint64_t end, tg_ci_range** out,
                       size_t* out_count) {
  tg_status status = TG_OK;
  marks m = {0};
  *out = NULL;
  *out_count = 0;
  TG_TRY_GOTO(marks_make(f, &m), done);
  for (size_t n = 0; n < f->space->block_count; n++) {
    const tg_ci_block* block = &f->space->blocks[n];
    const uint64_t behind = block->offset + (uint64_t)block->rows * block->columns;
    if (block->offset >= end || behind <= first) continue;
    const uint64_t from = first > block->offset ? first - block->offset : 0;
    const uint64_t to = (end < behind ? end : behind) - block->offset;
    mark_block(&m, block, (size_t)(from / block->columns), (size_t)(to / block->columns));
  }
  status = ranges_of(&m, out, out_count);
done:
  TG_FREE(m.row_begin);
  TG_FREE(m.row);
  TG_FREE(m.reached);
  return status;
}
