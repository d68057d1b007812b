/* SPDX-License-Identifier: Apache-2.0 */
/* The halo exchange between GPUs of several processes, checked by atom numbers as in gpu_halo.cu.
 *
 * Started by itself it starts the processes of each part, with transport socket for what they say
 * to each other: two with a GPU each that try every schedule and path of transport nvshmem; four
 * that stage through the host; and pairs of which one is stopped, killed, or launches nothing for a
 * while: the other must end with exit code 3, in time, and say for whom it waited. With the word
 * `plans` only what concerns plans made on the devices. Under mpirun -n 2 the processes are there,
 * and the first two parts are done with MPI. Exits with 77 where there are no two GPUs, or no
 * NVSHMEM.
 *
 *   RUN-MPI: all */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/world.h"
#include "device/nvshmem.h"
#include "halo/processes_plan.cuh"
#ifdef TG_HAVE_MPI
#include <mpi.h>
#endif

static const double patience_s = 1; /* of waits that are to fail */

static const way nvshmem_ways[] = {
    {"host", NULL, false, NULL},        {"stream", NULL, false, "store"},
    {"stream", NULL, false, "put"},     {"pulse", NULL, false, "store"},
    {"pulse", NULL, false, "put"},      {"fused", "put", false, "store"},
    {"fused", "put", false, "put"},     {"fused", "pull", false, "store"},
    {"fused", "reduce", false, "auto"}, {"direct", "put", false, "store"},
    {"direct", "put", false, "put"},    {"direct", "pull", false, "store"},
    {"direct", "reduce", false, NULL},  {"pulse", NULL, true, "store"},
    {"fused", "put", true, "store"},    {"direct", "put", true, "store"},
};
static const way staged_ways[] = {{"host", NULL, false, NULL}};

static const layout layouts[] = {
    {{2, 1, 1}, 1.0, 300, 1},    {{1, 2, 1}, 1.25, 300, 1},  {{1, 1, 2}, 2.0, 200, 1},
    {{2, 1, 1}, 1.0, 100, 0.25}, {{1, 2, 1}, 0, 100, 1},     {{1, 1, 2}, 1.0, 0, 1},
    {{2, 1, 1}, 0.5, 1, 1},      {{3, 1, 1}, 1.25, 250, 1},  {{1, 1, 3}, 2.0, 200, 0.25},
    {{2, 2, 1}, 1.25, 300, 1},   {{4, 1, 1}, 2.5, 200, 1},   {{2, 1, 4}, 1.5, 300, 1},
    {{2, 2, 2}, 1.25, 500, 1},   {{1, 2, 2}, 1.5, 150, 0.5},
};

/* As in gpu_halo.cu: twice, then a smaller layout in the same memory. */
static bool one_layout(const layout* wanted, const way* w, bool wide) {
  scene s;
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  if (!check_plan(&s)) return false;
  tg_device_halo_params params = params_of(w, 0, wide, true);
  params.margin = 1.5;
  holder h;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  for (int round = 0; round < 3; round++) {
    if (round == 2) {
      layout fewer = *wanted;
      fewer.atoms /= 3;
      RUN(scene_make(&fewer, 7, is_direct(w), &s));
      if (tg_device_halo_replan(h.halo, &s.plan) != TG_OK) {
        EXPECT(strstr(tg_last_error(), "make a new halo") != NULL);
        return true;
      }
    }
    if (!exchange_once(&s, h.halo)) return false;
  }
  return true;
}

/* Forces in thirds have the bits that one process with all PEs gives them; schedule host, as PEs of
 * two processes that spin may not share a GPU. */
