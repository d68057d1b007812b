/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/module.h  Backends in shared objects, each made by a compiler of its own.
 *
 * Code for a GPU by directives must be compiled, and linked, by the compiler that knows them, which
 * need not be the one that made the program; and its run-time library may be missing where the
 * program runs. So such a backend is a module that is loaded when the tables are asked for. A
 * module is C behind one function, and takes nothing from the program but what it is handed.
 *
 * A module NAME is the file throng-NAME.so, looked for in the folder $TG_MODULES (and, where that
 * is set, nowhere else), beside the program in modules/ and ../lib/throng/, and where this tree was
 * built and is installed. */
#ifndef TG_MOTIF_MODULE_H
#define TG_MOTIF_MODULE_H

#include "motif/table.h"

/** Module and program are of one version and, since both are changed between versions, agree on
 * what they hand to each other: a number to be raised where tg_module_services or the meaning of a
 * table's members changes, and the sizes of what is handed over. */
#define TG_MODULE_VERSION TG_VERSION ", modules 2"
#define TG_MODULE_LAYOUT                                                                           \
  {                                                                                                \
    sizeof(tg_motif_table), sizeof(tg_motif_memory), sizeof(tg_pairs), sizeof(tg_expectation),     \
        sizeof(tg_reduction), sizeof(tg_dense), sizeof(tg_filter_version),                         \
        sizeof(tg_scan_version), sizeof(tg_dense_version)                                          \
  }
enum { TG_MODULE_SIZES = 9 };

/** What the program hands to a module. */
typedef struct tg_module_services {
  const char* version; /* TG_MODULE_VERSION */
  tg_status (*vfail)(tg_status status, const char* format, va_list args);
  char** environment;             /* the program's environ */
  size_t layout[TG_MODULE_SIZES]; /* TG_MODULE_LAYOUT */
} tg_module_services;

/** What a module exports under the name tg_module_table. NULL for another version's services,
 * or another layout's. */
typedef const tg_motif_table* tg_module_entry(const tg_module_services* services);

/** The table of a module, loaded at the first call; where that fails, a table that says why in its
 * check. Never NULL. Where it is not wanted it is not loaded, and says so. name: "acc", "offload",
 * "offload-clang". */
const tg_motif_table* tg_module_acc(bool wanted);
const tg_motif_table* tg_module_offload(bool wanted);
const tg_motif_table* tg_module_offload_clang(bool wanted);

/** What the loaded module behind one of these tables exports under a name besides: loops of the
 * floors above. NULL: it has none, or is not there. */
void* tg_module_symbol(const tg_motif_table* table, const char* name);

#endif
