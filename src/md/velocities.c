/* SPDX-License-Identifier: Apache-2.0 */
/* Velocities at the start (gen-vel): Maxwell's distribution, each atom from its own random stream,
 * so that they do not depend on anything but the seed. */
#include <math.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/units.h"
#include "md/system_parts.h"

static void stop_centre_of_mass(tg_md_system* system) {
  double momentum[3] = {0}, mass = 0;
  for (size_t i = 0; i < system->atom_count; i++) {
    double m = tg_md_atom(system, i)->mass;
    mass += m;
    for (int d = 0; d < 3; d++) momentum[d] += m * system->start.v[i][d];
  }
  for (size_t i = 0; i < system->atom_count; i++)
    for (int d = 0; d < 3; d++) system->start.v[i][d] -= momentum[d] / mass;
}

/* Takes from two atoms their relative velocity along the line between them, keeping the momentum.
 * Returns what it was, nm/ps. */
static double stop_along(tg_md_system* system, size_t i, size_t j) {
  double r[3], square = 0, along = 0;
  double* v = system->start.v[i];
  double* w = system->start.v[j];
  for (int d = 0; d < 3; d++) {
    r[d] = system->start.x[i][d] - system->start.x[j][d];
    r[d] -= system->box[d] * round(r[d] / system->box[d]); /* molecules may be cut by the box */
    square += r[d] * r[d];
    along += r[d] * (v[d] - w[d]);
  }
  if (square == 0) return 0;
  double a = 1 / tg_md_atom(system, i)->mass, b = 1 / tg_md_atom(system, j)->mass;
  for (int d = 0; d < 3; d++) {
    double change = along / square / (a + b) * r[d];
    v[d] -= a * change;
    w[d] += b * change;
  }
  return fabs(along) / sqrt(square);
}

static double sweep_molecule(tg_md_system* system, const tg_molecule_type* type, size_t first) {
  double worst = 0;
  const tg_interactions* constraints = &type->interactions[TG_CONSTRAINT];
  for (size_t c = 0; c < constraints->count; c++) {
    const int* atoms = constraints->items[c].atoms;
    worst = fmax(worst, stop_along(system, first + (size_t)atoms[0], first + (size_t)atoms[1]));
  }
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t s = 0; s < settles->count; s++)
    for (int k = 0; k < 3; k++) {
      const int* atoms = settles->items[s].atoms;
      worst = fmax(
          worst, stop_along(system, first + (size_t)atoms[k], first + (size_t)atoms[(k + 1) % 3]));
    }
  return worst;
}

/* Removes the motion along constraints one after the other until none is left (Gauss-Seidel: each
 * sweep is a projection that shortens what remains). */
static void stop_constraints(tg_md_system* system) {
  enum { MOST_SWEEPS = 1000 };
  const double small = 1e-12; /* nm/ps; thermal velocities are about 1 */
  for (size_t m = 0; m < system->molecule_count; m++) {
    const tg_molecule_type* type = &system->topology.molecule_types[system->molecule_type[m]];
    for (int sweep = 0; sweep < MOST_SWEEPS; sweep++)
      if (sweep_molecule(system, type, system->molecule_first[m]) < small) break;
  }
}

tg_status tg_md_draw_velocities(tg_md_system* system) {
  const tg_parameters* p = &system->parameters;
  tg_configuration* start = &system->start;
  if (!start->v) TG_TRY(TG_ALLOCATE(start->count, "velocities", &start->v));
  for (size_t i = 0; i < system->atom_count; i++) {
    tg_rng rng = tg_rng_stream((uint64_t)p->gen_seed, TG_RNG_VELOCITIES, i);
    double width = sqrt(TG_BOLTZMANN * p->gen_temp / tg_md_atom(system, i)->mass);
    for (int d = 0; d < 3; d++) start->v[i][d] = width * tg_rng_gaussian(&rng);
  }
  stop_constraints(system);
  stop_centre_of_mass(system);
  double twice_kinetic = 0;
  for (size_t i = 0; i < system->atom_count; i++)
    for (int d = 0; d < 3; d++)
      twice_kinetic += tg_md_atom(system, i)->mass * start->v[i][d] * start->v[i][d];
  if (!(twice_kinetic > 0)) return TG_OK; /* gen-temp = 0, or a single atom */
  double wanted = system->total_degrees_of_freedom * TG_BOLTZMANN * p->gen_temp;
  double scale = sqrt(wanted / twice_kinetic);
  for (size_t i = 0; i < system->atom_count; i++)
    for (int d = 0; d < 3; d++) start->v[i][d] *= scale;
  return TG_OK;
}
