/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of `throng bench motif`, a few for each experiment; docs/motifs.md says how they lie
 * beside the paper's. */
#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/plot.h"
#include "cli/bench_motif.h"

typedef tg_cli_motif_bench bench;
typedef tg_bench_motif_row row;

enum { MOST_CURVES = 128, MOST_POINTS = 64, MOST_NAMES = 64, LABEL = 96, PANELS = 4 };

typedef struct drawing {
  tg_plot_curve curves[MOST_CURVES];
  char labels[MOST_CURVES][LABEL], names[MOST_NAMES][LABEL], panel_labels[PANELS][LABEL];
  const char* name_list[MOST_NAMES];
  double x[MOST_CURVES][MOST_POINTS], y[MOST_CURVES][MOST_POINTS];
  int count, name_count;
  bool log_x; /* an axis that has no place for 0 */
} drawing;

static bool is(const char* a, const char* b) { return a != NULL && strcmp(a, b) == 0; }

/* The curve of that label in a panel, made where it is new; NULL: there are enough. */
static tg_plot_curve* curve_of(drawing* d, int panel, const char* label) {
  for (int k = 0; k < d->count; k++)
    if (d->curves[k].panel == panel && is(d->labels[k], label)) return &d->curves[k];
  if (d->count == MOST_CURVES) return NULL;
  bool shown = false; /* the legend names a label once */
  for (int k = 0; k < d->count; k++) shown = shown || is(d->labels[k], label);
  snprintf(d->labels[d->count], LABEL, "%.*s", LABEL - 1, label);
  d->curves[d->count] = (tg_plot_curve){.label = shown ? NULL : d->labels[d->count],
                                        .x = d->x[d->count],
                                        .y = d->y[d->count],
                                        .panel = panel};
  return &d->curves[d->count++];
}

/* A colour for each first word, that is each backend, and a dash for each label of it. */
static void set_styles(drawing* d) {
  int colours = 0;
  for (int k = 0; k < d->count; k++) {
    const size_t length = strcspn(d->labels[k], " ");
    int same = 0;
    d->curves[k].colour = 0;
    for (int j = 0; j < k; j++) {
      if (strncmp(d->labels[j], d->labels[k], length + 1) != 0) continue;
      d->curves[k].colour = d->curves[j].colour;
      if (is(d->labels[j], d->labels[k]))
        same = d->curves[j].dash - 1;
      else if (d->curves[j].dash > same)
        same = d->curves[j].dash;
      if (is(d->labels[j], d->labels[k])) break;
    }
    d->curves[k].dash = same + 1;
    if (d->curves[k].colour == 0) d->curves[k].colour = ++colours;
  }
}

static void add_point(drawing* d, int panel, const char* label, double x, double y) {
  const bool drawn = isfinite(y) && y > 0 && (!d->log_x || x > 0);
  tg_plot_curve* c = drawn ? curve_of(d, panel, label) : NULL;
  if (c == NULL || c->count == MOST_POINTS) return;
  const ptrdiff_t k = c - d->curves;
  d->x[k][c->count] = x;
  d->y[k][c->count++] = y;
}

static const char* label_of(const row* r, char out[LABEL]) {
  const bool count = is(r->motif, "count") || is(r->motif, "scan") || is(r->motif, "reduce") ||
                     is(r->motif, "dense");
  snprintf(out, LABEL, "%s %s%s%s", r->backend, count || !r->checked ? "" : r->motif,
           count || !r->checked ? "" : " ", r->version);
  return out;
}

static int panel_of(const bench* b, const row* r) {
  for (int k = 0; k < b->params.orbital_count; k++)
    if (b->params.orbitals[k] == r->orbitals) return k;
  return 0;
}

static bool runs(const row* r, int figure) { return r->figure == figure && !r->skipped[0]; }

/* Of a backend and a method the form that is fastest where it matters: 8 particles, the most
 * states. */
