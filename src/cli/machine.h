/* SPDX-License-Identifier: Apache-2.0 */
/** @file cli/machine.h  Facts about the host for `throng info`. */
#ifndef TG_CLI_MACHINE_H
#define TG_CLI_MACHINE_H

#include "base/status.h"

typedef struct tg_cli_machine {
  char cpu_model[128];
  int cores;          /* physical; 0 where the system does not say */
  int threads;        /* logical processors that are on */
  int usable_threads; /* those this process may run on */
  const char*
      simd; /* widest vector instructions: "AVX-512", "AVX2", "SSE2", "NEON", "none known" */
  double memory_bytes, memory_available_bytes; /* 0: unknown */
  const char* openmp;                          /* "4.5"; NULL: built without */
  int openmp_threads;
} tg_cli_machine;

tg_cli_machine tg_cli_machine_query(void);

#endif
