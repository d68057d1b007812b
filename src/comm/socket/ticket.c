/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/socket/ticket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static const char first_line[] = "throng rendezvous 1";
static const char magic[] = "throng rendezvous "; /* of all versions */
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

static const char* kind_of(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link, which is not followed";
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

static tg_status refuse(const tg_socket_place* place, const char* what) {
  return tg_fail(TG_ERR_INPUT,
                 "%s: is %s; TG_BOOTSTRAP=file:... needs a path where nothing is yet, or a "
                 "rendezvous file that an earlier run left behind",
                 place->path, what);
}

/* A pipe that takes the place of a file meanwhile must not hold this process up either. */
static int open_for_reading(const char* path) {
  return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

tg_status tg_socket_ticket_check(const tg_socket_place* place) {
  char start[sizeof magic - 1];
  struct stat facts;
  if (lstat(place->path, &facts) != 0) return TG_OK; /* writing or reading tells why */
  if (!S_ISREG(facts.st_mode)) return refuse(place, kind_of(facts.st_mode));
  int fd = open_for_reading(place->path);
  /* gone since, as a file is whose run has met */
  if (fd < 0 && (errno == ENOENT || errno == ESTALE)) return TG_OK;
  if (fd < 0) return refuse(place, "a file that cannot be read");
  ssize_t got = read(fd, start, sizeof start);
  close(fd);
  if (got == (ssize_t)sizeof start && memcmp(start, magic, sizeof start) == 0) return TG_OK;
  if (got < 0 && errno == ESTALE) return TG_OK;
  return refuse(place, got ? "a file of something else" : "an empty file");
}

tg_status tg_socket_ticket_write(const tg_socket_place* place, const tg_socket_ticket* ticket) {
  char part[TG_SOCKET_PATH + 8];
  TG_TRY(tg_socket_ticket_check(place));
  int length = snprintf(part, sizeof part, "%s.XXXXXX", place->path);
  if (length < 0 || (size_t)length >= sizeof part)
    return tg_fail(TG_ERR_INPUT, "TG_BOOTSTRAP: the path %.60s... is too long; use a shorter one",
                   place->path);
  int fd = mkstemp(part); /* for its owner's eyes only, and under a name that nobody else has */
  if (fd < 0)
    return tg_fail(TG_ERR_INPUT, "%s: no rendezvous file can be written there: %s", place->path,
                   strerror(errno));
  char text[4 * 128];
  length = snprintf(text, sizeof text, "%s\njob %s\nhost %s\nport %d\ntoken %s\n", first_line,
                    place->job[0] ? place->job : no_job, ticket->host, ticket->port, ticket->token);
  bool written = write(fd, text, (size_t)length) == length;
  if (fsync(fd) != 0) written = false;
  if (close(fd) != 0) written = false;
  if (written && rename(part, place->path) == 0) return TG_OK;
  int error = errno;
  unlink(part);
  return tg_fail(TG_ERR_MACHINE, "%s: the rendezvous file cannot be written: %s", place->path,
                 strerror(error));
}

void tg_socket_ticket_remove(const tg_socket_place* place, const tg_socket_ticket* ticket) {
  tg_socket_ticket there;
  if (!tg_socket_ticket_read(place, &there) && strcmp(there.token, ticket->token) == 0)
    unlink(place->path);
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
  int fd = open_for_reading(place->path);
  if (fd < 0) return errno == ENOENT ? "the file is not there" : "the file cannot be read";
  FILE* stream = fdopen(fd, "r");
  if (!stream) {
    close(fd);
    return "the file cannot be read";
  }
  const char* fault = NULL;
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
    fault = "it is no regular file";
  else if (facts.st_uid != geteuid() || (facts.st_mode & 022))
    fault = "the file is another user's, or others may write it";
  else if (!read_ticket(stream, job, out))
    fault = "the file is no rendezvous file of this version";
  else if (strcmp(job, place->job[0] ? place->job : no_job) != 0)
    fault = "the file is of another TG_JOB";
  fclose(stream);
  return fault;
}
