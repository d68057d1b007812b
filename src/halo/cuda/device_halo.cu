/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a device halo: memory, data in and out, graphs, failures. */
#include "halo/device_halo.h"

#include <stdio.h>
#include <string.h>

#include <new>

#include "halo/cuda/internal.cuh"
#include "halo/cuda/mail.cuh"

static tg_status select_card(const tg_device_halo* halo, int card) {
  int device = halo->cards.card[card].device;
  return tg_cuda_status(cudaSetDevice(device), device, "selecting it");
}

tg_status tg_device_halo_read_params(tg_device_halo* halo, const tg_device_halo_params* params,
                                     const tg_device_plan* plan) {
  static const char* const schedules[] = {"host", "stream", "pulse", "fused", "direct"};
  static const char* const returns[] = {"put", "pull", "reduce"};
  const char* schedule = params->schedule ? params->schedule : plan->direct ? "direct" : "fused";
  int found = -1, way = params->force_return ? -1 : 0;
  for (int i = 0; i < 5; i++)
    if (strcmp(schedule, schedules[i]) == 0) found = i;
  for (int i = 0; i < 3 && params->force_return; i++)
    if (strcmp(params->force_return, returns[i]) == 0) way = i;
  if (params->margin != 0 && !(params->margin >= 1 && params->margin <= 1000))
    return tg_fail(TG_ERR_INPUT, "halo: a margin of %g; give 1 to 1000, or 0 for the default",
                   params->margin);
  if (found < 0)
    return tg_fail(TG_ERR_INPUT,
                   "halo: schedule '%s' is not known; give host, stream, pulse, fused or direct",
                   schedule);
  if (way < 0)
    return tg_fail(TG_ERR_INPUT, "halo: force return '%s' is not known; give put, pull or reduce",
                   params->force_return);
  halo->schedule = (tg_device_schedule)found;
  halo->force_return = (tg_halo_return)way;
  if (plan->direct != (halo->schedule == TG_DEVICE_DIRECT))
    return tg_fail(TG_ERR_INTERNAL, "halo: schedule %s with a %s plan", schedule,
                   plan->direct ? "direct" : "staged");
  halo->double_precision = params->double_precision;
  halo->bulk = params->bulk && halo->schedule >= TG_DEVICE_PULSE;
  halo->returns_forces = params->returns_forces;
  halo->direct = plan->direct;
  halo->deadline_s = params->deadline_s > 0 ? params->deadline_s : 5;
  halo->pe_count = plan->pe_count;
  halo->channel_count = plan->channel_count;
  return TG_OK;
}

tg_status tg_device_halo_check_bulk(const tg_device_halo* halo) {
  for (int i = 0; i < halo->cards.count && halo->bulk; i++) {
    tg_device_info info;
    TG_TRY(tg_device_query(halo->cards.card[i].device, &info));
    if (info.compute_major < 9)
      return tg_fail(TG_ERR_MACHINE,
                     "GPU %d: compute capability %d.%d has no bulk copies (9.0 has); use plain "
                     "stores",
                     halo->cards.card[i].device, info.compute_major, info.compute_minor);
  }
  return TG_OK;
}

/* May kernels overlap; and do sums fit rows, with channels and PEs in few bits? */
tg_status tg_device_halo_choose_kernels(tg_device_halo* halo) {
  halo->overlaps = tg_device_driver_version() >= 12030; /* graphs with such launches: CUDA 12.3 */
  int most_pes = 0;
  for (int i = 0; i < halo->cards.count; i++) {
    tg_device_info info;
    TG_TRY(tg_device_query(halo->cards.card[i].device, &info));
    if (info.compute_major < 9) halo->overlaps = false;
    if (halo->cards.card[i].pe_count > most_pes) most_pes = halo->cards.card[i].pe_count;
  }
  if (halo->force_return == TG_HALO_PUT && most_pes <= TG_MAIL_FEW)
    halo->row_words = halo->channel_count < 4 ? 4 : halo->direct && halo->channel_count < 8 ? 8 : 0;
  return TG_OK;
}

