/* SPDX-License-Identifier: Apache-2.0 */
/* Transport socket where things go wrong: PEs that are late, stopped or killed, strangers, files of
 * earlier runs, bytes that are no messages. That it serves a world like the others do is tested by
 * test_world and test_symmetric under socket_world.sh. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "comm/processes.h"
#include "comm/socket/link.h"
#include "comm/socket/net.h"
#include "comm/socket/ticket.h"
#include "comm/symmetric.h"
#include "comm/worlds.h"

static tg_status meet(tg_world* world, void* context) {
  (void)context;
  int64_t sum = tg_world_pe(world) + 1, count = tg_world_pe_count(world);
  TG_TRY(tg_world_sum_int64(world, &sum, 1));
  CHECK(sum == count * (count + 1) / 2);
  return TG_OK;
}

static unsigned char byte_of(size_t i, int round) {
  return (unsigned char)(i * 7 + i / 253 + (size_t)round * 31);
}

/* Messages that nobody asks for until a put that was sent after them has come; all larger than the
 * system's buffers and than a frame; then both directions at once. */
static tg_status flood(tg_world* world, void* context) {
  (void)context;
  enum { MESSAGES = 4, BYTES = 3000001 };
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  unsigned char *data = NULL, *other = NULL;
  tg_symmetric* s = NULL;
  TG_TRY(TG_ALLOCATE(BYTES, "a test", &data));
  TG_TRY(TG_ALLOCATE(BYTES, "a test", &other));
  TG_TRY(tg_symmetric_create(world, BYTES, 1, &s));
  for (int round = 0; round < MESSAGES && pe == 0; round++) {
    for (size_t i = 0; i < BYTES; i++) data[i] = byte_of(i, round);
    tg_message message = {.to = 1, .send = data, .send_bytes = BYTES, .from = TG_NO_PE};
    TG_TRY(world->ops->exchange(world, &message));
  }
  if (pe == 0) TG_TRY(tg_symmetric_put(s, 1, 0, data, BYTES, 0, TG_SIGNAL_SET, 1));
  if (pe == 1) {
    TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){0, 0}, 1));
    const unsigned char* mine = tg_symmetric_local(s);
    for (size_t i = 0; i < BYTES; i++) CHECK(mine[i] == byte_of(i, MESSAGES - 1));
  }
  for (int round = 0; round < MESSAGES && pe == 1; round++) {
    tg_message message = {.to = TG_NO_PE, .from = 0, .receive = other, .receive_bytes = BYTES};
    TG_TRY(world->ops->exchange(world, &message));
    for (size_t i = 0; i < BYTES; i++) CHECK(other[i] == byte_of(i, round));
  }
  for (size_t i = 0; i < BYTES; i++) data[i] = byte_of(i, pe);
  TG_TRY(tg_world_exchange(world, to, data, BYTES, from, other, BYTES));
  for (size_t i = 0; i < BYTES; i++) CHECK(other[i] == byte_of(i, from));
  tg_symmetric_destroy(&s);
  tg_free(data);
  tg_free(other);
  return TG_OK;
}

static void nothing_depends_on_who_asks_first(void** state) {
  (void)state;
  const process_plan plan = {.count = 3, .deadline_s = 30, .main = flood};
  processes_start(&plan);
  processes_expect(&plan, TG_OK, NULL);
}

/* PE 1 sleeps for good; the others wait for its signal. */
static tg_status wait_for_one(tg_world* world, void* context) {
  (void)context;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  for (int p = 0; p < tg_world_pe_count(world) && tg_world_pe(world) == 1; p++)
    TG_TRY(tg_symmetric_signal(s, p, 0, TG_SIGNAL_SET, 41));
  tg_world_note(world, "positions, pulse", 3, 42);
  TG_TRY(tg_symmetric_wait(s, (tg_symmetric_source){0, 1}, 41));
  process_self->ready = 1;
  if (tg_world_pe(world) == 1) {
    double start = tg_time_now();
    while (tg_time_now() - start < 20 && world->ops->aborted(world) == TG_OK) usleep(1000);
  }
  tg_status status = tg_symmetric_wait(s, (tg_symmetric_source){0, 1}, 42);
  tg_symmetric_destroy(&s);
  return status;
}

