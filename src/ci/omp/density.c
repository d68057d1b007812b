/* SPDX-License-Identifier: Apache-2.0 */
/* Densities on the host. A task is a piece of a block of the final space for one species: it packs
 * the strings of that species, all states, and a chunk of the other species' strings into tiles
 *
 *   tile[string, state, chunk]
 *
 * of the final and of an initial block, and adds for each move between strings the dot products of
 * all pairs of states. Tasks are dealt to groups, each with its own sums, which are added in the
 * order of groups: the number of threads changes nothing. */
#include "ci/density.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/simd.h"

enum {
  LANES = 8,
  CHUNK_MOST = 64,
  TILE_BYTES = 192 * 1024, /* of a tile; two are in use */
  PIECE = 512,             /* strings of the other species in a task */
  GROUPS = 32,
};
static const size_t most_group_bytes = (size_t)256 << 20; /* of all groups' sums */

typedef struct task {
  size_t block;
  int species;       /* whose strings move */
  size_t begin, end; /* strings of the other species in the block; rows where both change */
} task;

typedef struct job {
  const tg_ci_density* d;
  tg_ci_vectors final, initial;
  bool same; /* the same states: pairs f <= i only */
  double *tile_f, *tile_i;
  double* dots; /* [final, initial] */
  double* sums; /* [operators, final, initial] */
} job;

/* What the kernels see of a block: where string s of the moving species and o of the other are. */
typedef struct view {
  size_t moving, other; /* strides of the two */
} view;

static view view_of(const tg_ci_block* block, int species) {
  return species ? (view){1, block->columns} : (view){block->columns, 1};
}

/* ---- one species moves ---- */

/* tile[s, state, k] of strings s < count and others first + k, k < width, padded to whole lanes. */
static void pack(const tg_ci_vectors* v, uint64_t offset, view w, size_t count, size_t first,
                 size_t width, size_t padded, double* tile) {
  const size_t row = v->count * padded;
  for (size_t state = 0; state < v->count; state++) {
    const double* x = v->vectors + state * v->ld + offset + first * w.other;
    double* to = tile + state * padded;
    if (w.other == 1) {
      for (size_t s = 0; s < count; s++) memcpy(to + s * row, x + s * w.moving, width * sizeof *x);
    } else {
      for (size_t k = 0; k < width; k++)
        for (size_t s = 0; s < count; s++) to[s * row + k] = x[k * w.other + s];
    }
    for (size_t s = 0; s < count; s++)
      for (size_t k = width; k < padded; k++) to[s * row + k] = 0;
  }
}

/* dots[f, i] = sum over k of a[f, k] b[i, k], of length whole lanes; where same, of i >= f. */
TG_SIMD_CLONES static void multiply(const double* a, size_t finals, const double* b,
                                    size_t initials, size_t length, bool same, double* dots) {
  for (size_t f = 0; f < finals; f++) {
    const double* x = a + f * length;
    for (size_t i = same ? f - f % 2 : 0; i < initials; i += 2) {
      const size_t second = i + 1 < initials ? length : 0;
      const double* y = b + i * length;
      double s[LANES] = {0}, t[LANES] = {0};
      for (size_t k = 0; k < length; k += LANES)
        for (int l = 0; l < LANES; l++) {
          s[l] += x[k + (size_t)l] * y[k + (size_t)l];
          t[l] += x[k + (size_t)l] * y[second + k + (size_t)l];
        }
      for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) {
          s[l] += s[l + half];
          t[l] += t[l + half];
        }
      dots[f * initials + i] = s[0];
      if (second) dots[f * initials + i + 1] = t[0];
    }
  }
}

static void add(const job* j, uint32_t code) {
  const size_t pairs = j->final.count * j->initial.count;
  double* sums = j->sums + (code >> 1) * pairs;
  if (code & 1)
    for (size_t p = 0; p < pairs; p++) sums[p] -= j->dots[p];
  else
    for (size_t p = 0; p < pairs; p++) sums[p] += j->dots[p];
}

/* All moves of a link, for a chunk of the other species that is in the tiles. */
static void move_strings(const job* j, const tg_ci_target* t, const tg_ci_link* link, size_t rows,
                         size_t padded) {
  for (size_t r = 0; r < rows; r++) {
    uint32_t last = UINT32_MAX;
    const uint32_t* begin = t->begin + link->rows + r;
    for (uint32_t e = begin[0]; e < begin[1]; e++) {
      if (t->from[e] != last) /* a+_p a_p of all p of a string have the same */
        multiply(j->tile_f + r * j->final.count * padded, j->final.count,
                 j->tile_i + t->from[e] * j->initial.count * padded, j->initial.count, padded,
                 j->same, j->dots);
      last = t->from[e];
      add(j, t->code[e]);
    }
  }
}

static size_t chunk_of(size_t strings, size_t states) {
  const size_t most = TILE_BYTES / sizeof(double) / (strings * states + 1);
  const size_t chunk = most / LANES * LANES;
  return chunk < LANES ? LANES : chunk > CHUNK_MOST ? CHUNK_MOST : chunk;
}

