/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/preprocessor.h  Lines of a topology after #include, #define, #ifdef, `\` and `;`.
 *
 * Every character of a line that is handed out knows the file, line and column it came from; what a
 * macro put there stands at the macro's name. */
#ifndef TG_MD_PREPROCESSOR_H
#define TG_MD_PREPROCESSOR_H

#include "base/log.h"
#include "base/status.h"
#include "base/text.h"

typedef struct tg_preprocessor tg_preprocessor;

typedef struct tg_preprocessor_parameters {
  const char* path;
  /* Searched in this order: beside the including file, the working folder, include_folders, the
   * folders of $GMXLIB (colon separated), $GMXDATA/top, the installed gromacs/top. */
  const char* const* include_folders; /* [include_count] */
  int include_count;
  const char* const* defines; /* [define_count]: "NAME" or "NAME=value", "-D" in front allowed */
  int define_count;
  const tg_log* log; /* not owned; NULL: silent */
} tg_preprocessor_parameters;

/** Opens a file. TG_ERR_INPUT where it cannot be read or a define is no name. */
tg_status tg_preprocessor_create(const tg_preprocessor_parameters* parameters,
                                 tg_preprocessor** out);
/** Releases; accepts NULL and half-built ones. The file names of its places end with it. */
void tg_preprocessor_destroy(tg_preprocessor** preprocessor);

/** Gives the next line that has words in it: continuations joined, comment cut off, macros
 * replaced. NULL at the end of the input, once all #ifdef are closed. The text lives until the next
 * call. Flags (macros without a value) are never replaced, as they stand for themselves. */
tg_status tg_preprocessor_next(tg_preprocessor* preprocessor, const char** text);
/** Where a column (1-based, as in tg_word) of the last line comes from; 0 means the whole line. */
tg_place tg_preprocessor_place(const tg_preprocessor* preprocessor, int column);
/** Hands over the names of all files that were opened: names[count], all to be released by the
 * caller. The places of lines read so far stay good as long as they are kept. */
void tg_preprocessor_take_names(tg_preprocessor* preprocessor, char*** names, size_t* count);
/** Warns about defines given in the parameters that nothing asked for: most often a slip. */
void tg_preprocessor_warn_unused(const tg_preprocessor* preprocessor);

#endif
