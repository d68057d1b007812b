/* SPDX-License-Identifier: Apache-2.0 */
/* Transport nvshmem on real GPUs: messages, puts and signals, stores and flags of kernels, the
 * caller's stream, deadlines, aborts, and worlds that follow each other.
 *
 * With the word `all` it runs all tests, under `mpirun -n N` with a GPU for each process, by itself
 * as a world of one PE. With `stopped` it tests a process that is stopped (SIGSTOP). With `socket`
 * or `killed` it starts two processes of itself, without MPI: for all the tests, or for one where a
 * process is killed. How ctest and bench/device.sh run it:
 *
 *   RUN: all socket killed
 *   RUN-MPI: all stopped
 *
 * No test framework: it runs on machines that have none. Exits with 77 (skipped), and says why,
 * where NVSHMEM is not built in or there are not enough GPUs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>
#ifdef TG_HAVE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "base/timer.h"
#include "comm/gpu_nvshmem_kernels.cuh"
#include "comm/symmetric.h"
#include "device/cuda/check.h"
#include "device/device.h"
#include "device/nvshmem.h"

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition))                                                                              \
      return tg_fail(TG_ERR_INTERNAL, "line %d: PE %d: not so: %s (%s)", __LINE__,                 \
                     tg_world_pe(world), #condition, tg_last_error());                             \
  } while (0)
#define CUDA(call) TG_TRY(tg_cuda_status((call), 0, #call))

static const double deadline_s = 20;
static int passed, failed, rank_, ranks = 1;

static uint64_t word_of(int pe, uint64_t round, size_t i) {
  return ((uint64_t)pe << 48) ^ (round << 24) ^ (i * 0x9e3779b97f4a7c15u);
}

static uint64_t* signals_at(tg_symmetric* s, int pe) {
  size_t stride = 0;
  char* mine = (char*)tg_symmetric_signals(s, &stride);
  return (uint64_t*)((char*)tg_symmetric_peer(s, pe) + (mine - (char*)tg_symmetric_local(s)));
}

static tg_status facts(tg_world* world, void*) {
  int device = -1, count = tg_world_pe_count(world);
  void* stream = NULL;
  CHECK(strcmp(tg_world_transport(world), "nvshmem") == 0 && count == ranks);
  CHECK(tg_world_pe(world) == rank_ && tg_world_node_pe_count(world) >= 1);
  TG_TRY(tg_world_device(world, &device, &stream));
  CHECK(device == tg_world_node_pe(world) % tg_device_count() && stream);
  CHECK(tg_world_alarm(world) && tg_symmetric_read(tg_world_alarm(world), 0) == 0);
  int64_t sum = rank_ + 1;
  TG_TRY(tg_world_sum_int64(world, &sum, 1));
  CHECK(sum == (int64_t)count * (count + 1) / 2);
  return tg_world_barrier(world);
}

/* Around a ring, as tests/comm/test_symmetric.c: data of this round, whole, from host or GPU. */
static tg_status ring(tg_world* world, void*) {
  enum { WORDS = 200000 };
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), device = 0;
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CUDA(cudaSetDevice(device));
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, WORDS * 8, 2, &s));
  std::vector<uint64_t> data(WORDS), got(WORDS);
  CUDA(cudaMemcpy(got.data(), tg_symmetric_local(s), WORDS * 8, cudaMemcpyDeviceToHost));
  for (uint64_t word : got) CHECK(word == 0);
  uint64_t* on_gpu = NULL;
  CUDA(cudaMalloc(&on_gpu, WORDS * 8));
  TG_TRY(tg_world_barrier(world)); /* so that nobody stores before the zeroes were seen */
  for (uint64_t n = 1; n <= 60; n++) {
    size_t words = n % 5 ? (n * 3571) % WORDS : 0; /* some are empty, and signal all the same */
    tg_symmetric_source reader = {1, to}, writer = {0, from};
    TG_TRY(tg_symmetric_wait(s, reader, n - 1));
    for (size_t i = 0; i < words; i++) data[i] = word_of(pe, n, i);
    const void* source = data.data();
    if (n % 2) {
      CUDA(
          cudaMemcpyAsync(on_gpu, source, words * 8, cudaMemcpyHostToDevice, (cudaStream_t)stream));
      CUDA(cudaStreamSynchronize((cudaStream_t)stream));
      source = on_gpu;
    }
    TG_TRY(tg_symmetric_put(s, to, 0, source, words * 8, 0, n % 3 ? TG_SIGNAL_SET : TG_SIGNAL_ADD,
                            n % 3 ? n : 1));
    if (n % 2)
      CUDA(cudaMemsetAsync(on_gpu, 0, WORDS * 8, (cudaStream_t)stream)); /* ours, in its order */
    else
      data.assign(WORDS, 0);
    TG_TRY(tg_symmetric_wait(s, writer, n));
    CHECK(tg_symmetric_read(s, 0) == n);
    CUDA(cudaMemcpy(got.data(), tg_symmetric_local(s), words * 8, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < words; i++) CHECK(got[i] == word_of(from, n, i));
    TG_TRY(tg_symmetric_signal(s, from, 1, TG_SIGNAL_SET, n));
  }
  CUDA(cudaStreamSynchronize((cudaStream_t)stream));
  cudaFree(on_gpu);
  tg_symmetric_destroy(&s);
  return TG_OK;
}

