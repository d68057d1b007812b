/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/md_job.h  Options that the verbs of `throng md` share. */
#ifndef TG_CLI_MD_JOB_H
#define TG_CLI_MD_JOB_H

#include <limits.h>
#include <stddef.h>
#include <throng/md.h>

#include "cli/options.h"

/* The example that comes with throng, for examples in help texts: they work in the top folder. */
#define TG_CLI_MD_EXAMPLE "-c examples/ethanol-water/conf.gro -p examples/ethanol-water/topol.top"
#define TG_CLI_MD_EXAMPLE_RF TG_CLI_MD_EXAMPLE " -f examples/ethanol-water/rf.mdp"

typedef struct tg_cli_md_input {
  const char *configuration, *topology, *parameters, *index, *restraints;
  tg_cli_list includes;
} tg_cli_md_input;

typedef struct tg_cli_md_machine {
  const char *backend, *precision, *transport, *pe, *halo;
  int threads;
  double deadline_s;
} tg_cli_md_machine;

/* Before the options are read: --threads is told from its default by a number nobody gives; 60 s is
 * the world's own default. */
#define TG_CLI_MD_MACHINE_DEFAULT                                                                  \
  { .threads = INT_MIN, .deadline_s = 60 }

/* Rows of an option table for a structure `type` with members `input` and `machine`. */
#define TG_CLI_MD_INPUT_OPTIONS(type)                                                              \
  {"configuration",                                                                                \
   'c',                                                                                            \
   TG_CLI_TEXT,                                                                                    \
   offsetof(type, input.configuration),                                                            \
   "FILE",                                                                                         \
   "start positions, .gro or .g96",                                                                \
   true},                                                                                          \
      {"topology",       'p', TG_CLI_TEXT, offsetof(type, input.topology), "FILE",                 \
       "topology, .top", true},                                                                    \
      {"parameters", 'f',                                                                          \
       TG_CLI_TEXT,  offsetof(type, input.parameters),                                             \
       "FILE",       "run parameters, .mdp (default: GROMACS's defaults)",                         \
       false},                                                                                     \
      {"index", 'n', TG_CLI_TEXT, offsetof(type, input.index), "FILE", "groups, .ndx", false},     \
      {"restraints", 'r',                                                                          \
       TG_CLI_TEXT,  offsetof(type, input.restraints),                                             \
       "FILE",       "reference positions of position restraints, .gro or .g96",                   \
       false},                                                                                     \
  {                                                                                                \
    "include", 'I', TG_CLI_LIST, offsetof(type, input.includes), "FOLDER",                         \
        "a folder to search for #include", false                                                   \
  }

#define TG_CLI_MD_MACHINE_OPTIONS(type)                                                            \
  {"backend",                                                                                      \
   0,                                                                                              \
   TG_CLI_CHOICE,                                                                                  \
   offsetof(type, machine.backend),                                                                \
   "omp|ref|cuda",                                                                                 \
   "what computes: threads and SIMD, the plain serial reference, or (md run alone) GPUs (default " \
   "omp)",                                                                                         \
   false},                                                                                         \
      {"precision",                                                                                \
       0,                                                                                          \
       TG_CLI_CHOICE,                                                                              \
       offsetof(type, machine.precision),                                                          \
       "mixed|double",                                                                             \
       "of pair forces; everything else is double (default mixed, which GPUs have alone)",         \
       false},                                                                                     \
      {"pe",                                                                                       \
       0,                                                                                          \
       TG_CLI_TEXT,                                                                                \
       offsetof(type, machine.pe),                                                                 \
       "GRID",                                                                                     \
       "processing elements: a grid such as 2x2x1, or a number (default: the launcher's, or 1)",   \
       false},                                                                                     \
      {"transport",                                                                                \
       0,                                                                                          \
       TG_CLI_CHOICE,                                                                              \
       offsetof(type, machine.transport),                                                          \
       "loop|mpi|socket|nvshmem",                                                                  \
       "how they talk: threads or GPUs of this process, MPI, TCP between processes that "          \
       "TG_BOOTSTRAP brings together, or stores between GPUs of several processes (default with "  \
       "several processes nvshmem on GPUs, else socket where TG_BOOTSTRAP is set, or mpi; with "   \
       "one loop)",                                                                                \
       false},                                                                                     \
      {"halo",                                                                                     \
       0,                                                                                          \
       TG_CLI_CHOICE,                                                                              \
       offsetof(type, machine.halo),                                                               \
       "host|stream|pulse|fused|direct",                                                           \
       "schedule of the halo exchange; the result is the same to the last bit (default pulse; "    \
       "steps on GPUs direct; stream is for GPUs alone)",                                          \
       false},                                                                                     \
      {"deadline",                                                                                 \
       0,                                                                                          \
       TG_CLI_DOUBLE,                                                                              \
       offsetof(type, machine.deadline_s),                                                         \
       "SECONDS",                                                                                  \
       "a processing element that waits longer for another ends the run (default 60)",             \
       false},                                                                                     \
  {                                                                                                \
    "threads", 0, TG_CLI_INT, offsetof(type, machine.threads), "N",                                \
        "threads of this process, shared by its processing elements (default: all it may use)",    \
        false                                                                                      \
  }

/** "8" or "2x2x2" as job->pe_count or job->grid. */
tg_status tg_cli_md_parse_pe(const char* text, tg_md_job* job);
/** A job from these options; texts stay where they are. TG_ERR_INPUT for a bad --pe or --threads.
 */
tg_status tg_cli_md_job(const tg_cli_md_input* input, const tg_cli_md_machine* machine,
                        tg_md_job* out);

#endif
