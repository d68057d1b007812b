/* SPDX-License-Identifier: Apache-2.0 */
/* gnuplot draws curves; this is lines with labels that must not cover each other, so throng writes
 * the SVG itself:
 *
 *   | J, parity | leader | the level's line, arrows on it | leader | energy |   for each column
 */
#include "cli/ci_picture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "cli/ci_report.h"

enum { MOST_COLUMNS = 16, MOST_ARROWS = 14, TITLE = 96 };

/* Pixels. */
static const double axis_width = 64, label_width = 44, leader = 16, plain_line = 96,
                    wide_line = 210, energy_width = 66, column_gap = 14, top = 100, bottom = 54,
                    label_gap = 15, arrow_gap = 26;

typedef struct column {
  int key;
  char title[TITLE];
  size_t* levels; /* [count], numbers in the spectrum, rising */
  size_t count;
  double x; /* left end of the lines */
} column;

typedef struct arrow {
  size_t from, to;
  double strength;
} arrow;

typedef struct picture {
  FILE* out;
  const tg_cli_ci_job* job;
  const tg_ci_spectrum* spectrum;
  bool nucleus;
  column columns[MOST_COLUMNS];
  size_t column_count;
  arrow arrows[MOST_ARROWS];
  size_t arrow_count;
  double width, height, line, scale; /* scale: pixels for a unit of energy */
  double zero;                       /* pixels from the top to energy 0 */
  double top_energy;                 /* of the axis */
} picture;

tg_status tg_cli_ci_picture_check(const char* path) {
  const char* dot = strrchr(path, '.');
  if (dot && tg_compare_nocase(dot, ".svg") == 0) return tg_new_file_check(path);
  return tg_fail(TG_ERR_INPUT, "%s: a level scheme's name must end in .svg", path);
}

/* Neighbours that are too close become one block with the mean of their wishes (pool adjacent
 * violators, on positions less i * gap). */
void tg_cli_spread(size_t count, double* y, double gap) {
  for (size_t i = 0; i < count; i++) y[i] -= (double)i * gap;
  for (size_t i = 1; i < count; i++) {
    /* y[0 .. i-1] is rising: grow a block to the left from i as long as its mean is too small */
    size_t begin = i;
    double sum = y[i];
    while (begin > 0 && y[begin - 1] > sum / (double)(i - begin + 1)) sum += y[--begin];
    const double mean = sum / (double)(i - begin + 1);
    for (size_t k = begin; k <= i; k++) y[k] = mean;
  }
  for (size_t i = 0; i < count; i++) y[i] += (double)i * gap;
}

/* ---- what is drawn ---- */

static double excitation(const picture* p, size_t level) {
  return p->spectrum->levels[level].energy - p->spectrum->levels[0].energy;
}

/* Levels of one column share isospin and parity, or irrep. */
static int key_of(const picture* p, const tg_ci_level* level) {
  if (!p->nucleus) return (int)level->symmetry;
  const int twice = tg_ci_twice(level->squared[TG_CI_LABEL_T]);
  return 2 * (twice < 0 ? 1000 : twice) + (int)(level->symmetry & 1);
}

static void name_column(const picture* p, column* c, bool parities) {
  const int twice = c->key / 2;
  if (!p->nucleus) {
    snprintf(c->title, TITLE, "irrep %d", c->key + 1);
    return;
  }
  const char* parity = c->key & 1 ? "negative parity" : "positive parity";
  char isospin[32] = "";
  if (twice < 1000)
    snprintf(isospin, sizeof isospin, twice % 2 ? "T = %d/2" : "T = %d",
             twice % 2 ? twice : twice / 2);
  snprintf(c->title, TITLE, "%s%s%s", isospin, *isospin && parities ? ", " : "",
           parities ? parity : "");
}

static int by_key(const void* a, const void* b) {
  return ((const column*)a)->key - ((const column*)b)->key;
}

