/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of steps: captured once for each pattern of flags, launched, and collected.
 *
 * A step on the main stream: [keep, sort, search] [prune] -> forces -> update [-> exchange]. Beside
 * the forces run, on a stream of their own, the sums that the update before has left; the update
 * waits for both. */
#include <algorithm>

#include "md/cuda/stages.cuh"
#include "md/cuda/step_host.cuh"

enum { MOST_GRAPHS = 64, EAGER = 40, MEASURED_LAUNCHES = 20, MEASURED_REPEATS = 11 };

static tg_status status_of(const tg_device_step* p, cudaError_t error, const char* what) {
  return tg_cuda_status(error, p->md->device, what);
}

void tg_step_draw_noise(tg_device_step* p, long long first, const unsigned char* flags, int count) {
  if (p->thermostat.kind != TG_THERMOSTAT_V_RESCALE) return;
  for (int i = 0; i < count; i++) {
    if (!(flags[i] & TG_STEP_COUPLE)) continue;
    const long long step = first + i;
    double* to = p->noise + step / p->view.couple_period % TG_STEP_NOISE * TG_MAX_GROUPS * 2;
    for (int g = 0; g < p->thermostat.temperature_count; g++)
      if (p->thermostat.degrees_of_freedom[g] > 0)
        tg_v_rescale_noise(p->thermostat.degrees_of_freedom[g], p->coupling.seed,
                           tg_v_rescale_index(step, g), to + 2 * g);
  }
}

static tg_status branch(tg_device_step* p) {
  TG_TRY(status_of(p, cudaEventRecord(p->fork, p->md->stream), "branching"));
  return status_of(p, cudaStreamWaitEvent(p->side, p->fork, 0), "branching");
}

static tg_status join(tg_device_step* p) {
  TG_TRY(status_of(p, cudaEventRecord(p->join, p->side), "joining"));
  return status_of(p, cudaStreamWaitEvent(p->md->stream, p->join, 0), "joining");
}

/* Prunings, and the forces behind them: of one domain. */
static bool prunes_early(const tg_device_step* p) { return !tg_md_is_many(p->md); }

/* after_update: the kernel ahead is one. */
static tg_status queue_lists_alone(tg_device_step* p, unsigned char flags, bool after_update) {
  if (flags & TG_STEP_SEARCH) {
    if (p->md->balanced) TG_TRY(tg_md_queue_tell_times(p->md));
    TG_TRY(tg_step_queue_share(p->md, &p->view));
    TG_TRY(tg_step_queue_keep(p->md, &p->view, p->md->stream));
    if (p->md->balanced) TG_TRY(tg_md_queue_move_planes(p->md));
    TG_TRY(tg_md_queue_sort(p->md));
    TG_TRY(tg_md_queue_list(p->md));
    if (tg_md_is_many(p->md)) TG_TRY(tg_step_queue_homes(p->md, &p->view, &p->homes));
    const bool staged = tg_md_is_staged(p->md);
    if (staged) TG_TRY(tg_md_queue_stages_tell(p->md));
    TG_TRY(tg_step_queue_meeting(p->md, &p->view, TG_MD_FLAG_PLAN));
    if (staged) TG_TRY(tg_md_queue_stages_list(p->md, p->homes.item[0].count));
  }
  if (!(flags & (TG_STEP_SEARCH | TG_STEP_PRUNE))) return TG_OK;
  if (flags & TG_STEP_SEARCH) {
    TG_TRY(tg_md_queue_prune(p->md, false));
    return tg_md_queue_order(p->md);
  }
  return tg_md_queue_prune(p->md, after_update && prunes_early(p));
}

/* With marks around them, if they are timed: of a stretch the search and the first pruning. *marked
 * says so. */
static tg_status queue_lists(tg_device_step* p, unsigned char flags, bool after_update,
                             bool* marked) {
  const bool search = flags & TG_STEP_SEARCH, prune = flags & TG_STEP_PRUNE;
  *marked = p->timed && (search || (prune && !p->pruning_marked));
  if (!*marked) return queue_lists_alone(p, flags, after_update);
  p->pruning_marked = p->pruning_marked || !search;
  TG_TRY(tg_md_queue_mark(p->md, search ? TG_MD_MARK_SEARCH : TG_MD_MARK_PRUNE));
  TG_TRY(queue_lists_alone(p, flags, false));
  return tg_md_queue_mark(p->md, search ? TG_MD_MARK_SEARCHED : TG_MD_MARK_PRUNED);
}

/* Positions to other domains, where that is queued with the step. */
static tg_status queue_exchange(tg_device_step* p) {
  return tg_md_is_staged(p->md) && tg_md_has_graphs(p->md) ? tg_md_queue_exchange(p->md) : TG_OK;
}

