/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named arrays, by the serial C interface of HDF5. The library's own error messages are
 * kept off stderr; the most telling line of its stack goes into throng's message. */
#include "ci/results_file.h"

#include <hdf5.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/memory.h"

enum { CHUNK_BYTES = 1 << 20, TEXT_SIZE = 1 << 16 };

struct tg_ci_results {
  hid_t file;
  int version;
  bool writing;
  tg_new_file target; /* while writing: keeps others away and makes the name */
  char path[4096];
};

/* Before anything else. HDF5 1.10 does not forget a file that it could not write, comes back to it
 * when the program ends, and crashes; every file is closed here, so that visit is done without. */
static void start_library(void) {
  H5dont_atexit(); /* too late, and harmless, where the program uses HDF5 itself */
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

const char* tg_ci_results_library(void) {
  static char words[32];
  start_library();
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  snprintf(words, sizeof words, "HDF5 %u.%u.%u", major, minor, release);
  return words;
}

/* ---- errors ---- */

static herr_t keep_line(unsigned n, const H5E_error2_t* error, void* out) {
  (void)n;
  if (error->desc && *error->desc) snprintf(out, 256, "%s", error->desc);
  return 0;
}

/* Of "file write failed: time = ..., error message = 'No space left on device', ..." the reason. */
static void shorten(char* why) {
  static const char mark[] = "error message = '";
  const char* found = strstr(why, mark);
  if (!found) return;
  memmove(why, found + strlen(mark), strlen(found + strlen(mark)) + 1);
  why[strcspn(why, "'")] = '\0';
}

/* The innermost line of HDF5's stack: what went wrong first. */
static tg_status failed(const tg_ci_results* f, const char* name, const char* what) {
  char why[256] = "no reason is given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_line, why);
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_line, why);
  H5Eclear2(H5E_DEFAULT);
  shorten(why);
  const char* part = name && *name ? name : "the file";
  if (f->writing) return tg_fail(TG_ERR_MACHINE, "%s: %s: %s: %s", f->path, part, what, why);
  return tg_fail(TG_ERR_INPUT, "%s: %s: %s (%s); it is damaged or not what it says", f->path, part,
                 what, why);
}

/* ---- files ---- */

/* tg_new_file's lock is the one that counts; HDF5's own would be in its way. */
static hid_t access_of_files(void) {
  const hid_t list = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_file_locking(list, 0, 1);
  H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110); /* metadata with checksums */
  return list;
}

static tg_status set_head(tg_ci_results* f, const char* format) {
  char now[64];
  const time_t seconds = time(NULL);
  struct tm utc;
  gmtime_r(&seconds, &utc);
  strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
  TG_TRY(tg_ci_results_set_text(f, "", "format", format));
  TG_TRY(tg_ci_results_set_int(f, "", "format_version", f->version));
  TG_TRY(tg_ci_results_set_text(f, "", "throng", TG_VERSION));
  return tg_ci_results_set_text(f, "", "created", now);
}

