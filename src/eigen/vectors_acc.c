/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors by OpenACC: eigen/acc/vectors.c, which is in a module (motif/module.h). */
#include "eigen/vectors.h"
#include "motif/module.h"

static tg_status find(const tg_rows_ops** ops, tg_rows_bytes** bytes) {
  static const size_t sizes[2] = TG_ROWS_SIZES;
  tg_rows_entry* entry = NULL;
  const tg_motif_table* table = tg_module_acc(true);
  if (table->check) TG_TRY(table->check());
  *(void**)&entry = tg_module_symbol(table, "tg_module_rows");
  *ops = entry ? entry(sizes, bytes) : NULL;
  if (*ops) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "throng-acc.so has no eigen-solver, or another build's; copy or build it anew");
}

tg_status tg_rows_acc(const tg_rows_ops** out) {
  tg_rows_bytes* bytes;
  return find(out, &bytes);
}

size_t tg_rows_acc_bytes(const tg_rows* rows, size_t room, int most) {
  const tg_rows_ops* ops;
  tg_rows_bytes* bytes = NULL;
  return find(&ops, &bytes) == TG_OK ? bytes(rows, room, most) : 0;
}
