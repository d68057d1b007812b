/* SPDX-License-Identifier: Apache-2.0 */
/* Pair forces on the GPU against the reference backend: energies, virial, the number of pairs and
 * the force on every atom; the same bits again, and whatever the order of the atoms.
 *
 * No test framework: it runs on machines that have none. Prints what failed and "N passed, M
 * failed"; without a GPU it says so and exits 77 (skipped). Argument: "quick" for a part that is
 * short enough for compute-sanitizer. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>
#include <vector>

#include "device/device.h"
#include "halo/gpu_check.cuh"
#include "md/device_md.h"
extern "C" {
#include "md/device_atoms.h"
#include "md/nonbonded.h"
#include "md/system.h"
}

/* Atoms with what the test knows of them. */
typedef struct scene {
  double box[3];
  std::vector<double> x; /* [3 n] */
  std::vector<int> type;
  std::vector<double> charge;
  std::vector<int> exclusion_start, exclusion;
  int types;
  std::vector<double> c6, c12;
  double cutoff, list_radius, inner_radius;
} scene;

static size_t count_of(const scene* s) { return s->type.size(); }

static const int64_t NOT_COUNTED = -1; /* in place of pairs */

/* What both sides compute. */
typedef struct answer {
  std::vector<double> f;
  tg_device_md_energies e;
} answer;

static tg_device_md_params params_of(const scene* s) {
  tg_device_md_params p;
  memset(&p, 0, sizeof p);
  memcpy(p.box, s->box, sizeof p.box);
  p.atom_count = count_of(s);
  p.type = s->type.data();
  p.charge = s->charge.data();
  p.exclusion_start = s->exclusion_start.data();
  p.exclusion = s->exclusion.data();
  p.type_count = s->types;
  p.c6 = s->c6.data();
  p.c12 = s->c12.data();
  p.cutoff = s->cutoff;
  p.rf_k = 1 / (2 * pow(s->cutoff, 3));
  p.rf_c = 1.5 / s->cutoff;
  p.coulomb_scale = 138.935457644;
  p.lj_shift = p.coulomb_shift = true;
  p.list_radius = s->list_radius;
  p.inner_radius = s->inner_radius;
  return p;
}

/* By another backend, double precision; `ref` costs the square of the number of atoms. */
static bool expected(const scene* s, const char* backend, const std::vector<double>& x,
                     answer* out) {
  const tg_device_md_params d = params_of(s);
  tg_nonbonded_params p;
  memset(&p, 0, sizeof p);
  p.cutoff = d.cutoff;
  p.rf_k = d.rf_k;
  p.rf_c = d.rf_c;
  p.coulomb_scale = d.coulomb_scale;
  p.lj_shift = p.coulomb_shift = true;
  p.type_count = d.type_count;
  p.c6 = d.c6;
  p.c12 = d.c12;
  p.backend = backend;
  p.threads = 8;
  std::vector<int> global(count_of(s));
  for (size_t i = 0; i < global.size(); i++) global[i] = (int)i;
  tg_nonbonded_atoms atoms;
  memset(&atoms, 0, sizeof atoms);
  atoms.home_count = atoms.local_count = count_of(s);
  atoms.x = (const vector3*)x.data();
  atoms.type = d.type;
  atoms.charge = d.charge;
  atoms.global = global.data();
  atoms.exclusion_start = d.exclusion_start;
  atoms.exclusion = d.exclusion;
  for (int i = 0; i < 3; i++) {
    atoms.box[i] = s->box[i];
    atoms.periodic[i] = true;
  }
  tg_nonbonded* nonbonded = NULL;
  tg_nonbonded_result result;
  memset(&result, 0, sizeof result);
  result.want_energy = true;
  out->f.assign(x.size(), 0);
  RUN(tg_nonbonded_create(&p, &nonbonded));
  RUN(tg_nonbonded_search(nonbonded, &atoms, d.cutoff));
  tg_nonbonded_compute(nonbonded, (const vector3*)x.data(), (vector3*)out->f.data(), &result);
  tg_nonbonded_destroy(&nonbonded);
  out->e.lj = result.lj;
  out->e.coulomb = result.coulomb;
  out->e.pairs = strcmp(backend, "ref") == 0 ? result.pairs_in_list : NOT_COUNTED;
  memcpy(out->e.virial, result.virial, sizeof out->e.virial);
  return true;
}

