/* SPDX-License-Identifier: Apache-2.0 */
/** @file status.h  The one list of statuses, their messages and exit codes.
 *
 * Every fallible call of the library returns a tg_status. The call that *decides* that something is
 * wrong composes the message with tg_fail() or one of its relatives; callers only pass the status
 * on. The library never prints and never exits. */
#ifndef THRONG_STATUS_H
#define THRONG_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* name, exit code of the program, what it means */
#define TG_STATUS_LIST(X)                                                                          \
  X(TG_OK, 0, "done")                                                                              \
  X(TG_ERR_INPUT, 2, "the input or the command line is wrong")                                     \
  X(TG_ERR_MACHINE, 3, "the machine cannot do it (device, peer, memory, disk)")                    \
  X(TG_ERR_NUMERICS, 4, "the calculation went wrong")                                              \
  X(TG_ERR_INTERNAL, 5, "a fault in throng itself")                                                \
  X(TG_ERR_INTERRUPTED, 130, "interrupted")

typedef enum tg_status {
#define TG_STATUS_ENUM(name, code, text) name = code,
  TG_STATUS_LIST(TG_STATUS_ENUM)
#undef TG_STATUS_ENUM
} tg_status;

/** What a status means, in words. Never NULL. */
const char* tg_status_text(tg_status status);

/** The message of the last failure on this thread; "" if there was none. Owned by the library,
 * valid until the next failure on this thread. */
const char* tg_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
