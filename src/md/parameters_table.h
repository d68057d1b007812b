/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/parameters_table.h  Private to parameters*.c: the tables that say what each .mdp key
 * does. */
#ifndef TG_MD_PARAMETERS_TABLE_H
#define TG_MD_PARAMETERS_TABLE_H

#include <stddef.h>

#include "base/text.h"
#include "md/parameters.h"

/** What is read besides tg_parameters: values that only serve the checks between keys. */
typedef struct tg_mdp_reading {
  tg_parameters p;
  double rcoulomb, rvdw;
  int tau_count, ref_count;
  int nsttcouple; /* -1: chosen by the reader */
  int line_capacity;
  long long chance_seed; /* 0: from the clock */
  const tg_log* log;
} tg_mdp_reading;

typedef enum tg_mdp_kind {
  TG_MDP_INT,
  TG_MDP_INT64,
  TG_MDP_REAL,
  TG_MDP_CHOICE,  /* an int field (or enumeration) */
  TG_MDP_BOOL,    /* yes, no, true, false ... into a bool */
  TG_MDP_WORDS,   /* char* [TG_MAX_GROUPS] and a count */
  TG_MDP_REALS,   /* double [TG_MAX_GROUPS] and a count */
  TG_MDP_DEFINES, /* -DNAME -DNAME=value: char* [TG_MAX_DEFINES] and a count */
  TG_MDP_INCLUDES /* -Ifolder: likewise */
} tg_mdp_kind;

/** A value a choice can take. refusal NULL: supported; else what to use instead. */
typedef struct tg_mdp_choice {
  const char* name;
  int value;
  const char* effect;
  const char* refusal;
} tg_mdp_choice;

/** A key that is implemented. Offsets are into tg_mdp_reading. */
typedef struct tg_mdp_key {
  const char* name; /* GROMACS's spelling */
  tg_mdp_kind kind;
  size_t offset, count_offset;
  double low;        /* smallest value allowed (numbers) */
  bool above;        /* the value must be larger than low */
  bool or_minus_one; /* -1 is allowed too */
  const char* unit;  /* "" for none */
  const char* default_text;
  const char* meaning;          /* what it is, for the effect */
  const tg_mdp_choice* choices; /* ends with a NULL name */
} tg_mdp_key;

extern const tg_mdp_key tg_mdp_keys[];
extern const size_t tg_mdp_key_count;

typedef enum tg_mdp_other_rule {
  TG_MDP_OFF,      /* accepted only with the words in `words` ('|' between them) or empty */
  TG_MDP_UNUSED,   /* read only by a feature that `words` switches, and that must be off */
  TG_MDP_OBSOLETE, /* GROMACS itself no longer reads it; words: why */
  TG_MDP_RENAMED   /* words: the name of today */
} tg_mdp_other_rule;

/** A key that is known and not implemented. A name that ends in '*' stands for all with that start.
 */
typedef struct tg_mdp_other {
  const char* name;
  tg_mdp_other_rule rule;
  const char* words;
  const char* advice; /* TG_MDP_OFF: what to do instead */
} tg_mdp_other;

extern const tg_mdp_other tg_mdp_others[];
extern const size_t tg_mdp_other_count;

/** Compares names and values as the format has it: '-', '_' and case do not matter. */
bool tg_mdp_same(const char* a, const char* b);

const tg_mdp_key* tg_mdp_find_key(const char* name);
const tg_mdp_other* tg_mdp_find_other(const char* name);
/** The known name closest to name, or NULL where none is close. */
const char* tg_mdp_nearest(const char* name);

/** Stores text as key's value; effect (size bytes) receives what it became. */
tg_status tg_mdp_store(tg_mdp_reading* reading, const tg_mdp_key* key, const char* text,
                       tg_place place, char* effect, size_t size);
/** Frees the words of a list and sets its count to 0. */
void tg_mdp_clear_words(char** words, int* count);

/** Appends a record for `throng md check`. */
tg_status tg_mdp_record(tg_mdp_reading* reading, const char* key, const char* value,
                        const char* effect, int line);
/** Replaces the effect recorded for a key. */
tg_status tg_mdp_amend(tg_mdp_reading* reading, const char* key, const char* format, ...)
    __attribute__((format(printf, 3, 4)));
/** The place of a key in the file (line 0 where it is a default). */
tg_place tg_mdp_place(const tg_mdp_reading* reading, const char* key);

/** The checks between keys, and what follows from several of them. */
tg_status tg_mdp_check(tg_mdp_reading* reading);

#endif
