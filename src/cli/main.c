/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "cli/cli.h"

/* How long OpenMP's threads spin at the end of a parallel region before they sleep. By GCC's
 * default it is some 10 ms, in which they keep processors that others need: several processing
 * elements, or other programs, then take turns at the scheduler's pace and a step takes ten times
 * as long. The runtime reads the environment before main, so the program starts itself once more
 * with its choice, unless the user has made one. A failure to do so costs speed only. */
static void choose_waiting(char** argv) {
  static const char* const spins = "1000"; /* some 50 us: longer than what runs on one thread */
  if (getenv("GOMP_SPINCOUNT") || getenv("OMP_WAIT_POLICY")) return;
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length <= 0 || setenv("GOMP_SPINCOUNT", spins, 1) != 0) return;
  path[length] = '\0';
  execv(path, argv);
}

/* Where a standard stream is closed, the first file that is opened would get its number, and what
 * is printed would go into that file. Something that can be neither read nor written in its
 * direction takes its place, so that using it fails as before. */
static void occupy_standard_streams(void) {
  for (int number = 0; number <= 2; number++) {
    if (fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    (void)!open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY); /* gets the lowest number */
  }
}

int main(int argc, char** argv) {
  occupy_standard_streams();
  choose_waiting(argv);
  if (tg_interrupt_install() != TG_OK) fprintf(stderr, "throng: %s\n", tg_last_error());
  return tg_cli_main(&tg_cli_program, argc, argv);
}
