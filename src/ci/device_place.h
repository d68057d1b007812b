/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/device_place.h  Within src/ci: the GPU that one of several PEs works on, and its stream
 * there, which waits for no other. */
#ifndef TG_CI_DEVICE_PLACE_H
#define TG_CI_DEVICE_PLACE_H

#include "ci/device_queue.h"
#include "comm/world.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_ci_device_place tg_ci_device_place;

/** Local; the GPU becomes the calling thread's. gpus: of the PEs of a world of threads, dealt out
 * in blocks; one: number `device`. Of processes each has the world's. TG_ERR_MACHINE where there
 * are fewer, or one does not reach another's memory. */
tg_status tg_ci_device_place_open(tg_world* world, int gpus, int device, tg_ci_device_place** out);
/** Null-safe; after all that is queued there. */
void tg_ci_device_place_close(tg_ci_device_place** place);
/** Returns when nothing is going on on the GPU: what was made there by the default stream is seen
 * by this one. */
tg_status tg_ci_device_place_settle(const tg_ci_device_place* place);
const tg_ci_queue* tg_ci_device_place_queue(const tg_ci_device_place* place);

/** Lets GPUs 0 ... gpus - 1 of this process reach each other's memory, as places do that are opened
 * later, which then take less time. TG_ERR_MACHINE where one does not. */
tg_status tg_ci_device_places_meet(int gpus);

/** A stream of a GPU that waits for no other, without a place. */
tg_status tg_ci_device_stream_make(int device, void** out);
/** Null-safe; after all that is queued there. */
void tg_ci_device_stream_free(int device, void* stream);

/** Pins memory of the host for all GPUs, by way of one of them; false where it cannot be. */
bool tg_ci_device_pin(int device, void* memory, size_t bytes);
/** Before such memory is released. */
void tg_ci_device_unpin(int device, void* memory);

#ifdef __cplusplus
}
#endif
#endif
