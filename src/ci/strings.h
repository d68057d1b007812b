/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/strings.h  Strings: the Slater determinants of the particles of one species.
 *
 * A string of N particles occupies N of the species' orbitals. Strings fall into *classes*: the sum
 * of 2m, the product of the symmetry labels, the weight (the sum of the orbitals' weights, 0 where
 * no limit asks for it) and the number of the partition (which occupations of the shells; 0 where
 * partitions are not listed). They are numbered class by class, in the order of (2m, label, weight,
 * partition), and within a class lexicographically by their rising lists of orbitals.
 *
 * How many strings each class has is counted without making any of them: orbital after orbital,
 * the number of ways to reach each (particles, 2m, label, weight) is that of the ways without the
 * orbital plus that of the ways with it. Where a shell's occupation is limited, the ways within the
 * shell are counted first, those outside the limit are dropped, and the rest multiplied in. */
#ifndef TG_CI_STRINGS_H
#define TG_CI_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "ci/hamiltonian.h"

/** What an orbital may be used for. */
typedef enum tg_ci_role {
  TG_CI_ACTIVE,
  TG_CI_FROZEN, /* occupied in every string; counts as a particle, and in its shell */
  TG_CI_UNUSED, /* in none */
} tg_ci_role;

/** Which strings are wanted; arrays belong to the caller and are read during calls only. */
typedef struct tg_ci_limits {
  int particles;              /* the frozen ones too */
  const uint8_t* roles;       /* [orbitals] of tg_ci_role; NULL: all active */
  int weight_most;            /* limit of the weight; -1: none, and the weight is not looked at */
  size_t shells;              /* numbers of shells are smaller; for the arrays below */
  const uint16_t* least;      /* [shells] occupation; NULL: 0 */
  const uint16_t* most;       /* [shells]; NULL: no limit */
  size_t partition_count;     /* 0: any */
  const uint16_t* partitions; /* [partition_count, shells] occupations, different rows */
} tg_ci_limits;

typedef struct tg_ci_class {
  int32_t two_m;
  uint32_t symmetry, weight, partition;
  size_t begin;   /* number of its first string */
  uint64_t count; /* strings; UINT64_MAX: at least as many */
} tg_ci_class;

/** Classes that are not empty, in their order, with begin 0. TG_ERR_INPUT for limits that name
 * unknown shells or more particles than orbitals. Release with tg_free. */
tg_status tg_ci_classes_count(size_t orbital_count, const tg_ci_orbital* orbitals,
                              const tg_ci_limits* limits, const char* species, tg_ci_class** out,
                              size_t* out_count);

typedef struct tg_ci_strings {
  int particles;
  uint32_t heaviest; /* of the classes; 0 where weights are not looked at */
  size_t orbitals, count, class_count;
  tg_ci_class* classes; /* [class_count] */
  uint16_t* orbital;    /* [count, particles], rising in a string */
  uint64_t* low;        /* [count]: bit o where orbital o < 64 is occupied */
  uint64_t* marks;      /* [orbitals] random words; a string's is the xor of its orbitals' */
  uint32_t* table;      /* [table_size] number + 1 of strings at or behind their word's place */
  size_t table_size;    /* a power of two */
} tg_ci_strings;

/** The strings of these classes, which tg_ci_classes_count gave with the same limits (perhaps a
 * part of them). Fewer than 2^32 - 1 strings. */
tg_status tg_ci_strings_make(size_t orbital_count, const tg_ci_orbital* orbitals,
                             const tg_ci_limits* limits, size_t class_count,
                             const tg_ci_class* classes, tg_ci_strings* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_strings_free(tg_ci_strings* strings);
/** Bytes of so many strings; SIZE_MAX where tg_ci_strings_make would refuse. */
size_t tg_ci_strings_bytes(int particles, size_t orbitals, uint64_t count);

/** The string's rising list of orbitals: [particles]. */
static inline const uint16_t* tg_ci_string(const tg_ci_strings* strings, size_t number) {
  return strings->orbital + number * (size_t)strings->particles;
}
/** Number of the string with this rising list and this mark (the xor of its orbitals' marks);
 * SIZE_MAX: not among them. */
size_t tg_ci_strings_find(const tg_ci_strings* strings, const uint16_t* orbitals, uint64_t mark);
/** The same by the bits of its orbitals, of which there are at most 64. */
size_t tg_ci_strings_find_bits(const tg_ci_strings* strings, uint64_t bits, uint64_t mark);
uint64_t tg_ci_strings_mark(const tg_ci_strings* strings, const uint16_t* orbitals);
/** Class of string number. */
size_t tg_ci_strings_class(const tg_ci_strings* strings, size_t number);
/** First class at or behind (two_m, symmetry, weight 0, partition 0) in a list in order. */
size_t tg_ci_classes_from(size_t count, const tg_ci_class* classes, int two_m, uint32_t symmetry);

#endif
