/* SPDX-License-Identifier: Apache-2.0 */
/* A recording of a device halo: room for stamps, clocks, events around copies, and what comes of
 * them. */
#include <stdio.h>
#include <string.h>

#include <new>

#include "base/memory.h"
#include "halo/cuda/clocks.cuh"
#include "halo/cuda/internal.cuh"

enum {
  STAMPS_PER_STEP = 16, /* of a row: BEGIN and a few stages, twice */
  CPU_EVENTS_PER_STEP = 256,
  BASE_ROUNDS = 20,
  WORK_THREADS = 256
};

/* A copy between two events. */
typedef struct tg_traced_copy {
  cudaEvent_t begin, end;
  int pe, to, channel;
  bool forces;
} tg_traced_copy;

typedef struct tg_traced_card {
  tg_stamp_board board; /* in device memory */
  std::vector<tg_traced_copy> copies;
  size_t copy_count;
  cudaStream_t work;
  cudaEvent_t fork, join, base;
  int64_t base_ns, base_error_ns; /* of the event, on the GPU's clock */
  tg_device_clock before, after;
} tg_traced_card;

struct tg_device_trace {
  tg_trace* cpu;
  bool recording;
  std::vector<tg_traced_card> cards;
};

static __global__ void stamp_time(unsigned long long* out) { *out = tg_halo_now(); }

/* Busy, but reads and writes nothing. */
static __global__ void __launch_bounds__(WORK_THREADS) work(unsigned long long ns, int row) {
  unsigned long long start = tg_halo_now();
  tg_stamp_row_now<true>(row, TG_STAGE_BEGIN, 0, 0);
  while (tg_halo_now() - start < ns) continue;
  tg_stamp_row_now<true>(row, TG_STAGE_WORK, 0, 0);
}

static tg_status ok(cudaError_t error, int device) {
  return tg_cuda_status(error, device, "recording a timeline");
}

int64_t tg_device_cpu_now(const tg_device_halo* halo) {
  return halo->trace ? tg_trace_now(halo->trace->cpu) : 0;
}

void tg_device_cpu_did(tg_device_halo* halo, const char* what, int64_t begin_ns) {
  if (halo->trace) tg_trace_end(halo->trace->cpu, tg_trace_span(0, what, begin_ns));
}

void tg_device_copy_event(tg_device_halo* halo, int p, int c, bool forces, bool begins) {
  if (!halo->trace || !halo->trace->recording) return;
  tg_traced_card* card = &halo->trace->cards[(size_t)halo->pes[(size_t)p].card];
  if (card->copy_count == card->copies.size()) return;
  tg_traced_copy* copy = &card->copies[card->copy_count];
  const tg_device_pe* pe = &halo->pes[(size_t)p];
  /* the copy itself reports what is wrong with the card */
  cudaEventRecord(begins ? copy->begin : copy->end, halo->cards.card[pe->card].stream);
  if (begins) return;
  copy->pe = p;
  copy->to = forces ? pe->from[(size_t)c] : pe->to[(size_t)c];
  copy->channel = c;
  copy->forces = forces;
  card->copy_count++;
}

void tg_device_trace_free(tg_device_halo* halo) {
  if (!halo->trace) return;
  for (size_t i = 0; i < halo->trace->cards.size(); i++) {
    tg_traced_card* card = &halo->trace->cards[i];
    cudaSetDevice(halo->cards.card[i].device);
    if (card->work) cudaStreamSynchronize(card->work);
    cudaFree(card->board.stamps);
    cudaFree(card->board.counts);
    for (tg_traced_copy& copy : card->copies) {
      if (copy.begin) cudaEventDestroy(copy.begin);
      if (copy.end) cudaEventDestroy(copy.end);
    }
    if (card->work) cudaStreamDestroy(card->work);
    for (cudaEvent_t event : {card->fork, card->join, card->base})
      if (event) cudaEventDestroy(event);
  }
  tg_trace_destroy(&halo->trace->cpu);
  delete halo->trace;
  halo->trace = NULL;
}

