/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_writer.h  A thread that writes what a GPU's steps leave, while others are
 * computed.
 *
 * What is given is written in the order in which it was given, so the files are those of a run that
 * writes by itself. From start to flush the writer alone uses the run's output, whole_x, whole_v,
 * whole_f, snapshot and the domain's x_new.
 *
 * A process without output files has a writer too, which writes nothing, and keeps snapshots.
 *
 * The first failure ends all writing; every later call returns it with its message. */
#ifndef TG_MD_DEVICE_WRITER_H
#define TG_MD_DEVICE_WRITER_H

#include "md/device_step.h"
#include "md/run.h"

typedef struct tg_device_writer tg_device_writer;

/** Local. Two states may wait to be written: memory for them is made now. */
tg_status tg_device_writer_start(tg_run* run, tg_device_step* step, tg_device_writer** out);
/** Null-safe, sets NULL. What has begun is written to its end, the rest is dropped. */
void tg_device_writer_destroy(tg_device_writer** writer);

/** Notes how long the files are: a search of this step comes next. */
tg_status tg_device_writer_mark(tg_device_writer* writer, long long step);
/** Energies: [count]; copied. */
tg_status tg_device_writer_records(tg_device_writer* writer, const tg_device_record* records,
                                   int count);
/** The last frame, of this step. Waits while two states are to be written, and for the copy. */
tg_status tg_device_writer_frame(tg_device_writer* writer, tg_device_step* gpu, long long step);
/** The state of the last search, whose mark was given. Waits as the frame does, and for all queued
 * steps. */
tg_status tg_device_writer_checkpoint(tg_device_writer* writer, tg_device_step* gpu);
/** Waits until all is written. */
tg_status tg_device_writer_flush(tg_device_writer* writer);
/** The state of the last search as run->snapshot, where its mark was given; else that stays as it
 * is. Waits as flush does, whose failures it leaves out. */
tg_status tg_device_writer_snapshot(tg_device_writer* writer, tg_device_step* gpu);

#endif
