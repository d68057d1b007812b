/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/module/services.h  What the files of a module have in common. */
#ifndef TG_MOTIF_MODULE_SERVICES_H
#define TG_MOTIF_MODULE_SERVICES_H

#include "motif/module.h"

/** Keeps what the program hands over; false for another version's or layout's. tg_fail and tg_vfail
 * of base/status.h work in the module from then on. */
bool tg_module_accept(const tg_module_services* services);

/** Host memory of at least so many bytes, kept for the next call: pages touched for the first time
 * would cost more than the copies. NULL where there is not so much. */
void* tg_module_staging(size_t bytes);

/** Modules are compiled for processors with AVX2 where the architecture has that. */
bool tg_module_processor_fits(void);

#endif
