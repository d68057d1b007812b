/* SPDX-License-Identifier: Apache-2.0 */
/* Windows and flags between two GPUs (md/cuda/peers.cuh): nothing stale in thousands of exchanges,
 * by one block and by many, in graphs; a deadline that is met, reported, and heard of by both.
 *
 * By itself it has both GPUs in one process; under mpirun -n 2 a process for each. With `late` only
 * what ends a world is tested. Prints "N passed, M failed"; exits with 77 (skipped) where there are
 * no two GPUs.
 *
 *   RUN-MPI: all late */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <vector>
#ifdef TG_HAVE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#endif

#include "base/timer.h"
#include "device/device.h"
#include "device/nvshmem.h"
#include "halo/gpu_check.cuh"
#include "md/cuda/peers.cuh"

enum { CARDS = 2, THREADS = 128, BLOCKS = 24, WORDS = THREADS * BLOCKS, ROUNDS = 4000, STEPS = 10 };
static const double patience_s = 0.4;

/* A card's memory. Mail is written by the other card, in turns. */
typedef struct window {
  uint64_t mail[2][WORDS];
  uint64_t step, wrong;
  uint32_t done; /* blocks */
  uint32_t heard, waits;
  uint64_t waited_ns;
} window;

static __device__ uint64_t word_of(uint32_t card, uint64_t round, uint32_t i) {
  return ((uint64_t)(card + 1) << 56) ^ (round * 0x9e3779b97f4a7c15u) ^ i;
}

static __device__ window* own(const tg_md_peers_view& p) { return (window*)p.base[p.card]; }

/* Blocks that are done, before this one. */
static __device__ uint32_t count_up(uint32_t* done) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
               : "=r"(before)
               : "l"(done)
               : "memory");
  return before;
}

/* One block does rounds back to back. */
static __global__ void ping_pong(const __grid_constant__ tg_md_peers_view p, uint32_t rounds) {
  const uint32_t other = 1 - p.card;
  window *mine = own(p), *there = tg_md_peer(p, mine, other);
  uint64_t wrong = 0;
  for (uint64_t n = 1; n <= rounds; n++) {
    there->mail[n % 2][threadIdx.x] = word_of(p.card, n, threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
      tg_md_raise(p, other, TG_MD_FLAG_PLAN, n);
      if (!tg_md_wait(p, other, TG_MD_FLAG_PLAN, n))
        atomicAdd((unsigned long long*)&mine->wrong, 1);
    }
    __syncthreads();
    wrong += mine->mail[n % 2][threadIdx.x] != word_of(other, n, threadIdx.x);
  }
  if (wrong) atomicAdd((unsigned long long*)&mine->wrong, wrong);
}

/* Many blocks store; the last of them raises. */
static __global__ void push(const __grid_constant__ tg_md_peers_view p) {
  const uint32_t other = 1 - p.card, i = blockIdx.x * THREADS + threadIdx.x;
  window *mine = own(p), *there = tg_md_peer(p, mine, other);
  const uint64_t n = mine->step + 1;
  there->mail[n % 2][i] = word_of(p.card, n, i);
  __syncthreads();
  if (threadIdx.x != 0 || count_up(&mine->done) != BLOCKS - 1) return;
  mine->done = 0;
  tg_md_raise(p, other, TG_MD_FLAG_X, n);
}

static __global__ void take(const __grid_constant__ tg_md_peers_view p) {
  const uint32_t other = 1 - p.card, i = blockIdx.x * THREADS + threadIdx.x;
  window* mine = own(p);
  const uint64_t n = mine->step + 1;
  if (threadIdx.x == 0) tg_md_wait(p, other, TG_MD_FLAG_X, n);
  __syncthreads();
  if (mine->mail[n % 2][i] != word_of(other, n, i))
    atomicAdd((unsigned long long*)&mine->wrong, 1ULL);
}

