/* SPDX-License-Identifier: Apache-2.0 */
#include "md/device_atoms.h"

#include <limits.h>
#include <string.h>

#include "base/memory.h"

void tg_device_atoms_free(tg_device_atoms* atoms) {
  TG_FREE(atoms->x);
  TG_FREE(atoms->type);
  TG_FREE(atoms->charge);
  TG_FREE(atoms->exclusion_start);
  TG_FREE(atoms->exclusion);
  memset(atoms, 0, sizeof *atoms);
}

/* One copy of the system, whose first atom is number `first`; *used exclusions are there. */
static void put_copy(const tg_md_system* system, const double shift[3], size_t first, size_t* used,
                     tg_device_atoms* out) {
  for (size_t i = 0; i < system->atom_count; i++) {
    const tg_atom* atom = tg_md_atom(system, i);
    const size_t molecule = (size_t)system->atom_molecule[i];
    const size_t begin = system->molecule_first[molecule];
    const tg_molecule_type* type =
        &system->topology.molecule_types[system->molecule_type[molecule]];
    for (int d = 0; d < 3; d++) out->x[first + i][d] = system->start.x[i][d] + shift[d];
    out->type[first + i] = atom->type;
    out->charge[first + i] = atom->charge;
    out->exclusion_start[first + i] = (int)*used;
    for (int e = type->exclusion_start[i - begin]; e < type->exclusion_start[i - begin + 1]; e++)
      out->exclusion[(*used)++] = (int)(first + begin) + type->exclusion[e];
  }
}

static size_t count_exclusions(const tg_md_system* system) {
  size_t count = 0;
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[m]];
    count += (size_t)type->exclusion_start[type->atom_count];
  }
  return count;
}

tg_status tg_device_atoms_make(const tg_md_system* system, const int copies[3],
                               tg_device_atoms* out) {
  memset(out, 0, sizeof *out);
  const size_t times = (size_t)copies[0] * (size_t)copies[1] * (size_t)copies[2];
  const size_t exclusions = count_exclusions(system) * times;
  out->count = system->atom_count * times;
  if (out->count > INT_MAX || exclusions > INT_MAX)
    return tg_fail(TG_ERR_INPUT, "%zu atoms and %zu exclusions; at most %d of each fit on a GPU",
                   out->count, exclusions, INT_MAX);
  TG_TRY(TG_ALLOCATE(out->count, "positions", &out->x));
  TG_TRY(TG_ALLOCATE(out->count, "atom types", &out->type));
  TG_TRY(TG_ALLOCATE(out->count, "charges", &out->charge));
  TG_TRY(TG_ALLOCATE(out->count + 1, "exclusions", &out->exclusion_start));
  TG_TRY(TG_ALLOCATE(exclusions, "exclusions", &out->exclusion));
  size_t first = 0, used = 0;
  for (int a = 0; a < copies[0]; a++) {
    for (int b = 0; b < copies[1]; b++) {
      for (int c = 0; c < copies[2]; c++) {
        const double shift[3] = {a * system->box[0], b * system->box[1], c * system->box[2]};
        put_copy(system, shift, first, &used, out);
        first += system->atom_count;
      }
    }
  }
  out->exclusion_start[out->count] = (int)used;
  for (int d = 0; d < 3; d++) out->box[d] = copies[d] * system->box[d];
  return TG_OK;
}

void tg_device_atoms_params(const tg_device_atoms* atoms, const tg_md_system* system,
                            tg_device_md_params* out) {
  const tg_parameters* p = &system->parameters;
  memset(out, 0, sizeof *out);
  memcpy(out->box, atoms->box, sizeof out->box);
  out->atom_count = atoms->count;
  out->type = atoms->type;
  out->charge = atoms->charge;
  out->exclusion_start = atoms->exclusion_start;
  out->exclusion = atoms->exclusion;
  out->type_count = (int)system->topology.type_count;
  out->c6 = system->topology.c6;
  out->c12 = system->topology.c12;
  out->cutoff = p->cutoff;
  tg_md_reaction_field(p, &out->rf_k, &out->rf_c, &out->coulomb_scale);
  out->lj_shift = p->vdw_modifier == TG_MODIFIER_POTENTIAL_SHIFT;
  out->coulomb_shift = p->coulomb_modifier == TG_MODIFIER_POTENTIAL_SHIFT;
  out->list_radius = out->inner_radius = p->cutoff;
}
