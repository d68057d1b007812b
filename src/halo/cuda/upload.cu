/* SPDX-License-Identifier: Apache-2.0 */
/* Where things lie in a PE's device memory, and how a plan becomes maps and ports there. */
#include <string.h>

#include <algorithm>

#include "halo/cuda/internal.cuh"

static size_t take(size_t* at, size_t bytes) {
  size_t start = *at;
  *at = (start + bytes + 255) / 256 * 256;
  return start;
}

/* Slices begin at multiples of 4 atoms and end at one, for the sake of bulk copies. */
static size_t with_margin(size_t most, double margin) {
  size_t wanted = (size_t)((double)most * margin);
  return (std::max(wanted, most) + 3) / 4 * 4;
}

static void lay_out(tg_device_halo* halo) {
  tg_device_layout* at = &halo->layout;
  size_t end = 0, channels = (size_t)halo->channel_count, element = tg_element(halo);
  at->x = take(&end, 3 * halo->local_capacity * element);
  at->f = take(&end, 3 * halo->local_capacity * element);
  at->f_in = take(&end, 3 * halo->send_capacity * element);
  at->reduce = take(&end, 3 * halo->local_capacity * element);
  at->packed = take(&end, 3 * halo->send_capacity * element);
  size_t letters = halo->send_capacity * 16 *
                   (size_t)(halo->double_precision ? tg_halo_letter<double>::words
                                                   : tg_halo_letter<float>::words);
  at->mail = take(&end, letters);
  at->x_mail = take(&end, letters);
  at->velocity = take(&end, 3 * halo->home_capacity * element);
  at->flags = take(&end, (4 * channels + 1) * sizeof(uint64_t));
  at->words = take(&end, sizeof(uint64_t) + (2 * channels + 3) * sizeof(unsigned));
  at->plan_words = take(&end, tg_plan_words_size(halo->channel_count));
  at->zero_bytes = end;
  at->index = take(&end, halo->send_capacity * sizeof(uint32_t));
  at->segment = take(&end, channels * (channels + 1) * sizeof(int));
  at->copy_start = take(&end, (halo->local_capacity + 1) * sizeof(uint32_t));
  at->copy = take(&end, halo->copy_capacity * sizeof(uint32_t));
  at->return_atom = take(&end, halo->home_capacity * sizeof(uint32_t));
  at->sum = take(&end, halo->local_capacity * sizeof(tg_halo_sum));
  at->source = take(&end, halo->copy_capacity * sizeof(uint64_t));
  at->channel = take(&end, channels * sizeof(tg_halo_channel<double>));
  at->plan_code = take(&end, halo->local_capacity * sizeof(uint32_t));
  at->plan_tiles =
      take(&end, (channels + 2) * (size_t)tg_plan_tile_count(halo->home_capacity) * sizeof(int));
  at->plan_closed = take(&end, halo->home_capacity * sizeof(uint32_t));
  at->rows = take(&end, (halo->direct ? halo->home_capacity : halo->local_capacity) *
                            (size_t)halo->row_words * sizeof(uint32_t));
  at->tree = take(&end, (TG_HALO_MOST_CHANNELS + halo->copy_capacity) * sizeof(uint32_t));
  at->bytes = end;
}

tg_status tg_device_layout_choose(tg_device_halo* halo, const tg_device_plan* plan, double margin) {
  size_t home = 0;
  for (int d = 0; d < 3; d++) halo->grid[d] = plan->grid[d];
  halo->capacity.assign((size_t)halo->channel_count, 0);
  for (int p = tg_first_pe(halo); p < tg_end_pe(halo); p++) {
    home = std::max(home, plan->parts[p].home_count);
    for (int c = 0; c < plan->channel_count; c++)
      halo->capacity[c] = std::max(halo->capacity[c], plan->parts[p].messages[c].send_count);
  }
  if (halo->world) TG_TRY(tg_device_capacities_agree(halo, &home));
  halo->home_capacity = with_margin(home, margin);
  size_t local = halo->home_capacity, send = 0;
  for (int c = 0; c < halo->channel_count; c++) {
    halo->capacity[c] = with_margin(halo->capacity[c], margin);
    halo->slice.push_back(local);
    halo->send_slot.push_back(send);
    local += halo->capacity[c];
    send += halo->capacity[c];
  }
  if (local > (1u << TG_HALO_PLACE_BITS))
    return tg_fail(TG_ERR_INPUT, "halo: %zu atoms on one processing element; at most %u", local,
                   1u << TG_HALO_PLACE_BITS);
  halo->local_capacity = local;
  halo->send_capacity = halo->copy_capacity = send;
  lay_out(halo);
  return TG_OK;
}

