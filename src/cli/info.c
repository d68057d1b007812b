/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/plot.h"
#include "ci/results_file.h"
#include "cli/cli.h"
#include "cli/info_halo.h"
#include "cli/info_motifs.h"
#include "cli/machine.h"
#include "cli/mpi_session.h"
#include "comm/transport.h"
#include "device/device.h"
#include "device/nvshmem.h"
#include "md/nonbonded.h"
#include "motif/module.h"

enum { REASON_SIZE = 512, BACKEND_COUNT = 4, TRANSPORT_COUNT = 4 };

/* A backend or transport, and whether it works here. */
typedef struct able {
  const char* name;
  bool works;
  char reason[REASON_SIZE]; /* why not, or a remark */
} able;

typedef struct gpu {
  tg_device_info info;
  char fault[REASON_SIZE]; /* "": it was asked and passed the self-test */
} gpu;

typedef struct facts {
  tg_cli_machine machine;
  int gpu_count;
  gpu* gpus;             /* [gpu_count] */
  tg_device_link* links; /* [gpu_count, gpu_count], from and to; the diagonal is unused */
  char mpi[REASON_SIZE], gnuplot[REASON_SIZE], nvshmem[REASON_SIZE];
  bool mpi_built, gnuplot_works, nvshmem_works;
  able backends[BACKEND_COUNT], transports[TRANSPORT_COUNT];
} facts;

__attribute__((format(printf, 3, 4))) static void judge(able* out, bool works, const char* format,
                                                        ...) {
  out->works = works;
  va_list args;
  va_start(args, format);
  vsnprintf(out->reason, sizeof out->reason, format, args);
  va_end(args);
}

static tg_status ask_gpus(facts* all) {
  all->gpu_count = tg_device_count();
  size_t count = (size_t)all->gpu_count;
  TG_TRY(TG_ALLOCATE(count, "the list of GPUs", &all->gpus));
  TG_TRY(TG_ALLOCATE(count * count, "the list of GPU links", &all->links));
  for (int i = 0; i < all->gpu_count; i++) {
    gpu* one = &all->gpus[i];
    if (tg_device_query(i, &one->info) != TG_OK || tg_device_self_test(i) != TG_OK)
      snprintf(one->fault, sizeof one->fault, "%s", tg_last_error());
    for (int to = 0; to < all->gpu_count; to++)
      if (to != i) tg_device_query_link(i, to, &all->links[i * all->gpu_count + to]);
  }
  return TG_OK;
}

/* Asks the backend itself: the pair forces it would use, or why it cannot be made (an unknown
 * TG_SIMD). */
static void judge_host_backend(able* out, const char* name, int threads) {
  static const double none[1] = {0};
  tg_nonbonded_params params = {.cutoff = 1,
                                .coulomb_scale = 1,
                                .type_count = 1,
                                .c6 = none,
                                .c12 = none,
                                .backend = name,
                                .mixed = strcmp(name, "ref") != 0,
                                .threads = threads};
  tg_nonbonded* made = NULL;
  out->name = name;
  if (tg_nonbonded_create(&params, &made) == TG_OK)
    judge(out, true, "%d thread%s; pair forces by %s", threads, threads == 1 ? "" : "s",
          tg_nonbonded_describe(made));
  else
    judge(out, false, "%.400s", tg_last_error());
  tg_nonbonded_destroy(&made);
}

static void judge_backends(facts* all) {
  able* rows = all->backends;
  judge_host_backend(&rows[0], "ref", 1);
  judge_host_backend(&rows[1], "omp", all->machine.openmp ? all->machine.usable_threads : 1);
  rows[2].name = "cuda";
  int passed = 0;
  for (int i = 0; i < all->gpu_count; i++) passed += !all->gpus[i].fault[0];
  if (all->gpu_count == 0)
    judge(&rows[2], false, "%s", tg_device_reason());
  else if (passed == 0)
    judge(&rows[2], false, "%.400s", all->gpus[0].fault);
  else
    judge(&rows[2], true, "%d of %d GPUs passed the self-test; throng md run --backend cuda",
          passed, all->gpu_count);
  rows[3].name = "acc";
  const tg_motif_table* acc = tg_module_acc(true);
  char words[REASON_SIZE / 2];
  if (acc->check() == TG_OK) {
    acc->describe(words, sizeof words);
    judge(&rows[3], true, "%s; throng ci solve --backend acc", words);
  } else {
    judge(&rows[3], false, "%.400s", tg_last_error());
  }
}

