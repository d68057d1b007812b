/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/input/input.h  What a calculation is told: the files (or built-in interactions) of a
 * nucleus or of a molecule, read, recognised and added up. docs/formats.md describes the formats.
 */
#ifndef TG_CI_INPUT_INPUT_H
#define TG_CI_INPUT_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "ci/integrals.h"
#include "ci/model.h"

typedef enum tg_ci_format {
  TG_CI_AUTO,    /* looked at: from the content, never from the name */
  TG_CI_SNT,     /* KSHELL */
  TG_CI_PTN,     /* KSHELL's partition file */
  TG_CI_SPS,     /* orbits, OXBASH and BIGSTICK */
  TG_CI_SP,      /* orbits, NuShell */
  TG_CI_INT,     /* OXBASH, NuShellX, BIGSTICK: one of the next three, looked at */
  TG_CI_INT_ISO, /* isospin form */
  TG_CI_INT_XPN, /* protons and neutrons, normalised */
  TG_CI_INT_UPN, /* protons and neutrons, pn elements not normalised */
  TG_CI_OPME,    /* one-body operator */
  TG_CI_MFDN,    /* MFDn's text of before h2 */
  TG_CI_H2,      /* MFDn h2, text, version 15099 */
  TG_CI_FCIDUMP,
  TG_CI_BUILTIN, /* builtin:usdb, builtin:ckpot, builtin:sdi,... */
  TG_CI_FORMATS,
} tg_ci_format;

/** "snt", "int", "xpn" ...: the name of --format; NULL-safe tables. */
const char* tg_ci_format_name(tg_ci_format format);
/** The format of a name, ignoring case. TG_ERR_INPUT lists the names. */
tg_status tg_ci_format_parse(const char* name, tg_ci_format* out);

/** What format a file has. TG_ERR_INPUT shows its first line and lists what would be read. */
tg_status tg_ci_recognise(const char* path, tg_ci_format* out);

/** What to do about the mass scaling of two-body elements. */
typedef enum tg_ci_scale_choice {
  TG_CI_SCALE_AS_FILE,
  TG_CI_SCALE_NONE,
  TG_CI_SCALE_GIVEN,
} tg_ci_scale_choice;

typedef struct tg_ci_source {
  const char* path;
  tg_ci_format format; /* TG_CI_AUTO, or forced */
  tg_ci_scale_choice scale_choice;
  tg_ci_scaling scaling; /* of TG_CI_SCALE_GIVEN */
  bool core_given;       /* the mass of the core, where no file says it */
  double core_mass;
} tg_ci_source;

/** Parses `A0,p`, `A0,p,Acore` (for files that do not say the mass of their core) or `none` into a
 * source. */
tg_status tg_ci_scale_parse(const char* text, tg_ci_source* source);

/** Lines about what was found and done, for people. */
typedef struct tg_ci_notes {
  char** line; /* [count] */
  size_t count, capacity;
} tg_ci_notes;

/** Facts about one file, for `throng ci check`. */
typedef struct tg_ci_facts {
  char* path;
  tg_ci_format format;
  size_t orbits; /* j-orbits of both species, or spatial (UHF: spin) orbitals */
  size_t one_body;
  size_t two_body[TG_CI_PAIR_KINDS]; /* elements kept: pp, nn, pn; of molecules aa, bb, ab */
  size_t duplicates;         /* elements given more than once, agreeing within their digits */
  double duplicate_mismatch; /* and the largest difference among them */
  size_t zeros;              /* zero elements of states that cannot be: left out */
  size_t ignored;            /* lines that are of no use here, such as orbital energies */
  tg_ci_scaling scaling;
} tg_ci_facts;

typedef enum tg_ci_kind { TG_CI_NUCLEUS, TG_CI_MOLECULE } tg_ci_kind;

typedef struct tg_ci_input {
  tg_ci_kind kind;
  tg_ci_model model;         /* of a nucleus */
  tg_ci_integrals integrals; /* of a molecule */
  double isospin_breaking;   /* tg_ci_model_isospin_breaking */
  tg_ci_facts* facts;        /* [fact_count], a file each, in the order given */
  size_t fact_count;
  tg_ci_notes notes;
} tg_ci_input;

/** Reads and adds up. Files of orbits (.sps, .sp) serve the .int files beside them. Not for .ptn
 * and .opme files, which have readers of their own (partition.h, transitions.h): refused by name.
 */
tg_status tg_ci_input_read(const tg_ci_source* sources, size_t count, tg_ci_input* out);
void tg_ci_input_free(tg_ci_input* input);

#endif
