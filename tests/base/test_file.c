/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/scratch.h"

static const char* folder;

static int begin(void** state) {
  (void)state;
  folder = scratch_make();
  return 0;
}

static int end(void** state) {
  (void)state;
  scratch_remove(folder);
  return 0;
}

static void write_file(const char* path, const char* text) {
  tg_new_file file;
  assert_int_equal(tg_new_file_open(path, &file), TG_OK);
  fputs(text, file.stream);
  assert_int_equal(tg_new_file_commit(&file), TG_OK);
  tg_new_file_abandon(&file);
}

static void paths_join_and_part(void** state) {
  (void)state;
  char out[16];
  assert_int_equal(tg_path_join("a", "b", out, sizeof out), TG_OK);
  assert_string_equal(out, "a/b");
  assert_int_equal(tg_path_join("a/", "b", out, sizeof out), TG_OK);
  assert_string_equal(out, "a/b");
  assert_int_equal(tg_path_join("", "b", out, sizeof out), TG_OK);
  assert_string_equal(out, "b");
  assert_int_equal(tg_path_join("0123456789", "01234", out, sizeof out), TG_ERR_INPUT);
  const char* cases[][2] = {{"a/b/c", "a/b"}, {"c", "."}, {"/c", "/"}, {"./c", "."}};
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(tg_path_folder(cases[i][0], out, sizeof out), TG_OK);
    assert_string_equal(out, cases[i][1]);
  }
}

static void one_file_has_many_names(void** state) {
  (void)state;
  char near[600], far[600], real[600];
  snprintf(near, sizeof near, "%s/same-a", folder);
  snprintf(far, sizeof far, "%s/.//same-b", folder);
  write_file(near, "x");
  assert_false(tg_path_same(near, far));
  assert_int_equal(link(near, far), 0);
  assert_true(tg_path_same(near, far));
  snprintf(near, sizeof near, "%s/new/b", folder); /* what is not there yet */
  snprintf(far, sizeof far, "%s/./new//b", folder);
  assert_true(tg_path_same(near, far));
  snprintf(far, sizeof far, "%s/b/new", folder);
  assert_false(tg_path_same(near, far));
  assert_int_equal(tg_path_resolve("/no-such-thing/x/", real, sizeof real), TG_OK);
  assert_string_equal(real, "/no-such-thing/x");
  assert_int_equal(tg_path_resolve("no-such-thing", real, 3), TG_ERR_INPUT);
}

static void folders_are_made_with_parents(void** state) {
  (void)state;
  const char* deep = scratch_path(folder, "a//b/c/");
  assert_int_equal(tg_folder_make(deep), TG_OK);
  assert_int_equal(tg_folder_make(deep), TG_OK);
  assert_false(tg_folder_has_entries(deep));
  assert_true(tg_folder_has_entries(scratch_path(folder, "a")));
  assert_false(tg_folder_has_entries(scratch_path(folder, "nowhere")));
  write_file(scratch_path(folder, "plain"), "x");
  assert_int_equal(tg_folder_make(scratch_path(folder, "plain")), TG_ERR_INPUT);
  assert_int_equal(tg_folder_make(scratch_path(folder, "plain/below")), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "is a file"));
  assert_int_equal(tg_folder_make(""), TG_ERR_INPUT);
}

static void copies_are_numbered(void** state) {
  (void)state;
  const char* path = scratch_path(folder, "log");
  assert_int_equal(tg_file_keep_copy(path), TG_OK); /* nothing there: nothing to do */
  for (int i = 1; i <= 3; i++) {
    char text[8], name[16];
    snprintf(text, sizeof text, "run %d", i);
    write_file(path, text);
    assert_int_equal(tg_file_keep_copy(path), TG_OK);
    assert_false(tg_path_exists(path));
    snprintf(name, sizeof name, "log.%d", i);
    assert_string_equal(scratch_read(scratch_path(folder, name)), text);
  }
}

