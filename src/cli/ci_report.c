/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ci_report.h"

#include <math.h>

enum { LABEL_SIZE = 16 };

/* "2", "5/2"; "1.37" where levels share states; "?" where it is not known. Returns false for the
 * second. */
static bool write_half(double squared, char* out) {
  const int twice = tg_ci_twice(squared);
  if (isnan(squared)) {
    snprintf(out, LABEL_SIZE, "?");
  } else if (twice < 0) {
    snprintf(out, LABEL_SIZE, "%.2f", 0.5 * (sqrt(fmax(1 + 4 * squared, 0)) - 1));
    return false;
  } else {
    snprintf(out, LABEL_SIZE, twice % 2 ? "%d/2" : "%d", twice % 2 ? twice : twice / 2);
  }
  return true;
}

double tg_cli_ci_complete_to(const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum,
                             size_t* sector) {
  const uint64_t* all = job->problem.levels; /* NULL: not counted */
  const size_t count = spectrum->level_count;
  double least = INFINITY;
  *sector = 0;
  for (size_t s = 0; all && s < spectrum->sector_count; s++) {
    double last = -INFINITY;
    if ((uint64_t)spectrum->sectors[s].result.states >= all[s]) continue;
    for (size_t i = 0; i < count; i++)
      if (spectrum->levels[i].sector == s) last = fmax(last, spectrum->levels[i].energy);
    if (last >= least) continue;
    least = last;
    *sector = s;
  }
  return count && least < spectrum->levels[count - 1].energy ? least : INFINITY;
}

/* ---- for people ---- */

/* How several PEs share a sector's rows, and what of their exchange was not hidden. */
static void print_shares(FILE* out, const tg_ci_sector* s) {
  double most = 0, sum = 0, exposed = 0, product = 0;
  for (int p = 0; p < s->pe_count; p++) {
    const tg_ci_share_facts* share = &s->shares[p];
    sum += share->elements;
    most = fmax(most, share->elements);
    exposed = fmax(exposed, share->exchange.exposed_s);
    product = fmax(product, share->product_s);
    fprintf(out, "  PE %d: %llu states, %.0f matrix elements; reads %llu states of others\n", p,
            (unsigned long long)share->rows, share->elements,
            (unsigned long long)share->exchange.needed);
  }
  if (s->pe_count)
    fprintf(out, "  imbalance %.2f %%; %.2f s in products, of which %.2f s %s\n",
            sum > 0 ? 100 * (most * s->pe_count / sum - 1) : 0, product, exposed,
            s->need.gpu.used ? "exchanging vectors" : "waiting for others");
}

static void print_head(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum) {
  const tg_ci_problem* p = &job->problem;
  char words[256], symmetry[64];
  tg_cli_ci_describe(p, words, sizeof words);
  fprintf(out, "%s; %s = %d", words, p->kind == TG_CI_NUCLEUS ? "2M" : "2Sz", p->two_m);
  if (p->label[TG_CI_LABEL_CM]) fprintf(out, "; hw = %g MeV", p->hw);
  fputc('\n', out);
  for (size_t i = 0; i < p->notes.count; i++) fprintf(out, "  %s\n", p->notes.line[i]);
  for (size_t s = 0; s < spectrum->sector_count; s++) {
    const tg_ci_need* n = &spectrum->sectors[s].need;
    tg_cli_ci_symmetry(p, n->symmetry, symmetry, sizeof symmetry);
    fprintf(out, "  %s: %llu states, %llu matrix elements, %s, about %.4g MB\n", symmetry,
            (unsigned long long)n->facts.dimension, (unsigned long long)n->facts.pairs,
            tg_ci_storage_words(n->facts.storage), 1e-6 * (double)n->peak);
    if (!n->gpu.used) continue;
    tg_cli_ci_describe_gpu(n, words, sizeof words);
    fprintf(out, "    %s\n", words);
    tg_cli_ci_describe_storage(n, words, sizeof words);
    if (*words) fprintf(out, "    %s\n", words);
    if (n->gpu.rounding > 0)
      fprintf(out,
              "    elements are floats where they have values of their own: no level moves by "
              "more than %.1e %s\n",
              n->gpu.rounding, tg_ci_problem_unit(p));
  }
}

