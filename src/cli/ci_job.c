/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ci_job.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "ci/input/builtin.h"
#include "device/device.h"
#include "motif/module.h"

tg_cli_ci_options tg_cli_ci_defaults(void) {
  tg_ci_problem_params problem = tg_ci_problem_defaults();
  problem.hw = NAN; /* not given */
  return (tg_cli_ci_options){.storage = "auto",
                             .elements = "double",
                             .check = "auto",
                             .backend = "omp",
                             .gpus = TG_CI_UNSET,
                             .states = TG_CI_UNSET,
                             .threads = TG_CI_UNSET,
                             .pes = TG_CI_UNSET,
                             .memory_gb = NAN,
                             .tolerance = NAN,
                             .problem = problem};
}

/* ---- inputs ---- */

/* Names of built-in interactions may be given without their prefix, where no file has the name. */
static tg_status full_name(const char* word, char** out) {
  char name[4096];
  const bool known = tg_compare_nocase(word, "usdb") == 0 ||
                     tg_compare_nocase(word, "ckpot") == 0 || strncmp(word, "sdi:", 4) == 0;
  const bool short_form = known && !tg_path_exists(word);
  if (!known && !strpbrk(word, "./:") && !tg_path_exists(word))
    return tg_fail(TG_ERR_INPUT,
                   "%s: there is no file of this name, and no interaction that comes with the "
                   "program; those are usdb (sd shell), ckpot (p shell) and "
                   "sdi:ORBITS:STRENGTHS (docs/formats.md)",
                   word);
  const int length =
      snprintf(name, sizeof name, "%s%s", short_form ? TG_CI_BUILTIN_PREFIX : "", word);
  if (length < 0 || (size_t)length >= sizeof name)
    return tg_fail(TG_ERR_INPUT, "the name of an input is longer than %zu letters",
                   sizeof name - 1);
  return tg_copy_text(name, out);
}

static tg_status read_inputs(const tg_cli_ci_options* o, tg_cli_ci_job* job) {
  tg_ci_source sources[TG_CLI_LIST_SIZE] = {0};
  if (o->formats.count > o->inputs.count)
    return tg_fail(TG_ERR_INPUT,
                   "--format is given %d times for %d inputs; give it as often at most",
                   o->formats.count, o->inputs.count);
  for (int i = 0; i < o->inputs.count; i++) {
    TG_TRY(full_name(o->inputs.items[i], &job->paths[i]));
    sources[i].path = job->paths[i];
    if (o->scale) TG_TRY(tg_ci_scale_parse(o->scale, &sources[i]));
    if (i < o->formats.count && tg_compare_nocase(o->formats.items[i], "auto") != 0)
      TG_TRY(tg_ci_format_parse(o->formats.items[i], &sources[i].format));
  }
  return tg_ci_input_read(sources, (size_t)o->inputs.count, &job->input);
}

/* ---- the numbers ---- */

enum { MOST_PES = 65536 /* of an estimate, too */ };

static tg_status read_numbers(const tg_cli_ci_options* o, tg_ci_solve_params* solve) {
  *solve = tg_ci_solve_defaults();
  if (o->states != TG_CI_UNSET && o->states < 1)
    return tg_fail(TG_ERR_INPUT, "--states %d: a number above 0 was expected", o->states);
  if (o->threads != TG_CI_UNSET && (o->threads < 1 || o->threads > 4096))
    return tg_fail(TG_ERR_INPUT, "--threads %d: a number from 1 to 4096 was expected", o->threads);
  if (!isnan(o->memory_gb) && !(o->memory_gb > 0 && o->memory_gb < 1e9))
    return tg_fail(TG_ERR_INPUT, "--memory %g: gigabytes, above 0 and below 1e9, were expected",
                   o->memory_gb);
  if (!isnan(o->tolerance) && !(o->tolerance > 0))
    return tg_fail(TG_ERR_INPUT, "--tolerance %g: a number above 0 was expected", o->tolerance);
  if (o->pes != TG_CI_UNSET && (o->pes < 1 || o->pes > MOST_PES))
    return tg_fail(TG_ERR_INPUT,
                   "--pe %d: a number of processing elements, from 1 to %d, was "
                   "expected",
                   o->pes, MOST_PES);
  if (o->pes != TG_CI_UNSET) solve->pes = o->pes;
  if (o->states != TG_CI_UNSET) solve->states = o->states;
  if (o->threads != TG_CI_UNSET) solve->threads = o->threads;
  if (!isnan(o->memory_gb)) solve->memory = (uint64_t)ceil(1e9 * o->memory_gb);
  if (!isnan(o->tolerance)) solve->tolerance = o->tolerance;
  for (int s = TG_CI_STORAGE_AUTO; s < TG_CI_STORAGES; s++)
    if (strcmp(o->storage, tg_ci_storage_name((tg_ci_storage)s)) == 0)
      solve->storage = (tg_ci_storage)s;
  if (strcmp(o->check, "always") == 0) solve->check = TG_EIGEN_CHECK_ALWAYS;
  if (strcmp(o->check, "off") == 0) solve->check = TG_EIGEN_CHECK_OFF;
  return TG_OK;
}

