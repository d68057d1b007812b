/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/socket/ticket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"

static const char first_line[] = "throng rendezvous 1";
static const char no_job[] = "-";

tg_status tg_socket_ticket_draw(tg_socket_ticket* ticket) {
  unsigned char bytes[(TG_SOCKET_WORD - 1) / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return tg_fail(TG_ERR_MACHINE, "transport socket: the system gave no random bytes: %s",
                   strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(ticket->token + 2 * i, 3, "%02x", (unsigned)bytes[i]);
  return TG_OK;
}

tg_status tg_socket_ticket_write(const tg_socket_place* place, const tg_socket_ticket* ticket) {
  tg_new_file file;
  TG_TRY(tg_new_file_open(place->path, &file));
  if (fchmod(fileno(file.stream), 0600) != 0) {
    tg_fail(TG_ERR_MACHINE, "%s: cannot be kept from others' eyes: %s", place->path,
            strerror(errno));
    tg_new_file_abandon(&file);
    return TG_ERR_MACHINE;
  }
  fprintf(file.stream, "%s\njob %s\nhost %s\nport %d\ntoken %s\n", first_line,
          place->job[0] ? place->job : no_job, ticket->host, ticket->port, ticket->token);
  return tg_new_file_commit(&file);
}

/* The next line is "key word". */
static bool read_word(FILE* stream, const char* key, char* word, size_t size) {
  char line[128];
  if (!fgets(line, sizeof line, stream)) return false;
  size_t start = strlen(key) + 1, length = strcspn(line, "\n");
  if (line[length] != '\n' || length <= start || strncmp(line, key, start - 1) != 0 ||
      line[start - 1] != ' ' || length - start >= size)
    return false;
  memset(word, 0, size);
  memcpy(word, line + start, length - start);
  return true;
}

static bool read_ticket(FILE* stream, char job[TG_SOCKET_WORD], tg_socket_ticket* out) {
  char line[64], port[16];
  if (!fgets(line, sizeof line, stream) || strncmp(line, first_line, strlen(first_line)) != 0 ||
      strcmp(line + strlen(first_line), "\n") != 0)
    return false;
  return read_word(stream, "job", job, TG_SOCKET_WORD) &&
         read_word(stream, "host", out->host, sizeof out->host) &&
         read_word(stream, "port", port, sizeof port) &&
         read_word(stream, "token", out->token, sizeof out->token) &&
         tg_parse_int(port, (int)strlen(port), &out->port) && out->port > 0 && out->port < 65536;
}

const char* tg_socket_ticket_read(const tg_socket_place* place, tg_socket_ticket* out) {
  char job[TG_SOCKET_WORD];
  struct stat facts;
  FILE* stream = fopen(place->path, "re");
  if (!stream) return errno == ENOENT ? "the file is not there" : "the file cannot be read";
  const char* fault = NULL;
  if (fstat(fileno(stream), &facts) != 0 || facts.st_uid != geteuid() || (facts.st_mode & 022))
    fault = "the file is another user's, or others may write it";
  else if (!read_ticket(stream, job, out))
    fault = "the file is no rendezvous file of this version";
  else if (strcmp(job, place->job[0] ? place->job : no_job) != 0)
    fault = "the file is of another TG_JOB";
  fclose(stream);
  return fault;
}
