/* SPDX-License-Identifier: Apache-2.0 */
#include "md/energies.h"

#include <stddef.h>
#include <throng/md.h>

static const struct {
  const char* label;
  const char* unit;
} terms[TG_E_COUNT] = {
#define TG_ENERGY_TEXT(name, label, unit) {label, unit},
    TG_ENERGY_LIST(TG_ENERGY_TEXT)
#undef TG_ENERGY_TEXT
};

const char* tg_energy_label(tg_energy_term term) { return terms[term].label; }
const char* tg_energy_unit(tg_energy_term term) { return terms[term].unit; }

const char* tg_md_energy_label(int term) {
  return term >= 0 && term < TG_E_COUNT ? terms[term].label : NULL;
}
const char* tg_md_energy_unit(int term) {
  return term >= 0 && term < TG_E_COUNT ? terms[term].unit : NULL;
}