/* The strings of the other species that are common to both spaces: a run, and the initial block.
 */
static void run_of_strings(const job* j, const task* todo, const tg_ci_same* same) {
  const int s = todo->species;
  const tg_ci_block* block = &j->d->final->blocks[todo->block];
  const uint32_t class = s ? block->b : block->a;
  const tg_ci_target* t = &j->d->moves[s].targets[class];
  const size_t rows = s ? block->columns : block->rows;
  const size_t begin = same->first > todo->begin ? same->first : todo->begin;
  const size_t stop = same->first + same->count, end = stop < todo->end ? stop : todo->end;
  if (begin >= end) return;
  for (size_t l = 0; l < t->link_count; l++) {
    const tg_ci_link* link = &t->links[l];
    const size_t number = s ? tg_ci_space_block(j->d->initial, same->source, link->source)
                            : tg_ci_space_block(j->d->initial, link->source, same->source);
    if (number == SIZE_MAX) continue;
    const tg_ci_block* source = &j->d->initial->blocks[number];
    const size_t strings = s ? source->columns : source->rows;
    const size_t states = j->final.count > j->initial.count ? j->final.count : j->initial.count;
    const size_t chunk = chunk_of(rows > strings ? rows : strings, states);
    for (size_t o = begin; o < end; o += chunk) {
      const size_t width = end - o < chunk ? end - o : chunk;
      const size_t padded = (width + LANES - 1) / LANES * LANES;
      pack(&j->final, block->offset, view_of(block, s), rows, o, width, padded, j->tile_f);
      pack(&j->initial, source->offset, view_of(source, s), strings, same->from + (o - same->first),
           width, padded, j->tile_i);
      move_strings(j, t, link, rows, padded);
    }
  }
}

static void one_moves(const job* j, const task* todo) {
  const tg_ci_block* block = &j->d->final->blocks[todo->block];
  const tg_ci_moves* still = &j->d->moves[1 - todo->species];
  const size_t class = todo->species ? block->a : block->b;
  for (size_t g = still->same_begin[class]; g < still->same_begin[class + 1]; g++)
    run_of_strings(j, todo, &still->same[g]);
}

/* ---- one made, one taken away ---- */

/* tile[c, state] of columns of one row of a block. */
static void pack_row(const tg_ci_vectors* v, uint64_t offset, size_t columns, double* tile) {
  for (size_t state = 0; state < v->count; state++) {
    const double* x = v->vectors + state * v->ld + offset;
    for (size_t c = 0; c < columns; c++) tile[c * v->count + state] = x[c];
  }
}

/* Row r of a final block, entry e of its moves of A; the initial row is in tile_i. */
static void cross_row(const job* j, const tg_ci_block* block, const tg_ci_target* tb,
                      const tg_ci_link* link, uint32_t code_a, bool odd) {
  const tg_ci_density* d = j->d;
  const size_t nf = j->final.count, ni = j->initial.count;
  for (size_t c = 0; c < block->columns; c++) {
    const double* x = j->tile_f + c * nf;
    for (uint32_t e = tb->begin[link->rows + c]; e < tb->begin[link->rows + c + 1]; e++) {
      const size_t a = code_a >> 1, b = tb->code[e] >> 1;
      const size_t at = d->charge_change > 0 ? a * d->orbitals[1] + b : b * d->orbitals[0] + a;
      const uint32_t number = d->number[0][at];
      const double sign = ((code_a ^ tb->code[e]) & 1) != odd ? -1 : 1;
      const double* y = j->tile_i + tb->from[e] * ni;
      double* sums = j->sums + number * nf * ni;
      for (size_t f = 0; f < nf; f++) {
        const double factor = sign * x[f];
        for (size_t i = 0; i < ni; i++) sums[f * ni + i] += factor * y[i];
      }
    }
  }
}

static void both_move(const job* j, const task* todo) {
  const tg_ci_density* d = j->d;
  const tg_ci_block* block = &d->final->blocks[todo->block];
  const tg_ci_target *ta = &d->moves[0].targets[block->a], *tb = &d->moves[1].targets[block->b];
  /* a neutron's operator passes the protons that are there when it acts: before a+_p those of the
   * initial state, after a_p one less; both are the lesser number of the two states, or one more */
  const int protons = d->initial->strings[0].particles - (d->charge_change < 0);
  const bool odd = protons % 2 != 0;
  for (size_t r = todo->begin; r < todo->end; r++) {
    pack_row(&j->final, block->offset + r * block->columns, block->columns, j->tile_f);
    for (size_t l = 0; l < ta->link_count; l++)
      for (size_t k = 0; k < tb->link_count; k++) {
        const tg_ci_link *la = &ta->links[l], *lb = &tb->links[k];
        const size_t number = tg_ci_space_block(d->initial, la->source, lb->source);
        if (number == SIZE_MAX) continue;
        const tg_ci_block* source = &d->initial->blocks[number];
        for (uint32_t e = ta->begin[la->rows + r]; e < ta->begin[la->rows + r + 1]; e++) {
          pack_row(&j->initial, source->offset + ta->from[e] * source->columns, source->columns,
                   j->tile_i);
          cross_row(j, block, tb, lb, ta->code[e], odd);
        }
      }
  }
}

