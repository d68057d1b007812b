/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/md_job.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

/* More than any machine has; far more and the system refuses to start them. */
enum { TG_CLI_MOST_THREADS = 1024 };

static void say(void* context, int warning, const char* line) {
  (void)context;
  if (tg_cli_speaks()) fprintf(stderr, "throng: %s%s\n", warning ? "warning: " : "", line);
}

tg_status tg_cli_md_parse_pe(const char* text, tg_md_job* job) {
  int numbers[3] = {0, 0, 0}, count = 0;
  const char* at = text;
  bool more = true; /* a number must follow */
  while (more && count < 3) {
    int length = (int)strcspn(at, "xX");
    if (!tg_parse_int(at, length, &numbers[count]) || numbers[count] < 1) break;
    count++;
    at += length;
    more = *at != '\0';
    if (more) at++;
  }
  if (more || (count != 1 && count != 3))
    return tg_fail(
        TG_ERR_INPUT,
        "--pe %s: a grid of three numbers such as 2x2x1, or one number of at least 1, was "
        "expected",
        text);
  if (count == 1)
    job->pe_count = numbers[0];
  else
    memcpy(job->grid, numbers, sizeof job->grid);
  return TG_OK;
}

tg_status tg_cli_md_job(const tg_cli_md_input* input, const tg_cli_md_machine* machine,
                        tg_md_job* out) {
  tg_md_job_default(out);
  out->configuration = input->configuration;
  out->topology = input->topology;
  out->parameters = input->parameters;
  out->index = input->index;
  out->restraints = input->restraints;
  out->include_folders = input->includes.items;
  out->include_count = input->includes.count;
  if (machine->backend) out->backend = machine->backend;
  if (machine->precision) out->precision = machine->precision;
  if (machine->halo) out->halo = machine->halo;
  out->transport = machine->transport;
  out->deadline_s = machine->deadline_s;
  bool chosen = machine->threads != INT_MIN;
  out->threads = chosen ? machine->threads : 0;
  out->message = say;
  if (chosen && machine->threads < 1)
    return tg_fail(
        TG_ERR_INPUT,
        "--threads %d: a number of at least 1 was expected; leave it out for all processors",
        machine->threads);
  if (out->threads > TG_CLI_MOST_THREADS)
    return tg_fail(TG_ERR_INPUT, "--threads %d: at most %d; leave it out for all processors",
                   machine->threads, TG_CLI_MOST_THREADS);
  if (!(machine->deadline_s > 0))
    return tg_fail(TG_ERR_INPUT, "--deadline %g: seconds, more than 0, were expected",
                   machine->deadline_s);
  return machine->pe ? tg_cli_md_parse_pe(machine->pe, out) : TG_OK;
}