tg_status tg_ci_results_create(const char* path, const char* format, int version,
                               tg_ci_results** out) {
  tg_ci_results* f = NULL;
  tg_status status;
  *out = NULL;
  start_library();
  TG_TRY(TG_ALLOCATE((size_t)1, "a file of results", &f));
  f->file = -1;
  f->version = version;
  f->writing = true;
  snprintf(f->path, sizeof f->path, "%s", path);
  TG_TRY_GOTO(tg_new_file_open(path, &f->target), failed);
  if (!f->target.part[0]) {
    status = tg_fail(TG_ERR_INPUT, "%s: is a device or a pipe; HDF5 needs a plain file", path);
    goto failed;
  }
  const hid_t access = access_of_files();
  f->file = H5Fcreate(f->target.part, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  status = f->file < 0 ? failed(f, "", "cannot be made") : TG_OK; /* while HDF5 knows why */
  H5Pclose(access);
  if (status != TG_OK) goto failed;
  TG_TRY_GOTO(set_head(f, format), failed);
  *out = f;
  return TG_OK;
failed:
  tg_ci_results_close(&f);
  return status;
}

tg_status tg_ci_results_commit(tg_ci_results** file) {
  tg_ci_results* f = *file;
  tg_status status = TG_OK;
  if (H5Fflush(f->file, H5F_SCOPE_GLOBAL) < 0) status = failed(f, "", "writing failed");
  const hid_t id = f->file;
  f->file = -1;
  if (H5Fclose(id) < 0 && status == TG_OK) status = failed(f, "", "writing failed");
  if (status == TG_OK) status = tg_new_file_commit(&f->target);
  tg_ci_results_close(file);
  return status;
}

void tg_ci_results_close(tg_ci_results** file) {
  tg_ci_results* f = *file;
  if (!f) return;
  if (f->file >= 0) H5Fclose(f->file);
  if (f->writing) tg_new_file_abandon(&f->target);
  tg_free(f);
  *file = NULL;
}

static tg_status check_head(tg_ci_results* f, const char* format, int most_version) {
  char found[128];
  int64_t version = 0;
  if (H5Aexists(f->file, "format") <= 0)
    return tg_fail(TG_ERR_INPUT,
                   "%s: is HDF5, but not of throng (no attribute format); a file of "
                   "the format \"%s\" was expected",
                   f->path, format);
  TG_TRY(tg_ci_results_get_text(f, "", "format", found, sizeof found));
  if (strcmp(found, format) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: holds \"%s\"; a file of the format \"%s\" was expected",
                   f->path, found, format);
  TG_TRY(tg_ci_results_get_int(f, "", "format_version", &version));
  if (version < 1 || version > most_version)
    return tg_fail(TG_ERR_INPUT,
                   "%s: is version %lld of \"%s\"; this throng reads up to version %d: use a newer "
                   "one",
                   f->path, (long long)version, format, most_version);
  f->version = (int)version;
  return TG_OK;
}

/* In the file's own words: is it HDF5, and all of it? */
static tg_status open_file(tg_ci_results* f) {
  FILE* stream;
  unsigned char mark[8] = {0};
  TG_TRY(tg_file_open(f->path, "rb", &stream));
  const size_t count = fread(mark, 1, sizeof mark, stream);
  fclose(stream);
  if (count < sizeof mark || memcmp(mark, "\211HDF\r\n\032\n", sizeof mark) != 0)
    return tg_fail(TG_ERR_INPUT, "%s: is not an HDF5 file", f->path);
  const hid_t access = access_of_files();
  f->file = H5Fopen(f->path, H5F_ACC_RDONLY, access);
  const tg_status status = f->file < 0 ? failed(f, "", "cannot be opened") : TG_OK;
  H5Pclose(access);
  return status;
}

tg_status tg_ci_results_open(const char* path, const char* format, int most_version,
                             tg_ci_results** out) {
  tg_ci_results* f = NULL;
  tg_status status;
  *out = NULL;
  start_library();
  TG_TRY(TG_ALLOCATE((size_t)1, "a file of results", &f));
  f->file = -1;
  if ((size_t)snprintf(f->path, sizeof f->path, "%s", path) >= sizeof f->path) {
    status =
        tg_fail(TG_ERR_INPUT, "the name of a file is longer than %zu letters", sizeof f->path - 1);
    goto failed;
  }
  TG_TRY_GOTO(open_file(f), failed);
  TG_TRY_GOTO(check_head(f, format, most_version), failed);
  *out = f;
  return TG_OK;
failed:
  tg_ci_results_close(&f);
  return status;
}

const char* tg_ci_results_path(const tg_ci_results* f) { return f->path; }
int tg_ci_results_version(const tg_ci_results* f) { return f->version; }

/* ---- arrays ---- */

typedef struct element_type {
  hid_t here, stored; /* in memory, in files */
  size_t size;
} element_type;

static element_type type_of(tg_ci_element_type element) {
  switch (element) {
    case TG_CI_INT32: return (element_type){H5T_NATIVE_INT32, H5T_STD_I32LE, 4};
    case TG_CI_INT64: return (element_type){H5T_NATIVE_INT64, H5T_STD_I64LE, 8};
    case TG_CI_UINT8: return (element_type){H5T_NATIVE_UINT8, H5T_STD_U8LE, 1};
    case TG_CI_UINT16: return (element_type){H5T_NATIVE_UINT16, H5T_STD_U16LE, 2};
    case TG_CI_UINT32: return (element_type){H5T_NATIVE_UINT32, H5T_STD_U32LE, 4};
    case TG_CI_UINT64: return (element_type){H5T_NATIVE_UINT64, H5T_STD_U64LE, 8};
    case TG_CI_DOUBLE: break;
  }
  return (element_type){H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 8};
}

/* Rows in memory may be further apart than in the file. */
static hid_t space_in_memory(const tg_ci_array* a) {
  hsize_t size[TG_CI_MOST_AXES] = {0}, from[TG_CI_MOST_AXES] = {0}, count[TG_CI_MOST_AXES] = {0};
  for (int i = 0; i < a->axes; i++) size[i] = count[i] = a->size[i];
  if (a->axes == 2 && a->stride > a->size[1]) size[1] = a->stride;
  const hid_t space = H5Screate_simple(a->axes, size, NULL);
  if (space >= 0 && size[a->axes - 1] != count[a->axes - 1])
    H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, count, NULL);
  return space;
}