static void a_file_appears_whole_or_not_at_all(void** state) {
  (void)state;
  const char* path = scratch_path(folder, "out.gro");
  const char* part = scratch_path(folder, "out.gro.part");
  write_file(path, "old");
  tg_new_file file;
  assert_int_equal(tg_new_file_open(path, &file), TG_OK);
  fputs("new", file.stream);
  fflush(file.stream);
  assert_true(tg_path_exists(part));
  assert_string_equal(scratch_read(path), "old");
  tg_new_file_abandon(&file);
  assert_false(tg_path_exists(part));
  assert_string_equal(scratch_read(path), "old");
  write_file(path, "new");
  assert_false(tg_path_exists(part));
  assert_string_equal(scratch_read(path), "new");
  tg_new_file_abandon(NULL);
}

static void only_one_writes_a_file(void** state) {
  (void)state;
  const char* path = scratch_path(folder, "shared");
  const char* part = scratch_path(folder, "shared.part");
  tg_new_file first, second;
  assert_int_equal(tg_new_file_open(path, &first), TG_OK);
  fputs("first", first.stream);
  fflush(first.stream);
  assert_int_equal(tg_new_file_open(path, &second), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "another run is writing it"));
  assert_int_equal(tg_new_file_check(path), TG_ERR_INPUT);
  tg_new_file_abandon(&second); /* leaves the first one's alone */
  assert_string_equal(scratch_read(part), "first");
  assert_int_equal(tg_new_file_commit(&first), TG_OK);
  assert_string_equal(scratch_read(path), "first");
  assert_int_equal(tg_new_file_check(path), TG_OK);
  /* what a killed process leaves behind is longer than what is written now */
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    if (tg_new_file_open(path, &second) != TG_OK) _exit(1);
    fputs("from a process that is killed", second.stream);
    fflush(second.stream);
    raise(SIGKILL);
  }
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFSIGNALED(ended));
  assert_true(tg_path_exists(part));
  write_file(path, "third");
  assert_string_equal(scratch_read(path), "third");
  assert_false(tg_path_exists(part));
}

static void only_one_writes_into_a_folder(void** state) {
  (void)state;
  int first, second, of_a_child[2];
  assert_int_equal(tg_folder_lock(folder, &first), TG_OK);
  assert_true(first >= 0);
  assert_int_equal(tg_folder_lock(folder, &second), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "another run is writing into this folder"));
  assert_int_equal(second, -1);
  close(first);
  /* a process that is killed leaves none behind */
  assert_int_equal(pipe(of_a_child), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const char done = tg_folder_lock(folder, &second) == TG_OK;
    (void)!write(of_a_child[1], &done, 1);
    for (;;) pause();
  }
  char done = 0;
  assert_int_equal(read(of_a_child[0], &done, 1), 1);
  assert_true(done);
  assert_int_equal(tg_folder_lock(folder, &first), TG_ERR_INPUT);
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(tg_folder_lock(folder, &first), TG_OK);
  close(first);
  close(of_a_child[0]);
  close(of_a_child[1]);
}

/* One opens it and gives it its name, others write parts of it meanwhile. */
static void a_file_of_several_writers(void** state) {
  (void)state;
  const char* path = scratch_path(folder, "joint");
  tg_new_file first, second;
  assert_int_equal(tg_new_file_join(path, &second), TG_ERR_INPUT); /* there is none to join */
  assert_int_equal(tg_new_file_open(path, &first), TG_OK);
  fputs("abc", first.stream);
  fflush(first.stream);
  assert_int_equal(tg_new_file_join(path, &second), TG_OK);
  assert_int_equal(fseek(second.stream, 5, SEEK_SET), 0);
  fputs("fg", second.stream);
  assert_int_equal(tg_new_file_leave(&second), TG_OK);
  tg_new_file_abandon(&second); /* is not its to remove */
  fputs("de", first.stream);
  assert_false(tg_path_exists(path));
  assert_int_equal(tg_new_file_commit(&first), TG_OK);
  assert_string_equal(scratch_read(path), "abcdefg");
  assert_int_equal(tg_new_file_join("/dev/null", &second), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "several writers need a plain file"));
}