static void a_killed_pe_ends_every_wait_at_once(void** state) {
  (void)state;
  const process_plan plan = {.count = 4, .deadline_s = 30, .main = wait_for_one};
  processes_start(&plan);
  for (int p = 0; p < 4; p++) processes_await_ready(p);
  kill(process_ids[1], SIGKILL);
  assert_false(process_ended(1));
  process_ids[1] = -1;
  processes_expect(&plan, TG_ERR_MACHINE,
                   "lost PE 1 while it waited for PE 1 in signal 0 (it is 41, "
                   "at least 42 was expected) (positions, pulse 3, exchange 42)");
  for (int p = 0; p < 4; p++)
    if (p != 1) assert_true(process_reports[p].seconds < 10);
}

static void a_stopped_pe_ends_waits_at_the_deadline(void** state) {
  (void)state;
  const process_plan plan = {.count = 3, .deadline_s = 0.5, .main = wait_for_one};
  processes_start(&plan);
  processes_await_ready(1);
  kill(process_ids[1], SIGSTOP);
  for (int p = 0; p < 3; p++) {
    if (p == 1) continue;
    assert_true(process_ended(p));
    process_expect(p, TG_ERR_MACHINE,
                   "for PE 1 in signal 0 (it is 41, at least 42 was expected) "
                   "(positions, pulse 3, exchange 42), longer than the deadline of 0.5 s");
  }
  for (int p = 0; p < 3; p += 2)
    process_expect(p, TG_ERR_MACHINE, "; PE 1 did not answer at the end of the run");
  kill(process_ids[1], SIGCONT); /* it learns the same */
  assert_true(process_ended(1));
  process_expect(1, TG_ERR_MACHINE, "for PE 1 in signal 0");
}

static void a_late_pe_is_waited_for(void** state) {
  (void)state;
  for (int late = 0; late < 3; late++) {
    process_plan plan = {.count = 3, .deadline_s = 30, .main = meet};
    plan.late_s[late] = 0.3;
    processes_start(&plan);
    processes_expect(&plan, TG_OK, NULL);
  }
  const process_plan never = {.count = 3, .deadline_s = 0.4, .late_s = {0, 0, -1}, .main = meet};
  processes_start(&never);
  assert_true(process_ended(0) && process_ended(1));
  process_expect(0, TG_ERR_MACHINE, "for PE 2 of 3 to come to file:");
  process_expect(1, TG_ERR_MACHINE, "the connection to PE 0 broke");
  const process_plan no_first = {.count = 2, .deadline_s = 0.3, .late_s = {-1, 0}, .main = meet};
  processes_start(&no_first);
  processes_expect(&no_first, TG_ERR_MACHINE, "(the file is not there)");
}

/* Stands in for PE 0's host: where it is, a connection is made. */
static int call(const tg_socket_ticket* ticket) {
  tg_net_address address;
  assert_null(tg_net_resolve(ticket->host, ticket->port, &address));
  int fd = tg_net_connect(&address, tg_time_now() + 5);
  assert_true(fd >= 0);
  return fd;
}

static tg_socket_ticket wait_for_ticket(void) {
  const tg_socket_place place = {.path = processes_path()};
  tg_socket_ticket ticket = {.port = 0};
  const char* fault = "";
  for (int i = 0; fault && i < 5000; i++) {
    usleep(1000);
    fault = tg_socket_ticket_read(&place, &ticket);
  }
  assert_null(fault);
  return ticket;
}

/* One who says nothing, one who says something else, and one who has all but the token. */
static void strangers_are_cut_off(void** state) {
  (void)state;
  const process_plan plan = {.count = 2, .deadline_s = 1.5, .late_s = {0, -1}, .main = meet};
  processes_start(&plan);
  tg_socket_ticket ticket = wait_for_ticket();
  char noise[1000], answer;
  memset(noise, 'x', sizeof noise);
  int mute = call(&ticket), loud = call(&ticket);
  assert_int_equal(send(loud, noise, sizeof noise, MSG_NOSIGNAL), sizeof noise);
  assert_int_not_equal(tg_net_receive_all(loud, &answer, 1, tg_time_now() + 5), 0);
  processes_expect(&plan, TG_ERR_MACHINE,
                   "; 1 connection without this run's token or TG_JOB had been cut off");
  tg_net_close(&mute);
  tg_net_close(&loud);

  const process_plan real = {.count = 2, .deadline_s = 30, .late_s = {0, 0.4}, .main = meet};
  processes_start(&real);
  ticket = wait_for_ticket();
  mute = call(&ticket), loud = call(&ticket);
  assert_int_equal(send(loud, noise, sizeof noise, MSG_NOSIGNAL), sizeof noise);
  processes_expect(&real, TG_OK, NULL); /* in spite of them */
  tg_net_close(&mute);
  tg_net_close(&loud);
}