tg_status tg_step_queue_step(tg_device_step* p, const unsigned char* flags, int i,
                             tg_step_tail* t) {
  const unsigned char now = flags[i], next = flags[i + 1];
  const bool energy = now & TG_STEP_ENERGY, frame = now & TG_STEP_FRAME;
  const cudaStream_t stream = p->md->stream;
  bool marked = false;
  TG_TRY(queue_lists(p, now, t->update, &marked));
  int launch = t->update ? TG_STEP_BEHIND_UPDATE : TG_STEP_ALONE;
  if (now & TG_STEP_PRUNE && prunes_early(p)) launch = TG_STEP_BEHIND_PRUNING;
  if (now & TG_STEP_SEARCH || (now & TG_STEP_PRUNE && !prunes_early(p)) || marked)
    launch = TG_STEP_ALONE;
  p->md->stamped = p->timed && p->place[i] >= 0;
  p->md->views.place = p->md->stamped ? (uint32_t)p->place[i] : 0;
  TG_TRY(tg_step_queue_forces(p->md, &p->view, &p->homes, launch, energy, energy || frame));
  const bool early = !t->summing && !frame;
  if (t->summing) TG_TRY(join(p));
  if (frame && p->md->card_count > 1)
    TG_TRY(tg_step_queue_frame_share(p->md, &p->view));
  else if (frame)
    TG_TRY(tg_step_queue_frame(p->md, &p->view, stream));
  const int prepare = tg_step_prepares(next), work = prepare | (energy ? TG_REDUCE_RECORD : 0);
  TG_TRY(tg_step_queue_update(p->md, &p->view, &p->homes, early,
                              now & (TG_STEP_COUPLE | TG_STEP_COMM), work != 0, energy));
  *t = {false, !tg_md_is_staged(p->md) && work == 0};
  if (work == 0) return queue_exchange(p);
  /* the next step's energies would meet these in the same sums */
  if (energy && next & TG_STEP_ENERGY) {
    TG_TRY(queue_exchange(p));
    return tg_step_queue_reduce(p->md, &p->view, stream, work, i + 1);
  }
  t->summing = true;
  TG_TRY(branch(p));
  TG_TRY(tg_step_queue_reduce(p->md, &p->view, p->side, work, i + 1));
  return queue_exchange(p);
}

tg_status tg_step_queue_tail(tg_device_step* p, const tg_step_tail* t, int count) {
  p->md->stamped = false;
  if (t->summing) TG_TRY(join(p));
  if (p->timed) TG_TRY(tg_md_queue_end_times(p->md));
  return tg_step_queue_end(p->md, &p->view, p->md->stream, count);
}

static tg_status queue_stretch(tg_device_step* p, const unsigned char* flags, int count) {
  tg_step_tail t = {false, false};
  p->pruning_marked = false;
  for (int i = 0; i < count; i++) TG_TRY(tg_step_queue_step(p, flags, i, &t));
  return tg_step_queue_tail(p, &t, count);
}

static tg_status capture(tg_device_step* p, const unsigned char* flags, int count,
                         tg_step_graph* out) {
  cudaGraph_t graph = nullptr;
  TG_TRY(status_of(p, cudaStreamBeginCapture(p->md->stream, cudaStreamCaptureModeThreadLocal),
                   "beginning a graph"));
  tg_status status = queue_stretch(p, flags, count);
  const cudaError_t error = cudaStreamEndCapture(p->md->stream, &graph);
  if (status == TG_OK) status = status_of(p, error, "ending a graph");
  size_t nodes = 0;
  if (status == TG_OK) status = status_of(p, cudaGraphGetNodes(graph, nullptr, &nodes), "counting");
  if (status == TG_OK && tg_md_has_graphs(p->md))
    status = status_of(p, cudaGraphInstantiate(&out->exec, graph, 0), "preparing a graph");
  if (graph) cudaGraphDestroy(graph);
  out->kernels = (long long)nodes;
  return status;
}

/* The stretch's graph, captured now where it was not met before; without exec, for its number of
 * kernels alone, where steps are queued by themselves. */
static tg_status find_graph(tg_device_step* p, const unsigned char* flags, int count,
                            const tg_step_graph** out) {
  std::string key((const char*)flags, (size_t)count + 1);
  key += p->md->turn == 0 ? 'e' : 'o';
  if (p->timed) key += 't';
  for (const tg_step_graph& g : p->graphs)
    if (g.flags == key) {
      *out = &g;
      return TG_OK;
    }
  if (p->graphs.size() == MOST_GRAPHS) { /* may be under way: CUDA keeps it until it is done */
    if (p->graphs.front().exec) cudaGraphExecDestroy(p->graphs.front().exec);
    p->graphs.erase(p->graphs.begin());
  }
  tg_step_graph graph = {key, nullptr, 0};
  TG_TRY(capture(p, flags, count, &graph));
  p->graphs.push_back(graph);
  *out = &p->graphs.back();
  return TG_OK;
}

