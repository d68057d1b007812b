/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces of clusters: from packed positions to forces per slot.
 *
 * For each row of the list (an i-cluster and a periodic shift) the 4 i-atoms stay in registers; for
 * each entry a block of j-atoms is loaded, moved into the i-cluster's frame, and all 4 x width
 * pairs are evaluated; what lies outside the cut-off or is masked is set to zero at the end. With
 * u = 1/r^2 and s = u^3:
 *
 *   force / r = (12 C12 s - 6 C6) s u + q (1/r^3 - 2 k)
 *
 * The loop exists in copies by constant flags: energies wanted; LJ for none, half or all of
 * the i-atoms; LJ parameters as products or from the table; masks needed. Limited by the two vector
 * ports. */
#include <stddef.h>

#include "md/omp/cluster.h"
#include "md/omp/simd/simd.h"
#include "md/omp/simd/variant.h"

enum { REGISTERS = TG_CLUSTER_SIZE / V_ROWS };

/* What stays in registers over a row, or is constant. */
typedef struct tg_row_state {
  vreal x[REGISTERS][3];
  vreal charge[REGISTERS];
  vreal root6[REGISTERS], root12[REGISTERS];
  vindex table_row[REGISTERS];
  vreal force[REGISTERS][3];
  vreal lj, coulomb, virial[6];
  vreal origin[3];
} tg_row_state;

typedef struct tg_kernel_data {
  const real *x, *charge, *root6, *root12, *origin, *table;
  const int32_t* type;
  bool one_origin;
  vreal cutoff2, rf_k, rf_k2, rf_c, edge6;
} tg_kernel_data;

typedef struct tg_flags {
  bool energy, table;
  int lj_registers;
} tg_flags;

static inline __attribute__((always_inline)) void pair_entry(const tg_kernel_data* data,
                                                             tg_row_state* row,
                                                             tg_cluster_entry entry, bool masked,
                                                             tg_flags flags, real* force) {
  const size_t block = (size_t)entry.block;
  const real* xj = data->x + block * 3 * V_WIDTH;
  vreal j[3], back[3];
  for (int d = 0; d < 3; d++) {
    j[d] = v_load_j(xj + d * V_WIDTH);
    if (!data->one_origin) j[d] += v_set(data->origin[block * 4 + (size_t)d]) - row->origin[d];
    back[d] = v_set(0);
  }
  const vreal charge_j = v_load_j(data->charge + block * V_WIDTH);
  vreal root6_j = v_set(0), root12_j = v_set(0);
  vindex type_j = {0};
  if (flags.lj_registers > 0 && !flags.table) {
    root6_j = v_load_j(data->root6 + block * V_WIDTH);
    root12_j = v_load_j(data->root12 + block * V_WIDTH);
  }
  if (flags.lj_registers > 0 && flags.table) type_j = v_index_j(data->type + block * V_WIDTH);
#pragma GCC unroll 4
  for (int n = 0; n < REGISTERS; n++) {
    const vreal x = row->x[n][0] - j[0], y = row->x[n][1] - j[1], z = row->x[n][2] - j[2];
    const vreal r2 = x * x + y * y + z * z;
    vmask inside = v_less(r2, data->cutoff2);
    if (masked) inside = v_mask_bits(inside, entry.mask >> (n * V_LANES));
    const vreal inverse = v_inverse_root(r2);
    const vreal inverse2 = inverse * inverse;
    const vreal qq = row->charge[n] * charge_j;
    vreal scale = qq * (inverse * inverse2 - data->rf_k2);
    if (flags.energy) {
      row->coulomb += v_keep(inside, qq * (inverse + data->rf_k * r2 - data->rf_c));
    }
    if (n < flags.lj_registers) {
      vreal c6, c12;
      if (flags.table) {
        const vindex at = v_index_add(row->table_row[n], type_j);
        c6 = v_gather(data->table, at);
        c12 = v_gather(data->table + 1, at);
      } else {
        c6 = row->root6[n] * root6_j;
        c12 = row->root12[n] * root12_j;
      }
      const vreal inverse6 = inverse2 * inverse2 * inverse2;
      const vreal t12 = c12 * inverse6;
      scale += (t12 - c6) * (inverse6 * inverse2);
      if (flags.energy) {
        const vreal twelfth = v_set((real)(1.0 / 12)), sixth = v_set((real)(1.0 / 6));
        const vreal here = (t12 * twelfth - c6 * sixth) * inverse6;
        const vreal edge = (c12 * data->edge6 * twelfth - c6 * sixth) * data->edge6;
        row->lj += v_keep(inside, here - edge);
      }
    }
    scale = v_keep(inside, scale);
    const vreal fx = scale * x, fy = scale * y, fz = scale * z;
    row->force[n][0] += fx;
    row->force[n][1] += fy;
    row->force[n][2] += fz;
    back[0] += fx;
    back[1] += fy;
    back[2] += fz;
    if (flags.energy) {
      row->virial[0] += fx * x;
      row->virial[1] += fy * y;
      row->virial[2] += fz * z;
      row->virial[3] += fx * y;
      row->virial[4] += fx * z;
      row->virial[5] += fy * z;
    }
  }
  real* fj = force + block * 3 * V_WIDTH;
  for (int d = 0; d < 3; d++) v_subtract_j(fj + d * V_WIDTH, back[d]);
}

