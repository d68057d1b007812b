/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/ci_job.h  What the verbs of `throng ci` share: options, inputs, the problem and its
 * words. */
#ifndef TG_CLI_CI_JOB_H
#define TG_CLI_CI_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/json.h"
#include "ci/solve.h"
#include "ci/tables.h"
#include "cli/options.h"

/** The options; starts from tg_cli_ci_defaults(). */
typedef struct tg_cli_ci_options {
  tg_cli_list inputs, formats;
  const char *scale, *parity, *storage, *elements, *check, *backend;
  const char *j, *spin; /* text of 2 problem.two_j */
  int states, threads, pes, gpus;
  double memory_gb, tolerance;
  tg_ci_problem_params problem;
} tg_cli_ci_options;

/** An input, and what is asked about it. */
typedef struct tg_cli_ci_job {
  char* paths[TG_CLI_LIST_SIZE]; /* as read: names of built-in interactions in full */
  tg_ci_input input;
  const char* partition; /* the .ptn file, or NULL */
  bool asked;            /* numbers of particles are known, so there is a problem */
  tg_ci_problem problem;
  tg_ci_solve_params solve; /* without callbacks */
  tg_ci_tables tables;      /* what --observables gave */
} tg_cli_ci_job;

tg_cli_ci_options tg_cli_ci_defaults(void);

/** Reads the inputs and makes the problem. needed: it is an error where nothing says how many
 * particles there are. */
tg_status tg_cli_ci_open(const tg_cli_ci_options* options, bool needed, tg_cli_ci_job* out);
void tg_cli_ci_close(tg_cli_ci_job* job);
/** --memory is for the program with its inputs, which are there by now; the solver gets the rest.
 * TG_ERR_MACHINE where nothing is left. */
tg_status tg_cli_ci_share_memory(tg_ci_solve_params* solve);

/** "4 protons and 4 neutrons outside a core of mass 16 (A = 24)", "5 + 5 electrons". */
void tg_cli_ci_describe(const tg_ci_problem* problem, char* out, size_t size);
/** "positive parity", "irrep 3". */
void tg_cli_ci_symmetry(const tg_ci_problem* problem, unsigned symmetry, char* out, size_t size);
/** "GPU 0 (NVIDIA H200): 66.2 MB of vectors, 102 MB of matrix, of 139.8 GB free; ...". */
void tg_cli_ci_describe_gpu(const tg_ci_need* need, char* out, size_t size);
/** "storage: on the fly (estimated 1.23 ms a product, 0.011 s to make; stored 1.47 ms ...)"; ""
 * where nothing could be stored. */
void tg_cli_ci_describe_storage(const tg_ci_need* need, char* out, size_t size);
/** The same as a member "gpu" of an object. */
void tg_cli_ci_json_gpu(const tg_ci_need* need, tg_json* json);
/** The inputs and the numbers of particles, as members of an object. */
void tg_cli_ci_json_problem(const tg_cli_ci_job* job, tg_json* json);
void tg_cli_ci_json_symmetry(const tg_ci_problem* problem, unsigned symmetry, tg_json* json);