/* Everyone signals everyone; memory created and destroyed again and again. */
static tg_status all_to_all(tg_world* world, void*) {
  int pe = tg_world_pe(world), count = tg_world_pe_count(world);
  for (int round = 0; round < 20; round++) {
    tg_symmetric* s = NULL;
    TG_TRY(tg_symmetric_create(world, (size_t)count * 8, count + 1, &s));
    for (int p = 0; p < count; p++) {
      uint64_t word = word_of(pe, (uint64_t)round, (size_t)p);
      TG_TRY(tg_symmetric_put(s, p, (size_t)pe * 8, &word, 8, pe, TG_SIGNAL_SET, 5));
      TG_TRY(tg_symmetric_signal(s, p, count, TG_SIGNAL_ADD, (uint64_t)pe + 1));
    }
    std::vector<tg_symmetric_source> left;
    for (int p = 0; p < count; p++) left.push_back(tg_symmetric_source{p, p});
    while (!left.empty()) {
      int which = -1;
      TG_TRY(tg_symmetric_wait_any(s, left.data(), (int)left.size(), 5, &which));
      int p = left[(size_t)which].pe;
      uint64_t word = 0;
      CUDA(cudaMemcpy(&word, (uint64_t*)tg_symmetric_local(s) + p, 8, cudaMemcpyDeviceToHost));
      CHECK(word == word_of(p, (uint64_t)round, (size_t)pe));
      left.erase(left.begin() + which);
    }
    uint64_t total = (uint64_t)count * (uint64_t)(count + 1) / 2;
    TG_TRY(tg_symmetric_wait(s, tg_symmetric_source{count, 0}, total));
    CHECK(tg_symmetric_read(s, count) == total);
    tg_symmetric_destroy(&s);
  }
  return TG_OK;
}

/* Kernels store through the peer's pointer and raise its flag; all queued at once, so that only the
 * flags keep them in step. Also where the host's signals and the kernels' words are the same. */