tg_status tg_device_plan_fits(const tg_device_halo* halo, const tg_device_plan* plan) {
  for (int d = 0; d < 3; d++)
    if (plan->grid[d] != halo->grid[d])
      return tg_fail(
          TG_ERR_MACHINE,
          "halo: a plan for %d x %d x %d domains, where memory was laid out for %d x %d x "
          "%d; make a new halo",
          plan->grid[0], plan->grid[1], plan->grid[2], halo->grid[0], halo->grid[1], halo->grid[2]);
  if (plan->pe_count != halo->pe_count || plan->channel_count != halo->channel_count ||
      plan->direct != halo->direct)
    return tg_fail(TG_ERR_MACHINE,
                   "halo: a plan of %d processing elements with %d messages each, where memory was "
                   "laid out for %d with %d; make a new halo",
                   plan->pe_count, plan->channel_count, halo->pe_count, halo->channel_count);
  for (int p = tg_first_pe(halo); p < tg_end_pe(halo); p++) {
    const tg_device_part* part = &plan->parts[p];
    if (part->home_count > halo->home_capacity)
      return tg_fail(TG_ERR_MACHINE, "PE %d: %zu home atoms, room for %zu; make a new halo", p,
                     part->home_count, halo->home_capacity);
    char name[64];
    for (int c = 0; c < plan->channel_count; c++)
      if (part->messages[c].send_count > halo->capacity[c])
        return tg_fail(TG_ERR_MACHINE, "PE %d: %zu atoms in %s, room for %zu; make a new halo", p,
                       part->messages[c].send_count, tg_device_halo_channel_name(halo, c, name),
                       halo->capacity[c]);
  }
  return TG_OK;
}

/* A PE's maps on the host, in the device's numbering. */
typedef struct maps {
  std::vector<uint32_t> index, copy_start, copy, return_atom;
  std::vector<int> segment;
  std::vector<unsigned long long> f_waits;
  std::vector<tg_halo_sum> sum;
  std::vector<uint64_t> source;
} maps;

/* The device's number of local atom i; *source: 0 for home, else channel + 1. */
static uint32_t device_number(const tg_device_halo* halo, const tg_device_part* part, uint32_t i,
                              int* source) {
  *source = 0;
  if (i < part->home_count) return i;
  int c = 0;
  while (i >= part->messages[c].receive_start + part->messages[c].receive_count) c++;
  *source = c + 1;
  return (uint32_t)(halo->slice[c] + (i - part->messages[c].receive_start));
}

static void make_index(const tg_device_halo* halo, const tg_device_part* part, maps* out) {
  int channels = halo->channel_count;
  out->index.assign(halo->send_capacity, 0);
  out->segment.assign((size_t)channels * (channels + 1), 0);
  out->f_waits.assign((size_t)channels, 0);
  for (int c = 0; c < channels; c++) {
    const tg_device_message* message = &part->messages[c];
    std::vector<int> from(channels + 1, 0); /* entries by source */
    for (size_t k = 0; k < message->send_count; k++) {
      int source;
      out->index[halo->send_slot[c] + k] = device_number(halo, part, message->send[k], &source);
      from[source]++;
      if (source) out->f_waits[source - 1] |= 1ull << c;
    }
    int* segment = &out->segment[(size_t)c * (channels + 1)];
    for (int s = 1; s <= channels; s++) segment[s] = segment[s - 1] + from[s - 1];
  }
}

