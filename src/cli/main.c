/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "cli/cli.h"

/* libgomp's threads spin for milliseconds at the end of a parallel region before they sleep. Where
 * another process uses one of the cores that is fatal: the spinning thread keeps the one it waits
 * for from running until the scheduler steps in, and a step takes ten times as long. Some
 * microseconds of spinning lose nothing on an idle machine. libgomp reads its environment before
 * main is called, so the program starts itself once more; what the user has set stands, and a
 * failure to start leaves everything as it was. */
static void shorten_spinning(char** argv) {
  if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT")) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) == 0) execv("/proc/self/exe", argv);
}

int main(int argc, char** argv) {
#ifdef _OPENMP
  shorten_spinning(argv);
#else
  (void)shorten_spinning;
#endif
  if (tg_interrupt_install() != TG_OK) fprintf(stderr, "throng: %s\n", tg_last_error());
  return tg_cli_main(&tg_cli_program, argc, argv);
}
