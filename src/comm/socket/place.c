/* SPDX-License-Identifier: Apache-2.0 */
/* What the environment says about this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "comm/socket/rendezvous.h"

enum { SHORTEST_SECRET = 8 };

static tg_status number(const char* name, int least, int most, int* out) {
  const char* text = getenv(name);
  if (!text || !*text)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: %s is not set; each process needs TG_BOOTSTRAP, TG_PE and "
                   "TG_PE_COUNT in its environment",
                   name);
  if (!tg_parse_int(text, (int)strlen(text), out) || *out < least || *out > most)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: %s is '%s'; a number from %d to %d was expected", name, text,
                   least, most);
  return TG_OK;
}

/* A word of the environment into out, [TG_SOCKET_WORD]. */
static tg_status word(const char* name, char* out) {
  const char* text = getenv(name);
  if (!text) return TG_OK;
  size_t length = strlen(text);
  if (length >= TG_SOCKET_WORD || strcspn(text, " \t\r\n") != length)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: %s is '%.80s'; at most %d characters without spaces were "
                   "expected",
                   name, text, TG_SOCKET_WORD - 1);
  memcpy(out, text, length + 1);
  return TG_OK;
}

/* HOST:PORT; a host of colons stands in brackets. */
static tg_status read_tcp(const char* text, tg_socket_place* out) {
  const char* colon = strrchr(text, ':');
  size_t length = colon ? (size_t)(colon - text) : 0;
  if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
    text++;
    length -= 2;
  }
  if (!length || length >= sizeof out->host ||
      !tg_parse_int(colon + 1, (int)strlen(colon + 1), &out->port) || out->port < 1 ||
      out->port > 65535)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: TG_BOOTSTRAP is '%s'; tcp:HOST:PORT with a port from 1 to "
                   "65535 was expected",
                   out->bootstrap);
  memcpy(out->host, text, length);
  out->host[length] = '\0';
  if (strlen(out->job) < SHORTEST_SECRET)
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: with TG_BOOTSTRAP=tcp:... TG_JOB must be set, alike for all "
                   "processes, to a word of %d or more characters that nobody guesses: it is what "
                   "tells them from strangers",
                   SHORTEST_SECRET);
  return TG_OK;
}

/* PATH, or PATH.JOB: two runs of one path do not touch each other's file. */
static tg_status name_file(const char* path, tg_socket_place* out) {
  if (strchr(out->job, '/'))
    return tg_fail(
        TG_ERR_INPUT,
        "transport socket: TG_JOB is '%s'; with TG_BOOTSTRAP=file:... it becomes part of "
        "the file's name, and / cannot be in it",
        out->job);
  int length =
      snprintf(out->name, sizeof out->name, "%s%s%s", path, out->job[0] ? "." : "", out->job);
  if (length < 0 || (size_t)length >= sizeof out->name)
    return tg_fail(TG_ERR_INPUT, "TG_BOOTSTRAP: the path %.60s... is too long; use a shorter one",
                   path);
  out->path = out->name;
  return TG_OK;
}

tg_status tg_socket_place_read(tg_socket_place* out) {
  memset(out, 0, sizeof *out);
  TG_TRY(number("TG_PE_COUNT", 1, TG_SOCKET_MOST_PES, &out->pe_count));
  TG_TRY(number("TG_PE", 0, out->pe_count - 1, &out->pe));
  TG_TRY(word("TG_JOB", out->job));
  out->bootstrap = getenv("TG_BOOTSTRAP");
  if (out->bootstrap && strncmp(out->bootstrap, "tcp:", 4) == 0)
    return read_tcp(out->bootstrap + 4, out);
  if (!out->bootstrap || strncmp(out->bootstrap, "file:", 5) != 0 || !out->bootstrap[5])
    return tg_fail(TG_ERR_INPUT,
                   "transport socket: TG_BOOTSTRAP is '%s'; file:PATH, a path that all processes "
                   "see, or tcp:HOST:PORT was expected",
                   out->bootstrap ? out->bootstrap : "");
  TG_TRY(name_file(out->bootstrap + 5, out));
  TG_TRY(word("TG_HOST", out->host));
  if (!out->host[0]) snprintf(out->host, sizeof out->host, "127.0.0.1");
  return TG_OK;
}