/* ---- all of it ---- */

static tg_status list_tasks(const tg_ci_density* d, task** out, size_t* out_count) {
  task* list = NULL;
  size_t count = 0, room = 0;
  const int kinds = d->charge_change ? 1 : 2;
  for (size_t b = 0; b < d->final->block_count; b++)
    for (int s = 0; s < kinds; s++) {
      const tg_ci_block* block = &d->final->blocks[b];
      const size_t strings = d->charge_change || s ? block->rows : block->columns;
      for (size_t begin = 0; begin < strings; begin += PIECE) {
        const size_t end = strings - begin < PIECE ? strings : begin + PIECE;
        const tg_status status = TG_RESERVE(count + 1, "tasks", &list, &room);
        if (status != TG_OK) {
          tg_free(list);
          return status;
        }
        list[count++] = (task){.block = b, .species = s, .begin = begin, .end = end};
      }
    }
  *out = list;
  *out_count = count;
  return TG_OK;
}

/* Doubles of a tile: of a class of either species of this space with a chunk of so many states, or
 * of a row. */
static size_t tile_size(const tg_ci_space* space, size_t states) {
  size_t strings = 1;
  for (int t = 0; t < 2; t++)
    for (size_t c = 0; c < space->strings[t].class_count; c++)
      if (space->strings[t].classes[c].count > strings)
        strings = space->strings[t].classes[c].count;
  const size_t least = strings * states * LANES, tile = TILE_BYTES / sizeof(double) + LANES;
  return least > tile ? least : tile;
}

static tg_status run_group(job j, const task* tasks, size_t count, size_t group, size_t groups) {
  tg_status status = TG_OK;
  TG_TRY_GOTO(TG_ALLOCATE(tile_size(j.d->final, j.final.count), "a tile", &j.tile_f), done);
  TG_TRY_GOTO(TG_ALLOCATE(tile_size(j.d->initial, j.initial.count), "a tile", &j.tile_i), done);
  TG_TRY_GOTO(TG_ALLOCATE(j.final.count * j.initial.count, "products", &j.dots), done);
  for (size_t t = group; t < count; t += groups) {
    if (j.d->charge_change)
      both_move(&j, &tasks[t]);
    else
      one_moves(&j, &tasks[t]);
  }
done:
  tg_free(j.tile_f);
  tg_free(j.tile_i);
  tg_free(j.dots);
  return status;
}

/* The groups' sums in their order, to rho[f, i, operator]. */
static void collect(const job* j, const double* sums, size_t groups, double* rho) {
  const size_t nf = j->final.count, ni = j->initial.count, count = j->d->count;
  for (size_t f = 0; f < nf; f++)
    for (size_t i = j->same ? f : 0; i < ni; i++)
      for (size_t o = 0; o < count; o++) {
        double sum = 0;
        for (size_t g = 0; g < groups; g++) sum += sums[((g * count + o) * nf + f) * ni + i];
        rho[(f * ni + i) * count + o] = sum;
      }
  if (!j->same) return;
  for (size_t f = 0; f < nf; f++)
    for (size_t i = 0; i < f; i++)
      for (size_t o = 0; o < count; o++) {
        const tg_ci_pair* p = &j->d->pairs[o];
        const size_t n = j->d->orbitals[p->create_species];
        const uint32_t turned = j->d->number[p->create_species][p->destroy * n + p->create];
        rho[(f * ni + i) * count + o] = rho[(i * ni + f) * count + turned];
      }
}

tg_status tg_ci_density_compute(const tg_ci_density* d, tg_ci_vectors final, tg_ci_vectors initial,
                                int threads, double* rho) {
  tg_status status = TG_OK;
  task* tasks = NULL;
  double* sums = NULL;
  size_t count = 0;
  job j = {.d = d,
           .final = final,
           .initial = initial,
           .same = d->charge_change == 0 && d->final == d->initial &&
                   final.vectors == initial.vectors && final.count == initial.count &&
                   final.ld == initial.ld};
  const size_t size = d->count * final.count * initial.count;
  TG_TRY(list_tasks(d, &tasks, &count));
  size_t groups = count < GROUPS ? count : GROUPS;
  while (groups > 1 && groups * size > most_group_bytes / sizeof *sums) groups /= 2;
  TG_TRY_GOTO(TG_ALLOCATE(groups * size, "densities", &sums), done);
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (size_t g = 0; g < groups; g++) {
    job mine = j;
    mine.sums = sums + g * size;
    const tg_status result = run_group(mine, tasks, count, g, groups);
    if (result != TG_OK) {
#pragma omp critical(tg_ci_density_status)
      status = result;
    }
  }
  if (status == TG_OK)
    collect(&j, sums, groups, rho);
  else /* the words are with another thread */
    tg_fail(status, "no memory for the tiles of one-body densities");
done:
  tg_free(sums);
  tg_free(tasks);
  return status;
}