/* Searched and pruned at s->x, computed at x. */
static bool on_gpu(const scene* s, const std::vector<double>& x, answer* out) {
  const tg_device_md_params p = params_of(s);
  tg_device_md* md = NULL;
  out->f.assign(x.size(), NAN);
  RUN(tg_device_md_create(&p, &md));
  RUN(tg_device_md_set_positions(md, (const vector3*)s->x.data()));
  RUN(tg_device_md_search(md));
  RUN(tg_device_md_prune(md));
  RUN(tg_device_md_set_positions(md, (const vector3*)x.data()));
  RUN(tg_device_md_forces(md, true));
  RUN(tg_device_md_get_forces(md, (vector3*)out->f.data(), &out->e));
  std::vector<double> plain(x.size(), NAN);
  RUN(tg_device_md_forces(md, false));
  RUN(tg_device_md_get_forces(md, (vector3*)plain.data(), NULL));
  double most = 0, largest = 0;
  for (size_t i = 0; i < plain.size(); i++) {
    most = fmax(most, fabs(plain[i] - out->f[i]));
    largest = fmax(largest, fabs(plain[i]));
  }
  tg_device_md_destroy(&md);
  /* the sums are compiled twice, so their terms may be rounded otherwise: each float by 1.2e-7 of
   * the largest pair force on its atom, some ten times the net force, and a few of them add up */
  EXPECT(most <= 4 / 4096. + 5e-6 * largest);
  return true;
}

/* A float's distances are good to 6e-8 nm; the steepest force, r^-13 at 0.15 nm and more, makes
 * that 13 x 6e-8 / 0.15, 5e-6 of a pair's force, and an atom's net force may be ten times smaller
 * than its largest pair's: 5e-5, of which sums over many pairs show less. Energies: the same once,
 * and the cancellation of Coulomb's terms. */
static bool compare(const answer* a, const answer* b) {
  const double tolerance = 1e-5;
  double error2 = 0, force2 = 0, worst = 0, sum[3] = {0, 0, 0};
  for (size_t i = 0; i < a->f.size(); i++) {
    const double d = a->f[i] - b->f[i];
    error2 += d * d;
    force2 += b->f[i] * b->f[i];
    worst = fmax(worst, fabs(d));
    sum[i % 3] += a->f[i];
  }
  const double rms = sqrt(force2 / (double)a->f.size());
  const double virial = a->e.virial[0][0] + a->e.virial[1][1] + a->e.virial[2][2];
  const double wanted = b->e.virial[0][0] + b->e.virial[1][1] + b->e.virial[2][2];
  printf("    forces: rms %.1f, error %.2e of it, worst %.2e; sum %.2g %.2g %.2g\n", rms,
         sqrt(error2 / force2), worst / rms, sum[0], sum[1], sum[2]);
  printf("    LJ %.4f (%.4f), Coulomb %.4f (%.4f), virial %.4f (%.4f), pairs %lld (%lld)\n",
         a->e.lj, b->e.lj, a->e.coulomb, b->e.coulomb, virial, wanted, (long long)a->e.pairs,
         (long long)b->e.pairs);
  EXPECT(sqrt(error2) <= tolerance * sqrt(force2));
  /* 6e-8 nm at the cut-off: of pairs N some N x 3 x 6e-8 / 0.9 may fall on the other side */
  EXPECT(b->e.pairs == NOT_COUNTED || llabs(a->e.pairs - b->e.pairs) <= 1 + 1e-6 * b->e.pairs);
  EXPECT(fabs(a->e.lj - b->e.lj) <= 1e-5 * fabs(b->e.lj));
  EXPECT(fabs(a->e.coulomb - b->e.coulomb) <= 1e-5 * fabs(b->e.coulomb));
  for (int i = 0; i < 9; i++)
    EXPECT(fabs(a->e.virial[i / 3][i % 3] - b->e.virial[i / 3][i % 3]) <= 1e-5 * fabs(wanted) + 1);
  return true;
}

/* The ethanol in water that throng's examples have, copied. */
static bool load(const int copies[3], scene* s) {
  const std::string folder = TG_SOURCE_DIR "/examples/ethanol-water/";
  const std::string c = folder + "conf.gro", p = folder + "topol.top", f = folder + "rf.mdp";
  tg_md_files files;
  memset(&files, 0, sizeof files);
  files.configuration = c.c_str();
  files.topology = p.c_str();
  files.parameters = f.c_str();
  files.chance_seed = 1;
  tg_log log;
  memset(&log, 0, sizeof log);
  tg_md_system* system = NULL;
  tg_device_atoms atoms;
  RUN(tg_md_system_read(&files, &log, &system));
  RUN(tg_device_atoms_make(system, copies, &atoms));
  memcpy(s->box, atoms.box, sizeof s->box);
  s->x.assign(&atoms.x[0][0], &atoms.x[0][0] + 3 * atoms.count);
  s->type.assign(atoms.type, atoms.type + atoms.count);
  s->charge.assign(atoms.charge, atoms.charge + atoms.count);
  s->exclusion_start.assign(atoms.exclusion_start, atoms.exclusion_start + atoms.count + 1);
  s->exclusion.assign(atoms.exclusion, atoms.exclusion + atoms.exclusion_start[atoms.count]);
  s->types = (int)system->topology.type_count;
  const size_t pairs = (size_t)s->types * s->types;
  s->c6.assign(system->topology.c6, system->topology.c6 + pairs);
  s->c12.assign(system->topology.c12, system->topology.c12 + pairs);
  s->cutoff = system->parameters.cutoff;
  s->list_radius = 1.05;
  s->inner_radius = 0.95;
  tg_device_atoms_free(&atoms);
  tg_md_system_destroy(&system);
  return true;
}