tg_status tg_device_halo_allocate(int device, void** out, size_t bytes) {
  const cudaError_t error = cudaMalloc(out, bytes);
  return error == cudaSuccess ? TG_OK : tg_cuda_fail(error, device, "halo memory", bytes);
}

static tg_status allocate_pes(tg_device_halo* halo) {
  for (int p = 0; p < halo->pe_count; p++) {
    tg_device_pe* pe = &halo->pes[p];
    pe->card = tg_cards_of(&halo->cards, p);
    int device = halo->cards.card[pe->card].device;
    TG_TRY(select_card(halo, pe->card));
    TG_TRY(tg_device_halo_allocate(device, (void**)&pe->memory, halo->layout.bytes));
    TG_TRY(tg_cuda_status(cudaMemset(pe->memory, 0, halo->layout.zero_bytes), device,
                          "clearing halo memory"));
  }
  return TG_OK;
}

/* The abort word of PE p, as this process reaches it. On path put that is its own only: the kernels
 * tell the others by puts. */
static unsigned* abort_word(const tg_device_halo* halo, int p) {
  char* memory = halo->pes[p].memory;
  if (!memory || (halo->world && halo->path != TG_DEVICE_STORE && p != halo->own)) return NULL;
  tg_symmetric* alarm = halo->alarm ? tg_world_alarm(halo->world) : NULL;
  if (alarm) {
    char* there = (char*)tg_symmetric_peer(alarm, p);
    return there ? (unsigned*)(there + ((char*)halo->alarm - (char*)tg_symmetric_local(alarm)))
                 : NULL;
  }
  return (unsigned*)(memory + halo->layout.words + sizeof(uint64_t)) + 2 * halo->channel_count + 2;
}

tg_status tg_device_halo_allocate_cards(tg_device_halo* halo) {
  std::vector<unsigned*> aborts;
  std::vector<char*> velocities;
  for (int p = 0; p < halo->pe_count; p++) {
    char* memory = halo->pes[p].memory;
    aborts.push_back(abort_word(halo, p));
    velocities.push_back(memory ? memory + halo->layout.velocity : NULL);
  }
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    size_t pes = (size_t)card->pe_count;
    TG_TRY(select_card(halo, i));
    TG_TRY(
        tg_device_halo_allocate(card->device, &halo->ports[i], pes * sizeof(tg_halo_port<double>)));
    TG_TRY(
        tg_device_halo_allocate(card->device, (void**)&halo->velocities[i], pes * sizeof(void*)));
    TG_TRY(tg_device_halo_allocate(card->device, (void**)&halo->abort_of[i],
                                   aborts.size() * sizeof(void*)));
    TG_TRY(tg_device_halo_allocate(card->device, (void**)&halo->fault[i], sizeof(tg_halo_fault)));
    TG_TRY(tg_cuda_status(cudaMemset(halo->fault[i], 0, sizeof(tg_halo_fault)), card->device,
                          "clearing halo memory"));
    TG_TRY(tg_cuda_status(cudaMemcpy(halo->abort_of[i], aborts.data(),
                                     aborts.size() * sizeof(void*), cudaMemcpyHostToDevice),
                          card->device, "copying to it"));
    TG_TRY(tg_cuda_status(cudaMemcpy(halo->velocities[i], &velocities[card->first_pe],
                                     pes * sizeof(void*), cudaMemcpyHostToDevice),
                          card->device, "copying to it"));
  }
  return TG_OK;
}

