/* SPDX-License-Identifier: Apache-2.0 */
/** @file device/fault.h  What can be the matter with a GPU, in words that say what to do.
 *
 * The words do not need CUDA, so that every machine can test them; device/cuda/check.h turns CUDA's
 * errors into these faults and finds the facts. */
#ifndef TG_DEVICE_FAULT_H
#define TG_DEVICE_FAULT_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tg_device_fault {
  TG_FAULT_MEMORY,     /* too little is free */
  TG_FAULT_NO_GPU,     /* the driver shows none, or not this number */
  TG_FAULT_OLD_DRIVER, /* for this CUDA runtime */
  TG_FAULT_NO_KERNEL,  /* compiled for other architectures */
  TG_FAULT_BUSY,       /* somebody else has it for themselves */
  TG_FAULT_LOST,       /* memory or hardware error; it needs a reset */
  TG_FAULT_KERNEL,     /* a kernel was stopped: an error in throng, or of the hardware */
  TG_FAULT_OTHER
} tg_device_fault;

/** What is known of it; 0, NULL or "" where something is not. */
typedef struct tg_device_facts {
  int device;
  const char* name;  /* "NVIDIA H200" */
  const char* what;  /* what was being done: "allocating memory for 45000 atoms" */
  const char* words; /* CUDA's, with the error's name */
  size_t wanted_bytes, free_bytes, total_bytes, own_bytes; /* own: what this program holds */
  int exclusive;       /* the compute mode lets one process in, or none */
  int driver, runtime; /* versions as in device.h */
  int compute_major, compute_minor;
} tg_device_facts;

/** Composes the message; returns TG_ERR_MACHINE. Local. */
tg_status tg_device_fail(tg_device_fault fault, const tg_device_facts* facts);

#ifdef __cplusplus
}
#endif
#endif
