/* SPDX-License-Identifier: Apache-2.0 */
/* A box of SPC/E water (H. J. C. Berendsen et al., J. Phys. Chem. 91 (1987) 6269): molecules on the
 * sites of a lattice, moved a little and turned at random, so that no two atoms of different
 * molecules come close. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "md/build.h"
#include "md/velocities.h"

static const double water_density = 33.4;                    /* molecules a nm^3, 998 kg/m^3 */
static const double bond = 0.1, hydrogen_distance = 0.16330; /* nm */
static const double jitter = 0.015;                          /* nm, each way */
static const double closest = 0.15; /* nm between atoms of different molecules */
enum { TRIES = 1000 };

static const char water_topology[] =
    "; SPC/E water, complete in itself\n"
    "[ defaults ]\n; nbfunc  comb-rule  gen-pairs  fudgeLJ  fudgeQQ\n  1  3  yes  0.5  0.5\n\n"
    "[ atomtypes ]\n; name  atomic number  mass  charge  particle  sigma (nm)  epsilon (kJ/mol)\n"
    "  OW  8  15.99940  -0.8476  A  3.16557e-01  6.50194e-01\n"
    "  HW  1   1.00800   0.4238  A  0            0\n\n"
    "[ moleculetype ]\n  SOL  2\n\n"
    "[ atoms ]\n  1  OW  1  SOL  OW   1  -0.8476\n  2  HW  1  SOL  HW1  1   0.4238\n"
    "  3  HW  1  SOL  HW2  1   0.4238\n\n"
    "[ settles ]\n  1  1  0.1  0.16330\n\n"
    "[ exclusions ]\n  1  2  3\n  2  1  3\n  3  1  2\n\n"
    "[ system ]\nwater\n\n[ molecules ]\n  SOL  %zu\n";

static const char water_parameters[] =
    "; water with a reaction field\n"
    "integrator         = md\ndt                 = 0.002\nnsteps             = 5000\n"
    "nstlist            = 20\ncoulombtype        = Reaction-Field\nrcoulomb           = %g\n"
    "epsilon-rf         = 0   ; infinity\nvdwtype            = Cut-off\n"
    "rvdw               = %g\n"
    "tcoupl             = v-rescale\ntc-grps            = System\ntau-t              = 0.1\n"
    "ref-t              = %g\nnstenergy          = 100\nnstxout-compressed = 500\n"
    "gen-vel            = yes ; a minimised start has none\n"
    "gen-temp           = %g\ngen-seed           = %llu\n";

static const char minimise_parameters[] =
    "; the lattice relaxes before it is simulated\n"
    "integrator         = steep\nemtol              = 100\nemstep             = 0.01\n"
    "nsteps             = 500\ncoulombtype        = Reaction-Field\nrcoulomb           = %g\n"
    "epsilon-rf         = 0   ; infinity\nvdwtype            = Cut-off\n"
    "rvdw               = %g\n";

/* Sites along each edge: nearly cubic cells, together at least count. */
static void lattice_for(const double edges[3], size_t count, int sites[3]) {
  double spacing = cbrt(edges[0] * edges[1] * edges[2] / (double)count);
  for (int k = 0; k < 3; k++) sites[k] = (int)(edges[k] / spacing);
  while ((size_t)sites[0] * (size_t)sites[1] * (size_t)sites[2] < count) {
    int widest = 0;
    for (int k = 1; k < 3; k++)
      if (edges[k] / sites[k] > edges[widest] / sites[widest]) widest = k;
    sites[widest]++;
  }
}