/* The right address with a wrong token, then the right file. */
static void a_wrong_token_is_cut_off(void** state) {
  (void)state;
  const process_plan plan = {.count = 2, .deadline_s = 30, .late_s = {0, 0.2}, .main = meet};
  processes_start(&plan);
  const tg_socket_place place = {.path = processes_path()};
  tg_socket_ticket right = wait_for_ticket(), wrong = right;
  wrong.token[5] = right.token[5] == '0' ? '1' : '0';
  assert_int_equal(tg_socket_ticket_write(&place, &wrong), TG_OK);
  usleep(500000);
  assert_false(process_reports[0].seconds > 0 || process_reports[1].seconds > 0);
  assert_int_equal(tg_socket_ticket_write(&place, &right), TG_OK);
  processes_expect(&plan, TG_OK, NULL);
}

static void other_jobs_do_not_meet(void** state) {
  (void)state;
  const process_plan other = {
      .count = 2, .deadline_s = 0.5, .environment = {"TG_JOB=one", "TG_JOB=two"}, .main = meet};
  processes_start(&other);
  assert_true(process_ended(0) && process_ended(1));
  process_expect(0, TG_ERR_MACHINE, "for PE 1 of 2 to come");
  process_expect(1, TG_ERR_MACHINE, "for PE 0 at file:");
  char path[120];
  snprintf(path, sizeof path, "%s.two", processes_path());
  const tg_socket_place elsewhere = {.path = path, .job = "one"};
  tg_socket_ticket ticket = {.host = "127.0.0.1", .port = 1, .token = "any"};
  assert_int_equal(tg_socket_ticket_write(&elsewhere, &ticket), TG_OK);
  process_plan alone = other;
  alone.late_s[0] = -1;
  processes_start(&alone);
  processes_expect(&alone, TG_ERR_MACHINE, "(the file is of another TG_JOB)");
  unlink(path);
  const process_plan counts = {
      .count = 2, .deadline_s = 0.5, .environment = {NULL, "TG_PE_COUNT=3"}, .main = meet};
  processes_start(&counts);
  assert_true(process_ended(0) && process_ended(1));
  process_expect(1, TG_ERR_INPUT, "PE 1 has TG_PE_COUNT=3, PE 0 at file:");
  const process_plan twice = {
      .count = 3, .deadline_s = 0.5, .environment = {NULL, NULL, "TG_PE=1"}, .main = meet};
  processes_start(&twice);
  assert_true(process_ended(0) && process_ended(1) && process_ended(2));
  process_expect(0, TG_ERR_MACHINE, "for PE 2 of 3 to come");
  int refused = process_reports[1].status == TG_ERR_INPUT ? 1 : 2; /* whoever came second */
  process_expect(refused, TG_ERR_INPUT, "there is a PE 1 at file:");
}

/* Files of earlier runs: where nobody listens any more, where somebody else does, or rubbish. */
static void a_stale_file_confuses_nobody(void** state) {
  (void)state;
  const tg_socket_place place = {.path = processes_path()};
  tg_net_address address;
  tg_socket_ticket stale = {.port = 0};
  assert_null(tg_net_resolve("127.0.0.1", 0, &address));
  int listener = tg_net_listen(&address);
  assert_true(tg_net_own_address(listener, &address) &&
              tg_net_numbers(&address, stale.host, &stale.port));
  for (int kind = 0; kind < 3; kind++) {
    if (kind == 1) tg_net_close(&listener); /* in kind 0 who listens there is mute */
    assert_int_equal(tg_socket_ticket_draw(&stale), TG_OK);
    assert_int_equal(tg_socket_ticket_write(&place, &stale), TG_OK);
    if (kind == 2) assert_int_equal(truncate(processes_path(), 30), 0);
    const process_plan plan = {.count = 3, .deadline_s = 30, .late_s = {0.3, 0, 0.1}, .main = meet};
    processes_start(&plan);
    processes_expect(&plan, TG_OK, NULL);
    assert_int_not_equal(access(processes_path(), F_OK), 0); /* and leaves none */
  }
  tg_net_close(&listener);
}

