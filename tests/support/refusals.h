/* Calls that are refused: one of them would succeed, each case spoils one thing. */
#ifndef FOVEA_TESTS_REFUSALS_H
#define FOVEA_TESTS_REFUSALS_H

#include "check.h"
#include "trial.h"

struct call {
  fovea_problem problem;
  fovea_tensors tensors;
  fovea_execution execution;
};

/* What good calls are about; set up by the test program. */
extern struct trial trial;

struct call good_call(void);

void assert_says(const fovea_error *error, fovea_status status, const char *const *words);
/* By one call and by a plan, with and without room for a text; the outputs stay untouched. */
void assert_refused(const struct call *call, fovea_status expected, const char *const *words);
/* Leaves the outputs untouched for the next. */
void assert_accepted(const struct call *call);

/* REFUSED(change of `call`, status, words that the text has to have...). */
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
