/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_pairs.h"

#include <string.h>

#include "base/memory.h"
#include "md/device_atoms.h"
#include "md/device_md.h"

/* Of rows, in units of what a liquid needs: a start may have dense places. */
static const double row_room = 4;

struct tg_device_pairs {
  tg_device_atoms atoms;
  tg_device_md* md;
  double (*x)[3]; /* [atom_count] by global number, as the GPU has them */
  double (*f)[3];
  bool listed;
};

tg_status tg_device_pairs_create(const tg_md_system* system, double list_radius,
                                 tg_device_pairs** out) {
  const int once[3] = {1, 1, 1};
  tg_device_pairs* p = NULL;
  tg_device_md_params params;
  TG_TRY(TG_ALLOCATE(1, "pair forces on a GPU", &p));
  tg_status status = tg_device_atoms_make(system, once, &p->atoms);
  if (status == TG_OK) {
    tg_device_atoms_params(&p->atoms, system, &params);
    params.list_radius = params.inner_radius = list_radius;
    params.row_room = row_room;
    status = tg_device_md_create(&params, &p->md);
  }
  if (status == TG_OK) status = TG_ALLOCATE(system->atom_count, "positions", &p->x);
  if (status == TG_OK) status = TG_ALLOCATE(system->atom_count, "forces", &p->f);
  if (status != TG_OK) {
    tg_device_pairs_destroy(&p);
    return status;
  }
  *out = p;
  return TG_OK;
}

void tg_device_pairs_destroy(tg_device_pairs** pairs) {
  tg_device_pairs* p = *pairs;
  if (!p) return;
  tg_device_md_destroy(&p->md);
  tg_device_atoms_free(&p->atoms);
  tg_free(p->x);
  tg_free(p->f);
  tg_free(p);
  *pairs = NULL;
}

void tg_device_pairs_renew(tg_device_pairs* p) { p->listed = false; }

tg_status tg_device_pairs_compute(void* context, tg_domain* domain, tg_nonbonded_result* result) {
  tg_device_pairs* p = context;
  tg_device_md_energies energies;
  const size_t count = domain->home_count;
  if (count != p->atoms.count)
    return tg_fail(TG_ERR_INTERNAL, "%zu of %zu atoms are at home", count, p->atoms.count);
  for (size_t i = 0; i < count; i++)
    memcpy(p->x[domain->global[i]], domain->x[i], sizeof domain->x[i]);
  TG_TRY(tg_device_md_set_positions(p->md, (const double(*)[3])p->x));
  if (!p->listed) {
    TG_TRY(tg_device_md_search(p->md));
    TG_TRY(tg_device_md_prune(p->md));
    p->listed = true;
  }
  TG_TRY(tg_device_md_forces(p->md, true));
  TG_TRY(tg_device_md_get_forces(p->md, p->f, &energies));
  for (size_t i = 0; i < count; i++)
    for (int d = 0; d < 3; d++) domain->f[i][d] += p->f[domain->global[i]][d];
  result->lj = energies.lj;
  result->coulomb = energies.coulomb;
  memcpy(result->virial, energies.virial, sizeof result->virial);
  result->pairs_in_list = energies.pairs;
  return TG_OK;
}