static tg_status read_backend(const tg_cli_ci_options* o, tg_ci_solve_params* solve) {
  const bool gpu = strcmp(o->backend, "cuda") == 0;
  const bool acc = strcmp(o->backend, "acc") == 0;
  solve->backend = gpu ? TG_CI_CUDA : acc ? TG_CI_ACC : TG_CI_OMP;
  if (o->gpus != TG_CI_UNSET && !gpu)
    return tg_fail(TG_ERR_INPUT, "--gpus %d goes with --backend cuda", o->gpus);
  if (o->gpus != TG_CI_UNSET && o->gpus < 1)
    return tg_fail(TG_ERR_INPUT, "--gpus %d: a number above 0 was expected", o->gpus);
  if (o->gpus != TG_CI_UNSET && o->pes != TG_CI_UNSET && o->pes < o->gpus)
    return tg_fail(TG_ERR_INPUT,
                   "--gpus %d with --pe %d: each GPU works for at least one processing element; "
                   "leave out --pe, or give as many",
                   o->gpus, o->pes);
  solve->float_elements = strcmp(o->elements, "float") == 0;
  /* mixed: an element would be rounded in one triangle and exact in the other */
  if (solve->float_elements &&
      (!gpu || solve->storage == TG_CI_STORAGE_FLY || solve->storage == TG_CI_STORAGE_MIXED))
    return tg_fail(TG_ERR_INPUT,
                   "--elements float is for matrices that GPUs store whole: --backend cuda, with "
                   "--storage stored or auto");
  if (solve->storage == TG_CI_STORAGE_MIXED && !gpu)
    return tg_fail(TG_ERR_INPUT, "--storage mixed goes with --backend cuda");
  if (acc && solve->storage == TG_CI_STORAGE_FLY)
    return tg_fail(TG_ERR_INPUT, "--backend acc stores the matrix; --storage fly goes with others");
  if (acc && o->pes != TG_CI_UNSET && o->pes > 1)
    return tg_fail(TG_ERR_INPUT, "--pe %d: --backend acc has all states in one processing element",
                   o->pes);
  if (acc && tg_module_acc(true)->check() != TG_OK)
    return tg_fail_context(TG_ERR_MACHINE, "--backend acc: ");
  if (gpu && tg_device_count() == 0)
    return tg_fail(TG_ERR_MACHINE, "--backend cuda: %s; or use --backend omp", tg_device_reason());
  if (o->gpus != TG_CI_UNSET && o->gpus > tg_device_count())
    return tg_fail(TG_ERR_MACHINE, "--gpus %d: this machine has %d", o->gpus, tg_device_count());
  if (o->gpus != TG_CI_UNSET) solve->gpus = o->gpus;
  return TG_OK;
}

/* "2", "5/2" or "2.5" as twice the number. */
static tg_status read_half(const char* option, const char* text, int* twice) {
  const size_t length = strlen(text);
  double value = 0;
  int number = 0;
  const bool halves = length > 2 && strcmp(text + length - 2, "/2") == 0;
  if (halves && tg_parse_int(text, (int)length - 2, &number) && number >= 0) {
    *twice = number;
    return TG_OK;
  }
  if (!tg_parse_double(text, (int)length, &value) || value < 0 || value > 10000 ||
      2 * value != floor(2 * value))
    return tg_fail(TG_ERR_INPUT,
                   "%s %s: a whole or half number was expected, such as 2, 5/2 or 2.5", option,
                   text);
  *twice = (int)(2 * value);
  return TG_OK;
}

/* --j is of nuclei, --spin of molecules. */
static tg_status read_spin(const tg_cli_ci_options* o, const tg_ci_input* input,
                           tg_ci_problem_params* params) {
  const bool nucleus = input->kind == TG_CI_NUCLEUS;
  if (nucleus ? o->spin != NULL : o->j != NULL)
    return tg_fail(TG_ERR_INPUT, "%s: this is the input of a %s; give %s", input->facts[0].path,
                   nucleus ? "nucleus" : "molecule",
                   nucleus ? "--j in place of --spin" : "--spin in place of --j");
  if (o->j) TG_TRY(read_half("--j", o->j, &params->two_j));
  if (o->spin) TG_TRY(read_half("--spin", o->spin, &params->two_j));
  return TG_OK;
}