static size_t rows_of(const tg_device_halo* halo, int card) {
  return (size_t)halo->cards.card[card].pe_count * (size_t)tg_row_count(halo->channel_count);
}

static tg_status open_card(tg_device_halo* halo, int i, int steps) {
  tg_traced_card* traced = &halo->trace->cards[(size_t)i];
  const tg_card* card = &halo->cards.card[i];
  int device = card->device;
  size_t rows = rows_of(halo, i), capacity = (size_t)steps * STAMPS_PER_STEP;
  TG_TRY(ok(cudaSetDevice(device), device));
  TG_TRY(ok(cudaMalloc((void**)&traced->board.stamps, rows * capacity * sizeof(tg_stamp)), device));
  TG_TRY(ok(cudaMalloc((void**)&traced->board.counts, rows * sizeof(unsigned)), device));
  TG_TRY(ok(cudaMemset(traced->board.counts, 0, rows * sizeof(unsigned)), device));
  traced->board.capacity = (unsigned)capacity;
  traced->board.rows_of_pe = tg_row_count(halo->channel_count);
  TG_TRY(tg_device_board_set(device, &traced->board));
  TG_TRY(ok(cudaMemcpyToSymbol(tg_board, &traced->board, sizeof traced->board), device));
  /* below the exchange, which must not wait for it */
  int least = 0, greatest = 0;
  TG_TRY(ok(cudaDeviceGetStreamPriorityRange(&least, &greatest), device));
  TG_TRY(ok(cudaStreamCreateWithPriority(&traced->work, cudaStreamNonBlocking, least), device));
  TG_TRY(ok(cudaEventCreateWithFlags(&traced->fork, cudaEventDisableTiming), device));
  TG_TRY(ok(cudaEventCreateWithFlags(&traced->join, cudaEventDisableTiming), device));
  TG_TRY(ok(cudaEventCreate(&traced->base), device));
  traced->copies.resize(2 * (size_t)steps * (size_t)card->pe_count * (size_t)halo->channel_count);
  for (tg_traced_copy& copy : traced->copies) {
    TG_TRY(ok(cudaEventCreate(&copy.begin), device));
    TG_TRY(ok(cudaEventCreate(&copy.end), device));
  }
  cudaFuncAttributes attributes;
  TG_TRY(ok(cudaFuncGetAttributes(&attributes, stamp_time), device));
  TG_TRY(ok(cudaFuncGetAttributes(&attributes, work), device));
  return ok(cudaDeviceSynchronize(), device);
}

tg_status tg_device_halo_trace_open(tg_device_halo* halo, int steps) {
  if (halo->trace) return tg_fail(TG_ERR_INTERNAL, "halo: a recording is open already");
  if (halo->pe_count >= 1 << 16 || steps < 1)
    return tg_fail(TG_ERR_INTERNAL, "halo: %d steps cannot be recorded", steps);
  halo->trace = new (std::nothrow) tg_device_trace();
  if (!halo->trace) return tg_fail(TG_ERR_MACHINE, "no memory for a timeline");
  halo->trace->cards.resize((size_t)halo->cards.count);
  size_t events = (size_t)steps * CPU_EVENTS_PER_STEP;
  tg_status status = tg_trace_create("CPU", 1, events, &halo->trace->cpu);
  if (status == TG_OK) halo->trace->cpu->paused = true;
  if (status == TG_OK) tg_trace_name_line(halo->trace->cpu, 0, "calls");
  for (int i = 0; i < halo->cards.count && status == TG_OK; i++) status = open_card(halo, i, steps);
  if (status == TG_OK) status = tg_device_grids_choose(halo);
  if (status != TG_OK) tg_device_trace_free(halo);
  return status;
}

tg_trace* tg_device_halo_trace_cpu(tg_device_halo* halo) { return halo->trace->cpu; }