static void print_complete(FILE* out, const tg_cli_ci_job* job, size_t sector, double energy) {
  const tg_ci_problem* p = &job->problem;
  char symmetry[64];
  tg_cli_ci_symmetry(p, p->sectors[sector], symmetry, sizeof symmetry);
  fprintf(out,
          "\nComplete up to %.*f %s, the last level of %s that was asked for. Above it, marked *,\n"
          "others may be missing: more --states find them.\n",
          p->kind == TG_CI_NUCLEUS ? 5 : 9, energy, tg_ci_problem_unit(p), symmetry);
}

static void print_table(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum) {
  const tg_ci_problem* p = &job->problem;
  const bool nucleus = p->kind == TG_CI_NUCLEUS, cm = p->label[TG_CI_LABEL_CM] != NULL;
  const int digits = nucleus ? 5 : 9, width = nucleus ? 12 : 16;
  fprintf(out, "\n   # %*s/%s  excitation %4s %3s %4s  %6s %s residual\n", width - 3, "energy",
          tg_ci_problem_unit(p), nucleus ? "J" : "S", "n", nucleus ? "T" : "",
          nucleus ? "parity" : "irrep", cm ? "  c.m./MeV" : "");
  bool mixed = false;
  size_t ends;
  const double complete = tg_cli_ci_complete_to(job, spectrum, &ends);
  for (size_t i = 0; i < spectrum->level_count; i++) {
    const tg_ci_level* level = &spectrum->levels[i];
    char j[LABEL_SIZE], nth[LABEL_SIZE] = "", t[LABEL_SIZE] = "", symmetry[LABEL_SIZE],
                        excited[LABEL_SIZE] = "";
    if (!write_half(level->squared[TG_CI_LABEL_J], j)) mixed = true;
    if (nucleus) (void)write_half(level->squared[TG_CI_LABEL_T], t);
    if (nucleus)
      snprintf(symmetry, sizeof symmetry, "%s", level->symmetry ? "-" : "+");
    else
      snprintf(symmetry, sizeof symmetry, "%u", level->symmetry + 1);
    if (cm) snprintf(excited, sizeof excited, "%10.4f", level->squared[TG_CI_LABEL_CM]);
    const size_t n = tg_ci_level_nth(spectrum, i);
    if (n) snprintf(nth, sizeof nth, "%u", (unsigned)n);
    fprintf(out, "%4zu %*.*f %11.*f %4s %3s %4s  %6s %s  %.0e%s\n", i + 1, width, digits,
            level->energy, nucleus ? 5 : 8, level->energy - spectrum->levels[0].energy, j, nth, t,
            symmetry, excited, level->residual, level->energy > complete ? " *" : "");
  }
  if (complete < INFINITY) print_complete(out, job, ends, complete);
  if (mixed)
    fprintf(out,
            "\n%s with decimals: levels closer than their residuals share their states, and some "
            "of them\n"
            "are not in the table. More --states, a smaller --tolerance%s may part them.\n",
            nucleus ? "J" : "S", nucleus ? " or, without a core, --beta-cm" : "");
}

static void print_completeness(FILE* out, const tg_eigen_completeness* c) {
  if (!c->complete)
    fprintf(out, "levels that the run may have missed were not looked for (--check off)");
  else if (c->whole_space)
    fprintf(out, "the whole space was looked at: no level is missing");
  else if (c->runs == 0)
    fprintf(out, "a level is missing with a probability below %.0e (no products beyond the run's)",
            c->probability);
  else if (isnan(c->probability))
    fprintf(out, "%d run%s from other vectors (%lld products) found %d missed level%s", c->runs,
            c->runs == 1 ? "" : "s", (long long)c->products, c->found, c->found == 1 ? "" : "s");
  else
    fprintf(out,
            "%d run%s from other vectors (%lld products) found %d missed level%s; another is "
            "missing with a probability below %.0e",
            c->runs, c->runs == 1 ? "" : "s", (long long)c->products, c->found,
            c->found == 1 ? "" : "s", c->probability);
}

/* Where what is too large for tables is to be found. */
static void print_arrays(FILE* out, const tg_ci_tables* tables, const char* path) {
  const size_t count = tables->data_count;
  if (!count) return;
  fprintf(out, "%zu array%s (%s%s): ", count, count == 1 ? "" : "s", tables->data[0].name,
          count == 1 ? "" : ", ...");
  if (*path)
    fprintf(out, "in %s\n", path);
  else
    fprintf(out, "not kept; --arrays FILE or -o FOLDER writes them (HDF5)\n");
}