/* The last column takes what does not fit. */
static tg_status sort_into_columns(picture* p) {
  unsigned symmetries = 0;
  for (size_t i = 0; i < p->spectrum->level_count; i++) {
    const int key = key_of(p, &p->spectrum->levels[i]);
    symmetries |= 1u << (p->spectrum->levels[i].symmetry & 31);
    size_t c = 0;
    while (c < p->column_count && p->columns[c].key != key) c++;
    if (c == MOST_COLUMNS) c--;
    if (c == p->column_count) {
      p->columns[c].key = key;
      p->column_count++;
      TG_TRY(TG_ALLOCATE(p->spectrum->level_count, "levels", &p->columns[c].levels));
    }
    p->columns[c].levels[p->columns[c].count++] = i;
  }
  qsort(p->columns, p->column_count, sizeof *p->columns, by_key);
  for (size_t c = 0; c < p->column_count; c++)
    name_column(p, &p->columns[c], (symmetries & (symmetries - 1)) != 0);
  return TG_OK;
}

static int by_strength(const void* a, const void* b) {
  const arrow *x = a, *y = b;
  return x->strength > y->strength ? -1 : x->strength < y->strength;
}

/* The strongest B(E2) within columns, from the table of transitions. */
static tg_status choose_arrows(picture* p) {
  const tg_ci_table* t = tg_ci_tables_find(&p->job->tables, "transitions");
  if (!t || !t->rows) return TG_OK;
  const size_t strength = tg_ci_table_find(t, "B_E2_down_e2fm4");
  const size_t from = tg_ci_table_find(t, "initial"), to = tg_ci_table_find(t, "final");
  if (strength == SIZE_MAX || from == SIZE_MAX || to == SIZE_MAX) return TG_OK;
  arrow* all = NULL;
  size_t count = 0;
  TG_TRY(TG_ALLOCATE(t->rows, "transitions", &all));
  for (size_t r = 0; r < t->rows; r++) {
    const arrow a = {(size_t)t->columns[from].value[r] - 1, (size_t)t->columns[to].value[r] - 1,
                     t->columns[strength].value[r]};
    if (a.from >= p->spectrum->level_count || a.to >= p->spectrum->level_count) continue;
    if (key_of(p, &p->spectrum->levels[a.from]) != key_of(p, &p->spectrum->levels[a.to])) continue;
    if (a.strength > 0 && excitation(p, a.from) > excitation(p, a.to)) all[count++] = a;
  }
  qsort(all, count, sizeof *all, by_strength);
  for (size_t i = 0; i < count && i < MOST_ARROWS; i++)
    if (all[i].strength >= 0.03 * all[0].strength) p->arrows[p->arrow_count++] = all[i];
  tg_free(all);
  return TG_OK;
}

/* A step of 1, 2 or 5 times a power of ten, of which some six to ten fit. */
static double tick_step(double range) {
  const double raw = range / 8, power = pow(10, floor(log10(raw)));
  return (raw > 5 * power ? 10 : raw > 2 * power ? 5 : raw > power ? 2 : 1) * power;
}

static double y_of(const picture* p, double energy) { return p->zero - energy * p->scale; }

/* Where the labels of a column go, the highest first: y: [count]. */
static void place_labels(const picture* p, const column* c, double* y) {
  for (size_t i = 0; i < c->count; i++) y[i] = y_of(p, excitation(p, c->levels[c->count - 1 - i]));
  tg_cli_spread(c->count, y, label_gap);
}

static size_t arrows_in(const picture* p, const column* c) {
  size_t count = 0;
  for (size_t i = 0; i < p->arrow_count; i++)
    count += key_of(p, &p->spectrum->levels[p->arrows[i].from]) == c->key;
  return count;
}