static bool ethanol_in_water() {
  scene s;
  answer gpu, ref;
  const int one[3] = {1, 1, 1};
  if (!load(one, &s)) return false;
  return expected(&s, "ref", s.x, &ref) && on_gpu(&s, s.x, &gpu) && compare(&gpu, &ref);
}

/* Each atom may go half the buffer of the inner list. */
static bool atoms_that_moved() {
  scene s;
  answer gpu, ref;
  const int one[3] = {1, 1, 1};
  if (!load(one, &s)) return false;
  std::vector<double> x = s.x;
  for (size_t i = 0; i < x.size(); i++) x[i] += 0.028 / sqrt(3.0) * (uniform(i, 7) - 0.5);
  return expected(&s, "ref", x, &ref) && on_gpu(&s, x, &gpu) && compare(&gpu, &ref);
}

static bool eight_copies() {
  scene s;
  answer gpu, ref;
  const int two[3] = {2, 2, 2};
  if (!load(two, &s)) return false;
  return expected(&s, "omp", s.x, &ref) && on_gpu(&s, s.x, &gpu) && compare(&gpu, &ref);
}

/* The same atoms under other numbers give the same bits. */
static bool any_order_gives_the_same() {
  scene s, t;
  answer first, again, other;
  const int one[3] = {1, 1, 1};
  if (!load(one, &s)) return false;
  /* off the grid of the file's three decimals: equal heights would go by the numbers of atoms */
  for (size_t i = 0; i < s.x.size(); i++) s.x[i] += 0.001 * (uniform(i, 5) - 0.5);
  t = s;
  const size_t n = count_of(&s);
  std::vector<size_t> to(n), from(n);
  for (size_t i = 0; i < n; i++) from[i] = i;
  for (size_t i = n - 1; i > 0; i--)
    std::swap(from[i], from[(size_t)(uniform(i, 3) * (double)(i + 1))]);
  for (size_t i = 0; i < n; i++) to[from[i]] = i;
  t.exclusion.clear();
  for (size_t i = 0; i < n; i++) {
    const size_t j = from[i];
    t.type[i] = s.type[j];
    t.charge[i] = s.charge[j];
    for (int d = 0; d < 3; d++) t.x[3 * i + d] = s.x[3 * j + d];
    t.exclusion_start[i] = (int)t.exclusion.size();
    for (int e = s.exclusion_start[j]; e < s.exclusion_start[j + 1]; e++)
      t.exclusion.push_back((int)to[s.exclusion[e]]);
  }
  if (!on_gpu(&s, s.x, &first) || !on_gpu(&s, s.x, &again) || !on_gpu(&t, t.x, &other))
    return false;
  EXPECT(memcmp(first.f.data(), again.f.data(), 3 * n * sizeof(double)) == 0);
  EXPECT(memcmp(&first.e, &again.e, sizeof first.e) == 0);
  size_t differ = 0;
  for (size_t i = 0; i < 3 * n; i++) differ += other.f[i] != first.f[3 * from[i / 3] + i % 3];
  printf("    %zu forces differ\n", differ);
  EXPECT(differ == 0);
  EXPECT(other.e.lj == first.e.lj && other.e.coulomb == first.e.coulomb);
  return true;
}

/* Atoms of all types on random sites of a lattice, some crowded into a corner, some places empty;
 * boxes of unequal edges; exclusions among neighbours in number. */
