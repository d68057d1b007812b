/* SPDX-License-Identifier: Apache-2.0 */
#include "ci/cuda/fly_work.cuh"

#include <algorithm>

enum {
  LEAST_LANES = 16, /* of strips */
  SHARES = 2,       /* strips for each multiprocessor */
  MOST_LANES = 32,  /* for a state of a small block */
  LEAST_COST = 16,  /* of a thread, in elements */
  ENOUGH = 128,     /* the same, which pays its looking up */
  ROOM = 1 << 17,   /* threads that do less: half of what a large GPU holds at a time */
  MOST_THREADS = 1 << 19,
  LINK_COST = 4,  /* of a pair of links */
  MUCH = 10000000 /* cost of all small blocks: they have a stream of their own */
};

static double states_of(const tg_ci_block* b) { return (double)b->rows * (double)b->columns; }

/* What a thread of its own would have to do for a state of a small block: elements, and pairs of
 * links to look up, some of which have few. */
static double cost_of(const tg_ci_fly* f, size_t n) {
  const tg_ci_block* b = &f->space->blocks[n];
  const tg_ci_target *ta = &f->jumps[0].targets[b->a], *tb = &f->jumps[1].targets[b->b];
  double links = 0;
  for (size_t l = 0; l < tb->link_count; l++) {
    size_t first;
    links += (double)tg_ci_links_of(ta, tb->links[l].channel, &first);
  }
  return f->elements[n] / states_of(b) + LINK_COST * links;
}

static uint32_t lanes_for(double cost, double each) {
  uint32_t lanes = 1;
  while (lanes < MOST_LANES && cost > each * lanes) lanes *= 2;
  return lanes;
}

/* Threads for a state of each small block, so that all have about as much to do. Where they do
 * little they look up more than they add, so they are many only if that leaves none idle. */
static void sort_small(const tg_ci_fly* f, tg_fly_work* work) {
  const size_t count = f->space->block_count;
  double all = 0, most = 0, each = LEAST_COST;
  work->cost.assign(count, 0);
  work->lanes.assign(count, 0);
  for (size_t n = 0; n < count; n++) {
    if (work->large[n]) continue;
    work->cost[n] = cost_of(f, n);
    all += states_of(&f->space->blocks[n]) * work->cost[n];
    most = std::max(most, work->cost[n]);
  }
  for (; each < most; each *= 1.25) {
    double threads = 0;
    for (size_t n = 0; n < count; n++)
      if (!work->large[n])
        threads += states_of(&f->space->blocks[n]) * lanes_for(work->cost[n], each);
    if (threads <= (each < ENOUGH ? ROOM : MOST_THREADS)) break;
  }
  for (size_t n = 0; n < count; n++) {
    if (work->large[n]) continue;
    work->lanes[n] = lanes_for(work->cost[n], each);
    work->cost[n] /= work->lanes[n];
  }
  work->beside = all > MUCH;
}

void tg_fly_work_sort(const tg_ci_fly* f, bool tiles, tg_fly_work* work) {
  const tg_ci_space* space = f->space;
  work->large.reset(new bool[space->block_count + 1]());
  for (int t = 0; t < 2; t++) {
    work->large_class[t].reset(new bool[space->strings[t].class_count + 1]());
    work->small_class[t].reset(new bool[space->strings[t].class_count + 1]());
  }
  for (size_t n = 0; n < space->block_count; n++) {
    const tg_ci_block* b = &space->blocks[n];
    const bool large = tiles && b->rows >= TG_CI_SHEET_LEAST && b->columns >= TG_CI_SHEET_LEAST;
    work->large[n] = large;
    (large ? work->large_class : work->small_class)[0][b->a] = true;
    (large ? work->large_class : work->small_class)[1][b->b] = true;
  }
  sort_small(f, work);
}

typedef struct numbers {
  uint32_t first, end;
} numbers;

/* The rows of a block that are made. */
static numbers rows_of(const tg_ci_block* b, const tg_ci_device_rows* rows) {
  const uint64_t end = b->offset + (uint64_t)b->rows * b->columns;
  const uint64_t from = std::clamp(rows->first, b->offset, end) - b->offset;
  const uint64_t to = std::clamp(rows->end, b->offset, end) - b->offset;
  numbers n = {(uint32_t)(from / b->columns), (uint32_t)(to / b->columns)};
  return n;
}

/* Strips of a block, at most so wide; each part of the panels and of the lanes about as large. */
static void list_block(uint32_t number, numbers lanes, numbers targets, uint32_t most,
                       uint32_t panels, std::vector<tg_fly_strip>* out) {
  const uint32_t first = targets.first / TG_CI_PANEL, end = tg_ci_panels(targets.end);
  const uint32_t parts = (end - first + panels - 1) / panels;
  const uint32_t pieces = (lanes.end - lanes.first + most - 1) / most;
  const uint32_t wide = ((lanes.end - lanes.first + pieces - 1) / pieces + 7) / 8 * 8;
  for (uint32_t lane = lanes.first; lane < lanes.end; lane += wide)
    for (uint32_t p = 0; p < parts; p++) {
      const uint32_t from = first + (end - first) * p / parts;
      const uint32_t to = first + (end - first) * (p + 1) / parts;
      tg_fly_strip s = {number, lane, std::min(wide, lanes.end - lane),
                        std::max(targets.first, from * TG_CI_PANEL),
                        std::min(targets.end, to * TG_CI_PANEL)};
      out->push_back(s);
    }
}

