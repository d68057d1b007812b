/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/cuda/stages.cuh  The schedules other than `direct` of a step's exchange of positions.
 *
 * With `direct` the update itself stores positions into the slots of all copies. With the others it
 * stores each into its own slot alone; then an *exchange* sends copies in stages
 * (md/device_stages.h), from slot to slot, with the lists of entries made at the search.
 *
 *   | schedule | a stage                                       | who sees to the order           |
 *   |----------|-----------------------------------------------|---------------------------------|
 *   | host     | pack kernel; a copy for each message; unpack  | the host: it waits for the GPUs |
 *   |          |                                               | after packing and after copying |
 *   | stream   | the same                                      | events between streams; between |
 *   |          |                                               | processes kernels that raise    |
 *   |          |                                               | and wait                        |
 *   | pulse    | a kernel, which stores into slots elsewhere   | flags between cards; on a card  |
 *   |          |                                               | that one kernel follows another |
 *   | fused    | a part of the one kernel for all stages       | flags, of the card itself too   |
 *
 * host and stream queue steps without graphs; after a search the host reads how long messages are.
 *
 * All end in the same way: a card that has sent (host, stream: and received) everything raises
 * TG_MD_FLAG_X at all others, for which their forces wait as with `direct`. So nothing is
 * overwritten early for the same reason as there: who sends positions of step s + 1 has heard this
 * of all cards for step s, and each said so after it had read, sent on and unpacked step s - 1. */
#ifndef TG_MD_CUDA_STAGES_CUH
#define TG_MD_CUDA_STAGES_CUH

#include "md/cuda/step.cuh"

/** Kinds of flags behind those of peers.cuh: TG_MD_FLAG_STAGE + stage; their numbers are those of
 * TG_MD_FLAG_X. */

/** Exchanges other than the update's own. */
static inline bool tg_md_is_staged(const tg_device_md* md) {
  return tg_md_is_many(md) && md->schedule != TG_MD_DIRECT;
}

/** Whether steps are captured in graphs. */
static inline bool tg_md_has_graphs(const tg_device_md* md) {
  return !tg_md_is_staged(md) || md->schedule == TG_MD_PULSE || md->schedule == TG_MD_FUSED;
}

/** "host", "stream", "pulse", "fused", "direct"; NULL: direct. TG_ERR_INPUT for another word. */
tg_status tg_md_schedule_of(const char* name, int* out);

/** Entries that a domain has room for: twice its halo, which is what it sends where atoms stand
 * evenly. */
static inline uint32_t tg_md_stages_room(const tg_md_view* v) {
  return (v->cluster_capacity - v->row_capacity) * TG_MD_CLUSTER * 2;
}

/** How many of the three stages there are: the dimensions that are cut. */
static inline bool tg_md_has_stage(const tg_device_md* md, int stage) {
  return md->views.grid.count[2 - stage] > 1;
}
static inline int tg_md_last_stage(const tg_device_md* md) {
  return tg_md_has_stage(md, 2) ? 2 : tg_md_has_stage(md, 1) ? 1 : 0;
}

/** After sorting, before cards meet (TG_MD_FLAG_PLAN): where halo atoms are, to the cards that are
 * not their owners'. Queued. */
tg_status tg_md_queue_stages_tell(const tg_device_md* md);
/** After they have met: counts and lists. Where these have no room, domains move nothing any more
 * (counts: of the first, others follow), so that nothing worse comes of it. Queued. */
tg_status tg_md_queue_stages_list(const tg_device_md* md, tg_step_home_counts* counts);
/** After an update, with schedules that have graphs: the whole exchange. Queued. */
tg_status tg_md_queue_exchange(const tg_device_md* md);

/** Parts of it for the others, queued: packing a stage's messages, and putting into slots what has
 * come; the last stage's also tells other cards. */
tg_status tg_md_queue_pack(const tg_device_md* md, int stage);
tg_status tg_md_queue_unpack(const tg_device_md* md, int stage);
/** Of several processes: tells the others that a stage was sent, and waits for theirs. */
tg_status tg_md_queue_stage_sent(const tg_device_md* md, int stage);
tg_status tg_md_queue_stage_heard(const tg_device_md* md, int stage);

/** What the kernels of an exchange that comes now are given. */
tg_md_stages tg_md_stages_now(const tg_device_md* md);

/** How many blocks of a fused exchange a domain gets, so that all run at once, with half of the
 * card to spare. TG_ERR_MACHINE where the card is too small. */
tg_status tg_md_prepare_exchange(tg_device_md* md);

#endif