static __global__ void advance(const __grid_constant__ tg_md_peers_view p) { own(p)->step++; }

static __global__ void wait_once(const __grid_constant__ tg_md_peers_view p, int kind,
                                 uint64_t value) {
  window* mine = own(p);
  const uint64_t start = tg_md_clock_ns();
  mine->waits++;
  mine->heard += tg_md_wait(p, 1 - p.card, kind, value);
  mine->waited_ns = tg_md_clock_ns() - start;
}

/* The cards of a process, closed in the end. */
struct team {
  tg_md_peers* peers = nullptr;
  tg_world* world = nullptr;
  int first = 0, count = 0;
  ~team() { tg_md_peers_close(&peers); }
};

static bool load_kernels(int device) {
  cudaFuncAttributes a;
  cudaSetDevice(device);
  return cudaFuncGetAttributes(&a, ping_pong) == cudaSuccess &&
         cudaFuncGetAttributes(&a, push) == cudaSuccess &&
         cudaFuncGetAttributes(&a, take) == cudaSuccess &&
         cudaFuncGetAttributes(&a, advance) == cudaSuccess &&
         cudaFuncGetAttributes(&a, wait_once) == cudaSuccess;
}

static bool open_team(tg_world* world, double deadline_s, team* t) {
  tg_md_peers_params params = {};
  params.world = world;
  params.card_count = CARDS;
  params.deadline_s = deadline_s;
  RUN(tg_md_peers_open(&params, &t->peers));
  t->world = world;
  t->first = tg_md_peers_first(t->peers);
  t->count = tg_md_peers_own_count(t->peers);
  EXPECT(tg_md_peers_card_count(t->peers) == CARDS && t->count == (world ? 1 : CARDS));
  for (int i = 0; i < t->count; i++)
    EXPECT(load_kernels(tg_md_peers_device(t->peers, t->first + i)));
  EXPECT(tg_md_peers_base(t->peers, t->first) == nullptr);
  RUN(tg_md_peers_allocate(t->peers, sizeof(window)));
  for (int c = 0; c < CARDS; c++)
    EXPECT((uintptr_t)tg_md_peers_base(t->peers, c) % 256 == 0 && tg_md_peers_base(t->peers, c));
  return true;
}

static void barrier(const team* t) {
  if (t->world) tg_world_barrier(t->world);
}

static bool synchronize(const team* t) {
  for (int c = t->first; c < t->first + t->count; c++) {
    cudaSetDevice(tg_md_peers_device(t->peers, c));
    EXPECT(cudaStreamSynchronize(tg_md_peers_stream(t->peers, c)) == cudaSuccess);
  }
  return true;
}

static bool window_of(const team* t, int card, window* out) {
  cudaSetDevice(tg_md_peers_device(t->peers, card));
  EXPECT(cudaMemcpy(out, tg_md_peers_base(t->peers, card), sizeof *out, cudaMemcpyDeviceToHost) ==
         cudaSuccess);
  return true;
}

static bool nothing_wrong(const team* t, uint64_t steps) {
  static window w;
  for (int c = t->first; c < t->first + t->count; c++) {
    if (!window_of(t, c, &w)) return false;
    if (w.wrong)
      printf("    GPU %d: %llu words are not those sent\n", c, (unsigned long long)w.wrong);
    EXPECT(w.wrong == 0 && w.step == steps);
  }
  RUN(tg_md_peers_check(t->peers));
  return true;
}

static bool one_block(tg_world* world) {
  team t;
  if (!open_team(world, 10, &t)) return false;
  barrier(&t);
  const double start = tg_time_now();
  for (int c = t.first; c < t.first + t.count; c++) {
    cudaSetDevice(tg_md_peers_device(t.peers, c));
    ping_pong<<<1, THREADS, 0, tg_md_peers_stream(t.peers, c)>>>(tg_md_peers_view_of(t.peers, c),
                                                                 ROUNDS);
    EXPECT(cudaGetLastError() == cudaSuccess);
  }
  if (!synchronize(&t)) return false;
  const double us = 1e6 * (tg_time_now() - start) / ROUNDS;
  const bool right = nothing_wrong(&t, 0);
  barrier(&t);
  if (t.first == 0) printf("a round of %d words and a flag both ways: %.2f us\n", THREADS, us);
  return right;
}