static tg_status build(tg_device_halo* halo, const tg_device_halo_params* params,
                       const tg_device_plan* plan) {
  double margin = params->margin > 0 ? params->margin : 1.25;
  if (params->path && strcmp(params->path, "auto") != 0 && strcmp(params->path, "store") != 0)
    return tg_fail(TG_ERR_INPUT,
                   "halo: path '%s' within a process; there are stores only: give auto or store",
                   params->path);
  TG_TRY(tg_device_halo_read_params(halo, params, plan));
  TG_TRY(tg_cards_open(params->gpus, plan->pe_count, &halo->cards));
  TG_TRY(tg_device_halo_check_bulk(halo));
  TG_TRY(tg_device_halo_choose_kernels(halo));
  TG_TRY(tg_device_layout_choose(halo, plan, margin));
  halo->pes.resize((size_t)halo->pe_count);
  TG_TRY(allocate_pes(halo));
  TG_TRY(tg_device_halo_allocate_cards(halo));
  TG_TRY(tg_device_plan_upload(halo, plan));
  return tg_device_grids_choose(halo);
}

tg_status tg_device_halo_create(const tg_device_halo_params* params, const tg_device_plan* plan,
                                tg_device_halo** out) {
  tg_device_halo* halo = new (std::nothrow) tg_device_halo();
  if (!halo) return tg_fail(TG_ERR_MACHINE, "no memory for a halo");
  tg_status status = build(halo, params, plan);
  if (status == TG_OK)
    *out = halo;
  else
    tg_device_halo_destroy(&halo);
  return status;
}

void tg_device_halo_destroy(tg_device_halo** halo) {
  if (!halo || !*halo) return;
  tg_device_halo* one = *halo;
  for (int i = 0; i < one->cards.count; i++) {
    cudaSetDevice(one->cards.card[i].device);
    cudaStreamSynchronize(one->cards.card[i].stream);
  }
  tg_device_trace_free(one);
  for (tg_device_pe& pe : one->pes)
    if (!one->symmetric && pe.card >= 0) cudaFree(pe.memory);
  tg_symmetric_destroy(&one->symmetric);
  cudaFreeHost(one->pinned);
  for (int i = 0; i < one->cards.count; i++) {
    cudaFree(one->ports[i]);
    cudaFree(one->velocities[i]);
    cudaFree(one->abort_of[i]);
    cudaFree(one->plan_input[i]);
    cudaFree(one->fault[i]);
  }
  tg_cards_close(&one->cards);
  delete one;
  *halo = NULL;
}

static const char* flag_name(int flag) {
  return flag == TG_HALO_POSITIONS ? "positions"
         : flag == TG_HALO_FORCES  ? "forces"
         : flag == TG_HALO_PLAN    ? "new plan"
         : flag == TG_HALO_READY   ? "word that a new plan may begin"
                                   : "word that positions were read";
}

const char* tg_device_halo_channel_name(const tg_device_halo* halo, int channel, char out[64]) {
  if (!halo->direct) {
    snprintf(out, 64, "pulse %d", channel + 1);
    return out;
  }
  int hops[3];
  tg_device_halo_hops(halo, channel, hops);
  snprintf(out, 64, "neighbour %d at (%d %d %d) domains", channel + 1, hops[0], hops[1], hops[2]);
  return out;
}

static tg_status report(const tg_device_halo* halo, const tg_halo_fault* fault) {
  char name[64];
  const bool plan = fault->flag == TG_HALO_PLAN || fault->flag == TG_HALO_READY;
  /* what a reader confirms as it begins exchange n is that it has read n - 1 */
  const unsigned long long number = fault->wanted + (fault->flag == TG_HALO_CONSUMED);
  if (fault->flag == TG_HALO_ROOM && fault->channel < 0)
    return tg_fail(TG_ERR_MACHINE, "PE %d: %lld home atoms, room for %llu; make a new halo",
                   fault->waiting_pe, (long long)fault->seen, fault->wanted);
  if (fault->flag == TG_HALO_ROOM)
    return tg_fail(TG_ERR_MACHINE, "PE %d: %llu atoms in %s, room for %llu; make a new halo",
                   fault->waiting_pe, fault->seen,
                   tg_device_halo_channel_name(halo, fault->channel, name), fault->wanted);
  return tg_fail(TG_ERR_MACHINE,
                 "halo exchange: PE %d waited %g s for the %s of PE %d (%s, %s %llu): its counter "
                 "stands at %llu, %llu was awaited; a GPU is stalled or its kernel was never "
                 "launched",
                 fault->waiting_pe, halo->deadline_s, flag_name(fault->flag), fault->awaited_pe,
                 tg_device_halo_channel_name(halo, fault->channel, name),
                 plan ? "plan" : "exchange", number, fault->seen, fault->wanted);
}

