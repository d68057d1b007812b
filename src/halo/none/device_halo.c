/* SPDX-License-Identifier: Apache-2.0 */
/* The device halo of a throng without CUDA: it cannot be created, and says so. */
#include "halo/device_halo.h"

#include "device/device.h"
#include "halo/device_trace.h"

static tg_status missing(void) {
  return tg_fail(TG_ERR_MACHINE, "halo exchange on GPUs: %s", tg_device_reason());
}

tg_status tg_device_halo_create(const tg_device_halo_params* params, const tg_device_plan* plan,
                                tg_device_halo** out) {
  (void)params, (void)plan, (void)out;
  return missing();
}

tg_status tg_device_halo_open(tg_world* world, const tg_device_halo_params* params,
                              const tg_device_plan* plan, tg_device_halo** out) {
  (void)world, (void)params, (void)plan, (void)out;
  return missing();
}

void tg_device_halo_destroy(tg_device_halo** halo) { (void)halo; }

tg_status tg_device_halo_replan(tg_device_halo* halo, const tg_device_plan* plan) {
  (void)halo, (void)plan;
  return missing();
}

tg_status tg_device_halo_set_positions(tg_device_halo* halo, int pe, const double (*x)[3]) {
  (void)halo, (void)pe, (void)x;
  return missing();
}

tg_status tg_device_halo_get_positions(tg_device_halo* halo, int pe, double (*x)[3]) {
  (void)halo, (void)pe, (void)x;
  return missing();
}

tg_status tg_device_halo_set_forces(tg_device_halo* halo, int pe, const double (*f)[3]) {
  (void)halo, (void)pe, (void)f;
  return missing();
}

tg_status tg_device_halo_get_forces(tg_device_halo* halo, int pe, double (*f)[3]) {
  (void)halo, (void)pe, (void)f;
  return missing();
}

tg_status tg_device_halo_set_velocities(tg_device_halo* halo, int pe, const double (*v)[3]) {
  (void)halo, (void)pe, (void)v;
  return missing();
}

tg_status tg_device_halo_positions(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_forces(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_move(tg_device_halo* halo, double dt, bool push) {
  (void)halo, (void)dt, (void)push;
  return missing();
}

tg_status tg_device_halo_await(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_pushed(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_synchronize(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_graph_begin(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_status tg_device_halo_graph_end(tg_device_halo* halo, tg_device_halo_graph** out) {
  (void)halo, (void)out;
  return missing();
}

tg_status tg_device_halo_graph_launch(tg_device_halo* halo, tg_device_halo_graph* graph) {
  (void)halo, (void)graph;
  return missing();
}

void tg_device_halo_graph_destroy(tg_device_halo* halo, tg_device_halo_graph** graph) {
  (void)halo, (void)graph;
}

void tg_device_halo_view_of(const tg_device_halo* halo, int pe, tg_device_halo_view* out) {
  (void)halo, (void)pe;
  *out = (tg_device_halo_view){0};
}

int tg_device_halo_gpu_count(const tg_device_halo* halo) {
  (void)halo;
  return 0;
}

tg_status tg_device_halo_counters_read(tg_device_halo* halo, tg_device_halo_counters* out) {
  (void)halo, (void)out;
  return missing();
}

tg_status tg_device_halo_measure(int gpus, tg_device_halo_constants* out) {
  (void)gpus, (void)out;
  return missing();
}

tg_status tg_device_halo_trace_open(tg_device_halo* halo, int steps) {
  (void)halo, (void)steps;
  return missing();
}

tg_status tg_device_halo_trace_start(tg_device_halo* halo) {
  (void)halo;
  return missing();
}

tg_trace* tg_device_halo_trace_cpu(tg_device_halo* halo) {
  (void)halo;
  return NULL;
}

tg_status tg_device_halo_trace_stop(tg_device_halo* halo, const char* prefix, tg_trace_notes* notes,
                                    tg_device_traces* out) {
  (void)halo, (void)prefix, (void)notes, (void)out;
  return missing();
}

tg_status tg_device_halo_work_begin(tg_device_halo* halo, double microseconds) {
  (void)halo, (void)microseconds;
  return missing();
}

tg_status tg_device_halo_work_end(tg_device_halo* halo) {
  (void)halo;
  return missing();
}
