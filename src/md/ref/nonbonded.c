/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces, the specification: serial, double precision, nothing shared with the fast backend.
 *
 *   V(r) = C12/r^12 - C6/r^6 - V_LJ(r_c) + f q_i q_j (1/r + k r^2 - c)          r < r_c
 *   F_i  = (12 C12/r^14 - 6 C6/r^8 + f q_i q_j (1/r^3 - 2 k)) (x_i - x_j)
 *   virial = -1/2 sum (x_i - x_j) (outer) F_i over pairs
 *
 * The list holds each pair (i < j) once; filter, scan and fill over all pairs make it, which costs
 * N^2 and cannot miss one. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "md/nonbonded_backend.h"
#include "motif/motif.h"
#include "motif/ref/filter.h"

typedef struct tg_ref_state {
  tg_nonbonded_params params;
  double box[3];
  bool periodic[3];
  size_t atom_count;
  int* type;
  double* charge;
  uint32_t* counts;
  uint64_t* start; /* [atom_count + 1] */
  uint32_t* partner;
} tg_ref_state;

/* What decides whether a pair is in the list. */
typedef struct tg_ref_search {
  const tg_nonbonded_atoms* atoms;
  double radius2;
} tg_ref_search;

static void difference(const double box[3], const bool periodic[3], const double a[3],
                       const double b[3], double out[3]) {
  for (int d = 0; d < 3; d++) {
    out[d] = a[d] - b[d];
    if (periodic[d]) out[d] -= box[d] * rint(out[d] / box[d]);
  }
}

static inline size_t first_partner(const tg_ref_search* search, size_t i) {
  (void)search;
  return i + 1;
}

static inline size_t last_partner(const tg_ref_search* search, size_t i) {
  (void)i;
  return search->atoms->local_count;
}

static inline bool in_list(const tg_ref_search* search, size_t i, size_t j) {
  const tg_nonbonded_atoms* atoms = search->atoms;
  double r2 = 0;
  for (int d = 0; d < 3; d++) { /* most pairs are far in the first dimension already */
    double r = atoms->x[i][d] - atoms->x[j][d];
    if (atoms->periodic[d]) r -= atoms->box[d] * rint(r / atoms->box[d]);
    r2 += r * r;
    if (!(r2 < search->radius2)) return false;
  }
  for (int d = 0; d < 3 && atoms->offset != NULL; d++) {
    if (atoms->offset[i][d] != 0 && atoms->offset[j][d] != 0) return false;
  }
  if (atoms->exclusion_start == NULL) return true;
  for (int e = atoms->exclusion_start[i]; e < atoms->exclusion_start[i + 1]; e++) {
    if ((size_t)atoms->exclusion[e] == j) return false;
  }
  return true;
}

TG_REF_FILTER(pairs, tg_ref_search, first_partner, last_partner, in_list)

static void forget_list(tg_ref_state* state) {
  TG_FREE(state->type);
  TG_FREE(state->charge);
  TG_FREE(state->counts);
  TG_FREE(state->start);
  TG_FREE(state->partner);
  state->atom_count = 0;
}

static void destroy(void* pointer) {
  tg_ref_state* state = pointer;
  if (state == NULL) return;
  forget_list(state);
  TG_FREE(state);
}

static tg_status create(const tg_nonbonded_params* params, void** out) {
  tg_ref_state* state = NULL;
  TG_TRY(TG_ALLOCATE(1, "pair forces", &state));
  state->params = *params;
  *out = state;
  return TG_OK;
}

static tg_status search(void* pointer, const tg_nonbonded_atoms* atoms, double list_radius) {
  tg_ref_state* state = pointer;
  const size_t n = atoms->local_count;
  forget_list(state);
  memcpy(state->box, atoms->box, sizeof state->box);
  memcpy(state->periodic, atoms->periodic, sizeof state->periodic);
  TG_TRY(TG_ALLOCATE(n, "atom types", &state->type));
  TG_TRY(TG_ALLOCATE(n, "charges", &state->charge));
  TG_TRY(TG_ALLOCATE(n, "partner counts", &state->counts));
  TG_TRY(TG_ALLOCATE(n + 1, "pair list offsets", &state->start));
  if (n > 0) {
    memcpy(state->type, atoms->type, n * sizeof *state->type);
    memcpy(state->charge, atoms->charge, n * sizeof *state->charge);
  }
  const tg_ref_search context = {atoms, list_radius * list_radius};
  const tg_motif_ops* motif = tg_motif_backend("ref");
  pairs_filter(&context, n, state->counts, 1);
  motif->scan32(n, state->counts, state->start, 1);
  TG_TRY(TG_ALLOCATE(state->start[n], "the pair list", &state->partner));
  pairs_fill(&context, n, state->start, state->partner, 1);
  state->atom_count = n;
  return TG_OK;
}

/* The list is exact and kept as it is: pruning changes the cost, never the result. */
static tg_status prune(void* pointer, const double (*x)[3], double inner_radius) {
  (void)pointer;
  (void)x;
  (void)inner_radius;
  return TG_OK;
}

static void add_pair(const tg_ref_state* state, size_t i, size_t j, const double (*x)[3],
                     double (*f)[3], tg_nonbonded_result* result) {
  const tg_nonbonded_params* p = &state->params;
  double r[3];
  difference(state->box, state->periodic, x[i], x[j], r);
  const double r2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
  if (!(r2 < p->cutoff * p->cutoff)) return;
  const double c6 = p->c6[state->type[i] * p->type_count + state->type[j]];
  const double c12 = p->c12[state->type[i] * p->type_count + state->type[j]];
  const double qq = p->coulomb_scale * state->charge[i] * state->charge[j];
  const double inverse = 1 / sqrt(r2), inverse2 = 1 / r2;
  const double inverse6 = inverse2 * inverse2 * inverse2;
  const double scale = (12 * c12 * inverse6 - 6 * c6) * inverse6 * inverse2 +
                       qq * (inverse * inverse2 - 2 * p->rf_k);
  for (int d = 0; d < 3; d++) {
    f[i][d] += scale * r[d];
    f[j][d] -= scale * r[d];
  }
  if (!result->want_energy) return;
  result->lj += (c12 * inverse6 - c6) * inverse6;
  if (p->lj_shift) {
    const double edge6 = 1 / pow(p->cutoff, 6);
    result->lj -= (c12 * edge6 - c6) * edge6;
  }
  result->coulomb += qq * (inverse + p->rf_k * r2 - (p->coulomb_shift ? p->rf_c : 0));
  for (int a = 0; a < 3; a++) {
    for (int b = 0; b < 3; b++) result->virial[a][b] -= 0.5 * scale * r[a] * r[b];
  }
}

static void compute(void* pointer, const double (*x)[3], double (*f)[3],
                    tg_nonbonded_result* result) {
  tg_ref_state* state = pointer;
  for (size_t i = 0; i < state->atom_count; i++) {
    for (uint64_t e = state->start[i]; e < state->start[i + 1]; e++) {
      add_pair(state, i, state->partner[e], x, f, result);
    }
  }
  result->pairs_in_list = state->start != NULL ? (int64_t)state->start[state->atom_count] : 0;
}

static const char* describe(const void* state) {
  (void)state;
  return "ref: serial, double";
}

const tg_nonbonded_ops tg_nonbonded_ref = {"ref", create,  destroy, search,
                                           prune, compute, describe};