static tg_status meet(tg_world* world, void* context) {
  (void)context;
  return tg_world_barrier(world);
}

static void judge_transports(facts* all) {
  able* rows = all->transports;
  rows[0].name = "loop";
  const tg_world_params two = {.transport = "loop", .pe_count = 2};
  if (tg_world_run(&two, meet, NULL) == TG_OK)
    judge(&rows[0], true, "processing elements are threads of one process");
  else
    judge(&rows[0], false, "%.400s", tg_last_error());
  rows[1].name = "mpi";
  judge(&rows[1], all->mpi_built, "%.400s", all->mpi);
  rows[2].name = "socket";
  if (tg_socket_check() == TG_OK)
    judge(&rows[2], true,
          "TCP between processes that TG_BOOTSTRAP, TG_PE and TG_PE_COUNT bring together");
  else
    judge(&rows[2], false, "%.400s", tg_last_error());
  rows[3].name = "nvshmem";
  if (all->nvshmem_works)
    judge(&rows[3], true,
          "NVSHMEM %s; a process and a GPU for each processing element, so at most %d on this "
          "machine, started by mpirun or as for socket",
          tg_nvshmem_version(), all->gpu_count);
  else
    judge(&rows[3], false, "%.400s", all->nvshmem);
}

static tg_status ask_all(facts* all) {
  all->machine = tg_cli_machine_query();
  TG_TRY(ask_gpus(all));
  all->mpi_built = tg_cli_mpi_version(all->mpi, sizeof all->mpi);
  all->gnuplot_works = tg_plot_program(all->gnuplot, sizeof all->gnuplot) == TG_OK;
  if (!all->gnuplot_works) snprintf(all->gnuplot, sizeof all->gnuplot, "%s", tg_last_error());
  all->nvshmem_works = tg_nvshmem_check() == TG_OK;
  if (!all->nvshmem_works) snprintf(all->nvshmem, sizeof all->nvshmem, "%s", tg_last_error());
  judge_backends(all);
  judge_transports(all);
  return TG_OK;
}

/* "CUDA 13.0" of a version number of CUDA's kind. */
static const char* cuda_version(int version, char out[16]) {
  if (version)
    snprintf(out, 16, "%d.%d", version / 1000, version % 1000 / 10);
  else
    snprintf(out, 16, "none");
  return out;
}

static void print_gpus(const facts* all) {
  if (all->gpu_count == 0) printf("GPUs       none: %s\n", tg_device_reason());
  for (int i = 0; i < all->gpu_count; i++) {
    const tg_device_info* info = &all->gpus[i].info;
    if (all->gpus[i].fault[0]) {
      printf("GPU %-6d not usable: %s\n", i, all->gpus[i].fault);
      continue;
    }
    printf("GPU %-6d %s, compute capability %d.%d, %d multiprocessors\n", i, info->name,
           info->compute_major, info->compute_minor, info->multiprocessor_count);
    printf(
        "           %.1f GiB (%.1f GiB free), L2 %.0f MiB, clocks %d MHz and %d MHz (memory), "
        "%s; self-test passed\n",
        (double)info->memory_bytes / 0x1p30, (double)info->memory_free_bytes / 0x1p30,
        (double)info->l2_bytes / 0x1p20, info->clock_khz / 1000, info->memory_clock_khz / 1000,
        info->bus);
  }
  if (all->gpu_count < 2) return;
  printf(
      "Links      from the GPU of the row: A loads, stores and atomics; P loads and stores; . "
      "none\n");
  for (int from = 0; from < all->gpu_count; from++) {
    printf("           %2d:", from);
    for (int to = 0; to < all->gpu_count; to++) {
      const tg_device_link* link = &all->links[from * all->gpu_count + to];
      const char* mark = !link->peer_access ? "." : link->native_atomics ? "A" : "P";
      printf(" %s", from == to ? "-" : mark);
    }
    printf("\n");
  }
}

