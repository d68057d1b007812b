/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/sheets.h  The tables of jumps cut to what a GPU's block of threads does at a time.
 *
 * For a row i' of y (a string of A) and a link of B, jumps k of A lead to i' from rows i_k of x.
 * A block of threads makes first the small dense matrix
 *
 *   V[b, j] = sum over k of phase_k w(a_k, b) x[i_k, j]
 *
 * of all operators b of the link and a chunk of the source's strings j, and keeps the numbers that
 * some jump needs, as many as its memory holds; then y[i', j'] += sum over jumps b: j -> j' of
 * phase V[b, j]. A *sheet* is a link of B cut into such chunks: which V an element of y needs. At
 * most 64 operators are in a sheet, links with more have several; large classes of j' are cut into
 * *tiles*, whose sheets are the same but for j'.
 *
 * A *unit* is 16 columns j of V, made by the 32 lanes of a warp eight operators at a time. Lane l
 * makes columns l / 4 and l / 4 + 8 and, of each eight operators, 2 (l % 4) and the next one: bit 4
 * o + 2 h + p of its mask tells whether a jump needs operator 8 o + 2 (l % 4) + p and column l / 4
 * + 8 h. Numbers that are needed have the *places* of the chunk one after the other: unit by unit,
 * of a unit lane by lane, of a lane in the order of the bits.
 *
 * Jumps of a chunk are sorted by j', strings j' with many jumps first, 32 strings side by side: a
 * *group*. Its words are [1 + most / 2, 32]: in the first one the string's number in the tile (16
 * bits; the tile's count: none) and the first jump, in each of the others two jumps. A jump is the
 * place of its V (15 bits) and, in the highest bit, its sign. Empty places are the last one of the
 * tile's room, which holds a zero. */
#ifndef TG_CI_SHEETS_H
#define TG_CI_SHEETS_H

#include "ci/product_fly.h"

enum {
  TG_CI_SHEET_LEAST = 16, /* rows and columns of a large block: only these have sheets */
  TG_CI_SHEET_JUMPS = 16, /* of A that are multiplied at once */
  TG_CI_SHEET_OPERATORS = 64,
  TG_CI_SHEET_UNIT = 16, /* columns */
  TG_CI_SHEET_LANES = 32,
  TG_CI_TILE_MOST = 12288 /* strings */
};

typedef struct tg_ci_sheet {
  uint32_t source, channel;
  uint32_t columns; /* strings of the source */
  uint32_t chunks, chunk_count;
  uint32_t operators, operator_count; /* in tg_ci_sheets::operators */
} tg_ci_sheet;

typedef struct tg_ci_chunk {
  uint32_t groups, group_count; /* in tg_ci_sheets::group_begin */
  uint32_t units, unit_count;   /* in tg_ci_sheets::units */
  uint32_t column;              /* the first */
} tg_ci_chunk;

typedef struct tg_ci_tile {
  uint32_t target;       /* class */
  uint32_t first, count; /* its strings */
  uint32_t room;         /* numbers V may keep, and a zero */
  uint32_t sheets, sheet_count;
} tg_ci_tile;

typedef struct tg_ci_sheets {
  uint32_t* tile_begin; /* [classes + 1] */
  tg_ci_tile* tiles;
  tg_ci_sheet* sheets; /* in the order of the class's links, the same for all its tiles */
  tg_ci_chunk* chunks;
  uint8_t* units;        /* bits: which eights of operators are needed */
  uint32_t* masks;       /* [units, 32] */
  uint16_t* first;       /* [units, 32] place of a lane's first number */
  uint32_t* group_begin; /* [groups + 1] in 32 words */
  uint32_t* words;
  uint32_t* operators; /* numbers in their channel */
  size_t tile_count, sheet_count, chunk_count, unit_count, group_count, word_count, operator_count;
} tg_ci_sheets;

/** Numbers V may keep for a class of so many strings. */
uint32_t tg_ci_sheet_room(uint64_t strings);
/** The sheets of B's classes that are wanted: [classes]. threads >= 1. */
tg_status tg_ci_sheets_make(const tg_ci_fly* fly, const bool* wanted, int threads,
                            tg_ci_sheets* out);
/** Accepts a zeroed or half-built one; leaves it zeroed. */
void tg_ci_sheets_free(tg_ci_sheets* sheets);
/** All of OpenMP's. */
int tg_ci_sheet_threads(void);
/** Roughly, before they are made. */
uint64_t tg_ci_sheets_bytes(const tg_ci_fly* fly);

/** Jumps of A by the string they lead to: those of link l of a class to its string r are
 * begin[base[class] + r * (links + 1) + l] up to the next. */
typedef struct tg_ci_steps {
  size_t count, begin_count, class_count;
  uint32_t* base; /* [classes] */
  uint32_t* begin;
  uint32_t* from; /* string within the source class */
  uint32_t* code; /* 2 * operator + minus */
  uint32_t* row;  /* where w(a, b) begins in tg_ci_fly::rows; the highest bit: minus */
} tg_ci_steps;

/** Of the classes of A that are wanted: [classes]. */
tg_status tg_ci_steps_make(const tg_ci_fly* fly, const bool* wanted, tg_ci_steps* out);
void tg_ci_steps_free(tg_ci_steps* steps);

/** A link of A with a sheet of B, for a block of y. */
typedef struct tg_ci_sheet_pair {
  uint64_t offset; /* of the block of x */
  uint32_t link;   /* of the class of A; UINT32_MAX: none */
  uint32_t sheet;  /* of the tile */
  uint32_t still;  /* 1: the string of A that stays is one more jump, with w = sum of w(pp,b) */
  uint32_t padding;
} tg_ci_sheet_pair;

typedef struct tg_ci_sheet_pairs {
  uint32_t* begin; /* [blocks + 1] */
  tg_ci_sheet_pair* pairs;
  size_t count, room;
} tg_ci_sheet_pairs;

/** Of the blocks that are wanted: [blocks]. */
tg_status tg_ci_sheet_pairs_make(const tg_ci_fly* fly, const tg_ci_sheets* sheets,
                                 const bool* wanted, tg_ci_sheet_pairs* out);
void tg_ci_sheet_pairs_free(tg_ci_sheet_pairs* pairs);

#endif
