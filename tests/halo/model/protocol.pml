/* SPDX-License-Identifier: Apache-2.0 */
/* The signal protocol of the halo exchange (docs/halo-protocol.md) for spin; README.md beside this
 * file says what is checked and how.
 *
 * A number stands for the data of an exchange: whoever reads a slice must find the number of the
 * exchange he is in. A PE is one process that does its tasks of an exchange in every order that the
 * schedule allows, so the blocks of one kernel, or kernels that run at once, are covered.
 *
 * A wait and the load X
 *
 * Shape
 *   RING=P        P PEs in a one-way ring, or GRID for 2 x 2
 *   PULSES        messages that a PE sends in an exchange
 *   PULSE, FUSED, DIRECT                                         the schedule
 *   DEP1, DEP2    pulses whose atoms pulse 1 and pulse 2 forward, as bits
 *   STEPS         exchanges; RETURNS: those with a force return, as bits (bit 1: exchange 1)
 *   EMPTY_PE      a PE without atoms; EMPTY_PULSE: a pulse without atoms; -1: none
 *   SLOTS         slots of a slice; more than 1: exchange s uses slot s % SLOTS, and there is no
 *                 consumed flag
 *   AHEAD         an empty message waits for no flag before it goes
 *   DELAY         stores to another PE take effect later, in any order, unless a release waits
 *   IN_ORDER      FUSED and DIRECT: each kind of task by rising pulse, one kind after the other
 * Faults: see FAULT below. */

#ifdef GRID
#define NPE 4
#else
#define NPE RING
#endif
#define N PULSES
#define ALL ((1 << N) - 1)
#define BIT(k) (1 << (k))
#define BELOW(k) (BIT(k) - 1)
#define ABOVE(k) (ALL & ~(BIT(k) | BELOW(k)))
#define HAS(set, subset) (((set) & (subset)) == (subset))

/* Whom PE p sends pulse k to, and whom it gets it from; 2 x 2: p = 2 x + y. */
#ifdef DIRECT
#define HOP(k) ((k) + 1)
#define DEP(k) 0
#else
#define HOP(k) 1
#define DEP(k) ((k) == 0 -> 0 : ((k) == 1 -> DEP1 : DEP2))
#endif
#ifdef GRID
#define TO(p, k) ((p) ^ ((k) + 1))
#define FROM(p, k) TO(p, k)
#else
#define TO(p, k) (((p) + NPE - HOP(k)) % NPE)
#define FROM(p, k) (((p) + HOP(k)) % NPE)
#endif

/* The pulses that forward atoms of pulse k. */
#define USES(m, k) ((m) < N && (DEP(m) & BIT(k)) -> BIT(m) : 0)
#define USERS(k) (USES(1, k) | USES(2, k))

/* Whether the message that PE p sends in pulse k is empty. Along a ring pulse k carries the atoms
 * of the k-th PE above the sender. */
#ifdef DIRECT
#define EMPTY_HOME(p, k) ((p) == EMPTY_PE)
#elif defined(GRID)
#define EMPTY_HOME(p, k) ((k) == 0 && (p) == EMPTY_PE)
#else
#define EMPTY_HOME(p, k) (EMPTY_PE >= 0 && ((p) + (k)) % NPE == EMPTY_PE)
#endif
#define EMPTY(p, k) (EMPTY_HOME(p, k) || (k) == EMPTY_PULSE)
#define EMPTY_SLICE(p, k) EMPTY(FROM(p, k), k)

#define RETURN(s) ((RETURNS >> (s)) & 1)