/* Columns side by side, few of them in the middle; lines as long as their arrows need. */
static void lay_out_columns(picture* p) {
  double x = axis_width;
  p->line = p->arrow_count ? wide_line : plain_line;
  for (size_t c = 0; c < p->column_count; c++)
    p->line = fmax(p->line, arrow_gap * (double)arrows_in(p, &p->columns[c]));
  for (size_t c = 0; c < p->column_count; c++) {
    p->columns[c].x = x + label_width + leader;
    x += label_width + 2 * leader + p->line + energy_width + column_gap;
  }
  p->width = fmax(x, 420);
  for (size_t c = 0; c < p->column_count; c++) p->columns[c].x += 0.5 * (p->width - x);
}

/* Room for labels that were spread beyond the highest and the lowest level, too. */
static tg_status lay_out(picture* p) {
  size_t most = 0;
  double* labels = NULL;
  lay_out_columns(p);
  for (size_t c = 0; c < p->column_count; c++)
    if (p->columns[c].count > most) most = p->columns[c].count;
  TG_TRY(TG_ALLOCATE(most, "labels", &labels));
  const double inner = fmax(400, label_gap * (double)most + 20);
  const double highest = excitation(p, p->spectrum->level_count - 1);
  p->top_energy = highest > 1e-6 ? highest : 1; /* one level, or all at one energy */
  p->scale = inner / p->top_energy;
  p->zero = inner;
  double above = 0, below = 0;
  for (size_t c = 0; c < p->column_count; c++) {
    place_labels(p, &p->columns[c], labels);
    above = fmax(above, -labels[0]);
    below = fmax(below, labels[p->columns[c].count - 1] - inner);
  }
  p->zero = top + above + inner;
  p->height = p->zero + below + bottom;
  tg_free(labels);
  return TG_OK;
}

/* ---- drawing ---- */

static void put_text(FILE* out, const char* text) {
  for (; *text; text++) {
    if (*text == '<')
      fputs("&lt;", out);
    else if (*text == '>')
      fputs("&gt;", out);
    else if (*text == '&')
      fputs("&amp;", out);
    else
      fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
  }
}

/* Blue and red for the parities; molecules by twice the spin. */
static const char* colour_of(const picture* p, const tg_ci_level* level) {
  static const char* const colours[] = {"#1b4f8a", "#b3382c", "#2d7d46", "#7a4b9c", "#b06d00"};
  if (p->nucleus) return colours[level->symmetry & 1];
  const int twice = tg_ci_twice(level->squared[TG_CI_LABEL_J]);
  return twice < 0 ? "#555" : colours[twice % 5];
}

static const char* element_of(int protons) {
  static const char* const symbols[] = {
      "n",  "H",  "He", "Li", "Be", "B",  "C",  "N",  "O",  "F",  "Ne", "Na", "Mg", "Al",
      "Si", "P",  "S",  "Cl", "Ar", "K",  "Ca", "Sc", "Ti", "V",  "Cr", "Mn", "Fe", "Co",
      "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr", "Rb", "Sr", "Y",  "Zr", "Nb",
      "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I",  "Xe", "Cs",
      "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm",
      "Yb", "Lu", "Hf", "Ta", "W",  "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi"};
  const int count = (int)(sizeof symbols / sizeof *symbols);
  return protons >= 0 && protons < count ? symbols[protons] : NULL;
}

/* "24Mg" with the mass raised, or the numbers of particles in words. */
static void draw_title(const picture* p) {
  const tg_ci_problem* problem = &p->job->problem;
  const tg_ci_model* model = &p->job->input.model;
  const int core = model->core_mass == 0 ? 0 : model->core_protons;
  const char* element = p->nucleus && core >= 0 && problem->mass > 0
                            ? element_of(core + problem->particles[0])
                            : NULL;
  char words[256];
  fprintf(p->out, "<text x='%.0f' y='34' class='title'>", 0.5 * p->width);
  if (element) {
    fprintf(p->out, "<tspan dy='-7' font-size='13'>%.0f</tspan><tspan dy='7'>%s</tspan>",
            problem->mass, element);
  } else {
    tg_cli_ci_describe(problem, words, sizeof words);
    put_text(p->out, words);
  }
  fputs("</text>\n", p->out);
}