static tg_status kernels(tg_world* world, void*) {
  enum { COUNT = 3000, ROUNDS = 2000 };
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), device = 0;
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CUDA(cudaSetDevice(device));
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, COUNT * 8, 2, &s));
  for (int p = 0; p < count; p++) CHECK(tg_symmetric_peer(s, p));
  CHECK(tg_symmetric_peer(s, pe) == tg_symmetric_local(s));
  reach r;
  size_t stride = 0;
  r.mine = (uint64_t*)tg_symmetric_local(s);
  r.theirs = (uint64_t*)tg_symmetric_peer(s, to);
  r.my_signals = tg_symmetric_signals(s, &stride);
  r.their_signals = signals_at(s, to);
  r.words = stride / 8;
  uint64_t *consumed = signals_at(s, from) + r.words,
           *alarm = signals_at(tg_world_alarm(world), pe);
  unsigned* wrong = NULL;
  unsigned found = 1;
  CUDA(cudaMalloc(&wrong, sizeof *wrong));
  CUDA(cudaMemset(wrong, 0, sizeof *wrong));
  double start = tg_time_now();
  for (uint64_t n = 1; n <= ROUNDS; n++) {
    send<<<1, 256, 0, (cudaStream_t)stream>>>(r, n, (uint64_t)pe, COUNT, alarm, wrong);
    receive<<<1, 256, 0, (cudaStream_t)stream>>>(r, n, (uint64_t)from, COUNT, consumed, alarm,
                                                 wrong);
  }
  CUDA(cudaGetLastError());
  CUDA(cudaStreamSynchronize((cudaStream_t)stream));
  double took = tg_time_now() - start;
  CUDA(cudaMemcpy(&found, wrong, sizeof found, cudaMemcpyDeviceToHost));
  cudaFree(wrong);
  CHECK(found == 0);
  CHECK(tg_symmetric_read(s, 0) == ROUNDS);
  TG_TRY(tg_symmetric_wait(s, tg_symmetric_source{1, to}, ROUNDS));
  if (pe == 0)
    printf("    %d rounds of store, flag, read: %.2f us each\n", ROUNDS, took / ROUNDS * 1e6);
  tg_symmetric_destroy(&s);
  return TG_OK;
}

/* A put is queued behind the caller's kernel, on the caller's stream. */
static tg_status behind_a_kernel(tg_world* world, void* context) {
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), device = 0;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CHECK(!context || stream == context);
  CUDA(cudaSetDevice(device));
  tg_symmetric *s = NULL, *source = NULL;
  TG_TRY(tg_symmetric_create(world, 800, 1, &s));
  TG_TRY(tg_symmetric_create(world, 800, 1, &source));
  uint64_t* words = (uint64_t*)tg_symmetric_local(source);
  int to = (pe + 1) % count, from = (pe + count - 1) % count;
  double start = tg_time_now();
  slow_fill<<<1, 1, 0, (cudaStream_t)stream>>>(words, 100, (uint64_t)pe * 1000);
  TG_TRY(tg_symmetric_put(s, to, 0, words, 800, 0, TG_SIGNAL_SET, 1));
  CHECK(tg_time_now() - start < 0.045); /* queued, not waited for */
  TG_TRY(tg_symmetric_wait(s, tg_symmetric_source{0, from}, 1));
  uint64_t got[100];
  CUDA(cudaMemcpy(got, tg_symmetric_local(s), 800, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 100; i++) CHECK(got[i] == (uint64_t)(from * 1000 + i));
  tg_symmetric_destroy(&s);
  tg_symmetric_destroy(&source);
  return TG_OK;
}

/* The last PE signals 41 where 42 is waited for. */
static tg_status stall(tg_world* world, void*) {
  int pe = tg_world_pe(world), last = tg_world_pe_count(world) - 1;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  tg_status status = TG_OK;
  if (pe == last) {
    TG_TRY(tg_symmetric_signal(s, 0, 0, TG_SIGNAL_SET, 41));
    double start = tg_time_now();
    while (tg_time_now() - start < 10 && status == TG_OK && last > 0) {
      usleep(20000);
      status = tg_world_exchange(world, pe, NULL, 0, pe, NULL, 0); /* to itself: looks only */
    }
  }
  if (pe == 0) {
    tg_world_note(world, "test, part", 7, 42);
    double start = tg_time_now();
    status = tg_symmetric_wait(s, tg_symmetric_source{0, last}, 42);
    CHECK(tg_time_now() - start < 3); /* the deadline is 0.5 */
  } else if (pe != last) {
    status = tg_symmetric_wait(s, tg_symmetric_source{0, 0}, 42);
  }
  CHECK(status == TG_ERR_MACHINE);
  char expected[128];
  snprintf(expected, sizeof expected, "for PE %d in signal 0 (it is 41, at least 42 was expected)",
           last);
  CHECK(strstr(tg_last_error(), expected));
  CHECK(strstr(tg_last_error(), "test, part 7, exchange 42"));
  tg_status again = tg_symmetric_wait(s, tg_symmetric_source{0, 0}, 1000);
  tg_symmetric_destroy(&s);
  CHECK(again == TG_ERR_MACHINE); /* sticky */
  return again;
}

