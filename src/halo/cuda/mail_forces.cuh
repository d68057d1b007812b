/* SPDX-License-Identifier: Apache-2.0 */
/* Force return put: forces by mail, as positions in mail.cuh, whose rules hold here, too. */
#ifndef TG_HALO_CUDA_MAIL_FORCES_CUH
#define TG_HALO_CUDA_MAIL_FORCES_CUH

#include "halo/cuda/mail.cuh"

/* A row of the table of sums: an atom, then its copies in the order in which their forces are
 * added, closed up, TG_ROW_NONE behind the last. A copy: slot (in mail), channel, kind (tree.cuh),
 * and whether its force is read where it lies. Home atoms with copies come first; staged, rows for
 * the slices follow from row home_capacity on. */
enum { TG_ROW_CHANNEL = 26, TG_ROW_KIND = 29 };
static const uint32_t TG_ROW_NEAR = 1u << 31, TG_ROW_NONE = 0xffffffffu;
static const uint32_t TG_ROW_SLOT = (1u << TG_ROW_CHANNEL) - 1;

template <int W>
struct tg_row {
  uint32_t word[W];
};

template <typename T, int N, int W>
static __device__ __forceinline__ tg_row<W> tg_row_load(const tg_mail_site<T, N>& site,
                                                        const char* memory, size_t i, bool there) {
  tg_row<W> row;
  for (int j = 0; j < W; j++) row.word[j] = TG_ROW_NONE;
  if (!there) return row;
  const uint4* from = (const uint4*)(memory + site.rows) + i * (W / 4);
#pragma unroll
  for (int j = 0; j < W / 4; j++) {
    uint4 four = from[j];
    row.word[4 * j] = four.x;
    row.word[4 * j + 1] = four.y;
    row.word[4 * j + 2] = four.z;
    row.word[4 * j + 3] = four.w;
  }
  return row;
}

/* Loads by predicate, not by branch, so that all of a row's are under way at once. */
static __device__ __forceinline__ float tg_load_if(bool wanted, const float* from) {
  float value;
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %2, 0;"
      " mov.f32 %0, 0f00000000; @p ld.global.f32 %0, [%1]; }"
      : "=f"(value)
      : "l"(from), "r"((unsigned)wanted)
      : "memory");
  return value;
}

static __device__ __forceinline__ double tg_load_if(bool wanted, const double* from) {
  double value;
  asm volatile(
      "{ .reg .pred p; setp.ne.u32 p, %2, 0;"
      " mov.f64 %0, 0d0000000000000000; @p ld.global.f64 %0, [%1]; }"
      : "=d"(value)
      : "l"(from), "r"((unsigned)wanted)
      : "memory");
  return value;
}

static __device__ __forceinline__ void tg_load_word_if(bool wanted, const uint64_t* word,
                                                       uint64_t* low, uint64_t* high) {
  asm volatile(
      "{ .reg .pred p; .reg .b128 w; setp.ne.u32 p, %3, 0;"
      " @p ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
      : "=l"(*low), "=l"(*high)
      : "l"(word), "r"((unsigned)wanted)
      : "memory");
}

/* Reads the missing letters of a row, a batch at a time; which are missing then. */
template <typename T, int W>
static __device__ __forceinline__ unsigned tg_row_read(const uint64_t* mail, const tg_row<W>& row,
                                                       uint64_t number, unsigned missing,
                                                       T more[W][3]) {
  enum { WORDS = tg_halo_letter<T>::words, BATCH = sizeof(T) == 4 ? W - 1 : 1 };
#pragma unroll
  for (int first = 1; first < W; first += BATCH) {
    uint64_t low[BATCH][WORDS], high[BATCH][WORDS];
#pragma unroll
    for (int i = 0; i < BATCH; i++)
      for (int w = 0; w < WORDS && first + i < W; w++)
        tg_load_word_if(missing >> (first + i) & 1,
                        mail + 2 * (WORDS * (size_t)(row.word[first + i] & TG_ROW_SLOT) + w),
                        &low[i][w], &high[i][w]);
#pragma unroll
    for (int i = 0; i < BATCH; i++) {
      T value[3];
      if (first + i >= W) continue;
      if (!tg_halo_open(low[i], high[i], value, number) || !(missing >> (first + i) & 1)) continue;
      for (int d = 0; d < 3; d++) more[first + i][d] = value[d];
      missing &= ~(1u << (first + i));
    }
  }
  return missing;
}