/* What one option of a list is; `options` is the member of the verb's structure. */
#define TG_CLI_CI_OPTION(type, field) offsetof(type, options.field)
/* clang-format off */
#define TG_CLI_CI_OPTIONS(type)                                                                    \
  {"input", 'i', TG_CLI_LIST, TG_CLI_CI_OPTION(type, inputs), "FILE",                              \
   "interaction, orbits or integrals, or the built-in usdb, ckpot, sdi:...; several add up", true},\
  {"format", 0, TG_CLI_LIST, TG_CLI_CI_OPTION(type, formats), "NAME",                              \
   "format of the inputs in their order (default: looked at)", false},                             \
  {"scale", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, scale), "A0,p",                                 \
   "two-body elements times (A0/A)^p, or none (default: what the input says)", false},             \
  {"protons", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.protons), "N",                         \
   "protons outside the core (default: 0 where neutrons are given)", false},                       \
  {"neutrons", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.neutrons), "N",                       \
   "neutrons outside the core (default: 0 where protons are given)", false},                       \
  {"two-m", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.two_m), "N",                             \
   "twice M: levels of J >= M are found (default 0 or 1)", false},                                 \
  {"parity", 0, TG_CLI_CHOICE, TG_CLI_CI_OPTION(type, parity), "+|-|1|-1",                         \
   "of the states (default: both; with --nmax that of the highest excitations)", false},           \
  {"nmax", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.nmax), "N",                               \
   "most oscillator quanta above the lowest configuration (default: no limit)", false},            \
  {"allow-cut", 0, TG_CLI_FLAG, TG_CLI_CI_OPTION(type, problem.allow_cut), NULL,                   \
   "with --nmax: take inputs without a core whose orbits or elements end below it", false},        \
  {"hw", 0, TG_CLI_DOUBLE, TG_CLI_CI_OPTION(type, problem.hw), "MEV",                              \
   "oscillator energy (default: the input's)", false},                                             \
  {"trel", 0, TG_CLI_FLAG, TG_CLI_CI_OPTION(type, problem.relative_kinetic), NULL,                 \
   "adds the relative kinetic energy", false},                                                     \
  {"beta-cm", 0, TG_CLI_DOUBLE, TG_CLI_CI_OPTION(type, problem.beta_cm), "X",                      \
   "adds X (Hcm - 3/2 hw): states with an excited centre of mass go up (default 0)", false},       \
  {"electrons", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.electrons), "N",                     \
   "of a molecule (default: the input's)", false},                                                 \
  {"two-sz", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.two_sz), "N",                           \
   "twice Sz (default: the input's)", false},                                                      \
  {"irrep", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.irrep), "N",                             \
   "of a molecule's states, in the input's numbers (default: each of them)", false},               \
  {"j", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, j), "J",                                            \
   "only states with this J, such as 2 or 5/2 (default: all J)", false},                           \
  {"spin", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, spin), "S",                                      \
   "of a molecule: only states with this S, such as 0 or 1/2 (default: all S)", false},            \
  {"partition", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, problem.partition), "FILE",                 \
   "KSHELL's .ptn: occupations to keep; says protons, neutrons and parity, too", false},           \
  {"occupation", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, problem.occupation), "LIST",               \
   "particles in orbits, such as 0d5/2:2..6,n1s1/2:0..1; in a molecule's orbitals together, such " \
   "as 1-3:5..6/8-9:0..2", false},                                                                 \
  {"frozen", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, problem.frozen), "LIST",                       \
   "orbits that are full, such as 0s1/2,n0p3/2; of a molecule a number of lowest orbitals, or a "  \
   "list such as 1,3-4", false},                                                                   \
  {"active", 0, TG_CLI_TEXT, TG_CLI_CI_OPTION(type, problem.active), "E,N|E:LIST",                 \
   "of a molecule: E electrons in N orbitals above the frozen ones, or in those of a list", false},\
  {"excitations", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, problem.excitations), "N",                 \
   "most particles above the lowest configuration (default: no limit)", false},                    \
  {"states", 'n', TG_CLI_INT, TG_CLI_CI_OPTION(type, states), "N",                                 \
   "lowest states of each parity or irrep (default: 10, or all there are)", false},                \
  {"storage", 0, TG_CLI_CHOICE, TG_CLI_CI_OPTION(type, storage), "auto|stored|fly|mixed",          \
   "keep the Hamiltonian's elements, or compute them again for each product; mixed: as many as a " \
   "GPU holds (default auto: what is estimated to be faster, and fits)",                          \
   false},                                                                                         \
  {"elements", 0, TG_CLI_CHOICE, TG_CLI_CI_OPTION(type, elements), "double|float",                 \
   "of --backend cuda: what a stored matrix keeps of elements that have values of their own; "      \
   "floats take less memory, and the most that levels move by is printed (default double)", false},\
  {"pe", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, pes), "N",                                          \
   "processing elements that share the states (default: the launcher's, or 1)", false},            \
  {"backend", 0, TG_CLI_CHOICE, TG_CLI_CI_OPTION(type, backend), "omp|cuda|acc",                   \
   "where products and vectors are: the processors, GPUs, or what OpenACC finds: a GPU, or the "    \
   "host where there is none (default omp)", false},                                               \
  {"gpus", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, gpus), "N",                                       \
   "of --backend cuda: GPUs that share the states, each for one of --pe processing elements or "    \
   "more (default 1; more pay for a million states and more)", false},                             \
  {"threads", 0, TG_CLI_INT, TG_CLI_CI_OPTION(type, threads), "N",                                 \
   "OpenMP threads of this process (default: all processors)", false},                             \
  {"memory", 0, TG_CLI_DOUBLE, TG_CLI_CI_OPTION(type, memory_gb), "GB",                            \
   "that the program may take in all (default: 80 % of what is free)", false}
/* clang-format on */

#endif
