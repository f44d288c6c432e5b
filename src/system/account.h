/* Whether teams of threads pay. The threads of a team wait for each other, also for one that the system does not run
 * because another process has its CPU: for milliseconds, where a call of the calling thread alone may take less. So
 * teams keep an account: a team earns the time that it saves, and pays for such waits. When the account is overdrawn,
 * calls stay on the calling thread for sixteen times as long as it is overdrawn, and for twice as long each time that
 * it is overdrawn soon again, but never for more than a quarter of a second.
 *
 * Times are in nanoseconds, and whole: the caller's floating-point environment may trap what is inexact. Threads may
 * use an account at the same time; what one of them notes may be lost. */
#ifndef FOVEA_SRC_SYSTEM_ACCOUNT_H
#define FOVEA_SRC_SYSTEM_ACCOUNT_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct fovea_account {
  atomic_llong saved, alone_until, doubted_until;
  atomic_int doublings;
} fovea_account;

/* The account is full in the beginning: to start threads takes milliseconds, too. */
#define FOVEA_ACCOUNT_MOST 4000000
#define FOVEA_ACCOUNT_INITIALISER                                                                                  \
  { .saved = FOVEA_ACCOUNT_MOST }

/* Until when calls stay on the calling thread; 0: teams are welcome. Whoever finds that this time is over, opens the
 * account again. */
int64_t fovea_account_alone_until(const fovea_account *account);
void fovea_account_open(fovea_account *account);

/* A team ended at `end`. Its threads other than the calling one had tasks for `helped`, all together; the calling thread
 * lost `lost` in waits for threads that did not run. */
void fovea_account_settle(fovea_account *account, int64_t end, int64_t helped, int64_t lost);

#endif