static bool is_best_form(const bench* b, const row* r) {
  const row* best = NULL;
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (!runs(o, r->figure) || !is(o->motif, "count") || !is(o->backend, r->backend)) continue;
    if (!is(o->method, r->method) || o->orbitals != r->orbitals || o->particles != 8) continue;
    if (best == NULL || o->rows > best->rows || (o->rows == best->rows && o->rate > best->rate))
      best = o;
  }
  return best != NULL && is(best->version, r->version);
}

/* Figures 7 (by particles) and 8: rates of the word and of the bits, a panel for each number of
 * orbitals. */
static void draw_rates(const bench* b, int figure, drawing* d) {
  char label[LABEL];
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, figure)) continue;
    const bool method = is(r->method, "word64") || is(r->method, "bits");
    if (r->checked && (!method || !is_best_form(b, r))) continue;
    add_point(d, panel_of(b, r), label_of(r, label), r->x, r->rate);
  }
  for (int k = 0; k < b->params.orbital_count; k++)
    snprintf(d->panel_labels[k], LABEL, "pairs a second, %u orbitals", b->params.orbitals[k]);
}

/* "offload simd" of the version "word64 simd": what the paper calls an implementation. */
static int implementation_of(drawing* d, const row* r) {
  char name[LABEL];
  const char* form = r->version + strlen(r->method);
  snprintf(name, sizeof name, "%s%s", r->backend, form);
  for (int k = 0; k < d->name_count; k++)
    if (is(d->names[k], name)) return k;
  if (d->name_count == MOST_NAMES) return -1;
  memcpy(d->names[d->name_count], name, sizeof name);
  d->name_list[d->name_count] = d->names[d->name_count];
  return d->name_count++;
}

/* Figure 7: all versions and implementations at 8 particles, by the fastest of its panel. */
static void draw_relative(const bench* b, drawing* d) {
  static const char* const methods[] = {"array", "word64", "bits"};
  static const double width = 0.27;
  double best[TG_BENCH_MOTIF_ORBITALS] = {0};
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (runs(r, 7) && r->particles == 8 && r->rate > best[panel_of(b, r)])
      best[panel_of(b, r)] = r->rate;
  }
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, 7) || r->particles != 8 || !r->checked) continue;
    const int place = implementation_of(d, r), panel = panel_of(b, r);
    for (int m = 0; m < 3 && place >= 0; m++)
      if (is(r->method, methods[m]))
        add_point(d, panel, methods[m], place + 1 + (m - 1) * width, r->rate / best[panel]);
  }
  for (int k = 0; k < d->count; k++) {
    d->curves[k].style = TG_PLOT_BARS;
    d->curves[k].width = 0.9 * width;
    for (int m = 0; m < 3; m++) /* the same in every panel */
      if (is(d->labels[k], methods[m])) d->curves[k].colour = m + 1;
  }
  for (int k = 0; k < b->params.orbital_count; k++)
    snprintf(d->panel_labels[k], LABEL, "rate by the fastest, %u orbitals", b->params.orbitals[k]);
}

/* The row of the same backend and x that a ratio is taken to; NULL: none. */
static const row* other_of(const bench* b, const row* r, const char* motif, const char* version) {
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (runs(o, r->figure) && o->x == r->x && is(o->backend, r->backend) && is(o->motif, motif) &&
        is(o->version, version) && o->particles == r->particles && !o->tiled)
      return o;
  }
  return NULL;
}

static void draw_scan(const bench* b, drawing* d) {
  char label[LABEL];
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, 11)) continue;
    add_point(d, 0, label_of(r, label), r->x, r->least_s * 1e6);
    const row* serial = r->checked ? other_of(b, r, "scan", "serial") : NULL;
    if (serial != NULL && serial != r)
      add_point(d, 1, label_of(r, label), r->x, serial->least_s / r->least_s);
  }
  snprintf(d->panel_labels[0], LABEL, "microseconds");
  snprintf(d->panel_labels[1], LABEL, "serial by this");
}

