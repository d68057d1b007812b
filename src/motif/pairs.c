/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/pairs.h"

const char* tg_pairs_need_array(const tg_pairs* pairs) {
  if (pairs && !(pairs->rows.orbital && pairs->columns.orbital))
    return "the states are kept without their lists of orbitals";
  return NULL;
}
const char* tg_pairs_need_word64(const tg_pairs* pairs) {
  if (pairs && !(pairs->rows.low && pairs->columns.low))
    return "the states are kept without the word of their lowest orbitals";
  return tg_pairs_need_array(pairs);
}
const char* tg_pairs_need_bits(const tg_pairs* pairs) {
  if (pairs && !(pairs->rows.bits && pairs->columns.bits))
    return "the states are kept without their bits";
  return NULL;
}
