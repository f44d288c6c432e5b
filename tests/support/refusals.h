/* Calls that are refused. One call would succeed; each case spoils one thing in it. */
#ifndef FOVEA_TESTS_REFUSALS_H
#define FOVEA_TESTS_REFUSALS_H

#include "check.h"
#include "trial.h"

struct call {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
};

/* The trial of the good call. The test program sets it up. */
extern struct trial trial;

struct call good_call(void);

/* The first word is the field that is wrong; what follows it there, and the other words, are in the text. */
void assert_says(const fovea_error *error, fovea_status status, const char *const *words);
/* Refused as one call and by a plan, with and without room for a text. The outputs stay untouched. */
void assert_refused(const struct call *call, fovea_status expected, const char *const *words);
/* Leaves the outputs untouched for the next call. */
void assert_accepted(const struct call *call);

/* REFUSED(change of `call`, status, the field, words that the text has to have...). */
#define REFUSED(change, status, ...)                                                                               \
  do {                                                                                                             \
    struct call call = good_call();                                                                                \
    change;                                                                                                        \
    const char *const words[] = {__VA_ARGS__, NULL};                                                               \
    assert_refused(&call, status, words);                                                                          \
  } while (0)

/* ACCEPTED(change of `call`). */
#define ACCEPTED(change)                                                                                           \
  do {                                                                                                             \
    struct call call = good_call();                                                                                \
    change;                                                                                                        \
    assert_accepted(&call);                                                                                        \
  } while (0)

#endif
