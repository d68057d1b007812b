/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces by clusters on the host's threads (see cluster.h).
 *
 * Search: sort atoms into clusters, then several chunks of i-clusters per thread make a list each;
 * each thread gets a run of rows with an equal share of the entries. Compute: 1. pack positions; 2.
 * each thread clears the groups of blocks that it will use of its own force buffer and evaluates
 * its rows; 3. groups are shared out, and each atom gets the sum over the threads that used its
 * group, in their order. What a thread does depends on the lists and the thread count alone, so
 * results repeat bit for bit. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "md/nonbonded_backend.h"
#include "md/omp/cluster.h"

enum { CHUNKS_PER_THREAD = 8 };

/* A run of rows: from row begin of chunk first to before row end of chunk last. */
typedef struct tg_task {
  size_t first, begin, last, end;
} tg_task;

typedef struct tg_omp_state {
  tg_nonbonded_params params;
  const tg_cluster_kernels* kernels;
  char text[64];
  tg_cluster_constants constants;
  void* table;
  double *root6, *root12; /* [type_count] */
  bool* has_lj;           /* [type_count] */
  tg_clusters clusters;
  int threads;
  size_t chunk_count;
  tg_cluster_list* outer; /* [chunk_count] */
  tg_cluster_list* inner; /* [chunk_count] */
  bool pruned;
  int64_t entry_count; /* of the list in use */
  tg_task* tasks;      /* [threads] */
  void** force;        /* [threads] real [block_count][3][width] */
  uint8_t** used;      /* [threads][groups] */
  tg_cluster_sums* sums;
  size_t force_capacity, used_capacity;
} tg_omp_state;

static tg_cluster_list* lists_in_use(const tg_omp_state* state) {
  return state->pruned ? state->inner : state->outer;
}

static void destroy(void* pointer) {
  tg_omp_state* state = pointer;
  if (state == NULL) return;
  tg_clusters_free(&state->clusters);
  for (size_t k = 0; k < state->chunk_count; k++) {
    if (state->outer != NULL) tg_cluster_list_free(&state->outer[k]);
    if (state->inner != NULL) tg_cluster_list_free(&state->inner[k]);
  }
  for (int t = 0; t < state->threads; t++) {
    if (state->force != NULL) TG_FREE(state->force[t]);
    if (state->used != NULL) TG_FREE(state->used[t]);
  }
  TG_FREE(state->outer);
  TG_FREE(state->inner);
  TG_FREE(state->tasks);
  TG_FREE(state->force);
  TG_FREE(state->used);
  TG_FREE(state->sums);
  TG_FREE(state->table);
  TG_FREE(state->root6);
  TG_FREE(state->root12);
  TG_FREE(state->has_lj);
  TG_FREE(state);
}

/* The variant named by TG_SIMD ("portable", "AVX2", "AVX-512"; for tests and measurements), or the
 * first that runs here. */
static const tg_cluster_kernels* choose_kernels(bool mixed) {
  const size_t size = mixed ? sizeof(float) : sizeof(double);
  const char* wanted = getenv("TG_SIMD");
  const tg_cluster_kernels* chosen = NULL;
  for (const tg_cluster_kernels* const* v = tg_cluster_variants(); *v != NULL; v++) {
    if ((*v)->real_size != size || !(*v)->runs_here()) continue;
    if (wanted != NULL && strstr((*v)->text, wanted) != NULL) return *v;
    if (chosen == NULL) chosen = *v;
  }
  return chosen;
}

static void table_put(const tg_omp_state* state, size_t index, double value) {
  if (state->kernels->real_size == sizeof(float)) {
    ((float*)state->table)[index] = (float)value;
  } else {
    ((double*)state->table)[index] = value;
  }
}

static bool is_product(double value, double a, double b) {
  return fabs(value - a * b) <= 8 * 2.220446049250313e-16 * fabs(value);
}