static bool is_asked(const tg_ci_input* input, const tg_ci_problem_params* p) {
  if (input->kind == TG_CI_MOLECULE) return true;
  return p->protons != TG_CI_UNSET || p->neutrons != TG_CI_UNSET || p->partition;
}

tg_status tg_cli_ci_share_memory(tg_ci_solve_params* solve) {
  const uint64_t held = tg_memory_held(NULL), all = solve->memory;
  if (!all) return TG_OK;
  solve->memory = held < all ? all - held : 1;
  if (held < all) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "--memory: %.4g GB may be used, and the program with its inputs takes %.4g GB by "
                 "itself; allow more",
                 1e-9 * (double)all, 1e-9 * (double)held);
}

tg_status tg_cli_ci_open(const tg_cli_ci_options* options, bool needed, tg_cli_ci_job* out) {
  tg_status status = TG_OK;
  tg_ci_problem_params params = options->problem;
  memset(out, 0, sizeof *out);
  if (isnan(params.hw))
    params.hw = 0;
  else if (!(params.hw > 0 && params.hw < 1e6))
    return tg_fail(TG_ERR_INPUT, "--hw %g: an oscillator energy in MeV, above 0, was expected",
                   params.hw);
  if (options->parity) params.parity = strchr(options->parity, '-') ? -1 : 1;
  out->partition = params.partition;
  TG_TRY(read_numbers(options, &out->solve));
  TG_TRY(read_backend(options, &out->solve));
  TG_TRY_GOTO(read_inputs(options, out), failed);
  TG_TRY_GOTO(read_spin(options, &out->input, &params), failed);
  out->asked = is_asked(&out->input, &params);
  if (needed || out->asked)
    TG_TRY_GOTO(tg_ci_problem_make(&out->input, &params, &out->problem), failed);
  return TG_OK;
failed:
  tg_cli_ci_close(out);
  return status;
}

void tg_cli_ci_close(tg_cli_ci_job* job) {
  tg_ci_tables_free(&job->tables);
  tg_ci_problem_free(&job->problem);
  tg_ci_input_free(&job->input);
  for (int i = 0; i < TG_CLI_LIST_SIZE; i++) TG_FREE(job->paths[i]);
}

/* ---- words ---- */

static const char* plural(int count) { return count == 1 ? "" : "s"; }

void tg_cli_ci_describe_gpu(const tg_ci_need* need, char* out, size_t size) {
  const tg_ci_device_need* g = &need->gpu;
  const bool stored = need->facts.storage != TG_CI_STORAGE_FLY;
  char which[96];
  if (g->acc)
    snprintf(which, sizeof which, "Backend acc");
  else if (g->pes > g->gpus)
    snprintf(which, sizeof which, "each of %d processing elements on %d GPU%s", g->pes, g->gpus,
             plural(g->gpus));
  else if (g->pes > 1)
    snprintf(which, sizeof which, "each of %d GPUs", g->gpus);
  else
    snprintf(which, sizeof which, "GPU %d", g->device);
  int used =
      snprintf(out, size, "%s (%s): %.4g MB of vectors, %.4g MB of %s, of %.4g GB free", which,
               g->name, 1e-6 * (double)g->vectors, 1e-6 * (double)(stored ? g->matrix : g->tables),
               stored ? "matrix" : "tables", 1e-9 * (double)g->free);
  if (used < 0 || (size_t)used >= size) return;
  if (stored && !g->acc)
    snprintf(out + used, size - (size_t)used, "; on the fly would take %.4g MB of tables",
             1e-6 * (double)g->tables);
  else if (g->matrix && !stored)
    snprintf(out + used, size - (size_t)used,
             "; stored would take %.4g MB, and %.4g MB for a while", 1e-6 * (double)g->matrix,
             1e-6 * (double)g->making);
}

void tg_cli_ci_describe_storage(const tg_ci_need* need, char* out, size_t size) {
  const tg_ci_device_need* g = &need->gpu;
  const tg_ci_storage_times* t = &g->times;
  const bool fly = need->facts.storage == TG_CI_STORAGE_FLY;
  const char* why = "";
  *out = 0;
  if (!(t->fly_s > 0) || need->facts.storage == TG_CI_STORAGE_MIXED) return;
  if (g->asked)
    why = ", as asked";
  else if (fly && g->pes == 1 && !tg_ci_storage_prefers_fly(t))
    why = ", as the matrix does not fit";
  snprintf(out, size,
           "storage: %s%s (estimated %.3g ms a product, %.2g s to make; %s %.3g ms, %.2g s; about "
           "%.0f products)",
           fly ? "on the fly" : "stored", why, 1e3 * (fly ? t->fly_s : t->stored_s),
           fly ? t->make_fly_s : t->make_stored_s, fly ? "stored" : "on the fly",
           1e3 * (fly ? t->stored_s : t->fly_s), fly ? t->make_stored_s : t->make_fly_s,
           t->products);
}