/* Where the base event lies on the GPU's clock: between two kernels that tell the time. */
static tg_status place_base(const tg_card* card, tg_traced_card* traced) {
  unsigned long long* times = NULL;
  TG_TRY(ok(cudaSetDevice(card->device), card->device));
  TG_TRY(ok(cudaMalloc((void**)&times, 2 * sizeof *times), card->device));
  tg_status status = TG_OK;
  int64_t least = INT64_MAX;
  for (int round = 0; round < BASE_ROUNDS && status == TG_OK; round++) {
    unsigned long long found[2];
    stamp_time<<<1, 1, 0, card->stream>>>(times);
    cudaEventRecord(traced->base, card->stream);
    stamp_time<<<1, 1, 0, card->stream>>>(times + 1);
    status = ok(cudaStreamSynchronize(card->stream), card->device);
    if (status == TG_OK)
      status = ok(cudaMemcpy(found, times, sizeof found, cudaMemcpyDeviceToHost), card->device);
    if (status != TG_OK) break;
    int64_t took = (int64_t)(found[1] - found[0]);
    traced->base_ns = (int64_t)found[0] + took / 2; /* of the event as it is now */
    traced->base_error_ns = (took + 1) / 2;
    if (took <= least && round > BASE_ROUNDS / 2) break; /* as good as it gets */
    if (took < least) least = took;
  }
  cudaFree(times);
  return status;
}

static tg_status compare_clocks(tg_device_halo* halo, bool before) {
  tg_device_clock clocks[TG_MOST_CARDS];
  TG_TRY(tg_device_clocks_compare(&halo->cards, clocks));
  for (int i = 0; i < halo->cards.count; i++) {
    tg_traced_card* card = &halo->trace->cards[(size_t)i];
    *(before ? &card->before : &card->after) = clocks[i];
  }
  return TG_OK;
}

tg_status tg_device_halo_trace_start(tg_device_halo* halo) {
  tg_device_trace* trace = halo->trace;
  TG_TRY(tg_device_halo_synchronize(halo));
  TG_TRY(compare_clocks(halo, true));
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    tg_traced_card* traced = &trace->cards[(size_t)i];
    TG_TRY(ok(cudaSetDevice(card->device), card->device));
    TG_TRY(ok(cudaStreamSynchronize(traced->work), card->device));
    TG_TRY(place_base(card, traced));
    TG_TRY(
        ok(cudaMemset(traced->board.counts, 0, rows_of(halo, i) * sizeof(unsigned)), card->device));
    TG_TRY(ok(cudaDeviceSynchronize(), card->device));
    traced->copy_count = 0;
  }
  trace->recording = true;
  trace->cpu->paused = false;
  return TG_OK;
}

/* Lines of a card: a PE's rows that hold something, in their order, its copies last. */
static void name_lines(const tg_device_halo* halo, int card, tg_trace* trace) {
  int channels = halo->channel_count, rows = tg_row_count(channels);
  const char* part = halo->direct ? "neighbour" : "pulse";
  for (int k = 0; k < halo->cards.card[card].pe_count; k++) {
    int pe = halo->cards.card[card].first_pe + k, first = k * (rows + 1);
    tg_trace_name_line(trace, first + tg_row_work(channels), "local stream");
    tg_trace_name_line(trace, first + rows, "PE %d: copies", pe);
    tg_trace_name_line(trace, first + tg_row_home(channels), "PE %d: forces to home atoms", pe);
    for (int c = 0; c < channels; c++) {
      tg_trace_name_line(trace, first + tg_row_out(c), "PE %d: %s %d, positions out", pe, part, c);
      tg_trace_name_line(trace, first + tg_row_in(channels, c), "PE %d: %s %d, positions in", pe,
                         part, c);
      tg_trace_name_line(trace, first + tg_row_back(channels, c), "PE %d: %s %d, forces", pe, part,
                         c);
    }
  }
}