/* Where it comes from, and where zero is. */
static void draw_subtitle(const picture* p) {
  const tg_ci_problem* problem = &p->job->problem;
  unsigned long long states = 0;
  for (size_t s = 0; s < p->spectrum->sector_count; s++)
    states += p->spectrum->sectors[s].need.facts.dimension;
  fprintf(p->out, "<text x='%.0f' y='53' class='small'>", 0.5 * p->width);
  for (size_t i = 0; i < p->job->input.fact_count; i++) {
    const char* path = p->job->input.facts[i].path;
    const char* slash = strrchr(path, '/');
    const char* name = strncmp(path, "builtin:", 8) == 0 ? path + 8 : slash ? slash + 1 : path;
    char shown[64];
    snprintf(shown, sizeof shown, strlen(name) > 40 ? "%.37s..." : "%.40s", name);
    if (i) fputs(" + ", p->out);
    put_text(p->out, shown);
  }
  const double lowest = p->spectrum->levels[0].energy;
  fprintf(p->out, ", %llu states; lowest level %s%.*f %s</text>\n", states,
          lowest < 0 ? "\xE2\x88\x92" : "", p->nucleus ? 3 : 6, fabs(lowest),
          tg_ci_problem_unit(problem));
}

static void draw_axis(const picture* p) {
  const double step = tick_step(p->top_energy), x = axis_width - 14;
  const int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);
  const int ticks = (int)floor(p->top_energy / step * (1 + 1e-9));
  for (int i = 0; i <= ticks; i++) {
    const double y = y_of(p, i * step);
    fprintf(p->out, "<path d='M%.0f %.1fH%.0f' class='grid'/>", x, y, p->width - 10);
    fprintf(p->out, "<text x='%.0f' y='%.1f' class='tick'>%.*f</text>\n", x - 6, y + 4, digits,
            i * step);
  }
  fprintf(p->out, "<path d='M%.0f %.1fV%.1f' class='axis'/>\n", x, y_of(p, 0),
          y_of(p, p->top_energy) - 8);
  fprintf(p->out,
          "<text transform='translate(15 %.0f) rotate(-90)' class='small'>excitation energy "
          "(%s)</text>\n",
          0.5 * (y_of(p, p->top_energy) + p->zero), tg_ci_problem_unit(&p->job->problem));
}

/* Above this line only some parities or irreps have levels. */
static void draw_complete(const picture* p) {
  size_t ends;
  const double energy = tg_cli_ci_complete_to(p->job, p->spectrum, &ends);
  if (!(energy < INFINITY)) return;
  const double y = y_of(p, energy - p->spectrum->levels[0].energy) - 4;
  fprintf(p->out, "<path d='M%.0f %.1fH%.0f' class='complete'/>", axis_width - 14, y,
          p->width - 10);
  fprintf(p->out,
          "<text x='%.0f' y='%.0f' class='small'>dashed: up to here no level is left out; more "
          "--states go on</text>\n",
          0.5 * p->width, p->height - 24);
}

/* "5/2+", its parity raised; molecules "S = 1". */
static void draw_label(const picture* p, const tg_ci_level* level, double x, double y) {
  const int twice = tg_ci_twice(level->squared[TG_CI_LABEL_J]);
  char half[16] = "?";
  if (twice >= 0)
    snprintf(half, sizeof half, twice % 2 ? "%d/2" : "%d", twice % 2 ? twice : twice / 2);
  fprintf(p->out, "<text x='%.1f' y='%.1f' class='label' fill='%s'>", x, y + 4.5,
          colour_of(p, level));
  if (p->nucleus)
    fprintf(p->out, "%s<tspan dy='-5' font-size='10'>%s</tspan></text>", half,
            level->symmetry ? "\xE2\x88\x92" : "+"); /* the minus sign, in UTF-8 */
  else
    fprintf(p->out, "S = %s</text>", half);
}