/* The second stretch, so that short runs have some timed steps, and then one in so many; while
 * planes find their places, all. */
static bool is_timed(const tg_device_step* step) {
  const int every = step->time_every;
  if (step->md->balanced && step->queued > 0 && step->queued < EAGER) return true;
  return every > 0 && (step->queued == 1 || step->queued % every == every - 1);
}

/* All cards' graphs are ready before one is started: a card that waits for another in the middle of
 * a step must not wait for the host to prepare anything. */
tg_status tg_device_step_queue(tg_device_step* step, const unsigned char* flags, int count) {
  const tg_step_graph* graphs[TG_MD_MOST_CARDS] = {};
  if (count < 1 || count > TG_DEVICE_STRETCH ||
      step->queued - step->collected >= TG_DEVICE_IN_FLIGHT)
    return tg_fail(TG_ERR_INTERNAL, "%d steps to queue beside %lld stretches under way", count,
                   step->queued - step->collected);
  const int slot = (int)(step->queued % TG_DEVICE_IN_FLIGHT);
  const bool timed = is_timed(step);
  int i = 0;
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    const int turn = p->md->turn;
    p->timed = timed && tg_times_choose(flags, count, p->place) > 0;
    TG_TRY(find_graph(p, flags, count, &graphs[i++]));
    tg_md_take_turn(p->md, tg_md_has_graphs(p->md) ? turn + count : turn);
    tg_step_draw_noise(p, step->next_step + 1, flags + 1, count);
  }
  if (!tg_md_has_graphs(step->md)) TG_TRY(tg_step_drive(step, flags, count));
  i = 0;
  for (tg_device_step* p = step; p; p = p->next) {
    TG_TRY(tg_md_select(p->md));
    if (graphs[i]->exec)
      TG_TRY(status_of(p, cudaGraphLaunch(graphs[i]->exec, p->md->stream), "starting a graph"));
    TG_TRY(status_of(p, cudaEventRecord(p->done[slot], p->md->stream), "recording an event"));
    step->kernels += graphs[i++]->kernels;
  }
  step->stretch[slot] = count;
  step->next_step += count;
  step->queued++;
  return TG_OK;
}

/* Takes over what a card reports. */
static void add_trouble(const tg_step_report* report, tg_device_trouble* trouble) {
  trouble->lists |= report->lists;
  if (report->fast_atom != ~0ULL) trouble->fast_atom = (long long)report->fast_atom;
  if (report->bad_group != ~0ULL) trouble->bad_group = (long long)report->bad_group;
}

tg_status tg_device_step_collect(tg_device_step* p, int* steps, const tg_device_record** records,
                                 int* count, tg_device_trouble* trouble) {
  *steps = *count = 0;
  *trouble = {0, false, -1, -1};
  p->records.clear();
  *records = p->records.data();
  if (p->collected == p->queued) return TG_OK;
  const int slot = (int)(p->collected % TG_DEVICE_IN_FLIGHT);
  for (tg_device_step* q = p; q; q = q->next) {
    TG_TRY(tg_md_select(q->md));
    TG_TRY(status_of(q, cudaEventSynchronize(q->done[slot]), "computing"));
    p->waits++;
    add_trouble(&q->report[slot], trouble);
  }
  p->collected++;
  TG_TRY(tg_md_peers_check(p->md->peers));
  const tg_step_report* report = &p->report[slot];
  for (; p->records_read < report->record_count; p->records_read++)
    p->records.push_back(p->record[p->records_read % TG_STEP_RECORDS]);
  trouble->list_full = trouble->lists != 0 && (trouble->lists & ~(unsigned)TG_MD_WANTS_ROOM) == 0;
  *steps = p->stretch[slot];
  *records = p->records.data();
  *count = (int)p->records.size();
  return TG_OK;
}

void tg_step_forget_graphs(tg_device_step* p) {
  for (tg_step_graph& g : p->graphs)
    if (g.exec) cudaGraphExecDestroy(g.exec);
  p->graphs.clear();
}

void tg_device_step_rush(tg_device_step* step, bool rush) {
  for (tg_device_step* p = step; p; p = p->next) {
    if (rush && !p->md->views.peers.rushed) p->dt = p->view.dt;
    p->md->views.peers.rushed = rush;
    p->view.dt = rush ? 0 : p->dt;
    p->view.inverse_dt = rush ? 0 : 1 / p->dt;
    tg_step_forget_graphs(p);
  }
}

