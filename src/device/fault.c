/* SPDX-License-Identifier: Apache-2.0 */
#include "device/fault.h"

#include <stdbool.h>
#include <stdio.h>

/* What others hold is worth a word beyond what a driver and a context take for themselves. */
static const size_t noticeable = (size_t)1 << 30;

/* "1.5 GiB" */
static const char* size_text(size_t bytes, char out[32]) {
  const double mib = (double)bytes / (1 << 20);
  if (mib >= 1024)
    snprintf(out, 32, "%.1f GiB", mib / 1024);
  else if (mib >= 1)
    snprintf(out, 32, "%.1f MiB", mib);
  else
    snprintf(out, 32, "%zu bytes", bytes);
  return out;
}

static tg_status fail_memory(const char* who, const tg_device_facts* f) {
  char wanted[48] = "", others[128] = "", sizes[4][32];
  if (f->wanted_bytes)
    snprintf(wanted, sizeof wanted, "%s are wanted, ", size_text(f->wanted_bytes, sizes[0]));
  if (f->total_bytes > f->free_bytes + f->own_bytes + noticeable)
    snprintf(others, sizeof others, ", other programs %s: end them (nvidia-smi lists them)",
             size_text(f->total_bytes - f->free_bytes - f->own_bytes, sizes[0]));
  return tg_fail(TG_ERR_MACHINE,
                 "%s: %s: %s%s of %s are free, throng holds %s%s; use fewer atoms or states, a GPU "
                 "with more memory (CUDA_VISIBLE_DEVICES chooses), or a backend for CPUs",
                 who, f->what, wanted, size_text(f->free_bytes, sizes[1]),
                 size_text(f->total_bytes, sizes[2]), size_text(f->own_bytes, sizes[3]), others);
}

static tg_status fail_busy(const char* who, const tg_device_facts* f) {
  return tg_fail(TG_ERR_MACHINE, "%s: %s: %s; %s", who, f->what, f->words,
                 f->exclusive ? "its compute mode gives it to one process at a time, or to none "
                                "(nvidia-smi -q -d COMPUTE), and this is not the one: wait for the "
                                "other to end, or use another GPU (CUDA_VISIBLE_DEVICES)"
                              : "another program may have it, or it is being reset: look at "
                                "nvidia-smi, or use another GPU (CUDA_VISIBLE_DEVICES)");
}

tg_status tg_device_fail(tg_device_fault fault, const tg_device_facts* f) {
  char who[192];
  if (f->name && f->name[0])
    snprintf(who, sizeof who, "GPU %d (%.127s)", f->device, f->name);
  else
    snprintf(who, sizeof who, "GPU %d", f->device);
  switch (fault) {
    case TG_FAULT_MEMORY: return fail_memory(who, f);
    case TG_FAULT_BUSY: return fail_busy(who, f);
    case TG_FAULT_NO_GPU:
      return tg_fail(TG_ERR_MACHINE,
                     "%s: %s: %s; look at nvidia-smi and at CUDA_VISIBLE_DEVICES, or use a backend "
                     "for CPUs",
                     who, f->what, f->words);
    case TG_FAULT_OLD_DRIVER:
      return tg_fail(TG_ERR_MACHINE,
                     "%s: %s: the NVIDIA driver serves CUDA %d.%d but throng was built with %d.%d "
                     "(%s); install a newer driver, or build throng with an older CUDA",
                     who, f->what, f->driver / 1000, f->driver % 1000 / 10, f->runtime / 1000,
                     f->runtime % 1000 / 10, f->words);
    case TG_FAULT_NO_KERNEL:
      return tg_fail(TG_ERR_MACHINE,
                     "%s: %s: this throng has no kernels for its compute capability %d.%d (%s); "
                     "build it with -DCMAKE_CUDA_ARCHITECTURES=%d%d",
                     who, f->what, f->compute_major, f->compute_minor, f->words, f->compute_major,
                     f->compute_minor);
    case TG_FAULT_LOST:
      return tg_fail(
          TG_ERR_MACHINE,
          "%s: %s: %s; its memory or the GPU itself has failed: dmesg shows the driver's "
          "Xid, nvidia-smi -q -d ECC the counts; it may need a reset or a new start of the "
          "machine, after which --continue goes on from the last checkpoint",
          who, f->what, f->words);
    case TG_FAULT_KERNEL:
      return tg_fail(
          TG_ERR_MACHINE,
          "%s: %s: a kernel was stopped: %s; it should not have come to this: please "
          "report it, with what compute-sanitizer says; if it happens on this GPU alone, "
          "that may be faulty",
          who, f->what, f->words);
    default: return tg_fail(TG_ERR_MACHINE, "%s: %s: %s", who, f->what, f->words);
  }
}