static bool same_bits(const layout* wanted, const way* w, bool wide) {
  const int own = own_pe;
  scene staged, s;
  std::vector<double> all, mine;
  size_t before = 0;
  way plain = {"host", NULL, false, NULL};
  tg_device_halo_params params = params_of(&plain, 1, wide, true);
  RUN(scene_make(wanted, 0, false, &staged));
  for (int p = 0; p < own; p++) before += 3 * staged.numbers[(size_t)p].size();
  {
    holder h;
    own_pe = -1;
    bool right = tg_device_halo_create(&params, &staged.plan, &h.halo) == TG_OK &&
                 tg_device_halo_positions(h.halo) == TG_OK &&
                 set_forces(&staged, h.halo, true) == TG_OK &&
                 tg_device_halo_forces(h.halo) == TG_OK && check_forces(&staged, h.halo, &all);
    own_pe = own;
    EXPECT(right);
  }
  RUN(scene_make(wanted, 0, is_direct(w), &s));
  params = params_of(w, 0, wide, true);
  holder h;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  for (int again = 0; again < 2; again++) {
    mine.clear();
    RUN(tg_device_halo_positions(h.halo));
    RUN(set_forces(&s, h.halo, true));
    RUN(tg_device_halo_forces(h.halo));
    if (!check_forces(&s, h.halo, &mine)) return false;
    EXPECT(memcmp(mine.data(), all.data() + before, mine.size() * sizeof(double)) == 0);
  }
  return true;
}

/* 1,000 exchanges back to back, ten to a graph, or one by one; schedule host: 100. */
static bool thousand(const way* w, const int grid[3], bool forces, sender how, bool graph) {
  layout wanted = {{grid[0], grid[1], grid[2]}, 1.25, 900, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, 0, false, forces);
  holder h;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  std::vector<watch> watches((size_t)s.plan.pe_count);
  char* memory = NULL;
  bool right = true, host = strcmp(w->schedule, "host") == 0;
  RUN(watch_make(&s, h.halo, own_pe, &watches[(size_t)own_pe], &memory));
  unsigned steps = host ? 100 : 1000;
  if (!graph) {
    for (unsigned n = 0; n < steps && right; n++) right = queue_step(h.halo, watches, how, forces);
  } else {
    RUN(tg_device_halo_graph_begin(h.halo));
    for (int n = 0; n < 10 && right; n++) right = queue_step(h.halo, watches, how, forces);
    RUN(tg_device_halo_graph_end(h.halo, &h.graph));
    for (int n = 0; n < 100 && right; n++) RUN(tg_device_halo_graph_launch(h.halo, h.graph));
  }
  RUN(tg_device_halo_synchronize(h.halo));
  unsigned found[2];
  cudaMemcpy(found, watches[(size_t)own_pe].step, sizeof found, cudaMemcpyDeviceToHost);
  cudaFree(memory);
  right = expect(found[0] == steps, "all steps were made") && right;
  return expect(found[1] == 0, "nothing stale") && right;
}

/* A graph outlives a new plan; a plan that does not fit changes nothing, on any PE. */
static bool graph_and_replan(const way* w) {
  layout wanted = {{2, 1, 1}, 1.0, 700, 1};
  scene s;
  RUN(scene_make(&wanted, 0, is_direct(w), &s));
  tg_device_halo_params params = params_of(w, 0, false, true);
  params.margin = 2;
  holder h;
  RUN(open_halo(&s, &params, is_direct(w), &h.halo));
  RUN(tg_device_halo_graph_begin(h.halo));
  RUN(tg_device_halo_positions(h.halo));
  RUN(tg_device_halo_forces(h.halo));
  RUN(tg_device_halo_graph_end(h.halo, &h.graph));
  for (int round = 0; round < 7; round++) {
    layout now = wanted;
    if (round == 3) now.atoms = 0;
    if (round % 2) now.atoms /= 2;
    if (round < 6) {
      RUN(scene_make(&now, round, is_direct(w), &s));
      RUN(tg_device_halo_replan(h.halo, &s.plan));
    } else { /* 1,600 atoms: more than fit, but only on PE 0 */
      scene many;
      layout crowd = wanted;
      crowd.atoms = 1600;
      crowd.filled = 0.5;
      RUN(scene_make(&crowd, 0, is_direct(w), &many));
      EXPECT(tg_device_halo_replan(h.halo, &many.plan) == TG_ERR_MACHINE);
      EXPECT(strstr(tg_last_error(), "PE 0") && strstr(tg_last_error(), "room for"));
    }
    RUN(set_positions(&s, h.halo));
    RUN(tg_device_halo_graph_launch(h.halo, h.graph));
    RUN(tg_device_halo_synchronize(h.halo));
    if (!check_positions(&s, h.halo)) return false;
  }
  return true;
}