/* Lines of a column, with labels that are spread apart, and what joins them. */
static tg_status draw_column(const picture* p, const column* c) {
  double* labels = NULL;
  TG_TRY(TG_ALLOCATE(c->count, "labels", &labels));
  place_labels(p, c, labels);
  const double left = c->x, right = c->x + p->line;
  fprintf(p->out, "<text x='%.1f' y='78' class='head'>%s</text>\n", 0.5 * (left + right), c->title);
  for (size_t i = 0; i < c->count; i++) {
    const size_t number = c->levels[c->count - 1 - i];
    const tg_ci_level* level = &p->spectrum->levels[number];
    const double y = y_of(p, excitation(p, number)), to = labels[i];
    fprintf(p->out, "<path d='M%.1f %.1fH%.1f' class='level' stroke='%s'/>", left, y, right,
            colour_of(p, level));
    fprintf(p->out, "<path d='M%.1f %.1fL%.1f %.1fM%.1f %.1fL%.1f %.1f' class='leader'/>",
            left - leader + 3, to, left - 1, y, right + 1, y, right + leader - 3, to);
    draw_label(p, level, left - leader, to);
    fprintf(p->out, "<text x='%.1f' y='%.1f' class='energy'>%.*f</text>\n", right + leader,
            to + 4.5, number ? (p->nucleus ? 3 : 5) : 0, excitation(p, number));
  }
  tg_free(labels);
  return TG_OK;
}

static int by_start(const void* a, const void* b) {
  const arrow *x = a, *y = b;
  if (x->to != y->to) return x->to < y->to ? -1 : 1;
  return x->from < y->from ? -1 : x->from > y->from;
}

/* The middle and the length of the longest piece of an arrow that crosses no level of its column.
 */
static double free_piece(const picture* p, const column* c, double from, double to,
                         double* length) {
  double above = from, middle = 0.5 * (from + to);
  *length = 0;
  for (size_t i = c->count; i-- > 0;) { /* from the highest level down */
    const double y = y_of(p, excitation(p, c->levels[i]));
    if (y <= above || above >= to) continue;
    const double end = fmin(y, to);
    if (end - above > *length) {
      *length = end - above;
      middle = 0.5 * (above + end);
    }
    above = end;
  }
  return middle;
}

/* B(E2) along the arrow; beside it where that is too short between its levels. */
static void draw_strength(const picture* p, const column* c, const arrow* a, double x, double from,
                          double to) {
  char words[32];
  double room;
  const double middle = free_piece(p, c, from, to, &room);
  snprintf(words, sizeof words, "%.3g", a->strength);
  if (room > 6 * (double)strlen(words) + 2)
    fprintf(p->out,
            "<text transform='translate(%.1f %.1f) rotate(-90)' class='strength'>%s</text>\n",
            x - 2, middle, words);
  else
    fprintf(p->out, "<text x='%.1f' y='%.1f' class='strength beside'>%s</text>\n", x - 1,
            middle + 3, words);
}

/* Arrows of a column side by side, as wide as they are strong; or, after the levels, their B(E2).
 */
static void draw_arrows(const picture* p, const column* c, bool numbers) {
  arrow mine[MOST_ARROWS] = {0};
  size_t count = 0;
  double most = 0;
  for (size_t i = 0; i < p->arrow_count; i++) {
    most = fmax(most, p->arrows[i].strength);
    if (key_of(p, &p->spectrum->levels[p->arrows[i].from]) == c->key) mine[count++] = p->arrows[i];
  }
  qsort(mine, count, sizeof *mine, by_start);
  for (size_t i = 0; i < count; i++) {
    const double x = c->x + p->line * ((double)i + 0.5) / (double)count;
    const double from = y_of(p, excitation(p, mine[i].from));
    const double to = y_of(p, excitation(p, mine[i].to)) - 1;
    const double half = 0.4 + 2.6 * mine[i].strength / most;
    if (numbers) {
      draw_strength(p, c, &mine[i], x - half, from, to);
      continue;
    }
    const double head = fmin(half + 2.5, to - from), length = fmin(1.6 * head, 0.6 * (to - from));
    fprintf(p->out, "<path d='M%.1f %.1fH%.1fV%.1fH%.1fL%.1f %.1fL%.1f %.1fH%.1fZ' class='arrow'/>",
            x - half, from, x + half, to - length, x + head, x, to, x - head, to - length,
            x - half);
  }
}

