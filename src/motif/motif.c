/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/motif.h"

#include <string.h>

#include "motif/backends.h"

const tg_motif_ops* tg_motif_backend(const char* name) {
  const tg_motif_ops* const tables[] = {&tg_motif_ref, &tg_motif_omp};
  if (name == NULL) return NULL;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    if (strcmp(tables[i]->name, name) == 0) return tables[i];
  }
  return NULL;
}
