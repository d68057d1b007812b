/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/lines.h  The lines of a table of numbers: comments cut off, blank ones left out,
 * words read strictly with messages that name the place. */
#ifndef TG_CI_INPUT_LINES_H
#define TG_CI_INPUT_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

typedef struct tg_ci_lines {
  tg_text_file file;
  size_t next;    /* line to look at next, from 0 */
  int line;       /* of the present words, from 1 */
  tg_word* words; /* [count] of the present line */
  size_t count, capacity;
} tg_ci_lines;

/** Reads a file and cuts each line at the first of these characters. */
tg_status tg_ci_lines_open(const char* path, const char* comment_characters, tg_ci_lines* out);
/** The same for text in memory, under a name for messages. */
tg_status tg_ci_lines_of_text(const char* name, const char* text, const char* comment_characters,
                              tg_ci_lines* out);
void tg_ci_lines_close(tg_ci_lines* lines);

/** Moves to the next line with words; *found false at the end of the file. */
tg_status tg_ci_lines_next(tg_ci_lines* lines, bool* found);
/** The same, but the end of the file is an error: what says what was expected. */
tg_status tg_ci_lines_need(tg_ci_lines* lines, const char* what);
/** Goes back, so that the present line comes next again. */
void tg_ci_lines_back(tg_ci_lines* lines);
/** TG_ERR_INPUT where another line with words follows. */
tg_status tg_ci_lines_need_end(tg_ci_lines* lines, const char* after);

/** The place of word k of the present line; of its end where there are fewer words. */
tg_place tg_ci_lines_place(const tg_ci_lines* lines, size_t k);

/** The present line has from least to most words: "expected WHAT". */
tg_status tg_ci_lines_words(const tg_ci_lines* lines, size_t least, size_t most, const char* what);
/** Word k as a whole number between least and most, or a finite real (an exponent may be D). */
tg_status tg_ci_lines_int(const tg_ci_lines* lines, size_t k, const char* what, int least, int most,
                          int* out);
tg_status tg_ci_lines_real(const tg_ci_lines* lines, size_t k, const char* what, double* out);
/** A half-integer written as a real (2.5) or a ratio (5/2): 2j. */
tg_status tg_ci_lines_half(const tg_ci_lines* lines, size_t k, const char* what, int* two_j);

/** Half the last printed digit's unit of word k, a real (1.2345 gives 0.00005), at most 0.0005: how
 * far two prints of one number may be apart. */
double tg_ci_lines_resolution(const tg_ci_lines* lines, size_t k);

/** A word as a whole number / real, without messages. */
bool tg_ci_word_int(tg_word word, int* out);
bool tg_ci_word_real(tg_word word, double* out);

#endif
