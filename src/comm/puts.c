/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/puts.h"

tg_symmetric* tg_puts_find(tg_symmetric* list, uint64_t number) {
  while (list && list->number != number) list = list->next;
  return list;
}

bool tg_put_fits(const tg_symmetric* s, const tg_put_head* head) {
  return head->offset <= s->bytes && head->bytes <= s->bytes - head->offset && head->signal >= -1 &&
         head->signal < s->signal_count;
}

void tg_put_signal(const tg_symmetric* s, const tg_put_head* head) {
  if (head->signal < 0) return;
  tg_symmetric_raise(tg_symmetric_counter(s, s->world->pe, head->signal), (tg_signal_op)head->op,
                     head->value);
}
