/* SPDX-License-Identifier: Apache-2.0 */
/** @file md/device_stages.h  Which domain sends an atom's copy to which, where copies are sent on.
 *
 * Schedules other than `direct` exchange positions in *stages*: along z, then y, then x, each atom
 * to all the bricks of the row at once. A copy for (a', b', c') of an atom at home in (a, b, c)
 * goes over (a, b, c') and (a, b', c'), so that a corner costs no message of its own. A brick on
 * the way may lack the atom: one that is nearly empty has less halo. Then the last before it that
 * has the atom sends it. Every sender of a copy has therefore got the atom in an earlier stage, or
 * it is at home there.
 *
 * The *holders* of an atom are the domains that have copies, a bit each, without the owner. With
 * them everybody finds senders alone, and so counts and places of all messages, without talk.
 *
 * For hosts and devices: plain C, functions without state. */
#ifndef TG_MD_DEVICE_STAGES_H
#define TG_MD_DEVICE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TG_STAGES_FUNCTION static __host__ __device__ __forceinline__
#else
#define TG_STAGES_FUNCTION static inline
#endif

enum {
  TG_STAGES = 3,          /* 0: along z; 1: y; 2: x */
  TG_STAGES_DOMAINS = 16, /* at most */
  TG_STAGES_NOTHING = 3,  /* of an entry's `brought`: there is none; its bits are all 1 */
  TG_STAGES_HOME = 0      /* of an entry's `brought`; else 1 + the stage that brings the atom */
};

/** Messages between all domains; the same on every card. A message from one domain to another is of
 * one stage. A sender's entries, and a receiver's places for messages, are in order of stages, then
 * of the other's number. */
typedef struct tg_stages_messages {
  uint32_t count[TG_STAGES_DOMAINS][TG_STAGES_DOMAINS];   /* [from][to] atoms */
  uint32_t entry[TG_STAGES_DOMAINS][TG_STAGES_DOMAINS];   /* [from][to] first of the sender's */
  uint32_t place[TG_STAGES_DOMAINS][TG_STAGES_DOMAINS];   /* [from][to] first of the receiver's */
  uint32_t entry_stage[TG_STAGES_DOMAINS][TG_STAGES + 1]; /* [from] where stages begin, the end */
  uint32_t place_stage[TG_STAGES_DOMAINS][TG_STAGES + 1]; /* [to] */
  uint32_t filled[TG_STAGES_DOMAINS][TG_STAGES_DOMAINS];  /* [from][to] entries claimed so far */
} tg_stages_messages;

/** An atom that is to be sent. */
typedef struct tg_stages_entry {
  uint32_t from; /* slot at the sender; domain it goes to << 24 */
  uint32_t to;   /* slot there; `brought` << 24; bringer's domain << 26, if it was brought */
} tg_stages_entry;

/** Of two different domains: the stage in which one sends to the other. count: of bricks. */
TG_STAGES_FUNCTION int tg_stages_between(const uint32_t count[3], uint32_t from, uint32_t to) {
  const uint32_t sheet = count[1] * count[2];
  if (from / sheet != to / sheet) return 2;
  return from / count[2] != to / count[2] ? 1 : 0;
}

/** Who sends a holder its copy. */
TG_STAGES_FUNCTION uint32_t tg_stages_sender(const uint32_t count[3], uint32_t owner,
                                             uint32_t holders, uint32_t to) {
  const uint32_t sheet = count[1] * count[2];
  const uint32_t after_y = owner / sheet * sheet + to % sheet;
  const uint32_t after_z = owner / count[2] * count[2] + to % count[2];
  if (after_y != to && (holders >> after_y & 1)) return after_y;
  if (after_z != to && (holders >> after_z & 1)) return after_z;
  return owner;
}

/** The entry of an atom in slot `own` of domain `from`, which sends it to `slot` of domain `to`. */
TG_STAGES_FUNCTION tg_stages_entry tg_stages_entry_of(const uint32_t count[3], uint32_t owner,
                                                      uint32_t holders, uint32_t from, uint32_t own,
                                                      uint32_t to, uint32_t slot) {
  tg_stages_entry e;
  e.from = own | to << 24;
  e.to = slot;
  if (from != owner) {
    const uint32_t bringer = tg_stages_sender(count, owner, holders, from);
    e.to |= (uint32_t)(1 + tg_stages_between(count, bringer, from)) << 24 | bringer << 26;
  }
  return e;
}

TG_STAGES_FUNCTION uint32_t tg_stages_own_slot(tg_stages_entry e) { return e.from & 0xFFFFFF; }
TG_STAGES_FUNCTION uint32_t tg_stages_domain(tg_stages_entry e) { return e.from >> 24; }
TG_STAGES_FUNCTION uint32_t tg_stages_slot(tg_stages_entry e) { return e.to & 0xFFFFFF; }
TG_STAGES_FUNCTION uint32_t tg_stages_brought(tg_stages_entry e) { return e.to >> 24 & 3; }
TG_STAGES_FUNCTION uint32_t tg_stages_bringer(tg_stages_entry e) { return e.to >> 26; }

/** From counts to where one domain's entries begin, and to where the messages to it do. Each
 * writes its own rows and columns, so that threads may do a domain each. */
TG_STAGES_FUNCTION void tg_stages_place(const uint32_t count[3], uint32_t domain,
                                        tg_stages_messages* m) {
  const uint32_t domains = count[0] * count[1] * count[2];
  uint32_t entry = 0, place = 0;
  for (int stage = 0; stage < TG_STAGES; stage++) {
    m->entry_stage[domain][stage] = entry;
    m->place_stage[domain][stage] = place;
    for (uint32_t other = 0; other < domains; other++) {
      if (other == domain || tg_stages_between(count, domain, other) != stage) continue;
      m->entry[domain][other] = entry;
      m->place[other][domain] = place;
      entry += m->count[domain][other];
      place += m->count[other][domain];
    }
  }
  m->entry_stage[domain][TG_STAGES] = entry;
  m->place_stage[domain][TG_STAGES] = place;
}

/** Whether messages of a stage come to a domain from any of domains first to first + count - 1. */
TG_STAGES_FUNCTION bool tg_stages_comes(const uint32_t grid[3], const tg_stages_messages* m,
                                        int stage, uint32_t first, uint32_t count, uint32_t to) {
  for (uint32_t from = first; from < first + count; from++)
    if (from != to && m->count[from][to] != 0 && tg_stages_between(grid, from, to) == stage)
      return true;
  return false;
}

#endif
