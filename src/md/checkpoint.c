/* SPDX-License-Identifier: Apache-2.0 */
#include "md/checkpoint.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { VERSION = 1, BYTE_ORDER_MARK = 0x01020304, MAX_SECTIONS = 4096 };

static const char magic[20] = "throng checkpoint";
static const char values_prefix[] = "v:"; /* in front of the names of values */

typedef struct file_head {
  char magic[20];
  uint32_t version, byte_order, real_size, sections, crc;
} file_head;

typedef struct section_head {
  char name[TG_CHECKPOINT_NAME + 4];
  uint32_t content_crc;
  uint64_t size;
  uint32_t unused, crc; /* of all before */
} section_head;

_Static_assert(sizeof(file_head) == 40 && sizeof(section_head) == 56, "no padding");

/* What the section "state" holds. */
typedef struct state_section {
  int64_t step;
  double time, box[9];
  uint64_t atom_count;
  uint32_t fingerprint, unused;
} state_section;

/* --- writing --- */

static void put_section(FILE* stream, const char* prefix, const char* name, const void* content,
                        size_t size) {
  section_head head = {.size = size, .content_crc = tg_crc32(0, content, size)};
  snprintf(head.name, sizeof head.name, "%s%s", prefix, name);
  head.crc = tg_crc32(0, &head, offsetof(section_head, crc));
  fwrite(&head, sizeof head, 1, stream);
  if (size > 0) fwrite(content, 1, size, stream);
}

static tg_status previous_path(const char* path, char* out, size_t size) {
  const char* slash = strrchr(path, '/');
  const char* dot = strrchr(slash ? slash : path, '.');
  size_t stem = dot ? (size_t)(dot - path) : strlen(path);
  int needed = snprintf(out, size, "%.*s_prev%s", (int)stem, path, dot ? dot : "");
  if (needed > 0 && (size_t)needed < size) return TG_OK;
  return tg_fail(TG_ERR_INPUT, "the path %.60s... is too long; use a shorter one", path);
}

/* Keeps the file under its name as well, so that no moment is without a checkpoint. */
static tg_status keep_previous(const char* path) {
  char previous[4096];
  if (!tg_path_exists(path)) return TG_OK;
  TG_TRY(previous_path(path, previous, sizeof previous));
  if (unlink(previous) != 0 && errno != ENOENT)
    return tg_fail(TG_ERR_MACHINE, "%s: the older checkpoint cannot be removed: %s", previous,
                   strerror(errno));
  if (link(path, previous) == 0 || rename(path, previous) == 0) return TG_OK;
  return tg_fail(TG_ERR_MACHINE, "%s: the earlier checkpoint cannot be kept as %s: %s", path,
                 previous, strerror(errno));
}

tg_status tg_checkpoint_write(const char* path, const tg_checkpoint* c) {
  tg_status status;
  tg_new_file file;
  TG_TRY(tg_new_file_open(path, &file));
  file_head head = {.version = VERSION, .byte_order = BYTE_ORDER_MARK, .real_size = sizeof(double)};
  memcpy(head.magic, magic, sizeof magic);
  head.sections = (uint32_t)(4 + c->values_count);
  head.crc = tg_crc32(0, &head, offsetof(file_head, crc));
  fwrite(&head, sizeof head, 1, file.stream);
  state_section state = {
      .step = c->step, .time = c->time, .atom_count = c->atom_count, .fingerprint = c->fingerprint};
  memcpy(state.box, c->box, sizeof state.box);
  put_section(file.stream, "", "state", &state, sizeof state);
  put_section(file.stream, "", "x", c->x, c->atom_count * sizeof *c->x);
  put_section(file.stream, "", "v", c->v, c->atom_count * sizeof *c->v);
  put_section(file.stream, "", "files", c->files, c->file_count * sizeof *c->files);
  for (size_t i = 0; i < c->values_count; i++)
    put_section(file.stream, values_prefix, c->values[i].name, c->values[i].values,
                c->values[i].count * sizeof(double));
  if (fflush(file.stream) != 0 || ferror(file.stream)) {
    status = tg_fail(TG_ERR_MACHINE, "%s: writing the checkpoint failed: %s; free some space", path,
                     strerror(errno));
    goto abandon;
  }
  TG_TRY_GOTO(keep_previous(path), abandon);
  return tg_new_file_commit(&file);
abandon:
  tg_new_file_abandon(&file);
  return status;
}

/* --- reading --- */

static tg_status bad_file(const char* path, const char* what) {
  char previous[4096];
  bool earlier =
      previous_path(path, previous, sizeof previous) == TG_OK && tg_path_exists(previous);
  return tg_fail(TG_ERR_INPUT, "%s: %s; %s%s", path, what,
                 earlier ? "go on from the earlier checkpoint " : "start the run anew",
                 earlier ? previous : "");
}

static tg_status read_head(FILE* stream, const char* path, file_head* head) {
  size_t got = fread(head, 1, sizeof *head, stream);
  if (got < sizeof magic || memcmp(head->magic, magic, sizeof magic) != 0)
    return bad_file(path, "this is not a checkpoint of throng, or its beginning is damaged");
  if (got < sizeof *head) return bad_file(path, "the checkpoint is cut short in its head");
  if (head->byte_order != BYTE_ORDER_MARK || head->real_size != sizeof(double))
    return bad_file(path, "the checkpoint is damaged, or from a machine with another byte order");
  if (head->crc != tg_crc32(0, head, offsetof(file_head, crc)))
    return bad_file(path, "the checkpoint's head is damaged (its checksum differs)");
  if (head->version != VERSION)
    return bad_file(path, "the checkpoint has a format version that this throng does not know");
  if (head->sections < 4 || head->sections > MAX_SECTIONS)
    return bad_file(path, "the checkpoint's number of sections cannot be");
  return TG_OK;
}

