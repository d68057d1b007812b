/* SPDX-License-Identifier: Apache-2.0 */
/* A sliced matrix on any backend: what is made in which order, and where it lies. */
#include "ci/slices.h"

#include <string.h>

#include "base/memory.h"
#include "base/timer.h"
#include "ci/product_fly.h"
#include "motif/backends.h"
#include "motif/module.h"

enum {
  QUAD = 4, /* words that are read together: a slice's width is a multiple of it */
  PAIRS =
      2 /* vectors multiplied at once where there are words: four take more than twice as long */
};

struct tg_ci_slices {
  tg_ci_slices_backend backend;
  tg_ci_slices_matrix m;
  void* tables;   /* while it is made */
  double* packed; /* [rows, TG_CI_SLICES_WIDTH], made at the first product of several */
  uint64_t bytes;
  tg_ci_slices_facts facts;
};

tg_status tg_ci_slices_find(const char* name, tg_ci_slices_backend* out) {
  static const size_t sizes[3] = TG_CI_SLICES_SIZES;
  const bool acc = strcmp(name, "acc") == 0;
  const tg_motif_table* motifs = acc ? tg_module_acc(true) : &tg_motif_table_omp;
  if (motifs->check) TG_TRY(motifs->check());
  tg_ci_slices_entry* entry = NULL;
  *out = (tg_ci_slices_backend){motifs, &tg_ci_slices_omp};
  if (!acc) return TG_OK;
  *(void**)&entry = tg_module_symbol(motifs, "tg_module_slices");
  out->ops = entry ? entry(sizes) : NULL;
  if (out->ops) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "throng-acc.so has no configuration interaction, or another build's; copy or "
                 "build it anew");
}

/* ---- memory ---- */

static tg_status allocate(tg_ci_slices* s, uint64_t count, size_t size, const char* what,
                          void** out) {
  const size_t bytes = (size_t)count * size;
  TG_TRY(s->backend.motifs->memory->allocate(bytes, what, out));
  s->bytes += bytes;
  return TG_OK;
}
#define ALLOCATE(s, count, what, out) allocate(s, count, sizeof **(out), what, (void**)(out))

/* Slices are longer than their rows; the largest share of that among the spaces of the tests. */
static uint64_t with_padding(uint64_t places) { return places + places / 5; }

uint64_t tg_ci_slices_bytes(const tg_ci_fly* fly, bool plain, uint64_t* making) {
  const uint64_t rows = fly->space->dimension;
  uint64_t elements = 0, with_fields = 0;
  tg_ci_flat_count(fly, 0, rows, &elements, &with_fields);
  const bool coded = !plain && tg_ci_flat_may_code(fly);
  const uint64_t amounts = coded ? with_fields : elements, words = coded ? elements : 0;
  if (making) *making = 2 * rows * sizeof(uint32_t) + 2 * fly->bytes;
  return with_padding(words) * 4 + with_padding(amounts) * 12 +
         (coded ? TG_CI_MOST_VALUES * sizeof(double) : 0) +
         rows * sizeof(double) * (1 + TG_CI_SLICES_WIDTH) + rows / 2 + 64;
}

static uint64_t free_there(const tg_ci_slices_backend* b) {
  const uint64_t bytes = b->ops->free_bytes();
  return bytes ? bytes : tg_memory_free();
}

static tg_status check_room(const tg_ci_slices* s, uint64_t memory, uint64_t more) {
  const uint64_t needed = s->bytes + more;
  if (memory ? needed <= memory : more <= free_there(&s->backend)) return TG_OK;
  return tg_fail(TG_ERR_MACHINE,
                 "%s: the stored matrix needs %.4g GB, and %.4g GB may be used; truncate the space "
                 "(--nmax, --excitations, --occupation), or use --backend omp --storage fly",
                 s->backend.motifs->name, 1e-9 * (double)needed,
                 1e-9 * (double)(memory ? memory : free_there(&s->backend)));
}

/* ---- making it ---- */