static tg_status wait_and_look(tg_device_halo* halo) {
  tg_halo_fault faults[TG_MOST_CARDS];
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(select_card(halo, i));
    TG_TRY(tg_cuda_status(cudaStreamSynchronize(card->stream), card->device,
                          "waiting for a halo exchange"));
  }
  for (int i = 0; i < halo->cards.count; i++) {
    const tg_card* card = &halo->cards.card[i];
    TG_TRY(select_card(halo, i));
    TG_TRY(tg_cuda_status(cudaMemcpyAsync(&faults[i], halo->fault[i], sizeof faults[i],
                                          cudaMemcpyDeviceToHost, card->stream),
                          card->device, "reading the record of failed waits"));
    TG_TRY(tg_cuda_status(cudaStreamSynchronize(card->stream), card->device,
                          "reading the record of failed waits"));
    if (faults[i].found) return report(halo, &faults[i]);
  }
  return halo->plans_here ? tg_device_counts_fetch(halo) : TG_OK;
}

tg_status tg_device_halo_synchronize(tg_device_halo* halo) {
  tg_status status = wait_and_look(halo);
  return halo->world ? tg_device_processes_outcome(halo, status) : status;
}

tg_status tg_device_halo_replan(tg_device_halo* halo, const tg_device_plan* plan) {
  if (halo->world) return tg_device_processes_replan(halo, plan);
  TG_TRY(tg_device_plan_fits(halo, plan));
  TG_TRY(tg_device_halo_synchronize(halo)); /* the barrier: nobody reads or writes any longer */
  return tg_device_plan_upload(halo, plan);
}

static tg_status check_own(const tg_device_halo* halo, int p) {
  if (p >= tg_first_pe(halo) && p < tg_end_pe(halo)) return TG_OK;
  return tg_fail(TG_ERR_INPUT,
                 "halo: data of PE %d asked of a process that has PE%s %d to %d; ask that PE's own",
                 p, halo->world ? "" : "s", tg_first_pe(halo), tg_end_pe(halo) - 1);
}

/* Compact doubles and a PE's array: home, then the slices. */
static tg_status copy_array(tg_device_halo* halo, int p, size_t at, double (*values)[3],
                            bool to_device, bool home_only) {
  TG_TRY(check_own(halo, p));
  tg_device_pe* pe = &halo->pes[p];
  const tg_card* card = &halo->cards.card[pe->card];
  TG_TRY(tg_device_halo_synchronize(halo));
  TG_TRY(select_card(halo, pe->card));
  size_t element = tg_element(halo), bytes = 3 * halo->local_capacity * element;
  std::vector<char> copy(bytes);
  TG_TRY(tg_cuda_status(cudaMemcpy(copy.data(), pe->memory + at, bytes, cudaMemcpyDeviceToHost),
                        card->device, "copying from it"));
  size_t compact = 0;
  for (int c = -1; c < (home_only ? 0 : halo->channel_count); c++) {
    size_t first = c < 0 ? 0 : halo->slice[c];
    size_t count = c < 0 ? pe->home_count : pe->receive_count[c];
    for (size_t i = 3 * first; i < 3 * (first + count); i++, compact++) {
      double* value = &values[0][0] + compact;
      float* single = (float*)copy.data() + i;
      double* wide = (double*)copy.data() + i;
      if (!to_device)
        *value = halo->double_precision ? *wide : (double)*single;
      else if (halo->double_precision)
        *wide = *value;
      else
        *single = (float)*value;
    }
  }
  if (!to_device) return TG_OK;
  /* into the halo a PE of another process may be storing the next positions already */
  if (home_only) bytes = 3 * pe->home_count * element;
  TG_TRY(tg_cuda_status(cudaMemcpy(pe->memory + at, copy.data(), bytes, cudaMemcpyHostToDevice),
                        card->device, "copying to it"));
  return tg_cuda_status(cudaDeviceSynchronize(), card->device, "copying to it");
}