static bool random_atoms(size_t n, double x, double y, double z, bool crowded, uint64_t seed) {
  scene s;
  answer gpu, ref;
  const double box[3] = {x, y, z};
  memcpy(s.box, box, sizeof box);
  s.types = 5;
  s.cutoff = 0.9;
  s.list_radius = 1.0;
  s.inner_radius = 0.93;
  const double c6[5] = {0.0026, 0, 0.0047, 0.0012, 0}, c12[5] = {2.6e-6, 0, 5.1e-6, 0.9e-6, 0.5e-6};
  for (int i = 0; i < 25; i++) {
    const double odd = i / 5 == i % 5 ? 1 : 1.07;
    s.c6.push_back(odd * sqrt(c6[i / 5] * c6[i % 5]));
    s.c12.push_back(odd * sqrt(c12[i / 5] * c12[i % 5]));
  }
  size_t sites[3], total = 1;
  for (int d = 0; d < 3; d++) total *= sites[d] = (size_t)(box[d] / 0.26);
  std::vector<char> taken(total, 0);
  for (size_t i = 0; i < n; i++) {
    size_t cell[3], site, tries = 0;
    do {
      for (int d = 0; d < 3; d++) {
        double u = uniform(seed + i, 10 * tries + d);
        if (crowded) u = u * u * u;
        cell[d] = (size_t)(u * (double)sites[d]);
      }
      site = (cell[0] * sites[1] + cell[1]) * sites[2] + cell[2];
      tries++;
    } while (taken[site]);
    taken[site] = 1;
    for (int d = 0; d < 3; d++) {
      const double u = uniform(seed + i, 1000003 + d), step = box[d] / (double)sites[d];
      s.x.push_back(step * ((double)cell[d] + 0.5 + 0.3 * (u - 0.5)) +
                    box[d] * (floor(3 * uniform(seed + i, 2000003 + d)) - 1));
    }
    s.type.push_back((int)(5 * uniform(seed + i, 3000001)));
    s.charge.push_back(2 * uniform(seed + i, 3000002) - 1);
    s.exclusion_start.push_back((int)s.exclusion.size());
    for (int step = -2; step <= 2; step++) {
      const long j = (long)i + step;
      if (step != 0 && j >= 0 && j < (long)n && (i + (size_t)j) % 3 != 0)
        s.exclusion.push_back((int)j);
    }
  }
  s.exclusion_start.push_back((int)s.exclusion.size());
  return expected(&s, "ref", s.x, &ref) && on_gpu(&s, s.x, &gpu) && compare(&gpu, &ref);
}

/* Small boxes and crowded places are told, not computed wrongly. */
static bool what_does_not_fit_is_refused() {
  scene s;
  const int one[3] = {1, 1, 1};
  if (!load(one, &s)) return false;
  tg_device_md* md = NULL;
  tg_device_md_params p = params_of(&s);
  p.list_radius = 2;
  EXPECT(tg_device_md_create(&p, &md) == TG_ERR_INPUT && md == NULL);
  EXPECT(strstr(tg_last_error(), "more than twice the list radius") != NULL);
  p.list_radius = 1.8; /* clusters have an extent, too */
  RUN(tg_device_md_create(&p, &md));
  RUN(tg_device_md_set_positions(md, (const vector3*)s.x.data()));
  RUN(tg_device_md_search(md));
  EXPECT(tg_device_md_get_forces(md, NULL, NULL) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "half of it") != NULL);
  tg_device_md_destroy(&md);
  /* all atoms in a 27th of the box: far denser than a liquid */
  p.list_radius = 1.05;
  std::vector<double> x = s.x;
  for (size_t i = 0; i < x.size(); i++)
    x[i] = (x[i] / s.box[i % 3] - floor(x[i] / s.box[i % 3])) * s.box[i % 3] / 3;
  RUN(tg_device_md_create(&p, &md));
  RUN(tg_device_md_set_positions(md, (const vector3*)x.data()));
  RUN(tg_device_md_search(md));
  EXPECT(tg_device_md_get_forces(md, NULL, NULL) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "outgrown its room") != NULL);
  tg_device_md_destroy(&md);
  return true;
}

static void run_quick() {
  report(random_atoms(1500, 4.1, 3.1, 5.2, false, 1), "random atoms");
  report(random_atoms(40, 6.1, 5.2, 4.3, false, 3), "few atoms");
}

static void run_all() {
  report(ethanol_in_water(), "ethanol in water");
  report(random_atoms(3000, 4.1, 3.1, 5.2, false, 1), "random atoms");
  report(random_atoms(3000, 6.1, 7.2, 9.3, true, 2), "a crowded corner");
  report(random_atoms(40, 6.1, 5.2, 4.3, false, 3), "few atoms");
  report(random_atoms(1, 6.1, 5.2, 4.3, false, 4), "one atom");
  report(atoms_that_moved(), "atoms that moved");
  report(eight_copies(), "eight copies");
  report(any_order_gives_the_same(), "any order gives the same");
  report(what_does_not_fit_is_refused(), "what does not fit is refused");
}

int main(int argc, char** argv) {
  if (tg_device_count() == 0) {
    printf("skipped: %s\n", tg_device_reason());
    return 77;
  }
  if (argc > 1 && strcmp(argv[1], "quick") == 0)
    run_quick();
  else
    run_all();
  printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