/* The fastest scan for these lengths: on a GPU the sums of parts, on the host one by one. */
static tg_status scan(const tg_ci_slices* s, const uint32_t* widths, uint64_t* out) {
  const tg_motif_table* t = s->backend.motifs;
  const char* name = t->host ? "serial" : "two_pass";
  const size_t count = (size_t)s->m.slices;
  const tg_scan_version* v = t->scans;
  void* scratch = NULL;
  while (v->name && strcmp(v->name, name) != 0) v++;
  if (!v->offsets) return tg_fail(TG_ERR_INTERNAL, "%s has no scan %s", t->name, name);
  const size_t bytes = v->scratch ? v->scratch(count, sizeof *out) : 0;
  TG_TRY(t->memory->allocate(bytes, "scratch of a scan", &scratch));
  const tg_status status = v->offsets(count, widths, out, scratch, 1);
  t->memory->release(scratch);
  return status;
}

/* Where slices begin, and how many places there are in all. */
static tg_status place(tg_ci_slices* s, const uint32_t* counts, uint32_t unit, uint32_t* widths,
                       uint64_t** at, uint64_t* total) {
  TG_TRY(ALLOCATE(s, s->m.slices + 1, "slices of the matrix", at));
  s->backend.ops->widths(s->m.rows, counts, unit, widths);
  TG_TRY(scan(s, widths, *at));
  return s->backend.motifs->memory->download(total, *at + s->m.slices, sizeof *total);
}

static tg_status count_and_place(tg_ci_slices* s, uint64_t memory, tg_ci_slices_tally* tally) {
  const tg_motif_memory* of = s->backend.motifs->memory;
  const uint64_t rows = s->m.rows;
  uint32_t *words = NULL, *amounts = NULL, *widths = NULL;
  uint64_t quads = 0, wide = 0;
  tg_status status;
  void *one = NULL, *two = NULL, *three = NULL;
  TG_TRY_GOTO(of->allocate(rows * sizeof *words, "counts of elements", &one), done);
  TG_TRY_GOTO(of->allocate(rows * sizeof *amounts, "counts of elements", &two), done);
  TG_TRY_GOTO(of->allocate((s->m.slices + 1) * sizeof *widths, "widths of slices", &three), done);
  words = one, amounts = two, widths = three;
  TG_TRY_GOTO(ALLOCATE(s, rows, "the diagonal", &s->m.diagonal), done);
  s->backend.ops->count(s->tables, rows, words, amounts, s->m.diagonal, tally);
  TG_TRY_GOTO(place(s, words, QUAD, widths, &s->m.quad_at, &quads), done);
  TG_TRY_GOTO(place(s, amounts, 1, widths, &s->m.amount_at, &wide), done);
  const uint64_t pairs = quads * (QUAD / 2) * TG_CI_SLICE_LANES;
  const uint64_t lanes = wide * TG_CI_SLICE_LANES;
  const size_t each = sizeof *s->m.column + sizeof *s->m.amount;
  const uint64_t packed = rows * TG_CI_SLICES_WIDTH * sizeof(double);
  TG_TRY_GOTO(check_room(s, memory, pairs * sizeof *s->m.pairs + lanes * each + packed), done);
  TG_TRY_GOTO(ALLOCATE(s, pairs, "matrix elements", &s->m.pairs), done);
  TG_TRY_GOTO(ALLOCATE(s, lanes, "matrix elements", &s->m.column), done);
  TG_TRY_GOTO(ALLOCATE(s, lanes, "matrix elements", &s->m.amount), done);
  s->facts.places = 2 * pairs + lanes;
  s->facts.product_bytes = pairs * sizeof *s->m.pairs + lanes * each;
done:
  of->release(one);
  of->release(two);
  of->release(three);
  return status;
}

