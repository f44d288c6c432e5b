#include "account.h"

enum { LONGEST_ALONE = 250000000 }; /* nanoseconds */
enum { FIRST_DOUBLINGS = 4, MOST_DOUBLINGS = 8 };

int64_t fovea_account_alone_until(const fovea_account *account) {
  return atomic_load_explicit(&account->alone_until, memory_order_relaxed);
}

void fovea_account_open(fovea_account *account) {
  atomic_store_explicit(&account->alone_until, 0, memory_order_relaxed);
}

static void stay_alone(fovea_account *account, int64_t now, int64_t overdrawn) {
  const int soon = now < atomic_load_explicit(&account->doubted_until, memory_order_relaxed);
  const int doubled = soon ? atomic_load_explicit(&account->doublings, memory_order_relaxed) : FIRST_DOUBLINGS;
  const int64_t alone = overdrawn < LONGEST_ALONE >> doubled ? overdrawn << doubled : LONGEST_ALONE;
  atomic_store_explicit(&account->doublings, doubled < MOST_DOUBLINGS ? doubled + 1 : doubled,
                        memory_order_relaxed);
  atomic_store_explicit(&account->alone_until, now + alone, memory_order_relaxed);
  atomic_store_explicit(&account->doubted_until, now + 2 * alone, memory_order_relaxed);
}

void fovea_account_settle(fovea_account *account, int64_t end, int64_t helped, int64_t lost) {
  /* The calling thread alone would have done the others' work, too; at least half of their time was work. */
  const int64_t earned = helped / 2;
  const int64_t before = atomic_load_explicit(&account->saved, memory_order_relaxed);
  const int64_t after = before + earned - lost;
  const int64_t saved = after < 0 ? 0 : after < FOVEA_ACCOUNT_MOST ? after : FOVEA_ACCOUNT_MOST;
  if (saved != before) atomic_store_explicit(&account->saved, saved, memory_order_relaxed);
  if (after < 0) stay_alone(account, end, -after);
}