/* Three atoms: oxygen at origin, hydrogens in a random plane. */
static void place_molecule(tg_rng* rng, const double origin[3], double x[3][3]) {
  double along[3], across[3], length = 0, dot = 0;
  for (int k = 0; k < 3; k++) along[k] = tg_rng_gaussian(rng);
  for (int k = 0; k < 3; k++) across[k] = tg_rng_gaussian(rng);
  for (int k = 0; k < 3; k++) length += along[k] * along[k];
  for (int k = 0; k < 3; k++) along[k] /= sqrt(length);
  for (int k = 0; k < 3; k++) dot += along[k] * across[k];
  length = 0;
  for (int k = 0; k < 3; k++) across[k] -= dot * along[k];
  for (int k = 0; k < 3; k++) length += across[k] * across[k];
  double half = hydrogen_distance / 2, height = sqrt(bond * bond - half * half);
  for (int k = 0; k < 3; k++) {
    double side = across[k] / sqrt(length) * half;
    x[0][k] = origin[k];
    x[1][k] = origin[k] + along[k] * height + side;
    x[2][k] = origin[k] + along[k] * height - side;
  }
}

static double least_distance(const double edges[3], const double a[3][3], const double (*b)[3]) {
  double least = INFINITY;
  for (int i = 0; i < 9; i++) {
    double square = 0;
    for (int k = 0; k < 3; k++) {
      double d = a[i / 3][k] - b[i % 3][k];
      d -= edges[k] * round(d / edges[k]);
      square += d * d;
    }
    if (square < least) least = square;
  }
  return sqrt(least);
}

/* Whether a molecule keeps its distance from those already placed on the 26 sites around. */
static bool is_free(const double edges[3], const int sites[3], const int cell[3],
                    const int* molecule_at, const double (*x)[3], const double trial[3][3]) {
  for (int n = 0; n < 27; n++) {
    const int step[3] = {n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1};
    int c[3];
    for (int k = 0; k < 3; k++) c[k] = (cell[k] + step[k] + sites[k]) % sites[k];
    int other = molecule_at[(c[0] * sites[1] + c[1]) * sites[2] + c[2]];
    if (n != 13 && other > 0 && least_distance(edges, trial, x + 3 * (other - 1)) < closest)
      return false;
  }
  return true;
}

static tg_status fill_box(const double edges[3], size_t count, uint64_t seed, double (*x)[3]) {
  int sites[3], *molecule_at; /* molecule number + 1 of each site */
  lattice_for(edges, count, sites);
  size_t site_count = (size_t)sites[0] * (size_t)sites[1] * (size_t)sites[2];
  TG_TRY(TG_ALLOCATE(site_count, "lattice sites", &molecule_at));
  tg_status status = TG_OK;
  for (size_t m = 0; m < count && status == TG_OK; m++) {
    int site = (int)(m * site_count / count); /* empty sites are spread evenly */
    const int cell[3] = {site / (sites[1] * sites[2]), site / sites[2] % sites[1], site % sites[2]};
    tg_rng rng = tg_rng_stream(seed, TG_RNG_BUILD, m);
    bool found = false;
    for (int t = 0; t < TRIES && !found; t++) {
      double origin[3], trial[3][3];
      for (int k = 0; k < 3; k++)
        origin[k] = (cell[k] + 0.5) * edges[k] / sites[k] + jitter * (2 * tg_rng_uniform(&rng) - 1);
      place_molecule(&rng, origin, trial);
      found = is_free(edges, sites, cell, molecule_at, (const double(*)[3])x,
                      (const double(*)[3])trial);
      if (found) memcpy(x[3 * m], trial, sizeof trial);
    }
    molecule_at[site] = (int)m + 1;
    if (!found)
      status = tg_fail(TG_ERR_NUMERICS,
                       "molecule %zu found no place without overlap in %d tries; try "
                       "another seed or edges",
                       m + 1, TRIES);
  }
  tg_free(molecule_at);
  return status;
}

/* A text in the folder; what is there is kept as a numbered copy. */
static tg_status open_text(const char* folder, const char* name, tg_new_file* file) {
  char path[4096];
  TG_TRY(tg_path_join(folder, name, path, sizeof path));
  TG_TRY(tg_file_keep_copy(path));
  return tg_new_file_open(path, file);
}

