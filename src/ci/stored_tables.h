/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored_tables.h  The tables of jumps as flat arrays, for builders on a device, and the
 * values that occur often.
 *
 * A *word* stands for a value from a table: 2 * its number, + 1 for a minus; 0: the value is zero.
 * Words are given to the elements w(a,b) and to those elements of one species that no particle of
 * the other changes, where there are few different ones: those of two-body elements, which Clebsch-
 * Gordan coefficients make from few numbers. */
#ifndef TG_CI_STORED_TABLES_H
#define TG_CI_STORED_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tg_ci_fly;

enum {
  TG_CI_MOST_VALUES = 8192, /* of a table: 64 KiB, which leaves room for the cache beside it */
  TG_CI_OFTEN = 16          /* a value of one species alone is worth a place from so many on */
};
#define TG_CI_NO_WORD UINT32_MAX

typedef struct tg_ci_flat_link {
  uint32_t source;  /* class */
  uint32_t channel; /* 0 of a species alone */
  uint32_t begin;   /* row r's entries are begin[r] ... begin[r + 1] - 1 from here on */
} tg_ci_flat_link;

/** The links of one kind, to all classes of a species. */
typedef struct tg_ci_flat_links {
  size_t class_count, link_count, begin_count, count;
  uint32_t* of_class;     /* [class_count + 1] first link */
  tg_ci_flat_link* links; /* [link_count] */
  uint32_t* begin;        /* [begin_count] */
  uint32_t* from;         /* [count] string within the source class */
} tg_ci_flat_links;

typedef struct tg_ci_flat_species {
  size_t strings, particles;
  uint32_t* first;    /* [classes] number of its first string */
  uint16_t* orbitals; /* [strings, particles] */
  double* diagonal;   /* [strings] */
  tg_ci_flat_links jumps, alone;
  uint32_t* code;  /* [jumps] 2 * operator, + 1 for a minus; A's operators are numbered through all
                      channels, B's within one */
  uint32_t* field; /* [alone] 2 * row of fields, + 1 for a minus: what the other species adds; 0:
                      nothing */
  uint32_t* word;  /* [alone]; TG_CI_NO_WORD where there is none, or a field */
  double* value;   /* [alone] */
  double* fields;  /* [field_rows, orbitals of the other species]; the first row is of zeros */
  size_t field_rows, field_stride;
} tg_ci_flat_species;

typedef struct tg_ci_flat {
  uint64_t dimension;
  size_t block_count, class_count[2], channel_count;
  uint32_t *block_a, *block_b, *columns; /* [block_count] */
  uint64_t* offset;                      /* [block_count + 1] */
  uint32_t* block_of;     /* [classes of A, classes of B] number; UINT32_MAX: there is none */
  uint32_t* channel_link; /* [classes of B, channels + 1] first of B's links of a channel */
  tg_ci_flat_species species[2];
  size_t operator_count; /* of A */
  uint32_t* row_begin;   /* [operator_count] where w(a,b) starts in rows and row_words */
  size_t row_count;
  double* rows;        /* [row_count] w(a,b) */
  uint32_t* row_words; /* [row_count] */
  double* still;       /* [orbitals of A, orbitals of B] w(pp,qq) */
  size_t still_count, still_stride;
  double constant;
  size_t value_count; /* of the words, the zero included; 0: no words */
  double* values;     /* [value_count], not negative; the first is 0 */
} tg_ci_flat;

/** coded: with words, where that is possible. TG_ERR_INPUT for tables of a few elements;
 * TG_ERR_MACHINE where numbers do not fit 32 bits. */
tg_status tg_ci_flat_make(const struct tg_ci_fly* fly, bool coded, tg_ci_flat* out);
/** Accepts a zeroed or half-built one. */
void tg_ci_flat_free(tg_ci_flat* flat);

uint64_t tg_ci_flat_dimension(const struct tg_ci_fly* fly);
/** Whether a state, or the end of the space, is where a row of a block begins. */
bool tg_ci_flat_begins_row(const struct tg_ci_fly* fly, uint64_t state);
/** Whether w(a,b) has few enough different values for words. */
bool tg_ci_flat_may_code(const struct tg_ci_fly* fly);

/** How many elements, the diagonal excepted, the rows of states first ... end - 1 have, and how
 * many of those get something from the other species' particles: single jumps. */
void tg_ci_flat_count(const struct tg_ci_fly* fly, uint64_t first, uint64_t end, uint64_t* elements,
                      uint64_t* with_fields);

#ifdef __cplusplus
}
#endif
#endif