static void print_ables(const char* title, const able* rows, int count) {
  for (int i = 0; i < count; i++)
    printf("%-10s %-8s %-4s %s\n", i ? "" : title, rows[i].name, rows[i].works ? "yes" : "no",
           rows[i].reason);
}

static void print_text(const facts* all) {
  const tg_cli_machine* machine = &all->machine;
  char driver[16], runtime[16];
  printf("throng     %s\n", TG_VERSION);
  printf("CPU        %s, %d cores, %d threads (%d usable), %s\n", machine->cpu_model,
         machine->cores, machine->threads, machine->usable_threads, machine->simd);
  printf("Memory     %.1f GiB (%.1f GiB available)\n", machine->memory_bytes / 0x1p30,
         machine->memory_available_bytes / 0x1p30);
  if (machine->openmp)
    printf("OpenMP     %s, %d threads\n", machine->openmp, machine->openmp_threads);
  else
    printf("OpenMP     no: throng was built without\n");
  printf("CUDA       driver %s, built with %s\n", cuda_version(tg_device_driver_version(), driver),
         cuda_version(tg_device_runtime_version(), runtime));
  print_gpus(all);
  printf("MPI        %s%s\n", all->mpi_built ? "" : "no: ", all->mpi);
  if (tg_nvshmem_built())
    printf("NVSHMEM    %s%s%s\n", tg_nvshmem_version(), all->nvshmem_works ? "" : ": ",
           all->nvshmem);
  else
    printf("NVSHMEM    no: %s\n", all->nvshmem);
  const char* hdf5 = tg_ci_results_library();
  printf("HDF5       %s\n", hdf5 ? hdf5 + strlen("HDF5 ")
                                 : "no: throng was built without; ./dev build installs "
                                   "libhdf5-dev and builds again");
  printf("gnuplot    %s%s\n", all->gnuplot_works ? "" : "no: ", all->gnuplot);
  print_ables("Backends", all->backends, BACKEND_COUNT);
  print_ables("Transports", all->transports, TRANSPORT_COUNT);
  tg_cli_info_print_halo(all->gpu_count, all->links);
  tg_cli_info_print_motifs();
}