static bool capture(const team* t, int card, cudaGraphExec_t* out) {
  const cudaStream_t stream = tg_md_peers_stream(t->peers, card);
  const tg_md_peers_view view = tg_md_peers_view_of(t->peers, card);
  cudaGraph_t graph;
  cudaSetDevice(tg_md_peers_device(t->peers, card));
  EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  for (int i = 0; i < STEPS; i++) {
    push<<<BLOCKS, THREADS, 0, stream>>>(view);
    take<<<BLOCKS, THREADS, 0, stream>>>(view);
    advance<<<1, 1, 0, stream>>>(view);
  }
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  EXPECT(cudaGraphInstantiate(out, graph, 0) == cudaSuccess);
  cudaGraphDestroy(graph);
  return true;
}

/* A card is only started once the graph of the other is ready, or they would wait for the host. */
static bool graphs(tg_world* world) {
  team t;
  cudaGraphExec_t graph[CARDS] = {};
  if (!open_team(world, 10, &t)) return false;
  bool right = true;
  for (int i = 0; i < t.count; i++) right = capture(&t, t.first + i, &graph[i]) && right;
  barrier(&t);
  const double start = tg_time_now();
  for (int n = 0; n < ROUNDS / STEPS && right; n++)
    for (int i = 0; i < t.count; i++) {
      cudaSetDevice(tg_md_peers_device(t.peers, t.first + i));
      right =
          expect(cudaGraphLaunch(graph[i], tg_md_peers_stream(t.peers, t.first + i)) == cudaSuccess,
                 "a graph starts");
    }
  right = synchronize(&t) && right;
  const double us = 1e6 * (tg_time_now() - start) / ROUNDS;
  right = right && nothing_wrong(&t, ROUNDS);
  barrier(&t);
  for (int i = 0; i < t.count; i++) cudaGraphExecDestroy(graph[i]);
  if (t.first == 0) printf("a step of three kernels that push and take: %.2f us\n", us);
  return right;
}

static bool start_wait(const team* t, int card, int kind, uint64_t value) {
  cudaSetDevice(tg_md_peers_device(t->peers, card));
  wait_once<<<1, 1, 0, tg_md_peers_stream(t->peers, card)>>>(tg_md_peers_view_of(t->peers, card),
                                                             kind, value);
  EXPECT(cudaGetLastError() == cudaSuccess);
  return true;
}

static bool ended(const team* t, int card, uint32_t waits, double least_s, double most_s) {
  static window w;
  if (!window_of(t, card, &w)) return false;
  const double took = 1e-9 * (double)w.waited_ns;
  if (took < least_s || took > most_s) printf("    GPU %d waited %.3f s\n", card, took);
  EXPECT(w.waits == waits && w.heard == 0 && took >= least_s && took <= most_s);
  return true;
}

/* Card 0 waits in vain; card 1, which begins to wait when half of that time is over, hears of it
 * before its own time is up. Then no wait lasts. */
