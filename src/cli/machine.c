/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "base/text.h"

enum { MOST_CORES = 4096 };

/* What follows the colon of "key   : value", NULL for another key. */
static char* value_of(char* line, const char* key) {
  size_t length = strlen(key);
  if (strncmp(line, key, length) != 0) return NULL;
  char* colon = line + length + strspn(line + length, " \t");
  return *colon == ':' ? tg_trim(colon + 1) : NULL;
}

/* Model and physical cores: the distinct pairs of package and core number. */
static void read_cpu(tg_cli_machine* machine) {
  static int seen[MOST_CORES];
  snprintf(machine->cpu_model, sizeof machine->cpu_model, "unknown");
  FILE* stream = fopen("/proc/cpuinfo", "r");
  if (!stream) return;
  char line[4096];
  int package = 0;
  while (fgets(line, sizeof line, stream)) {
    char* value = value_of(line, "model name");
    if (value) snprintf(machine->cpu_model, sizeof machine->cpu_model, "%.127s", value);
    if ((value = value_of(line, "physical id"))) package = (int)strtol(value, NULL, 10);
    if (!(value = value_of(line, "core id"))) continue;
    int core = package << 16 | (int)strtol(value, NULL, 10);
    int known = 0;
    while (known < machine->cores && seen[known] != core) known++;
    if (known == machine->cores && known < MOST_CORES) seen[machine->cores++] = core;
  }
  fclose(stream);
}

static void read_memory(tg_cli_machine* machine) {
  FILE* stream = fopen("/proc/meminfo", "r");
  if (!stream) return;
  char line[256];
  while (fgets(line, sizeof line, stream)) {
    char* value = value_of(line, "MemTotal");
    if (value) machine->memory_bytes = 1024.0 * strtod(value, NULL);
    if ((value = value_of(line, "MemAvailable")))
      machine->memory_available_bytes = 1024.0 * strtod(value, NULL);
  }
  fclose(stream);
}

static const char* widest_vectors(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")) return "AVX-512";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "AVX2";
  return __builtin_cpu_supports("sse2") ? "SSE2" : "none known";
#elif defined(__aarch64__)
  return "NEON";
#else
  return "none known";
#endif
}

/* The version of OpenMP by the date in its macro. */
static const char* openmp_version(void) {
#ifdef _OPENMP
  return _OPENMP >= 202411   ? "6.0"
         : _OPENMP >= 202111 ? "5.2"
         : _OPENMP >= 202011 ? "5.1"
         : _OPENMP >= 201811 ? "5.0"
         : _OPENMP >= 201511 ? "4.5"
                             : "4.0 or older";
#else
  return NULL;
#endif
}

tg_cli_machine tg_cli_machine_query(void) {
  tg_cli_machine machine;
  memset(&machine, 0, sizeof machine);
  read_cpu(&machine);
  read_memory(&machine);
  machine.simd = widest_vectors();
  machine.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t set;
  machine.usable_threads =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : machine.threads;
  machine.openmp = openmp_version();
#ifdef _OPENMP
  machine.openmp_threads = omp_get_max_threads();
#endif
  return machine;
}
