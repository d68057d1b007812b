/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/ci_job.h"
#include "cli/cli.h"

typedef struct fields {
  tg_cli_ci_options options;
  bool json;
} fields;

static const tg_cli_option options[] = {
    TG_CLI_CI_OPTIONS(fields),
    {"json", 0, TG_CLI_FLAG, offsetof(fields, json), NULL, "print JSON", false},
    {NULL, 0, TG_CLI_FLAG, 0, NULL, NULL, false},
};

/* ---- what was read ---- */

/* The single-particle energy of an orbit, all parts together; *per_hw: its part that goes with hw.
 */
static double orbit_energy(const tg_ci_model* model, int orbit, double* per_hw) {
  double fixed = 0;
  *per_hw = 0;
  for (size_t i = 0; i < model->part_count; i++) {
    const tg_ci_one_element* e = tg_ci_couplings_one(&model->parts[i].couplings, orbit, orbit);
    fixed += e ? e->value.fixed : 0;
    *per_hw += e ? e->value.per_hw : 0;
  }
  return fixed;
}

static void print_facts(const tg_ci_facts* f, bool nucleus) {
  printf("%s: %s", f->path, tg_ci_format_name(f->format));
  if (f->one_body || f->two_body[0] || f->two_body[1] || f->two_body[2])
    printf(", %zu one-body elements, %zu %s, %zu %s, %zu %s", f->one_body, f->two_body[0],
           nucleus ? "pp" : "aa", f->two_body[1], nucleus ? "nn" : "bb", f->two_body[2],
           nucleus ? "pn" : "ab");
  printf(", %zu orbit%s\n", f->orbits, nucleus ? "s" : "als");
  if (f->scaling.on)
    printf("  two-body elements times (%g/A)^%g\n", f->scaling.mass, f->scaling.power);
  if (f->duplicates)
    printf("  %zu elements more than once, differing by %.1e at most\n", f->duplicates,
           f->duplicate_mismatch);
  if (f->zeros) printf("  %zu zero elements of states that cannot be: left out\n", f->zeros);
  if (f->ignored) printf("  %zu lines are of no use here\n", f->ignored);
}

static void print_model(const tg_ci_input* input) {
  const tg_ci_model* model = &input->model;
  if (model->core_mass > 0 && model->core_protons >= 0)
    printf("core: %d protons, %d neutrons\n", model->core_protons, model->core_neutrons);
  else if (model->core_mass >= 0)
    printf(model->core_mass > 0 ? "core: mass %g\n" : "no core\n", model->core_mass);
  else
    printf("core: the inputs do not say\n");
  if (model->hw > 0) printf("oscillator energy: %g MeV\n", model->hw);
  if (input->isospin_breaking < 0)
    printf("isospin: protons and neutrons have different orbits\n");
  else if (input->isospin_breaking < 1e-12)
    printf("isospin: a symmetry\n");
  else
    printf("isospin: broken by %.3g MeV at most\n", input->isospin_breaking);
  printf("\n orbit      2n+l weight   energy/MeV\n");
  for (size_t i = 0; i < model->shells.count; i++) {
    const tg_ci_shell* shell = &model->shells.shell[i];
    double per_hw;
    const double fixed = orbit_energy(model, (int)i, &per_hw);
    printf(" %-10s %4d %6d %12.5f", shell->name, 2 * shell->n + shell->l, shell->weight, fixed);
    if (per_hw != 0) printf(" + %.5f hw (A-1)/A", per_hw);
    putchar('\n');
  }
}

static void print_integrals(const tg_ci_integrals* g) {
  printf("%zu orbitals, %s; %d electrons, 2Sz = %d, constant %.9f Ha\n", g->orbitals,
         g->unrestricted ? "unrestricted" : "restricted", g->electrons, g->two_sz, g->core);
  if (!g->symmetry) printf("no point-group symmetry is used\n");
  int count[8] = {0};
  for (size_t i = 0; g->symmetry && i < g->orbitals; i++) count[g->label[i] & 7]++;
  if (g->symmetry) printf("orbitals of each irrep:");
  for (int i = 0; g->symmetry && i < 8; i++)
    if (count[i]) printf("  %d: %d", i + 1, count[i]);
  if (g->symmetry) putchar('\n');
  if (g->symmetry_violation > 0)
    printf("largest integral that ORBSYM forbids: %.1e Ha\n", g->symmetry_violation);
}