/* Narrow ones where all multiprocessors would not have some otherwise. */
static void list_strips(const tg_ci_fly* f, const tg_ci_device_rows* rows, int species,
                        const std::vector<uint32_t>& order, uint32_t panels, int multiprocessors,
                        tg_fly_work* work) {
  for (uint32_t most = TG_FLY_STRIP_LANES; most >= LEAST_LANES; most /= 2) {
    work->strips[species].clear();
    for (uint32_t n : order) {
      const tg_ci_block* b = &f->space->blocks[n];
      const numbers made = rows_of(b, rows), all = {0, (uint32_t)b->columns};
      if (made.first < made.end)
        list_block(n, species ? made : all, species ? all : made, most, panels,
                   &work->strips[species]);
    }
    if (work->strips[species].size() >= (size_t)SHARES * (size_t)multiprocessors) return;
  }
}

/* Where B alone moves, the string of A stays: of a block of the same class of A, which may have
 * other classes of B, the same rows are read. */
static bool reads_own(const tg_ci_fly* f, const tg_ci_device_rows* rows, const tg_fly_strip& s) {
  const tg_ci_space* space = f->space;
  const tg_ci_block* block = &space->blocks[s.block];
  const tg_ci_target* target = &f->alone[1].targets[block->b];
  for (size_t l = 0; l < target->link_count; l++) {
    const size_t number = tg_ci_space_block(space, block->a, target->links[l].source);
    if (number == SIZE_MAX) continue;
    const tg_ci_block* source = &space->blocks[number];
    const uint64_t first = source->offset + (uint64_t)s.lane * source->columns;
    const uint64_t end = first + (uint64_t)s.lanes * source->columns;
    if (first < rows->first || end > rows->end) return false;
  }
  return true;
}

static void list_rows(const tg_ci_fly* f, const tg_ci_device_rows* rows, const tg_ci_sheets* sheets,
                      const std::vector<uint32_t>& order, tg_fly_work* work) {
  for (uint32_t n : order) {
    const tg_ci_block* b = &f->space->blocks[n];
    const numbers made = rows_of(b, rows);
    const uint32_t room = tg_ci_sheet_room(b->columns);
    const int size = room == tg_ci_sheet_room(1) ? 0 : room == tg_ci_sheet_room(4096) ? 1 : 2;
    for (uint32_t row = made.first; row < made.end; row++)
      for (uint32_t t = sheets->tile_begin[b->b]; t < sheets->tile_begin[b->b + 1]; t++) {
        tg_fly_row one = {n, row, t};
        work->rows[size].push_back(one);
      }
  }
}

static void list_pieces(const tg_ci_fly* f, const tg_ci_device_rows* rows, tg_fly_work* work) {
  std::vector<size_t> order;
  for (size_t n = 0; n < f->space->block_count; n++)
    if (!work->large[n]) order.push_back(n);
  std::stable_sort(order.begin(), order.end(),
                   [=](size_t p, size_t q) { return work->cost[p] > work->cost[q]; });
  for (size_t n : order) {
    const tg_ci_block* b = &f->space->blocks[n];
    const numbers made = rows_of(b, rows);
    const uint32_t piece = TG_FLY_PIECE / work->lanes[n];
    if (made.first == made.end) continue;
    const uint64_t first = (uint64_t)made.first * b->columns / piece;
    const uint64_t last = ((uint64_t)made.end * b->columns - 1) / piece;
    for (uint64_t p = first; p <= last; p++) {
      tg_fly_piece one = {(uint32_t)n, (uint32_t)p, work->lanes[n]};
      work->pieces.push_back(one);
    }
  }
}

void tg_fly_work_list(const tg_ci_fly* f, const tg_ci_device_rows* rows, const tg_ci_sheets* sheets,
                      const uint32_t heights[2], int multiprocessors, tg_fly_work* work) {
  std::vector<uint32_t> order;
  std::vector<double> cost;
  for (size_t n = 0; n < f->space->block_count; n++) {
    cost.push_back(f->elements[n] / (double)f->space->blocks[n].rows);
    if (work->large[n]) order.push_back((uint32_t)n);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&cost](uint32_t p, uint32_t q) { return cost[p] > cost[q]; });
  for (int t = 0; t < 2; t++)
    list_strips(f, rows, t, order, tg_fly_strip_panels(heights[t]), multiprocessors, work);
  const auto others =
      std::stable_partition(work->strips[1].begin(), work->strips[1].end(),
                            [=](const tg_fly_strip& s) { return reads_own(f, rows, s); });
  work->own_strips = (size_t)(others - work->strips[1].begin());
  list_rows(f, rows, sheets, order, work);
  list_pieces(f, rows, work);
}