/* The tables of the strings, and that of the values, which stays. */
static tg_status bring_tables(tg_ci_slices* s, const tg_ci_slices_params* p) {
  tg_ci_flat flat;
  tg_status status;
  TG_TRY(tg_ci_flat_make(p->fly, !p->plain, &flat));
  TG_TRY_GOTO(check_room(s, p->memory, s->m.rows * sizeof(double)), done);
  TG_TRY_GOTO(tg_ci_slices_upload(s->backend.motifs->memory, &flat, p->most_step, &s->tables),
              done);
  s->facts.values = flat.value_count;
  s->m.value_count = (uint32_t)flat.value_count;
  s->m.shift = 1;
  while ((size_t)1 << (s->m.shift - 1) < flat.value_count) s->m.shift++;
  TG_TRY_GOTO(ALLOCATE(s, flat.value_count, "values of matrix elements", &s->m.values), done);
  status = s->backend.motifs->memory->upload(s->m.values, flat.values,
                                             flat.value_count * sizeof *flat.values);
done:
  tg_ci_flat_free(&flat);
  return status;
}

static tg_status make(tg_ci_slices* s, const tg_ci_slices_params* p) {
  tg_ci_slices_facts* f = &s->facts;
  tg_ci_slices_tally tally = {0};
  const double begin = tg_time_now();
  TG_TRY(bring_tables(s, p));
  const double brought = tg_time_now();
  TG_TRY(count_and_place(s, p->memory, &tally));
  const double placed = tg_time_now();
  s->backend.ops->fill(s->tables, &s->m);
  s->backend.motifs->memory->release(s->tables);
  s->tables = NULL;
  f->rows = s->m.rows;
  f->elements = tally.coded + tally.amounts;
  f->coded = tally.coded;
  f->flat_s = brought - begin;
  f->count_s = placed - brought;
  f->fill_s = tg_time_now() - placed;
  return TG_OK;
}

tg_status tg_ci_slices_create(const tg_ci_slices_backend* backend,
                              const tg_ci_slices_params* params, tg_ci_slices** out) {
  tg_ci_slices* s = NULL;
  const uint64_t rows = params->fly->space->dimension;
  if (rows > INT32_MAX)
    return tg_fail(TG_ERR_MACHINE,
                   "%llu states are too many for a stored matrix of backend %s; use --storage fly "
                   "of another",
                   (unsigned long long)rows, backend->motifs->name);
  TG_TRY(TG_ALLOCATE(1, "a stored matrix", &s));
  s->backend = *backend;
  s->m.rows = rows;
  s->m.slices = (rows + TG_CI_SLICE_LANES - 1) / TG_CI_SLICE_LANES;
  const tg_status status = make(s, params);
  if (status != TG_OK) {
    tg_ci_slices_destroy(&s);
    return status;
  }
  *out = s;
  return TG_OK;
}

void tg_ci_slices_destroy(tg_ci_slices** slices) {
  tg_ci_slices* s = *slices;
  if (!s) return;
  const tg_motif_memory* memory = s->backend.motifs->memory;
  void* const all[] = {s->m.quad_at, s->m.amount_at, s->m.pairs, s->m.column, s->m.amount,
                       s->m.values,  s->m.diagonal,  s->packed,  s->tables};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) memory->release(all[i]);
  tg_free(s);
  *slices = NULL;
}

/* ---- used ---- */

tg_status tg_ci_slices_apply(tg_ci_slices* s, int k, const double* x, size_t ldx, double* y,
                             size_t ldy) {
  const tg_ci_slices_ops* ops = s->backend.ops;
  const int most = s->m.value_count ? PAIRS : TG_CI_SLICES_WIDTH;
  for (int v = 0; v < k; v += most) {
    const int count = k - v < most ? k - v : most;
    const int width = count > 2 ? TG_CI_SLICES_WIDTH : count;
    const double* from = x + (size_t)v * ldx;
    if (count > 1) {
      if (!s->packed)
        TG_TRY(ALLOCATE(s, s->m.rows * TG_CI_SLICES_WIDTH, "vectors of a product", &s->packed));
      ops->pack(s->m.rows, count, width, from, ldx, s->packed);
      from = s->packed;
    }
    ops->multiply(&s->m, count, from, y + (size_t)v * ldy, ldy);
  }
  return TG_OK;
}

const double* tg_ci_slices_diagonal(const tg_ci_slices* s) { return s->m.diagonal; }

tg_ci_slices_facts tg_ci_slices_query(const tg_ci_slices* s) {
  tg_ci_slices_facts f = s->facts;
  f.bytes = s->bytes;
  return f;
}