static inline __attribute__((always_inline)) void pair_row(const tg_kernel_data* data,
                                                           tg_row_state* state,
                                                           const tg_cluster_list* list,
                                                           const tg_cluster_row* row,
                                                           tg_flags flags, real* force) {
  /* A copy member by member: of the whole structure the compiler makes a copy in memory. */
  tg_row_state local;
#pragma GCC unroll 4
  for (int n = 0; n < REGISTERS; n++) {
    for (int d = 0; d < 3; d++) {
      local.x[n][d] = state->x[n][d];
      local.force[n][d] = v_set(0);
    }
    local.charge[n] = state->charge[n];
    local.root6[n] = state->root6[n];
    local.root12[n] = state->root12[n];
    local.table_row[n] = state->table_row[n];
  }
  for (int d = 0; d < 3; d++) local.origin[d] = state->origin[d];
  local.lj = local.coulomb = v_set(0);
  for (int k = 0; k < 6; k++) local.virial[k] = v_set(0);
  for (uint32_t e = row->begin; e < row->plain; e++) {
    pair_entry(data, &local, list->entries[e], true, flags, force);
  }
  for (uint32_t e = row->plain; e < row->end; e++) {
    pair_entry(data, &local, list->entries[e], false, flags, force);
  }
#pragma GCC unroll 4
  for (int n = 0; n < REGISTERS; n++) {
    for (int d = 0; d < 3; d++) state->force[n][d] = local.force[n][d];
  }
  if (!flags.energy) return;
  state->lj = local.lj;
  state->coulomb = local.coulomb;
  for (int k = 0; k < 6; k++) state->virial[k] = local.virial[k];
}

/* One function per combination of flags, so that each gets the registers to itself. */
#define TG_ROW_FUNCTION(name, energy_flag, table_flag, registers)                                  \
  static void name(const tg_kernel_data* data, tg_row_state* state, const tg_cluster_list* list,   \
                   const tg_cluster_row* row, real* force) {                                       \
    const tg_flags flags = {energy_flag, table_flag, registers};                                   \
    pair_row(data, state, list, row, flags, force);                                                \
  }
TG_ROW_FUNCTION(row_force_none, false, false, 0)
TG_ROW_FUNCTION(row_force_half, false, false, REGISTERS / 2)
TG_ROW_FUNCTION(row_force_full, false, false, REGISTERS)
TG_ROW_FUNCTION(row_force_half_table, false, true, REGISTERS / 2)
TG_ROW_FUNCTION(row_force_full_table, false, true, REGISTERS)
TG_ROW_FUNCTION(row_energy_none, true, false, 0)
TG_ROW_FUNCTION(row_energy_half, true, false, REGISTERS / 2)
TG_ROW_FUNCTION(row_energy_full, true, false, REGISTERS)
TG_ROW_FUNCTION(row_energy_half_table, true, true, REGISTERS / 2)
TG_ROW_FUNCTION(row_energy_full_table, true, true, REGISTERS)

typedef void tg_row_function(const tg_kernel_data*, tg_row_state*, const tg_cluster_list*,
                             const tg_cluster_row*, real*);

static tg_row_function* const ROW_FUNCTIONS[2][2][3] = {
    {{row_force_none, row_force_half, row_force_full},
     {row_force_none, row_force_half_table, row_force_full_table}},
    {{row_energy_none, row_energy_half, row_energy_full},
     {row_energy_none, row_energy_half_table, row_energy_full_table}}};

static void load_row(const tg_clusters* c, const tg_cluster_constants* constants,
                     const tg_kernel_data* data, const tg_cluster_row* row, tg_row_state* state) {
  const size_t first = (size_t)row->cluster * TG_CLUSTER_SIZE;
  const size_t block = first / V_WIDTH, lane = first % V_WIDTH;
  for (int d = 0; d < 3; d++) {
    real origin;
    const real rest = TG_VARIANT_NAME(tg_cluster_shift)(c, block, row->shift[d], d, &origin);
    real x[TG_CLUSTER_SIZE];
    TG_VARIANT_NAME(tg_cluster_load)(c, block, lane, d, rest, x);
    state->origin[d] = v_set(origin);
    for (int n = 0; n < REGISTERS; n++) state->x[n][d] = v_rows(x + n * V_ROWS);
  }
  real charge[TG_CLUSTER_SIZE];
  int32_t table_row[TG_CLUSTER_SIZE];
  for (size_t k = 0; k < TG_CLUSTER_SIZE; k++) {
    charge[k] = (real)constants->coulomb_scale * data->charge[first + k];
    table_row[k] = 2 * (constants->type_count + 1) * data->type[first + k];
  }
  for (int n = 0; n < REGISTERS; n++) {
    state->charge[n] = v_rows(charge + n * V_ROWS);
    state->root6[n] = v_rows(data->root6 + first + n * V_ROWS);
    state->root12[n] = v_rows(data->root12 + first + n * V_ROWS);
    state->table_row[n] = v_index_rows(table_row + n * V_ROWS);
  }
}