/* PE 0's kernels spin, its host waits for them; the last PE aborts: the alarm ends the kernel. */
static tg_status abort_while_spinning(tg_world* world, void*) {
  int pe = tg_world_pe(world), last = tg_world_pe_count(world) - 1, device = 0;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CUDA(cudaSetDevice(device));
  uint64_t* alarm = signals_at(tg_world_alarm(world), pe);
  unsigned *seen = NULL, found = 0;
  CUDA(cudaMalloc(&seen, sizeof *seen));
  CUDA(cudaMemset(seen, 0, sizeof *seen));
  TG_TRY(tg_world_barrier(world));
  double start = tg_time_now();
  cudaDeviceProp properties; /* more blocks than there is room for: no other kernel gets in */
  CUDA(cudaGetDeviceProperties(&properties, device));
  await_alarm<<<4 * properties.multiProcessorCount, 1024, 0, (cudaStream_t)stream>>>(alarm, seen);
  CUDA(cudaGetLastError());
  if (pe == last) {
    usleep(200000);
    tg_fail(TG_ERR_NUMERICS, "PE %d blew up", last);
    tg_world_abort(world, TG_ERR_NUMERICS);
  }
  CUDA(cudaStreamSynchronize((cudaStream_t)stream));
  double took = tg_time_now() - start;
  CUDA(cudaMemcpy(&found, seen, sizeof found, cudaMemcpyDeviceToHost));
  cudaFree(seen);
  CHECK(found == 1 && took < 3);
  return tg_world_heed_alarm(world); /* the abort's status and words */
}

/* A kernel of PE 0 gives up; its host says why a moment later, and the others hear that. */
static tg_status a_kernel_gives_up(tg_world* world, void*) {
  int pe = tg_world_pe(world), count = tg_world_pe_count(world), device = 0;
  void* stream = NULL;
  TG_TRY(tg_world_device(world, &device, &stream));
  CUDA(cudaSetDevice(device));
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  if (pe == 0) {
    for (int p = 0; p < count; p++)
      raise<<<1, 1, 0, (cudaStream_t)stream>>>(signals_at(tg_world_alarm(world), p));
    CUDA(cudaStreamSynchronize((cudaStream_t)stream));
    usleep(300000);
    tg_fail(TG_ERR_MACHINE, "a kernel of PE 0 gave up");
    tg_world_abort(world, TG_ERR_MACHINE);
  }
  tg_status status = tg_symmetric_wait(s, tg_symmetric_source{0, 0}, 1);
  CHECK(status == TG_ERR_MACHINE && strcmp(tg_last_error(), "a kernel of PE 0 gave up") == 0);
  return status;
}

/* More than a GPU has: refused on all PEs, and the world goes on. */
static tg_status too_much(tg_world* world, void*) {
  tg_symmetric* s = NULL;
  CHECK(tg_symmetric_create(world, (size_t)1 << 41, 1, &s) == TG_ERR_MACHINE && !s);
  CHECK(strstr(tg_last_error(), "symmetric memory of 21990232") &&
        strstr(tg_last_error(), "use more PEs"));
  CHECK(tg_symmetric_create(world, tg_world_pe(world) ? 100 : 200, 1, &s) ==
        (tg_world_pe_count(world) > 1 ? TG_ERR_INTERNAL : TG_OK));
  tg_symmetric_destroy(&s);
  TG_TRY(tg_symmetric_create(world, 100, 1, &s));
  tg_symmetric_destroy(&s);
  return tg_world_barrier(world);
}

static void report(bool right, const char* what) {
  int mine = right ? 0 : 1, all = mine;
#ifdef TG_HAVE_MPI
  if (ranks > 1 && !getenv("TG_BOOTSTRAP"))
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
  if (!right) printf("    PE %d, %s: %s\n", rank_, what, tg_last_error());
  if (rank_ == 0) printf("%s %s\n", all ? "FAILED" : "ok    ", what);
  fflush(stdout);
  (all ? failed : passed)++;
}

static tg_world_params params_of(double deadline) {
  tg_world_params params;
  memset(&params, 0, sizeof params);
  params.transport = "nvshmem";
  params.deadline_s = deadline;
  return params;
}

