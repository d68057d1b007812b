/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOCK_TRIES = 20, LOCK_PAUSE_NS = 5000000 };
enum { PATH_SIZE = sizeof((tg_new_file*)0)->path };

static tg_status too_long(const char* path) {
  return tg_fail(TG_ERR_INPUT, "the path %.60s... is too long; use a shorter one", path);
}

tg_status tg_path_join(const char* folder, const char* name, char* out, size_t size) {
  size_t length = strlen(folder);
  const char* between = length == 0 || folder[length - 1] == '/' ? "" : "/";
  int needed = snprintf(out, size, "%s%s%s", folder, between, name);
  return needed < 0 || (size_t)needed >= size ? too_long(length ? folder : name) : TG_OK;
}

tg_status tg_path_folder(const char* path, char* out, size_t size) {
  const char* slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) : 1;
  if (slash == path) length = 1; /* the root itself */
  if (length >= size) return too_long(path);
  memcpy(out, slash ? path : ".", length);
  out[length] = '\0';
  return TG_OK;
}

bool tg_path_exists(const char* path) {
  struct stat info;
  return stat(path, &info) == 0;
}

tg_status tg_path_resolve(const char* path, char* out, size_t size) {
  char head[PATH_MAX], real[PATH_MAX], rest[PATH_MAX] = "";
  size_t length = strlen(path);
  if (length >= sizeof head) return too_long(path);
  memcpy(head, path, length + 1);
  while (!realpath(length ? head : ".", real)) {
    if (!length) return tg_fail(TG_ERR_MACHINE, "%s: %s", path, strerror(errno));
    while (length > 1 && head[length - 1] == '/') length--;
    size_t end = length;
    while (length && head[length - 1] != '/') length--;
    char longer[PATH_MAX];
    int used = snprintf(longer, sizeof longer, "/%.*s%s", (int)(end - length), head + length, rest);
    if (used < 0 || (size_t)used >= sizeof longer) return too_long(path);
    memcpy(rest, longer, sizeof rest);
    head[length] = '\0';
  }
  const char* start = strcmp(real, "/") == 0 && rest[0] ? "" : real;
  int used = snprintf(out, size, "%s%s", start, rest);
  return used < 0 || (size_t)used >= size ? too_long(path) : TG_OK;
}

bool tg_path_same(const char* a, const char* b) {
  struct stat of_a, of_b;
  if (stat(a, &of_a) == 0 && stat(b, &of_b) == 0)
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
  char real_a[PATH_MAX], real_b[PATH_MAX];
  return tg_path_resolve(a, real_a, sizeof real_a) == TG_OK &&
         tg_path_resolve(b, real_b, sizeof real_b) == TG_OK && strcmp(real_a, real_b) == 0;
}

bool tg_folder_has_entries(const char* path) {
  DIR* folder = opendir(path);
  if (!folder) return false;
  bool found = false;
  for (struct dirent* entry; !found && (entry = readdir(folder));)
    found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(folder);
  return found;
}

tg_status tg_folder_make(const char* path) {
  char part[PATH_SIZE];
  size_t length = strlen(path);
  if (length == 0)
    return tg_fail(TG_ERR_INPUT, "an empty folder name was given; use . for this one");
  if (length >= sizeof part) return too_long(path);
  memcpy(part, path, length + 1);
  for (size_t i = 1; i <= length; i++) {
    if (part[i] != '/' && part[i] != '\0') continue;
    part[i] = '\0';
    /* whatever the reason, what counts is whether the folder is there in the end */
    int error = mkdir(part, 0777) == 0 ? 0 : errno;
    struct stat info;
    if (stat(part, &info) != 0)
      return tg_fail(TG_ERR_INPUT, "%s: the folder cannot be made: %s", part, strerror(error));
    if (!S_ISDIR(info.st_mode))
      return tg_fail(TG_ERR_INPUT, "%s: is a file where a folder is needed; choose another name",
                     part);
    part[i] = path[i];
  }
  if (access(path, W_OK | X_OK) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: nothing can be written into this folder: %s", path,
                   strerror(errno));
  return TG_OK;
}