/* Tables by type: 6 C6 and 12 C12, their roots, and whether products of roots give them all. */
static tg_status make_tables(tg_omp_state* state) {
  const tg_nonbonded_params* p = &state->params;
  const size_t n = (size_t)p->type_count;
  TG_TRY(TG_ALLOCATE(n, "roots of C6", &state->root6));
  TG_TRY(TG_ALLOCATE(n, "roots of C12", &state->root12));
  TG_TRY(TG_ALLOCATE(n, "types with LJ", &state->has_lj));
  TG_TRY(
      tg_allocate((n + 1) * (n + 1) * 2, state->kernels->real_size, "the LJ table", &state->table));
  bool geometric = true;
  for (size_t i = 0; i < n; i++) {
    const double c6 = 6 * p->c6[i * n + i], c12 = 12 * p->c12[i * n + i];
    if (c6 < 0 || c12 < 0) geometric = false;
    state->root6[i] = sqrt(fabs(c6));
    state->root12[i] = sqrt(fabs(c12));
  }
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      const double c6 = 6 * p->c6[i * n + j], c12 = 12 * p->c12[i * n + j];
      table_put(state, (i * (n + 1) + j) * 2, c6);
      table_put(state, (i * (n + 1) + j) * 2 + 1, c12);
      if (c6 != 0 || c12 != 0) state->has_lj[i] = true;
      if (!is_product(c6, state->root6[i], state->root6[j])) geometric = false;
      if (!is_product(c12, state->root12[i], state->root12[j])) geometric = false;
    }
  }
  state->constants = (tg_cluster_constants){
      .cutoff = p->cutoff,
      .rf_k = p->rf_k,
      .rf_c = p->coulomb_shift ? p->rf_c : 0,
      .coulomb_scale = p->coulomb_scale,
      .lj_edge6 = p->lj_shift ? 1 / pow(p->cutoff, 6) : 0,
      .geometric = geometric,
      .type_count = p->type_count,
      .table = state->table,
  };
  return TG_OK;
}

static tg_status create(const tg_nonbonded_params* params, void** out) {
  tg_omp_state* state = NULL;
  TG_TRY(TG_ALLOCATE(1, "pair forces", &state));
  *out = state;
  state->params = *params;
  state->kernels = choose_kernels(params->mixed);
  state->threads = params->threads > 0 ? params->threads : 1;
  TG_TRY(make_tables(state));
  const char* precision = strrchr(state->kernels->text, ' ') + 1;
  snprintf(state->text, sizeof state->text, "%.*s %dx%d %s%s",
           (int)(precision - state->kernels->text - 1), state->kernels->text, TG_CLUSTER_SIZE,
           state->kernels->width, precision, state->constants.geometric ? "" : ", LJ table");
  state->chunk_count = (size_t)state->threads * CHUNKS_PER_THREAD;
  const size_t threads = (size_t)state->threads;
  TG_TRY(TG_ALLOCATE(state->chunk_count, "pair lists", &state->outer));
  TG_TRY(TG_ALLOCATE(state->chunk_count, "pair lists", &state->inner));
  TG_TRY(TG_ALLOCATE(threads, "tasks", &state->tasks));
  TG_TRY(TG_ALLOCATE(threads, "force buffers", &state->force));
  TG_TRY(TG_ALLOCATE(threads, "force buffers", &state->used));
  return TG_ALLOCATE(threads, "energy sums", &state->sums);
}

/* The cost of a row in entries: its own start and end weigh about as much as two. */
static uint64_t row_cost(const tg_cluster_row* row) { return row->end - row->begin + 2; }

/* Gives each thread a run of rows of about equal cost. */
static void share_rows(tg_omp_state* state) {
  const tg_cluster_list* lists = lists_in_use(state);
  uint64_t total = 0;
  state->entry_count = 0;
  for (size_t k = 0; k < state->chunk_count; k++) {
    for (size_t r = 0; r < lists[k].row_count; r++) total += row_cost(&lists[k].rows[r]);
    state->entry_count += (int64_t)lists[k].entry_count;
  }
  uint64_t done = 0;
  size_t k = 0, r = 0;
  for (int t = 0; t < state->threads; t++) {
    tg_task* task = &state->tasks[t];
    const uint64_t goal = total * (uint64_t)(t + 1) / (uint64_t)state->threads;
    task->first = k;
    task->begin = r;
    while (k < state->chunk_count && done < goal) {
      if (r == lists[k].row_count) {
        k++;
        r = 0;
        continue;
      }
      done += row_cost(&lists[k].rows[r++]);
    }
    task->last = k;
    task->end = r;
  }
}