/* FAULT: one departure from the protocol, which the check must find. */
#define NONE 0
#define NO_CONSUMED 1             /* a sender does not wait for the consumed flag */
#define EQUAL 2                   /* a wait ends on equality only */
#define NO_EMPTY_FLAG 3           /* an empty message raises no flag */
#define NO_RELEASE 4              /* the flag may overtake the data */
#define NO_ACQUIRE 5              /* a slice may be loaded before its flag was seen */
#define CONSUMED_BEFORE_READ 6    /* consumed is raised before the slice was read */
#define CONSUMED_BEFORE_FORWARD 7 /* ... before its atoms were forwarded */
#define FORCE_EARLY 8             /* a force slice is cleared before the coordinate flag */
#define NO_DEPENDENCY 9           /* atoms are forwarded before they have arrived */
#define RESET 10                  /* a reader sets its flag back to 0 */
#define UNREACHABLE 11            /* claims that the run cannot end: shows that it does */
#ifndef FAULT
#define FAULT NONE
#endif

#define IS(fault) (FAULT == fault)
#define REACHED(counter, s) (IS(EQUAL) -> (counter) == (s) : (counter) >= (s))

#define AT(p, k) ((p) * N + (k))
#define SLOT(p, k, s) (AT(p, k) * SLOTS + (s) % SLOTS)

/* Slices and flags lie where they are read. */
byte x[NPE * N * SLOTS];    /* coordinates that arrived in pulse k */
byte x_flag[NPE * N];       /* raised by who sends them */
byte f[NPE * N];            /* forces that came back for what was sent in pulse k */
byte f_flag[NPE * N];       /* raised by who sends them back */
byte consumed_flag[NPE * N]; /* raised by the reader of what was sent in pulse k */
#ifdef DELAY
byte x_flying[NPE * N], f_flying[NPE * N]; /* stored but not yet there; 0: nothing */
#endif
#if FAULT == NO_ACQUIRE
byte early[NPE * N]; /* 1 + what was loaded too early */
#endif

/* How far a PE is in exchange step[p]: bit k for pulse k. */
byte step[NPE];
byte sent[NPE];     /* coordinates sent */
byte read[NPE];     /* coordinates read by the force kernels */
byte returned[NPE]; /* forces sent back, or consumed raised */
byte taken[NPE];    /* forces read */
byte finished;

/* Is the reader done with the slice of exchange s? For the assertions only. */
#define READ_DONE(q, k, s) \
  (step[q] > (s) || (step[q] == (s) && (read[q] & BIT(k)) && HAS(sent[q], USERS(k))))
#define TAKEN_DONE(q, k, s) \
  (step[q] > (s) || (step[q] == (s) && (!RETURN(s) || (taken[q] & BIT(k)))))

#define ARRIVED(k) REACHED(x_flag[AT(p, k)], s)
#define CHECK_SLICE(k) assert(EMPTY_SLICE(p, k) || x[SLOT(p, k, s)] == s)
#define CHECK_FORWARDED(m, k) \
  assert(!(DEP(m) & BIT(k)) || EMPTY(p, m) || EMPTY_SLICE(p, k) || x[SLOT(p, k, s)] == s)

/* May slice k of the receiver be written? After an exchange with a force return this PE has already
 * waited for the forces, which say the same. */
#define MAY_WRITE(k) \
  (SLOTS > 1 || s == 1 || RETURN(s - 1) || IS(NO_CONSUMED) || (AHEAD && EMPTY(p, k)) || \
   REACHED(consumed_flag[AT(p, k)], s - 1))