/* Adds to f the forces of all copies in the row. near: [channel] slot 0 of the forces on this card.
 */
template <typename T, int W, bool TREE>
static __device__ __forceinline__ bool tg_row_add(const tg_halo_port<T>* port, const uint64_t* mail,
                                                  const T* const* near, const tg_row<W>& row,
                                                  uint64_t number, T f[3]) {
  T more[W][3];
  unsigned missing = 0;
#pragma unroll
  for (int j = 1; j < W; j++) {
    const uint32_t word = row.word[j];
    const bool there = word != TG_ROW_NONE, lies_near = there && (word & TG_ROW_NEAR);
    const T* from = near[word >> TG_ROW_CHANNEL & 7] + 3 * (size_t)(word & TG_ROW_SLOT);
    for (int d = 0; d < 3; d++) more[j][d] = tg_load_if(lies_near, from + d);
    missing |= (unsigned)(there && !lies_near) << j;
  }
  tg_halo_patience patience = {0, nullptr, 0};
  for (bool again = false; missing; again = true) {
    if (again && patience.polls == 0) patience = tg_halo_patience_begin(port);
    if (again && tg_halo_patience_asks(&patience)) {
      const uint64_t* late = mail;
#pragma unroll
      for (int j = 1; j < W; j++)
        if (missing >> j & 1)
          late = mail + 2 * tg_halo_letter<T>::words * (size_t)(row.word[j] & TG_ROW_SLOT);
      if (tg_halo_letter_overdue(port, mail, late, number, TG_HALO_FORCES, patience.start))
        return false;
    }
    missing = tg_row_read<T, W>(mail, row, number, missing, more);
  }
  tg_halo_patience_end(&patience);
  tg_halo_tree<T, 3> tree;
  tree.has_x = tree.has_y = tree.has_z = false;
#pragma unroll
  for (int j = 1; j < W; j++) {
    if (row.word[j] == TG_ROW_NONE) continue;
    if (TREE)
      tg_halo_tree_add(&tree, (int)(row.word[j] >> TG_ROW_KIND & 3), more[j]);
    else
      for (int d = 0; d < 3; d++) f[d] += more[j][d];
  }
  if (TREE) tg_halo_tree_end(&tree, f);
  return true;
}

/* An atom of a slice, whose force goes back. */
template <typename T, int W>
struct tg_debt {
  int k, count;
  bool elsewhere;
  uint64_t* out; /* letters at home */
  size_t atom;
  tg_row<W> row; /* of a direct exchange: empty */
};

template <typename T, int N, int W, bool TREE>
static __device__ __forceinline__ tg_debt<T, W> tg_debt_load(const tg_mail_site<T, N>& site,
                                                             const char* memory, int block) {
  const int c = tg_mail_channel_of(site, block);
  const tg_halo_channel<T>* channel = (const tg_halo_channel<T>*)(memory + site.channel) + c;
  tg_debt<T, W> debt;
  debt.k = (block - site.first_block[c]) * (int)blockDim.x + (int)threadIdx.x;
  const int slot = site.send_slot[c] + debt.k;
  debt.atom = (size_t)site.home_capacity + (size_t)slot;
  debt.row = tg_row_load<T, N, W>(site, memory, debt.atom, !TREE && slot < site.send_slot[c + 1]);
  debt.count = channel->receive_count;
  debt.elsewhere = channel->from_elsewhere != 0;
  debt.out = channel->mail_out;
  return debt;
}

/* Posts it, after what is added to it. One that nothing is added to is read where it lies, if its
 * home is on this card. */
template <typename T, int N, int W, bool TREE>
static __device__ __forceinline__ bool tg_debt_post(const tg_mail_site<T, N>& site,
                                                    const tg_halo_port<T>* port, const char* memory,
                                                    const T* const* near, const tg_debt<T, W>& debt,
                                                    uint64_t number) {
  if (debt.k >= debt.count) return true;
  const bool grows = !TREE && debt.row.word[1] != TG_ROW_NONE;
  if (!debt.elsewhere && !grows) return true;
  T f[3];
  const T* own = (const T*)(memory + site.f) + 3 * debt.atom;
  for (int d = 0; d < 3; d++) f[d] = own[d];
  if (grows && !tg_row_add<T, W, TREE>(port, (const uint64_t*)(memory + site.mail), near, debt.row,
                                       number, f))
    return false;
  tg_halo_post(debt.out + 2 * tg_halo_letter<T>::words * (size_t)debt.k, f, number);
  return true;
}

