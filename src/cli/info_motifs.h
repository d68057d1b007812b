/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/info_motifs.h  The rows of `throng info` on the motifs' backends. */
#ifndef TG_CLI_INFO_MOTIFS_H
#define TG_CLI_INFO_MOTIFS_H

#include "base/json.h"

/** For each backend of throng bench motif: whether it works, the compiler that made it, what it
 * runs on or why it does not, and what to install for more. */
void tg_cli_info_print_motifs(void);
/** The same as the array "motifs" of the object that is open. */
void tg_cli_info_json_motifs(tg_json* json);

#endif