/* Copies by atom: what counts, sums and places, with the channels in descending order. */
static void make_copies(const tg_device_halo* halo, const tg_device_part* part, maps* out) {
  out->copy_start.assign(halo->local_capacity + 1, 0);
  for (int c = 0; c < halo->channel_count; c++)
    for (size_t k = 0; k < part->messages[c].send_count; k++)
      out->copy_start[out->index[halo->send_slot[c] + k] + 1]++;
  for (size_t i = 0; i < halo->local_capacity; i++) out->copy_start[i + 1] += out->copy_start[i];
  std::vector<uint32_t> at(out->copy_start.begin(), out->copy_start.end() - 1);
  out->copy.assign(halo->copy_capacity, 0);
  for (int c = halo->channel_count - 1; c >= 0; c--)
    for (size_t k = 0; k < part->messages[c].send_count; k++)
      out->copy[at[out->index[halo->send_slot[c] + k]]++] =
          (uint32_t)c << TG_HALO_PLACE_BITS | (uint32_t)k;
  for (size_t i = 0; i < part->home_count; i++)
    if (out->copy_start[i + 1] > out->copy_start[i]) out->return_atom.push_back((uint32_t)i);
}

/* Where PE pe finds the force of its copy: in the mail, or on its card where it lies, if nothing is
 * added to it there. */
static uint64_t source_of(const tg_device_halo* halo, const tg_device_plan* plan,
                          const std::vector<maps>* all, int pe, uint32_t copy) {
  size_t c = copy >> TG_HALO_PLACE_BITS, place = copy & ((1u << TG_HALO_PLACE_BITS) - 1);
  int to = plan->parts[pe].messages[c].to;
  const tg_device_pe *reader = &halo->pes[to], *sender = &halo->pes[pe];
  size_t at = halo->slice[c] + place, element = tg_element(halo);
  size_t letter = 16 * (size_t)(halo->double_precision ? tg_halo_letter<double>::words
                                                       : tg_halo_letter<float>::words);
  const std::vector<uint32_t>* further = &(*all)[(size_t)to].copy_start;
  if (reader->card == sender->card && (*further)[at] == (*further)[at + 1])
    return (uint64_t)(reader->memory + halo->layout.f + 3 * at * element) | TG_HALO_NEAR;
  return (uint64_t)(sender->memory + halo->layout.mail + (halo->send_slot[c] + place) * letter);
}

/* What is added to which atom: the returned home atoms, closed up, then slices in their places. */
static void make_sums(const tg_device_halo* halo, const tg_device_plan* plan,
                      std::vector<maps>* all, int pe) {
  maps* map = &(*all)[(size_t)pe];
  map->sum.assign(halo->local_capacity, tg_halo_sum());
  map->source.assign(halo->copy_capacity, 0);
  for (size_t i = 0; i < map->copy_start[halo->local_capacity]; i++)
    map->source[i] = source_of(halo, plan, all, pe, map->copy[i]);
  size_t closed = 0;
  for (size_t atom = 0; atom < halo->local_capacity; atom++) {
    uint32_t first = map->copy_start[atom], end = map->copy_start[atom + 1];
    for (uint32_t i = first; i + 1 < end; i++) map->source[i] |= TG_HALO_MORE;
    if (atom < halo->home_capacity && first == end) continue;
    tg_halo_sum* sum = &map->sum[atom < halo->home_capacity ? closed++ : atom];
    sum->atom = (uint32_t)atom;
    sum->next = first + 1;
    sum->source = first < end ? map->source[first] : 0;
  }
}

template <typename V>
static tg_status put(const tg_device_halo* halo, int pe, size_t at, const std::vector<V>& values) {
  if (values.empty()) return TG_OK;
  const tg_device_pe* one = &halo->pes[pe];
  return tg_cuda_status(cudaMemcpy(one->memory + at, values.data(), values.size() * sizeof(V),
                                   cudaMemcpyHostToDevice),
                        halo->cards.card[one->card].device, "copying a halo plan to it");
}