/* Two runs with one TG_BOOTSTRAP: the second begins and ends while the first waits for its PE 1. */
static void two_jobs_share_a_path(void** state) {
  (void)state;
  const process_plan first = {.count = 2, .deadline_s = 30, .late_s = {0, 0.8}, .main = meet};
  const process_plan second = {.count = 2, .deadline_s = 30, .late_s = {0.1, 0.3}, .main = meet};
  setenv("TG_JOB", "one", 1);
  processes_start(&first);
  pid_t other = fork();
  assert_true(other >= 0);
  if (other == 0) { /* tells by its exit code: cmocka's report is the parent's */
    size_t bytes = MOST_PROCESSES * sizeof *process_reports;
    process_reports = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    setenv("TG_JOB", "two", 1);
    processes_start(&second);
    bool well = process_ended(0) && process_ended(1);
    for (int p = 0; p < 2; p++) well = well && process_reports[p].status == TG_OK;
    _exit(well && process_reports[1].seconds > 0 && process_reports[1].seconds < 20 ? 0 : 1);
  }
  unsetenv("TG_JOB");
  processes_expect(&first, TG_OK, NULL);
  int ended = 0;
  assert_int_equal(waitpid(other, &ended, 0), other);
  assert_true(WIFEXITED(ended) && WEXITSTATUS(ended) == 0);
}

/* What is no ticket stays as it is, and no PE waits for it to become one. */
static void what_is_no_ticket_is_left_alone(void** state) {
  (void)state;
  static const char mine[] = "throng of words that somebody needs\n";
  const process_plan plan = {.count = 2, .deadline_s = 30, .main = meet};
  const char* path = processes_path();
  char target[120], text[sizeof mine];
  snprintf(target, sizeof target, "%s.target", path);
  static const char* const words[] = {"rendezvous: is a file of something else",
                                      "rendezvous: is an empty file", "rendezvous: is a symbolic",
                                      "rendezvous: is a pipe", "rendezvous: is a folder"};
  for (int kind = 0; kind < 5; kind++) {
    FILE* file = fopen(kind == 0 ? path : target, "w");
    assert_true(file && fputs(mine, file) >= 0 && fclose(file) == 0);
    if (kind == 1) assert_true((file = fopen(path, "w")) && fclose(file) == 0);
    if (kind == 2) assert_int_equal(symlink(target, path), 0);
    if (kind == 3) assert_int_equal(mkfifo(path, 0600), 0);
    if (kind == 4) assert_int_equal(mkdir(path, 0700), 0);
    processes_start(&plan);
    processes_expect(&plan, TG_ERR_INPUT, words[kind]);
    for (int p = 0; p < 2; p++) assert_true(process_reports[p].seconds < 10);
    file = fopen(kind == 0 ? path : target, "r");
    assert_true(file && fgets(text, sizeof text, file) && fclose(file) == 0);
    assert_string_equal(text, mine);
    assert_int_equal(remove(path), 0); /* it is still there */
    unlink(target);
  }
}

/* PE 1 writes bytes of its own into the connection to PE 0. */
static tg_frame wrong_frame;
static tg_status send_wrong_frame(tg_world* world, void* context) {
  (void)context;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 64, 1, &s));
  if (tg_world_pe(world) == 1) {
    const tg_socket_link* link = world->link;
    if (tg_net_send_all(link->peers[0].fd, &wrong_frame, sizeof wrong_frame, 1e300) != 0)
      return tg_fail(TG_ERR_INTERNAL, "nothing was sent");
  }
  tg_status status = tg_world_barrier(world);
  tg_symmetric_destroy(&s);
  return status;
}