/* The count that a fill repeats: of the longest name that the fill's begins with, else the fastest
 * of its method. */
static const row* count_of(const bench* b, const row* r) {
  const row* best = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (!runs(o, r->figure) || o->x != r->x || !is(o->backend, r->backend)) continue;
    if (!is(o->motif, "count") || !is(o->method, r->method)) continue;
    const size_t length = strlen(o->version);
    const size_t common = strncmp(o->version, r->version, length) == 0 ? length : 0;
    if (best && (common < longest || (common == longest && o->rate <= best->rate))) continue;
    best = o;
    longest = common;
  }
  return best;
}

/* Is no version of the same backend and kind ("cursor", "ranked") faster? */
static bool is_best_fill(const bench* b, const row* r) {
  const char* kind = r->version + strlen("word64 ");
  const size_t length = strcspn(kind, " ");
  double mine = 0;
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (runs(o, 13) && is(o->backend, r->backend) && is(o->motif, r->motif) &&
        is(o->version, r->version) && o->rate > mine)
      mine = o->rate;
  }
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (!runs(o, 13) || !is(o->backend, r->backend) || !is(o->motif, r->motif)) continue;
    if (!is(o->method, "word64") || is(o->version, r->version)) continue;
    const char* other = o->version + strlen("word64 ");
    if (strncmp(other, kind, length) == 0 && o->rate > mine) return false;
  }
  return true;
}

static void draw_fill(const bench* b, drawing* d) {
  char label[LABEL];
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, 13) || !is(r->method, "word64")) continue;
    const bool counts = is(r->motif, "count");
    if (counts ? !is_best_form(b, r) : !is_best_fill(b, r)) continue;
    const row* count = counts ? NULL : count_of(b, r);
    label_of(r, label);
    add_point(d, 0, label, r->x, r->rate);
    if (count != NULL) add_point(d, 1, label, r->x, count->rate / r->rate);
  }
  snprintf(d->panel_labels[0], LABEL, "pairs a second");
  snprintf(d->panel_labels[1], LABEL, "time by that of the count");
}

static void draw_reduce(const bench* b, drawing* d) {
  char label[LABEL];
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, 15) || r->particles > 0) continue;
    const bool dense = is(r->motif, "dense");
    add_point(d, dense ? 0 : 1, label_of(r, label), r->x, r->rate);
    const row* stream = r->checked && !dense ? other_of(b, r, "yardstick", "(stream)") : NULL;
    if (stream != NULL) add_point(d, 2, label, r->x, stream->rate / r->rate);
  }
  snprintf(d->panel_labels[0], LABEL, "dense: pairs a second");
  snprintf(d->panel_labels[1], LABEL, "items a second");
  snprintf(d->panel_labels[2], LABEL, "time by that of reading");
}

/* The fastest version of a backend with tiles, at the largest d. */
static bool is_best_tiled(const bench* b, const row* r) {
  const row* best = NULL;
  for (size_t i = 0; i < b->count; i++) {
    const row* o = &b->rows[i];
    if (!runs(o, TG_BENCH_MOTIF_TILES) || !o->tiled || !is(o->backend, r->backend)) continue;
    if (o->particles != r->particles) continue;
    if (!best || o->d > best->d || (o->d == best->d && o->rate > best->rate)) best = o;
  }
  return best != NULL && is(best->version, r->version);
}

static void draw_tiles(const bench* b, drawing* d) {
  char label[2 * LABEL], name[LABEL];
  for (size_t i = 0; i < b->count; i++) {
    const row* r = &b->rows[i];
    if (!runs(r, TG_BENCH_MOTIF_TILES) || !r->tiled) continue;
    const row* without = other_of(b, r, "count", r->version);
    snprintf(label, LABEL, "pairs left, %u particles", r->particles);
    const tg_plot_curve* left = curve_of(d, 0, label);
    if (left != NULL && (left->count == 0 || left->x[left->count - 1] != r->x))
      add_point(d, 0, label, r->x, r->left);
    snprintf(label, sizeof label, "%s, %u particles", label_of(r, name), r->particles);
    if (without != NULL && is_best_tiled(b, r))
      add_point(d, 1, label, r->x, without->rate / r->rate);
  }
  snprintf(d->panel_labels[0], LABEL, "pairs that are left");
  snprintf(d->panel_labels[1], LABEL, "time with by without");
}