static bool moves(const way* w, bool forces) {
  layout wanted = {{2, 1, 1}, 1.0, 600, 1};
  scene s;
  RUN(scene_make(&wanted, 0, true, &s));
  tg_device_halo_params params = params_of(w, 0, true, forces);
  holder h;
  RUN(open_halo(&s, &params, true, &h.halo));
  RUN(set_positions(&s, h.halo));
  std::vector<double> v(s.centres[(size_t)own_pe].size() + 3, 0.5);
  RUN(tg_device_halo_set_velocities(h.halo, own_pe, (const double(*)[3])v.data()));
  for (int n = 0; n < 4; n++) {
    RUN(tg_device_halo_move(h.halo, 0.25, true));
    RUN(tg_device_halo_await(h.halo));
    if (forces) RUN(tg_device_halo_forces(h.halo));
  }
  RUN(tg_device_halo_synchronize(h.halo));
  std::vector<double> x(3 * s.plan.parts[own_pe].local_count + 1);
  RUN(tg_device_halo_get_positions(h.halo, own_pe, (vector3*)x.data()));
  for (size_t i = 0; i < s.plan.parts[own_pe].local_count; i++)
    for (int d = 0; d < 3; d++) {
      double at = s.all[3 * number_of(&s, own_pe, i) + d] + 0.5;
      EXPECT(x[3 * i + d] == at || x[3 * i + d] == at + box[d]);
    }
  return true;
}

/* Refused on all PEs alike, with words that help; nothing is left behind. */
static bool refused(const scene* s, const way* w, bool forces, tg_status status, const char* word) {
  tg_device_halo* halo = NULL;
  tg_device_halo_params params = params_of(w, 0, false, forces);
  bool direct = strcmp(w->schedule, "direct") == 0;
  tg_status found = open_halo(s, &params, direct, &halo);
  bool right = found == status && !halo && strstr(tg_last_error(), word);
  if (!right) printf("    status %d: %s\n", (int)found, tg_last_error());
  tg_device_halo_destroy(&halo);
  return right;
}

static bool refusals(bool nvshmem) {
  layout wanted = {{2, 1, 1}, 1.0, 30, 1};
  scene s;
  RUN(scene_make(&wanted, 0, false, &s));
  way w = {"fused", "put", false, NULL};
  if (!nvshmem) {
    EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "nvshmem"));
    w.schedule = "direct";
    EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "nvshmem"));
    w.schedule = "host";
    w.path = "put";
    EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "leave it out"));
    return true;
  }
  w.path = "pigeon";
  EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "give auto, store or put"));
  w.path = "put";
  w.force_return = "pull";
  EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "path put"));
  w.force_return = "put";
  w.bulk = true;
  EXPECT(refused(&s, &w, true, TG_ERR_INPUT, "path put"));
  w.bulk = false;
  EXPECT(refused(&s, &w, own_pe == 0, TG_ERR_INTERNAL, "differ"));
  holder h;
  double x[3] = {0, 0, 0};
  tg_device_halo_params params = params_of(&w, 0, false, true);
  RUN(open_halo(&s, &params, false, &h.halo));
  EXPECT(tg_device_halo_get_forces(h.halo, 1 - own_pe, &x) == TG_ERR_INPUT);
  EXPECT(tg_device_halo_set_velocities(h.halo, 1 - own_pe, &x) == TG_ERR_INPUT);
  tg_device_halo_view v;
  tg_device_halo_view_of(h.halo, 1 - own_pe, &v);
  EXPECT(!v.port && !v.x && v.home_count == 0);
  return true;
}