/* ---- the space ---- */

static uint64_t states_of(const tg_ci_problem* p, int two_m, unsigned symmetry) {
  for (size_t i = 0; i < p->dimension_count; i++)
    if (p->dimensions[i].two_m == two_m && p->dimensions[i].symmetry == symmetry)
      return p->dimensions[i].states;
  return 0;
}

static void print_count(uint64_t states) {
  if (states == UINT64_MAX)
    printf(" %20s", "2^64 or more");
  else
    printf(" %20llu", (unsigned long long)states);
}

/* M from 0 up (-M has as many states), a column for each symmetry. */
static void print_dimensions(const tg_ci_problem* p) {
  unsigned seen = 0;
  int most = 0;
  for (size_t i = 0; i < p->dimension_count; i++) {
    seen |= 1u << p->dimensions[i].symmetry;
    if (p->dimensions[i].two_m > most) most = p->dimensions[i].two_m;
  }
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  printf("\nstates\n%s", nucleus ? "   2M" : "     ");
  for (unsigned s = 0; s < 8; s++) {
    char words[64];
    tg_cli_ci_symmetry(p, s, words, sizeof words);
    if (seen >> s & 1) printf(" %20s", words);
  }
  putchar('\n');
  for (int two_m = nucleus ? (p->particles[0] + p->particles[1]) % 2 : 0; two_m <= most;
       two_m += 2) {
    if (nucleus)
      printf(" %4d", two_m);
    else
      printf("     ");
    for (unsigned s = 0; s < 8; s++)
      if (seen >> s & 1) print_count(states_of(p, two_m, s));
    putchar('\n');
  }
}

/* How PEs would share the states. */
static void print_split(const tg_ci_distribution* d) {
  for (int pe = 0; pe < d->pe_count; pe++)
    printf("  PE %d: %llu states, %.0f matrix elements\n", pe,
           (unsigned long long)(d->first[pe + 1] - d->first[pe]), d->elements[pe]);
  if (d->pe_count) printf("  imbalance %.2f %%\n", 100 * tg_ci_distribution_imbalance(d));
}

/* What solve would take, or why it would end before it begins. */
static tg_status estimate(const tg_cli_ci_job* job, size_t sector, tg_ci_need* out) {
  tg_ci_solve_params solve = job->solve;
  TG_TRY(tg_cli_ci_share_memory(&solve));
  return tg_ci_solve_estimate(&job->problem, &solve, sector, out);
}

static void print_need(const tg_cli_ci_job* job, size_t sector) {
  const tg_ci_problem* p = &job->problem;
  tg_ci_need n;
  char words[64];
  tg_cli_ci_symmetry(p, p->sectors[sector], words, sizeof words);
  printf("%s at %s = %d: ", words, p->kind == TG_CI_NUCLEUS ? "2M" : "2Sz", p->two_m);
  if (estimate(job, sector, &n) != TG_OK) {
    printf("%s\n", tg_last_error());
    return;
  }
  if (n.gpu.used) {
    char gpu[256], storage[256];
    tg_cli_ci_describe_gpu(&n, gpu, sizeof gpu);
    tg_cli_ci_describe_storage(&n, storage, sizeof storage);
    printf("%llu matrix elements, %s; %d lowest levels take about %.4g MB%s\n  %s\n",
           (unsigned long long)n.facts.pairs, tg_ci_storage_words(n.facts.storage), n.states,
           1e-6 * (double)n.peak, n.gpu.host ? "" : " of the host", gpu);
    if (*storage) printf("  %s\n", storage);
    tg_ci_distribution_free(&n.split);
    return;
  }
  printf(
      "%llu matrix elements, %s; %d lowest levels take about %.4g MB, and about %.2g s on an "
      "idle machine\n",
      (unsigned long long)n.facts.pairs, tg_ci_storage_words(n.facts.storage), n.states,
      1e-6 * (double)n.peak, fmax(n.seconds, 0.01));
  print_split(&n.split);
  tg_ci_distribution_free(&n.split);
}

