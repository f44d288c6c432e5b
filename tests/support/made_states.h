/* States in memory of exactly their size, made, merged and finished by the library. Calls fail the running cmocka test
 * if the library does not take them. */
#ifndef FOVEA_TESTS_MADE_STATES_H
#define FOVEA_TESTS_MADE_STATES_H

#include "generator.h"
#include "trial.h"

#include <fovea/state.h>

/* The most ranges that keys are cut into. */
enum { MOST_RANGES = 12 };

/* A state in memory of exactly its size. */
struct made {
  fovea_state state;
  struct guarded memory;
};

/* The state of the problem's rows over keys begin to end - 1, whose numbers nobody has set. */
struct made made_create(const fovea_problem *problem, int64_t begin, int64_t end);
void made_destroy(struct made *made);

/* The state of the trial's rows over some of its keys. */
struct made run_range(const struct trial *trial, const char *isa, int threads, int64_t begin, int64_t end);
/* The state of the keys of both. */
struct made merge_states(const struct trial *trial, const char *isa, const struct made *left,
                         const struct made *right);
/* Outputs of the trial from a state of all its keys. */
void finish_state(struct trial *trial, const char *isa, const struct made *made);

/* Fails if the status is not FOVEA_OK, with the error and the problem. */
void expect_ok(fovea_status status, const fovea_error *error, const fovea_problem *problem);

/* Sets cuts in ascending order, begin and end included; those between are multiples of `step`. Returns how many ranges
 * lie between them. */
int random_cuts(struct generator *generator, int64_t begin, int64_t end, int64_t step, int64_t *cuts);
/* The state of all keys from cuts[0] on, merged of ranges in any order. */
struct made merge_ranges(const struct trial *trial, struct generator *generator, const int64_t *cuts, int count);

#endif
