/* SPDX-License-Identifier: Apache-2.0 */
/** @file motif/acc/few.h  tg_few_differ of motif/compare.h in another unit. */
#ifndef TG_MOTIF_ACC_FEW_H
#define TG_MOTIF_ACC_FEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma acc routine seq
bool tg_acc_few_differ(const uint16_t* row, size_t row_stride, const uint16_t* column,
                       size_t column_stride, uint32_t n, uint32_t most);

#endif