tg_status tg_device_halo_set_positions(tg_device_halo* halo, int pe, const double (*x)[3]) {
  return copy_array(halo, pe, halo->layout.x, (double(*)[3])x, true, true);
}
tg_status tg_device_halo_get_positions(tg_device_halo* halo, int pe, double (*x)[3]) {
  return copy_array(halo, pe, halo->layout.x, x, false, false);
}
tg_status tg_device_halo_set_forces(tg_device_halo* halo, int pe, const double (*f)[3]) {
  return copy_array(halo, pe, halo->layout.f, (double(*)[3])f, true, false);
}
tg_status tg_device_halo_get_forces(tg_device_halo* halo, int pe, double (*f)[3]) {
  return copy_array(halo, pe, halo->layout.f, f, false, false);
}

tg_status tg_device_halo_set_velocities(tg_device_halo* halo, int p, const double (*v)[3]) {
  TG_TRY(check_own(halo, p));
  tg_device_pe* pe = &halo->pes[p];
  const tg_card* card = &halo->cards.card[pe->card];
  TG_TRY(tg_device_halo_synchronize(halo));
  TG_TRY(select_card(halo, pe->card));
  size_t element = tg_element(halo);
  std::vector<char> copy(3 * pe->home_count * element + 1);
  for (size_t i = 0; i < 3 * pe->home_count; i++) {
    if (halo->double_precision)
      ((double*)copy.data())[i] = (&v[0][0])[i];
    else
      ((float*)copy.data())[i] = (float)(&v[0][0])[i];
  }
  TG_TRY(tg_cuda_status(cudaMemcpy(pe->memory + halo->layout.velocity, copy.data(),
                                   3 * pe->home_count * element, cudaMemcpyHostToDevice),
                        card->device, "copying to it"));
  return tg_cuda_status(cudaDeviceSynchronize(), card->device, "copying to it");
}

void tg_device_halo_view_of(const tg_device_halo* halo, int p, tg_device_halo_view* out) {
  memset(out, 0, sizeof *out);
  if (p < tg_first_pe(halo) || p >= tg_end_pe(halo)) return;
  const tg_device_pe* pe = &halo->pes[p];
  const tg_card* card = &halo->cards.card[pe->card];
  size_t port = halo->double_precision ? sizeof(tg_halo_port<double>) : sizeof(tg_halo_port<float>);
  out->device = card->device;
  out->stream = card->stream;
  out->port = (const char*)halo->ports[pe->card] + (size_t)(p - card->first_pe) * port;
  out->x = pe->memory + halo->layout.x;
  out->f = pe->memory + halo->layout.f;
  out->home_count = pe->home_count;
  out->local_capacity = halo->local_capacity;
  out->channel_count = halo->channel_count;
  out->slices = halo->slice.data();
}

int tg_device_halo_gpu_count(const tg_device_halo* halo) { return halo->cards.count; }

tg_status tg_device_halo_counters_read(tg_device_halo* halo, tg_device_halo_counters* out) {
  TG_TRY(tg_device_halo_synchronize(halo));
  *out = halo->counters;
  out->device_wait_s = 0;
  for (const tg_device_pe& pe : halo->pes) {
    unsigned long long waited = 0;
    if (pe.card < 0) continue;
    TG_TRY(select_card(halo, pe.card));
    TG_TRY(tg_cuda_status(
        cudaMemcpy(&waited, pe.memory + halo->layout.words, sizeof waited, cudaMemcpyDeviceToHost),
        halo->cards.card[pe.card].device, "copying from it"));
    out->device_wait_s += (double)waited * 1e-9;
  }
  return TG_OK;
}