static tg_status read_stamps(tg_device_halo* halo, int i, int64_t ahead, tg_trace* out) {
  tg_traced_card* traced = &halo->trace->cards[(size_t)i];
  const tg_card* card = &halo->cards.card[i];
  size_t rows = rows_of(halo, i), capacity = traced->board.capacity;
  int per_pe = tg_row_count(halo->channel_count), channels = halo->channel_count;
  std::vector<unsigned> counts(rows);
  std::vector<tg_stamp> all(rows * capacity), flat;
  TG_TRY(ok(cudaMemcpy(counts.data(), traced->board.counts, rows * sizeof(unsigned),
                       cudaMemcpyDeviceToHost),
            card->device));
  TG_TRY(ok(cudaMemcpy(all.data(), traced->board.stamps, all.size() * sizeof(tg_stamp),
                       cudaMemcpyDeviceToHost),
            card->device));
  for (size_t r = 0; r < rows; r++) {
    if (counts[r] > capacity) out->dropped += (int64_t)(counts[r] - capacity);
    if (counts[r] > capacity) counts[r] = (unsigned)capacity;
    flat.insert(flat.end(), &all[r * capacity], &all[r * capacity] + counts[r]);
  }
  TG_TRY(tg_stamps_refine(flat.data(), flat.size(), traced->before.tick_ns,
                          traced->before.cycles_per_ns));
  size_t at = 0;
  for (size_t r = 0; r < rows; r++) {
    int k = (int)r / per_pe, row = (int)r % per_pe, pe = card->first_pe + k;
    tg_stamp_row who = {};
    who.line = k * (per_pe + 1) + row;
    who.pe = pe;
    who.to = halo->pes[(size_t)pe].to.data();
    who.from = halo->pes[(size_t)pe].from.data();
    who.channel = row < 3 * channels ? row % channels : -1;
    who.ahead_ns = ahead;
    tg_stamps_record(out, &who, flat.data() + at, counts[r]);
    at += counts[r];
  }
  return TG_OK;
}

static tg_status read_copies(tg_device_halo* halo, int i, int64_t ahead, tg_trace* out) {
  tg_traced_card* traced = &halo->trace->cards[(size_t)i];
  const tg_card* card = &halo->cards.card[i];
  int per_pe = tg_row_count(halo->channel_count);
  for (size_t n = 0; n < traced->copy_count; n++) {
    const tg_traced_copy* copy = &traced->copies[n];
    float begin = 0, end = 0; /* ms */
    TG_TRY(ok(cudaEventElapsedTime(&begin, traced->base, copy->begin), card->device));
    TG_TRY(ok(cudaEventElapsedTime(&end, traced->base, copy->end), card->device));
    int64_t base = traced->base_ns - ahead;
    tg_trace_event event = tg_trace_span((copy->pe - card->first_pe) * (per_pe + 1) + per_pe,
                                         copy->forces ? "copy forces" : "copy positions",
                                         base + (int64_t)((double)begin * 1e6));
    event.end_ns = base + (int64_t)((double)end * 1e6);
    event.part = copy->channel;
    event.peer = copy->to;
    tg_trace_add(out, &event);
  }
  return TG_OK;
}

static void describe(const tg_device_halo* halo, const char* prefix, tg_trace_notes* notes) {
  char key[TG_TRACE_NAME];
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_traced_card* card = &halo->trace->cards[(size_t)i];
    snprintf(key, sizeof key, "%s: clock of GPU %d", prefix, i);
    tg_trace_note(notes, key,
                  "ticks every %.0f ns; %.3f GHz; within %.3f us of the CPU's, within %.3f us of "
                  "GPU 0's; drift over the recording %.3f us",
                  card->before.tick_ns, card->before.cycles_per_ns,
                  (double)card->before.error_ns * 1e-3, (double)card->before.peer_ns * 1e-3,
                  (double)(card->after.ahead_ns - card->before.ahead_ns) * 1e-3);
    if (card->copy_count == 0) continue;
    snprintf(key, sizeof key, "%s: copies of GPU %d", prefix, i);
    tg_trace_note(notes, key,
                  "between two events each, which lie within %.3f us of the GPU's clock",
                  (double)card->base_error_ns * 1e-3);
  }
}