static void store_row(const tg_row_state* state, const tg_cluster_row* row, bool want_energy,
                      real* force, tg_cluster_sums* sums) {
  const size_t first = (size_t)row->cluster * TG_CLUSTER_SIZE;
  real* f = force + first / V_WIDTH * 3 * V_WIDTH + first % V_WIDTH;
  for (int d = 0; d < 3; d++) {
    vreal sum[REGISTERS];
    for (int n = 0; n < REGISTERS; n++) sum[n] = state->force[n][d];
    v_add_cluster(f + d * V_WIDTH, sum);
  }
  if (!want_energy) return;
  sums->lj += (double)v_sum(state->lj);
  sums->coulomb += (double)v_sum(state->coulomb);
  for (int k = 0; k < 6; k++) sums->virial[k] -= 0.5 * (double)v_sum(state->virial[k]);
}

static void compute(const tg_clusters* c, const tg_cluster_constants* constants,
                    const tg_cluster_list* list, size_t begin, size_t end, bool want_energy,
                    void* force, tg_cluster_sums* sums) {
  const tg_kernel_data data = {
      .x = c->x,
      .charge = c->charge,
      .root6 = c->root6,
      .root12 = c->root12,
      .origin = c->origin,
      .table = constants->table,
      .type = c->type,
      .one_origin = c->one_origin,
      .cutoff2 = v_set((real)(constants->cutoff * constants->cutoff)),
      .rf_k = v_set((real)constants->rf_k),
      .rf_k2 = v_set((real)(2 * constants->rf_k)),
      .rf_c = v_set((real)constants->rf_c),
      .edge6 = v_set((real)constants->lj_edge6),
  };
  for (size_t r = begin; r < end; r++) {
    const tg_cluster_row* row = &list->rows[r];
    const int lj = row->lj_count == 0 ? 0 : row->lj_count <= TG_CLUSTER_SIZE / 2 ? 1 : 2;
    tg_row_state state;
    load_row(c, constants, &data, row, &state);
    ROW_FUNCTIONS[want_energy][!constants->geometric][lj](&data, &state, list, row, force);
    store_row(&state, row, want_energy, force, sums);
  }
}

static void pack(tg_clusters* c, const double (*x)[3], size_t begin, size_t end) {
  real* out = c->x;
  for (size_t block = begin; block < end; block++) {
    for (size_t k = 0; k < V_WIDTH; k++) {
      const size_t slot = block * V_WIDTH + k;
      const int atom = c->atom[slot];
      if (atom < 0) break;
      for (size_t d = 0; d < 3; d++) {
        out[(block * 3 + d) * V_WIDTH + k] = (real)(x[atom][d] + c->base[slot][d]);
      }
    }
  }
}

static void collect(const tg_clusters* c, size_t group, int threads, void* const* force,
                    uint8_t* const* used, double (*f)[3]) {
  const size_t first = group * TG_CLUSTER_GROUP;
  size_t last = first + TG_CLUSTER_GROUP;
  if (last > c->block_count) last = c->block_count;
  for (size_t block = first; block < last; block++) {
    double sum[3][V_WIDTH] = {{0}};
    for (int t = 0; t < threads; t++) {
      if (!used[t][group]) continue;
      const real* mine = (const real*)force[t] + block * 3 * V_WIDTH;
      for (int d = 0; d < 3; d++) {
        for (int k = 0; k < V_WIDTH; k++) sum[d][k] += (double)mine[d * V_WIDTH + k];
      }
    }
    for (size_t k = 0; k < V_WIDTH; k++) {
      const int atom = c->atom[block * V_WIDTH + k];
      if (atom < 0) break;
      for (int d = 0; d < 3; d++) f[atom][d] += sum[d][k];
    }
  }
}

static bool runs_here(void) {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("fma");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

const tg_cluster_kernels TG_VARIANT_NAME(tg_cluster_kernels) = {
    .text = "omp: " TG_ISA_TEXT ", " TG_REAL_TEXT,
    .width = V_WIDTH,
    .real_size = sizeof(real),
    .column_factor = V_WIDTH == 8 ? 1.78 : 1.59, /* cube root of sqrt(4 width) */
    .runs_here = runs_here,
    .pack = pack,
    .search = TG_VARIANT_NAME(tg_cluster_search),
    .prune = TG_VARIANT_NAME(tg_cluster_prune),
    .compute = compute,
    .collect = collect,
};
