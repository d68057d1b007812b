/* SPDX-License-Identifier: Apache-2.0 */
#include "motif/states.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"

enum { MOST_DRAWS = 1000000 };
/* Spreads of more orbitals than these times all: 1 - exp loses too much, and in the end everything,
 * by rounding. Below, the formula stays as it is, so that seeds keep their states. */
static const double WIDE = 1e6;

static size_t plane(size_t stride, size_t planes, size_t size) {
  return (stride * planes + TG_STATES_SLACK) * size;
}
size_t tg_states_low_bytes(const tg_states* states) {
  return plane(states->stride, 1, sizeof *states->low);
}
size_t tg_states_orbital_bytes(const tg_states* states) {
  return plane(states->stride, states->particles, sizeof *states->orbital);
}
size_t tg_states_bits_bytes(const tg_states* states) {
  return plane(states->stride, states->words, sizeof *states->bits);
}

void tg_states_free(tg_states* states) {
  if (states->bits == NULL) TG_FREE(states->low);
  TG_FREE(states->bits);
  TG_FREE(states->orbital);
  *states = (tg_states){0};
}

static tg_status check_size(size_t count, uint32_t particles, uint32_t orbitals) {
  if (particles < 1 || particles > orbitals || orbitals > TG_STATES_MOST_ORBITALS)
    return tg_fail(TG_ERR_INPUT,
                   "%u particles in %u orbitals; give 1 <= particles <= orbitals <= %d", particles,
                   orbitals, TG_STATES_MOST_ORBITALS);
  if (count >= UINT32_MAX)
    return tg_fail(TG_ERR_INPUT, "%zu states; a set holds fewer than %u", count, UINT32_MAX);
  return TG_OK;
}

/* All three forms, zeroed. */
static tg_status make_room(size_t count, uint32_t particles, uint32_t orbitals, tg_states* out) {
  TG_TRY(check_size(count, particles, orbitals));
  tg_states s = {.count = count,
                 .stride = ((count + 63) / 64 | 1) * 64,
                 .particles = particles,
                 .orbitals = orbitals,
                 .words = (orbitals + 63) / 64};
  tg_status status = tg_allocate(1, tg_states_bits_bytes(&s), "bits of states", (void**)&s.bits);
  if (status == TG_OK)
    status = tg_allocate(1, tg_states_orbital_bytes(&s), "orbitals of states", (void**)&s.orbital);
  if (status != TG_OK) {
    tg_states_free(&s);
    return status;
  }
  s.low = s.bits;
  *out = s;
  return TG_OK;
}

static uint64_t* word_of(const tg_states* s, size_t i, uint32_t orbital) {
  return &s->bits[orbital / 64 * s->stride + i];
}

/* Writes the list of state i, whose bits are set. */
static void list_orbitals(tg_states* s, size_t i) {
  size_t k = 0;
  for (uint32_t w = 0; w < s->words; w++)
    for (uint64_t rest = s->bits[w * s->stride + i]; rest; rest &= rest - 1)
      s->orbital[k++ * s->stride + i] = (uint16_t)(64 * w + (uint32_t)__builtin_ctzll(rest));
}

static bool draw(const tg_states_params* params, tg_states* s, size_t i) {
  tg_rng rng = tg_rng_stream(params->seed, TG_RNG_STATES, i);
  const double spread = params->spread;
  const double share = spread > 0 ? params->orbitals / spread : 0;
  const bool wide = spread > WIDE * params->orbitals;
  const double reach = wide ? -expm1(-share) : spread > 0 ? 1 - exp(-share) : 0;
  uint32_t held = 0;
  for (int draws = 0; held < params->particles; draws++) {
    if (draws == MOST_DRAWS) return false;
    const double free = 1 - tg_rng_uniform(&rng); /* in [0, 1) */
    const double at = wide         ? -spread * log1p(-free * reach)
                      : spread > 0 ? -spread * log(1 - free * reach)
                                   : free * params->orbitals;
    if (!(at < params->orbitals)) continue; /* by rounding only */
    const uint32_t orbital = (uint32_t)at;
    uint64_t* word = word_of(s, i, orbital);
    const uint64_t bit = 1ULL << orbital % 64;
    if (*word & bit) continue;
    *word |= bit;
    held++;
  }
  return true;
}

tg_status tg_states_random(const tg_states_params* params, tg_states* out) {
  if (!(params->spread >= 0) || !isfinite(params->spread))
    return tg_fail(TG_ERR_INPUT, "a spread of %g orbitals; give 0 (no bias) or more",
                   params->spread);
  tg_states s;
  TG_TRY(make_room(params->count, params->particles, params->orbitals, &s));
  for (size_t i = 0; i < s.count; i++) {
    if (draw(params, &s, i)) {
      list_orbitals(&s, i);
      continue;
    }
    tg_states_free(&s);
    return tg_fail(TG_ERR_INPUT,
                   "a spread of %g orbitals is too small for %u particles: a state was not full "
                   "after %d draws; give more",
                   params->spread, params->particles, MOST_DRAWS);
  }
  *out = s;
  return TG_OK;
}

tg_status tg_states_from_lists(size_t count, uint32_t particles, uint32_t orbitals,
                               const uint16_t* lists, tg_states* out) {
  tg_states s;
  TG_TRY(make_room(count, particles, orbitals, &s));
  for (size_t i = 0; i < count; i++) {
    const uint16_t* list = lists + i * particles;
    for (uint32_t k = 0; k < particles; k++) {
      if (list[k] >= orbitals || (k > 0 && list[k] <= list[k - 1])) {
        tg_states_free(&s);
        return tg_fail(TG_ERR_INPUT,
                       "state %zu: orbital %u in place %u; orbitals rise and are below %u", i,
                       list[k], k, orbitals);
      }
      *word_of(&s, i, list[k]) |= 1ULL << list[k] % 64;
      s.orbital[k * s.stride + i] = list[k];
    }
  }
  *out = s;
  return TG_OK;
}

tg_status tg_states_gather(const tg_states* states, const uint32_t* order, size_t count,
                           tg_states* out) {
  tg_states s;
  TG_TRY(make_room(count, states->particles, states->orbitals, &s));
  for (uint32_t k = 0; k < s.particles; k++)
    for (size_t i = 0; i < count; i++) {
      const uint16_t orbital = states->orbital[k * states->stride + order[i]];
      s.orbital[k * s.stride + i] = orbital;
      *word_of(&s, i, orbital) |= 1ULL << orbital % 64;
    }
  *out = s;
  return TG_OK;
}

tg_states tg_states_slice(const tg_states* states, size_t begin, size_t count) {
  tg_states s = *states;
  s.count = count;
  if (s.low) s.low += begin;
  if (s.orbital) s.orbital += begin;
  if (s.bits) s.bits += begin;
  return s;
}