/* What a caller's kernel pushes lands in this PE's own staging area, whence it is put; nobody reads
 * the flags that it raises, nor need it wait for any (halo/nvshmem/put.cuh). */
template <typename T>
static void point_home(const tg_device_halo* halo, int pe, size_t c, tg_halo_channel<T>* one) {
  const tg_device_layout* at = &halo->layout;
  char* memory = halo->pes[pe].memory;
  uint64_t* nobody = (uint64_t*)(memory + at->flags) + 4 * (size_t)halo->channel_count;
  one->to_elsewhere = 0;
  one->x_out = (T*)(memory + at->packed) + 3 * halo->send_slot[c];
  one->x_flag_out = one->f_flag_out = one->consumed_out = nobody;
}

template <typename T>
static tg_status put_channels(tg_device_halo* halo, int pe, const tg_device_part* part,
                              const maps* map) {
  const tg_device_layout* at = &halo->layout;
  size_t channels = (size_t)halo->channel_count;
  std::vector<tg_halo_channel<T>> all(channels);
  for (size_t c = 0; c < channels; c++) {
    const tg_device_message* message = &part->messages[c];
    tg_halo_channel<T>* one = &all[c];
    bool store = halo->path == TG_DEVICE_STORE;
    char* to = halo->pes[store ? message->to : pe].memory;
    char* from = halo->pes[store ? message->from : pe].memory;
    one->to = message->to;
    one->from = message->from;
    one->to_elsewhere = halo->pes[message->to].card != halo->pes[pe].card;
    one->from_elsewhere = halo->pes[message->from].card != halo->pes[pe].card;
    one->send_count = (int)message->send_count;
    one->receive_count = (int)message->receive_count;
    one->send_slot = (int)halo->send_slot[c];
    one->slice = (int)halo->slice[c];
    one->f_waits = map->f_waits[c];
    one->shift = tg_halo_shift_of<T>(message->shift);
    one->x_out = (T*)(to + at->x) + 3 * halo->slice[c];
    one->f_pull = (T*)(to + at->f) + 3 * halo->slice[c];
    one->mail_out =
        (uint64_t*)(from + at->mail) + 2 * tg_halo_letter<T>::words * halo->send_slot[c];
    one->reduce_out = (T*)(from + at->reduce);
    one->reduce_index = (const uint32_t*)(from + at->index) + halo->send_slot[c];
    one->x_mail_out =
        (uint64_t*)(to + at->x_mail) + 2 * tg_halo_letter<T>::words * halo->send_slot[c];
    one->x_flag_out = (uint64_t*)(to + at->flags) + c;
    one->f_flag_out = (uint64_t*)(from + at->flags) + channels + c;
    one->consumed_out = (uint64_t*)(from + at->flags) + 2 * channels + c;
    if (!store) point_home(halo, pe, c, one);
  }
  return put(halo, pe, at->channel, all);
}