/* By the thread of a channel's first entry. */
template <bool TRACED, typename T, int N>
static __device__ __forceinline__ void tg_stamp_debt(const tg_mail_site<T, N>& site, int block,
                                                     int k, tg_stage stage, uint64_t number) {
  if (!TRACED || k != 0) return;
  const int c = tg_mail_channel_of(site, block);
  tg_stamp_write((int)blockIdx.y, tg_row_back(site.channel_count, c), stage, c, number);
}

/* Force return put, from f of the halo to f at home: the slices are posted to the PEs they came
 * from, then what came back is added to the home atoms. An atom waits only for its own letters.
 * W words a row: at most W - 1 channels. TREE: direct exchange. */
template <typename T, int W, bool TREE, bool TRACED>
static __global__ void __launch_bounds__(TG_MAIL_THREADS)
    tg_post_forces(const __grid_constant__ tg_mail_site<T, TG_MAIL_FEW> site) {
  __shared__ const T* near[TG_MAIL_FEW];
  char* memory = site.memory[blockIdx.y];
  const tg_halo_port<T>* port = &site.ports[blockIdx.y];
  const int last = site.blocks - 1;
  const tg_debt<T, W> first =
      tg_debt_load<T, TG_MAIL_FEW, W, TREE>(site, memory, last - (int)blockIdx.x);
  const int home = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  const tg_row<W> row =
      tg_row_load<T, TG_MAIL_FEW, W>(site, memory, (size_t)home, home < site.home_capacity);
  const int count = port->return_count;
  if ((int)threadIdx.x < site.channel_count) {
    const tg_halo_channel<T>* channels = (const tg_halo_channel<T>*)(memory + site.channel);
    near[threadIdx.x] = channels[threadIdx.x].f_pull - 3 * (ptrdiff_t)site.send_slot[threadIdx.x];
  }
  __syncthreads();
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  const uint64_t number =
      *((volatile const uint64_t*)(memory + site.flags) + 3 * site.channel_count);
  for (int block = (int)blockIdx.x; block < site.blocks; block += (int)gridDim.x) {
    const tg_debt<T, W> debt = block == (int)blockIdx.x ? first
                                                        : tg_debt_load<T, TG_MAIL_FEW, W, TREE>(
                                                              site, memory, last - block);
    tg_stamp_debt<TRACED>(site, last - block, debt.k, TG_STAGE_BEGIN, number);
    if (!tg_debt_post<T, TG_MAIL_FEW, W, TREE>(site, port, memory, near, debt, number)) return;
    tg_stamp_debt<TRACED>(site, last - block, debt.k, TG_STAGE_RETURN, number);
  }
  const int home_row = tg_row_home(site.channel_count);
  if (TRACED && home == 0)
    tg_stamp_write((int)blockIdx.y, home_row, TG_STAGE_BEGIN, site.channel_count, number);
  for (int i = home; i < count; i += (int)(gridDim.x * blockDim.x)) {
    const tg_row<W> sum =
        i == home ? row : tg_row_load<T, TG_MAIL_FEW, W>(site, memory, (size_t)i, true);
    T f[3], *own = (T*)(memory + site.f) + 3 * (size_t)sum.word[0];
    for (int d = 0; d < 3; d++) f[d] = own[d];
    if (!tg_row_add<T, W, TREE>(port, (const uint64_t*)(memory + site.mail), near, sum, number, f))
      return;
    for (int d = 0; d < 3; d++) own[d] = f[d];
  }
  if (TRACED && home == 0)
    tg_stamp_write((int)blockIdx.y, home_row, TG_STAGE_ADD_LETTERS, site.channel_count, number);
}

