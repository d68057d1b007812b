/* SPDX-License-Identifier: Apache-2.0 */
/* The signal protocol of the halo exchange (docs/halo-protocol.md) for spin; README.md beside this
 * file says what is checked and how.
 *
 * A number stands for the data of an exchange: whoever reads a slice must find the number of the
 * exchange he is in. A PE is one process that does its tasks of an exchange in every order that the
 * schedule allows, so the blocks of one kernel, or kernels that run at once, are covered.
 *
 * With a mail (MAIL, XMAIL) a message is WORDS words, each stored, awaited and loaded by itself: a
 * word's number tells both that it has come and of which exchange it is. Nothing else is raised.
 *
 * Shape
 *   RING=P        P PEs in a one-way ring, or GRID for 2 x 2
 *   PULSES        messages that a PE sends in an exchange
 *   PULSE, FUSED, DIRECT                                         the schedule
 *   DEP1, DEP2    pulses whose atoms pulse 1 and pulse 2 forward, as bits
 *   STEPS         exchanges; RETURNS: those with a force return, as bits (bit 1: exchange 1)
 *   ANY           RETURNS is returns, and EMPTY_PE is empty_pe: chosen at the start
 *   EMPTY_PE      a PE without atoms; EMPTY_PULSE: a pulse without atoms; -1: none
 *   SLOTS         slots of a slice; more than 1: exchange s uses slot s % SLOTS, and there is no
 *                 consumed flag
 *   AHEAD         an empty message waits for no flag before it goes
 *   DELAY         stores to another PE take effect later, in any order, unless a release waits
 *   IN_ORDER      FUSED and DIRECT: each kind of task by rising pulse, one kind after the other
 *   MAIL          FUSED and DIRECT: forces go by mail; XMAIL: exchanges whose positions do, as bits
 *   WORDS         of a message by mail; 1 where there is none
 * Faults: see FAULT below. */

#ifdef GRID
#define NPE 4
#else
#define NPE RING
#endif
#define N PULSES
#define ALL ((1 << (N * WORDS)) - 1)
#define WORD(k, w) (1 << ((k) * WORDS + (w)))
#define BIT(k) (((1 << WORDS) - 1) << ((k) * WORDS)) /* all words of pulse k */
#define BELOW(k) ((1 << ((k) * WORDS)) - 1)
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

/* Whether pulse m forwards atoms of pulse k; the pulses that do. */
#define NEEDS(m, k) ((DEP(m) >> (k)) & 1)
#define USES(m, k) ((m) < N && NEEDS(m, k) -> BIT(m) : 0)
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

#ifdef ANY
byte returns;
short empty_pe;
#endif
#define RETURN(s) ((RETURNS >> (s)) & 1)
#define BY_MAIL(s) ((XMAIL >> (s)) & 1)

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
#define EXACT_FLAG 12             /* mail: the reader sets its flag to s, be it further on or not */
#define ANY_WORD 13               /* mail: who sees one word of a message takes all of it */
#define STALE_WORD 14             /* mail: any number will do */
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

#if XMAIL
byte letter[NPE * N * WORDS]; /* words of coordinates */
#endif
#ifdef MAIL
byte force[NPE * N * WORDS]; /* words of forces */
#endif

/* How far a PE is in exchange step[p]: bit k for pulse k, or the bits of its words. */
byte step[NPE];
byte told[NPE];     /* consumed raised, for the exchange before */
byte sent[NPE];     /* coordinates sent */
byte read[NPE];     /* coordinates read by the force kernels */
byte returned[NPE]; /* forces sent back */
byte taken[NPE];    /* forces read */
byte finished;

/* Is the reader done with the slice of exchange s? For the assertions only. */
#define READ_DONE(q, k, s) \
  (step[q] > (s) || (step[q] == (s) && HAS(read[q], BIT(k)) && HAS(sent[q], USERS(k))))
#define TAKEN_DONE(q, k, s) \
  (step[q] > (s) || (step[q] == (s) && (!RETURN(s) || HAS(taken[q], BIT(k)))))
/* The same for word w of mail, which is forwarded as word w of a later pulse. */
#define USERS_WORD(k, w) (USERS(k) & (WORD(0, w) | WORD(1, w) | WORD(2, w)))
#define LETTER_DONE(q, k, w, s) \
  (step[q] > (s) || \
   (step[q] == (s) && HAS(read[q], WORD(k, w)) && HAS(sent[q], USERS_WORD(k, w))))