/* Where the time of a GPU's sector goes. OpenACC may have worked on the host. */
static void print_split(FILE* out, const tg_ci_sector* s) {
  const tg_eigen_times* t = &s->result.times;
  const bool host = s->need.gpu.host;
  fprintf(out,
          "  set-up: %.3f s tables%s, %.3f s %s; solver: %.3f s products (%.3g ms each), %.3f s "
          "orthogonal, %.3f s rotated, %.3f s small problems\n",
          s->need.gpu.tables_s, host ? "" : " on the host", s->need.gpu.device_s,
          host ? "the matrix" : "onto the GPU", t->product,
          1e3 * t->product / (double)(s->result.products ? s->result.products : 1), t->orthogonal,
          t->rotate, t->small);
}

void tg_cli_ci_print(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum,
                     const char* arrays) {
  const tg_ci_problem* p = &job->problem;
  print_head(out, job, spectrum);
  print_table(out, job, spectrum);
  tg_ci_tables_print(out, &job->tables, 100);
  fputc('\n', out);
  for (int k = 0; k < TG_CI_LABELS; k++)
    if (p->unknown[k][0]) fprintf(out, "Note: %s\n", p->unknown[k]);
  print_arrays(out, &job->tables, arrays);
  for (size_t s = 0; s < spectrum->sector_count; s++) {
    const tg_ci_sector* sector = &spectrum->sectors[s];
    char symmetry[64];
    tg_cli_ci_symmetry(p, sector->need.symmetry, symmetry, sizeof symmetry);
    fprintf(out, "%s: ", symmetry);
    print_completeness(out, &sector->result.check);
    fprintf(out, "\n  %.2f s to set up, %.2f s for %lld products, %.2f s for labels\n",
            sector->setup_s, sector->solve_s, (long long)sector->result.products, sector->labels_s);
    print_shares(out, sector);
    if (sector->need.gpu.used) print_split(out, sector);
  }
  fprintf(out, "%zu level%s in %.2f s\n", spectrum->level_count,
          spectrum->level_count == 1 ? "" : "s", spectrum->seconds);
}

/* ---- JSON ---- */

static void json_half(tg_json* json, const char* name, const char* two_name, const char* squared,
                      double value) {
  const int twice = tg_ci_twice(value);
  if (isnan(value)) return; /* what is not known is not there */
  if (twice >= 0) {
    tg_json_double(json, name, 0.5 * twice);
    tg_json_int(json, two_name, twice);
  }
  tg_json_double(json, squared, value);
}

static void json_level(tg_json* json, const tg_ci_problem* p, const tg_ci_spectrum* spectrum,
                       const tg_ci_level* level) {
  const bool nucleus = p->kind == TG_CI_NUCLEUS;
  tg_json_open_object(json, NULL);
  tg_json_double(json, nucleus ? "energy_MeV" : "energy_Ha", level->energy);
  tg_json_double(json, nucleus ? "excitation_MeV" : "excitation_Ha",
                 level->energy - spectrum->levels[0].energy);
  if (nucleus) {
    json_half(json, "J", "two_J", "J_squared", level->squared[TG_CI_LABEL_J]);
    json_half(json, "T", "two_T", "T_squared", level->squared[TG_CI_LABEL_T]);
    if (p->label[TG_CI_LABEL_CM])
      tg_json_double(json, "cm_excitation_MeV", level->squared[TG_CI_LABEL_CM]);
  } else {
    json_half(json, "S", "two_S", "S_squared", level->squared[TG_CI_LABEL_J]);
  }
  tg_cli_ci_json_symmetry(p, level->symmetry, json);
  const size_t n = tg_ci_level_nth(spectrum, (size_t)(level - spectrum->levels));
  if (n) tg_json_int(json, "n", (long long)n);
  tg_json_double(json, nucleus ? "residual_MeV" : "residual_Ha", level->residual);
  tg_json_double(json, nucleus ? "error_bound_MeV" : "error_bound_Ha", level->error);
  tg_json_close_object(json);
}