/* The force of an atom and all that came back for it, in the order of its copies, four at once. */
template <typename T>
static __device__ bool tg_add_list(const tg_halo_port<T>* port, const tg_halo_sum* sum,
                                   uint64_t number, T f[3]) {
  enum { AT_ONCE = 4 };
  uint64_t source = sum->source;
  uint32_t next = sum->next;
  for (int d = 0; d < 3; d++) f[d] = port->f[3 * (size_t)sum->atom + d];
  while (source) {
    uint64_t sources[AT_ONCE];
    T more[AT_ONCE][3];
    bool here[AT_ONCE];
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      sources[j] = source;
      source = source & TG_HALO_MORE ? port->source[next++] : 0;
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      here[j] = true;
      if (sources[j] & TG_HALO_NEAR) {
        const T* near = (const T*)(sources[j] & ~3ull);
        for (int d = 0; d < 3; d++) more[j][d] = near[d];
      } else if (sources[j]) {
        here[j] = tg_halo_read((const uint64_t*)(sources[j] & ~3ull), more[j], number);
      }
    }
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      if (!sources[j]) break;
      if (!here[j] && !tg_halo_await_letter(port, port->mail, (const uint64_t*)(sources[j] & ~3ull),
                                            number, TG_HALO_FORCES, more[j]))
        return false;
      for (int d = 0; d < 3; d++) f[d] += more[j][d];
    }
  }
  return true;
}

/* The same for a home atom of a direct exchange, in the order of the tree. */
template <typename T>
static __device__ bool tg_add_tree(const tg_halo_port<T>* port, uint32_t atom, uint64_t number,
                                   T f[3]) {
  const uint32_t* list = port->tree + TG_HALO_MOST_CHANNELS;
  const uint32_t end = port->copy_start[atom + 1];
  tg_halo_tree<T, 3> tree;
  tree.has_x = tree.has_y = tree.has_z = false;
  for (uint32_t i = port->copy_start[atom]; i < end; i++) {
    const uint32_t c = list[i] >> TG_HALO_PLACE_BITS;
    const size_t place = list[i] & ((1u << TG_HALO_PLACE_BITS) - 1);
    const tg_halo_channel<T>* channel = &port->channel[c];
    const uint64_t* letter =
        port->mail + 2 * tg_halo_letter<T>::words * ((size_t)channel->send_slot + place);
    T more[3];
    if (!channel->to_elsewhere)
      for (int d = 0; d < 3; d++) more[d] = channel->f_pull[3 * place + d];
    else if (!tg_halo_await_letter(port, port->mail, letter, number, TG_HALO_FORCES, more))
      return false;
    tg_halo_tree_add(&tree, (int)port->tree[c], more);
  }
  for (int d = 0; d < 3; d++) f[d] = port->f[3 * (size_t)atom + d];
  tg_halo_tree_end(&tree, f);
  return true;
}

/* Force return put with more channels than a row holds: the sums are lists. */
template <typename T>
static __global__ void __launch_bounds__(TG_MAIL_THREADS)
    tg_post_forces_lists(const __grid_constant__ tg_mail_site<T, TG_MAIL_MANY> site) {
  const tg_halo_port<T>* port = &site.ports[blockIdx.y];
  tg_after_earlier_kernels();
  tg_next_kernel_may_start();
  const uint64_t number = *(volatile const uint64_t*)&port->x_sent[0];
  T f[3];
  for (int block = site.blocks - 1 - (int)blockIdx.x; block >= 0; block -= (int)gridDim.x) {
    const int c = tg_mail_channel_of(site, block);
    const tg_halo_channel<T>* channel = &port->channel[c];
    const int k = (block - site.first_block[c]) * (int)blockDim.x + (int)threadIdx.x;
    if (k >= channel->receive_count) continue;
    const tg_halo_sum sum = port->sum[channel->slice + k];
    if (!channel->from_elsewhere && !sum.source) continue; /* read where it lies */
    if (!tg_add_list(port, &sum, number, f)) return;
    tg_halo_post(channel->mail_out + 2 * tg_halo_letter<T>::words * (size_t)k, f, number);
  }
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < port->return_count;
       i += (int)(gridDim.x * blockDim.x)) {
    const tg_halo_sum sum = port->sum[i];
    if (!(port->tree ? tg_add_tree(port, sum.atom, number, f) : tg_add_list(port, &sum, number, f)))
      return;
    for (int d = 0; d < 3; d++) port->f[3 * (size_t)sum.atom + d] = f[d];
  }
}

#endif