/* Two processes replace one file over and over: it is always one's or the other's, whole. */
static void writers_in_turns_leave_it_whole(void** state) {
  (void)state;
  enum { ROUNDS = 40, LENGTH = 5000 };
  const char* path = scratch_path(folder, "turns");
  char text[LENGTH + 1] = "";
  const pid_t child = fork();
  assert_true(child >= 0);
  memset(text, child == 0 ? 'a' : 'b', LENGTH);
  int written = 0;
  for (int i = 0; i < ROUNDS; i++) {
    tg_new_file file;
    if (tg_new_file_open(path, &file) != TG_OK) continue;
    fputs(text, file.stream);
    written += tg_new_file_commit(&file) == TG_OK;
    const char* read = scratch_read(path);
    if (!read || strlen(read) != LENGTH || strspn(read, read[0] == 'a' ? "a" : "b") != LENGTH)
      written = -2 * ROUNDS;
  }
  if (child == 0) _exit(written > 0 ? 0 : 1);
  int ended;
  assert_int_equal(waitpid(child, &ended, 0), child);
  assert_true(WIFEXITED(ended));
  assert_int_equal(WEXITSTATUS(ended), 0);
  assert_true(written > 0);
}

static void a_link_is_followed(void** state) {
  (void)state;
  const char* target = scratch_path(folder, "target");
  const char* link_path = scratch_path(folder, "link");
  write_file(target, "old");
  assert_int_equal(symlink("target", link_path), 0);
  write_file(link_path, "new");
  struct stat info;
  assert_int_equal(lstat(link_path, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_string_equal(scratch_read(target), "new");
}

static void wrong_places_are_refused(void** state) {
  (void)state;
  tg_new_file file;
  assert_int_equal(tg_new_file_open(folder, &file), TG_ERR_INPUT);
  assert_int_equal(tg_new_file_open(scratch_path(folder, "no/where"), &file), TG_ERR_INPUT);
  assert_non_null(strstr(tg_last_error(), "does not exist"));
  FILE* stream = stdout;
  assert_int_equal(tg_file_open(folder, "r", &stream), TG_ERR_INPUT);
  assert_null(stream);
  assert_int_equal(tg_file_open(scratch_path(folder, "nothing"), "r", &stream), TG_ERR_INPUT);
}

static void a_full_disk_is_noticed(void** state) {
  (void)state;
  if (access("/dev/full", W_OK) != 0) skip();
  FILE* stream = NULL;
  assert_int_equal(tg_file_open("/dev/full", "w", &stream), TG_OK);
  fputs("words", stream);
  assert_int_equal(tg_file_close(&stream, "/dev/full"), TG_ERR_MACHINE);
  assert_null(stream);
  assert_int_equal(tg_file_close(&stream, "/dev/full"), TG_OK);
  tg_new_file file;
  assert_int_equal(tg_new_file_open("/dev/full", &file), TG_OK);
  fputs("words", file.stream);
  assert_int_equal(tg_new_file_commit(&file), TG_ERR_MACHINE);
  assert_non_null(strstr(tg_last_error(), "/dev/full"));
  assert_null(strstr(tg_last_error(), "nothing was changed"));
  assert_true(tg_path_exists("/dev/full")); /* a device is never replaced or removed */
  write_file("/dev/null", "words");
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static void the_checksum_is_the_standard_one(void** state) {
  (void)state;
  assert_int_equal(tg_crc32(0, "123456789", 9), 0xCBF43926u);
  assert_int_equal(tg_crc32(tg_crc32(0, "1234", 4), "56789", 5), 0xCBF43926u);
  assert_int_equal(tg_crc32(0, "", 0), 0);
  unsigned char all[256];
  for (int i = 0; i < 256; i++) all[i] = (unsigned char)i;
  assert_int_equal(tg_crc32(0, all, sizeof all), 0x29058C73u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_join_and_part),
      cmocka_unit_test(one_file_has_many_names),
      cmocka_unit_test(folders_are_made_with_parents),
      cmocka_unit_test(copies_are_numbered),
      cmocka_unit_test(a_file_appears_whole_or_not_at_all),
      cmocka_unit_test(only_one_writes_a_file),
      cmocka_unit_test(only_one_writes_into_a_folder),
      cmocka_unit_test(a_file_of_several_writers),
      cmocka_unit_test(writers_in_turns_leave_it_whole),
      cmocka_unit_test(a_link_is_followed),
      cmocka_unit_test(wrong_places_are_refused),
      cmocka_unit_test(a_full_disk_is_noticed),
      cmocka_unit_test(the_checksum_is_the_standard_one),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
