/* SPDX-License-Identifier: Apache-2.0 */
/** @file comm/socket/rendezvous.h  How processes that nobody introduced find each other; not for
 * callers.
 *
 * The environment says who a process is:
 *
 *   | variable     | meaning                                                                     |
 *   |--------------|-----------------------------------------------------------------------------|
 *   | TG_PE        | its number, 0 .. TG_PE_COUNT - 1                                            |
 *   | TG_PE_COUNT  | how many there are                                                          |
 *   | TG_BOOTSTRAP | file:PATH, a path that all see, or tcp:HOST:PORT, where PE 0 shall listen   |
 *   | TG_JOB       | a word that this run's processes share and no other's; with tcp: a secret   |
 *   | TG_HOST      | file: PE 0's host as others reach it; default: this machine alone           |
 *
 * and then
 *
 *   | step | PE 0                                         | PE p > 0                              |
 *   |------|----------------------------------------------|---------------------------------------|
 *   | 1    | listens; file: draws a random token and      | file: reads it as soon as it is there |
 *   |      | writes both into the file (mode 0600)        |                                       |
 *   | 2    | accepts whoever brings token and job;        | connects, listens itself, says hello  |
 *   |      | anyone else is cut off                       | (token, job, p, count, its address)   |
 *   | 3    | all are here: removes the file, sends the    | reads the roster                      |
 *   |      | roster of all addresses                      |                                       |
 *   | 4    |                                              | connects to 1 .. p-1 and says hello,  |
 *   |      |                                              | accepts p+1 .. alike                  |
 *
 * A file that an earlier run left behind (its PE 0 died in step 1 or 2) confuses nobody: PE 0
 * replaces it; whoever reads it before finds nobody at the address, or somebody who does not know
 * its token and cuts him off, and reads again until the deadline. A file of another owner, or of
 * another TG_JOB, is as good as none. Anything else at the path (another file, a link, a pipe) is
 * refused by all and left as it is. With TG_JOB the file is PATH.JOB: two runs at one time need two
 * paths, or two words TG_JOB. */
#ifndef TG_COMM_SOCKET_RENDEZVOUS_H
#define TG_COMM_SOCKET_RENDEZVOUS_H

#include "base/status.h"
#include "comm/socket/net.h"

enum { TG_SOCKET_WORD = 64, TG_SOCKET_PATH = 4096, TG_SOCKET_MOST_PES = 1024 };

/** What the environment says. */
typedef struct tg_socket_place {
  int pe, pe_count;
  const char* bootstrap;    /* as it was given, for messages */
  const char* path;         /* file, of this job: name, or a test's own; NULL: tcp */
  char host[TG_NET_HOST];   /* tcp: of PE 0; file: where PE 0 listens */
  int port;                 /* tcp */
  char job[TG_SOCKET_WORD]; /* "": none */
  char name[TG_SOCKET_PATH];
} tg_socket_place;

/** Reads the environment. TG_ERR_INPUT names the variable. */
tg_status tg_socket_place_read(tg_socket_place* out);

/** Collective over the processes: a connection to each of the others, fds: [pe_count], -1 at this
 * PE's own place. Waits for latecomers until the deadline, which the message then says. */
tg_status tg_socket_rendezvous(const tg_socket_place* place, double deadline_s, int* fds);

#endif