static tg_status read_card(tg_device_halo* halo, int i, tg_trace** out) {
  const tg_traced_card* traced = &halo->trace->cards[(size_t)i];
  char name[TG_TRACE_NAME];
  int lines = halo->cards.card[i].pe_count * (tg_row_count(halo->channel_count) + 1);
  size_t events = rows_of(halo, i) * traced->board.capacity + traced->copies.size();
  snprintf(name, sizeof name, "GPU %d", i);
  TG_TRY(tg_trace_create(name, lines, events, out));
  name_lines(halo, i, *out);
  int64_t drift = traced->after.ahead_ns - traced->before.ahead_ns;
  int64_t ahead = traced->before.ahead_ns + drift / 2;
  TG_TRY(read_stamps(halo, i, ahead, *out));
  return read_copies(halo, i, ahead, *out);
}

tg_status tg_device_halo_trace_stop(tg_device_halo* halo, const char* prefix, tg_trace_notes* notes,
                                    tg_device_traces* out) {
  tg_device_trace* trace = halo->trace;
  tg_device_traces found = {NULL, 0};
  TG_TRY(tg_device_halo_synchronize(halo));
  trace->recording = false;
  trace->cpu->paused = true;
  for (int i = 0; i < halo->cards.count; i++) {
    TG_TRY(ok(cudaSetDevice(halo->cards.card[i].device), halo->cards.card[i].device));
    TG_TRY(ok(cudaDeviceSynchronize(), halo->cards.card[i].device));
  }
  TG_TRY(compare_clocks(halo, false));
  TG_TRY(tg_allocate((size_t)halo->cards.count + 1, sizeof *found.traces, "timelines",
                     (void**)&found.traces));
  tg_status status = TG_OK;
  for (int i = 0; i < halo->cards.count && status == TG_OK; i++)
    status = read_card(halo, i, &found.traces[i + 1]);
  found.count = halo->cards.count + 1;
  if (status == TG_OK) {
    describe(halo, prefix, notes);
    found.traces[0] = trace->cpu;
    trace->cpu = NULL;
    *out = found;
  } else {
    for (int i = 0; i < found.count; i++) tg_trace_destroy(&found.traces[i]);
    tg_free(found.traces);
  }
  tg_device_trace_free(halo);
  return status;
}

tg_status tg_device_halo_work_begin(tg_device_halo* halo, double microseconds) {
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    tg_traced_card* traced = &halo->trace->cards[(size_t)i];
    int processors = 0;
    TG_TRY(ok(cudaSetDevice(card->device), card->device));
    TG_TRY(ok(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, card->device),
              card->device));
    int64_t begin = tg_device_cpu_now(halo);
    TG_TRY(ok(cudaEventRecord(traced->fork, card->stream), card->device));
    TG_TRY(ok(cudaStreamWaitEvent(traced->work, traced->fork, 0), card->device));
    work<<<processors / 4 + 1, WORK_THREADS, 0, traced->work>>>(
        (unsigned long long)(microseconds * 1e3), tg_row_work(halo->channel_count));
    TG_TRY(ok(cudaGetLastError(), card->device));
    TG_TRY(ok(cudaEventRecord(traced->join, traced->work), card->device));
    tg_device_cpu_did(halo, "launch (local work)", begin);
  }
  return TG_OK;
}

tg_status tg_device_halo_work_end(tg_device_halo* halo) {
  int64_t begin = tg_device_cpu_now(halo);
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(ok(cudaSetDevice(card->device), card->device));
    TG_TRY(
        ok(cudaStreamWaitEvent(card->stream, halo->trace->cards[(size_t)i].join, 0), card->device));
  }
  tg_device_cpu_did(halo, "order streams", begin);
  return TG_OK;
}
