/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info_motifs.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "motif/table.h"

enum { WORDS = 512 };

typedef struct facts {
  bool works;
  char made_by[64]; /* "": its words below say it, or nothing made it */
  char words[WORDS];
  char advice[WORDS]; /* "": there is nothing to add */
} facts;

static bool is(const tg_motif_table* t, const char* name) { return strcmp(t->name, name) == 0; }

static bool has_nvidia_driver(void) { return access("/dev/nvidiactl", F_OK) == 0; }

/* The compiler of the program, or of its CUDA part; a module says by which it was made itself. */
static void find_maker(const tg_motif_table* t, char* out, size_t size) {
  const int cuda = tg_device_runtime_version();
  out[0] = '\0';
  if (is(t, "cuda") && cuda > 0) snprintf(out, size, "CUDA %d.%d", cuda / 1000, cuda % 1000 / 10);
  if (is(t, "ref") || is(t, "omp"))
#ifdef __clang__
    snprintf(out, size, "Clang %d.%d", __clang_major__, __clang_minor__);
#else
    snprintf(out, size, "GCC %d.%d", __GNUC__, __GNUC_MINOR__);
#endif
}

/* What is to be installed, before configuring throng anew, for a module that was not made. */
static const char* packages_of(const tg_motif_table* t) {
  if (is(t, "acc") || is(t, "offload"))
    return "install GCC 12 or later and its offloading compiler (Debian: gcc-12, "
           "gcc-12-offload-nvptx), then build throng anew";
  if (is(t, "offload-clang"))
    return "install Clang with libomptarget (Debian: clang-19, clang-tools-19, lld-19, "
           "libomp-19-dev; for NVIDIA then ./dev deps cuda12), then build throng anew";
  return "";
}

/* Why a module that could run on a GPU runs on the host. */
static void advise_on_gpu(const tg_motif_table* t, const char* words, char* out, size_t size) {
  const bool gcc = is(t, "acc") || is(t, "offload");
  if (gcc && strstr(words, "no code for a GPU"))
    snprintf(
        out, size,
        "on a GPU: install its compiler's code for NVIDIA (Debian: gcc-12-offload-nvptx), then "
        "build throng anew");
  else if (!has_nvidia_driver())
    snprintf(out, size, "on a GPU: no NVIDIA driver is loaded here (/dev/nvidiactl is missing)");
  else if (gcc)
    snprintf(out, size,
             "on a GPU: not chosen by %s, or its run-time library lacks the plugin (Debian: "
             "libgomp-plugin-nvptx1)",
             is(t, "acc") ? "$ACC_DEVICE_TYPE" : "$OMP_TARGET_OFFLOAD");
  else
    snprintf(out, size,
             "on a GPU: not chosen by $OMP_TARGET_OFFLOAD, or throng was built without CUDA 12's "
             "ptxas and nvlink (./dev deps cuda12)");
}

static facts ask(const tg_motif_table* t) {
  facts f = {.works = t->check == NULL || t->check() == TG_OK};
  if (f.works)
    t->describe(f.words, sizeof f.words);
  else
    snprintf(f.words, sizeof f.words, "%s", tg_last_error());
  if (f.works) find_maker(t, f.made_by, sizeof f.made_by);
  if (!f.works && strstr(f.words, "built without it"))
    snprintf(f.advice, sizeof f.advice, "%s", packages_of(t));
  if (f.works && t->host && !is(t, "ref") && !is(t, "omp"))
    advise_on_gpu(t, f.words, f.advice, sizeof f.advice);
  return f;
}

void tg_cli_info_print_motifs(void) {
  const char* title = "Motifs";
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    const facts f = ask(*t);
    printf("%-10s %-13s %-4s %s%s%s\n", title, (*t)->name, f.works ? "yes" : "no", f.words,
           f.made_by[0] ? ", by " : "", f.made_by);
    if (f.advice[0]) printf("%-10s %-13s %-4s %s\n", "", "", "", f.advice);
    title = "";
  }
}

void tg_cli_info_json_motifs(tg_json* json) {
  tg_json_open_array(json, "motifs");
  for (const tg_motif_table* const* t = tg_motif_tables(); *t != NULL; t++) {
    const facts f = ask(*t);
    tg_json_open_object(json, NULL);
    tg_json_text(json, "name", (*t)->name);
    tg_json_bool(json, "works", f.works);
    tg_json_bool(json, "on_host", (*t)->host);
    tg_json_text(json, "made_by", f.made_by[0] ? f.made_by : NULL);
    tg_json_text(json, "reason", f.words);
    tg_json_text(json, "advice", f.advice[0] ? f.advice : NULL);
    tg_json_close_object(json);
  }
  tg_json_close_array(json);
}
