/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of lists in a unit of its own: a loop of another unit calls it, and cannot have it
 * inlined. `declare target` compiles it for the device as well; without, the module does not link
 * ("unresolved symbol", "Undefined reference"). */
#include "motif/offload/few.h"

#include "motif/offload/loops.h"

bool tg_offload_few_differ(const uint16_t* row, size_t row_stride, const uint16_t* column,
                           size_t column_stride, uint32_t n, uint32_t most) {
  return tg_few_differ(row, row_stride, column, column_stride, n, most);
}