/* In pieces of about a megabyte along the last axes, each with a checksum. */
static hid_t layout_of(const tg_ci_array* a, size_t element_size) {
  hsize_t chunk[TG_CI_MOST_AXES];
  size_t room = CHUNK_BYTES / element_size;
  bool empty = false;
  for (int i = a->axes - 1; i >= 0; i--) {
    chunk[i] = a->size[i] < room ? a->size[i] : room;
    if (a->size[i] == 0) empty = true;
    if (chunk[i] == 0) chunk[i] = 1;
    room /= chunk[i];
    if (room == 0) room = 1;
  }
  const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(list, 0);
  if (empty) return list;
  H5Pset_chunk(list, a->axes, chunk);
  H5Pset_fletcher32(list);
  return list;
}

static hid_t makes_groups(void) {
  const hid_t list = H5Pcreate(H5P_LINK_CREATE);
  H5Pset_create_intermediate_group(list, 1);
  return list;
}

tg_status tg_ci_results_put(tg_ci_results* f, const char* name, const tg_ci_array* a) {
  if (tg_ci_results_has(f, name))
    return tg_fail(TG_ERR_INTERNAL, "%s: %s is written twice", f->path, name);
  hsize_t size[TG_CI_MOST_AXES];
  bool empty = false;
  for (int i = 0; i < a->axes; i++) {
    size[i] = a->size[i];
    if (!size[i]) empty = true;
  }
  const element_type type = type_of(a->element);
  const hid_t in_file = H5Screate_simple(a->axes, size, NULL), in_memory = space_in_memory(a);
  const hid_t layout = layout_of(a, type.size), links = makes_groups();
  const hid_t set = H5Dcreate2(f->file, name, type.stored, in_file, links, layout, H5P_DEFAULT);
  bool good = set >= 0 && in_memory >= 0;
  if (good && !empty)
    good = H5Dwrite(set, type.here, in_memory, in_file, H5P_DEFAULT, a->data) >= 0 &&
           H5Dflush(set) >= 0;
  const tg_status status = good ? TG_OK : failed(f, name, "cannot be written");
  if (set >= 0) H5Dclose(set);
  H5Pclose(links);
  H5Pclose(layout);
  H5Sclose(in_memory);
  H5Sclose(in_file);
  TG_TRY(status);
  if (a->unit) TG_TRY(tg_ci_results_set_text(f, name, "unit", a->unit));
  return a->about ? tg_ci_results_set_text(f, name, "about", a->about) : TG_OK;
}

/* A name whose groups may be missing, too. */
bool tg_ci_results_has(tg_ci_results* f, const char* name) {
  char part[1024];
  if (!*name) return true;
  for (size_t i = 0; i + 1 < sizeof part; i++) {
    if (name[i] == '/' || name[i] == '\0') {
      part[i] = '\0';
      if (i && H5Lexists(f->file, part, H5P_DEFAULT) <= 0) return false;
      if (name[i] == '\0') return true;
    }
    part[i] = name[i];
  }
  return false;
}

static tg_status open_set(tg_ci_results* f, const char* name, hid_t* out) {
  *out = tg_ci_results_has(f, name) ? H5Dopen2(f->file, name, H5P_DEFAULT) : -1;
  if (*out >= 0) return TG_OK;
  H5Eclear2(H5E_DEFAULT);
  return tg_fail(TG_ERR_INPUT, "%s: has no array %s; it is damaged or of another program", f->path,
                 name);
}