static void check_way(const way* w, bool nvshmem) {
  const bool host = strcmp(w->schedule, "host") == 0, stream = strcmp(w->schedule, "stream") == 0;
  for (const layout& wanted : layouts) {
    if (wanted.grid[0] * wanted.grid[1] * wanted.grid[2] != tg_world_pe_count(world)) continue;
    for (int wide = 0; wide < 2; wide++) {
      report_all(one_layout(&wanted, w, wide != 0), wide ? "layout, double" : "layout", w,
                 wanted.grid);
      if (!w->force_return || strcmp(w->force_return, "reduce"))
        report_all(same_bits(&wanted, w, wide != 0), wide ? "bits, double" : "bits", w,
                   wanted.grid);
    }
  }
  if (tg_world_pe_count(world) != 2) return;
  static const int grid[3] = {2, 1, 1};
  for (int forces = 0; forces < 2; forces++) {
    for (int graph = 0; graph < (host ? 1 : 2); graph++) {
      report_all(thousand(w, grid, forces != 0, SENT, graph != 0), "1,000", w, grid);
      if (is_direct(w) && !w->bulk)
        for (sender how : {PUSHED, POSTED})
          report_all(thousand(w, grid, forces != 0, how, graph != 0),
                     how == PUSHED ? "1,000 pushes" : "1,000 posts", w, grid);
    }
    if (is_direct(w) && !w->bulk && nvshmem) report_all(moves(w, forces != 0), "moves", w, grid);
  }
  if (!host && !stream) report_all(graph_and_replan(w), "graph and new plan", w, grid);
}

static int check_all(bool nvshmem) {
  double start = tg_time_now();
  const size_t count = nvshmem ? sizeof nvshmem_ways / sizeof *nvshmem_ways : 1;
  for (size_t i = 0; i < count; i++)
    check_way(nvshmem ? &nvshmem_ways[i] : &staged_ways[i], nvshmem);
  static const int grid[3] = {2, 1, 1};
  if (nvshmem && tg_world_pe_count(world) == 2) check_plans();
  if (tg_world_pe_count(world) == 2)
    report_all(refusals(nvshmem), "refusals", &staged_ways[0], grid);
  if (own_pe == 0)
    printf("%d processes, transport %s: %d passed, %d failed, %.1f s\n", tg_world_pe_count(world),
           tg_world_transport(world), passed, failed, tg_time_now() - start);
  return failed ? 1 : 0;
}

/* PE 1 fails as told after some exchanges. Returns the exit code. */
static int fail_as_told(const char* fault, const char* schedule, const char* path) {
  layout wanted = {{2, 1, 1}, 1.0, 3000, 1};
  const way w = {schedule, NULL, false, path};
  scene s;
  tg_device_halo* halo = NULL;
  tg_device_halo_params params = params_of(&w, 0, false, true);
  params.deadline_s = patience_s;
  tg_status status = scene_make(&wanted, 0, is_direct(&w), &s);
  if (status == TG_OK) status = open_halo(&s, &params, is_direct(&w), &halo);
  if (status == TG_OK && strcmp(fault, "outgrow") == 0) return device_plan_outgrown(halo) ? 3 : 1;
  double start = 0;
  for (int n = 0; n < 40 && status == TG_OK; n++) {
    if (n == 20) {
      status = tg_device_halo_synchronize(halo);
      if (status != TG_OK) break;
      if (own_pe == 1 && strcmp(fault, "stop") == 0) raise(SIGSTOP);
      if (own_pe == 1 && strcmp(fault, "kill") == 0) raise(SIGKILL);
      if (own_pe == 1) sleep(2);
      start = tg_time_now();
    }
    status = tg_device_halo_positions(halo);
    if (status == TG_OK) status = tg_device_halo_forces(halo);
  }
  if (status == TG_OK) status = tg_device_halo_synchronize(halo);
  double took = tg_time_now() - start;
  printf("    PE %d after %.2f s: %s\n", own_pe, took, tg_last_error());
  char expected[64];
  snprintf(expected, sizeof expected, "PE 0 waited %g s for the ", patience_s);
  const char* where = is_direct(&w) ? "of PE 1 (neighbour 1 at (1 0 0) domains, exchange 21)"
                                    : "of PE 1 (pulse 1, exchange 21)";
  /* PE 1, which idled while PE 0 gave up, must not wait for a deadline of its own */
  bool right = status == TG_ERR_MACHINE && strstr(tg_last_error(), expected) &&
               strstr(tg_last_error(), where) && took < (own_pe == 0 ? patience_s + 1 : patience_s);
  if (!right) printf("    PE %d: not as it should be\n", own_pe);
  if (own_pe == 0 && strcmp(fault, "idle") == 0) sleep(2); /* PE 1 is to hear of it */
  fflush(stdout);
  return right ? 3 : 1;
}

