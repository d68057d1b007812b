/* SPDX-License-Identifier: Apache-2.0 */
/** @file ci/stored_values.h  Within src/ci: the words of ci/stored_tables.h. */
#ifndef TG_CI_STORED_VALUES_H
#define TG_CI_STORED_VALUES_H

#include "ci/stored_tables.h"

/** Fills values, row_words and the species' word. Leaves value_count 0, and no words, where w(a,b)
 * alone has more different values than a table may have. */
tg_status tg_ci_flat_give_words(tg_ci_flat* flat);

/** Whether w(a,b) has few enough different values. Of flat only rows are read. */
bool tg_ci_flat_few_values(const tg_ci_flat* flat);

#endif