/* The element type that a stored one is; false for what throng does not write. */
static bool element_of(hid_t type, tg_ci_element_type* out) {
  for (int e = TG_CI_DOUBLE; e <= TG_CI_UINT64; e++)
    if (H5Tequal(type, type_of((tg_ci_element_type)e).stored) > 0) {
      *out = (tg_ci_element_type)e;
      return true;
    }
  return false;
}

tg_status tg_ci_results_look(tg_ci_results* f, const char* name, tg_ci_array* out) {
  hid_t set;
  hsize_t size[TG_CI_MOST_AXES] = {0};
  *out = (tg_ci_array){0};
  TG_TRY(open_set(f, name, &set));
  const hid_t space = H5Dget_space(set), type = H5Dget_type(set);
  const int axes = H5Sget_simple_extent_ndims(space);
  tg_status status = TG_OK;
  if (axes < 1 || axes > TG_CI_MOST_AXES || !element_of(type, &out->element))
    status =
        tg_fail(TG_ERR_INPUT, "%s: %s: is of a kind that throng does not write", f->path, name);
  else if (H5Sget_simple_extent_dims(space, size, NULL) < 0)
    status = failed(f, name, "has no size");
  out->axes = axes;
  for (int i = 0; status == TG_OK && i < axes; i++) out->size[i] = size[i];
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(set);
  return status;
}

static void write_size(const tg_ci_array* a, char* out, size_t size) {
  int used = snprintf(out, size, "[");
  for (int i = 0; i < a->axes && used > 0 && (size_t)used < size; i++)
    used += snprintf(out + used, size - (size_t)used, "%s%zu", i ? ", " : "", a->size[i]);
  if (used > 0 && (size_t)used < size) snprintf(out + used, size - (size_t)used, "]");
}

tg_status tg_ci_results_get(tg_ci_results* f, const char* name, const tg_ci_array* like,
                            void* data) {
  static const char* const kinds[] = {"doubles",        "32-bit integers", "64-bit integers",
                                      "8-bit naturals", "16-bit naturals", "32-bit naturals",
                                      "64-bit naturals"};
  tg_ci_array found;
  TG_TRY(tg_ci_results_look(f, name, &found));
  if (found.element != like->element || found.axes != like->axes ||
      memcmp(found.size, like->size, (size_t)like->axes * sizeof *like->size) != 0) {
    char there[128], wanted[128];
    write_size(&found, there, sizeof there);
    write_size(like, wanted, sizeof wanted);
    return tg_fail(TG_ERR_INPUT, "%s: %s: is %s of %s; %s of %s were expected", f->path, name,
                   there, kinds[found.element], wanted, kinds[like->element]);
  }
  for (int i = 0; i < like->axes; i++)
    if (!like->size[i]) return TG_OK;
  hid_t set;
  TG_TRY(open_set(f, name, &set));
  const hid_t space = space_in_memory(like);
  const herr_t read = H5Dread(set, type_of(like->element).here, space, H5S_ALL, H5P_DEFAULT, data);
  const tg_status status = read < 0 ? failed(f, name, "cannot be read") : TG_OK;
  H5Sclose(space);
  H5Dclose(set);
  return status;
}

/* ---- attributes ---- */