static void nonsense_is_refused(void** state) {
  (void)state;
  struct {
    tg_frame frame;
    const char* words;
  } cases[8];
  int n = 0;
  tg_frame put = tg_socket_head(TG_FRAME_PUT, 0), data = tg_socket_head(TG_FRAME_DATA, 8);
  put.of = 1;
  put.signal = 0;
  data.of = 8;
#define CASE(kind, change, text)                                                                   \
  cases[n].frame = kind, cases[n].words = text;                                                    \
  cases[n++].frame.change
  CASE(data, magic++, "no message of this version");
  CASE(data, kind = 77, "a message of no known kind");
  CASE(data, of = (uint64_t)1 << 60, "larger than its message");
  CASE(data, bytes = 9, "larger than its message");
  CASE(data, offset = UINT64_MAX - 3, "larger than its message");
  CASE(put, of = 2, "symmetric memory that never was");
  CASE(put, offset = 4096, "a put beyond the symmetric memory");
  CASE(put, signal = 1, "a put beyond the symmetric memory");
#undef CASE
  for (int i = 0; i < n; i++) {
    wrong_frame = cases[i].frame;
    const process_plan plan = {.count = 2, .deadline_s = 30, .main = send_wrong_frame};
    processes_start(&plan);
    assert_true(process_ended(0) && process_ended(1));
    process_expect(0, TG_ERR_MACHINE, cases[i].words);
    assert_int_equal(process_reports[1].status, TG_ERR_MACHINE);
  }
}

static void tcp_needs_no_file(void** state) {
  (void)state;
  tg_net_address address;
  char host[TG_NET_HOST], bootstrap[100];
  int port = 0;
  assert_null(tg_net_resolve("127.0.0.1", 0, &address));
  int listener = tg_net_listen(&address);
  assert_true(tg_net_own_address(listener, &address) && tg_net_numbers(&address, host, &port));
  tg_net_close(&listener); /* free a moment ago */
  snprintf(bootstrap, sizeof bootstrap, "TG_BOOTSTRAP=tcp:%s:%d", host, port);
  process_plan plan = {.count = 3,
                       .deadline_s = 30,
                       .late_s = {0.2, 0, 0},
                       .environment = {bootstrap, bootstrap, bootstrap},
                       .main = meet};
  setenv("TG_JOB", "a-word-of-its-own", 1);
  processes_start(&plan);
  processes_expect(&plan, TG_OK, NULL);
  setenv("TG_JOB", "short", 1);
  processes_start(&plan);
  processes_expect(&plan, TG_ERR_INPUT, "TG_JOB must be set");
  unsetenv("TG_JOB");
}

static void a_bad_environment_is_named(void** state) {
  (void)state;
  static const char* const bad[][2] = {
      {"TG_PE=2", "TG_PE is '2'"},
      {"TG_PE=-1", "TG_PE is '-1'"},
      {"TG_PE=1x", "TG_PE is '1x'"},
      {"TG_PE=", "TG_PE is not set"},
      {"TG_PE_COUNT=0", "TG_PE_COUNT is '0'"},
      {"TG_PE_COUNT=1000000", "TG_PE_COUNT is '1000000'"},
      {"TG_BOOTSTRAP=pigeon:post", "TG_BOOTSTRAP is 'pigeon:post'"},
      {"TG_BOOTSTRAP=file:", "TG_BOOTSTRAP is 'file:'"},
      {"TG_BOOTSTRAP=tcp:host", "TG_BOOTSTRAP is 'tcp:host'"},
      {"TG_BOOTSTRAP=tcp:host:70000", "TG_BOOTSTRAP is 'tcp:host:70000'"},
      {"TG_JOB=two words", "TG_JOB is 'two words'"},
      {"TG_JOB=a/b", "/ cannot be in it"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const process_plan plan = {.count = 2,
                               .deadline_s = 5,
                               .late_s = {-1, 0},
                               .environment = {NULL, bad[i][0]},
                               .main = meet};
    processes_start(&plan);
    processes_expect(&plan, TG_ERR_INPUT, bad[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_depends_on_who_asks_first),
      cmocka_unit_test(a_killed_pe_ends_every_wait_at_once),
      cmocka_unit_test(a_stopped_pe_ends_waits_at_the_deadline),
      cmocka_unit_test(a_late_pe_is_waited_for),
      cmocka_unit_test(strangers_are_cut_off),
      cmocka_unit_test(a_wrong_token_is_cut_off),
      cmocka_unit_test(other_jobs_do_not_meet),
      cmocka_unit_test(a_stale_file_confuses_nobody),
      cmocka_unit_test(two_jobs_share_a_path),
      cmocka_unit_test(what_is_no_ticket_is_left_alone),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(tcp_needs_no_file),
      cmocka_unit_test(a_bad_environment_is_named),
  };
  return cmocka_run_group_tests(tests, processes_set_up, processes_tear_down);
}