static void json_shares(tg_json* json, const tg_ci_sector* s) {
  tg_json_open_array(json, "processing_elements");
  for (int p = 0; p < s->pe_count; p++) {
    const tg_ci_share_facts* share = &s->shares[p];
    tg_json_open_object(json, NULL);
    tg_json_int(json, "states", (long long)share->rows);
    tg_json_double(json, "elements", share->elements);
    tg_json_int(json, "stored", (long long)share->stored);
    tg_json_int(json, "reads_of_others", (long long)share->exchange.needed);
    tg_json_double(json, "sent_bytes", (double)share->exchange.sent);
    tg_json_int(json, "exchanges", share->exchange.turns);
    tg_json_double(json, "product_s", share->product_s);
    tg_json_double(json, "push_s", share->exchange.push_s);
    tg_json_double(json, "exposed_s", share->exchange.exposed_s);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void json_sector(tg_json* json, const tg_ci_problem* p, const tg_ci_sector* s) {
  const tg_eigen_completeness* c = &s->result.check;
  tg_json_open_object(json, NULL);
  tg_cli_ci_json_symmetry(p, s->need.symmetry, json);
  tg_json_int(json, "dimension", (long long)s->need.facts.dimension);
  tg_json_int(json, "pairs", (long long)s->need.facts.pairs);
  tg_json_text(json, "storage", tg_ci_storage_name(s->need.facts.storage));
  if (s->need.gpu.rounding > 0)
    tg_json_double(json, p->kind == TG_CI_NUCLEUS ? "float_rounding_MeV" : "float_rounding_Ha",
                   s->need.gpu.rounding);
  tg_json_double(json, "peak_bytes_estimated", (double)s->need.peak);
  tg_json_int(json, "products", s->result.products);
  tg_json_int(json, "passes", s->result.passes);
  tg_json_int(json, "restarts", s->result.restarts);
  tg_json_double(json, "tolerance", s->result.tolerance);
  tg_json_open_object(json, "completeness");
  tg_json_bool(json, "checked", c->complete);
  tg_json_bool(json, "whole_space", c->whole_space);
  tg_json_int(json, "runs", c->runs);
  tg_json_int(json, "found", c->found);
  tg_json_int(json, "products", c->products);
  tg_json_double(json, "probability_of_a_missing_level", c->probability);
  tg_json_close_object(json);
  tg_json_double(json, "setup_s", s->setup_s);
  tg_json_double(json, "solve_s", s->solve_s);
  tg_json_double(json, "product_s", s->result.times.product);
  tg_json_double(json, "orthogonal_s", s->result.times.orthogonal);
  tg_json_double(json, "rotate_s", s->result.times.rotate);
  tg_json_double(json, "small_s", s->result.times.small);
  tg_json_double(json, "labels_s", s->labels_s);
  if (s->pe_count) json_shares(json, s);
  if (s->need.gpu.used) tg_cli_ci_json_gpu(&s->need, json);
  tg_json_close_object(json);
}

void tg_cli_ci_json(FILE* out, const tg_cli_ci_job* job, const tg_ci_spectrum* spectrum) {
  tg_json json = tg_json_on(out, true);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "throng", TG_VERSION);
  tg_cli_ci_json_problem(job, &json);
  size_t ends;
  const double complete = tg_cli_ci_complete_to(job, spectrum, &ends);
  if (complete < INFINITY) /* not there: no level is left out below the last one */
    tg_json_double(&json, job->problem.kind == TG_CI_NUCLEUS ? "complete_to_MeV" : "complete_to_Ha",
                   complete);
  tg_json_open_array(&json, "levels");
  for (size_t i = 0; i < spectrum->level_count; i++)
    json_level(&json, &job->problem, spectrum, &spectrum->levels[i]);
  tg_json_close_array(&json);
  if (job->tables.table_count + job->tables.data_count + job->tables.note_count)
    tg_ci_tables_json(&json, &job->tables);
  tg_json_open_array(&json, "sectors");
  for (size_t s = 0; s < spectrum->sector_count; s++)
    json_sector(&json, &job->problem, &spectrum->sectors[s]);
  tg_json_close_array(&json);
  tg_json_open_array(&json, "notes");
  for (size_t i = 0; i < job->input.notes.count; i++)
    tg_json_text(&json, NULL, job->input.notes.line[i]);
  for (int k = 0; k < TG_CI_LABELS; k++)
    if (job->problem.unknown[k][0]) tg_json_text(&json, NULL, job->problem.unknown[k]);
  tg_json_close_array(&json);
  tg_json_double(&json, "wall_s", spectrum->seconds);
  tg_json_close_object(&json);
}