static void print(const tg_cli_ci_job* job) {
  const tg_ci_input* input = &job->input;
  const bool nucleus = input->kind == TG_CI_NUCLEUS;
  for (size_t i = 0; i < input->fact_count; i++) print_facts(&input->facts[i], nucleus);
  if (nucleus)
    print_model(input);
  else
    print_integrals(&input->integrals);
  if (job->asked) {
    char words[256];
    tg_cli_ci_describe(&job->problem, words, sizeof words);
    printf("\n%s\n", words);
    for (size_t i = 0; i < job->problem.notes.count; i++)
      printf("  %s\n", job->problem.notes.line[i]);
    print_dimensions(&job->problem);
    putchar('\n');
    for (size_t s = 0; s < job->problem.sector_count; s++) print_need(job, s);
  } else {
    printf("\nWith --protons and --neutrons, the states of each M and parity are counted.\n");
  }
  for (size_t i = 0; i < input->notes.count; i++) printf("Note: %s\n", input->notes.line[i]);
}

/* ---- JSON ---- */

static void json_facts(const tg_ci_facts* f, tg_json* json) {
  tg_json_open_object(json, NULL);
  tg_json_text(json, "path", f->path);
  tg_json_int(json, "orbits", (long long)f->orbits);
  tg_json_int(json, "one_body", (long long)f->one_body);
  tg_json_open_array(json, "two_body");
  for (int k = 0; k < TG_CI_PAIR_KINDS; k++) tg_json_int(json, NULL, (long long)f->two_body[k]);
  tg_json_close_array(json);
  if (f->scaling.on) {
    tg_json_double(json, "scale_mass", f->scaling.mass);
    tg_json_double(json, "scale_power", f->scaling.power);
  }
  tg_json_int(json, "duplicates", (long long)f->duplicates);
  tg_json_double(json, "duplicate_mismatch", f->duplicate_mismatch);
  tg_json_int(json, "zeros_left_out", (long long)f->zeros);
  tg_json_int(json, "lines_not_used", (long long)f->ignored);
  tg_json_close_object(json);
}