template <typename T>
static tg_halo_port<T> make_port(const tg_device_halo* halo, int pe, const maps* map) {
  const tg_device_layout* at = &halo->layout;
  const tg_device_pe* one = &halo->pes[pe];
  char* memory = one->memory;
  size_t channels = (size_t)halo->channel_count;
  tg_halo_port<T> port;
  memset(&port, 0, sizeof port);
  port.pe = pe;
  port.pe_count = halo->pe_count;
  port.channel_count = halo->channel_count;
  port.home_count = (int)one->home_count;
  port.return_count = (int)map->return_atom.size();
  port.x = (T*)(memory + at->x);
  port.f = (T*)(memory + at->f);
  port.f_in = (T*)(memory + at->f_in);
  port.reduce = (T*)(memory + at->reduce);
  port.packed = (T*)(memory + at->packed);
  port.mail = (uint64_t*)(memory + at->mail);
  port.x_mail = (uint64_t*)(memory + at->x_mail);
  port.index = (const uint32_t*)(memory + at->index);
  port.segment = (const int*)(memory + at->segment);
  port.copy_start = (const uint32_t*)(memory + at->copy_start);
  port.copy = (const uint32_t*)(memory + at->copy);
  port.return_atom = (const uint32_t*)(memory + at->return_atom);
  port.sum = (const tg_halo_sum*)(memory + at->sum);
  port.source = (const uint64_t*)(memory + at->source);
  port.tree = halo->direct ? (const uint32_t*)(memory + at->tree) : nullptr;
  uint64_t* flags = (uint64_t*)(memory + at->flags);
  port.x_flag = flags;
  port.f_flag = flags + channels;
  port.consumed = flags + 2 * channels;
  port.x_sent = flags + 3 * channels;
  port.waited_ns = (unsigned long long*)(memory + at->words);
  unsigned* words = (unsigned*)(memory + at->words) + 2;
  port.x_done = words;
  port.f_done = words + channels + 1;
  port.abort = halo->alarm ? halo->alarm : words + 2 * channels + 2;
  port.abort_of = halo->abort_of[one->card];
  port.fault = halo->fault[one->card];
  port.deadline_ns = (unsigned long long)(halo->deadline_s * 1e9);
  port.channel = (const tg_halo_channel<T>*)(memory + at->channel);
  return port;
}

template <typename T>
static tg_status upload(tg_device_halo* halo, const tg_device_plan* plan) {
  std::vector<maps> all((size_t)halo->pe_count);
  const int first = tg_first_pe(halo), end = tg_end_pe(halo);
  for (int p = first; p < end; p++) {
    make_index(halo, &plan->parts[p], &all[(size_t)p]);
    make_copies(halo, &plan->parts[p], &all[(size_t)p]);
  }
  for (int p = first; p < end; p++) make_sums(halo, plan, &all, p);
  for (int p = first; p < end; p++) {
    const tg_device_part* part = &plan->parts[p];
    tg_device_pe* pe = &halo->pes[p];
    const tg_card* card = &halo->cards.card[pe->card];
    pe->home_count = part->home_count;
    pe->send_count.clear();
    pe->receive_count.clear();
    pe->to.clear();
    pe->from.clear();
    for (int c = 0; c < halo->channel_count; c++) {
      pe->send_count.push_back(part->messages[c].send_count);
      pe->receive_count.push_back(part->messages[c].receive_count);
      pe->to.push_back(part->messages[c].to);
      pe->from.push_back(part->messages[c].from);
    }
    const maps* map = &all[(size_t)p];
    TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
    TG_TRY(put(halo, p, halo->layout.index, map->index));
    TG_TRY(put(halo, p, halo->layout.segment, map->segment));
    TG_TRY(put(halo, p, halo->layout.copy_start, map->copy_start));
    TG_TRY(put(halo, p, halo->layout.copy, map->copy));
    TG_TRY(put(halo, p, halo->layout.return_atom, map->return_atom));
    TG_TRY(put(halo, p, halo->layout.sum, map->sum));
    TG_TRY(put(halo, p, halo->layout.source, map->source));
    TG_TRY(put_channels<T>(halo, p, part, map));
    tg_halo_port<T> port = make_port<T>(halo, p, map);
    TG_TRY(tg_cuda_status(cudaMemcpy((tg_halo_port<T>*)halo->ports[pe->card] + (p - card->first_pe),
                                     &port, sizeof port, cudaMemcpyHostToDevice),
                          card->device, "copying a halo plan to it"));
    /* the copies went by another stream than the exchange will */
    TG_TRY(tg_cuda_status(cudaDeviceSynchronize(), card->device, "copying a halo plan to it"));
  }
  return TG_OK;
}

tg_status tg_device_plan_upload(tg_device_halo* halo, const tg_device_plan* plan) {
  TG_TRY(halo->double_precision ? upload<double>(halo, plan) : upload<float>(halo, plan));
  return tg_device_tables_make(halo);
}