#define FORCE_DONE(q, k, w, s) \
  (step[q] > (s) || (step[q] == (s) && (!RETURN(s) || HAS(taken[q], WORD(k, w)))))

#define ARRIVED(k) REACHED(x_flag[AT(p, k)], s)
#define CHECK_SLICE(k) assert(EMPTY_SLICE(p, k) || x[SLOT(p, k, s)] == s)
#define CHECK_FORWARDED(m, k) \
  assert(!NEEDS(m, k) || EMPTY(p, m) || EMPTY_SLICE(p, k) || x[SLOT(p, k, s)] == s)

/* May slice k of the receiver be written? After an exchange with a force return this PE has already
 * waited for the forces, which say the same. */
#define MAY_WRITE(k) \
  (SLOTS > 1 || s == 1 || RETURN(s - 1) || IS(NO_CONSUMED) || (AHEAD && EMPTY(p, k)) || \
   REACHED(consumed_flag[AT(p, k)], s - 1))

#define BROUGHT(m, k) (!NEEDS(m, k) || IS(NO_DEPENDENCY) || ARRIVED(k))
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
    !BY_MAIL(s) && !(sent[p] & BIT(k)) && MAY_WRITE(k) && SEND_TURN(k) -> \
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
    !BY_MAIL(s) && !(read[p] & BIT(k)) && READ_TURN(k) && ARRIVED(k) -> \
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

/* Reader, when the exchange before had no force return: consumed. All of that exchange is done here.
 * The host does so before anything else; on a GPU it is nobody's turn but its own. */
#define EARLY (IS(CONSUMED_BEFORE_READ) || IS(CONSUMED_BEFORE_FORWARD))
#define CONSUME(k) \
  atomic { \
    SLOTS == 1 && !EARLY && s > 1 && !RETURN(s - 1) && !(told[p] & BIT(k)) -> \
    assert(consumed_flag[AT(FROM(p, k), k)] < s - 1); \
    consumed_flag[AT(FROM(p, k), k)] = s - 1; \
    told[p] = told[p] | BIT(k) \
  }
#define TOLD (SLOTS > 1 || EARLY || s == 1 || RETURN(s - 1) || told[p] == ALL)