static void task_range(const tg_task* task, const tg_cluster_list* lists, size_t k, size_t* begin,
                       size_t* end) {
  *begin = k == task->first ? task->begin : 0;
  *end = k == task->last ? task->end : lists[k].row_count;
}

static size_t group_count(const tg_clusters* c) {
  return (c->block_count + TG_CLUSTER_GROUP - 1) / TG_CLUSTER_GROUP;
}

/* Marks the groups of blocks that thread t adds forces to. */
static void mark_used(const tg_omp_state* state, int t) {
  const tg_cluster_list* lists = lists_in_use(state);
  const tg_task* task = &state->tasks[t];
  const int width = state->clusters.width;
  uint8_t* used = state->used[t];
  memset(used, 0, group_count(&state->clusters));
  for (size_t k = task->first; k <= task->last && k < state->chunk_count; k++) {
    size_t begin, end;
    task_range(task, lists, k, &begin, &end);
    for (size_t r = begin; r < end; r++) {
      const tg_cluster_row* row = &lists[k].rows[r];
      used[row->cluster * TG_CLUSTER_SIZE / width / TG_CLUSTER_GROUP] = 1;
      for (size_t e = row->begin; e < row->end; e++) {
        used[lists[k].entries[e].block / TG_CLUSTER_GROUP] = 1;
      }
    }
  }
}

static void plan_threads(tg_omp_state* state) {
  share_rows(state);
  if (state->clusters.block_count == 0) return;
#pragma omp parallel for schedule(static, 1) num_threads(state->threads) default(none) shared(state)
  for (int t = 0; t < state->threads; t++) mark_used(state, t);
}

static tg_status reserve_buffers(tg_omp_state* state) {
  const tg_clusters* c = &state->clusters;
  const size_t reals = c->slot_count * 3, groups = group_count(c);
  if (reals > state->force_capacity) {
    const size_t room = reals + reals / 8;
    state->force_capacity = 0;
    for (int t = 0; t < state->threads; t++) {
      TG_FREE(state->force[t]);
      TG_TRY(tg_allocate(room, c->real_size, "force buffers", &state->force[t]));
    }
    state->force_capacity = room;
  }
  if (groups > state->used_capacity) {
    const size_t room = groups + groups / 8;
    state->used_capacity = 0;
    for (int t = 0; t < state->threads; t++) {
      TG_FREE(state->used[t]);
      TG_TRY(TG_ALLOCATE(room, "force buffers", &state->used[t]));
    }
    state->used_capacity = room;
  }
  return TG_OK;
}

static void pack_all(tg_omp_state* state, const double (*x)[3]) {
  tg_clusters* c = &state->clusters;
  const size_t blocks = c->block_count, threads = (size_t)state->threads;
#pragma omp parallel for schedule(static, 1) num_threads(state->threads) default(none)             \
    shared(state, c, x, blocks, threads)
  for (size_t t = 0; t < threads; t++) {
    state->kernels->pack(c, x, blocks * t / threads, blocks * (t + 1) / threads);
  }
}

static tg_status lists_status(const tg_cluster_list* lists, size_t count) {
  for (size_t k = 0; k < count; k++) {
    if (lists[k].status != TG_OK) {
      return tg_fail(lists[k].status,
                     "pair search: no memory for the pair list; use fewer atoms "
                     "per processing element or a smaller list radius");
    }
  }
  return TG_OK;
}

static void forget(tg_omp_state* state) {
  state->pruned = false;
  for (size_t k = 0; k < state->chunk_count; k++) {
    state->outer[k].row_count = state->outer[k].entry_count = 0;
  }
  state->clusters.slot_count = state->clusters.block_count = 0;
  state->entry_count = 0;
  memset(state->tasks, 0, (size_t)state->threads * sizeof *state->tasks);
}