static void run(tg_world_main main, const char* what, tg_status expected, const char* words) {
  tg_world_params params = params_of(main == stall ? 0.5 : deadline_s);
  tg_status status = tg_world_run(&params, main, NULL);
  report(status == expected && (!words || strstr(tg_last_error(), words)), what);
}

static void own_stream() {
  tg_world_params params = params_of(deadline_s);
  cudaStream_t stream = NULL;
  int device = rank_ % tg_device_count(); /* one machine */
  cudaSetDevice(device);
  cudaStreamCreate(&stream);
  params.stream = stream;
  report(tg_world_run(&params, behind_a_kernel, stream) == TG_OK, "the caller's stream");
  cudaSetDevice(0);
  cudaStreamDestroy(stream);
}

static void refusals() {
  tg_world_params params = params_of(deadline_s);
  tg_world* world = NULL;
  int device = 0;
  params.device = &device;
  if (ranks > 1)
    report(tg_world_open(&params, &world) == TG_ERR_MACHINE && !world &&
               strstr(tg_last_error(), "PEs 0 and 1 would share one GPU (number 0"),
           "two PEs on one GPU are refused");
  device = 99;
  report(tg_world_open(&params, &world) == TG_ERR_MACHINE && !world &&
             strstr(tg_last_error(), "PE 0 asks for GPU 99"),
         "a GPU that is not there is refused");
  if (ranks > 1) {
    device = (rank_ + 1) % ranks;
    report(tg_world_open(&params, &world) == TG_ERR_MACHINE && !world &&
               strstr(tg_last_error(), "NVSHMEM keeps the processes, their order and the GPUs"),
           "a later world on other GPUs is refused");
  }
}

/* The last PE stops itself; the others' waits end, and say for whom they waited. */
static tg_status stopped(tg_world* world, void*) {
  int pe = tg_world_pe(world), last = tg_world_pe_count(world) - 1;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  int64_t pid = pe == last ? (int64_t)getpid() : 0;
  TG_TRY(tg_world_max_int64(world, &pid, 1));
  if (pe == last) {
    kill(getpid(), SIGSTOP); /* until PE 0 lets it go on */
    return tg_world_barrier(world);
  }
  double start = tg_time_now();
  tg_status status = tg_symmetric_wait(s, tg_symmetric_source{0, last}, 3);
  double took = tg_time_now() - start;
  if (pe == 0) kill((pid_t)pid, SIGCONT);
  CHECK(status == TG_ERR_MACHINE && took > 0.9 && took < 4);
  CHECK(strstr(tg_last_error(), "in signal 0 (it is 0, at least 3 was expected)"));
  return status;
}

/* The last PE is killed; the others notice while they wait for it. */
static tg_status killed(tg_world* world, void*) {
  int last = tg_world_pe_count(world) - 1;
  tg_symmetric* s = NULL;
  TG_TRY(tg_symmetric_create(world, 8, 1, &s));
  TG_TRY(tg_world_barrier(world));
  if (tg_world_pe(world) == last) kill(getpid(), SIGKILL);
  double start = tg_time_now();
  tg_status status = tg_symmetric_wait(s, tg_symmetric_source{0, last}, 3);
  CHECK(status == TG_ERR_MACHINE && tg_time_now() - start < 5);
  char lost[32], waited[64];
  snprintf(lost, sizeof lost, "lost PE %d", last);
  snprintf(waited, sizeof waited, "for PE %d in signal 0 (it is 0", last);
  CHECK(strstr(tg_last_error(), lost) || strstr(tg_last_error(), waited));
  printf("    it says: %s\n", tg_last_error());
  CHECK(tg_world_barrier(world) == TG_ERR_MACHINE);
  return status;
}