static tg_status write_texts(const double edges[3], size_t count, double temperature, uint64_t seed,
                             const char* folder) {
  tg_new_file file;
  double half = fmin(edges[0], fmin(edges[1], edges[2])) / 2;
  double cutoff = half > 1.0 ? 0.9 : floor(8 * half) / 10; /* room for the buffer */
  TG_TRY(open_text(folder, "topol.top", &file));
  fprintf(file.stream, water_topology, count);
  TG_TRY(tg_new_file_commit(&file));
  TG_TRY(open_text(folder, "em.mdp", &file));
  fprintf(file.stream, minimise_parameters, cutoff, cutoff);
  TG_TRY(tg_new_file_commit(&file));
  TG_TRY(open_text(folder, "rf.mdp", &file));
  fprintf(file.stream, water_parameters, cutoff, cutoff, temperature, temperature,
          (unsigned long long)seed);
  return tg_new_file_commit(&file);
}

static tg_status make_configuration(const double edges[3], size_t molecules, uint64_t seed,
                                    tg_configuration* c) {
  static const char names[3][8] = {"OW", "HW1", "HW2"};
  c->count = 3 * molecules;
  TG_TRY(tg_copy_text("SPC/E water", &c->title));
  TG_TRY(TG_ALLOCATE(c->count, "atom names", &c->names));
  TG_TRY(TG_ALLOCATE(c->count, "residue names", &c->residues));
  TG_TRY(TG_ALLOCATE(c->count, "residue numbers", &c->residue_numbers));
  TG_TRY(TG_ALLOCATE(c->count, "positions", &c->x));
  TG_TRY(TG_ALLOCATE(c->count, "velocities", &c->v));
  for (int k = 0; k < 3; k++) c->box[4 * k] = edges[k];
  TG_TRY(fill_box(edges, molecules, seed, c->x));
  for (size_t i = 0; i < c->count; i++) {
    memcpy(c->names[i], names[i % 3], sizeof names[0]);
    memcpy(c->residues[i], "SOL", 4);
    c->residue_numbers[i] = (int)(i / 3) + 1;
  }
  return TG_OK;
}

/* Masses and rigidity come from the topology that has just been written. */
static tg_status draw_velocities(const char* folder, double temperature, uint64_t seed,
                                 tg_configuration* c) {
  char path[4096];
  tg_topology topology;
  static const tg_topology_options plain = {0};
  static const tg_log silent = {NULL, NULL};
  TG_TRY(tg_path_join(folder, "topol.top", path, sizeof path));
  TG_TRY(tg_topology_read(path, &plain, &silent, &topology));
  tg_velocities draw = {.topology = &topology,
                        .copies = 1,
                        .x = (const double(*)[3])c->x,
                        .temperature = temperature,
                        .seed = seed,
                        .v = c->v};
  memcpy(draw.box, c->box, sizeof draw.box);
  tg_velocities_draw(&draw);
  tg_topology_free(&topology);
  return TG_OK;
}

tg_status tg_md_build_water(const double edges[3], double temperature, uint64_t seed,
                            const char* folder) {
  double molecules = round(water_density * edges[0] * edges[1] * edges[2]);
  for (int k = 0; k < 3; k++) {
    if (!(edges[k] >= 1) || !(molecules < 5e8))
      return tg_fail(TG_ERR_INPUT,
                     "a box of %g x %g x %g nm: expected edges of at least 1 nm and fewer "
                     "than 5e8 molecules",
                     edges[0], edges[1], edges[2]);
  }
  if (!(temperature >= 0))
    return tg_fail(TG_ERR_INPUT, "a temperature of %g K: expected 0 or more", temperature);
  char path[4096];
  tg_configuration made = {0};
  tg_status status;
  TG_TRY(tg_folder_make(folder));
  TG_TRY(tg_path_join(folder, "conf.gro", path, sizeof path));
  TG_TRY_GOTO(make_configuration(edges, (size_t)molecules, seed, &made), done);
  TG_TRY_GOTO(write_texts(edges, (size_t)molecules, temperature, seed, folder), done);
  TG_TRY_GOTO(draw_velocities(folder, temperature, seed, &made), done);
  TG_TRY_GOTO(tg_file_keep_copy(path), done);
  status = tg_configuration_save_gro(&made, 3, path);
done:
  tg_configuration_free(&made);
  return status;
}