/* Panels without a point are left out. False: nothing is left. */
static bool close_ranks(drawing* d, tg_plot* plot) {
  int panels = 0;
  for (int panel = 0; panel < PANELS; panel++) {
    bool used = false;
    for (int k = 0; k < d->count; k++)
      if (d->curves[k].panel == panel && d->curves[k].count > 0) {
        d->curves[k].panel = panels;
        used = true;
      }
    if (used) plot->panel_labels[panels++] = d->panel_labels[panel];
  }
  return panels > 0;
}

static tg_status draw(const bench* b, int figure, int picture, drawing* d, const char* path) {
  tg_plot plot = {
      .x_label = tg_bench_motif_axis(figure), .log_x = 1, .log_y = 1, .curves = d->curves};
  d->log_x = figure != 7 && figure != TG_BENCH_MOTIF_TILES;
  switch (figure) {
    case 7:
      plot.title = picture == 0 ? "Filter of 8 particles: versions and implementations"
                                : "Filter, by the number of particles";
      plot.log_x = 0;
      if (picture == 0) plot.x_label = "";
      if (picture == 0) draw_relative(b, d);
      if (picture == 1) draw_rates(b, 7, d);
      break;
    case 8:
      plot.title = "Filter of 8 particles, word of 64 and full bits";
      draw_rates(b, 8, d);
      break;
    case 11:
      plot.title = "Scan";
      draw_scan(b, d);
      break;
    case 13:
      plot.title = "Fill and count, word of 64";
      draw_fill(b, d);
      break;
    case 15:
      plot.title = "Reduce into few sums";
      draw_reduce(b, d);
      break;
    default:
      plot.title = "Tiles that are skipped";
      plot.log_x = plot.log_y = 0;
      draw_tiles(b, d);
  }
  plot.legend_right = d->name_count == 0;
  plot.x_at_points = d->name_count == 0;
  if (plot.legend_right) set_styles(d);
  plot.curve_count = d->count;
  plot.x_names = d->name_count ? d->name_list : NULL;
  plot.x_name_count = d->name_count;
  if (close_ranks(d, &plot)) return tg_plot_write(&plot, path);
  fprintf(stderr, "throng bench motif: %s: nothing to draw\n", path);
  return TG_OK;
}

const char* const* tg_cli_motif_pictures(int figure) {
  static const char* const names[][3] = {{"figure-7.svg", "figure-7-particles.svg", NULL},
                                         {"figure-8.svg", NULL, NULL},
                                         {"figure-11.svg", NULL, NULL},
                                         {"figure-13.svg", NULL, NULL},
                                         {"figure-15.svg", NULL, NULL},
                                         {"tiles.svg", NULL, NULL}};
  for (int k = 0; tg_bench_motif_figures[k] >= 0; k++)
    if (tg_bench_motif_figures[k] == figure) return names[k];
  return names[5];
}

tg_status tg_cli_motif_plot(const bench* b, int figure, const char* folder) {
  const char* const* names = tg_cli_motif_pictures(figure);
  for (int k = 0; names[k] != NULL; k++) {
    char path[4096];
    drawing* d = NULL;
    TG_TRY(tg_path_join(folder, names[k], path, sizeof path));
    TG_TRY(TG_ALLOCATE(1, "a picture", &d));
    tg_status status = draw(b, figure, k, d, path);
    TG_FREE(d);
    TG_TRY(status);
  }
  return TG_OK;
}