#define BROUGHT(m, k) (!(DEP(m) & BIT(k)) || IS(NO_DEPENDENCY) || ARRIVED(k))
#ifdef PULSE /* one kernel after the other: pack, send, wait; then forces, then back in reverse */
#define SEND_TURN(k) (HAS(sent[p], BELOW(k)) && ((k) < 1 || ARRIVED(0)) && ((k) < 2 || ARRIVED(1)))
#define READ_TURN(k) (sent[p] == ALL)
#define RETURN_TURN(k) (HAS(taken[p], ABOVE(k)))
#define TAKE_TURN(k) (returned[p] & BIT(k))
#else /* everything that has its data */
#ifdef IN_ORDER
#define SEND_TURN(k) (BROUGHT(k, 0) && BROUGHT(k, 1) && HAS(sent[p], BELOW(k)))
#else
#define SEND_TURN(k) (BROUGHT(k, 0) && BROUGHT(k, 1))
#endif
#ifdef IN_ORDER
#define READ_TURN(k) (HAS(read[p], BELOW(k)) && sent[p] == ALL)
#else
#define READ_TURN(k) true
#endif
#ifdef IN_ORDER
#define RETURN_TURN(k) (HAS(taken[p], USERS(k)) && HAS(returned[p], BELOW(k)) && sent[p] == ALL)
#define TAKE_TURN(k) (HAS(taken[p], BELOW(k)) && returned[p] == ALL)
#else
#define RETURN_TURN(k) (HAS(taken[p], USERS(k)))
#define TAKE_TURN(k) true
#endif
#endif

/* Sender, coordinates. */
#define SEND(k) \
  atomic { \
    !(sent[p] & BIT(k)) && MAY_WRITE(k) && SEND_TURN(k) -> \
    CHECK_FORWARDED(k, 0); \
    CHECK_FORWARDED(k, 1); \
    q = TO(p, k); \
    if \
    :: EMPTY(p, k) \
    :: else -> \
      assert(s <= SLOTS || READ_DONE(q, k, s - SLOTS)); \
      STORE_X(k) \
    fi; \
    THEN(LANDED_X(k)) \
    if \
    :: IS(NO_EMPTY_FLAG) && EMPTY(p, k) \
    :: else -> RAISE(x_flag[AT(q, k)]) \
    fi; \
    sent[p] = sent[p] | BIT(k); \
    q = 0 \
  }

/* Reader, coordinates: the force kernels. */
#define READ(k) \
  atomic { \
    !(read[p] & BIT(k)) && READ_TURN(k) && ARRIVED(k) -> \
    LOAD_X(k); \
    if \
    :: IS(RESET) -> x_flag[AT(p, k)] = 0 \
    :: else \
    fi; \
    read[p] = read[p] | BIT(k) \
  }

/* Reader, forces: all pairs are done, and the forces of what was forwarded have come back. */
#define GIVE_BACK(k) \
  atomic { \
    RETURN(s) && !(returned[p] & BIT(k)) && read[p] == ALL && RETURN_TURN(k) -> \
    q = FROM(p, k); \
    if \
    :: EMPTY_SLICE(p, k) \
    :: else -> \
      assert(TAKEN_DONE(q, k, s - 1)); \
      STORE_F(k) \
    fi; \
    THEN(LANDED_F(k)) \
    if \
    :: IS(NO_EMPTY_FLAG) && EMPTY_SLICE(p, k) \
    :: else -> RAISE(f_flag[AT(q, k)]) \
    fi; \
    returned[p] = returned[p] | BIT(k); \
    q = 0 \
  }

/* Sender, forces. */
#define TAKE(k) \
  atomic { \
    RETURN(s) && !(taken[p] & BIT(k)) && TAKE_TURN(k) && \
    ((AHEAD && EMPTY(p, k)) || REACHED(f_flag[AT(p, k)], s)) -> \
    assert(EMPTY(p, k) || f[AT(p, k)] == s); \
    taken[p] = taken[p] | BIT(k) \
  }

/* Reader, no force return: consumed. */
#define CONSUMED_TURN(k) \
  (IS(CONSUMED_BEFORE_READ) -> ARRIVED(k) : \
   (read[p] & BIT(k)) && (IS(CONSUMED_BEFORE_FORWARD) || HAS(sent[p], USERS(k))))
#define CONSUME(k) \
  atomic { \
    SLOTS == 1 && !RETURN(s) && !(returned[p] & BIT(k)) && CONSUMED_TURN(k) -> \
    RAISE(consumed_flag[AT(FROM(p, k), k)]); \
    returned[p] = returned[p] | BIT(k) \
  }

#define RAISE(flag) \
  assert(flag < s); \
  flag = s