/* Reads a section; its content (tg_free) is checked. left: bytes of the file not yet read. */
static tg_status read_section(FILE* stream, const char* path, int64_t* left, section_head* head,
                              void** content) {
  *content = NULL;
  if (*left < (int64_t)sizeof *head || fread(head, sizeof *head, 1, stream) != 1)
    return bad_file(path, "the checkpoint is cut short between sections");
  *left -= (int64_t)sizeof *head;
  if (head->crc != tg_crc32(0, head, offsetof(section_head, crc)))
    return bad_file(path, "the checkpoint is damaged (the checksum of a section's head differs)");
  head->name[sizeof head->name - 1] = '\0';
  if (head->size > (uint64_t)*left)
    return bad_file(path, "the checkpoint is cut short inside a section");
  TG_TRY(tg_allocate(head->size, 1, "a checkpoint", content));
  if (head->size > 0 && fread(*content, 1, head->size, stream) != head->size)
    return bad_file(path, "the checkpoint is cut short inside a section");
  *left -= (int64_t)head->size;
  if (head->content_crc != tg_crc32(0, *content, head->size))
    return bad_file(path, "the checkpoint is damaged (the checksum of a section differs)");
  return TG_OK;
}

/* Puts a section where it belongs; takes over *content where it becomes an array. */
static tg_status place_section(const char* path, uint32_t number, const section_head* head,
                               void** content, tg_checkpoint* c) {
  static const char* const names[] = {"state", "x", "v", "files"};
  if (number < 4 && strcmp(head->name, names[number]) != 0)
    return bad_file(path, "the checkpoint's sections are not in order");
  if (number == 0 && head->size == sizeof(state_section)) {
    state_section state;
    memcpy(&state, *content, sizeof state);
    c->step = state.step;
    c->time = state.time;
    c->fingerprint = state.fingerprint;
    c->atom_count = state.atom_count;
    memcpy(c->box, state.box, sizeof c->box);
  } else if ((number == 1 || number == 2) && head->size / sizeof *c->x == c->atom_count &&
             head->size % sizeof *c->x == 0) {
    *(number == 1 ? &c->x : &c->v) = *content;
    *content = NULL;
  } else if (number == 3 && head->size % sizeof *c->files == 0) {
    c->files = *content;
    c->file_count = head->size / sizeof *c->files;
    for (size_t i = 0; i < c->file_count; i++) c->files[i].name[sizeof c->files[i].name - 1] = '\0';
    *content = NULL;
  } else if (number > 3 && head->size % sizeof(double) == 0 &&
             strncmp(head->name, values_prefix, 2) == 0) {
    tg_checkpoint_values* values = &c->values[c->values_count++];
    snprintf(values->name, sizeof values->name, "%.*s", TG_CHECKPOINT_NAME - 1, head->name + 2);
    values->values = *content;
    values->count = head->size / sizeof(double);
    *content = NULL;
  } else {
    return bad_file(path, "a section of the checkpoint has a name or size that cannot be");
  }
  return TG_OK;
}

tg_status tg_checkpoint_read(const char* path, tg_checkpoint* out) {
  tg_status status = TG_OK;
  FILE* stream;
  tg_checkpoint read = {0};
  file_head head;
  void* content = NULL;
  TG_TRY(tg_file_open(path, "rb", &stream));
  int64_t left = fseeko(stream, 0, SEEK_END) == 0 ? (int64_t)ftello(stream) : -1;
  rewind(stream);
  TG_TRY_GOTO(read_head(stream, path, &head), close_file);
  left -= (int64_t)sizeof head;
  TG_TRY_GOTO(TG_ALLOCATE(head.sections - 3, "a checkpoint", &read.values), close_file);
  for (uint32_t i = 0; i < head.sections; i++) {
    section_head section;
    TG_TRY_GOTO(read_section(stream, path, &left, &section, &content), close_file);
    TG_TRY_GOTO(place_section(path, i, &section, &content, &read), close_file);
    TG_FREE(content);
  }
  if (left != 0) status = bad_file(path, "something follows the end of the checkpoint");
close_file:
  fclose(stream);
  tg_free(content);
  if (status == TG_OK)
    *out = read;
  else
    tg_checkpoint_free(&read);
  return status;
}

tg_status tg_checkpoint_check(const tg_checkpoint* c, const char* path, size_t atom_count,
                              uint32_t fingerprint) {
  if (c->atom_count != atom_count)
    return tg_fail(
        TG_ERR_INPUT,
        "%s: the checkpoint has %zu atoms and this system %zu; continue with the files that "
        "the run was started with",
        path, c->atom_count, atom_count);
  if (c->fingerprint != fingerprint)
    return tg_fail(
        TG_ERR_INPUT,
        "%s: the checkpoint was made with another topology or other parameters (fingerprint "
        "%08x, now %08x); continue with the files that the run was started with",
        path, (unsigned)c->fingerprint, (unsigned)fingerprint);
  return TG_OK;
}

const tg_checkpoint_values* tg_checkpoint_find(const tg_checkpoint* c, const char* name) {
  for (size_t i = 0; i < c->values_count; i++) {
    if (strcmp(c->values[i].name, name) == 0) return &c->values[i];
  }
  return NULL;
}

void tg_checkpoint_free(tg_checkpoint* c) {
  for (size_t i = 0; i < c->values_count; i++) tg_free(c->values[i].values);
  tg_free(c->values);
  tg_free(c->files);
  tg_free(c->x);
  tg_free(c->v);
  memset(c, 0, sizeof *c);
}