/* The object, made as a group where it is missing and the file is being written. */
static tg_status open_object(tg_ci_results* f, const char* name, hid_t* out) {
  const bool there = tg_ci_results_has(f, name);
  if (!there && f->writing) {
    const hid_t links = makes_groups();
    *out = H5Gcreate2(f->file, name, links, H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(links);
    return *out < 0 ? failed(f, name, "the group cannot be made") : TG_OK;
  }
  *out = there ? H5Oopen(f->file, *name ? name : "/", H5P_DEFAULT) : -1;
  if (*out >= 0) return TG_OK;
  H5Eclear2(H5E_DEFAULT);
  return tg_fail(TG_ERR_INPUT, "%s: has no %s; it is damaged or of another program", f->path, name);
}

static tg_status set_attribute(tg_ci_results* f, const char* object, const char* name, hid_t stored,
                               hid_t here, const void* value) {
  hid_t on;
  TG_TRY(open_object(f, object, &on));
  const hid_t one = H5Screate(H5S_SCALAR);
  const hid_t a = H5Acreate2(on, name, stored, one, H5P_DEFAULT, H5P_DEFAULT);
  const bool good = a >= 0 && H5Awrite(a, here, value) >= 0;
  const tg_status status = good ? TG_OK : failed(f, object, name);
  if (a >= 0) H5Aclose(a);
  H5Sclose(one);
  H5Oclose(on);
  return status;
}

/* UTF-8 of fixed length: variable lengths would be stored without a checksum. An empty one has a
 * length of one zero byte. An attribute in an object's head has room for less than 64 KiB. */
tg_status tg_ci_results_set_text(tg_ci_results* f, const char* object, const char* name,
                                 const char* value) {
  const size_t length = strlen(value);
  if (length >= TEXT_SIZE - 1024)
    return tg_fail(TG_ERR_INTERNAL, "%s: the attribute %s is too long", f->path, name);
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, length ? length : 1);
  H5Tset_cset(type, H5T_CSET_UTF8);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  const tg_status status = set_attribute(f, object, name, type, type, value);
  H5Tclose(type);
  return status;
}

tg_status tg_ci_results_set_int(tg_ci_results* f, const char* object, const char* name,
                                int64_t value) {
  return set_attribute(f, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

tg_status tg_ci_results_set_double(tg_ci_results* f, const char* object, const char* name,
                                   double value) {
  return set_attribute(f, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

/* The attribute, if it is one value of this class. */
static tg_status open_attribute(tg_ci_results* f, const char* object, const char* name,
                                H5T_class_t class, hid_t* out) {
  hid_t on;
  TG_TRY(open_object(f, object, &on));
  *out = H5Aexists(on, name) > 0 ? H5Aopen(on, name, H5P_DEFAULT) : -1;
  H5Oclose(on);
  if (*out >= 0) {
    const hid_t type = H5Aget_type(*out), space = H5Aget_space(*out);
    const bool good = H5Tget_class(type) == class && H5Sget_simple_extent_npoints(space) == 1 &&
                      (class != H5T_STRING || H5Tis_variable_str(type) == 0);
    H5Tclose(type);
    H5Sclose(space);
    if (good) return TG_OK;
    H5Aclose(*out);
  }
  H5Eclear2(H5E_DEFAULT);
  return tg_fail(TG_ERR_INPUT, "%s: %s has no attribute %s; it is damaged or of another program",
                 f->path, *object ? object : "the file", name);
}

static tg_status get_number(tg_ci_results* f, const char* object, const char* name,
                            H5T_class_t class, hid_t here, void* out) {
  hid_t a;
  TG_TRY(open_attribute(f, object, name, class, &a));
  const herr_t read = H5Aread(a, here, out);
  H5Aclose(a);
  return read < 0 ? failed(f, object, name) : TG_OK;
}

tg_status tg_ci_results_get_int(tg_ci_results* f, const char* object, const char* name,
                                int64_t* out) {
  return get_number(f, object, name, H5T_INTEGER, H5T_NATIVE_INT64, out);
}

tg_status tg_ci_results_get_double(tg_ci_results* f, const char* object, const char* name,
                                   double* out) {
  return get_number(f, object, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, out);
}

tg_status tg_ci_results_get_text(tg_ci_results* f, const char* object, const char* name, char* out,
                                 size_t size) {
  hid_t a;
  TG_TRY(open_attribute(f, object, name, H5T_STRING, &a));
  const hid_t type = H5Aget_type(a), here = H5Tcopy(type);
  const size_t length = H5Tget_size(type);
  char* text = NULL;
  tg_status status =
      length < TEXT_SIZE ? TG_ALLOCATE(length + 1, "an attribute", &text) : failed(f, object, name);
  H5Tset_strpad(here, H5T_STR_NULLPAD);
  if (status == TG_OK && H5Aread(a, here, text) < 0) status = failed(f, object, name);
  if (status == TG_OK) snprintf(out, size, "%s", text);
  tg_free(text);
  H5Tclose(here);
  H5Tclose(type);
  H5Aclose(a);
  return status;
}