tg_status tg_folder_lock(const char* path, int* lock) {
  *lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (*lock < 0 || flock(*lock, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return TG_OK;
  close(*lock);
  *lock = -1;
  return tg_fail(TG_ERR_INPUT,
                 "%s: another run is writing into this folder; wait for its end, or choose another "
                 "folder (-o)",
                 path);
}

tg_status tg_file_keep_copy(const char* path) {
  struct stat info;
  if (lstat(path, &info) != 0) return TG_OK;
  char kept[PATH_SIZE + 16];
  for (int number = 1; number < INT_MAX; number++) {
    int length = snprintf(kept, sizeof kept, "%s.%d", path, number);
    if (length < 0 || (size_t)length >= sizeof kept) return too_long(path);
    if (lstat(kept, &info) == 0) continue;
    if (rename(path, kept) == 0) return TG_OK;
    return tg_fail(TG_ERR_INPUT, "%s: the earlier file cannot be kept as %s: %s", path, kept,
                   strerror(errno));
  }
  return tg_fail(TG_ERR_INPUT, "%s: no number is free for a copy", path);
}

static tg_status cannot_write(const char* path) {
  int error = errno;
  char folder[PATH_SIZE];
  if (error == ENOENT && tg_path_folder(path, folder, sizeof folder) == TG_OK)
    return tg_fail(TG_ERR_INPUT,
                   "%s: cannot be written: the folder %s does not exist; make it first", path,
                   folder);
  return tg_fail(TG_ERR_INPUT, "%s: cannot be written: %s", path, strerror(error));
}

/* Locks the file that was opened as part. 0, EWOULDBLOCK where another has it, ESTALE where part is
 * another file by now: whoever had it has renamed or removed it in between. */
static int lock_part(int descriptor, const char* part) {
  struct stat mine, named;
  /* file systems without locks say so, and are trusted */
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return EWOULDBLOCK;
  if (fstat(descriptor, &mine) != 0) return errno;
  if (stat(part, &named) != 0 || mine.st_dev != named.st_dev || mine.st_ino != named.st_ino)
    return ESTALE;
  return ftruncate(descriptor, 0) == 0 ? 0 : errno;
}

/* Opens part for this process alone; one that a process left behind when it was killed is not
 * locked, and is written anew. A look of another's (tg_new_file_check) is over soon. */
static tg_status open_part(tg_new_file* file, const char* path) {
  const struct timespec pause = {0, LOCK_PAUSE_NS};
  int error = ESTALE, descriptor = -1;
  for (int i = 0; i < LOCK_TRIES && (error == ESTALE || error == EWOULDBLOCK); i++) {
    if (error == EWOULDBLOCK) nanosleep(&pause, NULL);
    descriptor = open(file->part, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (descriptor < 0) return cannot_write(path);
    error = lock_part(descriptor, file->part);
    if (error) close(descriptor);
  }
  if (error == ESTALE || error == EWOULDBLOCK)
    return tg_fail(TG_ERR_INPUT,
                   "%s: another run is writing it (it has %s locked); wait for its end, or give "
                   "another name",
                   path, file->part);
  errno = error;
  if (error) return cannot_write(path);
  file->stream = fdopen(descriptor, "wb");
  if (file->stream) return TG_OK;
  const tg_status status = cannot_write(path);
  unlink(file->part);
  close(descriptor);
  return status;
}

/* path and part of a new file; part stays empty for a device or a pipe: it is written to, never
 * replaced. */
static tg_status name_parts(const char* path, tg_new_file* file) {
  memset(file, 0, sizeof *file);
  size_t length = strlen(path);
  if (length >= sizeof file->path) return too_long(path);
  memcpy(file->path, path, length + 1);
  struct stat info;
  if (stat(path, &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return tg_fail(TG_ERR_INPUT, "%s: is a folder; a file name was expected", path);
    if (!S_ISREG(info.st_mode)) return TG_OK;
    /* behind a link the file is replaced, not the link */
    char real[PATH_MAX];
    if (realpath(path, real) && strlen(real) < sizeof file->path)
      snprintf(file->path, sizeof file->path, "%s", real);
    if (access(file->path, W_OK) != 0) return cannot_write(path);
  }
  snprintf(file->part, sizeof file->part, "%s.part", file->path);
  return TG_OK;
}

tg_status tg_new_file_open(const char* path, tg_new_file* file) {
  TG_TRY(name_parts(path, file));
  if (!file->part[0]) return tg_file_open(path, "wb", &file->stream);
  const tg_status status = open_part(file, path);
  if (status != TG_OK) file->part[0] = '\0'; /* not this process's to remove */
  return status;
}

tg_status tg_new_file_join(const char* path, tg_new_file* file) {
  TG_TRY(name_parts(path, file));
  if (!file->part[0])
    return tg_fail(TG_ERR_INPUT, "%s: is a device or a pipe; several writers need a plain file",
                   path);
  file->stream = fopen(file->part, "r+be");
  const tg_status status = file->stream ? TG_OK : cannot_write(file->part);
  file->part[0] = '\0'; /* not this one's to remove */
  return status;
}

tg_status tg_new_file_check(const char* path) {
  struct stat info;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return TG_OK;
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  tg_new_file_abandon(&file);
  return TG_OK;
}

/* A rename is only safe on disk once its folder is; file systems that cannot do it say so,
 * harmlessly. */
static void flush_folder(const char* path) {
  char folder[PATH_SIZE];
  if (tg_path_folder(path, folder, sizeof folder) != TG_OK) return;
  int descriptor = open(folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

/* Flushes to disk and closes; errno of the first thing that went wrong, or 0. */
static int flush_and_close(FILE* stream, bool to_disk) {
  errno = 0;
  int error = 0;
  if (fflush(stream) != 0 || ferror(stream)) error = errno ? errno : EIO;
  /* pipes and terminals cannot be synchronised (EINVAL, EROFS): nothing is lost by that */
  if (!error && to_disk && fsync(fileno(stream)) != 0 && errno != EINVAL && errno != EROFS)
    error = errno;
  if (fclose(stream) != 0 && !error) error = errno;
  return error;
}

tg_status tg_new_file_commit(tg_new_file* file) {
  if (!file->stream)
    return tg_fail(TG_ERR_INTERNAL, "%s: commit of a file that is not open", file->path);
  const bool replaces = file->part[0] != '\0';
  const int lock = replaces ? dup(fileno(file->stream)) : -1; /* held until it is renamed */
  int error = flush_and_close(file->stream, true);
  file->stream = NULL;
  if (!error && replaces && rename(file->part, file->path) != 0) error = errno;
  if (error) {
    tg_new_file_abandon(file);
  } else if (replaces) {
    flush_folder(file->path);
    file->part[0] = '\0';
  }
  if (lock >= 0) close(lock);
  if (error)
    return tg_fail(TG_ERR_MACHINE, "%s: writing failed: %s%s", file->path, strerror(error),
                   replaces ? "; nothing was changed" : "");
  return TG_OK;
}

tg_status tg_new_file_leave(tg_new_file* file) {
  const int error = flush_and_close(file->stream, true);
  file->stream = NULL;
  if (!error) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "%s: writing failed: %s", file->path, strerror(error));
}

void tg_new_file_abandon(tg_new_file* file) {
  if (!file) return;
  if (file->part[0]) unlink(file->part); /* while it is locked, and so surely this process's */
  if (file->stream) fclose(file->stream);
  file->stream = NULL;
  file->part[0] = '\0';
}

tg_status tg_file_open(const char* path, const char* mode, FILE** out) {
  *out = NULL;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
    return tg_fail(TG_ERR_INPUT, "%s: is a folder; a file was expected", path);
  FILE* stream = fopen(path, mode);
  if (!stream && mode[0] != 'r') return cannot_write(path);
  if (!stream) return tg_fail(TG_ERR_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
  *out = stream;
  return TG_OK;
}

tg_status tg_file_close(FILE** stream, const char* path) {
  if (!*stream) return TG_OK;
  int error = flush_and_close(*stream, false);
  *stream = NULL;
  if (error) return tg_fail(TG_ERR_MACHINE, "%s: writing failed: %s", path, strerror(error));
  return TG_OK;
}

unsigned tg_crc32(unsigned crc, const void* bytes, size_t size) {
  /* four bits at a time: the table of 16 is the remainders of the nibbles */
  static const unsigned REMAINDERS[16] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
                                          0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                          0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                          0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
  const unsigned char* at = bytes;
  crc = ~crc;
  for (size_t i = 0; i < size; i++) {
    crc ^= at[i];
    crc = crc >> 4 ^ REMAINDERS[crc & 15];
    crc = crc >> 4 ^ REMAINDERS[crc & 15];
  }
  return ~crc;
}