#ifdef DELAY
#define STORE_X(k) assert(x_flying[AT(q, k)] == 0 || IS(NO_RELEASE)); x_flying[AT(q, k)] = s
#define STORE_F(k) assert(f_flying[AT(q, k)] == 0 || IS(NO_RELEASE)); f_flying[AT(q, k)] = s
#define LANDED_X(k) (IS(NO_RELEASE) || x_flying[AT(q, k)] == 0)
#define LANDED_F(k) (IS(NO_RELEASE) || f_flying[AT(q, k)] == 0)
#define THEN(condition) } atomic { condition ->
#else
#define STORE_X(k) x[SLOT(q, k, s)] = s
#define STORE_F(k) f[AT(q, k)] = s
#define THEN(condition)
#endif

#if FAULT == NO_ACQUIRE
#define LOAD_X(k) \
  if \
  :: early[AT(p, k)] -> \
    assert(EMPTY_SLICE(p, k) || early[AT(p, k)] == s + 1); \
    early[AT(p, k)] = 0 \
  :: else -> CHECK_SLICE(k) \
  fi
#define LOAD_EARLY(k) \
  :: atomic { \
    !(read[p] & BIT(k)) && !early[AT(p, k)] -> early[AT(p, k)] = 1 + x[SLOT(p, k, s)] \
  }
#else
#define LOAD_X(k) CHECK_SLICE(k)
#define LOAD_EARLY(k)
#endif

#define TASKS(k) \
  :: SEND(k) \
  :: READ(k) \
  :: GIVE_BACK(k) \
  :: TAKE(k) \
  :: CONSUME(k) \
  LOAD_EARLY(k)

#define EXCHANGE_DONE \
  (sent[p] == ALL && read[p] == ALL && (SLOTS > 1 && !RETURN(s) || returned[p] == ALL) && \
   (!RETURN(s) || taken[p] == ALL))

#define CLEAR_FORCES(k) \
  q = FROM(p, k); \
  assert(s == 1 || TAKEN_DONE(q, k, s - 1)); \
  f[AT(q, k)] = 0; \
  q = 0

proctype pe(byte p) {
  byte s = 1; /* the number of the exchange */
  byte q = 0; /* the PE at the other end, while a message is on its way */
  do
  :: atomic {
    s <= STEPS ->
#if FAULT == FORCE_EARLY
    CLEAR_FORCES(0);
    CLEAR_FORCES(1);
#endif
    skip
  };
    do
    TASKS(0)
#if N > 1
    TASKS(1)
#endif
#if N > 2
    TASKS(2)
#endif
    :: atomic {
      EXCHANGE_DONE -> /* integrate */
      sent[p] = 0;
      read[p] = 0;
      returned[p] = 0;
      taken[p] = 0;
      s++;
      step[p] = s;
      break
    }
    od
  :: atomic {
    s > STEPS ->
    finished++;
    assert(!IS(UNREACHABLE) || finished < NPE);
    break
  }
  od
}

#ifdef DELAY
#define LAND(a) \
  :: atomic { x_flying[a] -> x[a] = x_flying[a]; x_flying[a] = 0 } \
  :: atomic { f_flying[a] -> f[a] = f_flying[a]; f_flying[a] = 0 }

/* Makes stores take effect, some time, one at a time. Only for one slot. */
active proctype memory() {
end:
  do
  LAND(0) LAND(1)
#if NPE * N > 2
  LAND(2)
#endif
#if NPE * N > 3
  LAND(3)
#endif
#if NPE * N > 4
  LAND(4) LAND(5)
#endif
#if NPE * N > 6
  LAND(6) LAND(7)
#endif
#if NPE * N > 8
#error "the model of delayed stores has room for 8 slices"
#endif
  od
}
#endif

init {
  byte i;
  atomic {
    for (i : 0 .. NPE - 1) {
      step[i] = 1;
      run pe(i)
    }
  }
}