/* With a time step of 0, so that the state stays. */
static tg_status queue_stage(tg_device_step* p, tg_device_step_stage stage) {
  tg_step_view view = p->view;
  view.dt = view.inverse_dt = 0;
  switch (stage) {
    case TG_DEVICE_STEP_UPDATE:
      return tg_step_queue_update(p->md, &view, &p->homes, false, false, false, false);
    case TG_DEVICE_STEP_UPDATE_SUMS:
      return tg_step_queue_update(p->md, &view, &p->homes, false, false, true, false);
    case TG_DEVICE_STEP_REDUCE:
      return tg_step_queue_reduce(p->md, &view, p->md->stream, TG_REDUCE_PREPARE, 0);
    case TG_DEVICE_STEP_FORCES:
      return tg_step_queue_forces(p->md, &view, &p->homes, TG_STEP_ALONE, false, false);
    default:
      TG_TRY(tg_step_queue_forces(p->md, &view, &p->homes,
                                  stage == TG_DEVICE_STEP_CHAIN && !tg_md_is_staged(p->md)
                                      ? TG_STEP_BEHIND_UPDATE
                                      : TG_STEP_ALONE,
                                  false, false));
      TG_TRY(tg_step_queue_update(p->md, &view, &p->homes, stage == TG_DEVICE_STEP_CHAIN, false,
                                  false, false));
      return queue_exchange(p);
  }
}

/* The time of the first card, which includes its waits for the others. */
static tg_status time_graphs(tg_device_step* step, const std::vector<cudaGraphExec_t>& graphs,
                             cudaEvent_t* event, std::vector<float>* ms) {
  for (int r = 0; r < MEASURED_REPEATS; r++) {
    float one = 0;
    size_t i = 0;
    TG_TRY(tg_md_select(step->md));
    TG_TRY(status_of(step, cudaEventRecord(event[0], step->md->stream), "measuring time"));
    for (tg_device_step* p = step; p; p = p->next) {
      TG_TRY(tg_md_select(p->md));
      TG_TRY(status_of(p, cudaGraphLaunch(graphs[i++], p->md->stream), "starting a graph"));
    }
    TG_TRY(tg_md_select(step->md));
    TG_TRY(status_of(step, cudaEventRecord(event[1], step->md->stream), "measuring time"));
    TG_TRY(status_of(step, cudaEventSynchronize(event[1]), "running a graph"));
    TG_TRY(status_of(step, cudaEventElapsedTime(&one, event[0], event[1]), "measuring time"));
    ms->push_back(one);
  }
  return TG_OK;
}

static tg_status capture_stage(tg_device_step* p, tg_device_step_stage stage,
                               cudaGraphExec_t* out) {
  cudaGraph_t graph = nullptr;
  TG_TRY(tg_md_select(p->md));
  TG_TRY(status_of(p, cudaStreamBeginCapture(p->md->stream, cudaStreamCaptureModeThreadLocal),
                   "beginning a graph"));
  tg_status status = TG_OK;
  for (int i = 0; i < MEASURED_LAUNCHES && status == TG_OK; i++) status = queue_stage(p, stage);
  const cudaError_t error = cudaStreamEndCapture(p->md->stream, &graph);
  if (status == TG_OK) status = status_of(p, error, "ending a graph");
  if (status == TG_OK) status = status_of(p, cudaGraphInstantiate(out, graph, 0), "preparing it");
  if (graph) cudaGraphDestroy(graph);
  return status;
}

tg_status tg_device_step_measure(tg_device_step* step, tg_device_step_stage stage,
                                 double* microseconds) {
  std::vector<cudaGraphExec_t> graphs;
  cudaEvent_t event[2] = {};
  std::vector<float> ms;
  tg_status status = TG_OK;
  for (tg_device_step* p = step; p && status == TG_OK; p = p->next) {
    cudaGraphExec_t exec = nullptr;
    status = capture_stage(p, stage, &exec);
    if (status == TG_OK) graphs.push_back(exec);
  }
  if (status == TG_OK) status = tg_md_select(step->md);
  for (int i = 0; i < 2 && status == TG_OK; i++)
    status = status_of(step, cudaEventCreate(&event[i]), "making an event");
  if (status == TG_OK) status = time_graphs(step, graphs, event, &ms);
  for (int i = 0; i < 2; i++)
    if (event[i]) cudaEventDestroy(event[i]);
  for (cudaGraphExec_t exec : graphs) cudaGraphExecDestroy(exec);
  TG_TRY(status);
  std::sort(ms.begin(), ms.end());
  *microseconds = 1e3 * ms[ms.size() / 2] / MEASURED_LAUNCHES;
  return TG_OK;
}