static void json_model(const tg_ci_input* input, tg_json* json) {
  const tg_ci_model* model = &input->model;
  if (model->core_mass >= 0) tg_json_double(json, "core_mass", model->core_mass);
  tg_json_double(json, "isospin_breaking_MeV", input->isospin_breaking);
  tg_json_open_array(json, "orbits");
  for (size_t i = 0; i < model->shells.count; i++) {
    double per_hw;
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", model->shells.shell[i].name);
    tg_json_int(json, "weight", model->shells.shell[i].weight);
    tg_json_double(json, "energy_MeV", orbit_energy(model, (int)i, &per_hw));
    tg_json_double(json, "energy_per_hw", per_hw);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void json_split(const tg_ci_distribution* d, tg_json* json) {
  if (!d->pe_count) return;
  tg_json_open_array(json, "processing_elements");
  for (int pe = 0; pe < d->pe_count; pe++) {
    tg_json_open_object(json, NULL);
    tg_json_int(json, "states", (long long)(d->first[pe + 1] - d->first[pe]));
    tg_json_double(json, "elements", d->elements[pe]);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
  tg_json_double(json, "imbalance", tg_ci_distribution_imbalance(d));
}

static void json_space(const tg_cli_ci_job* job, tg_json* json) {
  const tg_ci_problem* p = &job->problem;
  tg_json_open_array(json, "dimensions");
  for (size_t i = 0; i < p->dimension_count; i++) {
    const tg_ci_dimension* d = &p->dimensions[i];
    tg_json_open_object(json, NULL);
    if (p->kind == TG_CI_NUCLEUS) tg_json_int(json, "two_m", d->two_m);
    tg_cli_ci_json_symmetry(p, d->symmetry, json);
    /* beyond 2^53 many readers keep doubles only, so a double it is */
    tg_json_double(json, "states", d->states == UINT64_MAX ? INFINITY : (double)d->states);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
  tg_json_open_array(json, "sectors");
  for (size_t s = 0; s < p->sector_count; s++) {
    tg_ci_need n;
    tg_json_open_object(json, NULL);
    tg_cli_ci_json_symmetry(p, p->sectors[s], json);
    if (estimate(job, s, &n) != TG_OK) {
      tg_json_text(json, "impossible", tg_last_error());
    } else {
      tg_json_int(json, "dimension", (long long)n.facts.dimension);
      tg_json_int(json, "pairs", (long long)n.facts.pairs);
      tg_json_text(json, "storage", tg_ci_storage_name(n.facts.storage));
      tg_json_int(json, "states", n.states);
      tg_json_double(json, "peak_bytes_estimated", (double)n.peak);
      if (n.gpu.used)
        tg_cli_ci_json_gpu(&n, json);
      else
        tg_json_double(json, "seconds_estimated", n.seconds);
      json_split(&n.split, json);
      tg_ci_distribution_free(&n.split);
    }
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void print_json(const tg_cli_ci_job* job) {
  tg_json json = tg_json_on(stdout, true);
  tg_json_open_object(&json, NULL);
  tg_cli_ci_json_problem(job, &json);
  tg_json_open_array(&json, "facts");
  for (size_t i = 0; i < job->input.fact_count; i++) json_facts(&job->input.facts[i], &json);
  tg_json_close_array(&json);
  if (job->input.kind == TG_CI_NUCLEUS) json_model(&job->input, &json);
  if (job->input.kind == TG_CI_MOLECULE) {
    const tg_ci_integrals* g = &job->input.integrals;
    tg_json_int(&json, "orbitals", (long long)g->orbitals);
    tg_json_bool(&json, "unrestricted", g->unrestricted);
    tg_json_bool(&json, "point_group_used", g->symmetry);
    tg_json_double(&json, "symmetry_violation_Ha", g->symmetry_violation);
    tg_json_double(&json, "constant_Ha", g->core);
  }
  if (job->asked) json_space(job, &json);
  tg_json_open_array(&json, "notes");
  for (size_t i = 0; i < job->input.notes.count; i++)
    tg_json_text(&json, NULL, job->input.notes.line[i]);
  tg_json_close_array(&json);
  tg_json_close_object(&json);
}

static tg_status run(int argc, char** argv) {
  fields f = {.options = tg_cli_ci_defaults()};
  static tg_cli_ci_job job;
  TG_TRY(tg_cli_options_parse(options, argc, argv, &f, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  TG_TRY(tg_cli_ci_open(&f.options, false, &job));
  if (f.json)
    print_json(&job);
  else
    print(&job);
  tg_cli_ci_close(&job);
  return TG_OK;
}

static const tg_cli_example examples[] = {
    {"throng ci check -i usdb", "orbits and energies of an interaction"},
    {"throng ci check -i usdb --protons 6 --neutrons 6",
     "and 28Si: states of each M, matrix elements, memory and time that ci solve would take"},
    {NULL, NULL},
};

const tg_cli_verb tg_cli_ci_check_verb = {
    .name = "ci check",
    .summary = "shows what inputs hold, and what solving would take",
    .usage = "-i FILE ... [--protons N --neutrons N | --electrons N] [options]",
    .text =
        "Reads the inputs of ci solve and shows what was understood: format, orbits, elements, "
        "scaling, how far isospin or point-group symmetry is broken. With numbers of particles it "
        "counts the states of each M and parity (irrep) and estimates matrix elements, memory and "
        "time; times are for as many threads on an idle Xeon of 2023, with --backend cuda for an "
        "H200.",
    .options = options,
    .examples = examples,
    .run = run,
};