static bool late(tg_world* world) {
  team t;
  if (!open_team(world, patience_s, &t)) return false;
  barrier(&t);
  const bool has[CARDS] = {t.first == 0, t.first + t.count == CARDS};
  if (has[0] && !start_wait(&t, 0, TG_MD_FLAG_SEARCH, 5)) return false;
  usleep((useconds_t)(0.5e6 * patience_s));
  if (has[1] && !start_wait(&t, 1, TG_MD_FLAG_SUMS, 7)) return false;
  if (!synchronize(&t)) return false;
  if (has[0] && !ended(&t, 0, 1, patience_s, patience_s + 0.1)) return false;
  if (has[1] && !ended(&t, 1, 1, 0, 0.8 * patience_s)) return false;
  for (int c = t.first; c < t.first + t.count; c++)
    if (!start_wait(&t, c, TG_MD_FLAG_X, 1)) return false;
  if (!synchronize(&t)) return false;
  for (int c = t.first; c < t.first + t.count; c++)
    if (!ended(&t, c, 2, 0, 0.01)) return false;
  EXPECT(tg_md_peers_check(t.peers) == TG_ERR_MACHINE);
  if (t.first == 0) printf("it says: %s\n", tg_last_error());
  EXPECT(strstr(tg_last_error(),
                "GPU 0 of 2 waited 0.4 s for GPU 1's atoms for a search number 5; "
                "there was number 0"));
  return true;
}

static bool refusals(void) {
  team t;
  tg_md_peers_params params = {};
  params.card_count = TG_MD_MOST_CARDS + 1;
  EXPECT(tg_md_peers_open(&params, &t.peers) == TG_ERR_INPUT && !t.peers);
  params.card_count = tg_device_count() + 1;
  if (params.card_count <= TG_MD_MOST_CARDS) {
    EXPECT(tg_md_peers_open(&params, &t.peers) == TG_ERR_MACHINE && !t.peers);
    EXPECT(strstr(tg_last_error(), "GPUs were asked for"));
  }
  params.card_count = CARDS;
  RUN(tg_md_peers_open(&params, &t.peers));
  EXPECT(tg_md_peers_allocate(t.peers, (size_t)1 << 42) == TG_ERR_MACHINE);
  EXPECT(strstr(tg_last_error(), "memory"));
  return true;
}

static int in_process(const char* word) {
  for (int again = 0; again < 3; again++) {
    if (!word || strcmp(word, "late")) {
      report(one_block(nullptr), "one block");
      report(graphs(nullptr), "graphs");
      report(refusals(), "refusals");
    }
    report(late(nullptr), "late");
  }
  printf("%d passed, %d failed\n", passed, failed);
  return failed ? 1 : 0;
}

#ifdef TG_HAVE_MPI
/* What it finds is reported, and its status is OK, but after a wait that was given up. */
static tg_status on_pe(tg_world* world, void* context) {
  const char* word = (const char*)context;
  if (word && strcmp(word, "late") == 0) {
    report(late(world), "late");
    return TG_ERR_MACHINE;
  }
  for (int again = 0; again < 3; again++) {
    report(one_block(world), "one block");
    report(graphs(world), "graphs");
  }
  return TG_OK;
}

static int under_mpi(int argc, char** argv) {
  int level = 0, rank = 0, all = 0;
  const bool fails = argc > 1 && strcmp(argv[1], "late") == 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  tg_world_params params = {};
  params.transport = "nvshmem";
  params.deadline_s = 20;
  const tg_status status = tg_world_run(&params, on_pe, argc > 1 ? argv[1] : NULL);
  if (status != (fails ? TG_ERR_MACHINE : TG_OK)) {
    printf("    PE %d: %s\n", rank, tg_last_error());
    failed++;
  }
  MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("two processes: %d passed, %d failed\n", passed, all);
  fflush(stdout);
  MPI_Finalize();
  return all ? 1 : 0;
}
#endif

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  if (tg_device_count() < CARDS) {
    printf("skipped: two GPUs are needed (%d are there)\n", tg_device_count());
    return 77;
  }
#ifdef TG_HAVE_MPI
  if (tg_world_under_launcher()) {
    if (tg_nvshmem_check() == TG_OK) return under_mpi(argc, argv);
    printf("skipped: %s\n", tg_last_error());
    return 77;
  }
#endif
  return in_process(argc > 1 ? argv[1] : NULL);
}
