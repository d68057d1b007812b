/* SPDX-License-Identifier: Apache-2.0 */
/* Velocities at the start (gen-vel, md build): Maxwell's distribution, each atom from its own
 * random stream, so that they do not depend on anything but the seed. */
#include "md/velocities.h"

#include <math.h>

#include "base/rng.h"
#include "base/units.h"

/* Walks all molecules in file order: type of each, number of its first atom. */
typedef void visit_molecule(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                            void* context);

static void for_each_molecule(const tg_velocities* draw, visit_molecule* visit, void* context) {
  size_t first = 0;
  for (size_t b = 0; b < draw->topology->block_count; b++) {
    const tg_molecule_block* block = &draw->topology->blocks[b];
    const tg_molecule_type* type = &draw->topology->molecule_types[block->molecule_type];
    for (int m = 0; m < block->count * draw->copies; m++, first += type->atom_count)
      visit(draw, type, first, context);
  }
}

static void draw_molecule(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                          void* context) {
  (void)context;
  for (size_t a = 0; a < type->atom_count; a++) {
    tg_rng rng = tg_rng_stream(draw->seed, TG_RNG_VELOCITIES, first + a);
    double mass = type->atoms[a].mass;
    double width = mass > 0 ? sqrt(TG_BOLTZMANN * draw->temperature / mass) : 0;
    for (int d = 0; d < 3; d++) draw->v[first + a][d] = width * tg_rng_gaussian(&rng);
  }
}

typedef struct sums {
  double momentum[3], mass, twice_kinetic;
} sums;

static void add_molecule(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                         void* context) {
  sums* all = context;
  for (size_t a = 0; a < type->atom_count; a++) {
    double mass = type->atoms[a].mass;
    const double* v = draw->v[first + a];
    all->mass += mass;
    for (int d = 0; d < 3; d++) {
      all->momentum[d] += mass * v[d];
      all->twice_kinetic += mass * v[d] * v[d];
    }
  }
}

static sums add_up(const tg_velocities* draw) {
  sums all = {0};
  for_each_molecule(draw, add_molecule, &all);
  return all;
}

/* Takes from two atoms their relative velocity along the line between them, keeping the momentum.
 * Returns what it was, nm/ps. */
static double stop_along(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                         const int atoms[2]) {
  double r[3], square = 0, along = 0;
  const double *x = draw->x[first + (size_t)atoms[0]], *y = draw->x[first + (size_t)atoms[1]];
  double *v = draw->v[first + (size_t)atoms[0]], *w = draw->v[first + (size_t)atoms[1]];
  const double* box = draw->box;
  for (int d = 0; d < 3; d++) r[d] = x[d] - y[d];
  for (int k = 2; k >= 0; k--) { /* molecules may be cut by the box */
    double images = box[4 * k] > 0 ? round(r[k] / box[4 * k]) : 0;
    for (int d = 0; d <= k; d++) r[d] -= box[3 * k + d] * images;
  }
  for (int d = 0; d < 3; d++) {
    square += r[d] * r[d];
    along += r[d] * (v[d] - w[d]);
  }
  double m = type->atoms[atoms[0]].mass, n = type->atoms[atoms[1]].mass;
  if (square == 0 || !(m > 0) || !(n > 0)) return 0;
  double a = 1 / m, b = 1 / n;
  for (int d = 0; d < 3; d++) {
    double change = along / square / (a + b) * r[d];
    v[d] -= a * change;
    w[d] += b * change;
  }
  return fabs(along) / sqrt(square);
}

static double sweep(const tg_velocities* draw, const tg_molecule_type* type, size_t first) {
  double worst = 0;
  const tg_interactions* constraints = &type->interactions[TG_CONSTRAINT];
  for (size_t c = 0; c < constraints->count; c++)
    worst = fmax(worst, stop_along(draw, type, first, constraints->items[c].atoms));
  const tg_interactions* settles = &type->interactions[TG_SETTLE];
  for (size_t s = 0; s < settles->count; s++)
    for (int k = 0; k < 3; k++) {
      const int* atoms = settles->items[s].atoms;
      const int pair[2] = {atoms[k], atoms[(k + 1) % 3]};
      worst = fmax(worst, stop_along(draw, type, first, pair));
    }
  return worst;
}

/* Removes the motion along constraints one after the other until none is left (Gauss-Seidel: each
 * sweep is a projection that shortens what remains). */
static void stop_constraints(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                             void* context) {
  (void)context;
  enum { MOST_SWEEPS = 1000 };
  const double small = 1e-12; /* nm/ps; thermal velocities are about 1 */
  for (int i = 0; i < MOST_SWEEPS; i++)
    if (sweep(draw, type, first) < small) break;
}

typedef struct change {
  double shift[3], scale;
} change;

static void change_molecule(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                            void* context) {
  const change* c = context;
  for (size_t a = 0; a < type->atom_count; a++)
    for (int d = 0; d < 3; d++)
      draw->v[first + a][d] = c->scale * (draw->v[first + a][d] - c->shift[d]);
}

static void count_freedom(const tg_velocities* draw, const tg_molecule_type* type, size_t first,
                          void* context) {
  (void)draw;
  (void)first;
  double* degrees = context;
  for (size_t a = 0; a < type->atom_count; a++) *degrees += type->atoms[a].mass > 0 ? 3 : 0;
  *degrees -= (double)type->interactions[TG_CONSTRAINT].count;
  *degrees -= 3 * (double)type->interactions[TG_SETTLE].count;
}

void tg_velocities_draw(const tg_velocities* draw) {
  for_each_molecule(draw, draw_molecule, NULL);
  for_each_molecule(draw, stop_constraints, NULL);
  sums all = add_up(draw);
  change still = {.scale = 1};
  for (int d = 0; d < 3 && all.mass > 0; d++) still.shift[d] = all.momentum[d] / all.mass;
  for_each_molecule(draw, change_molecule, &still);
  all = add_up(draw);
  if (!(all.twice_kinetic > 0)) return; /* 0 K, or a single atom */
  double degrees = draw->degrees_of_freedom;
  if (!(degrees > 0)) {
    degrees = -3;
    for_each_molecule(draw, count_freedom, &degrees);
  }
  if (!(degrees > 0)) return;
  change warm = {.scale = sqrt(degrees * TG_BOLTZMANN * draw->temperature / all.twice_kinetic)};
  for_each_molecule(draw, change_molecule, &warm);
}
