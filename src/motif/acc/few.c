/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of lists in a unit of its own: a loop of another unit calls it, and cannot have it
 * inlined. `routine seq` compiles it for the device as well; without, the module does not link
 * ("unresolved symbol"). */
#include "motif/acc/few.h"

#include "motif/acc/loops.h"

bool tg_acc_few_differ(const uint16_t* row, size_t row_stride, const uint16_t* column,
                       size_t column_stride, uint32_t n, uint32_t most) {
  return tg_few_differ(row, row_stride, column, column_stride, n, most);
}
