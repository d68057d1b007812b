/* SPDX-License-Identifier: Apache-2.0 */
/* The work of all bonded kinds, shared out over threads.
 *
 * Thread t takes the same fraction of every list. The first thread adds to the caller's forces; the
 * others to arrays of their own, of which they clear and hand back only blocks of atoms that their
 * interactions touch: lists follow the order of atoms, so a thread touches about its share. The
 * arrays are added in the order of the threads, which makes the sum the same on every run. */
#include "md/bonded.h"

#include <string.h>

#include "base/memory.h"
#include "md/bonded_internal.h"

enum { BLOCK_ATOMS = 64 };

typedef struct kind {
  tg_bonded_kernel* kernel;
  int atoms;
} kind;

static const kind kinds[TG_INTERACTION_KINDS] = {
    [TG_BOND] = {tg_bonded_bonds, 2},
    [TG_ANGLE] = {tg_bonded_angles, 3},
    [TG_DIHEDRAL_PROPER] = {tg_bonded_propers, 4},
    [TG_DIHEDRAL_RYCKAERT] = {tg_bonded_ryckaert, 4},
    [TG_DIHEDRAL_IMPROPER] = {tg_bonded_impropers, 4},
    [TG_DIHEDRAL_IMPROPER_PERIODIC] = {tg_bonded_impropers_periodic, 4},
    [TG_PAIR_14] = {tg_bonded_pairs, 2},
    [TG_POSITION_RESTRAINT] = {tg_bonded_restraints, 1},
};

static size_t share(size_t count, int part, int parts) {
  return count * (size_t)part / (size_t)parts;
}

static void mark(const int* atoms, size_t first, size_t last, unsigned char* touched) {
  for (size_t i = first; i < last; i++) touched[atoms[i] / BLOCK_ATOMS] = 1;
}

/* Finds the blocks that a thread's interactions touch, and clears its forces there. */
static void prepare(const tg_bonded* bonded, int part, int parts, size_t local_count,
                    unsigned char* touched, double (*f)[3]) {
  size_t blocks = (local_count + BLOCK_ATOMS - 1) / BLOCK_ATOMS;
  memset(touched, 0, blocks);
  for (int k = 0; k < TG_INTERACTION_KINDS; k++) {
    size_t n = bonded->lists[k].count, width = (size_t)kinds[k].atoms;
    mark(bonded->lists[k].atoms, share(n, part, parts) * width, share(n, part + 1, parts) * width,
         touched);
  }
  mark(bonded->excluded, share(bonded->excluded_count, part, parts) * 2,
       share(bonded->excluded_count, part + 1, parts) * 2, touched);
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * BLOCK_ATOMS;
    size_t last = first + BLOCK_ATOMS < local_count ? first + BLOCK_ATOMS : local_count;
    if (touched[b]) memset(f[first], 0, (last - first) * sizeof *f);
  }
}

static void compute_share(const tg_bonded_input* in, int part, int parts, tg_bonded_sum* sum) {
  for (int k = 0; k < TG_INTERACTION_KINDS; k++) {
    size_t n = in->bonded->lists[k].count;
    if (n > 0 && kinds[k].kernel)
      kinds[k].kernel(in, share(n, part, parts), share(n, part + 1, parts), sum);
  }
  size_t n = in->bonded->excluded_count;
  tg_bonded_excluded(in, share(n, part, parts), share(n, part + 1, parts), sum);
}

static void add_energies(const tg_bonded_sum* sum, tg_energies* energies) {
  for (int t = 0; t < TG_E_POTENTIAL_TERMS; t++) energies->term[t] += sum->term[t];
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) energies->virial[a][b] += sum->virial[a][b];
}

static void gather(const tg_bonded* bonded, int threads, size_t local_count, double (*f)[3]) {
  size_t blocks = (local_count + BLOCK_ATOMS - 1) / BLOCK_ATOMS;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (size_t b = 0; b < blocks; b++) {
    size_t first = b * BLOCK_ATOMS;
    size_t last = first + BLOCK_ATOMS < local_count ? first + BLOCK_ATOMS : local_count;
    for (int t = 1; t < threads; t++) {
      if (!bonded->thread_touched[(size_t)(t - 1) * blocks + b]) continue;
      const double(*part)[3] =
          (const double(*)[3])(bonded->thread_force + (size_t)(t - 1) * local_count);
      for (size_t i = first; i < last; i++)
        for (int d = 0; d < 3; d++) f[i][d] += part[i][d];
    }
  }
}

tg_status tg_bonded_compute(tg_bonded* bonded, const tg_bonded_environment* environment,
                            size_t local_count, const double (*x)[3], double (*f)[3],
                            int want_energy, tg_energies* energies) {
  int threads = environment->threads > 1 ? environment->threads : 1;
  size_t blocks = (local_count + BLOCK_ATOMS - 1) / BLOCK_ATOMS, others = (size_t)threads - 1;
  TG_TRY(TG_RESERVE(others * local_count, "bonded forces of threads", &bonded->thread_force,
                    &bonded->thread_force_capacity));
  TG_TRY(TG_RESERVE(others * blocks, "bonded blocks of threads", &bonded->thread_touched,
                    &bonded->thread_touched_capacity));
  tg_bonded_input in = {.bonded = bonded, .environment = environment, .x = x};
  for (int d = 0; d < 3; d++) {
    in.box[d] = environment->box[d];
    in.inverse_box[d] = in.box[d] > 0 ? 1 / in.box[d] : 0;
  }
  if (threads == 1) {
    tg_bonded_sum sum = {.f = f, .want_energy = want_energy};
    compute_share(&in, 0, 1, &sum);
    if (want_energy) add_energies(&sum, energies);
    return TG_OK;
  }
#pragma omp parallel for ordered num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; t++) {
    tg_bonded_sum sum = {.f = f, .want_energy = want_energy};
    if (t > 0) {
      sum.f = bonded->thread_force + (size_t)(t - 1) * local_count;
      prepare(bonded, t, threads, local_count, bonded->thread_touched + (size_t)(t - 1) * blocks,
              sum.f);
    }
    compute_share(&in, t, threads, &sum);
#pragma omp ordered
    if (want_energy) add_energies(&sum, energies);
  }
  gather(bonded, threads, local_count, f);
  return TG_OK;
}

void tg_bonded_free(tg_bonded* bonded) {
  if (!bonded) return;
  for (int k = 0; k < TG_INTERACTION_KINDS; k++) {
    tg_free(bonded->lists[k].atoms);
    tg_free((void*)bonded->lists[k].parameters);
  }
  tg_free(bonded->excluded);
  tg_free(bonded->thread_force);
  tg_free(bonded->thread_touched);
  memset(bonded, 0, sizeof *bonded);
}
