/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that the kernels of mail_forces.cuh and the force return pull read, derived on the device
 * from the maps of a plan, however those came to be: the rows of what is summed, and the order in
 * which a direct exchange adds. */
#include <algorithm>

#include "halo/cuda/internal.cuh"
#include "halo/cuda/mail_forces.cuh"

/* Direct exchange: in which order a tree takes the channels, and their kinds (tree.cuh). */
typedef struct channel_order {
  uint8_t rank[TG_HALO_MOST_CHANNELS], kind[TG_HALO_MOST_CHANNELS];
} channel_order;

/* The copy of lowest rank above `above`, among first..end-1. */
static __device__ uint32_t next_copy(const uint32_t* copy, uint32_t first, uint32_t end,
                                     const uint8_t* rank, int* above) {
  int best = TG_HALO_MOST_CHANNELS;
  uint32_t found = first;
  for (uint32_t i = first; i < end; i++) {
    int of = rank[copy[i] >> TG_HALO_PLACE_BITS];
    if (of <= *above || of >= best) continue;
    best = of;
    found = i;
  }
  *above = best;
  return found;
}

/* Where the tables lie, from a PE's x on, bytes, and how large they are. */
typedef struct table_shape {
  ptrdiff_t rows, tree;
  int home_capacity, local_capacity;
  int words; /* of a row; 0: there are no rows */
  bool direct;
} table_shape;

/* blockIdx.y is the PE among those of the card; one thread a row. */
template <typename T>
static __global__ void make_tables(const tg_halo_port<T>* ports, const table_shape shape,
                                   const __grid_constant__ channel_order order) {
  const tg_halo_port<T>* port = &ports[blockIdx.y];
  char* memory = (char*)port->x;
  const int home_capacity = shape.home_capacity, local_capacity = shape.local_capacity;
  const int words = shape.words;
  uint32_t* rows = words ? (uint32_t*)(memory + shape.rows) : nullptr;
  uint32_t* tree = shape.direct ? (uint32_t*)(memory + shape.tree) : nullptr;
  const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (tree && i < TG_HALO_MOST_CHANNELS) tree[i] = order.kind[i];
  if (i >= local_capacity || (i >= port->return_count && i < home_capacity)) return;
  if (i >= home_capacity && tree) return; /* nothing is added to slices */
  const uint32_t atom = i < home_capacity ? port->return_atom[i] : (uint32_t)i;
  const uint32_t first = port->copy_start[atom], end = port->copy_start[atom + 1];
  uint32_t* row = rows ? rows + (size_t)i * words : nullptr;
  if (row) row[0] = atom;
  int above = -1;
  for (uint32_t j = 0; j < end - first; j++) {
    const uint32_t at = tree ? next_copy(port->copy, first, end, order.rank, &above) : first + j;
    const uint32_t copy = port->copy[at], c = copy >> TG_HALO_PLACE_BITS;
    if (tree) tree[TG_HALO_MOST_CHANNELS + first + j] = copy;
    if (row)
      row[1 + j] = ((uint32_t)port->channel[c].send_slot + (copy & TG_ROW_SLOT)) |
                   c << TG_ROW_CHANNEL | (uint32_t)order.kind[c] << TG_ROW_KIND |
                   (port->source[at] & TG_HALO_NEAR ? TG_ROW_NEAR : 0);
  }
  for (int j = (int)(end - first); row && j < words - 1; j++) row[1 + j] = TG_ROW_NONE;
}

void tg_device_halo_hops(const tg_device_halo* halo, int c, int hops[3]) {
  const int pe = tg_first_pe(halo), *grid = halo->grid;
  const int to = halo->pes[(size_t)pe].to[(size_t)c];
  const int mine[3] = {pe / grid[2] / grid[1], pe / grid[2] % grid[1], pe % grid[2]};
  const int theirs[3] = {to / grid[2] / grid[1], to / grid[2] % grid[1], to % grid[2]};
  for (int d = 0; d < 3; d++) hops[d] = (mine[d] - theirs[d] + grid[d]) % grid[d];
}

/* Hops from the channels' readers: at most one domain less than the grid has, so unambiguous. */
static channel_order order_of(const tg_device_halo* halo) {
  channel_order order = {};
  int key[TG_HALO_MOST_CHANNELS];
  for (int c = 0; c < halo->channel_count && halo->direct; c++) {
    int hops[3];
    tg_device_halo_hops(halo, c, hops);
    key[c] = (hops[2] * halo->grid[1] + hops[1]) * halo->grid[0] + hops[0];
    order.kind[c] = hops[0] ? TG_HALO_ALONG_X : hops[1] ? TG_HALO_ALONG_Y : TG_HALO_ALONG_Z;
  }
  for (int c = 0; c < halo->channel_count && halo->direct; c++)
    for (int other = 0; other < halo->channel_count; other++) order.rank[c] += key[other] > key[c];
  return order;
}

template <typename T>
static tg_status queue(tg_device_halo* halo) {
  const channel_order order = order_of(halo);
  const tg_device_layout* at = &halo->layout;
  table_shape shape = {(ptrdiff_t)at->rows - (ptrdiff_t)at->x,
                       (ptrdiff_t)at->tree - (ptrdiff_t)at->x,
                       (int)halo->home_capacity,
                       (int)halo->local_capacity,
                       halo->row_words,
                       halo->direct};
  const int threads = 256;
  const int most = std::max(shape.local_capacity, (int)TG_HALO_MOST_CHANNELS);
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
    make_tables<T>
        <<<dim3((unsigned)((most + threads - 1) / threads), (unsigned)card->pe_count), threads, 0,
           card->stream>>>((const tg_halo_port<T>*)halo->ports[i], shape, order);
    TG_TRY(tg_cuda_status(cudaGetLastError(), card->device, "preparing a halo plan"));
  }
  return TG_OK;
}

tg_status tg_device_tables_queue(tg_device_halo* halo) {
  if (halo->channel_count == 0) return TG_OK;
  return halo->double_precision ? queue<double>(halo) : queue<float>(halo);
}

tg_status tg_device_tables_make(tg_device_halo* halo) {
  TG_TRY(tg_device_tables_queue(halo));
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(tg_cuda_status(cudaSetDevice(card->device), card->device, "selecting it"));
    TG_TRY(
        tg_cuda_status(cudaStreamSynchronize(card->stream), card->device, "preparing a halo plan"));
  }
  return TG_OK;
}
