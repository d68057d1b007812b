/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/observables.h  What can be computed from the states that were found, by name.
 *
 * An observable is an entry of the registry (observables.c, TG_CI_OBSERVABLES): a constant
 * tg_ci_observable in a file of its own, found by the name that --observables gives. It gets a
 * *question*: the states of one nucleus (initial = final), or of two, and the parameters; it adds
 * columns to the shared tables or tables of its own (ci/tables.h). It prints nothing. To add one,
 * write its file and its line in TG_CI_OBSERVABLES. */
#ifndef TG_CI_OBSERVABLES_H
#define TG_CI_OBSERVABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "ci/solve.h"
#include "ci/tables.h"

/** States of one nucleus or molecule; the caller's. */
typedef struct tg_ci_states {
  const tg_ci_problem* problem;
  const tg_ci_spectrum* spectrum;
} tg_ci_states;

/** Start from tg_ci_observable_defaults(). */
typedef struct tg_ci_observable_params {
  bool charges_given;
  double charge[2];    /* e of protons, neutrons in E2, E3, E4 */
  double g_orbital[2]; /* of protons, neutrons */
  double g_spin[2];
  int states;      /* of each sector that a solve will look for; 0: as it does by itself */
  int threads;     /* 0: all of OpenMP's */
  uint64_t memory; /* bytes that may be taken beyond the states; 0: a quarter of what is free */
} tg_ci_observable_params;

struct tg_ci_density_set; /* ci/density_set.h */

/** What an observable is asked. */
typedef struct tg_ci_question {
  tg_ci_states initial, final; /* the same within one nucleus */
  bool within;                 /* they are the same */
  const tg_ci_observable_params* params;
  const char* argument; /* behind the colon of NAME:ARGUMENT, or the file of FILE.opme; else NULL */
  struct tg_ci_density_set** densities; /* [3], by charge change + 1: one-body densities, made when
                                           first asked for; see ci/density_set.h */
  tg_ci_tables* tables;                 /* results go here */
} tg_ci_question;

/** What an observable can be asked about. */
enum {
  TG_CI_OF_NUCLEI = 1,
  TG_CI_OF_MOLECULES = 2,
  TG_CI_WITHIN = 4,  /* states of one calculation (ci solve) */
  TG_CI_BETWEEN = 8, /* states of two (ci transitions) */
  TG_CI_USUAL = 16,  /* computed where --observables has no list */
};

typedef struct tg_ci_observable {
  const char* name;     /* "e2" */
  const char* argument; /* what may follow the name and a colon, for the help; NULL: nothing */
  const char* help;     /* one line, no full stop */
  unsigned can;
  /** What can be refused before the states are there: a file that does not exist, nuclei that it
   * is not for ("all" and "usual" leave it out then). Spectra of the question are NULL. May be
   * NULL. */
  tg_status (*check)(const tg_ci_question* question);
  tg_status (*compute)(const tg_ci_question* question);
} tg_ci_observable;

/** All observables, in the order of their results; NULL ends. */
const tg_ci_observable* const* tg_ci_observables_all(void);

tg_ci_observable_params tg_ci_observable_defaults(void);

enum { TG_CI_MOST_OBSERVABLES = 32 };

/** A list that was read: which observables, with their arguments. */
typedef struct tg_ci_observable_list {
  const tg_ci_observable* entry[TG_CI_MOST_OBSERVABLES];
  char* argument[TG_CI_MOST_OBSERVABLES]; /* NULL: none */
  bool grouped[TG_CI_MOST_OBSERVABLES];   /* by all or usual: left out where its check refuses */
  size_t count;
} tg_ci_observable_list;

/** Reads "e2,m1,FILE.opme"; "all" (each that fits and needs no argument) and "usual" may be among
 * the words; "none"; NULL: usual. The same twice is once. TG_ERR_INPUT for a name that is not there
 * (with the nearest and all names), or that does not fit the kind or the number of calculations. */
tg_status tg_ci_observables_parse(const char* text, tg_ci_kind kind, bool within,
                                  tg_ci_observable_list* out);
void tg_ci_observables_free(tg_ci_observable_list* list);

/** Every check of the list's observables, before a solve. final is NULL within one calculation. */
tg_status tg_ci_observables_check(const tg_ci_observable_list* list,
                                  const tg_ci_observable_params* params,
                                  const tg_ci_problem* initial, const tg_ci_problem* final);

/** Computes them in order into tables. final is NULL within one calculation. Where one fails, a
 * note says so, the others are computed nevertheless, and the first failure is returned: tables are
 * given in any case, as what is in them may have taken long. TG_ERR_INTERRUPTED between two of
 * them, or two steps of a strength function, where that is asked for (base/interrupt.h). */
tg_status tg_ci_observables_run(const tg_ci_observable_list* list,
                                const tg_ci_observable_params* params, const tg_ci_states* initial,
                                const tg_ci_states* final, tg_ci_tables* out);

/* ---- for observables ---- */

/** Threads of the question: at least 1. */
int tg_ci_question_threads(const tg_ci_question* question);

/** Protons gained from the initial to the final nucleus where a one-body operator connects them: 0,
 * +1 (and a neutron lost), -1; otherwise another number. */
int tg_ci_charge_change(const tg_ci_problem* initial, const tg_ci_problem* final);

/** The vector of a level, [dimension of its sector's space]; the space. */
const double* tg_ci_level_vector(const tg_ci_states* states, size_t level);
const tg_ci_space* tg_ci_level_space(const tg_ci_states* states, size_t level);

/** About how much (an amplitude) of other states of its sector a level's state may have in it: the
 * largest ratio of its residual to the distance of another level; 1: anything. */
double tg_ci_level_mixing(const tg_ci_states* states, size_t level);

/** Twice J of a level; -1: it has no state of its own, as levels about as close as its residual
 * share their states. Such a level has no reduced elements; those that it would have are NAN. */
int tg_ci_level_two_j(const tg_ci_states* states, size_t level);

/** n[t]: [orbitals of species t], zeros before: <a+_i a_i> in the state v of the space. */
tg_status tg_ci_occupations(const tg_ci_space* space, const double* v, double* const n[2]);

/** The shared table of levels: a row for each level of the initial (and within one calculation,
 * the only) states, in their order, with keys level, J, parity and energy; made when first asked
 * for. A column is then added by tg_ci_table_column, and the row of a level is its number. */
tg_status tg_ci_question_levels(const tg_ci_question* question, tg_ci_table** out);

/** Notes that name the levels that have no states of their own, or not quite. */
tg_status tg_ci_question_note_shared(const tg_ci_question* question);

/** The shared table of transitions: a row for each initial level i and final level f, i > f within
 * one calculation (i is the upper one). *row: of the pair. */
tg_status tg_ci_question_transitions(const tg_ci_question* question, tg_ci_table** out);
size_t tg_ci_transition_row(const tg_ci_question* question, size_t initial, size_t final);

#endif