static tg_status search(void* pointer, const tg_nonbonded_atoms* atoms, double list_radius) {
  tg_omp_state* state = pointer;
  tg_clusters* c = &state->clusters;
  tg_status status = TG_OK;
  forget(state);
  TG_TRY_GOTO(tg_clusters_build(c, atoms, state->kernels, state->params.type_count, state->root6,
                                state->root12, state->has_lj, state->threads),
              forget_list);
  TG_TRY_GOTO(reserve_buffers(state), forget_list);
  pack_all(state, atoms->x);
  const tg_cluster_search search_data = {c, atoms->exclusion_start, atoms->exclusion, list_radius};
  const size_t clusters = c->slot_count / TG_CLUSTER_SIZE, chunks = state->chunk_count;
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->threads) default(none)            \
    shared(state, search_data, clusters, chunks)
  for (size_t k = 0; k < chunks; k++) {
    state->kernels->search(&search_data, clusters * k / chunks, clusters * (k + 1) / chunks,
                           &state->outer[k]);
  }
  TG_TRY_GOTO(lists_status(state->outer, chunks), forget_list);
  plan_threads(state);
  return TG_OK;
forget_list:
  forget(state);
  return status;
}

static tg_status prune(void* pointer, const double (*x)[3], double inner_radius) {
  tg_omp_state* state = pointer;
  if (state->clusters.block_count == 0) return TG_OK;
  pack_all(state, x);
  const size_t chunks = state->chunk_count;
#pragma omp parallel for schedule(dynamic, 1) num_threads(state->threads) default(none)            \
    shared(state, inner_radius, chunks)
  for (size_t k = 0; k < chunks; k++) {
    state->kernels->prune(&state->clusters, inner_radius, &state->outer[k], &state->inner[k]);
  }
  const tg_status status = lists_status(state->inner, chunks);
  state->pruned = status == TG_OK;
  plan_threads(state);
  return status;
}

/* The part of thread t in compute: its rows, into its own buffer. */
static void compute_task(tg_omp_state* state, int t, bool want_energy) {
  const tg_clusters* c = &state->clusters;
  const tg_cluster_list* lists = lists_in_use(state);
  const tg_task* task = &state->tasks[t];
  const size_t group_bytes = TG_CLUSTER_GROUP * 3 * (size_t)c->width * c->real_size;
  const size_t bytes = c->slot_count * 3 * c->real_size;
  for (size_t g = 0; g < group_count(c); g++) {
    if (!state->used[t][g]) continue;
    const size_t first = g * group_bytes;
    memset((char*)state->force[t] + first, 0,
           bytes - first < group_bytes ? bytes - first : group_bytes);
  }
  tg_cluster_sums sums = {0};
  for (size_t k = task->first; k <= task->last && k < state->chunk_count; k++) {
    size_t begin, end;
    task_range(task, lists, k, &begin, &end);
    state->kernels->compute(c, &state->constants, &lists[k], begin, end, want_energy,
                            state->force[t], &sums);
  }
  state->sums[t] = sums;
}

static void compute(void* pointer, const double (*x)[3], double (*f)[3],
                    tg_nonbonded_result* result) {
  tg_omp_state* state = pointer;
  const int threads = state->threads;
  const bool want_energy = result->want_energy;
  const size_t groups = group_count(&state->clusters);
  if (groups == 0) return;
  pack_all(state, x);
#pragma omp parallel for schedule(static, 1) num_threads(threads) default(none)                    \
    shared(state, want_energy, threads)
  for (int t = 0; t < threads; t++) compute_task(state, t, want_energy);
#pragma omp parallel for schedule(static) num_threads(threads) default(none)                       \
    shared(state, groups, f, threads)
  for (size_t g = 0; g < groups; g++) {
    state->kernels->collect(&state->clusters, g, threads, state->force, state->used, f);
  }
  result->pairs_in_list = state->entry_count * TG_CLUSTER_SIZE * state->clusters.width;
  if (!want_energy) return;
  static const int axes[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
  for (int t = 0; t < threads; t++) {
    result->lj += state->sums[t].lj;
    result->coulomb += state->sums[t].coulomb;
    for (int k = 0; k < 6; k++) {
      result->virial[axes[k][0]][axes[k][1]] += state->sums[t].virial[k];
    }
  }
  for (int k = 3; k < 6; k++) {
    result->virial[axes[k][1]][axes[k][0]] = result->virial[axes[k][0]][axes[k][1]];
  }
}

static const char* describe(const void* pointer) {
  const tg_omp_state* state = pointer;
  return state->text;
}

const tg_nonbonded_ops tg_nonbonded_omp = {"omp", create,  destroy, search,
                                           prune, compute, describe};
