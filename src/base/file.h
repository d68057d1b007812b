/* SPDX-License-Identifier: Apache-2.0 */
/** @file base/file.h  Output files: atomic replacement, numbered copies, folders. */
#ifndef TG_BASE_FILE_H
#define TG_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/status.h"

/** Joins folder and name into out (size bytes): "folder/name"; an empty folder gives name. */
tg_status tg_path_join(const char* folder, const char* name, char* out, size_t size);
/** The folder part of a path into out, "." if it has none. */
tg_status tg_path_folder(const char* path, char* out, size_t size);
bool tg_path_exists(const char* path);
/** path without links and dots; of what is not there yet the part that is. */
tg_status tg_path_resolve(const char* path, char* out, size_t size);
/** True where both are one file, or would be once made. */
bool tg_path_same(const char* a, const char* b);
/** True for a path that is a folder with at least one entry. */
bool tg_folder_has_entries(const char* path);
/** Makes a folder and its parents; fine if it is there. TG_ERR_INPUT where it cannot be made or
 * written. */
tg_status tg_folder_make(const char* path);
/** Makes this process the only one that writes into a folder that is there, until it closes *lock
 * (a descriptor) or ends. TG_ERR_INPUT where another run is. File systems without locks say so, and
 * are trusted: *lock is then -1, or holds nothing. */
tg_status tg_folder_lock(const char* path, int* lock);
/** If path exists, renames it to "path.N" with the smallest free N >= 1. */
tg_status tg_file_keep_copy(const char* path);

/** A file that appears under its name only when complete: written as "path.part", flushed to disk
 * and renamed at the end. path.part is locked (flock) meanwhile, so that two runs do not write into
 * one; what a killed run left of it is written anew. */
typedef struct tg_new_file {
  FILE* stream;
  char path[4096];
  char part[4104];
} tg_new_file;

/** A device or pipe is written to directly; behind a symbolic link the file is replaced, not the
 * link. TG_ERR_INPUT where the folder is missing, path is a folder, it cannot be written, or it is
 * being written by another. */
tg_status tg_new_file_open(const char* path, tg_new_file* file);
/** TG_ERR_INPUT where tg_new_file_open would refuse: for a look before the work whose result is to
 * be written. Leaves everything as it was; a device or pipe is not opened. */
tg_status tg_new_file_check(const char* path);
/** fsync, close, rename. On failure the partial file is removed. TG_ERR_MACHINE (disk full ...). */
tg_status tg_new_file_commit(tg_new_file* file);
/** For a part of a file that another thread or process has opened as a new one: opens it for other
 * bytes of it. What is written must be on disk (tg_new_file_leave) before that one commits. */
tg_status tg_new_file_join(const char* path, tg_new_file* file);
/** fsync and close; the file is the other's. */
tg_status tg_new_file_leave(tg_new_file* file);
/** Closes and removes what was written; null-safe, harmless after commit. */
void tg_new_file_abandon(tg_new_file* file);

/** Opens a file that grows (trajectory, log). mode is fopen's. TG_ERR_INPUT with the reason. */
tg_status tg_file_open(const char* path, const char* mode, FILE** out);
/** Closes; reports a write error (disk full) as TG_ERR_MACHINE. Sets *stream to NULL. */
tg_status tg_file_close(FILE** stream, const char* path);

/** CRC-32 (ISO 3309, polynomial 0xEDB88320), start with crc = 0. */
unsigned tg_crc32(unsigned crc, const void* bytes, size_t size);

#endif