void tg_cli_ci_describe(const tg_ci_problem* p, char* out, size_t size) {
  const int a = p->particles[0], b = p->particles[1];
  if (p->kind == TG_CI_MOLECULE) {
    snprintf(out, size, "%d electron%s with spin up, %d with spin down", a, plural(a), b);
    return;
  }
  const double core = p->input->model.core_mass;
  int used = snprintf(out, size, "%d proton%s and %d neutron%s", a, plural(a), b, plural(b));
  if (used < 0 || (size_t)used >= size) return;
  if (core > 0)
    snprintf(out + used, size - (size_t)used, " outside a core of mass %g (A = %g)", core, p->mass);
  else if (core < 0)
    snprintf(out + used, size - (size_t)used, " outside a core that the input does not name");
}

void tg_cli_ci_symmetry(const tg_ci_problem* p, unsigned symmetry, char* out, size_t size) {
  if (p->kind == TG_CI_NUCLEUS)
    snprintf(out, size, "%s parity", symmetry ? "negative" : "positive");
  else
    snprintf(out, size, "irrep %u", symmetry + 1);
}

void tg_cli_ci_json_symmetry(const tg_ci_problem* p, unsigned symmetry, tg_json* json) {
  if (p->kind == TG_CI_NUCLEUS)
    tg_json_int(json, "parity", symmetry ? -1 : 1);
  else
    tg_json_int(json, "irrep", (long long)symmetry + 1);
}

void tg_cli_ci_json_gpu(const tg_ci_need* need, tg_json* json) {
  const tg_ci_device_need* g = &need->gpu;
  tg_json_open_object(json, "gpu");
  tg_json_int(json, "device", g->device);
  tg_json_int(json, "gpus", g->gpus);
  tg_json_int(json, "processing_elements", g->pes);
  tg_json_text(json, "name", g->name);
  tg_json_double(json, "free_bytes", (double)g->free);
  tg_json_double(json, "vector_bytes", (double)g->vectors);
  tg_json_double(json, "table_bytes", (double)g->tables);
  tg_json_double(json, "matrix_bytes", (double)g->matrix);
  tg_json_double(json, "making_bytes", (double)g->making);
  tg_json_double(json, "product_bytes", (double)g->product);
  if (g->times.fly_s > 0) {
    tg_json_double(json, "fly_product_s_estimated", g->times.fly_s);
    tg_json_double(json, "stored_product_s_estimated", g->times.stored_s);
    tg_json_double(json, "fly_making_s_estimated", g->times.make_fly_s);
    tg_json_double(json, "stored_making_s_estimated", g->times.make_stored_s);
  }
  tg_json_double(json, "tables_s", g->tables_s);
  tg_json_double(json, "device_s", g->device_s);
  tg_json_close_object(json);
}

void tg_cli_ci_json_problem(const tg_cli_ci_job* job, tg_json* json) {
  const tg_ci_problem* p = &job->problem;
  const bool nucleus = job->input.kind == TG_CI_NUCLEUS;
  tg_json_text(json, "kind", nucleus ? "nucleus" : "molecule");
  tg_json_open_array(json, "inputs");
  for (size_t i = 0; i < job->input.fact_count; i++) {
    tg_json_open_object(json, NULL);
    tg_json_text(json, "path", job->input.facts[i].path);
    tg_json_text(json, "format", tg_ci_format_name(job->input.facts[i].format));
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
  if (!job->asked) return;
  tg_json_int(json, nucleus ? "protons" : "spin_up", p->particles[0]);
  tg_json_int(json, nucleus ? "neutrons" : "spin_down", p->particles[1]);
  tg_json_int(json, nucleus ? "two_m" : "two_sz", p->two_m);
  if (p->two_j >= 0) tg_json_int(json, nucleus ? "only_two_J" : "only_two_S", p->two_j);
  if (p->notes.count) {
    tg_json_open_array(json, "restrictions");
    for (size_t i = 0; i < p->notes.count; i++) tg_json_text(json, NULL, p->notes.line[i]);
    tg_json_close_array(json);
  }
  if (!nucleus) return;
  if (p->mass > 0) tg_json_double(json, "mass_number", p->mass);
  if (p->hw > 0) tg_json_double(json, "hw_MeV", p->hw);
  if (p->least_weight >= 0) tg_json_int(json, "least_weight", p->least_weight);
}
