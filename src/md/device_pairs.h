/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_pairs.h  Pair forces of a domain by a GPU, everything else by the host: for
 * minimisations, whose steps follow from energies one by one. */
#ifndef TG_MD_DEVICE_PAIRS_H
#define TG_MD_DEVICE_PAIRS_H

#include "md/domain.h"

typedef struct tg_device_pairs tg_device_pairs;

/** Above this, kJ mol^-1 nm^-1, forces are the host's business: the GPU's sums are fixed point and
 * wrap at 5e5 (device_md.h), and a try may bring atoms closer than they are now. */
#define TG_DEVICE_PAIRS_FORCE 1e4

/** Local. One PE; lists with the domain's list_radius. TG_ERR_INPUT where the box is too small. */
tg_status tg_device_pairs_create(const tg_md_system* system, double list_radius,
                                 tg_device_pairs** out);
/** Null-safe, sets NULL. */
void tg_device_pairs_destroy(tg_device_pairs** pairs);
/** The next forces begin with a search: at first, and after every partition. */
void tg_device_pairs_renew(tg_device_pairs* pairs);
/** As tg_domain.pair_forces. Blocks. */
tg_status tg_device_pairs_compute(void* pairs, tg_domain* domain, tg_nonbonded_result* result);

#endif