/* One process: PE of a world that has been opened. */
static int be_pe(int argc, char** argv) {
  own_pe = tg_world_pe(world);
  passed = failed = 0;
  if (load_kernels_on(tg_world_node_pe(world) % tg_device_count()) != TG_OK) {
    printf("%s\n", tg_last_error());
    return 1;
  }
  if (argc > 3) return fail_as_told(argv[1], argv[2], argv[3]);
  if (argc > 1 && strcmp(argv[1], "plans") == 0) {
    check_plans();
    if (own_pe == 0) printf("plans: %d passed, %d failed\n", passed, failed);
    return failed ? 1 : 0;
  }
  return check_all(strcmp(tg_world_transport(world), "nvshmem") == 0);
}

static tg_status open_world(const char* transport) {
  tg_world_params params = {};
  params.transport = transport;
  params.deadline_s = 20;
  tg_status status = tg_world_open(&params, &world);
  if (status != TG_OK) printf("transport %s: %s\n", transport, tg_last_error());
  return status;
}

/* One of the processes that start_processes has made. */
static int be_started(int argc, char** argv) {
  if (open_world(strcmp(argv[1], "staged") == 0 ? "socket" : "nvshmem") != TG_OK) return 1;
  int code = be_pe(argc, argv);
  if (code == 0 && tg_world_close(&world, TG_OK) != TG_OK) {
    printf("%s\n", tg_last_error());
    code = 1;
  }
  fflush(stdout);
  _exit(code); /* after a failure others are not to be waited for */
}

/* Starts count processes of this program with these words; codes: how each has ended, as waitpid
 * has it. The last one is ended once the others have. */
static void start_processes(int count, const char* const words[3], int* codes) {
  char folder[] = "/tmp/throng-halo-XXXXXX", text[64];
  pid_t ids[8];
  if (!mkdtemp(folder)) return;
  snprintf(text, sizeof text, "file:%s/rendezvous", folder);
  setenv("TG_BOOTSTRAP", text, 1);
  snprintf(text, sizeof text, "%d", count);
  setenv("TG_PE_COUNT", text, 1);
  fflush(stdout);
  for (int p = 0; p < count; p++) {
    snprintf(text, sizeof text, "%d", p);
    setenv("TG_PE", text, 1);
    ids[p] = fork();
    if (ids[p] == 0) {
      execl("/proc/self/exe", "halo_gpu_halo_processes", words[0], words[1], words[2], (char*)NULL);
      _exit(127);
    }
  }
  for (int p = 0; p < count; p++) {
    for (int n = 0; n < 15 && p == count - 1 && count == 2 && words[1]; n++) {
      if (waitpid(ids[p], &codes[p], WNOHANG) == ids[p]) break;
      usleep(100000);
      if (n == 14) kill(ids[p], SIGKILL);
    }
    waitpid(ids[p], &codes[p], 0);
  }
  unlink(strchr(getenv("TG_BOOTSTRAP"), '/'));
  rmdir(folder);
  unsetenv("TG_BOOTSTRAP");
}