static void all_tests(const char* word) {
  if (strcmp(word, "kill") == 0) {
    tg_world_params params = params_of(2);
    double start = tg_time_now();
    tg_status status = tg_world_run(&params, killed, NULL);
    report(status == TG_ERR_MACHINE && strstr(tg_last_error(), "PE 1"), "a killed PE");
    report(tg_time_now() - start < 20, "a killed PE: in time");
    return;
  }
  if (strcmp(word, "stopped") == 0) {
    tg_world_params params = params_of(1);
    tg_status status = tg_world_run(&params, stopped, NULL);
    report(status == TG_ERR_MACHINE && strstr(tg_last_error(), "waited"), "a stopped PE");
    return;
  }
  run(facts, "facts", TG_OK, NULL);
  run(ring, "puts around a ring", TG_OK, NULL);
  run(all_to_all, "everyone to everyone", TG_OK, NULL);
  run(kernels, "stores and flags of kernels", TG_OK, NULL);
  run(behind_a_kernel, "a put behind a kernel", TG_OK, NULL);
  own_stream();
  run(too_much, "too much memory", TG_OK, NULL);
  run(stall, "a PE that does not signal is named", TG_ERR_MACHINE, "in signal 0 (it is 41");
  run(abort_while_spinning, "an abort ends kernels that spin", TG_ERR_NUMERICS, "blew up");
  run(a_kernel_gives_up, "a kernel that gives up", TG_ERR_MACHINE, "a kernel of PE 0 gave up");
  refusals();
  run(ring, "a world after all these", TG_OK, NULL);
}

/* Two processes of this program with this word, as transport socket wants them. */
static int two_processes(const char* word) {
  char folder[] = "/tmp/throng-nvshmem-XXXXXX", text[64];
  bool kill_one = strcmp(word, "killed") == 0;
  pid_t ids[2];
  int worst = 0;
  if (!mkdtemp(folder)) return 1;
  snprintf(text, sizeof text, "file:%s/rendezvous", folder);
  setenv("TG_BOOTSTRAP", text, 1);
  setenv("TG_PE_COUNT", "2", 1);
  for (int p = 0; p < 2; p++) {
    setenv("TG_PE", p ? "1" : "0", 1);
    ids[p] = fork();
    if (ids[p] == 0) {
      execl("/proc/self/exe", "comm_gpu_nvshmem", kill_one ? "kill" : "all", (char*)NULL);
      _exit(127);
    }
  }
  for (int p = 0; p < 2; p++) {
    int end = 0, code = 1;
    waitpid(ids[p], &end, 0);
    if (WIFEXITED(end)) code = WEXITSTATUS(end);
    if (kill_one && p == 1 && WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL) code = 0;
    if (code && code != 77) printf("process %d ended with %#x\n", p, (unsigned)end);
    if (code && worst != 1) worst = code;
  }
  snprintf(text, sizeof text, "%s/rendezvous", folder);
  unlink(text);
  rmdir(folder);
  printf("two processes without MPI: %s\n", worst == 0    ? "passed"
                                            : worst == 77 ? "skipped"
                                                          : "FAILED");
  return worst;
}

int main(int argc, char** argv) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  const char *word = argc > 1 ? argv[1] : "all", *why = NULL;
  if (strcmp(word, "socket") == 0 || strcmp(word, "killed") == 0) return two_processes(word);
  if (getenv("TG_BOOTSTRAP")) {
    rank_ = atoi(getenv("TG_PE"));
    ranks = atoi(getenv("TG_PE_COUNT"));
  }
#ifdef TG_HAVE_MPI
  int level = 0;
  bool mpi = !getenv("TG_BOOTSTRAP") && tg_world_under_launcher();
  if (mpi) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  }
#endif
  char text[128];
  if (tg_nvshmem_check() != TG_OK) why = tg_last_error();
  if (!why && tg_device_count() < ranks) {
    snprintf(text, sizeof text, "%d processes need a GPU each, there are %d", ranks,
             tg_device_count());
    why = text;
  }
  if (!why && strcmp(word, "stopped") == 0 && ranks < 2)
    why = "a stopped PE needs another that notices; use mpirun -n 2";
  double start = tg_time_now();
  if (!why) {
    all_tests(word);
    if (rank_ == 0)
      printf("%d PEs: %d passed, %d failed, %.1f s\n", ranks, passed, failed,
             tg_time_now() - start);
  } else if (rank_ == 0) {
    printf("skipped: %s\n", why);
  }
#ifdef TG_HAVE_MPI
  if (mpi) MPI_Finalize();
#endif
  return why ? 77 : failed ? 1 : 0;
}