static void json_gpus(tg_json* json, const facts* all) {
  tg_json_text(json, "gpu_reason", all->gpu_count ? NULL : tg_device_reason());
  tg_json_open_array(json, "gpus");
  for (int i = 0; i < all->gpu_count; i++) {
    const gpu* one = &all->gpus[i];
    tg_json_open_object(json, NULL);
    tg_json_bool(json, "works", !one->fault[0]);
    tg_json_text(json, "fault", one->fault[0] ? one->fault : NULL);
    tg_json_text(json, "name", one->info.name);
    tg_json_text(json, "bus", one->info.bus);
    tg_json_int(json, "compute_capability", 10 * one->info.compute_major + one->info.compute_minor);
    tg_json_int(json, "multiprocessors", one->info.multiprocessor_count);
    tg_json_int(json, "memory_bytes", (long long)one->info.memory_bytes);
    tg_json_int(json, "memory_free_bytes", (long long)one->info.memory_free_bytes);
    tg_json_int(json, "l2_bytes", (long long)one->info.l2_bytes);
    tg_json_int(json, "clock_khz", one->info.clock_khz);
    tg_json_int(json, "memory_clock_khz", one->info.memory_clock_khz);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
  tg_json_open_array(json, "links");
  for (int from = 0; from < all->gpu_count; from++)
    for (int to = 0; to < all->gpu_count; to++) {
      if (from == to) continue;
      const tg_device_link* link = &all->links[from * all->gpu_count + to];
      tg_json_open_object(json, NULL);
      tg_json_int(json, "from", from);
      tg_json_int(json, "to", to);
      tg_json_bool(json, "peer_access", link->peer_access);
      tg_json_bool(json, "native_atomics", link->native_atomics);
      tg_json_int(json, "performance_rank", link->performance_rank);
      tg_json_close_object(json);
    }
  tg_json_close_array(json);
}

static void json_ables(tg_json* json, const char* key, const able* rows, int count) {
  tg_json_open_array(json, key);
  for (int i = 0; i < count; i++) {
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", rows[i].name);
    tg_json_bool(json, "works", rows[i].works);
    tg_json_text(json, "reason", rows[i].reason);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}

static void print_json(const facts* all) {
  const tg_cli_machine* machine = &all->machine;
  tg_json json = tg_json_on(stdout, true);
  tg_json_open_object(&json, NULL);
  tg_json_text(&json, "version", TG_VERSION);
  tg_json_open_object(&json, "cpu");
  tg_json_text(&json, "model", machine->cpu_model);
  tg_json_int(&json, "cores", machine->cores);
  tg_json_int(&json, "threads", machine->threads);
  tg_json_int(&json, "usable_threads", machine->usable_threads);
  tg_json_text(&json, "simd", machine->simd);
  tg_json_close_object(&json);
  tg_json_open_object(&json, "memory");
  tg_json_int(&json, "bytes", (long long)machine->memory_bytes);
  tg_json_int(&json, "available_bytes", (long long)machine->memory_available_bytes);
  tg_json_close_object(&json);
  tg_json_text(&json, "openmp", machine->openmp);
  tg_json_int(&json, "cuda_driver", tg_device_driver_version());
  tg_json_int(&json, "cuda_runtime", tg_device_runtime_version());
  json_gpus(&json, all);
  tg_json_text(&json, "mpi", all->mpi_built ? all->mpi : NULL);
  tg_json_text(&json, "nvshmem", tg_nvshmem_built() ? tg_nvshmem_version() : NULL);
  tg_json_text(&json, "hdf5", tg_ci_results_library());
  tg_json_text(&json, "gnuplot", all->gnuplot_works ? all->gnuplot : NULL);
  json_ables(&json, "backends", all->backends, BACKEND_COUNT);
  json_ables(&json, "transports", all->transports, TRANSPORT_COUNT);
  tg_cli_info_json_halo(&json, all->gpu_count, all->links);
  tg_cli_info_json_motifs(&json);
  tg_json_close_object(&json);
}

typedef struct info_options {
  bool json;
} info_options;

static tg_status run_info(int argc, char** argv);

static const tg_cli_option OPTIONS[] = {
    {.name = "json",
     .kind = TG_CLI_FLAG,
     .offset = offsetof(info_options, json),
     .help = "writes the facts as JSON"},
    {0},
};

static const tg_cli_example EXAMPLES[] = {
    {"throng info", "Shows what this machine has, and why what is missing is missing."},
    {"throng info --json", "The same for scripts."},
    {0},
};

const tg_cli_verb tg_cli_info_verb = {
    .name = "info",
    .summary = "shows this machine, and which backends and transports work on it",
    .usage = "[--json]",
    .text =
        "Lists processors, memory, GPUs and the links between them, and the libraries that throng "
        "was built with. Each GPU runs a short self-test.\n\nFor each backend (where the "
        "arithmetic runs) and transport (how processing elements exchange data) it says whether "
        "it works here and, if not, why and what to do; and which schedule of the halo exchange a "
        "run takes unless --halo says another, for the links that there are. The motifs' backends "
        "(throng bench motif) "
        "say "
        "which compiler made them, which instruction set or GPU they use, and what to install for "
        "more.",
    .options = OPTIONS,
    .examples = EXAMPLES,
    .run = run_info,
};

static tg_status run_info(int argc, char** argv) {
  info_options options = {.json = false};
  TG_TRY(tg_cli_options_parse(OPTIONS, argc, argv, &options, NULL));
  if (!tg_cli_speaks()) return TG_OK;
  facts all;
  memset(&all, 0, sizeof all);
  tg_status status = ask_all(&all);
  if (status == TG_OK) {
    if (options.json)
      print_json(&all);
    else
      print_text(&all);
  }
  tg_free(all.gpus);
  tg_free(all.links);
  return status;
}