/* A world of one PE has an exchange, too: of nothing. */
static bool alone(void) {
  layout wanted = {{1, 1, 1}, 1.0, 200, 1};
  RUN(open_world("loop"));
  own_pe = 0;
  for (const char* schedule : {"host", "fused", "direct"}) {
    const way w = {schedule, NULL, false};
    tg_device_halo_params params = params_of(&w, 0, false, true);
    scene s;
    holder h;
    RUN(scene_make(&wanted, 0, is_direct(&w), &s));
    RUN(open_halo(&s, &params, is_direct(&w), &h.halo));
    RUN(set_positions(&s, h.halo));
    RUN(tg_device_halo_positions(h.halo));
    if (!check_positions(&s, h.halo)) return false;
    RUN(set_forces(&s, h.halo, false));
    RUN(tg_device_halo_forces(h.halo));
    if (!check_forces(&s, h.halo, NULL)) return false;
    RUN(tg_device_halo_replan(h.halo, &s.plan));
  }
  RUN(tg_world_close(&world, TG_OK));
  return true;
}

static bool ended_with(int end, int code) { return WIFEXITED(end) && WEXITSTATUS(end) == code; }

static void fault(const char* what, const char* schedule, const char* path) {
  const char* const words[3] = {what, schedule, path};
  int ends[2] = {0, 0};
  start_processes(2, words, ends);
  const bool both = strcmp(what, "idle") == 0 || strcmp(what, "outgrow") == 0;
  bool right = ended_with(ends[0], 3) && (!both || ended_with(ends[1], 3));
  report(right, std::string("a PE to ") + what + ", " + schedule + " by " + path);
}

/* Plans on devices only. */
static int drive_plans(void) {
  const char* const words[3] = {"plans", NULL, NULL};
  int ends[2] = {1, 1};
  start_processes(2, words, ends);
  report(ended_with(ends[0], 0) && ended_with(ends[1], 0), "plans on devices");
  fault("outgrow", "direct", "store");
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}

static int drive(void) {
  const char *const check[3] = {"check", NULL, NULL}, *const staged[3] = {"staged", NULL, NULL};
  int ends[4] = {1, 1, 1, 1};
  start_processes(2, check, ends);
  report(ended_with(ends[0], 0) && ended_with(ends[1], 0), "transport nvshmem");
  start_processes(4, staged, ends);
  bool right = true;
  for (int end : ends) right = right && ended_with(end, 0);
  report(right, "staged");
  fault("stop", "fused", "store");
  fault("stop", "fused", "put");
  fault("stop", "stream", "put");
  fault("idle", "direct", "store");
  fault("idle", "pulse", "put");
  fault("kill", "direct", "store");
  fault("kill", "direct", "put");
  fault("outgrow", "direct", "store");
  report(alone(), "a world of one");
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}

#ifdef TG_HAVE_MPI
static int under_mpi(int argc, char** argv) {
  static const char* const transports[] = {"nvshmem", "mpi"};
  int level = 0, code = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  for (int i = 0; i < 2 && code == 0; i++) {
    code = open_world(transports[i]) == TG_OK ? be_pe(1, argv) : 1;
    if (code == 0) code = tg_world_close(&world, TG_OK) != TG_OK;
  }
  fflush(stdout);
  if (code) MPI_Abort(MPI_COMM_WORLD, code);
  MPI_Finalize();
  return code;
}
#endif

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  if (tg_nvshmem_check() != TG_OK || tg_device_count() < 2) {
    printf("skipped: %s\n", tg_device_count() == 1 ? "two GPUs are needed" : tg_last_error());
    return 77;
  }
  if (getenv("TG_BOOTSTRAP") && argc > 1) return be_started(argc, argv);
#ifdef TG_HAVE_MPI
  if (tg_world_under_launcher()) return under_mpi(argc, argv);
#endif
  return argc > 1 && strcmp(argv[1], "plans") == 0 ? drive_plans() : drive();
}