/* The faults: in the exchange itself, too soon. */
#define CONSUME_EARLY(k) \
  atomic { \
    EARLY && !RETURN(s) && !(told[p] & BIT(k)) && ARRIVED(k) && \
    (IS(CONSUMED_BEFORE_READ) || (read[p] & BIT(k))) -> \
    RAISE(consumed_flag[AT(FROM(p, k), k)]); \
    told[p] = told[p] | BIT(k) \
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

/* Word w of mail. Who waits for one finds it there, or of this exchange: never of a later one. */
#define HERE(word) (IS(STALE_WORD) -> (word) > 0 : (word) >= s)
#define FIRST_HERE(box, k, w) HERE(box[AT(p, k) * WORDS + (IS(ANY_WORD) -> 0 : (w))])
#define LETTER(q, k, w) letter[AT(q, k) * WORDS + (w)]
#define FORCE(q, k, w) force[AT(q, k) * WORDS + (w)]
#define LETTER_BROUGHT(m, k, w) \
  (!NEEDS(m, k) || EMPTY_SLICE(p, k) || \
   IS(NO_DEPENDENCY) || FIRST_HERE(letter, k, w))
#define CHECK_LETTER(m, k, w) \
  assert(!NEEDS(m, k) || EMPTY(p, m) || EMPTY_SLICE(p, k) || LETTER(p, k, w) == s)

#define WORDS_BELOW(k, w) (WORD(k, w) - 1)
#ifdef IN_ORDER
#define IN_TURN(done, k, w, before) (HAS(done, WORDS_BELOW(k, w)) && (before) == ALL)
#else
#define IN_TURN(done, k, w, before) true
#endif

/* Sender, coordinates. */
#define SEND_LETTER(k, w) \
  atomic { \
    BY_MAIL(s) && !(sent[p] & WORD(k, w)) && MAY_WRITE(k) && \
    IN_TURN(sent[p], k, w, ALL) && \
    LETTER_BROUGHT(k, 0, w) && LETTER_BROUGHT(k, 1, w) -> \
    CHECK_LETTER(k, 0, w); \
    CHECK_LETTER(k, 1, w); \
    q = TO(p, k); \
    if \
    :: EMPTY(p, k) \
    :: else -> \
      assert(s == 1 || LETTER_DONE(q, k, w, s - 1)); \
      LETTER(q, k, w) = s \
    fi; \
    sent[p] = sent[p] | WORD(k, w); \
    q = 0 \
  }

/* Reader, coordinates: copies them into the slice, and brings its flag up for the next exchange
 * without mail, whose empty message may have raised it already. */
#define READ_LETTER(k, w) \
  atomic { \
    BY_MAIL(s) && !(read[p] & WORD(k, w)) && \
    IN_TURN(read[p], k, w, sent[p]) && \
    (EMPTY_SLICE(p, k) || FIRST_HERE(letter, k, w)) -> \
    assert(EMPTY_SLICE(p, k) || LETTER(p, k, w) == s); \
    x[SLOT(p, k, s)] = s; \
    read[p] = read[p] | WORD(k, w); \
    if \
    :: HAS(read[p], BIT(k)) && (x_flag[AT(p, k)] < s || IS(EXACT_FLAG)) -> x_flag[AT(p, k)] = s \
    :: else \
    fi \
  }

/* Reader, forces. */
#define GIVE_BACK_WORD(k, w) \
  atomic { \
    RETURN(s) && !(returned[p] & WORD(k, w)) && read[p] == ALL && \
    HAS(taken[p], USERS_WORD(k, w)) && IN_TURN(returned[p], k, w, sent[p]) -> \
    q = FROM(p, k); \
    if \
    :: EMPTY_SLICE(p, k) \
    :: else -> \
      assert(s == 1 || FORCE_DONE(q, k, w, s - 1)); \
      FORCE(q, k, w) = s \
    fi; \
    returned[p] = returned[p] | WORD(k, w); \
    q = 0 \
  }

/* Sender, forces: nobody awaits an empty message. */
#define TAKE_WORD(k, w) \
  atomic { \
    RETURN(s) && !(taken[p] & WORD(k, w)) && IN_TURN(taken[p], k, w, returned[p]) && \
    (EMPTY(p, k) || FIRST_HERE(force, k, w)) -> \
    assert(EMPTY(p, k) || FORCE(p, k, w) == s); \
    taken[p] = taken[p] | WORD(k, w) \
  }

#ifdef MAIL
#define RETURN_TASKS(k) \
  :: GIVE_BACK_WORD(k, 0) \
  :: TAKE_WORD(k, 0) \
  SECOND(:: GIVE_BACK_WORD(k, 1)) \
  SECOND(:: TAKE_WORD(k, 1))
#else
#define RETURN_TASKS(k) \
  :: GIVE_BACK(k) \
  :: TAKE(k)
#endif
#if XMAIL
#define LETTER_TASKS(k) \
  :: SEND_LETTER(k, 0) \
  :: READ_LETTER(k, 0) \
  SECOND(:: SEND_LETTER(k, 1)) \
  SECOND(:: READ_LETTER(k, 1))
#else
#define LETTER_TASKS(k)
#endif
#if WORDS > 1
#define SECOND(task) task
#else
#define SECOND(task)
#endif

#define TASKS(k) \
  :: SEND(k) \
  :: READ(k) \
  RETURN_TASKS(k) \
  LETTER_TASKS(k) \
  :: CONSUME(k) \
  :: CONSUME_EARLY(k) \
  LOAD_EARLY(k)

#define EXCHANGE_DONE \
  (TOLD && sent[p] == ALL && read[p] == ALL && \
   (!RETURN(s) || (returned[p] == ALL && taken[p] == ALL)))

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
      told[p] = 0;
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
#ifdef ANY
    if
    :: returns = 0
    :: returns = 2
    :: returns = 4
    :: returns = 14
    fi;
    if
    :: empty_pe = -1
    :: empty_pe = 1
    fi;
#endif
    for (i : 0 .. NPE - 1) {
      step[i] = 1;
      run pe(i)
    }
  }
}