static const char style[] =
    "<style>text{font-family:Helvetica,Arial,'Liberation Sans',sans-serif;font-size:13px}"
    ".title{font-size:21px;font-weight:bold;text-anchor:middle;fill:#222}"
    ".small{font-size:12px;text-anchor:middle;fill:#666}"
    ".head{font-size:12px;font-weight:bold;text-anchor:middle;fill:#444}"
    ".tick{font-size:11px;text-anchor:end;fill:#666}.label{text-anchor:end;font-weight:bold}"
    ".energy{font-size:12px;fill:#333}.label,.energy,.strength{paint-order:stroke;stroke:#fff;"
    "stroke-width:3px}.strength{font-size:9px;text-anchor:middle;fill:#555}.beside{text-anchor:end}"
    ".level{fill:none;stroke-width:1.8}.leader{fill:none;stroke:#aaa;stroke-width:.7}"
    ".complete{stroke:#555;stroke-width:1;stroke-dasharray:6 4}"
    ".grid{stroke:#eee;stroke-width:1}.axis{stroke:#888;stroke-width:1}"
    ".arrow{fill:#d9a441;fill-opacity:.85}</style>\n";

static tg_status draw(const picture* p) {
  fprintf(p->out,
          "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %.0f %.0f' width='%.0f' "
          "height='%.0f'>\n%s<rect width='100%%' height='100%%' fill='#fff'/>\n",
          p->width, p->height, p->width, p->height, style);
  draw_title(p);
  draw_subtitle(p);
  draw_axis(p);
  draw_complete(p);
  for (size_t c = 0; c < p->column_count; c++) {
    draw_arrows(p, &p->columns[c], false);
    TG_TRY(draw_column(p, &p->columns[c]));
    draw_arrows(p, &p->columns[c], true);
  }
  if (p->arrow_count)
    fprintf(p->out,
            "<text x='%.0f' y='%.0f' class='small'>arrows: the strongest B(E2), down, in "
            "e<tspan dy='-4' font-size='9'>2</tspan><tspan dy='4'>fm</tspan>"
            "<tspan dy='-4' font-size='9'>4</tspan></text>\n",
            0.5 * p->width, p->height - 10);
  fputs("</svg>\n", p->out);
  return TG_OK;
}

tg_status tg_cli_ci_picture(const char* path, const tg_cli_ci_job* job,
                            const tg_ci_spectrum* spectrum) {
  picture p = {.job = job, .spectrum = spectrum, .nucleus = job->problem.kind == TG_CI_NUCLEUS};
  tg_new_file file;
  tg_status status;
  if (!spectrum->level_count) return tg_fail(TG_ERR_INTERNAL, "%s: no level to draw", path);
  TG_TRY_GOTO(sort_into_columns(&p), done);
  TG_TRY_GOTO(choose_arrows(&p), done);
  TG_TRY_GOTO(lay_out(&p), done);
  TG_TRY_GOTO(tg_new_file_open(path, &file), done);
  p.out = file.stream;
  status = draw(&p);
  if (status == TG_OK)
    status = tg_new_file_commit(&file);
  else
    tg_new_file_abandon(&file);
done:
  for (size_t c = 0; c < MOST_COLUMNS; c++) tg_free(p.columns[c].levels);
  return status;
}
