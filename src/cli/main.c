/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/interrupt.h"
#include "cli/cli.h"

int main(int argc, char** argv) {
  if (tg_interrupt_install() != TG_OK) fprintf(stderr, "throng: %s\n", tg_last_error());
  return tg_cli_main(&tg_cli_program, argc, argv);
}
